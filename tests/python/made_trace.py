"""Traces in the way of PyTorch's profiler, made up so that the answers are known.  Times are microseconds."""

import json


class Made:
    """One process (pid 100, thread 1) and its devices."""

    def __init__(self, rank=None, devices=1, **head):
        self.events, self.correlation = [], 0
        self.head = {"schemaVersion": 1, "deviceProperties": [
            {"id": i, "name": "Made GPU", "numSms": 100, "maxThreadsPerMultiprocessor": 2048, "maxThreadsPerBlock": 1024,
             "regsPerMultiprocessor": 65536, "warpSize": 32, "sharedMemPerMultiprocessor": 102400, "computeMajor": 9,
             "computeMinor": 0, "totalGlobalMem": 80 << 30} for i in range(devices)], **head}
        if rank is not None:
            self.head["distributedInfo"] = {"backend": "nccl", "rank": rank, "world_size": 8}

    def add(self, **event):
        self.events.append(event)
        return event

    def host(self, cat, name, ts, dur, tid=1, **args):
        return self.add(ph="X", cat=cat, name=name, pid=100, tid=tid, ts=ts, dur=dur, args=args)

    def op(self, name, ts, dur, **options):
        return self.host("cpu_op", name, ts, dur, **options)

    def call(self, name, ts, dur, correlation=None, **options):
        """A call of the CUDA runtime; returns its correlation."""
        if correlation is None:
            self.correlation += 1
            correlation = self.correlation
        self.host("cuda_runtime", name, ts, dur, correlation=correlation, **options)
        return correlation

    def device(self, cat, name, ts, dur, correlation=0, stream=7, device=0, **args):
        if correlation:
            args["correlation"] = correlation
        return self.add(ph="X", cat=cat, name=name, pid=device, tid=stream, ts=ts, dur=dur,
                        args={"device": device, "stream": stream, **args})

    def kernel(self, name, launched, ts, dur, stream=7, device=0, launch="cudaLaunchKernel", tid=1, **args):
        """A kernel and, two microseconds long, the call that launched it (None: it is not in the trace)."""
        correlation = 0 if launched is None else self.call(launch, launched, 2, tid=tid)
        return self.device("kernel", name, ts, dur, correlation, stream, device, **args)

    def copy(self, kind, memory, launched, ts, dur, size, stream=7):
        correlation = self.call("cudaMemcpyAsync", launched, 2)
        return self.device("gpu_memcpy", f"Memcpy {kind} ({memory})", ts, dur, correlation, stream, bytes=size)

    def text(self):
        return json.dumps({**self.head, "traceEvents": self.events})

    def save(self, path):
        path.write_text(self.text())
        return path


def events():
    """Ten launches, as a list of events: the device works for 390 of 1,000 us each."""
    for step in range(10):
        at = 1000.0 * step
        yield {"event_type": "runtime_call", "name": "cudaLaunchKernel", "start_us": at, "end_us": at + 5, "thread_id": 1,
               "process_id": 1, "correlation_id": step + 1}
        yield {"event_type": "gpu_kernel", "name": "gemm", "start_us": at + 10, "end_us": at + 400, "device_id": 0, "stream_id": 7,
               "correlation_id": step + 1, "grid_dim": [1, 1, 1], "block_dim": [128, 1, 1]}
