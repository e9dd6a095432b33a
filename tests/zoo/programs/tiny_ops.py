#!/usr/bin/env python3
"""Updates 1,000 rows one after the other: thousands of operators on a few values each.

Fixed: the same on the whole table.
"""

from harness import Run, network, scope
import torch

ROWS, WIDTH = 1000, 16


def update_rows(table, scale):
    rows = []
    for row in table:
        rows.append(torch.clamp(row * scale + 1, -8, 8))
    return torch.stack(rows)


def update_table(table, scale):
    return torch.clamp(table * scale + 1, -8, 8)


def main():
    run = Run(__doc__, steps=130, seconds=2)
    model = network(512, 6)
    table = torch.randint(-4, 4, (ROWS, WIDTH)).float()
    batch = torch.rand(64, 512)
    update = update_table if run.fixed else update_rows
    for _ in run:
        with scope("step"):
            table = update(table, 0.5)
            classes = model(batch).argmax(1)
            run.add(f"{table.double().sum().item():.3f} {classes.tolist()}")
    run.finish()


if __name__ == "__main__":
    main()
