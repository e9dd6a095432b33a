"""inferscope.analyzer.BottleneckAnalyzer: the same answers as the command's, from a trace or from a list of events."""

import json

import pytest

from analysis import INFERSCOPE, inferscope
from made_trace import Made, events

analyzer = pytest.importorskip("inferscope.analyzer", reason="the Python package is not on the path")
from inferscope import TraceError  # noqa: E402


def made_loop():
    made = Made()
    for step in range(20):
        at = 1000 * step
        made.host("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at, 400)
        made.kernel("gemm", at + 405, at + 410, 590)
    return made


def test_a_trace(tmp_path):
    path = made_loop().save(tmp_path / "made.json")
    result = analyzer.BottleneckAnalyzer(trace=path).analyze()
    assert result["bottleneck"]["type"] == "cpu_bound" and result["findings"][0]["kind"] == "data_loading"
    assert result["suggestions"][0]["priority"] == 1 and result["trace"]["format"] == "chrome"
    if INFERSCOPE:
        assert result == json.loads(inferscope("analyze", path, "--format", "json").stdout)


def test_several_ranks(tmp_path):
    paths = []
    for rank in range(3):
        made = Made(rank=rank, baseTimeNanoseconds=0)
        for i in range(5):
            made.kernel("ncclDevKernel_AllReduce", 1000 * i, 1000 * i + 100 * rank, 900 - 100 * rank)
        paths.append(str(made.save(tmp_path / f"{rank}.json")))
    result = analyzer.BottleneckAnalyzer(trace=paths).analyze()
    assert result["straggler_rank"] == 2 and len(result["devices"]) == 3


def test_patterns_of_communication(tmp_path):
    made = Made()
    made.kernel("mine", 0, 10, 100)
    path = made.save(tmp_path / "made.json")
    device, = analyzer.BottleneckAnalyzer(trace=path, communication=["MINE"]).analyze()["devices"]
    assert device["exposed_comm_us"] == 100


def test_a_list_of_events():
    result = analyzer.BottleneckAnalyzer(list(events())).analyze()
    device, = result["devices"]
    assert device["busy_us"] == 3900 and device["total_us"] == 9390 and result["bottleneck"]["type"] == "cpu_bound"
    assert result["trace"]["format"] == "events" and result["trace"]["path"] is None


def test_events_with_values_that_json_does_not_know():
    odd = [dict(event, metadata={"value": object()}) for event in events()]
    assert analyzer.BottleneckAnalyzer(odd).analyze()["devices"][0]["busy_us"] == 3900


def test_what_cannot_be_analyzed(tmp_path):
    for arguments in ({}, {"timeline": [], "trace": "x"}):
        with pytest.raises(TypeError):
            analyzer.BottleneckAnalyzer(**arguments)
    with pytest.raises(TraceError, match="No such file"):
        analyzer.BottleneckAnalyzer(trace=tmp_path / "missing.json").analyze()
    (tmp_path / "text").write_text("not a trace")
    with pytest.raises(TraceError):
        analyzer.BottleneckAnalyzer(trace=tmp_path / "text").analyze()
    with pytest.raises(ValueError):
        analyzer.BottleneckAnalyzer(trace=[]).analyze()
