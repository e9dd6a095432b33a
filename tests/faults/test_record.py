"""`inferscope record`: a recording without a program of its own, for somebody who says when it is over."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import FAULTS, INFERSCOPE, PATIENCE, PROGRAMS, session_page, state_of, wait_for

WORKLOAD = PROGRAMS / "workload"


class Recorder:
    """A recorder that is ready, and how to attach to it."""

    def __init__(self, place, *options, pid=None, **how):
        self.place = place
        how = {"stdin": subprocess.PIPE, **how}
        self.process = place.start(INFERSCOPE, "record", *options, "--for", pid or os.getpid(), **how)
        self.ready = json.loads(self.process.stdout.readline())
        assert sorted(self.ready) == ["runtime", "session"]
        self.session = Path(self.ready["session"])
        self.env = {"INFERSCOPE_SESSION": str(self.session), "INFERSCOPE_RUNTIME": self.ready["runtime"]}

    def run(self, *command):
        return self.place.call(*command, env=self.env)

    def stop(self):
        self.process.stdin.write("stop\n")
        self.process.stdin.flush()
        return self.end()

    def end(self):
        """What the second line says, once it has ended; there is no third."""
        assert self.process.wait(PATIENCE) == 0
        assert self.process.stderr.read() == ""
        (line,) = self.process.stdout.read().splitlines()
        said = json.loads(line)
        assert list(said) == ["events", "lost", "processes", "threads", "trace", "trace_bytes", "skipped_calls", "short_calls", "short_left_out",
                              "notes"]
        return said


def test_two_programs(tidy):
    recorder = Recorder(tidy)
    assert recorder.run(WORKLOAD, "scopes", 1000).out.startswith("events=4000 ")
    assert recorder.run(WORKLOAD, "threads", 10).status == 0

    said = recorder.stop()

    trace = tidy.trace().adds_up()
    assert (said["events"], said["lost"]) == (len(trace.events), 0)
    assert said["trace_bytes"] == tidy.trace_path.stat().st_size
    assert said["trace"] == str(tidy.trace_path)
    assert said["notes"] == [] and said["skipped_calls"] == 0
    assert trace.count("outer") >= 1000
    first, second = (trace.processes[number] for number in sorted(trace.processes))
    assert first["flags"] & 3 == 1 and second["flags"] & 3 == 1  # both ended
    assert said["processes"] == 2 and said["threads"] == len(trace.threads) == 1 + 11
    assert trace.info["complete"] is True
    assert "exit_status" not in trace.info
    assert trace.info["command"] == Path("/proc/self/cmdline").read_text().split("\0")[:-1]


def test_the_counts_are_exact(tidy):
    recorder = Recorder(tidy)
    for count in (1, 20_000):
        assert recorder.run(FAULTS, "scopes", count, "_exit").status == 7

    said = recorder.stop()

    assert said["events"] == 2 * 20_001 + 4
    assert (said["lost"], said["processes"], said["threads"]) == (0, 2, 2)
    trace = tidy.trace().adds_up()
    assert trace.count("work") == 20_001
    assert trace.unfinished == ["outer", "outer", "inner", "inner"]


def test_the_end_of_its_input_ends_it(tidy):
    recorder = Recorder(tidy)
    recorder.run(FAULTS, "scopes", 10, "exit")

    recorder.process.stdin.close()

    assert recorder.end()["events"] == 22
    recorder.process.stdin = None
    assert len(tidy.trace().adds_up().events) == 22


def test_other_lines_do_not(tidy):
    recorder = Recorder(tidy)
    recorder.process.stdin.write("stop it\nSTOP\n\n" + "x" * 10_000 + "\nst")
    recorder.process.stdin.flush()
    recorder.run(FAULTS, "scopes", 10, "exit")
    assert recorder.process.poll() is None

    recorder.process.stdin.write("op\n")
    recorder.process.stdin.flush()

    assert recorder.end()["events"] == 22


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_the_end_of_the_process_ends_it(tidy, how):
    # Not its parent, and the input stays open.
    other = tidy.start("sleep", 600)
    wait_for(Path(f"/proc/{other.pid}/cmdline").read_bytes, "the start of another program")
    recorder = Recorder(tidy, pid=other.pid)
    recorder.run(FAULTS, "scopes", 3000, "exit")

    other.send_signal(how)

    assert recorder.end()["events"] == 6002
    trace = tidy.trace().adds_up()
    assert len(trace.events) == 6002
    assert trace.info["command"] == ["sleep", "600"]


def test_a_parent_that_is_killed(tidy):
    # It holds the other end of the pipes; nobody is left to read the second line, and the trace is whole all the same.
    script = """
import os, subprocess, sys
recorder = subprocess.Popen([sys.argv[1], "record", "--for", str(os.getpid())], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
line = recorder.stdout.readline().decode()
print(recorder.pid, line, flush=True)
input()
"""
    parent = tidy.start(sys.executable, "-c", script, INFERSCOPE, stdin=subprocess.PIPE)
    pid, line = parent.stdout.readline().split(" ", 1)
    ready = json.loads(line)
    tidy.call(FAULTS, "scopes", 3000, "exit",
              env={"INFERSCOPE_SESSION": ready["session"], "INFERSCOPE_RUNTIME": ready["runtime"]})

    parent.kill()
    parent.wait()

    wait_for(lambda: state_of(int(pid)) in (None, "Z"), "the recorder's end")
    assert len(tidy.trace().adds_up().events) == 6002
    assert tidy.trace().info["complete"] is True


def test_sigterm_ends_it(tidy):
    recorder = Recorder(tidy)
    recorder.run(FAULTS, "scopes", 10, "exit")

    recorder.process.terminate()

    assert recorder.end()["events"] == 22
    assert len(tidy.trace().adds_up().events) == 22


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGTSTP, signal.SIGUSR1])
def test_other_signals_do_not(tidy, number):
    recorder = Recorder(tidy)

    os.killpg(recorder.process.pid, number)
    recorder.process.send_signal(number)

    recorder.run(FAULTS, "scopes", 10, "exit")
    assert recorder.process.poll() is None
    assert recorder.stop()["events"] == 22


def test_it_leaves_the_group_and_the_terminal(tidy):
    # Started like any command of a notebook: in the group that control-C is for.
    script = f"""
import json, os, signal, subprocess, sys
recorder = subprocess.Popen([{str(INFERSCOPE)!r}, "record", "--for", str(os.getpid())], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE)
recorder.stdout.readline()
print(os.getsid(recorder.pid) == recorder.pid, os.getpgid(recorder.pid) == recorder.pid)
signal.signal(signal.SIGINT, signal.SIG_IGN)
os.killpg(0, signal.SIGINT)
print(json.loads(recorder.communicate(b"stop\\n")[0])["events"], recorder.returncode)
"""
    result = tidy.call(sys.executable, "-c", script)

    assert (result.out, result.err) == ("True True\n0 0\n", "")


def test_processes_go_on_after_it(place):
    recorder = Recorder(place)
    go = place.folder / "go"
    program = place.start(FAULTS, "hold", 1000, go, env=recorder.env)
    assert program.stdout.readline() == "emitted\n"

    said = recorder.stop()

    assert said["events"] == 2002
    trace = place.trace().adds_up()
    (process,) = trace.processes.values()
    assert process["flags"] & 3 == 2  # still running
    assert place.leftovers() == []
    go.touch()
    result = place.finish(program)
    assert (result.status, result.out, result.err) == (0, "ended\n", "")
    assert len(place.trace().events) == 2002


def test_a_killed_recorder_is_recovered(place):
    recorder = Recorder(place)
    recorder.run(FAULTS, "scopes", 20_000, "exit")
    recorder.process.kill()
    recorder.process.wait()

    result = place.call(INFERSCOPE, "recover", recorder.session)

    assert result.status == 0, result.err
    assert result.out.startswith("recovered 40,002 events: ") and "; none lost" in result.out
    trace = place.trace().adds_up()
    assert trace.count("work") == 20_000
    assert trace.info["recovered"] is True
    assert place.leftovers() == []


def test_notes_are_passed_on(tidy):
    recorder = Recorder(tidy)
    (recorder.session / "n12").write_text('this Python has no "extension"\n')

    said = recorder.stop()

    assert said["notes"] == ['this Python has no "extension"']


def test_losses_are_noted(tidy):
    recorder = Recorder(tidy, "--trace-size-mb", 1, "--overflow", "discard")
    recorder.run(FAULTS, "scopes", 100_000, "_exit")

    said = recorder.stop()

    assert said["events"] + said["lost"] == 200_002
    assert said["lost"] > 0
    assert said["notes"] == ["events were lost: try a larger --trace-size-mb, or fewer events"]


def test_a_trace_that_cannot_be_kept_is_noted(place):
    folder = place.folder / "sub"
    folder.mkdir()
    recorder = Recorder(place, "--trace", folder / "x.sbt")
    shutil.rmtree(folder)

    said = recorder.stop()

    (note,) = said["notes"]
    assert note.startswith("the trace is not whole: cannot rename ")
    assert said["trace_bytes"] == 0
    assert place.leftovers() == []


def test_it_waits_without_working(tidy):
    recorder = Recorder(tidy)
    time.sleep(1)
    ticks = Path(f"/proc/{recorder.process.pid}/stat").read_text().rpartition(")")[2].split()

    assert (int(ticks[11]) + int(ticks[12])) / os.sysconf("SC_CLK_TCK") < 0.2  # seconds of CPU, in one of waiting
    assert session_page(recorder.session)[1] == 0
    recorder.stop()
