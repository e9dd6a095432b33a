#!/usr/bin/env python3
"""Logs every item at debug level into a file.

Fixed: the level is info.
"""

import logging
import tempfile

from harness import Run, scope
import numpy as np

ITEMS = 400
log = logging.getLogger("service")


def score(items, weights):
    values = np.maximum(items @ weights, 0)
    return (values @ weights.T).sum(axis=1)


def report(scores):
    for place, value in enumerate(scores.tolist()):
        log.debug("item %d scored %.4f", place, value)
    log.info("%d items", len(scores))


def main():
    run = Run(__doc__, steps=180, seconds=2)
    generator = np.random.default_rng(7)
    items = generator.random((ITEMS, 480), dtype=np.float32)
    weights = generator.standard_normal((480, 480), dtype=np.float32)
    with tempfile.TemporaryDirectory() as folder:
        handler = logging.FileHandler(f"{folder}/log")
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        log.addHandler(handler)
        log.setLevel(logging.INFO if run.fixed else logging.DEBUG)
        for _ in run:
            with scope("step"):
                scores = score(items, weights)
                report(scores)
                run.add(float(scores.mean(dtype=np.float64)))
        handler.close()
    run.finish()


if __name__ == "__main__":
    main()
