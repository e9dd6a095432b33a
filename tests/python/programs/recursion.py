"""How deep a recursion goes, and what is said when it goes no deeper."""

import functools
import sys
import threading


def depth_of(function):
    """The depth at which it failed, and the message."""
    reached = [0]
    try:
        function(reached)
    except RecursionError as error:
        return reached[0], str(error)
    return reached[0], None


def plain(reached):
    reached[0] += 1
    plain(reached)


class Method:
    def call(self, reached):
        reached[0] += 1
        self.call(reached)

    def __getattr__(self, name):
        return getattr(self, name + "x")

    def __call__(self, reached):
        reached[0] += 1
        self(reached)

    def __repr__(self):
        return "<%r>" % self


def through_c(reached):
    reached[0] += 1
    list(map(through_c, [reached]))


def through_sort(reached):
    reached[0] += 1
    sorted([1], key=lambda one: through_sort(reached))


def through_generator(reached):
    reached[0] += 1
    yield from through_generator(reached)


def through_partial(reached):
    reached[0] += 1
    functools.partial(through_partial, reached)()


def report():
    for name, function in (("plain", plain), ("method", Method().call), ("__call__", Method()), ("map", through_c),
                           ("sort", through_sort), ("generator", lambda reached: list(through_generator(reached))),
                           ("partial", through_partial), ("getattr", lambda reached: Method().missing),
                           ("repr", lambda reached: repr(Method()))):
        print(name, *depth_of(function))


report()
sys.setrecursionlimit(400)
report()
sys.setrecursionlimit(5000)
print("raised", *depth_of(plain))
thread = threading.Thread(target=lambda: print("in a thread", *depth_of(plain)))
thread.start()
thread.join()
for level in (1, 2):  # again: what was done to survive the first time is undone
    print("again", *depth_of(plain))
