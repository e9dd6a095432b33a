"""For tests of what uses collectors: a trace buffer that tells what it was given, and that fails as it is told to."""


class MockTraceBuffer:
    """A trace buffer without a limit, a lock or a warning.

    capacity: refuses (enqueue() is False) what comes when it holds so many events
    error: an exception that enqueue() raises, a class or an object

    `events` has what it took, `calls` counts enqueue(), `cleared` clear(), and `refused` has what it did not take.
    """

    def __init__(self, capacity=None, error=None):
        self.capacity = capacity
        self.error = error
        self.events = []
        self.refused = []
        self.calls = self.cleared = 0

    def enqueue(self, event):
        """True when it is taken."""
        self.calls += 1
        if self.error is not None:
            self.refused.append(event)
            raise self.error
        taken = self.capacity is None or len(self.events) < self.capacity
        (self.events if taken else self.refused).append(event)
        return taken

    def read_all(self):
        """All that it holds, oldest first.  They stay."""
        return list(self.events)

    def clear(self):
        """Empties it."""
        self.cleared += 1
        self.events = []

    def of_type(self, event_type):
        """Those of one event_type."""
        return [event for event in self.events if event["event_type"] == event_type]

    def __len__(self):
        return len(self.events)

    def __repr__(self):
        return "<MockTraceBuffer: %d events, %d refused>" % (len(self.events), len(self.refused))
