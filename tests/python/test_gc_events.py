"""Garbage collections are calls of gc.generation 0, 1 or 2: as many as there were, as long, and inside what ran."""

import json
import subprocess
import textwrap
from collections import Counter

import pytest

import package
from recording import INFERSCOPE, PATIENCE
from test_calls import every_python, trace_calls

NAMES = {f"gc.generation {n}": n for n in range(3)}

# What a program that watches for itself does; it prints how often each generation was collected in churn(), and how long.
WATCHED = """\
    import gc, json, time
    class Node:
        def __init__(self):
            self.me = self
    def churn(n):
        for _ in range(n):
            Node()
    counts, total, began = {}, 0, 0
    def watch(phase, info):
        global total, began
        if phase == "start":
            counts[info["generation"]] = counts.get(info["generation"], 0) + 1
            began = time.perf_counter_ns()
        else:
            total += time.perf_counter_ns() - began
    def watched(function):
        gc.callbacks.append(watch)
        function()
        gc.callbacks.remove(watch)
        print(json.dumps({"counts": counts, "total": total}))
    """


def watched(code):
    return textwrap.dedent(WATCHED) + textwrap.dedent(code)


def recorder(folder):
    return [INFERSCOPE, "run", "--trace", folder / "trace.sbt", "--"]


def collections(calls):
    return [row for row in calls.calls if row["name"] in NAMES]


def inside(calls, name):
    """The collections in calls of this function, and how deep below it they are."""
    around = [row for row in calls.mine if row["name"] == name]
    return [(row, row["depth"] - each["depth"]) for each in around for row in collections(calls)
            if row["thread_id"] == each["thread_id"] and each["start_us"] <= row["start_us"] and row["end_us"] <= each["end_us"]]


def count(rows):
    return Counter(NAMES[row["name"]] for row in rows)


def said(calls):
    told = json.loads(calls.recording.out.splitlines()[-1])
    return {int(generation): n for generation, n in told["counts"].items()}, told["total"]


# ---- How many, how long, where ---------------------------------------------------------

@every_python
def test_counts_and_times(tmp_path, python):
    calls = trace_calls(tmp_path, python, watched("""\
        def work():
            churn(100000)
            kept = [[] for _ in range(300000)]
            for generation in (0, 1, 2, 2):
                gc.collect(generation)
        watched(work)
        """))
    counts, total = said(calls)
    found = [row for row, _ in inside(calls, "__main__.work")]
    assert count(found) == counts and counts[0] > 10 and counts[2] >= 2
    assert sum(row["end_us"] - row["start_us"] for row in found) * 1000 == pytest.approx(total, rel=0.1)
    assert {(row["module"], row["event_type"], "file" in row) for row in found} == {("gc", "cpu_call", False)}


@every_python
def test_inside_what_ran(tmp_path, python):
    """In the function that asked for it, and not a part of its own time; what a finalizer calls is inside the collection."""
    calls = trace_calls(tmp_path, python, """\
        import gc
        gc.disable()
        class Noisy:
            def __init__(self):
                self.me = self
            def __del__(self):
                leaf()
        def leaf():
            return 0
        def make():
            Noisy()
        def inner():
            gc.collect()
        def outer():
            make()
            inner()
            leaf()
        gc.collect()
        outer()
        gc.collect(1)
        """)
    (row, depth), = inside(calls, "__main__.inner")
    assert depth == 1 and row["name"] == "gc.generation 2"
    finalizer = next(each for each in calls.of() if each["name"].endswith("__del__"))
    assert finalizer["depth"] == row["depth"] + 1
    assert row["start_us"] <= finalizer["start_us"] <= finalizer["end_us"] <= row["end_us"]
    assert [each["depth"] for each in calls.of() if each["name"] == "__main__.leaf"] == [finalizer["depth"] + 1, row["depth"] - 1]
    module = next(each for each in calls.of() if each["name"] == "__main__.<module>")
    assert [NAMES[each["name"]] for each in collections(calls) if each["depth"] == module["depth"] + 1] == [2, 1]


@every_python
def test_own_time(tmp_path, python):
    """The function in which it happens is not charged with it."""
    trace_calls(tmp_path, python, """\
        import gc
        kept = [[] for _ in range(500000)]
        def collects():
            gc.collect()
            gc.collect()
        collects()
        """)
    info = subprocess.run([INFERSCOPE, "info", "--format", "json", tmp_path / "trace.sbt"], capture_output=True, text=True,
                          check=True, timeout=PATIENCE)
    functions = {row["name"]: row for row in json.loads(info.stdout)["functions"]}
    collects = functions["__main__.collects"]
    assert collects["self_us"] < collects["total_us"] / 10 and functions["gc.generation 2"]["self_us"] > collects["total_us"] / 2


@every_python
@pytest.mark.parametrize("options", [("--include", "nothing.*"), ("--exclude", "*")], ids=lambda options: options[0])
def test_filters_are_about_functions(tmp_path, python, options):
    calls = trace_calls(tmp_path, python, "import gc\ngc.disable()\ngc.collect(1)\n", options=options)
    assert count(collections(calls))[1] == 1 and len(calls.calls) == len(collections(calls))


@every_python
def test_none_without_calls(tmp_path, python, monkeypatch):
    monkeypatch.setenv("INFERSCOPE_CALLS", "0")
    assert collections(trace_calls(tmp_path, python, "import gc\ngc.collect()\n")) == []


@every_python
def test_with_c_calls(tmp_path, python, monkeypatch):
    monkeypatch.setenv("INFERSCOPE_C_CALLS", "1")
    calls = trace_calls(tmp_path, python, "import gc\ngc.disable()\ndef f():\n    gc.collect(1)\nf()\n")
    (row, depth), = inside(calls, "__main__.f")
    assert depth == 2 and row["name"] == "gc.generation 1"


# ---- What the program sees --------------------------------------------------------------

@every_python
def test_callbacks_are_the_programs(tmp_path, python):
    """We are not in gc.callbacks, in gc.get_objects(), or in sys.modules; those in the list are called as ever."""
    calls = trace_calls(tmp_path, python, """\
        import sys
        assert "gc" not in sys.modules
        import gc
        assert gc.callbacks == [] and type(gc.callbacks) is list
        assert not [each for each in gc.get_objects() if "watcher" in repr(type(each)) and type(each) is not type]
        import importlib
        assert importlib.reload(gc) is gc and gc.callbacks == []
        del sys.modules["gc"]
        import gc as again
        assert again.callbacks == [] and again.callbacks is gc.callbacks
        seen = []
        first, last = lambda *said: seen.append(("first", *said)), lambda *said: seen.append(("last", *said))
        def once(phase, info):
            gc.callbacks.remove(once)
            seen.append(("once", phase, info))
        gc.disable()
        gc.callbacks[:] = [first, once, last]
        gc.collect(1)
        gc.callbacks.clear()
        gc.collect()
        none = {"generation": 1, "collected": 0, "uncollectable": 0}
        assert [each[:2] for each in seen] == [("first", "start"), ("once", "start"), ("first", "stop"), ("last", "stop")], seen
        assert seen[0][2] == none and set(seen[-1][2]) == set(none)
        """)
    assert calls.recording.status == 0
    assert count(collections(calls))[1] == 1 and count(collections(calls))[2] >= 1


@every_python
def test_a_callback_that_fails(tmp_path, python):
    """It is reported as without us (3.14 has another object for it), and the next is called."""
    script = """
        import gc, sys
        sys.unraisablehook = lambda args: print(args.exc_type.__name__, args.object is fails)
        def fails(phase, info):
            raise KeyError(phase)
        gc.disable()
        gc.callbacks += [fails, lambda phase, info: print(phase)]
        gc.collect()
        del gc.callbacks[:]
    """
    alone, _ = package.run(script, tmp_path, python.path)
    recorded, _ = package.run(script, tmp_path, python.path, before=recorder(tmp_path))
    known = python.version < (3, 14)
    assert alone == recorded == f"KeyError {known}\nstart\nKeyError {known}\nstop\n"


@every_python
def test_cleared_in_the_middle(tmp_path, python):
    """Callbacks that clear and replace the list, and a finalizer that does: pairs stay pairs."""
    calls = trace_calls(tmp_path, python, """\
        import gc
        gc.disable()
        class Clears:
            def __init__(self):
                self.me = self
            def __del__(self):
                gc.callbacks.clear()
        def clear(phase, info):
            gc.callbacks.clear()
        def collects():
            Clears()
            gc.collect(1)
            gc.callbacks.append(clear)
            gc.collect(1)
            gc.callbacks = []
            gc.collect(1)
        collects()
        """)
    assert [(row["name"], depth) for row, depth in inside(calls, "__main__.collects")] == [("gc.generation 1", 1)] * 3


@every_python
def test_at_the_recursion_limit(tmp_path, python):
    """Where nothing more can be called, a collection can still begin, and nothing is said about it."""
    script = """
        import gc
        def down(n):
            gc.collect(0)
            return down(n + 1)
        try:
            down(0)
        except RecursionError:
            print("limit")
    """
    out, err = package.run(script, tmp_path, python.path, before=recorder(tmp_path))
    assert out == "limit\n" and "gnored" not in err and "Error" not in err


# ---- Threads, processes, the end ------------------------------------------------------------

@every_python
def test_another_thread(tmp_path, python):
    calls = trace_calls(tmp_path, python, watched("""\
        import threading
        gc.disable()
        def work():
            for _ in range(5):
                gc.collect(1)
            gc.collect()
        thread = threading.Thread(target=work)
        def run():
            thread.start()
            thread.join()
        watched(run)
        """))
    found = inside(calls, "__main__.work")
    assert count(row for row, _ in found) == said(calls)[0] == {1: 5, 2: 1} and {depth for _, depth in found} == {1}
    assert inside(calls, "__main__.run") == []


@every_python
def test_forks(tmp_path, python):
    """A child's are its own, also when it was made in the middle of a collection."""
    calls = trace_calls(tmp_path, python, """\
        import gc, os
        gc.disable()
        class Forks:
            def __init__(self):
                self.me = self
            def __del__(self):
                global pid
                pid = os.fork()
        def collects():
            gc.collect(1)
        def leaf():
            return 0
        Forks()
        collects()
        collects()
        leaf()
        if pid:
            assert os.waitpid(pid, 0)[1] == 0
        """)
    parent, child = sorted(calls.recording.trace.processes.values(), key=lambda one: one["parent"] is not None)
    for process, expected in ((parent["pid"], 2), (child["pid"], 1)):
        mine = [row for row in collections(calls) if row["process_id"] == process and NAMES[row["name"]] == 1]
        assert len(mine) == expected
        leaf, = [row for row in calls.of(process=process) if row["name"] == "__main__.leaf"]
        assert leaf["depth"] == mine[-1]["depth"] - 1


@every_python
def test_the_end(tmp_path, python):
    """The interpreter collects when it ends, with callbacks that are still there."""
    script = """
        import atexit, gc
        class Last:
            def __init__(self):
                self.me = self
            def __call__(self, phase, info):
                pass
            def __del__(self, write=print):
                gc.collect() if gc and gc.collect else None
        gc.callbacks.append(Last())
        kept = Last()
        atexit.register(gc.collect)
        print("end")
    """
    out, err = package.run(script, tmp_path, python.path, before=recorder(tmp_path))
    assert out == "end\n" and "gnored" not in err and "Error" not in err


# ---- Profiler --------------------------------------------------------------------------

PROFILER = """
    import gc, sys
    from inferscope import Profiler
    gc.disable()
    def mine(phase, info):
        seen.append(phase)
    def names(profiler):
        return [event["name"] for event in profiler.get_unified_timeline() if event["name"].startswith("gc.")]
    def collects(n):
        for _ in range(n):
            gc.collect(1)
    """


def run_profiler(code, folder, python):
    return package.run(textwrap.dedent(PROFILER) + textwrap.dedent(code), folder, python.path)[0]


@every_python
def test_profiler_leaves_no_trace(tmp_path, python):
    out = run_profiler("""\
        seen, callbacks = [], gc.callbacks
        callbacks.append(mine)
        references = sys.getrefcount(callbacks)
        for n in range(1, 4):
            with Profiler() as profiler:
                assert gc.callbacks is callbacks and callbacks == [mine]
                collects(n)
            assert gc.callbacks is callbacks and callbacks == [mine] and sys.getrefcount(callbacks) == references
            seen.clear()
            gc.collect()
            assert seen == ["start", "stop"]
            print(names(profiler).count("gc.generation 1"), names(profiler).count("gc.generation 2"))
        """, tmp_path, python)
    assert out == "1 0\n2 0\n3 0\n"


@every_python
def test_profiler_around_a_part(tmp_path, python):
    """It stops, and starts, inside a collection: what is half is no event, and what comes after is right."""
    out = run_profiler("""\
        class Calls:
            def __init__(self, function):
                self.me, self.function = self, function
            def __del__(self):
                self.function()
        profiler, seen = Profiler(), []
        gc.callbacks.append(mine)
        Calls(profiler.start)
        gc.collect(1)
        collects(1)
        Calls(profiler.stop)
        gc.collect(1)
        print(names(profiler), seen == ["start", "stop"] * 3)
        profiler = Profiler()
        gc.callbacks.append(lambda phase, info: profiler.stop())
        profiler.start()
        gc.collect(1)
        collects(1)
        print(names(profiler), seen == ["start", "stop"] * 5)
        del gc.callbacks[1]
        with Profiler() as profiler:
            collects(1)
        print(names(profiler), seen == ["start", "stop"] * 6, gc.callbacks == [mine])
        """, tmp_path, python)
    assert out == "['gc.generation 1', 'gc.generation 1'] True\n[] True\n['gc.generation 1'] True True\n"


@every_python
def test_profiler_among_callbacks(tmp_path, python):
    """It is started and stopped by one of the program's callbacks: those after it are called, once."""
    out = run_profiler("""\
        profiler, seen = Profiler(), []
        def switches(phase, info):
            profiler.start() if profiler.state != "recording" else profiler.stop() if phase == "stop" and len(seen) > 4 else None
        gc.callbacks += [mine, switches, mine, mine]
        gc.collect(1)
        gc.collect(1)
        print(names(profiler), profiler.state, seen == (["start"] * 3 + ["stop"] * 3) * 2)
        """, tmp_path, python)
    assert out == "['gc.generation 1'] stopped True\n"


@every_python
def test_in_a_frame_that_was_there_before(tmp_path, python):
    """Functions that had begun before the Profiler: the collection is in the one that runs it, not in one that has returned."""
    out = run_profiler("""\
        profiler = Profiler()
        def starts():
            profiler.start()
        def around():
            starts()
            gc.collect(1)
        around()
        profiler.stop()
        events = {event["name"]: event for event in profiler.get_unified_timeline()}
        around, collection = events["__main__.around"], events["gc.generation 1"]
        print(collection["depth"] - around["depth"])
        """, tmp_path, python)
    assert out == "1\n"
