"""What a killed program had of CUDA and not translated: who goes on with it can be killed, too, and need not believe what it finds.

Program and recorder are killed, so that all of it is in the session's folder, and what becomes of that is seen by `recover`.
"""

import json
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import time
from collections import Counter

import pytest

import sbt
from recording import BUILD, INFERSCOPE, PATIENCE
from test_cuda import CALL, DOUBLES, KERNEL, Run, command, kernels_so_far

RUNTIME = BUILD / "libinferscope-rt.so"
HEIR = "import ctypes, sys; sys.exit(ctypes.CDLL(sys.argv[1]).inferscope_cuda_heir(sys.argv[2].encode(), 0, True) != 0)"
FILE = struct.Struct("QII")  # magic, settled, what the door's knowledge takes: src/ring/layout.h
STATE = 5 << 19  # src/cuda/memory.c
TRUTH = 1000  # bytes that the double has to say of a kernel and its calls
TORN = "what a process had left of CUDA when it was killed could not be read"

pytestmark = pytest.mark.skipif(not (DOUBLES / "driver").is_dir(), reason="the doubles have not been built")


class Left:
    """A program that was killed just after its recorder, and what is left of both."""

    def __init__(self, folder, program=("double-clock", 100000, 2), kernels=300):
        self.folder, self.trace = folder, folder / "trace.sbt"
        sessions = folder / "sessions"
        sessions.mkdir()
        program, *rest = command(folder, *program)
        run = [INFERSCOPE, "run", "--waits", "off", "--trace-size-mb", "32", "--trace", self.trace, "--", program, *rest]
        with subprocess.Popen(run, start_new_session=True, env={**os.environ, "XDG_RUNTIME_DIR": str(sessions)}) as process:
            while not (folder / "truth").exists() or (folder / "truth").stat().st_size < kernels * TRUTH:
                time.sleep(0.002)
            process.kill()
            process.wait(timeout=PATIENCE)
            time.sleep(0.03)
            self.killed = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
            with open(folder / "truth", encoding="utf-8") as truth:
                pid = json.loads(truth.readline())["pid"]
            os.kill(pid, signal.SIGKILL)
        wait_for_end(pid)
        (self.session,) = sessions.iterdir()
        self.file = self.session / "c0"

    def recover(self, inferscope=INFERSCOPE, **env):
        return subprocess.run([inferscope, "recover", self.session], check=True, timeout=PATIENCE, capture_output=True, text=True,
                              env={**os.environ, **env})

    def check(self):
        """All that had ended is there, once, with its call."""
        trace = sbt.read(self.trace)
        before = {it["correlation"] for it in kernels_so_far(self.folder) if it["end"] < self.killed}
        for kind in KERNEL, CALL:
            seen = Counter(event.correlation for event in trace.events if event.kind == kind and event.correlation)
            assert before <= set(seen) and max(seen.values()) == 1
        assert trace.violations == []


def wait_for_end(pid):
    """Its parent is gone, so that nobody here is told."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                if file.read().rpartition(")")[2].split()[0] in "ZX":
                    return
        except (FileNotFoundError, ProcessLookupError):
            return
        time.sleep(0.005)
    raise TimeoutError(pid)


def settled(left):
    return FILE.unpack(left.file.read_bytes()[:FILE.size])[1]


def test_an_heir_that_is_killed_has_heirs(tmp_path):
    """Each goes on where the one before it was killed, a little later each time."""
    left = Left(tmp_path, ("double-many", 1000000, 100))
    for delay in (*(n / 2000 for n in range(10, 80)), *(0.05 * 2 ** n for n in range(8))):
        with subprocess.Popen([sys.executable, "-S", "-c", HEIR, RUNTIME, left.session]) as heir:
            time.sleep(delay)
            heir.kill()
        if settled(left):
            break
    assert settled(left)
    left.recover()
    left.check()


def test_an_heir_that_ended_leaves_nothing_to_do(tmp_path):
    left = Left(tmp_path)
    assert not settled(left)
    assert subprocess.run([sys.executable, "-S", "-c", HEIR, RUNTIME, left.session], check=False, timeout=PATIENCE).returncode == 0
    assert settled(left)
    left.recover()
    left.check()


def test_what_another_release_left_is_not_read(tmp_path):
    """How the door's knowledge lies in the file is private to the library."""
    left = Left(tmp_path)
    magic, owed, taken = FILE.unpack(left.file.read_bytes()[:FILE.size])
    assert taken > 500_000
    with left.file.open("r+b") as file:
        file.write(FILE.pack(magic, owed, taken + 64))
    assert TORN in left.recover().stderr
    assert len({event.correlation for event in sbt.read(left.trace).events if event.kind == KERNEL}) > 100


@pytest.mark.parametrize("seed", range(4))
def test_what_is_left_may_be_anything(tmp_path, seed):
    """A program can write there what it likes; the rest of its recording is had all the same."""
    left, chance = Left(tmp_path, kernels=150), random.Random(seed)
    taken = FILE.unpack(left.file.read_bytes()[:FILE.size])[2]
    with left.file.open("r+b") as file:
        for _ in range(400):
            file.seek(chance.randrange(FILE.size, taken if seed % 2 else STATE + 65536) & ~7)
            file.write(chance.choice((b"\xff" * 8, b"\0\1\2\3\4\5\6\7", chance.randbytes(64))))
    shown = left.recover()
    assert shown.stdout.startswith("recovered ") and (shown.stderr == "" or TORN in shown.stderr)
    subprocess.run([INFERSCOPE, "info", left.trace], check=True, timeout=PATIENCE, stdout=subprocess.DEVNULL)
    assert len([event for event in sbt.read(left.trace).events if event.kind == KERNEL]) > 50


def test_a_library_that_others_can_write_is_not_loaded(tmp_path):
    left, elsewhere = Left(tmp_path, kernels=150), tmp_path / "elsewhere"
    elsewhere.mkdir()
    shutil.copy2(INFERSCOPE, elsewhere / "inferscope")
    shutil.copy2(RUNTIME, elsewhere / RUNTIME.name)
    (elsewhere / RUNTIME.name).chmod(0o757)
    shown = left.recover(inferscope=elsewhere / "inferscope")
    assert re.search(f"{elsewhere}/{RUNTIME.name} is not loaded, since others can write to .*: what a killed program had not "
                     "recorded of CUDA is left out", shown.stderr)
    assert len([event for event in sbt.read(left.trace).events if event.kind == KERNEL]) > 50


def test_a_door_that_never_opened_has_no_heir(tmp_path):
    """Nor a thread that nobody has seen."""
    run = Run(tmp_path, "double-driver-program", DOUBLE_DEVICES=1, DOUBLE_FAULT="subscribe_39")
    assert run.recording.status == 0
    assert run.threads_of_program() == [] and run.recording.losses == []
