"""What is said of a loader: its profile, what bounds it, what would help, and the settings of the profiler."""

import math
from dataclasses import dataclass, field, fields, is_dataclass
from enum import Enum
from typing import Any, Callable, Dict, List, NamedTuple, Optional

from inferscope._words import counted


class DataLoadingBottleneck(Enum):
    """What bounds a loader.  The first of a profile is the one to begin with."""

    SLOW_DISK_IO = "slow_disk_io"                          # samples wait for reads that the page cache does not have
    EXTERNAL_WAIT = "external_wait"                        # samples wait, and not for a disk: network, locks, sleep
    SLOW_SAMPLE = "slow_sample"                            # the dataset's own code computes
    SLOW_TRANSFORM = "slow_transform"                      # one or all of its transforms do
    SLOW_COLLATE = "slow_collate"                          # making a batch of samples takes long
    INTER_PROCESS_TRANSFER = "inter_process_transfer"      # pickling, the pipe, and unpickling do
    INSUFFICIENT_WORKERS = "insufficient_workers"          # there is room for more of them, and they would help
    MEMORY_PRESSURE = "memory_pressure"                    # what is prefetched does not fit, or grows
    GPU_TRANSFER_OVERHEAD = "gpu_transfer_overhead"        # copying to the device takes long


class Interval(NamedTuple):
    """Of a figure what it is, and between what it is with a confidence of 90 %."""

    low: float
    mid: float
    high: float


@dataclass
class DataLoadingProfilerConfig:
    """Settings.

    batch_size_range, worker_range: what profile_configuration_range() looks at when it is not told
    num_batches: of profile_data_loader(), when it is not told
    batch_timeout: seconds that a batch may take before its worker is given up
    search_seconds: a search with explore="fast" takes no longer, but for the runs that it cannot do without
    search_share: of the time that measuring every configuration would take, as it is reckoned from the first runs
    run_seconds: how long a run of a search measures, at least
    min_gain: a bottleneck is what would save this share of the time; without a step, twice as much
    wait_share: a loop that waits for less of its time than this has no bottleneck in its input
    ready_seconds: without a step, batches that come faster than this are not looked into
    memory_share: of the memory that is available, above which there is pressure
    try_workers: a loader without workers is also looked at with one, in a process of its own, for what cannot be seen inside
    replay_batches, replay_mb: how much is kept for the headspace
    before_run: called before each run of a search, as to drop caches
    progress: called with (runs done, runs at most, what is run); None: a line on standard error, if that is a terminal

    use_fixed_thresholds adds bottlenecks by fixed numbers: slow_batch_seconds, min_batches_per_second, memory_limit_mb and
    gpu_memory_limit_mb.
    """

    batch_size_range: List[int] = field(default_factory=lambda: [16, 32, 64, 128])
    worker_range: List[int] = field(default_factory=lambda: [0, 1, 2, 4, 8])
    num_batches: int = 50
    batch_timeout: float = 60.0
    search_seconds: float = 120.0
    search_share: float = 0.27
    run_seconds: float = 0.6
    min_gain: float = 0.1
    wait_share: float = 0.05
    ready_seconds: float = 0.001
    memory_share: float = 0.8
    try_workers: bool = True
    replay_batches: int = 8
    replay_mb: float = 256.0
    before_run: Optional[Callable[[], Any]] = None
    progress: Optional[Callable[[int, int, str], Any]] = None
    use_fixed_thresholds: bool = False
    slow_batch_seconds: float = 0.1
    min_batches_per_second: float = 10.0
    memory_limit_mb: float = 1000.0
    gpu_memory_limit_mb: float = 500.0


@dataclass
class LoadingParts:
    """Where the time of a batch goes: seconds, medians over batches, with intervals.  What was not seen is None.

    The time of workers and that of the program pass side by side, and are not to be added up.
    """

    index_wait: Optional[Interval] = None  # a worker had nothing to do
    sample: Optional[Interval] = None      # all samples of a batch: the dataset
    one_sample: Optional[Interval] = None  # one of them
    slowest_samples: Optional[float] = None# the 99th percentile of them
    sample_cpu: Optional[float] = None     # of `sample`: computed
    sample_queued: Optional[float] = None  # waited for a processor
    disk_wait: Optional[float] = None      # waited for the disk
    disk_cpu: Optional[float] = None       # of `sample_cpu`: the system's, when reads come from the disk
    other_wait: Optional[float] = None     # waited for something else
    transforms: Dict[str, float] = field(default_factory=dict)  # of `sample`: each transform that was found
    collate: Optional[Interval] = None
    queue_put: Optional[Interval] = None   # in the worker: pickling and the pipe, without waiting for the reader
    receive: Optional[Interval] = None     # in the program: the pipe and unpickling
    pin: Optional[Interval] = None
    device_copy: Optional[Interval] = None
    consumer_wait: Optional[Interval] = None# the loop waited for the batch
    step: Optional[Interval] = None        # the loop did something else
    batch_bytes: Optional[int] = None      # a batch in memory
    piped_bytes: Optional[int] = None      # of a batch through the pipe; tensors go through shared memory
    read_bytes: Optional[int] = None       # from disk, for a batch
    read_chars: Optional[int] = None       # by system calls, cached or not
    probe: Optional[float] = None          # what measuring costs, for a batch; already taken off `sample`


class Suggestion(NamedTuple):
    """What to do, and how much of the time of a batch it saves; measured: it was tried."""

    text: str
    gain: Interval
    measured: bool


@dataclass
class DataLoadingProfile:
    """One configuration of a loader, and how it did.  What was not measured is None, and never 0.

    measured: False for a configuration of a search that was not run; with explore="fast" its throughput is reckoned from others
    throughput_*, avg_batch_time: of the loop, with the step when there was one, after the first batches
    batch_time: the median, with an interval; throughput: batches a second, with one
    memory_usage_mb: of the program and its workers, what they share counted once
    cpu_usage_percent: of the processors that the process may use, by it and its workers
    headspace: how many times as fast the loop would be if batches cost nothing; None without a step
    wait_share: of the time of the loop that it waited for batches
    error: why there are fewer batches than were asked for, if it is not the end of the data; hung: one took too long
    notes: what the reader has to know besides
    """

    batch_size: Optional[int] = None
    num_workers: int = 0
    pin_memory: bool = False
    persistent_workers: bool = False
    prefetch_factor: Optional[int] = None
    avg_batch_time: Optional[float] = None
    throughput_batches_per_second: Optional[float] = None
    throughput_samples_per_second: Optional[float] = None
    memory_usage_mb: Optional[float] = None
    gpu_memory_usage_mb: Optional[float] = None
    cpu_usage_percent: Optional[float] = None
    bottlenecks: List[DataLoadingBottleneck] = field(default_factory=list)
    suggestions: List[str] = field(default_factory=list)
    advice: List[Suggestion] = field(default_factory=list)
    gains: Dict[DataLoadingBottleneck, float] = field(default_factory=dict)
    num_batches: int = 0
    num_samples: int = 0
    total_time: Optional[float] = None
    startup_time: Optional[float] = None
    batch_time: Optional[Interval] = None
    throughput: Optional[Interval] = None
    parts: LoadingParts = field(default_factory=LoadingParts)
    wait_share: Optional[float] = None
    headspace: Optional[Interval] = None
    useful_workers: Optional[int] = None
    worker_memory_mb: Optional[float] = None
    memory_growth_mb: Optional[float] = None
    outside_cores: Optional[float] = None
    measured: bool = True
    interrupted: bool = False
    hung: bool = False
    error: Optional[str] = None
    notes: List[str] = field(default_factory=list)

    @property
    def avg_wait_time(self):
        """Seconds that the loop waited for a batch, typically."""
        return self.parts.consumer_wait.mid if self.parts.consumer_wait is not None else None

    def summary(self):
        """A few lines for people."""
        rates = "not measured"
        if self.throughput_batches_per_second is not None:
            rates = "%.1f batches/s, %s samples/s%s" % (self.throughput_batches_per_second, shown("%.0f", self.throughput_samples_per_second),
                                                        "" if self.measured else ", reckoned")
        lines = ["batches of %s, %s: %s" % (self.batch_size, counted(self.num_workers, "worker"), rates)]
        if self.error:
            lines.append("stopped: " + self.error)
        if self.headspace is not None:
            lines.append("with free input the loop would be %.2f times as fast (%.2f to %.2f)"
                         % (self.headspace.mid, self.headspace.low, self.headspace.high))
        lines += ["bottleneck: " + one.value for one in self.bottlenecks]
        return "\n".join(lines + self.suggestions + self.notes)

    def to_dict(self):
        """For JSON."""
        return _plain(self)


def shown(form, value):
    """A figure in words; a stroke for one that is not known."""
    return "-" if value is None else form % value


def _plain(value):
    """What JSON can hold; what is no number there is null."""
    if is_dataclass(value):
        return {one.name: _plain(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {_plain(key): _plain(one) for key, one in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: _plain(one) for name, one in value._asdict().items()}
    return [_plain(one) for one in value] if isinstance(value, (list, tuple)) else value


class OptimalConfiguration(NamedTuple):
    """The configuration to take, why, and what was looked at."""

    batch_size: Optional[int]
    num_workers: int
    prefetch_factor: Optional[int]
    pin_memory: bool
    persistent_workers: bool
    samples_per_second: Interval
    reason: str
    profile: DataLoadingProfile

    def loader_options(self):
        """For DataLoader(dataset, **options)."""
        options = {"batch_size": self.batch_size, "num_workers": self.num_workers, "pin_memory": self.pin_memory}
        if self.num_workers:
            options.update(persistent_workers=self.persistent_workers, prefetch_factor=self.prefetch_factor)
        return options


class Optimization(NamedTuple):
    """What optimize() did: the loader to use, what was changed, and the measured gain in batches a second (0.5: half as many again)."""

    loader: Any
    changes: Dict[str, Any]
    gain: Interval
    reason: str
    before: Optional[DataLoadingProfile]
    after: Optional[DataLoadingProfile]
