"""Exports of Nsight Systems, real ones and made ones: what SQL says of the file is what the trace holds."""

import gzip
import sqlite3
import subprocess
from collections import Counter, defaultdict

import pytest
import zstandard

import sbt
from analysis import shared
from recording import INFERSCOPE, PATIENCE
from sbt_payload import KINDS, PHASES

PID, TID, HOST_BITS = 4711, 4712, 1 << 48
GLOBAL_PID = HOST_BITS | PID << 24
GLOBAL_TID = GLOBAL_PID | TID
UTC = 1_700_000_000_000_000_000
COPIES = ("h2d_copy", "d2h_copy", "d2d_copy")


class Imported:
    """A trace as rows in the order of time: dicts with names instead of numbers."""

    def __init__(self, path):
        self.trace = sbt.read(path)
        assert self.trace.violations == [] and self.trace.damage == []
        self.source, = self.trace.info["sources"]
        self.rows = sorted((self.row(event) for event in self.trace.events), key=lambda row: row["time"])

    def row(self, event):
        track = self.trace.tracks[event.track]
        process, device = (table.get(track[key]) if track[key] is not None else None
                           for table, key in ((self.trace.processes, "process"), (self.trace.devices, "device")))
        fields = {key: value for key, value in event.__dict__.items() if value is not None} if hasattr(event, "__dict__") else \
            {key: getattr(event, key) for key in event._fields if getattr(event, key) is not None}
        fields.update(kind=KINDS[event.kind], phase=PHASES[event.phase], name=self.trace.strings.get(fields.get("name"), ""), of=track["kind"],
                      at=track["id"], pid=process and process["pid"], device=device and device["index"],
                      time=event.time - self.source.get("base_time_ns", 0))
        return fields

    def of(self, *kinds):
        return [row for row in self.rows if row["kind"] in kinds]

    def one(self, kind):
        row, = self.of(kind)
        return row

    def names(self, kind):
        return [row["name"] for row in self.of(kind)]


def run(path, output, *options, status=0):
    done = subprocess.run([INFERSCOPE, "import", str(path), "--output", str(output), *options], capture_output=True,
                          stdin=subprocess.DEVNULL, timeout=PATIENCE)
    assert done.returncode == status, done.stderr.decode(errors="replace")
    said = done.stdout + done.stderr
    assert b"\x1b" not in said and b"AddressSanitizer" not in said and b"runtime error" not in said
    return said.decode()


def read(path, tmp_path, *options):
    output = tmp_path / "trace.sbt"
    run(path, output, *options)
    return Imported(output)


# ---- Real ones -----------------------------------------------------------------------------------------------------


def unpacked(name, tmp_path):
    path = tmp_path / name.removesuffix(".gz")
    path.write_bytes(gzip.decompress(shared(f"nsys/{name}").read_bytes()))
    return sqlite3.connect(path)


@pytest.mark.parametrize("name", ["mfu-2gpu-before.sqlite.gz", "mfu-2gpu-after.sqlite.gz", "saxpy-old-schema.sqlite.gz"])
def test_real_exports_add_up(name, tmp_path):
    db = unpacked(name, tmp_path)
    trace = read(shared(f"nsys/{name}"), tmp_path)
    for kinds, table in ((("gpu_kernel",), "KERNEL"), (COPIES, "MEMCPY"), (("memset",), "MEMSET"), (("runtime_call",), "RUNTIME"),
                         (("sync",), "SYNCHRONIZATION")):
        count, total = db.execute(f"SELECT count(*), total(end - start) FROM CUPTI_ACTIVITY_KIND_{table}").fetchone()
        rows = trace.of(*kinds)
        assert len(rows) == count and sum(row["duration"] for row in rows) == total, table
    for kinds, table in ((("gpu_kernel",), "KERNEL"), (COPIES, "MEMCPY")):
        streams = {(device, stream): (count, total) for device, stream, count, total in db.execute(
            f"SELECT deviceId, streamId, count(*), sum(end - start) FROM CUPTI_ACTIVITY_KIND_{table} GROUP BY 1, 2")}
        ours = defaultdict(lambda: (0, 0))
        for row in trace.of(*kinds):
            count, total = ours[row["device"], row["at"]]
            ours[row["device"], row["at"]] = count + 1, total + row["duration"]
        assert ours == streams
    names = Counter(name for name, in db.execute(
        "SELECT value FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds ON StringIds.id = demangledName"))
    assert Counter(trace.names("gpu_kernel")) == names
    assert sum(row["bytes"] for row in trace.of(*COPIES)) == db.execute("SELECT sum(bytes) FROM CUPTI_ACTIVITY_KIND_MEMCPY").fetchone()[0]
    calls = Counter(db.execute("SELECT value, correlationId, start FROM CUPTI_ACTIVITY_KIND_RUNTIME JOIN StringIds ON StringIds.id = nameId"))
    assert Counter((row["name"], row["correlation"], row["time"]) for row in trace.of("runtime_call")) == calls
    assert trace.source["events"] == len(trace.rows) and trace.source["skipped"] == 0
    times = [row["time"] for row in trace.rows if row["of"] == 2]
    assert len(trace.trace.blocks) < 40 and times


def test_copies_from_pageable_memory(tmp_path):
    trace = read(shared("nsys/mfu-2gpu-before.sqlite.gz"), tmp_path)
    pageable = [row for row in trace.of(*COPIES) if row["memory_kind"] & 0xff == 1]
    assert len(pageable) == 34 and {row["kind"] for row in pageable} == {"h2d_copy"}
    assert {row["name"] for row in pageable} == {"Memcpy HtoD (Pageable -> Device)"}


def test_operators_and_waits_of_a_real_export(tmp_path):
    db = unpacked("mfu-2gpu-before.sqlite.gz", tmp_path)
    trace = read(shared("nsys/mfu-2gpu-before.sqlite.gz"), tmp_path)
    texts = [text.split(", ")[0] for text, in db.execute("SELECT text FROM NVTX_EVENTS WHERE text LIKE '%op_id = %'")]
    assert Counter(trace.names("op")) == Counter(texts) and len(texts) == 18656
    assert len(trace.of("scope")) == 462 + 6
    on_stream = [row for row in trace.of("sync") if row["of"] == 2]
    assert len(on_stream) == 366 - 64 - 69  # the others are for events, and for no stream
    assert {(row["pid"], row["device"]) for row in on_stream} == {(144, 0), (145, 1)}  # the column says device 0 for both
    assert trace.trace.hosts[0]["hostname"] and trace.source["hostname"] == "modal"
    assert trace.source["base_time_ns"] == 1779782330176752435
    assert trace.source["properties"]["product_version"] == "2026.2.1.210"
    assert "MODAL_IMAGE_ID" not in str(trace.source)


def test_an_old_export(tmp_path):
    trace = read(shared("nsys/saxpy-old-schema.sqlite.gz"), tmp_path)
    (device, ), (process, ) = trace.trace.devices.values(), trace.trace.processes.values()
    assert trace.trace.strings[device["name"]] == "NVIDIA A100-SXM4-40GB" and device["kind"] == 1
    assert device["properties"].items() >= {"numSms": 108, "computeMajor": 8, "totalGlobalMem": 42297524224, "warpSize": 32,
                                            "maxThreadsPerMultiprocessor": 2048, "maxThreadsPerBlock": 1024,
                                            "regsPerMultiprocessor": 65536, "sharedMemPerMultiprocessor": 167936}.items()
    assert process["pid"] == 1230493 % (1 << 24) and trace.trace.strings[process["name"]] == "./saxpy-mpi-cuda"
    assert len(trace.of("cpu_sample")) == 5451 and len(trace.of("counter")) == 3238
    assert {row["name"] for row in trace.of("counter")} == {"running"}
    assert Counter(trace.names("scope"))["MPI_Send"] == 10 and "MPI Rank 0" in trace.trace.strings.values()


# ---- Made ones -------------------------------------------------------------------------------------------------------


def make(path, *statements, rows=()):
    path.unlink(missing_ok=True)
    db = sqlite3.connect(path)
    for statement in statements:
        db.executescript(statement)
    for table, values in rows:
        db.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(values))})", values)
    db.commit()
    db.close()
    return path


STRINGS = "CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT NOT NULL);"
KERNEL = """CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INT, end INT, deviceId INT, contextId INT, streamId INT, correlationId INT,
            globalPid INT, demangledName INT, gridX INT, gridY INT, gridZ INT, blockX INT, blockY INT, blockZ INT, staticSharedMemory INT,
            dynamicSharedMemory INT, registersPerThread INT, graphNodeId INT, graphId INT);"""
NVTX = """CREATE TABLE NVTX_EVENTS(start INT, end INT, eventType INT, rangeId INT, category INT, color INT, text TEXT, globalTid INT,
          endGlobalTid INT, textId INT, domainId INT, int64Value INT, doubleValue REAL);"""
SESSION = f"CREATE TABLE TARGET_INFO_SESSION_START_TIME(utcEpochNs INT); INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES ({UTC});"


def kernel(start, end, name=1, stream=7, device=0, correlation=1, process=GLOBAL_PID, context=1, node=None, graph=None):
    return "CUPTI_ACTIVITY_KIND_KERNEL", (start, end, device, context, stream, correlation, process, name, 8, 2, 1, 128, 1, 1, 64, 1000, 32,
                                          node, graph)


def nvtx(start, end, kind, text, range_id=None, category=None, text_id=None, domain=0, integer=None, number=None, thread=GLOBAL_TID):
    return "NVTX_EVENTS", (start, end, kind, range_id, category, None, text, thread, None, text_id, domain, integer, number)


def test_a_kernel_has_all_its_fields(tmp_path):
    trace = read(make(tmp_path / "a.sqlite", STRINGS, KERNEL, SESSION, rows=[("StringIds", (1, "void gemm<float>(int)")), kernel(1000, 1500),
                                                                               kernel(2000, 2600, node=5 << 32 | 9, correlation=2),
                                                                               kernel(3000, 3001, node=7, graph=12)]), tmp_path)
    first, second, third = trace.of("gpu_kernel")
    assert first["name"] == "void gemm<float>(int)" and first["time"] == 1000 and first["duration"] == 500
    assert [first[key] for key in ("grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z")] == [8, 2, 1, 128, 1, 1]
    assert first["shared_memory"] == 1064 and first["registers"] == 32 and first["correlation"] == 1
    assert (first["pid"], first["device"], first["at"]) == (PID, 0, 7) and "graph" not in first
    assert second["graph"] == 5 and third["graph"] == 12 and third["metadata"]["graph node id"] == 7
    assert trace.source["base_time_ns"] == UTC and trace.trace.events[0].time == UTC + 1000


def test_lean_leaves_arguments_out(tmp_path):
    path = make(tmp_path / "a.sqlite", STRINGS, KERNEL, NVTX, rows=[kernel(1, 2, node=7, graph=3), nvtx(1, 9, 59, "x", domain=4, integer=5)])
    assert all("metadata" in row for row in read(path, tmp_path).rows)
    lean = read(path, tmp_path, "--lean")
    assert len(lean.rows) == 2 and not any("metadata" in row for row in lean.rows) and lean.one("gpu_kernel")["graph"] == 3


def test_ranges_marks_and_names(tmp_path):
    trace = read(make(tmp_path / "a.sqlite", STRINGS, NVTX, """
        CREATE TABLE ThreadNames(nameId INT, priority INT, globalTid INT); CREATE TABLE PROCESSES(globalPid INT, pid INT, name TEXT);
        CREATE TABLE MPI_RANKS(globalTid INT, rank INT);""", rows=[
            ("StringIds", (5, "registered")), ("StringIds", (6, "main thread")), ("ThreadNames", (6, 1, GLOBAL_TID)),
            ("PROCESSES", (GLOBAL_PID, PID, "python3")), ("PROCESSES", (HOST_BITS | 1 << 24, 1, "init")), ("MPI_RANKS", (GLOBAL_TID, 3)),
            nvtx(1, None, 75, "NCCL", domain=2), nvtx(1, None, 33, "comm", category=4, domain=2),
            nvtx(10, 90, 59, "outer", integer=-7), nvtx(20, 30, 59, None, text_id=5, domain=2, category=4), nvtx(40, 80, 60, "async", range_id=77),
            nvtx(50, None, 34, "mark", number=2.5), nvtx(60, None, 59, "open"), nvtx(95, None, 60, "never ends", range_id=78),
            nvtx(70, 71, 59, "aten::mul, seq = 45328, op_id = 990726, sizes = [[2, 3], []]"), nvtx(72, 73, 59, "aten::add, op_id = 5"),
            nvtx(74, 75, 59, "not, seq = an operator")]), tmp_path)
    assert [(row["name"], row["phase"], row["time"]) for row in trace.of("scope")] == [
        ("outer", "complete", 10), ("registered", "complete", 20), ("async", "async_begin", 40), ("open", "begin", 60),
        ("not, seq = an operator", "complete", 74), ("async", "async_end", 80), ("never ends", "async_begin", 95)]
    assert [row["duration"] for row in trace.of("scope") if row["phase"] == "complete"] == [80, 10, 1]
    begin, end = (row["flow"] for row in trace.of("scope") if row["name"] == "async")
    assert begin == end
    by_name = {row["name"]: row.get("metadata", {}) for row in trace.rows}
    assert by_name["outer"] == {"payload": -7} and by_name["registered"] == {"domain": "NCCL", "category": "comm"}
    assert trace.one("instant")["name"] == "mark" and by_name["mark"] == {"payload": 2.5}
    assert trace.names("op") == ["aten::mul", "aten::add"] and by_name["aten::add"] == {"op_id": 5}
    assert by_name["aten::mul"] == {"seq": 45328, "op_id": 990726, "sizes": "[[2, 3], []]"}
    process, = trace.trace.processes.values()
    assert trace.trace.strings[process["name"]] == "python3" and process["rank"] == 3
    thread, = trace.trace.tracks.values()
    assert trace.trace.strings[thread["name"]] == "main thread" and thread["id"] == TID


def test_tables_of_all_kinds(tmp_path):
    trace = read(make(tmp_path / "a.sqlite", STRINGS, """
        CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(start, end, deviceId, contextId, streamId, correlationId, globalPid, bytes, copyKind, srcKind, dstKind);
        CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET(start, end, deviceId, contextId, streamId, globalPid, bytes, value, memKind);
        CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE(start, end, deviceId, contextId, streamId, correlationId, globalPid, graphId, graphExecId);
        CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION(start, end, deviceId, contextId, streamId, correlationId, globalPid, syncType, eventId, eventSyncId);
        CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT(deviceId, contextId, streamId, correlationId, globalPid, eventId, eventSyncId);
        CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start, end, eventClass, globalTid, correlationId, nameId, returnValue);
        CREATE TABLE OSRT_API(start, end, eventClass, globalTid, nameId, returnValue);
        CREATE TABLE SCHED_EVENTS(start, cpu, isSchedIn, globalTid);
        CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS(start, globalPid, deviceId, contextId, address, bytes, memKind, memoryOperationType, correlationId);
        CREATE TABLE CUDA_UM_GPU_PAGE_FAULT_EVENTS(start, end, globalPid, deviceId, address, numberOfPageFaults, faultAccessType);
        CREATE TABLE PROFILER_OVERHEAD(start, end, globalTid, nameId);
        CREATE TABLE DIAGNOSTIC_EVENT(timestamp, timestampType, source, severity, text, globalPid);
        CREATE TABLE GPU_METRICS(timestamp, typeId, metricId, value);
        CREATE TABLE TARGET_INFO_GPU_METRICS(typeId, sourceId, typeName, metricId, metricName);
        CREATE TABLE TARGET_INFO_GPU(id, name, pwGpuId, cuDevice, smCount);
        CREATE TABLE MPI_COLLECTIVES_EVENTS(start, end, globalTid, textId, size);""", rows=[
            ("StringIds", (1, "cudaMemcpyAsync_v3020")), ("StringIds", (2, "poll")), ("StringIds", (3, "flush")), ("StringIds", (4, "MPI_Allreduce")),
            ("CUPTI_ACTIVITY_KIND_MEMCPY", (10, 20, 1, 1, 7, 5, GLOBAL_PID, 4096, 1, 1, 2)),
            ("CUPTI_ACTIVITY_KIND_MEMCPY", (21, 25, 1, 1, 7, 6, GLOBAL_PID, 100, 0, 2, 0)),  # of no kind: told by the memory
            ("CUPTI_ACTIVITY_KIND_MEMCPY", (26, 27, 1, 1, 7, 6, GLOBAL_PID, 64, 11, 4, 4)),
            ("CUPTI_ACTIVITY_KIND_MEMSET", (30, 31, 1, 1, 7, GLOBAL_PID, 16, 0, 2)),
            ("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", (40, 50, 1, 1, 7, 9, GLOBAL_PID, 12, 13)),
            ("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", (0, 0, 1, 1, 7, 9, GLOBAL_PID, 12, 13)),
            ("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", (60, 70, 0, 1, 0xffffffff, 11, GLOBAL_PID, 1, 21, 31)),
            ("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", (71, 72, 0, 1, 7, 12, GLOBAL_PID, 3, 0xffffffff, 0)),
            ("CUPTI_ACTIVITY_KIND_CUDA_EVENT", (1, 1, 7, 8, GLOBAL_PID, 21, 30)), ("CUPTI_ACTIVITY_KIND_CUDA_EVENT", (1, 1, 7, 10, GLOBAL_PID, 21, 31)),
            ("CUPTI_ACTIVITY_KIND_RUNTIME", (1, 9, 0, GLOBAL_TID, 5, 1, 2)), ("OSRT_API", (2, 3, 27, GLOBAL_TID, 2, -1)),
            ("SCHED_EVENTS", (1, 5, 1, GLOBAL_TID)), ("SCHED_EVENTS", (4, 5, 0, GLOBAL_TID)),
            ("CUDA_GPU_MEMORY_USAGE_EVENTS", (5, GLOBAL_PID, 1, 1, 0x7f0000001000, 1 << 20, 2, 0, 3)),
            ("CUDA_GPU_MEMORY_USAGE_EVENTS", (80, GLOBAL_PID, 1, 1, 0x7f0000001000, 1 << 20, 2, 1, 4)),
            ("CUDA_UM_GPU_PAGE_FAULT_EVENTS", (33, 34, GLOBAL_PID, 1, 0x7f00, 3, 1)), ("PROFILER_OVERHEAD", (35, 38, GLOBAL_TID, 3)),
            ("DIAGNOSTIC_EVENT", (0, 0, 1, 2, "something \x1b[31mis wrong", GLOBAL_PID)), ("GPU_METRICS", (55, 0x1000100000003, 9, 42)),
            ("TARGET_INFO_GPU_METRICS", (0x1000100000003, 1, "t", 9, "SMs Active [Throughput %]")), ("TARGET_INFO_GPU", (5, "H100", 3, 1, 132)),
            ("MPI_COLLECTIVES_EVENTS", (90, 95, GLOBAL_TID, 4, 800))]), tmp_path)
    up, down, managed = (trace.of(kind) for kind in ("h2d_copy", "d2h_copy", "d2d_copy"))
    assert [(row["bytes"], row["memory_kind"], row["name"]) for row in up] == [
        (4096, 2 | 3 << 8, "Memcpy HtoD (Pinned -> Device)"), (64, 5 | 5 << 8, "Memcpy HtoD (Managed -> Managed)")]
    assert [(row["bytes"], row["memory_kind"]) for row in down] == [(100, 3 | 1 << 8)] and not managed
    assert trace.one("memset")["name"] == "Memset (Device)" and trace.one("memset")["bytes"] == 16
    graph = trace.one("gpu_kernel")
    assert (graph["name"], graph["graph"], graph["duration"], graph["device"], graph["correlation"]) == ("CUDA graph 12", 12, 10, 1, 9)
    wait, sync = trace.of("sync")
    assert (wait["name"], wait["wait"], wait["of"]) == ("Event Sync", 10, 4) and (sync["name"], sync["device"], sync["at"]) == ("Stream Sync", 1, 7)
    call = trace.one("runtime_call")
    assert (call["name"], call["correlation"], call["metadata"], call["at"]) == ("cudaMemcpyAsync_v3020", 5, {"result": 2}, TID)
    assert (trace.one("cpu_syscall")["name"], trace.one("cpu_syscall")["metadata"]) == ("poll", {"result": -1})
    metric, *running = sorted(trace.of("counter"), key=lambda row: row["name"])
    assert [(row["name"], row["value"], row["cpu"], row["time"]) for row in running] == [("running", 1.0, 5, 1), ("running", 0.0, 5, 4)]
    assert (metric["name"], metric["value"], metric["of"], metric["device"]) == ("SMs Active [Throughput %]", 42.0, 5, 1)
    taken, given = trace.one("memory_alloc"), trace.one("memory_free")
    assert taken["bytes"] == given["bytes"] == 1 << 20 and taken["pointer"] == given["pointer"] == 0x7f0000001000
    assert taken["metadata"] == {"device": 1, "memory_kind": "device"}
    fault, = (row for row in trace.of("instant") if row["name"] == "GPU page fault")
    assert fault["integer"] == 3 and fault["metadata"]["duration_ns"] == 1
    diagnosis, = (row for row in trace.of("instant") if row["name"] != "GPU page fault")
    assert diagnosis["name"] == "something \x1b[31mis wrong" and diagnosis["metadata"] == {"severity": "warning"}
    overhead, collective = trace.of("scope")
    assert (overhead["name"], overhead["of"], overhead["metadata"]) == ("profiler overhead", 4, {"activity": "flush", "thread": TID})
    assert (collective["name"], collective["bytes"], collective["metadata"]) == ("MPI_Allreduce", 800, {"domain": "MPI"})
    assert trace.source["skipped"] == 1  # the launch without times


def test_old_files_do_not_number_records(tmp_path):
    """Event 21 is recorded once, 22 twice: then nobody knows for which time the sync waits."""
    trace = read(make(tmp_path / "a.sqlite", """
        CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION(start, end, deviceId, contextId, streamId, correlationId, globalPid, syncType, eventId);
        CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT(deviceId, contextId, streamId, correlationId, globalPid, eventId);""", rows=[
            *(("CUPTI_ACTIVITY_KIND_CUDA_EVENT", (0, 1, 7, call, GLOBAL_PID, event)) for call, event in ((8, 21), (9, 22), (10, 22))),
            *(("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", (event, event + 1, 0, 1, 7, 30, GLOBAL_PID, 2, event)) for event in (21, 22))]), tmp_path)
    assert [(row["name"], row.get("wait")) for row in trace.of("sync")] == [("Stream Wait Event", 8), ("Stream Wait Event", None)]


def test_processes_with_devices_of_their_own(tmp_path):
    """Two processes, each with one visible device: their device 0 is not the same."""
    other = HOST_BITS | 5000 << 24
    trace = read(make(tmp_path / "a.sqlite", STRINGS, KERNEL, """
        CREATE TABLE TARGET_INFO_GPU(id, name, cuDevice); CREATE TABLE TARGET_INFO_CUDA_DEVICE(gpuId, cudaId, pid, uuid, numMultiprocessors);""",
        rows=[("TARGET_INFO_GPU", (0, "first", 0)), ("TARGET_INFO_GPU", (1, "second", 1)), ("TARGET_INFO_CUDA_DEVICE", (0, 0, PID, "", 1)),
              ("TARGET_INFO_CUDA_DEVICE", (1, 0, 5000, "", 1)), kernel(1, 2), kernel(3, 4, process=other)]), tmp_path)
    assert [(row["pid"], row["device"]) for row in trace.of("gpu_kernel")] == [(PID, 0), (5000, 1)]
    assert {device["index"]: trace.trace.strings[device["name"]] for device in trace.trace.devices.values()} == {0: "first", 1: "second"}


def test_two_contexts_with_the_same_stream_number(tmp_path):
    trace = read(make(tmp_path / "a.sqlite", KERNEL, rows=[kernel(1, 9, context=1), kernel(2, 8, context=3), kernel(10, 11, context=1)]), tmp_path)
    first, second, third = trace.of("gpu_kernel")
    assert first["at"] == third["at"] == 7 and second["at"] == 7 | 3 << 32


def test_schema_of_2021(tmp_path):
    """Names in place of numbers, no session, few columns, and no key."""
    trace = read(make(tmp_path / "a.sqlite", """
        CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INT NOT NULL, end INT NOT NULL, deviceId INT, streamId INT, name TEXT, gridX INT);
        CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INT, end INT, globalTid INT, nameId INT, correlationId INT);
        CREATE TABLE NVTX_EVENTS(start INT, end INT, text TEXT);
        CREATE TABLE StringIds(id INT, value TEXT);""", rows=[
            ("CUPTI_ACTIVITY_KIND_KERNEL", (10, 20, 0, 7, "saxpy", 3)), ("CUPTI_ACTIVITY_KIND_RUNTIME", (1, 5, GLOBAL_TID, 900, 17)),
            ("NVTX_EVENTS", (0, 30, "step")), *(("StringIds", (number, f"name {number}")) for number in range(1000, 0, -1))]), tmp_path)
    work = trace.one("gpu_kernel")
    assert (work["name"], work["grid_x"], work["pid"], work["at"]) == ("saxpy", 3, None, 7) and "grid_y" not in work
    assert trace.one("runtime_call")["name"] == "name 900" and trace.one("scope")["name"] == "step"
    assert "base_time_ns" not in trace.source and "hostname" not in trace.source


@pytest.mark.parametrize("suffix,pack", [(".gz", gzip.compress), (".zst", zstandard.compress), ("", lambda data: data)])
def test_compressed(tmp_path, suffix, pack):
    path = make(tmp_path / "a.sqlite", KERNEL, rows=[kernel(1, 2)])
    packed = tmp_path / f"b.sqlite{suffix}"
    packed.write_bytes(pack(path.read_bytes()))
    assert read(packed, tmp_path).one("gpu_kernel")["duration"] == 1


def test_times_of_day(tmp_path):
    """Exports may be asked to count time from 1970."""
    trace = read(make(tmp_path / "a.sqlite", KERNEL, SESSION, """CREATE TABLE META_DATA_EXPORT(name TEXT, value TEXT);
        INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_PARAM_TIME_NORMALIZE', 'true')""", rows=[kernel(UTC + 5, UTC + 6)]), tmp_path)
    assert trace.trace.events[0].time == UTC + 5 and trace.source["base_time_ns"] == 0


# ---- Hostile ones ------------------------------------------------------------------------------------------------------


def test_rows_that_make_no_sense(tmp_path):
    path = make(tmp_path / "a.sqlite", KERNEL, rows=[kernel(5, 4), kernel("soon", 9), kernel(-1, 2), kernel(1, 1 << 62), kernel(7, 8), kernel(0, 0),
                                                     kernel(None, 3), kernel("\x1b[31m", 3)])
    said = run(path, tmp_path / "t.sbt")
    trace = Imported(tmp_path / "t.sbt")
    assert trace.one("gpu_kernel")["time"] == 7 and trace.source["skipped"] == 7
    assert "CUPTI_ACTIVITY_KIND_KERNEL" in said


def test_cells_of_other_types(tmp_path):
    values = list(kernel(5, 6)[1])
    for at, value in ((2, "gpu"), (3, b"\0\1"), (4, 2.5), (5, "x"), (7, b"\xff"), (8, -3), (9, 1e300), (10, "1"), (14, -1), (16, 3.0), (17, "n")):
        values[at] = value
    trace = read(make(tmp_path / "a.sqlite", KERNEL.replace(" INT", ""), rows=[("CUPTI_ACTIVITY_KIND_KERNEL", values)]), tmp_path)
    work = trace.one("gpu_kernel")
    assert work["duration"] == 1 and work["of"] == 4 and work["name"] == "" and work["registers"] == 3 and work["block_x"] == 128
    assert not {"grid_x", "grid_y", "grid_z", "correlation", "graph", "shared_memory"} & work.keys()


def test_a_view_in_place_of_a_table(tmp_path):
    path = make(tmp_path / "a.sqlite", KERNEL.replace("CUPTI_ACTIVITY_KIND_KERNEL", "k"), NVTX,
                "CREATE VIEW cupti_activity_kind_kernel AS SELECT * FROM k; CREATE VIEW StringIds AS SELECT 1 AS id, 'x' AS value",
                rows=[("k", kernel(1, 2)[1]), nvtx(1, 2, 59, "range")])
    said = run(path, tmp_path / "t.sbt")
    assert Imported(tmp_path / "t.sbt").names("scope") == ["range"] and len(Imported(tmp_path / "t.sbt").rows) == 1
    assert "CUPTI_ACTIVITY_KIND_KERNEL" in said and "no plain table" in said


def test_triggers_virtual_tables_and_generated_columns(tmp_path):
    trace = read(make(tmp_path / "a.sqlite", """
        CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INT, end INT, deviceId INT, streamId INT, name AS (hex(zeroblob(1000000))), gridX AS (abs(start)));
        CREATE TABLE k(a); CREATE TRIGGER t AFTER INSERT ON k BEGIN DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL; END;
        CREATE VIRTUAL TABLE NVTX_EVENTS USING fts4(start, end, text); INSERT INTO NVTX_EVENTS VALUES (1, 2, 'x');
        CREATE INDEX i ON CUPTI_ACTIVITY_KIND_KERNEL(abs(start)); INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL(start, end, deviceId, streamId) VALUES (3, 4, 0, 1);
        """), tmp_path)
    work = trace.one("gpu_kernel")
    assert len(trace.rows) == 1 and work["name"] == "" and "grid_x" not in work


def test_texts_that_are_none(tmp_path):
    """Whatever is in a name is kept in the trace, and harmless on a terminal (run() looks for escapes)."""
    path = make(tmp_path / "a.sqlite", NVTX, rows=[nvtx(1, 2, 59, "\x1b]0;owned\x07<script>alert(1)</script>\u202e"), nvtx(3, 4, 59, "y" * 2_000_000)])
    db = sqlite3.connect(path)
    db.execute("INSERT INTO NVTX_EVENTS(start, end, eventType, text) VALUES (5, 6, 59, CAST(x'66ff8081fe' AS TEXT))")
    db.commit()
    trace = read(path, tmp_path)
    names = trace.names("scope")
    assert names[0] == "\x1b]0;owned\x07<script>alert(1)</script>\u202e" and set(names[1]) == {"y"} and len(names[1]) < 70_000
    assert names[2].startswith("f") and len(names) == 3


def test_a_cell_beyond_all_measure(tmp_path):
    """The row is left out and named, its neighbours are not."""
    path = make(tmp_path / "a.sqlite", NVTX, rows=[nvtx(1, 2, 59, "before"), nvtx(3, 4, 59, "z" * 17_000_000), nvtx(5, 6, 59, "after")])
    said = run(path, tmp_path / "t.sbt")
    trace = Imported(tmp_path / "t.sbt")
    assert trace.names("scope") == ["before", "after"] and trace.source["skipped"] == 1
    assert "row 2" in said


def big(path):
    return make(path, "PRAGMA page_size = 1024;", STRINGS, KERNEL, rows=[("StringIds", (1, "kernel")), *(kernel(t, t + 1) for t in range(1, 20001))])


def test_a_file_that_ends_early(tmp_path):
    path = big(tmp_path / "a.sqlite")
    size = path.stat().st_size
    for part in (0.95, 0.6, 0.3):
        short = tmp_path / "b.sqlite"
        short.write_bytes(path.read_bytes()[:int(size * part)])
        said = run(short, tmp_path / "t.sbt")
        trace = Imported(tmp_path / "t.sbt")
        times = [row["time"] for row in trace.of("gpu_kernel")]
        assert trace.source["truncated"] and times == sorted(set(times)) and len(times) > 0.5 * part * 20000
        assert {row["duration"] for row in trace.rows} == {1} and "ends early" in said


def test_pages_that_are_gone(tmp_path):
    path = big(tmp_path / "a.sqlite")
    data = bytearray(path.read_bytes())
    for page in range(len(data) // 1024 // 2, len(data) // 1024 // 2 + 3):
        data[page * 1024:(page + 1) * 1024] = b"\xa5" * 1024
    path.write_bytes(data)
    trace = read(path, tmp_path)
    assert 19_000 < len(trace.of("gpu_kernel")) < 20_000 and len({row["time"] for row in trace.rows}) == len(trace.rows)


def test_no_export(tmp_path):
    said = run(make(tmp_path / "a.sqlite", "CREATE TABLE songs(title TEXT);"), tmp_path / "t.sbt", status=3)
    assert "no export of Nsight Systems" in said and "CUPTI_ACTIVITY_KIND_KERNEL" in said
    broken = tmp_path / "b.sqlite"
    broken.write_bytes(b"SQLite format 3\0" + bytes(range(256)) * 16)
    assert "file is not a database" in run(broken, tmp_path / "t.sbt", status=3)


def test_an_export_without_events(tmp_path):
    trace = read(make(tmp_path / "a.sqlite", KERNEL, NVTX, SESSION), tmp_path)
    assert trace.rows == [] and trace.source["events"] == 0


def test_a_journal_beside_it_is_mentioned(tmp_path):
    path = make(tmp_path / "a.sqlite", KERNEL, rows=[kernel(1, 2)])
    (tmp_path / "a.sqlite-wal").write_bytes(b"changes")
    assert "write-ahead log" in run(path, tmp_path / "t.sbt")
    assert (tmp_path / "a.sqlite-wal").read_bytes() == b"changes" and not (tmp_path / "a.sqlite-shm").exists()
