"""PreprocessingProfiler: bottlenecks that were built in are named, times and gains are those that were built in, and whatever the
function does, there is a profile that says so, and nothing of the program's own is changed.

Nothing here depends on how quick the machine is: functions wait for so long, or are compared with each other.
"""

import collections
import copy
import json
import logging
import mmap
import os
import pickle
import random
import re
import signal
import sys
import threading
import time
import typing
from pathlib import Path

import pytest

import package

package.need_package()
numpy = pytest.importorskip("numpy")

from inferscope import PreprocessingBottleneck as Bottleneck  # noqa: E402
from inferscope import PreprocessingProfiler, PreprocessingProfilerConfig as Config  # noqa: E402
from inferscope.preprocessing import ContentCache, Suggestion, _inputs, _python, _stats, _steps  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def _ctrl_c():
    """Whoever runs the suite in the background has it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)



@pytest.fixture(autouse=True)
def nothing_is_left():
    """No thread, no handler of a signal, no tracer."""
    handler = signal.getsignal(signal.SIGURG)
    yield
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("inferscope-")]
    assert signal.getsignal(signal.SIGURG) is handler and sys.gettrace() is None


def quickly(**options):
    """Times only."""
    return PreprocessingProfiler(Config(explore=False, **options))


def explored(function, sample, seconds=1.5, **options):
    return PreprocessingProfiler(Config(explore_seconds=seconds, **options)).profile_preprocessing_function(function, sample, 5)


# ---- Statistics --------------------------------------------------------------------------------


def test_intervals_of_medians():
    assert _stats.median_interval([3, 1, 2]) == (1, 3)
    assert _stats.median_interval(range(10)) == (1, 8)      # 97.9 %; one further in would be 89 %
    assert _stats.median_interval(range(9)) == (1, 7)
    assert _stats.median([4, 1, 2, 3]) == 2.5


def test_warm_up():
    assert _stats.warm_up([9, 5, 1, 1.1, 0.9, 1, 1, 1.05, 1]) == 2
    assert _stats.warm_up([1.05, 1, 1.1, 0.9, 1, 1.2, 1]) == 0
    assert _stats.warm_up([1, 1, 1, 5, 5, 5, 5]) == 0        # it becomes slower
    assert _stats.warm_up([]) == _stats.warm_up([1.0]) == 0


def test_exponents():
    draw = random.Random(2)
    noisy = {size: [size ** 2 * draw.uniform(0.9, 1.4) for _ in range(5)] for size in (10, 20, 40, 80)}
    middle, low, high = _stats.exponent(noisy)
    assert low <= middle <= high and 1.7 < low and high < 2.3
    assert _stats.exponent({1: [1.0], 2: [1.0]}) is None
    assert [round(one) for one in _stats.local_exponents({1: [1.0], 2: [2.0], 4: [8.0]})] == [1, 2]


def test_gains():
    low, middle, high = _stats.gain_interval([(1.0, 0.5), (2.0, 1.0), (1.0, 0.45), (1.0, 0.6), (1.0, 0.5)])
    assert middle == 0.5 and 0.2 < low < 0.4 and 0.55 < high < 0.65


# ---- Inputs ------------------------------------------------------------------------------------


class Image:
    """As those of PIL are, as far as anybody looks."""

    def __init__(self, data, size=(8, 4)):
        self.data, self.size, self.mode = bytearray(data), size, "L"

    def tobytes(self):
        return bytes(self.data)

    def copy(self):
        return Image(self.data, self.size)


@pytest.mark.parametrize("one, other", [
    (numpy.zeros(4), numpy.ones(4)), (numpy.zeros(4), numpy.zeros(4, numpy.float32)), (numpy.zeros((2, 2)), numpy.zeros(4)),
    ([1, 2], [2, 1]), ([[1], 2], [[1, 2]]), ({"a": 1}, {"a": 2}), ("ab", b"ab"), (1, 1.0), (1, True), (Image(bytes(32)), Image(bytes([1] * 32))),
    ({"a": numpy.arange(3)}, {"a": numpy.arange(3)[::-1]}), (["ab", "c"], ["a", "bc"]), (None, 0)])
def test_keys_are_of_the_content(one, other):
    assert _inputs.key_of(one) == _inputs.key_of(_inputs.copied(one)) != _inputs.key_of(other)
    assert _inputs.identical(one, _inputs.copied(one)) is True and _inputs.identical(one, other) is False


def test_what_has_no_key():
    with pytest.raises(_inputs.NoKey):
        _inputs.key_of(lambda: 0)
    assert _inputs.identical([lambda: 0], [lambda: 0]) is None


def test_batches_as_the_document_makes_them():
    torch = pytest.importorskip("torch")
    sample = torch.rand(3, 4, 5)
    assert tuple(_inputs.repeated(sample, 1).shape) == (1, 3, 4, 5) and tuple(_inputs.repeated(sample, 4).shape) == (12, 4, 5)
    assert tuple(_inputs.piled(sample, 4).shape) == (4, 3, 4, 5) and torch.equal(_inputs.piled(sample, 4)[3], sample)
    assert _inputs.repeated(sample.numpy(), 4).shape == (12, 4, 5) and _inputs.piled(sample.numpy(), 4).shape == (4, 3, 4, 5)
    assert _inputs.repeated([1, 2], 3) == [1, 2, 1, 2, 1, 2] and _inputs.repeated({"a": "x"}, 2) == {"a": "xx"}
    assert _inputs.repeated(3.5, 2) == [3.5, 3.5] and _inputs.piled([1, 2], 2) is None


def test_items_of_a_batch_differ():
    items = [_inputs.varied(numpy.arange(100.0), number) for number in range(8)]
    assert len({item.mean() for item in items}) > 4 and all(item.shape == (100,) for item in items)


# ---- Times -------------------------------------------------------------------------------------


def test_warm_up_is_left_out():
    calls = []

    def function(value):
        calls.append(value)
        time.sleep(0.03 if len(calls) <= 5 else 0.002)
        return value

    profile = quickly().profile_preprocessing_function(function, 7, num_iterations=10)
    assert profile.warm_up == 3 and len(profile.samples) == 13      # two calls come before the samples
    assert 0.002 <= profile.execution_time < 0.02 and profile.first_call_time >= 0.03
    assert profile.interval.low <= profile.median <= profile.interval.high
    assert profile.throughput == pytest.approx(1 / profile.execution_time) and profile.complete and profile.error is None


def test_short_calls_are_timed_together():
    profile = quickly().profile_preprocessing_function(abs, -3)
    assert profile.calls_per_sample > 100 and profile.execution_time < 5e-6 and profile.operation_name == "abs"


def test_where_the_time_goes():
    def waits(value):
        time.sleep(0.02)
    parts = quickly().profile_preprocessing_function(waits, None, 3).parts
    assert parts["blocked"] > 0.6 and sum(parts[name] for name in ("user", "system", "queue", "blocked")) == pytest.approx(1, abs=0.05)

    def computes(value):
        return sum(range(200_000))
    profile = quickly().profile_preprocessing_function(computes, None, 3)
    assert profile.parts["user"] + profile.parts["queue"] > 0.6 and profile.parts["blocked"] < 0.3
    assert profile.execution_time <= profile.wall_time * 1.05


# ---- Bottlenecks -------------------------------------------------------------------------------


def looped(values):
    result = numpy.empty_like(values)
    for i in range(len(values)):
        result[i] = min(max(values[i] * 2 - 0.5, 0.0), 1.0)
    return result


def searched(items):
    seen = []
    for item in items:
        if item not in seen:
            seen.append(item)
    return seen


def words(text):
    known = {}
    return [known.setdefault(word, len(known)) for word in re.findall(r"\w+", text.lower())]


def test_not_vectorised():
    profile = explored(looped, numpy.linspace(0, 1, 10_000))
    assert profile.bottlenecks[0] is Bottleneck.NOT_VECTORISED and profile.instructions_per_element > 5
    assert "looped" in profile.evidence[Bottleneck.NOT_VECTORISED]
    cure = profile.suggestion("vectorise")
    assert not cure.measured and cure.low <= cure.gain <= cure.high and "looped" in cure
    assert profile.optimization_potential >= cure.gain


def test_inefficient_algorithm():
    profile = explored(searched, list(range(1500)), seconds=3)
    assert profile.bottlenecks[0] is Bottleneck.INEFFICIENT_ALGORITHM
    assert 1.4 < profile.scaling.low and profile.scaling.high < 2.6 and profile.scaling.times.keys() >= {1500, 750, 375}


def test_gil_bound():
    profile = explored(words, " ".join("word%d" % (i % 700) for i in range(8000)), seconds=3, try_threads=False)
    assert profile.bottlenecks[0] is Bottleneck.GIL_BOUND and profile.gil_share > 0.6


@pytest.mark.alone
def test_waiting_is_shared_by_threads():
    def remote(value):
        time.sleep(0.012)
        return value * 2
    profile = explored(remote, 21, seconds=4)
    assert profile.bottlenecks[0] is Bottleneck.WAITING and (profile.gil_share or 0) < 0.5
    threads = profile.suggestion("threads")
    assert threads.measured and threads.parameter == 4 and 0.4 < threads.gain <= 0.8 and threads.low <= threads.gain <= threads.high


def test_memory():
    def temporaries(batch):
        return (batch * 2.0 + 1.0) / 3.0 - batch * 0.5
    profile = explored(temporaries, numpy.random.rand(24, 100_000), seconds=1, try_threads=False)
    assert profile.bottlenecks[0] is Bottleneck.MEMORY_INTENSIVE and profile.input_mb > 15
    assert {"chunks", "memory"} & {one.kind for one in profile.suggestions}


def test_cacheable():
    def diffused(image):
        for _ in range(150):
            image = 0.5 * image + 0.25 * (numpy.roll(image, 1, 0) + numpy.roll(image, -1, 0))
        return image
    profile = explored(diffused, numpy.random.rand(64, 64), seconds=2, try_threads=False)
    assert profile.bottlenecks[0] is Bottleneck.CACHEABLE and profile.deterministic
    assert profile.suggestion("cache").measured and profile.suggestion("cache").gain > 0.9


def test_random_results_are_not_cached():
    profile = explored(lambda value: value + numpy.random.rand(64, 64), numpy.ones((64, 64)), seconds=0.5)
    assert profile.deterministic is False and profile.suggestion("cache") is None


def test_a_batch_instead_of_many_calls():
    def standard(vector):
        return (vector - 0.5) / 0.25
    profile = explored(standard, numpy.linspace(0, 1, 32), seconds=2)
    batch = profile.suggestion("batch")
    assert profile.bottlenecks[0] is Bottleneck.CALL_OVERHEAD and batch.measured and batch.parameter == 16 and batch.gain > 0.5


def test_batches_that_give_something_else_are_not_suggested():
    profile = explored(lambda vector: vector - vector.mean(), numpy.linspace(0, 1, 32), seconds=2)
    assert profile.suggestion("batch") is None


def test_equal_items_prove_nothing():
    profile = explored(lambda vector: vector - vector.max(), numpy.ones(32), seconds=1)
    assert profile.deterministic and profile.suggestion("batch") is None
    rows = numpy.tile(numpy.linspace(0, 1, 50_000), (24, 1))
    assert explored(lambda batch: batch * 2.0 - batch.mean(0) * 2, rows, seconds=1, try_threads=False).suggestion("chunks") is None


def test_nothing_stands_out():
    image = numpy.zeros((128, 128, 3), numpy.uint8)
    profile = explored(lambda image: numpy.ascontiguousarray(image[8:120, 8:120, ::-1]), image)
    assert profile.bottlenecks == [] and profile.complete and profile.optimization_potential == max([0, *(s.gain for s in profile.suggestions)])


def test_leaks():
    kept = []

    def keeps(value):
        kept.append(mmap.mmap(-1, 1 << 20))     # and not of what the program has used before and freed
        kept[-1][:] = bytes(1 << 20)
        time.sleep(0.003)
    profile = explored(keeps, 1, seconds=0.8, try_threads=False)
    assert profile.memory_growth_mb > 0.5 and Bottleneck.MEMORY_LEAK in profile.bottlenecks and profile.suggestion("leak")


# ---- Whatever a function does ------------------------------------------------------------------


def test_input_and_random_numbers_stay_as_they_are():
    def in_place(value):
        value -= value.mean() + random.random() + numpy.random.rand()
        return value
    random.seed(4), numpy.random.seed(4)
    sample, states = numpy.arange(100.0), (random.getstate(), numpy.random.get_state()[1].tolist())
    profile = explored(in_place, sample, seconds=0.5)
    assert sample.tolist() == list(range(100)) and (random.getstate(), numpy.random.get_state()[1].tolist()) == states
    assert profile.mutates_input and profile.deterministic is False and profile.complete


def test_a_function_that_raises(caplog):
    profiler = PreprocessingProfiler()
    profile = profiler.profile_preprocessing_function(lambda value: value / 0, 1, operation_name="halved")
    assert not profile.complete and profile.error.startswith("ZeroDivisionError: division by zero (test_preprocessing.py, line ")
    assert profile.operation_name == "halved" and profiler.profiles == [profile] and "ZeroDivisionError" in caplog.text
    assert "Not finished" in profiler.generate_optimization_report()


def test_what_was_measured_before_it_raised():
    calls = []

    def sometimes(value):
        calls.append(1)
        time.sleep(0.002)
        if len(calls) == 7:
            raise OSError("no more")
    profile = quickly().profile_preprocessing_function(sometimes, 1)
    assert profile.error.startswith("OSError: no more") and len(profile.samples) == 4 and profile.execution_time >= 0.002


def endless(value):
    while True:
        try:
            time.sleep(0)
        except Exception:
            pass


@pytest.mark.parametrize("function", [endless, lambda value: time.sleep(100), lambda value: threading.Event().wait()])
def test_a_function_that_hangs(function):
    begin = time.monotonic()
    profile = quickly(call_timeout=0.3).profile_preprocessing_function(function, 1)
    assert "longer than 0.3 s" in profile.error and time.monotonic() - begin < 5 and not profile.samples


def test_one_that_hangs_in_a_thread():
    profiles = []
    thread = threading.Thread(target=lambda: profiles.append(quickly(call_timeout=0.3).profile_preprocessing_function(endless, 1)))
    thread.start()
    thread.join(10)
    assert "longer than 0.3 s" in profiles[0].error


def test_calls_within_their_time_are_not_ended():
    profile = quickly(call_timeout=0.2).profile_preprocessing_function(lambda value: time.sleep(0.05), 1, 6)
    assert profile.complete and len(profile.samples) == 6


def test_a_child_that_comes_back():
    def forks(value):
        child = os.fork()
        if child:
            os.waitpid(child, 0)
        return value
    assert quickly().profile_preprocessing_function(forks, 1, 2).complete


def test_children_that_stay(tmp_path):
    stdout, _ = package.run("""
        import subprocess
        from inferscope import PreprocessingProfiler, PreprocessingProfilerConfig
        begun = []
        def starts(value):
            begun.append(subprocess.Popen(["sleep", "60"]))
        profile = PreprocessingProfiler(PreprocessingProfilerConfig(explore=False)).profile_preprocessing_function(starts, 1, 1)
        print(profile.notes, [one.pid for one in begun])
        for one in begun:
            one.kill(), one.wait()
        """, tmp_path)
    assert "left" in stdout and "processes behind" in stdout


def test_it_prints_what_it_prints(capsys):
    quickly().profile_preprocessing_function(lambda value: (print("hello"), time.sleep(0.001)), 1, 2)
    lines = capsys.readouterr().out.splitlines()
    assert set(lines) == {"hello"} and len(lines) > 4


def test_one_that_needs_the_main_thread():
    def alarmed(value):
        signal.signal(signal.SIGUSR2, signal.getsignal(signal.SIGUSR2))
        time.sleep(0.002)
    profile = explored(alarmed, 1, seconds=1)
    assert profile.complete and profile.suggestion("threads") is None and any("in threads it raises ValueError" in note for note in profile.notes)


def test_ctrl_c_keeps_what_there_is():
    calls = []

    def function(value):
        calls.append(1)
        if len(calls) == 8:
            os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.002)
    profiler = quickly()
    with pytest.raises(KeyboardInterrupt):
        profiler.profile_preprocessing_function(function, 1, 50)
    profile, = profiler.profiles
    assert profile.error == "interrupted" and len(profile.samples) >= 4 and profile.execution_time >= 0.002


def test_ctrl_c_while_threads_are_tried():
    def function(value):
        if threading.current_thread() is not threading.main_thread():
            os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.003)
    profiler = PreprocessingProfiler(Config(explore_seconds=1))
    with pytest.raises(KeyboardInterrupt):
        profiler.profile_preprocessing_function(function, 1, 5)
    assert profiler.profiles[0].error == "interrupted" and len(profiler.profiles[0].samples) >= 5 and profiler.profiles[0].parts


@pytest.mark.parametrize("sample", [
    "text", b"bytes", 3, None, [1, "a", None], {"image": numpy.zeros(4), "label": 3}, Image(bytes(32)), (1, 2), collections.deque([1, 2]),
    numpy.array(["a", None], object), numpy.zeros(0), numpy.float32(2), (i for i in range(3)), threading.Lock()], ids=lambda v: type(v).__name__)
def test_any_kind_of_input(sample):
    profile = explored(lambda value: [value], sample, seconds=0.05)
    assert profile.complete and profile.error is None and json.dumps(profile.to_dict())


def test_tensors():
    torch = pytest.importorskip("torch")
    sample, state = torch.rand(3, 32, 32, requires_grad=True), torch.get_rng_state()
    profile = explored(lambda image: (image + torch.rand(1)).sub(0.5).div(0.25), sample, seconds=0.5)
    assert profile.input_shape == profile.output_shape == (3, 32, 32) and profile.deterministic is False
    assert torch.equal(torch.get_rng_state(), state) and sample.grad is None
    assert _inputs.key_of(sample) == _inputs.key_of(sample.clone()) != _inputs.key_of(sample + 1)
    assert _inputs.key_of(torch.zeros(2, dtype=torch.bfloat16)) != _inputs.key_of(torch.ones(2, dtype=torch.bfloat16))


@pytest.mark.parametrize("wrong", [0, -1, 2.5, True, "3"])
def test_wrong_numbers(wrong):
    with pytest.raises(ValueError):
        quickly().profile_preprocessing_function(abs, 1, wrong)
    with pytest.raises(ValueError):
        quickly().profile_batch_preprocessing(abs, 1, [1, wrong])


def test_wrong_arguments():
    with pytest.raises(TypeError, match="int cannot be"):
        quickly().profile_preprocessing_function(3, 1)
    with pytest.raises(ValueError, match="batch_layout"):
        Config(batch_layout="both")


# ---- Steps -------------------------------------------------------------------------------------


class Compose:
    def __init__(self, *transforms):
        self.transforms = list(transforms)

    def __call__(self, value):
        for transform in self.transforms:
            value = transform(value)
        return value


class RandomChoice(Compose):
    def __call__(self, value):
        return self.transforms[0](value)


class Pipeline:
    def __init__(self, steps):
        self.steps = steps

    def transform(self, value):
        for _, step in self.steps:
            value = step(value)
        return value


def slow(value):
    time.sleep(0.008)
    return value + 1


def quick(value):
    time.sleep(0.002)
    return value * 2


def test_steps_of_a_composition():
    function = Compose(quick, Compose(slow, RandomChoice(quick, slow)))
    profile = explored(function, 1, seconds=1, try_threads=False)
    assert [step.name for step in profile.steps] == ["0 quick", "1 Compose/0 slow", "1 Compose/1 RandomChoice"]
    assert 0.4 < profile.steps[1].share < 0.8 and sum(step.share for step in profile.steps) == pytest.approx(1)
    assert profile.steps[1].time >= 0.008 and profile.steps[1].interval.low <= profile.steps[1].time


def test_lists_and_pipelines_are_functions():
    assert _steps.as_function([quick, slow])(3) == 7
    assert [name for name, _ in _steps.steps_of(_steps.as_function([quick, slow]))] == ["0 quick", "1 slow"]
    named = Pipeline([("double", quick), ("add", slow)])
    assert [name for name, _ in _steps.steps_of(named)] == ["0 double", "1 add"]
    profile = explored(named, 3, seconds=0.3, try_threads=False)
    assert profile.operation_name == "Pipeline" and len(profile.steps) == 2


def test_steps_of_a_list():
    profile = explored([quick, ("add", slow), [quick, quick]], 3, seconds=0.5, try_threads=False)
    assert profile.operation_name.startswith("quick_then_") and profile.error is None
    assert [step.name for step in profile.steps] == ["0 quick", "1 add", "2 list/0 quick", "2 list/1 quick"]
    assert 0.35 < profile.steps[1].share < 0.75 and profile.steps[1].time >= 0.008
    assert len(explored([quick, slow], 3, seconds=0.3, try_threads=False).steps) == 2
    hurried = explored([quick, slow], 3, seconds=0.01, try_threads=False)
    assert hurried.steps == [] and any("explore_seconds" in note for note in hurried.notes)


def test_parts_that_are_not_run_in_turn():
    class Odd(Compose):
        def __call__(self, value):
            return self.transforms[1](value)
    profile = explored(Odd(quick, slow), 1, seconds=0.5, try_threads=False)
    assert profile.steps == [] and any("not run one after the other" in note for note in profile.notes)


# ---- Caching -----------------------------------------------------------------------------------


def test_results_are_kept_by_content():
    profiler = PreprocessingProfiler(Config(enable_caching=True, cache_size=2, explore=False))
    calls = []

    def doubled(value):
        calls.append(1)
        time.sleep(0.002)
        return value * 2
    profile = profiler.profile_preprocessing_function(doubled, numpy.arange(4.0), 5)
    assert (profile.cache_hits, profile.cache_misses, profile.cache_hit_rate) == (4, 1, 0.8)
    assert profile.cached_time < profile.execution_time and len(profiler.preprocessing_cache) == 1
    cached, made = profiler.cached(doubled), len(calls)
    first, second = cached(numpy.arange(4.0)), cached(numpy.arange(4.0) + 1)       # the same shape, another content
    assert first.tolist() == [0, 2, 4, 6] and second.tolist() == [2, 4, 6, 8] and len(calls) == made + 1
    first[:] = 0
    assert cached(numpy.arange(4.0)).tolist() == [0, 2, 4, 6] and len(calls) == made + 1


def test_the_least_recently_used_go():
    cache = ContentCache(2, 1.0)
    for key in "abacd":
        if not cache.get(key)[0]:
            cache.put(key, key)
    assert len(cache) == 2 and "c" in cache and "d" in cache and cache.hits == 1
    cache.put("large", bytes(2 << 20))
    assert "large" not in cache
    cache.put("half", bytes(700_000)), cache.put("other half", bytes(700_000))
    assert len(cache) == 1 and cache.bytes <= 1 << 20
    cache.clear()
    assert len(cache) == cache.bytes == cache.hits == 0


# ---- Batches -----------------------------------------------------------------------------------


def test_batch_sizes(caplog):
    def per_item(batch):
        if len(batch) == 3:
            raise ValueError("three are too many")
        time.sleep(0.02 + 0.0001 * len(batch))
        return batch
    profiler = quickly()
    with caplog.at_level(logging.WARNING):
        profiles = profiler.profile_batch_preprocessing(per_item, numpy.zeros((2, 5)), batch_sizes=[1, 2, 3, 8, 32])
    assert [profile.batch_size for profile in profiles] == [1, 2, 8, 32] and profiles[2].operation_name == "per_item_batch_8"
    assert [profile.input_shape for profile in profiles] == [(1, 2, 5), (2, 2, 5), (8, 2, 5), (32, 2, 5)]
    assert "Failed to profile batch_size=3: ValueError: three are too many" in caplog.text and len(profiler.failures) == 1
    assert profiler.get_optimal_batch_size(profiles) == 32 and profiles[3].samples_per_second > 5 * profiles[0].samples_per_second
    assert profiles[0].scaling.exponent < 1 and Bottleneck.INEFFICIENT_ALGORITHM not in profiles[0].bottlenecks


def test_batches_that_memory_does_not_hold(caplog):
    profiler = quickly()
    profiles = profiler.profile_batch_preprocessing(lambda batch: None, numpy.zeros(1000), [1, 10 ** 12])
    assert [one.batch_size for one in profiles] == [1] and "MB" in profiler.failures[0].error and len(profiler.profiles) == 1


def test_batches_of_something_quadratic():
    profiles = quickly().profile_batch_preprocessing(lambda items: time.sleep(1e-5 * len(items) ** 2), list(range(8)), [1, 2, 4, 8])
    assert [len(profile.samples) for profile in profiles] == [5, 5, 5, 5] and profiles[0].scaling.exponent > 1.5
    assert all(profile.bottlenecks[0] is Bottleneck.INEFFICIENT_ALGORITHM and profile.suggestion("algorithm") for profile in profiles)


def test_the_documents_own_way():
    """Its code, word for word, as a method of ours."""
    torch = pytest.importorskip("torch")
    names = {"Callable": typing.Callable, "List": typing.List, "PreprocessingProfile": object, "torch": torch}
    exec((ROOT / "tests" / "data" / "profiler-samples" / "batch-preprocessing.txt").read_text(), names)

    def doubled(batch):
        return batch * 2
    profiler = type("Its", (PreprocessingProfiler,), {"profile_batch_preprocessing": names["profile_batch_preprocessing"]})(Config(explore=False))
    profiles = profiler.profile_batch_preprocessing(doubled, torch.rand(3, 8, 8), batch_sizes=[1, 4])
    assert [one.input_shape for one in profiles] == [(1, 3, 8, 8), (12, 8, 8)] and profiles[1].operation_name == "doubled_batch_4"


def test_layouts():
    shapes = []

    def flat(value):
        shapes.append(value.shape)
        if value.ndim == 3 and len(value) > 1:
            raise ValueError
        return value
    sample = numpy.zeros((2, 3))
    profiles = quickly().profile_batch_preprocessing(flat, sample, [1, 4])
    assert [profile.input_shape for profile in profiles] == [(1, 2, 3), (8, 3)]
    assert shapes[0] == (2, 2, 3)                                                  # whether it takes a stack was tried
    profiles = quickly(batch_layout="repeat").profile_batch_preprocessing(numpy.copy, sample, [1, 4])
    assert [profile.input_shape for profile in profiles] == [(1, 2, 3), (8, 3)]


# ---- What is said of them ----------------------------------------------------------------------


def test_suggestions_are_texts():
    one = Suggestion("do it", "cache", 0.1, 0.2, 0.3, True, 4)
    for other in (one, copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
        assert other == "do it" and (other.kind, other.low, other.gain, other.high, other.measured, other.parameter) == ("cache", 0.1, 0.2, 0.3, True, 4)
    assert ", ".join([one]) == "do it" and json.loads(json.dumps(one.to_dict()))["gain"] == 0.2


def test_reports(tmp_path):
    profiler = PreprocessingProfiler(Config(explore_seconds=0.5))
    profiler.profile_preprocessing_function(looped, numpy.ones(5000), 3)
    text = profiler.generate_optimization_report(tmp_path / "report.md")
    assert (tmp_path / "report.md").read_text() == text and "## looped" in text and "**NOT_VECTORISED**" in text
    summary = json.loads(json.dumps(profiler.get_preprocessing_summary()))
    assert summary["slowest"] == "looped" and summary["bottlenecks"]["not_vectorised"] == 1 and summary["profiles"][0]["samples"]


def test_instructions_are_counted():
    def loop(count):
        for _ in range(count):
            pass
    few, many = _python.instructions(loop, 100), _python.instructions(loop, 1000)
    assert few.complete and 150 < few.count < 1000 and 8 < many.count / few.count < 11 and few.calls == 1 and "loop" in few.where
    assert not _python.instructions(loop, 100_000, most=1000).complete


# ---- The documentation -------------------------------------------------------------------------


def test_the_tutorial(tmp_path, monkeypatch, capsys):
    section = (ROOT / "docs" / "profilers.md").read_text().partition("\n## Preprocessing\n")[2].partition("\n## ")[0]
    blocks = re.findall(r"^```python\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    monkeypatch.chdir(tmp_path)
    assert len(blocks) >= 4
    exec(compile("\n".join(blocks), "docs/profilers.md", "exec"), {"__name__": "tutorial"})
    assert "NOT_VECTORISED" in capsys.readouterr().out
