"""clock_sync: how well the times of imported traces can be compared, made traces of one file and of several."""

import pytest
from analysis import analyze, inferscope
from made_trace import Made

DAY_NS = 86_400 * 10**9
BASE = 1_700_000_000 * 10**9


def file(path, rank, base, collective=False):
    head = {} if base is None else {"baseTimeNanoseconds": base}
    made = Made(rank=rank, **head)
    made.op("aten::mm", 0, 3)
    made.kernel("gemm", 1, 10, 100)
    if collective:
        made.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 5, 120, 900 - rank)
    return made.save(path)


def clock_sync(result):
    (check,) = [check for check in result["integrity"]["checks"] if check["name"] == "clock_sync"]
    return check


@pytest.mark.parametrize("base", [None, BASE])
def test_one_file_has_one_clock(tmp_path, base):
    result = analyze(file(tmp_path / "a.json", 0, base))

    assert clock_sync(result)["status"] == "ok"
    assert [(clock["error_us"], clock["assumed_error_us"]) for clock in result["clock"]] == [(None, None)]


def test_files_with_a_time_of_day(tmp_path):
    paths = [file(tmp_path / f"{rank}.json", rank, BASE) for rank in range(3)]

    result = analyze(*paths)

    check = clock_sync(result)
    assert (check["status"], check["count"]) == ("note", 3)
    assert "1.0 ms, the margin (sync_error_margin_us), is taken for the error" in check["detail"]
    assert [clock["assumed_error_us"] for clock in result["clock"]] == [1000] * 3
    assert result["integrity"]["verdict"] == "good"


def test_collectives_tell_how_well_they_agree(tmp_path):
    paths = [file(tmp_path / f"{rank}.json", rank, BASE, collective=True) for rank in range(3)]

    result = analyze(*paths)

    assert clock_sync(result)["status"] == "ok"
    assert "rank_clocks" in [check["name"] for check in result["integrity"]["checks"] if check["status"] == "ok"]


def test_a_file_without_a_time_of_day_is_laid_beside(tmp_path):
    paths = [file(tmp_path / "0.json", 0, BASE), file(tmp_path / "1.json", 1, None)]

    result = analyze(*paths)

    check = clock_sync(result)
    assert (check["status"], check["count"]) == ("warning", 1)
    assert check["detail"].startswith("files that do not say when they were recorded, and were laid beside the others by their begins: 1; ")
    assert result["integrity"]["verdict"] == "degraded"
    done = inferscope("analyze", *paths, "--format", "md")
    assert done.stderr.decode() == f"inferscope: {check['detail']}\n"
    assert "- clocks: warning, " in done.stdout.decode()


def test_files_that_are_days_apart(tmp_path):
    paths = [file(tmp_path / "0.json", 0, BASE), file(tmp_path / "1.json", 1, BASE + 3 * DAY_NS)]

    result = analyze(*paths)

    check = clock_sync(result)
    assert (check["status"], check["count"]) == ("warning", 1)
    assert "method start_aligned) are taken to be right within 1.0 ms: nothing relates it to the others" in check["detail"]
    assert [clock["assumed_error_us"] for clock in result["clock"]] == [1000, 1000]
