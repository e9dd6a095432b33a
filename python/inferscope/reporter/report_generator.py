"""ReportGenerator: the reports and charts that `inferscope analyze` writes, from Python."""

import contextlib
import json
import os
import re
import tempfile
from collections.abc import Mapping

from inferscope import _engine
from inferscope.analyzer import BottleneckAnalyzer
from inferscope.analyzer.bottleneck_analyzer import _paths as trace_paths, shipped_file
from inferscope.plugins import load_plugins

_OURS = {"markdown": "md", "html": "html", "json": "json", "text": "text"}
_NAMES = {"md": "markdown", "txt": "text", "htm": "html"}
_SUFFIXES = {".md": "markdown", ".markdown": "markdown", ".html": "html", ".htm": "html", ".json": "json", ".txt": "text"}
_CHART_FORMATS = ("svg", "png")
_TEMPLATES = {"md": "summary.md.in", "html": "summary.html.in"}  # of an analysis without events


def _write(path, data):
    """The file appears when it is whole, with the rights that open() would give it."""
    folder, name = os.path.split(os.fspath(path))
    descriptor, draft = tempfile.mkstemp(prefix=f".{name}.", dir=folder or ".")
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(draft, 0o666 & ~mask)
        os.replace(draft, path)
    except BaseException:
        os.unlink(draft)
        raise


def _bytes(value, what):
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, (bytes, bytearray)):
        return bytes(value)
    raise TypeError(f"{what} must give str or bytes, and gave {type(value).__name__}")


class ReportGenerator:
    """Writes what an analysis says.

    ReportGenerator("trace.sbt").save("report.html")
    ReportGenerator(BottleneckAnalyzer(trace=["rank0.json", "rank1.json"])).to_markdown()
    ReportGenerator(timeline=profiler.get_unified_timeline()).charts("charts")

    source: the path of a trace, or several, one for each rank; a BottleneckAnalyzer; or what its analyze() gave.  The last has
        figures and no events: reports are made of its trace, or of the timeline that is given with it, and else, in less detail,
        of what it says itself; text and charts need one of the two.
    timeline: events as Profiler.get_unified_timeline() and TimelineMerger.merge() give them.
    trace: as source, for those who like to say so.
    communication, rules_files: as for BottleneckAnalyzer.
    """

    _formats = {}
    _format_suffixes = {}
    _charts = {}

    def __init__(self, source=None, timeline=None, *, trace=None, communication=(), rules_files=()):
        self._analysis = None
        if isinstance(source, BottleneckAnalyzer):
            if timeline is not None or trace is not None:
                raise TypeError("a BottleneckAnalyzer has its trace or timeline already")
            self._analyzer = source
            return
        if isinstance(source, Mapping):
            self._analysis = dict(source)
        elif source is not None:
            if trace is not None:
                raise TypeError("give one trace")
            trace = source
        if trace is None and timeline is None and self._analysis is not None:
            trace = self._trace_of(self._analysis)
        if trace is None and timeline is None and self._analysis is None:
            raise TypeError("give an analysis, a trace or a timeline")
        self._analyzer = None
        if trace is not None or timeline is not None:
            self._analyzer = BottleneckAnalyzer(timeline, trace=trace, communication=communication, rules_files=rules_files)

    @staticmethod
    def _trace_of(analysis):
        path = (analysis.get("trace") or {}).get("path")
        return path if path and os.path.isfile(path) else None

    # ---- Where the events are ------------------------------------------------

    @contextlib.contextmanager
    def _files(self):
        """Paths, patterns, rules and title, as the engine takes them."""
        if self._analyzer is None:
            raise ValueError("text and charts are made of events, and this analysis does not say where its trace is; give the trace or "
                             "the timeline with it")
        with self._analyzer._files() as (paths, *rest):
            title = None
            if self._analyzer._timeline is not None:
                title = b"timeline"
            elif len(paths) > 1:
                title = paths[0] + b" and %d more" % (len(paths) - 1)
            yield paths, *rest, title

    def _report(self, format):
        if self._analyzer is None and format in _TEMPLATES:
            return self._render_alone(format, shipped_file("templates", _TEMPLATES[format]))
        with self._files() as lists:
            return _engine.report(*lists, format)

    def _render_alone(self, format, path, text=None):
        """After a template, of the analysis and nothing else."""
        if text is None:
            with open(path, "rb") as file:
                text = file.read()
        return _engine.render_analysis(json.dumps(self._analysis, default=repr).encode(), format, path, text)

    # ---- Formats -------------------------------------------------------------

    def to_markdown(self):
        """What `inferscope analyze --format md` writes; of an analysis without events, what limits the run and what to change."""
        return self._report("md").decode()

    def to_html(self):
        """The report page, one file that needs nothing else: what `inferscope analyze --format html` writes; of an analysis without
        events, one without a timeline."""
        return self._report("html").decode()

    def to_text(self):
        """What `inferscope analyze --format text` writes."""
        return self._report("text").decode()

    def to_json(self):
        """The analysis JSON, version 1, as a dictionary."""
        if self._analysis is None:
            self._analysis = self._analyzer.analyze()
        return self._analysis

    def render(self, template=None, format=None, *, text=None):
        """A report after a template (docs/templates.md): a path, or its text.

        format is "markdown" or "html"; of a path the name tells it, as in "report.md.in".  Raises ValueError with file, line and
        column when something is wrong with the template.
        """
        if (template is None) == (text is None):
            raise TypeError("give the path of a template or its text")
        name = "template" if template is None else os.fspath(template)
        format = self._format_name(re.sub(r"\.in$", "", name), format)
        if format not in ("markdown", "html"):
            raise ValueError(f"templates are for markdown and html, not for {format}")
        if text is None:
            with open(template, "rb") as file:
                text = file.read()
        if self._analyzer is None:
            return self._render_alone(_OURS[format], name, _bytes(text, "a template")).decode()
        with self._files() as lists:
            return _engine.render(*lists, _OURS[format], name, _bytes(text, "a template")).decode()

    def summary_html(self):
        """What limits the run and what to change, as HTML without a timeline."""
        return self.render(shipped_file("templates", _TEMPLATES["html"]))

    def __str__(self):
        """Text, or Markdown of an analysis without events."""
        return self.to_markdown() if self._analyzer is None else self.to_text()

    def __repr__(self):
        return "<ReportGenerator: %s>" % self._source_name()

    def _source_name(self):
        if self._analyzer is None:
            return "an analysis"
        if self._analyzer._timeline is not None:
            return "%d events" % len(self._analyzer._timeline)
        return ", ".join(os.fsdecode(path) for path in trace_paths(self._analyzer._trace))

    def _repr_html_(self):
        """In a notebook: the report page, in a frame."""
        from inferscope._notebook import frame
        return frame(self)

    def _repr_pretty_(self, printer, cycle):
        """In IPython's terminal."""
        printer.text(repr(self) if cycle else str(self))

    @classmethod
    def formats(cls):
        """The names that save() takes."""
        load_plugins()
        return sorted({*_OURS, *cls._formats})

    @classmethod
    def _format_name(cls, path, format):
        suffix = os.path.splitext(os.fspath(path))[1].lower()
        known = f"formats are {', '.join(cls.formats())}"
        if format is None:
            format = cls._format_suffixes.get(suffix) or _SUFFIXES.get(suffix)
            if format is None:
                raise ValueError(f"the name '{os.fspath(path)}' does not tell the format; {known}")
        format = _NAMES.get(format.lower(), format.lower()) if format not in cls._formats else format
        if format not in _OURS and format not in cls._formats:
            raise ValueError(f"there is no format '{format}'; {known}")
        return format

    @classmethod
    def register_format(cls, name, function, suffixes=()):
        """Makes save() know a format: function(generator) gives its str or bytes, and files with the suffixes are of it."""
        if not callable(function):
            raise TypeError("a format is a function of the generator")
        if not re.fullmatch(r"[a-z][a-z0-9_-]*", name) or name in _OURS or name in _NAMES:
            raise ValueError(f"'{name}' cannot be the name of a format: small letters, digits, _ and -, and none of ours")
        for suffix in suffixes:
            if not suffix.startswith(".") or suffix.lower() in _SUFFIXES:
                raise ValueError(f"'{suffix}' cannot be the suffix of a format: it begins with a dot and is none of ours")
        cls._formats[name] = function
        cls._format_suffixes.update((suffix.lower(), name) for suffix in suffixes)

    def save(self, filepath, format=None):
        """Writes a report, of the format that is given or that the suffix tells; the file appears when it is whole."""
        format = self._format_name(filepath, format)
        if format in self._formats:
            data = _bytes(self._formats[format](self), f"the format '{format}'")
        elif format == "json" and (self._analyzer is None or self._analyzer._timeline is not None):
            data = (json.dumps(self.to_json(), indent=2) + "\n").encode()
        else:
            data = self._report(_OURS[format])
        _write(filepath, data)

    # ---- Charts ---------------------------------------------------------------

    @classmethod
    def register_chart(cls, name, function):
        """Makes charts() write one more: function(analysis, format) gives the picture as str or bytes, or None for no picture of
        this format; analysis is the dictionary of to_json()."""
        if not callable(function):
            raise TypeError("a chart is a function of the analysis and the format")
        if not re.fullmatch(r"[a-z][a-z0-9_-]*", name):
            raise ValueError(f"'{name}' cannot be the name of a chart: small letters, digits, _ and -")
        cls._charts[name] = function

    def charts(self, folder, format="svg"):
        """Writes the charts that `inferscope analyze --charts` writes, and those that were registered, into a folder, which is made if
        it is missing.  Gives the paths.  PNG needs cairo: RuntimeError without it."""
        if format not in _CHART_FORMATS:
            raise ValueError(f"there is no format '{format}' of charts; formats are {', '.join(_CHART_FORMATS)}")
        with self._files() as (*lists, _):
            pictures = _engine.charts(*lists, format)
        load_plugins()
        for name, function in self._charts.items():
            picture = function(self.to_json(), format)
            if picture is not None:
                pictures[name] = _bytes(picture, f"the chart '{name}'")
        os.makedirs(folder, exist_ok=True)
        written = [os.path.join(os.fspath(folder), f"{name}.{format}") for name in pictures]
        for path, picture in zip(written, pictures.values()):
            _write(path, picture)
        return written
