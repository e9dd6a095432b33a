/*
 * gpus.c - what the driver says about GPUs, asked from inside somebody else's program.
 *
 * NVML (system/nvml.h) may take its time or wait for ever.  So a thread of its
 * own asks, which knows nothing of Python; whoever wants to know waits for a
 * bounded time and else gets the last answer, with its age.  When there is no
 * library or no GPU that thread ends, and nobody asks again.  A forked child
 * begins anew, since threads and locks of its parent are of no use to it.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "engine.h"

#include "system/nvml.h"

#define TIMEOUT_MOST 3600.0

struct gpu {
	char name[NVML_TEXT], uuid[NVML_TEXT];
	struct nvml_look look;
	char error[128]; /* "": it was looked at */
};

struct answer {
	double at; /* monotonic, seconds; 0: there was none */
	char error[256];
	uint32_t count;
	struct gpu *gpus;
};

/* Where questions are left, and the answer found. */
struct desk {
	pthread_mutex_t lock;
	pthread_cond_t asked, answered;
	uint64_t questions, answers;
	bool over; /* there will be no other answer */
	struct answer answer;
};

static pthread_mutex_t desk_lock = PTHREAD_MUTEX_INITIALIZER;
static struct desk *desk;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* ---- The thread that asks ------------------------------------------------------- */

static void look(const struct nvml *nvml, uint32_t device, struct gpu *ret)
{
	struct error err = { 0 };

	snprintf(ret->name, sizeof ret->name, "%s", nvml_name(nvml, device));
	snprintf(ret->uuid, sizeof ret->uuid, "%s", nvml_uuid(nvml, device));
	ret->error[0] = '\0';
	if (nvml_look(nvml, device, &ret->look, &err) != 0)
		snprintf(ret->error, sizeof ret->error, "%.120s", err.text);
}

static struct answer look_at_all(const struct nvml *nvml)
{
	struct answer a = { .count = nvml_count(nvml) };

	a.gpus = calloc(a.count, sizeof *a.gpus);
	for (uint32_t i = 0; a.gpus && i < a.count; i++)
		look(nvml, i, &a.gpus[i]);
	if (!a.gpus)
		a = (struct answer){ .error = "out of memory" };
	a.at = now();
	return a;
}

static void hand_over(struct desk *d, struct answer a, uint64_t question, bool over)
{
	pthread_mutex_lock(&d->lock);
	free(d->answer.gpus);
	d->answer = a;
	d->answers = question;
	d->over = over;
	pthread_cond_broadcast(&d->answered);
	pthread_mutex_unlock(&d->lock);
}

static uint64_t next_question(struct desk *d)
{
	uint64_t question;

	pthread_mutex_lock(&d->lock);
	while (d->questions == d->answers)
		pthread_cond_wait(&d->asked, &d->lock);
	question = d->questions;
	pthread_mutex_unlock(&d->lock);
	return question;
}

static void *ask(void *arg)
{
	struct desk *d = arg;
	struct nvml *nvml = NULL;
	struct error err = { 0 };
	struct answer none = { 0 };

	if (nvml_open(&nvml, &err) != 0) {
		snprintf(none.error, sizeof none.error, "%.250s", err.text);
		none.at = now();
		hand_over(d, none, UINT64_MAX, true);
		return NULL;
	}
	for (;;) {
		uint64_t question = next_question(d);

		hand_over(d, look_at_all(nvml), question, false);
	}
}

/* ---- The desk ------------------------------------------------------------------- */

static void begin_anew(void)
{
	desk = NULL;
	pthread_mutex_init(&desk_lock, NULL);
}

static void watch_forks(void)
{
	(void)pthread_atfork(NULL, NULL, begin_anew);
}

/* Signals are the program's. */
static int start_thread(struct desk *d)
{
	sigset_t all, before;
	pthread_attr_t attributes;
	pthread_t thread;
	int rc;

	sigfillset(&all);
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&thread, &attributes, ask, d);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return -rc;
}

static struct desk *desk_new(void)
{
	struct desk *d = calloc(1, sizeof *d);
	pthread_condattr_t monotonic;

	if (!d)
		return NULL;
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_mutex_init(&d->lock, NULL);
	pthread_cond_init(&d->asked, NULL);
	pthread_cond_init(&d->answered, &monotonic);
	pthread_condattr_destroy(&monotonic);
	if (start_thread(d) == 0)
		return d;
	free(d);
	return NULL;
}

static struct desk *desk_find(void)
{
	struct desk *d;

	pthread_once(&once, watch_forks);
	pthread_mutex_lock(&desk_lock);
	if (!desk)
		desk = desk_new();
	d = desk;
	pthread_mutex_unlock(&desk_lock);
	return d;
}

static struct answer answer_copy(const struct answer *a)
{
	struct answer copy = *a;

	copy.gpus = a->count ? malloc(a->count * sizeof *a->gpus) : NULL;
	if (copy.gpus)
		memcpy(copy.gpus, a->gpus, a->count * sizeof *a->gpus);
	else
		copy.count = 0;
	return copy;
}

/* Waits until there is an answer not older than max_age, for `timeout` at most; without the lock of the interpreter. */
static struct answer inquire(double timeout, double max_age)
{
	struct desk *d = desk_find();
	double end = now() + timeout;
	struct timespec until = { .tv_sec = (time_t)end, .tv_nsec = (long)((end - (double)(time_t)end) * 1e9) };
	struct answer a = { .error = "no thread can be started" };
	uint64_t mine;

	if (!d)
		return a;
	pthread_mutex_lock(&d->lock);
	if (!d->over && !(d->answer.at > 0 && now() - d->answer.at <= max_age)) {
		if (d->questions == d->answers) /* else one is on its way */
			d->questions++;
		mine = d->questions;
		pthread_cond_signal(&d->asked);
		while (!d->over && d->answers < mine && pthread_cond_timedwait(&d->answered, &d->lock, &until) == 0)
			;
	}
	a = answer_copy(&d->answer);
	pthread_mutex_unlock(&d->lock);
	if (a.at == 0)
		snprintf(a.error, sizeof a.error, "NVML does not answer");
	return a;
}

/* ---- For Python -------------------------------------------------------------------- */

static PyObject *process_bytes(const struct nvml_look *l)
{
	PyObject *dict = PyDict_New(), *pid, *bytes;

	for (uint32_t i = 0; dict && i < l->process_count && i < NVML_PROCESSES; i++) {
		pid = PyLong_FromUnsignedLong(l->processes[i].pid);
		bytes = l->processes[i].known ? PyLong_FromUnsignedLongLong(l->processes[i].bytes) : Py_BuildValue("");
		if (!pid || !bytes || PyDict_SetItem(dict, pid, bytes) < 0)
			Py_CLEAR(dict);
		Py_XDECREF(pid);
		Py_XDECREF(bytes);
	}
	return dict;
}

static int put_look(PyObject *dict, const struct nvml_look *l)
{
	for (unsigned i = 0; i < NVML_VALUE_COUNT; i++)
		if (l->present >> i & 1 &&
		    put_text_key(dict, nvml_value_name((enum nvml_value)i), PyLong_FromUnsignedLongLong(l->values[i])) < 0)
			return -1;
	return l->processes_known ? put_text_key(dict, "processes", process_bytes(l)) : 0;
}

static PyObject *gpu_dict(const struct gpu *g)
{
	PyObject *dict = Py_BuildValue("{s:s,s:s}", "name", g->name, "uuid", g->uuid);
	int rc;

	if (!dict)
		return NULL;
	rc = g->error[0] ? put_text_key(dict, "error", PyUnicode_FromString(g->error)) : put_look(dict, &g->look);
	if (rc < 0)
		Py_CLEAR(dict);
	return dict;
}

static PyObject *answer_tuple(const struct answer *a)
{
	PyObject *list = PyList_New(0);

	for (uint32_t i = 0; list && i < a->count; i++)
		list = append(list, gpu_dict(&a->gpus[i]));
	return list ? Py_BuildValue("(zdN)", a->error[0] ? a->error : NULL, a->at > 0 ? now() - a->at : 0.0, list) : NULL;
}

PyObject *ask_gpus(PyObject *module, PyObject *args)
{
	double timeout, max_age;
	struct answer a;
	PyObject *tuple;

	(void)module;
	if (!PyArg_ParseTuple(args, "dd:gpus", &timeout, &max_age))
		return NULL;
	if (!(timeout >= 0 && timeout <= TIMEOUT_MOST) || !(max_age >= 0)) {
		PyErr_SetString(PyExc_ValueError, "timeout and max_age are seconds");
		return NULL;
	}
	Py_BEGIN_ALLOW_THREADS
	a = inquire(timeout, max_age);
	Py_END_ALLOW_THREADS
	tuple = answer_tuple(&a);
	free(a.gpus);
	return tuple;
}
