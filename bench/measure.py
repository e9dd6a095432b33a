"""How things are measured: statistics, rows, and commands that are run with and without the recorder."""

import json
import os
import random
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

PAIRS = 31           # of bursts in one process
PROCESS_PAIRS = 15   # of whole processes
RESAMPLES = 10000
TIMEOUT = 300        # seconds, for one command


class Skip(Exception):
    """A row that cannot be measured here, and why."""


# ---- Statistics -------------------------------------------------------------

def interval(values, seed=1):
    """95 % bootstrap interval of the median."""
    source = random.Random(seed)
    medians = sorted(statistics.median(source.choices(values, k=len(values))) for _ in range(RESAMPLES))
    return medians[int(0.025 * RESAMPLES)], medians[int(0.975 * RESAMPLES)]


def row(name, unit, ours, bar, peer=None, peer_values=None, bar_on="ours", good="<="):
    """ours and peer_values are measurements, taken in pairs when there are as many of both.  bar is None for a row that is
    only shown, beside one that has it."""
    peer_value = ratio = None
    if peer_values:
        peer_value = statistics.median(peer_values)
        if len(peer_values) == len(ours):
            ratios = [a / b for a, b in zip(ours, peer_values)]
        else:
            ratios = [statistics.median(ours) / peer_value]
        ratio = statistics.median(ratios)
    judged = ratios if bar_on == "ratio" else ours
    low, high = interval(judged)
    median = statistics.median(judged)
    met = None if bar is None else median <= bar if good == "<=" else median >= bar
    return {"name": name, "ours": statistics.median(ours), "unit": unit, "peer": peer, "peer_value": peer_value, "ratio": ratio,
            "low": low, "high": high, "bar": None if bar is None else f"{good} {bar:g}", "bar_on": bar_on, "met": met}


# ---- Running things ---------------------------------------------------------

class Bench:
    def __init__(self, build, scratch):
        self.build, self.scratch = Path(build).resolve(), Path(scratch).resolve()
        self.inferscope = self.build / "inferscope"
        self.lttng_bytes = None  # of an event, once LTTng has been measured

    def program(self, name):
        path = self.build / "bench" / name
        if not path.exists():
            raise Skip(f"{name} was not built")
        return path

    def run(self, *command, env=None, on_start=None):
        """Runs a command; what it prints as JSON lines, as one dictionary, and under "wall" the seconds it took.
        on_start is called with its process id."""
        start = time.perf_counter()
        process = subprocess.Popen([str(part) for part in command], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, start_new_session=True)
        if on_start:
            on_start(process.pid)
        try:
            output, said = process.communicate(timeout=TIMEOUT)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            sys.exit(f"bench: {' '.join(map(str, command))}: not done after {TIMEOUT} s")
        wall = time.perf_counter() - start
        if process.returncode == 77:
            raise Skip(said.strip())
        if process.returncode != 0:
            sys.exit(f"bench: {' '.join(map(str, command))}: status {process.returncode}\n{said}")
        return {"wall": wall, **{key: value for line in output.splitlines() if line.startswith("{")
                                 for key, value in json.loads(line).items()}}

    def record(self, *command, env=None, on_start=None):
        """Runs a command under the recorder; what it prints, and what `info` says of its trace.  Nothing may be lost."""
        trace = self.scratch / "recorded.sbt"
        result = self.run(self.inferscope, "run", "--trace", trace, "--report", "none", "--", *command, env=env, on_start=on_start)
        return result, self.take(trace, command[0], result.get("events"))

    def take(self, trace, what, made=None):
        """What `info` says of a trace, which is removed.  Nothing may be lost; made: events that it must have."""
        info = json.loads(subprocess.check_output([self.inferscope, "info", "--format", "json", trace]))
        if info["lost"] != 0 or made not in (None, info["events"]):
            sys.exit(f"bench: {what}: {info['events']} events recorded, {info['lost']} lost, {made} made: this measures nothing")
        trace.unlink()
        return info
