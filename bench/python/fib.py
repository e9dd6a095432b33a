"""Nothing but calls: 635,621 of them for fib(27).    fib.py [PEER]"""

import sys

import workload


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


workload.pin()
peer = workload.start_peer(sys.argv[1]) if len(sys.argv) > 1 else None
fib(22)
# A peer keeps what it saw in memory, and new memory is part of its cost: once is enough.
workload.finish(peer, seconds=workload.seconds(lambda: fib(27), repeats=1 if peer else 5, pause=0.1))
