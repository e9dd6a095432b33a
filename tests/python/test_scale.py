"""What a large input costs: as much for each event as a small one, measured as a ratio of processor times in the same run."""

import json
import os

import pytest

from analysis import INFERSCOPE


def nested(count):
    """Slices that nobody ends: each lies in the one before it, deeper than a timeline nests."""
    return [{"ph": "B", "name": f"b{i % 3}", "pid": 1, "tid": 1, "ts": i} for i in range(count)]


def processes(count):
    """Each with one thread, which has no number in common with it."""
    return [{"ph": "X", "name": "x", "pid": i, "tid": i + count, "ts": i, "dur": 5} for i in range(count)]


def seconds(tmp_path, events, form):
    path = tmp_path / "large.json"
    path.write_text(json.dumps({"traceEvents": events}))
    child = os.posix_spawn(INFERSCOPE, [INFERSCOPE, "analyze", path, "--format", form, "-o", tmp_path / "report"], os.environ)
    _, status, usage = os.wait4(child, 0)
    assert status == 0
    return usage.ru_utime + usage.ru_stime


@pytest.mark.parametrize("events, form, few, many", [(nested, "html", 85000, 165000), (processes, "md", 10000, 40000)],
                         ids=["a page of deep nesting", "processes"])
def test_time_grows_with_the_input(tmp_path, events, form, few, many):
    least = min(seconds(tmp_path, events(few), form) for _ in range(2))
    most = min(seconds(tmp_path, events(many), form) for _ in range(2))
    assert most < 2 * many / few * least  # each pair of events would make it the square


def scopes(count, around):
    """Many, below so many others: what is around one is not looked for through all of them."""
    return nested(around) + [{"ph": "X", "name": "s", "pid": 1, "tid": 1, "ts": around + 2 * i, "dur": 1} for i in range(count)]


def test_time_does_not_grow_with_the_depth(tmp_path):
    flat = min(seconds(tmp_path, scopes(100000, 1), "md") for _ in range(2))
    deep = min(seconds(tmp_path, scopes(100000, 2000), "md") for _ in range(2))
    assert deep < 2 * flat
