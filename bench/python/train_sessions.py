"""A training loop whose operations a BottleneckProfiler counts, and the same without.    train_sessions.py LEVEL PAIRS

Steps with four operations each, bare and counted in turn, on one core, in one session; what the thread takes that looks at the
program is added to those that are counted, by its processor time.  COMPREHENSIVE records everything between start and stop, so
there it is 20 steps in a session and 20 outside.  LEVEL "memory": a session of level BASIC, and what is in memory when it
has ended; "bare": the same without one.
"""

import json
import sys
import time

import torch

import workload

BLOCK = 20  # steps


class Training:
    """An encoder of two layers: a step takes some 15 ms, which is little for a training."""

    def __init__(self):
        torch.manual_seed(1)
        layer = torch.nn.TransformerEncoderLayer(128, 4, 256, batch_first=True)
        self.model = torch.nn.Sequential(torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), torch.nn.Flatten(),
                                         torch.nn.Linear(32 * 128, 10))
        self.loss = torch.nn.CrossEntropyLoss()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)
        self.batches = [(torch.randn(8, 32, 128), torch.randint(0, 10, (8,))) for _ in range(8)]

    def bare(self, steps):
        for number in range(steps):
            data, target = self.batches[number % 8]
            data = (data - data.mean()) / data.std()
            output = self.model(data)
            loss = self.loss(output, target)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()

    def profiled(self, steps, profile, types):
        for number in range(steps):
            with profile("load", types.DATA_LOADING):
                data, target = self.batches[number % 8]
            with profile("preprocess", types.PREPROCESSING):
                data = (data - data.mean()) / data.std()
            with profile("forward", types.CPU_COMPUTATION):
                output = self.model(data)
            with profile("backward", types.CPU_COMPUTATION):
                loss = self.loss(output, target)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()


def timed(function, *arguments):
    wall, cpu = time.perf_counter(), time.process_time()
    function(*arguments)
    return time.perf_counter() - wall, time.process_time() - cpu


def resident_mb():
    with open("/proc/self/status", encoding="ascii") as file:
        return sum(int(line.split()[1]) for line in file if line.startswith(("RssAnon:", "RssFile:"))) / 1024


def measure_memory(training, with_session):
    if with_session:
        from inferscope import BottleneckProfiler, BottleneckProfilerConfig, BottleneckType
        profiler = BottleneckProfiler(BottleneckProfilerConfig("basic"))
        profiler.start_profiling_session("memory")
        training.profiled(25 * BLOCK, profiler.profile_operation, BottleneckType)
        profiler.stop_profiling_session()
    else:
        training.bare(25 * BLOCK)
    print(json.dumps({"mb": resident_mb()}))


def in_turn(first, second, number):
    """The times of both, the one or the other first."""
    if number % 2:
        return first(), second()
    times = second()
    return first(), times


def measure_steps(training, profiler, types, pairs):
    """(bare, counted) for each pair of steps."""
    profiler.start_profiling_session("time")
    found = [in_turn(lambda: timed(training.bare, 1), lambda: timed(training.profiled, 1, profiler.profile_operation, types), number)
             for number in range(pairs)]
    session = profiler.stop_profiling_session()
    more = 1 + session.performance_metrics.get("monitoring_cpu_time", 0.0) / session.duration
    return [(bare, [seconds * more for seconds in counted]) for bare, counted in found]


def measure_blocks(training, profiler, types, pairs):
    def in_session():
        profiler.start_profiling_session("time")
        times = timed(training.profiled, BLOCK, profiler.profile_operation, types)
        profiler.stop_profiling_session()
        return times
    return [in_turn(lambda: timed(training.bare, BLOCK), in_session, number) for number in range(pairs + 1)][1:]


def measure_operation(profiler, kind):
    """ns of one in a tight loop, several times."""
    profiler.start_profiling_session("single")
    profile, found = profiler.profile_operation, []
    for _ in range(20):
        begin = time.perf_counter()
        for _ in range(2000):
            with profile("single", kind):
                pass
        middle = time.perf_counter()
        for _ in range(2000):
            pass
        found.append((2 * middle - begin - time.perf_counter()) / 2000 * 1e9)
    profiler.stop_profiling_session()
    return found


def measure_time(training, level, pairs):
    from inferscope import BottleneckProfiler, BottleneckProfilerConfig, BottleneckType
    profiler = BottleneckProfiler(BottleneckProfilerConfig(level))
    measure = measure_blocks if level == "comprehensive" else measure_steps
    rows = measure(training, profiler, BottleneckType, pairs)
    print(json.dumps({"bare": [bare[0] for bare, _ in rows], "session": [session[0] for _, session in rows],
                      "bare_cpu": [bare[1] for bare, _ in rows], "session_cpu": [session[1] for _, session in rows],
                      "ns": measure_operation(profiler, BottleneckType.DATA_LOADING)}))


def main():
    workload.pin()
    torch.set_num_threads(1)
    training = Training()
    training.bare(BLOCK)
    if sys.argv[1] in ("memory", "bare"):
        measure_memory(training, sys.argv[1] == "memory")
    else:
        measure_time(training, sys.argv[1], int(sys.argv[2]))


main()
