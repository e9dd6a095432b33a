"""A limit for calls of somebody else's function, which run in the thread of the one who asked for them."""

import ctypes
import logging
import signal
import threading
import time

log = logging.getLogger("inferscope")

RINGS = 5                    # times that a call is told to end, one second apart

# Nobody minds one that comes too late: it is ignored unless there is a handler.
SIGNAL = getattr(signal, "SIGURG", None)


class CallTimeout(BaseException):
    """Raised inside a call that took too long; no Exception, so that functions do not take it for one of theirs."""


class Watchdog:
    """Ends a call that takes longer than `seconds`, by CallTimeout.

    That works in Python code, and in the main thread also in what a signal interrupts, such as a sleep.  Native code
    that does not come back cannot be ended from inside its process: then there is a message in the log.
    """

    def __init__(self, seconds, name):
        self._seconds, self._name = seconds, name
        self._target = threading.get_ident()
        self._since = self._handler = None
        self._fired = False
        self._lock, self._over = threading.RLock(), threading.Event()
        self._thread = threading.Thread(target=self._watch, name="inferscope-watchdog", daemon=True)

    def __enter__(self):
        if self._seconds is None:
            return self
        main = threading.current_thread() is threading.main_thread()
        if main and SIGNAL is not None and signal.getsignal(SIGNAL) is signal.SIG_DFL:
            self._handler = signal.signal(SIGNAL, self._ring)
        self._thread.start()
        return self

    def __exit__(self, *_):
        self.end()
        self._over.set()
        if self._seconds is not None:
            self._thread.join()
        if self._handler is not None:
            signal.signal(SIGNAL, self._handler)

    def begin(self):
        """A call begins, or some that take no time worth speaking of."""
        self._since = time.monotonic()

    def end(self):
        with self._lock:
            self._since = None
            waiting, self._fired = self._fired and self._handler is None, False
        if waiting:
            self._take()

    @staticmethod
    def _take():
        """Raised here if it has come too late for the call: Python could be told to forget it, but not the interpreter that there
        was something to look at, which CPython 3.11 would then do for ever when it is traced."""
        try:
            for _ in range(100):
                pass
        except CallTimeout:
            pass

    def _ring(self, *_):
        if self._fired and self._since is not None:
            self._fired = False
            raise CallTimeout

    def _interrupt(self):
        with self._lock:
            if self._since is None:
                return
            self._fired = True
            if self._handler is not None:
                signal.pthread_kill(self._target, SIGNAL)
            else:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self._target), ctypes.py_object(CallTimeout))

    def _watch(self):
        pause, rung = self._seconds, 0
        while not self._over.wait(pause):
            since = self._since
            left = self._seconds if since is None else since + self._seconds - time.monotonic()
            if left > 0:
                pause, rung = max(min(left, self._seconds / 4), 0.01), 0
                continue
            if rung == 1:
                log.error("%s has not come back for %.0f s; what waits in native code cannot be ended from inside", self._name,
                          self._seconds)
            if rung < RINGS:
                self._interrupt()
            pause, rung = 1.0, rung + 1
