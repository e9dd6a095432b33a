"""Other programs: this Python again, another one (the first argument), with other environments, by exec."""

import os
import subprocess
import sys

CODE = "import sys; print(sys.version_info[:2], sys.argv[1:], sys.flags.isolated, [p for p in sys.path if 'inferscope' in p])"


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    print(done.returncode, done.stdout, done.stderr)


if len(sys.argv) == 3:
    print("after exec", sys.argv[2], "PATH" in os.environ)
    sys.exit(6)
for python in (sys.executable, sys.argv[1]):
    run(python, "-c", CODE, "plain")
    run(python, "-I", "-c", CODE, "isolated")
    run(python, "-c", CODE, "no environment", env={})
    run(python, "-c", CODE, "closed", close_fds=False)
    run(python, "-c", "import os; os.abort()")
    run("/bin/sh", "-c", '"$0" -c "$1" shell; exit 9', python, CODE)
print(os.system("exit 3"), os.popen("echo popen").read())
print(os.posix_spawn("/bin/true", ["true"], {}) > 0, os.wait()[1])
sys.stdout.flush()
os.execv(sys.executable, [sys.executable, __file__, sys.argv[1], "again"])
