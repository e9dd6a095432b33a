from inferscope.cli.commands import analyze as analyze, config as config, main as main, run as run

__all__: list[str]
