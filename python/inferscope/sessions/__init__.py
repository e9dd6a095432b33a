"""Sessions: where the time of a training loop goes, by operations that the program names."""

from inferscope.sessions._compare import OperationComparison, SessionComparison
from inferscope.sessions._store import SessionError
from inferscope.sessions.config import BottleneckProfilerConfig, ProfilingLevel
from inferscope.sessions.profiler import BottleneckProfiler
from inferscope.sessions.session import BottleneckProfile, OperationProfile, ProfilingSession

__all__ = ["BottleneckProfile", "BottleneckProfiler", "BottleneckProfilerConfig", "OperationComparison", "OperationProfile", "ProfilingLevel",
           "ProfilingSession", "SessionComparison", "SessionError"]
