"""faulthandler, and what kills an interpreter from inside, in the way that its argument names."""

import ctypes
import faulthandler
import os
import signal
import sys
import threading


def dump():
    faulthandler.dump_traceback(all_threads=True)
    faulthandler.register(signal.SIGUSR1, all_threads=False)
    os.kill(os.getpid(), signal.SIGUSR1)
    faulthandler.unregister(signal.SIGUSR1)
    thread = threading.Thread(target=lambda: faulthandler.dump_traceback(all_threads=False))
    thread.start()
    thread.join()


def later():
    faulthandler.dump_traceback_later(0.02, exit=True)
    while True:
        sum(range(10))


def crash():
    sys.stdout.flush()
    ctypes.string_at(0)


def crash_in_callback():
    sys.stdout.flush()
    ctypes.CFUNCTYPE(None)(crash)()


def overflow():
    faulthandler.disable()
    sys.setrecursionlimit(10**9)
    again = lambda _: list(map(again, [0]))
    again(0)


def enabled(then):
    def enable():
        faulthandler.enable()
        then()
    return enable


WAYS = {"dump": dump, "later": later, "crash": crash, "enabled-crash": enabled(crash), "callback": enabled(crash_in_callback),
        "abort": enabled(os.abort), "fatal": enabled(lambda: ctypes.pythonapi.Py_FatalError(b"said so")), "overflow": overflow}
print(faulthandler.is_enabled(), flush=True)
WAYS[sys.argv[1]]()
