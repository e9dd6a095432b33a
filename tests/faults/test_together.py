"""Several recordings into one folder: at the same time, one after the other, and beside what a killed one has left."""

import json
import signal

import pytest
from conftest import FAULTS, INFERSCOPE, Trace, needs_root, wait_for


def start(place, number, *options, command="run"):
    """Records 2 * number + 2 events, and goes on until all have begun and one file more is there."""
    script = f"{FAULTS} scopes {number} exit; : >begun.{number}; until [ -e go ]; do sleep 0.02; done"
    return place.start(INFERSCOPE, command, *options, "--", "/bin/sh", "-c", script)


def finish_together(place, processes):
    wait_for(lambda: len(list(place.folder.glob("begun.*"))) == len(processes), "all programs recording")
    (place.folder / "go").touch()
    return [place.finish(process) for process in processes]


def check_each(place, results):
    """Each says the name of its own trace, and all of them are there."""
    names = [result.closing["trace"] for result in results]
    for number, name in enumerate(names, 1):
        trace = Trace(place.folder / name).adds_up()
        assert len(trace.events) == 2 * number + 2
    assert sorted(names) == sorted(["trace.sbt"] + [f"trace.{i}.sbt" for i in range(2, len(results) + 1)])
    assert sorted(path.name for path in place.folder.glob("trace*")) == sorted(names)
    return names


def test_four_that_end_together(tidy):
    kinds = [("run",), ("run", "--max-file-mb", "4"), ("run", "--last", "60"), ("monitor", "--plain", "--report", "report.json")]
    processes = [start(tidy, number, *options, "--report", "report.json", command=command)
                 for number, (command, *options) in enumerate(kinds, 1)]

    names = check_each(tidy, finish_together(tidy, processes))

    reports = {path.name: json.loads(path.read_text()) for path in tidy.folder.glob("report*")}
    assert sorted(reports) == sorted(name.replace("trace", "report").replace("sbt", "json") for name in names)
    for number, name in enumerate(names, 1):
        report = reports[name.replace("trace", "report").replace("sbt", "json")]
        assert (report["trace"]["path"], report["trace"]["events"]) == (name, 2 * number + 2)


def test_twenty_that_end_together(tidy):
    check_each(tidy, finish_together(tidy, [start(tidy, number) for number in range(1, 21)]))


def test_one_after_the_other(tidy):
    for number in range(1, 5):
        assert tidy.record(FAULTS, "scopes", number, "exit").closing["trace"] == "trace.sbt"

    files = {path.name: len(Trace(path).events) for path in tidy.folder.glob("trace*")}
    assert files == {"trace.sbt": 10, "trace.sbt.old": 8, "trace.sbt.2.old": 4, "trace.sbt.3.old": 6}


def test_what_a_killed_recorder_left_is_recovered_beside_others(place):
    killed, other = start(place, 1), start(place, 2)
    wait_for(lambda: len(list(place.folder.glob("begun.*"))) == 2, "both programs recording")
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    (place.folder / "go").touch()
    assert place.finish(other).closing["trace"] == "trace.sbt"
    (session,) = place.leftovers()

    result = place.call(INFERSCOPE, "recover", place.sessions / session)

    assert result.status == 0
    assert {path.name: len(Trace(path).events) for path in place.folder.glob("trace*")} == {"trace.sbt": 4, "trace.sbt.old": 6}


@needs_root
def test_containers_have_the_same_process_numbers(tidy):
    """Each has a recorder of the same number, so they want the same name for what is not finished yet."""
    unshare = ["unshare", "--pid", "--fork", "--mount-proc"]
    if tidy.call(*unshare, "true").status != 0:
        pytest.skip("cannot make a pid namespace here")
    script = "{} scopes {} exit; : >begun.{}; until [ -e go ]; do sleep 0.02; done"
    processes = [tidy.start(*unshare, INFERSCOPE, "run", "/bin/sh", "-c", script.format(FAULTS, number, number)) for number in (1, 2)]

    check_each(tidy, finish_together(tidy, processes))
