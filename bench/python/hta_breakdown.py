"""HolisticTraceAnalysis on one trace: how long loading and the temporal breakdown take, without importing HTA."""

import sys
import time

from hta.trace_analysis import TraceAnalysis

start = time.perf_counter()
analysis = TraceAnalysis(trace_files={0: sys.argv[1]}, trace_dir="")
breakdown = analysis.get_temporal_breakdown(visualize=False)
print("seconds", time.perf_counter() - start)
print(breakdown.to_string())
