#!/usr/bin/env python3
"""Finds out which topics users may want: tinygrad, on an OpenCL device.  Slower than it need be.

    recommend.py [--fixed] [--steps N] [--seconds S]
    inferscope run recommend.py

A step is a batch of users: the vectors of what they looked at last are taken from a catalogue, and three layers make of them how
much they may want each topic.  The catalogue is in memory of the host, and becomes a tensor where it is needed, in each step:
64 MB are copied to the device, which computes nothing meanwhile.  With --fixed it is copied once.

The second last line is the checksum of all results, the last one the time of a step.
"""

import argparse
import os
import time
import zlib

os.environ.setdefault("DEV", "CL")  # before tinygrad is imported

import numpy  # noqa: E402
from tinygrad import Tensor, TinyJit  # noqa: E402

try:
    from inferscope import scope
except ImportError:  # without InferScope the marks do nothing
    from contextlib import nullcontext as scope

ITEMS, WIDTH, LAYERS = 131072, 128, 3
USERS, HISTORY = 32, 8
STEPS, SECONDS = 100, 2
WARM_UP = 5  # tinygrad compiles in the first two, and captures what is to be run again


class Recommender:
    def __init__(self, fixed):
        source = numpy.random.default_rng(1)

        def values(*shape):
            return source.standard_normal(shape, numpy.float32) / numpy.float32(WIDTH ** 0.5)

        self.catalogue = values(ITEMS, WIDTH)
        self.layers = [Tensor(values(WIDTH, WIDTH)).realize() for _ in range(LAYERS)]
        self.on_device = self.upload() if fixed else None
        self.users = source.integers(0, ITEMS, (64, USERS, HISTORY), numpy.int32)
        self.run = TinyJit(self.score)

    def upload(self):
        return Tensor(self.catalogue).realize()

    def score(self, seen, catalogue):
        """How much each user may want each topic."""
        wanted = catalogue[seen].mean(axis=1)
        for weights in self.layers:
            wanted = (wanted @ weights).relu()
        return wanted.softmax().realize()

    def step(self, number):
        catalogue = self.on_device if self.on_device is not None else self.upload()
        seen = Tensor(self.users[number % len(self.users)]).realize()
        return self.run(seen, catalogue).numpy()


def main():
    parser = argparse.ArgumentParser(description="Finds out which topics users may want.")
    parser.add_argument("--fixed", action="store_true", help="keep the catalogue on the device")
    parser.add_argument("--steps", type=int, help=f"{STEPS} unless given")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="as many steps as take about that long in the slow form")
    options = parser.parse_args()
    steps = max(options.steps or round(STEPS * options.seconds / SECONDS), 10)
    recommender, checksum = Recommender(options.fixed), 0
    for number in range(WARM_UP):
        recommender.step(number)
    start = time.perf_counter()
    for number in range(steps):
        with scope("step"):
            checksum = zlib.crc32(recommender.step(number), checksum)
    milliseconds = (time.perf_counter() - start) / steps * 1e3
    print(f"checksum {checksum:08x}\n{milliseconds:.3f} ms per step")


if __name__ == "__main__":
    main()
