/* recording.c - see recording.h. */
#include "cmd/recording.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "cmd/command.h"
#include "cmd/install_path.h"

#define LOG_TAG "recording"

struct recorder_options recording_settings(const struct config *config)
{
	return (struct recorder_options){
		.trace_path = config_string(config, CONFIG_TRACE),
		.budget_bytes = (uint64_t)config_integer(config, CONFIG_TRACE_SIZE_MB) << 20,
		.overflow = (enum ring_overflow)config_integer(config, CONFIG_OVERFLOW),
		.block_timeout_ms = (uint32_t)config_integer(config, CONFIG_BLOCK_TIMEOUT_MS),
		.max_file_bytes = (uint64_t)config_integer(config, CONFIG_MAX_FILE_MB) << 20,
		.last_seconds = (double)config_integer(config, CONFIG_LAST_SECONDS),
		.waits = config_bool(config, CONFIG_WAITS),
		.gpu = (enum config_gpu)config_integer(config, CONFIG_GPU),
	};
}

char *recording_runtime(void)
{
	char *runtime = install_path_runtime(), *culprit = NULL;

	if (!runtime) {
		fail(EXIT_ENVIRONMENT, "libinferscope-rt.so is not beside this program nor where it was installed; "
				       "install InferScope again");
		return NULL;
	}
	if (install_path_trusted(runtime, &culprit))
		return runtime;
	fail(EXIT_ENVIRONMENT, "no program would load %s: others can write to %s; try 'chmod go-w' on it", runtime,
	     culprit ? culprit : "it");
	free(culprit);
	free(runtime);
	return NULL;
}

/* ---- Warnings ---------------------------------------------------------------- */

struct speaker {
	void (*say)(void *arg, const char *sentence);
	void *arg;
};

__attribute__((format(printf, 2, 3))) static void say(const struct speaker *speaker, const char *format, ...)
{
	char text[LOG_MESSAGE_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	speaker->say(speaker->arg, text);
}

static void say_trouble(const struct speaker *s, const struct recorder_result *r)
{
	char a[TEXT_COUNT_SIZE];

	say(s, "the trace is not whole: %s%s%s%s", r->trouble.text, r->unwritten ? "; " : "",
	    r->unwritten ? text_count(a, r->unwritten, "event", "events") : "", r->unwritten ? " could not be written" : "");
}

/* Nobody who runs a program on the CPU wants to be told that there is no GPU. */
static void say_gpu(const struct speaker *s, const struct gpu_summary *gpu)
{
	bool offer = gpu->nsys && (gpu->driver.there || gpu->stood_down), name = gpu->use.count > 0;

	if (!gpu->use.used)
		log_debug("the program used no GPU library%s", gpu->driver.there ? "" : ", and there is no NVIDIA driver");
	if (gpu->samples.why[0])
		log_debug("GPUs were not asked how they are, or not to the end: %s", gpu->samples.why);
	if (!gpu->missing)
		return;
	say(s, "the program uses CUDA%s%s%s, and what its GPUs do is %s: %s%s%s", name ? " (" : "", name ? gpu->use.libraries[0] : "",
	    name ? ")" : "", gpu->recorded ? "recorded in part" : "not recorded", gpu->reason,
	    gpu->recorded ? "" : "; this is an analysis of the CPU alone", offer ? "; or: inferscope run --gpu nsys ..." : "");
}

/* What the door of CUDA says is in the sentence about GPUs. */
static bool is_said(const struct gpu_summary *gpu, const char *note)
{
	return gpu->missing && strncmp(note, GPU_NOTE, strlen(GPU_NOTE)) == 0;
}

/* What keeps a process from making its file in the session folder. */
static const char *why_refused(int code, char text[static 200])
{
	static const struct {
		int code;
		const char *why;
	} whys[] = {
		{ ENOENT, "the session folder is not where the program looks for it (it has another root, or has removed the folder)" },
		{ EACCES, "the program may not write to the session folder any more (it has become another user)" },
		{ EPERM, "the program may not write to the session folder any more (it has become another user)" },
		{ EFBIG, "the limit of the size of files is too low for it (ulimit -f)" },
		{ EMFILE, "the program had no file descriptor left (ulimit -n)" },
		{ ENOMEM, "the program had no address space left for it (ulimit -v)" },
		{ ENOSPC, "there is no room for it in the session folder" },
		{ 0, "there is no room for it in the session folder" },
	};

	for (size_t i = 0; i < sizeof whys / sizeof whys[0]; i++)
		if (whys[i].code == code)
			return whys[i].why;
	snprintf(text, 200, "its file cannot be made in the session folder: %s", strerror(code));
	return text;
}

void recording_warnings(const struct recorder_result *r, void (*speak)(void *arg, const char *sentence), void *arg)
{
	const struct speaker s = { speak, arg };
	char a[TEXT_COUNT_SIZE], why[200];

	if (r->trouble.code)
		say_trouble(&s, r);
	if (r->totals.refused_processes)
		say(&s, "%s could not be recorded: %s", text_count(a, r->totals.refused_processes, "process", "processes"),
		    why_refused(r->totals.refused_code, why));
	if (r->totals.unopened_code)
		say(&s, "what the program recorded could not be opened: %s; raise the limit of open files (ulimit -n)",
		    strerror(r->totals.unopened_code));
	if (r->totals.names_refused)
		say(&s, "%s the name [too many names]: put what varies in metadata, not in names",
		    text_count(a, r->totals.names_refused, "event has", "events have"));
	if (r->totals.lost > r->unwritten)
		say(&s, "events were lost: try a larger --trace-size-mb, or fewer events");
	if (r->totals.unseen_ns > 0)
		say(&s, "calls were not seen for %.1f ms (deep recursion, or beside a short function that waited)", r->totals.unseen_ns / 1e6);
	say_gpu(&s, &r->gpu);
	for (size_t i = 0; i < r->notes.count; i++)
		if (!is_said(&r->gpu, r->notes.texts[i]))
			say(&s, "%s", r->notes.texts[i]);
}
