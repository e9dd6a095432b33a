/* output_names.c - see output_names.h. */
#include "cmd/output_names.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/text.h"
#include "cmd/command.h"

static int put_pid(struct buffer *out, time_t now)
{
	(void)now;
	return buffer_printf(out, "%d", (int)getpid());
}

/* A launcher that was started by another one is nearer to the program, so what schedulers say comes last. */
static int put_rank(struct buffer *out, time_t now)
{
	static const char *const variables[] = { "RANK",      "OMPI_COMM_WORLD_RANK", "PMIX_RANK",      "PMI_RANK",
						 "MV2_COMM_WORLD_RANK", "PALS_RANKID", "FLUX_TASK_RANK", "SLURM_PROCID" };
	int64_t rank = 0;

	(void)now;
	for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
		const char *text = getenv(variables[i]);

		if (text && text_parse_integer(text, 0, INT_MAX, &rank) == 0)
			break;
	}
	return buffer_printf(out, "%d", (int)rank);
}

static int put_host(struct buffer *out, time_t now)
{
	struct utsname names;

	(void)now;
	if (uname(&names) != 0)
		return buffer_printf(out, "localhost");
	for (char *at = names.nodename; *at; at++)
		if (!isalnum((unsigned char)*at) && !strchr("._-", *at))
			*at = '_';
	return buffer_printf(out, "%s", names.nodename);
}

static int put_time(struct buffer *out, time_t now)
{
	struct tm parts;
	char text[32];

	if (!localtime_r(&now, &parts) || strftime(text, sizeof text, "%Y%m%d-%H%M%S", &parts) == 0)
		return buffer_printf(out, "%lld", (long long)now);
	return buffer_printf(out, "%s", text);
}

static const struct {
	const char *name;
	int (*put)(struct buffer *out, time_t now);
} placeholders[] = { { "{pid}", put_pid }, { "{rank}", put_rank }, { "{host}", put_host }, { "{time}", put_time } };

/* What stands at `at` goes out.  Its length; 0 for a placeholder that there is none of, negative when out of memory. */
static int expand_one(const char *at, time_t now, struct buffer *out)
{
	int rc;

	if ((at[0] == '{' || at[0] == '}') && at[1] == at[0])
		return buffer_append(out, at, 1) == 0 ? 2 : -1;
	if (at[0] != '{')
		return buffer_append(out, at, 1) == 0 ? 1 : -1;
	for (size_t i = 0; i < sizeof placeholders / sizeof placeholders[0]; i++) {
		size_t length = strlen(placeholders[i].name);

		if (strncmp(at, placeholders[i].name, length) != 0)
			continue;
		rc = placeholders[i].put(out, now);
		return rc == 0 ? (int)length : -1;
	}
	return 0;
}

static int unknown(enum config_key key, const char *at)
{
	size_t length = strcspn(at, "}");

	return fail(EXIT_USAGE, "--%s has no placeholder '%.*s'; there are {pid}, {rank}, {host} and {time}, and {{ is a brace",
		    config_keys[key].name, (int)(length < 40 ? length + (at[length] == '}') : 40), at);
}

static int expand(struct config *config, enum config_key key, time_t now)
{
	const char *pattern = config_string(config, key), *at = pattern;
	struct buffer out = BUFFER_INIT;
	int n = 1, status = 0;

	if (!strpbrk(pattern, "{}"))
		return 0;
	for (; *at && n > 0; at += n > 0 ? n : 0)
		n = expand_one(at, now, &out);
	if (n == 0)
		status = unknown(key, at);
	else if (n < 0 || buffer_append(&out, "", 1) != 0 || config_set(config, key, (const char *)out.data, NULL) != 0)
		status = fail(EXIT_ENVIRONMENT, "out of memory");
	buffer_release(&out);
	return status;
}

int output_names_expand(struct config *config)
{
	time_t now = time(NULL);
	int status = expand(config, CONFIG_TRACE, now);

	return status ? status : expand(config, CONFIG_REPORT, now);
}
