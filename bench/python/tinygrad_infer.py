"""The loop of examples/opencl/recommend.py, in its fixed form: tinygrad on an OpenCL device.  Takes turns (turns.py).

A block is 64 steps, in which all users come once.  Nobody is kept on a core: where the device is the processor, it needs them.
"""

import sys
from pathlib import Path

import workload

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples" / "opencl"))
sys.dont_write_bytecode = True
import recommend  # noqa: E402

BLOCK = 64


def infer():
    for number in range(BLOCK):
        recommender.step(number)


recommender = recommend.Recommender(fixed=True)
infer()
workload.turns(infer)
