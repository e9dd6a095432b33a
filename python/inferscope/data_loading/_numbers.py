"""Figures of few and uneven measurements: medians and rates with intervals, none of them a bare mean."""

import math
import random

CONFIDENCE = 0.9
RESAMPLES = 400
TREND_LEAST = 4


def quantile(ordered, share):
    """Of values in order, between the two that are nearest."""
    if not ordered:
        return 0.0
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def median(values):
    return quantile(sorted(values), 0.5)


def _rank(count):
    """How many values may be left out at each end, so that the median is still inside with the confidence: a binomial sum."""
    total, rank, outside = 2.0 ** count, 0, (1.0 - CONFIDENCE) / 2.0
    below = 0.0
    while rank < count // 2:
        below += math.comb(count, rank)
        if below / total > outside:
            break
        rank += 1
    return rank


def median_interval(values):
    """(low, median, high) by order statistics; of fewer than five values the smallest and the largest."""
    ordered = sorted(values)
    if not ordered:
        return 0.0, 0.0, 0.0
    rank = _rank(min(len(ordered), 1000))
    if len(ordered) > 1000:
        rank = int(len(ordered) / 2 - 0.83 * math.sqrt(len(ordered)))
    low = ordered[max(rank - 1, 0)]
    return low, quantile(ordered, 0.5), ordered[-1 - max(rank - 1, 0)]


def rate_interval(blocks):
    """(low, rate, high) of blocks (how much, in how many seconds): the whole over its time; ends by resampling blocks."""
    amount, seconds = sum(block[0] for block in blocks), sum(block[1] for block in blocks)
    if seconds <= 0.0:
        return 0.0, 0.0, 0.0
    draw = random.Random(len(blocks))
    rates = []
    for _ in range(RESAMPLES):
        chosen = [blocks[draw.randrange(len(blocks))] for _ in blocks]
        time = sum(block[1] for block in chosen)
        rates.append(sum(block[0] for block in chosen) / time if time > 0.0 else amount / seconds)
    rates.sort()
    rate = amount / seconds
    if len(blocks) < 3:  # one or two blocks say nothing of the spread
        return rate * 0.7, rate, rate * 1.3
    outside = (1.0 - CONFIDENCE) / 2.0
    return min(rate, quantile(rates, outside)), rate, max(rate, quantile(rates, 1.0 - outside))


def trend(values):
    """The median of the slopes of all pairs that are half of the length apart: growth for each further value."""
    half = len(values) // 2
    if len(values) < TREND_LEAST:
        return 0.0
    return median([(values[at + half] - values[at]) / half for at in range(len(values) - half)])
