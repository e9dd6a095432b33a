"""The inferscope command, from Python."""

from inferscope.cli.commands import analyze, config, main, run

__all__ = ["analyze", "config", "main", "run"]
