"""Signals with handlers in Python: sent, from a timer while a function runs, through a wakeup descriptor."""

import os
import signal
import socket
import threading

seen = []


def handle(number, frame):
    seen.append((signal.Signals(number).name, frame.f_code.co_name))


def sent():
    os.kill(os.getpid(), signal.SIGTERM)


def by_timer():
    def work(n):
        return n and work(n - 1)
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    while sum(name == "SIGALRM" for name, _ in seen) < 20:
        work(50)
    signal.setitimer(signal.ITIMER_REAL, 0)


def by_descriptor():
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    old = signal.set_wakeup_fd(theirs.fileno())
    os.kill(os.getpid(), signal.SIGUSR1)
    print("woken by", ours.recv(10), "before that", old, "now", signal.set_wakeup_fd(-1) == theirs.fileno())


def to_thread():
    waiting = threading.Thread(target=lambda: print("waited for", signal.sigwait({signal.SIGUSR2}).name))
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2})
    waiting.start()
    signal.pthread_kill(waiting.ident, signal.SIGUSR2)
    waiting.join()


def raising():
    class Stop(Exception):
        pass

    def stop(number, frame):
        raise Stop
    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, 0.005)
    try:
        while True:
            sorted(range(100), key=lambda n: -n)
    except Stop:
        print("stopped")


for name in ("SIGTERM", "SIGALRM", "SIGUSR1"):
    signal.signal(getattr(signal, name), handle)
sent()
by_timer()
by_descriptor()
to_thread()
raising()
print([entry for entry in seen if entry[0] != "SIGALRM"])
print({name: signal.getsignal(name) is signal.SIG_DFL for name in (signal.SIGSEGV, signal.SIGCHLD, signal.SIGHUP)})
print(sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])))
