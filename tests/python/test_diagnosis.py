"""What is said of real programs that compute on the host: recorded by `inferscope run` as a user would, then analyzed.

The zoo (tests/zoo) has slow programs and their fixed forms, and judges gains. Here is what must not be said, whatever else
goes on on the machine: the innocent are not blamed, those who idle do not contend, and without evidence there are no claims.
"""

import json
import shutil
import subprocess
import sys
import textwrap

import pytest

from analysis import analyze, inferscope
from interpreters import recorded_pythons
from recording import INFERSCOPE, PATIENCE, run_to_end

CONTENTION = {"gil_contention", "lock_contention"}
PYTHONS = [python for python in recorded_pythons() if not python.is_free_threaded]
every_python = pytest.mark.parametrize("python", [p for p in PYTHONS if p.version in ((3, 9), (3, 11), (3, 13))] or PYTHONS[-1:], ids=str)


class Diagnosis:
    """An analysis, and what it says by kind."""

    def __init__(self, path):
        self.path = path
        self.all = analyze(path)
        self.findings, self.notes = self.all["findings"], " ".join(self.all["notes"])
        self.attribution = self.all["attribution"]
        self.kinds = {f["kind"] for f in self.findings}
        self.owners = {o["category"]: o["percentage"] for o in self.attribution["owners"]}
        check_attribution(self.attribution)

    def of(self, kind):
        found = [f for f in self.findings if f["kind"] == kind]
        assert found, (kind, self.kinds, self.owners, self.notes)
        return found[0]

    def words(self):
        """All that is said of places: findings and suggestions."""
        return json.dumps([self.findings, self.all["suggestions"]], default=str)


def check_attribution(attribution):
    """Each nanosecond of the window has one owner, and one place in the tree."""
    span = attribution["to_us"] - attribution["from_us"]
    assert span > 0
    assert sum(o["duration_us"] for o in attribution["owners"]) == span
    assert sum(node["self_us"] for node in attribution["tree"]) == span
    tree = {node["node"]: node for node in attribution["tree"]}
    assert len(tree) == len(attribution["tree"])
    for node in tree.values():
        assert sum(o["duration_us"] for o in node["owners"]) == node["self_us"]
        if node["parent"] is not None:
            assert node["depth"] == tree[node["parent"]]["depth"] + 1
            assert node["total_us"] <= tree[node["parent"]]["total_us"]


def record(folder, code, python=sys.executable, waits="on", arguments=()):
    script, path = folder / "program.py", folder / "trace.sbt"
    script.write_text(textwrap.dedent(code))
    command = [INFERSCOPE, "run", "--trace", path, "--", python, script, *map(str, arguments)]
    status, out = run_to_end(["env", f"INFERSCOPE_WAITS={waits}", *command])
    assert status == 0, out
    return path


def diagnose(folder, code, **options):
    return Diagnosis(record(folder, code, **options))


def need_places(diagnosis):
    if not diagnosis.attribution["places_sampled"]:
        pytest.skip("the kernel does not let us sample where threads run")


# ---- Contention ----------------------------------------------------------------


@every_python
def test_threads_that_take_turns(tmp_path, python):
    result = diagnose(tmp_path, """
        import threading
        def crunch(n):
            x = 0
            for i in range(n): x = (x * 31 + i) % 1000003
            return x
        def work():
            for _ in range(60): crunch(20000)
        threads = [threading.Thread(target=work) for _ in range(4)]
        for t in threads: t.start()
        for t in threads: t.join()
    """, python=python.path)
    finding = result.of("gil_contention")
    assert result.findings[0] == finding
    assert any("crunch" in where or "work" in where for where in finding["where"])
    assert result.owners["wait_gil"] > 30


@every_python
def test_those_who_idle_do_not_contend(tmp_path, python):
    result = diagnose(tmp_path, """
        import queue, threading
        from concurrent.futures import ThreadPoolExecutor
        pool = ThreadPoolExecutor(8)
        list(pool.map(abs, range(16)))
        nothing, never = queue.Queue(), threading.Event()
        waits = [threading.Thread(target=never.wait, args=(2,)) for _ in range(3)]
        for t in waits: t.start()
        for _ in range(8):
            try: nothing.get(timeout=0.1)
            except queue.Empty: pass
            never.wait(timeout=0.1)
        for t in waits: t.join()
    """, python=python.path)
    assert not result.kinds & CONTENTION
    assert result.owners.get("wait_gil", 0) + result.owners.get("wait_lock", 0) < 5
    assert result.owners["wait_unresolved"] > 40 and "cannot be told for what" in result.notes


def test_a_pool_at_work_does_not_contend_for_its_own_queue(tmp_path):
    """Its idle threads wait for one lock, all of them, while the program waits for the one that works."""
    result = diagnose(tmp_path, """
        import hashlib, time
        from concurrent.futures import ThreadPoolExecutor
        DATA = b"x" * 40_000_000
        def digest(): return hashlib.sha256(DATA).hexdigest()  # lets go of the interpreter
        pool = ThreadPoolExecutor(8)
        list(pool.map(abs, range(16)))
        begin = time.monotonic()
        while time.monotonic() - begin < 2: pool.submit(digest).result()
    """)
    assert not result.kinds & CONTENTION
    assert result.owners["wait_workers"] > 40


def test_a_result_that_a_thread_computes_is_no_contention(tmp_path):
    """The queue is C: the wait for it is in the user's own function."""
    result = diagnose(tmp_path, """
        import hashlib, queue, threading, time
        DATA = b"x" * 40_000_000
        def make():
            while True: results.put(hashlib.sha256(DATA).hexdigest())
        def take():
            return results.get()
        results = queue.SimpleQueue()
        threading.Thread(target=make, daemon=True).start()
        begin = time.monotonic()
        while time.monotonic() - begin < 2: take()
    """)
    assert not result.kinds & CONTENTION, result.words()


# ---- Blame ---------------------------------------------------------------------

BLAME = """
    import hashlib, multiprocessing, sys, time

    def spin(seconds):
        x, end = 0, time.monotonic() + seconds
        while time.monotonic() < end:
            for i in range(2000): x = (x * 31 + i) % 1000003
        return x

    def innocent_work(stop):
        while not stop.is_set(): spin(0.01)

    def guilty_work(end, alone):
        while end.recv():
            if alone == "sleeps": time.sleep(0.06)
            else: spin(0.06)
            end.send(1)

    def step(end):
        end.send(1)
        end.recv()
        spin(0.03)

    if __name__ == "__main__":
        context = multiprocessing.get_context(sys.argv[1])
        ours, theirs = context.Pipe()
        stop = context.Event()
        others = [context.Process(target=guilty_work, args=(theirs, sys.argv[2]), daemon=True),
                  context.Process(target=innocent_work, args=(stop,), daemon=True)]
        for other in others: other.start()
        ours.send(1)
        ours.recv()
        begin = time.monotonic()
        while time.monotonic() - begin < 2.5: step(ours)
        ours.send(0)
        stop.set()
        for other in others: other.join()
"""


@pytest.mark.parametrize("how", ["works", "sleeps"])
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_the_innocent_are_not_blamed(tmp_path, method, how):
    result = diagnose(tmp_path, BLAME, arguments=[method, how])
    assert "innocent" not in result.words()
    waits = sum(result.owners.get(owner, 0) for owner in ("wait_workers", "wait_unresolved"))
    assert waits > 25, result.owners
    for finding in result.findings:
        if finding["kind"] in ("data_loading", "straggler"):
            assert any("guilty_work" in where or "spin" in where for where in finding["where"])


def test_nobody_is_blamed_for_a_wait_that_is_for_nobody(tmp_path):
    """One child computes all of the time, and has nothing to do with what the program waits for."""
    result = diagnose(tmp_path, """
        import multiprocessing, queue, time
        def innocent(stop):
            x = 0
            while not stop.is_set():
                for i in range(2000): x = (x * 31 + i) % 1000003
        def step(nothing):
            try: nothing.get(timeout=0.1)
            except queue.Empty: pass
        if __name__ == "__main__":
            context = multiprocessing.get_context("fork")
            stop = context.Event()
            child = context.Process(target=innocent, args=(stop,))
            child.start()
            for _ in range(20): step(queue.Queue())
            stop.set()
            child.join()
    """)
    assert "innocent" not in result.words(), result.words()


# ---- Files, output, messages ---------------------------------------------------


def test_small_reads(tmp_path):
    result = diagnose(tmp_path, """
        import os, sys, time
        path = sys.argv[1]
        open(path, "wb").write(b"x" * 4_000_000)
        def read_records():
            fd = os.open(path, os.O_RDONLY)
            while os.read(fd, 64): pass
            os.close(fd)
        begin = time.monotonic()
        while time.monotonic() - begin < 2: read_records()
    """, arguments=[tmp_path / "data"])
    need_places(result)
    assert result.findings[0]["kind"] == "i_o_operation"
    assert any("read_records" in where for where in result.findings[0]["where"])
    assert "read in larger pieces" in result.all["suggestions"][0]["action"]
    assert "memory_allocation" not in result.kinds and "synchronization" not in result.kinds


def test_output(tmp_path):
    result = diagnose(tmp_path, """
        import sys, time
        def report(n):
            for i in range(n): print("step", i, file=out, flush=True)
        begin, out = time.monotonic(), open(sys.argv[1], "w")
        while time.monotonic() - begin < 2: report(2000)
    """, arguments=[tmp_path / "out"])
    need_places(result)
    assert result.findings[0]["kind"] == "i_o_operation"
    assert any("report" in where for where in result.findings[0]["where"])
    assert "write less often" in result.all["suggestions"][0]["action"]


def test_large_messages(tmp_path):
    result = diagnose(tmp_path, """
        import multiprocessing, time
        def produce(queue, stop):
            data = [bytes(16_000_000)]
            while not stop.is_set(): queue.put(data)
        def take(queue):
            return len(queue.get()[0])
        if __name__ == "__main__":
            context = multiprocessing.get_context("fork")
            queue, stop = context.Queue(2), context.Event()
            child = context.Process(target=produce, args=(queue, stop), daemon=True)
            child.start()
            begin = time.monotonic()
            while time.monotonic() - begin < 2: take(queue)
            stop.set()
            child.terminate()
    """)
    finding = result.of("data_loading")
    assert result.findings[0] == finding and "i_o_operation" not in result.kinds
    assert any("take" in where for where in finding["where"])


# ---- Memory --------------------------------------------------------------------

TEMPORARIES = """
    import sys, time
    import numpy
    def blend(a, b):
        return float((a + b)[0])
    def settle(a, b, count):
        begin = time.monotonic()
        while time.monotonic() - begin < count: blend(a, b)
    a = numpy.ones(int(sys.argv[1]) * 1_000_000 // 8)
    settle(a, a.copy(), 2)
"""


@pytest.mark.parametrize("megabytes, expected", [(8, False), (64, True)])
def test_temporaries(tmp_path, megabytes, expected):
    """From 32 MB on the C library gives every array back to the kernel, which clears the pages of the next one."""
    pytest.importorskip("numpy")
    result = diagnose(tmp_path, TEMPORARIES, arguments=[megabytes])
    need_places(result)
    assert ("memory_allocation" in result.kinds) == expected, (result.kinds, result.owners)
    if expected:
        assert any("blend" in where for where in result.of("memory_allocation")["where"])
        assert result.all["bottleneck"]["type"] == "memory_bound"
    else:
        assert result.owners.get("new_memory", 0) < 10


# ---- Sleep ---------------------------------------------------------------------


def test_a_pace_is_no_finding(tmp_path):
    result = diagnose(tmp_path, """
        import threading, time
        def heartbeat():
            while True: time.sleep(0.2)
        threading.Thread(target=heartbeat, daemon=True).start()
        def tick(): time.sleep(0.05)
        for _ in range(35): tick()
    """)
    assert "synchronization" not in result.kinds
    assert result.owners["sleep"] > 80 and "sleeps for" in result.notes
    assert result.all["bottleneck"]["type"] == "balanced"


# ---- Clients --------------------------------------------------------------------


ASK = """
        import multiprocessing, socket, time
        def ask(port):
            connection = socket.create_connection(("127.0.0.1", port))
            for _ in range(60):
                time.sleep(0.04)
                connection.sendall(b"x" * 8)
                connection.recv(8)
"""


def test_a_server_waits_for_its_clients(tmp_path):
    result = diagnose(tmp_path, ASK + """
        def answer(connection):
            while True:
                data = connection.recv(8)
                if not data: return
                connection.sendall(data)
        if __name__ == "__main__":
            server = socket.create_server(("127.0.0.1", 0))
            client = multiprocessing.get_context("fork").Process(target=ask, args=(server.getsockname()[1],))
            client.start()
            answer(server.accept()[0])
            client.join()
    """)
    assert result.findings == [] and "waits for its clients" in result.notes
    assert result.owners["wait_clients"] > 50


def test_a_server_in_a_loop_waits_for_its_clients(tmp_path):
    result = diagnose(tmp_path, ASK + """
        import asyncio
        async def answer(reader, writer):
            while data := await reader.read(8): writer.write(data)
            done.set()
        async def serve(listening):
            global done
            done = asyncio.Event()
            await asyncio.start_server(answer, sock=listening)
            await done.wait()
        if __name__ == "__main__":
            listening = socket.create_server(("127.0.0.1", 0))
            client = multiprocessing.get_context("fork").Process(target=ask, args=(listening.getsockname()[1],))
            client.start()
            asyncio.run(serve(listening))
            client.join()
    """)
    assert result.findings == [] and result.owners["wait_clients"] > 50


def test_a_timer_in_a_loop_is_sleep(tmp_path):
    result = diagnose(tmp_path, """
        import asyncio
        async def tick():
            for _ in range(40): await asyncio.sleep(0.05)
        asyncio.run(tick())
    """)
    assert result.owners["sleep"] > 80 and result.owners.get("wait_unresolved", 0) < 5


def test_a_client_waits_for_its_server(tmp_path):
    result = diagnose(tmp_path, """
        import socket, threading, time
        def serve(server):
            connection = server.accept()[0]
            while True:
                data = connection.recv(8)
                if not data: return
                time.sleep(0.04)
                connection.sendall(data)
        def ask(connection):
            connection.sendall(b"x" * 8)
            connection.recv(8)
        server = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=serve, args=(server,), daemon=True).start()
        connection = socket.create_connection(("127.0.0.1", server.getsockname()[1]))
        for _ in range(50): ask(connection)
    """)
    assert result.findings[0]["kind"] == "network_latency" and "ask" in result.findings[0]["where"][0]


# ---- Evidence that is missing --------------------------------------------------


def test_without_looks_nothing_is_said_of_waits(tmp_path):
    path = record(tmp_path, """
        import threading, time
        lock = threading.Lock()
        def hold():
            while not stop:
                with lock: time.sleep(0.02)
        def step():
            with lock: time.sleep(0.01)
        stop = []
        thread = threading.Thread(target=hold)
        thread.start()
        for _ in range(40): step()
        stop.append(1)
        thread.join()
    """, waits="off")
    result = Diagnosis(path)
    assert result.attribution["seen_from_outside"] is False
    assert not [owner for owner in result.owners if owner.startswith("wait_") or owner == "sleep"]
    assert result.findings == [] and "cannot be judged" in result.notes
    assert result.all["bottleneck"]["type"] == "unknown"


# ---- Programs of which nothing is recorded from inside --------------------------


def diagnose_c(folder, body):
    """Of a program in C that marks nothing."""
    if not shutil.which("cc"):
        pytest.skip("there is no C compiler")
    source, program, path = folder / "program.c", folder / "program", folder / "trace.sbt"
    source.write_text("#include <stdlib.h>\n#include <time.h>\n"
                      "static void rest(long ms) { nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000 }, NULL); }\n"
                      "static void spin(double s) { volatile double x = 0; clock_t end = clock() + (clock_t)(s * CLOCKS_PER_SEC);\n"
                      "                             while (clock() < end) for (int i = 0; i < 100000; i++) x += i; }\n"
                      f"int main(void) {{ {body} return 0; }}\n")
    subprocess.run(["cc", "-O1", source, "-o", program], check=True, timeout=PATIENCE)
    status, out = run_to_end(["env", "INFERSCOPE_WAITS=on", INFERSCOPE, "run", "--trace", path, "--", program])
    assert status == 0, out
    return Diagnosis(path)


def test_a_program_that_marks_nothing(tmp_path):
    result = diagnose_c(tmp_path, "for (int i = 0; i < 5; i++) { spin(0.1); rest(100); }")
    need_places(result)
    assert result.all["bottleneck"]["type"] != "unknown"
    assert 30 < result.owners["sleep"] < 65 and 30 < result.owners["native"] < 70
    assert result.owners.get("python", 0) == 0 and result.owners.get("unknown", 0) == 0


def test_the_library_of_a_program_that_marks_nothing(tmp_path):
    result = diagnose_c(tmp_path, "spin(0.5);")
    need_places(result)
    assert result.findings == [] and result.owners["native"] > 80
    assert result.all["bottleneck"]["primary_cause"].endswith(" % of the time is native code, mostly of program")


def test_new_memory_of_a_program_that_marks_nothing(tmp_path):
    result = diagnose_c(tmp_path, "for (int i = 0; i < 60; i++) { size_t size = 64u << 20; volatile char *p = malloc(size);"
                                  " for (size_t k = 0; k < size; k += 4096) p[k] = 1; free((void *)p); }")
    need_places(result)
    assert result.all["bottleneck"]["type"] == "memory_bound"
    assert result.findings[0]["kind"] == "memory_allocation" and result.owners["new_memory"] > 60


def test_python_whose_calls_are_not_recorded(tmp_path):
    script, path = tmp_path / "program.py", tmp_path / "trace.sbt"
    script.write_text("import time\nfor _ in range(5):\n    end = time.process_time() + 0.1\n"
                      "    while time.process_time() < end: sum(range(1000))\n    time.sleep(0.1)\n")
    status, out = run_to_end(["env", "INFERSCOPE_WAITS=on", INFERSCOPE, "run", "--calls", "off", "--trace", path, "--", sys.executable, script])
    assert status == 0, out
    result = Diagnosis(path)
    need_places(result)
    assert result.owners["python"] > 30 and 30 < result.owners["sleep"] < 65


# ---- All of them ---------------------------------------------------------------


def test_the_same_trace_says_the_same(tmp_path):
    path = record(tmp_path, """
        import threading, time
        def crunch(): return sum(i * i for i in range(20000))
        def work():
            for _ in range(100): crunch()
        threads = [threading.Thread(target=work) for _ in range(3)]
        for t in threads: t.start()
        for t in threads: t.join()
        for _ in range(20): crunch(); time.sleep(0.01)
    """)
    first, second = (inferscope("analyze", path, "--format", "json", "--output", "-").stdout for _ in range(2))
    assert first == second
    Diagnosis(path)


def test_a_program_that_is_over_at_once(tmp_path):
    result = diagnose(tmp_path, "pass")
    assert result.findings == []


def test_a_trace_that_is_cut_off(tmp_path):
    """Whatever is left of it, the sums hold."""
    path = record(tmp_path, BLAME, arguments=["fork", "works"])
    data = path.read_bytes()
    for part in (30, 60, 90):
        cut = tmp_path / f"cut-{part}.sbt"
        cut.write_bytes(data[:len(data) * part // 100])
        done = subprocess.run([INFERSCOPE, "analyze", cut, "--format", "json", "--output", "-"], capture_output=True, check=False,
                              timeout=PATIENCE, cwd=tmp_path)
        assert done.returncode in (0, 1, 3), done.stderr
        if done.returncode == 0 and "attribution" in json.loads(done.stdout):
            Diagnosis(cut)
