"""Other ways to do the same, tried: results are compared first, then both ways are timed in turn."""

import math
import pickle
import time

from inferscope._words import counted
from inferscope.preprocessing import _inputs, _usage
from inferscope.preprocessing._stats import gain_interval
from inferscope.preprocessing._study import FunctionFailed, Stuck, in_threads
from inferscope.preprocessing._usage import MB
from inferscope.preprocessing.cache import ContentCache
from inferscope.preprocessing.profile import Suggestion, duration

PAIRS, PAIRS_LEAST = 9, 5
TURN = 2e-3                  # seconds of one side of a pair, at least
BATCH, BATCH_MB = 16, 64
CHUNK_MB = 1.0               # what stays in a cache, and in the hands of the allocator
CHUNKED_MB = 4               # an input that is worth cutting
THREADS_LEAST = 0.5e-3       # a call that is worth handing to another thread
HARM = 0.1                   # what may be lost by advice that is no more than reckoned


def compare(study, before, after, seconds):
    """Pairs of seconds of two functions without arguments, in turn and each first now and then; None when there is no time."""
    def turn(function, count):
        return study.timed(lambda _: function(), range(count)) / count

    first = turn(before, 1), turn(after, 1)
    counts = [max(1, math.ceil(TURN / max(one, 1e-7))) for one in first]
    counts = [min(count, 10_000) for count in counts]
    pair = sum(count * one for count, one in zip(counts, first))
    rounds = min(PAIRS, int(min(seconds, study.left()) / max(pair, 1e-6)))
    if rounds < PAIRS_LEAST:
        return None
    pairs = []
    for number in range(rounds):
        if number % 2:
            new = turn(after, counts[1])
            pairs.append((turn(before, counts[0]), new))
        else:
            old = turn(before, counts[0])
            pairs.append((old, turn(after, counts[1])))
    return pairs


def _percent(low, mid, high):
    return "%.0f %% of the time (%.0f to %.0f)" % (100 * mid, 100 * low, 100 * high)


def _measured(kind, text, pairs, parameter=None):
    low, mid, high = gain_interval(pairs)
    return Suggestion("%s: saves %s, measured" % (text, _percent(low, mid, high)), kind, low, mid, high, True, parameter)


# ---- A cache -----------------------------------------------------------------------------------


def cache(study):
    """Of results, by content; for inputs that come again."""
    profile = study.profile
    if not profile.deterministic or profile.mutates_input or profile.input_mb > 4 * BATCH_MB:
        return None
    kept = ContentCache(1, 4 * BATCH_MB)
    wrapped = kept.wrap(study.function)
    study.once(wrapped, study.sample)
    if not len(kept):
        return None
    pairs = compare(study, lambda: study.function(study.sample), lambda: wrapped(study.sample), study.config.explore_seconds / 4)
    if pairs is None:
        return None
    outside = profile.io_calls >= 2 or profile.parts["blocked"] >= study.config.blocked_threshold
    text = "keep results by the content of the input (profiler.cached(function))%s: each input that comes again" % (
        ", as long as what it reads elsewhere stays the same" if outside else "")
    return _measured("cache", text, pairs)


# ---- More at a time, and less ------------------------------------------------------------------


def batch(study):
    """A stack of inputs in one call, where that gives what single calls give."""
    profile = study.profile
    count = min(BATCH, int(BATCH_MB / max(profile.input_mb + profile.output_mb, 1e-9)))
    if count < 4 or profile.mutates_input or not profile.deterministic or 6 * count * profile.execution_time > study.left():
        return None
    try:
        items = [_inputs.varied(study.sample, number) for number in range(count)]
        together = _inputs.stacked(items)
        if together is None or _inputs.identical(items[0], items[-1]) is not False:
            return None  # of items that are all the same nobody sees whether one has an influence on another
        single = [study.once(study.function, item) for item in items]
        results = _inputs.unstacked(study.once(study.function, together), count)
        if results is None or not all(map(_inputs.same, results, single)):
            return None
        pairs = compare(study, lambda: [study.function(item) for item in items], lambda: study.function(together),
                        study.config.explore_seconds / 4)
    except FunctionFailed:
        return None
    return pairs and _measured("batch", "call it once for a batch of %d, with the same results" % count, pairs, count)


def _pieces(study, rows):
    """A function that does a whole input a piece at a time, into a result that it makes; None where results are not so."""
    result, length = study.result, _inputs.shape_of(study.sample)[0]
    if not (_inputs.is_array(result) or _inputs.is_tensor(result)) or _inputs.shape_of(result)[:1] != (length,):
        return None
    empty = result.new_empty if _inputs.is_tensor(result) else lambda shape: type(result)(shape, result.dtype)

    def in_pieces(value):
        whole = empty(_inputs.shape_of(result))
        for begin in range(0, length, rows):
            whole[begin:begin + rows] = study.function(value[begin:begin + rows])
        return whole
    return in_pieces


def _same_in_pieces(study, in_pieces, rows):
    """Tried with an input whose pieces differ: of equal ones nobody sees whether they have an influence on each other."""
    other = _inputs.varied(study.sample, 3)
    if _inputs.identical(other[:rows], other[-rows:]) is not False:
        return False
    return _inputs.same(study.once(in_pieces, other), study.once(study.function, other))


def chunks(study):
    """A large input a piece at a time, where that gives the same."""
    profile, sample = study.profile, study.sample
    if profile.input_mb < CHUNKED_MB or profile.mutates_input or not profile.deterministic:
        return None
    if not (_inputs.is_array(sample) or _inputs.is_tensor(sample)) or _inputs.shape_of(sample)[0] < 4:
        return None
    length = _inputs.shape_of(sample)[0]
    rows = max(1, int(length * CHUNK_MB / max(profile.input_mb, profile.output_mb)))
    in_pieces = _pieces(study, rows)
    if in_pieces is None or rows * 2 > length or 12 * profile.execution_time > study.left():
        return None
    try:
        if not _same_in_pieces(study, in_pieces, rows):
            return None
        pairs = compare(study, lambda: study.function(sample), lambda: in_pieces(sample), study.config.explore_seconds / 4)
    except FunctionFailed:
        return None
    text = "give it %d rows at a time, about %.2g MB, with the same results: memory stays in the caches" % (
        rows, rows * profile.input_mb / length)
    return pairs and _measured("chunks", text, pairs, rows)


# ---- Threads -----------------------------------------------------------------------------------


def threads(study):
    """Independent inputs in as many threads as there are processors; in more, for one that mostly waits."""
    profile, config = study.profile, study.config
    if not config.try_threads or profile.execution_time < THREADS_LEAST:
        return None
    waits = profile.parts.get("blocked", 0) >= config.blocked_threshold
    count = 4 if waits else max(2, min(int(_usage.cores()), 8))
    each = max(1, math.ceil(4e-3 / profile.execution_time))
    if (2 * PAIRS_LEAST + 2) * count * each * profile.execution_time > study.left():
        profile.notes.append("threads were not tried: a call takes %s" % duration(profile.execution_time))
        return None
    try:
        pairs = _thread_pairs(study, count, each)
    except Stuck:
        profile.notes.append("in threads it did not come back: %s of it left" % counted(count, "thread is", "threads are"))
        return None
    if pairs is None:
        return None
    return _measured("threads", "give independent inputs to %d threads" % count, pairs, count)


def _thread_pairs(study, count, each):
    given = [[study.fresh(study.sample) for _ in range(each)] for _ in range(count)]
    everything = [argument for some in given for argument in some]
    limit = 10 + 20 * len(everything) * study.profile.execution_time
    pair = 1.7 * len(everything) * study.profile.execution_time
    rounds = min(PAIRS, int(min(study.config.explore_seconds / 3, study.left()) / pair))
    pairs, idle = [], []
    for number in range(max(rounds, PAIRS_LEAST)):
        if study.profile.mutates_input:
            given = [[_inputs.copied(study.sample) for _ in some] for some in given]
            everything = [_inputs.copied(study.sample) for _ in everything]
        before = _usage.usage()
        study.timed(study.function, everything)
        old = study.wall
        used = _usage.usage(end=True).since(before)
        idle.append(used.idle / used.wall)
        taken, results, error = in_threads(study.function, given, limit)
        study.spend(taken / 2)
        if error is not None:
            study.profile.notes.append("in threads it raises %s: %s" % (type(error).__name__, error))
            return None
        if number == 0 and study.profile.deterministic and not all(_inputs.same(row[0], study.result) for row in results):
            study.profile.notes.append("in threads it gives other results")
            return None
        pairs.append((old, taken))
    if sum(idle) / len(idle) < 0.5:
        study.profile.notes.append("threads were tried while others used the processors: with free ones they may gain more")
    return pairs


def _moving(study):
    """Seconds that it takes to hand input and result to another process, both sides of it; 0 for what cannot be handed over: then
    workers that have the data themselves are meant."""
    times = []
    try:
        for _ in range(3):
            begin = time.perf_counter()
            pickle.loads(pickle.dumps((study.sample, study.result), 5))
            times.append(time.perf_counter() - begin)
    except Exception:
        return 0.0
    return min(times)


def processes(study):
    """An estimate, since nothing is forked in somebody else's program; None where there is nothing to gain, or to tell."""
    profile, allowed = study.profile, _usage.cores()
    move = _moving(study) / profile.execution_time
    free = min(allowed, 1 + max(study.idle_cores, 0.0))

    def gain(workers, moving):
        """This process has its half of the moving to do by itself, and on the same processors."""
        return 1 - max((1 + moving) / workers, moving / 2)

    high, mid = gain(allowed, 0.0) + 0.05, gain(free, move)
    low = min(0.25 * mid, gain(max(1.0, 0.75 * free), 2 * move) - 0.05)  # whoever else comes takes what was free
    if mid < study.config.gain_threshold or low < -HARM:
        why = "no processor is free" if free < 1.25 else "moving its data takes %.0f %% of the time" % (100 * move)
        profile.notes.append("threads would wait for each other; what processes would gain cannot be told here: %s" % why)
        return None
    text = "threads would wait for each other: use processes, %d workers of a DataLoader for example" % int(allowed)
    words = "%s: saves about %s, estimated" % (text, _percent(low, mid, high))
    return Suggestion(words, "processes", low, mid, high, False, int(allowed))
