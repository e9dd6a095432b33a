#!/usr/bin/env python3
"""Measures InferScope against its peers: `make bench`.

    bench/run.py BUILD [--output bench.json] [--only NAME[,NAME...]]

BUILD is a build folder configured with -Dbench=enabled.  Prints a table, and writes the same as JSON: a list of
{name, ours, unit, peer, peer_value, ratio, low, high} and what it is held against, {bar, bar_on, met}.  low and high are a
95 % interval of what the bar is on, the ratio or our figure.  A bar is met when the median is on its good side.  A row without
a bar is there to be read beside its neighbour.

Ends with status 1 when a bar is missed and 4 when something could not be measured.  bench/README.md says what each row
means.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
from pathlib import Path

import export_rows
import import_rows
import lttng
import monitor_rows
import opencl_rows
import page_rows
import python_rows
import query_rows
import sampling_rows
import session_rows
from measure import PAIRS, PROCESS_PAIRS, Bench, Skip, row

BURSTS = 5           # measured by each process, where each side is one
LARGE_TRACE_MB = 1024


UNSEEN = {**os.environ, "INFERSCOPE_WAITS": "off"}  # what is seen of threads would be among the events that are counted


# ---- The rows ---------------------------------------------------------------

def event_floor(bench):
    result, _ = bench.record(bench.program("bench-event"), "floor", PAIRS, env=UNSEEN)
    yield row("event_enabled", "ns", result["ours"], 1.3, "clock read + 32-byte store", result["peer"], "ratio")


def event_lttng(bench):
    """Processes in turn: ours under its recorder, LTTng's in its session."""
    reason = lttng.missing()
    if reason:
        raise Skip(reason)
    ours, theirs, events, program = [], [], 0, bench.program("bench-lttng")
    try:
        with lttng.Session(bench.scratch) as session:
            for _ in range(PROCESS_PAIRS):
                ours.append(statistics.median(bench.record(bench.program("bench-event"), "bursts", BURSTS, env=UNSEEN)[0]["ours"]))
                result = bench.run(program, BURSTS, env=session.env)
                theirs.append(statistics.median(result["peer"]))
                events += result["events"]
    except lttng.Unavailable as error:
        raise Skip(str(error)) from error
    if session.discarded:
        raise Skip(f"LTTng discarded {session.discarded} of {events} events, so its cost is not known")
    bench.lttng_bytes = session.trace_bytes / events
    yield row("event_enabled", "ns", ours, 0.2, "LTTng-UST", theirs, "ratio")


def event_disabled(bench):
    env = {key: value for key, value in os.environ.items() if not key.startswith("INFERSCOPE_")}
    result = bench.run(bench.program("bench-event"), "disabled", PAIRS, env=env)
    yield row("event_disabled", "ns", [a - b for a, b in zip(result["ours"], result["peer"])], 1)


def two_threads(bench):
    result, _ = bench.record(bench.program("bench-event"), "threads", PAIRS, env=UNSEEN)
    yield row("two_threads", "ns", result["ours"], 1.1, "one thread", result["peer"], "ratio")


def drain(bench):
    trace = bench.scratch / "drain.sbt"
    result = bench.run(bench.program("bench-drain"), trace, PAIRS)
    trace.unlink()
    rates, rows = ([rate / 1e6 for rate in result[side]] for side in ("ours", "peer"))
    yield row("drain", "M/s", rates, 20, "zstd 1 over rows", rows, good=">=")
    yield row("bytes_per_event_made_up", "bytes", result["bytes"], 5, "zstd 1 over rows", result["peer_bytes"])


def bytes_per_event(bench):
    sizes = []
    for _ in range(5):
        _, info = bench.record(bench.build / "examples" / "infer", "where the time goes", 128)
        sizes.append(info["size_bytes"] / info["events"])
    peer = bench.lttng_bytes
    yield row("bytes_per_event", "bytes", sizes, 5, "LTTng-UST" if peer else None, [peer] if peer else None)


def encode_and_read(bench):
    trace = bench.scratch / "encode.sbt"
    program = bench.program("bench-trace")
    written = bench.run(program, "encode", trace, PAIRS)["ours"]
    read = bench.run(program, "read", trace, PAIRS)["ours"]
    trace.unlink()
    yield row("encode", "M/s", [rate / 1e6 for rate in written], 20, good=">=")
    yield row("read", "M/s", [rate / 1e6 for rate in read], 50, good=">=")


def window(bench):
    trace = bench.scratch / "large.sbt"
    program = bench.program("bench-trace")
    bench.run(program, "make", trace, LARGE_TRACE_MB)
    values = bench.run(program, "window", trace, PAIRS)["ours"]
    trace.unlink()
    yield row("window", "ms", values, 50)


MEASUREMENTS = {
    "event_floor": event_floor,
    "event_lttng": event_lttng,
    "event_disabled": event_disabled,
    "two_threads": two_threads,
    "drain": drain,
    "bytes_per_event": bytes_per_event,
    "read": encode_and_read,
    "window": window,
    **import_rows.MEASUREMENTS,
    **python_rows.MEASUREMENTS,
    **page_rows.MEASUREMENTS,
    **sampling_rows.MEASUREMENTS,
    **monitor_rows.MEASUREMENTS,
    **session_rows.MEASUREMENTS,
    **opencl_rows.MEASUREMENTS,
    **query_rows.MEASUREMENTS,
    **export_rows.MEASUREMENTS,
}


# ---- What is printed --------------------------------------------------------

TABLE = "{:24} {:>9} {:5} {:29} {:>9} {:>6}  {:>17}  {:>7}  {}"


def number(value):
    return "" if value is None else f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"


def print_row(r):
    verdict = "" if r["bar"] is None else f"{'met' if r['met'] else 'MISSED'} ({r['bar_on']})"
    print(TABLE.format(r["name"], number(r["ours"]), r["unit"], r["peer"] or "", number(r["peer_value"]), number(r["ratio"]),
                       f"{number(r['low'])} - {number(r['high'])}", r["bar"] or "", verdict).rstrip(), flush=True)


def main():
    parser = argparse.ArgumentParser(description="Measures InferScope against its peers.")
    parser.add_argument("build", help="build folder, configured with -Dbench=enabled")
    parser.add_argument("--output", help="where the JSON goes")
    parser.add_argument("--only", default=",".join(MEASUREMENTS), help=f"some of: {', '.join(MEASUREMENTS)}")
    options = parser.parse_args()
    names = options.only.split(",")
    unknown = [name for name in names if name not in MEASUREMENTS]
    if unknown:
        parser.error(f"no measurement {unknown[0]}; there are: {', '.join(MEASUREMENTS)}")

    rows, skipped = [], 0
    print(TABLE.format("name", "ours", "unit", "peer", "peer's", "ratio", "95 % interval", "bar", ""))
    with tempfile.TemporaryDirectory(prefix="bench-", dir=options.build) as scratch:
        bench = Bench(options.build, scratch)
        for name in names:
            try:
                for result in MEASUREMENTS[name](bench):
                    rows.append(result)
                    print_row(result)
            except Skip as reason:
                skipped += 1
                print(f"{name:24} not measured: {reason}", flush=True)
    if options.output:
        Path(options.output).write_text(json.dumps(rows, indent=1) + "\n")
    sys.exit(4 if skipped else 0 if all(r["met"] is not False for r in rows) else 1)


if __name__ == "__main__":
    main()
