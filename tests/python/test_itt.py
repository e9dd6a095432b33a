"""Tasks, events and counters of programs with ITT: one that speaks its protocol (tests/programs/itt_calls.c), PyPI's
ittapi, and PyTorch.

INFERSCOPE_TORCH_PYTHON is the interpreter that has the packages; the one that runs the tests unless given.
"""

import os
import subprocess
import sys
from collections import Counter

import pytest

from recording import BEGIN, BUILD, COUNTER, END, INSTANT, SCOPE, record

PYTHON = os.environ.get("INFERSCOPE_TORCH_PYTHON", sys.executable)
CALLS = BUILD / "tests" / "programs" / "itt_calls"
RUNTIME = BUILD / "libinferscope-rt.so"
ASYNC_BEGIN, ASYNC_END = 4, 5
PATIENCE = 60


def calls(folder, *command, options=()):
    recording = record(folder, *command, program=CALLS, options=options)
    assert recording.status == 0 and recording.losses == []
    return recording, recording.out.splitlines()


def python(folder, package, script):
    """Runs a script that prints nothing.  -E: without what PYTHONPATH adds to it."""
    run = subprocess.run([PYTHON, "-c", f"import {package}"], capture_output=True, check=False, timeout=PATIENCE)
    if run.returncode != 0:
        pytest.skip(f"{PYTHON} has no package {package}")
    recording = record(folder, "-E", "-c", script, program=PYTHON)
    assert recording.status == 0 and recording.losses == [] and recording.out == ""
    return recording


def brief(recording, *phases):
    names = {BEGIN: "begin", END: "end", 3: "mark", ASYNC_BEGIN: "start", ASYNC_END: "stop"}
    return [(names[e.phase], recording.name(e), e.depth) for e in recording.events
            if e.kind != COUNTER and (not phases or e.phase in phases)]


def test_tasks(tmp_path):
    recording, lines = calls(tmp_path, "calls")
    assert lines == ["attached 1 unknown 1", "domain 1 calls 1", "string text 1", "event 1 0 0 -1", "counter 1 1"]
    assert brief(recording, BEGIN, END, 3) == [
        ("begin", "outer", 0), ("begin", "made before", 1), ("begin", "itt_calls_function", 2), ("end", "", 2),
        ("mark", "mark", 2), ("end", "", 1), ("begin", "", 1), ("end", "", 1), ("end", "", 0), ("end", "", 65535)]
    track, = recording.threads().values()
    assert recording.trace.strings[track["name"]] == "caller"


def test_asynchronous_ranges(tmp_path):
    recording, _ = calls(tmp_path, "calls")
    ranges = [event for event in recording.events if event.phase in (ASYNC_BEGIN, ASYNC_END)]
    assert all(event.kind == SCOPE for event in ranges)
    assert brief(recording, ASYNC_BEGIN, ASYNC_END) == [
        ("start", "first", 0), ("start", "second", 0), ("stop", "first", 0), ("stop", "second", 0), ("stop", "", 0),
        ("start", "region", 0), ("stop", "region", 0), ("start", "calls", 0), ("start", "calls", 0), ("stop", "calls", 0),
        ("stop", "calls", 0), ("start", "event", 0), ("stop", "event", 0)]
    flows = [event.flow for event in ranges]
    first, second, unknown, region, frame, inner, event = (flows[i] for i in (0, 1, 4, 5, 7, 8, 11))
    assert flows == [first, second, first, second, unknown, region, region, frame, inner, inner, frame, event, event]
    assert len({first, second, unknown, region, frame, inner, event}) == 7


def test_counters(tmp_path):
    recording, _ = calls(tmp_path, "calls")
    assert [(recording.name(event), event.value) for event in recording.events if event.kind == COUNTER] == [
        ("server:requests", 1), ("server:requests", 10), ("server:requests", 9), ("server:requests", 5),
        ("server:requests", 40), ("server:requests", 41), ("load", 0.75), ("calls:small", -3), ("early", 1), ("early", 2),
        ("by string", 1), ("by string", 7), ("by string", 6), ("by string", 4)]


def test_strings_of_many_threads(tmp_path):
    recording, lines = calls(tmp_path, "strings", 8)
    assert "strings 1000" in lines
    names = Counter(recording.name(event) for event in recording.events if event.phase == BEGIN)
    assert names == {f"string {i}": 8 for i in range(1000)}


def test_many_open_ranges(tmp_path):
    recording, _ = calls(tmp_path, "open", 4000)
    assert Counter(brief(recording)) == {("start", "overlapped", 0): 4000, ("stop", "overlapped", 0): 4000}
    assert set(Counter(event.flow for event in recording.events).values()) == {2}


def test_a_list_that_is_not_known(tmp_path):
    recording, lines = calls(tmp_path, "old")
    assert lines == ["attached 0 unknown 0"] and recording.events == []


@pytest.mark.parametrize("extra", [{}, {"INTEL_LIBITTNOTIFY64": str(RUNTIME)}])
def test_nobody_is_recording(extra):
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("INTEL_", "INFERSCOPE_"))}
    run = subprocess.run([CALLS, "calls"], env=clean | extra, capture_output=True, text=True, check=True, timeout=PATIENCE)
    assert run.stdout == f"attached 0 unknown {int(bool(extra))}\n" and run.stderr == ""


def test_ittapi(tmp_path):
    recording = python(tmp_path, "ittapi", """
import ittapi, os
ittapi.thread_set_name("main thread")
@ittapi.task
def step():
    with ittapi.task("part", domain="library"):
        pass
for _ in range(3):
    step()
ittapi.pause()
with ittapi.task("overlapped", overlapped=True):
    with ittapi.event("event"):
        pass
ittapi.resume()
if os.fork() == 0:
    step()
    os._exit(0)
os.wait()
""")
    once = [("begin", "step", 0), ("begin", "part", 1), ("end", "", 1), ("end", "", 0)]
    assert brief(recording) == once * 3 + [("start", "overlapped", 0), ("start", "event", 0), ("stop", "event", 0),
                                           ("stop", "overlapped", 0)] + once
    assert [recording.trace.strings.get(track["name"]) for track in recording.threads().values()][0] == "main thread"
    assert len(recording.trace.processes) == 2


def test_pytorch(tmp_path):
    recording = python(tmp_path, "torch", """
import torch
layer = torch.nn.Linear(8, 8)
x = torch.ones(4, 8)
with torch.autograd.profiler.emit_itt():
    for _ in range(10):
        with torch.profiler.itt.range("forward"):
            layer(x)
torch.profiler.itt.mark("done")
""")
    begins = Counter(recording.name(event) for event in recording.events if event.phase == BEGIN)
    assert begins["forward"] == begins["aten::linear"] == begins["aten::addmm"] == 10 and begins["done"] == 1
    depths = {(recording.name(event), event.depth) for event in recording.events if event.phase == BEGIN}
    assert {("forward", 0), ("aten::linear", 1), ("done", 0)} <= depths
    assert sum(begins.values()) == sum(event.phase == END for event in recording.events)
    assert all(one.end is not None for one in recording.trace.slices())
