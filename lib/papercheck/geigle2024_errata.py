"""Geigle et al. (2024), Babel-ImageNet: what does not fit; the sentences lie in
`data/errata`.
"""

import numpy as np
import pandas as pd

from babelatlas.base import languages, published
from papercheck import definitions
from papercheck import geigle2024 as paper


def group_table(number: str) -> pd.DataFrame:
    """Return Table 2 or 3 as printed, in percent: rows model, columns very low, low,
    mid, high, English.
    """
    table = published.read(paper.PAPER).query("table == @number and task == 'zeroshot'")
    column = table["group"].where(table["group"] != "", "English")
    wide = (
        100
        * table.assign(column=column).pivot(
            index="model", columns="column", values="value"
        )
    ).round(2)
    return wide[list(paper.COLUMNS.values())]


def against_order(table: pd.DataFrame) -> list[str]:
    """Return the multilingual models of a table of groups that are not worse in low and
    mid than in high.
    """
    kept = table.drop("OpenAI B-32", errors="ignore")
    return kept.index[
        (kept[["low", "mid"]].ge(kept["high"], axis=0)).any(axis=1)
    ].tolist()


def errata() -> pd.DataFrame:
    """Return inconsistencies and remarks, as `scorecard.errata` puts them together."""
    return definitions.errata(
        paper.PAPER, "geigle2024", _language_facts() | _cell_facts() | _text_facts()
    )


def _language_facts() -> dict[str, dict]:
    """Return what is found on groups of languages: where they begin, how many a data
    set has, who leads in them.
    """
    table = paper.labelled_languages()
    ends = table.groupby("group")["classes"].agg(["min", "max"])
    smallest = (
        table.query("group == 'high'")
        .sort_values("classes", kind="stable")["lang"]
        .iloc[0]
    )
    kinds = (False, False), (True, False), (True, True)
    sizes = [
        paper.retrieval_languages(*which).set_index("cell")["value"].astype(int)
        for which in kinds
    ]
    told = [
        ", ".join(
            f"{found[f'languages | {name}']} on {name}"
            for name in paper.DATASETS.values()
        )
        for found in sizes
    ]
    low, very_low, small = (
        paper.rival(codes).agg(["mean", "size"])
        for codes in (
            paper.languages_of("low"),
            paper.languages_of("very low"),
            paper.small_languages(),
        )
    )
    left = sorted(paper.languages_of("low", "very low") - paper.small_languages())
    bare = set(paper.accuracies().query("variant == 'label only'")["lang"])
    return {
        "high": {
            "language": languages.name(smallest),
            "fewest": ends.loc["high", "min"],
            "largest": ends.loc["mid", "max"],
            "limit": int(paper.notebook()["limits", "mid"]),
            "before": ends.loc["high", "min"] - 1,
        },
        "languages-covered": {
            "without": told[0],
            "with_english": told[1],
            "every": sizes[2]["languages | XM3600"],
            "n_unlabelled": len(paper.UNLABELLED),
        },
        "lead": {
            "low": low,
            "very_low": very_low,
            "small": small,
            "left": ", ".join(map(languages.name, left)),
            "others": paper.rival(left).agg(["mean", "size"]),
            "n_bare": len(bare.intersection(left)),
        },
    }


def _cell_facts() -> dict[str, dict]:
    """Return what is found on single cells and columns of Tables 2, 3 and 11."""
    second, third = group_table("2"), group_table("3")
    both = second.loc[third.index, "very low"]
    (odd,) = both.index[(both - third["very low"]).abs() > paper.HALF]
    mean = paper.mean_accuracy().set_index("cell")["value"][f"{odd} | v-low"]
    group = (
        paper.labelled_languages()
        .query("group == 'very low'")
        .sort_values("classes", kind="stable")
    )
    images = (
        50 * group["classes"].iloc[0]
    )  # ImageNet's validation set has 50 images of each class
    off = (
        third.loc[odd, "very low"] - paper.HALF - mean
    )  # from where the mean is rounded up
    printed = published.read(paper.PAPER).query(
        "task == 'retrieval' and table == '11' and lang == ''"
    )
    printed = (100 * printed.set_index("model")["value"]).round(2)
    found = {}
    for english in (False, True):
        table = paper.mean_recall("xm3600", english)
        found[english] = table.set_index(table["cell"].str.removeprefix("average | "))[
            "value"
        ]
    met = {
        english: ((means - printed).abs() <= 2 * paper.HALF + 1e-9).sum()
        for english, means in found.items()
    }
    farthest = (found[False] - printed).abs()
    same = (found[False].rank() == found[True].rank()).all()
    known = pd.Series(
        {row: model.parameters for row, model in paper.models_of_paper().items()}
    )
    sizes = published.models().set_index("model")["parameters"]
    surplus = (sizes - known).round()
    more = surplus[surplus > 1].sort_values(kind="stable")
    return {
        "very-low": {
            "n_same": len(third) - 1,
            "n": len(third),
            "model": odd,
            "second": both[odd],
            "third": third.loc[odd, "very low"],
            "mean": mean,
            "needed": int(np.ceil(off / 100 * len(group) * images - 1e-9)),
            "language": languages.name(group["lang"].iloc[0]),
            "images": images,
        },
        "averages": {
            "met_english": met[True],
            "n": len(printed),
            "met": met[False],
            "farthest": farthest.max(),
            "model": farthest.idxmax(),
            "value": found[False][farthest.idxmax()],
            "cells": tuple("average | " + printed.index),
            "conclusion": (
                f"{'No' if same else 'Yes'}: the order of the models"
                f" {'stays' if same else 'changes'}."
            ),
        },
        "parameters": {
            "used": ", ".join(
                f"{known[model]:.0f} million in {model} (printed: {sizes[model]})"
                for model in more.index
            ),
            "n_others": len(sizes) - len(more),
        },
    }


def _text_facts() -> dict[str, dict]:
    """Return what is found on the text: Figure 4, and what Section 4 says of models in
    low-resource languages.
    """
    spearman = {
        f"{tokens}{english}": (
            paper.token_correlation(tokens, bool(english))["value"].item()
        )
        for tokens in ("as printed", "corrected")
        for english in ("", ", English")
    }
    listed = published.read("conneau2020").query("metric == 'tokens (millions)'")
    wide = listed.pivot_table(index="lang", columns="variant", values="value")
    wrong = wide[wide["as printed"] != wide["corrected"]]
    second, third = group_table("2"), group_table("3")
    exceptions = [
        model for model in against_order(second) if not model.startswith("NLLB")
    ]
    above = (
        second.loc[exceptions, ["low", "mid"]].max(axis=1)
        - second.loc[exceptions, "high"]
    )
    distilled = published.models().query("family == 'M-CLIP'")["model"]
    beaten = [
        model
        for model in distilled
        if second.loc["mSigLIP", "low"] > second.loc[model, "low"]
    ]
    table = paper.accuracies()
    small, both = (
        100 * table[table["lang"].isin(codes)].groupby("model")["value"].mean()
        for codes in (paper.small_languages(), paper.languages_of("low", "very low"))
    )
    return {
        "tokens": (
            spearman
            | {
                "wrong": ", ".join(
                    f"{languages.name(lang)} ({row['as printed']:g} for"
                    f" {row['corrected']:,.0f} million)"
                    for lang, row in wrong.iterrows()
                )
            }
        ),
        "exceptions": {
            "models": " and ".join(exceptions),
            "above": "; ".join(
                f"{model}: {gap:.2f} points above its mean in high"
                for model, gap in above.items()
            ),
            "n_holds": len(third) - len(against_order(third)),
            "n": len(third),
        },
        "msiglip": {
            "low": second.loc["mSigLIP", "low"],
            "n_beaten": len(beaten),
            "n_distilled": len(distilled),
            "beaten": ", ".join(beaten),
            "n_both": len(paper.languages_of("low", "very low")),
            "both": both["mSigLIP"],
            "n_behind": (both[distilled] < both["mSigLIP"]).sum(),
            "n_small": len(paper.small_languages()),
            "small": small["mSigLIP"],
            "n_ahead": (small[distilled] > small["mSigLIP"]).sum(),
            "very_low": second.loc["mSigLIP", "very low"],
            "n_lowest": (
                (
                    second.loc[distilled, "very low"]
                    > second.loc["mSigLIP", "very low"]
                ).sum()
            ),
        },
    }
