"""scope as a decorator.

A function and a coroutine are in the scope from beginning to end.  A generator
is in it for each of its steps: between them the time is that of whoever asks
for the next one.
"""

import functools
import inspect


def decorate(scope, function):
    """`function`, which whenever it runs is inside `scope`."""
    if isinstance(function, (staticmethod, classmethod)):
        return type(function)(decorate(scope, function.__func__))
    if isinstance(function, type) or not callable(function):
        raise TypeError("scope() decorates functions, not %r" % (function,))
    if inspect.isasyncgenfunction(function):
        return _async_generator(scope, function)
    if inspect.iscoroutinefunction(function):
        return _coroutine(scope, function)
    if inspect.isgeneratorfunction(function):
        return _generator(scope, function)
    return _function(scope, function)


def _function(scope, function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        with scope:
            return function(*args, **kwargs)
    return wrapper


def _coroutine(scope, function):
    @functools.wraps(function)
    async def wrapper(*args, **kwargs):
        with scope:
            return await function(*args, **kwargs)
    return wrapper


def _generator(scope, function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        generator = function(*args, **kwargs)
        step, argument = generator.send, None
        while True:
            try:
                with scope:
                    item = step(argument)
            except StopIteration as end:
                return end.value
            try:
                step, argument = generator.send, (yield item)
            except GeneratorExit:
                with scope:
                    generator.close()
                raise
            except BaseException as error:
                step, argument = generator.throw, error
    return wrapper


def _async_generator(scope, function):
    @functools.wraps(function)
    async def wrapper(*args, **kwargs):
        generator = function(*args, **kwargs)
        step, argument = generator.asend, None
        while True:
            try:
                with scope:
                    item = await step(argument)
            except StopAsyncIteration:
                return
            try:
                step, argument = generator.asend, (yield item)
            except GeneratorExit:
                with scope:
                    await generator.aclose()
                raise
            except BaseException as error:
                step, argument = generator.athrow, error
    return wrapper
