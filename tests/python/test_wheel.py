"""What `pip install` brings: built, installed into an empty environment, used.

The wheel is built with what is here already, meson-python of the environment that runs the tests: nothing is downloaded.
"""

import email
import json
import os
import subprocess
import sys
import sysconfig
import zipfile

import pytest
from recording import INFERSCOPE, PATIENCE, ROOT

TOOLS = {**os.environ, "PATH": f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"}
CLEAN = {key: value for key, value in os.environ.items() if not key.startswith(("INFERSCOPE", "PYTHON"))}
PROGRAM = """
from inferscope import scope

def square(number):
    return number * number

with scope("squares"):
    print(sum(map(square, range(10))))
"""


def output_of(*command, **options):
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=3 * PATIENCE, stdin=subprocess.DEVNULL, **options)
    assert run.returncode == 0, run.stdout
    return run.stdout


def pip(*arguments):
    output_of(sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments, env=TOOLS, stderr=subprocess.STDOUT)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    pip("wheel", "--no-index", "--no-deps", "--no-build-isolation", "--config-settings", f"build-dir={folder / 'build'}",
        "--wheel-dir", folder, ROOT)
    built, = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def environment(wheel, tmp_path_factory):
    folder = tmp_path_factory.mktemp("installed") / "environment"
    output_of(sys.executable, "-m", "venv", "--without-pip", folder)
    pip("--python", folder / "bin" / "python", "install", "--no-index", "--no-deps", "--no-compile", wheel)
    return folder


def recorded(command, folder, environment):
    """What the command says of a recording of PROGRAM.  The one on the user's PATH finds its environment itself."""
    script = folder / "program.py"
    script.write_text(PROGRAM)
    trace = folder / "trace.sbt"
    env = CLEAN if command.parent == environment / "bin" else {**CLEAN, "VIRTUAL_ENV": str(environment)}
    assert output_of(command, "run", "--trace", trace, script, env=env, cwd=folder) == "285\n"
    return json.loads(output_of(command, "info", "--format", "json", trace, env=env))


def test_it_is_for_this_python_and_has_the_version_of_the_command(wheel):
    version = output_of(INFERSCOPE, "--version").split()[-1]
    python = "cp%d%d" % sys.version_info[:2]
    assert wheel.name.startswith(f"inferscope-{version}-{python}-{python}-")
    with zipfile.ZipFile(wheel) as archive:
        facts = email.message_from_bytes(archive.read(f"inferscope-{version}.dist-info/METADATA"))
        assert archive.read(f"inferscope-{version}.dist-info/licenses/LICENSE") == (ROOT / "LICENSE").read_bytes()
    assert (facts["Version"], facts["Requires-Python"], facts["License-Expression"]) == (version, ">=3.9", "MIT")


def test_the_package_is_whole(wheel):
    source = ROOT / "python"
    files = {str(path.relative_to(source)) for path in (source / "inferscope").rglob("*")
             if path.is_file() and path.name != "meson.build" and "__pycache__" not in path.parts}
    files |= {"inferscope/_tracer" + sysconfig.get_config_var("EXT_SUFFIX"), "inferscope/_engine.abi3.so",
              "inferscope/libinferscope-rt.so", "inferscope/bin/inferscope", "inferscope/rules.yaml",
              "inferscope/templates/summary.md.in", "inferscope/templates/summary.html.in"}
    with zipfile.ZipFile(wheel) as archive:
        assert {name for name in archive.namelist() if name.startswith("inferscope/")} == files


def test_nothing_in_it_needs_a_library_of_ours(environment):
    natives = [path for path in environment.rglob("*") if path.is_file() and not path.is_symlink()
               and (path.parts[-2:] == ("bin", "inferscope") or ".so" in path.suffixes)]
    assert len(natives) == 5
    for path in natives:
        needed = [line for line in output_of("readelf", "--dynamic", path).splitlines() if "(NEEDED)" in line]
        assert needed and not any("inferscope" in line or "libpython" in line for line in needed), path


def test_the_shell_finds_the_completion(environment):
    """bash-completion looks beside the bin/ of the command."""
    installed = environment / "share" / "bash-completion" / "completions" / "inferscope"
    assert installed.read_bytes() == (ROOT / "share" / "bash-completion" / "inferscope").read_bytes()


def test_it_can_be_imported(environment):
    code = "import inferscope._tracer, inferscope._engine; print(inferscope.__file__)"
    where = output_of(environment / "bin" / "python", "-I", "-c", code, env=CLEAN)
    assert where.startswith(f"{environment}/lib/")


@pytest.mark.parametrize("command", ["bin/inferscope", "lib/python*/site-packages/inferscope/bin/inferscope"])
def test_the_command_records(environment, tmp_path, command):
    path, = environment.glob(command)

    info = recorded(path, tmp_path, environment)

    assert info["events_by_kind"]["scope"] == 2
    assert info["events_by_kind"]["cpu_call"] >= 2 * 10
