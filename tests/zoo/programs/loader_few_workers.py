#!/usr/bin/env python3
"""A DataLoader whose only worker needs longer for a batch than the model: the main process waits, half the machine is idle.

Fixed: two workers.
"""

from harness import Run, network, scope
import torch
from torch.utils.data import DataLoader, Dataset

BATCH, WIDTH = 16, 256


class Walks(Dataset):
    def __init__(self, samples):
        self.samples = samples

    def __len__(self):
        return self.samples

    def __getitem__(self, number):
        value, counts = number + 1, [0.0] * WIDTH
        for _ in range(8000):
            value = (value * 1103515245 + 12345) & 0x7FFFFFFF
            counts[value >> 23] += 1.0
        return torch.tensor(counts)


def main():
    run = Run(__doc__, steps=100, seconds=2)
    model = network(WIDTH, 6)
    workers = 2 if run.fixed else 1
    batches = iter(DataLoader(Walks(run.steps * BATCH), batch_size=BATCH, num_workers=workers))
    for _ in run:
        with scope("step"):
            classes = model(next(batches)).argmax(1)
            run.add(bytes(classes.to(torch.uint8).tolist()))
    run.finish()


if __name__ == "__main__":
    main()
