#!/usr/bin/env python3
"""Healthy: a short script that imports torch and does next to nothing with it."""

from harness import Run
import torch


def main():
    run = Run(__doc__, steps=4, seconds=1)
    run.add(int(torch.arange(1000).sum()))
    run.finish(whole_run=True)


if __name__ == "__main__":
    main()
