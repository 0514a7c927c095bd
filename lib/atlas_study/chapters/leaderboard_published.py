"""How many of the published models differ, and whether other measures rank them alike.

Accuracies by language are those of Geigle et al. (2024).
"""

from typing import NamedTuple

import numpy as np
import pandas as pd

from atlas_study.chapters.leaderboard import mean_width, means_and_ranks
from babelatlas.analysis import leaderboard, ranking
from babelatlas.analysis.real_models import DATASETS
from babelatlas.base import languages, published, tables
from babelatlas.report import formatting
from babelatlas.report.formatting import intervals
from babelatlas.stats import bootstrap, multiple_comparisons, permutation

# Numbers of languages of the random subsets of `languages_needed`, and how many subsets.
SUBSETS = [5, 8, 11, 12, 14, 16, 20, 25, 35, 50, 70]
N_SUBSETS = 20


class PublishedModels(NamedTuple):
    """The published models, compared over the languages other than English.

    `ranks`: `ranking.ranks` in all languages and each group, languages resampled.
    `by_family`: those in all languages with families resampled, and letters
    (`leaderboard.letters`); `width` and `width_by_language`: the mean width of the
    intervals in points, families and languages resampled. `different`: a row for each
    group with group, n (languages), families, models, pairs, by_language and by_family
    (pairs that differ), separate (the most models that all differ, by family), possible
    (False where families are too few); `too_few`: these, as text. `shared`: the median
    over pairs of models of the share of the variance of their difference that lies
    between families.
    """

    ranks: pd.DataFrame
    by_family: pd.DataFrame
    width: float
    width_by_language: float
    different: pd.DataFrame
    too_few: str
    shared: float


class Comparison(NamedTuple):
    """The published models compared, and tables to read about them.

    `models`: `compare_models`; `differences`: `difference_table`; `needed`:
    `languages_needed`; `agreements` of rankings, their `taus` with those expected, and
    `agreement_table`; `scores`.
    """

    models: PublishedModels
    differences: pd.DataFrame
    needed: pd.DataFrame
    agreements: pd.DataFrame
    taus: pd.DataFrame
    agreement_table: pd.DataFrame
    scores: pd.DataFrame


def compare(source: str, prompts: str, n_resamples: int, seed: int) -> Comparison:
    """Compare the published models in pairs, and the rankings by other measures.

    `source` and `prompts`: published results, as for `published.read`.
    """
    options = {"n_resamples": n_resamples, "seed": seed}
    accuracy = published.accuracy_by_language(source).query("lang != 'en'")
    models = compare_models(accuracy, **options)
    agreed = agreements(accuracy, source, prompts, **options)
    return Comparison(
        models=models,
        differences=difference_table(models.different),
        needed=languages_needed(accuracy, seed),
        agreements=agreed,
        taus=with_expected(agreed),
        agreement_table=agreement_table(agreed),
        scores=scores(models.ranks, agreed),
    )


def compare_models(scores: pd.DataFrame, **options) -> PublishedModels:
    """Compare published models in pairs, by language and by family.

    `scores`: `published.accuracy_by_language` without English; `options`: n_resamples, seed.
    """
    groups = {
        name: list(scores.loc[scores["group"] == name, "lang"].unique())
        for name in languages.GROUPS
    }
    family = languages.families(scores["lang"].unique())
    ranks = ranking.ranks(scores, groups, **options)
    by_family = ranking.ranks(scores, cluster=family, **options)

    pairs = ranking.comparisons(scores, groups, **options)
    family_pairs = ranking.comparisons(scores, groups, **options, cluster=family)
    in_all = family_pairs[family_pairs["group"] == "all"]
    by_family["letters"] = leaderboard.letters(
        by_family, in_all[in_all["p_adjusted"] < 0.05]
    )

    by_language = ranking.significantly_different(pairs)
    different = ranking.significantly_different(family_pairs)
    n_families = family_pairs.groupby("group", sort=False)["n_clusters"].first()
    different = different.rename(columns={"apart": "by_family"})
    different["by_language"] = by_language["apart"]
    different["families"] = n_families.to_numpy()
    return PublishedModels(
        ranks=ranks,
        by_family=by_family,
        width=mean_width(by_family),
        width_by_language=mean_width(ranks[ranks["group"] == "all"]),
        different=different,
        too_few=", ".join(
            f"{row.group} ({row.families})"
            for row in different[~different["possible"]].itertuples()
        ),
        shared=_shared(scores, family),
    )


def _shared(scores: pd.DataFrame, family: dict[str, str]) -> float:
    """Return the median share of the variance of two models' difference that lies
    between families.
    """
    accuracy = ranking.by_language(scores)
    shares = ranking.shared_by_clusters(_gaps(accuracy), accuracy.index.map(family))
    return float(np.median(shares))


def _gaps(accuracy: pd.DataFrame) -> np.ndarray:
    """Return the differences of all pairs of models: (languages, pairs)."""
    first, second = np.triu_indices(accuracy.shape[1], 1)
    return accuracy.to_numpy()[:, first] - accuracy.to_numpy()[:, second]


def languages_needed(scores: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Return which share of the pairs of models differs significantly in random subsets
    of the languages, taken as independent.

    Columns: n (languages), value, ci_low, ci_high (percent: mean and range of 95 % of
    the subsets; all languages are one subset), pairs, series.
    """
    gaps = _gaps(ranking.by_language(scores))
    n_languages, n_pairs = gaps.shape
    rows = []
    for size in [*SUBSETS, scores["lang"].nunique()]:
        rng = np.random.default_rng([seed, size])
        n_subsets = N_SUBSETS if size < n_languages else 1
        subsets = [rng.permutation(n_languages)[:size] for _ in range(n_subsets)]
        shares = [
            (permutation.step_down(gaps[subset], 5000, seed)[1] < 0.05).mean()
            for subset in subsets
        ]
        low, high = np.nan, np.nan
        if n_subsets > 1:
            low, high = bootstrap.percentile_interval(np.array(shares))
        percent = [100 * share for share in (np.mean(shares), low, high)]
        rows.append([size, *percent, n_pairs])
    table = pd.DataFrame(rows, columns=["n", "value", "ci_low", "ci_high", "pairs"])
    return table.assign(series="significant pairs")


def agreements(
    scores: pd.DataFrame, source: str, prompts: str, **options
) -> pd.DataFrame:
    """Return whether other prompts, numbers of classes, tasks and groups of languages
    rank the published models alike.

    `source` and `prompts`: published results, as for `published.read`. A row has the
    columns of `ranking.agreement` (tau is value, with ci_low and ci_high), row (its
    name), comparison (the same, to read) and p_alike (p_own, Holm-adjusted).
    """
    compared = {}
    variants = (
        published.read(prompts).query("metric == 'accuracy@1'").groupby("variant")
    )
    label, translated = (
        variants.get_group(name) for name in ("label only", "translated prompts")
    )
    compared["prompts: label only, translated"] = ranking.agreement(
        label, translated, **options
    )

    means = published.read(source).query("table in ['2', '3'] and lang == ''")
    means = means.drop(columns="lang").rename(columns={"group": "lang"})
    for group in languages.GROUPS:
        of_group = means[means["lang"] == group].groupby("table")
        compared[f"number of classes: all, 100 ({group})"] = ranking.agreement(
            of_group.get_group("2"), of_group.get_group("3"), "models", **options
        )
    for name, part in published.retrieval(source).groupby("dataset", sort=False):
        accuracy = part.rename(columns={"accuracy": "value"})
        recall = part.rename(columns={"recall": "value"})
        compared[f"task: accuracy, recall on {name}"] = ranking.agreement(
            accuracy, recall, **options
        )
    most = languages.GROUPS[-1]
    for group in languages.GROUPS[:-1]:
        compared[f"languages: {group}, {most}"] = ranking.agreement(
            scores[scores["group"] == group],
            scores[scores["group"] == most],
            paired=False,
            **options,
        )

    table = pd.concat(
        [agreement.assign(row=name) for name, agreement in compared.items()],
        ignore_index=True,
    )
    table["p_alike"] = multiple_comparisons.holm(table["p_own"])
    titles = {name: DATASETS[name] for name in ("xflickrco", "xm3600", "xtd")}
    words = titles | {"number of ": ""}
    table["comparison"] = table["row"].replace(words, regex=True)
    columns = {"tau": "value", "tau_low": "ci_low", "tau_high": "ci_high"}
    return table.rename(columns=columns)


def with_expected(agreements: pd.DataFrame) -> pd.DataFrame:
    """Return comparison, value, ci_low, ci_high and series: the taus observed, and
    those to expect if measures rank the models alike.
    """
    columns = ["comparison", "series", "value", "ci_low", "ci_high"]
    observed = agreements.assign(series="observed")
    expected = agreements[agreements["own"].notna()]
    expected = expected.assign(
        series="expected if ranked alike",
        value=expected["own"],
        ci_low=np.nan,
        ci_high=np.nan,
    )
    return pd.concat([observed, expected], ignore_index=True)[columns]


def agreement_table(agreements: pd.DataFrame) -> pd.DataFrame:
    """Return `agreements` as a table to read."""
    to = " to " if agreements["ci_low"].min() < 0 else "–"
    counts = agreements[["swapped", "pairs", "apart_swapped", "apart"]].astype(str)
    both = counts["apart_swapped"] + " of " + counts["apart"]
    return pd.DataFrame(
        {
            "comparison": agreements["comparison"],
            "tau": intervals(agreements, ".2f", 1, to),
            "expected": agreements["own"],
            "p": agreements["p_alike"].map(formatting.p_value),
            "opposite pairs": counts["swapped"] + " of " + counts["pairs"],
            "both significant": both.where(agreements["own"].notna(), "–"),
        }
    )


def difference_table(different: pd.DataFrame) -> pd.DataFrame:
    """Return `different` of `PublishedModels` as a table to read."""
    of_pairs = " of " + different["pairs"].astype(str)
    return pd.DataFrame(
        {
            "languages": different["group"].replace("all", "all languages"),
            "n": different["n"],
            "families": different["families"],
            "pairs, by language": different["by_language"].astype(str) + of_pairs,
            "pairs, by family": different["by_family"].astype(str) + of_pairs,
            "models, by family": different["separate"].replace(1, 0),
        }
    )


def scores(ranks: pd.DataFrame, agreements: pd.DataFrame) -> pd.DataFrame:
    """Return ranks and taus in the columns of schema `scores`."""
    rows = means_and_ranks(ranks)
    rows["metric"] = rows["what"] + " accuracy@1"
    rows["variant"] = "translated prompts"
    taus = agreements.assign(model="", group="", variant=agreements["row"])
    taus["metric"] = "Kendall's tau"
    table = pd.concat([rows, taus], ignore_index=True)
    table = table.assign(task="zeroshot", dataset="babel-imagenet", lang="")
    return table[list(tables.SCORE)].astype({"n": int})
