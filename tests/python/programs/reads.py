"""Reads a file four bytes at a time, each in a call of the system: what is wrong with it is known."""

import os

STEPS, RECORDS = 150, 4000


def read_records(path):
    total = 0
    with open(path, "rb", buffering=0) as file:
        for _ in range(RECORDS):
            total += len(file.read(4))
    return total


def step(path):
    return read_records(path)


def main(path):
    for _ in range(STEPS):
        step(path)


def prepare(path):
    with open(path, "wb") as file:
        file.write(bytes(4 * RECORDS))


if __name__ == "__main__":
    prepare("records")
    main("records")
    os.unlink("records")
