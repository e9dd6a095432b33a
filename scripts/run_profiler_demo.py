#!/usr/bin/env python3
"""Profiler, from inside a program: starts it, runs a small program, and shows what was recorded.

    scripts/run_profiler_demo.py [--build DIR] [--output DIR]
"""

from collections import Counter

import demo_parts


def main():
    options = demo_parts.options("What inferscope.Profiler records of a program.")
    demo_parts.find_package(options.build)
    import inferscope

    torch = demo_parts.find_torch()
    with inferscope.Profiler() as profiler:
        demo_parts.infer(inferscope, torch)
    events, stats = profiler.get_unified_timeline(), profiler.get_stats()

    print("%d events in %.1f ms, %d lost" % (stats["events"], stats["duration_us"] / 1000, stats["lost"]))
    for kind, count in Counter(event["event_type"] for event in events).most_common():
        print("  %6d %s" % (count, kind))
    first = next(number for number, event in enumerate(events) if event["name"] == "request")
    print("the first request:")
    for event in events[first:first + 8]:
        depth = event.get("depth", 0) - events[first].get("depth", 0)
        print("  %9.1f us %9.1f us  %s%s" % (event["start_us"], event["end_us"] - event["start_us"], "  " * max(depth, 0), event["name"]))


if __name__ == "__main__":
    main()
