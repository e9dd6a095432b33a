"""Parts of a composed transform, one after the other: lists of callables, `.transforms`, `.steps`, and those in each other."""

import time

from inferscope.preprocessing import _inputs
from inferscope.preprocessing._stats import median, median_interval
from inferscope.preprocessing._study import FunctionFailed
from inferscope.preprocessing.profile import Interval, Step

DEEPEST, MOST = 8, 200

# What has a list of transforms of which it does not run all, or not in order.
CHOOSING = ("random", "oneof", "someof", "choice", "sequential_sometimes")


def name_of(function):
    """As people call it."""
    for owner in (function, getattr(function, "func", None)):
        name = getattr(owner, "__name__", None)
        if isinstance(name, str):
            return name
    return type(function).__name__


def as_function(function):
    """A callable; of a list the composition of its parts, of a pipeline its transform()."""
    if callable(function):
        return function
    if isinstance(function, (list, tuple)) and function:
        parts = [as_function(part[1] if _is_named(part) else part) for part in function]

        def composed(value):
            for part in parts:
                value = part(value)
            return value
        composed.__name__ = "_then_".join(name_of(part) for part in parts)[:80]
        composed.transforms = list(function)
        return composed
    if callable(getattr(function, "transform", None)):
        return function.transform
    raise TypeError("a preprocessing function is called with its input, which %s cannot be" % type(function).__name__)


def _is_named(part):
    return isinstance(part, tuple) and len(part) == 2 and isinstance(part[0], str)


def _parts(function):
    """[(name, part)] of what is composed; [] of anything else."""
    if any(word in type(function).__name__.lower() for word in CHOOSING):
        return []
    owner = getattr(function, "__self__", function)
    for attribute in ("transforms", "steps"):
        parts = getattr(owner, attribute, None)
        if isinstance(parts, (list, tuple)) and parts:
            return [part if _is_named(part) else ("", part) for part in parts]
    if type(function).__name__ == "Sequential" and hasattr(function, "children"):
        return [("", part) for part in function.children()]
    return []


def steps_of(function, depth=0, before=""):
    """[(name, callable)] of all the steps, those of nested ones in their places; [] of what is not composed."""
    found = []
    for number, (name, part) in enumerate(_parts(function) if depth < DEEPEST else []):
        if part is None or part == "passthrough":
            continue
        try:
            call = as_function(part)
        except TypeError:
            return []
        label = "%s%d %s" % (before, number, name or name_of(part))
        found += steps_of(call, depth + 1, label + "/") or [(label, call)]
    return found[:MOST]


def measure_steps(study):
    """Adds them to the profile, if they are what the function does: in turn they give the same, and take about as long."""
    profile, steps = study.profile, steps_of(study.function)
    if len(steps) < 2:
        return
    if 4 * profile.execution_time > study.left():
        profile.notes.append("its parts were not timed, for which explore_seconds is too short")
        return
    rows = [[] for _ in steps]

    def chain(value):
        for row, (_, step) in zip(rows, steps):
            begin = time.perf_counter()
            value = step(value)
            row.append(time.perf_counter() - begin)
        return value

    try:
        result = study.once(chain, study.fresh(study.sample))
        if profile.deterministic and not _inputs.same(result, study.result):
            profile.notes.append("it has parts, but they are not run one after the other")
            return
        rounds = max(3, min(len(profile.samples), int(study.left() / 3 / max(profile.execution_time, 1e-6))))
        for _ in range(rounds):
            study.timed(chain, study.arguments(1))
    except FunctionFailed as failed:
        profile.notes.append("its parts cannot be called one after the other: %s" % failed.describe())
        return
    times = [row[1:] for row in rows]
    total = sum(map(median, times)) or 1e-12
    if total > 3 * profile.execution_time + 1e-4 or 3 * total + 1e-4 < profile.execution_time:
        profile.notes.append("it has parts, but takes a time that they do not explain")
        return
    profile.steps = [Step(name, median(row), Interval(*median_interval(row)), median(row) / total)
                     for (name, _), row in zip(steps, times)]
