"""`make demo`, made short: it names the flaw that was planted, and its figures are those that were predicted and measured.

scripts/demo runs under INFERSCOPE_TORCH_PYTHON, else under the Python that runs this; it needs torch.
"""

import json
import os
import re
import subprocess
import sys
import sysconfig
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader

import pytest

from recording import BUILD, INFERSCOPE, PATIENCE, ROOT

PYTHON = os.environ.get("INFERSCOPE_TORCH_PYTHON", sys.executable)
DEMO = ROOT / "scripts" / "demo"
PAIR = re.compile(r"^  pair 1 of 1: as it is ([\d.]+) ms a frame, repaired ([\d.]+) ms$", re.MULTILINE)
PREDICTED = re.compile(r"^predicted  -([\d.]+) % time per frame, range -([\d.]+) to -([\d.]+)$", re.MULTILINE)
MEASURED = re.compile(r"^measured   (-?[\d.]+) %, (in|outside) the range$", re.MULTILINE)

if not (BUILD / "python" / "inferscope" / f"_tracer{sysconfig.get_config_var('EXT_SUFFIX')}").exists():
    pytest.skip("there is no extension for this Python in the build", allow_module_level=True)


def run_demo(*options):
    """Its end and what it printed, as on a machine where nothing is set for it."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("INFERSCOPE", "PYTHONPATH"))}
    command = [PYTHON, DEMO, "--pairs", "1", "--frames", "300", *options]
    return subprocess.run([str(word) for word in command], env={**clean, "LC_ALL": "C.UTF-8"}, capture_output=True, text=True,
                          timeout=2 * PATIENCE, stdin=subprocess.DEVNULL, check=False)


def analyze(trace):
    done = subprocess.run([INFERSCOPE, "analyze", trace, "--format", "json", "--output", "-"], capture_output=True, text=True,
                          timeout=PATIENCE, check=True)
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    done = run_demo("--build", BUILD, "--output", folder)
    assert done.returncode == 0, done.stderr
    return folder, done


def test_the_first_finding_is_the_planted_flaw(demo):
    folder, done = demo
    first = analyze(folder / "demo.sbt")["findings"][0]
    assert first["kind"] == "cpu_computation"
    assert first["where"][0].startswith("find_objects (detect.py:")
    assert re.search(r"^ 1 HIGH  find_objects \(detect\.py:\d+\): ", done.stderr, re.MULTILINE), done.stderr
    page = (folder / "report.html").read_text()
    assert page.startswith("<!doctype html>") and "find_objects" in page
    assert f"open {folder / 'report.html'} in a browser" in done.stdout


def test_the_repaired_form_has_no_such_finding(tmp_path):
    command = [INFERSCOPE, "run", "--trace", tmp_path / "fixed.sbt", "--waits", "on", "--", PYTHON,
               ROOT / "examples" / "detect.py", "--fixed"]
    subprocess.run([str(word) for word in command], stdout=subprocess.DEVNULL, timeout=PATIENCE, check=True)
    assert not [finding["id"] for finding in analyze(tmp_path / "fixed.sbt")["findings"] if "find_objects" in finding["id"]]


def test_both_forms_find_the_same(demo):
    _, done = demo
    recorded, alone = re.findall(r"checksum (\w{8})", done.stdout)  # the second one both forms had, or the demo had failed
    assert recorded == alone


def test_the_figures_are_those_of_finding_and_runs(demo):
    folder, done = demo
    first = analyze(folder / "demo.sbt")["findings"][0]
    middle, low, high = map(float, PREDICTED.search(done.stdout).groups())
    assert [low, middle, high] == pytest.approx([first[f"gain_{part}percent"] for part in ("low_", "", "high_")], abs=0.051)
    slow, fixed = map(float, PAIR.search(done.stdout).groups())
    gain, where = MEASURED.search(done.stdout).groups()
    assert -float(gain) == pytest.approx(100 * (1 - fixed / slow), abs=0.051)
    assert where == ("in" if low <= -float(gain) <= high else "outside")


def test_what_does_not_run_is_said(tmp_path):
    done = run_demo("--build", tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("demo: ") and str(tmp_path / "inferscope") in done.stderr


def finding(name):
    gains = {"gain_low_percent": 20.0, "gain_percent": 40.0, "gain_high_percent": 50.0}
    return {"id": f"cpu_computation:{name} (detect.py:25)", **gains}


@pytest.mark.parametrize(("first", "gains", "predicted", "measured"), [
    (finding("find_objects"), [30.0, 45.0, 90.0], "-40.0 % time per frame, range -20.0 to -50.0",
     "-45.0 %, in the range; median of 3 pairs"),
    (finding("find_objects"), [10.0], "-40.0 % time per frame, range -20.0 to -50.0", "-10.0 %, outside the range"),
    (finding("main"), [45.0], "nothing of this: first in the recording is cpu_computation:main (detect.py:25)", "-45.0 %"),
    (None, [-5.0], "nothing of this: first in the recording is no finding", "5.0 %"),
])
def test_what_is_said_of_a_prediction(capsys, first, gains, predicted, measured):
    loader = SourceFileLoader("demo", str(DEMO))
    module = module_from_spec(spec_from_loader("demo", loader))
    loader.exec_module(module)
    module.compare(first, gains, others=0.1)
    lines = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert (lines["predicted"], lines["measured"]) == (predicted, measured)
    assert "disturbed" not in lines
    module.compare(first, gains, others=1.2)
    assert "disturbed  others used 1.2 of " in capsys.readouterr().out


# ---- The same from inside a program ------------------------------------------------------------------------


def run_script(name, *options):
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("INFERSCOPE", "PYTHONPATH"))}
    done = subprocess.run([PYTHON, ROOT / "scripts" / name, *map(str, options)], env={**clean, "LC_ALL": "C.UTF-8"}, capture_output=True, text=True,
                          timeout=PATIENCE, stdin=subprocess.DEVNULL, check=False)
    return done.returncode, done.stdout, done.stderr


def test_the_whole_way_part_by_part(tmp_path):
    status, out, errors = run_script("run_e2e_demo.py", "--build", BUILD, "--output", tmp_path)
    assert status == 0, errors
    assert re.findall(r"^\d\. (\w+)", out, re.MULTILINE) == ["collected", "merged", "analyzed", "reported"]
    assert int(re.search(r"collected  (\d+) events of the CPU", out)[1]) > 600
    assert "cpu_bound: computing on the CPU: " in out and "demo_parts.attend" in out
    assert "demo_parts.attend" in (tmp_path / "e2e-report.md").read_text()
    assert analyze(tmp_path / "e2e.sbt")["step_summary"]["count"] == 100


def test_what_a_profiler_records():
    status, out, errors = run_script("run_profiler_demo.py", "--build", BUILD)
    assert status == 0, errors
    assert re.search(r"^\d+ events in [\d.]+ ms, 0 lost$", out, re.MULTILINE) and re.search(r"^ +300 scope$", out, re.MULTILINE)
    shown = out.split("the first request:\n")[1].splitlines()
    assert [line.split("us")[2] for line in shown[:3]] == ["  request", "    tokenize", "      demo_parts.tokenize"]


@pytest.mark.parametrize("name", ["run_e2e_demo.py", "run_profiler_demo.py"])
def test_scripts_without_a_build_say_so(name, tmp_path):
    assert run_script(name, "--build", tmp_path) == (1, "", "%s: %s has no package inferscope: run make first\n" % (name, tmp_path / "python"))


@pytest.mark.parametrize("target, command", [("e2e-demo", "scripts/run_e2e_demo.py --build build"), ("integration", "scripts/test cli python"),
                                             ("coverage", "scripts/coverage")])
def test_targets_of_make(target, command):
    """What they would run."""
    done = subprocess.run(["make", "--no-print-directory", "-n", target], cwd=ROOT, env={**os.environ, "MAKEFLAGS": ""}, capture_output=True, text=True, timeout=PATIENCE,
                          stdin=subprocess.DEVNULL, check=False)
    assert done.returncode == 0 and done.stdout.splitlines()[-1].endswith(command), done.stderr
