"""Trackers: their figures against /proc, against psutil where it is installed, in containers that are made up, and on a double of NVML."""

import json
import os
import subprocess
import sys
import threading
import time
import types

import pytest

import package
from interpreters import recorded_pythons

package.need_package()
import inferscope  # noqa: E402
from inferscope import CPUTracker, GPUTracker, IOTracker, MemoryTracker, NetworkTracker  # noqa: E402
from inferscope.trackers import _tracker, gpu as gpu_module  # noqa: E402

DOUBLES = package.BUILD / "tests" / "doubles"
ALL = [MemoryTracker, GPUTracker, CPUTracker, IOTracker, NetworkTracker]
MB, GB = 1 << 20, 1 << 30


def status(key, pid="self"):
    """A line of /proc/PID/status, in bytes."""
    with open(f"/proc/{pid}/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(key + ":"))


@pytest.fixture
def sleeper():
    child = subprocess.Popen([sys.executable, "-c", "import time; print(flush=True); time.sleep(60)"], stdout=subprocess.PIPE)
    child.stdout.readline()
    yield child
    child.kill()
    child.wait()
    child.stdout.close()


# ---- Memory ----


def test_memory_is_what_the_kernel_says():
    tracker = MemoryTracker()
    assert tracker.get_current_memory() == pytest.approx(status("VmRSS") / MB, abs=2)
    before = tracker.get_current_memory()
    block = bytearray(64 * MB)
    assert tracker.get_current_memory() - before == pytest.approx(64, abs=4)
    stats = tracker.get_current_stats()
    assert {"used_mb", "used_percent", "available_gb", "total_gb"} <= set(stats)
    assert stats["used_mb"] == pytest.approx(status("VmRSS") / MB, abs=2)
    assert stats["shared_mb"] == pytest.approx((status("RssFile") + status("RssShmem")) / MB, abs=1)
    assert stats["swap_mb"] == pytest.approx(status("VmSwap") / MB, abs=1)
    assert stats["shared_mb"] < stats["used_mb"] and 64 < stats["pss_mb"] <= stats["used_mb"] + 1
    assert stats["minor_faults"] > 0 and stats["alive"] is True
    del block


def test_memory_of_the_machine():
    with open("/proc/meminfo") as file:
        info = {line.split(":")[0]: int(line.split()[1]) * 1024 for line in file}
    stats = MemoryTracker().get_current_stats()
    assert stats["machine_total_gb"] == info["MemTotal"] / GB
    assert stats["machine_available_gb"] == pytest.approx(info["MemAvailable"] / GB, abs=0.5)
    assert stats["available_gb"] <= stats["total_gb"] <= stats["machine_total_gb"]
    assert stats["used_percent"] == pytest.approx(100 * (1 - stats["available_gb"] / stats["total_gb"]))


def test_memory_as_psutil_has_it():
    psutil = pytest.importorskip("psutil")
    tracker, process = MemoryTracker(), psutil.Process()
    assert tracker.get_current_memory() == pytest.approx(process.memory_info().rss / MB, abs=2)
    stats = tracker.get_current_stats()
    assert stats["machine_total_gb"] == psutil.virtual_memory().total / GB
    assert stats["pss_mb"] == pytest.approx(process.memory_full_info().pss / MB, rel=0.1)


def made_up_machine(root, group, files):
    """A machine of 16 GB, 12 of them available, and a control group."""
    (root / "proc" / str(os.getpid())).mkdir(parents=True)
    (root / "proc/meminfo").write_text("MemTotal: 16777216 kB\nMemFree: 8388608 kB\nMemAvailable: 12582912 kB\n"
                                       "SwapTotal: 1048576 kB\nSwapFree: 1048576 kB\n")
    (root / "proc" / str(os.getpid()) / "cgroup").write_text(group)
    for name, text in files.items():
        (root / "sys/fs/cgroup" / name).parent.mkdir(parents=True, exist_ok=True)
        (root / "sys/fs/cgroup" / name).write_text(text)
    return MemoryTracker(_root=str(root)).get_current_stats()


def test_limits_of_a_container(tmp_path):
    stats = made_up_machine(tmp_path, "0::/docker/abc\n", {
        "docker/abc/memory.max": f"{4 * GB}\n", "docker/abc/memory.current": f"{3 * GB}\n",
        "docker/abc/memory.stat": f"anon {2 * GB}\ninactive_file {GB // 4}\nactive_file {GB // 2}\nslab_reclaimable {GB // 4}\n"})
    assert (stats["total_gb"], stats["available_gb"], stats["used_percent"], stats["limited"], stats["limit_gb"]) == (4, 2, 50, True, 4)
    assert (stats["machine_total_gb"], stats["machine_available_gb"]) == (16, 12)


def test_limits_of_the_first_version(tmp_path):
    stats = made_up_machine(tmp_path, "4:memory:/job\n0::/\n", {
        "memory/job/memory.limit_in_bytes": f"{2 * GB}\n", "memory/job/memory.usage_in_bytes": f"{3 * GB // 2}\n",
        "memory/job/memory.stat": f"active_file 1\ntotal_inactive_file 0\ntotal_active_file {GB // 2}\n"})
    assert (stats["total_gb"], stats["available_gb"], stats["used_percent"], stats["limited"]) == (2, 1, 50, True)


def test_no_limit(tmp_path):
    stats = made_up_machine(tmp_path, "0::/user\n", {"user/memory.max": "max\n", "user/memory.current": f"{3 * GB}\n"})
    assert (stats["total_gb"], stats["available_gb"], stats["used_percent"], stats["limited"], stats["limit_gb"]) == (16, 12, 25, False, None)


def test_what_is_shared_is_rarely_asked(monkeypatch):
    tracker, asked = MemoryTracker(), []
    ask = tracker._ask

    def counting(question, *arguments):
        asked.append(question)
        return ask(question, *arguments)

    monkeypatch.setattr(tracker, "_ask", counting)
    for _ in range(20):
        tracker.get_current_stats()
    assert asked.count("pss") == 1 and asked.count("process") == 20
    tracker._first()
    monkeypatch.setattr("inferscope.trackers.memory.PSS_UNASKED", 0)
    assert tracker.get_current_stats()["pss_mb"] is None  # as of a large process
    assert tracker.get_pss() > 1 and tracker.get_current_stats()["pss_mb"] > 1


# ---- Processors ----


def spend(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def test_usage_is_processor_time():
    tracker = CPUTracker()
    for work in (lambda: spend(0.3), lambda: time.sleep(0.3)):
        tracker.get_current_usage()
        wall, cpu = time.monotonic(), time.process_time()
        work()
        usage = tracker.get_current_usage()
        expected = 100 * (time.process_time() - cpu) / (time.monotonic() - wall)
        assert usage == pytest.approx(expected, abs=8)


def test_first_call_is_since_it_was_made():
    wall, cpu = time.monotonic(), time.process_time()
    tracker = CPUTracker()
    spend(0.3)
    usage = tracker.get_current_usage()
    assert usage == pytest.approx(100 * (time.process_time() - cpu) / (time.monotonic() - wall), rel=0.15)


def test_processors_and_frequency():
    stats = CPUTracker().get_current_stats()
    assert {"usage_percent", "count", "frequency_mhz"} <= set(stats)
    assert stats["count"] == os.cpu_count() and 0 < stats["available"] <= len(os.sched_getaffinity(0))
    with open("/proc/cpuinfo") as file:
        mhz = [float(line.split(":")[1]) for line in file if line.startswith("cpu MHz")]
    assert stats["frequency_mhz"] > 0 or not mhz
    times = os.times()
    assert stats["user_s"] == pytest.approx(times.user, abs=0.1) and stats["system_s"] == pytest.approx(times.system, abs=0.1)
    assert stats["threads"] == len(os.listdir("/proc/self/task"))


def test_affinity(tmp_path):
    said, _ = package.run("""
        import os, inferscope
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        print(inferscope.CPUTracker().get_current_stats()["available"])
        """, tmp_path)
    assert said == "1.0\n"


def test_quota_of_a_container(tmp_path):
    """Of the group with the tightest quota, which may be further out; and how much of what it wanted that took."""
    (tmp_path / "proc" / str(os.getpid())).mkdir(parents=True)
    (tmp_path / "proc" / str(os.getpid()) / "cgroup").write_text("0::/pod/box\n")
    pod = tmp_path / "sys/fs/cgroup/pod"
    (pod / "box").mkdir(parents=True)
    (pod / "box/cpu.max").write_text("max 100000\n")
    (pod / "cpu.max").write_text("50000 100000\n")
    (pod / "cpu.stat").write_text("usage_usec 100\nnr_periods 10\nnr_throttled 1\nthrottled_usec 100\n")
    tracker = CPUTracker(_root=str(tmp_path))
    (pod / "cpu.stat").write_text("usage_usec 750100\nnr_periods 20\nnr_throttled 6\nthrottled_usec 250100\n")
    stats = tracker.get_current_stats()
    assert (stats["available"], stats["throttled_percent"]) == (0.5, 25.0)
    assert tracker.get_current_stats()["throttled_percent"] == 0


def test_threads_each():
    tracker, stop, numbers = CPUTracker(), threading.Event(), []

    def busy():
        numbers.append(threading.get_native_id())
        while not stop.is_set():
            sum(range(1000))

    thread = threading.Thread(target=busy)
    thread.start()
    time.sleep(0.2)
    rows = {row["thread_id"]: row for row in tracker.get_thread_usage()}
    stop.set()
    thread.join()
    assert set(map(int, os.listdir("/proc/self/task"))) <= set(rows) | {0}
    assert rows[numbers[0]]["usage_percent"] + rows[numbers[0]]["queue_percent"] > 60 and rows[os.getpid()]["usage_percent"] < 60
    assert all(row["name"] and row["state"] in "RSDTtI" for row in rows.values())


# ---- Disks and network ----


def test_reading_and_writing(tmp_path):
    tracker = IOTracker()
    before = tracker.get_current_stats()
    with open(tmp_path / "file", "wb") as file:
        for _ in range(8):
            file.write(b"x" * MB)
            file.flush()
        os.fsync(file.fileno())
    (tmp_path / "file").read_bytes()
    after = tracker.get_current_stats()
    assert after["write_chars_mb"] - before["write_chars_mb"] == pytest.approx(8, abs=0.5)
    assert after["read_chars_mb"] - before["read_chars_mb"] == pytest.approx(8, abs=0.5)
    assert after["write_count"] - before["write_count"] >= 8 and after["read_count"] > before["read_count"]
    assert after["write_chars_mb_per_s"] > 0 and after["reads_per_s"] > 0 and 0 <= after["pressure_percent"] <= 100
    if os.statvfs(tmp_path).f_blocks and after["write_mb"] > before["write_mb"]:  # else it is in memory
        assert after["write_mb"] - before["write_mb"] == pytest.approx(8, abs=1)
    assert tracker.get_waiting_threads() >= 0 and tracker.get_current_usage() >= 0


def test_devices():
    with open("/proc/diskstats") as file:
        known = {line.split()[2]: line.split() for line in file}
    for row in IOTracker().get_device_stats():
        assert row["read_mb"] <= int(known[row["name"]][5]) * 512 / MB + 100 and 0 <= row["busy_percent"] <= 100


def test_network():
    import socket
    tracker = NetworkTracker()
    before = next(row for row in tracker.get_current_stats()["interfaces"] if row["loopback"])
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        peer, _ = server.accept()
        client.sendall(b"x" * 100_000)
        received = 0
        while received < 100_000:
            received += len(peer.recv(65536))
        peer.close()
    stats = tracker.get_current_stats()
    after = next(row for row in stats["interfaces"] if row["loopback"])
    assert after["sent_mb"] - before["sent_mb"] >= 100_000 / MB
    assert stats["sent_mb"] == pytest.approx(sum(row["sent_mb"] for row in stats["interfaces"] if not row["loopback"]), abs=0.1)


# ---- Sessions ----


def test_a_session_as_documented():
    tracker = MemoryTracker()
    assert tracker.start_time is None and tracker.session_stats == [] and tracker.get_session_stats() == {}
    tracker.get_current_stats()
    assert tracker.session_stats == []
    tracker.start_tracking()
    assert tracker.start_time == pytest.approx(time.time(), abs=5)
    values = [tracker.get_current_stats()["used_mb"] for _ in range(3)]
    assert [set(row) for row in tracker.session_stats] == 3 * [{"timestamp", "memory_mb", "memory_percent"}]
    assert [row["memory_mb"] for row in tracker.session_stats] == values
    assert 0 <= tracker.session_stats[0]["timestamp"] <= tracker.session_stats[2]["timestamp"] < 5
    figures = tracker.stop_tracking()
    assert figures["samples"] == 3 and figures["duration_s"] > 0
    assert figures["memory_mb"] == {"first": values[0], "last": values[2], "min": min(values), "max": max(values),
                                    "mean": pytest.approx(sum(values) / 3)}
    tracker.get_current_stats()
    assert len(tracker.session_stats) == 3 and tracker.get_session_stats()["samples"] == 3


@pytest.mark.parametrize("kind", ALL)
def test_each_has_sessions(kind):
    tracker = kind()
    tracker.start_session()
    tracker.get_current_stats()
    figures = tracker.stop_session()
    assert figures["samples"] == 1 and len(tracker.session_stats) == 1 and "timestamp" not in figures


def test_a_long_session_is_thinned_out(monkeypatch):
    monkeypatch.setattr(_tracker, "SESSION_MOST", 8)
    tracker = MemoryTracker()
    tracker.start_tracking()
    for number in range(100):
        tracker._record(value=number)
    assert len(tracker.session_stats) < 8 and tracker.session_stats[-1]["value"] > 80
    assert tracker.get_session_stats()["value"] == {"first": 0, "last": 99, "min": 0, "max": 99, "mean": 49.5}


# ---- Whose ----


def test_another_process(sleeper):
    memory, cpu, io = (kind(pid=sleeper.pid) for kind in (MemoryTracker, CPUTracker, IOTracker))
    assert memory.pid == sleeper.pid and memory.get_current_memory() == pytest.approx(status("VmRSS", sleeper.pid) / MB, abs=1)
    assert cpu.get_current_stats()["threads"] == 1 and cpu.get_current_usage() < 50
    sleeper.kill()
    os.waitid(os.P_PID, sleeper.pid, os.WEXITED | os.WNOWAIT)  # it has ended, and is still listed
    assert memory.get_current_memory() == 0.0
    stats = memory.get_current_stats()
    assert (stats["used_mb"], stats["pss_mb"], stats["alive"]) == (0.0, 0.0, False) and stats["total_gb"] > 0
    sleeper.wait()
    assert cpu.get_current_usage() == 0.0 and cpu.get_current_stats()["alive"] is False and cpu.get_thread_usage() == []
    assert io.get_current_stats()["alive"] is False and io.get_current_stats()["read_mb"] == 0.0 and "ended" in repr(memory)
    with pytest.raises(ProcessLookupError):
        MemoryTracker(pid=sleeper.pid)


def test_what_is_no_process():
    for pid in (0, -1, 2 ** 22 + 1):
        with pytest.raises(ProcessLookupError):
            MemoryTracker(pid=pid)
    for pid in ("1", 1.0, True):
        with pytest.raises(TypeError):
            CPUTracker(pid=pid)


def test_threads_share_them():
    trackers, wrong = [kind() for kind in ALL], []

    def use():
        try:
            for _ in range(50):
                for tracker in trackers:
                    tracker.get_current_stats()
        except Exception as error:
            wrong.append(error)

    for tracker in trackers:
        tracker.start_tracking()
    threads = [threading.Thread(target=use) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == [] and [tracker.get_session_stats()["samples"] for tracker in trackers] == 5 * [300]


def test_a_forked_child_has_its_own(tmp_path):
    said, _ = package.run("""
        import json, os, time, inferscope
        memory, cpu = inferscope.MemoryTracker(), inferscope.CPUTracker()
        end = time.process_time() + 0.2
        while time.process_time() < end: pass
        memory._lock.acquire(), cpu._lock.acquire()  # as if another thread were in there
        if os.fork() == 0:
            block = bytearray(64 << 20)
            usage = cpu.get_current_usage()
            print(json.dumps([memory.pid == os.getpid(), memory.get_current_memory(), usage, cpu.get_current_stats()["user_s"]]), flush=True)
            os._exit(0)
        os.wait()
        memory._lock.release(), cpu._lock.release()
        print(json.dumps([memory.pid == os.getpid(), memory.get_current_memory()]))
        """, tmp_path)
    child, parent = map(json.loads, said.splitlines())
    assert child[0] and child[1] > 64 and 0 <= child[2] < 200 and child[3] < 0.2
    assert parent[0] and 0 < parent[1] < child[1]


def test_a_program_that_closes_all_descriptors(tmp_path):
    said, _ = package.run("""
        import os, inferscope
        trackers = [inferscope.MemoryTracker(), inferscope.CPUTracker(), inferscope.IOTracker(), inferscope.NetworkTracker()]
        numbers = max(map(int, os.listdir("/proc/self/fd")))
        os.closerange(3, numbers + 1)
        files = [open("/dev/zero", "rb", buffering=0) for _ in range(numbers)]  # which get their numbers
        print(trackers[0].get_current_memory() > 1, all(tracker.get_current_stats() for tracker in trackers))
        del trackers
        print(all(len(file.read(10)) == 10 for file in files))
        """, tmp_path)
    assert said.split() == ["True", "True", "True"]


def test_nothing_is_left_open():
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        for kind in ALL:
            kind().get_current_stats()
    assert len(os.listdir("/proc/self/fd")) == before


# ---- GPUs ----


class FakeCuda:
    """torch.cuda of a program that has used it."""

    def __init__(self, initialized=True, uuid=None):
        self.initialized, self.uuid = initialized, uuid

    def is_initialized(self):
        return self.initialized

    def current_device(self):
        return 0

    def memory_allocated(self, device):
        return 6 * GB

    def memory_reserved(self, device):
        return 9 * GB

    def get_device_properties(self, device):
        return types.SimpleNamespace(total_memory=24 * GB, uuid=self.uuid)


@pytest.fixture
def nvml(monkeypatch):
    """What NVML says."""
    answer = [None, 0.01, []]
    monkeypatch.setattr(GPUTracker, "_nvml", lambda self: tuple(answer))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return answer


def device(used, total, uuid="GPU-1", **more):
    return {"name": "Double", "uuid": uuid, "memory_used_bytes": used, "memory_total_bytes": total, **more}


def test_no_gpu(nvml, monkeypatch):
    nvml[0] = "libnvidia-ml.so.1 cannot be loaded"
    monkeypatch.setitem(sys.modules, "torch", types.ModuleType("torch"))  # half imported
    tracker = GPUTracker()
    stats = tracker.get_current_stats()
    assert {key: stats[key] for key in ("memory_mb", "memory_used_percent", "reserved_mb", "total_gb", "source", "reason")} == {
        "memory_mb": 0.0, "memory_used_percent": 0.0, "reserved_mb": 0.0, "total_gb": 0.0, "source": "none",
        "reason": "libnvidia-ml.so.1 cannot be loaded"}
    assert (tracker.source, tracker.get_current_memory(), tracker.get_current_usage(), tracker.get_device_stats()) == ("none", 0.0, 0.0, [])


def test_what_torch_says(nvml, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(cuda=FakeCuda()))
    tracker = GPUTracker()
    stats = tracker.get_current_stats()
    assert (stats["memory_mb"], stats["memory_used_percent"], stats["reserved_mb"], stats["total_gb"]) == (6 * 1024, 25.0, 9 * 1024, 24.0)
    assert tracker.source == stats["source"] == "torch" and tracker.get_current_memory() == 6 * 1024
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(cuda=FakeCuda(initialized=False)))
    assert tracker.source == "none"
    broken = FakeCuda()
    broken.memory_allocated = lambda device: 1 / 0
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(cuda=broken))
    assert tracker.source == "none" and tracker.get_current_stats()["memory_mb"] == 0.0


def test_torch_and_driver_mean_the_same_gpu(nvml, monkeypatch):
    nvml[2] = [device(1 * GB, 24 * GB, "GPU-a"), device(22 * GB, 24 * GB, "GPU-b", utilization_percent=70)]
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(cuda=FakeCuda(uuid="b")))
    stats = GPUTracker().get_current_stats()
    assert (stats["source"], stats["uuid"], stats["memory_used_percent"], stats["utilization_percent"]) == ("torch", "GPU-b", 25.0, 70)
    assert stats["device_used_percent"] == pytest.approx(100 * 22 / 24)
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(cuda=FakeCuda()))
    assert GPUTracker().get_current_stats()["uuid"] == "GPU-a"
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1,0")
    assert GPUTracker().get_current_stats()["uuid"] == "GPU-b"
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "MIG-x")
    assert "uuid" not in GPUTracker().get_current_stats()


def test_what_the_driver_says(nvml, monkeypatch):
    nvml[2] = [device(6 * GB, 24 * GB, processes={os.getpid(): 2 * GB, 1: GB}, power_mw=90500), device(12 * GB, 24 * GB, "GPU-2", error=None)]
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.setattr(gpu_module, "_pids_are_comparable", lambda: True)
    stats = GPUTracker().get_current_stats()
    assert (stats["source"], stats["memory_mb"], stats["memory_used_percent"], stats["total_gb"]) == ("nvml", 2048.0, 25.0, 24.0)
    assert (stats["power_w"], stats["temperature_c"], stats["age_s"], stats["device"]) == (90.5, None, 0.01, 0)
    monkeypatch.setattr(gpu_module, "_pids_are_comparable", lambda: False)  # in a container
    assert GPUTracker().get_current_stats()["memory_mb"] == 6 * 1024
    assert GPUTracker(device=1).get_current_stats()["memory_used_percent"] == 50.0
    assert GPUTracker(device=2).get_current_stats()["reason"] == "there is no GPU 2"
    assert [row["device_used_percent"] for row in GPUTracker().get_device_stats()] == [25.0, 50.0]


@pytest.mark.parametrize("visible,found", [("1", 1), ("1,0", 1), ("GPU-b", 1), ("GPU-a,GPU-b", 0), ("", None), ("-1", None), ("MIG-x", None),
                                           ("GPU-c", None), ("7", None)])
def test_the_gpu_that_cuda_would_take(nvml, monkeypatch, visible, found):
    nvml[2] = [device(6 * GB, 24 * GB, "GPU-a1"), device(12 * GB, 24 * GB, "GPU-b2")]
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    stats = GPUTracker().get_current_stats()
    assert (stats["source"], stats["device"]) == (("none", None) if found is None else ("nvml", found))
    assert stats.get("uuid") == (None if found is None else ["GPU-a1", "GPU-b2"][found])
    assert ("reason" in stats) == (found is None) and GPUTracker().source == stats["source"]
    assert GPUTracker(device=0).get_current_stats()["uuid"] == "GPU-a1"  # as NVML numbers them


needs_double = pytest.mark.skipif(not (DOUBLES / "nvml").exists(), reason="the doubles of NVIDIA's libraries are not built")


@needs_double
def test_the_drivers_library(tmp_path):
    said, _ = package.run("""
        import json, os, sys, inferscope
        tracker = inferscope.GPUTracker()
        rows = [tracker.get_current_stats(), *tracker.get_device_stats()]
        assert "torch" not in sys.modules
        reader, writer = os.pipe()
        if os.fork() == 0:
            os.write(writer, json.dumps(tracker.get_current_stats()).encode())
            os._exit(0)
        os.wait()
        print(json.dumps([*rows, json.loads(os.read(reader, 65536))]))
        """, tmp_path, LD_LIBRARY_PATH=str(DOUBLES / "nvml"), DOUBLE_DEVICES="2",
        DOUBLE_NVML="memory_used=25769803776,util=35/12,1.memory_used=1073741824,1.temperature=70")
    stats, first, second, child = json.loads(said)
    assert stats["source"] == "nvml" and stats["memory_used_percent"] == 100.0 and stats["total_gb"] == 24
    assert (first["utilization_percent"], second["temperature_c"], second["device_used_mb"]) == (35, 70, 1024)
    assert child["source"] == "nvml" and child["uuid"] == stats["uuid"]


@needs_double
@pytest.mark.parametrize("fault, reason", [("nvml_init=9", "the driver is not loaded"), ("nvml_slow=600000", "NVML does not answer")])
def test_a_library_that_fails_or_hangs(tmp_path, fault, reason):
    said, _ = package.run("""
        import json, time, inferscope
        tracker = inferscope.GPUTracker(timeout=0.2)
        begin = time.monotonic()
        stats = tracker.get_current_stats()
        print(json.dumps([stats, time.monotonic() - begin]))
        """, tmp_path, LD_LIBRARY_PATH=str(DOUBLES / "nvml"), DOUBLE_DEVICES="1", DOUBLE_FAULT=fault)
    stats, seconds = json.loads(said)
    assert (stats["source"], stats["reason"]) == ("none", reason) and seconds < 2


# ---- All interpreters ----


@pytest.mark.parametrize("python", recorded_pythons(), ids=str)
def test_every_python(python, tmp_path):
    said, _ = package.run("""
        import json, inferscope
        from inferscope import CPUTracker, GPUTracker, IOTracker, MemoryTracker, NetworkTracker
        print(json.dumps([kind().get_current_stats() for kind in (MemoryTracker, CPUTracker, IOTracker, GPUTracker, NetworkTracker)]))
        """, tmp_path, python=python.path)
    memory, cpu, io, gpu, network = json.loads(said)
    assert memory["used_mb"] > 1 and cpu["threads"] >= 1 and io["read_count"] > 0 and network["interfaces"]
    assert gpu["source"] in ("none", "nvml")


def test_names():
    for kind in ALL:
        assert getattr(inferscope, kind.__name__) is kind and kind.__name__ in dir(inferscope) and kind.__name__ in inferscope.__all__
