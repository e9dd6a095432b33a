from inferscope.analyzer.bottleneck_analyzer import BottleneckAnalyzer as BottleneckAnalyzer

__all__ = ["BottleneckAnalyzer"]
