"""Perfetto's protobuf traces, written with the classes of PyPI's perfetto and imported: what was put in comes out.

Perfetto's own reader (trace_processor) is a program that its package downloads when it is first used, so it is no judge
here; the values are those that the packages' schema and documentation say.
"""

import json
import struct
import subprocess
import zlib

import pytest
import zstandard

import sbt
from recording import INFERSCOPE, PATIENCE
from sbt_payload import KINDS, PHASES

pb = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")

CLEARED, NEEDS = 1, 2
REALTIME, MONOTONIC, BOOTTIME = 1, 3, 6
BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4
UNMATCHED = 65535


class Writer:
    """A trace, packet by packet."""

    def __init__(self):
        self.trace = pb.Trace()

    def packet(self, time=None, seq=1, **fields):
        packet = self.trace.packet.add(trusted_packet_sequence_id=seq, **fields)
        if time is not None:
            packet.timestamp = time
        return packet

    def start(self, seq=1, **fields):
        return self.packet(seq=seq, sequence_flags=CLEARED, **fields)

    def process(self, uuid, pid, name="", **fields):
        packet = self.packet(**fields)
        packet.track_descriptor.uuid = uuid
        packet.track_descriptor.process.pid = pid
        packet.track_descriptor.process.process_name = name

    def thread(self, uuid, pid, tid, name="", **fields):
        packet = self.packet(**fields)
        packet.track_descriptor.uuid = uuid
        packet.track_descriptor.thread.pid = pid
        packet.track_descriptor.thread.tid = tid
        packet.track_descriptor.thread.thread_name = name

    def track(self, uuid, name, parent=0, **counter):
        descriptor = self.packet().track_descriptor
        descriptor.uuid, descriptor.name, descriptor.parent_uuid = uuid, name, parent
        if counter:
            descriptor.counter.SetInParent()
            for key, value in counter.items():
                setattr(descriptor.counter, key, value)

    def event(self, time, kind, track=10, name=None, seq=1, **fields):
        packet = self.packet(time, seq)
        packet.track_event.type = kind
        if track is not None:
            packet.track_event.track_uuid = track
        if name is not None:
            packet.track_event.name = name
        for key, value in fields.items():
            if isinstance(value, (list, tuple)):
                getattr(packet.track_event, key).extend(value)
            else:
                setattr(packet.track_event, key, value)
        return packet.track_event

    def slice(self, begin, end, name, track=10, seq=1, **fields):
        event = self.event(begin, BEGIN, track, name, seq, **fields)
        self.event(end, END, track, seq=seq)
        return event

    def clocks(self, seq=1, primary=0, **readings):
        snapshot = self.packet(seq=seq).clock_snapshot
        snapshot.primary_trace_clock = primary
        for number, reading in readings.items():
            time, *rest = reading if isinstance(reading, tuple) else (reading,)
            clock = snapshot.clocks.add(clock_id=int(number[1:]), timestamp=time)
            if rest:
                clock.is_incremental, clock.unit_multiplier_ns = rest

    def bytes(self):
        return self.trace.SerializeToString()


class Imported:
    """What `inferscope import` made of a file."""

    def __init__(self, path, said):
        self.trace, self.said = sbt.read(path), said
        assert self.trace.violations == [] and self.trace.damage == []
        self.source, = self.trace.info["sources"]
        assert self.source["format"] == "perfetto"
        assert self.source["events"] == len(self.trace.events)

    def text(self, number):
        return self.trace.strings.get(number, "")

    def track(self, number):
        """Process and track, as people see them."""
        track = self.trace.tracks[number]
        process = self.trace.processes.get(track["process"], {})
        return self.text(process.get("name", 0)), self.text(track["name"])

    def slices(self):
        return sorted((self.text(s.name), s.begin, s.end, self.track(s.track)[1], s.depth or 0) for s in self.trace.slices())

    def events(self, *kinds):
        return [event for event in self.trace.events if KINDS[event.kind] in kinds]

    def counters(self):
        return [(self.track(e.track), self.text(e.name), e.time, e.value) for e in self.events("counter")]

    def flows(self):
        return [(PHASES[e.phase], e.flow, e.time, self.track(e.track)[1]) for e in self.events("flow")]


def run_import(folder, data, *options):
    source, path = folder / "source.pftrace", folder / "trace.sbt"
    source.write_bytes(data)
    run = subprocess.run([INFERSCOPE, "import", source, "-o", path, *options], capture_output=True, text=True, check=False,
                         timeout=PATIENCE)
    return run, path


def imported(folder, data, *options):
    data = data.bytes() if isinstance(data, Writer) else data
    run, path = run_import(folder, data, *options)
    assert run.returncode == 0, run.stderr
    return Imported(path, run.stdout + run.stderr)


def metadata(event):
    return event.metadata or {}


def simple():
    """A thread with slices at three depths."""
    w = Writer()
    w.start()
    w.process(1, 100, "python")
    w.thread(10, 100, 101, "main")
    w.event(1000, BEGIN, name="outer")
    w.slice(1100, 1200, "inner")
    w.event(1300, BEGIN, name="inner")
    w.slice(1400, 1450, "deep")
    w.event(1500, END)
    w.event(2000, END)
    return w


SIMPLE = [("deep", 1400, 1450, "main", 2), ("inner", 1100, 1200, "main", 1), ("inner", 1300, 1500, "main", 1),
          ("outer", 1000, 2000, "main", 0)]


def test_slices(tmp_path):
    result = imported(tmp_path, simple())
    assert result.slices() == SIMPLE
    assert {result.track(e.track) for e in result.trace.events} == {("python", "main")}
    process, = result.trace.processes.values()
    track, = result.trace.tracks.values()
    assert process["pid"] == 100 and track["id"] == 101


def test_compressed_file(tmp_path):
    assert imported(tmp_path, zlib.compress(simple().bytes(), wbits=31)).slices() == SIMPLE
    assert imported(tmp_path, zstandard.compress(simple().bytes())).slices() == SIMPLE


def test_ends_without_begins_and_begins_without_ends(tmp_path):
    w = Writer()
    w.thread(10, 100, 101, "main")
    w.event(10, END)
    w.event(20, BEGIN, name="open")
    result = imported(tmp_path, w)
    assert [(e.phase, e.depth) for e in result.trace.events] == [(1, UNMATCHED), (0, 0)]


def test_sequences_are_put_in_order(tmp_path):
    """A track whose slices begin in one thread and end in another: the file has one after the other."""
    w = Writer()
    w.process(1, 100, "python")
    w.track(20, "requests", 1)
    for i in range(3):
        w.event(100 * i, BEGIN, 20, f"request {i}", seq=1)
    for i in range(3):
        w.event(100 * i + 50, END, 20, seq=2)
    assert imported(tmp_path, w).slices() == [
        ("request 0", 0, 50, "requests", 0), ("request 1", 100, 150, "requests", 0), ("request 2", 200, 250, "requests", 0)]


def test_description_after_events(tmp_path):
    w = Writer()
    w.slice(10, 20, "early", 30)
    w.process(1, 100, "python")
    w.track(30, "late name", 1)
    result = imported(tmp_path, w)
    assert result.slices() == [("early", 10, 20, "late name", 0)]
    assert result.track(result.trace.events[0].track) == ("python", "late name")


def test_tracks_and_parents(tmp_path):
    w = Writer()
    w.process(1, 100, "python")
    w.thread(2, 100, 101, "main")
    w.track(3, "GPU 0", 1)
    w.track(4, "stream 7", 3)
    w.track(5, "of a thread", 2)
    w.track(6, "alone")
    w.slice(0, 1, "a", 1)
    for uuid in (4, 5, 6, 7):
        w.slice(0, 1, "a", uuid)
    w.event(5, INSTANT, None, "no track")
    result = imported(tmp_path, w)
    assert sorted({result.track(e.track) for e in result.trace.events}) == [
        ("Global tracks", ""), ("Global tracks", "Sequence 1"), ("Global tracks", "alone"), ("python", ""),
        ("python", "GPU 0 / stream 7"), ("python", "of a thread")]
    kinds = {result.track(n): track["kind"] for n, track in result.trace.tracks.items()}
    assert kinds[("python", "")] == 4 and kinds[("python", "of a thread")] == 1


def test_interning(tmp_path):
    w = Writer()
    first = w.start()
    first.interned_data.event_names.add(iid=1, name="first")
    first.interned_data.event_names.add(iid=2, name="second")
    first.interned_data.event_categories.add(iid=1, name="cpu_op")
    w.thread(10, 100, 101, "main")
    w.slice(10, 20, None, name_iid=1, category_iids=[1])
    w.slice(30, 40, None, name_iid=2)
    other = w.start(seq=2)
    other.interned_data.event_names.add(iid=1, name="of another sequence")
    w.slice(50, 60, None, seq=2, name_iid=1)
    w.slice(70, 80, None, name_iid=12)
    again = w.start()
    again.interned_data.event_names.add(iid=1, name="cleared")
    w.slice(90, 95, None, name_iid=1)
    w.slice(96, 97, None, name_iid=2)
    result = imported(tmp_path, w)
    assert [name for name, *_ in sorted(result.slices(), key=lambda s: s[1])] == [
        "first", "second", "of another sequence", "[unknown name 12]", "cleared", "[unknown name 2]"]
    assert [KINDS[e.kind] for e in result.trace.events if e.phase == 0] == ["op"] + 5 * ["scope"]


def test_lost_packets(tmp_path):
    """After a loss, packets that need the state wait for it to be cleared."""
    w = Writer()
    w.start().interned_data.event_names.add(iid=1, name="one")
    w.thread(10, 100, 101, "main")

    def mark(time, **fields):
        packet = w.packet(time, sequence_flags=NEEDS, **fields)
        packet.track_event.type, packet.track_event.track_uuid, packet.track_event.name_iid = INSTANT, 10, 1
        return packet

    mark(10)
    mark(20, previous_packet_dropped=1)
    mark(30).interned_data.event_names.add(iid=1, name="not to be trusted")
    cleared = mark(40)
    cleared.sequence_flags = CLEARED | NEEDS
    cleared.interned_data.event_names.add(iid=1, name="two")
    mark(50)
    result = imported(tmp_path, w)
    assert [(result.text(e.name), e.time) for e in result.trace.events] == [("one", 10), ("two", 40), ("two", 50)]
    assert result.source["skipped"] == 2


def test_state_before_the_first_clear(tmp_path):
    """The beginning of a ring buffer that went round: nothing is known of the names."""
    w = Writer()
    for time in (10, 20):
        packet = w.packet(time, sequence_flags=NEEDS)
        packet.track_event.type, packet.track_event.name_iid = INSTANT, 1
    w.start()
    w.event(30, INSTANT, None, "known")
    result = imported(tmp_path, w)
    assert [(result.text(e.name), e.time) for e in result.trace.events] == [("known", 30)]
    assert result.source["skipped"] == 2


def test_defaults(tmp_path):
    w = Writer()
    first = w.start()
    defaults = first.trace_packet_defaults
    defaults.timestamp_clock_id = MONOTONIC
    defaults.track_event_defaults.track_uuid = 10
    defaults.track_event_defaults.extra_counter_track_uuids.append(40)
    defaults.track_event_defaults.extra_double_counter_track_uuids.append(41)
    w.clocks(c3=1000, c6=501000)
    w.thread(10, 100, 101, "main")
    w.track(40, "instructions", 10, unit=2)
    w.track(41, "load", 10, unit=2)
    w.event(1500, BEGIN, None, "by default", extra_counter_values=[7], extra_double_counter_values=[0.5])
    w.event(1600, END, None, extra_counter_values=[9])
    w.event(1700, INSTANT, None, "own", extra_counter_values=[3], extra_counter_track_uuids=[41])
    result = imported(tmp_path, w)
    assert result.slices() == [("by default", 501500, 501600, "main", 0)]
    assert result.counters() == [
        (("", "main"), "instructions", 501500, 7.0), (("", "main"), "load", 501500, 0.5),
        (("", "main"), "instructions", 501600, 9.0), (("", "main"), "load", 501700, 3.0)]


def test_counters(tmp_path):
    w = Writer()
    w.start()
    w.process(1, 100, "python")
    w.track(40, "memory", 1, unit=3, unit_multiplier=1024)
    w.track(41, "steps", 1, is_incremental=True, unit_name="steps")
    w.track(42, "memory", 1, unit=3)
    w.track(43, "alone", unit=1)
    w.event(10, COUNTER, 40, counter_value=3)
    w.event(20, COUNTER, 41, counter_value=5)
    w.event(30, COUNTER, 41, counter_value=-2)
    w.event(40, COUNTER, 42, double_counter_value=0.25)
    w.event(50, COUNTER, 43, counter_value=-1)
    w.start()
    w.event(60, COUNTER, 41, counter_value=100)
    result = imported(tmp_path, w)
    assert result.counters() == [
        (("python", ""), "memory", 10, 3072.0), (("python", ""), "steps", 20, 5.0), (("python", ""), "steps", 30, 3.0),
        (("python", ""), "steps", 60, 100.0), (("python", "memory"), "memory", 40, 0.25),
        (("Global tracks", "alone"), "alone", 50, -1.0)]
    assert [metadata(e) for e in result.events("counter") if metadata(e)] == [
        {"unit": "bytes"}, {"unit": "steps"}, {"unit": "bytes"}, {"unit": "ns"}]
    assert all(e.phase == 3 for e in result.trace.events)


def test_flows(tmp_path):
    w = Writer()
    for number in (10, 11, 12):
        w.thread(number, 100, number, f"t{number}")
    w.slice(0, 10, "a", 10, flow_ids=[7, 1 << 63])
    w.slice(20, 30, "b", 11, flow_ids=[7])
    w.slice(40, 50, "c", 12, terminating_flow_ids=[7])
    w.slice(60, 70, "a", 10, flow_ids_old=[7])
    w.event(80, BEGIN, 11, "d")
    w.event(90, END, 11, terminating_flow_ids_old=[7])
    result = imported(tmp_path, w)
    assert sorted(result.flows(), key=lambda f: (f[2], f[1])) == [
        ("flow_out", 7, 0, "t10"), ("flow_out", 1 << 63, 0, "t10"), ("flow_in", 7, 20, "t11"), ("flow_out", 7, 20, "t11"),
        ("flow_in", 7, 40, "t12"), ("flow_out", 7, 60, "t10"), ("flow_in", 7, 90, "t11")]
    on_first = [(PHASES[e.phase], e.time) for e in result.trace.events if result.track(e.track)[1] == "t11"]
    assert on_first[-2:] == [("flow_in", 90), ("end", 90)]  # inside the slice that it arrives at


def test_legacy_events(tmp_path):
    w = Writer()
    first = w.start()
    first.thread_descriptor.pid, first.thread_descriptor.tid = 100, 101
    first.thread_descriptor.thread_name = "main"
    first.thread_descriptor.reference_timestamp_us = 1000

    def legacy(phase, name, delta=10, **fields):
        packet = w.packet()
        packet.track_event.timestamp_delta_us = delta
        packet.track_event.name = name
        packet.track_event.legacy_event.phase = ord(phase)
        for key, value in fields.items():
            setattr(packet.track_event.legacy_event, key, value)

    legacy("B", "begin")
    legacy("X", "complete", duration_us=5)
    legacy("E", "begin")
    legacy("b", "request", global_id=77)
    legacy("e", "request", global_id=77)
    legacy("I", "mark")
    legacy("X", "out", duration_us=1, bind_id=5, flow_direction=2)
    legacy("X", "in", duration_us=1, bind_id=5, flow_direction=1)
    legacy("X", "elsewhere", duration_us=1, pid_override=200, tid_override=201)
    result = imported(tmp_path, w)
    assert [(PHASES[e.phase], result.text(e.name), e.time, e.duration, e.flow) for e in result.trace.events] == [
        ("begin", "begin", 1010000, None, None), ("complete", "complete", 1020000, 5000, None), ("end", "", 1030000, None, None),
        ("async_begin", "request", 1040000, None, 77), ("async_end", "request", 1050000, None, 77),
        ("instant", "mark", 1060000, None, None),
        ("complete", "out", 1070000, 1000, None), ("flow_out", "", 1070000, None, 5),
        ("complete", "in", 1080000, 1000, None), ("flow_in", "", 1080000, None, 5),
        ("complete", "elsewhere", 1090000, 1000, None)]
    ids = {(result.trace.processes[t["process"]]["pid"], t["id"]) for t in result.trace.tracks.values()}
    assert ids == {(100, 101), (200, 201)}


def annotate(event, name, value):
    annotation = event.debug_annotations.add(name=name)
    fill(annotation, value)


def fill(annotation, value):
    if isinstance(value, dict):
        for key, inner in value.items():
            fill(annotation.dict_entries.add(name=key), inner)
    elif isinstance(value, list):
        for inner in value:
            fill(annotation.array_values.add(), inner)
    elif isinstance(value, bool):
        annotation.bool_value = value
    elif isinstance(value, int):
        annotation.int_value = value
    elif isinstance(value, float):
        annotation.double_value = value
    else:
        annotation.string_value = value


def test_annotations(tmp_path):
    w = Writer()
    first = w.start()
    first.interned_data.debug_annotation_names.add(iid=3, name="interned name")
    first.interned_data.debug_annotation_string_values.add(iid=4, str=b"interned value")
    first.interned_data.source_locations.add(iid=5, file_name="model.py", function_name="forward", line_number=12)
    w.thread(10, 100, 101, "main")
    args = {"text": "x", "number": -5, "half": 0.5, "yes": True, "map": {"a": [1, 2, {"b": "c"}], "d": {}}, "bytes": 7}
    event = w.event(10, INSTANT, 10, "all", categories=["mine"], source_location_iid=5)
    for name, value in args.items():
        annotate(event, name, value)
    event.debug_annotations.add(name_iid=3, string_value_iid=4)
    event.debug_annotations.add(name="pointer", pointer_value=(1 << 64) - 1)
    nested = event.debug_annotations.add(name="nested").nested_value
    nested.nested_type = 1
    nested.dict_keys.append("list")
    values = nested.dict_values.add(nested_type=2)
    values.array_values.add(int_value=3)
    values.array_values.add(string_value="s")
    result = imported(tmp_path, w)
    event, = result.trace.events
    # an empty dictionary and no value look the same in this format
    args["map"]["d"] = None
    assert metadata(event) == {
        "category": "mine", **args, "interned name": "interned value", "pointer": (1 << 64) - 1,
        "nested": {"list": [3, "s"]}, "source_file": "model.py", "source_function": "forward", "source_line": 12}
    assert event.bytes is None  # only where the category says what it means
    lean, = imported(tmp_path, w, "--lean").trace.events
    assert metadata(lean) == {}


def test_annotations_of_an_end(tmp_path):
    """What is known only when a slice ends."""
    w = Writer()
    w.event(10, BEGIN, None, "e")
    annotate(w.event(20, END, None), "result", 5)
    begin, end = imported(tmp_path, w).trace.events
    assert metadata(begin) == {} and metadata(end) == {"result": 5}


def test_deep_annotations(tmp_path):
    w = Writer()
    w.thread(10, 100, 101, "main")
    annotation = w.event(10, INSTANT, 10, "deep").debug_annotations.add(name="deep")
    for _ in range(60):
        annotation = annotation.dict_entries.add(name="more")
    annotation.int_value = 1
    event, = imported(tmp_path, w).trace.events
    depth, value = 0, metadata(event)["deep"]
    while isinstance(value, dict):
        depth, value = depth + 1, value["more"]
    assert depth == 30 and value is None


def test_kineto_categories(tmp_path):
    """What our own export writes: Kineto's categories and arguments."""
    w = Writer()
    w.process(1, 100, "python")
    w.thread(10, 100, 101, "main")
    w.track(20, "GPU 0 / stream 7", 1)
    op = w.slice(0, 100, "aten::mm", categories=["cpu_op"])
    annotate(op, "External id", 5)
    call = w.slice(10, 20, "cudaLaunchKernel", categories=["cuda_runtime"])
    annotate(call, "correlation", 44)
    annotate(call, "External id", 5)
    kernel = w.event(200, BEGIN, 20, "gemm", categories=["kernel"])
    for name, value in {"correlation": 44, "External id": 5, "device": 1, "stream": 9, "grid": [2, 3, 4], "block": [64, 1, 1],
                        "registers per thread": 32, "shared memory": 1024, "queued": 0}.items():
        annotate(kernel, name, value)
    w.event(350, END, 20)
    copy = w.slice(400, 450, "Memcpy HtoD (Pageable -> Device)", 20, categories=["gpu_memcpy"])
    annotate(copy, "bytes", 4096)
    w.slice(460, 470, "Memset (Device)", 20, categories=["gpu_memset"])
    w.slice(480, 490, "step", 20, categories=["gpu_user_annotation"])
    w.slice(500, 510, "plain", 20)
    w.slice(600, 700, "forward", categories=["python_function"])
    w.slice(710, 720, "record", categories=["user_annotation"])
    result = imported(tmp_path, w)
    seen = {result.text(e.name): e for e in result.trace.events if e.phase != 1}
    assert {name: KINDS[e.kind] for name, e in seen.items()} == {
        "aten::mm": "op", "cudaLaunchKernel": "runtime_call", "gemm": "gpu_kernel", "forward": "cpu_call", "record": "scope",
        "Memcpy HtoD (Pageable -> Device)": "h2d_copy", "Memset (Device)": "memset", "step": "scope", "plain": "scope"}
    gemm = seen["gemm"]
    assert (PHASES[gemm.phase], gemm.time, gemm.duration, gemm.correlation, gemm.operator) == ("complete", 200, 150, 44, 5)
    assert (gemm.grid_x, gemm.grid_y, gemm.grid_z, gemm.block_x, gemm.registers, gemm.shared_memory) == (2, 3, 4, 64, 32, 1024)
    assert metadata(gemm) == {"queued": 0}
    assert seen["aten::mm"].operator == 5 and seen["cudaLaunchKernel"].correlation == 44
    assert seen["Memcpy HtoD (Pageable -> Device)"].bytes == 4096
    assert seen["Memcpy HtoD (Pageable -> Device)"].memory_kind == 1 | 3 << 8

    def place(name):
        track = result.trace.tracks[seen[name].track]
        device = result.trace.devices[track["device"]]["index"] if track["kind"] == 2 else None
        return track["kind"], device, track["id"]

    assert place("gemm") == (2, 1, 9)
    assert place("Memset (Device)") == place("step") == (2, 0, 7)  # from the track's name
    assert result.track(seen["plain"].track) == ("python", "GPU 0 / stream 7")
    assert result.slices()[-1][:3] == ("step", 480, 490)


def test_arguments_are_fields_only_where_they_mean_that(tmp_path):
    """And what describes a collective stays in a lean trace."""
    w = Writer()
    w.thread(10, 100, 101, "main")
    w.track(20, "GPU 1 stream 3")
    args = {"stream": 4, "bytes": 5, "correlation": 6, "Collective name": "allreduce", "Group size": 8, "other": 1}
    for track, category in ((10, "mine"), (10, "python_function"), (10, "cpu_op"), (10, "cuda_runtime"), (20, "kernel")):
        event = w.event(10, INSTANT, track, category, categories=[category])
        for name, value in args.items():
            annotate(event, name, value)
    for options in ((), ("--lean",)):
        result = imported(tmp_path, w, *options)
        seen = {result.text(e.name): e for e in result.trace.events}
        fields = {name: (KINDS[e.kind], e.bytes, e.correlation) for name, e in seen.items()}
        assert fields == {"mine": ("instant", None, None), "python_function": ("cpu_call", None, None), "cpu_op": ("op", None, 6),
                          "cuda_runtime": ("runtime_call", 5, 6), "kernel": ("collective", 5, 6)}
        left = {"Collective name": "allreduce", "Group size": 8}
        assert metadata(seen["kernel"]) == (left if options else {**left, "other": 1})
        if options:
            assert all(not metadata(e) for name, e in seen.items() if name != "kernel")
        else:
            assert metadata(seen["mine"]) == {"category": "mine", **args}
            assert metadata(seen["python_function"]) == args
            assert metadata(seen["cuda_runtime"]) == {"stream": 4, **left, "other": 1}


def test_unknown_texts_of_annotations(tmp_path):
    w = Writer()
    event = w.event(10, INSTANT, None, "e")
    event.debug_annotations.add(name_iid=12, int_value=1)
    event.debug_annotations.add(name="text", string_value_iid=13)
    event, = imported(tmp_path, w).trace.events
    assert metadata(event) == {"[unknown name 12]": 1, "text": "[unknown text 13]"}


def test_device_slices_do_not_disturb_their_track(tmp_path):
    w = Writer()
    w.process(1, 100, "python")
    w.track(20, "GPU 0 stream 1", 1)
    w.event(0, BEGIN, 20, "around")
    w.event(10, BEGIN, 20, "k", categories=["kernel"])
    w.slice(11, 12, "inside", 20)
    w.event(20, END, 20)
    w.event(30, END, 20)
    w.event(40, BEGIN, 20, "never ends", categories=["kernel"])
    result = imported(tmp_path, w)
    assert result.slices() == [
        ("around", 0, 30, "GPU 0 stream 1", 0), ("inside", 11, 12, "GPU 0 stream 1", 1), ("k", 10, 20, "", 0),
        ("never ends", 40, None, "", 0)]


def test_clocks(tmp_path):
    """Over two snapshots; a clock that is in none with the trace's goes over another."""
    w = Writer()
    w.clocks(c6=1_000_000, c3=500_000, c1=1_700_000_000_000_000_000)
    w.clocks(c3=500_000, c64=(10, False, 1000))
    w.clocks(c6=2_000_100, c3=1_500_000)
    w.thread(10, 100, 101, "main")
    for time, clock in ((500_001, 3), (1_499_999, 3), (1_500_001, 3), (1, 3), (11, 64), (1_000_005, 6), (1_000_006, 0)):
        event = w.packet(time)
        event.timestamp_clock_id = clock
        event.track_event.type, event.track_event.track_uuid, event.track_event.name = INSTANT, 10, f"{clock}:{time}"
    result = imported(tmp_path, w)
    base = 1_700_000_000_000_000_000 - 1_000_000
    assert result.source["base_time_ns"] == base
    assert {result.text(e.name): e.time - base for e in result.trace.events} == {
        "3:500001": 1_000_001, "3:1499999": 1_999_999, "3:1500001": 2_000_101, "3:1": 500_001, "64:11": 1_001_000,
        "6:1000005": 1_000_005, "0:1000006": 1_000_006}


def test_incremental_clock_of_a_sequence(tmp_path):
    w = Writer()
    for seq, offset in ((1, 0), (2, 1_000_000)):
        w.clocks(seq=seq, c64=(100, True, 1000), c6=5_000_000 + offset)
    for seq in (1, 2):
        for delta in (1, 2, 0, 5):
            packet = w.packet(delta, seq, timestamp_clock_id=64)
            packet.track_event.type, packet.track_event.name = INSTANT, "e"
    w.clocks(seq=1, c64=(200, True, 1000), c6=5_200_000)
    packet = w.packet(3, 1, timestamp_clock_id=64)
    packet.track_event.type, packet.track_event.name = INSTANT, "e"
    packet = w.packet(3, 3, timestamp_clock_id=64)  # a clock that this sequence does not have
    packet.track_event.type, packet.track_event.name = INSTANT, "e"
    result = imported(tmp_path, w)
    first = [e.time for e in result.trace.events if result.track(e.track)[1] == "Sequence 1"]
    second = [e.time for e in result.trace.events if result.track(e.track)[1] == "Sequence 2"]
    assert first == [5_001_000, 5_003_000, 5_003_000, 5_008_000, 5_203_000]
    assert second == [6_001_000, 6_003_000, 6_003_000, 6_008_000]
    assert result.source["skipped"] == 1


def test_primary_clock(tmp_path):
    w = Writer()
    w.packet(1100).service_event.tracing_started = True
    w.clocks(primary=MONOTONIC, c3=100, c6=1100, c1=2100)
    w.packet(1150, timestamp_clock_id=BOOTTIME).track_event.type = INSTANT
    w.packet(160).track_event.type = INSTANT
    result = imported(tmp_path, w)
    assert result.source["base_time_ns"] == 2000
    assert [e.time - 2000 for e in result.trace.events] == [150, 160]


def test_compressed_packets(tmp_path):
    inner, w = simple(), Writer()
    half = len(inner.trace.packet) // 2
    for part, field, pack in ((inner.trace.packet[:half], "compressed_packets", zlib.compress),
                              (inner.trace.packet[half:], "zstd_compressed_packets", zstandard.compress)):
        setattr(w.trace.packet.add(), field, pack(pb.Trace(packet=part).SerializeToString()))
    result = imported(tmp_path, w)
    assert result.slices() == SIMPLE


def test_damaged_compressed_packets(tmp_path):
    w = simple()
    w.trace.packet.add().compressed_packets = b"no zlib"
    w.trace.packet.add().zstd_compressed_packets = b"no zstd"
    w.trace.packet.add().compressed_packets = zlib.compress(bytes(104 << 20))[:100000]
    result = imported(tmp_path, w)
    assert result.slices() == SIMPLE
    assert result.source["skipped"] == 3


@pytest.mark.parametrize("field, pack, count, damage", [
    ("compressed_packets", zlib.compress, 6000, "cut"), ("compressed_packets", zlib.compress, 6000, "flipped"),
    ("zstd_compressed_packets", zstandard.compress, 20000, "cut")])  # which has blocks of 128 kB
def test_what_comes_before_the_damage_of_compressed_packets(tmp_path, field, pack, count, damage):
    inner, w = Writer(), Writer()
    inner.start()
    inner.process(1, 100, "python")
    inner.thread(10, 100, 101, "main")
    for i in range(count):
        inner.event(1000 + i * 977 % 31 + 40 * i, INSTANT, 10, f"n{i * 7919 % 1009}")
    setattr(w.trace.packet.add(), field, pack(pb.Trace(packet=inner.trace.packet).SerializeToString()))
    data = bytearray(w.bytes())
    half = len(data) // 2
    if damage == "cut":
        data = data[:half]
    else:
        data[half:half + 40] = bytes(40)
    result = imported(tmp_path, bytes(data))
    names = [result.text(e.name) for e in result.trace.events]
    assert 1000 < len(names) < count and names[:1000] == [f"n{i * 7919 % 1009}" for i in range(1000)]
    assert result.source["skipped"] >= 1 or result.source["truncated"]


def test_gpu_render_stages(tmp_path):
    w = Writer()
    first = w.start()
    interned = first.interned_data
    interned.gpu_specifications.add(iid=1, name="Kernel", category=2)
    interned.gpu_specifications.add(iid=2, name="Memcpy HtoD")
    interned.gpu_specifications.add(iid=3, name="[07] stream 7")
    interned.gpu_specifications.add(iid=4, name="Compute queue")
    interned.graphics_contexts.add(iid=1, pid=100, api=4)
    interned.event_names.add(iid=9, name="gemm")
    w.process(1, 100, "python")
    w.thread(10, 100, 101, "main")
    info = w.packet().gpu_info
    info.gpus.add(name="First GPU")
    info.gpus.add(name="Second GPU")

    def stage(time, **fields):
        event = w.packet(time).gpu_render_stage_event
        for key, value in fields.items():
            setattr(event, key, value)
        return event

    kernel = stage(1000, event_id=70, duration=50, hw_queue_iid=3, stage_iid=1, context=1, gpu_id=1, name_iid=9)
    kernel.launch.grid_size.x, kernel.launch.grid_size.y, kernel.launch.workgroup_size.x = 8, 2, 128
    kernel.launch.args.add(name="registers_per_thread", uint_value=40)
    kernel.extra_data.add(name="note", value="text")
    copy = stage(1100, event_id=71, duration=20, hw_queue_iid=3, stage_iid=2, context=1, gpu_id=1)
    copy.extra_data.add(name="bytes", value="4096")
    copy.extra_data.add(name="correlation", value="12")
    stage(1200, event_id=72, duration=0, hw_queue_iid=4, stage_iid=1, gpu_id=0)
    stage(1300, event_id=73, duration=5, hw_queue_iid=4, stage_iid=99, gpu_id=0)
    # the call that asked for event 70, by the extension of GPU traces: field 3000, in it field 1
    call = w.slice(900, 910, "cudaLaunchKernel", 10, categories=["cuda_runtime"])
    call.MergeFromString(b"\xc2\xbb\x01\x02\x08\x46")
    result = imported(tmp_path, w)
    work = [(KINDS[e.kind], result.text(e.name), e.time, e.duration, e.correlation) for e in result.events(
        "gpu_kernel", "h2d_copy")]
    assert sorted(work, key=lambda row: row[2]) == [
        ("gpu_kernel", "gemm", 1000, 50, 70), ("h2d_copy", "Memcpy HtoD", 1100, 20, 12), ("gpu_kernel", "Kernel", 1200, 0, 72),
        ("gpu_kernel", "[unknown stage 99]", 1300, 5, 73)]
    gemm = next(e for e in result.trace.events if result.text(e.name) == "gemm")
    assert (gemm.grid_x, gemm.grid_y, gemm.block_x, gemm.registers) == (8, 2, 128, 40)
    assert metadata(gemm) == {"note": "text", "stage": "Kernel"}
    track = result.trace.tracks[gemm.track]
    assert (track["kind"], track["id"], result.text(track["name"])) == (2, 7, "[07] stream 7")
    device = result.trace.devices[track["device"]]
    assert (device["index"], device["kind"], result.text(device["name"])) == (1, 1, "Second GPU")
    assert result.trace.processes[track["process"]]["pid"] == 100
    assert next(e for e in result.events("h2d_copy")).bytes == 4096
    assert next(e for e in result.events("runtime_call") if e.phase == 0).correlation == 70


def test_gpu_stages_by_older_numbers(tmp_path):
    w = Writer()
    event = w.packet(5).gpu_render_stage_event
    event.specifications.context_spec.context, event.specifications.context_spec.pid = 9, 100
    for name in ("first queue", "stream 3"):
        event.specifications.hw_queue.add(name=name)
    for name in ("Vertex", "Fragment"):
        event.specifications.stage.add(name=name)
    event = w.packet(10).gpu_render_stage_event
    event.event_id, event.duration, event.hw_queue_id, event.stage_id, event.context = 1, 7, 1, 1, 9
    result = imported(tmp_path, w)
    assert result.slices() == [("Fragment", 10, 17, "stream 3", 0)]
    assert [p["pid"] for p in result.trace.processes.values()] == [100]


def test_gpu_counters_and_memory(tmp_path):
    w = Writer()
    w.start().interned_data.gpu_counter_descriptors.add(iid=1, gpu_id=2).counter_descriptor.specs.add(counter_id=1, name="SM busy")
    event = w.packet(10).gpu_counter_event
    event.gpu_id = 1
    event.counter_descriptor.specs.add(counter_id=1, name="clock")
    event.counters.add(counter_id=1, int_value=1500)
    w.packet(20).gpu_counter_event.counters.add(counter_id=1, double_value=0.5)
    event = w.packet(30).gpu_counter_event
    event.counter_descriptor_iid = 1
    event.counters.add(counter_id=1, double_value=99.5)
    memory = w.packet(40).gpu_mem_total_event
    memory.gpu_id, memory.pid, memory.size = 0, 100, 1 << 40
    memory = w.packet(50).gpu_mem_total_event
    memory.gpu_id, memory.size = 1, 5
    result = imported(tmp_path, w)
    assert sorted(result.counters(), key=lambda row: row[2]) == [
        (("Global tracks", "GPU 1 counters"), "clock", 10, 1500.0), (("Global tracks", "GPU 0 counters"), "clock", 20, 0.5),
        (("Global tracks", "GPU 2 counters"), "SM busy", 30, 99.5), (("", ""), "GPU memory", 40, float(1 << 40)),
        (("Global tracks", "GPU 1 counters"), "GPU 1 memory", 50, 5.0)]


def test_scheduling(tmp_path):
    w = Writer()
    bundle = w.packet().ftrace_events
    bundle.cpu = 3
    for time, comm, pid in ((100, "python", 101), (150, "swapper/3", 0), (180, "worker", 102), (200, "python", 101)):
        event = bundle.event.add(timestamp=time, pid=0)
        event.sched_switch.next_comm, event.sched_switch.next_pid = comm, pid
    bundle = w.packet().ftrace_events
    bundle.cpu = 0
    compact = bundle.compact_sched
    compact.intern_table.extend(["python", "swapper/0", "kworker"])
    compact.switch_timestamp.extend([1000, 50, 25])
    compact.switch_prev_state.extend([0, 0, 0])
    compact.switch_next_pid.extend([101, 0, 7])
    compact.switch_next_prio.extend([120, 120, 120])
    compact.switch_next_comm_index.extend([0, 1, 2])
    lost = w.packet().ftrace_events
    lost.cpu, lost.lost_events = 0, True
    event = lost.event.add(timestamp=2000, pid=0)
    event.sched_switch.next_comm, event.sched_switch.next_pid = "python", 101
    result = imported(tmp_path, w)
    assert result.slices() == [
        ("python", 100, 150, "CPU 3", 0), ("python", 200, None, "CPU 3", 0), ("python", 1000, 1050, "CPU 0", 0),
        ("python", 2000, None, "CPU 0", 0), ("worker", 180, 200, "CPU 3", 0)]
    assert {result.track(e.track)[0] for e in result.trace.events} == {"CPU scheduling"}
    assert [(e.integer, e.cpu) for e in result.trace.events if e.time == 180] == [(102, 3)]


def test_process_tree(tmp_path):
    w = Writer()
    tree = w.packet().process_tree
    tree.processes.add(pid=100, cmdline=["/usr/bin/python", "serve.py", "--port=1"])
    tree.processes.add(pid=200, cmdline=["idle"])
    tree.threads.add(tid=101, tgid=100, name="worker")
    w.thread(10, 100, 101)
    w.slice(0, 1, "a")
    result = imported(tmp_path, w)
    process, = result.trace.processes.values()  # and not the one that did nothing
    assert result.text(process["name"]) == "/usr/bin/python"
    assert result.text(process["command_line"]) == "/usr/bin/python serve.py --port=1"
    assert result.slices() == [("a", 0, 1, "worker", 0)]


def test_hostile_names(tmp_path):
    names = ["", "\x1b[31m", "a\nb", "\u202eabc", "\0nul\0", "x" * 100_000, "名前", "'; drop table"]
    w = Writer()
    w.thread(10, 100, 101, "\x1b]0;title\x07")
    for i, name in enumerate(names):
        w.slice(10 * i, 10 * i + 5, name)
    data = w.bytes() + pb.Trace(packet=[pb.TracePacket(timestamp=900, trusted_packet_sequence_id=1, track_event=pb.TrackEvent(
        type=INSTANT, track_uuid=10, name="PLACEHOLDER"))]).SerializeToString().replace(b"PLACEHOLDER", b"\xff\xfe\x80bad utf8"[:11])
    result = imported(tmp_path, data)
    begun = [result.text(e.name) for e in result.trace.events if e.phase == 0]
    assert begun[:5] == names[:5] and begun[6:] == names[6:]
    assert begun[5] and set(begun[5]) <= set("x.…")
    run = subprocess.run([INFERSCOPE, "dump", tmp_path / "trace.sbt"], capture_output=True, check=True, timeout=PATIENCE)
    assert b"\x1b" not in run.stdout
    assert len(json.loads(run.stdout)) == 2 * len(names) + 1


def offsets(trace):
    """Where the packets begin."""
    at, places = 0, []
    for packet in trace.packet:
        places.append(at)
        at += len(pb.Trace(packet=[packet]).SerializeToString())
    return places + [at]


def test_truncated(tmp_path):
    """Cut anywhere, every whole packet is read."""
    w = simple()
    data, places = w.bytes(), offsets(w.trace)
    assert places[-1] == len(data)
    for cut in [*places[4:], *range(places[4], len(data), 7)]:
        result = imported(tmp_path, data[:cut])
        whole = sum(place <= cut for place in places[4:])
        assert len(result.trace.events) == whole, cut
        assert bool(result.source.get("truncated")) == (cut not in places), cut


def test_garbage_between_packets(tmp_path):
    w = simple()
    data, places = w.bytes(), offsets(w.trace)
    for garbage in (b"\0" * 100, b"\x0a\xff\xff\xff\xff\x7f", b"\x0a\xff\xff\x03", b"\x0a\x05\x07\x07\x07\x07\x07", b"text\n" * 50,
                    b"\xff" * 33):
        result = imported(tmp_path, data[:places[5]] + garbage + data[places[5]:])
        assert result.slices() == SIMPLE, garbage


def test_garbage_inside_a_packet(tmp_path):
    """A packet whose length is right and whose content is not costs that packet alone."""
    w = simple()
    places = offsets(w.trace)
    data = bytearray(w.bytes())
    data[places[4] + 2:places[5]] = b"\xff" * (places[5] - places[4] - 2)
    result = imported(tmp_path, bytes(data))
    assert len(result.trace.events) == len(w.trace.packet) - 3 - 1
    assert result.source["skipped"] == 1


def test_wrong_length(tmp_path):
    w = simple()
    places = offsets(w.trace)
    for length in (1, 3, 60, 127):
        data = bytearray(w.bytes())
        data[places[4] + 1] = length
        result = imported(tmp_path, bytes(data))
        assert len(result.trace.events) >= len(w.trace.packet) - 3 - 2, length


def test_packets_larger_than_a_window(tmp_path):
    """Packets over the border of windows are carried over; one that is larger than all that is carried is passed over."""
    w = Writer()
    w.thread(10, 100, 101, "main")
    event = w.event(10, INSTANT, 10, "large")
    annotate(event, "x", "y" * (5 << 20))
    for i in range(30000):
        w.event(20 + i, INSTANT, 10, "after " + "z" * 100)
    event = w.event(90000, INSTANT, 10, "too large")
    annotate(event, "x", "y" * (20 << 20))
    w.event(90001, INSTANT, 10, "last")
    result = imported(tmp_path, w)
    names = [result.text(e.name) for e in result.trace.events]
    assert names[0] == "large" and names[-1] == "last" and "too large" not in names
    assert len(names) == 30002
    assert result.source["skipped"] == 1 and not result.source.get("truncated")


def test_unknown_packets(tmp_path):
    w = simple()
    w.packet(5).android_log.events.add(tag="x")
    w.packet(6).trace_config.duration_ms = 5
    w.trace.packet.add().MergeFromString(b"\xfa\x3e\x02ab")  # field 1007
    result = imported(tmp_path, w)
    assert result.slices() == SIMPLE
    assert result.source["skipped"] == 0


@pytest.mark.parametrize("data", [
    b"\n\n\n", b"\n{\"traceEvents\": []}", b"\n" + b"a" * 300, b"SQLite format 3\0" + bytes(100), b"\x0a", b"\x0a\x00",
    b"\x0a\x05hello", b"\x0a\x03\x08\x01\x01", b"\n# a file of text\n" * 20])
def test_what_is_no_trace(tmp_path, data):
    run, path = run_import(tmp_path, data)
    assert "perfetto" not in run.stdout.lower() or run.returncode != 0
    assert not path.exists() or sbt.read(path).info["sources"][0]["format"] != "perfetto"


def test_single_packet_forms(tmp_path):
    """First packets of real traces: a clock snapshot, a uuid, a description, a configuration."""
    for fill_in in (lambda p: p.clock_snapshot.clocks.add(clock_id=6, timestamp=1), lambda p: setattr(p.trace_uuid, "msb", 5),
                    lambda p: setattr(p.track_descriptor, "uuid", 5), lambda p: setattr(p.trace_config, "duration_ms", 5),
                    lambda p: setattr(p, "synchronization_marker", bytes(range(16)))):
        w = Writer()
        fill_in(w.trace.packet.add())
        w.event(10, INSTANT, 10, "e")
        assert len(imported(tmp_path, w).trace.events) == 1


def test_many_sequences_in_time_order(tmp_path):
    """More events than wait at a time."""
    w, count = bytearray(), 150_000
    head = Writer()
    for seq in range(4):
        head.thread(10 + seq, 100, 10 + seq, f"t{seq}")
    w += head.bytes()
    for seq in range(4):
        for i in range(count):
            body = pb.TracePacket(timestamp=4 * (i // 2) + seq, trusted_packet_sequence_id=seq + 1)
            body.track_event.type, body.track_event.track_uuid = (BEGIN, END)[i % 2], 10 + seq
            if i % 2 == 0:
                body.track_event.name = "s"
            raw = body.SerializeToString()
            w += b"\x0a" + struct.pack("B", len(raw)) + raw
    result = imported(tmp_path, bytes(w))
    assert len(result.trace.events) == 4 * count
    assert sum(1 for s in result.trace.slices() if s.end == s.begin and s.depth == 0) == 2 * count
