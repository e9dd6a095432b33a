"""BottleneckAnalyzer: what `inferscope analyze` says, as a dictionary."""

import contextlib
import json
import os

from inferscope import _engine


def _paths(trace):
    if isinstance(trace, (str, bytes, os.PathLike)):
        trace = [trace]
    return [os.fsencode(path) for path in trace]


def _exact(event):
    """Whole microseconds would be nothing for a short kernel; where nanoseconds are known, they count."""
    if not isinstance(event, dict):
        return event
    times = {name + "_us": event[name + "_ns"] / 1000 for name in ("start", "end") if isinstance(event.get(name + "_ns"), int)}
    return {**event, **times}


def _of_one_process(events):
    """Events of threads that say nothing of processes or devices are of one program, whose main thread an analysis looks for."""
    if any("process_id" in event or "device_id" in event for event in events if isinstance(event, dict)):
        return events
    return [{**event, "process_id": 0} if isinstance(event, dict) else event for event in events]


def shipped_file(*name):
    """A file that comes with us: in a wheel in the package, else in share/ of where that was built or installed; "": nowhere."""
    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    if os.path.isfile(os.path.join(folder, *name)):
        return os.path.join(folder, *name)
    while folder != os.path.dirname(folder):
        folder = os.path.dirname(folder)
        path = os.path.join(folder, "share", "inferscope", *name)
        if os.path.isfile(path):
            return path
    return ""


def shipped_rules():
    """The file of rules that comes with us."""
    return shipped_file("rules.yaml")


class BottleneckAnalyzer:
    """Analyzes a trace, or a list of events.

    BottleneckAnalyzer(trace="trace.json.gz").analyze()["bottleneck"]
    BottleneckAnalyzer(profiler.get_unified_timeline()).analyze()["suggestions"]

    timeline: events as Profiler.get_unified_timeline() and TimelineMerger.merge() give them, dictionaries with
        event_type, name, start_us, end_us and so on.
    trace: the path of a trace of any format that `inferscope analyze` reads, or several, one for each rank.
    communication: patterns of device work that is communication besides the well-known kinds; "!PATTERN" is not.  Without any, those
        of the configuration, which the analysis follows in everything else, too.
    rules_files: files of rules (docs/rules.md), besides ours and those of the user's configuration folder.
    """

    def __init__(self, timeline=None, *, trace=None, communication=(), rules_files=()):
        if (timeline is None) == (trace is None):
            raise TypeError("give a timeline or a trace")
        self._timeline = None if timeline is None else list(timeline)
        self._trace = trace
        self._communication = [pattern.encode() for pattern in communication]
        self._rules = [os.fsencode(shipped_rules()), *(_paths(rules_files) if rules_files else ())]

    @contextlib.contextmanager
    def _files(self):
        """Paths, patterns and rules as the engine takes them; a timeline becomes a file in memory for as long as it is looked at."""
        if self._timeline is None:
            yield _paths(self._trace), self._communication, self._rules
            return
        with open(os.memfd_create("timeline"), "w", encoding="utf-8") as file:
            json.dump(list(map(_exact, _of_one_process(self._timeline))), file, default=repr)
            file.flush()
            yield _paths(f"/proc/self/fd/{file.fileno()}"), self._communication, self._rules

    def analyze(self):
        """The analysis JSON, version 1, as a dictionary.  Raises inferscope.TraceError when nothing can be read, and ValueError with
        file, line and column when something is wrong with a rule."""
        with self._files() as lists:
            result = _engine.analyze(*lists)
        if self._timeline is not None:
            result["trace"]["path"] = None
        return result
