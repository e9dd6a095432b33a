"""Files of every version of the format are read for ever: by the second reader, and by inferscope."""

import json
import os
import subprocess
from collections import Counter
from pathlib import Path

import pytest

import sbt

DATA = Path(__file__).resolve().parents[1] / "data"
INFERSCOPE = os.environ.get("INFERSCOPE")


def ours(command, version, *options):
    if not INFERSCOPE:
        pytest.skip("set INFERSCOPE to the program to test")
    done = subprocess.run([INFERSCOPE, command, *options, DATA / f"version-{version}.sbt"], capture_output=True, text=True,
                          check=True)
    assert done.stderr == ""
    return json.loads(done.stdout)


def test_there_is_a_file_of_each_version():
    for minor in (0, 1, 2, 3):
        trace = sbt.read(DATA / f"version-1.{minor}.sbt")
        assert trace.minor == minor and trace.violations == [] and trace.damage == [] and trace.events


def test_version_1_0_is_read():
    trace = sbt.read(DATA / "version-1.0.sbt")
    info = ours("info", "1.0", "--format", "json")
    assert info["events"] == len(trace.events) and info["damage_count"] == 0
    assert trace.functions == {} and info["functions"] == [] and info["notes"] == []


def test_functions_of_version_1_1():
    trace = sbt.read(DATA / "version-1.1.sbt")
    calls = [(trace.strings[s.name], trace.function(s.name), s.track) for s in trace.slices()]
    forward = {"function": "Net.forward", "module": "model", "file": "/src/model.py"}
    assert calls == [
        ("model.Net.forward", None, 0), ("len", {"function": "len", "module": "builtins", "file": "", "line": 0}, 0),
        ("model.Net.forward", {**forward, "line": 40}, 0), ("model.Net.forward", {**forward, "line": 12}, 0),
        ("__main__.<module>", {"function": "<module>", "module": "__main__", "file": "/src/main.py", "line": 1}, 0),
        ("model.Net.forward", {**forward, "line": 40}, 1), ("model.Net.forward", {**forward, "line": 12}, 1)]
    rows = [row for row in ours("dump", "1.1") if row["event_type"] == "cpu_call"]
    assert [(row["name"], row.get("line", 0), row.get("file", ""), row.get("module", "")) for row in rows] == [
        (name, where["line"], where["file"], where["module"]) if where else (name, 0, "", "") for name, where, _ in calls]


def test_tasks_and_losses_of_version_1_1():
    trace = sbt.read(DATA / "version-1.1.sbt")
    assert trace.tracks[1]["kind"] == 3 and trace.tracks[1]["parent"] == 0 and trace.tracks[1]["id"] == 3
    assert [(e.time, e.duration, e.count, e.track) for e in trace.events if e.reason == 9] == [(500, 60, 0, 2)]
    assert trace.lost == 0 and trace.info["notes"] == ["this is a note"]
    rows = ours("dump", "1.1")
    assert Counter(row.get("task") for row in rows) == {"Task-3": 2, None: 6}
    assert [row["reason"] for row in rows if row["event_type"] == "lost"] == ["unseen"]


def test_info_of_version_1_1():
    info = ours("info", "1.1", "--format", "json")
    assert info["lost"] == 0 and info["notes"] == ["this is a note"]
    assert (info["functions_seen"], info["functions_skipped"], info["skipped_calls"]) == (5, 1, 1000)
    trace = sbt.read(DATA / "version-1.1.sbt")
    assert info["unseen_us"] == pytest.approx((trace.ns(560) - trace.ns(500)) / 1e3, abs=0.001)
    where = {(f["name"], f.get("line")): f for f in info["functions"]}
    ns = {ticks: trace.ns(100 + ticks) - trace.ns(100) for ticks in (20, 90)}
    assert where["__main__.<module>", 1]["total_us"] == pytest.approx(ns[90] / 1e3, abs=0.002)
    assert where["__main__.<module>", 1]["self_us"] == pytest.approx(ns[20] / 1e3, abs=0.002)
    assert where["model.Net.forward", 12]["count"] == 2 and where["model.Net.forward", None]["count"] == 1


def test_imports_of_version_1_2():
    trace = sbt.read(DATA / "version-1.2.sbt")
    assert [process["rank"] for process in trace.processes.values()] == [-1, 3]
    copy, sync = trace.events
    assert (copy.operator, copy.graph, copy.memory_kind) == (41, 5, 1 | 3 << 8) and sync.wait == 77
    assert trace.info["sources"] == [{"path": "rank3.json", "format": "chrome", "rank": 3}]
    copy, sync = ours("dump", "1.2")
    assert (copy["operator_id"], copy["graph_id"], copy["memory_from"], copy["memory_to"]) == (41, 5, "pageable", "device")
    assert sync["wait_id"] == 77 and sync["stream_id"] == 7


def test_states_of_version_1_3():
    trace = sbt.read(DATA / "version-1.3.sbt")
    assert [trace.tracks[i]["kind"] for i in (1, 2, 3)] == [6, 4, 7] and trace.tracks[1]["parent"] == 0
    states = [(trace.strings[e.name], e.time, e.duration, e.count, e.metadata) for e in trace.events if e.kind == 6]
    assert states == [("running", 100, 100, 1, None), ("pipe", 200, 100, 2, {"what": "pipe:[7]"}), ("unknown", 300, 100, 0, None)]
    assert trace.info["sampling"] == {"interval_ns": 10000000, "slots": 3}
    counters = [(row["name"], row["value"]) for row in ours("dump", "1.3") if row["event_type"] == "counter"]
    assert sorted(counters) == [("host_busy_ns", 1000), ("rss_bytes", 4096), ("run_ns", 5), ("run_ns", 105)]
    rows = [row for row in ours("dump", "1.3") if row["event_type"] == "cpu_sample"]
    assert [(row["name"], row["thread_id"], row["count"]) for row in rows] == [("running", 8, 1), ("pipe", 8, 2), ("unknown", 8, 0)]
    kinds = [track["kind"] for track in ours("info", "1.3", "--format", "json")["tracks"]]
    assert kinds == ["thread", "states", "process", "host"]
