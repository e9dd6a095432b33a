"""Devices are judged from the first step on, and launches by where they are made."""

import pytest

from analysis import analyze
from made_trace import Made

STEPS, STEP = 50, 1000


def with_steps(before):
    """Steps in which the host comes 400 us late, and so long before them in which nothing is launched."""
    made = Made()
    made.kernel("first", 0, 10, 5)
    made.host("python_function", "train.py(1): prepare", 20, before - 30)
    for number in range(STEPS):
        at = before + STEP * number
        made.host("user_annotation", "step", at, STEP - 10)
        made.host("python_function", "train.py(9): choose", at, 400)
        made.kernel("gemm", at + 402, at + 410, 590)
    return made


def late(result):
    return next(finding for finding in result["findings"] if finding["kind"] == "cpu_computation")


def test_what_comes_before_the_steps_is_not_in_their_shares(tmp_path):
    short, long = (analyze(with_steps(before).save(tmp_path / f"{before}.json")) for before in (100, 40_000))
    for result in (short, long):
        assert float(late(result)["share_percent"]) == pytest.approx(41, abs=1)
        assert late(result)["where"][0].startswith("train.py(9): choose: 20.")
        assert max(float(example["duration_us"]) for example in late(result)["examples"]) <= 400
    assert not any("before the steps" in note for note in short["notes"])
    assert any(note == "40.0 ms of the devices' time, 44 % of it, are before the steps: gains are of the steps alone"
               for note in long["notes"]), long["notes"]


def test_most_of_the_work_outside_of_the_steps_means_that_all_is_judged(tmp_path):
    made = with_steps(100)
    for number in range(2 * STEPS):
        made.kernel("other", None, -200_000 + 1000 * number, 900)
    result = analyze(made.save(tmp_path / "made.json"))
    assert not any("before the steps" in note for note in result["notes"])
    assert float(late(result)["share_percent"]) < 20


def test_work_on_its_way_belongs_to_where_it_was_launched(tmp_path):
    """The host waits elsewhere while short kernels follow each other with pauses that nobody can shorten but by fewer of them."""
    made = Made()
    for step in range(20):
        at = 1000 * step
        made.op("aten::many", at, 100)
        for number in range(80):
            made.kernel("short", at + number, at + 10 + 12 * number, 4)
        made.op("aten::item", at + 110, 880)
    finding = analyze(made.save(tmp_path / "made.json"))["findings"][0]
    assert finding["kind"] == "kernel_launch" and float(finding["share_percent"]) == pytest.approx(66, abs=2)
    assert finding["where"][0].startswith("aten::many: ") and "(1,599 gaps, " in finding["evidence"][0]
    # leaving them out may save a little more than the time between them
    assert float(finding["gain_high_percent"]) == pytest.approx(1.1 * float(finding["share_percent"]) + 2, abs=0.2)
