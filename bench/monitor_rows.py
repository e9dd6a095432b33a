"""The rows about looking on while a program runs: what `monitor` and `top` take of a core, and of memory.

A process of 64 threads that wait, or that do a little every 50 ms, is looked at every 0.1 s; beside it psutil, in a loop that
asks for the same.
"""

import fcntl
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from pathlib import Path

from measure import PAIRS, Skip, row
from python_rows import STEADY, WORKLOADS, ask, bench_python, need_kinds
from turns import Side, take_turns, turns_against_bare

INTERVAL = 0.1
WARM_SECONDS, SECONDS = 3, 10
ROUNDS = 3
ROWS, COLUMNS = 40, 120
TRAIN_PAIRS = 20  # of blocks
# Bench.record() says why: only what is looked at from outside.
ONLY_LOOK = {"INFERSCOPE_CALLS": "0", "INFERSCOPE_OPS": "0"}


# ---- A process and what it takes ---------------------------------------------

def cpu_seconds(pid):
    """Of all its threads, to the nanosecond: the clock of the process."""
    return time.clock_gettime((~pid << 3) | 2)


def resident_bytes(pid):
    """Without memory that it shares with the program, such as the rings."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith(("RssAnon:", "RssFile:")))


class Terminal:
    """A terminal for a command, whose output is read and thrown away."""

    def __init__(self, *command, env=None):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self.process = subprocess.Popen([str(part) for part in command], env={**os.environ, "TERM": "xterm-256color", **(env or {})},
                                        stdin=slave, stdout=slave, stderr=slave, start_new_session=True)
        os.close(slave)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.bytes = 0
        self.reader.start()

    def read(self):
        try:
            while data := os.read(self.master, 65536):
                self.bytes += len(data)
        except OSError:
            pass

    def close(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.process.wait(30)
        self.reader.join(5)
        os.close(self.master)


def watch_process(pid, alive):
    """(share of one core in per cent, bytes of memory) once it has settled."""
    time.sleep(WARM_SECONDS)
    cpu, start = cpu_seconds(pid), time.monotonic()
    time.sleep(SECONDS)
    share, memory = 100 * (cpu_seconds(pid) - cpu) / (time.monotonic() - start), resident_bytes(pid)
    if not alive():
        sys.exit("bench: monitor: ended while it was measured")
    return share, memory


def start_threads(mode):
    return subprocess.Popen([bench_python(), WORKLOADS / "threads.py", mode, str(WARM_SECONDS + SECONDS + 30)],
                            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


# ---- The sides ---------------------------------------------------------------

def top(bench, mode):
    program = start_threads(mode)
    time.sleep(1)
    terminal = Terminal(bench.inferscope, "top", "--interval", INTERVAL, program.pid)
    try:
        return watch_process(terminal.process.pid, lambda: terminal.process.poll() is None and terminal.bytes)
    finally:
        terminal.close()
        program.kill()
        program.wait()


def monitor(bench, mode):
    trace = bench.scratch / "monitored.sbt"
    terminal = Terminal(bench.inferscope, "monitor", "--interval", INTERVAL, "--trace", trace, "--", bench_python(),
                        WORKLOADS / "threads.py", mode, WARM_SECONDS + SECONDS + 30, env=ONLY_LOOK)
    try:
        return watch_process(terminal.process.pid, lambda: terminal.process.poll() is None and terminal.bytes)
    finally:
        terminal.close()
        trace.unlink(missing_ok=True)


def with_psutil(mode):
    program = start_threads(mode)
    time.sleep(1)
    peer = subprocess.Popen([bench_python(), WORKLOADS / "look_psutil.py", str(program.pid), str(INTERVAL)], stdin=subprocess.DEVNULL)
    try:
        return watch_process(peer.pid, lambda: peer.poll() is None)
    finally:
        for process in (peer, program):
            process.kill()
            process.wait()


def has_psutil():
    return subprocess.run([bench_python(), "-c", "import psutil"], stderr=subprocess.DEVNULL).returncode == 0


# ---- The rows ----------------------------------------------------------------

def monitor_costs(bench):
    if not has_psutil():
        raise Skip("psutil is not installed")
    memory = []
    for mode in ("wait", "light"):
        sides = [(monitor(bench, mode), top(bench, mode), with_psutil(mode)) for _ in range(ROUNDS)]
        for i, command in enumerate(("monitor", "top")):
            yield row(f"{command}_cpu_{mode}", "%", [side[i][0] for side in sides], 0.5, "psutil", [side[2][0] for side in sides])
        memory.append([(side[0][1] / 1e6, side[1][1] / 1e6, side[2][1] / 1e6) for side in sides])
    for i, command in enumerate(("monitor", "top")):
        yield row(f"{command}_rss", "MB", [max(m[i] for m in round_) for round_ in zip(*memory)], 10, "psutil",
                  [max(m[2] for m in round_) for round_ in zip(*memory)])


def monitor_torch(bench):
    """A training loop under `monitor`, as it comes, against the same alone."""
    if not ask(bench_python(), '__import__("importlib.metadata").metadata.version("torch")'):
        raise Skip(f"PyTorch is not installed in {bench_python()}")
    program, trace = (bench_python(), WORKLOADS / "torch_train.py"), bench.scratch / "monitored.sbt"
    watched = (bench.inferscope, "monitor", "--no-view", "--interval", INTERVAL, "--trace", trace, "--", *program)
    values = take_turns("monitor_torch", lambda: Side(watched, STEADY, recorder=True), lambda: Side(program, STEADY), PAIRS,
                        TRAIN_PAIRS)
    need_kinds(bench.take(trace, "monitor_torch"), "monitor_torch", "op", "scope")
    yield from turns_against_bare("monitor_torch", values, 1.01)


MEASUREMENTS = {"monitor": monitor_costs, "monitor_torch": monitor_torch}
