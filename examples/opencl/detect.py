#!/usr/bin/env python3
"""Finds objects in images with a small convolutional network: pyopencl.  Slower than it need be.

    detect.py [--fixed] [--steps N] [--seconds S]
    inferscope run detect.py

The network is that of classify.c, with the same weights and images, hence the same bits.  A step is a batch: the network on the
device, then find_objects() on the host, which goes over what the device says of each pixel.  It reads the results of a batch
and only then goes on, so the device has nothing to do while objects are searched for.  With --fixed the next batch is on the
device meanwhile.

The second last line is the checksum of all results and objects, the last one the time of a step.
"""

import argparse
import struct
import time
import zlib
from pathlib import Path

import numpy
import pyopencl

try:
    from inferscope import scope
except ImportError:  # without InferScope the marks do nothing
    from contextlib import nullcontext as scope

BATCH, SCENE = 64, 64
SIDE, COLORS, CLASSES = 16, 3, 10
SHAPES = ((COLORS, 8, 16, 2), (8, 8, 8, 2), (8, 8, 4, 1))  # channels in, out, side, stride
CHANNELS, CELLS = 8, 4
ROW = CELLS + 2  # of cells, with one more on either side
INNER = [row * ROW + column for row in range(1, CELLS + 1) for column in range(1, CELLS + 1)]
AROUND = (-1, 1, -ROW - 1, -ROW, -ROW + 1, ROW - 1, ROW, ROW + 1)
GOOD = 0.11
STEPS, SECONDS = 600, 2


def numbers(count, seed, scale):
    """Look random, are the same everywhere: from -scale to scale."""
    x = numpy.arange(count, dtype=numpy.uint32) ^ numpy.uint32(seed << 24)
    x = (x ^ x >> 16) * numpy.uint32(0x85ebca6b)
    x = (x ^ x >> 13) * numpy.uint32(0xc2b2ae35)
    x = x ^ x >> 16
    return ((x >> 8).astype(numpy.float32) / numpy.float32(8388608) - numpy.float32(1)) * numpy.float32(scale)


class Place:
    """Of a batch on the device, and of its results on the host."""

    def __init__(self, context):
        def array(count):
            return pyopencl.Buffer(context, pyopencl.mem_flags.READ_WRITE, count * 4)

        self.images = array(BATCH * COLORS * SIDE * SIDE)
        self.layers = [array(BATCH * out * (side // stride) ** 2) for _, out, side, stride in SHAPES]
        self.on_device = array(BATCH * CELLS * CELLS * CLASSES)
        self.results = numpy.empty((BATCH, CELLS, CELLS, CLASSES), numpy.float32)
        self.ready = None


class Network:
    def __init__(self):
        device = pyopencl.get_platforms()[0].get_devices()[0]
        self.context = pyopencl.Context([device])
        self.queue = pyopencl.CommandQueue(self.context)
        program = pyopencl.Program(self.context, Path(__file__).with_name("network.cl").read_text()).build()
        self.layer, self.classes = pyopencl.Kernel(program, "layer"), pyopencl.Kernel(program, "classes")
        self.weights = [self.constant(out * into * 9, 1 + 2 * i, 0.25) for i, (into, out, _, _) in enumerate(SHAPES)]
        self.bias = [self.constant(out, 2 + 2 * i, 0.25) for i, (_, out, _, _) in enumerate(SHAPES)]
        self.head = self.constant(CLASSES * CHANNELS, 7, 0.5)

    def constant(self, count, seed, scale):
        flags = pyopencl.mem_flags.READ_ONLY | pyopencl.mem_flags.COPY_HOST_PTR
        return pyopencl.Buffer(self.context, flags, hostbuf=numbers(count, seed, scale))

    def launch(self, place, images):
        """A batch, and what comes of it, without waiting."""
        pyopencl.enqueue_copy(self.queue, place.images, images, is_blocking=False)
        values = place.images
        for weights, bias, out, (channels, kernels, side, stride) in zip(self.weights, self.bias, place.layers, SHAPES):
            self.layer(self.queue, ((side // stride) ** 2, kernels, BATCH), None, values, weights, bias, out,
                       numpy.int32(channels), numpy.int32(side), numpy.int32(stride))
            values = out
        self.classes(self.queue, (CELLS * CELLS, 1, BATCH), None, values, self.head, place.on_device, numpy.int32(CHANNELS),
                     numpy.int32(CLASSES))

    def read(self, place):
        """Waits until the results are here."""
        pyopencl.enqueue_copy(self.queue, place.results, place.on_device)

    def read_later(self, place):
        """They are here when place.ready is."""
        place.ready = pyopencl.enqueue_copy(self.queue, place.results, place.on_device, is_blocking=False)
        self.queue.flush()


def find_objects(results):
    """Where a class fits well, and better than in the cells around: (image, class, cell)."""
    fits = numpy.pad(results.transpose(0, 3, 1, 2), ((0, 0), (0, 0), (1, 1), (1, 1))).reshape(BATCH, CLASSES, -1).tolist()
    objects = []
    for image in range(BATCH):
        for kind in range(CLASSES):
            scores = fits[image][kind]
            for cell in INNER:
                score = scores[cell]
                if score < GOOD:
                    continue
                for around in AROUND:
                    if score < scores[cell + around]:
                        break
                else:
                    objects += (image, kind, cell)
    return objects


class Sum:
    def __init__(self):
        self.value = 0

    def add(self, results, objects):
        self.value = zlib.crc32(struct.pack(f"{len(objects)}i", *objects), zlib.crc32(results, self.value))


def batch(scene, number):
    first = number * BATCH % SCENE
    return scene[first:first + BATCH]


def detect(network, place, images, total):
    """One batch after the other."""
    network.launch(place, images)
    network.read(place)
    total.add(place.results, find_objects(place.results))


def detect_fixed(network, place, other, images, total):
    """What was launched the last time is looked at while the device has the next batch."""
    if images is not None:
        network.launch(other, images)
        network.read_later(other)
    place.ready.wait()
    total.add(place.results, find_objects(place.results))


def run(network, scene, steps, fixed):
    """The checksum, and the seconds of a step after the first tenth of them."""
    places, total = [Place(network.context), Place(network.context)], Sum()
    if fixed:
        network.launch(places[0], batch(scene, 0))
        network.read_later(places[0])
    for number in range(steps):
        if number == steps // 10:
            start = time.perf_counter()
        with scope("step"):
            if fixed:
                images = batch(scene, number + 1) if number + 1 < steps else None
                detect_fixed(network, places[number % 2], places[(number + 1) % 2], images, total)
            else:
                detect(network, places[0], batch(scene, number), total)
    return total.value, (time.perf_counter() - start) / (steps - steps // 10)


def main():
    parser = argparse.ArgumentParser(description="Finds objects in images with a small convolutional network.")
    parser.add_argument("--fixed", action="store_true", help="search while the device works on the next batch")
    parser.add_argument("--steps", type=int, help=f"{STEPS} unless given")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="as many steps as take about that long in the slow form")
    options = parser.parse_args()
    steps = max(options.steps or round(STEPS * options.seconds / SECONDS), 10)
    scene = numbers(SCENE * COLORS * SIDE * SIDE, 0, 1).reshape(SCENE, COLORS, SIDE, SIDE)
    checksum, seconds = run(Network(), scene, steps, options.fixed)
    print(f"checksum {checksum:08x}\n{seconds * 1e3:.3f} ms per step")


if __name__ == "__main__":
    main()
