"""scope, mark_event and counter for a Python that inferscope has no extension for: they record nothing.

What is not meant to be is told as the extension does (python/tracer/misuse.c): a RuntimeWarning, once for each kind, and never an
exception.
"""

import warnings

_SCOPE = "scope() takes one argument, its name: anything else is ignored"
_MARK = "mark_event() takes a name, and optionally metadata: anything else is ignored"
_COUNTER = "counter() takes a name and a number: calls without both are ignored, as is anything else"
_NAME = "a name is a string: scopes, marks and counters of other names have that of the type"
_VALUE = "the value of a counter is a number: others are ignored"
_EXIT = "a scope is left that is not open: that is ignored"
_DECORATED = "scope(NAME) decorates functions: others stay as they are"
_BARE = "as a decorator it is scope(NAME): without, the name is the function's"

_told = set()
_FUNCTIONS = (type(lambda: None), staticmethod, classmethod)


def _misuse(text):
    if text in _told:
        return
    _told.add(text)
    try:
        warnings.warn("inferscope: " + text, RuntimeWarning, stacklevel=3)
    except Warning:  # python -W error: the program goes on all the same
        pass


def _arguments(words, args, named):
    """What is given by word, and whether there is nothing besides."""
    given = dict(zip(words, args))
    good = len(args) <= len(words) and all(word in words and word not in given for word in named)
    return {**named, **given}, good


def _is_function(value):
    return isinstance(value, _FUNCTIONS) or callable(value) and not isinstance(value, type)


class scope:
    """scope(name): a range of the program's time.  Nothing is recorded in this Python."""

    __slots__ = ("name", "_open")

    def __new__(cls, *args, **named):
        given, good = _arguments(("name",), args, named)
        if not good or "name" not in given:
            _misuse(_SCOPE)
        name = given.get("name", "?")
        if isinstance(name, _FUNCTIONS):
            _misuse(_BARE)
            return name
        if not isinstance(name, str):
            _misuse(_NAME)
            name = "<%s>" % type(name).__name__
        self = super().__new__(cls)
        self.name, self._open = name, 0
        return self

    def __enter__(self, *args, **named):
        self._open += 1
        return self

    def __exit__(self, *exception, **named):
        if self._open:
            self._open -= 1
        else:
            _misuse(_EXIT)

    def __call__(self, *args, **named):
        if len(args) != 1 or named or not _is_function(args[0]):
            _misuse(_DECORATED)
        return args[0] if args else self

    def __repr__(self):
        return "scope(%r)" % self.name


def mark_event(*args, **named):
    """mark_event(name, metadata=None): a point in time.  Nothing is recorded in this Python."""
    given, good = _arguments(("name", "metadata"), args, named)
    if not good or "name" not in given:
        _misuse(_MARK)
    if not isinstance(given.get("name", ""), str):
        _misuse(_NAME)


def counter(*args, **named):
    """counter(name, value): the value of something from now on.  Nothing is recorded in this Python."""
    given, good = _arguments(("name", "value"), args, named)
    if not good or "name" not in given or "value" not in given:
        _misuse(_COUNTER)
    if not isinstance(given.get("name", ""), str):
        _misuse(_NAME)
    if not any(hasattr(type(given.get("value", 0)), method) for method in ("__float__", "__index__")):
        _misuse(_VALUE)
