"""Timelines: events of several clocks in one order."""

from inferscope.timeline.merger import TimelineMerger

__all__ = ["TimelineMerger"]
