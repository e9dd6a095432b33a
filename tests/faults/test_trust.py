"""Nothing is loaded that others could have written, nothing is followed that is not ours, and it is said."""

import os
import shutil
import stat

import pytest
from conftest import AS_NOBODY, FAULTS, INFERSCOPE, needs_root, not_sanitized, open_to_others, session_page

RUNTIME = INFERSCOPE.parent / "libinferscope-rt.so"


@pytest.fixture
def living(place):
    """A recording that is going on, and what its program was given."""
    recorder = place.start_recording("/bin/sh", "-c", "env -0; echo; exec sleep 600")
    text = recorder.stdout.readline()
    given = dict(variable.split("=", 1) for variable in text.strip("\n").split("\0") if "=" in variable)
    return {key: value for key, value in given.items() if key.startswith("INFERSCOPE")}


def recorded_processes(living):
    return session_page(living["INFERSCOPE_SESSION"])[1]


def run_scopes(place, *command, **environment):
    return place.call(*command, FAULTS, "scopes", 10, "exit", env=environment)


def test_a_program_finds_a_living_session(place, living):
    # The control for all that follow: with what the recorder says, another program is recorded.
    assert run_scopes(place, **living).status == 7
    assert recorded_processes(living) == 1


def test_enabled_can_be_switched_off(place, living):
    result = run_scopes(place, **{**living, "INFERSCOPE_ENABLED": "0"})

    assert (result.status, result.out, result.err) == (7, "", "")
    assert recorded_processes(living) == 0


# ---- the runtime library ---------------------------------------------------------------------


@needs_root
@not_sanitized
def test_a_setuid_program_loads_nothing(place, living):
    folder = open_to_others(place)
    program = folder / "faults"
    shutil.copy(FAULTS, program)
    os.chown(program, 65534, 65534)
    program.chmod(0o4755)

    result = place.call(program, "scopes", 10, "exit", env=living)  # root becomes nobody

    assert (result.status, result.out, result.err) == (7, "", "")
    assert recorded_processes(living) == 0
    os.chown(program, 0, 0)
    program.chmod(0o4755)
    result = place.call(*AS_NOBODY, program, "scopes", 10, "exit", env=living)  # nobody becomes root
    assert (result.status, result.out, result.err) == (7, "", "")
    assert recorded_processes(living) == 0


@needs_root
@not_sanitized
def test_recording_a_setuid_program(tidy):
    # Said where a person can see it: the closing line has no events of it, and its own status is kept.
    program = open_to_others(tidy) / "faults"
    shutil.copy(FAULTS, program)
    os.chown(program, 65534, 65534)
    program.chmod(0o4755)

    result = tidy.record(program, "scopes", 10, "exit")

    assert result.status == 7
    assert result.closing["events"] == 0 and result.closing["processes"] == 0
    assert "has raised privileges" in result.lines[-1]


@pytest.mark.parametrize("how", ["world", "group", "folder", "relative", "missing", "not a library", "directory"])
def test_a_runtime_that_is_not_to_be_trusted_is_not_loaded(place, living, how):
    folder = place.folder / "lib"
    folder.mkdir(mode=0o755)
    copy = folder / RUNTIME.name
    shutil.copy(RUNTIME, copy)
    copy.chmod(0o755)
    path = str(copy)
    assert run_scopes(place, **{**living, "INFERSCOPE_RUNTIME": path}).status == 7
    assert recorded_processes(living) == 1  # the copy is as good as the original, before it is spoilt
    if how == "world":
        copy.chmod(0o757)
    elif how == "group":
        copy.chmod(0o775)
    elif how == "folder":
        folder.chmod(0o777)
    elif how == "relative":
        path = os.path.relpath(copy, place.folder)
    elif how == "missing":
        copy.unlink()
    elif how == "not a library":
        copy.write_text("hello")
    else:
        path = str(folder)

    result = run_scopes(place, **{**living, "INFERSCOPE_RUNTIME": path})

    assert (result.status, result.out, result.err) == (7, "", "")
    assert recorded_processes(living) == 1  # and no second one


@needs_root
@pytest.mark.parametrize("what", ["file", "folder"])
def test_a_runtime_of_another_user_is_not_loaded(place, living, what):
    folder = place.folder / "lib"
    folder.mkdir(mode=0o755)
    copy = folder / RUNTIME.name
    shutil.copy(RUNTIME, copy)
    os.chown(copy if what == "file" else folder, 65534, 65534)

    assert run_scopes(place, **{**living, "INFERSCOPE_RUNTIME": str(copy)}).status == 7

    assert recorded_processes(living) == 0


# ---- the session -------------------------------------------------------------------------------


def ended_session(place):
    """What a daemon of a recording that has ended still has in its environment."""
    lines = place.record("/usr/bin/env").out.splitlines()
    return dict(line.split("=", 1) for line in lines if line.startswith("INFERSCOPE"))


def test_an_ended_session_is_silently_off(place):
    stale = ended_session(place)
    assert not os.path.exists(stale["INFERSCOPE_SESSION"])

    result = run_scopes(place, **stale)

    assert (result.status, result.out, result.err) == (7, "", "")
    assert place.leftovers() == []


def test_a_dead_session_is_silently_off(place):
    recorder = place.start_recording("/bin/sh", "-c", "env | grep ^INFERSCOPE; echo; exec sleep 600")
    stale = dict(line.strip().split("=", 1) for line in iter(recorder.stdout.readline, "\n"))
    recorder.kill()
    recorder.wait()
    session = stale["INFERSCOPE_SESSION"]
    before = sorted(os.listdir(session))

    result = run_scopes(place, **stale)

    assert (result.status, result.out, result.err) == (7, "", "")
    assert sorted(os.listdir(session)) == before


@pytest.mark.parametrize("what", ["relative", "file", "missing", "long", "empty", "link", "open", "page link",
                                  "page missing", "page short", "page pipe", "page garbage"])
def test_what_is_no_session_is_not_used(place, living, what):
    real = living["INFERSCOPE_SESSION"]
    fake = place.folder / "fake"
    fake.mkdir(mode=0o700)
    page, path = fake / "session", str(fake)
    original = open(os.path.join(real, "session"), "rb").read()
    if what == "relative":
        path = os.path.relpath(real, place.folder)
    elif what == "file":
        path = str(place.folder / "plain")
        (place.folder / "plain").write_bytes(original)
    elif what == "missing":
        path += "/none"
    elif what == "long":
        path = "/" + "x/" * 3000
    elif what == "empty":
        path = ""
    elif what == "link":
        path = str(place.folder / "link")
        os.symlink(real, path)
    elif what == "open":
        os.chmod(real, 0o755)
        path = real
    elif what == "page link":
        page.symlink_to(os.path.join(real, "session"))
    elif what == "page short":
        page.write_bytes(original[:100])
    elif what == "page pipe":
        os.mkfifo(page)
    elif what == "page garbage":
        page.write_bytes(bytes(4096))
    before = sorted(os.listdir(fake))

    result = run_scopes(place, **{**living, "INFERSCOPE_SESSION": path})

    assert (result.status, result.out, result.err) == (7, "", "")
    assert recorded_processes(living) == 0
    assert sorted(os.listdir(fake)) == before
    os.chmod(real, 0o700)


@needs_root
def test_a_session_of_another_user_is_not_used(place, living):
    open_to_others(place)
    os.chown(living["INFERSCOPE_SESSION"], 65534, 65534)

    assert run_scopes(place, **living).status == 7

    assert recorded_processes(living) == 0
    os.chown(living["INFERSCOPE_SESSION"], 0, 0)


def test_links_in_place_of_process_files_are_not_followed(place, living):
    # The next process will be number 0: its name is taken, by a link to a file that must stay as it is.
    precious = place.folder / "precious"
    precious.write_text("precious")
    os.symlink(precious, os.path.join(living["INFERSCOPE_SESSION"], "p0"))

    assert run_scopes(place, **living).status == 7

    assert precious.read_text() == "precious"


def test_recover_follows_no_links(place):
    recorder = place.start_recording("/bin/sh", "-c", f"{FAULTS} scopes 10 exit; echo done; exec sleep 600")
    assert recorder.stdout.readline() == "done\n"
    recorder.kill()
    recorder.wait()
    (session,) = place.sessions.glob("inferscope-*")
    link = place.folder / "link"
    link.symlink_to(session)

    assert place.call(INFERSCOPE, "recover", link).status == 3

    (session / "session").rename(place.sessions / "page")
    (session / "session").symlink_to(place.sessions / "page")
    result = place.call(INFERSCOPE, "recover", session)
    assert result.status == 3 and "has no session page" in result.err
    assert session.exists() and not place.trace_path.exists()


@pytest.mark.parametrize("umask", ["000", "022", "077"])
def test_a_session_is_private_whatever_the_umask(place, umask):
    command = f"umask {umask}; exec {INFERSCOPE} run {FAULTS} hold 10 {place.folder}/go"
    assert place.start("bash", "-c", command).stdout.readline() == "emitted\n"
    (folder,) = place.sessions.glob("inferscope-*")

    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert sorted(path.name for path in folder.iterdir()) == ["p0", "recording", "session"]
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}


# ---- configuration -----------------------------------------------------------------------------


def hostile(place, text="trace_size_mb: 7\n"):
    """A parent folder with a configuration file, and a folder below to run in."""
    below = place.folder / "project" / "src"
    below.mkdir(parents=True)
    file = below.parent / ".inferscope.yaml"
    file.write_text(text)
    return below, file


def trace_size(place, below):
    result = place.record(FAULTS, "scopes", 10, "exit", cwd=below)
    assert result.status == 7
    return place.trace(below / "trace.sbt").info["settings"]["trace_size_mb"], result


def test_a_configuration_of_our_own_is_used(place):
    below, _ = hostile(place)

    size, result = trace_size(place, below)

    assert size == 7 and len(result.lines) == 1


@pytest.mark.parametrize("how", ["world", "group", "folder", "link", "pipe", "directory"])
def test_a_configuration_that_others_could_have_written(place, how):
    below, file = hostile(place)
    if how == "world":
        file.chmod(0o646)
    elif how == "group":
        file.chmod(0o664)
    elif how == "folder":
        file.parent.chmod(0o777)
    elif how == "link":
        file.rename(place.folder / "elsewhere")
        file.symlink_to(place.folder / "elsewhere")
    else:
        file.unlink()
        os.mkfifo(file) if how == "pipe" else file.mkdir()

    size, result = trace_size(place, below)

    assert size == 100  # the default
    assert len(result.lines) == 2
    assert result.lines[0].startswith(f"inferscope: {file} is ignored: ")


@needs_root
@pytest.mark.parametrize("what", ["file", "folder"])
def test_a_configuration_of_another_user(place, what):
    below, file = hostile(place)
    os.chown(file if what == "file" else file.parent, 65534, 65534)

    size, result = trace_size(place, below)

    assert size == 100
    assert "belongs to somebody else" in result.lines[0]


def test_a_working_tree_may_not_say_where_the_trace_goes(place):
    below, file = hostile(place, "trace: /tmp/somewhere-else.sbt\noverflow: discard\n")

    _, result = trace_size(place, below)

    assert len(result.lines) == 2 and str(file) in result.lines[0] and "trace" in result.lines[0]
    assert not os.path.exists("/tmp/somewhere-else.sbt")


# ---- programs that confine themselves ---------------------------------------------------------


@not_sanitized
@pytest.mark.parametrize("how", ["kill", "fail"])
def test_a_thread_calls_the_kernel_for_memory_alone(place, how):
    result = place.record("--waits", "off", FAULTS, "confined", 50000, how)

    assert (result.status, result.out) == (7, "alive\n")
    info = place.trace().adds_up().info
    assert info["produced"] == 100_002
    assert info["lost"] == 0 if how == "kill" else info["lost"] > 90_000
