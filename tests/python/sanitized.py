#!/usr/bin/env python3
"""The awkward programs (tests/python/programs) on every Python here, recorded by extensions that were built with sanitizers.

    INFERSCOPE_BUILD=... sanitized.py

A Python that was not built with them needs their libraries loaded first.  What the programs do is not looked at here
(test_transparency.py does that), only whether a sanitizer found anything; the trace is then read back by _engine.
Ends with "N passed, M failed".
"""

import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from interpreters import recorded_pythons
from recording import BUILD, INFERSCOPE, PATIENCE

PROGRAMS = sorted((Path(__file__).resolve().parent / "programs").glob("*.py"))
FOUND = re.compile(r"AddressSanitizer: (?!failed to intercept)|runtime error: ")
READ = "import sys; from inferscope import _engine; _engine.info(sys.argv[1]); _engine.read_events(sys.argv[1])"
# By its own choice a program crashes, and reads beyond an object to do so.
CRASHES = {"faults.py"}


def libraries():
    names = ("libasan.so", "libubsan.so")
    return " ".join(subprocess.check_output(["gcc", f"-print-file-name={name}"], text=True).strip() for name in names)


def environment(python):
    """A free-threaded Python has an allocator of its own, and takes no other."""
    malloc = {} if python.is_free_threaded else {"PYTHONMALLOC": "malloc"}
    clean = {key: value for key, value in os.environ.items() if not key.startswith("INFERSCOPE")}
    return {**clean, **malloc, "LD_PRELOAD": libraries(), "PYTHONPATH": str(BUILD / "python"),
            "ASAN_OPTIONS": "detect_leaks=0:handle_segv=0:handle_abort=0", "UBSAN_OPTIONS": "print_stacktrace=1"}


def said(python, command, folder):
    """All that a command says."""
    done = subprocess.run([str(part) for part in command], cwd=folder, env=environment(python), text=True, errors="replace",
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=PATIENCE, check=False)
    return done.stdout


def check(python, program):
    """What a sanitizer said, or an empty string."""
    with tempfile.TemporaryDirectory() as folder:
        return check_in(folder, python, program)


def check_in(folder, python, program):
    trace = Path(folder) / "trace.sbt"
    options = ["--c-calls"] if len(program.name) % 2 else []
    text = said(python, [INFERSCOPE, "run", "--trace", trace, *options, "--", python.path, program], folder)
    if not re.search(r"inferscope: [\d,]+ events of ", text):
        return f"nothing was recorded:\n{text}"
    text += said(python, [python.path, "-c", READ, trace], folder)
    return text[FOUND.search(text).start():] if FOUND.search(text) else ""


def main():
    tasks = [(python, program) for python in recorded_pythons() for program in PROGRAMS if program.name not in CRASHES]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(lambda task: check(*task), tasks))
    for (python, program), text in zip(tasks, found):
        if text:
            print(f"{python} {program.name}: {text[:3000]}")
    failed = sum(map(bool, found))
    print(f"{len(found) - failed} passed, {failed} failed")
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
