#!/usr/bin/env python3
"""Starts a child for each step to tidy up a text, as one does with a tokenizer's script.

Fixed: the same in the process.
"""

import subprocess

from harness import Run, scope
import numpy as np

LETTERS = "abcdefghij klmnopqrst uvwxyz"


def tidy_by_child(text):
    return subprocess.run(["tr", "a-z", "A-Z"], input=text, stdout=subprocess.PIPE, text=True, check=True).stdout


def tidy(text):
    return text.upper()


def compute(text, weights):
    counts = np.bincount(np.frombuffer(text.encode(), dtype=np.uint8), minlength=512).astype(np.float32)
    state = np.tile(counts, (8, 1))
    for _ in range(16):
        state = np.tanh(state @ weights)
    return float(state.sum(dtype=np.float64))


def main():
    run = Run(__doc__, steps=300, seconds=2)
    weights = np.random.default_rng(9).standard_normal((512, 512), dtype=np.float32) / 20
    for number in run:
        with scope("step"):
            text = LETTERS[number % 20:] * 50
            text = tidy(text) if run.fixed else tidy_by_child(text)
            run.add(f"{compute(text, weights):.2f}")
    run.finish()


if __name__ == "__main__":
    main()
