from typing import Any, Callable, TypeVar

from inferscope import scope as _scope

_F = TypeVar("_F", bound=Callable[..., Any])

def decorate(scope: _scope, function: _F) -> _F: ...
