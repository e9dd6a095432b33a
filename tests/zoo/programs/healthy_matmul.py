#!/usr/bin/env python3
"""Healthy: multiplies matrices on all cores."""

import os

from harness import Run, scope
import torch


def main():
    run = Run(__doc__, steps=60, seconds=2)
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    torch.manual_seed(20)
    first, second = torch.rand(1024, 1024), torch.rand(1024, 1024)
    for _ in run:
        with scope("step"):
            run.add(f"{(first @ second).double().mean().item():.2f}")
    run.finish()


if __name__ == "__main__":
    main()
