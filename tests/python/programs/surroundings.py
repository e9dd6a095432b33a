"""Changes what surrounds a process: environment, descriptors, working directory, root, user, limits."""

import os
import resource
import subprocess
import sys
import threading


def work(n):
    return 1 + sum(work(n - 1) for _ in range(2)) if n else 1


def own_environment():
    with open("/proc/self/environ", "rb") as file:
        names = sorted(entry.split(b"=")[0].decode() for entry in file.read().split(b"\0") if entry)
    return [name for name in names if not name.startswith(("INFERSCOPE", "CUDA_INJECTION", "NVTX_INJECTION", "INTEL_LIBITT", "OPENCL_LAYERS", "PYTHONPATH"))]


def in_child(what):
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        try:
            what()
            sys.stdout.flush()
        finally:
            os._exit(0)
    print("status", os.waitpid(pid, 0)[1])


def other_user():
    if os.geteuid() == 0:
        os.setgid(65534)
        os.setuid(65534)
    print(os.getuid() == os.geteuid(), work(3))
    run = subprocess.run([sys.executable, "-c", "print('child of another user')"], capture_output=True, text=True)
    print(run.returncode in (0, 126), work(2))


def no_memory():
    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
    try:
        bytearray(1 << 31)
    except MemoryError:
        print("no memory", work(5))


def no_files():
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    threads = [threading.Thread(target=work, args=(3,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print("no files", work(5))


print(own_environment())
os.closerange(3, 256)
print("descriptors", len(os.listdir("/proc/self/fd")), work(5))
in_child(lambda: print("child", work(4)))
os.environ.clear()
print(len(os.environ), work(4))
subprocess.run([sys.executable, "-c", "import os; print(len(os.environ) < 3)"], check=True)
os.chdir("/")
print(os.getcwd(), os.umask(0o77), work(4))
for each in (other_user, no_memory, no_files):
    in_child(each)
os.dup2(os.open("/dev/null", os.O_RDWR), 2)
print("threads", len(threading.enumerate()), work(6))
