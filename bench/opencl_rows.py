"""The rows about devices: what recording a launch of OpenCL costs the thread that makes it, a tinygrad inference, and what the
doors cost a program that uses no device at all.

The device may be the processor itself (PoCL): then the recorder, the program and the device share its cores.
"""

import os
import statistics

from measure import PAIRS, PROCESS_PAIRS, Skip, row
from python_rows import STEADY, WORKLOADS, ask, bench_python, need_kinds, rounds
from turns import Side, take_turns, turns_against_bare

LAUNCH_PAIRS = 10  # of turns
INFER_PAIRS = 10  # of blocks
WITH_EVENTS = 1
TOKENS = 128


def turns(bench, name, program, env, processes, pairs, *kinds):
    """What take_turns() gives of a program under the recorder and bare, of which events of these kinds must have been recorded."""
    trace = bench.scratch / "recorded.sbt"
    recorded = (bench.inferscope, "run", "--trace", trace, "--report", "none", "--", *program)
    values = take_turns(name, lambda: Side(recorded, env, recorder=True), lambda: Side(program, env), processes, pairs)
    need_kinds(bench.take(trace, name), name, *kinds)
    return values


def launches(bench, name, events, bar):
    """What recording adds to a launch, in ns: by the median of the batches of a turn, and by the quickest."""
    values = turns(bench, name, (bench.program("bench-opencl"), events), {}, PROCESS_PAIRS, LAUNCH_PAIRS, "gpu_kernel")
    for row_name, figure, row_bar in ((name, "issue_ns", bar), (f"{name}_least", "issue_least_ns", None)):
        yield row(row_name, "ns", [statistics.median(mine[figure] - bare[figure] for mine, bare in zip(*pair)) for pair in values], row_bar)


def opencl_launch(bench):
    yield from launches(bench, "opencl_launch", 0, 200)
    yield from launches(bench, "opencl_launch_events", WITH_EVENTS, None)


def tinygrad(bench):
    if not ask(bench_python(), '__import__("importlib.metadata").metadata.version("tinygrad")'):
        raise Skip(f"tinygrad is not installed in {bench_python()}")
    program = (bench_python(), WORKLOADS / "tinygrad_infer.py")
    values = turns(bench, "tinygrad", program, STEADY, PAIRS, INFER_PAIRS, "cpu_call", "gpu_kernel")
    yield from turns_against_bare("tinygrad", values, 1.03)


def doors_armed(bench):
    """A program of the processor alone, recorded with the doors of devices and without: the whole command."""
    program = (bench.build / "examples" / "infer", "where the time goes", TOKENS)

    def wall(gpu):
        return lambda: bench.record(*program, env={**os.environ, "INFERSCOPE_GPU": gpu})[0]["wall"]

    values = rounds("doors_armed", {"off": (PROCESS_PAIRS, wall("off")), "armed": (PROCESS_PAIRS, wall("auto"))})
    yield row("doors_armed", "s", values["armed"], 1.02, "doors off", values["off"], "ratio")


MEASUREMENTS = {"opencl_launch": opencl_launch, "tinygrad": tinygrad, "doors_armed": doors_armed}
