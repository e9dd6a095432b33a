"""TimelineMerger: events of the CPU and of GPUs on one clock, the CPU's.

A GPU has a clock of its own, with another zero and a rate that is off by some
millionths.  Readings of both clocks relate them (calibration); without any, work
does not begin before its launch, nor end after a call that waited for it.
Where neither says enough, times stay as they are and the margin is the error.
What a recording of ours has is on the CPU's clock already, and says so
(clock_synchronized).
"""

import logging
import math
import os
from collections.abc import Iterable

from inferscope import _engine

log = logging.getLogger("inferscope")

DEFAULT_MARGIN_US = 1000


def _default_margin():
    text = os.environ.get("INFERSCOPE_SYNC_ERROR_MARGIN_US", "").strip()
    if not text:
        return DEFAULT_MARGIN_US
    try:
        margin = float(text)
    except ValueError:
        margin = math.nan
    if 0 <= margin < math.inf:
        return margin
    log.warning("INFERSCOPE_SYNC_ERROR_MARGIN_US is %r, which is no number of microseconds: %d is taken", text, DEFAULT_MARGIN_US)
    return DEFAULT_MARGIN_US


def _ns(mapping, name):
    """The time `name`, in whole nanoseconds, of a dictionary that has name_ns or name_us; None when it has neither."""
    if mapping.get(name + "_ns") is not None:
        return int(mapping[name + "_ns"])
    if mapping.get(name + "_us") is not None:
        return _us_to_ns(mapping[name + "_us"])
    return None


def _us_to_ns(us):
    return us * 1000 if isinstance(us, int) else round(us * 1000)


def _times(event):
    """(start, end) of an event, ns."""
    if not isinstance(event, dict):
        raise TypeError("an event is a dictionary, not %s" % type(event).__name__)
    start = _ns(event, "start")
    if start is None:
        raise ValueError("the event %r has neither start_us nor start_ns" % (event.get("name"),))
    end = _ns(event, "end")
    return start, start if end is None else max(start, end)


class TimelineMerger:
    """Merges events of the CPU and of GPUs.

    calibration: readings (CPU before, GPU, CPU after) in microseconds, the GPU's clock having been read between the
        two of the CPU's; or (CPU, GPU), which is right within the margin; or dictionaries with cpu_before_us, gpu_us and
        cpu_after_us (or _ns), and device_id where GPUs have clocks of their own
    margin_us: the error where nothing tells it; INFERSCOPE_SYNC_ERROR_MARGIN_US, else 1000
    """

    def __init__(self, cpu_events=None, gpu_events=None, calibration=None, margin_us=None):
        if margin_us is not None and not 0 <= margin_us < math.inf:
            raise ValueError("margin_us is a number of microseconds, not %r" % (margin_us,))
        self.margin_us = _default_margin() if margin_us is None else margin_us
        self._cpu = self._list("cpu_events", cpu_events)
        self._gpu = self._list("gpu_events", gpu_events)
        self._samples = [self._sample(reading) for reading in self._list("calibration", calibration)]
        self._clocks = None

    @staticmethod
    def _list(name, events):
        if events is None:
            return []
        if isinstance(events, (str, bytes, dict)) or not isinstance(events, Iterable):
            raise TypeError("%s is a list, not %s" % (name, type(events).__name__))
        return list(events)

    # ---- What people call ----

    def merge(self, cpu_events=None, gpu_events=None):
        """The events of both, on the CPU's clock, in the order of their start."""
        if cpu_events is not None:
            self._cpu = self._list("cpu_events", cpu_events)
        if gpu_events is not None:
            self._gpu = self._list("gpu_events", gpu_events)
        self.synchronize_clocks()
        return self.get_sorted_events()

    def synchronize_clocks(self):
        """Finds out how the clock of each GPU relates to the CPU's, from what is there."""
        launches, waits = self._causes()
        devices = {}
        for event in self._on_devices():
            devices.setdefault(event.get("device_id") if isinstance(event, dict) else None, []).append(event)
        self._clocks = {device: self._synchronize(device, events, launches, waits) for device, events in devices.items()}

    def get_sorted_events(self):
        """Copies of all events by start, the longer first, with start_us, end_us, start_ns and end_ns on the CPU's clock.

        Those of a GPU also say what its own clock showed (device_start_ns, device_end_ns), by how much their times can be
        wrong (clock_error_us), and whether the clocks could be related (clock_synchronized).
        """
        if self._clocks is None:
            self.synchronize_clocks()
        rows = [self._row(event, *_times(event)) for event in self._on_hosts()]
        for clock in self._clocks.values():
            rows += [self._gpu_row(clock, *item) for item in zip(clock["events"], clock["times"])]
        rows.sort(key=lambda row: (row["start_ns"], -row["end_ns"]))
        return rows

    def get_clock_error_us(self):
        """By how much a time of a GPU can be wrong, at most; 0 without events of one."""
        if self._clocks is None:
            self.synchronize_clocks()
        return max((clock["error_us"] for clock in self._clocks.values()), default=0.0)

    def get_clock_info(self):
        """For each device_id: method ("calibration", "launches", "as_given" or "margin"), error_us, segments and outliers.

        A segment is a time in which the GPU's clock was not set: first_ns to last_ns, at which slope, and by how much of it
        intervals can be wrong (slope_error).
        """
        if self._clocks is None:
            self.synchronize_clocks()
        return {device: {key: clock[key] for key in ("method", "error_us", "segments", "outliers")}
                for device, clock in self._clocks.items()}

    # ---- Calibration ----

    def _sample(self, reading):
        """(device_id or None, (before, GPU, after)), ns."""
        if isinstance(reading, dict):
            gpu, device = _ns(reading, "gpu"), reading.get("device_id")
            before, after = _ns(reading, "cpu_before"), _ns(reading, "cpu_after")
            if before is None and after is None and _ns(reading, "cpu") is not None:
                before, after = self._around(_ns(reading, "cpu"))
        elif isinstance(reading, (tuple, list)) and len(reading) in (2, 3):
            device, gpu = None, _us_to_ns(reading[1])
            before, after = self._around(_us_to_ns(reading[0])) if len(reading) == 2 else map(_us_to_ns, reading[::2])
        else:
            raise ValueError("a calibration is (CPU before, GPU, CPU after) or (CPU, GPU), not %r" % (reading,))
        if gpu is None or (before is None and after is None):
            raise ValueError("the calibration %r lacks the time of a clock" % (reading,))
        return device, (before, gpu, after)

    def _around(self, ns):
        margin = _us_to_ns(self.margin_us)
        return ns - margin, ns + margin

    # ---- Where they are ----

    @staticmethod
    def _is_call(event):
        """A collector of GPUs has calls of the host's threads, too."""
        return isinstance(event, dict) and event.get("event_type") == "runtime_call" and event.get("device_id") is None

    def _on_hosts(self):
        return self._cpu + [event for event in self._gpu if self._is_call(event)]

    def _on_devices(self):
        return [event for event in self._gpu if not self._is_call(event)]

    # ---- Causes ----

    def _causes(self):
        """{correlation: start of its call}, and calls that wait for the device: (start, end).

        A number used twice tells nothing.
        """
        launches, twice, waits = {}, set(), []
        for event in self._on_hosts():
            start, end = _times(event)
            if event.get("event_type") != "runtime_call":
                continue
            correlation = event.get("correlation_id")
            if correlation:
                twice.update([correlation] if correlation in launches else [])
                launches[correlation] = start
            if _engine.waits_for_device(str(event.get("name", ""))):
                waits.append((start, end))
        return {key: start for key, start in launches.items() if key not in twice}, sorted(waits)

    @staticmethod
    def _constraints(events, launches, waits):
        """Work begins after its launch; what was launched before a call that waits has ended when that returns."""
        work = sorted((launches[event["correlation_id"]], *_times(event)) for event in events
                      if event.get("correlation_id") in launches)
        samples = [(launch, start, None) for launch, start, _ in work]
        last, at = None, 0
        for begin, returned in waits:
            while at < len(work) and work[at][0] < begin:
                last = work[at][2] if last is None else max(last, work[at][2])
                at += 1
            if last is not None:
                samples.append((None, last, returned))
        return samples

    # ---- One clock ----

    def _synchronize(self, device, events, launches, waits):
        times = [_times(event) for event in events]
        if all(event.get("clock_synchronized") for event in events):
            return self._keep("as_given", events, times)
        samples = [sample for of, sample in self._samples if of is None or of == device]
        causes = self._constraints(events, launches, waits)
        if samples:
            return self._fit("calibration", device, events, times, samples + causes)
        if causes and not self._agree(causes):
            return self._fit("launches", device, events, times, causes)
        return self._keep("as_given" if causes else "margin", events, times)

    def _agree(self, causes):
        """Whether the clocks can be one: no effect is before its cause, and some work begins soon after its launch."""
        delays = [device - before for before, device, _ in causes if before is not None]
        return min(delays, default=0) >= 0 and min(delays, default=0) <= _us_to_ns(self.margin_us) and \
            all(after is None or device <= after for _, device, after in causes)

    def _fit(self, method, device, events, times, samples):
        flat = [ns for pair in times for ns in pair]
        try:
            fit = _engine.fit_clock(samples, flat)
        except (ValueError, OverflowError) as error:
            log.warning("the clock of GPU %s cannot be related to the CPU's: %s; its times stay as they are", device, error)
            return self._keep("margin", events, times)
        hosts = [(ns, error / 1000 if math.isfinite(error) else self.margin_us) for ns, error in fit["times"]]
        pairs = [(start[0], end[0], max(start[1], end[1])) for start, end in zip(hosts[::2], hosts[1::2])]
        return {"method": method, "events": events, "times": pairs, "segments": fit["segments"], "outliers": fit["outliers"],
                "error_us": max((error for _, _, error in pairs), default=0.0)}

    def _keep(self, method, events, times):
        if method == "margin":
            log.warning("nothing relates the GPU's clock to the CPU's: times stay as they are, within %g us", self.margin_us)
        errors = [event.get("clock_error_us", self.margin_us) for event in events]
        return {"method": method, "events": events, "times": [(*pair, error) for pair, error in zip(times, errors)], "segments": [],
                "outliers": 0, "error_us": float(max(errors, default=self.margin_us))}

    # ---- Rows ----

    @staticmethod
    def _row(event, start, end):
        exact = isinstance(event.get("start_us"), float)
        return {**event, "start_ns": start, "end_ns": end, "start_us": start / 1000 if exact else start // 1000,
                "end_us": end / 1000 if exact else end // 1000}

    def _gpu_row(self, clock, event, times):
        start, end, error = times
        device_start, device_end = _times(event)
        row = self._row(event, start, max(start, end))
        row.update(device_start_ns=device_start, device_end_ns=device_end, clock_error_us=error,
                   clock_synchronized=clock["method"] != "margin")
        return row
