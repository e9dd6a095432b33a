"""A recorder that is killed with SIGKILL: the program goes on, and nothing that it recorded is gone."""

import re
import signal
import struct
from pathlib import Path

import pytest
from conftest import FAULTS, INFERSCOPE, Place, in_private_mounts, needs_root, number, state_of, wait_for

SAID = re.compile(r"recovered ([\d,]+) events: ([\d,]+) from the unfinished trace and ([\d,]+) from memory; "
                  r"(?:none lost|([\d,]+) had been overwritten or refused)(.*)\n"
                  r"trace in (\S+) \(.*\)\n")


def recover(place, session, *options):
    """What `inferscope recover` does, and what it says it did."""
    result = place.call(INFERSCOPE, "recover", *options, session)
    if result.status == 0:
        match = SAID.fullmatch(result.out)
        assert match, result.out
        result.total, result.from_file, result.from_memory, result.lost = map(number, match.groups()[:4])
        result.rest, result.trace = match.group(5), match.group(6)
        assert result.total == result.from_file + result.from_memory
    return result


class Killed:
    """A recording whose recorder has been killed while its program, which has recorded 2 N + 2 events, waits."""

    def __init__(self, place, count, *options):
        self.place, self.go, self.ended = place, place.folder / "go", place.folder / "ended"
        before = set(place.leftovers())
        script = f'"$@"; echo $? > {self.ended}'
        self.recorder = place.start_recording(*options, "/bin/sh", "-c", script, "sh", FAULTS, "hold", count, self.go)
        assert self.recorder.stdout.readline() == "emitted\n"
        (name,) = set(place.leftovers()) - before
        self.session = place.sessions / name

    def kill(self):
        self.recorder.kill()
        self.recorder.wait()
        return self

    def let_end(self):
        """The program's own output and status are what they would have been."""
        self.go.touch()
        wait_for(lambda: self.ended.exists() and self.ended.read_text() == "0\n", "the program's end")
        assert self.recorder.stdout.read() == "ended\n"
        return self

    def recover(self, *options):
        return recover(self.place, self.session, *options)

    def partial(self):
        (path,) = self.place.folder.glob("trace.sbt.*.partial")
        return path


def completeness(place, path):
    """The verdict on a trace, and what is said of its end."""
    integrity = place.json("analyze", path)["integrity"]
    (check,) = [check for check in integrity["checks"] if check["name"] == "complete"]
    return integrity["verdict"], check["status"], check["detail"]


def test_the_program_goes_on_and_everything_is_recovered(place):
    killed = Killed(place, 20_000).kill().let_end()
    verdict, status, detail = completeness(place, killed.partial())
    assert (verdict, status) == ("degraded", "warning") and "the recording has no end" in detail

    result = killed.recover()

    assert (result.status, result.err) == (0, "")
    assert (result.total, result.lost, result.rest) == (2 * 20_000 + 4, 0, "")
    assert result.trace == str(place.trace_path)
    trace = place.trace().adds_up()
    assert len(trace.events) == 40_004
    assert trace.count("work") == 20_000
    assert trace.unfinished == []
    assert trace.info["recovered"] is True
    assert trace.info["complete"] is False
    assert "exit_status" not in trace.info
    assert len(trace.threads) == 1 and len(trace.processes) == 1
    verdict, status, detail = completeness(place, place.trace_path)
    assert (verdict, status) == ("degraded", "warning") and "it was recovered after its recorder had been killed" in detail
    assert place.leftovers() == [] and list(place.folder.glob("*.partial")) == []


def dead_sessions(place):
    """Those of this test; others on this machine are none of our business."""
    return [dead for dead in place.json("doctor")["dead_sessions"] if dead["folder"].startswith(str(place.sessions))]


def test_doctor_lists_the_dead_session(place):
    killed = Killed(place, 100)
    assert dead_sessions(place) == []  # its recorder lives
    killed.kill().let_end()

    (dead,) = dead_sessions(place)

    assert dead["folder"] == str(killed.session)
    assert dead["processes"] == 1
    assert dead["recorder_process_id"] == killed.recorder.pid
    assert dead["bytes"] >= 64 << 10
    assert str(killed.session) in place.call(INFERSCOPE, "doctor").out
    assert killed.recover().status == 0
    assert dead_sessions(place) == []


@needs_root
def test_doctor_removes_dead_sessions_on_request(place):
    if list(Path("/tmp").glob("inferscope-*")):
        pytest.skip("there are sessions in /tmp that are not this test's")
    place.sessions = place.folder / "sessions"
    place.sessions.mkdir()
    place.env["XDG_RUNTIME_DIR"] = str(place.sessions)
    Killed(place, 100).kill().let_end()
    (place.folder / "living").mkdir()
    living = Killed(Place(place.folder / "living", place.sessions), 100)
    place.started += living.place.started

    result = place.call(*in_private_mounts("mount -t tmpfs none /dev/shm", INFERSCOPE, "doctor", "--remove-dead"))

    assert result.status == 0
    assert "1 removed" in result.out
    assert place.leftovers() == [living.session.name]


def test_a_second_recovery_finds_nothing(place):
    killed = Killed(place, 100).kill().let_end()
    assert killed.recover().status == 0

    result = killed.recover()

    assert result.status == 3
    assert result.out == ""
    assert result.lines == [f"inferscope: cannot open {killed.session}: No such file or directory"]
    assert len(place.trace().events) == 204  # untouched


def test_it_is_refused_while_the_recorder_lives(place):
    killed = Killed(place, 100)

    result = killed.recover()

    assert result.status == 4
    assert result.lines == [f"inferscope: the recorder of {killed.session} is still running"]
    killed.let_end()
    assert killed.recorder.wait(60) == 0
    assert len(place.trace().adds_up().events) == 204


def test_what_still_runs_is_detached(place):
    killed = Killed(place, 100).kill()

    result = killed.recover()

    assert result.status == 0
    assert result.total == 202
    assert "1 process is still running, no longer recorded" in result.rest
    trace = place.trace().adds_up()
    assert trace.unfinished == ["outer", "inner"]
    (process,) = trace.processes.values()
    assert process["flags"] & 3 == 2
    killed.let_end()
    assert place.leftovers() == []


def test_what_wrapped_is_counted(place):
    # The recorder is stopped, so that nothing is drained, and then killed: all but the last megabyte is overwritten.
    go, gate, count = place.folder / "go", place.folder / "gate", 100_000
    script = f"echo up; while ! test -e {gate}; do sleep 0.01; done; exec {FAULTS} hold {count} {go}"
    recorder = place.start_recording("--trace-size-mb", 1, "/bin/sh", "-c", script)
    assert recorder.stdout.readline() == "up\n"
    recorder.send_signal(signal.SIGSTOP)
    wait_for(lambda: state_of(recorder.pid) == "T", "the recorder's stop")
    gate.touch()
    assert recorder.stdout.readline() == "emitted\n"
    recorder.kill()
    recorder.wait()
    go.touch()
    assert recorder.stdout.read() == "ended\n"
    (session,) = place.sessions.glob("inferscope-*")

    result = recover(place, session)

    assert result.total + result.lost == 2 * count + 4
    assert result.from_file == 0
    assert 15 * 2048 <= result.total <= 16 * 2048
    trace = place.trace().adds_up()
    assert trace.info["produced"] == 2 * count + 4
    assert trace.lost == result.lost
    assert {loss.reason for loss in trace.losses} == {1}
    assert trace.unfinished == []


def drained(session, process="p0"):
    """How far the recorder says it has got with the first thread's slots (src/ring/layout.h)."""
    with open(session / process, "rb") as file:
        file.seek(4096 + 64)
        return struct.unpack("<Q", file.read(8))[0]


def flushed(killed, events):
    """Waits until the unfinished trace holds all events and their memory may be reused."""
    wait_for(lambda: drained(killed.session) == events, "events in the file")
    return killed.partial()


@pytest.mark.parametrize("damage", ["missing", "empty", "header", "cut", "garbage"])
def test_with_a_damaged_partial_trace(place, damage):
    killed = Killed(place, 2000)
    path = flushed(killed, 4002)
    killed.kill().let_end()
    data = path.read_bytes()
    first_events = data.index(b"SBTB\x01")
    if damage == "missing":
        path.unlink()
    else:
        path.write_bytes({"empty": b"", "header": bytes(64) + data[64:], "cut": data[:first_events + 80],
                          "garbage": bytes(range(256)) * 40}[damage])

    result = killed.recover()

    # All slots are still in memory: the ring had not come round.
    assert result.status == 0
    assert result.total == 4004
    assert result.lost == 0
    trace = place.trace().adds_up()
    assert len(trace.events) == 4004
    assert trace.count("work") == 2000
    assert place.leftovers() == []


def test_to_another_file(place):
    killed = Killed(place, 50).kill().let_end()
    other = place.folder / "other.sbt"

    result = killed.recover("--trace", other)

    assert result.status == 0 and result.trace == str(other)
    assert len(place.trace(other).adds_up().events) == 104
    assert not place.trace_path.exists()
    assert list(place.folder.glob("*.partial")) == []


def test_an_older_trace_is_kept(place):
    place.trace_path.write_text("older")
    killed = Killed(place, 50).kill().let_end()

    assert killed.recover().status == 0

    assert len(place.trace().events) == 104
    assert (place.folder / "trace.sbt.old").read_text() == "older"


def test_where_it_cannot_be_written_nothing_is_touched(place):
    killed = Killed(place, 50).kill().let_end()

    result = killed.recover("--trace", place.folder / "no" / "such" / "folder.sbt")

    assert result.status == 4 and len(result.lines) == 1
    assert place.leftovers() == [killed.session.name] and killed.partial().exists()
    assert killed.recover().total == 104  # and can still be had


@pytest.mark.parametrize("options", [("--last", 60), ("--max-file-mb", 8)])
def test_of_a_bounded_recording(place, options):
    killed = Killed(place, 5000, *options)
    flushed(killed, 10_002)
    killed.kill().let_end()

    result = killed.recover()

    assert (result.total, result.lost) == (10_004, 0)
    assert len(place.trace().adds_up().events) == 10_004
    assert list(place.folder.glob("trace.sbt.*")) == []


def test_of_a_bounded_recording_that_dropped_its_oldest_part(place):
    # 1 MB of trace in segments of a quarter; what is left of them and the rings become one trace.
    go = place.folder / "go"
    script = f"{FAULTS} noise 15000 400 && exec {FAULTS} hold 1000 {go}"
    recorder = place.start_recording("--max-file-mb", 1, "/bin/sh", "-c", script)
    assert recorder.stdout.readline() == "emitted\n"
    (session,) = place.sessions.glob("inferscope-*")
    wait_for(lambda: drained(session, "p1") == 2002, "events in the file")
    assert len(list(place.folder.glob("trace.sbt.*.partial.*"))) > 1
    recorder.kill()
    recorder.wait()
    go.touch()
    assert recorder.stdout.read() == "ended\n"

    result = place.call(INFERSCOPE, "recover", session)

    assert result.status == 0, result.err
    trace = place.trace()
    assert trace.info["recovered"] is True
    kept = [event.metadata["i"] for event in trace.events if event.metadata]
    assert kept == list(range(kept[0], 15_000)) and kept[0] > 0  # each once, the newest
    assert len(trace.events) == len(kept) + 2 + 2004
    assert sum(loss.count for loss in trace.losses if loss.reason == 7) == kept[0] + 2
    assert trace.count("work") == 1000
    assert trace.unfinished == []
    assert sorted(path.name for path in place.folder.iterdir()) == ["go", "trace.sbt"]


def test_not_a_session_folder(place):
    place.folder.chmod(0o700)
    for folder, words in ((place.folder, "has no session page"), (place.folder / "none", "No such file or directory")):
        result = place.call(INFERSCOPE, "recover", folder)
        assert result.status == 3
        assert len(result.lines) == 1 and words in result.err


def test_without_a_folder(place):
    result = place.call(INFERSCOPE, "recover")

    assert result.status == 2
    assert "doctor" in result.err
