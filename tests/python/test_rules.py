"""Rules of users (`inferscope analyze --rules-file`), on made-up traces of which every figure is known."""

import json
import re
import os
from decimal import Decimal

import pytest

from analysis import ROOT, analyze, inferscope, shared
from made_trace import Made

MARK = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"


def made_trace():
    """20 steps of 1,000 us: 100 in tokenizer.encode, which waits for nothing, 590 on the device."""
    made = Made()
    for at in range(0, 20_000, 1000):
        made.host("user_annotation", f"ProfilerStep#{at // 1000}", at, 1000)
        made.host("python_function", "tokenizer.encode", at + 1, 100)
        made.host("user_annotation", MARK, at + 101, 300)
        made.kernel("gemm", at + 405, at + 410, 590)
    return made


@pytest.fixture
def trace(tmp_path):
    return made_trace().save(tmp_path / "made.json")


@pytest.fixture
def rules(tmp_path, trace):
    """Runs with a file of rules; of the result, the findings of that file."""
    def run(text, on=None):
        path = tmp_path / "r.yaml"
        path.write_text(text)
        result = analyze(on or trace, options=("--rules-file", path))
        return [f for f in result["findings"] if f.get("rule", "").startswith(f"{path}:")], result
    return run


@pytest.fixture
def refused(tmp_path, trace):
    """What is said of a file of rules that is wrong."""
    def run(text, on=None):
        (tmp_path / "r.yaml").write_text(text)
        done = inferscope("analyze", on or trace, "--rules-file", "r.yaml", "-o", "out.json", cwd=tmp_path, status=2)
        assert done.stdout == b"" and not (tmp_path / "out.json").exists()
        return done.stderr.decode().removeprefix("inferscope: ").removesuffix("\n")
    return run


def one(expression, **fields):
    lines = ["rules:", "- name: x", f"  when: {json.dumps(expression)}", *(f"  {key}: {json.dumps(value)}" for key, value in fields.items())]
    return "\n".join(lines + ([] if "message" in fields else ["  message: m"])) + "\n"


def test_the_example_of_the_documentation(rules, trace):
    found, result = rules("""
rules:
  - name: tokenizer_slow                 # the finding's id is kind:name
    kind: preprocessing
    when: steps.p50_us > 500 AND (SELECT sum(total_us) FROM functions WHERE name LIKE 'tokenizer.%') > 0.05 * summary.end_to_end_latency_us
    share: (SELECT sum(self_us) FROM functions WHERE name LIKE 'tokenizer.%') / summary.end_to_end_latency_us
    severity: min(1, share * 3)
    gain: 0.5 * share
    confidence: 0.7
    message: "the tokenizer takes {round(100 * share, 1)} % of the run"
    suggestion: "cache tokens of {(SELECT name FROM functions ORDER BY self_us DESC LIMIT 1)}"
""")
    finding, = found
    assert finding["id"] == "preprocessing:tokenizer_slow" and finding["kind"] == "preprocessing"
    assert finding["rule_share_percent"] == 10 and finding["share_percent"] == 0 and finding["owned_us"] == 0
    assert finding["severity"] == Decimal("0.3") and finding["confidence"] == Decimal("0.7")
    assert [finding[f"gain{end}_percent"] for end in ("_low", "", "_high")] == [5, 5, 5]
    assert finding["evidence"] == ["the tokenizer takes 10 % of the run"] and finding["frequency"] is None
    suggestion, = (s for s in result["suggestions"] if s["finding"] == finding["id"])
    assert suggestion["action"] == "cache tokens of tokenizer.encode" and suggestion["estimated_improvement_percent"] == 5
    assert suggestion["rationale"].endswith("r.yaml, by which the gain is 0.5 * share")


def test_rules_are_ranked_with_the_others(rules):
    text = "rules:\n" + "".join(f"  - {{name: {name}, when: 1, message: m, gain: {gain}}}\n" for name, gain in
                                (("first", 0.9), ("last", 0.001), ("note", "NULL")))
    _, result = rules(text)
    assert [f["id"].split(":")[0] for f in result["findings"]] == ["custom", "data_loading", "custom", "custom"]
    assert [f["id"] for f in result["findings"]][2:] == ["custom:last", "custom:note"]
    assert result["findings"][3]["gain_percent"] is None and result["suggestions"][3]["estimated_improvement_percent"] is None
    assert [s["priority"] for s in result["suggestions"]] == [1, 2, 3, 4]


@pytest.mark.parametrize("expression, fires", [
    ("summary.end_to_end_latency_us = 20000", True),
    ("step_summary.count = 20 AND steps.p50_us = 1000 AND (SELECT count(*) FROM steps) = 20", True),
    ("(SELECT compute_us FROM devices) = 11800", True),
    ("(SELECT count FROM kernels WHERE name = 'gemm') = 20", True),
    ("(SELECT idle_causes_input_us > 0 FROM devices)", True),
    ("(SELECT sum(percentage) FROM timeline_breakdown) BETWEEN 99.999 AND 100.001", True),
    ("(SELECT kind FROM findings) = 'data_loading'", True),
    ("bottleneck.type = 'cpu_bound' AND integrity.verdict = 'good'", True),
    ("trace.threads = 1 AND trace.devices = 1 AND lost_events = 0", True),
    ("total_h2d_us > 0", False),
    ("straggler_rank >= 0", False),
    ("(SELECT max(duration_us) FROM steps) > 1000", False),
])
def test_names(rules, expression, fires):
    found, _ = rules(one(expression))
    assert len(found) == fires


def test_every_name_of_the_json_is_there(rules, tmp_path):
    """A figure that is added to the JSON is to be added to src/rules/rules_schema.c."""
    made = made_trace()
    made.copy("HtoD", "Pageable -> Device", 20_000, 20_005, 10, 1 << 20)
    made.device("kernel", "stray", 90_000_000, 3, 0, blocks_per_SM=1, est_achieved_occupancy=10)
    for rank in range(3):
        ranks = Made(rank=rank, baseTimeNanoseconds=0)
        ranks.kernel("gemm", 0, 10, 100 + 50 * rank, grid=[1, 1, 1], block=[32, 1, 1], **{"registers per thread": 16, "shared memory": 0})
        ranks.kernel("ncclDevKernel_AllReduce", 5, 110 + 50 * rank, 900 - 50 * rank)
        ranks.op("aten::mm", 0, 3)
        ranks.save(tmp_path / f"rank{rank}.json")
    results = [analyze(made.save(tmp_path / "made2.json"))]
    results.append(analyze(*(tmp_path / f"rank{rank}.json" for rank in range(3))))
    columns = {}
    for result in results:
        collect("analysis", {key: value for key, value in result.items() if not isinstance(value, (dict, list))}, columns)
        for key, value in result.items():
            for row in value if isinstance(value, list) else [value] if isinstance(value, dict) else []:
                collect(key, row, columns)
    documented = dict(line.split(" | ")[:2] for line in (ROOT / "docs" / "rules.md").read_text().splitlines() if line.startswith("| `"))
    for table, of in columns.items():
        row, = (value for key, value in documented.items() if f"`{table}`" in key and (table != "steps" or key == "| `steps`"))
        assert of <= set(row.removesuffix(" |").split()), table
    names = sorted(f'(SELECT count("{column}") FROM {table})' for table, of in columns.items() for column in of)
    assert len(names) > 150
    for i in range(0, len(names), 30):
        rules(one(" + ".join(names[i:i + 30]) + " >= 0"))


def collect(table, row, columns, prefix=""):
    for key, value in row.items():
        if isinstance(value, dict):
            collect(table, value, columns, f"{prefix}{key}_")
        elif isinstance(value, list):
            for inner in value:
                if isinstance(inner, dict):
                    collect(key, inner, columns)
        elif key not in ("rule", "rule_share_percent"):  # rules do not see each other
            columns.setdefault(table, set()).add(prefix + key)


def test_thresholds(rules, trace, tmp_path):
    kinds = [f["kind"] for f in rules("thresholds: {}\n")[1]["findings"]]
    assert kinds == ["data_loading"]
    for text in ("share_least_percent: 45", "gain_least_percent: 45"):
        assert rules(f"thresholds:\n  {text}\n")[1]["findings"] == []
    finding, = rules("thresholds: {share_severe_percent: 100}\n")[1]["findings"]
    assert finding["severity"] == pytest.approx(finding["share_percent"] / 100, abs=Decimal("0.001"))
    bottleneck = rules("thresholds:\n  bottleneck_idle_percent: 45\n")[1]["bottleneck"]
    assert bottleneck["type"] != "cpu_bound" and "(cpu_bound above 45 %)" in bottleneck["evidence"][0]


def test_thresholds_that_say_more(rules, tmp_path):
    made = Made()
    for at in range(0, 50_000, 1000):
        made.host("user_annotation", MARK, at, 30)
        made.kernel("gemm", at + 32, at + 35, 965)
    path = made.save(tmp_path / "busy.json")
    assert all("rule" in finding for finding in rules("thresholds: {}\n", on=path)[1]["findings"])
    finding, _ = rules("thresholds: {share_least_percent: 1, gain_least_percent: 1}\n", on=path)[1]["findings"]
    assert finding["share_percent"] == pytest.approx(Decimal("3.43"), abs=Decimal("0.05"))


@pytest.mark.parametrize("text, sentence", [
    ("rules:\n  - nam: x\n", "r.yaml:2:5: unknown key 'nam' in a rule; did you mean 'name'?"),
    ("rules:\n  - name: x\n    when: 1 >\n    message: m\n",
     "r.yaml:3:14: when of rule 'x': the expression ends too early; is something not closed?"),
    ("rules:\n  - name: x\n    when: 1 > sumary.total_idle_us\n    message: m\n",
     "r.yaml:3:15: when of rule 'x': no such column: sumary.total_idle_us; did you mean 'total_idle_us'?"),
    ("rules:\n  - name: x\n    when: 1\n    message: \"{(SELECT nam FROM functions)}\"\n",
     "r.yaml:4:24: message of rule 'x': no such column: nam; did you mean 'name'?"),
    ("rules:\n  - name: x\n    when: trace.path\n    message: m\n",
     "r.yaml:3:11: when of rule 'x': gives a text and not a number; compare it with something, or take its length()"),
    ("rules:\n  - name: x\n    when: (SELECT count(*) FROM steps a, steps b, steps c, steps d, steps e, steps f, steps g, steps h)\n    message: m\n",
     "r.yaml:3:11: when of rule 'x': takes too long; join fewer rows"),
    ("thresholds:\n  gain_least_percent: much\n", "r.yaml:2:23: gain_least_percent expects a number from 0 to 100, not 'much'"),
    ("rules:\n  - name: \"\\e[31mred\"\n", "r.yaml:2:11: name '\\x1b[31mred' is no name; use up to 60 letters, digits and _"),
])
def test_errors_say_where(refused, text, sentence):
    assert refused(text) == sentence


def test_rules_are_checked_before_the_trace_is_read(refused, tmp_path):
    assert refused("rules: 1\n", on=tmp_path / "there-is-none.sbt").startswith("r.yaml:1:8: ")


def test_a_file_that_is_not_there(trace, tmp_path):
    done = inferscope("analyze", trace, "--rules-file", tmp_path / "none.yaml", "-o", "-", status=2)
    assert done.stderr.decode() == f"inferscope: cannot read the rules in '{tmp_path}/none.yaml': No such file or directory\n"


def test_several_files(trace, tmp_path):
    (tmp_path / "a.yaml").write_text("rules: [{name: x, when: 1, message: first}, {name: y, when: 1, message: y}]\n")
    (tmp_path / "b.yaml").write_text("rules: [{name: x, when: 1, message: second}]\n")
    result = analyze(trace, options=("--rules-file", tmp_path / "a.yaml", "--rules-file", tmp_path / "b.yaml"))
    assert [f["evidence"] for f in result["findings"] if "rule" in f] == [["second"], ["y"]]


@pytest.fixture
def configured(trace, tmp_path):
    """Runs with a configuration folder of these files of rules; the result and what was said."""
    def run(files, mode=0o755, status=0):
        folder = tmp_path / "config" / "inferscope" / "rules"
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (folder / name).write_text(text)
            (folder / name).chmod(0o644)
        folder.chmod(mode)
        done = inferscope("analyze", trace, "--format", "json", "-o", "-", status=status,
                          env={**os.environ, "XDG_CONFIG_HOME": str(tmp_path / "config")})
        findings = json.loads(done.stdout)["findings"] if status == 0 else []
        return [f["evidence"][0] for f in findings if "rule" in f], done.stderr.decode()
    return run


def test_the_folder_of_rules(configured):
    files = {"b.yaml": "rules: [{name: x, when: 1, message: from b}]\n", "a.yaml": "rules: [{name: x, when: 1, message: from a}]\n",
             "c.yml": "not read", ".hidden.yaml": "not read", "d.yaml~": "not read"}
    assert configured(files) == (["from b"], "")


def test_a_folder_that_others_can_write_to(configured, tmp_path):
    found, said = configured({"a.yaml": "rules: [{name: x, when: 1, message: m}]\n"}, mode=0o777)
    assert found == [] and "a.yaml is ignored: others can write to its folder" in said


def test_a_broken_file_in_the_folder(configured, tmp_path):
    _, said = configured({"a.yaml": "rules: 7\n"}, status=2)
    assert said.startswith(f"inferscope: {tmp_path}/config/inferscope/rules/a.yaml:1:8: rules expects a list")


EVIL = ["'; DROP TABLE functions; --", '"}{share}{{', "{1/0}", "a\x00b", "\x1b[31mred\x1b[0m", "\u202eback", "line\nbreak", "\\", "%s%n", "ä" * 400,
        "[x](javascript:1) <script>|`"]


def test_names_in_traces_break_nothing(rules, tmp_path):
    made = Made()
    for i, name in enumerate(EVIL):
        made.host("python_function", name, 100 * i, 50 + i)
        made.kernel(name, 100 * i + 1, 100 * i + 5, 50)
    path = made.save(tmp_path / "evil.json")
    text = one("1", message="{(SELECT count(DISTINCT name) FROM functions)}",
               suggestion="{(SELECT name FROM functions ORDER BY self_us DESC LIMIT 1 OFFSET (SELECT count(*) FROM steps))}")
    found, result = rules(text, on=path)
    assert found[0]["evidence"] == [str(len(EVIL))]
    for i, name in enumerate(EVIL):
        text = one("1", message="<{(SELECT name FROM functions WHERE total_us = %d)}>" % (50 + i))
        found, _ = rules(text, on=path)
        expected = f"<{name.replace(chr(0), ' ')}>" if len(name) < 300 else "<" + "ä" * 159
        assert found[0]["evidence"] == [expected]
    (tmp_path / "all.yaml").write_text("rules:\n" + "".join(
        f"  - {{name: n{i}, when: 1, message: \"{{(SELECT name FROM functions WHERE total_us = {50 + i})}}\"}}\n" for i in range(len(EVIL))))
    for form in ("text", "md"):
        out = inferscope("analyze", path, "--rules-file", tmp_path / "all.yaml", "--format", form, "-o", "-").stdout
        assert b"\x1b" not in out and "\u202e".encode() not in out and b"\x00" not in out


# ---- The rules that come with us ----------------------------------------------------

def ours(result):
    return [f["id"].split(":")[1] for f in result["findings"] if "rule" in f]


def test_a_healthy_trace_gets_no_note(trace, tmp_path):
    assert ours(analyze(trace)) == []
    made = Made()
    for at in range(0, 200_000, 1000):
        made.copy("HtoD", "Pinned -> Device", at, at + 3, 5, 1 << 20)
        made.kernel("sm90_xmma_gemm_bf16bf16_bf16f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas",
                    at + 5, at + 10, 800, **{"blocks per SM": 4.0, "grid": [400, 1, 1], "block": [256, 1, 1]})
        made.kernel("void at::native::vectorized_elementwise_kernel<4, at::native::AUnaryFunctor>", at + 8, at + 811, 80)
    assert ours(analyze(made.save(tmp_path / "healthy.json"))) == []  # idle for 11 %


@pytest.mark.parametrize("rule, step", [
    ("matrices_without_tensor_cores", lambda made, at: made.kernel("volta_sgemm_128x64_nn", at, at + 5, 900)),
    ("grids_smaller_than_device", lambda made, at: made.kernel("small", at, at + 5, 900, **{
        "blocks per SM": 0.1, "grid": [10, 1, 1], "block": [256, 1, 1], "registers per thread": 32, "shared memory": 0})),
    ("pointwise_kernels_dominate", lambda made, at: made.kernel(
        "void at::native::vectorized_elementwise_kernel<4, at::native::AUnaryFunctor>", at, at + 5, 900)),
    ("layout_conversions", lambda made, at: [made.kernel("gemm", at, at + 5, 800),
                                             made.kernel("void cudnn::ops::nchwToNhwcKernel<float>", at + 1, at + 805, 100)]),
    ("many_small_copies", lambda made, at: [made.kernel("gemm", at, at + 5, 900), *(
        made.copy("HtoD", "Pinned -> Device", at + 3 + i, at + 6 + 10 * i, 8, 4096, stream=9) for i in range(6))]),
    ("device_memory_churn", lambda made, at: [made.kernel("gemm", at, at + 5, 900), made.call("cudaMalloc", at + 10, 80)]),
])
def test_our_rules_fire(tmp_path, rule, step):
    made = Made()
    for at in range(0, 200_000, 1000):
        step(made, at)
    result = analyze(made.save(tmp_path / "made.json"))
    assert ours(result) == [rule, "busiest_kernels"]
    finding = next(f for f in result["findings"] if "rule" in f)
    assert finding["gain_percent"] is None and 0 < finding["rule_share_percent"] <= 100 and "unknown" not in finding["evidence"][0]


def test_a_busy_device_is_told_what_it_is_busy_with(tmp_path):
    """Beside the kernels themselves nothing is said that no kernel shows."""
    made = Made()
    for at in range(0, 50_000, 1000):
        made.kernel("void attention<float>", at, at + 5, 600)
        for i, name in enumerate(("gemm", "softmax", "gelu")):
            made.kernel(name, at + 1 + i, at + 605 + 100 * i, 100)
        made.kernel("rope", at + 6, at + 905, 90)
    result = analyze(made.save(tmp_path / "busy.json"))
    finding, = result["findings"]
    suggestion, = result["suggestions"]
    assert result["bottleneck"]["type"] == "gpu_bound" and finding["id"] == "gpu_compute:busiest_kernels"
    assert float(finding["rule_share_percent"]) == pytest.approx(80, abs=0.5) and finding["gain_percent"] is None
    assert re.search(r"the most: attention<float> 60\.\d % in 50, (gemm|softmax|gelu) 10(\.0)? % in 50, ", finding["evidence"][0]), finding["evidence"]
    assert suggestion["action"].startswith("attention<float>: ") and suggestion["estimated_improvement_percent"] is None


@pytest.mark.parametrize("busy, notes", [(860, ["pointwise_kernels_dominate", "busiest_kernels"]), (600, [])])
def test_less_is_worth_a_word_where_the_device_is_the_limit(tmp_path, busy, notes):
    made = Made()
    for at in range(0, 200_000, 1000):
        made.kernel("gemm", at, at + 5, busy)
        made.kernel("void at::native::vectorized_elementwise_kernel<4, at::native::AUnaryFunctor>", at + 1, at + busy + 5, 130)
    assert ours(analyze(made.save(tmp_path / "made.json"))) == notes


@pytest.mark.parametrize("name, notes", [
    ("kineto/h100-bert-small.json.gz", []), ("kineto/h100-owlv2.json.gz", []), ("kineto/a100-nccl.json.gz", []),
    ("kineto/mi-vllm-decode-graph.json.gz", ["busiest_kernels"]), ("kineto/cpu-only.json.gz", []), ("kineto/triton.json.gz", ["busiest_kernels"]),
    ("kineto/v100-resnet50-loader-0-workers.json.gz", ["matrices_without_tensor_cores"]),  # FP32 on a V100
    ("kineto/v100-ns-steps.json.gz", ["matrices_without_tensor_cores", "pointwise_kernels_dominate", "busiest_kernels"]),
])
def test_our_rules_on_real_traces(name, notes):
    assert ours(analyze(shared(name))) == notes


def test_our_rules_can_be_silenced(tmp_path):
    made = Made()
    for at in range(0, 200_000, 1000):
        made.kernel("volta_sgemm_128x64_nn", at, at + 5, 900)
    path = made.save(tmp_path / "made.json")
    (tmp_path / "off.yaml").write_text("rules: [{name: matrices_without_tensor_cores, when: false, message: off}]\n")
    assert ours(analyze(path)) == ["matrices_without_tensor_cores", "busiest_kernels"]
    assert ours(analyze(path, options=("--rules-file", tmp_path / "off.yaml"))) == ["busiest_kernels"]


def test_the_examples_of_the_documentation_are_right(trace, tmp_path):
    blocks = [part.split("```")[0] for part in (ROOT / "docs" / "rules.md").read_text().split("```yaml\n")[1:]]
    assert len(blocks) >= 3
    for i, block in enumerate(blocks):
        (tmp_path / "doc.yaml").write_text(block)
        analyze(trace, options=("--rules-file", tmp_path / "doc.yaml"))
