"""What others add: types of bottlenecks, strategies, report formats, charts, and plugins that are installed."""

import copy
import enum
import logging
import pickle

import pytest

import package
from interpreters import recorded_pythons
from made_trace import Made

package.need_package()
import inferscope  # noqa: E402
from inferscope import BottleneckType, bottlenecks  # noqa: E402
from inferscope.reporter import ReportGenerator  # noqa: E402

SEEDS = ["data_loading", "preprocessing", "memory_allocation", "gpu_transfer", "cpu_computation", "i_o_operation", "network_latency",
         "synchronization"]


@pytest.fixture(autouse=True)
def _registries(monkeypatch, types_of_ones_own):
    monkeypatch.setattr(bottlenecks, "_failed", set())
    for name in ("_formats", "_format_suffixes", "_charts"):
        monkeypatch.setattr(ReportGenerator, name, {})


# ---- Types ----


def test_types_as_documented():
    assert isinstance(BottleneckType, enum.EnumMeta) and all(isinstance(member, enum.Enum) for member in BottleneckType)
    assert [member.value for member in BottleneckType] == SEEDS and len(BottleneckType) == 8
    for value in SEEDS:
        member = BottleneckType(value)
        assert member is BottleneckType[value.upper()] is getattr(BottleneckType, value.upper()) is BottleneckType(member)
        assert (member.name, member.value) == (value.upper(), value) and member.description and member in BottleneckType
    assert repr(BottleneckType.I_O_OPERATION) == "<BottleneckType.I_O_OPERATION: 'i_o_operation'>"
    assert str(BottleneckType.I_O_OPERATION) == "BottleneckType.I_O_OPERATION" and list(BottleneckType.__members__) == [v.upper() for v in SEEDS]
    assert "GPU_TRANSFER" in dir(BottleneckType) and len({*BottleneckType}) == 8


def test_what_is_no_type():
    for wrong in ("nonsense", None, 5, [], b"data_loading"):
        with pytest.raises(ValueError, match="not a valid BottleneckType"):
            BottleneckType(wrong)
    with pytest.raises(KeyError):
        BottleneckType["nonsense"]
    with pytest.raises(AttributeError):
        BottleneckType.NONSENSE
    assert "nonsense" not in BottleneckType and None not in BottleneckType
    with pytest.raises(AttributeError):
        BottleneckType.DATA_LOADING.value = "x"


def test_a_type_of_ones_own():
    made = inferscope.register_bottleneck_type("tokenizer_wait", "the model waits for the tokenizer")
    assert made is BottleneckType("tokenizer_wait") is BottleneckType.TOKENIZER_WAIT is BottleneckType["TOKENIZER_WAIT"]
    assert isinstance(made, BottleneckType) and isinstance(made, enum.Enum) and [*BottleneckType][-1] is made
    assert made.description == "the model waits for the tokenizer"
    assert BottleneckType.register("tokenizer_wait") is made
    assert BottleneckType.register("tokenizer_wait", "the model waits for the tokenizer") is made
    with pytest.raises(ValueError, match="already"):
        BottleneckType.register("tokenizer_wait", "another")
    for wrong in ("", "Tokenizer", "a b", "1st", "x" * 65, None):
        with pytest.raises(ValueError):
            BottleneckType.register(wrong)
    with pytest.raises(TypeError):
        BottleneckType.register("other", 5)


def test_copies_are_the_same():
    made = inferscope.register_bottleneck_type("tokenizer_wait")
    for member in (made, BottleneckType.GPU_TRANSFER):
        assert pickle.loads(pickle.dumps(member)) is member and copy.deepcopy({member: [member]}) == {member: [member]}


# ---- Strategies ----


def test_suggestions():
    for value in SEEDS:
        texts = inferscope.optimization_suggestions(value)
        assert texts and all(isinstance(text, str) and text for text in texts)
    assert inferscope.optimization_suggestions(BottleneckType.MEMORY_ALLOCATION) == ["Reduce batch size", "Enable gradient checkpointing",
                                                                                    "Use mixed precision"]
    with pytest.raises(ValueError):
        inferscope.optimization_suggestions("nonsense")


def test_a_strategy_of_ones_own(caplog):
    inferscope.register_bottleneck_type("tokenizer_wait")
    assert inferscope.optimization_suggestions("tokenizer_wait") == []
    inferscope.register_optimization_strategy("tokenizer_wait", "Tokenize in the workers")
    inferscope.register_optimization_strategy("tokenizer_wait", ["Tokenize in the workers", "Keep what was tokenized"])
    inferscope.register_optimization_strategy(BottleneckType.TOKENIZER_WAIT, lambda context: "Use %d workers" % context["workers"])
    inferscope.register_optimization_strategy("tokenizer_wait", lambda context: None)
    expected = ["Tokenize in the workers", "Keep what was tokenized"]
    assert inferscope.optimization_suggestions("tokenizer_wait", {"workers": 4}) == [*expected, "Use 4 workers"]
    with caplog.at_level(logging.WARNING, "inferscope"):
        assert inferscope.optimization_suggestions("tokenizer_wait") == expected  # the function has no workers to speak of
        assert inferscope.optimization_suggestions("tokenizer_wait") == expected
    assert len(caplog.records) == 1 and "KeyError: 'workers'" in caplog.records[0].getMessage()
    for wrong in (5, None, [1], {"a": 1}):
        with pytest.raises(TypeError):
            inferscope.register_optimization_strategy("tokenizer_wait", wrong)


# ---- Reports ----


def test_formats_and_charts(tmp_path):
    made = Made()
    for step in range(5):
        made.kernel("gemm", 1000 * step, 1000 * step + 5, 900)
    trace = made.save(tmp_path / "made.json")
    inferscope.register_report_format("csv", lambda report: "bottleneck,%s\n" % report.to_json()["bottleneck"], suffixes=[".csv"])
    inferscope.register_chart("mine", lambda analysis, format: "<svg/>" if format == "svg" else None)
    report = ReportGenerator(str(trace))
    report.save(tmp_path / "report.csv")
    assert (tmp_path / "report.csv").read_text().startswith("bottleneck,") and "csv" in ReportGenerator.formats()
    assert str(tmp_path / "charts" / "mine.svg") in report.charts(tmp_path / "charts")
    with pytest.raises(ValueError):
        inferscope.register_report_format("html", len)


# ---- Plugins ----


def install(folder, module, *points):
    """A package as pip leaves it: a module and its entry points."""
    (folder / "made_plugin.py").write_text(module)
    info = folder / "made_plugin-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: made-plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[inferscope.plugins]\n" + "".join(f"{point}\n" for point in points))
    return {"PYTHONPATH": f"{package.FOLDER}:{folder}"}


MODULE = """
import inferscope

print("loaded")


def register():
    inferscope.register_bottleneck_type("tokenizer_wait", "the model waits for the tokenizer")
    inferscope.register_optimization_strategy("tokenizer_wait", "Tokenize in the workers")
    inferscope.register_report_format("csv", lambda report: "a,b", suffixes=[".csv"])
    inferscope.register_bottleneck_detector(lambda sample: "seen by the plugin", name="of_plugin")


def broken():
    inferscope.BottleneckType("of nobody")
"""


@pytest.mark.parametrize("python", recorded_pythons(), ids=str)
def test_a_plugin(python, tmp_path):
    paths = install(tmp_path, MODULE, "first = made_plugin:register", "second = made_plugin:broken", "third = made_plugin:missing",
                    "fourth = no_such_module", "fifth = made_plugin")
    said, errors = package.run("""
        import inferscope
        from inferscope import BottleneckType, plugins
        assert BottleneckType("data_loading") is BottleneckType.DATA_LOADING
        print("before")
        member = BottleneckType("tokenizer_wait")
        print(member.description, inferscope.optimization_suggestions(member), sep=": ")
        from inferscope.reporter import ReportGenerator
        print(ReportGenerator.formats())
        for row in sorted(plugins.plugins(), key=lambda row: row["name"]):
            print(row["name"], row["error"])
        with inferscope.LiveMonitor(0.01) as monitor:
            import time
            end = time.monotonic() + 10
            while not monitor.alerts and time.monotonic() < end: time.sleep(0.01)
            print(monitor.alerts[0].text)
        """, tmp_path, python=python.path, **paths)
    lines = said.splitlines()
    assert lines[:2] == ["before", "loaded"], said
    assert lines[2] == "the model waits for the tokenizer: ['Tokenize in the workers']"
    assert lines[3] == "['csv', 'html', 'json', 'markdown', 'text']"
    assert lines[4:9] == ["fifth None", "first None", "fourth ModuleNotFoundError: No module named 'no_such_module'",
                          "second ValueError: 'of nobody' is not a valid BottleneckType",
                          "third AttributeError: module 'made_plugin' has no attribute 'missing'"]
    assert lines[9:] == ["seen by the plugin"] and errors.count("failed, and is left out") == 3


def test_plugins_can_be_left_out(tmp_path):
    paths = install(tmp_path, MODULE, "first = made_plugin:register")
    said, _ = package.run("""
        import inferscope
        from inferscope.reporter import ReportGenerator
        print(inferscope.load_plugins(), ReportGenerator.formats(), "tokenizer_wait" in inferscope.BottleneckType)
        """, tmp_path, INFERSCOPE_PLUGINS="0", **paths)
    assert said == "[] ['html', 'json', 'markdown', 'text'] False\n"
