#!/usr/bin/env python3
"""Loaders with a known fault: does DataLoadingProfiler name it, and does its search find as good a configuration as trying all?

    loader_zoo.py [--only NAME,...] [--no-search] [--repeat N]     needs torch; build/python, or PYTHONPATH, has the package

For each loader the cause that is named first is compared with the one that was built in.  Then the search and a run of every
configuration, one after another with the same limits, and at last the two choices in turn: the median of the ratios says
how far the choice of the search is from the best, its interval what the machine lets one tell.  Bars: all causes, ratio >= 0.9,
time <= 1/3.  Use a machine that does nothing else; how many processors others used is in the last column.
"""

import argparse
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, os.environ.get("INFERSCOPE_PACKAGE", str(ROOT / "build" / "python")))

import torch  # noqa: E402
from torch.utils.data import DataLoader, Dataset  # noqa: E402

from inferscope.data_loading import DataLoadingBottleneck as Cause  # noqa: E402
from inferscope.data_loading import DataLoadingProfiler, DataLoadingProfilerConfig, _numbers, _search  # noqa: E402

SIZES, COUNTS = [8, 16, 32, 48], [0, 1, 2, 4, 8]


def spin(seconds):
    """Computes for so long, of the thread's own time: others that use the processor do not shorten it."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


# ---- Datasets ------------------------------------------------------------------------------


class Tensors(Dataset):
    """Small tensors, after so many seconds of work."""

    def __init__(self, work=0.0, wait=0.0, values=3 * 32 * 32, transform=None):
        self.work, self.wait, self.values, self.transform = work, wait, values, transform

    def __len__(self):
        return 100_000

    def __getitem__(self, index):
        if self.wait:
            time.sleep(self.wait)
        spin(self.work)
        sample = torch.full((self.values,), float(index % 97))
        return sample if self.transform is None else self.transform(sample)


class Compose:
    def __init__(self, transforms):
        self.transforms = transforms

    def __call__(self, sample):
        for transform in self.transforms:
            sample = transform(sample)
        return sample


class Normalize:
    def __call__(self, sample):
        return (sample - sample.mean()) / (sample.std() + 1e-6)


class Warp:
    """The slow one."""

    def __init__(self, seconds):
        self.seconds = seconds

    def __call__(self, sample):
        spin(self.seconds)
        return sample.flip(0)


class Scattered(Dataset):
    """A sample is many small pieces of one large file, as of a store that was not made for this."""

    PIECE, PIECES = 4096, 24

    def __init__(self, path, size):
        self.path, self.size = path, size
        with open(path, "wb") as file:
            block = os.urandom(1 << 20)
            for _ in range(size >> 20):
                file.write(block)
            file.flush()
            os.fsync(file.fileno())
        self.forget()

    def forget(self):
        """Out of the page cache."""
        file = os.open(self.path, os.O_RDONLY)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(file)

    def __len__(self):
        return 20_000

    def __getitem__(self, index):
        file = os.open(self.path, os.O_RDONLY)
        try:
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)
            places = [(index * 7919 + piece * 104729) * self.PIECE % (self.size - self.PIECE) for piece in range(self.PIECES)]
            text = b"".join(os.pread(file, self.PIECE, place // self.PIECE * self.PIECE) for place in places)
        finally:
            os.close(file)
        return torch.frombuffer(bytearray(text), dtype=torch.uint8)[:3072].float()


class Large(Dataset):
    """A few MB each, as numpy arrays."""

    def __init__(self, values):
        import numpy
        self.array = numpy.ones(values, dtype=numpy.float32)

    def __len__(self):
        return 10_000

    def __getitem__(self, index):
        sample = self.array.copy()
        sample[0] = index
        return {"volume": sample, "name": "volume %d" % index}


def as_they_are(samples):
    return {"volumes": [sample["volume"] for sample in samples], "names": [sample["name"] for sample in samples]}


def item_by_item(samples):
    """What people write who do not know torch.stack()."""
    return torch.tensor([[float(value) for value in sample] for sample in samples])


# ---- The zoo -------------------------------------------------------------------------------


class Case:
    """batch, workers: of the loader that is asked about; each: seconds of the step for each sample; expected: the cause, or None."""

    def __init__(self, name, dataset, expected, *, batch=16, workers=2, each=0.0, collate=None, forget=None, sizes=SIZES):
        self.name, self.dataset, self.expected, self.batch, self.workers, self.each = name, dataset, expected, batch, workers, each
        self.options, self.forget, self.sizes = {} if collate is None else {"collate_fn": collate}, forget, sizes

    def step(self, batch):
        """As of a device: the program sleeps while it computes."""
        while isinstance(batch, dict):
            batch = next(iter(batch.values()))
        time.sleep(self.each * len(batch))


def zoo(folder):
    scattered = Scattered(str(folder / "store"), 1 << 30)
    transforms = Compose([Normalize(), Warp(0.002)])
    cheap = Compose([Normalize()])
    return [
        Case("slow disk", scattered, Cause.SLOW_DISK_IO, workers=1, each=0.0003, forget=scattered.forget),
        Case("slow transform", Tensors(transform=transforms), Cause.SLOW_TRANSFORM, each=0.0003),
        Case("slow sample", Tensors(work=0.002), Cause.SLOW_SAMPLE, each=0.0003),
        Case("slow collate", Tensors(work=0.0001), Cause.SLOW_COLLATE, workers=1, each=0.0001, collate=item_by_item),
        Case("big samples", Large(1 << 19), Cause.INTER_PROCESS_TRANSFER, each=0.0001, collate=as_they_are),
        Case("too few workers", Tensors(work=0.001, transform=cheap), Cause.INSUFFICIENT_WORKERS, workers=0, each=0.0015),
        Case("too few, waiting", Tensors(wait=0.004), Cause.INSUFFICIENT_WORKERS, workers=1, each=0.001),
        Case("already fine", Tensors(work=0.0001, transform=cheap), None, each=0.003),
        Case("fine without workers", Tensors(), None, workers=0, each=0.003),
    ]


# ---- Asking --------------------------------------------------------------------------------


def first_cause(case):
    loader = DataLoader(case.dataset, batch_size=case.batch, num_workers=case.workers, shuffle=True, **case.options)
    if case.forget:
        case.forget()
    profile = DataLoadingProfiler().profile_data_loader(loader, 20, step=case.step)
    return profile, profile.bottlenecks[0] if profile.bottlenecks else None


def whole_search(case, config, probe):
    """Every configuration, by the limits of the search."""
    return _search.Search(_search.Maker(case.dataset, case.options), case.sizes, COUNTS, config, case.step, probe).go("all")


def ratio(case, config, ours, best, repeat):
    """(low, median, high) of the ratio of the rates, run in turn: the interval says what the machine lets one tell."""
    if ours == best:
        return 1.0, 1.0, 1.0
    pairs = []
    for _ in range(repeat):
        rates = []
        for place in (ours, best):
            search = _search.Search(_search.Maker(case.dataset, case.options), case.sizes, COUNTS, config, case.step)
            rates.append(search.tried[place].rate if search.measure(*place) else 0.0)
        if all(rates):
            pairs.append(rates[0] / rates[1])
    return _numbers.median_interval(pairs)


def compare(case, repeat):
    config = DataLoadingProfilerConfig(before_run=case.forget)
    profiler = DataLoadingProfiler(config)
    probe = profiler.probe_cost
    begin = time.perf_counter()
    chosen = profiler.find_optimal_configuration(case.dataset, case.sizes, COUNTS, step=case.step, **case.options)
    spent = time.perf_counter() - begin
    whole = whole_search(case, config, probe)
    ours, best = (chosen.batch_size, chosen.num_workers), whole.best()
    return {"ours": ours, "best": best, "runs": profiler._searched.runs, "ratio": ratio(case, config, ours, best, repeat),
            "seconds": spent, "whole": whole.spent, "times": spent / whole.spent}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="names of loaders, with commas")
    parser.add_argument("--no-search", action="store_true", help="causes only")
    parser.add_argument("--repeat", type=int, default=5, help="how often the two choices are run in turn")
    options = parser.parse_args()
    folder, failures = Path(tempfile.mkdtemp(prefix="loader-zoo-", dir="/var/tmp")), 0
    torch.set_num_threads(1)
    try:
        print("%-22s %-24s %-24s %-6s %-6s %-19s %s" % ("loader", "cause", "named", "chosen", "best", "ratio", "time"))
        for case in zoo(folder):
            if options.only and case.name not in options.only.split(","):
                continue
            profile, cause = first_cause(case)
            right = cause is case.expected
            line = "%-22s %-24s %-24s" % (case.name, case.expected.value if case.expected else "-", cause.value if cause else "-")
            if not options.no_search:
                found = compare(case, options.repeat)
                low, middle, high = found["ratio"]
                right = right and high >= 0.9 and found["times"] <= 1 / 3
                line += " %-6s %-6s %4.2f (%4.2f to %4.2f)  %4.2f, %d runs, %.1f of %.1f s" % (
                    "%dx%d" % found["ours"], "%dx%d" % found["best"], middle, low, high, found["times"], found["runs"], found["seconds"],
                    found["whole"])
                line += "" if middle >= 0.9 or high < 0.9 else "  (cannot tell)"
            failures += not right
            print("%s  others %.1f cores%s" % (line, profile.outside_cores or 0.0, "" if right else "  <-- missed"), flush=True)
    finally:
        shutil.rmtree(folder)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
