#!/usr/bin/env python3
"""Forecasts time series of different lengths with an LSTM: PyTorch, CPU.

    lstm.py [--steps N] [--threads N]
    inferscope run --trace lstm.sbt -- python3 lstm.py

The series are rows of text, as a sensor would log them.  A step parses a batch, drops readings that are missing, takes the
series' own mean and spread out, packs the batch by length, and predicts the next value of each.  Weights and series come from
a fixed seed: the forecasts mean nothing, and are always the same.
"""

import argparse
import math
import random
import statistics
import time
import zlib

import torch
from torch import nn
from torch.nn.utils.rnn import pack_sequence, pad_packed_sequence

try:
    from inferscope import mark_event, scope
except ImportError:  # without InferScope the marks do nothing
    from contextlib import nullcontext as scope

    def mark_event(name, metadata=None):
        pass

WIDTH, LAYERS, FEATURES = 64, 2, 3
BATCH = 16
WARM_UP = 5


def log_line(source):
    """A noisy wave of 20 to 60 readings, one in twenty missing."""
    phase, pitch, level = source.random() * 6, 0.1 + source.random() / 2, source.uniform(-20, 20)
    readings = (level + 5 * math.sin(phase + pitch * at) + source.gauss(0, 0.3) for at in range(source.randint(20, 60)))
    return ";".join("-" if source.random() < 0.05 else f"{reading:.2f}" for reading in readings)


def parse(line):
    return [float(word) for word in line.split(";") if word != "-"]


def features(values):
    """A row a reading: its place in the series' spread, the change since the last one, and where in the series it is."""
    mean, spread = statistics.fmean(values), statistics.pstdev(values) or 1.0
    scaled = [(value - mean) / spread for value in values]
    changes = [0.0] + [after - before for before, after in zip(scaled, scaled[1:])]
    return [(value, change, at / len(scaled)) for at, (value, change) in enumerate(zip(scaled, changes))], mean, spread


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(FEATURES, WIDTH, LAYERS, batch_first=True)
        self.head = nn.Linear(WIDTH, 1)

    def forward(self, packed):
        with scope("recurrence"):
            output, lengths = pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
        last = output[torch.arange(len(lengths)), lengths - 1]
        return self.head(last).squeeze(1)


class Server:
    """The model with what is around it; step() answers one batch."""

    def __init__(self):
        torch.manual_seed(1)
        self.model = Forecaster().eval()
        source = random.Random(1)
        self.lines = [log_line(source) for _ in range(20 * BATCH)]

    def prepare(self, lines):
        with scope("parse"):
            series = [parse(line) for line in lines]
        with scope("features"):
            return [features(values) for values in series]

    @torch.inference_mode()
    def step(self, number):
        with scope("step"):
            first = number * BATCH % len(self.lines)
            prepared = self.prepare(self.lines[first:first + BATCH])
            with scope("pack"):
                packed = pack_sequence([torch.tensor(rows) for rows, _, _ in prepared], enforce_sorted=False)
            with scope("forward"):
                forecasts = self.model(packed).tolist()
            return [mean + spread * forecast for forecast, (_, mean, spread) in zip(forecasts, prepared)]


def main():
    parser = argparse.ArgumentParser(description="Forecasts time series of different lengths with an LSTM.")
    parser.add_argument("--steps", type=int, default=250)
    parser.add_argument("--threads", type=int, default=1, help="of PyTorch")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)

    server = Server()
    for number in range(WARM_UP):
        server.step(number)
    mark_event("ready", metadata={"steps": options.steps, "parameters": sum(p.numel() for p in server.model.parameters())})
    checksum, start = 0, time.perf_counter()
    for number in range(options.steps):
        text = " ".join(f"{value:.1f}" for value in server.step(number))
        checksum = zlib.crc32(text.encode(), checksum)
    seconds = time.perf_counter() - start
    print(f"{options.steps} steps of {BATCH} series, forecasts {checksum:08x}, {options.steps / seconds:.0f} steps a second")


if __name__ == "__main__":
    main()
