"""What stands in the way of a whole picture: no GPU driver, no CUPTI, a buffer that overflows, clocks that nothing relates.

Each has its response, its warning, and its line in every report (docs/analysis.md, section 5).
"""

import json
import os
import re
import shutil
import struct
import subprocess
import zlib
from pathlib import Path

import pytest
import sbt
from conftest import FAULTS, INFERSCOPE, in_private_mounts, needs_root

ON_A_GPU = Path("/dev/nvidiactl").exists() or Path("/proc/driver/nvidia/version").exists()
COMPILER = shutil.which("cc") or shutil.which("gcc")
CUPTI_NAMES = ("libcupti.so", "libcupti.so.13", "libcupti.so.12", "libcupti.so.11.0")
WHOLE_CUPTI = "void cuptiActivityEnable(void) {}\nvoid cuptiActivityRegisterCallbacks(void) {}\n"
LOADS = "import ctypes, sys, time; [ctypes.CDLL(path) for path in sys.argv[1:]]; time.sleep(1.5)"  # the recorder looks twice a second

no_driver = pytest.mark.skipif(ON_A_GPU, reason="this machine has an NVIDIA driver")
needs_compiler = pytest.mark.skipif(not COMPILER, reason="there is no C compiler")


def library(folder, name, source="int nothing;\n"):
    folder.mkdir(exist_ok=True)
    text = folder / "source.c"
    text.write_text(source)
    subprocess.run([COMPILER, "-shared", "-fPIC", "-o", folder / name, text], check=True)
    return folder / name


class Reports:
    """A trace's analysis in all formats, and what was said to standard error meanwhile."""

    def __init__(self, place, path=None, env=None):
        outputs = [place.call(INFERSCOPE, "analyze", path or place.trace_path, "--format", form, env=env)
                   for form in ("json", "md", "text")]
        assert [output.status for output in outputs] == [0, 0, 0], outputs[0].err
        self.json = json.loads(outputs[0].out)
        self.md, self.text = outputs[1].out, outputs[2].out
        self.err = outputs[0].err

    @property
    def verdict(self):
        return self.json["integrity"]["verdict"]

    def check(self, name):
        """The one check of that name; what is worth telling is in the other formats, too."""
        (found,) = [check for check in self.json["integrity"]["checks"] if check["name"] == name]
        words = re.sub(r"[^\w ]", "", found["detail"])[:60]
        for report in (self.md, self.text):
            told = words in re.sub(r"[^\w ]", "", report)
            assert told == (found["status"] in ("note", "warning", "failed")), (found, report)
        return found


# ---- CUDA is not available ----------------------------------------------------------------------


@no_driver
def test_a_program_of_the_cpu_alone_is_told_nothing(tidy):
    result = tidy.record("-c", "print(1)")

    assert (result.status, result.out) == (0, "1\n")
    assert len(result.lines) == 1 and "CUDA" not in result.err
    assert tidy.trace().info["gpu"] == {"driver": False, "libraries": [], "reason": "there is no NVIDIA driver", "mode": "auto",
                                        "recorded": False, "missing": False, "stood_down": False, "samples": 0}
    said = tidy.record("--log-level", "debug", "-c", "print(1)").lines
    assert "inferscope: the program used no GPU library, and there is no NVIDIA driver" in said
    reports = Reports(tidy)
    check = reports.check("gpu_recording")
    assert (check["status"], check["detail"]) == ("note", "no NVIDIA driver: this is a CPU-only analysis")
    assert reports.verdict == "good"


@no_driver
@needs_compiler
@pytest.mark.parametrize("name", ["libcudart.so.12", "libcuda.so.1", "libcudart-d0da41ae.so.11.0", "libtorch_cuda.so"])
def test_a_program_that_uses_cuda_without_a_driver(tidy, name):
    path = library(tidy.folder / "cuda", name)

    result = tidy.record("-c", LOADS, path)

    sentence = (f"inferscope: the program uses CUDA ({name}), and what its GPUs do is not recorded: there is no NVIDIA driver; "
                "this is an analysis of the CPU alone")
    assert result.status == 0 and result.lines.count(sentence) == 1
    gpu = tidy.trace().info["gpu"]
    assert (gpu["driver"], gpu["libraries"], gpu["reason"]) == (False, [name], "there is no NVIDIA driver")
    reports = Reports(tidy)
    check = reports.check("gpu_recording")
    assert (check["status"], check["count"]) == ("note", 1)  # GPUs that are not there did nothing
    assert name in check["detail"] and "there is no NVIDIA driver; this is an analysis of the CPU alone" in check["detail"]
    assert reports.verdict == "good"
    said = tidy.call(INFERSCOPE, "info", tidy.trace_path).out
    assert f"gpu         CUDA ({name}); device work is not recorded: there is no NVIDIA driver\n" in said
    assert tidy.json("info", tidy.trace_path)["gpu"] == gpu


@no_driver
@needs_compiler
def test_other_libraries_are_not_cuda(tidy):
    result = tidy.record("-c", LOADS, library(tidy.folder / "other", "libcudaish.so"), library(tidy.folder / "other", "libcupti.so.12"))

    assert len(result.lines) == 1
    assert tidy.trace().info["gpu"]["libraries"] == []


@no_driver
@needs_compiler
def test_it_may_be_a_child_that_uses_it(tidy):
    path = library(tidy.folder / "cuda", "libcudart.so.12")

    result = tidy.record("sh", "-c", f'python3 -c "{LOADS}" {path}; exit 3')

    assert result.status == 3
    assert tidy.trace().info["gpu"]["libraries"] == ["libcudart.so.12"]
    assert "the program uses CUDA (libcudart.so.12)" in result.err


@needs_compiler
def test_a_program_that_loads_it_late(tidy):
    path = library(tidy.folder / "cuda", "libcudart.so.12")
    late = f"import time; time.sleep(1.5); import sys; sys.argv[1:] = [{str(path)!r}]; {LOADS}"

    tidy.record("-c", late)

    assert tidy.trace().info["gpu"]["libraries"] == ["libcudart.so.12"]


# ---- CUPTI cannot be loaded ---------------------------------------------------------------------


def with_driver(*command):
    """A command for which there is a driver, as far as files tell, and no toolkit in the usual place."""
    script = """
        mount -t tmpfs none /mnt
        for node in null zero full random urandom tty; do touch /mnt/$node; mount --bind /dev/$node /mnt/$node; done
        mkdir /mnt/shm; mount --bind /dev/shm /mnt/shm
        touch /mnt/nvidiactl
        for toolkit in /usr/local/cuda*; do if [ -d $toolkit ]; then mount -t tmpfs none $toolkit; fi; done
        mount --rbind /mnt /dev"""
    return in_private_mounts(script, *(str(part) for part in command))


def record_with_driver(place, folder, *arguments, **env):
    """Records a program that uses CUDA where there is a driver; libraries are looked for in the folder first."""
    path = library(place.folder / "cuda", "libcudart.so.12")
    env = {"LD_LIBRARY_PATH": str(folder), **env}
    result = place.call(*with_driver(INFERSCOPE, "run", *arguments, "-c", LOADS, path), env=env)
    assert result.status == 0, result.err
    gpu = place.trace().info["gpu"]
    assert gpu["driver"] is True and gpu["libraries"] == ["libcudart.so.12"]
    return result, gpu


def broken(folder, how):
    """CUPTI under all its names, and none that works."""
    if how == "no ELF file":
        folder.mkdir()
        for name in CUPTI_NAMES:
            (folder / name).write_bytes(b"#!/bin/sh\n" + bytes(200))
        return "invalid ELF header"
    source = {"no functions": "int nothing;\n", "missing dependency": WHOLE_CUPTI,
              "crash": "#include <stdlib.h>\n__attribute__((constructor)) static void crash(void) { abort(); }\n" + WHOLE_CUPTI}[how]
    made = library(folder, "made.so", source)
    if how == "missing dependency":
        needed = library(folder, "libneeded.so")
        subprocess.run([COMPILER, "-shared", "-fPIC", "-o", made, folder / "source.c", f"-L{folder}", "-Wl,--no-as-needed", "-lneeded"],
                       check=True)
        needed.unlink()
    for name in CUPTI_NAMES:
        shutil.copy(made, folder / name)
    return {"no functions": "libcupti.so has no cuptiActivityEnable", "crash": "it crashes, or takes too long, when it is loaded",
            "missing dependency": "libneeded.so: cannot open shared object file: No such file or directory"}[how]


@needs_root
@needs_compiler
@pytest.mark.parametrize("how", ["no ELF file", "no functions", "missing dependency", "crash"])
def test_cupti_that_cannot_be_loaded(tidy, how):
    words = broken(tidy.folder / "cupti", how)

    result, gpu = record_with_driver(tidy, tidy.folder / "cupti")

    assert gpu["cupti"] is False and words in gpu["cupti_error"]
    assert gpu["reason"] == f"CUPTI cannot be loaded: {gpu['cupti_error']}"
    (said,) = [line for line in result.lines if "CUDA" in line]
    assert said.startswith("inferscope: the program uses CUDA (libcudart.so.12), and what its GPUs do is not recorded: CUPTI cannot be "
                           "loaded: ") and words in said
    reports = Reports(tidy)
    check = reports.check("gpu_recording")
    assert check["status"] == "warning" and words in check["detail"]
    assert reports.verdict == "degraded"


@needs_root
@needs_compiler
def test_nsight_systems_is_named_where_it_is(tidy):
    broken(tidy.folder / "cupti", "no functions")
    tools = tidy.folder / "tools"
    tools.mkdir()
    (tools / "nsys").write_text("#!/bin/sh\n")
    (tools / "nsys").chmod(0o755)

    result, gpu = record_with_driver(tidy, tidy.folder / "cupti", PATH=f"{tools}:{os.environ['PATH']}")

    assert gpu["nsys"] is True
    assert "; or: inferscope run --gpu nsys" in result.err
    assert "inferscope run --gpu nsys" in Reports(tidy).check("gpu_recording")["detail"]


@needs_root
@needs_compiler
def test_cupti_that_can_be_loaded_is_not_blamed(tidy):
    library(tidy.folder / "cupti", "libcupti.so", WHOLE_CUPTI)

    result, gpu = record_with_driver(tidy, tidy.folder / "cupti")

    assert gpu["cupti"] is True and "cupti_error" not in gpu
    assert "CUPTI" not in result.err and "CUDA" not in result.err  # whose library was loaded, and not used


@needs_root
@needs_compiler
def test_cupti_in_the_toolkit_folder(tidy):
    inside = tidy.folder / "toolkit" / "extras" / "CUPTI" / "lib64"
    inside.mkdir(parents=True)
    library(inside, "libcupti.so", WHOLE_CUPTI)
    broken(tidy.folder / "cupti", "no ELF file")

    _, gpu = record_with_driver(tidy, tidy.folder / "cupti", CUDA_HOME=str(tidy.folder / "toolkit"))

    assert gpu["cupti"] is True


@needs_root
def test_a_driver_and_no_use_of_it(tidy):
    result = tidy.call(*with_driver(INFERSCOPE, "run", "-c", "print(1)"))

    assert result.out == "1\n" and len(result.lines) == 1
    reports = Reports(tidy)
    check = reports.check("gpu_recording")
    assert (check["status"], check["detail"]) == ("not_applicable", "the program used no GPU library")
    assert reports.verdict == "good"


# ---- The buffer overflows -----------------------------------------------------------------------


@pytest.mark.parametrize("overflow, words", [("wrap", "were overwritten by newer ones before they were read"),
                                             ("discard", "were refused because the buffer was full")])
def test_an_overflow_is_said_everywhere(tidy, overflow, words):
    for count in (400_000, 800_000, 1_600_000):  # a recorder that is fast enough loses nothing
        result = tidy.record("--trace-size-mb", 1, "--overflow", overflow, FAULTS, "scopes", count, "_exit")
        if result.closing["lost"]:
            break

    assert "inferscope: events were lost: try a larger --trace-size-mb, or fewer events" in result.lines
    lost = result.closing["lost"]
    assert lost > 0
    reports = Reports(tidy)
    check = reports.check("lost_records")
    kept = reports.json["trace"]["events"]
    assert check["count"] == reports.json["trace"]["lost_events"] == lost
    assert check["status"] == ("failed" if lost > 0.1 * (lost + kept) else "warning")
    assert f"{lost} of {lost + kept} events were lost while recording" in check["detail"]
    assert f"; {lost} {words}" in check["detail"]
    assert reports.verdict == ("poor" if check["status"] == "failed" else "degraded")


def test_what_is_dropped_as_asked_is_not_lost(tidy):
    result = tidy.record("--max-file-mb", 1, FAULTS, "noise", 20_000, 400)

    dropped = result.closing["dropped"]
    assert dropped > 0 and result.closing["lost"] == 0
    reports = Reports(tidy)
    check = reports.check("lost_records")
    assert check["status"] == "note" and check["detail"].startswith("0 of ")
    assert check["detail"].endswith("were dropped as asked, being the oldest")
    assert reports.verdict == "good"


# ---- Clocks cannot be related -------------------------------------------------------------------


def without_pairs(place, keep=0):
    """A recording whose clock blocks, but for the first, are of a kind that nobody knows."""
    place.record(FAULTS, "scopes", 100, "exit")
    data = bytearray(place.trace_path.read_bytes())
    for block in [block for block in sbt.read(bytes(data)).blocks if block.kind == 3][keep:]:
        data[block.offset + 4] = 200
        struct.pack_into("<I", data, block.offset + 60, zlib.crc32(data[block.offset:block.offset + 60]))
    path = place.folder / "no-pairs.sbt"
    path.write_bytes(data[:-32])  # without the trailer, since the index still tells the old kinds
    return path


@pytest.mark.parametrize("keep", [0, 1])
def test_a_clock_without_readings_gets_the_margin(tidy, keep):
    reports = Reports(tidy, without_pairs(tidy, keep))

    (clock,) = reports.json["clock"]
    assert clock["method"] == "nominal" and clock["assumed_error_us"] == 1000
    assert (clock["error_us"] is None) == (keep == 0)
    check = reports.check("clock_sync")
    assert (check["status"], check["count"]) == ("warning", 1)
    assert check["detail"].startswith(f"times of clock 0 ({clock['name']}, method nominal) are taken to be right within 1.0 ms: ")
    assert "no two readings relate it to the others" in check["detail"] and "sync_error_margin_us" in check["detail"]
    assert reports.verdict == "degraded"
    assert reports.err == f"inferscope: {check['detail']}\n"


def test_the_margin_is_a_setting(tidy):
    path = without_pairs(tidy)
    assert [(clock["pairs"], clock["error_us"]) for clock in tidy.json("info", path)["clocks"]] == [(0, None)]

    reports = Reports(tidy, path, env={"INFERSCOPE_SYNC_ERROR_MARGIN_US": "250"})

    assert reports.json["clock"][0]["assumed_error_us"] == 250
    assert "within 250.0 us" in reports.check("clock_sync")["detail"]
    quiet = tidy.call(INFERSCOPE, "analyze", path, "--format", "json", env={"INFERSCOPE_LOG_LEVEL": "error"})
    assert (quiet.status, quiet.err) == (0, "")


def test_readings_within_the_margin_are_fine(tidy):
    tidy.record(FAULTS, "scopes", 100, "exit")

    reports = Reports(tidy)

    (clock,) = reports.json["clock"]
    assert clock["method"] in ("pairs", "as_given") and clock["assumed_error_us"] == clock["error_us"] < 1000
    assert reports.check("clock_sync")["status"] == "ok"
    assert reports.err == ""


def test_readings_outside_the_margin(tidy):
    tidy.record(FAULTS, "scopes", 100, "exit")

    reports = Reports(tidy, env={"INFERSCOPE_SYNC_ERROR_MARGIN_US": "0"})

    (clock,) = reports.json["clock"]
    if clock["method"] != "pairs":
        pytest.skip("the clock of this machine needs no readings")
    check = reports.check("clock_sync")
    assert check["status"] == "warning" and "its readings do not agree better" in check["detail"]
    assert clock["assumed_error_us"] == clock["error_us"] > 0
    assert reports.verdict == "degraded"


def test_a_run_warns_of_its_clock(tidy):
    result = tidy.record("--report", "report.md", FAULTS, "scopes", 100, "exit", env={"INFERSCOPE_SYNC_ERROR_MARGIN_US": "0"})

    if Reports(tidy).json["clock"][0]["method"] != "pairs":
        pytest.skip("the clock of this machine needs no readings")
    assert [line for line in result.lines if line.startswith("inferscope: times of clock 0 ")]
    assert "- clocks: warning, " in (tidy.folder / "report.md").read_text()
