#!/usr/bin/env python3
"""A short run that initialises a large model at random, only to load its weights over it.

Fixed: an empty model on the meta device, weights mapped from the file.
"""

import os
import tempfile

from harness import Run, scope
import torch
from torch import nn

WIDTH, LAYERS = 2048, 12


def construct():
    return nn.Sequential(*[nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS)]).eval()


def load(path):
    model = construct()
    model.load_state_dict(torch.load(path))
    return model


def load_mapped(path):
    with torch.device("meta"):
        model = construct()
    model.load_state_dict(torch.load(path, mmap=True), assign=True)
    return model


def save(path):
    """Weights that cost nothing to make: one layer's, under every layer's name."""
    weight = (torch.arange(WIDTH * WIDTH, dtype=torch.float32).reshape(WIDTH, WIDTH) % 7 - 3) / 64
    state = {f"{layer}.weight": weight.clone() for layer in range(LAYERS)}
    state |= {f"{layer}.bias": torch.zeros(WIDTH) for layer in range(LAYERS)}
    torch.save(state, path)


def main():
    run = Run(__doc__, steps=8, seconds=2)
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/weights.pt"
        save(path)
        model = (load_mapped if run.fixed else load)(path)
        batch = torch.ones(4, WIDTH)
        for _ in run:
            with scope("step"):
                run.add(f"{model(batch).double().abs().sum().item():.4g}")
        os.unlink(path)
    run.finish(whole_run=True)


if __name__ == "__main__":
    main()
