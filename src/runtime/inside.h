/*
 * inside.h - what the extension of a language gets of the runtime.
 *
 * An extension loads libinferscope-rt.so by its path, looks up
 * inferscope_inside() and then writes events itself, with emit.h.  This is a
 * matter between two objects of one release, not a public interface: the
 * number says whether they are.
 */
#ifndef RUNTIME_INSIDE_H
#define RUNTIME_INSIDE_H

#include "runtime/emit.h"

#define INFERSCOPE_INSIDE 5u /* raise it whenever anything changes in runtime.h, ring/producer.h or here */

#define INFERSCOPE_TORCH_SHAPES 1u
#define INFERSCOPE_TORCH_LIGHT 2u /* for a part of the time, if all of it would take too much (torch_rest.c) */

struct inferscope_inside {
	uint32_t version;
	const struct runtime *runtime;
	struct runtime_thread *(*thread)(void); /* the calling thread's */
	bool (*joined)(void);
	int (*join)(const char *folder);
	void (*leave)(void);
	uint32_t (*intern)(struct runtime_thread *thread, const char *name, size_t size);
	void (*emit_fields)(struct runtime_thread *thread, uint32_t kind, uint32_t flags, uint32_t name, uint64_t value,
			    const void *fields, size_t size);
	void (*thread_name)(const char *name);
	void (*note)(const char *text);
	void (*fact)(const char *word, const char *text); /* ring/layout.h */
	/* PyTorch's operators.  Try again as long as it says that the library is not loaded (0); 1: recording, -1: cannot, and a
	 * note says why; -2: the same, but emit_itt() may (torch.h). */
	int (*torch_start)(uint32_t flags);
	void (*torch_stop)(void);
	void (*flush)(void); /* flush.h; without the language's lock, since it may wait for other threads */
	void (*yield)(void); /* likewise: the program is about to use what only one may */
};

/* NULL for another release's.  Joins the session that the environment names, if that has not been done. */
const struct inferscope_inside *inferscope_inside(uint32_t version);

#endif
