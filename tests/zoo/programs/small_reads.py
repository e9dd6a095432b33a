#!/usr/bin/env python3
"""Reads a 4 MB shard in 256-byte records, a system call each.

Fixed: one read.
"""

import tempfile

from harness import Run, scope
import numpy as np

RECORD, RECORDS = 256, 16384


def read_records(path):
    parts = []
    with open(path, "rb", buffering=0) as file:
        while record := file.read(RECORD):
            parts.append(record)
    return b"".join(parts)


def read_whole(path):
    with open(path, "rb", buffering=0) as file:
        return file.read()


def compute(data, weights):
    values = np.frombuffer(data, dtype=np.uint8).reshape(RECORDS, RECORD)
    return values[:1500].astype(np.float32) @ weights


def main():
    run = Run(__doc__, steps=70, seconds=2)
    read = read_whole if run.fixed else read_records
    generator = np.random.default_rng(3)
    weights = generator.random((RECORD, 512), dtype=np.float32)
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/shard"
        with open(path, "wb") as file:
            file.write(generator.bytes(RECORD * RECORDS))
        for _ in run:
            with scope("step"):
                run.add(float(compute(read(path), weights).mean(dtype=np.float64)))
    run.finish()


if __name__ == "__main__":
    main()
