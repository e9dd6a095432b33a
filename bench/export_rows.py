"""The rows about exports: how fast a trace is written for other tools, and how much memory that takes.

They need the same real traces as import_rows.py.
"""

import os
import sys

from import_rows import MB, replicate, timed, trace, unpacked
from measure import PROCESS_PAIRS, row


def imported(bench, path, name):
    target = bench.scratch / f"{name}.sbt"
    timed(bench.inferscope, "import", path, "-o", target)
    return target


def export(bench, source, form, output=os.devnull, **options):
    return timed(bench.inferscope, "export", "--findings", "off", "--format", form, "-o", output, source, **options)


def export_chrome(bench):
    """One core, uncompressed, as the trace is read: MB of JSON a second; and the memory, in which the file itself is mapped."""
    for label, name in (("mtia", "kineto/mtia-87mb.json.gz"), ("owlv2", "kineto/h100-owlv2.json.gz")):
        source, output = imported(bench, unpacked(bench, name), label), bench.scratch / "export.json"
        export(bench, source, "chrome", output)
        size = output.stat().st_size / MB
        output.unlink()
        runs = [export(bench, source, "chrome", core=0) for _ in range(PROCESS_PAIRS)]
        yield row(f"export_chrome_{label}", "MB/s", [size / seconds for seconds, _ in runs], 300, good=">=")
    path = bench.scratch / "export-long.json"
    replicate(trace("kineto/h100-qwen1.5-0.5b-chat.json.gz"), path, 30)
    source = imported(bench, path, "export-long")
    path.unlink()
    mapped = source.stat().st_size / MB
    yield row("export_chrome_memory", "MB", [export(bench, source, "chrome")[1] - mapped for _ in range(3)], 24)


# ---- Perfetto ---------------------------------------------------------------

CALLS = """
import sys
def leaf(x): return x + 1
def twice(x): return leaf(x) + leaf(x)
def four(x): return twice(x) + twice(x)
for i in range(int(sys.argv[1])): four(i)
"""
CALLS_EACH = 7  # slices, a turn


def recorded(bench, slices):
    program, target = bench.scratch / "calls.py", bench.scratch / f"calls-{slices}.sbt"
    program.write_text(CALLS)
    timed(bench.inferscope, "run", "--report", "none", "--trace", target, "--", sys.executable, program, slices // CALLS_EACH)
    return target


def export_perfetto(bench):
    """One core, compressed: slices of a recording a second; the size beside Chrome's JSON; the memory of ten times the length."""
    slices = 5_000_000
    source, short = recorded(bench, slices), recorded(bench, slices // 10)
    sizes = {}
    for form in ("perfetto", "chrome"):
        output = bench.scratch / f"export.{form}"
        export(bench, source, form, output)
        sizes[form] = output.stat().st_size / MB
        output.unlink()
    runs = [export(bench, source, "perfetto", core=0) for _ in range(PROCESS_PAIRS)]
    shorts = [export(bench, short, "perfetto", core=0) for _ in range(PROCESS_PAIRS)]
    yield row("export_perfetto", "million slices/s", [slices / seconds / 1e6 for seconds, _ in runs], 5, good=">=")
    yield row("export_perfetto_size", "MB", [sizes["perfetto"]], 0.1, "Chrome's JSON", [sizes["chrome"]], "ratio")
    yield row("export_perfetto_memory", "MB", [peak - source.stat().st_size / MB for _, peak in runs], 1.2, "a tenth of the length",
              [peak - short.stat().st_size / MB for _, peak in shorts], "ratio")


MEASUREMENTS = {
    "export_chrome": export_chrome,
    "export_perfetto": export_perfetto,
}
