/* alerts_file.c - see alerts_file.h. */
#include "live/alerts_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "config/config.h"

#define NAME "alerts.conf"

static int fail(struct error *err, unsigned line, const char *why)
{
	if (err)
		err->exit_code = 2;
	return error_set(err, -EINVAL, NAME ":%u: %s", line, why);
}

static int add_rule(struct live_alerts_file *file, const char *text, unsigned line, struct error *err)
{
	if (file->rule_count == LIVE_RULES)
		return fail(err, line, "there are more rules than are possible");
	file->rules[file->rule_count++] = text;
	return 0;
}

static int add_action(struct live_alerts_file *file, const char *text, unsigned line, struct error *err)
{
	struct error why = { 0 };
	struct live_action *grown;

	if (file->action_count == LIVE_ACTIONS)
		return fail(err, line, "there are more actions than are possible");
	grown = reallocarray(file->actions, file->action_count + 1, sizeof *grown);
	if (!grown)
		return error_set(err, -ENOMEM, "out of memory");
	file->actions = grown;
	if (live_action_parse(&file->actions[file->action_count], text, &why) != 0)
		return fail(err, line, why.text);
	file->action_count++;
	return 0;
}

/* What follows the word, if the line begins with it. */
static const char *after(const char *line, const char *word)
{
	size_t size = strlen(word);

	if (strncmp(line, word, size) != 0 || !strchr(" \t", line[size]) || !line[size])
		return NULL;
	return line + size + strspn(line + size, " \t");
}

static int read_line(struct live_alerts_file *file, char *line, unsigned number, struct error *err)
{
	size_t size = strlen(line);
	const char *rest;

	while (size > 0 && strchr(" \t\r", line[size - 1]))
		line[--size] = '\0';
	line += strspn(line, " \t");
	if (!line[0] || line[0] == '#')
		return 0;
	if ((rest = after(line, "alert")))
		return add_rule(file, rest, number, err);
	if ((rest = after(line, "on-alert")))
		return add_action(file, rest, number, err);
	return fail(err, number, "expected 'alert NAME: EXPRESSION' or 'on-alert KIND=ACTION'");
}

static int read_lines(struct live_alerts_file *file, struct error *err)
{
	char *at = file->text, *next;
	int rc = 0;

	for (unsigned number = 1; at && rc == 0; number++, at = next) {
		next = strchr(at, '\n');
		if (next)
			*next++ = '\0';
		rc = read_line(file, at, number, err);
	}
	return rc;
}

static int read_fd(struct live_alerts_file *file, int fd, struct error *err)
{
	struct buffer text = BUFFER_INIT;
	int rc = file_read_fd(fd, CONFIG_FILE_MAX, &text);

	rc = rc ? rc : buffer_append(&text, "", 1);
	if (rc != 0) {
		buffer_release(&text);
		if (err)
			err->exit_code = 4;
		return error_errno(err, rc, "cannot read " NAME);
	}
	file->text = (char *)text.data;
	return read_lines(file, err);
}

int live_alerts_file_read(struct live_alerts_file *ret, const char *folder, struct error *err)
{
	struct live_alerts_file file = { .text = NULL };
	char *own = folder ? NULL : config_user_folder();
	const char *where = folder ? folder : own, *reason = NULL;
	int dir = where ? open(where, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	int fd = dir >= 0 ? config_open_trusted(dir, NAME, &reason) : -ENOENT, rc = 0;

	if (fd >= 0)
		rc = read_fd(&file, fd, err);
	else if (fd != -ENOENT)
		snprintf(file.warning, sizeof file.warning, "%.160s/" NAME " is not read: %.60s", where, reason ? reason : strerror(-fd));
	if (fd >= 0)
		close(fd);
	if (dir >= 0)
		close(dir);
	free(own);
	if (rc == 0)
		*ret = file;
	else
		live_alerts_file_release(&file);
	return rc;
}

void live_alerts_file_release(struct live_alerts_file *file)
{
	free(file->text);
	free(file->actions);
	*file = (struct live_alerts_file){ .text = NULL };
}
