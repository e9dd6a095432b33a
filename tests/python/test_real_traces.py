"""Traces that others recorded on real GPUs, with published answers.  They are not part of the project: skipped without them."""

import csv
import tarfile

import pytest

from analysis import SHARED, analyze, checks, inferscope, shared, window

KINETO = sorted(path.name for path in (SHARED / "kineto").glob("*.json.gz"))
PUBLISHED = sorted(path.name.removesuffix(".gpu_timeline.csv") for path in (SHARED / "kineto").glob("*.gpu_timeline.csv"))


@pytest.mark.parametrize("name", KINETO or ["none"])
def test_every_trace_sums_exactly(name):
    result = analyze(shared(f"kineto/{name}"))  # which checks the sums
    assert result["trace"]["format"] == "chrome" and result["trace"]["events"] > 0
    assert inferscope("analyze", shared(f"kineto/{name}")).stdout


@pytest.mark.parametrize("name", PUBLISHED or ["none"])
def test_published_answers(name):
    """To 0.001 ms, counting only work whose launch is in the trace, as the publisher does."""
    with shared(f"kineto/{name}.gpu_timeline.csv").open() as file:
        published = {line["type"]: float(line["time ms"]) for line in csv.DictReader(file)}
    device, = analyze(shared(f"kineto/{name}.json.gz"))["devices"]
    ours = window(device, "launched")
    for key, answer in {"compute_us": "computation_time", "exposed_comm_us": "exposed_comm_time", "busy_us": "busy_time",
                        "exposed_copy_us": "exposed_memcpy_time", "idle_us": "idle_time", "total_us": "total_time",
                        "comm_us": "total_comm_time", "copy_us": "total_memcpy_time"}.items():
        assert float(ours[key]) / 1e3 == pytest.approx(published[answer], abs=0.001), key


def test_a_stray_kernel_is_named_and_left_out():
    result = analyze(shared("kineto/mi-sglang-decode-graph.json.gz"))
    device, = result["devices"]
    everything, trimmed = window(device, "all"), window(device, "trimmed")
    assert float(everything["idle_us"] / everything["total_us"]) == pytest.approx(0.979, abs=0.001)
    assert float(trimmed["busy_us"] / trimmed["total_us"]) == pytest.approx(0.935, abs=0.001)
    assert device["window"] == "trimmed" and device["busy_us"] == trimmed["busy_us"]
    stray = checks(result)["stray_gpu_work"]
    assert stray["count"] == 1 and stray["status"] in ("warning", "failed")


def test_the_rank_that_comes_last(tmp_path):
    with tarfile.open(shared("multirank/dlrm-8ranks-v100.tar.gz")) as archive:
        archive.extractall(tmp_path, filter="data")
    folder = next(path.parent for path in tmp_path.rglob("*.json*"))
    result = analyze(folder)
    last = {rank["rank"]: rank["arrived_last"] for rank in result["ranks"]}
    assert {rank: count for rank, count in last.items() if count} == {7: 5, 5: 2, 4: 1}
    assert len(result["collectives"]) == 8 and result["straggler_rank"] == 7
    first = next(c for c in result["collectives"] if "alltoall" in c["name"].lower() or "sendrecv" in c["name"].lower())
    assert float(first["start_skew_us"]) == pytest.approx(7624, abs=1)
    assert all(c["end_skew_us"] <= 7 for c in result["collectives"])


def test_waiting_for_input_shows():
    share = {workers: float(analyze(shared(f"kineto/v100-resnet50-loader-{workers}-workers.json.gz"))["step_summary"]["input_percent"])
             for workers in (0, 4)}
    assert share[0] > 25 and share[4] < share[0] / 4, share


def test_pageable_copies_before_and_after():
    pageable = {}
    for when in ("before", "after"):
        result = analyze(shared(f"nsys/mfu-2gpu-{when}.sqlite.gz"))
        assert result["trace"]["format"] == "nsys" and len(result["devices"]) == 2
        pageable[when] = sum(copy["count"] for device in result["devices"] for copy in device["copies"]
                             if "pageable" in (copy["memory_from"], copy["memory_to"]))
    assert pageable["before"] == 34 and pageable["after"] < 34


def test_an_old_schema_of_nsight_systems():
    result = analyze(shared("nsys/saxpy-old-schema.sqlite.gz"))
    assert result["trace"]["format"] == "nsys" and result["trace"]["events"] > 0


def test_overlaps_on_one_stream_are_found():
    overlaps = checks(analyze(shared("kineto/b200-eager-overlaps.json.gz")))["same_stream_overlaps"]
    assert overlaps["count"] == 74
