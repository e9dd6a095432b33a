"""A power cut at any moment leaves what was on the disk: of an unfinished trace what can be read is read, a finished one is whole.

The power is not cut. tests/programs/power_log.c writes down what a command does to its files; here that is done again, up
to any point, to a disk that keeps what was synced and whichever part it likes of the rest.
"""

import errno
import importlib.util
import random
import sys
from collections import namedtuple

import pytest
import sbt
from conftest import BUILD, FAULTS, INFERSCOPE, PROGRAMS, SANITIZED
from test_recover import Killed

pytestmark = pytest.mark.skipif(SANITIZED, reason="nothing can be preloaded before the sanitizers")

POWER_LOG = PROGRAMS / "libpower-log.so"
PAGE = 4096
SEED = 20

Operation = namedtuple("Operation", "name offset size data path other")


def engine():
    """The C reader, in this process."""
    folder = BUILD / "python"
    if importlib.util.find_spec("inferscope") is None:
        sys.path.insert(0, str(folder))
    return pytest.importorskip("inferscope._engine")


def logged(place, path, **variables):
    log = place.folder / f"log of {path.stem}"
    return {"LD_PRELOAD": str(POWER_LOG), "POWER_FILES": str(path), "POWER_LOG": str(log), **variables}


def operations(place, path):
    data, at, found = (place.folder / f"log of {path.stem}").read_bytes(), 0, []
    while at < len(data):
        end = data.index(b"\n", at)
        line, other = data[at:end].decode().split("\t")
        name, offset, size, count, file = line.split(" ", 4)
        found.append(Operation(name, int(offset), int(size), data[end + 1:end + 1 + int(count)], file, other))
        at = end + 1 + int(count)
    return found


# ---- A disk ----


def pages_of(change):
    """A write as the kernel sees it: pages, each of which gets to the disk when it likes."""
    if change.name != "write":
        return [change]
    cuts = sorted({change.offset, change.offset + change.size,
                   *range((change.offset // PAGE + 1) * PAGE, change.offset + change.size, PAGE)})
    return [change._replace(offset=begin, size=end - begin, data=change.data[begin - change.offset:end - change.offset])
            for begin, end in zip(cuts, cuts[1:])]


def changed(content, changes):
    content = bytearray(content)
    for change in changes:
        end = change.offset + change.size
        if change.name == "truncate":
            content = content[:change.size] + bytes(max(0, change.size - len(content)))
        elif change.name == "punch":
            content[change.offset:end] = bytes(len(content[change.offset:end]))
        else:
            content.extend(bytes(max(0, end - len(content))))
            content[change.offset:end] = change.data or content[change.offset:end]
    return bytes(content)


class File:
    """What is on the disk for certain, and what has been done since."""

    def __init__(self):
        self.synced, self.since, self.longest = b"", [], b""

    def change(self, operation):
        self.since.append(operation)
        content = self.content
        self.longest = content if len(content) >= len(self.longest) else self.longest

    @property
    def content(self):
        return changed(self.synced, self.since)

    def sync(self):
        self.synced, self.since = self.content, []

    def out_of_order(self, chance):
        """Some of the pages that were not synced; and its size may be ahead of these, or behind."""
        share = chance.choice((0.1, 0.5, 0.9))
        pages = [page for change in self.since for page in pages_of(change) if chance.random() < share]
        content = changed(self.synced, pages)
        least, most = min(len(self.synced), len(content)), max(len(content), len(self.content))
        if self.since and chance.random() < 0.6:
            size = chance.randint(least, most)
            content = content[:size] + bytes(max(0, size - len(content)))
        return content


class Disk:
    """Files, and names: names change in the order in which they were changed, and may be behind."""

    def __init__(self):
        self.names, self.since = {}, []

    @staticmethod
    def renamed(names, operations):
        names = dict(names)
        for operation in operations:
            file = names.get(operation.path)
            if operation.name in ("rename", "unlink"):
                names.pop(operation.path, None)
            if operation.name in ("rename", "link") and file:
                names[operation.other] = file
        return names

    @property
    def now(self):
        return self.renamed(self.names, self.since)

    def do(self, operation):
        if operation.name in ("rename", "link", "unlink"):
            self.since.append(operation)
        elif operation.name != "sync":
            self.file(operation.path).change(operation)
        elif operation.path in self.now:
            self.now[operation.path].sync()
        else:  # the folder
            self.names, self.since = self.now, []

    def file(self, path):
        file = self.now.get(path)
        if file is None:
            file = self.names[path] = File()  # a new one has its name: without it there is nothing to look at
        return file

    def after_power_cut(self, chance):
        """What may be there: names and contents."""
        for names in (self.names, self.now):
            yield {path: file.content for path, file in names.items()}
            yield {path: file.synced for path, file in names.items()}
        names = self.renamed(self.names, self.since[:chance.randint(0, len(self.since))])
        yield {path: file.out_of_order(chance) for path, file in names.items()}


# ---- What has to be there ----


def marks_of(block):
    return [event.metadata["i"] for event in block.content.list if event.metadata]


def common_length(one, other):
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low


class Checker:
    """Every content of a file is looked at once."""

    def __init__(self, place, path, disk, files):
        self.read_events, self.error = engine().read_events, sys.modules["inferscope._engine"].TraceError
        self.copy = place.sessions / "after.sbt"  # in memory
        self.path, self.whole = str(path), disk.now[str(path)].content
        self.files = {content: sbt.Trace(content) for content in files}
        self.seen, self.opened, self.finished = set(), 0, 0

    def check(self, there):
        for path, content in there.items():
            if path == self.path:
                assert content == self.whole, f"{len(content)} bytes are there under the final name, of {len(self.whole)}"
                self.finished += 1
            elif content not in self.seen:
                self.seen.add(content)
                self.check_partial(content)

    def check_partial(self, content):
        expected = max((self.leading(content, full, trace) for full, trace in self.files.items()), key=lambda found: found[0])
        blocks, marks = expected
        self.copy.write_bytes(content)
        try:
            read = self.read_events(str(self.copy))
        except ValueError:
            assert blocks == 0, f"{blocks} blocks can be read, of {len(content)} bytes"
            return
        self.opened += 1
        got = [event["metadata"]["i"] for event in read if event["name"] == "noise"]
        assert got == sorted(set(got)) and set(got).issuperset(marks)

    @staticmethod
    def leading(content, full, trace):
        """How many whole blocks the content begins with, and the marks in them."""
        same = common_length(content, full)
        blocks = [block for block in trace.blocks if block.end <= same]
        return len(blocks), [mark for block in blocks if block.kind == sbt.EVENTS for mark in marks_of(block)]


def cut_everywhere(place, path):
    """The power is cut after every operation, several times; how many files were opened, and how many finished ones seen."""
    log, chance = operations(place, path), random.Random(SEED)
    disk, files = Disk(), {}
    for operation in log:
        disk.do(operation)
        files.update((id(file), file) for file in disk.now.values())
    checker = Checker(place, path, disk, {file.longest for file in files.values()})
    disk = Disk()
    for operation in log:
        disk.do(operation)
        for there in disk.after_power_cut(chance):
            checker.check(there)
    return checker


def record(place, name, *arguments):
    path = place.folder / name
    return path, place.start(INFERSCOPE, "run", "--trace", path, *arguments, env=logged(place, path))


def test_power_cuts(place):
    """Of a recording, of one that consists of segments, which are joined at its end, and of an import."""
    plain, one = record(place, "plain.sbt", FAULTS, "noise", 1200, 900)
    bounded, other = record(place, "bounded.sbt", "--max-file-mb", 1, FAULTS, "noise", 8000, 900)
    assert (place.finish(one).status, place.finish(other).status) == (0, 0)
    imported = place.folder / "imported.sbt"
    assert place.call(INFERSCOPE, "import", plain, "-o", imported, env=logged(place, imported)).status == 0

    for path, opened in ((plain, 15), (bounded, 30), (imported, 1)):
        checker = cut_everywhere(place, path)
        assert checker.opened >= opened and checker.finished >= 3
        assert path.read_bytes() == checker.whole


@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC])
def test_a_disk_that_cannot_keep_it(place, code):
    result = place.record(FAULTS, "scopes", 10, "exit", env=logged(place, place.trace_path, POWER_ERROR=str(code)))

    assert result.status == 7
    words = f"cannot get the trace file onto the disk: {'Input/output error' if code == errno.EIO else 'No space left on device'}"
    assert [line for line in result.lines if words in line] == [f"inferscope: the trace is not whole: {words}"]
    trace = place.trace()  # with its index, and without a fault
    assert trace.info["trouble"] == words and trace.count("work") == 10
    checks = place.json("analyze", place.trace_path)["integrity"]["checks"]
    (check,) = [check for check in checks if check["name"] == "complete"]
    assert (check["status"], check["detail"]) == ("warning", f"the recording is not whole: {words}")


def test_a_file_system_that_knows_no_such_thing(place):
    result = place.record(FAULTS, "scopes", 10, "exit", env=logged(place, place.trace_path, POWER_ERROR=str(errno.EINVAL)))

    assert result.status == 7
    assert len(result.lines) == 1 and result.closing["events"] == 22
    assert "trouble" not in place.trace().info


def test_an_import_that_the_disk_does_not_keep(place):
    assert place.record(FAULTS, "scopes", 10, "exit").status == 7
    imported = place.folder / "imported.sbt"

    result = place.call(INFERSCOPE, "import", place.trace_path, "-o", imported, env=logged(place, imported, POWER_ERROR=str(errno.EIO)))

    assert result.status == 4
    assert result.err == "inferscope: cannot get the trace file onto the disk: Input/output error\n"
    assert sorted(path.name for path in place.folder.glob("*.sbt*")) == ["trace.sbt"]


def test_what_was_left_stays_where_the_disk_does_not_keep_what_was_made_of_it(place):
    killed = Killed(place, 100).kill().let_end()
    partial, recover = killed.partial(), (INFERSCOPE, "recover", killed.session)

    failed = place.call(*recover, env=logged(place, place.trace_path, POWER_ERROR=str(errno.EIO)))

    assert (failed.status, failed.out) == (4, "")
    (made,) = set(place.folder.glob("*.partial")) - {partial}
    words = "cannot get the trace file onto the disk: Input/output error"
    assert failed.err == f"inferscope: {words}; what was in memory is in {made} now, as far as it could be written\n"
    assert partial.exists() and killed.session.exists() and not place.trace_path.exists()
    trace = place.trace(made)
    assert trace.info["trouble"] == words and trace.info["recovered"] is True
    assert trace.count("work") == 100 and len(trace.events) == 2 * 100 + 4
