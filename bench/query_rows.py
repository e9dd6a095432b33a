"""The rows about `inferscope query`: a question to all slices of a trace, and one to a moment of a large one.

Both are whole commands, which open the file and read what they need; the traces are made up (bench-trace).
"""

import json
import os
import subprocess

from import_rows import timed
from measure import PROCESS_PAIRS, row

SCAN_MB = 24         # some more than five million slices
WINDOW_MB = 1024
WINDOW_NS = 10_000_000
SCAN = "SELECT name, count(*), sum(dur) FROM slices GROUP BY name ORDER BY 3 DESC LIMIT 10"


def make(bench, megabytes):
    path = bench.scratch / f"query-{megabytes}.sbt"
    bench.run(bench.program("bench-trace"), "make", path, megabytes)
    return path


def ask(bench, path, sql):
    return json.loads(subprocess.check_output([bench.inferscope, "query", "--format", "json", path, sql]))


def seconds(bench, path, sql):
    return timed(bench.inferscope, "query", "--format", "csv", "-o", os.devnull, path, sql, core=0)[0]


def query_scan(bench):
    """Million slices a second, on one core."""
    path = make(bench, SCAN_MB)
    slices = ask(bench, path, "SELECT count(*) AS n FROM slices")[0]["n"]
    yield row("query_scan", "M/s", [slices / 1e6 / seconds(bench, path, SCAN) for _ in range(PROCESS_PAIRS)], 2, good=">=")
    path.unlink()


def query_window(bench):
    """Every slice that begins in ten milliseconds in the middle of a gigabyte."""
    path = make(bench, WINDOW_MB)
    info = json.loads(subprocess.check_output([bench.inferscope, "info", "--format", "json", path]))
    begin = int(info["duration_us"] * 1000) // 2
    sql = f"SELECT name, ts, dur, depth FROM slices WHERE ts BETWEEN {begin} AND {begin + WINDOW_NS}"
    yield row("query_window", "ms", [1000 * seconds(bench, path, sql) for _ in range(PROCESS_PAIRS)], 100)
    path.unlink()


MEASUREMENTS = {"query_scan": query_scan, "query_window": query_window}
