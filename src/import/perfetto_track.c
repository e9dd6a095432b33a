/*
 * perfetto_track.c - processes, threads and tracks, and what they are in the output.
 *
 * A track is made in the output when its first event goes there, so that the
 * thousands of threads of a process tree that did nothing are not in the trace,
 * and descriptions may come after events.
 */
#include "import/perfetto.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"

#define TRACKS_MAX 500000u
#define COMMAND_MAX 4096u
#define BESIDE "inferscope.beside" /* in our own exports, see perfetto_track.beside */
#define STREAM "inferscope.stream" /* and perfetto_track.stream */

int perfetto_store(struct perfetto *p, struct text text, struct stored_text *ret)
{
	if (text.size > PERFETTO_TEXT_MAX - p->texts.size)
		return -EBADMSG;
	if (text.size && buffer_append(&p->texts, text.data, text.size))
		return -ENOMEM;
	*ret = (struct stored_text){ (uint32_t)(p->texts.size - text.size), (uint32_t)text.size };
	return 0;
}

struct text perfetto_stored(const struct perfetto *p, struct stored_text text)
{
	return text.size ? (struct text){ (const char *)p->texts.data + text.at, text.size } : (struct text){ "", 0 };
}

/* Keeps a text unless it is the one that is there. */
static int replace(struct perfetto *p, struct stored_text *old, struct text text)
{
	if (text.size == old->size && (!text.size || memcmp(perfetto_stored(p, *old).data, text.data, text.size) == 0))
		return 0;
	return perfetto_store(p, text, old);
}

/* ---- Processes and threads ---------------------------------------------------- */

static struct perfetto_process *process_of(struct perfetto *p, uint64_t machine, uint64_t pid)
{
	uint32_t at = output_map_find(&p->process_map, machine, pid);

	if (at != PERFETTO_NONE)
		return &p->processes[at];
	if (p->process_count >= TRACKS_MAX || ARRAY_GROW(p->processes, p->process_capacity, p->process_count + 1) ||
	    output_map_add(&p->process_map, machine, pid, (uint32_t)p->process_count))
		return NULL;
	p->processes[p->process_count] =
		(struct perfetto_process){ .machine = machine, .pid = pid, .output = OUTPUT_NONE };
	return &p->processes[p->process_count++];
}

static struct perfetto_thread *thread_of(struct perfetto *p, uint64_t machine, uint64_t pid, uint64_t tid)
{
	uint32_t at = output_map_find(&p->thread_map, machine << 32 | (pid & UINT32_MAX), tid);

	if (at != PERFETTO_NONE)
		return &p->threads[at];
	if (p->thread_count >= TRACKS_MAX || ARRAY_GROW(p->threads, p->thread_capacity, p->thread_count + 1) ||
	    output_map_add(&p->thread_map, machine << 32 | (pid & UINT32_MAX), tid, (uint32_t)p->thread_count))
		return NULL;
	p->threads[p->thread_count] =
		(struct perfetto_thread){ .machine = machine, .pid = pid, .tid = tid, .output = OUTPUT_NONE };
	return &p->threads[p->thread_count++];
}

static int name_process(struct perfetto *p, uint64_t machine, uint64_t pid, struct text name, struct text command)
{
	struct perfetto_process *process = process_of(p, machine, pid);
	int rc = process ? 0 : -EBADMSG;

	if (rc == 0 && name.size) {
		rc = replace(p, &process->name, name);
		if (rc == 0 && process->output != OUTPUT_NONE)
			output_process_name(p->o, process->output, name.data, name.size);
	}
	if (rc == 0 && command.size) {
		rc = replace(p, &process->command, command);
		if (rc == 0 && process->output != OUTPUT_NONE)
			output_process_command(p->o, process->output, command.data, command.size);
	}
	return rc;
}

static int name_thread(struct perfetto *p, uint64_t machine, uint64_t pid, uint64_t tid, struct text name)
{
	struct perfetto_thread *thread = thread_of(p, machine, pid, tid);
	int rc = thread ? 0 : -EBADMSG;

	if (rc == 0 && name.size) {
		rc = replace(p, &thread->name, name);
		if (rc == 0 && thread->output != OUTPUT_NONE)
			output_track_name(p->o, thread->output, name.data, name.size);
	}
	return rc;
}

/* Machines of one trace have pids of their own. */
uint32_t track_process(struct perfetto *p, uint64_t machine, uint64_t pid)
{
	struct perfetto_process *process = process_of(p, machine, pid);
	struct text name, command;

	if (!process)
		return OUTPUT_NONE;
	if (process->output != OUTPUT_NONE)
		return process->output;
	process->output = output_process(p->o, machine << 32 | (process->zero ? 0 : pid & UINT32_MAX));
	if (process->output != OUTPUT_NONE && process->rank)
		output_process_rank(p->o, process->output, (int64_t)process->rank - 1);
	name = perfetto_stored(p, process->name);
	command = perfetto_stored(p, process->command);
	if (process->output != OUTPUT_NONE && name.size)
		output_process_name(p->o, process->output, name.data, name.size);
	if (process->output != OUTPUT_NONE && command.size)
		output_process_command(p->o, process->output, command.data, command.size);
	return process->output;
}

/* Where tracks are that belong to no process. */
uint32_t track_global(struct perfetto *p, uint64_t machine)
{
	static const char name[] = "Global tracks";
	const struct perfetto_process *process = process_of(p, machine, 0);

	if (process && !process->name.size && !p->has_zero &&
	    name_process(p, machine, 0, (struct text){ name, sizeof name - 1 }, (struct text){ "", 0 }))
		return OUTPUT_NONE;
	return track_process(p, machine, 0);
}

uint32_t track_thread(struct perfetto *p, uint64_t machine, uint64_t pid, uint64_t tid)
{
	struct perfetto_thread *thread = thread_of(p, machine, pid, tid);
	uint32_t process;
	struct text name;

	if (!thread)
		return OUTPUT_NONE;
	if (thread->output != OUTPUT_NONE)
		return thread->output;
	process = track_process(p, machine, pid);
	if (process == OUTPUT_NONE)
		return OUTPUT_NONE;
	thread->output = output_thread(p->o, process, tid);
	name = perfetto_stored(p, thread->name);
	if (thread->output != OUTPUT_NONE && name.size)
		output_track_name(p->o, thread->output, name.data, name.size);
	return thread->output;
}

/* ---- Descriptions ------------------------------------------------------------- */

/* The words of a command line, one after another. */
static int add_word(struct buffer *line, const struct pb_field *f)
{
	size_t size = f->size < COMMAND_MAX ? f->size : COMMAND_MAX;

	if (!size || line->size > COMMAND_MAX)
		return 0;
	if (line->size && buffer_append(line, " ", 1))
		return -ENOMEM;
	return buffer_append(line, f->data, size);
}

struct description {
	uint64_t pid, tid;
	bool has_pid, has_tid;
	struct text name, first_word;
	uint64_t rank; /* plus one; 0: none */
	bool labelled_zero;
	int64_t reference_us;
	bool has_reference;
};

static struct text scratch_text(const struct perfetto *p)
{
	return p->scratch.size ? (struct text){ (const char *)p->scratch.data, p->scratch.size }
			       : (struct text){ "", 0 };
}

static bool text_is(struct text text, const char *word)
{
	return text.size == strlen(word) && memcmp(text.data, word, text.size) == 0;
}

static bool text_begins(struct text text, const char *word)
{
	return text.size > strlen(word) && memcmp(text.data, word, strlen(word)) == 0;
}

/* A process of a distributed job, which our own export labels with its rank. */
static void set_rank(struct perfetto *p, uint64_t machine, const struct description *d)
{
	struct perfetto_process *process = d->rank ? process_of(p, machine, d->pid) : NULL;

	if (!process)
		return;
	process->rank = d->rank;
	if (process->output != OUTPUT_NONE)
		output_process_rank(p->o, process->output, (int64_t)d->rank - 1);
}

/* The first that our own export says to have the pid 0; of several hosts, others keep the number they have. */
static void set_zero(struct perfetto *p, uint64_t machine, const struct description *d)
{
	struct perfetto_process *process =
		p->ours && d->labelled_zero && !p->has_zero ? process_of(p, machine, d->pid) : NULL;

	if (!process || process->output != OUTPUT_NONE)
		return;
	process->zero = p->has_zero = true;
}

/* ProcessDescriptor; the command line is left in p->scratch. */
static int read_process(struct perfetto *p, struct cursor c, struct description *d)
{
	struct pb_field f;
	int rc;

	*d = (struct description){ 0 };
	buffer_clear(&p->scratch);
	while ((rc = pb_next(&c, &f)) > 0) {
		if (f.number == 1) {
			d->pid = f.value & UINT32_MAX;
			d->has_pid = true;
		} else if (f.number == 2 && add_word(&p->scratch, &f)) {
			return -ENOMEM;
		} else if (f.number == 6) {
			d->name = pb_text(&f);
		} else if (f.number == 8 && text_begins(pb_text(&f), "rank ") && text_number_after(pb_text(&f), "rank", &d->rank)) {
			d->rank = d->rank < UINT32_MAX ? d->rank + 1 : 0;
		} else if (f.number == 8) {
			d->labelled_zero |= text_is(pb_text(&f), "pid 0");
		}
		if (f.number == 2 && !d->first_word.size)
			d->first_word = pb_text(&f);
	}
	return rc;
}

static int read_thread(struct cursor c, struct description *d)
{
	struct pb_field f;
	int rc;

	*d = (struct description){ 0 };
	while ((rc = pb_next(&c, &f)) > 0) {
		switch (f.number) {
		case 1:
			d->pid = f.value & UINT32_MAX;
			d->has_pid = true;
			break;
		case 2:
			d->tid = f.value;
			d->has_tid = true;
			break;
		case 5:
			d->name = pb_text(&f);
			break;
		case 6:
			d->reference_us = (int64_t)f.value;
			d->has_reference = true;
			break;
		default:
			break;
		}
	}
	return rc;
}

int track_process_descriptor(struct perfetto *p, uint64_t machine, struct cursor c)
{
	struct description d;
	int rc = read_process(p, c, &d);

	if (rc || !d.has_pid)
		return rc;
	return name_process(p, machine, d.pid, d.name.size ? d.name : d.first_word, scratch_text(p));
}

int track_thread_descriptor(struct perfetto *p, struct sequence *s, uint64_t machine, struct cursor c)
{
	struct description d;
	int rc = read_thread(c, &d);

	if (rc || !d.has_pid || !d.has_tid)
		return rc;
	if (!s->lost) {
		s->has_thread = true;
		s->pid = d.pid;
		s->tid = d.tid;
		if (__builtin_mul_overflow(d.reference_us, 1000, &s->thread_time))
			s->thread_time = 0;
	}
	return name_thread(p, machine, d.pid, d.tid, d.name);
}

static int tree_process(struct perfetto *p, uint64_t machine, struct cursor c)
{
	struct text first = { "", 0 };
	uint64_t pid = 0;
	struct pb_field f;
	int rc;

	buffer_clear(&p->scratch);
	while ((rc = pb_next(&c, &f)) > 0) {
		if (f.number == 1)
			pid = f.value & UINT32_MAX;
		if (f.number == 3 && add_word(&p->scratch, &f))
			return -ENOMEM;
		if (f.number == 3 && !first.size)
			first = pb_text(&f);
	}
	return rc ? rc : name_process(p, machine, pid, first, scratch_text(p));
}

static int tree_thread(struct perfetto *p, uint64_t machine, struct cursor c)
{
	struct text name = { "", 0 };
	uint64_t tid = 0, pid = 0;
	struct pb_field f;
	int rc;

	while ((rc = pb_next(&c, &f)) > 0) {
		switch (f.number) {
		case 1:
			tid = f.value & UINT32_MAX;
			break;
		case 2:
			name = pb_text(&f);
			break;
		case 3:
			pid = f.value & UINT32_MAX;
			break;
		default:
			break;
		}
	}
	return rc ? rc : name_thread(p, machine, pid, tid, name);
}

int track_process_tree(struct perfetto *p, uint64_t machine, struct cursor c)
{
	struct pb_field f;
	int rc;

	while ((rc = pb_next(&c, &f)) > 0) {
		if (f.wire == PB_BYTES && f.number == 1)
			rc = tree_process(p, machine, pb_message(&f));
		else if (f.wire == PB_BYTES && f.number == 2)
			rc = tree_thread(p, machine, pb_message(&f));
		else
			rc = 0;
		if (rc)
			return rc;
	}
	return rc;
}

/* ---- Tracks ------------------------------------------------------------------- */

uint32_t track_of_uuid(struct perfetto *p, uint64_t machine, uint64_t uuid)
{
	uint32_t at = output_map_find(&p->track_map, machine, uuid);

	if (at != PERFETTO_NONE)
		return at;
	if (p->track_count >= TRACKS_MAX || ARRAY_GROW(p->tracks, p->track_capacity, p->track_count + 1) ||
	    output_map_add(&p->track_map, machine, uuid, (uint32_t)p->track_count))
		return PERFETTO_NONE;
	p->tracks[p->track_count] = (struct perfetto_track){
		.machine = machine,
		.uuid = uuid,
		.name_number = OUTPUT_NONE,
		.output = OUTPUT_NONE,
		.counter_output = OUTPUT_NONE,
		.multiplier = 1,
		.pending = PERFETTO_NONE,
		.last = INT64_MIN,
	};
	return (uint32_t)p->track_count++;
}

uint32_t track_of_sequence(struct perfetto *p, uint64_t machine, const struct sequence *s)
{
	/* Uuids are of the machine; these tracks are of none. */
	uint64_t none = (uint64_t)1 << 32 | s->id;
	uint32_t at = output_map_find(&p->track_map, none, 0);
	char name[40];

	if (at != PERFETTO_NONE)
		return at;
	at = track_of_uuid(p, none, 0);
	if (at == PERFETTO_NONE)
		return at;
	p->tracks[at].machine = machine;
	p->tracks[at].kind = IS_CHILD;
	p->tracks[at].uuid = none;
	if (perfetto_store(p,
			   (struct text){ name, (size_t)snprintf(name, sizeof name, "Sequence %u", (unsigned)s->id) },
			   &p->tracks[at].name))
		return PERFETTO_NONE;
	return at;
}

static int read_counter(struct perfetto *p, struct cursor c, struct perfetto_track *t, struct text *name)
{
	static const char *const units[] = { "", "ns", "count", "bytes" };
	static const char *const builtin[] = { "", "thread_time", "thread_instruction_count" };
	struct text unit = { "", 0 };
	struct pb_field f;
	int rc;

	t->multiplier = 1;
	t->incremental = false;
	while ((rc = pb_next(&c, &f)) > 0) {
		if (f.number == 1 && f.value < 3 && !name->size)
			*name = (struct text){ builtin[f.value], strlen(builtin[f.value]) };
		else if (f.number == 3 && f.value < 4 && !unit.size)
			unit = (struct text){ units[f.value], strlen(units[f.value]) };
		else if (f.number == 4 && f.value)
			t->multiplier = (int64_t)f.value;
		else if (f.number == 5)
			t->incremental = f.value;
		else if (f.number == 6 && f.size)
			unit = pb_text(&f);
	}
	return rc ? rc : replace(p, &t->unit, unit);
}

struct track_fields {
	struct pb_field process, thread, counter;
	struct text name, merge_key;
	uint64_t uuid, parent;
	bool has_uuid;
};

static int read_track(struct cursor c, struct track_fields *t)
{
	struct pb_field f;
	int rc;

	while ((rc = pb_next(&c, &f)) > 0) {
		switch (f.number) {
		case 1:
			t->uuid = f.value;
			t->has_uuid = true;
			break;
		case 2:  /* name */
		case 10: /* static_name */
		case 13: /* atrace_name */
			t->name = pb_text(&f);
			break;
		case 3:
			t->process = f;
			break;
		case 4:
			t->thread = f;
			break;
		case 5:
			t->parent = f.value;
			break;
		case 8:
			t->counter = f;
			break;
		case 16:
			t->merge_key = pb_text(&f);
			break;
		default:
			break;
		}
	}
	return rc;
}

/* A track's name came or changed after its events had begun. */
static void rename_output(struct perfetto *p, const struct perfetto_track *t)
{
	struct text name = perfetto_stored(p, t->name);

	if (t->kind == IS_CHILD && t->output != OUTPUT_NONE && name.size)
		output_track_name(p->o, t->output, name.data, name.size);
}

static int describe_process(struct perfetto *p, struct perfetto_track *t, uint64_t machine,
			    const struct track_fields *fields)
{
	struct description d;
	int rc = read_process(p, pb_message(&fields->process), &d);
	struct text name = d.name.size ? d.name : fields->name.size ? fields->name : d.first_word;

	if (rc || !d.has_pid)
		return rc;
	t->kind = IS_PROCESS;
	t->pid = d.pid;
	set_rank(p, machine, &d);
	set_zero(p, machine, &d);
	return name_process(p, machine, d.pid, name, scratch_text(p));
}

static int describe_thread(struct perfetto *p, struct perfetto_track *t, uint64_t machine,
			   const struct track_fields *fields)
{
	struct description d;
	int rc = read_thread(pb_message(&fields->thread), &d);

	if (rc || !d.has_pid || !d.has_tid)
		return rc;
	t->kind = IS_THREAD;
	t->pid = d.pid;
	t->tid = d.tid;
	return name_thread(p, machine, d.pid, d.tid, d.name.size ? d.name : fields->name);
}

int track_descriptor(struct perfetto *p, uint64_t machine, struct cursor c)
{
	struct track_fields fields = { 0 };
	struct perfetto_track *t;
	uint32_t at;
	int rc = read_track(c, &fields);

	if (rc || !fields.has_uuid)
		return rc;
	at = track_of_uuid(p, machine, fields.uuid);
	if (at == PERFETTO_NONE)
		return -EBADMSG;
	t = &p->tracks[at];
	t->parent = fields.parent;
	t->beside = text_is(fields.merge_key, BESIDE);
	t->stream = text_is(fields.merge_key, STREAM);
	if (fields.thread.data)
		rc = describe_thread(p, t, machine, &fields);
	else if (fields.process.data)
		rc = describe_process(p, t, machine, &fields);
	else
		t->kind = fields.counter.data ? IS_COUNTER : IS_CHILD;
	if (rc == 0 && fields.counter.data)
		rc = read_counter(p, pb_message(&fields.counter), t, &fields.name);
	if (rc == 0 && fields.name.size) {
		rc = replace(p, &t->name, fields.name);
		t->name_number = OUTPUT_NONE;
		rename_output(p, t);
	}
	return rc;
}

/* ---- Their places in the output ----------------------------------------------- */

static struct perfetto_track *parent_of(struct perfetto *p, const struct perfetto_track *t)
{
	uint32_t at = t->parent ? output_map_find(&p->track_map, t->machine, t->parent) : PERFETTO_NONE;

	return at == PERFETTO_NONE ? NULL : &p->tracks[at];
}

/* The nearest process or thread above (or the track itself), or NULL. */
static const struct perfetto_track *owner_of(struct perfetto *p, const struct perfetto_track *t)
{
	for (unsigned depth = 0; t && depth < PERFETTO_DEPTH_MAX; depth++) {
		if (t->kind == IS_PROCESS || t->kind == IS_THREAD)
			return t;
		t = parent_of(p, t);
	}
	return NULL;
}

uint32_t track_output_process(struct perfetto *p, uint32_t track)
{
	const struct perfetto_track *owner = owner_of(p, &p->tracks[track]);

	return owner ? track_process(p, owner->machine, owner->pid) : OUTPUT_NONE;
}

/* "GPU 0 / stream 7": the name behind those of the tracks around it, up to a process or thread. */
static int full_name(struct perfetto *p, const struct perfetto_track *t, struct buffer *ret)
{
	const struct perfetto_track *chain[PERFETTO_DEPTH_MAX];
	unsigned count = 0;
	int rc = 0;

	for (; t && count < PERFETTO_DEPTH_MAX && t->kind != IS_PROCESS && t->kind != IS_THREAD; t = parent_of(p, t))
		if (t->name.size)
			chain[count++] = t;
	buffer_clear(ret);
	while (count-- && rc == 0 && ret->size < COMMAND_MAX) {
		struct text name = perfetto_stored(p, chain[count]->name);

		if (ret->size)
			rc = buffer_append(ret, " / ", 3);
		if (rc == 0)
			rc = buffer_append(ret, name.data, name.size < COMMAND_MAX ? name.size : COMMAND_MAX);
	}
	return rc;
}

/* Unlike a thread's id, and unlike that of any other track. */
static uint64_t key_of(const struct perfetto_track *t)
{
	uint64_t key = t->uuid * 0x9e3779b97f4a7c15u;

	return (key ^ key >> 29) | (uint64_t)1 << 63;
}

static uint32_t make_child(struct perfetto *p, const struct perfetto_track *t)
{
	const struct perfetto_track *owner = owner_of(p, t);
	uint32_t process = owner ? track_process(p, owner->machine, owner->pid) : track_global(p, t->machine), track;

	if (process == OUTPUT_NONE)
		return OUTPUT_NONE;
	track = output_thread(p->o, process, key_of(t));
	if (track != OUTPUT_NONE && full_name(p, t, &p->scratch) == 0 && p->scratch.size)
		output_track_name(p->o, track, (const char *)p->scratch.data, p->scratch.size);
	return track;
}

uint32_t track_output(struct perfetto *p, uint32_t track)
{
	struct perfetto_track *t = &p->tracks[track];
	const struct perfetto_track *parent = parent_of(p, t);
	uint32_t process;

	if (t->output != OUTPUT_NONE)
		return t->output;
	if (parent && parent->beside)
		parent = NULL; /* one row beside another: nobody means that */
	switch (t->kind) {
	case IS_PROCESS:
		process = track_process(p, t->machine, t->pid);
		t->output = process == OUTPUT_NONE ? OUTPUT_NONE : output_process_track(p->o, process);
		break;
	case IS_THREAD:
		t->output = track_thread(p, t->machine, t->pid, t->tid);
		break;
	default:
		t->output = t->beside && parent ? track_output(p, (uint32_t)(parent - p->tracks)) : make_child(p, t);
		break;
	}
	return t->output;
}

uint32_t track_name(struct perfetto *p, uint32_t track)
{
	struct perfetto_track *t = &p->tracks[track];
	struct text name = perfetto_stored(p, t->name);
	char text[40];

	if (t->name_number != OUTPUT_NONE)
		return t->name_number;
	if (!name.size)
		name = (struct text){ text, (size_t)snprintf(text, sizeof text, "counter %llu",
							     (unsigned long long)t->uuid) };
	t->name_number = output_string(p->o, name.data, name.size);
	return t->name_number;
}

/* With its parent, unless that has a counter of this name already; then alone. */
uint32_t track_counter_output(struct perfetto *p, uint32_t track)
{
	struct perfetto_track *t = &p->tracks[track];
	const struct perfetto_track *parent = parent_of(p, t);
	uint32_t place, name = track_name(p, track);

	if (t->counter_output != OUTPUT_NONE)
		return t->counter_output;
	if (t->kind != IS_COUNTER || !parent || parent->kind == IS_COUNTER)
		return t->counter_output = track_output(p, track);
	place = track_output(p, (uint32_t)(parent - p->tracks));
	if (place != OUTPUT_NONE && output_map_find(&p->counter_map, place, name) != PERFETTO_NONE)
		return t->counter_output = track_output(p, track);
	if (output_map_add(&p->counter_map, place, name, track))
		return OUTPUT_NONE;
	return t->counter_output = place;
}

static struct perfetto_track *stream_of(struct perfetto *p, uint32_t track)
{
	struct perfetto_track *t = &p->tracks[track];

	if (t->beside)
		t = parent_of(p, t);
	return t && t->stream ? t : NULL;
}

/* "GPU 0 stream 7", and what is behind it: ": uploads". */
static struct text split_stream_name(struct text *name)
{
	const char *own = memmem(name->data, name->size, ": ", 2);
	size_t size = own ? (size_t)(own - name->data) : name->size;
	struct text rest = own ? (struct text){ own + 2, name->size - size - 2 } : (struct text){ "", 0 };

	name->size = size;
	return rest;
}

void track_name_stream(struct perfetto *p, uint32_t track, uint32_t stream)
{
	struct perfetto_track *t = stream_of(p, track);
	struct text name, own;

	if (!t || t->named || stream == OUTPUT_NONE)
		return;
	t->named = true;
	name = perfetto_stored(p, t->name);
	own = split_stream_name(&name);
	if (own.size)
		output_track_name(p->o, stream, own.data, own.size);
}

bool track_our_stream(struct perfetto *p, uint32_t track, uint32_t *ret_device, uint64_t *ret_stream)
{
	struct perfetto_track *t = stream_of(p, track);
	struct text name = t ? perfetto_stored(p, t->name) : (struct text){ "", 0 };
	uint64_t device, stream;

	(void)split_stream_name(&name);
	if (!t || !text_number_after(name, "GPU", &device) || !text_number_after(name, "stream", &stream) ||
	    device > UINT32_MAX)
		return false;
	*ret_device = (uint32_t)device;
	*ret_stream = memmem(name.data, name.size, "stream -", 8) ? -stream : stream; /* -1: work of no stream */
	return true;
}

bool track_stream(struct perfetto *p, uint32_t track, uint32_t *ret_device, uint64_t *ret_stream)
{
	struct text name;
	uint64_t device, stream;

	if (full_name(p, &p->tracks[track], &p->scratch))
		return false;
	name = scratch_text(p);
	if (!text_number_after(name, "stream", &stream))
		return false;
	if ((!text_number_after(name, "gpu", &device) && !text_number_after(name, "device", &device)) ||
	    device > UINT32_MAX)
		return false;
	*ret_device = (uint32_t)device;
	*ret_stream = stream;
	return true;
}
