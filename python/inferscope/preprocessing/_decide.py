"""What a function suffers from, from what was measured of it, and what can be done about that."""

from inferscope.preprocessing import _inputs, _trials, _usage
from inferscope.preprocessing._python import has_gil
from inferscope.preprocessing._stats import local_exponents
from inferscope.preprocessing._usage import MB
from inferscope.preprocessing.profile import PreprocessingBottleneck as Bottleneck, Suggestion, duration

INSTRUCTIONS = 2000          # fewer are no loop over data
STEEP = 1.2                  # between two sizes
HEAVY = 50                   # times as long as to copy input and output
LONG = 1e-3                  # seconds of a call that are worth a cache or a processor of its own
GIL_LONG = 0.2e-3
IO_BYTES, IO_CALLS = 64 * 1024, 20
TOUCHED_MB, HUGE_MB = 1.0, 4.0
STREAMED_MB, STREAMED = 8.0, 0.1  # of the speed of a copy: what computes more for each byte is slower
KEPT = 0.9                   # what a cache has to save
OVERHEAD = 0.4               # what a batch has to, for calls to be what it is bound by; less is worth a suggestion


def _copies(study):
    """How many times input and output could have been copied instead."""
    profile = study.profile
    moved = max((profile.input_mb + profile.output_mb) * MB, 64.0)
    return study.quickest * _usage.copy_bandwidth() / moved


def steep(times):
    """Whether it grows faster than the input all along, but for one step at most: a cache or an allocator makes one."""
    steps = local_exponents(times)
    return sum(step > STEEP for step in steps) >= len(steps) - (len(steps) > 2)


def steepness(scaling):
    return "its time grows with the number of elements to the power of %.2f (%.2f to %.2f)" % scaling[:3]


def _inefficient(study):
    scaling = study.profile.scaling
    if scaling is None or scaling.low <= study.config.exponent_threshold or _copies(study) < 10 or not steep(study.times):
        return None
    return steepness(scaling)


def _not_vectorised(study):
    profile = study.profile
    count = profile.python_instructions
    if not study.numeric or count is None or count < INSTRUCTIONS:
        return None
    if profile.instructions_per_element < study.config.instructions_threshold or study.grows_with_input() is False:
        return None
    return "%.3g Python instructions for each of %d numbers, most of them in %s" % (
        profile.instructions_per_element, profile.elements, profile.hot_place)


def _own(study, name):
    """A part, as a share of the time in which the function did not wait for a processor: other programs are not its fault."""
    return min(study.profile.parts[name] / study.mine, 1.0)


def _waiting(study):
    """Both kinds: (files, others)."""
    profile, limit, children = study.profile, study.config.blocked_threshold, _own(study, "children")
    moved = profile.bytes_read + study.bytes_written
    blocked, system = _own(study, "blocked"), _own(study, "system")
    files = moved >= IO_BYTES or profile.io_calls >= IO_CALLS or study.from_disk > 0
    if files and (blocked >= limit or system >= limit):
        return "%.0f %% of the time in the system and %.0f %% waiting, %.3g MB and %.3g calls for files" % (
            100 * system, 100 * blocked, moved / MB, profile.io_calls), None
    if blocked >= limit and _own(study, "other_threads") < 0.5 * blocked:
        told = ", %.0f %% used by processes that it started" % (100 * children) if children > 0.1 else ""
        return None, "%.0f %% of the time it waits%s" % (100 * blocked, told)
    return None, None


def _memory(study):
    profile, system = study.profile, _own(study, "system")
    # A huge page is one fault: then there are few of them, and what comes out is the least that was new.
    touched = max(profile.memory_touched_mb, profile.output_mb if profile.page_faults >= 1 and profile.output_mb >= HUGE_MB else 0.0)
    if system >= study.config.system_threshold and touched >= TOUCHED_MB:
        return "%.0f %% of the time in the system, for %.3g MB of new memory in each call, or more" % (100 * system, touched)
    moved = profile.input_mb + profile.output_mb
    rate = moved * MB / max(profile.execution_time, 1e-9) / _usage.copy_bandwidth() / 2
    if moved >= STREAMED_MB and rate >= STREAMED:
        return "%.3g MB in and out, at %.0f %% of the speed of a copy" % (moved, 100 * rate)
    return None


def _gil(study, suggestions):
    profile = study.profile
    share, threads = profile.gil_share, suggestions.get("threads")
    if not has_gil() or share is None or share < study.config.gil_threshold or profile.execution_time < GIL_LONG:
        return None
    if threads is not None and threads.low > 0.15:
        return None
    tried = "" if threads is None else "; %d threads saved %.0f %%" % (threads.parameter, 100 * threads.gain)
    return "another thread has to wait in %.0f %% of the time%s" % (100 * share, tried)


def bottlenecks(study, suggestions):
    """{bottleneck: evidence}, the one to begin with first; suggestions are those that were tried, by kind."""
    profile, found = study.profile, {}

    def add(bottleneck, evidence):
        if evidence:
            found[bottleneck] = evidence

    add(Bottleneck.INEFFICIENT_ALGORITHM, _inefficient(study))
    add(Bottleneck.NOT_VECTORISED, _not_vectorised(study))
    files, others = _waiting(study)
    add(Bottleneck.IO_BOUND, files)
    add(Bottleneck.WAITING, others)
    add(Bottleneck.GIL_BOUND, _gil(study, suggestions))
    if not files:
        add(Bottleneck.MEMORY_INTENSIVE, _memory(study))
    batch, cache = suggestions.get("batch"), suggestions.get("cache")
    if batch is not None and batch.low >= OVERHEAD and Bottleneck.NOT_VECTORISED not in found:
        add(Bottleneck.CALL_OVERHEAD, "a batch of %d takes %.0f %% less than one by one" % (batch.parameter, 100 * batch.gain))
    heavy = study.quickest >= LONG and _copies(study) >= HEAVY and not study.disturbed
    if cache is not None and cache.low >= KEPT and heavy:
        add(Bottleneck.CACHEABLE, "the same result for the same input, in %s; from a cache %.2g %% of that" % (
            duration(profile.execution_time), 100 * (1 - cache.gain)))
    if heavy and _own(study, "user") >= 0.6 and not found.keys() - {Bottleneck.CACHEABLE}:
        add(Bottleneck.CPU_INTENSIVE, "computes for %.0f times as long as copying its data takes" % _copies(study))
    if profile.memory_growth_mb > 0:
        add(Bottleneck.MEMORY_LEAK, "%.2g MB more after each call" % profile.memory_growth_mb)
    return found


# ---- What was not tried ------------------------------------------------------------------------


def _estimate(kind, text, low, mid, high):
    words = "%s: saves about %.0f %% of the time (%.0f to %.0f), estimated" % (text, 100 * mid, 100 * low, 100 * high)
    return Suggestion(words, kind, low, mid, high)


def algorithm(scaling):
    """What is left when time is proportional to the input, at the pace of the smallest part that was timed."""
    times = scaling.times
    small, large = min(times), max(times)
    mid = max(0.0, 1 - times[small] * large / small / times[large])
    return _estimate("algorithm", "do less for each element (sort, look up in a set or a dictionary instead of searching), or give it smaller pieces",
                     0.5 * mid, mid, 0.9999)


def _vectorise(study):
    """What is left is at most about as long as copying the data twenty times, and at least a copy inside of caches.  Of lists much
    may be left, since arrays have to be made of them."""
    copies, where, lists = max(_copies(study), 1.0), study.profile.hot_place, not _inputs.all_arrays(study.sample)
    high = max(1 - 0.1 / copies, 0.5)
    mid = 0.6 if lists else min(max(0.5, 1 - 20 / copies), high)
    text = "replace the loop%s by operations on whole arrays%s" % (
        " in " + where if where else "", ", and keep the data in them" if lists else "")
    return _estimate("vectorise", text, 0.0 if lists else 0.5, mid, high)


def _less_memory(study):
    """New memory costs what the system takes for it; what moving it through the caches costs is not seen, so that may be anything."""
    system = _own(study, "system")
    seen = system >= study.config.system_threshold
    text = ("make results in memory that is there already (out=, in place), use a smaller dtype (float32, uint8), "
            "or keep freed memory (MALLOC_MMAP_THRESHOLD_ and MALLOC_TRIM_THRESHOLD_)")
    return _estimate("memory", text, 0.5 * system if seen else 0.0, max(system, 0.2), min(max(1.1 * system + 0.3, 0.75), 0.95))


def _files(study):
    """Waiting can be overlapped; many calls can become one, with all that is done around them."""
    share = min(_own(study, "blocked") + _own(study, "system"), 1.0)
    many = study.profile.io_calls >= IO_CALLS
    return _estimate("io", "read in larger pieces, ahead in another thread, or keep what was read in memory",
                     0.3 * share, 0.9 * share, 0.9999 if many else min(1.1 * share, 0.995))


def _overlap(study):
    blocked = _own(study, "blocked")
    return _estimate("wait", "let several inputs wait at the same time", 0.4 * blocked, 0.75 * blocked, blocked)


def estimates(study, found, tried):
    """Suggestions for bottlenecks whose cure cannot be tried."""
    made = []
    if Bottleneck.INEFFICIENT_ALGORITHM in found:
        made.append(algorithm(study.profile.scaling))
    if Bottleneck.NOT_VECTORISED in found:
        made.append(_vectorise(study))
    if Bottleneck.MEMORY_INTENSIVE in found and "chunks" not in tried:
        made.append(_less_memory(study))
    if Bottleneck.IO_BOUND in found:
        made.append(_files(study))
    if Bottleneck.WAITING in found and "threads" not in tried:
        made.append(_overlap(study))
    if Bottleneck.GIL_BOUND in found and study.profile.execution_time >= LONG:
        made += filter(None, [_trials.processes(study)])
    if Bottleneck.MEMORY_LEAK in found:
        made.append(Suggestion("find what keeps %.2g MB of each call" % study.profile.memory_growth_mb, "leak"))
    return made
