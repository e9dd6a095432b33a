"""The Pythons that the build has an extension for, and those of this machine that it has none for.

An extension is known by its name, _tracer followed by what the interpreter calls its EXT_SUFFIX; interpreters are looked
for on PATH and where pyenv keeps them.
"""

import functools
import glob
import os
import subprocess
import sys

from recording import BUILD, PATIENCE

EXTENSIONS = BUILD / "python" / "inferscope"
QUESTION = "import sys, sysconfig; print(sysconfig.get_config_var('EXT_SUFFIX'), *sys.version_info[:3], sys.executable)"


class Python:
    """An interpreter; `version` is a pair of numbers."""

    def __init__(self, suffix, version, path):
        self.suffix, self.version, self.path = suffix, version, path

    def __str__(self):
        return "%d.%d%s" % (*self.version, "t" * self.is_free_threaded)

    @property
    def is_free_threaded(self):
        return self.suffix.startswith(".cpython-%d%dt-" % self.version)

    @property
    def has_extension(self):
        return (EXTENSIONS / f"_tracer{self.suffix}").exists()


def ask(path):
    """The Python at this path, or None if it does not answer as one of version 3 would."""
    done = subprocess.run([path, "-I", "-c", QUESTION], capture_output=True, text=True, check=False, timeout=PATIENCE)
    words = done.stdout.split(None, 4)
    if done.returncode != 0 or len(words) != 5 or words[1] != "3":
        return None
    return Python(words[0], (int(words[1]), int(words[2])), words[4].strip())


def candidates():
    folders = os.environ.get("PATH", "").split(os.pathsep)
    paths = [path for folder in folders for path in sorted(glob.glob(f"{glob.escape(folder)}/python3*"))
             if path.rpartition("/python3")[2].lstrip(".").removesuffix("t").isdigit() or path.endswith("/python3")]
    paths += sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/*/bin/python3")))
    return [sys.executable, *map(os.path.realpath, paths)]  # the first has packages that the others need not have


@functools.lru_cache(maxsize=None)
def all_pythons():
    """One of each version and kind (free-threaded or not), oldest first."""
    found = {}
    for path in dict.fromkeys(candidates()):
        if os.access(path, os.X_OK):
            python = ask(path)
            if python:
                found.setdefault((python.version, python.suffix), python)
    return [found[key] for key in sorted(found)]


def recorded_pythons():
    return [python for python in all_pythons() if python.has_extension]


def other_pythons():
    """Those that cannot be recorded."""
    return [python for python in all_pythons() if not python.has_extension]
