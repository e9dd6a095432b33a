"""Programs that look at their frames, locals, code and tracebacks."""

import inspect
import sys
import threading
import traceback


def depth():
    frame, n = sys._getframe(), 0
    while frame:
        frame, n = frame.f_back, n + 1
    return n


def stack():
    mine = "value"
    return [(each.function, each.lineno, each.code_context) for each in inspect.stack()], sorted(locals())


class Method:
    def look(self, argument=1):
        frame = sys._getframe()
        caller = frame.f_back
        return frame.f_code.co_name, sorted(frame.f_locals), caller.f_code.co_name, caller.f_lineno, frame.f_lasti > 0

    @property
    def value(self):
        return depth()

    def __getattr__(self, name):
        if name == "deep":
            return depth()
        raise AttributeError(name)

    def __eq__(self, other):
        return depth() == other

    def __len__(self):
        return depth()


def generate():
    yield depth()
    yield sys._getframe().f_back.f_code.co_name
    yield inspect.getgeneratorstate(running)


def changes_locals():
    a = 1
    sys._getframe().f_locals["a"] = 2
    locals()["b"] = 3
    return a, sorted(locals())


def throws(n):
    if n == 0:
        raise LookupError("bottom")
    throws(n - 1)


print(depth(), stack(), Method().look(), Method().value, Method().deep, Method() == 2, len(Method()))
running = generate()
print(list(running))
print((lambda: depth())(), [depth() for _ in range(1)], sorted([1], key=lambda _: depth()), list(map(lambda _: depth(), [1])))
print(changes_locals())
try:
    throws(3)
except LookupError as error:
    print(traceback.format_exc())
    print([(each.name, each.lineno) for each in traceback.extract_tb(error.__traceback__)])
    frame = error.__traceback__.tb_next.tb_frame
    frame.clear()
    print(frame.f_locals)
print("".join(traceback.format_stack()))
thread = threading.Thread(target=lambda: print("thread", depth(), [each.name for each in traceback.extract_stack()]))
thread.start()
thread.join()
print([len(traceback.extract_stack(frame)) for frame in sys._current_frames().values()])
held = threading.Event(), threading.Event()


def hold():
    held[0].set()
    held[1].wait()


thread = threading.Thread(target=hold)
thread.start()
held[0].wait()
print([each.name for each in traceback.extract_stack(sys._current_frames()[thread.ident])][:4])
held[1].set()
thread.join()
