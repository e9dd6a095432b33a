"""A training loop of PyTorch: a small convolutional network, batches from a DataLoader.    torch_train.py BLOCKS

A block is 40 steps; the figure is the median of the blocks.  One thread and one core, so that what looks on has the other.
"""

import sys

import torch
from torch.utils.data import DataLoader, TensorDataset

import workload

STEPS, BATCH = 40, 32

workload.pin()
torch.set_num_threads(1)
torch.manual_seed(1)
layers = torch.nn
model = layers.Sequential(layers.Conv2d(3, 16, 3, padding=1), layers.ReLU(), layers.MaxPool2d(2), layers.Conv2d(16, 32, 3, padding=1),
                          layers.ReLU(), layers.AdaptiveAvgPool2d(4), layers.Flatten(), layers.Linear(512, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
images = TensorDataset(torch.randn(STEPS * BATCH, 3, 32, 32), torch.randint(0, 10, (STEPS * BATCH,)))
loader = DataLoader(images, batch_size=BATCH)


def train():
    for data, target in loader:
        optimizer.zero_grad()
        layers.functional.cross_entropy(model(data), target).backward()
        optimizer.step()


train()
workload.finish(None, seconds=workload.seconds(train, int(sys.argv[1])))
