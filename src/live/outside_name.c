/* outside_name.c - what processes and threads are called.  Both may change: by exec, and by whoever names a thread later. */
#include <string.h>
#include <unistd.h>

#include "live/outside_parts.h"
#include "system/proc.h"

#define SECOND_NS 1000000000
#define AGAIN_NS (10 * (int64_t)SECOND_NS)
#define YOUNG 3u /* readings after which a name is read again less often */

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static size_t append(char *ret, size_t at, size_t size, const char *text)
{
	size_t length = strlen(text), room = size - 1 - at;

	if (at && room)
		ret[at++] = ' ', room--;
	length = length < room ? length : room;
	memcpy(ret + at, text, length);
	ret[at + length] = '\0';
	return at + length;
}

static bool is_interpreter(const char *program)
{
	static const char *const names[] = { "sh", "bash", "dash", "ksh", "zsh", "node", "perl", "ruby", "julia", "Rscript" };

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (strcmp(program, names[i]) == 0)
			return true;
	return strncmp(program, "python", 6) == 0 || strncmp(program, "pypy", 4) == 0;
}

/* The program, and the script or module if it is one that has them; no further words, which may be nobody's business.  A script behind
 * options is not looked for: what belongs to an option is as secret as an argument. */
static size_t name_command(const char *text, size_t size, bool has_script(const char *program), char *ret, size_t ret_size)
{
	const char *words[3] = { "", "", "" };
	size_t count = 0, n;

	for (size_t at = 0; at < size && count < 3; at += strlen(text + at) + 1)
		words[count++] = text + at;
	ret[0] = '\0';
	if (!words[0][0])
		return 0;
	n = append(ret, 0, ret_size, last_part(words[0]));
	if (!has_script(last_part(words[0])))
		return n;
	if (strcmp(words[1], "-m") == 0 && words[2][0])
		n = append(ret, append(ret, n, ret_size, words[1]), ret_size, words[2]);
	else if (words[1][0] && words[1][0] != '-')
		n = append(ret, n, ret_size, last_part(words[1]));
	return n;
}

static bool may_be_interpreter(const char *program)
{
	(void)program;
	return true;
}

size_t outside_name_of_command(const char *text, size_t size, char *ret, size_t ret_size)
{
	return name_command(text, size, may_be_interpreter, ret, ret_size);
}

size_t live_outside_program(const char *text, size_t size, char *ret, size_t ret_size)
{
	return name_command(text, size, is_interpreter, ret, ret_size);
}

static size_t read_command(pid_t pid, char *name, size_t size)
{
	char text[1024];
	int fd = proc_open(pid, 0, "cmdline");
	ssize_t n = proc_reread(fd, text, sizeof text);

	if (fd >= 0)
		close(fd);
	return n > 0 ? outside_name_of_command(text, (size_t)n, name, size) : 0;
}

/* A process that is new may not have begun its own program yet. */
void outside_name_process(struct outside_process *p, int64_t now_ns)
{
	char name[LIVE_NAME];

	if (p->name_programs == p->now.programs + 1 && now_ns - p->name_ns < AGAIN_NS)
		return;
	p->name_programs = p->now.programs + 1;
	p->name_ns = now_ns;
	if (read_command(p->now.pid, name, sizeof name) || proc_thread_name(p->now.pid, p->now.pid, name, sizeof name))
		memcpy(p->name, name, sizeof p->name);
}

bool outside_name_thread(struct outside_thread *t, int64_t now_ns)
{
	char name[sizeof t->name];

	if (t->names && now_ns - t->name_ns < (t->names < YOUNG ? SECOND_NS : AGAIN_NS))
		return false;
	t->names += t->names < YOUNG;
	t->name_ns = now_ns;
	if (proc_thread_name(t->now.pid, t->now.tid, name, sizeof name))
		memcpy(t->name, name, sizeof t->name);
	return true;
}
