"""From the figures of a run: its profile, what bounds it, what would help, and by how much."""

import shutil
import sys
import time

from inferscope._words import counted
from inferscope.data_loading import _loader, _probe, _run
from inferscope.data_loading._model import Model, from_disk, reading_cpu, sent_rows, steady_rows, system_share, waits
from inferscope.data_loading._numbers import TREND_LEAST, median, median_interval, quantile, rate_interval, trend
from inferscope.data_loading.profile import DataLoadingBottleneck, DataLoadingProfile, Interval, LoadingParts, Suggestion

MB = 1024 ** 2
_ODD = ("disk", "collate", "transfer")     # what samples need not be slowed by; more workers only hide it
_WORKERS_CURE = 0.8                        # of what can be won: then workers come first
_TELLING_BATCHES = 12                      # of fewer, growth is not told from what is filled once
_FORESEEN_BATCHES = 10_000                 # of growth that goes on, the memory for so many has to be there
_TAIL = 5.0                                # a slow sample takes so many times what others do
_KINDS = {"disk": DataLoadingBottleneck.SLOW_DISK_IO, "other": DataLoadingBottleneck.EXTERNAL_WAIT,
          "collate": DataLoadingBottleneck.SLOW_COLLATE, "transfer": DataLoadingBottleneck.INTER_PROCESS_TRANSFER}


# ---- Figures -------------------------------------------------------------------------------


def interval_of(values):
    return Interval(*median_interval(values)) if values else None


def mid(interval):
    """0 of what was not seen, which then is no reason for anything."""
    return interval.mid if interval is not None else 0.0


def parts_of(run, probe):
    """Where the time of a batch went."""
    rows, parts = steady_rows(run), LoadingParts()
    warm = run.warm
    parts.consumer_wait = interval_of([wait / 1e9 for wait in run.waits[warm:]])
    parts.step = interval_of([step / 1e9 for step in run.steps[warm:]])
    parts.batch_bytes = run.batch_bytes or None
    if run.receives[warm:]:
        parts.receive = interval_of([spent / 1e9 for spent, _ in run.receives[warm:]])
        parts.piped_bytes = int(median([size for _, size in run.receives[warm:]]))
    sent = sent_rows(run)
    if sent:
        parts.queue_put = interval_of([(row["sent"] + row["piped"]) / 1e9 for row in sent])
    if rows:
        _sample_parts(parts, rows, run, probe)
    return parts


def _sample_parts(parts, rows, run, probe):
    count = median([len(row["samples"]) for row in rows])
    single = sorted(max(0.0, spent / 1e9 - probe[0]) for row in rows for spent in row["samples"])
    parts.sample = interval_of([max(0.0, sum(row["samples"]) / 1e9 - probe[0] * len(row["samples"])) for row in rows])
    parts.one_sample, parts.slowest_samples = interval_of(single), quantile(single, 0.99)
    parts.collate = interval_of([row["collate"][0] / 1e9 for row in rows])
    parts.sample_cpu = median([max(0.0, (row["counters"][0] - row["collate"][1]) / 1e9 - probe[0] * len(row["samples"])) for row in rows])
    queued, reads, _ = _probe.Counters.told()
    parts.sample_queued = median([row["counters"][1] / 1e9 for row in rows]) if queued else None
    disk = from_disk(rows)
    share = system_share(rows) if disk else 0.0
    parts.disk_cpu = median([reading_cpu(row, share) for row in rows])
    parts.disk_wait, parts.other_wait = (median([waits(row, disk)[place] for row in rows]) for place in range(2))
    parts.index_wait = interval_of([row["waited"] / 1e9 for row in rows]) if run.workers else parts.index_wait
    if reads:
        parts.read_chars = int(sum(row["counters"][2] for row in rows) / len(rows))
        parts.read_bytes = int(sum(row["counters"][3] for row in rows) / len(rows))
    parts.probe = probe[0] * count + probe[1]
    for number, name in enumerate(run.names):
        spent = [row["steps"][number] / 1e9 for row in rows if len(row["steps"]) > number]
        if spent:
            parts.transforms[name] = median(spent)


def profile_of(run, settings, probe, batch_size):
    """All that is figures and not judgement."""
    profile = DataLoadingProfile(
        batch_size=batch_size, num_workers=run.workers, pin_memory=bool(settings.get("pin_memory")),
        persistent_workers=bool(settings.get("persistent_workers")), prefetch_factor=_prefetch(settings),
        interrupted=run.interrupted, hung=run.hung, error=run.error, startup_time=run.startup, notes=list(run.notes))
    blocks = run.blocks()
    if blocks:
        profile.throughput = Interval(*rate_interval([(batches, seconds) for batches, _, seconds in blocks]))
        profile.throughput_batches_per_second = profile.throughput.mid
        profile.avg_batch_time = 1.0 / profile.throughput.mid if profile.throughput.mid else None
        profile.throughput_samples_per_second = rate_interval([(samples, seconds) for _, samples, seconds in blocks])[1]
        profile.batch_time = interval_of([seconds / batches for batches, _, seconds in blocks])
    profile.num_batches, profile.num_samples = run.count, sum(run.size(number) for number in range(run.count))
    profile.total_time = (run.arrivals[-1] - run.begun) / 1e9 if run.arrivals else None
    profile.memory_usage_mb, profile.worker_memory_mb = ((size or 0) / MB or None for size in (run.memory, run.worker_memory))
    profile.gpu_memory_usage_mb = gpu_memory_mb()
    profile.cpu_usage_percent = None if run.cpu is None else min(100.0, 100.0 * run.cpu / _loader.cores())
    profile.outside_cores = run.outside
    profile.parts = parts_of(run, probe)
    profile.memory_growth_mb = max([trend(memory) / MB for memory in _memories(run) if len(memory) >= TREND_LEAST], default=None)
    if run.steps:
        waits, steps = sum(run.waits[run.warm:]), sum(run.steps[run.warm:])
        profile.wait_share = waits / max(waits + steps, 1)
    return profile


def _prefetch(settings):
    return (settings.get("prefetch_factor") or 2) if settings["num_workers"] else None


def _memories(run):
    """Of each worker, the memory that it had after each batch; without the first, which fills what is only filled once."""
    by_worker, told = {}, _probe.Counters.told()[2]
    for row in run.rows:
        if told and "counters" in row:
            by_worker.setdefault(row["worker"], []).append(row["counters"][-1])
    return [memory[2:] for memory in by_worker.values()]


def gpu_memory_mb():
    """0 as long as torch has not used a GPU; None where it does not tell."""
    torch = sys.modules.get("torch")
    try:
        return torch.cuda.memory_allocated() / MB if torch is not None and torch.cuda.is_initialized() else 0.0
    except Exception:
        return None


# ---- Judgement -----------------------------------------------------------------------------


class Judgement:
    """What bounds the loader of a profile; fills in its bottlenecks, gains and suggestions."""

    def __init__(self, profile, model, config, cores=None):
        self.profile, self.model, self.config = profile, model, config
        self.cores = _loader.cores() if cores is None else cores
        self.size = max(1.0, profile.num_samples / max(profile.num_batches, 1))
        self.floor = config.min_gain * (1.0 if profile.wait_share is not None else 2.0)
        self.found = []  # (gain, bottleneck, text)

    def _seconds(self, model, workers=None, cores=None):
        workers = self.profile.num_workers if workers is None else workers
        return model.batch_seconds(workers, self.size, self.cores if cores is None else cores)

    def _saved(self, model):
        return 1.0 - self._seconds(model) / self._seconds(self.model)

    def _waits(self):
        """Whether there is anything to look for."""
        if self.profile.wait_share is not None:
            return self.profile.wait_share >= self.config.wait_share
        return self.profile.avg_batch_time is not None and self.profile.avg_batch_time > self.config.ready_seconds

    def judge(self):
        profile = self.profile
        if profile.throughput_batches_per_second and self._waits():
            for part in Model.PARTS:
                if part != "transfer" or profile.num_workers:
                    self._part(part)
            self._workers()
            self._in_order()
        self._device()
        self._memory()
        for gain, bottleneck, text in self.found:
            if bottleneck not in profile.bottlenecks:
                profile.bottlenecks.append(bottleneck)
                profile.gains[bottleneck] = gain.mid
            profile.suggestions.append(text)
            profile.advice.append(Suggestion(text, gain, False))
        self._say_more()
        return profile

    # ---- Parts ----

    def _part(self, part):
        gain = self._saved(self.model.without(part))
        if gain < self.floor:
            return
        seconds = self.model.part(part, self.size)
        kind, text = self._words(part)
        half = self._saved(self.model.without(part, 0.5))
        self.found.append((Interval(0.5 * half, half, gain), kind, "%s (%s a batch, up to %d %% of the time)"
                           % (text, _duration(seconds), round(100 * gain))))

    def _words(self, part):
        parts, worker = self.profile.parts, self.model.worker_seconds(self.size)
        if part == "sample":
            return self._sample_words(parts)
        if part == "disk":
            text = ("Samples wait for the disk, %s from it for each batch: keep the data in fewer, larger files, on a faster disk or in "
                    "memory; more workers read more at once" % _amount(parts.read_bytes or 0))
        elif part == "other":
            text = ("Samples wait, for %d %% of a worker's time, and not for the disk (network, a lock, sleep): ask for several at once, "
                    "or have more workers" % round(100 * self.model.other.of(self.size) / worker))
        elif part == "collate":
            text = "Making batches of samples is slow: stack arrays once, not item by item, or leave it to the default collate function"
        else:
            piped = parts.piped_bytes or 0
            text = ("%s of each batch are pickled, sent through a pipe and unpickled: return torch tensors, which go through shared "
                    "memory, or smaller types" % _amount(piped))
            if piped < 64 * 1024:
                text = "Passing a batch from process to process costs more than it should: larger batches, fewer tensors in each"
        return _KINDS[part], text

    def _sample_words(self, parts):
        transforms = sum(parts.transforms.values())
        sample = mid(parts.sample)
        if sample and transforms >= 0.5 * sample:
            slowest = max(parts.transforms, key=parts.transforms.get)
            text = "Transforms take %d %% of the time of samples, most of it %s (%s a batch)" % (
                round(100 * transforms / sample), slowest, _duration(parts.transforms[slowest]))
            return DataLoadingBottleneck.SLOW_TRANSFORM, text + ": make it cheaper, do it once beforehand, or on the whole batch"
        text = "The dataset computes %s for each sample" % _duration((parts.sample_cpu or 0.0) / self.size)
        slowest = parts.slowest_samples or 0.0
        if slowest > _TAIL * max(mid(parts.one_sample), 1e-9):
            text += ", and one in a hundred takes over %s" % _duration(slowest)
        return DataLoadingBottleneck.SLOW_SAMPLE, text + ": do what is the same each time beforehand"

    # ---- Workers ----

    def _workers(self):
        profile, model = self.profile, self.model
        useful = model.useful_workers(self.size, self.cores, profile.num_workers)
        profile.useful_workers = useful
        if useful <= profile.num_workers:
            return
        now = self._seconds(model)
        high = 1.0 - self._seconds(model, useful) / now
        outside = profile.outside_cores or 0.0
        free = max(0.25, self.cores - outside)
        low = max(0.0, 1.0 - self._seconds(model, useful, free) / self._seconds(model, cores=free))
        if high < self.floor:
            return
        text = "With %s instead of %d the loop would take %d %% less time" % (counted(useful, "worker"), profile.num_workers, round(100 * high))
        if outside > 0.5:
            text += ", if others left the processors alone: now they use %.1f of %.0f" % (outside, self.cores)
        self.found.append((Interval(min(low, high), (low + high) / 2, high), DataLoadingBottleneck.INSUFFICIENT_WORKERS, text))

    def _in_order(self):
        """The largest gain first; workers before samples that are only as slow as samples are."""
        self.found.sort(key=lambda one: -one[0].high)
        parts = [part for part in Model.PARTS if part != "transfer" or self.profile.num_workers]
        largest = max(parts, key=lambda part: self.model.part(part, self.size))
        workers = [one for one in self.found if one[1] is DataLoadingBottleneck.INSUFFICIENT_WORKERS]
        rest = [one for one in self.found if one[1] is not DataLoadingBottleneck.INSUFFICIENT_WORKERS]
        if largest in _ODD:
            first = [one for one in rest if one[1] is _KINDS[largest]]
            self.found = first + [one for one in self.found if one not in first]
        elif workers and workers[0][0].high >= _WORKERS_CURE * max((one[0].high for one in rest), default=0.0):
            self.found = workers + rest

    # ---- Memory and devices ----

    def _memory(self):
        profile, parts = self.profile, self.profile.parts
        queued = (parts.batch_bytes or 0) * profile.num_workers * (profile.prefetch_factor or 0)
        for need, have, what in ((queued, shared_memory_free(), "of shared memory"),
                                 (queued + (profile.worker_memory_mb or 0.0) * MB * profile.num_workers, memory_available(), "of memory")):
            if have and need > self.config.memory_share * have:
                text = "%s %s %s %s, of %s that there are: fewer workers, or prefetch_factor=1" % (
                    counted(profile.num_workers, "worker"), "holds" if profile.num_workers == 1 else "hold", _amount(need), what, _amount(have))
                self.found.append((Interval(0.0, 0.0, 0.0), DataLoadingBottleneck.MEMORY_PRESSURE, text))
        growth = (profile.memory_growth_mb or 0.0) * MB
        if profile.num_batches >= _TELLING_BATCHES and growth * _FORESEEN_BATCHES > self.config.memory_share * memory_available() > 0:
            text = "The memory of a worker grows by %s with each batch: the dataset keeps what it has made" % _amount(growth)
            self.found.append((Interval(0.0, 0.0, 0.0), DataLoadingBottleneck.MEMORY_PRESSURE, text))

    def _device(self):
        copy, batch = mid(self.profile.parts.device_copy), self.profile.avg_batch_time
        if not batch or copy < self.config.min_gain * batch:
            return
        share = copy / batch
        text = "Copying a batch to the device takes %s" % _duration(copy)
        text += ": copy with non_blocking=True" if self.profile.pin_memory else ": use pin_memory=True, and copy with non_blocking=True"
        self.found.append((Interval(0.0, share / 2, share), DataLoadingBottleneck.GPU_TRANSFER_OVERHEAD, text))

    # ---- Besides ----

    def _say_more(self):
        profile, parts = self.profile, self.profile.parts
        if profile.wait_share is None and profile.bottlenecks:
            profile.notes.append("No step was given: this bounds the loader, and nothing is known of whether a loop would wait for it.")
        if (profile.outside_cores or 0.0) > 0.5:
            profile.notes.append("Other processes used %.1f of %.0f processors meanwhile." % (profile.outside_cores, self.cores))
        if profile.wait_share is not None and self._waits() and not self.found:
            text = "The loop waits for %d %% of its time, and the parts of its batches do not explain it" % round(100 * profile.wait_share)
            if (parts.sample_queued or 0.0) > 0.2 * mid(parts.sample):
                text += "; workers waited %d %% of theirs for a processor" % round(100 * parts.sample_queued / parts.sample.mid)
            profile.notes.append(text + ".")
        if parts.read_chars is not None and parts.read_chars > 64 * 1024 and parts.read_bytes < 0.01 * parts.read_chars:
            profile.notes.append("What was read came from the page cache; from a cold disk it takes longer.")
        if profile.avg_batch_time and parts.probe is not None and parts.probe > 0.02 * profile.avg_batch_time * max(profile.num_workers, 1):
            profile.notes.append("Measuring takes %s of a batch." % _duration(parts.probe))


def shared_memory_free():
    try:
        return shutil.disk_usage("/dev/shm").free
    except OSError:
        return 0


def memory_available():
    """Bytes that may still be used: of the machine, or of the group that the process is in."""
    found = []
    try:
        with open("/proc/meminfo") as file:
            found += [int(line.split()[1]) * 1024 for line in file if line.startswith("MemAvailable:")]
        with open("/sys/fs/cgroup/memory.max") as limit, open("/sys/fs/cgroup/memory.current") as current:
            found.append(max(int(limit.read()) - int(current.read()), 0))
    except (OSError, ValueError):
        pass
    return min(found, default=0)


# ---- Words ---------------------------------------------------------------------------------


def _duration(seconds):
    if seconds >= 1.0:
        return "%.1f s" % seconds
    return "%.1f ms" % (1e3 * seconds) if seconds >= 1e-3 else "%.0f us" % (1e6 * seconds)


def _amount(count):
    return "%.1f GB" % (count / 1024 ** 3) if count >= 1024 ** 3 else "%.1f MB" % (count / MB) if count >= MB else "%d KB" % (count / 1024)


def headspace(run, step):
    """How many times as fast the loop would be with batches that cost nothing: an interval, by replaying some."""
    free = _run.replay(run, step)
    loop = [(wait + spent) / 1e9 for wait, spent in zip(run.waits[run.warm:], run.steps[run.warm:])]
    if len(free) < 2 or len(loop) < 2:
        return None
    quick, slow = median_interval(free), median_interval(loop)
    mean = sum(loop) / len(loop)
    return Interval(max(1.0, slow[0] / quick[2]), max(1.0, mean / quick[1]), max(1.0, mean / quick[1], slow[2] / quick[0]))


def copies(run, settings):
    """Seconds to pin a batch and to copy it to the device, of batches that were kept; nothing where there is no device."""
    torch = sys.modules.get("torch")
    if not run.kept or torch is None or not torch.cuda.is_initialized():
        return [], []
    pinning = _loader.torch_data()._utils.pin_memory.pin_memory
    pins, moves = [], []
    for batch in run.kept[:5]:
        begin = time.perf_counter()
        pinned = pinning(batch)
        pins.append(time.perf_counter() - begin)
        source = pinned if settings.get("pin_memory") else batch
        torch.cuda.synchronize()
        begin = time.perf_counter()
        _moved(source, torch)
        torch.cuda.synchronize()
        moves.append(time.perf_counter() - begin)
    return pins[1:] or pins, moves[1:] or moves


def _moved(batch, torch):
    if isinstance(batch, torch.Tensor):
        return batch.to("cuda")
    if isinstance(batch, dict):
        return {key: _moved(value, torch) for key, value in batch.items()}
    return [_moved(one, torch) for one in batch] if isinstance(batch, (list, tuple)) else batch
