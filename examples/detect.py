#!/usr/bin/env python3
"""Finds objects in the frames of a camera with a convolutional network: PyTorch, CPU.  Slower than it need be.

    detect.py [--fixed] [--frames N] [--threads N]
    inferscope run detect.py

The network gives each cell of a grid a score and a box; find_objects() goes over the cells and keeps those with a good score.
That takes about as long as the network, since every scores[cell] is a tensor of its own; `inferscope run` says so.  With
--fixed, find_objects_fixed() compares all scores at once.  Boxes and checksum stay the same: weights and frames come from
a fixed seed, so the objects mean nothing.
"""

import argparse
import struct
import time
import zlib

import torch
from torch import nn

SIDE, SCENE = 160, 1000
THRESHOLD = 0.85


def find_objects(scores, boxes):
    good = []
    for cell in range(len(scores)):
        if scores[cell] > THRESHOLD:
            good.append(cell)
    return boxes[good].tolist()


def find_objects_fixed(scores, boxes):
    return boxes[scores > THRESHOLD].tolist()


class Detector(nn.Module):
    """Score and box for each cell of 8 by 8 pixels.  The last norm makes cells differ, which without training they hardly do."""

    def __init__(self):
        super().__init__()
        layers, channels = [], 3
        for wider, stride in ((16, 2), (32, 2), (64, 2), (64, 1), (64, 1)):
            layers += [nn.Conv2d(channels, wider, 3, stride, padding=1), nn.ReLU()]
            channels = wider
        self.layers = nn.Sequential(*layers, nn.Conv2d(channels, 5, 1), nn.InstanceNorm2d(5))

    def forward(self, frame):
        cells = self.layers(frame[None])[0].flatten(1).T
        return cells[:, 0].sigmoid(), cells[:, 1:]


@torch.inference_mode()
def detect(detector, frame, find):
    return find(*detector(frame))


def warm_up(detector, scene, find):
    """Frames that do not count: during the first ones the libraries are read from the disk."""
    for left in range(5):
        detect(detector, scene[:, :, left:left + SIDE], find)


def main():
    parser = argparse.ArgumentParser(description="Finds objects in the frames of a camera with a convolutional network.")
    parser.add_argument("--fixed", action="store_true", help="compare the scores of all cells at once")
    parser.add_argument("--frames", type=int, default=600, help="600 unless given")
    parser.add_argument("--threads", type=int, default=1, help="of PyTorch")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)

    detector, scene = Detector().eval(), torch.rand(3, SIDE, SCENE)
    find = find_objects_fixed if options.fixed else find_objects
    warm_up(detector, scene, find)
    checksum = objects = 0
    start = time.perf_counter()
    for number in range(options.frames):
        left = number % (SCENE - SIDE)  # the camera turns
        for box in detect(detector, scene[:, :, left:left + SIDE], find):
            checksum = zlib.crc32(struct.pack("4f", *box), checksum)
            objects += 1
    milliseconds = (time.perf_counter() - start) / options.frames * 1e3
    print(f"{objects} objects, checksum {checksum:08x}, {milliseconds:.2f} ms per frame")


if __name__ == "__main__":
    main()
