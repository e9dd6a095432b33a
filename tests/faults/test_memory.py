"""Many processes and threads in little memory; no memory at all."""

import os
import struct
import threading
from collections import Counter

import pytest
from conftest import (BUILD, FAULTS, INFERSCOPE, SANITIZED, SESSIONS, in_private_mounts, needs_root, session_page,
                      with_sessions_on)

CHUNK = 64 << 10
OWN_PAGES = 64 << 10  # a process file's header, tables and names, committed page by page


class Watch(threading.Thread):
    """Looks at the session while it is there: memory taken, and chunks counted in its page (src/ring/layout.h)."""

    def __init__(self, place):
        super().__init__()
        self.place, self.over = place, threading.Event()
        self.blocks = self.chunks = self.files = self.excess = 0

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.join()

    def run(self):
        while not self.over.wait(0.003):
            for folder in self.place.sessions.glob("inferscope-*"):
                self.look(folder)

    def look(self, folder):
        sizes = []
        try:
            chunks, _ = session_page(folder)
            for entry in os.scandir(folder):
                sizes.append(entry.stat(follow_symlinks=False).st_blocks * 512)
        except (OSError, struct.error):
            return
        self.chunks, self.blocks = max(self.chunks, chunks), max(self.blocks, sum(sizes))
        self.files = max(self.files, len(sizes))
        self.excess = max(self.excess, sum(sizes) - OWN_PAGES * len(sizes))


def tracks_by_events(trace):
    return Counter(Counter(event.track for event in trace.events).values())


def test_200_forks(tidy):
    with Watch(tidy) as watch:
        result = tidy.record("--trace-size-mb", 32, FAULTS, "forks", 200, 50)

    assert result.status == 0
    assert result.closing["processes"] == 201
    assert result.closing["threads"] == 200  # the parent records nothing itself
    assert (result.closing["events"], result.closing["lost"]) == (200 * 100, 0)
    trace = tidy.trace().adds_up()
    assert tracks_by_events(trace) == {100: 200}
    assert len({trace.processes[trace.threads[event.track]["process"]]["pid"] for event in trace.events}) == 200
    assert all(process["flags"] & 3 == 1 for process in trace.processes.values())
    forked = [process for process in trace.processes.values() if process["flags"] & 4]
    assert len(forked) == 200 and {process["parent"] for process in forked} == {0}
    assert watch.chunks <= 32 * 16
    assert watch.excess <= 32 << 20


@pytest.mark.parametrize("how", ["threads", "crowd"])  # one after the other, all at once
def test_1000_short_threads(tidy, how):
    with Watch(tidy) as watch:
        result = tidy.record(FAULTS, how, 1000, 25)

    assert result.status == 0
    assert result.closing["threads"] == 1000
    assert (result.closing["events"], result.closing["lost"]) == (1000 * 50, 0)
    trace = tidy.trace().adds_up()
    assert tracks_by_events(trace) == {50: 1000}
    assert len(trace.threads) == 1000
    assert sorted(track["serial"] for track in trace.threads.values()) == list(range(1, 1001))
    assert {track["process"] for track in trace.threads.values()} == {0}
    assert watch.chunks <= 1000  # of 64 KiB: one a thread at most, of the 1,600 that the session may have
    # the recorder provides an eighth of the 600 that are left before they are asked for; the tables grow with the threads
    assert watch.excess <= (1000 + 75) * (64 << 10) + (1 << 20)


@pytest.mark.parametrize("how", ["threads", "crowd"])
def test_more_threads_than_the_budget_can_hold(tidy, how):
    with Watch(tidy) as watch:
        result = tidy.record("--trace-size-mb", 1, FAULTS, how, 100, 2000)

    assert result.status == 0
    trace = tidy.trace().adds_up()
    assert trace.info["produced"] == 100 * 4000
    assert {loss.reason for loss in trace.losses} <= {1, 3}  # overwritten, or no buffer to be had
    assert watch.chunks <= 16
    assert watch.excess <= 1 << 20


@pytest.mark.parametrize("overflow, reasons", [("wrap", {1, 3}), ("discard", {2, 3}), ("block", {2, 3})])
def test_threads_that_compete_for_memory(tidy, overflow, reasons):
    # Chunks go from thread to thread all the time: only `wrap` may overwrite, and nobody another one's events.
    result = tidy.record("--trace-size-mb", 1, "--overflow", overflow, FAULTS, "crowd", 24, 4000)

    assert result.status == 0
    trace = tidy.trace().adds_up()
    assert trace.info["produced"] == 24 * 8000
    assert {loss.reason for loss in trace.losses} <= reasons
    times = {}
    for event in trace.events:
        assert times.get(event.track, 0) <= event.time
        times[event.track] = event.time


@pytest.mark.parametrize("command, produced", [(("forks", 40, 3000), 40 * 6000), (("scopes", 60000, "exit"), 120002)])
def test_the_smallest_budget(tidy, command, produced):
    result = tidy.record("--trace-size-mb", 1, FAULTS, *command)

    assert result.status in (0, 7)
    assert tidy.trace().adds_up().info["produced"] == produced


# ---- a small tmpfs, or none ------------------------------------------------------------------


@needs_root
@pytest.mark.parametrize("overflow", ["wrap", "discard", "block"])
@pytest.mark.parametrize("size", ["4m", "400k"])
def test_a_tmpfs_smaller_than_the_budget(place, size, overflow):
    count = 150_000  # 9.6 MB of slots
    options = ("--trace-size-mb", 64, "--overflow", overflow)

    result = place.call(*with_sessions_on(place, f"-t tmpfs -o size={size} none", INFERSCOPE, "run", *options,
                                          FAULTS, "scopes", count, "_exit"))

    assert result.status == 7  # its own, and no signal
    trace = place.trace().adds_up()
    assert trace.info["produced"] == 2 * count + 2
    assert len(trace.events) >= 2048  # at least one chunk's worth


@needs_root
@pytest.mark.parametrize("command, events", [(("forks", 60, 200), 60 * 400), (("crowd", 60, 200), 60 * 400),
                                             (("marks", 10_000), 10_000)])
def test_a_tmpfs_with_room_for_a_few(place, command, events):
    result = place.call(*with_sessions_on(place, "-t tmpfs -o size=1m none", INFERSCOPE, "run", FAULTS, *command))

    assert result.status == 0
    trace = place.trace().adds_up()
    refused = trace.info["refused_processes"]
    assert trace.info["produced"] == events - 400 * refused
    assert (f"{refused} process" in result.err) == (refused > 0)


@needs_root
def test_a_tmpfs_that_others_have_filled(place):
    # There is room for the session's page, and then for nothing.
    fill = f"dd if=/dev/zero of={SESSIONS}/fill bs=4k 2> /dev/null; {FAULTS} scopes 1000 _exit"

    result = place.call(*with_sessions_on(place, "-t tmpfs -o size=1m none", INFERSCOPE, "run", "/bin/sh", "-c", fill))

    assert result.status == 7
    assert result.closing["events"] == 0
    assert "1 process could not be recorded" in result.err
    assert place.trace().adds_up().info["refused_processes"] == 1


@needs_root
@pytest.mark.parametrize("size", ["1m", "4m"])
def test_a_tmpfs_without_room_for_what_cuda_writes(place, size):
    """The program's own memory is where it goes then, and rings have the room that there is."""
    doubles = BUILD / "tests" / "doubles"
    if not (doubles / "driver").is_dir():
        pytest.skip("the doubles have not been built")
    libraries = ":".join(str(doubles / folder) for folder in ("driver", "cudart-13", "cupti-13.0"))
    program = "/usr/bin/env", f"LD_LIBRARY_PATH={libraries}", "CUDA_HOME=/nowhere", doubles / "programs" / "double-many", 3000, 0

    result = place.call(*with_sessions_on(place, f"-t tmpfs -o size={size} none", INFERSCOPE, "run", "--trace-size-mb", 1, *program))

    assert result.status == 0, result.err
    kernels = [event.correlation for event in place.trace().adds_up().events if event.kind == 11]
    assert 100 < len(kernels) == len(set(kernels))


@needs_root
def test_no_room_for_the_session(place):
    result = place.call(*with_sessions_on(place, "-t tmpfs -o nr_inodes=2 none", INFERSCOPE, "run",
                                          "/bin/touch", "started"))

    assert result.status == 4
    assert len(result.lines) == 1 and "No space left on device" in result.err
    assert list(place.folder.iterdir()) == []  # not started, and nothing left behind


@needs_root
def test_no_place_for_the_session(place):
    result = place.call(*with_sessions_on(place, "-t tmpfs -o ro none", INFERSCOPE, "run", "/bin/touch", "started"))

    assert result.status == 4
    assert result.lines == ["inferscope: there is no folder for the session: set TMPDIR to one that can be written to"]
    assert list(place.folder.iterdir()) == []


@needs_root
def test_no_dev_shm(place):
    del place.env["XDG_RUNTIME_DIR"]
    place.env["TMPDIR"] = str(place.folder / "elsewhere")
    (place.folder / "elsewhere").mkdir()
    script = f"echo $INFERSCOPE_SESSION; exec {FAULTS} scopes 100 _exit"

    result = place.call(*in_private_mounts("mount -t tmpfs -o ro none /dev/shm", INFERSCOPE, "run", "/bin/sh", "-c",
                                           script))

    assert result.status == 7
    assert result.out.startswith(place.env["TMPDIR"] + "/inferscope-")
    assert len(place.trace().adds_up().events) == 202
    assert list((place.folder / "elsewhere").iterdir()) == []


def test_limits_on_file_size_and_address_space(tidy):
    # In kilobytes. With the default budget a process's file, sparse and mapped whole, is one of 124 MB.
    for limit in ("-f 60000",) if SANITIZED else ("-f 60000", "-v 400000"):
        result = tidy.call("bash", "-c", f"ulimit {limit}; exec {INFERSCOPE} run {FAULTS} scopes 20000 exit")

        assert result.status == 7, limit
        trace = tidy.trace().adds_up()
        assert trace.info["produced"] == 40_002 or trace.info["refused_processes"] == 1
