"""What the program uses over the time of a session: samples of a LiveMonitor, of all of it in a fixed amount of memory."""

import sys
import threading
import time

from inferscope.live import LiveMonitor

SAMPLES_MOST = 1000  # when there are more, every other one goes
SAMPLES_LEAST = 2  # the beginning and the end
LAST_AFTER = 0.02  # seconds: what is younger shows the end already

KEPT = ("time_s", "memory_mb", "memory_percent", "cpu_percent", "gpu_memory_mb", "gpu_memory_percent", "gpu_percent", "read_mb_per_s",
        "write_mb_per_s", "pressure_percent")

# Under which names the newest are in performance_metrics.
METRICS = {"memory_percent": "memory_usage", "memory_mb": "memory_mb", "cpu_percent": "cpu_usage", "gpu_memory_percent": "gpu_memory_usage",
           "gpu_memory_mb": "gpu_memory_mb", "gpu_percent": "gpu_usage", "read_mb_per_s": "read_mb_per_s",
           "write_mb_per_s": "write_mb_per_s"}


class Series:
    """Samples of a whole session, in order; the greatest of each figure is exact."""

    def __init__(self, most=SAMPLES_MOST):
        self.rows, self.most, self.stride, self.seen = [], most, 1, 0
        self.greatest = {}
        self._lock = threading.Lock()

    def add(self, sample, last=False):
        """The last one is kept, whatever comes of those before."""
        row = {key: sample[key] for key in KEPT if sample.get(key) is not None}
        with self._lock:
            for key, value in row.items():
                if key not in self.greatest or value > self.greatest[key]:
                    self.greatest[key] = value
            if last or self.seen % self.stride == 0:
                self.rows.append(row)
            self.seen += 1
            if len(self.rows) >= self.most:
                del self.rows[1::2]
                self.stride *= 2

    def copy(self):
        with self._lock:
            return [dict(row) for row in self.rows]


class SessionMonitor(LiveMonitor):
    """A LiveMonitor whose samples go into a series, and the newest figures into a dictionary."""

    def __init__(self, interval, config, metrics, each=None):
        super().__init__(interval, config)
        self.series, self._metrics, self._each = Series(), metrics, each
        self._last = False

    def stop(self):
        """With a look at the end, so that of a session that is shorter than an interval there are two."""
        if not self._begin or self._last:
            return super().stop()
        super().stop()
        self._last = True
        try:
            while len(self.series.rows) < SAMPLES_LEAST or time.monotonic() - self._begin - self.series.rows[-1]["time_s"] > LAST_AFTER:
                self._sample()
        except Exception as error:
            self._report("monitor", "sampling", error)

    def _sample(self):
        sample = super()._sample()
        self.series.add(sample, self._last)
        for key, name in METRICS.items():
            if sample.get(key) is not None:
                self._metrics[name] = float(sample[key])
        if self._each is not None:
            self._each()
        return sample


def torch_gpu_memory():
    """A function that gives bytes torch has allocated on its GPU; None as long as the program does not use CUDA through it."""
    torch = sys.modules.get("torch")
    cuda = getattr(torch, "cuda", None)
    try:
        return cuda.memory_allocated if cuda is not None and cuda.is_initialized() else None
    except Exception:  # half imported, or not what it seems
        return None
