#!/usr/bin/env python3
"""Writes the linker's version script for one double: export-map.py OUTPUT NODE (PATTERN... | --symbols FILE RELEASE)

With --symbols, only the functions that the release has by FILE are exported, so that dlsym() finds no other.
"""

import sys
from pathlib import Path


def release_of(text):
    major, minor = text.split(".")
    return int(major) * 100 + int(minor)


def symbols_of(path, release):
    for line in Path(path).read_text().splitlines():
        if line and not line.startswith("#"):
            name, since = line.split()
            if release_of(since) <= release_of(release):
                yield name


def main():
    output, node, *rest = sys.argv[1:]
    names = list(symbols_of(rest[1], rest[2])) if rest[0] == "--symbols" else rest
    lines = "".join(f"\t\t{name};\n" for name in names)
    Path(output).write_text(f"{node} {{\n\tglobal:\n{lines}\tlocal:\n\t\t*;\n}};\n")


if __name__ == "__main__":
    main()
