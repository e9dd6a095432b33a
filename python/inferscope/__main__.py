"""python -m inferscope: becomes the command that comes with the package, so that signals and the status are its own."""

import os
import sys

from inferscope._recorder import RecordingError, find_command

if __name__ == "__main__":
    try:
        os.execv(find_command(), ["inferscope", *sys.argv[1:]])
    except (OSError, RecordingError) as error:
        sys.exit("inferscope: %s" % error)
