"""Ranges and marks of programs with NVTX: one that speaks its protocol (tests/programs/nvtx_calls.c), and PyPI's nvtx.

INFERSCOPE_TORCH_PYTHON is the interpreter that has the packages; the one that runs the tests unless given.
"""

import os
import subprocess
import sys
from collections import Counter

import pytest

from recording import BEGIN, BUILD, END, INSTANT, SCOPE, record

PYTHON = os.environ.get("INFERSCOPE_TORCH_PYTHON", sys.executable)
CALLS = BUILD / "tests" / "programs" / "nvtx_calls"
RUNTIME = BUILD / "libinferscope-rt.so"
ASYNC_BEGIN, ASYNC_END, NOT_MATCHED = 4, 5, 65535
PATIENCE = 60


def calls(folder, *command, options=()):
    recording = record(folder, *command, program=CALLS, options=options)
    lines = dict(line.split(" ", 1) for line in recording.out.splitlines())
    assert recording.status == 0 and recording.losses == [] and lines["attached"] == "1"
    return recording, lines


def python(folder, script):
    """Runs a script that prints nothing.  -E: without what PYTHONPATH adds to it."""
    if subprocess.run([PYTHON, "-c", "import nvtx"], capture_output=True, check=False, timeout=PATIENCE).returncode != 0:
        pytest.skip(f"{PYTHON} has no package nvtx")
    recording = record(folder, "-E", "-c", script, program=PYTHON)
    assert recording.status == 0 and recording.losses == [] and recording.out == ""
    return recording


def brief(recording, events=None):
    """Each event as (what, name, depth, metadata)."""
    phases = {BEGIN: "begin", END: "end", 3: "mark", ASYNC_BEGIN: "start", ASYNC_END: "stop"}
    return [(phases[e.phase], recording.name(e), e.depth, e.metadata)
            for e in (recording.events if events is None else events)]


def test_marks(tmp_path):
    recording, lines = calls(tmp_path, "calls")
    assert lines["same"] == lines["string"] == "1"
    marks = [event for event in recording.events if event.kind == INSTANT]
    assert [(recording.name(event), event.metadata) for event in marks] == [
        ("ascii", None), ("wide é€\U0001f600", None), ("u64", {"payload": (1 << 64) - 1}), ("i64", {"payload": -5}),
        ("double", {"payload": -1.5}), ("u32", {"payload": 7}), ("i32", {"payload": -2}), ("float", {"payload": 0.25}),
        ("extended", None), ("category", {"category": 7}), ("category", {"category": "seven"}),
        ("dömain:category", {"category": "sieben"}), ("", None), ("", None), ("", None), ("", None), ("", None)]
    track, = recording.threads().values()
    assert recording.trace.strings[track["name"]] == "händle"


def test_ranges(tmp_path):
    recording, lines = calls(tmp_path, "calls")
    assert lines["push"] == "0 1 0 1 2 3" and lines["pop"] == "3 2 1 0 1 0" and lines["unique"] == "1"
    ranges = [event for event in recording.events if event.kind == SCOPE]
    assert brief(recording, ranges) == [
        ("begin", "a", 0, None), ("begin", "w", 1, None), ("begin", "dömain:wide", 2, None),
        ("begin", "dömain:registered", 3, None), ("begin", "paid", 4, {"payload": 3}), ("begin", "wide", 5, None),
        *(("end", "", depth, None) for depth in (5, 4, 3, 2, 1, 0)),
        ("start", "first", 0, None), ("start", "second", 0, None), ("start", "dömain:paid", 0, {"payload": 3}),
        ("stop", "first", 0, None), ("stop", "dömain:paid", 0, None), ("stop", "second", 0, None)]
    flows = {event.name: {other.flow for other in ranges if other.name == event.name} for event in ranges[12:]}
    assert len(flows) == 3 and all(len(of_name) == 1 for of_name in flows.values())
    assert len(set.union(*flows.values())) == 3


def test_domains_nest_each_for_itself(tmp_path):
    recording, lines = calls(tmp_path, "domains")
    assert lines["cross"] == "0 0 0 0 -1 -1" and lines["nested"] == "0 1 0"
    assert brief(recording) == [
        ("begin", "x:a", 0, None), ("begin", "y:b", 1, None), ("end", "", 1, None), ("end", "", 0, None),
        ("begin", "y:b", 0, None),  # goes on outside x's
        ("begin", "x:a", 1, None), ("end", "", 1, None), ("end", "", 0, None), ("begin", "x:a", 0, None),
        ("mark", "inside x", 1, None), ("end", "", 0, None),
        ("end", "", NOT_MATCHED, None), ("end", "", NOT_MATCHED, None),
        ("begin", "x:a", 0, None), ("begin", "x:b", 1, None), ("begin", "y:b", 2, None),
        ("end", "", 2, None), ("end", "", 1, None), ("end", "", 0, None)]
    assert all(one.end is not None for one in recording.trace.slices())


def test_a_child_starts_outside_of_ranges(tmp_path):
    recording, lines = calls(tmp_path, "fork")
    assert lines["child"] == "-1 0 0" and lines["parent"] == "1 0"
    parent, child = (brief(recording, events) for _, events in sorted(recording.by_track().items()))
    assert parent == [("begin", "parent", 0, None), ("begin", "parent too", 1, None), ("end", "", 1, None),
                      ("end", "", 0, None)]
    assert child == [("end", "", NOT_MATCHED, None), ("begin", "child", 0, None), ("end", "", 0, None)]


def test_threads_give_their_memory_back(tmp_path):
    recording, lines = calls(tmp_path, "threads", 300)
    assert lines["grown"] == "0"
    assert Counter(map(recording.name, recording.events)) == {"left open": 300, "thread": 300, "": 300}
    assert len(recording.threads()) == 300


def test_deeper_than_is_remembered(tmp_path):
    recording, lines = calls(tmp_path, "deep", 30000, options=("--trace-size-mb", "64"))
    assert lines["deep"] == "30000 30000"
    assert len(recording.events) == 60000
    assert sorted(one.depth for one in recording.trace.slices() if one.end is not None) == list(range(30000))


def test_strings_of_many_threads(tmp_path):
    recording, _ = calls(tmp_path, "strings", 8)
    names = Counter(recording.name(event) for event in recording.events if event.phase == BEGIN)
    assert names == {f"strings:string {i}": 8 for i in range(1000)}


@pytest.mark.parametrize("extra", [{}, {"NVTX_INJECTION64_PATH": str(RUNTIME)},
                                   {"NVTX_INJECTION64_PATH": str(RUNTIME), "INFERSCOPE_SESSION": "/nowhere"}])
def test_nobody_is_recording(extra):
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("NVTX_", "INFERSCOPE_"))}
    run = subprocess.run([CALLS, "calls"], env=clean | extra, capture_output=True, text=True, check=True, timeout=PATIENCE)
    assert run.stdout == "attached 0\n" and run.stderr == ""


def test_annotations(tmp_path):
    recording = python(tmp_path, """
import nvtx
@nvtx.annotate(color="green")
def step(n):
    nvtx.mark("tokens", payload=n)
    with nvtx.annotate("kernel", domain="library", category="gemm", payload=0.5):
        pass
for n in range(3):
    step(n)
""")
    step = [("begin", "step", 0, None), ("mark", "tokens", 1, None),
            ("begin", "library:kernel", 1, {"payload": 0.5, "category": "gemm"}), ("end", "", 1, None), ("end", "", 0, None)]
    assert [event[:3] for event in brief(recording)] == [event[:3] for event in step * 3]
    assert [e.metadata for e in recording.events if e.kind == INSTANT] == [{"payload": n} for n in range(3)]
    assert [e[3] for e in brief(recording) if e[1] == "library:kernel"] == [step[2][3]] * 3


def test_python_threads_and_ranges(tmp_path):
    recording = python(tmp_path, """
import nvtx, threading
ready = threading.Barrier(4)
def work(i):
    for n in range(1000):
        with nvtx.annotate("work"):
            with nvtx.annotate(f"worker {i}", domain="w"):
                pass
    ready.wait()
    nvtx.end_range(ranges[i])
ranges = [nvtx.start_range("request", domain="w") for _ in range(4)]
threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
for t in threads: t.start()
for t in threads: t.join()
""")
    tracks = [events for events in recording.by_track().values() if len(events) > 4]
    assert len(tracks) == 4
    for i, events in enumerate(sorted(tracks, key=lambda events: recording.name(events[1]))):
        once = [("begin", "work", 0, None), ("begin", f"w:worker {i}", 1, None), ("end", "", 1, None), ("end", "", 0, None)]
        assert brief(recording, events) == once * 1000 + [("stop", "w:request", 0, None)]
    flows = [event.flow for event in recording.events if event.phase in (ASYNC_BEGIN, ASYNC_END)]
    assert len(flows) == 8 and set(Counter(flows).values()) == {2}
