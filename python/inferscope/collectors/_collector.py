"""What collectors have in common: states, starting and stopping, and handing events over."""

import enum
import logging
import threading

from inferscope._recording import is_enabled

log = logging.getLogger("inferscope")


class CollectorState(enum.Enum):
    UNINITIALIZED = "Uninitialized"
    IDLE = "Idle"
    COLLECTING = "Collecting"
    FINALIZED = "Finalized"


class Collector:
    """Collects between start() and stop() into `trace_buffer`, which needs no more than enqueue(event).

    A subclass says what it records (_begin) and which events are its own (_is_ours).
    """

    state = CollectorState.UNINITIALIZED

    def __init__(self, trace_buffer):
        if trace_buffer is None:
            raise ValueError("a collector needs a trace buffer to collect into, not None")
        if not callable(getattr(trace_buffer, "enqueue", None)):
            raise TypeError("a trace buffer has enqueue(event), which %s has not" % type(trace_buffer).__name__)
        self.trace_buffer = trace_buffer
        self._lock = threading.RLock()
        self._recording = None
        self._clear()
        self.state = CollectorState.IDLE

    def _clear(self):
        self._events = []
        self._captured = self._refused = self._errors = 0

    # ---- Starting and stopping ----

    def start(self):
        """Starts collecting; nothing happens when it is, or when INFERSCOPE_ENABLED is 0."""
        with self._lock:
            if self.state is CollectorState.COLLECTING or not is_enabled():
                return
            self._recording = None
            self._clear()
            self._recording = self._begin()
            self.state = CollectorState.COLLECTING

    def stop(self):
        """Stops, and puts the events into the buffer; nothing happens when it is not collecting.

        Whatever the buffer raises is logged and counted, and goes no further.
        """
        with self._lock:
            if self.state is not CollectorState.COLLECTING:
                return
            self._end()
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

    def _begin(self):
        raise NotImplementedError

    def _end(self):
        self._recording.stop()

    # ---- Events ----

    def _is_ours(self, event):
        raise NotImplementedError

    def _read(self):
        return [event for event in self._recording.events() if self._is_ours(event)]

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
