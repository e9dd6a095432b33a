"""Damaged traces: every block that can be read is read, the rest is counted and named, and nothing ever crashes.

What is readable is decided by the second reader (tests/python/sbt.py), which both commands have to agree with.
"""

import json
import random
import resource
import struct
import subprocess
import zlib

import pytest
import sbt
import zstandard
from conftest import INFERSCOPE, PATIENCE, ROOT, SANITIZED

MEMORY = 1 << 30
INDEX = 5  # the kind of an index block


@pytest.fixture(scope="module")
def whole():
    """The bytes of a sound trace with blocks of every kind, several of them of events.  Kept, so that damage is the same
    every time: four programs (scopes, marks, threads, pauses) one after the other, recorded by version 1.0."""
    data = (ROOT / "tests" / "data" / "version-1.0.sbt").read_bytes()
    kinds = [block.kind for block in sbt.read(data).blocks]
    assert kinds.count(1) >= 3 and set(kinds) == {1, 2, 3, 4, 5}
    return data


class Reading:
    """What a command does with a file, in at most 1 GB of memory."""

    def __init__(self, place, data):
        self.path = place.folder / "damaged.sbt"
        self.path.write_bytes(data)
        self.env = place.env

    def run(self, command, *options):
        result = subprocess.run([INFERSCOPE, command, *options, self.path], env=self.env, capture_output=True,
                                text=True, errors="replace", timeout=PATIENCE, preexec_fn=limit_memory)
        assert result.returncode in (0, 3), (result.returncode, result.stderr)
        assert len(result.stderr.splitlines()) <= 1, result.stderr
        return result

    def info(self):
        result = self.run("info", "--format", "json", "--top", "1000000")
        return json.loads(result.stdout) if result.returncode == 0 else None

    def dump(self):
        result = self.run("dump", "--format", "csv")
        return result.stdout.splitlines()[1:] if result.returncode == 0 else None


def limit_memory():
    if not SANITIZED:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def read_or_none(data):
    try:
        return sbt.read(data)
    except sbt.NotSbt:
        return None


def merged(ranges):
    """Byte ranges, those that touch as one."""
    out = []
    for at, size in sorted(ranges):
        if out and out[-1][0] + out[-1][1] == at:
            out[-1] = (out[-1][0], out[-1][1] + size)
        else:
            out.append((at, size))
    return out


def is_events_block(data, at):
    """Is it a block of events whose header is right?"""
    header, crc = data[at:at + 60], data[at + 60:at + 64]
    return header[:5] == b"SBTB\x01" and crc == zlib.crc32(header).to_bytes(4, "little")


def agree(place, data):
    """The two readers about the same bytes; what `info` says.

    Ours goes by the index where there is one, and so may find blocks behind a hole at which the other one stops. It
    need not look at a dictionary that a later one replaces. But blocks of events are all read, or named.
    """
    expected, reading = read_or_none(data), Reading(place, data)
    info, rows = reading.info(), reading.dump()
    hurt = {at for at, _, _ in expected.damage if is_events_block(data, at)} if expected else set()
    if expected is None or all(block.kind == INDEX for block in expected.blocks) or (
            hurt and not expected.events and info is None):
        assert info is None and rows is None  # nothing of use is readable
        return None
    assert info is not None and (rows is not None or not info["events"])
    damage = merged((one["offset"], one["size"]) for one in info["damage"])
    expected_damage = merged((at, size) for at, size, _ in expected.damage)
    assert info["damage_bytes"] == sum(size for _, size in damage)
    assert all(any(at <= offset and offset + size <= at + length for at, length in expected_damage)
               for offset, size in damage)
    named = {one["offset"] for one in info["damage"]}
    assert hurt <= named
    if info["has_index"]:
        assert info["events"] >= len(expected.events)
    else:
        assert (info["events"], info["lost"]) == (len(expected.events), expected.lost)
    return info


def blocks(data, kind=1):
    return [block for block in sbt.read(data).blocks if block.kind == kind and block.count]


def with_header(data, block, **fields):
    """The file with fields of a block's header changed, and its checksum right again."""
    layout = {"kind": (4, "<B"), "codec": (5, "<B"), "stored": (8, "<I"), "raw": (12, "<I"), "count": (40, "<I"),
              "domain": (44, "<I"), "lost": (48, "<Q"), "crc": (56, "<I")}
    header = bytearray(data[block.offset:block.offset + 64])
    for name, value in fields.items():
        at, form = layout[name]
        struct.pack_into(form, header, at, value)
    struct.pack_into("<I", header, 60, zlib.crc32(header[:60]))
    return data[:block.offset] + bytes(header) + data[block.offset + 64:]


def with_payload(data, block, payload, compressed=False, **fields):
    """The file with another payload in that block, checksums right; what follows moves."""
    stored = zstandard.ZstdCompressor().compress(payload) if compressed else payload
    head = with_header(data, block, codec=int(compressed), stored=len(stored), raw=len(payload),
                       crc=zlib.crc32(stored), **fields)[:block.offset + 64]
    return head + stored + bytes(-len(stored) % 8) + data[block.next:-32]


def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out + bytes([value]))


# ---- one by one --------------------------------------------------------------------------------


def test_the_whole_file(place, whole):
    info = agree(place, whole)

    assert info["damage"] == [] and info["has_index"] and info["complete"]
    assert info["events"] == 602 + 50 + 240 + 240
    assert len(Reading(place, whole).dump()) >= 602 + 50


def test_cut_anywhere(place, whole):
    events = []
    for size in sorted({*range(0, 200, 13), *range(200, len(whole), len(whole) // 60), len(whole) - 1}):
        info = agree(place, whole[:size])
        events.append(info["events"] if info else 0)

    assert events == sorted(events)  # the more of the file there is, the more is read
    assert events[0] == 0 and events[-1] == sbt.read(whole).summary()["events"]


def test_an_unreadable_block_is_named_by_its_offset(place, whole):
    for block in blocks(whole):
        damaged = bytearray(whole)
        damaged[block.offset + 64 + block.stored // 2] ^= 0x10
        info = agree(place, bytes(damaged))
        assert [(one["offset"], one["size"]) for one in info["damage"]] == [(block.offset, block.next - block.offset)]
        assert info["events"] == sbt.read(whole).summary()["events"] - block.count
        result = Reading(place, bytes(damaged)).run("info")
        assert result.returncode == 0 and f"first at byte {block.offset}" in result.stderr
        assert f"byte {block.offset}" in Reading(place, bytes(damaged)).run("dump").stderr


def test_a_block_header_that_is_gone(place, whole):
    block = blocks(whole)[1]
    info = agree(place, whole[:block.offset] + bytes(64) + whole[block.offset + 64:])

    assert info["damage"][0]["offset"] == block.offset
    assert info["events"] == sbt.read(whole).summary()["events"] - block.count


def test_no_file_header(place, whole):
    info = agree(place, bytes(64) + whole[64:])

    assert info["events"] == sbt.read(whole).summary()["events"]
    assert info["damage"][0]["offset"] == 0


def test_no_index(place, whole):
    info = agree(place, whole[:-32])
    assert not info["has_index"] and info["events"] == sbt.read(whole).summary()["events"]

    wrong = bytearray(whole)
    wrong[-20] ^= 1
    assert agree(place, bytes(wrong))["events"] == info["events"]


def test_an_index_that_lies(place, whole):
    (index,) = blocks(whole, 5)
    payload = bytearray(whole[index.offset + 64:index.end])
    if index.codec:
        payload = bytearray(zstandard.ZstdDecompressor().decompress(bytes(payload), max_output_size=1 << 20))
    for at in range(0, len(payload), 48):
        struct.pack_into("<Q", payload, at, 1 << 60)  # offsets far outside the file
    lying = with_payload(whole, index, bytes(payload))
    trailer = bytearray(whole[-32:])
    struct.pack_into("<Q", trailer, 16, len(lying) + 32)
    struct.pack_into("<I", trailer, 28, zlib.crc32(trailer[:28]))
    reading = Reading(place, lying + bytes(trailer))

    info = reading.info()

    assert info is None or info["events"] <= sbt.read(whole).summary()["events"]
    reading.dump()


@pytest.mark.parametrize("data", [b"", b"\n", b"SBTB", b"\x89SBT\r\n\x1a\n", bytes(64), bytes(100_000),
                                  b"SBTB" * 10_000, b'{"some": "JSON"}'], ids=range(8))
def test_nothing_readable(place, data):
    for command in ("info", "dump"):
        result = Reading(place, data).run(command)
        assert result.returncode == 3
        assert result.stdout == "" and len(result.stderr.splitlines()) == 1
        assert str(place.folder / "damaged.sbt") in result.stderr


def test_another_version(place, whole):
    header = bytearray(whole[:64])
    struct.pack_into("<H", header, 8, 2)
    struct.pack_into("<I", header, 60, zlib.crc32(header[:60]))
    for command in ("info", "dump"):
        result = Reading(place, bytes(header) + whole[64:]).run(command)
        assert result.returncode == 3 and "version 2" in result.stderr


def test_a_later_minor_version_and_unknown_blocks(place, whole):
    header = bytearray(whole[:64])
    struct.pack_into("<H", header, 10, 7)
    struct.pack_into("<I", header, 60, zlib.crc32(header[:60]))
    block = blocks(whole)[0]
    newer = with_header(bytes(header) + whole[64:-32], block, kind=99)

    info = agree(place, newer)

    assert info["events"] == sbt.read(whole).summary()["events"] - block.count
    assert info["damage"] == []


@pytest.mark.parametrize("path", ["missing", "directory", "device"])
def test_not_a_file(place, path):
    target = {"missing": place.folder / "none", "directory": place.folder, "device": "/dev/null"}[path]
    for command in ("info", "dump"):
        result = place.call(INFERSCOPE, command, target)
        assert result.status == 3 and len(result.lines) == 1
        assert str(target) in result.err


# ---- counts that are too large -----------------------------------------------------------------

HUGE = {
    "shapes": varint(1 << 40),
    "segments": varint(0) + varint(1 << 62),
    "events of a segment": varint(1) + bytes([2, 0]) + varint(2) + varint(1) + varint(1) + varint(1 << 40) + bytes(2),
    "open tracks": varint(0) + varint(0) + varint((1 << 64) - 1),
    "depth": varint(0) + varint(0) + varint(1) + varint(1) + varint(1 << 50),
    "column": varint(0) + varint(0) + varint(0) + bytes([1, 1]) + varint(1 << 55),
    "varint": b"\xff" * 20,
    "nothing": b"",
}


@pytest.mark.parametrize("name, payload", HUGE.items(), ids=HUGE)
def test_a_huge_count_in_a_sound_block(place, whole, name, payload):
    block = blocks(whole)[1]

    info = agree(place, with_payload(whole, block, payload))

    assert info["events"] == sbt.read(whole).summary()["events"] - block.count
    assert info["damage"][0]["offset"] == block.offset


@pytest.mark.parametrize("fields", [{"raw": 0xffffffff}, {"raw": (64 << 20) + 1}, {"raw": 1}, {"raw": 64 << 20},
                                    {"stored": 0xffffffff}, {"stored": 1 << 20}, {"stored": 0}], ids=str)
def test_sizes_in_a_header_that_do_not_fit(place, whole, fields):
    block = blocks(whole)[1]

    info = agree(place, with_header(whole, block, **fields))

    assert info["events"] < sbt.read(whole).summary()["events"]
    assert info["damage"][0]["offset"] == block.offset


@pytest.mark.parametrize("fields", [{"count": 0xffffffff}, {"domain": 0xffffffff}, {"lost": (1 << 64) - 1}], ids=str)
def test_figures_in_a_header_that_lie(place, whole, fields):
    reading = Reading(place, with_header(whole, blocks(whole)[1], **fields))

    reading.info()
    reading.dump()


@pytest.mark.parametrize("kind", [1, 2, 3, 4])
def test_64_mb_in_a_few_kilobytes(place, whole, kind):
    block = blocks(whole, kind)[0]
    bomb = with_payload(whole, block, bytes(64 << 20), compressed=True)
    assert len(bomb) < len(whole) + 20_000
    reading = Reading(place, bomb)

    info = reading.info()
    reading.dump()

    assert info is None or info["events"] <= sbt.read(whole).summary()["events"]


@pytest.mark.parametrize("entry", [bytes([1]) + varint(1 << 40) + b"x", bytes([1]) + varint(6) + varint(1 << 32) + b"x",
                                   bytes([4]) + varint(20) + varint((1 << 63)) + bytes(10), bytes([8]) + varint(11) +
                                   varint(1) + varint(1 << 40) + bytes(4)], ids=["length", "string", "track", "stack"])
def test_a_dictionary_with_huge_numbers(place, whole, entry):
    reading = Reading(place, with_payload(whole, blocks(whole, 2)[0], entry, count=1))

    reading.info()
    reading.dump()


# ---- at random ---------------------------------------------------------------------------------


def mutate(data, generator):
    """One of several kinds of damage, anywhere."""
    data = bytearray(data)
    for _ in range(generator.choice((1, 1, 2, 8))):
        at = generator.randrange(len(data) or 1)
        kind = generator.randrange(5) if data else 3
        if kind == 0:
            data[at] ^= 1 << generator.randrange(8)
        elif kind == 1:
            data[at:at + generator.randrange(1, 64)] = bytes(generator.randrange(256) for _ in range(16))
        elif kind == 2:
            del data[at:at + generator.randrange(1, 200)]
        elif kind == 3:
            data[at:at] = data[generator.randrange(len(data) or 1):][:generator.randrange(1, 500)]
        else:
            data = data[:max(at, 1)]
    return bytes(data)


def mutate_inside(data, generator):
    """Damage that the checksums do not show."""
    block = generator.choice([block for block in sbt.read(data).blocks if block.kind != 5])
    stored = data[block.offset + 64:block.end]
    if block.codec:
        stored = zstandard.ZstdDecompressor().decompress(stored, max_output_size=block.raw)
    payload = bytearray(stored)
    for _ in range(generator.choice((1, 2, 5))):
        at = generator.randrange(len(payload))
        payload[at] = generator.choice((0, 1, 0x7f, 0x80, 0xff, generator.randrange(256)))
    return with_payload(data, block, bytes(payload))


def test_random_damage(place, whole):
    generator = random.Random(20)

    results = [agree(place, mutate(whole, generator)) for _ in range(200)]

    assert sum(info is not None and info["damage_count"] > 0 for info in results) > 50


def test_random_damage_under_right_checksums(place, whole):
    generator, total = random.Random(21), sum(block.count for block in blocks(whole))
    for _ in range(150):
        data = mutate_inside(whole, generator)
        reading = Reading(place, data)
        info = reading.info()
        assert info is not None  # the other blocks are sound
        named = {one["offset"] for one in info["damage"]}
        assert {at for at, _, _ in sbt.read(data).damage if is_events_block(data, at)} <= named
        assert info["events"] == total - sum(block.count for block in blocks(whole) if block.offset in named)
        reading.dump()
