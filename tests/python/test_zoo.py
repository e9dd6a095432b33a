"""Programs whose bottleneck is known: the fast ones of tests/zoo, and those of examples/ (`make zoo` has all of them, and measures
what their fixed forms gain)."""

import argparse
import subprocess
import sys
from pathlib import Path

import pytest

from recording import INFERSCOPE, ROOT

ZOO = ROOT / "tests" / "zoo" / "run.py"
sys.path.append(str(ZOO.parent))
import run as zoo  # noqa: E402


def test_the_fast_ones():
    pytest.importorskip("torch")
    done = subprocess.run([sys.executable, ZOO, "judge", "--fast", "--pairs", "0", "--slow-only", "--build", Path(INFERSCOPE).parent],
                          capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr


def gain_of(analysis, kinds):
    """What a fix of these kinds is said to save, per cent of a step."""
    return max((zoo.band(finding)[1] for finding in analysis["findings"] if finding["kind"] in kinds), default=0)


def is_better(row, options, trace, limit):
    """Whether the fixed form gets less.  PoCL's device is the cores that others use, too: only a quiet run says that it does not."""
    quiet = False
    for _ in range(3):
        outside = zoo.record(row, True, options, trace).outside
        if gain_of(zoo.analyze(trace, options), row.kinds) < limit:
            return True
        quiet |= outside < zoo.QUIET
    return not quiet


@pytest.mark.parametrize("row", [row for row in zoo.ROWS if row.example], ids=lambda row: row.name)
def test_examples(row, tmp_path):
    """Each has one flaw, which is found in the function that has it; of its fixed form that is not said, or far less."""
    options = argparse.Namespace(build=Path(INFERSCOPE).parent, seconds=None)
    if lacking := zoo.missing(row, options):
        pytest.skip(f"there is no {lacking}")
    slow = zoo.diagnose(row, False, options)
    verdict = zoo.compare(row, slow)
    assert verdict.top3 and verdict.named, zoo.verdict_line(verdict)
    assert is_better(row, options, str(tmp_path / "trace.sbt"), gain_of(slow, row.kinds) * 2 / 3)
