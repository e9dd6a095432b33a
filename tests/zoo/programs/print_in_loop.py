#!/usr/bin/env python3
"""Prints a line for each token, flushed, while it decodes.

Fixed: prints the tokens of a step at once.
"""

import tempfile

from harness import Run, scope
import numpy as np

TOKENS = 2500


def decode(weights, state):
    for _ in range(6):
        state = np.tanh(weights @ state)
    return state


def show(tokens, log):
    for place, token in enumerate(tokens):
        print("token", place, token, file=log, flush=True)


def show_at_once(tokens, log):
    print("".join(f"token {place} {token}\n" for place, token in enumerate(tokens)), end="", file=log, flush=True)


def main():
    run = Run(__doc__, steps=110, seconds=2)
    generator = np.random.default_rng(6)
    weights = generator.standard_normal((TOKENS, TOKENS), dtype=np.float32) / 50
    state = generator.standard_normal((TOKENS,), dtype=np.float32)
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/log", "w") as log:
            for _ in run:
                with scope("step"):
                    state = decode(weights, state)
                    tokens = (state * 1000).astype(int).tolist()
                    (show_at_once if run.fixed else show)(tokens, log)
        with open(f"{folder}/log", "rb") as log:
            run.add(str(len(log.read().splitlines())))
    run.finish()


if __name__ == "__main__":
    main()
