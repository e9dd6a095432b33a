#!/usr/bin/env python3
"""Copies each library under the name by which programs load it: place.py STAMP FOLDER/NAME=LIBRARY...

Copies and no links, so that /proc/PID/maps shows the name of a real one.
"""

import shutil
import sys
from pathlib import Path


def main():
    stamp = Path(sys.argv[1])
    for pair in sys.argv[2:]:
        place, library = pair.split("=", 1)
        target = stamp.parent / place
        target.parent.mkdir(exist_ok=True)
        target.unlink(missing_ok=True)
        shutil.copy2(library, target)
    stamp.write_text("")


if __name__ == "__main__":
    main()
