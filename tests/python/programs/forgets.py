"""Throws away modules, code and caches that others may count on."""

import gc
import sys


def work(n):
    return 1 + work(n - 1) if n else 0


class Object:
    def __len__(self):
        return work(2)

    def __getattr__(self, name):
        return work(3)


first = set(sys.modules)
import json
import threading
for name in [name for name in sys.modules if name not in first or name.startswith("inferscope")]:
    del sys.modules[name]
gc.collect()
junk = [bytes(size) for size in range(5000)]
print(len(Object()), Object().missing, work(5))
for n in range(300):  # code that comes and goes
    space = {}
    exec("def f%d(x):\n    return [y for y in range(x)]\nclass C:\n    def m(self):\n        return f%d(3)" % (n, n), space)
    assert space["C"]().m() == [0, 1, 2]
code = work.__code__
work.__code__ = (lambda n: 7).__code__
print(work(5))
work.__code__ = code.replace(co_name="renamed")
print(work(5))
del code
sys.setswitchinterval(1e-6)
thread = threading.Thread(target=work, args=(100,))
thread.start()
print(work(100))
thread.join()
sys.path_importer_cache.clear()
sys.modules.clear()
print("nothing left", work(10))
