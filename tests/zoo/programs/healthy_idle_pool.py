#!/usr/bin/env python3
"""Healthy: 64 pool threads that wait for work beside a loop that computes."""

import threading
from concurrent.futures import ThreadPoolExecutor

from harness import Run, scope
import numpy as np

THREADS = 64


def main():
    run = Run(__doc__, steps=120, seconds=2)
    generator = np.random.default_rng(22)
    weights = generator.standard_normal((768, 768), dtype=np.float32) / 28
    batch = generator.random((192, 768), dtype=np.float32)
    with ThreadPoolExecutor(THREADS) as pool:
        barrier = threading.Barrier(THREADS)
        list(pool.map(lambda _: barrier.wait(), range(THREADS)))  # every thread has been started
        for _ in run:
            with scope("step"):
                state = batch
                for _ in range(5):
                    state = np.maximum(state @ weights, 0)
                run.add(f"{state.sum(dtype=np.float64):.1f}")
    run.finish()


if __name__ == "__main__":
    main()
