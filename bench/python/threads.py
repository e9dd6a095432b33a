"""Sixty-four threads that wait for seconds, that do a little now and then for so long, or that share a fixed amount of work:
hashing, which needs no interpreter."""

import hashlib
import sys
import threading
import time

import workload

THREADS, BLOCK = 64, bytes(1 << 20)


def work(blocks):
    for _ in range(blocks):
        hashlib.sha256(BLOCK).digest()


def work_lightly(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(range(2000))
        time.sleep(0.05)


def together(target, *arguments):
    threads = [threading.Thread(target=target, args=arguments) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if sys.argv[1] == "wait":
    over = threading.Event()
    threading.Timer(float(sys.argv[2]), over.set).start()
    workload.finish(None, seconds=workload.seconds(lambda: together(over.wait)))
elif sys.argv[1] == "light":
    workload.finish(None, seconds=workload.seconds(lambda: together(work_lightly, float(sys.argv[2]))))
else:
    work(int(sys.argv[2]))
    workload.finish(None, seconds=workload.seconds(lambda: together(work, int(sys.argv[2]))))
