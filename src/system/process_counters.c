#include "system/process_counters.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "system/proc.h"

static const char *const names[PROCESS_COUNTER_COUNT] = {
	[PROCESS_USER_NS] = "user_ns",
	[PROCESS_SYSTEM_NS] = "system_ns",
	[PROCESS_CHILDREN_NS] = "children_ns",
	[PROCESS_MINOR_FAULTS] = "minor_faults",
	[PROCESS_MAJOR_FAULTS] = "major_faults",
	[PROCESS_RSS_BYTES] = "rss_bytes",
	[PROCESS_THREADS] = "threads",
	[PROCESS_READ_CHARS] = "rchar",
	[PROCESS_WRITTEN_CHARS] = "wchar",
	[PROCESS_READ_CALLS] = "syscr",
	[PROCESS_WRITE_CALLS] = "syscw",
	[PROCESS_READ_BYTES] = "read_bytes",
	[PROCESS_WRITTEN_BYTES] = "write_bytes",
	[PROCESS_VOLUNTARY_SWITCHES] = "voluntary_switches",
	[PROCESS_INVOLUNTARY_SWITCHES] = "involuntary_switches",
	[PROCESS_PSS_BYTES] = "pss_bytes",
	[PROCESS_SHARED_BYTES] = "shared_bytes",
	[PROCESS_SWAP_BYTES] = "swap_bytes",
	[PROCESS_HELD_BYTES] = "held_bytes",
};

const char *process_counter_name(enum process_counter counter)
{
	return (unsigned)counter < PROCESS_COUNTER_COUNT ? names[counter] : "";
}

void process_counters_set(struct process_counters *c, enum process_counter counter, uint64_t value)
{
	c->values[counter] = value;
	c->known |= 1u << counter;
}

static uint64_t tick_ns(void)
{
	long ticks = sysconf(_SC_CLK_TCK);

	return ticks > 0 ? 1000000000u / (uint64_t)ticks : 10000000u;
}

/* The words of /proc/PID/stat behind the command, which is in parentheses and may hold anything; the first is word 3. */
#define STAT_FIRST 3
#define STAT_LAST 28
#define FLAG_EXITING 0x4u /* PF_EXITING of the kernel */

static int split_stat(const char *text, uint64_t words[STAT_LAST + 1])
{
	const char *at = strrchr(text, ')');
	int word = STAT_FIRST;

	if (!at || at[1] != ' ' || !at[2])
		return -EINVAL;
	words[word++] = (unsigned char)at[2];
	for (at += 3; word <= STAT_LAST; word++) {
		while (*at == ' ')
			at++;
		if (*at == '-') { /* a priority, or "no terminal" */
			at += 1 + strspn(at + 1, "0123456789");
			words[word] = 0;
		} else if (!proc_number(&at, &words[word])) {
			return -EINVAL;
		}
	}
	return 0;
}

int process_counters_parse_stat(struct process_counters *c, const char *text)
{
	uint64_t w[STAT_LAST + 1], ns = tick_ns();

	if (split_stat(text, w) != 0)
		return -EINVAL;
	c->state = (char)w[STAT_FIRST];
	c->parent = (pid_t)w[4];
	c->ends = w[9] & FLAG_EXITING;
	process_counters_set(c, PROCESS_MINOR_FAULTS, w[10]);
	process_counters_set(c, PROCESS_MAJOR_FAULTS, w[12]);
	process_counters_set(c, PROCESS_USER_NS, w[14] * ns);
	process_counters_set(c, PROCESS_SYSTEM_NS, w[15] * ns);
	process_counters_set(c, PROCESS_CHILDREN_NS, (w[16] + w[17]) * ns);
	process_counters_set(c, PROCESS_THREADS, w[20]);
	c->birth = w[22];
	c->virtual_bytes = w[23];
	process_counters_set(c, PROCESS_RSS_BYTES, w[24] * (uint64_t)sysconf(_SC_PAGESIZE));
	c->memory = w[26] ^ w[28] << 1; /* of code and of the stack, both at random places */
	return 0;
}

bool process_counters_look(pid_t pid, struct process_counters *ret)
{
	char text[1024];
	int fd = proc_open(pid, 0, "stat");
	bool known;

	if (fd < 0)
		return false;
	*ret = (struct process_counters){ 0 };
	known = proc_reread(fd, text, sizeof text) > 0 && process_counters_parse_stat(ret, text) == 0;
	close(fd);
	return known;
}

struct key {
	const char *name;
	enum process_counter counter;
};

static void parse_keys(struct process_counters *c, const char *text, const struct key *keys, size_t count)
{
	char line[256];

	while (proc_line(&text, line, sizeof line))
		for (size_t i = 0; i < count; i++) {
			size_t size = strlen(keys[i].name);
			const char *at = line + size + 1;
			uint64_t value;

			if (strncmp(line, keys[i].name, size) == 0 && line[size] == ':' && proc_number(&at, &value))
				process_counters_set(c, keys[i].counter, value);
		}
}

void process_counters_parse_io(struct process_counters *c, const char *text)
{
	static const struct key keys[] = {
		{ "rchar", PROCESS_READ_CHARS },       { "wchar", PROCESS_WRITTEN_CHARS },
		{ "syscr", PROCESS_READ_CALLS },       { "syscw", PROCESS_WRITE_CALLS },
		{ "read_bytes", PROCESS_READ_BYTES }, { "write_bytes", PROCESS_WRITTEN_BYTES },
	};

	parse_keys(c, text, keys, sizeof keys / sizeof keys[0]);
}

/* "RssFile:      5120 kB", which adds to what is there already. */
static void parse_kb(struct process_counters *c, const char *text, const char *key, enum process_counter counter)
{
	size_t size = strlen(key);
	char line[256];

	while (proc_line(&text, line, sizeof line)) {
		const char *at = line + size;
		uint64_t kb, before = c->known >> counter & 1 ? c->values[counter] : 0;

		if (strncmp(line, key, size) == 0 && proc_number(&at, &kb) && strcmp(at, " kB") == 0 && kb <= (UINT64_MAX >> 12) &&
		    before <= (UINT64_MAX >> 1))
			process_counters_set(c, counter, before + kb * 1024);
	}
}

void process_counters_parse_status(struct process_counters *c, const char *text)
{
	static const struct key keys[] = {
		{ "voluntary_ctxt_switches", PROCESS_VOLUNTARY_SWITCHES },
		{ "nonvoluntary_ctxt_switches", PROCESS_INVOLUNTARY_SWITCHES },
	};

	parse_keys(c, text, keys, sizeof keys / sizeof keys[0]);
	parse_kb(c, text, "RssFile:", PROCESS_SHARED_BYTES);
	parse_kb(c, text, "RssShmem:", PROCESS_SHARED_BYTES);
	parse_kb(c, text, "VmSwap:", PROCESS_SWAP_BYTES);
	parse_kb(c, text, "RssAnon:", PROCESS_HELD_BYTES);
	parse_kb(c, text, "RssShmem:", PROCESS_HELD_BYTES);
}

int process_files_open(struct process_files *files, pid_t pid)
{
	int stat = proc_open(pid, 0, "stat");

	if (stat < 0)
		return stat;
	files->stat = stat;
	files->io = proc_open(pid, 0, "io");
	files->status = proc_open(pid, 0, "status");
	return 0;
}

void process_files_close(struct process_files *files)
{
	const int fds[] = { files->stat, files->io, files->status };

	for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	*files = (struct process_files)PROCESS_FILES_INIT;
}

int process_files_read_stat(const struct process_files *files, struct process_counters *ret)
{
	struct process_counters c = { 0 };
	char text[1024];
	ssize_t n = proc_reread(files->stat, text, sizeof text);
	int rc = n < 0 ? (int)n : process_counters_parse_stat(&c, text);

	if (rc == 0)
		*ret = c;
	return rc;
}

int process_files_read(const struct process_files *files, bool all, struct process_counters *ret)
{
	struct process_counters c;
	char text[4096];
	int rc = process_files_read_stat(files, &c);

	if (rc != 0)
		return rc;
	if (proc_reread(files->io, text, sizeof text) > 0)
		process_counters_parse_io(&c, text);
	if (all && proc_reread(files->status, text, sizeof text) > 0)
		process_counters_parse_status(&c, text);
	*ret = c;
	return 0;
}
