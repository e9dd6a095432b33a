#!/usr/bin/env python3
"""One request in the middle of the run builds an index in Python and takes as long as all others together.

Fixed: numpy builds it.
"""

from harness import Run, scope
import numpy as np

ENTRIES = 3_000_000


def build_index(keys):
    first = {}
    for place, key in enumerate(keys.tolist()):
        bucket = key * 2654435761 % 4096
        if bucket not in first:
            first[bucket] = place
    return [first[bucket] for bucket in range(4096)]


def build_index_array(keys):
    buckets = keys * 2654435761 % 4096
    first = np.zeros(4096, dtype=np.int64)
    first[buckets[::-1]] = np.arange(len(keys))[::-1]  # of several for one bucket the last assignment stays
    return first.tolist()


def compute(state, weights):
    for _ in range(6):
        state = np.tanh(state @ weights)
    return state


def main():
    run = Run(__doc__, steps=120, seconds=1.5)
    generator = np.random.default_rng(14)
    keys = generator.integers(0, 1 << 30, ENTRIES * run.steps // 120)
    weights = generator.standard_normal((512, 512), dtype=np.float32) / 20
    batch = generator.random((96, 512), dtype=np.float32)
    index = []
    for number in run:
        with scope("step"):
            if number == run.steps // 2:
                index = (build_index_array if run.fixed else build_index)(keys)
            run.add(f"{compute(batch, weights).sum(dtype=np.float64):.2f} {sum(index)}")
    run.finish()


if __name__ == "__main__":
    main()
