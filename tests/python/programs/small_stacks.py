"""Threads with little stack; each goes as deep as is safe without us."""

import sys
import threading


def down(n):
    return 0 if n == 0 else 1 + down(n - 1)


def numbers(n):
    if n:
        yield from numbers(n - 1)
    yield n


def work(depth, results):
    results.append((down(depth), sum(numbers(depth))))


# Before 3.11 a call of Python's takes some 500 bytes of the C stack, and the interpreter itself a few thousand.
for kilobytes, depth in ((64, 15), (96, 25), (128, 40), (256, 80), (1024, 400)):
    threading.stack_size(kilobytes * 1024)
    results = []
    threads = [threading.Thread(target=work, args=(depth, results)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(kilobytes, results)
threading.stack_size(256 * 1024)
results = []
sys.setrecursionlimit(40000)
deep = 30000 if sys.version_info >= (3, 11) else 100
thread = threading.Thread(target=lambda: results.append(down(deep)))
thread.start()
thread.join()
print(results)
