"""Ends by an exception, in the way that its argument names."""

import signal
import sys
import threading


def fail(text):
    raise ValueError(text)


def chained():
    try:
        fail("first")
    except ValueError as error:
        raise KeyError("second") from error


def in_context():
    try:
        chained()
    except KeyError:
        [].pop()


def group():
    errors = []
    for each in (fail, lambda text: int(text), lambda text: {}[text]):
        try:
            each("member")
        except Exception as error:
            errors.append(error)
    errors.append(ExceptionGroup("inner", errors[:2]))
    raise ExceptionGroup("outer", errors)


def noted():
    try:
        fail("noted")
    except ValueError as error:
        if hasattr(error, "add_note"):
            error.add_note("a note")
        raise


def in_thread():
    thread = threading.Thread(target=fail, args=("thread",), name="failing")
    thread.start()
    thread.join()


def unraisable():
    class Falls:
        def __del__(self):
            fail("from __del__")
    Falls()
    print("goes on")


def interrupted():
    signal.raise_signal(signal.SIGINT)
    print("not reached")


def in_generator():
    def numbers():
        yield 1
        fail("generator")
    return sum(numbers())


def stop_iteration():
    def numbers():
        yield next(iter(()))
    return list(numbers())


def hooked():
    sys.excepthook = lambda kind, value, traceback: print("hook", kind.__name__, value, traceback.tb_next.tb_lineno)
    fail("hooked")


def exit_with(value):
    def leave():
        try:
            sys.exit(value)
        finally:
            print("on the way out")
    return leave


WAYS = {
    "uncaught": lambda: fail("uncaught"), "chained": chained, "context": in_context, "noted": noted, "thread": in_thread,
    "unraisable": unraisable, "interrupted": interrupted, "generator": in_generator, "stop-iteration": stop_iteration,
    "hooked": hooked, "syntax": lambda: compile("def f(:\n", "<program>", "exec"), "exit-code": exit_with(300),
    "exit-text": exit_with("a text"), "exit-none": exit_with(None), "exit-true": exit_with(True),
    "exit-tuple": exit_with((1, 2)), "group": group if sys.version_info >= (3, 11) else in_context,
}

if __name__ == "__main__":
    WAYS[sys.argv[1]]()
