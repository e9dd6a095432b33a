#!/usr/bin/env python3
"""Runs docs/quickstart.md as a reader would, and compares what comes out.

    run-quickstart.py [FILE]

In the file, a ```sh block is run; the ```text block after it, if any, is what it prints on both
outputs, where "..." stands for anything in a line and a line of "..." for any number of lines;
runs of spaces count as one.  A block after <!-- file: NAME --> is the content of that file.

Everything runs in one bash, so that `cd` and `export` last, in a scratch folder that looks like the
repository.  Build with `make` first: the scratch folder borrows the build folder.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
BLOCK = re.compile(r"(?:<!-- file: (?P<file>\S+) -->\n+)?^```(?P<kind>\w+)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)


class Step:
    """A file to write or a block of commands to run, and what the commands should print."""

    def __init__(self, line, body, file=None):
        self.line, self.body, self.file = line, body, file
        self.expected = None


def read_steps(text):
    steps = []
    for block in BLOCK.finditer(text):
        line = text.count("\n", 0, block.start("kind")) + 1
        if block["file"]:
            steps.append(Step(line, block["body"], block["file"]))
        elif block["kind"] == "sh":
            steps.append(Step(line, block["body"]))
        elif block["kind"] == "text":
            if not steps or steps[-1].file or steps[-1].expected is not None:
                sys.exit(f"line {line}: a text block has to follow an sh block")
            steps[-1].expected = block["body"]
    return steps


def pattern_of(expected):
    """The expected text as a regular expression over lines with single spaces."""
    lines = []
    for line in squeeze(expected).splitlines():
        if line == "...":
            lines.append(r"(?:.*\n)*?")
        else:
            lines.append(".*?".join(re.escape(part) for part in line.split("...")) + r" ?\n")
    return "".join(lines)


def squeeze(text):
    return re.sub(r"[ \t]+", " ", text)


def script_of(steps, outputs):
    """One shell script; each step's output goes to a file of its own."""
    parts = ["set -eu"]
    for number, step in enumerate(steps):
        parts.append(f"exec >{outputs}/{number} 2>&1")
        if step.file:
            parts.append(f"cat >{step.file} <<'END OF FILE'\n{step.body}END OF FILE")
        else:
            parts.append(step.body)
    return "\n".join(parts)


def run(steps, scratch):
    outputs = scratch / ".outputs"
    outputs.mkdir()
    for entry in ROOT.iterdir():
        if entry.name != ".git":
            (scratch / entry.name).symlink_to(entry)
    env = {**os.environ, "PATH": f"{ROOT / 'build'}:{os.environ['PATH']}"}
    status = subprocess.run(["bash", "-c", script_of(steps, outputs)], cwd=scratch, env=env,
                            stdin=subprocess.DEVNULL).returncode
    return status, [path.read_text(errors="replace") for path in sorted(outputs.iterdir(), key=lambda p: int(p.name))]


def report(step, ok, output, problem):
    if ok:
        return True
    print(f"line {step.line}: {problem}\n--- commands\n{step.body}--- output\n{output}")
    if step.expected is not None:
        print(f"--- expected\n{step.expected}", end="")
    return False


def main():
    document = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "quickstart.md"
    steps = read_steps(document.read_text())
    with tempfile.TemporaryDirectory(prefix="quickstart-") as scratch:
        status, outputs = run(steps, Path(scratch))

    passed = failed = 0
    for number, step in enumerate(steps):
        if step.file:
            continue
        if number >= len(outputs):
            ok = report(step, False, "", "not reached")
        elif status != 0 and number == len(outputs) - 1:
            ok = report(step, False, outputs[number], f"exit status {status}")
        else:
            wanted = step.expected is None or re.fullmatch(pattern_of(step.expected), squeeze(outputs[number]))
            ok = report(step, wanted, outputs[number], "prints something else")
        passed += ok
        failed += not ok
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed != 0 or passed == 0)


if __name__ == "__main__":
    main()
