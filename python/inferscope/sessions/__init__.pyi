from inferscope.sessions._compare import OperationComparison as OperationComparison
from inferscope.sessions._compare import SessionComparison as SessionComparison
from inferscope.sessions._store import SessionError as SessionError
from inferscope.sessions.config import BottleneckProfilerConfig as BottleneckProfilerConfig
from inferscope.sessions.config import ProfilingLevel as ProfilingLevel
from inferscope.sessions.profiler import BottleneckProfiler as BottleneckProfiler
from inferscope.sessions.session import BottleneckProfile as BottleneckProfile
from inferscope.sessions.session import OperationProfile as OperationProfile
from inferscope.sessions.session import ProfilingSession as ProfilingSession

__all__ = ["BottleneckProfile", "BottleneckProfiler", "BottleneckProfilerConfig", "OperationComparison", "OperationProfile", "ProfilingLevel",
           "ProfilingSession", "SessionComparison", "SessionError"]
