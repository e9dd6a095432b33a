"""NetworkTracker: what goes through the network."""

import time

from inferscope.trackers._tracker import MB, Tracker


class NetworkTracker(Tracker):
    """What goes through the network interfaces that a process sees."""

    _PARTS = {"network": True}

    def _first(self):
        self._pass("usage")
        self.get_current_stats()

    def _pass(self, name):
        rows = self._ask("network") or []
        sums = {}
        for row in rows:
            for key, value in row.items():
                if key not in ("name", "loopback") and not row["loopback"]:
                    sums[key] = sums.get(key, 0) + value
        return rows, sums, self._since(name, time.monotonic(), sums)

    def get_current_usage(self):
        """MB a second in both directions, since the call before."""
        _, _, (seconds, grown) = self._pass("usage")
        return self._rate(grown, "received_bytes", seconds, MB) + self._rate(grown, "sent_bytes", seconds, MB)

    def get_current_stats(self):
        """received_mb, sent_mb, received_packets, sent_packets and errors of all interfaces but loopback; received_mb_per_s and
        sent_mb_per_s since the call before; interfaces, the same for each, loopback as well."""
        rows, sums, (seconds, grown) = self._pass("all")
        stats = self._figures(sums, grown, seconds)
        stats["interfaces"] = []
        for row in rows:
            name, loopback = row.pop("name"), row.pop("loopback")
            seconds, grown = self._since("interface " + name, time.monotonic(), row)
            stats["interfaces"].append({"name": name, "loopback": loopback, **self._figures(row, grown, seconds)})
        self._record(received_mb_per_s=stats["received_mb_per_s"], sent_mb_per_s=stats["sent_mb_per_s"])
        return stats

    def _figures(self, sums, grown, seconds):
        return {"received_mb": sums.get("received_bytes", 0) / MB, "sent_mb": sums.get("sent_bytes", 0) / MB,
                "received_packets": sums.get("received_packets", 0), "sent_packets": sums.get("sent_packets", 0),
                "errors": sums.get("errors", 0), "received_mb_per_s": self._rate(grown, "received_bytes", seconds, MB),
                "sent_mb_per_s": self._rate(grown, "sent_bytes", seconds, MB)}
