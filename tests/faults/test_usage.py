"""What cannot be run and what cannot be understood: one sentence, and the exit status that a shell would give."""

import os
import re

import pytest
from conftest import FAULTS, INFERSCOPE, ROOT, records_python


def refused(place, result, status, *words):
    assert result.status == status, result.err
    assert result.out == ""
    assert len(result.lines) == 1, result.err
    for word in words:
        assert word in result.lines[0]
    assert place.leftovers() == []
    assert list(place.folder.glob("trace.sbt*")) == []


# ---- commands ----------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["no-such-command-anywhere", "./no-such-file", "/no/such/folder/file"])
def test_command_not_found(place, command):
    refused(place, place.record(command), 127, command, "not found")


def test_command_not_found_where_a_folder_of_the_path_is_closed(place):
    closed = place.folder / "closed"
    closed.mkdir(mode=0)
    file = place.folder / "file"  # what even root cannot look into
    file.write_text("")

    result = place.record("no-such-command", env={"PATH": f"{closed}:{file}:/usr/bin:/bin"})

    refused(place, result, 127, "no-such-command", "not found")


def test_command_in_the_path_but_not_executable(place):
    (place.folder / "plain").write_text("#!/bin/sh\n")

    refused(place, place.record("plain", env={"PATH": f"{place.folder}:/bin"}), 126, "plain", "Permission denied")


def test_command_not_executable(place):
    (place.folder / "plain").write_text("#!/bin/sh\n")

    refused(place, place.record("./plain"), 126, "./plain", "Permission denied")


def test_command_is_a_directory(place):
    (place.folder / "folder").mkdir()

    refused(place, place.record("./folder"), 126, "./folder")


def test_interpreter_missing(place):
    script = place.folder / "script"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)

    refused(place, place.record("./script"), 127, "./script", "interpreter")


def test_a_shell_script_without_a_first_line(tidy):
    script = tidy.folder / "script"
    script.write_text(f"{FAULTS} scopes 10 exit\n")
    script.chmod(0o755)

    assert tidy.record("./script").status == 7  # as execvp() and every shell do

    assert len(tidy.trace().events) == 22


def test_script_missing(place):
    refused(place, place.record("none.py", "--flag"), 127, "none.py")


def test_script_is_a_directory(place):
    (place.folder / "folder.py").mkdir()

    refused(place, place.record("folder.py"), 126, "folder.py", "directory")


@pytest.mark.skipif(os.geteuid() == 0, reason="root can read everything")
def test_script_cannot_be_read(place):
    (place.folder / "script.py").write_text("")
    (place.folder / "script.py").chmod(0)

    refused(place, place.record("script.py"), 126, "script.py", "Permission denied")


@records_python
def test_a_script_runs(tidy):
    (tidy.folder / "script.py").write_text("import sys; print(sys.argv); sys.exit(21)\n")

    result = tidy.record("script.py", "--trace", "x")

    assert (result.status, result.out) == (21, "['script.py', '--trace', 'x']\n")
    assert tidy.record("-c", "print(7)").out == "7\n"
    assert tidy.record("-m", "this_module_does_not_exist").status == 1


# ---- options -----------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments, words", [
    (["run"], ["program"]),
    (["run", "--no-such-option", "true"], ["--no-such-option"]),
    (["run", "--trace-size-mb", "many", "true"], ["--trace-size-mb", "many"]),
    (["run", "--trace-size-mb", "0", "true"], ["--trace-size-mb", "0"]),
    (["run", "--trace-size-mb"], ["--trace-size-mb"]),
    (["run", "--overflow", "explode", "true"], ["explode", "wrap", "discard", "block"]),
    (["run", "--max-file-mb", "-3", "true"], ["--max-file-mb"]),
    (["run", "--last", "1e99", "true"], ["--last"]),
    (["info"], ["trace"]),
    (["info", "a", "b"], ["trace"]),
    (["info", "--format", "xml", "a"], ["xml", "json"]),
    (["recover", "a", "b"], ["folder"]),
    (["no-such-command"], ["no-such-command"]),
    (["rnu"], ["run"]),
    (["--no-such-option"], ["--no-such-option"]),
], ids=str)
def test_bad_options(place, arguments, words):
    refused(place, place.call(INFERSCOPE, *arguments), 2, *words)


# ---- configuration -----------------------------------------------------------------------------


@pytest.mark.parametrize("text, line, words", [
    ("trace_size_mb: 10\noverflow: [wrap\n", 2, ["overflow"]),
    ("trace_size_mb: 10\n\ttabbed: 1\n", 2, []),
    ("# comment\nno_such_key: 1\n", 2, ["no_such_key"]),
    ("trace_size_md: 10\n", 1, ["trace_size_md", "trace_size_mb"]),
    ("overflow: wrap\ntrace_size_mb: lots\n", 2, ["trace_size_mb", "lots"]),
    ("\n\noverflow: explode\n", 3, ["explode", "wrap"]),
    ("enabled: perhaps\n", 1, ["enabled", "perhaps"]),
    ("trace_size_mb: {a: 1}\n", 1, ["trace_size_mb"]),
    ("overflow: &a wrap\nlog_level: *a\n", 1, ["anchors"]),
    ("trace_size_mb: 1\ntrace_size_mb: 2\n", 2, ["trace_size_mb"]),
    ("- a\n- list\n", 1, []),
], ids=range(11))
def test_bad_configuration(place, text, line, words):
    file = place.folder / ".inferscope.yaml"
    file.write_text(text)

    result = place.record("/bin/touch", "started")

    refused(place, result, 2, f"{file}:{line}", *words)
    assert not (place.folder / "started").exists()


def test_a_configuration_that_is_too_large(place):
    file = place.folder / ".inferscope.yaml"
    file.write_text("# " + "x" * 70_000 + "\n")

    result = place.record("/bin/touch", "started")

    assert result.status == 2 and str(file) in result.err and len(result.lines) == 1


@pytest.mark.parametrize("variable, value", [("INFERSCOPE_TRACE_SIZE_MB", "x"), ("INFERSCOPE_LOG_LEVEL", "loud"),
                                             ("INFERSCOPE_ENABLED", "perhaps")])
def test_bad_environment(place, variable, value):
    result = place.record("/bin/touch", "started", env={variable: value})

    refused(place, result, 2, variable, value)
    assert not (place.folder / "started").exists()


NAME = re.compile(r"\bINFERSCOPE_[A-Z0-9_]*[A-Z0-9]\b")
MACRO = re.compile(r"(?:#\s*(?:define|undef)\s+|-D)(INFERSCOPE_[A-Z0-9_]+)")
FOLDERS = ("bench", "docs", "examples", "fuzz", "man", "python", "scripts", "share", "src", "tests", "web")


def names_in_use():
    """All words of the tree that could be variables, and are no macros of C."""
    files = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.is_file()]
    texts = [path.read_text(errors="replace") for path in [*files, *ROOT.glob("*.md"), *ROOT.glob("meson*"), ROOT / "Makefile"]
             if path.name != "config-variables.case" and path.stat().st_size < 1 << 20]
    headers = [path.read_text() for path in (ROOT / "include").glob("*.h")]
    constants = {name for text in headers for name in re.findall(r"\b(INFERSCOPE_[A-Z_]+)\b(?!\")", text)}
    macros = {name for text in texts for name in MACRO.findall(text)}
    return {name for text in texts for name in NAME.findall(text)} - macros - constants


def test_all_variables_are_known(place):
    names = names_in_use()
    assert {"INFERSCOPE_SESSION", "INFERSCOPE_LOG_LEVEL", "INFERSCOPE_WEB_TOKEN"} < names

    said = place.call(INFERSCOPE, "config", "show", env={**dict.fromkeys(names, "1"), "INFERSCOPE_" + "NO_SUCH": "1"}).lines[0]

    assert said == "inferscope: ignored, since InferScope knows no such environment variable: INFERSCOPE_" + "NO_SUCH"


def test_switched_off(tidy):
    result = tidy.record(FAULTS, "scopes", 10, "exit", env={"INFERSCOPE_ENABLED": "0"})

    assert result.status == 7
    assert len(result.lines) == 1 and "not recording" in result.err
    assert list(tidy.folder.iterdir()) == []
