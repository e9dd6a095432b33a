/* apply.c - see apply.h. */
#include "cmd/apply.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "system/cpu_limit.h"

#define SETTINGS 4u

struct advice {
	const char *name;
	const char *reason; /* what it does, for people */
	struct setting {
		const char *variable;
		const char *value; /* NULL: the number of processors */
	} settings[SETTINGS];
};

static const struct advice table[] = {
	{ "threads", "pools have as many threads as there are processors for them",
	  { { "OMP_NUM_THREADS", NULL }, { "MKL_NUM_THREADS", NULL }, { "OPENBLAS_NUM_THREADS", NULL }, { "NUMEXPR_NUM_THREADS", NULL } } },
	{ "spin", "threads of a pool that have nothing to do sleep at once",
	  { { "OMP_WAIT_POLICY", "passive" }, { "KMP_BLOCKTIME", "0" } } },
	/* Large blocks come from the heap and stay there: getting their pages anew each time is what costs. */
	{ "allocator", "memory that was freed is kept for the next use instead of being given back",
	  { { "MALLOC_MMAP_MAX_", "0" }, { "MALLOC_TRIM_THRESHOLD_", "1099511627776" }, { "MALLOC_TOP_PAD_", "67108864" } } },
};

/* That the program may use, at least one. */
static unsigned processors(void)
{
	unsigned count = cpu_limit_affinity(getpid());
	double quota;

	if (cpu_limit_quota(getpid(), "", &quota) && quota < count)
		count = (unsigned)quota;
	return count ? count : 1;
}

static int apply_one(const struct advice *advice, struct variables *variables, struct buffer *said)
{
	struct buffer kept = BUFFER_INIT;
	bool set = false;
	char number[16];
	int rc = buffer_printf(said, "%s (%s):", advice->name, advice->reason);

	snprintf(number, sizeof number, "%u", processors());
	for (size_t i = 0; i < SETTINGS && advice->settings[i].variable && rc == 0; i++) {
		const char *variable = advice->settings[i].variable, *value = advice->settings[i].value ? advice->settings[i].value : number;

		if (getenv(variable)) {
			rc = buffer_printf(&kept, "%s%s", kept.size ? ", " : "", variable);
			continue;
		}
		rc = variables_set(variables, variable, value);
		if (rc == 0)
			rc = buffer_printf(said, "%s %s=%s", set ? "," : "", variable, value);
		set = true;
	}
	if (rc == 0 && kept.size)
		rc = buffer_printf(said, "%s %.*s stays as it was set", set ? ";" : "", (int)kept.size, (const char *)kept.data);
	buffer_release(&kept);
	return rc == 0 ? buffer_printf(said, "\n") : rc;
}

static const struct advice *find(const char *name, size_t size)
{
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		if (strlen(table[i].name) == size && strncmp(table[i].name, name, size) == 0)
			return &table[i];
	return NULL;
}

int apply_advice(const char *list, struct variables *variables, struct buffer *said, const char **ret_wrong)
{
	for (const char *name = list;; name++) {
		size_t size = strcspn(name, ",");
		const struct advice *advice = find(name, size);
		int rc = advice ? apply_one(advice, variables, said) : -EINVAL;

		if (!advice)
			*ret_wrong = name;
		if (rc < 0)
			return rc;
		name += size;
		if (!*name)
			return 0;
	}
}
