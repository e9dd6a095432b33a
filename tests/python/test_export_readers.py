"""What `inferscope export` writes, read by the tools it is for: speedscope itself in a browser, pprof-format, flamegraph.pl, and the
Firefox Profiler by its own command line."""

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import pytest

from analysis import ROOT, inferscope, shared
from made_trace import Made
from test_export_stacks import export, read_pprof

MODULES = Path(os.environ.get("INFERSCOPE_NODE_MODULES", ROOT / ".venv" / "web" / "node_modules"))
FLAMEGRAPH = os.environ.get("FLAMEGRAPH", "/usr/share/perl5/Devel/NYTProf/flamegraph.pl")  # Debian: libdevel-nytprof-perl
HOSTILE = ["\x1b[31mred", "a\nb", "nul\0byte", "\ud800", "‮txet", "x" * 10_000, "a;b c 7", '"</script>&amp;', " ", "\x7f\x80\u2028\ufeff", "é" * 70]


def node(script, module, path):
    if not shutil.which("node") or not (MODULES / module).is_dir():
        pytest.skip(f"{module} is not here: make .venv/web/.ready")
    done = subprocess.run(["node", ROOT / "tests" / "export" / script, path], capture_output=True, check=False, timeout=120)
    if b"no Chromium here" in done.stderr:
        pytest.skip("no Chromium here")
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    return json.loads(done.stdout)


@pytest.fixture(scope="module", name="made")
def make(tmp_path_factory):
    """outer 0..100 with inner 10..30 and inner 40..60; then all that names may be."""
    made = Made()
    made.op("outer", 0, 100)
    made.op("inner", 10, 20)
    made.op("inner", 40, 20)
    made.kernel("gemm", 12, 50, 70)
    for i, name in enumerate(HOSTILE):
        made.op(name, 1000 + 100 * i, 50)
    return made.save(tmp_path_factory.mktemp("readers") / "made.json")


# ---- pprof ---------------------------------------------------------------------------------

@pytest.mark.parametrize("weight", ["wall", "gpu"])
def test_pprof(made, tmp_path, weight):
    path = tmp_path / "t.pb.gz"
    inferscope("export", made, "--weight", weight, "-o", path)
    read = node("read_pprof.js", "pprof-format", path)
    assert read["types"] == [[weight, "nanoseconds"], ["slices", "count"]]
    found = Counter({(sample["thread"], tuple(sample["stack"])): sample["values"][0] for sample in read["samples"]})
    assert found == read_pprof(path.read_bytes())
    times = {stack: ns for (_, stack), ns in found.items()}
    if weight == "gpu":
        assert times == {("outer", "inner", "cudaLaunchKernel", "gemm"): 70_000}
    else:
        assert times["outer",] == 60_000 and times["outer", "inner"] == 38_000 and len(times) == 3 + len(HOSTILE)


def test_pprof_of_a_real_trace(tmp_path):
    path = tmp_path / "t.pb.gz"
    inferscope("export", shared("kineto/a100-diff-control.json.gz"), "-o", path)
    found = Counter()
    for sample in node("read_pprof.js", "pprof-format", path)["samples"]:
        found[sample["thread"], tuple(sample["stack"])] += sample["values"][0]
    assert found == read_pprof(path.read_bytes()) and len(found) > 100


# ---- speedscope ----------------------------------------------------------------------------

UNITS = {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}


def nanoseconds(cell):
    """'60.00µs (55%)'"""
    number, unit = re.match(r"([\d.]+)\s*(\D+?) ", cell).groups()
    return float(number) * UNITS[unit]


@pytest.mark.parametrize("weight", ["wall", "gpu"])
def test_speedscope(made, tmp_path, weight):
    path = tmp_path / "t.speedscope.json"
    inferscope("export", made, "--weight", weight, "--thread", "1", "-o", path)
    read = node("read_speedscope.js", "speedscope", path)
    assert read["errors"] == [] and read["title"].endswith("speedscope")
    rows = {name: (nanoseconds(total), nanoseconds(own)) for total, own, name, *_ in read["rows"]}
    if weight == "gpu":
        assert rows["gemm"] == (70_000, 70_000) and rows["outer"] == (70_000, 0)
    else:
        assert rows["outer"] == (100_000, 60_000) and rows["inner"] == (40_000, 38_000)
        assert sum(total == own == 50_000 for total, own in rows.values()) == len(HOSTILE)


def test_speedscope_of_a_real_trace(tmp_path):
    path = tmp_path / "t.speedscope.json"
    inferscope("export", shared("kineto/a100-diff-control.json.gz"), "-o", path)
    read = node("read_speedscope.js", "speedscope", path)
    assert read["errors"] == [] and len(read["rows"]) > 5


# ---- Collapsed stacks ------------------------------------------------------------------------

def test_flamegraph(made):
    """A frame has its time, and that of all in it."""
    if not os.path.exists(FLAMEGRAPH) or not shutil.which("perl"):
        pytest.skip("flamegraph.pl is not here; Debian has it in libdevel-nytprof-perl")
    stacks = export(made, "collapsed")
    done = subprocess.run(["perl", FLAMEGRAPH, "--countname", "ns", "--minwidth", "0"], input=stacks, capture_output=True, check=True, timeout=60)
    titles = [title.text for title in ElementTree.fromstring(done.stdout).iter("{http://www.w3.org/2000/svg}title")]
    times = {name: int(ns.replace(",", "")) for name, ns in (re.match(r"(?s)(.*) \(([\d,]+) ns, ", title).groups() for title in titles if " ns, " in title)}
    assert times["outer"] == 100_000 and times["inner"] == 40_000
    assert list(times.values()).count(50_000) == len(HOSTILE) and times["(1)"] == 100_000 + 50_000 * len(HOSTILE)
    assert done.stderr == b""


# ---- The Firefox Profiler, by the code of its own ------------------------------------------------

@pytest.fixture(name="profiler")
def start_profiler(tmp_path):
    """Loads a profile into a session of profiler-cli, and asks it."""
    program = MODULES / "@firefox-devtools" / "profiler-cli" / "dist" / "profiler-cli.js"
    if not shutil.which("node") or not program.exists():
        pytest.skip("@firefox-devtools/profiler-cli is not here: make .venv/web/.ready")
    if int(subprocess.check_output(["node", "--version"], text=True).lstrip("v").partition(".")[0]) < 20:
        pytest.skip("@firefox-devtools/profiler-cli wants a newer node")
    with tempfile.TemporaryDirectory(prefix="fxp-") as sessions:  # the path of a socket in it has to be short
        environment = {**os.environ, "PROFILER_CLI_SESSION_DIR": sessions, "PROFILER_CLI_NO_SYMBOLICATE": "1"}

        def ask(*arguments):
            done = subprocess.run(["node", program, *arguments, "--session", "ours"], capture_output=True, check=False, timeout=60, env=environment,
                                  cwd=tmp_path, stdin=subprocess.DEVNULL)
            assert done.returncode == 0, done.stdout.decode() + done.stderr.decode()
            return done.stdout
        try:
            yield ask
        finally:
            subprocess.run(["node", program, "stop", "ours"], capture_output=True, check=False, timeout=60, env=environment)


@pytest.mark.parametrize("weight", ["wall", "gpu"])
def test_firefox_profiler(made, tmp_path, profiler, weight):
    """Its code upgrades the profile to what it has now, and sums up the same times, in milliseconds."""
    path = tmp_path / "made.firefox.json"
    path.write_bytes(export(made, "firefox", "--weight", weight))
    profiler("load", str(path))
    answer = json.loads(profiler("thread", "functions", "--json", "--limit", "100"))
    assert answer["weightType"] == "tracing-ms"
    times = {f["name"]: (pytest.approx(f["totalSamples"]), pytest.approx(f["selfSamples"])) for f in answer["functions"]}
    if weight == "gpu":
        assert times == {"outer": (0.07, 0), "inner": (0.07, 0), "cudaLaunchKernel": (0.07, 0), "gemm": (0.07, 0.07)}
    else:
        assert (times["outer"], times["inner"], times["cudaLaunchKernel"]) == ((0.1, 0.06), (0.04, 0.038), (0.002, 0.002))
        assert list(times.values()).count((0.05, 0.05)) == len(HOSTILE) == len(times) - 3


# ---- The same, as its format is documented --------------------------------------------------------

@pytest.mark.parametrize("weight", ["wall", "gpu"])
def test_firefox(tmp_path, weight):
    """One function a name, by which the profiler merges; columns of the types it expects; samples in the order of time."""
    made = Made()
    for i in range(3):
        made.op("outer", 100 * i, 90)
        made.op("inner", 100 * i + 10, 20)
        made.kernel("gemm", 100 * i + 12, 1000 - 100 * i, 50)  # on streams that overtake each other
        made.events[-1]["tid"] = made.events[-1]["args"]["stream"] = 7 + i
    profile = json.loads(export(made.save(tmp_path / "made.json"), "firefox", "--weight", weight))
    thread = next(thread for thread in profile["threads"] if thread["samples"]["length"])
    functions, frames, stacks = thread["funcTable"], thread["frameTable"], thread["stackTable"]
    names = [thread["stringArray"][i] for i in functions["name"]]
    assert sorted(names) == sorted(set(names)) and {"outer", "inner"} <= set(names)
    assert set(functions["resource"]) == set(frames["address"]) == {-1}
    assert set(map(type, functions["isJS"])) == set(map(type, functions["relevantForJS"])) == {bool}
    assert isinstance(thread["pid"], str) and isinstance(thread["tid"], int)
    assert all(prefix is None or prefix < i for i, prefix in enumerate(stacks["prefix"]))
    times = thread["samples"]["time"]
    assert times == sorted(times)
    if weight == "gpu":
        assert times == [0.8, 0.9, 1.0] and thread["samples"]["weight"] == [0.05] * 3
