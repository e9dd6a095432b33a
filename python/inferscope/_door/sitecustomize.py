"""How `inferscope run` gets into a Python program.

The recorder puts this folder in front of PYTHONPATH, so that the interpreter
imports this file at start.  It loads the extension, takes the folder out of
sys.path again, and lets the sitecustomize that would have been imported
without us have its turn.  Whatever goes wrong here, the program never hears
of it: what there is to say is left for the recorder to tell.
"""

import sys


_ABSENT = "inferscope has no extension for it; 'make' builds one for each Python it finds, 'pip install' of inferscope into it brings one"
_OLD = "inferscope records Python 3.9 and later"


def _note(text):
    """A sentence for the user, where the recorder finds it."""
    import os
    try:
        path = "%s/n%d" % (os.environ["INFERSCOPE_SESSION"], os.getpid())
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        os.write(descriptor, text.encode("utf-8", "replace")[:500])
        os.close(descriptor)
    except (OSError, KeyError):
        pass


def _load(folder):
    """The extension in this folder that is made for this interpreter."""
    import _frozen_importlib
    import _frozen_importlib_external
    import _imp
    import os
    name = "inferscope._tracer"
    for suffix in _imp.extension_suffixes():
        path = os.path.join(folder, "_tracer" + suffix)
        if suffix != ".so" and os.path.isfile(path):
            loader = _frozen_importlib_external.ExtensionFileLoader(name, path)
            spec = _frozen_importlib.ModuleSpec(name, loader, origin=path)
            module = _frozen_importlib.module_from_spec(spec)
            loader.exec_module(module)
            sys.modules[name] = module
            return module
    return None


def _extension(package):
    """inferscope._tracer for this interpreter: the one beside this door, else an installed package's.

    Only what every interpreter has loaded is used for it: a program that forgets an import must fail as without us.
    """
    module = _load(package)
    if module is None:
        import _frozen_importlib_external
        spec = _frozen_importlib_external.PathFinder.find_spec("inferscope")
        for folder in (spec and spec.submodule_search_locations) or ():
            module = module or _load(folder)
    return module


def _record(package):
    import os
    environ = os.environ
    if "INFERSCOPE_SESSION" not in environ or environ.get("INFERSCOPE_ENABLED") == "0":
        return
    version = "%d.%d" % sys.version_info[:2]
    tracer = _extension(package)
    if tracer is None:
        _note("Python %s (%s) is not recorded: %s" % (version, sys.executable, _ABSENT if sys.version_info >= (3, 9) else _OLD))
        return
    if not tracer.link(environ.get("INFERSCOPE_RUNTIME", "")):
        return
    tracer.start(calls=environ.get("INFERSCOPE_CALLS") != "0", c_calls=environ.get("INFERSCOPE_C_CALLS") == "1",
                 ops=environ.get("INFERSCOPE_OPS") != "0", shapes=environ.get("INFERSCOPE_SHAPES") == "1",
                 include=environ.get("INFERSCOPE_INCLUDE"), exclude=environ.get("INFERSCOPE_EXCLUDE"), afresh=True,
                 full=environ.get("INFERSCOPE_DETAIL") == "full", light=environ.get("INFERSCOPE_DETAIL") == "light")


def _leave(door):
    """The folder goes, and with it this module: the next sitecustomize on the path is the program's own."""
    sys.path[:] = [entry for entry in sys.path if entry != door]
    sys.path_importer_cache.pop(door, None)
    sys.modules.pop("sitecustomize", None)


def _enter():
    door, _, _ = __file__.rpartition("/")
    try:
        _record(door.rpartition("/")[0])
    except Exception as error:
        try:
            _note("Python (%s) is not recorded: %s: %s" % (sys.executable, type(error).__name__, error))
        except Exception:
            pass
    _leave(door)


_enter()
import sitecustomize
