"""Chapter 24: captions in 36 languages, how people rate them, and whether CIDEr agrees
with people; from the tables of Thapliyal et al. (2022).
"""

from typing import NamedTuple

import pandas as pd

from babelatlas.base import languages, published
from babelatlas.report import formatting
from babelatlas.stats import bootstrap, correlation, proportions

# Codes as the paper writes them.
CODES = {"he": "iw", "tl": "fil"}
N_IMAGES = 3600
N_RATED = 600
# The references with which CIDEr was computed, and what a reader is told of them.
REFERENCES = {
    "xm600": "people's, 600",
    "xm3600": "people's, 3,600",
    "coco-dev": "translated, COCO",
}
CIDER, GAIN = "difference in CIDEr", "gain side by side"
BOTH, ONCE = "both directions", "once"
COUNTS = {
    "captions": "captions",
    "images with 1 caption": "one",
    "images with 2 captions": "two",
    "images with 3 or more captions": "more",
    "words": "words",
    "characters": "characters",
}


def read(version: str) -> pd.DataFrame:
    """Return the paper's numbers with its codes: "proceedings", or "preprint", the early
    version, which has the ratings.
    """
    names = {"proceedings": "thapliyal2022-proceedings", "preprint": "thapliyal2022"}
    return published.read(names[version]).replace({"lang": CODES})


def rated_good() -> pd.DataFrame:
    """Return the share of captions that people rate good or better, by language, the
    lowest first: lang, language, value (a fraction), exact 95 % interval.
    """
    early = read("preprint")
    good = early[early["metric"] == "good or better"]
    good = good.sort_values("lang", kind="stable").reset_index(drop=True)
    n_good = (good["value"] * N_RATED).round()
    number = pd.Series(N_RATED, good.index)
    good["ci_low"], good["ci_high"] = proportions.exact_interval(n_good, number)
    good["language"] = good["lang"].map(languages.name)
    return good.sort_values("value", kind="stable")


class CaptionCounts(NamedTuple):
    """How many captions the paper reports, and what does not fit."""

    table: pd.DataFrame  # by language, for a reader
    n_released: float  # captions in the release
    n_longer: int  # languages whose captions have another length than reported
    wrong_sums: str  # languages whose counts of images do not sum
    differ: dict[str, int]  # version -> languages with another number of captions


def caption_counts() -> CaptionCounts:
    """Return the paper's counts of captions beside those of the release."""
    paper, early = read("proceedings"), read("preprint")
    counts = paper[paper["task"] == "captions"]
    counts = counts.pivot(index="lang", columns="metric", values="value")
    whole = dict.fromkeys(["captions", "one", "two", "more"], int)
    counts = counts.rename(columns=COUNTS).astype(whole)

    release = published.read("mteb-xm3600").replace({"lang": CODES})
    release = release.pivot(index="lang", columns="metric", values="value")
    release = release.reindex(counts.index)
    released, characters = release.iloc[:, 0], release.iloc[:, 1]
    of_captions = (early["task"] == "captions") & (early["metric"] == "captions")
    preprint = early[of_captions].set_index("lang")["value"].reindex(counts.index)

    by_number = counts[["one", "two", "more"]]
    wrong = counts.index[by_number.sum(axis=1) != N_IMAGES].map(languages.name)
    length = characters / released - counts["characters"]
    shown = {
        "language": counts.index.map(languages.name),
        "captions": counts["captions"],
        "images with 1 / 2 / 3 or more": by_number.map("{:,}".format).agg(
            " / ".join, axis=1
        ),
        "words": counts["words"],
        "characters": counts["characters"],
    }
    differ = {"proceedings": counts["captions"], "preprint": preprint}
    return CaptionCounts(
        pd.DataFrame(shown),
        released.sum(),
        int((length.abs() > 0.1).sum()),
        ", ".join(wrong) or "none",
        {name: int((known != released).sum()) for name, known in differ.items()},
    )


class Agreement(NamedTuple):
    """How differences in CIDEr agree with what people prefer."""

    comparisons: pd.DataFrame  # by language and pair of models: gain, CIDEr
    correlations: pd.DataFrame  # by group, counted, references and method, with text
    same_sign: pd.DataFrame  # by group and references: share of equal signs, interval
    differences: pd.DataFrame  # people's references minus translated, with text


def agreement(n_resamples: int, seed: int) -> Agreement:
    """Return how CIDEr agrees with people, by references and kinds of comparison.

    `group`: all comparisons, or those of models that differ in size only. `counted`:
    each comparison in both directions, or once. Intervals are over languages.
    """
    options = {"n_resamples": n_resamples, "seed": seed}
    of_all = {"methods": correlation.METHODS, **options}
    rows = comparisons()
    correlations, same_sign, differences = [], [], []
    for place, part in counted_sets(rows).items():
        key = dict(zip(("group", "counted"), place, strict=True))
        for references in REFERENCES:
            found = correlation.correlate(part, GAIN, references, **of_all)
            correlations.append(found.assign(**key, column=references))
            alike = bootstrap.mean_interval(
                part[GAIN] * part[references] > 0, part["lang"], **options
            )
            same_sign.append(alike.assign(**key, column=references))
        tested = correlation.compare_correlations(
            part, GAIN, "xm600", "coco-dev", **of_all
        )
        differences.append(tested.assign(**key))
    correlations = pd.concat(correlations, ignore_index=True)
    correlations["text"] = formatting.intervals(correlations, ".2f", 1, " to ")
    return Agreement(
        rows,
        correlations,
        pd.concat(same_sign, ignore_index=True).query("counted == @ONCE"),
        _with_p(pd.concat(differences, ignore_index=True)),
    )


def comparisons() -> pd.DataFrame:
    """Return each reported comparison of two models in a language: index lang, model;
    columns `GAIN` (a difference of shares) and differences in CIDEr by references.
    """
    paper = read("proceedings")
    rows = paper[paper["model"].str.contains(" vs ")]
    by_people = rows["metric"] == "side-by-side gain"
    rows = rows.assign(column=rows["dataset"].mask(by_people, GAIN))
    rows = rows.pivot(index=["lang", "model"], columns="column", values="value")
    return rows[[GAIN, *REFERENCES]]


def counted_sets(rows: pd.DataFrame) -> dict[tuple[str, str], pd.DataFrame]:
    """Return the comparisons by group and how they are counted."""
    size_only = rows.drop(rows.filter(like="BB+CC", axis=0).index)
    groups = {"all": rows, "size only": size_only}
    twice = {
        (name, BOTH): pd.concat([part, -part]).reset_index()
        for name, part in groups.items()
    }
    return twice | {(name, ONCE): part.reset_index() for name, part in groups.items()}


def _with_p(differences: pd.DataFrame) -> pd.DataFrame:
    p_values = zip(
        differences["p"], differences["p"], differences["least"], strict=True
    )
    p = [formatting.p_value(*values) for values in p_values]
    text = formatting.intervals(differences, ".2f", 1, " to ")
    return differences.assign(text=text + ", p: " + p)


def table_of(found: Agreement) -> pd.DataFrame:
    """Return the correlations and shares of equal signs as a reader sees them: a row for
    each kind of comparison and references.
    """
    key = ["group", "counted", "column"]
    view = found.correlations.pivot(index=key, columns="method", values="text")
    view = view.rename(columns=str.title)
    places = [
        (*place, name)
        for place in counted_sets(found.comparisons)
        for name in REFERENCES
    ]
    view = view.reindex(places).rename_axis(columns=None).reset_index()
    signs = found.same_sign.set_index(["group", "column"])
    signs = formatting.intervals(signs)
    sizes = {
        group: len(part) for (group, _), part in counted_sets(found.comparisons).items()
    }
    view["comparisons"] = [
        f"{row.group} ({sizes[row.group]}), {row.counted}" for row in view.itertuples()
    ]
    view["same sign (%)"] = [signs[row.group, row.column] for row in view.itertuples()]
    view["references"] = view["column"].map(REFERENCES)
    return view[["comparisons", "references", "Pearson", "Spearman", "same sign (%)"]]
