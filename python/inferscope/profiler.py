"""Profiler: records a part of a program from inside it.

    profiler = inferscope.Profiler(trace="trace.sbt")
    with profiler:
        model(inputs)
    print(profiler.report())                # in a notebook: profiler.report()
    for event in profiler.get_unified_timeline():
        print(event["name"], event["start_us"], event["end_us"])

In a program that `inferscope run` records already, it shows its part of that
recording instead of making another.
"""

from inferscope._recording import Recording, is_enabled, pattern_list

_OVERFLOWS = ("wrap", "discard", "block")
_DETAILS = ("auto", "full", "light")


class Profiler:
    """Records calls, scopes, marks, counters, PyTorch operators and what GPUs do between start() and stop().

    trace: where to keep the trace, with {pid}, {rank}, {host} and {time} as `inferscope run` has them ({{ is a brace); a temporary
        file unless given, which goes with the Profiler
    trace_size_mb: memory for events on their way to the file; 100 unless given
    overflow: what happens when it is full: "wrap", "discard" or "block"
    calls: Python functions; c_calls: also those written in C
    detail: "full" records all calls; "auto" less of short ones where all would take more than a two-hundredth of the time; "light"
        also records operators for a part of the time only
    ops: PyTorch operators; shapes: with the shapes of their inputs
    gpu: CUDA and OpenCL, unless the program has used them before the start
    include, exclude: patterns of functions ("torch.nn", "json.*", "/app/*.py"), a list or with commas between them

    Processes that are forked meanwhile are recorded too.  It may be started again; each time is a recording of its own.
    """

    def __init__(self, trace=None, *, trace_size_mb=None, overflow=None, calls=True, detail="auto", c_calls=False, ops=True,
                 shapes=False, gpu=True, include=None, exclude=None):
        self._path = trace
        self._arguments = _size_argument(trace_size_mb) + _overflow_argument(overflow)
        if detail not in _DETAILS:
            raise ValueError("detail is %s, %s or %s, not %r" % (*_DETAILS, detail))
        self._options = {"calls": bool(calls), "full": detail == "full", "light": detail == "light", "c_calls": bool(c_calls),
                         "ops": bool(ops), "shapes": bool(shapes),
                         "include": pattern_list("include", include), "exclude": pattern_list("exclude", exclude)}
        self._gpu = bool(gpu)
        self._recording = None
        self._events = None
        self._disabled = False

    # ---- Starting and stopping ----

    def start(self):
        """Starts recording; nothing happens when it has been, or when INFERSCOPE_ENABLED is 0."""
        self._disabled = not is_enabled()
        if self._disabled or self.state == "recording":
            return
        self._recording = self._events = None  # with which an older temporary trace goes, before anything is recorded
        recording = Recording(self._path, self._arguments, self._options, self._gpu)
        recording.start()
        self._recording = recording

    def stop(self):
        """Stops; nothing happens when it is not recording.  A trace that has a name is now whole."""
        if self._recording is not None:
            self._recording.stop()

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *exception):
        self.stop()

    @property
    def state(self):
        """"idle", "recording", "stopped", or "disabled" by INFERSCOPE_ENABLED=0."""
        if self._disabled:
            return "disabled"
        if self._recording is None:
            return "idle"
        return "recording" if self._recording.running else "stopped"

    # ---- What was recorded ----

    @property
    def trace(self):
        """The path of the trace, for the inferscope command; None before the first start."""
        return self._recording.trace if self._recording is not None else None

    def get_unified_timeline(self):
        """The events, in the order of their start, as dictionaries.

        All have event_type, name, start_us, end_us (microseconds since the start of the trace; start_ns and end_ns have
        the nanoseconds) and, as far as they apply, process_id, thread_id, cpu_id, depth, task and task_id, module,
        function, file and line, value, metadata; track ("states" or "host") of what the recorder saw of a thread or of the machine
        from outside.  What began before the start is "enclosing", what had not ended at
        the end "unfinished"; a scope that outlives the function it began in has parts, all but the last of which
        have "goes_on".  While it is recording: the events so far.
        """
        if self._recording is None:
            return []
        if self._recording.running:
            return self._recording.events()
        if self._events is None:
            self._events = self._recording.events()
        return list(self._events)

    def get_stats(self):
        """Counts: state, trace, duration_us, events, lost, skipped_calls, threads, processes, ..."""
        stats = {"state": self.state, "trace": self.trace, "duration_us": 0, "events": 0, "lost": 0, "skipped_calls": 0}
        if self._recording is not None:
            stats.update(self._recording.totals())
            stats["duration_us"] = self._recording.duration_ns // 1000
            stats["shared"] = self._recording.is_shared
        return stats

    def report(self, filepath=None, format=None):
        """A ReportGenerator of what was recorded: print() it, show it in a notebook, or save() it, as is done at once when there is a path.

        While it is recording, of the events so far.
        """
        if self._recording is None:
            raise ValueError("nothing has been recorded yet: start() comes first")
        from inferscope.reporter import ReportGenerator
        alone = not self._recording.running and not self._recording.is_shared
        report = ReportGenerator(self.trace) if alone else ReportGenerator(timeline=self.get_unified_timeline())
        report.recording = self._recording  # a temporary trace goes with the last who can read it
        if filepath is not None:
            report.save(filepath, format)
        return report

    def __repr__(self):
        if self._recording is None:
            return "<Profiler: %s>" % self.state
        where = "its part of %s" % self.trace if self._recording.is_shared else self.trace
        if self._recording.running:
            return "<Profiler: recording into %s>" % where
        return "<Profiler: %s, %.3f s in %s>" % (self.state, self._recording.duration_ns / 1e9, where)

    def _repr_html_(self):
        """In a notebook: the report, when there is one."""
        return self.report()._repr_html_() if self.state == "stopped" else None


def _size_argument(megabytes):
    if megabytes is None:
        return []
    if isinstance(megabytes, bool) or not isinstance(megabytes, int):
        raise TypeError("trace_size_mb is a whole number of megabytes, not %s" % type(megabytes).__name__)
    if megabytes < 1:
        raise ValueError("trace_size_mb is at least 1, not %d" % megabytes)
    return ["--trace-size-mb", str(megabytes)]


def _overflow_argument(overflow):
    if overflow is None:
        return []
    if overflow not in _OVERFLOWS:
        raise ValueError("overflow is one of %s, not %r" % (", ".join(_OVERFLOWS), overflow))
    return ["--overflow", overflow]
