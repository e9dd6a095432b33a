/*
 * trackers.c - what the system says of a process and of what it may use, for inferscope.trackers.
 *
 * A Meter has the files open that it reads again and again, which takes a tenth
 * of what opening them takes.  It lives in somebody else's program, which may
 * close descriptors that it does not know and get their numbers for files of its
 * own; so each is looked at before it is closed, and one before anything is read.
 *
 * Nothing in a Meter changes after it was made, so threads need not wait for each
 * other.  What the kernel answers at once is read with the lock of the interpreter
 * held, since to get it back can take longer; what may take its time without.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "engine.h"

#include "system/cpu_frequency.h"
#include "system/disk_counters.h"
#include "system/machine_counters.h"
#include "system/machine_memory.h"
#include "system/network_counters.h"
#include "system/proc.h"
#include "system/process_counters.h"
#include "system/process_memory.h"

#define KEPT_MOST 128u

/* A descriptor, and what it is of. */
struct kept {
	int fd;
	dev_t device;
	ino_t inode;
};

struct meter {
	PyObject_HEAD
	pid_t pid;
	struct process_files process;
	struct machine_memory_files memory;
	struct machine_files machine;
	struct disk_files disks;
	struct network_files network;
	int io_pressure;
	atomic_flag in_frequency; /* which is the one that remembers something */
	size_t kept_count;
	struct kept kept[KEPT_MOST];
};

static struct meter *meter_of(PyObject *self)
{
	return (struct meter *)self;
}

/* ---- Descriptors ------------------------------------------------------------- */

static bool is_ours(const struct kept *kept)
{
	struct stat st;

	return fstat(kept->fd, &st) == 0 && st.st_dev == kept->device && st.st_ino == kept->inode;
}

static void keep(struct meter *m, const int *fds, size_t count)
{
	struct stat st;

	for (size_t i = 0; i < count && m->kept_count < KEPT_MOST; i++)
		if (fds[i] >= 0 && fstat(fds[i], &st) == 0)
			m->kept[m->kept_count++] = (struct kept){ fds[i], st.st_dev, st.st_ino };
}

static void keep_memory(struct meter *m)
{
	keep(m, &m->memory.meminfo, 1);
	keep(m, &m->memory.events, 1);
	for (size_t i = 0; i < m->memory.count; i++) {
		const struct machine_memory_group_files *g = &m->memory.groups[i];
		const int fds[] = { g->limit, g->used, g->stat, g->swap_limit, g->swap_used };

		keep(m, fds, sizeof fds / sizeof fds[0]);
	}
}

static void keep_all(struct meter *m)
{
	const int process[] = { m->process.stat, m->process.io, m->process.status };
	const int others[] = { m->io_pressure, m->disks.fd, m->network.fd, m->machine.frequency.cpuinfo };

	keep(m, process, sizeof process / sizeof process[0]); /* the first is the one that is looked at */
	keep_memory(m);
	keep(m, m->machine.fds, MACHINE_FILES);
	keep(m, m->machine.frequency.fds, m->machine.frequency.count);
	keep(m, others, sizeof others / sizeof others[0]);
}

/* 0, or -1 with an exception: EBADF for somebody who has closed our files. */
static int check(const struct meter *m)
{
	if (m->kept_count && is_ours(&m->kept[0]))
		return 0;
	errno = EBADF;
	PyErr_SetFromErrno(PyExc_OSError);
	return -1;
}

PyObject *raise_errno(int rc)
{
	errno = -rc;
	return PyErr_SetFromErrno(PyExc_OSError);
}

PyObject *append(PyObject *list, PyObject *item)
{
	int rc = item ? PyList_Append(list, item) : -1;

	Py_XDECREF(item);
	if (rc == 0)
		return list;
	Py_DECREF(list);
	return NULL;
}

/* ---- Making one --------------------------------------------------------------- */

struct wish {
	int pid, memory, machine, disks, network;
	const char *root;
};

static int open_files(struct meter *m, const struct wish *w)
{
	int rc = process_files_open(&m->process, m->pid);

	if (rc != 0)
		return rc;
	if (w->memory)
		machine_memory_open(&m->memory, m->pid, w->root);
	if (w->machine)
		machine_files_open(&m->machine, m->pid, w->root);
	if (w->disks) {
		disk_files_open(&m->disks);
		m->io_pressure = open("/proc/pressure/io", O_RDONLY | O_CLOEXEC);
	}
	if (w->network)
		network_files_open(&m->network, m->pid);
	return 0;
}

static PyObject *meter_new(PyTypeObject *type, PyObject *args, PyObject *names)
{
	static char *words[] = { "pid", "memory", "machine", "disks", "network", "root", NULL };
	struct wish w = { .root = "" };
	struct meter *m;
	int rc;

	if (!PyArg_ParseTupleAndKeywords(args, names, "i|pppps:Meter", words, &w.pid, &w.memory, &w.machine, &w.disks, &w.network,
					 &w.root))
		return NULL;
	m = (struct meter *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
	if (!m)
		return NULL;
	m->pid = w.pid;
	m->process = (struct process_files)PROCESS_FILES_INIT;
	m->memory = (struct machine_memory_files)MACHINE_MEMORY_FILES_INIT;
	m->machine = (struct machine_files)MACHINE_FILES_INIT;
	m->disks = (struct disk_files)DISK_FILES_INIT;
	m->network = (struct network_files)NETWORK_FILES_INIT;
	m->io_pressure = -1;
	atomic_flag_clear(&m->in_frequency);
	rc = w.pid > 0 ? open_files(m, &w) : -ESRCH;
	keep_all(m);
	if (rc == 0)
		return (PyObject *)m;
	Py_DECREF(m);
	return raise_errno(rc == -ENOENT ? -ESRCH : rc);
}

static void close_files(struct meter *m)
{
	process_files_close(&m->process);
	machine_memory_close(&m->memory);
	machine_files_close(&m->machine);
	disk_files_close(&m->disks);
	network_files_close(&m->network);
	if (m->io_pressure >= 0)
		close(m->io_pressure);
}

/* Somebody who closes one mostly closes all; of what is left then, what is certainly ours. */
static void close_what_is_ours(const struct meter *m)
{
	for (size_t i = 0; i < m->kept_count; i++)
		if (is_ours(&m->kept[i]))
			close(m->kept[i].fd);
}

static void meter_dealloc(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);
	struct meter *m = meter_of(self);
	size_t ours = 0;

	while (ours < m->kept_count && is_ours(&m->kept[ours]))
		ours++;
	if (ours == m->kept_count)
		close_files(m);
	else
		close_what_is_ours(m);
	((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
	Py_DECREF(type);
}

/* ---- The process --------------------------------------------------------------- */

typedef const char *(*name_of)(unsigned);

static PyObject *known_dict(const uint64_t *values, uint32_t known, unsigned count, name_of name)
{
	PyObject *dict = PyDict_New();

	for (unsigned i = 0; dict && i < count; i++)
		if (known >> i & 1 && put_text_key(dict, name(i), PyLong_FromUnsignedLongLong(values[i])) < 0)
			Py_CLEAR(dict);
	return dict;
}

static const char *process_name(unsigned counter)
{
	return process_counter_name((enum process_counter)counter);
}

static const char *machine_name(unsigned counter)
{
	return machine_counter_name((enum machine_counter)counter);
}

/* One that has ended, and is only there because nobody has asked how, has no memory and no time any more. */
static int read_process(const struct meter *m, bool io, bool status, struct process_counters *ret)
{
	const struct process_files files = { m->process.stat, io ? m->process.io : -1, m->process.status };
	int rc = process_files_read(&files, status, ret);

	return rc == 0 && (ret->state == 'Z' || ret->state == 'X') ? -ESRCH : rc;
}

static PyObject *meter_process(PyObject *self, PyObject *args)
{
	struct process_counters counters;
	PyObject *dict;
	int io, status, rc;

	if (!PyArg_ParseTuple(args, "pp:process", &io, &status) || check(meter_of(self)) < 0)
		return NULL;
	rc = read_process(meter_of(self), io, status, &counters);
	if (rc != 0)
		return raise_errno(rc);
	dict = known_dict(counters.values, counters.known, PROCESS_COUNTER_COUNT, process_name);
	if (dict && put_text_key(dict, "birth", PyLong_FromUnsignedLongLong(counters.birth)) < 0)
		Py_CLEAR(dict);
	return dict;
}

static PyObject *meter_rss(PyObject *self, PyObject *unused)
{
	struct process_counters counters;
	int rc;

	(void)unused;
	if (check(meter_of(self)) < 0)
		return NULL;
	rc = read_process(meter_of(self), false, false, &counters);
	return rc == 0 ? PyLong_FromUnsignedLongLong(counters.values[PROCESS_RSS_BYTES]) : raise_errno(rc);
}

static PyObject *meter_pss(PyObject *self, PyObject *unused)
{
	uint64_t bytes;
	int rc;

	(void)unused;
	Py_BEGIN_ALLOW_THREADS
	rc = process_memory_pss(meter_of(self)->pid, &bytes);
	Py_END_ALLOW_THREADS
	if (rc == 0)
		return PyLong_FromUnsignedLongLong(bytes);
	Py_RETURN_NONE;
}

/* The kernel's clock of the process has nanoseconds; its file has ticks of 10 ms. */
static int read_clock(const struct meter *m, uint64_t *ret)
{
	clockid_t clock = CLOCK_PROCESS_CPUTIME_ID;
	struct process_counters counters;
	struct timespec ts;
	int rc = 0;

	if (m->pid != getpid()) {
		rc = read_process(m, false, false, &counters); /* it lives, so its number is its own */
		if (rc == 0)
			*ret = counters.values[PROCESS_USER_NS] + counters.values[PROCESS_SYSTEM_NS];
		if (rc != 0 || clock_getcpuclockid(m->pid, &clock) != 0)
			return rc;
	}
	if (clock_gettime(clock, &ts) == 0)
		*ret = (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
	return rc;
}

static PyObject *meter_cpu_ns(PyObject *self, PyObject *unused)
{
	uint64_t ns = 0;
	int rc;

	(void)unused;
	if (check(meter_of(self)) < 0)
		return NULL;
	rc = read_clock(meter_of(self), &ns);
	return rc == 0 ? PyLong_FromUnsignedLongLong(ns) : raise_errno(rc);
}

static PyObject *meter_threads(PyObject *self, PyObject *unused)
{
	(void)unused;
	return check(meter_of(self)) < 0 ? NULL : thread_list(meter_of(self)->pid);
}

/* ---- What it may use -------------------------------------------------------------- */

static PyObject *meter_memory(PyObject *self, PyObject *unused)
{
	struct machine_memory m;
	int rc;

	(void)unused;
	if (check(meter_of(self)) < 0)
		return NULL;
	Py_BEGIN_ALLOW_THREADS
	rc = machine_memory_read(&meter_of(self)->memory, &m);
	Py_END_ALLOW_THREADS
	if (rc != 0)
		return raise_errno(rc);
	return Py_BuildValue("{s:K,s:K,s:K,s:K,s:O,s:K,s:K}", "total_bytes", (unsigned long long)m.total, "available_bytes",
			     (unsigned long long)m.available, "swap_total_bytes", (unsigned long long)m.swap_total, "swap_used_bytes",
			     (unsigned long long)m.swap_used, "limited", m.limited ? Py_True : Py_False, "machine_total_bytes",
			     (unsigned long long)m.machine_total, "machine_available_bytes", (unsigned long long)m.machine_available);
}

static PyObject *meter_machine(PyObject *self, PyObject *unused)
{
	struct machine_counters counters;

	(void)unused;
	if (check(meter_of(self)) < 0)
		return NULL;
	machine_files_read(&meter_of(self)->machine, false, &counters);
	return known_dict(counters.values, counters.known, MACHINE_COUNTER_COUNT, machine_name);
}

static PyObject *meter_frequency(PyObject *self, PyObject *unused)
{
	struct meter *m = meter_of(self);
	uint64_t mhz = 0;

	(void)unused;
	if (check(m) < 0)
		return NULL;
	Py_BEGIN_ALLOW_THREADS
	if (!atomic_flag_test_and_set(&m->in_frequency)) {
		mhz = cpu_frequency_read(&m->machine.frequency);
		atomic_flag_clear(&m->in_frequency);
	}
	Py_END_ALLOW_THREADS
	return PyLong_FromUnsignedLongLong(mhz);
}

static PyObject *meter_io_pressure(PyObject *self, PyObject *unused)
{
	struct machine_counters counters = { 0 };
	char text[256];

	(void)unused;
	if (check(meter_of(self)) < 0)
		return NULL;
	if (proc_reread(meter_of(self)->io_pressure, text, sizeof text) > 0)
		machine_counters_parse_pressure(&counters, MACHINE_PRESSURE_IO_NS, text);
	if (counters.known)
		return PyLong_FromUnsignedLongLong(counters.values[MACHINE_PRESSURE_IO_NS]);
	Py_RETURN_NONE;
}

/* ---- Disks and network -------------------------------------------------------------- */

static PyObject *disk_dict(const struct disk_counters *d)
{
	return Py_BuildValue("{s:s,s:K,s:K,s:K,s:K,s:K}", "name", d->name, "read_count", (unsigned long long)d->reads, "write_count",
			     (unsigned long long)d->writes, "read_bytes", (unsigned long long)d->read_bytes, "write_bytes",
			     (unsigned long long)d->written_bytes, "busy_ns", (unsigned long long)d->busy_ns);
}

static PyObject *interface_dict(const struct network_counters *n)
{
	return Py_BuildValue("{s:s,s:O,s:K,s:K,s:K,s:K,s:K}", "name", n->name, "loopback", n->loopback ? Py_True : Py_False,
			     "received_bytes", (unsigned long long)n->received_bytes, "received_packets",
			     (unsigned long long)n->received_packets, "sent_bytes", (unsigned long long)n->sent_bytes, "sent_packets",
			     (unsigned long long)n->sent_packets, "errors", (unsigned long long)n->errors);
}

static PyObject *meter_disks(PyObject *self, PyObject *unused)
{
	struct disk_counters disks[DISK_COUNTERS_MAX];
	PyObject *list;
	size_t count;

	(void)unused;
	if (check(meter_of(self)) < 0)
		return NULL;
	count = disk_files_read(&meter_of(self)->disks, disks, DISK_COUNTERS_MAX);
	list = PyList_New(0);
	for (size_t i = 0; list && i < count; i++)
		list = append(list, disk_dict(&disks[i]));
	return list;
}

static PyObject *meter_network(PyObject *self, PyObject *unused)
{
	struct network_counters interfaces[NETWORK_COUNTERS_MAX];
	PyObject *list;
	size_t count;

	(void)unused;
	if (check(meter_of(self)) < 0)
		return NULL;
	count = network_files_read(&meter_of(self)->network, interfaces, NETWORK_COUNTERS_MAX);
	list = PyList_New(0);
	for (size_t i = 0; list && i < count; i++)
		list = append(list, interface_dict(&interfaces[i]));
	return list;
}

/* ---- The type ------------------------------------------------------------------------ */

static PyMethodDef meter_methods[] = {
	{ "process", meter_process, METH_VARARGS, "process(io, status)\n--\n\nWhat the kernel counts of the process." },
	{ "rss", meter_rss, METH_NOARGS, "rss()\n--\n\nBytes of it that are in memory." },
	{ "pss", meter_pss, METH_NOARGS,
	  "pss()\n--\n\nThe same, what it shares by its part; None: it cannot be told.  20 ms for each GB." },
	{ "cpu_ns", meter_cpu_ns, METH_NOARGS, "cpu_ns()\n--\n\nProcessor time of all its threads." },
	{ "threads", meter_threads, METH_NOARGS,
	  "threads()\n--\n\nTuples: number, name, ns on a processor, ns in the queue for one, state." },
	{ "memory", meter_memory, METH_NOARGS, "memory()\n--\n\nHow much memory it may use, and how much of that is left." },
	{ "machine", meter_machine, METH_NOARGS, "machine()\n--\n\nHow busy the machine is, and what holds its programs up." },
	{ "frequency", meter_frequency, METH_NOARGS,
	  "frequency()\n--\n\nMHz of the processors; 0: it cannot be told, or not at once." },
	{ "io_pressure", meter_io_pressure, METH_NOARGS,
	  "io_pressure()\n--\n\nns for which some thread of the machine waited for disks." },
	{ "disks", meter_disks, METH_NOARGS, "disks()\n--\n\nWhat the disks have done." },
	{ "network", meter_network, METH_NOARGS, "network()\n--\n\nWhat went through the interfaces that the process sees." },
	{ NULL, NULL, 0, NULL },
};

static PyType_Slot meter_slots[] = {
	{ Py_tp_doc, "Meter(pid, memory=False, machine=False, disks=False, network=False, root='')\n--\n\n"
		     "Reads what the system says of a process.  Raises ProcessLookupError when that has ended." },
	{ Py_tp_new, (void *)meter_new },
	{ Py_tp_dealloc, (void *)meter_dealloc },
	{ Py_tp_methods, meter_methods },
	{ 0, NULL },
};

static PyType_Spec meter_spec = {
	.name = "inferscope._engine.Meter",
	.basicsize = sizeof(struct meter),
	.flags = Py_TPFLAGS_DEFAULT,
	.slots = meter_slots,
};

int add_meter(PyObject *module)
{
	PyObject *type = PyType_FromSpec(&meter_spec);

	if (type && PyModule_AddObject(module, "Meter", type) == 0)
		return 0;
	Py_XDECREF(type);
	return -1;
}
