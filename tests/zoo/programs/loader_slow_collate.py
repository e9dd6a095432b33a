#!/usr/bin/env python3
"""A collate function that pads every sequence element by element before the model runs.

Fixed: torch's own padding.
"""

from harness import Run, network, scope
import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset

BATCH, LENGTH = 32, 512


class Sequences(Dataset):
    def __init__(self, samples):
        generator = torch.Generator().manual_seed(2)
        self.items = [torch.rand(LENGTH - number % 50, generator=generator) for number in range(97)]
        self.items[0] = torch.rand(LENGTH, generator=generator)
        self.samples = samples

    def __len__(self):
        return self.samples

    def __getitem__(self, number):
        return self.items[number % len(self.items)] if number % BATCH else self.items[0]


def collate_elements(samples):
    longest = max(len(sample) for sample in samples)
    rows = []
    for sample in samples:
        row = [0.0] * longest
        for place, value in enumerate(sample.tolist()):
            row[place] = value
        rows.append(row)
    return torch.tensor(rows)


def collate_padded(samples):
    return pad_sequence(samples, batch_first=True)


def main():
    run = Run(__doc__, steps=220, seconds=2)
    model = network(LENGTH, 6)
    collate = collate_padded if run.fixed else collate_elements
    batches = iter(DataLoader(Sequences(run.steps * BATCH), batch_size=BATCH, collate_fn=collate))
    for _ in run:
        with scope("step"):
            classes = model(next(batches)).argmax(1)
            run.add(",".join(map(str, classes.tolist())))
    run.finish()


if __name__ == "__main__":
    main()
