"""What the workloads share: one core, a peer around the loop, and a line of JSON.  Runs on every Python from 3.9."""

import json
import os
import statistics
import sys
import time

VIZTRACER_ENTRIES = 10_000_000  # enough for all of a workload: overwriting old entries would cost more


def pin():
    """Keeps this process on one core, so that it does not move while it is timed.  The recorder is another one, and free."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def start_peer(name):
    """Starts a profiler inside this process.  It is never stopped: what it writes afterwards is not what is timed here."""
    if name == "cProfile":
        import cProfile
        peer = cProfile.Profile()
        peer.enable()
    elif name in ("viztracer", "viztracer-calls"):
        from viztracer import VizTracer
        peer = VizTracer(tracer_entries=VIZTRACER_ENTRIES, ignore_c_function=name == "viztracer-calls", verbose=0)
        peer.start()
    elif name == "torch.profiler":
        from torch.profiler import ProfilerActivity, profile
        peer = profile(activities=[ProfilerActivity.CPU], with_stack=True)
        peer.start()
    else:
        sys.exit(f"no peer {name}")
    return peer


def seconds(function, repeats=1, pause=0, figure=statistics.median):
    """The median of some calls, in real time.  In a pause before each the recorder writes what it still has."""
    times = []
    for _ in range(repeats):
        time.sleep(pause)
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return figure(times)


def turns(function, *prepare):
    """Runs the function whenever a line comes in, and says how long it took (bench/turns.py): of what was prepared for it, if it
    needs that."""
    print(json.dumps({}), flush=True)
    for _ in sys.stdin:
        prepared = [make() for make in prepare]
        start, cpu_start = time.perf_counter(), time.process_time()
        function(*prepared)
        print(json.dumps({"seconds": time.perf_counter() - start, "cpu_seconds": time.process_time() - cpu_start}), flush=True)


def finish(peer, **result):
    """Prints the result.  Under a peer it leaves at once, before that begins to write."""
    print(json.dumps(result), flush=True)
    if peer:
        os._exit(0)
