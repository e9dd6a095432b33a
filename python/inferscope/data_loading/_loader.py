"""Loaders like the user's: the same dataset, samplers, collate function and so on, and nothing of the user's changed by using them."""

import contextlib
import copy
import os
import random
import sys


def torch_data():
    """torch.utils.data; who has a loader has it already."""
    import torch.utils.data
    return torch.utils.data


def is_loader(loader):
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(loader, torch.utils.data.DataLoader)


def is_iterable(dataset):
    return isinstance(dataset, torch_data().IterableDataset)


# ---- Settings ------------------------------------------------------------------------------


def _same_batches(loader):
    """Whether the batches are made as torch makes them by itself."""
    batches = loader.batch_sampler
    return type(batches) is torch_data().BatchSampler and batches.sampler is loader.sampler and batches.batch_size == loader.batch_size


def settings_of(loader):
    """What to give to DataLoader() for the same loader."""
    settings = {"dataset": loader.dataset, "num_workers": loader.num_workers, "collate_fn": loader.collate_fn,
                "pin_memory": loader.pin_memory, "timeout": loader.timeout, "worker_init_fn": loader.worker_init_fn,
                "generator": loader.generator, "persistent_workers": loader.persistent_workers}
    if loader.num_workers:
        settings.update(prefetch_factor=loader.prefetch_factor, multiprocessing_context=loader.multiprocessing_context)
    for name in ("in_order", "pin_memory_device", "worker_method"):
        if hasattr(loader, name):
            settings[name] = getattr(loader, name)
    if is_iterable(loader.dataset):
        settings.update(batch_size=loader.batch_size, drop_last=loader.drop_last)
    elif loader.batch_sampler is None:
        settings.update(batch_size=None, sampler=loader.sampler)
    elif _same_batches(loader):
        settings.update(batch_size=loader.batch_size, drop_last=loader.drop_last, sampler=loader.sampler)
    else:
        settings["batch_sampler"] = loader.batch_sampler
    return settings


def with_workers(settings, workers, prefetch=None):
    """The same with another number of workers; what goes with workers only comes and goes with them."""
    changed = dict(settings, num_workers=workers)
    if workers == 0:
        changed.update(persistent_workers=False, timeout=0)
        for name in ("prefetch_factor", "multiprocessing_context"):
            changed.pop(name, None)
    elif prefetch is not None:
        changed["prefetch_factor"] = prefetch
    return changed


def size_of_batches(loader):
    """The batch size, also of a batch sampler that says it; None when nobody does."""
    if loader.batch_size is not None:
        return loader.batch_size
    size = getattr(loader.batch_sampler, "batch_size", None)
    return size if isinstance(size, int) and not isinstance(size, bool) and size > 0 else None


# ---- Samplers ------------------------------------------------------------------------------


class Logged:
    """A batch sampler that remembers how many samples each batch was of; goes round as often as it is asked to."""

    def __init__(self, batches, rounds=1):
        self.sizes, self._batches, self._rounds = [], batches, rounds

    def __iter__(self):
        for _ in range(self._rounds):
            empty = True
            for batch in self._batches:
                empty = False
                try:
                    self.sizes.append(len(batch))
                except TypeError:
                    self.sizes.append(1)
                yield batch
            if empty:
                return

    def __len__(self):
        return len(self._batches) * self._rounds


class Walk:
    """Indices in an order as good as random, all of them before any comes again; goes on where the run before has stopped."""

    def __init__(self, count):
        self.count, self._at, self._stride = count, 0, max(1, int(count * 0.6180339887))
        while _common(self._stride, count) != 1:
            self._stride += 1

    def take(self, size):
        first, self._at = self._at, self._at + size
        return [(place * self._stride) % self.count for place in range(first, first + size)]

    @property
    def wrapped(self):
        return self._at > self.count


def _common(one, other):
    while other:
        one, other = other, one % other
    return one


class Drawn:
    """A batch sampler without end, of the given sizes in turn."""

    def __init__(self, walk, sizes):
        self.sizes, self._walk, self._turn = [], walk, list(sizes)

    def __iter__(self):
        while True:
            for size in self._turn:
                self.sizes.append(size)
                yield self._walk.take(size)

    def __len__(self):
        return 1 << 40


def copied_sampler(sampler, dataset):
    """A copy with a state of its own; the dataset is not copied with it.  None when it does not let itself be copied."""
    memo = {id(dataset): dataset}
    for name in ("data_source", "dataset"):
        source = getattr(sampler, name, None)
        if source is not None:
            memo[id(source)] = source
    try:
        return copy.deepcopy(sampler, memo)
    except Exception:
        return None


def apart(settings, rounds=1):
    """The settings with samplers that are copies, and the batch sampler's log; notes of what could not be.

    Returns (settings, log or None, notes)."""
    settings, notes, log = dict(settings), [], None
    dataset = settings["dataset"]
    if is_iterable(dataset):
        return settings, None, own_iterator(settings)
    for name in ("sampler", "batch_sampler"):
        if name in settings:
            copied = copied_sampler(settings[name], dataset)
            if copied is None:
                notes.append("The %s cannot be copied, so its own state has gone on." % name.replace("_", " "))
            settings[name] = settings[name] if copied is None else copied
    if settings.get("batch_size", 1) is None:
        settings["sampler"] = log = Logged(settings["sampler"], rounds)
    else:
        if "batch_sampler" not in settings:
            settings["batch_sampler"] = torch_data().BatchSampler(settings.pop("sampler"), settings.pop("batch_size"),
                                                                  settings.pop("drop_last"))
        settings["batch_sampler"] = log = Logged(settings["batch_sampler"], rounds)
    return settings, log, notes


def own_iterator(settings):
    """A dataset that is its own iterator would be used up in this process: a copy takes its place in the settings, or a note comes back."""
    dataset = settings["dataset"]
    if settings["num_workers"] or not hasattr(dataset, "__next__"):
        return []
    try:
        settings["dataset"] = copy.deepcopy(dataset)
        return []
    except Exception:
        return ["The dataset is its own iterator and cannot be copied, so it has gone on by what was measured."]


# ---- States --------------------------------------------------------------------------------


def _generators(settings):
    found = [settings.get("generator")]
    for name in ("sampler", "batch_sampler"):
        sampler = settings.get(name)
        found += [getattr(sampler, "generator", None), getattr(getattr(sampler, "sampler", None), "generator", None)]
    return [one for one in found if hasattr(one, "get_state") and hasattr(one, "set_state")]


@contextlib.contextmanager
def states_kept(settings):
    """Random numbers go on afterwards as if nothing had been: of Python, numpy, torch and the loader's own generators."""
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    python_state = random.getstate()
    numpy_state = numpy.random.get_state() if numpy is not None else None
    torch_state = torch.get_rng_state() if torch is not None else None
    states = [(one, one.get_state()) for one in _generators(settings)]
    try:
        yield
    finally:
        random.setstate(python_state)
        if numpy_state is not None:
            numpy.random.set_state(numpy_state)
        if torch_state is not None:
            torch.set_rng_state(torch_state)
        for generator, state in states:
            generator.set_state(state)


def shards_itself(dataset, settings):
    """Whether an iterable dataset asks which worker it is in, as far as its code tells."""
    if settings.get("worker_init_fn") is not None or type(dataset).__name__.endswith("SerializationWrapper"):
        return True
    return any("get_worker_info" in getattr(getattr(vars(cls).get(name), "__code__", None), "co_names", ())
               for cls in type(dataset).__mro__ for name in vars(cls))


def cores():
    """Processors that this process may use: affinity and the quota of its group."""
    try:
        allowed = float(len(os.sched_getaffinity(0)))
    except AttributeError:
        allowed = float(os.cpu_count() or 1)
    try:
        with open("/sys/fs/cgroup/cpu.max") as file:
            quota, period = file.read().split()[:2]
        if quota != "max":
            allowed = min(allowed, float(quota) / float(period))
    except (OSError, ValueError):
        pass
    return max(allowed, 0.1)
