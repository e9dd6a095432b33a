"""scope, mark_event and counter used wrongly: one warning for each kind in a process, and the program goes on."""

import json

import pytest

import package
from interpreters import recorded_pythons

package.need_package()

# In a process of its own, since what was told is not told again.  `without` takes the extension away, as in a Python that there is
# none for.
SCRIPT = """
    import json, signal, sys, warnings

    how = {how!r}
    if how == "without":
        sys.modules["inferscope._tracer"] = None
    import inferscope
    from inferscope import counter, mark_event, scope
    assert (type(counter).__name__ == "function") == (how == "without")
    if how == "recorded":
        profiler = inferscope.Profiler(calls=False, gpu=False)
        profiler.start()

    class Odd:
        def __repr__(self):
            raise RuntimeError("no repr")

    class Unready:
        def __float__(self):
            raise RuntimeError("no value")

    @scope
    def bare(x):
        return x + 1

    class Class:
        @scope
        @staticmethod
        def method(x):
            return x

    s = scope("closed")
    calls = [
        lambda: [bare(1), Class.method(2), Class().method(3)],
        lambda: [scope().name, scope("a", "b").name, scope(nme="a").name, scope("a", name="b").name],
        lambda: [scope(5).name, scope(Odd()).name, scope(None).name],
        lambda: [s.__exit__(None, None, None), s.__exit__()],
        lambda: [scope("a")(int), scope("a")(5), scope("a")().name],
        lambda: [mark_event(), mark_event("m", 1, 2), mark_event("m", meta={{}}), mark_event("m", name="n")],
        lambda: [mark_event(7), mark_event("m", Odd()), mark_event("m", metadata=5)],
        lambda: [counter(), counter("c"), counter(value=1), counter("c", 1, 2), counter("c", value=1, unit="s")],
        lambda: [counter("c", "3"), counter("c", None), counter("c", Odd())],
        lambda: [counter(7, 1)],
    ]
    told, answers = [], []
    for call in calls + calls:
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            answers.append([answer if type(answer) in (int, str, type(None)) else repr(answer) for answer in call()])
        told.append([(str(warning.message).partition(": ")[2], warning.category.__name__, warning.filename == __file__) for warning in found])
    if how == "recorded":
        profiler.stop()
        events = profiler.get_unified_timeline()
        recorded = [[event["event_type"], event["name"], event.get("value")] for event in events if "track" not in event and "thread_id" in event]
    else:
        recorded = []
    print(json.dumps([told, answers, recorded]))
"""

SCOPE = "scope() takes one argument, its name: anything else is ignored"
MARK = "mark_event() takes a name, and optionally metadata: anything else is ignored"
COUNTER = "counter() takes a name and a number: calls without both are ignored, as is anything else"
NAME = "a name is a string: scopes, marks and counters of other names have that of the type"
VALUE = "the value of a counter is a number: others are ignored"
EXIT = "a scope is left that is not open: that is ignored"
DECORATED = "scope(NAME) decorates functions: others stay as they are"
BARE = "as a decorator it is scope(NAME): without, the name is the function's"

# The scopes made of functions are there when these are called, which happens twice.
RECORDED = [["scope", "bare"], ["scope", "Class.method"], ["scope", "Class.method"],
            ["instant", "m"], ["instant", "m"], ["instant", "m"], ["instant", "<int>"], ["instant", "m"], ["instant", "m"],
            ["counter", "c"], ["counter", "c"], ["counter", "<int>"]]


def outcome(folder, how, python=None, **environment):
    out, err = package.run(SCRIPT.format(how=how), folder, **({"python": python} if python else {}), **environment)
    return (*json.loads(out), err)


@pytest.mark.parametrize("how", ["unrecorded", "recorded", "without"])
@pytest.mark.parametrize("python", recorded_pythons(), ids=str)
def test_each_kind_is_told_once_and_nothing_raises(tmp_path, python, how):
    told, answers, recorded, err = outcome(tmp_path, how, python.path)
    texts = [[text for text, *_ in found] for found in told]
    assert texts[1:10] == [[SCOPE], [NAME], [EXIT], [DECORATED], [MARK], [], [COUNTER], [VALUE], []]
    assert not any(texts[10:])
    assert err.count("RuntimeWarning") == 1 and BARE in err  # where the functions were decorated
    assert all(category == "RuntimeWarning" and here for found in told for _, category, here in found)
    assert answers[0] == [2, 2, 3] and answers[1] == ["?", "a", "?", "a"] and answers[2] == ["<int>", "<Odd>", "<NoneType>"]
    assert answers[4] == ["<class 'int'>", 5, "a"]
    assert [set(given) for given in answers[5:10]] == [{None}] * 5
    if how == "recorded":
        assert [event[:2] for event in recorded] == 2 * RECORDED


def test_a_value_that_cannot_be_had(tmp_path):
    """Only where it is recorded is it asked for: of a tensor on a device that would be a wait."""
    out, err = package.run("""
        import inferscope
        class Unready:
            def __float__(self):
                print("asked")
                raise RuntimeError
        inferscope.counter("c", Unready())
        with inferscope.Profiler(calls=False, gpu=False) as profiler:
            inferscope.counter("c", Unready())
            inferscope.counter("c", 10 ** 400)
        print([event for event in profiler.get_unified_timeline() if event["name"] == "c"])
    """, tmp_path)
    assert out == "asked\n[]\n" and err.count("RuntimeWarning") == 1


def test_where_warnings_are_exceptions(tmp_path):
    """Whoever made them so is told in another way."""
    out, err = package.run("""
        import inferscope, sys, warnings
        warnings.simplefilter("error")
        sys.unraisablehook = lambda args: print(args.exc_type.__name__, args.exc_value)
        inferscope.counter("c", "3")
        inferscope.counter("c", "3")
        print("end")
    """, tmp_path)
    assert (out, err) == (f"RuntimeWarning inferscope: {VALUE}\nend\n", "")


def test_an_interrupt_while_a_value_is_asked_for_is_the_programs(tmp_path):
    out, _ = package.run("""
        import inferscope, time
        class Slow:
            def __float__(self):
                raise KeyboardInterrupt
        with inferscope.Profiler(calls=False, gpu=False):
            try:
                inferscope.counter("c", Slow())
                time.sleep(5)
            except KeyboardInterrupt:
                print("interrupted")
    """, tmp_path)
    assert out == "interrupted\n"


def test_scopes_that_are_open_in_each_other(tmp_path):
    """One object may be open several times: only what was never entered is told."""
    _, err = package.run("""
        import inferscope, threading
        s = inferscope.scope("s")
        def nested(n):
            with s:
                if n:
                    nested(n - 1)
        threads = [threading.Thread(target=nested, args=(50,)) for _ in range(4)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        nested(3)
        print("no misuse until here")
        s.__exit__(None, None, None)
    """, tmp_path)
    assert err.count("is not open") == 1
