"""A training loop of PyTorch: a small convolutional network, batches from a DataLoader.  Takes turns (turns.py).

A block is 20 steps.  One thread and one core, so that what looks on has the other.  Where in memory the tensors come to lie makes
a difference of several per cent, always the same one in programs that allocate the same: each block has them elsewhere.
"""

import random

import torch
from torch.utils.data import DataLoader, TensorDataset

import workload

STEPS, BATCH = 20, 32
PLACES = 16384  # bytes that a tensor may be moved by, which is more than a page and less than a cache

workload.pin()
torch.set_num_threads(1)
torch.manual_seed(1)


class Training:
    def __init__(self):
        self.gaps = []
        layers = torch.nn
        self.model = layers.Sequential(
            self.elsewhere(lambda: layers.Conv2d(3, 16, 3, padding=1)), layers.ReLU(), layers.MaxPool2d(2),
            self.elsewhere(lambda: layers.Conv2d(16, 32, 3, padding=1)), layers.ReLU(), layers.AdaptiveAvgPool2d(4),
            layers.Flatten(), self.elsewhere(lambda: layers.Linear(512, 10)))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01, momentum=0.9)
        images = self.elsewhere(lambda: torch.randn(STEPS * BATCH, 3, 32, 32))
        labels = self.elsewhere(lambda: torch.randint(0, 10, (STEPS * BATCH,)))
        self.loader = DataLoader(TensorDataset(images, labels), batch_size=BATCH)
        self.elsewhere(lambda: self.step(*next(iter(self.loader))))

    def elsewhere(self, make):
        self.gaps.append(torch.empty(random.randrange(PLACES), dtype=torch.uint8))
        return make()

    def step(self, data, target):
        self.optimizer.zero_grad()
        torch.nn.functional.cross_entropy(self.model(data), target).backward()
        self.optimizer.step()

    def train(self):
        for data, target in self.loader:
            self.step(data, target)


workload.turns(Training.train, Training)
