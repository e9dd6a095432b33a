"""One run of a loader, timed: what arrived when, what its workers said, and nothing of it left behind."""

import contextlib
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
import warnings
import zlib
from typing import NamedTuple, Optional

from inferscope.data_loading import _loader, _probe

now = _probe.now
_NODES_MOST = 10_000
_START_SECONDS = 60.0            # for workers that are started as programs, and import everything anew
_DIGEST_MOST = 1 << 20


class Limits(NamedTuple):
    """When a run ends: after so many batches that count; or, with seconds, when as long has been measured and there is enough."""

    batches: int
    timeout: float
    seconds: Optional[float] = None


class TookTooLong(Exception):
    """A batch that was waited for longer than the limit."""


class Run:
    """Figures as they came: nanoseconds, one of each for every batch."""

    def __init__(self, workers):
        self.workers, self.block = workers, max(1, workers)
        self.warm_up = 2 * workers or 1  # what workers did while others were still being started makes the first batches too quick
        self.begun = now()
        self.arrivals, self.waits, self.steps, self.steps_cpu, self.receives, self.kept = [], [], [], [], [], []
        self.sizes, self.rows, self.names = [], [], []
        self.kept_bytes = self.batch_bytes = 0
        self.digests = []
        self.error, self.hung, self.interrupted, self.exhausted = None, False, False, False
        self.cpu = self.outside = None  # of processors; None where nobody looked, as the next two
        self.memory = self.worker_memory = None
        self.notes = []

    @property
    def count(self):
        return len(self.arrivals)

    @property
    def warm(self):
        """How many batches do not count: the first two of each worker; fewer when there are few."""
        return min(self.warm_up, max(1, self.count // 2)) if self.count > 1 else 0

    @property
    def startup(self):
        return (self.arrivals[0] - self.begun - (self.steps[0] if self.steps else 0)) / 1e9 if self.arrivals else None

    def size(self, number):
        return self.sizes[number] if number < len(self.sizes) else 0

    def blocks(self):
        """(batches, samples, seconds) of as many batches as there are workers: what comes in bursts is taken together."""
        found, begin = [], self.warm - 1
        while begin >= 0 and begin + self.block < self.count:
            end = begin + self.block
            found.append((self.block, sum(self.size(at) for at in range(begin + 1, end + 1)),
                          (self.arrivals[end] - self.arrivals[begin]) / 1e9))
            begin = end
        if not found and self.count > 1:
            found.append((self.count - 1, sum(self.size(at) for at in range(1, self.count)),
                          (self.arrivals[-1] - self.arrivals[0]) / 1e9))
        return found

    def enough(self, limits):
        steady = self.count - self.warm_up
        if limits.seconds is None:
            return steady >= limits.batches
        if steady < self.block:
            return steady > 0 and now() - self.begun > 20e9 * limits.seconds
        seconds = (self.arrivals[-1] - self.arrivals[self.warm_up - 1]) / 1e9
        enough = (2 if seconds >= 2 * limits.seconds else 4) * self.block
        return steady >= limits.batches or (seconds >= limits.seconds and steady >= enough) or seconds >= 5 * limits.seconds


# ---- Batches -------------------------------------------------------------------------------


def bytes_of(batch):
    """Of the tensors, arrays and texts of a batch, as far as one looks: depth and number are bounded."""
    total, left, nodes = 0, [batch], 0
    while left and nodes < _NODES_MOST:
        one, nodes = left.pop(), nodes + 1
        size = getattr(one, "nbytes", None)
        if isinstance(size, int):
            total += size
        elif isinstance(one, (bytes, bytearray, str)):
            total += len(one)
        elif isinstance(one, dict):
            left.extend(one.values())
        elif isinstance(one, (list, tuple)):
            left.extend(one)
        elif hasattr(one, "element_size") and hasattr(one, "nelement"):  # a tensor of an older torch
            total += one.element_size() * one.nelement()
    return total


def _first_size(batch):
    """How many samples a batch is of, when nobody has said it."""
    while isinstance(batch, (list, tuple, dict)) and batch:
        first = next(iter(batch.values())) if isinstance(batch, dict) else batch[0]
        if not isinstance(first, (list, tuple, dict)) and not getattr(first, "shape", None):
            return len(batch)
        batch = first
    shape = getattr(batch, "shape", None)
    return int(shape[0]) if shape else 1


def _digest(batch):
    """To find the same batch again; None when that is not cheap."""
    while isinstance(batch, (list, tuple, dict)) and batch:
        batch = next(iter(batch.values())) if isinstance(batch, dict) else batch[0]
    try:
        if hasattr(batch, "numpy"):
            batch = batch.numpy()
        return zlib.crc32(batch.tobytes()[:_DIGEST_MOST]) if hasattr(batch, "tobytes") else hash(batch)
    except Exception:
        return None


# ---- The machine ---------------------------------------------------------------------------


def _busy():
    """Processor seconds of everybody, and of nobody."""
    try:
        with open("/proc/stat") as file:
            fields = [int(field) for field in file.readline().split()[1:9]]
    except (OSError, ValueError):
        return 0.0
    return sum(fields[place] for place in (0, 1, 2, 5, 6)) / os.sysconf("SC_CLK_TCK")


def _pss(pid):
    """Bytes of a process, with its part of what is shared."""
    try:
        with open("/proc/%d/smaps_rollup" % pid, "rb") as file:
            for line in file:
                if line.startswith(b"Pss:"):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return 0


def _descendants(pid):
    """The processes that come from a process, itself last."""
    found = []
    try:
        tasks = os.listdir("/proc/%d/task" % pid)
    except OSError:
        return found
    for task in tasks:
        try:
            with open("/proc/%d/task/%s/children" % (pid, task)) as file:
                for child in file.read().split():
                    found += _descendants(int(child))
        except (OSError, ValueError):
            continue
    return found + [pid]


# ---- Ends ----------------------------------------------------------------------------------


@contextlib.contextmanager
def _alarm(seconds):
    """Ends what takes too long in this thread, where that can be done without taking the signal from somebody."""
    free = (threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGALRM) in (signal.SIG_DFL, None)
            and signal.getitimer(signal.ITIMER_REAL)[0] == 0.0)

    def ring(_signal, _frame):
        raise TookTooLong()
    if not free:
        yield
        return
    signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)


def _unwatch(iterator):
    """torch raises an error wherever the program is when a worker dies; from now on none of them is missed."""
    handling = getattr(_loader.torch_data()._utils, "signal_handling", None)
    if getattr(iterator, "_worker_pids_set", False) and handling is not None:
        handling._remove_worker_pids(id(iterator))
        iterator._worker_pids_set = False


def _kill(workers):
    """Workers that do not come back, and what they have started."""
    for worker in workers:
        for pid in _descendants(worker.pid) if worker.is_alive() else []:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        worker.join(5)


def close(iterator, hung):
    """No worker is left, whatever it is doing."""
    workers = list(getattr(iterator, "_workers", ()))
    try:
        _unwatch(iterator)
        if hung:
            _kill(workers)
        if hasattr(iterator, "_shutdown_workers"):
            iterator._shutdown_workers()
    finally:
        if any(worker.is_alive() for worker in workers):
            _kill(workers)


# ---- The run -------------------------------------------------------------------------------


class _Room:
    """A folder for what workers write; in memory, if there is such a place."""

    def __enter__(self):
        place = "/dev/shm"
        free = shutil.disk_usage(place).free if os.path.isdir(place) and os.access(place, os.W_OK) else 0
        self.path = tempfile.mkdtemp(prefix="inferscope-", dir=place if free > 64 << 20 else None)
        return self.path

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)


def _made(settings, folder, timeout):
    """A loader with clocks in its workers, quiet about what the user has been told already."""
    settings = dict(settings)
    if settings["num_workers"]:
        settings.update(worker_init_fn=_probe.WorkerProbe(folder, settings.get("worker_init_fn")), persistent_workers=False)
        settings["timeout"] = min(timeout, settings.get("timeout") or timeout)
    with quiet():
        return _loader.torch_data().DataLoader(**settings)


def _started_as_programs(settings):
    import multiprocessing
    context = settings.get("multiprocessing_context")
    method = context if isinstance(context, str) else (context or multiprocessing).get_start_method()
    return method != "fork"


class _Loop:
    """Takes batches as a training loop does."""

    def __init__(self, run, limits, step, keep):
        self._run, self._limits, self._step, self._keep, self._receive = run, limits, step, keep, None
        self._lost, self._clock = False, None

    def go(self, loader, settings, clock_rows):
        run = self._run
        iterator = None
        run.begun = now()
        with quiet():
            try:
                with self._limit(_START_SECONDS):
                    iterator = iter(loader)
                self._prepare(iterator, settings, clock_rows)
                self._take(iterator)
            except KeyboardInterrupt:
                run.interrupted = True
            except TookTooLong:
                run.hung = True
            except Exception as error:
                self._failed(error)
            finally:
                if iterator is not None:
                    self._end(iterator)

    def _end(self, iterator):
        try:
            if self._lost:
                self._name_dead(iterator)
            self._memory(iterator)
        except Exception:  # the late word of a worker that has died
            pass
        finally:
            if self._clock is not None:
                self._clock.close()
            close(iterator, self._run.hung)

    def _name_dead(self, iterator):
        """The connection tells of the end of a worker before the system does, in words that nobody understands."""
        _unwatch(iterator)
        for worker in getattr(iterator, "_workers", ()):
            worker.join(0.2)
            if worker.exitcode:
                how = "by signal %d" % -worker.exitcode if worker.exitcode < 0 else "with status %d" % worker.exitcode
                self._run.error = "a worker has ended %s (%s)" % (how, self._run.error)
                return

    def _prepare(self, iterator, settings, clock_rows):
        if self._run.workers == 0:
            self._clock = iterator._dataset_fetcher = _probe.FetchClock(iterator._dataset_fetcher, clock_rows)
            return
        self._receive = _probe.ReceiveClock(iterator._worker_result_queue)
        self._timeout = iterator._timeout
        if _started_as_programs(settings):
            iterator._timeout = self._timeout + _START_SECONDS

    def _limit(self, more=0.0):
        return _alarm(self._limits.timeout + more) if self._run.workers == 0 else contextlib.nullcontext()

    def _take(self, iterator):
        run = self._run
        while not run.enough(self._limits):
            begin = now()
            try:
                with self._limit():
                    batch = next(iterator)
            except StopIteration:
                run.exhausted = True
                return
            got = now()
            if self._receive is not None:
                run.receives.append(self._receive.take())
                if run.count == 0:
                    iterator._timeout = self._timeout
            self._look(batch)
            if self._step is not None:
                stepped, cpu = now(), time.process_time_ns()
                self._step(batch)
                run.steps.append(now() - stepped)
                run.steps_cpu.append(time.process_time_ns() - cpu)
            run.waits.append(got - begin)
            run.arrivals.append(now())
            del batch

    def _look(self, batch):
        """Little, and only at few batches: it is in the time of the loop."""
        run = self._run
        if run.count < max(4, run.block):
            run.batch_bytes = max(run.batch_bytes, bytes_of(batch))
            if len(run.digests) < run.block and run.workers > 1:
                run.digests.append(_digest(batch))
        if len(run.sizes) <= run.count:
            run.sizes.append(_first_size(batch))
        if self._keep and len(run.kept) < self._keep[0] and run.kept_bytes + run.batch_bytes <= self._keep[1]:
            run.kept.append(batch)
            run.kept_bytes += run.batch_bytes

    def _failed(self, error):
        run = self._run
        text = str(error).strip()
        self._lost = isinstance(error, (OSError, EOFError)) or (isinstance(error, RuntimeError) and "DataLoader worker (pid" in text)
        if isinstance(error, RuntimeError) and "timed out after" in text:
            run.hung = True
            return
        lines = text.splitlines()
        if lines and "Original Traceback" in text:  # torch has put all of a worker's into it
            text = lines[-1].strip() + ", in a worker"
        else:
            text = "%s: %s" % (type(error).__name__, text)
        run.error = text

    def _memory(self, iterator):
        run = self._run
        workers = [worker.pid for worker in getattr(iterator, "_workers", ()) if worker.pid and worker.is_alive()]
        sizes = [_pss(pid) for pid in workers]
        run.worker_memory = max(sizes, default=0)
        run.memory = _pss(os.getpid()) + sum(sizes)


@contextlib.contextmanager
def quiet():
    """Advice of torch about the number of workers, and about memory that cannot be pinned, is for loaders that people make."""
    with warnings.catch_warnings():
        for text in ("This DataLoader will create", "'pin_memory' argument", "pin_memory_device"):
            warnings.filterwarnings("ignore", message=text)
        yield


def _hang_text(folder, run, timeout):
    found = [state for state in (_probe.doing_now(folder, worker) for worker in range(run.workers)) if state is not None]
    found = [state for state in found if state[0] != _probe.IDLE]
    if not found:
        return "no batch within %.1f s" % timeout
    what, index, seconds = max(found, key=lambda state: state[2])
    place = "the collate function" if what == _probe.COLLATE else "the dataset" if index is None else "dataset[%d]" % index
    return "no batch within %.1f s: a worker has been in %s for %.1f s" % (timeout, place, seconds)


def _read(run, folder):
    for worker in range(run.workers):
        for row in _probe.read_rows(folder, worker):
            if "names" in row:
                run.names = run.names or row["names"]
            else:
                run.rows.append(dict(row, worker=worker))


def measure(settings, limits, step=None, log=None, keep=None):
    """Runs a loader of these settings, on copies of samplers (_loader.apart).  Whatever happens, a Run comes back.

    log: its .sizes grow by what samplers give, in the order of batches
    keep: (batches, bytes) to have for later
    """
    run = Run(settings["num_workers"])
    if log is not None:
        run.sizes = log.sizes
    clock_rows = _probe.Kept()
    with _Room() as folder, _loader.states_kept(settings):
        machine, own, begin = _busy(), time.process_time(), now()
        try:
            loader = _made(settings, folder, limits.timeout)
        except Exception as error:
            run.error = "%s: %s" % (type(error).__name__, error)
            return run
        _Loop(run, limits, step, keep).go(loader, settings, clock_rows)
        seconds = max(now() - begin, 1) / 1e9
        main = time.process_time() - own
        _read(run, folder)
        if run.hung:
            run.error = _hang_text(folder, run, limits.timeout)
    run.rows += [dict(row, worker=0) for row in clock_rows.rows]
    workers = _workers_cpu(run) if run.workers else 0.0
    run.cpu = (main + workers) / seconds
    run.outside = max(0.0, (_busy() - machine) / seconds - run.cpu) if machine else None
    return run


def _workers_cpu(run):
    return sum(row["counters"][0] if "counters" in row else row["sent"] + row["piped"] for row in run.rows) / 1e9


def measure_outside(loader, limits, step=None):
    """Of what is not a DataLoader of torch: only how long its batches take."""
    run = Run(0)
    run.begun = now()
    loop = _Loop(run, limits, step, None)
    try:
        loop._take(iter(loader))
    except KeyboardInterrupt:
        run.interrupted = True
    except TookTooLong:
        run.hung, run.error = True, "no batch within %.1f s" % limits.timeout
    except Exception as error:
        loop._failed(error)
    return run


def replay(run, step):
    """Seconds of a step on batches that are there already: what the loop would take with free input."""
    times = []
    wanted = max(5, min(20, len(run.steps)))
    spare = now() + int(5e9)
    while run.kept and len(times) < wanted and (not times or now() < spare):
        for batch in run.kept:
            begin = now()
            step(batch)
            times.append((now() - begin) / 1e9)
            if len(times) >= wanted:
                break
    return times


def has_cuda():
    torch = sys.modules.get("torch")
    try:
        return torch is not None and torch.cuda.is_available()
    except Exception:
        return False
