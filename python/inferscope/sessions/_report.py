"""A session as Markdown, as a page, and as charts.  Names come from the program, and mean nothing in any of them."""

import html
import re
from collections import defaultdict
from datetime import datetime

from inferscope import _engine

OPERATIONS_MOST = 50  # rows of a table
NAME_MOST = 120      # letters
TEXT_MOST = 1000

_STYLE = """body{font:15px/1.5 system-ui,sans-serif;color:#1b1f24;max-width:60rem;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse;width:100%;margin:1rem 0}th,td{text-align:right;padding:.25rem .6rem;border-bottom:1px solid #d5dae1}
th:first-child,td:first-child{text-align:left;overflow-wrap:anywhere}h1{font-size:1.5rem}h2{font-size:1.2rem;margin-top:2rem}
.muted{color:#57606a}img,svg{max-width:100%;height:auto}li{overflow-wrap:anywhere}"""


def seconds(value):
    return "%.2f s" % value if value >= 1 else "%.2f ms" % (1e3 * value) if value >= 1e-3 else "%.1f us" % (1e6 * value)


def shown(text, most=NAME_MOST):
    """In one line, without what is not to be seen, and cut in the middle."""
    text = "".join(letter if letter.isprintable() else " " for letter in text)
    return text if len(text) <= most else text[:most // 2] + "..." + text[-most // 2:]


def _markdown(text, most=TEXT_MOST):
    """So that it is read as it is; _ means nothing inside of words."""
    return re.sub(r"([\\`*{}\[\]<>!|~&]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9]))", r"\\\1", shown(text, most))


def _line(text):
    """At the beginning of a line a few more mean something."""
    return re.sub(r"^([#+=-])", r"\\\1", _markdown(text))


# ---- What is said in all of them ----------------------------------------------------------------


def _head(session):
    return [("Level", session.profiling_level.value), ("Start Time", str(session.start_time)), ("End Time", str(session.end_time)),
            ("Duration", "%.2f seconds" % session.duration)]


def _operation_rows(session):
    rows = sorted(session.operations, key=lambda one: -one.self_time)
    head = ["operation", "type", "runs", "share", "self", "total", "median", "95 %", "memory", "computed"]
    cells = [[one.name, one.type.value if one.type else "", str(one.count), "%.1f %%" % (100 * one.share), seconds(one.self_time),
              seconds(one.total_time), seconds(one.median), seconds(one.p95),
              "" if one.memory_mb is None else "%+.1f MB" % one.memory_mb,
              "" if one.computed is None else "%.0f %%" % (100 * one.computed)] for one in rows[:OPERATIONS_MOST]]
    return head, cells, max(0, len(rows) - OPERATIONS_MOST)


def _figure(value):
    return "%.4f" % value if isinstance(value, float) else str(value)


def _gain(one):
    if one.source == "alert" or not one.gain:
        return ""
    if one.gain_low is not None and one.gain_high is not None:
        return "expected gain %.0f %% of the time (%.0f to %.0f)" % (100 * one.gain, 100 * one.gain_low, 100 * one.gain_high)
    return "at most %.0f %% of the time can be saved" % (100 * one.gain)


def _by_type(session):
    groups = defaultdict(list)
    for one in session.bottlenecks:
        groups[one.bottleneck_type.value].append(one)
    return groups


# ---- Markdown --------------------------------------------------------------------------------------


def _markdown_bottleneck(one):
    lines = ["- **%s**: Severity: %.2f, Frequency: %d, Time: %.4fs, Potential: %.2f" % (
        _markdown(one.operation_name, NAME_MOST), one.severity, one.frequency, one.execution_time, one.optimization_potential)]
    lines += ["  - %s" % _line(text) for text in [*one.evidence, _gain(one)] if text]
    if one.suggestions:
        lines += ["  - Suggestions:"] + ["    - %s" % _line(text) for text in one.suggestions]
    return lines


def markdown(session, charts=()):
    """The report; charts are names of files beside it."""
    lines = ["# Bottleneck Profiling Report", "", "Generated: %s" % datetime.now().strftime("%Y-%m-%d %H:%M:%S"), "",
             "Session ID: %s" % _markdown(session.session_id), "", "## Session Summary", ""]
    lines += ["- %s: %s" % (name, _markdown(text)) for name, text in _head(session)]
    lines += ["", "## Performance Metrics", ""]
    lines += ["- %s: %s" % (_line(name), _figure(value)) for name, value in session.performance_metrics.items()]
    head, rows, more = _operation_rows(session)
    lines += ["", "## Operations", "", "| %s |" % " | ".join(head), "| --- |%s" % (" ---: |" * (len(head) - 1))]
    lines += ["| %s |" % " | ".join(_markdown(cell, NAME_MOST) for cell in row) for row in rows]
    lines += ["", "and %d more" % more] if more else []
    lines += ["", "## Bottleneck Analysis", "", "Total Bottlenecks Detected: %d" % len(session.bottlenecks), ""]
    lines += ["### Bottlenecks by Type"] if session.bottlenecks else []
    for name, group in _by_type(session).items():
        lines += ["", "#### %s" % _markdown(name.replace("_", " ").title()), ""]
        for one in group:
            lines += _markdown_bottleneck(one)
    if session.notes:
        lines += ["", "## Notes", ""] + ["- %s" % _line(text) for text in session.notes]
    if charts:
        lines += ["", "## Charts", ""] + ["![%s](%s)" % ("bottlenecks and resources", name) for name in charts]
    return "\n".join(lines) + "\n"


# ---- The page -----------------------------------------------------------------------------------------


def _escaped(text, most=TEXT_MOST):
    return html.escape(shown(str(text), most))


def _table(head, rows):
    parts = ["<table><thead><tr>", *("<th>%s</th>" % _escaped(cell) for cell in head), "</tr></thead><tbody>"]
    for row in rows:
        parts += ["<tr>", *("<td>%s</td>" % _escaped(cell, NAME_MOST) for cell in row), "</tr>"]
    return "".join(parts) + "</tbody></table>"


def _list(texts):
    return "<ul>%s</ul>" % "".join("<li>%s</li>" % _escaped(text) for text in texts) if texts else ""


def _html_bottleneck(one):
    figures = "%s; severity %.2f, frequency %d, %s, potential %.2f" % (
        one.bottleneck_type.value, one.severity, one.frequency, seconds(one.execution_time), one.optimization_potential)
    suggestions = "<p>What to try:</p>" + _list(one.suggestions) if one.suggestions else ""
    return "<h3>%s</h3><p class=\"muted\">%s</p>%s%s" % (
        _escaped(one.operation_name, NAME_MOST), _escaped(figures), _list([text for text in [*one.evidence, _gain(one)] if text]), suggestions)


def page(session, picture=""):
    """One file that needs nothing else; picture: an SVG of ours."""
    head, rows, more = _operation_rows(session)
    parts = ["<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>%s</title>" % _escaped(session.session_id),
             "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
             "<style>%s</style></head><body><h1>Bottleneck Profiling Report</h1>" % _STYLE,
             "<p>%s</p>" % _escaped(session.session_id), _list(["%s: %s" % pair for pair in _head(session)]),
             "<h2>Bottlenecks</h2>", "".join(_html_bottleneck(one) for one in session.bottlenecks) or "<p>None was found.</p>",
             picture,
             "<h2>Operations</h2>", _table(head, rows), "<p>and %d more</p>" % more if more else "",
             "<h2>Performance metrics</h2>", _table(["metric", "value"], [(name, _figure(value)) for name, value in
                                                                          session.performance_metrics.items()])]
    if session.notes:
        parts += ["<h2>Notes</h2>", _list(session.notes)]
    return "\n".join(part for part in parts if part) + "</body></html>\n"


# ---- Charts -----------------------------------------------------------------------------------------------


def _ink(one):
    return "high" if one.severity >= 0.3 else "medium" if one.severity >= 0.1 else "low"


def _bars(session, title, axis, full, digits, value):
    rows = [(_drawn(one.operation_name), float(value(one)), _ink(one)) for one in session.bottlenecks]
    return title, axis, "no bottlenecks", full, digits, rows, []


def _drawn(text):
    """No NUL and no lone surrogates, which the engine would refuse."""
    return shown(text).replace("\0", " ").encode("utf-8", "replace").decode()


_PANELS = (("memory, MB", "memory_mb", 0.0), ("memory that is used, %", "memory_percent", 100.0), ("processors, %", "cpu_percent", 100.0),
           ("GPU memory, %", "gpu_memory_percent", 100.0), ("GPU, %", "gpu_percent", 100.0))


def _lines(samples, *keys):
    lines = []
    for key, label in keys:
        rows = [row for row in samples if row.get(key) is not None]
        if rows:
            lines.append((label, [float(row["time_s"]) for row in rows], [float(row[key]) for row in rows]))
    return lines


def _resources(session):
    panels = []
    for title, key, least in _PANELS:
        lines = _lines(session.samples, (key, ""))
        if lines and (not key.startswith("gpu") or any(lines[0][2])):
            panels.append((title, least, lines))
    io = _lines(session.samples, ("read_mb_per_s", "read"), ("write_mb_per_s", "written"))
    if io:
        panels.append(("disks, MB a second", 0.0, io))
    return "Resource Usage Over Time", "s", "nothing was looked at over time", max(session.duration, 1e-6), 0, [], panels


def charts(session):
    """Those of a session, as the engine draws them, by name."""
    most = max((one.frequency for one in session.bottlenecks), default=1)
    return {
        "severity": _bars(session, "Bottleneck Severity", "0 to 1", 1.0, 3, lambda one: one.severity),
        "frequency": _bars(session, "Bottleneck Frequency", "how often", float(most), 0, lambda one: one.frequency),
        "potential": _bars(session, "Optimization Potential", "0 to 1: the part of its time that can be saved", 1.0, 3,
                           lambda one: one.optimization_potential),
        "resources": _resources(session),
    }


def draw(list_of_charts, format):
    """bytes; RuntimeError for a PNG where cairo is not."""
    return _engine.draw(list(list_of_charts), format)
