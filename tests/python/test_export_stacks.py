"""`inferscope export` to speedscope, collapsed stacks, pprof and the Firefox Profiler: the times of stacks, by wall, processor and device."""

import gzip
import json
from collections import Counter, defaultdict

import pytest

from analysis import analyze, inferscope, shared
from made_trace import Made

FORMATS = ("speedscope", "collapsed", "pprof", "firefox")


@pytest.fixture(scope="module", name="made")
def make(tmp_path_factory):
    """outer 0..100 with inner 10..30 and inner 40..60, of which a kernel of 70 and one of 5 are launched; another thread 5..25."""
    made = Made()
    made.op("outer", 0, 100)
    made.op("inner", 10, 20)
    made.op("inner", 40, 20)
    made.kernel("gemm", 12, 50, 70)
    made.kernel("add;mul", 42, 130, 5)
    made.op("other", 5, 20, tid=2)
    return made.save(tmp_path_factory.mktemp("stacks") / "made.json")


def export(trace, kind, *options):
    return inferscope("export", trace, "--format", kind, "-o", "-", *options).stdout


# ---- Readers: {(thread, stack): nanoseconds} -----------------------------------------

def read_collapsed(data):
    found = Counter()
    for line in data.decode().splitlines():
        stack, weight = line.rsplit(" ", 1)
        _, thread, *names = stack.split(";")
        found[thread, tuple(names)] += int(weight)
    return found


def read_speedscope(data):
    profile = json.loads(data)
    assert profile["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    names = [frame["name"] for frame in profile["shared"]["frames"]]
    found = Counter()
    for thread in profile["profiles"]:
        label = thread["name"].split(") ", 1)[1] if ") " in thread["name"] else thread["name"]
        if thread["type"] == "sampled":
            assert len(thread["samples"]) == len(thread["weights"]) and sum(thread["weights"]) == thread["endValue"]
            for stack, weight in zip(thread["samples"], thread["weights"]):
                found[label, tuple(names[i] for i in stack)] += weight
            continue
        stack, last = [], thread["startValue"]
        for event in thread["events"]:
            assert thread["startValue"] <= last <= event["at"] <= thread["endValue"]
            if stack:
                found[label, tuple(stack)] += event["at"] - last
            last = event["at"]
            if event["type"] == "O":
                stack.append(names[event["frame"]])
            else:
                assert stack.pop() == names[event["frame"]]
        assert not stack
    return +found


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    """A message of protobuf: field -> values."""
    found, at = defaultdict(list), 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        else:
            assert key & 7 == 2
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        found[key >> 3].append(value)
    return found


def read_pprof(data):
    profile = fields(gzip.decompress(data))
    texts = [text.decode() for text in profile[6]]
    assert texts[0] == "" and [texts[fields(kind)[2][0]] for kind in profile[1]] == ["nanoseconds", "count"]
    functions = {fields(f)[1][0]: texts[fields(f)[2][0]] for f in profile[5]}
    locations = {fields(place)[1][0]: functions[fields(fields(place)[4][0])[1][0]] for place in profile[4]}
    found = Counter()
    for sample in map(fields, profile[2]):
        labels = {texts[fields(label)[1][0]]: texts[fields(label)[2][0]] for label in sample[3]}
        found[labels["thread"], tuple(locations[i] for i in reversed(sample[1]))] += sample[2][0]
    return found


def read_firefox(data):
    profile = json.loads(data)
    assert profile["meta"]["preprocessedProfileVersion"] == 48
    found = Counter()
    for thread in profile["threads"]:
        for table in ("samples", "stackTable", "frameTable", "funcTable"):
            columns = [value for value in thread[table].values() if isinstance(value, list)]
            assert {len(column) for column in columns} == {thread[table]["length"]}
        stacks, frames, functions, strings = thread["stackTable"], thread["frameTable"], thread["funcTable"], thread["stringArray"]

        def names(stack):
            path = []
            while stack is not None:
                path.append(strings[functions["name"][frames["func"][stacks["frame"][stack]]]])
                stack = stacks["prefix"][stack]
            return tuple(reversed(path))
        assert thread["samples"]["time"] == sorted(thread["samples"]["time"]) or thread["samples"]["weightType"] == "tracing-ms"
        for stack, weight in zip(thread["samples"]["stack"], thread["samples"]["weight"]):
            found[thread["name"], names(stack)] += round(weight * 1e6)
    return found


READERS = {"speedscope": read_speedscope, "collapsed": read_collapsed, "pprof": read_pprof, "firefox": read_firefox}


def times(trace, kind, *options):
    """Microseconds by stack, of all threads."""
    return {stack: ns / 1000 for (_, stack), ns in READERS[kind](export(trace, kind, *options)).items()}


# ---- Times ---------------------------------------------------------------------------------

@pytest.mark.parametrize("kind", FORMATS)
def test_wall(made, kind):
    assert times(made, kind) == {("outer",): 60, ("outer", "inner"): 36, ("outer", "inner", "cudaLaunchKernel"): 4, ("other",): 20}


@pytest.mark.parametrize("kind", FORMATS)
def test_device(made, kind):
    leaf = "add,mul" if kind == "collapsed" else "add;mul"
    assert times(made, kind, "--weight", "gpu") == {("outer", "inner", "cudaLaunchKernel", "gemm"): 70,
                                                    ("outer", "inner", "cudaLaunchKernel", leaf): 5}


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("options, expected", [
    (("--window", "0.02:0.05"), {("outer",): 10, ("outer", "inner"): 18, ("outer", "inner", "cudaLaunchKernel"): 2, ("other",): 5}),
    (("--name", "o*"), {("outer",): 100, ("other",): 20}),
    (("--thread", "2"), {("other",): 20}),
    (("--depth", "1"), {("outer",): 100, ("other",): 20}),
    (("--min-duration", "20"), {("outer",): 60, ("outer", "inner"): 40, ("other",): 20}),
    (("--kind", "runtime_call"), {("cudaLaunchKernel",): 4}),
])
def test_selection(made, kind, options, expected):
    assert times(made, kind, *options) == expected


def test_processor_time(tmp_path):
    """A thread that computes for a while and sleeps for longer."""
    program = ("import inferscope, time\n"
               "with inferscope.scope('compute'):\n    end = time.monotonic() + 0.5\n    while time.monotonic() < end: pass\n"
               "with inferscope.scope('sleep'): time.sleep(0.7)\n")
    trace = tmp_path / "t.sbt"
    inferscope("run", "--waits", "on", "--calls", "off", "--trace", trace, "--report", "none", "-c", program)
    wall, cpu = times(trace, "collapsed"), times(trace, "collapsed", "--weight", "cpu")
    assert wall["compute",] == pytest.approx(500_000, rel=0.2) and wall["sleep",] >= 700_000
    assert cpu["compute",] > 0.6 * wall["compute",] and cpu.get(("sleep",), 0) < 0.2 * wall["sleep",]


@pytest.mark.parametrize("name", ["kineto/h100-owlv2.json.gz", "kineto/a100-diff-control.json.gz"])
def test_real_traces_agree(name):
    """All formats say the same, and what each thread adds up to is how long it was busy."""
    trace = shared(name)
    by_thread = Counter()
    for (thread, _), ns in read_pprof(export(trace, "pprof")).items():
        by_thread[thread] += ns
    expected = {t["thread_id"]: int(1000 * t["busy_us"]) for t in analyze(trace)["threads"] if t["busy_us"]}
    known = {int(thread.rsplit("(", 1)[1][:-1]): ns for thread, ns in by_thread.items()}
    assert len(expected.keys() & known.keys()) >= 2
    assert {thread: known[thread] for thread in expected.keys() & known.keys()} == {thread: expected[thread] for thread in expected.keys() & known.keys()}
    speedscope, firefox = read_speedscope(export(trace, "speedscope")), read_firefox(export(trace, "firefox"))
    assert sum(speedscope.values()) == sum(firefox.values()) == sum(by_thread.values())
    assert speedscope == firefox


# ---- What names may be ------------------------------------------------------------------------

@pytest.mark.parametrize("name", ["\x1b[31mred", "a\nb", "nul\0byte", "\ud800", "‮txet", "x" * 100_000, "a;b c 7", '"</script>'])
@pytest.mark.parametrize("kind", FORMATS)
def test_hostile_names(tmp_path, kind, name):
    made = Made()
    made.op(name, 0, 10)
    found = times(made.save(tmp_path / "made.json"), kind)
    (stack, weight), = found.items()
    assert len(stack) == 1 and weight == 10


@pytest.mark.parametrize("kind", FORMATS)
def test_nothing_at_all(tmp_path, kind):
    assert times(Made().save(tmp_path / "made.json"), kind) == {}
