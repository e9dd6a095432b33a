"""scripts/fuzz-long, with shell scripts for targets: what it keeps, counts and says."""

import json
import os
import signal
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader

import pytest

from recording import ROOT

BEGIN = """#!/bin/sh
for argument; do
	case $argument in
	-artifact_prefix=*) prefix=${argument#*=};;
	-max_total_time=*) seconds=${argument#*=};;
	esac
done
"""
CALM = BEGIN + """
echo "#2 INITED cov: 40 ft: 50"
sleep 0.1
echo "#900 DONE cov: 44 ft: 60"
echo "stat::number_of_executed_units: 900"
"""
# Finds two things by turns, each time with another input.
CRASHING = BEGIN + """
echo "#1 INITED cov: 7 ft: 8"
n=$(($(cat NUMBER 2> /dev/null || echo 0) + 1))
echo $n > NUMBER
echo "==$$==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x60$n at pc 0x55$n"
echo "    #0 0x55$n in read_$((n % 2)) ROOT/src/trace/reader.c:$((10 + n % 2)):3"
echo "    #1 0x77$n in LLVMFuzzerTestOneInput ROOT/fuzz/fuzz-x.c:5:1"
echo input $n > ${prefix}crash-$n
echo "stat::number_of_executed_units: 10"
exit 77
"""
BROKEN = "#!/bin/sh\nexit 1\n"
PATIENT = BEGIN + """
trap 'echo "stat::number_of_executed_units: 5"; exit 72' INT
touch STARTED
while :; do sleep 0.05; done
"""


@pytest.fixture
def fuzz_long(tmp_path, monkeypatch):
    loader = SourceFileLoader("fuzz_long", str(ROOT / "scripts" / "fuzz-long"))
    module = module_from_spec(spec_from_loader("fuzz_long", loader))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    loader.exec_module(module)
    out = tmp_path / "out"
    for name, value in {"ROOT": tmp_path, "OUT": out, "STATE": out / "state.json", "FINDINGS": out / "findings"}.items():
        monkeypatch.setattr(module, name, value)
    (out / "findings").mkdir(parents=True)
    return module


class Tests:
    """What it takes of scripts/test."""

    SANITIZER_ENV = {"ASAN_OPTIONS": "some=1"}

    @staticmethod
    def fixed_addresses():
        return []


def fuzzing_of(module, folder, seconds, **scripts):
    for name, text in scripts.items():
        path = folder / f"fuzz-{name}"
        path.write_text(text.replace("NUMBER", str(folder / "number")).replace("STARTED", str(folder / "started")))
        path.chmod(0o755)
    state = module.read_state()
    targets = [module.Target(name, state.get(name, {})) for name in scripts]
    fuzzing = module.Fuzzing(Tests, folder, targets, seconds, 1)
    return fuzzing, targets


def test_time_goes_to_who_has_had_least(fuzz_long, tmp_path):
    fuzz_long.STATE.write_text(json.dumps({"one": {"seconds": 1000.0}, "other": {"seconds": 5.0}, "gone": {"seconds": 3.0}}))
    fuzzing, (one, other, new) = fuzzing_of(fuzz_long, tmp_path, 1.35, one=CALM, other=CALM, new=CALM)

    fuzzing.run()

    assert (one.executions, other.executions) == (0, 0) and new.executions >= 900
    assert new.executions % 900 == 0 and new.edges == 44 and new.findings == [] and new.failures == 0
    state = json.loads(fuzz_long.STATE.read_text())
    assert state["new"]["seconds"] == pytest.approx(new.seconds, abs=0.1)
    assert (state["one"], state["other"], state["gone"]) == ({"seconds": 1000.0}, {"seconds": 5.0}, {"seconds": 3.0})


def test_a_finding_is_kept_once_with_its_command(fuzz_long, tmp_path, capsys):
    fuzzing, (crashing,) = fuzzing_of(fuzz_long, tmp_path, 1.3, crashing=CRASHING)

    fuzzing.run()

    assert crashing.executions >= 30 and crashing.failures == 0
    first, second = crashing.findings
    assert sorted(path.read_text() for path in crashing.findings) == ["input 1\n", "input 2\n"]
    assert sorted(path.name for path in fuzz_long.FINDINGS.iterdir()) == sorted(
        [first.name, first.name + ".txt", second.name, second.name + ".txt"])
    command = first.with_name(first.name + ".txt").read_text().splitlines()[0]
    assert command == f"env ASAN_OPTIONS=some=1 {tmp_path}/fuzz-crashing -timeout=25 -rss_limit_mb=2048 {first}"
    fuzz_long.print_table([crashing])
    out = capsys.readouterr().out.splitlines()
    assert out[:2] == [f"crashing: found out/findings/{path.name}" for path in (first, second)]
    assert out[2].split() == ["target", "seconds", "minutes", "ever", "executions", "a", "second", "edges", "findings"]
    assert out[3].split()[0] == "crashing" and out[3].split()[-3:] == ["7", first.name, second.name]


def test_a_target_that_does_not_start(fuzz_long, tmp_path):
    fuzzing, (broken,) = fuzzing_of(fuzz_long, tmp_path, 30, broken=BROKEN)

    fuzzing.run()

    assert broken.failures == 4 and broken.row()[-1] == "did not start"


def test_who_is_ended_still_counts(fuzz_long, tmp_path):
    fuzzing, (patient,) = fuzzing_of(fuzz_long, tmp_path, 60, patient=PATIENT)
    before = signal.signal(signal.SIGALRM, lambda *_: fuzzing.stop() if (tmp_path / "started").exists() else None)
    signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)
    try:
        fuzzing.run()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)

    assert patient.executions == 5 and patient.seconds < 20 and patient.failures == 0
    assert os.listdir(fuzz_long.OUT / "work") == []
