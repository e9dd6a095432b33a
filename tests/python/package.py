"""The Python package under test: that of the build folder, imported here and by programs that are run."""

import os
import subprocess
import sys
import sysconfig
import textwrap
from pathlib import Path

import pytest

from recording import BUILD, INFERSCOPE as COMMAND, PATIENCE

FOLDER = BUILD / "python"
PACKAGE = FOLDER / "inferscope"

_SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")


def need_package():
    """At the top of a test module: skips it where the extension is not built, as in a sanitized build."""
    if not (PACKAGE / f"_tracer{_SUFFIX}").exists() or not (PACKAGE / "_engine.abi3.so").exists():
        pytest.skip(f"{PACKAGE} has no extension for this Python", allow_module_level=True)
    os.environ["INFERSCOPE_COMMAND"] = str(COMMAND)
    sys.path.insert(0, str(FOLDER))


def environment(**variables):
    clean = {key: value for key, value in os.environ.items() if not key.startswith("INFERSCOPE")}
    return {**clean, "PYTHONPATH": str(FOLDER), "INFERSCOPE_COMMAND": str(COMMAND), **variables}


def run(script, folder, python=sys.executable, status=0, before=(), **variables):
    """Runs a script of Python, a text, to its end; what it printed, and on standard error."""
    path = Path(folder) / "script.py"
    path.write_text(textwrap.dedent(script))
    done = subprocess.run([*map(str, before), python, str(path)], cwd=folder, env=environment(**variables), capture_output=True,
                          text=True, timeout=PATIENCE, check=False, stdin=subprocess.DEVNULL)
    assert done.returncode == status, done.stderr
    return done.stdout, done.stderr
