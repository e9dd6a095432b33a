"""Alerts of real programs under `inferscope monitor`: told, kept in the trace, acted on, and the last seconds kept."""

import json
import os
import re
import signal
import subprocess
import sys
import textwrap

import pytest

import sbt
from package import environment, need_package
from recording import BUILD, INFERSCOPE, PATIENCE

need_package()

INSTANT, COUNTER = 3, 4
TRAINING = """
    import threading, time
    import inferscope

    def step(number):
        with inferscope.scope(f"train_step {number}"):
            with inferscope.scope("forward"):
                time.sleep(0.006)
            time.sleep(0.002)

    for number in range(150):
        step(number)
    threading.Event().wait(3.2)
    for number in range(150, 180):
        step(number)
"""


PROGRAM_NAME = f"{os.path.basename(sys.executable)} program.py"


def monitor_all(folder, code, *options):
    script = folder / "program.py"
    script.write_text(textwrap.dedent(code))
    command = [INFERSCOPE, "monitor", "--no-view", "--interval", "0.1", "--trace", folder / "trace.sbt", *options, "--", sys.executable, script]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False, timeout=PATIENCE)
    return done.returncode, done.stderr, done.stdout


def monitor(folder, code, *options):
    return monitor_all(folder, code, *options)[:2]


def alerts_of(path):
    """What the trace says: (kind, phase) and the metadata, in order."""
    trace = sbt.read(path)
    assert trace.violations == [] and trace.damage == []
    track = [number for number, t in trace.tracks.items() if trace.strings.get(t["name"], "") == "alerts"]
    assert len(track) <= 1
    return [event.metadata for event in trace.events if track and event.track == track[0] and event.kind == INSTANT]


def test_a_stall_is_told_acted_on_and_kept(tmp_path):
    log, seen = tmp_path / "alerts.log", tmp_path / "seen"
    for number in 1, 2:
        (tmp_path / f"trace.alert-{number}.sbt").write_text("of a run before")
    status, _ = monitor(
        tmp_path,
        TRAINING,
        "--on-alert",
        f"*=log:{log}",
        "--on-alert",
        f'stall=command:echo "$INFERSCOPE_ALERT_KIND $INFERSCOPE_ALERT_SEVERITY" >> {seen}',
        "--on-alert",
        "st*=snapshot:2.5",
        "--on-alert",
        "s*=snapshot:1",
        "--alert",
        "many steps: steps.count > 100",
    )
    assert status == 0
    alerts = alerts_of(tmp_path / "trace.sbt")
    stalls = [alert for alert in alerts if alert["kind"] == "stall"]
    assert [alert["phase"] for alert in stalls] == ["begin", "end"]
    assert stalls[0]["severity"] == "critical" and "train_step" in stalls[0]["text"]
    assert 2 < stalls[0]["value"] < 3 and stalls[0]["threshold"] == 2
    rules = [alert for alert in alerts if alert["kind"] == "rule"]
    assert [(alert["subject"], alert["phase"]) for alert in rules] == [("many steps", "begin"), ("many steps", "end")]
    assert {alert["kind"] for alert in alerts} == {"stall", "rule"}
    lines = [line.split()[1:4] for line in log.read_text().splitlines()]
    assert ["begin", "critical", "stall"] in lines and ["end", "critical", "stall"] in lines
    assert seen.read_text() == "stall critical\n"

    kept = tmp_path / f"trace.alert-{stalls[0]['number']}.sbt"
    assert [alert["kind"] for alert in alerts_of(kept)][-1:] == ["stall"]
    assert sorted(path.name for path in tmp_path.glob(f"{kept.name}*")) == [kept.name, f"{kept.name}.old"]
    assert kept.with_name(f"{kept.name}.old").read_text() == "of a run before"
    whole, part = sbt.read(tmp_path / "trace.sbt"), sbt.read(kept)
    assert 0 < len(part.events) < len(whole.events) / 2
    info = json.loads(subprocess.check_output([INFERSCOPE, "info", "--format", "json", kept], text=True, timeout=PATIENCE))
    assert info["complete"] is True and info["events"] == len(part.events)
    analysis = subprocess.run([INFERSCOPE, "analyze", "--format", "json", "--output", "-", kept], capture_output=True, text=True, timeout=PATIENCE)
    assert analysis.returncode == 0 and "train_step" in analysis.stdout


# Waits for its input for more than half of its time, named as PyTorch names that, and keeps 20 MB of each step; 600 MB in all.
LEAK = """
    import time
    import inferscope

    kept, end = [], time.monotonic() + 7
    while time.monotonic() < end:
        with inferscope.scope("train_step"):
            with inferscope.scope("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"):
                time.sleep(0.06)
            if len(kept) < 30:
                kept.append(b"x" * 20_000_000)
            time.sleep(0.04)
"""


def test_a_leak_and_an_input_that_is_waited_for(tmp_path):
    """Each is told once, however long it lasts.  The limit is a third of the leak above what is in use by whomever."""
    now = subprocess.check_output([INFERSCOPE, "top", "--json", "--interval", "0.1", str(os.getpid())], text=True, timeout=PATIENCE)
    memory = json.loads(now)["memory"]
    limit = memory["used"] + 200e6 / memory["total_bytes"]
    status, _ = monitor(tmp_path, LEAK, "--memory-threshold", f"{limit:.6f}")
    alerts = [alert for alert in alerts_of(tmp_path / "trace.sbt") if alert["kind"] in ("memory_high", "input_wait")]
    assert status == 0 and sorted((alert["kind"], alert["phase"]) for alert in alerts) == [
        ("input_wait", "begin"), ("input_wait", "end"), ("memory_high", "begin"), ("memory_high", "end")]
    high, waits = (next(alert for alert in alerts if alert["kind"] == kind) for kind in ("memory_high", "input_wait"))
    assert high["value"] > high["threshold"] == pytest.approx(limit, abs=1e-6)
    assert re.search(r" % of the (machine's|container's) .* of memory are used; the program has \d+ MB$", high["text"])
    assert 0.4 < waits["value"] < 0.75 and waits["threshold"] == 0.05
    assert waits["text"] == f"Steps wait for their input for {100 * waits['value']:.0f} % of their time"


# A queue that fills up, and is emptied again; the rest is as a program does it that watches itself.
QUEUE = """
    import time
    import inferscope

    queue = []
    with inferscope.LiveMonitor(interval=0.05) as monitor:
        monitor.add_custom_metric("queue", lambda: len(queue))
        monitor.add_custom_bottleneck_detector(
            lambda sample: sample["custom"].get("queue", 0) > 100 and {"value": sample["custom"]["queue"], "threshold": 100, "severity": 0.95,
                                                                       "text": "the queue is long", "suggestions": ["more workers"],
                                                                       "release": 0.1}, name="queue_long")
        time.sleep(0.4)
        queue.extend(range(150))
        time.sleep(1.8)
        queue.clear()
        time.sleep(0.6)
"""


def test_what_a_program_says_itself(tmp_path):
    """A metric and a detector of LiveMonitor: in the trace, in rules, told and acted on as alerts of ours."""
    log, seen = tmp_path / "alerts.log", tmp_path / "seen"
    status, _ = monitor(tmp_path, QUEUE, "--alert", "known: (SELECT count(*) FROM counters WHERE name = 'queue' AND value IN (0, 150)) = 1",
                        "--on-alert", f"queue_*=log:{log}",
                        "--on-alert", f'custom=command:echo "$INFERSCOPE_ALERT_SUBJECT $INFERSCOPE_ALERT_ADVICE" >> {seen}')
    alerts = [alert for alert in alerts_of(tmp_path / "trace.sbt") if alert["kind"] in ("custom", "rule")]
    assert status == 0
    assert [(alert["kind"], alert["subject"], alert["phase"]) for alert in alerts if alert["kind"] == "custom"] == [
        ("custom", "queue_long", "begin"), ("custom", "queue_long", "end")]
    assert ("rule", "known", "begin") in [(alert["kind"], alert["subject"], alert["phase"]) for alert in alerts]
    told = next(alert for alert in alerts if alert["kind"] == "custom")
    assert (told["severity"], told["value"], told["threshold"], told["text"], told["advice"]) == (
        "critical", 150, 100, "the queue is long", "more workers")
    assert [line.split()[1:5] for line in log.read_text().splitlines()] == [
        ["begin", "critical", "custom", "[queue_long]"], ["end", "critical", "custom", "[queue_long]"]]
    assert seen.read_text() == "queue_long more workers\n"
    trace = sbt.read(tmp_path / "trace.sbt")
    values = {event.value for event in trace.events if event.kind == COUNTER and trace.strings.get(event.name) == "queue"}
    assert values == {0, 150}


# Processes that end in all ways after a second, and one that is killed; they are waited for at once, or not at all.
WORKERS = """
    import ctypes, os, resource, signal, time

    def work(end):
        worker = os.fork()
        if worker == 0:
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            time.sleep(1)
            end()
            os._exit(0)
        return worker

    workers = [work(lambda: ctypes.string_at(0)), work(lambda: os._exit(1)), work(lambda: os.kill(os.getpid(), signal.SIGTERM)),
               work(lambda: None), work(lambda: time.sleep(30))]
    print(*workers, flush=True)
    if {reap}:
        for worker in workers[:4]:
            os.waitpid(worker, 0)
    time.sleep(1.5)
    os.kill(workers[4], signal.SIGKILL)
    if {reap}:
        os.waitpid(workers[4], 0)
    time.sleep({rest})
"""


def tells_afterwards():
    return tuple(int(part) for part in re.findall(r"\d+", os.uname().release)[:2]) >= (6, 15)


# With a rest of 0 nobody looks between the last death and the end of the program.
@pytest.mark.parametrize("reap,rest", [(False, 1), (True, 1), (False, 0)])
def test_workers_that_are_killed(tmp_path, reap, rest):
    if reap and not tells_afterwards():
        pytest.skip("this kernel does not tell how a process ended that its parent has waited for")
    status, _, out = monitor_all(tmp_path, WORKERS.format(reap=reap, rest=rest))
    workers = out.split()
    died = [alert for alert in alerts_of(tmp_path / "trace.sbt") if alert["kind"] == "process_died"]
    assert status == 0 and sorted(alert["phase"] for alert in died) == ["begin", "begin", "end", "end"]
    assert [(alert["subject"], alert["severity"], alert["value"], alert["text"]) for alert in died if alert["phase"] == "begin"] == [
        ("SIGSEGV", "warning", 11, f"Process {workers[0]} ({PROGRAM_NAME}) of the program was killed by signal 11 (SIGSEGV)"),
        ("SIGKILL", "warning", 9, f"Process {workers[4]} ({PROGRAM_NAME}) of the program was killed by signal 9 (SIGKILL)")]


def test_many_workers_that_end_as_they_should(tmp_path):
    status, _ = monitor(tmp_path, """
        import subprocess, time
        for _ in range(2):
            workers = [subprocess.Popen(["sleep", "0.7"]) for _ in range(100)]
            assert [worker.wait() for worker in workers] == [0] * 100
            time.sleep(0.3)
    """)
    assert status == 0 and alerts_of(tmp_path / "trace.sbt") == []


def test_top_tells_of_workers(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(textwrap.dedent(WORKERS.format(reap=False, rest=3)))
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True) as program:
        workers = program.stdout.readline().split()
        done = subprocess.run([INFERSCOPE, "top", "--plain", "--interval", "0.1", str(program.pid)], capture_output=True, text=True,
                              timeout=PATIENCE, check=False)
    told = re.findall(r"alert warning process_died (\S+): Process (\d+) \((.*?)\) of", done.stderr)
    assert told == [("SIGSEGV", workers[0], PROGRAM_NAME), ("SIGKILL", workers[4], PROGRAM_NAME)]


@pytest.mark.parametrize("sent,told", [(signal.SIGKILL, True), (signal.SIGTERM, False)])
def test_top_tells_of_the_process_itself(sent, told):
    with subprocess.Popen(["sleep", "60"]) as program:
        top = subprocess.Popen([INFERSCOPE, "top", "--plain", "--interval", "0.1", str(program.pid)], stderr=subprocess.PIPE, text=True)
        line = top.stderr.readline()
        program.send_signal(sent)
        said = line + top.communicate(timeout=PATIENCE)[1]
    assert said.endswith(f"inferscope: process {program.pid} has ended\n") and "s  cpu" in line
    assert ("alert critical process_died: The program was killed by signal 9 (SIGKILL)" in said) == told and ("alert" in said.replace("alerts", "")) == told


@pytest.mark.parametrize("end,severity,text", [
    ("os.kill(os.getpid(), 9)", "critical", "The program was killed by signal 9 (SIGKILL)"),
    ("os._exit(137)", "warning", "The program exited with status 137, as a shell does when one of its commands was killed by signal 9 (SIGKILL)"),
    ("os._exit(150)", None, None)])
def test_how_the_program_ends(tmp_path, end, severity, text):
    status, _ = monitor(tmp_path, f"import os; {end}")
    begun = [alert for alert in alerts_of(tmp_path / "trace.sbt") if alert["phase"] == "begin"]
    assert status == (150 if text is None else 137)
    assert [(alert["kind"], alert["severity"], alert["text"]) for alert in begun] == ([("process_died", severity, text)] if text else [])


GPU_FILLS = """
import ctypes, time
assert ctypes.CDLL("libcuda.so.1").cuInit(0) == 0
time.sleep(1)
with open({used!r}, "w") as file:
    file.write(str(23 << 30))
time.sleep(5)
"""


@pytest.mark.skipif(not (BUILD / "tests" / "doubles" / "nvml").exists(), reason="the doubles of NVIDIA's libraries are not built")
def test_a_gpu_that_is_full(tmp_path, monkeypatch):
    """What NVML's double says, through the recorder's own questions; the alert ends with the program."""
    used = tmp_path / "used"
    used.write_text(str(4 << 30))
    monkeypatch.setenv("LD_LIBRARY_PATH", ":".join(str(BUILD / "tests" / "doubles" / name) for name in ("driver", "nvml")))
    monkeypatch.setenv("DOUBLE_DEVICES", "1")
    monkeypatch.setenv("DOUBLE_NVML", f"memory_used=@{used}")
    status, _ = monitor(tmp_path, GPU_FILLS.format(used=str(used)))
    alerts = [alert for alert in alerts_of(tmp_path / "trace.sbt") if alert["kind"] == "gpu_memory_high"]
    assert status == 0 and [(alert["subject"], alert["phase"]) for alert in alerts] == [("GPU 0", "begin"), ("GPU 0", "end")]
    assert alerts[0]["value"] == pytest.approx(23 / 24, abs=0.02) and alerts[0]["threshold"] == 0.9


def test_a_rule_that_makes_no_sense_starts_nothing(tmp_path):
    made = tmp_path / "made"
    status, out = monitor(tmp_path, f"open({str(made)!r}, 'w')", "--alert", "bad: memory.usedd > 1")
    assert status == 2 and "alert 'bad'" in out and "memory.usedd" in out
    assert not made.exists() and not (tmp_path / "trace.sbt").exists()
