"""Programs whose bottleneck is known: the fast ones of tests/zoo (`make zoo` has all of them, and measures what their fixed forms gain)."""

import subprocess
import sys
from pathlib import Path

import pytest

from recording import INFERSCOPE, ROOT

ZOO = ROOT / "tests" / "zoo" / "run.py"


def test_the_fast_ones():
    pytest.importorskip("torch")
    done = subprocess.run([sys.executable, ZOO, "judge", "--fast", "--pairs", "0", "--slow-only", "--build", Path(INFERSCOPE).parent],
                          capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
