"""InferScope, from inside a program.

    import inferscope

    with inferscope.scope("tokenize"):
        ...
    inferscope.mark_event("tokenized", {"tokens": 1024})
    inferscope.counter("queue", len(queue))

These three are on the timeline of whoever is recording: `inferscope run`, or a
Profiler in the program itself.  When nobody is, they cost next to nothing.
Everything else is loaded when it is first used.
"""

import os as _os
import sys as _sys

try:
    # Under `inferscope run` it is there already, and may be from another folder.
    from inferscope._tracer import counter, mark_event, scope
except ImportError:
    from inferscope._off import counter, mark_event, scope

__all__ = ["BottleneckAnalyzer", "BottleneckProfile", "BottleneckProfiler", "BottleneckProfilerConfig", "BottleneckType",
           "CPUTracker", "CpuCollector", "DataLoadingBottleneck", "DataLoadingProfile", "DataLoadingProfiler",
           "DataLoadingProfilerConfig", "GPUTracker", "GpuCollector", "IOTracker", "LiveMonitor", "MemoryCollector",
           "MemoryTracker", "NetworkTracker", "PreprocessingBottleneck", "PreprocessingProfile", "PreprocessingProfiler",
           "PreprocessingProfilerConfig", "Profiler", "ProfilingLevel", "ProfilingSession", "RecordingError", "ReportGenerator",
           "SessionError", "TimelineMerger", "TraceBuffer", "TraceError", "collectors", "counter", "export", "load_plugins",
           "mark_event", "optimization_suggestions", "query", "register_bottleneck_detector", "register_bottleneck_type",
           "register_chart", "register_optimization_strategy", "register_report_format", "scope"]

# What is loaded on first use, and the module that has it; None: it is a module itself.
_LATER = {
    "BottleneckAnalyzer": "inferscope.analyzer",
    "BottleneckProfile": "inferscope.sessions",
    "BottleneckProfiler": "inferscope.sessions",
    "BottleneckProfilerConfig": "inferscope.sessions",
    "BottleneckType": "inferscope.bottlenecks",
    "CPUTracker": "inferscope.trackers",
    "CpuCollector": "inferscope.collectors",
    "DataLoadingBottleneck": "inferscope.data_loading",
    "DataLoadingProfile": "inferscope.data_loading",
    "DataLoadingProfiler": "inferscope.data_loading",
    "DataLoadingProfilerConfig": "inferscope.data_loading",
    "GPUTracker": "inferscope.trackers",
    "GpuCollector": "inferscope.collectors",
    "IOTracker": "inferscope.trackers",
    "LiveMonitor": "inferscope.live",
    "MemoryCollector": "inferscope.collectors",
    "MemoryTracker": "inferscope.trackers",
    "NetworkTracker": "inferscope.trackers",
    "PreprocessingBottleneck": "inferscope.preprocessing",
    "PreprocessingProfile": "inferscope.preprocessing",
    "PreprocessingProfiler": "inferscope.preprocessing",
    "PreprocessingProfilerConfig": "inferscope.preprocessing",
    "Profiler": "inferscope.profiler",
    "ProfilingLevel": "inferscope.sessions",
    "ProfilingSession": "inferscope.sessions",
    "RecordingError": "inferscope._recording",
    "ReportGenerator": "inferscope.reporter",
    "SessionError": "inferscope.sessions",
    "TimelineMerger": "inferscope.timeline",
    "TraceBuffer": "inferscope.trace_buffer",
    "TraceError": "inferscope._engine",
    "__version__": "inferscope._version",
    "analyzer": None,
    "api": None,
    "bottlenecks": None,
    "cli": None,
    "collectors": None,
    "data_loading": None,
    "export": "inferscope._tools",
    "live": None,
    "load_ipython_extension": "inferscope._notebook",
    "load_plugins": "inferscope.plugins",
    "optimization_suggestions": "inferscope.bottlenecks",
    "plugins": None,
    "preprocessing": None,
    "profiler": None,
    "query": "inferscope._tools",
    "register_bottleneck_detector": "inferscope.live",
    "register_bottleneck_type": "inferscope.bottlenecks",
    "register_chart": "inferscope.plugins",
    "register_optimization_strategy": "inferscope.bottlenecks",
    "register_report_format": "inferscope.plugins",
    "reporter": None,
    "sessions": None,
    "testing": None,
    "timeline": None,
    "trace_buffer": None,
    "trackers": None,
    "unload_ipython_extension": "inferscope._notebook",
}


def __getattr__(name):
    if name not in _LATER:
        raise AttributeError("module %r has no attribute %r" % (__name__, name))
    from importlib import import_module
    home = _LATER[name]
    value = import_module(home or __name__ + "." + name)
    if home:
        value = getattr(value, name)
    globals()[name] = value
    return value


def __dir__():
    return sorted(set(globals()) | set(_LATER))


def _attach():
    """A recorder has asked for us, but the door into this interpreter was closed (python -I, -S)."""
    tracer = _sys.modules.get("inferscope._tracer")
    environ = _os.environ
    if tracer is None or "INFERSCOPE_SESSION" not in environ or environ.get("INFERSCOPE_ENABLED") == "0":
        return
    try:
        tracer.link(environ.get("INFERSCOPE_RUNTIME", ""))
    except (ImportError, OSError):
        pass


_attach()
