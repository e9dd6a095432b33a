"""Charts of `inferscope analyze --charts`: the pictures say what the JSON says."""

import json
import os
import struct
import subprocess
import xml.etree.ElementTree as ElementTree
import zlib

import pytest

from analysis import INFERSCOPE, inferscope, shared
from made_trace import Made

NAMES = {"severity", "frequency", "potential", "gain", "resources", "steps", "breakdown"}
SVG = "{http://www.w3.org/2000/svg}"


def made_loop(name="gemm", steps=20):
    """A device that waits for input for 4/10 of each step."""
    made = Made()
    for step in range(steps):
        at = 1000 * step
        made.host("user_annotation", f"ProfilerStep#{step}", at, 1000)
        made.host("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at, 400)
        made.kernel(name, at + 405, at + 410, 590)
    return made


@pytest.fixture(name="draw")
def _draw(tmp_path):
    def run(path, *options):
        """The analysis, and the pictures by name."""
        done = inferscope("analyze", path, "--format", "json", "--charts", tmp_path / "charts", *options)
        return json.loads(done.stdout), {file.stem: file.read_bytes() for file in (tmp_path / "charts").iterdir()}
    return run


def rects(svg, name):
    return [element for element in ElementTree.fromstring(svg).iter(f"{SVG}rect") if element.get("class") == name]


def widths(svg, name):
    return [float(element.get("width")) for element in rects(svg, name)]


def words(svg):
    return [element.text for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def line(svg):
    """The points of the one line, as (x, y)."""
    found, = [e for e in ElementTree.fromstring(svg).iter(f"{SVG}polyline") if e.get("class") == "line"]
    return [tuple(map(float, point.split(","))) for point in found.get("points").split()]


# ---- Numbers -------------------------------------------------------------------

def check_bars(svg, values, full):
    """Bars as long as the values say, of an axis that is as long as `full`; None is not known."""
    if not values:
        assert "no findings" in words(svg)
        return
    root = ElementTree.fromstring(svg)
    marks = [float(e.get("points").split(",")[0]) for e in root.iter(f"{SVG}polyline") if e.get("class") == "grid"]
    whole = max(marks) - min(marks)
    known = [value for value in values if value is not None]
    assert widths(svg, "bar") == pytest.approx([value / full * whole for value in known], abs=0.6)
    assert words(svg).count("not known") == len(values) - len(known)


def check_pictures(result, pictures):
    assert set(pictures) == NAMES
    findings = result["findings"]
    check_bars(pictures["severity"], [f["severity"] for f in findings], 1)
    check_bars(pictures["frequency"], [f["frequency"] for f in findings], 1)
    check_bars(pictures["potential"], [f["optimization_potential"] for f in findings], 1)
    parts = [c["percentage"] for c in result["timeline_breakdown"] if c["duration_us"]]
    assert widths(pictures["breakdown"], "segment") == pytest.approx([part / 100 * 928 for part in parts], abs=0.02)


def test_a_loop_that_waits_for_input(draw, tmp_path):
    result, pictures = draw(made_loop().save(tmp_path / "made.json"))
    assert result["findings"][0]["kind"] == "data_loading"
    check_pictures(result, pictures)
    assert "1 data loading: "[:12] in words(pictures["severity"])[-2]
    assert f"{result['findings'][0]['severity']:.3f}" in words(pictures["severity"])
    dots = rects(pictures["steps"], "dot")
    assert len(dots) == len(result["steps"]) == 20
    assert {dot.get("y") for dot in dots} == {dots[0].get("y")}  # all steps take as long
    busy = [y for _, y in line(pictures["resources"])]
    assert min(busy) < max(busy)


@pytest.mark.parametrize("name", ["kineto/v100-resnet50-loader-0-workers.json.gz", "kineto/h100-owlv2.json.gz", "kineto/cpu-only.json.gz",
                                  "nsys/mfu-2gpu-before.sqlite.gz"])
def test_real_traces(draw, name):
    result, pictures = draw(shared(name))
    check_pictures(result, pictures)


def test_gains_and_their_ranges(draw, tmp_path):
    result, pictures = draw(made_loop().save(tmp_path / "made.json"))
    root = ElementTree.fromstring(pictures["gain"])
    ranges = [e.get("points") for e in root.iter(f"{SVG}polyline") if e.get("class") == "range"]
    bar, = rects(pictures["gain"], "bar")
    finding = result["findings"][0]
    low, high = (float(point.split(",")[0]) - float(bar.get("x")) for point in ranges[0].split())
    scale = float(bar.get("width")) / finding["gain_percent"]
    assert (low, high) == pytest.approx((scale * finding["gain_low_percent"], scale * finding["gain_high_percent"]), abs=0.6)


def test_the_share_of_time_that_a_device_is_busy(draw, tmp_path):
    """The area under the line is the busy time of the JSON."""
    result, pictures = draw(made_loop().save(tmp_path / "made.json"))
    points = line(pictures["resources"])
    grid = [tuple(map(float, e.get("points").replace(",", " ").split())) for e in ElementTree.fromstring(pictures["resources"])
            .iter(f"{SVG}polyline") if e.get("class") == "grid"]
    levels = sorted({y for _, y, x2, _ in grid if x2 > 900})  # those across, 100 % at the top
    area = sum((levels[-1] - y1) * (x2 - x1) for (x1, y1), (x2, _) in zip(points, points[1:])) / (levels[-1] - levels[0])
    share = area / (points[-1][0] - points[0][0])
    assert share == pytest.approx(result["devices"][0]["busy_us"] / result["trace"]["duration_us"], abs=0.01)


# ---- What is always so ---------------------------------------------------------

def test_nothing_to_be_said(draw, tmp_path):
    (tmp_path / "empty.json").write_text('{"traceEvents": []}')
    result, pictures = draw(tmp_path / "empty.json")
    assert set(pictures) == NAMES and not result["findings"]
    for name in ("severity", "frequency", "potential", "gain"):
        assert "no findings" in words(pictures[name])
    assert "no steps" in words(pictures["steps"])
    assert "no time in the trace" in words(pictures["breakdown"])


HOSTILE = "</text><script>alert(1)</script>\u202e\x1b[31m&\"']]>\ufffe"


def test_names_of_the_trace_are_only_shown(draw, tmp_path):
    made = Made()
    for step in range(20):
        at = 1000 * step
        made.op(HOSTILE, at, 900)
        made.kernel("gemm", at + 905, at + 910, 50)
    result, pictures = draw(made.save(tmp_path / "made.json"))
    assert any("script" in f["id"] for f in result["findings"])
    for picture in pictures.values():
        root = ElementTree.fromstring(picture)  # is XML, so nothing that XML does not know is in it
        assert {e.tag.removeprefix(SVG) for e in root.iter()} <= {"svg", "title", "desc", "defs", "pattern", "rect", "polyline", "text"}
        assert b"\x1b" not in picture and "\u202e".encode() not in picture and b"<script" not in picture


def test_again_gives_the_same_bytes(draw, tmp_path):
    path = made_loop().save(tmp_path / "made.json")
    assert draw(path) == draw(path)


# ---- PNG -----------------------------------------------------------------------

def pixels(data):
    """Width, height and rows of (r, g, b)."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, packed, head = 8, b"", None
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + size]
        assert zlib.crc32(kind + body) == struct.unpack(">I", data[at + 8 + size:at + 12 + size])[0]
        head = struct.unpack(">IIBBBBB", body) if kind == b"IHDR" else head
        packed += body if kind == b"IDAT" else b""
        at += 12 + size
    width, height, depth, color, *_ = head
    assert (depth, color) == (8, 2)
    return width, height, unfilter(zlib.decompress(packed), width, height)


def unfilter(raw, width, height):
    stride, rows, above = 3 * width, [], bytes(3 * width)
    for y in range(height):
        kind, row = raw[y * (stride + 1)], bytearray(raw[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
        for i in range(stride):
            left, up, corner = row[i - 3] if i >= 3 else 0, above[i], above[i - 3] if i >= 3 else 0
            nearest = min((abs(up - corner), 0, left), (abs(left - corner), 1, up), (abs(left + up - 2 * corner), 2, corner))[2]
            row[i] = (row[i] + (0, left, up, (left + up) // 2, nearest)[kind]) & 255
        above = bytes(row)
        rows.append(above)
    return rows


def pixel(rows, x, y):
    return tuple(rows[round(y)][3 * round(x):3 * round(x) + 3])


def test_png(draw, tmp_path):
    path = made_loop().save(tmp_path / "made.json")
    _, drawn = draw(path)
    done = subprocess.run([INFERSCOPE, "analyze", str(path), "--format", "json", "--charts", str(tmp_path / "png"), "--chart-format", "png"],
                          capture_output=True, check=False, timeout=60, cwd=tmp_path)
    if b"cairo" in done.stderr:
        assert done.returncode == 4
        pytest.skip("there is no cairo here")
    assert done.returncode == 0, done.stderr
    root = ElementTree.fromstring(drawn["severity"])
    width, height, rows = pixels((tmp_path / "png" / "severity.png").read_bytes())
    assert (width, height) == (2 * int(root.get("width")), 2 * int(root.get("height")))
    bar = rects(drawn["severity"], "bar")[0]
    x, y, wide, high = (2 * float(bar.get(key)) for key in ("x", "y", "width", "height"))
    color = tuple(bytes.fromhex(bar.get("fill")[1:]))
    for place in ((x + 3, y + high / 2), (x + wide / 2, y + 3), (x + wide - 4, y + high - 4)):
        assert pixel(rows, *place) == color
    assert pixel(rows, x + 3, y - 4) == pixel(rows, 2, 2) == (255, 255, 255)


# ---- Files ---------------------------------------------------------------------

def test_older_files_are_replaced_and_others_left_alone(draw, tmp_path):
    path = made_loop().save(tmp_path / "made.json")
    (tmp_path / "charts").mkdir()
    (tmp_path / "charts" / "severity.svg").write_text("old")
    (tmp_path / "charts" / "mine.txt").write_text("mine")
    _, pictures = draw(path)
    assert pictures["severity"].startswith(b"<svg") and pictures["mine"] == b"mine"
    assert set(pictures) == NAMES | {"mine"}  # and no drafts


def test_where_no_chart_can_be_written(tmp_path):
    path = made_loop().save(tmp_path / "made.json")
    (tmp_path / "file").write_text("")
    for folder, reason in ((tmp_path / "no" / "such", b"No such file"), (tmp_path / "file", b"Not a directory")):
        done = inferscope("analyze", path, "--format", "json", "--charts", folder, status=4)
        assert reason in done.stderr and done.stdout
    inferscope("analyze", path, "--charts", "x", "--chart-format", "pdf", status=2)
    assert sorted(os.listdir(tmp_path)) == ["file", "made.json"]
