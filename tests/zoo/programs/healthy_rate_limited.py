#!/usr/bin/env python3
"""Healthy: a server that handles a request every 25 ms because that is when they come."""

import threading
import time

from harness import Run, scope
import numpy as np

PERIOD = 0.025


class Clients:
    """Requests at a fixed pace, through a queue that the server waits at."""

    def __init__(self):
        self.next = time.monotonic()
        self.pause = threading.Event()

    def receive(self):
        self.next += PERIOD
        self.pause.wait(max(0.0, self.next - time.monotonic()))


def handle(batch, weights):
    state = batch
    for _ in range(4):
        state = np.maximum(state @ weights, 0)
    return float(state.sum(dtype=np.float64))


def main():
    run = Run(__doc__, steps=80, seconds=2)
    generator = np.random.default_rng(23)
    weights = generator.standard_normal((512, 512), dtype=np.float32) / 20
    batch = generator.random((64, 512), dtype=np.float32)
    clients = Clients()
    for _ in run:
        clients.receive()
        with scope("step"):
            run.add(f"{handle(batch, weights):.1f}")
    run.finish()


if __name__ == "__main__":
    main()
