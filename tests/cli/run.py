#!/usr/bin/env python3
"""Runs commands as people type them and compares what they print.

    INFERSCOPE=build/inferscope tests/cli/run.py [--bless] [PATTERN...]

A case is a file tests/cli/cases/NAME.case of sections:

    # what this is about
    --- skip unless          (optional) a shell command; the case is skipped, by name, when it fails
    --- command              a shell script, run with `sh` in an empty scratch folder
    --- exit                 its exit status
    --- stdout               what it prints, after normalising (see NORMALISERS)
    --- stderr

--bless writes what was printed into the cases; look at the difference before you commit it.
The last line is "N passed, M failed", with ", K skipped" when there are any.
"""

import argparse
import difflib
import fnmatch
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

CASES = Path(__file__).resolve().parent / "cases"
TIMEOUT = 60
SECTIONS = ("skip unless", "command", "exit", "stdout", "stderr")

# What differs from run to run and from machine to machine, and what is written in its place.
NORMALISERS = [
    (r"\binferscope \d+\.\d+\.\d+", "inferscope VERSION"),
    (r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z", "DATE"),
    (r"\b0x[0-9a-f]+\b", "ADDRESS"),
    (r"\bat byte \d+", "at byte N"),
    (r"\b(pid|thread|recorder was) \d+ *", r"\1 N "),
    (r'"((?:parent_)?process_id|thread_id|cpu_id|recorder_process_id)": \d+', r'"\1": N'),
    (r'"([a-z]+_us)": -?\d+\.\d+', r'"\1": T'),
    (r" *\b\d+(?:\.\d+)? (?:ns|us|ms|s)\b", " TIME"),
    (r"\b[\d,]+ bytes\b", "SIZE bytes"),
    (r"\b\d+(?:\.\d+)? bytes an event", "SIZE bytes an event"),
    (r"\b\d+\.\d+ an event", "SIZE an event"),
    (r"\b\d+(?:\.\d+)? [kMG]B\b", "SIZE"),
    (r'"(size_bytes|bytes_per_event|rate_hz)": [\d.]+', r'"\1": N'),
]


class Case:
    def __init__(self, path):
        self.path = path
        self.name = path.stem
        self.comment, self.sections = parse(path.read_text())

    def write(self):
        text = self.comment
        for name in SECTIONS:
            if name in self.sections and (self.sections[name] or name not in ("stdout", "stderr")):
                text += f"--- {name}\n{self.sections[name]}"
        self.path.write_text(text)


def parse(text):
    """The comment at the top, and the sections by name."""
    comment, sections, current = "", {}, None
    for line in text.splitlines(keepends=True):
        name = line[4:].strip()
        if line.startswith("--- ") and name in SECTIONS:
            current = name
            sections[current] = ""
        elif current is None:
            comment += line
        else:
            sections[current] += line
    return comment, sections


def normalise(text, scratch):
    text = text.replace(scratch, "SCRATCH")
    for pattern, replacement in NORMALISERS:
        text = re.sub(pattern, replacement, text)
    return text


def environment(scratch, binary):
    """What a fresh login has, and nothing of ours."""
    kept = {name: value for name, value in os.environ.items()
            if name in ("PATH", "LD_LIBRARY_PATH", "INFERSCOPE_BUILD") or name.endswith("SAN_OPTIONS")}
    bin_folder = Path(scratch) / "bin"
    bin_folder.mkdir()
    (bin_folder / "inferscope").symlink_to(binary)
    return {**kept, "PATH": f"{bin_folder}:{kept.get('PATH', '/usr/bin:/bin')}", "HOME": f"{scratch}/home",
            "LC_ALL": "C.UTF-8", "TZ": "UTC", "NO_COLOR": "1", "TERM": "dumb"}


def shell(script, scratch, env):
    """What a script did.  It is a group of processes of its own, so that nothing of it outlives a timeout."""
    process = subprocess.Popen(["sh", "-c", script], cwd=f"{scratch}/here", env=env, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    try:
        stdout, stderr = process.communicate(timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise
    decode = lambda raw: normalise(raw.decode("utf-8", "backslashreplace"), scratch)
    return {"exit": f"{process.returncode}\n", "stdout": decode(stdout), "stderr": decode(stderr)}


def run(case, binary):
    """What the case prints, or None when it is to be skipped."""
    scratch = os.path.realpath(tempfile.mkdtemp(prefix="inferscope-cli-"))
    try:
        for folder in ("home", "here"):
            os.mkdir(f"{scratch}/{folder}", 0o755)
        env = environment(scratch, binary)
        condition = case.sections.get("skip unless")
        if condition and shell(condition, scratch, env)["exit"] != "0\n":
            return None
        return shell(case.sections["command"], scratch, env)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def differences(case, actual):
    for name in ("exit", "stdout", "stderr"):
        expected = case.sections.get(name, "")
        if expected != actual[name]:
            yield from difflib.unified_diff(expected.splitlines(), actual[name].splitlines(),
                                            f"{case.name} {name}, expected", "what it printed", lineterm="")


def check(case, binary, bless):
    """passed, failed or skipped."""
    try:
        actual = run(case, binary)
    except subprocess.TimeoutExpired:
        print(f"FAILED {case.name}: no end after {TIMEOUT} s")
        return "failed"
    if actual is None:
        print(f"skipped {case.name}: {case.sections['skip unless'].strip()}")
        return "skipped"
    difference = list(differences(case, actual))
    if difference and bless:
        case.sections.update(actual)
        case.write()
        print(f"blessed {case.name}")
    elif difference:
        print(f"FAILED {case.name}", *difference, sep="\n")
        return "failed"
    return "passed"


def main():
    parser = argparse.ArgumentParser(description="Runs the cases in tests/cli/cases.")
    parser.add_argument("--bless", action="store_true", help="write what was printed into the cases")
    parser.add_argument("pattern", nargs="*", help="only cases whose names match")
    options = parser.parse_args()
    binary = Path(os.environ.get("INFERSCOPE", "build/inferscope")).resolve()
    if not os.access(binary, os.X_OK):
        sys.exit(f"there is no {binary}; set INFERSCOPE to the program to test")
    os.umask(0o022)
    outcomes = [check(Case(path), binary, options.bless) for path in sorted(CASES.glob("*.case"))
                if not options.pattern or any(fnmatch.fnmatch(path.stem, p) for p in options.pattern)]
    passed, failed, skipped = (outcomes.count(word) for word in ("passed", "failed", "skipped"))
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return failed > 0 or not outcomes


if __name__ == "__main__":
    sys.exit(main())
