"""What records of CUPTI say beyond times and names, on values: overheads, kinds of memory, contexts that end, pools, further facts.

Each against the truth that the doubles write (tests/doubles), field by field.
"""

import json
import re
import subprocess
from collections import Counter

import pytest

from recording import INFERSCOPE, PATIENCE
from test_cuda import (ALLOC, BOUND_NS, CALL, D2D, D2H, DEVICE_WIDE, DOUBLES, FREE, H2D, KERNEL, MEMSET, SHORT_NS, STREAM, SYNC, THREAD,
                       Run)

SCOPE, INSTANT = 2, 3
# CUPTI's numbers of kinds of memory: what names say, and what the trace has.
MEMORY = {1: ("Pageable", 1), 2: ("Pinned", 2), 3: ("Device", 3), 5: ("Managed", 5)}
WAYS = {1: ("HtoD", H2D), 2: ("DtoH", D2H), 8: ("DtoD", D2D), 9: ("HtoH", D2D), 10: ("PtoP", D2D)}
PATIENCE_NS = 100e6  # with which the door keeps a context from going

pytestmark = pytest.mark.skipif(not (DOUBLES / "driver").is_dir(), reason="the doubles have not been built")


def succeeded(run):
    return run.recording.status == 0 and run.recording.out == "ok\n" and run.recording.losses == []


# ---- Overheads ----

OVERHEADS = {1 << 16: "Buffer Flush", 5 << 16: "Lazy Function Loading", 6 << 16: "Command Buffer Full", 7 << 16: "Activity Buffer Request"}


def overheads(run):
    return Counter((run.recording.name(event), run.track(event)["kind"], run.track(event)["id"], event.time, event.duration)
                   for event in run.events(SCOPE) if run.recording.name(event) in OVERHEADS.values())


def true_overheads(run):
    """Those that have to be there, and those of CUPTI itself that are too short to be worth it."""
    kept, short = Counter(), Counter()
    for it in run.truth:
        if it["what"] == "overhead_record":
            ticks = it["record_end"] - it["record_start"]
            ours = it["kind"] in (1 << 16, 7 << 16) and ticks < int(SHORT_NS * run.rate / 1e9)
            (short if ours else kept)[OVERHEADS[it["kind"]], THREAD, it["tid"], it["record_start"], ticks] += 1
    return kept, short


@pytest.mark.parametrize("release, since", [("12.1", {1 << 16}), ("12.4", {1 << 16, 5 << 16, 6 << 16}), ("13.4", set(OVERHEADS))])
def test_overheads(tmp_path, release, since):
    """Each by its name, on the thread that it kept, at its time.  A stream has room for 1024 launches."""
    run = Run(tmp_path, "double-records", "full", release=release, DOUBLE_DEVICES=1, DOUBLE_FAULT="slow_flush=2")
    assert succeeded(run)
    kept, short = true_overheads(run)
    assert overheads(run) == kept
    assert {name for name, *_ in kept + short} == {OVERHEADS[kind] for kind in since}
    assert {name for name, *_ in kept} >= {OVERHEADS[kind] for kind in since - {7 << 16}}
    full = [it for it in run.truth if it["what"] == "overhead" and it["kind"] == 6 << 16]
    threads = {name: {tid for key, _, tid, *_ in kept if key == name} for name in OVERHEADS.values()}
    assert full and sum(name == "Command Buffer Full" for name, *_ in kept) == (len(full) if 6 << 16 in since else 0)
    # A flush is the door's own thread's, the rest the program's.
    main = {it["pid"] for it in full}
    assert threads["Buffer Flush"].isdisjoint(main) and len(threads["Buffer Flush"]) == 1
    assert threads["Command Buffer Full"] <= main and threads["Lazy Function Loading"] <= main


def test_overheads_of_our_own_are_left_out_while_they_are_short(tmp_path):
    """Buffers are small and each takes a request; what the program has to wait for is kept, however short."""
    run = Run(tmp_path, "double-many", 20000, 1000, release="13.4", DOUBLE_DEVICES=1)
    kept, short = true_overheads(run)
    assert run.recording.losses == [] and overheads(run) == kept
    assert {name for name, *_ in short} <= {"Activity Buffer Request", "Buffer Flush"}
    assert sum(short.values()) > 10 and "Lazy Function Loading" in {name for name, *_ in kept}


# ---- Kinds of memory ----


def copies(run):
    return Counter((event.kind, run.recording.name(event), event.memory_kind, event.bytes, event.correlation, event.time, run.device(event),
                    run.track(event)["kind"], run.track(event)["id"], (event.metadata or {}).get("from_device"),
                    (event.metadata or {}).get("to_device")) for event in run.events(H2D, D2H, D2D, MEMSET))


def true_copies(run):
    found = Counter()
    for it in run.truth:
        if it["what"] not in ("copy", "set"):
            continue
        (before, start), (after, end) = (MEMORY.get(kind, ("", 0)) for kind in it["memory"])
        way, kind = WAYS.get(it["copy_kind"], ("", MEMSET))
        name = f"Memcpy {way} ({before} -> {after})" if way else f"Memset ({after})"
        peers = it["devices"] if it["copy_kind"] == 10 else (None, None)
        found[(kind, name, start | end << 8, it["bytes"], it["correlation"], it["record_start"], it["device"], STREAM, it["stream"], *peers)] += 1
    return found


@pytest.mark.parametrize("release", ["11.8", "12.9", "13.4"])
def test_copies_say_which_memory(tmp_path, release):
    """Between all kinds of it, within a device and from one to another, on the stream of either."""
    run = Run(tmp_path, "double-records", "copies", release=release, DOUBLE_DEVICES=2)
    assert succeeded(run) and copies(run) == true_copies(run)
    names = {event.bytes: (run.recording.name(event), event.memory_kind) for event in run.events(H2D, D2H, D2D, MEMSET)}
    kinds = "Pageable", "Pinned", "Device", "Managed"
    ways = {(host, other): way for way, host, other in (("HtoH", 1, 1), ("HtoD", 1, 0), ("DtoH", 0, 1), ("DtoD", 0, 0))}
    for i, before in enumerate(kinds):  # as the program makes them
        for k, after in enumerate(kinds):
            numbers = [(1, 2, 3, 5)[at] for at in (i, k)]
            assert names[100 + 10 * i + k] == (f"Memcpy {ways[i < 2, k < 2]} ({before} -> {after})", numbers[0] | numbers[1] << 8)
    assert [names[201 + k] for k in range(3)] == [("Memset (Pinned)", 2 << 8), ("Memset (Device)", 3 << 8), ("Memset (Managed)", 5 << 8)]
    peers = sorted((event.bytes, run.recording.name(event), event.metadata["from_device"], event.metadata["to_device"], run.device(event))
                   for event in run.events(D2D) if event.metadata)
    assert peers == [(base + 10 * on + to, f"Memcpy PtoP ({kind} -> Device)", 1 - to, to, on)
                     for base, kind in ((300, "Device"), (400, "Managed")) for on in (0, 1) for to in (0, 1)]
    for kind, what in ((ALLOC, "alloc"), (FREE, "release")):
        seen = Counter((run.recording.name(event), event.memory_kind, event.pointer, event.bytes, run.device(event)) for event in run.events(kind))
        true = Counter((f"CUDA memory ({MEMORY[it['kind']][0]})", MEMORY[it["kind"]][1] << 8, it["address"], it["bytes"], it["device"])
                       for it in run.truth if it["what"] == what)
        assert seen == true and {name for name, *_ in seen} == {"CUDA memory (Pinned)", "CUDA memory (Device)", "CUDA memory (Managed)"}


# ---- Contexts that end ----


def in_time(folder, *program, **settings):
    """A run in which the door was never kept waiting for as long as it has patience, as on a machine that does everything else first."""
    for turn in range(5):
        place = folder / str(turn)
        place.mkdir()
        run = Run(place, *program, DOUBLE_DEVICES=1, DOUBLE_FAULT="freed_name", **settings)
        ends = [it["end"] - it["start"] for it in run.truth if it["what"] == "driver" and re.search("CtxDestroy|CtxReset", it["name"])]
        assert len(ends) == 12
        if max(ends) < PATIENCE_NS:
            return run
    raise AssertionError("the machine is too busy")


@pytest.mark.parametrize("program", [("double-records", "contexts", 12), ("double-records", "primary", 12), ("double-reset", 12)],
                         ids=["cuCtxDestroy", "cuDevicePrimaryCtxReset", "cudaDeviceReset"])
@pytest.mark.parametrize("release", ["12.1", "13.4"])
def test_a_context_that_ends_takes_no_names_along(tmp_path, program, release):
    """Its modules go with it, and what kernels are called, which their records only point to."""
    run = in_time(tmp_path, *program, release=release)
    assert succeeded(run)
    seen = Counter((run.recording.name(event), event.correlation, event.time) for event in run.events(KERNEL))
    names = {"_Z9busy_20usPf": "busy_20us(float*)"}
    assert seen == Counter((names.get(it["name"], it["name"]), it["correlation"], it["record_start"]) for it in run.truth if it["what"] == "kernel")
    assert sum(seen.values()) == 36 and len({name for name, *_ in seen}) == (1 if program[0] == "double-reset" else 12)


# ---- Pools ----

POOLS = {1: "CUDA memory pool created", 2: "CUDA memory pool destroyed", 3: "CUDA memory pool trimmed"}


@pytest.mark.parametrize("release", ["11.8", "12.9", "13.4"])
def test_pools(tmp_path, release):
    """Each thing that happens to one is there once, with where it is and how much it holds, within the call that did it."""
    run = Run(tmp_path, "double-records", "pools", release=release, DOUBLE_DEVICES=2)
    assert succeeded(run)
    true = [it for it in run.truth if it["what"] == "pool"]
    seen = [event for event in run.events(INSTANT) if run.recording.name(event) in POOLS.values()]
    assert Counter((run.recording.name(event), event.pointer, event.bytes or 0) for event in seen) == \
        Counter((POOLS[it["operation"]], it["address"], it["bytes"]) for it in true)
    # Those that the driver has from its start are nobody's use of a device.
    made = [it for it in true if it["correlation"] in {each["correlation"] for each in run.truth if each.get("name") == "cuMemPoolCreate"}]
    assert [it["device"] for it in made] == [0, 1]
    calls = {it["correlation"]: it for it in run.truth if it["what"] == "driver"}
    for device, pool in enumerate(made):
        mine = sorted((event for event in seen if event.pointer == pool["address"]), key=lambda event: event.time)
        assert [(run.recording.name(event), event.bytes) for event in mine] == [
            (POOLS[1], None), (POOLS[3], 500 + device), (POOLS[2], 500 + device)]
        for event, name in zip(mine, ("cuMemPoolCreate", "cuMemPoolTrimTo", "cuMemPoolDestroy")):
            call = calls[event.correlation]
            assert call["name"] == name and call["record_start"] <= event.time <= call["record_end"]
            assert run.track(event)["kind"] == DEVICE_WIDE and run.device(event) == device


# ---- Further facts ----


def facts(run):
    return Counter((event.correlation, event.time, *((event.metadata or {}).get(key, 0) for key in (
        "cluster_x", "cluster_y", "cluster_z", "launch_type", "graph node id", "unfinished"))) for event in run.events(KERNEL))


@pytest.mark.parametrize("release, settings", [("11.8", {"DOUBLE_CUPTI": "11.7"}), ("11.8", {}), ("12.9", {}), ("13.4", {})])
def test_facts_of_kernels(tmp_path, release, settings):
    """Clusters, where the release tells of them, and launches that are not as usual; of a graph, too."""
    run = Run(tmp_path, "double-records", "kernels", release=release, **settings)
    assert succeeded(run)
    clusters = not settings  # from 11.8 on
    true = Counter((it["correlation"], it["record_start"], *(it["cluster"] if clusters else (0, 0, 0)), it["cooperative"], it["node"], 0)
                   for it in run.truth if it["what"] == "kernel")
    assert facts(run) == true and sum(true.values()) == 10
    ways = Counter(key[2:6] for key in true.elements())
    cluster = (4, 2, 1) if clusters else (0, 0, 0)
    assert ways == Counter([(0, 0, 0, 0), (0, 0, 0, 0), (*cluster, 0), (*cluster, 1), (0, 0, 0, 1)] * 2)
    assert not any({"cluster_x", "launch_type"} & set(event.metadata or {}) for event in run.events(KERNEL) if event.block_x == 128
                   and event.correlation == min(key[0] for key in true))


@pytest.mark.parametrize("release", ["12.1", "13.4"])
def test_work_that_does_not_end_but_has_begun(tmp_path, release):
    """Where its record says when: until the program's end, and said to be unfinished."""
    run = Run(tmp_path, "double-leave", release=release, DOUBLE_FAULT="start_at_once", DOUBLE_KERNEL_NS="busy_500ms=600000000000")
    assert run.recording.status == 0 and run.recording.losses == []
    kernel, = run.events(KERNEL)
    launch, = (it for it in run.truth if it.get("name") == "cuLaunchKernel")
    assert (run.recording.name(kernel), kernel.correlation, kernel.metadata) == ("busy_500ms", launch["correlation"], {"unfinished": 1})
    assert run.track(kernel)["kind"] == STREAM and run.device(kernel) == 0
    begin, end = run.trace.ns(kernel.time), run.trace.ns(kernel.time + kernel.duration)
    assert launch["start"] - BOUND_NS < begin < launch["end"] + BOUND_NS
    assert end - launch["end"] > 120e6 - BOUND_NS  # the program waits for so long before it ends
    assert [run.recording.name(event) for event in run.events(CALL)][-1] == "cuLaunchKernel"


# ---- Functions of the host ----


def host_functions(run):
    return Counter((event.correlation, event.time, event.duration, run.device(event), run.track(event)["kind"], run.track(event)["id"],
                    event.graph or 0, event.metadata.get("graph node id", 0), event.metadata["thread"])
                   for event in run.events(SYNC) if run.recording.name(event) == "Host Function")


@pytest.mark.parametrize("release", ["13.2", "13.4"])
def test_host_functions(tmp_path, release):
    """Each on the stream that called it, by itself or in a graph, with the thread that ran it."""
    run = Run(tmp_path, "double-records", "host", release=release, DOUBLE_DEVICES=2)
    assert succeeded(run)
    true = [it for it in run.truth if it["what"] == "host"]
    assert host_functions(run) == Counter((it["correlation"], it["record_start"], it["record_end"] - it["record_start"], it["device"], STREAM,
                                           it["stream"], it["graph"], it["node"], it["tid"]) for it in true)
    assert Counter((it["device"], it["graph"] > 0) for it in true) == {(0, False): 2, (1, False): 1, (0, True): 4}
    calls = {it["correlation"]: it["name"] for it in run.truth if it["what"] == "driver"}
    assert Counter(calls[it["correlation"]] for it in true) == {"cuLaunchHostFunc": 3, "cuGraphLaunch": 4}
    assert all(it["tid"] != it["pid"] and it["end"] - it["start"] >= 2e6 for it in true)
    run.check_work()


def test_a_device_is_not_busy_while_the_host_runs_a_function(tmp_path):
    """It is idle, and for the next work in the stream depends on it."""
    run = Run(tmp_path, "double-records", "host", release="13.4", DOUBLE_DEVICES=2)
    shown = subprocess.run([INFERSCOPE, "analyze", tmp_path / "trace.sbt", "--format", "json"], capture_output=True, check=True, timeout=PATIENCE)
    device, = json.loads(shown.stdout)["devices"]  # the other one has no work
    kernels = sum(it["record_end"] - it["record_start"] for it in run.truth if it["what"] == "kernel") * 1e6 / run.rate
    between = sum(it["end"] - it["start"] for it in run.truth if it["what"] == "host" and it["device"] == 0 and not it["graph"]) / 1000
    assert device["busy_us"] == device["compute_us"] == pytest.approx(kernels, abs=1)
    assert between >= 100000 and device["idle_causes"]["dependency_us"] > 0.99 * between


@pytest.mark.parametrize("release", ["12.9", "13.0"])
def test_host_functions_before_there_were_records_of_them(tmp_path, release):
    """Nothing is said to be missing, since nothing was refused."""
    run = Run(tmp_path, "double-records", "host", release=release, DOUBLE_DEVICES=2)
    assert succeeded(run) and not host_functions(run) and "notes" not in run.trace.info
    run.check_work()


# ---- Devices ----

@pytest.mark.parametrize("release", ["13.0", "13.4"])
def test_a_device_is_known_while_the_first_work_of_another_thread_runs(tmp_path, release):
    """Then what it is called, and which it is for the driver, is in a buffer that CUPTI keeps."""
    run = Run(tmp_path, "double-threads", 2, 20, "busy_800ms", release=release, DOUBLE_DEVICES=1)
    assert (run.recording.status, run.recording.out, run.recording.losses) == (0, "0\n", [])
    device, = run.trace.devices.values()
    assert run.trace.strings[device["name"]] == "Double GPU" and device["properties"]["uuid"].startswith("GPU-")
    run.check_work()
