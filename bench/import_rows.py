"""The rows about traces of other tools: how long it takes to open and analyse one, and how much memory.

They need real traces, which are not part of the project: the folder ../shared/data beside it, or the one that
INFERSCOPE_BENCH_TRACES names, with kineto/h100-owlv2.json.gz and so on.
"""

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from measure import PROCESS_PAIRS, Skip, row

ROOT = Path(__file__).resolve().parent.parent
HTA = ROOT / ".venv" / "hta" / "bin" / "python"
PEER = ROOT / "bench" / "python" / "hta_breakdown.py"
PEAK = ROOT / "bench" / "python" / "peak.py"
PEER_ROUNDS = 5
SCALE_ROUNDS = 3
MB = 1e6


def trace(name):
    folder = Path(os.environ.get("INFERSCOPE_BENCH_TRACES") or ROOT.parent / "shared" / "data")
    path = folder / name
    if not path.exists():
        raise Skip(f"{name} is not in {folder.name}/; INFERSCOPE_BENCH_TRACES names the folder that has it")
    return path


def unpacked(bench, name):
    path = bench.scratch / Path(name).name.removesuffix(".gz")
    if not path.exists():
        with gzip.open(trace(name)) as packed, path.open("wb") as plain:
            shutil.copyfileobj(packed, plain, 1 << 20)
    return path


def timed(*command, core="all"):
    """Seconds and peak memory in MB of a command that must succeed."""
    done = subprocess.run([sys.executable, "-S", "-E", PEAK, str(core), *map(str, command)], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        sys.exit(f"bench: {' '.join(map(str, command))}: status {done.returncode}\n{done.stderr}")
    figures = json.loads(done.stdout)
    return figures["seconds"], figures["peak"] / MB


def analyze(bench, path, **options):
    return timed(bench.inferscope, "analyze", path, "--format", "json", "--output", os.devnull, **options)


def json_load(path):
    """CPython reads the document; what it takes to start an interpreter is not counted."""
    code = ("import gzip, json, sys, time; start = time.perf_counter(); json.load(gzip.open(sys.argv[1])); "
            "print(time.perf_counter() - start)")
    return float(subprocess.check_output([sys.executable, "-c", code, str(path)]))


def hta_breakdown(path):
    """HTA loads the trace and breaks its time down, without the time that Python takes to import HTA."""
    if not HTA.exists():
        raise Skip("HolisticTraceAnalysis is not installed; make bench does that")
    done = subprocess.run([HTA, PEER, path], capture_output=True, text=True, check=True)
    return float(re.search(r"^seconds ([\d.]+)$", done.stdout, re.MULTILINE)[1])


def analyze_owlv2(bench):
    path = trace("kineto/h100-owlv2.json.gz")
    analyze(bench, path)
    ours, loads, theirs = [], [], []
    for turn in range(PROCESS_PAIRS):
        ours.append(analyze(bench, path)[0])
        loads.append(json_load(path))
        if turn < PEER_ROUNDS:
            theirs.append(hta_breakdown(path))
    yield row("analyze_owlv2", "s", ours[:PEER_ROUNDS], 1 / 15, "HTA 0.5.0, load + breakdown", theirs, "ratio")
    yield row("analyze_owlv2", "s", ours, 1 / 4, "CPython json.load", loads, "ratio")


def analyze_mtia(bench):
    path = trace("kineto/mtia-87mb.json.gz")
    size = unpacked(bench, "kineto/mtia-87mb.json.gz").stat().st_size / MB
    runs = [analyze(bench, path) for _ in range(5)]
    yield row("analyze_mtia", "MB", [peak for _, peak in runs], 1.0, "the JSON itself", [size] * len(runs), "ratio")
    yield row("analyze_mtia_time", "s", [seconds for seconds, _ in runs], None)


def json_import(bench):
    """One core, uncompressed, everything kept."""
    for label, name in (("mtia", "kineto/mtia-87mb.json.gz"), ("owlv2", "kineto/h100-owlv2.json.gz")):
        path, output = unpacked(bench, name), bench.scratch / "imported.sbt"
        size = path.stat().st_size / MB
        runs = []
        for _ in range(PROCESS_PAIRS):
            runs.append(timed(bench.inferscope, "import", path, "-o", output, core=0))
            output.unlink()
        yield row(f"json_import_{label}", "MB/s", [size / seconds for seconds, _ in runs], 300, good=">=")
        yield row(f"json_import_{label}_peak", "MB", [peak for _, peak in runs], 64)


# ---- Many times the same ----------------------------------------------------

def replicate(source, target, times):
    """The trace `times` times over, one after the other, with ids that do not meet."""
    with gzip.open(source) as file:
        document = json.load(file)
    events = [e for e in document["traceEvents"] if e.get("ph") != "M"]
    names = [e for e in document["traceEvents"] if e.get("ph") == "M"]
    starts = [float(e["ts"]) for e in events if "ts" in e and e.get("ph") == "X"]
    ends = [float(e["ts"]) + float(e.get("dur", 0)) for e in events if e.get("ph") == "X"]
    span = max(ends) - min(starts) + 1000
    ids = 1 + max(int(e.get("args", {}).get(key, 0)) for e in events for key in ("correlation", "External id"))
    head = {key: value for key, value in document.items() if key != "traceEvents"}
    with target.open("w") as out:
        out.write(json.dumps(head)[:-1] + ', "traceEvents": [\n' + ",\n".join(json.dumps(e) for e in names))
        for turn in range(times):
            for e in events:
                copy = dict(e)
                if "ts" in copy:
                    copy["ts"] = round(float(copy["ts"]) + turn * span, 3)
                if "id" in copy:
                    copy["id"] = int(copy["id"]) + turn * ids
                args = copy.get("args")
                if args:
                    copy["args"] = {key: value + turn * ids if key in ("correlation", "External id") and value else value
                                    for key, value in args.items()}
                out.write(",\n" + json.dumps(copy))
        out.write("\n]}\n")


def scale(bench):
    """10 and 100 times the events: time and memory grow as much, from one to the other."""
    source = trace("kineto/h100-qwen1.5-0.5b-chat.json.gz")
    figures = {}
    for times in (10, 100):
        path = bench.scratch / f"scale-{times}.json"
        replicate(source, path, times)
        figures[times] = [analyze(bench, path) for _ in range(SCALE_ROUNDS)]
        path.unlink()
    seconds, peaks = ({times: [run[which] for run in runs] for times, runs in figures.items()} for which in (0, 1))
    yield row("scale_time", "s", seconds[100], 1.2, "10 times what a tenth takes", [10 * s for s in seconds[10]], "ratio")
    yield row("scale_memory", "MB", peaks[100], 1.2, "10 times what a tenth takes", [10 * p for p in peaks[10]], "ratio")


MEASUREMENTS = {
    "analyze_owlv2": analyze_owlv2,
    "analyze_mtia": analyze_mtia,
    "json_import": json_import,
    "scale": scale,
}
