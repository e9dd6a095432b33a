#!/usr/bin/env python3
"""Asks a feature store over HTTP for each step and waits for the answer.  The store takes 10 ms, and is not our child.

Fixed: two requests are under way while the model computes.
"""

import collections
import http.client
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from harness import Run, scope
import numpy as np

BYTES = 4096

# Double fork, so that it belongs to nobody here; ends when its clients have gone, or after a minute in any case.
STORE = """
import os, signal, socket, sys, threading, time
signal.alarm(60)
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
if os.fork():
    os._exit(0)
os.setsid()
if os.fork():
    os._exit(0)
signal.alarm(60)
null = os.open(os.devnull, os.O_RDWR)
for number in range(3):
    os.dup2(null, number)

def serve(connection):
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while request := connection.recv(65536):
        number = int(request.split()[1][1:])
        time.sleep(0.010)
        body = bytes((number * 7 + place) % 251 for place in range(4096))
        connection.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 4096\\r\\n\\r\\n" + body)

listener.settimeout(5)
threads = [threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


def start_store():
    environment = {"PATH": os.environ.get("PATH", os.defpath)}
    store = subprocess.run([sys.executable, "-I", "-S", "-c", STORE], env=environment, stdout=subprocess.PIPE, check=True)
    return int(store.stdout)


def fetch(connection, number):
    connection.request("GET", f"/{number}")
    return connection.getresponse().read()


def compute(features, weights):
    state = np.frombuffer(features, dtype=np.uint8).astype(np.float32).reshape(8, -1)
    for _ in range(44):
        state = np.tanh(state @ weights)
    return float(state.sum(dtype=np.float64))


def serial(connections, steps):
    for number in range(steps):
        yield fetch(connections[0], number)


def prefetched(connections, steps):
    """Each connection has a thread of its own, and they take turns."""
    pools = [ThreadPoolExecutor(1) for _ in connections]
    waiting = collections.deque()
    for number in range(steps + len(pools)):
        if number < steps:
            place = number % len(pools)
            waiting.append(pools[place].submit(fetch, connections[place], number))
        if number >= len(pools):
            yield waiting.popleft().result()


def main():
    run = Run(__doc__, steps=100, seconds=2)
    weights = np.random.default_rng(8).standard_normal((BYTES // 8, BYTES // 8), dtype=np.float32) / 20
    port = start_store()
    connections = [http.client.HTTPConnection("127.0.0.1", port) for _ in range(2)]
    try:
        for connection in connections:
            connection.connect()
        features = (prefetched if run.fixed else serial)(connections, run.steps)
        for _ in run:
            with scope("step"):
                run.add(f"{compute(next(features), weights):.2f}")
    finally:
        for connection in connections:
            connection.close()
    run.finish()


if __name__ == "__main__":
    main()
