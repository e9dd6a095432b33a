"""Exports to Chrome's and Kineto's JSON: what other tools read there, and that what went in comes out again.

Traces in ../shared/data are not part of the project: tests that need them are skipped without them.
"""

import gzip
import json
import random
import re
import subprocess
import sys
import textwrap
from collections import Counter, defaultdict
from decimal import ROUND_HALF_UP, Decimal

import pytest

from recording import INFERSCOPE, PATIENCE, ROOT
from trace_processor import ERRORS, TraceProcessor

KINETO = ROOT.parent / "shared" / "data" / "kineto"
NAMES = sorted(path.name for path in KINETO.glob("*.json.gz")) or ["none"]
HTA = ROOT / ".venv" / "hta" / "bin" / "python"
FLOWS = ("s", "t", "f")


def inferscope(*arguments, status=0):
    done = subprocess.run([INFERSCOPE, *map(str, arguments)], capture_output=True, stdin=subprocess.DEVNULL, timeout=PATIENCE,
                          check=False)
    assert done.returncode == status, done.stderr.decode(errors="replace")
    return done


def exported(trace, form, *options):
    """The document, its numbers with a point as text, so that no digit is lost."""
    out = inferscope("export", "--format", form, "-o", "-", *options, trace).stdout
    return json.loads(out.decode("utf-8"), parse_float=str)


def load(path):
    data = gzip.open(path).read() if path.suffix == ".gz" else path.read_bytes()
    return json.loads(data, parse_float=str)


def imported(path, folder, *options):
    trace = folder / (path.name.split(".")[0] + ".sbt")
    inferscope("import", *options, path, "-o", trace)
    return trace


def shared(name):
    if not (KINETO / name).exists():
        pytest.skip("real traces are in ../shared/data, which is not here")
    return KINETO / name


def nanoseconds(value):
    return int((Decimal(value) * 1000).quantize(Decimal(1), ROUND_HALF_UP))


# ---- What two documents of Kineto's say, apart from how they say it ----

def thread(value):
    """Of 2021: "stream 7" and "25738"."""
    if isinstance(value, str):
        number = re.fullmatch(r"(?:stream )?(\d+)", value)
        return int(number[1]) if number else value
    return value


def number(value):
    return float(value) if isinstance(value, str) and re.fullmatch(r"-?\d+(\.\d+)?([eE][-+]?\d+)?", value) else value


def plain(value):
    """A value with its numbers as such: their text was kept up to here."""
    if isinstance(value, dict):
        return tuple(sorted((key, plain(item)) for key, item in value.items()))
    if isinstance(value, list):
        return tuple(map(plain, value))
    value = number(value)
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def arguments(event):
    args = dict(event.get("args") or {})
    for key in ("external id", "External Id"):
        if key in args:
            args["External id"] = args.pop(key)
    for key, place in (("device", event["pid"]), ("stream", thread(event["tid"]))):
        if args.get(key) == place:
            del args[key]  # it is always written, also where the place of the event alone said it
    return plain(args)


def where(event):
    return event["pid"], thread(event["tid"])


def content(document):
    """Events other than arrows and names, as often as they are there, and arrows by what they connect."""
    base, events, arrows = int(document.get("baseTimeNanoseconds", 0)), Counter(), defaultdict(Counter)
    for event in document["traceEvents"]:
        phase = event["ph"]
        if phase == "M":
            continue
        time = nanoseconds(event["ts"]) + base
        if phase in FLOWS:
            arrows[event["cat"], event["name"], event["id"]][phase, time, where(event), phase == "f" and event["bp"]] += 1
            continue
        category = event.get("cat") or ("cpu_instant_event" if event["name"] == "[memory]" else None)
        duration = nanoseconds(event["dur"]) if phase == "X" else None
        events[phase, category, event["name"], time, duration, where(event), event.get("s"), arguments(event)] += 1
    connected = Counter((category, name, frozenset(ends.items())) for (category, name, _), ends in arrows.items())
    return events, connected


def named(document):
    """What processes and threads with events are called."""
    used = {where(event) for event in document["traceEvents"] if event["ph"] not in "MC"}
    names = {}
    for event in document["traceEvents"]:
        if event["ph"] != "M" or event["name"] not in ("process_name", "thread_name"):
            continue
        place = where(event) if event["name"] == "thread_name" else event["pid"]
        if place in used or place in {pid for pid, _ in used}:
            names[event["name"], place] = event["args"]["name"].rstrip()
    return names


def some(counter):
    return list(counter.items())[:3]


def members(document):
    own = ("traceEvents", "baseTimeNanoseconds")
    return {key: plain(value) for key, value in document.items() if key not in own}


@pytest.mark.parametrize("name", NAMES)
def test_kineto_comes_back_as_it_was(tmp_path, name):
    path = shared(name)
    before, after = load(path), exported(imported(path, tmp_path), "kineto", "--findings", "off")
    for was, is_now in zip(content(before), content(after), strict=True):
        assert some(was - is_now) == some(is_now - was) == []
    assert members(after) == members(before)
    assert named(after) == named(before)


def test_it_comes_back_again_and_again(tmp_path):
    """What our importer makes of our export is what it was made from."""
    path = shared("h100-bert-small.json.gz")
    first = exported(imported(path, tmp_path), "kineto", "--findings", "off")
    copy = tmp_path / "copy.json"
    copy.write_bytes(inferscope("export", "--format", "kineto", "-o", "-", tmp_path / "h100-bert-small.sbt").stdout)
    second = exported(imported(copy, tmp_path), "kineto", "--findings", "off")
    assert content(second) == content(first) and members(second) == members(first) and named(second) == named(first)


BREAKDOWN = """
import sys
from hta.trace_analysis import TraceAnalysis
for path in sys.argv[1:]:
    print(TraceAnalysis(trace_files={0: path}, trace_dir="").get_temporal_breakdown(visualize=False).to_csv())
"""


@pytest.mark.parametrize("name", ["h100-bert-small", "a100-nccl", "alexnet-sync", "mi-sglang-decode-graph"])
def test_hta_finds_the_same(tmp_path, name):
    if not HTA.exists():
        pytest.skip("HolisticTraceAnalysis is not installed; make bench does that")
    path = shared(f"{name}.json.gz")
    ours = tmp_path / "ours.json"
    inferscope("export", "--format", "kineto", "-o", ours, imported(path, tmp_path))
    done = subprocess.run([HTA, "-c", BREAKDOWN, path, ours], capture_output=True, text=True, timeout=PATIENCE, check=True)
    was, is_now = done.stdout.strip().split("\n\n")
    assert "compute_time" in was and is_now == was


# ---- Chrome's: what viewers need ----

def rows_of(document):
    rows = defaultdict(list)
    for event in document["traceEvents"]:
        if event["ph"] == "X":
            begin = nanoseconds(event["ts"])
            rows[event["pid"], event["tid"]].append((begin, -begin - nanoseconds(event["dur"]), event["name"]))
    return rows


def crossing(document):
    """Slices that end after one that they began in, on the same thread: viewers drop those."""
    found = []
    for slices in rows_of(document).values():
        ends = []
        for begin, minus_end, name in sorted(slices):
            while ends and ends[-1] <= begin:
                ends.pop()
            if ends and -minus_end > ends[-1]:
                found.append(name)
            else:
                ends.append(-minus_end)
    return found


def slices_of(document):
    base = int(document.get("baseTimeNanoseconds", 0))
    return Counter((event["name"], nanoseconds(event["ts"]) + base, nanoseconds(event["dur"])) for event in document["traceEvents"]
                   if event["ph"] == "X" and event.get("cat") != "finding")


@pytest.mark.parametrize("name", NAMES)
def test_chrome_has_every_slice_and_none_crosses(tmp_path, name):
    path = shared(name)
    before, after = load(path), exported(imported(path, tmp_path), "chrome")
    was, is_now = slices_of(before), slices_of(after)
    assert some(was - is_now) == some(is_now - was) == []
    assert crossing(after) == []
    assert all(0 <= event["pid"] < 1 << 32 and 0 <= event["tid"] < 1 << 32 for event in after["traceEvents"])
    assert all(nanoseconds(event["ts"]) >= 0 for event in after["traceEvents"])


def launches(document):
    """From the slice that a launch leaves to those that it reaches, by name: there is one slice that begins at each end."""
    begins, ends = defaultdict(list), defaultdict(lambda: ([], []))
    for event in document["traceEvents"]:
        if event["ph"] == "X" and "correlation" in event.get("args", {}):
            begins[event["pid"], event["tid"], event["ts"]].append(event)
    for event in document["traceEvents"]:
        if event["ph"] in ("s", "f") and event["cat"] == "ac2g":
            slices = begins[event["pid"], event["tid"], event["ts"]]
            assert len(slices) == 1, event
            ends[event["id"]][event["ph"] == "f"].append(slices[0])
    return ends


def test_launches_lead_to_their_work(tmp_path):
    document = exported(imported(shared("b200-eager-overlaps.json.gz"), tmp_path), "chrome")
    arrows = [ends for ends in launches(document).values() if ends[1]]
    assert len(arrows) == 929
    for origins, reached in arrows:
        assert len(origins) == 1
        assert {slice["args"]["correlation"] for slice in reached} == {origins[0]["args"]["correlation"]}
    names = {event["args"]["name"] for event in document["traceEvents"] if event["name"] == "thread_name"}
    assert {"stream 7 compute", "stream 7 memory", "stream 7 annotations", "stream 7 compute (overlapping 1)"} <= names


COUNTS = ("select count(*) from slice", "select count(*) from flow", "select count(*) from counter", ERRORS)


def check_in_perfetto(trace, folder, arrows):
    """Perfetto's own reader has every slice, instant and counter of it, `arrows` arrows, and nothing to complain about."""
    path = folder / "chrome.json"
    inferscope("export", "--format", "chrome", "-o", path, trace)
    phases = Counter(event["ph"] for event in load(path)["traceEvents"])
    slices, flows, counters, errors = TraceProcessor.need().ask(path, *COUNTS, scratch=folder)
    assert errors == []
    assert slices == [(phases["X"] + phases["i"],)] and counters == [(phases["C"],)]
    assert flows == [(arrows,)]


@pytest.mark.parametrize(("name", "arrows"), [("b200-eager-overlaps", 929), ("mi-vllm-decode-graph", 434), ("alexnet-sync", 139)])
def test_perfetto_reads_all_of_a_real_one(tmp_path, name, arrows):
    check_in_perfetto(imported(shared(f"{name}.json.gz"), tmp_path), tmp_path, arrows)


# ---- Made ones ----

def work(rank, **more):
    """A launch and its kernel, a copy and a wait, of a rank that has the same numbers as all others."""
    base = {"deviceProperties": [{"id": 0, "name": "NVIDIA H100", "warpSize": 32, "numSms": 132}],
            "distributedInfo": {"rank": rank, "world_size": 2}, "baseTimeNanoseconds": 1700000000000000000}
    host, device = {"pid": 77, "tid": 77}, {"pid": 0, "tid": 7}
    events = [
        {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", **host, "ts": 10, "dur": 5, "args": {"correlation": 1}},
        {"ph": "X", "cat": "cuda_runtime", "name": "cudaMemcpyAsync", **host, "ts": 20, "dur": 5, "args": {"correlation": 2}},
        {"ph": "X", "cat": "kernel", "name": f"kernel of {rank}", **device, "ts": 30, "dur": 10.5,
         "args": {"device": 0, "stream": 7, "correlation": 1, "grid": [4, 2, 1], "block": [128, 1, 1], "registers per thread": 32}},
        {"ph": "X", "cat": "kernel", "name": "overlaps", **device, "ts": 35, "dur": 10,
         "args": {"device": 0, "stream": 7, "correlation": 3}},
        {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pageable -> Device)", **device, "ts": 50, "dur": 2,
         "args": {"device": 0, "stream": 7, "correlation": 2, "bytes": 4096}},
        {"ph": "X", "cat": "cuda_sync", "name": "Stream Sync", **device, "ts": 60, "dur": 1,
         "args": {"device": 0, "stream": 7, "correlation": 4}},
        {"ph": "C", "name": "memory", **host, "ts": 15, "args": {"used": 5, "free": 2.5}},
        {"ph": "b", "cat": "request", "name": "request", "id": "0x1f", **host, "ts": 1, "args": {"prompt": 12}},
        {"ph": "e", "cat": "request", "name": "request", "id": "0x1f", **host, "ts": 90},
        {"ph": "s", "cat": "queue", "name": "token", "id": 5, **host, "ts": 11},
        {"ph": "t", "cat": "queue", "name": "token", "id": 5, **host, "ts": 12},
        {"ph": "f", "cat": "queue", "name": "token", "id": 5, "bp": "e", **host, "ts": 21},
        {"ph": "i", "name": "mark", "s": "p", **host, "ts": 40, "args": {"why": "because"}},
    ]
    return {**base, "traceEvents": events + more.get("events", [])}


def written(folder, document, name="trace.json"):
    path = folder / name
    path.write_text(json.dumps(document))
    return path


def test_ranks_keep_apart(tmp_path):
    paths = [written(tmp_path, work(rank), f"rank{rank}.json") for rank in (0, 1)]
    inferscope("import", *paths, "-o", tmp_path / "both.sbt")
    for form in ("chrome", "kineto"):
        document = exported(tmp_path / "both.sbt", form)
        assert {event["pid"] for event in document["traceEvents"] if event.get("cat") == "cuda_runtime"} == {77, 77 + 4194304}
        assert len({event["pid"] for event in document["traceEvents"] if event.get("cat") == "kernel"}) == 2
        by_id = defaultdict(set)
        for event in document["traceEvents"]:
            if event["ph"] in FLOWS or event["ph"] in "be":
                by_id[event.get("cat"), event["id"]].add(event["pid"])
        assert len(by_id) >= 6
        for (category, _), pids in by_id.items():
            assert len(pids) == (2 if category == "ac2g" and len(pids) > 1 else 1), category
        assert sum(event["ph"] == "C" for event in document["traceEvents"]) == 4
    for origins, reached in launches(exported(tmp_path / "both.sbt", "chrome")).values():
        assert not origins or not reached or origins[0]["pid"] % 4194304 == 77
    alone = exported(tmp_path / "both.sbt", "kineto", "--process", "77")
    assert alone["distributedInfo"] == {"rank": 0, "world_size": 2}


def test_rows_and_lanes_of_a_stream(tmp_path):
    document = exported(imported(written(tmp_path, work(0)), tmp_path), "chrome")
    names = {(event["pid"], event["tid"]): event["args"]["name"] for event in document["traceEvents"] if event["name"] == "thread_name"}
    where_is = {event["name"]: names[event["pid"], event["tid"]] for event in document["traceEvents"]
                if event["ph"] == "X" and event["cat"] != "finding"}
    assert where_is == {"cudaLaunchKernel": "thread 77", "cudaMemcpyAsync": "thread 77", "kernel of 0": "stream 7 compute",
                        "overlaps": "stream 7 compute (overlapping 1)", "Memcpy HtoD (Pageable -> Device)": "stream 7 memory",
                        "Stream Sync": "stream 7 sync"}
    kernel, = (event for event in document["traceEvents"] if event["name"] == "kernel of 0")
    assert kernel["args"] == {"device": 0, "stream": 7, "correlation": 1, "grid": [4, 2, 1], "block": [128, 1, 1],
                              "registers per thread": 32}
    assert (kernel["dur"], document["baseTimeNanoseconds"]) == ("10.500", 1700000000000001000)
    processes = {event["args"]["name"] for event in document["traceEvents"] if event["name"] == "process_name"}
    assert "NVIDIA H100" in processes


def test_perfetto_reads_all_of_a_made_one(tmp_path):
    document = work(0)
    document["traceEvents"] = [event for event in document["traceEvents"] if event["ph"] not in "be"]
    check_in_perfetto(imported(written(tmp_path, document), tmp_path), tmp_path, 2 + 2)


def test_kineto_keeps_ranges_steps_of_arrows_and_instants(tmp_path):
    before = work(0)
    after = exported(imported(written(tmp_path, before), tmp_path), "kineto")
    by_name = defaultdict(list)
    for event in after["traceEvents"]:
        by_name[event["name"]].append(event)
    assert [event["ph"] for event in by_name["token"]] == ["s", "t", "f"]
    assert {event["cat"] for event in by_name["token"]} == {"queue"} and len({event["id"] for event in by_name["token"]}) == 1
    assert [(event["ph"], event["cat"]) for event in by_name["request"]] == [("b", "request"), ("e", "request")]
    assert by_name["request"][0]["args"] == {"prompt": 12}
    mark, = by_name["mark"]
    assert (mark["ph"], mark["s"], mark["args"]) == ("i", "p", {"why": "because"})
    assert {(event["name"], event["args"]["value"]) for event in after["traceEvents"] if event["ph"] == "C"} == {
        ("memory.used", 5), ("memory.free", "2.5")}


def test_kineto_both_ways(tmp_path):
    """Without the real traces: threads, metadata, arrows, links, memory, pseudo processes, as torch writes them."""
    host, device, place = {"pid": 77, "tid": 78}, {"pid": 0, "tid": 7}, {"device": 0, "stream": 7}
    more = [
        {"ph": "X", "cat": "cpu_op", "name": "aten::add", **host, "ts": 100, "dur": 9.5,
         "args": {"External id": 9, "Sequence number": 3, "Input Dims": [[2, 3], []], "Input type": ["float", ""], "Ev Idx": 4}},
        {"ph": "X", "cat": "python_function", "name": "a.py(3): f", **host, "ts": 99, "dur": 20,
         "args": {"Python id": 2, "Python parent id": None}},
        {"ph": "X", "cat": "cuda_driver", "name": "cuLaunchKernel", **host, "ts": 101, "dur": 2,
         "args": {"External id": 9, "cbid": 307, "correlation": 50}},
        {"ph": "X", "cat": "overhead", "name": "Activity Buffer Request", "pid": -1, "tid": 0, "ts": 90, "dur": 1},
        {"ph": "X", "cat": "gpu_user_annotation", "name": "ProfilerStep#1", **device, "ts": 29, "dur": 100, "args": {"External id": 1}},
        {"ph": "X", "cat": "gpu_memset", "name": "Memset (Device)", **device, "ts": 110, "dur": 1,
         "args": {**place, "correlation": 50, "External id": 9, "bytes": 64, "memory bandwidth (GB/s)": 88.88888888888889}},
        {"ph": "X", "cat": "cuda_sync", "name": "Context Sync", "pid": 0, "tid": -1, "ts": 120, "dur": 1,
         "args": {"device": 0, "stream": 4294967295, "correlation": 51, "wait_on_cuda_event_record_corr_id": -1}},
        {"ph": "s", "cat": "ac2g", "name": "ac2g", "id": 50, **host, "ts": 101},
        {"ph": "f", "cat": "ac2g", "name": "ac2g", "id": 50, "bp": "e", **device, "ts": 110},
        {"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "s": "t", **host, "ts": 102,
         "args": {"Device Type": 1, "Device Id": 0, "Addr": 140000000000000, "Bytes": 512, "Total Allocated": 1024}},
        {"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "s": "t", **host, "ts": 103,
         "args": {"Device Type": 1, "Device Id": 0, "Addr": 140000000000000, "Bytes": -512, "Total Allocated": 512}},
        {"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", "pid": "Spans", "tid": "PyTorch Profiler", "ts": 0, "dur": 200,
         "args": {"Op count": 0}},
        {"ph": "i", "name": "Iteration Start: PyTorch Profiler", "s": "g", "pid": "Traces", "tid": "Trace PyTorch Profiler", "ts": 0},
        {"ph": "i", "name": "Record Window End", "s": "g", "pid": "", "tid": "", "ts": 300},
        {"ph": "M", "name": "process_name", **host, "ts": 0, "args": {"name": "python"}},
        {"ph": "M", "name": "thread_name", **host, "ts": 0, "args": {"name": "thread 78 (main)"}},
    ]
    before = {"schemaVersion": 1, "traceName": "x.json", "displayTimeUnit": "ms", "INFO": ["a", "b"], **work(0, events=more)}
    before["traceEvents"] = [event for event in before["traceEvents"] if event["ph"] != "C"]
    path = written(tmp_path, before)
    after = exported(imported(path, tmp_path), "kineto")
    for was, is_now in zip(content(load(path)), content(after), strict=True):
        assert some(was - is_now) == some(is_now - was) == []
    assert members(after) == members(load(path))
    assert named(after)["thread_name", (77, 78)] == "thread 78 (main)" and named(after)["process_name", 77] == "python"


HOSTILE = ["\0", "\ud800", "\udfff x", '"', "\\", "\n\r\t\b\f\x01\x1f\x7f", "</script>", "\u2028\u202e", "\U0001f600", "x" * 1000000,
           "", " ", "é", "\ufeff", "\uffff", "a\0b", "{}[],:"]


@pytest.mark.parametrize("form", ["chrome", "kineto"])
def test_hostile_names_stay_valid(tmp_path, form):
    """Names, keys, values, categories, threads: strict JSON in strict UTF-8, whatever they are."""
    events = []
    for i, text in enumerate(HOSTILE):
        place = {"pid": 1, "tid": 1}
        events += [{"ph": "X", "name": text, "cat": text, **place, "ts": i, "dur": 1, "args": {text[:5000]: text[:5000], "n": [text[:50]]}},
                   {"ph": "i", "name": text, "pid": text, "tid": text, "ts": i, "s": "t"},
                   {"ph": "C", "name": text, **place, "ts": i, "args": {text: i + 0.1}},
                   {"ph": "s", "name": text, "cat": text, "id": text, **place, "ts": i},
                   {"ph": "M", "name": "thread_name", "pid": 1, "tid": i, "args": {"name": text}},
                   {"ph": "X", "name": "k", "cat": "kernel", "pid": 0, "tid": i, "ts": i, "dur": 1, "args": {"stream": i}}]
    document = {"traceEvents": events, **{text[:100] or "empty": text[:5000] for text in HOSTILE}}
    path = written(tmp_path, document)
    path.write_bytes(path.read_bytes() + b" ")
    out = inferscope("export", "--format", form, "-o", "-", imported(path, tmp_path)).stdout

    def refuse(constant):
        raise ValueError(constant)

    after = json.loads(out.decode("utf-8", errors="strict"), parse_constant=refuse)
    assert not re.search(rb"[\x00-\x09\x0b-\x1f]", out)
    assert sum(event["ph"] == "X" and event.get("cat") != "finding" for event in after["traceEvents"]) == 2 * len(HOSTILE)
    kept = {event["name"] for event in after["traceEvents"]}
    assert {"\0", '"', "\\", "é", "\U0001f600", "a\0b"} <= kept
    assert sum(name.strip("\ufffd") in ("", " x") and "\ufffd" in name for name in kept) >= 2  # what was half of a character


def test_bytes_that_are_no_text(tmp_path):
    body = json.dumps(work(0)).encode().replace(b"kernel of 0", b"k\xff\xc0\x80\xed\xa0\x80")
    path = tmp_path / "bytes.json"
    path.write_bytes(body)
    for form in ("chrome", "kineto"):
        out = inferscope("export", "--format", form, "-o", "-", imported(path, tmp_path)).stdout.decode("utf-8")
        assert any(event["name"].startswith("k\ufffd") for event in json.loads(out)["traceEvents"])


# ---- A part of it ----

def nested(count):
    """Calls inside a step each, without gaps."""
    events = []
    for i in range(count):
        events.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{i}", "pid": 1, "tid": 1, "ts": 1000 * i, "dur": 1000})
        events += [{"ph": "X", "cat": "cpu_op", "name": f"op {i}.{k}", "pid": 1, "tid": 1, "ts": 1000 * i + 100 * k, "dur": 50}
                   for k in range(10)]
    return {"traceEvents": events}


@pytest.mark.parametrize("form", ["chrome", "kineto"])
def test_a_window_has_what_encloses_it(tmp_path, form):
    trace = imported(written(tmp_path, nested(50)), tmp_path)
    names = {event["name"] for event in exported(trace, form, "--window", "20.15:20.35")["traceEvents"] if event["ph"] == "X"}
    assert names >= {"ProfilerStep#20", "op 20.2", "op 20.3"} and not names & {"op 20.0", "op 20.4", "ProfilerStep#19", "ProfilerStep#21"}
    steps = {event["name"] for event in exported(trace, form, "--steps", "3-4")["traceEvents"] if event["ph"] == "X"}
    assert {f"op {i}.{k}" for i in (3, 4) for k in range(10)} <= steps
    assert not any(name.startswith(("op 2.", "op 5.")) and name not in ("op 2.9", "op 5.0") for name in steps)
    only = exported(trace, form, "--kind", "op", "--name", "op 7.*", "--findings", "off")["traceEvents"]
    assert sorted(event["name"] for event in only if event["ph"] == "X") == [f"op 7.{k}" for k in range(10)]
    assert inferscope("export", "--format", form, "-o", "-", "--name", "nothing", trace, status=1).stdout == b""
    short = exported(trace, form, "--min-duration", "100")["traceEvents"]
    assert {event["name"].split("#")[0] for event in short if event["ph"] == "X" and event.get("cat") != "finding"} == {"ProfilerStep"}


# ---- Recorded ones ----

PROGRAM = """
import inferscope, threading, time

def inner(n):
    return sum(range(n))

def outer(n):
    return inner(n) + inner(n)

threads = [threading.Thread(target=outer, args=(10,), name=f"worker {i}") for i in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
for i in range(5):
    with inferscope.scope("step"):
        outer(20000)
        time.sleep(0.1)
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recorded")
    program = folder / "program.py"
    program.write_text(textwrap.dedent(PROGRAM))
    inferscope("run", "--waits", "on", "--trace", folder / "trace.sbt", "--report", "none", "--", sys.executable, program)
    return folder / "trace.sbt", program


def test_calls_as_torch_numbers_them(recorded):
    trace, program = recorded
    events = exported(trace, "kineto")["traceEvents"]
    calls = [event for event in events if event.get("cat") == "python_function" and program.name in event["name"]]
    inner = [event for event in calls if event["name"].endswith("): inner")]
    outer = {event["args"]["Python id"]: event for event in calls if event["name"].endswith("): outer")}
    assert len(inner) == 16 and len(outer) == 8
    for event in inner:
        around = outer[event["args"]["Python parent id"]]
        assert around["tid"] == event["tid"] and nanoseconds(around["ts"]) <= nanoseconds(event["ts"])
        assert nanoseconds(event["ts"]) + nanoseconds(event["dur"]) <= nanoseconds(around["ts"]) + nanoseconds(around["dur"])
    numbers = [event["args"]["Python id"] for event in events if event.get("cat") == "python_function"]
    assert len(set(numbers)) == len(numbers)
    steps = [event["name"] for event in events if event["name"].startswith("ProfilerStep#")]
    assert steps == [f"ProfilerStep#{i}" for i in range(5)]


def test_a_recording_for_viewers(recorded):
    trace, _ = recorded
    document = exported(trace, "chrome")
    assert crossing(document) == []
    names = {event["args"]["name"] for event in document["traceEvents"] if event["name"] == "thread_name"}
    assert {"worker 0", "worker 1", "worker 2"} <= names and any(name.endswith(" states") for name in names)
    counters = {event["name"] for event in document["traceEvents"] if event["ph"] == "C"}
    assert {"rss_bytes", "run_ns"} <= counters
    scopes = [event for event in document["traceEvents"] if event["name"] == "step"]
    assert len(scopes) == 5 and all(event["cat"] == "user_annotation" and event["ph"] == "X" for event in scopes)


def test_perfetto_reads_all_of_a_recording(recorded, tmp_path):
    check_in_perfetto(recorded[0], tmp_path, 0)


def test_a_long_trace_needs_no_more_memory(tmp_path):
    """Without findings: what is kept has the size of the dictionary."""
    peaks = {}
    for count in (2000, 40000):
        trace = imported(written(tmp_path, nested(count), f"{count}.json"), tmp_path)
        code = ("import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True); "
                "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
        done = subprocess.run(["python3", "-c", code, INFERSCOPE, "export", "--findings", "off", "--format", "chrome", "--name", "op*9",
                               "-o", tmp_path / "out.json", trace], capture_output=True, text=True, check=True)
        peaks[count] = int(done.stdout)
    assert peaks[40000] < peaks[2000] + 40000, peaks


@pytest.mark.parametrize("seed", range(5))
def test_random_arguments_come_back(tmp_path, seed):
    """Nested values of all types, as deep and as large as an event's arguments may be."""
    rng = random.Random(seed)

    def value(depth):
        kind = rng.randrange(8 if depth else 6)
        if kind == 6:
            return [value(depth - 1) for _ in range(rng.randrange(20))]
        if kind == 7:
            return {f"key {i}": value(depth - 1) for i in range(rng.randrange(20))}
        return [None, True, rng.randrange(-2**63, 2**64), rng.uniform(-1e6, 1e6), round(rng.uniform(0, 1000), 3),
                "".join(chr(rng.randrange(1, 0x500)) for _ in range(rng.randrange(40)))][kind]

    events = [{"ph": "X", "cat": "anything", "name": f"event {i}", "pid": 1, "tid": 1, "ts": i, "dur": 1,
               "args": {f"arg {k}": value(2) for k in range(5)}} for i in range(200)]
    events = [event for event in events if len(json.dumps(event, ensure_ascii=False).encode()) < 5000]
    out = inferscope("export", "--format", "kineto", "-o", "-", imported(written(tmp_path, {"traceEvents": events}), tmp_path)).stdout
    after = {event["name"]: event.get("args") for event in json.loads(out)["traceEvents"]}
    for event in events:
        assert after[event["name"]] == event["args"]
