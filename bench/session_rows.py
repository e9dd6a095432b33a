"""The rows about sessions of a BottleneckProfiler: what each level costs a training loop, and one operation; and memory."""

import os

from measure import Skip, row
from python_rows import WORKLOADS, bench_python

LEVELS = {"production": 1.01, "basic": None, "detailed": None, "comprehensive": None}
PAIRS, RECORDED_PAIRS = 1001, 31
MEMORY_BAR, MEMORY_PAIRS = 5, 5  # MB; sizes hardly differ


def run(bench, *arguments):
    env = {**os.environ, "PYTHONPATH": str(bench.build / "python"), "INFERSCOPE_COMMAND": str(bench.inferscope)}
    return bench.run(bench_python(), WORKLOADS / "train_sessions.py", *arguments, env=env)


def need_torch(bench):
    try:
        return run(bench, "bare", 1)
    except Exception as error:
        raise Skip(f"no training loop: {error}") from error


def session_costs(bench):
    need_torch(bench)
    for level, bar in LEVELS.items():
        result = run(bench, level, RECORDED_PAIRS if level == "comprehensive" else PAIRS)
        yield row(f"session_{level}", "s", result["session"], bar, "bare", result["bare"], "ratio")
        yield row(f"session_{level}_cpu", "s", result["session_cpu"], None, "bare", result["bare_cpu"], "ratio")
        yield row(f"session_{level}_operation", "ns", result["ns"], None)


def session_memory(bench):
    need_torch(bench)
    pairs = [(run(bench, "memory", 1)["mb"], run(bench, "bare", 1)["mb"]) for _ in range(MEMORY_PAIRS)]
    yield row("session_basic_rss", "MB", [with_session - bare for with_session, bare in pairs], MEMORY_BAR)


MEASUREMENTS = {"session_costs": session_costs, "session_memory": session_memory}
