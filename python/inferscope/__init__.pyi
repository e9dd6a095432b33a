from types import TracebackType
from typing import Any, Callable, Mapping, Optional, Type, TypeVar

from inferscope import analyzer as analyzer
from inferscope import api as api
from inferscope import bottlenecks as bottlenecks
from inferscope import cli as cli
from inferscope import collectors as collectors
from inferscope import data_loading as data_loading
from inferscope.data_loading import DataLoadingBottleneck as DataLoadingBottleneck
from inferscope.data_loading import DataLoadingProfile as DataLoadingProfile
from inferscope.data_loading import DataLoadingProfiler as DataLoadingProfiler
from inferscope.data_loading import DataLoadingProfilerConfig as DataLoadingProfilerConfig
from inferscope import live as live
from inferscope import plugins as plugins
from inferscope import preprocessing as preprocessing
from inferscope.preprocessing import PreprocessingBottleneck as PreprocessingBottleneck
from inferscope.preprocessing import PreprocessingProfile as PreprocessingProfile
from inferscope.preprocessing import PreprocessingProfiler as PreprocessingProfiler
from inferscope.preprocessing import PreprocessingProfilerConfig as PreprocessingProfilerConfig
from inferscope import reporter as reporter
from inferscope import sessions as sessions
from inferscope.sessions import BottleneckProfile as BottleneckProfile
from inferscope.sessions import BottleneckProfiler as BottleneckProfiler
from inferscope.sessions import BottleneckProfilerConfig as BottleneckProfilerConfig
from inferscope.sessions import ProfilingLevel as ProfilingLevel
from inferscope.sessions import ProfilingSession as ProfilingSession
from inferscope.sessions import SessionError as SessionError
from inferscope import testing as testing
from inferscope import timeline as timeline
from inferscope import trackers as trackers
from inferscope._engine import TraceError as TraceError
from inferscope._notebook import load_ipython_extension as load_ipython_extension
from inferscope._notebook import unload_ipython_extension as unload_ipython_extension
from inferscope._recording import RecordingError as RecordingError
from inferscope._tools import export as export
from inferscope._tools import query as query
from inferscope.analyzer import BottleneckAnalyzer as BottleneckAnalyzer
from inferscope.bottlenecks import BottleneckType as BottleneckType
from inferscope.bottlenecks import optimization_suggestions as optimization_suggestions
from inferscope.bottlenecks import register_bottleneck_type as register_bottleneck_type
from inferscope.bottlenecks import register_optimization_strategy as register_optimization_strategy
from inferscope.collectors import CpuCollector as CpuCollector
from inferscope.collectors import GpuCollector as GpuCollector
from inferscope.collectors import MemoryCollector as MemoryCollector
from inferscope.live import LiveMonitor as LiveMonitor
from inferscope.live import register_bottleneck_detector as register_bottleneck_detector
from inferscope.plugins import load_plugins as load_plugins
from inferscope.plugins import register_chart as register_chart
from inferscope.plugins import register_report_format as register_report_format
from inferscope.profiler import Profiler as Profiler
from inferscope.reporter import ReportGenerator as ReportGenerator
from inferscope.timeline import TimelineMerger as TimelineMerger
from inferscope.trace_buffer import TraceBuffer as TraceBuffer
from inferscope.trackers import CPUTracker as CPUTracker
from inferscope.trackers import GPUTracker as GPUTracker
from inferscope.trackers import IOTracker as IOTracker
from inferscope.trackers import MemoryTracker as MemoryTracker
from inferscope.trackers import NetworkTracker as NetworkTracker

_F = TypeVar("_F", bound=Callable[..., Any])

__version__: str
__all__: list[str]

class scope:
    def __init__(self, name: str) -> None: ...
    @property
    def name(self) -> str: ...
    def __enter__(self) -> scope: ...
    def __exit__(self, exc_type: Optional[Type[BaseException]], exc_value: Optional[BaseException],
                 traceback: Optional[TracebackType]) -> None: ...
    def __call__(self, function: _F) -> _F: ...

def mark_event(name: str, metadata: Optional[Mapping[str, Any]] = None) -> None: ...
def counter(name: str, value: float) -> None: ...
