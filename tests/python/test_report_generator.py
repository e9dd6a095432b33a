"""inferscope.reporter.ReportGenerator: the bytes of the command's, from a trace or from a list of events."""

import json
import os
import re
import stat
import warnings
from html.parser import HTMLParser

import pytest

import package
from analysis import inferscope, shared
from made_trace import Made, events

package.need_package()
from inferscope import TraceError  # noqa: E402
from inferscope.analyzer import BottleneckAnalyzer  # noqa: E402
from inferscope.reporter import ReportGenerator  # noqa: E402

TEMPLATES = package.BUILD / "share" / "inferscope" / "templates"


def made_loop(name="gemm"):
    made = Made()
    for step in range(20):
        at = 1000 * step
        made.host("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at, 400)
        made.kernel(name, at + 405, at + 410, 590)
    return made


@pytest.fixture(name="trace")
def _trace(tmp_path):
    return made_loop().save(tmp_path / "made.json")


@pytest.fixture(autouse=True)
def _registry(monkeypatch):
    for name in ("_formats", "_format_suffixes", "_charts"):
        monkeypatch.setattr(ReportGenerator, name, {})


def command(*arguments):
    return inferscope("analyze", *arguments).stdout


# ---- The same bytes ------------------------------------------------------------

def check_same(generator, paths, folder):
    assert generator.to_markdown().encode() == command(*paths, "--format", "md")
    assert generator.to_html().encode() == command(*paths, "--format", "html")
    assert generator.to_text().encode() == command(*paths, "--format", "text")
    assert generator.to_json() == json.loads(command(*paths, "--format", "json"))
    for suffix in ("md", "html", "txt", "json"):
        generator.save(folder / f"report.{suffix}")
        format = {"txt": "text"}.get(suffix, suffix)
        assert (folder / f"report.{suffix}").read_bytes() == command(*paths, "--format", format)


def test_a_trace(trace, tmp_path):
    generator = ReportGenerator(str(trace))
    assert generator.to_json()["findings"][0]["kind"] == "data_loading"
    check_same(generator, [trace], tmp_path)


def test_ways_to_say_which(trace):
    expected = command(trace, "--format", "md").decode()
    assert ReportGenerator(trace).to_markdown() == expected
    assert ReportGenerator(trace=trace).to_markdown() == expected
    assert ReportGenerator([trace]).to_markdown() == expected
    assert ReportGenerator(BottleneckAnalyzer(trace=trace)).to_markdown() == expected
    assert ReportGenerator(BottleneckAnalyzer(trace=trace).analyze()).to_markdown() == expected


def test_several_ranks(tmp_path):
    paths = []
    for rank in range(3):
        made = Made(rank=rank, baseTimeNanoseconds=0)
        for i in range(5):
            made.kernel("ncclDevKernel_AllReduce", 1000 * i, 1000 * i + 100 * rank, 900 - 100 * rank)
        paths.append(made.save(tmp_path / f"{rank}.json"))
    generator = ReportGenerator(paths)
    assert generator.to_json()["straggler_rank"] == 2
    assert generator.to_markdown().encode() == command(*paths, "--format", "md")
    assert generator.to_html().encode() == command(*paths, "--format", "html")


def test_a_real_trace(tmp_path):
    path = shared("kineto/h100-bert-small.json.gz")
    check_same(ReportGenerator(path), [path], tmp_path)


def test_patterns_of_communication(tmp_path):
    made = Made()
    made.kernel("mine", 0, 10, 100)
    path = made.save(tmp_path / "made.json")
    assert ReportGenerator(path, communication=["MINE"]).to_json()["devices"][0]["exposed_comm_us"] == 100
    assert ReportGenerator(path, communication=["MINE"]).to_markdown().encode() == command(path, "--format", "md", "--communication", "MINE")


# ---- Events and figures --------------------------------------------------------

def test_a_list_of_events(tmp_path):
    generator = ReportGenerator(timeline=events())
    result = generator.to_json()
    assert result["devices"][0]["busy_us"] == 3900 and result["trace"]["path"] is None
    markdown = generator.to_markdown()
    assert "`gemm`" in markdown and "- Trace: `timeline`" in markdown and markdown == generator.to_markdown()
    assert generator.to_html().startswith("<!doctype html>")
    generator.save(tmp_path / "r.json")
    assert json.loads((tmp_path / "r.json").read_text()) == result
    assert "`timeline`" in generator.render(text="{{trace.path}}", format="md")


def test_an_analysis_and_its_timeline():
    analyzer = BottleneckAnalyzer(list(events()))
    result = analyzer.analyze()
    assert ReportGenerator(result, list(events())).to_markdown() == ReportGenerator(analyzer).to_markdown()
    assert ReportGenerator(result, list(events())).to_json() == result


def test_an_analysis_alone(tmp_path):
    """Also one that has been through a file, of a trace that is not here."""
    result = json.loads(json.dumps(BottleneckAnalyzer(list(events())).analyze()))
    finding, = result["findings"]
    for path in (None, "/nowhere/trace.sbt"):
        result["trace"]["path"] = path
        generator = ReportGenerator(result)
        markdown = generator.to_markdown()
        assert markdown.startswith("# `%s`" % result["bottleneck"]["headline"])
        assert "- `%s`: costs %.1f %%" % (finding["title"], finding["share_percent"]) in markdown
        assert result["suggestions"][0]["action"] in markdown and "| `compute` | 3.900 ms | 41.5 % |" in markdown
        assert ("- Trace: `/nowhere/trace.sbt`" in markdown) == bool(path) == ("- Trace" in markdown)
        page = generator.to_html()
        assert page.startswith("<!doctype html>") and "<td>compute</td>" in page and "{{" not in page
        assert generator.to_json() == result
        assert generator.render(text="{{bottleneck.type}}: {{trace.events|count}}", format="md") == "`cpu_bound`: 20"
        for name, text in (("r.md", markdown), ("r.html", page), ("r.json", json.dumps(result, indent=2) + "\n")):
            generator.save(tmp_path / name)
            assert (tmp_path / name).read_text() == text


def test_what_an_analysis_alone_does_not_have(tmp_path):
    generator = ReportGenerator(BottleneckAnalyzer(list(events())).analyze())
    for make in (generator.to_text, lambda: generator.charts(tmp_path / "charts"), lambda: generator.save(tmp_path / "r.txt")):
        with pytest.raises(ValueError, match="give the trace or the timeline"):
            make()
    with pytest.raises(ValueError, match="template:1:3"):
        generator.render(text="a {{{bottleneck.type}}}", format="md")
    assert os.listdir(tmp_path) == []


def test_an_analysis_that_is_hostile():
    """It may have come from anywhere."""
    odd = {"bottleneck": {"type": "<script>`|", "primary_cause": None}, "findings": [{"id": "</td>"}, 5, None], "timeline_breakdown": "x"}
    page, markdown = ReportGenerator(odd).to_html(), ReportGenerator(odd).to_markdown()
    assert "<script>" not in page and "&lt;script&gt;" in page and "`` <script>`" in markdown


def test_what_cannot_be_reported(trace, tmp_path):
    for arguments in ({}, {"source": trace, "trace": trace}, {"source": BottleneckAnalyzer(trace=trace), "timeline": []}):
        with pytest.raises(TypeError):
            ReportGenerator(**arguments)
    with pytest.raises(TraceError, match="No such file"):
        ReportGenerator(tmp_path / "missing.json").to_markdown()
    with pytest.raises(ValueError, match="no trace"):
        ReportGenerator([]).to_markdown()


# ---- Files ---------------------------------------------------------------------

def test_formats_by_name_and_by_suffix(trace, tmp_path):
    generator = ReportGenerator(trace)
    for name, format in (("a", "markdown"), ("b.html", "md"), ("c.markdown", None), ("d.MD", None), ("e.txt", "MARKDOWN")):
        generator.save(tmp_path / name, format)
        assert (tmp_path / name).read_text() == generator.to_markdown()
    generator.save(str(tmp_path / "f.htm"))
    assert (tmp_path / "f.htm").read_text() == generator.to_html()


def test_formats_that_there_are_not(trace, tmp_path):
    before = sorted(os.listdir(tmp_path))
    for name, format in (("a.pdf", None), ("a", None), ("a.md", "pdf"), ("a.md", "")):
        with pytest.raises(ValueError, match="formats are html, json, markdown, text"):
            ReportGenerator(trace).save(tmp_path / name, format)
    assert sorted(os.listdir(tmp_path)) == before


def test_files_appear_whole(trace, tmp_path):
    (tmp_path / "r.md").write_text("older")
    ReportGenerator(trace).save(tmp_path / "r.md")
    assert (tmp_path / "r.md").read_text().startswith("# ")
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE((tmp_path / "r.md").stat().st_mode) == 0o666 & ~mask
    ReportGenerator.register_format("broken", lambda generator: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        ReportGenerator(trace).save(tmp_path / "r.md", "broken")
    with pytest.raises(FileNotFoundError):
        ReportGenerator(trace).save(tmp_path / "no" / "r.md")
    (tmp_path / "folder.md").mkdir()
    with pytest.raises(OSError):
        ReportGenerator(trace).save(tmp_path / "folder.md")
    assert sorted(os.listdir(tmp_path)) == ["folder.md", "made.json", "r.md"]  # and no drafts


# ---- Formats and charts of users ------------------------------------------------

def test_a_format_of_ones_own(trace, tmp_path):
    ReportGenerator.register_format("csv", lambda generator: "".join(f"{f['kind']},{f['gain_percent']}\n" for f in generator.to_json()["findings"]),
                                    suffixes=[".csv"])
    generator = ReportGenerator(trace)
    generator.save(tmp_path / "r.csv")
    finding = generator.to_json()["findings"][0]
    assert (tmp_path / "r.csv").read_text().splitlines()[0] == f"data_loading,{finding['gain_percent']}"
    generator.save(tmp_path / "r.txt", "csv")
    assert (tmp_path / "r.txt").read_bytes() == (tmp_path / "r.csv").read_bytes()
    assert ReportGenerator.formats() == ["csv", "html", "json", "markdown", "text"]
    with pytest.raises(ValueError, match="formats are csv, html"):
        generator.save(tmp_path / "r.pdf")


def test_formats_that_cannot_be(trace, tmp_path):
    for name, function, suffixes in (("json", str, ()), ("md", str, ()), ("a/b", str, ()), ("x", str, ["x"]), ("x", str, [".md"])):
        with pytest.raises(ValueError):
            ReportGenerator.register_format(name, function, suffixes)
    with pytest.raises(TypeError):
        ReportGenerator.register_format("x", "text")
    ReportGenerator.register_format("odd", lambda generator: 5)
    with pytest.raises(TypeError, match="the format 'odd' must give str or bytes, and gave int"):
        ReportGenerator(trace).save(tmp_path / "x", "odd")


def test_charts(trace, tmp_path):
    written = ReportGenerator(trace).charts(tmp_path / "a" / "b")
    assert [os.path.basename(path) for path in written] == [f"{name}.svg" for name in
                                                            ("severity", "frequency", "potential", "gain", "resources", "steps", "breakdown")]
    command(trace, "--format", "json", "--charts", tmp_path / "command")
    for path in written:
        assert open(path, "rb").read() == (tmp_path / "command" / os.path.basename(path)).read_bytes()
    with pytest.raises(ValueError, match="formats are svg, png"):
        ReportGenerator(trace).charts(tmp_path / "c", "pdf")


def test_charts_as_png(trace, tmp_path):
    try:
        written = ReportGenerator(trace).charts(tmp_path / "charts", format="png")
    except RuntimeError as error:
        assert "cairo" in str(error)
        pytest.skip("there is no cairo here")
    assert all(open(path, "rb").read(8) == b"\x89PNG\r\n\x1a\n" for path in written) and len(written) == 7


def test_a_chart_of_ones_own(trace, tmp_path):
    ReportGenerator.register_chart("kinds", lambda analysis, format: f"<svg>{analysis['findings'][0]['kind']}</svg>" if format == "svg" else None)
    ReportGenerator(trace).charts(tmp_path / "charts")
    assert (tmp_path / "charts" / "kinds.svg").read_text() == "<svg>data_loading</svg>"
    with pytest.raises(ValueError):
        ReportGenerator.register_chart("../up", str)
    with pytest.raises(TypeError):
        ReportGenerator.register_chart("x", None)


# ---- Templates -------------------------------------------------------------------

@pytest.mark.parametrize("name", ["summary.md.in", "summary.html.in"])
def test_templates_that_come_with_us(trace, tmp_path, name):
    generator = ReportGenerator(trace)
    text = generator.render(TEMPLATES / name)
    assert text.encode() == command(trace, "--template", TEMPLATES / name)
    out = tmp_path / f"out.{name.split('.')[1]}"
    inferscope("analyze", trace, "--template", TEMPLATES / name, "--output", out)
    assert out.read_text() == text
    finding = generator.to_json()["findings"][0]
    headline = generator.to_json()["bottleneck"]["headline"]
    assert f"{finding['gain_percent']:.1f} %" in text and finding["title"].split(":")[0] == "data loading"
    assert headline.endswith("data loading starves it") and headline in text and finding["kind"] not in text
    assert "{{" not in text


def test_values_of_a_template(trace):
    generator = ReportGenerator(trace)
    summary = generator.to_json()["summary"]
    text = generator.render(text="{{summary.total_idle_us|ms}} {{trace.events|count}} {{#findings}}{{kind}}{{/findings}}", format="markdown")
    assert text.startswith(f"{summary['total_idle_us'] / 1000:.3f} ms ")
    assert text.endswith(" `data_loading`")


class Tags(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.text = [], [], ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.text += data


def test_names_stay_names(tmp_path):
    hostile = "<script>alert(1)</script>\"'`x` | \u202e\n{{trace.path}}"
    made = Made()
    made.op(hostile, 0, 900)
    made.kernel(hostile, 905, 910, 50)
    generator = ReportGenerator(made.save(tmp_path / "made.json"))
    page = Tags(generator.render(text='{{#operators}}<p title="{{name}}">{{name}}</p>{{/operators}}', format="html"))
    shown = hostile.replace("\u202e", "\\u{202e}").replace("\n", "\\n")
    assert page.tags == ["p"] and page.attributes == [("title", shown)] and page.text == shown
    line = generator.render(text="{{#operators}}\n| {{name}} | {{count}} |\n{{/operators}}\n", format="md")
    assert line == "| `` " + shown.replace("|", "\\|") + " `` | 1 |\n"


@pytest.mark.parametrize("text,format,place", [
    ("x\n  {{{name}}}", "md", "2:3"), ("<script>{{trace.path}}</script>", "html", "1:8"), ("<p onclick=\"{{trace.path}}\">", "html", "1:11"),
    ("<p title={{trace.path}}>", "html", "1:10"), ("<a href=\"{{trace.path}}\">", "html", "1:10"), ("{{#a}}", "md", "1:1"),
    ("{{findings}}", "md", "1:1"), ("{{trace.path|time}}", "md", "1:1"), ("{{ __import__('os') }}", "md", "1:1")])
def test_templates_that_are_refused(trace, tmp_path, text, format, place):
    with pytest.raises(ValueError, match=rf"^template:{place}: "):
        ReportGenerator(trace).render(text=text, format=format)
    path = tmp_path / f"bad.{format}.in"
    path.write_text(text)
    with pytest.raises(ValueError, match=rf"^{re.escape(str(path))}:{place}: "):
        ReportGenerator(trace).render(path)
    done = inferscope("analyze", trace, "--template", path, "-o", tmp_path / f"out.{format}", status=2)
    assert done.stderr.decode().startswith(f"inferscope: {path}:{place}: ") and not (tmp_path / f"out.{format}").exists()


def test_templates_for_what(trace, tmp_path):
    (tmp_path / "plain").write_text("x")
    generator = ReportGenerator(trace)
    for arguments in ({}, {"template": tmp_path / "plain", "text": "x"}):
        with pytest.raises(TypeError):
            generator.render(**arguments)
    for format in (None, "json", "text", "pdf"):
        with pytest.raises(ValueError):
            generator.render(tmp_path / "plain", format)
    with pytest.raises(FileNotFoundError):
        generator.render(tmp_path / "missing.md.in")
    assert generator.render(tmp_path / "plain", "md") == "x"
    for options in (("--template", tmp_path / "plain"), ("--template", tmp_path / "plain", "--format", "json"),
                    ("--template", tmp_path / "missing.md.in")):
        inferscope("analyze", trace, *options, status=2)
    big = tmp_path / "big.md.in"
    big.write_bytes(b"x" * ((1 << 20) + 1))
    assert b"larger than the 1024 KiB" in inferscope("analyze", trace, "--template", big, status=2).stderr


RULE = """
rules:
  - name: always
    when: total_cpu_time_us > 0
    severity: 0.5
    message: "the host worked"
    suggestion: "let it rest"
"""


@pytest.mark.parametrize("format, method", [("md", "to_markdown"), ("html", "to_html")])
def test_rules_are_those_of_the_command(tmp_path, trace, format, method):
    (tmp_path / "own.yaml").write_text(RULE)
    ours = getattr(ReportGenerator(trace, rules_files=tmp_path / "own.yaml"), method)()
    assert ours.encode() == command(trace, "--rules-file", tmp_path / "own.yaml", "--format", format)
    assert "the host worked" in ours


def test_a_rule_that_is_wrong(tmp_path, trace):
    (tmp_path / "own.yaml").write_text(RULE.replace("total_cpu_time_us", "no_such_name"))
    with pytest.raises(ValueError, match=r"own\.yaml:4:\d+: "):
        ReportGenerator(trace, rules_files=[tmp_path / "own.yaml"]).to_json()


def test_rules_that_somebody_else_could_have_written_are_told(tmp_path, trace, monkeypatch):
    own = tmp_path / "inferscope" / "rules" / "own.yaml"
    own.parent.mkdir(parents=True)
    own.write_text(RULE)
    own.chmod(0o666)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    with pytest.warns(RuntimeWarning, match=r"own\.yaml is ignored: "):
        assert "the host worked" not in ReportGenerator(trace).to_markdown()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning):
            ReportGenerator(trace).to_markdown()
    own.chmod(0o600)
    assert "the host worked" in ReportGenerator(trace).to_markdown()
