"""Generators closed, thrown into, abandoned, delegated to; contexts that swallow, and that fail."""

import contextlib
import itertools


def echo():
    while True:
        try:
            got = yield "ready"
            print("got", got)
        except ValueError as error:
            print("thrown", error)
        except GeneratorExit:
            print("closing")
            raise


def delegate():
    result = yield from echo_once()
    print("result", result)
    yield "end"


def echo_once():
    try:
        yield 1
    except KeyError:
        yield "caught in the inner one"
    return "done"


def stubborn():
    try:
        yield 1
    except GeneratorExit:
        yield 2


@contextlib.contextmanager
def swallow(kind):
    try:
        yield
    except kind as error:
        print("swallowed", repr(error))


@contextlib.contextmanager
def failing():
    yield
    raise LookupError("on the way out")


def coroutine():
    async def simple():
        return 5
    one = simple()
    try:
        one.send(None)
    except StopIteration as stop:
        return stop.value


one = echo()
next(one)
one.send(1)
one.throw(ValueError("into"))
one.close()
other = delegate()
print(next(other), other.throw(KeyError("k")), next(other))
try:
    bad = stubborn()
    next(bad)
    bad.close()
except RuntimeError as error:
    print(error)
del bad
with swallow(ZeroDivisionError):
    1 / 0
with swallow(LookupError), failing():
    pass
with contextlib.ExitStack() as stack:
    for n in range(3):
        stack.callback(print, "callback", n)
    stack.enter_context(swallow(ValueError))
    raise ValueError("through the stack")
abandoned = [echo() for _ in range(3)]
for each in abandoned:
    next(each)
del abandoned, each
print(coroutine(), list(itertools.islice((n * n for n in itertools.count()), 5)))
try:
    running = (next(running) for _ in range(1))
    next(running)
except ValueError as error:
    print(error)
