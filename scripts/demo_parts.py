"""What run_profiler_demo.py and run_e2e_demo.py share: the package of the build, and a small program to look at."""

import argparse
import importlib.util
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def options(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--build", type=Path, default=ROOT / "build", help="folder of the build, where inferscope is not installed")
    parser.add_argument("--output", type=Path, help="folder for the report; that of the build unless given")
    return parser.parse_args()


def find_package(build):
    """Lets `import inferscope` find the package that is installed, or else that of the build."""
    folder = build.resolve() / "python"
    if importlib.util.find_spec("inferscope") is not None:
        return
    if not any(folder.glob("inferscope/_tracer*.so")):
        sys.exit("%s: %s has no package inferscope: run make first" % (Path(sys.argv[0]).name, folder))
    sys.path.insert(0, str(folder))


# ---- The program ------------------------------------------------------------------------------


def tokenize(text):
    return [sum(map(ord, word)) % 997 for word in text.split()]


def attend(tokens):
    """Each with each, one after the other: the slow part, which the analysis should name."""
    total = 0
    for a in tokens:
        for b in tokens:
            total += (a * b) % 31
    return total


def find_torch():
    """PyTorch, if it is there; imported before anything is recorded, since that takes longer than all of the program."""
    try:
        import torch
    except ImportError:
        return None
    return torch


def on_gpu(torch, tokens):
    """The same as one multiplication, where PyTorch has a GPU; False elsewhere."""
    if torch is None or not torch.cuda.is_available():
        return False
    column = torch.tensor(tokens, device="cuda", dtype=torch.float32)
    (column[:, None] @ column[None, :]).sum().item()
    return True


def infer(inferscope, torch, requests=100):
    """So many requests; whether any of it ran on a GPU."""
    used_gpu = False
    for number in range(requests):
        with inferscope.scope("request"):
            with inferscope.scope("tokenize"):
                tokens = tokenize("the quick brown fox jumps over the lazy dog " * 20)
            with inferscope.scope("model"):
                attend(tokens)
                used_gpu = on_gpu(torch, tokens) or used_gpu
        inferscope.mark_event("answered", metadata={"request": number, "tokens": len(tokens)})
    return used_gpu
