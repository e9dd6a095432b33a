#!/usr/bin/env python3
"""Judges diagnoses by programs whose bottleneck is known: `make zoo`.

    tests/zoo/run.py measure [--pairs N] [NAME...]     what the fixed forms gain, against the range in table.py
    tests/zoo/run.py judge [--build DIR] [NAME...]     what `inferscope analyze` says of each, against table.py
    tests/zoo/run.py check [--build DIR] [NAME...]     the programs themselves: same result in both forms and when recorded,
                                                       nothing left behind, a clean end on SIGTERM
    tests/zoo/run.py list

NAME is a program or a pattern; --fast takes the suite's selection.  Ends with 0 when all is as expected, 1 when not, 2 on wrong
usage and 4 when something is missing here.  README.md says what the columns mean.
"""

import argparse
import ctypes
import fnmatch
import functools
import json
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from table import ROWS

ZOO = Path(__file__).resolve().parent
ROOT = ZOO.parent.parent
PROGRAMS = ZOO / "programs"
EXAMPLES = ROOT / "examples"
TIMEOUT = 120
QUIET = 0.3            # cores that others may use in a run that counts as quiet
PROBE = 3              # programs after which a build that diagnoses none of them is given up
WRONG, MISSING = 1, 4


class Missing(Exception):
    """Something that is not here: ends with status 4."""


class Broken(Exception):
    """A program that did not do what every program of the zoo does."""


# ---- Running a program ------------------------------------------------------

@dataclass
class Result:
    checksum: str
    milliseconds: float
    seconds: float     # of the whole process
    cpu: float         # seconds of it and its children
    outside: float     # cores that others used meanwhile


def busy_seconds():
    """CPU time of everybody since the start of the machine."""
    fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]
    user, nice, system, _, _, irq, softirq, steal = map(int, fields)
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def own_seconds():
    """CPU time of the children that have ended."""
    times = os.times()
    return times.children_user + times.children_system


def path_of(row, options):
    if not row.example:
        return PROGRAMS / f"{row.name}.py"
    return EXAMPLES / row.example if row.example.endswith(".py") else Path(options.build).resolve() / "examples" / row.example


def command(row, fixed, options, seconds=None):
    """As `inferscope run` takes it."""
    words = [str(path_of(row, options))]
    if fixed:
        words.append("--fixed")
    if seconds or options.seconds:
        words += ["--seconds", str(seconds or options.seconds)]
    return words


def bare(row, fixed, options, seconds=None):
    words = command(row, fixed, options, seconds)
    return [python(), *words] if words[0].endswith(".py") else words


def python():
    """The interpreter of the virtual environment in use, as `inferscope run` takes it; else of the repository's."""
    for folder in (os.environ.get("VIRTUAL_ENV"), ROOT / ".venv"):
        if folder and (path := Path(folder) / "bin" / "python").exists():
            return str(path)
    return sys.executable


@functools.cache
def has(need):
    """A module of the interpreter's, or a device of OpenCL."""
    if need != "OpenCL":
        done = subprocess.run([python(), "-c", f"import {need}"], capture_output=True, stdin=subprocess.DEVNULL, check=False)
        return done.returncode == 0
    try:
        count = ctypes.c_uint32()
        return ctypes.CDLL("libOpenCL.so.1").clGetPlatformIDs(0, None, ctypes.byref(count)) == 0 and count.value > 0
    except OSError:
        return False


def missing(row, options):
    """What a program needs and is not here; empty when all is."""
    lacking = [need for need in row.needs if not has(need)]
    if not path_of(row, options).exists():
        lacking.append(path_of(row, options).name)
    return ", ".join(lacking)


def execute(words, env=None):
    """What it printed.  Output goes to a file: a pipe would make the reader part of what is measured."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=env, start_new_session=True)
        try:
            status = process.wait(TIMEOUT)
        except BaseException as problem:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            if isinstance(problem, subprocess.TimeoutExpired):
                raise Broken(f"{words}: not done after {TIMEOUT} s") from None
            raise
        out.seek(0), err.seek(0)
        if status:
            raise Broken(f"{' '.join(words)}: ended with {status}: {err.read()[-800:]}")
        return out.read()


def parse(text):
    found = re.search(r"checksum ([0-9a-f]{8})\n([0-9.]+) ms per (?:step|run)\n\Z", text)
    if not found:
        raise Broken(f"does not end with checksum and time: {text[-200:]!r}")
    return found[1], float(found[2])


def timed(words, env=None):
    start, busy, own = time.monotonic(), busy_seconds(), own_seconds()
    checksum, milliseconds = parse(execute(words, env))
    seconds, cpu = time.monotonic() - start, own_seconds() - own
    return Result(checksum, milliseconds, seconds, cpu, max(0.0, (busy_seconds() - busy - cpu) / seconds))


def wait_for_quiet(patience):
    """Until others use little for half a second, or patience ends."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        busy = busy_seconds()
        time.sleep(0.5)
        if (busy_seconds() - busy) / 0.5 < QUIET:
            return


# ---- Gains ------------------------------------------------------------------

@dataclass
class Gain:
    slow: list
    fixed: list
    pairs: list        # gain of each pair, per cent
    quiet: list        # of those in which others used little

    @property
    def best(self):
        """The quiet pairs, or all of them when there is none."""
        return self.quiet or self.pairs

    @property
    def percent(self):
        return statistics.median(self.best)

    @property
    def interval(self):
        """95 % of the medians of samples like this one."""
        source = random.Random(1)
        medians = sorted(statistics.median(source.choices(self.best, k=len(self.best))) for _ in range(1000))
        return medians[25], medians[974]

    @property
    def outside(self):
        return statistics.mean(result.outside for result in self.slow + self.fixed)


def measure_gain(row, options):
    """Slow and fixed in turn; more pairs, twice as many at most, until as many as asked for were quiet."""
    gain = Gain([], [], [], [])
    while len(gain.quiet) < options.pairs and len(gain.pairs) < 2 * options.pairs:
        wait_for_quiet(options.patience)
        forms = [False, True] if len(gain.pairs) % 2 == 0 else [True, False]
        results = {fixed: timed(bare(row, fixed, options)) for fixed in forms}
        slow, fixed = results[False], results[True]
        if slow.checksum != fixed.checksum:
            raise Broken(f"slow and fixed differ: {slow.checksum}, {fixed.checksum}")
        gain.slow.append(slow)
        gain.fixed.append(fixed)
        percent = 100 * (1 - fixed.milliseconds / slow.milliseconds)
        gain.pairs.append(percent)
        if max(slow.outside, fixed.outside) < QUIET:
            gain.quiet.append(percent)
    return gain


def measure(options):
    print(f"{'program':24}{'slow ms':>10}{'fixed ms':>10}{'gain %':>8}  {'95 %':>12}  {'expected':>9}"
          f"{'quiet':>7}{'outside':>9}{'seconds':>12}")
    wrong = 0
    for row in options.rows:
        try:
            gain = measure_gain(row, options)
        except Broken as problem:
            print(f"{row.name:24}BROKEN: {problem}", flush=True)
            wrong += 1
            continue
        low, high = gain.interval
        expected, verdict = "", ""
        if row.gain:
            expected = "{}-{}".format(*row.gain)
            inside = row.gain[0] <= gain.percent <= row.gain[1]
            verdict = "" if inside else "not as expected" if gain.quiet else "not as expected, beside others"
            wrong += not inside
        seconds = [statistics.median(result.seconds for result in form) for form in (gain.slow, gain.fixed)]
        slow, fixed = (statistics.median(result.milliseconds for result in form) for form in (gain.slow, gain.fixed))
        print(f"{row.name:24}{slow:10.2f}{fixed:10.2f}{gain.percent:8.1f}  {f'{low:.0f} to {high:.0f}':>12}"
              f"  {expected:>9}{f'{len(gain.quiet)}/{len(gain.pairs)}':>7}{gain.outside:9.2f}"
              f"{f'{seconds[0]:.1f} {seconds[1]:.1f}':>12}  {verdict}", flush=True)
    print(f"{len(options.rows)} programs, {wrong} not as expected; load {' '.join(map(str, os.getloadavg()))}")
    return WRONG if wrong else 0


# ---- What a diagnosis says --------------------------------------------------

def build_folder(options):
    inferscope = Path(options.build) / "inferscope"
    if not inferscope.exists():
        raise Missing(f"there is no {inferscope}: run make, or name a build folder with --build")
    return str(inferscope)


def environment(options):
    env = dict(os.environ, PYTHONPATH=str(Path(options.build).resolve() / "python"))
    env.setdefault("VIRTUAL_ENV", str(ROOT / ".venv"))
    return env


def record(row, fixed, options, trace):
    """The program under `inferscope run`: its own output and status."""
    words = [build_folder(options), "run", "--report", "none", "--trace", trace, *command(row, fixed, options)]
    return timed(words, environment(options))


def analyze(trace, options):
    words = [build_folder(options), "analyze", trace, "--format", "json", "--output", "-"]
    analysis = json.loads(execute(words, environment(options)))
    if "findings" not in analysis:
        raise Missing("there is no \"findings\" in the JSON of this build's `inferscope analyze`, so there is nothing to judge")
    return analysis


def judged(analysis):
    """Whether a diagnosis was made at all: "cannot judge" is not "nothing stands out"."""
    bottleneck = analysis.get("bottleneck", {})
    return bool(analysis["findings"]) or bottleneck.get("type", "unknown") != "unknown" or bottleneck.get("confidence", 0) > 0


def diagnose(row, fixed, options):
    with tempfile.TemporaryDirectory(prefix="zoo-") as folder:
        trace = f"{folder}/trace.sbt"
        record(row, fixed, options, trace)
        return analyze(trace, options)


@dataclass
class Verdict:
    row: object
    kinds: list            # of the findings, best first
    judged: bool = True    # else no diagnosis was made, for this reason:
    reason: str = ""
    top1: bool = False
    top3: bool = False
    type: str = ""
    type_right: bool = False
    named: bool = False    # the first right finding names the function
    predicted: tuple = ()  # low, mid, high of the first right finding; of a mixture: added up over its parts
    measured: Gain = None
    still: bool = False    # the fixed form still gets the kind that was meant
    parts: int = 0         # of a mixture, found among the first three


def band(finding):
    return tuple(float(finding.get(name) or 0) for name in ("gain_low_percent", "gain_percent", "gain_high_percent"))


def names(finding, functions):
    text = json.dumps([finding.get("where"), finding.get("evidence")])
    return any(re.search(rf"\b{re.escape(function)}\b", text) for function in functions)


def add_parts(verdict, row, findings):
    """Each part of a mixture takes the best finding of its kinds that no other took."""
    taken = []
    for kinds, _, _ in row.parts:
        finding = next((one for one in findings[:3] if one["kind"] in kinds and one not in taken), None)
        if finding:
            taken.append(finding)
    verdict.parts = len(taken)
    if taken:
        verdict.predicted = tuple(min(100.0, sum(values)) for values in zip(*map(band, taken)))


def compare(row, analysis):
    findings = analysis["findings"]
    verdict = Verdict(row, [finding["kind"] for finding in findings])
    verdict.judged = judged(analysis)
    verdict.reason = analysis.get("bottleneck", {}).get("primary_cause", "")
    verdict.type = analysis.get("bottleneck", {}).get("type", "none")
    verdict.type_right = verdict.type in row.bottleneck
    if row.healthy:
        return verdict
    verdict.top1 = verdict.kinds[:1] != [] and verdict.kinds[0] in row.kinds
    right = [finding for finding in findings[:3] if finding["kind"] in row.kinds]
    verdict.top3 = bool(right)
    if right:
        verdict.named = names(right[0], row.where)
        verdict.predicted = band(right[0])
    if row.parts:
        add_parts(verdict, row, findings)
    return verdict


def verdict_line(verdict):
    row, mark = verdict.row, lambda right: "yes" if right else "NO"
    kinds = ", ".join(verdict.kinds[:3]) or ("nothing stands out" if verdict.judged else f"cannot judge: {verdict.reason}")
    kind = f"{verdict.type}{'' if verdict.type_right else ' (wrong)'}"
    if row.healthy:
        return f"{row.name:24}{'-':>5}{'-':>5}{'-':>6}  {kind:20}{'':>23}  {'WRONG CLAIM: ' if verdict.kinds else ''}{kinds}"
    predicted = "{:.0f} ({:.0f}-{:.0f})".format(verdict.predicted[1], verdict.predicted[0], verdict.predicted[2]) \
        if verdict.predicted else "-"
    measured = f"{verdict.measured.percent:.0f}" if verdict.measured else "-"
    notes = f"; {verdict.parts} of {len(row.parts)} parts" if row.parts else ""
    notes += "; fixed form gets it too" if verdict.still else ""
    return (f"{row.name:24}{mark(verdict.top1):>5}{mark(verdict.top3):>5}{mark(verdict.named):>6}  {kind:20}"
            f"{predicted:>14}{measured:>9}  {kinds}{notes}")


def summary(verdicts):
    sick = [verdict for verdict in verdicts if not verdict.row.healthy]
    healthy = [verdict for verdict in verdicts if verdict.row.healthy]
    lines = [f"right kind first: {sum(v.top1 for v in sick)} of {len(sick)}; among the first three: {sum(v.top3 for v in sick)}; "
             f"function named: {sum(v.named for v in sick)}; type right: {sum(v.type_right for v in verdicts)} of {len(verdicts)}",
             f"wrong claims on healthy programs: {sum(len(v.kinds) for v in healthy)}, on {sum(bool(v.kinds) for v in healthy)} "
             f"of {len(healthy)}; not judged: {sum(not v.judged for v in healthy)}",
             f"fixed forms that still get the kind: {sum(v.still for v in sick)} of {len(sick)}"]
    both = [v for v in sick if v.predicted and v.measured]
    if both:
        off = [abs(v.predicted[1] - v.measured.percent) for v in both]
        inside = sum(v.predicted[0] <= v.measured.percent <= v.predicted[2] for v in both)
        lines.append(f"gain: measured inside the predicted band in {inside} of {len(both)}; off by {statistics.median(off):.1f} points "
                     f"(median), {max(off):.1f} (worst)")
    return lines


def judge_row(row, options):
    verdict = compare(row, diagnose(row, False, options))
    if row.healthy or not verdict.judged or options.slow_only:
        return verdict
    if options.pairs:
        verdict.measured = measure_gain(row, options)
    fixed = diagnose(row, True, options)
    verdict.still = any(finding["kind"] == row.kinds[0] and band(finding)[1] >= 15 for finding in fixed["findings"])
    return verdict


def judge(options):
    with Hogs(options.load):
        verdicts = []
        for row in options.rows:
            verdict = judge_row(row, options)
            if not verdicts:
                print(f"{'program':24}{'top1':>5}{'top3':>5}{'named':>6}  {'type':20}{'predicted %':>14}{'measured':>9}  findings")
            print(verdict_line(verdict), flush=True)
            verdicts.append(verdict)
            if len(verdicts) == min(PROBE, len(options.rows)) and not any(verdict.judged for verdict in verdicts):
                raise Missing(f"this build's `inferscope analyze` makes no diagnosis of such programs yet: no finding, no bottleneck "
                              f"(\"{verdict.reason}\") for {len(verdicts)} of {len(verdicts)}")
    print("\n".join(summary(verdicts)))
    right = all(v.top3 if not v.row.healthy else v.judged and not v.kinds for v in verdicts)
    return 0 if right else WRONG


class Hogs:
    """Other load on purpose: processes that only compute, while this context lasts."""

    def __init__(self, count):
        self.count, self.processes = count, []

    def __enter__(self):
        code = "import os\nparent = os.getppid()\nwhile os.getppid() == parent:\n\tsum(range(100000))"
        self.processes = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(self.count)]

    def __exit__(self, *problem):
        for process in self.processes:
            process.kill()
            process.wait()


# ---- The programs themselves ------------------------------------------------

def leftovers(folder):
    return sorted(str(path.relative_to(folder)) for path in Path(folder).rglob("*"))


def in_folder(folder):
    """An environment in which temporary files go there, where they can be counted."""
    return dict(os.environ, TMPDIR=folder)


def gone(group):
    """Whether nobody of a process group is left after two seconds; nobody is in any case after that."""
    for _ in range(20):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.1)
    os.killpg(group, signal.SIGKILL)
    return False


def check_terminates(row, options, folder):
    """SIGTERM in the middle: the status says so, within 5 s, and neither files nor children are left."""
    process = subprocess.Popen(bare(row, False, options, 20), env=in_folder(folder), stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True)
    time.sleep(2.5)
    process.terminate()
    try:
        _, errors = process.communicate(timeout=10)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return ["still there 10 s after SIGTERM"]
    clean = (128 + signal.SIGTERM, -signal.SIGTERM) if row.example else (128 + signal.SIGTERM,)  # an example has nothing to tidy up
    problems = [] if process.returncode in clean else [f"status {process.returncode} after SIGTERM"]
    # A DataLoader's worker may say that its reader hung up: that is multiprocessing's own, and no harm.
    if "Traceback" in errors and "resource_sharer" not in errors:
        problems.append(f"says after SIGTERM: {errors[-200:]}")
    if not gone(process.pid):
        problems.append("leaves children behind after SIGTERM")
    return problems + [f"leaves {name} after SIGTERM" for name in leftovers(folder)]


def check_row(row, options):
    problems = []
    with tempfile.TemporaryDirectory(prefix="zoo-") as folder:
        results = {fixed: timed(bare(row, fixed, options), in_folder(folder)) for fixed in (False, True)}
        problems += [f"leaves {name}" for name in leftovers(folder)]
        if results[False].checksum != results[True].checksum:
            problems.append("slow and fixed give different results")
    with tempfile.TemporaryDirectory(prefix="zoo-") as folder:
        for fixed in (False, True):
            recorded = record(row, fixed, options, f"{folder}/trace.sbt")
            if recorded.checksum != results[fixed].checksum:
                problems.append(f"another result when recorded{', fixed' * fixed}")
    if row.name != "healthy_import":  # is over before a signal could come
        with tempfile.TemporaryDirectory(prefix="zoo-") as folder:
            problems += check_terminates(row, options, folder)
    return problems


def check(options):
    build_folder(options)
    wrong = 0
    for row in options.rows:
        try:
            problems = check_row(row, options)
        except Broken as problem:
            problems = [str(problem)]
        wrong += bool(problems)
        print(f"{row.name:24}{'; '.join(problems) or 'ok'}", flush=True)
    print(f"{len(options.rows) - wrong} passed, {wrong} failed")
    return WRONG if wrong else 0


def list_rows(options):
    for row in options.rows:
        print(f"{row.name:24}{', '.join(row.kinds) or 'healthy'}")
    return 0


# ---- Options ----------------------------------------------------------------

def select(options):
    known = {path.stem for path in PROGRAMS.glob("*.py")} - {"harness"}
    described = {row.name for row in ROWS if not row.example}
    if known != described:
        raise Broken(f"programs and table.py differ in {sorted(known ^ described)}")
    rows = [row for row in ROWS if row.fast or not options.fast]
    if options.names:
        rows = [row for row in rows if any(fnmatch.fnmatch(row.name, name) for name in options.names)]
    if not rows:
        raise Broken(f"no program is called {' or '.join(options.names)}")
    return rows if options.action == "list" else present(rows, options)


def present(rows, options):
    """Those that can be run here; the others are named."""
    lacking = {row: missing(row, options) for row in rows}
    for row, what in lacking.items():
        if what:
            print(f"{row.name:24}skipped: there is no {what}", flush=True)
    if all(lacking.values()):
        raise Missing("none of these programs can be run here")
    return [row for row in rows if not lacking[row]]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("action", choices=("measure", "judge", "check", "list"))
    parser.add_argument("names", nargs="*", metavar="NAME", help="programs, or patterns; all of them unless given")
    parser.add_argument("--fast", action="store_true", help="the suite's selection only")
    parser.add_argument("--build", default=str(ROOT / "build"), help="folder with inferscope in it; build unless given")
    parser.add_argument("--pairs", type=int, default=3, help="of slow and fixed to measure; judge: 0 measures no gain")
    parser.add_argument("--seconds", type=float, help="how long a slow form's steps should take; 2 or so unless given")
    parser.add_argument("--patience", type=float, default=10, help="seconds to wait for a quiet machine before each pair")
    parser.add_argument("--slow-only", action="store_true", help="judge: leave the fixed forms out")
    parser.add_argument("--load", type=int, default=0, help="judge: processes that compute meanwhile")
    options = parser.parse_intermixed_args()
    actions = {"measure": measure, "judge": judge, "check": check, "list": list_rows}
    try:
        options.rows = select(options)
        return actions[options.action](options)
    except Broken as problem:
        print(f"zoo: {problem}", file=sys.stderr)
        return WRONG
    except Missing as problem:
        print(f"zoo: {problem}", file=sys.stderr)
        return MISSING


if __name__ == "__main__":
    sys.exit(main())
