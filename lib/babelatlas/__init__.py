"""Babel Atlas: how many of the world's languages do vision-and-language models
understand?

>>> import babelatlas as ba
>>> labels = ba.load("labels")  # a table that ships; ba.load("zeroshot", run="demo") is one of a run
"""

from babelatlas.base.errors import InputError as InputError

__version__ = "0.1.0"

# The functions of `report.catalogue`, which imports pandas, and is imported when one of
# them is called.


def load(name: str, run="", names: bool = False):
    """Return a table as a DataFrame: one that ships or, with `run`, that run's; `names`
    adds names for readers.
    """
    from babelatlas import catalogue

    return catalogue.load(name, run, names)


def describe(name: str, run="") -> str:
    """Return what the columns of a table mean, with their types and units, as text."""
    from babelatlas import catalogue

    return catalogue.describe(name, run)


def tables(run=""):
    """Return the list of the tables that ship, or that a run has made: columns name and
    meaning.
    """
    from babelatlas import catalogue

    return catalogue.tables(run)


def __dir__() -> list[str]:
    return ["InputError", "__version__", "describe", "load", "tables"]
