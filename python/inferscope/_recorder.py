"""The recorder: `inferscope record`, a process that reads this one's events from shared memory and writes the trace.

It is not a child of the program, which may wait for any of its children and
must not find ours among them: a shell starts it and is gone.  One socket is its
standard input, output and error.
"""

import json
import os
import socket
import subprocess
import sys

PATIENCE = 60  # seconds for the recorder to start, and to write what it has; both take milliseconds

_DETACHED = ["/bin/sh", "-c", 'exec 3<&0; "$@" <&3 3<&- &', "inferscope"]


class RecordingError(RuntimeError):
    """Recording cannot start; the text says why."""


def find_command():
    """The path of the command that goes with this package."""
    package = os.path.dirname(os.path.abspath(__file__))
    given = os.environ.get("INFERSCOPE_COMMAND")
    if given:
        return given
    beside = os.path.join(package, "bin", "inferscope")
    above = os.path.join(os.path.dirname(os.path.dirname(package)), "inferscope")
    for path in (beside, above):
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    import shutil
    found = shutil.which("inferscope")
    if not found:
        raise RecordingError("there is no 'inferscope' command to record with; put it on PATH or its path into INFERSCOPE_COMMAND")
    return found


class Recorder:
    """One run of the command.  `session` and `runtime` are where it says that they are."""

    def __init__(self, arguments):
        self.command = find_command()
        ours, theirs = socket.socketpair()
        self._socket = ours
        self._rest = b""
        ours.settimeout(PATIENCE)
        try:
            with theirs:
                self._spawn([self.command, "record", "--for", str(os.getpid())] + arguments, theirs)
            first = self._line()
            ready = _parse(first)
            if ready is None:
                raise RecordingError(_complaint(first + self._remainder()))
        except BaseException:
            ours.close()
            raise
        self.session, self.runtime = ready["session"], ready["runtime"]

    def _spawn(self, arguments, end):
        detached = _DETACHED if os.access("/bin/sh", os.X_OK) else []
        try:
            process = subprocess.Popen(detached + arguments, stdin=end, stdout=end, stderr=end, close_fds=True,
                                       start_new_session=True)
        except OSError as error:
            raise RecordingError("cannot start the recorder %s: %s" % (self.command, error.strerror)) from None
        if detached:
            process.wait()
        else:
            process.returncode = 0  # it is reaped with the program

    def _line(self):
        while b"\n" not in self._rest:
            try:
                more = self._socket.recv(65536)
            except OSError:
                more = b""
            if not more:
                break
            self._rest += more
        line, _, self._rest = self._rest.partition(b"\n")
        return line

    def _remainder(self):
        text = b""
        while True:
            line = self._line()
            if not line:
                return text
            text += b"\n" + line

    def stop(self):
        """Ends the recording: what it says of it, or None when it has nothing to say any more."""
        try:
            self._socket.shutdown(socket.SHUT_WR)  # unlike closing it, also when a forked child has a copy
        except OSError:
            pass
        totals, line = None, b"?"
        while line:
            line = self._line()
            totals = _parse(line) or totals
        self._socket.close()
        return totals

    def forget(self):
        """In a forked child, whose recorder it is not."""
        self._socket.close()

    def recover(self, trace):
        """Makes a trace of what a recorder left that has ended before its time; True when that worked."""
        try:
            done = subprocess.run([self.command, "recover", "--trace", trace, self.session], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=PATIENCE)
        except (OSError, subprocess.SubprocessError):
            return False
        return done.returncode == 0


def _parse(line):
    try:
        value = json.loads(line.decode("utf-8", "replace"))
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _complaint(text):
    text = text.decode("utf-8", "replace").strip()
    if not text:
        return "the recorder ended before it began"
    return "the recorder cannot start: " + text.replace("inferscope: ", "", 1)


def python_version():
    return "%d.%d" % sys.version_info[:2]
