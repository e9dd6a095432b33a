#!/usr/bin/env python3
"""Classifies sentences with a small transformer: PyTorch, CPU.

    transformer.py [--steps N] [--threads N]
    inferscope run --trace transformer.sbt -- python3 transformer.py

A step is what a server does for a batch: split eight sentences into word pieces in Python, pad them into a tensor, run two
layers of attention, take the best class.  Weights and sentences come from a fixed seed: the classes mean nothing, and are
always the same.
"""

import argparse
import random
import re
import time
import zlib

import torch
import torch.nn.functional as F
from torch import nn

try:
    from inferscope import mark_event, scope
except ImportError:  # without InferScope the marks do nothing
    from contextlib import nullcontext as scope

    def mark_event(name, metadata=None):
        pass

LAYERS, WIDTH, HEADS, CLASSES = 2, 64, 4, 10
BATCH, LENGTH = 8, 32
WARM_UP = 20

WORDS = """the of and a to in is it where time goes slow fast model kernel memory thread waits for cache because light cold
river stone moves sleeps never only when why asks answers data queue batch token layer head copy stream clock wakes""".split()
ENDINGS = ["", "", "", "s", "ing", "ed", "er", "less", "ness", "ly"]


def sentences(seed, count):
    """Sentences of 12 to 24 words; the endings make words that no vocabulary has in one piece."""
    source = random.Random(seed)
    for _ in range(count):
        words = [source.choice(WORDS) + source.choice(ENDINGS) for _ in range(source.randint(12, 24))]
        yield " ".join(words).capitalize() + source.choice(".?!")


class Tokenizer:
    """Greedy word pieces: the longest piece that fits, then the rest of the word."""

    PAD, UNKNOWN = 0, 1

    def __init__(self):
        pieces = ["[pad]", "[unknown]", *WORDS, *"abcdefghijklmnopqrstuvwxyz.?!"]
        pieces += ["##" + piece for piece in ("s", "ing", "ed", "er", "less", "ness", "ly", *"abcdefghijklmnopqrstuvwxyz")]
        self.ids = {piece: number for number, piece in enumerate(dict.fromkeys(pieces))}

    def __len__(self):
        return len(self.ids)

    def word(self, word):
        found, start = [], 0
        while start < len(word):
            for end in range(len(word), start, -1):
                number = self.ids.get(("##" if start else "") + word[start:end])
                if number is not None:
                    break
            else:
                return [self.UNKNOWN]
            found.append(number)
            start = end
        return found

    def encode(self, text):
        ids = []
        for word in re.findall(r"\w+|[^\w\s]", text.lower()):
            ids += self.word(word)
        return ids[:LENGTH]

    def batch(self, texts):
        rows = [self.encode(text) for text in texts]
        return torch.tensor([row + [self.PAD] * (LENGTH - len(row)) for row in rows])


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm_attention, self.norm_network = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.query_key_value = nn.Linear(WIDTH, 3 * WIDTH)
        self.project = nn.Linear(WIDTH, WIDTH)
        self.network = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def attend(self, x, mask):
        batch, length, _ = x.shape
        heads = self.query_key_value(x).view(batch, length, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(heads[0], heads[1], heads[2], attn_mask=mask)
        return self.project(mixed.transpose(1, 2).reshape(batch, length, WIDTH))

    def forward(self, x, mask):
        x = x + self.attend(self.norm_attention(x), mask)
        return x + self.network(self.norm_network(x))


class Classifier(nn.Module):
    def __init__(self, vocabulary):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, CLASSES)

    def forward(self, ids):
        words = ids != Tokenizer.PAD
        x = self.tokens(ids) + self.positions(torch.arange(LENGTH))
        for number, block in enumerate(self.blocks):
            with scope(f"layer {number}"):
                x = block(x, words[:, None, None, :])
        count = words.sum(1, keepdim=True)
        return self.head((self.norm(x) * words[:, :, None]).sum(1) / count)


class Server:
    """The model with what is around it; step() answers one batch."""

    def __init__(self):
        torch.manual_seed(1)
        self.tokenizer = Tokenizer()
        self.model = Classifier(len(self.tokenizer)).eval()
        self.texts = list(sentences(seed=1, count=50 * BATCH))

    @torch.inference_mode()
    def step(self, number):
        with scope("step"):
            first = number * BATCH % len(self.texts)
            with scope("tokenize"):
                ids = self.tokenizer.batch(self.texts[first:first + BATCH])
            with scope("forward"):
                logits = self.model(ids)
            with scope("pick"):
                return logits.argmax(1).tolist()


def main():
    parser = argparse.ArgumentParser(description="Classifies sentences with a small transformer.")
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--threads", type=int, default=1, help="of PyTorch")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)

    server = Server()
    for number in range(WARM_UP):
        server.step(number)
    mark_event("ready", metadata={"steps": options.steps, "parameters": sum(p.numel() for p in server.model.parameters())})
    checksum, start = 0, time.perf_counter()
    for number in range(options.steps):
        checksum = zlib.crc32(bytes(server.step(number)), checksum)
    seconds = time.perf_counter() - start
    print(f"{options.steps} steps of {BATCH} sentences, classes {checksum:08x}, {options.steps / seconds:.0f} steps a second")


if __name__ == "__main__":
    main()
