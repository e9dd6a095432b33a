"""Programs that are hard to record, each a behaviour of tests/programs/workload: nothing crashes, everything is counted."""

from collections import Counter

import pytest

from recording import BEGIN, COUNTER, END, FLOW, INSTANT, NAMES, REENTRY, SCOPE, has_behaviour, record


def in_this_build(name):
    if not has_behaviour(name):
        pytest.skip(f"{name} is not in this build (tests/programs/workload.h)")


@pytest.mark.parametrize("command", [
    ("scopes", 100000), ("metadata",), ("dynamic-names",), ("errno",), ("fill-memory",), ("threads", 1000),
    ("threads-at-once", 500), ("fork", 100), ("_Fork",), ("clone",), ("vfork",), ("exec",), ("sigchld-ignored",),
    ("daemon",)], ids=lambda command: command[0])
def test_nothing_is_lost(tmp_path, command):
    in_this_build(command[0])
    recording = record(tmp_path, *command)
    assert recording.status == 0
    assert recording.losses == []
    assert len(recording.events) == recording.said("events")
    assert len(recording.trace.processes) == recording.said("processes")
    assert len(recording.threads()) == recording.said("threads")


def test_every_kind(tmp_path):
    recording = record(tmp_path, "kinds")
    events = [(e.kind, e.phase, recording.name(e), e.depth, e.value, e.flow, e.metadata) for e in recording.events]
    nothing = (None, None, None)
    most = (1 << 64) - 1
    assert events == [
        (SCOPE, BEGIN, "scope", 0, *nothing),
        (INSTANT, 3, "plain", 1, *nothing),
        (INSTANT, 3, "with", 1, None, None, {"tokens": 1024, "language": "en", "warm": True, "cold": False}),
        (INSTANT, 3, "values", 1, None, None, {"half": 0.5, "least": -1 << 63}),
        (COUNTER, 3, "queue", 1, 2.5, None, None),
        (SCOPE, 4, "request", 1, None, 7, None),
        (FLOW, 6, "batch", 1, None, most, None),
        (FLOW, 7, "batch", 1, None, most, None),
        (SCOPE, 5, "request", 1, None, 7, None),
        (SCOPE, END, "", 0, *nothing),
        (SCOPE, END, "", 65535, *nothing)]
    track, = recording.threads().values()
    assert recording.trace.strings[track["name"]] == "kinds"


def test_metadata_fits_or_is_left_out(tmp_path):
    recording = record(tmp_path, "metadata", 1100)
    sizes = [len(event.metadata["text"]) for event in recording.events if "text" in event.metadata]
    assert sizes == list(range(len(sizes))) and 950 < len(sizes) < 1008
    assert [event.metadata["size"] for event in recording.events] == list(range(1100))


def test_a_million_names(tmp_path):
    recording = record(tmp_path, "names", 1000000)
    names = Counter(map(recording.name, recording.events))
    refused = recording.lost(NAMES)
    assert len(recording.events) == recording.said() == 1000001
    assert names["[too many names]"] == refused == recording.trace.info["names_refused"]
    assert len(names) == 131070 + 1 and recording.trace.lost == 0
    assert refused == 1000001 - 131070


def test_long_names_are_cut(tmp_path):
    recording = record(tmp_path, "long-names")
    assert [recording.name(event) for event in recording.events] == ["é" * 500, "x" + "é" * 499, "[no name]"]


def test_destructors_and_exit_handlers(tmp_path):
    recording = record(tmp_path, "destructors", 64)
    said = recording.out.splitlines()[-1]  # the last handler's
    names = Counter(map(recording.name, recording.events))
    assert recording.losses == []
    assert f"events={len(recording.events)} " in said
    assert names["atexit"] == 1 and names["thread_local"] == 32 and names["thread"] == 48
    assert len(recording.threads()) == 65


def test_generations_share_names(tmp_path):
    recording = record(tmp_path, "generations", 20)
    assert len(recording.events) == 210 and recording.losses == []
    for events in recording.by_track().values():
        assert [recording.name(event) for event in events] == [f"generation-{i}" for i in range(len(events))]
    parents = [process["parent"] for _, process in sorted(recording.trace.processes.items())]
    assert parents == [None, *range(19)]


def test_a_new_thread_is_first_in_a_child(tmp_path):
    recording = record(tmp_path, "fork-then-thread")
    assert len(recording.events) == recording.said() == 10001 and recording.losses == []
    marks = {frozenset(map(recording.name, events)): len(events) for events in recording.by_track().values()}
    assert marks == {frozenset({"parent"}): 1, frozenset({"new thread"}): 5000, frozenset({"forked thread"}): 5000}


def test_a_child_starts_outside_of_scopes(tmp_path):
    recording = record(tmp_path, "first-calls")
    assert len(recording.events) == recording.said() == 11
    first = [events[0] for _, events in sorted(recording.by_track().items()) if len(events) == 1]
    assert [event.depth for event in first] == [0, 0, 0, 0, 65535]


@pytest.mark.parametrize("number", [9, 11, 6, 15])
def test_death_by_signal(tmp_path, number):
    recording = record(tmp_path, "kill", number)
    assert recording.status == 128 + number == recording.trace.info["exit_status"]
    assert len(recording.events) == recording.said() == 4001 and recording.losses == []
    assert [recording.trace.strings[one.name] for one in recording.trace.slices() if one.end is None] == ["never ended"]


def test_exit_without_handlers(tmp_path):
    recording = record(tmp_path, "_exit", 3)
    assert recording.status == 3
    assert len(recording.events) == recording.said() == 4001


def test_handlers_that_emit(tmp_path):
    recording = record(tmp_path, "timer", 2000)
    assert len(recording.events) + recording.lost(REENTRY) == recording.said()
    assert recording.lost(REENTRY) == recording.trace.lost


def test_handlers_that_jump(tmp_path):
    """An event whose call was jumped out of may be there or not; what comes after is."""
    recording = record(tmp_path, "jump", 300)
    assert recording.said() <= len(recording.events) <= recording.said() + 300
    assert recording.losses == []


def test_a_handler_at_every_instruction(tmp_path):
    in_this_build("step-emit")
    recording = record(tmp_path, "step-emit")
    assert recording.status == 0
    assert len(recording.events) + recording.lost(REENTRY) == recording.said()


def test_a_fork_at_every_instruction(tmp_path):
    """Children that return into the interrupted call survive, and do their parent no harm."""
    in_this_build("step-fork")
    recording = record(tmp_path, "step-fork", 3)
    names = Counter(map(recording.name, recording.events))
    processes = len(recording.trace.processes)
    (root,) = (number for number, process in recording.trace.processes.items() if process["parent"] is None)
    (parent,) = (events for number, events in recording.by_track().items() if recording.trace.tracks[number]["process"] == root)
    assert recording.status == 0 and recording.losses == []
    assert names["child"] == processes - 1
    assert len(parent) == recording.said() - names["child"]
    assert recording.said() <= len(recording.events) <= recording.said() + processes - 1


def test_a_jump_at_every_instruction(tmp_path):
    in_this_build("step-jump")
    recording = record(tmp_path, "step-jump")
    names = Counter(map(recording.name, recording.events))
    assert names["after the jump"] == recording.said()
    assert recording.losses == []


@pytest.mark.parametrize("overflow", ["wrap", "discard", "block"])
def test_a_small_budget(tmp_path, overflow):
    recording = record(tmp_path, "scopes", 500000, options=("--trace-size-mb", "1", "--overflow", overflow))
    assert len(recording.events) + recording.trace.lost == recording.said() == 2000000


def test_a_thread_without_room(tmp_path):
    """A second thread finds the budget taken.  What it is called is no event, and not counted as a lost one."""
    recording = record(tmp_path, "after-burst", 200000, options=("--trace-size-mb", "1", "--overflow", "discard"))
    assert len(recording.events) + recording.trace.lost == recording.said() == 800100
    assert "worker" in [recording.trace.strings.get(track["name"]) for track in recording.threads().values()]


def test_a_burst_does_not_keep_its_memory(tmp_path):
    """A thread took the whole budget once.  When it rests, other threads and processes get their share."""
    recording = record(tmp_path, "after-rest", 200000, options=("--trace-size-mb", "1"))
    assert len(recording.events) + recording.trace.lost == recording.said() == 800200
    assert sorted(map(len, recording.by_track().values()))[:2] == [100, 100]
    losers = {recording.trace.tracks[loss.track]["id"] for loss in recording.losses}
    assert len(losers) <= 1


def test_memory_that_is_taken_away(tmp_path):
    recording = record(tmp_path, "cut-short", 1000)
    assert recording.status == 0
    assert len(recording.events) == recording.said() == 4000
