#!/usr/bin/env python3
"""Healthy: four threads that compress, without the interpreter's lock, on however many cores there are."""

import random
import zlib
from concurrent.futures import ThreadPoolExecutor

from harness import Run, scope

THREADS = 4


def main():
    run = Run(__doc__, steps=50, seconds=2)
    source = random.Random(24)
    block = bytes(source.choices(b"abcdefgh", k=200_000))
    blocks = [block[place * 1000:] + block[:place * 1000] for place in range(THREADS)]
    with ThreadPoolExecutor(THREADS) as pool:
        for _ in run:
            with scope("step"):
                for packed in pool.map(zlib.compress, blocks):
                    run.add(len(packed))
    run.finish()


if __name__ == "__main__":
    main()
