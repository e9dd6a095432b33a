"""The rows about the report page: what it weighs, how long it takes to write it, and how it is to open and move in it.

The trace is the made-up one of the page's tests: 1,001,092 slices.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from import_rows import MB, analyze, timed
from measure import Skip, row

ROOT = Path(__file__).resolve().parent.parent
ROUNDS = 7
BROWSER_ROUNDS = 5
MODULES = ROOT / ".venv" / "web" / "node_modules"


def made(bench):
    trace = bench.scratch / "million.sbt"
    subprocess.run([sys.executable, ROOT / "tests" / "web" / "make_traces.py", bench.scratch, "million"], check=True)
    json = bench.scratch / "million.json"
    timed(bench.inferscope, "import", json, "-o", trace)
    json.unlink()
    return trace


def report_page(bench):
    trace, page = made(bench), bench.scratch / "million.html"
    ours, others = [], []
    for _ in range(ROUNDS):
        ours.append(timed(bench.inferscope, "analyze", trace, "--format", "html", "--output", page))
        others.append(analyze(bench, trace))
    extra = [mine[0] - other[0] for mine, other in zip(ours, others)]
    yield row("page_size", "MB", [page.stat().st_size / MB], 4.9, "the trace itself", [trace.stat().st_size / MB])
    yield row("page_write", "s", extra, 0.5, "the analysis without it", [seconds for seconds, _ in others])
    yield row("page_write_peak", "MB", [peak for _, peak in ours], None, "the analysis without it", [peak for _, peak in others])

    if not MODULES.exists() or not shutil.which("node"):
        raise Skip("node or what it needs is not installed; make bench does that")
    if not (os.environ.get("CHROMIUM") or shutil.which("chromium")):
        raise Skip("Chromium is not installed")
    seen = bench.run("node", ROOT / "bench" / "page.mjs", page, BROWSER_ROUNDS)
    yield row("page_first_paint", "ms", seen["paint"], 500, "the same bytes without code", seen["bare_paint"])
    yield row("page_ready", "ms", seen["ready"], 1500, "inflating its streams", seen["inflate"])
    yield row("page_heap", "MB", [heap / MB for heap in seen["heap"]], 120)
    for name, bar in (("whole", 33), ("tenth", 16), ("step", 10)):
        yield row(f"page_frame_{name}", "ms", seen[f"frame_{name}"], bar, "10,000 rectangles", seen["rectangles"])


MEASUREMENTS = {"report_page": report_page}
