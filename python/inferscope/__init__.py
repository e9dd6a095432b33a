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

__all__ = ["Profiler", "RecordingError", "TraceBuffer", "TraceError", "collectors", "counter", "export", "mark_event", "query", "scope"]

# What is loaded on first use, and the module that has it; None: it is a module itself.
_LATER = {
    "Profiler": "inferscope.profiler",
    "RecordingError": "inferscope._recording",
    "TraceBuffer": "inferscope.trace_buffer",
    "TraceError": "inferscope._engine",
    "__version__": "inferscope._version",
    "collectors": None,
    "export": "inferscope._tools",
    "profiler": None,
    "query": "inferscope._tools",
    "trace_buffer": None,
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
