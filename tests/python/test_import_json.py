"""JSON of other tools and of ours becomes a trace: every event of it, exactly, compared with what Python's json module reads.

Traces of torch.profiler and viztracer are made here. Those in ../shared/data are not part of the project: skipped without them.
"""

import gzip
import json
import os
import random
import re
import subprocess
import sys
import textwrap
from collections import Counter
from decimal import ROUND_HALF_UP, Decimal

import pytest

import sbt
from recording import INFERSCOPE, PATIENCE, ROOT
from sbt_payload import KINDS, PHASES

KINETO = ROOT.parent / "shared" / "data" / "kineto"
MEMORY_LIMIT = 64 << 20
# Prints the peak memory of a command: what we took before becoming it would count as well, so somebody small starts it.
PEAK = """
import os, resource, sys
assert os.spawnv(os.P_WAIT, sys.argv[1], sys.argv[1:]) == 0
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)
"""

# What each category stands for, as their authors use them; names of 2021 and of today.
MEANING = {"cpu_op": "op", "operator": "op", "python_function": "cpu_call", "fee": "cpu_call", "cuda_runtime": "runtime_call",
           "cuda_driver": "runtime_call", "runtime": "runtime_call", "mtia_runtime": "runtime_call", "kernel": "gpu_kernel",
           "mtia_ccp_events": "gpu_kernel", "gpu_memset": "memset", "memset": "memset", "cuda_sync": "sync"}
COPIES = {"HtoD": "h2d_copy", "DtoH": "d2h_copy", "DtoD": "d2d_copy", "PtoP": "d2d_copy"}
FLOWS = {"s": "flow_out", "t": "flow_in", "f": "flow_in"}


def imported(path, *options, status=0):
    """The trace, with nothing to complain about, and what was said."""
    out = path.parent / "imported.sbt"
    done = subprocess.run([INFERSCOPE, "import", *options, path, "--output", out], capture_output=True, stdin=subprocess.DEVNULL,
                          timeout=PATIENCE, check=False)
    assert done.returncode == status, done.stderr.decode(errors="replace")
    if status:
        return None, done.stderr.decode(errors="replace")
    trace = sbt.read(out)
    assert trace.violations == [] and trace.damage == []
    return trace, done.stderr.decode(errors="replace")


def written(folder, document, name="trace.json"):
    path = folder / name
    path.write_bytes(document if isinstance(document, bytes) else json.dumps(document).encode())
    return path


def source(trace):
    return trace.info["sources"][0]


def nanoseconds(value):
    return int((Decimal(value) * 1000).quantize(Decimal(1), ROUND_HALF_UP))


def kind_of(event):
    """What an event of Chrome's is to become; None for names."""
    phase, category, arguments = event["ph"], (event.get("cat") or "").lower(), event.get("args") or {}
    if phase == "M":
        return None
    if phase in FLOWS:
        return "flow"
    if phase == "C":
        return "counter"
    if phase in "iIR":
        if event["name"] == "[memory]" and "Bytes" in arguments:
            return "memory_alloc" if arguments["Bytes"] >= 0 else "memory_free"
        return "instant"
    if category in ("gpu_memcpy", "memcpy"):
        return COPIES[re.search(r"\w to\w|\wto\w", event["name"]).group(0)]
    if category == "kernel" and "Collective name" in arguments:
        return "collective"
    return MEANING.get(category, "scope")


def expected_of(events):
    """(kind, name, time, duration) of everything that is to be in the trace, as often as it is."""
    wanted = Counter()
    for event in events:
        kind = kind_of(event)
        if kind:
            duration = nanoseconds(event["dur"]) if event["ph"] == "X" else None
            wanted[kind, event["name"], nanoseconds(event["ts"]), duration] += 1
    return wanted


def found_in(trace, base=0):
    return Counter((KINDS[event.kind], trace.strings.get(event.name, ""), trace.ns(event.time) - base, event.duration)
                   for event in trace.events)


def load(path):
    data = gzip.open(path).read() if path.suffix == ".gz" else path.read_bytes()
    document = json.loads(data, parse_float=str)
    return document["traceEvents"] if isinstance(document, dict) else document, document


def compare(path, trace):
    events, document = load(path)
    base = source(trace).get("base_time_ns", 0)
    if base:
        assert base == document["baseTimeNanoseconds"]
    assert found_in(trace, base) == expected_of(events)
    return events


# ---- traces of others ----

@pytest.mark.parametrize("name", sorted(path.name for path in KINETO.glob("*.json.gz")) or ["none"])
def test_a_real_trace(tmp_path, name):
    if not (KINETO / name).exists():
        pytest.skip("real traces are in ../shared/data, which is not here")
    path = tmp_path / name
    path.symlink_to(KINETO / name)
    trace, said = imported(path)
    events = compare(path, trace)
    assert source(trace)["skipped"] == 0 and "damage" not in said
    totals, wanted = Counter(), Counter()
    for event in trace.events:
        totals[KINDS[event.kind]] += event.duration or 0
    for event in events:
        if event["ph"] == "X":
            wanted[kind_of(event)] += nanoseconds(event["dur"])
    assert +totals == +wanted
    lean, _ = imported(path, "--lean")
    kept, everything = found_in(lean), found_in(trace)
    assert not kept - everything and {key[0] for key in everything - kept} <= {"flow"}
    assert lean.size <= trace.size


@pytest.fixture(scope="module")
def torch_trace(tmp_path_factory):
    path = tmp_path_factory.mktemp("torch") / "torch.json"
    program = """
        import sys, torch
        from torch.profiler import ProfilerActivity, profile, record_function
        torch.set_num_threads(1)
        net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
        with profile(activities=[ProfilerActivity.CPU], with_stack=True, profile_memory=True, record_shapes=True) as p:
            for _ in range(3):
                with record_function('step "quoted" \\\\ ü'):
                    net(torch.ones(4, 8)).sum().backward()
        p.export_chrome_trace(sys.argv[1])
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program), path], capture_output=True, timeout=PATIENCE,
                          check=False)
    if b"No module named 'torch'" in done.stderr:
        pytest.skip("torch is not installed")
    assert done.returncode == 0, done.stderr
    return path


def test_torch_profiler(torch_trace):
    trace, _ = imported(torch_trace)
    events = compare(torch_trace, trace)
    counts = Counter(KINDS[event.kind] for event in trace.events)
    assert counts["op"] > 20 and counts["cpu_call"] > 20 and counts["memory_alloc"] > 3 and counts["memory_free"] > 3
    assert counts["flow"] > 0, "forward and backward belong together"
    with_shapes = {(event["args"]["External id"], tuple(map(tuple, event["args"]["Input Dims"])))
                   for event in events if event["ph"] == "X" and event.get("args", {}).get("Input Dims")}
    ours = {(event.operator, tuple(map(tuple, event.metadata["Input Dims"])))
            for event in trace.events if event.metadata and event.metadata.get("Input Dims")}
    assert ours == with_shapes and with_shapes
    outs = [event for event in trace.events if PHASES[event.phase] == "flow_out"]
    ins = [event for event in trace.events if PHASES[event.phase] == "flow_in"]
    assert {event.flow for event in outs} == {event.flow for event in ins}
    process, = {trace.tracks[event.track]["process"] for event in trace.events}
    assert trace.processes[process]["pid"] == next(event["pid"] for event in events if event.get("cat") == "cpu_op")


def test_torch_profiler_lean(torch_trace):
    full, _ = imported(torch_trace)
    lean, _ = imported(torch_trace, "--lean")
    assert found_in(lean) == found_in(full)
    assert not any("Input Dims" in (event.metadata or {}) for event in lean.events) and lean.size < full.size


def test_viztracer(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent("""
        import threading
        def inner(n):
            return sum(range(n))
        def work():
            for n in range(20):
                inner(n)
        thread = threading.Thread(target=work, name="helper")
        thread.start()
        thread.join()
        work()
    """))
    path = tmp_path / "viztracer.json"
    done = subprocess.run([sys.executable, "-m", "viztracer", "-o", path, "--quiet", program], cwd=tmp_path, capture_output=True,
                          timeout=PATIENCE, check=False)
    if b"No module named viztracer" in done.stderr:
        pytest.skip("viztracer is not installed")
    assert done.returncode == 0, done.stderr
    trace, _ = imported(path)
    compare(path, trace)
    calls = [event for event in trace.events if trace.strings[event.name].startswith("inner (")]
    assert len(calls) == 40 and {KINDS[event.kind] for event in calls} == {"cpu_call"}
    assert len({event.track for event in calls}) == 2


# ---- our own ----

def test_a_dump_gives_the_same_dump(tmp_path, torch_trace):
    def dump(path):
        done = subprocess.run([INFERSCOPE, "dump", path, "--format", "json"], capture_output=True, timeout=PATIENCE, check=True)
        return done.stdout

    imported(torch_trace)
    first = dump(torch_trace.parent / "imported.sbt")
    trace, _ = imported(written(tmp_path, first, "dump.json"))
    assert source(trace)["format"] == "events" and source(trace)["skipped"] == 0
    again = dump(tmp_path / "imported.sbt")

    def lines(text):
        rows = json.loads(text, parse_float=Decimal)
        return Counter(json.dumps(row, sort_keys=True, default=str) for row in rows)

    assert lines(again) == lines(first)


# ---- documents of any size ----

def mixed(count, seed=1):
    """Events of very different sizes."""
    dice = random.Random(seed)
    for number in range(count):
        yield {"ph": "X", "cat": "cpu_op", "name": f"op {number % 97}", "pid": 1, "tid": number % 5, "ts": number * 10 + 0.125,
               "dur": number % 10, "args": {"External id": number, "text": "x" * int(2 ** dice.uniform(0, 18))}}


@pytest.mark.parametrize("suffix", ["json", "json.gz"])
@pytest.mark.parametrize("spaces", [None, 2])
def test_windows_end_anywhere(tmp_path, suffix, spaces):
    events = list(mixed(800))
    text = json.dumps({"traceEvents": events, "after": 5}, indent=spaces).encode()
    assert len(text) > 8 << 20
    trace, _ = imported(written(tmp_path, gzip.compress(text, 1) if suffix.endswith("gz") else text, f"trace.{suffix}"))
    assert [(event.operator, event.time, event.duration) for event in sorted(trace.events, key=lambda e: e.time)] == [
        (event["args"]["External id"], nanoseconds(event["ts"]), nanoseconds(event["dur"])) for event in events]
    assert source(trace)["properties"] == {"after": 5} and source(trace)["bytes"] == len(text)


def test_memory_does_not_grow_with_the_file(tmp_path):
    event = json.dumps(dict(next(mixed(1)), args={"External id": 1})).encode()
    path = tmp_path / "large.json"
    with path.open("wb") as file:
        file.write(b"[" + b",".join([event] * 2000))
        block = b"," + b",\n".join([event] * 5000)
        while file.tell() < 150 << 20:
            file.write(block)
        file.write(b"]")
    done = subprocess.run([sys.executable, "-S", "-c", PEAK, INFERSCOPE, "import", "--lean", path, "-o", tmp_path / "large.sbt"],
                          capture_output=True, timeout=PATIENCE, check=True)
    if not os.environ.get("ASAN_OPTIONS"):
        assert int(done.stdout) < MEMORY_LIMIT


def test_an_event_that_is_too_long_is_passed_over(tmp_path):
    long = {"ph": "X", "name": "long", "pid": 1, "tid": 1, "ts": 1, "dur": 1, "args": {"x": "y" * (20 << 20)}}
    short = [dict(long, name=f"short {n}", args={}) for n in range(10)]
    trace, said = imported(written(tmp_path, [*short[:5], long, *short[5:]]))
    assert sorted(trace.strings[event.name] for event in trace.events) == [f"short {n}" for n in range(10)]
    assert source(trace)["skipped"] == 1 and "too long" in said


def test_a_member_of_any_size_is_passed_over(tmp_path):
    frames = {str(n): {"name": 'f"[{' * 20, "parent": n} for n in range(60000)}
    event = {"ph": "X", "name": "e", "pid": 1, "tid": 1, "ts": 1, "dur": 1}
    trace, _ = imported(written(tmp_path, {"stackFrames": frames, "traceEvents": [event], "x": "y" * 300000, "last": 1}))
    assert len(trace.events) == 1 and source(trace)["properties"] == {"last": 1}


# ---- damage ----

def test_cut_off_anywhere(tmp_path):
    """Whatever the place, all events before it are there."""
    events = [{"ph": "X", "cat": "cpu_op", "name": f'"{n}" \\ {{', "pid": 1, "tid": 1, "ts": n, "dur": 1,
               "args": {"a": [n, {"b": "}"}]}} for n in range(12)]
    text = json.dumps({"schemaVersion": 1, "traceEvents": events}).encode()
    ends = [text.index(f'"b": "}}"}}]}}}}'.encode(), text.index(f'"name": "\\"{n}\\"'.encode())) + 12 for n in range(12)]
    for at in range(ends[0], len(text) - 1, 5):
        trace, said = imported(written(tmp_path, text[:at]))
        assert len(trace.events) == sum(end <= at for end in ends), text[:at]
        assert source(trace)["truncated"] and ("cut off" in said or "could not be read" in said)


def test_one_byte_wrong_anywhere(tmp_path):
    """At most the events next to it go, and what goes is counted."""
    events = [{"ph": "X", "cat": "cpu_op", "name": f"event {n}", "pid": 1, "tid": 1, "ts": n, "dur": 1, "args": {"a": [n, "b"]}}
              for n in range(10)]
    text = json.dumps(events, indent=None).encode().replace(b"}, {", b"},\n{")
    dice = random.Random(7)
    for at in range(1, len(text) - 1, 11):
        broken = text[:at] + bytes([dice.choice(b'"{}[],:\\x0\n ')]) + text[at + 1:]
        trace, _ = imported(written(tmp_path, broken))
        assert len(trace.events) >= 8, broken
        names = {trace.strings.get(event.name) for event in trace.events}
        assert len(names & {f"event {n}" for n in range(10)}) >= 7, broken


def test_names_that_mean_harm(tmp_path):
    names = [b"<script>alert(1)</script>", b"\\u001b[2J\\u0007", b"\\u0000\\u0001\\u007f", b"\xff\xfe\xc3",
             b"\\ud83d\\ude00 \\ud83d", b"../../etc/passwd", b"a" * 16000, b"%s%n\\\\", b"' OR 1=1 --"]
    wanted = ["<script>alert(1)</script>", "\x1b[2J\x07", "\0\x01\x7f", b"\xff\xfe\xc3".decode(errors="replace"),
              b"\xf0\x9f\x98\x80 \xed\xa0\xbd".decode(errors="replace"), "../../etc/passwd", "a" * 16000, "%s%n\\", "' OR 1=1 --"]
    event = b'{"ph":"X","name":"%s","pid":1,"tid":%d,"ts":1,"dur":1,"args":{"%s":"%s"}}'
    text = b"[" + b",".join(event % (name, at, name, name[:100]) for at, name in enumerate(names)) + b"]"
    trace, _ = imported(written(tmp_path, text))
    found = sorted(trace.events, key=lambda event: trace.tracks[event.track]["id"])
    assert [trace.strings[event.name] for event in found] == wanted
    assert source(trace)["skipped"] == 0


def test_a_name_of_a_megabyte(tmp_path):
    event = {"ph": "X", "name": "n" * (1 << 20), "pid": 1, "tid": 1, "ts": 1, "dur": 1}
    trace, _ = imported(written(tmp_path, [event, dict(event, name="next")]))
    first, second = (trace.strings[event.name] for event in trace.events)
    assert second == "next" and len(first) >= 4096 and set(first) == {"n"}


@pytest.mark.parametrize("text", [b"", b"   ", b"[", b"{", b"hello", b'{"name": "package", "version": "1.0"}', b"\xff\xfe[\0]\0",
                                  b"[1, 2]"])
def test_nothing_to_read(tmp_path, text):
    _, said = imported(written(tmp_path, text), status=3)
    assert str(tmp_path) in said
