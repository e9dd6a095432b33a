"""LiveMonitor: a thread that watches its own program, and says what is alarming while there is time to act.

    with inferscope.LiveMonitor(interval=0.1) as monitor:
        monitor.on_alert(lambda alert: print(alert.text, alert.suggestions))
        monitor.add_custom_metric("queue", lambda: len(queue))
        monitor.add_custom_bottleneck_detector(lambda sample: sample["custom"].get("queue", 0) > 100, name="queue_long")
        train()
    monitor.alerts

An alert begins once, when its condition has held for a while, and ends once, when
that has clearly been gone for a while; both are told to callbacks, to the log and,
when the program is recorded, to the trace.

Functions of yours run in a second thread.  One that raises is reported once, and
called again; one that does not return is reported and left out, and whatever
waited behind it goes on.  Nothing is watched in a forked child.
"""

import atexit
import logging
import os
import queue
import threading
import time
import weakref
from collections import deque
from contextlib import contextmanager

import inferscope
from inferscope import plugins
from inferscope._live_alerts import Alert, Judge, LiveConfig
from inferscope._words import counted
from inferscope.bottlenecks import BottleneckType
from inferscope.trackers import CPUTracker, GPUTracker, IOTracker, MemoryTracker
from inferscope.trackers._tracker import GB, MB

__all__ = ["Alert", "LiveConfig", "LiveMonitor", "register_bottleneck_detector"]

log = logging.getLogger("inferscope")

WAITING_MOST = 1000   # calls of callbacks that wait for their turn
OPERATIONS_MOST = 256
SHARE_WINDOW = 10     # seconds over which the share of an operation is taken, in pieces of one
SHARE_LEAST = 3       # of them, before anything is said
JOIN = 2.0            # seconds for a thread to end


# ---- Functions of the user -----------------------------------------------------------------


class _Function:
    """One of theirs: a "metric", a "detector" or a "callback"."""

    def __init__(self, sort, function, name):
        self.sort, self.function, self.out = sort, function, False
        self.name = name or getattr(function, "__name__", type(function).__name__)


class _Worker:
    """A thread that calls them; what they give goes to done(function, tag, result, error)."""

    def __init__(self, jobs, done):
        self.jobs, self.done = jobs, done
        self.current = None  # (function, since when)
        self.abandoned = False
        self.thread = threading.Thread(target=self._run, name="inferscope-live-functions", daemon=True)
        self.thread.start()

    def _run(self):
        while not self.abandoned:
            job = self.jobs.get()
            if job is None:
                return
            function, tag, arguments = job
            if function.out:
                continue
            self.current = (function, time.monotonic())
            result = error = None
            try:
                result = function.function(*arguments)
            except BaseException as raised:  # also SystemExit: it is not theirs to end
                error = raised
            self.current = None
            if not self.abandoned:
                self.done(function, tag, result, error)

    @property
    def idle(self):
        return self.current is None and self.jobs.empty()


_everywhere = []  # detectors of all monitors


def register_bottleneck_detector(function, name=None):
    """For plugins: a detector that each LiveMonitor has which is started from now on."""
    if not callable(function):
        raise TypeError("a detector is a function, not %s" % type(function).__name__)
    _everywhere.append((function, name))


# ---- The monitor ----------------------------------------------------------------------------


class LiveMonitor:
    """Watches this program from a thread of its own between start() and stop().

    interval: seconds between samples.
    config: a LiveConfig, a dictionary of its fields, or any object that has some of them.
    """

    def __init__(self, interval=None, config=None):
        self.config = LiveConfig.of(config, interval)
        self._functions = []
        self._make_locks()
        self._reset()
        _monitors.add(self)

    def _make_locks(self):
        """Also in a forked child, where a thread that is not there may hold one."""
        self._lock, self._gate = threading.RLock(), threading.RLock()
        self._open = {}

    def _reset(self):
        """Nothing has been seen, and no thread is there."""
        self._stop = threading.Event()
        self._thread = self._worker = None
        self._jobs = queue.SimpleQueue()
        self._results = deque()
        self._judge = Judge(self.config, self._tell)
        self._history = deque(maxlen=self.config.history)
        self._custom, self._errors = {}, {}
        self._spent, self._shares = {}, deque(maxlen=SHARE_WINDOW + 1)
        self._samples = self._missed = 0
        self._cost_s = self._begin = 0.0

    # ---- What people add ----

    def _add(self, sort, function, name):
        if not callable(function):
            raise TypeError("a %s is a function, not %s" % (sort, type(function).__name__))
        made = _Function(sort, function, name)
        with self._lock:
            while any((made.sort, made.name) == (other.sort, other.name) for other in self._functions):
                made.name += "'"
            self._functions = [*self._functions, made]

    def add_custom_metric(self, name, function):
        """function() gives a number, which is in sample["custom"] under its name from the next sample on."""
        if not isinstance(name, str) or not name:
            raise ValueError("a metric has a name")
        self._add("metric", function, name)

    def add_custom_bottleneck_detector(self, function, name=None):
        """function(sample) gives None or False when all is well; else True, a text, or a dictionary that has some of name (one
        function may watch several things), text, severity (0 to 1), value, threshold, type, suggestions, hold and release; or a
        list of those.

        The first time that it says so an alert begins, unless `hold` asks for longer; it ends when it has not been said for
        `release` seconds.  The sample is a dictionary: time_s, memory_mb, memory_percent, cpu_percent, gpu_memory_percent, custom, ...
        """
        self._add("detector", function, name)

    def on_alert(self, callback):
        """callback(alert) is called when an alert begins, and again when it has ended (alert.active is False then)."""
        self._add("callback", callback, None)
        return callback

    @contextmanager
    def operation(self, name, type=BottleneckType.CPU_COMPUTATION):
        """What is inside is an operation of this type.  One that is no computation and takes more than its share of the time of a
        thread (bottleneck_threshold, over the last ten seconds) is alarming."""
        type, ident = BottleneckType(type), object()
        with self._lock:
            self._open[ident] = (name, type, time.monotonic())
        try:
            yield
        finally:
            with self._lock:
                _, _, begin = self._open.pop(ident, (None, None, time.monotonic()))
                if name in self._spent or len(self._spent) < OPERATIONS_MOST:
                    spent = self._spent.setdefault(name, [type, 0.0])
                    spent[1] += time.monotonic() - begin

    # ---- Starting and stopping ----

    def start(self):
        """Starts the thread; nothing happens when it runs.  What was seen before is forgotten."""
        with self._gate:
            if not self.running:
                plugins.load_plugins()
                self._reset()
                self._set_up()
                thread = threading.Thread(target=self._run, name="inferscope-live", daemon=True)
                thread.start()
                self._thread = thread

    def _set_up(self):
        known = {function.function for function in self._functions}
        for function, name in list(_everywhere):
            if function not in known:
                self._add("detector", function, name)
        for function in self._functions:
            function.out = False
        self._memory = MemoryTracker() if self.config.enable_memory_tracking else None
        self._cpu = CPUTracker() if self.config.enable_cpu_tracking else None
        self._io = IOTracker() if self.config.enable_io_tracking else None
        self._gpu = GPUTracker() if self.config.enable_gpu_tracking else None
        self._begin = time.monotonic()

    def stop(self):
        """Ends the thread; alerts that are active end with it.  Functions that are being called have two seconds for it."""
        self._stop.set()
        worker = self._worker
        inside = worker is not None and worker.thread is threading.current_thread()
        if not self._gate.acquire(blocking=not inside):
            return  # another thread stops it, and waits for this one
        try:
            thread, self._thread = self._thread, None
            if thread is not None:
                thread.join(JOIN)
                self._judge.end_all(time.monotonic() - self._begin)
                self._dismiss(inside)
        finally:
            self._gate.release()

    def _dismiss(self, inside):
        """The worker ends after what it has still to call, which is waited for, unless it is who stops."""
        worker, self._worker = self._worker, None
        if worker is None:
            return
        self._jobs.put(None)
        if not inside:
            worker.thread.join(JOIN)
            current, worker.abandoned = worker.current, True
            if current is not None:
                self._report(current[0].sort, current[0].name, "it had not returned when the monitor stopped", always=True)
            self._take_results(time.monotonic() - self._begin)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *exception):
        self.stop()

    @property
    def running(self):
        return self._thread is not None and self._thread.is_alive()

    # ---- What was seen ----

    @property
    def alerts(self):
        """All, in the order of their beginnings; those that have ended too."""
        return list(self._judge.alerts)

    @property
    def active_alerts(self):
        return [alert for alert in self.alerts if alert.active]

    @property
    def history(self):
        """The newest samples, oldest first."""
        return list(self._history)

    @property
    def errors(self):
        """What went wrong with functions: dictionaries with sort, name, error, count and time_s (of the first)."""
        return [dict(row) for row in list(self._errors.values())]

    def get_stats(self):
        """samples, missed (that would have been late), alerts, errors, duration_s, cost_s (processor time of the thread)."""
        return {"samples": self._samples, "missed": self._missed, "alerts": len(self._judge.alerts), "errors": len(self._errors),
                "duration_s": time.monotonic() - self._begin if self._begin else 0.0, "cost_s": self._cost_s}

    # ---- The thread ----

    def _run(self):
        due = time.monotonic()
        while not self._stop.is_set():
            try:
                self._tick()
            except Exception as error:
                self._report("monitor", "sampling", error)
            self._cost_s = time.thread_time()
            due += self.config.sampling_interval
            late = time.monotonic() - due
            if late > 0:
                missed = int(late / self.config.sampling_interval) + 1
                self._missed += missed
                due += missed * self.config.sampling_interval
            self._stop.wait(max(0.0, due - time.monotonic()))

    def _tick(self):
        sample = self._sample()
        self._history.append(sample)
        self._samples += 1
        self._judge.judge(sample)
        self._judge_operations(sample["time_s"])
        self._watch_worker()
        self._take_results(sample["time_s"])
        self._ask_functions(sample)

    def _sample(self):
        sample = {"timestamp": time.time(), "time_s": time.monotonic() - self._begin}
        if self._memory is not None:
            system = self._memory._system()
            total, available = system["total_bytes"], system["available_bytes"]
            process = self._memory._ask("process", False, True) or {}
            sample.update(memory_mb=process.get("rss_bytes", 0) / MB, memory_available_mb=available / MB, memory_total_gb=total / GB,
                          memory_percent=100.0 * (total - available) / total if total else 0.0)
            if "held_bytes" in process:
                sample["memory_held_mb"] = process["held_bytes"] / MB
        if self._cpu is not None:
            sample["cpu_percent"] = self._cpu.get_current_usage()
        if self._io is not None:
            io = self._io.get_current_stats()
            sample.update({key: io[key] for key in ("read_mb_per_s", "write_mb_per_s", "pressure_percent")})
        if self._gpu is not None:
            gpu = self._gpu.get_current_stats()
            sample.update(gpu_source=gpu["source"], gpu_device=gpu["device"], gpu_memory_mb=gpu["memory_mb"],
                          gpu_memory_percent=max(gpu["memory_used_percent"], gpu.get("device_used_percent") or 0.0),
                          gpu_process_mb=gpu.get("process_mb"), gpu_percent=gpu.get("utilization_percent"))
        sample["custom"] = dict(self._custom)
        return sample

    # ---- Operations ----

    def _seconds_of_operations(self):
        """{name: (type, seconds so far)}, with those that have not ended."""
        now = time.monotonic()
        with self._lock:
            sums = {name: (type, seconds) for name, (type, seconds) in self._spent.items()}
            for name, type, begin in self._open.values():
                sums[name] = (type, sums.get(name, (type, 0.0))[1] + now - begin)
        return sums

    def _judge_operations(self, now):
        if not self._spent and not self._open or self._shares and now - self._shares[-1][0] < 1.0:
            return
        sums = self._seconds_of_operations()
        self._shares.append((now, {name: seconds for name, (_, seconds) in sums.items()}))
        then, before = self._shares[0]
        if now - then < SHARE_LEAST:
            return
        limit = self.config.bottleneck_threshold
        for name, (type, seconds) in sums.items():
            share = (seconds - before.get(name, 0.0)) / (now - then)
            if type is not BottleneckType.CPU_COMPUTATION:
                self._judge.above(now, type.value, share, limit, name, severity=min(1.0, share), type=type,
                                  text="%s takes %.0f %% of the time" % (name, 100 * share))

    # ---- Functions ----

    def _watch_worker(self):
        worker = self._worker
        current = worker.current if worker is not None else None
        if current is None or time.monotonic() - current[1] < self.config.function_timeout:
            return
        function = current[0]
        worker.abandoned = function.out = True
        self._report(function.sort, function.name, "it did not return within %g s, and is left out from now on"
                     % self.config.function_timeout, always=True)
        self._worker = _Worker(self._jobs, self._done)

    def _done(self, *row):
        self._results.append(row)

    def _start_worker(self):
        if self._worker is None and not self._stop.is_set():
            self._worker = _Worker(self._jobs, self._done)
        return self._worker

    def _ask_functions(self, sample):
        """All of them, unless they have not finished with a sample before."""
        wanted = [function for function in self._functions if function.sort != "callback" and not function.out]
        if not wanted or not (self._worker is None or self._worker.idle) or self._start_worker() is None:
            return
        for function in sorted(wanted, key=lambda one: one.sort != "metric"):
            self._jobs.put((function, sample["time_s"], () if function.sort == "metric" else (sample,)))

    def _take_results(self, now):
        while self._results:
            function, _, result, error = self._results.popleft()
            try:
                if error is None and not self._stop.is_set():  # nothing begins after the end
                    self._take(function, result, now)
            except Exception as raised:
                error = raised
            if error is not None:
                self._report(function.sort, function.name, error)
                if function.sort == "detector" and not self._stop.is_set():
                    self._take_findings(function, [], now)

    def _take(self, function, result, now):
        if function.sort == "metric":
            if isinstance(result, bool) or not isinstance(result, (int, float)):
                raise TypeError("a metric gives a number, and this one gave %s" % type(result).__name__)
            self._custom[function.name] = result
            inferscope.counter(function.name, result)
        elif function.sort == "detector":
            self._take_findings(function, _findings(result), now)

    def _take_findings(self, function, found, now):
        subjects = set()
        for about in found:
            subject = str(about.get("name", ""))[:200]
            subjects.add(subject)
            self._judge.set(now, function.name, True, subject, owner=function, **_about(function.name, about))
        for owner, kind, subject in list(self._judge.conditions):
            if owner is function and subject not in subjects:
                self._judge.set(now, kind, False, subject, owner=function)

    def _report(self, sort, name, error, always=False):
        """In the log the first time, and counted."""
        text = error if isinstance(error, str) else "%s: %s" % (type(error).__name__, error)
        row = self._errors.setdefault((sort, name), {"sort": sort, "name": name, "error": text, "count": 0,
                                                     "time_s": time.monotonic() - self._begin})
        row["count"] += 1
        if always or row["count"] == 1:
            row["error"] = text
            log.warning("the %s %r failed: %s", sort, name, text)

    # ---- Telling ----

    def _tell(self, alert):
        state = "begins" if alert.active else "ends"
        log.log(logging.WARNING if alert.active else logging.INFO, "alert %d %s: %s", alert.number, state, alert.text)
        inferscope.mark_event("alert: " + alert.kind, {
            "state": state, "kind": alert.kind, "subject": alert.subject, "severity": alert.severity, "value": alert.value,
            "threshold": alert.threshold, "text": alert.text, "advice": _first(alert.suggestions)})
        if self._jobs.qsize() < WAITING_MOST:
            for function in self._functions:
                if function.sort == "callback" and not function.out and self._start_worker() is not None:
                    self._jobs.put((function, None, (alert._copy(),)))

    def __repr__(self):
        return "<LiveMonitor: %s, %s, %s>" % ("running" if self.running else "not running", counted(self._samples, "sample"),
                                               counted(len(self._judge.alerts), "alert"))


def _first(suggestions):
    """Of what a detector gave for them, which may be anything."""
    if isinstance(suggestions, (list, tuple)):
        suggestions = suggestions[0] if suggestions else ""
    return str(suggestions or "")[:500]


def _about(name, found):
    """What a detector has found, as alerts have it."""
    type = found.get("type", name if name in BottleneckType else None)
    return {"type": None if type is None else BottleneckType(type), "severity": min(1.0, max(0.0, float(found.get("severity", 0.5)))),
            "value": found.get("value"), "threshold": found.get("threshold"), "text": str(found.get("text") or name)[:500],
            "suggestions": found.get("suggestions"), "hold": float(found.get("hold", 0.0)), "release": found.get("release")}


def _findings(result):
    """What a detector gave, as a list of dictionaries."""
    if result is None or result is False:
        return []
    if result is True:
        return [{}]
    if isinstance(result, str):
        return [{"text": result}]
    if isinstance(result, BottleneckType):
        return [{"type": result, "text": result.description}]
    if isinstance(result, dict):
        return [result]
    if isinstance(result, (list, tuple)):
        return [row for one in result for row in _findings(one)]
    raise TypeError("a detector gives None, True, a text, a dictionary or a list of those, and this one gave %s" % type(result).__name__)


# ---- The end of the program, and forks -------------------------------------------------------

_monitors = weakref.WeakSet()


def _at_exit():
    for monitor in list(_monitors):
        monitor.stop()


def _after_fork():
    """Threads are not there in the child, and locks may be held by them."""
    for monitor in list(_monitors):
        monitor._make_locks()
        monitor._reset()


atexit.register(_at_exit)
os.register_at_fork(after_in_child=_after_fork)
