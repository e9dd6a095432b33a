"""`run --apply`: advice about a program's environment, followed, said, and never against the user."""

import os
import subprocess
import sys

import pytest

from recording import INFERSCOPE

VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS", "OMP_WAIT_POLICY", "KMP_BLOCKTIME",
             "MALLOC_MMAP_MAX_", "MALLOC_TRIM_THRESHOLD_", "MALLOC_TOP_PAD_")
SHOW = f"import os; print({{name: os.environ[name] for name in {VARIABLES!r} if name in os.environ}})"


def run(tmp_path, advice, program=SHOW, options=(), **variables):
    """What the program has seen and what was said of it."""
    environment = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    done = subprocess.run([INFERSCOPE, "run", "--report", "none", "--trace", tmp_path / "t.sbt", *options, "--apply", advice, "--", sys.executable, "-c", program],
                          capture_output=True, text=True, timeout=60, env={**environment, **variables}, check=False)
    return done.returncode, done.stdout, [line for line in done.stderr.splitlines() if "applied" in line or "advice" in line]


def test_threads_are_as_many_as_there_are_processors(tmp_path):
    count = str(len(os.sched_getaffinity(0)))
    status, out, said = run(tmp_path, "threads")
    assert status == 0 and eval(out) == {name: count for name in VARIABLES[:4]}
    assert said == [f"inferscope: applied threads (pools have as many threads as there are processors for them): OMP_NUM_THREADS={count}, "
                    f"MKL_NUM_THREADS={count}, OPENBLAS_NUM_THREADS={count}, NUMEXPR_NUM_THREADS={count}"]


def test_what_the_user_set_stays(tmp_path):
    status, out, said = run(tmp_path, "spin,threads", OMP_NUM_THREADS="7", OMP_WAIT_POLICY="active")
    seen = eval(out)
    assert status == 0 and seen["OMP_NUM_THREADS"] == "7" and seen["OMP_WAIT_POLICY"] == "active" and seen["KMP_BLOCKTIME"] == "0"
    assert said[0].endswith("KMP_BLOCKTIME=0; OMP_WAIT_POLICY stays as it was set")
    assert said[1].endswith("; OMP_NUM_THREADS stays as it was set")


def test_memory_is_kept(tmp_path):
    """Forty times 64 MB, each of which would be asked of the kernel, and zeroed by it, anew."""
    program = ("import resource\nbytearray(1 << 26)\nbefore = resource.getrusage(resource.RUSAGE_SELF).ru_minflt\n"
               "for _ in range(40):\n    bytearray(b'x') * (1 << 26)\n"
               "print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)")
    faults = [int(run(tmp_path, advice, program)[1]) for advice in ("spin", "allocator")]
    assert faults[0] > 40 * 1000 and faults[1] < faults[0] / 4


@pytest.mark.parametrize("advice, wrong", [("threads,speed", "speed"), ("", ""), ("threads,", ""), ("THREADS", "THREADS")])
def test_no_such_advice(tmp_path, advice, wrong):
    status, out, said = run(tmp_path, advice)
    assert (status, out) == (2, "")
    assert said == [f"inferscope: run: there is no advice '{wrong}' to apply; there are: threads, spin, allocator"]
    assert not (tmp_path / "t.sbt").exists()
