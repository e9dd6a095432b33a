"""Whoever ends a program with a signal has its trace and its analysis, whenever the signal comes.

INFERSCOPE_INTERRUPTS says how many there are of each signal; 200 take some minutes.
"""

import os
import random
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from conftest import INFERSCOPE, PATIENCE, Result, records_python

COUNT = int(os.environ.get("INFERSCOPE_INTERRUPTS", "10"))
AT_ONCE = 5
GRACE = 0.25  # seconds after a program's end in which a signal is still meant for it, with a margin (src/record/request.h)

LOOP = "import sys, time\nend = time.monotonic() + float(sys.argv[1])\nwhile time.monotonic() < end:\n    "
PROGRAMS = {
    "sleepy": LOOP + "time.sleep(0.01)\n",
    "busy": "def f(i): return i * i\n" + LOOP + "for i in range(1000): f(i)\n",
    "family": "import os\nfor _ in range(3): os.fork() == 0 and setattr(os, 'fork', lambda: 1)\n" + LOOP + "time.sleep(0.01)\n",
}
ENDED = "open('ended', 'w').close()\n"
COMMANDS = {"run": ["run"], "monitor": ["monitor", "--plain", "--report", "report.md"]}
SIGNALS = {"SIGINT": signal.SIGINT, "SIGTERM": signal.SIGTERM, "timeout": None}


class Attempt:
    """One program, in a folder of its own, that gets one signal at a random moment: while it runs, or about its end."""

    def __init__(self, place, name, number):
        self.random = random.Random(f"{name} {number}")
        self.folder = place.folder / str(number)
        self.folder.mkdir()
        self.command = self.random.choice(list(COMMANDS))
        self.program = self.random.choice(list(PROGRAMS))
        self.at_end = number % 3 == 0 and SIGNALS[name] is not None
        self.moment = self.random.uniform(0, GRACE if self.at_end else 2)
        self.signal = SIGNALS[name]
        self.late = 0.0
        self.env = {**place.env, "INFERSCOPE_REPORT": "", "INFERSCOPE_WAITS": "on"}

    def start(self):
        script = self.folder / f"{self.program}.py"
        script.write_text(PROGRAMS[self.program] + (ENDED if self.at_end else ""))
        limit = [] if self.signal else ["timeout", "--kill-after=30", f"{self.moment:.3f}"]
        command = [*limit, INFERSCOPE, *COMMANDS[self.command], script, "0.2" if self.at_end else "60"]
        return subprocess.Popen(command, cwd=self.folder, env=self.env, text=True, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)

    def send(self, process):
        if self.at_end:
            while not (self.folder / "ended").exists() and process.poll() is None:
                time.sleep(0.001)
        begin = time.monotonic()
        time.sleep(self.moment)
        self.late = time.monotonic() - begin
        if process.poll() is None:
            os.killpg(process.pid, self.signal)

    def run(self):
        process = self.start()
        try:
            if self.signal:
                self.send(process)
            out, err = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return "it hangs"
        return self.judge(Result(process, out, err))

    def statuses(self):
        if not self.signal:
            return {124}
        # before the recorder has blocked signals, it dies like any program; a program that had ended does not hear of it
        return {128 + self.signal, -self.signal} | ({0} if self.at_end else set())

    def judge(self, result):
        """What is wrong with what is left; None: nothing."""
        left = {path.name for path in self.folder.iterdir()}
        before = not {"trace.sbt", "report.md"} & left and result.err == "" and result.status in (124, -(self.signal or 0))
        if before and self.moment < 0.3 and not self.at_end:
            return None
        if self.at_end and self.late > GRACE + 0.04:  # this machine was busy elsewhere
            return None
        young = result.status == 1 and "Fatal Python error" in result.err  # Python's own end when it has hardly begun
        if result.status not in self.statuses() and not young:
            return f"status {result.status}: {result.err}"
        if {"trace.sbt", "report.md"} - left:
            return f"{sorted(left)}: {result.err}"
        if len(left - {"ended"}) != 3:
            return f"there is more: {sorted(left)}"
        if "trace in trace.sbt" not in result.lines[-1] or "uses neither Python" in result.err:
            return f"wrong words: {result.err}"
        return None


@records_python
@pytest.mark.parametrize("name", SIGNALS)
def test_nothing_is_lost(tidy, name):
    attempts = [Attempt(tidy, name, number) for number in range(COUNT)]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        wrong = [(vars(attempt), why) for attempt, why in zip(attempts, pool.map(Attempt.run, attempts)) if why]
    assert not wrong, f"{len(wrong)} of {COUNT}: " + "\n".join(
        f"{it['command']} {it['program']} {it['moment']:.3f} s {'after its end' if it['at_end'] else ''}: {why}" for it, why in wrong)
