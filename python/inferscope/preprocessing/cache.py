"""ContentCache: results by the content of what they were computed from."""

import collections
import functools
import threading

from inferscope.preprocessing._inputs import copied, key_of, size_bytes


class ContentCache:
    """Results of functions, the least recently used go first.

    The key is the content of the input and not its shape, of which different inputs have the same.  What is given out is a
    copy: who changes it does not change what the next one gets.
    """

    def __init__(self, size=1000, megabytes=256.0):
        self.size, self.bytes_most = size, int(megabytes * 1024 ** 2)
        self.hits = self.misses = self.bytes = 0
        self._rows = collections.OrderedDict()
        self._lock = threading.Lock()

    def __len__(self):
        return len(self._rows)

    def __contains__(self, key):
        return key in self._rows

    def clear(self):
        with self._lock:
            self._rows.clear()
            self.hits = self.misses = self.bytes = 0

    def get(self, key):
        """(found, result)"""
        with self._lock:
            row = self._rows.get(key)
            if row is None:
                self.misses += 1
                return False, None
            self.hits += 1
            self._rows.move_to_end(key)
        return True, copied(row[0])

    def put(self, key, result, owner=None):
        """Keeps a copy, unless it is larger than all that may be kept; and `owner`, whose id may be part of the key."""
        size = size_bytes(result)
        if size > self.bytes_most or self.size < 1:
            return
        row = copied(result), size, owner
        with self._lock:
            self.bytes += size - self._rows.pop(key, (None, 0, None))[1]
            self._rows[key] = row
            while len(self._rows) > self.size or self.bytes > self.bytes_most:
                self.bytes -= self._rows.popitem(last=False)[1][1]

    def call(self, function, value):
        """function(value), or what it gave for the same content.  Raises NoKey for what has no key."""
        key = id(function), key_of(value)
        found, result = self.get(key)
        if not found:
            result = function(value)
            self.put(key, result, function)
        return result

    def wrap(self, function):
        """A function that does the same as `function`, with this cache; for functions that only compute."""
        @functools.wraps(function, updated=())
        def cached(value):
            return self.call(function, value)
        cached.cache = self
        return cached
