"""What a program says of itself: scope, mark_event and counter, as `inferscope` itself has them."""

from inferscope import counter, mark_event, scope

__all__ = ["counter", "mark_event", "scope"]
