"""A million times `with scope("x")`, and a million times `mark_event("x")`, less the same loop with nothing in it; in ns."""

import workload

try:
    from inferscope import mark_event, scope
except ImportError as error:
    raise SystemExit(f"bench: the recorder did not bring its package: {error}")

TIMES = 1_000_000


def empty():
    for _ in range(TIMES):
        pass


def scopes():
    for _ in range(TIMES):
        with scope("x"):
            pass


def marks():
    for _ in range(TIMES):
        mark_event("x")


workload.pin()
workload.seconds(scopes)
workload.seconds(marks)
nothing, scope_seconds, mark_seconds = (workload.seconds(loop, repeats=3, pause=0.1) for loop in (empty, scopes, marks))
workload.finish(None, scope=(scope_seconds - nothing) * 1e9 / TIMES, mark=(mark_seconds - nothing) * 1e9 / TIMES)
