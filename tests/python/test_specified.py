"""What the documents that the project began with import, and what their unit tests ask for, with the buffer that they use.

Names and modules first; then a collector with MockTraceBuffer: beginning, hooks, events, threads, errors, states; then the rules of the
analyzer. test_cpu_collector.py and test_gpu_collector.py have the same in detail.
"""

import importlib
import logging
import subprocess
import sys
import threading
import time

import pytest

import package

package.need_package()
import inferscope  # noqa: E402
from inferscope import BottleneckAnalyzer, CpuCollector, GpuCollector, MemoryCollector, ReportGenerator, TimelineMerger  # noqa: E402
from inferscope.collectors import CollectorState  # noqa: E402
from inferscope.testing import MockTraceBuffer  # noqa: E402

# ---- Names ----------------------------------------------------------------------------


@pytest.mark.parametrize("module, names", [
    ("inferscope", ["CpuCollector", "GpuCollector", "TimelineMerger", "BottleneckAnalyzer", "ReportGenerator", "Profiler", "TraceBuffer",
                    "scope", "mark_event", "counter"]),
    ("inferscope.api", ["scope", "mark_event", "counter"]),
    ("inferscope.cli", ["main"]),
    ("inferscope.cli.commands", ["run", "analyze", "config", "main"]),
    ("inferscope.profiler", ["Profiler"]),
    ("inferscope.collectors", ["CpuCollector", "GpuCollector", "MemoryCollector"]),
    ("inferscope.collectors.cpu", ["CpuCollector", "CollectorState"]),
    ("inferscope.collectors.gpu", ["GpuCollector"]),
    ("inferscope.collectors.memory", ["MemoryCollector"]),
    ("inferscope.timeline.merger", ["TimelineMerger"]),
    ("inferscope.analyzer.bottleneck_analyzer", ["BottleneckAnalyzer"]),
    ("inferscope.reporter.report_generator", ["ReportGenerator"]),
    ("inferscope.testing", ["MockTraceBuffer"]),
])
def test_modules_have_their_names(module, names):
    found = importlib.import_module(module)
    for name in names:
        assert getattr(found, name).__name__ == name
        assert module == "inferscope" or getattr(inferscope, name, getattr(found, name)) is getattr(found, name)


def test_everything_is_imported_by_a_star():
    names = {}
    exec("from inferscope import *", names)
    assert {"CpuCollector", "ReportGenerator", "scope", "collectors"} <= set(names)
    assert set(inferscope.__all__) <= set(dir(inferscope)) and inferscope.__all__ == sorted(inferscope.__all__)


def test_names_are_loaded_when_they_are_used(tmp_path):
    out, _ = package.run("""
        import sys
        import inferscope
        print(sorted(name for name in sys.modules if name.startswith("inferscope")))
        from inferscope import CpuCollector
        print("inferscope._engine" in sys.modules, "inferscope.reporter" in sys.modules, "inferscope.collectors.cpu" in sys.modules)
    """, tmp_path)
    assert out.splitlines() == ["['inferscope', 'inferscope._tracer']", "True False True"]


# ---- The command ------------------------------------------------------------------------


def test_commands_are_functions(tmp_path):
    """Output is the program's own, so another process has it."""
    out, err = package.run("""
        import sys
        from inferscope.cli import commands, main
        from pathlib import Path
        Path("job.py").write_text("import sys; print('ran', sys.argv[1:]); sys.exit(3)")
        print("status", commands.run("job.py", "--prompt", "hi", trace=Path("t.sbt"), report="none", trace_size_mb=5))
        print("status", commands.analyze("t.sbt", format="json", output="r.json"))
        print("status", commands.analyze("missing.json"))
        print("status", main(["info", "--nothing"]))
        print("status", commands.config())
    """, tmp_path)
    lines = out.splitlines()
    assert lines[0] == "ran ['--prompt', 'hi']"
    assert [line for line in lines if line.startswith("status")] == ["status %d" % status for status in (3, 0, 3, 2, 0)]
    assert any(line.startswith("trace_size_mb ") for line in lines)
    assert (tmp_path / "r.json").stat().st_size > 1000 and "missing.json" in err


def test_python_m_inferscope_is_the_command():
    def said(*command):
        return subprocess.run([*command, "--version"], capture_output=True, text=True, check=True, env=package.environment(),
                              timeout=package.PATIENCE).stdout
    assert said(sys.executable, "-m", "inferscope") == said(package.COMMAND)


# ---- The buffer -----------------------------------------------------------------------------


def test_the_mock_holds_what_it_was_given():
    buffer = MockTraceBuffer()
    assert buffer.enqueue({"event_type": "cpu_call"}) is True and buffer.enqueue({"event_type": "scope"}) is True
    assert buffer.read_all() == buffer.events == [{"event_type": "cpu_call"}, {"event_type": "scope"}]
    assert buffer.of_type("scope") == [{"event_type": "scope"}] and len(buffer) == buffer.calls == 2
    buffer.clear()
    assert (buffer.events, buffer.cleared) == ([], 1)


def test_the_mock_is_full_and_fails_as_it_is_told():
    buffer = MockTraceBuffer(capacity=1)
    assert [buffer.enqueue({"n": n}) for n in range(3)] == [True, False, False]
    assert (buffer.events, buffer.refused) == ([{"n": 0}], [{"n": 1}, {"n": 2}])
    with pytest.raises(OSError):
        MockTraceBuffer(error=OSError).enqueue({})


# ---- CpuCollector -----------------------------------------------------------------------------


def work():
    return sum(range(10))


def calls_of(buffer, function):
    return [event for event in buffer.of_type("cpu_call") if event["function"] == function.__name__]


def test_it_begins_idle_collects_and_is_finalized():
    collector = CpuCollector(MockTraceBuffer())
    states = [collector.state]
    for change in (collector.start, collector.start, collector.stop, collector.stop):
        change()
        states.append(collector.state)
    assert CpuCollector.state is CollectorState.UNINITIALIZED
    assert states == [CollectorState.IDLE, CollectorState.COLLECTING, CollectorState.COLLECTING] + 2 * [CollectorState.FINALIZED]


def test_calls_are_captured_with_their_times_and_places():
    buffer = MockTraceBuffer()
    before = sys.gettrace(), sys.getprofile()
    collector = CpuCollector(buffer)
    collector.start()
    assert (sys.gettrace(), sys.getprofile()) == before  # hooks of others are theirs
    work()
    work()
    collector.stop()
    first, second = calls_of(buffer, work)
    assert first["start_us"] <= first["end_us"] <= second["start_us"] and first["start_ns"] < first["end_ns"]
    assert first["thread_id"] == threading.get_native_id() and first["cpu_id"] >= 0 and first["file"] == __file__
    assert first["line"] == work.__code__.co_firstlineno
    stats = collector.get_stats()
    assert stats["events_captured"] == len(buffer) == buffer.calls and stats["events_refused"] == 0
    assert stats["frames_skipped"] >= 0 and stats["duration_us"] > 0


def test_each_thread_has_its_own_events():
    buffer, own = MockTraceBuffer(), {}
    collector = CpuCollector(buffer)

    def thread():
        work()
        own[threading.get_native_id()] = [event["function"] for event in collector.get_thread_local_buffer() if event.get("function") == "work"]

    with collector:
        threads = [threading.Thread(target=thread) for _ in range(2)]
        for one in threads:
            one.start()
            one.join()
    assert sorted(own) == sorted(event["thread_id"] for event in calls_of(buffer, work))
    assert list(own.values()) == [["work"], ["work"]]


@pytest.mark.parametrize("buffer, captured, refused, errors", [(MockTraceBuffer(error=OSError("full")), 0, 0, "all"),
                                                               (MockTraceBuffer(capacity=1), 1, "rest", 0)])
def test_a_buffer_that_fails_or_is_full_changes_nothing_in_the_program(buffer, captured, refused, errors, caplog):
    collector = CpuCollector(buffer)
    with caplog.at_level(logging.WARNING, "inferscope"):
        with collector:
            assert work() == 45
    stats = collector.get_stats()
    assert stats["events_captured"] == captured and buffer.calls > 1
    assert stats["events_refused"] == (buffer.calls - 1 if refused == "rest" else 0)
    assert stats["errors"] == (buffer.calls if errors == "all" else 0)
    assert [record.getMessage() for record in caplog.records] == (["the trace buffer does not take events: OSError: full"] if errors else [])


# ---- MemoryCollector ------------------------------------------------------------------------------


def test_work_of_a_gpu_is_captured_without_one():
    buffer = MockTraceBuffer()
    with GpuCollector(buffer) as collector:
        assert collector._inject_kernel_event("gemm", 100, 300, launch=("cudaLaunchKernel", 10, 20))
    assert [event["name"] for event in buffer.events] == ["cudaLaunchKernel", "gemm"]
    assert collector.get_stats()["kernels"] == 1 and collector.get_stats()["device_time_us"] == 200


def test_memory_is_counters_of_the_process():
    buffer = MockTraceBuffer()
    collector = MemoryCollector(buffer)
    with collector:
        held = b"x" * 40_000_000
        time.sleep(0.02)
    assert {event["event_type"] for event in buffer.events} == {"counter"}
    stats = collector.get_stats()
    counters, = stats["counters"].values()
    assert {"rss_bytes", "minor_faults"} <= set(counters)
    assert counters["rss_bytes"]["max"] - counters["rss_bytes"]["min"] > 20_000_000
    assert counters["rss_bytes"]["samples"] == len([event for event in buffer.events if event["name"] == "rss_bytes"])
    assert stats["current"]["used_mb"] > len(held) / 2 ** 20
    assert stats["events_captured"] == len(buffer)


# ---- The analyzer's rules, and the report ----------------------------------------------------------


def every_ms(make):
    return [event for step in range(20) for event in make(1000 * step)]


def call(start, end):
    return {"event_type": "cpu_call", "name": "step", "start_us": start, "end_us": end, "thread_id": 1, "cpu_id": 0}


def work_of_gpu(kind, start, end):
    return {"event_type": kind, "name": kind, "start_us": start, "end_us": end, "device_id": 0, "grid_dim": [1, 1, 1], "block_dim": [1, 1, 1],
            "bytes": 4096, "clock_synchronized": True}


IDLE = (lambda t: [call(t, t + 700)], lambda t: [work_of_gpu("gpu_kernel", t + 700, t + 1000)])
GPU = (lambda t: [call(t, t + 100)], lambda t: [work_of_gpu("gpu_kernel", t, t + 995)])
COPIES = (lambda t: [call(t, t + 100)], lambda t: [work_of_gpu("h2d_copy", t, t + 350), work_of_gpu("gpu_kernel", t + 350, t + 640),
                                                   work_of_gpu("d2h_copy", t + 640, t + 995)])
NOTHING = (lambda t: [], lambda t: [])


@pytest.mark.parametrize("made, kind", [(IDLE, "cpu_bound"), (GPU, "gpu_bound"), (COPIES, "memory_bound"), (NOTHING, "unknown")],
                         ids=["idle", "gpu", "copies", "nothing"])
def test_rules_and_confidence_and_report(made, kind):
    timeline = TimelineMerger().merge(*map(every_ms, made))
    analysis = BottleneckAnalyzer(timeline).analyze()
    assert analysis["bottleneck"]["type"] == kind
    assert (0.5 < analysis["bottleneck"]["confidence"] <= 1) == (kind != "unknown")
    shares = sum(part["percentage"] for part in analysis["timeline_breakdown"])
    assert shares == pytest.approx(0 if kind == "unknown" else 100, abs=0.01)
    assert ReportGenerator(analysis).to_markdown().startswith("# `%s`" % analysis["bottleneck"]["headline"])
