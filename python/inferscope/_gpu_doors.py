"""The doors of GPUs, opened from inside a program.

A driver or loader reads a variable when the program first uses it, and loads
the library that it names: our runtime.  `inferscope run` sets these variables
before the program starts; here they are set while somebody records, which is
soon enough for whatever has not been used by then.
"""

import os

CUDA, OPENCL = "CUDA_INJECTION64_PATH", "OPENCL_LAYERS"
_COPY = "INFERSCOPE_OPENCL_LAYERS"  # a loader may cut OPENCL_LAYERS; our layer mends it from here

# What a door can be: open; too late, since the driver was in use before; taken by another library; or not to be opened.
OPEN, LATE, TAKEN, CLOSED = "open", "late", "taken", "closed"

_VENDORS = ("libpocl", "libnvidia-opencl", "libamdocl64", "libigdrcl", "libintelocl", "libRusticlOpenCL", "libclvk")
_DRIVERS = ("/proc/driver/nvidia/version", "/dev/nvidiactl", "/dev/nvhost-ctrl-gpu", "/dev/dxg")
_NOT_INITIALIZED = 3  # CUDA_ERROR_NOT_INITIALIZED

_before = {}      # variables that we have set -> (what they were, what we set)
_entered = set()  # names of doors that a driver has come through


# ---- What is in use -------------------------------------------------------------------


def _libraries():
    """The paths of libraries in this process."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as file:
            return {line.split(None, 5)[5].rstrip("\n") for line in file if "/" in line}
    except OSError:
        return set()


def _folders_of_vendors():
    given = os.environ.get("OCL_ICD_VENDORS") or os.environ.get("OPENCL_VENDOR_PATH")
    return [given] if given else ["/etc/OpenCL/vendors"]


def vendors():
    """Libraries of OpenCL's vendors, as files with the suffix .icd name them."""
    found = []
    for folder in _folders_of_vendors():
        paths = [folder]
        if os.path.isdir(folder):
            paths = [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.endswith(".icd")]
        for path in paths:
            try:
                with open(path, encoding="utf-8", errors="replace") as file:
                    found.append(file.readline(4096).strip() if path.endswith(".icd") else path)
            except OSError:
                pass
    return [name for name in found if name]


def _opencl_in_use():
    """A loader reads its variable together with the list of vendors, whose libraries it loads at once."""
    stems = set(_VENDORS) | {os.path.basename(name).partition(".so")[0] for name in vendors()}
    return any(os.path.basename(path).partition(".so")[0] in stems for path in _libraries())


def _cuda_library():
    return next((path for path in _libraries() if os.path.basename(path).startswith("libcuda.so")), None)


def _cuda_in_use():
    """cuInit() reads the variable; until then every other function of the driver refuses."""
    path = _cuda_library()
    if path is None:
        return False
    import ctypes
    try:
        return ctypes.CDLL(path).cuDeviceGetCount(ctypes.byref(ctypes.c_int())) != _NOT_INITIALIZED
    except (OSError, AttributeError):
        return True


_IN_USE = {"cuda": _cuda_in_use, "opencl": _opencl_in_use}


def unavailable():
    """Why there can be nothing to record; None when there is a driver of either kind."""
    if any(map(os.path.exists, _DRIVERS)) or _cuda_library() or vendors() or _opencl_in_use():
        return None
    return "there is neither a driver of CUDA nor one of OpenCL"


# ---- Opening and closing --------------------------------------------------------------


def _set(variable, value):
    _before[variable] = os.environ.get(variable), value
    os.environ[variable] = value


def _open_cuda(runtime, wanted):
    present = os.environ.get(CUDA, "")
    if wanted in ("off", "nsys") or present == "none":
        return CLOSED
    if present == runtime:
        return OPEN
    if present:
        return TAKEN
    if _cuda_in_use():
        return OPEN if "cuda" in _entered else LATE
    _set(CUDA, runtime)
    return OPEN


def _open_opencl(runtime, wanted):
    layers = os.environ.get(OPENCL, "").split(":")
    if wanted == "off":
        return CLOSED
    if runtime in layers:
        return OPEN
    if _opencl_in_use():
        return OPEN if "opencl" in _entered else LATE
    value = ":".join([layer for layer in layers if layer] + [runtime])
    _set(OPENCL, value)
    _set(_COPY, value)
    return OPEN


def look(runtime):
    """How the doors are that somebody else has opened, or not."""
    cuda, layers = os.environ.get(CUDA, ""), os.environ.get(OPENCL, "").split(":")
    return {"cuda": OPEN if cuda == runtime else TAKEN if cuda not in ("", "none") else CLOSED,
            "opencl": OPEN if runtime in layers else CLOSED}


def open_doors(runtime):
    """Until close_doors(): {door: how it is}.  There is one recording at a time to open them for."""
    wanted = os.environ.get("INFERSCOPE_GPU", "auto").lower()
    return {"cuda": _open_cuda(runtime, wanted), "opencl": _open_opencl(runtime, wanted)}


def close_doors():
    """Variables are what they were; one that the program has changed meanwhile is the program's."""
    for variable, door in ((CUDA, "cuda"), (OPENCL, "opencl")):
        if variable in _before and _IN_USE[door]():
            _entered.add(door)
    for variable, (old, new) in _before.items():
        if os.environ.get(variable) != new:
            continue
        if old is None:
            del os.environ[variable]
        else:
            os.environ[variable] = old
    _before.clear()


def sentence(door, how):
    """Why the work of a door is missing; None when it is not."""
    name = {"cuda": "CUDA", "opencl": "OpenCL"}[door]
    if how == LATE:
        return "%s work is not recorded: %s was in use before; start earlier, or use 'inferscope run'" % (name, name)
    if how == TAKEN:
        return "%s work is not recorded: %s is already set to %s" % (name, CUDA, os.environ.get(CUDA))
    return None
