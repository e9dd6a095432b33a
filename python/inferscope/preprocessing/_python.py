"""What a function does to the interpreter: how many instructions it executes, and how long it holds the lock that others need."""

import sys
import threading
import time
from typing import NamedTuple, Optional

from inferscope.preprocessing._usage import queued_ns

INSTRUCTIONS_LEAST, INSTRUCTIONS_MOST = 300_000, 4_000_000
EVERY = 0.001                # seconds between two questions for the lock
LATE_NS = 250_000            # an answer that takes longer was waited for


class Instructions(NamedTuple):
    count: int
    complete: bool           # else there were more
    calls: int               # of Python functions
    where: Optional[str]     # in which most were, function and line


def instructions(call, argument, most=INSTRUCTIONS_MOST):
    """Counts what one call executes in this thread; None when a debugger or the like has the place."""
    if sys.gettrace() is not None:
        return None
    count = calls = 0
    places = {}

    def step(frame, event, _):
        nonlocal count
        if event == "opcode":
            count += 1
            if not count & 15:
                place = frame.f_code, frame.f_lineno
                places[place] = places.get(place, 0) + 1
            if count >= most:
                sys.settrace(None)
                return None
        return step

    def enter(frame, event, _):
        nonlocal calls
        if event != "call":
            return None
        calls += 1
        frame.f_trace, frame.f_trace_lines, frame.f_trace_opcodes = step, False, True  # 3.13 wants them in this order
        return step

    if sys.version_info[:2] == (3, 12):
        sys._getframe().f_trace_opcodes = True  # it looks for somebody who wants them when tracing begins
    sys.settrace(enter)
    try:
        call(argument)
    finally:
        sys.settrace(None)
    where = None
    if places:
        code, line = max(places, key=places.get)
        where = "%s, line %s of %s" % (code.co_name, line, code.co_filename.rpartition("/")[2])
    return Instructions(count, count < most, calls, where)


def has_gil():
    return getattr(sys, "_is_gil_enabled", lambda: True)()


class _Asker(threading.Thread):
    """Wants the interpreter now and then, and notes how often it has to wait for it rather than for a processor."""

    def __init__(self):
        super().__init__(name="inferscope-gil", daemon=True)
        self.over, self.asked, self.waited = False, 0, 0

    def run(self):
        while not self.over:
            queued, begin = queued_ns(), time.perf_counter_ns()
            time.sleep(EVERY)
            late = time.perf_counter_ns() - begin - int(EVERY * 1e9) - (queued_ns() - queued)
            self.asked += 1
            self.waited += late > LATE_NS


def gil_share(run, seconds):
    """In which share of the time another thread would have to wait for `run`, which is called until the time is over; None when
    there were too few occasions to tell."""
    if not has_gil():
        return 0.0
    asker = _Asker()
    asker.start()
    end = time.perf_counter() + seconds
    try:
        while time.perf_counter() < end or asker.asked < 10 and time.perf_counter() < end + seconds:
            run()
    finally:
        asker.over = True
        asker.join()
    return asker.waited / asker.asked if asker.asked >= 5 else None
