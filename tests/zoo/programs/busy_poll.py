#!/usr/bin/env python3
"""The main thread asks a queue without pause whether the producer thread is done, and takes the interpreter from it.

Fixed: it waits in get().
"""

import queue
import threading

from harness import Run, scope


def produce(results, steps, go):
    for number in range(steps):
        value = number + 1
        for _ in range(60_000):
            value = (value * 1103515245 + 12345) & 0x7FFFFFFF
        results.put(value)
        go.acquire()


def poll(results):
    while True:
        try:
            return results.get_nowait()
        except queue.Empty:
            pass


def main():
    run = Run(__doc__, steps=150, seconds=2)
    results, go = queue.Queue(), threading.Semaphore(0)
    threading.Thread(target=produce, args=(results, run.steps, go), daemon=True).start()
    for _ in run:
        with scope("step"):
            run.add(results.get() if run.fixed else poll(results))
            go.release()
    run.finish()


if __name__ == "__main__":
    main()
