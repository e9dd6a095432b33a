"""GpuCollector: what this program's GPUs do, and the calls that ask them to, as events in a trace buffer.

CUDA and OpenCL tell a library of ours of every kernel, copy and wait; the times
are on the CPU's clock already.  Both load that library when the program first
uses them, so the collector starts before that, or the program is started by
`inferscope run`.  Where there is no GPU, or nothing can be seen of it, there is
one warning, and the program goes on.
"""

import logging
import math
import threading

from inferscope import _gpu_doors
from inferscope._recording import Recording, RecordingError
from inferscope.collectors._collector import Collector, CollectorState

log = logging.getLogger("inferscope")

COPIES = {"h2d": "h2d_copy", "d2h": "d2h_copy", "d2d": "d2d_copy"}

# What occupies a device, and what else is a GPU's.
_WORK = frozenset(["gpu_kernel", "h2d_copy", "d2h_copy", "d2d_copy", "memset", "collective"])
_KINDS = _WORK | {"runtime_call", "sync", "memory_alloc", "memory_free"}

_told = set()  # warnings that have been logged in this process


class GpuCollector(Collector):
    """Collects between start() and stop() into `trace_buffer`, which needs no more than enqueue(event).

    All devices, of CUDA and of OpenCL.  Events have event_type (gpu_kernel, h2d_copy, d2h_copy, d2d_copy, memset, sync,
    collective, runtime_call, memory_alloc, memory_free), name, start_us, end_us, device_id, stream_id, correlation_id (the
    same for a call and for the work that it asked for), grid_dim, block_dim, bytes, as far as they apply.
    Memory of no single device (OpenCL, with several in a context) has no device_id.
    """

    def _clear(self):
        super()._clear()
        self._injected = []
        self._warnings = []
        self._devices = []
        self._lost = 0
        self._doors = {}
        self._correlation = 0

    # ---- Starting and stopping ----

    def _begin(self):
        recording = Recording(options={"calls": False, "ops": False}, gpu=True)
        try:
            recording.start()
        except RecordingError as error:
            self._warn("what GPUs do is not recorded: %s" % error)
            return None
        self._doors = recording.doors
        reason = _gpu_doors.unavailable()
        if reason and _gpu_doors.OPEN in self._doors.values():
            self._warn("what GPUs do is not recorded: %s; events of the CPU are" % reason)
        for door, how in self._doors.items():
            self._warn(_gpu_doors.sentence(door, how))
        return recording

    def _end(self):
        if self._recording is None:
            return
        self._recording.stop()
        for note in self._recording.totals().get("notes", ()):
            self._warn(note)

    def _warn(self, text):
        """The same only once in a program, however many collectors there are; each of them has it in its statistics."""
        if not text or text in self._warnings:
            return
        self._warnings.append(text)
        if text not in _told:
            _told.add(text)
            log.warning("%s", text)

    # ---- Events ----

    def _is_ours(self, event):
        return event["event_type"] in _KINDS

    def _read(self):
        events = list(self._injected)
        if self._recording is not None:
            recorded = self._recording.events()
            self._lost = sum(event.get("count", 0) for event in recorded if event["event_type"] == "lost")
            self._devices = self._recording.devices()
            events += [_on_our_clock(event) for event in recorded if self._is_ours(event)]
        return sorted(events, key=lambda event: (event["start_ns"], -event["end_ns"]))

    # ---- Events that nobody has seen, for tests ----

    def _inject(self, kind, name, start_us, end_us, more):
        """True; False when it is not collecting.  Times are microseconds since the start of the trace."""
        start, end = _exact_ns(start_us), _exact_ns(end_us)
        if end < start:
            raise ValueError("%r ends before it starts" % name)
        event = {"event_type": kind, "name": name, "start_us": start // 1000, "end_us": end // 1000, "start_ns": start, "end_ns": end,
                 **{key: value for key, value in more.items() if value is not None}}
        with self._lock:
            if self.state is not CollectorState.COLLECTING:
                return False
            self._injected.append(event)
        return True

    def _inject_work(self, kind, name, start_us, end_us, device_id, stream_id, launch, more):
        """launch: the call that asked for it: (name, start_us, end_us)."""
        work = {"device_id": device_id, "stream_id": stream_id, "clock_synchronized": True, **more}
        if launch is not None:
            with self._lock:
                self._correlation += 1
                work.setdefault("correlation_id", self._correlation)
            self._inject_call_event(*launch, correlation_id=work["correlation_id"])
        return self._inject(kind, name, start_us, end_us, work)

    def _inject_kernel_event(self, name, start_us, end_us, *, device_id=0, stream_id=0, grid_dim=(1, 1, 1), block_dim=(1, 1, 1),
                             launch=None, **more):
        return self._inject_work("gpu_kernel", name, start_us, end_us, device_id, stream_id, launch,
                                 {"grid_dim": list(grid_dim), "block_dim": list(block_dim), **more})

    def _inject_copy_event(self, direction, start_us, end_us, *, bytes, name=None, device_id=0, stream_id=0, launch=None, **more):
        """direction: "h2d", "d2h" or "d2d"."""
        if direction not in COPIES:
            raise ValueError("a copy is one of %s, not %r" % (", ".join(COPIES), direction))
        return self._inject_work(COPIES[direction], name or "copy " + direction, start_us, end_us, device_id, stream_id, launch,
                                 {"bytes": bytes, **more})

    def _inject_memset_event(self, start_us, end_us, *, bytes, name="memset", device_id=0, stream_id=0, launch=None, **more):
        return self._inject_work("memset", name, start_us, end_us, device_id, stream_id, launch, {"bytes": bytes, **more})

    def _inject_call_event(self, name, start_us, end_us, *, thread_id=None, correlation_id=None, **more):
        """A call of the runtime or driver; of this thread, unless given."""
        return self._inject("runtime_call", name, start_us, end_us,
                            {"thread_id": threading.get_native_id() if thread_id is None else thread_id,
                             "correlation_id": correlation_id, **more})

    def _inject_sync_event(self, start_us, end_us, *, name="cudaDeviceSynchronize", thread_id=None, **more):
        """A call in which this thread waits for a device."""
        return self._inject_call_event(name, start_us, end_us, thread_id=thread_id, **more)

    # ---- What was collected ----

    def get_stats(self):
        """Counts, times and what there is to say; while it is collecting, of the events so far.

        kernels, copies, and counts by kind; device_time_us is the sum of what the work took, busy_us the time in which a device
        had any; devices has the same for each by its number, and for each of its streams.  events_lost is how many
        this program has lost, of any kind, doors how CUDA and OpenCL are seen ("open", "late", "taken", "closed"), warnings what was
        not recorded and why.
        """
        with self._lock:
            events = self._so_far()
            devices = _by_device(events, self._devices)
            counts = _counts(events)
            return {
                "state": self.state.value,
                "events_captured": self._captured,
                "events_refused": self._refused,
                "events_lost": self._lost,
                "events_injected": len(self._injected),
                "kernels": counts.get("gpu_kernel", 0),
                "copies": sum(counts.get(kind, 0) for kind in COPIES.values()),
                "counts": counts,
                "bytes": _bytes(events),
                "device_time_us": sum(device["device_time_us"] for device in devices.values()),
                "busy_us": sum(device["busy_us"] for device in devices.values()),
                "devices": devices,
                "doors": dict(self._doors),
                "warnings": list(self._warnings),
                "errors": self._errors,
                "duration_us": self._recording.duration_ns // 1000 if self._recording is not None else 0,
            }

    def _so_far(self):
        if self.state is not CollectorState.COLLECTING:
            return self._events
        try:
            return self._read()
        except Exception as error:
            self._count_error("the events of the collector cannot be read", error)
            return list(self._injected)


def _exact_ns(us):
    if isinstance(us, bool) or not isinstance(us, (int, float)) or not math.isfinite(us):
        raise TypeError("a time is a number of microseconds, not %r" % (us,))
    return us * 1000 if isinstance(us, int) else round(us * 1000)


def _on_our_clock(event):
    """For TimelineMerger: there is nothing to relate any more."""
    if "device_id" in event:
        event["clock_synchronized"] = True
    return event


# ---- Figures -----------------------------------------------------------------------------


def _counts(events):
    counts = {}
    for event in events:
        counts[event["event_type"]] = counts.get(event["event_type"], 0) + 1
    return counts


def _bytes(events):
    """What was copied and set, by kind."""
    sums = {}
    for event in events:
        if event["event_type"] in _WORK and event.get("bytes"):
            sums[event["event_type"]] = sums.get(event["event_type"], 0) + event["bytes"]
    return sums


def _busy_ns(work):
    """How long at least one of them was running; they come in the order of their start."""
    busy, until = 0, None
    for event in work:
        start = event["start_ns"] if until is None else max(until, event["start_ns"])
        busy += max(0, event["end_ns"] - start)
        until = event["end_ns"] if until is None else max(until, event["end_ns"])
    return busy


def _figures(events):
    work = [event for event in events if event["event_type"] in _WORK]
    return {"counts": _counts(events), "bytes": _bytes(events),
            "device_time_us": sum(event["end_ns"] - event["start_ns"] for event in work) / 1000, "busy_us": _busy_ns(work) / 1000}


def _divide(events, key):
    parts = {}
    for event in events:
        if key in event:
            parts.setdefault(event[key], []).append(event)
    return dict(sorted(parts.items()))


def _by_device(events, described):
    """{device_id: figures}, with kind and name where the trace has them, and figures for each stream."""
    devices = {}
    for number, part in _divide(events, "device_id").items():
        known = [device for device in described if device["device_id"] == number]
        devices[number] = {"kind": ", ".join(device["kind"] for device in known) or None,
                           "name": ", ".join(device["name"] for device in known) or None, **_figures(part),
                           "streams": {stream: _figures(own) for stream, own in _divide(part, "stream_id").items()}}
    return devices
