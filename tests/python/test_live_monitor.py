"""LiveMonitor: what it takes for alarming, in simulated time; and its threads, with functions that fail, hang and fork."""

import json
import logging
import os
import threading
import time

import pytest

import package
from interpreters import recorded_pythons

package.need_package()
import inferscope  # noqa: E402
from inferscope import BottleneckType, LiveMonitor, live  # noqa: E402
from inferscope._live_alerts import Judge, LiveConfig  # noqa: E402

GB = 1024  # MB


class Run:
    """A program in simulated time, ten samples a second; what is told is (second, kind, begins)."""

    def __init__(self, **config):
        self.told, self.now = [], 0.0
        self.judge = Judge(LiveConfig(**config), lambda alert: self.told.append((round(self.now, 1), alert.kind, alert.active)))

    def go(self, seconds, memory_mb=lambda t: 2 * GB, memory_percent=lambda t: 50.0, available=lambda t: 8 * GB, gpu=None, held=None):
        end = self.now + seconds
        while self.now < end:
            self.now = round(self.now + 0.1, 1)
            sample = {"time_s": self.now, "memory_mb": memory_mb(self.now), "memory_percent": memory_percent(self.now),
                      "memory_available_mb": available(self.now)}
            if held:
                sample["memory_held_mb"] = held(self.now)
            if gpu:
                sample.update(gpu_source="nvml", gpu_memory_percent=gpu(self.now))
            self.judge.judge(sample)
        return self

    def kinds(self):
        return [(kind, begins) for _, kind, begins in self.told]


# ---- What is alarming ----


def test_steady_programs_are_left_alone():
    noise = [((i * 7919) % 1000) / 1000 for i in range(1000)]

    def jitter(t):
        return noise[int(t * 10) % 1000]

    programs = [
        {},
        {"memory_percent": lambda t: 70 + 9 * jitter(t), "gpu": lambda t: 80 + 9 * jitter(t)},
        {"memory_mb": lambda t: 2 * GB + 500 * jitter(t)},
        {"memory_mb": lambda t: 2 * GB + 50 * (t % 60)},                     # garbage that is collected every minute,
        {"memory_mb": lambda t: 2 * GB + 20 * (t % 100)},                    # or more rarely
        {"memory_mb": lambda t: min(6 * GB, 200 * t)},                       # a beginning
        {"memory_mb": lambda t: 6 * GB * (1 - 2 ** (-t / 20))},              # one that slows down
        {"memory_mb": lambda t: 2 * GB + 0.1 * t, "available": lambda t: 8 * GB},  # so slowly that it takes a day
        {"memory_mb": lambda t: 2 * GB + 200 * t, "held": lambda t: 2 * GB},       # a mapped file that is read
    ]
    for program in programs:
        assert Run().go(600, **program).told == [], program


def test_high_memory_is_said_once_and_ended_once():
    run = Run()
    run.go(10, memory_percent=lambda t: 79.0)
    run.go(20, memory_percent=lambda t: 81.0 + (t * 10 % 3) - 1.5)  # 79.5 to 81.5: around the threshold
    run.go(20, memory_percent=lambda t: 85.0)
    run.go(20, memory_percent=lambda t: 78.0)  # below, but not clearly
    assert run.kinds() == [("memory_high", True)]
    run.go(20, memory_percent=lambda t: 60.0)
    assert run.kinds() == [("memory_high", True), ("memory_high", False)]
    alert, = run.judge.alerts
    assert 70.0 + 2.9 <= alert.end_s <= 70.0 + 3.2 and alert.threshold == 0.8 and alert.severity == 0.8 and alert.value == 0.85
    assert alert.type is BottleneckType.MEMORY_ALLOCATION and alert.level == "warning"
    assert alert.suggestions[:3] == ["Reduce batch size", "Enable gradient checkpointing", "Use mixed precision"]
    run.go(10, memory_percent=lambda t: 90.0)
    assert [alert.frequency for alert in run.judge.alerts] == [1, 2] and [alert.number for alert in run.judge.alerts] == [1, 2]


def test_a_moment_is_no_alert():
    assert Run().go(60, memory_percent=lambda t: 95.0 if t % 10 < 0.8 else 50.0).told == []
    run = Run().go(60, memory_percent=lambda t: 50.0 if t % 10 < 2 else 95.0)  # nor is it an end
    assert run.kinds() == [("memory_high", True)]


def test_full_memory_of_a_gpu():
    run = Run().go(10, gpu=lambda t: 89.0).go(10, gpu=lambda t: 95.0).go(10, gpu=lambda t: 40.0)
    assert run.kinds() == [("gpu_memory_high", True), ("gpu_memory_high", False)]
    assert 11.0 <= run.told[0][0] <= 11.3
    alert, = run.judge.alerts
    assert (alert.type, alert.severity, alert.level, alert.threshold) == (BottleneckType.GPU_TRANSFER, 0.9, "critical", 0.9)


def test_a_gpu_that_others_fill():
    full = {"time_s": 0, "gpu_source": "nvml", "gpu_device": 1, "gpu_memory_percent": 97.0, "gpu_memory_mb": 0.0, "gpu_process_mb": 0.0}
    run = Run()

    def judge(seconds, **more):
        for _ in range(10 * seconds):
            run.now = round(run.now + 0.1, 1)
            run.judge.judge({**full, "time_s": run.now, **more})
        return run.kinds()

    assert judge(10) == []
    assert judge(10, gpu_process_mb=300.0, gpu_memory_mb=300.0) == [("gpu_memory_high", True)]
    assert judge(10) == [("gpu_memory_high", True), ("gpu_memory_high", False)]  # it has left
    assert judge(10, gpu_source="torch", gpu_memory_mb=9.0)[2:] == [("gpu_memory_high", True)]  # the driver does not name it, torch does
    assert judge(10)[3:] == [("gpu_memory_high", False)]
    assert judge(10, gpu_process_mb=None, gpu_memory_mb=23000.0)[4:] == [("gpu_memory_high", True)]  # in a container


def test_a_leak_is_told_before_it_is_too_late():
    leak = {"memory_mb": lambda t: 2 * GB + 5 * max(0, t - 60), "available": lambda t: 8 * GB - 5 * max(0, t - 60)}  # full after 27 minutes
    run = Run().go(400, **leak)
    assert run.kinds() == [("memory_growth", True)]
    when, alert = run.told[0][0], run.judge.alerts[0]
    assert 60 < when < 240 and 15 < float(alert.text.split()[-2]) < 28, (when, alert.text)
    run.go(200, memory_mb=lambda t: 2 * GB, available=lambda t: 8 * GB)
    assert run.kinds() == [("memory_growth", True), ("memory_growth", False)]
    assert Run().go(400, held=leak["memory_mb"], available=leak["available"]).kinds() == [("memory_growth", True)]


def test_thresholds_of_ones_own():
    assert Run(memory_threshold=0.4).go(10).kinds() == [("memory_high", True)]
    for wrong in ({"memory_threshold": 0}, {"gpu_threshold": 80}, {"sampling_interval": 0.001}, {"hold": -1}, {"history": 0}, {"history": 1.5}):
        with pytest.raises(ValueError):
            LiveConfig(**wrong)
    with pytest.raises(TypeError):
        LiveMonitor(config={"memory": 0.5})

    class Others:
        memory_threshold, sampling_interval, profiling_level = 0.7, 0.5, "basic"

    assert LiveMonitor(config=Others()).config == LiveConfig(memory_threshold=0.7, sampling_interval=0.5)
    assert LiveMonitor(0.2, config=Others()).config.sampling_interval == 0.2
    assert LiveMonitor().config == LiveConfig(0.8, 0.9, 0.05, sampling_interval=0.1)


def test_bounds(monkeypatch):
    monkeypatch.setattr("inferscope._live_alerts.ALERTS_MOST", 10)
    monkeypatch.setattr("inferscope._live_alerts.CONDITIONS_MOST", 20)
    judge = Judge(LiveConfig(), lambda alert: None)
    for number in range(100):
        judge.set(number, "kind", True, str(number), hold=0, release=0, type=None, severity=1, text="")
        judge.set(number, "kind", False, str(number), hold=0, release=0)
    assert len(judge.conditions) <= 20 and [alert.number for alert in judge.alerts] == list(range(91, 101))


# ---- The monitor itself ----


def wait_for(condition, seconds=10):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    assert condition()


@pytest.fixture
def quick():
    """Says everything at once."""
    monitor = LiveMonitor(0.01, {"hold": 0.0, "release": 0.05, "function_timeout": 0.3, "history": 50})
    yield monitor
    monitor.stop()


def test_samples(quick):
    assert not quick.running and quick.history == [] and quick.alerts == []
    with quick:
        wait_for(lambda: quick.get_stats()["samples"] > 60)
        assert quick.running
        quick.start()
        names = [thread.name for thread in threading.enumerate()]
        assert names.count("inferscope-live") == 1 and "inferscope-live-functions" not in names
        assert all(thread.daemon for thread in threading.enumerate() if thread.name.startswith("inferscope"))
    assert not quick.running and "inferscope-live" not in [thread.name for thread in threading.enumerate()]
    history = quick.history
    assert len(history) == 50 and [row["time_s"] for row in history] == sorted(row["time_s"] for row in history)
    newest = history[-1]
    assert newest["memory_mb"] > newest["memory_held_mb"] > 10 and 0 < newest["memory_percent"] < 100 and newest["cpu_percent"] >= 0 and newest["custom"] == {}
    assert newest["gpu_source"] in ("none", "nvml", "torch") and quick.errors == []
    assert 0 < quick.get_stats()["cost_s"] < quick.get_stats()["duration_s"]
    quick.stop()


def test_metrics_and_detectors(quick, caplog):
    told, level = [], [0]
    quick.on_alert(lambda alert: told.append((alert.kind, alert.active, alert.value)))
    quick.add_custom_metric("queue", lambda: level[0])
    quick.add_custom_bottleneck_detector(
        lambda sample: {"value": sample["custom"]["queue"], "threshold": 10, "severity": 0.95, "type": "data_loading", "text": "the queue is long"}
        if sample["custom"].get("queue", 0) > 10 else None, name="queue_long")
    with caplog.at_level(logging.INFO, "inferscope"), quick:
        wait_for(lambda: quick.history and quick.history[-1]["custom"] == {"queue": 0})
        level[0] = 20
        wait_for(lambda: quick.active_alerts)
        level[0] = 0
        wait_for(lambda: len(told) == 2)
    assert told == [("queue_long", True, 20), ("queue_long", False, 20)]
    alert, = quick.alerts
    row = alert.as_dict()
    json.dumps(row)
    assert (row["type"], row["severity"], row["level"], row["threshold"], row["active"]) == ("data_loading", 0.95, "critical", 10, False)
    assert row["suggestions"] == inferscope.optimization_suggestions("data_loading") and alert.start_s < alert.end_s
    assert [record.getMessage() for record in caplog.records] == ["alert 1 begins: the queue is long", "alert 1 ends: the queue is long"]


def test_several_findings_of_one_detector(quick):
    found = [[{"name": "a"}, {"name": "b", "text": "b is slow"}]]
    quick.add_custom_bottleneck_detector(lambda sample: found[0], name="workers")
    with quick:
        wait_for(lambda: len(quick.active_alerts) == 2)
        found[0] = [{"name": "b"}]
        wait_for(lambda: len(quick.active_alerts) == 1)
        assert [(alert.kind, alert.subject) for alert in quick.active_alerts] == [("workers", "b")]
        found[0] = [True, "said in words", BottleneckType.SYNCHRONIZATION]
        wait_for(lambda: [alert.subject for alert in quick.active_alerts] == [""])
    assert quick.active_alerts == [] and len(quick.alerts) == 3


def test_failures_are_reported_once_and_stop_nothing(quick, caplog):
    calls = []

    def raises(*_):
        calls.append(1)
        raise (ValueError("no") if len(calls) % 2 else SystemExit(3))

    quick.add_custom_bottleneck_detector(raises)
    quick.add_custom_metric("text", lambda: "five")
    quick.add_custom_bottleneck_detector(lambda sample: 5, name="odd")
    quick.add_custom_bottleneck_detector(lambda sample: {"type": "nonsense"}, name="unknown type")
    quick.add_custom_bottleneck_detector(lambda sample: True, name="good")
    quick.on_alert(raises)
    with caplog.at_level(logging.WARNING, "inferscope"), quick:
        wait_for(lambda: len(calls) > 10 and quick.active_alerts)
    errors = {(row["sort"], row["name"]): row for row in quick.errors}
    assert set(errors) == {("detector", "raises"), ("callback", "raises"), ("metric", "text"), ("detector", "odd"), ("detector", "unknown type")}
    assert errors["detector", "raises"]["count"] > 5 and errors["detector", "raises"]["error"] in ("ValueError: no", "SystemExit: 3")
    assert "gave str" in errors["metric", "text"]["error"] and "not a valid BottleneckType" in errors["detector", "unknown type"]["error"]
    said = [record.getMessage() for record in caplog.records if "failed" in record.getMessage()]
    assert len(said) == len(set(said)) == 5
    assert [alert.kind for alert in quick.alerts] == ["good"]


def test_a_function_that_hangs_is_left_out(quick):
    hung, calls = threading.Event(), []
    quick.add_custom_bottleneck_detector(lambda sample: hung.wait(30), name="hangs")
    quick.add_custom_bottleneck_detector(lambda sample: calls.append(1), name="goes on")
    quick.add_custom_metric("also hangs", lambda: hung.wait(30))
    begin = time.monotonic()
    with quick:
        wait_for(lambda: len(calls) > 3)
        assert 0.3 < time.monotonic() - begin < 5
        assert [(row["name"], row["count"]) for row in quick.errors] == [("also hangs", 1), ("hangs", 1)]
        assert "left out" in quick.errors[0]["error"] and quick.get_stats()["samples"] > 10
    hung.set()
    assert len(quick.errors) == 2


def test_stop_waits_for_nobody(quick, monkeypatch):
    hung = threading.Event()
    monkeypatch.setattr(live, "JOIN", 0.2)
    quick.add_custom_bottleneck_detector(lambda sample: hung.wait(30), name="hangs")
    quick.config.function_timeout = 30
    quick.start()
    wait_for(lambda: quick._worker is not None and quick._worker.current)
    begin = time.monotonic()
    quick.stop()
    assert 0.2 <= time.monotonic() - begin < 3 and quick.errors[0]["error"] == "it had not returned when the monitor stopped"
    hung.set()


def test_stop_from_a_callback(quick):
    quick.on_alert(lambda alert: quick.stop())
    quick.add_custom_bottleneck_detector(lambda sample: True, name="once")
    quick.start()
    wait_for(lambda: not quick.running)
    wait_for(lambda: "inferscope-live-functions" not in [thread.name for thread in threading.enumerate()])
    assert [(alert.kind, alert.active) for alert in quick.alerts] == [("once", False)]
    quick.start()
    assert quick.alerts == [] or quick.alerts[0].number == 1  # it may be started again


def test_what_is_not_a_function(quick):
    for add in (quick.add_custom_bottleneck_detector, quick.on_alert, lambda one: quick.add_custom_metric("m", one), live.register_bottleneck_detector):
        with pytest.raises(TypeError):
            add("text")
    with pytest.raises(ValueError):
        quick.add_custom_metric("", len)


def test_the_share_of_an_operation(quick, monkeypatch):
    monkeypatch.setattr(live, "SHARE_LEAST", 0.9)
    with quick:
        end = time.monotonic() + 10
        while not quick.active_alerts and time.monotonic() < end:
            with quick.operation("load", BottleneckType.DATA_LOADING):
                time.sleep(0.02)
            with quick.operation("compute"):
                time.sleep(0.02)
        alert, = quick.active_alerts
        assert (alert.kind, alert.subject, alert.threshold) == ("data_loading", "load", 0.05) and 0.2 < alert.value < 0.9
        assert alert.severity == alert.value and alert.text.startswith("load takes ")
    with pytest.raises(ValueError):
        with quick.operation("x", "nonsense"):
            pass


def test_detectors_of_plugins(quick, monkeypatch):
    monkeypatch.setattr(live, "_everywhere", [])
    inferscope.register_bottleneck_detector(lambda sample: True, name="everywhere")
    with quick:
        wait_for(lambda: quick.active_alerts)
    quick.start()
    wait_for(lambda: quick.active_alerts)
    assert [alert.kind for alert in quick.alerts] == ["everywhere"]


def test_alerts_are_in_the_trace(tmp_path):
    said, _ = package.run("""
        import json, time, inferscope
        monitor = inferscope.LiveMonitor(0.01, {"hold": 0, "release": 0.02})
        early, deadline = True, time.monotonic() + 20
        monitor.add_custom_bottleneck_detector(lambda sample: {"value": 7} if early else None, name="early")
        with inferscope.Profiler(calls=False, gpu=False) as profiler, monitor:
            while not monitor.active_alerts and time.monotonic() < deadline: time.sleep(0.01)
            early = False
            while monitor.active_alerts and time.monotonic() < deadline: time.sleep(0.01)
        print(json.dumps([event for event in profiler.get_unified_timeline() if event["name"].startswith("alert")]))
        """, tmp_path)
    begin, end = json.loads(said)
    assert begin["name"] == end["name"] == "alert: early" and begin["event_type"] == "instant"
    assert (begin["metadata"]["state"], end["metadata"]["state"], begin["metadata"]["value"]) == ("begins", "ends", 7)


@pytest.mark.skipif(not (package.BUILD / "tests" / "doubles" / "nvml").exists(), reason="the doubles of NVIDIA's libraries are not built")
def test_a_gpu_that_is_full(tmp_path):
    said, _ = package.run("""
        import json, os, time, inferscope
        with open("processes", "w") as file: file.write("%d:%d" % (os.getpid(), 9 << 30))
        with inferscope.LiveMonitor(0.02, {"hold": 0.2}) as monitor:
            end = time.monotonic() + 10
            while not monitor.alerts and time.monotonic() < end: time.sleep(0.01)
            time.sleep(0.2)
        print(json.dumps([alert.as_dict() for alert in monitor.alerts]))
        """, tmp_path, LD_LIBRARY_PATH=str(package.BUILD / "tests" / "doubles" / "nvml"), DOUBLE_DEVICES="1",
        DOUBLE_NVML=f"memory_used={23 << 30},processes=@{tmp_path / 'processes'}")
    alert, = json.loads(said)
    assert (alert["kind"], alert["subject"], alert["text"]) == ("gpu_memory_high", "GPU 0", "96 % of the memory of GPU 0 is used")
    assert alert["start_s"] >= 0.2 and alert["value"] == pytest.approx(23 / 24)


# ---- Ends and forks ----

PROGRAM = """
    import inferscope, os, sys, threading, time
    monitor = inferscope.LiveMonitor(0.01, {"hold": 0})
    monitor.add_custom_bottleneck_detector(lambda sample: True, name="always")
    told = []
    monitor.on_alert(lambda alert: told.append(alert.active))
    monitor.start()
    while not told: time.sleep(0.01)
    """
SAID = "alert 1 begins: always\n"  # as of any program that has not set up its log


@pytest.mark.parametrize("python", recorded_pythons(), ids=str)
def test_every_python_ends(python, tmp_path):
    said, errors = package.run(PROGRAM + """
    import atexit
    atexit.register(lambda: print(told, [alert.active for alert in monitor.alerts], monitor.running))
    import inferscope.live
    atexit.unregister(inferscope.live._at_exit), atexit.register(inferscope.live._at_exit)  # before the line above
    """, tmp_path, python=python.path)
    assert (said, errors) == ("[True, False] [False] False\n", SAID)


def test_a_program_that_ends_while_a_function_hangs(tmp_path):
    begin = time.monotonic()
    said, errors = package.run(PROGRAM + """
    monitor.add_custom_metric("hangs", lambda: time.sleep(1000))
    time.sleep(0.1)
    print("done")
    """, tmp_path)
    assert said == "done\n" and "Traceback" not in errors and time.monotonic() - begin < 15


def test_forks(tmp_path):
    said, errors = package.run(PROGRAM + """
    for _ in range(20):
        pid = os.fork()
        if pid == 0:
            assert not monitor.running and monitor.alerts == [] and monitor.history == []
            with monitor:
                while not monitor.alerts: time.sleep(0.01)
            os._exit(monitor.running)
        assert os.waitpid(pid, 0)[1] == 0
    print(monitor.running, len(monitor.alerts))
    """, tmp_path)
    assert said == "True 1\n" and errors == 21 * SAID


def test_memory_is_bounded(tmp_path):
    said, _ = package.run("""
        import gc, inferscope, time
        from inferscope import live
        monitor = inferscope.LiveMonitor(0.01, {"hold": 0, "release": 0, "history": 10})
        monitor.add_custom_bottleneck_detector(lambda sample: {"name": str(sample["time_s"])}, name="many")
        monitor._set_up()
        memory = inferscope.MemoryTracker()
        for number in range(2400):
            sample = {"time_s": number * 0.1, "memory_mb": 100, "memory_percent": 50, "memory_available_mb": 1000, "custom": {}}
            monitor._judge.judge(sample)
            monitor._take_findings(monitor._functions[0], [{"name": str(number)}], number * 0.1)
            if number == 1200:
                before = memory.get_current_memory()
        print(memory.get_current_memory() - before)
        """, tmp_path)
    assert float(said) < 3
