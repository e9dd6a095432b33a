#!/usr/bin/env python3
"""Eight torch threads for each core, as a container gets that counts the host's cores.

Fixed: one for each core.
"""

import os

from harness import Run, scope
import torch


def compute(state, weights):
    for _ in range(30):
        state = torch.tanh(state @ weights)
        state = torch.softmax(state, 1) * 30
    return state


def main():
    run = Run(__doc__, steps=40, seconds=2)
    cores = len(os.sched_getaffinity(0))
    torch.set_num_threads(cores if run.fixed else 8 * cores)
    torch.set_grad_enabled(False)
    torch.manual_seed(11)
    weights = torch.randn(384, 384) / 20
    state = torch.randn(192, 384)
    for _ in run:
        with scope("step"):
            run.add(f"{compute(state, weights).double().sum().item():.1f}")
    run.finish()


if __name__ == "__main__":
    main()
