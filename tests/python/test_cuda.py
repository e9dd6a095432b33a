"""The CUDA door, on doubles of NVIDIA's libraries (tests/doubles) that write down what really happened.

With the callback for times, which every release here has, records are in our ticks: then times in the trace are compared
with those of the records exactly, and those of the records with the truth within BOUND_NS, which is the double's own error in
mapping a device's clock.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path

import pytest

import sbt
from analysis import analyze
from recording import BUILD, INFERSCOPE, PATIENCE, record
from test_gpu_clocks import device_times
from toolkits import without_cupti

DOUBLES = BUILD / "tests" / "doubles"
PROGRAMS = DOUBLES / "programs"
RELEASES = ("11.7", "11.8", "12.1", "12.4", "12.6", "12.9", "13.0", "13.2", "13.4")
BOUND_NS = 20000
SHORT_NS = 10000  # queries below this are left out
KERNEL, H2D, D2H, D2D, MEMSET, SYNC, CALL, ALLOC, FREE, PAIR = 11, 12, 13, 14, 15, 16, 10, 7, 8, 20
THREAD, STREAM, PROCESS_WIDE, DEVICE_WIDE, STATES, HOST = 1, 2, 4, 5, 6, 7
NO_BUFFER = 3
WORK = {"kernel", "copy", "set"}
COPY_KINDS = {1: H2D, 2: D2H, 8: D2D, 9: D2D, 10: D2D}
NAMES = {"_Z10busy_300usPf": "busy_300us(float*)", "_Z10busy_5us_vPf": "busy_5us_v(float*)"}
QUERY = re.compile("Get|Peek|CallConfiguration|IsCapturing|Occupancy")

pytestmark = pytest.mark.skipif(not (DOUBLES / "driver").is_dir(), reason="the doubles have not been built")


def paths(release, cudart=None):
    """LD_LIBRARY_PATH of a machine with this CUPTI, or with none."""
    folders = [DOUBLES / "driver", DOUBLES / f"cudart-{cudart or 13}"]
    if release:
        folders.append(DOUBLES / f"cupti-{release}")
    return ":".join(map(str, folders))


def command(folder, program, *arguments, release="13.0", cudart=None, **variables):
    """A program on the doubles; only it sees them, and not the recorder."""
    settings = {"LD_LIBRARY_PATH": paths(release, cudart), "DOUBLE_TRUTH": folder / "truth", "CUDA_HOME": "/nowhere", **variables}
    return ["/usr/bin/env", *(f"{key}={value}" for key, value in settings.items()), PROGRAMS / program, *map(str, arguments)]


def truth(folder):
    with open(Path(folder) / "truth", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


class Run:
    """A recorded program and what really happened in it."""

    def __init__(self, folder, program, *arguments, options=(), **settings):
        program, *rest = command(folder, program, *arguments, **settings)
        self.begin = time.monotonic()
        self.recording = record(folder, *rest, program=program, options=options)
        self.took = time.monotonic() - self.begin
        self.trace, self.truth = self.recording.trace, truth(folder)
        self.rate = self.trace.clocks[0]["rate"]

    def threads_of_program(self):
        return [track for track in self.trace.tracks.values() if track["kind"] == THREAD]

    def events(self, *kinds):
        return [event for event in self.recording.events if event.kind in kinds]

    def track(self, event):
        return self.trace.tracks[event.track]

    def device(self, event):
        """Its index; None: it is of no device."""
        number = self.track(event)["device"]
        return None if number is None else self.trace.devices[number]["index"]

    def work(self):
        """Device work as the trace has it: what, correlation, when, and where."""
        return Counter((event.kind, self.recording.name(event), event.correlation or 0, event.time, event.duration,
                        self.trace.devices[self.track(event)["device"]]["index"], self.track(event)["id"],
                        event.bytes or 0, event.graph or 0, (event.metadata or {}).get("graph node id", 0))
                       for event in self.events(KERNEL, H2D, D2H, D2D, MEMSET))

    def true_work(self):
        """The same as it really was, without the names of copies and sets, which say what memory they touched."""
        found = Counter()
        for it in self.truth:
            if it["what"] in WORK and it["record_start"]:
                kind = {"kernel": KERNEL, "set": MEMSET}.get(it["what"]) or COPY_KINDS[it["copy_kind"]]
                name = NAMES.get(it["name"], it["name"]) if kind == KERNEL else ""
                found[(kind, name, it["correlation"], it["record_start"], it["record_end"] - it["record_start"], it["device"],
                       it["stream"], it["bytes"] if kind != KERNEL else 0, it["graph"], it["node"])] += 1
        return found

    def calls(self):
        return Counter((self.recording.name(event), event.correlation, event.time, event.duration, self.track(event)["id"])
                       for event in self.events(CALL) if self.track(event)["kind"] == THREAD)

    def true_calls(self):
        """Outer calls, and which of them are too short to tell whether they are kept."""
        outer = {it["correlation"] for it in self.truth if it["what"] == "runtime" and it["record_start"]}
        sure, unsure = Counter(), Counter()
        for it in self.truth:
            if it["what"] not in ("runtime", "driver") or not it["record_start"]:
                continue
            if it["what"] == "driver" and it["correlation"] in outer:
                continue
            name, ticks = re.sub(r"(_v\d+|_ptsz|_ptds)+$", "", it["name"]), it["record_end"] - it["record_start"]
            key = name, it["correlation"], it["record_start"], ticks, it["tid"]
            query, ns = QUERY.search(name), ticks * 1e9 / self.rate
            if not query or ns > 1.05 * SHORT_NS:
                sure[key] += 1
            elif ns > 0.95 * SHORT_NS:
                unsure[key] += 1
        return sure, unsure

    def check_work(self, named=True):
        """Unnamed: kernels may have lost their names, but have no wrong ones."""
        seen, true = Counter(), self.true_work()
        for key, count in self.work().items():
            seen[key if key[0] == KERNEL and named else (key[0], "", *key[2:])] += count
        if not named:
            assert {key[1] for key in self.work() if key[0] == KERNEL} <= {key[1] for key in true} | {"[name gone]"}
            true = Counter((key[0], "", *key[2:]) for key in true.elements())
        assert seen == true
        assert sum(seen.values()) > 0

    def check_times(self, bound=BOUND_NS):
        """What the trace says, on its clock, against the device's true times."""
        true = {(it["correlation"], it["record_start"]): it for it in self.truth if it["what"] in WORK}
        for event in self.events(KERNEL, H2D, D2H, D2D, MEMSET):
            it = true[event.correlation, event.time]
            assert abs(self.trace.ns(event.time) - it["start"]) < bound
            assert abs(self.trace.ns(event.time + event.duration) - it["end"]) < bound

    def check_stated_bounds(self):
        """Of each device: in the timeline, on the clocks that were fitted, all of its work is within what the analysis says of them."""
        seen, true, off = defaultdict(list), defaultdict(list), defaultdict(list)
        for _, correlation, stream, _, begin, end in device_times(self.recording.path):
            seen[correlation, stream].append((begin, end))
        for it in self.truth:
            if it["what"] in WORK:
                true[it["correlation"], it["stream"]].append((it["start"], it["end"], it["device"]))
        assert set(seen) == set(true)
        for key, pieces in true.items():
            for shown, (begin, end, device) in zip(sorted(seen[key]), sorted(pieces), strict=True):  # those of a graph follow each other
                off[device] += [abs(shown[0] - begin) / 1000, abs(shown[1] - end) / 1000]
        clocks = {clock["device_id"]: clock for clock in analyze(self.recording.path)["clock"] if "device_id" in clock}
        assert {device: max(errors) <= clocks[device]["error_us"] for device, errors in off.items()} == dict.fromkeys(clocks, True)
        assert all(clock["error_us"] == clock["assumed_error_us"] for clock in clocks.values())

    def check_calls(self):
        sure, unsure = self.true_calls()
        seen = self.calls()
        assert not sure - seen
        assert not seen - sure - unsure

    def check_times_of_syncs(self, bound=BOUND_NS):
        """They last as long as somebody really waited, and end before the call that waited does."""
        true = {it["correlation"]: it for it in self.truth if it["what"] == "sync"}
        returned = {}
        for it in self.truth:
            if it["what"] in ("runtime", "driver"):
                returned[it["correlation"]] = max(it["end"], returned.get(it["correlation"], 0))
        for event in self.events(SYNC):
            it, begin, end = true[event.correlation], self.trace.ns(event.time), self.trace.ns(event.time + event.duration)
            assert it["start"] - bound < begin < it["end"] + bound
            assert it["end"] - bound < end < returned[event.correlation] + bound

    def check_syncs(self, missing=()):
        """Waits have the times of their records exactly, and are where they were."""
        types = {"event": "Event Sync", "stream_wait": "Stream Wait Event", "stream": "Stream Sync", "context": "Context Sync"}
        records = {(it["event_sync"]): it["correlation"] for it in self.truth if it["what"] == "event"}
        true = [it for it in self.truth if it["what"] == "sync" and it["result"] == 0 and it["type"] not in missing]
        seen = self.events(SYNC)
        assert Counter((self.recording.name(event), event.correlation, event.time, event.duration) for event in seen) == \
            Counter((types[it["type"]], it["correlation"], it["record_start"], it["record_end"] - it["record_start"]) for it in true)
        self.check_times_of_syncs()
        by_call = {event.correlation: event for event in seen}
        for it in true:
            event = by_call[it["correlation"]]
            if it["type"] in ("event", "stream_wait") and it["event_sync"] in records:
                assert event.wait == records[it["event_sync"]]
            if it["type"] in ("stream", "stream_wait"):
                assert self.track(event)["kind"] == STREAM and self.track(event)["id"] == it["stream"]

    def check(self, named=True):
        assert (self.recording.status, self.recording.out) == (0, "ok\n")
        assert self.recording.losses == []
        self.check_work(named)
        self.check_times()
        self.check_calls()
        self.check_syncs()


# ---- Everything, once, in every release ----


@pytest.mark.parametrize("release", RELEASES)
def test_driver_program(tmp_path, release):
    run = Run(tmp_path, "double-driver-program", release=release, DOUBLE_DEVICES=2)
    run.check()
    assert {run.recording.name(event) for event in run.events(H2D, D2H, MEMSET)} == {
        "Memcpy HtoD (Pinned -> Device)", "Memcpy DtoH (Device -> Pinned)", "Memset (Device)"}
    assert {event.memory_kind for event in run.events(H2D)} == {2 | 3 << 8}
    assert {event.memory_kind for event in run.events(D2H)} == {3 | 2 << 8}
    kernel = run.events(KERNEL)[0]
    assert (kernel.grid_x, kernel.grid_y, kernel.block_x, kernel.block_z) == (8, 1, 128, 1)
    devices = sorted((device["index"], device["kind"], run.trace.strings[device["name"]])
                     for device in run.trace.devices.values())
    assert devices == [(0, 1, "Double GPU"), (1, 1, "Double GPU")]
    properties = run.trace.devices[0]["properties"]
    assert properties["uuid"].startswith("GPU-") and properties["totalGlobalMem"] > 1 << 30 and properties["numSms"] > 0


@pytest.mark.parametrize("release", RELEASES)
def test_runtime_program(tmp_path, release):
    old = release.startswith(("11", "12"))
    program, cudart = ("double-runtime-program-12", 12) if old else ("double-runtime-program", 13)
    run = Run(tmp_path, program, release=release, cudart=cudart, DOUBLE_DEVICES=2)
    run.check()
    graphs = [event for event in run.events(KERNEL) if event.graph]
    assert len(graphs) == 15 and len({event.correlation for event in graphs}) == 5
    assert len({run.track(event)["id"] for event in run.events(CALL)}) == 3
    for kind, what in ((ALLOC, "alloc"), (FREE, "release")):
        true = Counter((it["address"], it["bytes"], it["device"]) for it in run.truth if it["what"] == what)
        assert Counter((event.pointer, event.bytes, run.device(event)) for event in run.events(kind)) == true and true


MEMORY_PROGRAM = """
import ctypes
cuda = ctypes.CDLL("libcuda.so.1")
def check(result):
    assert result == 0, result
check(cuda.cuInit(0))
for device in (0, 1):
    context, memory, host, stream, later, pool = (ctypes.c_void_p() for _ in range(6))
    check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
    check(cuda.cuCtxSetCurrent(context))
    check(cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(4096 << device)))
    check(cuda.cuMemAllocHost_v2(ctypes.byref(host), ctypes.c_size_t(300 << device)))
    check(cuda.cuMemPoolCreate(ctypes.byref(pool), (ctypes.c_int * 32)(1, 0, 1, device)))
    check(cuda.cuStreamCreate(ctypes.byref(stream), 0))
    check(cuda.cuMemAllocAsync(ctypes.byref(later), ctypes.c_size_t(512 << device), stream))
    check(cuda.cuMemFreeAsync(later, stream))
    check(cuda.cuCtxSynchronize())
    check(cuda.cuMemFreeHost(host))
    check(cuda.cuMemFree_v2(memory))
"""


@pytest.mark.parametrize("release", ["11.8", "12.6", "13.4"])
def test_memory_says_whose_it_is(tmp_path, release):
    """Of two devices that do nothing: there is none to analyse."""
    env, *rest = command(tmp_path, "", release=release, DOUBLE_DEVICES=2)
    recording = record(tmp_path, *rest[:-1], sys.executable, "-c", MEMORY_PROGRAM, program=env)
    trace = recording.trace
    assert recording.status == 0 and recording.losses == []
    for kind, what in ((ALLOC, "alloc"), (FREE, "release")):
        seen = [event for event in recording.events if event.kind == kind]
        tracks = [trace.tracks[event.track] for event in seen]
        assert all(track["kind"] == DEVICE_WIDE and track["process"] is not None for track in tracks)
        true = sorted((it["bytes"], it["device"], it["kind"]) for it in truth(tmp_path) if it["what"] == what)
        assert sorted((event.bytes, trace.devices[track["device"]]["index"], event.memory_kind >> 8)
                      for event, track in zip(seen, tracks)) == true and len(true) == 6
        assert {device for _, device, _ in true} == {0, 1}
    pools = {it["address"]: it["device"] for it in truth(tmp_path) if it["what"] == "pool"}
    made = sorted((event for event in recording.events if recording.name(event) == "CUDA memory pool created"), key=lambda event: event.time)[2:]
    assert [pools[event.pointer] for event in made] == [trace.devices[trace.tracks[event.track]["device"]]["index"] for event in made] == [0, 1]
    assert {track["kind"] for track in trace.tracks.values()} - {STATES, HOST} == {THREAD, PROCESS_WIDE, DEVICE_WIDE}
    query = "SELECT kind AS event_type, bytes, device AS device_id FROM instants"
    for arguments in (("dump", "--format", "json", tmp_path / "trace.sbt"), ("query", "--format", "json", tmp_path / "trace.sbt", query)):
        shown = subprocess.run([INFERSCOPE, *arguments], capture_output=True, check=True, timeout=PATIENCE)
        assert sorted((row["bytes"], row["device_id"]) for row in json.loads(shown.stdout) if row["event_type"] == "memory_alloc") == [
            (300, 0), (512, 0), (600, 1), (1024, 1), (4096, 0), (8192, 1)]
    exported, analysed = (subprocess.run([INFERSCOPE, *arguments, tmp_path / "trace.sbt"], capture_output=True, check=True, timeout=PATIENCE).stdout
                          for arguments in (("export", "--format", "chrome", "--output", "-"), ("analyze", "--format", "json")))
    assert sorted((row["args"]["Bytes"], row["args"]["device"]) for row in json.loads(exported)["traceEvents"]
                  if row.get("args", {}).get("Bytes", 0) < 0) == [
        (-8192, 1), (-4096, 0), (-1024, 1), (-600, 1), (-512, 0), (-300, 0)]
    assert json.loads(analysed)["devices"] == []


def test_compiled_program(tmp_path):
    """By nvcc, where there is one; kernels are C++."""
    if not (PROGRAMS / "double-nvcc-program").exists():
        pytest.skip("there is no nvcc")
    run = Run(tmp_path, "double-nvcc-program")
    assert run.recording.status == 0 and run.recording.losses == []
    assert Counter(key[2:] for key in run.work().elements()) == Counter(key[2:] for key in run.true_work().elements())
    names = {run.recording.name(event) for event in run.events(KERNEL)}
    assert names and all("(" in name and not name.startswith("_Z") for name in names)


@pytest.mark.parametrize("release", ["12.0", "12.2", "12.3", "12.5", "12.8", "13.1", "13.3"])
def test_releases_in_between(tmp_path, release):
    file = {"12": "12.9", "13": "13.4"}[release[:2]]
    Run(tmp_path, "double-driver-program", release=file, DOUBLE_DEVICES=2, DOUBLE_CUPTI=release).check()


@pytest.mark.parametrize("settings", [{}, {"INFERSCOPE_CUDA_SHARE": 1}], ids=str)
@pytest.mark.parametrize("program", ["double-driver-program", "double-runtime-program"])
def test_a_release_that_is_not_there_yet(tmp_path, program, settings):
    """Records are longer than any that we know, and between them are some of kinds that nobody does: what is known is read right."""
    run = Run(tmp_path, program, release="13.4", DOUBLE_DEVICES=2, DOUBLE_CUPTI="13.9", **settings)
    run.check()
    for kind, what in ((ALLOC, "alloc"), (FREE, "release")):
        true = Counter((it["address"], it["bytes"], it["device"]) for it in run.truth if it["what"] == what)
        assert Counter((event.pointer, event.bytes, run.device(event)) for event in run.events(kind)) == true and true
    devices = {device["index"]: run.trace.strings[device["name"]] for device in run.trace.devices.values()}
    assert devices == {0: "Double GPU", 1: "Double GPU"}


def test_analysis_of_it(tmp_path):
    run = Run(tmp_path, "double-runtime-program", DOUBLE_DEVICES=2)
    shown = subprocess.run([INFERSCOPE, "analyze", tmp_path / "trace.sbt", "--format", "json"], capture_output=True, check=True,
                           timeout=PATIENCE)
    analysis = json.loads(shown.stdout)
    checks = {check["name"]: check["status"] for check in analysis["integrity"]["checks"]}
    assert checks["gpu_recording"] == "ok"
    assert len(analysis["devices"]) == 2
    assert run.recording.losses == []


def test_names_of_streams(tmp_path):
    run = Run(tmp_path, "double-driver-program", DOUBLE_DEVICES=1, DOUBLE_NAMES=1)
    run.check()
    names = {run.trace.strings[track["name"]] for track in run.trace.tracks.values() if track["kind"] == STREAM}
    assert names == {"a stream with a name"}


PYTHON_PROGRAM = """
import ctypes
cuda = ctypes.CDLL("libcuda.so.1")
def start():
    context, module, kernel = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    assert not cuda.cuInit(0)
    assert not cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
    assert not cuda.cuCtxSetCurrent(context)
    assert not cuda.cuModuleLoadData(ctypes.byref(module), b"")
    assert not cuda.cuModuleGetFunction(ctypes.byref(kernel), module, b"busy_1ms")
    return kernel
def launch(kernel):
    assert not cuda.cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, None, None, None)
def wait():
    assert not cuda.cuCtxSynchronize()
kernel = start()
for _ in range(50):
    launch(kernel)
    wait()
"""


def test_calls_lie_inside_those_of_python(tmp_path):
    """They come through another thread and later, and still are where they were made."""
    env, *rest = command(tmp_path, "")
    recording = record(tmp_path, *rest[:-1], sys.executable, "-c", PYTHON_PROGRAM, program=env)
    trace = recording.trace
    assert recording.status == 0 and recording.losses == []
    functions = [each for each in trace.slices() if trace.strings.get(each.name, "").endswith((".launch", ".wait"))]
    calls = {"cuLaunchKernel": ".launch", "cuCtxSynchronize": ".wait"}
    seen = Counter()
    for event in recording.events:
        function = calls.get(recording.name(event)) if event.kind == CALL else None
        if function:
            around = [each for each in functions if each.track == event.track and each.begin <= event.time
                      and event.time + event.duration <= each.end]
            assert [trace.strings[each.name][-len(function):] for each in around] == [function]
            seen[function] += 1
    assert seen == {".launch": 50, ".wait": 50}
    assert sum(event.kind == KERNEL for event in recording.events) == 50


def test_a_thread_that_speaks_up_later(tmp_path):
    """It has one track, with what others told of it and what it says itself."""
    run = Run(tmp_path, "double-scoped")
    assert run.recording.status == 0 and run.recording.losses == []
    launches = [event for event in run.events(CALL) if run.recording.name(event) == "cuLaunchKernel"]
    scope, = (each for each in run.trace.slices() if run.trace.strings.get(each.name) == "five")
    assert len(launches) == 15 and {event.track for event in launches} == {scope.track}
    assert sum(scope.begin <= event.time <= scope.end for event in launches) == 5
    assert Counter(track["id"] for track in run.threads_of_program())[run.track(launches[0])["id"]] == 1


# ---- Many of them ----


def operations(run):
    """What there was of each kind: work by where it comes from, events, and waits by their type."""
    return Counter((it["what"], it.get("copy_kind") or it.get("type") or bool(it.get("graph"))) for it in run.truth
                   if it["what"] in WORK | {"event", "sync"} and it.get("result", 0) == 0)


@pytest.mark.parametrize("fault", [{}, {"DOUBLE_FAULT": "no_timestamp_callback"}], ids=["our clock", "CUPTI's clock"])
def test_100000_operations(tmp_path, fault):
    """Of all kinds: each is there once, at its time, and not farther from it than is said."""
    run = Run(tmp_path, "double-mixed", 100000, DOUBLE_DEVICES=2, DOUBLE_CLOCK_PPM=50, **fault)
    if fault:
        assert (run.recording.status, run.recording.out, run.recording.losses) == (0, "ok\n", [])
        run.check_times_of_syncs()
    else:
        run.check()
    run.check_stated_bounds()
    count = operations(run)
    assert sum(count.values()) >= 100000
    assert {key: number > 1000 for key, number in count.items()} == {
        ("kernel", False): True, ("kernel", True): True, ("set", False): True, ("set", True): True,
        **{("copy", kind): True for kind in (1, 2, 8, 10)}, ("event", False): True, ("sync", "stream_wait"): True,
        **{("sync", kind): False for kind in ("stream", "event", "context")}}
    assert all(count["sync", kind] > 100 for kind in ("stream", "event", "context"))


@pytest.mark.parametrize("program, count", [("double-many", 20000), ("double-mixed", 20000)])
def test_what_cupti_drops_is_counted(tmp_path, program, count):
    run = Run(tmp_path, program, count, 1000, DOUBLE_DEVICES=2, DOUBLE_FAULT="dropped=7")
    dropped = sum(it["records"] for it in run.truth if it["what"] == "dropped")
    assert run.recording.status == 0 and run.recording.lost(NO_BUFFER) == dropped > 1.7 * count / 7
    run.check_work()
    assert len(run.events(KERNEL)) < sum(it["what"] == "kernel" for it in run.truth)


def missed(run):
    """Records that went into buffers which are only counted, or nowhere."""
    return sum(it["records"] for it in run.truth if it["what"] == "dropped" or (it["what"] == "buffer" and it["size"] == 1 << 14))


@pytest.mark.parametrize("release", ["12.4", "13.0"])
def test_many_threads(tmp_path, release):
    run = Run(tmp_path, "double-threads", 300, 20, release=release)
    assert (run.recording.status, run.recording.out) == (0, "0\n")
    assert run.recording.lost(NO_BUFFER) == missed(run)
    if not missed(run):
        run.check_work()
        run.check_calls()
        assert Counter(run.track(event)["id"] for event in run.events(CALL) if run.recording.name(event) == "cuLaunchKernel") == \
            Counter(it["tid"] for it in run.truth if it["what"] == "driver" and it["name"] == "cuLaunchKernel")
    assert not run.work() - Counter(run.true_work())


@pytest.mark.parametrize("release", ["12.4", "13.0"])
def test_too_few_buffers(tmp_path, release):
    run = Run(tmp_path, "double-many", 60000, 0, release=release, INFERSCOPE_CUDA_BUFFERS=1)
    assert run.recording.status == 0 and {it["size"] for it in run.truth if it["what"] == "buffer"} == {12 << 10, 1 << 14}
    assert run.recording.lost(NO_BUFFER) == missed(run) > 0
    kernels = {(event.correlation, event.time) for event in run.events(KERNEL)}
    assert 0 < len(kernels) == len(run.events(KERNEL)) < 60000


# ---- Clocks ----


@pytest.mark.parametrize("callback", [True, False])
@pytest.mark.parametrize("settings", [{}, {"DOUBLE_CLOCK_PPM": 50}, {"DOUBLE_CLOCK_STEP_NS": "300000000:2000000"}])
def test_clocks(tmp_path, callback, settings):
    fault = {} if callback else {"DOUBLE_FAULT": "no_timestamp_callback"}
    run = Run(tmp_path, "double-clock", 60, 10, **settings, **fault)
    assert run.recording.status == 0 and run.recording.losses == []
    true = {it["correlation"]: it for it in run.truth if it["what"] == "kernel"}
    kernels = run.events(KERNEL)
    assert {event.correlation for event in kernels} == set(true) and len(kernels) == 60
    if callback:
        run.check_work()
    else:  # the system's clock, which records have, on ours
        pair = run.trace.pairs[0][0]
        shift = pair.realtime - pair.raw
        off = [abs(run.trace.ns(event.time) - (true[event.correlation]["record_start"] - shift)) for event in kernels]
        assert max(off) < BOUND_NS
    if "DOUBLE_CLOCK_STEP_NS" not in settings:  # a device's clock that jumps is CUPTI's to put right
        assert max(abs(run.trace.ns(event.time) - true[event.correlation]["start"]) for event in kernels) < 2 * BOUND_NS
    run.check_times_of_syncs(2 * BOUND_NS)
    assert len(run.events(SYNC)) == sum(it["what"] == "sync" for it in run.truth) > 0
    pairs = run.events(PAIR)
    assert bool(pairs) != callback
    for pair in pairs:
        assert run.track(pair)["kind"] == STREAM and pair.duration < run.rate / 1000 and pair.integer > 1e18
        assert abs(pair.value) < run.rate / 1e4


@pytest.mark.parametrize("step", [1000000000, -1000000000])
def test_system_clock_that_is_set(tmp_path, step):
    """Without the callback.  What the double makes of times of devices then is its own; those of calls are what it was told."""
    run = Run(tmp_path, "double-clock", 60, 10, DOUBLE_REALTIME_STEP_NS=f"300000000:{step}", DOUBLE_FAULT="no_timestamp_callback")
    assert run.recording.status == 0
    true = {it["correlation"]: it for it in run.truth if it["what"] == "driver" and it["name"] == "cuLaunchKernel"}
    calls = [event for event in run.events(CALL) if run.recording.name(event) == "cuLaunchKernel"]
    assert len(true) == 60 and len(calls) == len({event.correlation for event in calls}) >= 59  # one may be cut by the step
    assert max(abs(run.trace.ns(event.time) - true[event.correlation]["start"]) for event in calls) < 2 * BOUND_NS
    pairs = run.events(PAIR)
    assert sum(abs(pair.value) > run.rate / 2 for pair in pairs) == 1
    kernels = len(run.events(KERNEL))
    assert kernels <= 60 <= kernels + run.recording.lost(NO_BUFFER)


# ---- What goes wrong ----

KEEPS_ALL = ("late_completion", "second_registration", "missing_api", "reused_event_id", "no_device_sync", "exit_callback",
             "injection_twice", "start_before_launch", "correlation_zero", "null_name", "freed_name", "freed_name,late_completion",
             "null_crash", "clock_step")


def bare(folder, *program, **settings):
    """How it ends without us."""
    shown = subprocess.run(command(folder, *program, **settings), capture_output=True, text=True, check=False, timeout=PATIENCE)
    return shown.returncode, shown.stdout


@pytest.mark.parametrize("release", ["12.1", "13.4"])
@pytest.mark.parametrize("fault", KEEPS_ALL)
def test_faults_that_lose_nothing(tmp_path, fault, release):
    run = Run(tmp_path, "double-driver-program", release=release, DOUBLE_DEVICES=1, DOUBLE_FAULT=fault)
    assert (run.recording.status, run.recording.out) == (0, "ok\n") and run.took < 8
    assert run.recording.losses == []
    assert len(run.events(KERNEL)) == sum(it["what"] == "kernel" for it in run.truth)
    names = Counter(map(run.recording.name, run.events(KERNEL)))
    if fault == "null_name":
        assert set(names) == {"[no name]"}
    elif "freed_name" in fault or "late_completion" in fault:  # which come after their module has gone
        assert set(names) <= {"[name gone]", "busy_5ms", "busy_20us"}
    else:
        assert set(names) == {"busy_5ms", "busy_20us"}
    if fault not in ("correlation_zero", "start_before_launch") and "name" not in fault and "late" not in fault:
        run.check_work()
    if fault == "reused_event_id":
        run.check_syncs()
    if fault == "no_device_sync":
        run.check_syncs(missing=("context",))


FILTERED = """
import ctypes, os, platform, struct, sys
call, = (number for machine, number in (("x86_64", 310), ("aarch64", 270)) if machine == platform.machine())
libc = ctypes.CDLL(None, use_errno=True)
rules = struct.pack("<HBBIHBBIHBBIHBBI", 0x20, 0, 0, 0, 0x15, 0, 1, call, 6, 0, 0, 0x50001, 6, 0, 0, 0x7fff0000)
rules = ctypes.create_string_buffer(rules, len(rules))
program = struct.pack("HxxxxxxP", 4, ctypes.addressof(rules))
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program) == 0
assert libc.process_vm_readv(os.getpid(), None, 0, None, 0, 0) == -1 and ctypes.get_errno() == 1
os.execv(sys.argv[1], sys.argv[1:])
"""


@pytest.mark.parametrize("fault", ["freed_name,late_completion", "null_name=2"])
def test_where_a_filter_forbids_reading_memory(tmp_path, fault):
    """Names are read in another way, which does not crash either."""
    env, *rest = command(tmp_path, "double-driver-program", DOUBLE_DEVICES=1, DOUBLE_FAULT=fault)
    recording = record(tmp_path, *rest[:-1], sys.executable, "-S", "-c", FILTERED, rest[-1], program=env)
    assert (recording.status, recording.out) == (0, "ok\n") and recording.losses == []
    names = Counter(recording.name(event) for event in recording.events if event.kind == KERNEL)
    true = Counter(it["name"] for it in truth(tmp_path) if it["what"] == "kernel")
    if fault.startswith("freed_name"):  # with its module, before its record came
        assert sum(names.values()) == sum(true.values()) and not set(names) - set(true) - {"[name gone]"}
    else:
        assert names.pop("[no name]") == sum(true.values()) // 2 and set(names) == set(true)


@pytest.mark.parametrize("fault", ["zero_stamps=3", "end_before_start=3"])
def test_work_without_times_is_counted(tmp_path, fault):
    run = Run(tmp_path, "double-driver-program", DOUBLE_DEVICES=1, DOUBLE_FAULT=fault)
    assert (run.recording.status, run.recording.out) == (0, "ok\n")
    true = sum(it["what"] in WORK for it in run.truth)
    seen = len(run.events(KERNEL, H2D, D2H, D2D, MEMSET))
    assert run.recording.lost(NO_BUFFER) == true - seen > 0
    assert seen == true - true // 3


@pytest.mark.parametrize("settings", [{}, {"release": "13.4", "DOUBLE_CUPTI": "13.9"}])
def test_unknown_kinds_cost_themselves_alone(tmp_path, settings):
    """What CUPTI itself does not know, also right behind what we do not know."""
    run = Run(tmp_path, "double-driver-program", DOUBLE_DEVICES=1, DOUBLE_FAULT="unknown_kind=20", **settings)
    assert (run.recording.status, run.recording.out) == (0, "ok\n")
    run.check_work()
    run.check_syncs()
    assert run.recording.lost(NO_BUFFER) > 0


def test_cut_records_are_counted(tmp_path):
    whole = Run(tmp_path, "double-driver-program", DOUBLE_DEVICES=1)
    cut = tmp_path / "cut"
    cut.mkdir()
    run = Run(cut, "double-driver-program", DOUBLE_DEVICES=1, DOUBLE_FAULT="truncated_record")
    assert (run.recording.status, run.recording.out) == (0, "ok\n")
    lost = run.recording.lost(NO_BUFFER)
    assert 0 < lost < 20
    assert len(whole.events(KERNEL)) - len(run.events(KERNEL)) <= lost


@pytest.mark.parametrize("fault, reason", [
    ("subscribe_39", "another profiler"), ("cupti_error=15", "15"), ("cupti_error=999", "999"), ("cupti_error=35", "35")])
def test_standing_down(tmp_path, fault, reason):
    run = Run(tmp_path, "double-driver-program", DOUBLE_DEVICES=1, DOUBLE_FAULT=fault)
    assert (run.recording.status, run.recording.out) == (0, "ok\n")
    assert run.events(KERNEL, CALL) == [] and run.recording.losses == []
    note, = run.trace.info["notes"]
    assert note.startswith("cuda: ") and reason in note
    assert ("NVreg_" in note) == (reason == "35")


def test_rights_that_are_missing(tmp_path):
    """One warning and one line of the report, which say what to do."""
    env, *rest = command(tmp_path, "double-driver-program", DOUBLE_DEVICES=1, DOUBLE_FAULT="cupti_error=35")
    done = subprocess.run([INFERSCOPE, "run", "--trace", tmp_path / "trace.sbt", "--report", tmp_path / "report.json", "--", env, *rest],
                          capture_output=True, text=True, check=True, timeout=PATIENCE)
    why = ("cuptiSubscribe of CUPTI failed with 35 (CUPTI_ERROR_INSUFFICIENT_PRIVILEGES): run it as root (CAP_SYS_ADMIN), or load the driver "
           "with NVreg_RestrictProfilingToAdminUsers=0; this is an analysis of the CPU alone")
    warning, = (line for line in done.stderr.splitlines() if line.startswith("inferscope: ") and "CUPTI" in line)
    assert f"and what its GPUs do is not recorded: {why}" in warning
    result = json.loads((tmp_path / "report.json").read_text())
    check, = (check for check in result["integrity"]["checks"] if check["name"] == "gpu_recording")
    assert f"and what its GPUs did was not recorded: {why}" in check["detail"]
    assert check["status"] == "warning" and done.stdout == "ok\n" and result["devices"] == []


@pytest.mark.parametrize("kind, what, missing", [
    (1, "copies", {H2D, D2H}), (5, "calls of the runtime", set()), (17, None, set()), (10, "cuptiActivityEnable", {KERNEL, H2D, D2H, MEMSET, CALL})])
def test_a_kind_that_is_refused(tmp_path, kind, what, missing):
    """What is missing is said once; without kernels the door stands down."""
    run = Run(tmp_path, "double-driver-program", DOUBLE_DEVICES=1, DOUBLE_FAULT=f"refused_kind={kind}")
    assert (run.recording.status, run.recording.out) == (0, "ok\n") and run.recording.losses == []
    seen = {event.kind for event in run.recording.events}
    assert not seen & missing and {KERNEL, H2D, D2H, MEMSET, CALL} - missing <= seen
    why = "cuptiActivityEnable of CUPTI failed with 27 (CUPTI_ERROR_NOT_SUPPORTED)"
    sentence = "cuda: " + (why if kind == 10 else f"{what} are not recorded: {why}")
    assert run.trace.info.get("notes", []) == ([sentence] if what else [])
    assert run.trace.info["gpu"]["missing"] == bool(what)


PROFILER = """
class profile:
    def __init__(self, *activities):
        self.kineto_activities = set(activities)
    def __enter__(self):
        return self._prepare_trace()
    def _prepare_trace(self):
        return self
    def __exit__(self, *error):
        pass
class record_function(profile):
    def __init__(self):
        pass
"""
OWN_PROFILER = """
import ctypes, enum, sys, time
from torch.autograd.profiler import profile, record_function
Activity = enum.Enum("Activity", "CPU CUDA")
cudart, cupti = ctypes.CDLL("libcudart.so.13"), ctypes.CDLL("libcupti.so.13")
memory, stamp, subscriber = ctypes.c_void_p(), ctypes.c_uint64(), ctypes.c_void_p()
listener = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32, ctypes.c_void_p)(lambda *what: None)
assert cudart.cudaMalloc(ctypes.byref(memory), 4096) == 0
def work(count):
    for _ in range(count):
        assert cudart.cudaMemset(memory, 0, 4096) == 0
    assert cudart.cudaDeviceSynchronize() == 0
def subscribe():
    return cupti.cuptiSubscribe(ctypes.byref(subscriber), listener, None)
work(7)
with record_function():
    work(2)
    print(subscribe())
with profile(*(Activity[name] for name in sys.argv[1:])):
    print(subscribe())
    work(5)
cupti.cuptiGetTimestamp(ctypes.byref(stamp))
print(abs(stamp.value - time.time_ns()) < 10**9)
"""


def record_profiler(folder, program, *arguments):
    """A program with a package that begins as PyTorch's profiler does."""
    package = folder / "torch" / "autograd"
    package.mkdir(parents=True)
    (package / "profiler.py").write_text(PROFILER)
    (package / "__init__.py").write_text("")
    (folder / "torch" / "__init__.py").write_text("")
    (folder / "own.py").write_text(program)
    env, *rest = command(folder, "", PYTHONDONTWRITEBYTECODE=1)
    return record(folder, *rest[:-1], sys.executable, folder / "own.py", *arguments, program=env)


@pytest.mark.parametrize("activities, subscribed, recorded", [(("CPU",), 39, 14), (("CPU", "CUDA"), 0, 9)])
def test_the_programs_own_profiler_comes_first(tmp_path, activities, subscribed, recorded):
    """As PyTorch's begins: before it listens to CUPTI, the door has let go, with all that there was until then."""
    recording = record_profiler(tmp_path, OWN_PROFILER, *activities)
    yielded = subscribed == 0
    assert (recording.status, recording.out) == (0, f"39\n{subscribed}\n{yielded}\n")
    assert sum(event.kind == MEMSET for event in recording.events) == recorded
    assert recording.losses == []
    notes = [note for note in recording.trace.info.get("notes", []) if note.startswith("cuda: ")]
    assert len(notes) == yielded and all("own profiler has taken CUPTI over" in note for note in notes)


BUSY_PROFILER = """
import ctypes, enum, json, threading, time
from torch.autograd.profiler import profile
cudart, cupti = ctypes.CDLL("libcudart.so.13"), ctypes.CDLL("libcupti.so.13")
SIZE = ctypes.POINTER(ctypes.c_size_t)
buffers, strange, seen, over = {}, [], [], threading.Event()

def request(buffer, size, most):
    memory = ctypes.create_string_buffer(1 << 16)
    buffers[ctypes.addressof(memory)] = memory
    buffer[0], size[0], most[0] = ctypes.addressof(memory), 1 << 16, 0

def complete(context, stream, buffer, size, valid):
    at = ctypes.c_void_p()
    if buffer not in buffers:
        strange.append(buffer)
    else:
        while cupti.cuptiActivityGetNextRecord(ctypes.c_void_p(buffer), ctypes.c_size_t(valid), ctypes.byref(at)) == 0:
            seen.append(ctypes.c_uint32.from_address(at.value + 44).value)

def launch():
    memory = ctypes.c_void_p()
    assert cudart.cudaMalloc(ctypes.byref(memory), 64) == 0
    while not over.is_set():
        assert cudart.cudaMemsetAsync(memory, 0, 64, None) == 0

callbacks = (ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32, ctypes.c_void_p)(lambda *what: None),
             ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_void_p), SIZE, SIZE)(request),
             ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)(complete))
threads = [threading.Thread(target=launch) for _ in range(2)]
for thread in threads:
    thread.start()
time.sleep(0.12)
with profile(enum.Enum("Activity", "CPU CUDA").CUDA):
    assert cupti.cuptiSubscribe(ctypes.byref(ctypes.c_void_p()), callbacks[0], None) == 0
    assert cupti.cuptiActivityRegisterCallbacks(*callbacks[1:]) == 0 and cupti.cuptiActivityEnable(2) == 0
    time.sleep(0.05)
    over.set()
    for thread in threads:
        thread.join()
    assert cudart.cudaDeviceSynchronize() == 0 and cupti.cuptiActivityFlushAll(1) == 0
print(json.dumps([len(strange), seen]))
"""


def test_making_way_while_threads_go_on(tmp_path):
    """Each record goes to one of both, and no buffer of ours to the other."""
    recording = record_profiler(tmp_path, BUSY_PROFILER)
    strange, theirs = json.loads(recording.out)
    assert (recording.status, strange) == (0, 0)
    ours = [event.correlation for event in recording.events if event.kind == MEMSET]
    true = [it for it in truth(tmp_path) if it["what"] == "set"]
    assert Counter(ours + theirs) == Counter(it["correlation"] for it in true if it["record_start"]) and ours and theirs
    assert recording.lost(NO_BUFFER) <= sum(not it["record_start"] for it in true)  # what had not begun is counted


def test_no_libcupti(tmp_path):
    program, *rest = without_cupti(*command(tmp_path, "double-driver-program", release=None, DOUBLE_DEVICES=1, CUDA_PATH="/nowhere"))
    recording = record(tmp_path, *rest, program=program)
    assert (recording.status, recording.out) == (0, "ok\n")
    assert recording.trace.info["notes"] == ["cuda: CUPTI (libcupti.so) was not found"]


@pytest.mark.parametrize("fault", ["slow_flush=5000", "dead_worker", "never_completion"])
def test_flushes_that_hang(tmp_path, fault):
    begin = time.monotonic()
    assert bare(tmp_path, "double-driver-program", DOUBLE_DEVICES=1) == (0, "ok\n")
    alone = time.monotonic() - begin
    (tmp_path / "truth").unlink()
    run = Run(tmp_path, "double-driver-program", DOUBLE_DEVICES=1, DOUBLE_FAULT=fault)
    assert (run.recording.status, run.recording.out) == (0, "ok\n")
    assert run.took < alone + 4  # one second of patience, and the reading of the trace
    # Nobody waits for so long: names are gone with their module, and what CUPTI still has is not seen.
    assert not Counter(key[2:] for key in run.work().elements()) - Counter(key[2:] for key in run.true_work().elements())


@pytest.mark.parametrize("fault", ["cuinit_error=100", "out_of_memory", "launch_failed=3"])
def test_errors_of_the_program(tmp_path, fault):
    status, out = bare(tmp_path, "double-driver-program", DOUBLE_DEVICES=1, DOUBLE_FAULT=fault)
    (tmp_path / "truth").unlink()
    run = Run(tmp_path, "double-driver-program", DOUBLE_DEVICES=1, DOUBLE_FAULT=fault)
    assert (run.recording.status, run.recording.out) == (status, out)
    assert status != 0


def test_the_copy_that_the_program_has(tmp_path):
    """A second libcupti would be a second client."""
    theirs = DOUBLES / "cupti-12.9" / "libcupti.so.12"
    if b"__asan_init" in theirs.read_bytes():
        pytest.skip("a sanitizer wants to be loaded first")
    run = Run(tmp_path, "double-driver-program", release="13.0", DOUBLE_DEVICES=1, LD_PRELOAD=theirs, LD_DEBUG="files",
              LD_DEBUG_OUTPUT=tmp_path / "loader")
    run.check()
    loader = "".join(file.read_text(errors="replace") for file in tmp_path.glob("loader.*"))
    assert "libcupti.so.12" in loader and "libcupti.so.13" not in loader


# ---- Processes ----


def test_work_that_does_not_end(tmp_path):
    """Its record has no times when the program ends: it is counted, its launch is there, and nobody waits for it."""
    run = Run(tmp_path, "double-leave")
    assert run.recording.status == 0 and run.took < 8
    assert run.recording.lost(NO_BUFFER) == 1 and run.events(KERNEL) == []
    assert [run.recording.name(event) for event in run.events(CALL)][-1] == "cuLaunchKernel"


@pytest.mark.parametrize("pause", [0, 120])
def test_exit_without_goodbye(tmp_path, pause):
    """No handler runs, and all that ended is there: after a pause from the door itself, else from its heir, which cannot ask
    what kernels are called that the door has not seen."""
    run = Run(tmp_path, "double-runtime-program", "exit", pause, DOUBLE_DEVICES=2)
    run.check(named=pause > 0)
    assert len(run.events(KERNEL)) == 2 * 40 + 15


@pytest.mark.parametrize("between", [2, 20, 300])
def test_killed_in_the_middle(tmp_path, between):
    """Whatever ended before is there, once, with its launch; whether or not it shares a buffer with what still ran."""
    program, *rest = command(tmp_path, "double-clock", 100000, between)
    path, kernels = tmp_path / "trace.sbt", 600 // between
    with subprocess.Popen([INFERSCOPE, "run", "--trace", path, "--", program, *rest], start_new_session=True) as process:
        while not (tmp_path / "truth").exists() or len(kernels_so_far(tmp_path)) < kernels:
            time.sleep(0.01)
        killed = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        os.kill(truth_so_far(tmp_path)[0]["pid"], signal.SIGKILL)
        process.wait(timeout=PATIENCE)
    trace, true = sbt.read(path), kernels_so_far(tmp_path)
    assert trace.violations == [] and trace.info["signal"] == signal.SIGKILL
    before = {it["correlation"] for it in true if it["end"] < killed}
    assert len(before) >= kernels
    for kind in KERNEL, CALL:
        seen = Counter(event.correlation for event in trace.events if event.kind == kind and event.correlation)
        assert before <= set(seen) and max(seen.values()) == 1
    names = {it["correlation"]: it["name"] for it in true}
    assert all(trace.strings[event.name] == names[event.correlation] for event in trace.events
               if event.kind == KERNEL and event.correlation in before)


def test_killed_along_with_its_recorder(tmp_path):
    """What `recover` finds of a program that was killed just after its recorder."""
    program, *rest = command(tmp_path, "double-clock", 100000, 2)
    path, sessions = tmp_path / "trace.sbt", tmp_path / "sessions"
    sessions.mkdir()
    with subprocess.Popen([INFERSCOPE, "run", "--trace-size-mb", "1", "--trace", path, "--", program, *rest], start_new_session=True,
                          env={**os.environ, "XDG_RUNTIME_DIR": str(sessions)}) as process:
        while not (tmp_path / "truth").exists() or len(kernels_so_far(tmp_path)) < 100:
            time.sleep(0.01)
        process.kill()
        process.wait(timeout=PATIENCE)
        time.sleep(0.03)
        killed = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        os.kill(truth_so_far(tmp_path)[0]["pid"], signal.SIGKILL)
    (session,) = sessions.iterdir()
    subprocess.run([INFERSCOPE, "recover", session], check=True, timeout=PATIENCE, stdout=subprocess.DEVNULL)
    trace, true = sbt.read(path), kernels_so_far(tmp_path)
    before = {it["correlation"] for it in true if it["end"] < killed}
    for kind in KERNEL, CALL:
        seen = Counter(event.correlation for event in trace.events if event.kind == kind and event.correlation)
        assert before <= set(seen) and max(seen.values()) == 1
    assert {trace.strings[event.name] for event in trace.events if event.kind == KERNEL} == {true[0]["name"]}
    assert list(sessions.iterdir()) == []


def kernels_so_far(folder):
    return [it for it in truth_so_far(folder) if it["what"] == "kernel"]


def truth_so_far(folder):
    with open(folder / "truth", encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.endswith("}\n")]


@pytest.mark.parametrize("how", ["fork", "fork_exit", "exec"])
def test_children(tmp_path, how):
    run = Run(tmp_path, "double-family", how)
    assert run.recording.status == 0 and run.recording.losses == [] and run.took < 8
    assert sorted(run.recording.out.split()) == ["child", "parent"]
    kernels = Counter(run.trace.processes[run.track(event)["process"]]["pid"] for event in run.events(KERNEL))
    true = Counter(it["pid"] for it in run.truth if it["what"] == "kernel")
    assert kernels == true and len(true) == (2 if how == "exec" else 1)


def test_nothing_without_cuda(tmp_path):
    """Of a program that does not use CUDA we know nothing: neither library nor thread."""
    script = ("ls /proc/self/task | wc -l; grep -c -e libcupti -e libcuda -e libinferscope /proc/self/maps; "
              "echo $CUDA_INJECTION64_PATH")
    recording = record(tmp_path, "-c", script, program="/bin/sh")
    tasks, maps, door = recording.out.split()
    assert (tasks, maps) == ("1", "0") and door.endswith("libinferscope-rt.so")


def test_a_door_that_is_taken(tmp_path, monkeypatch):
    taken = "CUDA work is not recorded: CUDA_INJECTION64_PATH is already set to /some/other.so"
    run = [INFERSCOPE, "run", "--trace", tmp_path / "t.sbt", "--", "/bin/sh", "-c", "echo $CUDA_INJECTION64_PATH"]
    for value, sentence in (("/some/other.so", taken), ("none", "")):
        monkeypatch.setenv("CUDA_INJECTION64_PATH", value)
        shown = subprocess.run(run, capture_output=True, text=True, check=True, timeout=PATIENCE)
        assert shown.stdout.strip() == value and (sentence in shown.stderr) and ("CUDA work" in shown.stderr) == bool(sentence)
