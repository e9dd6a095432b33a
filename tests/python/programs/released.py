"""Threads in C code that lets go of the interpreter: hashes, compression, sleeping, sockets, locks with timeouts."""

import hashlib
import queue
import socket
import threading
import time
import zlib

DATA = bytes(range(256)) * 4000


def digest(results, n):
    for _ in range(3):
        results[n] = hashlib.sha256(DATA).hexdigest()[:8], zlib.crc32(zlib.decompress(zlib.compress(DATA, 1)))


def talk():
    ours, theirs = socket.socketpair()
    answer = threading.Thread(target=lambda: theirs.sendall(theirs.recv(100).upper()))
    answer.start()
    ours.sendall(b"hello")
    answer.join()
    return ours.recv(100)


def hand_over(n):
    items, seen = queue.Queue(), []

    def take():
        while True:
            item = items.get()
            if item is None:
                return
            seen.append(item)
    takers = [threading.Thread(target=take) for _ in range(3)]
    for taker in takers:
        taker.start()
    for item in [*range(n), None, None, None]:
        items.put(item)
    for taker in takers:
        taker.join()
    return sum(seen)


results = {}
threads = [threading.Thread(target=digest, args=(results, n)) for n in range(4)]
for thread in threads:
    thread.start()
time.sleep(0.001)
for thread in threads:
    thread.join()
print(sorted(results.items()))
print(talk(), hand_over(300))
lock = threading.Lock()
print(lock.acquire(timeout=0.001), lock.acquire(timeout=0.001), threading.Condition().acquire())
barrier = threading.Barrier(3)
waiting = [threading.Thread(target=barrier.wait) for _ in range(2)]
for thread in waiting:
    thread.start()
print(barrier.wait() in range(3))
for thread in waiting:
    thread.join()
