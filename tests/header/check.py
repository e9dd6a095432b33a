#!/usr/bin/env python3
"""The public header under every compiler, standard and way of linking that it promises to work with.

Each program is run twice: by itself, where it must do nothing, and recorded (with INFERSCOPE, the program under test),
where its events must be in the trace.  Ends with "N passed, M failed, K skipped".
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
INFERSCOPE = Path(os.environ.get("INFERSCOPE", ROOT / "build" / "inferscope")).resolve()
sys.path.insert(0, str(ROOT / "tests" / "python"))
import sbt  # noqa: E402

STRICT = ["-Wall", "-Wextra", "-Wshadow", "-Werror", "-pedantic-errors", f"-I{ROOT / 'include'}"]
C = [["-xc", "-std=c99"], ["-xc", "-std=c11"], ["-xc", "-std=gnu17"]]
CXX = [["-xc++", "-std=c++98", "-Wno-variadic-macros", "-Wno-long-long"], ["-xc++", "-std=c++20"]]
CLANG_ONLY = {"-std=c++98": ["-Wno-c++11-long-long"]}
EVERY_CALL = 14  # events of every_call.c


def languages(compiler):
    return CXX if "++" in compiler else C


class Checks:
    def __init__(self, folder):
        self.folder, self.passed, self.failed, self.skipped = Path(folder), 0, 0, 0

    def check(self, what, function, *arguments):
        try:
            function(*arguments)
            self.passed += 1
        except (AssertionError, subprocess.SubprocessError, OSError) as error:
            self.failed += 1
            print(f"{what}: {error}\n{getattr(error, 'stderr', '') or ''}")

    def skip(self, what, reason):
        self.skipped += 1
        print(f"{what}: skipped, {reason}")

    def compile(self, compiler, output, *arguments):
        subprocess.run([compiler, *STRICT, *map(str, arguments), "-o", self.folder / output], check=True,
                       capture_output=True, text=True)
        return self.folder / output

    def alone(self, program):
        """Without a recorder: status 0 (nobody records), and not a word."""
        env = {name: value for name, value in os.environ.items() if not name.startswith("INFERSCOPE_")}
        run = subprocess.run([program], capture_output=True, text=True, check=False, timeout=30, env=env)
        assert (run.returncode, run.stdout, run.stderr) == (0, "", ""), run

    def recorded(self, program, status):
        """The names of the marks and begins that a recording of it holds, and how many events there are."""
        trace = self.folder / "trace.sbt"
        run = subprocess.run([INFERSCOPE, "run", "--trace", trace, "--report", "none", "--waits", "off", "--", program], capture_output=True,
                             text=True, check=False, timeout=30)
        assert run.returncode == status, run
        trace = sbt.read(trace)
        assert trace.violations == []
        return [trace.strings[event.name] for event in trace.events if event.name], len(trace.events)

    # ---- what is checked ----

    def every_call(self, compiler, flags, disabled):
        define = ["-DINFERSCOPE_DISABLE"] if disabled else []
        program = self.compile(compiler, "every_call", *flags, *define, HERE / "every_call.c", "-ldl")
        self.alone(program)
        names, events = self.recorded(program, 0 if disabled else 1)
        assert events == (0 if disabled else EVERY_CALL), f"{events} events: {names}"

    def several_parts(self, compiler, flags):
        """Two objects and a shared library, each of which includes the header, are one process on the timeline."""
        library = self.compile(compiler, "libpart.so", *flags, "-DPART=library", "-shared", "-fPIC", HERE / "part.c")
        second = self.compile(compiler, "second.o", *flags, "-DPART=second", "-c", HERE / "part.c")
        first = self.compile(compiler, "first.o", *flags, "-DPART=first", "-DMAIN", "-DSEVERAL", "-c", HERE / "part.c")
        program = self.compile(compiler, "several", "-xnone", first, second, library, f"-Wl,-rpath,{self.folder}", "-ldl")
        self.alone(program)
        assert self.recorded(program, 1) == (["first"] * 3 + ["second"] * 3 + ["library"] * 3, 9)

    def static_program(self, compiler, flags):
        """It links, runs, and is not recorded."""
        program = self.compile(compiler, "static", *flags, "-DPART=first", "-DMAIN", "-static", HERE / "part.c")
        self.alone(program)
        assert self.recorded(program, 0) == ([], 0)

    def run(self):
        for compiler in ("gcc", "clang-14", "g++", "clang++-14"):
            if not shutil.which(compiler):
                self.skip(compiler, "not installed")
                continue
            for language in languages(compiler):
                extra = CLANG_ONLY.get(language[1], []) if "clang" in compiler else []
                for level in ("-O0", "-O2"):
                    flags = [*language, *extra, level]
                    for disabled in (False, True):
                        self.check(f"every_call {compiler} {flags} disabled={disabled}", self.every_call, compiler, flags,
                                   disabled)
                    self.check(f"several {compiler} {flags}", self.several_parts, compiler, flags)
            flags = languages(compiler)[-1]
            self.check(f"static {compiler}", self.static_program, compiler, flags)


def main():
    with tempfile.TemporaryDirectory() as folder:
        checks = Checks(folder)
        checks.run()
    print(f"{checks.passed} passed, {checks.failed} failed, {checks.skipped} skipped")
    return checks.failed != 0


if __name__ == "__main__":
    sys.exit(main())
