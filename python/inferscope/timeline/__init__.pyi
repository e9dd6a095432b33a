from inferscope.timeline.merger import TimelineMerger as TimelineMerger

__all__ = ["TimelineMerger"]
