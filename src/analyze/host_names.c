/*
 * host_names.c - what names of functions, states and places say.
 *
 * Functions are matched as MODULE.FUNCTION, as the recorder names them, by their
 * beginning; those of other tools' traces have their file in front.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/findings_parts.h"
#include "analyze/host.h"
#include "timeline/gaps.h"

#define NAME_KNOWN (1u << 31)

static const struct name_rule {
	const char *front;
	uint32_t flags;
} name_rules[] = {
	{ "gc.generation ", NODE_GC },
	{ "importlib.", NODE_IMPORT },
	{ "torch.utils.data.dataloader._MultiProcessingDataLoaderIter", NODE_LOADER | NODE_LOADER_WORKERS },
	{ "torch.utils.data.", NODE_LOADER },
	{ "torch.jit._trace.", NODE_COMPILE },
	{ "torch.jit._script.script", NODE_COMPILE },
	{ "torch.jit._recursive.", NODE_COMPILE },
	{ "torch.jit.frontend.", NODE_COMPILE },
	{ "torch._dynamo.convert_frame", NODE_COMPILE },
	{ "torch._inductor.compile_fx", NODE_COMPILE },
	{ "torch._functorch.aot_autograd", NODE_COMPILE },
	{ "tinygrad.codegen.", NODE_COMPILE },
	{ "tinygrad.engine.realize.lower_and_compile", NODE_COMPILE },
	{ "torch.nn.modules.", NODE_MODEL },
	{ "transformers.models.", NODE_MODEL },
	{ "logging.", NODE_LOG },
	{ "loguru.", NODE_LOG },
	{ "tqdm.", NODE_LOG },
	{ "rich.", NODE_LOG },
	{ "multiprocessing.queues.", NODE_MESSAGES },
	{ "multiprocessing.connection.", NODE_MESSAGES },
	{ "multiprocessing.reduction.", NODE_MESSAGES },
	{ "multiprocessing.managers.", NODE_MESSAGES },
	{ "torch.multiprocessing.", NODE_MESSAGES },
	{ "torch.serialization.load", NODE_BUILDS },
	{ "torch.nn.modules.module.Module.load_state_dict", NODE_BUILDS },
	{ "safetensors.", NODE_BUILDS },
	{ "subprocess.", NODE_SUBPROCESS },
	{ "http.", NODE_NETWORK },
	{ "urllib.", NODE_NETWORK },
	{ "urllib3.", NODE_NETWORK },
	{ "requests.", NODE_NETWORK },
	{ "httpx.", NODE_NETWORK },
	{ "aiohttp.", NODE_NETWORK },
	{ "socket.", NODE_NETWORK },
	{ "ssl.", NODE_NETWORK },
	{ "grpc.", NODE_NETWORK },
	{ "queue.Queue.get_nowait", NODE_ASKS },
	{ "queue.Queue.empty", NODE_ASKS },
	{ "queue.Queue.qsize", NODE_ASKS },
	{ "multiprocessing.queues.Queue.empty", NODE_ASKS | NODE_MESSAGES },
	{ "multiprocessing.queues.Queue.get_nowait", NODE_ASKS | NODE_MESSAGES },
	{ "multiprocessing.pool.ApplyResult.ready", NODE_ASKS },
	{ "multiprocessing.process.BaseProcess.is_alive", NODE_ASKS },
	{ "multiprocessing.connection._ConnectionBase.poll", NODE_ASKS | NODE_MESSAGES },
	{ "concurrent.futures._base.Future.done", NODE_ASKS },
	{ "concurrent.futures._base.Future.running", NODE_ASKS },
	{ "threading.Thread.is_alive", NODE_ASKS },
	{ "threading.Event.is_set", NODE_ASKS },
	{ "asyncio.queues.Queue.empty", NODE_ASKS },
	{ "concurrent.futures.thread._worker", NODE_IDLE },
	{ "concurrent.futures.process.", NODE_IDLE },
	{ "queue.", NODE_IDLE },
	{ "threading.", NODE_IDLE },
	{ "multiprocessing.pool.worker", NODE_IDLE },
	{ "multiprocessing.pool.Pool._handle", NODE_IDLE },
	{ "socketserver.", NODE_IDLE },
	{ "selectors.", NODE_IDLE },
};

int host_names_init(struct host_names *names, const struct timeline *t)
{
	size_t count = (size_t)t->string_count + 1;

	*names = (struct host_names){ .t = t };
	names->flags = calloc(count, sizeof *names->flags);
	names->states = calloc(count, 1);
	names->places = calloc(count, 1);
	if (names->flags && names->states && names->places)
		return 0;
	host_names_release(names);
	return -ENOMEM;
}

void host_names_release(struct host_names *names)
{
	free(names->flags);
	free(names->states);
	free(names->places);
	*names = (struct host_names){ 0 };
}

static bool begins_with(const char *text, size_t size, const char *front)
{
	size_t length = strlen(front);

	return size >= length && memcmp(text, front, length) == 0;
}

static bool ends_with(const char *text, size_t size, const char *back)
{
	size_t length = strlen(back);

	return size >= length && memcmp(text + size - length, back, length) == 0;
}

/* A module that is loaded; the program itself is one, too. */
static bool is_import(const char *text, size_t size)
{
	return ends_with(text, size, ".<module>") && !begins_with(text, size, "__main__.") && !begins_with(text, size, "__mp_main__.");
}

/* A part of a function that Python makes one of its own. */
static bool is_part(const char *text, size_t size)
{
	static const char *const parts[] = { ".<listcomp>", ".<genexpr>", ".<dictcomp>", ".<setcomp>", ".<lambda>", NULL };

	for (const char *const *p = parts; *p; p++)
		if (ends_with(text, size, *p))
			return true;
	return false;
}

static uint32_t function_flags(struct host_names *names, uint32_t name)
{
	size_t size;
	const char *text = timeline_string(names->t, name, &size);
	uint32_t flags = is_own_function(names->t, name) ? NODE_OWN : 0;
	uint8_t evidence = evidence_of_name(EVENT_CPU_CALL, text, size);

	for (size_t i = 0; i < sizeof name_rules / sizeof *name_rules; i++)
		if (begins_with(text, size, name_rules[i].front))
			flags |= name_rules[i].flags;
	if (is_import(text, size))
		flags |= NODE_IMPORT;
	if (ends_with(text, size, ".__init__") || ends_with(text, size, ".from_pretrained"))
		flags |= NODE_BUILDS;
	if (flags & (NODE_IMPORT | NODE_GC) || is_part(text, size))
		flags &= ~NODE_OWN;
	if (evidence >> EVIDENCE_JIT & 1)
		flags |= NODE_COMPILE;
	return flags;
}

static uint32_t scope_flags(struct host_names *names, uint32_t name)
{
	size_t size;
	const char *text = timeline_string(names->t, name, &size);
	uint8_t evidence = evidence_of_name(EVENT_SCOPE, text, size);

	return NODE_SCOPE | (evidence >> EVIDENCE_INPUT & 1 ? NODE_LOADER : 0) | (evidence >> EVIDENCE_JIT & 1 ? NODE_COMPILE : 0);
}

uint32_t host_name_flags(struct host_names *names, uint8_t kind, uint32_t name)
{
	if (kind == EVENT_OP)
		return NODE_OPERATOR;
	if (name >= names->t->string_count || (kind != EVENT_CPU_CALL && kind != EVENT_SCOPE))
		return 0;
	if (!(names->flags[name] & NAME_KNOWN))
		names->flags[name] = NAME_KNOWN | (kind == EVENT_SCOPE ? scope_flags(names, name) : function_flags(names, name));
	return names->flags[name] & ~NAME_KNOWN;
}

/* ---- Looks ------------------------------------------------------------------- */

enum host_state host_look_state(struct host_names *names, const struct timeline_look *look)
{
	static const char *const texts[STATE_COUNT] = {
		"running",	"gil",	 "lock",  "barrier", "sleep",	      "poll",	"pipe",
		"socket_local", "socket_network", "file", "fsync",   "child", "page_fault_io", "device", "unknown",
	};
	size_t size;
	const char *text;
	uint8_t state = STATE_UNKNOWN;

	if (look->name >= names->t->string_count)
		return STATE_UNKNOWN;
	if (names->states[look->name])
		return names->states[look->name] - 1;
	text = timeline_string(names->t, look->name, &size);
	for (uint8_t i = 0; i < STATE_COUNT; i++)
		if (strcmp(text, texts[i]) == 0)
			state = i;
	names->states[look->name] = (uint8_t)(state + 1);
	return state;
}

static bool is_one_of(const char *what, const char *const *list)
{
	for (; what && *list; list++)
		if (strcmp(what, *list) == 0)
			return true;
	return false;
}

static enum host_place place_of_call(const char *what)
{
	static const char *const io[] = { "read", "write", "pread64", "pwrite64", "pread", "pwrite", "readv", "writev", "open", "open64",
					  "openat", "openat64", "close", "stat", "stat64", "fstat", "fstat64", "lstat", "lstat64", "fstatat", "fstatat64", "newfstatat",
					  "statx", "lseek", "lseek64", "fsync", "fdatasync", "getdents64", "readdir", "readdir64", "unlink", "rename",
					  "mkdir", "rmdir", "access", "ftruncate", "ftruncate64", "fallocate", "send", "recv", "sendto", "recvfrom",
					  "sendmsg", "recvmsg", "ioctl", "fcntl", "fcntl64", "sendfile", "copy_file_range", "flock", NULL };
	static const char *const memory[] = { "mmap", "mmap64", "munmap", "mremap", "madvise", "brk", "sbrk", "mprotect", NULL };

	return is_one_of(what, io) ? PLACE_IO : is_one_of(what, memory) ? PLACE_MEMORY : PLACE_SYSTEM;
}

/* Parts of the standard library that handle data; what they do is work of the interpreter. */
static bool is_standard_library(const char *what)
{
	static const char *const modules[] = { "_json.", "_pickle.", "_csv.", "_struct.", "_datetime.", "_random.", "_bisect.", "_heapq.",
					       "_asyncio.", "_elementtree.", "pyexpat.", "_decimal.", "array.", "math.", "_queue.",
					       "_socket.", "select.", "_posixsubprocess.", "_statistics.", "unicodedata.", "_contextvars.",
					       "mmap.", "_ctypes.", "binascii.", "fcntl.", "_multiprocessing.", "_posixshmem.", "_opcode.", NULL };

	for (const char *const *m = modules; *m; m++)
		if (strncmp(what, *m, strlen(*m)) == 0)
			return true;
	return false;
}

static enum host_place place_of_library(const char *what)
{
	static const char *const compute[] = { "libtorch", "libc10", "libopenblas", "libscipy_openblas", "libmkl", "libgomp", "libiomp", "libomp",
					       "_multiarray_umath", "libblas", "liblapack", "libdnnl", "libonnxruntime", "libtvm", "libarrow",
					       "jit", "_umath", "_imaging", "libcrypto", "libz.", "zlib.", "_hashlib", "_sha", "_blake2", "_lzma", "_bz2",
					       "liblzma", "libbz2", "libzstd", "libjpeg", "libpng", "_pocketfft", "mtrand", "_generator", "_pcg64",
					       "_philox", "_mt19937", "bit_generator", NULL };

	const char *file = what ? strrchr(what, '/') : NULL;

	if (!what)
		return PLACE_OTHER;
	for (const char *const *c = compute; *c; c++)
		if (strncmp(file ? file + 1 : what, *c, strlen(*c)) == 0)
			return PLACE_COMPUTE;
	return !file && is_standard_library(what) ? PLACE_INTERPRETER : PLACE_OTHER; /* which is of no package */
}

enum host_place host_look_place(struct host_names *names, const struct timeline_look *look)
{
	size_t size;
	const char *text = timeline_string(names->t, look->name, &size);

	switch (text[0]) {
	case 'i':
		return PLACE_INTERPRETER;
	case 'p':
		return PLACE_PROFILER;
	case 'f':
		return PLACE_FAULT;
	case 's':
		return place_of_call(look->what);
	default:
		return place_of_library(look->what);
	}
}
