#include "system/network_counters.h"

#include <string.h>
#include <unistd.h>

#include "system/proc.h"

#define TEXT_SIZE 32768u

/* Words of a line behind the name. */
enum {
	RECEIVED_BYTES,
	RECEIVED_PACKETS,
	RECEIVED_ERRORS,
	RECEIVED_DROPPED,
	SENT_BYTES = 8,
	SENT_PACKETS,
	SENT_ERRORS,
	SENT_DROPPED,
	WORDS
};

static uint64_t sum(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* "  eth0: 1 2 3 ..."; names of aliases have a colon too. */
static bool parse_line(const char *line, struct network_counters *ret)
{
	const char *name = line + strspn(line, " "), *end = strrchr(name, ':');
	uint64_t w[WORDS];

	if (!end || end == name || (size_t)(end - name) >= NETWORK_NAME)
		return false;
	line = end + 1;
	for (size_t i = 0; i < WORDS; i++)
		if (!proc_number(&line, &w[i]))
			return false;
	*ret = (struct network_counters){
		.received_bytes = w[RECEIVED_BYTES],
		.received_packets = w[RECEIVED_PACKETS],
		.sent_bytes = w[SENT_BYTES],
		.sent_packets = w[SENT_PACKETS],
		.errors = sum(sum(w[RECEIVED_ERRORS], w[RECEIVED_DROPPED]), sum(w[SENT_ERRORS], w[SENT_DROPPED])),
	};
	memcpy(ret->name, name, (size_t)(end - name));
	ret->loopback = strcmp(ret->name, "lo") == 0;
	return true;
}

size_t network_counters_parse(const char *text, struct network_counters *ret, size_t max)
{
	struct network_counters one;
	char line[512];
	size_t count = 0;

	while (count < max && proc_line(&text, line, sizeof line))
		if (parse_line(line, &one))
			ret[count++] = one;
	return count;
}

void network_files_open(struct network_files *f, pid_t pid)
{
	f->fd = proc_open(pid, 0, "net/dev");
}

void network_files_close(struct network_files *f)
{
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
}

size_t network_files_read(const struct network_files *f, struct network_counters *ret, size_t max)
{
	char text[TEXT_SIZE];

	return proc_reread_all(f->fd, text, sizeof text) > 0 ? network_counters_parse(text, ret, max) : 0;
}
