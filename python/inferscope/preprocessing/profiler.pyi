import logging
from os import PathLike
from typing import Any, Callable, Optional, Sequence, Union

from inferscope.preprocessing.cache import ContentCache
from inferscope.preprocessing.profile import PreprocessingProfile, PreprocessingProfilerConfig

_Function = Union[Callable[[Any], Any], Sequence[Any]]  # or an object with transform()

class PreprocessingProfiler:
    config: PreprocessingProfilerConfig
    profiles: list[PreprocessingProfile]
    failures: list[PreprocessingProfile]
    preprocessing_cache: ContentCache
    logger: logging.Logger
    def __init__(self, config: Optional[PreprocessingProfilerConfig] = None) -> None: ...
    def profile_preprocessing_function(self, preprocessing_func: _Function, sample_data: Any, num_iterations: int = 10,
                                       operation_name: Optional[str] = None) -> PreprocessingProfile: ...
    def profile_batch_preprocessing(self, preprocessing_func: _Function, sample_data: Any,
                                    batch_sizes: Optional[Sequence[int]] = None) -> list[PreprocessingProfile]: ...
    def cached(self, preprocessing_func: _Function) -> Callable[[Any], Any]: ...
    def get_optimal_batch_size(self, profiles: Optional[Sequence[PreprocessingProfile]] = None) -> Optional[int]: ...
    def get_preprocessing_summary(self) -> dict[str, Any]: ...
    def generate_optimization_report(self, path: Optional[Union[str, PathLike[str]]] = None) -> str: ...
