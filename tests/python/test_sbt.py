"""The Python reader against files made by hand: the small encoder below follows docs/sbt-format.md too."""

import json
import struct
import subprocess
import sys
import zlib
from pathlib import Path
from random import Random

import msgpack
import pytest
import zstandard

import sbt
from sbt_payload import FIELDS

SCOPE, INSTANT, COUNTER, KERNEL, LOST = 2, 3, 4, 11, 19
BEGIN, END, COMPLETE, POINT = 0, 1, 2, 3
BYTES, PACKED, SIGNED, DELTA, RUNS, DEPTH, DOUBLE, BLOBS = range(8)


# ---- the encoder ----

def uv(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out + bytes([n]))


def zigzag(n):
    return (n << 1 ^ n >> 63) & (1 << 64) - 1


def sv(n):
    return uv(zigzag(n))


def packed(values):
    sizes = [next(code for code in range(4) if v < 1 << (8 << code)) for v in values]
    groups = [sizes[i:i + 4] for i in range(0, len(sizes), 4)]
    controls = bytes(sum(code << 2 * i for i, code in enumerate(group)) for group in groups)
    return controls + b"".join(v.to_bytes(1 << code, "little") for v, code in zip(values, sizes))


def signed(values):
    return packed([zigzag(v) for v in values])


def delta(values, base=0):
    return signed([b - a for a, b in zip([base] + values, values)])


def pairs(*numbers):
    return b"".join(map(uv, numbers))


def entry(kind, *parts):
    """A dictionary entry: numbers become varints, bytes stay."""
    body = b"".join(part if isinstance(part, bytes) else uv(part) for part in parts)
    return bytes([kind]) + uv(len(body)) + body


def column(field, encoding, data):
    return bytes([FIELDS.index(field) if isinstance(field, str) else field, encoding]) + uv(len(data)) + data


def shape(kind, phase, fields="", mask=0):
    for field in ["time", *fields.split()]:
        mask |= 1 << FIELDS.index(field)
    return bytes([kind, phase]) + uv(mask)


def segment(track, count, base=0, source=0):
    return uv(track) + uv(count) + uv(source) + sv(base)


def opened(track, *slices):
    return uv(track) + uv(len(slices)) + b"".join(bytes([kind]) + uv(name) + sv(begin) for kind, name, begin in slices)


def listed(items):
    return uv(len(items)) + b"".join(items)


class File:
    """Builds a file block by block; `finish` adds the closing dictionary, the index and the trailer."""

    def __init__(self, major=1, minor=0, size=64):
        head = struct.pack("<8sHHI16sQ20x", b"\x89SBT\r\n\x1a\n", major, minor, size, bytes(range(16)), 1234)
        self.data = bytearray(head + struct.pack("<I", zlib.crc32(head))).ljust(size, b"\0")
        self.records, self.entries, self.sequence = [], [], 0

    def block(self, kind, payload, count=0, first=0, last=0, lost=0, flags=0, codec=0, domain=0, raw=None, padding=b"\0"):
        raw = len(payload) if raw is None else raw
        stored = zstandard.compress(payload, 1) if codec == 1 else payload
        head = struct.pack("<4sBBHIIQqqIIQI", b"SBTB", kind, codec, flags, len(stored), raw, self.sequence, first, last,
                           count, domain, lost, zlib.crc32(stored))
        at = len(self.data)
        self.data += head + struct.pack("<I", zlib.crc32(head)) + stored
        self.data += padding * (-len(self.data) % 8)
        self.records.append(struct.pack("<QqqQIIIBBH", at, first, last, lost, count, len(stored), domain, kind, 0, flags))
        self.sequence += 1
        return at

    def dictionary(self, *entries, full=False):
        self.entries += entries
        return self.block(2, b"".join(entries), len(entries), flags=int(full))

    def events(self, shapes, segments, columns, count=0, open=(), **header):
        payload = listed(shapes) + listed(segments) + listed(open) + b"".join(columns)
        return self.block(1, payload, count, **header)

    def clock(self, *pairs, domain=0):
        return self.block(3, b"".join(struct.pack("<qQQQQ", *pair) for pair in pairs), len(pairs), domain=domain)

    def info(self, **keys):
        return self.block(4, msgpack.packb(keys), 1)

    def finish(self):
        self.block(2, b"".join(self.entries), len(self.entries), flags=1)
        index = self.block(5, b"".join(self.records), len(self.records))
        tail = struct.pack("<8sQQI", b"SBTINDEX", index, len(self.data) + 32, 0)
        self.data += tail + struct.pack("<I", zlib.crc32(tail))
        return bytes(self.data)


def started(**how):
    """A file with one host, one clock, one process and the threads 0 to 2, and with strings 1 to 4."""
    file = File(**how)
    file.dictionary(
        *(entry(1, n, text) for n, text in enumerate([b"host", b"main", b"load", b"step"], 1)),
        entry(2, 0, 1, 0, 0), entry(6, 0, b"\1", 0, 1000000000, 0),
        entry(3, 0, 0, 4711, 0, sv(90), sv(0), 0, 2, 0),
        *(entry(4, n, b"\1", 1, 4711 + n, 0, 0, 0, 0, 2) for n in range(3)), full=True)
    file.clock((100, 10, 1000, 2000, 3000))
    return file


def scopes(file, times=(100, 200), track=0, name=2):
    """A block with one scope."""
    return file.events([shape(SCOPE, BEGIN, "name depth"), shape(SCOPE, END, "depth")], [segment(track, 2)],
                       [column("shape", BYTES, b"\0\1"), column("time", DELTA, delta(list(times), times[0])),
                        column("name", PACKED, packed([name])), column("depth", DEPTH, b"")],
                       2, first=times[0], last=times[1])


def instants(file, times, encoding, data, fields="", columns=(), segments=None, open=(), **header):
    """A block of instants; the columns of further fields are given."""
    header = {"first": min(times), "last": max(times), **header}
    return file.events([shape(INSTANT, POINT, fields)], segments or [segment(0, len(times))],
                       [column("time", encoding, data), *columns], len(times), open, **header)


def only(trace, text):
    """The trace has this one violation; returns its offset."""
    assert [v for v in trace.violations if text not in v[1]] == [] and len(trace.violations) == 1, trace.violations
    return trace.violations[0][0]


# ---- whole files ----

def test_whole_file():
    file = started()
    at = scopes(file)
    file.info(producer="hand", command=["a", "b"], start_ticks=90, complete=True)
    trace = sbt.read(file.finish())
    assert trace.violations == [] and trace.damage == [] and trace.skipped == []
    assert trace.header["id"] == bytes(range(16)).hex() and trace.header["created"] == 1234
    assert [block.kind for block in trace.blocks] == [2, 3, 1, 4, 2, 5] and trace.blocks[2].offset == at
    assert trace.strings == {1: "host", 2: "main", 3: "load", 4: "step"}
    assert trace.info == {"producer": "hand", "command": ["a", "b"], "start_ticks": 90, "complete": True}
    assert [(e.kind, e.phase, e.track, e.time, e.name, e.depth, e.count) for e in trace.events] == [
        (SCOPE, BEGIN, 0, 100, 2, 0, None), (SCOPE, END, 0, 200, None, 0, None)]
    assert list(trace.slices()) == [sbt.Slice(0, SCOPE, 2, 100, 200, 0)]
    assert trace.trailer["index"] == trace.blocks[-1].offset


def test_zstd_is_the_same_as_none():
    texts = []
    for codec in (0, 1):
        file = started()
        instants(file, [5, 9], PACKED, packed([5, 9]), codec=codec)
        trace = sbt.read(file.finish())
        assert trace.violations == []
        texts.append(list(trace.lines()))
    assert texts[0] == texts[1] == ['{"kind":"instant","phase":"instant","time":5,"track":0}',
                                    '{"kind":"instant","phase":"instant","time":9,"track":0}']


def test_longer_header_of_a_later_version():
    file = started(minor=4, size=128)
    instants(file, [5], BYTES, b"\5")
    trace = sbt.read(file.finish())
    assert trace.violations == [] and len(trace.events) == 1 and trace.header["minor"] == 4


@pytest.mark.parametrize("data", [b"", b"x" * 10, b"x" * 1000, File(major=2).finish(), b"PK\3\4" * 50])
def test_wrong_files(data):
    with pytest.raises(sbt.NotSbt):
        sbt.read(data)


# ---- encodings ----

TIMES = [3, -70000, 1 << 40, 200, 201, -(1 << 62), 7]


@pytest.mark.parametrize("encoding, data, times", [
    (BYTES, bytes([1, 255, 3]), [1, 255, 3]),
    (PACKED, packed([7, 300, 70000, 1 << 40, 9]), [7, 300, 70000, 1 << 40, 9]),
    (PACKED, packed([1, (1 << 64) - 5]), [1, -5]),
    (SIGNED, signed(TIMES), TIMES),
    (DELTA, delta(TIMES, min(TIMES)), TIMES),
    (RUNS, pairs(5, 3, 6, 1), [5, 5, 5, 6]),
])
def test_integers(encoding, data, times):
    file = started()
    instants(file, times, encoding, data)
    trace = sbt.read(file.finish())
    assert [e.time for e in trace.events] == times
    assert trace.violations == []


def test_delta_starts_again_in_each_segment():
    times, ids = [100, 150, 90, 95, 80], [1000, 1, 7, 3, (1 << 64) - 1]
    file = started()
    data = signed([100 - 85, 50, 90 - 82, 5, 80 - 80])
    columns = [column("id", DELTA, signed([1000, -999, 7, -4, -1]))]
    segments = [segment(2, 2, base=5), segment(0, 2, base=2), segment(1, 1)]
    instants(file, times, DELTA, data, "id", columns, segments, first=80, last=150)
    trace = sbt.read(file.finish())
    assert [(e.track, e.time, e.id) for e in trace.events] == list(zip([2, 2, 0, 0, 1], times, ids))


def test_delta_of_a_field_that_some_events_lack():
    file = started()
    file.events([shape(INSTANT, POINT), shape(INSTANT, POINT, "link")], [segment(0, 3), segment(1, 2)],
                [column("shape", RUNS, pairs(0, 1, 1, 3, 0, 1)), column("time", BYTES, bytes(range(5))),
                 column("link", DELTA, signed([10, 1, 20]))], 5, last=4)
    trace = sbt.read(file.finish())
    assert [e.link for e in trace.events] == [None, 10, 11, 20, None]
    assert trace.violations == []


def test_doubles_blobs_and_additions_that_wrap():
    file = started()
    maps = [msgpack.packb({"k": [1, None, "é"]}), msgpack.packb({})]
    values = struct.pack("<2d", 1.5, -0.0)
    columns = [column("metadata", BLOBS, uv(len(maps[0])) + uv(len(maps[1])) + maps[0] + maps[1]),
               column("value", DOUBLE, values), column("integer", DELTA, signed([(1 << 63) - 1, 1]))]
    instants(file, [1, 2], BYTES, b"\1\2", "metadata value integer", columns)
    trace = sbt.read(file.finish())
    assert trace.violations == []
    assert [e.metadata for e in trace.events] == [{"k": [1, None, "é"]}, {}]
    assert [e.value for e in trace.events] == [1.5, 0.0]
    assert [e.integer for e in trace.events] == [(1 << 63) - 1, -(1 << 63)]


def test_every_field():
    numbers = {field: 1000 + i for i, field in enumerate(FIELDS) if field not in ("shape", "time", "value", "metadata")}
    numbers.update(name=3, stack=0, depth=0, duration=40, count=6, reason=1)
    file = started()
    file.dictionary(entry(7, 0, 2, 3, 12, 0, 4096), entry(8, 0, 1, 0))
    columns = [column("time", BYTES, b"\5"), column("value", DOUBLE, struct.pack("<d", 2.5)),
               column("metadata", BLOBS, b"\1\x80")]
    columns += [column(f, SIGNED if f == "integer" else PACKED, (signed if f == "integer" else packed)([n]))
                for f, n in numbers.items()]
    file.events([shape(KERNEL, COMPLETE, " ".join(FIELDS[2:]))], [segment(1, 1)], columns, 1, first=5, last=45)
    trace = sbt.read(file.finish())
    assert trace.violations == []
    event = trace.events[0]
    assert {f: getattr(event, f) for f in FIELDS[1:]} == {**numbers, "time": 5, "value": 2.5, "metadata": {}}
    assert list(trace.slices()) == [sbt.Slice(1, KERNEL, 3, 5, 45, 0)]


@pytest.mark.parametrize("field, encoding, data", [
    ("time", BYTES, b"\1"), ("time", BYTES, b""), ("time", PACKED, b"\0\1"), ("time", PACKED, b"\x10\1\2"),
    ("time", RUNS, pairs(1, 3)), ("time", RUNS, pairs(1, 0)), ("time", RUNS, pairs(1, 1)),
    ("time", PACKED, b"\xff"), ("shape", BYTES, b"\0\1"), ("time", RUNS, b"\x80" * 10 + b"\2\2"),
    ("time", RUNS, b"\xff" * 9 + b"\2\2"), ("time", 99, b""), ("depth", DEPTH, pairs(0, 65535)), ("time", DELTA, b""),
    ("depth", DEPTH, pairs(2, 1)), ("depth", DEPTH, b"\0"), ("depth", PACKED, packed([0, 1 << 40])),
    ("metadata", BLOBS, b"\1\1\x80"), ("value", DOUBLE, b"12345678"),
])
def test_columns_that_do_not_decode_make_the_block_unreadable(field, encoding, data):
    file = started()
    fine = {} if field == "time" else {"time": column("time", BYTES, b"\1\2")}
    at = file.events([shape(INSTANT, POINT, field)], [segment(0, 2)], [column(field, encoding, data), *fine.values()], 2)
    instants(file, [5], BYTES, b"\5")
    trace = sbt.read(file.finish())
    assert [e.time for e in trace.events] == [5]
    assert [offset for offset, _, _ in trace.damage] == [at] and trace.violations[0][0] == at


def test_counts_cannot_make_the_reader_use_unbounded_memory():
    file = started()
    columns = [column("time", RUNS, pairs(1, 1 << 40))]
    at = file.events([shape(INSTANT, POINT)], [segment(0, 1 << 40)], columns)
    bomb = file.block(1, bytes(1 << 20), codec=1, raw=100)
    huge = file.block(1, b"", raw=1 << 31)
    assert [offset for offset, _, _ in sbt.read(file.finish()).damage] == [at, bomb, huge]


# ---- depth and open slices ----

def nested(file, phases, columns, open=(), time=10, name=3, **header):
    """A block of begins (b), ends (e) and instants (i) on track 0, a tick apart."""
    shapes = [shape(SCOPE, BEGIN, "name depth"), shape(SCOPE, END, "depth"), shape(INSTANT, POINT, "depth")]
    n, begins = len(phases), phases.count("b")
    return file.events(shapes, [segment(0, n)] if n else [], [
        column("shape", BYTES, bytes("bei".index(p) for p in phases)),
        column("time", PACKED, packed(list(range(time, time + n)))),
        column("name", RUNS, pairs(name, begins) if begins else b""), *columns],
        n, open, first=time, last=time + max(n - 1, 0), **header)


def test_depth_is_predicted():
    file = started()
    nested(file, "ibbieibei", [column("depth", DEPTH, b"")])
    nested(file, "e", [column("depth", DEPTH, b"")], [opened(0, (SCOPE, 3, 11 - 30))], time=30)
    trace = sbt.read(file.finish())
    assert trace.violations == []
    assert [e.depth for e in trace.events] == [0, 0, 1, 2, 1, 1, 1, 1, 1, 0]
    assert trace.open[3] == {0: [(SCOPE, 3, 11)]}
    assert sorted((s.begin, s.end, s.depth) for s in trace.slices()) == [(11, 30, 0), (12, 14, 1), (16, 17, 1)]


def test_depth_exceptions_repair_the_stack():
    file = started()
    nested(file, "bbeie", [column("depth", DEPTH, pairs(1, 2, 0, 65535, 0, 1))])
    nested(file, "", [column("depth", DEPTH, b"")], time=40)
    trace = sbt.read(file.finish())
    assert [e.depth for e in trace.events] == [0, 2, 65535, 1, 0]
    assert trace.violations == []
    slices = [(s.name, s.begin, s.end, s.depth) for s in trace.slices()]
    assert slices == [(0, 11, None, 1), (3, 11, None, 2), (3, 10, 14, 0)]
    file = started()
    nested(file, "bbbe", [column("depth", DEPTH, pairs(3, 0))])
    slices = [(s.begin, s.end, s.depth) for s in sbt.read(file.finish()).slices()]
    assert slices == [(11, None, 1), (12, None, 2), (10, 13, 0)]


def test_open_slices_must_be_those_left_open():
    file = started()
    nested(file, "b", [column("depth", DEPTH, b"")])
    at = nested(file, "e", [column("depth", DEPTH, b"")], [opened(0, (SCOPE, 4, -10))], time=20)
    assert only(sbt.read(file.finish()), "open on track 0") == at


def test_tracks_keep_to_one_clock_domain():
    file = started()
    file.dictionary(entry(6, 1, b"\3", 0, 0, 0))
    nested(file, "b", [column("depth", DEPTH, b"")])
    instants(file, [5], BYTES, b"\5", segments=[segment(1, 1)], domain=1)
    nested(file, "e", [column("depth", DEPTH, b"")], [opened(0, (SCOPE, 3, -10))], time=20)
    assert sbt.read(file.finish()).violations == []
    at = instants(file, [5], BYTES, b"\5", segments=[segment(0, 1)], domain=1)
    assert (at, "track 0 is in clock domains 0 and 1") in sbt.read(file.data).violations


def test_slices_that_never_end():
    file = started()
    nested(file, "bb", [column("depth", DEPTH, b"")])
    nested(file, "", [column("depth", DEPTH, b"")], [opened(0, (SCOPE, 3, -30), (SCOPE, 3, -29))], time=40)
    trace = sbt.read(file.finish())
    assert trace.violations == []
    assert [(s.begin, s.end, s.depth) for s in trace.slices()] == [(10, None, 0), (11, None, 1)]


def test_an_end_whose_begin_was_lost():
    file = started()
    nested(file, "e", [column("depth", DEPTH, pairs(0, 2))])
    trace = sbt.read(file.finish())
    assert [(s.kind, s.name, s.begin, s.end, s.depth) for s in trace.slices()] == [
        (SCOPE, 0, 10, 10, 2), (0, 0, 10, None, 0), (0, 0, 10, None, 1)]


def encoded(random, values, by_segment):
    """A column of unsigned numbers in an encoding that can hold them, chosen at random."""
    wrapped = [b - a - (1 << 64) * (b - a >= 1 << 63) + (1 << 64) * (b - a < -(1 << 63))
               for part in by_segment for a, b in zip([0] + part, part)]
    choices = [(PACKED, packed(values)), (DELTA, signed(wrapped)), (RUNS, b"".join(pairs(v, 1) for v in values))]
    choices += [(BYTES, bytes(values))] if max(values, default=0) < 256 else []
    return random.choice(choices)


def random_block(random, file, stacks, time):
    """Random events on three tracks, some of them lost on the way; returns what a reader is to find."""
    shapes = [(SCOPE, BEGIN, ["name", "depth", "cpu"]), (SCOPE, END, ["depth"]), (INSTANT, POINT, ["depth", "id", "cpu"]),
              (COUNTER, POINT, ["id"]), (KERNEL, COMPLETE, ["duration", "name", "depth"])]
    opened_before = [opened(t, *((k, n, b - time) for k, n, b in stack)) for t, stack in stacks.items() if stack]
    found, depths, segments, gap, end = [], [], [], 0, time
    for track in random.sample(range(3), 3):
        stack, count = stacks[track], random.randrange(1, 20)
        segments.append(segment(track, count))
        for i in range(count):
            kind, phase, fields = random.choice(shapes)
            at = time + random.randrange(1000) if found else time
            row = {"id": random.getrandbits(64), "cpu": random.randrange(300), "name": random.randrange(1, 5),
                   "duration": random.randrange(99)}
            expected = max(len(stack) - 1, 0) if phase == END else len(stack)
            row["depth"] = random.choice([expected] * 9 + [random.randrange(6)])
            row = {field: row[field] for field in fields}
            found.append({"kind": kind, "phase": phase, "track": track, "time": at, **row})
            end = max(end, at + row.get("duration", 0))
            if "depth" in row:
                depths += [gap, row["depth"]] if row["depth"] != expected else []
                gap = 0 if row["depth"] != expected else gap + 1
                size = row["depth"] + (phase == END)
                if phase != COMPLETE:
                    stack[size:] = [(0, 0, at)] * (size - len(stack))
                    stack[len(stack) - (phase == END):] = [(kind, row["name"], at)] if phase == BEGIN else []
    order = {shape[:2]: i for i, shape in enumerate(shapes)}
    columns = [column("shape", BYTES, bytes(order[e["kind"], e["phase"]] for e in found)), column("depth", DEPTH, pairs(*depths)),
               column("time", SIGNED, signed([e["time"] for e in found]))]
    for field in ("id", "cpu", "name", "duration"):
        parts = [[e[field] for e in found if e["track"] == track and field in e] for track in dict.fromkeys(e["track"] for e in found)]
        columns.append(column(field, *encoded(random, sum(parts, []), parts)))
    random.shuffle(columns)
    file.events([shape(kind, phase, " ".join(fields)) for kind, phase, fields in shapes], segments, columns, len(found),
                opened_before, first=time, last=end, codec=random.randrange(2))
    return found


@pytest.mark.parametrize("seed", range(20))
def test_random_files(seed):
    random, file, stacks, found = Random(seed), started(), {0: [], 1: [], 2: []}, []
    for i in range(8):
        found += random_block(random, file, stacks, 5000 * i - 10000)
    trace = sbt.read(file.finish())
    assert trace.violations == [] and trace.damage == []
    assert [{f: v for f, v in e._asdict().items() if f != "block"} for e in trace.events] == found
    begins = sum(e["phase"] in (BEGIN, COMPLETE) for e in found)
    assert sum(s.name != 0 for s in trace.slices()) == begins


# ---- dictionaries, clocks, info ----

def test_every_type_of_entry():
    file = started()
    properties = msgpack.packb({"sm": 108})
    file.dictionary(
        entry(5, 0, 0, 3, b"\1", 4, len(properties), properties),
        entry(3, 9, 0, 4712, 1, sv(-5), sv(77), 5, 3, 4),
        entry(4, 9, b"\2", 10, 7, 2, 1, 1, 3, 4), entry(6, 1, b"\6", 0, 0, 4),
        entry(7, 5, 2, 3, 12, 4, 1 << 40), entry(7, 6, 2, 0, 0, 0, 0), entry(8, 1, 2, 6, 5), entry(1, 9, "é\xff".encode()))
    trace = sbt.read(file.finish())
    assert trace.violations == []
    assert trace.hosts == {0: {"hostname": 1, "system": 0, "machine": 0}}
    assert trace.devices == {0: {"host": 0, "index": 3, "kind": 1, "name": 4, "properties": {"sm": 108}}}
    assert trace.processes[9] == {"host": 0, "pid": 4712, "parent": 0, "start": -5, "end": 77, "flags": 5, "name": 3,
                                  "command_line": 4, "rank": -1}
    assert trace.tracks[9] == {"kind": 2, "process": 9, "id": 7, "serial": 2, "device": 0, "parent": 0, "flags": 3, "name": 4}
    assert trace.tracks[0]["device"] is None and trace.tracks[0]["parent"] is None
    assert trace.clocks[1] == {"kind": 6, "host": 0, "rate": 0, "name": 4}
    assert trace.frames[5] == {"function": 2, "file": 3, "line": 12, "module": 4, "address": 1 << 40}
    assert trace.stacks == {1: [6, 5]} and trace.strings[9] == "éÿ"


def test_entries_replace_earlier_ones_but_keep_their_meaning():
    file = started()
    file.dictionary(entry(4, 1, b"\1", 1, 4712, 0, 0, 0, 1, 4))
    assert sbt.read(file.finish()).violations == []
    at = file.dictionary(entry(1, 2, b"other"), entry(4, 1, b"\1", 1, 99, 0, 0, 0, 0, 4))
    trace = sbt.read(file.data)
    assert trace.tracks[1]["id"] == 99 and trace.strings[2] == "other"
    assert [v for v in trace.violations if "second meaning" in v[1]] == [
        (at, "strings 2 is given a second meaning"), (at, "tracks 1 is given a second meaning")]


def test_numbers_are_defined_before_they_are_used():
    file = started()
    at = scopes(file, track=7, name=8)
    file.dictionary(entry(1, 8, b"late"), entry(4, 7, b"\1", 1, 99, 0, 0, 0, 0, 33))
    trace = sbt.read(file.finish())
    assert trace.violations[:2] == [(at, "undefined strings: [8]"), (at, "undefined tracks: [7]")]
    assert "undefined strings: [33]" in trace.violations[2][1]


def test_full_dictionaries_are_full():
    file = started()
    at = file.dictionary(entry(1, 4, b"step"), full=True)
    violations = sbt.read(file.data).violations
    assert (at, "a full dictionary lacks strings [1, 2, 3]") in violations and len(violations) == 5
    file = File()
    at = file.dictionary(entry(1, 4, b"step"))
    assert only(sbt.read(file.data), "the first dictionary is not full") == at


def test_unknown_things_are_skipped():
    file = started(minor=4)
    file.block(77, b"whatever", count=3, first=9)
    file.block(2, b"?", codec=9)
    file.dictionary(entry(99, b"new"), entry(1, 5, b"five"), entry(2, 3, 1, 0, 0, b"more bytes"))
    file.events([shape(INSTANT, POINT, "name id", 1 << 40), shape(200, 33, "cpu")], [segment(0, 2)], [
        column("shape", BYTES, b"\0\1"), column(40, 1, b"??"), column(250, 250, b""), column("id", 99, b"?"),
        column("time", BYTES, b"\1\2"), column("name", BYTES, b"\5"), column("cpu", BYTES, b"\3")], 2, first=1, last=2)
    trace = sbt.read(file.finish())
    assert trace.violations == [] and trace.damage == []
    assert [(e.kind, e.phase, e.time, e.name, e.cpu, e.id) for e in trace.events] == [
        (INSTANT, POINT, 1, 5, None, None), (200, 33, 2, None, 3, None)]
    assert trace.hosts[3]["hostname"] == 1
    assert [what for _, what in trace.skipped[:3]] == ["block of kind 77, codec 0", "block of kind 2, codec 9",
                                                      "dictionary entry of type 99"]


def test_clock():
    file = started()
    file.clock((1100, 10, 1500, 0, 0), (600, 500, 9999, 0, 0), (2100, 10, 2000, 0, 0))
    file.dictionary(entry(6, 1, b"\3", 0, 0, 0))
    trace = sbt.read(file.finish())
    assert trace.violations == []
    assert trace.pairs[0][0] == sbt.Pair(100, 10, 1000, 2000, 3000)
    assert [trace.ns(t) for t in (100, 2100, 1102)] == [1000, 2000, 1501] and trace.ns(77, 1) == 77
    assert sbt.read(started().data).ns(350) == 1250  # one pair: the nominal rate


def test_info():
    file = started()
    file.info(producer="x", lost=3)
    at = file.info(lost="many", unheard_of=1)
    trace = sbt.read(file.finish())
    assert trace.info == {"producer": "x", "lost": "many", "unheard_of": 1}
    assert only(trace, "info key lost") == at
    at = file.block(4, b"\x90")
    assert [offset for offset, _, _ in sbt.read(file.data).damage][-1] == at


# ---- broken rules ----

@pytest.mark.parametrize("header, text", [
    ({"first": 4}, "the header says 4 to 9"), ({"last": 8}, "the header says 5 to 8"), ({"lost": 2}, "the header says 2 lost"),
    ({"count": 3}, "the header says 3 entries"), ({"flags": 2}, "unknown flags"), ({"padding": b"\1"}, "padding is not 0"),
    ({"domain": 5}, "undefined clocks"),
])
def test_headers(header, text):
    file = started()
    fields = {"count": 2, "first": 5, "last": 9, **header}
    at = file.events([shape(INSTANT, POINT)], [segment(0, 2)], [column("time", BYTES, b"\5\x09")], **fields)
    trace = sbt.read(file.finish())
    assert [e.time for e in trace.events] == [5, 9]
    end = next(block.end for block in trace.blocks if block.offset == at)
    assert only(trace, text) == (end if "padding" in text else at)


def test_lost_events():
    columns = [column("time", BYTES, b"\5\5"), column("count", PACKED, packed([300, 40])),
               column("reason", BYTES, b"\1\5"), column("duration", BYTES, b"\x14\1")]
    for phase, last in ((COMPLETE, 25), (POINT, 5)):
        file = started()
        at = file.events([shape(LOST, phase, "count reason duration")], [segment(0, 2)], columns, 2, first=5, last=last,
                         lost=300)
        trace = sbt.read(file.finish())
        assert trace.lost == 300 and [e.count for e in trace.events] == [300, 40]
        assert [v[0] for v in trace.violations] == ([] if phase == COMPLETE else [at])


@pytest.mark.parametrize("columns, segments, text", [
    ([column("time", BYTES, b"\5\6\7")], 1, "bytes too many in the column"),
    ([column("time", BYTES, b"\5\6")], 2, "a track has two segments"),
    ([column("time", BYTES, b"\5\6"), column("depth", DEPTH, pairs(0, 0))], 1, "to be expected"),
    ([column("time", BYTES, b"\5\6"), column("cpu", DOUBLE, bytes(16))], 1, "does not suit"),
    ([column("time", BYTES, b"\5\6"), column("metadata", BLOBS, b"\1\1\x90\x80")], 1, "not a MessagePack map"),
])
def test_columns_that_break_rules(columns, segments, text):
    file = started()
    fields = " ".join(FIELDS[c[0]] for c in columns)
    at = file.events([shape(INSTANT, POINT, fields)], [segment(0, 2 // segments)] * segments, columns, 2, first=5, last=6)
    trace = sbt.read(file.finish())
    assert [e.time for e in trace.events] == [5, 6] and only(trace, text) == at


def test_shapes_need_a_column_for_each_field():
    file = started()
    at = instants(file, [5], BYTES, b"\5", "cpu")
    assert only(sbt.read(file.finish()), "no column for field 3") == at


def test_begins_need_a_depth():
    file = started()
    at = file.events([shape(SCOPE, BEGIN)], [segment(0, 1)], [column("time", BYTES, b"\5")], 1, first=5, last=5)
    assert only(sbt.read(file.finish()), "lacks its time or depth") == at


def test_sequence_numbers():
    for step, text in ((0, "sequence number 1 after 1"), (2, "though nothing is missing")):
        file = started()
        file.sequence += step - 1
        at = instants(file, [5], BYTES, b"\5")
        assert only(sbt.read(file.finish()), text) == at
    file.info(dropped_events=4)
    assert sbt.read(file.data[:at]).violations == []
    file = started()
    file.sequence += 5
    file.dictionary(entry(6, 1, b"\3", 0, 0, 0))
    for i in range(2):  # what was open in a clock domain is not known before its first block
        instants(file, [5], BYTES, b"\5", open=[opened(2 - i, (SCOPE, 3, -1))], segments=[segment(2 - i, 1)], domain=1 - i)
    nested(file, "e", [column("depth", DEPTH, pairs(0, 1))], [opened(1, (SCOPE, 3, 4 - 10))])
    file.info(dropped_events=4)
    assert sbt.read(file.finish()).violations == []


def test_index_and_trailer():
    file = started()
    file.records[1] = file.records[1][:47] + b"\1"
    assert only(sbt.read(file.finish()), "wrong ones: [1]") == file.data.rindex(b"SBTB")
    file = started()
    del file.records[1]
    assert only(sbt.read(file.finish()), "2 index records for 3 blocks") == file.data.rindex(b"SBTB")
    data = started().finish()
    tail = struct.pack("<8sQQI", b"SBTINDEX", 64, len(data), 7)
    trace = sbt.read(data[:-32] + tail + struct.pack("<I", zlib.crc32(tail)))
    assert [v[0] for v in trace.violations] == [len(data) - 32] * 2


def test_other_rules_of_a_file():
    assert only(sbt.read(started(size=72).finish()), "size of the file header") == 0
    file = started()
    at = file.block(4, msgpack.packb({"lost": 1}), 1, first=1, last=1)
    assert only(sbt.read(file.finish()), "times or lost in a block without events") == at
    at = file.dictionary(entry(1, 9, b"late"))
    assert [v[0] for v in sbt.read(file.data).violations if "the index is not the last block" in v[1]]
    file = File()
    file.dictionary(entry(1, 1, b"host"), entry(2, 0, 1, 0, 0), entry(6, 0, b"\1", 0, 7, 0),
                    entry(4, 0, b"\1", 0, 1, 0, 0, 0, 0, 0), full=True)
    instants(file, [5], BYTES, b"\5")
    data = file.finish()
    assert only(sbt.read(data), "no clock pairs for domain 0") == len(data)


def test_the_last_dictionary_is_full():
    file = started()
    file.dictionary(entry(1, 9, b"late"))
    file.entries = file.entries[-1:]
    data = bytearray(file.finish())
    at = data.rindex(b"SBTB", 0, data.rindex(b"SBTB"))
    data[at + 6] = 0
    data[at + 60:at + 64] = zlib.crc32(data[at:at + 60]).to_bytes(4, "little")
    assert (len(data) - 32, "the last dictionary of a finished file is not full") in sbt.read(data).violations


# ---- damage ----

def long_file():
    """Several blocks with known events, and the offset where each block ends."""
    file, ends = started(), []
    for i in range(6):
        instants(file, [i * 10, i * 10 + 3], DELTA, delta([i * 10, i * 10 + 3], i * 10), codec=i % 2)
        ends.append(len(file.data))
    return file.finish(), ends


def test_truncated_anywhere():
    data, _ = long_file()
    whole = sbt.read(data)
    for size in range(64, len(data)):
        trace = sbt.read(data[:size])
        assert trace.events == [e for e in whole.events if whole.blocks[e.block].end <= size]
        good = max([64] + [block.next for block in whole.blocks if block.end <= size])
        assert sum(count for _, count, _ in trace.damage) == max(0, size - good)
        assert trace.violations == [] and not trace.trailer
    with pytest.raises(sbt.NotSbt):
        sbt.read(data[:63])


def test_a_bit_flipped_anywhere():
    data, ends = long_file()
    whole = sbt.read(data)
    for at in range(0, len(data)):
        flipped = bytearray(data)
        flipped[at] ^= 1 << at % 8
        trace = sbt.read(flipped)
        hit = [b for b in whole.blocks if b.offset <= at < b.end]
        assert [e for e in whole.events if not hit or e.block != hit[0].number] == [
            e._replace(block=e.block + (bool(hit) and e.block >= hit[0].number)) for e in trace.events]
        if hit:
            assert trace.damage == [(hit[0].offset, hit[0].next - hit[0].offset, trace.damage[0][2])]
        elif at < 64 or at >= len(data) - 32:
            assert [(o, n) for o, n, _ in trace.damage] == [(0, 64) if at < 64 else (len(data) - 32, 32)]
        else:
            assert trace.violations == [(trace.violations[0][0], "padding is not 0")] and not trace.damage
        assert trace.damage == [] or trace.violations == []


def test_bytes_missing_in_the_middle():
    data, ends = long_file()
    trace = sbt.read(data[:ends[1] + 8] + data[ends[1] + 32:])
    assert [e.time for e in trace.events] == [0, 3, 10, 13, 30, 33, 40, 43, 50, 53]
    assert [(o, n) for o, n, _ in trace.damage] == [(ends[1], ends[2] - ends[1] - 24), (len(data) - 56, 32)]


def test_the_search_for_a_block_is_not_fooled():
    file = started()
    at = file.block(77, b"...SBTB.SBTB" + bytes(99))
    instants(file, [5], BYTES, b"\5")
    data = bytearray(file.finish())
    data[at] ^= 1
    trace = sbt.read(data)
    assert trace.damage == [(at, trace.blocks[2].offset - at, "no block header")] and len(trace.events) == 1
    twin = bytes(data[trace.blocks[2].offset:trace.blocks[2].next])
    file = started()
    at = file.block(77, b"...." + twin)
    data = bytearray(file.finish())
    data[at] ^= 1
    assert sbt.read(data).events == []  # a block that is not at a multiple of 8


def test_a_hole_hides_no_open_slices():
    file = started()
    nested(file, "bb", [column("depth", DEPTH, b"")])
    at = nested(file, "e", [column("depth", DEPTH, b"")], [opened(0, (SCOPE, 3, -10), (SCOPE, 3, -9))], time=20)
    nested(file, "e", [column("depth", DEPTH, b"")], [opened(0, (SCOPE, 3, -20))], time=30)
    data = bytearray(file.finish())
    data[at] ^= 1
    trace = sbt.read(data)
    assert trace.violations == [] and len(trace.damage) == 1
    assert [(s.begin, s.end) for s in trace.slices()] == [(11, None), (10, 30)]


# ---- the command ----

def test_command(tmp_path):
    file = started()
    scopes(file)
    good, bad = tmp_path / "good.sbt", tmp_path / "bad.sbt"
    good.write_bytes(file.finish())
    bad.write_bytes(b"nothing")
    run = [sys.executable, Path(sbt.__file__)]
    done = subprocess.run([*run, good], capture_output=True, text=True, check=True)
    summary = json.loads(done.stdout)
    assert summary["events"] == 2 and summary["kinds"] == {"scope": 2} and summary["violations"] == 0
    done = subprocess.run([*run, "--events", good], capture_output=True, text=True, check=True)
    assert [json.loads(line) for line in done.stdout.splitlines()] == [
        {"kind": "scope", "phase": "begin", "track": 0, "time": 100, "name": "main", "depth": 0},
        {"kind": "scope", "phase": "end", "track": 0, "time": 200, "depth": 0}]
    done = subprocess.run([*run, bad, good], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert [json.loads(line).get("error") for line in done.stdout.splitlines()] == ["not an SBT file", None]
