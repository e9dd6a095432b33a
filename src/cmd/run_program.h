/*
 * run_program.h - what `run` and `monitor` share: a program is started, recorded, and spoken of when it has ended.
 */
#ifndef CMD_RUN_PROGRAM_H
#define CMD_RUN_PROGRAM_H

#include "cmd/options.h"
#include "config/config.h"
#include "record/recorder.h"

#define RUN_ARGUMENTS "[options] [--] SCRIPT.py|-m MODULE|-c CODE|COMMAND [ARGUMENTS]"
#define RUN_ARGUMENT_LETTERS "mc"

/* Options of both whose defaults are the same. */
#define RUN_OPTION_GPU(config)                                                                                          \
	OPTION_CONFIG(0, "gpu", "auto|off|nsys", config, CONFIG_GPU,                                                    \
		      "how to record what GPUs do: auto, with CUPTI and as a layer of OpenCL, unless given; off, not at all; nsys, " \
		      "with Nsight Systems, which must be installed")
#define RUN_OPTIONS(config)                                                                                             \
	OPTION_SWITCH(0, "wait-all", config, CONFIG_WAIT_ALL,                                                           \
		      "record until all processes that the program has started have ended, too"),                            \
		OPTION_SWITCH(0, "c-calls", config, CONFIG_C_CALLS, "record calls from Python of functions written in C as well"), \
		OPTION_CONFIG(0, "include", "PATTERNS", config, CONFIG_INCLUDE,                                         \
			      "record only these Python functions: globs, with commas between them, over module.function, or over " \
			      "the file when there is a '/' in it"),                                                    \
		OPTION_CONFIG(0, "exclude", "PATTERNS", config, CONFIG_EXCLUDE, "leave these out, of those"),           \
		OPTION_CONFIG(0, "ops", "on|off", config, CONFIG_OPS, "record operators of PyTorch; on unless given"),  \
		OPTION_SWITCH(0, "shapes", config, CONFIG_SHAPES, "record the shapes of what operators are given as well"), \
		OPTION_SWITCH(0, "gpu-args", config, CONFIG_GPU_ARGS, "record the arguments of OpenCL kernels as well"), \
		OPTION_GROUP("messages"),                                                                               \
		OPTION_CONFIG(0, "log-level", "LEVEL", config, CONFIG_LOG_LEVEL, "what to tell: debug, info, warn or error"), \
		OPTION_CONFIG(0, "color", "auto|always|never", config, CONFIG_COLOR,                                    \
			      "colours on standard error; auto, on a terminal, unless given")

/* What else is to be done; each may be NULL. */
struct run_company {
	const char *apply; /* advice to follow (apply.h) */
	/* Before the program is started; argv is the program's.  An exit code, having said why, or 0. */
	int (*before)(void *arg, char *const argv[], struct recorder_options *options);
	/* When it has ended, or was not started; before anything is said. */
	void (*after)(void *arg);
	void *arg;
	const char *passed_on; /* said when the program has ended with status 2, that of arguments that were not understood */
};

/* Runs the program that the arguments say, with settings that have been read.  Returns its exit status, or an exit code
 * of ours, having said why.  The settings then have the name that the trace got. */
int run_program(struct config *config, int count, char **arguments, const struct run_company *company);

#endif
