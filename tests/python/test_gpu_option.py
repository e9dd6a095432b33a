"""`inferscope run --gpu`: which doors are opened, what is asked, and what becomes of a run under Nsight Systems."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import sbt
from recording import BUILD, INFERSCOPE, PATIENCE
from sbt_payload import KINDS
from toolkits import with_mounts, without_cupti

DOUBLES = BUILD / "tests" / "doubles"
NSYS = Path(__file__).parents[1] / "doubles" / "nsys.py"
PRINT_DOORS = """import os
print(*sorted(name for name in os.environ if name in ("CUDA_INJECTION64_PATH", "OPENCL_LAYERS", "NVTX_INJECTION64_PATH")))"""
CUDA = "import ctypes, time; ctypes.CDLL('libcuda.so.1').cuInit(0); time.sleep(0.5)"

# Ten kernels of 2 ms, each launched after 6 ms of Python.
LAUNCHES = """
import json, os, sys, threading, time

def prepare(ms):
    until = time.perf_counter() + ms / 1e3
    while time.perf_counter() < until:
        pass

def launch(file, number):
    begin = time.time_ns()
    prepare(0.2)
    end = time.time_ns()
    work = {"pid": os.getpid(), "tid": threading.get_native_id(), "call": [begin, end], "kernel": [end, end + 2_000_000], "name": f"gemm{number % 2}"}
    file.write(json.dumps(work) + "\\n")

def main():
    with open(os.environ["DOUBLE_NSYS_WORK"], "w") as file:
        for number in range(10):
            prepare(6)
            launch(file, number)
    time.sleep(0.01)

main()
print("out")
sys.exit(3)
"""


def run(tmp_path, *options, code=PRINT_DOORS, status=0, path=None, libraries=(), **variables):
    environment = dict(os.environ, **({"PATH": f"{path}:{os.environ['PATH']}"} if path else {}),
                       LD_LIBRARY_PATH=":".join(str(DOUBLES / name) for name in libraries), **variables)
    done = subprocess.run([INFERSCOPE, "run", "--trace", tmp_path / "trace.sbt", *options, "--", sys.executable, "-c", code], capture_output=True,
                          text=True, env=environment, timeout=PATIENCE, check=False)
    assert done.returncode == status, done.stderr
    return done


@pytest.fixture
def nsys(tmp_path):
    """A folder for PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "nsys").write_text(f"#!/bin/sh\nexec {sys.executable} {NSYS} \"$@\"\n")
    (folder / "nsys").chmod(0o755)
    return folder


def test_doors(tmp_path):
    assert run(tmp_path, "--gpu", "off").stdout.split() == ["NVTX_INJECTION64_PATH"]
    assert run(tmp_path, INFERSCOPE_GPU="off").stdout.split() == ["NVTX_INJECTION64_PATH"]
    assert run(tmp_path, "--gpu", "off", code="import os; print(os.environ['INFERSCOPE_GPU'])").stdout == "off\n"
    assert "OPENCL_LAYERS" in run(tmp_path).stdout and run(tmp_path).stdout == run(tmp_path, "--gpu", "auto").stdout


@pytest.mark.skipif(not (DOUBLES / "nvml").exists(), reason="the doubles of NVIDIA's libraries are not built")
def test_off_asks_nobody_and_says_so(tmp_path):
    report = tmp_path / "report.json"
    done = run(tmp_path, "--gpu", "off", "--report", report, code=CUDA, libraries=("driver", "nvml"))
    about = sbt.read(tmp_path / "trace.sbt").info["gpu"]
    assert about["mode"] == "off" and about["samples"] == 0 and about["missing"] is False and about["libraries"] == ["libcuda.so.1"]
    assert "CUDA" not in done.stderr
    check, = (check for check in json.loads(report.read_text())["integrity"]["checks"] if check["name"] == "gpu_recording")
    assert check["status"] == "note" and "was not to be recorded" in check["detail"]


@pytest.mark.skipif(not (DOUBLES / "nvml").exists(), reason="the doubles of NVIDIA's libraries are not built")
def test_who_asks_the_driver_is_not_waited_for(tmp_path):
    assert run(tmp_path, "--wait-all", "--report", "none", code=CUDA, libraries=("driver", "nvml")).stderr.count("\n") == 2
    assert sbt.read(tmp_path / "trace.sbt").info["gpu"]["samples"] > 0


@pytest.mark.skipif(not (DOUBLES / "nvml").exists(), reason="the doubles of NVIDIA's libraries are not built")
@pytest.mark.parametrize("offered", [False, True])
def test_a_door_that_stands_down(offered, tmp_path, nsys):
    """Somebody else has CUPTI: one warning, one line of the report, and the CPU is recorded; nsys is offered where it is."""
    report, folders = tmp_path / "report.json", [str(DOUBLES / name) for name in ("driver", "nvml", "cupti-13.0")]
    environment = dict(os.environ, PATH=f"{nsys}:{os.environ['PATH']}" if offered else os.environ["PATH"], LD_LIBRARY_PATH=":".join(folders),
                       DOUBLE_FAULT="subscribe_39")
    done = subprocess.run([INFERSCOPE, "run", "--trace", tmp_path / "trace.sbt", "--report", report, "--", DOUBLES / "programs" / "double-many",
                           "20000", "1"], capture_output=True, text=True, env=environment, timeout=PATIENCE, check=False)
    assert done.returncode == 0 and "20000 operations" in done.stdout
    warning, = (line for line in done.stderr.splitlines() if "CUPTI" in line and line.startswith("inferscope: "))
    assert "what its GPUs do is not recorded: another profiler is using CUPTI" in warning
    assert warning.endswith("; or: inferscope run --gpu nsys ..." if offered else "; this is an analysis of the CPU alone")
    result = json.loads(report.read_text())
    check, = (check for check in result["integrity"]["checks"] if check["name"] == "gpu_recording")
    assert check["status"] == "warning" and "another profiler is using CUPTI" in check["detail"]
    assert result["devices"] == [] and result["gpus"] and result["integrity"]["verdict"] == "degraded"


def test_a_wrong_value(tmp_path):
    assert "auto, off or nsys" in run(tmp_path, "--gpu", "cupti", status=2).stderr


def test_no_nsys(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    done = run(tmp_path, "--gpu", "nsys", status=4)
    assert "no 'nsys' on PATH" in done.stderr and done.stdout == "" and not (tmp_path / "trace.sbt").exists()


def joined(tmp_path, nsys, *options, **variables):
    work, temporary = tmp_path / "work", tmp_path / "tmp"
    temporary.mkdir(exist_ok=True)
    work.write_text("")
    done = run(tmp_path, "--gpu", "nsys", *options, code=LAUNCHES, status=3, path=nsys, DOUBLE_NSYS_WORK=str(work), TMPDIR=str(temporary),
               **variables)
    assert done.stdout == "out\n"
    assert list(temporary.iterdir()) == [] and not (tmp_path / "trace.sbt.joined").exists()
    trace = sbt.read(tmp_path / "trace.sbt")
    assert trace.violations == [] and trace.damage == []
    return done, trace, [json.loads(line) for line in work.read_text().splitlines()]


def test_one_trace_has_both(tmp_path, nsys):
    report = tmp_path / "report.json"
    done, trace, truth = joined(tmp_path, nsys, "--report", report)
    assert not done.stderr.startswith("inferscope: what Nsight"), done.stderr
    events = {kind: [event for event in trace.events if KINDS[event.kind] == kind] for kind in ("gpu_kernel", "runtime_call", "cpu_call")}
    assert sorted((event.time, event.duration) for event in events["gpu_kernel"]) == [(work["kernel"][0], 2_000_000) for work in truth]
    assert sorted((event.time, event.time + event.duration) for event in events["runtime_call"]) == [tuple(work["call"]) for work in truth]
    pids = [process["pid"] for process in trace.processes.values()]
    assert pids.count(truth[0]["pid"]) == 1  # one process, and one thread, that did both
    calls, functions = ({event.track for event in events[kind]} for kind in ("runtime_call", "cpu_call"))
    assert len(calls) == 1 and calls <= functions
    result = json.loads(report.read_text())
    device, = result["devices"]
    assert device["name"] == "double of a GPU" and device["busy_us"] == 20_000
    gap = device["longest_gaps"][0]
    assert gap["cause"] == "host_late" and "prepare" in gap["on_top"]
    assert result["integrity"]["verdict"] == "good", result["integrity"]


def test_times_agree(tmp_path, nsys):
    """A launch lies inside the function that made it: both clocks are the machine's."""
    _, trace, truth = joined(tmp_path, nsys)
    spans, begun = [], {}
    for event in sorted(trace.events, key=lambda event: event.time):
        name = trace.strings.get(event.name, "")
        if KINDS[event.kind] == "cpu_call" and event.phase == 0:
            begun.setdefault(event.track, []).append((name, event.time))
        elif KINDS[event.kind] == "cpu_call" and event.phase == 1:
            spans.append((*begun[event.track].pop(), event.time))
    launches = sorted((begin, end) for name, begin, end in spans if name.endswith("launch"))
    assert len(launches) == len(truth) == 10
    for (begin, end), work in zip(launches, truth):
        assert begin - 20_000 <= work["call"][0] and work["call"][1] <= end + 20_000


@pytest.mark.parametrize("fault,why", [("no_report", "it left no report"), ("no_export", "'nsys export' made no database"),
                                       ("crash", "report.sqlite"), ("no_work", "report.sqlite")])
def test_what_goes_wrong_leaves_the_cpu(fault, why, tmp_path, nsys):
    done, trace, _ = joined(tmp_path, nsys, DOUBLE_NSYS_FAULT=fault)
    warning, = (line for line in done.stderr.splitlines() if "Nsight Systems" in line)
    assert "is not in the trace" in warning and why in warning and "CPU alone" in warning
    assert any(KINDS[event.kind] == "cpu_call" for event in trace.events) and trace.info["exit_status"] is not None


# ---- CUPTI cannot be used, and nobody has said how to record GPUs -------------------------------

WARNING = "so Nsight Systems records what GPUs do; --gpu off leaves that out"


def without(tmp_path, nsys, *options, driver=True, path=None, **variables):
    """On a machine with a driver, as far as files tell, and without CUPTI."""
    script = "mount -t tmpfs none /proc/driver; mkdir /proc/driver/nvidia; echo 'Kernel Module  580.65.06' >/proc/driver/nvidia/version"
    (tmp_path / "work").write_text("")
    command = without_cupti(INFERSCOPE, "run", "--trace", tmp_path / "trace.sbt", "--report", "none", *options, "--", "/usr/bin/python3", "-c",
                            LAUNCHES)
    environment = {key: value for key, value in os.environ.items() if key not in ("VIRTUAL_ENV", "PYTHONPATH", "CONDA_PREFIX", "PYENV_ROOT")}
    environment.update(PATH=f"{path or nsys}:/usr/bin:/bin", DOUBLE_NSYS_WORK=str(tmp_path / "work"), HOME=str(tmp_path), **variables)
    done = subprocess.run(with_mounts(script, *command) if driver else command, capture_output=True, text=True, env=environment,
                          timeout=PATIENCE, check=False)
    assert (done.returncode, done.stdout) == (3, "out\n"), done.stderr
    kernels = sum(KINDS[event.kind] == "gpu_kernel" for event in sbt.read(tmp_path / "trace.sbt").events)
    return done.stderr, kernels


def test_nsys_comes_in_for_cupti(tmp_path, nsys):
    said, kernels = without(tmp_path, nsys)
    assert kernels == 10
    first, *rest = said.splitlines()
    assert first.startswith("inferscope: CUPTI cannot be loaded (libcupti.so") and first.endswith(WARNING)
    assert len(rest) == 1 and "trace in" in rest[0]


def test_a_program_that_uses_no_gpu_is_not_told_that_nothing_came_of_it(tmp_path, nsys):
    said, kernels = without(tmp_path, nsys, DOUBLE_NSYS_FAULT="no_work")
    assert kernels == 0 and len(said.splitlines()) == 2 and "is not in the trace" not in said


@pytest.mark.parametrize("why", ["no driver", "no nsys", "off", "nsys already", "another tool", "in the environment", "in a folder of its own"])
def test_nsys_stays_out_of_it(why, tmp_path, nsys):
    options, variables = (["--gpu", "off"] if why == "off" else []), {}
    if why == "nsys already":
        variables["NSYS_PROFILING_SESSION_ID"] = "4711"
    if why == "another tool":
        variables["CUDA_INJECTION64_PATH"] = "/opt/tool.so"
    if why.startswith("in "):
        prefix = tmp_path / "a [new] one"
        library = prefix / "lib/python3.11/site-packages/nvidia/cuda_cupti/lib/libcupti.so.12"
        library.parent.mkdir(parents=True)
        library.touch()
        variables.update({"VIRTUAL_ENV": str(prefix)} if "environment" in why else {"PYTHONPATH": f"/x:{library.parents[3]}"})
    said, kernels = without(tmp_path, nsys, *options, driver=why != "no driver", path="/usr/bin" if why == "no nsys" else None, **variables)
    assert kernels == 0 and "Nsight" not in said
