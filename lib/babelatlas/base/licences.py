"""Licences of models: one rule for those that are made of several parts, and which of
them allow commercial use.

`data/released/licences.csv` says of each licence whether it is free of conditions on
who uses the weights and for what, has such conditions, or is for research only;
`licence_parts.csv` under which licence the parts are that models are trained from. A
model is under the strictest licence of its own and its parts: adapters under MIT do not
free the model that they adapt. Where the licence of a part is not known, that of the
model is not.
"""

from collections.abc import Iterable
from functools import cache

import pandas as pd

from babelatlas.base.errors import InputError, near
from babelatlas.base.paths import rows

# From the least strict to the strictest.
USES = ("free", "conditions", "research")


@cache
def uses() -> dict[str, str]:
    """Return what each licence allows: one of `USES`."""
    return {row["licence"]: row["use"] for row in rows("released/licences.csv")}


@cache
def parts() -> dict[str, str]:
    """Return the licence of each part that models are made from, by its name in
    models.csv; "" where not known.
    """
    return {row["part"]: row["licence"] for row in rows("released/licence_parts.csv")}


def strictest(licences: Iterable[str]) -> str:
    """Return the licence of a model whose weights and parts have these: "" if one is
    "", else the strictest.

    A licence may name several, as "Apache-2.0; OpenAI terms". Of several that are
    equally strict all hold, of those that are free the first is named. Raises
    InputError for a licence that `licences.csv` does not know.

    >>> strictest(["MIT", "Gemma"]), strictest(["MIT", ""])
    ('Gemma', '')
    >>> strictest(["CC-BY-NC-4.0", "Qwen Research"])
    'CC-BY-NC-4.0; Qwen Research'
    """
    licences = list(licences)
    if "" in licences:
        return ""
    names = list(dict.fromkeys(name for text in licences for name in _names(text)))
    for name in names:
        if name not in uses():
            what = f"The licence {name!r} is not in data/released/licences.csv"
            raise InputError(
                f"{what}: add what it allows, or correct it; {near(name, uses())}"
            )
    strictness = {name: USES.index(uses()[name]) for name in names}
    strictest_of_all = max(strictness.values())
    if strictest_of_all == 0:
        return licences[0]
    return "; ".join(name for name in names if strictness[name] == strictest_of_all)


def _names(text: str) -> list[str]:
    """Return the names of the licences that a text lists."""
    return text.replace(", ", "; ").split("; ")


def of_models(table: pd.DataFrame) -> pd.Series:
    """Return the licences of models with the columns model, licence (their own),
    architecture and text_tower.

    "" where it is not known, as for models whose weights are not public.
    """
    found = []
    columns = ["licence", "model", "architecture", "text_tower"]
    for licence, *made_from in table[columns].itertuples(index=False):
        of_parts = [
            parts()[name] for name in dict.fromkeys(made_from) if name in parts()
        ]
        found.append(strictest([licence, *of_parts]))
    return pd.Series(found, table.index, dtype=table["licence"].dtype)


def commercial(names: pd.Series) -> pd.Series:
    """Return which licences allow commercial use without a condition on who uses the
    weights and for what.

    Others may allow it on conditions; a licence that is not known allows nothing here.
    """
    free = {name for name, use in uses().items() if use == "free"}
    return names.fillna("").map(lambda text: set(_names(text)) <= free).astype(bool)
