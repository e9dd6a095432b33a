/*
 * gaps_names.c - what names of functions, scopes, operators and system calls say about the time they take.
 *
 * Functions are matched as "file: name".  Frames of a compiler's runtime are
 * on the stack at every call of compiled code, so what counts is only what
 * runs when code is made.  ? stands for the separator of a path or a module.
 */
#include <string.h>

#include "timeline/gaps.h"
#include "timeline/states_build.h"

#define FUNCTIONS (1u << EVENT_CPU_CALL)
#define SCOPES (1u << EVENT_SCOPE | 1u << EVENT_OP)
#define SYSCALLS (1u << EVENT_CPU_SYSCALL)
#define ANY (FUNCTIONS | SCOPES)

static const struct name_rule {
	const char *pattern;
	uint32_t kinds;
	enum evidence_kind evidence;
} name_rules[] = {
	{ "*torch?_dynamo?convert_frame*", FUNCTIONS, EVIDENCE_JIT },
	{ "*torch?_inductor?compile_fx*compile*", FUNCTIONS, EVIDENCE_JIT },
	{ "*torch?_inductor?graph*", FUNCTIONS, EVIDENCE_JIT },
	{ "*torch?_inductor?scheduler*", FUNCTIONS, EVIDENCE_JIT },
	{ "*torch?_inductor?codegen*", FUNCTIONS, EVIDENCE_JIT },
	{ "*torch?_inductor?async_compile*", FUNCTIONS, EVIDENCE_JIT },
	{ "*triton_heuristics*precompile*", FUNCTIONS, EVIDENCE_JIT },
	{ "*triton_heuristics*benchmark*", FUNCTIONS, EVIDENCE_JIT },
	{ "*triton?runtime?autotuner*bench*", FUNCTIONS, EVIDENCE_JIT },
	{ "*triton?compiler*", FUNCTIONS, EVIDENCE_JIT },
	{ "*cpp_extension*compile*", FUNCTIONS, EVIDENCE_JIT },
	{ "*numba?core?compiler*", FUNCTIONS, EVIDENCE_JIT },
	{ "*numba?cuda?compiler*", FUNCTIONS, EVIDENCE_JIT },
	{ "*cupy?cuda?compiler*", FUNCTIONS, EVIDENCE_JIT },
	{ "*tinygrad?codegen*", FUNCTIONS, EVIDENCE_JIT },
	{ "*tinygrad?engine?realize*lower_and_compile", FUNCTIONS, EVIDENCE_JIT },
	{ "*backend_compile*", ANY, EVIDENCE_JIT },
	{ "*nvrtc*", ANY, EVIDENCE_JIT },
	{ "*hiprtc*", ANY, EVIDENCE_JIT },
	{ "*cumoduleload*", ANY, EVIDENCE_JIT },
	{ "*culibraryload*", ANY, EVIDENCE_JIT },
	{ "*hipmoduleload*", ANY, EVIDENCE_JIT },
	{ "*compile*(dynamo_timed)*", SCOPES, EVIDENCE_JIT },
	{ "*codegen*(dynamo_timed)*", SCOPES, EVIDENCE_JIT },
	{ "*autotun*(dynamo_timed)*", SCOPES, EVIDENCE_JIT },
	{ "graphlowering*(dynamo_timed)*", SCOPES, EVIDENCE_JIT },
	{ "*xlacompile*", SCOPES, EVIDENCE_JIT },

	{ "enumerate(dataloader)*", SCOPES, EVIDENCE_INPUT },
	{ "*dataloader*", SCOPES, EVIDENCE_INPUT },
	{ "*data_load*", SCOPES, EVIDENCE_INPUT },
	{ "*data load*", SCOPES, EVIDENCE_INPUT },
	{ "*load_data*", SCOPES, EVIDENCE_INPUT },
	{ "*load_batch*", ANY, EVIDENCE_INPUT },
	{ "*fetch_batch*", ANY, EVIDENCE_INPUT },
	{ "*next_batch*", ANY, EVIDENCE_INPUT },
	{ "*_next_data", FUNCTIONS, EVIDENCE_INPUT },
	{ "*torch?utils?data?*__next__", FUNCTIONS, EVIDENCE_INPUT },
	{ "*torch?utils?data?*fetch", FUNCTIONS, EVIDENCE_INPUT },
	{ "*dataloader*__next__", FUNCTIONS, EVIDENCE_INPUT },
	{ "*dataloader*__iter__", FUNCTIONS, EVIDENCE_INPUT },

	{ "*time.sleep*", FUNCTIONS, EVIDENCE_SLEEP },
	{ "*function sleep>", FUNCTIONS, EVIDENCE_SLEEP },
	{ "sleep", FUNCTIONS, EVIDENCE_SLEEP },
	{ "usleep", FUNCTIONS, EVIDENCE_SLEEP },
	{ "nanosleep", FUNCTIONS | SYSCALLS, EVIDENCE_SLEEP },
	{ "clock_nanosleep", FUNCTIONS | SYSCALLS, EVIDENCE_SLEEP },
	{ "*selectors*select", FUNCTIONS, EVIDENCE_SLEEP },
	{ "*select.select*", FUNCTIONS, EVIDENCE_SLEEP },
	{ "*function select>", FUNCTIONS, EVIDENCE_SLEEP },
	{ "*select.*poll*", FUNCTIONS, EVIDENCE_SLEEP },
	{ "select", FUNCTIONS | SYSCALLS, EVIDENCE_SLEEP },
	{ "pselect6", SYSCALLS, EVIDENCE_SLEEP },
	{ "poll", FUNCTIONS | SYSCALLS, EVIDENCE_SLEEP },
	{ "ppoll", FUNCTIONS | SYSCALLS, EVIDENCE_SLEEP },
	{ "epoll_*wait*", FUNCTIONS | SYSCALLS, EVIDENCE_SLEEP },
	{ "*queue.py*: get", FUNCTIONS, EVIDENCE_SLEEP },
	{ "*queue.*queue.get", FUNCTIONS, EVIDENCE_SLEEP },
	{ "*queues.py*: get", FUNCTIONS, EVIDENCE_SLEEP },
	{ "*queues.*queue.get", FUNCTIONS, EVIDENCE_SLEEP },
};

uint8_t evidence_of_name(uint8_t kind, const char *text, size_t size)
{
	char folded[PATTERN_TEXT_MAX];
	uint8_t bits = 0;

	size = pattern_fold(folded, text, size);
	for (size_t i = 0; i < sizeof name_rules / sizeof *name_rules; i++) {
		const struct name_rule *rule = &name_rules[i];

		if (rule->kinds >> kind & 1 && pattern_matches(rule->pattern, strlen(rule->pattern), folded, size))
			bits |= (uint8_t)(1u << rule->evidence);
	}
	return bits;
}
