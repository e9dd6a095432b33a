"""Medians and intervals, of which no distribution has to be assumed: what is timed on a shared machine has none."""

import math
import random

CONFIDENCE = 0.95
BOOTSTRAP = 200


def quantile(values, share):
    """Between two values, as a straight line."""
    ordered = sorted(values)
    at = share * (len(ordered) - 1)
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)


def median(values):
    return quantile(values, 0.5)


def median_interval(values, confidence=CONFIDENCE):
    """Two of the values that have the true median between them; with fewer than six values, the least and the greatest."""
    ordered, count = sorted(values), len(values)
    below, outside = 0, 0.5 ** count
    while 2 * outside <= 1 - confidence and below < (count - 1) // 2:
        below += 1
        outside += math.comb(count, below) * 0.5 ** count
    rank = max(below - 1, 0) if 2 * outside > 1 - confidence else below
    return ordered[rank], ordered[count - 1 - rank]


def _distance(values):
    middle = median(values)
    return sum(abs(value - middle) for value in values)


def warm_up(values):
    """How many of the first values belong to a slower time before the others: the change point that leaves the least distance from
    the medians of both sides, if all before it are clearly slower than what comes after."""
    logs = [math.log(max(value, 1e-12)) for value in values]
    points = range(1, len(values) // 2 + 1)
    if not points:
        return 0
    at = min(points, key=lambda k: _distance(logs[:k]) + _distance(logs[k:]))
    before, after = values[:at], values[at:]
    slower = min(before) > 1.2 * median(after) and min(before) > quantile(after, 0.9)
    return at if slower else 0


def gain_interval(pairs, margin=1.15, least=0.01):
    """(low, mid, high): the share of the time that is saved, from pairs of (before, after) that were timed in turn.

    The interval is for one who measures it again, so it has most of the pairs in it and not only their median, and a
    margin for what changes between two runs.
    """
    ratios = [after / before for before, after in pairs]
    low, high = median_interval(ratios)
    low, high = min(low, quantile(ratios, 0.1)), max(high, quantile(ratios, 0.9))
    return 1 - high * margin - least, 1 - median(ratios), min(1 - low / margin + least, 1.0)


def _slope(points):
    """Of Theil and Sen: the median of the slopes of all pairs, which one bad point does not move."""
    slopes = [(b[1] - a[1]) / (b[0] - a[0]) for i, a in enumerate(points) for b in points[i + 1:] if b[0] != a[0]]
    return median(slopes)


def exponent(samples):
    """(exponent, low, high) of time against size, from {size: [seconds]} with three sizes or more; None with fewer.

    The interval is that of fits to times drawn again from those measured.
    """
    sizes = sorted(size for size in samples if size > 0 and samples[size])
    if len(sizes) < 3:
        return None
    draw = random.Random(1).choices

    def fit(pick):
        return _slope([(math.log(size), math.log(max(median(pick(samples[size])), 1e-12))) for size in sizes])

    fits = [fit(lambda times: draw(times, k=len(times))) for _ in range(BOOTSTRAP)]
    return fit(list), quantile(fits, 0.025), quantile(fits, 0.975)


def local_exponents(samples):
    """Between neighbouring sizes, by the quickest times: a cache or an allocator makes one step, an algorithm all of them."""
    sizes = sorted(samples)
    return [math.log(min(samples[b]) / max(min(samples[a]), 1e-12)) / math.log(b / a) for a, b in zip(sizes, sizes[1:])]
