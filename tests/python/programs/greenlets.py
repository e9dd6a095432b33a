"""Greenlets that switch inside calls, where greenlet can be imported."""

import sys

try:
    import greenlet
except ImportError:
    print("no greenlet")
    sys.exit()


def deep(n, what):
    return what() if n == 0 else deep(n - 1, what)


def worker(name, others, log):
    for i in range(5):
        log.append((name, i))
        deep(i, lambda: others[(others.index(greenlet.getcurrent()) + 1) % len(others)].switch())
    return name


def switching():
    log, others = [], []
    for name in "abc":
        others.append(greenlet.greenlet(lambda name=name: worker(name, others, log)))
    result = others[0].switch()
    print(result, log)


def thrown():
    def wait():
        try:
            deep(10, main.switch)
        except ValueError as error:
            print("thrown", error)
            raise KeyError("from the greenlet")
    main = greenlet.getcurrent()
    other = greenlet.greenlet(wait)
    other.switch()
    try:
        other.throw(ValueError("in"))
    except KeyError as error:
        print("caught", error, other.dead)


def left_open():
    main = greenlet.getcurrent()
    kept = greenlet.greenlet(lambda: deep(20, main.switch))
    kept.switch()
    return kept


switching()
thrown()
kept = left_open()
many = [left_open() for _ in range(200)]
print(len(many), kept.dead)
