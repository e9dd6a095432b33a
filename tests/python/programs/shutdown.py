"""What runs when the interpreter ends, and in which order."""

import atexit
import gc
import sys
import threading
import weakref


class Noisy:
    def __init__(self, name):
        self.name = name

    def helper(self):
        return self.name.upper()

    def __del__(self, write=sys.__stdout__.write):
        write("del %s %s\n" % (self.name, self.helper()))


def finalize(name):
    print("finalize", name)


def goodbye(n):
    print("atexit", n, threading.current_thread() is threading.main_thread())
    if n == 2:
        atexit.register(goodbye, 20)


def numbers():
    try:
        yield 1
        yield 2
    finally:
        print("generator closed")


for n in range(3):
    atexit.register(goodbye, n)
kept = Noisy("kept")
cycle = [Noisy("cycle")]
cycle.append(cycle)
weakref.finalize(kept, finalize, "kept")
reference = weakref.ref(kept, lambda _: print("never called"))
temporary = Noisy("temporary")
watched = weakref.ref(temporary, lambda _: print("weakref callback"))
del temporary
print("dead:", watched() is None)
collected = Noisy("collected")
collected.self = collected
del collected
print("collected", gc.collect() > 0)
suspended = numbers()
print(next(suspended))
local = threading.local()
local.noisy = Noisy("local")
sys.modules["extra"] = Noisy("in sys.modules")


def later():
    local.noisy = Noisy("thread")


thread = threading.Thread(target=later)
thread.start()
thread.join()
print("the end")
