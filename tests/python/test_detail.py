"""Where a program makes too many calls to record them all, less is recorded, from the short end; and only then."""

import json
import os
import subprocess
import sys
import textwrap

import pytest

from interpreters import recorded_pythons
from recording import BUILD, INFERSCOPE, PATIENCE
from test_calls import every_python, trace_calls

EVENT_NS = 120      # what recording a begin or an end is reckoned to take
ALLOWED_NS = 60e6   # once, until the right level is found
CALLS_AT_ONCE = 60_000  # fewer than that are always recorded

both_hooks = pytest.mark.parametrize("python", [p for p in recorded_pythons() if p.version in ((3, 11), (3, 12))], ids=str)

# Calls of some 0.1 us, in calls of some us, in calls of some 100 us, in calls of some ms.
MANY = """\
    import sys, time
    def leaf(n):
        return sum((n, 1))
    def short(n):
        return leaf(leaf(leaf(leaf(n))))
    def middle(n):
        return sum([short(i) for i in range(200)])
    def long(n):
        for i in range(20):
            middle(i)
        return n
    def run(seconds):
        count, end = 0, time.perf_counter() + seconds
        while time.perf_counter() < end:
            long(count)
            count += 1
        return count
    """


class Functions:
    """What the trace has of a program's functions, and what the program printed.  Such traces are large, so they are asked in SQL."""

    def __init__(self, folder, python, code, options=()):
        program = folder / "program.py"
        program.write_text(textwrap.dedent(code))
        self.trace = folder / "trace.sbt"
        done = subprocess.run([INFERSCOPE, "run", "--trace", self.trace, "--report", "none", *options, "--", python.path, program],
                              capture_output=True, text=True, check=True, timeout=PATIENCE)
        self.out = done.stdout
        self.info = json.loads(subprocess.check_output([INFERSCOPE, "info", "--format", "json", self.trace], timeout=PATIENCE))
        assert self.info["lost"] == 0
        assert self.ask("SELECT count(*) AS n FROM slices WHERE unfinished")[0]["n"] == 0

    def ask(self, sql):
        return json.loads(subprocess.check_output([INFERSCOPE, "query", "--format", "json", self.trace, sql], timeout=PATIENCE))

    def count(self, name, where="1"):
        return self.ask(f"SELECT count(*) AS n FROM slices WHERE name = '__main__.{name}' AND {where}")[0]["n"]

    def time(self, name):
        """In ns, of all calls."""
        return self.ask(f"SELECT sum(dur) AS n FROM slices WHERE name = '__main__.{name}'")[0]["n"]

    def said(self, word):
        """The number that the program printed after this word."""
        return int(self.out.partition(word + "=")[2].split()[0])


# ---- How much -------------------------------------------------------------------------

@every_python
def test_recording_takes_a_two_hundredth(tmp_path, python):
    trace = Functions(tmp_path, python, MANY + """
    print("long=%d" % run(1))
    """)
    long = trace.said("long")
    assert trace.count("long") == long and trace.count("run") == 1  # what takes long is there, each time
    assert trace.count("leaf") < 800 * 20 * long / 2
    calls, span = trace.info["events_by_kind"]["cpu_call"], trace.time("run")
    assert calls * EVENT_NS < 0.005 * span + ALLOWED_NS
    assert 2 <= trace.info["short_us"] <= 1024 and trace.info["short_calls"] > 0
    if python.version < (3, 12):  # the time of what is not recorded is its caller's
        assert trace.count("middle") == 20 * long and trace.time("middle") > 0.9 * trace.time("long")


@every_python
def test_everything_is_recorded_when_asked_for(tmp_path, python):
    trace = Functions(tmp_path, python, MANY + """
    for i in range(20):
        long(i)
    """, options=("--detail", "full"))
    expected = {"long": 20, "middle": 400, "short": 80_000, "leaf": 320_000}
    assert {name: trace.count(name) for name in expected} == expected
    assert trace.info["short_us"] == 0


@every_python
def test_short_programs_are_recorded_whole(tmp_path, python):
    trace = Functions(tmp_path, python, MANY + f"""
    for i in range({CALLS_AT_ONCE // 1000}):
        middle(i)
    """)
    assert trace.count("leaf") == CALLS_AT_ONCE // 1000 * 800
    assert trace.info["short_us"] == 0


@both_hooks
def test_the_very_shortest_are_left_out(tmp_path, python):
    trace = Functions(tmp_path, python, MANY + """
    def loop(seconds):
        count, end = 0, time.perf_counter() + seconds
        while time.perf_counter() < end:
            for i in range(1000):
                leaf(i)
            count += 1000
        return count
    print("leaf=%d" % loop(0.7))
    """)
    leaf = trace.said("leaf")
    assert trace.count("leaf") < leaf / 2
    assert trace.info["short_left_out"] > 0 and trace.info["short_us"] > 0
    if python.version < (3, 12):  # from then on nobody tells us of them
        assert trace.count("leaf") + trace.info["short_left_out"] == leaf


frame_hook = pytest.mark.parametrize("python", [p for p in recorded_pythons() if p.version in ((3, 9), (3, 11))], ids=str)

# Of some 100 and 250 us: one makes thousands of calls, of which nobody wants to know, and one makes a few that matter.
DENSE = MANY + """
    def work(n):
        return sum([i * i for i in range(n)])
    def dense(n):
        for i in range(2000):
            leaf(i)
    def part(n):
        return work(2000)
    def sparse(n):
        return part(n) + part(n) + part(n) + part(n)
    def both(seconds):
        count, end = 0, time.perf_counter() + seconds
        while time.perf_counter() < end:
            dense(count)
            sparse(count)
            count += 1
        return count
    """


@frame_hook
def test_a_function_that_makes_many_calls_is_not_looked_into(tmp_path, python):
    trace = Functions(tmp_path, python, DENSE + """
    print("both=%d" % both(1.5))
    """)
    both = trace.said("both")
    assert trace.count("dense") == trace.count("sparse") == both
    assert trace.count("part") > 0.9 * 4 * both
    seen = trace.count("leaf") + trace.info["short_left_out"]  # each has come through the hook
    assert 0 < seen < 2000 * both / 4
    assert trace.time("dense") / both < 1000 * trace.info["short_us"] <= 1_024_000


@frame_hook
def test_a_function_that_takes_long_is_looked_into(tmp_path, python):
    """However many calls it makes."""
    trace = Functions(tmp_path, python, DENSE + """
    def long_and_dense(n):
        for i in range(10):
            dense(i)
            for j in range(6000):
                leaf(j)
        matters(n)
    def matters(n):
        return work(100)
    end, count = time.perf_counter() + 1.5, 0
    while time.perf_counter() < end:
        long_and_dense(count)
        count += 1
    print("matters=%d" % count)
    """)
    assert trace.info["short_us"] > 0
    assert trace.count("long_and_dense") == trace.said("matters")
    assert trace.count("matters") == trace.said("matters")


@both_hooks
def test_more_is_recorded_again_when_calls_are_rare(tmp_path, python):
    trace = Functions(tmp_path, python, MANY + """
    def rare(n):
        return short(n)
    run(0.3)
    end, count = time.perf_counter() + 9, 0
    while time.perf_counter() < end:
        for i in range(10):
            rare(i)
        count += 10
        time.sleep(0.01)
    print("rare=%d" % count)
    """)
    assert trace.count("rare") == trace.said("rare")
    assert trace.info["short_us"] > 0
    last = trace.ask("SELECT max(ts) AS n FROM slices WHERE name = '__main__.rare'")[0]["n"]
    last_second = f"ts > {last} - 1000000000"
    assert trace.count("leaf", last_second) > 3.5 * trace.count("rare", last_second) > 0  # four in each, once they are looked into


# ---- What is never missing ------------------------------------------------------------

@every_python
def test_a_short_function_that_is_slow_at_times(tmp_path, python):
    trace = Functions(tmp_path, python, MANY + """
    def usually_quick(n):
        if n == 99:
            time.sleep(0.002)
        return short(n)
    def caller(n):
        for i in range(100):
            sum(range(10_000))
            usually_quick(i)
    run(0.3)
    end, count = time.perf_counter() + 1, 0
    while time.perf_counter() < end:
        caller(count)
        count += 1
    print("caller=%d" % count)
    """)
    assert trace.info["short_us"] > 0
    assert trace.count("caller") == trace.said("caller")
    assert trace.count("usually_quick", "dur > 2000000") >= trace.said("caller")


@both_hooks
def test_what_long_functions_call_is_there_from_the_first_time(tmp_path, python):
    """Of the newest events only some are looked at, so that the begin and the end of a long call are seldom seen together."""
    trace = Functions(tmp_path, python, MANY + """
    def wait(seconds):
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            pass
    def part():
        wait(30e-6)
    def parts():  # takes some 0.9 ms, so that functions below that are not looked into in the end
        for i in range(30):
            part()
    def between():
        wait(10e-6)
    def whole():
        for i in range(300):
            between()
        inner()
    def inner():
        wait(3e-3)
    whole()
    run(0.3)
    end = time.perf_counter() + 1.5
    while time.perf_counter() < end:
        parts()
    for i in range(60):
        whole()
    """)
    assert trace.info["short_us"] == 1024
    assert trace.count("whole") == trace.count("inner") == 61


@both_hooks
def test_whatever_way_short_functions_are_left(tmp_path, python):
    """Exceptions, generators, recursion: what is open stays right."""
    calls = trace_calls(tmp_path, python, MANY + """
    def raises(n):
        raise ValueError(leaf(n))
    def catches(n):
        try:
            raises(n)
        except ValueError:
            return short(n)
    def passes_on(n):
        raises(n)
    def counts(n):
        for i in range(n):
            yield leaf(i)
    def takes(n):
        return sum(counts(n))
    def takes_some(n):
        numbers = counts(n)
        return next(numbers) + next(numbers)
    def fib(n):
        return n if n < 2 else fib(n - 1) + fib(n - 2)
    def both(n):
        return fib(4) if n % 2 else other(n)
    def other(n):
        return both(n + 1)
    def long_one(n):
        for i in range(300):
            catches(i)
            try:
                passes_on(i)
            except ValueError:
                pass
            takes(5)
            takes_some(5)
            fib(6)
            both(i)
            sorted([3, 1, 2], key=lambda x: leaf(-x))
        return n
    end, count = time.perf_counter() + 0.7, 0
    while time.perf_counter() < end:
        long_one(count)
        count += 1
    print("long=%d" % count)
    """)
    assert calls.names()["long_one"] == int(calls.recording.out.partition("long=")[2])
    assert calls.recording.trace.info["short_ns"] > 0
    assert len({row["depth"] for row in calls.mine if row["name"] == "__main__.long_one"}) == 1  # nothing around them is left open


@every_python
def test_threads_beside_a_short_function(tmp_path, python):
    """One thread is inside a function that is usually short; all that another one calls is there."""
    trace = Functions(tmp_path, python, MANY + """
    import threading
    def waits(event):
        if event:
            event.wait()
        return leaf(1)
    def of_thread(n):
        return inside(n)
    def inside(n):
        return n
    def thread(event):
        for i in range(1000):
            of_thread(i)
        event.set()
    end = time.perf_counter() + 0.4
    while time.perf_counter() < end:
        for i in range(200):
            waits(None)
    event = threading.Event()
    other = threading.Thread(target=thread, args=(event,))
    other.start()
    waits(event)
    other.join()
    """)
    assert trace.info["short_us"] > 0
    assert trace.count("thread") == 1 and trace.count("of_thread") == 1000 and trace.count("inside") == 1000


@every_python
def test_a_thread_that_wakes_now_and_then(tmp_path, python):
    """What it calls while the other one is inside a short function may be missing at first, which is said; not for long."""
    trace = Functions(tmp_path, python, MANY + """
    import threading
    def beat(n):
        return inside(n)
    def inside(n):
        return n
    def beats(done):
        count = 0
        while not done.wait(0.01):
            for i in range(20):
                beat(i)
            count += 20
        print("beat=%d" % count)
    done = threading.Event()
    other = threading.Thread(target=beats, args=(done,))
    other.start()
    run(1.5)
    done.set()
    other.join()
    """)
    beats = trace.said("beat")
    assert trace.info["short_us"] > 0
    assert 0.8 * beats <= trace.count("beat") <= beats and trace.count("inside") <= beats
    assert trace.count("beat") == beats or trace.info["unseen_us"] > 0 or python.version >= (3, 12)


@every_python
def test_a_child_forked_in_a_short_function(tmp_path, python):
    trace = Functions(tmp_path, python, MANY + """
    import os
    def forks(now):
        if now:
            pid = os.fork()
            if pid == 0:
                for i in range(10):
                    of_child(i)
                return 0
            os.waitpid(pid, 0)
        return leaf(1)
    def of_child(n):
        return inside(n)
    def inside(n):
        return n
    end = time.perf_counter() + 0.4
    while time.perf_counter() < end:
        for i in range(200):
            forks(False)
    forks(True)
    """)
    assert trace.info["short_us"] > 0
    assert trace.count("of_child") == 10 and trace.count("inside") == 10


@both_hooks
def test_a_recording_that_ends_in_a_short_function(tmp_path, python):
    """The next one has nothing to do with it."""
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(MANY + """
    from inferscope import Profiler
    first, second = Profiler(), Profiler(trace=sys.argv[1])
    def stops(now):
        if now:
            first.stop()
        return leaf(1)
    first.start()
    end = time.perf_counter() + 0.4
    while time.perf_counter() < end:
        for i in range(200):
            stops(False)
    stops(True)
    with second:
        for i in range(10):
            middle(i)
    print(first.get_stats()["short_calls"])
    """))
    out = subprocess.run([python.path, program, tmp_path / "trace.sbt"], capture_output=True, text=True, check=True, timeout=PATIENCE,
                         env={**os.environ, "PYTHONPATH": str(BUILD / "python")}).stdout
    assert int(out) > 0
    done = subprocess.check_output([INFERSCOPE, "query", "--format", "json", tmp_path / "trace.sbt",
                                    "SELECT count(*) AS n FROM slices WHERE name = '__main__.leaf'"], timeout=PATIENCE)
    assert json.loads(done)[0]["n"] == 10 * 800


def test_greenlets_are_recorded_whole(tmp_path):
    pytest.importorskip("greenlet")
    python = next(p for p in recorded_pythons() if p.version == sys.version_info[:2] and not p.is_free_threaded)
    trace = Functions(tmp_path, python, MANY + """
    import greenlet
    def other():
        for i in range(400):
            middle(i)
            main.switch()
    main = greenlet.getcurrent()
    side = greenlet.greenlet(other)
    for i in range(401):
        side.switch()
    """)
    assert trace.count("leaf") == 400 * 800


# ---- Operators for a part of the time ---------------------------------------------------

OPERATORS = """
    import sys, time, torch
    torch.set_num_threads(1)
    a, end, count, total = torch.ones(4), time.perf_counter() + 3, 0, torch.zeros(4)
    while time.perf_counter() < end:
        with torch.profiler.record_function("step"):
            for i in range(20):
                total = total + a
        count += 1
    print("step=%d sum=%d" % (count, total[0]))
    """


def torch_python():
    pytest.importorskip("torch")
    return next(p for p in recorded_pythons() if p.version == sys.version_info[:2] and not p.is_free_threaded)


def test_operators_for_a_part_of_the_time(tmp_path):
    trace = Functions(tmp_path, torch_python(), OPERATORS, options=("--calls", "off", "--detail", "light"))
    steps = trace.said("step")
    assert trace.said("sum") == 20 * steps
    assert trace.ask("SELECT count(*) AS n FROM slices WHERE name = 'step'")[0]["n"] == steps  # what people mark is always there
    weights = [row["value"] for row in trace.ask("SELECT value FROM counters WHERE name = 'inferscope.operators' ORDER BY ts")]
    assert len(weights) >= 4 and set(weights[::2]) == {0} and all(weight > 2 for weight in weights[1::2])
    added = trace.ask("SELECT count(*) AS n FROM slices WHERE name = 'aten::add'")[0]["n"]
    assert 1000 < added < 20 * steps / 2
    # each stands for as many as the counter says
    parts = trace.ask("""SELECT count(*) AS n, (SELECT value FROM counters c WHERE c.name = 'inferscope.operators' AND c.ts <= s.ts
                         ORDER BY c.ts DESC LIMIT 1) AS weight FROM slices s WHERE name = 'aten::add' AND
                         ts BETWEEN (SELECT min(ts) FROM counters WHERE name = 'inferscope.operators' AND value > 0) AND
                                    (SELECT max(ts) FROM counters WHERE name = 'inferscope.operators' AND value = 0) GROUP BY weight""")
    span = trace.ask("SELECT (max(ts) - min(ts)) * 1.0 AS n FROM counters WHERE name = 'inferscope.operators'")[0]["n"]
    told = sum(part["n"] * part["weight"] for part in parts if part["weight"])
    assert told / span == pytest.approx(20 * steps / 3e9, rel=0.35)


def test_time_in_which_it_waits_pays_for_no_operators(tmp_path):
    trace = Functions(tmp_path, torch_python(), """
    import time, torch
    torch.set_num_threads(1)
    a = torch.ones(4)
    begin, end = time.process_time(), time.perf_counter() + 3
    while time.perf_counter() < end:
        for i in range(2000):
            a + a
        time.sleep(0.04)
    print("worked=%d" % ((time.process_time() - begin) * 1e9))
    """, options=("--calls", "off", "--detail", "light"))
    cost = 500 * trace.ask("SELECT count(*) AS n FROM slices WHERE name = 'aten::add'")[0]["n"]
    assert 1e6 <= cost <= trace.said("worked") / 400 + 2.1e6  # parts take a millisecond; one is free, one is not over


def test_all_operators_unless_asked(tmp_path):
    trace = Functions(tmp_path, torch_python(), OPERATORS.replace("+ 3", "+ 1"), options=("--calls", "off"))
    assert trace.ask("SELECT count(*) AS n FROM slices WHERE name = 'aten::add'")[0]["n"] == 20 * trace.said("step")
    assert trace.ask("SELECT count(*) AS n FROM counters WHERE name = 'inferscope.operators'")[0]["n"] == 0


# ---- What is said of it -----------------------------------------------------------------

def test_the_last_line_and_the_report_say_so(tmp_path):
    program = tmp_path / "many.py"
    program.write_text(textwrap.dedent(MANY) + "run(0.5)\n")
    done = subprocess.run([INFERSCOPE, "run", "--trace", "trace.sbt", "--report", "report.json", program], cwd=tmp_path, capture_output=True,
                          text=True, check=True, timeout=PATIENCE)
    assert "none lost, less of calls below " in done.stderr and "(--detail)" in done.stderr
    report = json.loads((tmp_path / "report.json").read_text())
    check = next(check for check in report["integrity"]["checks"] if check["name"] == "call_detail")
    assert check["status"] == "note" and check["count"] > 0 and "--detail full" in check["detail"]
    assert report["integrity"]["verdict"] == "good"
    text = subprocess.check_output([INFERSCOPE, "info", "trace.sbt"], cwd=tmp_path, text=True, timeout=PATIENCE)
    assert "are without what they called" in text
