"""Babel Atlas: how many of the world's languages do vision-and-language models understand?

>>> import babelatlas as ba
>>> sorted(ba.load("labels").columns)[:2]  # a table that ships; ba.load("zeroshot", run="demo") is one of a run
['alternatives', 'ambiguous']

`ba.describe("labels")` and `help(ba.load)` say what the columns mean. The rooms of the library, from the ground up:
base, stats, lexicon, datasets, models, evaluation, analysis, papers, annotation, report, workflow.
"""

from babelatlas.base.errors import InputError

__all__ = ["InputError", "describe", "load"]
__version__ = "0.1.0"


def __getattr__(name: str):
    """Return `load` or `describe`, importing pandas only when one is asked for."""
    if name not in ("describe", "load"):
        raise AttributeError(f"module 'babelatlas' has no attribute {name!r}: it has {', '.join(__all__)}")
    from babelatlas.report import catalogue

    return getattr(catalogue, name)


def __dir__() -> list[str]:
    return sorted([*globals(), "describe", "load"])
