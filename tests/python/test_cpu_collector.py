"""CpuCollector: beginning, hooks, events, threads, errors, states."""

import os
import sys
import threading
import time

import pytest

import package

package.need_package()
from inferscope import TraceBuffer, scope  # noqa: E402
from inferscope.collectors import CollectorState, CpuCollector  # noqa: E402


def leaf():
    return 1


def branch():
    return leaf() + leaf()


def names(events):
    return [event["name"].rpartition(".")[2] for event in events if event["event_type"] == "cpu_call"]


def count(events, function):
    return names(events).count(function.__name__)


@pytest.fixture
def buffer():
    return TraceBuffer(100_000)


@pytest.fixture
def collector(buffer):
    collector = CpuCollector(buffer)
    yield collector
    collector.stop()


# ---- Beginning ------------------------------------------------------------------------


def test_needs_a_buffer():
    with pytest.raises(ValueError, match="trace buffer"):
        CpuCollector(None)
    with pytest.raises(TypeError, match="enqueue"):
        CpuCollector([])


def test_takes_any_buffer_with_enqueue():
    class Mine:
        events = []

        def enqueue(self, event):
            self.events.append(event)

    with CpuCollector(Mine()):
        leaf()
    assert count(Mine.events, leaf) == 1


def test_begins_idle(collector, buffer):
    assert CpuCollector.state is CollectorState.UNINITIALIZED
    assert collector.state is CollectorState.IDLE
    assert collector.trace_buffer is buffer
    assert collector.get_stats()["events_captured"] == 0
    assert collector.get_thread_local_buffer() == []


# ---- Hooks -------------------------------------------------------------------------------


def hooks():
    return sys.getprofile(), sys.gettrace(), threading._profile_hook, threading._trace_hook


def test_hooks_are_installed_and_removed(collector, buffer):
    before = hooks()
    collector.start()
    leaf()
    collector.stop()
    leaf()
    assert hooks() == before
    assert count(buffer.read_all(), leaf) == 1


def test_a_trace_function_goes_on(collector, buffer):
    seen = []

    def trace(frame, event, argument):
        seen.append((event, frame.f_code.co_name))

    sys.settrace(trace)
    try:
        collector.start()
        assert sys.gettrace() is trace
        leaf()
        collector.stop()
        assert sys.gettrace() is trace
    finally:
        sys.settrace(None)
    assert ("call", "leaf") in seen
    assert count(buffer.read_all(), leaf) == 1


def test_a_profile_function_goes_on(collector, buffer):
    seen = []

    def profile(frame, event, argument):
        seen.append((event, frame.f_code.co_name))

    sys.setprofile(profile)
    try:
        collector.start()
        assert sys.getprofile() is profile
        leaf()
        collector.stop()
        assert sys.getprofile() is profile
    finally:
        sys.setprofile(None)
    assert seen.count(("call", "leaf")) == seen.count(("return", "leaf")) == 1
    assert count(buffer.read_all(), leaf) == 1


def test_starting_twice_is_starting_once(collector, buffer):
    collector.start()
    collector.start()
    leaf()
    collector.stop()
    assert count(buffer.read_all(), leaf) == 1


def test_stopping_twice_is_stopping_once(collector, buffer):
    collector.start()
    leaf()
    collector.stop()
    events = buffer.read_all()
    collector.stop()
    assert buffer.read_all() == events


# ---- Events --------------------------------------------------------------------------------


def test_calls_are_captured(collector, buffer):
    with collector:
        for _ in range(10):
            branch()
    assert count(buffer.read_all(), branch) == 10
    assert count(buffer.read_all(), leaf) == 20


def test_returns_are_captured(collector, buffer):
    def slow():
        time.sleep(0.02)

    def failing():
        raise KeyError

    with collector:
        slow()
        with pytest.raises(KeyError):
            failing()
    (slept,), (failed,) = ([e for e in buffer.read_all() if e["name"].endswith(name)] for name in (".slow", ".failing"))
    assert 20_000 <= slept["end_us"] - slept["start_us"] < 2_000_000
    assert "unfinished" not in slept and "unfinished" not in failed
    assert slept["end_ns"] <= failed["start_ns"]


def test_events_have_what_the_schema_says(collector, buffer):
    with collector, scope("a scope"):
        leaf()
    (event,) = [event for event in buffer.read_all() if event["name"] == f"{__name__}.leaf"]
    assert event["event_type"] == "cpu_call"
    assert event["thread_id"] == threading.get_native_id() and event["process_id"] == os.getpid()
    assert all(type(event[key]) is int for key in ("start_us", "end_us", "thread_id", "cpu_id", "depth"))
    assert (event["module"], event["function"], event["line"]) == (__name__, "leaf", leaf.__code__.co_firstlineno)
    assert [event["event_type"] for event in buffer.read_all() if event["name"] == "a scope"] == ["scope"]


def test_frames_of_no_interest_are_skipped(buffer):
    class Thing:
        def __eq__(self, other):
            return True

    collector = CpuCollector(buffer)
    with collector:
        leaf()
        for _ in range(50):
            assert Thing() == 3
    assert "__eq__" not in names(buffer.read_all())
    # From 3.12 on the interpreter is told once, and does not tell us of that function again.
    assert collector.get_stats()["frames_skipped"] >= (50 if sys.version_info < (3, 12) else 1)


def test_functions_can_be_excluded():
    def left_out():
        return branch()

    excluding = CpuCollector(TraceBuffer(1000), exclude=["*.left_out", "json"])
    with excluding:
        left_out()
    assert count(excluding.trace_buffer.read_all(), branch) == 1
    assert count(excluding.trace_buffer.read_all(), left_out) == 0


# ---- Threads -----------------------------------------------------------------------------------


def run_threads(collector, counts):
    """Threads that call leaf() so often each; what each sees of itself, by its number."""
    seen, barrier = {}, threading.Barrier(len(counts))

    def work(n):
        barrier.wait()
        for _ in range(n):
            leaf()
        barrier.wait()
        seen[threading.get_native_id()] = n, collector.get_thread_local_buffer()
        barrier.wait()

    threads = [threading.Thread(target=work, args=(n,)) for n in counts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return seen


def test_each_thread_has_its_own_events(collector, buffer):
    with collector:
        seen = run_threads(collector, [10, 20, 30])
    for thread, (n, _) in seen.items():
        assert count([event for event in buffer.read_all() if event["thread_id"] == thread], leaf) == n
    assert collector.get_stats()["threads"] == 4


def test_a_thread_sees_only_itself(collector):
    collector.start()
    leaf()
    seen = run_threads(collector, [5, 7])
    for thread, (n, events) in seen.items():
        assert {event["thread_id"] for event in events} == {thread}
        assert count(events, leaf) == n
    collector.stop()
    mine = collector.get_thread_local_buffer()
    assert {event["thread_id"] for event in mine} == {threading.get_native_id()}
    assert count(mine, leaf) == 1


# ---- Errors ---------------------------------------------------------------------------------------


def test_a_broken_buffer_does_not_break_the_program(caplog):
    class Broken:
        def enqueue(self, event):
            raise OSError("no room")

    collector = CpuCollector(Broken())
    with collector:
        assert branch() == 2
    stats = collector.get_stats()
    assert stats["events_captured"] == 0
    assert stats["errors"] == len(collector.get_thread_local_buffer()) >= 3
    assert [record.getMessage() for record in caplog.records] == ["the trace buffer does not take events: OSError: no room"]


def test_an_overflowing_buffer_keeps_the_newest():
    buffer = TraceBuffer(10)
    collector = CpuCollector(buffer)
    with pytest.warns(RuntimeWarning, match="full"), collector:
        for _ in range(100):
            leaf()
    assert len(buffer) == 10
    assert buffer.dropped == collector.get_stats()["events_captured"] - 10
    assert set(names(buffer.read_all())) == {"leaf"}


# ---- States ------------------------------------------------------------------------------------------


def test_states(collector):
    collector.stop()
    assert collector.state is CollectorState.IDLE
    collector.start()
    assert collector.state is CollectorState.COLLECTING
    collector.stop()
    assert collector.state is CollectorState.FINALIZED
    assert [state.value for state in CollectorState] == ["Uninitialized", "Idle", "Collecting", "Finalized"]


def test_it_can_be_started_again(collector, buffer):
    for _ in range(3):
        buffer.clear()
        with collector:
            branch()
        assert (count(buffer.read_all(), branch), count(buffer.read_all(), leaf)) == (1, 2)


def test_statistics(collector, buffer):
    with collector:
        branch()
    stats = collector.get_stats()
    assert stats["state"] == "Finalized"
    assert stats["events_captured"] == len(buffer) >= 3
    assert (stats["events_lost"], stats["events_refused"], stats["errors"], stats["threads"]) == (0, 0, 0, 1)
    assert stats["duration_us"] > 0
