"""Extensions of others: types of bottlenecks, strategies, detectors, report formats and charts.

A package names a function, or a module, in the group "inferscope.plugins" of its entry points:

    [project.entry-points."inferscope.plugins"]
    tokenizers = "my_package.inferscope_plugin:register"

It is loaded when something is first needed that it could have registered, and
called without arguments.  One that fails is logged and listed in plugins(), and
changes nothing else.  INFERSCOPE_PLUGINS=0 loads none.
"""

import logging
import os
import threading

__all__ = ["load_plugins", "plugins", "register_chart", "register_report_format"]

GROUP = "inferscope.plugins"

log = logging.getLogger("inferscope")

_lock = threading.RLock()
_done = False
_found = []


def _entry_points():
    from importlib import metadata
    found = metadata.entry_points()
    if hasattr(found, "select"):
        return list(found.select(group=GROUP))
    return list(found.get(GROUP, ()))  # before 3.10; an installation that is listed twice is there twice


def _load(point):
    row = {"name": point.name, "value": point.value, "error": None}
    try:
        function = point.load()
        if callable(function):
            function()
    except Exception as error:
        row["error"] = "%s: %s" % (type(error).__name__, error)
        log.warning("the plugin %r (%s) failed, and is left out: %s", point.name, point.value, row["error"])
    return row


def load_plugins():
    """Loads all plugins that are installed, the first time; gives plugins()."""
    global _done
    if _done:
        return plugins()
    with _lock:
        if not _done:
            _done = True  # before, since a plugin may ask for what is registered
            if os.environ.get("INFERSCOPE_PLUGINS") != "0":
                try:
                    points = {(point.name, point.value): point for point in _entry_points()}
                except Exception as error:
                    log.warning("plugins cannot be found: %s: %s", type(error).__name__, error)
                    points = {}
                _found.extend(_load(point) for point in points.values())
    return plugins()


def plugins():
    """Those that were loaded: dictionaries with name, value (where it is) and error (None: none)."""
    return [dict(row) for row in _found]


def _after_fork():
    """The lock may be held by a thread that is not there."""
    global _lock
    _lock = threading.RLock()


os.register_at_fork(after_in_child=_after_fork)


# ---- What belongs to reports ----------------------------------------------------------------


def register_report_format(name, function, suffixes=()):
    """ReportGenerator.register_format()"""
    from inferscope.reporter import ReportGenerator
    ReportGenerator.register_format(name, function, suffixes)


def register_chart(name, function):
    """ReportGenerator.register_chart()"""
    from inferscope.reporter import ReportGenerator
    ReportGenerator.register_chart(name, function)
