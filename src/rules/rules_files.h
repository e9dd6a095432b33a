/*
 * rules_files.h - which files of rules there are, and what they find.
 *
 * In rising precedence: the one that comes with us, those in the folder rules/
 * of the user's configuration folder, by name, and those that were asked for.
 */
#ifndef RULES_RULES_FILES_H
#define RULES_RULES_FILES_H

#include "report/report.h"
#include "rules/rules.h"

struct rules_files {
	const char *ours;         /* path; NULL: none */
	const char *const *asked; /* paths */
	size_t count;
	/* A file that is passed over because somebody else could have written it; may be NULL. */
	void (*warn)(const char *path, const char *reason);
};

/* Reads and checks all of them.  On failure err->exit_code is set. */
int rules_open(struct rules **ret, const struct rules_files *files, struct error *err);

/* Adds what the rules find to the findings. */
int rules_apply(struct rules *r, struct analysis *a, const struct report_source *source, struct error *err);

#endif
