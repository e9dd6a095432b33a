"""Analyses: where the time of a trace went, and what to change."""

from inferscope.analyzer.bottleneck_analyzer import BottleneckAnalyzer

__all__ = ["BottleneckAnalyzer"]
