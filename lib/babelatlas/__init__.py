"""Babel Atlas: how many of the world's languages do vision-and-language models understand?

>>> import babelatlas as ba
>>> sorted(ba.load("labels").columns)[:2]  # a table that ships; ba.load("zeroshot", run="demo") is one of a run
['alternatives', 'ambiguous']

`ba.tables()` lists the tables that ship, `ba.tables("demo")` those of a run; `ba.describe("labels")` says what the
columns of one mean. What cannot be used raises `ba.InputError`.
"""

from babelatlas.base.errors import InputError as InputError

__version__ = "0.1.0"


def __getattr__(name: str):
    """Return a function of the catalogue, importing pandas only when one is asked for."""
    if name not in __dir__():
        raise AttributeError(f"module 'babelatlas' has no attribute {name!r}: it has {', '.join(__dir__())}")
    from babelatlas.report import catalogue

    return getattr(catalogue, name)


def __dir__() -> list[str]:
    # Not __all__, with which the help of the package would be that of all these, screens long.
    return ["InputError", "__version__", "describe", "load", "tables"]
