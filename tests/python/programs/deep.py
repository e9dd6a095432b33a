"""Goes as deep as its argument says, down and up again; several ways, the depth where the caller knows it is fine."""

import sys
import threading

depth = int(sys.argv[1])
sys.setrecursionlimit(depth + 1000)


def count(n):
    return 0 if n == 0 else 1 + count(n - 1)


def walk(n):
    if n:
        yield n
        yield from walk(n - 1)


class Node:
    def __init__(self, n):
        self.next = Node(n - 1) if n else None

    def length(self):
        return 1 + (self.next.length() if self.next else 0)


def fails(n):
    if n == 0:
        raise ValueError("the bottom")
    try:
        fails(n - 1)
    finally:
        unwound[0] += 1


unwound = [0]
print(count(depth))
try:
    fails(depth)
except ValueError as error:
    print(error, unwound[0])
print(sum(1 for _ in walk(300)))
print(Node(300).length())
threading.stack_size(64 << 20)
thread = threading.Thread(target=lambda: print("in a thread", count(depth)))
thread.start()
thread.join()
print(count(depth))
