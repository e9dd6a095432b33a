"""Clocks of GPUs in the timeline: on doubles of NVIDIA's libraries whose clocks drift and jump (tests/doubles), and on PoCL.

`device_times` (tests/programs) prints the work of devices as the timeline has it, on CLOCK_MONOTONIC_RAW, as the truth that the
doubles write down is.
"""

import json
import os
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from analysis import analyze, inferscope
from recording import BUILD, record

DOUBLES = BUILD / "tests" / "doubles"
TIMES = BUILD / "tests" / "programs" / "device_times"
OPENCL = BUILD / "examples" / "opencl-classify"
JUMP_NS = 5_000_000
WORK = {"kernel", "copy", "set"}

doubles = pytest.mark.skipif(not (DOUBLES / "driver").is_dir() or not TIMES.exists(), reason="the doubles have not been built")


def device_times(trace):
    """Of each piece of launched work: pid, correlation, stream, and when its launch began, it began and it ended."""
    lines = subprocess.run([TIMES, trace], check=True, capture_output=True, text=True).stdout.splitlines()
    return [tuple(map(int, line.split())) for line in lines]


def on_doubles(folder, program, *arguments, release="13.0", **settings):
    """Records it, with the doubles in its path and not in ours."""
    paths = ":".join(str(DOUBLES / name) for name in ("driver", "cudart-13", f"cupti-{release}"))
    settings = {"LD_LIBRARY_PATH": paths, "DOUBLE_TRUTH": folder / "truth", "CUDA_HOME": "/nowhere", **settings}
    return record(folder, *(f"{key}={value}" for key, value in settings.items()), program, *map(str, arguments), program="/usr/bin/env")


class Run:
    """A program on the doubles: its true times, those of the timeline, and what the analysis says of its clocks."""

    def __init__(self, folder, program, *arguments, **settings):
        on_doubles(folder, DOUBLES / "programs" / program, *arguments, **settings)
        self.trace = folder / "trace.sbt"
        with open(folder / "truth", encoding="utf-8") as file:
            self.truth = {it["correlation"]: it for it in map(json.loads, file) if it["what"] in WORK}
        self.times = device_times(self.trace)
        self.result = analyze(self.trace)
        self.clocks = [clock for clock in self.result["clock"] if "device_id" in clock]
        self.checks = {check["name"]: check for check in self.result["integrity"]["checks"]}

    def check_causes(self):
        """No work begins before its launch, and none overtakes what its stream was told before."""
        streams = defaultdict(list)
        for pid, correlation, stream, launch, begin, end in self.times:
            assert launch <= begin <= end
            streams[pid, stream].append((begin, correlation))
        for work in streams.values():
            begins = [begin for begin, _ in sorted(work, key=lambda it: it[1])]
            assert begins == sorted(begins)

    def errors(self):
        return [abs(begin - self.truth[correlation]["start"]) / 1000 for _, correlation, _, _, begin, _ in self.times]


@doubles
@pytest.mark.parametrize("ppm", [0, 50, -50])
def test_drift(tmp_path, ppm):
    run = Run(tmp_path, "double-many", 20000, 100, DOUBLE_CLOCK_PPM=ppm)

    (clock,) = run.clocks
    assert (clock["method"], clock["device_id"], clock["pairs"], clock["drift_ppm"]) == ("causality", 0, 0, None)
    assert clock["moved_max_us"] < 1000  # what the double maps wrongly by itself, on a busy machine
    assert len(run.times) == len(run.truth) == 20000
    run.check_causes()
    assert max(run.errors()) <= clock["error_us"] == clock["assumed_error_us"]
    assert run.checks["gpu_work_before_launch"]["status"] in ("ok", "note")
    assert run.checks["clock_sync"]["status"] in ("ok", "note")


@doubles
@pytest.mark.parametrize("by", [JUMP_NS, -JUMP_NS])
@pytest.mark.parametrize("program", [("double-many", 20000, 100), ("double-clock", 200, 2)])
def test_jumps(tmp_path, program, by):
    run = Run(tmp_path, *program, DOUBLE_CLOCK_PPM=50, DOUBLE_CLOCK_STEP_NS=f"100000000:{by}")

    (clock,) = run.clocks
    assert clock["method"] == "causality"
    run.check_causes()
    assert max(run.errors()) <= clock["assumed_error_us"]
    assert sorted(run.errors())[len(run.times) // 2] < 1000
    assert clock["moved"] > 20 and clock["jumps"] >= 1 and 1000 < clock["moved_max_us"] < 1.2 * JUMP_NS / 1000
    check = run.checks["gpu_work_before_launch"]
    assert check["status"] == "warning" and "(method causality)" in check["detail"]
    assert check["count"] == clock["moved"] + clock["clamped"]
    assert run.result["integrity"]["verdict"] == "degraded"


@doubles
def test_devices_have_clocks_of_their_own(tmp_path):
    run = Run(tmp_path, "double-driver-program", DOUBLE_DEVICES=2, DOUBLE_CLOCK_PPM=50)

    assert [clock["device_id"] for clock in run.clocks] == sorted({it["device"] for it in run.truth.values()})
    run.check_causes()


@doubles
def test_times_that_are_wrong_alone(tmp_path):
    run = Run(tmp_path, "double-clock", 150, 1, DOUBLE_FAULT="start_before_launch=10")

    (clock,) = run.clocks
    assert 15 <= clock["clamped"] < 30 and clock["moved_max_us"] < 500  # the double has an error of its own
    run.check_causes()
    assert max(run.errors()) <= clock["error_us"]
    assert f"{clock['clamped']} more were wrong by themselves" in run.checks["gpu_work_before_launch"]["detail"]


@doubles
@pytest.mark.parametrize("step", ["300000000:5000000", "300000000:-5000000"])
def test_the_time_of_day_is_set(tmp_path, step):
    """Without the callback CUPTI counts with the system's clock, calls too, which somebody sets."""
    run = Run(tmp_path, "double-clock", 200, 2, DOUBLE_FAULT="no_timestamp_callback", DOUBLE_REALTIME_STEP_NS=step)

    (clock,) = run.clocks
    assert clock["method"] == "pairs" and clock["pairs"] > 5 and clock["jumps"] >= 1
    assert 4900 < clock["residual_us"] < 7000  # the jump, which no line foresees
    assert all(launch <= begin <= end for _, _, _, launch, begin, end in run.times)
    assert max(run.errors()) <= clock["assumed_error_us"]


@doubles
def test_reports_show_the_bound(tmp_path):
    run = Run(tmp_path, "double-clock", 50, 1)

    (clock,) = run.clocks
    for form in ("text", "md"):
        text = inferscope("analyze", run.trace, "--format", form, "--output", "-").stdout.decode()
        (line,) = [line for line in text.splitlines() if "clock of device 0: " in line]
        assert "within" in line and f"(method {clock['method']}, jumps 0)" in line


NO_WAITS = """
import ctypes, time
cuda = ctypes.CDLL("libcuda.so.1")
context, module, kernel = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
assert not cuda.cuInit(0)
assert not cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
assert not cuda.cuCtxSetCurrent(context)
assert not cuda.cuModuleLoadData(ctypes.byref(module), b"")
assert not cuda.cuModuleGetFunction(ctypes.byref(kernel), module, b"busy_1us")
for _ in range(20):
    assert not cuda.cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, None, None, None)
time.sleep(0.1)
"""


@doubles
def test_a_clock_that_nothing_bounds_gets_the_margin(tmp_path):
    """Nobody waits for the device, so that its times have one side only."""
    on_doubles(tmp_path, sys.executable, "-S", "-c", NO_WAITS)

    for margin, said in ((None, "1.0 ms"), ("250", "250.0 us"), ("3000", "3.0 ms")):
        environment = {**os.environ, **({"INFERSCOPE_SYNC_ERROR_MARGIN_US": margin} if margin else {})}
        result = json.loads(inferscope("analyze", tmp_path / "trace.sbt", "--format", "json", "--output", "-", env=environment).stdout)
        (clock,) = [clock for clock in result["clock"] if "device_id" in clock]
        assert (clock["method"], clock["error_us"], clock["assumed_error_us"]) == ("causality", None, int(margin or 1000))
        (check,) = [check for check in result["integrity"]["checks"] if check["name"] == "clock_sync"]
        assert check["status"] == "note" and f": {said}, the margin (sync_error_margin_us), is taken" in check["detail"]


def test_opencl_pairs(tmp_path):
    if not OPENCL.exists() or not Path("/etc/OpenCL/vendors").is_dir() or not os.listdir("/etc/OpenCL/vendors"):
        pytest.skip("there is no OpenCL device, or the example was not built")
    record(tmp_path, program=OPENCL)
    result = analyze(tmp_path / "trace.sbt")

    (clock,) = [clock for clock in result["clock"] if "device_id" in clock]
    assert clock["method"] == "pairs" and clock["pairs"] >= 2 and clock["jumps"] == 0
    assert abs(clock["drift_ppm"]) < 50  # PoCL counts with the host's own clock
    assert 0 < clock["error_us"] < 1000 and 0 <= clock["residual_us"] <= clock["error_us"]
    assert (clock["moved"], clock["clamped"]) == (0, 0)
    text = inferscope("analyze", tmp_path / "trace.sbt", "--format", "text", "--output", "-").stdout.decode()
    assert re.search(r"clock of device 0: known within [\d.]+ \w+ \(method pairs, drift -?[\d.]+ ppm, residual [\d.]+ \w+, jumps 0\)", text)
