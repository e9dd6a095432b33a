"""How much a session collects, and its settings."""

from dataclasses import dataclass
from enum import Enum
from typing import Optional, Tuple, Union


class ProfilingLevel(Enum):
    """How much a session collects, and costs (docs/profilers.md has the figures).

    BASIC: time and memory of operations
    DETAILED: their processor time too, what the program uses over time, and bottlenecks
    COMPREHENSIVE: a trace of the program besides, and what its analysis finds, with gains
    PRODUCTION: time of operations, what the program uses once a second, and bottlenecks
    """

    BASIC = "basic"
    DETAILED = "detailed"
    COMPREHENSIVE = "comprehensive"
    PRODUCTION = "production"


PRODUCTION_INTERVAL = 1.0  # seconds between samples, at least


@dataclass
class BottleneckProfilerConfig:
    """Settings; thresholds are shares from 0 to 1, times are seconds.

    bottleneck_threshold: of the session, that an operation takes without what is inside it to be a bottleneck
    memory_threshold, gpu_threshold: of the memory that the program may use, and of the GPU's
    sampling_interval: between looks at what the program uses
    enable_*_tracking: what is looked at
    enable_real_time_monitoring: False looks only at the beginning and the end
    output_dir: where reports go
    keep_trace: COMPREHENSIVE leaves its trace beside the reports; else it goes when it has been analyzed
    """

    profiling_level: Union[ProfilingLevel, str] = ProfilingLevel.DETAILED
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
    report_formats: Tuple[str, ...] = ("markdown", "html")
    chart_formats: Tuple[str, ...] = ("svg", "png")
    keep_trace: bool = False
    trace_size_mb: Optional[int] = None

    def __post_init__(self):
        self.profiling_level = ProfilingLevel(self.profiling_level)
        for name in ("bottleneck_threshold", "memory_threshold", "gpu_threshold"):
            if not 0 < getattr(self, name) <= 1:
                raise ValueError("%s is a share, so more than 0 and at most 1, not %r" % (name, getattr(self, name)))
        if not self.sampling_interval >= 0.01:
            raise ValueError("sampling_interval is at least 0.01 s, not %r" % (self.sampling_interval,))

    @property
    def collects(self):
        """(memory, clocks) of each operation."""
        level = self.profiling_level
        return (level is not ProfilingLevel.PRODUCTION and self.enable_memory_tracking,
                level in (ProfilingLevel.DETAILED, ProfilingLevel.COMPREHENSIVE) and self.enable_cpu_tracking)

    @property
    def interval(self):
        """Between samples; None: there are none but the first and the last."""
        if not self.enable_real_time_monitoring or self.profiling_level is ProfilingLevel.BASIC:
            return None
        if self.profiling_level is ProfilingLevel.PRODUCTION:
            return max(PRODUCTION_INTERVAL, self.sampling_interval)
        return self.sampling_interval
