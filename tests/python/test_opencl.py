"""What programs do with OpenCL: one in C (tests/programs/opencl_calls.c) on PoCL, pyopencl's and tinygrad's.

INFERSCOPE_OPENCL_PYTHON is the interpreter that has the packages; the one that runs the tests unless given.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter, namedtuple
from pathlib import Path
from statistics import median

import msgpack
import pytest

import sbt
from recording import BUILD, INFERSCOPE, record, run_to_end
from sbt_payload import KINDS

PYTHON = os.environ.get("INFERSCOPE_OPENCL_PYTHON", sys.executable)
CALLS = BUILD / "tests" / "programs" / "opencl_calls"
LOADER = BUILD / "tests" / "programs" / "opencl_loader"
LAYER = BUILD / "tests" / "programs" / "libopencl-layer.so"
PATIENCE = 120
STREAM, PROCESS, DEVICE_WIDE = 2, 4, 5
ALLOC, FREE, CALL, KERNEL, H2D, D2H, D2D, MEMSET, SYNC, PAIR = 7, 8, 10, 11, 12, 13, 14, 15, 16, 20
WORK = (KERNEL, H2D, D2H, D2D, MEMSET, SYNC)
PAGEABLE, PINNED, DEVICE, MANAGED = 1, 2, 3, 5
RAW_NS_OFF = 1000  # of a device's time from its own clock, when that is one of the kernel's

LATE_BUILD = "clBuildProgram (at the first launch)"

Own = namedtuple("Own", "type start end")


def has_device():
    if not CALLS.exists():
        return False
    run = subprocess.run([CALLS, "exit"], capture_output=True, check=False, timeout=PATIENCE)
    return run.returncode == 0


pytestmark = pytest.mark.skipif(not has_device(), reason="no OpenCL to build with, or no device to run on")


def bare(*command, program=CALLS, env=None):
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("OPENCL_", "INFERSCOPE_"))}
    run = subprocess.run([program, *command], env=clean | (env or {}), capture_output=True, text=True, check=True, timeout=PATIENCE)
    return run.stdout


def calls(folder, *command, options=()):
    recording = record(folder, *command, program=CALLS, options=options)
    assert recording.status == 0 and recording.losses == []
    return recording


def kinds(from_kind, to_kind):
    return from_kind | to_kind << 8


def work_of(recording, *wanted):
    """What devices did, in the order of time."""
    events = [event for event in recording.events if event.kind in (wanted or WORK)
              and recording.trace.tracks[event.track]["kind"] == STREAM and event.phase == 2]
    return sorted(events, key=lambda event: (event.time, event.duration))


def called(recording):
    return Counter(recording.name(event) for event in recording.events
                   if event.kind == CALL and recording.trace.tracks[event.track]["kind"] != STREAM)


def launch_of(recording):
    """Calls by their correlation."""
    return {event.correlation: event for event in recording.events
            if event.kind == CALL and event.correlation and recording.trace.tracks[event.track]["kind"] != STREAM}


def ns(recording, event):
    begin = recording.trace.ns(event.time)
    return begin, recording.trace.ns(event.time + event.duration)


# ---- Each kind of command ----

NONE = None
EXPECTED = [
    (KERNEL, "scale", NONE, NONE), (KERNEL, "empty", NONE, NONE), (KERNEL, "empty", NONE, NONE), (KERNEL, "empty", NONE, NONE),
    (KERNEL, "clEnqueueNativeKernel", NONE, NONE),
    (H2D, "clEnqueueWriteBuffer", 1000, (PAGEABLE, DEVICE)), (H2D, "clEnqueueWriteBuffer (non-blocking)", 1001, (PAGEABLE, DEVICE)),
    (D2H, "clEnqueueReadBuffer", 1002, (DEVICE, PAGEABLE)), (D2H, "clEnqueueReadBuffer (non-blocking)", 1003, (DEVICE, PAGEABLE)),
    (H2D, "clEnqueueWriteBufferRect", 1024, (PAGEABLE, DEVICE)),
    (H2D, "clEnqueueWriteBufferRect (non-blocking)", 1024, (PAGEABLE, DEVICE)),
    (D2H, "clEnqueueReadBufferRect", 1024, (DEVICE, PAGEABLE)),
    (D2H, "clEnqueueReadBufferRect (non-blocking)", 1024, (DEVICE, PAGEABLE)),
    (D2D, "clEnqueueCopyBuffer", 1004, (DEVICE, DEVICE)), (D2D, "clEnqueueCopyBufferRect", 1024, (DEVICE, DEVICE)),
    (MEMSET, "clEnqueueFillBuffer", 2000, NONE), (D2H, "clEnqueueMigrateMemObjects", 2 * 262144, NONE),
    (MEMSET, "clEnqueueFillImage", 512, NONE),
    (H2D, "clEnqueueWriteImage", 512, (PAGEABLE, DEVICE)), (H2D, "clEnqueueWriteImage (non-blocking)", 512, (PAGEABLE, DEVICE)),
    (D2H, "clEnqueueReadImage", 512, (DEVICE, PAGEABLE)), (D2H, "clEnqueueReadImage (non-blocking)", 512, (DEVICE, PAGEABLE)),
    (D2D, "clEnqueueCopyImage", 512, (DEVICE, DEVICE)), (D2D, "clEnqueueCopyImageToBuffer", 512, (DEVICE, DEVICE)),
    (D2D, "clEnqueueCopyBufferToImage", 512, (DEVICE, DEVICE)),
    (D2H, "clEnqueueMapBuffer", 3000, (DEVICE, PAGEABLE)), (H2D, "clEnqueueUnmapMemObject", NONE, (PAGEABLE, DEVICE)),
    (D2H, "clEnqueueMapBuffer (non-blocking)", NONE, (DEVICE, PAGEABLE)), (H2D, "clEnqueueUnmapMemObject", 3001, (PAGEABLE, DEVICE)),
    (D2H, "clEnqueueMapImage", 512, (DEVICE, PAGEABLE)), (H2D, "clEnqueueUnmapMemObject", 512, (PAGEABLE, DEVICE)),
    (D2H, "clEnqueueMapBuffer", 4096, (PINNED, PINNED)), (H2D, "clEnqueueWriteBuffer", 4000, (PINNED, DEVICE)),
    (H2D, "clEnqueueUnmapMemObject", 4096, (PINNED, PINNED)), (D2H, "clEnqueueReadBuffer", 4096, (PINNED, PAGEABLE)),
    (SYNC, "clEnqueueMarkerWithWaitList", NONE, NONE), (SYNC, "clEnqueueMarker", NONE, NONE),
    (SYNC, "clEnqueueBarrierWithWaitList", NONE, NONE)]


def test_every_command_once(tmp_path):
    recording = calls(tmp_path, "kinds")
    work = work_of(recording)
    assert [(event.kind, recording.name(event), event.bytes, event.memory_kind) for event in work] == [
        (kind, name, size, memory and kinds(*memory)) for kind, name, size, memory in EXPECTED]
    launches = launch_of(recording)
    for event in work:
        if recording.name(event) != "clEnqueueBarrierWithWaitList":  # which work waits for it, not a call for work
            call = launches[event.correlation]
            assert call.time <= event.time
            assert event.kind == KERNEL or recording.name(call) == recording.name(event)
    seen = called(recording)
    assert seen["clFinish"] == 4 and seen["clFlush"] == seen["clWaitForEvents"] == seen["clBuildProgram"] == seen["clEnqueueBarrier"] == 1


def test_sizes_of_launches(tmp_path):
    kernels = work_of(calls(tmp_path, "kinds"), KERNEL)
    assert [(e.grid_x, e.grid_y, e.grid_z) for e in kernels[:4]] == [(1024, 1, 1), (2, 2, 2), (8, 6, 1), (1, 1, 1)]
    assert [(e.block_x, e.block_y, e.block_z) for e in kernels[:4]] == [(64, 1, 1), (4, 3, 2), (None, None, None), (1, 1, 1)]


def test_sizes_as_they_are_shown(tmp_path):
    calls(tmp_path, "kinds")
    done = subprocess.run([INFERSCOPE, "dump", tmp_path / "trace.sbt"], capture_output=True, text=True, check=True, timeout=PATIENCE)
    kernels = [event for event in json.loads(done.stdout) if event["event_type"] == "gpu_kernel"]
    assert [e["grid_dim"] for e in kernels[:4]] == [[1024, 1, 1], [2, 2, 2], [8, 6, 1], [1, 1, 1]]
    assert [e.get("block_dim") for e in kernels[:4]] == [[64, 1, 1], [4, 3, 2], None, [1, 1, 1]]


def test_the_device_and_its_queue(tmp_path):
    recording = calls(tmp_path, "kinds")
    device, = recording.trace.devices.values()
    assert device["kind"] == 2 and recording.trace.strings[device["name"]]
    assert device["properties"]["numSms"] >= 1 and device["properties"]["totalGlobalMem"] > 1 << 20
    names = {recording.trace.strings[track["name"]] for track in recording.trace.tracks.values() if track["kind"] == STREAM}
    assert names == {"queue 1"}


def test_shared_virtual_memory(tmp_path):
    recording = calls(tmp_path, "svm")
    if recording.out == "none\n":
        pytest.skip("the device has no shared virtual memory")
    assert recording.out == bare("svm")
    both = kinds(MANAGED, MANAGED)
    assert [(event.kind, recording.name(event), event.bytes, event.memory_kind) for event in work_of(recording)] == [
        (MEMSET, "clEnqueueSVMMemFill", 4096, None), (D2D, "clEnqueueSVMMemcpy", 4000, both),
        (D2H, "clEnqueueSVMMemcpy", 4001, kinds(MANAGED, PAGEABLE)),
        (H2D, "clEnqueueSVMMemcpy (non-blocking)", 4002, kinds(PAGEABLE, MANAGED)), (D2H, "clEnqueueSVMMap", 8192, both),
        (H2D, "clEnqueueSVMUnmap", 8192, both), (D2H, "clEnqueueSVMMigrateMem", 1000 + 8192, None),
        (H2D, "clEnqueueSVMMigrateMem", 4096, None), (SYNC, "clEnqueueSVMFree", None, None)]
    launches = launch_of(recording)
    migrated = [event for event in work_of(recording) if recording.name(event) == "clEnqueueSVMMigrateMem"]
    assert called(recording)["clEnqueueSVMMigrateMem"] == len({event.correlation for event in migrated}) == 2
    assert all(recording.name(launches[event.correlation]) == "clEnqueueSVMMigrateMem" for event in migrated)
    memory = sorted((event for event in recording.events if event.kind in (ALLOC, FREE)), key=lambda event: event.time)
    assert [(event.kind, recording.name(event), event.bytes) for event in memory] == [(ALLOC, "clSVMAlloc", 4096), (ALLOC, "clSVMAlloc", 8192), (FREE, "clEnqueueSVMFree", 8192),
                      (FREE, "clSVMFree", 4096)]


def test_command_buffers(tmp_path):
    recording = calls(tmp_path, "batch")
    if recording.out == "none\n":
        pytest.skip("the device has no command buffers")
    assert recording.out == bare("batch")
    batches = [event for event in work_of(recording, KERNEL) if recording.name(event) == "command buffer"]
    assert len(batches) == called(recording)["clEnqueueCommandBufferKHR"] == 5
    assert len({event.graph for event in batches}) == 1 and batches[0].graph
    launches = launch_of(recording)
    assert all(launches[event.correlation].time <= event.time for event in batches)
    assert all(before.time + before.duration <= after.time for before, after in zip(batches, batches[1:]))


def test_many_command_buffers(tmp_path):
    recording = calls(tmp_path, "batches", 200)
    if recording.out == "none\n":
        pytest.skip("the device has no command buffers")
    batches = work_of(recording, KERNEL)
    assert len({event.graph for event in batches}) == called(recording)["clEnqueueCommandBufferKHR"] == 200
    assert list(Counter(event.track for event in batches).values()) == [100, 100]


def test_more_command_buffers_than_there_is_room_for(tmp_path):
    """Where the oldest were to go is forgotten, and what they did counts as lost."""
    recording = record(tmp_path, "batches", 6000, program=CALLS)
    assert recording.status == 0
    if recording.out == "none\n":
        pytest.skip("the device has no command buffers")
    batches = work_of(recording, KERNEL)
    assert 3000 < len({event.graph for event in batches}) <= 4096
    assert called(recording)["clEnqueueCommandBufferKHR"] == len(batches) + recording.lost(3) == 6000


# ---- Extensions: a driver that has them, or a layer below ours that does what they do ----

def extension(folder, monkeypatch, command):
    """What it prints is the same when nobody records it."""
    env = {"OPENCL_LAYERS": str(LAYER), "OPENCL_TEST_LAYER": "more"}
    for key, value in env.items():
        monkeypatch.setenv(key, value)
    recording = calls(folder, command)
    assert recording.out == bare(command, env=env) != "none\n"
    return recording


def test_unified_shared_memory(tmp_path, monkeypatch):
    recording = extension(tmp_path, monkeypatch, "usm")
    copied = "clEnqueueMemcpyINTEL"
    assert [(event.kind, recording.name(event), event.bytes, event.memory_kind) for event in work_of(recording)[:-1]] == [
        (MEMSET, "clEnqueueMemFillINTEL", 8192, None), (MEMSET, "clEnqueueMemsetINTEL", 2048, None),
        (H2D, copied, 4000, kinds(PINNED, DEVICE)), (D2H, copied, 4001, kinds(DEVICE, PAGEABLE)),
        (H2D, f"{copied} (non-blocking)", 2000, kinds(PAGEABLE, MANAGED)), (D2D, f"{copied} (non-blocking)", 1000, kinds(MANAGED, DEVICE)),
        (D2H, "clEnqueueMigrateMemINTEL", 2048, None)]
    memory = sorted((event for event in recording.events if event.kind in (ALLOC, FREE)), key=lambda event: event.time)
    assert [(event.kind, recording.name(event), event.bytes, event.memory_kind >> 8) for event in memory] == [
        (ALLOC, "clHostMemAllocINTEL", 4096, PINNED), (ALLOC, "clDeviceMemAllocINTEL", 8192, DEVICE),
        (ALLOC, "clSharedMemAllocINTEL", 2048, MANAGED), (FREE, "clMemBlockingFreeINTEL", 8192, DEVICE),
        (FREE, "clMemFreeINTEL", 2048, MANAGED), (FREE, "clMemFreeINTEL", 4096, PINNED)]
    seen = called(recording)
    assert seen[copied] == seen[f"{copied} (non-blocking)"] == 2 and seen["clMemBlockingFreeINTEL"] == seen["clDeviceMemAllocINTEL"] == 1
    launches = launch_of(recording)
    assert all(launches[event.correlation].time <= event.time for event in work_of(recording))


def test_objects_that_are_shared(tmp_path, monkeypatch):
    """Once each, whether the function comes from the table, from the driver, or from the loader, which calls the table's."""
    recording = extension(tmp_path, monkeypatch, "share")
    pairs = [f"clEnqueue{word}{what}" for what in ("GLObjects", "EGLObjectsKHR", "ExternalMemObjectsKHR", "VA_APIMediaSurfacesINTEL",
                                                   "GLObjects") for word in ("Acquire", "Release")]
    assert [(event.kind, recording.name(event)) for event in work_of(recording)] == [(SYNC, name) for name in pairs]
    assert {name: count for name, count in called(recording).items() if name in pairs} == Counter(pairs)


def test_queues_by_another_name(tmp_path, monkeypatch):
    recording = extension(tmp_path, monkeypatch, "queue_khr")
    assert [(recording.name(event), event.bytes) for event in work_of(recording)] == [("clEnqueueFillBuffer", 4096)]
    assert recording.trace.strings[recording.trace.tracks[work_of(recording)[0].track]["name"]] == "queue 2"


# ---- Times ----

def own_events(out):
    rows = [line.split() for line in out.splitlines() if line.startswith("event ")]
    return sorted((Own(int(kind, 16), int(start), int(end)) for _, kind, start, end in rows), key=lambda own: own.start)


def union(spans):
    busy, until = 0, 0
    for start, end in sorted(spans):
        busy += max(0, end - max(start, until))
        until = max(until, end)
    return busy


@pytest.mark.parametrize("order", ["ordered", "unordered"])
def test_busy_and_idle_are_those_of_its_own_profiling(tmp_path, order):
    recording = calls(tmp_path, "busy", order)
    own = own_events(recording.out)
    spans = [(one.start, one.end) for one in own]
    first, last = min(start for start, _ in spans), max(end for _, end in spans)
    run = subprocess.run([INFERSCOPE, "analyze", tmp_path / "trace.sbt", "--format", "json"], capture_output=True, text=True,
                         check=True, timeout=PATIENCE)
    device, = json.loads(run.stdout)["devices"]
    assert device["busy_us"] == pytest.approx(union(spans) / 1e3, rel=0.01)
    assert device["total_us"] == pytest.approx((last - first) / 1e3, rel=0.01)
    assert device["idle_us"] == pytest.approx((last - first - union(spans)) / 1e3, rel=0.01, abs=1)
    assert sum(device["idle_causes"].values()) == pytest.approx(device["idle_us"], abs=0.1)


def test_causes_of_idleness_are_those_that_it_knows(tmp_path, monkeypatch):
    """It knows why its device waits, and its own profiling says how long."""
    monkeypatch.setenv("INFERSCOPE_WAITS", "on")
    recording = calls(tmp_path, "gaps")
    known = Counter()
    for line in recording.out.splitlines():
        _, cause, end, start = line.split()
        known[cause] += (int(start) - int(end)) / 1e3
    run = subprocess.run([INFERSCOPE, "analyze", tmp_path / "trace.sbt", "--format", "json"], capture_output=True, text=True,
                         check=True, timeout=PATIENCE)
    device, = json.loads(run.stdout)["devices"]
    found = {cause.removesuffix("_us"): us for cause, us in device["idle_causes"].items()}
    assert len(known) == 4 and sum(known.values()) > 500000
    assert {cause: found[cause] for cause in known} == pytest.approx(known, rel=0.01)


def test_each_command_has_its_own_times(tmp_path):
    """PoCL counts with CLOCK_MONOTONIC_RAW, which the trace can tell too."""
    recording = calls(tmp_path, "busy")
    own, work = own_events(recording.out), work_of(recording)
    assert len(own) == len(work) == 251
    for one, event in zip(own, work):
        begin, end = ns(recording, event)
        assert abs(begin - one.start) < RAW_NS_OFF and abs(end - one.end) < RAW_NS_OFF
        assert event.kind == {0x11f0: KERNEL, 0x11f3: D2H, 0x11f4: H2D}[one.type]


def test_pairs_of_clocks(tmp_path):
    recording = calls(tmp_path, "busy")
    pairs = [event for event in recording.events if event.kind == PAIR]
    assert pairs and all(abs(recording.trace.ns(event.time) - event.integer) < RAW_NS_OFF for event in pairs)
    assert all(event.duration < 1e9 for event in pairs)


def true_ns(shifted):
    """CLOCK_MONOTONIC_RAW of what the test's layer makes of it."""
    return (shifted - 10**12) * 20000 / 20001


def test_a_clock_of_its_own(tmp_path, monkeypatch):
    """The layer below is a device whose clock is 1000 s ahead of the kernel's and 50 ppm faster."""
    monkeypatch.setenv("OPENCL_LAYERS", str(LAYER))
    monkeypatch.setenv("OPENCL_TEST_LAYER", "shift")
    recording = calls(tmp_path, "busy")
    own, work = own_events(recording.out), work_of(recording)
    assert len(own) == len(work) == 251
    launches = launch_of(recording)
    pairs = [event for event in recording.events if event.kind == PAIR]
    widths = [recording.trace.ns(event.time + event.duration) - recording.trace.ns(event.time) for event in pairs]
    for event, width in zip(pairs, widths):
        assert abs(recording.trace.ns(event.time) - true_ns(event.integer)) < width / 2 + RAW_NS_OFF
    off = []
    for one, event in zip(own, work):
        begin, _ = ns(recording, event)
        off.append(begin - true_ns(one.start))
        assert launches[event.correlation].time <= event.time
    assert max(map(abs, off)) < max(widths) + RAW_NS_OFF
    assert abs(median(off)) < median(widths) / 2 + RAW_NS_OFF  # most lie between narrow pairs


def test_compilation_at_the_first_launch(tmp_path, monkeypatch):
    monkeypatch.setenv("POCL_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "cache").mkdir()
    recording = calls(tmp_path, "busy")
    late = [event for event in recording.events
            if recording.name(event) == LATE_BUILD and event.kind == CALL]
    assert len(late) == 1
    kernel = work_of(recording, KERNEL)[0]
    assert late[0].correlation == kernel.correlation and late[0].time + late[0].duration == pytest.approx(kernel.time, abs=10)
    run = subprocess.run([INFERSCOPE, "analyze", tmp_path / "trace.sbt", "--format", "json"], capture_output=True, text=True,
                         check=True, timeout=PATIENCE)
    device, = json.loads(run.stdout)["devices"]
    assert device["idle_causes"]["jit_us"] == pytest.approx((ns(recording, late[0])[1] - ns(recording, late[0])[0]) / 1e3, rel=0.2)


def test_a_kernel_for_each_launch(tmp_path, monkeypatch):
    """Another handle is not another compilation; another build of the program is one."""
    monkeypatch.setenv("OPENCL_LAYERS", str(LAYER))
    monkeypatch.setenv("OPENCL_TEST_LAYER", "late")
    recording = calls(tmp_path, "fresh")
    kernels = work_of(recording, KERNEL)
    assert len(kernels) == 20
    late = [event.correlation for event in recording.events if event.kind == CALL and recording.name(event) == LATE_BUILD]
    assert sorted(late) == [kernels[0].correlation, kernels[10].correlation]


def test_many_kernels(tmp_path, monkeypatch):
    """Each is asked for its name once, wherever it is kept."""
    monkeypatch.setenv("OPENCL_LAYERS", str(LAYER))
    monkeypatch.setenv("OPENCL_TEST_COUNTS", str(tmp_path / "counts"))
    recording = calls(tmp_path, "kernels", 1000)
    assert Counter(recording.name(event) for event in work_of(recording, KERNEL)) == {"empty": 3000}
    words = (tmp_path / "counts").read_text().split()
    assert int(words[words.index("asked") + 1]) == 1000


# ---- The program notices nothing ----

@pytest.mark.parametrize("command", [("view",), ("view", "unordered"), ("threads",), ("parts",), ("memory",)])
def test_it_sees_the_same(tmp_path, command):
    """Its results, properties of its queues, references to its events, profiling that it did not ask for."""
    assert calls(tmp_path, *command).out == bare(*command)


@pytest.mark.parametrize("what", ["none", "alone"])
def test_events_of_queues_that_are_gone(tmp_path, monkeypatch, what):
    """Drivers count their events among the references of queues, or do not."""
    monkeypatch.setenv("OPENCL_LAYERS", str(LAYER))
    monkeypatch.setenv("OPENCL_TEST_LAYER", what)
    recording = calls(tmp_path, "released")
    assert recording.out == bare("released")
    assert [event.bytes for event in work_of(recording)] == [64, 64]


@pytest.mark.parametrize("what", ["refuse", "deaf"])
def test_drivers_that_do_less(tmp_path, monkeypatch, what):
    monkeypatch.setenv("OPENCL_LAYERS", str(LAYER))
    monkeypatch.setenv("OPENCL_TEST_LAYER", what)
    recording = calls(tmp_path, "threads")
    assert recording.out == bare("threads")
    assert called(recording)["clEnqueueNDRangeKernel"] == 400
    assert len(work_of(recording, KERNEL)) == (0 if what == "refuse" else 400)


@pytest.mark.parametrize("what", ["timeless", "unqueued"])
def test_work_without_times_is_lost(tmp_path, monkeypatch, what):
    monkeypatch.setenv("OPENCL_LAYERS", str(LAYER))
    monkeypatch.setenv("OPENCL_TEST_LAYER", what)
    recording = record(tmp_path, "threads", program=CALLS)
    assert recording.out == bare("threads")
    assert called(recording)["clEnqueueNDRangeKernel"] == 400
    assert work_of(recording, KERNEL) == [] and recording.lost(3) == sum(n for name, n in called(recording).items() if "clEnqueue" in name)


def test_names_that_are_no_names(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENCL_LAYERS", str(LAYER))
    monkeypatch.setenv("OPENCL_TEST_LAYER", "names")
    recording = calls(tmp_path, "threads")
    for device in recording.trace.devices.values():
        assert device["kind"] == 2
        assert recording.trace.strings[device["name"]].startswith("evil ")
        assert len(recording.trace.strings[device["name"]]) <= 120
        assert device["properties"]["vendor"] == "A"
    assert {track["id"] for track in recording.trace.tracks.values() if track["kind"] == STREAM} <= set(range(10))


# ---- Queues, threads, processes ----

def test_two_contexts_in_two_threads(tmp_path):
    """One may have ended before the other begins: then it leaves its tracks to it."""
    recording = calls(tmp_path, "threads")
    launches = launch_of(recording)
    by_queue = {}
    for event in work_of(recording, KERNEL):
        by_queue.setdefault((launches[event.correlation].track, event.track), []).append(recording.name(event))
    assert sorted(Counter(names).popitem() for names in by_queue.values()) == [("scale", 100)] * 2 + [("work", 100)] * 2
    assert sorted(map(len, by_queue.values())) == [100] * 4
    assert len({thread for thread, _ in by_queue}) == 2


@pytest.mark.parametrize("order", ["ordered", "unordered"])
def test_threads_share_a_queue(tmp_path, order):
    recording = calls(tmp_path, "shared", order)
    kernels = work_of(recording, KERNEL)
    assert len(kernels) == len({event.correlation for event in kernels}) == called(recording)["clEnqueueNDRangeKernel"] == 2000
    launches = launch_of(recording)
    assert all(launches[event.correlation].time <= event.time for event in kernels)
    assert Counter(Counter(launches[event.correlation].track for event in kernels).values()) == {500: 4}


@pytest.mark.parametrize("order", ["ordered", "unordered"])
def test_what_queues_wait_for(tmp_path, order):
    recording = calls(tmp_path, "waits", order)
    launches = launch_of(recording)
    waits = [(recording.name(launches[event.wait]), recording.trace.tracks[event.track]["id"])
             for event in work_of(recording, SYNC) if recording.name(event) == "stream wait (event list)"]
    kernel, user = "clEnqueueNDRangeKernel", "clSetUserEventStatus"
    same_queue = [(kernel, 1)] if order == "unordered" else []
    assert waits == [(user, 1), *same_queue, (kernel, 2), (kernel, 2), (kernel, 2)]
    kernels = work_of(recording, KERNEL)
    released = next(event for event in launches.values() if recording.name(event) == user)
    assert len(kernels) == 3 and all(event.time > released.time for event in kernels)


def test_memory_comes_and_goes(tmp_path):
    recording = calls(tmp_path, "memory")
    events = sorted((event for event in recording.events if event.kind in (ALLOC, FREE)), key=lambda event: event.time)
    memory = [(event.kind, event.bytes, event.memory_kind >> 8) for event in events]
    assert memory[:5] == [(ALLOC, 100000, DEVICE), (ALLOC, 5000, PINNED), (ALLOC, 300, PINNED), (FREE, 5000, PINNED),
                          (FREE, 100000, DEVICE)]
    assert memory[5:] == [(ALLOC, 64, DEVICE), (FREE, 64, DEVICE)] * 1000
    assert events[0].pointer == events[4].pointer and events[1].pointer == events[3].pointer
    places = {(track["kind"], track["device"]) for track in (recording.trace.tracks[event.track] for event in events)}
    assert places == {(DEVICE_WIDE, 0)} and len(recording.trace.devices) == 1


def test_parts_of_a_device(tmp_path):
    recording = calls(tmp_path, "parts")
    if recording.out == "none\n":
        pytest.skip("the device has no parts")
    fills = work_of(recording, MEMSET)
    assert [event.bytes for event in fills] == [4096, 4096]
    devices = [recording.trace.tracks[event.track]["device"] for event in fills]
    assert len(set(devices)) == 2


def test_memory_of_several_devices(tmp_path, monkeypatch):
    """That of a context with both is neither's."""
    monkeypatch.setenv("POCL_DEVICES", "basic basic")
    recording = calls(tmp_path, "contexts")
    if recording.out == "none\n":
        pytest.skip("there are no two devices")
    memory = sorted((event for event in recording.events if event.kind in (ALLOC, FREE)), key=lambda event: event.time)
    tracks = [recording.trace.tracks[event.track] for event in memory]
    indices = [None if track["device"] is None else recording.trace.devices[track["device"]]["index"] for track in tracks]
    assert [(event.kind, event.bytes, track["kind"], index) for event, track, index in zip(memory, tracks, indices)] == [
        (ALLOC, 1000, DEVICE_WIDE, 0), (FREE, 1000, DEVICE_WIDE, 0), (ALLOC, 2000, DEVICE_WIDE, 1), (FREE, 2000, DEVICE_WIDE, 1),
        (ALLOC, 3000, PROCESS, None), (FREE, 3000, PROCESS, None)]


def test_many_queues(tmp_path):
    """Handles are used again, for queues whose predecessors have commands on their way."""
    recording = calls(tmp_path, "queues", 300)
    fills = Counter(event.bytes for event in work_of(recording, MEMSET))
    assert fills == {4: 300, 8: 300, 12: 300}
    assert 300 <= len({event.track for event in work_of(recording, MEMSET)}) <= 900


def test_a_queue_for_each_request(tmp_path):
    """Queues that are gone leave their tracks to others of the same order."""
    recording = calls(tmp_path, "requests", 2000)
    fills = work_of(recording, MEMSET)
    assert Counter(event.bytes for event in fills) == {4: 1600, 8: 400}
    tracks = {event.track: recording.trace.strings[recording.trace.tracks[event.track]["name"]] for event in fills}
    assert len(tracks) == len(set(tracks.values())) <= 40
    assert all(("out of order" in tracks[event.track]) == (event.bytes == 8) for event in fills)
    assert all(before.time + before.duration <= after.time for track, name in tracks.items() if "out of order" not in name
               for done in [[event for event in fills if event.track == track]] for before, after in zip(done, done[1:]))
    launches = launch_of(recording)
    assert all(launches[event.correlation].time <= event.time for event in fills)


def test_children(tmp_path):
    recording = calls(tmp_path, "children")
    assert sorted(recording.out.split("\n")) == sorted(bare("children").split("\n"))
    per_process = Counter(recording.trace.tracks[event.track]["process"] for event in work_of(recording, KERNEL))
    assert sorted(per_process.values()) == [2, 3, 3, 3]  # the child that was forked with work on its way has none


@pytest.mark.parametrize("before", [True, False])
def test_beside_another_layer(tmp_path, monkeypatch, before):
    """Called before ours and after; ocl-icd leaves only the first in the environment of children."""
    counts = tmp_path / "counts"
    monkeypatch.setenv("OPENCL_TEST_LAYER", "count")
    monkeypatch.setenv("OPENCL_TEST_COUNTS", str(counts))
    runtime = BUILD / "libinferscope-rt.so"
    monkeypatch.setenv("OPENCL_LAYERS", str(LAYER) if before else f"{runtime}:{LAYER}")
    if not before:
        monkeypatch.setenv("INFERSCOPE_OPENCL_LAYERS", f"{runtime}:{LAYER}")
    recording = calls(tmp_path, "children")
    assert sorted(recording.out.split("\n")) == sorted(bare("children").split("\n"))
    per_process = Counter(recording.trace.tracks[event.track]["process"] for event in work_of(recording, KERNEL))
    assert sorted(per_process.values()) == [2, 3, 3, 3]
    seen = [line.split() for line in counts.read_text().splitlines()]
    assert sorted(int(words[1]) for words in seen) == [2, 3, 3]  # the others leave by _exit() and do not say
    assert all(int(words[5]) == int(before) for words in seen)  # what profiling we ask for passes those below us


def test_beside_two_other_layers(tmp_path, monkeypatch):
    """The list has been cut twice when ours is loaded; a child has all three."""
    second = shutil.copy(LAYER, tmp_path / "second.so")
    monkeypatch.setenv("OPENCL_TEST_COUNTS", str(tmp_path / "counts"))
    monkeypatch.setenv("OPENCL_LAYERS", f"{LAYER}:{second}")
    recording = calls(tmp_path, "children")
    per_process = Counter(recording.trace.tracks[event.track]["process"] for event in work_of(recording, KERNEL))
    assert sorted(per_process.values()) == [2, 3, 3, 3]
    seen = [line.split() for line in (tmp_path / "counts").read_text().splitlines()]
    assert sorted(int(words[1]) for words in seen) == [2, 2, 3, 3, 3, 3]  # both of them


def test_loaders_that_call_it_otherwise():
    """Khronos' newer loader calls another function; tables may have fewer entries than ours, or more."""
    script = f"""
import ctypes
layer = ctypes.CDLL({str(BUILD / "libinferscope-rt.so")!r})
count, size, text = ctypes.c_uint32(), ctypes.c_size_t(), ctypes.create_string_buffer(64)
assert layer.clGetLayerInfo(0x4240, ctypes.c_size_t(4), ctypes.byref(count), ctypes.byref(size)) == 0
assert (count.value, size.value) == (100, 4)
assert layer.clGetLayerInfo(0x4241, ctypes.c_size_t(64), text, None) == 0 and text.value == b"InferScope"
assert layer.clGetLayerInfo(0x4241, ctypes.c_size_t(3), text, None) == layer.clGetLayerInfo(1, ctypes.c_size_t(64), text, None) == -30
for entries in 10, 1000, 12:
    target = (ctypes.c_void_p * 1000)(*range(1, 1001))
    table = ctypes.POINTER(ctypes.c_void_p)()
    assert layer.clInitLayerWithProperties(entries, target, ctypes.byref(count), ctypes.byref(table), None) == 0
    assert count.value == 10 and [table[i] for i in range(10)] == list(range(1, 11))
assert layer.clInitLayer(10, None, ctypes.byref(count), ctypes.byref(table)) == -30
assert layer.clDeinitLayer() == 0
"""
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("OPENCL_", "INFERSCOPE_"))}
    subprocess.run([sys.executable, "-c", script], env=clean, check=True, timeout=PATIENCE)


def test_recorded_by_a_newer_loader(tmp_path):
    """The entry that it calls is given the driver's own table, and what it gives back is what the program calls."""
    vendors = sorted(Path(os.environ.get("OCL_ICD_VENDORS", "/etc/OpenCL/vendors")).glob("*.icd"))
    if not vendors:
        pytest.skip("no drivers are named where a loader would look")
    driver = vendors[0].read_text().strip()
    recording = record(tmp_path, driver, BUILD / "libinferscope-rt.so", program=LOADER)
    assert recording.status == 0 and recording.losses == []
    assert recording.out == bare(driver, program=LOADER) == "sum 10240\n"
    assert [(event.kind, recording.name(event), event.bytes) for event in work_of(recording)] == [
        (H2D, "clEnqueueWriteBuffer", 16384), *[(KERNEL, "add", None)] * 5, (D2H, "clEnqueueReadBuffer", 16384)]
    assert {(event.grid_x, event.block_x) for event in work_of(recording, KERNEL)} == {(64, 64)}
    launches = launch_of(recording)
    assert all(launches[event.correlation].time <= event.time for event in work_of(recording))
    assert [(event.kind, event.bytes) for event in recording.events if event.kind in (ALLOC, FREE)] == [(ALLOC, 16384), (FREE, 16384)]
    assert called(recording) == {"clCreateBuffer": 1, "clBuildProgram": 1, "clEnqueueWriteBuffer": 1, "clEnqueueNDRangeKernel": 5,
                                 "clEnqueueReadBuffer": 1}


def test_nobody_is_recording():
    layers = {"OPENCL_LAYERS": str(BUILD / "libinferscope-rt.so")}
    assert bare("view", env=layers) == bare("view")


def test_a_program_without_it_touches_nothing(tmp_path):
    recording = record(tmp_path, "-c", "cat /proc/self/maps; ls -l /proc/self/fd", program="/bin/sh")
    assert recording.status == 0
    assert "OpenCL" not in recording.out and "pocl" not in recording.out and "ocl-icd" not in recording.out
    assert recording.trace.devices == {}


# ---- Ends ----

def killed(folder, *command, until, wait=0):
    """Kills the program when it has said so; what the recorder has written then."""
    path = Path(folder) / "trace.sbt"
    with subprocess.Popen([INFERSCOPE, "run", "--trace", path, "--", CALLS, *command], stdout=subprocess.PIPE, text=True,
                          start_new_session=True) as process:
        said = []
        for line in process.stdout:
            said.append(line.strip())
            if until(line):
                break
        time.sleep(wait)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        target = next(int(pid) for pid in children if Path(f"/proc/{pid}/comm").read_text().strip() == "opencl_calls")
        os.kill(target, signal.SIGKILL)
        said += [line.strip() for line in process.stdout]
        process.wait(timeout=PATIENCE)
    trace = sbt.read(path)
    assert trace.violations == [] and trace.damage == [] and trace.lost == 0
    return trace, said


def test_killed_in_the_middle_of_work(tmp_path):
    trace, said = killed(tmp_path, "endless", until=lambda line: line.strip() == "ended 149")
    ended = int(said[-1].split()[1])
    kernels = [event for event in trace.events if event.kind == KERNEL]
    assert ended <= len(kernels) <= ended + 4


def test_killed_when_kernels_take_longer_than_before(tmp_path):
    """Hundreds that were short had one callback for several of them."""
    trace, said = killed(tmp_path, "surprise", until=lambda line: line.strip() == "ended 7", wait=0.02)
    ended = int(said[-1].split()[1])
    long = [event for event in trace.events if event.kind == KERNEL and event.grid_x == 1 and event.duration > 5e-3 * trace.clocks[0]["rate"]]
    assert ended <= len(long) <= ended + 1


@pytest.mark.parametrize("shorter", [0, 300])
def test_killed_when_it_has_only_looked(tmp_path, shorter):
    """Hundreds of kernels are on their way, and nobody waits for any: what was seen to have ended 2 ms ago is there, once."""
    recording = record(tmp_path, "polled", shorter, program=CALLS)
    assert recording.status == 128 + signal.SIGKILL and recording.losses == []
    ended = int(recording.out.split()[1])
    kernels = [event for event in work_of(recording, KERNEL) if 200 <= event.grid_x < 600]
    assert {recording.name(event) for event in kernels} == {"work"}
    assert [event.grid_x for event in kernels] == list(range(200, 200 + len(kernels)))
    assert 200 <= ended <= len(kernels) <= 400
    assert median(event.duration for event in kernels) > 50e-6 * recording.trace.clocks[0]["rate"]  # several never share a callback


def test_killed_with_an_unordered_queue(tmp_path):
    """One command waits for ever; those after it have ended."""
    trace, _ = killed(tmp_path, "unfinished", until=lambda line: "waiting" in line)
    assert sum(event.kind == KERNEL for event in trace.events) == 10


def test_it_leaves_without_a_word(tmp_path):
    for _ in range(5):
        recording = calls(tmp_path, "exit")
        assert Counter(KINDS[event.kind] for event in work_of(recording)) == {"gpu_kernel": 50, "h2d_copy": 1, "d2h_copy": 1}


@pytest.mark.parametrize("room", [65536, 1 << 20])
def test_more_commands_than_there_is_room_for(tmp_path, monkeypatch, room):
    """Commands on their way are kept up to a number, a smaller one where their arguments are; the others count as lost."""
    count = 70000
    if room == 65536:
        monkeypatch.setenv("INFERSCOPE_GPU_ARGS", "1")
    recording = record(tmp_path, "flood", count, program=CALLS)
    assert recording.status == 0 and recording.out == "done\n"
    kernels = work_of(recording, KERNEL)
    assert len(kernels) == min(count, room) and recording.lost(3) == count - len(kernels)
    assert called(recording)["clEnqueueNDRangeKernel"] == count
    assert len({event.correlation for event in kernels}) == len(kernels)


def test_thousands_of_commands_that_are_not_in_order(tmp_path):
    """All of them wait for one event, and end at once."""
    count = 20000
    recording = record(tmp_path, "flood", count, "unordered", program=CALLS)
    assert recording.status == 0 and recording.out == "done\n"
    assert len({event.correlation for event in work_of(recording, KERNEL)}) == count and recording.lost(3) == 0


# ---- Arguments ----

@pytest.mark.parametrize("options, value", [(["--gpu-args"], None), ([], "1"), ([], "yes")])
def test_arguments_of_kernels(tmp_path, monkeypatch, options, value):
    """By an option, or by the variable in any spelling that a setting may have."""
    if value:
        monkeypatch.setenv("INFERSCOPE_GPU_ARGS", value)
    recording = calls(tmp_path, "arguments", options=options)
    buffer = {"buffer": int(recording.out.split()[1]), "size": 262144}
    assert [msgpack.unpackb(event.metadata) if isinstance(event.metadata, bytes) else event.metadata
            for event in work_of(recording, KERNEL)] == [
        {"arguments": [buffer, {"size": 4, "value": 1.5}]}, {"arguments": [buffer, {"size": 4, "value": -3}]},
        {"arguments": [buffer, {"size": 4, "value": 1000}]}]


@pytest.mark.parametrize("value", [None, "off"])
def test_no_arguments_unless_asked(tmp_path, monkeypatch, value):
    if value:
        monkeypatch.setenv("INFERSCOPE_GPU_ARGS", value)
    assert all(event.metadata is None for event in work_of(calls(tmp_path, "arguments"), KERNEL))


# ---- Python ----

def python(folder, package, script):
    """Recorded and bare; the script prints its results."""
    run = subprocess.run([PYTHON, "-c", f"import {package}"], capture_output=True, check=False, timeout=PATIENCE)
    if run.returncode != 0:
        pytest.skip(f"{PYTHON} has no package {package}")
    path = folder / "program.py"
    path.write_text(script)
    recording = record(folder, path, program=PYTHON)
    assert recording.status == 0 and recording.losses == []
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("OPENCL_", "INFERSCOPE_"))}
    status, out = run_to_end(["env", "-i", *(f"{key}={value}" for key, value in clean.items()), PYTHON, path])
    assert status == 0 and recording.out == out
    return recording


PYOPENCL = """
import hashlib
import numpy as np
import pyopencl as cl
context = cl.Context(cl.get_platforms()[0].get_devices())
queue = cl.CommandQueue(context)
program = cl.Program(context, "__kernel void add(__global const float *a, __global const float *b, __global float *c)"
                     "{ int i = get_global_id(0); c[i] = a[i] + b[i]; }").build()
a = np.arange(50000, dtype=np.float32); b = np.sqrt(a); c = np.empty_like(a)
flags = cl.mem_flags
x = cl.Buffer(context, flags.READ_ONLY | flags.COPY_HOST_PTR, hostbuf=a)
y = cl.Buffer(context, flags.READ_ONLY | flags.COPY_HOST_PTR, hostbuf=b)
z = cl.Buffer(context, flags.WRITE_ONLY, c.nbytes)
for i in range(20):
    program.add(queue, a.shape, None, x, y, z)
cl.enqueue_copy(queue, c, z)
queue.finish()
print(hashlib.sha256(c.tobytes()).hexdigest(), queue.properties)
"""

TINYGRAD = """
import os
os.environ.setdefault("DEV", "CL")
import hashlib
import numpy as np
from tinygrad import Tensor, Device
np.random.seed(1)
weights = [Tensor(np.random.rand(64, 64).astype(np.float32)) for _ in range(3)]
x = Tensor(np.random.rand(16, 64).astype(np.float32))
for i in range(5):
    y = x
    for w in weights:
        y = (y @ w).relu() / 32
    out = y.numpy()
print(Device.DEFAULT, hashlib.sha256(out.tobytes()).hexdigest())
"""


def test_pyopencl(tmp_path):
    recording = python(tmp_path, "pyopencl", PYOPENCL)
    work = Counter((KINDS[event.kind], recording.name(event)) for event in work_of(recording))
    assert work["gpu_kernel", "add"] == 20
    assert sum(count for (kind, _), count in work.items() if kind == "d2h_copy") == 1
    assert [event.bytes for event in work_of(recording, D2H)] == [200000]
    memory = Counter((event.kind, event.bytes) for event in recording.events if event.kind in (ALLOC, FREE))
    assert memory[ALLOC, 200000] == memory[FREE, 200000] == 3


def test_tinygrad(tmp_path):
    recording = python(tmp_path, "tinygrad", TINYGRAD)
    assert recording.out.startswith("CL ")
    assert len(work_of(recording, KERNEL)) >= 15
    assert [event.bytes for event in work_of(recording, D2H)] == [16 * 64 * 4] * 5
    assert sum(event.bytes == 64 * 64 * 4 for event in work_of(recording, H2D)) >= 3
    launches = launch_of(recording)
    assert all(launches[event.correlation].time <= event.time for event in work_of(recording, KERNEL))
