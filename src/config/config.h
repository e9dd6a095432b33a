/*
 * config.h - the settings, and where each of them came from.
 *
 *      struct config config;
 *      config_init(&config);
 *      config_set(&config, CONFIG_OVERFLOW, "block", &err);       an option of the command line
 *      config_load(&config, &err);                                 environment and files
 *      config_integer(&config, CONFIG_TRACE_SIZE_MB);
 *      config_release(&config);
 *
 * The command line beats the environment, which beats files, which beat the
 * defaults, in whatever order they are read.  Among files the nearest one that
 * has the key wins: .inferscope.yaml in the working directory, then in its
 * parents, then config.yaml in the user's configuration folder.
 *
 * Adding a key is one row in config_keys[] and one name in enum config_key.
 */
#ifndef CONFIG_CONFIG_H
#define CONFIG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define CONFIG_FILE_MAX (64u << 10) /* bytes a configuration file may have */

enum config_key {
	CONFIG_ENABLED,
	CONFIG_LOG_LEVEL,
	CONFIG_TRACE_SIZE_MB,
	CONFIG_SYNC_ERROR_MARGIN_US,
	CONFIG_OVERFLOW,
	CONFIG_BLOCK_TIMEOUT_MS,
	CONFIG_MAX_FILE_MB,
	CONFIG_LAST_SECONDS,
	CONFIG_TRACE,
	CONFIG_CALLS,
	CONFIG_DETAIL,
	CONFIG_C_CALLS,
	CONFIG_OPS,
	CONFIG_SHAPES,
	CONFIG_INCLUDE,
	CONFIG_EXCLUDE,
	CONFIG_COMMUNICATION,
	CONFIG_WAITS,
	CONFIG_WAIT_ALL,
	CONFIG_GPU,
	CONFIG_GPU_ARGS,
	CONFIG_REPORT,
	CONFIG_COLOR,
	CONFIG_KEY_COUNT
};

/* The values of the CONFIG_ENUM keys, as config_integer() returns them. */
enum config_overflow { CONFIG_OVERFLOW_WRAP, CONFIG_OVERFLOW_DISCARD, CONFIG_OVERFLOW_BLOCK };
enum config_gpu { CONFIG_GPU_AUTO, CONFIG_GPU_OFF, CONFIG_GPU_NSYS };
enum config_color { CONFIG_COLOR_AUTO, CONFIG_COLOR_ALWAYS, CONFIG_COLOR_NEVER };
/* CONFIG_LOG_LEVEL: enum log_level of base/log.h */

enum config_type { CONFIG_BOOL, CONFIG_INTEGER, CONFIG_ENUM, CONFIG_STRING, CONFIG_PATTERNS };

struct config_key_info {
	const char *name;
	enum config_type type;
	int64_t min, max;           /* of an integer */
	const char *const *choices; /* of an enum, NULL-terminated */
	const char *environment;    /* NULL: none */
	const char *initial;        /* the default, as it would be typed */
	bool trusted_only;          /* not from a .inferscope.yaml of the working tree */
	const char *help;
};
extern const struct config_key_info config_keys[CONFIG_KEY_COUNT];

/* In rising order of precedence. */
enum config_origin { CONFIG_FROM_DEFAULT, CONFIG_FROM_FILE, CONFIG_FROM_ENVIRONMENT, CONFIG_FROM_COMMAND_LINE };

struct config_value {
	char *text;     /* as typed; an enum's and a bool's in their canonical spelling */
	int64_t number; /* of a string and of patterns: 0 */
	enum config_origin origin;
	char *file; /* of CONFIG_FROM_FILE, with line */
	unsigned line;
};

struct config {
	struct config_value values[CONFIG_KEY_COUNT];
	char **warnings; /* sentences for the user: files and keys that were ignored, and why */
	size_t warning_count;
};

int config_init(struct config *config); /* the defaults; -ENOMEM */
void config_release(struct config *config);

/* Everything but the command line.  Fails with err->exit_code 2 and a sentence that names the file and line, or the
 * variable, and what is expected there. */
int config_load(struct config *config, struct error *err);

/* A value of the command line. */
int config_set(struct config *config, enum config_key key, const char *text, struct error *err);

int64_t config_integer(const struct config *config, enum config_key key);
bool config_bool(const struct config *config, enum config_key key);
const char *config_string(const struct config *config, enum config_key key);
const struct config_value *config_value(const struct config *config, enum config_key key);

/* CONFIG_KEY_COUNT when there is no such key. */
enum config_key config_find(const char *name);

/* What the key takes, for messages and help: "an integer from 1 to 65536". */
const char *config_expected(enum config_key key, char *out, size_t size);

/* The parts of config_load(), for tests and fuzzing. */
int config_load_environment(struct config *config, const char *(*get)(const char *name), struct error *err);
/* Reads YAML from memory as if it stood in `path`.  A file that is not trusted has its trusted-only keys ignored. */
int config_load_yaml(struct config *config, const char *path, bool trusted, const void *data, size_t size,
		     struct error *err);
/* .inferscope.yaml in `directory` and its parents. */
int config_load_tree(struct config *config, const char *directory, struct error *err);
/* One file; a missing one is fine, one that others could have written is ignored with a warning. */
int config_load_file(struct config *config, const char *directory, const char *name, bool trusted, struct error *err);

/* The user's configuration folder, allocated; NULL when there is no saying where it is, or no memory. */
char *config_user_folder(void);
/* Opens a file that nobody but us and root could have written.  Returns a descriptor; -ENOENT when there is none, else
 * negative and *ret_reason says why it is not to be read. */
int config_open_trusted(int dir_fd, const char *name, const char **ret_reason);

/* Sets a value unless one from a better place is there already.  An empty `file` is fine for other origins. */
int config_assign(struct config *config, enum config_key key, const char *text, enum config_origin origin,
		  const char *file, unsigned line, struct error *err);
int config_warn(struct config *config, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
