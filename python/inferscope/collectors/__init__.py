"""Collectors: each puts the events of one source into a trace buffer."""

from inferscope.collectors.cpu import CollectorState, CpuCollector

__all__ = ["CollectorState", "CpuCollector"]
