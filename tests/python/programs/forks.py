"""Forks: alone, while other threads run, from a thread, with the child going on for a while."""

import os
import sys
import threading
import warnings

warnings.simplefilter("ignore", DeprecationWarning)


def work(n):
    return sum(work(n - 1) for _ in range(3)) if n else 1


def child(what):
    """What runs in the child; the parent gets its status."""
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        try:
            status = what()
        except BaseException:
            status = 99
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def with_threads():
    busy = True

    def spin():
        while busy:
            work(3)
    threads = [threading.Thread(target=spin) for _ in range(3)]
    for thread in threads:
        thread.start()
    results = [child(lambda: work(4)) for _ in range(5)]
    busy = False
    for thread in threads:
        thread.join()
    return results


def from_thread():
    results = []
    thread = threading.Thread(target=lambda: results.append(child(lambda: work(2) + len(threading.enumerate()))))
    thread.start()
    thread.join()
    return results


def starts_threads():
    results = []
    threads = [threading.Thread(target=lambda: results.append(work(3))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(results)


def returns():
    """The child leaves by the same way as its parent, through all that is open."""
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return None


os.register_at_fork(before=lambda: calls.append("before"), after_in_parent=lambda: calls.append("parent"),
                    after_in_child=lambda: calls.append("child"))
calls = []
print(child(lambda: work(3)), with_threads(), from_thread(), child(starts_threads), child(lambda: child(lambda: work(2))))
print(len(calls), calls[:2], child(lambda: len(calls)))
status = returns()
print("child" if status is None else "parent", status, flush=True)
sys.exit(8 if status is None else 0)
