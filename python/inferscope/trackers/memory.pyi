from typing import Optional

from inferscope.trackers._tracker import Tracker

class MemoryTracker(Tracker):
    def get_current_memory(self) -> float: ...
    def get_pss(self) -> Optional[float]: ...
