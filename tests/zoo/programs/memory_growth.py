#!/usr/bin/env python3
"""Keeps every step's loss with its graph, for a mean at the end: memory grows with each step, and none is used again.

Fixed: keeps the number.
"""

from harness import Run, scope
import torch
from torch import nn

WIDTH, BATCH = 32, 16384


def main():
    run = Run(__doc__, steps=50, seconds=1.5)
    torch.set_num_threads(1)
    torch.manual_seed(15)
    model = nn.Sequential(*[part for _ in range(8) for part in (nn.Linear(WIDTH, WIDTH), nn.Tanh())])
    batch = torch.rand(BATCH, WIDTH)
    losses = []
    for _ in run:
        with scope("step"):
            loss = model(batch).square().mean()
            losses.append(loss.item() if run.fixed else loss)
    run.add(f"{sum(float(loss) if run.fixed else loss.item() for loss in losses) / len(losses):.5g}")
    run.finish()


if __name__ == "__main__":
    main()
