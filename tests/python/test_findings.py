"""What `inferscope analyze` says to change, on made-up traces of which the cause and the gain are known."""

import pytest

from analysis import analyze, inferscope, shared
from made_trace import Made


@pytest.fixture
def answer(tmp_path):
    def run(made):
        return analyze(made.save(tmp_path / "made.json"))
    return run


def first(result):
    finding = result["findings"][0]
    return finding, result["suggestions"][0]["action"]


def loop(steps, step_us, build):
    """`build` puts a step at a time."""
    made = Made()
    for step in range(steps):
        build(made, step_us * step)
    return made


def test_a_busy_device_gets_no_advice_that_promises_a_gain(answer):
    result = answer(loop(50, 1000, lambda made, at: (made.op("aten::mm", at, 20), made.kernel("gemm", at + 5, at + 10, 990))))
    assert [finding["id"] for finding in result["findings"]] == ["gpu_compute:busiest_kernels"]
    assert [suggestion["estimated_improvement_percent"] for suggestion in result["suggestions"]] == [None]
    assert result["bottleneck"]["type"] == "gpu_bound" and result["bottleneck"]["confidence"] > 0.5


def test_waiting_for_input(answer):
    def step(made, at):
        made.host("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at, 400)
        made.kernel("gemm", at + 405, at + 410, 590)
    finding, action = first(answer(loop(20, 1000, step)))
    assert finding["kind"] == "data_loading" and float(finding["share_percent"]) == pytest.approx(39.5, abs=1)
    # side by side a step takes the longer of both: 600 of 1,000, and 5 % of loading for handing over
    assert float(finding["gain_percent"]) == pytest.approx(38, abs=1.5) and float(finding["gain_high_percent"]) < 41
    assert "num_workers=2" in action and "DataLoader" in finding["where"][0]


def test_a_wait_is_worth_what_the_host_could_have_done_meanwhile(answer):
    def step(made, at):
        made.op("aten::item", at + 6, 120)
        made.kernel("gemm", at, at + 10, 100)
        made.call("cudaStreamSynchronize", at + 8, 105)                    # waits 102 us before the device is done
        made.host("python_function", "sample.py(3): next_token", at + 130, 60)
    finding, action = first(answer(loop(50, 200, step)))
    assert finding["kind"] == "synchronization" and float(finding["share_percent"]) == pytest.approx(50, abs=1)
    assert float(finding["gain_high_percent"]) == pytest.approx(50, abs=1)
    assert float(finding["gain_percent"]) == pytest.approx(0.85 * 50, abs=1) and "aten::item" in action


def test_the_operator_that_waits_most_is_named(answer):
    def step(made, at):
        made.op("aten::item" if at else "aten::_to_copy", at + 6, 140)  # another one first, once
        made.kernel("gemm", at, at + 10, 100)
        made.call("cudaStreamSynchronize", at + 8, 105)
    _, action = first(answer(loop(30, 300, step)))
    assert action.startswith("keep the value on the device") and "aten::item" in action


def test_a_wait_right_before_the_end_is_worth_nothing(answer):
    def step(made, at):
        made.kernel("gemm", at, at + 10, 100)
        made.call("cudaStreamSynchronize", at + 109, 2)                    # waits 1 us only
    result = answer(loop(50, 200, step))
    assert result["findings"] == []


def test_launching_short_kernels(answer):
    def step(made, at):
        made.op("aten::add", at, 45)
        made.kernel("add_kernel", at + 40, at + 48, 3)
    finding, action = first(answer(loop(200, 50, step)))
    assert finding["kind"] == "kernel_launch" and "graph" in action
    assert float(finding["gain_percent"]) == pytest.approx(0.7 * 94, abs=2)


def test_a_function_of_the_users(answer):
    def step(made, at):
        made.host("python_function", "model.py(12): postprocess", at, 500)
        made.kernel("gemm", at + 502, at + 505, 490)
    finding, action = first(answer(loop(50, 1000, step)))
    assert finding["kind"] == "cpu_computation" and "postprocess" in action and "postprocess" in finding["where"][0]
    assert float(finding["gain_percent"]) == pytest.approx(25, abs=1)


def test_pageable_copies(answer):
    def step(made, at):
        made.copy("HtoD", "Pageable -> Device", at, at + 5, 400, 1 << 22)
        made.kernel("gemm", at + 3, at + 405, 595)
    result = answer(loop(30, 1000, step))
    finding, action = first(result)
    assert finding["kind"] == "gpu_transfer" and "pin" in action and any("pageable" in text for text in finding["evidence"])
    assert float(finding["gain_percent"]) == pytest.approx(0.7 * 40, abs=1) and result["bottleneck"]["type"] == "memory_bound"


def test_a_link_that_is_full(answer):
    """24 MB in 450 us are 53 GB/s, of the 63 that a device of compute capability 9 has."""
    def step(made, at):
        made.copy("HtoD", "Pinned -> Device", at, at + 5, 450, 24_000_000)
        made.kernel("gemm", at + 3, at + 455, 545)
    finding, action = first(answer(loop(30, 1000, step)))
    assert finding["id"] == "gpu_transfer:link" and "fewer bytes" in action
    assert "53.3 GB/s, 85 % of PCIe 5.0 x16 (63.0 GB/s)" in finding["evidence"][-1]
    assert float(finding["gain_percent"]) == pytest.approx(0.5 * 45, abs=1)


def test_a_link_that_is_not_full(answer):
    def step(made, at):
        made.copy("HtoD", "Pinned -> Device", at, at + 5, 450, 12_000_000)
        made.kernel("gemm", at + 3, at + 455, 545)
    finding, action = first(answer(loop(30, 1000, step)))
    assert finding["id"] == "gpu_transfer:copies" and "while the device computes" in action


@pytest.mark.parametrize("copies, repeated", [(3, False), (5, True)])
def test_the_same_copy_again_and_again(answer, copies, repeated):
    def step(made, at):
        made.host("user_annotation", f"ProfilerStep#{at // 1000}", at, 999)
        made.host("cpu_op", "aten::to", at + 1, 100)
        for i in range(copies):
            made.copy("HtoD", "Pageable -> Device", at + 2 + 5 * i, at + 8 + 500 // copies * i, 500 // copies, 4 << 20)
        made.kernel("gemm", at + 90, at + 510, 480)
    finding, action = first(answer(loop(20, 1000, step)))
    assert finding["kind"] == "gpu_transfer" and (finding["id"] == "gpu_transfer:repeated") == repeated
    if repeated:
        assert "aten::to" in action and f"aten::to: 10.0 ms in {20 * copies} copies of 4.194 MB" in finding["where"]
        assert f"{copies}.0 copies a step have the same size" in " ".join(finding["evidence"])
        assert float(finding["gain_percent"]) == pytest.approx(0.95 * 50 * (1 - 1 / copies), abs=1)


def test_examples_are_the_longest_and_one_like_most(answer):
    def step(made, at):
        made.host("python_function", "model.py(12): postprocess", at, 800 if at == 7000 else 500)
        made.kernel("gemm", at + (802 if at == 7000 else 502), at + (805 if at == 7000 else 505), 190)
    result = answer(loop(20, 1000, step))
    examples = first(result)[0]["examples"]
    assert [example["name"] for example in examples] == ["model.py(12): postprocess"] * 2
    assert float(examples[0]["start_us"]) == 7000 and float(examples[0]["duration_us"]) == pytest.approx(800)
    assert float(examples[1]["start_us"]) % 1000 == 0 and float(examples[1]["duration_us"]) == pytest.approx(500)
    assert examples[0]["track"] == examples[1]["track"] == 0


def test_communication_that_compute_could_hide(answer):
    def step(made, at):
        made.kernel("gemm", at, at + 5, 595)
        made.kernel("ncclDevKernel_AllReduce", at + 3, at + 600, 400, stream=20)
    finding, action = first(answer(loop(30, 1000, step)))
    assert finding["kind"] == "communication" and float(finding["gain_percent"]) == pytest.approx(20, abs=1)


def test_a_rank_that_keeps_the_others_waiting(tmp_path):
    for rank in range(4):
        made = Made(rank=rank, baseTimeNanoseconds=0)
        for i in range(6):
            late = 600 if rank == 2 else 0
            made.kernel("gemm", 1000 * i - 50, 1000 * i, 100 + late)
            made.kernel("ncclDevKernel_AllReduce", 1000 * i - 40, 1000 * i + 100 + late, 900 - 100 - late)
        made.save(tmp_path / f"rank{rank}.json")
    result = analyze(tmp_path)
    finding, action = first(result)
    assert finding["kind"] == "straggler" and "rank 2" in action


def test_compilation(answer):
    made = loop(5, 1000, lambda made, at: made.kernel("gemm", at + 5, at + 10, 980))
    made.call("cuModuleLoadData", 5000, 2000)
    made.kernel("new", 7005, 7010, 500)
    finding, _ = first(answer(made))
    assert finding["kind"] == "jit_compilation"


def test_something_that_is_done_once(answer):
    made = Made()
    made.op("aten::cudnn_convolution", 0, 50_000)
    for i in range(4):
        made.kernel("conv", 5 + 30 * i, 10 + 30 * i, 20)
    made.kernel("conv", 49_990, 50_000, 20)
    for i in range(20):
        made.op("aten::add", 50_100 + 50 * i, 45)
        made.kernel("add_kernel", 50_100 + 50 * i + 40, 50_100 + 50 * i + 48, 3)
    finding, _ = first(answer(made))
    assert finding["kind"] == "startup"


def test_a_host_that_was_late_a_few_times_among_many_launches(answer):
    """Three gaps are most of what the host was late, and next to nothing of what the device waited for launches."""
    def step(made, at):
        made.op("aten::add", at - 60, 45)
        made.kernel("add_kernel", at - 50, at, 5)  # was launched while the one before it ran, and starts 45 us after it
    made = loop(400, 50, step)
    for i in range(8):
        late = 200 if i < 3 else 5
        made.kernel("add_kernel", 20_000 + 400 * i + late, 20_000 + 400 * i + late + 2, 395 - late)
    finding, _ = first(answer(made))
    assert finding["kind"] == "kernel_launch"


def test_poor_traces_are_trusted_less(answer):
    def step(made, at):
        made.host("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at, 400)
        made.kernel("gemm", at + 405, at + 410, 590)
        for i in range(3):
            made.call("cudaLaunchKernel", at + 600 + 10 * i, 2)  # their work is missing
    finding, _ = first(answer(loop(20, 1000, step)))
    assert float(finding["confidence"]) <= 0.6


def test_the_same_answer_every_time(tmp_path):
    made = loop(50, 200, lambda made, at: (made.op("aten::add", at, 45), made.kernel("k", at + 40, at + 50, 5)))
    path = made.save(tmp_path / "made.json")
    for options in ((), ("--format", "json")):
        assert inferscope("analyze", path, *options).stdout == inferscope("analyze", path, *options).stdout


def test_loading_in_the_training_of_resnet50():
    kinds = {workers: [f["kind"] for f in analyze(shared(f"kineto/v100-resnet50-loader-{workers}-workers.json.gz"))["findings"]]
             for workers in (0, 4)}
    assert kinds[0][0] == "data_loading" and "data_loading" not in kinds[4]
