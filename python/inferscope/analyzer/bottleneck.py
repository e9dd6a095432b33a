"""BottleneckAnalyzer: what `inferscope analyze` says, as a dictionary."""

import json
import os
import tempfile

from inferscope import _engine


def _paths(trace):
    if isinstance(trace, (str, bytes, os.PathLike)):
        trace = [trace]
    return [os.fsencode(path) for path in trace]


class BottleneckAnalyzer:
    """Analyzes a trace, or a list of events.

    BottleneckAnalyzer(trace="trace.json.gz").analyze()["bottleneck"]
    BottleneckAnalyzer(profiler.get_unified_timeline()).analyze()["suggestions"]

    timeline: events as Profiler.get_unified_timeline() and TimelineMerger.merge() give them, dictionaries with
        event_type, name, start_us, end_us and so on.
    trace: the path of a trace of any format that `inferscope analyze` reads, or several, one for each rank.
    communication: patterns of device work that is communication besides the well-known kinds; "!PATTERN" is not.
    """

    def __init__(self, timeline=None, *, trace=None, communication=()):
        if (timeline is None) == (trace is None):
            raise TypeError("give a timeline or a trace")
        self._timeline = None if timeline is None else list(timeline)
        self._trace = trace
        self._communication = [pattern.encode() for pattern in communication]

    def analyze(self):
        """The analysis JSON, version 1, as a dictionary.  Raises inferscope.TraceError when nothing can be read."""
        if self._timeline is None:
            return _engine.analyze(_paths(self._trace), self._communication)
        with tempfile.NamedTemporaryFile("w", prefix="inferscope-", suffix=".json", encoding="utf-8") as file:
            json.dump(self._timeline, file, default=repr)
            file.flush()
            result = _engine.analyze(_paths(file.name), self._communication)
        result["trace"]["path"] = None
        return result
