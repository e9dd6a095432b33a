"""Commands on a machine on which nobody has installed CUPTI: what there is of it is covered, for them alone."""

import functools
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

LDCONFIG = shutil.which("ldconfig", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
MOUNTS = ["--mount", "--propagation", "private"]


@functools.lru_cache(maxsize=None)
def unshare():
    """As root, or as who may be root of a namespace of his own; None: neither is permitted."""
    for command in (["unshare", *MOUNTS], ["unshare", "--user", "--map-root-user", *MOUNTS]):
        if shutil.which("unshare") and subprocess.run([*command, "mount", "-t", "tmpfs", "none", "/mnt"], stderr=subprocess.DEVNULL,
                                                      check=False).returncode == 0:
            return command
    return None


def with_mounts(script, *command):
    """A command that runs a shell script, and then a command, with mounts of its own."""
    if not unshare():
        pytest.skip("mounts of one's own are not permitted")
    return [*unshare(), "sh", "-e", "-c", f'{script}\nexec "$@"', "sh", *map(str, command)]


def installed():
    """Copies that the loader knows, and folders of toolkits."""
    known = subprocess.run([LDCONFIG, "-p"], capture_output=True, text=True, check=False).stdout if LDCONFIG else ""
    toolkits = {path.resolve() for path in Path("/usr/local").glob("cuda*") if path.is_dir()}
    return re.findall(r"libcupti\.so.* => (/.*)", known), sorted(toolkits)


def without_cupti(*command):
    files, folders = installed()
    script = [f"mount --bind /dev/null '{file}'" for file in files] + [f"mount -t tmpfs none '{folder}'" for folder in folders]
    return with_mounts("\n".join(script), *command) if script else list(map(str, command))
