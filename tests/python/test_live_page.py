"""The server of the live page: who may ask, what is answered, and that whatever clients do changes nothing."""

import contextlib
import json
import math
import os
import re
import signal
import socket
import stat
import subprocess
import time
from pathlib import Path

import pytest

from recording import BUILD

SERVER = BUILD / "tests" / "programs" / "live_server"
TOKEN = "0123456789abcdef0123456789abcdef"
PATIENCE = 20

if not SERVER.exists():
    pytest.skip(f"{SERVER} is not built", allow_module_level=True)


class Server:
    """A server of made-up snapshots (tests/programs/live_server.c)."""

    def __init__(self, address="127.0.0.1:0", token=TOKEN, *words):
        self.process = subprocess.Popen([SERVER, address, token, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()
        if match := re.search(r"http://(.*):(\d+)/\?token=(\S+)$", self.url):
            self.host, self.port, self.token = match[1].strip("[]"), int(match[2]), match[3]

    def child(self):
        return int(Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()[0])

    def say(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline().split()[1])

    def connect(self):
        return socket.create_connection((self.host, self.port), timeout=PATIENCE)

    def ask(self, path="/api", method="GET", host=None, version="HTTP/1.1", token=True, body=b"", **headers):
        """Status, headers and body of one answer."""
        if token:
            path += ("&" if "?" in path else "?") + f"token={self.token}"
        lines = [f"{method} {path} {version}", f"Host: {host or f'127.0.0.1:{self.port}'}", "Connection: close"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        with self.connect() as client:
            client.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
            return answer(client)

    def json(self, path="/api"):
        return json.loads(self.ask(path)[2])

    def stop(self):
        """The exit status, and how long it took to end."""
        begin = time.monotonic()
        self.process.stdin.close()
        status = self.process.wait(PATIENCE)
        self.process.stdout.close()
        self.process.stderr.close()
        return status, time.monotonic() - begin


def answer(client):
    data = b""
    with contextlib.suppress(ConnectionResetError):
        while chunk := client.recv(1 << 16):
            data += chunk
    head, _, body = data.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    return int(lines[0].split()[1]) if lines[0] else 0, dict(line.split(": ", 1) for line in lines[1:]), body


@pytest.fixture
def server():
    made = Server()
    yield made
    assert made.stop()[0] == 0


def test_without_the_token_there_is_nothing(server):
    for path in ("/", "/api", "/metrics", "/events", "/api/history", "/favicon.ico", "/nothing"):
        status, headers, body = server.ask(path, token=False)
        assert (status, headers["WWW-Authenticate"]) == (401, "Bearer"), path
        assert b"sequence" not in body and b"Set-Cookie" not in body and "Set-Cookie" not in headers
    wrong = [TOKEN[:-1], TOKEN + "0", TOKEN[:-1] + "0", "", "0" * 32, TOKEN.upper()]
    for token in wrong:
        assert server.ask(f"/api?token={token}", token=False)[0] == 401, token
        assert server.ask(token=False, Authorization=f"Bearer {token}")[0] == 401, token
        assert server.ask(token=False, Cookie=f"inferscope-{server.port}={token}")[0] == 401, token
    assert server.ask(token=False, Cookie=f"inferscope-{server.port + 1}={TOKEN}")[0] == 401


def test_token_in_the_address_becomes_a_cookie(server):
    status, headers, body = server.ask("/")
    name = f"inferscope-{server.port}"
    assert status == 200 and b"<!doctype html>" in body
    assert headers["Set-Cookie"] == f"{name}={TOKEN}; Path=/; HttpOnly; SameSite=Strict"
    assert server.ask(token=False, Cookie=f"other=1; {name}={TOKEN}; more=2")[0] == 200
    assert server.ask(token=False, Authorization=f"Bearer {TOKEN}")[0] == 200
    # a page of another port of this machine is the same site to a browser, and has the cookie sent
    assert server.ask(token=False, Cookie=f"{name}={TOKEN}", Sec_Fetch_Site="same-site")[0] == 401
    assert server.ask(token=False, Cookie=f"{name}={TOKEN}", Sec_Fetch_Site="same-origin")[0] == 200


def test_headers_allow_nothing_from_elsewhere(server):
    for path in ("/", "/api", "/metrics", "/nothing"):
        headers = server.ask(path)[1]
        assert headers["Cache-Control"] == "no-store" and headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer" and headers["X-Frame-Options"] == "DENY"
        assert not [name for name in headers if name.lower().startswith("access-control")]
        policy = dict(part.split(" ", 1) for part in headers["Content-Security-Policy"].split("; "))
        assert policy["default-src"] == "'none'" and policy["connect-src"] == "'self'" and policy["frame-ancestors"] == "'none'"
        assert re.fullmatch(r"'sha256-[\w+/]+='", policy["script-src"])
    assert server.ask("/nothing")[0] == 404


def test_only_its_own_names(server):
    port = server.port
    for host in ("localhost", f"localhost:{port}", "LOCALHOST:9", f"127.0.0.1:{port}", "[::1]:1", "127.0.0.1"):
        assert server.ask(host=host)[0] == 200, host
    for host in ("evil.example", f"evil.example:{port}", "127.0.0.1.evil.example", "localhost.evil.example:1", "localhost:", "127.0.0.2", "[::1",
                 "localhost:x", "localhost:123456", "127.0.0.1:80:80", "[::1]80", f"user@127.0.0.1:{port}"):
        assert server.ask(host=host)[0] in (400, 403), host


def test_can_only_be_read(server):
    before = server.json()
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT", "BREW"):
        status, headers, _ = server.ask(method=method, body=b"x" * 100, Content_Length="100")
        assert status in (405, 501) and headers.get("Allow", "GET, HEAD") == "GET, HEAD", method
    status, headers, body = server.ask(method="HEAD")
    assert (status, body) == (200, b"") and int(headers["Content-Length"]) > 1000
    for path in ("/../api", "/..%2f..%2fetc/passwd", "/%00", "//api", "/api/", "/api/../metrics", "/" + "a" * 4000, "/\x7f"):
        assert server.ask(path)[0] in (400, 404), path
    assert server.json() == before


def test_hostile_bytes_change_nothing(server):
    before = server.json()
    child = server.child()
    garbage = [b"\0" * 5000, b"\xff\xfe GET / HTTP/9.9\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/1.1\r\n" + b"A: " + b"b" * 200000 + b"\r\n\r\n",
               b"GET / HTTP/1.1\r\n" + b"".join(b"H%d: x\r\n" % i for i in range(20000)) + b"\r\n",
               b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 50,
               b"GET /api HTTP/1.1\r\nHost: localhost\r\nHost: evil\r\nContent-Length: -1\r\n\r\n",
               b"GET /api HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n",
               b"GET " + b"/" * 70000 + b" HTTP/1.1\r\n\r\n", os.urandom(20000)]
    for data in garbage:
        with server.connect() as client, contextlib.suppress(ConnectionError, TimeoutError):
            client.settimeout(0.3)  # what could still become a request is waited for
            client.sendall(data)
            assert answer(client)[0] in (0, 400, 401, 403, 405, 413, 414, 431, 501, 505)
    assert server.json() == before and server.child() == child


def test_those_who_say_nothing_are_sent_away_and_keep_nobody_out(server):
    slow = []
    for _ in range(140):  # more than there is room for
        client = socket.socket()
        client.settimeout(PATIENCE)
        client.connect((server.host, server.port))
        client.sendall(b"GET /api HT")
        slow.append(client)
    begin = time.monotonic()
    assert server.json()["sequence"] == 1
    assert time.monotonic() - begin < 12
    for client in slow:
        client.close()


class Events:
    """A client of /events."""

    def __init__(self, server, **headers):
        self.client = server.connect()
        lines = [f"GET /events?token={server.token} HTTP/1.0", f"Host: localhost:{server.port}",
                 *(f"{k.replace('_', '-')}: {v}" for k, v in headers.items())]
        self.client.sendall("\r\n".join(lines).encode() + b"\r\n\r\n")
        self.file = self.client.makefile("rb")
        while self.file.readline().strip():
            pass

    def next(self):
        """{"event": ..., "data": ..., "id": ...} of the next event; None at the end."""
        event = {}
        while line := self.file.readline():
            if line == b"\n" and "event" in event:
                return event
            if line == b"\n":
                event = {}
                continue
            name, _, value = line.decode().strip().partition(": ")
            event[name] = json.loads(value) if name == "data" else value
        return None

    def close(self):
        self.file.close()
        self.client.close()


def test_stream_tells_all_then_what_changes_then_the_end():
    server = Server()
    time.sleep(0.1)  # else the server may not see one
    server.say("burst 3 50000")
    client = Events(server)
    history, whole = client.next(), client.next()
    assert (history["event"], whole["event"]) == ("history", "whole")
    assert history["data"]["run_s"][:3] == [0.1, 1.1, 2.1]
    state = whole["data"]
    assert state == server.json()
    server.say("alert")
    change = client.next()
    assert change["event"] == "change" and "alerts" in change["data"] and "processes" not in change["data"]
    state.update(change["data"])
    assert state == server.json()
    client.close()
    again = Events(server, Last_Event_ID=whole["id"])
    assert again.next() == change, "what was missed is told again"
    other = Events(server, Last_Event_ID=whole["id"].replace(whole["id"][:4], "zzzz"))
    assert other.next()["event"] == "history"
    status, took = server.stop()
    assert again.next() == {"event": "end", "data": {"reason": "ended"}} and again.next() is None
    assert status == 0 and took < 2.5
    again.close()
    other.close()


def test_fifty_clients_and_one_that_does_not_listen(server):
    deaf = Events(server)
    clients = [Events(server) for _ in range(50)]
    for client in clients:
        assert [client.next()["event"] for _ in range(2)] == ["history", "whole"]
    begin = time.monotonic()
    last = server.say("burst 300 2000")
    for client in clients:
        state = {}
        while state.get("sequence") != last:
            event = client.next()
            assert event["event"] in ("whole", "change")
            state = event["data"] if event["event"] == "whole" else {**state, **event["data"]}
    assert time.monotonic() - begin < PATIENCE
    memory = int(re.search(r"RssAnon:\s+(\d+)", Path(f"/proc/{server.child()}/status").read_text())[1])
    assert memory < 24 << 10, f"{memory} kB"
    kinds = [deaf.next() for _ in range(2)]
    assert [kind["event"] for kind in kinds] == ["history", "whole"]
    last = server.say("burst 1 0")
    event = deaf.next()
    while event["data"]["sequence"] != last:
        event = deaf.next()
    for client in [deaf, *clients]:
        client.close()


def test_whoever_asks_for_metrics_can_read_them():
    parser = pytest.importorskip("prometheus_client.openmetrics.parser")
    server = Server("127.0.0.1:0", TOKEN, "open", "hostile")
    server.say("alert")
    server.say("burst 4 1000")
    status, headers, body = server.ask("/metrics", token=False)
    assert status == 200 and headers["Content-Type"] == "application/openmetrics-text; version=1.0.0; charset=utf-8"
    assert body.endswith(b"\n# EOF\n") and server.ask("/api", token=False)[0] == 401
    families = {family.name: family for family in parser.text_string_to_metric_families(body.decode())}
    values = {(sample.name, *sorted(sample.labels.items())): sample.value for family in families.values() for sample in family.samples}
    now = server.json()
    assert families["process_cpu_seconds"].type == "counter" and families["process_cpu_seconds"].unit == "seconds"
    assert values["process_resident_memory_bytes",] == now["memory"]["rss_bytes"]
    assert families["inferscope_step_seconds"].type == "histogram"
    assert values["inferscope_step_seconds_count",] == values["inferscope_step_seconds_bucket", ("le", "+Inf")] == 8 * now["sequence"]
    assert math.isclose(values["inferscope_dataloader_wait_seconds_total",], 0.18 * values["inferscope_step_seconds_sum",])
    assert values["inferscope_events_total",] > 0 and values["inferscope_events_dropped_total",] == 0
    assert values["inferscope_alerts_total",] == 1
    assert values["process_start_time_seconds",] == 1700000000.123456
    hostile = "</script><img src=x onerror=alert(1)>\"\\\n\ufffd[31m\ufffd\ufffd"
    assert values["inferscope_run_info", ("program", hostile)] == 1 and "--epochs" not in body.decode()
    alert = ("inferscope_alert", ("kind", "memory_high"), ("severity", "warning"), ("subject", hostile))
    assert values[alert] == 1
    assert values["inferscope_gpu_memory_used_bytes", ("gpu", "0"), ("name", hostile), ("uuid", "GPU-00000000")] == 2.1e10
    assert sum(value for key, value in values.items() if key[0] == "inferscope_threads") == 14

    server.say("burst 4 1000")
    later = list(parser.text_string_to_metric_families(server.ask("/metrics", token=False)[2].decode()))
    for family in later:
        for sample in family.samples:
            if family.type in ("counter", "histogram"):
                assert sample.value >= values[(sample.name, *sorted(sample.labels.items()))], sample
    assert server.stop()[0] == 0


def test_socket_with_a_path(tmp_path):
    path = tmp_path / "page.sock"
    server = Server(f"unix:{path}")
    assert server.url == f"unix:{path}, http://localhost/?token={TOKEN}"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))
        client.sendall(f"GET /api?token={TOKEN} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        assert answer(client)[0] == 200
    child = server.child()
    server.process.kill()
    server.process.wait()
    wait_for_end(child)
    again = Server(f"unix:{path}")  # what a killed one left is no obstacle
    assert again.url
    assert Server(f"unix:{path}").url == "", "but one that is there is"
    assert again.stop()[0] == 0 and not path.exists()


def wait_for_end(pid):
    for _ in range(PATIENCE * 20):
        status = Path(f"/proc/{pid}/status")
        if not status.exists() or "State:\tZ" in status.read_text():
            return
        time.sleep(0.05)
    raise AssertionError(f"process {pid} is still there")


def test_it_ends_with_its_parent_and_may_do_little(server):
    child = server.child()
    status = Path(f"/proc/{child}/status").read_text()
    assert "NoNewPrivs:\t1" in status and "Seccomp:\t2" in status and re.search(r"Name:\s+inferscope-web", status)
    assert {os.readlink(link).partition(":")[0] for link in Path(f"/proc/{child}/fd").iterdir()} <= {"/dev/null", "socket", "anon_inode"}
    client = Events(server)
    client.next()
    other = Server()
    orphan = other.child()
    listener = Events(other)
    os.kill(other.process.pid, signal.SIGKILL)
    other.process.wait()
    events = []
    while event := listener.next():
        events.append(event)
    assert events[-1] == {"event": "end", "data": {"reason": "lost"}}
    wait_for_end(orphan)
    os.kill(child, signal.SIGKILL)  # and the other way round
    assert server.say("burst 2 1000") == 3
    client.close()


def test_addresses():
    for address, url in [(":0", r"http://127\.0\.0\.1:\d+/"), ("0", r"http://127\.0\.0\.1:\d+/"), ("localhost:0", r"http://127\.0\.0\.1:\d+/"),
                         ("127.0.0.1", r"http://127\.0\.0\.1:\d+/"), ("0.0.0.0:0", r"http://(?!0)\d+\.\d+\.\d+\.\d+:\d+/"),
                         ("127.0.0.7:0", r"http://127\.0\.0\.7:\d+/")]:
        server = Server(address, "")
        assert re.fullmatch(url + r"\?token=[0-9a-f]{32}", server.url), server.url
        assert server.ask(host=f"{server.host}:{server.port}")[0] == 200
        assert server.stop()[0] == 0
    for address in ("example.org:80", "127.0.0.1:70000", "127.0.0.1:x", "[::1:80", "unix:", "unix:/" + "x" * 200, "1.2.3.4.5:1"):
        server = Server(address, "")
        _, error = server.process.communicate()
        assert server.process.returncode == 2 and "is no address for a page" in error, address
    taken = Server()
    second = Server(f"127.0.0.1:{taken.port}")
    assert "Address already in use" in second.process.communicate()[1] and second.process.returncode == 1
    assert taken.stop()[0] == 0
    short = Server("127.0.0.1:0", "short")
    assert "a token of the page has 16 to 64" in short.process.communicate()[1] and short.process.returncode == 2
