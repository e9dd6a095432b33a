#!/usr/bin/env python3
"""Four threads compress blocks, and hold one lock for all shards meanwhile; the work itself releases the interpreter's lock.

Fixed: a lock for each shard.
"""

import random
import threading
import zlib
from concurrent.futures import ThreadPoolExecutor

from harness import Run, scope

SHARDS = 4


class Store:
    def __init__(self, locks):
        self.locks = [threading.Lock() for _ in range(locks)]
        self.sizes = [0] * SHARDS

    def put(self, shard, block):
        with self.locks[shard % len(self.locks)]:
            self.sizes[shard] += len(zlib.compress(block, 6))


def main():
    run = Run(__doc__, steps=30, seconds=2)
    store = Store(SHARDS if run.fixed else 1)
    source = random.Random(10)
    block = bytes(source.choices(b"abcdefgh", k=120_000))
    blocks = [block[place * 1000:] + block[:place * 1000] for place in range(SHARDS * 2)]

    def fill(shard):
        for block in blocks[shard * 2:shard * 2 + 2]:
            store.put(shard, block)

    with ThreadPoolExecutor(SHARDS) as pool:
        for _ in run:
            with scope("step"):
                list(pool.map(fill, range(SHARDS)))
    run.add(repr(store.sizes))
    run.finish()


if __name__ == "__main__":
    main()
