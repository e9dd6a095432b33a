"""`inferscope monitor` and `top`: the view in a terminal (tmux), what the program writes, lines where there is none."""

import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
import uuid

import pytest
import sbt
from recording import INFERSCOPE

PATIENCE = 20  # seconds that nothing here takes unless it hangs

ENVIRONMENT = {name: value for name, value in os.environ.items()
               if name not in ("INFERSCOPE_WAITS", "INFERSCOPE_REPORT", "NO_COLOR", "TMUX", "LC_ALL")}
ENVIRONMENT |= {"LANG": "C.UTF-8", "INFERSCOPE": str(INFERSCOPE)}

# Prints a line every tenth of a second; ends with status 7 when the file "end" is there.
PROGRAM = """
import os, sys, time
print("size", *os.get_terminal_size(), sys.stdin.isatty(), flush=True)
n = 0
while not os.path.exists("end"):
    n += 1
    print("line", n, flush=True)
    time.sleep(0.1)
print("last line", flush=True)
sys.exit(7)
"""
MONITOR = "$INFERSCOPE monitor --interval 0.1 "


def wait_until(condition, what="it"):
    deadline = time.monotonic() + PATIENCE
    while not (result := condition()):
        assert time.monotonic() < deadline, what
        time.sleep(0.03)
    return result


class Terminal:
    """A shell in a terminal of tmux."""

    def __init__(self, folder, **environment):
        if not shutil.which("tmux"):
            pytest.skip("there is no tmux")
        self.folder, self.socket = folder, f"inferscope-{uuid.uuid4().hex}"
        self.environment = {**ENVIRONMENT, **environment}
        (folder / "program.py").write_text(PROGRAM)
        (folder / "rc").write_text("PS1='ready$ '\n")

    def open(self, columns=100, rows=30):
        self.tmux("-f", "/dev/null", "new-session", "-d", "-s", "s", "-x", columns, "-y", rows, "-c", self.folder, "bash --rcfile rc")
        self.tmux("set", "-g", "status", "off")
        self.resize(columns, rows)
        self.wait_for("ready")

    def tmux(self, *arguments, check=True):
        return subprocess.run(["tmux", "-L", self.socket, *map(str, arguments)], env=self.environment, check=check,
                              capture_output=True, text=True, timeout=PATIENCE).stdout

    def resize(self, columns, rows):
        self.tmux("resize-window", "-t", "s", "-x", columns, "-y", rows)

    def text(self, *options):
        return self.tmux("capture-pane", "-p", "-t", "s", *options)

    def wait_for(self, pattern, *options):
        try:
            return wait_until(lambda: re.search(pattern, self.text(*options)), pattern)
        except AssertionError:
            raise AssertionError(f"{pattern!r} is not in\n{self.text()}") from None

    def type(self, command):
        self.tmux("send-keys", "-t", "s", "-l", command)
        self.keys("Enter")

    def keys(self, *keys):
        self.tmux("send-keys", "-t", "s", *keys)

    def end_program(self):
        (self.folder / "end").touch()

    def status(self):
        """Of the last command, once the shell is back."""
        wait_until(lambda: self.text().rstrip().endswith("ready$"), "the shell")
        self.type("echo status=$?=")
        return int(self.wait_for(r"status=(\d+)=")[1])

    def close(self):
        self.tmux("kill-server", check=False)


@pytest.fixture
def terminal(tmp_path):
    terminal = Terminal(tmp_path)
    try:
        terminal.open()
        yield terminal
    finally:
        terminal.close()


def trace_of(folder):
    trace = sbt.read(folder / "trace.sbt")
    assert trace.info["complete"]
    return trace


def pids_of(text):
    return int(re.search(r"pid (\d+)", text)[1])


# ---- the view ------------------------------------------------------------------------------------


def test_keys(terminal):
    terminal.type(MONITOR + "program.py")
    terminal.wait_for(r"inferscope monitor: \S*python\S* program.py +running")
    terminal.wait_for(r"(?m)^cpu +\[")
    terminal.wait_for(r"(?m)^memory +\[")
    terminal.wait_for(r"\[Threads\].*by cpu")
    terminal.wait_for(r"Output \(o")

    terminal.keys("s")
    terminal.wait_for(r"\[Threads\].*by wait")
    terminal.keys("Tab")
    terminal.wait_for(r"\[Processes\].*by tree")
    terminal.wait_for(r"python\S* ")
    terminal.keys("Right", "Right")
    terminal.wait_for(r"\[Alerts\]")
    terminal.wait_for(r"There has been no alert")
    terminal.keys("?")
    terminal.wait_for(r"Keys(?s:.*)any key ends it")
    terminal.keys("x", "a")
    terminal.wait_for(r"\[Threads\]")

    terminal.keys("/")
    terminal.tmux("send-keys", "-t", "s", "-l", "nobody")
    terminal.wait_for(r"/nobody_")
    terminal.wait_for(r"Nothing has this in its name")
    terminal.keys("Escape")
    terminal.wait_for(r"THREAD +ID")

    terminal.keys("p")
    paused = terminal.wait_for(r"paused; running (\S+ \S+)")[1]
    time.sleep(0.4)
    assert terminal.wait_for(r"paused; running (\S+ \S+)")[1] == paused
    terminal.keys("p")
    terminal.wait_for(r" running")

    terminal.keys("o")
    terminal.wait_for(r"\[Output\](?s:.*)line \d+\n(?s:.*)line \d+")
    terminal.end_program()
    assert terminal.status() == 7
    text = terminal.text("-S", "-")
    assert re.search(r"size 100 30 True\nline 1\nline 2\n", text) and "\nlast line\ninferscope: " in text
    assert trace_of(terminal.folder).info["exit_status"] == 7


def test_quitting_leaves_the_program_alone(terminal):
    before = terminal.type("stty -a") or terminal.wait_for(r"(?s)(speed.*echoke[^\n]*)")[1]
    terminal.type("clear")
    terminal.type(MONITOR + "program.py")
    terminal.wait_for(r"line 3\b")
    terminal.keys("q")
    wait_until(lambda: "[Threads]" not in terminal.text(), "the view to go")
    terminal.wait_for(r"size 100 30 True\nline 1\nline 2\n")
    last = int(re.findall(r"line (\d+)", terminal.text())[-1])
    terminal.wait_for(rf"line {last + 3}\n")
    terminal.end_program()
    assert terminal.status() == 7
    numbers = [int(number) for number in re.findall(r"(?m)^line (\d+)$", terminal.text("-S", "-"))]
    assert numbers == list(range(1, len(numbers) + 1))
    terminal.type("clear; stty -a")
    assert terminal.wait_for(r"(?s)(speed.*echoke[^\n]*)")[1] == before
    assert trace_of(terminal.folder).info["exit_status"] == 7


def test_sizes(terminal):
    terminal.type(MONITOR + "program.py")
    for columns, rows in (40, 8), (300, 100), (61, 13), (100, 30):
        terminal.resize(columns, rows)
        terminal.wait_for(rf"\A *inferscope monitor: .*running.*\n(?:.*\n){{{rows - 2}}}\? help")
        text = terminal.text()
        assert re.search(r"(?m)^cpu ", text) and "[Threads]" in text, text
    terminal.end_program()
    assert terminal.status() == 7


def test_colours_are_asked_for(terminal):
    coloured = r"\x1b\[[0-9;]*3[1-7]"
    for option, expected in ("NO_COLOR=1", False), ("", True):
        (terminal.folder / "end").unlink(missing_ok=True)
        terminal.type(f"clear; {option} {MONITOR} program.py")
        terminal.wait_for(r"(?m)^cpu .*%")
        if expected:
            terminal.wait_for(coloured, "-e")
        assert bool(re.search(coloured, terminal.text("-e"))) is expected
        terminal.end_program()
        assert terminal.status() == 7


def test_no_utf8(tmp_path):
    terminal = Terminal(tmp_path, LC_ALL="C")
    try:
        terminal.open()
        terminal.type(MONITOR + "program.py --name Grüße")
        terminal.wait_for(r"(?m)^cpu +\[#* *\]")
        text = terminal.text()
        assert text.isascii() and "[Threads]" in text and r"Gr\xc3\xbc" in text or r"Gr\u{fc}" in text
        terminal.end_program()
        assert terminal.status() == 7
    finally:
        terminal.close()


def test_hostile_names(terminal):
    name = terminal.folder / "\x1b[2Jx\u202ey\nz"
    shutil.copy(shutil.which("sleep"), name)
    terminal.type(MONITOR + "./*2J*z 60")
    terminal.wait_for(r"monitor: .*\\x1b\[2Jx\\u\{202e\}y\\nz 60")
    terminal.keys("C-c")
    assert terminal.status() == 130


# ---- signals --------------------------------------------------------------------------------------


def test_interrupt(terminal):
    terminal.type(MONITOR + "program.py")
    terminal.wait_for(r"line \d+\b")
    terminal.keys("C-c")
    assert terminal.status() == 130
    assert "KeyboardInterrupt" in terminal.text()
    assert trace_of(terminal.folder).info["signal"] == signal.SIGINT


def test_stop_and_continue(terminal):
    terminal.type(MONITOR + "program.py")
    terminal.wait_for(r"line \d+\b")
    terminal.keys("C-z")
    terminal.wait_for(r"Stopped")
    assert "[Threads]" not in terminal.text() and "line 2\n" in terminal.text()
    terminal.type("fg")
    terminal.wait_for(r"\[Threads\]")
    terminal.wait_for(r" running")

    pid = pids_of(terminal.text())
    os.kill(pid, signal.SIGSTOP)
    terminal.wait_for(r" stopped \d")
    os.kill(pid, signal.SIGCONT)
    terminal.wait_for(r" running \d")
    terminal.end_program()
    assert terminal.status() == 7
    numbers = [int(number) for number in re.findall(r"(?m)^line (\d+)$", terminal.text("-S", "-"))]
    assert numbers == list(range(1, len(numbers) + 1))


def test_the_terminal_is_closed(terminal):
    folder = terminal.folder
    terminal.type(MONITOR + "sh -c 'trap \"\" HUP; echo $$ >pid; while [ ! -e end ]; do echo still here || touch failed; sleep 0.05; done; "
                  "touch unharmed; exit 5'")
    terminal.wait_for(r"\[Threads\]")
    pid = int((folder / "pid").read_text())
    terminal.tmux("kill-server")
    time.sleep(0.5)
    os.kill(pid, 0)
    terminal.end_program()
    wait_until((folder / "trace.sbt").exists)
    assert (folder / "unharmed").exists() and not (folder / "failed").exists()
    assert trace_of(folder).info["exit_status"] == 5


def test_the_program_is_killed(terminal):
    terminal.type(MONITOR + "program.py")
    terminal.wait_for(r"line \d")
    os.kill(pids_of(terminal.text()), signal.SIGKILL)
    assert terminal.status() == 128 + signal.SIGKILL
    assert trace_of(terminal.folder).info["signal"] == signal.SIGKILL


def test_exec_and_many_children(terminal):
    terminal.type(MONITOR + "bash -c 'for i in $(seq 200); do sleep 60 & done; touch forked; while [ ! -e go ]; do sleep 0.1; done; "
                  "kill $(jobs -p); wait; exec sleep 61'")
    wait_until((terminal.folder / "forked").exists)
    terminal.wait_for(r"20[1-3] processes")
    terminal.keys("Tab")
    terminal.wait_for(r"\[Processes\].*more are not shown")
    terminal.keys("End")
    (terminal.folder / "go").touch()
    terminal.wait_for(r" 1 process, 1 thread")
    terminal.wait_for(r"\[Processes\](?s:.*)sleep")
    os.kill(pids_of(terminal.text()), signal.SIGTERM)
    assert terminal.status() == 128 + signal.SIGTERM
    assert trace_of(terminal.folder).info["signal"] == signal.SIGTERM


# ---- what the program writes and reads --------------------------------------------------------------


def test_typing(terminal):
    terminal.type(MONITOR + "sh -c 'read a; echo got=$a; read b; echo and=$b'")
    terminal.wait_for(r"\[Threads\]")
    terminal.keys("i")
    terminal.wait_for(r"typing to the program")
    terminal.type("first")
    terminal.wait_for(r"got=first")
    terminal.keys("C-]")
    terminal.wait_for(r"\[Output\]")
    terminal.keys("q")
    terminal.wait_for(r"(?m)^first\ngot=first\n")
    terminal.type("second")
    terminal.wait_for(r"and=second")
    assert terminal.status() == 0


def run_in_pty(arguments, folder, stdin=None):
    """What the terminal was sent, and the exit status."""
    pid, fd = pty.fork()
    if pid == 0:
        if stdin:
            os.dup2(os.open(stdin, os.O_RDONLY), 0)
        os.chdir(folder)
        os.execve(INFERSCOPE, [INFERSCOPE, *map(str, arguments)], {**ENVIRONMENT, "TERM": "xterm"})
    sent = b""
    while True:
        try:
            data = os.read(fd, 65536)
        except OSError:
            break
        if not data:
            break
        sent += data
    os.close(fd)
    return sent, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_output_is_byte_for_byte(tmp_path):
    written = bytes(range(256)) * 40 + b"\x1b[31mred\x1b[0m\nwithout an end"
    (tmp_path / "bytes").write_bytes(written)
    sent, status = run_in_pty(["monitor", "--interval", "0.1", "sh", "-c", "sleep 0.5; cat bytes; sleep 0.5; cat bytes >&2; exit 3"], tmp_path)
    assert status == 3
    after = sent.rpartition(b"\x1b[?1049l")[2]
    expected = written.replace(b"\n", b"\r\n") * 2
    assert expected in after and after.partition(expected)[2].lstrip(b"\r\x1b[?1l>").startswith(b"inferscope: ")


def test_streams_that_are_no_terminal_are_left_alone(tmp_path):
    (tmp_path / "in").write_text("from a file\n")
    sent, status = run_in_pty(["monitor", "--interval", "0.1", "sh", "-c", "cat >out; test -t 1 && test ! -t 0 && sleep 0.3"], tmp_path, tmp_path / "in")
    assert status == 0 and b"[Threads]" in sent
    assert (tmp_path / "out").read_text() == "from a file\n"


# ---- without a terminal --------------------------------------------------------------------------------


def run(*arguments, folder, **options):
    return subprocess.run([INFERSCOPE, *map(str, arguments)], cwd=folder, env=ENVIRONMENT, capture_output=True, text=True,
                          timeout=PATIENCE, check=False, **options)


def test_lines(tmp_path):
    result = run("monitor", "--interval", "0.2", "sh", "-c", "echo out; sleep 2.6; exit 4", folder=tmp_path)
    assert (result.returncode, result.stdout) == (4, "out\n")
    *lines, last = result.stderr.splitlines()
    assert len(lines) == 2, result.stderr
    for second, line in enumerate(lines, 1):
        match = re.fullmatch(r" +(\d+\.\d) s  cpu +([\d.]+) of \S+ +memory +[\d.]+ \w+ +[\d.]+ %  disk .*read.*written  threads +2  alerts 0  "
                             r"events +\S+/s lost 0", line)
        assert match, line
        assert second - 0.11 < float(match[1]) < second + 0.9 and float(match[2]) < 1  # the look that is nearest, a tenth early at most
    assert last.startswith("inferscope: ") and "trace in trace.sbt" in last
    assert not (tmp_path / "report.md").exists()
    info = trace_of(tmp_path).info
    assert info["exit_status"] == 4


def test_alerts_are_said_once(tmp_path):
    """Such a rule is true from the first look on; its end is that of the program.  The recorder waits for the command, too."""
    result = run("monitor", "--interval", "0.1", "--alert", "always: program.pid > 0", "--on-alert", "*=log:alerts.log",
                 "--on-alert", "*=command:exit 3", "sleep", "2.5", folder=tmp_path)
    said = [line.split("alert ")[1] for line in result.stderr.splitlines() if " s  alert " in line]
    assert re.findall(r"inferscope: (.* command .*)", result.stderr) == ["the command for an alert failed: it ended with status 3; it is said once kinds=*"]
    assert said == ["warning rule always: program.pid > 0", "ended rule always: program.pid > 0"]
    assert re.findall(r"(?m)^\S+Z (begin|end) warning rule \[always\]", (tmp_path / "alerts.log").read_text()) == ["begin", "end"]
    trace = trace_of(tmp_path)
    track, = (number for number, track in trace.tracks.items() if trace.strings.get(track["name"]) == "alerts")
    assert [trace.strings[event.name] for event in trace.events if event.track == track] == ["rule", "rule"]


def test_nobody_reads_the_lines_any_more(tmp_path):
    """`monitor` goes on without them, and the program hears nothing of it; `top` has nothing more to do."""
    def begin(*arguments):
        return subprocess.Popen([INFERSCOPE, *arguments], cwd=tmp_path, env=ENVIRONMENT, stderr=subprocess.PIPE, text=True)

    with subprocess.Popen(["sleep", "20"]) as program, begin("top", str(program.pid)) as top, \
            begin("monitor", "sh", "-c", "sleep 2.7; exit 9") as monitor:
        for process in top, monitor:
            assert "s  cpu" in process.stderr.readline()
            process.stderr.close()
        assert (top.wait(PATIENCE), program.poll(), monitor.wait(PATIENCE)) == (0, None, 9)
        program.kill()
    assert trace_of(tmp_path).info["exit_status"] == 9


@pytest.mark.parametrize("web", [["--web"], ["--web", "127.0.0.1:0"], ["--web=0"]], ids=" ".join)
def test_page(tmp_path, web):
    with subprocess.Popen([INFERSCOPE, "monitor", "--no-view", "--interval", "0.1", "--open-metrics", *web, "sleep", "60"], cwd=tmp_path,
                          env=ENVIRONMENT, stderr=subprocess.PIPE, text=True) as monitor:
        try:
            url = re.fullmatch(r"inferscope: the page is at (http://127.0.0.1:\d+/)(\?token=\S+)\n", monitor.stderr.readline())

            def get(path):
                return urllib.request.urlopen(url[1] + path, timeout=PATIENCE).read().decode()

            snapshot = wait_until(lambda: (told := json.loads(get("api" + url[2])))["processes"] and told)
            assert snapshot["command"] == "sleep 60" and snapshot["state"] == "running"
            first = get("metrics")
            assert first.endswith("# EOF\n") and '\ninferscope_run_info{program="sleep"} 1\n' in first
            time.sleep(0.15)
            starts = {re.search(r"(?m)^process_start_time_seconds (\S+)$", text)[1] for text in (first, get("metrics"))}
            assert len(starts) == 1 and abs(float(starts.pop()) - time.time()) < PATIENCE
            with pytest.raises(urllib.error.HTTPError) as refused:
                get("api")
            assert refused.value.code in (401, 403)
            os.kill(snapshot["pid"], signal.SIGTERM)
            assert monitor.wait(PATIENCE) == 128 + signal.SIGTERM
        finally:
            monitor.kill()


def test_no_view(tmp_path):
    result = run("monitor", "--no-view", "sh", "-c", "sleep 1.2", folder=tmp_path)
    assert result.returncode == 0 and result.stderr.startswith("inferscope: ") and result.stderr.count("\n") == 1


def test_top(terminal):
    program = subprocess.Popen([sys.executable, "-c", "import time\nwhile True: time.sleep(0.01)"])
    try:
        terminal.type(f"$INFERSCOPE top --interval 0.1 {program.pid}")
        terminal.wait_for(rf"inferscope top: \S*python\S* -c .*running(?s:.*)pid {program.pid}, 1 process, 1 thread")
        terminal.wait_for(r"(?m)^python\S* +\d+ .*sleep")
        terminal.keys("q")
        assert terminal.status() == 0
        assert program.poll() is None

        terminal.type(f"clear; $INFERSCOPE top --interval 0.1 {program.pid}")
        terminal.wait_for(r"\[Threads\]")
        program.kill()
        program.wait()
        terminal.wait_for(rf"inferscope: process {program.pid} has ended")
        assert terminal.status() == 0
    finally:
        program.kill()
        program.wait()


def settings_of(terminal):
    terminal.type("clear; stty -a")
    return terminal.wait_for(r"(?s)(speed.*echoke[^\n]*)")[1]


def process_of(program):
    """The command that looks at it."""
    for folder in os.listdir("/proc"):
        try:
            with open(f"/proc/{folder}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
        except OSError:
            continue
        if words[0] == os.fsencode(INFERSCOPE) and os.fsencode(str(program)) in words:
            return int(folder)
    return None


def test_top_leaves_the_terminal_as_it_was(terminal):
    """Stopped and continued, and ended by those who end things."""
    with subprocess.Popen(["sleep", "60"]) as program:
        try:
            before = settings_of(terminal)
            terminal.type(f"clear; $INFERSCOPE top --interval 0.1 {program.pid}")
            terminal.wait_for(r"\[Threads\]")
            terminal.keys("C-z")
            terminal.wait_for(r"Stopped")
            assert "[Threads]" not in terminal.text()
            assert settings_of(terminal) == before
            terminal.type("fg")
            terminal.wait_for(r"\[Threads\](?s:.*)sleep")
            for sent in signal.SIGTERM, signal.SIGHUP:
                os.kill(process_of(program.pid), sent)
                assert terminal.status() == 0
                assert "[Threads]" not in terminal.text()
                assert settings_of(terminal) == before
                if sent == signal.SIGTERM:
                    terminal.type(f"clear; $INFERSCOPE top --interval 0.1 {program.pid}")
                    terminal.wait_for(r"\[Threads\]")
            assert program.poll() is None
        finally:
            program.kill()


def test_top_once(tmp_path):
    with subprocess.Popen(["sleep", "60"]) as program:
        text = run("top", "--once", "--interval", "0.1", program.pid, folder=tmp_path)
        told = run("top", "--json", "--interval", "0.1", program.pid, folder=tmp_path)
        program.kill()
    assert text.returncode == 0 and text.stderr == ""
    assert text.stdout.startswith(f"pid {program.pid}  sleep 60\n")
    assert re.search(rf"(?m)^ *{program.pid} +{os.getpid()} +S +0.0 % +\S+ \S+ +1  sleep 60$", text.stdout), text.stdout
    assert re.search(rf"(?m)^ *{program.pid} +{program.pid} +0.0 % +\S+ \S+  sleep +sleep", text.stdout), text.stdout
    snapshot = json.loads(told.stdout)
    assert snapshot["pid"] == program.pid and snapshot["command"] == "sleep 60"
    assert [process["pid"] for process in snapshot["processes"]] == [program.pid]

    gone = run("top", program.pid, folder=tmp_path)
    assert (gone.returncode, gone.stderr) == (4, f"inferscope: there is no process {program.pid}\n")


def test_top_of_a_thread(tmp_path):
    over = threading.Event()
    thread = threading.Thread(target=over.wait)
    thread.start()
    refused = run("top", thread.native_id, folder=tmp_path)
    over.set()
    thread.join()
    assert (refused.returncode, refused.stderr) == (4, f"inferscope: {thread.native_id} is a thread and not a process\n")
