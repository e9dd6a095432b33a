import os
from typing import Any, Iterable, Mapping, Optional, Union

_Path = Union[str, bytes, os.PathLike[str]]

def shipped_rules() -> str: ...

class BottleneckAnalyzer:
    def __init__(self, timeline: Optional[Iterable[Mapping[str, Any]]] = None, *,
                 trace: Union[None, _Path, Iterable[_Path]] = None, communication: Iterable[str] = (),
                 rules_files: Union[_Path, Iterable[_Path]] = ()) -> None: ...
    def analyze(self) -> dict[str, Any]: ...
