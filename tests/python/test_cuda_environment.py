"""How GPUs are, by CUPTI's own records where the recorder cannot ask NVML: values and times against the truth of the doubles."""

import json
import os
import subprocess
import sys
from collections import Counter

import pytest

import sbt
from recording import INFERSCOPE, PATIENCE
from test_cuda import DEVICE_WIDE, DOUBLES, RELEASES, paths, truth

COUNTER = 4
NAMES = {1: ("sm_clock_mhz", "memory_clock_mhz", "pcie_generation", "pcie_width", "clock_reasons"), 2: ("temperature_c",),
         3: ("power_mw", "power_limit_mw"), 4: ("fan_percent",)}
PROGRAM = """
import ctypes, sys, time
cuda = ctypes.CDLL("libcuda.so.1")
assert cuda.cuInit(0) == 0
for device in map(int, sys.argv[2:]):
    context = ctypes.c_void_p()
    assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device) == 0
time.sleep(float(sys.argv[1]))
"""

pytestmark = pytest.mark.skipif(not (DOUBLES / "driver").is_dir(), reason="the doubles have not been built")


class Sampled:
    """A recording of a program that has contexts on some of two devices; the recorder has NVML or not."""

    def __init__(self, folder, *devices, release="13.0", seconds=1.0, nvml=False, command="run", options=(), **variables):
        recorder = dict(os.environ, LD_LIBRARY_PATH=str(DOUBLES / "nvml") if nvml else "", INFERSCOPE_CALLS="off")
        settings = {"LD_LIBRARY_PATH": paths(release), "DOUBLE_TRUTH": folder / "truth", "CUDA_HOME": "/nowhere", "DOUBLE_DEVICES": 2, **variables}
        path = folder / "trace.sbt"
        done = subprocess.run([INFERSCOPE, command, "--trace", path, *options, "--", "/usr/bin/env",
                               *(f"{key}={value}" for key, value in settings.items()), sys.executable, "-c", PROGRAM, str(seconds),
                               *map(str, devices)], env=recorder, capture_output=True, text=True, check=False, timeout=PATIENCE)
        assert done.returncode == 0, done.stderr
        self.said, self.out, self.path, self.trace = done.stderr, done.stdout, path, sbt.read(path)
        assert self.trace.violations == [] and self.trace.info["lost"] == 0
        self.truth = [it for it in truth(folder) if it["what"] == "environment"]

    def counters(self):
        """Of devices as a whole: index, name, when, value."""
        for event in self.trace.events:
            track = self.trace.tracks[event.track]
            if event.kind == COUNTER and track["kind"] == DEVICE_WIDE and track["process"] is None:
                yield self.trace.devices[track["device"]]["index"], self.trace.strings[event.name], event.time, event.integer

    def analyse(self):
        shown = subprocess.run([INFERSCOPE, "analyze", "--format", "json", self.path], capture_output=True, check=True, timeout=PATIENCE)
        return json.loads(shown.stdout)


def expected(records, devices, leave_out=()):
    return Counter((it["device"], name, it["record_start"], value) for it in records if it["device"] in devices
                   for name, value in zip(NAMES[it["kind"]], it["data"]) if name not in leave_out)


@pytest.mark.parametrize("release", RELEASES)
def test_values_and_times(tmp_path, release):
    run = Sampled(tmp_path, 0, 1, release=release)
    seen = Counter(run.counters())
    assert seen == expected(run.truth, (0, 1))
    by_name = Counter((device, name) for device, name, _, _ in seen.elements())
    assert set(by_name) == {(device, name) for device in (0, 1) for names in NAMES.values() for name in names}
    assert min(by_name.values()) >= 5 and (1, "fan_percent", 0) in {(device, name, value) for device, name, _, value in seen}
    assert len({value for device, name, _, value in seen if (device, name) == (0, "power_mw")}) > 3
    assert len(run.trace.devices) == 2 and all(device["properties"]["uuid"].startswith("GPU-") for device in run.trace.devices.values())


@pytest.mark.parametrize("release", ["12.2", "12.5", "12.8", "13.1", "13.3"])
def test_releases_in_between(tmp_path, release):
    run = Sampled(tmp_path, 0, release={"12": "12.9", "13": "13.4"}[release[:2]], seconds=0.6, DOUBLE_CUPTI=release)
    assert Counter(run.counters()) == expected(run.truth, (0,)) != Counter()


def test_without_the_callback_for_times(tmp_path):
    """They are the system's clock then, and put on ours."""
    run = Sampled(tmp_path, 0, DOUBLE_FAULT="no_timestamp_callback")
    pair = run.trace.pairs[0][0]
    times = sorted(run.trace.ns(time) + pair.realtime - pair.raw for _, name, time, _ in run.counters() if name == "temperature_c")
    true = sorted(it["record_start"] for it in run.truth if it["device"] == 0 and it["kind"] == 2)
    assert len(times) == len(true) > 3 and max(abs(a - b) for a, b in zip(times, true)) < 100_000


def test_only_devices_that_are_used(tmp_path):
    run = Sampled(tmp_path, 1)
    assert {it["device"] for it in run.truth} == {0, 1}
    assert Counter(run.counters()) == expected(run.truth, (1,)) != Counter()
    assert [device["index"] for device in run.trace.devices.values()] == [1]


@pytest.mark.parametrize("reasons", [1 << 30, 1 << 31])
def test_what_is_not_known_is_not_there(tmp_path, reasons):
    run = Sampled(tmp_path, 0, DOUBLE_REASONS=reasons)
    assert Counter(run.counters()) == expected(run.truth, (0,), leave_out=("clock_reasons",)) != Counter()


def test_nobody_is_asked_twice(tmp_path):
    """Where the recorder has NVML, CUPTI is not asked."""
    run = Sampled(tmp_path, 0, 1, nvml=True)
    assert run.truth == []
    names = Counter(name for _, name, _, _ in run.counters())
    assert names["power_mw"] >= 4 and "fan_percent" not in names
    assert run.trace.info["gpu"]["samples"] == names["power_mw"]


def test_figures_are_those_of_samples(tmp_path):
    run = Sampled(tmp_path, 0, DOUBLE_REASONS=8)
    analysis = run.analyse()
    gpu, = analysis["gpus"]
    values = {name: [value for _, each, _, value in run.counters() if each == name] for names in NAMES.values() for name in names}
    assert gpu["samples"] == len(values["power_mw"])
    assert gpu["power_w"] == pytest.approx(sum(values["power_mw"]) / len(values["power_mw"]) / 1000, abs=0.01)
    assert (gpu["power_max_w"], gpu["power_limit_w"]) == (max(values["power_mw"]) / 1000, 400)
    assert gpu["temperature_max_c"] == max(values["temperature_c"])
    assert gpu["sm_clock_mhz"] == pytest.approx(sum(values["sm_clock_mhz"]) / len(values["sm_clock_mhz"]), abs=0.1)
    assert (gpu["sm_clock_limit_mhz"], gpu["utilization_percent"], gpu["throttled_percent"]) == (None, None, 100)
    check, = (check for check in analysis["integrity"]["checks"] if check["name"] == "gpu_throttling")
    assert check["status"] == "note" and "MHz on average" in check["detail"]
    assert run.trace.info["gpu"]["sampling_error"] == "libnvidia-ml.so.1 cannot be loaded"


def test_live_rows(tmp_path):
    """What doors tell is in the rows that NVML's samples have, while the program runs."""
    rule = ("warm: program.gpu_source = 'cupti' AND (SELECT count(*) FROM gpus WHERE name = 'Double GPU' AND uuid LIKE 'GPU-d00b1e00-%' "
            "AND temperature_celsius BETWEEN 61 AND 65 AND power_watts BETWEEN 250 AND 266 AND power_limit_watts = 400 "
            "AND sm_clock_mhz BETWEEN 1410 AND 1515 AND utilization IS NULL) = 1")
    run = Sampled(tmp_path, 0, seconds=4, command="monitor", options=("--interval", "0.1", "--plain", "--alert", rule))
    assert "alert warning rule warm" in run.said
