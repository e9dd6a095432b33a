"""`inferscope trim`: a part of a recording has just what `dump` shows of that part of the whole, and obeys the rules of the format."""

import json
from collections import Counter

import pytest

import sbt
import sbt_rules
from analysis import inferscope

PROGRAM = '''
import json, threading, inferscope
class SecretError(Exception): pass
def secret_inner(n): return json.loads(json.dumps(list(range(n))))
def secret_step(i):
    with inferscope.scope("secret_scope"):
        inferscope.mark_event("secret_mark", {"file": "/home/secret_user/x.bin"})
        return secret_inner(i)
thread = threading.Thread(target=lambda: [secret_step(20) for _ in range(50)], name="secret_thread")
thread.start()
for i in range(400):
    secret_step(i % 50)
    inferscope.counter("secret_counter", i)
thread.join()
raise SecretError("secret_message")
'''


@pytest.fixture(scope="module", name="recording")
def make_recording(tmp_path_factory):
    folder = tmp_path_factory.mktemp("secret_folder")
    (folder / "secret_script.py").write_text(PROGRAM)
    done = inferscope("run", "--report", "none", "--detail", "full", "--trace", folder / "t.sbt", folder / "secret_script.py", "secret_argument",
                      status=1)
    assert b"SecretError: secret_message" in done.stderr
    return folder / "t.sbt"


def events(trace, *options):
    return json.loads(inferscope("dump", trace, *options).stdout)


def same(row):
    """What a row of a part and the same one of the whole agree on: all but what is cut, and where it is."""
    return json.dumps({key: value for key, value in row.items()
                       if key not in ("start_us", "end_us", "enclosing", "continues", "unfinished", "cpu_id", "count", "metadata")}, sort_keys=True)


def test_all_of_it(recording, tmp_path):
    inferscope("trim", recording, "--window", ":", "-o", tmp_path / "all.sbt")
    assert events(tmp_path / "all.sbt") == events(recording)
    assert not sbt_rules.check(sbt.read(tmp_path / "all.sbt"))


@pytest.mark.parametrize("begin, end", [(0.1, 0.3), (0.25, 0.75), (0.5, 0.51), (0.9, 0.99)])
def test_a_window(recording, tmp_path, begin, end):
    times = sorted(row["start_us"] / 1000 for row in events(recording) if row.get("start_us"))
    begin, end = round(times[int(begin * len(times))], 3), round(times[int(end * len(times))], 3)
    inferscope("trim", recording, "--window", f"{begin}:{end}", "-o", tmp_path / "part.sbt")
    part, whole = events(tmp_path / "part.sbt"), events(recording, "--window", f"{begin}:{end}")
    part = [row for row in part if row["event_type"] != "scope_exit" or row["end_us"] is not None]  # open at the end of the part
    assert len(part) > 5
    assert Counter(map(same, part)) == Counter(map(same, whole))
    assert all(-0.1 <= row.get("start_us", 0) <= 1000 * (end - begin) + 0.1 for row in part)
    assert not sbt_rules.check(sbt.read(tmp_path / "part.sbt"))
    assert (tmp_path / "part.sbt").stat().st_size < recording.stat().st_size


def texts(path):
    """Every text in the file, and every byte of its events' metadata."""
    trace = sbt.read(path)
    return [*trace.strings.values(), repr(trace.info), *map(repr, trace.events)]


def test_what_is_replaced_is_not_in_the_file(recording, tmp_path):
    assert sum("secret" in text for text in texts(recording)) > 10
    inferscope("trim", recording, "--redact", "names,paths,args", "-o", tmp_path / "public.sbt")
    assert [text for text in texts(tmp_path / "public.sbt") if "secret" in text.lower()] == []
    whole, public = events(recording), events(tmp_path / "public.sbt")
    assert len(whole) == len(public)
    names = {}
    for a, b in zip(whole, public):
        assert names.setdefault((a["event_type"], a["name"], a.get("line")), b["name"]) == b["name"]
        assert a.get("start_us") == b.get("start_us") and a.get("end_us") == b.get("end_us")
    assert {name for name in names.values() if name.startswith("json.")} >= {"json.loads", "json.dumps"}
    assert not sbt_rules.check(sbt.read(tmp_path / "public.sbt"))


def test_paths_alone(recording, tmp_path):
    inferscope("trim", recording, "--redact", "paths", "-o", tmp_path / "paths.sbt")
    said = " ".join(texts(tmp_path / "paths.sbt"))
    assert "secret_folder" not in said and "secret_user" not in said
    assert "secret_script.py" in said and "secret_step" in said and "lib/python3" in said


def test_the_programs_own_executable(tmp_path):
    samples = [{"event_type": "cpu_sample", "name": "native", "start_us": 10 * i, "end_us": 10 * i + 9, "process_id": 7, "thread_id": 7,
                "track": "states", "count": 3, "metadata": {"what": what}} for i, what in enumerate(("secret_program", "libm.so.6", "secret_program"))]
    (tmp_path / "samples.json").write_text(json.dumps(samples))
    inferscope("trim", tmp_path / "samples.json", "--redact", "names", "-o", tmp_path / "names.sbt")
    assert [row["metadata"]["what"] for row in events(tmp_path / "names.sbt")] == ["module_1", "libm.so.6", "module_1"]
