"""Chapter 44: the captions that a run's captioners wrote, scored next to those of
people, by language and by region, and compared with what raters say of them.
"""

from typing import NamedTuple

import pandas as pd

from babelatlas.analysis import caption_statistics, home_advantage, side_by_side
from babelatlas.base import languages, tables
from babelatlas.base.errors import InputError
from babelatlas.datasets import captions as caption_sets
from babelatlas.report import formatting
from babelatlas.stats import bootstrap, regression

HOW_TO_ADD = """This run has no generated captions: name models under `captioners` in
its config, and a data set of captions, such as xm3600, under `datasets`."""
HOW_TO_COMPARE = """This run has no comparisons of captions side by side: give a CSV file of
them as the parameter `comparisons` of 44_own_captions in its config (columns dataset, lang,
image, base, model, rater, preference)."""
HOW_TO_RATE = """This run has no ratings of captions: give a CSV file of them as the
parameter `ratings` of 44_own_captions in its config (columns lang, image, rater, rating)."""
NO_REGIONS = """The data sets of this run's captions do not say where their images are
from: Crossmodal-3600's annotations do, and a CSV file (image, region) named under
`70_captions: {regions: ...}` does for any other."""
# Where regions are none of the languages, or one language alone has images.
NO_HOMES = """Captions have no home here: a home advantage needs regions that are named
by the codes of languages, as in Crossmodal-3600, two of them with two images or more
and with captions in their languages."""
X, Y = "difference in the score", "gain side by side"
SET = ["dataset", "captions"]


class OwnCaptions(NamedTuple):
    """What the captioners of a run wrote (tables `generated` and `caption_scores`), and
    the mean scores of each language, and over languages.
    """

    generated: pd.DataFrame
    scores: pd.DataFrame
    by_language: pd.DataFrame
    means: pd.DataFrame


def of_run(results: str, n_resamples: int, seed: int) -> OwnCaptions | None:
    """Return the captions of a run with their scores, None where it has none.

    Intervals of a language resample its images; of a mean over languages, languages.
    """
    generated = [
        tables.read(path, "generated")
        for path in tables.of_run(results, "generated/*.parquet")
    ]
    scores = [
        tables.read(path, "caption_scores")
        for path in tables.of_run(results, "caption_scores/*.parquet")
    ]
    if not scores:
        return None
    table = pd.concat(scores, ignore_index=True)
    options = {"n_resamples": n_resamples, "seed": seed}
    by_language = bootstrap.group_means(
        table, [*SET, "metric", "model", "lang"], cluster="image", **options
    )
    by_language["language"] = by_language["lang"].map(languages.name)
    means = bootstrap.group_means(by_language, [*SET, "metric", "model"], **options)
    written = pd.concat(generated, ignore_index=True)
    return OwnCaptions(written, table, by_language, means)


def verdict(found: OwnCaptions | None) -> str:
    """Return what a run's captions say, in a sentence: the mean score over the languages
    that all models of the first data set have, of the best of them.
    """
    if found is None:
        return HOW_TO_ADD
    name = found.by_language.iloc[0]
    of_set = found.by_language[(found.by_language[SET] == name[SET]).all(axis=1)]
    models = of_set["model"].nunique()
    shared = of_set.groupby("lang")["model"].nunique()
    langs = shared.index[shared == models]
    if not len(langs):
        return f"""The captioners of this run describe {name["dataset"]} in different
        languages, so that their captions cannot be compared."""
    means = of_set[of_set["lang"].isin(langs)].groupby("model")["value"].mean()
    where = f"in {languages.name(langs[0])}"
    if len(langs) > 1:
        where = f"in the mean over {formatting.counted(len(langs), 'language')}"
    rank = ", more than those of the others" if models > 1 else ""
    return f"""On {name["dataset"]}, the captions by {means.idxmax()} score
    {means.max():.2f} in {name["metric"]} {where}{rank}."""


def means_table(found: OwnCaptions) -> pd.DataFrame:
    """Return the mean score of each model over its languages, as a reader sees it."""
    return _scores_table(found, found.means, "languages")


def languages_table(found: OwnCaptions) -> pd.DataFrame:
    """Return the mean score of each language and model, as a reader sees it."""
    table = _scores_table(found, found.by_language, "images")
    table.insert(0, "language", found.by_language["language"])
    return table


def _scores_table(found: OwnCaptions, rows: pd.DataFrame, counted: str) -> pd.DataFrame:
    """Return mean scores as a reader sees them; `counted`: what the column n counts."""
    metric = found.scores["metric"].iloc[0]
    return pd.DataFrame(
        {
            "model": rows["model"],
            "data set": rows["dataset"],
            "references": rows["captions"],
            counted: rows["n"],
            metric: formatting.intervals(rows, ".2f", 1),
        }
    )


def drawn(found: OwnCaptions) -> pd.DataFrame:
    """Return the rows of the figure by language, with `panel`: the data set, and the
    references where it has several.
    """
    rows = found.by_language
    several = rows.groupby("dataset")["captions"].transform("nunique") > 1
    panel = rows["dataset"] + (", " + rows["captions"]).where(several, "")
    return rows.assign(panel=panel)


def compared(found: OwnCaptions, n_resamples: int, seed: int) -> pd.DataFrame:
    """Return the differences between models in each language (`side_by_side.differences`),
    empty for one model.
    """
    if found.scores["model"].nunique() < 2:
        return pd.DataFrame(columns=[*SET, "lang", "base", "model", "p_holm"])
    return side_by_side.differences(found.scores, n_resamples, seed)


def differences_table(differences: pd.DataFrame) -> pd.DataFrame:
    """Return differences of models as a reader sees them."""
    values = differences.rename(columns={side_by_side.DIFFERENCE: "value"})
    p = zip(differences["p_holm"], differences["p"], strict=True)
    return pd.DataFrame(
        {
            "language": differences["lang"].map(languages.name),
            "model": differences["model"],
            "less": differences["base"],
            "data set": differences["dataset"],
            "references": differences["captions"],
            "images": differences["n"],
            "difference": formatting.intervals(values, "+.2f", 1, " to "),
            "p (Holm)": [formatting.p_value(*values) for values in p],
        }
    )


def by_region(found: OwnCaptions, n_resamples: int, seed: int) -> pd.DataFrame:
    """Return the mean score of each model on the images of each region, over languages
    and images: region, model, data set, references, images, score with interval over
    images; empty where no image has a region.
    """
    rows = found.scores[found.scores["region"] != ""]
    if rows.empty:
        return pd.DataFrame()
    by = [*SET, "model", "region"]
    by_image = rows.groupby([*by, "image"], as_index=False)["value"].mean()
    options = {"n_resamples": n_resamples, "seed": seed}
    means = bootstrap.group_means(by_image, by, cluster="image", **options)
    metric = found.scores["metric"].iloc[0]
    return pd.DataFrame(
        {
            "region": means["region"].map(region_name),
            "model": means["model"],
            "data set": means["dataset"],
            "references": means["captions"],
            "images": means["n"],
            metric: formatting.intervals(means, ".2f", 1),
        }
    )


def region_name(region: str) -> str:
    """Return the language that a region is named after, else the region itself."""
    try:
        return languages.name(region)
    except InputError:
        return region


def at_home(
    found: OwnCaptions, n_resamples: int, n_permutations: int, seed: int
) -> pd.DataFrame:
    """Return the home advantages of each model (`home_advantage.advantages`), with
    dataset, captions and model; empty where regions are not named as languages.
    """
    parts = [pd.DataFrame(columns=[*SET, "model", *home_advantage.COLUMNS])]
    for key, rows in found.scores.groupby([*SET, "model"], sort=False):
        if home_advantage.has_homes(rows):
            table = home_advantage.advantages(rows, n_resamples, n_permutations, seed)
            names = dict(zip([*SET, "model"], key, strict=True))
            parts.append(table.assign(**names))
    return pd.concat(parts[1:] or parts, ignore_index=True)


def home_table(advantages: pd.DataFrame) -> pd.DataFrame:
    """Return home advantages as a reader sees them."""
    named = {home_advantage.MEAN: "mean over the languages"}
    p = zip(advantages["p_holm"].fillna(advantages["p"]), advantages["p"], strict=True)
    return pd.DataFrame(
        {
            "language": [
                named.get(lang) or languages.name(lang) for lang in advantages["lang"]
            ],
            "model": advantages["model"],
            "data set": advantages["dataset"],
            "references": advantages["captions"],
            "images": advantages["n"],
            "at home": advantages["home"],
            "away": advantages["away"],
            "advantage": formatting.intervals(advantages, "+.2f", 1, " to "),
            "p (Holm)": [formatting.p_value(*values) for values in p],
        }
    )


class Judged(NamedTuple):
    """What raters prefer, next to differences of scores: gains (`side_by_side.gains`),
    both for each comparison (`side_by_side.joined`), and their correlations with
    `text`.
    """

    gains: pd.DataFrame
    rows: pd.DataFrame
    correlations: pd.DataFrame


def judged(
    found: OwnCaptions, comparisons: str, n_resamples: int, seed: int
) -> Judged | None:
    """Return what raters prefer next to differences of scores; None without a file.

    `comparisons`: as `side_by_side.read_comparisons` takes it; without a column for the
    data set all are of the run's, where it has one. Raises InputError where no
    comparison is of two models of the run with scores in its language.
    """
    if not comparisons:
        return None
    names = found.scores["dataset"].unique()
    only = names[0] if len(names) == 1 else ""
    read = side_by_side.read_comparisons(comparisons, only)
    gains = side_by_side.gains(read, n_resamples, seed)
    rows = side_by_side.joined(gains, compared(found, n_resamples, seed))
    if rows.empty:
        models = ", ".join(sorted(found.scores["model"].unique()))
        raise InputError(
            f"No comparison in {comparisons} is of two models of this run in a language"
            f" and data set with scores of both: its models are {models}; correct the"
            " names."
        )
    correlations = side_by_side.agreement(rows, n_resamples, seed)
    text = formatting.intervals(correlations, ".2f", 1, " to ")
    return Judged(gains, rows, correlations.assign(text=text))


def gains_table(found: Judged) -> pd.DataFrame:
    """Return gains and differences of scores as a reader sees them, a row for each
    comparison.
    """
    ends = found.gains.rename(columns={side_by_side.GAIN: "value"})
    text = formatting.intervals(ends, "+.1f", 100, " to ")
    gains = found.gains.assign(text=text)[[*side_by_side.PAIR, "text", "n"]]
    rows = found.rows.merge(gains, on=side_by_side.PAIR)
    return pd.DataFrame(
        {
            "language": rows["lang"].map(languages.name),
            "model": rows["model"],
            "base": rows["base"],
            "references": rows["captions"],
            "images": rows["n"],
            "gain (points)": rows["text"],
            X: rows[side_by_side.DIFFERENCE].round(3),
        }
    )


def agreement_table(found: Judged) -> pd.DataFrame:
    """Return the correlations as a reader sees them: a row for each set of references
    and way of counting.
    """
    key = ["captions", "counted", "n"]
    view = found.correlations.pivot(index=key, columns="method", values="text")
    view = view.rename(columns=str.title).rename_axis(columns=None).reset_index()
    return view.rename(columns={"captions": "references", "n": "comparisons"})


def points(found: Judged) -> pd.DataFrame:
    """Return the points of the figure: each comparison in both directions, with
    `cluster`, the language, or, of one language, the comparison.
    """
    columns = [side_by_side.GAIN, side_by_side.DIFFERENCE]
    numbered = found.rows.assign(cluster=found.rows.index.astype(str))
    if len(set(numbered["lang"])) > 1:
        numbered["cluster"] = numbered["lang"]
    rows = side_by_side.both_ways(numbered, columns)
    names = dict(zip(columns, [Y, X], strict=True))
    return rows.rename(columns=names).assign(comparison="two models of this run")


def bands(marks: pd.DataFrame, n_resamples: int, seed: int) -> pd.DataFrame:
    """Return the line of gains on differences with its band, for each set of references
    for which it can be drawn: captions, x, y, ci_low, ci_high.
    """
    parts = [pd.DataFrame(columns=["captions", "x", "y", "ci_low", "ci_high"])]
    for name, part in marks.groupby("captions", sort=False):
        if len(set(part["cluster"])) > 1 and len(set(part[X])) > 1:
            line = regression.regression_band(
                part, X, Y, "cluster", n_resamples=n_resamples, seed=seed
            )
            parts.append(line.assign(captions=name))
    return pd.concat(parts[1:] or parts, ignore_index=True)


def statistics(found: OwnCaptions | None, captions: str) -> pd.DataFrame:
    """Return the counts and lengths of a table of captions, and of those that the run's
    models wrote, as in Table 1 of Thapliyal et al. (2022), as a reader sees them.

    `captions`: a file as `datasets.captions.read` takes it, "" for none.
    """
    parts = []
    if captions:
        given = caption_sets.read(captions)
        parts.append(given.assign(lang=given["lang"].map(languages.canonical)))
    if found is not None:
        written = found.generated
        names = written["model"] + " on " + written["dataset"]
        parts.append(written.assign(captions=names))
    if not parts:
        return pd.DataFrame()
    counts = caption_statistics.statistics(pd.concat(parts, ignore_index=True))
    by_number = counts[["one", "two", "more"]].map("{:,}".format)
    return pd.DataFrame(
        {
            "language": counts["lang"].map(languages.name),
            "captions by": counts["captions"],
            "captions": counts["n_captions"],
            "images": counts["n_images"],
            "images with 1 / 2 / 3 or more": by_number.agg(" / ".join, axis=1),
            "words": counts["words"],
            "characters": counts["characters"],
        }
    )


def rated(ratings: str) -> pd.DataFrame:
    """Return the shares of good, medium and bad captions of a file of ratings, as in
    Table 2 of Thapliyal et al. (2022), as a reader sees them; empty without a file.
    """
    if not ratings:
        return pd.DataFrame()
    shares = caption_statistics.quality(caption_statistics.read_ratings(ratings))
    shares["text"] = formatting.intervals(shares)
    key = ["captions", "lang", "n"]
    view = shares.pivot(index=key, columns="level", values="text")
    view = view[list(caption_statistics.LEVELS)].add_suffix(" (%)")
    view = view.rename_axis(columns=None).reset_index()
    view.insert(0, "language", view.pop("lang").map(languages.name))
    return view.rename(columns={"captions": "captions by", "n": "captions"})
