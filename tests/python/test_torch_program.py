"""PyTorch programs under `inferscope run`: what they print is what they print alone, and calls, modules, operators and scopes
are where they belong.

The programs run under INFERSCOPE_TORCH_PYTHON, else under the Python that runs this; it needs torch.
"""

import os
import re
import subprocess
import sys
import sysconfig
import textwrap
from collections import Counter

import pytest

import package
import sbt
from recording import BUILD, INFERSCOPE, PATIENCE

PYTHON = os.environ.get("INFERSCOPE_TORCH_PYTHON", sys.executable)
CALL, SCOPE, OP = 1, 2, 9
BEGIN, END = 0, 1
OURS = re.compile(r"inferscope: |[A-Z]+:\d{4}-\d\d-\d\d ")  # or with a time in it

if not (BUILD / "python" / "inferscope" / f"_tracer{sysconfig.get_config_var('EXT_SUFFIX')}").exists():
    pytest.skip("there is no extension for this Python in the build", allow_module_level=True)

PRELUDE = """
import json, os, sys
import torch
torch.manual_seed(0)
torch.set_num_threads(1)

class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(4, 8), torch.nn.Linear(8, 4)

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))

net, x = Block(), torch.ones(3, 4)
"""


def environment(**variables):
    clean = {key: value for key, value in os.environ.items() if not key.startswith("INFERSCOPE")}
    return {**clean, "PYTHONPATH": str(BUILD / "python"), **variables}


def execute(command, folder, **variables):
    done = subprocess.run([str(part) for part in command], cwd=folder, env=environment(**variables), capture_output=True, text=True,
                          timeout=PATIENCE, stdin=subprocess.DEVNULL, check=False)
    lines = [line for line in done.stderr.splitlines() if not OURS.match(line)]
    return done.returncode, done.stdout, lines


def record(folder, code, *options, **variables):
    """The trace of a program that did under us what it does alone."""
    program = folder / "program.py"
    program.write_text(PRELUDE + textwrap.dedent(code))
    alone = execute([PYTHON, program], folder)
    recorded = execute([INFERSCOPE, "run", "--report", "none", "--trace", folder / "trace.sbt", *options, "--", PYTHON, program], folder,
                       **variables)
    assert recorded == alone and alone[0] == 0, recorded
    trace = sbt.read(folder / "trace.sbt")
    assert trace.violations == [] and trace.damage == [] and trace.lost == 0
    return trace


def slices(trace, kinds=(CALL, SCOPE, OP)):
    """(name, kind, names around it, event) of all begins."""
    found, stacks = [], {}
    for event in trace.events:
        stack = stacks.setdefault(event.track, [])
        if event.phase == BEGIN:
            del stack[event.depth:]
            name = trace.strings.get(event.name, "")
            if event.kind in kinds:
                found.append((name, event.kind, tuple(stack), event))
            stack.append(name)
        elif event.phase == END:
            del stack[event.depth:]
    return found


def test_operators_are_inside_modules_inside_calls(tmp_path):
    trace = record(tmp_path, """
        def infer():
            return net(x)
        infer()
        print(float(infer().sum().detach()))
    """)
    found = slices(trace)
    addmm = [around for name, _, around, _ in found if name == "aten::addmm"]
    assert len(addmm) == 4
    for around, linear in zip(addmm, (0, 1, 0, 1)):
        inside = [name for name in around if "torch." not in name]
        assert inside == ["__main__.<module>", "__main__.infer", "nn.Module: Block_0", "__main__.Block.forward",
                          f"nn.Module: Linear_{linear}", "aten::linear"]
    assert sum(name == "__main__.infer" for name, *_ in found) == 2
    relu = [around[-1] for name, kind, around, _ in found if name == "aten::relu" and kind == OP]
    assert relu == ["__main__.Block.forward"] * 2


def test_shapes_on_request(tmp_path):
    trace = record(tmp_path, "net(x)", "--shapes")
    addmm = [event.metadata["shapes"] for name, _, _, event in slices(trace) if name == "aten::addmm"]
    assert [shapes[:3] for shapes in addmm] == [[[8], [3, 4], [4, 8]], [[4], [3, 8], [8, 4]]]


def test_without_operators_and_without_calls(tmp_path):
    trace = record(tmp_path, "net(x)", "--ops", "off")
    assert not slices(trace, [OP]) and slices(trace, [CALL])
    trace = record(tmp_path, "net(x)", "--calls", "off")
    assert not slices(trace, [CALL])
    assert sum(name == "aten::addmm" for name, *_ in slices(trace, [OP])) == 2


def test_backward_has_the_number_of_forward(tmp_path):
    trace = record(tmp_path, """
        net(x).sum().backward()
        print(net.first.weight.grad.abs().sum() > 0)
    """)
    numbers = {}
    for name, _, _, event in slices(trace, [OP]):
        if event.correlation is not None and name in ("aten::addmm", "AddmmBackward0"):
            numbers.setdefault(name, []).append(event.correlation)
    assert len(numbers["aten::addmm"]) == 2
    assert sorted(numbers["AddmmBackward0"]) == sorted(numbers["aten::addmm"])


@pytest.mark.parametrize("door", ["callback", "itt"])
def test_the_program_has_a_profiler_of_its_own(tmp_path, door):
    trace = record(tmp_path, """
        net(x)
        for _ in range(2):
            with torch.profiler.profile(with_stack=True) as profiler:
                net(x)
            names = [event.name for event in profiler.events() if event.name.startswith("aten::")]
            print(sorted(names))
            net(x)
    """, INFERSCOPE_TORCH_DOOR=door)
    kind = OP if door == "callback" else SCOPE
    count = sum(name == "aten::addmm" for name, *_ in slices(trace, [kind]))
    assert count == 10 if door == "callback" else count >= 2


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_compiled_models(tmp_path, backend):
    trace = record(tmp_path, f"""
        compiled = torch.compile(net, backend={backend!r})
        def infer(x):
            return compiled(x)
        with torch.no_grad():
            print([round(float(infer(torch.ones(n, 4)).sum()), 4) for n in (3, 3, 5, 6)])
        print(round(float(net(x).sum().detach()), 4))
    """)
    names = Counter(name for name, *_ in slices(trace))
    assert names["__main__.infer"] == 4
    assert names["aten::addmm"] >= 10


def test_data_loader_workers(tmp_path):
    trace = record(tmp_path, """
        class Numbers(torch.utils.data.Dataset):
            def __len__(self):
                return 16
            def __getitem__(self, i):
                return torch.full((2,), float(i))

        loader = torch.utils.data.DataLoader(Numbers(), batch_size=4, num_workers=2)
        print(sorted(float(batch.sum()) for batch in loader))
    """)
    items = [event for name, _, _, event in slices(trace, [CALL]) if name == "__main__.Numbers.__getitem__"]
    assert len(items) == 16
    main = min(trace.processes)
    of_items = {trace.tracks[event.track]["process"] for event in items}
    assert len(of_items) == 2 and main not in of_items
    assert all(trace.processes[number]["parent"] == main for number in of_items)
    full = [event for name, _, _, event in slices(trace, [OP]) if name == "aten::full"]
    assert len(full) == 16 and {trace.tracks[event.track]["process"] for event in full} == of_items


def test_scopes_around_and_inside(tmp_path):
    trace = record(tmp_path, """
        from contextlib import contextmanager
        from inferscope import scope

        @contextmanager
        def timed(name):
            with scope(name):
                yield

        with timed("step"):
            with torch.profiler.record_function("theirs"):
                net(x)
    """)
    around = [around for name, _, around, _ in slices(trace) if name == "aten::addmm"]
    assert len(around) == 2
    for names in around:
        assert [name for name in names if name in ("step", "theirs")] == ["step", "theirs"]


def test_a_collector_has_operators_and_a_counter_takes_tensors(tmp_path):
    """One of several elements is no number, which is told."""
    out, err = package.run("""
        import torch
        from inferscope import CpuCollector, counter
        from inferscope.testing import MockTraceBuffer
        buffer = MockTraceBuffer()
        with CpuCollector(buffer):
            torch.ones(3) + 1
            counter("loss", torch.tensor(2.5))
            counter("loss", torch.ones(3))
        print(len([event for event in buffer.of_type("op") if event["name"] == "aten::add"]))
        print([event["value"] for event in buffer.events if event["name"] == "loss"])
    """, tmp_path, python=PYTHON)
    assert out == "1\n[2.5]\n" and err.count("RuntimeWarning") == 1
