"""What functions are given and give back: arrays, tensors, images, texts, numbers, and lists and dictionaries of them.

Nothing here imports a library: who has made an array or a tensor has done so.
"""

import copy
import hashlib
import pickle
import sys

DEEPEST = 16                 # levels of lists in lists that are looked into
SLICED = 16                  # rows, at least, of an axis along which there are smaller inputs


class NoKey(TypeError):
    """Something whose content cannot be told from that of another."""


def _of(value, library, name):
    kind = getattr(sys.modules.get(library), name, None)
    return isinstance(kind, type) and isinstance(value, kind)


def is_array(value):
    return _of(value, "numpy", "ndarray")


def is_tensor(value):
    return _of(value, "torch", "Tensor")


def is_image(value):
    """As the images of PIL are."""
    size = getattr(value, "size", None)
    return isinstance(size, tuple) and hasattr(value, "mode") and callable(getattr(value, "tobytes", None))


def _items(value):
    return list(value.values()) if isinstance(value, dict) else value


def _is_many(value):
    return isinstance(value, (list, tuple, dict, set, frozenset))


# ---- What it is ------------------------------------------------------------------------------


def shape_of(value):
    """A tuple, as an array has it; of a list or a text how long it is; () of anything else."""
    if is_image(value):
        return tuple(value.size)
    shape = getattr(value, "shape", None)
    if shape is not None:
        try:
            return tuple(int(length) for length in shape)
        except TypeError:
            return ()
    return (len(value),) if isinstance(value, (list, tuple, dict, str, bytes, bytearray)) else ()


def _product(shape):
    count = 1
    for length in shape:
        count *= length
    return count


def elements(value, depth=0):
    """(count, numeric): how many numbers, characters or other things, and whether they are numbers that an array could hold."""
    if isinstance(value, (bool, int, float, complex)):
        return 1, True
    if isinstance(value, (str, bytes, bytearray)):
        return len(value), False
    if is_array(value):
        return int(value.size), value.dtype.kind in "biufc"
    if is_tensor(value):
        return int(value.numel()), True
    if is_image(value):
        return _product(value.size) * len(value.getbands() if hasattr(value, "getbands") else value.mode), True
    if _is_many(value) and depth < DEEPEST:
        counted = [elements(item, depth + 1) for item in _items(value)]
        return sum(count for count, _ in counted), bool(counted) and all(numeric for _, numeric in counted)
    return max(_product(shape_of(value)), 1), False


def size_bytes(value, depth=0):
    """Of the data, without what a language puts around it."""
    if isinstance(value, (bool, int, float, complex)):
        return 8
    if is_tensor(value):
        return int(value.numel()) * int(value.element_size())
    size = getattr(value, "nbytes", None)
    if isinstance(size, int) or is_array(value):
        return int(size)
    if isinstance(value, (str, bytes, bytearray)):
        return len(value)
    if is_image(value):
        return elements(value)[0]
    if _is_many(value) and depth < DEEPEST:
        return sum(size_bytes(item, depth + 1) for item in _items(value)) + 8 * len(value)
    return sys.getsizeof(value, 64)


def all_arrays(value, depth=0):
    """Whether its numbers are in arrays, tensors or images, and not in lists."""
    if _is_many(value) and depth < DEEPEST:
        return all(all_arrays(item, depth + 1) for item in _items(value))
    return is_array(value) or is_tensor(value) or is_image(value)


def on_gpu(value, depth=0):
    if is_tensor(value):
        return bool(getattr(value, "is_cuda", False))
    return _is_many(value) and depth < DEEPEST and any(on_gpu(item, depth + 1) for item in _items(value))


# ---- Copies and keys -------------------------------------------------------------------------


def copied(value):
    """A copy that shares nothing with it; raises what copying raises."""
    if is_tensor(value):
        return value.detach().clone().requires_grad_(value.requires_grad)
    if is_array(value) and not value.dtype.hasobject:
        return value.copy(order="K")
    if is_image(value) and callable(getattr(value, "copy", None)):
        return value.copy()
    if type(value) in (list, tuple):
        return type(value)(copied(item) for item in value)
    if type(value) is dict:
        return {key: copied(item) for key, item in value.items()}
    return copy.deepcopy(value)


def _feed_bits(feed, value):
    kind = value.dtype.descr if is_array(value) and value.dtype.fields else str(value.dtype)
    feed(repr((kind, tuple(value.shape), str(getattr(value, "device", "")))).encode())
    bits = _bits(value)
    if shape_of(bits)[0]:
        feed(bits if is_array(bits) else bits.cpu().numpy())


def _feed(feed, value, depth):
    feed(("<%s.%s " % (type(value).__module__, type(value).__qualname__)).encode())
    if depth > DEEPEST:
        raise NoKey("lists in lists, more than %d deep" % DEEPEST)
    if value is None or isinstance(value, (bool, int, float, complex)):
        feed(repr(value).encode())
    elif isinstance(value, (bytes, bytearray, str)):
        data = value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value
        feed(b"%d:" % len(data))
        feed(data)
    elif _plain(value):
        _feed_bits(feed, value)
    elif is_image(value):
        feed(repr((value.mode, value.size)).encode())
        feed(value.tobytes())
    elif type(value) in (list, tuple):
        feed(b"%d:" % len(value))
        for item in value:
            _feed(feed, item, depth + 1)
    elif type(value) is dict:
        feed(b"%d:" % len(value))
        for key, item in value.items():
            _feed(feed, key, depth + 1)
            _feed(feed, item, depth + 1)
    else:
        feed(pickle.dumps(value, 4))


def key_of(value):
    """A key of the content, whatever the object: equal keys are equal contents of the same type.  Raises NoKey."""
    digest = hashlib.blake2b(digest_size=20)
    try:
        _feed(digest.update, value, 0)
    except NoKey:
        raise
    except Exception as error:  # whatever a class of the user raises when it is asked for its state
        raise NoKey("%s cannot be told from another: %s" % (type(value).__name__, error)) from error
    return digest.digest()


def key_or_none(value):
    try:
        return key_of(value)
    except NoKey:
        return None


def _bits(value):
    """The content of an array or a tensor as bytes of the same library."""
    library = sys.modules["numpy" if is_array(value) else "torch"]
    flat = library.ascontiguousarray(value).reshape(-1) if is_array(value) else value.detach().contiguous().reshape(-1)
    return flat.view(library.uint8) if shape_of(flat)[0] else flat


def _plain(value):
    """Whether its content is nothing but bits."""
    if is_array(value):
        return not value.dtype.hasobject
    return is_tensor(value) and str(value.layout) == "torch.strided" and not value.is_quantized


def identical(one, other):
    """Bit by bit the same; None when that cannot be told."""
    if type(one) is not type(other):
        return False
    if _plain(one):
        if tuple(one.shape) != tuple(other.shape) or one.dtype != other.dtype:
            return False
        library = sys.modules["numpy" if is_array(one) else "torch"]
        return bool((library.array_equal if is_array(one) else library.equal)(_bits(one), _bits(other)))
    if type(one) in (list, tuple):
        return len(one) == len(other) and _all(identical(a, b) for a, b in zip(one, other))
    if type(one) is dict:
        return list(one) == list(other) and _all(identical(one[key], other[key]) for key in one)
    if isinstance(one, (str, bytes, int, bool)) or one is None:
        return one == other
    keys = key_or_none(one), key_or_none(other)
    return None if None in keys else keys[0] == keys[1]


def _all(answers):
    """False if one is, else None if one is not known."""
    known = True
    for answer in answers:
        if answer is False:
            return False
        known = known and answer is not None
    return True if known else None


def _close(library, one, other, tolerance):
    if tuple(one.shape) != tuple(other.shape) or one.dtype != other.dtype:
        return False
    if not len(str(one.dtype)) or "float" not in str(one.dtype) and "complex" not in str(one.dtype):
        return bool((one == other).all())
    return bool(library.allclose(one, other, rtol=tolerance, atol=tolerance, equal_nan=True))


def same(one, other, tolerance=1e-4):
    """The same result, but for the last digits of floating point; False also when that cannot be told."""
    if is_array(one) and is_array(other) and not one.dtype.hasobject and not other.dtype.hasobject:
        return _close(sys.modules["numpy"], one, other, tolerance)
    if is_tensor(one) and is_tensor(other):
        return _close(sys.modules["torch"], one.detach(), other.detach(), tolerance)
    if type(one) is not type(other):
        return False
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(same(a, b, tolerance) for a, b in zip(one, other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key], tolerance) for key in one)
    if isinstance(one, float):
        return one == other or abs(one - other) <= tolerance * max(abs(one), abs(other), 1.0)
    key = key_or_none(one)
    return key is not None and key == key_or_none(other)


# ---- Smaller, other and more inputs ----------------------------------------------------------


def axis_of(value):
    """Along which there can be smaller inputs: the first axis that is long enough; None: there are none."""
    if isinstance(value, dict):
        lengths = {shape_of(item)[:1] for item in value.values()}
        return 0 if len(lengths) == 1 and all(length and length[0] >= SLICED for length in lengths) else None
    if not (is_array(value) or is_tensor(value) or isinstance(value, (list, tuple, str, bytes))):
        return None
    return next((axis for axis, length in enumerate(shape_of(value)) if length >= SLICED), None)


def length_of(value, axis):
    return shape_of(next(iter(value.values())))[0] if isinstance(value, dict) else shape_of(value)[axis]


def part(value, begin, end, axis=0):
    """Rows `begin` to `end`, as a copy where it is of arrays."""
    if isinstance(value, dict):
        return {key: part(item, begin, end) for key, item in value.items()}
    piece = value[(slice(None),) * axis + (slice(begin, end),)] if axis else value[begin:end]
    return copied(piece) if is_array(piece) or is_tensor(piece) else piece


def varied(value, number):
    """Another input of the same kind, from the same values: moved on, and for some of them one value in place of many.

    So that what is computed over all of a batch, such as a mean or a maximum, differs between its items.
    """
    if number == 0:
        return copied(value)
    if is_array(value) or is_tensor(value):
        library = sys.modules["numpy" if is_array(value) else "torch"]
        flat = (value if is_array(value) else value.detach()).reshape(-1)
        count = shape_of(flat)[0]
        flat = library.roll(flat, number * 37 % max(count, 1))
        flat[:count * (number % 4) // 5] = flat[-1:]
        return flat.reshape(shape_of(value))
    if isinstance(value, (str, list, tuple, bytes)) and len(value) > 1:
        at = number * 37 % len(value)
        return value[at:] + value[:at]
    if type(value) is dict:
        return {key: varied(item, number) for key, item in value.items()}
    return copied(value)


def stacked(items):
    """A batch of them, with an axis of its own in front; None where there is no such thing."""
    if all(map(is_array, items)):
        return sys.modules["numpy"].stack(items)
    if all(map(is_tensor, items)):
        return sys.modules["torch"].stack(items)
    if all(type(item) is dict and item.keys() == items[0].keys() for item in items):
        columns = {key: stacked([item[key] for item in items]) for key in items[0]}
        return None if any(column is None for column in columns.values()) else columns
    return None


def unstacked(batch, count):
    """The results of the items of a batch; None when it is not of so many."""
    if is_array(batch) or is_tensor(batch) or isinstance(batch, list):
        return [batch[i] for i in range(count)] if shape_of(batch)[:1] == (count,) else None
    if isinstance(batch, (tuple, dict)) and batch:
        columns = [unstacked(column, count) for column in _items(batch)]
        if any(column is None for column in columns):
            return None
        if isinstance(batch, dict):
            return [dict(zip(batch, row)) for row in zip(*columns)]
        return [tuple(row) for row in zip(*columns)]
    return None


def repeated(value, count):
    """`count` times as long along the first axis, as Tensor.repeat(count, 1, ...) has it; one of an array gets an axis in front."""
    if is_tensor(value):
        return value.unsqueeze(0) if count == 1 else value.repeat(count, *([1] * (value.dim() - 1)))
    if is_array(value):
        numpy = sys.modules["numpy"]
        return value[None] if count == 1 else numpy.tile(value, (count,) + (1,) * (value.ndim - 1))
    if isinstance(value, (list, tuple, str, bytes)):
        return value * count
    if type(value) is dict:
        return {key: repeated(item, count) for key, item in value.items()}
    return [value] * count


def piled(value, count):
    """`count` of it with an axis of its own in front; None where there is no such thing."""
    if is_tensor(value):
        return value.unsqueeze(0).repeat(count, *([1] * value.dim()))
    if is_array(value):
        return sys.modules["numpy"].tile(value[None], (count,) + (1,) * value.ndim)
    if type(value) is dict:
        columns = {key: piled(item, count) for key, item in value.items()}
        return None if any(column is None for column in columns.values()) else columns
    return None
