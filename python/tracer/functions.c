/*
 * functions.c - a code object seen for the first time.
 *
 * Its name, and whether it is left out, are found out once and kept in its
 * co_extra slot.  Nothing here runs code of the program's: only attributes
 * that lie in plain dictionaries are looked at.
 */
#include "subscripts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"

#if PY_VERSION_HEX < 0x030c0000
#define PyUnstable_Eval_RequestCodeExtraIndex _PyEval_RequestCodeExtraIndex
#define PyUnstable_Code_SetExtra _PyCode_SetExtra
#endif

#ifndef Py_BEGIN_CRITICAL_SECTION /* before 3.13, where there is a GIL */
#define Py_BEGIN_CRITICAL_SECTION(object) {
#define Py_END_CRITICAL_SECTION() }
#endif

/* The slot is the same in all interpreters that we record, since some code objects belong to all of them. */
int tracer_request_index(void)
{
	Py_ssize_t index = PyUnstable_Eval_RequestCodeExtraIndex(NULL);

	if (index < 0)
		return -1;
	if (tracer.index >= 0 && index != tracer.index)
		return -1;
	tracer.index = index;
	return 0;
}

/* Several threads may see it for the first time.  What the first of them found out is returned, and *ret_first says whether
 * that is this one.  Not every release without a GIL keeps threads apart here. */
static uintptr_t set_extra(PyCodeObject *code, uintptr_t extra, bool *ret_first)
{
	uintptr_t set;

	Py_BEGIN_CRITICAL_SECTION(code);
	set = code_extra(code);
	*ret_first = !code_is_known(set);
	if (*ret_first) {
		set = extra;
		if (PyUnstable_Code_SetExtra((PyObject *)code, tracer.index, (void *)extra) != 0)
			PyErr_Clear();
	}
	Py_END_CRITICAL_SECTION();
	return set;
}

/* ---- Text --------------------------------------------------------------------- */

static const char *text_of(PyObject *object, const char *otherwise)
{
	const char *text = object && PyUnicode_Check(object) ? PyUnicode_AsUTF8(object) : NULL;

	if (!text)
		PyErr_Clear(); /* lone surrogates */
	return text ? text : otherwise;
}

static const char *module_of(PyObject *globals)
{
	PyObject *name = globals && PyDict_Check(globals) ? PyDict_GetItemString(globals, "__name__") : NULL;

	return text_of(name, "");
}

/* At most `room` bytes of it, not cutting a character. */
static size_t put_part(char *out, const char *text, size_t room)
{
	size_t n = strlen(text);

	if (n > room)
		for (n = room; n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80; n--)
			;
	memcpy(out, text, n);
	return n;
}

/* Of a long path the end matters. */
static const char *tail_of(const char *text, size_t room)
{
	size_t n = strlen(text);

	if (n <= room)
		return text;
	for (text += n - room; ((unsigned char)*text & 0xc0) == 0x80; text++)
		;
	return text;
}

size_t tracer_compose(char out[NAME_MAX_BYTES], const char *module, const char *qualname, const char *file, int line)
{
	char digits[16];
	size_t n = 0;

	n += put_part(out + n, module, 200);
	out[n++] = '\0';
	n += put_part(out + n, qualname, 300);
	out[n++] = '\0';
	n += put_part(out + n, tail_of(file, 480), 480);
	out[n++] = '\0';
	snprintf(digits, sizeof digits, "%d", line);
	n += put_part(out + n, digits, 15);
	return n;
}

/* ---- Qualified names ------------------------------------------------------------ */

#if PY_VERSION_HEX < 0x030b0000

static bool is_function_of(PyObject *object, PyCodeObject *code)
{
	if (object && (Py_TYPE(object) == &PyStaticMethod_Type || Py_TYPE(object) == &PyClassMethod_Type ||
		       Py_TYPE(object) == &PyProperty_Type)) {
		PyObject *const *callable = (PyObject *const *)((const char *)object + sizeof(PyObject));

		object = *callable; /* the first member of each; a property's is its getter */
	}
	return object && PyFunction_Check(object) && PyFunction_GET_CODE(object) == (PyObject *)code;
}

/* The class, of those that the first argument is made of, whose method this is. */
static PyTypeObject *class_of(PyCodeObject *code, PyObject *first)
{
	PyTypeObject *type = first ? (PyType_Check(first) ? (PyTypeObject *)first : Py_TYPE(first)) : NULL;
	PyObject *mro = type ? type->tp_mro : NULL;

	for (Py_ssize_t i = 0; mro && PyTuple_Check(mro) && i < PyTuple_GET_SIZE(mro); i++) {
		PyTypeObject *base = (PyTypeObject *)PyTuple_GET_ITEM(mro, i);

		if (PyType_Check((PyObject *)base) && base->tp_dict &&
		    is_function_of(PyDict_GetItem(base->tp_dict, code->co_name), code))
			return base;
	}
	return NULL;
}

/* Before 3.11 a code object does not know its qualified name, but its class may be had from the first argument. */
static const char *qualname_of(PyCodeObject *code, PyObject *first, char *out, size_t size)
{
	const char *name = text_of(code->co_name, "?");
	PyTypeObject *type = code->co_argcount > 0 ? class_of(code, first) : NULL;
	const char *dot = type ? strrchr(type->tp_name, '.') : NULL;

	if (!type)
		return name;
	snprintf(out, size, "%s.%s", dot ? dot + 1 : type->tp_name, name);
	return out;
}

#else

static const char *qualname_of(PyCodeObject *code, PyObject *first, char *out, size_t size)
{
	(void)first;
	(void)out;
	(void)size;
	return text_of(code->co_qualname, "?");
}

#endif

/* ---- First sight ---------------------------------------------------------------- */

/* Functions that say more through their first argument. */
static uintptr_t special_flags(const char *module, const char *qualname)
{
	static bool wrapped;
	const char *dot = strrchr(qualname, '.');
	const char *name = dot ? dot + 1 : qualname;

	if (strcmp(module, "threading") == 0 && strcmp(name, "_bootstrap_inner") == 0)
		return CODE_THREAD | CODE_SKIP;
	if ((strcmp(module, "importlib._bootstrap") == 0 || strcmp(module, "_frozen_importlib") == 0) && strcmp(name, "__exit__") == 0)
		return CODE_IMPORT;
	if (strcmp(module, "torch.autograd.profiler") == 0 &&
	    (strcmp(name, "_prepare_trace") == 0 || strcmp(name, "_start_trace") == 0 || strcmp(name, "__enter__") == 0))
		return CODE_PROFILER;
	if (strcmp(module, "torch.nn.modules.module") != 0)
		return 0;
	if (strcmp(name, "_wrapped_call_impl") == 0) {
		wrapped = true;
		return CODE_MODULE;
	}
	if (strcmp(name, "_call_impl") == 0) /* inside the one above, where there is that one */
		return wrapped ? CODE_SKIP : CODE_MODULE;
	return 0;
}

static bool is_of(const char *module, const char *package)
{
	size_t n = strlen(package);

	return strncmp(module, package, n) == 0 && (module[n] == '\0' || module[n] == '.');
}

/* INFERSCOPE_TORCH_DOOR=itt: as if the callback could not be used. */
static int start_torch(void)
{
	const char *door = getenv("INFERSCOPE_TORCH_DOOR");

	if (door && strcmp(door, "itt") == 0)
		return -2;
	return tracer.inside->torch_start((tracer.options.shapes ? INFERSCOPE_TORCH_SHAPES : 0) |
					  (tracer.options.light ? INFERSCOPE_TORCH_LIGHT : 0));
}

/* Operators are looked for once code of torch's has been seen, which is before the first of them. */
void tracer_torch_look(const char *module)
{
	static bool starting; /* a thread is at it: one is enough */

	if (is_of(module, "torch"))
		tracer.torch_seen = true;
	if (tracer.torch_seen && tracer.torch == 0 && tracer.options.ops && !__atomic_exchange_n(&starting, true, __ATOMIC_ACQUIRE)) {
		if (tracer.torch == 0)
			tracer.torch = start_torch();
		__atomic_store_n(&starting, false, __ATOMIC_RELEASE);
	}
	if (tracer.torch == -2)
		tracer_itt_enter();
}

/* torch.compile uses the frame hook's place; and when PyTorch's profiler begins, GPUs have to be left to it. */
void tracer_company_look(const char *module, const char *qualname)
{
	bool profiler = strcmp(module, "torch.autograd.profiler") == 0 || strcmp(module, "torch.profiler.profiler") == 0;

	if (is_of(module, "greenlet"))
		tracer.greenlets = true;
	if (is_of(module, "torch._dynamo"))
		tracer.keep_hook = true;
	if (profiler && (strcmp(qualname, "profile.__init__") == 0 || strcmp(qualname, "_KinetoProfile.__init__") == 0))
		tracer.keep_hook = true;
}

static void count_function(uintptr_t extra)
{
	struct process_header *header = tracer.inside->joined() ? tracer.rt->memory->process.header : NULL;

	if (!header)
		return;
	ring_count(&header->functions);
	if (extra & CODE_SKIP)
		ring_count(&header->functions_skipped);
}

/* What the frame hook has to know.  From 3.12 on we are told of all that runs, and only of that. */
static uintptr_t hook_flags(const PyCodeObject *code)
{
#if BEFORE_312
	return (code->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR) ? CODE_GENERATOR : 0) |
	       (subscripts_matter(code) ? CODE_SUBSCRIPT : 0);
#else
	(void)code;
	return 0;
#endif
}

static uintptr_t look_at(PyCodeObject *code, PyObject *globals, PyObject *first)
{
	char name[NAME_MAX_BYTES], qualified[512];
	const char *module = module_of(globals), *file = text_of(code->co_filename, "");
	const char *qualname = qualname_of(code, first, qualified, sizeof qualified);
	uintptr_t extra = tracer.known | special_flags(module, qualname) | hook_flags(code);
	size_t size;

	if (tracer_filter_skips(module, qualname, file))
		extra |= CODE_SKIP;
	if (!(extra & CODE_SKIP)) {
		size = tracer_compose(name, module, qualname, file, code->co_firstlineno);
		extra |= (uintptr_t)tracer.inside->intern(tracer.inside->thread(), name, size) << CODE_SHIFT;
	}
	tracer.main_seen |= strcmp(module, "__main__") == 0;
	tracer_torch_look(module);
	if (is_of(module, "asyncio") || is_of(module, "greenlet"))
		tracer.tasks_seen = true;
	tracer_company_look(module, qualname);
	return extra;
}

uintptr_t tracer_first_sight(PyCodeObject *code, PyObject *globals, PyObject *first)
{
	PyObject *type, *value, *traceback;
	uintptr_t extra;
	bool is_first;

	PyErr_Fetch(&type, &value, &traceback);
	extra = set_extra(code, look_at(code, globals, first), &is_first);
	if (is_first)
		count_function(extra);
	PyErr_Restore(type, value, traceback);
	return extra;
}
