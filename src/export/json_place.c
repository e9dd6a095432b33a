/* json_place.c - see json_place.h. */
#include "export/json_place.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/msgpack.h"

#define PID_STEP 4194304u /* above all that Linux gives out */
#define STEPS_MAX 64
#define HASHED (UINT64_C(1) << 32) /* numbers from here on are made from a text by an importer */

/* Threads that are none of the system's are above its numbers, each by the number of its track. */
#define TASK_TIDS 0x20000000u
#define STATE_TIDS 0x30000000u
#define OTHER_TIDS 0x40000000u
#define STREAM_TIDS 1u
#define ROW_TIDS 0x1000000u /* between the rows of a track that is not a stream, and its lanes */

/* ---- Numbers that are taken ------------------------------------------------- */

static bool is_taken(const struct json_numbers *taken, uint64_t number)
{
	size_t mask = taken->capacity - 1;

	for (size_t at = (number * 0x9e3779b97f4a7c15u >> 40) & mask; taken->slots[at]; at = (at + 1) & mask)
		if (taken->slots[at] == number + 1)
			return true;
	return false;
}

static void take(struct json_numbers *taken, uint64_t number)
{
	size_t mask = taken->capacity - 1, at = (number * 0x9e3779b97f4a7c15u >> 40) & mask;

	while (taken->slots[at])
		at = (at + 1) & mask;
	taken->slots[at] = number + 1;
}

/* As it is, or one of the next in steps; where many want the same, the first that is free at all. */
static uint32_t take_free(struct json_numbers *taken, uint64_t wanted, uint32_t step)
{
	uint64_t number = wanted > INT32_MAX ? step : wanted;

	for (int tries = 0; tries < STEPS_MAX && is_taken(taken, number) && number + step <= INT32_MAX; tries++)
		number += step;
	while (is_taken(taken, number))
		number = ++taken->next;
	take(taken, number);
	return (uint32_t)number;
}

static int taken_init(struct json_numbers *taken, size_t count)
{
	taken->capacity = 64;
	while (taken->capacity < 2 * count)
		taken->capacity *= 2;
	taken->slots = calloc(taken->capacity, sizeof *taken->slots);
	return taken->slots ? 0 : -ENOMEM;
}

/* ---- Processes and devices --------------------------------------------------- */

static void place_processes(struct json_places *p)
{
	for (size_t i = 0; i < p->process_count; i++) {
		const struct trace_process *process = trace_reader_process(p->reader, (uint32_t)i);

		if (process)
			p->processes[i] = take_free(&p->taken, process->pid, PID_STEP);
	}
}

/* Devices differ among each other.  Every rank may describe all devices of its machine: those in use come first. */
static void number_devices(struct json_places *p, struct json_numbers *taken, const bool *used)
{
	for (int turn = 0; turn < 2; turn++)
		for (uint32_t i = 0; i < p->device_count; i++) {
			const struct trace_device *device = trace_reader_device(p->reader, i);

			if (device && used[i] == (turn == 0) && (used[i] || !is_taken(taken, device->index)))
				p->device_numbers[i] = take_free(taken, device->index, 1);
		}
}

static int find_numbers(struct json_places *p)
{
	struct json_numbers taken = { 0 };
	bool *used = calloc(p->device_count + 1, sizeof *used);
	int rc = used ? taken_init(&taken, p->device_count + 1) : -ENOMEM;

	for (uint32_t i = 0; i < p->track_count && rc == 0; i++) {
		const struct trace_track *track = trace_reader_track(p->reader, i);

		if (track && track->device >= 0 && (uint64_t)track->device < p->device_count)
			used[track->device] = true;
	}
	if (rc == 0)
		number_devices(p, &taken, used);
	free(taken.slots);
	free(used);
	return rc;
}

/* Kineto's have the numbers that they have as processes, too, whatever processes are called. */
static int place_devices(struct json_places *p)
{
	for (size_t i = 0; i < p->device_count; i++)
		p->device_numbers[i] = JSON_NO_DEVICE;
	if (find_numbers(p) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < p->device_count; i++) {
		if (p->device_numbers[i] == JSON_NO_DEVICE)
			continue;
		p->devices[i] = p->kineto ? p->device_numbers[i] : take_free(&p->taken, p->device_numbers[i], PID_STEP);
	}
	return 0;
}

/* ---- Tracks ------------------------------------------------------------------- */

static void place_thread(const struct json_places *p, const struct trace_track *track, struct json_place *place)
{
	const struct trace_process *process =
		track->process >= 0 ? trace_reader_process(p->reader, (uint32_t)track->process) : NULL;

	if (track->os_id > 0 && track->os_id <= INT32_MAX)
		place->tid = (int64_t)track->os_id;
	if (!p->kineto)
		return;
	if (track->os_id >= HASHED && (int64_t)track->os_id > 0 && track->name)
		place->tid_name = track->name;
	else
		place->tid = (int64_t)track->os_id;
	if (process && process->pid >= HASHED && process->name)
		place->pid_name = process->name;
}

static void place_track(const struct json_places *p, const struct trace_track *track, struct json_place *place)
{
	place->tid = p->kineto ? 0 : OTHER_TIDS + track->id; /* Perfetto takes thread 0 for the main thread */
	if (track->process >= 0 && (uint64_t)track->process < p->process_count)
		place->pid = p->processes[track->process];
	if ((track->kind == TRACK_STREAM || track->kind == TRACK_DEVICE) && track->device >= 0 &&
	    (uint64_t)track->device < p->device_count)
		place->pid = p->devices[track->device];
	switch (track->kind) {
	case TRACK_THREAD:
		place_thread(p, track, place);
		break;
	case TRACK_STREAM:
		place->tid = (int64_t)(STREAM_TIDS + (uint64_t)track->id * JSON_ROWS * JSON_LANES);
		if (p->kineto)
			place->tid = (int64_t)track->os_id;
		break;
	case TRACK_TASK:
		place->tid = TASK_TIDS + track->id;
		break;
	case TRACK_STATES:
		place->tid = STATE_TIDS + track->id;
		break;
	case TRACK_HOST:
		place->pid = p->host_pid;
		break;
	default:
		break;
	}
}

int json_places_init(struct json_places *p, const struct trace_reader *reader, bool kineto)
{
	*p = (struct json_places){ .reader = reader, .kineto = kineto };
	p->track_count = trace_reader_track_count(reader);
	p->process_count = trace_reader_process_count(reader);
	p->device_count = trace_reader_device_count(reader);
	p->tracks = calloc(p->track_count + 1, sizeof *p->tracks);
	p->processes = calloc(p->process_count + 1, sizeof *p->processes);
	p->devices = calloc(p->device_count + 1, sizeof *p->devices);
	p->device_numbers = calloc(p->device_count + 1, sizeof *p->device_numbers);
	if (!p->tracks || !p->processes || !p->devices || !p->device_numbers ||
	    taken_init(&p->taken, p->process_count + p->device_count + 8) < 0)
		return -ENOMEM;
	place_processes(p);
	if (place_devices(p) < 0)
		return -ENOMEM;
	p->host_pid = take_free(&p->taken, PID_STEP, 1);
	p->own_pid = take_free(&p->taken, PID_STEP, 1);
	for (uint32_t i = 0; i < p->track_count; i++) {
		const struct trace_track *track = trace_reader_track(reader, i);

		if (track)
			place_track(p, track, &p->tracks[i]);
	}
	return 0;
}

void json_places_release(struct json_places *p)
{
	free(p->tracks);
	free(p->processes);
	free(p->devices);
	free(p->device_numbers);
	free(p->taken.slots);
	*p = (struct json_places){ 0 };
}

/* A track without an entry in the dictionary, of a damaged trace, is thread 0 of process 0. */
struct json_place *json_place_of(struct json_places *p, uint32_t track)
{
	return &p->tracks[track < p->track_count ? track : p->track_count];
}

void json_place_note(struct json_place *place, struct cursor tid)
{
	struct msgpack_value value;

	if (place->renamed || msgpack_read(&tid, &value) || value.type != MSGPACK_INT)
		return;
	place->renamed = place->counted = true;
	place->other_tid = value.integer;
}

/* ---- Writing ------------------------------------------------------------------- */

static void put_string(struct export_out *out, const struct json_places *p, uint32_t string)
{
	size_t size;
	const char *text = trace_reader_string(p->reader, string, &size);

	json_quoted_to(out, text, size);
}

void json_pid_to(struct export_out *out, const struct json_places *p, const struct json_place *place)
{
	JSON(out, "\"pid\":");
	if (place->pid_name)
		put_string(out, p, place->pid_name);
	else
		json_unsigned_to(out, place->pid);
}

static bool is_stream(const struct json_places *p, const struct json_place *place)
{
	const struct trace_track *track = trace_reader_track(p->reader, (uint32_t)(place - p->tracks));

	return track && track->kind == TRACK_STREAM;
}

/* What is lost in Kineto's JSON is beside the thread as well, since it crosses what is there. */
static int64_t tid_of(const struct json_places *p, const struct json_place *place, enum json_row row, unsigned lane)
{
	uint32_t track = (uint32_t)(place - p->tracks);

	if (row == JSON_MAIN && lane == 0)
		return place->tid;
	if (!p->kineto && is_stream(p, place))
		return place->tid + (int64_t)(row * JSON_LANES + lane);
	return (int64_t)OTHER_TIDS + (int64_t)ROW_TIDS * (row == JSON_LOST ? JSON_LANES + 1 : lane + 1) + track;
}

void json_place_to(struct export_out *out, const struct json_places *p, const struct json_place *place, enum json_row row,
		   unsigned lane)
{
	json_pid_to(out, p, place);
	JSON(out, ",\"tid\":");
	if (place->tid_name && row == JSON_MAIN)
		put_string(out, p, place->tid_name);
	else
		json_signed_to(out, tid_of(p, place, row, lane));
}

/* ---- Names --------------------------------------------------------------------- */

struct names {
	struct export_out *out;
	bool begun; /* there was an event before */
};

static void open_name(struct names *n, const char *what, uint32_t pid, int64_t tid)
{
	struct export_out *out = n->out;

	if (n->begun)
		JSON(out, ",");
	n->begun = true;
	JSON(out, "\n{\"ph\":\"M\",\"ts\":0,\"name\":");
	json_text_to(out, what);
	JSON(out, ",\"pid\":");
	json_unsigned_to(out, pid);
	JSON(out, ",\"tid\":");
	json_signed_to(out, tid);
	JSON(out, ",\"args\":{");
}

static void put_index(struct names *n, const char *what, uint32_t pid, int64_t tid, int64_t index)
{
	open_name(n, what, pid, tid);
	JSON(n->out, "\"sort_index\":");
	json_signed_to(n->out, index);
	JSON(n->out, "}}");
}

static void name_process(struct names *n, uint32_t pid, const char *name, size_t size, const char *label, int64_t index)
{
	if (size) {
		open_name(n, "process_name", pid, 0);
		JSON(n->out, "\"name\":");
		json_quoted_to(n->out, name, size);
		JSON(n->out, "}}");
	}
	if (label) {
		open_name(n, "process_labels", pid, 0);
		JSON(n->out, "\"labels\":");
		json_text_to(n->out, label);
		JSON(n->out, "}}");
	}
	put_index(n, "process_sort_index", pid, 0, index);
}

static void name_processes(struct names *n, const struct json_places *p, const uint8_t *used)
{
	for (size_t i = 0; i < p->process_count; i++) {
		const struct trace_process *process = trace_reader_process(p->reader, (uint32_t)i);
		char label[32] = "CPU";
		const char *name;
		size_t size;

		if (!process || !used[i] || (p->kineto && process->pid >= HASHED && process->name))
			continue;
		name = trace_reader_string(p->reader, process->name, &size);
		if (process->rank >= 0)
			snprintf(label, sizeof label, "CPU, rank %lld", (long long)process->rank);
		name_process(n, p->processes[i], name, size, label, process->rank >= 0 ? process->rank : p->processes[i]);
	}
}

/* Kineto gives a device the name of the program; viewers are told what it is. */
static void name_device(struct names *n, const struct json_places *p, const struct trace_device *device,
			const struct trace_process *user)
{
	uint32_t pid = p->devices[device->id];
	char label[64];
	const char *name;
	size_t size, own;

	bool special;

	name = trace_reader_string(p->reader, device->name, &own);
	special = device->kind == 4 && own > 2 && own < sizeof label;
	if (special)
		snprintf(label, sizeof label, "%.*s", (int)own, name);
	else
		snprintf(label, sizeof label, "GPU %u", p->device_numbers[device->id]);
	size = own;
	if (p->kineto && !special)
		name = trace_reader_string(p->reader, user ? user->name : 0, &size);
	if (size == 0 && !p->kineto) {
		name = label;
		size = strlen(label);
	}
	name_process(n, pid, name, size, label, 5000000 + (int64_t)p->device_numbers[device->id]);
}

static void name_devices(struct names *n, const struct json_places *p, const int64_t *users)
{
	for (size_t i = 0; i < p->device_count; i++) {
		const struct trace_device *device = trace_reader_device(p->reader, (uint32_t)i);

		if (device && users[i] != -2)
			name_device(n, p, device, users[i] >= 0 ? trace_reader_process(p->reader, (uint32_t)users[i]) : NULL);
	}
}

static void name_thread(struct names *n, uint32_t pid, int64_t tid, const char *name, size_t size, const char *more,
			int64_t index)
{
	struct buffer text = BUFFER_INIT;

	export_out_check(n->out, buffer_append(&text, name, size));
	export_out_check(n->out, buffer_append(&text, more, strlen(more)));
	open_name(n, "thread_name", pid, tid);
	JSON(n->out, "\"name\":");
	json_quoted_to(n->out, (const char *)text.data, text.size);
	JSON(n->out, "}}");
	put_index(n, "thread_sort_index", pid, tid, index);
	buffer_release(&text);
}

/* "thread 12", where the trace has no name. */
static const char *track_name(const struct json_places *p, const struct trace_track *track, char made[48], size_t *ret_size)
{
	static const char *const words[] = { [TRACK_THREAD] = "thread", [TRACK_STREAM] = "stream", [TRACK_TASK] = "task",
					     [TRACK_PROCESS] = "process", [TRACK_DEVICE] = "device", [TRACK_STATES] = "thread",
					     [TRACK_HOST] = "machine" };
	const char *name = trace_reader_string(p->reader, track->name, ret_size);

	if (*ret_size == 0) {
		const char *word = track->kind < sizeof words / sizeof words[0] ? words[track->kind] : NULL;

		bool single = track->kind == TRACK_PROCESS || track->kind == TRACK_DEVICE || track->kind == TRACK_HOST;

		*ret_size = (size_t)snprintf(made, 48, single ? "%s" : "%s %lld", word ? word : "track", (long long)track->os_id);
		return made;
	}
	return name;
}

static void name_rows(struct names *n, const struct json_places *p, const struct trace_track *track,
		      const struct json_place *place)
{
	static const char *const of_stream[JSON_ROWS] = { " compute", " memory", " sync", " annotations", " lost events" };
	static const char *const of_thread[JSON_ROWS] = { "", "", "", "", " lost events" };
	bool stream = track->kind == TRACK_STREAM && !p->kineto;
	int64_t index = (track->kind == TRACK_STATES && track->parent >= 0 ? track->parent : (int64_t)track->id) * 64;
	char made[48], more[64];
	size_t size;
	const char *name = track_name(p, track, made, &size);

	if (p->kineto && !track->name)
		return; /* torch's tools make one up themselves */
	if (place->renamed)
		name_thread(n, place->pid, place->other_tid, name, size, "", place->other_tid);
	for (unsigned row = 0; row < JSON_ROWS; row++)
		for (unsigned lane = 0; lane < place->used[row]; lane++) {
			const char *what = track->kind == TRACK_STATES ? " states" : stream ? of_stream[row] : of_thread[row];
			int64_t tid = tid_of(p, place, row, lane);

			snprintf(more, sizeof more, lane ? "%s (overlapping %u)" : "%s", what, lane);
			name_thread(n, place->pid, tid, name, size, more,
				    p->kineto ? tid : index + row * 8 + (lane > 0) + (track->kind == TRACK_STATES));
		}
}

static void name_tracks(struct names *n, const struct json_places *p)
{
	for (uint32_t i = 0; i < p->track_count; i++) {
		const struct trace_track *track = trace_reader_track(p->reader, i);
		const struct json_place *place = &p->tracks[i];

		if (track && !place->tid_name && !place->pid_name)
			name_rows(n, p, track, place);
		(void)export_out_ready(n->out);
	}
}

static void name_machine(struct names *n, const struct json_places *p)
{
	const struct trace_host *host = trace_reader_host(p->reader, 0);
	size_t size;
	const char *name = trace_reader_string(p->reader, host ? host->name : 0, &size);

	name_process(n, p->host_pid, size ? name : "machine", size ? size : 7, NULL, 4999999);
}

void json_names_to(struct export_out *out, const struct json_places *p, bool begun)
{
	struct names n = { out, begun };
	uint8_t *processes = calloc(p->process_count + 1, 1);
	int64_t *users = malloc((p->device_count + 1) * sizeof *users);
	bool machine = false;

	if (!processes || !users)
		export_out_check(out, -ENOMEM);
	for (size_t i = 0; users && i < p->device_count; i++)
		users[i] = -2; /* not in use; -1: by a process that is not known */
	for (uint32_t i = 0; processes && users && i < p->track_count; i++) {
		const struct trace_track *track = trace_reader_track(p->reader, i);
		bool used = p->tracks[i].counted, device;

		for (unsigned row = 0; row < JSON_ROWS; row++)
			used |= p->tracks[i].used[row] > 0;
		if (!track || !used)
			continue;
		device = (track->kind == TRACK_STREAM || track->kind == TRACK_DEVICE) && track->device >= 0 &&
			 (uint64_t)track->device < p->device_count;
		if (device && users[track->device] < 0)
			users[track->device] = track->process >= 0 ? track->process : -1;
		else if (!device && track->process >= 0 && (uint64_t)track->process < p->process_count)
			processes[track->process] = 1;
		machine |= track->kind == TRACK_HOST;
	}
	if (processes && users) {
		name_processes(&n, p, processes);
		name_devices(&n, p, users);
		name_tracks(&n, p);
		if (machine)
			name_machine(&n, p);
	}
	free(processes);
	free(users);
}
