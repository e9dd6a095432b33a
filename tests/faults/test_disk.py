"""Where the trace cannot be made the program is not started; where the disk fills up it goes on unharmed."""

import os
import re
import socket
import stat

import pytest
from conftest import AS_NOBODY, FAULTS, INFERSCOPE, in_private_mounts, needs_root, open_to_others


def not_started(place, result, words):
    assert result.status == 4
    assert result.out == ""
    assert len(result.lines) == 1 and words in result.lines[0], result.err
    assert not (place.folder / "started").exists()
    assert place.leftovers() == []
    assert list(place.folder.glob("*.partial*")) == []


def test_the_folder_does_not_exist(place):
    result = place.record("--trace", "no/such/trace.sbt", "/bin/touch", "started")

    not_started(place, result, "cannot create the trace no/such/trace.sbt: No such file or directory")


def test_the_path_is_a_directory(place):
    (place.folder / "here").mkdir()

    result = place.record("--trace", "here", "/bin/touch", "started")

    not_started(place, result, "here: it is a directory")
    assert list((place.folder / "here").iterdir()) == []


def test_part_of_the_path_is_a_file(place):
    (place.folder / "file").write_text("x")

    not_started(place, place.record("--trace", "file/trace.sbt", "/bin/touch", "started"), "Not a directory")


@pytest.mark.parametrize("kind", ["device", "pipe", "socket"])
def test_the_path_is_not_a_file(place, kind):
    path = place.folder / "odd"
    if kind == "device":
        path = "/dev/null"
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        socket.socket(socket.AF_UNIX).bind(os.path.relpath(path))
    before = os.stat(path).st_mode

    result = place.record("--trace", path, "/bin/touch", "started")

    not_started(place, result, f"{path}: it is not a regular file")
    assert stat.S_IFMT(os.stat(path).st_mode) == stat.S_IFMT(before)


def test_the_path_is_too_long(place):
    not_started(place, place.record("--trace", "x" * 300, "/bin/touch", "started"), "File name too long")
    not_started(place, place.record("--trace", "x/" * 2500 + "y", "/bin/touch", "started"), "too long")


@needs_root
def test_a_read_only_folder(place):
    there = place.folder / "there"
    there.mkdir()

    result = place.call(*in_private_mounts(f"mount -t tmpfs -o ro none {there}", INFERSCOPE, "run", "--trace",
                                           there / "trace.sbt", "/bin/touch", "started"))

    not_started(place, result, "Read-only file system")


@needs_root
def test_a_folder_of_somebody_else(place):
    folder = open_to_others(place) / "closed"
    folder.mkdir()

    result = place.call(*AS_NOBODY, INFERSCOPE, "run", "/bin/touch", "started", cwd=folder)

    not_started(place, result, "Permission denied")
    assert list(folder.iterdir()) == []


@needs_root
def test_a_disk_that_is_full_from_the_start(place):
    there = place.folder / "there"
    there.mkdir()
    script = f"mount -t tmpfs -o size=64k none {there}; dd if=/dev/zero of={there}/fill bs=4k 2> /dev/null || true"

    result = place.call(*in_private_mounts(script, INFERSCOPE, "run", "--trace", there / "trace.sbt", "/bin/touch",
                                           "started"))

    not_started(place, result, "No space left on device")


def record_on(place, size, *arguments, command="run"):
    """Records with the trace on a tmpfs of that size. That goes with its namespace, so what is there is copied out."""
    there = place.folder / "there"
    there.mkdir()
    then = f"status=$?; cp {there}/trace.sbt {place.trace_path}; ls -A {there} > {place.folder}/left; exit $status"
    mount = f"mount -t tmpfs -o size={size} none {there}"
    return place.call(*in_private_mounts(mount, "sh", "-c", f'"$@"; {then}', "sh",
                                         INFERSCOPE, command, "--trace", there / "trace.sbt", *arguments))


@needs_root
@pytest.mark.parametrize("options", [(), ("--max-file-mb", 64), ("--max-file-mb", 2), ("--last", 600)])
def test_a_disk_that_fills_up(place, options):
    count = 15_000  # 2.5 MB
    script = f"{FAULTS} noise {count} 300; echo program: $?; exit 11"

    result = record_on(place, "1m", *options, "/bin/sh", "-c", script)

    assert result.status == 11
    assert result.out == "program: 0\n"
    (message,) = [line for line in result.lines if "the trace is not whole" in line]
    assert "No space left on device" in message
    assert f"{result.closing['lost']:,} events could not be written" in message
    assert len(result.lines) == 2  # and the closing line
    assert (place.folder / "left").read_text() == "trace.sbt\n"
    trace = place.trace()
    assert trace.sbt.damage == []  # what could not be written was cut off cleanly
    kept = [event.metadata["i"] for event in trace.events if event.metadata]
    assert kept == sorted(set(kept)) and kept[:1000] == list(range(1000)) and len(kept) < count
    assert {loss.reason for loss in trace.losses} == {6}
    assert trace.lost == trace.info["lost"] == trace.info["unwritten"] == result.closing["lost"]
    assert trace.info["complete"] and trace.info["trouble"] == "cannot write to the trace file: No space left on device"
    assert result.closing["events"] + result.closing["lost"] == count + 4
    assert result.closing["events"] == len(trace.events)
    assert place.leftovers() == []
    info = place.json("info", place.trace_path)
    assert info["events"] - len(trace.losses) == len(trace.events) and info["lost"] == trace.lost
    integrity = place.json("analyze", place.trace_path)["integrity"]
    (check,) = [check for check in integrity["checks"] if check["name"] == "complete"]
    assert integrity["verdict"] == "poor" and check["status"] == "failed" and check["count"] == trace.lost
    assert f"{trace.lost:,} events could not be written (cannot write to the trace file: No space" in check["detail"]


@needs_root
def test_a_disk_that_fills_up_is_told_at_once(place):
    result = record_on(place, "1m", "--plain", "--interval", "0.1", "/bin/sh", "-c", f"{FAULTS} noise 15000 300; sleep 1.3; exit 11", command="monitor")

    assert result.status == 11
    told = re.findall(r"(?m)alert (\S+) events_lost: Events are lost, [\d,]+ so far: (.*?)(?: -> .*)?$", result.err)
    assert told == [(word, "cannot write to the trace file: No space left on device") for word in ("critical", "ended")]
    shown = [int(lost) for lost in re.findall(r"(?m)^ *\d+\.\d s  cpu.* lost (\d+)$", result.err)]
    assert shown and shown[-1] == result.closing["lost"] > 1000


@needs_root
def test_a_disk_that_is_full_for_a_while(place):
    # Somebody else fills the disk and makes room again: what was written in between is missing, and counted.
    there, count = place.folder / "there", 12_000
    fill = f"dd if=/dev/zero of={there}/fill bs=4k 2> /dev/null"
    script = f"{FAULTS} scopes 10 exit; {fill}; {FAULTS} noise {count} 100; rm {there}/fill; {FAULTS} scopes 500 exit"

    result = record_on(place, "1m", "/bin/sh", "-c", script)

    assert result.status == 7
    trace = place.trace().adds_up()
    assert trace.info["produced"] == 22 + count + 4 + 1002
    assert trace.count("work") >= 500
    assert {loss.reason for loss in trace.losses} == {6}
    assert 0 < trace.lost == result.closing["lost"]
    assert trace.info["complete"] is True


def test_a_limit_on_the_size_of_files(place):
    # Reaching it is a signal for a process that does not see to it.
    result = place.call("bash", "-c", f"ulimit -f 500; exec {INFERSCOPE} run --trace-size-mb 1 sh -c "
                        f"'ulimit -f 500; {FAULTS} noise 15000 300; exit 11'")

    assert result.status == 11
    assert place.leftovers() == []
