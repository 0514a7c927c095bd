"""Chapter 23: COCO-SM, retrieval with captions that machines translated from English."""

from collections.abc import Sequence
from typing import NamedTuple

import pandas as pd

from babelatlas.base import languages, published, tables
from babelatlas.report import formatting
from babelatlas.stats import FAMILY_COLUMNS, correlation, permutation

DATASET = "coco-sm"
TRANSLATORS = {"google": "Google", "bing": "Bing", "nllb": "NLLB"}
RECALL, NDCG = "recall@1", "NDCG@20"
WAYS = ("text-to-image", "image-to-text")
METRICS = [f"{metric} {way}" for way in WAYS for metric in (RECALL, NDCG)]
# The interval of a paired difference over families of languages.
ENDS = FAMILY_COLUMNS[:2]


def cells() -> pd.DataFrame:
    """Return the reported values with each translator: lang, model, variant (the
    translator), metric, value (fractions), n.
    """
    reported = published.read("cocosm2023")
    kept = reported[
        (reported["lang"] != "")
        & reported["variant"].isin(TRANSLATORS)
        & reported["metric"].isin(METRICS)
    ]
    return kept.assign(variant=kept["variant"].map(TRANSLATORS))


def cells_of_run(results: str, models: Sequence[str]) -> pd.DataFrame:
    """Return the values of a run's models on COCO-SM as `cells` has those reported: lang,
    model, variant (the translator), metric, value; empty where it has none.
    """
    columns = ["lang", "model", "variant", "metric", "value"]
    files = tables.of_run(results, "scores/languages.parquet")
    if not files:
        return pd.DataFrame(columns=columns)
    scores = tables.read(files[0], "languages")
    scores = scores[(scores["dataset"] == DATASET) & scores["model"].isin(models)]
    names = {
        f"{direction} {metric.lower()}": f"{metric} {way}"
        for direction, way in zip(("t2i", "i2t"), WAYS, strict=True)
        for metric in (RECALL, NDCG)
    }
    scores = scores.assign(
        metric=scores["metric"].map(names),
        variant=scores["captions"].replace(TRANSLATORS),
    )
    return scores.dropna(subset="metric")[columns].reset_index(drop=True)


def lacking(values: pd.DataFrame) -> str:
    """Return that a run has no results on COCO-SM, "" where it has."""
    if len(values):
        return ""
    return (
        "This run has no results on COCO-SM: name `coco-sm` among the data sets of its"
        " config."
    )


class Comparison(NamedTuple):
    """How two models are compared in pairs over languages."""

    first: str
    second: str
    others: pd.DataFrame  # cells in other languages than English
    options: dict  # of `permutation.paired_difference`

    def differences(self, rows: pd.DataFrame, by: list[str]) -> pd.DataFrame:
        """Return the second model minus the first, over languages and their families."""
        pairs = [(self.second, self.first)]
        return permutation.paired_difference(
            rows, by=by, of="model", pairs=pairs, **self.options
        )


def comparison(values: pd.DataFrame, n_resamples: int, seed: int) -> Comparison:
    """Return the comparison of the two models of the cells, without English."""
    others = values[values["lang"] != "en"]
    kin = languages.families(others["lang"].unique())
    options = {"n_resamples": n_resamples, "seed": seed, "kin": kin}
    return Comparison(*values["model"].unique(), others, options)


def leads(compared: Comparison) -> pd.DataFrame:
    """Return the mean difference of the models by metric, over the means of the
    translators: value, interval and p over families; `text`, in points.
    """
    means = compared.others.groupby(["metric", "lang", "model"], as_index=False)
    found = compared.differences(means["value"].mean(), ["metric"]).set_index("metric")
    return found.assign(text=_over_families(found))


def _over_families(found: pd.DataFrame) -> pd.Series:
    ends = found[["value", *ENDS]].set_axis(["value", "ci_low", "ci_high"], axis=1)
    return formatting.intervals(ends, "+.1f", to=" to ")


def recalls(values: pd.DataFrame) -> pd.DataFrame:
    """Return recall@1 by way, language and model: mean, lowest and highest translator
    (`ci_low`, `ci_high`); languages with the highest mean first.
    """
    spread = values.groupby(["lang", "model", "metric"])["value"]
    rows = spread.agg(["mean", "min", "max"]).reset_index()
    rows = rows[rows["metric"].str.startswith(RECALL)]
    rows = rows.rename(columns={"mean": "value", "min": "ci_low", "max": "ci_high"})
    rows["language"] = rows["lang"].map(languages.name)
    rows["way"] = rows["metric"].str.removeprefix(f"{RECALL} ").str.replace("-", " ")
    means = rows.groupby("language")["value"].mean()
    order = means.sort_values(ascending=False, kind="stable").index
    rows = rows.sort_values(
        "language", key=lambda names: names.map(order.get_loc), kind="stable"
    )
    return rows.sort_values("way", ascending=False, kind="stable")


def wins(rows: pd.DataFrame, compared: Comparison) -> str:
    """Return in how many languages the second model has the higher mean recall, as
    text, way by way.
    """
    elsewhere = rows[rows["lang"] != "en"]
    means = elsewhere.pivot(index=["way", "language"], columns="model", values="value")
    won = means[compared.second].gt(means[compared.first])
    won = won.groupby(level="way", sort=False).agg(["sum", "size"])
    return ", ".join(
        f"in {row['sum']} of {row['size']} languages from {way}"
        for way, row in won.iloc[::-1].iterrows()
    )


def spread_of_translators(rows: pd.DataFrame) -> str:
    """Return how far apart the translators are within a language, as text by model:
    median and maximum in points, without English.
    """
    elsewhere = rows[rows["lang"] != "en"]
    apart = 100 * (elsewhere["ci_high"] - elsewhere["ci_low"])
    by_model = apart.groupby(elsewhere["model"]).agg(["median", "max"])
    return "; ".join(
        f"{row.Index} {row.median:.1f} points, at most {row.max:.1f}"
        for row in by_model.itertuples()
    )


def gaps_by_translator(compared: Comparison) -> pd.DataFrame:
    """Return the difference of the models with each translator, in points (of NDCG in
    hundredths), with its interval over families.
    """
    found = compared.differences(compared.others, ["variant", "metric"])
    found["way"] = (
        found["metric"].str.replace("@1 ", "@1\n").str.replace("@20 ", "@20\n")
    )
    percent = 100 * found[["value", *ENDS]].to_numpy()
    found[["value", "ci_low", "ci_high"]] = percent
    return found.sort_values(
        "metric", key=lambda names: names.map(METRICS.index), kind="stable"
    )


def n_changed(gaps: pd.DataFrame) -> int:
    """Return for how many metrics the better model depends on the translator."""
    share = gaps["value"].gt(0).groupby(gaps["metric"]).mean()
    return int(share.between(0, 1, inclusive="neither").sum())


def translators_compared(compared: Comparison) -> pd.DataFrame:
    """Return the differences between translators within each model, in recall@1 from
    text to image, with `text` (points) and `p`, both as a reader sees them.
    """
    recall = compared.others[compared.others["metric"] == METRICS[0]]
    found = permutation.paired_difference(
        recall, by=["model"], of="variant", pairs=None, **compared.options
    )
    p = formatting.language_and_family_tests(found).iloc[:, 3]
    return found.assign(text=_over_families(found), p_text=p)


class Metrics(NamedTuple):
    """Recall and NDCG of each language, and how they agree."""

    means: pd.DataFrame  # by way, model and language: both metrics, panel, kin
    correlations: pd.DataFrame  # within each model and way, by method
    better: pd.DataFrame  # by way: which model has the higher mean of each metric


def both_metrics(compared: Comparison) -> Metrics:
    """Return recall@1 and NDCG@20 by language, means over the translators, without
    English, and their correlation within a model.
    """
    named = compared.others["metric"].str.split(expand=True)
    rows = compared.others.assign(kind=named[0], way=named[1].str.replace("-", " "))
    means = rows.groupby(["way", "model", "lang", "kind"])["value"].mean()
    means = means.unstack("kind").reset_index()
    means = means.sort_values(["way", "model"], ascending=[False, True])
    means["panel"] = means["way"] + "\n" + means["model"].str.split().str[0]
    means["kin"] = means["lang"].map(compared.options["kin"])
    options = {name: compared.options[name] for name in ("n_resamples", "seed")}
    found = [
        correlation.correlate(part, RECALL, NDCG, "kin", **options).assign(
            name=", ".join(place)
        )
        for place, part in means.groupby(["way", "model"], sort=False)
    ]
    level = means.groupby(["way", "model"], sort=False)[[RECALL, NDCG]].mean()
    level = level.unstack("model")
    better = {metric: level[metric].idxmax(axis=1) for metric in (RECALL, NDCG)}
    return Metrics(means, pd.concat(found, ignore_index=True), pd.DataFrame(better))


def better_by_way(better: pd.DataFrame) -> str:
    """Return which model has the higher means in each way, in words.

    `better`: model by way and metric (`both_metrics`).
    """
    parts = []
    for way, row in better.iterrows():
        if row[RECALL] == row[NDCG]:
            parts.append(f"from {way} {row[RECALL]} has both higher means")
        else:
            parts.append(
                f"from {way} {row[RECALL]} has the higher mean recall and {row[NDCG]}"
                " the higher mean NDCG"
            )
    return "; ".join(parts)


def values_by_language(values: pd.DataFrame, way: str) -> pd.DataFrame:
    """Return the values of one way as a reader sees them: mean over the translators,
    lowest and highest in brackets; recall in percent, a row for each language.
    """
    rows = values[values["metric"].str.endswith(way)]
    spread = rows.groupby(["lang", "model", "metric"])["value"]
    spread = spread.agg(["mean", "min", "max"]).reset_index()
    spread["text"] = [_value_text(row) for row in spread.itertuples()]
    table = spread.pivot(index="lang", columns=["metric", "model"], values="text")
    of_way = [metric for metric in METRICS if metric.endswith(way)]
    table = table[[metric for metric in of_way if metric in table]]
    units = {RECALL: f"{RECALL} (%)", NDCG: NDCG}
    table.columns = [
        f"{model.split()[0]}, {units[metric.split()[0]]}"
        for metric, model in table.columns
    ]
    table.index = table.index.map(languages.name)
    return table.sort_index().rename_axis("language").reset_index()


def means_over_languages(values: pd.DataFrame) -> pd.DataFrame:
    """Return means and standard deviations over languages, English included, of the
    means over the translators ("all") and of each translator, as a reader sees them.

    As the authors' tables have them (their reduced reports): the deviation is that of a
    sample, recall is in percent. `values`: as `cells_of_run` returns them.
    """
    key = ["lang", "model", "metric"]
    every = values.groupby(key, as_index=False)["value"].mean().assign(variant="all")
    both = pd.concat([every, values])
    spread = both.groupby(["model", "variant", "metric"], sort=False)["value"]
    spread = spread.agg(["mean", "std", "size"]).reset_index()
    spread["text"] = [_mean_text(row) for row in spread.itertuples()]
    table = spread.pivot(index=["model", "variant"], columns="metric", values="text")
    table = table[[metric for metric in METRICS if metric in table]].reset_index()
    is_all = table["variant"] == "all"
    table = pd.concat([table[is_all], table[~is_all]])
    table = table.sort_values("model", kind="stable", ignore_index=True)
    units = {metric: f"{metric} (%)" for metric in METRICS if RECALL in metric}
    names = {"variant": "translator", **units}
    return table.rename(columns=names).rename_axis(columns=None)


def _mean_text(row) -> str:
    is_recall = row.metric.startswith(RECALL)
    unit, digits = (100, 1) if is_recall else (1, 3)
    mean = f"{unit * row.mean:.{digits}f}"
    return mean if row.size == 1 else f"{mean} ± {unit * row.std:.{digits}f}"


def _value_text(row) -> str:
    is_recall = row.metric.startswith(RECALL)
    unit, digits = (100, 1) if is_recall else (1, 3)
    mean, low, high = (unit * value for value in (row.mean, row.min, row.max))
    ends = f" ({low:.{digits}f}–{high:.{digits}f})" if low < high else ""
    return f"{mean:.{digits}f}{ends}"


def ahead(found: pd.DataFrame, compared: Comparison) -> pd.Series:
    """Return which model is ahead by metric, "neither model" where the families of
    languages do not decide.
    """
    names = found["value"].gt(0).map({True: compared.second, False: compared.first})
    return names.where(found["p_family_holm"] < 0.05, "neither model")
