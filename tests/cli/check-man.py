#!/usr/bin/env python3
"""Checks that the manual pages say what the program says.

    tests/cli/check-man.py [PROGRAM]        $INFERSCOPE, or build/inferscope, unless given

For every command: the page is there, is installed, lists the same options with the same arguments
in the same order, and explains each in the words of --help, before it says more; the examples are
the same.  For inferscope(1): the same commands.  For inferscope.yaml(5): the same keys, defaults and
variables.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
MAN = ROOT / "man"

problems = []


def expect(condition, text):
    if not condition:
        problems.append(text)


def output_of(program, *arguments):
    return subprocess.run([program, *arguments], check=True, capture_output=True, text=True).stdout


def words(text):
    """Text as it is compared: without markup, case, line ends and the full stop."""
    return " ".join(text.replace("\\-", "-").replace("\\e", "\\").split()).lower().rstrip(".")


def commands_of(help_text):
    return dict(re.findall(r"^  (\w+) {2,}(.+)$", help_text, re.MULTILINE))


def options_of(help_text):
    """[(letter, name, argument, help)] of the options section."""
    section = help_text.split("\noptions:\n")[1].split("\nexamples:\n")[0]
    joined = re.sub(r"\n {20,}", " ", section)
    found = re.findall(r"^  (?:-(\w), |    )--([\w-]+)(?: (\S+))? +(.+)$", joined, re.MULTILINE)
    return [(letter, name, argument, words(text)) for letter, name, argument, text in found]


def items_of(page, macro):
    """[(heading, body)] of the list items whose heading starts with the macro."""
    for part in re.split(r"^\.It ", page, flags=re.MULTILINE)[1:]:
        heading, _, body = part.partition("\n")
        if heading.startswith(macro + " "):
            yield heading, re.split(r"^\.El", body, flags=re.MULTILINE)[0]


def plain(body):
    """The first lines of an item, up to the first macro that is not running text."""
    lines = []
    for line in body.splitlines():
        if line.startswith("."):
            line = " ".join(word for word in line.split()[1:] if word not in ("Cm", "Ic", ":"))
        lines.append(line)
    return words(" ".join(lines))


def options_of_page(page):
    for heading, body in items_of(page, "Fl"):
        match = re.fullmatch(r"Fl (?:(\w) , Fl )?-([\w-]+)(?: Ar (\S+))?", heading)
        if not match:
            problems.append(f"an option's heading is not understood: {heading}")
            continue
        yield match[1] or "", match[2], match[3] or "", plain(body)


def check_command(program, command):
    path = MAN / f"inferscope-{command}.1"
    if not path.exists():
        problems.append(f"{command}: there is no {path.name}")
        return
    page, help_text = path.read_text(), output_of(program, command, "--help")
    in_help, in_page = options_of(help_text), list(options_of_page(page))
    show = lambda options: [f"{letter}/{name} {argument}" for letter, name, argument, _ in options]
    expect(show(in_help) == show(in_page), f"{path.name}: options {show(in_page)}, but --help has {show(in_help)}")
    for (_, name, _, said), (*_, written) in zip(in_help, in_page):
        expect(written.startswith(said), f"{path.name}: --{name} is '{written[:70]}', but --help says '{said}'")
    examples = [line.strip() for line in help_text.split("\nexamples:\n")[1].splitlines()]
    written = [line.replace("\\(dq", "\"") for line in re.findall(r"^\.Dl (.+)$", page, re.MULTILINE)]
    expect(examples == written, f"{path.name}: examples {written}, but --help has {examples}")


def check_main_page(commands):
    page = (MAN / "inferscope.1").read_text()
    listed = {heading.split()[1]: plain(body) for heading, body in items_of(page, "Cm")}
    expect(list(listed) == list(commands), f"inferscope.1: commands {list(listed)}, but --help has {list(commands)}")
    for command, text in commands.items():
        expect(listed.get(command, "").startswith(words(text)), f"inferscope.1: {command} is not '{text}'")


def check_settings(program):
    page = (MAN / "inferscope.yaml.5").read_text()
    items = {heading.split()[1]: plain(body) for heading, body in items_of(page, "Ic")}
    env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}
    shown = json.loads(subprocess.run([program, "config", "show", "--format", "json"], check=True, env=env, cwd="/",
                                      capture_output=True, text=True).stdout)["settings"]
    expect(list(items) == [row["key"] for row in shown],
           f"inferscope.yaml.5: keys {list(items)}, but config show has {[row['key'] for row in shown]}")
    for row in shown:
        default = words(json.dumps(row["value"]).strip('"'))
        expect(f"the default is {default}" in items.get(row["key"], ""),
               f"inferscope.yaml.5: {row['key']} does not say that its default is {default}")


def check_installed():
    listed = set(re.findall(r"'([\w.-]+\.[15])'", (MAN / "meson.build").read_text()))
    there = {path.name for path in MAN.iterdir() if re.fullmatch(r".+\.[15]", path.name)}
    expect(listed == there, f"man/meson.build installs {sorted(listed)}, but there are {sorted(there)}")


def main():
    program = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("INFERSCOPE", "build/inferscope")
    program = os.path.abspath(program)
    commands = commands_of(output_of(program, "--help"))
    expect(commands, "--help lists no commands")
    for command in commands:
        check_command(program, command)
    check_main_page(commands)
    check_settings(program)
    check_installed()
    for problem in problems:
        print(problem)
    checks = len(commands) + 3
    print(f"{checks if not problems else 0} passed, {len(problems)} failed")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
