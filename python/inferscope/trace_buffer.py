"""TraceBuffer: events on their way from a collector to whoever wants them."""

import threading
import warnings
from collections import deque

from inferscope._words import counted

DEFAULT_SIZE = 1_000_000


class TraceBuffer:
    """The newest `size` events.

    When it is full the oldest goes for each that comes: `dropped` counts them,
    and the first time there is a warning.  All methods may be called from any
    thread.
    """

    def __init__(self, size=DEFAULT_SIZE):
        if isinstance(size, bool) or not isinstance(size, int):
            raise TypeError("size is a number of events, not %s" % type(size).__name__)
        if size <= 0:
            raise ValueError("size is a number of events, so at least 1, not %d" % size)
        self._lock = threading.Lock()
        self._events = deque(maxlen=size)
        self._dropped = 0
        self._warned = False

    @property
    def size(self):
        """How many events it holds at most."""
        return self._events.maxlen

    @property
    def dropped(self):
        """How many events have gone to make room for newer ones, since it was made or cleared."""
        return self._dropped

    def enqueue(self, event):
        """Takes an event, a dictionary; True, also when the oldest had to go for it."""
        if not isinstance(event, dict):
            raise TypeError("an event is a dictionary, not %s" % type(event).__name__)
        with self._lock:
            full = len(self._events) == self._events.maxlen
            self._events.append(event)
            self._dropped += full
            warn = full and not self._warned
            self._warned = self._warned or warn
        if warn:
            self._warn()
        return True

    def read_all(self):
        """All events, oldest first.  They stay."""
        with self._lock:
            return list(self._events)

    def clear(self):
        """Empties it, and starts counting again."""
        with self._lock:
            self._events.clear()
            self._dropped = 0
            self._warned = False

    def __len__(self):
        return len(self._events)

    def __repr__(self):
        return "<TraceBuffer: %d of %d events, %d dropped>" % (len(self), self.size, self._dropped)

    def _warn(self):
        import logging
        text = "the trace buffer is full at %s: the oldest go from now on; give it a larger size" % counted(self.size, "event")
        logging.getLogger("inferscope").warning(text)
        warnings.warn(text, RuntimeWarning, stacklevel=3)
