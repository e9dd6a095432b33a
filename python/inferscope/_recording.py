"""Recording: what a Profiler or a collector holds while it records.

A process records into one session at a time.  The first who starts makes it,
and starts the recorder; others who start meanwhile share it, as does everybody
in a program that `inferscope run` records already and in a forked child.  What
is theirs of a shared recording is the time between two marks.

Nothing here raises once the recording has begun.
"""

import atexit
import itertools
import os
import sys
import threading
import time
import warnings
import weakref

from inferscope import _gpu_doors
from inferscope._recorder import Recorder, RecordingError, python_version

MARK_START, MARK_STOP, MARK_READ = "profiler start", "profiler stop", "profiler read"
MARGIN_NS = 100_000_000  # clocks are fitted; the marks are exact
WAIT = 1.0               # seconds for what has happened to be in the file: it takes 0.3

_lock = threading.RLock()
_session = None    # the one that this process has made
_inherited = None  # in a forked child, its parent's
_numbers = itertools.count(1)


def is_enabled():
    """Unless INFERSCOPE_ENABLED says 0."""
    return os.environ.get("INFERSCOPE_ENABLED") != "0"


def pattern_list(name, patterns):
    """Patterns of functions as the extension takes them: with commas between them; None: none."""
    if patterns is None or isinstance(patterns, str):
        return patterns or None
    patterns = list(patterns)
    if not all(isinstance(pattern, str) for pattern in patterns):
        raise TypeError("%s is a string or a list of strings" % name)
    return ",".join(patterns) or None


def find_tracer():
    """The extension; RecordingError when there is none."""
    try:
        from inferscope import _tracer
    except ImportError as error:
        if sys.version_info < (3, 9):
            raise RecordingError("inferscope records Python 3.9 and later, and this is %s" % python_version()) from None
        raise RecordingError("inferscope cannot record Python %s: %s; 'make' builds an extension for each Python it finds, "
                             "'pip install' into this one brings it" % (python_version(), error)) from None
    return _tracer


def find_engine():
    """The reader of traces."""
    try:
        from inferscope import _engine
    except ImportError as error:
        raise RecordingError("inferscope cannot read traces in this Python: %s" % error) from None
    return _engine


# ---- Sessions ------------------------------------------------------------------------


class _Place:
    """Where the trace of a session is: under `trace` once it is whole, until then under `partial`."""

    def __init__(self, folder):
        with open(os.path.join(folder, "recording"), "rb") as file:
            trace, partial = file.read().split(b"\0")[:2]
        self.trace, self.partial = os.fsdecode(trace), os.fsdecode(partial)

    def segments(self):
        """The files to read, oldest first; a bounded recording has several.  Calls nothing that would be recorded."""
        folder, _, name = self.partial.rpartition("/")
        try:
            entries = os.listdir(folder or "/")
        except OSError:
            entries = []
        found = {entry[len(name) + 1:]: entry for entry in entries if entry.startswith(name)}
        numbers = sorted(int(number or 0) for number in found if not number or number.isdigit())
        return [folder + "/" + found[str(number) if number else ""] for number in numbers] or [self.trace]


class _Session:
    """A recording of this process's own, by a recorder of its own."""

    def __init__(self, tracer, trace, arguments, options, gpu):
        self.tracer, self.users, self.totals, self.doors = tracer, 0, None, {}
        self.pid = os.getpid()
        self.trace = os.path.abspath(trace) if trace else self._temporary().replace("{", "{{").replace("}", "}}")
        self.recorder = Recorder(["--trace", self.trace] + arguments)
        try:
            self._enter(options, gpu)
        except BaseException as error:
            self.close_doors()
            tracer.leave()
            self.recorder.stop()
            if isinstance(error, Exception):
                raise RecordingError("recording cannot start: %s" % error) from error
            raise

    def _enter(self, options, gpu):
        self.place = _Place(self.recorder.session)
        self.trace = self.place.trace  # with {rank} and the like filled in
        self.tracer.link(self.recorder.runtime)
        self.tracer.flush()  # what GPUs have done until now is not ours
        self.tracer.join(self.recorder.session)
        self.tracer.flush()  # doors that rested since the last recording are awake now
        self.calls = options.get("calls", True)
        if gpu:
            self.open_doors()  # before calls are recorded, ours among them
        self.tracer.start(**options)

    def widen(self, options, gpu):
        """Somebody has come who wants more than whoever was first."""
        if gpu:
            self.open_doors()
        if options.get("calls", True) and not self.calls:
            self.calls = True
            self.tracer.start(**options)

    def open_doors(self):
        if not self.doors:
            self.doors = _gpu_doors.open_doors(self.recorder.runtime)

    def close_doors(self):
        if self.doors:
            _gpu_doors.close_doors()

    def _temporary(self):
        import tempfile
        folder = tempfile.mkdtemp(prefix="inferscope.")
        self.remove = weakref.finalize(self, _remove, folder, self.pid)
        return os.path.join(folder, "trace.sbt")

    def close(self):
        self.tracer.stop()
        self.tracer.flush()
        self.tracer.leave()
        self.close_doors()
        self.totals = self.recorder.stop()
        if self.totals is None:
            self._mourn()
        elif os.path.exists(self.totals.get("trace", "")):
            self.trace = self.totals["trace"]  # another one where others recorded into the same file meanwhile

    def _mourn(self):
        if self.recorder.recover(self.trace):
            text = "the recorder ended before its time; what it had left became the trace, newer events may be missing"
        else:
            text = ("the recorder ended before its time; 'inferscope recover %s' makes a trace of what it left"
                    % self.recorder.session)
        self.totals = {"notes": [text]}
        warnings.warn(text, RuntimeWarning, stacklevel=4)


def _remove(folder, pid):
    """A temporary trace goes with the last who can read it, but not with a forked child."""
    if os.getpid() != pid:
        return
    try:
        for entry in os.listdir(folder):
            os.unlink(folder + "/" + entry)
        os.rmdir(folder)
    except OSError:
        pass


def _after_fork():
    """The child is recorded, by its parent's recorder."""
    global _lock, _session, _inherited
    _lock = threading.RLock()
    if _session is not None:
        _session.recorder.forget()
        _inherited, _session = _session.place, None


def _at_exit():
    with _lock:
        if _session is not None and _session.pid == os.getpid():
            _close_session()


def _close_session():
    global _session
    session, _session = _session, None
    session.close()


os.register_at_fork(after_in_child=_after_fork)
atexit.register(_at_exit)


def _outer_place():
    """Of a recording that is not ours; None when it cannot be found."""
    folder = os.environ.get("INFERSCOPE_SESSION", "")
    for make in (lambda: _inherited, lambda: _Place(folder)):
        try:
            place = make()
        except (OSError, ValueError):
            continue
        if place is not None:
            return place
    return None


# ---- A part of one --------------------------------------------------------------------


class Recording:
    """One start and one stop.

    trace: where the trace is kept; None: in a temporary file
    arguments: further ones for `inferscope record`
    options: for the extension's start()
    gpu: also what GPUs do, as far as they have not been used before
    """

    def __init__(self, trace=None, arguments=(), options=None, gpu=False):
        self._trace, self._arguments, self._options = trace, list(arguments), dict(options or {})
        self._gpu = gpu
        self._id = "%d.%d" % (os.getpid(), next(_numbers))
        self._session = self._place = None
        self._marked_start = self._marked_stop = False
        self._from_raw = self._to_raw = None
        self._before = self._after = None
        self._pid = None
        self.running = False
        self.duration_ns = 0

    def start(self):
        """RecordingError when it cannot."""
        self._tracer = find_tracer()
        with _lock:
            self._join()
        self._pid = os.getpid()
        self._from_raw = _raw_ns()
        self._before = self._tracer.stats()
        self.running = True

    def _join(self):
        global _session
        if _session is None and not self._tracer.joined():
            _session = _Session(self._tracer, self._trace, self._arguments, self._options, self._gpu)
        elif _session is None or _session.users:
            if _session:
                _session.widen(self._options, self._gpu)
            self._marked_start = True
            self._mark(MARK_START)
        self._session = _session
        self._place = _session.place if _session else _outer_place()
        if _session:
            _session.users += 1

    def stop(self):
        """Nothing happens to the recording of a parent when its forked child calls this: only the child is left out of it."""
        if not self.running:
            return
        self.running = False
        if os.getpid() != self._pid:
            self._tracer.stop()
            self._tracer.leave()
            return
        self._to_raw = _raw_ns()
        self.duration_ns = self._to_raw - self._from_raw
        if self._gpu:
            self._tracer.flush()
        self._after = self._tracer.stats()
        with _lock:
            self._part()

    def _part(self):
        mine = self._session is not None and self._session is _session
        if mine:
            _session.users -= 1
        if mine and _session.users == 0:
            if self._marked_start:
                self._mark_stop()
            _close_session()
        elif mine or self._session is None:
            self._mark_stop()

    def _mark_stop(self):
        self._marked_stop = True
        self._mark(MARK_STOP)

    def _mark(self, name):
        self._tracer.mark_event(name, {"profiler": self._id})

    # ---- What was recorded ----

    @property
    def trace(self):
        """The path of the trace: of what there is of it, while it is growing."""
        if self._place is None:
            return None
        if self._session is None or self._session.totals is None:
            return self._place.segments()[-1]
        return self._session.trace

    @property
    def is_shared(self):
        """True when others record into the same trace, or have."""
        return self._marked_start or self._marked_stop

    @property
    def doors(self):
        """How the doors of GPUs are, by their name."""
        if self._session is not None:
            return dict(self._session.doors)
        return _gpu_doors.look(os.environ.get("INFERSCOPE_RUNTIME", ""))

    def devices(self):
        """The devices that the trace has work of: dictionaries with device_id, kind and name."""
        engine, found = find_engine(), []
        for path in self._place.segments() if self._grows() else [self._session.trace]:
            try:
                found += [device for device in engine.outline(path)["devices"] if device not in found]
            except engine.TraceError:
                continue
        return found

    def totals(self):
        """Counts, as the recorder tells them; of a shared recording, as this process knows them."""
        if self._session is not None and self._session.totals is not None and not self.is_shared:
            return dict(self._session.totals)
        before, after = self._before or {}, self._after if self._after is not None else self._current()
        return {key: value if key == "threads" else value - before.get(key, 0) for key, value in after.items()}

    def _current(self):
        return self._tracer.stats() if self.running else {}

    def events(self):
        """A list of dictionaries, in the order of their start."""
        if self._place is None:
            return []
        if not self.running and not self.is_shared:
            return self._cut(find_engine().read_events(self.trace), None, None)
        if self.running and self._gpu:
            self._tracer.flush()
        name, identity = (MARK_READ, self._mark_read()) if self.running else (MARK_STOP, self._id)
        events = self._wait(name, identity, self._to_raw)
        if self._gpu and self._grows() and self.devices():
            # Work of GPUs comes through the rings of other threads, which may have been read after the mark; by the next
            # mark that is read, they have been.
            events = self._wait(MARK_READ, self._mark_read(), None)
        return self._cut(events, _find(events, MARK_START, self._id), _find(events, name, identity))

    def _mark_read(self):
        identity = "%s.%d" % (self._id, next(_numbers))
        self._tracer.mark_event(MARK_READ, {"profiler": identity})
        return identity

    def _wait(self, name, identity, to_raw):
        """What there is once that mark is in the file."""
        deadline = time.monotonic() + WAIT
        while True:
            events = self._read(to_raw)
            if _find(events, name, identity) or time.monotonic() > deadline or not self._grows():
                return events
            time.sleep(0.02)

    def _grows(self):
        return self._session is None or self._session.totals is None

    def _read(self, to_raw):
        """Of all there is, what can belong to it: until then, or until now."""
        engine, events = find_engine(), []
        to_raw = _raw_ns() if to_raw is None else to_raw
        for path in self._place.segments() if self._grows() else [self._session.trace]:
            try:
                outline = engine.outline(path)
                first = outline["start_raw_ns"] + MARGIN_NS
                found = engine.read_events(path, self._from_raw - first, to_raw - first + 2 * MARGIN_NS)
            except engine.TraceError:
                continue  # the recorder has just made it, or removed it
            if self._session is None:
                family = _family(outline["processes"], self._pid)
                found = [event for event in found if event.get("process_id") in family or event.get("track") == "host"]
            events += found
        return events

    def _cut(self, events, first, last):
        start = first["start_ns"] if first else None
        stop = last["start_ns"] if last else None
        kept = []
        for event in events:
            if (start is not None and event["end_ns"] < start) or (stop is not None and event["start_ns"] > stop):
                continue
            if event["name"] == MARK_READ or (event["name"] in (MARK_START, MARK_STOP) and _identity(event) == self._id):
                continue
            event.pop("enclosing", None)
            if start is not None and event["start_ns"] < start:
                event["enclosing"] = True
            if stop is not None and event["end_ns"] > stop and "device_id" not in event:
                event.update(end_ns=stop, end_us=stop // 1000, unfinished=True)
            kept.append(event)
        return kept


def _raw_ns():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)


def _identity(event):
    metadata = event.get("metadata")
    return metadata.get("profiler") if isinstance(metadata, dict) else None


def _find(events, name, identity):
    for event in reversed(events):
        if event["name"] == name and _identity(event) == identity:
            return event
    return None


def _family(processes, pid):
    """The process and all that it has forked."""
    family = {pid}
    for process in processes:  # parents come first
        if process["parent_process_id"] in family:
            family.add(process["process_id"])
    return family
