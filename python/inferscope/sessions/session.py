"""What a session has found: operations, bottlenecks, and what the program used."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Dict, List, Optional, Tuple

from inferscope.bottlenecks import BottleneckType
from inferscope.sessions.config import ProfilingLevel


@dataclass
class OperationProfile:
    """One name, and all the times that it ran; seconds and MB.

    total_time counts what is inside it, self_time does not; both are sums over threads and tasks
    median, p95, p99: of single runs, within 12 %
    failures: runs that ended with an exception; unfinished: that had not ended when the session did
    memory_mb: by how much the process grew during it, in all; memory_peak_mb: in the run that grew most
    cpu_percent: of one processor that the process used meanwhile; computed: the part of self_time in which its thread ran
    Both are None where that was not collected, and so is the memory.
    blocks: (runs, seconds) of stretches, in order, with as many runs each; by thread
    """

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
    blocks: List[Tuple[int, float]] = field(default_factory=list, repr=False)


@dataclass
class BottleneckProfile:
    """Something that holds the program up.

    operation_name: the operation; several that differ in a number only are "epoch_*_load"; else what was found, and where
    severity: 0 to 1: the share of the session that it takes; of an alert 0.8 and 0.9, of a finding what the analysis says
    frequency: how often it came
    execution_time: seconds that it took, without what is inside it
    memory_usage: MB by which the process grew; gpu_usage: MB on the GPU; cpu_usage: percent of one processor; 0 where not collected
    optimization_potential: 0 to 1: the part of execution_time that can be saved at most, by what was measured, or is expected by the analysis
    share: of the session; gain: the part of the session that is saved, with gain_low and gain_high where the analysis gives them
    source: "operation", "alert", "analysis", or "program" for one that it recorded itself; evidence: what it was concluded from; finding: the id of the analysis
    """

    bottleneck_type: BottleneckType
    operation_name: str
    severity: float = 0.0
    frequency: int = 0
    execution_time: float = 0.0
    memory_usage: float = 0.0
    gpu_usage: float = 0.0
    cpu_usage: float = 0.0
    optimization_potential: float = 0.0
    suggestions: List[str] = field(default_factory=list)
    share: float = 0.0
    gain: float = 0.0
    gain_low: Optional[float] = None
    gain_high: Optional[float] = None
    source: str = "operation"
    evidence: List[str] = field(default_factory=list)
    finding: Optional[str] = None


@dataclass
class ProfilingSession:
    """From start_profiling_session() to stop_profiling_session().

    performance_metrics: figures of the whole by name
    memory_profile, gpu_profile, cpu_profile, io_profile: {seconds since the start: percent; of io MB a second}
    samples: the same and more, a dictionary for each look; of long sessions every other, every fourth, ...
    analysis: of COMPREHENSIVE what the analysis says, without its long tables; trace: where the trace is, if it was kept
    notes: what the reader has to know besides
    """

    session_id: str
    start_time: datetime
    name: str = ""
    end_time: Optional[datetime] = None
    profiling_level: ProfilingLevel = ProfilingLevel.DETAILED
    duration: float = 0.0
    performance_metrics: Dict[str, float] = field(default_factory=dict)
    operations: List[OperationProfile] = field(default_factory=list)
    bottlenecks: List[BottleneckProfile] = field(default_factory=list)
    memory_profile: Dict[float, float] = field(default_factory=dict)
    gpu_profile: Dict[float, float] = field(default_factory=dict)
    cpu_profile: Dict[float, float] = field(default_factory=dict)
    io_profile: Dict[float, float] = field(default_factory=dict)
    samples: List[Dict[str, Any]] = field(default_factory=list)
    alerts: List[Dict[str, Any]] = field(default_factory=list)
    analysis: Optional[Dict[str, Any]] = None
    trace: Optional[str] = None
    notes: List[str] = field(default_factory=list)

    def operation(self, name):
        """The one of this name that took most; KeyError when there is none."""
        found = [operation for operation in self.operations if operation.name == name]
        if not found:
            raise KeyError(name)
        return max(found, key=lambda operation: operation.self_time)
