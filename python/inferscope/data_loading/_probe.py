"""Clocks inside a worker of a loader, and what they bring back.

A worker is told by its worker_init_fn, which calls the user's first.  From then on, in that process only, the fetcher that torch
makes has the dataset and the collate function behind clocks, and the queue of batches has one where it pickles and sends.
Datasets are never wrapped where the user's own code looks at them.  A row for each batch goes to a file of that worker; what a
worker is doing right now is in a small map of memory beside it, for when it never comes back.
"""

import marshal
import mmap
import multiprocessing
import os
import resource
import struct
import sys
import threading
import time

_NOW = struct.Struct("<qqq")     # what a worker does, with which sample, since when
IDLE, SAMPLE, COLLATE = range(3)
_NO_INDEX = -(1 << 63)
_STEPS_MOST = 64
_DEPTH_MOST = 4
_ROW_MOST = 1 << 24

now = time.perf_counter_ns       # CLOCK_MONOTONIC: the same in all processes


# ---- What the system counts ---------------------------------------------------------------


class Counters:
    """Of one thread: computed, queued, of what it computed the system's part, faults; of its process: reads and memory."""

    KEYS = ("cpu", "queued", "chars", "disk", "faults", "system", "memory")
    PATHS = ("/proc/thread-self/schedstat", "/proc/self/io", "/proc/self/statm")

    def __init__(self):
        self._page = os.sysconf("SC_PAGE_SIZE")
        self._files = [self._open(path) for path in self.PATHS]

    @classmethod
    def told(cls):
        """(queued, reads, memory): whether the system tells them, which not every container lets it; what it does not is counted as 0."""
        counters = cls()
        try:
            return tuple(bool(cls._read(file)) for file in counters._files)
        finally:
            counters.close()

    @staticmethod
    def _open(path):
        try:
            return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return -1

    @staticmethod
    def _read(file):
        try:
            return os.pread(file, 1024, 0).split() if file >= 0 else []
        except OSError:
            return []

    def read(self):
        schedule, traffic, memory = map(self._read, self._files)
        queued = int(schedule[1]) if len(schedule) > 1 else 0
        counted, usage = dict(zip(traffic[0::2], traffic[1::2])), resource.getrusage(resource.RUSAGE_THREAD)
        return (time.thread_time_ns(), queued, int(counted.get(b"rchar:", 0)), int(counted.get(b"read_bytes:", 0)),
                usage.ru_majflt, int(usage.ru_stime * 1e9), int(memory[1]) * self._page if len(memory) > 1 else 0)

    def close(self):
        for file in self._files:
            if file >= 0:
                os.close(file)
        self._files = [-1] * 3


# ---- Rows ----------------------------------------------------------------------------------


class Rows:
    """Written by one worker, one call of the system for each; read when it has ended, or while it hangs."""

    def __init__(self, folder, worker):
        self._file = os.open(os.path.join(folder, "rows.%d" % worker), os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        path = os.open(os.path.join(folder, "now.%d" % worker), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        os.ftruncate(path, _NOW.size)
        self._now = mmap.mmap(path, _NOW.size)
        os.close(path)

    def put(self, row):
        text = marshal.dumps(row)
        try:
            os.write(self._file, struct.pack("<I", len(text)) + text)
        except OSError:  # a full disk is no reason to stop the loader
            pass

    def doing(self, what, index=None):
        _NOW.pack_into(self._now, 0, what, index if type(index) is int and abs(index) < 1 << 62 else _NO_INDEX, now())


class Kept:
    """The same, for a loader without workers: in a list."""

    def __init__(self):
        self.rows = []
        self.put = self.rows.append

    def doing(self, what, index=None):
        pass


def read_rows(folder, worker):
    """What a worker has written; a row that is not whole ends it."""
    try:
        with open(os.path.join(folder, "rows.%d" % worker), "rb") as file:
            text = file.read()
    except OSError:
        return []
    rows, at = [], 0
    while at + 4 <= len(text):
        size, = struct.unpack_from("<I", text, at)
        if size > _ROW_MOST or at + 4 + size > len(text):
            break
        rows.append(marshal.loads(text[at + 4:at + 4 + size]))
        at += 4 + size
    return rows


def doing_now(folder, worker):
    """(what, index or None, for how many seconds); None when the worker never began."""
    try:
        with open(os.path.join(folder, "now.%d" % worker), "rb") as file:
            what, index, since = _NOW.unpack(file.read(_NOW.size))
    except (OSError, struct.error):
        return None
    return what, None if index == _NO_INDEX else index, (now() - since) / 1e9


# ---- Transforms ----------------------------------------------------------------------------


def _inner(step):
    """The steps that a transform is composed of; None when it is one itself."""
    for name in ("transforms", "steps"):
        try:
            steps = getattr(step, name, None)
        except Exception:
            continue
        if isinstance(steps, (list, tuple)) or type(steps).__name__ == "ModuleList":
            return steps
    if isinstance(step, (list, tuple)):
        return step
    return list(step) if type(step).__name__ == "Sequential" else None


def _name_of(step):
    return getattr(step, "__name__", None) or type(step).__name__


class Steps:
    """Clocks around the transforms of a dataset.  For the copy of a worker: classes and lists are changed, and stay so."""

    def __init__(self):
        self.names, self.spent, self._places, self._classes = [], [], {}, set()

    def find(self, dataset, depth=0):
        """Those of the dataset's own attributes, and of the datasets that it is made of."""
        if depth > _DEPTH_MOST:
            return
        attributes = getattr(dataset, "__dict__", None) or {}
        for name, value in list(attributes.items()):
            if "transform" in name or name in ("preprocess", "augment", "augmentation", "processor"):
                try:
                    self._enter(value, name, depth, lambda timed, name=name: setattr(dataset, name, timed))
                except Exception:  # what cannot be changed is left
                    continue
            elif name == "dataset":
                self.find(value, depth + 1)
            elif name == "datasets" and isinstance(value, (list, tuple)):
                for one in value[:_STEPS_MOST]:
                    self.find(one, depth + 1)

    def _enter(self, step, name, depth, put):
        inner = _inner(step)
        if inner is None:
            if callable(step) and len(self.names) < _STEPS_MOST:
                self._clock(step, put)
        elif depth <= _DEPTH_MOST:
            for place, one in enumerate(list(inner)):
                target = one[1] if isinstance(one, tuple) and len(one) == 2 else one
                self._enter(target, name, depth + 1, lambda timed, place=place: self._replace(inner, place, timed))

    @staticmethod
    def _replace(steps, place, timed):
        if isinstance(steps, list):
            steps[place] = timed

    def _clock(self, step, put):
        """A class is made to ask which of its objects was called; so nobody sees another type.  Functions are replaced."""
        if id(step) in self._places:
            return
        number = len(self.names)
        if isinstance(type(step).__call__, type(Steps._clock)):
            self._class_clock(type(step))
        elif isinstance(step, type(Steps._clock)) or not hasattr(step, "__dict__"):
            put(self._function_clock(step, number))
        else:
            return
        self._places[id(step)] = (number, step)  # and kept, so that the address stays its own
        name = _name_of(step)
        taken = sum(one.split("#")[0] == name for one in self.names)
        self.names.append(name if not taken else "%s#%d" % (name, taken + 1))
        self.spent.append(0)

    def _class_clock(self, cls):
        if cls in self._classes:
            return
        call, places, spent = cls.__call__, self._places, self.spent

        def timed(self, *arguments, **named):
            place = places.get(id(self))
            if place is None:
                return call(self, *arguments, **named)
            begin = now()
            try:
                return call(self, *arguments, **named)
            finally:
                spent[place[0]] += now() - begin
        cls.__call__ = timed
        self._classes.add(cls)

    def _function_clock(self, function, number):
        spent = self.spent

        def timed(*arguments, **named):
            begin = now()
            try:
                return function(*arguments, **named)
            finally:
                spent[number] += now() - begin
        timed.__name__ = _name_of(function)
        return timed

    def take(self):
        taken = list(self.spent)
        self.spent[:] = [0] * len(taken)
        return taken


# ---- Fetching ------------------------------------------------------------------------------


class _Samples:
    """What a fetcher has for a dataset: asks the real one, and remembers how long each sample took."""

    def __init__(self, dataset, clock):
        self._dataset, self._clock = dataset, clock
        if getattr(dataset, "__getitems__", None):
            self.__getitems__ = self._many

    def __getitem__(self, index):
        clock = self._clock
        clock.rows.doing(SAMPLE, index)
        begin = now()
        try:
            return self._dataset[index]
        finally:
            clock.samples.append(now() - begin)

    def _many(self, indices):
        clock = self._clock
        clock.rows.doing(SAMPLE, indices[0] if indices else None)
        begin = now()
        samples = self._dataset.__getitems__(indices)
        each = (now() - begin) // max(len(indices), 1)
        clock.samples.extend([each] * len(indices))
        return samples


class _Stream:
    """The same for the iterator of an iterable dataset."""

    def __init__(self, iterator, clock):
        self._iterator, self._clock = iterator, clock

    def __iter__(self):
        return self

    def __next__(self):
        clock = self._clock
        clock.rows.doing(SAMPLE)
        begin = now()
        sample = next(self._iterator)
        clock.samples.append(now() - begin)
        return sample


class FetchClock:
    """Stands for the fetcher of torch, with its dataset and collate function behind clocks."""

    def __init__(self, fetcher, rows, steps=None):
        self.rows, self.samples, self._fetcher, self._steps = rows, [], fetcher, steps
        self._collate, self._collated, self._counters = fetcher.collate_fn, (0, 0), Counters()
        self.waited = 0
        if hasattr(fetcher, "dataset_iter"):
            fetcher.dataset_iter = _Stream(fetcher.dataset_iter, self)
        else:
            fetcher.dataset = _Samples(fetcher.dataset, self)
        fetcher.collate_fn = self._collated_by_clock

    def __getattr__(self, name):
        return getattr(self._fetcher, name)

    def _collated_by_clock(self, samples):
        self.rows.doing(COLLATE)
        cpu, begin = time.thread_time_ns(), now()
        batch = self._collate(samples)
        self._collated = now() - begin, time.thread_time_ns() - cpu
        return batch

    def fetch(self, index):
        self.samples, self._collated = [], (0, 0)
        before, begin = self._counters.read(), now()
        try:
            return self._fetcher.fetch(index)
        finally:
            end, after = now(), self._counters.read()
            self.rows.doing(IDLE)
            self.rows.put({"begin": begin, "end": end, "samples": self.samples, "collate": self._collated, "waited": self.waited,
                           "steps": self._steps.take() if self._steps else [],
                           "counters": [late - early for late, early in zip(after[:-1], before)] + [after[-1]]})
            self.waited = 0

    def close(self):
        """Also puts back what the fetcher had."""
        self._fetcher.collate_fn = self._collate
        self._counters.close()


# ---- Queues --------------------------------------------------------------------------------


class _PickleClock:
    """Stands for the pickler of multiprocessing.queues."""

    def __init__(self, pickler):
        self._pickler, self.last = pickler, threading.local()
        self.loads = pickler.loads

    def dumps(self, *arguments):
        cpu = time.thread_time_ns()
        text = self._pickler.dumps(*arguments)
        self.last.cpu = time.thread_time_ns() - cpu
        return text

    def __getattr__(self, name):
        return getattr(self._pickler, name)


def _clock_sending(queue, rows):
    """The thread that feeds the queue pickles and sends; what it waits for the reader is no work of its own."""
    queues = multiprocessing.queues
    send = getattr(queue, "_send_bytes", None)
    if send is None or not hasattr(queues, "_ForkingPickler"):
        return
    clock = queues._ForkingPickler = _PickleClock(queues._ForkingPickler)

    def timed(text):
        cpu, size = time.thread_time_ns(), len(text)
        send(text)
        rows.put({"sent": getattr(clock.last, "cpu", 0), "piped": time.thread_time_ns() - cpu, "bytes": size, "at": now()})
        clock.last.cpu = 0
    queue._send_bytes = timed


def _clock_waiting(queue, clocks):
    get = queue.get

    def timed(*arguments, **named):
        begin = now()
        try:
            return get(*arguments, **named)
        finally:
            for clock in clocks:
                clock.waited += now() - begin
    queue.get = timed


class ReceiveClock:
    """In the program: how long batches take through the pipe and to be unpickled.  Of one queue object, which is thrown away.

    What counts is what it computes.  A worker that is busy answers late when it is asked for a file of shared memory, and that wait
    passes when its samples come faster."""

    def __init__(self, queue):
        self.spent, self.bytes, self._after = 0, 0, None
        receive, get = getattr(queue, "_recv_bytes", None), queue.get
        if receive is None:
            return

        def timed_receive(*arguments):
            begin = time.thread_time_ns()
            text = receive(*arguments)
            self._after = time.thread_time_ns()
            self.spent += self._after - begin
            self.bytes += len(text)
            return text

        def timed_get(*arguments, **named):
            self._after = None
            item = get(*arguments, **named)
            if self._after is not None:
                self.spent += time.thread_time_ns() - self._after
            return item
        queue._recv_bytes, queue.get = timed_receive, timed_get

    def take(self):
        taken = self.spent, self.bytes
        self.spent = self.bytes = 0
        return taken


# ---- Installation --------------------------------------------------------------------------


class WorkerProbe:
    """A worker_init_fn, which can be pickled: the user's own, and then the clocks."""

    def __init__(self, folder, user_init):
        self._folder, self._user_init = folder, user_init

    def __call__(self, worker):
        if self._user_init is not None:
            self._user_init(worker)
        if multiprocessing.parent_process() is None:  # a thread of the program, which is not to be changed
            return
        try:
            self._install(worker)
        except Exception:  # of a torch that is made otherwise; the run is then timed from outside only
            return

    def _install(self, worker):
        frame = sys._getframe(2)
        while frame is not None and frame.f_code.co_name != "_worker_loop":
            frame = frame.f_back
        from torch.utils.data import _DatasetKind
        rows, steps, clocks = Rows(self._folder, worker), Steps(), []
        local = frame.f_locals if frame is not None else {}
        steps.find(local.get("dataset"))
        rows.put({"names": steps.names})
        create = _DatasetKind.create_fetcher

        def create_timed(*arguments):
            clocks[:] = [FetchClock(create(*arguments), rows, steps)]
            return clocks[0]
        _DatasetKind.create_fetcher = staticmethod(create_timed)
        if "data_queue" in local:
            _clock_sending(local["data_queue"], rows)
            _clock_waiting(local["index_queue"], clocks)


def cost(samples=256, rounds=9):
    """Seconds that the clocks take: (for each sample, for each batch), by fetching what costs nothing."""
    class Fetcher:
        def __init__(self):
            self.dataset, self.collate_fn = list(range(samples)), len

        def fetch(self, indices):
            return self.collate_fn([self.dataset[index] for index in indices])

    def spent(fetcher, indices):
        times = []
        for _ in range(rounds):
            begin = now()
            fetcher.fetch(indices)
            times.append(now() - begin)
        return min(times) / 1e9
    bare, timed = Fetcher(), FetchClock(Fetcher(), Kept())
    try:
        fixed = spent(timed, [0])
        each = max(spent(timed, range(samples)) - fixed - spent(bare, range(samples)), 0.0) / samples
    finally:
        timed.close()
    return each, fixed
