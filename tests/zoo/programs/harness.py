"""What the programs of the zoo share: options, the clock of the steps, and the result.

    run = Run(__doc__, steps=60, seconds=2)
    for number in run:
        with scope("step"):
            ...
            run.add(result)
    run.finish()

finish() prints a checksum of everything that was added, which is the same in both forms, and as the last line the mean time
of a step after the warm-up ("12.345 ms per step") or, for programs where the start counts, of the whole process ("... ms per
run").
"""

import argparse
import os
import signal
import struct
import sys
import time
import zlib

# Before numpy is imported, hence the first import of a program that is not of the standard library: BLAS threads that spin
# would make the figures a matter of what else the machine does.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

try:
    from inferscope import scope
except ImportError:  # without InferScope the marks do nothing
    from contextlib import nullcontext as scope

__all__ = ["Run", "network", "scope"]


class Run:
    def __init__(self, text, steps, seconds):
        """`steps` is how many take about `seconds` in the slow form."""
        parser = argparse.ArgumentParser(description=text.splitlines()[0])
        parser.add_argument("--fixed", action="store_true", help="without the bottleneck")
        parser.add_argument("--steps", type=int, help=f"{steps} unless given")
        parser.add_argument("--seconds", type=float, help="as many steps as the slow form does in about that time")
        options = parser.parse_args()
        self.fixed = options.fixed
        self.steps = options.steps or round(steps * (options.seconds or seconds) / seconds)
        self.steps = max(self.steps, 4)
        self.checksum = 0
        self.seconds = 0.0

    def __iter__(self):
        warm_up = max(2, self.steps // 10)
        for number in range(self.steps):
            if number == warm_up:
                start = time.perf_counter()
            yield number
        self.seconds = (time.perf_counter() - start) / (self.steps - warm_up)

    def add(self, result):
        """Bytes, text, a whole number, or a float of which six digits count."""
        if isinstance(result, float):
            result = f"{result:.6g}"
        if isinstance(result, int):
            result = struct.pack("<q", result)
        if isinstance(result, str):
            result = result.encode()
        self.checksum = zlib.crc32(result, self.checksum)

    def finish(self, whole_run=False):
        print(f"checksum {self.checksum:08x}")
        if whole_run:
            print(f"{age() * 1e3:.3f} ms per run")
        else:
            print(f"{self.seconds * 1e3:.3f} ms per step")


def end_on_sigterm():
    """SIGTERM unwinds the main process, so that its temporary folders and children go with it; a forked child just dies."""
    main = os.getpid()

    def end(number, frame):
        if os.getpid() == main:
            signal.signal(number, signal.SIG_IGN)
            sys.exit(128 + number)
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    signal.signal(signal.SIGTERM, end)


def age():
    """Seconds since this process was started, to a hundredth."""
    with open("/proc/self/stat") as file:
        ticks = int(file.read().rpartition(")")[2].split()[19])
    return time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")


def network(width, layers, seed=1):
    """A stack of linear layers for inference, on one thread."""
    import torch
    from torch import nn

    torch.set_num_threads(1)
    torch.manual_seed(seed)
    torch.set_grad_enabled(False)
    return nn.Sequential(*[part for _ in range(layers) for part in (nn.Linear(width, width), nn.ReLU())]).eval()


end_on_sigterm()
