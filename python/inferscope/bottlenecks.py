"""Kinds of bottlenecks, and what can be done about each.

    BottleneckType("data_loading") is BottleneckType.DATA_LOADING
    inferscope.register_bottleneck_type("tokenizer_wait", "the model waits for the tokenizer")
    inferscope.register_optimization_strategy("tokenizer_wait", "Tokenize in the workers of the DataLoader")
    inferscope.optimization_suggestions("tokenizer_wait")
"""

import enum
import logging
import re
import threading

from inferscope import plugins

__all__ = ["BottleneckType", "optimization_suggestions", "register_bottleneck_type", "register_optimization_strategy"]

log = logging.getLogger("inferscope")

_MEMORY = ("Reduce batch size", "Enable gradient checkpointing", "Use mixed precision")

_OURS = {
    "data_loading": ("the program waits for its input", ("Use more workers in the DataLoader",
                                                         "Keep the workers (persistent_workers=True)",
                                                         "Prefetch more batches (prefetch_factor)")),
    "preprocessing": ("time goes into preparing the input", ("Do it in the workers of the DataLoader, or once, before the run",
                                                             "Work on whole batches instead of single samples")),
    "memory_allocation": ("memory is nearly used up", _MEMORY),
    "gpu_transfer": ("memory of the GPU is nearly used up, or time goes into copies to and from it", _MEMORY),
    "cpu_computation": ("time goes into computing on the processor", ("Look where it goes: inferscope run",
                                                                      "Replace loops over elements by operations on arrays")),
    "i_o_operation": ("time goes into reading and writing files", ("Read larger pieces, and fewer files",
                                                                   "Keep what is read again in memory")),
    "network_latency": ("the program waits for the network", ("Ask for several things at once", "Keep connections open")),
    "synchronization": ("threads or devices wait for each other", ("Synchronize with the GPU once a step at most",
                                                                   "Do not read values of tensors (.item()) in the loop")),
}


class _Types(enum.EnumMeta):
    """What an Enum needs to grow: enum itself makes members with their class only."""

    def __contains__(cls, value):
        return isinstance(value, cls) or isinstance(value, str) and value in cls._value2member_map_


class BottleneckType(enum.Enum, metaclass=_Types):
    """What holds a program up."""

    DATA_LOADING = "data_loading"
    PREPROCESSING = "preprocessing"
    MEMORY_ALLOCATION = "memory_allocation"
    GPU_TRANSFER = "gpu_transfer"
    CPU_COMPUTATION = "cpu_computation"
    I_O_OPERATION = "i_o_operation"
    NETWORK_LATENCY = "network_latency"
    SYNCHRONIZATION = "synchronization"

    @property
    def description(self):
        return _descriptions[self.value]

    @classmethod
    def _missing_(cls, value):
        if not isinstance(value, str):
            return None
        plugins.load_plugins()  # it may be one of theirs
        return cls._value2member_map_.get(value)

    @classmethod
    def register(cls, value, description=""):
        """A new member, or the one of this value that there is; its name is the value in capitals."""
        if not isinstance(value, str) or not re.fullmatch(r"[a-z][a-z0-9_]{0,63}", value):
            raise ValueError("%r cannot be a bottleneck type: small letters, digits and _, beginning with a letter" % (value,))
        if not isinstance(description, str):
            raise TypeError("the description of a bottleneck type is a text, not %s" % type(description).__name__)
        with _lock:
            known = cls._value2member_map_.get(value)
            if known is None:
                _descriptions[value] = description
                return _added(cls, value)
            if description and known.description != description:
                raise ValueError("%r is a bottleneck type already: %s" % (value, known.description or "one without a description"))
        return known


def _added(cls, value):
    """A member as enum makes them; its tables are the same from CPython 3.9 on."""
    member = object.__new__(cls)
    member._name_, member._value_, member.__objclass__ = value.upper(), value, cls
    member._sort_order_ = len(cls._member_names_)
    type.__setattr__(cls, member.name, member)  # from 3.12 on members are found as attributes only
    cls._member_map_[member.name] = cls._value2member_map_[value] = member
    cls._member_names_.append(member.name)
    return member


_lock = threading.Lock()
_descriptions = {value: description for value, (description, _) in _OURS.items()}

def register_bottleneck_type(name, description=""):
    """Makes BottleneckType know one more, which is given."""
    return BottleneckType.register(name, description)


# ---- What can be done ---------------------------------------------------------------------

_strategies = {value: list(texts) for value, (_, texts) in _OURS.items()}
_failed = set()


def _texts(strategy, what):
    if isinstance(strategy, str):
        return [strategy]
    if isinstance(strategy, (list, tuple)) and all(isinstance(text, str) for text in strategy):
        return list(strategy)
    raise TypeError("%s is a text or a list of texts, not %r" % (what, strategy))


def register_optimization_strategy(type, strategy):
    """Adds to what optimization_suggestions() says about a type: a text, several, or a function.

    The function gets a dictionary (what is known of the bottleneck; it may be empty) and gives a text, several or None.
    """
    value = BottleneckType(type).value
    found = [strategy] if callable(strategy) else _texts(strategy, "a strategy")
    _strategies.setdefault(value, []).extend(text for text in found if text not in _strategies.get(value, []))


def _ask(strategy, context):
    try:
        answer = strategy(dict(context))
        return [] if answer is None else _texts(answer, "what a strategy gives")
    except Exception as error:
        if strategy not in _failed:
            _failed.add(strategy)
            log.warning("the optimization strategy %s failed, and is left out: %s: %s", getattr(strategy, "__name__", strategy),
                        type(error).__name__, error)
        return []


def optimization_suggestions(type, context=None):
    """What to try about a type of bottleneck, as texts: ours first, then what was registered, none twice.

    A strategy that fails is logged once and says nothing.
    """
    value = BottleneckType(type).value
    plugins.load_plugins()
    texts = []
    for strategy in list(_strategies.get(value, ())):
        texts += _ask(strategy, context or {}) if callable(strategy) else [strategy]
    return list(dict.fromkeys(texts))
