"""What a run ends with when the analysis cannot be made, is not wanted, or is stopped: the exit status is the program's."""

import copy
import os
import signal
import time

import pytest

from conftest import FAULTS, INFERSCOPE, children, not_sanitized, state_of, wait_for

PROGRAM, EVENTS, STATUS = (FAULTS, "scopes", 100, "exit"), 202, 7
WANTED = {"INFERSCOPE_REPORT": ""}  # as if it were not set


def files(place):
    return sorted(path.name for path in place.folder.iterdir() if path.is_file())


def analysis_of(place, recorder):
    """The process that analyses, once it waits.  Others have that name for a moment, before the trace is there and until they
    have another."""
    def find():
        pid, state = children(recorder.pid).get("inferscope", (None, None))
        return pid if state == "S" else None

    wait_for(place.trace_path.exists, "a trace")
    return wait_for(find, "an analysis")


def waiting_analysis(place):
    """A run whose analysis waits for somebody to read its report."""
    os.mkfifo(place.folder / "report.md")
    recorder = place.start_recording(*PROGRAM, env=WANTED)
    return recorder, analysis_of(place, recorder)


def record(place, *arguments, **options):
    """A recording that ends as the program did."""
    result = place.record(*arguments, *PROGRAM, **options)
    assert result.status == STATUS, result.err
    assert result.closing["events"] == EVENTS
    return result


def test_a_run_ends_with_a_diagnosis(tidy):
    result = record(tidy, env=WANTED)
    assert result.lines[0].startswith("inferscope  faults  ") and result.lines[0].endswith("integrity good")
    assert result.lines[-2].endswith("report.md   trace.sbt") and all(len(line) <= 80 for line in result.lines[:-1])
    assert result.lines[-1].startswith("inferscope: 202 events of 1 process") and result.out == ""
    assert files(tidy) == ["report.md", "trace.sbt"]
    report = (tidy.folder / "report.md").read_text()
    assert report.startswith("# ") and f"- Command: `{FAULTS} scopes 100 exit`" in report


def test_older_ones_are_kept(tidy):
    (tidy.folder / "report.md").write_text("mine")
    record(tidy, env=WANTED)
    assert files(tidy) == ["report.md", "report.md.old", "trace.sbt"]
    assert (tidy.folder / "report.md.old").read_text() == "mine"


@pytest.mark.parametrize("options, env", [(["--report", "none"], WANTED), ([], {"INFERSCOPE_REPORT": "none"})])
def test_none_is_none(tidy, options, env):
    result = record(tidy, *options, env=env)
    assert len(result.lines) == 1 and files(tidy) == ["trace.sbt"]


def test_the_users_own_settings_say_where(tidy):
    folder = tidy.folder / "config" / "inferscope"
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text("report: mine.json\n")
    record(tidy, env=WANTED)
    assert files(tidy) == ["mine.json", "trace.sbt"]


def test_a_folder_of_others_does_not(tidy):
    (tidy.folder / ".inferscope.yaml").write_text("report: theirs.md\n")
    record(tidy, env=WANTED)
    assert files(tidy) == [".inferscope.yaml", "report.md", "trace.sbt"]


def test_errors_only(tidy):
    result = tidy.record("--log-level", "error", *PROGRAM, env=WANTED)
    assert (result.status, result.err) == (STATUS, "") and files(tidy) == ["report.md", "trace.sbt"]


@pytest.mark.parametrize("name, first", [("r.md", "# "), ("r.json", "{"), ("r.txt", "inferscope  ")])
def test_the_suffix_is_the_format(tidy, name, first):
    record(tidy, "--report", name)
    assert files(tidy) == [name, "trace.sbt"] and (tidy.folder / name).read_text().startswith(first)


@pytest.mark.parametrize("options, words", [(["--report", "r.pdf"], "cannot tell the format"), (["--report", "-"], "standard output"),
                                            (["--report", "a.md", "--trace", "a.md"], "cannot both be a.md")])
def test_what_cannot_be_is_said_before_the_program_starts(tidy, options, words):
    result = tidy.record(*options, "/bin/sh", "-c", "touch started")
    assert result.status == 2 and len(result.lines) == 1 and words in result.err
    assert files(tidy) == []


def test_a_place_that_cannot_be_written(tidy):
    result = record(tidy, "--report", "nowhere/report.md")
    assert result.lines[0] == "inferscope: cannot create 'nowhere/report.md': No such file or directory"
    assert result.lines[1].startswith("inferscope  faults  ") and result.lines[-2] == "trace.sbt"


def test_a_program_that_records_nothing(tidy):
    result = tidy.record("/bin/sh", "-c", "exit 5", env={**WANTED, "PATH": os.environ["PATH"]})
    assert result.status == 5 and len(result.lines) == 1 and "nothing to record" in result.err
    assert "cannot judge: there are no events in the trace" in (tidy.folder / "report.md").read_text()


def test_a_program_that_a_signal_ended_before_it_recorded_anything(tidy):
    result = tidy.record("/bin/sh", "-c", "kill -TERM $$", env={**WANTED, "PATH": os.environ["PATH"]})
    assert result.status == 128 + signal.SIGTERM and "nothing to record: signal 15 (Terminated) ended the program" in result.err
    assert files(tidy) == ["report.md", "trace.sbt"]


STOPPED = "; the trace is whole: 'inferscope analyze trace.sbt' does it later"


def pass_the_grace():
    """Until a signal is no longer meant for the program that has ended, nor a copy of one that was (src/record/request.h)."""
    time.sleep(0.65)


def test_signals_that_belong_to_the_end_do_not_stop_the_analysis(tidy):
    recorder, child = waiting_analysis(tidy)
    for number in (signal.SIGTERM, signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        os.killpg(recorder.pid, number)
    pass_the_grace()
    assert state_of(child) == "S"
    assert (tidy.folder / "report.md").open().read().startswith("# ")
    result = tidy.finish(recorder)
    assert result.status == STATUS and "stopped" not in result.err


@pytest.mark.parametrize("to_all", [True, False], ids=["to all", "to the recorder"])
def test_a_stopped_analysis(place, to_all):
    places = {}
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        inner = copy.copy(place)
        inner.folder, inner.trace_path = place.folder / number.name, place.folder / number.name / "trace.sbt"
        inner.folder.mkdir()
        places[number] = inner, waiting_analysis(inner)[0]
    pass_the_grace()
    for number, (inner, recorder) in places.items():
        (os.killpg if to_all else os.kill)(recorder.pid, number)
        result = inner.finish(recorder)
        assert result.status == STATUS
        assert result.lines[0] == f"inferscope: {number.name} of process {os.getpid()} stopped the analysis{STOPPED}"
        assert result.closing["events"] == EVENTS and len(result.lines) == 2
        inner.trace().adds_up()
    assert place.leftovers() == []


def test_a_stopped_one_can_be_ended(tidy):
    recorder, child = waiting_analysis(tidy)
    os.killpg(recorder.pid, signal.SIGTSTP)  # as Ctrl-Z does: it goes on, since nobody would wake it
    os.kill(child, signal.SIGSTOP)
    wait_for(lambda: state_of(child) == "T", "its stop")
    pass_the_grace()
    os.kill(recorder.pid, signal.SIGTERM)
    result = tidy.finish(recorder)
    assert result.status == STATUS and "stopped the analysis" in result.lines[0]


def test_it_does_not_outlive_its_recorder(tidy):
    recorder, child = waiting_analysis(tidy)
    recorder.kill()
    wait_for(lambda: state_of(child) in (None, "Z"), "its end")


def test_a_killed_analysis(tidy):
    recorder, child = waiting_analysis(tidy)
    os.kill(child, signal.SIGKILL)
    result = tidy.finish(recorder)
    assert result.status == STATUS and "the analysis failed; the trace is whole" in result.lines[0]
    assert result.closing["events"] == EVENTS


@not_sanitized
def test_without_memory(tidy):
    """The limit is the user's, and enough to record but not to analyse a trace of this size."""
    result = tidy.call("prlimit", "--data=14000000", INFERSCOPE, "run", "--report", "r.md", FAULTS, "scopes", 1000000, "exit")
    assert result.status == STATUS and "memory" in result.lines[0], result.err
    assert result.closing["trace"] == "trace.sbt" and files(tidy) == ["trace.sbt"]
