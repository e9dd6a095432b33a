"""No calls at all: a quarter of a million times round a loop.

What is looked for is smaller than what it does to a loop where its numbers and the interpreter's own variables happen to lie in
memory, and than what neighbours on the same machine do, who only ever make it slower.  So heap and stack are somewhere else
each time, and the quickest counts.
"""

import random

import workload


def loop():
    total = 0
    for i in range(250_000):
        total += i & 7
    return total


def further_down(levels):
    """The same with more on the C stack, of two functions that take a different amount of it."""
    if levels == 0:
        return workload.seconds(loop)
    if levels % 2:
        return next(map(further_down, [levels - 1]))
    found = []
    sorted([0], key=lambda _: found.append(further_down(levels - 1)))
    return found[0]


workload.pin()
loop()
times, padding = [], []
for i in range(32):
    padding.append([1 << 40 | i for i in range(random.randrange(200))])
    times.append(further_down(i % 8))
workload.finish(None, seconds=min(times))
