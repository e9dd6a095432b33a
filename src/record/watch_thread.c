/* watch_thread.c - one thread: its ledger, and its states one after the other. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "record/watch_state.h"
#include "system/proc.h"

#define STILL 3u       /* looks that find a thread unmoved before it is looked at more rarely */
#define REST_MAX 4u    /* then after 2, 4, 8, 16 slots: powers of two, */
#define REST_LOOKS 8u  /* each for so many looks: one that wakes now and then would be lost from sight */
#define WAKES 2u       /* slices that one change of state may take */
#define REST_NS 400000000 /* but no longer than this, or the least that is a rest, */
#define REST_SPINE 1u  /* the main thread of a process: 2 slots at most, */
#define CROWDED 8u     /* unless others have to be looked at this rarely to keep the budget */

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* ---- Records ----------------------------------------------------------------- */

static void put_state(struct watch *w, const struct watched_thread *t, uint64_t begin, uint64_t end, const struct wait_object *o,
		      uint64_t samples)
{
	struct watch_record record = { .kind = WATCH_STATE, .state = (uint8_t)o->state, .time = begin, .value = samples,
				      .continues = t->continues };

	if (end <= begin)
		return;
	record.duration = end - begin;
	memcpy(record.what, o->what, sizeof record.what);
	watch_put_thread(w, t, &record);
}

static void put_ledger(struct watch *w, struct watched_thread *t)
{
	const uint64_t values[WATCH_LEDGER_COUNT] = { t->ledger.run_ns, t->ledger.queue_ns, t->ledger.slices };

	if (!t->is_new && memcmp(&t->ledger, &t->written, sizeof t->ledger) == 0)
		return;
	for (unsigned i = 0; i < WATCH_LEDGER_COUNT; i++) {
		const struct watch_record record = {
			.kind = WATCH_LEDGER, .counter = (uint8_t)i, .time = t->last, .value = values[i]
		};

		watch_put_thread(w, t, &record);
	}
	t->written = t->ledger;
	t->is_new = false;
}

void watch_thread_second(struct watch *w, struct watched_thread *t)
{
	if (t->object.state != THREAD_STATE_COUNT && t->last > t->begin) {
		put_state(w, t, t->begin, t->last, &t->object, t->samples);
		t->begin = t->last;
		t->samples = 0;
		t->continues = true;
	}
	put_ledger(w, t);
}

/* ---- Coming and going -------------------------------------------------------- */

/* What it was before is not known. */
int watch_thread_new(struct watch *w, struct watched_process *p, pid_t tid)
{
	struct watched_thread *t;

	if (w->thread_count >= w->thread_limit)
		return -EMFILE;
	if (w->thread_count == w->thread_capacity && ARRAY_GROW(w->threads, w->thread_capacity, 2 * w->thread_count + 16) != 0)
		return -ENOMEM;
	t = calloc(1, sizeof *t);
	if (!t)
		return -ENOMEM;
	t->sampler = (struct cpu_sampler)CPU_SAMPLER_INIT;
	if (thread_files_open(&t->files, p->pid, tid) != 0 || thread_files_ledger(&t->files, &t->ledger) != 0) {
		thread_files_close(&t->files);
		free(t);
		return -ESRCH;
	}
	p->syscalls = t->files.syscall >= 0;
	t->tid = tid;
	t->number = w->next_thread++;
	t->process = p;
	t->main = tid == p->pid;
	t->object.state = THREAD_STATE_COUNT; /* none yet */
	t->met = t->begin = t->last = t->moved = t->since = clock_ticks(w->clock);
	t->last_slot = w->slot;
	t->ran = t->is_new = true;
	w->threads[w->thread_count++] = t;
	put_ledger(w, t);
	watch_sampler_begin(w, t);
	return 0;
}

/* It ended at some time after the last look.  One that has ended seems to run until somebody has been told. */
static void put_end(struct watch *w, struct watched_thread *t, uint64_t now)
{
	uint64_t end;

	if (t->object.state == THREAD_RUNNING && t->moved > t->begin)
		t->last = t->moved;
	end = t->last + w->ticks_a_slot < now ? t->last + w->ticks_a_slot : now;
	if (t->object.state != THREAD_STATE_COUNT)
		put_state(w, t, t->begin, end, &t->object, t->samples);
}

void watch_thread_end(struct watch *w, size_t index)
{
	struct watched_thread *t = w->threads[index];
	struct watch_record record = { .kind = WATCH_THREAD_ENDED };

	put_end(w, t, clock_ticks(w->clock));
	put_ledger(w, t);
	watch_sampler_end(w, t);
	record.time = t->last;
	watch_put_thread(w, t, &record);
	thread_files_close(&t->files);
	t->process->hurry = true;
	free(t);
	w->threads[index] = w->threads[--w->thread_count];
}

/* ---- Looking ----------------------------------------------------------------- */

static bool is_same(const struct wait_object *a, const struct wait_object *b)
{
	return a->state == b->state && strcmp(a->what, b->what) == 0;
}

/*
 * A state begins where it was seen and lasts until something else is seen.  Where the thread woke more than once while it was
 * looked at rarely, it may have been in others between these, and what it did then is not known.
 */
static void change(struct watch *w, struct watched_thread *t, const struct wait_object *object, uint64_t now, bool lost)
{
	const struct wait_object unknown = { .state = THREAD_UNKNOWN };
	uint64_t half = w->ticks_a_slot / 2, end = now;

	if (lost && object->state != t->object.state && now - t->last > 2 * half)
		end = t->last + half;
	if (t->object.state != THREAD_STATE_COUNT)
		put_state(w, t, t->begin, end, &t->object, t->samples);
	t->continues = false;
	if (end < now)
		put_state(w, t, end, now, &unknown, 0);
	t->begin = t->since = now;
	t->samples = 0;
	t->object = *object;
}

static bool has_ended(const struct watched_thread *t)
{
	char text[512];
	const char *at;
	int fd = proc_open(t->process->pid, t->tid, "stat");
	ssize_t n = proc_reread(fd, text, sizeof text);

	if (fd >= 0)
		close(fd);
	at = n > 0 ? strrchr(text, ')') : NULL;
	return !at || at[1] != ' ' || at[2] == 'Z' || at[2] == 'X';
}

static void rest(const struct watch *w, struct watched_thread *t)
{
	unsigned most = t->main && w->pace < CROWDED ? REST_SPINE : REST_MAX, power = (t->unchanged - STILL) / REST_LOOKS + 1;

	while (most > 1 && w->options.slot_ns << most > REST_NS)
		most--;
	t->next_slot = w->slot + ((uint64_t)1 << (power < most ? power : most));
}

/* What it is in, and when: after it has been read, since who waits mostly goes on to.  Negative when it has ended. */
static int find_state(const struct watch *w, struct watched_thread *t, bool moved, struct wait_object *ret, uint64_t *ret_now)
{
	struct thread_syscall call;
	int rc = thread_files_syscall(&t->files, &call);

	*ret_now = clock_ticks(w->clock);
	if (rc == -ESRCH)
		return rc;
	if (rc != 0) { /* forbidden: that it moved is all we know */
		*ret = (struct wait_object){ .state = moved ? THREAD_RUNNING : THREAD_UNKNOWN };
		return 0;
	}
	if (call.running && !moved && t->unchanged >= STILL && has_ended(t))
		return -ESRCH;
	if (!moved && t->object.state != THREAD_STATE_COUNT && memcmp(&call, &t->call, sizeof call) == 0)
		*ret = t->object;
	else
		wait_object_find(&t->process->wait, t->tid, &call, now_ns(), ret);
	t->call = call;
	return 0;
}

/* woken: how often it began to run since the last look. */
static int look(struct watch *w, struct watched_thread *t, bool moved, uint64_t woken, uint64_t now)
{
	bool rested = t->unchanged > STILL, blocked = t->object.state != THREAD_RUNNING && t->object.state != THREAD_STATE_COUNT;
	struct wait_object object;

	t->unchanged = moved ? 0 : t->unchanged + 1;
	if (!moved && blocked && t->unchanged > STILL) { /* it still waits, and has since */
		t->samples += w->slot - t->last_slot;
		rest(w, t);
	} else {
		if (find_state(w, t, moved, &object, &now) != 0)
			return -ESRCH;
		if (!is_same(&object, &t->object) || (moved && object.state != THREAD_RUNNING)) /* woken since: another wait */
			change(w, t, &object, now, rested && woken > WAKES);
		t->samples++;
	}
	t->last = now;
	t->last_slot = w->slot;
	return 0;
}

/* Has no thread of the process run since this one was looked at?  One question for all of them. */
static bool stands_still(const struct watch *w, const struct watched_thread *t)
{
	struct watched_process *p = t->process;
	uint64_t cpu;

	if (p->seen_slot != w->slot) {
		cpu = watch_process_cpu(p);
		if (cpu == UINT64_MAX || cpu != p->seen_cpu_ns)
			p->moved_slot = w->slot;
		p->seen_cpu_ns = cpu;
		p->seen_slot = w->slot;
	}
	return p->moved_slot <= t->last_slot;
}

/* With long slots a thread that waited the last few times is known to wait still when its whole process does. */
static bool still_waits(struct watch *w, struct watched_thread *t)
{
	if (w->options.slot_ns < WATCH_LONG_NS || w->last || t->unchanged <= STILL || t->object.state == THREAD_RUNNING ||
	    t->object.state == THREAD_STATE_COUNT || !stands_still(w, t))
		return false;
	t->samples += w->slot - t->last_slot;
	t->last = clock_ticks(w->clock);
	t->last_slot = w->slot;
	return true;
}

int watch_thread_look(struct watch *w, struct watched_thread *t)
{
	struct thread_ledger ledger;
	uint64_t now, woken;
	bool moved;

	if (still_waits(w, t))
		return 0;
	if (thread_files_ledger(&t->files, &ledger) != 0)
		return -ESRCH;
	now = clock_ticks(w->clock);
	moved = ledger.run_ns != t->ledger.run_ns || ledger.slices != t->ledger.slices;
	woken = ledger.slices - t->ledger.slices;
	t->ledger = ledger;
	if (moved) {
		t->moved = now;
		t->ran = true;
		watch_sampler_begin(w, t);
	}
	return look(w, t, moved, woken, now);
}
