#!/usr/bin/env python3
"""Appends a journal record after every request, and forces each to the disk.

Fixed: the journal is flushed to the disk once, at the end.
"""

import os
import tempfile

from harness import Run, scope
import numpy as np

BATCH = 8


def append(journal, record, durable):
    journal.write(record)
    journal.flush()
    if durable:
        os.fsync(journal.fileno())


def main():
    run = Run(__doc__, steps=160, seconds=2)
    generator = np.random.default_rng(5)
    weights = generator.random((700, 700), dtype=np.float32)
    batch = generator.random((24, 700), dtype=np.float32)
    disk = os.environ.get("TMPDIR", "/var/tmp")
    with tempfile.TemporaryDirectory(dir=disk) as folder, open(f"{folder}/journal", "wb") as journal:
        for number in run:
            with scope("step"):
                for request in range(BATCH):
                    total = float((batch @ weights).sum(dtype=np.float64))
                    append(journal, f"{number} {request} {total:.3f}\n".encode() * 20, durable=not run.fixed)
                    run.add(total)
        os.fsync(journal.fileno())
    run.finish()


if __name__ == "__main__":
    main()
