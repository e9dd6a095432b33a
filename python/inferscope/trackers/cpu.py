"""CPUTracker: processor time of a process and of its threads."""

import os
import time

from inferscope.trackers._tracker import Tracker

FREQUENCY_EVERY = 1.0  # seconds


class CPUTracker(Tracker):
    """Processor time of a process and of its threads; 100 % is one processor."""

    _PARTS = {"machine": True}

    def _first(self):
        self._usage, self._frequency, self._frequency_due = 0.0, 0, 0.0
        self.get_current_usage()
        self._machine()
        self._threads()

    def get_current_usage(self):
        """Percent of one processor, of all threads together, since the call before."""
        ns = self._ask("cpu_ns")
        if ns is None:
            return 0.0
        seconds, grown = self._since("usage", time.monotonic(), {"ns": ns})
        if seconds > 0:
            self._usage = 100.0 * self._rate(grown, "ns", seconds, 1e9)
        return self._usage

    def _machine(self):
        return self._since("machine", time.monotonic(), self._ask("machine") or {})

    def _available(self, quota):
        """Processors that it may use: those it is bound to, and as much of them as its control groups have."""
        try:
            bound = len(os.sched_getaffinity(self.pid))
        except OSError:
            bound = os.cpu_count() or 1
        return float(bound if quota is None else min(bound, quota / 1000))

    @staticmethod
    def _throttled(grown):
        """Share of the time in which the control group had something to do that its quota held it back: see machine_counters.c."""
        ended, periods, lost, ran = (grown.get(key, 0) for key in ("throttled_periods", "quota_periods", "throttled_ns", "cgroup_cpu_ns"))
        if ended == 0:
            return 0.0
        return min(1.0, ended / (periods or ended), lost / (lost + ran) if ran else 1.0)

    def _frequency_now(self):
        now = time.monotonic()
        if now >= self._frequency_due:
            self._frequency, self._frequency_due = self._ask("frequency") or self._frequency, now + FREQUENCY_EVERY
        return self._frequency

    def get_current_stats(self):
        """usage_percent, count (of the machine), frequency_mhz (0: not known); available (processors that it may use, by affinity and
        quota), machine_percent, steal_percent, throttled_percent (of the time that it wanted to run, since the call before), user_s, system_s,
        threads, voluntary_switches and involuntary_switches of its main thread; alive."""
        usage, process = self.get_current_usage(), self._ask("process", False, True)
        machine = self._ask("machine") or {}
        _, grown = self._since("machine", time.monotonic(), machine)
        whole = sum(grown.get(key, 0) for key in ("host_busy_ns", "host_idle_ns", "host_steal_ns"))
        alive, process = process is not None, process or {}
        stats = {
            "usage_percent": usage if alive else 0.0,
            "count": os.cpu_count() or 1,
            "frequency_mhz": float(self._frequency_now()),
            "available": self._available(machine.get("quota_millicores")),
            "machine_percent": 100.0 * grown.get("host_busy_ns", 0) / whole if whole else 0.0,
            "steal_percent": 100.0 * grown.get("host_steal_ns", 0) / whole if whole else 0.0,
            "throttled_percent": 100.0 * self._throttled(grown),
            "user_s": process.get("user_ns", 0) / 1e9,
            "system_s": process.get("system_ns", 0) / 1e9,
            "threads": process.get("threads", 0),
            "voluntary_switches": process.get("voluntary_switches", 0),
            "involuntary_switches": process.get("involuntary_switches", 0),
            "alive": alive,
        }
        self._record(usage_percent=stats["usage_percent"], machine_percent=stats["machine_percent"], threads=stats["threads"])
        return stats

    def _threads(self):
        rows, now = self._ask("threads") or [], time.monotonic()
        run, queue = {}, {}
        for tid, _, run_ns, queue_ns, _ in rows:
            run[tid], queue[tid] = run_ns, queue_ns
        return rows, self._since("run", now, run), self._since("queue", now, queue)

    def get_thread_usage(self):
        """For each thread thread_id, name, usage_percent, queue_percent (it waited for a processor) and state, as the kernel abbreviates
        it; since the call before, or since the thread began."""
        begin = self._before.get("run", (0.0, {}))[0]
        rows, (_, run), (_, queue) = self._threads()
        seconds = time.monotonic() - begin
        return [{"thread_id": tid, "name": name, "usage_percent": 100.0 * self._rate({0: run.get(tid, run_ns)}, 0, seconds, 1e9),
                 "queue_percent": 100.0 * self._rate({0: queue.get(tid, queue_ns)}, 0, seconds, 1e9), "state": state}
                for tid, name, run_ns, queue_ns, state in rows]
