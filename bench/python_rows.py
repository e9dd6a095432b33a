"""The rows about Python and PyTorch.

Each is measured in rounds: the program bare, recorded by us, under each peer, and again.  The figure of a round is ours by the
bare one of the same round.  Peers are slow and have no bar, so they take part in the first rounds only.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from measure import PROCESS_PAIRS, Skip, row
from memory import PeakMemory

ROOT = Path(__file__).resolve().parent.parent
WORKLOADS = ROOT / "bench" / "python"
TRANSFORMER = ROOT / "examples" / "transformer.py"
PEER_ROUNDS = 5
FILE_ROUNDS = 3         # sizes hardly differ
INFER_BLOCKS = 11       # of 50 steps
WHOLE_STEPS = 700
VIZTRACER_ENTRIES = 5_000_000  # where its trace must be whole
MB = 1024 * 1024
EVERYTHING = {"INFERSCOPE_DETAIL": "full"}  # all calls, as peers do, whatever they cost
CALLS_ONLY = {"INFERSCOPE_OPS": "0", **EVERYTHING}
BOTH = ("cpu_call", "op")
FIB_BARS = {"3.11": 1.8, "3.12": 2.2, "3.13": 2.2}


def say(text):
    print(f"bench: {text}", file=sys.stderr, flush=True)


# ---- Interpreters -----------------------------------------------------------

# How often an allocator gives memory back to the kernel hangs on where its heap happens to begin: the page faults of one and the
# same training loop differ eightfold between runs, its time by a fifth, and being loaded into it moves the heap.  Nor is the order
# of what is hashed to differ from run to run.  So both sides keep what they have been given.
STEADY = {"PYTHONHASHSEED": "0", "MALLOC_TRIM_THRESHOLD_": str(1 << 30), "MALLOC_MMAP_THRESHOLD_": str(1 << 25),
          "MALLOC_TOP_PAD_": str(1 << 26)}


def bench_python():
    """The interpreter that has PyTorch and the peers."""
    return os.environ.get("INFERSCOPE_BENCH_PYTHON") or str(ROOT / ".venv" / "bin" / "python")


def ask(python, code):
    """What an interpreter prints as JSON; None when it cannot be run."""
    try:
        done = subprocess.run([python, "-c", f"import json, sys, sysconfig; print(json.dumps({code}))"], capture_output=True,
                              text=True, stdin=subprocess.DEVNULL, timeout=30, check=True)
        return json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return None


def candidates():
    """Interpreters there may be: ours first, then those on the PATH, then pyenv's."""
    yield bench_python()
    for name in ("python3", *(f"python3.{minor}" for minor in range(9, 20))):
        if shutil.which(name):
            yield shutil.which(name)
    folder = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    yield from sorted(str(path) for path in folder.glob("*/bin/python3.*") if re.fullmatch(r"python3\.\d+", path.name))


def find_interpreters(build):
    """{"3.11": path, ...} of those that this build has an extension for, one a version, in order."""
    found = {}
    for python in candidates():
        answer = ask(python, '[sys.version_info[:2], sysconfig.get_config_var("EXT_SUFFIX")]')
        if answer and (build / "python" / "inferscope" / f"_tracer{answer[1]}").exists():
            found.setdefault(tuple(answer[0]), python)
    if not found:
        raise Skip(f"no extension for any Python here, in {build}/python/inferscope")
    return {f"{major}.{minor}": found[major, minor] for major, minor in sorted(found)}


def peer_name(package, called=None):
    """A peer with its version, as rows name it."""
    version = ask(bench_python(), f'__import__("importlib.metadata").metadata.version("{package}")')
    if not version:
        raise Skip(f"{package} is not installed in {bench_python()} (scripts/requirements-torch.txt, -bench.txt)")
    return f"{called or package} {version.partition('+')[0]}"


# ---- Rounds -----------------------------------------------------------------

def record(bench, *command, env=None, on_start=None, kinds=("cpu_call",)):
    """Records a Python program, and sees to it that something was."""
    result, info = bench.record(*command, env={**os.environ, **(env or {})}, on_start=on_start)
    need_kinds(info, command[0], *kinds)
    return result, info


def need_kinds(info, what, *kinds):
    missing = [kind for kind in kinds if not info["events_by_kind"].get(kind)]
    if missing:
        raise Skip(f"{what}: no {missing[0]} events were recorded")


def rounds(what, sides):
    """sides is {name: (times, function)}; {name: what the function returned each time}."""
    say(f"{what}: {', '.join(f'{times} x {name}' for name, (times, _) in sides.items())}")
    results = {name: [] for name in sides}
    for number in range(max(times for times, _ in sides.values())):
        for name, (times, measure) in sides.items():
            if number < times:
                results[name].append(measure())
    return results


def slowdowns(values, bare):
    return [value / alone for value, alone in zip(values, bare)]


def against_bare(name, ours, bare, bar, unit="ms", scale=1e3):
    return row(name, unit, [value * scale for value in ours], bar, "bare", [value * scale for value in bare], "ratio")


def beside(name, ours, bare, peer, peer_values):
    """Ours and the peer, each as times the bare program."""
    return row(name, "x", slowdowns(ours, bare), None, peer, slowdowns(peer_values, bare))


# ---- Python -----------------------------------------------------------------

def timed(bench, python, workload, *arguments):
    """A function that runs a workload bare, or under the peer that its last argument names."""
    return lambda: bench.run(python, WORKLOADS / workload, *arguments)["seconds"]


def recorded(bench, python, workload, *arguments, **options):
    return lambda: record(bench, python, WORKLOADS / workload, *arguments, **options)[0]["seconds"]


def py_fib(bench):
    viztracer = peer_name("viztracer")
    for version, python in find_interpreters(bench.build).items():
        if version not in FIB_BARS:
            continue
        sides = {"bare": (PROCESS_PAIRS, timed(bench, python, "fib.py")),
                 "ours": (PROCESS_PAIRS, recorded(bench, python, "fib.py", env=EVERYTHING)),
                 "as it comes": (PEER_ROUNDS, recorded(bench, python, "fib.py")),
                 "cProfile": (PEER_ROUNDS, timed(bench, python, "fib.py", "cProfile"))}
        if python == bench_python():
            sides[viztracer] = (PEER_ROUNDS, timed(bench, python, "fib.py", "viztracer"))
        name = f"py_fib_{version}"
        values = rounds(name, sides)
        bare, ours = values.pop("bare"), values.pop("ours")
        yield against_bare(name, ours, bare, FIB_BARS[version])
        yield against_bare(f"{name}_auto", values.pop("as it comes"), bare[:PEER_ROUNDS], None)
        for peer in values:
            yield beside(name, ours, bare, peer, values[peer])


def py_loop(bench):
    for version, python in find_interpreters(bench.build).items():
        name = f"py_loop_{version}"
        values = rounds(name, {"bare": (PROCESS_PAIRS, timed(bench, python, "loop.py")),
                               "ours": (PROCESS_PAIRS, recorded(bench, python, "loop.py"))})
        yield against_bare(name, values["ours"], values["bare"], 1.02)


def scope(bench):
    env = {"PYTHONPATH": str(bench.build / "python")}

    def once():
        return record(bench, bench_python(), WORKLOADS / "scope.py", env=env, kinds=("scope", "instant"))[0]

    results = rounds("scope", {"ours": (PROCESS_PAIRS, once)})["ours"]
    yield row("scope", "ns", [result["scope"] for result in results], 200)
    yield row("mark_event", "ns", [result["mark"] for result in results], 100)


# ---- PyTorch, its loop alone ------------------------------------------------

def infer_sides(bench, threads, times):
    command = (bench, bench_python(), "torch_infer.py", INFER_BLOCKS, threads)
    return {"bare": (times, timed(*command)),
            "calls": (times, recorded(*command, env=CALLS_ONLY)),
            "calls and operators": (times, recorded(*command, kinds=BOTH, env=EVERYTHING)),
            "as it comes": (times, recorded(*command, kinds=BOTH))}


def torch_infer(bench):
    viztracer, profiler = peer_name("viztracer"), peer_name("torch", "torch.profiler")
    sides = infer_sides(bench, 1, PROCESS_PAIRS)
    for peer in ("viztracer-calls", "viztracer", "torch.profiler"):
        sides[peer] = (PEER_ROUNDS, timed(bench, bench_python(), "torch_infer.py", INFER_BLOCKS, 1, peer))
    values = rounds("torch_infer", sides)
    bare, calls, both = values["bare"], values["calls"], values["calls and operators"]
    yield against_bare("torch_infer_calls", calls, bare, 1.03)
    yield beside("torch_infer_calls", calls, bare, f"{viztracer}, no C calls", values["viztracer-calls"])
    yield beside("torch_infer_calls", calls, bare, viztracer, values["viztracer"])
    yield against_bare("torch_infer", both, bare, 1.10)
    yield beside("torch_infer", both, bare, f"{profiler}, stacks", values["torch.profiler"])
    yield against_bare("torch_infer_auto", values["as it comes"], bare, None)

    values = rounds("torch_infer on all cores", infer_sides(bench, 0, PEER_ROUNDS))
    yield against_bare("torch_infer_calls_cores", values["calls"], values["bare"], None)
    yield against_bare("torch_infer_cores", values["calls and operators"], values["bare"], None)
    yield against_bare("torch_infer_auto_cores", values["as it comes"], values["bare"], None)


# ---- PyTorch, the whole program ---------------------------------------------

class Whole:
    """One run of the example: seconds, bytes of trace, and memory."""

    def __init__(self, bench, run, trace=None):
        watch = PeakMemory(bench_python())
        result = run(watch.start)
        watch.finish()
        if isinstance(result, tuple):
            result, info = result
            self.bytes = info["size_bytes"]
        self.wall, self.private, self.shared = result["wall"], watch.private / MB, watch.shared / MB
        if trace:
            self.bytes = trace.stat().st_size
            trace.unlink()


def viztracer_command(trace, *options):
    return (bench_python(), "-m", "viztracer", "--quiet", *options, "-o", trace)


def whole_sides(bench):
    """What is run for torch_wall: viztracer as it comes, which keeps the last million calls."""
    program = (TRANSFORMER, "--steps", WHOLE_STEPS)
    trace = bench.scratch / "peer.json"

    def side(*command, trace=None):
        return lambda: Whole(bench, lambda on_start: bench.run(*command, *program, on_start=on_start), trace)

    def ours():
        return Whole(bench, lambda on_start: record(bench, bench_python(), *program, on_start=on_start, kinds=BOTH))

    return {"bare": (PROCESS_PAIRS, side(bench_python())), "ours": (PROCESS_PAIRS, ours),
            "viztracer": (PEER_ROUNDS, side(*viztracer_command(trace), trace=trace)),
            "torch.profiler": (PEER_ROUNDS, side(bench_python(), WORKLOADS / "torch_profiler.py", trace, trace=trace))}


def torch_whole(bench):
    peers = {"viztracer": peer_name("viztracer"), "torch.profiler": f"{peer_name('torch', 'torch.profiler')}, stacks"}
    runs = rounds("torch_wall", whole_sides(bench))
    wall = {side: [run.wall for run in of] for side, of in runs.items()}
    yield against_bare("torch_wall", wall["ours"], wall["bare"], 1.10, "s", 1)
    for side, peer in peers.items():
        yield beside("torch_wall", wall["ours"], wall["bare"], peer, wall[side])

    above = {side: [run.private - bare.private for run, bare in zip(of, runs["bare"])] for side, of in runs.items()}
    yield row("torch_rss", "MB", above["ours"], 40)
    for side, peer in peers.items():
        yield row("torch_rss", "MB", above["ours"], None, peer, above[side])
    yield row("torch_rss_shared", "MB", [run.shared for run in runs["ours"]], None)
    yield from torch_file(bench, peers["viztracer"], [run.bytes for run in runs["ours"]])


def torch_file(bench, viztracer, both):
    """Sizes of whole traces: calls against calls, and ours as it comes against all that viztracer can see."""
    program = (TRANSFORMER, "--steps", WHOLE_STEPS)
    trace = bench.scratch / "peer.json"

    def theirs(*options):
        bench.run(*viztracer_command(trace, "--tracer_entries", VIZTRACER_ENTRIES, *options), *program)
        size = trace.stat().st_size
        trace.unlink()
        return size

    sizes = rounds("torch_file", {
        "ours": (FILE_ROUNDS, lambda: record(bench, bench_python(), *program, env=CALLS_ONLY)[1]["size_bytes"]),
        "viztracer, no C calls": (FILE_ROUNDS, lambda: theirs("--ignore_c_function")),
        "viztracer": (1, theirs)})
    ours, calls, everything = ([size / MB for size in of] for of in sizes.values())
    yield row("torch_file_calls", "MB", ours, 0.05, f"{viztracer}, no C calls", calls, "ratio")
    yield row("torch_file", "MB", [size / MB for size in both], None, viztracer, everything)


MEASUREMENTS = {
    "py_fib": py_fib,
    "py_loop": py_loop,
    "scope": scope,
    "torch_infer": torch_infer,
    "torch_wall": torch_whole,
}
