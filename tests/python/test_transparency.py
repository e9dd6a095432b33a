"""A Python program does the same under `inferscope run` as alone: output, errors, status, on every Python.

The programs are in programs/.  Each runs twice, at the same time; the trace of the second run must be sound as well.
"""

import json
import os
import re
import shutil
import subprocess
import threading
import zipapp
from collections import Counter
from pathlib import Path

import pytest

from interpreters import EXTENSIONS, all_pythons, other_pythons, recorded_pythons
from recording import INFERSCOPE, PATIENCE

PROGRAMS = Path(__file__).resolve().parent / "programs"
ENVIRONMENT = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ}

DOOR = str(EXTENSIONS / "_door")
ADDRESSES = r"0x[0-9a-f]+"
STACK_LEFT = r"repeated \d+ more times|used \d+ kB"  # since 3.14; it depends on where the kernel puts the stack

every_python = pytest.mark.parametrize("python", recorded_pythons(), ids=str)


class Outcome:
    """How a run ended; for two of the same program to be compared with =="""

    def __init__(self, done):
        self.status = done.returncode if done.returncode >= 0 else 128 - done.returncode
        self.out, self.err = done.stdout, done.stderr

    def without(self, pattern):
        """What differs between any two runs."""
        self.out, self.err = (re.sub(pattern, "...", text) for text in (self.out, self.err))
        return self


def run(command, folder, stdin, env):
    return subprocess.run(command, input=stdin, capture_output=True, text=True, errors="surrogateescape", cwd=folder,
                          env={**ENVIRONMENT, **env}, check=False, timeout=PATIENCE)


def run_recorded(command, folder, stdin, env):
    """And, apart, what we had to say, and what is in the trace."""
    trace = folder / "trace.sbt"
    done = run([INFERSCOPE, "run", "--report", "none", "--trace", trace, "--", *command], folder, stdin, env)
    lines = done.stderr.splitlines(keepends=True)
    first = next((i for i, line in enumerate(lines) if line.startswith("inferscope: ")), len(lines))
    said, done.stderr = lines[first:], "".join(lines[:first])
    assert said and all(line.startswith("inferscope: ") for line in said)
    done.stderr = done.stderr.replace("\n\nExtension modules: inferscope._tracer (total: 1)", "")  # said of a crash
    info = run([INFERSCOPE, "info", "--format", "json", trace], folder, "", {})
    return done, json.loads(info.stdout)


def both(folder, *command, stdin="", env=()):
    """The outcome alone, the outcome recorded, and what `info` says of the trace."""
    command, alone = [*map(str, command)], []
    thread = threading.Thread(target=lambda: alone.append(run(command, folder, stdin, dict(env))))
    thread.start()
    recorded, info = run_recorded(command, folder, stdin, dict(env))
    thread.join()
    assert info["lost"] == 0 and info["damage_count"] == 0
    return Outcome(alone[0]), Outcome(recorded), info


def assert_same(alone, recorded):
    assert recorded.out == alone.out
    assert recorded.err == alone.err
    assert recorded.status == alone.status


def check(folder, *command, but=ADDRESSES, calls=True, **more):
    """Same outcome, and calls in the trace."""
    alone, recorded, info = both(folder, *command, **more)
    assert_same(alone.without(but), recorded.without(but))
    assert info["notes"] == []
    assert ("cpu_call" in info["events_by_kind"]) == calls
    return alone


def ways(program, *names):
    return [pytest.param(program, name, id=f"{program}-{name}") for name in names]


@every_python
@pytest.mark.parametrize("program", ["signals", "recursion", "forks", "shutdown", "collector", "loops", "greenlets", "released",
                                     "tracers", "monitored", "describes", "frames", "small_stacks", "surroundings", "generators",
                                     "subinterpreters", "forgets"])
def test_program(tmp_path, python, program):
    alone = check(tmp_path, python.path, PROGRAMS / f"{program}.py")
    assert alone.out


@every_python
@pytest.mark.parametrize("program", ["shutdown", "frames", "generators", "loops", "forgets", "forks", "small_stacks"])
def test_program_with_c_calls(tmp_path, python, program):
    """Not here are programs that watch calls of C functions or count how deep they go: any profiler of them is noticed."""
    check(tmp_path, python.path, PROGRAMS / f"{program}.py", env={"INFERSCOPE_C_CALLS": "1"})


@every_python
@pytest.mark.parametrize("program, way", [
    *ways("raises", "uncaught", "chained", "context", "noted", "thread", "unraisable", "interrupted", "generator",
          "stop-iteration", "hooked", "syntax", "exit-code", "exit-text", "exit-none", "exit-true", "exit-tuple", "group"),
    *ways("exits", "sys", "os", "os-in-thread", "thread", "daemons", "threads", "handler", "abort", "killed", "terminated",
          "closed"),
    *ways("faults", "dump", "later", "crash", "enabled-crash", "callback", "abort", "fatal", "overflow"),
    *ways("pools", "fork", "spawn", "forkserver")])
def test_way(tmp_path, python, program, way):
    check(tmp_path, python.path, PROGRAMS / f"{program}.py", way, but=f"{ADDRESSES}|{STACK_LEFT}")


# ---- How Python is started -----------------------------------------------------------

@every_python
@pytest.mark.parametrize("options, seen", [
    (("-X", "dev"), True), (("-W", "error"), True), (("-O",), True), (("-OO", "-B"), True), (("-s",), True), (("-u", "-q"), True),
    (("-X", "utf8"), True), (("-X", "faulthandler", "-b"), True), (("-X", "tracemalloc"), True), (("-X", "perf"), True),
    (("-I",), False), (("-E",), False)], ids=lambda value: "".join(value) if isinstance(value, tuple) else "")
def test_options(tmp_path, python, options, seen):
    """With -I and -E Python does not look at what we say, and is not recorded."""
    alone = check(tmp_path, python.path, *options, PROGRAMS / "describes.py", "argument", calls=seen)
    assert alone.status == 0
    if options[0] in ("-X", "-W", "-O"):
        check(tmp_path, python.path, *options, PROGRAMS / "raises.py", "context", calls=seen)


@every_python
def test_without_site(tmp_path, python):
    """With -S nobody imports us, so that nothing is recorded and our folder stays on the path."""
    code = f"import sys; print([entry for entry in sys.path if entry != {DOOR!r}], sorted(sys.modules))"
    check(tmp_path, python.path, "-S", "-c", code, calls=False)


@every_python
def test_import_times(tmp_path, python):
    """The program's imports are the same, and before them there is one of ours."""
    alone, recorded, _ = both(tmp_path, python.path, "-X", "importtime", "-c", "import json, queue")
    of_alone, of_recorded = (Counter(line.rpartition("|")[2].strip() for line in each.err.splitlines()) for each in (alone, recorded))
    assert of_recorded - of_alone == {"sitecustomize": 1} and not of_alone - of_recorded


@every_python
def test_command_module_and_input(tmp_path, python):
    describes = (PROGRAMS / "describes.py").read_text()
    check(tmp_path, python.path, "-c", describes, "a", "b")
    check(tmp_path, python.path, "-", "a", stdin=describes)
    check(tmp_path, python.path, stdin="def f():\n    return 1\nprint(f())\n1 / 0\n")
    check(tmp_path, python.path, "-m", "json.tool", stdin='{"a": [1, 2]}')
    check(tmp_path, python.path, "-m", "timeit", "-n", "1", "-r", "1", "-s", "def f(): pass", "f()", but=r"[0-9.]+ [nmu]?sec")
    check(tmp_path, python.path, "-m", "no.such.module")
    check(tmp_path, python.path, tmp_path / "missing.py")
    check(tmp_path, python.path, "-i", "-q", "-c", "x = 1", stdin="x + 1\nimport sys\nsys.ps1\n")
    check(tmp_path, python.path, "--version", calls=False)


@every_python
def test_packages_and_archives(tmp_path, python):
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    shutil.copy(PROGRAMS / "describes.py", package / "__main__.py")
    zipapp.create_archive(package, tmp_path / "package.pyz", interpreter=python.path)
    check(tmp_path, python.path, "-m", "package", "one")
    check(tmp_path, python.path, package)
    check(tmp_path, python.path, tmp_path / "package.pyz", "two")
    check(tmp_path, tmp_path / "package.pyz")


@every_python
def test_console_script(tmp_path, python):
    script = tmp_path / "script"
    script.write_text(f"#!{python.path}\nimport sys\nfrom json.tool import main\nsys.exit(main())\n")
    script.chmod(0o755)
    check(tmp_path, script, stdin="[1]")
    check(tmp_path, script, stdin="[")


@every_python
def test_virtual_environment(tmp_path, python):
    subprocess.run([python.path, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True, timeout=PATIENCE)
    alone = check(tmp_path, tmp_path / "venv" / "bin" / "python", PROGRAMS / "describes.py")
    assert str(tmp_path / "venv") in alone.out


CUSTOMIZE = """\
import sys
print("{0} of the program", __name__, __file__, sys.path[:2])
def f():
    return 1
loaded = f() == 1
"""


@every_python
@pytest.mark.parametrize("ending", ["", "raise RuntimeError('unhappy')\n", "import not_there\n",
                                    "import os\nos.environ.clear()\n"], ids=["well", "raises", "import", "environment"])
def test_own_sitecustomize(tmp_path, python, ending):
    """The program's sitecustomize and usercustomize run, wherever they are, with the path that they would see without us."""
    (tmp_path / "sitecustomize.py").write_text(CUSTOMIZE.format("sitecustomize") + ending)
    (tmp_path / "usercustomize.py").write_text(CUSTOMIZE.format("usercustomize") + ending)
    alone = check(tmp_path, python.path, PROGRAMS / "describes.py", env={"PYTHONPATH": f"{tmp_path}:/nowhere"})
    assert "sitecustomize of the program" in alone.out
    check(tmp_path, python.path, "-c", "import sitecustomize; print(sitecustomize.loaded, sitecustomize.__file__)",
          env={"PYTHONPATH": tmp_path})


@every_python
def test_sitecustomize_that_exits(tmp_path, python):
    """The one case in which a traceback shows a line of ours."""
    (tmp_path / "sitecustomize.py").write_text("raise SystemExit(3)\n")
    alone, recorded, _ = both(tmp_path, python.path, "-c", "pass", env={"PYTHONPATH": tmp_path})
    ours = f'  File "{re.escape(DOOR)}/sitecustomize.py", line [0-9]+, in <module>\n    import sitecustomize\n'
    recorded.err = re.sub(ours, "", recorded.err)
    assert_same(alone.without(ADDRESSES), recorded.without(ADDRESSES))
    assert alone.status == 1 and "SystemExit: 3" in alone.err


@every_python
def test_no_sitecustomize(tmp_path, python):
    """The program's own, or none: Debian's Pythons have one."""
    alone = check(tmp_path, python.path, "-c", "import sitecustomize; print(sitecustomize.__file__)")
    assert "No module named 'sitecustomize'" in alone.err or "_door" not in alone.out


@every_python
@pytest.mark.parametrize("path", ["", ":", "relative:.", "/nowhere"])
def test_python_path(tmp_path, python, path):
    check(tmp_path, python.path, PROGRAMS / "describes.py", env={"PYTHONPATH": path})


# ---- What needs more than a program ------------------------------------------------------

@every_python
def test_standard_input(tmp_path, python):
    check(tmp_path, python.path, PROGRAMS / "input.py", stdin="line one\nline two\n" + "more\n" * 1000)


@every_python
def test_debugger(tmp_path, python):
    """pdb, from its standard input."""
    commands = "break inner\ncontinue\nwhere\nnext\np n, m\nreturn\nclear 1\ny\nup\nargs\ncontinue\nwhere\nquit\n"
    alone = check(tmp_path, python.path, "-m", "pdb", PROGRAMS / "debugged.py", stdin=commands)
    assert "(Pdb) (0, 1)" in alone.out and "the debugger sees it" in alone.out


@every_python
def test_other_programs(tmp_path, python):
    """This Python starts another version, and itself."""
    others = [other for other in all_pythons() if other.version != python.version and other.has_extension]
    other = others[-1] if others else python
    alone = check(tmp_path, python.path, PROGRAMS / "children.py", other.path)
    assert alone.status == 6 and "after exec again" in alone.out


def deepest(python, folder):
    """How deep the program `deep` goes alone: before 3.11 calls take from the C stack, and so much as the compiler made of it."""
    if python.version >= (3, 11):
        return 50000
    works, fails = 1000, 200000
    while fails - works > works // 50:
        middle = (works + fails) // 2
        done = run([python.path, PROGRAMS / "deep.py", str(middle)], folder, "", {})
        works, fails = (middle, fails) if done.returncode == 0 else (works, middle)
    return works


@every_python
def test_deep_recursion(tmp_path, python):
    depth = deepest(python, tmp_path)
    alone = check(tmp_path, python.path, PROGRAMS / "deep.py", depth * 9 // 10)
    assert alone.status == 0 and f"in a thread {depth * 9 // 10}" in alone.out


@pytest.mark.parametrize("python", other_pythons(), ids=str)
def test_without_extension(tmp_path, python):
    """A Python that we have no extension for is left alone, and a note says so."""
    alone, recorded, info = both(tmp_path, python.path, "-c", "import sys; print(sys.path, sorted(sys.modules))")
    assert_same(alone, recorded)
    note, = info["notes"]
    assert note.startswith(f"Python {python} (") and " is not recorded: " in note
    assert ("records Python 3.9 and later" in note) == (python.version < (3, 9))
    assert {kind for kind, count in info["events_by_kind"].items() if count} <= {"counter", "cpu_sample"}  # what is seen from outside
