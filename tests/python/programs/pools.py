"""Processes of multiprocessing and concurrent.futures, with the start method its argument names."""

import concurrent.futures
import multiprocessing
import os
import sys
import threading
import time


def square(n):
    return n * n


def fail(n):
    raise ValueError(n)


def child(queue, pid):
    queue.put((os.getppid() == pid, multiprocessing.current_process().name, len(threading.enumerate())))
    sys.exit(4)


def process(context):
    queue = context.SimpleQueue()
    one = context.Process(target=child, args=(queue, os.getpid()), name="child")
    one.start()
    got = queue.get()
    one.join()
    print(got[1:], got[0] or context.get_start_method() == "forkserver", one.exitcode)


def pool(context):
    with context.Pool(2) as workers:
        print(workers.map(square, range(10)))
        try:
            workers.apply(fail, (1,))
        except ValueError as error:
            print("failed", error)
        workers.apply_async(time.sleep, (100,))
    print("terminated")


def executors(context):
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as executor:
        print(list(executor.map(square, range(5))))
        print(type(executor.submit(fail, 2).exception()).__name__)
    with concurrent.futures.ThreadPoolExecutor(4, thread_name_prefix="pool") as executor:
        print(list(executor.map(square, range(5))))


if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    process(context)
    pool(context)
    if sys.argv[1] == "fork":
        executors(context)
