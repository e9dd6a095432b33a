"""--max-file-mb and --last: the newest part of a long run, whole, and nothing of it before it is whole."""

import pytest
import sbt
from conftest import FAULTS


def kept_marks(trace):
    return [event.metadata["i"] for event in trace.events if event.metadata]


def dropped(trace):
    return sum(loss.count for loss in trace.losses if loss.reason == 7)


def test_the_file_stays_below_the_bound(tidy):
    count = 40_000  # 6.5 MB

    result = tidy.record("--max-file-mb", 2, FAULTS, "noise", count, 600)

    assert result.status == 0
    assert 3 << 18 < tidy.trace_path.stat().st_size <= 2 << 20  # a quarter goes at a time, and what is left is joined to less
    assert sorted(path.name for path in tidy.folder.iterdir()) == ["trace.sbt"]
    trace = tidy.trace()
    kept = kept_marks(trace)
    assert kept == list(range(kept[0], count))  # the newest, none missing in between
    assert len(trace.events) + trace.lost == count + 4 == trace.info["produced"]
    assert dropped(trace) == kept[0] + 2  # the marks before, and the begins of the two scopes
    assert result.closing["dropped"] == dropped(trace)
    assert result.closing["events"] == len(trace.events)
    assert (result.closing["lost"], trace.info["lost"]) == (0, 0)


def test_enclosing_scopes_are_known_after_their_begin_was_dropped(tidy):
    tidy.record("--max-file-mb", 1, FAULTS, "noise", 20_000, 400)

    trace = tidy.trace()

    assert dropped(trace) > 0
    first = min(event.time for event in trace.events)
    slices = {trace.name(one.name): one for one in trace.slices}
    assert set(slices) == {"epoch", "step"}
    assert slices["epoch"].begin <= slices["step"].begin < first  # begun before anything that is left
    assert all(one.end is not None for one in slices.values())
    assert (slices["epoch"].depth, slices["step"].depth) == (0, 1)
    assert {event.depth for event in trace.events if event.metadata} == {2}
    info = tidy.json("info", tidy.trace_path)
    assert {scope["name"] for scope in info["scopes"]} == {"epoch", "step"}
    assert info["lost_by_reason"] == {next(iter(info["lost_by_reason"])): dropped(trace)}


def test_a_bound_that_is_not_reached_drops_nothing(tidy):
    result = tidy.record("--max-file-mb", 50, "--last", 3600, FAULTS, "noise", 3000, 50)

    assert result.closing["events"] == 3004 and result.closing["dropped"] == 0
    assert kept_marks(tidy.trace().adds_up()) == list(range(3000))


def test_the_last_second(tidy):
    script = f"{FAULTS} paced 20 2500; exec {FAULTS} scopes 5 exit"

    result = tidy.record("--last", 1, "/bin/sh", "-c", script)

    assert result.status == 7
    trace = tidy.trace()
    produced = 2 * 20 * 2500 + 12
    assert trace.info["produced"] == produced
    assert len(trace.events) + trace.lost == produced
    assert 0 < result.closing["dropped"] == dropped(trace)
    assert trace.unfinished == ["outer", "inner"]
    times = [event.time for event in trace.events]
    assert trace.sbt.ns(max(times)) - trace.sbt.ns(min(times)) >= 1_000_000_000
    assert sorted(path.name for path in tidy.folder.iterdir()) == ["trace.sbt"]


def test_a_track_that_is_idle_keeps_its_names(tidy):
    # The first process's events are long gone when the last one ends; those that are left have all they refer to.
    script = f"{FAULTS} scopes 50 exit; {FAULTS} noise 12000 200; {FAULTS} noise 12000 200"

    assert tidy.record("--max-file-mb", 1, "/bin/sh", "-c", script).status == 0

    trace = tidy.trace()
    assert dropped(trace) > 102
    assert {trace.name(event.name) for event in trace.events if event.metadata} == {"noise"}
    assert all(trace.threads[event.track] for event in trace.events)


def test_the_file_appears_when_it_is_whole(place):
    place.trace_path.write_text("older")
    recorder = place.start_recording("--max-file-mb", 1, FAULTS, "noise", 30_000, 500)
    seen = set()
    while recorder.poll() is None:
        seen |= {path.name.replace(str(recorder.pid), "PID") for path in place.folder.iterdir()}
        try:
            data = place.trace_path.read_bytes()
        except FileNotFoundError:  # for a moment, between two renames
            continue
        assert data == b"older" or sbt.read(data).trailer

    assert recorder.returncode == 0
    assert {"trace.sbt", "trace.sbt.PID.partial"} <= seen
    assert any(name.startswith("trace.sbt.PID.partial.") for name in seen)  # segments
    assert (place.folder / "trace.sbt.old").read_text() == "older"
    assert sorted(path.name for path in place.folder.iterdir()) == ["trace.sbt", "trace.sbt.old"]
    assert kept_marks(place.trace())[-1] == 29_999


def test_an_older_trace_becomes_old(tidy):
    for count in (10, 20, 30):
        tidy.record(FAULTS, "scopes", count, "exit")

    assert len(tidy.trace().events) == 62
    assert len(tidy.trace(tidy.folder / "trace.sbt.old").events) == 42
    assert len(tidy.trace(tidy.folder / "trace.sbt.2.old").events) == 22  # younger than a minute
    assert sorted(path.name for path in tidy.folder.iterdir()) == ["trace.sbt", "trace.sbt.2.old", "trace.sbt.old"]


def test_the_program_changes_its_folder(tidy):
    # Where the trace goes is settled at the start.
    result = tidy.record("/bin/sh", "-c", f"cd /; {FAULTS} scopes 10 exit")

    assert result.status == 7
    assert len(tidy.trace().adds_up().events) == 22


def test_the_folder_of_the_trace_goes_away(place):
    there = place.folder / "there"
    there.mkdir()

    script = f"{FAULTS} scopes 10 exit; rm -r {there}; exit 12"

    result = place.record("--trace", there / "trace.sbt", "/bin/sh", "-c", script)

    assert result.status == 12
    assert "the trace is not whole" in result.err
    assert place.leftovers() == []


@pytest.mark.parametrize("link", ["file", "dangling"])
def test_a_link_in_place_of_the_trace(tidy, link):
    other = tidy.folder / "other"
    if link == "file":
        other.write_text("mine")
    tidy.trace_path.symlink_to(other)

    assert tidy.record(FAULTS, "scopes", 10, "exit").status == 7

    assert not tidy.trace_path.is_symlink()  # replaced, not followed
    assert len(tidy.trace().events) == 22
    assert not other.exists() if link == "dangling" else other.read_text() == "mine"
