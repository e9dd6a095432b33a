"""What `monitor` and `top` see from outside: the trace of a program that is looked at rarely, and one that belongs to somebody
else."""

import json
import os
import pwd
import shutil
import subprocess
import sys
import textwrap
import time

import pytest

from recording import INFERSCOPE, PATIENCE, run_to_end
from test_waits import STATES, Watched, main_of

LOOK_NS = 100_000_000

PROGRAM = textwrap.dedent("""
    import os, threading, time
    def wait():
        time.sleep(2.5)
    for _ in range(3):
        threading.Thread(target=wait).start()
    child = os.fork()
    if child == 0:
        time.sleep(2)
        os._exit(0)
    begin = time.monotonic()
    while time.monotonic() - begin < 2.5:
        pass
    os.waitpid(child, 0)
""")


def test_a_trace_of_rare_looks(tmp_path):
    """States without gaps, an exact ledger, and as many looks as there were slots."""
    trace = tmp_path / "trace.sbt"
    status, _ = run_to_end([INFERSCOPE, "monitor", "--plain", "--interval", "0.1", "--waits", "on", "--trace", trace, "--",
                            sys.executable, "-c", PROGRAM])
    seen = Watched(trace, status)
    main = main_of(seen)
    assert status == 0 and seen.sampling["interval_ns"] == seen.trace.info["settings"]["look_ns"] == LOOK_NS
    assert seen.sampling["program_counters"] == 0 and seen.sampling["dropped"] == 0
    wall, run, queue = seen.book(main)
    assert wall > 2000 and run + queue == pytest.approx(wall, rel=0.1)
    states = seen.ms[main]
    assert states["running"] > 0.8 * sum(states.values())
    assert sum(seen.samples[main].values()) == pytest.approx(sum(states.values()) * 1e6 / LOOK_NS, abs=6)
    waiting = [thread for thread in seen.threads(main) if thread != main]
    assert len(waiting) == 3
    for thread in waiting:
        assert seen.ms[thread]["sleep"] == pytest.approx(2500, abs=600) and not seen.ms[thread]["running"] > 500
    assert len(seen.trace.processes) == 2
    for thread in (main, *waiting):
        ends = None
        for event in (e for e in seen.trace.events if e.kind == 6 and e.phase == 2 and seen.trace.tracks[e.track]["kind"] == STATES and
                      seen.trace.tracks[e.track]["id"] == thread):
            assert ends is None or event.time == ends
            ends = event.time + event.duration


# Four processes that have 48 MB together, and 8 MB each.
SHARING = textwrap.dedent("""
    import mmap, os, sys
    shared = mmap.mmap(-1, 32 << 20)
    shared.write(b"x" * (32 << 20))
    inherited = b"y" * (16 << 20)
    ready, tell = os.pipe()
    children = []
    for _ in range(3):
        child = os.fork()
        if child == 0:
            break
        children.append(child)
    own = os.urandom(8 << 20)
    sum(shared[i] for i in range(0, len(shared), 4096))
    if child:
        for _ in children:
            os.read(ready, 1)
        print(*children, flush=True)
    else:
        os.write(tell, b".")
    sys.stdin.read()
""")


def proportional(pid):
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
        return sum(1024 * int(line.split()[1]) for line in file if line.startswith("Pss:"))


def held(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return sum(1024 * int(line.split()[1]) for line in file if line.startswith(("RssAnon:", "RssShmem:")))


def test_memory_that_processes_share():
    """Counted once, whoever has it; what each has is counted for each, and so is what rss_bytes says."""
    with subprocess.Popen([sys.executable, "-c", SHARING], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        pids = [program.pid, *map(int, program.stdout.readline().split())]
        done = subprocess.run([INFERSCOPE, "top", "--json", "--interval", "1", str(program.pid)], capture_output=True, text=True,
                              timeout=PATIENCE, check=True)
        real, real_held = sum(proportional(pid) for pid in pids), sum(held(pid) for pid in pids)
        program.stdin.close()
    memory = json.loads(done.stdout)["memory"]
    assert len(pids) == 4 and memory["pss_bytes"] == pytest.approx(real, rel=0.05)
    assert (48 + 4 * 8) << 20 < memory["pss_bytes"] < 130 << 20 and memory["rss_bytes"] > (4 * 56) << 20
    assert memory["shared_bytes"] > (4 * 32) << 20
    assert memory["held_bytes"] == pytest.approx(real_held, rel=0.05) and (4 * 56) << 20 < memory["held_bytes"] < memory["rss_bytes"]


def as_nobody():
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        pytest.skip("needs root, and setpriv of util-linux, to become somebody else")
    user = pwd.getpwnam("nobody")
    return ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]


def test_somebody_elses_program(tmp_path):
    """Of it the kernel tells processor time and memory, but neither bytes nor what its threads wait for: these are not known, which
    is not 0."""
    command = tmp_path / "inferscope"
    shutil.copy(INFERSCOPE, command)
    for folder in (tmp_path, tmp_path.parent, tmp_path.parent.parent):
        folder.chmod(0o755)
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as program:
        try:
            time.sleep(0.5)
            done = subprocess.run([*as_nobody(), command, "top", "--json", "--interval", "0.1", str(program.pid)], capture_output=True,
                                  text=True, timeout=PATIENCE, check=False)
        finally:
            program.kill()
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert seen["pid"] == program.pid and 0 < seen["cpu"]["share"] < 1.5 and seen["memory"]["rss_bytes"] > 1e6
    assert seen["io"]["read_bytes"] is None and seen["io"]["waiting"] is None
    thread, = seen["threads"]
    assert seen["gpu_source"].startswith("none: ")
    assert thread["tid"] == program.pid and thread["cpu"] > 0 and thread["what"] in ("", None)
