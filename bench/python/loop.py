"""No calls at all: two million times round a loop."""

import workload


def loop():
    total = 0
    for i in range(2_000_000):
        total += i & 7
    return total


workload.pin()
loop()
workload.finish(None, seconds=workload.seconds(loop, repeats=3))
