/*
 * recording.h - what `run` and `record` share: options, settings, where the runtime is, what is worth a warning.
 */
#ifndef CMD_RECORDING_H
#define CMD_RECORDING_H

#include "cmd/options.h"
#include "config/config.h"
#include "record/recorder.h"

#define RECORDING_OPTIONS(config)                                                                                      \
	OPTION_CONFIG('o', "trace", "FILE", config, CONFIG_TRACE,                                                      \
			      "where the trace goes; trace.sbt unless given; {pid}, {rank}, {host} and {time} stand for what " \
			      "they say"),                                                                             \
		OPTION_GROUP("how much is kept"),                                                                      \
		OPTION_CONFIG(0, "trace-size-mb", "N", config, CONFIG_TRACE_SIZE_MB,                                   \
			      "memory for events on their way to the file, for all processes; 100 unless given"),     \
		OPTION_CONFIG(0, "overflow", "wrap|discard|block", config, CONFIG_OVERFLOW,                            \
			      "when that memory is full: overwrite the oldest events, refuse new ones, or wait a "    \
			      "moment"),                                                                               \
		OPTION_CONFIG(0, "max-file-mb", "N", config, CONFIG_MAX_FILE_MB,                                       \
			      "drop the oldest events to keep the trace below N MB"),                                  \
		OPTION_CONFIG(0, "last", "SECONDS", config, CONFIG_LAST_SECONDS,                                       \
			      "keep only the last SECONDS of the run, at least"),                                      \
		OPTION_GROUP("what is recorded"),                                                                      \
		OPTION_CONFIG(0, "waits", "on|off", config, CONFIG_WAITS,                                              \
			      "look from outside how long threads run, queue and are blocked, and for what; on unless given")

/* The settings that these options are about. */
struct recorder_options recording_settings(const struct config *config);

/* The path of the runtime, allocated, if programs will load it.  Else NULL, having said why. */
char *recording_runtime(void);

/* Says each thing about a recording that the user should know, as one sentence. */
void recording_warnings(const struct recorder_result *r, void (*say)(void *arg, const char *sentence), void *arg);

#endif
