"""The rows about devices: what recording a launch of OpenCL costs the thread that makes it, a tinygrad inference, and what the
doors cost a program that uses no device at all.

The device may be the processor itself (PoCL): then the recorder, the program and the device share its cores.
"""

import os

from measure import PAIRS, PROCESS_PAIRS, Skip, row
from python_rows import STEADY, WORKLOADS, ask, bench_python, need_kinds, rounds
from turns import Side, take_turns, turns_against_bare

LAUNCH_BATCHES = 100   # of a thousand launches
INFER_PAIRS = 10  # of blocks
WITH_EVENTS = 1
TOKENS = 128


def launches(bench, events):
    """A launch bare and recorded, in turn; what recording adds, in ns: the median of the batches, and the quickest ones."""
    program = (bench.program("bench-opencl"), LAUNCH_BATCHES, events)
    values = rounds("opencl_launch", {"bare": (PROCESS_PAIRS, lambda: bench.run(*program)),
                                      "ours": (PROCESS_PAIRS, lambda: bench.record(*program))})
    recorded = [result for result, info in values["ours"] if info["events_by_kind"].get("gpu_kernel")]
    if len(recorded) < PROCESS_PAIRS:
        raise Skip("bench-opencl: its kernels were not recorded")
    return [[ours[figure] - bare[figure] for ours, bare in zip(recorded, values["bare"])]
            for figure in ("issue_ns", "issue_least_ns")]


def opencl_launch(bench):
    median, least = launches(bench, 0)
    yield row("opencl_launch", "ns", median, 200)
    yield row("opencl_launch_least", "ns", least, None)
    median, least = launches(bench, WITH_EVENTS)
    yield row("opencl_launch_events", "ns", median, None)
    yield row("opencl_launch_events_least", "ns", least, None)


def tinygrad(bench):
    if not ask(bench_python(), '__import__("importlib.metadata").metadata.version("tinygrad")'):
        raise Skip(f"tinygrad is not installed in {bench_python()}")
    program, trace = (bench_python(), WORKLOADS / "tinygrad_infer.py"), bench.scratch / "recorded.sbt"
    recorded = (bench.inferscope, "run", "--trace", trace, "--report", "none", "--", *program)
    values = take_turns("tinygrad", lambda: Side(recorded, STEADY, recorder=True), lambda: Side(program, STEADY),
                        PAIRS, INFER_PAIRS)
    need_kinds(bench.take(trace, "tinygrad"), "tinygrad", "cpu_call", "gpu_kernel")
    yield from turns_against_bare("tinygrad", values, 1.03)


def doors_armed(bench):
    """A program of the processor alone, recorded with the doors of devices and without: the whole command."""
    program = (bench.build / "examples" / "infer", "where the time goes", TOKENS)

    def wall(gpu):
        return lambda: bench.record(*program, env={**os.environ, "INFERSCOPE_GPU": gpu})[0]["wall"]

    values = rounds("doors_armed", {"off": (PROCESS_PAIRS, wall("off")), "armed": (PROCESS_PAIRS, wall("auto"))})
    yield row("doors_armed", "s", values["armed"], 1.02, "doors off", values["off"], "ratio")


MEASUREMENTS = {"opencl_launch": opencl_launch, "tinygrad": tinygrad, "doors_armed": doors_armed}
