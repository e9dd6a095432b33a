from dataclasses import dataclass
from typing import List, Optional, Sequence, Tuple, Union

from inferscope.sessions.session import ProfilingSession

@dataclass
class OperationComparison:
    name: str
    verdict: str
    count_a: int = 0
    count_b: int = 0
    time_a: Optional[Tuple[float, float, float]] = None
    time_b: Optional[Tuple[float, float, float]] = None
    ratio: Optional[Tuple[float, float, float]] = None
    share_a: float = 0.0
    share_b: float = 0.0
    reason: str = ""

@dataclass
class SessionComparison:
    a: str
    b: str
    operations: List[OperationComparison] = ...

    def operation(self, name: str) -> OperationComparison: ...
    def __str__(self) -> str: ...

def compare(a: Union[ProfilingSession, Sequence[ProfilingSession]],
            b: Union[ProfilingSession, Sequence[ProfilingSession]]) -> SessionComparison: ...
