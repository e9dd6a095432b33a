"""Two sessions, or two groups of them, operation by operation: which is faster, as far as that can be told.

The runs of an operation follow each other in stretches (OperationProfile.blocks), of which each has its mean.  The median
of those, the first ones left out, is what is compared; its interval is by order statistics, which no distribution has to be
assumed for.  Neighbouring runs are alike, hence stretches and not single runs.
"""

import math
from dataclasses import dataclass, field
from typing import List, Optional, Tuple

from inferscope.sessions.session import ProfilingSession

CONFIDENCE = 0.95
WARM_UP = 0.1     # of the stretches, one at least
LEAST = 6         # stretches for an interval at this confidence
SAME = 0.05       # two that differ by less are the same
SURE = 0.02       # by which the interval has to be on one side


@dataclass
class OperationComparison:
    """How one operation did in both.

    verdict: "faster", "slower", "same" (within 5 %), "cannot tell", or "only in a", "only in b"
    ratio: of the times for one run, b to a, with its interval; below 1 b is faster.  None where it cannot be told
    """

    name: str
    verdict: str
    count_a: int = 0
    count_b: int = 0
    time_a: Optional[Tuple[float, float, float]] = None
    time_b: Optional[Tuple[float, float, float]] = None
    ratio: Optional[Tuple[float, float, float]] = None
    share_a: float = 0.0
    share_b: float = 0.0
    reason: str = ""


@dataclass
class SessionComparison:
    """Of two sessions, or groups: a row for each operation, those that take most first."""

    a: str
    b: str
    operations: List[OperationComparison] = field(default_factory=list)

    def operation(self, name):
        for one in self.operations:
            if one.name == name:
                return one
        raise KeyError(name)

    def __str__(self):
        lines = ["%s against %s" % (self.b, self.a)]
        for one in self.operations:
            text = "" if one.ratio is None else "  %.2f times the time (%.2f to %.2f)" % (one.ratio[1], one.ratio[0], one.ratio[2])
            lines.append("  %-12s %s%s%s" % (one.verdict, one.name, text, ": " + one.reason if one.reason else ""))
        return "\n".join(lines)


def median_interval(values):
    """(low, median, high); None when there are too few for the confidence."""
    ordered, count = sorted(values), len(values)
    if count < LEAST:
        return None
    outside, below = 2.0 ** -count, 0
    while True:
        more = outside + math.comb(count, below + 1) * 2.0 ** -count
        if 2 * more > 1 - CONFIDENCE:
            break
        outside, below = more, below + 1
    middle = ordered[count // 2] if count % 2 else (ordered[count // 2 - 1] + ordered[count // 2]) / 2
    return ordered[below], middle, ordered[-1 - below]


def stretches(operation):
    """Seconds for one run, of each stretch but the first."""
    values = [seconds / count for count, seconds in operation.blocks if count > 0]
    return values[max(1, round(WARM_UP * len(values))):]


def _times(operations):
    """Of one or several sessions: the hull of their intervals, around the median of their medians."""
    found = [median_interval(stretches(one)) for one in operations]
    if not found or None in found:
        return None
    middles = sorted(middle for _, middle, _ in found)
    return min(low for low, _, _ in found), middles[len(middles) // 2], max(high for _, _, high in found)


def verdict(time_a, time_b):
    """(verdict, ratio, reason)"""
    if time_a is None or time_b is None:
        return "cannot tell", None, "it ran too rarely: %d times after the first, at least, in each" % LEAST
    if min(time_a) <= 0:
        return "cannot tell", None, "it takes no time that can be measured"
    ratio = time_b[0] / time_a[2], time_b[1] / time_a[1], time_b[2] / time_a[0]
    if ratio[0] >= 1 - SAME and ratio[2] <= 1 + SAME:
        return "same", ratio, ""
    if ratio[2] < 1 - SURE:
        return "faster", ratio, ""
    if ratio[0] > 1 + SURE:
        return "slower", ratio, ""
    return "cannot tell", ratio, "it varies more than the two differ"


def _group(sessions):
    if isinstance(sessions, ProfilingSession):
        return [sessions]
    sessions = list(sessions)
    if not sessions or not all(isinstance(one, ProfilingSession) for one in sessions):
        raise TypeError("sessions are compared: give two of them, or two lists of them")
    return sessions


def _by_name(sessions):
    found = {}
    for session in sessions:
        for one in session.operations:
            found.setdefault((one.name, one.type and one.type.value), []).append(one)
    return found


def _row(key, of_a, of_b):
    mean = [sum(one.share for one in group) / len(group) if group else 0.0 for group in (of_a, of_b)]
    counts = [sum(one.count for one in group) for group in (of_a, of_b)]
    if not of_a or not of_b:
        return OperationComparison(key[0], "only in a" if of_a else "only in b", *counts, share_a=mean[0], share_b=mean[1])
    time_a, time_b = _times(of_a), _times(of_b)
    words, ratio, reason = verdict(time_a, time_b)
    return OperationComparison(key[0], words, *counts, time_a, time_b, ratio, *mean, reason)


def compare(a, b):
    a, b = _group(a), _group(b)
    of_a, of_b = _by_name(a), _by_name(b)
    rows = [_row(key, of_a.get(key, []), of_b.get(key, [])) for key in dict.fromkeys([*of_a, *of_b])]
    rows.sort(key=lambda one: -max(one.share_a, one.share_b))
    return SessionComparison(", ".join(one.session_id for one in a), ", ".join(one.session_id for one in b), rows)
