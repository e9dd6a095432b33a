#!/usr/bin/env python3
"""Healthy: a DataLoader whose worker is faster than the model."""

from harness import Run, network, scope
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

BATCH, WIDTH = 16, 512


class Samples(Dataset):
    def __init__(self, samples):
        self.samples = samples

    def __len__(self):
        return self.samples

    def __getitem__(self, number):
        values = np.random.default_rng(number).random((4, WIDTH), dtype=np.float32)
        return torch.from_numpy(np.sort(values.mean(axis=0)))


def main():
    run = Run(__doc__, steps=90, seconds=2)
    model = network(WIDTH, 24)
    batches = iter(DataLoader(Samples(run.steps * BATCH), batch_size=BATCH, num_workers=1, prefetch_factor=4))
    for _ in run:
        with scope("step"):
            batch = next(batches)
            for _ in range(4):
                classes = model(batch).argmax(1)
            run.add(",".join(map(str, classes.tolist())))
    run.finish()


if __name__ == "__main__":
    main()
