"""CpuCollector: the calls, scopes and marks of this program's threads, as events in a trace buffer.

Each thread writes into a ring of its own, without locks, and the recorder reads
them; so the calls cost tens of nanoseconds, and their events come to the buffer
when the collection stops.  sys.setprofile() and sys.settrace() stay what they
are, and whoever uses them goes on being called.
"""

import enum
import logging
import threading

from inferscope._recording import Recording, is_enabled, pattern_list

log = logging.getLogger("inferscope")

# Of the kinds of events those that are a CPU's.
_KINDS = frozenset(["cpu_call", "cpu_syscall", "cpu_sample", "scope", "instant", "counter", "op", "memory_alloc", "memory_free"])


class CollectorState(enum.Enum):
    UNINITIALIZED = "Uninitialized"
    IDLE = "Idle"
    COLLECTING = "Collecting"
    FINALIZED = "Finalized"


class CpuCollector:
    """Collects between start() and stop() into `trace_buffer`, which needs no more than enqueue(event).

    c_calls: also functions written in C
    include, exclude: patterns of functions, a list or with commas between them
    """

    state = CollectorState.UNINITIALIZED

    def __init__(self, trace_buffer, *, c_calls=False, include=None, exclude=None):
        if trace_buffer is None:
            raise ValueError("a collector needs a trace buffer to collect into, not None")
        if not callable(getattr(trace_buffer, "enqueue", None)):
            raise TypeError("a trace buffer has enqueue(event), which %s has not" % type(trace_buffer).__name__)
        self.trace_buffer = trace_buffer
        self._options = {"c_calls": bool(c_calls), "ops": False, "include": pattern_list("include", include),
                         "exclude": pattern_list("exclude", exclude)}
        self._lock = threading.RLock()
        self._recording = None
        self._events = []
        self._clear_counts()
        self.state = CollectorState.IDLE

    def _clear_counts(self):
        self._captured = self._refused = self._errors = 0

    # ---- Starting and stopping ----

    def start(self):
        """Starts collecting; nothing happens when it is, or when INFERSCOPE_ENABLED is 0."""
        with self._lock:
            if self.state is CollectorState.COLLECTING or not is_enabled():
                return
            self._recording, self._events = None, []
            self._clear_counts()
            recording = Recording(options=self._options)
            recording.start()
            self._recording = recording
            self.state = CollectorState.COLLECTING

    def stop(self):
        """Stops, and puts the events into the buffer; nothing happens when it is not collecting.

        Whatever the buffer raises is logged and counted, and goes no further.
        """
        with self._lock:
            if self.state is not CollectorState.COLLECTING:
                return
            self._recording.stop()
            self.state = CollectorState.FINALIZED
            try:
                self._events = self._read()
            except Exception as error:
                self._count_error("the events of the collector cannot be read", error)
            self._hand_over()

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *exception):
        self.stop()

    def _read(self):
        return [event for event in self._recording.events() if event["event_type"] in _KINDS]

    def _hand_over(self):
        for event in self._events:
            try:
                taken = self.trace_buffer.enqueue(event)
            except Exception as error:
                self._count_error("the trace buffer does not take events", error)
            else:
                if taken is False:
                    self._refused += 1
                else:
                    self._captured += 1

    def _count_error(self, what, error):
        self._errors += 1
        if self._errors == 1:
            log.warning("%s: %s: %s", what, type(error).__name__, error)

    # ---- What was collected ----

    def get_thread_local_buffer(self):
        """The events of the calling thread, so far."""
        events = self._events
        if self.state is CollectorState.COLLECTING:
            events = self._read()
        thread = threading.get_native_id()
        return [event for event in events if event.get("thread_id") == thread]

    def get_stats(self):
        """Counts: events_captured, frames_skipped, events_lost, threads, errors, ..."""
        totals = self._recording.totals() if self._recording is not None else {}
        return {
            "state": self.state.value,
            "events_captured": self._captured,
            "events_refused": self._refused,
            "events_lost": totals.get("lost", 0),
            "frames_skipped": totals.get("skipped_calls", 0),
            "threads": len({event["thread_id"] for event in self._events if "thread_id" in event}) or totals.get("threads", 0),
            "errors": self._errors,
            "duration_us": self._recording.duration_ns // 1000 if self._recording is not None else 0,
        }
