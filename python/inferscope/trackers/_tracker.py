"""What trackers have in common: a meter, rates between two calls, and sessions."""

import errno
import os
import threading
import time

from inferscope import _engine

MB, GB = 1024 ** 2, 1024 ** 3
SESSION_MOST = 10_000  # rows of a session; beyond, every other one goes


def in_mb(counted):
    return None if counted is None else counted / MB


class Session:
    """Figures of the rows of a session, exact also for those that are no longer kept."""

    def __init__(self):
        self.begin, self.end, self.samples, self.stride = time.monotonic(), None, 0, 1
        self.sums = {}

    def add(self, row):
        self.samples += 1
        for key, value in row.items():
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                first, _, low, high, total, count = self.sums.get(key, (value, value, value, value, 0.0, 0))
                self.sums[key] = (first, value, min(low, value), max(high, value), total + value, count + 1)

    def figures(self):
        end = time.monotonic() if self.end is None else self.end
        figures = {"samples": self.samples, "duration_s": end - self.begin}
        for key, (first, last, low, high, total, count) in self.sums.items():
            if key != "timestamp":
                figures[key] = {"first": first, "last": last, "min": low, "max": high, "mean": total / count}
        return figures


class Tracker:
    """What all trackers have: a meter, rates between two calls, and a session."""

    _PARTS = {}

    def __init__(self, pid=None, *, _root=""):
        if pid is not None and (isinstance(pid, bool) or not isinstance(pid, int)):
            raise TypeError("pid is the number of a process, not %s" % type(pid).__name__)
        self.start_time = None
        self.session_stats = []
        self._given, self._root, self._birth = pid, _root, None
        self._session = None
        self._meter = None
        self._begin()
        if self._meter is None:
            raise ProcessLookupError(errno.ESRCH, "there is no process %s" % pid)

    @property
    def pid(self):
        """Of which process it is."""
        self._guard()
        return self._here if self._given is None else self._given

    # ---- The meter ----

    def _begin(self):
        """Also in a forked child, where a lock may be held by a thread that is not there."""
        self._here, self._lock, self._before = os.getpid(), threading.Lock(), {}
        self._open()
        self._first()

    def _first(self):
        """Where rates begin."""

    def _guard(self):
        """The lock of this process."""
        if self._here != os.getpid():
            self._begin()
        return self._lock

    def _open(self):
        self._meter = None
        try:
            meter = _engine.Meter(self.pid, root=self._root, **self._PARTS)
            birth = meter.process(False, False)["birth"]
        except ProcessLookupError:
            return
        if self._given is None or self._birth in (None, birth):
            self._meter, self._birth = meter, birth

    def _ask(self, question, *arguments):
        """What a method of the meter says; None when the process has ended."""
        self._guard()
        try:
            return getattr(self._meter, question)(*arguments) if self._meter is not None else None
        except ProcessLookupError:
            self._meter = None
        except OSError as error:
            if error.errno != errno.EBADF:
                raise
            self._open()  # the program has closed what it did not open
            return getattr(self._meter, question)(*arguments) if self._meter is not None else None
        return None

    def _since(self, name, now, values):
        """Seconds since the last call, and by how much each value has grown; {} the first time."""
        with self._guard():
            time_before, before = self._before.get(name, (now, {}))
            self._before[name] = (now, values)
        grown = {key: max(0, value - before[key]) for key, value in values.items() if key in before}
        return max(now - time_before, 0.0), grown

    @staticmethod
    def _rate(grown, key, seconds, unit=1.0):
        return grown.get(key, 0) / unit / seconds if seconds > 0 else 0.0

    # ---- Sessions ----

    def start_tracking(self):
        """Begins a session: from now on each get_current_stats() adds a row to `session_stats`."""
        with self._guard():
            self.start_time, self.session_stats, self._session = time.time(), [], Session()

    def stop_tracking(self):
        """Ends it, and gives its figures; its rows stay until the next one."""
        with self._guard():
            if self._session is not None and self._session.end is None:
                self._session.end = time.monotonic()
            self.start_time = None
        return self.get_session_stats()

    start_session, stop_session = start_tracking, stop_tracking

    def get_session_stats(self):
        """samples, duration_s, and for each figure of the rows first, last, min, max and mean; {} before the first session."""
        with self._guard():
            return {} if self._session is None else self._session.figures()

    def _record(self, **row):
        if not self.start_time:
            return
        with self._guard():
            session = self._session
            row = {"timestamp": time.monotonic() - session.begin, **row}
            session.add(row)
            if session.samples % session.stride == 0:
                self.session_stats.append(row)
            if len(self.session_stats) >= SESSION_MOST:
                del self.session_stats[::2]
                session.stride *= 2

    def get_current_stats(self):
        raise NotImplementedError

    def __repr__(self):
        return "<%s: process %d%s>" % (type(self).__name__, self.pid, "" if self._meter is not None else ", ended")
