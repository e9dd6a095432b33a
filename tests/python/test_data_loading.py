"""DataLoadingProfiler: causes that were built in are named, figures are what was built in, the program's own things stay as they
were, and whatever the dataset does, no worker is left behind.

Datasets are slow by sleeping, or by so much time of their own, which other programs on the machine do not change much.
"""

import dataclasses
import gc
import json
import mmap
import os
import random
import re
import signal
import threading
import time
import warnings
from pathlib import Path

import pytest

import package

package.need_package()
torch = pytest.importorskip("torch")
numpy = pytest.importorskip("numpy")

from torch.utils.data import BatchSampler, DataLoader, Dataset, IterableDataset, RandomSampler, Sampler, TensorDataset  # noqa: E402

from inferscope.data_loading import (DataLoadingBottleneck, DataLoadingProfile, DataLoadingProfiler,  # noqa: E402
                                     DataLoadingProfilerConfig, LoadingParts, _judge, _loader, _model, _numbers, _probe, _run)
from inferscope.data_loading._model import Cost, Model  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
Cause = DataLoadingBottleneck


@pytest.fixture(autouse=True)
def _ctrl_c():
    """Whoever runs the suite in the background has it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)



def children():
    """Processes that come from this one, but for Python's own one that tidies up after spawned programs."""
    found = set()
    for pid in set(_run._descendants(os.getpid())) - {os.getpid()}:
        try:
            if b"resource_tracker" not in Path("/proc/%d/cmdline" % pid).read_bytes():
                found.add(pid)
        except OSError:
            continue
    return found


@pytest.fixture(autouse=True)
def nothing_left():
    """No process, no folder, no file that is open, and the signal as it was."""
    before, folders = children(), set(os.listdir("/dev/shm")) if os.path.isdir("/dev/shm") else set()
    yield
    end = time.monotonic() + 5
    while children() - before and time.monotonic() < end:
        time.sleep(0.05)
    assert not children() - before
    left = set(os.listdir("/dev/shm")) - folders if os.path.isdir("/dev/shm") else set()
    assert not [name for name in left if name.startswith("inferscope-%d" % os.getpid())]
    assert signal.getsignal(signal.SIGALRM) is signal.SIG_DFL


def profiler(**settings):
    settings.setdefault("batch_timeout", 20.0)
    settings.setdefault("run_seconds", 0.05)
    return DataLoadingProfiler(DataLoadingProfilerConfig(**settings))


def spin(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


class Made(Dataset):
    """Of tensors, or of what `make` makes; slow by as much as one says."""

    def __init__(self, count=400, wait=0.0, work=0.0, make=None, transform=None):
        self.count, self.wait, self.work, self.make, self.transform = count, wait, work, make, transform
        self.asked = 0

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        self.asked += 1
        if self.wait:
            time.sleep(self.wait)
        if self.work:
            spin(self.work)
        sample = torch.full((8,), float(index)) if self.make is None else self.make(index)
        return sample if self.transform is None else self.transform(sample)


class Compose:
    def __init__(self, *transforms):
        self.transforms = list(transforms)

    def __call__(self, sample):
        for transform in self.transforms:
            sample = transform(sample)
        return sample


class Slowly:
    def __init__(self, seconds):
        self.seconds = seconds

    def __call__(self, sample):
        spin(self.seconds)
        return sample


def doubled(sample):
    return sample * 2


# ---- Numbers and the model -------------------------------------------------------------------


def test_medians_and_rates():
    assert _numbers.median_interval([3.0, 1.0, 2.0]) == (1.0, 2.0, 3.0)
    low, middle, high = _numbers.median_interval([float(value) for value in range(101)])
    assert middle == 50.0 and 38 <= low < 50 < high <= 62
    assert _numbers.median_interval([]) == (0.0, 0.0, 0.0)
    low, rate, high = _numbers.rate_interval([(1, 0.1), (1, 0.1), (1, 0.1), (1, 0.3)])
    assert rate == pytest.approx(4 / 0.6) and low < rate < high
    assert _numbers.trend([5.0, 6.0, 7.0, 8.0, 9.0]) == pytest.approx(1.0)


def test_costs_are_of_the_batch_and_of_the_sample():
    cost = Cost.fit({8: [0.018, 0.018, 0.9], 32: [0.042, 0.042, 0.042]})
    assert cost.fixed == pytest.approx(0.010) and cost.each == pytest.approx(0.001)
    assert Cost.fit({}) == (0.0, 0.0) and Cost.fit({4: [0.4]}) == (0.0, 0.1)


def test_model_of_workers_and_processors():
    computing = Model(sample=Cost(0.0, 0.010))
    assert computing.batch_seconds(4, 1, cores=2) == pytest.approx(0.005, rel=0.1)
    assert computing.useful_workers(16, 2) == 2
    waiting = Model(other=Cost(0.0, 0.010))
    assert waiting.batch_seconds(4, 1, cores=2) == pytest.approx(0.0025, rel=0.1)
    assert waiting.useful_workers(16, 2) > 2
    assert waiting.without("other").worker_seconds(16) == 0.0
    assert Model(sample=Cost(0.0, 0.01), send=Cost(0.0, 0.01), receive=Cost(0.0, 0.05)).useful_workers(4, 8) == 0
    assert Model(sample=Cost(0.0, 0.01), step=Cost(0.0, 0.1)).limit(2, 4, 8) == "program"


def _row(disk, blocked_ms, cpu_ms=1.0):
    wall = int((blocked_ms + cpu_ms) * 1e6)
    return {"begin": 0, "end": wall, "collate": (0, 0), "samples": [wall], "counters": [int(cpu_ms * 1e6), 0, 4096, disk, 0, 0, 0]}


def test_waits_are_for_the_disk_only_as_long_as_a_disk_takes():
    rows = [_row(0, 100.0)] * 5 + [_row(4096, 100.0)]  # one page, of a library perhaps
    assert not _model.from_disk(rows) and _model.waits(rows[-1], False) == (0.0, pytest.approx(0.1))
    assert _model.from_disk([_row(4096, 5.0)] * 3)
    assert _model.waits(_row(4096, 5.0), True) == (pytest.approx(0.005), pytest.approx(0.0))
    assert _model.waits(_row(4096, 100.0), True) == (pytest.approx(0.02), pytest.approx(0.08))
    assert _model.reading_cpu(_row(4096, 5.0, cpu_ms=10.0), 0.9) == pytest.approx(50e-6)


def test_a_walk_meets_every_sample_once():
    for count in (1, 2, 7, 100, 1000):
        walk = _loader.Walk(count)
        taken = walk.take(count // 2) + walk.take(count - count // 2)
        assert sorted(taken) == list(range(count)) and not walk.wrapped


# ---- Figures ---------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [0, 2])
def test_parts_of_a_loader(workers):
    loader = DataLoader(Made(wait=0.003, transform=Compose(Slowly(0.001), doubled)), batch_size=4, num_workers=workers)
    profile = profiler().profile_data_loader(loader, 10)
    assert isinstance(profile, DataLoadingProfile) and profile.error is None and profile.measured
    assert (profile.batch_size, profile.num_workers, profile.pin_memory) == (4, workers, False)
    assert profile.num_batches == 10 + (2 * workers or 1) and profile.num_samples == 4 * profile.num_batches
    assert 0.003 <= profile.parts.one_sample.low <= profile.parts.one_sample.mid <= profile.parts.one_sample.high
    assert profile.parts.sample.mid >= 0.016 and profile.parts.other_wait >= 0.010
    assert 0.001 < profile.parts.sample_cpu < 1.5 * profile.parts.sample.mid
    assert set(profile.parts.transforms) == {"Slowly", "doubled"}
    assert profile.parts.transforms["Slowly"] > 2 * profile.parts.transforms["doubled"]
    assert profile.parts.batch_bytes == 4 * 8 * 4
    assert profile.parts.queue_put.mid > 0 if workers else profile.parts.queue_put is None
    assert profile.throughput.low <= profile.throughput_batches_per_second <= profile.throughput.high
    assert profile.avg_batch_time == pytest.approx(1 / profile.throughput_batches_per_second)
    assert profile.throughput_samples_per_second == pytest.approx(4 * profile.throughput_batches_per_second)
    assert profile.memory_usage_mb > 50 and 0 < profile.cpu_usage_percent <= 100 and profile.gpu_memory_usage_mb == 0
    assert profile.headspace is None and profile.wait_share is None
    assert "batches of 4, %d workers" % workers in profile.summary()


def test_the_clocks_cost_little():
    each, batch = _probe.cost()
    assert each < 20e-6 and batch < 5e-3


def test_headspace_is_what_free_input_would_bring():
    loader = DataLoader(Made(wait=0.004), batch_size=5)
    profile = profiler(try_workers=False).profile_data_loader(loader, 8, step=lambda batch: time.sleep(0.010))
    assert 1.8 < profile.headspace.mid < 6.0  # 20 ms of input and 10 of the step
    assert profile.headspace.low <= profile.headspace.mid <= profile.headspace.high
    assert 0.4 < profile.wait_share < 0.9 and profile.parts.step.mid >= 0.010
    idle = profiler(try_workers=False).profile_data_loader(DataLoader(Made(), batch_size=5), 8, step=lambda batch: time.sleep(0.010))
    assert idle.headspace.low < 1.3 and idle.bottlenecks == []


# ---- Causes ----------------------------------------------------------------------------------


def first(loader, step=None, **settings):
    profile = profiler(**settings).profile_data_loader(loader, 8, step=step)
    assert profile.error is None
    return profile.bottlenecks[0] if profile.bottlenecks else None, profile


def test_slow_transform():
    loader = DataLoader(Made(transform=Compose(doubled, Slowly(0.003))), batch_size=4, num_workers=int(_loader.cores()))
    cause, profile = first(loader)
    assert cause is Cause.SLOW_TRANSFORM and profile.gains[cause] > 0.2
    assert "Slowly" in profile.suggestions[0] and profile.advice[0].measured is False
    assert profile.advice[0].gain.low <= profile.advice[0].gain.mid <= profile.advice[0].gain.high <= 1.0


def test_slow_sample():
    cause, profile = first(DataLoader(Made(work=0.003), batch_size=4, num_workers=int(_loader.cores())))
    assert cause is Cause.SLOW_SAMPLE and "for each sample" in profile.suggestions[0]


def slow_collate(samples):
    spin(0.020)
    return torch.stack(samples)


def test_slow_collate():
    cause, profile = first(DataLoader(Made(), batch_size=4, num_workers=1, collate_fn=slow_collate), step=lambda batch: None)
    assert cause is Cause.SLOW_COLLATE and profile.parts.collate.mid >= 0.020


def test_insufficient_workers():
    cause, profile = first(DataLoader(Made(wait=0.004), batch_size=4, num_workers=1), step=lambda batch: time.sleep(0.004))
    assert cause is Cause.INSUFFICIENT_WORKERS and profile.useful_workers > 1
    assert Cause.EXTERNAL_WAIT in profile.bottlenecks


def test_transfer_between_processes():
    big = Made(make=lambda index: numpy.ones(1 << 19, dtype=numpy.float32))
    cause, profile = first(DataLoader(big, batch_size=4, num_workers=1, collate_fn=list), step=lambda batch: None)
    assert cause is Cause.INTER_PROCESS_TRANSFER
    assert profile.parts.piped_bytes > 8 << 20 and profile.parts.batch_bytes == 8 << 20
    assert profile.parts.receive.mid > 0 and profile.parts.queue_put.mid > 0


class Stored(Dataset):
    """Small pieces of a file that is not in the page cache."""

    def __init__(self, path):
        self.path = str(path)
        with open(path, "wb") as file:
            file.write(os.urandom(1 << 20) * 128)
            file.flush()
            os.fsync(file.fileno())
        file = os.open(path, os.O_RDONLY)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(file)

    def __len__(self):
        return 500

    def __getitem__(self, index):
        file = os.open(self.path, os.O_RDONLY)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)
        pieces = [os.pread(file, 4096, (index * 61 + piece * 8191) % 32768 * 4096) for piece in range(48)]
        os.close(file)
        return torch.frombuffer(bytearray(b"".join(pieces)), dtype=torch.uint8)


def test_slow_disk(tmp_path):
    cause, profile = first(DataLoader(Stored(tmp_path / "store"), batch_size=4, num_workers=1), step=lambda batch: None)
    if profile.parts.read_bytes < 0.5 * profile.parts.read_chars:
        pytest.skip("what is dropped from the page cache does not have to be read from a disk here")
    assert cause is Cause.SLOW_DISK_IO
    assert profile.parts.disk_wait > 0 and profile.parts.disk_wait > profile.parts.other_wait


def test_fine_is_fine():
    cause, profile = first(DataLoader(Made(transform=Compose(doubled)), batch_size=4, num_workers=1), step=lambda batch: time.sleep(0.05))
    assert cause is None and profile.suggestions == []


def test_a_dataset_that_keeps_everything():
    class Keeping(Made):
        kept = []

        def __getitem__(self, index):
            self.kept.append(mmap.mmap(-1, 4 << 20))  # what earlier tests have freed would be used again, and is counted already
            self.kept[-1].write(b"x" * (4 << 20))
            return super().__getitem__(index)
    profile = profiler().profile_data_loader(DataLoader(Keeping(), batch_size=2, num_workers=1), 14)
    assert 4 < profile.memory_growth_mb < 16
    assert Cause.MEMORY_PRESSURE in profile.bottlenecks


def test_copies_to_a_device(monkeypatch):
    """There is no device here: what copying takes is given."""
    monkeypatch.setattr(_judge, "copies", lambda run, settings: ([0.001], [0.02, 0.02, 0.02]))
    profile = profiler(try_workers=False).profile_data_loader(DataLoader(Made(), batch_size=4), 5, step=lambda batch: time.sleep(0.05))
    assert profile.bottlenecks == [Cause.GPU_TRANSFER_OVERHEAD] and "pin_memory=True" in profile.suggestions[0]
    assert profile.parts.device_copy.mid == 0.02 and 0.1 < profile.gains[Cause.GPU_TRANSFER_OVERHEAD] < 0.3


def test_workers_that_hold_more_than_there_is(monkeypatch):
    monkeypatch.setattr(_judge, "shared_memory_free", lambda: 100)
    profile = profiler().profile_data_loader(DataLoader(Made(), batch_size=4, num_workers=2), 5)
    assert Cause.MEMORY_PRESSURE in profile.bottlenecks and "of shared memory" in " ".join(profile.suggestions)


def test_fixed_numbers():
    given = profiler(use_fixed_thresholds=True, slow_batch_seconds=0.01, min_batches_per_second=90, memory_limit_mb=1, try_workers=False)
    profile = given.profile_data_loader(DataLoader(Made(wait=0.01), batch_size=2), 4)
    assert {Cause.SLOW_DISK_IO, Cause.INSUFFICIENT_WORKERS, Cause.MEMORY_PRESSURE} <= set(profile.bottlenecks)
    plain, loader = DataLoadingProfiler(), DataLoader(Made())
    assert plain._detect_bottlenecks(0.11, 1001, 501, 50, loader, 9.9) == [Cause.SLOW_DISK_IO, Cause.INSUFFICIENT_WORKERS,
                                                                           Cause.MEMORY_PRESSURE]
    assert plain._detect_bottlenecks(0.1, 1000, 500, 50, loader, 10) == []
    scored = DataLoadingProfile(throughput_batches_per_second=3, memory_usage_mb=100, gpu_memory_usage_mb=200, cpu_usage_percent=50,
                                bottlenecks=[Cause.SLOW_SAMPLE], num_workers=2, pin_memory=True)
    assert plain._calculate_profile_score(scored) == pytest.approx(30 - 1 - 2 - 5 - 5 + 2 + 1)


# ---- The search ------------------------------------------------------------------------------


def test_configuration_range():
    told = []
    search = profiler(progress=lambda *what: told.append(what), run_seconds=0.1)
    profiles = search.profile_configuration_range(Made(count=100_000, wait=0.002), batch_sizes=[4, 8], worker_counts=[0, 1, 4],
                                                  explore="fast")
    assert [(one.batch_size, one.num_workers) for one in profiles] == [(size, count) for size in (4, 8) for count in (0, 1, 4)]
    assert any(one.measured for one in profiles) and any(not one.measured for one in profiles)
    assert all(one.throughput_samples_per_second > 0 for one in profiles)
    rates = {(one.batch_size, one.num_workers): one.throughput_samples_per_second for one in profiles}
    assert rates[8, 4] > 1.5 * rates[8, 1]  # samples only wait: four workers wait at once
    best = search.get_optimal_configuration()
    assert best.num_workers == 4 and best.profile.measured and "samples/s" in best.reason
    assert best.samples_per_second.low <= best.samples_per_second.mid <= best.samples_per_second.high
    assert best.loader_options() == {"batch_size": best.batch_size, "num_workers": 4, "pin_memory": False, "persistent_workers": True,
                                     "prefetch_factor": 2}
    assert told and told[0][1] == 6 and len(told) == search._searched.runs
    assert "| 8 | 4 |" in search.generate_optimization_report() and best.reason in search.generate_optimization_report()


# Of a configuration that was run everything here is known; of one that was not, nothing but a throughput that is reckoned.
RECKONED = ("avg_batch_time", "throughput_batches_per_second", "throughput_samples_per_second", "throughput")
MEASURED = ("memory_usage_mb", "gpu_memory_usage_mb", "cpu_usage_percent", "total_time", "startup_time", "batch_time", "outside_cores")


def test_all_configurations_are_run():
    search = profiler(run_seconds=0.03)
    profiles = search.profile_configuration_range(Made(count=200, wait=0.001), batch_sizes=[4, 8], worker_counts=[0, 1, 2])
    assert [(one.batch_size, one.num_workers) for one in profiles] == [(size, count) for size in (4, 8) for count in (0, 1, 2)]
    assert all(one.measured for one in profiles) and search._searched.runs == 6
    assert not [name for one in profiles for name in RECKONED + MEASURED if getattr(one, name) is None]
    assert all(one.worker_memory_mb > 0 if one.num_workers else one.worker_memory_mb is None for one in profiles)
    report, best = search.generate_optimization_report(), search.get_optimal_configuration()
    assert "reckoned" not in report and [line[2:] for line in report.splitlines() if line.startswith("- ")] == best.profile.suggestions
    search.profile_data_loader(DataLoader(Made(wait=0.01), batch_size=4), 5)
    assert search.profiles[-1].suggestions and search.profiles[-1].suggestions[0] in search.generate_optimization_report()
    with pytest.raises(ValueError, match="explore"):
        search.profile_configuration_range(Made(), explore="slow")


def test_a_dataset_that_hangs_is_not_tried_in_all_configurations():
    search = profiler(run_seconds=0.03, batch_timeout=0.5)
    profiles = search.profile_configuration_range(Made(make=lambda index: time.sleep(60)), [4, 8], [0, 1, 2])
    assert search._searched.runs == 1 and not any(one.measured for one in profiles)
    assert sum(one.error is not None for one in profiles) == 1
    assert sum("hung" in " ".join(one.notes) for one in profiles) == 5


def test_what_would_not_fit_is_not_run(monkeypatch):
    monkeypatch.setattr(_judge, "memory_available", lambda: 64 << 10)
    search = profiler(run_seconds=0.03)
    profiles = search.profile_configuration_range(Made(count=2000, wait=0.001), [4, 1024], [1, 2])  # 32 bytes a sample
    assert [(one.batch_size, one.measured) for one in profiles] == [(4, True), (4, True), (1024, False), (1024, False)]
    assert all("it would hold" in one.notes[0] and one.memory_usage_mb is None for one in profiles[2:])


def test_what_was_not_run_is_not_known():
    search = profiler(run_seconds=0.03, search_share=0.01)
    profiles = search.profile_configuration_range(Made(count=2000, wait=0.001), [4, 8], [0, 1, 2], explore="fast")
    guessed = [one for one in profiles if not one.measured]
    assert 0 < len(guessed) < 6
    for one in guessed:
        assert all(getattr(one, name) is None for name in MEASURED + ("worker_memory_mb", "memory_growth_mb", "avg_wait_time"))
        assert one.parts == LoadingParts() and {value for name, value in vars(one.parts).items() if name != "transforms"} == {None}
        assert "reckoned" in one.summary() and search._calculate_profile_score(one) == float("-inf")
    row = json.loads(json.dumps(guessed[0].to_dict(), allow_nan=False))
    assert row["memory_usage_mb"] is None and row["parts"]["collate"] is None and row["throughput"]["mid"] > 0
    report = search.generate_optimization_report()
    assert report.count("| - | - |") == len(guessed) and "None" not in report
    assert max(profiles, key=search._calculate_profile_score).measured and search.get_optimal_configuration(profiles).profile.measured


def test_what_could_not_be_measured_is_not_known():
    """Neither figures nor causes come of it, also by fixed numbers."""
    def broken(index):
        raise OSError("no such volume")
    search = profiler(use_fixed_thresholds=True)
    for profile in (search.profile_data_loader(DataLoader(Made(make=broken), batch_size=4, num_workers=1)), DataLoadingProfile()):
        assert all(getattr(profile, name) is None for name in RECKONED + ("batch_time", "total_time", "startup_time", "avg_wait_time"))
        assert profile.bottlenecks == [] and "not measured" in profile.summary()
        assert search._detect_bottlenecks(None, None, None, None, DataLoader(Made()), None) == []
    assert "| 4 | 1 | - | - |" in search.generate_optimization_report()
    assert search.get_optimal_configuration(search.profiles) is None
    outside = profiler().profile_data_loader([torch.zeros(2)] * 20, 5)
    assert outside.throughput_batches_per_second > 0 and outside.cpu_usage_percent is None and outside.parts.sample is None


def test_a_few_configurations_are_all_run():
    profiles = profiler().profile_configuration_range(Made(count=20), batch_sizes=[4, 64], worker_counts=[0], explore="fast")
    assert [one.measured for one in profiles] == [True, True]


def test_what_is_asked_for_is_checked():
    for sizes in ([], [0], [True], ["8"]):
        with pytest.raises(ValueError, match="batch_sizes"):
            profiler().profile_configuration_range(Made(), batch_sizes=sizes)
    with pytest.raises(TypeError, match="shuffle"):
        profiler().profile_configuration_range(Made(), shuffle=True)
    with pytest.raises(ValueError, match="num_batches"):
        profiler().profile_data_loader(DataLoader(Made()), 0)
    assert profiler().get_optimal_configuration() is None


def test_a_search_in_a_dataset_that_raises():
    def broken(index):
        raise OSError("no such volume")
    search = profiler()
    profiles = search.profile_configuration_range(Made(make=broken), batch_sizes=[4, 8], worker_counts=[0, 2])
    assert len(profiles) == 4 and not any(one.measured for one in profiles)
    assert any("no such volume" in one.error for one in profiles if one.error)
    assert search.get_optimal_configuration() is None


# ---- optimize() ------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:This DataLoader will create")
def test_optimize_brings_workers():
    generator = torch.Generator()
    generator.manual_seed(5)
    loader = DataLoader(Made(count=102, wait=0.004), batch_size=4, shuffle=True, drop_last=True, generator=generator, collate_fn=torch.stack)
    state, given = generator.get_state(), profiler()
    better = given.optimize(loader, worker_counts=[0, 4])
    done = given.optimization
    assert better is done.loader is not loader and better.num_workers == 4 and done.changes == {"num_workers": (0, 4)}
    assert done.gain.low > 0.02 and done.gain.mid > 0.2 and "4 workers instead of 0" in done.reason
    for name in ("dataset", "sampler", "generator", "collate_fn", "batch_size", "drop_last"):
        assert getattr(better, name) is getattr(loader, name), name
    assert torch.equal(generator.get_state(), state)
    order = [int(batch[at, 0]) for batch in better for at in range(4)]
    generator.set_state(state)
    assert order == [int(batch[at, 0]) for batch in loader for at in range(4)]


def test_optimize_leaves_what_is_fine():
    loader = DataLoader(Made(), batch_size=4)
    given = profiler()
    assert given.optimize(loader, step=lambda batch: time.sleep(0.02), worker_counts=[0, 1]) is loader
    assert given.optimization.changes == {} and "Nothing was changed" in given.optimization.reason


def test_optimize_does_not_repeat_data():
    class Numbers(IterableDataset):
        def __iter__(self):
            return iter(range(100))
    loader, given = DataLoader(Numbers(), batch_size=4), profiler()
    assert given.optimize(loader) is loader and "repeat its data" in given.optimization.reason
    assert given.optimize([1, 2]) == [1, 2] and "list" in given.optimization.reason


# ---- What is the program's -------------------------------------------------------------------


@pytest.mark.parametrize("workers", [0, 1])
def test_the_program_goes_on_as_if_nothing_had_been(workers):
    def batches():
        torch.manual_seed(1), random.seed(2), numpy.random.seed(3)
        loader = DataLoader(Made(count=40, make=lambda index: torch.rand(2) + index), batch_size=4, shuffle=True, num_workers=workers)
        yield loader
        yield [batch.tolist() for batch in loader], torch.rand(1).item(), random.random(), numpy.random.rand()
    bare = batches()
    next(bare)
    profiled = batches()
    loader = next(profiled)
    expected = next(bare)
    profiled = batches()
    loader = next(profiled)
    profile = profiler().profile_data_loader(loader, 5)
    assert profile.error is None and loader._iterator is None
    assert next(profiled) == expected


def test_no_file_is_left_open():
    loader = DataLoader(Made(), batch_size=4)
    profiler(try_workers=False).profile_data_loader(loader, 4)
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        profiler(try_workers=False).profile_data_loader(loader, 4)
    assert len(os.listdir("/proc/self/fd")) <= before


def test_transforms_stay_what_they_are():
    steps = Compose(doubled, Slowly(0.0))
    before, call = list(steps.transforms), Slowly.__call__
    profiler().profile_data_loader(DataLoader(Made(transform=steps), batch_size=4), 4)
    profiler().profile_data_loader(DataLoader(Made(transform=steps), batch_size=4, num_workers=1), 4)
    assert steps.transforms == before and Slowly.__call__ is call


class Odd(Sampler):
    """Goes on where it was, each time."""

    def __init__(self):
        self.at = 1

    def __iter__(self):
        while self.at < 200:
            yield self.at
            self.at += 2

    def __len__(self):
        return 100


def test_samplers_of_the_user():
    sampler = Odd()
    profile = profiler(try_workers=False).profile_data_loader(DataLoader(Made(), batch_size=4, sampler=sampler), 6)
    assert profile.num_samples == 28 and sampler.at == 1
    batches = [[1], [2, 3], [4, 5, 6], [7, 8, 9, 10]]
    profile = profiler(try_workers=False).profile_data_loader(DataLoader(Made(), batch_sampler=batches), 50)
    assert (profile.num_batches, profile.num_samples) == (4, 10) and "only 4 batches" in profile.notes[0]
    weighted = BatchSampler(RandomSampler(range(400), generator=torch.Generator()), 3, False)
    assert profiler(try_workers=False).profile_data_loader(DataLoader(Made(), batch_sampler=weighted), 5).batch_size == 3


# ---- Loaders of all kinds --------------------------------------------------------------------


class Stream(IterableDataset):
    def __init__(self, shared=False):
        self.shared = shared

    def __iter__(self):
        info = torch.utils.data.get_worker_info()
        step = info.num_workers if self.shared and info else 1
        return (torch.tensor([float(value)]) for value in range(info.id if self.shared and info else 0, 200, step))


@pytest.mark.parametrize("workers", [0, 2])
def test_iterable_datasets(workers):
    profile = profiler().profile_data_loader(DataLoader(Stream(), batch_size=5, num_workers=workers), 10)
    assert profile.error is None and profile.num_samples == 5 * profile.num_batches
    assert any("same batches" in note for note in profile.notes) == (workers > 0)
    shared = profiler().profile_data_loader(DataLoader(Stream(shared=True), batch_size=5, num_workers=workers), 10)
    assert not any("same batches" in note for note in shared.notes)


class Itself(IterableDataset):
    """Its own iterator, which is used up by using it."""

    def __init__(self):
        self.at = 0

    def __iter__(self):
        return self

    def __next__(self):
        self.at += 1
        if self.at > 100:
            raise StopIteration
        return self.at


def test_a_dataset_that_is_its_own_iterator():
    dataset = Itself()
    assert profiler(try_workers=False).profile_data_loader(DataLoader(dataset, batch_size=4), 5).num_samples == 24
    profiles = profiler().profile_configuration_range(dataset, batch_sizes=[4, 8], worker_counts=[0])
    assert all(one.measured for one in profiles) and dataset.at == 0


@pytest.mark.parametrize("make", [lambda index: {"x": numpy.zeros(3), "y": index}, lambda index: (torch.ones(2), "text"),
                                  lambda index: index])
@pytest.mark.parametrize("size", [None, 3])
def test_samples_of_any_kind(make, size):
    loader = DataLoader(Made(make=make), batch_size=size, num_workers=1, worker_init_fn=lambda worker: None)
    profile = profiler().profile_data_loader(loader, 5)
    assert profile.error is None and profile.num_samples == (size or 1) * profile.num_batches and profile.batch_size == size


def test_datasets_that_fetch_many_at_once():
    class Many(Made):
        def __getitems__(self, indices):
            time.sleep(0.001 * len(indices))
            return [torch.ones(1)] * len(indices)
    profile = profiler(try_workers=False).profile_data_loader(DataLoader(Many(), batch_size=4), 5)
    assert profile.parts.one_sample.mid >= 0.001 and profile.num_samples == 24


def test_tiny_datasets():
    for count in (1, 2, 5):
        profile = profiler().profile_data_loader(DataLoader(Made(count=count), batch_size=4, num_workers=2), 10)
        assert profile.error is None and profile.num_samples == count
    assert profiler().profile_data_loader(DataLoader(TensorDataset(torch.ones(0, 2)), batch_size=4), 10).num_batches == 0


def test_what_is_no_loader():
    profile = profiler().profile_data_loader([torch.ones(3)] * 10, 20)
    assert profile.num_batches == 10 and profile.num_samples == 30 and "not a DataLoader" in profile.notes[0]


# ---- Trouble ---------------------------------------------------------------------------------


def _fails_at(bad):
    def make(index):
        if index == bad:
            raise ValueError("sample %d is broken" % index)
        return torch.ones(1)
    return make


@pytest.mark.parametrize("workers", [0, 2])
def test_a_dataset_that_raises(workers):
    profile = profiler().profile_data_loader(DataLoader(Made(make=_fails_at(22)), batch_size=4, num_workers=workers), 50)
    assert "ValueError: sample 22 is broken" in profile.error and profile.num_batches == 5
    assert profile.throughput_batches_per_second > 0 and not profile.hung


def _hangs_at(bad):
    def make(index):
        if index == bad:
            time.sleep(600)
        return torch.ones(1)
    return make


@pytest.mark.parametrize("workers,bad", [(0, 41), (0, 9), (2, 41)])
def test_a_dataset_that_hangs(workers, bad):
    begin = time.monotonic()
    given = profiler(batch_timeout=1.5)
    profile = given.profile_data_loader(DataLoader(Made(make=_hangs_at(bad)), batch_size=4, num_workers=workers), 50)
    assert profile.hung and "no batch within 1.5 s" in profile.error and time.monotonic() - begin < 15
    if workers:
        assert "dataset[%d]" % bad in profile.error
        assert profile.num_batches >= 8


def test_a_dataset_that_forks_and_prints(capfd):
    def make(index):
        print("sample", index)
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        os.waitpid(pid, 0)
        return torch.ones(1)
    profile = profiler().profile_data_loader(DataLoader(Made(make=make), batch_size=2, num_workers=1), 3)
    assert profile.error is None and profile.num_batches == 5


def test_a_worker_that_dies():
    def make(index):
        if index == 9:
            os.kill(os.getpid(), signal.SIGKILL)
        return torch.ones(1)
    profile = profiler().profile_data_loader(DataLoader(Made(make=make), batch_size=2, num_workers=1), 20)
    assert profile.error.startswith("a worker has ended by signal 9")


def test_an_init_function_that_raises():
    def init(worker):
        raise RuntimeError("no database for worker %d" % worker)
    profile = profiler().profile_data_loader(DataLoader(Made(), batch_size=2, num_workers=1, worker_init_fn=init), 3)
    assert "no database for worker 0" in profile.error and profile.num_batches == 0


def test_workers_that_are_started_as_programs():
    loader = DataLoader(TensorDataset(torch.arange(100.0)), batch_size=5, num_workers=1, multiprocessing_context="spawn")
    profile = profiler().profile_data_loader(loader, 5)
    assert profile.error is None and profile.num_batches == 7
    assert profile.parts.sample.mid > 0 and profile.parts.queue_put.mid > 0


def test_what_cannot_be_pickled():
    loader = DataLoader(Made(make=lambda index: index), num_workers=1, multiprocessing_context="spawn")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        profile = profiler().profile_data_loader(loader, 5)
    assert "pickle" in profile.error and profile.num_batches == 0


def interrupt():
    """As Ctrl-C on a terminal does: this process, and its workers."""
    for pid in [*children(), os.getpid()]:
        os.kill(pid, signal.SIGINT)


def test_interrupt_in_a_search():
    def say(done, most, text):
        if done == 2:
            threading.Timer(0.4, interrupt).start()
    search = profiler(progress=say, run_seconds=1.0, search_share=10.0)
    profiles = search.profile_configuration_range(Made(count=100_000, wait=0.002), [4, 8, 16], [0, 1, 2, 4], explore="fast")
    assert search.interrupted and len(profiles) == 12
    assert sum(one.measured for one in profiles) in (1, 2) and search._searched.runs == 3
    assert "interrupted" in search.get_optimal_configuration().reason


def test_interrupt_of_a_profile():
    def step(batch):
        time.sleep(0.005)
        if len(seen) == 10:
            interrupt()
        seen.append(batch)
    seen, given = [], profiler()
    profile = given.profile_data_loader(DataLoader(Made(), batch_size=4, num_workers=1), 60, step=step)
    assert profile.interrupted and given.interrupted and 9 <= profile.num_batches <= 12 and profile.throughput_batches_per_second > 0


def test_interrupt_before_anything_is_known():
    threading.Timer(0.5, interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        profiler().profile_data_loader(DataLoader(Made(wait=5.0), batch_size=4, num_workers=1), 60)


# ---- The seed's own code ---------------------------------------------------------------------


def test_the_loop_of_the_document():
    """profile_configuration_range() as the document writes it out, with our profiler in the place of its own."""
    given, profiles, dataset = profiler(), [], Made(count=64)
    for batch_size in [16]:
        for num_workers in [0, 1]:
            data_loader = DataLoader(dataset=dataset, batch_size=batch_size, shuffle=True, num_workers=num_workers,
                                     pin_memory=torch.cuda.is_available(), persistent_workers=num_workers > 0,
                                     **({"prefetch_factor": 2} if num_workers > 0 else {}))
            profiles.append(given.profile_data_loader(data_loader, num_batches=5))
    assert [profile.num_workers for profile in profiles] == [0, 1] and given.profiles == profiles
    assert max(profiles, key=given._calculate_profile_score) in profiles


# ---- docs/profilers.md -----------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:This DataLoader will create")
def test_the_tutorial():
    """Its blocks, one after another, as one program; what it says of their outcome is so."""
    text = (ROOT / "docs" / "profilers.md").read_text().split("\n## Data loading\n")[1].split("\n## ")[0]
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 4
    space = {"__name__": "tutorial"}
    for block in blocks:
        exec(compile(block, "docs/profilers.md", "exec"), space)
    assert space["profile"].bottlenecks == [Cause.INSUFFICIENT_WORKERS, Cause.EXTERNAL_WAIT]
    assert space["profile"].headspace.mid > 1.3
    assert space["loader"].num_workers > 0 and space["profiler"].optimization.gain.mid > 0.05
    assert space["best"].profile.measured and space["best"].num_workers in (0, 1, 2, 4)


def test_the_reference_names_everything():
    text = (ROOT / "docs" / "profilers.md").read_text().split("\n## Data loading\n")[1].split("\n## ")[0]
    fields = [field.name for kind in (DataLoadingProfilerConfig, DataLoadingProfile, LoadingParts) for field in dataclasses.fields(kind)]
    missing = [name for name in fields + [one.name for one in Cause] if "`%s`" % name not in text]
    assert not missing
