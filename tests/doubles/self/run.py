#!/usr/bin/env python3
"""Self tests of the doubles that start programs: run.py injection BUILD | run.py real BUILD SOURCE ORACLE

"real" needs NVIDIA's own headers and libraries, which it looks for in /usr/local/cuda* and in the folders of DOUBLE_REAL (separated by
colons; each with include/ and lib/); without any it is skipped.
"""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

SKIP = 77


def environment(build, cupti, **more):
    folders = ["driver", "cudart-12", "cudart-13", f"cupti-{cupti}"]
    return {**os.environ, "LD_LIBRARY_PATH": ":".join(str(build / folder) for folder in folders), **more}


def probe(build, program, cupti, arguments=(), **more):
    """Runs a program under the probe; returns its status, the probe's lines and the truth."""
    with tempfile.TemporaryDirectory() as folder:
        output, truth = Path(folder) / "probe", Path(folder) / "truth"
        soname = "libcupti.so." + (cupti if cupti.startswith("11") else cupti.split(".")[0])
        env = environment(build, cupti, PROBE_OUTPUT=str(output), PROBE_CUPTI=soname, DOUBLE_TRUTH=str(truth),
                          CUDA_INJECTION64_PATH=str(build / "programs" / "double-probe.so"))
        env.update(more)
        done = subprocess.run([build / "programs" / program, *arguments], env=env, timeout=60, stdout=subprocess.DEVNULL)
        lines = output.read_text().splitlines() if output.exists() else []
        events = [json.loads(line) for line in truth.read_text().splitlines()] if truth.exists() else []
        return done.returncode, lines, events


def kernels_agree(lines, truth):
    """Every kernel that ran has one record with its times."""
    recorded = sorted(tuple(map(int, line.split()[1:])) for line in lines if line.startswith("kernel "))
    ran = sorted((event["record_start"], event["record_end"]) for event in truth if event["what"] == "kernel")
    assert recorded == ran and ran, (len(recorded), len(ran))


def check_no_driver(build):
    """CUPTI without a libcuda: each release in its own way."""
    for cupti, said in (("11.8", "0 15"), ("12.9", "0 15"), ("13.0", "0 999"), ("13.2", None), ("13.4", "999 999")):
        library = next((build / f"cupti-{cupti}").glob("libcupti.so.*"))
        done = subprocess.run([build / "self" / "double-no-driver", library], env={**os.environ, "LD_LIBRARY_PATH": ""},
                              capture_output=True, text=True)
        assert done.stdout.strip() == (said or "") and done.returncode == (0 if said else -signal.SIGSEGV), (cupti, done)


def check_injection(build):
    for cupti in ("11.8", "12.1", "12.9", "13.0", "13.4"):
        for program in ("double-driver-program", "double-runtime-program"):
            status, lines, truth = probe(build, program, cupti)
            assert status == 0 and lines[:2] == ["initialized on thread 1", "enabled 1"], (cupti, program, status, lines[:3])
            kernels_agree(lines, truth)
    # 2 threads * 2 * 20 launches, and 5 launches of a graph of 3.
    assert sum(event["what"] == "kernel" for event in truth) == 95, truth[-1]
    # A program that ends without its exit handlers: records are lost, the truth is not.
    status, lines, truth = probe(build, "double-runtime-program", "13.0", ["exit"])
    assert status == 0 and sum(line.startswith("kernel") for line in lines) < 95, (status, len(lines))
    assert sum(event["what"] == "kernel" for event in truth) == 95
    status, lines, _ = probe(build, "double-driver-program", "13.0", DOUBLE_FAULT="injection_twice")
    assert status == 0 and "again" in lines, lines[:3]
    # Libraries that are not there, or not what they should be, are passed over, unless a fault is asked for.
    empty = str(build / "programs" / "double-empty.so")
    for path in ("none", "/nowhere/at/all.so", "relative.so", empty):
        assert probe(build, "double-driver-program", "13.0", CUDA_INJECTION64_PATH=path)[0] == 0, path
    assert probe(build, "double-driver-program", "13.0", CUDA_INJECTION64_PATH="none", DOUBLE_FAULT="injection_fails")[0] == 1
    check_no_driver(build)
    # Without libcuda, a program of the runtime API is told so; a device clock that runs fast and steps changes no order of magnitude.
    env = {**environment(build, "13.0"), "LD_LIBRARY_PATH": str(build / "cudart-13")}
    assert subprocess.run([build / "programs" / "double-runtime-program"], env=env, stderr=subprocess.DEVNULL).returncode == 1
    status, lines, truth = probe(build, "double-driver-program", "12.9", DOUBLE_CLOCK_PPM="50")
    kernels_agree(lines, truth)
    return 0


def releases(include):
    """12.9 and the like, of a folder of headers."""
    text = (include / "cupti_version.h").read_text()
    version = int(re.search(r"#define CUPTI_API_VERSION\s+(\d+)", text)[1])
    known = {17: "11.7", 18: None, 26: "12.8", 28: "12.9", 24: "12.6", 22: "12.4"}
    return f"{version // 10000}.{version // 100 % 100}" if version >= 130000 else known.get(version)


STRUCTS = {"KERNEL": ("Kernel", 10), "MEMCPY": ("Memcpy", 1), "MEMCPY2": ("MemcpyPtoP", 22), "MEMSET": ("Memset", 2), "API": ("API", 4),
           "SYNC": ("Synchronization", 38), "EVENT": ("CudaEvent", 36), "GRAPH": ("GraphTrace", 51), "OVERHEAD": ("Overhead", 17),
           "MEMORY2": ("Memory", 49), "POOL": ("MemoryPool", 50), "EXTERNAL": ("ExternalCorrelation", 39), "STREAM": ("Stream", 37),
           "CONTEXT": ("Context", 9), "DEVICE": ("Device", 8), "ENVIRONMENT": ("Environment", 20), "NAME": ("Name", 11),
           "MODULE": ("Module", 27), "HOSTLAUNCH": ("HostLaunch", 58), "HOSTNODE": ("GraphHostNode", 56)}


# Fields that are inside of others.
INSIDE = {"ENVIRONMENT": {"smClock": "data.speed.smClock", "memoryClock": "data.speed.memoryClock", "pcieLinkGen": "data.speed.pcieLinkGen",
                          "pcieLinkWidth": "data.speed.pcieLinkWidth", "clocksThrottleReasons": "data.speed.clocksThrottleReasons",
                          "gpuTemperature": "data.temperature.gpuTemperature", "power": "data.power.power",
                          "powerLimit": "data.power.powerLimit", "fanSpeed": "data.cooling.fanSpeed"}}


def generated(header, source):
    """Checks of every field of our table that the newest struct of its kind in this header is long enough to have."""
    names = set(re.findall(r"\}\s*CUpti_Activity(\w+);", header))
    newest, lines = {}, []
    for record, (base, kind) in STRUCTS.items():
        versions = [int(name[len(base):] or 1) for name in names if re.fullmatch(base + r"\d*", name)]
        if versions:
            newest[record] = f"CUpti_Activity{base}" + (str(max(versions)) if max(versions) > 1 else "")
            lines.append(f'check_size("{record}", {kind}, sizeof({newest[record]}));')
    for record, field, offset, _, since in re.findall(r"FIELD\((\w+), (\w+), (\d+), (\d+), (\d+)\)", source):
        if record not in newest:
            continue
        inside = INSIDE.get(record, {}).get(field)
        if inside:
            lines.append(f'check("{record}", "{field}", {offset}, offsetof({newest[record]}, {inside}));')
            continue
        body = re.search(r"\{([^{}]|\{([^{}]|\{[^{}]*\})*\})*\}\s*" + newest[record] + ";", header)[0]
        if re.search(rf"\b{field}\b", body):
            lines.append(f'check("{record}", "{field}", {offset}, offsetof({newest[record]}, {field}));')
        else:
            lines.append(f'if (sizeof({newest[record]}) >= {since} && {since}) check("{record}", "{field}", {offset}, 0);')
    return "\n".join(lines)


def check_headers(include, release, source):
    header = subprocess.run(["cc", "-fpreprocessed", "-dD", "-E", "-P", include / "cupti_activity.h"], capture_output=True, text=True,
                            check=False).stdout
    major, minor = map(int, release.split("."))
    cuda = include if (include / "cuda.h").exists() else Path("/usr/local/cuda/include")
    if not (cuda / "cuda.h").exists():
        return None
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "generated.h").write_text(generated(header, (source / "cupti_layout.h").read_text()))
        (Path(folder) / "cupti_layout.h").write_text((source / "cupti_layout.h").read_text())
        command = ["cc", "-w", "-o", f"{folder}/check", source / "self" / "check-headers.c", source / "cupti_layout.c", f"-I{folder}",
                   f"-I{include}", f"-I{cuda}", f"-DRELEASE={major * 100 + minor}"]
        subprocess.run(command, check=True)
        return subprocess.run([f"{folder}/check"]).returncode == 0


def check_symbols(library, release, source):
    """A function that the release should have is in the real library, and one that it should not have is not."""
    done = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True)
    real = {line.split()[-1].split("@")[0] for line in done.stdout.splitlines()}
    number = [int(part) for part in release.split(".")]
    wrong = []
    for line in (source / "cupti.symbols").read_text().splitlines():
        if line and not line.startswith("#"):
            name, since = line.split()
            if ([int(part) for part in since.split(".")] <= number) != (name in real):
                wrong.append(name)
    if wrong:
        print(f"{library}: not as in cupti.symbols: {' '.join(wrong)}")
    return not wrong


def check_real(build, source, oracle):
    roots = [Path("/usr/local/cuda")] + [Path(folder) for folder in os.environ.get("DOUBLE_REAL", "").split(":") if folder]
    checked, wrong = 0, 0
    for root in roots:
        include = root / "include"
        if not (include / "cupti_version.h").exists():
            continue
        release = releases(include)
        if not release:
            continue
        verdict = check_headers(include, release, source)
        checked += verdict is not None
        wrong += verdict is False
        for library in sorted((root / "lib").glob("libcupti.so.[0-9]*")):
            major, minor = map(int, release.split("."))
            status = subprocess.run([oracle, library, str(major * 100 + minor)], env=environment(build, release)).returncode
            checked += status != SKIP
            wrong += status not in (0, SKIP)
            wrong += not check_symbols(library, release, source)
        print(f"{root}: {release}")
    if not checked:
        print("no real CUPTI to compare with")
        return SKIP
    return wrong != 0


def main():
    what, build = sys.argv[1], Path(sys.argv[2])
    if what == "injection":
        return check_injection(build)
    return check_real(build, Path(sys.argv[3]).resolve(), sys.argv[4])


if __name__ == "__main__":
    sys.exit(main())
