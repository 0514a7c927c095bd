"""In how many Wikipedias the concepts of image data sets have pages, as counted here and
as the paper on MaRVL counts (Liu et al. 2021).
"""

from typing import NamedTuple

import numpy as np
import pandas as pd

import babelatlas as ba
from babelatlas.analysis import concepts
from babelatlas.stats import bootstrap

COLLECTIONS = [concepts.IMAGENET, concepts.NLVR2, concepts.MARVL]


class Wikipedias(NamedTuple):
    """In how many Wikipedias the concepts of image data sets have pages."""

    pages: pd.DataFrame  # concepts, with their numbers of Wikipedias, families, ...
    sizes: pd.Series  # collection -> number of concepts
    means: pd.DataFrame  # collection, measure, value, ci_low, ci_high, n, text
    view: pd.DataFrame  # of `means`, as a page shows it
    curves: pd.DataFrame  # collection, at_least, value, ci_low, ci_high, series
    lead: tuple[float, float, float]  # of MaRVL over ImageNet, Wikipedias: mean, ends
    readings: pd.DataFrame  # counted, value, ci_low, ci_high, n
    places: pd.DataFrame  # macroarea, collection, value, ci_low, ci_high, n
    by_language: pd.DataFrame  # MaRVL: language, value, ci_low, ci_high, n, row
    as_paper: pd.DataFrame  # Wikipedias and few, as the paper counts
    figure_2: pd.DataFrame  # macro-areas in the paper's figure and here, in percent


def wikipedias(limit: int, n_resamples: int, seed: int) -> Wikipedias:
    """Return in how many Wikipedias the concepts of ImageNet, NLVR2 and MaRVL have
    pages, as counted here and as the paper counts.

    `limit`: the number of Wikipedias below which the paper places most concepts.
    """
    options = {"n_resamples": n_resamples, "seed": seed}
    table = concepts.shipped()
    pages = concepts.count(table)
    sizes = table["collection"].value_counts()
    means = means_of_concepts(pages, limit, **options)
    curves = concepts.at_least(pages, "n_wikipedias", **options)
    series = [f"{name} (n = {sizes[name]:,})" for name in curves["collection"]]
    numbers = pages.groupby("collection")["n_wikipedias"]
    samples = [
        numbers.get_group(name).to_numpy(float)
        for name in (concepts.MARVL, concepts.IMAGENET)
    ]
    places = concepts.by_place(table, "macroarea", **options)
    as_paper = concepts.count(concepts.as_counted(table), "wals")
    their_means = means_of_concepts(as_paper, limit, **options)
    return Wikipedias(
        pages=pages,
        sizes=sizes,
        means=means.assign(text=_with_percent(means)),
        view=_means_view(means, sizes, limit),
        curves=curves.assign(series=series),
        lead=bootstrap.sum_of_means(samples, [1, -1], **options),
        readings=_readings(pages, as_paper, limit, n_resamples, seed),
        places=places,
        by_language=_of_marvl(pages, n_resamples, seed),
        as_paper=_as_paper(their_means, limit),
        figure_2=_figure_2(table, places, n_resamples, seed),
    )


def means_of_concepts(
    pages: pd.DataFrame, limit: int, n_resamples: int = 2000, seed: int = 0
) -> pd.DataFrame:
    """Return means of the numbers of Wikipedias, languages, families and macroareas of
    concepts, and the share ("few") in `limit` Wikipedias or fewer.

    Columns: collection, measure, value, ci_low, ci_high, n (concepts); intervals draw
    pages. `pages`: as `concepts.count` gives them.
    """
    table = pages.assign(few=pages["n_wikipedias"] <= limit)
    parts = []
    for measure in (*concepts.COUNTS, "few"):
        means = ba.group_means(
            table.astype({measure: float}),
            ["collection"],
            measure,
            "page",
            n_resamples=n_resamples,
            seed=seed,
            shares=measure == "few",
        )
        parts.append(means.assign(measure=measure))
    return pd.concat(parts, ignore_index=True)


def _with_percent(means: pd.DataFrame) -> pd.Series:
    """Return means with intervals as text, shares ("few") in percent."""
    factor = np.where(means["measure"] == "few", 100, 1)
    numbers = means[["value", "ci_low", "ci_high"]].mul(factor, axis=0)
    return ba.intervals(numbers, unit=1)


def _measures(limit: int) -> dict[str, str]:
    return {
        "n_wikipedias": "Wikipedias",
        "n_families": "families",
        "few": f"in {limit} Wikipedias or fewer (%)",
    }


def _means_view(means: pd.DataFrame, sizes: pd.Series, limit: int) -> pd.DataFrame:
    names = _measures(limit)
    texts = means.assign(text=_with_percent(means))
    view = texts.pivot(index="collection", columns="measure", values="text")
    view = view[list(names)].rename(columns=names)
    view.insert(0, "concepts", sizes[view.index])
    return view.loc[COLLECTIONS].rename_axis(index="data set", columns=None)


def _readings(
    pages: pd.DataFrame,
    as_paper: pd.DataFrame,
    limit: int,
    n_resamples: int,
    seed: int,
) -> pd.DataFrame:
    """Return the share of ImageNet's concepts in `limit` or fewer, by what is counted."""
    pages = pages[pages["collection"] == concepts.IMAGENET]
    n_wikipedias = as_paper.loc[pages.index, "n_wikipedias"]
    in_figure = concepts.wals().query("source == 'figure 2' and family != ''")["code"]
    with_family = {*in_figure}
    readings = {
        "Wikipedias, English among them": n_wikipedias,
        "Wikipedias other than the English one": n_wikipedias - 1,
        "languages that Glottolog knows": pages["n_languages"],
        "only languages with a family in the paper's figure": pages["wikipedias"].map(
            lambda codes: len({*codes.split()} & with_family)
        ),
    }
    parts = [
        ba.mean_interval(
            numbers <= limit, pages["page"], n_resamples, seed=seed, shares=True
        ).assign(counted=name)
        for name, numbers in readings.items()
    ]
    return pd.concat(parts, ignore_index=True)


def _of_marvl(pages: pd.DataFrame, n_resamples: int, seed: int) -> pd.DataFrame:
    """Return the mean number of Wikipedias of MaRVL's concepts that have a page, by the
    language whose speakers chose them.
    """
    rows = pages[(pages["collection"] == concepts.MARVL) & (pages["wikipedias"] != "")]
    rows = rows.assign(lang=rows["lang"].str.split()).explode("lang")
    rows["language"] = rows["lang"].map(ba.language_name)
    means = ba.group_means(
        rows, ["language"], "n_wikipedias", "page", n_resamples, seed=seed
    )
    means["row"] = means["language"] + " (" + means["n"].astype(str) + ")"
    return means.sort_values("value", kind="stable")


def _as_paper(means: pd.DataFrame, limit: int) -> pd.DataFrame:
    values = means.pivot(index="collection", columns="measure", values="value")
    values = values.loc[COLLECTIONS]
    view = pd.DataFrame(
        {
            "Wikipedias": values["n_wikipedias"],
            _measures(limit)["few"]: 100 * values["few"],
        }
    )
    return view.rename_axis(index="data set", columns=None)


def _figure_2(
    table: pd.DataFrame, places: pd.DataFrame, n_resamples: int, seed: int
) -> pd.DataFrame:
    """Return ImageNet's concepts by macro-area, in the paper's figure and here."""
    theirs = concepts.by_place(
        concepts.as_counted(table), "macroarea", "figure 2", n_resamples, seed
    )
    theirs, ours = (
        rows[rows["collection"] == concepts.IMAGENET].set_index("macroarea")["value"]
        for rows in (theirs, places)
    )
    ours = ours.reindex(theirs.index, fill_value=0)
    view = pd.DataFrame({"Figure 2 (%)": 100 * theirs, "here (%)": 100 * ours})
    return view.rename_axis("macro-area")
