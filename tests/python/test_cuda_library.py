"""How the CUDA door finds CUPTI: where it is looked for, in which order, and what becomes of a copy that does not work.

On doubles of NVIDIA's libraries, which are copied to where toolkits and Python packages have the real ones.  What is installed on
this machine is covered meanwhile (toolkits.py); the loader itself tells which copies the program had, and when.
"""

import json
import os
import re
import shutil
import struct
import subprocess
from collections import Counter
from pathlib import Path

import pytest

import sbt
from recording import INFERSCOPE, PATIENCE, SCOPE, record
from test_cuda import CALL, DOUBLES, KERNEL, PROGRAMS, Run, command, truth
from toolkits import with_mounts, without_cupti

COMPILER = shutil.which("cc") or shutil.which("gcc")
NOT_FOUND = "cuda: CUPTI (libcupti.so) was not found"
TOO_NEW = "cuda: cuptiSubscribe of CUPTI failed with 15 (CUPTI_ERROR_NOT_INITIALIZED)"
OLD_DRIVER = {"DOUBLE_DRIVER_VERSION": 12040}
FAILS = "cuda: cuptiSubscribe of CUPTI failed with 999 (CUPTI_ERROR_UNKNOWN)"

pytestmark = pytest.mark.skipif(not (DOUBLES / "driver").is_dir(), reason="the doubles have not been built")


def double(name):
    """The library of a double: driver, cudart-12, cupti-13.0."""
    return next((DOUBLES / name).iterdir())


def put(path, source):
    """A copy in a place of ours."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copy(source, path))


def put_as(path, source, old, new):
    """A copy of a file that is of another release: names of the same length instead of those it has, wherever they are."""
    path.parent.mkdir(parents=True, exist_ok=True)
    assert old in Path(source).read_bytes() and len(old) == len(new)
    path.write_bytes(Path(source).read_bytes().replace(old, new))
    path.chmod(0o755)
    return path


class Search(Run):
    """A recorded program that is given no CUPTI but what its loader finds in some folders, and the settings."""

    def __init__(self, folder, program, *folders, cover=without_cupti, **settings):
        if "LD_PRELOAD" in settings and b"__asan_init" in double("driver").read_bytes():
            pytest.skip("a sanitizer wants to be loaded first")
        settings = {"LD_LIBRARY_PATH": ":".join(map(str, (DOUBLES / "driver", *folders))), "CUDA_PATH": "/nowhere",
                    "LD_DEBUG": "files", "LD_DEBUG_OUTPUT": folder / "loader", "DOUBLE_DEVICES": 2, **settings}
        program, *rest = cover(*command(folder, program, release=None, **settings))
        self.recording = record(folder, *rest, program=program)
        self.trace, self.truth = self.recording.trace, truth(folder)
        self.rate = self.trace.clocks[0]["rate"]
        self.loader = "".join(file.read_text(errors="replace") for file in folder.glob("loader.*"))

    @property
    def notes(self):
        return self.trace.info.get("notes", [])

    @property
    def loaded(self):
        """Each copy of CUPTI, in the order in which they were."""
        return [Path(os.path.realpath(path)) for path in re.findall(r"calling init: (\S*/libcupti[^/\s]*)\n", self.loader)]

    @property
    def asked(self):
        """How many times the loader was asked for each name."""
        return Counter(re.findall(r"file=(\S*libcupti\S*) \[0\];  dynamically loaded", self.loader))

    def check_found(self, *paths):
        """All is recorded, with the last of these, which were loaded one after another, and nobody is told anything."""
        assert self.loaded == list(paths)
        assert self.notes == []
        assert (self.recording.status, self.recording.out) == (0, "ok\n")
        assert self.recording.losses == []
        self.check_work(named=False)  # names may go with their modules where a machine is busy

    def check_unharmed(self, *notes):
        """All is as without us, but for a sentence."""
        assert (self.recording.status, self.recording.out) == (0, "ok\n")
        assert self.notes == list(notes)
        assert self.events(KERNEL, CALL) == [] and self.recording.losses == []
        assert sum(it["what"] == "kernel" for it in self.truth) > 0


# ---- There is none ----


def test_none_at_all(tmp_path):
    """One warning, the program as ever, its own part of the trace, and a report that says what is missing."""
    path, report = tmp_path / "trace.sbt", tmp_path / "report.json"
    environment = {**os.environ, "LD_LIBRARY_PATH": f"{DOUBLES / 'driver'}:{DOUBLES / 'nvml'}", "CUDA_HOME": "/nowhere",
                   "CUDA_PATH": "/nowhere", "DOUBLE_TRUTH": str(tmp_path / "truth"), "PATH": "/usr/bin:/bin:/usr/sbin:/sbin"}
    done = subprocess.run(without_cupti(INFERSCOPE, "run", "--trace", path, "--report", report, "--", PROGRAMS / "double-scoped"),
                          capture_output=True, text=True, env=environment, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stdout) == (0, "")
    warning, = (line for line in done.stderr.splitlines() if "CUPTI" in line and line.startswith("inferscope: "))
    assert warning.replace(" (libcuda.so.1)", "") == (  # which is seen from outside, if there is time for it
        "inferscope: the program uses CUDA, and what its GPUs do is not recorded: CUPTI (libcupti.so) was not found; "
        "this is an analysis of the CPU alone")
    assert sum(it["what"] == "kernel" for it in truth(tmp_path)) == 15
    trace = sbt.read(path)
    assert trace.violations == [] and trace.damage == [] and trace.info["notes"] == [NOT_FOUND]
    assert [trace.strings[event.name] for event in trace.events if event.kind == SCOPE and event.name] == ["five"]
    assert not [event for event in trace.events if event.kind in (KERNEL, CALL)]
    result = json.loads(report.read_text())
    check, = (check for check in result["integrity"]["checks"] if check["name"] == "gpu_recording")
    assert check["status"] == "warning" and "CUPTI (libcupti.so) was not found" in check["detail"]
    assert result["devices"] == [] and result["integrity"]["verdict"] == "degraded"
    shown = subprocess.run([INFERSCOPE, "analyze", path, "--format", "md"], capture_output=True, text=True, check=True, timeout=PATIENCE)
    assert shown.stdout.count("CUPTI (libcupti.so) was not found") == 1


@pytest.mark.parametrize("program, folder", [("double-driver-program", None), ("double-runtime-program-12", "cudart-12")])
def test_each_name_is_asked_for_once(tmp_path, program, folder):
    """It is the program that waits for the search."""
    run = Search(tmp_path, program, *([DOUBLES / folder] if folder else []))
    run.check_unharmed(NOT_FOUND)
    assert set(run.asked.values()) == {1} and {"libcupti.so.13", "libcupti.so.12", "libcupti.so"} <= set(run.asked) and len(run.asked) <= 8


# ---- Where it is ----

SITE = "lib/python3/site-packages"
LAYOUTS = {  # the library that the program has, and CUPTI
    "toolkit": ("cuda/lib64/libcudart.so.12", "cuda/extras/CUPTI/lib64/libcupti.so.12"),
    "toolkit of its installer": ("cuda/targets/x86_64-linux/lib/libcudart.so.12", "cuda/extras/CUPTI/lib64/libcupti.so.12"),
    "toolkit of the system's packages": ("cuda/targets/x86_64-linux/lib/libcudart.so.12", "cuda/targets/x86_64-linux/lib/libcupti.so.12"),
    "wheels of 12": (f"{SITE}/nvidia/cuda_runtime/lib/libcudart.so.12", f"{SITE}/nvidia/cuda_cupti/lib/libcupti.so.12"),
    "wheels of 13": (f"{SITE}/nvidia/cu13/lib/libcudart.so.13", f"{SITE}/nvidia/cu13/lib/libcupti.so.13"),
    "in PyTorch": (f"{SITE}/torch/lib/libtorch_cuda.so", f"{SITE}/torch/lib/libcupti.so.12"),
    "PyTorch and wheels of 12": (f"{SITE}/torch/lib/libtorch_cuda.so", f"{SITE}/nvidia/cuda_cupti/lib/libcupti.so.12"),
    "PyTorch and wheels of 13": (f"{SITE}/torch/lib/libtorch_cuda.so", f"{SITE}/nvidia/cu13/lib/libcupti.so.13"),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_near_what_the_program_has(tmp_path, layout):
    """Which is given to it by its path, so that the loader does not look there."""
    theirs, cupti = (tmp_path / path for path in LAYOUTS[layout])
    major = cupti.name[-2:]
    put(cupti, double({"12": "cupti-12.9", "13": "cupti-13.0"}[major]))
    if "libcudart" in theirs.name:
        put(theirs, double(f"cudart-{major}"))
        program = {"12": "double-runtime-program-12", "13": "double-runtime-program"}[major]
    else:
        put(theirs, PROGRAMS / "double-empty.so")
        program = "double-driver-program"
    if "targets" in str(theirs):
        (tmp_path / "cuda" / "lib64").symlink_to("targets/x86_64-linux/lib")
        theirs = tmp_path / "cuda" / "lib64" / theirs.name
    Search(tmp_path, program, LD_PRELOAD=theirs).check_found(cupti)


@pytest.mark.parametrize("variable", ["CUDA_HOME", "CUDA_PATH"])
@pytest.mark.parametrize("inside", ["extras/CUPTI/lib64", "lib64", "lib"])
def test_a_toolkit_that_the_environment_names(tmp_path, variable, inside):
    cupti = put(tmp_path / "toolkit" / inside / "libcupti.so.13", double("cupti-13.0"))
    Search(tmp_path, "double-driver-program", **{"CUDA_HOME": "", variable: tmp_path / "toolkit"}).check_found(cupti)


def test_home_comes_before_path(tmp_path):
    cupti, _ = (put(tmp_path / name / "lib64" / "libcupti.so.13", double("cupti-13.0")) for name in ("home", "path"))
    Search(tmp_path, "double-driver-program", CUDA_HOME=tmp_path / "home", CUDA_PATH=tmp_path / "path").check_found(cupti)


# ---- Which it is ----


@pytest.mark.parametrize("program, runtime, release", [
    ("double-runtime-program-12", "cudart-12", "12.6"), ("double-runtime-program", "cudart-13", "13.0"),
    ("double-driver-program", None, "13.0")])
@pytest.mark.parametrize("order", [("13.0", "12.6"), ("12.6", "13.0")])
def test_the_one_of_the_programs_runtime(tmp_path, program, runtime, release, order):
    """Without a runtime it is the newest."""
    folders = [DOUBLES / f"cupti-{release}" for release in order]
    Search(tmp_path, program, *folders, *([DOUBLES / runtime] if runtime else [])).check_found(double(f"cupti-{release}"))


@pytest.mark.parametrize("near", [False, True])
def test_one_that_is_newer_than_the_driver(tmp_path, near):
    """The next, older one does, wherever that is."""
    new, old = double("cupti-13.0"), double("cupti-12.9")
    settings = dict(OLD_DRIVER)
    if near:
        old = put(tmp_path / "toolkit" / "extras" / "CUPTI" / "lib64" / old.name, double("cupti-12.9"))
        settings["CUDA_PATH"] = tmp_path / "toolkit"
    Search(tmp_path, "double-driver-program", new.parent, *([] if near else [old.parent]), **settings).check_found(new, old)


@pytest.mark.parametrize("program, runtime, order, sentence", [
    ("double-driver-program", None, ("13.0", "12.6", "11.8"), TOO_NEW),
    ("double-runtime-program-12", "cudart-12", ("12.6", "13.0", "11.8"), FAILS)])
def test_all_refuse(tmp_path, program, runtime, order, sentence):
    """What the first one said is told."""
    run = Search(tmp_path, program, *(DOUBLES / f"cupti-{release}" for release in order), *([DOUBLES / runtime] if runtime else []),
                 DOUBLE_FAULT="cupti_error=999", **OLD_DRIVER)
    run.check_unharmed(sentence)
    assert run.loaded == [double(f"cupti-{release}") for release in order]


def test_not_more_than_four_are_tried(tmp_path):
    """Of which one under several names is one."""
    names = tmp_path / "names"
    names.mkdir()
    for name in ("libcupti.so.11.7", "libcupti.so"):
        (names / name).symlink_to(double("cupti-11.8"))
    first, _ = (put(tmp_path / name / "lib64" / "libcupti.so.12", double("cupti-12.9")) for name in ("home", "path"))
    folders = [DOUBLES / f"cupti-{release}" for release in ("13.0", "12.6", "11.8")]
    run = Search(tmp_path, "double-driver-program", *folders, names, DOUBLE_FAULT="cupti_error=999", CUDA_HOME=tmp_path / "home",
                 CUDA_PATH=tmp_path / "path", **OLD_DRIVER)
    run.check_unharmed(TOO_NEW)
    assert run.loaded == [*(next(folder.iterdir()) for folder in folders), first]


def test_another_profiler_is_no_reason_to_look_on(tmp_path):
    run = Search(tmp_path, "double-driver-program", DOUBLES / "cupti-13.0", DOUBLES / "cupti-12.9", DOUBLE_FAULT="subscribe_39")
    run.check_unharmed("cuda: another profiler is using CUPTI in this process")
    assert run.loaded == [double("cupti-13.0")]


# ---- Releases to come ----


def future_cupti(path, major):
    return put_as(path, double("cupti-13.4"), b"libcupti.so.13", f"libcupti.so.{major}".encode())


def test_a_newer_one_without_a_runtime(tmp_path):
    cupti = future_cupti(tmp_path / "new" / "libcupti.so.14", 14)
    Search(tmp_path, "double-driver-program", DOUBLES / "cupti-13.4", cupti.parent).check_found(cupti)


@pytest.mark.parametrize("major", [14, 21])
def test_a_newer_runtime(tmp_path, major):
    """By its own number, of which nobody has to have heard."""
    names = b"libcudart.so.13", f"libcudart.so.{major}".encode()
    program = put_as(tmp_path / "program", PROGRAMS / "double-runtime-program", *names)
    runtime = put_as(tmp_path / "new" / f"libcudart.so.{major}", double("cudart-13"), *names)
    cupti = future_cupti(tmp_path / "new" / f"libcupti.so.{major}", major)
    Search(tmp_path, program, DOUBLES / "cupti-13.4", runtime.parent).check_found(cupti)


def test_a_newer_toolkit(tmp_path):
    """And of several the newest, in a folder of its version."""
    for folder in (DOUBLES, tmp_path):
        if Path("/usr/local") in folder.resolve().parents:
            pytest.skip(f"{folder} is in what has to be covered")
    future_cupti(tmp_path / "libcupti.so.14", 14)
    script = ["mount -t tmpfs none /usr/local"]
    for version, source in (("13.0", double("cupti-13.0")), ("14.2", tmp_path / "libcupti.so.14")):
        script.append(f"mkdir -p /usr/local/cuda-{version}/extras/CUPTI/lib64; cp {source} /usr/local/cuda-{version}/extras/CUPTI/lib64")
    run = Search(tmp_path, "double-driver-program", cover=lambda *command: without_cupti(*with_mounts("\n".join(script), *command)))
    run.check_found(Path("/usr/local/cuda-14.2/extras/CUPTI/lib64/libcupti.so.14"))


# ---- What is no CUPTI ----


def of_32_bits(path):
    """A library for i386, as far as its header goes."""
    path.write_bytes(b"\x7fELF\1\1\1" + bytes(9) + struct.pack("<HHIIIIIHHHHHH", 3, 3, 1, 0, 52, 0, 0, 52, 32, 0, 40, 0, 0) + bytes(4096))


def of_another_machine(path):
    whole = double("cupti-13.0").read_bytes()
    path.write_bytes(whole[:18] + struct.pack("<H", 22) + whole[20:])


SPOILT = {
    "a folder": Path.mkdir,
    "an empty file": Path.touch,
    "no library": lambda path: path.write_text("#!/bin/sh\nexit 1\n" * 100),
    "a link that leads nowhere": lambda path: path.symlink_to("gone"),
    "a link to itself": lambda path: path.symlink_to(path.name),
    "of 32 bits": of_32_bits,
    "a pipe": os.mkfifo,
    "cut short": lambda path: path.write_bytes(double("cupti-13.0").read_bytes()[:5000]),
    "of another machine": of_another_machine,
}
NAMES = ("libcupti.so.13", "libcupti.so.12", "libcupti.so")


def spoil(folder, how):
    folder.mkdir(parents=True)
    for name in NAMES:
        SPOILT[how](folder / name)


@pytest.mark.parametrize("how", SPOILT)
def test_what_is_no_library(tmp_path, how):
    """It is passed over, and what the next toolkit has is found."""
    spoil(tmp_path / "spoilt" / "lib64", how)
    cupti = put(tmp_path / "toolkit" / "lib64" / "libcupti.so.13", double("cupti-13.0"))
    Search(tmp_path, "double-driver-program", CUDA_HOME=tmp_path / "spoilt", CUDA_PATH=tmp_path / "toolkit").check_found(cupti)


@pytest.mark.parametrize("how", sorted(set(SPOILT) - {"a pipe", "cut short"}))
def test_what_is_no_library_where_the_loader_looks(tmp_path, how):
    """There it is the loader that passes it over; a pipe or a piece of a library would stop any program that has it on its path."""
    spoil(tmp_path / "spoilt", how)
    Search(tmp_path, "double-driver-program", tmp_path / "spoilt").check_unharmed(NOT_FOUND)


@pytest.mark.parametrize("how", ["by name", "by path"])
def test_one_that_lacks_what_is_needed(tmp_path, how):
    hollow = put(tmp_path / "hollow" / "lib64" / "libcupti.so.13", PROGRAMS / "double-empty.so")
    run = Search(tmp_path, "double-driver-program", *([hollow.parent] if how == "by name" else []), CUDA_HOME=tmp_path / "hollow")
    run.check_unharmed(f"cuda: {hollow.name if how == 'by name' else hollow} has no cuptiSubscribe")
    assert run.loaded == [hollow]


def test_one_that_lacks_what_is_needed_after_one_that_refuses(tmp_path):
    """Still it is the first one that is told of."""
    hollow = put(tmp_path / "hollow" / "libcupti.so.12", PROGRAMS / "double-empty.so")
    run = Search(tmp_path, "double-driver-program", DOUBLES / "cupti-13.0", hollow.parent, **OLD_DRIVER)
    run.check_unharmed(TOO_NEW)
    assert run.loaded == [double("cupti-13.0"), hollow]


def test_a_relative_folder_in_the_environment(tmp_path, monkeypatch):
    """It would be another one wherever the program happens to be."""
    put(tmp_path / "toolkit" / "lib64" / "libcupti.so.13", double("cupti-13.0"))
    monkeypatch.chdir(tmp_path)
    run = Search(tmp_path, "double-driver-program", CUDA_HOME="toolkit", CUDA_PATH="./toolkit")
    run.check_unharmed(NOT_FOUND)
    assert run.loaded == []


RAISED = """
#include <stdio.h>
#include <sys/auxv.h>

int cuInit(unsigned);

int main(void)
{
	char line[4096];
	FILE *maps;
	int rc = cuInit(0);

	maps = fopen("/proc/self/maps", "r");
	printf("%d %d\\n", rc, getauxval(AT_SECURE) != 0);
	while (maps && fgets(line, sizeof line, maps))
		fputs(line, stdout);
	return 0;
}
"""


@pytest.mark.skipif(not COMPILER or os.geteuid() != 0, reason="needs root and a C compiler")
@pytest.mark.parametrize("raised", [False, True])
def test_a_program_of_another_group(tmp_path, raised):
    """Who starts it with more rights than his own does not choose what it loads."""
    (tmp_path / "program.c").write_text(RAISED)
    subprocess.run([COMPILER, "-o", tmp_path / "program", tmp_path / "program.c", f"-L{DOUBLES / 'driver'}", "-l:libcuda.so.1",
                    f"-Wl,-rpath,{DOUBLES / 'driver'}"], check=True)
    os.chown(tmp_path / "program", 0, 65534)
    (tmp_path / "program").chmod(0o2755 if raised else 0o755)
    cupti = put(tmp_path / "toolkit" / "lib64" / "libcupti.so.13", double("cupti-13.0"))
    run = Search(tmp_path, tmp_path / "program", CUDA_HOME=tmp_path / "toolkit", CUDA_PATH=tmp_path / "toolkit")
    first, *maps = run.recording.out.splitlines()
    if raised and first == "0 0":
        pytest.skip("programs in this folder get no rights of their own")
    assert (run.recording.status, first) == (0, f"0 {int(raised)}")
    assert any(line.endswith(str(cupti)) for line in maps) == (not raised)
    assert run.notes == ([NOT_FOUND] if raised else [])
