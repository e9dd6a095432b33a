"""scope, mark_event and counter for a Python that inferscope has no extension for: they do nothing."""


class scope:
    """scope(name): a range of the program's time.  Nothing is recorded in this Python."""

    __slots__ = ("name",)

    def __init__(self, name):
        if not isinstance(name, str):
            raise TypeError("a scope's name is a string, not %s" % type(name).__name__)
        self.name = name

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        return None

    def __call__(self, function):
        return function

    def __repr__(self):
        return "scope(%r)" % self.name


def mark_event(name, metadata=None):
    """A point in time.  Nothing is recorded in this Python."""


def counter(name, value):
    """The value of something from now on.  Nothing is recorded in this Python."""
