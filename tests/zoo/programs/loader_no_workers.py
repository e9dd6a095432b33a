#!/usr/bin/env python3
"""A DataLoader without workers: the main process makes the samples, then computes.

Fixed: one worker makes them meanwhile.
"""

from harness import Run, network, scope
import torch
from torch.utils.data import DataLoader, Dataset

BATCH, WIDTH = 16, 512


class Letters(Dataset):
    def __init__(self, samples):
        self.samples = samples

    def __len__(self):
        return self.samples

    def __getitem__(self, number):
        value, counts = number + 1, [0.0] * WIDTH
        for _ in range(5000):
            value = (value * 1103515245 + 12345) & 0x7FFFFFFF
            counts[value >> 22] += 1.0
        return torch.tensor(counts)


def main():
    run = Run(__doc__, steps=75, seconds=2)
    model = network(WIDTH, 24)
    loader = DataLoader(Letters(run.steps * BATCH), batch_size=BATCH, num_workers=1 if run.fixed else 0)
    batches = iter(loader)
    for _ in run:
        with scope("step"):
            batch = next(batches)
            for _ in range(2):
                classes = model(batch).argmax(1)
            run.add(bytes(classes.to(torch.uint8).tolist()))
    run.finish()


if __name__ == "__main__":
    main()
