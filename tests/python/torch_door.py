"""What the recorded programs of test_torch_ops.py use: the runtime's door for extensions, from Python."""

import ctypes
import os

SHAPES = 1


class Inside(ctypes.Structure):
    """As in src/runtime/inside.h."""

    _fields_ = [
        ("version", ctypes.c_uint32),
        ("runtime", ctypes.c_void_p),
        ("thread", ctypes.c_void_p),
        ("joined", ctypes.CFUNCTYPE(ctypes.c_bool)),
        ("join", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p)),
        ("leave", ctypes.CFUNCTYPE(None)),
        ("intern", ctypes.c_void_p),
        ("emit_fields", ctypes.c_void_p),
        ("thread_name", ctypes.c_void_p),
        ("note", ctypes.c_void_p),
        ("fact", ctypes.c_void_p),
        ("torch_start", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint32)),
        ("torch_stop", ctypes.CFUNCTYPE(None))]


class Calls(ctypes.Structure):
    """The head of struct inferscope_ops in include/inferscope.h."""

    _fields_ = [
        ("size", ctypes.c_uint32),
        ("version", ctypes.c_uint32),
        ("scope_begin", ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p)),
        ("scope_end", ctypes.CFUNCTYPE(None))]


runtime = ctypes.CDLL(os.environ["INFERSCOPE_RUNTIME"])
runtime.inferscope_inside.restype = ctypes.POINTER(Inside)
runtime.inferscope_inside.argtypes = [ctypes.c_uint32]
runtime.inferscope_attach.restype = ctypes.POINTER(Calls)
runtime.inferscope_attach.argtypes = [ctypes.c_uint32]
calls = runtime.inferscope_attach(1).contents
inside = runtime.inferscope_inside(5).contents


def start(flags=0):
    return inside.torch_start(flags)


def stop():
    inside.torch_stop()


def tree(events):
    """What torch.profiler has seen, in the order of begins: depth and name."""
    rows, ends = [], []
    for event in sorted(events, key=lambda event: (event.time_range.start, -event.time_range.end)):
        while ends and ends[-1] <= event.time_range.start:
            ends.pop()
        rows.append([len(ends), event.name])
        ends.append(event.time_range.end)
    return rows
