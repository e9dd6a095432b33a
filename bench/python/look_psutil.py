"""What `top` shows of a process and its threads, asked of psutil at an interval: look_psutil.py PID SECONDS"""

import sys
import time

import psutil

interval = float(sys.argv[2])
process = psutil.Process(int(sys.argv[1]))
due = time.monotonic()
while True:
    with process.oneshot():
        process.cpu_percent(), process.cpu_times(), process.memory_info(), process.num_threads(), process.status()
        process.io_counters()
        process.threads()
    process.children(recursive=True)
    psutil.cpu_times(), psutil.virtual_memory(), psutil.swap_memory(), psutil.disk_io_counters(perdisk=True)
    psutil.net_io_counters(pernic=True)
    due += interval
    time.sleep(max(0, due - time.monotonic()))
