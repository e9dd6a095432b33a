"""A session of LTTng-UST, the peer of `event_enabled`.

    with Session(folder) as session:
        ... run bench-lttng with session.env ...
    session.discarded, session.trace_bytes

The session daemon is ours, started and ended here, unless root already has one: that one is used then, and left running.
Root's daemon is always the system's (/run/lttng); other users get theirs in `folder`.
"""

import glob
import os
import shutil
import subprocess
import time
import xml.etree.ElementTree as xml
from pathlib import Path

EVENT = "inferscope_bench:event"
# Two bursts of bench-lttng (40,000 events of 18 bytes) fit the buffer of a CPU, so that nothing is discarded and all of its
# memory is soon in use.  Of four sizes tried none was reliably cheaper.
CHANNEL = ("--discard", "--subbuf-size=1M", "--num-subbuf=2")


class Unavailable(Exception):
    """LTTng cannot be measured here; the reason is the message."""


def missing():
    """What is not installed, or None."""
    for program in ("lttng", "lttng-sessiond"):
        if not shutil.which(program):
            return f"{program} is not installed (Debian: lttng-tools)"
    return None


class Session:
    def __init__(self, folder):
        self.folder = Path(folder)
        self.output = self.folder / "lttng-trace"
        self.name = f"inferscope-bench-{os.getpid()}"
        self.env = {**os.environ, "LTTNG_HOME": str(self.folder), "LTTNG_UST_REGISTER_TIMEOUT": "10000"}
        self.daemon = None
        self.discarded = self.trace_bytes = None

    def lttng(self, *arguments):
        """No daemon is to be started behind our back: -n."""
        done = subprocess.run(["lttng", "-n", *arguments], env=self.env, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode != 0:
            raise Unavailable(f"lttng {arguments[0]} failed: {done.stderr.strip() or done.stdout.strip()}")
        return done.stdout

    def daemon_answers(self):
        try:
            self.lttng("list")
            return True
        except Unavailable:
            return False

    def start_daemon(self):
        if self.daemon_answers():
            return
        self.leftovers = set(glob.glob("/dev/shm/lttng-ust-wait-*"))
        self.daemon = subprocess.Popen(["lttng-sessiond", "--no-kernel"], env=self.env, stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(100):
            if self.daemon.poll() is not None:
                raise Unavailable(f"lttng-sessiond ended with status {self.daemon.returncode}")
            if self.daemon_answers():
                return
            time.sleep(0.1)
        self.stop_daemon()
        raise Unavailable("lttng-sessiond did not answer within 10 seconds")

    def stop_daemon(self):
        if not self.daemon:
            return
        self.daemon.terminate()
        try:
            self.daemon.wait(20)
        except subprocess.TimeoutExpired:
            self.daemon.kill()
            self.daemon.wait()
        for path in set(glob.glob("/dev/shm/lttng-ust-wait-*")) - self.leftovers:
            os.unlink(path)

    def __enter__(self):
        self.start_daemon()
        try:
            self.lttng("create", self.name, f"--output={self.output}")
            self.lttng("enable-channel", f"--session={self.name}", "--userspace", *CHANNEL, "channel")
            self.lttng("enable-event", f"--session={self.name}", "--channel=channel", "--userspace", EVENT)
            self.lttng("start", self.name)
        except Unavailable:
            self.stop_daemon()
            raise
        return self

    def __exit__(self, *exception):
        try:
            self.lttng("stop", self.name)
            listing = xml.fromstring(self.lttng("--mi=xml", "list", self.name))
            self.discarded = sum(int(node.text) for node in listing.iter() if node.tag.endswith("}discarded_events"))
            self.trace_bytes = sum(path.stat().st_size for path in self.output.rglob("*") if path.is_file())
            self.lttng("destroy", self.name)
        finally:
            self.stop_daemon()
