#!/usr/bin/env python3
"""Classifies images with a small residual network: PyTorch, CPU.

    cnn.py [--steps N] [--threads N]
    inferscope run --trace cnn.sbt -- python3 cnn.py

The images are files in memory (PPM, the plainest format there is), each with another size.  A step decodes a batch of them,
scales and crops in PyTorch, normalises, and runs the network.  Weights and images come from a fixed seed: the classes mean
nothing, and are always the same.
"""

import argparse
import random
import time
import zlib

import torch
import torch.nn.functional as F
from torch import nn

try:
    from inferscope import mark_event, scope
except ImportError:  # without InferScope the marks do nothing
    from contextlib import nullcontext as scope

    def mark_event(name, metadata=None):
        pass

CHANNELS, CLASSES = (16, 32, 64), 10
BATCH, SIDE = 8, 48
WARM_UP = 5
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def image_file(source):
    """Coloured stripes with noise, as the bytes of a PPM file."""
    width, height = source.randint(56, 96), source.randint(56, 96)
    colour, stripe = source.choices(range(256), k=3), source.randint(2, 12)
    noise = source.randbytes(3 * width * height)
    pixels = bytes((colour[at % 3] * (at // 3 // stripe % 2) + (noise[at] & 31)) & 255 for at in range(len(noise)))
    return b"P6\n# made up\n%d %d\n255\n" % (width, height) + pixels


def read_field(data, at):
    """The next word of a PPM header and where it ends; a comment goes to the end of its line."""
    while data[at:at + 1].isspace() or data[at:at + 1] == b"#":
        at = data.index(b"\n", at) + 1 if data[at:at + 1] == b"#" else at + 1
    end = at
    while not data[end:end + 1].isspace():
        end += 1
    return data[at:end], end


def decode(data):
    """A PPM file as a tensor of bytes: colour, row, column."""
    fields, at = [], 0
    for _ in range(4):
        field, at = read_field(data, at)
        fields.append(field)
    if fields[0] != b"P6" or fields[3] != b"255":
        raise ValueError("not a PPM file with a byte a colour")
    width, height = int(fields[1]), int(fields[2])
    pixels = torch.frombuffer(bytearray(data[at + 1:]), dtype=torch.uint8)
    return pixels.view(height, width, 3).permute(2, 0, 1)


def scale_and_crop(image):
    """Scales the short side to SIDE and cuts out the middle."""
    _, height, width = image.shape
    short = min(height, width)
    size = (max(SIDE, height * SIDE // short), max(SIDE, width * SIDE // short))
    scaled = F.interpolate(image[None].float(), size=size, mode="bilinear", align_corners=False)[0]
    top, left = (size[0] - SIDE) // 2, (size[1] - SIDE) // 2
    return scaled[:, top:top + SIDE, left:left + SIDE]


def normalise(batch):
    mean, deviation = (torch.tensor(values).view(1, 3, 1, 1) for values in (MEAN, DEVIATION))
    return (batch / 255 - mean) / deviation


class Residual(nn.Module):
    def __init__(self, before, after, stride):
        super().__init__()
        self.first = nn.Conv2d(before, after, 3, stride, padding=1, bias=False)
        self.second = nn.Conv2d(after, after, 3, padding=1, bias=False)
        self.norm_first, self.norm_second = nn.BatchNorm2d(after), nn.BatchNorm2d(after)
        self.shortcut = nn.Identity() if before == after and stride == 1 else nn.Conv2d(before, after, 1, stride, bias=False)

    def forward(self, x):
        y = F.relu(self.norm_first(self.first(x)))
        return F.relu(self.norm_second(self.second(y)) + self.shortcut(x))


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, CHANNELS[0], 3, padding=1, bias=False), nn.BatchNorm2d(CHANNELS[0]), nn.ReLU())
        pairs = zip((CHANNELS[0], *CHANNELS), CHANNELS)
        stages = (nn.Sequential(Residual(before, after, 2), Residual(after, after, 1)) for before, after in pairs)
        self.stages = nn.ModuleList(stages)
        self.head = nn.Linear(CHANNELS[-1], CLASSES)

    def forward(self, x):
        x = self.stem(x)
        for number, stage in enumerate(self.stages):
            with scope(f"stage {number}"):
                x = stage(x)
        return self.head(x.mean((2, 3)))


class Server:
    """The network with what is around it; step() answers one batch."""

    def __init__(self):
        torch.manual_seed(1)
        self.network = Network().eval()
        source = random.Random(1)
        self.files = [image_file(source) for _ in range(8 * BATCH)]

    def load(self, files):
        with scope("decode"):
            images = [decode(data) for data in files]
        with scope("scale"):
            batch = torch.stack([scale_and_crop(image) for image in images])
        with scope("normalise"):
            return normalise(batch)

    @torch.inference_mode()
    def step(self, number):
        with scope("step"):
            first = number * BATCH % len(self.files)
            batch = self.load(self.files[first:first + BATCH])
            with scope("forward"):
                return self.network(batch).argmax(1).tolist()


def main():
    parser = argparse.ArgumentParser(description="Classifies images with a small residual network.")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--threads", type=int, default=1, help="of PyTorch")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)

    server = Server()
    for number in range(WARM_UP):
        server.step(number)
    mark_event("ready", metadata={"steps": options.steps, "parameters": sum(p.numel() for p in server.network.parameters())})
    checksum, start = 0, time.perf_counter()
    for number in range(options.steps):
        checksum = zlib.crc32(bytes(server.step(number)), checksum)
    seconds = time.perf_counter() - start
    print(f"{options.steps} steps of {BATCH} images, classes {checksum:08x}, {options.steps / seconds:.0f} steps a second")


if __name__ == "__main__":
    main()
