"""run, analyze, config: the commands of `inferscope` as functions, which return its exit status.

    from inferscope.cli.commands import analyze, run

    run("infer.py", "--prompt", "hello", report="report.md", log_level="debug")
    analyze("trace.json", format="html")

Any option of a command is an argument with _ for -: True for one without a value, and a list where it may be given several times.
The command is the one that comes with the package, and its output is where that of the program goes.
"""

import os
import subprocess
import sys

from inferscope._recorder import RecordingError, find_command


def main(argv=None):
    """What the command does with these arguments, those of the program unless given; its exit status."""
    try:
        return _call([find_command(), *map(os.fspath, sys.argv[1:] if argv is None else argv)])
    except (OSError, RecordingError) as error:
        print("inferscope: %s" % error, file=sys.stderr)
        return 4


def run(script, *args, **options):
    """`inferscope run`: runs a script, or a command, and records it."""
    return main(["run", *_options(options), "--", script, *args])


def analyze(*traces, **options):
    """`inferscope analyze`: says where the time of traces went."""
    return main(["analyze", *_options(options), "--", *traces])


def config(action="show", **options):
    """`inferscope config`: the settings, and where they come from."""
    return main(["config", action, *_options(options)])


def _call(words):
    """The status of a command that has ended, as a shell says it."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    with subprocess.Popen(words) as process:
        while process.returncode is None:
            try:
                process.wait()
            except KeyboardInterrupt:  # the command has it too, and says what becomes of the recording
                pass
    return 128 - process.returncode if process.returncode < 0 else process.returncode


def _options(options):
    """log_level="debug", last=3, color=True as the command line has them."""
    words = []
    for name, values in options.items():
        option = "--" + name.strip("_").replace("_", "-")
        for value in values if isinstance(values, (list, tuple)) else [values]:
            if value is True:
                words.append(option)
            elif value is not None and value is not False:
                words.append(option + "=" + (value if isinstance(value, str) else _text(value)))
    return words


def _text(value):
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)
