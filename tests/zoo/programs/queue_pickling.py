#!/usr/bin/env python3
"""A producer process sends 24 MB arrays through a multiprocessing queue: pickled, piped, unpickled.

Fixed: the arrays lie in shared memory, and the queue carries their slot.
"""

import multiprocessing

from harness import Run, scope
import numpy as np

ELEMENTS, SLOTS = 6_000_000, 3


def fill(array, number):
    array[:] = number
    array[::1000] = np.arange(len(array) // 1000)


def produce_arrays(queue, steps):
    for number in range(steps):
        array = np.empty(ELEMENTS, dtype=np.float32)
        fill(array, number)
        queue.put(array)


def produce_slots(queue, free, shared, steps):
    for number in range(steps):
        slot = free.get()
        fill(view(shared, slot), number)
        queue.put(slot)


def view(shared, slot):
    return np.frombuffer(shared, dtype=np.float32)[slot * ELEMENTS:(slot + 1) * ELEMENTS]


def consume(array):
    return float(array.sum(dtype=np.float64))


def main():
    run = Run(__doc__, steps=40, seconds=2)
    context = multiprocessing.get_context("fork")
    queue, free = context.Queue(maxsize=2), context.Queue()
    if run.fixed:
        shared = context.RawArray("f", ELEMENTS * SLOTS)
        for slot in range(SLOTS):
            free.put(slot)
        producer = context.Process(target=produce_slots, args=(queue, free, shared, run.steps), daemon=True)
    else:
        producer = context.Process(target=produce_arrays, args=(queue, run.steps), daemon=True)
    producer.start()
    for _ in run:
        with scope("step"):
            item = queue.get()
            run.add(consume(view(shared, item) if run.fixed else item))
            if run.fixed:
                free.put(item)
    producer.join()
    run.finish()


if __name__ == "__main__":
    main()
