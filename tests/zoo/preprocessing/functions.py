"""Preprocessing functions, each with one known bottleneck, and what would be a cure: `ROWS`.

`held`: written after the last threshold was set, and none was changed for what came out.
"""

import bz2
import collections
import csv
import hashlib
import html
import io
import itertools
import json
import math
import os
import pickle
import re
import tempfile
import time
from dataclasses import dataclass
from typing import Any, Callable, Optional

import numpy as np
import torch


@dataclass
class Row:
    name: str
    bottleneck: str                    # the first that is named; "" for none
    function: Callable[[Any], Any]
    sample: Callable[[], Any]
    kind: str = ""                     # of the suggestion that is followed
    fixed: Optional[Callable[[Any], Any]] = None  # what a cure that cannot be tried would be
    held: bool = False


def numbers(count, seed=1):
    return np.random.RandomState(seed).rand(count)


def text(words, seed=1):
    draw = np.random.RandomState(seed)
    return " ".join("w%d," % word if word % 7 else "The" for word in draw.zipf(1.3, words) % 5000)


# ---- Quadratic -----------------------------------------------------------------------------------


def dedupe(items):
    seen = []
    for item in items:
        if item not in seen:
            seen.append(item)
    return seen


def ranks(values):
    return (values[:, None] > values[None, :]).sum(1)


def ranks_sorted(values):
    order = np.argsort(values)
    result = np.empty(len(values), dtype=np.int64)
    result[order] = np.arange(len(values))
    return result


def grown(rows):
    result = np.empty((0, rows.shape[1]))
    for row in rows:
        result = np.concatenate([result, row[None]])
    return result


def consumed(line):
    found = []
    while line:
        head, line = line[:8], line[8:]
        found.append(len(head))
    return found


def queue_of_list(items):
    items, result = list(items), []
    while items:
        result.append(items.pop(0))
    return result


def queue_of_deque(items):
    items, result = collections.deque(items), []
    while items:
        result.append(items.popleft())
    return result


def prefix_sums(items):
    return [sum(items[:end]) for end in range(1, len(items) + 1)]


def nearest(values):
    away = np.abs(values[:, None] - values[None, :])
    np.fill_diagonal(away, np.inf)
    return away.min(1)


def nearest_sorted(values):
    order = np.argsort(values)
    gaps = np.diff(values[order], prepend=-np.inf, append=np.inf)
    result = np.empty_like(values)
    result[order] = np.minimum(gaps[:-1], gaps[1:])
    return result


# ---- Python for each number ----------------------------------------------------------------------


def clipped(values):
    result = np.empty_like(values)
    for i in range(len(values)):
        result[i] = min(max(values[i] * 2 - 0.5, 0.0), 1.0)
    return result


def gamma(image):
    result = image.copy()
    for y in range(image.shape[0]):
        for x in range(image.shape[1]):
            for c in range(3):
                result[y, x, c] = 255 * (image[y, x, c] / 255) ** 0.45
    return result


def rows_of_tensor(batch):
    return torch.stack([(row - row.mean()) / (row.std() + 1e-6) for row in batch])


def all_rows(batch):
    return (batch - batch.mean(1, keepdim=True)) / (batch.std(1, keepdim=True) + 1e-6)


def squash(value):
    return value / (1 + abs(value))


def features(record):
    return {key: [math.log1p(value) for value in values] for key, values in record.items()}


def features_of_arrays(record):
    return {key: np.log1p(values).tolist() for key, values in record.items()}


def one_hot(labels):
    result = np.zeros((len(labels), 10))
    for i, label in enumerate(labels):
        result[i, label] = 1.0
    return result


def thresholded(values):
    return torch.tensor([1.0 if float(value) > 0.5 else 0.0 for value in values])


# ---- The interpreter's lock ----------------------------------------------------------------------


def tokens(line):
    known = {}
    return [known.setdefault(word, len(known)) for word in re.findall(r"\w+", line.lower())]


def table(content):
    return [row[1] for row in csv.reader(io.StringIO(content))]


def cleaned(content):
    return " ".join(word.strip(",.").lower() for word in content.split())


def documents():
    draw = np.random.RandomState(2)
    return json.dumps([{"id": int(i), "text": "row %d" % i, "score": float(s)} for i, s in enumerate(draw.rand(8000))])


def grouped(pairs):
    groups = {}
    for key, value in pairs:
        groups.setdefault(key.upper(), []).append(value.title())
    return groups


# ---- Memory --------------------------------------------------------------------------------------


def temporaries(batch):
    return (batch * 2.0 + 1.0) / 3.0 - batch * 0.5


KEPT = {}


def kept(name, like, shape=None, dtype=None):
    """The same memory each time."""
    if name not in KEPT:
        KEPT[name] = torch.empty_like(like) if isinstance(like, torch.Tensor) else np.empty(shape or like.shape, dtype or like.dtype)
    return KEPT[name]


def without_temporaries(batch):
    library, result, half = torch if isinstance(batch, torch.Tensor) else np, kept("result", batch), kept("half", batch)
    library.multiply(batch, 2.0, out=result)
    result += 1.0
    result /= 3.0
    library.multiply(batch, 0.5, out=half)
    result -= half
    return result


def upcast(images):
    return images.astype(np.float64) / 255.0 - 0.5


def kept_upcast(images):
    result = kept("upcast", images, dtype=np.float32)
    np.divide(images, np.float32(255), out=result)
    result -= np.float32(0.5)
    return result


def kept_channels_last(batch):
    result = kept("last", batch, shape=(batch.shape[0], *batch.shape[2:], batch.shape[1]))
    np.multiply(batch.transpose(0, 2, 3, 1), np.float32(2), out=result)
    return result


def channels_last(batch):
    return np.ascontiguousarray(batch.transpose(0, 2, 3, 1)) * np.float32(2)


def mirrored(batch):
    return np.concatenate([batch, batch[..., ::-1]], axis=-1)


def kept_mirrored(batch):
    result = kept("mirrored", batch, shape=(*batch.shape[:-1], 2 * batch.shape[-1]))
    return np.concatenate([batch, batch[..., ::-1]], axis=-1, out=result)


def halves(batch):
    return torch.relu(batch - 0.5) + batch.clamp(0.1, 0.9)


def kept_halves(batch):
    result, low = kept("halves", batch), kept("low", batch)
    torch.clamp(batch, 0.1, 0.9, out=low)
    torch.sub(batch, 0.5, out=result)
    return result.relu_().add_(low)


def kept_doubled(batch):
    result = kept("doubled", batch)
    np.sqrt(batch, out=result)
    result *= batch
    result += 1
    return result


def kept_joined_rows(batch):
    if "joined" not in KEPT:
        KEPT["joined"] = batch.new_empty((batch.shape[0], 2 * batch.shape[1], *batch.shape[2:]))
    result, half = KEPT["joined"], batch.shape[1]
    result[:, :half] = batch
    torch.add(batch, 1, out=result[:, half:])
    return result


# ---- Much work for little data -------------------------------------------------------------------


def fractal(grid):
    value, inside = grid.copy(), np.zeros(grid.shape)
    for _ in range(200):
        value = value * value - 0.7 + 0.2 * grid
        inside += np.abs(value) < 2
        np.clip(value, -4, 4, out=value)
    return inside


def diffused(image):
    for _ in range(300):
        image = 0.5 * image + 0.125 * (np.roll(image, 1, 0) + np.roll(image, -1, 0) + np.roll(image, 1, 1) + np.roll(image, -1, 1))
    return image


def smoothed(values):
    for _ in range(400):
        values = np.convolve(values, (0.25, 0.5, 0.25), "same")
    return values


def packed():
    return bz2.compress(np.arange(200_000, dtype=np.int32).tobytes())


def noisy_fractal(matrix):
    return fractal(matrix) + np.random.rand(*matrix.shape)


# ---- Files and waiting ---------------------------------------------------------------------------


def small_file(size):
    path = os.path.join(tempfile.gettempdir(), "inferscope-zoo-%d" % os.getuid())
    if not os.path.exists(path) or os.path.getsize(path) != size:
        with open(path, "wb") as file:
            file.write(bytes(size))
    return path


def small_reads(path):
    total = 0
    with open(path, "rb", buffering=0) as file:
        while True:
            piece = file.read(128)
            if not piece:
                return total
            total += len(piece)


def one_read(path):
    with open(path, "rb", buffering=0) as file:
        return len(file.read())


def remote(value):
    time.sleep(0.004)
    return value * 2


# ---- Nothing wrong -------------------------------------------------------------------------------

MEAN, STD = torch.tensor([0.48, 0.45, 0.40]).reshape(3, 1, 1), torch.tensor([0.22, 0.22, 0.22]).reshape(3, 1, 1)
TABLE = (255 * (np.arange(256) / 255) ** 0.45).astype(np.uint8)


def standard(image):
    return (image - MEAN) / STD


def cropped(image):
    return np.ascontiguousarray(image[16:240, 16:240, ::-1])


def looked_up(image):
    return TABLE[image]


def padded(lists):
    longest = max(map(len, lists))
    return torch.tensor([row + [0] * (longest - len(row)) for row in lists])


def mixed(batch):
    return torch.flip(batch, (-1,)).mul_(2).sub_(1)


def image(height=256, width=256, seed=1):
    return np.random.RandomState(seed).randint(0, 256, (height, width, 3), dtype=np.uint8)


def batch32(count, seed=1):
    return np.random.RandomState(seed).rand(count, 3, 224, 224).astype(np.float32)


ROWS = [
    Row("dedupe", "inefficient_algorithm", dedupe, lambda: list(range(2500)), "algorithm", lambda items: list(dict.fromkeys(items))),
    Row("ranks", "inefficient_algorithm", ranks, lambda: numbers(2500), "algorithm", ranks_sorted),
    Row("clipped", "not_vectorised", clipped, lambda: numbers(20_000), "vectorise", lambda v: np.clip(v * 2 - 0.5, 0.0, 1.0)),
    Row("gamma", "not_vectorised", gamma, lambda: image(48, 48).astype(np.float64), "vectorise", lambda i: 255 * (i / 255) ** 0.45),
    Row("json", "gil_bound", json.loads, documents, "processes"),
    Row("tokens", "gil_bound", tokens, lambda: text(20_000), "processes"),
    Row("temporaries", "memory_intensive", temporaries, lambda: batch32(50).astype(np.float64), "chunks", without_temporaries),
    Row("temporaries_torch", "memory_intensive", temporaries, lambda: torch.from_numpy(batch32(60)), "chunks",
        without_temporaries),
    Row("fractal", "cacheable", fractal, lambda: numbers(128 * 128).reshape(128, 128), "cache"),
    Row("diffused", "cacheable", diffused, lambda: numbers(96 * 96).reshape(96, 96), "cache"),
    Row("noisy_fractal", "cpu_intensive", noisy_fractal, lambda: numbers(128 * 128).reshape(128, 128)),
    Row("small_reads", "io_bound", small_reads, lambda: small_file(1 << 20), "io", one_read),
    Row("remote", "waiting", remote, lambda: 21, "threads"),
    Row("standard", "", standard, lambda: torch.rand(3, 224, 224)),
    Row("cropped", "", cropped, image),
    Row("looked_up", "", looked_up, image),
    Row("ranks_sorted", "", ranks_sorted, lambda: numbers(2500)),
    # Held out at first; some of them have changed a threshold since.
    Row("grown", "inefficient_algorithm", grown, lambda: numbers(2500 * 32).reshape(2500, 32), "algorithm", np.array),
    Row("consumed", "inefficient_algorithm", consumed, lambda: "x" * 200_000, "algorithm",
        lambda line: [len(line[i:i + 8]) for i in range(0, len(line), 8)]),
    Row("queue_of_list", "inefficient_algorithm", queue_of_list, lambda: list(range(30_000)), "algorithm", queue_of_deque),
    Row("rows_of_tensor", "not_vectorised", rows_of_tensor, lambda: torch.rand(1000, 16), "vectorise", all_rows),
    Row("vectorize", "not_vectorised", np.vectorize(squash), lambda: numbers(30_000), "vectorise", squash),
    Row("features", "not_vectorised", features, lambda: {name: list(numbers(4000)) for name in "abc"}, "vectorise", features_of_arrays),
    Row("table", "gil_bound", table, lambda: "\n".join("%d,%d,x" % (i, i * i) for i in range(20_000)), "processes"),
    Row("cleaned", "gil_bound", cleaned, lambda: text(30_000), "processes"),
    Row("unpickled", "gil_bound", pickle.loads, lambda: pickle.dumps([(i, str(i)) for i in range(20_000)]), "processes"),
    Row("upcast", "memory_intensive", upcast, lambda: np.stack([image()] * 60), "chunks", kept_upcast),
    Row("channels_last", "memory_intensive", channels_last, lambda: batch32(64), "chunks", kept_channels_last),
    Row("unpacked", "cacheable", bz2.decompress, packed, "cache"),
    Row("eigen", "cacheable", np.linalg.eigvals, lambda: numbers(16 * 48 * 48).reshape(16, 48, 48), "cache"),
    Row("mirrored", "memory_intensive", mirrored, lambda: batch32(48), "chunks", kept_mirrored),
    Row("halves", "memory_intensive", halves, lambda: torch.from_numpy(batch32(64)), "chunks", kept_halves),
    Row("padded", "", padded, lambda: [list(range(20 + i % 13)) for i in range(32)]),
    Row("mixed", "", mixed, lambda: torch.rand(8, 3, 64, 64)),
    Row("joined", "", lambda words: " ".join(words).encode(), lambda: text(2000).split()),
    Row("sorted_unique", "", lambda items: list(dict.fromkeys(items)), lambda: list(range(2500))),
    Row("all_rows", "", all_rows, lambda: torch.rand(1000, 16)),
    # Held out at second; of these, `doubled` has changed an estimate since.
    Row("prefix_sums", "inefficient_algorithm", prefix_sums, lambda: list(range(3000)), "algorithm",
        lambda items: list(itertools.accumulate(items)), held=True),
    Row("nearest", "inefficient_algorithm", nearest, lambda: numbers(2000), "algorithm", nearest_sorted, held=True),
    Row("one_hot", "not_vectorised", one_hot, lambda: np.arange(3000) % 10, "vectorise", lambda labels: np.eye(10)[labels], held=True),
    Row("thresholded", "not_vectorised", thresholded, lambda: torch.rand(3000), "vectorise", lambda v: (v > 0.5).float(), held=True),
    Row("grouped", "gil_bound", grouped, lambda: [("k%d" % (i % 97), "v%d" % i) for i in range(20_000)], "processes", held=True),
    Row("escaped", "gil_bound", html.unescape, lambda: "a &amp; b &lt;c&gt; &#39;d&#39; " * 8000, "processes", held=True),
    Row("doubled", "memory_intensive", lambda batch: np.sqrt(batch) * batch + 1, lambda: batch32(40), "chunks", kept_doubled),
    Row("joined_rows", "memory_intensive", lambda batch: torch.cat([batch, batch + 1], 1), lambda: torch.from_numpy(batch32(48)), "chunks",
        kept_joined_rows, held=True),
    Row("stretched", "cacheable", lambda key: hashlib.pbkdf2_hmac("sha256", key, b"salt", 20_000), lambda: b"secret" * 4, "cache", held=True),
    Row("smoothed", "cacheable", smoothed, lambda: numbers(20_000), "cache", held=True),
    Row("scaled", "", lambda image: image.astype(np.float32) / np.float32(255), lambda: image(96, 96), held=True),
    Row("one_hot_all", "", lambda labels: np.eye(10)[labels], lambda: np.arange(3000) % 10, held=True),
    Row("split", "", lambda line: line.split(), lambda: text(300), held=True),
]
