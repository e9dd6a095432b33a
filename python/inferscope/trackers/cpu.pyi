from typing import Any

from inferscope.trackers._tracker import Tracker

class CPUTracker(Tracker):
    def get_current_usage(self) -> float: ...
    def get_thread_usage(self) -> list[dict[str, Any]]: ...
