/*
 * filter.c - which functions are left out.
 *
 * What is left out unless asked for is ours and the interpreter's: our own
 * frames, the import machinery, and special methods that only look at an object
 * (attribute access, comparison, representation).  With includes, just what
 * matches them is recorded; excludes are left out in any case.
 */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "tracer.h"

#define PATTERNS_MAX 64

struct patterns {
	char *text; /* NULs between them */
	const char *each[PATTERNS_MAX];
	int count;
};
static struct patterns include, exclude;

static void patterns_release(struct patterns *p)
{
	free(p->text);
	*p = (struct patterns){ 0 };
}

static int patterns_set(struct patterns *p, const char *list)
{
	char *at, *next;

	patterns_release(p);
	if (!list || !*list)
		return 0;
	p->text = strdup(list);
	if (!p->text)
		return -1;
	for (at = p->text; at && p->count < PATTERNS_MAX; at = next) {
		next = strchr(at, ',');
		if (next)
			*next++ = '\0';
		while (*at == ' ')
			at++;
		if (*at)
			p->each[p->count++] = at;
	}
	return 0;
}

int tracer_filter_set(const char *included, const char *excluded)
{
	return patterns_set(&include, included) == 0 && patterns_set(&exclude, excluded) == 0 ? 0 : -1;
}

/* A pattern with a slash is about the file, any other about module and name; a module stands for all that is in it. */
static bool matches(const char *pattern, const char *full, const char *file)
{
	size_t n = strlen(pattern);

	if (strchr(pattern, '/'))
		return fnmatch(pattern, file, 0) == 0;
	return fnmatch(pattern, full, 0) == 0 || (strncmp(pattern, full, n) == 0 && full[n] == '.');
}

static bool any_matches(const struct patterns *p, const char *full, const char *file)
{
	for (int i = 0; i < p->count; i++)
		if (matches(p->each[i], full, file))
			return true;
	return false;
}

static bool is_in(const char *const *list, const char *name)
{
	for (; *list; list++)
		if (strcmp(*list, name) == 0)
			return true;
	return false;
}

static bool is_machinery(const char *module, const char *file)
{
	static const char *const modules[] = { "importlib._bootstrap", "importlib._bootstrap_external", "zipimport",
		"_frozen_importlib", "_frozen_importlib_external", "sitecustomize", NULL };

	return is_in(modules, module) || strncmp(file, "<frozen importlib", 17) == 0 ||
	       (strncmp(module, "inferscope", 10) == 0 && (module[10] == '\0' || module[10] == '.')) ||
	       strncmp(module, "_inferscope_", 12) == 0;
}

/* Special methods that look at an object.  Those that work for it (__init__, __call__, __getitem__, ...) are recorded. */
static bool is_noise(const char *qualname)
{
	static const char *const names[] = { "__getattr__", "__getattribute__", "__setattr__", "__delattr__", "__hash__",
		"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__bool__", "__len__", "__repr__", "__str__",
		"__format__", "__instancecheck__", "__subclasscheck__", "__subclasshook__", "__set_name__", "__index__",
		"__contains__", "__dir__", "__fspath__", "__sizeof__", "__class_getitem__", "__init_subclass__", NULL };
	const char *dot = strrchr(qualname, '.');

	return is_in(names, dot ? dot + 1 : qualname);
}

bool tracer_filter_skips(const char *module, const char *qualname, const char *file)
{
	char full[1024];

	snprintf(full, sizeof full, "%s%s%s", module, *module ? "." : "", qualname);
	if (any_matches(&exclude, full, file))
		return true;
	if (include.count)
		return !any_matches(&include, full, file);
	return is_machinery(module, file) || is_noise(qualname);
}
