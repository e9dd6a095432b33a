from types import TracebackType
from typing import Any, Callable, Mapping, Optional, Type, TypeVar

from inferscope import collectors as collectors
from inferscope._engine import TraceError as TraceError
from inferscope._recording import RecordingError as RecordingError
from inferscope._tools import export as export
from inferscope._tools import query as query
from inferscope.profiler import Profiler as Profiler
from inferscope.trace_buffer import TraceBuffer as TraceBuffer

_F = TypeVar("_F", bound=Callable[..., Any])

__version__: str
__all__: list[str]

class scope:
    def __init__(self, name: str) -> None: ...
    @property
    def name(self) -> str: ...
    def __enter__(self) -> scope: ...
    def __exit__(self, exc_type: Optional[Type[BaseException]], exc_value: Optional[BaseException],
                 traceback: Optional[TracebackType]) -> None: ...
    def __call__(self, function: _F) -> _F: ...

def mark_event(name: str, metadata: Optional[Mapping[str, Any]] = None) -> None: ...
def counter(name: str, value: float, /) -> None: ...
