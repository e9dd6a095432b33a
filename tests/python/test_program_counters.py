"""Where threads run, as samples of the program counter say: `inferscope run --waits`.

Programs that were written to spend their time in one place, recorded and read back with the second reader.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
from collections import Counter

import pytest

from interpreters import all_pythons
from recording import INFERSCOPE, PATIENCE
from test_waits import SAMPLE, STATES, Watched, main_of, make_spinner, watch, watch_command  # pylint: disable=unused-import

INSTANT = 3
NONE, USER, KERNEL = 0, 1, 2
PERIOD_NS = 5_030_000
CROWD_PERIOD_NS = 20_030_000
PYTHON = sys.executable
PYTHONS = [python for python in all_pythons() if not python.is_free_threaded and python.version in ((3, 11), (3, 13))]
every_python = pytest.mark.parametrize("python", PYTHONS, ids=str)


def samples(seen, thread=None):
    """How many samples there are of each (name, what); of one thread, or of all."""
    counts = Counter()
    for event in seen.trace.events:
        track = seen.trace.tracks[event.track]
        if track["kind"] == STATES and event.kind == SAMPLE and event.phase == INSTANT:
            if thread in (None, track["id"]):
                counts[seen.trace.strings[event.name], (event.metadata or {}).get("what", "")] += 1
    return counts


def names(counts):
    total = Counter()
    for (name, _), count in counts.items():
        total[name] += count
    return total


def share(counts, name, what=None):
    return sum(n for key, n in counts.items() if key[0] == name and what in (None, key[1])) / sum(counts.values())


def need(seen, reach):
    if seen.sampling["program_counters"] < reach:
        pytest.skip("this machine lets us sample less than that")


def expected(seen, thread):
    """As many samples as the processor time that the ledger has."""
    return seen.ledger[STATES, thread]["run_ns"][-1][1] / PERIOD_NS


# ---- Places --------------------------------------------------------------------


@every_python
def test_python_itself(tmp_path, python):
    seen = watch(tmp_path, """
        import time
        def work(n):
            x = 0
            for i in range(n): x = (x * 31 + i) % 1000003
            return x
        begin = time.monotonic()
        while time.monotonic() - begin < 2: work(1000)
    """, python=python.path)
    need(seen, USER)
    counts = samples(seen, main_of(seen))
    assert share(counts, "interpreter") + share(counts, "profiler") > 0.8
    assert all(not what for name, what in counts if name in ("interpreter", "profiler"))


def test_the_profiler_is_told_from_the_interpreter(tmp_path):
    code = """
        import time
        def leaf(): pass
        begin = time.monotonic()
        while time.monotonic() - begin < 0.1:
            for _ in range(1000): leaf()
    """
    recorded = watch(tmp_path, code, "--detail", "full")
    need(recorded, USER)
    if not [t for t in recorded.trace.tracks.values() if t["kind"] == 1]:
        pytest.skip("there is no extension for this Python")
    assert share(samples(recorded), "profiler") > 0.05
    assert share(samples(watch(tmp_path, code, "--calls", "off")), "profiler") == 0


@every_python
def test_a_program_that_ends_soon(tmp_path, python):
    seen = watch(tmp_path, """
        import time
        begin = time.process_time()
        while time.process_time() - begin < 0.1:
            for _ in range(1000): pass
    """, "--calls", "off", python=python.path)
    need(seen, USER)
    counts = samples(seen, main_of(seen))
    assert sum(counts.values()) >= 15
    assert share(counts, "interpreter") > 0.5
    assert sum(n for (_, what), n in counts.items() if what == "?") <= 0.2 * sum(counts.values())


@every_python
def test_a_library(tmp_path, python):
    seen = watch(tmp_path, """
        import os, time, zlib
        data = os.urandom(1 << 20)
        begin = time.monotonic()
        while time.monotonic() - begin < 2: zlib.compress(data, 9)
        print("zlib=" + open("/proc/self/maps").read().partition("/libz.so")[2].split()[0])
    """, "--calls", "off", python=python.path)
    need(seen, USER)
    name = "libz.so" + seen.out.split("zlib=")[1].split()[0]
    assert share(samples(seen, main_of(seen)), "native", name) > 0.8


def test_numpy(tmp_path):
    pytest.importorskip("numpy")
    seen = watch(tmp_path, """
        import numpy, time
        a = numpy.random.rand(500, 500)
        begin = time.monotonic()
        while time.monotonic() - begin < 2: a @ a
    """, "--calls", "off")
    need(seen, USER)
    counts = samples(seen)
    blas = sum(n for (name, what), n in counts.items() if name == "native" and "blas" in what)
    assert blas > 0.7 * sum(counts.values())


@every_python
def test_system_calls_have_names(tmp_path, python):
    data = tmp_path / "data"
    data.write_bytes(bytes(4096))
    seen = watch(tmp_path, """
        import os, sys, time
        fd = os.open(sys.argv[1], os.O_RDONLY)
        begin = time.monotonic()
        while time.monotonic() - begin < 2:
            for _ in range(1000):
                os.read(fd, 256)
                if not os.read(fd, 256): os.lseek(fd, 0, 0)
    """, "--calls", "off", python=python.path, arguments=[data])
    need(seen, KERNEL)
    counts = samples(seen, main_of(seen))
    assert share(counts, "syscall", "read") > 0.25
    assert share(counts, "syscall", "read") > 0.8 * share(counts, "syscall")
    assert share(counts, "fault") < 0.1


@every_python
def test_new_memory_is_faults(tmp_path, python):
    seen = watch(tmp_path, """
        import time
        begin = time.monotonic()
        while time.monotonic() - begin < 2: bytearray(64 << 20)
    """, "--calls", "off", python=python.path)
    need(seen, KERNEL)
    counts = samples(seen, main_of(seen))
    assert share(counts, "fault") > 0.4
    assert share(counts, "fault", "libc.so.6") > 0.8 * share(counts, "fault")
    assert share(counts, "syscall", "munmap") > 0.8 * share(counts, "syscall")


def test_a_library_that_is_loaded_late_is_known(tmp_path):
    """The maps are read once a second; samples wait for that."""
    seen = watch(tmp_path, """
        import time
        def spin(seconds):
            begin = time.monotonic()
            while time.monotonic() - begin < seconds: pass
        spin(0.6)
        import ctypes, hashlib
        begin = time.monotonic()
        data = bytes(1 << 20)
        while time.monotonic() - begin < 1: hashlib.sha3_512(data)
        spin(0.6)
    """, "--calls", "off")
    need(seen, USER)
    counts = samples(seen, main_of(seen))
    assert share(counts, "native", "?") < 0.02
    assert share(counts, "native") - share(counts, "native", "vdso") > 0.2


def test_a_program_without_python(tmp_path, spinner):
    seen = watch_command(tmp_path, [spinner, "2", "2"])
    need(seen, USER)
    counts = samples(seen)
    assert share(counts, "native", "spin") > 0.8 and names(counts)["interpreter"] == 0


# ---- How many, and when --------------------------------------------------------


def test_samples_measure_processor_time(tmp_path):
    seen = watch(tmp_path, """
        import time
        begin = time.monotonic()
        while time.monotonic() - begin < 2: pass
        time.sleep(0.5)
        begin = time.monotonic()
        while time.monotonic() - begin < 1: pass
    """, "--calls", "off")
    need(seen, KERNEL)
    main = main_of(seen)
    assert seen.sampling["period_ns"] == PERIOD_NS and seen.sampling["lost_samples"] == 0
    assert sum(samples(seen, main).values()) == pytest.approx(expected(seen, main), rel=0.15)


def test_threads_are_sampled_each_for_itself(tmp_path, spinner):
    seen = watch_command(tmp_path, [spinner, "8", "4"])
    need(seen, KERNEL)
    main = main_of(seen)
    workers = [tid for tid in seen.threads(main) if tid != main]
    taken = sum(sum(samples(seen, tid).values()) for tid in workers)
    # they are met a tenth of a second after they begin
    assert taken == pytest.approx(sum(expected(seen, tid) for tid in workers), rel=0.15)
    assert sum(samples(seen, main).values()) < 20
    assert seen.sampling["longest_period_ns"] == PERIOD_NS


def test_threads_among_many_are_sampled_more_rarely(tmp_path, spinner):
    seen = watch_command(tmp_path, [spinner, "48", "4"])
    need(seen, KERNEL)
    main = main_of(seen)
    workers = [tid for tid in seen.threads(main) if tid != main]
    taken, in_full = sum(sum(samples(seen, tid).values()) for tid in workers), sum(expected(seen, tid) for tid in workers)
    assert seen.sampling["longest_period_ns"] == CROWD_PERIOD_NS and seen.sampling["lost_samples"] == 0
    # until there are many of them they are sampled as few are
    assert 0.8 * in_full * PERIOD_NS / CROWD_PERIOD_NS < taken < 0.6 * in_full


def test_samples_lie_where_the_thread_was_seen_to_run(tmp_path):
    """Times are exact: one who sleeps and computes in turn is sampled when it computes, as it tells the time itself."""
    seen = watch(tmp_path, """
        import time
        for _ in range(10):
            time.sleep(0.1)
            begin = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
            while time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW) - begin < 50_000_000: pass
            print("span=%d,%d" % (begin, time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)))
    """, "--calls", "off")
    need(seen, USER)
    spans = [tuple(map(int, word[5:].split(","))) for word in seen.out.split() if word.startswith("span=")]
    main, slack = main_of(seen), 20_000
    times = [seen.trace.ns(e.time) for e in seen.trace.events
             if e.kind == SAMPLE and e.phase == INSTANT and seen.trace.tracks[e.track]["id"] == main]
    late = [t for t in times if t > spans[0][0]]
    inside = [t for t in late if any(a - slack <= t <= b + slack for a, b in spans)]
    assert len(spans) == 10 and len(inside) >= 20 and len(inside) >= len(late) - 8  # before and after there is a little to do


# ---- A kernel that does not let us ---------------------------------------------


def run_as(folder, prefix, code):
    path = folder / "trace.sbt"
    done = subprocess.run([*prefix, INFERSCOPE, "run", "--waits", "on", "--calls", "off", "--trace", path, "--", PYTHON, "-c", code],
                          capture_output=True, text=True, check=False, timeout=PATIENCE)
    return Watched(path, done.returncode, done.stdout)


def test_where_it_is_forbidden_there_are_no_samples(tmp_path):
    """As under a container's seccomp filter: perf_event_open says EPERM."""
    door = tmp_path / "door.py"
    door.write_text(FORBIDDING)
    seen = run_as(tmp_path, [PYTHON, door], "sum(range(20_000_000))")
    assert seen.status == 0 and seen.sampling["program_counters"] == NONE and not samples(seen)
    assert seen.ms[main_of(seen)]["running"] > 0


FORBIDDING = """
import ctypes, os, platform, struct, sys
number = {"x86_64": 298, "aarch64": 241}[platform.machine()]
code = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7fff0000)]
filters = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in code))
program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(code), ctypes.addressof(filters)))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program, 0, 0) == 0
os.execv(sys.argv[1], sys.argv[1:])
"""


def paranoid():
    with open("/proc/sys/kernel/perf_event_paranoid", encoding="ascii") as file:
        return int(file.read())


as_nobody = pytest.mark.skipif(os.geteuid() != 0 or paranoid() != 2, reason="only root can be somebody else, who may see his own code")


def record_as_nobody(spinner, *command):
    """The command, or the spinner, by somebody who may neither see the kernel nor sample processors."""
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o777)
        command = command or (shutil.copy(spinner, name), "2", "1.5")
        path = os.path.join(name, "trace.sbt")
        try:
            done = subprocess.run([INFERSCOPE, "run", "--waits", "on", "--calls", "off", "--trace", path, "--", *command], cwd=name,
                                  user=65534, group=65534, extra_groups=[], capture_output=True, check=False, timeout=PATIENCE)
        except PermissionError:
            pytest.skip("others may not use the program from here")
        return Watched(path, done.returncode)


@as_nobody
def test_who_may_not_see_the_kernel_sees_the_rest(spinner):
    seen = record_as_nobody(spinner)
    counts = samples(seen)
    assert seen.status == 0 and seen.sampling["program_counters"] == USER
    assert share(counts, "native", "spin") > 0.8 and not names(counts)["syscall"] and not names(counts)["fault"]


def test_few_descriptors_are_enough(tmp_path, spinner):
    script = tmp_path / "few.py"
    script.write_text("import os, resource, sys\nresource.setrlimit(resource.RLIMIT_NOFILE, (300, 300))\n"
                      "os.execv(sys.argv[1], sys.argv[1:])\n")
    path = tmp_path / "trace.sbt"
    done = subprocess.run([PYTHON, script, INFERSCOPE, "run", "--waits", "on", "--trace", path, "--", spinner, "40", "1"],
                          capture_output=True, check=False, timeout=PATIENCE)
    seen = Watched(path, done.returncode)
    assert seen.status == 0 and seen.sampling["refused_threads"] > 0


# ---- What it costs -------------------------------------------------------------


def test_the_machine_is_described(tmp_path):
    cpu = min(os.sched_getaffinity(0))
    path = tmp_path / "trace.sbt"
    whole = watch(tmp_path, "pass")
    assert whole.sampling["cpus"] == len(os.sched_getaffinity(0))
    done = subprocess.run(["taskset", "-c", str(cpu), INFERSCOPE, "run", "--waits", "on", "--trace", path, "--", PYTHON, "-c", "pass"],
                          capture_output=True, check=False, timeout=PATIENCE)
    assert Watched(path, done.returncode).sampling["cpus"] == 1


PING_PONG = """
    import os, sys, threading, time
    a, b = os.pipe(), os.pipe()
    end = time.monotonic() + 3
    def answer():
        while os.read(a[0], 1) != b"x": os.write(b[1], b"y")
    thread = threading.Thread(target=answer)
    thread.start()
    work = range(int(sys.argv[1]) if sys.argv[1:] else 0)
    while time.monotonic() < end:
        sum(work)
        os.write(a[1], b"y")
        os.read(b[0], 1)
    os.write(a[1], b"x")
    thread.join()
"""


def is_switched(seen, times):
    if seen.ledger[STATES, main_of(seen)]["slices"][-1][1] < times:
        pytest.skip("this machine is too slow for that")


@pytest.mark.skipif(os.geteuid() != 0 or os.cpu_count() > 32, reason="processors are not sampled here")
def test_who_is_switched_all_the_time_is_sampled_all_of_it(tmp_path):
    """By processors, which costs such a thread nothing; what it takes to switch is not seen where interrupts have to wait for it."""
    seen = watch(tmp_path, PING_PONG, "--calls", "off")
    need(seen, KERNEL)
    is_switched(seen, 20000)
    threads = seen.threads(main_of(seen))
    assert len(threads) == 2 and seen.sampling["rests"] == 0
    assert 0.25 < sum(samples(seen).values()) / sum(expected(seen, thread) for thread in threads) < 1.2


@as_nobody
@pytest.mark.skipif(not os.access("/usr/bin/python3", os.X_OK), reason="there is no Python that everybody may use")
def test_who_is_switched_all_the_time_is_sampled_part_of_it(spinner):
    """
    By threads, where processors may not be: the kernel sets a timer at each switch to one, which it would notice.

    It computes for a fifth of a millisecond between switches: there would be hardly a sample if it were in the kernel all the time.
    """
    seen = record_as_nobody(spinner, "/usr/bin/python3", "-c", textwrap.dedent(PING_PONG), "15000")
    need(seen, USER)
    is_switched(seen, 5000)
    main = main_of(seen)
    assert seen.sampling["rests"] >= 1 and 1 <= sum(samples(seen, main).values()) < 0.8 * expected(seen, main)


def test_dump_has_samples(tmp_path):
    seen = watch(tmp_path, "sum(range(50_000_000))", "--calls", "off")
    need(seen, USER)
    done = subprocess.run([INFERSCOPE, "dump", "--kind", "cpu_sample", "--name", "interpreter", "--format", "csv",
                           tmp_path / "trace.sbt"], capture_output=True, text=True, check=True, timeout=PATIENCE)
    rows = done.stdout.splitlines()
    assert len(rows) - 1 == names(samples(seen))["interpreter"] > 10
    first = dict(zip(rows[0].split(","), rows[1].split(",")))
    assert (first["event_type"], first["name"], first["end_us"]) == ("cpu_sample", "interpreter", "")
    assert int(first["thread_id"]) == main_of(seen) and float(first["start_us"]) >= 0
