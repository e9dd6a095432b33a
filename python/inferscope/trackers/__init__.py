"""Trackers: what a process uses, now: memory, processors, disks, network, GPUs.

    memory = inferscope.MemoryTracker()
    memory.get_current_memory()                     # MB
    memory.get_current_stats()["used_percent"]      # of what the container, or the machine, has

    cpu = inferscope.CPUTracker()
    cpu.start_tracking()
    ...                                             # get_current_stats() now and then
    cpu.stop_tracking()["usage_percent"]["max"]

A tracker is of this process, or of another one, by its number.  It may be used
from any thread, and goes on in a forked child, where it is of that child.  A
process that has ended uses nothing: figures of it are 0, and "alive" is False.
Rates are since the call before, of the same tracker; those of the first call since it
was made.
"""

from inferscope.trackers.cpu import CPUTracker
from inferscope.trackers.gpu import GPUTracker
from inferscope.trackers.io import IOTracker
from inferscope.trackers.memory import MemoryTracker
from inferscope.trackers.network import NetworkTracker

__all__ = ["CPUTracker", "GPUTracker", "IOTracker", "MemoryTracker", "NetworkTracker"]
