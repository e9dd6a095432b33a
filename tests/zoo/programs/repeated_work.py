#!/usr/bin/env python3
"""Tokenises the same system prompt again for each request.

Fixed: remembers the result.
"""

import functools
import re

from harness import Run, network, scope
import torch

PROMPT = "You are a careful assistant. Answer in the user's language, and say when you do not know. " * 330
WIDTH = 512


def tokenise(text):
    tokens = []
    for word in re.findall(r"\w+|[^\w\s]", text.lower()):
        value = 0
        for letter in word:
            value = (value * 31 + ord(letter)) % 50_021
        tokens.append(value)
    return tokens


def main():
    run = Run(__doc__, steps=300, seconds=2)
    model = network(WIDTH, 8)
    table = torch.rand(50_021, 16)
    encode = functools.lru_cache(tokenise) if run.fixed else tokenise
    for number in run:
        with scope("step"):
            tokens = encode(PROMPT) + [number % 100]
            batch = table[torch.tensor(tokens[-1024:])].reshape(-1, WIDTH)
            result = model(batch)
            run.add(",".join(map(str, result.argmax(1).tolist())))
    run.finish()


if __name__ == "__main__":
    main()
