"""`pytest tests/unit`: each program of the unit tests is a test, as good as the program says."""

import os
import subprocess
import sys

import pytest

from recording import PATIENCE, ROOT

# What programs do that stand for unit tests of these names; one more is not built.
PROGRAMS = {"array": "exit 0", "ring": "echo '[  FAILED  ] growing'; exit 3", "names": "echo no such machine; exit 77", "memory": "kill -SEGV $$"}
MISSING = "drain"


def run(build, *paths):
    command = [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", *paths]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env={**os.environ, "INFERSCOPE_BUILD": str(build)},
                          timeout=PATIENCE, stdin=subprocess.DEVNULL, check=False)
    return done.returncode, done.stdout + done.stderr


def test_a_program_is_a_test(tmp_path):
    folder = tmp_path / "tests" / "unit"
    folder.mkdir(parents=True)
    for name, script in PROGRAMS.items():
        (folder / f"test-{name}").write_text("#!/bin/sh\n" + script)
        (folder / f"test-{name}").chmod(0o755)
    status, said = run(tmp_path, *(f"tests/unit/test-{name}.c" for name in [*PROGRAMS, MISSING]))
    assert status == pytest.ExitCode.TESTS_FAILED and "2 failed, 1 passed, 2 skipped" in said, said
    assert "[  FAILED  ] growing\ntest-ring ended with 3" in said and "test-memory ended with -11" in said
    assert "no such machine" in said and "test-drain is not built" in said and "Traceback" not in said


def test_without_a_build_one_line_says_what_to_do(tmp_path):
    status, said = run(tmp_path, "tests/unit")
    assert status == pytest.ExitCode.USAGE_ERROR
    assert said.strip().endswith(f"ERROR: there are no unit tests in {tmp_path}/tests/unit: build them by `.venv/bin/python scripts/test gcc`, "
                                 "or set INFERSCOPE_BUILD")
    assert len(said.strip().splitlines()) <= 3
