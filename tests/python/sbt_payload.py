"""What is inside the blocks of an SBT file: sections 1, 3 and 4 of docs/sbt-format.md. sbt.py is the reader on top."""

import functools
import struct
from collections import Counter, namedtuple
from itertools import accumulate, chain, islice, repeat

import msgpack

KINDS = ("", "cpu_call", "scope", "instant", "counter", "cpu_syscall", "cpu_sample", "memory_alloc", "memory_free", "op",
         "runtime_call", "gpu_kernel", "h2d_copy", "d2h_copy", "d2d_copy", "memset", "sync", "collective", "flow", "lost",
         "clock_pair")
PHASES = ("begin", "end", "complete", "instant", "async_begin", "async_end", "flow_out", "flow_in")
FIELDS = ("shape", "time", "name", "cpu", "depth", "duration", "value", "integer", "correlation", "flow", "stack", "bytes",
          "grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z", "shared_memory", "registers", "pointer",
          "numa_node", "metadata", "count", "reason", "id", "link", "operator", "graph", "memory_kind", "wait")
SHAPE, TIME, NAME, DEPTH, VALUE, INTEGER, STACK, METADATA = 0, 1, 2, 4, 6, 7, 10, 22
BESIDE = {"grid_x": ("grid_y", "grid_z"), "block_x": ("block_y", "block_z")}  # 1 where they are absent
BEGIN, END, COMPLETE = 0, 1, 2
LOST = 19
UNMATCHED = 65535

# Bodies of dictionary entries as field=type; a table's name is the number of an entry there, with ? an optional one.
ENTRIES = {kind: (table, [field.split("=") for field in body.split()]) for kind, table, body in (
    (1, "strings", "text=rest"),
    (2, "hosts", "hostname=strings system=strings machine=strings"),
    (3, "processes", "host=hosts pid=uv parent=?processes start=sv end=sv flags=uv name=strings command_line=strings rank=+optional"),
    (4, "tracks", "kind=u8 process=?processes id=uv serial=uv device=?devices parent=?tracks flags=uv name=strings"),
    (5, "devices", "host=hosts index=uv kind=u8 name=strings properties=map"),
    (6, "clocks", "kind=u8 host=hosts rate=uv name=strings"),
    (7, "frames", "function=strings file=strings line=uv module=strings address=uv"),
    (8, "stacks", "frames=list"),
    (9, "functions", "frame=frames"))}  # its number is a string's

Entry = namedtuple("Entry", "table number value references rest")  # table is None if the type is unknown
Open = namedtuple("Open", "kind name begin")  # an open slice; kind and name are 0 if its begin was lost
Segment = namedtuple("Segment", "track count source base")


class Malformed(ValueError):
    """A block that does not decode within its own bounds."""


class Cursor:
    """Reads bytes from left to right."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def left(self):
        return len(self.data) - self.at

    def take(self, size):
        if size > self.left():
            raise Malformed(f"{size} bytes wanted where {self.left()} are left")
        self.at += size
        return self.data[self.at - size:self.at]

    def u8(self):
        return self.take(1)[0]

    def uv(self):
        value = 0
        for shift in range(0, 70, 7):
            byte = self.u8()
            value |= (byte & 127) << shift
            if byte < 128 and value < 1 << 64:
                return value
        raise Malformed("a varint of more than 64 bits")

    def sv(self):
        value = self.uv()
        return (value >> 1) ^ -(value & 1)


def wrap(value, low=-1 << 63):
    return ((value - low) & (1 << 64) - 1) + low


def message_map(data):
    """A MessagePack map, or None if the bytes are something else."""
    try:
        found = msgpack.unpackb(data, strict_map_key=False, unicode_errors="replace")
    except (ValueError, TypeError, msgpack.UnpackException):
        return None
    return found if isinstance(found, dict) else None


# ---- columns (3.4) ----

GROUPS = [struct.Struct("<" + "".join("BHIQ"[control >> 2 * i & 3] for i in range(4))) for control in range(256)]


def packed(cursor, n):
    controls = cursor.take((n + 3) // 4)
    values, at = [], cursor.at
    try:
        for control in controls[:n // 4]:
            values += GROUPS[control].unpack_from(cursor.data, at)
            at += GROUPS[control].size
    except struct.error:
        raise Malformed("a packed column is too short") from None
    cursor.at = at
    for i in range(n % 4):
        values.append(int.from_bytes(cursor.take(1 << (controls[-1] >> 2 * i & 3)), "little"))
    if n % 4 and controls[-1] >> 2 * (n % 4):
        raise Malformed("unused codes of a packed column are not 0")
    return values


def packed_signed(cursor, n):
    return [(u >> 1) ^ -(u & 1) for u in packed(cursor, n)]


def packed_delta(cursor, counts, bases):
    deltas = iter(packed_signed(cursor, sum(counts)))
    return [v for n, base in zip(counts, bases) for v in islice(accumulate(chain((base,), islice(deltas, n))), 1, None)]


def runs(cursor, n):
    values = []
    while len(values) < n:
        value, length = cursor.uv(), cursor.uv()
        if not 0 < length <= n - len(values):
            raise Malformed(f"a run of {length} where {n - len(values)} values are left")
        values += [value] * length
    return values


# ---- events (3.2) ----

@functools.lru_cache(maxsize=None)
def event_class(fields):
    """A tuple with these fields; the other fields of the model read as None."""
    absent = {**dict.fromkeys(FIELDS), **{other: 1 for x in BESIDE.keys() & set(fields) for other in BESIDE[x]}}
    absent = {field: value for field, value in absent.items() if field not in fields}
    names = ("kind", "phase", "track", "block") + fields
    return type("Event", (namedtuple("Event", names),), {"__slots__": (), **absent})


class Events:
    """The payload of an events block. `notes` are broken rules that do not make it unreadable."""

    def __init__(self, payload, first, number):
        cursor, self.first, self.notes = Cursor(payload), first, []
        self.shapes = [(cursor.u8(), cursor.u8(), cursor.uv()) for _ in range(cursor.uv())]
        self.segments = [Segment(cursor.uv(), cursor.uv(), cursor.uv(), cursor.sv()) for _ in range(cursor.uv())]
        self.total = sum(segment.count for segment in self.segments)
        if self.total > len(payload):
            raise Malformed(f"{self.total} events in {len(payload)} bytes")
        self.open = self._open_tracks(cursor)
        self.columns = self._split(cursor)
        self.shape_of = self._shapes()
        self.values = self._fields()
        self.list = self._assemble(number)

    def _open_tracks(self, cursor):
        tracks = {}
        for _ in range(cursor.uv()):
            track, depth = cursor.uv(), cursor.uv()
            if track in tracks or not depth:
                self.notes.append(f"open track {track} is given twice or with nothing open")
            tracks[track] = [Open(cursor.u8(), cursor.uv(), wrap(self.first + cursor.sv())) for _ in range(depth)]
        return tracks

    def _split(self, cursor):
        columns = {}
        while cursor.left():
            field, encoding, data = cursor.u8(), cursor.u8(), Cursor(cursor.take(cursor.uv()))
            if field in columns:
                raise Malformed(f"two columns for field {field}")
            columns[field] = encoding, data
        return columns

    def _shapes(self):
        numbers = self._column(SHAPE, [segment.count for segment in self.segments]) if SHAPE in self.columns else None
        if numbers is None and len(self.shapes) == 1:
            numbers = [0] * self.total
        if numbers is None and self.total or max(numbers or [-1]) >= len(self.shapes):
            raise Malformed("an event has no shape")
        return numbers or []

    def _fields(self):
        starts = list(accumulate((segment.count for segment in self.segments), initial=0))
        by_segment = [Counter(self.shape_of[a:b]) for a, b in zip(starts, starts[1:])]
        values = {}
        for field in range(1, len(FIELDS)):
            having = {s for s, (_, _, mask) in enumerate(self.shapes) if mask >> field & 1}
            counts = [sum(n for s, n in shapes.items() if s in having) for shapes in by_segment] if having else []
            column = self._column(field, counts, having) if field in self.columns else None
            if column is not None:
                values[field] = column
            elif any(counts) and field not in self.columns:
                self.notes.append(f"no column for field {field}, which {sum(counts)} events have")
        if self.total and TIME not in values:
            raise Malformed("events without times")
        return values

    def _column(self, field, counts, having=()):
        """One value for each event that has the field, or None if the encoding is unknown."""
        encoding, cursor = self.columns[field]
        n = sum(counts)
        if field == VALUE and encoding == 6:
            values = struct.unpack(f"<{n}d", cursor.take(8 * n))
        elif field == METADATA and encoding == 7:
            values = [self._map(cursor.take(length)) for length in [cursor.uv() for _ in range(n)]]
        elif field == DEPTH and encoding == 5:
            values = self._depths(cursor, having)
        elif field not in (VALUE, METADATA) and encoding < 5:
            values = self._integers(field, encoding, cursor, counts)
        else:
            self.notes += [f"encoding {encoding} does not suit field {field}"] if encoding < 8 else []
            return None
        if cursor.left():
            self.notes.append(f"{cursor.left()} bytes too many in the column of field {field}")
        return values

    def _integers(self, field, encoding, cursor, counts):
        if encoding == 0:
            return list(cursor.take(sum(counts)))
        if encoding == 3:
            bases = [self.first + s.base for s in self.segments] if field == TIME else repeat(0)
            values = packed_delta(cursor, counts, bases)
        else:
            values = {1: packed, 2: packed_signed, 4: runs}[encoding](cursor, sum(counts))
        low = -1 << 63 if field in (TIME, INTEGER) else 0
        if values and (min(values) < low or max(values) >= low + (1 << 64)):
            values = [wrap(value, low) for value in values]
        if field == DEPTH and max(values, default=0) > UNMATCHED:
            raise Malformed(f"depth {max(values)}")
        return values

    def _map(self, data):
        found = message_map(data)
        if found is None:
            self.notes.append("metadata is not a MessagePack map")
        return data if found is None else found

    def _depths(self, cursor, having):
        """Predicts from the sizes of the stacks alone: what lies on them does not matter here."""
        values, exceptions, at = [], {}, -1
        while cursor.left():
            at += 1 + cursor.uv()
            exceptions[at] = cursor.uv()
        shape_of = iter(self.shape_of)
        for track, count, _, _ in self.segments:
            size = len(self.open.get(track, ()))
            for shape in islice(shape_of, count):
                if shape in having:
                    phase = self.shapes[shape][1]
                    predicted = max(size - 1, 0) if phase == END else size
                    depth = exceptions.get(len(values), predicted)
                    if depth == predicted and len(values) in exceptions:
                        self.notes.append(f"depth {depth} is stored though it was to be expected")
                    if depth > UNMATCHED or depth == UNMATCHED and phase != END:
                        raise Malformed(f"depth {depth}")
                    if phase != COMPLETE and depth != UNMATCHED:
                        size = depth + (phase == BEGIN)
                    values.append(depth)
        if at >= len(values):
            raise Malformed("a depth is stored for an event that is not there")
        return values

    def _assemble(self, number):
        """All shapes share the iterators over the columns: an event takes the next values when it is its turn."""
        tracks = chain.from_iterable(repeat(segment.track, segment.count) for segment in self.segments)
        columns = {field: iter(values) for field, values in self.values.items()}
        makers = []
        for kind, phase, mask in self.shapes:
            fields = [field for field in columns if mask >> field & 1]
            rows = zip(repeat(kind), repeat(phase), tracks, repeat(number), *(columns[field] for field in fields))
            makers.append(map(event_class(tuple(FIELDS[field] for field in fields))._make, rows))
        return [next(makers[shape]) for shape in self.shape_of]


def advance(stacks, event):
    """Moves the stack of an event's track on (3.4, Depth); returns the slices whose ends were lost and the one that ended."""
    depth, phase = event.depth, event.phase
    if depth is None or phase == COMPLETE or depth == UNMATCHED:
        return (), None
    stack = stacks.setdefault(event.track, [])
    size, cut = depth + (phase == END), ()
    if len(stack) > size:
        cut = stack[size:]
        del stack[size:]
    elif len(stack) < size:
        stack += [Open(0, 0, event.time)] * (size - len(stack))
    if phase == BEGIN:
        stack.append(Open(event.kind, event.name or 0, event.time))
    return cut, stack.pop() if phase == END else None


# ---- dictionary entries (4) ----

def dictionary_entries(payload):
    cursor, entries = Cursor(payload), []
    while cursor.left():
        kind, body = cursor.u8(), Cursor(cursor.take(cursor.uv()))
        entries.append(dictionary_entry(kind, body) if kind in ENTRIES else Entry(None, kind, None, (), 0))
    return entries


def dictionary_entry(kind, body):
    table, fields = ENTRIES[kind]
    number, value, references = body.uv(), {}, []
    for name, what in fields:
        if what in ("u8", "uv", "sv"):
            value[name] = getattr(body, what)()
        elif what == "+optional":  # came with a later version
            value[name] = body.uv() - 1 if body.left() else -1
        elif what == "rest":
            value = body.take(body.left()).decode("utf-8", "replace")
        elif what == "map":
            value[name] = message_map(body.take(body.uv()))
        elif what == "list":
            value = [body.uv() for _ in range(body.uv())]
            references += [("frames", frame) for frame in value]
        else:
            other = body.uv() - what.startswith("?")
            value[name] = other if other >= 0 else None
            references += [(what.lstrip("?"), other)] if other >= 0 else []
    if table == "functions":
        references.append(("strings", number))
    return Entry(table, number, value, references, body.left())
