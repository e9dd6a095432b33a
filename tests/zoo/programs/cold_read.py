#!/usr/bin/env python3
"""Reads a 24 MB shard from the disk each step, since the cache was told to drop it.

Fixed: the cache keeps it.
"""

import os
import tempfile

from harness import Run, scope
import numpy as np

SIZE = 24 << 20


def read_shard(path, keep):
    with open(path, "rb", buffering=0) as file:
        data = file.read()
        if not keep:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return data


def compute(data):
    values = np.frombuffer(data, dtype=np.uint16)
    return int(np.bincount(values).max())


def main():
    run = Run(__doc__, steps=40, seconds=2)
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR", "/var/tmp")) as folder:
        path = f"{folder}/shard"
        with open(path, "wb") as file:
            file.write(np.random.default_rng(4).bytes(SIZE))
            file.flush()
            os.fsync(file.fileno())
        for _ in run:
            with scope("step"):
                run.add(compute(read_shard(path, keep=run.fixed)))
    run.finish()


if __name__ == "__main__":
    main()
