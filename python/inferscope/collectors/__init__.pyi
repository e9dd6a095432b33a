from inferscope.collectors._collector import CollectorState as CollectorState
from inferscope.collectors.cpu import CpuCollector as CpuCollector
from inferscope.collectors.gpu import GpuCollector as GpuCollector
from inferscope.collectors.memory import MemoryCollector as MemoryCollector

__all__: list[str]
