"""One function and one input, measured: times, what they are made of, and what the function does."""

import itertools
import math
import os
import sys
import threading
import time
import traceback

from inferscope._words import counted
from inferscope.preprocessing import _inputs, _python, _usage
from inferscope.preprocessing._stats import exponent, median, median_interval, quantile, warm_up
from inferscope.preprocessing._usage import MB, usage
from inferscope.preprocessing.profile import Interval, Scaling

SAMPLE = 200e-6              # seconds of a sample, at least: what the clock and the loop cost is then less than a hundredth
ACCOUNT, ACCOUNTED = 0.05, 0.3  # of a chunk, and of all, of which the kernel is asked what it used: it counts in ticks
OWN_CALLS = 3                # of the system, to read files, that are counted with a chunk
COPIES_MB = 64               # of inputs that are made beforehand
ROUNDS = 5                   # of each size
BUSY = 4                     # times as long as on a machine where nobody else does anything


class FunctionFailed(Exception):
    """The function raised something, which is the cause of this."""

    def describe(self):
        error = self.__cause__
        frames = traceback.extract_tb(error.__traceback__)
        at = " (%s, line %d)" % (os.path.basename(frames[-1].filename), frames[-1].lineno) if len(frames) > 1 else ""
        return "%s: %s%s" % (type(error).__name__, error, at)


class Study:
    """Calls `function` with copies of `sample`, which stays as it is."""

    def __init__(self, function, sample, config, profile, watch):
        self.function, self.config, self.profile, self.watch = function, config, profile, watch
        self.pid, self.gpu = os.getpid(), False
        self.sample = self._own(sample)
        self.result = None
        self.quickest, self.memory = math.inf, []
        self._budget, self._began, self._spent = math.inf, 0.0, 0.0
        profile.input_shape = _inputs.shape_of(sample)
        profile.elements, self.numeric = _inputs.elements(sample)
        profile.input_mb = _inputs.size_bytes(sample) / MB

    def _own(self, sample):
        try:
            return _inputs.copied(sample)
        except Exception as error:  # whatever a class of the user raises
            note = "the input cannot be copied (%s): the function has got the one that was given" % error
            if note not in self.profile.notes:
                self.profile.notes.append(note)
            return sample

    # ---- Calls ----

    def timed(self, function, arguments):
        """Seconds for all of them together, without those in which another had the processor that this thread was ready for; those
        that a clock on the wall shows are `wall`."""
        queued, cpu = _usage.queued_ns(), time.thread_time()
        self.watch.begin()
        try:
            begin = time.perf_counter()
            for argument in arguments:
                function(argument)
            if self.gpu:
                sys.modules["torch"].cuda.synchronize()
            seconds = time.perf_counter() - begin
        except Exception as error:
            raise FunctionFailed() from error
        finally:
            if os.getpid() != self.pid:
                os._exit(0)  # a child of the function, which has come back to where its parent goes on
            self.watch.end()
        self.wall = seconds
        cpu = time.thread_time() - cpu
        seconds = min(seconds, max(seconds - (_usage.queued_ns() - queued) / 1e9, cpu))
        self._spent += seconds
        return seconds

    def once(self, function, argument):
        """What it returns."""
        results = []
        self.timed(lambda value: results.append(function(value)), [argument])
        return results[0]

    def fresh(self, value):
        """To be given to a function that changes what it is given."""
        return _inputs.copied(value) if self.profile.mutates_input else value

    def arguments(self, count, value=None):
        value = self.sample if value is None else value
        if not self.profile.mutates_input:
            return itertools.repeat(value, count)
        return [_inputs.copied(value) for _ in range(count)]

    def repeats(self, seconds, least=SAMPLE, value=None):
        """How many calls of so many seconds make a sample that is long enough."""
        count = max(1, min(math.ceil(least / max(seconds, 1e-8)), 1_000_000))
        if self.profile.mutates_input:
            count = min(count, max(1, int(COPIES_MB * MB / max(_inputs.size_bytes(self.sample if value is None else value), 1))))
        return count

    def allow(self, seconds):
        """So much for what comes now; on a busy machine some times more, by the clock on the wall."""
        self._budget, self._began, self._spent = seconds, time.monotonic(), 0.0

    def left(self):
        return min(self._budget - self._spent, BUSY * self._budget - (time.monotonic() - self._began))

    def spend(self, seconds):
        self._spent += seconds

    # ---- Times ----

    def measure(self, iterations):
        profile, children = self.profile, _usage.children()
        self._first_calls()
        count = profile.calls_per_sample = self._calls_per_sample()
        walls = []
        try:
            while not self._enough(profile.samples, iterations):
                profile.samples.append(self.timed(self.function, self.arguments(count)) / count)
                walls.append(self.wall / count)
                self._look_at_memory(count)
        finally:
            self._summarise(walls)
        self._account()
        self._growth()
        left = _usage.children() - children
        if left:
            profile.notes.append("it has left %s behind: %s" % (counted(len(left), "process", "processes"), ", ".join(map(str, sorted(left)[:8]))))

    def _first_calls(self):
        """Twice: whether it changes its input, and gives the same result for the same."""
        profile, outcomes = self.profile, []
        for number in range(2):
            value, results = self._own(self.sample), []
            seconds = self.timed(lambda given, results=results: results.append(self.function(given)), [value])
            if number == 0:
                profile.first_call_time = profile.execution_time = seconds
                self.gpu = _inputs.on_gpu(value) or _inputs.on_gpu(results[0])
                self._describe(results[0])
            profile.mutates_input |= _inputs.identical(value, self.sample) is False
            outcomes.append((results[0], value))
            self.second = seconds
        profile.deterministic = _inputs.identical(*outcomes)
        self.result = results[0]

    def _describe(self, result):
        profile = self.profile
        profile.output_shape, profile.output_mb = _inputs.shape_of(result), _inputs.size_bytes(result) / MB
        profile.memory_usage_mb = _usage.rss_mb()
        if self.gpu and self.config.enable_gpu_tracking:
            profile.gpu_memory_usage_mb = sys.modules["torch"].cuda.memory_allocated() / MB

    def _calls_per_sample(self):
        count = self.repeats(self.second)
        while count > 1:
            seconds = self.timed(self.function, self.arguments(count))
            if seconds >= SAMPLE / 2 or self.repeats(seconds / count) <= count:
                break
            count = self.repeats(seconds / count)
        return count

    @staticmethod
    def _enough(samples, iterations):
        if len(samples) < iterations:
            return False
        return len(samples) - warm_up(samples) >= iterations or len(samples) >= 2 * iterations + 5

    def _summarise(self, walls):
        profile = self.profile
        if not profile.samples:
            return
        profile.warm_up = warm_up(profile.samples)
        steady = profile.samples[profile.warm_up:]
        profile.execution_time, profile.wall_time = median(steady), median(walls[profile.warm_up:])
        profile.interval = Interval(*median_interval(steady))
        self.quickest = min(steady)
        profile.throughput = 1 / max(profile.execution_time, 1e-12)
        profile.samples_per_second = profile.throughput * profile.batch_size
        if quantile(steady, 0.75) > 1.5 * quantile(steady, 0.25):
            profile.notes.append("times vary much (%.2g to %.2g s): others use the processor, or it does not always do the same" %
                                 (min(steady), max(steady)))

    def _look_at_memory(self, calls):
        """After so many more of them."""
        now = _usage.rss_mb()
        self.memory.append(((self.memory[-1][0] if self.memory else 0) + calls, now))
        self.profile.memory_usage_mb = max(self.profile.memory_usage_mb, now)

    def _growth(self):
        """What stays, when it grows nearly each time that it is looked at; in the second half, when what was free has been used."""
        later = self.memory[-max(6, len(self.memory) // 2):]
        steps = [after[1] - before[1] for before, after in zip(later, later[1:])]
        if len(steps) >= 3 and sum(step > 0 for step in steps) >= 0.8 * len(steps) and sum(steps) >= 1:
            self.profile.memory_growth_mb = sum(steps) / (later[-1][0] - later[0][0])

    # ---- What they are made of ----

    def _account(self):
        profile, total, calls = self.profile, None, 0
        count = self.repeats(profile.execution_time, ACCOUNT)
        enough = min(ACCOUNTED, self.config.explore_seconds / 4) if self.config.explore else 0.0
        while total is None or total.wall < enough:
            given = self.arguments(count)
            before = usage()
            self.timed(self.function, given)
            used = usage(end=True).since(before)
            total = used if total is None else type(used)(*map(sum, zip(total, used)))
            calls += count
            self._look_at_memory(count)
        self.idle_cores = total.idle / total.wall
        blocked = max(total.wall - total.cpu - total.queue, 0.0)
        ticked = max(total.user + total.system, 1e-9)
        system = total.cpu * total.system / ticked
        self.mine = max(total.wall - total.queue, 1e-9) / total.wall
        self.disturbed = self.mine < 0.7 and total.other_cpu > 0.2 * total.cpu
        if self.mine < 0.7:
            profile.notes.append("others used the processors: %.0f %% of the time it was ready and did not run%s" % (
                100 * (1 - self.mine), "; its own threads waited for each other, so how much it computes cannot be told"
                if self.disturbed else ""))
        profile.parts = {name: value / total.wall for name, value in (
            ("user", total.cpu - system), ("system", system), ("queue", total.queue), ("blocked", blocked),
            ("other_threads", total.other_cpu), ("children", total.children))}
        profile.cpu_usage_percent = 100 * (total.cpu + total.other_cpu) / total.wall
        profile.page_faults = (total.minor_faults + total.major_faults) / calls
        profile.memory_touched_mb = profile.page_faults * _usage.PAGE / MB
        profile.bytes_read, profile.io_calls = total.read / calls, max((total.calls - OWN_CALLS * calls / count) / calls, 0.0)
        self.bytes_written, self.from_disk = total.written / calls, total.from_disk / calls

    def interpreter(self):
        """How much of it is Python, and how long it keeps others from it."""
        profile = self.profile
        most = max(_python.INSTRUCTIONS_LEAST, min(4 * profile.elements, _python.INSTRUCTIONS_MOST))
        counted = self._instructions(self.sample, most)
        if counted is None:
            profile.notes.append("Python instructions were not counted: another tracer has the place")
        else:
            profile.python_instructions, profile.hot_place = counted.count, counted.where
            profile.instructions_per_element = counted.count / max(profile.elements, 1)
        if self.left() > 0.3 + 2 * profile.execution_time:
            run = self.repeats(profile.execution_time, 20e-3)
            profile.gil_share = _python.gil_share(lambda: self.timed(self.function, self.arguments(run)), 0.2)

    def _instructions(self, value, most):
        counted = []
        self.timed(lambda given: counted.append(_python.instructions(self.function, given, most)), [self.fresh(value)])
        return counted[0]

    def grows_with_input(self):
        """Whether half of the input takes clearly fewer instructions; None when that cannot be told."""
        axis = _inputs.axis_of(self.sample)
        if axis is None or not self.profile.python_instructions:
            return None
        half = _inputs.part(self.sample, 0, _inputs.length_of(self.sample, axis) // 2, axis)
        try:
            counted = self._instructions(half, self.profile.python_instructions)
        except FunctionFailed:
            return None
        return counted is not None and counted.count <= 0.75 * self.profile.python_instructions

    # ---- Scaling ----

    def _sizes(self):
        """[(elements, input, calls)] of parts of the sample, those that are long enough to tell, and as many as there is time for."""
        axis = _inputs.axis_of(self.sample)
        length = 0 if axis is None else _inputs.length_of(self.sample, axis)
        found = []
        for rows in sorted({length // 16, length // 8, length // 4, length // 2, length} - {0}):
            value = self.sample if rows == length else _inputs.part(self.sample, 0, rows, axis)
            seconds = min(self.timed(self.function, self.arguments(1, value)) for _ in range(2))
            if 2 * ROUNDS * seconds > self.left() / 2:
                break
            if seconds >= 20e-6 or rows == length:
                found.append((_inputs.elements(value)[0], value, self.repeats(seconds, SAMPLE, value)))
        return found

    def scale(self):
        """Times of parts of the sample; sizes in turn, so that a busy moment is nobody's."""
        times = {}
        try:
            sizes = self._sizes()
            if len(sizes) < 3:
                return
            for _ in range(ROUNDS):
                for size, value, count in sizes:
                    times.setdefault(size, []).append(self.timed(self.function, self.arguments(count, value)) / count)
        except FunctionFailed as failed:
            self.profile.notes.append("smaller inputs it does not take: %s" % failed.describe())
            return
        self.times = times
        self.quickest = min(self.quickest, *times[max(times)]) if max(times) == self.profile.elements else self.quickest
        fit = exponent(times)
        if fit is not None:
            self.profile.scaling = Scaling(*fit, {size: median(row) for size, row in times.items()})

    times = None             # of scale()
    wall = 0.0
    mine = 1.0               # share of the wall's time that the queue for a processor is not
    idle_cores = 0.0
    disturbed = False        # its own threads spin while one of them has no processor


# ---- More than one thread ----------------------------------------------------------------------


class Stuck(Exception):
    """Threads that have not come back."""


def in_threads(function, lists, seconds):
    """Each list of arguments in a thread of its own; (seconds, the first result of each, error).  Raises Stuck after the time given."""
    results, errors, stop = [[] for _ in lists], [], threading.Event()
    gate, pid = threading.Barrier(len(lists) + 1), os.getpid()

    def work(mine, given):
        try:
            gate.wait()
            for argument in given:
                if stop.is_set():
                    return
                result = function(argument)
                if os.getpid() != pid:
                    os._exit(0)  # as in timed()
                if not mine:
                    mine.append(result)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=pair, name="inferscope-trial", daemon=True) for pair in zip(results, lists)]
    try:
        for thread in threads:
            thread.start()
        gate.wait()
        begin = time.perf_counter()
        for thread in threads:
            thread.join(max(seconds - (time.perf_counter() - begin), 0.0))
        taken = time.perf_counter() - begin
    finally:
        stop.set()
        gate.abort()
        for thread in threads:
            if thread.ident is not None:
                thread.join(1.0)
    if any(thread.is_alive() for thread in threads):
        raise Stuck()
    return taken, results, errors[0] if errors else None
