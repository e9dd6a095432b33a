/*
 * torch_ops.h - what the parts of torch.c share.
 */
#ifndef RUNTIME_TORCH_OPS_H
#define RUNTIME_TORCH_OPS_H

#include "runtime/runtime.h"

/*
 * at::RecordFunctionCallback, which goes to addGlobalCallback() by value: whether to be called for each scope (10 of them
 * since 1.11), then whether inputs, outputs and ids are needed.  A release with more scopes would find "no" behind them.
 */
struct torch_callback {
	void *start, *end;
	double probability;
	uint8_t scopes[10];
	uint8_t needs_inputs, needs_outputs, needs_ids;
	uint8_t more[27];
};

enum torch_scope {
	TORCH_FUNCTION = 0,
	TORCH_BACKWARD = 1,
	TORCH_USER = 7
};

/* A std::vector. */
struct torch_vector {
	char *begin, *end, *limit;
};

/* libtorch, and what else of its process the callbacks need.  Written before they are registered. */
struct torch {
	uint64_t (*add)(struct torch_callback);
	void (*remove)(uint64_t handle);
	const char *(*name)(const void *function);
	bool (*is_async)(const void *function); /* the rest may be NULL */
	uint64_t (*peek)(void);                 /* the number that the next node of the backward pass gets */
	struct torch_vector (*sizes)(const void *function, bool flatten);
	void (*release)(void *memory); /* operator delete */
	const char *table;             /* of a RecordFunction's virtual functions */
	struct torch_thread **threads; /* RING_LIMIT, by the index of the thread's ring; wiped in forked children */
	uint32_t flags;
};
extern struct torch inferscope_torch;

/* How far we trust it. */
enum torch_trust {
	TORCH_OFF,
	TORCH_CHECKED, /* one thread runs a known operator, the others have to wait */
	TORCH_ON_TRIAL,
	TORCH_TRUSTED,
	TORCH_FAILED
};
extern _Atomic uint32_t inferscope_torch_trust;

/* A callback has come before libtorch is trusted.  True: record it. */
bool inferscope_torch_admits(const void *function, enum torch_scope scope);
/* The end of something that had a begin; or, for a known operator, any end. */
void inferscope_torch_saw_end(void);

/* The functions for struct torch_callback. */
void inferscope_torch_doors(enum torch_scope scope, struct torch_callback *ret);
/* The same for the pulse. */
void inferscope_torch_pulse_doors(struct torch_callback *ret);

/* ---- torch_rest.c ---- */

/* So many operators have begun since the last time it was told, with callbacks in place; it may be time to rest. */
#define TORCH_COUNT 64u
void inferscope_torch_count(void);
/* The pulse, while resting: it may be time to go on. */
void inferscope_torch_beat(void);
/* What recording has taken is forgotten: it begins. */
void inferscope_torch_rest_start(void);

/* torch.c's: takes the callbacks of operators away, leaving one that comes seldom; puts them back.  False: not now. */
bool inferscope_torch_pause(void);
bool inferscope_torch_resume(void);

/* ---- torch_sequence.c ---- */

/* What a thread has found out about where a RecordFunction keeps its number. */
struct torch_learner {
	uint64_t number; /* at the last look */
	uint32_t looks;  /* at operators while that was the number */
	uint32_t alive;  /* words that may be it; 0: has not begun */
	uint32_t last[32];
	uint8_t hits[32];
};

extern _Atomic uint32_t inferscope_torch_sequence_offset; /* 0: not known */

/* Looks at an operator that has no number. */
void inferscope_torch_learn_none(const void *function);

/* Looks at an operator of the dispatcher ("aten::..."): it has the number that peek() tells, or none (-1). */
void inferscope_torch_learn(struct torch_learner *learner, const void *function);

/* ---- torch_shapes.c ---- */

/* A list of fields as inferscope_emit_fields() takes it, of up to EMIT_FIELDS_MAX bytes; its size, 0: nothing to tell. */
size_t inferscope_torch_shapes(const void *function, uint8_t *ret_fields);

#endif
