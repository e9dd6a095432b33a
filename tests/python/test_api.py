"""The package from inside a program: scopes and marks, the Profiler, what it leaves, and what it must not disturb."""

import ast
import asyncio
import contextlib
import inspect
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

import package
import sbt
from interpreters import recorded_pythons

package.need_package()
import inferscope  # noqa: E402
from inferscope import _engine  # noqa: E402


def inner(n):
    return n and inner(n - 1)


class Model:
    def forward(self):
        return inner(0)


def named(events, name):
    return [event for event in events if event["name"] == name]


def profiled(function, **options):
    """The events of a function's run."""
    with inferscope.Profiler(**options) as profiler:
        function()
    return profiler.get_unified_timeline()


# ---- Importing -------------------------------------------------------------------------


def test_importing_it_is_light(tmp_path):
    script = """
        import sys, time
        before, start = set(sys.modules), time.process_time_ns()
        import inferscope
        took = time.process_time_ns() - start
        print(*sorted(set(sys.modules) - before))
        print(took)
    """
    answers = [package.run(script, tmp_path)[0].splitlines() for _ in range(7)]
    assert answers[0][0].split() == ["inferscope", "inferscope._tracer"]
    assert min(int(answer[1]) for answer in answers) < 3_000_000


def test_version_is_the_commands():
    said = subprocess.run([package.COMMAND, "--version"], capture_output=True, text=True, check=True).stdout
    assert inferscope.__version__ == said.split()[1]


def test_names():
    assert {"Profiler", "TraceBuffer", "collectors", "scope", "mark_event", "counter", "__version__"} <= set(dir(inferscope))
    assert inferscope.collectors.CpuCollector.__module__ == "inferscope.collectors.cpu"
    assert issubclass(inferscope.TraceError, ValueError)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        inferscope.nothing


def stub_functions(path):
    """Of a stub: name -> names of parameters, for functions and methods."""
    found = {}
    for node in ast.parse(path.read_text()).body:
        for one in [node] if isinstance(node, ast.FunctionDef) else getattr(node, "body", []) if isinstance(node, ast.ClassDef) else []:
            if isinstance(one, ast.FunctionDef) and not one.decorator_list:
                owner = (node.name,) if isinstance(node, ast.ClassDef) else ()
                a = one.args
                arguments = [*a.posonlyargs, *a.args, a.vararg, *a.kwonlyargs, a.kwarg]
                found[owner + (one.name,)] = [argument.arg for argument in arguments if argument]
    return found


@pytest.mark.parametrize("stub", sorted(package.PACKAGE.rglob("*.pyi")), ids=lambda path: path.stem)
def test_stubs_are_right(stub):
    relative = stub.relative_to(package.FOLDER).with_suffix("")
    parts = relative.parts[:-1] if relative.name == "__init__" else relative.parts
    module = __import__(".".join(parts), fromlist=["x"])
    for path, parameters in stub_functions(stub).items():
        if path[0].startswith("_") and path[0] != "__init__":
            continue
        thing = module
        for name in path:
            thing = getattr(thing, name)
        if inspect.isfunction(thing) and path[-1] != "__exit__":
            assert list(inspect.signature(thing).parameters) == parameters, path
    assert (package.PACKAGE / "py.typed").exists()


# ---- Scopes, marks, counters -----------------------------------------------------------------


def test_scopes_nest():
    def work():
        with inferscope.scope("outer"):
            with inferscope.scope("inner"):
                time.sleep(0.01)
            with inferscope.scope("inner"):
                pass

    events = profiled(work)
    (outer,), inners = named(events, "outer"), named(events, "inner")
    assert len(inners) == 2
    assert {outer["event_type"], inners[0]["event_type"]} == {"scope"}
    assert [inner["depth"] for inner in inners] == [outer["depth"] + 1] * 2
    assert outer["start_ns"] <= inners[0]["start_ns"] < inners[0]["end_ns"] <= inners[1]["start_ns"]
    assert inners[1]["end_ns"] <= outer["end_ns"]
    assert 10_000 <= inners[0]["end_us"] - inners[0]["start_us"] < 1_000_000
    assert outer["thread_id"] == outer["process_id"] == os.getpid()


def test_times_are_whole_and_sorted():
    events = profiled(lambda: [inner(5) for _ in range(100)])
    assert len(named(events, f"{__name__}.inner")) == 600
    starts = [event["start_us"] for event in events]
    assert starts == sorted(starts)
    for event in events:
        assert type(event["start_us"]) is int and type(event["end_us"]) is int
        assert event["start_us"] == event["start_ns"] // 1000 and event["end_us"] == event["end_ns"] // 1000
        assert event["start_ns"] <= event["end_ns"]
        assert type(event["cpu_id"]) is int and event["cpu_id"] >= -1


def test_the_enclosing_comes_first():
    calls = named(profiled(lambda: inner(50)), f"{__name__}.inner")
    assert [call["depth"] for call in calls] == list(range(calls[0]["depth"], calls[0]["depth"] + 51))
    assert all(one["end_ns"] >= other["end_ns"] for one, other in zip(calls, calls[1:]))


def test_functions_say_where_they_are():
    (call,) = named(profiled(Model().forward), f"{__name__}.Model.forward")
    assert call["event_type"] == "cpu_call"
    assert call["module"] == __name__
    assert call["function"] == "Model.forward"
    assert call["file"] == __file__
    assert call["line"] == Model.forward.__code__.co_firstlineno


def test_metadata_and_counters():
    metadata = {"tokens": 1024, "nested": {"a": [1, 2.5, None, True]}, "text": "é"}

    def work():
        inferscope.mark_event("tokenized", metadata=metadata)
        inferscope.mark_event("plain")
        inferscope.counter("queue", 7)

    events = profiled(work)
    (mark,), (plain,), (counter,) = named(events, "tokenized"), named(events, "plain"), named(events, "queue")
    assert mark["event_type"] == plain["event_type"] == "instant"
    assert mark["metadata"] == metadata and "metadata" not in plain
    assert mark["start_ns"] == mark["end_ns"]
    assert counter["event_type"] == "counter" and counter["value"] == 7.0


RUNNING = """
    import json, threading
    import inferscope

    def tick():
        pass

    def outer(n, ready, end):
        return outer(n - 1, ready, end) if n else inner(ready, end)

    def inner(ready, end):
        while not end.wait(0.001):
            tick()
            ready.set()

    ready, end = threading.Event(), threading.Event()
    thread = threading.Thread(target=outer, args=(200, ready, end))
    thread.start()
    ready.wait()
    profiler = inferscope.Profiler()
    for _ in range(2):  # the second time they are inside frames that the first has seen
        profiler.start()
        ready.clear()
        ready.wait()
        profiler.stop()
    end.set()
    thread.join()
    of_thread = [event for event in profiler.get_unified_timeline() if event.get("thread_id") == thread.native_id]
    name = lambda event: event["name"].rpartition(".")[2]
    ticks = [event["depth"] for event in of_thread if name(event) == "tick"]
    print(json.dumps([sum(name(event) == "outer" for event in of_thread), len(set(ticks)), len(ticks) > 0, min(ticks) > 201]))
"""


@pytest.mark.parametrize("python", recorded_pythons(), ids=str)
def test_threads_that_run_already_deep_inside(tmp_path, python):
    out, _ = package.run(RUNNING, tmp_path, python=python.path)
    assert json.loads(out) == [201, 1, True, True]


def test_what_is_open_at_the_end_is_unfinished():
    with inferscope.Profiler() as profiler:
        scope = inferscope.scope("open")
        scope.__enter__()
        inferscope.mark_event("last")
    scope.__exit__(None, None, None)
    events = profiler.get_unified_timeline()
    (event,), (last,) = named(events, "open"), named(events, "last")
    assert event["unfinished"] is True
    assert event["end_ns"] >= last["start_ns"] > event["start_ns"]


def test_arguments_have_names():
    def program():
        with inferscope.scope(name="tokenize"):
            inferscope.mark_event(name="mark", metadata={"tokens": 3})
            inferscope.mark_event(metadata={"tokens": 4}, name="mark")
            inferscope.counter(name="queue", value=2)
            inferscope.counter("queue", value=2.5)

    events = profiled(program, calls=False)
    assert inferscope.scope(name="name").name == "name"
    assert len(named(events, "tokenize")) == 1
    assert [event["metadata"] for event in named(events, "mark")] == [{"tokens": 3}, {"tokens": 4}]
    assert [event["value"] for event in named(events, "queue")] == [2, 2.5]


# ---- As a decorator ------------------------------------------------------------------------


def test_decorated_function_is_still_itself():
    @inferscope.scope("double")
    def double(x, *, extra=0):
        """Twice."""
        return 2 * x + extra

    assert (double.__name__, double.__doc__, list(inspect.signature(double).parameters)) == ("double", "Twice.", ["x", "extra"])
    events = profiled(lambda: [double(2), double(3, extra=1)])
    assert double(3, extra=1) == 7
    assert len(named(events, "double")) == 2


def test_decorated_methods():
    class Thing:
        @inferscope.scope("plain")
        def plain(self):
            return self

        @inferscope.scope("static")
        @staticmethod
        def static(x):
            return x

        @inferscope.scope("of the class")
        @classmethod
        def of_class(cls):
            return cls

    thing, results = Thing(), []
    events = profiled(lambda: results.extend([thing.plain(), thing.static(4), Thing.of_class()]))
    assert results == [thing, 4, Thing]
    assert Counter(event["name"] for event in events if event["event_type"] == "scope") == {
        "plain": 1, "static": 1, "of the class": 1}


def test_decorated_exceptions_pass():
    @inferscope.scope("failing")
    def failing():
        raise KeyError("x")

    def work():
        with pytest.raises(KeyError):
            failing()

    assert len(named(profiled(work), "failing")) == 1


def test_decorated_generator():
    log = []

    @inferscope.scope("step")
    def numbers():
        try:
            got = yield 1
            log.append(got)
            try:
                yield 2
            except ValueError as error:
                log.append(str(error))
            yield 3
            return "end"
        finally:
            log.append("closed")

    assert inspect.isgeneratorfunction(numbers)

    def work():
        generator = numbers()
        assert next(generator) == 1
        with inferscope.scope("between"):
            assert generator.send("sent") == 2
        assert generator.throw(ValueError("thrown")) == 3
        with pytest.raises(StopIteration) as end:
            next(generator)
        assert end.value.value == "end"
        closing = numbers()
        next(closing)
        closing.close()

    events = profiled(work)
    assert log == ["sent", "thrown", "closed", "closed"]
    assert len(named(events, "step")) == 6
    assert not any(event.get("unfinished") for event in named(events, "step") + named(events, "between"))


def test_decorated_coroutines_and_tasks():
    @inferscope.scope("request")
    async def request(delay):
        await asyncio.sleep(delay)
        return delay

    async def main():
        return await asyncio.gather(request(0.03), request(0.05))

    assert inspect.iscoroutinefunction(request)
    results = []
    events = profiled(lambda: results.extend(asyncio.run(main())))
    assert results == [0.03, 0.05]
    first, second = named(events, "request")
    assert first["task_id"] != second["task_id"]
    assert first["task"] != second["task"]
    assert first["thread_id"] == os.getpid()
    assert second["start_ns"] < first["end_ns"] < second["end_ns"]
    assert first["end_us"] - first["start_us"] >= 30_000
    assert second["end_us"] - second["start_us"] >= 50_000


def test_scopes_of_greenlets_and_of_context_managers():
    greenlet = pytest.importorskip("greenlet")

    def worker(name):
        with inferscope.scope(name):
            for _ in range(3):
                greenlet.getcurrent().parent.switch()

    def switching():
        workers = [greenlet.greenlet(worker) for _ in range(2)]
        for i, one in enumerate(workers):
            one.switch(f"green {i}")
        while not all(one.dead for one in workers):
            for one in workers:
                one.switch()

    @contextlib.contextmanager
    def timed(name):
        with inferscope.scope(name):
            yield

    def both():
        with timed("managed"):
            switching()

    events = profiled(both)
    first, second = named(events, "green 0")[0], named(events, "green 1")[0]
    assert first["task_id"] != second["task_id"] and len(named(events, "green 0")) == 1
    assert first["start_ns"] < second["start_ns"] < first["end_ns"] < second["end_ns"]
    parts = named(events, "managed")  # in the generator, in __enter__, and in both()
    assert len(parts) == 3 and all("task_id" not in part for part in parts)
    assert parts[-1]["start_ns"] < first["start_ns"] and parts[-1]["end_ns"] > second["end_ns"]
    assert [part["end_ns"] <= after["start_ns"] for part, after in zip(parts, parts[1:])] == [True, True]
    assert [part.get("goes_on") for part in parts] == [True, True, None]


def test_decorated_async_generator():
    log = []

    @inferscope.scope("part")
    async def parts():
        try:
            log.append((yield 1))
            try:
                yield 2
            except ValueError:
                log.append("thrown")
            yield 3
        finally:
            await asyncio.sleep(0)
            log.append("closed")

    async def main():
        generator = parts()
        assert await generator.asend(None) == 1
        assert await generator.asend("sent") == 2
        assert await generator.athrow(ValueError()) == 3
        await generator.aclose()
        assert [item async for item in parts()] == [1, 2, 3]

    assert inspect.isasyncgenfunction(parts)
    events = profiled(lambda: asyncio.run(main()))
    assert log == ["sent", "thrown", "closed", None, "closed"]
    assert len(named(events, "part")) == 4 + 4


# ---- The Profiler --------------------------------------------------------------------------


def test_states():
    profiler = inferscope.Profiler()
    assert profiler.state == "idle" and profiler.trace is None
    profiler.stop()
    assert profiler.state == "idle" and profiler.get_unified_timeline() == []
    profiler.start()
    trace = profiler.trace
    profiler.start()
    assert profiler.state == "recording" and profiler.trace == trace
    profiler.stop()
    profiler.stop()
    assert profiler.state == "stopped"


def test_started_again():
    profiler, seen = inferscope.Profiler(), []
    for name in ("first", "second", "third"):
        with profiler, inferscope.scope(name):
            pass
        events = profiler.get_unified_timeline()
        seen.append([event["name"] for event in events if event["event_type"] == "scope"])
        assert profiler.get_unified_timeline() == events
        assert not any("rmtree" in event["name"] for event in events)
    assert seen == [["first"], ["second"], ["third"]]


def test_stats_count_what_is_there():
    profiler = inferscope.Profiler()
    assert profiler.get_stats()["events"] == 0
    with profiler:
        for _ in range(10):
            with inferscope.scope("counted"):
                pass
    stats = profiler.get_stats()
    events = profiler.get_unified_timeline()
    unfinished = sum("unfinished" in event for event in events)
    assert stats["events"] == 2 * len(events) - unfinished  # a begin and an end
    assert (stats["state"], stats["lost"], stats["processes"], stats["threads"]) == ("stopped", 0, 1, 1)
    assert stats["duration_us"] > 0


def test_trace_is_kept(tmp_path):
    path = tmp_path / "kept.sbt"
    profiler = inferscope.Profiler(trace=path)
    with profiler, inferscope.scope("kept"):
        assert not path.exists()
    assert Path(profiler.trace) == path
    trace = sbt.read(path)
    assert trace.violations == [] and trace.damage == [] and trace.info["complete"] is True
    dumped = json.loads(subprocess.run([package.COMMAND, "dump", path], capture_output=True, check=True).stdout)
    assert [row["event_type"] for row in dumped if row["name"] == "kept"] == ["scope_enter", "scope_exit"]
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["kept.sbt"]


def test_temporary_trace_goes_with_the_profiler():
    profiler = inferscope.Profiler()
    with profiler:
        pass
    folder = Path(profiler.trace).parent
    assert folder.exists()
    del profiler
    assert not folder.exists()


def test_events_so_far():
    with inferscope.Profiler() as profiler:
        with inferscope.scope("early"):
            pass
        assert len(named(profiler.get_unified_timeline(), "early")) == 1
        with inferscope.scope("late"):
            pass
    events = profiler.get_unified_timeline()
    assert [event["name"] for event in events if event["event_type"] in ("scope", "instant")] == ["early", "late"]


def test_two_at_once():
    outer, during = inferscope.Profiler(), inferscope.Profiler()
    outer.start()
    with inferscope.scope("before"):
        pass
    with inferscope.scope("around"):
        with during, inferscope.scope("meanwhile"):
            pass
    with inferscope.scope("after"):
        pass
    outer.stop()
    scopes = [event["name"] for event in outer.get_unified_timeline() if event["event_type"] == "scope"]
    assert scopes == ["before", "around", "meanwhile", "after"]
    part = during.get_unified_timeline()
    assert [event["name"] for event in part if event["event_type"] == "scope"] == ["around", "meanwhile"]
    assert named(part, "around")[0]["enclosing"] is True
    assert during.get_stats()["shared"] is True


def test_the_first_may_stop_first():
    first, second = inferscope.Profiler(), inferscope.Profiler()
    first.start()
    second.start()
    with inferscope.scope("both"):
        pass
    first.stop()
    with inferscope.scope("second's"):
        pass
    seen = [event["name"] for event in first.get_unified_timeline() if event["event_type"] == "scope"]
    second.stop()
    assert seen == ["both"]
    assert [e["name"] for e in second.get_unified_timeline() if e["event_type"] == "scope"] == ["both", "second's"]


def test_options():
    def wanted():
        unwanted()

    def unwanted():
        return 1

    events = profiled(wanted, exclude=["*.unwanted"])
    assert [event["function"].rpartition(".")[2] for event in events if "wanted" in event["name"]] == ["wanted"]
    assert named(profiled(lambda: inner(1), calls=False), f"{__name__}.inner") == []
    assert len(named(profiled(lambda: sorted([2, 1]), c_calls=True), "sorted")) == 1


def test_each_recording_has_a_filter_of_its_own():
    def often():
        pass

    def calls_of(**options):
        return sum(event["name"].endswith(".often") for event in profiled(lambda: [often() for _ in range(3)], **options))

    assert [calls_of(), calls_of(exclude=["*.often"]), calls_of(), calls_of(include=["*.often"])] == [3, 0, 3, 3]


def test_a_mark_may_be_the_first_event_of_a_recording():
    def inner():
        pass

    for _ in range(2):
        profiler = inferscope.Profiler()
        profiler.start()
        inferscope.mark_event("first")
        for _ in range(5):
            inner()
        profiler.stop()
        events = profiler.get_unified_timeline()
        depths = {event["depth"] for event in events if event["name"].endswith(".inner")}
        assert len(depths) == 1 and depths.pop() > 0
        assert sum(event["name"].endswith(".inner") for event in events) == 5
        assert sum(event["name"] == "first" for event in events) == 1


@pytest.mark.parametrize("options, error", [({"trace_size_mb": 0}, ValueError), ({"trace_size_mb": "4"}, TypeError),
                                            ({"trace_size_mb": True}, TypeError), ({"overflow": "no"}, ValueError),
                                            ({"include": [1]}, TypeError)])
def test_options_are_checked(options, error):
    with pytest.raises(error):
        inferscope.Profiler(**options)


def test_a_trace_that_cannot_be_made(tmp_path):
    profiler = inferscope.Profiler(trace=tmp_path / "no" / "trace.sbt")
    with pytest.raises(inferscope.RecordingError, match="No such file or directory"):
        profiler.start()
    assert profiler.state == "idle"


def test_a_command_that_is_not_there(monkeypatch):
    monkeypatch.setenv("INFERSCOPE_COMMAND", "/nonexistent/inferscope")
    with pytest.raises(inferscope.RecordingError, match="recorder"):
        inferscope.Profiler().start()


# ---- What the program does meanwhile -----------------------------------------------------------


def test_forked_children_are_recorded():
    profiler = inferscope.Profiler()
    with profiler:
        pid = os.fork()
        if pid == 0:
            with inferscope.scope("in the child"):
                pass
            profiler.stop()
            os._exit(0 if profiler.state == "stopped" else 1)
        assert os.waitpid(pid, 0)[1] == 0
        with inferscope.scope("in the parent"):
            pass
    events = profiler.get_unified_timeline()
    assert named(events, "in the child")[0]["process_id"] == pid
    assert named(events, "in the parent")[0]["process_id"] == os.getpid()
    assert profiler.get_stats()["processes"] == 2


def test_a_profiler_in_a_forked_child():
    with inferscope.Profiler() as outer:
        inner(0)
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            with inferscope.Profiler() as profiler, inferscope.scope("child's"):
                pass
            events = profiler.get_unified_timeline()
            os.write(writing, json.dumps([(e["name"], e["process_id"]) for e in events if e["event_type"] == "scope"]).encode())
            os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0
        os.close(writing)
        assert json.loads(os.read(reading, 65536)) == [["child's", pid]]
        os.close(reading)
    assert named(outer.get_unified_timeline(), "child's")[0]["process_id"] == pid


def test_the_program_has_no_child_of_ours():
    with inferscope.Profiler():
        with pytest.raises(ChildProcessError):
            os.waitpid(-1, os.WNOHANG)


def test_ending_without_stop_leaves_a_whole_trace(tmp_path):
    out, err = package.run("""
        import inferscope, sys
        profiler = inferscope.Profiler(trace="trace.sbt")
        profiler.start()
        with inferscope.scope("work"):
            print("done")
        sys.exit(3)
    """, tmp_path, status=3)
    assert (out, err) == ("done\n", "")
    assert len(named(_engine.read_events(tmp_path / "trace.sbt"), "work")) == 1
    assert _engine.outline(tmp_path / "trace.sbt")["complete"] is True
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["script.py", "trace.sbt"]


def test_being_killed_leaves_a_whole_trace(tmp_path):
    package.run("""
        import inferscope, os, signal
        inferscope.Profiler(trace="trace.sbt").start()
        with inferscope.scope("work"):
            os.kill(os.getpid(), signal.SIGKILL)
    """, tmp_path, status=-signal.SIGKILL)
    deadline = time.monotonic() + package.PATIENCE
    while not (tmp_path / "trace.sbt").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert named(_engine.read_events(tmp_path / "trace.sbt"), "work")[0]["unfinished"] is True


def test_a_dead_recorder_is_one_warning(tmp_path):
    out, err = package.run("""
        import glob, inferscope, os, signal, time
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        profiler = inferscope.Profiler(trace="trace.sbt")
        profiler.start()
        with inferscope.scope("before"):
            pass
        for path in glob.glob("/proc/[0-9]*/cmdline"):
            try:
                with open(path, "rb") as file:
                    words = file.read().split(b"\\0")
            except OSError:  # of another program, which has ended
                continue
            if b"record" in words and str(os.getpid()).encode() in words:
                os.kill(int(path.split("/")[2]), signal.SIGKILL)
        time.sleep(0.2)
        with inferscope.scope("after"):
            pass
        profiler.stop()
        profiler.stop()
        print(len([e for e in profiler.get_unified_timeline() if e["name"] == "before"]))
        with profiler, inferscope.scope("again"):
            pass
        print(len([e for e in profiler.get_unified_timeline() if e["name"] == "again"]))
    """, tmp_path)
    assert out.split() == ["1", "1"]
    assert err.count("RuntimeWarning") == 1 and "the recorder ended before its time" in err


def test_disabled(tmp_path):
    out, err = package.run("""
        import inferscope
        profiler = inferscope.Profiler(trace="trace.sbt")
        with profiler, inferscope.scope("x"):
            inferscope.mark_event("y")
            print(profiler.state, inferscope._tracer.joined())
        print(profiler.get_unified_timeline(), profiler.get_stats()["state"])
        collector = inferscope.collectors.CpuCollector(inferscope.TraceBuffer(5))
        collector.start()
        collector.stop()
        print(collector.state.value)
    """, tmp_path, INFERSCOPE_ENABLED="0")
    assert out.splitlines() == ["disabled False", "[] disabled", "Idle"]
    assert err == "" and sorted(entry.name for entry in tmp_path.iterdir()) == ["script.py"]


def test_without_the_extension(tmp_path):
    folder = tmp_path / "package" / "inferscope"
    for source in package.PACKAGE.rglob("*.py"):
        target = folder / source.relative_to(package.PACKAGE)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(source.read_bytes())
    out, err = package.run("""
        import inferscope
        with inferscope.scope("x") as scope:
            inferscope.mark_event("y", metadata={"a": 1})
            inferscope.counter("z", 1)
        @inferscope.scope("decorated")
        def double(x):
            return 2 * x
        print(scope.name, double(4), inferscope.TraceBuffer(3).size)
        try:
            inferscope.Profiler().start()
        except inferscope.RecordingError as error:
            print(error)
    """, tmp_path, PYTHONPATH=str(tmp_path / "package"))
    first, second = out.splitlines()
    assert first == "x 8 3"
    assert second.startswith("inferscope cannot record Python %d.%d" % sys.version_info[:2]) and "make" in second
    assert err == ""


# ---- Under `inferscope run` --------------------------------------------------------------------


RECORDED = """
    import inferscope, os
    with inferscope.scope("before"):
        pass
    def work():
        with inferscope.scope("inside"):
            pass
    profiler = inferscope.Profiler()
    with profiler:
        work()
    with inferscope.scope("after"):
        pass
    events = profiler.get_unified_timeline()
    print([event["name"] for event in events if event["event_type"] == "scope"])
    print(sum(event["name"] == "__main__.work" for event in events))
    print(profiler.get_stats()["shared"], profiler.state)
"""


def test_a_view_of_the_outer_recording(tmp_path):
    before = [package.COMMAND, "run", "--report", "none", "--trace", tmp_path / "outer.sbt", "--"]
    out, _ = package.run(RECORDED, tmp_path, before=before)
    assert out.splitlines() == ["['inside']", "1", "True stopped"]
    events = _engine.read_events(tmp_path / "outer.sbt")
    assert [event["name"] for event in events if event["event_type"] == "scope"] == ["before", "inside", "after"]
    assert [event["name"] for event in events if event["event_type"] == "instant"] == ["profiler start", "profiler stop"]
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["outer.sbt", "script.py"]


# ---- Reading traces -------------------------------------------------------------------------------


@pytest.fixture
def trace(tmp_path):
    """Ten scopes of at least 2 ms, one after the other."""
    path = tmp_path / "trace.sbt"
    with inferscope.Profiler(trace=path, calls=False):
        for i in range(10):
            with inferscope.scope(f"s{i}"):
                time.sleep(0.002)
    return path


def test_read_events_window_and_limit(trace):
    events = _engine.read_events(trace)
    assert [event["name"] for event in events] == [f"s{i}" for i in range(10)]
    middle = events[4]["start_ns"] + 1_000_000
    assert [event["name"] for event in _engine.read_events(trace, middle, middle + 1)] == ["s4"]
    assert [event["name"] for event in _engine.read_events(trace, start_ns=middle)] == [f"s{i}" for i in range(4, 10)]
    assert [event["name"] for event in _engine.read_events(str(trace), end_ns=middle)] == [f"s{i}" for i in range(5)]
    assert _engine.read_events(trace, start_ns=middle)[0]["enclosing"] is True
    assert len(_engine.read_events(trace, limit=3)) == 3
    assert _engine.read_events(trace, limit=0) == []
    for wrong in ({"limit": -1}, {"start_ns": 1 << 70}):
        with pytest.raises((ValueError, OverflowError)):
            _engine.read_events(trace, **wrong)


def test_info_is_the_commands(trace):
    said = subprocess.run([package.COMMAND, "info", "--format", "json", "--top", "100", trace], capture_output=True, check=True)
    assert _engine.info(trace) == json.loads(said.stdout)
    assert _engine.info(trace)["events_by_kind"] == {"scope": 20}


def test_read_events_says_what_dump_says(trace):
    said = subprocess.run([package.COMMAND, "dump", trace], capture_output=True, check=True)
    rows = [row for row in json.loads(said.stdout) if row["event_type"] == "scope_exit"]
    events = _engine.read_events(trace)
    assert [round(row["end_us"] * 1000) for row in rows] == [event["end_ns"] for event in events]
    assert [row["thread_id"] for row in rows] == [event["thread_id"] for event in events]


@pytest.mark.parametrize("content", [None, b"", b"not a trace at all, but long enough to be taken for one" * 9])
def test_bad_traces_are_trace_errors(tmp_path, content):
    path = tmp_path / "bad.sbt"
    if content is not None:
        path.write_bytes(content)
    for function in (_engine.read_events, _engine.info, _engine.outline):
        with pytest.raises(inferscope.TraceError) as error:
            function(path)
        assert str(path) in str(error.value) and "\n" not in str(error.value)


def test_a_damaged_trace_yields_what_is_whole(trace):
    data = bytearray(trace.read_bytes())
    trace.write_bytes(data[:len(data) - 40])
    assert [event["name"] for event in _engine.read_events(trace)] == [f"s{i}" for i in range(10)]
    assert _engine.info(trace)["has_index"] is False


# ---- The trace buffer -------------------------------------------------------------------------------


def test_buffer_keeps_order_and_events():
    buffer = inferscope.TraceBuffer(3)
    assert (len(buffer), buffer.size, buffer.read_all()) == (0, 3, [])
    assert [buffer.enqueue({"n": n}) for n in range(3)] == [True] * 3
    assert buffer.read_all() == buffer.read_all() == [{"n": 0}, {"n": 1}, {"n": 2}]
    assert (len(buffer), buffer.dropped) == (3, 0)
    buffer.clear()
    assert (len(buffer), buffer.read_all()) == (0, [])


def test_buffer_overflow_wraps_and_warns_once(caplog):
    buffer = inferscope.TraceBuffer(2)
    with pytest.warns(RuntimeWarning, match="full at 2 events") as warned:
        assert all(buffer.enqueue({"n": n}) for n in range(5))
    assert len(warned) == 1
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert buffer.read_all() == [{"n": 3}, {"n": 4}]
    assert buffer.dropped == 3
    buffer.clear()
    assert buffer.dropped == 0


@pytest.mark.parametrize("size, error", [(0, ValueError), (-1, ValueError), ("3", TypeError), (2.0, TypeError), (True, TypeError),
                                         (None, TypeError)])
def test_buffer_size_is_checked(size, error):
    with pytest.raises(error, match="size is a number of events"):
        inferscope.TraceBuffer(size)


def test_buffer_takes_dictionaries():
    with pytest.raises(TypeError, match="dictionary"):
        inferscope.TraceBuffer(1).enqueue("event")


# ---- Every Python -------------------------------------------------------------------------------------


SMOKE = """
    import asyncio, inferscope, sys, threading
    from inferscope.collectors import CpuCollector

    def f(n):
        return n and f(n - 1)

    @inferscope.scope("task")
    async def task():
        await asyncio.sleep(0.001)

    before = sys.getprofile(), sys.gettrace()
    with inferscope.Profiler(trace="trace.sbt") as profiler:
        f(4)
        with inferscope.scope("scope"):
            inferscope.mark_event("mark", {"n": 1})
        thread = threading.Thread(target=f, args=(2,))
        thread.start()
        thread.join()
        asyncio.run(task())
    assert (sys.getprofile(), sys.gettrace()) == before
    events = profiler.get_unified_timeline()
    for name in ("__main__.f", "scope", "mark", "task"):
        print(name, sum(event["name"] == name for event in events))
    buffer = inferscope.TraceBuffer(100)
    with CpuCollector(buffer):
        f(4)
    print(sum(event["name"] == "__main__.f" for event in buffer.read_all()))
    print(profiler.get_stats()["lost"])
"""


@pytest.mark.parametrize("python", recorded_pythons(), ids=str)
def test_every_python(tmp_path, python):
    out, err = package.run(SMOKE, tmp_path, python=python.path)
    assert out.splitlines() == ["__main__.f 8", "scope 1", "mark 1", "task 1", "5", "0"]
    assert err == ""


@pytest.mark.parametrize("python", recorded_pythons(), ids=str)
def test_every_python_under_run(tmp_path, python):
    before = [package.COMMAND, "run", "--report", "none", "--trace", tmp_path / "outer.sbt", "--"]
    out, _ = package.run(RECORDED, tmp_path, python=python.path, before=before)
    assert out.splitlines() == ["['inside']", "1", "True stopped"]


NAMED = """
import os, sys, time, inferscope
profiler = inferscope.Profiler(trace="rank{rank}.sbt")
profiler.start()
inferscope.mark_event(sys.argv[1])
print(flush=True)
sys.stdin.readline()
profiler.stop()
print(os.path.basename(profiler.trace), any(event["name"] == sys.argv[1] for event in profiler.get_unified_timeline()))
"""


def test_traces_of_several_processes(tmp_path):
    environment = {**os.environ, "RANK": "3"}
    ranks = [subprocess.Popen([sys.executable, "-c", NAMED, name], cwd=tmp_path, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
             for name in ("one", "two")]
    assert [rank.stdout.readline() for rank in ranks] == ["\n", "\n"]
    assert [rank.communicate("\n")[0] for rank in ranks] == ["rank3.sbt True\n", "rank3.2.sbt True\n"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rank3.2.sbt", "rank3.sbt"]
