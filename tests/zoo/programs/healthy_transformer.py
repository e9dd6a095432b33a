#!/usr/bin/env python3
"""Healthy: a transformer encoder classifies batches."""

import os

from harness import Run, scope
import torch
from torch import nn


def main():
    run = Run(__doc__, steps=40, seconds=2)
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    torch.manual_seed(21)
    layer = nn.TransformerEncoderLayer(256, 8, 1024, batch_first=True)
    model = nn.TransformerEncoder(layer, 4, enable_nested_tensor=False).eval()
    batch = torch.rand(8, 128, 256)
    with torch.inference_mode():
        for _ in run:
            with scope("step"):
                run.add(",".join(map(str, model(batch).mean(1).argmax(1).tolist())))
    run.finish()


if __name__ == "__main__":
    main()
