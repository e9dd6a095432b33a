"""Data loading: where the time of a DataLoader goes, and which configuration is best."""

from inferscope.data_loading.profile import (DataLoadingBottleneck, DataLoadingProfile, DataLoadingProfilerConfig, Interval, LoadingParts,
                                             OptimalConfiguration, Optimization, Suggestion)
from inferscope.data_loading.profiler import DataLoadingProfiler

__all__ = ["DataLoadingBottleneck", "DataLoadingProfile", "DataLoadingProfiler", "DataLoadingProfilerConfig", "Interval", "LoadingParts",
           "OptimalConfiguration", "Optimization", "Suggestion"]
