from typing import Any

from inferscope.collectors._collector import Collector

COUNTERS: frozenset[str]

class MemoryCollector(Collector):
    def get_stats(self) -> dict[str, Any]: ...
