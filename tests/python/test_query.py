"""`inferscope query`: the tables against what the traces were made of, the recipes of docs/query.md, and all that is refused."""

import csv
import importlib
import io
import json
import os
import pty
import re
import signal
import subprocess
import time

import pytest

from analysis import INFERSCOPE, ROOT, analyze, inferscope, shared
from made_trace import Made
from package import need_package

RECIPES = re.findall(r"^([^\n]+):\n\n```sql\n(.*?)```", (ROOT / "docs" / "query.md").read_text(), re.MULTILINE | re.DOTALL)


def ask(path, sql, *options):
    return json.loads(inferscope("query", "--format", "json", *options, path, sql).stdout)


def column(path, sql):
    return [next(iter(row.values())) for row in ask(path, sql)]


@pytest.fixture(scope="module", name="made")
def make(tmp_path_factory):
    """Two steps with an operator, two kernels, a copy and a gap each."""
    made = Made()
    for step in range(2):
        at = 1000 * step
        made.host("user_annotation", f"ProfilerStep#{step}", at, 900)
        made.op("aten::linear", at + 10, 200, **{"Input Dims": [[8, 16], []], "Concrete Inputs": ["", "x"]})
        made.kernel("gemm", at + 20, at + 100, 50, **{"grid": [8, 1, 1], "block": [128, 1, 1]})
        made.kernel("gemm", at + 40, at + 160, 40)
        made.copy("DtoH", "Device -> Pageable", at + 60, at + 210, 90, 4096)
    made.add(ph="C", cat="hardware_counters", name="busy", pid=100, tid=0, ts=5, args={"": 0.5})
    return made.save(tmp_path_factory.mktemp("query") / "made.json")


@pytest.fixture(scope="module", name="recorded")
def record(tmp_path_factory):
    """A program of ours, with threads that were looked at."""
    folder = tmp_path_factory.mktemp("recorded")
    code = "import threading, time\nt = threading.Thread(target=time.sleep, args=(0.3,)); t.start(); t.join()\nsum(range(10**6))\n"
    inferscope("run", "--waits", "on", "--trace", folder / "trace.sbt", "--report", "none", "-c", code)
    return folder / "trace.sbt"


# ---- The tables --------------------------------------------------------------------

def test_slices_are_those_of_the_trace(made):
    rows = ask(made, "SELECT name, ts, dur, end_ts, kind, thread, process, device, stream, bytes, unfinished FROM slices ORDER BY ts, dur DESC")
    expected = sorted(((e["name"], round(e["ts"] * 1000), round(e["dur"] * 1000)) for e in json.loads(made.read_text())["traceEvents"]
                       if e["ph"] == "X"), key=lambda e: (e[1], -e[2]))
    assert [(row["name"], row["ts"], row["dur"]) for row in rows] == expected
    assert all(row["end_ts"] == row["ts"] + row["dur"] and row["unfinished"] == 0 for row in rows)
    kernel = next(row for row in rows if row["name"] == "gemm")
    assert (kernel["kind"], kernel["thread"], kernel["process"], kernel["device"], kernel["stream"]) == ("gpu_kernel", None, 100, 0, 7)
    assert next(row for row in rows if row["kind"] == "d2h_copy")["bytes"] == 4096
    assert {(row["thread"], row["process"], row["device"]) for row in rows if row["kind"] == "op"} == {(1, 100, None)}


def test_parents_and_launches(made):
    rows = ask(made, """SELECT k.name AS work, l.name AS call, o.name AS op, l.depth FROM slices k JOIN slices l ON l.id = k.launch
                        JOIN slices o ON o.id = l.parent WHERE k.device IS NOT NULL ORDER BY k.ts""")
    assert [(row["work"], row["call"], row["op"], row["depth"]) for row in rows] == 2 * [
        ("gemm", "cudaLaunchKernel", "aten::linear", 2), ("gemm", "cudaLaunchKernel", "aten::linear", 2),
        ("Memcpy DtoH (Device -> Pageable)", "cudaMemcpyAsync", "aten::linear", 2)]


def test_args_have_paths(made):
    rows = ask(made, "SELECT a.key, a.value FROM slices s JOIN args a ON a.slice = s.id WHERE s.name = 'aten::linear' AND s.ts < 500000")
    found = {row["key"]: row["value"] for row in rows}
    assert found["Input Dims[0][0]"] == 8 and found["Input Dims[0][1]"] == 16 and found["Concrete Inputs[1]"] == "x"
    assert column(made, "SELECT count(*) FROM args WHERE key = 'Concrete Inputs[1]'") == [2]


def test_steps_gaps_states_and_findings_are_those_of_the_analysis(made):
    report = analyze(made)
    assert ask(made, "SELECT number, dur FROM steps") == [{"number": 0, "dur": 900000}, {"number": 1, "dur": 900000}]
    device, = report["devices"]
    causes = {row["cause"]: row["t"] for row in ask(made, "SELECT cause, sum(dur) AS t FROM idle_gaps GROUP BY cause")}
    assert {f"{cause}_us": t / 1000 for cause, t in causes.items()} == {k: float(v) for k, v in device["idle_causes"].items() if v}
    states = {row["state"]: row["t"] for row in ask(made, "SELECT state, sum(dur) AS t FROM device_states GROUP BY state")}
    assert states["idle"] == 1000 * float(device["idle_us"]) and states["compute"] == 1000 * float(device["compute_us"])
    assert sum(states.values()) == 1000 * float(device["total_us"])
    assert [row["kind"] for row in ask(made, "SELECT kind FROM findings ORDER BY id")] == [f["kind"] for f in report["findings"]]


def test_counters_tracks_and_the_rest(made, recorded):
    assert ask(made, "SELECT ts, name, value FROM counters") == [{"ts": 5000, "name": "busy", "value": 0.5}]
    assert ask(made, "SELECT kind, thread, stream FROM tracks WHERE stream IS NOT NULL OR thread = 1 ORDER BY id") == [
        {"kind": "thread", "thread": 1, "stream": None}, {"kind": "stream", "thread": None, "stream": 7}]
    assert ask(made, "SELECT device, name FROM devices") == [{"device": 0, "name": "Made GPU"}]
    assert column(made, "SELECT process FROM processes") == [100]
    assert "gemm" in column(made, "SELECT name FROM names")
    waits = {row["state"]: row["ms"] for row in ask(recorded, "SELECT state, sum(dur) / 1e6 AS ms FROM thread_states GROUP BY state")}
    assert "running" in waits and sum(waits.values()) > 300
    assert column(recorded, "SELECT count(*) FROM counters WHERE name IS NOT NULL")[0] > 10


def test_events_are_the_files(recorded):
    dumped = json.loads(inferscope("dump", recorded).stdout)
    scopes = [row for row in dumped if row["event_type"] == "cpu_call"]
    begins = column(recorded, "SELECT count(*) FROM events WHERE kind = 'cpu_call' AND phase = 'begin'")[0]
    assert begins == len(scopes) == column(recorded, "SELECT count(*) FROM slices WHERE kind = 'cpu_call'")[0]


# ---- What is pushed down gives the same as what is not --------------------------------

CONSTRAINTS = ["name = 'gemm'", "name = 'nothing'", "kind = 'gpu_kernel'", "track = 0", "track = 99", "id = 3", "id = -1", "id = 1000000",
               "ts >= 100000 AND ts < 1160000", "ts > 1000000", "ts = 1100000", "ts BETWEEN 0 AND 20000.5", "ts < 0", "ts >= 1e30",
               "name = 'gemm' AND ts > 1000000", "track = 0 AND ts BETWEEN 10000 AND 1000000", "kind = 'op' AND name = 'aten::linear'",
               "name = 7", "ts > 'x'", "ts < 'x'", "id = 'x'", "kind = 'nonsense'", "name = 'GEMM' COLLATE NOCASE"]


@pytest.mark.parametrize("where", CONSTRAINTS)
def test_constraints(made, where):
    columns = "name, ts, dur, kind"
    pushed = ask(made, f"SELECT {columns} FROM slices WHERE {where} ORDER BY ts, name, dur")
    plus = re.sub(r"\b(name|kind|track|id|ts)\b(?! COLL)", r"(+\1)", where)  # which no index is used for
    assert pushed == ask(made, f"SELECT {columns} FROM slices WHERE {plus} ORDER BY ts, name, dur")


@pytest.mark.parametrize("order", ["name", "name DESC", "id", "id DESC", "ts", "kind, ts"])
def test_orders(made, order):
    rows = ask(made, f"SELECT name, id, ts, kind FROM slices ORDER BY {order}")
    key = [word.split()[0] for word in order.split(",")]
    values = [tuple(row[k.strip()] for k in key) for row in rows]
    assert values == sorted(values, reverse="DESC" in order) and len(rows) == column(made, "SELECT count(*) FROM slices")[0]


def test_groups_by_name_equal_those_by_hand(made):
    rows = ask(made, "SELECT name, count(*) AS n, sum(dur) AS t FROM slices GROUP BY name ORDER BY t DESC")
    by_hand = {}
    for row in ask(made, "SELECT name, dur FROM slices"):
        n, t = by_hand.get(row["name"], (0, 0))
        by_hand[row["name"]] = (n + 1, t + row["dur"])
    assert {row["name"]: (row["n"], row["t"]) for row in rows} == by_hand
    assert [row["t"] for row in rows] == sorted((row["t"] for row in rows), reverse=True)


def test_a_part_of_a_large_trace_is_what_it_is_of_the_whole(tmp_path):
    inferscope("run", "--trace", tmp_path / "t.sbt", "--report", "none", "--waits", "off", "-c",
               "import time\ndef f(n):\n    return f(n - 1) if n else 0\nfor i in range(60000): f(5)")
    trace = tmp_path / "t.sbt"
    a = column(trace, "SELECT ts FROM slices ORDER BY ts LIMIT 1 OFFSET (SELECT count(*) / 2 FROM slices)")[0]
    b = a + 2_000_000
    part = ask(trace, f"SELECT name, ts, dur, depth FROM slices WHERE ts BETWEEN {a} AND {b} ORDER BY ts, depth")
    whole = ask(trace, f"SELECT name, ts, dur, depth FROM slices WHERE +ts BETWEEN {a} AND {b} ORDER BY ts, depth")
    assert part == whole and len(part) > 100
    begin, end = ask(trace, "SELECT ts, ts + dur AS end FROM slices ORDER BY dur DESC LIMIT 1")[0].values()  # <module>, which goes on behind any part
    assert end - begin > b - a
    assert column(trace, f"SELECT max(dur) FROM slices WHERE ts BETWEEN {begin - 1000} AND {begin + 1000}") == [end - begin]


@pytest.mark.parametrize("title, sql", RECIPES, ids=[title for title, _ in RECIPES])
def test_recipes(made, recorded, title, sql):
    rows = ask(made, sql)
    ask(recorded, sql)
    assert rows or title.startswith(("What threads waited", "Operators that launch", "What to change"))


def test_there_are_recipes():
    assert len(RECIPES) > 10


def test_a_real_trace():
    path = shared("kineto/h100-owlv2.json.gz")
    assert column(path, "SELECT sum(dur) FROM slices WHERE kind = 'gpu_kernel'")[0] > 500_000_000
    report = analyze(path)
    assert column(path, "SELECT sum(dur) FROM idle_gaps")[0] == 1000 * report["devices"][0]["idle_us"]


# ---- How it is printed -------------------------------------------------------------------

def test_tables_are_aligned(made):
    out = inferscope("query", made, "SELECT name, count(*) AS n FROM slices WHERE device = 0 GROUP BY name").stdout.decode()
    assert out == ("name                              n\n"
                   "--------------------------------  -\n"
                   "Memcpy DtoH (Device -> Pageable)  2\n"
                   "gemm                              4\n")
    assert inferscope("query", made, "SELECT 1 AS one WHERE 0").stdout == b"one\n---\n"


def test_csv_and_json(made, tmp_path):
    out = inferscope("query", "--format", "csv", made, "SELECT 'a,\"b' AS x, 1.5 AS y, NULL AS z, 7 AS i").stdout.decode()
    assert list(csv.reader(io.StringIO(out))) == [["x", "y", "z", "i"], ['a,"b', "1.5", "", "7"]]
    assert ask(made, "SELECT 1.0 AS real, 1 AS whole, NULL AS none, 'é' AS text") == [{"real": 1.0, "whole": 1, "none": None, "text": "é"}]
    inferscope("query", "--format", "json", "-o", tmp_path / "rows.json", made, "SELECT 1 AS one")
    assert json.loads((tmp_path / "rows.json").read_text()) == [{"one": 1}]
    assert json.loads(inferscope("query", "--format", "json", made, "SELECT 1 WHERE 0").stdout) == []


def test_columns_of_one_name(made):
    """A key is there once; one that somebody else has is not taken."""
    assert ask(made, "SELECT 1 AS n, 2 AS n, 3 AS n_2, 4 AS n") == [{"n": 1, "n_3": 2, "n_2": 3, "n_4": 4}]
    out = inferscope("query", "--format", "csv", made, "SELECT 1 AS n, 2 AS n").stdout
    assert out == b"n,n\n1,2\n"
    joined = ask(made, "SELECT * FROM steps a JOIN steps b ON a.number = b.number LIMIT 1")[0]
    assert joined["number"] == joined["number_2"] and len(joined) == 2 * len(ask(made, "SELECT * FROM steps LIMIT 1")[0])


def test_bytes(made):
    """As SQL writes them, whatever the format."""
    sql = "SELECT x'00ff10' AS some, x'' AS none, NULL AS unknown, CAST('é' AS BLOB) AS text"
    assert ask(made, sql) == [{"some": "x'00ff10'", "none": "x''", "unknown": None, "text": "x'c3a9'"}]
    assert inferscope("query", "--format", "csv", made, sql).stdout == b"some,none,unknown,text\nx'00ff10',x'',,x'c3a9'\n"
    assert inferscope("query", made, sql).stdout.splitlines()[2] == b"x'00ff10'  x''            x'c3a9'"
    assert len(inferscope("query", made, f"SELECT x'{'ab' * 5000}' AS long").stdout.splitlines()[2]) <= 103


@pytest.mark.parametrize("name", ["\x1b[31mred", "a\nb", "nul\0byte", "\ud800", "‮txet", "x" * 5000, "=cmd()", "'; DROP TABLE x"])
def test_hostile_names(tmp_path, name):
    made = Made()
    made.op(name, 0, 10)
    path = made.save(tmp_path / "made.json")
    for kind in ("table", "csv", "json"):
        out = inferscope("query", "--format", kind, path, "SELECT name FROM slices").stdout
        text = out.decode("utf-8")
        assert "\x1b" not in text and "\0" not in text
    assert len(ask(path, "SELECT name FROM slices")) == 1


# ---- What is refused ----------------------------------------------------------------------

REFUSED = ["DELETE FROM slices", "INSERT INTO slices(id) VALUES (1)", "UPDATE slices SET ts = 0", "DROP TABLE slices", "CREATE TABLE x(a)",
           "ATTACH '/tmp/x.db' AS x", "SELECT load_extension('x')", "PRAGMA writable_schema = 1", "VACUUM INTO '/tmp/x.db'",
           "CREATE VIRTUAL TABLE t USING slices", "SELECT 1; SELECT 2", "SELECT readfile('/etc/passwd')", "SELECT * FROM sqlite_schema",
           "CREATE TEMP VIEW v AS SELECT 1", "BEGIN", "SELECT * FROM pragma_database_list"]


@pytest.mark.parametrize("sql", REFUSED)
def test_refused(made, sql):
    before = made.read_bytes()
    done = inferscope("query", made, sql, status=2)
    assert done.stdout == b"" and done.stderr.startswith(b"inferscope: ") and done.stderr.count(b"\n") == 1
    assert made.read_bytes() == before


def test_errors_have_a_place(made):
    assert b"no such table: nonsense" in inferscope("query", made, "SELECT * FROM nonsense", status=2).stderr
    assert b"no such column: nme, at character 8" in inferscope("query", made, "SELECT nme FROM slices", status=2).stderr
    assert b"syntax error" in inferscope("query", made, "SELEC 1", status=2).stderr
    inferscope("query", made, "", status=2)
    inferscope("query", status=2)


ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"


def test_timeout(made):
    begin = time.monotonic()
    done = inferscope("query", "--timeout", "0.3", made, ENDLESS, status=1)
    assert b"not done after 0.3 seconds" in done.stderr and time.monotonic() - begin < 20


def test_interrupt(made):
    with subprocess.Popen([INFERSCOPE, "query", made, ENDLESS], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=30) == (b"", b"") and process.returncode == 130


def test_broken_pipe_is_no_failure(made):
    with subprocess.Popen([INFERSCOPE, "query", made, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.readline().strip() == b"i"
        process.stdout.close()
        process.wait(timeout=30)
        assert process.returncode == 0 and process.stderr.read() == b""


def test_questions_on_standard_input(made):
    text = b"SELECT 1 AS a;\nSELECT\n 2 AS b;\n.tables\nSELECT 3 AS c"
    out = subprocess.run([INFERSCOPE, "query", "--format", "csv", made], input=text, capture_output=True, check=True, timeout=60).stdout.decode()
    assert out.startswith("a\n1\nb\n2\nslices(") and out.endswith("c\n3\n")


def test_prompt(made):
    master, slave = pty.openpty()
    with subprocess.Popen([INFERSCOPE, "query", made], stdin=slave, stdout=slave, stderr=slave, close_fds=True) as process:
        os.close(slave)
        os.write(master, b"SELECT 41 + 1 AS answer;\n.quit\n")
        process.wait(timeout=30)
        out = b""
        while b"answer" not in out or b"42" not in out:
            out += os.read(master, 4096)
    os.close(master)
    assert process.returncode == 0 and b"query> " in out


# ---- From Python ------------------------------------------------------------------------------

@pytest.fixture(name="api")
def import_package():
    need_package()
    return importlib.import_module("inferscope")


def test_python(made, api):
    rows = api.query(made, "SELECT name, count(*) AS n FROM slices WHERE device = 0 GROUP BY name")
    assert rows == [("Memcpy DtoH (Device -> Pageable)", 2), ("gemm", 4)] and rows.columns == ("name", "n")
    assert rows.dicts()[1] == {"name": "gemm", "n": 4}
    rows = api.query(made, "SELECT 1 AS n, x'00ff' AS n, 3 AS n_2")
    assert rows == [(1, b"\x00\xff", 3)] and rows.columns == ("n", "n", "n_2") and rows.dicts() == [{"n": 1, "n_3": b"\x00\xff", "n_2": 3}]


def test_python_finds_what_the_analysis_finds(made, tmp_path, api, monkeypatch):
    """By rules and patterns that are given, and by the settings of the environment."""
    rules = tmp_path / "rules.yaml"
    rules.write_text("rules:\n  - name: always\n    when: 1\n    gain: 0.25\n    message: always\n")
    sql = "SELECT kind, gain FROM findings ORDER BY id"
    analyzer = importlib.import_module("inferscope.analyzer")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))

    def check(*options, **settings):
        expected = [tuple(row.values()) for row in ask(made, sql, *options)]
        assert api.query(made, sql, **settings) == expected
        report = analyzer.BottleneckAnalyzer(trace=made, **settings).analyze()
        assert [f["kind"] for f in report["findings"]] == [kind for kind, _ in expected]
        api.export(made, tmp_path / "t.json", **settings)
        found = {event["args"]["id"]: event["args"]["gain"] for event in json.loads((tmp_path / "t.json").read_bytes())["traceEvents"]
                 if event.get("cat") == "finding"}
        assert list(found) == [f["id"] for f in report["findings"]] and list(found.values()) == pytest.approx([g for _, g in expected])
        states = "SELECT state, sum(dur) AS t FROM device_states GROUP BY state"
        assert api.query(made, states, **settings).dicts() == ask(made, states, *options)
        return expected, api.query(made, states, **settings)

    usual = check()
    assert ("custom", 0.25) in check("--rules-file", rules, rules_files=[rules])[0] and ("custom", 0.25) not in usual[0]
    given = check("--communication", "gemm", communication=["gemm"])
    assert given[1] != usual[1]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "inferscope").mkdir()
    (tmp_path / "inferscope" / "config.yaml").write_text("communication: gemm\n")
    assert check() == given
    with pytest.raises(ValueError, match="cannot read the rules"):
        api.query(made, "SELECT 1", rules_files=tmp_path / "nowhere.yaml")
    with pytest.raises(ValueError, match="cannot be taken"):
        api.export(made, tmp_path / "u.json", communication=["!"])


def test_python_says_what_is_wrong(made, tmp_path, api):
    with pytest.raises(ValueError, match="no such table: nonsense"):
        api.query(made, "SELECT * FROM nonsense")
    with pytest.raises(ValueError, match="may not be modified"):
        api.query(made, "DELETE FROM slices")
    with pytest.raises(TimeoutError):
        api.query(made, ENDLESS, timeout=0.2)
    (tmp_path / "no.sbt").write_bytes(b"nothing of ours")
    with pytest.raises(api.TraceError):
        api.query(tmp_path / "no.sbt", "SELECT 1")


def test_pandas(made, api):
    pandas = pytest.importorskip("pandas")
    frame = api.query(made, "SELECT name, dur FROM slices WHERE name = 'gemm'").frame()
    assert isinstance(frame, pandas.DataFrame) and list(frame.columns) == ["name", "dur"] and frame["dur"].sum() == 180000
