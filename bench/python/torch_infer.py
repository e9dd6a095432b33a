"""The loop of examples/transformer.py.    torch_infer.py BLOCKS THREADS [PEER]

A block is 50 steps, in which every sentence comes once; the figure is the median of the blocks.  THREADS 0: as many as there
are cores.
"""

import os
import sys
from pathlib import Path

import torch

import workload

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))
sys.dont_write_bytecode = True
import transformer  # noqa: E402

BLOCK = 50


def infer(server):
    for number in range(BLOCK):
        server.step(number)


blocks, threads = int(sys.argv[1]), int(sys.argv[2])
if threads == 1:
    workload.pin()
torch.set_num_threads(threads or len(os.sched_getaffinity(0)))
server = transformer.Server()
peer = workload.start_peer(sys.argv[3]) if len(sys.argv) > 3 else None
infer(server)
workload.finish(peer, seconds=workload.seconds(lambda: infer(server), blocks))
