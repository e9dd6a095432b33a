#!/usr/bin/env python3
"""Waits for a job by looking every 100 ms whether it is done; the job takes about half of that.

Fixed: waits for the result.
"""

import hashlib
import time
from concurrent.futures import ThreadPoolExecutor

from harness import Run, scope

DATA = bytes(range(256)) * 4096


def job(number):
    digest = hashlib.sha256(str(number).encode())
    for _ in range(80):
        digest.update(DATA)
    return digest.hexdigest()


def wait_sleeping(future):
    while not future.done():
        time.sleep(0.100)
    return future.result()


def main():
    run = Run(__doc__, steps=20, seconds=2)
    with ThreadPoolExecutor(1) as pool:
        for number in run:
            with scope("step"):
                future = pool.submit(job, number)
                run.add(future.result() if run.fixed else wait_sleeping(future))
    run.finish()


if __name__ == "__main__":
    main()
