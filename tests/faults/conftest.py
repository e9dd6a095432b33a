"""What the fault tests share: where the program is, a place for each test, and how a trace is checked.

INFERSCOPE is the program under test and INFERSCOPE_BUILD the folder it was built in; build/ of this tree unless given.
Every trace is read by the second reader (tests/python/sbt.py), which knows nothing of the code that wrote it.
"""

import ctypes
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "python"))
import sbt  # noqa: E402

BUILD = Path(os.environ.get("INFERSCOPE_BUILD", ROOT / "build")).resolve()
INFERSCOPE = Path(os.environ.get("INFERSCOPE", BUILD / "inferscope")).resolve()
PROGRAMS = BUILD / "tests" / "programs"
FAULTS, INHERITED = PROGRAMS / "faults", PROGRAMS / "inherited"

SANITIZED = b"__asan_init" in INFERSCOPE.read_bytes()
PATIENCE = 60  # seconds that nothing here takes unless it hangs
LOST = 19  # the kind of a `lost` event
DOOR = BUILD / "python" / "inferscope" / "_door"
OUR_VARIABLES = {"INFERSCOPE_SESSION", "INFERSCOPE_RUNTIME", "INFERSCOPE_ENABLED", "INFERSCOPE_OPENCL_LAYERS"}
# ours when nobody else has set them
OTHERS_VARIABLES = {"NVTX_INJECTION64_PATH", "INTEL_LIBITTNOTIFY64", "CUDA_INJECTION64_PATH", "OPENCL_LAYERS"}
if (DOOR / "sitecustomize.py").exists():
    OUR_VARIABLES.add("INFERSCOPE_DOOR")
    OTHERS_VARIABLES.add("PYTHONPATH")
CLOSING_LINE = re.compile(
    r"^inferscope: (?:nothing to record: [^;]+|([\d,]+) events of ([\d,]+) process(?:es)? and ([\d,]+) threads?, "
    r"(?:none lost|([\d,]+) lost)?(?:, )?(?:the oldest ([\d,]+) dropped as asked)?); trace in (.+) \(([^()]+)\)$")

# A shell that starts us in the background, and nohup, have some signals ignored, which all that we start would inherit.
for ignored in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM):
    if signal.getsignal(ignored) == signal.SIG_IGN:
        signal.signal(ignored, signal.SIG_DFL)

not_sanitized = pytest.mark.skipif(SANITIZED, reason="sanitizers do not work in setuid programs")
records_python = pytest.mark.skipif(SANITIZED, reason="a Python that is not sanitized cannot load a runtime that is")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


def number(text):
    """Of a figure as we print it, or of nothing."""
    return int(text.replace(",", "")) if text else 0


class Result:
    """How a command ended."""

    def __init__(self, process, out, err):
        self.status, self.out, self.err = process.returncode, out, err

    @property
    def lines(self):
        return self.err.splitlines()

    @property
    def closing(self):
        """The one line that a recording ends with: events, processes, threads, lost, dropped, trace."""
        found = [match for match in map(CLOSING_LINE.match, self.lines) if match]
        assert len(found) == 1, f"expected one closing line in {self.err!r}"
        *figures, trace, _ = found[0].groups()
        names = ("events", "processes", "threads", "lost", "dropped")
        return {**dict(zip(names, map(number, figures))), "trace": trace}


class Trace:
    """A trace that obeys the rules of its format, as the second reader sees it."""

    def __init__(self, path, damaged=False):
        self.sbt = sbt.read(path)
        assert self.sbt.violations == []
        if not damaged:
            assert self.sbt.damage == []
            assert self.sbt.trailer
        self.info, self.lost = self.sbt.info, self.sbt.lost
        self.events = [event for event in self.sbt.events if event.kind != LOST]
        self.losses = [event for event in self.sbt.events if event.kind == LOST]
        self.processes = self.sbt.processes
        self.threads = {number: track for number, track in self.sbt.tracks.items() if track["kind"] == 1}
        self.slices = list(self.sbt.slices())

    def name(self, number):
        text = self.sbt.strings.get(number, "")
        return text.decode() if isinstance(text, bytes) else text

    def count(self, name):
        """How many slices of that name there are, ended or not."""
        return sum(self.name(one.name) == name for one in self.slices)

    @property
    def unfinished(self):
        return [self.name(one.name) for one in sorted(self.slices, key=lambda one: one.depth) if one.end is None]

    def adds_up(self):
        """produced = recorded + lost, in what the recorder says and in what is there."""
        assert self.info["produced"] == self.info["recorded"] + self.info["lost"]
        assert len(self.events) + self.lost == self.info["produced"]
        return self


class Place:
    """A folder for the test's files and another, in memory where there is one, for its sessions."""

    def __init__(self, folder, sessions):
        self.folder, self.sessions = folder, sessions
        self.trace_path = folder / "trace.sbt"
        self.started = []
        self.env = {key: value for key, value in os.environ.items() if not key.startswith("INFERSCOPE")}
        self.env.update(XDG_RUNTIME_DIR=str(sessions), XDG_CONFIG_HOME=str(folder / "config"), HOME=str(folder),
                        LC_ALL="C", INFERSCOPE_REPORT="none",  # test_report.py is about what else a run ends with
                        INFERSCOPE_WAITS="off")  # which records more than the program does

    def start(self, *command, env=None, **options):
        """Starts a command in the test's folder; it is killed when the test ends."""
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True,
                   "cwd": self.folder, "start_new_session": True, **options}
        process = subprocess.Popen([str(part) for part in command], env={**self.env, **(env or {})}, **options)
        self.started.append(process)
        return process

    def finish(self, process, input=None):
        out, err = process.communicate(input, timeout=PATIENCE)
        return Result(process, out, err)

    def call(self, *command, input=None, **options):
        if input is not None:
            options["stdin"] = subprocess.PIPE
        return self.finish(self.start(*command, **options), input)

    def start_recording(self, *command, **options):
        return self.start(INFERSCOPE, "run", *command, **options)

    def record(self, *command, **options):
        return self.call(INFERSCOPE, "run", *command, **options)

    def trace(self, path=None, **options):
        return Trace(path or self.trace_path, **options)

    def json(self, command, *arguments):
        result = self.call(INFERSCOPE, command, "--format", "json", *arguments)
        assert result.status == 0, result.err
        return json.loads(result.out)

    def leftovers(self):
        return sorted(path.name for path in self.sessions.glob("inferscope-*"))

    def clean_up(self):
        for process in self.started:
            if process.poll() is None:
                try:
                    os.killpg(process.pid, signal.SIGKILL)
                except (ProcessLookupError, PermissionError):
                    process.kill()
                process.wait()
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream:
                    stream.close()
        shutil.rmtree(self.sessions, ignore_errors=True)


@pytest.fixture
def place(tmp_path):
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    place = Place(tmp_path, Path(tempfile.mkdtemp(prefix="faults-", dir=memory)))
    yield place
    place.clean_up()


@pytest.fixture
def tidy(place):
    """A place in which no session may be left behind."""
    yield place
    assert place.leftovers() == []


def wait_for(condition, what="what was waited for"):
    """Its value when it is true at last."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.005)
    raise AssertionError(f"{what} did not happen in {PATIENCE} s")


def children(pid):
    """Its children, canary and all, by their command's name."""
    found = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = stat.read_text()
        except OSError:
            continue
        name, rest = text[text.index("(") + 1:text.rindex(")")], text[text.rindex(")") + 2:].split()
        if int(rest[1]) == pid:
            found[name] = (int(stat.parent.name), rest[0])
    return found


def state_of(pid):
    """R, S, T, Z, ... or None when it is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    return text[text.rindex(")") + 2]


def session_page(folder):
    """How many chunks are leased and how many processes have come, as the session's page says (src/ring/layout.h)."""
    return struct.unpack_from("<II", (Path(folder) / "session").read_bytes(), 192)


AS_NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


def open_to_others(place):
    """A folder in which everybody may do everything; skips where others cannot run the program at all."""
    for folder in (place.sessions.parent, *INFERSCOPE.parents, *FAULTS.parents):
        if not folder.stat().st_mode & 0o001:
            pytest.skip(f"others cannot enter {folder}")
    place.sessions.chmod(0o1777)
    return place.sessions


libc = ctypes.CDLL(None, use_errno=True)


def sigqueue(pid, number, value):
    assert libc.sigqueue(pid, number, ctypes.c_void_p(value)) == 0


def in_private_mounts(script, *command):
    """A command that runs a shell script, and then a command, with mounts of its own."""
    return ["unshare", "--mount", "--propagation", "private", "sh", "-e", "-c", f'{script}\nexec "$@"', "sh", *command]


# Inside, this is where things are; /tmp and /dev/shm are covered by what a test puts at SESSIONS.
INNER = Path("/mnt")
INNER_BUILD, INNER_FOLDER, SESSIONS = INNER / "build", INNER / "folder", INNER / "sessions"


def with_sessions_on(place, mount, *command):
    """A command for which all the places where a session can be are one mount (the arguments of mount(8))."""
    script = f"""
        mount -t tmpfs none {INNER}
        mkdir {INNER_BUILD} {INNER_FOLDER} {SESSIONS}
        mount --bind {BUILD} {INNER_BUILD}
        mount --bind {place.folder} {INNER_FOLDER}
        mount {mount} {SESSIONS}
        mount --rbind {SESSIONS} /dev/shm
        mount --rbind {SESSIONS} /tmp
        unset TMPDIR
        export XDG_RUNTIME_DIR={SESSIONS} HOME={INNER_FOLDER}
        cd {INNER_FOLDER}"""
    return in_private_mounts(script, *(str(part).replace(str(BUILD), str(INNER_BUILD)) for part in command))
