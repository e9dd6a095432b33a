"""Leaves while other things are under way, in the way that its argument names."""

import atexit
import os
import signal
import sys
import threading
import time

atexit.register(print, "atexit", flush=True)
print("begins", flush=True)


def spin():
    while True:
        sum(range(100))


def from_thread():
    thread = threading.Thread(target=os._exit, args=(5,))
    thread.start()
    thread.join()


def thread_exits():
    thread = threading.Thread(target=sys.exit, args=(5,))
    thread.start()
    thread.join()
    print("the thread is gone:", thread.is_alive())


def with_daemons():
    for _ in range(4):
        threading.Thread(target=spin, daemon=True).start()
    time.sleep(0.01)


def with_threads():
    def late():
        started.wait()
        time.sleep(0.02)
        print("the last thread", flush=True)
    started = threading.Event()
    for _ in range(2):
        threading.Thread(target=late).start()
    started.set()


def in_handler():
    signal.signal(signal.SIGUSR1, lambda number, frame: sys.exit(7))
    os.kill(os.getpid(), signal.SIGUSR1)
    spin()


WAYS = {
    "sys": lambda: sys.exit(3), "os": lambda: os._exit(3), "os-in-thread": from_thread, "thread": thread_exits,
    "daemons": with_daemons, "threads": with_threads, "handler": in_handler, "abort": os.abort,
    "killed": lambda: os.kill(os.getpid(), signal.SIGKILL), "terminated": lambda: os.kill(os.getpid(), signal.SIGTERM),
    "closed": lambda: (sys.stdout.flush(), os.close(1), sys.exit(4)),
}
WAYS[sys.argv[1]]()
