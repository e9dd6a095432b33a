"""Preprocessing functions: what they take, why, and what would make them quicker."""

from inferscope.preprocessing.cache import ContentCache
from inferscope.preprocessing.profile import (
    Interval, PreprocessingBottleneck, PreprocessingProfile, PreprocessingProfilerConfig, Scaling, Step, Suggestion)
from inferscope.preprocessing.profiler import PreprocessingProfiler

__all__ = ["ContentCache", "Interval", "PreprocessingBottleneck", "PreprocessingProfile", "PreprocessingProfiler",
           "PreprocessingProfilerConfig", "Scaling", "Step", "Suggestion"]
