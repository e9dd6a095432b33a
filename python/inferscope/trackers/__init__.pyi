from inferscope.trackers.cpu import CPUTracker as CPUTracker
from inferscope.trackers.gpu import GPUTracker as GPUTracker
from inferscope.trackers.io import IOTracker as IOTracker
from inferscope.trackers.memory import MemoryTracker as MemoryTracker
from inferscope.trackers.network import NetworkTracker as NetworkTracker

__all__: list[str]
