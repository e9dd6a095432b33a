"""All that a program can see of how it was started."""

import sys

# encodings.ascii comes with the first extension module, with -X dev
modules = sorted(name for name in sys.modules if name not in ("inferscope._tracer", "encodings.ascii"))
import os

OURS = "CUDA_INJECTION", "INFERSCOPE_", "INTEL_LIBITTNOTIFY", "NVTX_INJECTION", "OPENCL_LAYERS", "PYTHONPATH"

print("modules", modules)
print("path", sys.path)
print("flags", sys.flags)
print("argv", sys.argv, sys.orig_argv if hasattr(sys, "orig_argv") else None)
print("name", __name__, sys.executable, sys.prefix, sys.base_prefix)
print("hooks", sys.excepthook is sys.__excepthook__, sys.displayhook is sys.__displayhook__, sys.gettrace(), sys.getprofile())
print("imports", [getattr(f, "__name__", type(f).__name__) for f in sys.meta_path], len(sys.path_hooks))
print("caches", sorted(sys.path_importer_cache))
print("limits", sys.getrecursionlimit(), sys.getswitchinterval(), sys.getdlopenflags())
print("environment", sorted(name for name in os.environ if not name.startswith(OURS)))
print("descriptors", sorted(map(int, os.listdir("/proc/self/fd")))[:3])
print("warnings", sys.warnoptions, sys.dont_write_bytecode, sys.stdout.line_buffering, sys.stdout.encoding)
print("main", sorted(vars(sys.modules["__main__"])))
print("frames", sys._getframe().f_back, sys._getframe(0).f_code.co_name)
print("customised", "sitecustomize" in sys.modules, "usercustomize" in sys.modules)
print("threads", len(os.listdir("/proc/self/task")), len(sys._current_frames()))
print("builtins", sorted(set(dir(__builtins__)) - set(dir(type(sys)))))
print("audit", hasattr(sys, "addaudithook"), sys.pycache_prefix)
