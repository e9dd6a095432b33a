"""How much memory a program used at most, looked at from outside.

The kernel keeps a peak only of the sum (VmHWM), and the sum counts the rings, which are shared with the recorder.  So the parts
are looked at every 10 ms: a peak that is over sooner is missed, in the bare program as in the recorded one.
"""

import os
import threading
import time
from pathlib import Path

INTERVAL = 0.01  # seconds


def children(pid):
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
        return [int(child) for thread in threads for child in (thread / "children").read_text().split()]
    except OSError:
        return []


def find(pid, executable):
    """The first process at or below pid that runs the executable; None when there is none (yet)."""
    try:
        if os.readlink(f"/proc/{pid}/exe") == executable:
            return pid
    except OSError:
        return None
    return next((found for child in children(pid) if (found := find(child, executable))), None)


def sample(pid):
    """{"RssAnon": bytes, ...} of a process; empty once it has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return {}
    fields = (line.split() for line in lines if line.startswith("Rss"))
    return {name.rstrip(":"): int(kilobytes) * 1024 for name, kilobytes, _ in fields}


class PeakMemory:
    """start(pid) and finish() around the life of a command; then private (RssAnon + RssFile) and shared (RssShmem) are the
    peaks in bytes of the first process in it that runs the interpreter."""

    def __init__(self, python):
        self.executable = os.path.realpath(python)
        self.private = self.shared = 0
        self.over = threading.Event()

    def start(self, pid):
        self.thread = threading.Thread(target=self.watch, args=(pid,), daemon=True)
        self.thread.start()

    def watch(self, pid):
        target = None
        while not self.over.is_set():
            target = target or find(pid, self.executable)
            now = sample(target) if target else {}
            self.private = max(self.private, now.get("RssAnon", 0) + now.get("RssFile", 0))
            self.shared = max(self.shared, now.get("RssShmem", 0))
            time.sleep(INTERVAL)

    def finish(self):
        self.over.set()
        self.thread.join()
        if not self.private:
            raise RuntimeError(f"no process ran {self.executable}")
