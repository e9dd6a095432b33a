"""query() and export(): what `inferscope query` and `inferscope export` do, from Python."""

import os

from inferscope import _engine
from inferscope.analyzer.bottleneck_analyzer import shipped_rules


def _paths(trace):
    if isinstance(trace, (str, bytes, os.PathLike)):
        trace = [trace]
    return [os.fsencode(path) for path in trace]


def _unlike(names):
    """The names, those that were there already with a number, as `inferscope query --format json` has them."""
    keys = []
    for name in names:
        key, number = name, 1
        while key in keys or (number > 1 and key in names):
            number += 1
            key = f"{name}_{number}"
        keys.append(key)
    return keys


class Rows(list):
    """The rows of an answer, as tuples; `columns` has their names."""

    def __init__(self, columns, rows):
        super().__init__(rows)
        self.columns = columns

    def dicts(self):
        """Each row as a dictionary; of columns of one name the second is NAME_2."""
        keys = _unlike(self.columns)
        return [dict(zip(keys, row)) for row in self]

    def frame(self):
        """All of it as a pandas.DataFrame; needs pandas."""
        import pandas
        return pandas.DataFrame.from_records(list(self), columns=list(self.columns))


def _settings(communication, rules_files):
    """What the analysis is made by, as the engine takes it."""
    return [pattern.encode() for pattern in communication], [os.fsencode(shipped_rules()), *(_paths(rules_files) if rules_files else ())]


def query(trace, sql, *, timeout=None, communication=(), rules_files=()):
    """Answers a question to a trace, in the SQL of SQLite; docs/query.md has the tables.

    query("trace.sbt", "SELECT name, sum(dur) FROM slices GROUP BY name ORDER BY 2 DESC LIMIT 10")

    trace: the path of a trace of any format that `inferscope analyze` reads, or several, one for each rank.
    timeout: seconds, after which TimeoutError is raised.
    communication, rules_files: as for BottleneckAnalyzer; findings, gaps and states of devices depend on them.

    Raises ValueError, with the place, when the question cannot be answered, and TraceError when the trace cannot be read.
    """
    return Rows(*_engine.query(_paths(trace), *_settings(communication, rules_files), sql, timeout or 0.0))


def export(trace, output, format=None, *, window=None, steps=None, kinds=None, name=None, thread=None, process=None, depth=None,
           min_duration_us=0.0, weight="wall", findings=True, communication=(), rules_files=()):
    """Writes a trace for another tool: perfetto, chrome, kineto, speedscope, collapsed, pprof or firefox.

    export("trace.sbt", "trace.pftrace")

    output: the file, which appears when it is whole; its suffix says the format, unless that is given.
    window: (from, to), milliseconds since the start of the trace; steps: a number, or (first, last).
    kinds: "gpu_kernel,op" or a list; name: a shell pattern.
    depth, min_duration_us: only slices that are inside fewer others, and that are as long.
    weight: "wall", "cpu" or "gpu", of formats of stacks; findings: mark what the analysis found, where there is a place for it.
    communication, rules_files: of that analysis, as for BottleneckAnalyzer.
    """
    if weight not in ("wall", "cpu", "gpu"):
        raise ValueError("weight is wall, cpu or gpu, not %r" % (weight,))
    if kinds is not None and not isinstance(kinds, str):
        kinds = ",".join(kinds)
    if steps is None:
        steps = (-1, -1)
    elif isinstance(steps, int):
        steps = (steps, steps)
    begin, end = (-1.0, 0.0) if window is None else window
    limits = [-1 if limit is None else limit for limit in (thread, process, depth)]
    _engine.export(_paths(trace), *_settings(communication, rules_files), os.fsencode(output), format, float(begin), float(end), steps[0],
                   steps[1], kinds, name, *limits, float(min_duration_us), weight, bool(findings))
