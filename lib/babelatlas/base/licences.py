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
    given = list(licences)
    if "" in given:
        return ""
    each = list(
        dict.fromkeys(
            name for one in given for name in one.replace(", ", "; ").split("; ")
        )
    )
    if unknown := [name for name in each if name not in uses()]:
        what = f"The licence {unknown[0]!r} is not in data/released/licences.csv"
        raise InputError(
            f"{what}: add what it allows, or correct it; {near(unknown[0], uses())}"
        )
    worst = max(USES.index(uses()[name]) for name in each)
    kept = [name for name in each if USES.index(uses()[name]) == worst]
    return given[0] if worst == 0 else "; ".join(kept)


def of_models(table: pd.DataFrame) -> pd.Series:
    """Return the licences of models with the columns model, licence (their own),
    architecture and text_tower.

    "" where it is not known, as for models whose weights are not public.
    """
    named = table[["model", "architecture", "text_tower"]].itertuples(index=False)
    inside = [
        [parts()[name] for name in dict.fromkeys(row) if name in parts()]
        for row in named
    ]
    found = [
        strictest([own, *others])
        for own, others in zip(table["licence"], inside, strict=True)
    ]
    return pd.Series(found, table.index, dtype=table["licence"].dtype)


def commercial(names: pd.Series) -> pd.Series:
    """Return which licences allow commercial use without a condition on who uses the
    weights and for what.

    Others may allow it on conditions; a licence that is not known allows nothing here.
    """
    free = {name for name, use in uses().items() if use == "free"}
    each = names.fillna("").str.replace(", ", "; ", regex=False).str.split("; ")
    return each.map(lambda found: set(found) <= free).astype(bool)
