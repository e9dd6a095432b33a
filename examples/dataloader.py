#!/usr/bin/env python3
"""Feeds a model from a DataLoader with worker processes: PyTorch, CPU.

    dataloader.py [--batches N] [--workers N] [--threads N]
    inferscope run --trace dataloader.sbt -- python3 dataloader.py

A sample is made in Python by the worker that is asked for it: a text is generated, its letter pairs are counted, the counts
become a tensor.  That takes longer than the model does, so with few workers the main process waits.  A sample depends on its
number only: the result is the same with any number of workers.
"""

import argparse
import collections
import random
import time
import zlib

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

try:
    from inferscope import mark_event, scope
except ImportError:  # without InferScope the marks do nothing
    from contextlib import nullcontext as scope

    def mark_event(name, metadata=None):
        pass

ALPHABET = "abcdefghijklmnopqrstuvwxyz "
CLASSES, BATCH = 10, 16


class LetterPairs(Dataset):
    def __init__(self, samples):
        self.samples = samples

    def __len__(self):
        return self.samples

    def text(self, number):
        source = random.Random(number)
        weights = [1 + source.random() * (number % 7) for _ in ALPHABET]
        return "".join(source.choices(ALPHABET, weights, k=1500))

    def count(self, text):
        pairs = collections.Counter(map(str.__add__, text, text[1:]))
        return [pairs[first + second] for first in ALPHABET for second in ALPHABET]

    def __getitem__(self, number):
        with scope("generate"):
            text = self.text(number)
        with scope("count"):
            counts = torch.tensor(self.count(text), dtype=torch.float32)
        return counts / counts.sum()


def build_model():
    torch.manual_seed(1)
    size = len(ALPHABET) ** 2
    return nn.Sequential(nn.LayerNorm(size), nn.Linear(size, 256), nn.ReLU(), nn.Linear(256, CLASSES)).eval()


@torch.inference_mode()
def serve(model, loader):
    """Classifies everything the loader gives; how often, and a checksum of the classes."""
    batches = iter(loader)
    steps = checksum = 0
    while True:
        with scope("wait for data"):
            batch = next(batches, None)
        if batch is None:
            return steps, checksum
        with scope("forward"):
            classes = model(batch).argmax(1).tolist()
        checksum = zlib.crc32(bytes(classes), checksum)
        steps += 1


def main():
    parser = argparse.ArgumentParser(description="Feeds a model from a DataLoader with worker processes.")
    parser.add_argument("--batches", type=int, default=250)
    parser.add_argument("--workers", type=int, default=2, help="processes that make samples; 0: the main process does")
    parser.add_argument("--threads", type=int, default=1, help="of PyTorch")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)

    model = build_model()
    loader = DataLoader(LetterPairs(options.batches * BATCH), batch_size=BATCH, num_workers=options.workers)
    mark_event("ready", metadata={"batches": options.batches, "workers": options.workers})
    start = time.perf_counter()
    steps, checksum = serve(model, loader)
    seconds = time.perf_counter() - start
    print(f"{steps} batches of {BATCH} samples, classes {checksum:08x}, {steps / seconds:.0f} batches a second")


if __name__ == "__main__":
    main()
