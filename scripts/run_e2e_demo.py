#!/usr/bin/env python3
"""The whole way, part by part: collects events of CPU and GPU, puts them on one clock, analyzes them, and writes a report.

    scripts/run_e2e_demo.py [--build DIR] [--output DIR]

`inferscope run` does the same with one command, for a program as it is (`make demo`).
"""

import demo_parts

OF_GPUS = {"gpu_kernel", "h2d_copy", "d2h_copy", "d2d_copy", "memset", "collective"}


def main():
    options = demo_parts.options("Collect, merge, analyze, report.")
    demo_parts.find_package(options.build)
    import inferscope
    from inferscope.analyzer import BottleneckAnalyzer
    from inferscope.reporter import ReportGenerator

    folder, torch = options.output or options.build, demo_parts.find_torch()
    with inferscope.Profiler(folder / "e2e.sbt") as profiler:
        used_gpu = demo_parts.infer(inferscope, torch)
    timeline = profiler.get_unified_timeline()
    of_gpus = sum(event["event_type"] in OF_GPUS for event in timeline)
    print("1. collected  %d events of the CPU, %d of GPUs%s" % (
        len(timeline) - of_gpus, of_gpus, "" if used_gpu else ", which the program has not used (it takes one where PyTorch has CUDA)"))
    print("2. merged     all of them on one clock, from %.1f to %.1f ms" % (timeline[0]["start_us"] / 1000, timeline[-1]["start_us"] / 1000))

    analyzer = BottleneckAnalyzer(trace=profiler.trace)
    analysis = analyzer.analyze()
    print("3. analyzed   %(type)s: %(primary_cause)s" % analysis["bottleneck"])
    for row in analysis["suggestions"]:
        gain = row["estimated_improvement_percent"]
        print("              %s%s" % ("" if gain is None else "-%.0f %%: " % gain, row["action"]))

    ReportGenerator(analyzer).save(folder / "e2e-report.md")
    print("4. reported   %s, and the trace is %s" % (folder / "e2e-report.md", profiler.trace))


if __name__ == "__main__":
    main()
