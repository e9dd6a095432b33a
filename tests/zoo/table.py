"""The programs of the zoo and what a diagnosis should say of each.

A row was written from what the program does, before any diagnosis saw it; gain is what the fixed form was measured to gain on
a quiet machine of two cores (README.md), widened.  Change a row when the program changes, never because a diagnosis disagrees.
"""

from dataclasses import dataclass

WAITS = ("balanced", "unknown")  # neither the CPU nor memory is what limits such a program
BUSY = ("cpu_bound",)
MEMORY = ("memory_bound", "cpu_bound")
STARVED = ("cpu_bound",)  # devices wait for the host


@dataclass(frozen=True)
class Row:
    name: str
    kinds: tuple = ()         # that are right; the first is the one meant; none: nothing stands out
    bottleneck: tuple = BUSY  # types that are right
    where: tuple = ()         # functions one of which should be named
    gain: tuple = None        # per cent of a step (or run) that the fixed form saves, from and to
    core: bool = False        # the fix needs a core that is free
    fast: bool = False        # part of the suite's selection
    parts: tuple = ()         # of a mixture: (kinds that are right, share of the step from, to) for each
    example: str = ""         # a program of examples/ instead of one of programs/; without .py: built from there
    needs: tuple = ()         # modules of Python, or "OpenCL" for a device of that

    @property
    def healthy(self):
        return not self.kinds


ROWS = (
    Row("loader_no_workers", ("data_loading", "preprocessing"), BUSY, ("__getitem__",), (25, 55), core=True, fast=True),
    Row("loader_few_workers", ("data_loading", "preprocessing"), BUSY, ("__getitem__",), (25, 55), core=True),
    Row("loader_slow_sample", ("data_loading", "preprocessing"), BUSY, ("augment_pixels", "__getitem__"), (60, 92)),
    Row("loader_slow_collate", ("data_loading", "preprocessing"), BUSY, ("collate_elements",), (25, 75)),
    Row("queue_pickling", ("data_loading", "i_o_operation"), BUSY + WAITS, ("main", "get", "produce_arrays"), (60, 97)),
    Row("small_reads", ("i_o_operation",), BUSY + WAITS, ("read_records",), (35, 90)),
    Row("cold_read", ("i_o_operation",), WAITS + BUSY, ("read_shard",), (15, 70)),
    Row("fsync_per_step", ("i_o_operation",), WAITS + BUSY, ("append",), (30, 95)),
    Row("print_in_loop", ("i_o_operation", "cpu_computation"), BUSY, ("show",), (15, 60)),
    Row("logging_in_loop", ("i_o_operation", "cpu_computation"), BUSY, ("report",), (15, 75)),
    Row("network_wait", ("network_latency",), WAITS, ("fetch",), (35, 75)),
    Row("subprocess_per_step", ("synchronization", "i_o_operation", "cpu_computation"), WAITS + BUSY, ("tidy_by_child",),
        (15, 80)),
    Row("gil_threads", ("gil_contention",), BUSY, ("count",), (30, 60), core=True, fast=True),
    Row("hot_lock", ("lock_contention",), BUSY + WAITS, ("put",), (30, 60), core=True),
    Row("torch_oversubscribed", ("oversubscription",), BUSY, ("compute", "main"), (15, 90), core=True),
    Row("numpy_temporaries", ("memory_allocation",), MEMORY, ("evaluate",), (25, 75)),
    Row("gc_churn", ("garbage_collection",), BUSY, ("build",), (55, 90), fast=True),
    Row("python_preprocessing", ("preprocessing", "cpu_computation"), BUSY, ("normalise_values",), (25, 70)),
    Row("tiny_ops", ("cpu_computation",), BUSY, ("update_rows",), (50, 92), fast=True),
    Row("model_load", ("startup",), BUSY, ("load", "construct"), (15, 45)),
    Row("busy_poll", ("synchronization", "gil_contention"), BUSY, ("poll",), (35, 85)),
    Row("sleep_poll", ("synchronization",), WAITS + BUSY, ("wait_sleeping",), (25, 70), fast=True),
    Row("jit_retrace", ("jit_compilation",), BUSY, ("prepare",), (50, 95)),
    Row("dynamo_recompile", ("jit_compilation",), BUSY, ("make_handler", "serve", "handle"), (60, 99)),
    Row("outlier_step", ("cpu_computation", "preprocessing"), BUSY, ("build_index",), (15, 70)),
    Row("memory_growth", ("memory_pressure", "memory_allocation"), MEMORY, ("main",), (15, 65)),
    Row("repeated_work", ("cpu_computation", "preprocessing"), BUSY, ("tokenise",), (20, 70)),
    Row("straggler", ("straggler", "synchronization"), BUSY, ("work", "item_sum", "main"), (15, 50), core=True),
    Row("mix_loader_print", ("data_loading", "preprocessing", "i_o_operation", "cpu_computation"), BUSY, ("__getitem__", "show"),
        (25, 70), core=True,
        parts=((("data_loading", "preprocessing"), 15, 50), (("i_o_operation", "cpu_computation"), 10, 40))),
    Row("mix_preprocess_alloc", ("preprocessing", "cpu_computation", "memory_allocation"), BUSY + MEMORY,
        ("clean_records", "evaluate"), (30, 80),
        parts=((("preprocessing", "cpu_computation"), 15, 50), (("memory_allocation",), 10, 50))),
    Row("opencl_tiny_kernels", ("kernel_launch",), STARVED, ("forward",), (30, 70), example="opencl-classify",
        needs=("OpenCL",)),
    Row("opencl_blocking_read", ("synchronization",), STARVED, ("read", "detect"), (15, 50), core=True,
        example="opencl/detect.py", needs=("OpenCL", "pyopencl")),
    Row("opencl_copy_each_step", ("gpu_transfer",), MEMORY, ("upload",), (30, 75), example="opencl/recommend.py",
        needs=("OpenCL", "tinygrad")),
    Row("healthy_matmul", fast=True),
    Row("healthy_transformer"),
    Row("healthy_loader"),
    Row("healthy_idle_pool", fast=True),
    Row("healthy_rate_limited", bottleneck=WAITS),
    Row("healthy_import"),
    Row("healthy_four_threads"),
)
