from dataclasses import dataclass
from datetime import datetime
from typing import Any, Dict, List, Optional, Tuple

from inferscope.bottlenecks import BottleneckType
from inferscope.sessions.config import ProfilingLevel

@dataclass
class OperationProfile:
    name: str
    type: Optional[BottleneckType] = None
    count: int = 0
    failures: int = 0
    unfinished: int = 0
    threads: int = 1
    total_time: float = 0.0
    self_time: float = 0.0
    min_time: float = 0.0
    max_time: float = 0.0
    median: float = 0.0
    p95: float = 0.0
    p99: float = 0.0
    share: float = 0.0
    memory_mb: Optional[float] = None
    memory_peak_mb: Optional[float] = None
    gpu_memory_mb: Optional[float] = None
    cpu_percent: Optional[float] = None
    computed: Optional[float] = None
    blocks: List[Tuple[int, float]] = ...

@dataclass
class BottleneckProfile:
    bottleneck_type: BottleneckType
    operation_name: str
    severity: float = 0.0
    frequency: int = 0
    execution_time: float = 0.0
    memory_usage: float = 0.0
    gpu_usage: float = 0.0
    cpu_usage: float = 0.0
    optimization_potential: float = 0.0
    suggestions: List[str] = ...
    share: float = 0.0
    gain: float = 0.0
    gain_low: Optional[float] = None
    gain_high: Optional[float] = None
    source: str = "operation"
    evidence: List[str] = ...
    finding: Optional[str] = None

@dataclass
class ProfilingSession:
    session_id: str
    start_time: datetime
    name: str = ""
    end_time: Optional[datetime] = None
    profiling_level: ProfilingLevel = ProfilingLevel.DETAILED
    duration: float = 0.0
    performance_metrics: Dict[str, float] = ...
    operations: List[OperationProfile] = ...
    bottlenecks: List[BottleneckProfile] = ...
    memory_profile: Dict[float, float] = ...
    gpu_profile: Dict[float, float] = ...
    cpu_profile: Dict[float, float] = ...
    io_profile: Dict[float, float] = ...
    samples: List[Dict[str, Any]] = ...
    alerts: List[Dict[str, Any]] = ...
    analysis: Optional[Dict[str, Any]] = None
    trace: Optional[str] = None
    notes: List[str] = ...

    def operation(self, name: str) -> OperationProfile: ...
