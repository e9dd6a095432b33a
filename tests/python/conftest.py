"""What recordings of the tests leave out unless they ask for it.

The analysis at the end, which test_terminal.py is about, would leave report.md where they run; looking at threads from
outside, which test_waits.py is about, records more than the programs do.  What must not change a program is tried with it.
"""

import copy
import os
from pathlib import Path

import pytest

os.environ.setdefault("INFERSCOPE_REPORT", "none")
os.environ.setdefault("INFERSCOPE_WAITS", "off")

# What these assert on was sampled, or timed: scripts/test runs nothing beside them.
SAMPLED = {"test_demo", "test_diagnosis", "test_gpu_sampling", "test_pipeline", "test_program_counters", "test_waits", "test_zoo"}

# What tells of events that are lost or wrong has to hold each time.  Any other test that fails, beside others or whatever else the
# machine does, is run once more, and the summary counts it ("1 rerun").
EXACT = {"test_calls", "test_property", "test_sbt", "test_workload"}

AS_USERS_HAVE_IT = {"test_transparency", "test_diagnosis", "test_demo", "test_zoo"}


@pytest.fixture(autouse=True)
def _waits(request, monkeypatch):
    if request.module.__name__ in AS_USERS_HAVE_IT:
        monkeypatch.delenv("INFERSCOPE_WAITS")


@pytest.fixture
def types_of_ones_own(monkeypatch):
    """Types of bottlenecks and strategies that a test registers are gone after it."""
    from inferscope import BottleneckType, bottlenecks
    for name in ("_member_map_", "_value2member_map_", "_member_names_"):
        monkeypatch.setattr(BottleneckType, name, copy.copy(getattr(BottleneckType, name)))
    monkeypatch.setattr(bottlenecks, "_descriptions", dict(bottlenecks._descriptions))
    monkeypatch.setattr(bottlenecks, "_strategies", {key: list(value) for key, value in bottlenecks._strategies.items()})


def pytest_configure(config):
    config.addinivalue_line("markers", "alone: needs the machine for itself")


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.parent != Path(__file__).parent:  # of another folder that is run along
            continue
        if item.module.__name__ in SAMPLED:
            item.add_marker(pytest.mark.alone)
        if item.module.__name__ not in EXACT:
            item.add_marker(pytest.mark.flaky(reruns=1))
