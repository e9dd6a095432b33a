"""IOTracker: what a process reads and writes."""

import time

from inferscope.trackers._tracker import MB, Tracker, in_mb

# Names of ours, and those of the kernel.
_BYTES = {"read_mb": "read_bytes", "write_mb": "write_bytes", "read_chars_mb": "rchar", "write_chars_mb": "wchar"}


class IOTracker(Tracker):
    """What a process reads and writes, and what the disks of the machine do."""

    _PARTS = {"disks": True}

    def _first(self):
        self._pass("usage")
        self._pass("stats")
        self.get_device_stats()

    def _pass(self, name):
        counters = self._ask("process", True, False)
        pressure = self._ask("io_pressure")
        known = dict(counters or {}, **({} if pressure is None else {"pressure": pressure}))
        return counters, self._since(name, time.monotonic(), known)

    def get_current_usage(self):
        """MB a second from and to disks, since the call before."""
        _, (seconds, grown) = self._pass("usage")
        return self._rate(grown, "read_bytes", seconds, MB) + self._rate(grown, "write_bytes", seconds, MB)

    def get_current_stats(self):
        """read_mb and write_mb from and to disks, read_chars_mb and write_chars_mb by system calls, cached or not, and read_count and
        write_count of those, all since the process began; read_mb_per_s, write_mb_per_s, read_chars_mb_per_s, write_chars_mb_per_s,
        reads_per_s and writes_per_s since the call before; pressure_percent, of the time in which some thread of the machine waited
        for a disk; alive.  Where the system does not tell, as of processes of somebody else, sums are None."""
        counters, (seconds, grown) = self._pass("stats")
        alive, counters = counters is not None, counters or {}
        unknown = None if alive else 0
        stats = {"read_count": counters.get("syscr", unknown), "write_count": counters.get("syscw", unknown)}
        for key, name in _BYTES.items():
            stats[key] = in_mb(counters.get(name, unknown))
            stats[key + "_per_s"] = self._rate(grown, name, seconds, MB)
        stats.update(reads_per_s=self._rate(grown, "syscr", seconds), writes_per_s=self._rate(grown, "syscw", seconds),
                     pressure_percent=100.0 * self._rate(grown, "pressure", seconds, 1e9), alive=alive)
        self._record(read_mb_per_s=stats["read_mb_per_s"], write_mb_per_s=stats["write_mb_per_s"],
                     pressure_percent=stats["pressure_percent"])
        return stats

    def get_device_stats(self):
        """For each disk of the machine name, read_mb, write_mb, read_count, write_count since the machine began; read_mb_per_s,
        write_mb_per_s, reads_per_s, writes_per_s and busy_percent since the call before."""
        rows = []
        for disk in self._ask("disks") or []:
            name = disk.pop("name")
            seconds, grown = self._since("disk " + name, time.monotonic(), disk)
            rows.append({"name": name, "read_mb": disk["read_bytes"] / MB, "write_mb": disk["write_bytes"] / MB,
                         "read_count": disk["read_count"], "write_count": disk["write_count"],
                         "read_mb_per_s": self._rate(grown, "read_bytes", seconds, MB),
                         "write_mb_per_s": self._rate(grown, "write_bytes", seconds, MB),
                         "reads_per_s": self._rate(grown, "read_count", seconds), "writes_per_s": self._rate(grown, "write_count", seconds),
                         "busy_percent": min(100.0, 100.0 * self._rate(grown, "busy_ns", seconds, 1e9))})
        return rows

    def get_waiting_threads(self):
        """How many threads wait for a disk now."""
        return sum(state == "D" for *_, state in self._ask("threads") or [])
