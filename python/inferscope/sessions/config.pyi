from dataclasses import dataclass
from enum import Enum
from typing import Optional, Tuple, Union

PRODUCTION_INTERVAL: float

class ProfilingLevel(Enum):
    BASIC = "basic"
    DETAILED = "detailed"
    COMPREHENSIVE = "comprehensive"
    PRODUCTION = "production"

@dataclass
class BottleneckProfilerConfig:
    profiling_level: Union[ProfilingLevel, str] = ...
    bottleneck_threshold: float = 0.05
    memory_threshold: float = 0.8
    gpu_threshold: float = 0.9
    sampling_interval: float = 0.1
    enable_memory_tracking: bool = True
    enable_gpu_tracking: bool = True
    enable_cpu_tracking: bool = True
    enable_io_tracking: bool = True
    enable_real_time_monitoring: bool = True
    output_dir: str = "profiling_results"
    report_formats: Tuple[str, ...] = ...
    chart_formats: Tuple[str, ...] = ...
    keep_trace: bool = False
    trace_size_mb: Optional[int] = None
    @property
    def collects(self) -> Tuple[bool, bool]: ...
    @property
    def interval(self) -> Optional[float]: ...
