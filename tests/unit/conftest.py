"""Lets pytest run the unit tests, which are programs in C: `pytest tests/unit`, `pytest tests/unit/test-ring.c`.

They are those in $INFERSCOPE_BUILD, build/ of this tree unless given, as they were built last.
"""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = Path(os.environ.get("INFERSCOPE_BUILD", ROOT / "build")).resolve() / "tests" / "unit"
SKIPPED = 77     # what a program ends with that cannot be tried here
TIMEOUT = 120    # seconds, as in meson.build


def pytest_collect_file(file_path, parent):
    if file_path.suffix == ".c" and file_path.name.startswith("test-"):
        return Source.from_parent(parent, path=file_path)
    return None


def pytest_collection_modifyitems(items):
    if items and all(isinstance(item, Program) for item in items) and not any(PROGRAMS.glob("test-*")):
        raise pytest.UsageError(f"there are no unit tests in {PROGRAMS}: build them by `.venv/bin/python scripts/test gcc`, or set INFERSCOPE_BUILD")


class Source(pytest.File):
    """A source is one program."""

    def collect(self):
        yield Program.from_parent(self, name=self.path.stem)


class Failed(Exception):
    """How a program ended; what it printed is shown with it."""


class Program(pytest.Item):
    def runtest(self):
        program = PROGRAMS / self.name
        if not program.exists():
            pytest.skip(f"{program} is not built")
        try:
            done = subprocess.run([program], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  errors="replace", timeout=TIMEOUT, check=False)
        except subprocess.TimeoutExpired:
            raise Failed(f"{self.name} has not ended within {TIMEOUT} s") from None
        if done.returncode == SKIPPED:
            pytest.skip(done.stdout.strip() or "it cannot be tried here")
        if done.returncode:
            raise Failed(f"{done.stdout}{self.name} ended with {done.returncode}")

    def repr_failure(self, excinfo, style=None):
        return str(excinfo.value) if excinfo.errisinstance(Failed) else super().repr_failure(excinfo, style)

    def reportinfo(self):
        return self.path, None, self.name
