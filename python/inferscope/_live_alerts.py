"""What is alarming about samples: alerts that begin once and end once, and when.  Knows nothing of threads and clocks."""

from collections import deque
from dataclasses import dataclass, fields

from inferscope.bottlenecks import BottleneckType, optimization_suggestions
from inferscope.trackers._tracker import MB

SHORTEST = 0.01       # seconds, of an interval
CLEARLY = 0.05        # so much below a threshold an alert has clearly ended, or, of smaller thresholds, at half of them
ALERTS_MOST = 1000    # that are kept; the oldest that have ended go
CONDITIONS_MOST = 1000  # that are watched at the same time
GROWTH_EVERY = 5.0    # seconds between the sizes that growth is judged by,
GROWTH_POINTS = 36    # as many as are kept,
GROWTH_LEAST = 24     # and as are needed
GROWTH_BYTES = 32 * MB  # by which the size has to have grown over these


@dataclass
class LiveConfig:
    """How a LiveMonitor watches; thresholds are shares from 0 to 1, times are seconds."""

    memory_threshold: float = 0.8      # of what the container, or the machine, has
    gpu_threshold: float = 0.9         # of the GPU's memory
    bottleneck_threshold: float = 0.05  # of the time, for an operation that holds up
    growth_minutes: float = 30.0       # memory that grows and will be used up within this
    sampling_interval: float = 0.1
    hold: float = 1.0                  # for how long a condition must hold before it is an alert,
    release: float = 3.0               # and be gone before that has ended
    function_timeout: float = 5.0      # after which a function of yours is left out
    history: int = 600                 # samples that are kept
    enable_memory_tracking: bool = True
    enable_gpu_tracking: bool = True
    enable_cpu_tracking: bool = True
    enable_io_tracking: bool = True

    def __post_init__(self):
        for name in ("memory_threshold", "gpu_threshold", "bottleneck_threshold"):
            if not 0 < getattr(self, name) <= 1:
                raise ValueError("%s is a share, so more than 0 and at most 1, not %r" % (name, getattr(self, name)))
        for name in ("growth_minutes", "hold", "release", "function_timeout"):
            if not getattr(self, name) >= 0:
                raise ValueError("%s is a time, so 0 or more, not %r" % (name, getattr(self, name)))
        if not self.sampling_interval >= SHORTEST:
            raise ValueError("the interval is at least %g s, not %r" % (SHORTEST, self.sampling_interval))
        if isinstance(self.history, bool) or not isinstance(self.history, int) or self.history < 1:
            raise ValueError("history is a number of samples, so at least 1, not %r" % (self.history,))

    @classmethod
    def of(cls, config, interval=None):
        """Of a LiveConfig, a dictionary, or any object that has some of the fields."""
        names = [field.name for field in fields(cls)]
        if isinstance(config, dict):
            unknown = set(config) - set(names)
            if unknown:
                raise TypeError("a LiveConfig has no %s" % ", ".join(sorted(unknown)))
            values = dict(config)
        else:
            values = {name: getattr(config, name) for name in names if hasattr(config, name)}
        if interval is not None:
            values["sampling_interval"] = interval
        return cls(**values)


# ---- Alerts ------------------------------------------------------------------------------


class Alert:
    """Something alarming.

    number: from 1.  kind: "memory_high", "gpu_memory_high", "memory_growth", the type of an operation, or the name of a detector.
    subject: which one, "" where there is but one.  type: a BottleneckType, None where a detector does not say.
    severity: 0 to 1; level: "info", "warning" or "critical".
    active: it has not ended.  start_s, end_s: seconds since the start; end_s None while it is active.
    frequency: how often it has begun.  value, threshold: what was compared, the value being the newest while it is active.
    text: a sentence.  suggestions: what to try.
    """

    __slots__ = ("number", "kind", "subject", "type", "severity", "active", "start_s", "end_s", "frequency", "value", "threshold",
                 "text", "suggestions")

    def __init__(self, **values):
        for name in self.__slots__:
            setattr(self, name, values.get(name))

    @property
    def level(self):
        return "critical" if self.severity >= 0.9 else "warning" if self.severity >= 0.3 else "info"

    def as_dict(self):
        """What JSON can hold."""
        row = {name: getattr(self, name) for name in self.__slots__}
        return {**row, "type": self.type and self.type.value, "level": self.level, "suggestions": list(self.suggestions)}

    def _copy(self):
        return Alert(**{name: getattr(self, name) for name in self.__slots__})

    def __repr__(self):
        return "<Alert %d: %s, %s>" % (self.number, self.text, "active" if self.active else "ended")


class Condition:
    """One thing that may be alarming: when it began to be, or ceased."""

    def __init__(self):
        self.since = self.gone = self.alert = None
        self.frequency = 0

    def judge(self, now, holds, hold, release):
        """"begin", "end" or None.  holds: True, False, or None for what is neither."""
        if self.alert is None:
            self.gone = None
            self.since = None if not holds else now if self.since is None else self.since
            return "begin" if holds and now - self.since >= hold else None
        self.since = None
        self.gone = None if holds is not False else now if self.gone is None else self.gone
        return "end" if holds is False and now - self.gone >= release else None


class Judge:
    """What is alarming about samples; knows nothing of threads."""

    def __init__(self, config, tell):
        self.config, self.tell = config, tell
        self.alerts = []  # in the order of their beginnings
        self.conditions = {}  # by whose they are, kind and subject
        self.sizes = deque(maxlen=GROWTH_POINTS)
        self.numbers = 0

    # ---- Conditions ----

    def set(self, now, kind, holds, subject="", hold=None, release=None, owner=None, **about):
        """Whether a condition holds now; `about` is of the alert that it may become."""
        key = (owner, kind, subject)
        if key not in self.conditions and (holds is False or not self.has_room()):
            return
        condition = self.conditions.setdefault(key, Condition())
        change = condition.judge(now, holds, self.config.hold if hold is None else hold,
                                 self.config.release if release is None else release)
        if change == "begin":
            self.begin(now, condition, kind, subject, about)
        elif condition.alert is not None and holds and about.get("value") is not None:
            condition.alert.value = about["value"]
        if change == "end":
            self.end(now, condition)

    def has_room(self):
        if len(self.conditions) >= CONDITIONS_MOST:
            self.conditions = {key: condition for key, condition in self.conditions.items() if condition.alert is not None}
        return len(self.conditions) < CONDITIONS_MOST

    def begin(self, now, condition, kind, subject, about):
        self.numbers += 1
        condition.frequency += 1
        suggestions = about.pop("suggestions", None)
        if suggestions is None:
            context = dict(about, kind=kind, subject=subject)
            suggestions = [] if about["type"] is None else optimization_suggestions(about["type"], context)
        condition.alert = Alert(number=self.numbers, kind=kind, subject=subject, active=True, start_s=now,
                                frequency=condition.frequency, suggestions=suggestions, **about)
        self.alerts.append(condition.alert)
        if len(self.alerts) > ALERTS_MOST:
            oldest = next((alert for alert in self.alerts if not alert.active), self.alerts[0])
            self.alerts.remove(oldest)
        self.tell(condition.alert)

    def end(self, now, condition):
        alert, condition.alert, condition.gone = condition.alert, None, None
        alert.active, alert.end_s = False, now
        self.tell(alert)

    def end_all(self, now):
        for condition in self.conditions.values():
            if condition.alert is not None:
                self.end(now, condition)

    # ---- Ours ----

    def judge(self, sample):
        now = sample["time_s"]
        if "memory_percent" in sample:
            self.above(now, "memory_high", sample["memory_percent"] / 100, self.config.memory_threshold, severity=0.8,
                       type=BottleneckType.MEMORY_ALLOCATION, text="%.0f %% of the memory is used" % sample["memory_percent"])
            self.growth(now, sample)
        if sample.get("gpu_source", "none") != "none":
            gpu = "GPU %d" % sample.get("gpu_device", 0)
            used = sample["gpu_memory_percent"] if _uses_gpu(sample) else 0.0
            self.above(now, "gpu_memory_high", used / 100, self.config.gpu_threshold, gpu, severity=0.9,
                       type=BottleneckType.GPU_TRANSFER, text="%.0f %% of the memory of %s is used" % (used, gpu))

    def above(self, now, kind, value, threshold, subject="", **about):
        """A condition that is a number above a bound."""
        gone = value < max(threshold - CLEARLY, threshold / 2)
        holds = True if value > threshold else False if gone else None
        self.set(now, kind, holds, subject, value=value, threshold=threshold, **about)

    def growth(self, now, sample):
        """Memory that grows for good: the least of each quarter of the last minutes is more than the median of the one before, so
        that neither noise nor garbage looks like it, and it does not slow down, as after a beginning.  Pages of mapped files do not
        count: the kernel drops them when it needs their room."""
        if self.sizes and now - self.sizes[-1][0] < GROWTH_EVERY:
            return
        self.sizes.append((now, sample.get("memory_held_mb", sample["memory_mb"]) * MB))
        minutes = self._minutes_left(sample["memory_available_mb"] * MB)
        most = self.config.growth_minutes
        holds = False if minutes is None or minutes > 2 * most else True if minutes <= most else None
        self.set(now, "memory_growth", holds, hold=GROWTH_EVERY, release=6 * GROWTH_EVERY, value=minutes, threshold=most,
                 severity=0.8, type=BottleneckType.MEMORY_ALLOCATION,
                 text="memory grows, and will be used up in %s" % _minutes(minutes) if holds else "")

    def _minutes_left(self, available):
        points, size = list(self.sizes), len(self.sizes) // 4
        if len(points) < GROWTH_LEAST:
            return None
        ends = [len(points) - i * size for i in (4, 3, 2, 1, 0)]
        quarters = [sorted((bytes, at) for at, bytes in points[begin:end]) for begin, end in zip(ends, ends[1:])]
        least = [quarter[0] for quarter in quarters]
        steps = [after[0] - before[0] for before, after in zip(least, least[1:])]
        rises = all(after[0] > before[size // 2][0] for before, after in zip(quarters, least[1:]))
        if not rises or sum(steps) < GROWTH_BYTES or steps[2] < sum(steps) / 6:
            return None
        return available / (steps[1] + steps[2]) * (least[3][1] - least[1][1]) / 60


def _uses_gpu(sample):
    """Whether the process has anything there; where nobody can tell, it may have."""
    return sample.get("gpu_process_mb") is None or sample["gpu_process_mb"] > 0 or sample.get("gpu_memory_mb", 0) > 0


def _minutes(minutes):
    return "%.0f minutes" % minutes if minutes >= 1.5 else "a minute" if minutes >= 0.5 else "%.0f seconds" % (60 * minutes)
