"""MemoryCollector: how much memory this program has, as events in a trace buffer.

The recorder reads it from outside, with everything else that it sees of a process, and writes what has changed: `counter`
events by the names that docs/sbt-format.md has (rss_bytes, held_bytes, swap_bytes, minor_faults, ...).  Nothing in the
program is touched for it.  Which line asked for memory is not known: there are no memory_alloc events of the host.
"""

from inferscope._recording import Recording
from inferscope.collectors._collector import Collector
from inferscope.trackers import MemoryTracker

# Of a process; those of a NUMA node have its number.
COUNTERS = frozenset(["rss_bytes", "held_bytes", "shared_bytes", "swap_bytes", "pss_bytes", "minor_faults", "major_faults"])


class MemoryCollector(Collector):
    """Collects between start() and stop() into `trace_buffer`, which needs no more than enqueue(event).

    Events have event_type (counter), name, value (bytes, or faults since the process began), start_us, end_us and process_id:
    also those of processes that are forked meanwhile.
    """

    def _begin(self):
        recording = Recording(arguments=["--waits", "on"], options={"calls": False, "ops": False})
        recording.start()
        return recording

    def _is_ours(self, event):
        name = event["name"]
        return event["event_type"] == "counter" and "thread_id" not in event and "track" not in event and "device_id" not in event \
            and (name in COUNTERS or name.startswith("numa_node"))

    def get_stats(self):
        """Counts of events; `counters`: for each process_id and counter first, last, min, max and samples; `current`: what a
        MemoryTracker says now."""
        return {
            "state": self.state.value,
            "events_captured": self._captured,
            "events_refused": self._refused,
            "errors": self._errors,
            "duration_us": self._recording.duration_ns // 1000 if self._recording is not None else 0,
            "counters": _figures(self._events),
            "current": MemoryTracker().get_current_stats(),
        }


def _figures(events):
    figures = {}
    for event in events:
        value, counters = event["value"], figures.setdefault(event["process_id"], {})
        one = counters.setdefault(event["name"], {"first": value, "last": value, "min": value, "max": value, "samples": 0})
        one.update(last=value, min=min(one["min"], value), max=max(one["max"], value), samples=one["samples"] + 1)
    return figures
