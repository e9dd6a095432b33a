#!/usr/bin/env python3
"""Two causes: a loader without workers (about 30 % of a step) and a flushed line for each result (about 20 %).

Fixed: a worker, and the lines of a step at once.
"""

import tempfile

from harness import Run, network, scope
import torch
from torch.utils.data import DataLoader, Dataset

BATCH, WIDTH, LINES = 16, 512, 1600


class Letters(Dataset):
    def __init__(self, samples):
        self.samples = samples

    def __len__(self):
        return self.samples

    def __getitem__(self, number):
        value, counts = number + 1, [0.0] * WIDTH
        for _ in range(4500):
            value = (value * 1103515245 + 12345) & 0x7FFFFFFF
            counts[value >> 22] += 1.0
        return torch.tensor(counts)


def show(values, log):
    for place, value in enumerate(values):
        print("result", place, value, file=log, flush=True)


def show_at_once(values, log):
    print("".join(f"result {place} {value}\n" for place, value in enumerate(values)), end="", file=log, flush=True)


def main():
    run = Run(__doc__, steps=55, seconds=2)
    model = network(WIDTH, 24)
    loader = DataLoader(Letters(run.steps * BATCH), batch_size=BATCH, num_workers=1 if run.fixed else 0)
    batches = iter(loader)
    with tempfile.TemporaryDirectory() as folder, open(f"{folder}/log", "w") as log:
        for _ in run:
            with scope("step"):
                batch = next(batches)
                for _ in range(3):
                    result = model(batch)
                values = result.argmax(1).tolist() * (LINES // BATCH)
                (show_at_once if run.fixed else show)(values, log)
                run.add(repr(values[:BATCH]))
    run.finish()


if __name__ == "__main__":
    main()
