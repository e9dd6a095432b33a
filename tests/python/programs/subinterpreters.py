"""Other interpreters in the same process."""

import sys
import threading

try:
    import _xxsubinterpreters as interpreters
except ImportError:
    import _interpreters as interpreters

CODE = """if True:
    import sys, threading
    def down(n):
        return 0 if n == 0 else 1 + down(n - 1)
    class A:
        def m(self):
            return [down(n) for n in range(20)]
    A().m()
    assert down(100) == 100
    assert not [p for p in sys.path if 'inferscope' in p]
"""


def down(n):
    return 0 if n == 0 else 1 + down(n - 1)


def use():
    one = interpreters.create()
    print("result", interpreters.run_string(one, CODE))
    print("again", interpreters.run_string(one, CODE))
    interpreters.destroy(one)


def fails():
    one = interpreters.create()
    try:
        print("failed", interpreters.run_string(one, "1 / 0") is not None)
    except Exception as error:
        print(type(error).__name__)
    interpreters.destroy(one)


use()
print(down(50))
fails()
thread = threading.Thread(target=use)
thread.start()
thread.join()
left = interpreters.create()
interpreters.run_string(left, CODE)
print(down(50), len(interpreters.list_all()))
if sys.version_info < (3, 12):
    interpreters.destroy(left)
