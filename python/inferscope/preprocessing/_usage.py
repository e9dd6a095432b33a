"""What a thread has used so far: processor, waiting, page faults, files; and what the machine has left."""

import os
import resource
import sys
import time
from typing import NamedTuple

PAGE = os.sysconf("SC_PAGE_SIZE")
MB = 1024.0 ** 2


class Usage(NamedTuple):
    """Of this thread since it began, in seconds and numbers; other_cpu and children of the process, idle of the machine."""

    wall: float
    cpu: float
    queue: float             # ready to run, but another had the processor
    user: float
    system: float
    other_cpu: float         # of the other threads
    children: float          # of processes that have ended
    minor_faults: float
    major_faults: float
    read: float              # bytes that were asked for
    written: float
    calls: float             # of the system, to read and write
    from_disk: float         # bytes that were not in memory
    idle: float              # seconds of all processors together

    def since(self, before):
        return Usage(*(max(now - then, 0.0) for now, then in zip(self, before)))


def _numbers(path, count):
    """The first numbers of a file of the kernel; zeros where it has none such."""
    try:
        with open(path, "rb", buffering=0) as file:
            words = file.read(512).split()
    except OSError:
        return [0] * count
    found = [int(word) for word in words if word.isdigit()]
    return (found + [0] * count)[:count]


def _idle():
    fields = _numbers("/proc/stat", 5)
    return (fields[3] + fields[4]) / os.sysconf("SC_CLK_TCK")


def usage(end=False):
    """Files of the kernel are read outside what is counted: `end` says on which side that is."""
    if end:
        wall, cpu, process = time.perf_counter(), time.thread_time(), time.process_time()
        io = _numbers("/proc/thread-self/io", 5)
    schedule = _numbers("/proc/thread-self/schedstat", 2)
    own, children = resource.getrusage(resource.RUSAGE_THREAD), resource.getrusage(resource.RUSAGE_CHILDREN)
    idle = _idle()
    if not end:
        io = _numbers("/proc/thread-self/io", 5)
        wall, cpu, process = time.perf_counter(), time.thread_time(), time.process_time()
    return Usage(wall, cpu, schedule[1] / 1e9, own.ru_utime, own.ru_stime, process - cpu, children.ru_utime + children.ru_stime,
                 own.ru_minflt, own.ru_majflt, io[0], io[1], io[2] + io[3], io[4], idle)


def rss_mb():
    pages = _numbers("/proc/self/statm", 2)[1]
    return pages * PAGE / MB


def queued_ns():
    """How long this thread has been ready to run without a processor."""
    return _numbers("/proc/thread-self/schedstat", 2)[1]


def available_mb():
    """Memory that programs can still have; infinite where the system does not tell."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            return next(int(line.split()[1]) / 1024 for line in file if line.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError):
        return float("inf")


def children():
    """Processes that this one has begun and that are still there."""
    found = set()
    try:
        for thread in os.listdir("/proc/self/task"):
            found.update(_numbers("/proc/self/task/%s/children" % thread, 256))
    except OSError:
        pass
    return found - {0}


def cores():
    """How many processors this process may use: by affinity, and by what its container has."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        with open("/sys/fs/cgroup/cpu.max", encoding="ascii") as file:
            quota, period = file.read().split()[:2]
        return float(allowed) if quota == "max" else min(float(allowed), int(quota) / int(period))
    except (OSError, ValueError):
        return float(allowed)


_bandwidth = None


def copy_bandwidth():
    """Bytes that a second copies here, from memory to memory: what no processing of so many bytes can be much quicker than."""
    global _bandwidth
    if _bandwidth is None:
        source, target = bytearray(16 << 20), bytearray(16 << 20)
        times = []
        for _ in range(6):
            begin = time.perf_counter()
            target[:] = source
            times.append(time.perf_counter() - begin)
        _bandwidth = len(source) / max(min(times), 1e-6)
    return _bandwidth


# ---- Random numbers --------------------------------------------------------------------------


class RandomStates:
    """The states of all generators that everybody shares, to be put back."""

    def __enter__(self):
        self._states = []
        random, numpy, torch = (sys.modules.get(name) for name in ("random", "numpy.random", "torch"))
        if random is not None:
            self._states.append((random.setstate, random.getstate()))
        if hasattr(numpy, "get_state"):
            self._states.append((numpy.set_state, numpy.get_state()))
        if hasattr(torch, "get_rng_state"):
            self._states.append((torch.set_rng_state, torch.get_rng_state()))
            if torch.cuda.is_available() and torch.cuda.is_initialized():
                self._states.append((torch.cuda.set_rng_state_all, torch.cuda.get_rng_state_all()))
        return self

    def __exit__(self, *_):
        for put_back, state in self._states:
            put_back(state)
