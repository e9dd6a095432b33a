#include "record/describe.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/msgpack.h"

static uint32_t intern(struct trace_writer *w, const char *text)
{
	return trace_writer_string(w, text, strlen(text));
}

int describe_machine(struct trace_writer *w, enum clock_source source)
{
	struct utsname uts = { 0 };
	char host[256] = "", system[sizeof uts.sysname + sizeof uts.release + 2];
	struct trace_host entry;
	struct trace_clock clock = { .kind = (uint8_t)source, .rate = clock_measure_rate(source) };
	struct trace_track track = { .id = DESCRIBE_LOSS_TRACK, .kind = TRACK_PROCESS, .process = -1, .device = -1, .parent = -1 };
	int rc;

	uname(&uts);
	(void)gethostname(host, sizeof host - 1);
	snprintf(system, sizeof system, "%s %s", uts.sysname, uts.release);
	entry = (struct trace_host){ .name = intern(w, host), .system = intern(w, system), .machine = intern(w, uts.machine) };
	clock.name = intern(w, clock_source_name(source));
	track.name = intern(w, "recorder");
	rc = trace_writer_host(w, &entry);
	if (rc == 0)
		rc = trace_writer_clock(w, &clock);
	if (rc == 0)
		rc = trace_writer_track(w, &track);
	return rc;
}

int describe_clock_pair(struct trace_writer *w, enum clock_source clock, struct error *err)
{
	struct clock_reading now;
	struct trace_clock_pair pair;

	clock_read_all(clock, &now);
	pair = (struct trace_clock_pair){ now.ticks, now.width, now.raw_ns, now.monotonic_ns, now.realtime_ns };
	return trace_writer_clock_pairs(w, 0, &pair, 1, err);
}

/* ---- Info blocks ------------------------------------------------------------- */

static void put_text(struct buffer *map, const char *key, const char *value)
{
	(void)msgpack_write_text(map, key);
	(void)msgpack_write_text(map, value);
}

static void put_integer(struct buffer *map, const char *key, int64_t value)
{
	(void)msgpack_write_text(map, key);
	(void)msgpack_write_int(map, value);
}

static void put_command(struct buffer *map, char *const *argv)
{
	uint32_t count = 0;

	while (argv[count])
		count++;
	(void)msgpack_write_text(map, "command");
	(void)msgpack_write_array(map, count);
	for (uint32_t i = 0; i < count; i++)
		(void)msgpack_write_text(map, argv[i]);
}

static void put_settings(struct buffer *map, const struct describe_settings *s)
{
	(void)msgpack_write_text(map, "settings");
	(void)msgpack_write_map(map, 4 + s->waits + (s->waits && s->look_ns));
	put_integer(map, "trace_size_mb", s->trace_size_mb);
	put_text(map, "overflow", s->overflow);
	put_integer(map, "max_file_mb", s->max_file_mb);
	(void)msgpack_write_text(map, "last_seconds");
	(void)msgpack_write_double(map, s->last_seconds);
	if (s->waits) {
		(void)msgpack_write_text(map, "waits");
		(void)msgpack_write_bool(map, true);
	}
	if (s->waits && s->look_ns)
		put_integer(map, "look_ns", s->look_ns);
}

static int write_info(struct trace_writer *w, struct buffer *map, struct error *err)
{
	int rc = trace_writer_info(w, map->data, map->size, err);

	buffer_release(map);
	return rc;
}

int describe_beginning(struct trace_writer *w, char *const *argv, int64_t start_ticks, const struct describe_settings *settings,
		       struct error *err)
{
	struct buffer map = BUFFER_INIT;
	char cwd[4096] = "", host[256] = "";

	(void)!getcwd(cwd, sizeof cwd);
	(void)gethostname(host, sizeof host - 1);
	(void)msgpack_write_map(&map, 6);
	put_text(&map, "producer", "inferscope " INFERSCOPE_VERSION);
	put_command(&map, argv);
	put_text(&map, "cwd", cwd);
	put_text(&map, "hostname", host);
	put_integer(&map, "start_ticks", start_ticks);
	put_settings(&map, settings);
	return write_info(w, &map, err);
}

static void put_notes(struct buffer *map, const struct notes *notes)
{
	(void)msgpack_write_text(map, "notes");
	(void)msgpack_write_array(map, (uint32_t)notes->count);
	for (size_t i = 0; i < notes->count; i++)
		(void)msgpack_write_text(map, notes->texts[i]);
}

/* Sums of what programs say of themselves: there only when there is something to say. */
struct optional {
	const char *key;
	uint64_t value;
};
#define OPTIONAL_KEYS 7

static uint32_t count_optional(const struct optional *keys)
{
	uint32_t count = 0;

	for (size_t i = 0; i < OPTIONAL_KEYS; i++)
		count += keys[i].value != 0;
	return count;
}

static void put_optional(struct buffer *map, const struct optional *keys)
{
	for (size_t i = 0; i < OPTIONAL_KEYS; i++)
		if (keys[i].value)
			put_integer(map, keys[i].key, keys[i].value > INT64_MAX ? INT64_MAX : (int64_t)keys[i].value);
}

int describe_ending(struct trace_writer *w, const struct describe_ending *ending, const struct drain_totals *totals,
		    struct error *err)
{
	struct buffer map = BUFFER_INIT;
	bool known = ending->exit_status >= 0, notes = ending->notes && ending->notes->count;
	bool program = ending->program && !trace_program_is_empty(ending->program);
	const struct optional optional[OPTIONAL_KEYS] = { { "skipped_calls", totals->skipped_calls },
							  { "functions", totals->functions },
							  { "functions_skipped", totals->functions_skipped },
							  { "short_calls", totals->short_calls },
							  { "short_left_out", totals->left_out },
							  { "short_ns", totals->short_ns },
							  { "unwritten", ending->unwritten } };

	(void)msgpack_write_map(&map, (known ? 9 : 7) + count_optional(optional) + notes + program + (ending->trouble != NULL));
	if (known) {
		put_integer(&map, "exit_status", ending->exit_status);
		put_integer(&map, "signal", ending->signal);
	}
	put_integer(&map, "produced", (int64_t)totals->produced);
	put_integer(&map, "recorded", (int64_t)totals->recorded);
	put_integer(&map, "lost", (int64_t)totals->lost);
	put_integer(&map, "names_refused", (int64_t)totals->names_refused);
	put_integer(&map, "refused_processes", totals->refused_processes);
	(void)msgpack_write_text(&map, "complete");
	(void)msgpack_write_bool(&map, ending->complete);
	(void)msgpack_write_text(&map, "recovered");
	(void)msgpack_write_bool(&map, ending->recovered);
	put_optional(&map, optional);
	if (ending->trouble)
		put_text(&map, "trouble", ending->trouble);
	if (notes)
		put_notes(&map, ending->notes);
	if (program) {
		(void)msgpack_write_text(&map, "program");
		(void)trace_program_write(ending->program, &map);
	}
	return write_info(w, &map, err);
}
