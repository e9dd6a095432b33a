"""Collectors: each puts the events of one source into a trace buffer."""

from inferscope.collectors._collector import CollectorState
from inferscope.collectors.cpu import CpuCollector
from inferscope.collectors.gpu import GpuCollector
from inferscope.collectors.memory import MemoryCollector

__all__ = ["CollectorState", "CpuCollector", "GpuCollector", "MemoryCollector"]
