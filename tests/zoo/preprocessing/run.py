#!/usr/bin/env python3
"""Judges PreprocessingProfiler by functions whose bottleneck is known.

    tests/zoo/preprocessing/run.py [--build DIR] [NAME...]

Each function is profiled in a process of its own.  Then the first suggestion of the kind that its row names is followed there:
by timing of this file's own, pairs in turn, whether the gain lies in the interval that was stated.
Ends with 0 when all is as expected.
"""

import argparse
import fnmatch
import json
import os
import statistics
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent.parent
PAIRS = 9
SHOWN = ("execution_time", "interval", "parts", "gil_share", "instructions_per_element", "scaling", "memory_touched_mb", "evidence",
         "notes", "input_mb", "output_mb", "page_faults")


def queued():
    """Seconds that this thread has been ready without a processor."""
    return int(Path("/proc/thread-self/schedstat").read_text().split()[1]) / 1e9


def seconds_of(function, alone=True):
    """`alone`: what others took of the processor is left out, as in what is stated; of several threads it is not."""
    waited, begin = queued(), time.perf_counter()
    function()
    seconds = time.perf_counter() - begin
    return max(seconds - (queued() - waited), 1e-7) if alone else seconds


def gain_of(before, after, alone=True):
    """The median over pairs; calls are repeated until a side takes 5 ms."""
    counts = [max(1, int(5e-3 / max(min(seconds_of(one) for _ in range(3)), 1e-6))) for one in (before, after)]

    def turn(function, count):
        return seconds_of(lambda: [function() for _ in range(count)], alone) / count

    pairs = [(turn(before, counts[0]), turn(after, counts[1])) for _ in range(PAIRS)]
    return statistics.median(1 - new / old for old, new in pairs)


def in_pieces(function, sample, rows):
    whole = function(sample)
    whole = whole.new_empty(whole.shape) if hasattr(whole, "new_empty") else whole.copy()

    def run():
        target = whole.new_empty(whole.shape) if hasattr(whole, "new_empty") else type(whole)(whole.shape, whole.dtype)
        for begin in range(0, len(sample), rows):
            target[begin:begin + rows] = function(sample[begin:begin + rows])
        return target
    return run


def followed(row, suggestion, sample, profiler):
    """The gain of what was suggested."""
    function, parameter = row.function, suggestion.parameter
    if row.fixed is not None and not suggestion.measured:
        return gain_of(lambda: function(sample), lambda: row.fixed(sample))
    if suggestion.kind == "cache":
        cached = profiler.cached(function)
        cached(sample)
        return gain_of(lambda: function(sample), lambda: cached(sample))
    if suggestion.kind == "chunks":
        return gain_of(lambda: function(sample), in_pieces(function, sample, parameter))
    if suggestion.kind == "threads":
        with ThreadPoolExecutor(parameter) as pool:
            items = [sample] * (4 * parameter)
            return gain_of(lambda: list(map(function, items)), lambda: list(pool.map(function, items)), alone=False)
    if suggestion.kind == "processes":
        with ProcessPoolExecutor(parameter) as pool:
            items = [sample] * (4 * parameter)
            list(pool.map(function, items))
            return gain_of(lambda: list(map(function, items)), lambda: list(pool.map(function, items)), alone=False)
    if suggestion.kind == "batch":
        import numpy
        import torch
        together = (torch if hasattr(sample, "new_empty") else numpy).stack([sample] * parameter)
        return gain_of(lambda: [function(sample) for _ in range(parameter)], lambda: function(together))
    return None


def judge(row):
    from inferscope.preprocessing import PreprocessingProfiler
    profiler, sample = PreprocessingProfiler(), row.sample()
    begin = time.perf_counter()
    profile = profiler.profile_preprocessing_function(row.function, sample)
    took = time.perf_counter() - begin
    suggestion = profile.suggestion(row.kind) or row.kind == "chunks" and profile.suggestion("memory") or None
    gain = followed(row, suggestion, sample, profiler) if suggestion is not None else None
    return {"profile": profile.to_dict(), "took": took, "gain": gain, "suggestion": suggestion and suggestion.to_dict()}


def row_text(row, result):
    """A line of the table, whether the bottleneck is right, and whether the gain is inside: None when nothing was followed."""
    profile, suggestion, gain = result["profile"], result["suggestion"], result["gain"]
    first = (profile["bottlenecks"] or [""])[0]
    right, inside, told = first == row.bottleneck, None, ""
    if suggestion is not None and gain is not None:
        inside = suggestion["low"] <= gain <= suggestion["high"]
        figures = [100 * suggestion[name] for name in ("gain", "low", "high")]
        told = "%s%s %.1f (%.1f to %.1f) | %.1f" % (
            suggestion["kind"], "" if suggestion["measured"] else " (estimated)", *figures, 100 * gain)
    elif row.kind:
        untold = any("cannot be told here" in note for note in profile["notes"])
        told = "%s | " % ("cannot be told here" if untold else "no suggestion")
    line = "| %s | %s | %s | %s | %s | %s | %.1f |" % (
        row.name + (" (held out)" if row.held else ""), row.bottleneck or "none", ", ".join(profile["bottlenecks"]) or "none",
        "yes" if right else "NO", told or " | ", {True: "yes", False: "NO", None: "-"}[inside], result["took"])
    return line, right, inside


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=str(ROOT / "build"))
    parser.add_argument("--one")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--held", action="store_true", help="those that no threshold was set by")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    sys.path.insert(0, os.path.join(options.build, "python"))
    from functions import ROWS
    if options.one:
        print(json.dumps(judge(next(row for row in ROWS if row.name == options.one))))
        return 0
    wanted = [row for row in ROWS if (row.held or not options.held)
              and (not options.names or any(fnmatch.fnmatch(row.name, name) for name in options.names))]
    print("| function | expected | found | right | suggestion: gain % (interval) | followed | inside | s |\n" + "| --- " * 8 + "|")
    right, gains, missing = 0, [], 0
    for row in wanted:
        command = [sys.executable, __file__, "--build", options.build, "--one", row.name]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            print("| %s | failed: %s |" % (row.name, done.stderr[-300:]))
            continue
        result = json.loads(done.stdout.splitlines()[-1])
        line, is_right, is_inside = row_text(row, result)
        print(line, flush=True)
        if options.verbose:
            profile = result["profile"]
            print("   ", {key: profile[key] for key in SHOWN}, *("\n      " + one["text"] for one in profile["suggestions"]))
        right += is_right
        gains += [is_inside] if is_inside is not None else []
        missing += is_inside is None and bool(row.kind)
    print("%d of %d have the right bottleneck first; of %d suggestions that were followed %d gained what was stated; %d could not be"
          " followed" % (right, len(wanted), len(gains), sum(gains), missing))
    return 0 if right == len(wanted) and all(gains) else 1


if __name__ == "__main__":
    sys.exit(main())
