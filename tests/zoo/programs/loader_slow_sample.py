#!/usr/bin/env python3
"""A DataLoader whose worker augments each sample pixel by pixel, in Python.

Fixed: the same augmentation as three numpy operations.
"""

from harness import Run, network, scope
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

BATCH, SIDE = 8, 32


def augment_pixels(image, gain):
    rows = []
    for row in image.tolist():
        rows.append([min(255, (pixel * gain) // 64) for pixel in reversed(row)])
    return np.array(rows, dtype=np.int64)


def augment_array(image, gain):
    return np.minimum(255, (image[:, ::-1] * gain) // 64)


class Images(Dataset):
    def __init__(self, samples, augment):
        self.samples, self.augment = samples, augment

    def __len__(self):
        return self.samples

    def __getitem__(self, number):
        image = np.random.default_rng(number).integers(0, 256, (4 * SIDE, SIDE))
        for turn in range(4):
            image = self.augment(image, 60 + (number + turn) % 9)
        return torch.from_numpy(image[:SIDE].reshape(-1).astype(np.float32))


def main():
    run = Run(__doc__, steps=60, seconds=2)
    model = network(SIDE * SIDE, 5)
    images = Images(run.steps * BATCH, augment_array if run.fixed else augment_pixels)
    batches = iter(DataLoader(images, batch_size=BATCH, num_workers=1))
    for _ in run:
        with scope("step"):
            classes = model(next(batches)).argmax(1)
            run.add(",".join(map(str, classes.tolist())))
    run.finish()


if __name__ == "__main__":
    main()
