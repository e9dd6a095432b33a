"""Two sides of a comparison that take turns, block by block, while both are there.

A machine that others share is faster now and slower then, by more than we want to tell, and for seconds.  Processes one after the
other meet it at different times; blocks of a few tenths of a second, one of each side and then one of the other, do not.  The side
that waits takes nothing: the program waits for a line, and its recorder is stopped.
"""

import json
import os
import signal
import statistics
import subprocess

from measure import TIMEOUT
from python_rows import against_bare, say


class Side:
    """A workload that takes turns (bench/python/workload.py), alone or under a recorder."""

    def __init__(self, command, env=None, recorder=False):
        self.command, self.recorder = command, recorder
        self.process = subprocess.Popen([str(part) for part in command], env={**os.environ, **(env or {})}, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
        self._answer()
        self._rest()

    def _answer(self):
        line = self.process.stdout.readline()
        if not line.startswith("{"):
            said = self.process.communicate(timeout=TIMEOUT)[1]
            raise SystemExit(f"bench: {self.command}: status {self.process.returncode}\n{said}")
        return json.loads(line)

    def _signal(self, number):
        if self.recorder:
            os.kill(self.process.pid, number)

    def _rest(self):
        self._signal(signal.SIGSTOP)

    def turn(self):
        """What the workload says of one block."""
        self._signal(signal.SIGCONT)
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        answer = self._answer()
        self._rest()
        return answer

    def end(self):
        self._signal(signal.SIGCONT)
        _, said = self.process.communicate(timeout=TIMEOUT)
        if self.process.returncode != 0:
            raise SystemExit(f"bench: {self.command}: status {self.process.returncode}\n{said}")


def take_turns(what, ours, bare, processes, pairs, warm_up=1):
    """ours() and bare() each make a Side; [(of ours, of bare)] for each pair of processes, what they said of their blocks."""
    say(f"{what}: {processes} pairs of processes, {pairs} pairs of blocks each")
    return [_take_turns((ours(), bare()), pairs, warm_up) for _ in range(processes)]


def _take_turns(sides, pairs, warm_up):
    said = [], []
    for number in range(warm_up + pairs):
        for side in (0, 1) if number % 2 else (1, 0):
            said[side].append(sides[side].turn())
    for side in sides:
        side.end()
    return [blocks[warm_up:] for blocks in said]


def turns_against_bare(name, values, bar):
    """The row of what take_turns() gave, and the same by processor time."""
    for row_name, figure, row_bar in ((name, "seconds", bar), (f"{name}_cpu", "cpu_seconds", None)):
        ours, bare = ([statistics.median(block[figure] for block in pair[side]) for pair in values] for side in (0, 1))
        yield against_bare(row_name, ours, bare, row_bar)
