/* program.c - see program.h. */
#include "trace/program.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/msgpack.h"
#include "base/signal_name.h"
#include "base/text.h"

#define RUNNING_SAID 5 /* by name */

/* ---- Writing ------------------------------------------------------------------ */

static void put_text(struct buffer *out, const char *key, const char *value)
{
	if (value[0] == '\0')
		return;
	(void)msgpack_write_text(out, key);
	(void)msgpack_write_text(out, value);
}

static void put_number(struct buffer *out, const char *key, int64_t value)
{
	(void)msgpack_write_text(out, key);
	(void)msgpack_write_int(out, value);
}

static void put_process(struct buffer *out, const struct program_process *p)
{
	put_number(out, "pid", p->pid);
	(void)msgpack_write_text(out, "name");
	(void)msgpack_write_text(out, p->name);
}

static void put_deaths(const struct trace_program *p, struct buffer *out)
{
	if (p->death_count == 0)
		return;
	(void)msgpack_write_text(out, "killed");
	(void)msgpack_write_array(out, (uint32_t)p->death_count);
	for (size_t i = 0; i < p->death_count; i++) {
		(void)msgpack_write_map(out, 4);
		put_number(out, "signal", p->deaths[i].signal);
		put_number(out, "count", (int64_t)p->deaths[i].count);
		put_process(out, &p->deaths[i].last);
	}
}

static void put_running(const struct trace_program *p, struct buffer *out)
{
	uint32_t listed = p->running_count < PROGRAM_LISTED ? (uint32_t)p->running_count : PROGRAM_LISTED;

	if (listed == 0)
		return;
	put_number(out, "running_count", (int64_t)p->running_count);
	(void)msgpack_write_text(out, "running");
	(void)msgpack_write_array(out, listed);
	for (uint32_t i = 0; i < listed; i++) {
		(void)msgpack_write_map(out, 2);
		put_process(out, &p->running[i]);
	}
}

/* Only where there is somebody to say it of. */
static bool is_said_to_wait(const struct trace_program *p)
{
	return p->waited && p->running_count;
}

static uint32_t count_keys(const struct trace_program *p)
{
	return (uint32_t)(!!p->interpreter[0] + !!p->version[0] + !!p->exception[0] + !!p->message[0] + p->ran_nothing + is_said_to_wait(p) + !!p->death_count + 2 * !!p->running_count);
}

bool trace_program_is_empty(const struct trace_program *p)
{
	return count_keys(p) == 0;
}

int trace_program_write(const struct trace_program *p, struct buffer *out)
{
	int rc = msgpack_write_map(out, count_keys(p));

	put_text(out, "interpreter", p->interpreter);
	put_text(out, "version", p->version);
	put_text(out, "exception", p->exception);
	put_text(out, "message", p->message);
	if (p->ran_nothing) {
		(void)msgpack_write_text(out, "ran_nothing");
		(void)msgpack_write_bool(out, true);
	}
	if (is_said_to_wait(p)) {
		(void)msgpack_write_text(out, "waited");
		(void)msgpack_write_bool(out, true);
	}
	put_deaths(p, out);
	put_running(p, out);
	return rc;
}

/* ---- Reading ------------------------------------------------------------------ */

/* One line, whole characters; what does not fit is left out. */
static void take_text(struct cursor c, char *out, size_t size)
{
	struct msgpack_value value;
	size_t used = 0;

	if (msgpack_read(&c, &value) < 0 || value.type != MSGPACK_STRING)
		return;
	for (size_t at = 0, n; at < value.size; at += n) {
		uint32_t code;

		n = text_decode((const char *)value.data + at, value.size - at, &code);
		if (used + n >= size)
			break;
		if (code == TEXT_INVALID || code < ' ')
			memset(out + used, '?', n);
		else
			memcpy(out + used, value.data + at, n);
		used += n;
	}
	out[used] = '\0';
}

static int64_t take_number(struct cursor c)
{
	struct msgpack_value value;

	return msgpack_read(&c, &value) == 0 && value.type == MSGPACK_INT && value.integer > 0 ? value.integer : 0;
}

static bool take_flag(struct cursor c)
{
	struct msgpack_value value;

	return msgpack_read(&c, &value) == 0 && value.type == MSGPACK_BOOL && value.boolean;
}

typedef void take_pair(void *arg, const struct msgpack_value *key, struct cursor value);

static void take_process(void *arg, const struct msgpack_value *key, struct cursor value)
{
	struct program_process *p = arg;

	if (msgpack_is_text(key, "pid"))
		p->pid = take_number(value);
	else if (msgpack_is_text(key, "name"))
		take_text(value, p->name, sizeof p->name);
}

static void take_death(void *arg, const struct msgpack_value *key, struct cursor value)
{
	struct program_death *death = arg;
	int64_t number = take_number(value);

	take_process(&death->last, key, value);
	if (msgpack_is_text(key, "signal") && number < 128)
		death->signal = (int)number;
	else if (msgpack_is_text(key, "count"))
		death->count = (uint64_t)number;
}

/* The first of an array of maps; how many of them there are. */
static size_t take_list(struct cursor c, take_pair *take, void *first, size_t size)
{
	struct msgpack_value list;
	size_t count = 0;

	if (msgpack_read(&c, &list) < 0 || list.type != MSGPACK_ARRAY)
		return 0;
	while (count < list.count && count < PROGRAM_LISTED && msgpack_each(&c, take, (char *)first + count * size) == 0)
		count++;
	return count;
}

static void take_fact(void *arg, const struct msgpack_value *key, struct cursor value)
{
	struct trace_program *p = arg;

	if (msgpack_is_text(key, "interpreter"))
		take_text(value, p->interpreter, sizeof p->interpreter);
	else if (msgpack_is_text(key, "version"))
		take_text(value, p->version, sizeof p->version);
	else if (msgpack_is_text(key, "exception"))
		take_text(value, p->exception, sizeof p->exception);
	else if (msgpack_is_text(key, "message"))
		take_text(value, p->message, sizeof p->message);
	else if (msgpack_is_text(key, "ran_nothing"))
		p->ran_nothing = take_flag(value);
	else if (msgpack_is_text(key, "waited"))
		p->waited = take_flag(value);
	else if (msgpack_is_text(key, "killed"))
		p->death_count = take_list(value, take_death, p->deaths, sizeof p->deaths[0]);
	else if (msgpack_is_text(key, "running_count"))
		p->running_count = (uint64_t)take_number(value);
	else if (msgpack_is_text(key, "running"))
		(void)take_list(value, take_process, p->running, sizeof p->running[0]);
}

void trace_program_read(const struct trace_reader *reader, struct trace_program *ret)
{
	int64_t status, signal;
	const uint8_t *raw;
	struct cursor c;
	size_t size;

	*ret = (struct trace_program){ 0 };
	if (trace_reader_info_integer(reader, "exit_status", &status) == 0 && status >= 0 && status < 256) {
		ret->ended = true;
		ret->status = (int)status;
		if (trace_reader_info_integer(reader, "signal", &signal) == 0 && signal > 0 && signal < 128)
			ret->signal = (int)signal;
	}
	if (trace_reader_info_raw(reader, "program", &raw, &size) < 0)
		return;
	c = cursor_of(raw, size);
	(void)msgpack_each(&c, take_fact, ret);
}

/* ---- Saying ------------------------------------------------------------------- */

bool trace_program_failed(const struct trace_program *p)
{
	return p->ended && (p->signal ? !signal_is_asked_for(p->signal) : p->status != 0);
}

void trace_program_say_end(const struct trace_program *p, char out[PROGRAM_SENTENCE])
{
	char by[SIGNAL_WORDS];
	const char *colon = p->message[0] ? ": " : "";

	out[0] = '\0';
	if (!p->ended)
		return;
	if (p->signal)
		snprintf(out, PROGRAM_SENTENCE, "%s by %s", signal_is_asked_for(p->signal) ? "ended" : "killed", signal_words(by, p->signal));
	else if (p->exception[0] && p->status)
		snprintf(out, PROGRAM_SENTENCE, "ended with status %d, %s%s%s", p->status, p->exception, colon, p->message);
	else if (p->status > 128 && signal_is_deadly(p->status - 128))
		snprintf(out, PROGRAM_SENTENCE, "ended with status %d, as a shell does when one of its commands was killed by %s", p->status,
			 signal_words(by, p->status - 128));
	else
		snprintf(out, PROGRAM_SENTENCE, "ended with status %d", p->status);
}

void trace_program_say_death(const struct program_death *death, char out[PROGRAM_SENTENCE])
{
	bool one = death->count == 1;
	char by[SIGNAL_WORDS], count[TEXT_COUNT_SIZE];

	out[0] = '\0';
	if (death->count && !signal_is_asked_for(death->signal))
		snprintf(out, PROGRAM_SENTENCE, "%s killed by %s%s: %s (%" PRId64 ")", text_count(count, death->count, "child process was", "child processes were"),
			 signal_words(by, death->signal), one ? "" : ", the last", death->last.name, death->last.pid);
}

void trace_program_say_running(const struct trace_program *p, char out[PROGRAM_SENTENCE])
{
	bool one = p->running_count == 1;
	char count[TEXT_COUNT_SIZE];
	size_t used;

	out[0] = '\0';
	if (p->running_count == 0)
		return;
	used = (size_t)snprintf(out, PROGRAM_SENTENCE, "%s no longer recorded",
				text_count(count, p->running_count, "process still runs and is", "processes still run and are"));
	for (size_t i = 0; i < p->running_count && i < RUNNING_SAID; i++)
		used += (size_t)snprintf(out + used, PROGRAM_SENTENCE - used, "%s %s (%" PRId64 ")", i ? "," : ":", p->running[i].name, p->running[i].pid);
	used += (size_t)snprintf(out + used, PROGRAM_SENTENCE - used, "%s", p->running_count > RUNNING_SAID ? ", ..." : "");
	if (!p->waited)
		(void)snprintf(out + used, PROGRAM_SENTENCE - used, "; run --wait-all waits for %s", one ? "it" : "them");
}

void trace_program_say_interpreter(const struct trace_program *p, char out[PROGRAM_SENTENCE])
{
	snprintf(out, PROGRAM_SENTENCE, "%s%s%s%s", p->interpreter, p->version[0] ? " (" : "", p->version, p->version[0] ? ")" : "");
}
