"""Babel Atlas: how many of the world's languages do vision-and-language models know?

>>> import babelatlas as ba
>>> labels = ba.load("labels")  # a table that ships; run="demo" gives one of a run

What one needs to write a chapter, with an example of each on the page "Front desk":
"""

from importlib import import_module
from textwrap import fill

from babelatlas.base.errors import InputError as InputError
from babelatlas.base.errors import near

__version__ = "0.1.0"

# Name on the front desk -> module and function; imported when it is asked for.
DESK = {
    # Tables: those that ship, those of a run, those that papers and projects published.
    "load": "babelatlas.catalogue.load",
    "describe": "babelatlas.catalogue.describe",
    "tables": "babelatlas.catalogue.tables",
    "read_table": "babelatlas.base.tables.read",
    "write_table": "babelatlas.base.tables.write",
    "published": "babelatlas.base.published.read",
    "published_by_language": "babelatlas.base.published.accuracy_by_language",
    "published_groups": "babelatlas.base.published.groups",
    "released": "babelatlas.base.released.read",
    "one_run": "babelatlas.base.released.one_run",
    "real_models": "babelatlas.base.released.models",
    # Languages.
    "languages": "babelatlas.base.languages.table",
    "language_name": "babelatlas.base.languages.name",
    "families": "babelatlas.base.languages.families",
    # Means, shares and relations with their intervals.
    "mean_interval": "babelatlas.stats.bootstrap.mean_interval",
    "group_means": "babelatlas.stats.bootstrap.group_means",
    "accuracy_interval": "babelatlas.stats.bootstrap.accuracy_interval",
    "exact_interval": "babelatlas.stats.proportions.exact_interval",
    "percentile_interval": "babelatlas.stats.bootstrap.percentile_interval",
    "correlate": "babelatlas.stats.correlation.correlate",
    "regression_band": "babelatlas.stats.regression.regression_band",
    # Tests of differences, and their correction for how many there are.
    "paired_difference": "babelatlas.stats.permutation.paired_difference",
    "paired_permutation_test": "babelatlas.stats.permutation.paired_permutation_test",
    "step_down": "babelatlas.stats.permutation.step_down",
    "holm": "babelatlas.stats.multiple_comparisons.holm",
    "with_holm": "babelatlas.stats.multiple_comparisons.with_holm",
    # Figures.
    "style": "babelatlas.report.figures.look.style",
    "show": "babelatlas.report.figures.look.show",
    "percent_axis": "babelatlas.report.figures.look.percent_axis",
    "forest": "babelatlas.report.figures.forests.forest",
    "strips": "babelatlas.report.figures.intervals.strips",
    "correlation_panels": "babelatlas.report.figures.scatter.correlation_panels",
    "world_map": "babelatlas.report.figures.maps.world_map",
    "contact_sheet": "babelatlas.report.figures.pictures.contact_sheet",
    # Tables and sentences to read.
    "table": "babelatlas.report.reading.table",
    "takeaway": "babelatlas.report.reading.takeaway",
    "intervals": "babelatlas.report.formatting.intervals",
    "counted": "babelatlas.report.formatting.counted",
    "p_value": "babelatlas.report.formatting.p_value",
    "caution": "babelatlas.models.registry.caution",
}

# `help` shows what is defined here, and these are not: their names must do.
__doc__ += fill(", ".join(DESK), 88)


def __getattr__(name: str):
    if name not in DESK:
        hint = near(name, DESK)
        raise AttributeError(f"module 'babelatlas' has no attribute {name!r}: {hint}")
    module, _, function = DESK[name].rpartition(".")
    return getattr(import_module(module), function)


def __dir__() -> list[str]:
    return ["DESK", "InputError", "__version__", *DESK]
