"""How long a batch takes with so many workers and samples, from what its parts took in few runs."""

from dataclasses import dataclass, replace
from typing import NamedTuple

from inferscope.data_loading._numbers import median

_SHARP = 8.0          # limits that are near each other add to the time; the larger this, the less
_TOGETHER = {"transfer": ("send", "receive"), "disk": ("disk", "disk_cpu")}
_PAGE = 4096
_PAGE_WAIT = 0.02     # seconds: no disk takes longer for a page that is read alone,
_PAGE_CPU = 50e-6     # and no system computes longer for it
_CACHED_SHARE = 0.2   # of what is read, above which it comes from the disk


class Cost(NamedTuple):
    """Seconds of a batch: some for itself, and some for each sample."""

    fixed: float = 0.0
    each: float = 0.0

    def of(self, size):
        return self.fixed + self.each * size

    def times(self, factor):
        return Cost(self.fixed * factor, self.each * factor)

    @classmethod
    def fit(cls, by_size):
        """Through the medians of the smallest and the largest batch; of one size all is for the samples."""
        sizes = sorted(size for size in by_size if size > 0 and by_size[size])
        if not sizes:
            return cls()
        small, large = sizes[0], sizes[-1]
        low, high = median(by_size[small]), median(by_size[large])
        if small == large:
            return cls(0.0, high / large)
        each = max(0.0, (high - low) / (large - small))
        fixed = max(0.0, min(low, high) - each * small)
        return cls(fixed, max(0.0, (high - fixed) / large))


def steady_rows(run):
    """The batches of workers, without the first of each."""
    rows = [row for row in run.rows if row.get("samples")]
    seen, later = set(), []
    for row in rows:
        if row["worker"] in seen:
            later.append(row)
        seen.add(row["worker"])
    return later or rows


def sent_rows(run):
    rows = [row for row in run.rows if "sent" in row]
    return rows[min(run.workers, len(rows) // 2):]


def from_disk(rows):
    """Whether what is read comes from the disk, by system calls or as pages of mapped files; of most batches, not of one that
    happened to need a page of a library."""
    chars, disk = sum(row["counters"][2] for row in rows), sum(row["counters"][3] for row in rows)
    return median([row["counters"][3] for row in rows]) > 0 and disk >= _CACHED_SHARE * chars


def waits(row, disk):
    """(for the disk, for something else): seconds of a batch.  A disk takes so long for a page, and the rest is something else."""
    waited = blocked(row)
    reading = min(waited, row["counters"][3] / _PAGE * _PAGE_WAIT) if disk else 0.0
    return reading, waited - reading


def reading_cpu(row, share):
    """Of what a batch computed, what the system did for reads from the disk; share: system_share()."""
    return min((row["counters"][0] - row["collate"][1]) / 1e9 * share, row["counters"][3] / _PAGE * _PAGE_CPU)


def system_share(rows):
    """Of what was computed, the part of the system: over all rows, because it is counted in ticks."""
    return min(1.0, sum(row["counters"][5] for row in rows) / max(sum(row["counters"][0] for row in rows), 1))


def blocked(row):
    """Seconds of a batch in which the worker neither computed nor waited for a processor."""
    return max(0.0, (row["end"] - row["begin"] - row["counters"][0] - row["counters"][1]) / 1e9)


@dataclass
class Model:
    """Seconds.  What a worker does: sample, disk, other, collate and send; the program: receive and step."""

    sample: Cost = Cost()
    disk: Cost = Cost()
    disk_cpu: Cost = Cost()      # what the system computes for reads from the disk
    other: Cost = Cost()
    collate: Cost = Cost()
    send: Cost = Cost()
    receive: Cost = Cost()
    step: Cost = Cost()
    step_cpu: Cost = Cost()      # of `step`: computed, by all threads of the program
    batch_bytes: float = 0.0     # for each sample
    inline: float = 0.9          # of the same work without workers: no shared memory, more threads

    PARTS = ("sample", "disk", "other", "collate", "transfer")

    @classmethod
    def of(cls, run, probe=(0.0, 0.0)):
        """From one run, of batches of one or two sizes."""
        rows, model = steady_rows(run), cls()
        disk = from_disk(rows) if rows else False
        share = system_share(rows) if disk else 0.0
        model.sample = cls._fit(rows, lambda row: (row["counters"][0] - row["collate"][1]) / 1e9 - probe[0] * len(row["samples"])
                                - reading_cpu(row, share))
        model.disk_cpu = cls._fit(rows, lambda row: reading_cpu(row, share))
        model.disk, model.other = (cls._fit(rows, lambda row, place=place: waits(row, disk)[place]) for place in range(2))
        model.collate = cls._fit(rows, lambda row: row["collate"][1] / 1e9)
        model._ipc(run, rows)
        model.step, model.step_cpu = cls._fit_steps(run, run.steps), cls._fit_steps(run, run.steps_cpu)
        largest = max((run.size(number) for number in range(run.count)), default=0)
        model.batch_bytes = run.batch_bytes / largest if largest else 0.0
        return model

    @staticmethod
    def _fit(rows, seconds):
        by_size = {}
        for row in rows:
            by_size.setdefault(len(row["samples"]), []).append(max(0.0, seconds(row)))
        return Cost.fit(by_size)

    @staticmethod
    def _fit_steps(run, steps):
        by_size = {}
        for number in range(run.warm, len(steps)):
            by_size.setdefault(run.size(number), []).append(steps[number] / 1e9)
        return Cost.fit(by_size)

    def _ipc(self, run, rows):
        """Batches go through the pipe in the order in which the worker made them."""
        sent, received = {}, {}
        for worker in range(run.workers):
            made = [row for row in run.rows if row.get("samples") and row["worker"] == worker]
            pickled = [row for row in run.rows if "sent" in row and row["worker"] == worker]
            for batch, row in list(zip(made, pickled))[1:]:
                sent.setdefault(len(batch["samples"]), []).append((row["sent"] + row["piped"]) / 1e9)
        for number in range(run.warm, len(run.receives)):
            received.setdefault(run.size(number), []).append(run.receives[number][0] / 1e9)
        self.send, self.receive = Cost.fit(sent), Cost.fit(received)

    # ---- What it says ----

    def worker_seconds(self, size):
        return sum(getattr(self, part).of(size) for part in ("sample", "disk", "disk_cpu", "other", "collate", "send"))

    def computed(self, size):
        """Processor seconds of a batch, in all processes."""
        return sum(getattr(self, part).of(size) for part in ("sample", "disk_cpu", "collate", "send", "receive", "step_cpu"))

    def part(self, name, size):
        return sum(getattr(self, one).of(size) for one in _TOGETHER.get(name, (name,)))

    def without(self, name, share=1.0):
        """The same if a part, or a share of it, cost nothing."""
        return replace(self, **{one: getattr(self, one).times(1.0 - share) for one in _TOGETHER.get(name, (name,))})

    def batch_seconds(self, workers, size, cores):
        """The time between two batches: whatever is slowest of the workers, the program and the processors."""
        if workers == 0:
            work = sum(getattr(self, part).of(size) for part in ("sample", "disk_cpu", "collate")) * self.inline
            return max(work + self.disk.of(size) + self.other.of(size) + self.step.of(size), 1e-7)
        limits = (self.worker_seconds(size) / workers, self.receive.of(size) + self.step.of(size), self.computed(size) / max(cores, 0.1))
        largest = max(max(limits), 1e-7)
        return largest * sum((limit / largest) ** _SHARP for limit in limits) ** (1.0 / _SHARP)

    def limit(self, workers, size, cores):
        """Which of these it is: "workers", "program" or "processors"; "loading" without workers."""
        if workers == 0:
            return "loading"
        limits = {"workers": self.worker_seconds(size) / workers, "program": self.receive.of(size) + self.step.of(size),
                  "processors": self.computed(size) / max(cores, 0.1)}
        return max(limits, key=limits.get)

    def useful_workers(self, size, cores, now=0):
        """How many bring all that workers can bring, but for a twentieth."""
        waits = self.disk.of(size) + self.other.of(size)
        most = int(min(32, max(cores, 1) * (4 if waits > 0.3 * self.worker_seconds(size) else 1)))
        counts = range(0, max(most, 1) + 1)
        times = {count: self.batch_seconds(count, size, cores) for count in counts}
        if now not in times:
            times[now] = self.batch_seconds(now, size, cores)
        best = min(times.values())
        return min(count for count in times if times[count] <= 1.05 * best)
