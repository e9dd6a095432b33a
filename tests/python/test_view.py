"""`inferscope view`: the page, in a folder of its own, and a browser that is asked to show it."""

import os
import stat
import subprocess
import time
from pathlib import Path

import pytest

from analysis import INFERSCOPE, inferscope
from made_trace import Made

BROWSER = """#!/bin/sh
echo noise; echo noise >&2
printf '%s\\n' "$0" "$@" > "$SEEN.draft"
mv "$SEEN.draft" "$SEEN"
sleep "${LINGER:-0}"
"""


@pytest.fixture(name="world")
def _world(tmp_path):
    made = Made()
    for step in range(20):
        made.kernel("gemm", 1000 * step + 405, 1000 * step + 410, 590)
    made.save(tmp_path / "made.json")
    for name in ("bin", "run", "tmp"):
        (tmp_path / name).mkdir()
    return tmp_path


def browser(world, name):
    path = world / "bin" / name
    path.write_text(BROWSER)
    path.chmod(0o755)
    return path


def view(world, *options, status=0, **variables):
    """What it printed: the path of the page; and on standard error."""
    if not INFERSCOPE:
        pytest.skip("set INFERSCOPE to the program to test")
    tools = ("sh", "mv", "sleep")
    for tool in tools:
        link = world / "bin" / tool
        if not link.exists():
            link.symlink_to(next(Path(d) / tool for d in ("/bin", "/usr/bin") if (Path(d) / tool).exists()))
    environment = {key: value for key, value in os.environ.items() if key not in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")}
    environment.update({"PATH": str(world / "bin"), "XDG_RUNTIME_DIR": str(world / "run"), "TMPDIR": str(world / "tmp"),
                        "SEEN": str(world / "seen"), **variables})
    done = subprocess.run([INFERSCOPE, "view", str(world / "made.json"), *options], env=environment, cwd=world, capture_output=True,
                          text=True, timeout=60, check=False, stdin=subprocess.DEVNULL)
    assert done.returncode == status, done.stderr
    return done.stdout.removesuffix("\n"), done.stderr


def seen(world):
    """What the browser was asked for: its own path and its arguments."""
    deadline = time.monotonic() + 20
    while not (world / "seen").exists():
        assert time.monotonic() < deadline, "no browser was started"
        time.sleep(0.02)
    return (world / "seen").read_text().splitlines()


def check_page(page, base):
    page = Path(page)
    assert page.name == "report.html" and page.parent.parent == base
    assert stat.S_IMODE(page.parent.stat().st_mode) == 0o700
    assert os.listdir(page.parent) == ["report.html"]
    assert page.read_text().startswith("<!doctype html>")


def test_without_a_screen_it_prints(world):
    browser(world, "xdg-open")
    page, errors = view(world)
    check_page(page, world / "run")
    time.sleep(0.2)
    assert errors == "" and not (world / "seen").exists()


def test_print_opens_nothing(world):
    browser(world, "xdg-open")
    page, _ = view(world, "--print", DISPLAY=":0")
    check_page(page, world / "run")
    time.sleep(0.2)
    assert not (world / "seen").exists()
    assert Path(page).read_bytes() == inferscope("analyze", world / "made.json", "--format", "html").stdout


@pytest.mark.parametrize("screen", ["DISPLAY", "WAYLAND_DISPLAY"])
def test_the_desktop_is_asked_first(world, screen):
    opener = browser(world, "xdg-open")
    browser(world, "mine")
    browser(world, "sensible-browser")
    page, errors = view(world, BROWSER="mine", **{screen: ":0"})
    assert seen(world) == [str(opener), page]
    assert errors == ""  # the browser's noise is not ours
    check_page(page, world / "run")


def test_then_what_the_user_named(world):
    mine = browser(world, "mine")
    browser(world, "sensible-browser")
    page, _ = view(world, BROWSER="missing:mine --new-tab %s --quiet:other")
    assert seen(world) == [str(mine), "--new-tab", page, "--quiet"]


def test_then_the_sensible_one(world):
    sensible = browser(world, "sensible-browser")
    page, _ = view(world, DISPLAY=":0")
    assert seen(world) == [str(sensible), page]


def test_nobody_waits_for_the_browser(world):
    browser(world, "xdg-open")
    begin = time.monotonic()
    view(world, DISPLAY=":0", LINGER="15")
    assert time.monotonic() - begin < 10
    seen(world)


def test_no_browser_is_no_failure(world):
    page, errors = view(world, DISPLAY=":0")
    check_page(page, world / "run")
    assert errors == "inferscope: no browser could be started; open that file in one\n"


def test_folders_in_their_order(world):
    page, _ = view(world, XDG_RUNTIME_DIR="")
    check_page(page, world / "tmp")
    page, _ = view(world, XDG_RUNTIME_DIR=str(world / "missing"))
    check_page(page, world / "tmp")


def test_a_page_for_each_time(world):
    assert view(world)[0] != view(world)[0]


def test_what_cannot_be_viewed(world):
    (world / "text").write_text("not a trace")
    for arguments, status in (((), 2), (("--nonsense", world / "made.json"), 2), ((world / "missing",), 3), ((world / "text",), 3)):
        done = inferscope("view", *arguments, status=status, env={**os.environ, "XDG_RUNTIME_DIR": str(world / "run")})
        assert done.stderr.startswith(b"inferscope: ") and not done.stdout
    assert os.listdir(world / "run") == []  # nothing is left behind
