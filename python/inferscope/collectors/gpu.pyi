from typing import Any

from inferscope.collectors._collector import Collector

COPIES: dict[str, str]

class GpuCollector(Collector):
    def get_stats(self) -> dict[str, Any]: ...
