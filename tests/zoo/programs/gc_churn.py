#!/usr/bin/env python3
"""Builds many small containers beside a large live heap: the collector walks all of it again and again.

Fixed: collector off around the loop; nothing here is a cycle.
"""

import gc

from harness import Run, scope


class Node:
    def __init__(self, key, links):
        self.key, self.links = key, links


def build(number, kept):
    nodes = [Node(key, [key, key + 1]) for key in range(number, number + 12_000)]
    kept.append(nodes)
    if len(kept) > 4:
        kept.pop(0)
    return sum(node.links[1] for node in nodes)


def main():
    run = Run(__doc__, steps=70, seconds=2)
    heap = [{"key": key, "values": [key]} for key in range(150_000)]
    gc.set_threshold(700, 3, 3)
    if run.fixed:
        gc.disable()
    kept = []
    for number in run:
        with scope("step"):
            run.add(build(number, kept))
    run.add(len(heap))
    run.finish()


if __name__ == "__main__":
    main()
