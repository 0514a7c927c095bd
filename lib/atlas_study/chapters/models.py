"""Chapter 26: public models, the languages that their authors claim, and their lists."""

from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from babelatlas.base import languages, licences, published, released
from babelatlas.models import registry
from babelatlas.report.figures import COLOURS, MARKERS

# Kinds of training, as the chapter explains them.
OBJECTIVES = [
    "contrastive",
    "sigmoid",
    "locked image",
    "distilled",
    "no pairs",
    "not stated",
]
# Checkpoints of one family whose sizes differ by less than this, in powers of ten, stand
# below one another.
NEARLY_ONE_SIZE = 0.04


def checkpoints() -> pd.DataFrame:
    """Return the public checkpoints that the study can load, one row each.

    Columns are those of `registry.table`, and: `title`, the name that people know;
    `kind`, one of `OBJECTIVES`; `unlisted`, whether the authors give no list of
    languages; `released`, the date or at least the year, "not known" without.
    """
    entries = registry.table().query("repository != ''").reset_index(drop=True)
    known = released.models().dropna(subset="entry").drop_duplicates("entry")
    titles = known.set_index("entry")["title"]
    dates = known.set_index("entry")["release_date"].replace("", pd.NA)
    years = entries["year"].astype(str).replace("0", "not known")
    return entries.assign(
        released=entries["name"].map(dates).fillna(years),
        title=[titles.get(row.name) or _title(row) for row in entries.itertuples()],
        kind=entries["objective"].str.split(",").str[0],
        unlisted=entries["n_listed"] == 0,
    )


def _title(row) -> str:
    """Return the paper's name of a model, else its family with the rest of its name."""
    prefix = row.series.lower().replace(" ", "")
    rest = row.name.removeprefix(prefix.replace("-", "")).removeprefix(prefix)
    return row.paper_row or f"{row.series} {rest.strip('-')}"


def claiming(entries: pd.DataFrame, many: int) -> pd.DataFrame:
    """Return the checkpoints that claim at least so many languages; the bridges, which
    this study built, are left out.
    """
    claims = entries["n_languages"] >= many
    return entries[claims & (entries["family"] != "bridge")]


def draw_claims(entries: pd.DataFrame) -> Axes:
    """Draw checkpoints by size, a row for each family, those that claim the most
    languages on top; hollow where no list of languages is given.
    """
    claimed = entries.groupby("series")["n_languages"].agg(["max", "unique"])
    claimed = claimed.sort_values("max", kind="stable")
    points = entries.assign(row=_rows(entries, list(claimed.index)))
    looks = {
        kind: {"color": COLOURS[place], "marker": MARKERS[place]}
        for place, kind in enumerate(OBJECTIVES)
    }
    _, axis = plt.subplots(figsize=(6.4, 6.2))
    for (kind, unlisted), part in points.groupby(["kind", "unlisted"]):
        axis.plot(
            "parameters",
            "row",
            data=part,
            **looks[kind],
            linestyle="",
            fillstyle="none" if unlisted else "full",
            markersize=5,
        )
    axis.set(
        xscale="log",
        xlabel="parameters in millions (log scale)",
        ylabel="family and number of languages",
    )
    sizes = [150, 300, 600, 1200, 2400, 4800]
    axis.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axis.minorticks_off()
    axis.set_yticks(range(len(claimed)), claimed.index + "  " + _numbers(claimed))
    axis.legend(
        handles=_legend(looks),
        loc="upper center",
        bbox_to_anchor=(0.3, -0.11),
        ncol=3,
        columnspacing=1,
    )
    return axis


def _rows(entries: pd.DataFrame, families: list[str]) -> pd.Series:
    """Return the place of each checkpoint: the row of its family, and a little above or
    below where several have nearly one size.
    """
    size = (np.log10(entries["parameters"]) / NEARLY_ONE_SIZE).round()
    alike = entries.groupby(["series", size])["name"]
    above = alike.cumcount() - (alike.transform("size") - 1) / 2
    return entries["series"].map(families.index) + 0.19 * above


def _numbers(claimed: pd.DataFrame) -> pd.Series:
    """Return the numbers of languages that the models of each family claim, as text."""
    return claimed["unique"].map(
        lambda numbers: ", ".join(
            str(n) if n else "not stated" for n in sorted(numbers)
        )
    )


def _legend(looks: dict[str, dict]) -> list[Line2D]:
    kinds = [
        Line2D([], [], linestyle="", label=kind, **look) for kind, look in looks.items()
    ]
    fills = {"languages listed": "full", "number only": "none"}
    return kinds + [
        Line2D([], [], ls="", label=label, color="0.3", marker="o", fillstyle=fill)
        for label, fill in fills.items()
    ]


def by_objective(entries: pd.DataFrame) -> pd.DataFrame:
    """Return, for each kind of training: numbers of families and checkpoints, the range
    of languages claimed, checkpoints with a list, and with a free licence.
    """
    table = entries.assign(
        free=licences.commercial(entries["licence"]), listed=~entries["unlisted"]
    )
    counts = table.groupby("kind").agg(
        families=("series", "nunique"),
        checkpoints=("name", "size"),
        languages=("n_languages", _range),
        listed=("listed", "sum"),
        free=("free", "sum"),
    )
    names = {"listed": "with a list", "free": "free licence"}
    return counts.loc[OBJECTIVES].reset_index(names="objective").rename(columns=names)


def _range(numbers: pd.Series) -> str:
    return f"{numbers[numbers > 0].min()}–{numbers.max()}"


class Lists(NamedTuple):
    """How the lists of languages cover those of a paper."""

    table: pd.DataFrame  # a row for each different list, with its numbers by group
    named: pd.Series  # model -> languages of the paper on its list
    n_languages: int  # those of the paper, without English


def coverage_of_lists(entries: pd.DataFrame, source: str) -> Lists:
    """Return how many of a paper's languages the authors of each model name, by resource
    group and without English.
    """
    groups = published.groups(source).query("lang != 'en'")
    sizes = groups["group"].value_counts()
    listed = registry.training_languages().merge(groups, "left", "lang")
    counts = listed.pivot_table(
        index="model", columns="group", values="lang", aggfunc="size", fill_value=0
    )
    order = listed["model"].unique()
    counts = counts.reindex(order, columns=languages.GROUPS, fill_value=0)
    named = counts.sum(axis=1)
    counts = counts.rename(columns=lambda group: f"{group} ({sizes[group]})")
    counts.insert(0, f"of {len(groups)}", named)
    claims = entries.sort_values("n_languages", ascending=False, kind="stable")
    claims = claims.set_index("name")[["series", "basis"]]
    table = claims.join(counts, how="inner").drop_duplicates()
    table = table.rename(columns={"series": "family", "basis": "kind of list"})
    return Lists(table, named, len(groups))


def times_listed(models: pd.DataFrame, source: str) -> tuple[pd.Series, int]:
    """Return on how many of the models' different lists each language of a paper is, and
    the number of lists.
    """
    names = set(models["name"])
    lists = {
        entry.languages
        for entry in registry.MODELS
        if entry.name in names and entry.languages
    }
    codes = published.groups(source).query("lang != 'en'")["lang"]
    times = {lang: sum(lang in listed for listed in lists) for lang in codes}
    return pd.Series(times), len(lists)
