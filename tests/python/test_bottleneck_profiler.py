"""BottleneckProfiler: operations that were built in have the figures that were built in, levels differ, names mean nothing, files of
others are refused, nothing of the program changes; and the samples of the document that people know it from run as written."""

import asyncio
import json
import logging
import os
import random
import re
import threading
import time
from datetime import datetime
from html.parser import HTMLParser
from pathlib import Path

import pytest

import package

package.need_package()
import inferscope  # noqa: E402
from inferscope import (BottleneckProfile, BottleneckProfiler, BottleneckProfilerConfig, BottleneckType, ProfilingLevel,  # noqa: E402
                        ProfilingSession, SessionError)
from inferscope.analyzer import BottleneckAnalyzer  # noqa: E402
from inferscope.sessions import _compare, _judge, _monitor, _report, _store  # noqa: E402
from inferscope.sessions.session import OperationProfile  # noqa: E402

SAMPLES = Path(__file__).resolve().parents[1] / "data" / "profiler-samples"
LOAD, COMPUTE = BottleneckType.DATA_LOADING, BottleneckType.CPU_COMPUTATION
HOSTILE = "<img src=x onerror=alert(1)> **b** | [x](javascript:0) ../../etc/passwd \0 \x1b[31m \ud800 \n# head"


def profiler_of(level="basic", folder="unused", **config):
    return BottleneckProfiler(BottleneckProfilerConfig(level, output_dir=str(folder), **config))


def run(profiler, function, name="test"):
    profiler.start_profiling_session(name)
    function()
    return profiler.stop_profiling_session()


# ---- Operations ------------------------------------------------------------------


def test_self_time_is_without_what_is_inside():
    profiler = profiler_of("detailed", enable_real_time_monitoring=False)

    def work():
        with profiler.profile_operation("outer", LOAD):
            time.sleep(0.05)
            for _ in range(4):
                with profiler.profile_operation("inner", COMPUTE):
                    time.sleep(0.02)
    session = run(profiler, work)
    outer, inner = session.operation("outer"), session.operation("inner")
    assert (outer.count, inner.count) == (1, 4)
    assert outer.total_time == pytest.approx(outer.self_time + inner.total_time, rel=1e-6)
    assert outer.self_time >= 0.05 and inner.self_time >= 0.08
    assert outer.total_time <= session.duration
    assert inner.min_time <= inner.median <= inner.p95 <= inner.max_time
    assert outer.computed < 0.5  # it slept
    with pytest.raises(KeyError):
        session.operation("other")


def test_generators_that_take_turns_are_told_apart():
    profiler = profiler_of(enable_memory_tracking=False)

    def steps():
        with profiler.profile_operation("generator"):
            time.sleep(0.02)
            yield
            time.sleep(0.01)

    def work():
        generator = steps()
        next(generator)
        with profiler.profile_operation("consumer"):
            time.sleep(0.03)
            list(generator)  # it ends inside what began inside of it
            time.sleep(0.03)
    session = run(profiler, work)
    whole = session.operation("generator").self_time + session.operation("consumer").self_time
    assert whole == pytest.approx(session.duration, abs=0.01)
    assert session.operation("consumer").self_time >= 0.07


def test_tasks_of_asyncio_do_not_nest_in_each_other():
    profiler = profiler_of(enable_memory_tracking=False)

    async def one():
        with profiler.profile_operation("outer"):
            await asyncio.sleep(0.05)
            with profiler.profile_operation("inner"):
                await asyncio.sleep(0.02)

    async def all_of_them():
        await asyncio.gather(*(one() for _ in range(20)))
    session = run(profiler, lambda: asyncio.run(all_of_them()))
    outer, inner = session.operation("outer"), session.operation("inner")
    assert (outer.count, inner.count, outer.unfinished) == (20, 20, 0)
    assert outer.self_time >= 20 * 0.05 and inner.self_time >= 20 * 0.02
    assert outer.self_time == pytest.approx(outer.total_time - inner.total_time, rel=1e-6)


def test_threads_count_on_their_own():
    profiler = profiler_of(enable_memory_tracking=False)

    def thread():
        for _ in range(2000):
            with profiler.profile_operation("a"):
                with profiler.profile_operation("b"):
                    pass

    def work():
        threads = [threading.Thread(target=thread) for _ in range(8)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        for _ in range(200):  # short ones, whose places are taken over
            one = threading.Thread(target=lambda: profiler.profile_operation("c").__enter__().__exit__(None, None, None))
            one.start()
            one.join()
    session = run(profiler, work)
    assert [session.operation(name).count for name in "abc"] == [16000, 16000, 200]
    assert session.operation("a").self_time <= session.operation("a").total_time
    assert session.operation("c").threads <= 9


def test_decorated_functions_and_recursion():
    profiler = profiler_of()

    @profiler.profile_operation("fib", COMPUTE)
    def fib(n):
        return n if n < 2 else fib(n - 1) + fib(n - 2)

    @profiler.profile_operation("task")
    async def task():
        await asyncio.sleep(0)
        return 5

    @profiler.profile_operation("numbers")
    def numbers():
        yield 1
        yield 2
    assert fib(10) == 55  # without a session
    for _ in range(2):  # the decorated function outlives sessions
        session = run(profiler, lambda: (fib(10), asyncio.run(task()), list(numbers())))
        assert [session.operation(name).count for name in ("fib", "task", "numbers")] == [177, 1, 3]
        assert session.operation("fib").self_time <= session.duration


def test_failures_and_what_has_not_ended():
    profiler = profiler_of()

    def work():
        with pytest.raises(KeyError):
            with profiler.profile_operation("fails"):
                raise KeyError("x")
        profiler.profile_operation("open").__enter__()
        time.sleep(0.02)
    session = run(profiler, work)
    assert (session.operation("fails").failures, session.operation("open").failures) == (1, 0)
    assert session.operation("open").unfinished == 1 and session.operation("open").total_time >= 0.02
    profiler.profile_operation("open").__exit__(None, None, None)  # nothing happens
    session = run(profiler, lambda: profiler.profile_operation("never begun").__exit__(None, None, None))
    assert session.operations == []


def test_names_have_no_end_but_memory_has():
    profiler = profiler_of(enable_memory_tracking=False)

    def work():
        for number in range(3000):
            with profiler.profile_operation("name %d" % number):
                pass
    session = run(profiler, work)
    assert len(session.operations) == 1000
    assert session.operation(_judge.OTHERS).count == 3000 - 999
    assert len(profiler._made) <= 1000


def test_memory_of_operations():
    profiler = profiler_of("basic")
    kept = []

    def work():
        with profiler.profile_operation("grows"):
            kept.append(bytearray(os.urandom(1) * (32 << 20)))
        with profiler.profile_operation("does not"):
            pass
    session = run(profiler, work)
    assert 30 < session.operation("grows").memory_mb < 40
    assert abs(session.operation("does not").memory_mb) < 4
    assert session.performance_metrics["memory_growth_mb"] > 25


def test_memory_of_a_gpu_comes_from_torch(monkeypatch):
    allocated = [0]
    cuda = type("cuda", (), {"is_initialized": staticmethod(lambda: True), "memory_allocated": staticmethod(lambda: allocated[0])})
    monkeypatch.setitem(__import__("sys").modules, "torch", type("torch", (), {"cuda": cuda}))
    profiler = profiler_of("detailed", enable_real_time_monitoring=False, bottleneck_threshold=0.0001)

    def work():
        with profiler.profile_operation("copy", BottleneckType.GPU_TRANSFER):
            allocated[0] += 64 << 20
            time.sleep(0.01)
    session = run(profiler, work)
    assert session.operation("copy").gpu_memory_mb == 64
    assert session.bottlenecks[0].gpu_usage == 64


def test_a_fork_counts_nothing():
    profiler = profiler_of("production", enable_real_time_monitoring=True)
    profiler.start_profiling_session("parent")
    with profiler.profile_operation("both"):
        child = os.fork()
        if child == 0:
            with profiler.profile_operation("child"):
                pass
            os._exit(0 if not profiler.is_profiling and profiler._log.rows() is not None else 1)
    assert os.waitpid(child, 0)[1] == 0
    session = profiler.stop_profiling_session()
    assert [one.name for one in session.operations] == ["both"]


# ---- Sessions --------------------------------------------------------------------


def test_sessions_of_a_process():
    first, second = profiler_of(), profiler_of()
    ids = [first.start_profiling_session("a/b c"), second.start_profiling_session("")]
    with pytest.raises(RuntimeError, match="has not been stopped"):
        first.start_profiling_session("again")
    with pytest.raises(RuntimeError, match="has not been stopped"):
        first.generate_optimization_report()
    with first.profile_operation("x"), second.profile_operation("y"):
        pass
    assert first.is_profiling and first.current_session.session_id == ids[0]
    one, two = first.stop_profiling_session(), second.stop_profiling_session()
    assert [one.session_id, two.session_id] == ids and len(set(ids)) == 2
    assert re.fullmatch(r"a_b_c_\d{8}_\d{6}_%d_\d+" % os.getpid(), ids[0]) and ids[1].startswith("session_")
    assert [[op.name for op in session.operations] for session in (one, two)] == [["x"], ["y"]]
    assert isinstance(one.start_time, datetime) and (one.end_time - one.start_time).total_seconds() >= 0
    assert not first.is_profiling and first.current_session is one and first.sessions[ids[0]] is one
    with pytest.raises(RuntimeError, match="no session"):
        first.stop_profiling_session()
    assert BottleneckProfiler().get_bottleneck_summary() == {}


def test_levels_differ_in_what_they_collect():
    sessions = {}
    for level in ("basic", "detailed", "production"):
        profiler = profiler_of(level)

        def work(profiler=profiler):
            for _ in range(5):
                with profiler.profile_operation("load", LOAD):
                    time.sleep(0.05)
        sessions[level] = run(profiler, work)
    basic, detailed, production = (sessions[level] for level in ("basic", "detailed", "production"))
    assert basic.operations[0].memory_mb is not None and basic.operations[0].computed is None
    assert detailed.operations[0].memory_mb is not None and detailed.operations[0].computed < 0.5
    assert production.operations[0].memory_mb is None and production.operations[0].computed is None
    assert len(basic.bottlenecks) == 0 and [sorted(row) for row in basic.samples] == [["memory_mb", "time_s"]] * 2
    assert [one.operation_name for one in detailed.bottlenecks if one.source == "operation"] == ["load"]
    assert [one.operation_name for one in production.bottlenecks if one.source == "operation"] == ["load"]
    assert len(detailed.samples) >= 2 and 2 <= len(production.samples) <= 3  # one a second, and the end
    assert list(detailed.memory_profile.values()) and all(0 < value < 100 for value in detailed.memory_profile.values())
    assert "cpu_usage" in detailed.performance_metrics and detailed.cpu_profile and detailed.io_profile
    assert detailed.trace is None and detailed.analysis is None


def test_comprehensive_has_what_the_analysis_finds(tmp_path):
    profiler = profiler_of("comprehensive", tmp_path, keep_trace=True)

    def load_one():
        text = json.dumps(list(range(3000)))
        return sum(json.loads(text))

    def work():
        for _ in range(40):
            with profiler.profile_operation("step", COMPUTE):
                for _ in range(3):
                    load_one()
                time.sleep(0.002)
    session = run(profiler, work)
    assert session.analysis is not None, session.notes
    assert session.analysis["analysis_version"] == "1.0"
    assert session.trace == str(tmp_path / (session.session_id + ".sbt")) and os.path.isfile(session.trace)
    scopes = {event["name"] for event in inferscope._engine.read_events(session.trace)}
    assert "step" in scopes
    found = [one for one in session.bottlenecks if one.source == "analysis"]
    assert len(found) == len(session.analysis["findings"])
    for one in found:
        assert one.finding and one.evidence and 0 <= one.optimization_potential <= 1


def test_comprehensive_without_a_recorder_goes_on(monkeypatch, caplog):
    monkeypatch.setenv("INFERSCOPE_COMMAND", "/nonexistent/inferscope")
    profiler = profiler_of("comprehensive")
    with caplog.at_level(logging.WARNING, "inferscope.sessions"):
        session = run(profiler, lambda: profiler.profile_operation("x").__enter__().__exit__(None, None, None))
    assert session.analysis is None and session.operations[0].count == 1
    assert any("there is no trace" in note for note in session.notes) and "there is no trace" in caplog.text


def test_an_interrupted_analysis_keeps_the_session(monkeypatch):
    def interrupt(self):
        raise KeyboardInterrupt
    monkeypatch.setattr(BottleneckAnalyzer, "analyze", interrupt)
    profiler = profiler_of("comprehensive", bottleneck_threshold=0.01)
    profiler.start_profiling_session("interrupted")
    with profiler.profile_operation("sleep", LOAD):
        time.sleep(0.1)
    with pytest.raises(KeyboardInterrupt):
        profiler.stop_profiling_session()
    session = profiler.current_session
    assert not profiler.is_profiling and session.operation("sleep").count == 1
    assert session.bottlenecks[0].operation_name == "sleep" and "interrupted" in session.notes[-1]


def test_a_session_that_cannot_start_leaves_nothing(tmp_path):
    (tmp_path / "file").write_text("")
    before = set(threading.enumerate())
    profiler = profiler_of("comprehensive", tmp_path / "file", keep_trace=True)
    with pytest.raises(OSError):
        profiler.start_profiling_session("x")
    assert not profiler.is_profiling and profiler.current_session is None and set(threading.enumerate()) <= before
    profiler.config.output_dir = str(tmp_path)
    assert run(profiler, lambda: None).operations == []


def test_a_session_leaves_no_threads():
    before = set(threading.enumerate())
    for level in ("detailed", "production"):
        profiler = profiler_of(level)
        profiler.start_profiling_session("x")
        assert profiler.profiling_thread is not None and profiler.profiling_thread.is_alive()
        profiler.stop_profiling_session()
    assert set(threading.enumerate()) <= before and profiler.profiling_thread is None


def test_the_configuration_is_checked():
    with pytest.raises(ValueError, match="bottleneck_threshold"):
        BottleneckProfilerConfig(bottleneck_threshold=0)
    with pytest.raises(ValueError, match="sampling_interval"):
        BottleneckProfilerConfig(sampling_interval=0)
    with pytest.raises(ValueError):
        BottleneckProfilerConfig(profiling_level="everything")
    with pytest.raises(TypeError, match="BottleneckProfilerConfig"):
        BottleneckProfiler({"profiling_level": "basic"})
    config = BottleneckProfilerConfig()
    assert (config.bottleneck_threshold, config.memory_threshold, config.gpu_threshold, config.sampling_interval) == (0.05, 0.8, 0.9, 0.1)
    profiler = profiler_of()
    with pytest.raises(ValueError):
        profiler.profile_operation("x", "no such type")
    with pytest.raises(TypeError):
        profiler.profile_operation(5)


# ---- What is a bottleneck ----------------------------------------------------------


def operation(name, type, seconds, duration=10.0, count=10, computed=None):
    return OperationProfile(name, type, count, total_time=seconds, self_time=seconds, median=seconds / count, p95=seconds / count,
                            share=seconds / duration, computed=computed, blocks=[(1, seconds / count)] * count)


def test_what_takes_its_share_is_a_bottleneck():
    rows = [operation("load", LOAD, 6), operation("compute", COMPUTE, 3), operation("little", COMPUTE, 0.4)]
    found = _judge.find(rows, 10.0, 0.05)
    assert [one.operation_name for one in found] == ["load", "compute"]
    load, compute = found
    assert (load.severity, load.frequency, load.execution_time) == (0.6, 10, 6)
    assert load.optimization_potential == pytest.approx(4 / 6)  # the rest takes 4 s
    assert load.gain == pytest.approx(0.4)
    assert compute.optimization_potential == 0  # all runs are alike
    assert load.suggestions[0] == "Use more workers in the DataLoader"


def test_names_that_differ_in_a_number_count_together():
    rows = [operation("epoch_%d_load" % number, LOAD, 0.3) for number in range(10)] + [operation("epoch_10_load", LOAD, 2)]
    found = _judge.find(rows, 10.0, 0.05)
    assert [(one.operation_name, one.frequency) for one in found] == [("epoch_*_load", 100), ("epoch_10_load", 10)]
    assert found[0].severity == pytest.approx(0.3)


def test_waiting_can_be_hidden_and_computing_cannot():
    rows = [operation("sync", BottleneckType.SYNCHRONIZATION, 4, computed=0.25)]
    assert _judge.find(rows, 10.0, 0.05)[0].optimization_potential == pytest.approx(0.75)
    slow = operation("sometimes slow", COMPUTE, 8.0, count=20)
    slow.blocks, slow.median = [(1, 0.2)] * 15 + [(1, 1.0)] * 5, 0.2
    assert _judge.find([slow], 10.0, 0.05)[0].optimization_potential == pytest.approx(0.5, abs=0.01)
    slow.blocks = [(1, 4.2)] + [(1, 0.2)] * 19  # only the first: a start
    assert _judge.find([slow], 10.0, 0.05)[0].optimization_potential == pytest.approx(0, abs=1e-9)


def test_gains_of_the_analysis_count():
    analysis = {"findings": [{"id": "data_loading:x", "kind": "data_loading", "severity": 1.0, "share_percent": 50.0, "owned_us": 5e6,
                              "gain_percent": 30.0, "gain_low_percent": 10.0, "gain_high_percent": 45.0, "frequency": 0.5,
                              "optimization_potential": 0.6, "evidence": ["because"], "where": []},
                             {"id": "gil_contention:y", "kind": "gil_contention", "severity": 0.2, "share_percent": 6.0, "owned_us": 6e5,
                              "gain_percent": 3.0, "gain_low_percent": 0.0, "gain_high_percent": 6.0, "frequency": None,
                              "optimization_potential": 0.5, "evidence": [], "where": []}],
                "suggestions": [{"finding": "data_loading:x", "action": "use 4 workers"}], "steps": [{}] * 8}
    found = _judge.find([operation("load", LOAD, 6)], 10.0, 0.05, analysis=analysis)
    load, lock = found
    assert (load.operation_name, lock.operation_name) == ("load", "gil_contention:y")  # the finding and the operation are one
    assert load.optimization_potential == pytest.approx(0.5) and load.gain == pytest.approx(0.3)
    assert (load.gain_low, load.gain_high) == (pytest.approx(0.1), pytest.approx(0.45))
    assert load.suggestions[0] == "use 4 workers" and load.finding == "data_loading:x"
    assert (load.frequency, load.source, load.severity, load.evidence[-1]) == (10, "operation", 1.0, "because")
    assert lock.bottleneck_type is BottleneckType.SYNCHRONIZATION and lock.source == "analysis"
    alone, _ = _judge.find([operation("step", COMPUTE, 6)], 10.0, 0.05, analysis=analysis)[:2]
    assert (alone.operation_name, alone.frequency, alone.source, alone.severity) == ("data_loading:x", 4, "analysis", 1.0)


def test_computing_is_one_cause_where_it_is_in_the_operation():
    """The function that a finding names was called in `epoch_1_forward` for the most part."""
    def finding(name, gain):
        return {"id": "cpu_computation:%s (train.py:3)" % name, "kind": "cpu_computation", "severity": 0.5, "share_percent": 20.0,
                "gain_percent": gain, "gain_low_percent": 5.0, "gain_high_percent": 20.0, "evidence": [name], "where": []}
    tree = [{"node": node, "parent": parent, "name": name, "total_us": total} for node, parent, name, total in (
        (0, None, "thread", 100), (1, 0, "epoch_1_forward", 60), (2, 1, "net.Model.scale", 30), (3, 0, "backward", 40), (4, 3, "net.Model.scale", 5),
        (5, 0, "net.log", 9), (6, 3, "net.log", 8))]
    analysis = {"findings": [finding("Model.scale", 12.0), finding("log", 10.0)], "attribution": {"tree": tree}}
    operations = [operation("epoch_%d_forward" % number, COMPUTE, 0.3) for number in range(10)] + [operation("backward", COMPUTE, 4)]
    found = {one.operation_name: one for one in _judge.find(operations, 10.0, 0.05, analysis=analysis)}
    assert sorted(found) == ["backward", "cpu_computation:log (train.py:3)", "epoch_*_forward"]
    assert found["epoch_*_forward"].gain == pytest.approx(0.12) and found["epoch_*_forward"].evidence[-1] == "Model.scale"
    assert found["backward"].finding is None and found["backward"].gain == 0


def test_thresholds_are_alerts():
    profiler = profiler_of("detailed", memory_threshold=0.0001, sampling_interval=0.05)
    profiler.start_profiling_session("memory")
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and not profiler.bottlenecks:
        time.sleep(0.05)
    summary = profiler.get_bottleneck_summary()
    session = profiler.stop_profiling_session()
    assert summary["is_profiling"] and summary["bottlenecks"][0]["operation_name"] == "high_memory_usage"
    found = [one for one in session.bottlenecks if one.source == "alert"]
    assert [(one.operation_name, one.severity, one.bottleneck_type) for one in found] == [
        ("high_memory_usage", 0.8, BottleneckType.MEMORY_ALLOCATION)]
    assert found[0].suggestions[:3] == ["Reduce batch size", "Enable gradient checkpointing", "Use mixed precision"]
    assert session.alerts[0]["kind"] == "memory_high"


def test_what_the_program_records_itself():
    profiler = profiler_of("detailed", enable_real_time_monitoring=False)
    profiler.record_bottleneck(LOAD, "no session", 0.5)  # nothing happens
    profiler.start_profiling_session("own")
    for _ in range(3):
        profiler.record_bottleneck("data_loading", "queue_empty", 0.4, ["Fill it"], 0.5)
    session = profiler.stop_profiling_session()
    assert [(one.operation_name, one.frequency, one.severity, one.execution_time, one.suggestions, one.source)
            for one in session.bottlenecks] == [("queue_empty", 3, 0.4, 1.5, ["Fill it"], "program")]


@pytest.mark.usefixtures("types_of_ones_own")
def test_types_and_strategies_of_others_are_known():
    kind = inferscope.register_bottleneck_type("session_test_wait", "of a test")
    inferscope.register_optimization_strategy(kind, lambda context: "think about %s" % context["operation"])
    found = _judge.find([operation("odd", kind, 5)], 10.0, 0.05)
    assert found[0].suggestions == ["think about odd"] and found[0].bottleneck_type is kind


def test_samples_of_a_long_session_are_thinned_out():
    series = _monitor.Series(most=100)
    for number in range(100_000):
        series.add({"time_s": number / 10, "memory_mb": float(number == 77_777), "custom": {}})
    rows = series.copy()
    assert 50 <= len(rows) <= 100 and series.greatest["memory_mb"] == 1.0
    gaps = {round(b["time_s"] - a["time_s"], 3) for a, b in zip(rows, rows[1:])}
    assert len(gaps) == 1 and rows[0]["time_s"] == 0 and rows[-1]["time_s"] > 9000


# ---- Comparing ---------------------------------------------------------------------


def session_of(times, name="step", type=COMPUTE):
    session = ProfilingSession("made_1", datetime.now())
    session.operations = [OperationProfile(name, type, len(times), total_time=sum(times), self_time=sum(times), share=0.5,
                                           blocks=[(1, seconds) for seconds in times])]
    return session


def noisy(base, spread, count=40, seed=1):
    draw = random.Random(seed)
    return [10 * base] + [base * (1 + spread * draw.random()) for _ in range(count)]  # the first is a start


def test_two_sessions_are_compared_with_intervals():
    compare = BottleneckProfiler.compare_sessions
    slow, fast = session_of(noisy(0.10, 0.1)), session_of(noisy(0.05, 0.1, seed=2))
    row = compare(slow, fast).operation("step")
    assert row.verdict == "faster" and row.ratio[0] <= row.ratio[1] <= row.ratio[2] and row.ratio[1] == pytest.approx(0.5, rel=0.1)
    assert compare(fast, slow).operation("step").verdict == "slower"
    assert compare(session_of(noisy(0.1, 0.02)), session_of(noisy(0.1, 0.02, seed=3))).operation("step").verdict == "same"
    assert compare(session_of(noisy(0.1, 3)), session_of(noisy(0.11, 3, seed=4))).operation("step").verdict == "cannot tell"
    few = compare(session_of([0.1] * 3), slow).operation("step")
    assert few.verdict == "cannot tell" and few.ratio is None and "too rarely" in few.reason
    assert compare(slow, session_of(noisy(0.1, 0.1), "other")).operation("other").verdict == "only in b"
    assert "faster" in str(compare(slow, fast))
    with pytest.raises(TypeError):
        compare(slow, "fast.json")


def test_runs_that_differ_are_not_told_apart():
    """Two runs of each: the second of the fast ones was as slow as the slow ones."""
    compare = BottleneckProfiler.compare_sessions
    slow = [session_of(noisy(0.10, 0.05, seed=seed)) for seed in (1, 2)]
    fast = [session_of(noisy(base, 0.05, seed=3)) for base in (0.08, 0.10)]
    assert compare(slow[0], fast[0]).operation("step").verdict == "faster"
    assert compare(slow, fast).operation("step").verdict == "cannot tell"


def test_intervals_hold_what_they_promise():
    draw, inside = random.Random(5), 0
    for _ in range(300):
        low, _, high = _compare.median_interval([draw.expovariate(1) for _ in range(25)])
        inside += low <= 0.6931 <= high
    assert inside >= 0.93 * 300
    assert _compare.median_interval([1.0] * 5) is None


def test_blocks_keep_order_and_sums():
    profiler = profiler_of(enable_memory_tracking=False)

    def work():
        for _ in range(1000):
            with profiler.profile_operation("x"):
                pass
    one = run(profiler, work).operations[0]
    assert 32 <= len(one.blocks) <= 64 and len({count for count, _ in one.blocks}) == 1
    assert 1000 - one.blocks[0][0] < sum(count for count, _ in one.blocks) <= 1000
    assert sum(seconds for _, seconds in one.blocks) <= one.total_time


# ---- Keeping -----------------------------------------------------------------------


def full_session(folder, formats=("svg",)):
    profiler = profiler_of("detailed", folder, sampling_interval=0.02, chart_formats=formats)

    def work():
        for number in range(8):
            with profiler.profile_operation("load %d" % number, LOAD):
                time.sleep(0.01)
        with profiler.profile_operation(HOSTILE, BottleneckType.I_O_OPERATION):
            time.sleep(0.05)
    return profiler, run(profiler, work, HOSTILE)


def test_what_is_saved_is_loaded(tmp_path):
    profiler, session = full_session(tmp_path)
    path = profiler.save_session()
    assert os.path.dirname(path) == str(tmp_path) and json.loads(Path(path).read_text())["session_version"] == 1
    loaded = BottleneckProfiler.load_session(path)
    assert loaded.operations[0].name.encode("utf-8", "replace") == session.operations[0].name.encode("utf-8", "replace")
    assert loaded.operations[1:] == session.operations[1:] and loaded.bottlenecks[1:] == session.bottlenecks[1:]
    for name in ("session_id", "start_time", "end_time", "profiling_level", "duration", "performance_metrics", "memory_profile", "gpu_profile",
                 "cpu_profile", "io_profile", "samples", "alerts", "notes"):
        assert getattr(loaded, name) == getattr(session, name), name
    assert profiler.compare_sessions(session, loaded).operation("load 0").verdict == "cannot tell"  # once is not enough
    assert profiler.generate_optimization_report(session=loaded)["markdown"].startswith(str(tmp_path))


def mutations(good):
    """Of a session's JSON, what somebody may have done to it."""
    yield b"", b"{", b"[]", b"null", b"\xff\xfe", b"{}", b"[" * 100_000
    for change in ({"session_version": 2}, {"session_version": "x" * 1000}, {"session_id": "../../x"}, {"session_id": 5},
                   {"start_time": "yesterday"}, {"start_time": None}, {"operations": {}}, {"operations": [5]}, {"operations": [{}]},
                   {"operations": [{"name": "x", "count": "many"}]}, {"operations": [{"name": "x", "blocks": [[1]]}]},
                   {"operations": [{"name": "x", "type": "<b>"}]}, {"operations": [{"name": "x", "type": "of_somebody"}]}, {"operations": [{"name": "x", "total_time": None}]},
                   {"bottlenecks": [{"bottleneck_type": None, "operation_name": "x"}]}, {"memory_profile": {"0": 1}},
                   {"memory_profile": [[0, "x"]]}, {"performance_metrics": {"x": []}}, {"notes": [5]}, {"analysis": []},
                   {"samples": [[]]}, {"profiling_level": "all"}, {"duration": True}, {"name": ["x"]}):
        yield (json.dumps({**good, **change}).encode(),)


def test_files_of_others_get_one_sentence(tmp_path):
    profiler, session = full_session(tmp_path)
    good = json.loads(Path(profiler.save_session()).read_text())
    path, tried = tmp_path / "bad.json", 0
    for texts in mutations(good):
        for text in texts:
            path.write_bytes(text)
            with pytest.raises(SessionError, match="^cannot load the session .*bad.json: [^\n]+$") as caught:
                BottleneckProfiler.load_session(path)
            assert len(str(caught.value)) < 500
            tried += 1
    assert tried == 31
    path.write_text(json.dumps({**good, "operations": [{"name": "x", "total_time": float("nan")}]}))
    with pytest.raises(SessionError, match="no number"):
        BottleneckProfiler.load_session(path)
    with pytest.raises(OSError):
        BottleneckProfiler.load_session(tmp_path / "missing.json")
    path.write_text(json.dumps({**good, "more": 5}))  # of a later version that we can still read
    assert BottleneckProfiler.load_session(path).session_id == session.session_id


# ---- Reports -----------------------------------------------------------------------


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.seen, self.attributes = set(), set()

    def handle_starttag(self, tag, attrs):
        self.seen.add(tag)
        self.attributes |= {name for name, _ in attrs}


def test_names_mean_nothing_in_reports(tmp_path):
    profiler, session = full_session(tmp_path)
    written = profiler.generate_optimization_report()
    files = sorted(os.listdir(tmp_path))
    assert all(name.startswith(session.session_id) and re.fullmatch(r"[A-Za-z0-9._-]+", name) for name in files)
    page = Path(written["html"]).read_text()
    tags = Tags()
    tags.feed(page)
    assert "img" not in tags.seen and not {"onerror", "src", "href", "onclick"} & tags.attributes
    assert "&lt;img src=x" in page and "Content-Security-Policy" in page and "<svg" in page
    text = Path(written["markdown"]).read_text()
    assert "<img" not in text.replace("\\<img", "") and "\n# head" not in text and "\x1b" not in text and "\0" not in text
    assert "[x](javascript" not in text and "# Bottleneck Profiling Report" in text
    assert text.count("Severity:") == len(session.bottlenecks)
    pictures = [path for path in written["charts"] if path.endswith(".svg")]
    assert {os.path.basename(path)[len(session.session_id):] for path in pictures} == {
        "_visualizations.svg", "_severity.svg", "_frequency.svg", "_potential.svg", "_resources.svg"}
    for path in pictures:
        tags = Tags()
        tags.feed(Path(path).read_text())
        assert tags.seen <= {"svg", "title", "desc", "defs", "pattern", "rect", "text", "polyline"}
        assert "\\ud800" not in Path(path).read_text()


def test_charts_show_the_figures(tmp_path):
    profiler, session = full_session(tmp_path, ("png",))
    charts = _report.charts(session)
    severity = charts["severity"]
    assert [row[1] for row in severity[5]] == [one.severity for one in session.bottlenecks]
    assert [row[1] for row in charts["frequency"][5]] == [one.frequency for one in session.bottlenecks]
    panels = charts["resources"][6]
    assert panels[0][0] == "memory, MB" and panels[0][2][0][2] == [row["memory_mb"] for row in session.samples]
    picture = _report.draw([severity], "svg").decode()
    assert picture.count('class="bar"') == len(session.bottlenecks)
    whole = _report.draw(charts.values(), "svg").decode()
    heights = [float(re.search(r'height="(\d+)"', _report.draw([chart], "svg").decode()).group(1)) for chart in charts.values()]
    assert float(re.search(r'height="(\d+)"', whole).group(1)) == pytest.approx(sum(heights), abs=2)
    for title in ("Bottleneck Severity", "Bottleneck Frequency", "Optimization Potential", "Resource Usage Over Time"):
        assert ">%s</text>" % title in whole
    if any(path.endswith(".png") for path in profiler.generate_charts()):
        data = (tmp_path / (session.session_id + "_visualizations.png")).read_bytes()
        assert data.startswith(b"\x89PNG") and int.from_bytes(data[16:20], "big") == 1920


@pytest.mark.parametrize("level", ["basic", "detailed", "production"])
def test_a_short_session_has_charts_of_what_it_used(tmp_path, level):
    profiler = profiler_of(level, tmp_path)
    session = run(profiler, lambda: time.sleep(0.03))
    times = [row["time_s"] for row in session.samples]
    assert len(times) >= 2 and times == sorted(times) and times[0] < 0.02 <= times[-1] <= session.duration + 0.5
    panels = _report.charts(session)["resources"][6]
    assert panels[0][0] == "memory, MB" and all(len(line[1]) >= 2 for panel in panels for line in panel[2])
    assert ("processors, %" in [panel[0] for panel in panels]) is (level != "basic")
    assert "polyline" in Path(profiler.generate_charts()[0]).read_text()


def test_an_empty_session_has_a_report(tmp_path):
    profiler = profiler_of("detailed", tmp_path, enable_real_time_monitoring=False)
    run(profiler, lambda: None)
    assert "Total Bottlenecks Detected: 0" in Path(profiler.generate_optimization_report()["markdown"]).read_text()


def test_pictures_refuse_what_they_cannot_draw():
    draw = inferscope._engine.draw
    for charts in ([], [()], [("t", "a", "n", 1.0, 1, [("x", "y", "z")], [])], [("t", "a", "n", 1.0, 1, [], [("p", 0.0, [("l", [1.0], [])])])],
                   [("t", "a", "n", 1.0, 1, [], [("p", 0.0, [("l", [], [])] * 7)])], [("t", "a", "n", 1.0, 1, [], [("p", 0.0, [])] * 9)]):
        with pytest.raises((TypeError, ValueError)):
            draw(charts, "svg")
    with pytest.raises(ValueError):
        draw([("t", "a", "n", 1.0, 1, [], [])], "gif")
    odd = [("t", "a", "n", 0.0, 1, [("x", value, "low") for value in (float("nan"), float("inf"), -1.0, 1e300)], [])]
    assert b"</svg>" in draw(odd, "svg")


# ---- The samples of the document -----------------------------------------------------


def sample(name):
    return (SAMPLES / (name + ".txt")).read_text()


def method_of(name, words, **names):
    """A method of the document, made of its text."""
    from typing import Callable, Dict, List, Optional
    from collections import defaultdict
    namespace = {"Callable": Callable, "Dict": Dict, "List": List, "Optional": Optional, "defaultdict": defaultdict, "Path": Path,
                 "datetime": datetime, "time": time, "threading": threading, "BottleneckType": BottleneckType, **names}
    exec(compile(sample(name), name, "exec"), namespace)
    return namespace[words]


@pytest.fixture(name="training")
def _training(tmp_path, monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)

    class Data(torch.utils.data.Dataset):
        def __len__(self):
            return 32

        def __getitem__(self, index):
            time.sleep(0.002)
            return torch.full((16,), float(index)), index % 4

    torch.manual_seed(1)
    model = torch.nn.Linear(16, 4)
    return {"data_loader": torch.utils.data.DataLoader(Data(), batch_size=4), "model": model, "num_epochs": 2, "torch": torch,
            "criterion": torch.nn.CrossEntropyLoss(), "optimizer": torch.optim.SGD(model.parameters(), lr=0.1),
            "preprocess_data": lambda data: data / 32, "BottleneckProfiler": BottleneckProfiler, "BottleneckType": BottleneckType,
            "BottleneckProfilerConfig": BottleneckProfilerConfig, "ProfilingLevel": ProfilingLevel}


def test_the_training_loop_of_the_document(training, tmp_path, capsys):
    names = dict(training)
    exec(compile(sample("training-loop"), "training-loop", "exec"), names)
    session, profiler = names["session"], names["profiler"]
    assert capsys.readouterr().out == "Training completed with %d bottlenecks detected\n" % len(session.bottlenecks)
    assert {one.name for one in session.operations} == {"epoch_0_data_loading", "epoch_1_data_loading", "preprocessing", "model_inference",
                                                        "training_step"}
    assert [session.operation(name).count for name in ("epoch_0_data_loading", "preprocessing", "training_step")] == [1, 16, 16]
    loading = [one for one in session.bottlenecks if one.bottleneck_type is LOAD and one.source == "operation"]
    assert loading and all(one.operation_name.startswith("epoch_") for one in loading)  # 2 ms for each of 64 samples
    assert sum(one.execution_time for one in loading) >= 64 * 0.002
    assert session.analysis is not None, session.notes
    assert session.session_id == names["session_id"] and not profiler.is_profiling
    folder = tmp_path / "profiling_results"
    for suffix in ("_report.md", "_report.html", "_visualizations.svg"):
        assert (folder / (session.session_id + suffix)).is_file()
    training["optimizer"].zero_grad()

    # What is computed is what would be without us, bit for bit.
    torch = training["torch"]
    result = [parameter.detach().clone() for parameter in training["model"].parameters()]
    torch.manual_seed(1)
    model = torch.nn.Linear(16, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        for data, target in training["data_loader"]:
            training["criterion"](model(data / 32), target).backward()
            optimizer.step()
    assert all(torch.equal(a, b) for a, b in zip(result, model.parameters()))


def test_the_minimal_change_of_the_document():
    profiler = profiler_of()
    profiler.start_profiling_session("minimal")
    names = {"profiler": profiler, "BottleneckType": BottleneckType, "my_preprocessing_function": lambda data: data + 1, "data": 1}
    exec(compile(sample("minimal-change"), "minimal-change", "exec"), names)
    assert names["result"] == 2 and profiler.stop_profiling_session().operation("my_preprocessing").count == 1


def test_names_and_values_of_the_document(monkeypatch):
    from dataclasses import dataclass
    from enum import Enum
    names = {"Enum": Enum, "dataclass": dataclass}
    for text in ("types", "levels", "thresholds"):
        exec(compile(sample(text), text, "exec"), names)
    assert {one.name: one.value for one in names["BottleneckType"]}.items() <= {one.name: one.value for one in BottleneckType}.items()
    assert {one.name: one.value for one in names["ProfilingLevel"]} == {one.name: one.value for one in ProfilingLevel}
    theirs, ours = names["BottleneckProfilerConfig"](), BottleneckProfilerConfig()
    assert {name: getattr(ours, name) for name in vars(theirs)} == vars(theirs)
    profiler = profiler_of()
    for name in re.findall(r"self\.(\w+)", sample("profiler")):
        assert hasattr(profiler, name), name


def test_the_report_of_the_document():
    """Its own formatter works on our sessions."""
    profiler = profiler_of("detailed", enable_real_time_monitoring=False)

    def work():
        with profiler.profile_operation("load", LOAD):
            time.sleep(0.02)
    run(profiler, work)
    text = method_of("profile-report", "_format_profile_report")(profiler)
    assert text.startswith("# Bottleneck Profiling Report\n") and "Total Bottlenecks Detected: 1" in text
    assert "#### Data_Loading" in text and "- **load**: Severity: " in text and "    - Use more workers" in text
    assert "- duration: " in text


def test_the_real_time_checks_of_the_document():
    profiler = profiler_of("detailed", enable_real_time_monitoring=False)
    profiler.start_profiling_session("real time")
    profiler.performance_metrics["memory_usage"] = 95.0
    profiler.performance_metrics["gpu_memory_usage"] = 91.0
    check, count = method_of("real-time-bottlenecks", "_detect_real_time_bottlenecks"), []

    class Theirs(BottleneckProfiler):
        _monitoring_loop = method_of("monitoring-loop", "_monitoring_loop")

        def _collect_real_time_metrics(self):
            count.append(1)
            if len(count) == 3:
                self.stop_event.set()

        def _detect_real_time_bottlenecks(self):
            check(profiler)
    theirs = Theirs(BottleneckProfilerConfig("detailed", sampling_interval=0.01))
    theirs.stop_event.clear()
    theirs._monitoring_loop()
    session = profiler.stop_profiling_session()
    assert [(one.operation_name, one.severity, one.frequency) for one in session.bottlenecks] == [
        ("high_gpu_memory_usage", 0.9, 3), ("high_memory_usage", 0.8, 3)]
    for name in ("_get_gpu_memory_usage", "_get_memory_usage"):
        assert method_of("degradation", name)(profiler) >= 0


def test_the_operation_of_the_document_has_its_trackers():
    from contextlib import contextmanager
    seen = []
    profiler = profiler_of()
    theirs = method_of("operation", "profile_operation", contextmanager=contextmanager)
    BottleneckProfiler._record_operation_metrics = lambda self, *figures: seen.append(figures)
    try:
        with theirs(profiler, "theirs", LOAD):
            time.sleep(0.01)
    finally:
        del BottleneckProfiler._record_operation_metrics
    name, type, seconds, memory, gpu, _ = seen[0]
    assert (name, type, gpu) == ("theirs", LOAD, 0.0) and seconds >= 0.01 and abs(memory) < 50
    assert {"used_mb", "used_percent", "available_gb", "total_gb"} <= set(profiler.memory_tracker.get_current_stats())
    assert {"memory_mb", "memory_used_percent"} <= set(profiler.gpu_tracker.get_current_stats())
    assert {"usage_percent", "count", "frequency_mhz"} <= set(profiler.cpu_tracker.get_current_stats())
    assert profiler.io_tracker.get_current_stats()["alive"]


def test_the_configuration_range_of_the_document(training):
    torch = training["torch"]
    profiler = inferscope.DataLoadingProfiler(inferscope.DataLoadingProfilerConfig(try_workers=False, progress=lambda *_: None))
    grid = method_of("configuration-range", "profile_configuration_range", data=torch.utils.data, torch=torch,
                     DataLoadingProfile=inferscope.DataLoadingProfile)
    data = torch.utils.data.TensorDataset(torch.zeros(80, 4))
    profiles = grid(profiler, data, batch_sizes=[4], worker_counts=[1])
    assert [(one.batch_size, one.num_workers) for one in profiles] == [(4, 1)] and profiles[0].throughput_batches_per_second > 0
    score = method_of("profile-score", "_calculate_profile_score", DataLoadingProfile=inferscope.DataLoadingProfile)
    assert isinstance(score(profiler, profiles[0]), float)


def test_the_fixed_numbers_of_the_document(training):
    """Ours, on request, name the same causes."""
    torch, profiler = training["torch"], inferscope.DataLoadingProfiler()
    theirs = method_of("loader-bottlenecks", "_detect_bottlenecks", data=torch.utils.data, torch=torch,
                       DataLoadingBottleneck=inferscope.DataLoadingBottleneck)
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.zeros(8, 4)))
    for figures, count in (((0.2, 2000.0, 600.0, 50.0, loader, 5.0), 3), ((0.05, 2000.0, 0.0, 50.0, loader, 20.0), 1),
                           ((0.1, 1000.0, 500.0, 0.0, loader, 10.0), 0)):
        assert theirs(profiler, *figures) == profiler._detect_bottlenecks(*figures)
        assert len(theirs(profiler, *figures)) == count + (figures[2] > 500 and torch.cuda.is_available())


def test_the_batch_preprocessing_of_the_document(training):
    torch = training["torch"]

    def scale(batch):
        return batch * 2.0
    profiler = inferscope.PreprocessingProfiler()
    batches = method_of("batch-preprocessing", "profile_batch_preprocessing", torch=torch, PreprocessingProfile=inferscope.PreprocessingProfile)
    profiles = batches(profiler, scale, torch.ones(8, 8), batch_sizes=[1, 4])
    assert [one.operation_name for one in profiles] == ["scale_batch_1", "scale_batch_4"]


def test_the_charts_of_the_document(tmp_path):
    """Its own drawing works on our sessions, where matplotlib is."""
    pyplot = pytest.importorskip("matplotlib.pyplot")
    profiler, session = full_session(tmp_path)
    session.bottlenecks = [BottleneckProfile(LOAD, "load", 0.5, 3, optimization_potential=0.2)]
    method_of("visualizations", "_generate_profile_visualizations", plt=pyplot)(profiler, tmp_path)
    assert (tmp_path / (session.session_id + "_visualizations.png")).is_file()


def test_stored_sessions_are_plain(tmp_path):
    _, session = full_session(tmp_path)
    assert json.loads(json.dumps(_store.as_dict(session), allow_nan=False))["session_id"] == session.session_id


# ---- docs/profilers.md ---------------------------------------------------------------


def section():
    text = (SAMPLES.parents[2] / "docs" / "profilers.md").read_text()
    return text.split("\n## Bottlenecks of a training loop\n")[1].split("\n## ")[0]


def test_the_tutorial(tmp_path, monkeypatch, capsys):
    torch = pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    threads, names = torch.get_num_threads(), {"__name__": "tutorial"}
    try:
        for block in re.findall(r"```python\n(.*?)```", section(), re.DOTALL):
            exec(compile(block, "docs/profilers.md", "exec"), names)
    finally:
        torch.set_num_threads(threads)
    load = next(one for one in names["before"].bottlenecks if one.operation_name == "load")
    assert load.bottleneck_type is LOAD and load.share > 0.3
    assert names["comparison"].operation("load").verdict == "faster"
    assert [one.count for one in names["after"].operations] == [24, 24, 24]
    assert "faster" in capsys.readouterr().out and os.path.isfile(names["written"]["html"])


def test_the_reference_is_of_what_there_is():
    text = section()
    for kind in (BottleneckProfilerConfig, ProfilingSession, OperationProfile, BottleneckProfile):
        missing = [name for name in kind.__dataclass_fields__ if "`%s`" % name not in text]
        assert not missing, missing
    methods = [name for name in vars(BottleneckProfiler) if not name.startswith("_")]
    assert [name for name in methods if name not in text and name not in ("profiling_thread",)] == []
