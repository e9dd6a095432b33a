"""The loop of examples/opencl/recommend.py, in its fixed form: tinygrad on an OpenCL device.    tinygrad_infer.py BLOCKS

A block is 64 steps, in which all users come once; the figures are medians of the blocks, by the wall and by the processor time of
all threads.  Nobody is kept on a core: where the device is the processor, it needs them.
"""

import statistics
import sys
import time
from pathlib import Path

import workload

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples" / "opencl"))
sys.dont_write_bytecode = True
import recommend  # noqa: E402

BLOCK = 64


def infer(recommender, spent):
    start = time.process_time()
    for number in range(BLOCK):
        recommender.step(number)
    spent.append(time.process_time() - start)


recommender, spent = recommend.Recommender(fixed=True), []
infer(recommender, [])
seconds = workload.seconds(lambda: infer(recommender, spent), int(sys.argv[1]))
workload.finish(None, seconds=seconds, cpu_seconds=statistics.median(spent))
