"""What people see on a terminal: the ten lines, their width, their colours, and the report beside them."""

import fcntl
import json
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import unicodedata
from pathlib import Path

import pytest

from analysis import INFERSCOPE, ROOT, SHARED, inferscope
from made_trace import Made

ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
HOSTILE = ["<script>alert(1)</script>", "\x1b[31mred\x1b[0m\x07", "a\nb\r\tc\0d", "\u202egnp.exe", "x" * 5000, "\ud800", "中文字" * 40,
           "e\u0301" * 60, "\u0301" * 400, "👩‍👩‍👧" * 30, "\u200b" * 50, "\x9b31m", "𝕏" * 100, "", "%s%n", "ⅷ＂ｗｉｄｅ" * 20]


records_python = pytest.mark.skipif(bool(INFERSCOPE) and b"__asan_init" in Path(INFERSCOPE).read_bytes(),
                                    reason="a Python that is not sanitized cannot load a runtime that is")


def width(text):
    """Columns of a line, by Unicode and not by our own code."""
    return sum(0 if unicodedata.category(c) in ("Mn", "Me", "Cf") else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def check_lines(text, columns=80):
    for line in text.splitlines():
        assert width(line) <= columns, (width(line), line)
        assert not any(unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp", "Cs") for c in line), line


def environment(**variables):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LC_", "LANG", "INFERSCOPE", "NO_COLOR", "CLICOLOR"))}
    return {**kept, "LC_ALL": "C.UTF-8", "TERM": "xterm", **variables}


def view(*arguments, columns=80, **variables):
    """The terminal view of a trace, without colours; every line has been checked."""
    text = inferscope("analyze", *arguments, env=environment(**variables)).stdout.decode()
    check_lines(text, columns)
    return text.splitlines()


def on_terminal(command, columns=80, env=None, **options):
    """What a command prints on a terminal, and its status."""
    if not INFERSCOPE:
        pytest.skip("set INFERSCOPE to the program to test")
    ours, theirs = pty.openpty()
    try:
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        process = subprocess.Popen(list(map(str, command)), stdin=theirs, stdout=theirs, stderr=theirs, env=env or environment(),
                                   start_new_session=True, **options)
        os.close(theirs)
        out = b""
        while True:
            if not select.select([ours], [], [], 60)[0]:
                process.kill()
                raise AssertionError("nothing more was printed for a minute")
            try:
                part = os.read(ours, 65536)
            except OSError:  # the last one closed it
                break
            if not part:
                break
            out += part
        return out.decode().replace("\r\n", "\n"), process.wait(60)
    finally:
        os.close(ours)


def starved(path, steps=4, name="train.py(88): load"):
    """A device that waits for a function of the user's between its kernels: 40 of 100 microseconds."""
    made = Made()
    for step in range(steps):
        at = 1000 * step
        made.host("user_annotation", f"ProfilerStep#{step + 5}", at, 990)
        made.host("python_function", name, at + 550, 440)
        made.kernel("gemm", at + 10, at + 20, 600)
    return made.save(path)


# ---- The lines ---------------------------------------------------------------------

def test_ten_lines(tmp_path):
    lines = view(starved(tmp_path / "made.json"), "-o", tmp_path / "r.md")
    diagnosis = lines[:lines.index("")]
    assert len(diagnosis) <= 10
    assert re.fullmatch(r"inferscope  made\.json   3\.\d\d ms   4 steps   1 GPU   integrity good", diagnosis[0])
    assert re.fullmatch(r"GPU idle 3\d% of the time: computing on the CPU delays it {2,}confidence (high|medium)", diagnosis[1])
    assert re.fullmatch(r"  busy 6\d\.\d%  compute █+[▏▎▍▌▋▊▉]? 6\d\.\d", diagnosis[2])
    assert re.fullmatch(r"  idle 3\d\.\d%  host late █+[▏▎▍▌▋▊▉]? 3\d\.\d", diagnosis[3])
    assert re.fullmatch(r"  step 990\.00 us median, 990\.00 us p99, slowest #5", diagnosis[4])
    assert diagnosis[5].startswith("what to change first") and diagnosis[5].endswith("step time  range")
    assert re.fullmatch(r" 1 HIGH  make train\.py\(88\): load faster, .* −1\d\.\d%  \d\.\d–3\d\.\d", diagnosis[6])
    assert re.fullmatch(r"with it: step 990\.00 us → 8\d\d\.\d\d us \(−1\d%\)   \S+", diagnosis[7].replace(str(tmp_path), "")[:80])


def test_figures_are_those_of_the_json(tmp_path):
    path = starved(tmp_path / "made.json")
    lines, result = view(path), json.loads(inferscope("analyze", path, "--format", "json").stdout)
    device, finding = result["devices"][0], result["findings"][0]
    assert f"busy {100 * device['busy_us'] / device['total_us']:.1f}%" in lines[2]
    assert f"idle {100 * device['idle_us'] / device['total_us']:.1f}%" in lines[3]
    assert f"−{finding['gain_percent']:.1f}%  {finding['gain_low_percent']:.1f}–{finding['gain_high_percent']:.1f}" in lines[6]
    left = 1.0
    for each in result["findings"][:3]:
        left *= 1 - each["gain_percent"] / 100
    assert f"(−{100 * (1 - left):.0f}%)" in lines[7]


def test_nothing_to_change(tmp_path):
    made = Made()
    for i in range(10):
        made.op("aten::mm", 90 * i, 20)
        made.kernel("gemm" if i % 3 else "relu", 90 * i + 1, 10 + 100 * i, 100)
    (tmp_path / "off.yaml").write_text("rules: [{name: busiest_kernels, when: false, message: off}]\n")
    lines = view(made.save(tmp_path / "busy.json"), "--rules-file", tmp_path / "off.yaml")
    assert lines[1].startswith("GPU busy 100% of the time: its own work is the limit")
    assert "Nothing worth changing above 2%; the largest costs are" in lines
    at = lines.index("Nothing worth changing above 2%; the largest costs are")
    assert lines[at + 1:at + 3] == ["   60.0%  gemm", "   40.0%  relu"]
    assert lines[at + 3].endswith("busy.json") and "all" not in lines[at + 3]


def test_what_cannot_be_judged_is_not_healthy(tmp_path):
    made = Made()
    for i in range(4):
        made.kernel("gemm", None, 1000 * i, 500)  # nothing is known of what launched them
    lines = view(made.save(tmp_path / "unknown.json"))
    assert any(line.endswith("the trace does not tell why") for line in lines[:4])
    assert not any("Nothing worth changing" in line or "confidence" in line for line in lines)
    (tmp_path / "empty.json").write_text('{"traceEvents": []}')
    assert view(tmp_path / "empty.json")[1] == "cannot judge: there are no events in the trace"


def test_poor_integrity_is_said_and_makes_ranges(tmp_path):
    made = Made()
    for i in range(10):
        made.op("aten::mm", 1000 * i, 900)
        made.kernel("gemm", 1000 * i + 5 if i < 6 else None, 1000 * i + 10, 500)
    lines = view(made.save(tmp_path / "poor.json"))
    assert lines[0].endswith("integrity poor") and lines[1].startswith("  not reliable: ")
    assert re.match(r"GPU idle \d+ to \d+% of the time", lines[2]) or "idle" not in lines[2]


@records_python
def test_a_command_is_named_by_its_script(tmp_path):
    (tmp_path / "train.py").write_text("def step():\n    return sum(range(1000))\n\nfor _ in range(100):\n    step()\n")
    env = environment(INFERSCOPE_REPORT="report.md")
    done = subprocess.run([INFERSCOPE, "run", "--report", "report.md", sys.executable, tmp_path / "train.py"], cwd=tmp_path, env=env,
                          capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0 and done.stdout == ""
    lines = done.stderr.splitlines()
    assert lines[0].startswith("inferscope  train.py  ") and lines[-1].startswith("inferscope: ")
    assert lines[-2].endswith("report.md   trace.sbt")
    check_lines("\n".join(lines[:-1]))
    again = inferscope("analyze", "trace.sbt", "-o", "again.md", cwd=tmp_path, env=environment()).stdout.decode().splitlines()
    assert again[:len(lines) - 2] == lines[:-2]  # but for the name of the report
    assert (tmp_path / "again.md").read_text() == (tmp_path / "report.md").read_text()


# ---- Width and names -----------------------------------------------------------------

@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize("locale", ["C.UTF-8", "C"])
def test_any_name_fits(tmp_path, name, locale):
    path = starved(tmp_path / "made.json", name=name)
    lines = view(path, "-o", tmp_path / "r.md", LC_ALL=locale)
    assert len(lines) > 10
    if locale == "C":
        assert all(line.isascii() for line in lines)


def test_any_file_name_fits(tmp_path):
    for name in ("中" * 60 + ".json", "a b\x1b[31m.json", "x" * 200 + ".json"):
        lines = view(starved(tmp_path / name))
        assert lines[0].startswith("inferscope  ") and lines[0].endswith("integrity good")


@pytest.mark.parametrize("columns, expected", [(60, 60), (72, 72), (80, 80), (120, 120), (200, 120)])
def test_a_terminal_of_any_width(tmp_path, columns, expected):
    path = starved(tmp_path / "made.json", name="中文字" * 30)
    text, status = on_terminal([INFERSCOPE, "analyze", path, "-o", tmp_path / "r.md"], columns)
    assert status == 0
    check_lines(ESCAPE.sub("", text), expected)


def real_traces():
    return sorted(SHARED.glob("kineto/*.json.gz")) + sorted(SHARED.glob("nsys/*")) if SHARED.is_dir() else []


@pytest.mark.parametrize("path", sorted((ROOT / "tests" / "data").glob("*.sbt")) + real_traces(), ids=lambda path: path.name)
def test_real_traces_fit(path, tmp_path):
    for locale in ("C.UTF-8", "C"):
        lines = view(path, "-o", tmp_path / "r.md", LC_ALL=locale)
        assert len(lines) <= 28 and lines[0].startswith("inferscope  ")


def test_real_traces_are_here():
    if not real_traces():
        pytest.skip("real traces are in ../shared/data, which is not here")


# ---- Colours ---------------------------------------------------------------------------

def colored(tmp_path, *options, **variables):
    text, status = on_terminal([INFERSCOPE, "analyze", starved(tmp_path / "made.json"), "-o", tmp_path / "r.md", *options],
                               env=environment(**variables))
    assert status == 0
    return "\x1b[" in text


def test_colours_on_a_terminal(tmp_path):
    assert colored(tmp_path)
    assert not colored(tmp_path, NO_COLOR="1")
    assert colored(tmp_path, NO_COLOR="")
    assert not colored(tmp_path, TERM="dumb")
    assert not colored(tmp_path, "--color", "never")
    assert not colored(tmp_path, "--color=never", CLICOLOR_FORCE="1")
    assert colored(tmp_path, "--color=always", NO_COLOR="1")
    assert colored(tmp_path, CLICOLOR_FORCE="1", TERM="dumb")
    assert not colored(tmp_path, CLICOLOR_FORCE="1", NO_COLOR="1")


def test_colours_elsewhere(tmp_path):
    path = starved(tmp_path / "made.json")
    piped = lambda *options, **variables: b"\x1b[" in inferscope("analyze", path, *options, env=environment(**variables)).stdout
    assert not piped()
    assert not piped(CLICOLOR_FORCE="0")
    assert piped(CLICOLOR_FORCE="1")
    assert piped("--color", "always")
    assert not piped("--color", "always", "--format", "md")
    inferscope("analyze", path, "-o", tmp_path / "r.txt", "--color", "always")
    assert b"\x1b" not in (tmp_path / "r.txt").read_bytes()


def test_colours_only_repeat_what_words_say(tmp_path):
    path = starved(tmp_path / "made.json")
    plain = inferscope("analyze", path, env=environment()).stdout.decode()
    coloured = inferscope("analyze", path, "--color", "always", env=environment()).stdout.decode()
    assert ESCAPE.sub("", coloured) == plain != coloured
    assert set(ESCAPE.findall(coloured)) <= {"\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[33m"}


@records_python
def test_a_run_on_a_terminal(tmp_path):
    (tmp_path / "s.py").write_text("def step():\n    return sum(range(1000))\n\nfor _ in range(100):\n    step()\nprint('done')\nraise SystemExit(3)\n")
    text, status = on_terminal([INFERSCOPE, "run", "--report", "r.md", "s.py"], cwd=tmp_path)
    lines = text.splitlines()
    assert status == 3 and lines[0] == "done" and "\x1b[" in text
    assert lines[1].startswith("inferscope  s.py  ") and " events of " in lines[-1]


# ---- The report beside it ----------------------------------------------------------------

def test_reports_are_the_same_every_time(tmp_path):
    path = starved(tmp_path / "made.json")
    for name in ("r.md", "r.json", "r.txt"):
        inferscope("analyze", path, "-o", tmp_path / name, env=environment(TZ="Asia/Tokyo", LC_ALL="C"))
        inferscope("analyze", path, "-o", tmp_path / name, env=environment(TZ="UTC", COLUMNS="200"))
        assert (tmp_path / name).read_bytes() == (tmp_path / f"{name}.old").read_bytes() != b""


def test_volatile_facts_come_last(tmp_path):
    path = starved(tmp_path / "made.json")
    other = starved(tmp_path / "other.json")
    one, two = (inferscope("analyze", each, "--format", "md").stdout.decode() for each in (path, other))
    assert one.partition("\n## Run\n")[0] == two.partition("\n## Run\n")[0]
    assert str(path) in one.partition("\n## Run\n")[2] and str(path) not in one.partition("\n## Run\n")[0]


def test_markdown_has_its_parts_in_order(tmp_path):
    text = inferscope("analyze", starved(tmp_path / "made.json"), "--format", "md").stdout.decode()
    headings = [line for line in text.splitlines() if line.startswith("#")]
    assert headings == ["# GPU idle 33% of the time: computing on the CPU delays it", "## Where the time goes", "## Findings",
                        "### 1. `computing on the CPU: train.py(88): load`", "## Devices", "## Top kernels of device 0", "## Integrity", "## Run"]
    assert "\r" not in text and text.endswith("\n") and not any(line != line.rstrip() for line in text.splitlines())
    assert text.count("<details>\n<summary>") == text.count("</summary>\n\n|") == text.count("\n\n</details>\n") > 0


def test_an_older_report_is_kept(tmp_path):
    path = starved(tmp_path / "made.json")
    (tmp_path / "report.md").write_text("by hand\n")
    out = inferscope("analyze", path, cwd=tmp_path).stdout
    assert (tmp_path / "report.md.old").read_text() == "by hand\n" and b"report.md" in out
    assert (tmp_path / "report.md").read_text().startswith("# ")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["made.json", "report.md", "report.md.old"]


def test_a_report_that_cannot_be_written_is_shown_all_the_same(tmp_path):
    path = starved(tmp_path / "made.json")
    (tmp_path / "report.md").mkdir()
    done = inferscope("analyze", path, cwd=tmp_path, status=4)
    assert done.stdout.startswith(b"inferscope  made.json") and b"cannot create 'report.md': Is a directory" in done.stderr
    (tmp_path / "report.md").rmdir()
    (tmp_path / "report.md").write_text("mine")
    (tmp_path / "report.md.old").mkdir()
    done = inferscope("analyze", path, cwd=tmp_path, status=4)
    assert b"cannot keep the older file" in done.stderr and (tmp_path / "report.md").read_text() == "mine"


@pytest.mark.parametrize("options", [["--output", "-"], ["--format", "json"], ["--format", "md"], ["--format", "text", "-o", "-"]])
def test_standard_output_only(tmp_path, options):
    path = starved(tmp_path / "made.json")
    assert inferscope("analyze", path, *options, cwd=tmp_path).stdout
    assert [entry.name for entry in tmp_path.iterdir()] == ["made.json"]
