from inferscope.collectors.cpu import CollectorState as CollectorState, CpuCollector as CpuCollector

__all__: list[str]
