"""Collect, merge, analyse, report in the program itself: the same findings as those of a trace of it.

tests/python/programs/reads.py has a known flaw: it reads a file four bytes at a time.
"""

import json
import os
import subprocess
from pathlib import Path

import pytest

import package

package.need_package()
from inferscope import TraceBuffer  # noqa: E402
from inferscope.analyzer import BottleneckAnalyzer  # noqa: E402
from inferscope.collectors import CpuCollector  # noqa: E402

PROGRAM = Path(__file__).with_name("programs") / "reads.py"

# Both are made of one recording: the first of the list that a user has, the second of the trace that it came from.
SCRIPT = f"""
    import json, sys
    sys.path.insert(0, {str(PROGRAM.parent)!r})
    import reads
    from inferscope import TraceBuffer
    from inferscope.analyzer import BottleneckAnalyzer
    from inferscope.collectors import CpuCollector, GpuCollector
    from inferscope.reporter import ReportGenerator
    from inferscope.timeline import TimelineMerger

    reads.prepare("records")
    cpu, gpu = CpuCollector(TraceBuffer()), GpuCollector(TraceBuffer())
    with cpu, gpu:
        reads.main("records")
    timeline = TimelineMerger().merge(cpu.trace_buffer.read_all(), gpu.trace_buffer.read_all())
    analysis = BottleneckAnalyzer(timeline).analyze()
    trace = BottleneckAnalyzer(trace=cpu._recording.trace).analyze()
    json.dump([analysis, trace, ReportGenerator(analysis, timeline).to_markdown()], sys.stdout)
"""

SAME = ("bottleneck", "summary", "timeline_breakdown", "attribution", "suggestions", "scopes", "steps", "notes")


def place(finding):
    """ "read_records (reads.py:9)", whatever the module is called that it is in."""
    name = finding["where"][0].partition(": ")[0]
    return name[len("reads."):] if name.startswith("reads.") else name


def findings(analysis):
    return [(finding["kind"], place(finding)) for finding in analysis["findings"]]


def comparable(found):
    """Numbers of tracks are the trace's own; how many looks a share rests on the trace says, and a list lets one reckon."""
    return [{**finding, "gain_low_percent": None, "examples": [{**example, "track": 0} for example in finding["examples"]]}
            for finding in found]


def test_the_list_of_a_recording_is_analysed_as_its_trace_is_and_as_a_run(tmp_path):
    out, _ = package.run(SCRIPT, tmp_path, INFERSCOPE_WAITS="on")
    listed, traced, report = json.loads(out)
    assert {key: listed.get(key) for key in SAME} == {key: traced.get(key) for key in SAME}
    assert comparable(listed["findings"]) == comparable(traced["findings"])
    for one, other in zip(listed["findings"], traced["findings"]):
        assert one["gain_low_percent"] == pytest.approx(other["gain_low_percent"], abs=1)
    assert findings(listed) == [("i_o_operation", "read_records (reads.py:8)")]
    assert listed["attribution"]["load"]["cpus"] == traced["attribution"]["load"]["cpus"]
    assert "reads.read_records" in report

    environment = {**package.environment(), "INFERSCOPE_WAITS": "on"}
    subprocess.run([package.COMMAND, "run", "--report", "run.json", PROGRAM], cwd=tmp_path, env=environment, check=True,
                   capture_output=True, timeout=package.PATIENCE)
    ran = json.loads((tmp_path / "run.json").read_text())
    assert findings(ran) == findings(listed)
    assert ran["bottleneck"]["type"] == listed["bottleneck"]["type"]


def test_a_part_of_a_recording_ends_where_it_was_stopped(tmp_path):
    """What the program does afterwards, and somebody else records, is not of it."""
    out, _ = package.run("""
        import time
        from inferscope import BottleneckAnalyzer, CpuCollector, Profiler, TraceBuffer
        def part():
            time.sleep(0.05)
        def main(collector):
            with collector:
                part()
            time.sleep(0.3)
        collector = CpuCollector(TraceBuffer())
        with Profiler():
            main(collector)
        events = collector.trace_buffer.read_all()
        outer, = [event for event in events if event.get("function") == "main"]
        print(outer["unfinished"], outer["enclosing"], BottleneckAnalyzer(events).analyze()["summary"]["end_to_end_latency_us"] < 200_000)
    """, tmp_path)
    assert out == "True True True\n"


class Read:
    """A recording that has been read."""

    def __init__(self, events):
        self.found = events

    def events(self):
        return self.found


def test_what_was_lost_reaches_the_analysis():
    call = {"event_type": "cpu_call", "name": "f", "start_us": 0, "end_us": 100, "thread_id": 1, "process_id": 1}
    lost = {"event_type": "lost", "name": "", "start_us": 50, "end_us": 50, "count": 7, "reason": "overwritten", "thread_id": 1,
            "process_id": 1}
    collector = CpuCollector(TraceBuffer())
    collector._recording = Read([call, lost, {"event_type": "gpu_kernel", "name": "k", "start_us": 1, "end_us": 2}])
    events = collector._read()
    assert events == [call, lost]
    assert BottleneckAnalyzer(events).analyze()["trace"]["lost_events"] == 7


def test_events_without_a_process_are_of_one():
    """As the interface of collectors has them: event_type, name, start_us, end_us, thread_id, cpu_id."""
    events = [{"event_type": "cpu_call", "name": name, "start_us": 1000 * i + start, "end_us": 1000 * i + end, "thread_id": 7, "cpu_id": 0}
              for i in range(30) for name, start, end in (("step", 0, 990), ("tokenize", 10, 700))]
    tree = BottleneckAnalyzer(events).analyze()["attribution"]["tree"]
    assert [(node["name"], node["self_us"]) for node in tree[1:]] == [("step", 9000), ("tokenize", 20700)]


def test_counters_and_marks_of_a_list_are_no_slices():
    """Lists have them end when they begin."""
    at = {"thread_id": 1, "process_id": 1}
    events = [{"event_type": "cpu_call", "name": "f", "start_us": 0, "end_us": 100, **at},
              {"event_type": "instant", "name": "mark", "start_us": 5, "end_us": 5, **at},
              {"event_type": "counter", "name": "queue", "start_us": 6, "end_us": 6, "value": 3.0, **at}]
    rows = BottleneckAnalyzer(events)
    with rows._files() as (paths, *_):
        from inferscope import query
        found = query(os.fsdecode(paths[0]), "SELECT name, phase FROM events ORDER BY ts")
    assert list(found) == [("f", "complete"), ("mark", "instant"), ("queue", "instant")]
