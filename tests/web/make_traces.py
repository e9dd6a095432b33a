#!/usr/bin/env python3
"""Makes the traces that the tests of the report page open, and what is to be found in them.

    tests/web/make_traces.py FOLDER [NAME...]

Writes FOLDER/NAME.json in the way of Chrome's and PyTorch's profiler, for each of those below or for those named.
`million` has its truth beside it: million.truth.json says what its tracks, names and steps are, million.truth.bin has all slices.
Everything is made up from fixed seeds, so it is the same each time.
"""

import json
import random
import sys
from array import array
from pathlib import Path

PID = 100


# ---- A million slices -------------------------------------------------------

THREADS, STREAMS, STEPS = 8, (7, 13), 330
KERNELS = 200_000        # of each stream, each with the call that launches it
OTHERS = 200_762         # slices of the threads that are neither launches nor steps
DEEPEST = 30
KERNEL_NAMES, COUNTERS, POINTS = 1061, 6, 20_000
STEP_NS = 8_500_000
LOADER = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
NAMES_OF = {"cpu_op": "aten::op_{}", "python_function": "layers.py({0}): forward_{0}", "user_annotation": "phase {}"}


def shares(total, parts):
    """total as so many whole numbers, the larger ones first."""
    return [total // parts + (i < total % parts) for i in range(parts)]


class Truth:
    """All slices of the trace, by track."""

    def __init__(self):
        self.names, self.numbers, self.tracks = [], {}, {}

    def number(self, name):
        if name not in self.numbers:
            self.numbers[name] = len(self.names)
            self.names.append(name)
        return self.numbers[name]

    def track(self, kind, number):
        return self.tracks.setdefault((kind, number), (array("d"), array("d"), array("H")))

    def save(self, folder, stem, **more):
        """The slices of a track are three arrays in the file: begin and end as doubles (ns), numbers of names as uint16."""
        tracks = []
        with (folder / f"{stem}.truth.bin").open("wb") as out:
            for (kind, number), (begins, ends, names) in self.tracks.items():
                tracks.append({"kind": kind, "number": number, "count": len(begins), "offset": out.tell(),
                               "sum_ns": int(sum(ends) - sum(begins))})
                for column in (begins, ends, names):
                    column.tofile(out)
                out.write(bytes(-out.tell() % 8))
        truth = {"names": self.names, "tracks": tracks, **more}
        (folder / f"{stem}.truth.json").write_text(json.dumps(truth))


def fill(source, begin, end, count, depth, deepest, make):
    """Slices inside of [begin, end), a chain down to `deepest` first and the others beside it: a template of one step, as
    (begin, end, name), parents first.  Times are exact divisions, so that nothing crosses."""
    slices, free = [], [(begin, end)]
    low, high = begin, end
    while count and depth < deepest and high - low > 6000:
        span = high - low
        low, high = low + span // 50, high - span // 25
        slices.append((low, high, make()))
        free.append((low, high))
        count, depth = count - 1, depth + 1
    low, high = free[-1]
    for i in range(count):
        width = (high - low) // (count + 1)
        start = low + width * i + source.randrange(width // 8 + 1)
        slices.append((start, start + width - width // 4, make()))
    return slices


def launches(slices, counts, source):
    """Places for launches: beside each other, in slices which have no others inside."""
    places = []
    for (begin, end, _), count in zip(slices, counts):
        width = (end - begin) // (count + 1)
        places += [(begin + width * i + source.randrange(width // 5 + 1), width * 3 // 5) for i in range(count)]
    return places


class Million:
    def __init__(self, folder):
        self.folder, self.source, self.truth = folder, random.Random(17), Truth()
        self.correlation = 0
        self.noise = [max(0.7, min(1.6, self.source.lognormvariate(0, 0.12))) for _ in range(65536)]
        self.templates()

    def templates(self):
        """What each thread does in a step, the same in all of them but for how long it takes."""
        source, names = self.source, iter(range(1 << 20))
        launchers = len(STREAMS)
        self.host, self.places = [], []
        for thread in range(THREADS):
            kind = "cpu_op" if thread < launchers else "python_function" if thread % 2 else "user_annotation"
            words = NAMES_OF[kind]
            begin = 2_100_000 if thread == 0 else 40_000
            count = OTHERS // STEPS // THREADS
            # what launches is flat: eight deep, then beside each other
            deepest = 9 if thread < launchers else DEEPEST - 1
            slices = fill(source, begin, STEP_NS - 300_000, count - (thread == 0), 0, deepest,
                          lambda: (kind, words.format(next(names))))
            if thread == 0:
                slices.insert(0, (20_000, 2_050_000, ("user_annotation", LOADER)))
            self.host.append(slices)
            if thread < launchers:
                inner = slices[deepest + (thread == 0):]
                self.places.append(launches(inner, shares(KERNELS // STEPS, len(inner)), source))
        self.kernels = [[(f"void kernel_{(i * 2 + s) % KERNEL_NAMES}<float, {(i * 2 + s) % KERNEL_NAMES % 7}>(float*, int)",
                          source.randrange(1500, 12000)) for i in range(KERNELS // STEPS + 1)] for s in range(launchers)]

    def line(self, cat, name, pid, tid, begin, end, args=""):
        length = end - begin
        self.out.append(f'{{"ph":"X","cat":"{cat}","name":"{name}","pid":{pid},"tid":{tid},'
                        f'"ts":{begin // 1000}.{begin % 1000:03d},"dur":{length // 1000}.{length % 1000:03d}{args}}}')

    def keep(self, kind, number, name, begin, end):
        begins, ends, names = self.truth.track(kind, number)
        begins.append(begin)
        ends.append(end)
        names.append(self.truth.number(name))

    def host_slice(self, cat, name, thread, begin, end, args=""):
        self.line(cat, name, PID, thread + 1, begin, end, args)
        self.keep("thread", thread + 1, name, begin, end)

    def step(self, step, start, free):
        """One step; returns its end.  A step is stretched as a whole, so slices stay inside each other."""
        stretch, at = self.noise[step * 7], step * 131
        end = start + int(STEP_NS * stretch)
        self.host_slice("user_annotation", f"ProfilerStep#{step}", 0, start, end)
        for thread, template in enumerate(self.host):
            for i, (b, e, (cat, name)) in enumerate(template):
                # what has others inside keeps its length
                innermost = i > 9 if thread < len(STREAMS) else i >= DEEPEST
                shift = int((e - b) * 0.02 * (self.noise[(at + i) & 65535] - 0.7)) if innermost else 0
                self.host_slice(cat, name, thread, start + int(b * stretch), start + int(e * stretch) - shift)
        if step < OTHERS - OTHERS // STEPS // THREADS * THREADS * STEPS:
            self.host_slice("python_function", "hooks.py(1): log", THREADS - 1, end - 9000, end - 9000 + 1500)
        for s, stream in enumerate(STREAMS):
            places = self.places[s]
            for i in range(self.per_step[step]):
                b, width = places[i] if i < len(places) else (STEP_NS - 100_000, 5000)
                noise = self.noise[(at + i * 3 + s) & 65535]
                begin = start + int(b * stretch)
                finish = begin + int(width * stretch * noise * 0.6)
                self.correlation += 1
                link = f',"args":{{"correlation":{self.correlation}}}'
                self.host_slice("cuda_runtime", "cudaLaunchKernel", s, begin, finish, link)
                name, length = self.kernels[s][i]
                kernel = max(finish + 1200 + int(600 * noise), free[s] + 300 + int(500 * noise))
                free[s] = kernel + int(length * noise)
                self.line("kernel", name, 0, stream, kernel, free[s],
                          f',"args":{{"correlation":{self.correlation},"device":0,"stream":{stream}}}')
                self.keep("stream", stream, name, kernel, free[s])
        return end

    def counters(self, duration):
        for c in range(COUNTERS):
            value = 1000 * (c + 1)
            for i in range(POINTS):
                value += int(200 * (self.noise[(i * 17 + c * 999) & 65535] - 1))
                t = duration * i // POINTS
                self.out.append(f'{{"ph":"C","name":"counter {c}","pid":{PID},"tid":1,"ts":{t // 1000}.{t % 1000:03d},'
                                f'"args":{{"value":{value}}}}}')

    def write(self):
        self.per_step = shares(KERNELS, STEPS)
        at, free, steps = 0, [0] * len(STREAMS), []
        path = self.folder / "million.json"
        with path.open("w") as file:
            file.write('{"schemaVersion":1,"deviceProperties":[{"id":0,"name":"Made GPU","numSms":100}],"traceEvents":[\n')
            file.write(json.dumps({"ph": "M", "name": "process_name", "pid": PID, "tid": 0, "ts": 0, "args": {"name": "python"}}))
            for step in range(STEPS):
                self.out = [""]
                end = self.step(step, at, free)
                steps.append([at, end, step])
                at = end + 20_000
                file.write(",\n".join(self.out))
            self.out = [""]
            self.counters(at)
            file.write(",\n".join(self.out))
            file.write("\n]}\n")
        self.truth.save(self.folder, "million", steps=steps, counters=COUNTERS, points=POINTS)


# ---- Small ones -------------------------------------------------------------

def event(name, ts, dur, tid=1, cat="cpu_op", pid=PID, **args):
    return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}


def save(folder, name, events):
    head = {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "Made GPU", "numSms": 100}]}
    (folder / f"{name}.json").write_text(json.dumps({**head, "traceEvents": events}, ensure_ascii=False), errors="surrogatepass")


def kernel(name, launched, ts, dur, correlation, stream=7, tid=1):
    """A kernel and the call that launched it."""
    return [event("cudaLaunchKernel", launched, 2, tid=tid, cat="cuda_runtime", correlation=correlation),
            event(name, ts, dur, stream, "kernel", 0, correlation=correlation, device=0, stream=stream)]


def small(folder):
    """Forty steps that wait for input, with operators, kernels, copies and two threads: has findings, and links."""
    source, events, link = random.Random(5), [], 0
    for step in range(40):
        at = 1000 + step * 10000
        length = 9800 if step != 17 else 9990
        events.append(event(f"ProfilerStep#{step}", at, length, cat="user_annotation"))
        events.append(event(LOADER, at + 5, 4000, cat="user_annotation"))
        events.append(event("train.py(10): forward", at + 4100, 5000, cat="python_function"))
        for i in range(12):
            begin = at + 4200 + i * 400
            events.append(event(("aten::mm", "aten::add", "aten::copy_")[i % 3], begin, 300))
            link += 1
            events += kernel(("gemm_kernel", "add_kernel", "copy_kernel")[i % 3], begin + 20, begin + 30 + i,
                             200 + source.randrange(1000) / 10, link)
        events.append(event("loader.py(3): fetch", at + 100, 3800, tid=2, cat="python_function"))
        events += [{"ph": "C", "name": "queue", "pid": PID, "tid": 1, "ts": at + i * 1000, "args": {"value": (step + i) % 7}}
                   for i in range(10)]
    save(folder, "small", events)


HOSTILE = [
    "</script><script>window.hit=1</script>", "<!--<script>", "<img src=x onerror=window.hit=1>", "]]>", "${window.hit=1}",
    "`;window.hit=1;//", "\\u003cscript\\u003e", "javascript:window.hit=1", "' onmouseover='window.hit=1",
    '" onfocus="window.hit=1" x="', "__proto__", "constructor", "toString", "hasOwnProperty",
    "\u202eright to left\u2066x\u200f", "esc \x1b[31m bell \x07 nul \x01", "line\nbreak\r\ttab", "\u2028 \u2029",
    "<lambda>", "a&amp;b &lt;", "日本語 ü 🙂", "", " ", "{{x}} <%= 1 %>", "*/ alert(1) /*", "c1 \x9b31m \x85",
]


def hostile(folder):
    """Each name as a step's work, long enough to be in every table, on a host and on a device."""
    events, at = [], 1000
    for i, name in enumerate(HOSTILE):
        events.append(event(name, at, 900, cat=("cpu_op", "python_function", "user_annotation")[i % 3]))
        events += kernel(name, at + 10, at + 20, 800, i + 1)
        at += 1000
    threads = [{"ph": "M", "name": "thread_name", "pid": PID, "tid": 1, "ts": 0, "args": {"name": HOSTILE[0]}},
               {"ph": "M", "name": "process_name", "pid": PID, "tid": 1, "ts": 0, "args": {"name": HOSTILE[2]}}]
    save(folder, "hostile", threads + events)


def long_name(folder):
    name = "begin_" + "x" * 1_000_000 + "_end"
    save(folder, "long_name", [event(name, 100, 50), event("short", 200, 50)] + kernel(name, 110, 120, 30, 1))


def many_names(folder):
    save(folder, "many_names", [event(f"operator_{i:05d}_{i * 7919 % 10007:x}", 10 * i, 9) for i in range(10_000)])


def nothing(folder):
    save(folder, "nothing", [])


def one(folder):
    save(folder, "one", [event("alone", 5, 7)])


def zero_length(folder):
    save(folder, "zero_length", [event("around", 10, 100)] + [event(f"point {i % 3}", 20 + i // 2, 0) for i in range(40)])


def one_track(folder):
    save(folder, "one_track", [event(f"work {i % 4}", 100 * i, 60 + i % 30) for i in range(200)])


def many_threads(folder):
    save(folder, "many_threads", [event(f"work {i % 50}", (i % 20) * 37 + n * 100, 80, tid=i + 1)
                                  for i in range(2000) for n in range(3)])


def deep(folder):
    save(folder, "deep", [event(f"level {i % 100}", i, 20_000 - 2 * i, cat="python_function") for i in range(5000)])


def two_hours(folder):
    second = 1_000_000
    save(folder, "two_hours", [event("epoch", 0, 7200 * second, cat="user_annotation")] +
         [event("minute", i * 60 * second, 50 * second) for i in range(120)] + [event("blink", 3600 * second, 0.001, tid=2)])


def before_launch(folder):
    """The device's clock is 500 us behind the host's: work begins before it was launched."""
    events = [event(f"ProfilerStep#{i}", 10_000 + i * 1000, 990, cat="user_annotation") for i in range(20)]
    for i in range(100):
        events += kernel("early_kernel", 10_000 + i * 200, 9_500 + i * 200, 150, i + 1)
    save(folder, "before_launch", events)


NOISY = 1_400_000


def noisy(folder):
    """So many slices of random lengths and names that not all fit into a page."""
    source, lines = random.Random(23), []
    names = [f"operation_{i}" for i in range(4096)]
    lengths = [int(source.lognormvariate(8, 1.4)) + 1 for _ in range(100_003)]
    for tid in range(1, 5):
        at = 0
        for i in range(NOISY // 4):
            length = lengths[(i * 7919 + tid * 31) % 100_003] ^ (i & 511)
            at += lengths[(i * 104729 + tid) % 100_003] >> 3
            name = names[length * i * 2654435761 >> 7 & 4095]
            lines.append(f'{{"ph":"X","cat":"cpu_op","name":"{name}","pid":{PID},"tid":{tid},'
                         f'"ts":{at // 1000}.{at % 1000:03d},"dur":{length // 1000}.{length % 1000:03d}}}')
            at += length
    (folder / "noisy.json").write_text('{"traceEvents":[\n' + ",\n".join(lines) + "\n]}\n")


TRACES = {"million": lambda folder: Million(folder).write(), "noisy": noisy, "small": small, "hostile": hostile,
          "long_name": long_name, "many_names": many_names, "nothing": nothing, "one": one, "zero_length": zero_length,
          "one_track": one_track, "many_threads": many_threads, "deep": deep, "two_hours": two_hours,
          "before_launch": before_launch}


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[2:] or TRACES:
        TRACES[name](folder)


if __name__ == "__main__":
    main()
