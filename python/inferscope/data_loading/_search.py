"""The best configuration from few runs: one tells what the parts cost, a model the rest, and the best of that are run."""

import math
import sys
import time

from inferscope._words import counted
from inferscope.data_loading import _judge, _loader, _run
from inferscope.data_loading._model import Cost, Model
from inferscope.data_loading._numbers import rate_interval
from inferscope.data_loading.profile import DataLoadingProfile, Interval

_BATCHES_MOST = 1_000_000
_FEW = 3                 # so many configurations are all run
_CONFIRMED = 2           # so many are run, whatever the time
_SAME = 0.03             # what is no further from the best is as good, and fewer workers are better
_ALIKE = 0.06            # what is no further from it may be as good: reckoned, or with intervals that overlap
_CLOSE = 0.1             # what is no further from the best, or has intervals that overlap, is run again, if there is time
_AGAIN = 3               # so many times at most
_SPREAD = 1.3            # of what is reckoned
_AT_ONCE = 0.6           # a first run takes this share of the time of others


class Maker:
    """Settings of a loader for each configuration, of a dataset that is walked through from run to run."""

    def __init__(self, dataset, options):
        self.dataset, self.options = dataset, options
        self.iterable = _loader.is_iterable(dataset)
        self.walk = None if self.iterable else _loader.Walk(max(1, len(dataset)))

    def settings(self, size, workers, sizes=None):
        """(settings, log); sizes: batches of these, in turn."""
        settings = {"dataset": self.dataset, "num_workers": workers, "pin_memory": _run.has_cuda(), **self.options}
        if workers == 0:
            settings = _loader.with_workers(settings, 0)
        if self.iterable:
            _loader.own_iterator(settings)
            return dict(settings, batch_size=size), None
        log = _loader.Drawn(self.walk, [min(one, self.walk.count) for one in sizes or (size,)])
        return dict(settings, batch_sampler=log), log

    def probe_sizes(self, sizes):
        """Two sizes that are apart, so that what a batch costs and what a sample costs can be told apart."""
        small = min(sizes)
        return (small,) if self.iterable or min(max(sizes), 4 * small) == small else (small, min(max(sizes), 4 * small))


class SameLoader:
    """The same for a loader that there is: only the workers change, and the samplers, copies, go on from run to run."""

    def __init__(self, loader):
        self.given = _loader.settings_of(loader)
        self.dataset, self.iterable = loader.dataset, _loader.is_iterable(loader.dataset)
        self.notes, self.kind, self._endless = [], None, None
        if self.iterable:
            return
        settings, log, self.notes = _loader.apart(self.given, rounds=_BATCHES_MOST)
        self._settings, self._endless = settings, iter(log)
        self.kind = "sampler" if settings.get("batch_size", 1) is None else "batch_sampler"

    def settings(self, size, workers, sizes=None):
        del size, sizes
        if self.iterable:
            settings = _loader.with_workers(self.given, workers, self.given.get("prefetch_factor"))
            _loader.own_iterator(settings)
            return settings, None
        log = _loader.Logged(self._endless)
        settings = dict(self._settings, **{self.kind: log})
        return _loader.with_workers(settings, workers, self.given.get("prefetch_factor")), log

    def probe_sizes(self, sizes):
        return tuple(sizes)


class Progress:
    """Says how far a search is: to whoever wants to know, else on a terminal."""

    def __init__(self, config):
        self._call, self._line = config.progress, None
        if self._call is None and sys.stderr is not None and sys.stderr.isatty():
            self._call = self._print

    def _print(self, done, most, text):
        self._line = "\r%d of at most %d runs: %s\033[K" % (done, most, text)
        sys.stderr.write(self._line)
        sys.stderr.flush()

    def say(self, done, most, text):
        if self._call is not None:
            self._call(done, most, text)

    def end(self):
        if self._line is not None:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()


class Tried:
    """A configuration that was run, once or more."""

    def __init__(self, profile, run):
        self.profile, self.blocks = profile, run.blocks()

    def add(self, run):
        self.blocks = self.blocks + run.blocks()
        rates = rate_interval([(samples, seconds) for _, samples, seconds in self.blocks])
        self.profile.throughput_samples_per_second = rates[1]
        self.profile.throughput = Interval(*rate_interval([(batches, seconds) for batches, _, seconds in self.blocks]))
        self.profile.throughput_batches_per_second = self.profile.throughput.mid
        self.profile.avg_batch_time = 1.0 / self.profile.throughput.mid if self.profile.throughput.mid else None

    @property
    def rate(self):
        return self.profile.throughput_samples_per_second

    def interval(self):
        return Interval(*rate_interval([(samples, seconds) for _, samples, seconds in self.blocks]))


class Search:
    """Over batch sizes and worker counts; `tried` and `interrupted` tell how far it came."""

    def __init__(self, maker, sizes, counts, config, step=None, probe=(0.0, 0.0)):
        self.maker, self.config, self.step, self.probe = maker, config, step, probe
        self.sizes, self.counts = list(sizes), list(counts)
        self.grid = [(size, workers) for size in self.sizes for workers in self.counts]
        self.tried, self.failed, self.model = {}, {}, None
        self.interrupted, self.hung, self.runs, self.spent = False, False, 0, 0.0
        self.cores = _loader.cores()
        self.outside = 0.0
        self._begun = time.perf_counter()
        self._progress = Progress(config)
        self._startup = 0.05

    # ---- One run ----

    def _limits(self, share=1.0):
        return _run.Limits(_BATCHES_MOST, self.config.batch_timeout, self.config.run_seconds * share)

    def run(self, size, workers, text, share=1.0, sizes=None):
        """(the run, its settings), whatever came of it."""
        self._progress.say(self.runs, len(self.grid), text)
        if self.config.before_run is not None:
            self.config.before_run()
        settings, log = self.maker.settings(size, workers, sizes)
        run = _run.measure(settings, self._limits(share), self.step, log)
        self.runs += 1
        self.spent = time.perf_counter() - self._begun
        self.interrupted, self.hung = self.interrupted or run.interrupted, self.hung or run.hung
        return run, settings

    def measure(self, size, workers):
        """Runs a configuration, perhaps again; False when nothing came of it."""
        run, settings = self.run(size, workers, "batches of %s, %s" % (size, counted(workers, "worker")))
        if not run.blocks() or (run.error and run.count < 2):
            self.failed[size, workers] = run.error or ("interrupted" if run.interrupted else "there are too few batches")
            return False
        if (size, workers) in self.tried:
            self.tried[size, workers].add(run)
            return True
        profile = _judge.profile_of(run, settings, self.probe, size)
        model = Model.of(run, self.probe)
        if self.model is None and workers:
            self.model = _with_fixed(Model.of(run, self.probe), size)
        if workers == 0:
            model.inline = 1.0
            if self.model is not None:
                model.send, model.receive = self.model.send, self.model.receive
        _judge.Judgement(profile, model, self.config).judge()
        self.tried[size, workers] = Tried(profile, run)
        return True

    # ---- What is not run ----

    def _raw(self, size, workers):
        actual = min(size, self.maker.walk.count) if getattr(self.maker, "walk", None) else size
        cores = max(self.cores - 0.5 * self.outside, 0.5)
        return actual / self.model.batch_seconds(workers, actual, cores)

    def reckon(self, size, workers):
        """Samples a second: of the model, put right by what was measured of as many workers, or else of all."""
        raw = self._raw(size, workers)
        same, other = [], []
        for (tried_size, tried_workers), tried in self.tried.items():
            ratio = math.log(max(tried.rate, 1e-9) / max(self._raw(tried_size, tried_workers), 1e-9))
            (same if tried_workers == workers else other).append((abs(math.log(tried_size / size)), ratio))
        if same:
            return raw * math.exp(min(same)[1])
        if other:
            return raw * math.exp(0.5 * sum(ratio for _, ratio in other) / len(other))
        return raw

    def _does_not_fit(self, size, workers):
        """Why a configuration had better not be run; None when it may."""
        need = self.model.batch_bytes * size * max(2 * workers, 1)
        for have, what in ((_judge.memory_available(), "memory"), (_judge.shared_memory_free() if workers else 0, "shared memory")):
            if have and need > self.config.memory_share * have:
                return "it would hold %d MB of batches, of %d MB of %s" % (need / _judge.MB, have / _judge.MB, what)
        return None

    def _seconds(self, size, workers, rate=None):
        """How long a run takes, start and end included."""
        batch = size / max(self.reckon(size, workers) if rate is None else rate, 1e-9)
        block, wanted = max(1, workers) * batch, self.config.run_seconds
        measured = min(max(wanted, min(4 * block, max(2 * wanted, 2 * block))), max(5 * wanted, block))
        return self._startup * (1.0 + 0.25 * workers) + measured + (3.0 * block if workers else block)

    # ---- The search ----

    def go(self, explore="fast"):
        """explore: "all" configurations are run, or "fast": so few that the best of all is most likely among them."""
        try:
            if explore == "all" or len(self.grid) <= _FEW:
                self._everything()
            elif self._learn():
                self._confirm()
        except KeyboardInterrupt:  # between runs
            self.interrupted = True
        finally:
            self._progress.end()
            self.spent = time.perf_counter() - self._begun
        return self

    def _everything(self):
        """Those with workers first, which tell what it costs to pass batches, for those without.  A dataset that hangs would do so again,
        for as long each time."""
        for size, workers in sorted(self.grid, key=lambda one: one[1] == 0):
            if self.interrupted or self.hung:
                return
            if self.model is None or self._does_not_fit(size, workers) is None:
                self.measure(size, workers)

    def _learn(self):
        """One worker, and batches of two sizes: what each part costs."""
        sizes = self.maker.probe_sizes(self.sizes)
        run, _ = self.run(min(self.sizes), 1, "what the parts cost", _AT_ONCE, sizes)
        if run.interrupted:
            return False
        if run.count < 2 or not [row for row in run.rows if row.get("samples")]:
            return self._learn_inside(run)
        self.model, self.outside, self._startup = Model.of(run, self.probe), run.outside or 0.0, max(run.startup or 0.0, 0.01)
        if len(sizes) == 1 and len(self.sizes) > 1:
            self.model = _with_fixed(self.model, sizes[0])
        return True

    def _learn_inside(self, run):
        """Workers do not work here, or nothing does."""
        self.failed[min(self.sizes), 1] = run.error or "there are too few batches"
        if run.hung or 0 not in self.counts:
            return False
        for size in self.sizes:
            if self.interrupted or not self.measure(size, 0):
                break
        return False

    def _budget(self):
        """Half by what was measured, which others on the machine may have slowed, and half by the model alone."""
        whole = sum(0.5 * self._seconds(*one) + 0.5 * self._seconds(*one, rate=self._raw(*one)) for one in self.grid)
        return min(self.config.search_seconds, self.config.search_share * whole)

    def _time_for(self, candidate):
        if len(self.tried) < _CONFIRMED:
            return True
        return time.perf_counter() - self._begun + self._seconds(*candidate) <= self._budget()

    def _confirm(self):
        while not self.interrupted:
            candidate = self._next()
            if candidate is None or not self._time_for(candidate):
                break
            self.measure(*candidate)
        self._settle()

    def _open(self):
        """Those that may still be run, by what they promise."""
        return {one: self.reckon(*one) for one in self.grid
                if one not in self.tried and one not in self.failed and self._does_not_fit(*one) is None}

    def _cheapest(self, promises, least=0.0):
        """Of those that promise as much as any, the one whose run is the shortest."""
        most = max(promises.values(), default=0.0)
        found = [one for one, promise in promises.items() if promise >= max(least, (1.0 - _ALIKE) * most)]
        return min(found, key=lambda one: self._seconds(*one), default=None)

    def _next(self):
        """The most promising; then as near the best with more and with fewer workers; then with other batch sizes."""
        promises = self._open()
        if not promises or not self.tried:
            return self._cheapest(promises)
        best = max(self.tried, key=lambda one: self.tried[one].rate)
        rate = self.tried[best].rate
        better = self._cheapest(promises, rate * (1.0 + _SAME))
        if better is not None:
            return better
        if not self._waits(best):
            return None
        ordered, known = sorted(self.counts), {workers for _, workers in self.tried}
        place = ordered.index(best[1])
        for near in (place + 1, place - 1):
            if 0 <= near < len(ordered) and ordered[near] not in known:
                found = self._cheapest({one: promise for one, promise in promises.items() if one[1] == ordered[near]}, 0.5 * rate)
                if found is not None:
                    return found
        return self._other_size(promises, best)

    def _other_size(self, promises, best):
        """Memory and caches may favour small or large batches by more than the model knows: both ends, as far as there is time."""
        for size in (min(self.sizes), max(self.sizes)):
            if (size, best[1]) in promises:
                return size, best[1]
        return None

    def _waits(self, place):
        """Whether its loop waits for batches: if not, no number of workers makes it faster."""
        share = self.tried[place].profile.wait_share
        return share is None or share >= self.config.wait_share

    def _settle(self):
        """What is close to the best is run again, while there is time."""
        for _ in range(_AGAIN):
            if self.interrupted or not self.tried:
                return
            best = max(self.tried.values(), key=lambda tried: tried.rate)
            low = best.interval().low
            close = [one for one, tried in self.tried.items() if tried.rate >= (1.0 - _CLOSE) * best.rate or tried.interval().high >= low]
            one = min(close, key=lambda place: len(self.tried[place].blocks))
            rounds = sum(block[2] for block in self.tried[one].blocks)
            if len(close) < 2 or rounds > 3 * self.config.run_seconds or not self._time_for(one):
                return
            if not self.measure(*one):
                return

    # ---- Answers ----

    def best(self):
        """The fastest that was run; of those that are as fast, or cannot be told from it, the fastest with the fewest workers: these
        cost memory and processors, batches of another size hardly do."""
        if not self.tried:
            return None
        fastest = max(tried.rate for tried in self.tried.values())
        alike = [one for one, tried in self.tried.items() if tried.rate >= (1.0 - _SAME) * fastest
                 or (tried.rate >= (1.0 - _ALIKE) * fastest and tried.interval().high >= fastest)]
        return min(alike, key=lambda one: (one[1], -self.tried[one].rate))

    def profiles(self):
        """All configurations that were asked for, in their order; those that were not run are reckoned."""
        return [self._profile(*one) for one in self.grid]

    def _profile(self, size, workers):
        if (size, workers) in self.tried:
            return self.tried[size, workers].profile
        profile = DataLoadingProfile(batch_size=size, num_workers=workers, measured=False, persistent_workers=workers > 0,
                                     prefetch_factor=2 if workers else None, pin_memory=_run.has_cuda())
        if (size, workers) in self.failed:
            profile.error = self.failed[size, workers]
            return profile
        if self.model is None:
            profile.notes.append("It was not run%s." % (", since batches hung before" if self.hung else ""))
            return profile
        rate = self.reckon(size, workers)
        profile.throughput_samples_per_second, profile.throughput_batches_per_second = rate, rate / size
        profile.throughput = Interval(rate / size / _SPREAD, rate / size, rate / size * _SPREAD)
        profile.avg_batch_time = size / rate
        reason = self._does_not_fit(size, workers)
        profile.notes.append("Not run%s; reckoned from those that were." % (": " + reason if reason else ""))
        return profile

    def reason(self):
        """Why the best is the best, in words."""
        size, workers = self.best()
        tried = self.tried[size, workers]
        text = "%s and batches of %s load %.0f samples/s" % (counted(workers, "worker"), size, tried.rate)
        others = sorted(((other.rate, place) for place, other in self.tried.items() if place[1] != workers), reverse=True)[:2]
        text += "".join("; %s (batches of %s) %.0f" % (counted(place[1], "worker"), place[0], rate) for rate, place in others)
        if self.model is not None:
            limit = self.model.limit(workers, size or 1, self.cores)
            text += {"workers": "; the workers bound it", "program": "; the program itself bounds it, which takes batches one after another",
                     "processors": "; the processors bound it, %.0f of them" % self.cores,
                     "loading": "; passing batches between processes would cost more than it brings"}[limit]
        return text + "." + (" The search was interrupted." if self.interrupted else "")


def _with_fixed(model, size):
    """Of one size only, half of what a batch costs on its way is taken to be the same for every batch."""
    def halved(cost):
        return Cost(0.5 * cost.of(size), 0.5 * cost.each)
    model.send, model.receive = halved(model.send), halved(model.receive)
    return model
