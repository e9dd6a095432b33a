"""However the program ends, every event that it recorded before is in the trace."""

import signal
import sys

import pytest
from conftest import FAULTS, INFERSCOPE, records_python, wait_for

ENDINGS = {"return": 7, "exit": 7, "_exit": 7, "thread": 7, "kill": 128 + signal.SIGKILL, "segv": 128 + signal.SIGSEGV,
           "abort": 128 + signal.SIGABRT}


@pytest.mark.parametrize("ending, status", ENDINGS.items())
def test_every_event_before_the_end_is_there(tidy, ending, status):
    count = 30_000  # several chunks, and not a multiple of one

    result = tidy.record(FAULTS, "scopes", count, ending)

    assert result.status == status
    assert result.out == ""
    assert result.closing == {"events": 2 * count + 2, "processes": 1, "threads": 1, "lost": 0, "dropped": 0,
                              "trace": "trace.sbt"}
    name = signal.Signals(status - 128).name if status > 128 else ""
    assert result.lines[:-1] == [f"inferscope: the program was killed by signal {status - 128} ({name})"] * (status > 128)
    trace = tidy.trace().adds_up()
    assert len(trace.events) == 2 * count + 2
    assert trace.count("work") == count
    assert trace.unfinished == ["outer", "inner"]
    assert trace.info["lost"] == 0
    assert trace.info["complete"] is True
    assert trace.info["exit_status"] == status
    assert trace.info["signal"] == (status - 128 if status > 128 else 0)
    (process,) = trace.processes.values()
    assert process["flags"] & 3 == 1  # ended, not still running


@pytest.mark.parametrize("ending", ["_exit", "kill"])
def test_info_says_what_never_ended(tidy, ending):
    tidy.record(FAULTS, "scopes", 10, ending)

    info = tidy.json("info", tidy.trace_path)

    assert info["unfinished"] == 2
    assert info["events"] == 22
    assert info["lost"] == 0
    assert info["exit_status"] == ENDINGS[ending]


def test_exec_into_an_instrumented_program(tidy):
    result = tidy.record(FAULTS, "scopes", 3000, "exec", FAULTS, "scopes", 4000, "_exit")

    assert result.status == 7
    trace = tidy.trace().adds_up()
    assert len(trace.events) == 2 * 3000 + 2 + 2 * 4000 + 2
    assert trace.count("work") == 7000
    assert sorted(trace.unfinished) == ["inner", "inner", "outer", "outer"]
    before, after = (trace.processes[number] for number in sorted(trace.processes))
    assert before["pid"] == after["pid"]
    assert before["flags"] & 8 and not after["flags"] & 8  # replaced by exec
    assert len(trace.threads) == 2


def test_exec_into_another_program(tidy):
    result = tidy.record(FAULTS, "scopes", 3000, "exec", "/bin/sh", "-c", "echo still here; exit 3")

    assert (result.status, result.out) == (3, "still here\n")
    trace = tidy.trace().adds_up()
    assert len(trace.events) == 6002
    assert trace.unfinished == ["outer", "inner"]
    assert result.closing["lost"] == 0


def test_program_without_our_header(tidy):
    result = tidy.record("/bin/sh", "-c", "echo out; echo err >&2; exit 9")

    assert (result.status, result.out) == (9, "out\n")
    assert result.lines[0] == "err"
    assert result.closing["events"] == 0
    assert len(result.lines) == 2
    trace = tidy.trace().adds_up()
    assert trace.events == [] and trace.info["exit_status"] == 9


def test_metadata_that_does_not_divide_a_chunk(tidy):
    count = 20_000

    result = tidy.record(FAULTS, "marks", count)

    assert result.closing["events"] == count
    trace = tidy.trace().adds_up()
    assert len(trace.events) == count
    for i, event in enumerate(trace.events):
        assert event.metadata == {"i": i, "text": "x" * (i % 200)}
    assert trace.lost == 0


def test_a_slow_producer_loses_nothing(tidy):
    # 400 events a millisecond is a fiftieth of the drain rate that the benchmarks ask for.
    result = tidy.record("--trace-size-mb", 4, FAULTS, "paced", 200, 500)

    assert result.status == 0
    assert result.closing["events"] == 2 * 200 * 500
    assert result.closing["lost"] == 0
    trace = tidy.trace().adds_up()
    assert trace.count("work") == 200 * 500
    assert trace.unfinished == []


def test_half_the_drain_rate_loses_nothing(tidy):
    # A producer that waits for room runs at the recorder's rate: that is the measurement.
    count = 1_000_000
    (tidy.folder / ".inferscope.yaml").write_text("block_timeout_ms: 10000\n")
    options = ("--overflow", "block", "--trace-size-mb", 2)
    assert tidy.record(*options, FAULTS, "scopes", count, "exit").closing["lost"] == 0
    milliseconds = tidy.json("info", tidy.trace_path)["duration_us"] / 1000
    pace = int(count / milliseconds / 2)  # scopes a millisecond, at half that rate

    result = tidy.record(FAULTS, "paced", pace, 500)

    assert result.closing["lost"] == 0
    assert result.closing["events"] == 2 * 500 * pace
    info = tidy.json("info", tidy.trace_path)
    assert (info["events"], info["lost"]) == (2 * 500 * pace, 0)


@pytest.mark.parametrize("overflow", ["wrap", "discard", "block"])
def test_a_burst_larger_than_the_budget_is_counted(tidy, overflow):
    count = 100_000  # 6 MB of slots for a budget of 1

    result = tidy.record("--trace-size-mb", 1, "--overflow", overflow, FAULTS, "scopes", count, "_exit")

    assert result.status == 7
    trace = tidy.trace().adds_up()
    assert trace.info["produced"] == 2 * count + 2
    assert trace.info["recorded"] == len(trace.events)
    assert result.closing["events"] + result.closing["lost"] == 2 * count + 2
    assert sum(loss.count for loss in trace.losses) == trace.info["lost"]
    expected = {"wrap": {1}, "discard": {2}, "block": {2}}[overflow]
    assert {loss.reason for loss in trace.losses} <= expected
    if overflow == "wrap":  # the newest are kept
        assert trace.unfinished[-2:] == ["outer", "inner"]


# ---- descendants ----------------------------------------------------------------------------


def test_it_does_not_wait_for_a_daemon(place):
    note = place.folder / "note"

    result = place.record(FAULTS, "daemon", note, 1000)

    assert result.status == 0
    assert result.closing["processes"] == 2
    (running,) = place.trace().info["program"]["running"]
    assert result.lines[0] == (f"inferscope: 1 process still runs and is no longer recorded: {running['name']} ({running['pid']}); "
                               "run --wait-all waits for it")
    wait_for(lambda: note.read_text() == "recorded\nalive\n", "the daemon outliving its parent")
    trace = place.trace().adds_up()
    assert len(trace.events) == 2 * 1000 + 2 * 1000 + 1
    assert trace.unfinished == ["serving"]
    main, daemon = (trace.processes[number] for number in sorted(trace.processes))
    assert main["flags"] & 3 == 1
    assert daemon["flags"] & 7 == 2 | 4  # still running, begun by fork
    assert place.leftovers() == []

    (place.folder / "note.go").touch()  # it goes on, detached
    wait_for(lambda: note.read_text() == "recorded\nalive\ndone\n", "the daemon going on")
    assert len(place.trace().events) == 4001


def test_a_child_that_is_killed(tidy):
    script = "sleep 30 & p=$!; sleep 30 & q=$!; sleep 0.4; kill -KILL $p; kill $q; sleep 0.4; wait $p; exit 0"

    result = tidy.record("--waits", "on", "/bin/sh", "-c", script)

    assert result.status == 0
    killed, wanted = tidy.trace().info["program"]["killed"]
    assert (killed["signal"], killed["count"], killed["name"]) == (9, 1, "sleep")
    assert (wanted["signal"], wanted["count"]) == (15, 1)
    assert result.lines[0] == f"inferscope: 1 child process was killed by signal 9 (SIGKILL): sleep ({killed['pid']})"
    assert len(result.lines) == 2


POOL = """
import ctypes, multiprocessing, os, signal, sys, time
def work(number):
    time.sleep(0.05)
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL) if sys.argv[1] == "SIGKILL" else ctypes.string_at(0)
with multiprocessing.get_context("fork").Pool(2) as pool:
    try:
        pool.map_async(work, range(6), chunksize=1).get(timeout=0.4)
    except multiprocessing.TimeoutError:
        print("lost")
"""


@records_python
@pytest.mark.parametrize("name", ["SIGKILL", "SIGSEGV"])
def test_a_worker_that_is_killed_without_anybody_looking_from_outside(tidy, name):
    """Python's pool starts another one in its place, and says nothing."""
    result = tidy.record("--waits", "off", sys.executable, "-c", POOL, name)

    assert (result.status, result.out) == (0, "lost\n")
    (killed,) = (death for death in tidy.trace().info["program"]["killed"] if death["signal"] != signal.SIGTERM)
    assert (killed["signal"], killed["count"]) == (signal.Signals[name], 1)
    assert result.lines[0] == (f"inferscope: 1 child process was killed by signal {int(signal.Signals[name])} ({name}): {killed['name']} "
                               f"({killed['pid']})")


def test_as_process_1_it_reaps(tidy):
    unshare = ["unshare", "--pid", "--fork", "--mount-proc"]
    if tidy.call(*unshare, "true").status != 0:
        pytest.skip("cannot make a pid namespace here")
    watch = "for i in $(seq 40); do ps -eo stat= | grep -c Z; sleep 0.02; done | tail -1"

    result = tidy.call(*unshare, INFERSCOPE, "run", "/bin/sh", "-c", f"{FAULTS} orphans 25; echo $?; {watch}; exit 6")

    assert result.status == 6
    assert result.out.split() == ["7", "0"]  # no zombie is left of 25
    assert result.closing["lost"] == 0
