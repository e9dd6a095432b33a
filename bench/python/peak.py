"""Runs a command: how long it took, and its peak memory in bytes, as one line of JSON.

    peak.py CORE|all COMMAND...

The kernel counts what a process had before it became the command, so a small one has to start it.
"""

import json
import os
import subprocess
import sys
import time

core, *command = sys.argv[1:]
if core != "all":
    os.sched_setaffinity(0, {int(core)})
start = time.perf_counter()
process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(process.pid, 0)
seconds = time.perf_counter() - start
process.returncode = os.waitstatus_to_exitcode(status)
print(json.dumps({"seconds": seconds, "peak": usage.ru_maxrss * 1024}))
sys.exit(process.returncode)
