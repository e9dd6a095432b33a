"""The garbage collector's callbacks and counts, and memory as tracemalloc sees it."""

import gc
import sys
import tracemalloc


class Node:
    def __init__(self):
        self.me = self


def make(n):
    for _ in range(n):
        Node()


gc.collect()
print(gc.isenabled(), gc.get_threshold(), gc.get_debug(), gc.get_freeze_count(), len(gc.callbacks), len(gc.garbage))
phases = []
gc.callbacks.append(lambda phase, info: phases.append((phase, info["generation"], info["collected"], info["uncollectable"])))
gc.disable()
make(100)
print("collected", gc.collect())
print(phases)
gc.callbacks.clear()
before = sys.getallocatedblocks()
make(1000)
gc.collect()
print("blocks kept:", sys.getallocatedblocks() - before < 60)
tracemalloc.start(10)
first = tracemalloc.take_snapshot()
kept = [bytearray(1000) for _ in range(1000)]
difference = tracemalloc.take_snapshot().compare_to(first, "lineno")
line = difference[0]
print(line.traceback[0].lineno, line.count_diff // 10, line.size_diff // 10000)
print("traced", tracemalloc.get_traced_memory()[0] // 100000, len(tracemalloc.get_object_traceback(kept[0])))
print("counts", sys.getrefcount(kept), sys.getrefcount(make), sys.getrefcount(Node) < 10)
