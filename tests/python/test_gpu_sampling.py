"""What the driver says about GPUs while a program uses CUDA, asked by the recorder: values, gaps and failures, on a double of NVML."""

import json
import os
import subprocess
import sys
import time
from collections import defaultdict

import pytest

import sbt
from recording import BUILD, INFERSCOPE, PATIENCE

DOUBLES = BUILD / "tests" / "doubles"
USES_CUDA = "import ctypes, time; assert ctypes.CDLL('libcuda.so.1').cuInit(0) == 0; time.sleep({})"
DEVICE_WIDE = 5
MEASURED = {"memory_used_bytes": 1 << 30, "utilization_percent": 35, "memory_utilization_percent": 12, "sm_clock_mhz": 1410,
            "memory_clock_mhz": 1215, "clock_reasons": 0, "power_mw": 250000, "temperature_c": 61}
LIMITS = {"memory_total_bytes": 24 << 30, "sm_clock_limit_mhz": 1980, "memory_clock_limit_mhz": 2619, "power_limit_mw": 400000}

pytestmark = pytest.mark.skipif(not (DOUBLES / "nvml").exists(), reason="the doubles of NVIDIA's libraries are not built")


class Sampled:
    """A recording of a program that has CUDA loaded for so many seconds."""

    def __init__(self, tmp_path, seconds=1.0, libraries=("driver", "nvml"), options=(), code=USES_CUDA, **variables):
        self.path, report = tmp_path / "trace.sbt", tmp_path / "report.json"
        folders = ":".join(str(DOUBLES / name) for name in libraries)
        environment = dict(os.environ, LD_LIBRARY_PATH=folders, INFERSCOPE_CALLS="off", **variables)
        begin = time.monotonic()
        done = subprocess.run([INFERSCOPE, "run", "--trace", self.path, "--report", report, *options, "--", sys.executable, "-c",
                               code.format(seconds)], capture_output=True, text=True, env=environment, timeout=PATIENCE, check=False)
        self.seconds = time.monotonic() - begin
        assert done.returncode == 0 and done.stdout == "", done.stderr
        self.said, self.trace = done.stderr, sbt.read(self.path)
        assert self.trace.violations == [] and self.trace.damage == []
        self.result = json.loads(report.read_text())
        self.about = self.trace.info["gpu"]

    def values(self, device=0, of_processes=False):
        """Values of the counters of a device, by name."""
        found = defaultdict(list)
        for event in self.trace.events:
            track = self.trace.tracks[event.track]
            if track["kind"] == DEVICE_WIDE and track["device"] == device and (track["process"] is not None) == of_processes:
                found[self.trace.strings[event.name]].append(event.integer)
        return dict(found)

    def check(self, name):
        return next(check for check in self.result["integrity"]["checks"] if check["name"] == name)


def test_all_that_a_gpu_tells(tmp_path):
    run = Sampled(tmp_path, DOUBLE_DEVICES="2", DOUBLE_NVML="1.power=90000,1.util=80/7")
    assert [device["properties"]["uuid"][:4] for device in run.trace.devices.values()] == ["GPU-", "GPU-"]
    for device, own in enumerate(({}, {"power_mw": 90000, "utilization_percent": 80, "memory_utilization_percent": 7})):
        values = run.values(device)
        energy = values.pop("energy_mj")
        assert {name: set(numbers) for name, numbers in values.items()} == {name: {number} for name, number in {**MEASURED, **LIMITS, **own}.items()}
        assert all(len(values[name]) == 1 for name in LIMITS)  # said once
        counts = {len(values[name]) for name in MEASURED} | {len(energy)}
        assert len(counts) == 1 and 3 <= counts.pop() <= 6  # one second, every 200 ms at most
        assert energy == sorted(energy) and energy[-1] - energy[0] == pytest.approx(own.get("power_mw", 250000) * (len(energy) - 1) * 0.2, rel=0.2)
    assert run.about["samples"] == 2 * len(energy) and "sampling_error" not in run.about


def test_figures(tmp_path):
    run = Sampled(tmp_path, DOUBLE_DEVICES="1", DOUBLE_NVML="reasons=0x44,clock=990/1215,temperature=88")
    gpu, = run.result["gpus"]
    assert gpu["samples"] == run.about["samples"] and gpu["device_id"] == 0 and gpu["name"]
    assert (gpu["utilization_percent"], gpu["utilization_max_percent"], gpu["memory_utilization_percent"]) == (35, 35, 12)
    assert (gpu["memory_used_max_bytes"], gpu["memory_total_bytes"]) == (1 << 30, 24 << 30)
    assert (gpu["sm_clock_mhz"], gpu["sm_clock_limit_mhz"], gpu["memory_clock_mhz"], gpu["memory_clock_limit_mhz"]) == (990, 1980, 1215, 2619)
    assert (gpu["power_w"], gpu["power_max_w"], gpu["power_limit_w"], gpu["temperature_max_c"]) == (250, 250, 400, 88)
    assert gpu["energy_j"] == pytest.approx(250 * 0.2 * (gpu["samples"] - 1), rel=0.2)
    assert (gpu["throttled_percent"], gpu["throttled_power_percent"], gpu["throttled_thermal_percent"]) == (100, 100, 100)
    assert run.check("gpu_throttling")["status"] == "note" and "990 MHz of 1980" in run.check("gpu_throttling")["detail"]


def test_an_idle_gpu_is_not_a_throttled_one(tmp_path):
    run = Sampled(tmp_path, 0.5, DOUBLE_DEVICES="1", DOUBLE_NVML="reasons=0x103")  # idle, a setting, a display
    assert run.result["gpus"][0]["throttled_percent"] == 0 and run.check("gpu_throttling")["status"] == "ok"


@pytest.mark.parametrize("fault,missing", [
    ("nvml_memory", {"memory_used_bytes", "memory_total_bytes"}), ("nvml_utilization", {"utilization_percent", "memory_utilization_percent"}),
    ("nvml_clock", {"sm_clock_mhz", "sm_clock_limit_mhz", "memory_clock_mhz", "memory_clock_limit_mhz", "clock_reasons"}),
    ("nvml_power=13", {"power_mw", "power_limit_mw"}), ("nvml_energy=13", {"energy_mj"}), ("nvml_temperature", {"temperature_c"})])
def test_what_is_absent_is_absent(fault, missing, tmp_path):
    run = Sampled(tmp_path, 0.5, DOUBLE_DEVICES="1", DOUBLE_FAULT=fault)
    assert set(run.values()) == {*MEASURED, *LIMITS, "energy_mj"} - missing
    if "clock" in fault:
        assert run.result["gpus"][0]["throttled_percent"] is None and run.check("gpu_throttling")["status"] == "not_applicable"


@pytest.mark.parametrize("fault,why", [
    ("nvml_init=9", "the driver is not loaded"), ("nvml_init=18", "the library and the driver are of different versions"),
    ("nvml_all=15", "GPU 0: the GPU is lost"), ("nvml_all=4", "GPU 0: there is no permission"), ("nvml_init=999", "error 999 of NVML")])
def test_failures_are_a_status(fault, why, tmp_path):
    run = Sampled(tmp_path, 0.5, DOUBLE_DEVICES="1", DOUBLE_FAULT=fault)
    assert run.values() == {} and run.result["gpus"] == [] and run.about["samples"] == 0
    assert run.about["sampling_error"] == why and why not in run.said
    assert why in run.check("gpu_throttling")["detail"]


def test_a_gpu_without_nvml(tmp_path):
    run = Sampled(tmp_path, 0.5, libraries=("driver", ))
    assert run.values() == {} and run.about["sampling_error"] == "libnvidia-ml.so.1 cannot be loaded"


def test_a_gpu_that_takes_its_time(tmp_path):
    """Each answer takes 30 ms: it is asked more rarely, and nothing waits for it."""
    run = Sampled(tmp_path, 1.5, DOUBLE_DEVICES="1", DOUBLE_FAULT="nvml_slow=30")
    assert run.about["samples"] == 1 and run.seconds < 1.5 + 5


def test_one_that_never_answers(tmp_path):
    run = Sampled(tmp_path, 0.5, DOUBLE_DEVICES="1", DOUBLE_FAULT="nvml_slow=600000")
    assert run.about["samples"] == 0 and run.seconds < 0.5 + 5


def test_memory_of_the_programs_processes(tmp_path):
    """The program says itself which processes are on the GPU: it and a child are, and somebody else is."""
    code = """if True:
        import ctypes, os, subprocess, sys, time
        def say(text):
            path = os.environ["NVML_PROCESSES"]
            with open(path + ".new", "w") as file:
                file.write(text)
            os.replace(path + ".new", path)
        assert ctypes.CDLL("libcuda.so.1").cuInit(0) == 0
        child = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
        say(f"{{os.getpid()}}:1000/1:77777/{{child.pid}}:234")
        time.sleep({0})
        say(f"{{os.getpid()}}:500")
        time.sleep({0})
        child.communicate()"""
    file = tmp_path / "processes"
    file.write_text("")
    run = Sampled(tmp_path, 0.7, code=code, DOUBLE_DEVICES="2", NVML_PROCESSES=str(file), DOUBLE_NVML=f"0.processes=@{file}")
    tracks = {number: track for number, track in run.trace.tracks.items() if track["kind"] == DEVICE_WIDE and track["process"] is not None}
    by_process = defaultdict(list)
    for event in run.trace.events:
        if event.track in tracks:
            assert run.trace.strings[event.name] == "memory_used_bytes" and tracks[event.track]["device"] == 0
            by_process[run.trace.processes[tracks[event.track]["process"]]["pid"]].append(event.integer)
    assert sorted(by_process.values()) == [[234, 0], [1000, 500]]
    assert len(run.result["gpus"]) == 1  # the other GPU has nobody of the program's
    assert run.result["gpus"][0]["program_memory_max_bytes"] == 1234


def test_a_program_without_cuda_is_not_asked_about(tmp_path):
    run = Sampled(tmp_path, 0.5, code="import time; time.sleep({})", DOUBLE_FAULT="nvml_init=9")
    assert run.about["samples"] == 0 and "sampling_error" not in run.about and run.result["gpus"] == []


def test_devices_are_those_that_the_door_describes(tmp_path):
    """Two GPUs, of which the program uses one: it has one entry, with the work and the samples."""
    many, report, path = DOUBLES / "programs" / "double-many", tmp_path / "report.json", tmp_path / "trace.sbt"
    folders = ":".join(str(DOUBLES / name) for name in ("driver", "nvml", "cupti-13.0"))
    done = subprocess.run([INFERSCOPE, "run", "--trace", path, "--report", report, "--", many, "20000", "1"], capture_output=True, text=True,
                          timeout=PATIENCE, check=False, env=dict(os.environ, LD_LIBRARY_PATH=folders, DOUBLE_DEVICES="2"))
    assert done.returncode == 0, done.stderr
    trace, result = sbt.read(path), json.loads(report.read_text())
    assert trace.violations == [] and len(trace.devices) == 1 and trace.devices[0]["properties"]["totalGlobalMem"] == 24 << 30
    assert {track["kind"] for track in trace.tracks.values() if track["device"] == 0} == {2, DEVICE_WIDE}
    assert trace.info["gpu"]["recorded"] and not trace.info["gpu"]["missing"] and "CUDA" not in done.stderr
    assert [gpu["device_id"] for gpu in result["gpus"]] == [device["device_id"] for device in result["devices"]] == [0]
