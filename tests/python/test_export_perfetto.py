"""Perfetto's protobuf as `inferscope export` writes it: read with PyPI's perfetto, and imported again.

What went out comes back: the same slices with their times to the nanosecond, arguments, correlations, counters and arrows.
What does not is listed in docs/export.md, and here.
"""

import json
import os
import re
import subprocess
import sys
import tarfile
from collections import Counter, defaultdict
from decimal import Decimal

import pytest

from analysis import SHARED, shared
from made_trace import Made
from recording import INFERSCOPE, PATIENCE
from trace_processor import ERRORS, TraceProcessor

pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
import perfetto_reader  # noqa: E402

LARGE = 2 << 20  # bytes: two traces would take half of the time of all of these, and export_json has them as well
KINETO = sorted(path.name for path in (SHARED / "kineto").glob("*.json.gz") if path.stat().st_size < LARGE)
NSYS = sorted(path.name for path in (SHARED / "nsys").glob("*.gz"))
PLACES = ("process_id", "thread_id", "device_id", "stream_id")
NOT_ARGS = {*PLACES, "event_type", "name", "start_us", "end_us", "phase", "depth", "flow_id", "thread_name", "process_name", "track"}
ABOUT = "about this trace"  # the instant that holds what the trace says of itself


def inferscope(*arguments):
    run = subprocess.run([INFERSCOPE, *map(str, arguments)], capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert run.returncode == 0, run.stderr
    return run


def exported(trace, *options):
    path = trace.with_suffix(".pftrace")
    inferscope("export", "--findings", "off", *options, "--format", "perfetto", "-o", path, trace)
    return path


def imported(path, *sources):
    inferscope("import", *sources, "-o", path)
    return path


class Rows:
    """The events of a trace as `inferscope dump` has them, scopes whole, in a form that can be compared."""

    def __init__(self, path):
        self.slices, self.points, self.counters, self.arrows = Counter(), Counter(), Counter(), []
        stacks = defaultdict(list)
        for row in json.loads(inferscope("dump", "--format", "json", path).stdout, parse_float=Decimal):
            if row.get("name") != ABOUT:
                self._take(row, stacks)

    def _take(self, row, stacks):
        kind, place = row["event_type"], tuple((key, row[key]) for key in PLACES if key in row)
        args = json.dumps({key: value for key, value in row.items() if key not in NOT_ARGS}, sort_keys=True, default=float)
        if kind == "scope_enter":
            stacks[place].append((row, args))
        elif kind == "scope_exit":
            begin, args = stacks[place].pop()
            self.slices["scope", begin.get("name"), begin["start_us"], row.get("end_us"), place, args] += 1
        elif kind == "flow":
            self.arrows.append((row["phase"], row["start_us"], place, row["flow_id"]))
        elif kind == "counter":
            self.counters[row["name"], row["start_us"], place, float(row["value"])] += 1
        else:
            table = self.slices if "end_us" in row else self.points
            table[kind, row.get("name"), row["start_us"], row.get("end_us"), place, args] += 1

    def ends_of_arrows(self):
        """Without those that arrive at work of a device, which the correlation says."""
        return Counter((phase, time, place) for phase, time, place, _ in self.arrows
                       if phase == "flow_out" or "stream_id" not in dict(place))


def assert_same(before, after):
    assert sum(before.slices.values()) + sum(before.points.values()) > 0
    for table in ("slices", "points", "counters"):
        old, new = getattr(before, table), getattr(after, table)
        assert list((old - new).items())[:3] == [] and list((new - old).items())[:3] == []
    assert before.ends_of_arrows() == Counter({key: n for key, n in after.ends_of_arrows().items()})


def assert_decodes(before, trace):
    """Perfetto's own classes see the same slices, at the same times."""
    expected = Counter((name, stream_of(place), int(start * 1000), int(end * 1000))
                       for _, name, start, end, place, _ in before.slices.elements() if end is not None)
    origin = min([s.begin for s in trace.slices] + [i[3] for i in trace.instants])
    assert Counter((s.name or None, stream_of_track(s.track), s.begin - origin, s.end - origin)
                   for s in trace.slices if s.end is not None) == expected


def stream_of(place):
    stream = dict(place).get("stream_id")
    return stream - (1 << 64) if stream is not None and stream >> 63 else stream  # -1: of no stream


def stream_of_track(track):
    stream = re.match(r"GPU \d+ stream (-?\d+)", track[2])
    return int(stream[1]) if stream else None


def round_trip(folder, *sources):
    first = imported(folder / "first.sbt", *sources)
    path = exported(first)
    second = imported(folder / "second.sbt", path)
    before = Rows(first)
    assert_same(before, Rows(second))
    if sum(before.slices.values()) < 30_000:  # else it takes Python long
        assert_decodes(before, perfetto_reader.read(path))
    return path


# ---- Real traces ------------------------------------------------------------------------------

@pytest.mark.parametrize("name", KINETO or ["none"])
def test_kineto(name, tmp_path):
    round_trip(tmp_path, shared(f"kineto/{name}"))


@pytest.mark.parametrize("name", NSYS or ["none"])
def test_nsys(name, tmp_path):
    round_trip(tmp_path, shared(f"nsys/{name}"))


def test_ranks(tmp_path):
    with tarfile.open(shared("multirank/dlrm-8ranks-v100.tar.gz")) as archive:
        archive.extractall(tmp_path, filter="data")
    path = round_trip(tmp_path, *sorted(tmp_path.rglob("*.json*")))
    trace = perfetto_reader.read(path)
    labels = {label for track in trace.tracks.values() for label in track.process.process_labels}
    assert {f"rank {rank}" for rank in range(8)} <= labels
    launches = {(s.track[2].split()[1], *s.bound[0]) for s in trace.slices if s.bound and s.track[2].startswith("GPU ")}
    assert {gpu for gpu, *_ in launches} == set("01234567")
    assert len({number for *_, number in launches}) == len(launches)  # numbers of no two ranks meet


# ---- Made ones ----------------------------------------------------------------------------------

def made():
    """Operators that nest and that cross, kernels that overlap, copies, arrows."""
    trace = Made(baseTimeNanoseconds=1_700_000_000_000_000_000)
    trace.op("outer", 10, 100, **{"Input Dims": [[2, 3], []], "Concrete Inputs": ["", "True"], "nothing": None, "map": {},
                                  "deep": {"a": [1, {"b": 2.5}]}})
    trace.op("inner", 10, 50)
    trace.op("crosses", 60, 100)
    trace.op("empty", 110, 0)
    trace.kernel("first", 20, 30.125, 40, grid=[4, 2, 1], block=[128, 1, 1], **{"registers per thread": 32, "shared memory": 1024,
                                                                               "est. achieved occupancy %": 37.5, "queued": 0})
    trace.kernel("overlapping", 24, 50, 40)
    trace.kernel("memset_is_its_name", 26, 95, 5)
    trace.copy("HtoD", "Pageable -> Device", 40, 120, 8, 4096)
    trace.add(ph="s", cat="fwdbwd", name="fwdbwd", id=7, pid=100, tid=1, ts=10)
    trace.add(ph="f", cat="fwdbwd", name="fwdbwd", id=7, pid=100, tid=1, ts=60, bp="e")
    trace.add(ph="C", name="loss", pid=100, ts=30, args={"loss": 0.5})
    trace.add(ph="i", name="mark", pid=100, tid=1, ts=33, s="t", args={"why": "because"})
    return trace


def test_made(tmp_path):
    path = round_trip(tmp_path, made().save(tmp_path / "made.json"))
    trace = perfetto_reader.read(path)
    slices = {s.name: s for s in trace.slices}
    outer = slices["outer"]
    assert outer.args["Input Dims"] == [[2, 3], []] and outer.args["deep"] == {"a": [1, {"b": 2.5}]}
    assert outer.args["nothing"] is None and outer.args["map"] == {} and outer.category == "cpu_op"
    assert slices["crosses"].track == (100, 1, "beside (1)") and slices["inner"].track == outer.track == (100, 1, "")
    assert slices["inner"].flows["out"] == slices["crosses"].flows["in"] and len(slices["crosses"].flows["in"]) == 1
    first, other = slices["first"], slices["overlapping"]
    assert first.category == slices["memset_is_its_name"].category == "gpu_kernel" and first.track == (100, None, "GPU 0 stream 7")
    assert [first.args[f"{what}_{axis}"] for what in ("grid", "block") for axis in "xyz"] == [4, 2, 1, 128, 1, 1]
    assert first.args["registers"] == 32 and first.args["shared_memory"] == 1024 and first.args["est. achieved occupancy %"] == 37.5
    assert first.begin < other.begin < first.end < other.end and other.track[2] == "GPU 0 stream 7/beside (1)"
    calls = {s.args["correlation"]: s.bound[0][1] for s in trace.slices if s.name.startswith("cuda")}
    work = {s.args["correlation"]: s.bound[0][1] for s in trace.slices if s.track[2].startswith("GPU ")}
    assert calls == work and len(set(work.values())) == 4
    assert [value for _, _, value in trace.counters] == [0.5]
    assert trace.info.gpus[0].name == "Made GPU"
    assert [(i[1], i[4]) for i in trace.instants if i[1] == "mark"] == [("mark", {"why": "because"})]


def test_findings(tmp_path):
    """A device that waits most of the time: what the analysis says of it is there."""
    trace = Made(baseTimeNanoseconds=1_700_000_000_000_000_000)
    for step in range(20):
        trace.kernel("gemm", 1000 * step, 1000 * step + 10, 100)
    first = imported(tmp_path / "first.sbt", trace.save(tmp_path / "made.json"))
    path = tmp_path / "found.pftrace"
    inferscope("export", "-o", path, first)
    found = [s for s in perfetto_reader.read(path).slices if s.category == "inferscope.finding"]
    said = json.loads(inferscope("analyze", "--format", "json", first).stdout)
    assert found and {s.args["id"] for s in found} == {f["id"] for f in said["findings"]}
    for s in found:
        assert s.end > s.begin and 0 <= s.args["gain"] <= 1 and s.args["suggestion"] and s.track[2].startswith("Finding ")


def test_selection(tmp_path):
    first = imported(tmp_path / "first.sbt", made().save(tmp_path / "made.json"))

    def names(*options):
        trace = perfetto_reader.read(exported(first, *options))
        return sorted(s.name for s in trace.slices)

    assert names("--name", "o*") == ["outer", "overlapping"]
    assert names("--kind", "gpu_kernel") == ["first", "memset_is_its_name", "overlapping"]
    assert names("--kind", "op", "--min-duration", "60") == ["crosses", "outer"]
    assert names("--window", "0.09:0.1") == ["crosses", "memset_is_its_name", "outer"]
    assert names("--thread", "1", "--kind", "op") == ["crosses", "empty", "inner", "outer"]


def test_hostile_names(tmp_path):
    names = ["nul \0 inside", "lone \ud800 surrogate", "x" * (1 << 20), "\u202e turned", "", "emoji \U0001f600"]
    events = [{"event_type": "op", "name": name, "start_us": 10 * i, "end_us": 10 * i + 5, "thread_id": 1, "process_id": 1,
               "metadata": {name[:100]: name[:1000]}} for i, name in enumerate(names)]
    source = tmp_path / "events.json"
    source.write_text(json.dumps(events))
    trace = perfetto_reader.read(exported(imported(tmp_path / "first.sbt", source)))
    assert len(trace.slices) == len(names)
    texts = [s.name for s in sorted(trace.slices, key=lambda s: s.begin)]
    assert texts[0] == names[0] and "\ufffd" in texts[1] and texts[3] == names[3] and texts[5] == names[5]
    assert texts[2].startswith("xxxx")


def test_many_threads(tmp_path):
    """More than have a sequence of their own."""
    events = [{"event_type": "op", "name": f"op {i % 7}", "start_us": i + 10 * j, "end_us": i + 10 * j + 5, "thread_id": i,
               "process_id": 1} for j in range(2) for i in range(1, 5001)]
    source = tmp_path / "events.json"
    source.write_text(json.dumps(events))
    trace = perfetto_reader.read(round_trip(tmp_path, source))
    assert len(trace.sequences) == 4096 and len({s.track for s in trace.slices}) == 5000


# ---- In Perfetto itself ---------------------------------------------------------------------------

PLACE = "CASE WHEN stream IS NULL THEN thread & 0xffffffff ELSE 'GPU ' || device || ' stream ' || stream END"
OURS = {
    "slices": f"""SELECT coalesce(name, ''), ts, dur, {PLACE} FROM slices WHERE NOT unfinished
                  UNION ALL SELECT coalesce(i.name, ''), ts, 0, {PLACE.replace('device', 't.device')}
                  FROM instants i JOIN tracks t ON t.id = i.track""",
    "arrows": """SELECT a.name, a.ts, b.name, b.ts FROM flows f JOIN slices a ON a.id = f.source JOIN slices b ON b.id = f.target
                 UNION ALL SELECT a.name, a.ts, b.name, b.ts FROM slices b JOIN slices a ON a.id = b.launch""",
    "counters": "SELECT name, ts, value FROM counters",
    "processes": "SELECT coalesce(name, '') FROM processes",
}
START = "(SELECT ts FROM slice WHERE category = 'inferscope.trace')"
THEIRS = {
    "slices": f"""SELECT coalesce(s.name, ''), s.ts - {START}, s.dur, CASE WHEN t.name GLOB 'GPU * stream *' THEN t.name
                         WHEN u.name GLOB 'GPU * stream *' THEN u.name ELSE tid & 0xffffffff END
                  FROM slice s JOIN track t ON t.id = s.track_id LEFT JOIN track u ON u.id = t.parent_id
                  LEFT JOIN thread_track h ON h.id = t.id LEFT JOIN thread USING (utid)
                  WHERE coalesce(s.category, '') <> 'inferscope.trace' AND s.dur >= 0""",
    "arrows": f"""SELECT a.name, a.ts - {START}, b.name, b.ts - {START}
                  FROM flow JOIN slice a ON a.id = slice_out JOIN slice b ON b.id = slice_in""",
    "counters": f"SELECT t.name, ts - {START}, value FROM counter c JOIN counter_track t ON t.id = c.track_id",
    "processes": "SELECT coalesce(name, '') FROM process WHERE upid > 0",
}


def in_perfetto(folder, trace, *queries):
    """Its own importer has nothing to complain about, and has what `inferscope query` has; and answers to more queries."""
    processor, path = TraceProcessor.need(), exported(trace)
    errors, *answers = processor.ask(path, ERRORS, *THEIRS.values(), *queries, scratch=folder)
    assert errors == []
    for (table, query), rows in zip(OURS.items(), answers):
        ours = Counter(tuple(row.values()) for row in json.loads(inferscope("query", "--format", "json", trace, query).stdout))
        theirs = Counter((*name, place.partition(": ")[0]) if isinstance(place, str) else (*name, place) for *name, place in rows)
        assert list((ours - theirs).items())[:3] == [] and list((theirs - ours).items())[:3] == [], table
    return answers[len(THEIRS):]


def test_in_perfetto(tmp_path):
    """Two processes, one of them with the number 0; arrows between operators, and from a graph to all of its kernels."""
    trace = made()
    graph = trace.call("cudaGraphLaunch", 200, 10)
    trace.call("cuGraphLaunch", 202, 6, graph)  # of the driver, inside it: the arrows leave there
    for i in range(3):
        trace.device("kernel", f"node {i}", 215 + 10 * i, 8, graph)
    trace.add(ph="s", cat="ac2g", name="ac2g", id=1, pid=100, tid=1, ts=20)  # says the same as the correlation
    trace.add(ph="f", cat="ac2g", name="ac2g", id=1, pid=0, tid=7, ts=30.125, bp="e")
    trace.device("cuda_sync", "Event Sync", 216, 2, trace.call("cudaEventSynchronize", 212, 8), stream=-1)
    trace.add(ph="M", name="thread_name", pid=0, tid=7, args={"name": "uploads"})
    trace.add(ph="X", cat="gpu_user_annotation", name="step", pid=0, tid=7, ts=214, dur=40, args={"device": 0, "stream": 7})
    trace.add(ph="M", name="process_name", pid=0, args={"name": "launcher"})
    trace.add(ph="X", cat="cpu_op", name="spawn", pid=0, tid=0, ts=5, dur=2)
    first = imported(tmp_path / "first.sbt", trace.save(tmp_path / "made.json"))
    tracks, args, pids = in_perfetto(
        tmp_path, first, "SELECT t.name, count(*) FROM slice s JOIN track t ON t.id = track_id WHERE t.name <> 'InferScope' GROUP BY 1",
        "SELECT key, display_value FROM slice JOIN args USING (arg_set_id) WHERE name = 'first'",
        "SELECT pid FROM process WHERE upid > 0 ORDER BY 1")
    assert tracks == [("GPU 0 stream -1: any stream", 1), ("GPU 0 stream 7: uploads", 7), ("beside (1)", 2)]
    assert {("debug.grid_x", "4"), ("debug.block_x", "128"), ("debug.registers", "32")} <= set(args)
    assert pids == [(100,), (1073741825,)]
    second = imported(tmp_path / "second.sbt", tmp_path / "first.pftrace")
    assert_same(Rows(first), Rows(second))
    for query in ("SELECT process, name FROM processes WHERE name <> 'Global tracks' ORDER BY 1",
                  "SELECT device, stream, coalesce(name, '') FROM tracks WHERE kind = 'stream' ORDER BY 2",
                  "SELECT device, kind, name FROM devices"):
        before, after = (inferscope("query", "--format", "json", path, query).stdout for path in (first, second))
        assert before == after, query


@pytest.mark.parametrize("name", ["kineto/mi-vllm-decode-graph.json.gz", "kineto/h100-nsfw.json.gz", "nsys/mfu-2gpu-after.sqlite.gz"])
def test_a_real_one_in_perfetto(name, tmp_path):
    in_perfetto(tmp_path, imported(tmp_path / "first.sbt", shared(name)))


# ---- Recordings -----------------------------------------------------------------------------------

PROGRAM = """
import threading
import time
import inferscope

def work(depth):
    return work(depth - 1) if depth else sum(range(1000))

def parts():
    with inferscope.scope("outlives"):
        yield 1
        yield 2

def train(count):
    for _ in range(count):
        with inferscope.scope("step"):
            work(5)
            time.sleep(0.02)
    for _ in parts():
        work(1)

train(3)
thread = threading.Thread(target=train, args=(2,))
thread.start()
thread.join()
"""


def test_recorded(tmp_path):
    """Python's calls with their places, scopes, states of threads, counters, the clocks."""
    program, first = tmp_path / "program.py", tmp_path / "first.sbt"
    program.write_text(PROGRAM)
    inferscope("run", "--waits", "on", "--trace", first, "--report", "none", "--", sys.executable, program)
    path = exported(first)
    before, after = Rows(first), Rows(imported(tmp_path / "second.sbt", path))

    def of_threads(rows):
        return Counter({key: n for key, n in rows.slices.items() if key[0] != "cpu_sample"})

    def anywhere(rows):  # states, and counters of the host, are of tracks of their own afterwards
        return (Counter(key[:4] + key[5:] for key in rows.slices.elements() if key[0] == "cpu_sample"),
                Counter((name, time, value) for name, time, _, value in rows.counters.elements()))

    lost, new = of_threads(before) - of_threads(after), of_threads(after) - of_threads(before)
    assert list(lost)[:3] == [] and list(new)[:3] == []
    assert anywhere(before) == anywhere(after) and all(anywhere(before))
    trace = perfetto_reader.read(path)
    train = [s for s in trace.slices if s.name.endswith("train")]
    assert [s.args["source"] for s in train] == [(str(program), "train", 14)] * 2 and "cpu" in train[0].args
    assert {s.category for s in trace.slices} == {"cpu_call", "user_annotation", "cpu_sample"}
    assert len([s for s in trace.slices if s.name == "step"]) == 5
    assert trace.snapshots[0].keys() == {1, 3, 5}  # CLOCK_REALTIME, MONOTONIC, MONOTONIC_RAW
    assert trace.system.utsname.sysname
