"""Records the test program `workload` (tests/programs) and reads the trace back with the second reader.

INFERSCOPE is the program under test, INFERSCOPE_BUILD the folder it was built in; build/ of this tree unless given.
"""

import json
import os
import re
import signal
import subprocess
from collections import Counter
from pathlib import Path

import sbt
from sbt_payload import KINDS, LOST

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("INFERSCOPE_BUILD", ROOT / "build")).resolve()
INFERSCOPE = Path(os.environ.get("INFERSCOPE", BUILD / "inferscope")).resolve()
WORKLOAD = BUILD / "tests" / "programs" / "workload"
PATIENCE = 120  # seconds that nothing here takes unless it hangs

SCOPE, INSTANT, COUNTER, FLOW = 2, 3, 4, 18
BEGIN, END = 0, 1
REENTRY, NAMES, UNSEEN = 4, 5, 9


class Recording:
    """How the program ended and what the trace holds; what must hold for every trace has been checked."""

    def __init__(self, status, out, trace, path):
        self.status, self.out, self.trace, self.path = status, out, trace, path
        self.events = [event for event in trace.events if event.kind != LOST]
        self.losses = [event for event in trace.events if event.kind == LOST]

    def said(self, what="events"):
        """The sum of what the programs said they did, each in its last line."""
        return sum(int(number) for number in re.findall(rf"\b{what}=(\d+)", self.out))

    def lost(self, *reasons):
        return sum(loss.count for loss in self.losses if loss.reason in reasons)

    def name(self, event):
        return self.trace.strings.get(event.name, "")

    def by_track(self):
        tracks = {}
        for event in self.events:
            tracks.setdefault(event.track, []).append(event)
        return tracks

    def threads(self):
        """Tracks of threads, by number."""
        return {number: track for number, track in self.trace.tracks.items() if track["kind"] == 1}


def has_behaviour(name):
    """Some behaviours are not in every build: single steps are x86's, and none for a sanitizer."""
    usage = subprocess.run([WORKLOAD], capture_output=True, text=True, check=False, timeout=PATIENCE).stderr
    return f"  {name} " in usage


def run_to_end(command):
    """Status and standard output; on a hang all of its processes go, since they are of a session of their own."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        try:
            out, _ = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise
        return process.returncode, out


def check_with_first_reader(path, trace):
    """Both readers see the same: the one in C, and the one written from the format's description."""
    run = subprocess.run([INFERSCOPE, "info", "--format", "json", path], capture_output=True, text=True, check=True,
                         timeout=PATIENCE)
    seen = json.loads(run.stdout)
    kinds = Counter(KINDS[event.kind] for event in trace.events)
    assert seen["events_by_kind"] == kinds
    assert seen["lost"] == trace.lost
    assert seen["damage_count"] == 0


def record(folder, *command, options=(), program=WORKLOAD):
    path = Path(folder) / "trace.sbt"
    status, out = run_to_end([INFERSCOPE, "run", "--trace", path, *options, "--", program, *map(str, command)])
    trace = sbt.read(path)
    recording = Recording(status, out, trace, path)
    info = trace.info
    assert trace.violations == [] and trace.damage == []
    assert info["complete"] is True
    assert info["produced"] == info["recorded"] + info["lost"]
    assert info["recorded"] == len(recording.events) + sum(loss.reason == UNSEEN for loss in recording.losses)
    assert info["lost"] == trace.lost
    check_with_first_reader(path, trace)
    return recording
