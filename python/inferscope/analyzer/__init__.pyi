from inferscope.analyzer.bottleneck import BottleneckAnalyzer as BottleneckAnalyzer

__all__ = ["BottleneckAnalyzer"]
