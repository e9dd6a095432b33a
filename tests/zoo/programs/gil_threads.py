#!/usr/bin/env python3
"""Four threads count words in Python: one computes, three wait for the interpreter's lock.

Fixed: two processes.
"""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

from harness import Run, scope

PARTS = 4


def count(seed):
    value, odd = seed + 1, 0
    for _ in range(120_000):
        value = (value * 1103515245 + 12345) & 0x7FFFFFFF
        odd += value >> 8 & 1
    return odd


def main():
    run = Run(__doc__, steps=40, seconds=2)
    if run.fixed:
        pool = ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("fork"))
    else:
        pool = ThreadPoolExecutor(PARTS)
    with pool:
        for number in run:
            with scope("step"):
                run.add(sum(pool.map(count, range(number * PARTS, (number + 1) * PARTS))))
    run.finish()


if __name__ == "__main__":
    main()
