"""GpuCollector: states, figures, warnings, the doors that it opens, and real work on PoCL and on the doubles of CUDA."""

import json
import logging
import os
import subprocess
import sys
import threading

import pytest

import package
from interpreters import recorded_pythons
from toolkits import without_cupti

package.need_package()
from inferscope import Profiler, TraceBuffer, _gpu_doors  # noqa: E402
from inferscope.analyzer import BottleneckAnalyzer  # noqa: E402
from inferscope.collectors import CollectorState, CpuCollector, GpuCollector, gpu  # noqa: E402
from inferscope.timeline import TimelineMerger  # noqa: E402

RUNTIME = str(package.BUILD / "libinferscope-rt.so")


@pytest.fixture(autouse=True)
def _surroundings():
    """Some tests change the variables meanwhile, which is then the program's to undo."""
    names = ("CUDA_INJECTION64_PATH", "OPENCL_LAYERS", "INFERSCOPE_OPENCL_LAYERS")
    before = {name: os.environ.get(name) for name in names}
    yield
    for name, value in before.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


@pytest.fixture
def buffer():
    return TraceBuffer(100_000)


@pytest.fixture
def collector(buffer):
    collector = GpuCollector(buffer)
    yield collector
    collector.stop()


@pytest.fixture(autouse=True)
def _warnings_anew(monkeypatch):
    monkeypatch.setattr(gpu, "_told", set())


def of_kind(events, kind):
    return [event for event in events if event["event_type"] == kind]


def inject_step(collector):
    """Two devices; on the first a copy, two kernels of 400 us with 100 us between them, and a copy back."""
    collector._inject_copy_event("h2d", 600, 1000, bytes=4096, launch=("cudaMemcpyAsync", 100, 110))
    shape = {"grid_dim": (8, 4, 1), "block_dim": (128, 1, 1)}
    collector._inject_kernel_event("gemm", 1000, 1400, launch=("cudaLaunchKernel", 120, 130), **shape)
    collector._inject_kernel_event("gemm", 1500, 1900, launch=("cudaLaunchKernel", 1490, 1499), **shape)
    collector._inject_copy_event("d2h", 1900, 2000, bytes=512, stream_id=1, launch=("cudaMemcpyAsync", 1499, 1500))
    collector._inject_kernel_event("relu", 1000, 1250.5, device_id=1, launch=("cudaLaunchKernel", 140, 150))
    collector._inject_sync_event(1500, 2010)


# ---- Beginning, states ----


def test_needs_a_buffer():
    with pytest.raises(ValueError, match="trace buffer"):
        GpuCollector(None)
    with pytest.raises(TypeError, match="enqueue"):
        GpuCollector([])


def test_states(collector, buffer):
    assert GpuCollector.state is CollectorState.UNINITIALIZED and collector.state is CollectorState.IDLE
    collector.stop()
    assert collector.state is CollectorState.IDLE
    collector.start()
    collector.start()
    assert collector.state is CollectorState.COLLECTING
    collector.stop()
    collector.stop()
    assert collector.state is CollectorState.FINALIZED
    assert collector.trace_buffer is buffer and buffer.read_all() == []


def test_statistics_before_the_start(collector):
    stats = collector.get_stats()
    assert (stats["state"], stats["events_captured"], stats["kernels"], stats["copies"]) == ("Idle", 0, 0, 0)
    assert (stats["devices"], stats["doors"], stats["warnings"], stats["counts"]) == ({}, {}, [], {})


def test_disabled(collector, buffer, monkeypatch):
    monkeypatch.setenv("INFERSCOPE_ENABLED", "0")
    with collector:
        assert collector.state is CollectorState.IDLE
        assert collector._inject_kernel_event("k", 0, 1) is False
    assert buffer.read_all() == []


# ---- Injected events ----


def test_injected_events_are_in_the_buffer(collector, buffer):
    with collector:
        inject_step(collector)
        assert len(buffer) == 0
    events = buffer.read_all()
    assert [event["start_ns"] for event in events] == sorted(event["start_ns"] for event in events)
    first, second = (event for event in events if event["name"] == "gemm")
    assert (first["start_us"], first["end_us"], first["device_id"], first["stream_id"]) == (1000, 1400, 0, 0)
    assert (first["grid_dim"], first["block_dim"]) == ([8, 4, 1], [128, 1, 1])
    launches = {event["correlation_id"]: event for event in of_kind(events, "runtime_call") if "correlation_id" in event}
    assert (launches[second["correlation_id"]]["name"], launches[second["correlation_id"]]["start_us"]) == ("cudaLaunchKernel", 1490)
    assert {event["thread_id"] for event in of_kind(events, "runtime_call")} == {threading.get_native_id()}
    (copy,) = of_kind(events, "d2h_copy")
    assert (copy["bytes"], copy["stream_id"], copy["name"]) == (512, 1, "copy d2h")
    assert collector.get_stats()["events_captured"] == collector.get_stats()["events_injected"] == len(events) == 11


def check_figures(stats):
    assert (stats["kernels"], stats["copies"]) == (3, 2)
    assert stats["counts"] == {"gpu_kernel": 3, "h2d_copy": 1, "d2h_copy": 1, "runtime_call": 6}
    assert stats["bytes"] == {"h2d_copy": 4096, "d2h_copy": 512}
    assert stats["device_time_us"] == stats["busy_us"] == 400 + 400 + 400 + 100 + 250.5
    assert list(stats["devices"]) == [0, 1]
    first, second = stats["devices"].values()
    assert (first["device_time_us"], first["busy_us"], first["bytes"]) == (1300, 1300, {"h2d_copy": 4096, "d2h_copy": 512})
    assert (second["counts"], second["busy_us"]) == ({"gpu_kernel": 1}, 250.5)
    assert {number: stream["counts"] for number, stream in first["streams"].items()} == {
        0: {"gpu_kernel": 2, "h2d_copy": 1}, 1: {"d2h_copy": 1}}
    assert (first["kind"], first["name"]) == (None, None)


def test_figures_while_collecting_and_afterwards(collector):
    collector.start()
    inject_step(collector)
    stats = collector.get_stats()
    assert (stats["state"], stats["events_captured"]) == ("Collecting", 0)
    check_figures(stats)
    collector.stop()
    check_figures(collector.get_stats())
    assert collector.get_stats()["events_lost"] == collector.get_stats()["errors"] == 0


def test_work_at_the_same_time_is_busy_once(collector):
    with collector:
        for stream, (start, end) in enumerate([(0, 100), (50, 150), (60, 70), (200, 300)]):
            collector._inject_kernel_event("k", start, end, stream_id=stream)
        collector._inject_memset_event(290, 310, bytes=64)
    stats = collector.get_stats()
    assert (stats["device_time_us"], stats["busy_us"]) == (330, 260)
    assert stats["bytes"] == {"memset": 64}


def test_injected_kernels_in_the_merged_timeline(collector, buffer, caplog):
    cpu = [{"event_type": "cpu_call", "name": "step", "start_us": 0, "end_us": 2100, "thread_id": threading.get_native_id()}]
    with collector:
        inject_step(collector)
    caplog.clear()
    merger = TimelineMerger(cpu, buffer.read_all())
    merged = merger.merge()
    assert len(merged) == 12 and merged[0]["name"] == "step"
    assert [event["start_ns"] for event in merged] == sorted(event["start_ns"] for event in merged)
    assert [(event["start_us"], event["end_us"], event["clock_synchronized"]) for event in merged if event["name"] == "gemm"] == [
        (1000, 1400, True), (1500, 1900, True)]
    assert {device: info["method"] for device, info in merger.get_clock_info().items()} == {0: "as_given", 1: "as_given"}
    assert caplog.records == []


def test_a_clock_of_its_own_is_related(collector, buffer):
    """A device whose clock is 5 s ahead, and says nothing of being synchronised."""
    with collector:
        collector._inject_kernel_event("k", 5_000_130, 5_000_230, launch=("cudaLaunchKernel", 100, 110), clock_synchronized=False)
        collector._inject_sync_event(110, 231)
    merger = TimelineMerger([], buffer.read_all())
    (kernel,) = of_kind(merger.merge(), "gpu_kernel")
    assert 100 <= kernel["start_us"] <= 131 and kernel["end_ns"] - kernel["start_ns"] == 100_000
    assert merger.get_clock_info()[0]["method"] == "launches"


def test_injected_kernels_in_the_analysis(collector, buffer):
    with collector:
        inject_step(collector)
    devices = {device["device_id"]: device for device in BottleneckAnalyzer(buffer.read_all()).analyze()["devices"]}
    first, second = devices[0], devices[1]
    assert (first["total_us"], first["busy_us"], first["idle_us"]) == (1400, 1300, 100)
    assert (first["compute_us"], first["exposed_copy_us"]) == (800, 500)
    assert first["idle_causes"]["host_late_us"] == 100
    assert sorted((work["name"], work["count"], work["total_us"], work["mean_us"]) for work in first["kernels"]) == [
        ("copy d2h", 1, 100, 100), ("copy h2d", 1, 400, 400), ("gemm", 2, 800, 400)]
    assert (second["total_us"], second["idle_us"]) == (250.5, 0)
    assert [(kernel["name"], kernel["total_us"]) for kernel in second["kernels"]] == [("relu", 250.5)]


def test_idle_while_the_host_waits_is_a_sync(collector, buffer):
    with collector:
        collector._inject_kernel_event("k", 100, 200, launch=("cudaLaunchKernel", 10, 20))
        collector._inject_sync_event(20, 270)
        collector._inject_kernel_event("k", 300, 400, launch=("cudaLaunchKernel", 280, 290))
    (device,) = BottleneckAnalyzer(buffer.read_all()).analyze()["devices"]
    assert (device["idle_us"], device["idle_causes"]["sync_us"]) == (100, 100)


@pytest.mark.parametrize("start,end,error", [(2, 1, ValueError), ("1", 2, TypeError), (1, float("nan"), TypeError),
                                             (True, 2, TypeError)])
def test_times_are_checked(collector, start, end, error):
    collector.start()
    with pytest.raises(error):
        collector._inject_kernel_event("k", start, end)
    with pytest.raises(ValueError, match="h2d, d2h, d2d"):
        collector._inject_copy_event("h2h", 1, 2, bytes=1)


def test_nothing_is_injected_when_it_is_not_collecting(collector, buffer):
    assert collector._inject_kernel_event("k", 0, 1) is False
    with collector:
        assert collector._inject_kernel_event("k", 0, 1) is True
    assert collector._inject_kernel_event("k", 2, 3) is False
    assert len(buffer) == 1


def test_started_again_it_counts_anew(collector, buffer):
    for count in (3, 1):
        buffer.clear()
        with collector:
            for i in range(count):
                collector._inject_kernel_event("k", i, i + 1)
        assert collector.get_stats()["kernels"] == len(buffer) == count


# ---- Errors, warnings ----


def test_a_broken_buffer_does_not_break_the_program(caplog):
    class Broken:
        def enqueue(self, event):
            raise OSError("no room")

    collector = GpuCollector(Broken())
    with collector:
        collector._inject_kernel_event("k", 0, 1)
    assert (collector.get_stats()["events_captured"], collector.get_stats()["errors"]) == (0, 1)
    assert "the trace buffer does not take events: OSError: no room" in [record.getMessage() for record in caplog.records]


def test_without_a_gpu_there_is_one_warning_and_events_of_the_cpu(buffer, monkeypatch, caplog):
    monkeypatch.setattr(_gpu_doors, "unavailable", lambda: "there is neither a driver of CUDA nor one of OpenCL")
    monkeypatch.setattr(_gpu_doors, "_opencl_in_use", lambda: False)  # whatever another test has loaded here
    cpu = CpuCollector(buffer)
    for _ in range(2):
        collector = GpuCollector(buffer)
        with collector, cpu:
            json.dumps({})
    (warning,) = collector.get_stats()["warnings"]
    assert "neither a driver of CUDA" in warning and "CPU" in warning
    assert [(record.levelno, record.getMessage()) for record in caplog.records] == [(logging.WARNING, warning)]
    assert [event for event in buffer.read_all() if event["name"] == "json.dumps"]


def test_what_is_available(monkeypatch, tmp_path):
    monkeypatch.setattr(_gpu_doors, "_DRIVERS", (str(tmp_path / "nvidiactl"),))
    monkeypatch.setattr(_gpu_doors, "_libraries", lambda: {"/lib/libc.so.6"})
    monkeypatch.setenv("OCL_ICD_VENDORS", str(tmp_path))
    assert _gpu_doors.unavailable() == "there is neither a driver of CUDA nor one of OpenCL"
    (tmp_path / "some.icd").write_text("libsome.so.1\n")
    assert _gpu_doors.unavailable() is None and _gpu_doors.vendors() == ["libsome.so.1"]
    (tmp_path / "some.icd").unlink()
    (tmp_path / "nvidiactl").touch()
    assert _gpu_doors.unavailable() is None


def test_a_recorder_that_cannot_start_is_a_warning(buffer, monkeypatch, caplog):
    monkeypatch.setenv("INFERSCOPE_COMMAND", "/nowhere/inferscope")
    collector = GpuCollector(buffer)
    with collector:
        collector._inject_kernel_event("k", 0, 5)
    stats = collector.get_stats()
    assert (stats["kernels"], stats["busy_us"], stats["doors"], stats["duration_us"]) == (1, 5, {}, 0)
    assert len(stats["warnings"]) == len(caplog.records) == 1 and "what GPUs do is not recorded" in stats["warnings"][0]


# ---- Doors ----


def variables():
    return {name: os.environ.get(name) for name in ("CUDA_INJECTION64_PATH", "OPENCL_LAYERS", "INFERSCOPE_OPENCL_LAYERS")}


@pytest.fixture
def unused(monkeypatch):
    """As in a program that has used neither CUDA nor OpenCL, nor has variables of theirs."""
    for name in variables():
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(_gpu_doors, "_libraries", lambda: {"/lib/libc.so.6"})
    monkeypatch.setattr(_gpu_doors, "_entered", set())


def test_doors_are_open_meanwhile(unused, collector):
    before = variables()
    with collector:
        assert variables() == dict.fromkeys(before, RUNTIME)
        assert collector.get_stats()["doors"] == {"cuda": "open", "opencl": "open"}
    assert variables() == before


def test_a_profiler_opens_them_too(unused):
    with Profiler():
        assert set(variables().values()) == {RUNTIME}
    with Profiler(gpu=False):
        assert set(variables().values()) == {None}
    assert set(variables().values()) == {None}


def test_a_collector_of_the_cpu_does_not(unused, collector, buffer):
    with CpuCollector(buffer):
        assert set(variables().values()) == {None}
        with collector:
            assert set(variables().values()) == {RUNTIME}
    assert set(variables().values()) == {None}


def test_layers_of_others_stay(unused, collector, monkeypatch):
    monkeypatch.setenv("OPENCL_LAYERS", "/opt/other.so")
    with collector:
        assert os.environ["OPENCL_LAYERS"] == os.environ["INFERSCOPE_OPENCL_LAYERS"] == "/opt/other.so:" + RUNTIME
    assert os.environ["OPENCL_LAYERS"] == "/opt/other.so" and "INFERSCOPE_OPENCL_LAYERS" not in os.environ


def test_an_occupied_door_is_a_warning(unused, collector, monkeypatch):
    monkeypatch.setenv("CUDA_INJECTION64_PATH", "/opt/nsys.so")
    with collector:
        assert os.environ["CUDA_INJECTION64_PATH"] == "/opt/nsys.so"
    stats = collector.get_stats()
    assert stats["doors"] == {"cuda": "taken", "opencl": "open"}
    assert "CUDA work is not recorded: CUDA_INJECTION64_PATH is already set to /opt/nsys.so" in stats["warnings"]
    assert os.environ["CUDA_INJECTION64_PATH"] == "/opt/nsys.so"


@pytest.mark.parametrize("variable,value,doors", [("INFERSCOPE_GPU", "off", ("closed", "closed")),
                                                  ("INFERSCOPE_GPU", "nsys", ("closed", "open")),
                                                  ("CUDA_INJECTION64_PATH", "none", ("closed", "open"))])
def test_a_door_that_is_not_wanted_stays_closed(unused, collector, monkeypatch, variable, value, doors):
    monkeypatch.setenv(variable, value)
    with collector:
        assert os.environ.get("CUDA_INJECTION64_PATH") in (None, "none")
        assert ("OPENCL_LAYERS" in os.environ) == (doors[1] == "open")
    assert tuple(collector.get_stats()["doors"].values()) == doors
    assert not [text for text in collector.get_stats()["warnings"] if "already set" in text]


def test_what_the_program_sets_stays(unused, collector):
    with collector:
        os.environ["OPENCL_LAYERS"] = "/opt/mine.so"
    assert os.environ["OPENCL_LAYERS"] == "/opt/mine.so" and "CUDA_INJECTION64_PATH" not in os.environ


def test_a_driver_in_use_is_too_late(unused, collector, monkeypatch):
    monkeypatch.setattr(_gpu_doors, "_libraries", lambda: {"/usr/lib/libpocl.so.2.10.0"})
    with collector:
        assert "OPENCL_LAYERS" not in os.environ and os.environ["CUDA_INJECTION64_PATH"] == RUNTIME
    stats = collector.get_stats()
    assert stats["doors"] == {"cuda": "open", "opencl": "late"}
    assert [text for text in stats["warnings"] if "OpenCL was in use before" in text and "inferscope run" in text]


def test_once_through_the_door_it_stays_open(unused, collector, monkeypatch):
    with collector:
        monkeypatch.setattr(_gpu_doors, "_libraries", lambda: {"/usr/lib/libpocl.so.2.10.0"})
    with collector:
        assert collector.get_stats()["doors"] == {"cuda": "open", "opencl": "open"}
    assert collector.get_stats()["warnings"] == []


@pytest.mark.parametrize("first", [CpuCollector, GpuCollector])
def test_with_a_collector_of_the_cpu_in_either_order(buffer, first):
    collectors = [CpuCollector(buffer), GpuCollector(TraceBuffer())]
    order = collectors if first is CpuCollector else collectors[::-1]
    with order[0]:
        with order[1]:
            json.dumps({})
            collectors[1]._inject_kernel_event("k", 0, 1)
    assert len([event for event in buffer.read_all() if event["name"] == "json.dumps"]) == 1
    assert [event["name"] for event in collectors[1].trace_buffer.read_all()] == ["k"]


# ---- Real work: OpenCL ----

OPENCL = """
    import json, sys
    import numpy, pyopencl
    from inferscope import TraceBuffer
    from inferscope.collectors import CpuCollector, GpuCollector

    def work(queue, kernel, times):
        host = numpy.arange(4096, dtype=numpy.float32)
        device = pyopencl.Buffer(queue.context, pyopencl.mem_flags.READ_WRITE, host.nbytes)
        pyopencl.enqueue_copy(queue, device, host)
        for _ in range(times):
            kernel(queue, host.shape, None, device)
        pyopencl.enqueue_copy(queue, host, device)
        queue.finish()
        return float(host[3])

    def prepare():
        context = pyopencl.create_some_context(interactive=False)
        program = pyopencl.Program(context, "__kernel void twice(__global float *a) { a[get_global_id(0)] *= 2; }").build()
        return [pyopencl.CommandQueue(context) for _ in range(2)], pyopencl.Kernel(program, "twice")

    buffer = TraceBuffer()
    collector = GpuCollector(buffer)
"""


def opencl_python():
    """A Python with pyopencl, and a driver for it."""
    for python in filter(None, [os.environ.get("INFERSCOPE_PYOPENCL_PYTHON"), sys.executable]):
        done = subprocess.run([python, "-c", "import pyopencl; pyopencl.get_platforms()[0].get_devices()[0]"], capture_output=True,
                              check=False)
        if done.returncode == 0:
            return python
    return pytest.skip("there is no pyopencl with a platform here")


def run_opencl(script, folder, before=()):
    out, _ = package.run(OPENCL + script, folder, python=opencl_python(), before=before)
    return json.loads(out.splitlines()[-1])


TELL = """
    print(json.dumps({"stats": collector.get_stats(), "events": buffer.read_all()}))
"""


def check_opencl(stats, kernels, copies):
    assert (stats["kernels"], stats["copies"], stats["events_lost"], stats["errors"]) == (kernels, copies, 0, 0)
    assert stats["bytes"] == {"h2d_copy": copies // 2 * 16384, "d2h_copy": copies // 2 * 16384}
    (device,) = stats["devices"].values()
    assert device["kind"] == "opencl" and device["name"]
    assert 0 < device["busy_us"] <= device["device_time_us"] == stats["device_time_us"]
    return device


def check_opencl_events(events):
    """Every kernel has a launch, before which it does not start, and which is on this program's thread."""
    calls = {event.get("correlation_id"): event for event in of_kind(events, "runtime_call") if "thread_id" in event}
    for kernel in of_kind(events, "gpu_kernel"):
        launch = calls[kernel["correlation_id"]]
        assert kernel["name"] == "twice" and launch["name"] == "clEnqueueNDRangeKernel"
        assert launch["start_ns"] <= kernel["start_ns"] <= kernel["end_ns"] and kernel["clock_synchronized"] is True
        assert kernel["grid_dim"] == [4096, 1, 1]


def test_opencl_in_a_program_of_its_own(tmp_path):
    told = run_opencl("""
    with collector:
        queues, kernel = prepare()
        assert work(queues[0], kernel, 5) == 96 and work(queues[1], kernel, 2) == 12
    """ + TELL, tmp_path)
    device = check_opencl(told["stats"], 7, 4)
    kernels = [stream["counts"].get("gpu_kernel") for stream in device["streams"].values()]
    assert [count for count in kernels if count] == [5, 2]
    assert told["stats"]["doors"] == {"cuda": "open", "opencl": "open"}
    check_opencl_events(told["events"])
    analysis = BottleneckAnalyzer(told["events"]).analyze()
    (analyzed,) = analysis["devices"]
    (whole,) = [window for window in analyzed["windows"] if window["name"] == "all"]
    assert whole["busy_us"] == pytest.approx(device["busy_us"], abs=0.01)
    assert {work["name"]: work["count"] for work in analyzed["kernels"]}["twice"] == 7
    merger = TimelineMerger([], told["events"])
    assert {event["start_ns"] for event in of_kind(merger.merge(), "gpu_kernel")} == {
        event["start_ns"] for event in of_kind(told["events"], "gpu_kernel")}


def test_opencl_a_second_time(tmp_path):
    """The layer stays loaded, and the second recording has just its own."""
    told = run_opencl("""
    with collector:
        queues, kernel = prepare()
        work(queues[0], kernel, 5)
    work(queues[0], kernel, 100)
    buffer.clear()
    with collector:
        work(queues[0], kernel, 3)
    """ + TELL, tmp_path)
    check_opencl(told["stats"], 3, 2)
    assert told["stats"]["doors"]["opencl"] == "open" and told["stats"]["warnings"] == []


def test_opencl_used_before_is_a_warning(tmp_path):
    told = run_opencl("""
    queues, kernel = prepare()
    with collector:
        work(queues[0], kernel, 3)
    """ + TELL, tmp_path)
    assert (told["stats"]["kernels"], told["stats"]["doors"]["opencl"]) == (0, "late")
    assert [text for text in told["stats"]["warnings"] if "OpenCL was in use before" in text]


def test_opencl_under_run(tmp_path):
    """It shows its part of the recording."""
    told = run_opencl("""
    queues, kernel = prepare()
    work(queues[0], kernel, 10)
    with collector:
        work(queues[0], kernel, 4)
    work(queues[0], kernel, 20)
    """ + TELL, tmp_path, before=[package.COMMAND, "run", "--trace", tmp_path / "trace.sbt", "--report", "none", "--"])
    check_opencl(told["stats"], 4, 2)
    check_opencl_events(told["events"])
    assert told["stats"]["doors"]["opencl"] == "open"


def test_opencl_beside_a_collector_of_the_cpu(tmp_path):
    told = run_opencl("""
    cpu = CpuCollector(TraceBuffer())
    with collector, cpu:
        queues, kernel = prepare()
        work(queues[0], kernel, 2)
    calls = [event["name"] for event in cpu.trace_buffer.read_all() if event["event_type"] == "cpu_call"]
    assert calls.count("__main__.work") == 1, calls
    assert not [event for event in cpu.trace_buffer.read_all() if "device_id" in event]
    """ + TELL, tmp_path)
    check_opencl(told["stats"], 2, 2)


# ---- Real libraries' doubles: CUDA ----

CUDA = """
    import ctypes, json, os
    from inferscope import TraceBuffer
    from inferscope.collectors import GpuCollector

    if os.environ["CUPTI"]:
        ctypes.CDLL(os.environ["CUPTI"])  # as frameworks do; else another that is installed may come first
    cuda = ctypes.CDLL("libcuda.so.1")

    def check(result):
        assert result == 0, result

    class Device:
        def __init__(self, index):
            self.context, module, self.kernel, self.memory = (ctypes.c_void_p() for _ in range(4))
            check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(self.context), index))
            check(cuda.cuCtxSetCurrent(self.context))
            check(cuda.cuModuleLoadData(ctypes.byref(module), b"an image"))
            check(cuda.cuModuleGetFunction(ctypes.byref(self.kernel), module, b"busy_250us"))
            check(cuda.cuMemAlloc_v2(ctypes.byref(self.memory), ctypes.c_size_t(4096)))

        def work(self, times, wait=True):
            host = ctypes.create_string_buffer(4096)
            check(cuda.cuCtxSetCurrent(self.context))
            check(cuda.cuMemcpyHtoD_v2(self.memory, host, ctypes.c_size_t(4096)))
            for _ in range(times):
                check(cuda.cuLaunchKernel(self.kernel, 8, 1, 1, 128, 1, 1, 0, None, None, None))
            if wait:
                check(cuda.cuCtxSynchronize())

    buffer = TraceBuffer()
    collector = GpuCollector(buffer)
"""


def run_cuda(script, folder, cupti="cupti-12.9", python=sys.executable, before=(), **variables):
    """What the program told, and the kernels of the truth."""
    doubles = package.BUILD / "tests" / "doubles"
    if not (doubles / "driver" / "libcuda.so.1").exists():
        pytest.skip(f"{doubles} is not built")
    truth = folder / "truth"
    library = str(next((doubles / cupti).glob("libcupti.so*"))) if cupti else ""
    out, _ = package.run(CUDA + script + TELL, folder, python=python, before=before, CUPTI=library, DOUBLE_DEVICES="2",
                         LD_LIBRARY_PATH=str(doubles / "driver"), DOUBLE_TRUTH=str(truth), **variables)
    lines = [json.loads(line) for line in truth.read_text().splitlines()]
    return json.loads(out.splitlines()[-1]), [line for line in lines if line["what"] == "kernel"]


def check_cuda(told, truth):
    """Every kernel of the truth once, on its device, when it was and for as long; between launches and waits."""
    stats, kernels = told["stats"], of_kind(told["events"], "gpu_kernel")
    assert stats["kernels"] == len(truth), stats["warnings"]
    assert (stats["events_lost"], stats["errors"]) == (0, 0)
    for kernel, true in zip(kernels, sorted(truth, key=lambda true: true["start"])):
        assert kernel["end_ns"] - kernel["start_ns"] == pytest.approx(true["end"] - true["start"], abs=20_000)
        assert (kernel["device_id"], kernel["name"]) == (true["device"], "busy_250us")
        assert (kernel["grid_dim"], kernel["block_dim"]) == ([8, 1, 1], [128, 1, 1])
    calls = of_kind(told["events"], "runtime_call")
    launches = {event.get("correlation_id"): event for event in calls}
    assert all(launches[kernel["correlation_id"]]["name"] == "cuLaunchKernel" for kernel in kernels)
    waited = max((call["end_ns"] for call in calls if call["name"] == "cuCtxSynchronize"), default=float("inf"))
    assert all(launches[kernel["correlation_id"]]["start_ns"] <= kernel["start_ns"] and kernel["end_ns"] <= waited for kernel in kernels)
    begins = [kernel["start_ns"] - true["start"] for kernel, true in zip(kernels, sorted(truth, key=lambda true: true["start"]))]
    assert max(begins) - min(begins) < 80_000
    return stats


@pytest.mark.parametrize("cupti", ["cupti-11.8", "cupti-12.9", "cupti-13.4"])
def test_cuda_in_a_program_of_its_own(tmp_path, cupti):
    told, truth = run_cuda("""
    with collector:
        check(cuda.cuInit(0))
        devices = [Device(0), Device(1)]
        devices[0].work(5)
        devices[1].work(2)
    """, tmp_path, cupti)
    stats = check_cuda(told, truth)
    assert stats["doors"]["cuda"] == "open" and stats["warnings"] == []
    assert (stats["copies"], stats["bytes"]) == (2, {"h2d_copy": 8192})
    assert {number: (device["kind"], device["counts"]["gpu_kernel"], device["counts"]["memory_alloc"], len(device["streams"]))
            for number, device in stats["devices"].items()} == {"0": ("cuda", 5, 1, 1), "1": ("cuda", 2, 1, 1)}  # by now in JSON
    assert [(event["device_id"], event["bytes"]) for event in of_kind(told["events"], "memory_alloc")] == [(0, 4096), (1, 4096)]
    analysis = BottleneckAnalyzer(told["events"]).analyze()
    assert [{work["name"]: work["count"] for work in device["kernels"]}["busy_250us"] for device in analysis["devices"]] == [5, 2]


@pytest.mark.parametrize("python", recorded_pythons(), ids=str)
def test_every_python(tmp_path, python):
    told, truth = run_cuda("""
    with collector:
        check(cuda.cuInit(0))
        Device(0).work(4)
    """, tmp_path, python=python.path)
    assert check_cuda(told, truth)["warnings"] == []


@pytest.mark.parametrize("variables", [{}, {"DOUBLE_FAULT": "second_registration=1000"}], ids=str)
def test_cuda_a_second_time(tmp_path, variables):
    """Whoever gives CUPTI a clock for each recording may find a day added to times in later ones."""
    told, truth = run_cuda("""
    with collector:
        check(cuda.cuInit(0))
        device = Device(0)
        device.work(5)
    device.work(7)
    buffer.clear()
    with collector:
        device.work(3)
    """, tmp_path, **variables)
    assert check_cuda(told, truth[-3:])["doors"]["cuda"] == "open"


THREAD = """
    import time

    def switches():
        for task in os.listdir("/proc/self/task"):
            with open("/proc/self/task/%s/status" % task) as file:
                text = file.read()
            if text.startswith("Name:\\tinferscope-gpu\\n"):
                return text.split("voluntary_ctxt_switches:")[1].split()[0]
"""


@pytest.mark.parametrize("cupti, variables", [("cupti-11.8", {}), ("cupti-13.4", {"INFERSCOPE_CUDA_SHARE": "1"}),
                                              ("cupti-12.9", {"DOUBLE_FAULT": "no_timestamp_callback"}),
                                              ("cupti-13.0", {"DOUBLE_FAULT": "second_registration=1000"}),
                                              ("cupti-13.4", {"INFERSCOPE_CUDA_SHARE": "1", "DOUBLE_FAULT": "second_registration=1000"})],
                         ids=str)
def test_cuda_rests_between_two_recordings(tmp_path, cupti, variables):
    """CUPTI makes no records then, and our thread sleeps; contexts that are made meanwhile are known later."""
    told, kernels = run_cuda(THREAD + """
    with collector:
        check(cuda.cuInit(0))
        first = Device(0)
        first.work(5)
    time.sleep(0.15)
    asleep = switches()
    second = Device(1)
    for device in (first, second):
        device.work(100)
    time.sleep(0.15)
    assert asleep and switches() == asleep, (asleep, switches())
    buffer.clear()
    with collector:
        check(cuda.cuCtxSynchronize())
        first.work(3)
        second.work(2)
    """, tmp_path, cupti, **variables)
    check_cuda(told, kernels[-5:])
    made = [bool(kernel["record_start"]) for kernel in kernels]
    assert made == [True] * 5 + [False] * 200 + [True] * 5
    calls = [json.loads(line) for line in (tmp_path / "truth").read_text().splitlines()]
    calls = [bool(call["record_end"]) for call in calls if call["what"] == "driver" and call["name"] == "cuLaunchKernel"]
    assert calls == made
    waits = of_kind(told["events"], "sync")
    assert len(waits) == 3 and len([event for event in of_kind(told["events"], "runtime_call") if event["name"] == "cuCtxSynchronize"]) == 3
    assert told["stats"]["copies"] == 2 and sorted(told["stats"]["devices"]) == ["0", "1"]


def test_cuda_that_the_programs_profiler_has_taken(tmp_path):
    """A recording that begins after it says so, too."""
    (tmp_path / "torch" / "autograd").mkdir(parents=True)
    for name in ("__init__.py", "autograd/__init__.py"):
        (tmp_path / "torch" / name).write_text("")
    (tmp_path / "torch" / "autograd" / "profiler.py").write_text("class profile:\n    def _prepare_trace(self):\n        pass\n")
    told, _ = run_cuda("""
    import enum, sys
    from inferscope import Profiler
    sys.path.insert(0, %r)
    from torch.autograd.profiler import profile
    with Profiler():
        check(cuda.cuInit(0))
        device = Device(0)
        device.work(5)
        theirs = profile()
        theirs.kineto_activities = {enum.Enum("Activity", "CPU CUDA").CUDA}
        theirs._prepare_trace()
    with collector:
        device.work(3)
    """ % str(tmp_path), tmp_path)
    assert told["stats"]["kernels"] == 0
    assert len([text for text in told["stats"]["warnings"] if "own profiler has taken CUPTI over" in text]) == 1, told["stats"]["warnings"]


def test_cuda_under_run(tmp_path):
    told, truth = run_cuda("""
    check(cuda.cuInit(0))
    device = Device(1)
    device.work(5)
    with collector:
        device.work(4)
    device.work(6)
    """, tmp_path, before=[package.COMMAND, "run", "--trace", tmp_path / "trace.sbt", "--report", "none", "--"])
    check_cuda(told, truth[5:9])


@pytest.mark.parametrize("before", [False, True], ids=["alone", "under run"])
def test_cuda_work_that_nobody_waited_for(tmp_path, before):
    """What has ended is there, although its records were still with CUPTI."""
    told, truth = run_cuda("""
    import time
    with collector:
        check(cuda.cuInit(0))
        Device(0).work(3, wait=False)
        time.sleep(0.02)
    """, tmp_path, before=[package.COMMAND, "run", "--trace", tmp_path / "trace.sbt", "--report", "none", "--"] if before else ())
    check_cuda(told, truth)


def test_cuda_records_that_were_dropped_are_counted(tmp_path):
    told, truth = run_cuda("""
    with collector:
        check(cuda.cuInit(0))
        Device(0).work(40)
    assert collector.get_stats()["events_lost"] == collector._recording.totals()["lost"]
    """, tmp_path, DOUBLE_FAULT="dropped=7")
    kept = sum(kernel["record_start"] > 0 for kernel in truth)
    assert kept < 40 and told["stats"]["kernels"] == kept
    assert told["stats"]["events_lost"] >= 40 - kept


def test_cuda_used_before_is_a_warning(tmp_path):
    told, _ = run_cuda("""
    check(cuda.cuInit(0))
    device = Device(0)
    with collector:
        device.work(3)
    """, tmp_path)
    assert (told["stats"]["kernels"], told["stats"]["doors"]["cuda"]) == (0, "late")
    assert [text for text in told["stats"]["warnings"] if "CUDA was in use before" in text]


def test_cuda_without_cupti_is_a_warning(tmp_path):
    """As the program goes on, so does the collector: what it does not see is said once."""
    told, _ = run_cuda("""
    with collector:
        check(cuda.cuInit(0))
        Device(0).work(3)
        collector._inject_kernel_event("k", 0, 1)
    """, tmp_path, cupti=None, before=without_cupti(), CUDA_HOME=str(tmp_path), CUDA_PATH=str(tmp_path))
    assert told["stats"]["kernels"] == 1 and [event["name"] for event in told["events"]] == ["k"]
    assert len([text for text in told["stats"]["warnings"] if "CUPTI (libcupti.so) was not found" in text]) == 1, told["stats"]["warnings"]
