"""How a program comes to load the runtime: what `inferscope run` finds around itself and puts into the environment."""

import os
import re
import shutil
import subprocess
import sys

import pytest
from conftest import INFERSCOPE, INHERITED, needs_root

RUNTIME = INFERSCOPE.parent / "libinferscope-rt.so"
SAYS = "import sys; print('door', file=sys.stderr)\n"
SETTINGS = {"INFERSCOPE_CALLS", "INFERSCOPE_C_CALLS", "INFERSCOPE_OPS", "INFERSCOPE_SHAPES", "INFERSCOPE_INCLUDE",
            "INFERSCOPE_EXCLUDE"}

PACKAGES = "lib/python3.12/site-packages"

# Where the program, the runtime and the door are, in each way to have them.
LAYOUTS = {"build folder": ("inferscope", "libinferscope-rt.so", "python/inferscope/_door"),
           "installation": ("bin/inferscope", "lib/libinferscope-rt.so", "lib/inferscope/python/inferscope/_door"),
           "package": ("inferscope/bin/inferscope", "inferscope/libinferscope-rt.so", "inferscope/_door"),
           "environment": ("bin/inferscope", f"{PACKAGES}/inferscope/libinferscope-rt.so", f"{PACKAGES}/inferscope/_door"),
           "target": ("bin/inferscope", "inferscope/libinferscope-rt.so", "inferscope/_door")}


class Installation:
    """A copy of the program and its runtime, with a door that says when a Python comes through it."""

    def __init__(self, place, layout="build folder"):
        root = place.folder / "installed"
        self.place = place
        self.program, self.runtime, self.door = (root / path for path in LAYOUTS[layout])
        for folder in (self.program.parent, self.runtime.parent, self.door):
            folder.mkdir(parents=True, exist_ok=True)
        for folder in (root, *(path for path in root.rglob("*") if path.is_dir())):
            folder.chmod(0o755)
        shutil.copy(INFERSCOPE, self.program)
        shutil.copy(RUNTIME, self.runtime)
        self.script = self.door / "sitecustomize.py"
        self.script.write_text(SAYS)
        for path in (self.program, self.runtime, self.script):
            path.chmod(0o755)

    def run(self, *arguments, **env):
        clean = {"NVTX_INJECTION64_PATH": "", "INTEL_LIBITTNOTIFY64": "", "CUDA_INJECTION64_PATH": "", "OPENCL_LAYERS": "", "PYTHONPATH": ""}
        return self.place.call(self.program, "run", *arguments, env={**clean, **env})

    def environment(self, *options, **env):
        """What a program gets."""
        result = self.run(*options, INHERITED, "environment", **env)
        assert result.status == 0, result.err
        return dict(variable.split("=", 1) for variable in result.out.split("\0") if variable)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_python_comes_through_the_door(tidy, layout):
    installed = Installation(tidy, layout)

    result = installed.run("-c", "import os; print(os.environ['PYTHONPATH'])", VIRTUAL_ENV=sys.prefix)

    assert (result.status, result.out) == (0, f"{installed.door}\n")
    assert result.lines[0] == "door"
    given = installed.environment()
    assert given["INFERSCOPE_DOOR"] == given["PYTHONPATH"] == str(installed.door)
    assert given["INFERSCOPE_RUNTIME"] == given["NVTX_INJECTION64_PATH"] == given["INTEL_LIBITTNOTIFY64"] \
        == given["CUDA_INJECTION64_PATH"] == given["OPENCL_LAYERS"] == str(installed.runtime)


def test_of_several_pythons_the_newest_has_the_package(tidy):
    installed = Installation(tidy, "environment")
    package = installed.door.parent
    for other in ("python3.9", "python3.11", "python3.13"):
        library = package.parents[2] / other / "site-packages"
        library.mkdir(parents=True)
        if other != "python3.13":
            shutil.copytree(package, library / "inferscope")

    assert installed.environment()["INFERSCOPE_RUNTIME"] == str(installed.runtime)

    package.rename(package.with_name("gone"))
    newest = package.parents[2] / "python3.11" / "site-packages" / "inferscope"
    assert installed.environment()["INFERSCOPE_DOOR"] == str(newest / "_door")


def test_a_path_that_is_there_comes_after(tidy):
    installed = Installation(tidy)

    given = installed.environment(PYTHONPATH="/mine::/yours")

    assert given["PYTHONPATH"] == f"{installed.door}:/mine::/yours"


@pytest.mark.parametrize("how", ["no script", "file", "folder", "package", "owner"])
def test_a_door_that_others_could_have_made_stays_closed(tidy, how):
    installed = Installation(tidy)
    if how == "no script":
        installed.script.unlink()
    elif how == "file":
        installed.script.chmod(0o666)
    elif how == "folder":
        installed.door.chmod(0o777)
    elif how == "package":
        installed.door.parent.chmod(0o777)
    elif os.geteuid() == 0:
        os.chown(installed.script, 65534, 65534)
    else:
        pytest.skip("needs root")

    given = installed.environment(PYTHONPATH="/mine")

    assert given["PYTHONPATH"] == "/mine"
    assert "INFERSCOPE_DOOR" not in given
    assert given["INFERSCOPE_RUNTIME"] == str(installed.runtime)  # and everything else is as always
    result = installed.run("--log-level", "debug", "/bin/true")
    assert "inferscope: there is no folder with our sitecustomize.py, so Python is not recorded" in result.lines


def test_the_runtime_can_be_named(tidy):
    installed = Installation(tidy)
    elsewhere = tidy.folder / "elsewhere"
    elsewhere.mkdir(mode=0o755)
    runtime = shutil.move(installed.runtime, elsewhere / "libinferscope-rt.so")
    if installed.run("/bin/true").status == 0:
        pytest.skip("InferScope is installed here")

    assert installed.environment(INFERSCOPE_RUNTIME=str(runtime))["INFERSCOPE_RUNTIME"] == str(runtime)

    assert installed.run("/bin/true", INFERSCOPE_RUNTIME="elsewhere/libinferscope-rt.so").status == 4
    elsewhere.chmod(0o777)
    result = installed.run("/bin/true", INFERSCOPE_RUNTIME=str(runtime))
    assert result.status == 4 and f"others can write to {elsewhere}" in result.err


def test_the_runtime_beside_the_program_comes_first(tidy):
    installed = Installation(tidy)

    assert installed.environment(INFERSCOPE_RUNTIME=str(RUNTIME))["INFERSCOPE_RUNTIME"] == str(installed.runtime)


# ---- doors of others ---------------------------------------------------------------------------


def test_a_door_that_is_taken_is_left_alone(tidy):
    installed = Installation(tidy)
    taken = {"NVTX_INJECTION64_PATH": "/opt/nsys/tool.so", "INTEL_LIBITTNOTIFY64": "/opt/vtune/collector.so",
             "CUDA_INJECTION64_PATH": "/opt/nsys/cuda.so"}

    given = installed.environment(**taken)
    result = installed.run("/bin/true", **taken)

    assert {key: given[key] for key in taken} == taken
    assert result.lines[:3] == [
        "inferscope: NVTX ranges are not recorded: NVTX_INJECTION64_PATH is already set to /opt/nsys/tool.so",
        "inferscope: ITT tasks are not recorded: INTEL_LIBITTNOTIFY64 is already set to /opt/vtune/collector.so",
        "inferscope: CUDA work is not recorded: CUDA_INJECTION64_PATH is already set to /opt/nsys/cuda.so"]
    assert len(result.lines) == 4
    assert len(installed.run("--log-level", "warn", "/bin/true", **taken).lines) == 1


def test_a_recording_inside_a_recording(tidy):
    installed = Installation(tidy)

    result = installed.run(installed.program, "run", "--trace", "inner.sbt", INHERITED, "environment")

    given = dict(variable.split("=", 1) for variable in result.out.split("\0") if variable)
    assert given["PYTHONPATH"] == str(installed.door)
    assert "already set" not in result.err


# ---- settings ----------------------------------------------------------------------------------


def settings(given):
    return {key: value for key, value in given.items() if key in SETTINGS}


def test_defaults_are_not_said(tidy):
    assert settings(Installation(tidy).environment()) == {}


def test_what_is_asked_for_is_said(tidy):
    installed = Installation(tidy)
    (tidy.folder / ".inferscope.yaml").write_text("ops: off\nexclude: 'logging.*'\n")

    given = installed.environment("--c-calls", "--shapes", "--calls", "off", "--include", "model.*,*/layers/*")

    assert settings(given) == {"INFERSCOPE_CALLS": "0", "INFERSCOPE_C_CALLS": "1", "INFERSCOPE_OPS": "0",
                               "INFERSCOPE_SHAPES": "1", "INFERSCOPE_INCLUDE": "model.*,*/layers/*",
                               "INFERSCOPE_EXCLUDE": "logging.*"}


def test_what_is_inherited_does_not_win_over_options(tidy):
    inherited = {"INFERSCOPE_CALLS": "off", "INFERSCOPE_C_CALLS": "", "INFERSCOPE_INCLUDE": "old.*"}

    given = Installation(tidy).environment("--calls", "on", "--include", "", **inherited)

    assert settings(given) == {"INFERSCOPE_CALLS": "1", "INFERSCOPE_C_CALLS": "0", "INFERSCOPE_INCLUDE": ""}


# ---- doctor ------------------------------------------------------------------------------------


def python_check(installed):
    lines = installed.place.call(installed.program, "doctor").out.splitlines()
    (line,) = (line for line in lines if line.startswith("python "))
    return line.split(None, 2)[1:]


def test_doctor_says_which_pythons(tidy):
    installed = Installation(tidy, "package")
    package = installed.door.parent
    assert python_check(installed) == ["missing", f"no extension for any Python in {package}"]
    for tag in ("cpython-313t-x86_64-linux-gnu", "cpython-311-x86_64-linux-gnu", "cpython-39-aarch64-linux-gnu",
                "cpython-313-x86_64-linux-gnu"):
        (package / f"_tracer.{tag}.so").touch()
    (package / "_tracer.pyi").touch()

    status, detail = python_check(installed)
    assert (status, detail.split("; scripts run under ")[0]) == ("ok", "CPython 3.9, 3.11, 3.13, 3.13t")


@needs_root
def test_doctor_does_not_trust_either(tidy):
    installed = Installation(tidy, "package")
    (installed.door.parent / "_tracer.cpython-311-x86_64-linux-gnu.so").touch()
    assert python_check(installed)[0] == "ok"
    os.chown(installed.script, 65534, 65534)

    assert python_check(installed)[0] == "missing"


# ---- Doors that nobody uses ------------------------------------------------------------------------------------------------------------


def opened(folder, *command, recorded):
    """The files that a program opens, or tries to."""
    log = folder / "opened"
    traced = ["strace", "-f", "-qq", "-e", "trace=open,openat,openat2", "-o", log, *command]
    record = [INFERSCOPE, "run", "--report", "none", "--trace", folder / "trace.sbt", "--"] if recorded else []
    done = subprocess.run([*record, *traced], capture_output=True, check=False, timeout=60)
    if not log.exists():
        pytest.skip(f"nobody may be traced here: {done.stderr.decode(errors='replace')}")
    return re.findall(r'open(?:at2?)?\((?:AT_FDCWD, )?"([^"]*)"', log.read_text())


@pytest.mark.skipif(not shutil.which("strace"), reason="there is no strace")
def test_a_program_without_devices_opens_what_it_opens(tmp_path):
    assert opened(tmp_path, "ls", "/", recorded=True) == opened(tmp_path, "ls", "/", recorded=False) != []


@pytest.mark.skipif(not shutil.which("strace"), reason="there is no strace")
def test_a_python_program_without_devices_opens_ours_besides(tmp_path):
    command = (sys.executable, "-c", "import json")
    more = set(opened(tmp_path, *command, recorded=True)) - set(opened(tmp_path, *command, recorded=False))
    ours = (f"{INFERSCOPE.parent}/", "/dev/shm/inferscope-", "/proc/self/cmdline", "/proc/self/maps", "/proc/self/stat")
    assert more and [path for path in more if not path.startswith(ours)] == []
