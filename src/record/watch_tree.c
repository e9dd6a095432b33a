/* watch_tree.c - which processes and threads there are, and the sums that the kernel keeps of processes. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "record/watch_state.h"
#include "system/proc.h"
#include "system/process_end.h"

#define CHILD_LOOKS 16u  /* threads, besides main ones, that are asked for children in a pass: it takes 10 us each; */
#define CHILD_LOOKS_LONG 3u /* with long slots */
#define STATUS_LOOKS 10u /* at a process, between which what costs more is not read */
#define CROWD 4u         /* processes that are looked at in every pass; of more, some */
#define LIST_PASSES 5u   /* threads are listed at least every so many passes */
#define SPREAD_MAX 10u   /* every process is looked at every so many passes, at least */

/* ---- Processes --------------------------------------------------------------- */

static struct watched_process *find_process(const struct watch *w, pid_t pid)
{
	for (size_t i = 0; i < w->process_count; i++)
		if (w->processes[i]->pid == pid)
			return w->processes[i];
	return NULL;
}

static void put_counters(struct watch *w, struct watched_process *p, const struct process_counters *now)
{
	uint64_t ticks = clock_ticks(w->clock);

	for (unsigned i = 0; i < PROCESS_COUNTER_COUNT; i++) {
		const struct watch_record record = {
			.kind = WATCH_PROCESS, .counter = (uint8_t)i, .time = ticks, .value = now->values[i]
		};

		if (!(now->known >> i & 1) || (p->counters.known >> i & 1 && p->counters.values[i] == now->values[i]))
			continue;
		watch_put_process(w, p, &record);
		p->counters.values[i] = now->values[i];
		p->counters.known |= 1u << i;
	}
}

uint64_t watch_process_cpu(const struct watched_process *p)
{
	struct timespec ts;
	clockid_t clock;

	if (clock_getcpuclockid(p->pid, &clock) != 0 || clock_gettime(clock, &ts) != 0)
		return UINT64_MAX;
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* What was read becomes what is known now.  A main thread that has ended has no memory any more, though others have. */
static void keep_counters(struct watch *w, struct watched_process *p, const struct process_counters *read, uint64_t cpu_ns)
{
	bool others = (read->state == 'Z' || read->state == 'X') && read->values[PROCESS_THREADS] > 1;

	if (!w->options.views)
		return;
	for (unsigned i = 0; i < PROCESS_COUNTER_COUNT; i++)
		if (read->known >> i & 1 && !(others && i == PROCESS_RSS_BYTES))
			process_counters_set(&p->now, i, read->values[i]);
	if (!others)
		p->now.virtual_bytes = read->virtual_bytes;
	p->now.state = read->state;
	p->now.parent = p->parent = read->parent;
	p->now_time = clock_ticks(w->clock);
	if (read->known >> PROCESS_READ_CHARS & 1)
		p->io_time = p->now_time;
	p->cpu_ns = cpu_ns;
}

static void list_threads(struct watch *w, struct watched_process *p);

static int open_tasks(pid_t pid)
{
	char path[32];

	snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static int open_end(struct watch *w, pid_t pid)
{
	int fd = w->end_count < WATCH_ENDS ? process_end_open(pid) : -1;

	w->end_count += fd >= 0;
	return fd < 0 ? -1 : fd;
}

static void close_end(struct watch *w, struct watched_process *p)
{
	if (p->end < 0)
		return;
	close(p->end);
	w->end_count--;
}

static void note_death(struct watch *w, struct watched_process *p)
{
	int status;

	if (p->death || process_end_status(p->end, p->files.stat, &status) != 0 || !WIFSIGNALED(status))
		return;
	p->death = true;
	w->deaths[w->death_count++ % WATCH_DEATHS] = (struct watched_death){ p->number, p->pid, WTERMSIG(status) };
	if (p->number != 0)
		deaths_add(&w->killed, p->pid, WTERMSIG(status), p->name);
}

void watch_tree_add(struct watch *w, pid_t pid)
{
	struct process_counters counters;
	struct watched_process *p;

	if (pid <= 0 || find_process(w, pid) || w->process_count >= WATCH_PROCESSES)
		return;
	if (w->process_count == w->process_capacity && ARRAY_GROW(w->processes, w->process_capacity, 2 * w->process_count + 8) != 0)
		return;
	p = calloc(1, sizeof *p);
	if (!p)
		return;
	p->files = (struct process_files)PROCESS_FILES_INIT;
	if (process_files_open(&p->files, pid) != 0 || process_files_read(&p->files, true, &counters) != 0 ||
	    counters.state == 'Z') {
		process_files_close(&p->files);
		free(p);
		return;
	}
	p->pid = p->wait.pid = pid;
	p->code = (struct code_process){ .pid = pid, .maps = &p->wait.maps };
	p->number = w->next_process++;
	p->birth = counters.birth;
	p->memory = counters.memory;
	p->parent = counters.parent;
	p->tasks = open_tasks(pid);
	p->children = proc_open(pid, pid, "children");
	p->end = open_end(w, pid);
	(void)proc_thread_name(pid, pid, p->name, sizeof p->name);
	p->pss_reads = watch_memory_reads(0);
	w->processes[w->process_count++] = p;
	keep_counters(w, p, &counters, watch_process_cpu(p));
	put_counters(w, p, &counters);
	list_threads(w, p);
	watch_samples_soon(w);
}

void watch_process_end(struct watch *w, size_t index)
{
	struct watched_process *p = w->processes[index];
	const struct watch_record record = { .kind = WATCH_PROCESS_ENDED, .time = clock_ticks(w->clock) };

	for (size_t i = w->thread_count; i-- > 0;)
		if (w->threads[i]->process == p)
			watch_thread_end(w, i);
	if (p->gone)
		watch_put_process(w, p, &record);
	process_files_close(&p->files);
	if (p->tasks >= 0)
		close(p->tasks);
	if (p->children >= 0)
		close(p->children);
	close_end(w, p);
	wait_process_release(&p->wait);
	code_process_forget(&p->code);
	free(p);
	w->processes[index] = w->processes[--w->process_count];
}

/* ---- Threads ----------------------------------------------------------------- */

/* The kernel lists threads in much the order in which we met them, so the next is mostly where the last one ended. */
static bool is_known(struct watch *w, const struct watched_process *p, pid_t tid, size_t *hint)
{
	for (size_t i = 0; i < w->thread_count; i++) {
		size_t at = (*hint + i) % w->thread_count;
		struct watched_thread *t = w->threads[at];

		if (t->tid != tid || t->process != p)
			continue;
		*hint = at + 1;
		return t->listed = true;
	}
	return false;
}

static void end_unlisted(struct watch *w, const struct watched_process *p)
{
	for (size_t i = w->thread_count; i-- > 0;)
		if (w->threads[i]->process == p && !w->threads[i]->listed)
			watch_thread_end(w, i);
}

static void list_threads(struct watch *w, struct watched_process *p)
{
	char path[32];
	struct dirent *entry;
	size_t hint = 0;
	DIR *folder;

	snprintf(path, sizeof path, "/proc/%d/task", (int)p->pid);
	folder = opendir(path);
	if (!folder)
		return;
	p->refused = 0;
	for (size_t i = 0; i < w->thread_count; i++)
		w->threads[i]->listed = false;
	while ((entry = readdir(folder))) {
		pid_t tid = (pid_t)atoi(entry->d_name);

		if (tid <= 0 || (tid == p->pid && p->leader_ended) || is_known(w, p, tid, &hint))
			continue;
		if (watch_thread_new(w, p, tid) == 0)
			w->threads[w->thread_count - 1]->listed = true;
		else if (w->thread_count >= w->thread_limit)
			p->refused++;
	}
	w->totals.refused += p->refused;
	closedir(folder);
	end_unlisted(w, p);
}

/* ---- Children ---------------------------------------------------------------- */

/* Main threads have most children, so their files stay open. */
static void add_children(struct watch *w, const struct watched_thread *t)
{
	int fd = t->main ? t->process->children : proc_open(t->process->pid, t->tid, "children");
	struct proc_children children;
	pid_t child;

	proc_children_begin(&children, fd);
	while (w->process_count < WATCH_PROCESSES && proc_children_next(&children, &child))
		watch_tree_add(w, child);
	if (fd >= 0 && !t->main)
		close(fd);
}

/* Children are listed with the thread that began them, so it has run since. */
static void look_for_children(struct watch *w)
{
	size_t count = w->thread_count, asked = 0, most = w->options.slot_ns < WATCH_LONG_NS ? CHILD_LOOKS : CHILD_LOOKS_LONG;

	for (size_t i = 0; i < count; i++) {
		struct watched_thread *t = w->threads[(w->turn + i) % count];

		if (!t->ran || (!t->main && asked >= most))
			continue;
		if (!t->main) {
			asked++;
			w->turn++;
		}
		t->ran = false;
		add_children(w, t);
	}
}

void watch_tree_start(struct watch *w, pid_t root)
{
	watch_memory_start(w);
	watch_tree_add(w, root);
}

/* ---- A pass ------------------------------------------------------------------ */

static void replace_program(struct watch *w, struct watched_process *p, uint64_t memory)
{
	const struct watch_record record = { .kind = WATCH_PROCESS_REPLACED, .time = clock_ticks(w->clock) };

	p->memory = memory;
	p->programs++;
	(void)proc_thread_name(p->pid, p->pid, p->name, sizeof p->name);
	p->now.known &= ~(1u << PROCESS_PSS_BYTES | 1u << PROCESS_SHARED_BYTES | 1u << PROCESS_SWAP_BYTES |
			  1u << PROCESS_HELD_BYTES); /* read rarely */
	p->pss_reads = watch_memory_reads(0);
	wait_process_forget(&p->wait);
	code_process_forget(&p->code);
	watch_samples_soon(w);
	watch_put_process(w, p, &record);
}

/* As many threads as are known: mostly they are the same.  One that ended meanwhile is no longer known. */
static bool is_complete(const struct watch *w, const struct watched_process *p, uint64_t threads)
{
	uint64_t known = p->leader_ended;

	for (size_t i = 0; i < w->thread_count; i++)
		known += w->threads[i]->process == p;
	return known == threads && w->passes % LIST_PASSES != 0;
}

/* Its main thread has, and others may go on. */
static void end_leader(struct watch *w, struct watched_process *p, const struct process_counters *counters)
{
	p->leader_ended = true;
	if (p->ended || counters->values[PROCESS_THREADS] > 1)
		return;
	p->ended = true;
	note_death(w, p);
}

/* With long slots every other reading is a short one. */
static int read_process(const struct watch *w, struct watched_process *p, struct process_counters *ret)
{
	p->looks++;
	if (w->options.slot_ns >= WATCH_LONG_NS && p->looks % 2)
		return process_files_read_stat(&p->files, ret);
	return process_files_read(&p->files, p->looks % STATUS_LOOKS == 0, ret);
}

/* None of its threads has run since, so nothing that is counted has changed, but for what others do to it. */
static bool stands_still(struct watch *w, struct watched_process *p, uint64_t cpu_ns)
{
	if (w->options.slot_ns < WATCH_LONG_NS || !w->options.views || w->last || p->hurry || cpu_ns == UINT64_MAX || cpu_ns != p->cpu_ns ||
	    (p->looks + 1) % STATUS_LOOKS == 0)
		return false;
	p->looks++;
	p->now_time = clock_ticks(w->clock);
	if (p->io_time)
		p->io_time = p->now_time;
	return true;
}

static void look_at_process(struct watch *w, struct watched_process *p)
{
	struct process_counters counters;
	uint64_t cpu_ns = w->options.views ? watch_process_cpu(p) : UINT64_MAX;

	if (stands_still(w, p, cpu_ns))
		return;
	p->hurry = false;
	if (read_process(w, p, &counters) != 0) {
		p->gone = true;
		note_death(w, p);
		return;
	}
	if (counters.state == 'Z' || counters.state == 'X') {
		end_leader(w, p, &counters);
	} else {
		if (counters.memory != p->memory)
			replace_program(w, p, counters.memory);
		if (p->number == 0)
			watch_memory_look(w, p, &counters);
		put_counters(w, p, &counters);
	}
	keep_counters(w, p, &counters, cpu_ns);
	if (!is_complete(w, p, counters.values[PROCESS_THREADS]))
		list_threads(w, p);
}

static void take_added(struct watch *w)
{
	pid_t added[WATCH_ADDED];
	size_t count;

	pthread_mutex_lock(&w->lock);
	count = w->added_count;
	memcpy(added, w->added, count * sizeof added[0]);
	w->added_count = 0;
	pthread_mutex_unlock(&w->lock);
	for (size_t i = 0; i < count; i++)
		watch_tree_add(w, added[i]);
}

static uint64_t links_of(const struct watched_process *p)
{
	struct stat st;

	return p->tasks >= 0 && fstat(p->tasks, &st) == 0 ? (uint64_t)st.st_nlink : 0;
}

/* Threads that live for a fraction of a second would be half over before a pass finds them. */
void watch_tree_glance(struct watch *w)
{
	for (size_t i = 0; i < w->process_count && i < CROWD; i++) {
		struct watched_process *p = w->processes[i];
		uint64_t links = links_of(p);

		if (links && links != p->links) {
			p->links = links;
			list_threads(w, p);
		}
	}
}

void watch_tree_pass(struct watch *w)
{
	size_t spread = w->process_count / CROWD;

	spread = spread < 1 ? 1 : spread > SPREAD_MAX ? SPREAD_MAX : spread;
	take_added(w);
	look_for_children(w);
	for (size_t i = 0; i < w->process_count; i++) {
		struct watched_process *p = w->processes[i];

		if (w->last || p->hurry || (p->number + w->passes) % spread == 0)
			look_at_process(w, p);
	}
	watch_memory_pass(w);
	for (size_t i = w->process_count; i-- > 0;)
		if (w->processes[i]->gone)
			watch_process_end(w, i);
	w->passes++;
}

/* ---- When the root has ended --------------------------------------------------- */

#define SETTLE_MOST 64 /* that are waited for */

static bool lives(const struct watched_process *p)
{
	return p->number != 0 && !p->gone && !p->ended;
}

/* Waits for any of them to end; false where none will be waited for. */
static bool wait_for_ends(const struct watch *w, int patience_ms)
{
	struct pollfd fds[SETTLE_MOST];
	nfds_t count = 0;

	for (size_t i = 0; i < w->process_count && count < SETTLE_MOST; i++)
		if (lives(w->processes[i]) && w->processes[i]->end >= 0)
			fds[count++] = (struct pollfd){ .fd = w->processes[i]->end, .events = POLLIN };
	return count && poll(fds, count, patience_ms) > 0;
}

void watch_settle(struct watch *w, int patience_ms)
{
	struct timespec begin, now;
	int left = patience_ms;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	while (left > 0 && wait_for_ends(w, left)) {
		for (size_t i = w->process_count; i-- > 0;) {
			struct watched_process *p = w->processes[i];

			if (lives(p))
				look_at_process(w, p);
			if (p->gone)
				watch_process_end(w, i);
		}
		clock_gettime(CLOCK_MONOTONIC, &now);
		left = patience_ms - (int)((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000);
	}
}

pid_t watch_living(const struct watch *w, size_t index, const char **ret_name)
{
	for (size_t i = 0; i < w->process_count; i++) {
		if (!lives(w->processes[i]) || index--)
			continue;
		*ret_name = w->processes[i]->name;
		return w->processes[i]->pid;
	}
	return 0;
}

const struct deaths *watch_killed(const struct watch *w)
{
	return &w->killed;
}
