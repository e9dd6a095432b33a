"""What a profile of a preprocessing function says, and how it is asked for."""

import dataclasses
import enum
from dataclasses import dataclass, field
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple


class PreprocessingBottleneck(enum.Enum):
    INEFFICIENT_ALGORITHM = "inefficient_algorithm"  # its time grows faster than its input
    NOT_VECTORISED = "not_vectorised"                # Python instructions for each number
    IO_BOUND = "io_bound"                            # files: waiting for them, or many small calls
    WAITING = "waiting"                              # asleep, for a lock, the network or another process
    MEMORY_INTENSIVE = "memory_intensive"            # getting memory from the system, or moving it
    GIL_BOUND = "gil_bound"                          # threads could not share the work
    CALL_OVERHEAD = "call_overhead"                  # a batch costs about as much as one
    CACHEABLE = "cacheable"                          # the same result again, for far more than keeping it costs
    CPU_INTENSIVE = "cpu_intensive"                  # native code computes much for each byte
    MEMORY_LEAK = "memory_leak"                      # grows with each call


class Interval(NamedTuple):
    low: float
    high: float


class Scaling(NamedTuple):
    """time = constant * elements ** exponent"""

    exponent: float
    low: float
    high: float
    times: Dict[int, float]  # elements: seconds


class Step(NamedTuple):
    """A part of a composed transform."""

    name: str
    time: float
    interval: Interval
    share: float


class Suggestion(str):
    """What to change, in words, with the share of the time that it saves when it is done alone.

    kind: "batch", "chunks", "cache", "threads", "processes", "vectorise", "algorithm", "memory", "io", "wait", "leak"
    low, gain, high: 0.5 is half of the time.  `measured`: it was tried here, with the same results; else it is an estimate.
    parameter: what was tried, such as the number of threads.
    """

    def __new__(cls, text, kind="", low=0.0, gain=0.0, high=0.0, measured=False, parameter=None):
        self = super().__new__(cls, text)
        self.kind, self.low, self.gain, self.high, self.measured, self.parameter = kind, low, gain, high, measured, parameter
        return self

    def __reduce__(self):
        return Suggestion, (str(self), self.kind, self.low, self.gain, self.high, self.measured, self.parameter)

    __copy__ = __deepcopy__ = lambda self, _=None: self

    def to_dict(self):
        return {"text": str(self), "kind": self.kind, "low": self.low, "gain": self.gain, "high": self.high,
                "measured": self.measured, "parameter": self.parameter}


@dataclass
class PreprocessingProfilerConfig:
    """How functions are profiled.

    enable_caching: also time calls through the cache of the profiler, of `cache_size` results and `cache_mb` in all.
    batch_size_range: sizes that profile_batch_preprocessing() tries when it is given none.
    batch_layout: "stack" puts an axis in front, "repeat" makes the first one longer, "auto" is the first unless the function
        does not take it.
    call_timeout: seconds for one call; None: no limit.
    explore: whether alternatives are tried and smaller inputs given, for which the function is called more often than
        num_iterations; explore_seconds is about what all of that may take, without waiting for a processor.  try_threads: also in threads.
    """

    enable_caching: bool = False
    cache_size: int = 1000
    cache_mb: float = 256.0
    batch_size_range: Sequence[int] = (1, 2, 4, 8, 16, 32, 64)
    batch_layout: str = "auto"
    call_timeout: Optional[float] = 60.0
    explore: bool = True
    explore_seconds: float = 4.0
    try_threads: bool = True
    enable_gpu_tracking: bool = True
    # What counts as a bottleneck.
    exponent_threshold: float = 1.3          # of the elements, for INEFFICIENT_ALGORITHM
    instructions_threshold: float = 0.1      # for each number, for NOT_VECTORISED
    gil_threshold: float = 0.6               # share of the time, for GIL_BOUND
    blocked_threshold: float = 0.3           # for IO_BOUND and WAITING
    system_threshold: float = 0.2            # for MEMORY_INTENSIVE
    gain_threshold: float = 0.2              # share of the time that is worth a suggestion

    def __post_init__(self):
        if self.batch_layout not in ("auto", "stack", "repeat"):
            raise ValueError("batch_layout is auto, stack or repeat, not %r" % (self.batch_layout,))
        if self.cache_size < 0 or self.cache_mb < 0:
            raise ValueError("the size of a cache is not negative")


@dataclass
class PreprocessingProfile:
    """A function, measured.  Times are seconds; those of one call, unless said otherwise."""

    operation_name: str = ""
    execution_time: float = 0.0              # the median, warm-up left out, and what the thread waited for a processor
    throughput: float = 0.0                  # calls per second
    memory_usage_mb: float = 0.0             # of the process, at the most
    gpu_memory_usage_mb: float = 0.0
    cpu_usage_percent: float = 0.0           # of one processor; 200 is two of them
    batch_size: int = 1
    input_shape: Tuple[int, ...] = ()
    output_shape: Tuple[int, ...] = ()
    bottlenecks: List[PreprocessingBottleneck] = field(default_factory=list)  # the first is the one to begin with
    suggestions: List[Suggestion] = field(default_factory=list)               # the largest gain first
    optimization_potential: float = 0.0      # the largest gain, 0 to 1

    # How it was timed.
    interval: Interval = Interval(0.0, 0.0)  # of the median, 95 %
    samples: List[float] = field(default_factory=list)
    calls_per_sample: int = 1
    warm_up: int = 0                         # samples that were left out
    first_call_time: float = 0.0
    wall_time: float = 0.0                   # the median with what it waited for a processor
    samples_per_second: float = 0.0          # items of a batch
    complete: bool = True                    # False: it was ended before all was measured
    error: Optional[str] = None

    # Where the time went, shares of the time of the calls: user, system, queue, blocked; other_threads and children beside it.
    parts: Dict[str, float] = field(default_factory=dict)
    steps: List[Step] = field(default_factory=list)

    # What it does.
    elements: int = 0
    input_mb: float = 0.0
    output_mb: float = 0.0
    page_faults: float = 0.0                 # of a call
    memory_touched_mb: float = 0.0           # by them
    memory_growth_mb: float = 0.0            # that stays after a call
    bytes_read: float = 0.0
    io_calls: float = 0.0
    gil_share: Optional[float] = None        # of the time; None: not known
    python_instructions: Optional[int] = None
    instructions_per_element: Optional[float] = None
    hot_place: Optional[str] = None          # where most of them are
    deterministic: Optional[bool] = None
    mutates_input: bool = False
    scaling: Optional[Scaling] = None

    # The cache of the profiler, with enable_caching.
    cache_hits: int = 0
    cache_misses: int = 0
    cached_time: Optional[float] = None      # of a call whose result was there

    evidence: Dict[PreprocessingBottleneck, str] = field(default_factory=dict)
    notes: List[str] = field(default_factory=list)

    @property
    def median(self):
        return self.execution_time

    @property
    def cache_hit_rate(self):
        asked = self.cache_hits + self.cache_misses
        return self.cache_hits / asked if asked else 0.0

    def suggestion(self, kind):
        """The one of that kind, or None."""
        return next((one for one in self.suggestions if one.kind == kind), None)

    def to_dict(self):
        """For JSON."""
        row: Dict[str, Any] = {one.name: getattr(self, one.name) for one in dataclasses.fields(self)}
        row["bottlenecks"] = [one.value for one in self.bottlenecks]
        row["suggestions"] = [one.to_dict() for one in self.suggestions]
        row["steps"] = [{**one._asdict(), "interval": list(one.interval)} for one in self.steps]
        row["evidence"] = {one.value: text for one, text in self.evidence.items()}
        row["scaling"] = None if self.scaling is None else self.scaling._asdict()
        row["cache_hit_rate"] = self.cache_hit_rate
        return row


def duration(seconds):
    """In words, three digits of it."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if abs(seconds) >= size:
            return "%.3g %s" % (seconds / size, unit)
    return "%.3g ns" % (seconds * 1e9)
