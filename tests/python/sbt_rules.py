"""What a correct SBT file obeys beyond being readable: the rules of docs/sbt-format.md that a writer must keep.

Each function yields (offset, sentence) for what is wrong. Where a file is damaged, rules that look across blocks are not
asked of what comes after the damage.
"""

from itertools import chain, zip_longest

from sbt_payload import BEGIN, COMPLETE, DEPTH, END, ENTRIES, LOST, NAME, STACK, TIME, advance, wrap

EVENTS, DICTIONARY, CLOCK, INFO, INDEX = 1, 2, 3, 4, 5
NAMES, UNWRITTEN, DROPPED, UNSEEN = 5, 6, 7, 9  # reasons for a loss
MINOR = 3  # later versions may have what is not known here
MUTABLE = {"start", "end", "flags", "name", "command_line", "rate", "properties"}
# what imported files may say after the first use, and of whose states a track has
LEARNT = {"devices": {"kind", "host"}, "processes": {"rank", "host"}, "tracks": {"parent"}}
INFO_TYPES = {"producer": str, "command": list, "cwd": str, "hostname": str, "start_ticks": int, "settings": dict,
              "exit_status": int, "signal": int, "complete": bool, "recovered": bool, "produced": int, "recorded": int,
              "lost": int, "names_refused": int, "dropped_events": int, "refused_processes": int, "skipped_calls": int,
              "functions": int, "functions_skipped": int, "notes": list, "sampling": dict, "unwritten": int, "trouble": str}


def check(trace):
    rules = (file_rules, header_rules, sequence_rules, events_rules, stack_rules, dictionary_rules, info_rules, index_rules)
    return sorted(chain(trace.malformed, *(rule(trace) for rule in rules)))


def file_rules(trace):
    if trace.header and trace.header["minor"] <= MINOR and (trace.header["size"] != 64 or any(trace.header["reserved"])):
        yield 0, "the size of the file header is not 64 or its reserved bytes are not 0"
    for domain, clock in trace.clocks.items():
        if clock["kind"] in (1, 2) and trace.events and not trace.damage and domain not in trace.pairs:
            yield trace.size, f"no clock pairs for domain {domain}"


def header_rules(trace):
    for block in trace.blocks:
        known = block.content is not None
        if known and block.count != count_of(block):
            yield block.offset, f"the header says {block.count} entries, there are {count_of(block)}"
        if known and block.kind != EVENTS and (block.first, block.last, block.lost) != (0, 0, 0):
            yield block.offset, "times or lost in a block without events"
        if known and trace.minor <= MINOR and block.flags & ~int(block.kind == DICTIONARY):
            yield block.offset, f"unknown flags {block.flags:#x}"
        if any(trace.data[block.end:block.next]):
            yield block.end, "padding is not 0"


def count_of(block):
    return block.content.total if block.kind == EVENTS else 1 if block.kind == INFO else len(block.content)


def sequence_rules(trace):
    missing = trace.info.get("dropped_events") or any(event.reason in (UNWRITTEN, DROPPED) for event in trace.events)
    previous = -1
    for block in trace.blocks:
        if block.sequence <= previous:
            yield block.offset, f"sequence number {block.sequence} after {previous}"
        elif block.sequence != previous + 1 and not missing and not block.holes:
            yield block.offset, f"sequence number {block.sequence} after {previous} though nothing is missing"
        previous = block.sequence


def events_rules(trace):
    for block in trace.of_kind(EVENTS):
        events = block.content
        yield from ((block.offset, note) for note in events.notes)
        tracks = [segment.track for segment in events.segments]
        if len(set(tracks)) != len(tracks):
            yield block.offset, "a track has two segments"
        for kind, phase, mask in events.shapes:
            if not mask >> TIME & 1 or phase in (BEGIN, END) and not mask >> DEPTH & 1:
                yield block.offset, f"the shape of kind {kind} and phase {phase} lacks its time or depth"
        lost = [event for event in events.list if event.kind == LOST]
        if any(e.phase != COMPLETE or e.count is None or e.reason not in range(1, UNSEEN + (trace.minor > 0)) for e in lost):
            yield block.offset, "a lost event is not complete or lacks its count or reason"
        if any(e.reason == UNSEEN and e.count for e in lost):
            yield block.offset, "calls that were not seen are counted"
        lost = sum(event.count or 0 for event in lost if event.reason != NAMES)
        if lost != block.lost:
            yield block.offset, f"the header says {block.lost} lost, the events {lost}"
        if events.total:
            ends = (wrap(e.time + (e.duration or 0)) for e in events.list if e.phase == COMPLETE)
            first, last = min(events.values[TIME]), max(chain(events.values[TIME], ends))
            if (first, last) != (block.first, block.last):
                yield block.offset, f"the header says {block.first} to {block.last}, the events {first} to {last}"


def stack_rules(trace):
    """What a block says is open is what the blocks before it left open."""
    state, previous, domains, whole = {}, None, {}, True
    for block in trace.of_kind(EVENTS):
        for track in {segment.track for segment in block.content.segments}.union(block.content.open):
            if domains.setdefault(track, block.domain) != block.domain:
                yield block.offset, f"track {track} is in clock domains {domains[track]} and {block.domain}"
        stacks = {track: list(stack) for track, stack in block.content.open.items()}
        if not unbroken(previous, block):
            state, whole = {}, False
        if whole or block.domain in state:
            expected = {track: stack for track, stack in state.get(block.domain, {}).items() if stack}
            for track in sorted({*expected, *stacks}):
                said, left = stacks.get(track, []), expected.get(track, [])
                depth = next((i for i, pair in enumerate(zip_longest(said, left)) if pair[0] != pair[1]), None)
                if depth is not None:
                    yield block.offset, f"open on track {track}: {said[depth:][:1]} at {depth}, left open {left[depth:][:1]}"
        state[block.domain], previous = stacks, block
        for event in block.content.list:
            advance(stacks, event)


def unbroken(previous, block):
    """Nothing is missing between two blocks, or between the start of the file and a block."""
    number, sequence, holes = (previous.number, previous.sequence, previous.holes) if previous else (-1, -1, 0)
    return block.holes == holes and block.sequence - sequence == block.number - number


def dictionary_rules(trace):
    """Numbers are defined before they are used, and keep their meaning; full dictionaries are full."""
    known, last = {table: {} for table, _ in ENTRIES.values()}, None
    for block in trace.blocks:
        if block.kind == DICTIONARY and block.content is not None:
            if last is None and not block.flags & 1 and not block.holes:
                yield block.offset, "the first dictionary is not full"
            yield from ((block.offset, text) for text in chain(full_rules(block, known), define(trace, block, known)))
            last = block
        for table, numbers in used_by(block).items():
            unknown = sorted(numbers - known[table].keys() - ({0} if table == "strings" else set()))
            if unknown and not block.holes:
                yield block.offset, f"undefined {table}: {unknown[:5]}"
    if trace.trailer and not trace.damage and not (last and last.flags & 1):
        yield trace.size - 32, "the last dictionary of a finished file is not full"


def full_rules(block, known):
    given = {(entry.table, entry.number) for entry in block.content}
    for table in known if block.flags & 1 else ():
        missing = [number for number in known[table] if (table, number) not in given]
        if missing:
            yield f"a full dictionary lacks {table} {missing[:5]}"


def define(trace, block, known):
    for entry in block.content:
        if entry.table is None:
            continue
        old = known[entry.table].get(entry.number, entry.value)
        fixed = entry.value.keys() - MUTABLE - LEARNT.get(entry.table, set()) if isinstance(old, dict) else ()
        if any(old[key] != entry.value[key] for key in fixed) if fixed else old != entry.value:
            yield f"{entry.table} {entry.number} is given a second meaning"
        if entry.table == "strings" and entry.number == 0:
            yield "string 0 is defined"
        if entry.table == "devices" and entry.value["properties"] is None:
            yield f"properties of device {entry.number} are not a MessagePack map"
        if entry.table == "functions" and trace.minor == 0:
            yield f"string {entry.number} is a function, in a file of version 1.0"
        if entry.table == "functions" and entry.number == 0:
            yield "string 0 is a function"
        if entry.rest and trace.minor <= MINOR:
            yield f"{entry.table} {entry.number} has {entry.rest} bytes too many"
        known[entry.table][entry.number] = entry.value


def used_by(block):
    """The numbers that a block uses, by table."""
    if block.content is None:
        return {}
    if block.kind == DICTIONARY:
        used = {}
        for table, number in chain.from_iterable(entry.references for entry in block.content):
            used.setdefault(table, set()).add(number)
        return used
    if block.kind != EVENTS:
        return {}
    events = block.content
    return {"tracks": {segment.track for segment in events.segments}.union(events.open),
            "strings": {one.name for stack in events.open.values() for one in stack}.union(events.values.get(NAME, ())),
            "stacks": set(events.values.get(STACK, ())),
            "clocks": {block.domain}}


def info_rules(trace):
    for block in trace.of_kind(INFO):
        for key, value in block.content.items():
            if not isinstance(value, INFO_TYPES.get(key, object)):
                yield block.offset, f"info key {key} is of the wrong type"
        notes = block.content.get("notes")
        if isinstance(notes, list) and (len(notes) > 64 or len(set(map(str, notes))) < len(notes)
                                        or not all(isinstance(note, str) and len(note.encode()) <= 500 for note in notes)):
            yield block.offset, "notes are too many, too long, repeated or no strings"


def index_rules(trace):
    for block in trace.of_kind(INDEX):
        before = [b for b in trace.blocks if b.offset < block.offset]
        expected = [(b.offset, b.first, b.last, b.lost, b.count, b.stored, b.domain, b.kind, 0, b.flags) for b in before]
        readable = {b.offset for b in before}
        records = [record for record in block.content if record[0] in readable or not trace.damage]
        wrong = [i for i, (record, truth) in enumerate(zip(records, expected)) if record != truth]
        if wrong or len(records) != len(expected):
            yield block.offset, f"{len(records)} index records for {len(expected)} blocks, wrong ones: {wrong[:5]}"
        if block is not trace.blocks[-1]:
            yield block.offset, "the index is not the last block"
    if trace.trailer and not trace.damage:
        last = trace.blocks[-1] if trace.blocks else None
        if not last or (last.kind, last.offset, last.next) != (INDEX, trace.trailer["index"], trace.size - 32):
            yield trace.size - 32, "the trailer does not follow the index that it points to"
    if trace.trailer and trace.trailer["reserved"]:
        yield trace.size - 32, "reserved bytes of the trailer are not 0"
