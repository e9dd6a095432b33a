"""A second reader of SBT traces, written from docs/sbt-format.md alone, to prove that document and to check our files.

It reads a whole file, however damaged, and says with a byte offset what is unreadable (`damage`) and which rule of the
format is broken (`violations`). Here are the file and the meaning of its events; sbt_payload.py has the insides of
blocks, sbt_rules.py the rules.

    trace = sbt.read("trace.sbt")         trace.events, trace.slices(), trace.ns(ticks), trace.violations, ...
    python3 sbt.py [--events] FILE...     one line of JSON a file (or an event); exit status 1 if a rule is broken
"""

import hashlib
import json
import struct
import sys
import zlib
from collections import Counter, namedtuple
from pathlib import Path

import zstandard

import sbt_rules
from sbt_payload import (COMPLETE, END, ENTRIES, KINDS, LOST, PHASES, Events, Malformed, advance, dictionary_entries,
                         message_map)
from sbt_rules import CLOCK, DICTIONARY, EVENTS, INDEX, INFO

MAX_RAW = 64 << 20
FILE_HEADER = struct.Struct("<8sHHI16sQ20sI")
BLOCK_HEADER = struct.Struct("<4sBBHIIQqqIIQII")
CLOCK_RECORD = struct.Struct("<qQQQQ")
INDEX_RECORD = struct.Struct("<QqqQIIIBBH")
TRAILER = struct.Struct("<8sQQII")

Pair = namedtuple("Pair", "ticks width raw monotonic realtime")
Slice = namedtuple("Slice", "track kind name begin end depth")  # end is None if it was lost or never came


class NotSbt(ValueError):
    """There is nothing in the file that this reader can read."""


class Block:
    """A block's header, and what its payload says: None if its kind or codec is unknown."""

    def __init__(self, offset, header):
        (_, self.kind, self.codec, self.flags, self.stored, self.raw, self.sequence, self.first, self.last, self.count,
         self.domain, self.lost, self.crc, _) = BLOCK_HEADER.unpack(header)
        self.offset, self.end = offset, offset + 64 + self.stored
        self.next = (self.end + 7) & ~7
        self.content = None
        self.number = self.holes = 0  # blocks read before this one, and places in between that could not be read


class Trace:
    """Tables are keyed by number, `pairs` by clock domain, `open` (the slices open at its start) by number of block."""

    def __init__(self, data):
        self.data, self.size = data, len(data)
        self.header, self.trailer, self.info, self.pairs, self.open = None, None, {}, {}, {}
        self.blocks, self.events, self.damage, self.malformed, self.skipped = [], [], [], [], []
        for table, _ in ENTRIES.values():  # strings, hosts, processes, tracks, devices, clocks, frames, stacks, functions
            setattr(self, table, {})
        self._fits, self._holes = {}, 0
        self._walk()
        self.minor = self.header["minor"] if self.header else 0
        self.violations = sbt_rules.check(self)

    # ---- the file (2) ----

    def _walk(self):
        at = self._file_header()
        while at < self.size:
            self.trailer = self._trailer(at)
            if self.trailer:
                break
            block = self._block_header(at)
            after = block.next if block else self._scan(at)
            if block and block.end <= self.size:
                self._read_block(block)
            else:
                after = self.size if block else after
                self._damaged(at, after, "the file ends in this block" if block else "no block header")
            at = after
        if not self.header and not self.blocks:
            raise NotSbt("not an SBT file")

    def _file_header(self):
        if self.size >= 64:
            magic, major, minor, size, name, created, reserved, crc = FILE_HEADER.unpack_from(self.data)
            if magic == b"\x89SBT\r\n\x1a\n" and crc == zlib.crc32(self.data[:60]):
                if major != 1:
                    raise NotSbt(f"version {major}.{minor} is not known here")
                self.header = {"major": major, "minor": minor, "size": size, "id": name.hex(), "created": created,
                               "reserved": reserved}
                return size
        start = self._scan(0)
        self._damaged(0, start, "no file header")
        return start

    def _block_header(self, at):
        header = self.data[at:at + 64]
        if header[:4] == b"SBTB" and len(header) == 64 and header[60:] == zlib.crc32(header[:60]).to_bytes(4, "little"):
            return Block(at, header)
        return None

    def _scan(self, at):
        at = (at & ~7) + 8
        while (at := self.data.find(b"SBTB", at)) >= 0:
            if at % 8 == 0 and self._block_header(at):
                return at
            at += 1
        return self.size - 32 if self._trailer(self.size - 32) else self.size

    def _trailer(self, at):
        if at + 32 != self.size or at < 0:
            return None
        magic, index, size, reserved, crc = TRAILER.unpack_from(self.data, at)
        if magic != b"SBTINDEX" or crc != zlib.crc32(self.data[at:at + 28]) or size != self.size:
            return None
        return {"index": index, "reserved": reserved}

    def _damaged(self, offset, end, reason):
        self.damage.append((offset, min(end, self.size) - offset, reason))
        self._holes += 1

    def _read_block(self, block):
        stored = self.data[block.offset + 64:block.end]
        if zlib.crc32(stored) != block.crc:
            self._damaged(block.offset, block.next, "the payload's crc is wrong")
            return
        readers = {EVENTS: self._read_events, DICTIONARY: self._read_dictionary, CLOCK: self._read_clock,
                   INFO: self._read_info, INDEX: self._read_index}
        try:
            if block.kind in readers and block.codec in (0, 1):
                block.content = readers[block.kind](block, decompress(block, stored))
            else:
                self.skipped.append((block.offset, f"block of kind {block.kind}, codec {block.codec}"))
                self._holes += block.kind in readers
        except Malformed as error:
            self._damaged(block.offset, block.next, str(error))
            self.malformed.append((block.offset, f"unreadable though its crc is right: {error}"))
            return
        block.number, block.holes = len(self.blocks), self._holes
        self.blocks.append(block)

    # ---- payloads (3 to 7) ----

    def _read_events(self, block, payload):
        content = Events(payload, block.first, len(self.blocks))
        self.events += content.list
        self.open[len(self.blocks)] = content.open
        return content

    def _read_dictionary(self, block, payload):
        content = dictionary_entries(payload)
        for entry in content:
            if entry.table:
                getattr(self, entry.table)[entry.number] = entry.value
            else:
                self.skipped.append((block.offset, f"dictionary entry of type {entry.number}"))
        return content

    def _read_clock(self, block, payload):
        content = records(Pair._make, CLOCK_RECORD, payload)
        self.pairs.setdefault(block.domain, []).extend(content)
        return content

    def _read_info(self, _block, payload):
        content = message_map(payload)
        if content is None or not all(isinstance(key, str) for key in content):
            raise Malformed("not a MessagePack map with string keys")
        self.info.update(content)
        return content

    def _read_index(self, _block, payload):
        return records(tuple, INDEX_RECORD, payload)

    def of_kind(self, kind):
        return (block for block in self.blocks if block.kind == kind and block.content is not None)

    # ---- what the events mean ----

    @property
    def lost(self):
        return sum(block.lost for block in self.of_kind(EVENTS))

    def slices(self):
        """Begins paired with their ends (3.4), and complete events, in the order in which they end."""
        state = {}
        for block in self.of_kind(EVENTS):
            stacks = {track: list(stack) for track, stack in block.content.open.items()}
            for track, stack in state.get(block.domain, {}).items():  # what went away in a hole of the file
                gone = [one if one not in stacks.get(track, ()) else None for one in stack]
                yield from unfinished(track, gone, 0)
            state[block.domain] = stacks
            for event in block.content.list:
                if event.phase != COMPLETE:
                    yield from finished(event, *advance(stacks, event))
                elif event.kind != LOST:
                    end = event.time + (event.duration or 0)
                    yield Slice(event.track, event.kind, event.name or 0, event.time, end, event.depth)
        for stacks in state.values():
            for track, stack in stacks.items():
                yield from unfinished(track, stack, 0)

    def function(self, name):
        """What an event's name says of a function of the program (4), as text; None if it is a plain name."""
        if name not in self.functions:
            return None
        frame = self.frames[self.functions[name]["frame"]]
        return {"line": frame["line"], **{key: self.strings.get(frame[key], "") for key in ("function", "file", "module")}}

    def ns(self, ticks, domain=0):
        """CLOCK_MONOTONIC_RAW of a time (5)."""
        kind, pairs = self.clocks.get(domain, {}).get("kind"), self.pairs.get(domain)
        if kind == 7 and pairs:
            return ticks + pairs[0].raw - pairs[0].ticks
        if kind in (3, 4, 5, 7):
            return ticks
        if domain not in self._fits:
            self._fits[domain] = fit_line(self.pairs[domain], self.clocks.get(domain, {}).get("rate"))
        at, raw, slope = self._fits[domain]
        return raw + round((ticks - at) * slope)

    # ---- output ----

    def lines(self):
        """Each event as canonical JSON: names as text, times in ticks, only the fields that it has."""
        encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), default=bytes.hex).encode
        for event in self.events:
            row = dict(zip(event._fields, event), kind=named(KINDS, event.kind), phase=named(PHASES, event.phase))
            if event.name is not None:
                row["name"] = self.strings.get(event.name, "")
            del row["block"]
            yield encode(row)

    def summary(self):
        digest = hashlib.sha256()
        for line in self.lines():
            digest.update(line.encode() + b"\n")
        kinds = Counter(event.kind for event in self.events)
        return {"events": len(self.events), "lost": self.lost, "blocks": len(self.blocks), "bytes": self.size,
                "finished": bool(self.trailer), "tracks": len(self.tracks), "skipped": len(self.skipped),
                "kinds": {named(KINDS, kind): count for kind, count in sorted(kinds.items())}, "damage": self.damage,
                "violations": len(self.violations), "first_violations": self.violations[:10],
                "digest": digest.hexdigest()}


def decompress(block, stored):
    if block.raw > MAX_RAW:
        raise Malformed(f"a raw size of {block.raw}")
    if block.codec == 1:
        try:
            if zstandard.get_frame_parameters(stored).content_size not in (block.raw, zstandard.CONTENTSIZE_UNKNOWN):
                raise Malformed("the size of the zstd frame is not the raw size")
            one_frame = {"max_output_size": max(block.raw, 1), "allow_extra_data": False}
            stored = zstandard.ZstdDecompressor().decompress(stored, **one_frame)
        except zstandard.ZstdError as error:
            raise Malformed(str(error)) from None
    if len(stored) != block.raw:
        raise Malformed(f"{len(stored)} bytes where the raw size is {block.raw}")
    return stored


def records(make, layout, payload):
    if len(payload) % layout.size:
        raise Malformed(f"{len(payload)} bytes of records of {layout.size}")
    return [make(record) for record in layout.iter_unpack(payload)]


def unfinished(track, stack, depth):
    return [Slice(track, one.kind, one.name, one.begin, None, i) for i, one in enumerate(stack, depth) if one]


def finished(event, cut, one):
    """The slices that an event ended: those whose own ends were lost, then the one that it belongs to."""
    yield from unfinished(event.track, cut, event.depth + (event.phase == END) if cut else 0)
    if one:
        kind, name = one.kind or event.kind, one.name or event.name or 0
        yield Slice(event.track, kind, name, one.begin, event.time, event.depth)


def fit_line(pairs, rate):
    """Least squares through the pairs with narrow brackets: ticks, nanoseconds there, nanoseconds a tick."""
    narrow = 2 * sorted(pair.width for pair in pairs)[len(pairs) // 2]
    pairs = [pair for pair in pairs if pair.width <= narrow]
    at, raw = pairs[0].ticks, pairs[0].raw
    xs, ys = [pair.ticks - at for pair in pairs], [pair.raw - raw for pair in pairs]
    x, y = sum(xs) / len(xs), sum(ys) / len(ys)
    spread = sum((a - x) ** 2 for a in xs)
    if not spread:
        return at, raw, 1e9 / rate
    slope = sum((a - x) * (b - y) for a, b in zip(xs, ys)) / spread
    return at, raw + round(y - slope * x), slope


def named(names, number):
    return names[number] if number < len(names) else number


def read(source):
    """A trace from a path or from bytes. Raises NotSbt if there is nothing to read."""
    return Trace(bytes(source) if isinstance(source, (bytes, bytearray, memoryview)) else Path(source).read_bytes())


def main(arguments):
    status = 0
    for path in (argument for argument in arguments if argument != "--events"):
        try:
            trace = read(path)
        except (NotSbt, OSError) as error:
            print(json.dumps({"file": path, "error": str(error)}))
            status = 1
            continue
        if "--events" in arguments:
            sys.stdout.writelines(line + "\n" for line in trace.lines())
        else:
            print(json.dumps({"file": path, **trace.summary()}))
        status = max(status, int(bool(trace.violations)))
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
