"""`inferscope analyze` on made-up traces, of which every answer is known."""

import json

import pytest

from analysis import analyze, checks, inferscope, window
from made_trace import Made

CAUSES = ("host_late", "sync", "launch_latency", "dependency", "input", "jit", "no_work", "unknown")


@pytest.fixture
def answer(tmp_path):
    def run(made, *options):
        return analyze(made.save(tmp_path / "made.json"), options=options)
    return run


def idle(device):
    return {cause: float(device["idle_causes"][f"{cause}_us"]) for cause in CAUSES if device["idle_causes"][f"{cause}_us"]}


def times(thing):
    return {key: float(thing[f"{key}_us"]) for key in ("total", "busy", "compute", "exposed_comm", "exposed_copy", "idle")}


# ---- Where device time goes -------------------------------------------------

def test_classes_that_overlap(answer):
    made = Made()
    made.kernel("gemm", 0, 100, 100)                                       # compute      100..200
    made.kernel("ncclDevKernel_AllReduce", 5, 150, 100, stream=20)         # hidden 150..200, exposed 200..250
    made.copy("HtoD", "Pinned -> Device", 10, 180, 120, 1 << 20, stream=30)  # exposed 250..300
    made.kernel("gemm", 15, 400, 50)                                       # idle 300..400
    device, = answer(made)["devices"]
    assert times(device) == {"total": 350, "busy": 250, "compute": 150, "exposed_comm": 50, "exposed_copy": 50, "idle": 100}
    assert float(device["comm_hidden_percent"]) == 50
    assert float(device["copy_hidden_percent"]) == pytest.approx(100 * 70 / 120, abs=0.001)
    assert device["concurrency_max"] == 3
    copy, = device["copies"]
    assert (copy["direction"], copy["memory_from"], copy["memory_to"], copy["bytes"]) == ("h2d_copy", "pinned", "device", 1 << 20)
    assert float(copy["exposed_us"]) == 50


def test_memset_counts_as_compute_and_annotations_do_not_count(answer):
    made = Made()
    made.device("gpu_memset", "Memset (Device)", 100, 10, made.call("cudaMemsetAsync", 0, 2), bytes=64)
    made.device("gpu_user_annotation", "forward", 50, 500)
    made.kernel("k", 5, 120, 10)
    device, = answer(made)["devices"]
    assert times(device)["compute"] == 20 and times(device)["total"] == 30


@pytest.mark.parametrize("name", ["ncclDevKernel_AllGather_RING_LL", "ncclKernel_SendRecv_RING_SIMPLE", "rcclGenericKernel",
                                  "void vllm::cross_device_reduce_1stage<half>", "dpsk::ep::internode::dispatch", "deep_ep::intranode::combine",
                                  "nvshmem_barrier_kernel", "one_shot_all_reduce_kernel", "void symm_mem::two_shot_all_reduce"])
def test_communication_is_known_by_many_names(answer, name):
    made = Made()
    made.kernel("gemm", 0, 100, 10)
    made.kernel(name, 5, 110, 30)
    device, = answer(made)["devices"]
    assert times(device)["exposed_comm"] == 30, name


@pytest.mark.parametrize("name", ["void at::native::reduce_kernel<512>", "nchwToNhwcKernel", "flash_fwd_splitkv_combine_kernel",
                                  "ampere_fp16_s16816gemm", "triton_poi_fused_add_0", "elementwise_kernel"])
def test_false_friends_of_communication(answer, name):
    made = Made()
    made.kernel(name, 0, 100, 10)
    assert times(answer(made)["devices"][0])["exposed_comm"] == 0


def test_the_user_says_what_communication_is(answer):
    made = Made()
    made.kernel("my_ring_step", 0, 100, 10)
    made.kernel("nccl_like_name_but_mine", 5, 110, 10)
    device, = answer(made, "--communication", "MY_ring*,!nccl_like*")["devices"]
    assert (times(device)["exposed_comm"], times(device)["compute"]) == (10, 10)


def test_several_devices(answer):
    made = Made(devices=2)
    made.kernel("a", 0, 100, 10, device=0)
    made.kernel("b", 5, 100, 20, device=1)
    made.kernel("b", 8, 200, 20, device=1)
    devices = answer(made)["devices"]
    assert [(d["device_id"], times(d)["total"], times(d)["idle"]) for d in devices] == [(0, 10, 0), (1, 120, 80)]


# ---- Why a device is idle ---------------------------------------------------

def two_kernels(launched, start=1100):
    """Idle from 200 to `start`; the second kernel is launched when the caller says."""
    made = Made()
    made.kernel("first", 90, 100, 100)
    made.kernel("second", launched, start, 100)
    return made


def gap_of(result):
    device, = result["devices"]
    return device["longest_gaps"][0], idle(device)


def test_the_host_is_late(answer):
    made = two_kernels(launched=1090)
    made.host("python_function", "model.py(12): postprocess", 150, 900)
    gap, causes = gap_of(answer(made))
    assert causes == {"host_late": 900} and gap["on_top"] == "model.py(12): postprocess" and gap["next"] == "second"


def test_the_host_waits_for_the_device(answer):
    made = two_kernels(launched=1090)
    made.op("aten::item", 110, 900)
    made.call("cudaStreamSynchronize", 120, 880)
    gap, causes = gap_of(answer(made))
    assert causes == {"sync": 900} and gap["blocking_call"] == "cudaStreamSynchronize"


def test_a_short_wait_makes_the_host_late(answer):
    made = two_kernels(launched=1090)
    made.call("cudaStreamSynchronize", 120, 85)  # until 5 us after the kernel: then Python takes its time
    made.host("python_function", "sample.py(3): next_token", 206, 880)
    gap, causes = gap_of(answer(made))
    assert causes == {"sync": 900} and gap["blocking_call"] == "cudaStreamSynchronize"
    assert gap["on_top"] == "sample.py(3): next_token"


def test_the_launch_is_on_its_way(answer):
    gap, causes = gap_of(answer(two_kernels(launched=190, start=215)))
    assert causes == {"launch_latency": 15} and gap["launch"] == "cudaLaunchKernel"


def test_a_stream_waits_for_another(answer):
    made = Made()
    made.kernel("first", 90, 100, 100)
    made.call("cudaStreamWaitEvent", 93, 2)
    made.device("cuda_sync", "Stream Wait Event", 94, 0, made.correlation, stream=8)
    made.kernel("other", 96, 1100, 50, stream=8)
    _, causes = gap_of(answer(made))
    assert causes == {"dependency": 900}


def test_the_host_waits_for_input(answer):
    made = two_kernels(launched=1090)
    made.host("user_annotation", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", 210, 860)
    gap, causes = gap_of(answer(made))
    assert causes == {"input": 900} and "DataLoader" in gap["on_top"]


def test_code_is_compiled(answer):
    made = two_kernels(launched=1090)
    made.call("cuModuleLoadData", 210, 860)
    _, causes = gap_of(answer(made))
    assert causes == {"jit": 900}


def test_nothing_is_known(answer):
    made = Made()
    made.kernel("first", None, 100, 100)
    made.kernel("second", None, 300, 100)
    _, causes = gap_of(answer(made))
    assert causes == {"unknown": 100}


def test_nodes_of_one_graph_wait_for_each_other(answer):
    made = Made()
    launch = made.call("cudaGraphLaunch", 0, 10)
    for i in range(10):
        made.device("kernel", f"node{i}", 100 + 20 * i, 15, launch, **{"graph id": 3, "graph node id": i})
    _, causes = gap_of(answer(made))
    assert causes == {"dependency": 45}


# ---- Can it be believed -----------------------------------------------------

def test_a_good_trace(answer):
    made = Made()
    for i in range(50):
        made.op("aten::mm", 100 * i, 20)
        made.kernel("gemm", 100 * i + 5, 100 * i + 30, 60)
    result = answer(made)
    assert result["integrity"]["verdict"] == "good"
    device, = result["devices"]
    assert device["idle_low_us"] == device["idle_us"] == device["idle_high_us"]
    assert result["clock"][0]["method"] == "as_given"


def test_work_without_launch_is_in_one_window_only(answer):
    made = Made()
    made.kernel("early", None, 0, 100)
    for i in range(10):
        made.kernel("k", 200 + 10 * i, 205 + 10 * i, 8)
    result = answer(made)
    device, = result["devices"]
    assert float(window(device, "all")["total_us"]) == 303 and float(window(device, "launched")["total_us"]) == 98
    found = checks(result)["gpu_work_without_launch"]
    assert found["count"] == 1 and found["status"] in ("warning", "failed")


def test_a_graph_that_was_recorded_in_part_makes_idle_a_range(answer, tmp_path):
    made = Made()
    for launch in range(4):
        correlation = made.call("cudaGraphLaunch", 10000 * launch, 10)
        for i in range(100 if launch else 10):
            made.device("kernel", f"node{i}", 10000 * launch + 20 + 50 * i, 48, correlation, **{"graph id": 5, "graph node id": i})
    result = answer(made)
    device, = result["devices"]
    assert result["integrity"]["verdict"] == "poor"
    assert device["idle_low_us"] < device["idle_high_us"] and device["idle_range_why"]
    assert "idle is between" in inferscope("analyze", made.save(tmp_path / "again.json"), "--format", "text").stdout.decode()


def test_work_before_its_launch_is_clock_damage(answer):
    made = Made()
    for i in range(20):
        made.kernel("k", 100 * i + 50, 100 * i + (40 if i < 10 else 60), 10)
    result = answer(made)
    assert checks(result)["gpu_work_before_launch"]["count"] == 10


def test_a_stray_is_left_out_and_named(answer):
    made = Made()
    made.kernel("lonely", 0, 10, 4)
    for i in range(100):
        made.kernel("k", 500000 + 10 * i, 500005 + 10 * i, 9)
    result = answer(made)
    device, = result["devices"]
    assert device["window"] == "trimmed" and float(device["total_us"]) == 999
    assert "lonely" in checks(result)["stray_gpu_work"]["detail"]


# ---- Tables -----------------------------------------------------------------

def test_steps_and_their_input(answer):
    made = Made()
    for step in range(4):
        at = 1000 * step
        made.host("user_annotation", f"ProfilerStep#{step + 5}", at, 1000)
        made.host("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at, 250)
        made.kernel("gemm", at + 300, at + 400, 500)
    result = answer(made)
    steps = result["step_summary"]
    assert (steps["source"], steps["count"], float(steps["p50_us"]), float(steps["input_percent"])) == ("profiler_step", 4, 1000, 25)
    assert [step["number"] for step in result["steps"]] == [5, 6, 7, 8]
    assert [float(step["compute_us"]) for step in result["steps"]] == [500] * 4


def test_steps_by_repetition(answer):
    made = Made()
    for step in range(20):
        for i, name in enumerate(["embed", "attention", "mlp", "mlp", "sample"]):
            made.kernel(name, 1000 * step + 10 * i, 1000 * step + 20 + 100 * i, 90)
        made.copy("DtoH", "Device -> Pinned", 1000 * step + 60, 1000 * step + 530, 5, 8)
    result = answer(made)
    assert result["step_summary"]["source"] == "repetition" and result["step_summary"]["count"] in (18, 19, 20)
    assert float(result["step_summary"]["p50_us"]) == pytest.approx(1000, abs=1)


def test_operators_nest(answer):
    made = Made()
    for i in range(100):
        made.op("aten::linear", 100 * i, 50)
        made.op("aten::addmm", 100 * i + 10, 30 if i < 98 else 40)
    result = answer(made)
    table = {entry["name"]: entry for entry in result["operators"]}
    linear, addmm = table["aten::linear"], table["aten::addmm"]
    assert (linear["count"], float(linear["total_us"]), float(linear["self_us"])) == (100, 5000, 5000 - 3020)
    assert (float(addmm["p50_us"]), float(addmm["p99_us"]), float(addmm["max_us"])) == (30, 40, 40)


def test_recursion_counts_once(answer):
    made = Made()
    made.host("python_function", "f", 0, 100)
    made.host("python_function", "f", 10, 50)
    entry, = answer(made)["functions"]
    assert (entry["count"], float(entry["total_us"]), float(entry["self_us"])) == (2, 100, 100)


def test_occupancy_and_tensor_cores(answer):
    made = Made()
    made.kernel("sm90_xmma_gemm_f16f16_tn_n_tilesize128x128", 0, 10, 60, grid=[200, 1, 1], block=[256, 1, 1], **{"registers per thread": 128})
    made.kernel("elementwise_kernel", 4, 80, 20, grid=[50, 1, 1], block=[1024, 1, 1], **{"registers per thread": 16})
    device, = answer(made)["devices"]
    kernels = {kernel["name"][:4]: kernel for kernel in device["kernels"]}
    assert kernels["sm90"]["tensor_cores"] is True
    assert float(kernels["sm90"]["occupancy_percent"]) == pytest.approx(25, abs=0.1)   # two blocks of 256 by registers
    assert float(kernels["elem"]["occupancy_percent"]) == pytest.approx(25, abs=0.1)   # half of the multiprocessors have one
    assert float(kernels["elem"]["blocks_per_multiprocessor"]) == 0.5


# ---- Many ranks -------------------------------------------------------------

def test_ranks(tmp_path):
    for rank in range(4):
        made = Made(rank=rank, baseTimeNanoseconds=0)
        for i in range(6):
            late = 300 if rank == 2 and i != 3 else 10 * rank
            made.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 1000 * i, 1000 * i + 100 + late, 900 - 100 - late)
        made.save(tmp_path / f"rank{rank}.json")
    result = analyze(tmp_path)
    assert len(result["devices"]) == 4 and sorted(device["rank"] for device in result["devices"]) == [0, 1, 2, 3]
    assert {rank["rank"]: rank["arrived_last"] for rank in result["ranks"]} == {0: 0, 1: 0, 2: 5, 3: 1}
    assert result["straggler_rank"] == 2
    assert [float(c["start_skew_us"]) for c in result["collectives"]] == [300, 300, 300, 30, 300, 300]
    assert float(result["ranks"][2]["caused_us"]) == 5 * (300 + 290 + 270)


@pytest.mark.parametrize("late", [(True, True), (False, True), (True, False)])
def test_ranks_have_clocks_of_their_own(tmp_path, late):
    """Where the base time stands in the file does not matter, nor whether it is the same in all."""
    for rank in range(2):
        made = Made(rank=rank)
        base = 1_700_000_000_000_000_000 + 7_000_000 * rank  # 7 ms
        for i in range(4):
            made.kernel("ncclDevKernel_AllReduce", 1000 * i + 10_000 - 7000 * rank, 1000 * i + 10_100 - 7000 * rank + 50 * rank, 500 - 50 * rank)
        text = made.text()
        path = tmp_path / f"rank{rank}.json"
        path.write_text(text[:-1] + f', "baseTimeNanoseconds": {base}}}' if late[rank] else f'{{"baseTimeNanoseconds": {base}, {text[1:]}')
    result = analyze(tmp_path)
    assert [(float(c["start_skew_us"]), float(c["end_skew_us"])) for c in result["collectives"]] == [(50, 0)] * 4
    assert float(result["trace"]["duration_us"]) == 3600


# ---- Without a device -------------------------------------------------------

def test_a_trace_without_devices(answer):
    made = Made(devices=0)
    made.host("python_function", "main", 0, 1000)
    made.op("aten::mm", 100, 600)
    result = answer(made)
    shares = {c["category"]: float(c["duration_us"]) for c in result["timeline_breakdown"]}
    assert result["devices"] == [] and shares["operators"] == 600 and sum(shares.values()) == 1000


# ---- Markdown ----------------------------------------------------------------

def test_markdown_tables_hold_any_name(tmp_path):
    made = Made()
    names = ["a|b", "`code`", "``two``", "<b>bold</b>", "@someone #12", "line\nbreak"]
    for i, name in enumerate(names):
        made.op(name, 1000 * i, 500)
        made.kernel(name, 1000 * i + 10, 1000 * i + 600, 300)
    text = inferscope("analyze", made.save(tmp_path / "made.json"), "--format", "md").stdout.decode()
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    assert len(rows) == 2 * len(names) + 1  # and the call that launched them
    for row in rows:
        assert row.replace("\\|", "").count("|") in (6, 7)  # as many cells as the head has
    assert "| `` `code` `` |" in text and "| ``` ``two`` ``` |" in text and "| `<b>bold</b>` |" in text
    assert text.startswith("# ") and "## Where the time goes" in text and "## Integrity" in text


# ---- Hostile names ----------------------------------------------------------

HOSTILE = ["<script>alert(1)</script>", "\x1b[31mred\x1b[0m\x07", "a\nb\r\tc\0d", "\u202egnp.exe", "=cmd()", "x" * (1 << 20), "\ud800", "%s%n"]


def test_hostile_names_do_no_harm(tmp_path):
    made = Made()
    for i, name in enumerate(HOSTILE):
        made.op(name, 1000 * i, 500)
        made.host("python_function", name, 1000 * i, 900)
        made.kernel(name, 1000 * i + 10, 1000 * i + 600, 300)
    path = made.save(tmp_path / "hostile.json")
    path.write_bytes(path.read_bytes().replace(b"%s%n", b"\xff\xfe\x80bad"))
    for arguments in (["analyze"], ["analyze", "--format", "text"], ["analyze", "--format", "json", "--output", "-"],
                      ["analyze", "--format", "md"], ["info"], ["dump"]):
        out = inferscope(arguments[0], path, *arguments[1:]).stdout
        text = out.decode()  # is UTF-8
        assert not any(ord(c) < 32 and c not in "\n" for c in text) and "\u202e" not in text
        if "json" in arguments or arguments == ["dump"]:
            json.loads(text)
    result = analyze(path)
    assert len(result["devices"][0]["kernels"]) == len(HOSTILE)
    assert len(inferscope("analyze", path).stdout) < 50_000  # long names are cut where people read them
