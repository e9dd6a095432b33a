"""PyTorch's operators as the runtime records them (src/runtime/torch.c), against what torch.profiler says.

The recorded programs run under INFERSCOPE_TORCH_PYTHON, else under the Python that runs this; it needs torch.
"""

import json
import os
import platform
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from recording import BEGIN, BUILD, END, INFERSCOPE, PATIENCE, SCOPE, record

PYTHON = os.environ.get("INFERSCOPE_TORCH_PYTHON", sys.executable)
HERE = Path(__file__).resolve().parent
OP, ASYNC_BEGIN, ASYNC_END = 9, 4, 5
REFUSED = 2

# -E: without the door for Python, which would start too.
PRELUDE = f"""
import json, os, sys, threading
sys.path.insert(0, {str(HERE)!r})
import torch
import torch_door as door
torch.manual_seed(0)
torch.set_num_threads(1)
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
x = torch.ones(3, 4)
"""


def run(folder, code, prelude=PRELUDE, python=PYTHON):
    program = folder / "program.py"
    program.write_text(prelude + code)
    recording = record(folder, "-E", program, program=python)
    assert recording.status == 0, recording.out
    return recording


class Row:
    """A begin, with what was open around it."""

    def __init__(self, recording, event, around):
        self.kind, self.depth, self.name = event.kind, event.depth, recording.name(event)
        self.correlation, self.metadata = event.correlation, event.metadata
        self.around = [row.name for row in around]
        self.parent = around[-1] if around else None


def rows_of(recording, events):
    """The begins of a track.  Every end ends something, and nothing stays open."""
    rows, stack = [], []
    for event in events:
        if event.phase == BEGIN:
            assert event.depth == len(stack)
            rows.append(Row(recording, event, stack))
            stack.append(rows[-1])
        elif event.phase == END:
            assert event.depth < len(stack) and stack[event.depth].kind == event.kind
            del stack[event.depth:]
    assert stack == []
    return rows


def tracks_of(recording):
    return [rows_of(recording, events) for events in recording.by_track().values()]


def only_track(recording):
    rows, = tracks_of(recording)
    return rows


def without_twins(rows):
    """As torch.profiler shows them: an operator that does nothing but call another form of itself is one."""
    children = Counter(id(row.parent) for row in rows)
    return [row for row in rows if not (row.parent and row.parent.name == row.name and children[id(row.parent)] == 1)]


def tree(rows):
    return [[row.depth, row.name] for row in rows]


# ---- What is recorded ------------------------------------------------------------


def test_a_forward_pass(tmp_path):
    recording = run(tmp_path, """
with torch.no_grad():
    net(x)
    assert door.start() == 1
    net(x)
    door.stop()
    with torch.profiler.profile() as profiler:
        net(x)
print(json.dumps(door.tree(profiler.events())))
""")
    rows = only_track(recording)
    assert tree(rows) == json.loads(recording.out)
    assert [row.name for row in rows if row.depth == 0] == ["aten::linear", "aten::relu", "aten::linear"]
    assert [row.around for row in rows if row.name == "aten::addmm"] == [["aten::linear"]] * 2
    assert {row.kind for row in rows} == {OP}
    assert recording.losses == []


def test_user_scopes(tmp_path):
    recording = run(tmp_path, """
door.start()
with torch.profiler.record_function("outer"):
    for i in range(300):
        with torch.profiler.record_function(f"inner {i % 100}, with a name that is too long for a short string"):
            torch.ones(1)
door.stop()
""")
    rows = only_track(recording)
    scopes = [row for row in rows if row.kind == SCOPE]
    assert [row.name for row in scopes] == ["outer"] + [
        f"inner {i % 100}, with a name that is too long for a short string" for i in range(300)]
    assert Counter(row.name for row in rows if row.kind == OP) == {"aten::ones": 300, "aten::empty": 300, "aten::fill_": 300}
    assert all(row.around[:2] == ["outer", scopes[1 + i // 3].name] for i, row in enumerate(r for r in rows if r.kind == OP))


def test_scopes_that_end_out_of_order(tmp_path):
    """One that is open inside another that ends goes on, as a slice of its own."""
    recording = run(tmp_path, """
door.start()
outer, inner = torch.profiler.record_function("outer"), torch.profiler.record_function("inner")
outer.__enter__(); inner.__enter__(); outer.__exit__(None, None, None)
torch.ones(1)
inner.__exit__(None, None, None)
torch.ones(1)
door.stop()
""")
    ones = [[0, "aten::ones"], [1, "aten::empty"], [1, "aten::fill_"]]
    assert tree(only_track(recording)) == [[0, "outer"], [1, "inner"], [0, "inner"]] + [[d + 1, name] for d, name in ones] + ones


def test_inside_of_other_slices(tmp_path):
    """Those of the same thread share a depth.  What was open inside one that has ended is closed, and forgotten."""
    recording = run(tmp_path, """
kept = []
door.start()
for _ in range(1100):
    door.calls.scope_begin(None, b"around")
    kept.append(torch.profiler.record_function("inside"))
    kept[-1].__enter__()
    door.calls.scope_end()
    door.calls.scope_end()
door.calls.scope_begin(None, b"around")
torch.relu(x)
for one in kept:
    one.__exit__(None, None, None)
torch.sigmoid(x)
door.calls.scope_end()
door.stop()
""")
    assert tree(only_track(recording)) == [[0, "around"], [1, "inside"]] * 1100 + [
        [0, "around"], [1, "aten::relu"], [2, "aten::clamp_min"], [1, "aten::sigmoid"]]
    assert recording.losses == []


def test_deeper_than_we_follow(tmp_path):
    recording = run(tmp_path, """
import contextlib
door.start()
with contextlib.ExitStack() as stack:
    for i in range(1100):
        stack.enter_context(torch.profiler.record_function("scope"))
torch.ones(1)
door.stop()
""")
    rows = only_track(recording)
    assert [row.depth for row in rows if row.kind == SCOPE] == list(range(1000))
    assert tree(rows[1000:]) == [[0, "aten::ones"], [1, "aten::empty"], [1, "aten::fill_"]]
    assert recording.lost(REFUSED) == recording.trace.lost == 200


def test_async_scopes(tmp_path):
    """Collectives end when they are done, in another thread: they belong to none."""
    recording = run(tmp_path, """
import torch.distributed as dist
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
door.start()
for _ in range(3):
    dist.all_reduce(torch.ones(8))
dist.barrier()
door.stop()
dist.destroy_process_group()
""")
    begins = [event for event in recording.events if event.phase == ASYNC_BEGIN]
    ends = [event for event in recording.events if event.phase == ASYNC_END]
    assert Counter(recording.name(event) for event in begins) == {"gloo:all_reduce": 3, "gloo:barrier": 1}
    assert sorted(event.flow for event in begins) == sorted(event.flow for event in ends)
    tracks_of(recording)


def test_every_thread(tmp_path):
    """Two threads of Python's, and one of libtorch's own."""
    recording = run(tmp_path, """
@torch.jit.script
def work(x):
    return torch.cumsum(x, 0)
@torch.jit.script
def forked(x):
    return torch.jit.wait(torch.jit.fork(work, x))
def body():
    for _ in range(50):
        net(x)
door.start()
threads = [threading.Thread(target=body) for _ in range(2)]
for thread in threads: thread.start()
for thread in threads: thread.join()
forked(x)
door.stop()
os._exit(0)  # libtorch aborts now and then when its own threads end with the program, recorded or not
""")
    counts = sorted((Counter(row.name for row in rows) for rows in tracks_of(recording)), key=lambda count: count["aten::linear"])
    assert [count["aten::linear"] for count in counts[-2:]] == [100, 100]
    assert [count["aten::addmm"] for count in counts[-2:]] == [100, 100]
    others = [count for count in counts[:-2] if count["aten::cumsum"]]
    assert len(others) == 1 and others[0]["aten::cumsum"] == 1


def test_correlation(tmp_path):
    """One step of training: a node of the backward pass has the number of the operator that it goes back over."""
    recording = run(tmp_path, """
door.start()
net(x).sum().backward()
door.stop()
""")
    rows = only_track(recording)
    numbers = {name: [row.correlation for row in rows if row.name == name] for name in
               ("aten::addmm", "aten::relu", "aten::linear", "aten::t", "AddmmBackward0", "ReluBackward0", "SumBackward0")}
    assert len(set(numbers["aten::addmm"])) == 2 and None not in numbers["aten::addmm"]
    assert numbers["AddmmBackward0"] == numbers["aten::addmm"][::-1]
    assert numbers["ReluBackward0"] == numbers["aten::relu"] and None not in numbers["aten::relu"]
    assert numbers["aten::linear"] == [number for number in numbers["aten::t"] if number is not None][:2]
    assert [row.correlation for row in rows if row.name == "aten::sum" and row.depth == 0] == numbers["SumBackward0"]
    assert {row.correlation for row in rows if row.name == "aten::mm"} == {None}


def test_correlation_is_found_without_the_known_operator(tmp_path):
    """Started under a profiler, where we run nothing of our own: after a few operators."""
    recording = run(tmp_path, """
with torch.profiler.profile():
    door.start()
    for _ in range(4):
        net(x).sum().backward()
    door.stop()
""")
    rows = only_track(recording)
    addmm = [row.correlation for row in rows if row.name == "aten::addmm"]
    back = [row.correlation for row in rows if row.name == "AddmmBackward0"]
    assert addmm[4:] == [back[i ^ 1] for i in range(4, 8)] and None not in addmm[4:]
    assert len(set(addmm[4:])) == 4


def test_shapes(tmp_path):
    recording = run(tmp_path, """
with torch.no_grad():
    assert door.start(door.SHAPES) == 1
    net(x)
    torch.ones(70000, 1).sum(0)
    torch.cat([x] * 2)
    door.stop()
""")
    shapes = {row.name: row.metadata and row.metadata.get("shapes") for row in only_track(recording)}
    assert shapes["aten::linear"] == [[3, 8], [2, 8], [2]]
    assert shapes["aten::addmm"][:3] == [[2], [3, 8], [8, 2]]
    assert shapes["aten::relu"] == [[3, 8]]
    assert shapes["aten::sum"][0] == [70000, 1]


def test_shapes_too_long_for_an_event(tmp_path):
    """What does not fit is left out, from the first that does not; the operator is there in any case."""
    recording = run(tmp_path, """
long, longer = torch.empty((1,) * 600), torch.empty((1,) * 1100)
big = torch.empty(1).expand(5000000000, 70000, 300, 1, 2)
door.start(door.SHAPES)
for _ in range(300):
    long.view_as(long)
    longer.detach()
    big.detach()
door.stop()
""")
    rows = only_track(recording)
    shapes = {(row.name, json.dumps(row.metadata)) for row in rows if row.name in ("aten::view_as", "aten::detach")}
    assert shapes == {("aten::view_as", json.dumps({"shapes": [[1] * 600]})), ("aten::detach", "null"),
                      ("aten::detach", json.dumps({"shapes": [[5000000000, 70000, 300, 1, 2]]}))}
    assert Counter(row.name for row in rows)["aten::detach"] == 600
    assert recording.losses == []


def test_shapes_on_and_off(tmp_path):
    recording = run(tmp_path, """
for flags in (0, door.SHAPES, 0, door.SHAPES):
    door.start(flags)
    torch.relu(x)
door.stop()
""")
    rows = [row for row in only_track(recording) if row.name == "aten::relu"]
    assert [row.metadata for row in rows] == [None, {"shapes": [[3, 4]]}] * 2


# ---- Beside torch.profiler -------------------------------------------------------


@pytest.mark.parametrize("first", ["ours", "theirs"])
def test_beside_the_profiler(tmp_path, first):
    """What it sees is what it sees without us, and we see the same."""
    start = "door.start()\nwith torch.profiler.profile() as profiler:\n    step()\ndoor.stop()" if first == "ours" else \
            "with torch.profiler.profile() as profiler:\n    assert door.start() == 1\n    step()\n    door.stop()"
    recording = run(tmp_path, f"""
def step():
    with torch.profiler.record_function("step"):
        net(x).sum().backward()
step()
with torch.profiler.profile() as alone:
    step()
{start}
print(json.dumps([door.tree(alone.events()), door.tree(profiler.events())]))
with torch.profiler.profile(record_shapes=True) as profiler:
    step()
print(json.dumps(door.tree(profiler.events())))
""")
    lines = [json.loads(line) for line in recording.out.splitlines() if line.startswith("[")]
    alone, beside = lines[0]
    assert alone == beside == lines[1]
    rows = only_track(recording)
    assert [row.name for row in without_twins(rows) if "step" in (row.name, *row.around)] == [name for _, name in alone]


# ---- Programs that are hard to record --------------------------------------------


def test_started_in_the_middle_of_the_import(tmp_path):
    """As the extension for Python does it: as soon as libtorch is there."""
    recording = run(tmp_path, """
answers = []
def look(frame, event, argument):
    if not answers or answers[-1] == 0:
        answers.append(door.start())
sys.setprofile(look)
import torch
sys.setprofile(None)
assert answers[0] == 0 and answers[-1] == 1 and set(answers) == {0, 1}, answers
torch.relu(torch.ones(3))
""", prelude=f"import sys\nsys.path.insert(0, {str(HERE)!r})\nimport torch_door as door\n")
    rows = only_track(recording)
    assert tree(rows)[-5:] == [[0, "aten::ones"], [1, "aten::empty"], [1, "aten::fill_"],
                               [0, "aten::relu"], [1, "aten::clamp_min"]]
    assert "aten::can_cast" not in [row.name for row in rows]


def test_a_program_that_runs_no_operator(tmp_path):
    recording = run(tmp_path, "assert door.start() == 1\n", prelude=PRELUDE.split("torch.manual_seed")[0])
    assert recording.events == []


def test_a_thousand_starts(tmp_path):
    recording = run(tmp_path, """
for i in range(1000):
    assert door.start() == 1
    assert door.start() == 1
    torch.relu(x)
    door.stop()
    door.stop()
    torch.sigmoid(x)
""")
    rows = only_track(recording)
    assert tree(rows) == [[0, "aten::relu"], [1, "aten::clamp_min"]] * 1000


def test_stopped_inside_an_operator(tmp_path):
    recording = run(tmp_path, """
door.start()
with torch.profiler.record_function("outer"):
    door.stop()
    torch.relu(x)
door.start()
torch.relu(x)
""")
    assert tree(only_track(recording)) == [[0, "outer"], [0, "aten::relu"], [1, "aten::clamp_min"]]


def test_forked_children(tmp_path):
    """In the middle of a scope, which is the parent's."""
    recording = run(tmp_path, """
import multiprocessing
def child():
    for _ in range(10):
        net(x)
door.start()
with torch.profiler.record_function("parent"):
    torch.relu(x)
    context = multiprocessing.get_context("fork")
    children = [context.Process(target=child) for _ in range(2)]
    for one in children: one.start()
    for one in children: one.join()
    assert all(one.exitcode == 0 for one in children)
    if os.fork() == 0:
        torch.relu(x)
        raise SystemExit(0)
    os.wait()
    torch.relu(x)
door.stop()
""")
    assert recording.losses == [] and len(recording.trace.processes) == 4
    tracks = sorted(tracks_of(recording), key=len)
    assert tree(tracks[0]) == [[0, "aten::relu"], [1, "aten::clamp_min"]]
    assert [row.name for row in tracks[1] if row.depth < 2] == ["parent", "aten::relu", "aten::relu"]
    for rows in tracks[2:]:
        assert Counter(row.name for row in rows if row.depth == 0) == {"aten::linear": 20, "aten::relu": 10}


def test_threads_that_end_inside_operators(tmp_path):
    recording = run(tmp_path, """
def body(i):
    kept.append(torch.profiler.record_function(f"open {i}"))
    kept[-1].__enter__()
    torch.relu(x)
kept = []
door.start()
for i in range(200):
    thread = threading.Thread(target=body, args=(i,))
    thread.start(); thread.join()
torch.relu(x)
kept.clear()
door.stop()
""")
    names = Counter(recording.name(event) for event in recording.events if event.phase == BEGIN)
    assert names["aten::relu"] == 201 and sum(name.startswith("open") for name in names) == 200
    relu = [event.depth for event in recording.events if recording.name(event) == "aten::relu"]
    assert sorted(relu) == [0] + [1] * 200


def test_the_end_of_the_session(tmp_path):
    recording = run(tmp_path, """
door.start()
torch.relu(x)
with torch.profiler.record_function("open"):
    door.inside.leave()
    for _ in range(1000):
        torch.relu(x)
door.stop()
assert door.start() == 0
""")
    names = [recording.name(event) for event in recording.events if event.phase == BEGIN]
    assert names == ["aten::relu", "aten::clamp_min", "open"]


# ---- Libraries that are not what they seem ---------------------------------------

FAKE = """
import ctypes, sys
sys.path.insert(0, {here!r})
import torch_door as door
assert door.start() == 0
torch = ctypes.CDLL({library!r})
"""
not_x86 = pytest.mark.skipif(platform.machine() != "x86_64", reason="the library that stands in for libtorch is made for x86-64")


def run_fake(folder, code, source="libfake-torch.so"):
    """Recording and what the recorder said."""
    library = folder / "libtorch_cpu.so"
    shutil.copy(BUILD / "tests" / "programs" / source, library)
    code = FAKE.format(here=str(HERE), library=str(library)) + code
    done = subprocess.run([INFERSCOPE, "run", "--report", "none", "--trace", folder / "trace.sbt", "--", sys.executable, "-E", "-c", code],
                          capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    dump = subprocess.run([INFERSCOPE, "dump", folder / "trace.sbt", "--format", "json"], capture_output=True, text=True,
                          timeout=PATIENCE, check=True)
    return [event["name"] for event in json.loads(dump.stdout)], done.stderr


@not_x86
@pytest.mark.parametrize("watched", [0, 1])
def test_a_library_that_is_fine(tmp_path, watched):
    names, said = run_fake(tmp_path, f"""
torch.torch_behave(0, {watched})
assert door.start() == 1 and torch.torch_registered() == 3
for _ in range(20):
    torch.torch_operator(b"aten::one")
door.stop()
assert torch.torch_registered() == 0
""")
    assert names == ["aten::one"] * 20
    assert "PyTorch" not in said


@not_x86
@pytest.mark.parametrize("behaviour, why", [
    (1, "no readable name"), (2, "no readable name"), (3, "something else than a RecordFunction"),
    (4, "something else than a RecordFunction"), (5, "does not begin and end"), (6, "does not begin and end"),
    (7, "looks like another one")])
def test_a_library_that_fails_the_check(tmp_path, behaviour, why):
    names, said = run_fake(tmp_path, f"""
torch.torch_behave({behaviour}, 0)
assert door.start() == -2 and torch.torch_registered() == 0
torch.torch_operator(b"aten::one")
assert door.start() == -2
door.stop()
assert door.start() == -2
""")
    assert names == []
    assert said.count("This PyTorch is not one that InferScope knows") == 1 and why in said


@not_x86
@pytest.mark.parametrize("behaviour, why", [
    (1, "no readable name"), (2, "no readable name"), (3, "something else than a RecordFunction"),
    (4, "something else than a RecordFunction"), (5, "operators do not end")])
def test_a_library_that_fails_on_trial(tmp_path, behaviour, why):
    """Somebody listens, so that the program's own operators have to do."""
    names, said = run_fake(tmp_path, f"""
torch.torch_behave({behaviour}, 1)
assert door.start() == 1
for _ in range(1001):
    torch.torch_operator(b"aten::one")
assert door.start() == -2 and torch.torch_registered() == 0
""")
    assert len(names) == (1000 if behaviour == 5 else 0)
    assert said.count("This PyTorch is not one that InferScope knows") == 1 and why in said


def test_a_library_without_a_symbol(tmp_path):
    names, said = run_fake(tmp_path, "assert door.start() == -2 == door.start()\n", source="libfake-torch-old.so")
    assert names == []
    assert "it has no _ZN2at14RecordFunctionC1EONS_13StepCallbacksE" in said


def test_a_library_without_sizes(tmp_path):
    if platform.machine() != "x86_64":
        pytest.skip("the library that stands in for libtorch is made for x86-64")
    names, said = run_fake(tmp_path, """
assert door.start(door.SHAPES) == 1
torch.torch_operator(b"aten::one")
""")
    assert names == ["aten::one"]
    assert "does not tell the sizes of tensors" in said
