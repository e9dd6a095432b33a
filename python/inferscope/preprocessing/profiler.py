"""PreprocessingProfiler: why a preprocessing function takes as long as it does, and what would make it quicker.

    profiler = PreprocessingProfiler()
    profile = profiler.profile_preprocessing_function(normalise, image)
    profile.execution_time, profile.bottlenecks, profile.suggestions

The function is called in the thread that asks, with copies of the input, and more often than `num_iterations`: to find out
where its time goes and what alternatives gain (PreprocessingProfilerConfig.explore).
"""

import contextlib
import datetime
import logging

from inferscope.preprocessing import _decide, _inputs, _steps, _trials
from inferscope.preprocessing._stats import exponent, median
from inferscope.preprocessing._study import FunctionFailed, Study
from inferscope.preprocessing._usage import MB, RandomStates, available_mb
from inferscope.preprocessing._watch import CallTimeout, Watchdog
from inferscope.preprocessing.cache import ContentCache
from inferscope.preprocessing.profile import (
    PreprocessingBottleneck, PreprocessingProfile, PreprocessingProfilerConfig, Scaling, duration)

BATCH_ITERATIONS = 5
BATCH_COPIES = 4             # of a batch that there may be at once, results included


class PreprocessingProfiler:
    """Profiles functions; `profiles` has all that it has made, also those that were not finished, and `failures` those of batch
    sizes that could not be measured at all."""

    def __init__(self, config=None):
        self.config = config or PreprocessingProfilerConfig()
        self.profiles, self.failures = [], []
        self.preprocessing_cache = ContentCache(self.config.cache_size, self.config.cache_mb)
        self.logger = logging.getLogger("inferscope")

    # ---- Profiling ----

    def profile_preprocessing_function(self, preprocessing_func, sample_data, num_iterations=10, operation_name=None):
        """Profiles preprocessing_func(sample_data), timed `num_iterations` times after the warm-up.

        A function that raises, or takes longer than config.call_timeout, gives a profile with `error`, and with what was
        measured until then.  Ctrl-C goes on to the caller; what was measured is the last of `profiles`.
        """
        return self._profile(preprocessing_func, sample_data, num_iterations, operation_name, 1)

    def profile_batch_preprocessing(self, preprocessing_func, sample_data, batch_sizes=None):
        """A profile for each batch size, in order, of batches made of the sample; sizes that the function cannot do are left out.

        All have `scaling`, how time grows with the number of elements.
        """
        sizes = list(batch_sizes or self.config.batch_size_range)
        if any(isinstance(size, bool) or not isinstance(size, int) or size < 1 for size in sizes):
            raise ValueError("batch sizes are whole numbers, 1 and more")
        function = _steps.as_function(preprocessing_func)
        make = self._layout(function, sample_data)
        profiles = []
        for size in sizes:
            name = "%s_batch_%d" % (_named(preprocessing_func, function), size)
            needed = BATCH_COPIES * size * _inputs.size_bytes(sample_data) / MB
            if needed > available_mb():
                profile = PreprocessingProfile(name, batch_size=size, complete=False, error="it would take %.0f MB" % needed)
            else:
                profile = self._profile(preprocessing_func, make(size), BATCH_ITERATIONS, name, size)
            if profile.samples:
                profiles.append(profile)
            else:
                self.profiles = [one for one in self.profiles if one is not profile]
                self.failures.append(profile)
                self.logger.warning("Failed to profile batch_size=%d: %s", size, profile.error)
        self._scale_batches(profiles)
        return profiles

    def cached(self, preprocessing_func):
        """The function with the cache of this profiler, keyed by content; for one that only computes."""
        return self.preprocessing_cache.wrap(_steps.as_function(preprocessing_func))

    def _profile(self, given, sample, iterations, name, batch_size):
        if isinstance(iterations, bool) or not isinstance(iterations, int) or iterations < 1:
            raise ValueError("num_iterations is a whole number, 1 and more")
        function = _steps.as_function(given)
        profile = PreprocessingProfile(operation_name=name or _named(given, function), batch_size=batch_size)
        self.profiles.append(profile)
        with RandomStates(), Watchdog(self.config.call_timeout, profile.operation_name) as watch, self._reported(profile):
            study = Study(function, sample, self.config, profile, watch)
            study.measure(iterations)
            if self.config.enable_caching:
                self._time_cache(study)
            if self.config.explore:
                self._explore(study, batch_size)
        return profile

    @contextlib.contextmanager
    def _reported(self, profile):
        """What ends a profile early is said in it."""
        profile.complete = False
        try:
            yield
            profile.complete = True
        except FunctionFailed as failed:
            profile.error = failed.describe()
        except CallTimeout:
            profile.error = "a call took longer than %.3g s, and was ended" % self.config.call_timeout
        except KeyboardInterrupt:
            profile.error = "interrupted"
            self.logger.warning("%s: interrupted; what was measured is in profiles", profile.operation_name)
            raise
        if profile.error:
            self.logger.warning("%s: %s", profile.operation_name, profile.error)

    def _explore(self, study, batch_size):
        """Single ones; of batches the sizes themselves tell how they scale."""
        study.allow(self.config.explore_seconds / (1 if batch_size == 1 else 4))
        study.interpreter()
        _steps.measure_steps(study)
        if batch_size == 1:
            study.scale()
        tried = {}
        for trial in (_trials.cache, _trials.batch, _trials.chunks, _trials.threads)[0 if batch_size == 1 else 2:]:
            suggestion = trial(study)
            if suggestion is not None:
                tried[suggestion.kind] = suggestion
        self._conclude(study, tried)

    def _conclude(self, study, tried):
        profile, least = study.profile, self.config.gain_threshold
        profile.evidence = _decide.bottlenecks(study, tried)
        profile.bottlenecks = list(profile.evidence)
        worth = {kind: one for kind, one in tried.items() if one.low > 0 and one.gain >= least}
        if PreprocessingBottleneck.CACHEABLE not in profile.evidence:
            worth.pop("cache", None)
        made = [*worth.values(), *_decide.estimates(study, profile.evidence, worth)]
        profile.suggestions = sorted(made, key=lambda one: -one.gain)
        profile.optimization_potential = max([0.0, *(min(one.gain, 1.0) for one in made)])

    def _time_cache(self, study):
        """Calls as a program with the cache makes them: the first computes, unless the content was there before."""
        profile, cache = study.profile, self.preprocessing_cache
        if profile.mutates_input or profile.deterministic is False:
            profile.notes.append("not cached: it changes its input, or gives another result for the same")
            return
        wrapped, hits, misses, times = cache.wrap(study.function), cache.hits, cache.misses, []
        try:
            for _ in range(len(profile.samples)):
                found = cache.hits
                seconds = study.timed(wrapped, [study.sample])
                if cache.hits > found:
                    times.append(seconds)
        except FunctionFailed as failed:
            if not isinstance(failed.__cause__, _inputs.NoKey):
                raise
            profile.notes.append("not cached: %s" % failed.__cause__)
        profile.cache_hits, profile.cache_misses = cache.hits - hits, cache.misses - misses
        profile.cached_time = median(times) if times else None

    # ---- Batches ----

    def _layout(self, function, sample):
        """How a batch of a sample is made."""
        layout = self.config.batch_layout
        if layout == "auto":
            layout = "stack" if self._takes(function, _inputs.piled(sample, 2)) else "repeat"
        if layout == "stack" and _inputs.piled(sample, 1) is not None:
            return lambda size: _inputs.piled(sample, size)
        return lambda size: _inputs.repeated(sample, size)

    def _takes(self, function, batch):
        if batch is None:
            return False
        with RandomStates(), Watchdog(self.config.call_timeout, _steps.name_of(function)) as watch:
            try:
                Study(function, batch, self.config, PreprocessingProfile(), watch).once(function, _inputs.copied(batch))
            except (FunctionFailed, CallTimeout):
                return False
        return True

    def _scale_batches(self, profiles):
        times = {}
        for profile in profiles:
            times.setdefault(profile.elements, []).extend(profile.samples[profile.warm_up:])
        fit = exponent(times)
        if fit is None:
            return
        scaling = Scaling(*fit, {size: median(row) for size, row in times.items()})
        steep = fit[1] > self.config.exponent_threshold and _decide.steep(times)
        for profile in profiles:
            profile.scaling = scaling
            if steep:
                self._add_inefficient(profile)

    @staticmethod
    def _add_inefficient(profile):
        bottleneck = PreprocessingBottleneck.INEFFICIENT_ALGORITHM
        profile.bottlenecks.insert(0, bottleneck)
        profile.evidence = {bottleneck: _decide.steepness(profile.scaling), **profile.evidence}
        profile.suggestions.append(_decide.algorithm(profile.scaling))
        profile.suggestions.sort(key=lambda one: -one.gain)
        profile.optimization_potential = max(profile.optimization_potential, min(profile.suggestions[0].gain, 1.0))

    def get_optimal_batch_size(self, profiles=None):
        """The smallest size whose items per second cannot be told from the most; None without profiles.

        profiles: as profile_batch_preprocessing() has made them; without, all of this profiler.
        """
        measured = [one for one in (self.profiles if profiles is None else profiles) if one.samples]
        if not measured:
            return None
        best = max(measured, key=lambda one: one.samples_per_second)
        slowest = best.batch_size / best.interval.high
        return min(one.batch_size for one in measured if one.batch_size / one.interval.low >= slowest)

    # ---- What was found ----

    def get_preprocessing_summary(self):
        """All profiles in one dictionary, for JSON."""
        slowest = sorted((one for one in self.profiles if one.samples), key=lambda one: -one.execution_time)
        counts = {}
        for profile in self.profiles:
            for bottleneck in profile.bottlenecks:
                counts[bottleneck.value] = counts.get(bottleneck.value, 0) + 1
        return {
            "operations": len(self.profiles),
            "slowest": slowest[0].operation_name if slowest else None,
            "bottlenecks": counts,
            "cache": {"hits": self.preprocessing_cache.hits, "misses": self.preprocessing_cache.misses,
                      "entries": len(self.preprocessing_cache), "bytes": self.preprocessing_cache.bytes},
            "profiles": [one.to_dict() for one in self.profiles],
        }

    def generate_optimization_report(self, path=None):
        """All profiles as Markdown; also written to `path`, when one is given."""
        now = datetime.datetime.now().strftime("%Y-%m-%d %H:%M:%S")
        lines = ["# Preprocessing report", "", "Generated: %s" % now, ""]
        for profile in self.profiles:
            lines += [*_section(profile), ""]
        text = "\n".join(lines)
        if path is not None:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        return text


def _named(given, function):
    """A list has the names of its parts, a pipeline its own."""
    return _steps.name_of(function if isinstance(given, (list, tuple)) else given)


def _section(profile):
    lines = ["## %s" % profile.operation_name, ""]
    if profile.error:
        lines.append("- **Not finished**: %s" % profile.error)
    if profile.samples:
        lines += ["- Time of a call: %s (%s to %s), median of %d" % (
                      duration(profile.execution_time), *map(duration, profile.interval), len(profile.samples) - profile.warm_up),
                  "- First call: %s; warm-up left out: %d" % (duration(profile.first_call_time), profile.warm_up)]
    if profile.parts:
        lines.append("- Where it goes: " + ", ".join("%s %.0f %%" % (name.replace("_", " "), 100 * share)
                                                      for name, share in profile.parts.items() if share >= 0.005))
    if profile.scaling:
        lines.append("- Grows with the number of elements to the power of %.2f (%.2f to %.2f)" % profile.scaling[:3])
    if profile.complete and not profile.bottlenecks:
        lines.append("- Nothing stands out")
    for bottleneck in profile.bottlenecks:
        lines.append("- **%s**: %s" % (bottleneck.name, profile.evidence[bottleneck]))
    lines += ["- Suggestion: %s" % one for one in profile.suggestions]
    lines += ["- Note: %s" % one for one in profile.notes]
    if profile.steps:
        lines += ["", "| step | time | share |", "| --- | --- | --- |"]
        lines += ["| %s | %s | %.0f %% |" % (one.name, duration(one.time), 100 * one.share) for one in profile.steps]
    return lines
