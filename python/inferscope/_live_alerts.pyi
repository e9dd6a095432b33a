from dataclasses import dataclass
from typing import Any, Callable, Literal, Optional

from inferscope.bottlenecks import BottleneckType

@dataclass
class LiveConfig:
    memory_threshold: float = 0.8
    gpu_threshold: float = 0.9
    bottleneck_threshold: float = 0.05
    growth_minutes: float = 30.0
    sampling_interval: float = 0.1
    hold: float = 1.0
    release: float = 3.0
    function_timeout: float = 5.0
    history: int = 600
    enable_memory_tracking: bool = True
    enable_gpu_tracking: bool = True
    enable_cpu_tracking: bool = True
    enable_io_tracking: bool = True
    @classmethod
    def of(cls, config: Any, interval: Optional[float] = None) -> LiveConfig: ...

class Alert:
    number: int
    kind: str
    subject: str
    type: Optional[BottleneckType]
    severity: float
    active: bool
    start_s: float
    end_s: Optional[float]
    frequency: int
    value: Any
    threshold: Any
    text: str
    suggestions: list[str]
    @property
    def level(self) -> Literal["info", "warning", "critical"]: ...
    def as_dict(self) -> dict[str, Any]: ...

class Judge:
    alerts: list[Alert]
    def __init__(self, config: LiveConfig, tell: Callable[[Alert], None]) -> None: ...
    def judge(self, sample: dict[str, Any]) -> None: ...
    def end_all(self, now: float) -> None: ...
