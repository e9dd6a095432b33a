/* rule_files.c - see rule_files.h. */
#include "cmd/rule_files.h"

#include <stdlib.h>

#include "cmd/command.h"
#include "cmd/install_path.h"
#include "rules/rules_files.h"

static void warn_of(const char *path, const char *reason)
{
	warning("%s is ignored: %s", path, reason);
}

int rule_files_open(struct rules **ret, const struct option_list *list)
{
	char *ours = install_path_rules();
	const struct rules_files files = { .ours = ours, .asked = list->items, .count = list->count, .warn = warn_of };
	struct error err = { 0 };
	int rc = rules_open(ret, &files, &err);

	free(ours);
	return rc < 0 ? fail_with(&err, EXIT_USAGE) : 0;
}
