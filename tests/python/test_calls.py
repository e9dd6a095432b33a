"""What is recorded of a Python program is what it did: each call, in its place, on every Python."""

import json
import subprocess
import textwrap
from collections import Counter

import pytest

from interpreters import recorded_pythons
from recording import INFERSCOPE, PATIENCE, UNSEEN, record

every_python = pytest.mark.parametrize("python", recorded_pythons(), ids=str)


class Calls:
    """The calls that the functions of one program made, and how it ended."""

    def __init__(self, recording, rows, program):
        self.recording, self.rows = recording, rows
        self.calls = [row for row in rows if row["event_type"] == "cpu_call"]
        self.mine = [row for row in self.calls if row.get("file") == str(program)]

    def of(self, process=None, thread=None):
        """The program's own calls, in the order in which they begin."""
        mine = [row for row in self.mine if process in (None, row["process_id"]) and thread in (None, row["thread_id"])]
        return sorted(mine, key=lambda row: (row["start_us"], row["depth"]))

    def tree(self, **where):
        """One word a call: its depth below the outermost, and its name."""
        rows = self.of(**where)
        top = min((row["depth"] for row in rows), default=0)
        return [f"{row['depth'] - top}:{row['name'].removeprefix('__main__.')}" for row in rows]

    def names(self):
        return Counter(row["name"].removeprefix("__main__.") for row in self.mine)

    def every_name(self):
        """All but garbage collections, which come when they do."""
        return Counter(row["name"] for row in self.calls if row.get("module") != "gc")

    def processes(self):
        return list(dict.fromkeys(row["process_id"] for row in self.mine))


def trace_calls(folder, python, code, options=(), arguments=(), unfinished=()):
    """Runs the code.  The trace is sound: nothing lost, each call ended (but for those named), inside the one around it."""
    program = folder / "program.py"
    program.write_text(textwrap.dedent(code))
    recording = record(folder, program, *arguments, options=options, program=python.path)
    assert recording.trace.lost == 0
    dump = subprocess.run([INFERSCOPE, "dump", "--format", "json", folder / "trace.sbt"], capture_output=True, text=True,
                          check=True, timeout=PATIENCE)
    calls = Calls(recording, json.loads(dump.stdout), program)
    assert sorted(row["name"] for row in calls.calls if row.get("unfinished")) == sorted(unfinished)
    assert not any(row.get("unmatched") or row.get("begin_lost") for row in calls.rows)
    check_nesting(calls)
    return calls


def check_nesting(calls):
    """Each call lies inside the one a depth above it, and their depths have no gaps."""
    tracks = {}
    for row in sorted(calls.calls, key=lambda row: (row["start_us"], row["depth"])):
        stack = tracks.setdefault((row["process_id"], row["thread_id"]), [])
        while stack and stack[-1]["end_us"] is not None and stack[-1]["end_us"] <= row["start_us"] and \
                stack[-1]["depth"] >= row["depth"]:
            stack.pop()
        assert row["depth"] == len(stack), row
        if stack and stack[-1]["end_us"] is not None:
            assert row["end_us"] is not None and row["end_us"] <= stack[-1]["end_us"], row
        stack.append(row)


def local(python, name):
    """The name of a function in a function: code knows its qualified name since 3.11."""
    return name if python.version >= (3, 11) else name.rpartition(".")[2]


# ---- Calls ---------------------------------------------------------------------------

@every_python
def test_functions_and_methods(tmp_path, python):
    calls = trace_calls(tmp_path, python, """\
        class Base:
            def __init__(self):
                self.value = 1
            def inherited(self):
                return self.own()
            @classmethod
            def make(cls):
                return cls()
            @staticmethod
            def fixed(n):
                return n
        class Derived(Base):
            def own(self):
                return leaf()
            @property
            def size(self):
                return leaf()
            def __call__(self, n):
                return self.fixed(n)
        def leaf():
            return 0
        def outer():
            def inner():
                return leaf()
            return inner()
        def variadic(*args, **kwargs):
            return (lambda *rest: leaf())(args)
        one = Derived.make()
        one.inherited()
        one(2)
        one.size
        outer()
        variadic(1, a=2)
        """)
    assert calls.tree() == [
        "0:<module>", "1:Base", "1:Derived", "1:Base.make", "2:Base.__init__", "1:Base.inherited", "2:Derived.own", "3:leaf",
        "1:Derived.__call__", "2:" + local(python, "Base.fixed"), "1:Derived.size", "2:leaf", "1:outer", "2:" + local(python, "outer.<locals>.inner"), "3:leaf",
        "1:variadic", "2:" + local(python, "variadic.<locals>.<lambda>"), "3:leaf"]
    assert calls.recording.status == 0
    lines = {row["name"]: row["line"] for row in calls.mine}
    assert (lines["__main__.Derived.own"], lines["__main__.leaf"]) == (13, 20)
    assert {row["module"] for row in calls.mine} == {"__main__"}


@every_python
def test_recursion(tmp_path, python):
    calls = trace_calls(tmp_path, python, """\
        def fibonacci(n):
            return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)
        def down(n):
            return down(n - 1) if n else 0
        fibonacci(15)
        down(500)
        """)
    assert calls.names() == {"<module>": 1, "fibonacci": 1973, "down": 501}
    assert max(row["depth"] for row in calls.mine) - min(row["depth"] for row in calls.mine) == 501


@every_python
def test_exceptions(tmp_path, python):
    calls = trace_calls(tmp_path, python, """\
        def fail():
            raise ValueError
        def through():
            fail()
        def caught():
            try:
                through()
            except ValueError:
                after()
        def after():
            pass
        def suppressed():
            try:
                through()
            finally:
                return after()
        for _ in range(3):
            caught()
        suppressed()
        after()
        through()
        """)
    assert calls.recording.status == 1
    once = ["1:caught", "2:through", "3:fail", "2:after"]
    assert calls.tree() == ["0:<module>", *once, *once, *once, "1:suppressed", "2:through", "3:fail", "2:after", "1:after",
                            "1:through", "2:fail"]


@every_python
def test_generators(tmp_path, python):
    """One slice for each time that they run."""
    calls = trace_calls(tmp_path, python, """\
        def numbers(n):
            try:
                for i in range(n):
                    try:
                        yield helper(i)
                    except KeyError:
                        pass
            finally:
                helper(-1)
        def helper(i):
            return i
        def delegates():
            yield from numbers(2)
        def use():
            list(numbers(2))
            thrown = numbers(5)
            next(thrown)
            thrown.throw(KeyError)
            thrown.close()
            list(delegates())
            numbers(3)
        use()
        """)
    step, last = ["2:numbers", "3:helper"], ["2:numbers", "3:helper"]
    deeper = ["2:delegates", "3:numbers", "4:helper"]
    assert calls.tree() == ["0:<module>", "1:use", *step, *step, *last, *step, *step, *last, *deeper, *deeper, *deeper]


@every_python
def test_coroutines(tmp_path, python):
    calls = trace_calls(tmp_path, python, """\
        import asyncio
        async def leaf(n):
            for _ in range(n):
                await asyncio.sleep(0)
            return n
        async def numbers():
            for n in range(3):
                yield n
        async def cancelled():
            try:
                await asyncio.sleep(100)
            except asyncio.CancelledError:
                after()
                raise
        def after():
            pass
        async def main():
            assert await leaf(2) == 2
            assert [n async for n in numbers()] == [0, 1, 2]
            task = asyncio.ensure_future(cancelled())
            await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        asyncio.run(main())
        """)
    names = calls.names()
    assert names["leaf"] == 3 and names["numbers"] == 4 and names["cancelled"] == 2 and names["after"] == 1
    assert names["main"] == 5  # it begins, and is resumed after two sleeps in leaf, one of its own, and gather
    parents = [row for row in calls.of() if row["name"] == "__main__.after"]
    assert parents[0]["depth"] == [row for row in calls.of() if row["name"] == "__main__.cancelled"][1]["depth"] + 1


@every_python
def test_what_is_left_out(tmp_path, python):
    """The import machinery, us, and special methods that only look at an object; it is counted."""
    calls = trace_calls(tmp_path, python, """\
        import json.tool, colorsys
        class Thing:
            def __getattr__(self, name):
                return helper()
            def __eq__(self, other):
                return True
            def __hash__(self):
                return 1
            def __len__(self):
                return 0
            def __repr__(self):
                return "Thing"
            def __getitem__(self, n):
                return n
            def __enter__(self):
                return self
            def __exit__(self, *rest):
                pass
        def helper():
            return 1
        thing = Thing()
        for _ in range(10):
            thing.missing, thing == 1, hash(thing), len(thing), repr(thing), {thing: 1}
        thing[0]
        with thing:
            helper()
        """)
    assert calls.names() == {"<module>": 1, "Thing": 1, "helper": 11, "Thing.__getitem__": 1, "Thing.__enter__": 1,
                             "Thing.__exit__": 1}
    assert calls.every_name()["colorsys.<module>"] == 1
    assert not [name for name in calls.every_name() if name.startswith(("importlib._boot", "_frozen", "inferscope", "sitecus"))]
    helpers = [row["depth"] for row in calls.of() if row["name"] == "__main__.helper"]
    assert len(set(helpers)) == 1  # of those called in __getattr__ too: what is left out takes no depth


@every_python
def test_subscripts_in_a_loop(tmp_path, python):
    """obj[key] is quick in 3.11 by not calling what it runs; each is a call all the same."""
    calls = trace_calls(tmp_path, python, """\
        def make():
            class Items:
                def __getitem__(self, i):
                    return i
            return Items()
        def add(items):
            total = 0
            for i in range(100):
                total += items[i]
            return total
        items = make()
        for _ in range(20):
            add(items)
        add(make())
        """)
    names = Counter(row["name"].rpartition(".")[2] for row in calls.calls)
    assert names["__getitem__"] == 2100 and names["add"] == 21


@every_python
def test_include_and_exclude(tmp_path, python, monkeypatch):
    code = """\
        import colorsys
        def f():
            g()
        def g():
            return colorsys.rgb_to_hsv(1, 2, 3)
        f()
        f()
        """
    only = trace_calls(tmp_path, python, code, options=("--include", "__main__.g,nothing.*"))
    assert only.every_name() == {"__main__.g": 2}
    module = trace_calls(tmp_path, python, code, options=("--include", "colorsys"))
    assert module.every_name() == {"colorsys.<module>": 1, "colorsys.rgb_to_hsv": 2}
    without = trace_calls(tmp_path, python, code, options=("--exclude", "__main__.f, */colorsys.py"))
    assert without.tree() == ["0:<module>", "1:g", "1:g"] and without.every_name()["colorsys.rgb_to_hsv"] == 0
    monkeypatch.setenv("INFERSCOPE_INCLUDE", "__main__.*,colorsys")
    monkeypatch.setenv("INFERSCOPE_EXCLUDE", "__main__.f")
    mixed = trace_calls(tmp_path, python, code)
    assert mixed.every_name() == {"__main__.<module>": 1, "__main__.g": 2, "colorsys.<module>": 1, "colorsys.rgb_to_hsv": 2}
    monkeypatch.setenv("INFERSCOPE_CALLS", "0")
    assert trace_calls(tmp_path, python, code).calls == []


@every_python
def test_c_calls(tmp_path, python, monkeypatch):
    code = """\
        def f(items):
            for n in range(5):
                items.append(n)
                len(items)
                str.upper("a")
                "b".upper()
            try:
                [].pop()
            except IndexError:
                max(1, 2)
            return sorted(items, key=key)
        def key(n):
            return abs(n)
        f([])
        """
    monkeypatch.setenv("INFERSCOPE_C_CALLS", "1")
    calls = trace_calls(tmp_path, python, code)
    around = [row for row in calls.mine if row["name"] == "__main__.f"][0]
    inside = [row for row in calls.calls if around["start_us"] < row["start_us"] < around["end_us"]]
    names = Counter(row["name"] for row in inside)
    assert names == {"list.append": 5, "len": 5, "str.upper": 10, "list.pop": 1, "max": 1, "sorted": 1, "__main__.key": 5,
                     "abs": 5, **({"range": 1} if python.version >= (3, 12) else {})}
    depth = {row["name"]: row["depth"] - around["depth"] for row in inside}
    assert (depth["len"], depth["sorted"], depth["__main__.key"], depth["abs"]) == (1, 1, 2, 3)
    monkeypatch.setenv("INFERSCOPE_C_CALLS", "0")
    assert "len" not in trace_calls(tmp_path, python, code).every_name()


# ---- Threads -------------------------------------------------------------------------

@every_python
def test_threads(tmp_path, python):
    calls = trace_calls(tmp_path, python, """\
        import threading
        def work(n):
            return sum(leaf(i) for i in range(n))
        def leaf(i):
            return i
        threads = [threading.Thread(target=work, args=(100,), name=f"worker-{n}") for n in range(5)]
        threads.append(threading.Thread(target=work, args=(1,), name="né"))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        """)
    strings, tracks = calls.recording.trace.strings, calls.recording.threads()
    named = {strings.get(track["name"]): track["id"] for track in tracks.values()}
    assert {"worker-0", "worker-1", "worker-2", "worker-3", "worker-4", "né"} < set(named) and len(tracks) == 7
    for n in range(5):
        names = Counter(row["name"] for row in calls.of(thread=named[f"worker-{n}"]))
        assert names == {"__main__.work": 1, "__main__." + local(python, "work.<locals>.<genexpr>"): 101, "__main__.leaf": 100}


@every_python
def test_threads_at_once(tmp_path, python):
    """All of them meet a function, or a torch.nn.Module, for the first time at the same moment."""
    calls = trace_calls(tmp_path, python, """\
        import threading
        space, torch = {"__name__": "fresh"}, {"__name__": "torch.nn.modules.module"}
        exec("\\n".join(f"def f{i}(): return {i}" for i in range(300)), space)
        exec("class Module:\\n    def _call_impl(self): return 0\\n    __call__ = _call_impl", torch)
        class Layer(torch["Module"]):
            pass
        fresh, layers = [space[f"f{i}"] for i in range(300)], [[Layer() for _ in range(50)] for _ in range(20)]
        barrier = threading.Barrier(8)
        def leaf():
            return 0
        def work():
            for functions in (fresh, *layers, [leaf] * 2000):
                barrier.wait()
                for function in functions:
                    function()
        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        import sys
        print(getattr(sys, "_is_gil_enabled", lambda: True)())
        """)
    names = calls.every_name()
    assert {name: count for name, count in names.items() if name.startswith("fresh.")} == {f"fresh.f{i}": 8 for i in range(300)} | {
        "fresh.<module>": 1}
    assert {name: count for name, count in names.items() if name.startswith("nn.Module: ")} == {
        f"nn.Module: Layer_{i}": 8 for i in range(1000)}
    assert sorted(Counter(row["thread_id"] for row in calls.mine if row["name"] == "__main__.leaf").values()) == [2000] * 8
    assert calls.recording.out == f"{not python.is_free_threaded}\n"


@every_python
def test_a_thread_from_c(tmp_path, python):
    """A thread that Python did not start, and that calls into it three times."""
    calls = trace_calls(tmp_path, python, """\
        import ctypes
        def leaf():
            return None
        @ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
        def callback(argument):
            leaf()
            leaf()
            return None
        library = ctypes.CDLL(None)
        for _ in range(3):
            thread = ctypes.c_ulong()
            assert library.pthread_create(ctypes.byref(thread), None, callback, None) == 0
            assert library.pthread_join(thread, None) == 0
        callback(None)
        """)
    assert calls.names() == {"<module>": 1, "callback": 4, "leaf": 8}
    threads = {row["thread_id"] for row in calls.mine}
    assert len(threads) == 4 or len(calls.recording.threads()) == 4  # the kernel may use a number again


# ---- Processes -----------------------------------------------------------------------

@every_python
def test_forks(tmp_path, python):
    """A child's calls begin with those that are open when it is made."""
    calls = trace_calls(tmp_path, python, """\
        import os
        def leaf():
            return 0
        def make():
            leaf()
            pid = os.fork()
            leaf()
            if pid:
                assert os.waitpid(pid, 0)[1] == 0
            return pid
        def outer():
            return make()
        pid = outer()
        leaf()
        """)
    parent, child = sorted(calls.recording.trace.processes.values(), key=lambda one: one["parent"] is not None)
    own = ["0:<module>", "1:outer", "2:make", "3:leaf", "3:leaf", "1:leaf"]
    assert calls.tree(process=parent["pid"]) == own
    assert calls.tree(process=child["pid"]) == ["0:<module>", "1:outer", "2:make", "3:leaf", "1:leaf"]
    assert child["parent"] is not None and parent["parent"] is None


@every_python
def test_many_processes(tmp_path, python):
    calls = trace_calls(tmp_path, python, """\
        import os, subprocess, sys
        def leaf():
            return 0
        def child(n):
            for _ in range(100):
                leaf()
            if n:
                fork(n - 1)
        def fork(n):
            pid = os.fork()
            if pid == 0:
                child(n)
                os._exit(0)
            os.waitpid(pid, 0)
        if len(sys.argv) == 1:
            fork(3)
            subprocess.run([sys.executable, __file__, "1"], check=True)
        else:
            child(0)
        """, unfinished=[f"__main__.{name}" for n in range(1, 5) for name in ["<module>", "fork", *["child", "fork"] * (n - 1)]])
    counts = Counter(row["process_id"] for row in calls.mine if row["name"] == "__main__.leaf")
    assert sorted(counts.values()) == [100] * 5
    parents = [process["parent"] for _, process in sorted(calls.recording.trace.processes.items())]
    assert sorted(parents, key=str) == sorted([None, 0, 0, 1, 2, 3], key=str)


@every_python
@pytest.mark.parametrize("end, status", [
    ("os._exit(3)", 3), ("os.kill(os.getpid(), 9)", 137), ("os.kill(os.getpid(), 15)", 143), ("os.abort()", 134),
    ("ctypes.string_at(0)", 139), ("os.execv('/bin/false', ['false'])", 1)])
def test_sudden_death(tmp_path, python, end, status):
    """Nothing is lost by it, and what was open is marked as unfinished."""
    calls = trace_calls(tmp_path, python, f"""\
        import ctypes, os
        def leaf():
            return 0
        def dies():
            for _ in range(1000):
                leaf()
            {end}
        dies()
        """, unfinished=["__main__.<module>", "__main__.dies", *(["ctypes.string_at"] if "ctypes" in end else [])])
    assert calls.recording.status == status
    assert calls.names() == {"<module>": 1, "dies": 1, "leaf": 1000}


@every_python
def test_a_daemon_thread_at_the_end(tmp_path, python):
    """It never comes back from what it waits for."""
    calls = trace_calls(tmp_path, python, """\
        import threading
        def leaf():
            return 0
        def waits():
            started.release()
            never.acquire()
        started, never = threading.Lock(), threading.Lock()
        started.acquire(), never.acquire()
        threading.Thread(target=waits, daemon=True).start()
        started.acquire()
        leaf()
        """, unfinished=["threading.Thread._bootstrap", "threading.Thread.run", "__main__.waits"])
    assert calls.recording.status == 0
    assert calls.names() == {"<module>": 1, "leaf": 1, "waits": 1}


# ---- Where the frame hook must step aside ------------------------------------------------

@every_python
def test_deep_recursion(tmp_path, python):
    """Before 3.12 it goes deeper than we can follow: the time is marked, and calls before and after are balanced."""
    depth = 50000 if python.version >= (3, 11) else 10000
    calls = trace_calls(tmp_path, python, f"""\
        import sys
        sys.setrecursionlimit(100000)
        def down(n):
            return down(n - 1) if n else leaf()
        def leaf():
            return 0
        leaf()
        down({depth})
        leaf()
        down(10)
        """)
    unseen = [loss for loss in calls.recording.losses if loss.reason == UNSEEN]
    names = calls.names()
    if python.version >= (3, 12):
        assert not unseen and names == {"<module>": 1, "down": depth + 12, "leaf": 4}
        return
    assert len(unseen) == 1 and unseen[0].count == 0 and unseen[0].duration > 0
    assert names["leaf"] == 3 and 1000 < names["down"] - 11 < depth
    rows = calls.of()
    assert [row["name"] for row in rows[-13:]] == ["__main__.leaf", *["__main__.down"] * 11, "__main__.leaf"]
    assert rows[-13]["depth"] == 1


@every_python
def test_profilers_and_tracers_in_the_program(tmp_path, python):
    """The program's own profile and trace functions take nothing from us."""
    calls = trace_calls(tmp_path, python, """\
        import cProfile, sys
        def f():
            return g()
        def g():
            return 0
        sys.setprofile(lambda *rest: None)
        f()
        sys.setprofile(None)
        sys.settrace(lambda *rest: None)
        f()
        sys.settrace(None)
        profile = cProfile.Profile()
        profile.runcall(f)
        f()
        """)
    names = calls.names()
    assert names["f"] == 4 and names["g"] == 4
