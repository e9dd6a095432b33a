"""BottleneckProfiler: sessions of a program that names its operations.

    profiler = BottleneckProfiler(BottleneckProfilerConfig(profiling_level=ProfilingLevel.DETAILED))
    profiler.start_profiling_session("training")
    for batch in loader:
        with profiler.profile_operation("forward", BottleneckType.CPU_COMPUTATION):
            ...
    session = profiler.stop_profiling_session()
    profiler.generate_optimization_report()
"""

import itertools
import logging
import os
import re
import threading
import time
import weakref
from collections import OrderedDict, defaultdict
from dataclasses import replace
from datetime import datetime

import inferscope
from inferscope import _engine
from inferscope.bottlenecks import BottleneckType, optimization_suggestions
from inferscope.sessions import _judge, _store
from inferscope.sessions.config import BottleneckProfilerConfig, ProfilingLevel
from inferscope.sessions.session import BottleneckProfile, ProfilingSession

SESSIONS_MOST = 100   # that a profiler keeps, the newest
CACHED_MOST = 1000    # operations
RECORDED_MOST = 1000  # bottlenecks that the program names
NAME_MOST = 256       # letters of a name

# The analysis takes all that is inside a scope of such a name for loading; operations have others inside them.
_LOADS = re.compile("data_?loader|data.load|load_data|(load|fetch|next)_batch", re.IGNORECASE)

_numbers = itertools.count(1)
_profilers = weakref.WeakSet()


def _after_fork():
    """Sessions are of the parent."""
    for profiler in list(_profilers):
        profiler._abandon()


os.register_at_fork(after_in_child=_after_fork)


class BottleneckProfiler:
    """Sessions, one at a time; several profilers may have one each at the same time.

    config: a BottleneckProfilerConfig
    current_session: the one that runs, or was the last; sessions: by id
    bottlenecks, performance_metrics: of it, until now
    In a forked child, as a worker of a DataLoader, operations are not counted.
    """

    def __init__(self, config=None):
        if config is not None and not isinstance(config, BottleneckProfilerConfig):
            raise TypeError("the configuration is a BottleneckProfilerConfig, not %s" % type(config).__name__)
        self.config = BottleneckProfilerConfig() if config is None else config
        self.logger = logging.getLogger("inferscope.sessions")
        self.current_session = None
        self.sessions = OrderedDict()
        self.performance_metrics = defaultdict(float)
        self._log = _engine.Operations()
        self._made = {}
        self._gate = threading.RLock()
        self._trackers = {}
        self._running = None
        self.stop_event = threading.Event()
        self.stop_event.set()
        _profilers.add(self)

    def _tracker(self, name):
        if name not in self._trackers:
            from inferscope import trackers
            self._trackers[name] = getattr(trackers, name)()
        return self._trackers[name]

    @property
    def memory_tracker(self):
        return self._tracker("MemoryTracker")

    @property
    def gpu_tracker(self):
        return self._tracker("GPUTracker")

    @property
    def cpu_tracker(self):
        return self._tracker("CPUTracker")

    @property
    def io_tracker(self):
        return self._tracker("IOTracker")

    @property
    def is_profiling(self):
        return self._running is not None

    @property
    def profiling_thread(self):
        """The one that looks at what the program uses; None: there is none."""
        monitor = self._running.monitor if self._running is not None else None
        return monitor._thread if monitor is not None else None

    # ---- Operations ----

    def profile_operation(self, operation_name, operation_type=BottleneckType.CPU_COMPUTATION):
        """A context manager, or decorator: what is inside is one run of this operation.

        Operations may be inside each other, in any number of threads and asyncio tasks.  Without a session nothing is counted.
        """
        found = self._made.get(operation_name)
        if found is not None and found[0] is operation_type:
            return found[1]
        return self._make(operation_name, operation_type)

    def _make(self, name, type):
        if not isinstance(name, str):
            raise TypeError("the name of an operation is a text, not %r" % (name,))
        type = BottleneckType(type)
        shown = str(name)[:NAME_MOST]
        made = _engine.Operation(self._log, shown, type, None if _LOADS.search(shown) else inferscope.scope(shown))
        if len(self._made) < CACHED_MOST:
            self._made[name] = (type, made)
        return made

    # ---- Sessions ----

    def start_profiling_session(self, session_name="session"):
        """Begins a session, and gives its id: the name, as far as files can have it, with the time."""
        if not isinstance(session_name, str):
            raise TypeError("the name of a session is a text, not %r" % (session_name,))
        with self._gate:
            if self._running is not None:
                raise RuntimeError("the session %s has not been stopped" % self.current_session.session_id)
            now = datetime.now()
            session = ProfilingSession(_store.session_id(session_name, now, os.getpid(), next(_numbers)), now, session_name[:NAME_MOST],
                                       profiling_level=self.config.profiling_level)
            self.performance_metrics.clear()
            self._made.clear()
            running = _Running(self, session)
            try:
                running.start()
            except BaseException:
                running.give_up()
                raise
            self._running, self.current_session = running, session
            self.stop_event.clear()
        return session.session_id

    def stop_profiling_session(self):
        """Ends it, and gives it; RuntimeError when there is none.

        An analysis that fails, or is interrupted, leaves the session without it: `notes` says so.
        """
        with self._gate:
            running, self._running = self._running, None
            if running is None:
                raise RuntimeError("no session has been started")
            self.stop_event.set()
            session = running.session
            self.sessions[session.session_id] = session
            while len(self.sessions) > SESSIONS_MOST:
                self.sessions.popitem(last=False)
            running.stop()
        return session

    def record_bottleneck(self, bottleneck_type, operation_name, severity, suggestions=None, execution_time=0.0):
        """Adds one that the program has found itself to the session that runs; one that comes again counts again."""
        running = self._running
        if running is not None:
            running.record(BottleneckType(bottleneck_type), str(operation_name)[:NAME_MOST], min(1.0, max(0.0, float(severity))),
                           suggestions, float(execution_time))

    _record_bottleneck = record_bottleneck

    def _abandon(self):
        self._log.abandon()
        self.stop_event = threading.Event()
        self.stop_event.set()
        self._running = None
        self._gate = threading.RLock()
        self._trackers = {}

    @property
    def bottlenecks(self):
        """Of the session that runs, until now; else of the last."""
        running = self._running
        if running is not None:
            return running.bottlenecks()
        return list(self.current_session.bottlenecks) if self.current_session is not None else []

    def get_bottleneck_summary(self):
        """A dictionary: session_id, duration, bottlenecks, total_bottlenecks, bottlenecks_by_type, average_severity, operations,
        performance_metrics, suggestions.  Bottlenecks are dictionaries, the most severe first.  {} before the first session."""
        with self._gate:
            session, running = self.current_session, self._running
            if session is None:
                return {}
            operations = running.operations() if running is not None else session.operations
            found = running.bottlenecks() if running is not None else session.bottlenecks
            duration = running.elapsed() if running is not None else session.duration
            metrics = dict(self.performance_metrics if running is not None else session.performance_metrics)
        by_type = defaultdict(int)
        for one in found:
            by_type[one.bottleneck_type.value] += 1
        return {"session_id": session.session_id, "profiling_level": session.profiling_level.value, "is_profiling": running is not None,
                "duration": duration, "total_bottlenecks": len(found), "bottlenecks": [_store._row(one) for one in found],
                "bottlenecks_by_type": dict(by_type),
                "average_severity": sum(one.severity for one in found) / len(found) if found else 0.0,
                "operations": [{key: value for key, value in _store._row(one).items() if key != "blocks"} for one in operations],
                "performance_metrics": metrics, "suggestions": list(dict.fromkeys(text for one in found for text in one.suggestions)),
                "notes": list(session.notes)}

    # ---- Reports ----

    def _the(self, session):
        session = self.current_session if session is None else session
        if session is None:
            raise RuntimeError("there is no session yet")
        if self._running is not None and session is self._running.session:
            raise RuntimeError("the session %s has not been stopped" % session.session_id)
        return session

    def generate_optimization_report(self, output_dir=None, session=None):
        """Writes the report of the last session, or of one that is given, in the formats of the configuration.

        Gives the paths by what they are: markdown, html, and a list of charts.  PNG is left out, with a line in the log, where
        cairo is not.
        """
        from inferscope.reporter.report_generator import _write
        from inferscope.sessions import _report
        session = self._the(session)
        folder = os.fspath(self.config.output_dir if output_dir is None else output_dir)
        os.makedirs(folder, exist_ok=True)
        start, written = os.path.join(folder, session.session_id), {"charts": self.generate_charts(folder, session)}
        names = [os.path.basename(path) for path in written["charts"] if "_visualizations." in path]
        for format in self.config.report_formats:
            if format == "markdown":
                data, path = _report.markdown(session, sorted(names, reverse=True)[:1]), start + "_report.md"
            elif format == "html":
                picture = _report.draw(_report.charts(session).values(), "svg").decode()
                data, path = _report.page(session, picture), start + "_report.html"
            else:
                raise ValueError("formats of reports are markdown and html, not %r" % (format,))
            _write(path, data.encode("utf-8", "replace"))
            written[format] = path
        return written

    def generate_charts(self, output_dir=None, session=None):
        """Writes {session_id}_visualizations and the charts in it each by itself; gives the paths."""
        from inferscope.reporter.report_generator import _write
        from inferscope.sessions import _report
        session, written = self._the(session), []
        folder = os.fspath(self.config.output_dir if output_dir is None else output_dir)
        os.makedirs(folder, exist_ok=True)
        charts = _report.charts(session)
        for format in self.config.chart_formats:
            try:
                pictures = {"visualizations": _report.draw(charts.values(), format)}
                pictures.update((name, _report.draw([chart], format)) for name, chart in charts.items())
            except RuntimeError as error:
                self.logger.warning("no charts as %s: %s", format.upper(), error)
                continue
            for name, picture in pictures.items():
                path = os.path.join(folder, "%s_%s.%s" % (session.session_id, name, format))
                _write(path, picture)
                written.append(path)
        return written

    # ---- Keeping and comparing ----

    def save_session(self, path=None, session=None):
        """Writes a session as JSON, the last one unless it is given; gives the path, {session_id}.json in output_dir unless given."""
        session = self._the(session)
        if path is None:
            os.makedirs(self.config.output_dir, exist_ok=True)
            path = os.path.join(os.fspath(self.config.output_dir), session.session_id + ".json")
        _store.save(session, path)
        return os.fspath(path)

    @staticmethod
    def load_session(path):
        """A session that was saved.  SessionError, in one sentence, for a file that is none."""
        return _store.load(path)

    @staticmethod
    def compare_sessions(a, b):
        """How b does against a, operation by operation: "faster", "slower", "same" or "cannot tell", with intervals.

        Each is a session, or a list of them: several runs of a program tell more than one does.
        """
        from inferscope.sessions._compare import compare
        return compare(a, b)

    def __repr__(self):
        state = "idle" if self.current_session is None else self.current_session.session_id
        return "<BottleneckProfiler: %s%s>" % (state, ", running" if self.is_profiling else "")


# ---- A session that runs --------------------------------------------------------------------------


class _Running:
    """What collects, from the start of a session to its end."""

    def __init__(self, profiler, session):
        self.session, self.config, self.log, self.logger = session, profiler.config, profiler._log, profiler.logger
        self.metrics = profiler.performance_metrics
        self.monitor = self.trace = self.end = None
        self.gpu, self.recorded, self.lock = False, {}, threading.Lock()
        self.begin = time.monotonic()

    def record(self, type, name, severity, suggestions, seconds):
        """One of the program's own."""
        with self.lock:
            if (type, name) not in self.recorded and len(self.recorded) < RECORDED_MOST:
                texts = optimization_suggestions(type, {"operation": name}) if suggestions is None else [str(text) for text in suggestions]
                self.recorded[type, name] = BottleneckProfile(type, name, source="program", suggestions=texts)
            found = self.recorded.get((type, name))
            if found is not None:
                found.severity, found.frequency = max(found.severity, severity), found.frequency + 1
                found.execution_time += seconds

    def start(self):
        level = self.config.profiling_level
        self._memory_now("memory_start_mb")
        if level is ProfilingLevel.COMPREHENSIVE:
            self._start_trace()
        if self.config.interval is not None:
            self._start_monitor()
        memory, clocks = self.config.collects
        self.begin = time.monotonic()
        self.log.begin(memory, clocks, self.trace is not None or "INFERSCOPE_SESSION" in os.environ)
        self._find_gpu()

    def give_up(self):
        """It could not start."""
        self.log.end()
        self._stop_others()

    def _memory_now(self, name):
        try:
            if self.config.enable_memory_tracking:
                self.metrics[name] = _engine.Meter(os.getpid()).rss() / _judge.MB
        except OSError:  # no /proc
            pass

    def _find_gpu(self):
        """Operations tell what they allocate there, once the program uses one."""
        if self.gpu or not self.config.enable_gpu_tracking or not self.config.collects[1]:
            return
        from inferscope.sessions._monitor import torch_gpu_memory
        function = torch_gpu_memory()
        if function is not None:
            self.gpu = True
            self.log.set_gpu(function)

    def _start_monitor(self):
        from inferscope.sessions._monitor import SessionMonitor
        try:
            self.monitor = SessionMonitor(self.config.interval, self.config, self.metrics, self._find_gpu)
            self.monitor.start()
        except Exception as error:
            self.monitor = None
            self._note("what the program uses could not be looked at: %s: %s" % (type(error).__name__, error))

    def _start_trace(self):
        path = None
        if self.config.keep_trace:
            os.makedirs(self.config.output_dir, exist_ok=True)
            path = os.path.join(os.fspath(self.config.output_dir), self.session.session_id + ".sbt")
        try:
            self.trace = inferscope.Profiler(path, trace_size_mb=self.config.trace_size_mb)
            self.trace.start()
            if self.trace.state != "recording":
                self.trace = None
                self._note("there is no trace: INFERSCOPE_ENABLED is 0")
        except Exception as error:
            self.trace = None
            self._note("there is no trace: %s" % error)

    def _note(self, text):
        self.session.notes.append(text)
        self.logger.warning("%s: %s", self.session.session_id, text)

    # ---- Until now ----

    def elapsed(self):
        return (time.monotonic() if self.end is None else self.end) - self.begin

    def operations(self, rows=None):
        memory, clocks = self.config.collects
        duration = self.elapsed()
        return [_judge.operation_of(row, duration, memory, clocks, self.gpu) for row in (self.log.rows() if rows is None else rows)]

    def bottlenecks(self, operations=None, analysis=None):
        if self.config.profiling_level is ProfilingLevel.BASIC:
            return []
        monitor, rows = self.monitor, self.samples()
        with self.lock:
            recorded = [replace(one) for one in self.recorded.values()]
        found = _judge.find(self.operations() if operations is None else operations, self.elapsed(), self.config.bottleneck_threshold,
                            monitor.alerts if monitor is not None else (), rows[-1] if rows else {}, analysis)
        return sorted(found + recorded, key=lambda one: -one.severity)

    def samples(self):
        return self.monitor.series.copy() if self.monitor is not None else []

    # ---- The end ----

    def stop(self):
        session = self.session
        rows = self.log.end()
        self.end = time.monotonic()
        session.end_time, session.duration = datetime.now(), self.elapsed()
        try:
            self._stop_others()
        finally:
            operations = session.operations = self.operations(rows)
            operations.sort(key=lambda one: -one.self_time)
            self._fill()
            session.bottlenecks = self.bottlenecks(operations)
        if self.trace is not None:
            self._analyze(operations)

    def _stop_others(self):
        try:
            if self.trace is not None:
                self.trace.stop()
        except Exception as error:
            self.trace = None
            self._note("there is no trace: %s" % error)
        finally:
            if self.monitor is not None:
                self.monitor.stop()

    def _fill(self):
        session, metrics = self.session, self.metrics
        self._memory_now("memory_end_mb")
        if "memory_start_mb" in metrics and "memory_end_mb" in metrics:
            metrics["memory_growth_mb"] = metrics["memory_end_mb"] - metrics["memory_start_mb"]
        metrics["duration"] = session.duration
        metrics["operations"] = float(sum(one.count for one in session.operations))
        metrics["time_in_operations"] = sum(one.self_time for one in session.operations)
        dropped = self.log.dropped()
        if dropped:
            self._note("%d runs of operations were not counted, since too many were open" % dropped)
        if self.monitor is not None:
            self._fill_samples()
        elif "memory_start_mb" in metrics and "memory_end_mb" in metrics:
            session.samples = [{"time_s": 0.0, "memory_mb": metrics["memory_start_mb"]},
                               {"time_s": session.duration, "memory_mb": metrics["memory_end_mb"]}]
        session.performance_metrics = dict(metrics)

    def _fill_samples(self):
        session, metrics = self.session, self.metrics
        greatest = self.monitor.series.greatest
        metrics.update((name + "_max", float(greatest[key])) for key, name in
                       (("memory_mb", "memory_mb"), ("cpu_percent", "cpu_usage"), ("gpu_memory_mb", "gpu_memory_mb")) if key in greatest)
        metrics["monitoring_cpu_time"] = self.monitor.get_stats()["cost_s"]
        session.samples, session.alerts = self.samples(), [alert.as_dict() for alert in self.monitor.alerts]
        for row in session.samples:
            at = round(row["time_s"], 3)
            for curve, key in ((session.memory_profile, "memory_percent"), (session.gpu_profile, "gpu_memory_percent"),
                               (session.cpu_profile, "cpu_percent")):
                if key in row:
                    curve[at] = row[key]
            if "read_mb_per_s" in row:
                session.io_profile[at] = row["read_mb_per_s"] + row.get("write_mb_per_s", 0.0)

    def _analyze(self, operations):
        """The session is whole without it, so that nothing is lost when this is interrupted."""
        session, trace = self.session, self.trace
        session.trace = trace.trace if self.config.keep_trace else None
        try:
            from inferscope.analyzer import BottleneckAnalyzer
            shared = trace.get_stats().get("shared")
            analyzer = BottleneckAnalyzer(trace.get_unified_timeline()) if shared else BottleneckAnalyzer(trace=trace.trace)
            analysis = analyzer.analyze()
        except KeyboardInterrupt:
            self._note("the analysis of the trace was interrupted")
            raise
        except Exception as error:
            self._note("the trace could not be analyzed: %s: %s" % (type(error).__name__, error))
            return
        session.bottlenecks = self.bottlenecks(operations, analysis)
        session.notes += ["analysis: %s" % text for text in analysis.get("notes") or [] if isinstance(text, str)]
        session.analysis = {key: analysis[key] for key in ("analysis_version", "integrity", "summary", "bottleneck", "findings", "suggestions",
                                                           "notes", "step_summary") if key in analysis}
