/*
 * output.c - see output.h.
 *
 * This side keeps the program's end open as well: else the kernel would tell
 * of a hang-up for as long as nobody else has it open, and a program may start
 * others that do.
 */
#include "live/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"

#define CHUNK (16u << 10)
#define CHUNKS 64 /* at a time: more than a pseudo-terminal holds, and a program may write without end */
#define MEMORY (8u << 20) /* that is used where there is no room in a file: it may be the program's own that is short */

struct live_output {
	int terminal;
	int master, slave;
	int spool;
	uint64_t kept;           /* what the spool holds, at most */
	bool full;               /* no more could be written there; what came since is in memory, */
	uint64_t turn;           /* from this byte on, */
	char *memory;            /* a ring as well, */
	uint64_t memory_kept;    /* of so many bytes; 0: there was no memory either */
	uint64_t total, printed; /* bytes */
	bool ours[3];            /* streams that are the terminal */
	struct winsize size;
	char chunk[CHUNK];
};

/* ---- Making one -------------------------------------------------------------- */

static void find_streams(struct live_output *o)
{
	struct stat view, stream;

	if (fstat(o->terminal, &view) != 0)
		return;
	for (int fd = 0; fd < 3; fd++)
		o->ours[fd] = isatty(fd) && fstat(fd, &stream) == 0 && stream.st_rdev == view.st_rdev;
}

/* What is printed later goes through the real terminal, which adds carriage returns; so this one must not. */
static void copy_settings(const struct live_output *o)
{
	struct termios settings;

	if (tcgetattr(o->terminal, &settings) != 0)
		return;
	settings.c_oflag &= ~(tcflag_t)OPOST;
	(void)tcsetattr(o->slave, TCSANOW, &settings);
}

static int open_pty(struct live_output *o, struct error *err)
{
	char name[128];

	o->master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	if (o->master < 0 || grantpt(o->master) != 0 || unlockpt(o->master) != 0 || ptsname_r(o->master, name, sizeof name) != 0)
		return error_errno(err, -errno, "cannot make a pseudo-terminal for the program's output");
	o->slave = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (o->slave < 0)
		return error_errno(err, -errno, "cannot open %s for the program's output", name);
	copy_settings(o);
	return 0;
}

static int open_spool(struct live_output *o, struct error *err)
{
	const char *folder = getenv("TMPDIR");

	o->spool = open(folder && folder[0] == '/' ? folder : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (o->spool < 0)
		o->spool = memfd_create("output", MFD_CLOEXEC);
	return o->spool < 0 ? error_errno(err, -errno, "cannot make a file for the program's output") : 0;
}

int live_output_new(struct live_output **ret, int terminal, uint64_t kept, struct error *err)
{
	struct live_output *o = calloc(1, sizeof *o);
	struct winsize size;
	int rc;

	if (!o)
		return error_set(err, -ENOMEM, "out of memory");
	o->terminal = terminal;
	o->kept = kept;
	o->master = o->slave = o->spool = -1;
	find_streams(o);
	rc = open_pty(o, err);
	if (rc == 0)
		rc = open_spool(o, err);
	if (rc != 0) {
		live_output_free(o);
		return rc;
	}
	if (ioctl(terminal, TIOCGWINSZ, &size) == 0)
		live_output_resize(o, &size);
	*ret = o;
	return 0;
}

void live_output_free(struct live_output *o)
{
	if (!o)
		return;
	if (o->master >= 0)
		close(o->master);
	if (o->slave >= 0)
		close(o->slave);
	if (o->spool >= 0)
		close(o->spool);
	free(o->memory);
	free(o);
}

void live_output_streams(const struct live_output *o, int streams[3])
{
	for (int fd = 0; fd < 3; fd++)
		streams[fd] = o->ours[fd] ? o->slave : -1;
}

bool live_output_has_input(const struct live_output *o)
{
	return o->ours[STDIN_FILENO];
}

void live_output_resize(struct live_output *o, const struct winsize *size)
{
	if (size->ws_row == o->size.ws_row && size->ws_col == o->size.ws_col)
		return;
	o->size = *size;
	(void)ioctl(o->master, TIOCSWINSZ, size);
}

int live_output_fd(const struct live_output *o)
{
	return o->master;
}

/* ---- What the program writes --------------------------------------------------- */

/* The disk is full, or there is a limit: what has been written stays where it is. */
static void turn_to_memory(struct live_output *o)
{
	o->full = true;
	o->turn = o->total;
	o->memory_kept = o->kept < MEMORY ? o->kept : MEMORY;
	o->memory = malloc((size_t)o->memory_kept);
	if (!o->memory)
		o->memory_kept = 0;
}

static size_t keep_in_memory(struct live_output *o, const char *bytes, size_t size)
{
	uint64_t at;

	if (o->memory_kept == 0)
		return size;
	at = (o->total - o->turn) % o->memory_kept;
	size = o->memory_kept - at < size ? (size_t)(o->memory_kept - at) : size;
	memcpy(o->memory + at, bytes, size);
	return size;
}

/* The spool is a ring: byte n of the output is at n modulo its size. */
static void spool(struct live_output *o, const char *bytes, size_t size)
{
	while (size > 0) {
		uint64_t at = o->total % o->kept;
		size_t part = o->kept - at < size ? (size_t)(o->kept - at) : size;
		ssize_t n = o->full ? (ssize_t)keep_in_memory(o, bytes, size) : pwrite(o->spool, bytes, part, (off_t)at);

		if (n <= 0) {
			turn_to_memory(o);
			continue;
		}
		o->total += (uint64_t)n;
		bytes += n;
		size -= (size_t)n;
	}
}

/* The first byte from this one on that is still there. */
static uint64_t next_kept(const struct live_output *o, uint64_t from)
{
	uint64_t end = o->full ? o->turn : o->total, oldest = end > o->kept ? end - o->kept : 0;

	if (from >= end)
		oldest = o->total - end > o->memory_kept ? o->total - o->memory_kept : end;
	return from > oldest ? from : oldest;
}

/* Where byte `from` is: so many of them, of `size`, are in one piece there. */
static ssize_t read_piece(const struct live_output *o, uint64_t from, char *bytes, size_t size)
{
	bool memory = o->full && from >= o->turn;
	uint64_t ring = memory ? o->memory_kept : o->kept, at, left;

	if (ring == 0)
		return 0;
	at = (memory ? from - o->turn : from) % ring;
	left = ring - at;
	if (o->full && !memory && o->turn - from < left)
		left = o->turn - from;
	size = left < size ? (size_t)left : size;
	if (!memory)
		return pread(o->spool, bytes, size, (off_t)at);
	memcpy(bytes, o->memory + at, size);
	return (ssize_t)size;
}

static size_t unspool(const struct live_output *o, uint64_t from, char *bytes, size_t size)
{
	size_t done = 0;

	while (done < size && next_kept(o, from + done) == from + done) {
		ssize_t n = read_piece(o, from + done, bytes + done, size - done);

		if (n <= 0)
			break;
		done += (size_t)n;
	}
	return done;
}

void live_output_keep(struct live_output *o)
{
	ssize_t n;

	for (int i = 0; i < CHUNKS && (n = read(o->master, o->chunk, sizeof o->chunk)) > 0; i++)
		spool(o, o->chunk, (size_t)n);
}

void live_output_pass(struct live_output *o)
{
	ssize_t n;

	for (int i = 0; i < CHUNKS && (n = read(o->master, o->chunk, sizeof o->chunk)) > 0; i++)
		(void)file_write_all(o->terminal, o->chunk, (size_t)n); /* a terminal that has gone wants nothing any more */
}

static void say_left_out(const struct live_output *o, uint64_t bytes)
{
	char line[128], digits[32];
	int n = snprintf(line, sizeof line, "\ninferscope: %s bytes of the program's output are left out here\n",
			 text_group_digits(digits, bytes));

	(void)file_write_all(o->terminal, line, (size_t)n);
}

void live_output_print(struct live_output *o)
{
	while (o->printed < o->total) {
		uint64_t from = next_kept(o, o->printed), left = o->total - from;
		size_t n;

		if (from > o->printed)
			say_left_out(o, from - o->printed);
		o->printed = from;
		n = unspool(o, from, o->chunk, left < sizeof o->chunk ? (size_t)left : sizeof o->chunk);
		if (n == 0 || file_write_all(o->terminal, o->chunk, n) != 0)
			break;
		o->printed += n;
	}
	o->printed = o->total;
}

size_t live_output_type(struct live_output *o, const char *bytes, size_t size)
{
	ssize_t n = write(o->master, bytes, size);

	return n > 0 ? (size_t)n : 0;
}

size_t live_output_tail(const struct live_output *o, char *bytes, size_t size)
{
	uint64_t from = o->total > size ? o->total - size : 0, oldest;

	while ((oldest = next_kept(o, from)) > from || (o->full && from < o->turn && next_kept(o, o->turn) > o->turn))
		from = oldest > from ? oldest : o->turn;
	return unspool(o, from, bytes, (size_t)(o->total - from));
}

uint64_t live_output_total(const struct live_output *o)
{
	return o->total;
}
