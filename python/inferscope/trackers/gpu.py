"""GPUTracker: memory and work of a GPU."""

import os
import sys

from inferscope import _engine
from inferscope.trackers._tracker import GB, MB, Tracker, in_mb

TIMEOUT = 1.0  # seconds that NVML may take
AGE = 0.1      # an answer that is younger will do
FIRST_PID_NAMESPACE = 0xEFFFFFFC


def _torch_cuda():
    """torch.cuda, if the program has imported it and uses it; neither is done here."""
    torch = sys.modules.get("torch")
    cuda = getattr(torch, "cuda", None)
    try:
        return cuda if cuda is not None and cuda.is_initialized() else None
    except Exception:  # half imported, or not what it seems
        return None


def _pids_are_comparable():
    """NVML has the numbers that processes have outside of containers."""
    try:
        return os.stat("/proc/self/ns/pid").st_ino == FIRST_PID_NAMESPACE
    except OSError:
        return False


class GPUTracker(Tracker):
    """Memory and work of a GPU.

    device: its number, as torch or else NVML has it; None: torch's current one, else the first that CUDA_VISIBLE_DEVICES names, else
    the first.
    timeout: seconds for NVML; when it takes longer, what it said before is given, and "age_s" grows.

    `source` says where the figures come from: "torch" when the program has used CUDA through PyTorch, "nvml" when only the driver's
    library can be asked, and else "none".  CUDA is never initialised, and torch never imported.
    """

    def __init__(self, pid=None, *, device=None, timeout=TIMEOUT):
        if device is not None and (isinstance(device, bool) or not isinstance(device, int) or device < 0):
            raise ValueError("device is the number of a GPU, not %r" % (device,))
        self.device, self.timeout = device, timeout
        super().__init__(pid)

    @property
    def source(self):
        """"torch", "nvml" or "none"."""
        if self._torch_memory() is not None:
            return "torch"
        gpus = self._nvml()[2]
        device = self._chosen(gpus)
        return "nvml" if device is not None and device < len(gpus) else "none"

    # ---- What torch says ----

    def _torch_memory(self):
        """(device, allocated, reserved, total, uuid), bytes; None when torch has nothing to say."""
        cuda = _torch_cuda() if self.pid == os.getpid() else None
        if cuda is None:
            return None
        try:
            device = cuda.current_device() if self.device is None else self.device
            properties = cuda.get_device_properties(device)
            uuid = getattr(properties, "uuid", None)
            return device, cuda.memory_allocated(device), cuda.memory_reserved(device), properties.total_memory, uuid and str(uuid)
        except Exception:  # a device that is not there, or an error of CUDA that is the program's to find
            return None

    # ---- What the driver says ----

    def _nvml(self):
        return _engine.gpus(self.timeout, AGE)

    @staticmethod
    def _same(gpus, device, uuid):
        """The GPU that torch means; CUDA_VISIBLE_DEVICES may have given it another number."""
        if uuid:
            return next((gpu for gpu in gpus if gpu["uuid"].rpartition("GPU-")[2] == uuid.rpartition("GPU-")[2]), None)
        visible = os.environ.get("CUDA_VISIBLE_DEVICES")
        if visible is not None:
            names = visible.split(",")
            if device >= len(names) or not names[device].strip().isdigit():
                return None
            device = int(names[device])
        return gpus[device] if device < len(gpus) else None

    def _chosen(self, gpus):
        """The number, as NVML has it, of the GPU that was asked for, or that CUDA would take; None when this program is to see none."""
        visible = os.environ.get("CUDA_VISIBLE_DEVICES") if self.pid == os.getpid() else None
        if self.device is not None or visible is None:
            return self.device or 0
        name = visible.split(",")[0].strip()
        if name.isdigit():
            return int(name)
        return next((number for number, gpu in enumerate(gpus) if name.startswith("GPU-") and gpu["uuid"].startswith(name)), None)

    def _of_process(self, gpu):
        """MB of it that the process has; None when that cannot be told."""
        if "processes" not in gpu or not _pids_are_comparable():
            return None
        return in_mb(gpu["processes"].get(self.pid, 0))

    def _device_figures(self, gpu):
        used, total = gpu.get("memory_used_bytes", 0), gpu.get("memory_total_bytes", 0)
        power, limit = gpu.get("power_mw"), gpu.get("power_limit_mw")
        return {
            "name": gpu["name"], "uuid": gpu["uuid"],
            "device_used_mb": used / MB, "device_used_percent": 100.0 * used / total if total else 0.0,
            "process_mb": self._of_process(gpu),
            "utilization_percent": gpu.get("utilization_percent"),
            "memory_utilization_percent": gpu.get("memory_utilization_percent"),
            "sm_clock_mhz": gpu.get("sm_clock_mhz"), "sm_clock_limit_mhz": gpu.get("sm_clock_limit_mhz"),
            "power_w": None if power is None else power / 1000, "power_limit_w": None if limit is None else limit / 1000,
            "temperature_c": gpu.get("temperature_c"), "error": gpu.get("error"),
        }

    # ---- Figures ----

    def get_current_memory(self):
        """MB: what torch has allocated; else what the process has, or where that cannot be told all of the GPU's that is used."""
        return self._look()["memory_mb"]

    def get_current_usage(self):
        """Percent of the time of late in which the GPU computed; 0 when nobody tells."""
        return float(self._look().get("utilization_percent") or 0.0)

    def _look(self):
        error, age, gpus = self._nvml()
        torch = self._torch_memory()
        if torch is not None:
            device, allocated, reserved, total, uuid = torch
            gpu = self._same(gpus, device, uuid)
            stats = {"memory_mb": allocated / MB, "memory_used_percent": 100.0 * allocated / total if total else 0.0,
                     "reserved_mb": reserved / MB, "total_gb": total / GB, "source": "torch", "device": device}
        else:
            device = self._chosen(gpus)
            gpu = gpus[device] if device is not None and device < len(gpus) else None
            stats = {"memory_mb": 0.0, "memory_used_percent": 0.0, "reserved_mb": 0.0, "total_gb": 0.0, "source": "none", "device": None}
        if gpu is not None:
            more = self._device_figures(gpu)
            if torch is None:
                own = more["process_mb"]
                stats.update(memory_mb=more["device_used_mb"] if own is None else own, memory_used_percent=more["device_used_percent"],
                             total_gb=gpu.get("memory_total_bytes", 0) / GB, source="nvml", device=device)
            stats.update(more, age_s=age)
        elif torch is None:
            stats["reason"] = error or ("CUDA_VISIBLE_DEVICES names no GPU that there is" if device is None else "there is no GPU %d" % device)
        return stats

    def get_current_stats(self):
        """memory_mb, memory_used_percent, reserved_mb, total_gb, source, device.

        With source "torch" the first two are what torch has allocated; with "nvml" the process's memory, or the GPU's where that
        cannot be told, and how full the GPU is.  Where NVML answers also device_used_mb, device_used_percent, process_mb,
        utilization_percent, memory_utilization_percent, sm_clock_mhz, power_w, temperature_c and so on, None where the GPU does not tell,
        and age_s of them.  With "none", all are 0 and `reason` says why."""
        stats = self._look()
        self._record(memory_mb=stats["memory_mb"], memory_percent=stats["memory_used_percent"],
                     utilization_percent=stats.get("utilization_percent"))
        return stats

    def get_device_stats(self):
        """The same figures of each GPU that NVML knows."""
        _, age, gpus = self._nvml()
        return [{"device": number, "total_gb": gpu.get("memory_total_bytes", 0) / GB, **self._device_figures(gpu), "age_s": age}
                for number, gpu in enumerate(gpus)]
