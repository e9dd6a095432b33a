"""Random programs of scopes over random threads and forks, read back equal.

A program is a tree of blocks, each run by one thread (tests/programs/workload_script.c says how it is written).  The
model of a block is the list of what its track must hold.  INFERSCOPE_SEEDS is how many programs to try, from
INFERSCOPE_SEED on.
"""

import os
from random import Random

import pytest

from recording import BEGIN, COUNTER, END, INSTANT, SCOPE, record

FIRST = int(os.environ.get("INFERSCOPE_SEED", "1"))
SEEDS = range(FIRST, FIRST + int(os.environ.get("INFERSCOPE_SEEDS", "25")))
NAMES = ["decode", "prefill", "attention", "größe", "x" * 300, "模型", *(f"layer-{i}" for i in range(40))]
UNMATCHED = 65535


class Program:
    """Makes up a script, and with it what each thread should have recorded: self.expected, by label."""

    def __init__(self, seed):
        self.random = Random(seed)
        self.lines, self.expected, self.names, self.parents = [], {}, {}, {}
        self.budget = self.random.choice([30, 300, 3000])  # operations that may still be made up
        self.blocks = self.random.choice([1, 3, 12])
        self.block("main", process="main")

    def block(self, label, process):
        """What one thread does.  Its first event carries the label, so that the track can be told."""
        expected = self.expected[label] = []
        self.parents[label] = process
        depth, begun = 0, 0
        self.say(expected, f"mark {label}", (INSTANT, 3, label, 0, None, None))
        for _ in range(self.random.randrange(self.budget // 3 + 1)):
            if self.budget <= 0:
                break
            self.budget -= 1
            choice = self.random.random()
            name = self.random.choice(NAMES)
            if choice < 0.35:
                self.say(expected, f"begin {name}", (SCOPE, BEGIN, name, depth, None, None))
                depth += 1
            elif choice < 0.68:
                self.say(expected, "end", (SCOPE, END, "", depth - 1 if depth else UNMATCHED, None, None))
                depth -= depth > 0
            elif choice < 0.75:
                self.say(expected, f"mark {name}", (INSTANT, 3, name, depth, None, None))
            elif choice < 0.85:
                number, text = self.random.randrange(-1 << 63, 1 << 63), name * self.random.randrange(1, 3)
                self.say(expected, f"with {name} key {number} {text}",
                         (INSTANT, 3, name, depth, None, {"key": number, "text": text}))
            elif choice < 0.92:
                value = self.random.randrange(-1 << 40, 1 << 40)
                self.say(expected, f"counter {name} {value}", (COUNTER, 3, name, depth, float(value), None))
            elif choice < 0.94:
                self.names[label] = name
                self.lines.append(f"name {name}")
            elif choice < 0.95:
                self.lines.append(f"sleep {self.random.randrange(3000)}")
            elif choice < 0.99 and self.blocks and begun < 60:
                begun += 1
                self.begin(process)
            else:
                self.lines.append("join")

    def begin(self, process):
        self.blocks -= 1
        label = f"block-{len(self.expected)}"
        kind = self.random.choice(["thread", "fork"])
        self.lines.append(f"{kind} {label}")
        self.block(label, label if kind == "fork" else process)
        self.lines.append("done")

    def say(self, expected, line, event):
        self.lines.append(line)
        expected.append(event)


def as_expected(recording, event):
    return event.kind, event.phase, recording.name(event), event.depth, event.value, event.metadata


def check_tracks(program, recording):
    """Each track holds what one thread should have recorded; returns the labels by track."""
    labels = {}
    for track, events in recording.by_track().items():
        label = recording.name(events[0])
        assert [as_expected(recording, event) for event in events] == program.expected[label], label
        assert all(one.time <= two.time for one, two in zip(events, events[1:])), label
        labels[track] = label
    assert sorted(labels.values()) == sorted(program.expected)
    return labels


def check_tables(program, recording, labels):
    """Threads are of the process that they were begun in, under the name that they were given last."""
    processes = {}
    for number, label in labels.items():
        track = recording.trace.tracks[number]
        processes.setdefault(program.parents[label], set()).add(track["process"])
        if label in program.names:
            assert recording.trace.strings[track["name"]] == program.names[label]
    assert all(len(numbers) == 1 for numbers in processes.values())
    assert len(recording.trace.processes) == len(processes)


@pytest.mark.parametrize("seed", SEEDS)
def test_programs_are_read_back_equal(tmp_path, seed):
    program = Program(seed)
    script = tmp_path / "script"
    script.write_text("\n".join(program.lines) + "\n")
    recording = record(tmp_path, "script", script)
    assert recording.status == 0
    assert recording.losses == []
    assert recording.said() == sum(map(len, program.expected.values()))
    check_tables(program, recording, check_tracks(program, recording))
