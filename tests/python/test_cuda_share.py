"""CUPTI with several subscribers, of which the door is one: on doubles with and without them, alone and beside another client.

A client here does what a profiler does that uses the calls with _v2; the doubles refuse older calls as long as there is one.
"""

import sys
from collections import Counter

import pytest

from recording import record
from test_cuda import BOUND_NS, CALL, DOUBLES, KERNEL, PROFILER, Run, command, truth

SHARE = {"INFERSCOPE_CUDA_SHARE": 1}
CLIENT = """
import ctypes, sys
cuda, cupti = ctypes.CDLL("libcuda.so.1"), ctypes.CDLL("libcupti.so.13")

class Params(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("name", ctypes.c_char_p), ("old", ctypes.c_char_p), ("old_size", ctypes.c_size_t),
                ("several", ctypes.c_uint8), ("padding", ctypes.c_uint8 * 7)]

LISTENER = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32, ctypes.c_void_p)
REQUEST = ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_size_t), ctypes.POINTER(ctypes.c_size_t), ctypes.c_void_p)
COMPLETE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_void_p)

class Client:
    def __init__(self):
        self.handle, self.buffers, self.kernels = ctypes.c_void_p(), [], 0
        self.callbacks = LISTENER(lambda *what: None), REQUEST(self.request), COMPLETE(self.complete)

    def subscribe(self, several=1):
        params = Params(ctypes.sizeof(Params), b"a client", None, 0, several)
        return cupti.cuptiSubscribe_v2(ctypes.byref(self.handle), self.callbacks[0], None, ctypes.byref(params))

    def listen(self):
        assert cupti.cuptiActivityRegisterCallbacks_v2(self.handle, *self.callbacks[1:]) == 0
        assert cupti.cuptiActivityEnable_v2(self.handle, 10, None) == 0

    def request(self, buffer, size, most, info):
        self.buffers.append(ctypes.create_string_buffer(1 << 16))
        buffer[0], size[0], most[0] = ctypes.addressof(self.buffers[-1]), 1 << 16, 0

    def complete(self, buffer, size, valid, info):
        record = ctypes.c_void_p()
        while cupti.cuptiActivityGetNextRecord_v2(self.handle, ctypes.c_void_p(buffer), ctypes.c_size_t(valid), ctypes.byref(record)) == 0:
            self.kernels += 1

    def end(self):
        assert cupti.cuptiActivityFlushAll(0) == 0
        assert cupti.cuptiActivityDisable_v2(self.handle, 10, None) == 0 and cupti.cuptiUnsubscribe(self.handle) == 0
        return self.kernels

def start():
    context, module, kernel = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    assert cuda.cuInit(0) == 0
    assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0 and cuda.cuCtxSetCurrent(context) == 0
    assert cuda.cuModuleLoadData(ctypes.byref(module), b"") == 0
    assert cuda.cuModuleGetFunction(ctypes.byref(kernel), module, b"busy_20us") == 0
    return kernel

def work(kernel, count):
    for _ in range(count):
        assert cuda.cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, None, None, None) == 0
    assert cuda.cuCtxSynchronize() == 0

def old_subscribe(handle=ctypes.c_void_p(), listener=LISTENER(lambda *what: None)):
    return cupti.cuptiSubscribe(ctypes.byref(handle), listener, None)

client = Client()
"""
FIRST = CLIENT + """
print(client.subscribe())
client.listen()
kernel = start()
work(kernel, 30)
print(client.end())
work(kernel, 20)
"""
LATER = CLIENT + """
kernel = start()
work(kernel, 10)
result = client.subscribe()
print(result)
if result == 0:
    client.listen()
work(kernel, 30)
print(client.end() if result == 0 else 0)
work(kernel, 20)
"""
OLD_FIRST = CLIENT + """
assert old_subscribe() == 0
work(start(), 5)
"""
ALONE_FIRST = CLIENT + """
assert client.subscribe(several=0) == 0
work(start(), 5)
"""

pytestmark = pytest.mark.skipif(not (DOUBLES / "driver").is_dir(), reason="the doubles have not been built")


def run_client(folder, code, release="13.4", **settings):
    """The recording, and what the client printed."""
    env, *rest = command(folder, "", release=release, DOUBLE_DEVICES=1, **settings)
    recording = record(folder, *rest[:-1], sys.executable, "-c", code, program=env)
    assert recording.status == 0 and recording.losses == []
    return recording, recording.out.split()


def kernels(recording):
    return [event for event in recording.events if event.kind == KERNEL]


def check_kernels(recording, folder, count):
    """Each that there was, once, at its time."""
    true = {it["correlation"]: it for it in truth(folder) if it["what"] == "kernel"}
    seen = kernels(recording)
    assert Counter(event.correlation for event in seen) == Counter(list(true)) and len(true) == count
    assert max(abs(recording.trace.ns(event.time) - true[event.correlation]["start"]) for event in seen) < 2 * BOUND_NS


def notes(recording):
    return [note for note in recording.trace.info.get("notes", []) if note.startswith("cuda: ")]


# ---- Alone ----


@pytest.mark.parametrize("program, release, settings", [
    ("double-driver-program", "13.4", {}), ("double-runtime-program", "13.4", {}),
    # Where it is not to be had, all is as ever.
    ("double-driver-program", "12.9", {}), ("double-driver-program", "13.2", {}),
    ("double-driver-program", "13.4", {"DOUBLE_DRIVER_VERSION": 13020})])
def test_alone(tmp_path, program, release, settings):
    Run(tmp_path, program, release=release, DOUBLE_DEVICES=2, **SHARE, **settings).check()


def test_many(tmp_path):
    """With what is dropped, which is counted for each subscriber."""
    run = Run(tmp_path, "double-many", 20000, 1000, release="13.4", DOUBLE_FAULT="dropped=7", **SHARE)
    assert run.recording.lost(3) == sum(it["records"] for it in run.truth if it["what"] == "dropped") > 40000 / 7
    run.check_work()


def test_without_a_clock_of_our_own(tmp_path):
    """13.3 has none for each subscriber: times are the system's, and put on ours."""
    run = Run(tmp_path, "double-clock", 60, 10, release="13.4", DOUBLE_CUPTI="13.3", **SHARE)
    assert run.recording.status == 0 and run.recording.losses == []
    true = {it["correlation"]: it for it in run.truth if it["what"] == "kernel"}
    events = run.events(KERNEL)
    assert {event.correlation for event in events} == set(true) and len(events) == 60
    assert max(abs(run.trace.ns(event.time) - true[event.correlation]["start"]) for event in events) < 2 * BOUND_NS
    launches = [event for event in run.events(CALL) if run.recording.name(event) == "cuLaunchKernel"]
    assert len(launches) == 60 and {run.track(event)["kind"] for event in launches} == {1}


# ---- Beside another ----


@pytest.mark.parametrize("settings", [{}, SHARE])
def test_one_that_was_there_before(tmp_path, settings):
    """Nobody has to tell us: it allows others."""
    recording, said = run_client(tmp_path, FIRST, **settings)
    assert said == ["0", "30"] and notes(recording) == []
    check_kernels(recording, tmp_path, 50)


def test_one_that_comes_later(tmp_path):
    recording, said = run_client(tmp_path, LATER, **SHARE)
    assert said == ["0", "30"] and notes(recording) == []
    check_kernels(recording, tmp_path, 60)


def test_one_that_comes_later_and_is_not_expected(tmp_path):
    """We are there in the older way, of which there is one only."""
    recording, said = run_client(tmp_path, LATER)
    assert said == ["39", "0"]
    check_kernels(recording, tmp_path, 60)


@pytest.mark.parametrize("code, settings", [(OLD_FIRST, {}), (OLD_FIRST, SHARE), (ALONE_FIRST, {}), (ALONE_FIRST, SHARE)])
def test_one_that_allows_nobody(tmp_path, code, settings):
    recording, _ = run_client(tmp_path, code, **settings)
    assert kernels(recording) == []
    note, = notes(recording)
    assert note.startswith("cuda: another profiler (CUPTI for ") and ("a client" in note) == (code == ALONE_FIRST)


@pytest.mark.parametrize("settings, result, seen", [(SHARE, "0", 60), ({}, "0", 10)])
def test_a_profiler_of_the_programs_own(tmp_path, settings, result, seen):
    """As PyTorch's begins: where we share we stay, else we let go."""
    package = tmp_path / "torch" / "autograd"
    package.mkdir(parents=True)
    (package / "profiler.py").write_text(PROFILER)
    (package / "__init__.py").write_text("")
    (tmp_path / "torch" / "__init__.py").write_text("")
    (tmp_path / "own.py").write_text("import enum\nfrom torch.autograd.profiler import profile\n" + LATER.replace(
        "result = client.subscribe()", "profile(enum.Enum('Activity', 'CPU CUDA').CUDA).__enter__()\nresult = client.subscribe()"))
    env, *rest = command(tmp_path, "", release="13.4", DOUBLE_DEVICES=1, PYTHONDONTWRITEBYTECODE=1, **settings)
    recording = record(tmp_path, *rest[:-1], sys.executable, tmp_path / "own.py", program=env)
    assert recording.status == 0 and recording.losses == []
    assert recording.out.split() == [result, "30"]
    assert len(kernels(recording)) == seen and len(notes(recording)) == (settings != SHARE)
