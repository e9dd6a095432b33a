/* rule_files.c - see rule_files.h. */
#include "cmd/rule_files.h"

#include <stdlib.h>

#include "cmd/command.h"
#include "cmd/install_path.h"

static void warn_of(const char *path, const char *reason)
{
	warning("%s is ignored: %s", path, reason);
}

int rule_files_open(struct settings **ret, const char *command, const struct config *config, const struct option_list *files,
		    struct error *err)
{
	char *ours = install_path_rules();
	const struct settings_request request = {
		.config = config,
		.command = command,
		.rules = { .ours = ours, .asked = files->items, .count = files->count, .warn = warn_of },
	};
	int rc = settings_open(ret, &request, err);

	free(ours);
	return rc;
}
