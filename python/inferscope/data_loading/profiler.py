"""DataLoadingProfiler: where the time of a loader goes, which configuration is best, and a loader that has it."""

import logging
import os

from inferscope._words import counted
from inferscope.data_loading import _judge, _loader, _probe, _run, _search
from inferscope.data_loading._model import Model
from inferscope.data_loading._numbers import rate_interval
from inferscope.data_loading.profile import (DataLoadingBottleneck, DataLoadingProfile, DataLoadingProfilerConfig, Interval,
                                             OptimalConfiguration, Optimization, shown)

_LOOK_BATCHES = 3        # of a look at the dataset in a worker
_PAIRS = 3               # so often the old and the new loader take turns
_LEAST_GAIN = 0.05
_SURE_GAIN = 0.02


class DataLoadingProfiler:
    """Measures loaders of torch.

    profiler = DataLoadingProfiler()
    profile = profiler.profile_data_loader(loader, num_batches=50, step=train_step)
    print(profile.summary())

    The loader that is measured is a second one, of the same dataset and settings; the user's is left alone, and random numbers
    go on as if nothing had been.  `profiles` has all profiles that were made, `optimization` what the last optimize() did.
    """

    def __init__(self, config=None):
        self.config = DataLoadingProfilerConfig() if config is None else config
        self.logger = logging.getLogger("inferscope.data_loading")
        self.profiles = []
        self.optimization = None
        self.interrupted = False
        self._searched = None
        self._compared_only = set()  # ids of profiles of searches, which are there for the table
        self._probe_cost = None

    @property
    def probe_cost(self):
        """Seconds that measuring takes, for each sample and for each batch."""
        if self._probe_cost is None:
            self._probe_cost = _probe.cost()
        return self._probe_cost

    # ---- One loader ----

    def profile_data_loader(self, data_loader, num_batches=None, step=None):
        """The profile of a loader.

        num_batches: how many count, after the first two of each worker
        step: what the loop does with a batch, called with it; tells whether the loop waits for its input, and the headspace

        A dataset that raises, or takes longer than config.batch_timeout, ends it: `error` says why, and the figures are of
        what came before.  So does Ctrl-C, if there are any; `interrupted` is then True.
        """
        wanted = self.config.num_batches if num_batches is None else int(num_batches)
        if wanted < 1:
            raise ValueError("num_batches is %r, and has to be 1 or more" % (num_batches,))
        limits = _run.Limits(wanted, self.config.batch_timeout)
        if not _loader.is_loader(data_loader):
            return self._keep(self._from_outside(data_loader, limits, step))
        profile = self._profile(data_loader, limits, step)
        return self._keep(profile)

    def _keep(self, profile):
        self.profiles.append(profile)
        if profile.interrupted:
            self.interrupted = True
            if profile.num_batches < 2:
                raise KeyboardInterrupt
        if profile.error:
            self.logger.warning("The loader stopped after %s: %s", counted(profile.num_batches, "batch", "batches"), profile.error)
        return profile

    def _from_outside(self, loader, limits, step):
        run = _run.measure_outside(loader, limits, step)
        profile = _judge.profile_of(run, {"num_workers": 0}, (0.0, 0.0), getattr(loader, "batch_size", None))
        profile.notes.append("This is not a DataLoader of torch: only the time of its batches is known.")
        return profile

    def _profile(self, loader, limits, step):
        settings, log, notes = _loader.apart(_loader.settings_of(loader))
        size = _loader.size_of_batches(loader)
        look = self._look(loader, limits) if loader.num_workers == 0 and self.config.try_workers else None
        if look is not None and look.hung:
            profile = _judge.profile_of(look, settings, self.probe_cost, size)
            profile.num_workers = 0
            return profile
        run = self._measured(settings, limits, step, log)
        run.notes += notes + self._remarks(loader, run, limits, settings)
        profile = _judge.profile_of(run, settings, self.probe_cost, size)
        model = Model.of(run, self.probe_cost)
        if loader.num_workers == 0:
            model.inline = 1.0
            self._add_look(profile, model, look)
        self._add_devices(profile, run, settings)
        if step is not None and not run.interrupted and not run.error:
            profile.headspace = _judge.headspace(run, step)
        _judge.Judgement(profile, model, self.config).judge()
        if self.config.use_fixed_thresholds:
            self._add_fixed(profile, loader)
        return profile

    def _measured(self, settings, limits, step, log):
        return _run.measure(settings, limits, step, log, keep=(self.config.replay_batches, self.config.replay_mb * _judge.MB))

    def _look(self, loader, limits):
        """A few batches in a worker: the transforms, what passing batches costs, and whether the dataset hangs, none of which can be
        had in the program without changing what is the user's."""
        settings, log, _ = _loader.apart(_loader.with_workers(_loader.settings_of(loader), 1))
        run = _run.measure(settings, _run.Limits(_LOOK_BATCHES, limits.timeout), None, log)
        if run.interrupted:
            raise KeyboardInterrupt
        return run

    def _add_look(self, profile, model, look):
        if look is None:
            return
        if look.error and not profile.error:
            profile.notes.append("In a worker the dataset does not work: " + look.error)
            return
        seen = Model.of(look, self.probe_cost)
        model.send, model.receive = seen.send, seen.receive
        parts = _judge.parts_of(look, self.probe_cost)
        scale = _judge.mid(profile.parts.sample) / parts.sample.mid if _judge.mid(parts.sample) else 0.0
        profile.parts.transforms = {name: scale * seconds for name, seconds in parts.transforms.items()}

    def _add_devices(self, profile, run, settings):
        try:
            pins, moves = _judge.copies(run, settings)
        except Exception as error:  # no room on the device, most likely; it is the user's to find
            profile.notes.append("Batches could not be copied to the device: %s" % error)
            return
        if moves:
            profile.parts.pin, profile.parts.device_copy = _judge.interval_of(pins), _judge.interval_of(moves)

    def _remarks(self, loader, run, limits, settings):
        notes = []
        if type(loader) is not _loader.torch_data().DataLoader:
            notes.append("The loader is a %s; it was measured as the DataLoader of torch that it is made from." % type(loader).__name__)
        if run.exhausted and run.count < limits.batches + run.block:
            notes.append("There %s only %s." % ("was" if run.count == 1 else "were", counted(run.count, "batch", "batches")))
        seen = [digest for digest in run.digests if digest is not None]
        if _loader.is_iterable(loader.dataset) and loader.num_workers > 1 and len(seen) > len(set(seen)):
            notes.append("Workers bring the same batches: the iterable dataset does not divide its data among them (get_worker_info).")
        if getattr(loader, "worker_method", None) == "thread":
            notes.append("Its workers are threads: what they do inside is not known.")
        return notes

    # ---- Fixed numbers ----

    def _add_fixed(self, profile, loader):
        for one in self._detect_bottlenecks(profile.avg_batch_time, profile.memory_usage_mb, profile.gpu_memory_usage_mb,
                                            profile.cpu_usage_percent, loader, profile.throughput_batches_per_second):
            if one not in profile.bottlenecks:
                profile.bottlenecks.append(one)

    def _detect_bottlenecks(self, avg_batch_time, avg_memory, avg_gpu_memory, avg_cpu, data_loader, throughput):
        """By the fixed numbers of the configuration, whatever was measured of the parts."""
        del avg_cpu
        config, found = self.config, []
        if _over(avg_batch_time, config.slow_batch_seconds):
            found.append(DataLoadingBottleneck.SLOW_DISK_IO)
        if data_loader.num_workers == 0 and throughput is not None and throughput < config.min_batches_per_second:
            found.append(DataLoadingBottleneck.INSUFFICIENT_WORKERS)
        if _over(avg_memory, config.memory_limit_mb):
            found.append(DataLoadingBottleneck.MEMORY_PRESSURE)
        if _run.has_cuda() and _over(avg_gpu_memory, config.gpu_memory_limit_mb):
            found.append(DataLoadingBottleneck.GPU_TRANSFER_OVERHEAD)
        return found

    def _calculate_profile_score(self, profile):
        """A figure of merit by fixed weights; get_optimal_configuration() goes by samples a second instead.

        One that was not run has the least there is: what it uses is not known, and is not to count as nothing.
        """
        if not profile.measured or profile.throughput_batches_per_second is None:
            return float("-inf")
        return (10.0 * profile.throughput_batches_per_second - (profile.memory_usage_mb or 0.0) / 100
                - (profile.gpu_memory_usage_mb or 0.0) / 100 - (profile.cpu_usage_percent or 0.0) / 10 - 5.0 * len(profile.bottlenecks) + (2.0 if profile.num_workers > 0 else 0.0)
                + (1.0 if profile.pin_memory else 0.0))

    # ---- Many configurations ----

    def profile_configuration_range(self, dataset, batch_sizes=None, worker_counts=None, *, explore="all", step=None, **loader_options):
        """A profile for each batch size and number of workers, all of them measured.

        explore: "fast" does not run all of them: one run tells what the parts cost, and the most promising configurations are run
        for certainty; of the others the throughput is reckoned, everything else is None, and `measured` is False
        loader_options: for the loaders, such as collate_fn.  Ctrl-C ends the search, and what it has found is returned;
        `interrupted` is then True.
        """
        if explore not in ("all", "fast"):
            raise ValueError("explore is \"all\" or \"fast\", not %r" % (explore,))
        self._searched = self._search(_search.Maker(dataset, self._options(loader_options)), self._list("batch_sizes", batch_sizes, 1),
                                      self._list("worker_counts", worker_counts, 0), step, explore)
        profiles = self._searched.profiles()
        self.profiles += profiles
        self._compared_only.update(map(id, profiles))
        return profiles

    def _options(self, options):
        taken = {"dataset", "batch_size", "num_workers", "batch_sampler", "sampler", "shuffle", "drop_last"} & set(options)
        if taken:
            raise TypeError("%s is not for a search, which sets it" % ", ".join(sorted(taken)))
        return options

    def _list(self, name, values, least):
        values = (self.config.batch_size_range if least else self.config.worker_range) if values is None else values
        values = list(dict.fromkeys(values))
        if not values or any(isinstance(one, bool) or not isinstance(one, int) or one < least for one in values):
            raise ValueError("%s is a list of whole numbers from %d, not %r" % (name, least, values))
        return values

    def _search(self, maker, sizes, counts, step, explore="fast"):
        search = _search.Search(maker, sizes, counts, self.config, step, self.probe_cost).go(explore)
        self.interrupted = search.interrupted
        if search.interrupted:
            self.logger.warning("The search was interrupted after %d runs.", search.runs)
        for (size, workers), error in search.failed.items():
            self.logger.warning("Failed to profile batch_size=%s, workers=%d: %s", size, workers, error)
        return search

    def find_optimal_configuration(self, dataset, batch_sizes=None, worker_counts=None, *, explore="fast", step=None, **loader_options):
        """Searches as profile_configuration_range() does, in few runs; the best configuration, with its reason."""
        self.profile_configuration_range(dataset, batch_sizes, worker_counts, explore=explore, step=step, **loader_options)
        return self.get_optimal_configuration()

    def get_optimal_configuration(self, profiles=None):
        """The configuration with the most samples a second of those that were run in the last search, or of these profiles; of those
        that are as fast, the one with the fewest workers.  None when none was run."""
        search = self._searched
        if profiles is None and search is not None:
            place = search.best()
            if place is None:
                return None
            tried = search.tried[place]
            return self._optimal(tried.profile, tried.interval(), search.reason())
        run = [one for one in (self.profiles if profiles is None else profiles) if one.measured and one.throughput_samples_per_second]
        if not run:
            return None
        most = max(one.throughput_samples_per_second for one in run)
        best = min((one for one in run if one.throughput_samples_per_second >= 0.97 * most), key=lambda one: one.num_workers)
        rate = best.throughput_samples_per_second
        spread = best.throughput if best.throughput is not None and best.throughput.mid else Interval(1.0, 1.0, 1.0)
        return self._optimal(best, Interval(*(rate * side / spread.mid for side in spread)),
                             "It loads %.0f samples/s, the most of %d configurations." % (rate, len(run)))

    def _optimal(self, profile, rate, reason):
        return OptimalConfiguration(profile.batch_size, profile.num_workers, profile.prefetch_factor, profile.pin_memory,
                                    profile.num_workers > 0, rate, reason, profile)

    # ---- A better loader ----

    def optimize(self, data_loader, step=None, worker_counts=None):
        """A loader that is faster, or the same one when that cannot be had for certain.

        It has the same dataset, samplers, batch size, collate function and generator; only the number of workers, and what
        goes with it, is another.  `optimization` then says what was changed, why, and the measured gain.  The workers draw
        other random numbers than before, as they do whenever their number changes.
        """
        reason = self._no_reason_to_try(data_loader)
        if reason is None:
            counts = self._counts_for(data_loader) if worker_counts is None else self._list("worker_counts", worker_counts, 0)
            self.optimization = self._optimized(data_loader, step, counts)
        else:
            self.optimization = Optimization(data_loader, {}, Interval(0.0, 0.0, 0.0), reason, None, None)
        self.logger.info("%s", self.optimization.reason)
        return self.optimization.loader

    def _no_reason_to_try(self, loader):
        if not _loader.is_loader(loader) or type(loader) is not _loader.torch_data().DataLoader:
            return "A %s is not made anew: it may be more than the DataLoader of torch." % type(loader).__name__
        if _loader.is_iterable(loader.dataset) and not _loader.shards_itself(loader.dataset, _loader.settings_of(loader)):
            return "The iterable dataset does not ask in which worker it is: another number of workers would repeat its data."
        return None

    def _counts_for(self, loader):
        cores = int(max(1, _loader.cores()))
        counts = {0, 1, 2, cores, 2 * cores, min(4 * cores, 32), loader.num_workers}
        return sorted(counts)

    def _optimized(self, loader, step, counts):
        size = _loader.size_of_batches(loader) or 1
        search = self._search(_search.SameLoader(loader), [size], sorted(set(counts) | {loader.num_workers}), step)
        before, best = (size, loader.num_workers), search.best()
        if best is None:
            return self._unchanged(loader, search, before, next(iter(search.failed.values()), "it could not be measured"))
        if search.interrupted:
            return self._unchanged(loader, search, before, "the search was interrupted")
        if best == before:
            return self._unchanged(loader, search, before, "%s %s as good as any" % (counted(loader.num_workers, "worker"), "is" if loader.num_workers == 1 else "are"))
        gain = self._compared(search, before, best)
        if gain is None:
            return self._unchanged(loader, search, before, "what %s would bring could not be measured" % counted(best[1], "worker"))
        change = "%s instead of %d: %+.0f %% batches a second (%+.0f to %+.0f), measured" % (
            counted(best[1], "worker"), before[1], 100 * gain.mid, 100 * gain.low, 100 * gain.high)
        if gain.low < _SURE_GAIN or gain.mid < _LEAST_GAIN:
            return self._unchanged(loader, search, before, change, gain)
        with _run.quiet():
            made = _loader.torch_data().DataLoader(**_loader.with_workers(_loader.settings_of(loader), best[1]))
        return Optimization(made, {"num_workers": (before[1], best[1])}, gain, change + ".", search.tried[before].profile,
                            search.tried[best].profile)

    def _unchanged(self, loader, search, before, reason, gain=Interval(0.0, 0.0, 0.0)):
        tried = search.tried.get(before)
        profile = tried.profile if tried is not None else None
        return Optimization(loader, {}, gain, "Nothing was changed: %s." % reason, profile, profile)

    def _compared(self, search, before, best):
        """Old and new in turn, so that whatever else happens happens to both; None when one of them fails."""
        blocks = {before: [], best: []}
        for _ in range(_PAIRS):
            for place in (before, best):
                run, settings = search.run(*place, "batches of %s, %s, once more" % (place[0], counted(place[1], "worker")))
                if run.interrupted or not run.blocks():
                    return None
                blocks[place].append(rate_interval([(count, seconds) for count, _, seconds in run.blocks()])[1])
                if place not in search.tried:
                    search.tried[place] = _search.Tried(_judge.profile_of(run, settings, self.probe_cost, place[0]), run)
        ratios = sorted(new / old - 1.0 for old in blocks[before] for new in blocks[best])
        pairs = sorted(new / old - 1.0 for old, new in zip(blocks[before], blocks[best]))
        return Interval(min(pairs[0], ratios[len(ratios) // 10]), pairs[len(pairs) // 2], max(pairs[-1], ratios[-1 - len(ratios) // 10]))

    # ---- A report ----

    def generate_optimization_report(self, output_path=None):
        """What all profiles say, as Markdown; also written to output_path, a file or a folder, when it is given.

        Of a search the suggestions are those about the best configuration; the others are not going to be used.
        """
        lines = ["# Data loading", "", "| batch size | workers | samples/s | batch ms | memory MB | CPU % | bottleneck | |",
                 "| ---: | ---: | ---: | ---: | ---: | ---: | --- | --- |"]
        for one in self.profiles:
            batch_ms = None if one.avg_batch_time is None else 1e3 * one.avg_batch_time
            lines.append("| %s | %d | %s | %s | %s | %s | %s | %s |" % (
                one.batch_size, one.num_workers, shown("%.0f", one.throughput_samples_per_second), shown("%.2f", batch_ms),
                shown("%.0f", one.memory_usage_mb), shown("%.0f", one.cpu_usage_percent),
                ", ".join(kind.value for kind in one.bottlenecks) or "-", one.error or _standing(one)))
        best = self.get_optimal_configuration()
        if best is not None:
            lines += ["", "Best: %s, batches of %s. %s" % (counted(best.num_workers, "worker"), best.batch_size, best.reason)]
        told = [one for one in self.profiles if id(one) not in self._compared_only or best is not None and one is best.profile]
        said = dict.fromkeys(text for one in told for text in one.suggestions)
        lines += ["", "## Suggestions", ""] + ["- " + text for text in said] if said else []
        text = "\n".join(lines) + "\n"
        if output_path is not None:
            path = os.fspath(output_path)
            path = os.path.join(path, "data_loading.md") if os.path.isdir(path) else path
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        return text


def _over(value, limit):
    """What is not known is not over it."""
    return value is not None and value > limit


def _standing(profile):
    """What a row of the report says of how its figures came about."""
    if profile.measured:
        return ""
    return "not run" if profile.throughput_samples_per_second is None else "reckoned"


__all__ = ["DataLoadingProfile", "DataLoadingProfiler"]
