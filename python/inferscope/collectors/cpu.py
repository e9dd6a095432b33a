"""CpuCollector: what this program's threads do, as events in a trace buffer.

Calls, scopes, marks, counters and PyTorch's operators; and what the recorder sees
of the threads and of the machine from outside ("track" says "states" or "host"),
by which an analysis tells work from waiting.

Each thread writes into a ring of its own, without locks, and the recorder reads
them; so the calls cost tens of nanoseconds, and their events come to the buffer
when the collection stops.  sys.setprofile() and sys.settrace() stay what they
are, and whoever uses them goes on being called.
"""

import threading

from inferscope._recording import Recording, pattern_list
from inferscope.collectors._collector import Collector, CollectorState

# Of the kinds of events those that are a CPU's, and what was lost of them: an analysis has to know.
_KINDS = frozenset(["cpu_call", "cpu_syscall", "cpu_sample", "scope", "instant", "counter", "op", "lost"])


class CpuCollector(Collector):
    """Collects between start() and stop() into `trace_buffer`, which needs no more than enqueue(event).

    c_calls: also functions written in C
    include, exclude: patterns of functions, a list or with commas between them
    """

    def __init__(self, trace_buffer, *, c_calls=False, include=None, exclude=None):
        super().__init__(trace_buffer)
        self._options = {"c_calls": bool(c_calls), "ops": True, "include": pattern_list("include", include),
                         "exclude": pattern_list("exclude", exclude)}

    def _begin(self):
        recording = Recording(options=self._options)
        recording.start()
        return recording

    def _is_ours(self, event):
        return event["event_type"] in _KINDS and "device_id" not in event

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
