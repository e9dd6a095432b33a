"""The rows about looking at threads from outside: what that takes of one core, and what it costs the program.

Sixty-four threads that wait, and sixty-four that work; the floor is the same recording without looking (`--waits off`).
"""

import os

from measure import row
from python_rows import WORKLOADS, bench_python, rounds

ROUNDS = 7
WAIT_SECONDS = 5
BLOCKS = 240  # of a megabyte, for each thread: some seconds
ONLY_LOOK = {"INFERSCOPE_CALLS": "0", "INFERSCOPE_OPS": "0"}


def share_of_core(sampling):
    """In per cent."""
    return 100 * sampling["cpu_ns"] / ((sampling["slots"] + sampling["missed"]) * sampling["interval_ns"])


def sampling(bench):
    def recorded(waits, *arguments):
        env = {**os.environ, **ONLY_LOOK, "INFERSCOPE_WAITS": waits}
        return bench.record(bench_python(), WORKLOADS / "threads.py", *arguments, env=env)

    waiting = [share_of_core(recorded("on", "wait", WAIT_SECONDS)[1]["sampling"]) for _ in range(3)]
    values = rounds("sampling", {"with": (ROUNDS, lambda: recorded("on", "work", BLOCKS)),
                                 "without": (ROUNDS, lambda: recorded("off", "work", BLOCKS))})
    working = [share_of_core(info["sampling"]) for _, info in values["with"]]
    yield row("sampling_64_waiting", "%", waiting, 1)
    yield row("sampling_64_working", "%", working, 1)
    yield row("sampling_64_cost", "s", [result["seconds"] for result, _ in values["with"]], 1.01, "without looking",
              [result["seconds"] for result, _ in values["without"]], "ratio")


MEASUREMENTS = {"sampling": sampling}
