"""Notebooks: %load_ext inferscope brings %%inferscope, which records a cell and shows its report below.

Nothing of IPython is imported: it calls us, and hands over what is needed.
"""

import argparse
import ast
import html
import shlex

from inferscope.profiler import Profiler

MAGIC = "inferscope"
PAGE_MOST = 20_000_000  # characters of a page in a notebook, which keeps it in its file; beyond, the page has no timeline
_FRAME = ('<iframe title="InferScope" sandbox="allow-scripts allow-downloads" style="width: 100%%; height: 640px; border: 1px solid #8884" '
          'srcdoc="%s"></iframe>')


def frame(generator):
    """The page of a report as a part of another page, which it can do nothing to."""
    page = generator.to_html()
    if len(page) > PAGE_MOST:
        page = generator.summary_html()
    return _FRAME % html.escape(page)


class _Options(argparse.ArgumentParser):
    def error(self, message):
        raise ValueError("%%%%%s: %s" % (MAGIC, message))


def _options():
    parser = _Options(prog="%%" + MAGIC, description="Records the cell, and shows where its time goes.", add_help=False)
    parser.add_argument("--trace", metavar="FILE", help="keep the trace")
    parser.add_argument("--report", metavar="FILE", help="also write the report: .md, .html, .json or .txt")
    parser.add_argument("--detail", choices=("auto", "full", "light"), default="auto", help="how much of short calls")
    parser.add_argument("--c-calls", action="store_true", help="also functions written in C")
    parser.add_argument("--include", metavar="PATTERN,...", help="only these functions")
    parser.add_argument("--exclude", metavar="PATTERN,...", help="not these")
    return parser


def _halves(shell, source):
    """The cell as code to run, and as an expression whose value is the cell's; either may be None."""
    name = shell.compile.cache(source)
    tree = ast.parse(source, name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) and not source.rstrip().endswith(";") else None
    code = shell.compile(tree, name, "exec") if tree.body else None
    return code, shell.compile(ast.Expression(last.value), name, "eval") if last else None


def _run(shell, source):
    code, value = _halves(shell, shell.transform_cell(source))
    if code is not None:
        exec(code, shell.user_ns)
    return eval(value, shell.user_ns) if value is not None else None


def magic(shell, display, line, cell=None):
    """%%inferscope [--trace FILE] [--report FILE] [--detail auto|full|light] [--c-calls] [--include PATTERN,...] [--exclude PATTERN,...]

    Records the cell, and shows its report below.  %inferscope STATEMENT records one line.
    """
    chosen = _options().parse_args([] if cell is None else shlex.split(line))
    profiler = Profiler(trace=chosen.trace, detail=chosen.detail, c_calls=chosen.c_calls, include=chosen.include, exclude=chosen.exclude)
    try:
        with profiler:
            return _run(shell, line if cell is None else cell)
    finally:
        if profiler.state == "stopped":
            display(profiler.report(chosen.report))


def load(shell, display):
    def inferscope(line, cell=None):
        return magic(shell, display, line, cell)
    inferscope.__doc__ = magic.__doc__
    shell.register_magic_function(inferscope, "line_cell", MAGIC)


def load_ipython_extension(shell):
    """What %load_ext inferscope calls."""
    from IPython.display import display
    load(shell, display)


def unload_ipython_extension(shell):
    """What %unload_ext inferscope calls."""
    for kind in ("line", "cell"):
        shell.magics_manager.magics[kind].pop(MAGIC, None)
