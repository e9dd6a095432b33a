"""`inferscope export` as a command: what it does to files, pipes and disks, to damaged and odd traces, to hostile names; and that all
formats mean the same by a selection."""

import gzip
import json
import os
import pty
import resource
import signal
import struct
import subprocess
import time

import pytest

from analysis import INFERSCOPE, inferscope, shared
from made_trace import Made
from test_export_stacks import READERS, fields

STREAMS = ("perfetto", "chrome", "kineto")
STACKS = ("speedscope", "collapsed", "pprof", "firefox")
FORMATS = STREAMS + STACKS
SUFFIXES = {"perfetto": ".pftrace", "chrome": ".json", "kineto": ".pt.trace.json", "speedscope": ".speedscope.json", "collapsed": ".collapsed",
            "pprof": ".pb.gz", "firefox": ".firefox.json"}
all_formats = pytest.mark.parametrize("kind", FORMATS)


def export(trace, kind, *options, **others):
    return inferscope("export", trace, "--format", kind, "-o", "-", "--findings", "off", *options, **others).stdout


@pytest.fixture(scope="module", name="made")
def make(tmp_path_factory):
    """Three steps, from number 5 on, of an operator in an operator."""
    made = Made()
    for step in range(3):
        at = 1000 * step
        made.host("user_annotation", f"ProfilerStep#{step + 5}", at, 900)
        made.op(f"outer{step}", at + 10, 200)
        made.op(f"inner{step}", at + 20, 5)
        made.op(f"other{step}", at + 30, 50, tid=2)
        made.kernel(f"gemm{step}", at + 40, at + 100, 50)
    folder = tmp_path_factory.mktemp("export")
    inferscope("import", made.save(folder / "made.json"), "-o", folder / "made.sbt")
    return folder / "made.sbt"


@pytest.fixture(scope="module", name="large")
def make_large(tmp_path_factory):
    """More than any buffer holds: 40,000 slices of 500 names."""
    made = Made()
    for i in range(20_000):
        made.op(f"outer {i % 250} with a name of some length", 10 * i, 9)
        made.op(f"inner {i % 250} with a name of some length", 10 * i + 1, 5)
    folder = tmp_path_factory.mktemp("large")
    inferscope("import", made.save(folder / "large.json"), "-o", folder / "large.sbt")
    return folder / "large.sbt"


# ---- Whether it is what it says it is -------------------------------------------------------

def strict(data):
    """JSON as its standard has it: UTF-8, no key twice, no NaN, and every text can be written again."""
    def once(pairs):
        assert len({key for key, _ in pairs}) == len(pairs), pairs
        return dict(pairs)

    def refuse(word):
        raise AssertionError(word)
    value = json.loads(data.decode("utf-8"), object_pairs_hook=once, parse_constant=refuse)
    json.dumps(value, ensure_ascii=False).encode("utf-8")
    return value


def check_whole(kind, data):
    if kind in ("chrome", "kineto", "speedscope", "firefox"):
        strict(data)
    if kind == "perfetto":
        assert set(fields(data)) <= {1}
    if kind == "collapsed":
        data.decode("utf-8")
        assert data == b"" or data.endswith(b"\n")
    return READERS[kind](data) if kind in READERS else None


def slices_of(kind, data, folder):
    """The names of slices of the host."""
    if kind in READERS:
        return {name for (_, stack), _ in READERS[kind](data).items() for name in stack}
    path = folder / f"out{SUFFIXES[kind]}"
    path.write_bytes(data)
    rows = json.loads(inferscope("query", "--format", "json", path, "SELECT DISTINCT name FROM slices WHERE thread IS NOT NULL").stdout)
    return {row["name"] for row in rows}


@all_formats
def test_what_is_written_is_whole(made, large, kind):
    for trace in (made, large):
        check_whole(kind, export(trace, kind))
        check_whole(kind, export(trace, kind, "--findings", "on"))


# ---- Files ------------------------------------------------------------------------------------

@all_formats
def test_a_file_is_what_standard_output_is(made, tmp_path, kind):
    """The suffix says which format is meant, and .gz packs it."""
    expected = export(made, kind)
    plain, packed = tmp_path / f"t{SUFFIXES[kind]}", tmp_path / f"t{SUFFIXES[kind].removesuffix('.gz')}.gz"
    for path in (plain, packed):
        done = inferscope("export", "--findings", "off", made, "-o", path)
        assert done.stdout == b"" and done.stderr == f"inferscope: wrote {path}\n".encode()
    assert plain.read_bytes() == expected
    assert gzip.decompress(packed.read_bytes()) == (gzip.decompress(expected) if kind == "pprof" else expected)
    assert set(os.listdir(tmp_path)) == {plain.name, packed.name}
    assert plain.stat().st_mode & 0o777 == 0o666 & ~umask()


def umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_names_that_say_nothing(made, tmp_path):
    for name in ("t.sbt", "t", "t.txt", ".gz", "t.zst"):
        done = inferscope("export", made, "-o", tmp_path / name, status=2)
        assert b"give --format" in done.stderr
    done = inferscope("export", "--format", "svg", made, status=2)
    assert b"there is no format 'svg'; there are perfetto, chrome, kineto, speedscope, collapsed, pprof, firefox" in done.stderr
    assert not os.listdir(tmp_path)


@all_formats
def test_a_name_of_our_own(made, tmp_path, kind):
    """What has that name already may be what the trace was made of, and is kept."""
    ours = tmp_path / f"made{SUFFIXES[kind]}"
    ours.write_text("something dear")
    done = inferscope("export", "--findings", "off", "--format", kind, made, cwd=tmp_path)
    assert done.stderr.decode() == f"inferscope: wrote {ours.name}; the older one is {ours.name}.old\n"
    assert (tmp_path / f"{ours.name}.old").read_text() == "something dear" and ours.read_bytes() == export(made, kind)
    ours.unlink()
    assert inferscope("export", "--findings", "off", "--format", kind, made, cwd=tmp_path).stderr.decode() == f"inferscope: wrote {ours.name}\n"


def test_names_after_folders(made, tmp_path):
    (tmp_path / "ranks").mkdir()
    (tmp_path / "ranks" / "a.sbt").write_bytes(made.read_bytes())
    for asked, name in (("ranks/", "ranks"), ("./ranks", "ranks"), ("ranks//a.sbt", "a"), ("ranks/..//ranks///", "ranks")):
        inferscope("export", asked, cwd=tmp_path)
        (tmp_path / f"{name}.pftrace").unlink()
    inferscope("export", ".", cwd=tmp_path / "ranks")
    assert (tmp_path / "ranks" / "trace.pftrace").exists()


@all_formats
def test_an_existing_file_is_replaced_when_it_is_asked_for(made, tmp_path, kind):
    path = tmp_path / "out"
    path.write_text("older")
    inferscope("export", "--findings", "off", "--format", kind, "-o", path, made)
    assert path.read_bytes() == export(made, kind) and os.listdir(tmp_path) == ["out"]


@all_formats
def test_the_trace_itself_is_never_written(made, tmp_path, kind):
    trace = tmp_path / "t.sbt"
    trace.write_bytes(made.read_bytes())
    (tmp_path / "link").symlink_to(trace)
    os.link(trace, tmp_path / "hard")
    for name in ("t.sbt", "link", "hard"):
        assert inferscope("export", "--format", kind, "-o", tmp_path / name, trace, status=2).stderr.count(b"\n") == 1
    assert trace.read_bytes() == made.read_bytes()


def test_places_that_cannot_be_written(made, tmp_path):
    (tmp_path / "folder.json").mkdir()
    for path in (tmp_path / "missing" / "t.json", tmp_path / "folder.json", "/proc/t.json", "/dev/null/t.json"):
        done = inferscope("export", "-o", path, made, status=4)
        assert done.stderr.startswith(b"inferscope: cannot create '") and done.stderr.count(b"\n") == 1
    assert os.listdir(tmp_path) == ["folder.json"]


def limit_files():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))


@all_formats
def test_a_full_disk(large, tmp_path, kind):
    path = tmp_path / "out"
    path.write_text("older")
    done = inferscope("export", "--format", kind, "-o", path, large, status=4, preexec_fn=limit_files)
    assert done.stderr.startswith(f"inferscope: cannot write {path}".encode()) and done.stderr.count(b"\n") == 1
    assert os.listdir(tmp_path) == ["out"] and path.read_text() == "older"
    with open("/dev/full", "wb") as full:
        done = subprocess.run([INFERSCOPE, "export", "--format", kind, "-o", "-", large], stdout=full, stderr=subprocess.PIPE, check=False, timeout=60)
    assert done.returncode == 4 and done.stderr == b"inferscope: cannot write standard output: No space left on device\n"


def test_a_full_disk_keeps_the_older_file(large, tmp_path):
    (tmp_path / "large.json").write_text("older")
    inferscope("export", "--format", "chrome", large, status=4, cwd=tmp_path, preexec_fn=limit_files)
    assert (tmp_path / "large.json").read_text() == "older"


@all_formats
def test_a_reader_that_goes_away(large, kind):
    with subprocess.Popen([INFERSCOPE, "export", "--format", kind, "-o", "-", large], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b"" and process.wait(timeout=60) == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda n: n.name)
@pytest.mark.parametrize("kind", ("chrome", "speedscope"))
def test_ended_while_it_writes(large, tmp_path, kind, number):
    """Neither a part of the file under its name nor one under another; a trace that comes slowly keeps it busy."""
    slow = tmp_path / "slow.sbt"
    slow.write_bytes(large.read_bytes())
    inferscope("export", "--format", kind, "-o", tmp_path / "whole", slow)
    for _ in range(20):
        with subprocess.Popen([INFERSCOPE, "export", "--format", kind, "-o", tmp_path / "out", slow], stderr=subprocess.DEVNULL) as process:
            while process.poll() is None and not list(tmp_path.glob("out*")):
                time.sleep(0.0005)
            process.send_signal(number)
            status = process.wait(timeout=60)
        assert status in (0, -number)
        left = [path.name for path in tmp_path.glob("out*")]
        if left == []:
            assert status == -number
            return
        assert left == ["out"] and (tmp_path / "out").read_bytes() == (tmp_path / "whole").read_bytes()  # it was whole when the signal came
        (tmp_path / "out").unlink()
    pytest.skip("it was always faster than the signal")


@pytest.mark.parametrize("kind", ("perfetto", "pprof"))
def test_no_bytes_on_a_terminal(made, kind):
    master, slave = pty.openpty()
    done = subprocess.run([INFERSCOPE, "export", "--format", kind, "-o", "-", made], stdout=slave, stderr=subprocess.PIPE, check=False, timeout=60)
    os.close(slave)
    os.close(master)
    assert done.returncode == 2 and b"no text" in done.stderr


# ---- Traces ------------------------------------------------------------------------------------

def blocks_of(data):
    at, blocks = 64, []
    while data[at:at + 4] == b"SBTB":
        end = at + 64 + (struct.unpack_from("<I", data, at + 8)[0] + 7) // 8 * 8
        blocks.append(data[at:end])
        at = end
    return blocks


@pytest.fixture(scope="module", name="damaged")
def damage(made, tmp_path_factory):
    """{what: path}: one of two blocks of events is broken, all are, or the file ends inside one."""
    folder, data = tmp_path_factory.mktemp("damaged"), made.read_bytes()
    blocks = blocks_of(data)
    events = next(block for block in blocks if block[4] == 1)
    others = [block for block in blocks if block[4] not in (1, 5)]
    broken = events[:70] + bytes([events[70] ^ 1]) + events[71:]
    parts = {"one": [broken, events], "all": [broken], "cut": [events, events[:40]]}
    for name, last in parts.items():
        (folder / f"{name}.sbt").write_bytes(data[:64] + b"".join(others + last))
    return folder


@all_formats
def test_damage_costs_what_it_hits(damaged, made, tmp_path, kind):
    for name in ("one", "cut"):
        done = inferscope("export", "--findings", "off", "--format", kind, "-o", "-", damaged / f"{name}.sbt")
        assert b"could not be read, first at byte" in done.stderr and done.stderr.count(b"\n") == 1
        assert slices_of(kind, done.stdout, tmp_path) == slices_of(kind, export(made, kind), tmp_path)


@all_formats
def test_nothing_left(damaged, tmp_path, kind):
    done = inferscope("export", "--format", kind, "-o", tmp_path / "out", damaged / "all.sbt", status=3)
    assert b"it has 1 block of events, of which none could be read" in done.stderr and not os.listdir(tmp_path)


def test_no_question_to_nothing(damaged):
    inferscope("query", damaged / "all.sbt", "SELECT 1", status=3)
    assert inferscope("query", "--format", "csv", damaged / "one.sbt", "SELECT count(*) FROM steps").stdout == b"count(*)\n3\n"


@all_formats
def test_every_byte_may_be_wrong(made, tmp_path, kind):
    """Whatever becomes of it, it ends in order, and what it wrote is whole."""
    data, path, wrote = made.read_bytes(), tmp_path / "t.sbt", 0
    for at in range(0, len(data), 41):
        path.write_bytes(data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1:])
        done = subprocess.run([INFERSCOPE, "export", "--format", kind, "-o", "-", path], capture_output=True, check=False, timeout=60)
        assert done.returncode in (0, 3), (at, done)
        if done.returncode == 0:
            check_whole(kind, done.stdout)
            wrote += 1
    assert wrote


@all_formats
def test_traces_of_nothing(tmp_path, kind):
    (tmp_path / "empty.sbt").write_bytes(b"")
    (tmp_path / "text.sbt").write_text("hello")
    for name in ("empty.sbt", "text.sbt", "missing.sbt"):
        assert inferscope("export", "--format", kind, "-o", tmp_path / "out", tmp_path / name, status=3).stderr
    assert not (tmp_path / "out").exists()
    inferscope("import", Made().save(tmp_path / "none.json"), "-o", tmp_path / "none.sbt")
    data = export(tmp_path / "none.sbt", kind)
    check_whole(kind, data)
    assert slices_of(kind, data, tmp_path) == set()


@all_formats
def test_slices_that_never_ended(tmp_path, kind):
    code = ("import inferscope, os, time\nwith inferscope.scope('open'):\n    with inferscope.scope('done'): time.sleep(0.01)\n"
            "    time.sleep(0.01); os._exit(0)\n")
    inferscope("run", "--calls", "off", "--waits", "off", "--trace", tmp_path / "t.sbt", "--report", "none", "-c", code)
    data = export(tmp_path / "t.sbt", kind)
    check_whole(kind, data)
    assert {"open", "done"} <= slices_of(kind, data, tmp_path)


@all_formats
def test_several_traces(tmp_path, kind):
    """Of two ranks, whose processes are told apart."""
    for rank in range(2):
        made = Made(rank=rank)
        made.op(f"of rank {rank}", 10, 20)
        made.save(tmp_path / f"rank{rank}.json")
    data = inferscope("export", "--findings", "off", "--format", kind, "-o", "-", tmp_path / "rank0.json", tmp_path / "rank1.json").stdout
    check_whole(kind, data)
    assert slices_of(kind, data, tmp_path) == {"of rank 0", "of rank 1"}


# ---- Names -------------------------------------------------------------------------------------

HOSTILE = ["\x1b[31mred", "a\nb", "nul\0byte", "\ud800", "\udfff\ud800", "‮txet", "x" * (1 << 20), "a;b c 7", '"</script>', "", " ", "\x7f\x80\x9f\u2028\ufeff",
           "\\", "\\u0000", "é" * 70, "😀" * 50, "{}", "[no name]", "1 2 3", "\r\n\r\n"]


@all_formats
def test_hostile_names(tmp_path, kind):
    """Of slices, device work, counters, marks, threads, processes, and in arguments."""
    made = Made()
    for i, name in enumerate(HOSTILE):
        at = 100 * i
        made.host("cpu_op", name, at, 50, tid=1 + i % 7, **{name: name, "deep": [name, {name: [name]}]})
        made.kernel(name, at + 5, at + 20, 10, **{"grid": [1, 1, 1]})
        made.add(ph="C", cat="hostile", name=name, pid=100, tid=0, ts=at, args={name: i})
        made.add(ph="i", cat=name, name=name, pid=100, tid=1, ts=at, s="t")
        made.add(ph="M", name="thread_name", pid=100, tid=1 + i % 7, args={"name": name})
        made.add(ph="M", name="process_name", pid=100 + i % 2, args={"name": name})
        made.add(ph="s", cat=name, name=name, pid=100, tid=1 + i % 7, ts=at + 1, id=i)
        made.add(ph="f", cat=name, name=name, pid=100, tid=1 + i % 7, ts=at + 30, id=i, bp="e")
    trace = tmp_path / "t.sbt"
    inferscope("import", made.save(tmp_path / "made.json"), "-o", trace)
    for weight in ("wall", "gpu"):
        data = export(trace, kind, "--weight", weight)
        check_whole(kind, data)
        if kind in STACKS:
            assert len(READERS[kind](data)) >= len(HOSTILE) - 1  # the empty one is [no name]
    if kind in STREAMS:
        path = tmp_path / f"out{SUFFIXES[kind]}"
        path.write_bytes(data)
        count = inferscope("query", "--format", "csv", path, "SELECT count(*) FROM slices WHERE kind = 'op'").stdout
        assert int(count.split()[1]) == len(HOSTILE)


# ---- Selections --------------------------------------------------------------------------------

SELECTIONS = [
    ((), {"ProfilerStep#5", "ProfilerStep#6", "ProfilerStep#7", "outer0", "outer1", "outer2", "inner0", "inner1", "inner2", "other0", "other1", "other2",
          "cudaLaunchKernel"}),
    (("--steps", "6"), {"ProfilerStep#6", "outer1", "inner1", "other1", "cudaLaunchKernel"}),
    (("--steps", "6-"), {"ProfilerStep#6", "outer1", "inner1", "other1", "ProfilerStep#7", "outer2", "inner2", "other2", "cudaLaunchKernel"}),
    (("--steps", "5-6", "--name", "outer*"), {"outer0", "outer1"}),
    (("--window", "1.015:1.025"), {"ProfilerStep#6", "outer1", "inner1"}),
    (("--window", ":0.015"), {"ProfilerStep#5", "outer0"}),
    (("--min-duration", "50"), {"ProfilerStep#5", "ProfilerStep#6", "ProfilerStep#7", "outer0", "outer1", "outer2", "other0", "other1", "other2"}),
    (("--min-duration", "100", "--window", "1.015:1.025"), {"ProfilerStep#6", "outer1"}),
    (("--thread", "2"), {"other0", "other1", "other2"}),
    (("--process", "100", "--kind", "runtime_call"), {"cudaLaunchKernel"}),
]


@all_formats
@pytest.mark.parametrize("options, expected", SELECTIONS, ids=lambda value: " ".join(value) if isinstance(value, tuple) else "")
def test_selections_mean_the_same(made, tmp_path, kind, options, expected):
    data = export(made, kind, *options)
    check_whole(kind, data)
    assert slices_of(kind, data, tmp_path) == expected


@all_formats
@pytest.mark.parametrize("status, options", [(1, ("--process", "7")), (1, ("--name", "nothing*")), (1, ("--steps", "6", "--kind", "memset")),
                                             (2, ("--window", "5:6"))])
def test_nothing_is_selected(made, kind, status, options):
    done = inferscope("export", made, "--format", kind, "-o", "-", *options, status=status)
    assert done.stdout == b"" and options[-1].split(":", 1)[0].encode() in done.stderr and done.stderr.count(b"\n") == 1


@pytest.fixture(scope="module", name="recorded")
def record(tmp_path_factory):
    """Of which the depths are in the file."""
    trace = tmp_path_factory.mktemp("recorded") / "t.sbt"
    code = "import inferscope\nwith inferscope.scope('a'):\n    with inferscope.scope('b'):\n        with inferscope.scope('c'): sum(range(10000))\n"
    inferscope("run", "--calls", "off", "--waits", "off", "--trace", trace, "--report", "none", "-c", code)
    return trace


@all_formats
@pytest.mark.parametrize("depth, expected", [(1, {"a"}), (2, {"a", "b"}), (3, {"a", "b", "c"})])
def test_depth(recorded, tmp_path, kind, depth, expected):
    assert slices_of(kind, export(recorded, kind, "--depth", depth, "--kind", "scope"), tmp_path) == expected


def rows_of(trace, where):
    """Names and lengths of slices, as often as they are there, of host and devices."""
    sql = f"SELECT name, dur, thread IS NULL AS work, count(*) AS n FROM slices WHERE {where} GROUP BY 1, 2, 3"
    return {(row["name"], row["dur"], row["work"]): row["n"] for row in json.loads(inferscope("query", "--format", "json", trace, sql).stdout)}


def check_depths(trace, folder, kind, depths, *options, where="1"):
    """An export to a depth has the slices that the timeline says are that deep."""
    for depth in depths:
        path = folder / f"deep{SUFFIXES[kind]}"
        inferscope("export", trace, "--format", kind, "-o", path, "--depth", depth, *options)
        assert rows_of(path, "process IS NOT NULL AND name NOT LIKE 'Finding %'") == rows_of(trace, f"({where}) AND depth < {depth}"), depth


@pytest.fixture(scope="module", name="crossing")
def make_crossing(tmp_path_factory):
    """Given whole, the inner ones first: slices that cross, touch, are empty or rounded, are around device work, or far apart in the file."""
    made = Made()
    for at in range(0, 900_000, 1000):
        made.op("innermost", at + 20, 5)
        made.op("inner", at + 10, 40)
        made.op("crosses", at + 40, 30)
        made.op("empty", at + 60, 0)
        made.op("at the end", at + 100, 0)
        made.op("rounded", at + 9.5, 90.7)
        made.op("touches", at + 100, 10)
        made.op("outer", at, 100)
        made.kernel("gemm", at + 30, at + 210, 50)
        made.kernel("overlaps", at + 32, at + 220, 60)
    for at in range(0, 900_000, 100_000):
        made.host("user_annotation", "part", at, 100_000)
        made.device("gpu_user_annotation", "part", at, 90_000)
    made.host("user_annotation", "run", 0, 900_000)
    folder = tmp_path_factory.mktemp("crossing")
    inferscope("import", made.save(folder / "made.json"), "-o", folder / "made.sbt")
    return folder / "made.sbt"


@pytest.mark.parametrize("kind", STREAMS)
def test_depth_of_slices_given_whole(crossing, tmp_path, kind):
    check_depths(crossing, tmp_path, kind, (1, 2, 3, 4, 5), "--findings", "off")


@pytest.mark.parametrize("kind", STREAMS)
def test_depth_in_a_window_of_them(crossing, tmp_path, kind):
    """What reaches into the window is deep by what is around it, as in the whole trace."""
    check_depths(crossing, tmp_path, kind, (1, 3), "--findings", "off", "--window", "500:510.05", where="ts < 510050000 AND end_ts >= 500000000")


@pytest.mark.parametrize("kind", ("chrome", "kineto"))
def test_depth_beside_findings(crossing, tmp_path, kind):
    """Then the analysis has the timeline already."""
    path = tmp_path / "both.json"
    inferscope("export", crossing, "--format", kind, "-o", path, "--depth", "2", "--findings", "on")
    found = [event for event in json.loads(path.read_bytes())["traceEvents"] if event["ph"] == "X" and event.get("cat") != "finding"]
    assert len(found) == sum(rows_of(crossing, "depth < 2").values())


@pytest.mark.parametrize("kind", STREAMS)
@pytest.mark.parametrize("name", ("a100-nccl", "b200-eager-overlaps"))
def test_depth_of_real_traces(tmp_path, kind, name):
    trace = tmp_path / "t.sbt"
    inferscope("import", shared(f"kineto/{name}.json.gz"), "-o", trace)
    check_depths(trace, tmp_path, kind, (1, 3), "--findings", "off")


# ---- Findings ----------------------------------------------------------------------------------

RULE = """
thresholds:
  share_least_percent: 1
rules:
  - name: everywhere
    when: summary.end_to_end_latency_us > 0
    gain: 0.125
    message: "of the run as a whole"
"""


@pytest.fixture(scope="module", name="waiting")
def make_waiting(tmp_path_factory):
    """A device that waits for copies in the first half and for launches in the second, and a rule that always holds."""
    made = Made()
    for step in range(40):
        at = 1000 * step
        made.op("launcher", at, 900, tid=1 if step < 20 else 2)
        made.kernel("gemm", at + 800, at + 810, 100, tid=1 if step < 20 else 2)
        if step < 20:
            made.copy("HtoD", "Pageable -> Device", at + 10, at + 100, 600, 1 << 20)
    folder = tmp_path_factory.mktemp("waiting")
    inferscope("import", made.save(folder / "made.json"), "-o", folder / "made.sbt")
    (folder / "rules.yaml").write_text(RULE)
    return folder


def marks(folder, kind, tmp_path, *options):
    """Findings of an export: (id, begin, end), nanoseconds since the start of the trace."""
    path = tmp_path / f"found{SUFFIXES[kind]}"
    inferscope("export", folder / "made.sbt", "--format", kind, "-o", path, "--rules-file", folder / "rules.yaml", *options)
    if kind == "chrome":
        return sorted((event["args"]["id"], round(float(event["ts"]) * 1000), round((float(event["ts"]) + float(event.get("dur", 0))) * 1000))
                      for event in json.loads(path.read_bytes())["traceEvents"] if event.get("cat") == "finding")
    reader = pytest.importorskip("perfetto_reader")
    return sorted((s.args["id"], s.begin, s.end) for s in reader.read(path).slices if s.category == "inferscope.finding")


def names_of_findings(path):
    return [event for event in json.loads(path.read_bytes())["traceEvents"] if event["name"] == "process_name" and event["args"]["name"] == "findings"]


@pytest.mark.parametrize("kind", ("perfetto", "chrome"))
def test_findings_are_those_of_the_selection(waiting, tmp_path, kind):
    def clip(found, begin, end):
        inside = ((name, max(a, begin), min(b, end)) for name, a, b in found)
        return sorted((name, a, b) for name, a, b in inside if a < b or a == b < end and (name, a, a) in found)

    whole = marks(waiting, kind, tmp_path)
    assert {"custom:everywhere"} < {name for name, _, _ in whole}
    places = [mark for mark in whole if mark[0] != "custom:everywhere"]
    for begin, end in ((0, 5), (30, 35), *((round(b / 1e6, 3) - 0.01, round(b / 1e6, 3) + 0.02) for _, b, _ in places)):
        found = marks(waiting, kind, tmp_path, "--window", f"{max(begin, 0):.3f}:{end:.3f}")
        begin, end = round(max(begin, 0) * 1e6), round(end * 1e6)
        assert [mark for mark in found if mark[0] != "custom:everywhere"] == clip(places, begin, end)
        assert len(found) - len(clip(places, begin, end)) == 1
        assert all(begin <= a <= b <= end for _, a, b in found)
    if kind == "chrome":
        assert not names_of_findings(tmp_path / "found.json") or found


@pytest.mark.parametrize("kind", ("perfetto", "chrome"))
def test_findings_of_a_thread(waiting, tmp_path, kind):
    """Only places on it; what is of the run as a whole stays."""
    whole = marks(waiting, kind, tmp_path)
    report = json.loads(inferscope("analyze", waiting / "made.sbt", "--format", "json", "-o", "-", "--rules-file", waiting / "rules.yaml").stdout)
    tracks = json.loads(inferscope("query", "--format", "json", waiting / "made.sbt", "SELECT id, thread FROM tracks").stdout)
    for tid in (1, 2):
        wanted = {track["id"] for track in tracks if track["thread"] == tid}
        there = {f["id"] for f in report["findings"] if any(example["track"] in wanted for example in f["examples"])}
        assert there
        found = marks(waiting, kind, tmp_path, "--thread", tid)
        assert {name for name, _, _ in found} == there | {"custom:everywhere"} and set(found) <= set(whole)


@pytest.mark.parametrize("options", [(), ("--communication", "gemm*")], ids=("usual", "communication"))
def test_findings_are_those_of_the_analysis(waiting, tmp_path, options):
    """By the same settings, wherever they come from: a margin of the environment, patterns, a file of rules."""
    trace, other, margin = tmp_path / "both.sbt", Made(rank=1), tmp_path / "margin.yaml"
    other.op("elsewhere", 0, 10)
    inferscope("import", waiting / "made.json", other.save(tmp_path / "other.json"), "-o", trace)  # of two clocks, whose errors nobody knows
    margin.write_text("rules:\n  - name: margin\n    when: 1\n    gain: (SELECT max(assumed_error_us) FROM clock) / 100\n    message: of clocks\n")
    with_rules = ("--rules-file", waiting / "rules.yaml", "--rules-file", margin, *options)
    environment = {**os.environ, "INFERSCOPE_SYNC_ERROR_MARGIN_US": "5"}
    report = json.loads(inferscope("analyze", trace, "--format", "json", "-o", "-", *with_rules, env=environment).stdout)
    expected = [(f["kind"], pytest.approx(f["gain_percent"], abs=0.006), f["confidence"]) for f in report["findings"]]
    rows = json.loads(inferscope("query", "--format", "json", *with_rules, trace, "SELECT * FROM findings", env=environment).stdout)
    assert [(row["kind"], 100 * row["gain"], round(row["confidence"], 3)) for row in rows] == expected
    assert ("custom", 12.5, 0.5) in expected and ("custom", 5, 0.5) in expected
    inferscope("export", trace, "-o", tmp_path / "t.json", *with_rules, env=environment)
    found = {event["args"]["id"]: event["args"] for event in json.loads((tmp_path / "t.json").read_bytes())["traceEvents"]
             if event.get("cat") == "finding"}
    assert [(name, 100 * args["gain"]) for name, args in found.items()] == [(f["id"], pytest.approx(f["gain_percent"], abs=0.006))
                                                                            for f in report["findings"]]


@pytest.mark.parametrize("options", [("--rules-file", "nowhere.yaml"), ("--communication", "!")], ids=" ".join)
def test_settings_that_are_wrong(waiting, tmp_path, options):
    trace = waiting / "made.sbt"
    said = inferscope("analyze", trace, *options, status=2).stderr
    assert inferscope("export", trace, "-o", tmp_path / "t.json", *options, status=2).stderr == said.replace(b"analyze:", b"export:")
    assert inferscope("query", trace, *options, "SELECT 1", status=2).stderr == said.replace(b"analyze:", b"query:")
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize("options", [(), ("--window", "1.015:1.025"), ("--name", "o*"), ("--thread", "2"), ("--kind", "op,runtime_call")],
                         ids=" ".join)
def test_dump_means_the_same(made, tmp_path, options):
    """As far as it has these options."""
    dumped = {row["name"] for row in json.loads(inferscope("dump", made, *options).stdout) if "thread_id" in row and "end_us" in row
              or row["event_type"] == "scope_enter"}
    assert dumped == slices_of("chrome", export(made, "chrome", *options), tmp_path)


@pytest.mark.parametrize("steps, said", [("9", b"the trace has no step from 9 to 9; it has 3, numbered from 5 to 7"),
                                         ("9-", b"the trace has no step from 9 on; it has 3, numbered from 5 to 7"), ("6-5", b"--steps expects"),
                                         ("-3", b"--steps expects"), ("x", b"--steps expects"), ("", b"--steps expects"), ("5-6-7", b"--steps expects")])
def test_steps_that_are_not_there(made, tmp_path, steps, said):
    assert said in inferscope("export", f"--steps={steps}", "-o", tmp_path / "t.json", made, status=2).stderr
    assert not os.listdir(tmp_path)


def test_options_that_contradict(made):
    assert b"give one of them" in inferscope("export", "--steps", "5", "--window", "1:2", made, status=2).stderr
    inferscope("export", "--kind", "nonsense", made, status=2)
    inferscope("export", "--window", "2:1", made, status=2)


@pytest.mark.parametrize("kind", STACKS)
def test_work_that_is_not_wanted_is_time_of_its_launch(made, kind):
    def by_stack(*options):
        return {stack: ns for (_, stack), ns in READERS[kind](export(made, kind, "--weight", "gpu", *options)).items()}
    assert by_stack("--name", "gemm1") == {("gemm1",): 50_000}
    assert by_stack("--name", "outer*") == {("outer0",): 50_000, ("outer1",): 50_000, ("outer2",): 50_000}


# ---- Memory ------------------------------------------------------------------------------------

def peak_kb(*command):
    with open(os.devnull, "wb") as nowhere:
        process = subprocess.Popen([INFERSCOPE, *map(str, command)], stdout=nowhere)  # pylint: disable=consider-using-with
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return usage.ru_maxrss


def make_long(path, slices):
    with open(path.with_suffix(".json"), "w", encoding="ascii") as out:
        out.write('{"traceEvents":[\n')
        for i in range(slices):
            out.write(f'{{"ph":"X","name":"op{i % 100}","pid":1,"tid":{i % 4},"ts":{10 * i},"dur":9}},\n')
        out.write("{}]}\n")
    inferscope("import", path.with_suffix(".json"), "-o", path)
    path.with_suffix(".json").unlink()
    return path


@pytest.fixture(scope="module", name="lengths")
def make_lengths(tmp_path_factory):
    if "asan" in os.environ.get("INFERSCOPE_BUILD", "") or os.environ.get("ASAN_OPTIONS"):
        pytest.skip("memory is measured without sanitizers")
    folder = tmp_path_factory.mktemp("lengths")
    return make_long(folder / "short.sbt", 100_000), make_long(folder / "long.sbt", 800_000)


@pytest.mark.parametrize("kind", STREAMS)
def test_memory_does_not_depend_on_the_length(lengths, kind):
    """But for the trace itself, which is mapped."""
    short, long = (peak_kb("export", "--findings", "off", "--format", kind, "-o", "-", trace) for trace in lengths)
    mapped = (lengths[1].stat().st_size - lengths[0].stat().st_size) / 1024
    assert long - short < mapped + 4096, (short, long)


def test_real_traces_in_every_format():
    trace = shared("kineto/h100-owlv2.json.gz")
    for kind in FORMATS:
        check_whole(kind, export(trace, kind))


def test_a_question_that_may_not_take_long(lengths):
    """Also while the trace is still being read."""
    done = inferscope("query", "--timeout", "0.001", lengths[1], "SELECT count(*) FROM slices", status=1)
    assert done.stdout == b"" and done.stderr == b"inferscope: query: not done after 0.001 seconds; --timeout allows more\n"


def test_interrupted_while_it_reads(lengths, tmp_path):
    with subprocess.Popen([INFERSCOPE, "query", "-o", tmp_path / "out", lengths[1], "SELECT name, sum(dur) FROM slices GROUP BY name"],
                          stderr=subprocess.PIPE) as process:
        while process.poll() is None and not os.listdir(tmp_path):
            time.sleep(0.0005)
        process.send_signal(signal.SIGINT)
        said = process.stderr.read()
        assert process.wait(timeout=60) in (130, 0)
    assert said == b"" and os.listdir(tmp_path) == ([] if process.returncode else ["out"])
