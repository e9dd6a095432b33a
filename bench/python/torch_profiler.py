"""Runs a program under torch.profiler, with stacks.    torch_profiler.py TRACE PROGRAM [ARGUMENT...]"""

import runpy
import sys

from torch.profiler import ProfilerActivity, profile

trace = sys.argv[1]
sys.argv = sys.argv[2:]
with profile(activities=[ProfilerActivity.CPU], with_stack=True) as profiler:
    runpy.run_path(sys.argv[0], run_name="__main__")
profiler.export_chrome_trace(trace)
