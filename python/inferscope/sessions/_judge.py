"""What of the figures of a session is a bottleneck, and how much of it can be saved."""

import re

from inferscope.bottlenecks import BottleneckType, optimization_suggestions
from inferscope.sessions.session import BottleneckProfile, OperationProfile

MB = 1024 ** 2
OTHERS = "(other operations)"

# What can be done beside the rest of the program, as by workers of a loader.
BESIDE = ("data_loading", "preprocessing", "i_o_operation", "network_latency")
# What is mostly waiting, which can be done beside the rest as far as it is.
WAITING = ("gpu_transfer", "synchronization", "memory_allocation")

# Findings of the analysis that are no types of their own.
_KINDS = {"gil_contention": "synchronization", "lock_contention": "synchronization", "straggler": "synchronization",
          "communication": "synchronization", "memory_pressure": "memory_allocation", "garbage_collection": "memory_allocation"}


def type_of_finding(kind):
    kind = _KINDS.get(kind, kind)
    return BottleneckType(kind) if kind in BottleneckType else BottleneckType.CPU_COMPUTATION


# ---- Operations ----------------------------------------------------------------------------


def operation_of(row, duration, memory, clocks, gpu):
    """Of a row of the log."""
    total, own = row["total_ns"] / 1e9, row["self_ns"] / 1e9
    found = OperationProfile(
        OTHERS if row["name"] is None else row["name"], row["type"], row["count"], row["failures"], row["unfinished"], row["threads"],
        total, own, row["min_ns"] / 1e9, row["max_ns"] / 1e9, row["p50_ns"] / 1e9, row["p95_ns"] / 1e9, row["p99_ns"] / 1e9,
        own / duration if duration > 0 else 0.0, blocks=[(count, ns / 1e9) for count, ns in row["blocks"]])
    if memory:
        found.memory_mb, found.memory_peak_mb = row["memory_bytes"] / MB, row["memory_most_bytes"] / MB
    if gpu:
        found.gpu_memory_mb = row["gpu_bytes"] / MB
    if clocks:
        found.cpu_percent = 100 * row["process_ns"] / row["total_ns"] if row["total_ns"] else 0.0
        found.computed = min(1.0, row["self_thread_ns"] / row["self_ns"]) if row["self_ns"] else 0.0
    return found


def family(name):
    """What names have in common that differ in their numbers."""
    return re.sub(r"[0-9]+", "*", name)


def _sum(values):
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _weighted(operations, name, weight):
    known = [(getattr(one, name), getattr(one, weight)) for one in operations if getattr(one, name) is not None]
    whole = sum(weight for _, weight in known)
    return sum(value * weight for value, weight in known) / whole if whole else None


def joined(name, operations):
    """Several as one; of the percentiles the medians by their weight."""
    first = operations[0]
    return OperationProfile(
        name, first.type, sum(one.count for one in operations), sum(one.failures for one in operations),
        sum(one.unfinished for one in operations), max(one.threads for one in operations), sum(one.total_time for one in operations),
        sum(one.self_time for one in operations), min(one.min_time for one in operations), max(one.max_time for one in operations),
        *(_weighted(operations, name, "count") or 0.0 for name in ("median", "p95", "p99")), sum(one.share for one in operations),
        _sum(one.memory_mb for one in operations), max((one.memory_peak_mb or 0.0 for one in operations), default=None),
        _sum(one.gpu_memory_mb for one in operations), _weighted(operations, "cpu_percent", "total_time"),
        _weighted(operations, "computed", "self_time"))


def over(operations, threshold):
    """Those that take their share; of the others, those that differ in a number only count together."""
    found = [one for one in operations if one.share >= threshold and one.name != OTHERS]
    rest = {}
    for one in operations:
        if one.share < threshold and one.type is not None and family(one.name) != one.name:
            rest.setdefault((family(one.name), one.type), []).append(one)
    for (name, _), members in rest.items():
        if len(members) > 1 and sum(one.share for one in members) >= threshold:
            found.append(joined(name, members))
    return sorted(found, key=lambda one: -one.self_time)


# ---- Bottlenecks of operations ---------------------------------------------------------------


def _settled(one):
    """Seconds that it took longer than if each run had taken the median, the first stretches left out: a start is slow once."""
    blocks = one.blocks[max(1, round(0.1 * len(one.blocks))):]
    return max(0.0, sum(seconds for _, seconds in blocks) - one.median * sum(count for count, _ in blocks))


def potential(one, hidden):
    """The part of its own time that can be saved at most, and why.

    What can run beside the rest is hidden as far as the rest is long; what waits, as far as it waits, too.  A computation
    that takes longer at some times than at others can do without that.
    """
    if one.self_time <= 0:
        return 0.0, ""
    if one.type.value in BESIDE:
        return hidden, "done beside the rest of the program, at most %s of it are saved" % _time(hidden * one.self_time)
    if one.type.value in WAITING and one.computed is not None:
        part = hidden * (1 - one.computed)
        return part, "its thread waits for %s of it, of which the rest can hide %s" % (
            _time((1 - one.computed) * one.self_time), _time(part * one.self_time))
    saved = min(1.0, _settled(one) / one.total_time)
    return saved, "if none took longer than the median does, %.0f %% of it were saved" % (100 * saved) if saved > 0.02 else ""


def hidden_part(operations, duration):
    """Of all that can run beside the rest, the part that the rest is long enough for."""
    beside = sum(one.self_time for one in operations if one.type is not None and one.type.value in BESIDE + WAITING)
    return min(1.0, max(0.0, duration - beside) / beside) if beside > 0 else 1.0


def _time(seconds):
    return "%.2f s" % seconds if seconds >= 1 else "%.1f ms" % (1e3 * seconds) if seconds >= 1e-3 else "%.1f us" % (1e6 * seconds)


def evidence(one, duration):
    times = "once" if one.count == 1 else "%d times, median %s, 95 %% below %s" % (one.count, _time(one.median), _time(one.p95))
    lines = ["takes %.1f %% of the session itself, %s of %s: %s" % (100 * one.share, _time(one.self_time), _time(duration), times)]
    if one.total_time > 1.02 * one.self_time:
        lines.append("with the operations inside it %s" % _time(one.total_time))
    if one.computed is not None:
        lines.append("its thread computed for %.0f %% of that, and waited for the rest" % (100 * one.computed))
    if one.memory_mb is not None and abs(one.memory_mb) >= 1:
        lines.append("the process %s by %.1f MB in it" % ("grew" if one.memory_mb > 0 else "shrank", abs(one.memory_mb)))
    if one.failures:
        lines.append("%d of them ended with an exception" % one.failures)
    if one.unfinished:
        lines.append("%d had not ended when the session did" % one.unfinished)
    return lines


def bottleneck_of(one, duration, hidden):
    part, why = potential(one, hidden)
    context = {"operation": one.name, "share": one.share, "count": one.count, "time": one.self_time, "median": one.median,
               "computed": one.computed, "memory_mb": one.memory_mb}
    return BottleneckProfile(
        one.type, one.name, min(1.0, one.share), one.count, one.self_time, one.memory_mb or 0.0, one.gpu_memory_mb or 0.0,
        one.cpu_percent or 0.0, part, optimization_suggestions(one.type, context), min(1.0, one.share),
        part * min(1.0, one.share), evidence=evidence(one, duration) + ([why] if why else []))


# ---- Alerts and findings ----------------------------------------------------------------------

_ALERTS = {"memory_high": "high_memory_usage", "gpu_memory_high": "high_gpu_memory_usage"}


def bottleneck_of_alert(alert, last, duration):
    """Of alerts of one kind and subject the last; how often it began, and how long that held in all."""
    seconds = sum((one.end_s if one.end_s is not None else duration) - one.start_s for one in alert)
    newest = alert[-1]
    name = _ALERTS.get(newest.kind, newest.kind)
    return BottleneckProfile(
        newest.type or BottleneckType.CPU_COMPUTATION, "%s: %s" % (name, newest.subject) if newest.subject else name, newest.severity,
        len(alert), max(0.0, seconds), last.get("memory_mb") or 0.0, last.get("gpu_memory_mb") or 0.0, last.get("cpu_percent") or 0.0,
        0.0, list(newest.suggestions), source="alert", evidence=[newest.text] if newest.text else [])


def bottlenecks_of_alerts(alerts, last, duration):
    groups = {}
    for alert in alerts:
        groups.setdefault((alert.kind, alert.subject), []).append(alert)
    return [bottleneck_of_alert(group, last, duration) for group in groups.values()]


def bottleneck_of_finding(finding, action, steps):
    share = max(finding.get("share_percent") or 0.0, finding.get("rule_share_percent") or 0.0) / 100
    gain = [None if finding.get(key) is None else finding[key] / 100 for key in ("gain_percent", "gain_low_percent", "gain_high_percent")]
    frequency = finding.get("frequency")
    type = type_of_finding(finding["kind"])
    suggestions = ([action] if action else []) or optimization_suggestions(type, {"finding": finding["id"], "share": share})
    return BottleneckProfile(
        type, finding["id"], finding["severity"], max(1, round(frequency * steps)) if frequency is not None else 1,
        (finding.get("owned_us") or 0.0) / 1e6, optimization_potential=min(1.0, finding.get("optimization_potential") or 0.0),
        suggestions=suggestions, share=min(1.0, share), gain=gain[0] or 0.0, gain_low=gain[1], gain_high=gain[2], source="analysis",
        evidence=list(finding.get("evidence") or []) + list(finding.get("where") or []), finding=finding["id"])


def bottlenecks_of_analysis(analysis):
    actions = {row["finding"]: row["action"] for row in analysis.get("suggestions") or []}
    steps = len(analysis.get("steps") or [])
    return [bottleneck_of_finding(finding, actions.get(finding["id"]), steps) for finding in analysis.get("findings") or []]


# ---- An operation and a finding of one cause -----------------------------------------------------


def _is_inside(row, operation, nodes):
    while row is not None:
        if operation in (row["name"], family(row["name"])):
            return True
        row = nodes.get(row["parent"])
    return False


def _lies_in(finding, operation, tree):
    """Whether most of the place that a finding names is inside the scopes of an operation; tree: the calls of the analysis."""
    place, nodes = finding.split(":", 1)[-1].split(" (")[0], {row["node"]: row for row in tree}
    rows = [row for row in tree if row["name"] == place or row["name"].endswith("." + place)]
    inside = sum(row["total_us"] for row in rows if _is_inside(row, operation, nodes))
    return inside > 0.5 * sum(row["total_us"] for row in rows)


def same_cause(one, finding, tree):
    """What computes is one cause at each place where it does; of all others the type is the cause."""
    if one.bottleneck_type is not finding.bottleneck_type:
        return False
    return one.bottleneck_type is not BottleneckType.CPU_COMPUTATION or _lies_in(finding.finding, one.operation_name, tree)


def _fold(one, theirs):
    """theirs: findings of the same cause, each with the part of it that is this operation's."""
    gains = [(finding, part) for finding, part in theirs if finding.gain]
    if gains:
        one.gain, one.gain_low, one.gain_high = (
            min(one.share, sum((getattr(finding, name) or 0.0) * part for finding, part in gains)) for name in ("gain", "gain_low", "gain_high"))
        one.optimization_potential = one.gain / one.share
    one.severity = max([one.severity, *(finding.severity for finding, _ in theirs)])
    one.suggestions = list(dict.fromkeys([text for finding, _ in theirs for text in finding.suggestions] + one.suggestions))
    one.evidence = list(dict.fromkeys(one.evidence + [text for finding, _ in theirs for text in finding.evidence]))
    one.finding = theirs[0][0].finding


def refine(operations, findings, tree):
    """Makes findings part of the operations that have the same cause, by their shares, so that each is told once; gives the others."""
    parts, others = {}, []
    for finding in findings:
        ours = [number for number, one in enumerate(operations) if same_cause(one, finding, tree)]
        share = sum(operations[number].share for number in ours)
        if share <= 0.0:
            others.append(finding)
            continue
        for number in ours:
            parts.setdefault(number, []).append((finding, operations[number].share / share))
    for number, theirs in parts.items():
        _fold(operations[number], theirs)
    return others


def find(operations, duration, threshold, alerts=(), last=None, analysis=None):
    """All, the most severe first; operations before alerts before findings when they are equal."""
    hidden = hidden_part(operations, duration)
    found = [bottleneck_of(one, duration, hidden) for one in over(operations, threshold)]
    findings = bottlenecks_of_analysis(analysis) if analysis else []
    others = refine(found, findings, ((analysis or {}).get("attribution") or {}).get("tree") or [])
    found += bottlenecks_of_alerts(alerts, last or {}, duration) + others
    return sorted(found, key=lambda one: -one.severity)
