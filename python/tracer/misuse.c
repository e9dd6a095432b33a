/*
 * misuse.c - scope, mark_event and counter used as they are not meant to be.
 *
 * Whoever marks a program must not bring it down, with a recorder or without:
 * each kind of misuse is a RuntimeWarning, once in a process, at the line that
 * it was met in.  A warning can be filtered, logged and tested for, and has the
 * line; text on standard error has none of that.  Where warnings are exceptions
 * (python -W error), sys.unraisablehook has it, which test runners report.
 */
#include "tracer.h"

static const char *const texts[MISUSE_COUNT] = {
	[MISUSE_SCOPE] = "scope() takes one argument, its name: anything else is ignored",
	[MISUSE_MARK] = "mark_event() takes a name, and optionally metadata: anything else is ignored",
	[MISUSE_COUNTER] = "counter() takes a name and a number: calls without both are ignored, as is anything else",
	[MISUSE_NAME] = "a name is a string: scopes, marks and counters of other names have that of the type",
	[MISUSE_VALUE] = "the value of a counter is a number: others are ignored",
	[MISUSE_EXIT] = "a scope is left that is not open: that is ignored",
	[MISUSE_DECORATED] = "scope(NAME) decorates functions: others stay as they are",
	[MISUSE_BARE] = "as a decorator it is scope(NAME): without, the name is the function's",
};
static uint32_t told; /* bit: has been warned of */

void tracer_swallow(void)
{
	bool interrupted = PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_KeyboardInterrupt);

	PyErr_Clear();
	if (interrupted) /* the user's, for the program */
		PyErr_SetInterrupt();
}

void tracer_misuse(enum misuse misuse)
{
	uint32_t bit = 1u << misuse;

	tracer_swallow();
	if (__atomic_fetch_or(&told, bit, __ATOMIC_RELAXED) & bit)
		return;
	if (PyErr_WarnFormat(PyExc_RuntimeWarning, 1, "inferscope: %s", texts[misuse]) == 0)
		return;
	if (PyErr_ExceptionMatches(PyExc_Warning))
		PyErr_WriteUnraisable(NULL);
	else
		tracer_swallow();
}

static Py_ssize_t word_of(const char *const *words, Py_ssize_t count, PyObject *name)
{
	for (Py_ssize_t i = 0; i < count; i++)
		if (PyUnicode_CompareWithASCIIString(name, words[i]) == 0)
			return i;
	return -1;
}

bool tracer_arguments(const char *const *words, Py_ssize_t count, PyObject *const *args, Py_ssize_t nargs, PyObject *names,
		      PyObject **ret)
{
	Py_ssize_t named = names ? PyTuple_GET_SIZE(names) : 0, at;
	bool good = nargs <= count;

	for (at = 0; at < count; at++)
		ret[at] = at < nargs ? args[at] : NULL;
	for (Py_ssize_t i = 0; i < named; i++) {
		at = word_of(words, count, PyTuple_GET_ITEM(names, i));
		if (at < 0 || ret[at])
			good = false;
		else
			ret[at] = args[nargs + i];
	}
	return good;
}
