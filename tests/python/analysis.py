"""Runs `inferscope analyze` and checks what must hold for every trace; used by the tests of it."""

import json
import os
import subprocess
import tempfile
from decimal import Decimal
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared" / "data"
INFERSCOPE = os.environ.get("INFERSCOPE") and os.path.abspath(os.environ["INFERSCOPE"])
SCRATCH = tempfile.TemporaryDirectory(prefix="inferscope-analyze-")  # where report.md may be written


def shared(name):
    """A real trace, which is not part of the project."""
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"{name} is not here: real traces are in ../shared/data")
    return path


def inferscope(*arguments, status=0, **options):
    if not INFERSCOPE:
        pytest.skip("set INFERSCOPE to the program to test")
    options = {"cwd": SCRATCH.name, "stdin": subprocess.DEVNULL, "timeout": 120, **options}
    done = subprocess.run([INFERSCOPE, *map(str, arguments)], capture_output=True, check=False, **options)
    assert done.returncode == status, done.stderr.decode(errors="replace")
    return done


def analyze(*paths, options=()):
    """The analysis of traces, with exact times (Decimal), whose sums have been checked."""
    done = inferscope("analyze", *paths, "--format", "json", "--output", "-", *options)
    result = json.loads(done.stdout, parse_float=Decimal)
    check_sums(result, 0 if "--rules-file" in options else 5)
    return result


def check_sums(result, share_least=5):
    """Everything that is said to sum does so, to the nanosecond."""
    assert sum(c["duration_us"] for c in result["timeline_breakdown"]) == result["summary"]["end_to_end_latency_us"]
    if result["timeline_breakdown"] and result["summary"]["end_to_end_latency_us"]:
        assert sum(c["percentage"] for c in result["timeline_breakdown"]) == pytest.approx(100, abs=0.001)
    for device in result["devices"]:
        for window in (device, *device["windows"]):
            check_window(window)
        assert sum(device["idle_causes"].values()) == device["idle_us"]
        assert sum(bin["total_us"] for bin in device["gap_lengths"]) == device["idle_us"]
        assert device["idle_low_us"] <= device["idle_us"] <= device["idle_high_us"]
        everything = next(w for w in device["windows"] if w["name"] == "all")
        for stream in device["streams"]:
            assert sum(stream["states"].values()) == everything["total_us"]
    for step in result["steps"]:
        if "total_us" in step:
            check_window(step)
    check_findings(result, share_least)


def check_findings(result, share_least):
    """Each nanosecond has one owner; ranges are ranges; the largest gain comes first; each has its suggestion."""
    findings = result["findings"]
    assert sum(f["share_percent"] for f in findings) <= Decimal("100.1")
    notes = [f for f in findings if "rule" in f and f["gain_percent"] is None]
    ranked = findings[:len(findings) - len(notes)]
    assert notes == findings[len(ranked):]
    for f in findings:
        if "rule" in f:
            assert f["share_percent"] == f["owned_us"] == 0 and len(f["evidence"]) == 1
            assert 0 <= f["severity"] <= 1 and 0 <= f["confidence"] <= 1
        else:
            assert 0 < f["severity"] <= 1 and 0 < f["confidence"] <= Decimal("0.95") and f["evidence"]
            assert f["share_percent"] >= share_least
    for f in ranked:
        assert 0 <= f["gain_low_percent"] <= f["gain_percent"] <= f["gain_high_percent"] <= 100
    assert [f["gain_percent"] for f in ranked] == sorted((f["gain_percent"] for f in ranked), reverse=True)
    assert [s["finding"] for s in result["suggestions"]] == [f["id"] for f in findings]
    assert result["bottleneck"]["type"] in ("cpu_bound", "gpu_bound", "memory_bound", "balanced", "unknown")


def check_window(window):
    parts = (window[key] for key in ("compute_us", "exposed_comm_us", "exposed_copy_us", "idle_us"))
    assert sum(parts) == window["total_us"]
    assert window["busy_us"] + window["idle_us"] == window["total_us"]
    assert all(value >= 0 for key, value in window.items() if key.endswith("_us") and isinstance(value, (int, Decimal)))


def window(device, name):
    return next(w for w in device["windows"] if w["name"] == name)


def checks(result):
    return {check["name"]: check for check in result["integrity"]["checks"]}
