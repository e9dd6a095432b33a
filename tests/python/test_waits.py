"""Threads as they are seen from outside: `inferscope run --waits`.

Real programs, recorded and read back with the second reader: the ledger adds up, the states are those that the program was
written to be in, and a program is none the worse for being looked at.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
import time
from collections import Counter, defaultdict
from pathlib import Path

import pytest

import sbt
from interpreters import all_pythons
from recording import INFERSCOPE, PATIENCE, run_to_end

SAMPLE, COUNTER = 6, 4
COMPLETE = 2
STATES, HOST, WIDE = 6, 7, 4
PYTHON = sys.executable


class Watched:
    """A trace, by thread: shares of time in each state, and the ledger."""

    def __init__(self, path, status, out=""):
        self.trace, self.status, self.out = sbt.read(path), status, out
        assert self.trace.violations == [] and self.trace.damage == []
        info = self.trace.info
        assert info["settings"]["waits"] is True and info["produced"] == info["recorded"] + info["lost"]
        self.sampling = info["sampling"]
        self.ms, self.samples, self.what = defaultdict(Counter), defaultdict(Counter), defaultdict(set)
        self.ledger = defaultdict(lambda: defaultdict(list))
        for event in self.trace.events:
            track = self.trace.tracks[event.track]
            name = self.trace.strings.get(event.name, "")
            if track["kind"] == STATES and event.kind == SAMPLE and event.phase == COMPLETE:
                self.ms[track["id"]][name] += self.length(event.time, event.time + event.duration)
                self.samples[track["id"]][name] += event.count
                if event.metadata and "what" in event.metadata:
                    self.what[track["id"], name].add(event.metadata["what"])
            elif event.kind == COUNTER:
                self.ledger[track["kind"], track["id"]][name].append((event.time, event.integer))

    def length(self, begin, end):
        return (self.trace.ns(end) - self.trace.ns(begin)) / 1e6

    def threads(self, process):
        numbers = [number for number, p in self.trace.processes.items() if p["pid"] == process]
        return [t["id"] for t in self.trace.tracks.values() if t["kind"] == STATES and t["process"] in numbers]

    def book(self, thread):
        """What the ledger says between the first and the last reading: wall, run and queue in ms."""
        readings = self.ledger[STATES, thread]
        times = [time for time, _ in readings["run_ns"]]
        grown = [(readings[name][-1][1] - readings[name][0][1]) / 1e6 for name in ("run_ns", "queue_ns")]
        return self.length(times[0], times[-1]), *grown

    def all_ms(self):
        return sum(self.ms.values(), Counter())


def watch(folder, code, *options, python=PYTHON, arguments=()):
    script = folder / "program.py"
    script.write_text(textwrap.dedent(code))
    return watch_command(folder, [python, script, *map(str, arguments)], *options)


def watch_command(folder, command, *options):
    path = folder / "trace.sbt"
    status, out = run_to_end([INFERSCOPE, "run", "--waits", "on", "--trace", path, *options, "--", *command])
    return Watched(path, status, out)


def main_of(seen):
    return next(iter(seen.trace.processes.values()))["pid"]


# ---- The ledger ----------------------------------------------------------------


def test_a_cpu_loop_runs_or_queues_all_the_time(tmp_path):
    seen = watch(tmp_path, """
        import time
        begin = time.monotonic()
        while time.monotonic() - begin < 3: pass
    """, "--calls", "off")
    wall, run, queue = seen.book(main_of(seen))
    assert wall > 2000 and run + queue == pytest.approx(wall, rel=0.02)
    states = seen.ms[main_of(seen)]
    assert states["running"] > 0.9 * sum(states.values())


def test_a_sleeper_is_blocked(tmp_path):
    seen = watch(tmp_path, "import time; time.sleep(2.5)", "--calls", "off")
    states = seen.ms[main_of(seen)]
    assert 2200 < states["sleep"] < 2700
    readings = seen.ledger[STATES, main_of(seen)]
    run = (readings["run_ns"][-1][1] - readings["run_ns"][0][1]) / 1e6
    assert run < 500


def test_states_cover_a_thread_s_life_without_gaps_or_overlaps(tmp_path):
    seen = watch(tmp_path, "import time\nfor _ in range(40): time.sleep(0.02); sum(range(200000))", "--calls", "off")
    tracks = [number for number, track in seen.trace.tracks.items() if track["kind"] == STATES]
    for number in tracks:
        events = states_of(seen, number)
        assert all(a.time + a.duration == b.time for a, b in zip(events, events[1:]))


def states_of(seen, track):
    return [e for e in seen.trace.events if e.track == track and e.kind == SAMPLE and e.phase == COMPLETE]


def waits_of(seen, thread, name):
    """The waits of one kind, each as its parts: (begin, end) in ns."""
    track = next(number for number, t in seen.trace.tracks.items() if t["kind"] == STATES and t["id"] == thread)
    waits = []
    for event in states_of(seen, track):
        if seen.trace.strings[event.name] == name:
            part = seen.trace.ns(event.time), seen.trace.ns(event.time + event.duration)
            if (event.metadata or {}).get("continues"):
                waits[-1].append(part)
            else:
                assert event.count >= 1
                waits.append([part])
    return waits


def test_each_wait_is_one_state_and_begins_inside_it(tmp_path):
    seen = watch(tmp_path, """
        import time
        raw = time.CLOCK_MONOTONIC_RAW
        for _ in range(40):
            begin = time.clock_gettime_ns(raw)
            time.sleep(0.05)
            end = time.clock_gettime_ns(raw)
            print("nap=%d,%d" % (begin, end), flush=True)
            while time.clock_gettime_ns(raw) < end + 300_000: pass
    """, "--calls", "off")
    naps = [tuple(map(int, word[4:].split(","))) for word in seen.out.split() if word.startswith("nap=")]
    waits = waits_of(seen, main_of(seen), "sleep")
    slack = 100_000  # of the clocks; naps lie further apart
    around = [[n for n, (a, b) in enumerate(naps) if a - slack <= wait[0][0] <= b + slack] for wait in waits]
    assert len(naps) == 40 and all(len(numbers) == 1 for numbers in around)
    found = [numbers[0] for numbers in around]
    assert len(set(found)) >= 36 and len(found) <= len(set(found)) + 2  # one each, hardly ever two
    late = [wait[-1][1] - naps[number][1] for wait, number in zip(waits, found)]
    assert sorted(late)[len(late) // 2] < 25_000_000  # until the next look


def test_a_long_wait_is_one_in_parts(tmp_path):
    seen = watch(tmp_path, "import time; time.sleep(3.5)", "--calls", "off")
    waits = waits_of(seen, main_of(seen), "sleep")
    assert len(waits) == 1 and len(waits[0]) >= 3
    assert waits[0][-1][1] - waits[0][0][0] > 3.3e9
    assert all(a[1] == b[0] for a, b in zip(waits[0], waits[0][1:]))


@pytest.fixture(name="spinner", scope="module")
def make_spinner(tmp_path_factory):
    """A program with so many threads that compute for so many seconds, without an interpreter's lock between them."""
    if not shutil.which("cc"):
        pytest.skip("there is no C compiler")
    folder = tmp_path_factory.mktemp("spinner")
    (folder / "spin.c").write_text(textwrap.dedent("""
        #include <pthread.h>
        #include <stdlib.h>
        #include <time.h>
        static double seconds;
        static void *spin(void *arg)
        {
            struct timespec a, b;
            volatile unsigned long x = 0;
            clock_gettime(CLOCK_MONOTONIC, &a);
            do {
                for (int i = 0; i < 100000; i++) x++;
                clock_gettime(CLOCK_MONOTONIC, &b);
            } while (b.tv_sec - a.tv_sec + (b.tv_nsec - a.tv_nsec) / 1e9 < seconds);
            return arg;
        }
        int main(int argc, char **argv)
        {
            pthread_t threads[256];
            int count = argc > 2 ? atoi(argv[1]) : 1;
            seconds = atof(argv[argc - 1]);
            for (int i = 0; i < count; i++) pthread_create(&threads[i], NULL, spin, NULL);
            for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
            return 0;
        }
    """))
    subprocess.run(["cc", "-O1", "-pthread", folder / "spin.c", "-o", folder / "spin"], check=True, timeout=PATIENCE)
    return folder / "spin"


def test_threads_that_share_processors_run_or_queue(tmp_path, spinner):
    seen = watch_command(tmp_path, [spinner, "8", "4"])
    main = main_of(seen)
    workers = [tid for tid in seen.threads(main) if tid != main]
    assert seen.status == 0 and len(workers) == 8
    books = [seen.book(tid) for tid in workers]
    wall, run, queue = map(sum, zip(*books))
    assert run + queue == pytest.approx(wall, rel=0.02)
    assert seen.ms[main]["lock"] > 0.8 * sum(seen.ms[main].values())  # it waits for them


# ---- States --------------------------------------------------------------------


def test_a_pipe(tmp_path):
    seen = watch(tmp_path, """
        import os, threading, time
        r, w = os.pipe()
        threading.Thread(target=lambda: (time.sleep(1), os.write(w, b"x"))).start()
        os.read(r, 1)
    """)
    main = main_of(seen)
    assert seen.ms[main]["pipe"] > 700
    assert all(what.startswith("pipe:[") for what in seen.what[main, "pipe"])


def test_a_named_pipe_is_a_pipe(tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    seen = watch(tmp_path, """
        import os, sys, threading, time
        end = os.open(sys.argv[1], os.O_RDWR)
        threading.Thread(target=lambda: (time.sleep(1), os.write(end, b"x"))).start()
        os.read(end, 1)
    """, arguments=[fifo])
    main = main_of(seen)
    assert seen.ms[main]["pipe"] > 700 and str(fifo)[-60:] in next(w[-60:] for w in seen.what[main, "pipe"])


def test_opening_a_named_pipe_is_a_file(tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    seen = watch(tmp_path, """
        import os, sys, threading, time
        threading.Thread(target=lambda: (time.sleep(1), os.open(sys.argv[1], os.O_WRONLY))).start()
        os.open(sys.argv[1], os.O_RDONLY)
    """, arguments=[fifo])
    assert seen.ms[main_of(seen)]["file"] > 700


@pytest.mark.parametrize("timeout", [None, 30])
def test_a_socket_to_the_own_machine_is_of_the_network(tmp_path, timeout):
    seen = watch(tmp_path, f"""
        import socket, threading, time
        server = socket.create_server(("127.0.0.1", 0))
        client = socket.create_connection(server.getsockname())
        client.settimeout({timeout})
        other, _ = server.accept()
        threading.Thread(target=lambda: (time.sleep(1), other.send(b"x"))).start()
        client.recv(1)
        print("port=%d" % server.getsockname()[1])
    """)
    main, port = main_of(seen), seen.out.split("port=")[1].strip()
    assert seen.ms[main]["socket_network"] > 700
    assert seen.what[main, "socket_network"] == {f"tcp:127.0.0.1:{port}"}


def test_a_socket_pair_is_local(tmp_path):
    seen = watch(tmp_path, """
        import socket, threading, time
        a, b = socket.socketpair()
        threading.Thread(target=lambda: (time.sleep(1), b.send(b"x"))).start()
        a.recv(1)
    """)
    assert seen.ms[main_of(seen)]["socket_local"] > 700


def test_several_descriptors_are_polled(tmp_path):
    seen = watch(tmp_path, """
        import os, select, socket
        ends = os.pipe(), os.pipe()
        poll = select.poll()
        for r, _ in ends: poll.register(r, select.POLLIN)
        poll.poll(1000)
        epoll = select.epoll()
        epoll.register(ends[0][0])
        epoll.poll(1)
    """)
    assert seen.ms[main_of(seen)]["poll"] > 1500


def test_a_child(tmp_path):
    seen = watch(tmp_path, 'import os\nos.waitpid(os.spawnlp(os.P_NOWAIT, "sleep", "sleep", "1"), 0)')
    names = {seen.trace.strings.get(t["name"]): t["id"] for t in seen.trace.tracks.values() if t["kind"] == STATES}
    child = names["sleep"]
    assert seen.ms[main_of(seen)]["child"] > 700
    assert seen.ms[child]["sleep"] > 700
    process = next(p for p in seen.trace.processes.values() if p["pid"] == child)
    assert process["flags"] & 1 and seen.trace.processes[process["parent"]]["pid"] == main_of(seen)


def test_a_lock(tmp_path):
    seen = watch(tmp_path, """
        import threading, time
        lock = threading.Lock()
        def use():
            for _ in range(5):
                with lock: time.sleep(0.1)
        threads = [threading.Thread(target=use) for _ in range(3)]
        for t in threads: t.start()
        for t in threads: t.join()
    """)
    main = main_of(seen)
    users = [tid for tid in seen.threads(main) if tid != main]
    states = sum((seen.ms[tid] for tid in users), Counter())
    assert len(users) == 3 and states["lock"] > 1000 and states["sleep"] > 1000
    assert states["gil"] < 0.1 * sum(states.values())


PYTHONS = [python for python in all_pythons() if not python.is_free_threaded and python.version >= (3, 7)]


@pytest.mark.parametrize("python", PYTHONS, ids=str)
def test_the_lock_of_the_interpreter(tmp_path, python):
    seen = watch(tmp_path, """
        import threading, time
        def spin():
            begin = time.monotonic()
            while time.monotonic() - begin < 1.5: pass
        threads = [threading.Thread(target=spin) for _ in range(4)]
        for t in threads: t.start()
        for t in threads: t.join()
    """, "--calls", "off", python=python.path)
    main = main_of(seen)
    users = [tid for tid in seen.threads(main) if tid != main]
    states = sum((seen.ms[tid] for tid in users), Counter())
    assert len(users) == 4 and states["gil"] > 0.3 * sum(states.values())
    assert states["gil"] + states["running"] > 0.95 * sum(states.values())


@pytest.mark.parametrize("python", PYTHONS, ids=str)
def test_other_locks_are_not_that_of_the_interpreter(tmp_path, python):
    seen = watch(tmp_path, """
        import queue, threading
        from concurrent.futures import ThreadPoolExecutor
        pool = ThreadPoolExecutor(4)
        list(pool.map(abs, range(8)))
        waits = [threading.Thread(target=threading.Event().wait, args=(1,)) for _ in range(2)]
        for t in waits: t.start()
        try: queue.Queue().get(timeout=1)
        except queue.Empty: pass
        for t in waits: t.join()
    """, "--calls", "off", python=python.path)
    states = seen.all_ms()
    assert states["lock"] > 2000 and states["gil"] < 0.05 * states["lock"]


def test_a_lock_in_shared_memory_has_a_name_that_all_processes_share(tmp_path):
    seen = watch(tmp_path, """
        import multiprocessing, time
        def use(lock):
            with lock: time.sleep(0.5)
        if __name__ == "__main__":
            context = multiprocessing.get_context("fork")
            lock = context.Lock()
            workers = [context.Process(target=use, args=(lock,)) for _ in range(3)]
            for w in workers: w.start()
            for w in workers: w.join()
    """)
    main = main_of(seen)
    names = {what for (tid, state), texts in seen.what.items() for what in texts if state == "lock" and tid != main}
    shared = {what for what in names if what.startswith("shared:")}
    assert len(shared) == 1 and seen.all_ms()["lock"] > 1000


# ---- Samples -------------------------------------------------------------------


def test_a_period_as_long_as_a_slot_is_not_aliased(tmp_path):
    seen = watch(tmp_path, """
        import time
        next_time = time.monotonic()
        for _ in range(500):
            end = time.thread_time() + 0.003
            while time.thread_time() < end: pass
            next_time += 0.010
            time.sleep(max(0, next_time - time.monotonic()))
    """, "--calls", "off")
    main = main_of(seen)
    wall, run, queue = seen.book(main)
    samples = seen.samples[main]
    share = samples["running"] / sum(samples.values())
    assert sum(samples.values()) > 200
    assert share == pytest.approx((run + queue) / wall, abs=0.05)


def test_the_sampler_says_how_it_went(tmp_path):
    seen = watch(tmp_path, "import time; time.sleep(1)")
    sampling = seen.sampling
    assert sampling["interval_ns"] == 10_000_000 and sampling["seed"] > 0 and sampling["dropped"] == 0
    assert 80 < sampling["slots"] + sampling["missed"] < 400 and sampling["slowest_pace"] >= 1


def test_info_says_what_sampling_took(tmp_path):
    seen = watch(tmp_path, "import time; time.sleep(1)")
    text = subprocess.run([INFERSCOPE, "info", tmp_path / "trace.sbt"], capture_output=True, text=True, check=True).stdout
    line, = (line for line in text.splitlines() if line.startswith("sampling"))
    assert re.fullmatch(r"sampling +\d+ threads? every 10 ms(, at the slowest every \d+)?, for \d+\.\d\d % of a core", line)
    told = json.loads(subprocess.run([INFERSCOPE, "info", "--format", "json", tmp_path / "trace.sbt"], capture_output=True, text=True, check=True).stdout)
    assert told["sampling"] == seen.sampling


def sampler_share(seen):
    return seen.sampling["cpu_ns"] / (seen.sampling["slots"] + seen.sampling["missed"]) / seen.sampling["interval_ns"]


def test_idle_threads_cost_little(tmp_path):
    seen = watch(tmp_path, """
        import threading, time
        event = threading.Event()
        threads = [threading.Thread(target=event.wait) for _ in range(64)]
        for t in threads: t.start()
        time.sleep(5)
        event.set()
    """, "--calls", "off")
    assert seen.sampling["threads"] >= 65 and sampler_share(seen) < 0.02


def test_busy_threads_cost_little(tmp_path, spinner):
    seen = watch_command(tmp_path, [spinner, "64", "6"])
    assert seen.sampling["threads"] == 65 and sampler_share(seen) < 0.02


# ---- Counters ------------------------------------------------------------------


def test_counters_of_the_process_and_the_machine(tmp_path):
    data = tmp_path / "data"
    data.write_bytes(bytes(1 << 20))
    seen = watch(tmp_path, """
        import sys, time
        time.sleep(0.3)
        for _ in range(200): open(sys.argv[1], "rb").read()
        memory = bytearray(64 << 20)
        time.sleep(0.5)
    """, arguments=[data])
    counters = seen.ledger[WIDE, main_of(seen)]
    first, last = counters["rchar"][0][1], counters["rchar"][-1][1]
    assert last - first >= 200 << 20 and counters["syscr"][-1][1] > counters["syscr"][0][1]
    assert max(value for _, value in counters["rss_bytes"]) > 64 << 20
    assert counters["threads"][0][1] >= 1
    host = seen.ledger[HOST, 0]
    assert host["host_busy_ns"][-1][1] > host["host_busy_ns"][0][1]


def readable(path):
    try:
        return Path(path).read_text()
    except OSError:
        return ""


def own_group():
    """The folder of the control group that programs of this test are in."""
    paths = [line[3:] for line in readable("/proc/self/cgroup").splitlines() if line.startswith("0::/")]
    return Path("/sys/fs/cgroup" + paths[0]) if paths else Path("/nonexistent")


def knows_frequency():
    return bool(list(Path("/sys/devices/system/cpu").glob("cpu[0-9]*/cpufreq/scaling_cur_freq"))
                or "\ncpu MHz" in readable("/proc/cpuinfo"))


def test_counters_that_are_read_rarely_are_there_where_the_machine_has_them(tmp_path):
    seen = watch(tmp_path, """
        import time
        memory = bytearray(64 << 20)
        time.sleep(3.5)
    """, "--calls", "off")
    counters, host = seen.ledger[WIDE, main_of(seen)], seen.ledger[HOST, 0]
    if readable("/proc/self/smaps_rollup"):
        (_, pss), = counters["pss_bytes"]  # one, since the next would be 10 s later
        assert 64 << 20 <= pss <= max(value for _, value in counters["rss_bytes"])
    assert ("frequency_mhz" in host) == knows_frequency()
    assert all(50 < mhz < 20_000 for _, mhz in host["frequency_mhz"]) and len(host["frequency_mhz"]) <= 7
    nodes = [name for name in counters if name.startswith("numa_node")]
    if readable("/sys/devices/system/node/online").strip() in ("", "0"):
        assert nodes == []
    else:
        assert sum(counters[name][-1][1] for name in nodes) >= 64 << 20
    limit = readable(own_group() / "memory.max").strip()
    assert ("cgroup_memory_bytes" in host) == bool(readable(own_group() / "memory.current"))
    assert [value for _, value in host["cgroup_memory_limit_bytes"]] == ([int(limit)] if limit not in ("", "max") else [])


# ---- A program is none the worse ------------------------------------------------


def test_without_waits_there_is_nothing(tmp_path):
    path = tmp_path / "trace.sbt"
    status, _ = run_to_end([INFERSCOPE, "run", "--trace", path, "--", PYTHON, "-c", "pass"])
    trace = sbt.read(path)
    assert status == 0 and "sampling" not in trace.info and "waits" not in trace.info["settings"]
    assert not [t for t in trace.tracks.values() if t["kind"] in (STATES, HOST)]


def test_threads_that_come_and_go(tmp_path):
    seen = watch(tmp_path, """
        import threading, time
        begin = time.monotonic()
        while time.monotonic() - begin < 2:
            threads = [threading.Thread(target=time.sleep, args=(0.05,)) for _ in range(10)]
            for t in threads: t.start()
            for t in threads: t.join()
        print("done")
    """)
    assert seen.status == 0 and "done" in seen.out and seen.sampling["threads"] > 50


def test_forks_and_execs(tmp_path):
    seen = watch(tmp_path, """
        import os, sys, time
        children = []
        for i in range(3):
            pid = os.fork()
            if pid == 0:
                time.sleep(0.4)
                if i == 0: os._exit(0)
                os.execv(sys.executable, [sys.executable, "-c", "import time; time.sleep(0.8)"])
            children.append(pid)
        for pid in children: os.waitpid(pid, 0)
        os.execlp("sleep", "sleep", "0.5")
    """)
    assert seen.status == 0
    assert seen.ms[main_of(seen)]["child"] > 500
    assert len({p["pid"] for p in seen.trace.processes.values()}) >= 4


@pytest.mark.parametrize("signal", ["KILL", "SEGV"])
def test_a_killed_program(tmp_path, signal):
    seen = watch(tmp_path, f"import os, signal, time\ntime.sleep(0.5)\nos.kill(os.getpid(), signal.SIG{signal})")
    assert seen.status == 128 + {"KILL": 9, "SEGV": 11}[signal]
    assert seen.ms[main_of(seen)]["sleep"] > 300


def test_a_program_that_is_over_at_once(tmp_path):
    seen = watch_command(tmp_path, ["/bin/true"])
    assert seen.status == 0 and seen.sampling["slots"] < 100


def test_a_child_that_nobody_waits_for_does_not_run(tmp_path):
    seen = watch(tmp_path, 'import os, time\nif os.fork() == 0: os._exit(0)\ntime.sleep(1.5)')
    main = main_of(seen)
    assert all(states["running"] < 500 for tid, states in seen.ms.items() if tid != main)


def test_record_watches_whom_it_records_for(tmp_path):
    path = tmp_path / "trace.sbt"
    with subprocess.Popen([INFERSCOPE, "record", "--waits", "on", "--trace", path, "--for", str(os.getpid())], text=True,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as recorder:
        recorder.stdout.readline()
        time.sleep(1)
        recorder.communicate("stop\n", timeout=PATIENCE)
    seen = Watched(path, 0)
    assert seen.ms[os.getpid()]["sleep"] > 600


def test_commands_read_such_a_trace(tmp_path):
    watch(tmp_path, "import time; time.sleep(0.5)")
    for command in (["info"], ["info", "--format", "json"], ["dump"], ["dump", "--format", "csv"], ["analyze", "--output", "-"]):
        done = subprocess.run([INFERSCOPE, *command, tmp_path / "trace.sbt"], capture_output=True, text=True, check=False,
                              timeout=PATIENCE)
        assert done.returncode == 0, done.stderr


def test_what_is_missing_to_judge_is_said(tmp_path):
    subprocess.run([INFERSCOPE, "run", "--calls", "off", "--waits", "off", "--report", "none", "--trace", tmp_path / "trace.sbt", "--",
                    sys.executable, "-c", "import time; time.sleep(0.5)"], check=True, timeout=PATIENCE)
    done = subprocess.run([INFERSCOPE, "analyze", "--format", "json", "--output", "-", tmp_path / "trace.sbt"], capture_output=True,
                          text=True, check=True, timeout=PATIENCE)
    cause = json.loads(done.stdout)["bottleneck"]["primary_cause"]
    assert cause == "no device work is in the trace, and no call, operator or scope of the main thread"
