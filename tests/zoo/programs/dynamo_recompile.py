#!/usr/bin/env python3
"""Compiles a new function object for each request, so that nothing compiled is ever used again.

Fixed: compiled once.  Dynamo only (backend "eager"): needs no C++ compiler.
"""

import os
import tempfile

from harness import Run, network, scope
import torch


def make_handler(model):
    def handle(batch):
        state = model(batch)
        for _ in range(8):
            state = torch.relu(state * 0.5) + batch
        return state.argmax(1)

    return torch.compile(handle, backend="eager")


def serve(run):
    model = network(384, 6)
    batch = torch.rand(64, 384)
    handler = make_handler(model)
    handler(batch)
    for _ in run:
        with scope("step"):
            if not run.fixed:
                torch.compiler.reset()
                handler = make_handler(model)
            for _ in range(4):
                classes = handler(batch)
            run.add(",".join(map(str, classes.tolist())))


def main():
    run = Run(__doc__, steps=6, seconds=2)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = folder
        serve(run)
    run.finish()


if __name__ == "__main__":
    main()
