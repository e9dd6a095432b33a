"""`run --wait-all`: what the program leaves running is recorded and waited for, until it ends or somebody has enough of it."""

import os
import signal
import time

import pytest
from conftest import FAULTS, INFERSCOPE, wait_for

LATER = "(setsid sh -c 'sleep 0.5; : >late' >/dev/null 2>&1 &); exit 4"  # twice forked, in a session of its own


def start_daemon(place, note, *options):
    process = place.start_recording("--wait-all", *options, FAULTS, "daemon", note, 1000)
    wait_for(lambda: note.exists() and note.read_text() == "recorded\nalive\n", "the daemon outliving its parent")
    return process


def test_a_daemon_is_recorded_to_its_end(tidy):
    note = tidy.folder / "note"
    process = start_daemon(tidy, note)
    time.sleep(0.2)
    assert process.poll() is None
    (tidy.folder / "note.go").touch()

    result = tidy.finish(process)

    assert result.status == 0 and note.read_text() == "recorded\nalive\ndone\n"
    assert result.closing["processes"] == 2 and len(result.lines) == 1
    trace = tidy.trace().adds_up()
    assert len(trace.events) == 6001 and trace.unfinished == ["serving"]  # without it 4001
    assert "program" not in trace.info or "running" not in trace.info["program"]
    assert [process["flags"] & 3 for process in trace.processes.values()] == [1, 1]


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_ends_the_waiting_and_the_trace_is_whole(place, name):
    note = place.folder / "note"
    process = start_daemon(place, note, "--report", "report.json")
    time.sleep(0.4)  # what comes sooner is taken to be the program's
    (os.killpg if name == "SIGINT" else os.kill)(process.pid, signal.Signals[name])

    result = place.finish(process)

    trace = place.trace().adds_up()
    (running,) = trace.info["program"]["running"]
    assert result.status == 0 and trace.info["complete"] is True
    assert f"1 process still runs and is no longer recorded: {running['name']} ({running['pid']})" in " ".join(result.err.split())
    assert "--wait-all" not in result.err and "stopped the analysis" not in result.err
    assert (place.folder / "report.json").exists()
    (place.folder / "note.go").touch()
    wait_for(lambda: note.read_text() == "recorded\nalive\ndone\n", "the daemon going on")


def test_who_waits_says_so(tidy):
    process = tidy.start_recording("--wait-all", "/bin/sh", "-c", "(sleep 30 >/dev/null 2>&1 &); exit 3")

    line = process.stderr.readline()
    process.send_signal(signal.SIGTERM)
    result = tidy.finish(process)

    assert line.startswith("inferscope: the program has ended, and what it has left running is recorded and waited for: sleep (")
    assert line.endswith("); Ctrl-C ends that\n")
    assert result.status == 3
    os.kill(int(line[line.index("sleep (") + 7:line.index(");")]), signal.SIGKILL)


def test_who_never_attaches_is_waited_for_too_as_the_settings_say(tidy):
    (tidy.folder / ".inferscope.yaml").write_text("wait_all: true\n")

    result = tidy.record("/bin/sh", "-c", LATER)

    assert result.status == 4 and (tidy.folder / "late").exists()


def test_a_program_that_was_told_to_end_ends_the_recording(place):
    """`timeout` sends SIGTERM once, whatever the program makes of it."""
    script = f"{FAULTS} daemon note 10; trap 'exit 0' TERM; : >begun; while :; do sleep 0.02; done"
    process = place.start_recording("--wait-all", "/bin/sh", "-c", script)
    wait_for((place.folder / "begun").exists, "the program to have begun")
    process.send_signal(signal.SIGTERM)

    result = place.finish(process)

    assert result.status == 0 and "still runs" in result.err
    (place.folder / "note.go").touch()


def test_others_are_not_waited_for(tidy):
    """Children that the shell had before it became us, and those that are ours: the one in the group, the page's."""
    begin = time.monotonic()

    result = tidy.call("/bin/sh", "-c", f"sleep 5 >/dev/null 2>&1 & exec {INFERSCOPE} monitor --plain --web 127.0.0.1:0 --wait-all /bin/sh -c 'exit 6'")

    assert result.status == 6 and time.monotonic() - begin < 4
