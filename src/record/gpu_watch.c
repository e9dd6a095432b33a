/* gpu_watch.c - see gpu_watch.h. */
#include "record/gpu_watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/msgpack.h"
#include "system/proc.h"

#define LOOK_MIN_NS 50000000   /* between looks */
#define LOOK_MAX_NS 2000000000
#define LOOK_COST_NS 5000000   /* one look takes no longer, but for the process it is at */
#define LOOK_SHARE 100         /* of the time, one part in so many */
#define AGE_SHARE 4

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* ---- One process ------------------------------------------------------------- */

static void add_library(struct gpu_use *use, const char *name, size_t size)
{
	if (use->count == GPU_LIBRARIES)
		return;
	size = size < sizeof use->libraries[0] ? size : sizeof use->libraries[0] - 1;
	for (size_t i = 0; i < use->count; i++)
		if (strlen(use->libraries[i]) == size && memcmp(use->libraries[i], name, size) == 0)
			return;
	memcpy(use->libraries[use->count], name, size);
	use->libraries[use->count++][size] = '\0';
}

/* CUPTI alone is no use of CUDA: frameworks link it into what runs without a GPU, too. */
bool gpu_use_line(struct gpu_use *use, const char *line)
{
	const char *path = strchr(line, '/'), *name = path ? gpu_library_name(path) : NULL;

	if (!name)
		return false;
	if (strncmp(name, "libcupti", 8) == 0) {
		use->cupti_loaded = true;
		return false;
	}
	add_library(use, name, strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"));
	use->used = true;
	return true;
}

static void read_maps(struct gpu_use *use, pid_t pid)
{
	char path[64], line[4352];
	FILE *file;

	snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof line, file))
		(void)gpu_use_line(use, line);
	if (file)
		fclose(file);
}

/* The size of its memory; 0 when it has none any more. */
static uint64_t pages_of(pid_t pid)
{
	int fd = proc_open(pid, 0, "statm");
	char text[128];
	const char *at = text;
	uint64_t pages = 0;

	if (fd < 0)
		return 0;
	if (proc_reread(fd, text, sizeof text) <= 0 || !proc_number(&at, &pages))
		pages = 0;
	close(fd);
	return pages;
}

/* Two processes that share a place are read more often than needed, and that is all. */
static void look_at(struct gpu_watch *w, pid_t pid)
{
	struct gpu_seen *seen = &w->seen[(uint32_t)pid % GPU_SEEN];
	uint64_t pages = pages_of(pid);

	if (pages == 0 || (seen->pid == pid && seen->pages == pages))
		return;
	*seen = (struct gpu_seen){ pid, pages };
	read_maps(&w->use, pid);
}

/* ---- All of them ------------------------------------------------------------- */

struct pids {
	pid_t list[GPU_DESCENDANTS + GPU_ATTACHED];
	size_t count;
};

static void add_pid(struct pids *pids, size_t limit, pid_t pid)
{
	for (size_t i = 0; i < pids->count; i++)
		if (pids->list[i] == pid)
			return;
	if (pid > 0 && pids->count < limit)
		pids->list[pids->count++] = pid;
}

/* Children of other threads than the main one attach, or are missed. */
static void add_children(struct pids *pids, pid_t pid)
{
	int fd = proc_open(pid, pid, "children");
	struct proc_children children;
	pid_t child;

	proc_children_begin(&children, fd);
	while (pids->count < GPU_DESCENDANTS && proc_children_next(&children, &child))
		add_pid(pids, GPU_DESCENDANTS, child);
	if (fd >= 0)
		close(fd);
}

/* The root and its descendants, and some of those that attached, in turn. */
static void list_processes(struct gpu_watch *w, const struct drain *drain, pid_t root, struct pids *pids)
{
	pids->count = 0;
	add_pid(pids, GPU_DESCENDANTS, root);
	for (size_t i = 0; i < pids->count; i++)
		add_children(pids, pids->list[i]);
	for (unsigned i = 0; i < GPU_ATTACHED; i++) {
		pid_t pid = drain ? drain_attached(drain, w->turn++) : -1;

		if (pid < 0) {
			w->turn = 0;
			return;
		}
		add_pid(pids, GPU_DESCENDANTS + GPU_ATTACHED, pid);
	}
}

static void look_at_some(struct gpu_watch *w, const struct drain *drain, pid_t root, int64_t begin)
{
	struct pids pids;

	list_processes(w, drain, root, &pids);
	for (size_t i = 0; i < pids.count && !w->use.used; i++) {
		look_at(w, pids.list[(i + w->first) % pids.count]);
		if (now_ns() - begin > LOOK_COST_NS) {
			w->first += (uint32_t)i + 1; /* the next ones next time */
			return;
		}
	}
}

static int64_t interval(const struct gpu_watch *w, int64_t now, int64_t cost)
{
	int64_t age = (now - w->begin_ns) / AGE_SHARE, least = cost * LOOK_SHARE;
	int64_t wait = age < LOOK_MAX_NS ? age : LOOK_MAX_NS;

	wait = wait > least ? wait : least;
	return wait > LOOK_MIN_NS ? wait : LOOK_MIN_NS;
}

void gpu_watch_pass(struct gpu_watch *w, const struct drain *drain, pid_t root, int64_t now)
{
	if (w->begin_ns == 0)
		w->begin_ns = now;
	if (w->use.used || now < w->next_ns)
		return;
	look_at_some(w, drain, root, now);
	w->next_ns = now + interval(w, now, now_ns() - now);
}

/* ---- The end ----------------------------------------------------------------- */

/* What the door of CUDA says when it stands down (docs/sbt-format.md, `notes`); NULL: nothing. */
static const char *door_note(const struct notes *notes)
{
	for (size_t i = 0; notes && i < notes->count; i++)
		if (strncmp(notes->texts[i], GPU_NOTE, strlen(GPU_NOTE)) == 0)
			return notes->texts[i] + strlen(GPU_NOTE);
	return NULL;
}

/* Somebody else's library in the place of ours; NULL: nobody's. */
static const char *door_occupant(const struct gpu_ending *ending)
{
	const char *value = getenv("CUDA_INJECTION64_PATH");

	return value && value[0] && strcmp(value, ending->runtime) != 0 ? value : NULL;
}

/* Why device work is not in the trace.  False when nothing says that there should be more than there is. */
static bool find_reason(struct gpu_summary *s, const struct gpu_ending *ending)
{
	const char *note = door_note(ending->notes), *occupant = door_occupant(ending);
	size_t size = sizeof s->reason;

	if (s->gpu == CONFIG_GPU_OFF)
		snprintf(s->reason, size, "it was not asked for (gpu: off)");
	else if (s->gpu == CONFIG_GPU_NSYS)
		snprintf(s->reason, size, "Nsight Systems records it");
	else if (note)
		snprintf(s->reason, size, "%s", note);
	else if (s->recorded)
		s->reason[0] = '\0';
	else if (occupant)
		snprintf(s->reason, size, "CUDA_INJECTION64_PATH is already set to %.300s", occupant);
	else if (!s->driver.there)
		snprintf(s->reason, size, "there is no NVIDIA driver");
	else if (s->tried && !s->cupti.there)
		snprintf(s->reason, size, "CUPTI cannot be loaded: %s", s->cupti.error);
	else
		snprintf(s->reason, size, "none was seen");
	s->stood_down = note != NULL;
	return s->gpu == CONFIG_GPU_AUTO &&
	       (note || (s->use.used && !s->recorded && (occupant || !s->driver.there || !s->cupti.there)));
}

void gpu_watch_finish(const struct gpu_watch *w, const struct gpu_ending *ending, struct gpu_summary *ret)
{
	*ret = (struct gpu_summary){ .use = w->use, .gpu = ending->gpu, .recorded = ending->recorded, .samples = ending->samples };
	gpu_driver_look(&ret->driver, "");
	ret->tried = ending->gpu == CONFIG_GPU_AUTO && (ret->driver.there || w->use.used);
	if (ret->tried && (w->use.cupti_loaded || ending->recorded))
		ret->cupti.there = true; /* what the program has, it can load */
	else if (ret->tried)
		gpu_cupti_try(&ret->cupti);
	ret->nsys = ret->tried && gpu_nsys_find(NULL, 0);
	ret->missing = find_reason(ret, ending);
}

static void put_bool(struct buffer *map, const char *key, bool value)
{
	(void)msgpack_write_text(map, key);
	(void)msgpack_write_bool(map, value);
}

static void put_text(struct buffer *map, const char *key, const char *value)
{
	(void)msgpack_write_text(map, key);
	(void)msgpack_write_text(map, value);
}

static void put_libraries(struct buffer *map, const struct gpu_use *use)
{
	(void)msgpack_write_text(map, "libraries");
	(void)msgpack_write_array(map, (uint32_t)use->count);
	for (size_t i = 0; i < use->count; i++)
		(void)msgpack_write_text(map, use->libraries[i]);
}

int gpu_summary_write(const struct gpu_summary *s, struct trace_writer *w, struct error *err)
{
	static const char *const modes[] = { "auto", "off", "nsys" };
	struct buffer map = BUFFER_INIT;
	bool version = s->driver.version[0], failed = s->tried && !s->cupti.there, why = s->samples.why[0],
	     reason = s->reason[0];
	int rc;

	(void)msgpack_write_map(&map, 1);
	(void)msgpack_write_text(&map, "gpu");
	(void)msgpack_write_map(&map, 7 + version + 2 * s->tried + failed + why + reason);
	put_text(&map, "mode", modes[s->gpu]);
	put_bool(&map, "recorded", s->recorded);
	put_bool(&map, "missing", s->missing);
	put_bool(&map, "stood_down", s->stood_down);
	(void)msgpack_write_text(&map, "samples");
	(void)msgpack_write_int(&map, (int64_t)s->samples.samples);
	if (why)
		put_text(&map, "sampling_error", s->samples.why);
	put_bool(&map, "driver", s->driver.there);
	if (version)
		put_text(&map, "driver_version", s->driver.version);
	if (s->tried) {
		put_bool(&map, "cupti", s->cupti.there);
		put_bool(&map, "nsys", s->nsys);
	}
	if (failed)
		put_text(&map, "cupti_error", s->cupti.error);
	put_libraries(&map, &s->use);
	if (reason)
		put_text(&map, "reason", s->reason);
	rc = trace_writer_info(w, map.data, map.size, err);
	buffer_release(&map);
	return rc;
}
