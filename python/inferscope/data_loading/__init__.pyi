from inferscope.data_loading.profile import DataLoadingBottleneck as DataLoadingBottleneck
from inferscope.data_loading.profile import DataLoadingProfile as DataLoadingProfile
from inferscope.data_loading.profile import DataLoadingProfilerConfig as DataLoadingProfilerConfig
from inferscope.data_loading.profile import Interval as Interval
from inferscope.data_loading.profile import LoadingParts as LoadingParts
from inferscope.data_loading.profile import OptimalConfiguration as OptimalConfiguration
from inferscope.data_loading.profile import Optimization as Optimization
from inferscope.data_loading.profile import Suggestion as Suggestion
from inferscope.data_loading.profiler import DataLoadingProfiler as DataLoadingProfiler

__all__: list[str]
