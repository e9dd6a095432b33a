from enum import Enum
from types import TracebackType
from typing import Any, Optional, Protocol, Type, TypeVar

_C = TypeVar("_C", bound="Collector")

class CollectorState(Enum):
    UNINITIALIZED = "Uninitialized"
    IDLE = "Idle"
    COLLECTING = "Collecting"
    FINALIZED = "Finalized"

class _Buffer(Protocol):
    def enqueue(self, event: dict[str, Any]) -> bool: ...

class Collector:
    state: CollectorState
    trace_buffer: _Buffer
    def __init__(self, trace_buffer: _Buffer) -> None: ...
    def start(self) -> None: ...
    def stop(self) -> None: ...
    def __enter__(self: _C) -> _C: ...
    def __exit__(self, exc_type: Optional[Type[BaseException]], exc_value: Optional[BaseException],
                 traceback: Optional[TracebackType]) -> None: ...
