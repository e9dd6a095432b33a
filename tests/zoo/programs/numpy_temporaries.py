#!/usr/bin/env python3
"""An expression over 48 MB arrays: each temporary is mapped, faulted in and unmapped again.

Fixed: one buffer, reused with out=.
"""

from harness import Run, scope
import numpy as np

ELEMENTS = 12_000_000


def evaluate(first, second):
    scaled = first * 0.5
    shifted = scaled + second
    product = shifted * first
    return product - second


def evaluate_in_place(first, second, buffer):
    np.multiply(first, 0.5, out=buffer)
    np.add(buffer, second, out=buffer)
    np.multiply(buffer, first, out=buffer)
    np.subtract(buffer, second, out=buffer)
    return buffer


def main():
    run = Run(__doc__, steps=36, seconds=2)
    generator = np.random.default_rng(12)
    first = generator.random(ELEMENTS, dtype=np.float32)
    second = generator.random(ELEMENTS, dtype=np.float32)
    buffer = np.empty_like(first)
    for _ in run:
        with scope("step"):
            result = evaluate_in_place(first, second, buffer) if run.fixed else evaluate(first, second)
            run.add(float(result.sum()))
    run.finish()


if __name__ == "__main__":
    main()
