"""Notebooks: %%inferscope, and what a Profiler and a report show.

The shell here does what IPython's does of what is asked of it; where IPython is installed it is tried itself.
"""

import html
import re
import subprocess
import sys

import pytest

import package

package.need_package()
import inferscope  # noqa: E402
from inferscope import BottleneckAnalyzer, Profiler, ReportGenerator, _notebook  # noqa: E402
from made_trace import events  # noqa: E402


class Compiler:
    def cache(self, source):
        return "<cell>"

    def __call__(self, tree, name, mode):
        return compile(tree, name, mode)


class Shell:
    def __init__(self):
        self.user_ns, self.compile, self.magics, self.shown = {"__name__": "__main__"}, Compiler(), {}, []

    def transform_cell(self, source):
        return source

    def register_magic_function(self, function, kind, name):
        self.magics[name] = (kind, function)


@pytest.fixture
def shell():
    shell = Shell()
    _notebook.load(shell, shell.shown.append)
    return shell


def test_the_package_is_an_extension():
    assert inferscope.load_ipython_extension is _notebook.load_ipython_extension
    assert callable(inferscope.unload_ipython_extension)


def test_a_cell_is_recorded_and_its_value_is_the_cells(shell, tmp_path):
    kind, magic = shell.magics["inferscope"]
    assert kind == "line_cell" and "Records the cell" in magic.__doc__
    options = f"--trace '{tmp_path / 'my trace.sbt'}' --report {tmp_path / 'r.md'} --include '__main__*'"
    value = magic(options, "def twice(n):\n    return 2 * n\nx = twice(3)\ntwice(x)")
    assert value == 12 and shell.user_ns["x"] == 6
    report, = shell.shown
    assert report.to_json()["trace"]["path"] == str(tmp_path / "my trace.sbt") and "`__main__.twice`" in report.to_markdown()
    assert (tmp_path / "r.md").read_text() == report.to_markdown()


def test_what_has_no_value(shell):
    _, magic = shell.magics["inferscope"]
    assert magic("", "y = 5") is None and magic("", "y + 1;") is None and magic("", "") is None and magic("y + 2") == 7
    assert len(shell.shown) == 4


def test_a_cell_that_fails_fails_and_has_its_report(shell):
    _, magic = shell.magics["inferscope"]
    with pytest.raises(ZeroDivisionError):
        magic("", "z = 1\n1 / 0")
    assert shell.user_ns["z"] == 1 and len(shell.shown) == 1
    for wrong in ("--nothing", "--detail some"):
        with pytest.raises(ValueError, match="%%inferscope: "):
            magic(wrong, "z = 2")
    assert shell.user_ns["z"] == 1


def test_what_a_profiler_shows():
    profiler = Profiler()
    assert repr(profiler) == "<Profiler: idle>" and profiler._repr_html_() is None
    with pytest.raises(ValueError, match="start"):
        profiler.report()
    with profiler:
        assert re.fullmatch(r"<Profiler: recording into /\S+>", repr(profiler)) and profiler._repr_html_() is None
        assert profiler.report().to_json()["trace"]["format"] == "events"
    trace = profiler.trace
    assert re.fullmatch(rf"<Profiler: stopped, \d+\.\d{{3}} s in {re.escape(trace)}>", repr(profiler))
    report = profiler.report()
    del profiler
    assert str(report) == ReportGenerator(trace).to_text() and repr(report) == f"<ReportGenerator: {trace}>"


def test_a_report_is_a_page_in_a_frame_that_can_do_nothing_to_the_notebook(monkeypatch):
    generator = ReportGenerator(timeline=events())
    shown = generator._repr_html_()
    page = re.fullmatch(r'<iframe title="InferScope" sandbox="allow-scripts allow-downloads" style="[^"]*" srcdoc="([^"]*)"></iframe>', shown)
    assert html.unescape(page[1]) == generator.to_html()
    monkeypatch.setattr(_notebook, "PAGE_MOST", 1000)
    assert "<td>compute</td>" in html.unescape(generator._repr_html_())


def test_reports_as_text():
    analysis = BottleneckAnalyzer(list(events())).analyze()
    assert str(ReportGenerator(analysis)) == ReportGenerator(analysis).to_markdown()
    assert repr(ReportGenerator(analysis)) == "<ReportGenerator: an analysis>"
    assert repr(ReportGenerator(timeline=events())) == "<ReportGenerator: 20 events>"


def test_ipython_itself(tmp_path):
    pytest.importorskip("IPython")
    script = tmp_path / "session.ipy"
    script.write_text("%load_ext inferscope\n%inferscope sum(range(10))\nprint('shown')\n%unload_ext inferscope\n")
    done = subprocess.run([sys.executable, "-m", "IPython", "--quick", script], cwd=tmp_path, env=package.environment(HOME=str(tmp_path)),
                          capture_output=True, text=True, timeout=package.PATIENCE, check=False)
    assert "shown" in done.stdout and "integrity" in done.stdout and "Error" not in done.stdout + done.stderr
