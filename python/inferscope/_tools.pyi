from collections.abc import Iterable, Sequence
from os import PathLike
from typing import Any, Optional, Union

_Path = Union[str, bytes, PathLike[str], PathLike[bytes]]

class Rows(list[tuple[Any, ...]]):
    columns: tuple[str, ...]
    def dicts(self) -> list[dict[str, Any]]: ...
    def frame(self) -> Any: ...

def query(trace: Union[_Path, Sequence[_Path]], sql: str, *, timeout: Optional[float] = None,
          communication: Iterable[str] = (), rules_files: Union[_Path, Iterable[_Path]] = ()) -> Rows: ...
def export(trace: Union[_Path, Sequence[_Path]], output: _Path, format: Optional[str] = None, *,
           window: Optional[tuple[float, float]] = None, steps: Union[None, int, tuple[int, int]] = None,
           kinds: Union[None, str, Iterable[str]] = None, name: Optional[str] = None, thread: Optional[int] = None,
           process: Optional[int] = None, depth: Optional[int] = None, min_duration_us: float = 0.0, weight: str = "wall",
           findings: bool = True, communication: Iterable[str] = (), rules_files: Union[_Path, Iterable[_Path]] = ()) -> None: ...
