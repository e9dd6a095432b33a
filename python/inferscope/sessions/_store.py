"""Sessions as JSON, version 1.  What is loaded may come from anybody: whatever is not as we write it is refused in one sentence."""

import json
import math
import os
import re
from dataclasses import MISSING, fields
from datetime import datetime

from inferscope.bottlenecks import BottleneckType
from inferscope.sessions.config import ProfilingLevel
from inferscope.sessions.session import BottleneckProfile, OperationProfile, ProfilingSession

VERSION = 1
BYTES_MOST = 64 * 1024 ** 2
ROWS_MOST = 100_000
TEXT_MOST = 10_000
ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


class SessionError(ValueError):
    """A file that is no session of ours; the text says why."""


def session_id(name, now, pid, number):
    """From a name of unknown origin one that files can have, and that no other process of the job makes."""
    safe = re.sub(r"[^A-Za-z0-9._-]+", "_", name).strip("._-")[:64] or "session"
    return "%s_%s_%d_%d" % (safe, now.strftime("%Y%m%d_%H%M%S"), pid, number)


# ---- Out ------------------------------------------------------------------------------------


def _plain(value):
    if isinstance(value, BottleneckType):
        return value.value
    if isinstance(value, ProfilingLevel):
        return value.value
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return value


def _row(one):
    return {field.name: _plain(getattr(one, field.name)) for field in fields(one)}


_CURVES = ("memory_profile", "gpu_profile", "cpu_profile", "io_profile")


def as_dict(session):
    """What JSON can hold."""
    found = {"session_version": VERSION}
    for field in fields(session):
        value = getattr(session, field.name)
        if field.name in ("operations", "bottlenecks"):
            found[field.name] = [_row(one) for one in value]
        elif field.name in _CURVES:
            found[field.name] = [[_plain(key), _plain(one)] for key, one in value.items()]
        else:
            found[field.name] = _plain(value)
    return found


def save(session, path):
    from inferscope.reporter.report_generator import _write
    data = json.dumps(as_dict(session), indent=1, allow_nan=False, default=repr) + "\n"
    _write(path, data.encode("utf-8", "replace"))


# ---- In -------------------------------------------------------------------------------------


def _need(good, what):
    if not good:
        raise SessionError(what)


def _number(value, what, least=None):
    _need(isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value), "%s is no number" % what)
    _need(least is None or value >= least, "%s is less than %s" % (what, least))
    return value


def _text(value, what):
    _need(isinstance(value, str) and len(value) <= TEXT_MOST, "%s is no text" % what)
    return value


def _list(value, what):
    _need(isinstance(value, list) and len(value) <= ROWS_MOST, "%s is no list" % what)
    return value


def _texts(value, what):
    return [_text(one, what) for one in _list(value, what)]


def _type(value, what):
    if value is None:
        return None
    _need(isinstance(value, str) and re.fullmatch(r"[a-z][a-z0-9_]{0,63}", value), "%s is no type of bottleneck" % what)
    try:
        return BottleneckType(value)
    except ValueError:
        raise SessionError("%s is %s, which is no type of bottleneck here: register it before" % (what, value)) from None


def _time(value, what):
    try:
        return datetime.fromisoformat(_text(value, what))
    except ValueError:
        raise SessionError("%s is no time" % what) from None


def _pairs(value, what):
    pairs = _list(value, what)
    for pair in pairs:
        _need(isinstance(pair, list) and len(pair) == 2, "%s has no pairs" % what)
    return pairs


def _fields(kind, row, what, special):
    """An object of a data class, of a dictionary; fields that it does not say have their defaults, those that are not ours are left out."""
    _need(isinstance(row, dict), "%s is no object" % what)
    values = {}
    for field in fields(kind):
        name = "%s.%s" % (what, field.name)
        if field.name not in row:
            _need(field.default is not MISSING or field.default_factory is not MISSING, "%s is missing" % name)
        elif field.name in special:
            values[field.name] = special[field.name](row[field.name], name)
        elif row[field.name] is None:
            _need(field.default is None, "%s is null" % name)
            values[field.name] = None
        elif isinstance(field.default, str):
            values[field.name] = _text(row[field.name], name)
        else:
            values[field.name] = _number(row[field.name], name)
            if isinstance(field.default, int):
                values[field.name] = int(values[field.name])
    return kind(**values)


def _blocks(value, what):
    return [(int(_number(count, what, 0)), float(_number(seconds, what, 0))) for count, seconds in _pairs(value, what)]


def _operation(row, what):
    return _fields(OperationProfile, row, what, {"name": _text, "type": _type, "blocks": _blocks})


def _bottleneck(row, what):
    one = _fields(BottleneckProfile, row, what, {"bottleneck_type": _type, "operation_name": _text, "suggestions": _texts,
                                                 "evidence": _texts, "finding": lambda value, what: value and _text(value, what)})
    _need(one.bottleneck_type is not None, "%s has no type" % what)
    return one


def _curve(value, what):
    return {float(_number(key, what)): float(_number(one, what)) for key, one in _pairs(value, what)}


def _figures(value, what):
    _need(isinstance(value, dict) and len(value) <= ROWS_MOST, "%s is no object" % what)
    return {_text(key, what): None if one is None else _number(one, what) for key, one in value.items()}


def _objects(value, what):
    rows = _list(value, what)
    for row in rows:
        _need(isinstance(row, dict), "%s has something else than objects" % what)
    return rows


def _id(value, what):
    _need(isinstance(value, str) and ID.fullmatch(value), "%s cannot be the name of a file" % what)
    return value


def _level(value, what):
    try:
        return ProfilingLevel(value)
    except ValueError:
        raise SessionError("%s is no level" % what) from None


def _optional(read):
    return lambda value, what: None if value is None else read(value, what)


def _analysis(value, what):
    _need(isinstance(value, dict), "%s is no object" % what)
    return value


_SESSION = {
    "session_id": _id, "start_time": _time, "end_time": _optional(_time), "profiling_level": _level, "performance_metrics": _figures,
    "operations": lambda value, what: [_operation(row, "%s[%d]" % (what, i)) for i, row in enumerate(_list(value, what))],
    "bottlenecks": lambda value, what: [_bottleneck(row, "%s[%d]" % (what, i)) for i, row in enumerate(_list(value, what))],
    "memory_profile": _curve, "gpu_profile": _curve, "cpu_profile": _curve, "io_profile": _curve,
    "samples": lambda value, what: [_figures(row, what) for row in _list(value, what)], "alerts": _objects,
    "analysis": _optional(_analysis), "trace": _optional(_text), "notes": _texts,
}


def from_dict(data):
    """A session of what as_dict() gives; SessionError for anything else."""
    _need(isinstance(data, dict) and "session_version" in data, "it is no session of a BottleneckProfiler")
    version = data["session_version"]
    _need(version == VERSION, "it has version %s, and this inferscope reads version %d" % (str(version)[:20], VERSION))
    return _fields(ProfilingSession, data, "session", _SESSION)


def load(path):
    name = os.fspath(path)
    try:
        with open(path, "rb") as file:
            data = file.read(BYTES_MOST + 1)
        _need(len(data) <= BYTES_MOST, "it is larger than %d MB" % (BYTES_MOST // 1024 ** 2))
        return from_dict(json.loads(data.decode("utf-8")))
    except SessionError as error:
        raise SessionError("cannot load the session %s: %s" % (name, error)) from None
    except (ValueError, RecursionError) as error:
        text = "it is nested too deeply" if isinstance(error, RecursionError) else "it is no JSON: %s" % error
        raise SessionError("cannot load the session %s: %s" % (name, text)) from None
