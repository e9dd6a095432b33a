"""The programs of examples/opencl: both forms have the same result, recorded or not, and the network is one in two languages."""

import ctypes
import importlib.util
import json
import os
import re
import subprocess
import sys
import zlib

import pytest

from recording import BUILD, INFERSCOPE, PATIENCE, ROOT

FOLDER = ROOT / "examples" / "opencl"
CLASSIFY = BUILD / "examples" / "opencl-classify"


def has_device():
    try:
        count = ctypes.c_uint32()
        return ctypes.CDLL("libOpenCL.so.1").clGetPlatformIDs(0, None, ctypes.byref(count)) == 0 and count.value > 0
    except OSError:
        return False


pytestmark = [pytest.mark.skipif(not has_device(), reason="no device of OpenCL here"),
              pytest.mark.skipif(not CLASSIFY.exists(), reason="opencl-classify was not built: no OpenCL loader")]


def command(name):
    if name == "classify":
        return [CLASSIFY]
    module = {"detect": "pyopencl", "recommend": "tinygrad"}[name]
    if not importlib.util.find_spec(module):
        pytest.skip(f"no {module} here")
    return [sys.executable, FOLDER / f"{name}.py"]


def checksum(words):
    env = {**os.environ, "PYTHONPATH": str(BUILD / "python")}
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, env=env, timeout=PATIENCE, check=True)
    return re.search(r"checksum ([0-9a-f]{8})\n[0-9.]+ ms per step\n\Z", done.stdout)[1]


@pytest.mark.parametrize("name", ("classify", "detect", "recommend"))
def test_all_forms_have_one_result(tmp_path, name):
    program, trace = command(name), tmp_path / "trace.sbt"
    bare = checksum([*program, "--steps", 20])
    assert checksum([*program, "--steps", 20, "--fixed"]) == bare
    for form in ([], ["--fixed"]):
        assert checksum([INFERSCOPE, "run", "--report", "none", "--trace", trace, "--", *program, "--steps", 20, *form]) == bare
        info = json.loads(subprocess.check_output([INFERSCOPE, "info", "--format", "json", trace]))
        assert info["lost"] == 0 and info["events_by_kind"]["gpu_kernel"] >= 20 * 4


def test_c_and_python_compute_the_same_bits():
    """Four batches of sixteen images in C are one of sixty-four through pyopencl."""
    command("detect")
    code = ("import sys; sys.dont_write_bytecode = True; sys.path.insert(0, sys.argv[1]); import detect\n"
            "network = detect.Network(); place = detect.Place(network.context)\n"
            "scene = detect.numbers(detect.SCENE * 3 * 16 * 16, 0, 1).reshape(detect.SCENE, 3, 16, 16)\n"
            "network.launch(place, scene); network.read(place); sys.stdout.buffer.write(place.results.tobytes())")
    results = subprocess.run([sys.executable, "-c", code, FOLDER], stdout=subprocess.PIPE, timeout=PATIENCE, check=True).stdout
    assert f"{zlib.crc32(results * 5):08x}" == checksum([CLASSIFY, "--steps", 20])
