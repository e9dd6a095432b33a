"""The program is as it would be without us: what it was started with, its streams, signals and job control."""

import os
import pty
import re
import select
import signal
import subprocess
import termios
import time
from pathlib import Path

import pytest
from conftest import (DOOR, FAULTS, INFERSCOPE, INHERITED, OTHERS_VARIABLES, OUR_VARIABLES, PATIENCE, children, sigqueue,
                      state_of, wait_for)

# ---- what it is started with -------------------------------------------------------------------

SETUPS = {
    "plain": "",
    "umask": "umask 0137;",
    "limits": "ulimit -n 77; ulimit -c 0; ulimit -s 4096;",
    "nice": "renice -n 3 $$ > /dev/null;",
    "batch": "chrt --batch --pid 0 $$;",
    "folder": "mkdir -p sub/folder; cd sub/folder;",
    "deleted folder": "mkdir -p gone; cd gone; rmdir ../gone;",
    "descriptors": "exec 5< /dev/zero 9> nine;",
    "no stdin": "exec 0<&-;",
    "no stdout and stderr": "exec 3>&1 1>&- 2>&-;",
    "no streams": "exec 3>&1 0<&- 1>&- 2>&-;",
    "ignored": "trap '' PIPE INT QUIT TSTP TTOU USR1;",
    "child ignored": "trap '' CHLD;",
}
BLOCKING = """
import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, {2, 3, 13, 15, 17, 18, 40, 64})
signal.signal(13, signal.SIG_DFL)
signal.signal(25, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])
"""


def state(place, with_us, setup, *before):
    """What `inherited state` says, by way of a file, since its streams are under test."""
    report = place.folder / "report"
    us = f"{INFERSCOPE} run --trace {place.folder}/trace.sbt" if with_us else ""
    command = f"{setup} exec {' '.join(before)} {us} {INHERITED} state {report}"
    with open(place.folder / "out", "w") as out, open(place.folder / "err", "w") as err:
        assert place.start("bash", "-c", command, stdout=out, stderr=err).wait(PATIENCE) == 0
    return re.sub(r"group \d+ session \d+", "", report.read_text())


@pytest.mark.parametrize("setup", SETUPS.values(), ids=SETUPS)
def test_it_inherits_the_same(tidy, setup):
    without = state(tidy, False, setup)
    assert "SigBlk" in without and "limit 7" in without and "cwd" in without

    assert state(tidy, True, setup) == without

    assert tidy.trace().adds_up().info["exit_status"] == 0


def test_it_inherits_the_same_signal_mask(tidy):
    blocking = ("/usr/bin/env", "python3", "-c", f"'{BLOCKING}'")
    without = state(tidy, False, "", *blocking)
    assert re.search(r"SigBlk:\t8000008000035006", without)

    assert state(tidy, True, "", *blocking) == without


def policies(pid):
    """(name, policy) of each thread of a process, sorted; a thread bears its maker's name until it has set its own."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sorted(((task / "comm").read_text().strip(), os.sched_getscheduler(int(task.name))) for task in tasks)


def test_the_recorder_gives_way_and_nobody_else(tidy):
    recorder = tidy.start(INFERSCOPE, "run", "--waits", "on", "--", "sleep", "60")
    wait_for(lambda: "sleep" in children(recorder.pid)
             and "inferscope-watc" in dict(policies(recorder.pid))
             and os.sched_getscheduler(recorder.pid) != os.SCHED_OTHER)
    ours = policies(recorder.pid)
    theirs = policies(children(recorder.pid)["sleep"][0])
    recorder.terminate()
    recorder.wait(PATIENCE)
    assert ours == [("inferscope", os.SCHED_BATCH | os.SCHED_RESET_ON_FORK), ("inferscope-watc", os.SCHED_OTHER)]
    assert theirs == [("sleep", os.SCHED_OTHER)]


def environment(text):
    return dict(variable.split("=", 1) for variable in text.split("\0") if variable)


def test_only_our_variables_are_added(tidy):
    odd = {"EMPTY": "", "ODD": "a=b\nc\td", "INFERSCOPE_LOG_LEVEL": "warn"}
    without = environment(tidy.call(INHERITED, "environment", env=odd).out)

    with_us = environment(tidy.record(INHERITED, "environment", env=odd).out)

    added = {key: with_us.pop(key) for key in OUR_VARIABLES | OTHERS_VARIABLES}
    for key in OTHERS_VARIABLES:
        without.pop(key, None)
    assert with_us == without
    assert added["INFERSCOPE_SESSION"].startswith(str(tidy.sessions))
    assert added["INFERSCOPE_RUNTIME"] == str(INFERSCOPE.parent / "libinferscope-rt.so")
    assert added["INFERSCOPE_ENABLED"] == "1"
    assert added.get("INFERSCOPE_DOOR", str(DOOR)) == str(DOOR)


def test_our_variables_replace_older_ones(tidy):
    stale = {key: "/stale" for key in OUR_VARIABLES - {"INFERSCOPE_ENABLED"}}
    text = tidy.record(INHERITED, "environment", env=stale).out

    assert {text.count(f"{key}=") for key in OUR_VARIABLES} == {1}
    assert "/stale" not in text


def test_group_and_session_are_the_callers(tidy):
    script = f"echo $$ $(ps -o pgid= -o sid= -p $$); {INFERSCOPE} run {INHERITED} state /dev/stdout"
    text = tidy.call("bash", "-c", script).out

    _, group, session = text.splitlines()[0].split()
    assert f"group {group} session {session}\n" in text


# ---- streams -----------------------------------------------------------------------------------


def test_streams(tidy):
    data = "".join(chr(i % 94 + 32) for i in range(300_000))
    result = tidy.record("/bin/sh", "-c", "cat; echo to stderr >&2", input=data)

    assert result.status == 0
    assert result.out == data
    assert result.lines[0] == "to stderr" and len(result.lines) == 2


def test_arguments_are_passed_as_they_are(tidy):
    arguments = ["--trace", "-x", "", "a b", "*", "$HOME", "--", "--help", "\n"]
    result = tidy.record("/usr/bin/printf", "[%s]", *arguments)

    assert result.out == "".join(f"[{argument}]" for argument in arguments)
    assert tidy.trace().info["command"] == ["/usr/bin/printf", "[%s]", *arguments]


def test_we_keep_no_stream_open(place):
    # Who waits for the end of the program's output gets it when the program closes it, though it goes on.
    go = place.folder / "go"
    script = f"exec < /dev/null > /dev/null; while ! test -e {go}; do sleep 0.01; done"
    recorder = place.start_recording("/bin/sh", "-c", script, stdin=subprocess.PIPE)

    ready, _, _ = select.select([recorder.stdout], [], [], PATIENCE)

    assert ready and recorder.stdout.read() == ""
    assert recorder.poll() is None
    with pytest.raises(BrokenPipeError):
        for _ in range(100):
            os.write(recorder.stdin.fileno(), b"x" * 4096)
            time.sleep(0.01)
    go.touch()
    recorder.stdin = None
    assert recorder.wait(PATIENCE) == 0


def test_we_print_nothing_to_closed_streams(tidy):
    for closed in ("2>&-", "1>&- 2>&-", "0<&- 1>&- 2>&-"):
        result = tidy.call("bash", "-c", f"exec {INFERSCOPE} run {FAULTS} scopes 100 exit {closed}")

        assert (result.status, result.out, result.err) == (7, "", "")
        assert len(tidy.trace().adds_up().events) == 202
        assert {path.name for path in tidy.folder.iterdir()} <= {"trace.sbt", "trace.sbt.old", "trace.sbt.2.old"}


def test_a_closed_pipe_for_our_messages(tidy):
    result = tidy.call("bash", "-c", f"{{ {INFERSCOPE} run {FAULTS} scopes 100 exit; echo $? > status; }} 2>&1 | true")

    assert result.status == 0
    wait_for(lambda: (tidy.folder / "status").exists() and (tidy.folder / "status").read_text())
    assert (tidy.folder / "status").read_text() == "7\n"
    assert len(tidy.trace().adds_up().events) == 202


# ---- signals -----------------------------------------------------------------------------------

CATCHABLE = [number for number in range(1, 65) if number not in (signal.SIGKILL, signal.SIGSTOP, 32, 33)]
END = 99  # the value that ends `inherited signals`


def listen(place, *command, **options):
    recorder = place.start(*(command or (INFERSCOPE, "run", INHERITED, "signals")), **options)
    assert recorder.stdout.readline() == "ready\n"
    return recorder


def test_every_signal_is_passed_on_once(tidy):
    recorder = listen(tidy)
    for number in CATCHABLE:
        os.kill(recorder.pid, number)
        assert recorder.stdout.readline() == f"{number} 0 0\n"
    sigqueue(recorder.pid, signal.SIGRTMAX, END)

    assert recorder.stdout.read() == f"{int(signal.SIGRTMAX)} -1 {END}\n"
    assert recorder.wait(PATIENCE) == 0


def test_queued_signals_keep_their_values_and_their_number(tidy):
    recorder = listen(tidy)
    for value in range(20):
        sigqueue(recorder.pid, signal.SIGRTMIN + value % 3, value)
    sigqueue(recorder.pid, signal.SIGRTMAX, END)

    lines = [tuple(map(int, line.split())) for line in recorder.stdout.read().splitlines()]
    assert recorder.wait(PATIENCE) == 0
    assert sorted(value for _, _, value in lines[:-1]) == list(range(20))
    assert {code for _, code, _ in lines} == {-1}
    for number in range(3):
        assert [value for signo, _, value in lines if signo == signal.SIGRTMIN + number] == list(range(number, 20, 3))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGCONT, 40])
def test_a_signal_to_the_group_arrives_once(tidy, number):
    recorder = listen(tidy)  # the first of its session and group

    os.killpg(recorder.pid, number)
    assert recorder.stdout.readline() == f"{int(number)} 0 0\n"
    time.sleep(0.05)  # time for a second one
    sigqueue(recorder.pid, signal.SIGRTMAX, END)

    assert recorder.stdout.read() == f"{int(signal.SIGRTMAX)} -1 {END}\n"
    assert recorder.wait(PATIENCE) == 0


def test_a_sender_in_our_own_group(tidy):
    # A script without job control: all of it is one group, and its `kill` means the recorder alone.
    script = (f"{INFERSCOPE} run {INHERITED} signals > heard & while ! grep -q ready heard; do sleep 0.01; done;"
              "kill -USR1 $!; while ! grep -q '^10 ' heard; do sleep 0.01; done;"
              "trap '' USR2; kill -USR2 0; while ! grep -q '^12 ' heard; do sleep 0.01; done;"
              "sleep 0.05; /bin/kill --queue 99 -TERM $!; wait $!; echo $?; cat heard")

    result = tidy.call("bash", "-c", script)

    assert result.out == "0\nready\n10 0 0\n12 0 0\n15 -1 99\n"


def test_the_programs_own_handler_decides(tidy):
    script = "trap 'echo caught; exit 33' TERM; echo ready; while :; do sleep 0.01; done"
    recorder = tidy.start_recording("bash", "-c", script)
    assert recorder.stdout.readline() == "ready\n"

    recorder.terminate()

    assert recorder.stdout.read() == "caught\n"
    assert recorder.wait(PATIENCE) == 33


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGABRT, signal.SIGQUIT, signal.SIGHUP])
def test_a_signal_that_kills_the_program_leaves_a_whole_trace(tidy, number):
    recorder = tidy.start_recording(FAULTS, "hold", 500, tidy.folder / "go")
    assert recorder.stdout.readline() == "emitted\n"

    recorder.send_signal(number)

    result = tidy.finish(recorder)
    assert result.status == 128 + number
    trace = tidy.trace().adds_up()
    assert len(trace.events) == 1002 and trace.unfinished == ["outer", "inner"]
    assert (trace.info["signal"], trace.info["complete"]) == (number, True)
    told = [f"inferscope: the program was killed by signal {number} ({number.name})"] if number in (signal.SIGABRT, signal.SIGQUIT) else []
    assert result.lines[:-1] == told


def target_of(recorder, name="faults"):
    return wait_for(lambda: children(recorder.pid).get(name), "the program's start")[0]


def test_a_program_that_is_stopped_alone_stops_nothing_else(tidy):
    worker = f"while [ ! -e more ]; do sleep 0.01; done; {FAULTS} scopes 20000 exit"
    recorder = tidy.start_recording("sh", "-c", f"({worker}) & echo $$; wait; {FAULTS} hold 500 go", start_new_session=False,
                                    preexec_fn=os.setpgrp)
    program = int(recorder.stdout.readline())
    partial = next(tidy.folder.glob("*.partial"))
    before = partial.stat().st_size
    for _ in range(2):
        os.kill(program, signal.SIGSTOP)
        wait_for(lambda: state_of(program) == "T", "its stop")
        (tidy.folder / "more").touch()  # what it has started goes on, and is recorded
        wait_for(lambda: partial.stat().st_size > before + 5000, "the other process's events")
        assert state_of(recorder.pid) != "T"
        os.kill(program, signal.SIGCONT)
    (tidy.folder / "go").touch()

    assert tidy.finish(recorder).status == 0
    assert len(tidy.trace().adds_up().events) == 40002 + 1004


def test_a_program_that_stops_itself(tidy):
    """And that something else continues: there is no terminal, and nothing would wake us."""
    result = tidy.record("sh", "-c", f"(sleep 0.2; kill -CONT $$) & kill -STOP $$; exec {FAULTS} scopes 100 exit")

    assert result.status == 7 and result.closing["events"] == 202


@pytest.mark.parametrize("number, status", [(signal.SIGCONT, 0), (signal.SIGKILL, 137)], ids=["continued", "killed"])
def test_we_stop_no_longer_than_the_program_does(tidy, number, status):
    recorder = tidy.start_recording(FAULTS, "hold", 500, tidy.folder / "go", start_new_session=False, preexec_fn=os.setpgrp)
    assert recorder.stdout.readline() == "emitted\n"
    program = target_of(recorder)
    for _ in range(2 if status == 0 else 1):
        recorder.send_signal(signal.SIGTSTP)
        wait_for(lambda: state_of(recorder.pid) == "T" and state_of(program) == "T", "both stopping")
        os.kill(program, number)
        wait_for(lambda: state_of(recorder.pid) != "T", "the recorder going on")
    (tidy.folder / "go").touch()

    assert tidy.finish(recorder).status == status
    assert len(tidy.trace().adds_up().events) == (1004 if status == 0 else 1002)


def test_stop_signals_sent_to_us_stop_both(tidy):
    recorder = tidy.start_recording(FAULTS, "hold", 500, tidy.folder / "go", start_new_session=False,
                                    preexec_fn=os.setpgrp)
    assert recorder.stdout.readline() == "emitted\n"
    program = target_of(recorder)
    for _ in range(2):
        recorder.send_signal(signal.SIGTSTP)
        wait_for(lambda: state_of(recorder.pid) == "T" and state_of(program) == "T", "both stopping")
        os.killpg(recorder.pid, signal.SIGCONT)
        wait_for(lambda: state_of(recorder.pid) != "T" and state_of(program) != "T", "both going on")
    (tidy.folder / "go").touch()

    assert tidy.finish(recorder).status == 0
    assert len(tidy.trace().adds_up().events) == 1004


# ---- terminals ---------------------------------------------------------------------------------


class Terminal:
    """A command on a terminal of its own, as its session's leader."""

    def __init__(self, place, *command, **environment):
        pid, self.fd = pty.fork()
        if pid == 0:
            os.chdir(place.folder)
            os.execve(command[0], [str(part) for part in command], {**place.env, "TERM": "dumb", **environment})
        self.pid, self.seen = pid, ""
        attributes = termios.tcgetattr(self.fd)
        attributes[3] &= ~termios.ECHO
        termios.tcsetattr(self.fd, termios.TCSANOW, attributes)

    def write(self, text):
        os.write(self.fd, text.encode())

    def appears(self, text, seconds):
        end = time.monotonic() + seconds
        while text not in self.seen and time.monotonic() < end:
            if select.select([self.fd], [], [], 0.05)[0]:
                try:
                    self.seen += os.read(self.fd, 4096).decode(errors="replace")
                except OSError:  # the other side is closed
                    break
        return text in self.seen

    def expect(self, text):
        """Reads until the text comes."""
        assert self.appears(text, PATIENCE), f"no {text!r} in {self.seen!r}"
        self.seen = self.seen.split(text, 1)[1]

    def press(self, keys, text):
        """Presses keys until the text comes: a shell may be about to undo what they did."""
        for _ in range(PATIENCE):
            self.write(keys)
            if self.appears(text, 1):
                break
        self.expect(text)

    def wait(self):
        while True:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                return os.waitstatus_to_exitcode(status)
            if select.select([self.fd], [], [], 0.01)[0]:
                try:
                    self.seen += os.read(self.fd, 4096).decode(errors="replace")
                except OSError:
                    pass

    def close(self):
        try:
            os.killpg(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        except (ProcessLookupError, ChildProcessError):
            pass
        os.close(self.fd)


@pytest.fixture
def terminal(tidy):
    made = []

    def make(*command, **environment):
        made.append(Terminal(tidy, *command, **environment))
        return made[-1]

    yield make
    for one in made:
        one.close()


def test_keys_reach_the_program_once(tidy, terminal):
    screen = terminal(INFERSCOPE, "run", INHERITED, "interrupts")
    screen.expect("ready")
    for keys, counts in (("\x03", "int 1 quit 0"), ("\x03", "int 2 quit 0"), ("\x1c", "int 2 quit 1")):
        screen.write(keys)
        time.sleep(0.05)  # time for a second one
        screen.write("\n")
        screen.expect(counts)
    screen.write("end\n")

    assert screen.wait() == 5
    trace = tidy.trace().adds_up()
    assert len(trace.events) == 3  # a mark for each key
    assert trace.info["complete"] is True


def test_control_z_stops_both_and_a_continue_to_us_continues_both(tidy, terminal):
    screen = terminal(INFERSCOPE, "run", INHERITED, "interrupts")
    screen.expect("ready")
    program = children(screen.pid)["inherited"][0]

    screen.write("\x1a")
    wait_for(lambda: state_of(screen.pid) == "T" and state_of(program) == "T", "both stopping")
    os.kill(screen.pid, signal.SIGCONT)
    wait_for(lambda: state_of(screen.pid) != "T" and state_of(program) != "T", "both going on")
    time.sleep(0.05)
    screen.write("end\n")

    screen.expect("int 0 quit 0 tstp 1 cont 1")
    assert screen.wait() == 5


def test_control_c_leaves_a_whole_trace(tidy, terminal):
    screen = terminal(INFERSCOPE, "run", FAULTS, "hold", "700", "go")
    screen.expect("emitted")

    screen.write("\x03")

    assert screen.wait() == 128 + signal.SIGINT
    screen.expect("inferscope: 1,402 events of 1 process and 1 thread, none lost; trace in trace.sbt")
    trace = tidy.trace().adds_up()
    assert trace.info["signal"] == signal.SIGINT and trace.info["complete"] is True
    assert trace.unfinished == ["outer", "inner"]


def test_job_control_of_a_shell(tidy, terminal):
    shell = terminal("/bin/bash", "--norc", "--noprofile", "-i", PS1="prompt> ")
    shell.expect("prompt> ")
    shell.write(f"{INFERSCOPE} run {FAULTS} hold 100 go\n")
    shell.expect("emitted")
    shell.write("\x1a")
    shell.expect("Stopped")
    shell.expect("prompt> ")
    shell.write("jobs\n")
    shell.expect("Stopped")
    shell.write("bg\n")
    shell.expect("prompt> ")
    shell.write("jobs\n")
    shell.expect("Running")
    shell.expect("prompt> ")
    shell.write("fg\n")
    wait_for(lambda: os.tcgetpgrp(shell.fd) != shell.pid, "the job in the foreground")
    shell.press("\x1a", "Stopped")  # between giving it the terminal and continuing it, a stop would be lost
    shell.expect("prompt> ")
    shell.write("bg; touch go; wait; echo status $?\n")
    shell.expect("ended")
    shell.expect("inferscope: 204 events of 1 process and 1 thread, none lost; trace in trace.sbt")
    shell.expect("status 0")
    shell.write("exit\n")

    assert shell.wait() == 0
    assert len(tidy.trace().adds_up().events) == 204


def test_a_shell_kills_the_job(tidy, terminal):
    shell = terminal("/bin/bash", "--norc", "--noprofile", "-i", PS1="prompt> ")
    shell.expect("prompt> ")
    shell.write(f"{INFERSCOPE} run {FAULTS} hold 100 go &\n")
    shell.expect("emitted")
    shell.write("kill %1; wait %1; echo status $?\n")

    shell.expect("status 143")

    shell.write("exit\n")
    assert shell.wait() == 0
    assert tidy.trace().adds_up().info["signal"] == signal.SIGTERM


# ---- several at once ---------------------------------------------------------------------------


def test_two_recordings_in_one_folder(tidy):
    recorders = [tidy.start_recording("--trace", "trace.sbt", FAULTS, "paced", 50, 40 + 20 * i) for i in range(2)]
    results = [tidy.finish(recorder) for recorder in recorders]

    assert [result.status for result in results] == [0, 0]
    assert [result.closing["events"] for result in results] == [4000, 6000]
    assert [result.closing["trace"] for result in results] == ["trace.sbt", "trace.2.sbt"]
    assert [len(tidy.trace(tidy.folder / name).adds_up().events) for name in ("trace.sbt", "trace.2.sbt")] == [4000, 6000]
    assert sorted(path.name for path in tidy.folder.iterdir()) == ["trace.2.sbt", "trace.sbt"]


def test_a_recording_inside_a_recording(tidy):
    inner = (INFERSCOPE, "run", "--trace", "inner.sbt", FAULTS, "scopes", 1000, "exit")

    result = tidy.record("--trace", "outer.sbt", *inner)

    assert result.status == 7
    assert len(tidy.trace(tidy.folder / "inner.sbt").adds_up().events) == 2002  # the nearest recorder has them
    assert tidy.trace(tidy.folder / "outer.sbt").adds_up().events == []
    assert [line.split(";")[1].split()[2] for line in result.lines] == ["inner.sbt", "outer.sbt"]
