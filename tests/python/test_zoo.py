"""Programs whose bottleneck is known: the fast ones of tests/zoo, quiet and beside other load (`make zoo` has all of them)."""

import subprocess
import sys
from pathlib import Path

import pytest

from recording import INFERSCOPE, ROOT

ZOO = ROOT / "tests" / "zoo" / "run.py"


@pytest.mark.parametrize("load", [0, 1])
def test_the_fast_ones(load):
    pytest.importorskip("torch")
    done = subprocess.run([sys.executable, ZOO, "judge", "--fast", "--pairs", "0", "--build", Path(INFERSCOPE).parent, "--load", str(load)],
                          capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
