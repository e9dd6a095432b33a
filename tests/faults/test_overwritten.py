"""A program that writes over the memory it is recorded with: that costs the recorder no time, and nothing absurd is said."""

import os
import re
import signal
import struct

import pytest
from conftest import FAULTS, INFERSCOPE

NUMBERS_GIVEN, REFUSED = 196, 200  # in the session's page (src/ring/layout.h)
NAMES_REFUSED, FUNCTIONS, NO_RING, SHORT_NS = 2192, 2200, 2216, 2224  # in a process's file
SENTENCE = "the program has written over the memory that it is recorded with"


def write(path, offset, form, value):
    with open(path, "r+b") as file:
        file.seek(offset)
        file.write(struct.pack(form, value))


def overwrite(place, given, refused):
    (session,) = place.sessions.glob("inferscope-*")
    write(session / "session", NUMBERS_GIVEN, "<I", given)
    write(session / "session", REFUSED, "<Q", refused)
    write(session / "p0", NAMES_REFUSED, "<Q", 2**62)
    write(session / "p0", FUNCTIONS, "<Q", 2**64 - 1)
    write(session / "p0", NO_RING, "<Q", 2**56)
    write(session / "p0", SHORT_NS, "<Q", 2**63 - 1)
    return session


def processor_time(pid):
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize("given, refused", [(0x7fffffff, 2**31 - 1), (2**32 - 1, 0), (1 << 20, 3), (0, 1000)])
def test_it_costs_nothing_and_is_said(tidy, given, refused):
    recorder = tidy.start_recording(FAULTS, "hold", 500, tidy.folder / "go")
    assert recorder.stdout.readline() == "emitted\n"
    before = processor_time(recorder.pid)

    overwrite(tidy, given, refused)
    (tidy.folder / "go").touch()
    _, status, usage = os.wait4(recorder.pid, 0)
    err, recorder.returncode = recorder.stderr.read(), os.waitstatus_to_exitcode(status)

    assert recorder.returncode == 0
    assert usage.ru_utime + usage.ru_stime - before < 0.5, "the recorder worked for nothing"
    assert SENTENCE in err and "could not be recorded" not in err and "calls below" not in err
    assert "1,004 events of 1 process and 1 thread, none lost" in err
    trace = tidy.trace().adds_up()
    assert any(SENTENCE in note for note in trace.info["notes"])
    assert trace.info["refused_processes"] == 0 and trace.info["names_refused"] == 0


def test_of_a_recorder_that_was_killed(place):
    recorder = place.start_recording(FAULTS, "hold", 500, place.folder / "go")
    assert recorder.stdout.readline() == "emitted\n"
    recorder.send_signal(signal.SIGKILL)
    recorder.wait()
    session = overwrite(place, 0x7fffffff, 2**40)

    assert re.search(r"\b1 process(es)?\b", place.call(INFERSCOPE, "doctor").out)
    recovery = place.start(INFERSCOPE, "recover", session)
    _, status, usage = os.wait4(recovery.pid, 0)
    recovery.returncode = os.waitstatus_to_exitcode(status)

    assert recovery.returncode == 0 and usage.ru_utime + usage.ru_stime < 1
    assert SENTENCE in recovery.stderr.read() and "none lost" in recovery.stdout.read()
    assert len(place.trace().adds_up().events) == 1002
    (place.folder / "go").touch()
