#!/usr/bin/env python3
"""Four workers get a part of the data each, and one of the parts is seven times as long: all wait for it.

Fixed: the same data in equal parts.
"""

import multiprocessing

from harness import Run, scope

WORKERS, ITEMS, WORK = 4, 40, 3000


def item_sum(item):
    value = item + 1
    for _ in range(WORK):
        value = (value * 1103515245 + 12345) & 0x7FFFFFFF
    return value


def work(pipe):
    while items := pipe.recv():
        pipe.send(sum(item_sum(item) for item in items))


def split(items, fixed):
    if fixed:
        return [items[worker::WORKERS] for worker in range(WORKERS)]
    tenth = len(items) // 10
    return [items[:tenth], items[tenth:2 * tenth], items[2 * tenth:3 * tenth], items[3 * tenth:]]


def main():
    run = Run(__doc__, steps=150, seconds=2)
    context = multiprocessing.get_context("fork")
    pipes = []
    for _ in range(WORKERS):
        ours, theirs = context.Pipe()
        context.Process(target=work, args=(theirs,), daemon=True).start()
        theirs.close()
        pipes.append(ours)
    for number in run:
        with scope("step"):
            items = list(range(number * ITEMS, (number + 1) * ITEMS))
            for pipe, part in zip(pipes, split(items, run.fixed)):
                pipe.send(part)
            run.add(sum(pipe.recv() for pipe in pipes))
    for pipe in pipes:
        pipe.send([])
    run.finish()


if __name__ == "__main__":
    main()
