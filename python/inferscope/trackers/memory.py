"""MemoryTracker: memory of a process, and what there is for it."""

import os
import time

from inferscope import _engine
from inferscope.trackers._tracker import GB, MB, Tracker, in_mb

PSS_EVERY = 1.0       # seconds between looks at what is shared, at least,
PSS_SHARE = 0.01      # and at most so much of the time for it
PSS_UNASKED = 2 * GB  # a process that is larger is not looked at before it is known what that costs


class MemoryTracker(Tracker):
    """Memory of a process, and how much there is left for it.

    In a container with a limit, total and available are the container's.
    """

    _PARTS = {"memory": True}

    def _first(self):
        self._pss, self._pss_due = None, 0.0

    def get_current_memory(self):
        """What of it is in memory (RSS), in MB."""
        return (self._ask("rss") or 0) / MB

    def get_pss(self):
        """The same with what it shares counted by its part, in MB; None where the system does not tell.

        The kernel walks all the memory for it, which takes 20 ms for each GB, in which nothing of the process can be mapped.
        """
        begin = time.monotonic()
        self._pss = in_mb(self._ask("pss"))
        end = time.monotonic()
        self._pss_due = end + max(PSS_EVERY, (end - begin) / PSS_SHARE)
        return self._pss

    def _pss_now(self, rss):
        if rss and time.monotonic() >= self._pss_due and (self._pss_due or rss <= PSS_UNASKED):
            return self.get_pss()
        return self._pss

    def get_current_stats(self):
        """used_mb, used_percent, available_gb, total_gb; pss_mb (of the last second, or longer where it is dear to know; None:
        not known), shared_mb, swap_mb, minor_faults, major_faults of the process; limited and limit_gb; swap_used_gb and
        swap_total_gb; machine_available_gb and machine_total_gb; alive."""
        process, system = self._ask("process", False, True), self._system()
        rss, total = (process or {}).get("rss_bytes", 0), system["total_bytes"]
        process = process or {}
        stats = {
            "used_mb": rss / MB,
            "used_percent": 100.0 * (total - system["available_bytes"]) / total if total else 0.0,
            "available_gb": system["available_bytes"] / GB,
            "total_gb": total / GB,
            "pss_mb": self._pss_now(rss) if rss else 0.0,
            "shared_mb": process.get("shared_bytes", 0) / MB,
            "swap_mb": process.get("swap_bytes", 0) / MB,
            "minor_faults": process.get("minor_faults", 0),
            "major_faults": process.get("major_faults", 0),
            "limited": system["limited"],
            "limit_gb": total / GB if system["limited"] else None,
            "swap_used_gb": system["swap_used_bytes"] / GB,
            "swap_total_gb": system["swap_total_bytes"] / GB,
            "machine_available_gb": system["machine_available_bytes"] / GB,
            "machine_total_gb": system["machine_total_bytes"] / GB,
            "alive": bool(process),
        }
        self._record(memory_mb=stats["used_mb"], memory_percent=stats["used_percent"])
        return stats

    def _system(self):
        """What there is for the process; the machine's when it has ended, and with it what told its limits."""
        try:
            found = self._ask("memory")
            if found is not None:
                return found
            return _engine.Meter(os.getpid(), memory=True, root=self._root).memory()
        except OSError:
            return dict.fromkeys(["total_bytes", "available_bytes", "swap_used_bytes", "swap_total_bytes", "limited",
                                  "machine_total_bytes", "machine_available_bytes"], 0)
