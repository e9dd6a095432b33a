"""Programs that trace or profile themselves: each sees what it would see without us, and no more."""

import bdb
import cProfile
import pstats
import sys
import threading
import trace


def inner(n):
    return len(str(n))


def outer():
    total = 0
    for n in range(3):
        total += inner(n)
    return total + sum(i for i in range(2))


def fails():
    try:
        inner(None)
        raise ValueError
    except ValueError:
        return outer()


def traced():
    seen = []

    def tracer(frame, event, argument):
        seen.append((frame.f_code.co_name, event, frame.f_lineno))
        return tracer
    sys.settrace(tracer)
    fails()
    sys.settrace(None)
    print(len(seen), seen)


def opcodes():
    count = [0]

    def tracer(frame, event, argument):
        frame.f_trace_opcodes = True
        count[0] += event == "opcode"
        return tracer
    sys.settrace(tracer)
    outer()
    sys.settrace(None)
    print("opcodes", count[0])


def profiled():
    seen = []
    sys.setprofile(lambda frame, event, argument: seen.append((frame.f_code.co_name, event, getattr(argument, "__name__", None))))
    fails()
    sys.setprofile(None)
    print(len(seen), seen)


def threads():
    seen = []
    threading.setprofile(lambda frame, event, argument: event == "call" and seen.append(frame.f_code.co_name))
    thread = threading.Thread(target=outer)
    thread.start()
    thread.join()
    threading.setprofile(None)
    print(seen)


def c_profiled():
    profile = cProfile.Profile()
    profile.runcall(fails)
    stats = pstats.Stats(profile).stats
    print(sorted((name, line, calls) for (file, line, name), (calls, *_) in stats.items()))


def covered():
    tracer = trace.Trace(count=1, trace=0)
    tracer.runfunc(fails)
    print(sorted((line, count) for (file, line), count in tracer.results().counts.items() if file == __file__))


def debugged():
    class Debugger(bdb.Bdb):
        def user_line(self, frame):
            lines.append((frame.f_code.co_name, frame.f_lineno))
            self.set_step()
    lines = []
    Debugger().runcall(outer)
    print(lines)


print(sys.gettrace(), sys.getprofile())
for each in (traced, opcodes, profiled, threads, c_profiled, covered, debugged, profiled, traced):
    each()
print(sys.gettrace(), sys.getprofile())
