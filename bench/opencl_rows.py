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
    """What recording adds to a launch, in ns: by the quickest batch of each process, and by the median of the batches of each turn."""
    values = turns(bench, name, (bench.program("bench-opencl"), events), {}, PROCESS_PAIRS, LAUNCH_PAIRS, "gpu_kernel")
    quickest = [[min(turn["issue_least_ns"] for turn in side) for side in pair] for pair in values]
    yield row(name, "ns", [mine - bare for mine, bare in quickest], bar)
    yield row(f"{name}_median", "ns", [statistics.median(mine["issue_ns"] - bare["issue_ns"] for mine, bare in zip(*pair)) for pair in values],
              bar)


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
