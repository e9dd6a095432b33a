"""TimelineMerger: events of two clocks in one order, and how wrong their times can be."""

import logging
import random

import pytest

import package

package.need_package()
from inferscope.timeline import TimelineMerger  # noqa: E402


def cpu(name, start, end, **more):
    return {"event_type": "cpu_call", "name": name, "start_us": start, "end_us": end, "thread_id": 1, **more}


def call(name, start, end, correlation=0):
    return {"event_type": "runtime_call", "name": name, "start_us": start, "end_us": end, "correlation_id": correlation}


def kernel(name, start, end, correlation=0, device=0):
    return {"event_type": "gpu_kernel", "name": name, "start_us": start, "end_us": end, "device_id": device,
            "correlation_id": correlation}


class Clock:
    """A GPU's clock: where it stood when the CPU's was 0, its rate, and how it was set."""

    def __init__(self, offset_us, ppm, jumps=()):
        self.offset, self.rate, self.jumps = offset_us, 1 + ppm * 1e-6, jumps

    def at(self, cpu_us):
        return self.offset + cpu_us * self.rate + sum(by for when, by in self.jumps if cpu_us >= when)

    def calibration(self, to_us, count, usual_us, seed):
        chance = random.Random(seed)
        for i in range(count):
            true = to_us * i / (count - 1)
            early, late = (usual_us * (0.5 + chance.random()) * (100 if chance.random() < 0.1 else 1) for _ in range(2))
            yield true - early, self.at(true), true + late


def by_name(events):
    return {event["name"]: event for event in events}


# ---- Order ----

def test_events_are_sorted_by_start_the_longer_first():
    merged = TimelineMerger(margin_us=5).merge(
        [cpu("late", 900, 1000), cpu("inner", 100, 150), cpu("outer", 100, 400)], [kernel("k", 200, 300)])
    assert [event["name"] for event in merged] == ["outer", "inner", "k", "late"]
    assert [event["start_us"] for event in merged] == [100, 100, 200, 900]
    assert merged[0]["start_ns"] == 100_000 and merged[0]["end_ns"] == 400_000


def test_events_are_copies_and_keep_what_they_say():
    event = kernel("k", 200, 300, device=3)
    merged = TimelineMerger([], [event]).merge()
    assert "start_ns" not in event
    assert merged[0]["device_id"] == 3 and merged[0]["event_type"] == "gpu_kernel"


def test_nanoseconds_count_where_they_are_given():
    first, second = cpu("a", 1, 2, start_ns=1_700, end_ns=2_000), cpu("b", 1, 2, start_ns=1_300, end_ns=2_000)
    assert [event["name"] for event in TimelineMerger([first, second]).get_sorted_events()] == ["b", "a"]


def test_fractions_of_microseconds_stay():
    event = TimelineMerger([cpu("a", 1.25, 2.5)]).merge()[0]
    assert (event["start_us"], event["end_us"], event["start_ns"]) == (1.25, 2.5, 1250)


def test_nothing():
    merger = TimelineMerger()
    assert merger.merge() == []
    assert merger.get_clock_error_us() == 0
    assert merger.get_clock_info() == {}


def test_merge_replaces_events():
    merger = TimelineMerger([cpu("old", 1, 2)])
    assert [event["name"] for event in merger.merge(cpu_events=[cpu("new", 1, 2)])] == ["new"]


# ---- Calibration ----

@pytest.mark.parametrize("ppm", [-200, -7, 0, 120, 200])
@pytest.mark.parametrize("seed", range(5))
def test_calibrated_times_are_within_the_bound_and_one_percent(ppm, seed):
    clock = Clock(-5e8, ppm)
    true = [(1000.0 * i, 1000.0 * i + 400) for i in range(10_000)]
    events = [kernel(str(i), clock.at(start), clock.at(end)) for i, (start, end) in enumerate(true)]
    merger = TimelineMerger([], events, calibration=clock.calibration(1e7, 100, 5.0, seed))
    merged = by_name(merger.merge())
    for i, (start, end) in enumerate(true):
        event = merged[str(i)]
        assert abs(event["start_us"] - start) <= event["clock_error_us"]
        assert abs((event["end_us"] - event["start_us"]) - (end - start)) < 0.01 * (end - start)
    assert merger.get_clock_error_us() < 50
    info = merger.get_clock_info()[0]
    assert info["method"] == "calibration" and len(info["segments"]) == 1
    assert abs(info["segments"][0]["slope"] - 1 / clock.rate) < 2e-6


def test_a_clock_that_is_set_has_two_segments():
    clock = Clock(1e6, 50, jumps=[(5e6, 20_000)])
    true = [1000.0 * i for i in range(10_000)]
    merger = TimelineMerger([], [kernel(str(i), clock.at(t), clock.at(t + 10)) for i, t in enumerate(true)],
                            calibration=clock.calibration(1e7, 200, 5.0, 1))
    merged = by_name(merger.merge())
    for i, start in enumerate(true):
        assert abs(merged[str(i)]["start_us"] - start) <= merged[str(i)]["clock_error_us"]
    assert len(merger.get_clock_info()[0]["segments"]) == 2
    assert merged["100"]["clock_error_us"] < 50


def test_calibration_as_dictionaries_for_each_device():
    clocks = {0: Clock(1e6, 100), 1: Clock(-3e6, -100)}
    calibration = [{"device_id": device, "cpu_before_us": before, "gpu_us": gpu, "cpu_after_us": after}
                   for device, clock in clocks.items() for before, gpu, after in clock.calibration(1e6, 50, 2.0, device)]
    events = [kernel(f"k{device}", clock.at(5e5), clock.at(5e5 + 100), device=device) for device, clock in clocks.items()]
    merged = TimelineMerger([], events, calibration=calibration).merge()
    for event in merged:
        assert abs(event["start_us"] - 5e5) <= event["clock_error_us"] < 20
        assert event["device_start_ns"] == round(clocks[event["device_id"]].at(5e5) * 1000)


def test_plain_pairs_are_right_within_the_margin():
    merger = TimelineMerger([], [kernel("k", 10_500, 10_600)], calibration=[(0, 10_000), (1000, 11_000)], margin_us=20)
    event = merger.merge()[0]
    assert abs(event["start_us"] - 500) <= 20
    assert 20 <= event["clock_error_us"] <= 60


@pytest.mark.parametrize("calibration", [[(1,)], [(1, 2, 3, 4)], ["abc"], [{"gpu_us": 1}], [{"cpu_us": 1}], [5]])
def test_calibration_that_says_nothing_is_refused(calibration):
    with pytest.raises(ValueError):
        TimelineMerger([], [], calibration=calibration)


# ---- Launches ----

def test_launches_relate_clocks_that_have_different_zeros():
    clock = Clock(7e6, 0)
    calls = [call("cudaLaunchKernel", 1000 * i, 1000 * i + 5, i + 1) for i in range(100)]
    work = [kernel(str(i), round(clock.at(1000 * i + 8 + i % 3)), round(clock.at(1000 * i + 300)), i + 1) for i in range(100)]
    merger = TimelineMerger(calls, work)
    merged = by_name(merger.merge())
    assert merger.get_clock_info()[0]["method"] == "launches"
    for i in range(100):
        assert merged[str(i)]["start_us"] >= 1000 * i
        assert abs(merged[str(i)]["start_us"] - (1000 * i + 8 + i % 3)) <= 10
    assert merger.get_clock_error_us() == 1000  # launches alone bound one side only


def test_waiting_bounds_the_other_side():
    clock = Clock(-2e6, 0)
    calls, work = [], []
    for i in range(50):
        calls += [call("cudaLaunchKernel", 1000 * i, 1000 * i + 5, i + 1),
                  call("cudaDeviceSynchronize", 1000 * i + 6, 1000 * i + 212)]
        work.append(kernel(str(i), round(clock.at(1000 * i + 9)), round(clock.at(1000 * i + 209)), i + 1))
    merger = TimelineMerger(calls, work)
    merged = by_name(merger.merge())
    assert merger.get_clock_error_us() < 15
    for i in range(50):
        assert abs(merged[str(i)]["start_us"] - (1000 * i + 9)) <= merged[str(i)]["clock_error_us"]


def test_clocks_that_agree_are_left_alone():
    calls = [call("cudaLaunchKernel", 1000 * i, 1000 * i + 5, i + 1) for i in range(10)]
    work = [kernel(str(i), 1000 * i + 20, 1000 * i + 300, i + 1) for i in range(10)]
    merger = TimelineMerger(calls, work, margin_us=30)
    assert by_name(merger.merge())["4"]["start_us"] == 4020
    assert merger.get_clock_info()[0]["method"] == "as_given"
    assert merger.get_clock_error_us() == 30


def test_numbers_used_twice_tell_nothing():
    calls = [call("cudaLaunchKernel", 1000 * i, 1000 * i + 5, 7) for i in range(3)]
    merger = TimelineMerger(calls, [kernel("k", -500, -400, 7)])
    assert merger.merge()[0]["start_us"] == -500
    assert merger.get_clock_info()[0]["method"] == "margin"


# ---- Without anything ----

def test_the_margin_is_said_and_events_are_marked(caplog):
    with caplog.at_level(logging.WARNING, "inferscope"):
        merged = TimelineMerger([cpu("a", 1, 2)], [kernel("k", 5, 6)]).merge()
    assert "within 1000 us" in caplog.text
    assert merged[1]["clock_synchronized"] is False and merged[1]["clock_error_us"] == 1000
    assert merged[1]["start_us"] == 5
    assert "clock_error_us" not in merged[0]


def test_the_margin_comes_from_the_environment(monkeypatch, caplog):
    monkeypatch.setenv("INFERSCOPE_SYNC_ERROR_MARGIN_US", "250")
    assert TimelineMerger().margin_us == 250
    assert TimelineMerger(margin_us=7).margin_us == 7
    monkeypatch.setenv("INFERSCOPE_SYNC_ERROR_MARGIN_US", "many")
    assert TimelineMerger().margin_us == 1000
    assert "many" in caplog.text


@pytest.mark.parametrize("margin", [-1, float("nan"), float("inf")])
def test_a_margin_that_is_none_is_refused(margin):
    with pytest.raises(ValueError):
        TimelineMerger(margin_us=margin)


@pytest.mark.parametrize("events, error", [([5], TypeError), ([{"name": "x"}], ValueError), ({}, TypeError), ("abc", TypeError),
                                           (5, TypeError)])
def test_what_is_no_event_is_refused(events, error):
    with pytest.raises(error):
        TimelineMerger(cpu_events=events).merge()
    with pytest.raises(error):
        TimelineMerger(gpu_events=events).merge()


def test_times_at_the_ends_do_not_break_it():
    huge = [kernel("k", 0, 1, 1) | {"start_ns": 2**62, "end_ns": 2**63 - 1}]
    merged = TimelineMerger([call("cudaLaunchKernel", 0, 1, 1)], huge, calibration=[(0, 0, 1)]).merge()
    assert merged[-1]["start_ns"] <= merged[-1]["end_ns"]
    beyond = TimelineMerger([], [kernel("k", 0, 1) | {"start_ns": 2**70, "end_ns": 2**70}], calibration=[(0, 0, 1)])
    assert beyond.merge()[0]["start_ns"] == 2**70
    assert beyond.get_clock_info()[0]["method"] == "margin"
