"""Chapter 37: how accuracy depends on the number of classes to choose from, and whether
languages and models keep their order.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
import scipy

from babelatlas.analysis import real_run
from babelatlas.base import languages, published, tables
from babelatlas.base.errors import InputError
from babelatlas.evaluation import protocol
from babelatlas.report import formatting
from babelatlas.stats import bootstrap, correlation, regression

COLUMNS = ["dataset", "model", "lang", "n_classes", "value", "ci_low", "ci_high"]
COLUMNS += ["n_images"]
MOST_PANELS = 4
MODELS_KEPT = ["data", "classes", "value", "ci_low", "ci_high", "models", "n"]


def curves_of_run(
    results: str, models: Sequence[str], datasets: Sequence[str]
) -> pd.DataFrame:
    """Return the exact curves of a run: COLUMNS, value and interval as fractions; empty
    where it has none.

    Models and data sets stand in the order given. Of several protocols of a model the
    first counts (`protocol.single`).
    """
    parts = []
    known = set(tables.of_run(results, "curves/*.parquet"))
    for dataset in datasets:
        for model in models:
            path = tables.locate(results) / "curves" / f"{model}_{dataset}.parquet"
            if path in known:
                parts.append(protocol.single(tables.read(path, "curves")))
    if not parts:
        return pd.DataFrame(columns=COLUMNS)
    return pd.concat(parts, ignore_index=True)[COLUMNS]


def real_curves(results: str, models: Sequence[str]) -> pd.DataFrame:
    """Return accuracy of real models on photographs by number of classes: COLUMNS.

    Of the run in `results` where it evaluated the photographs itself, else what ships,
    which has round numbers of classes.
    """
    curves = real_run.read("curves", results)
    is_asked = curves["model"].isin(models) & (curves["dataset"] == real_run.WHOLE)
    return protocol.single(curves[is_asked])[COLUMNS].reset_index(drop=True)


def shown_languages(curves: pd.DataFrame, wanted: Sequence[str]) -> list[str]:
    """Return the languages of `wanted` that have curves, else the four with the most
    classes.
    """
    most = curves.groupby("lang")["n_classes"].max().sort_values(ascending=False)
    found = [lang for lang in wanted if lang in most.index]
    return found or list(most.index[:4])


def drawn(curves: pd.DataFrame, langs: Sequence[str]) -> pd.DataFrame:
    """Return the curves of some languages with `panel` (the model, and the data set
    where there are several) and `language`; of the first `MOST_PANELS` panels.
    """
    rows = curves[curves["lang"].isin(langs)].copy()
    several = len(set(rows["dataset"])) > 1
    where = ", " + rows["dataset"] if several else ""
    rows["panel"] = rows["model"] + where
    panels = list(dict.fromkeys(rows["panel"]))[:MOST_PANELS]
    rows = rows[rows["panel"].isin(panels)]
    order = {lang: place for place, lang in enumerate(langs)}
    rows = rows.assign(
        language=rows["lang"].map(languages.name), order=rows["lang"].map(order)
    )
    rows["place"] = rows["panel"].map(panels.index)
    rows = rows.sort_values(["place", "order", "n_classes"], kind="stable")
    return rows.drop(columns=["order", "place"]).reset_index(drop=True)


def at(curves: pd.DataFrame, model: str, lang: str) -> pd.DataFrame:
    """Return the curve of a model in a language, from few classes to many."""
    is_asked = (curves["model"] == model) & (curves["lang"] == lang)
    return curves[is_asked].sort_values("n_classes", kind="stable", ignore_index=True)


def per_doubling(curve: pd.DataFrame, sizes: Iterable[int]) -> tuple[float, float]:
    """Return the points of accuracy that a doubling of the number of classes costs, and
    the share of the variance that this line explains (R²), over some sizes and all.
    """
    kept = curve["n_classes"].isin([*sizes, curve["n_classes"].max()])
    points = curve[kept]
    fit = regression.log_linear_fit(points["n_classes"], points["value"], None, 20)
    return -float(fit["per_doubling"].iloc[0]), float(fit["r2"].iloc[0])


def order_kept(
    curves: pd.DataFrame,
    sizes: Sequence[int],
    reference: int,
    fewest: int,
    n_resamples: int,
    seed: int,
) -> pd.DataFrame:
    """Return whether languages keep their order with fewer classes: Spearman's
    correlation over languages of accuracy among k classes with accuracy among
    `reference` classes, of languages that have as many.

    Columns: dataset, model, n_classes, value, ci_low, ci_high (over language families),
    n (languages). Models with fewer than `fewest` such languages, of at least two
    families, are left out.
    """
    rows = []
    for (dataset, model), part in curves.groupby(["dataset", "model"], sort=False):
        by_size = part.pivot(index="lang", columns="n_classes", values="value")
        smaller = _smaller_sizes(by_size, sizes, reference)
        if not smaller:
            continue
        by_size = by_size[by_size[reference].notna()]
        families = _families(by_size.index)
        if len(by_size) < fewest or families.nunique() < 2:
            continue
        for size in smaller:
            table = pd.DataFrame(
                {
                    "few": by_size[size].to_numpy(),
                    "many": by_size[reference].to_numpy(),
                    "kin": families.to_numpy(),
                }
            )
            found = correlation.correlate(
                table, "few", "many", "kin", ["spearman"], n_resamples, seed=seed
            )
            rows.append(found.assign(dataset=dataset, model=model, n_classes=size))
    columns = ["dataset", "model", "n_classes", "value", "ci_low", "ci_high", "n"]
    if not rows:
        return pd.DataFrame(columns=columns)
    return pd.concat(rows, ignore_index=True)[columns]


def _smaller_sizes(
    by_size: pd.DataFrame, sizes: Sequence[int], reference: int
) -> list[int]:
    """Return the sizes below the reference of which there are accuracies, by number of
    classes (columns); none where the reference has none.
    """
    if reference not in by_size:
        return []
    return [size for size in sizes if size < reference and size in by_size]


def _families(codes: pd.Index) -> pd.Series:
    """Return the families of languages, by their codes."""
    return pd.Series(languages.families(codes), dtype=object).reindex(codes)


def published_models_kept(source: str) -> pd.DataFrame:
    """Return whether published models keep their order with 100 random classes:
    MODELS_KEPT, for each group of languages.

    Spearman's correlation over models of mean accuracy with all classes (Table 2 of
    Geigle et al. 2024) and with 100 (Table 3). No interval: no accuracies by language
    are published for 100. `n`: languages of the group.
    """
    means = published.accuracy_by_group(source)
    means = means[~means["group"].isin(["English", "very low"])]
    rows = []
    for group, part in means.groupby("group", sort=False):
        by_model = part.pivot(index="model", columns="table", values="value").dropna()
        rho = scipy.stats.spearmanr(by_model["2"], by_model["3"])[0]
        row = {"data": "published", "classes": f"100 and all, {group} group"}
        n_languages = part["n"].max()
        rows.append(row | {"value": rho, "models": len(by_model), "n": n_languages})
    return pd.DataFrame(rows).reindex(columns=MODELS_KEPT)


def models_kept(
    curves: pd.DataFrame,
    sizes: Sequence[int],
    reference: int,
    fewest: int,
    n_resamples: int,
    seed: int,
) -> pd.DataFrame:
    """Return whether models keep their order with fewer classes: MODELS_KEPT, for each
    data set and number of classes.

    Spearman's correlation over models of mean accuracy among k classes with that among
    `reference`, over the languages other than English that have as many for every
    model; 95 % intervals over language families, for these models. Data sets with fewer
    than `fewest` models, or languages of one family, are left out.
    """
    rows = []
    others = curves[curves["lang"] != "en"]
    for dataset, part in others.groupby("dataset", sort=False):
        index = ["lang", "model"]
        by_size = part.pivot(index=index, columns="n_classes", values="value")
        smaller = _smaller_sizes(by_size, sizes, reference)
        if not smaller:
            continue
        of_reference = by_size[reference].unstack("model").dropna()
        families = _families(of_reference.index)
        n_models = of_reference.shape[1]
        if n_models < fewest or families.nunique() < 2:
            continue
        for size in smaller:
            few = by_size[size].unstack("model").loc[of_reference.index]
            found = _order_of_models(few, of_reference, families, n_resamples, seed)
            of_what = {"data": dataset, "classes": f"{size} and {reference}"}
            rows.append(found | of_what | {"models": n_models})
    return pd.DataFrame(rows).reindex(columns=MODELS_KEPT)


def _order_of_models(
    few: pd.DataFrame,
    many: pd.DataFrame,
    families: pd.Series,
    n_resamples: int,
    seed: int,
) -> dict:
    """Return Spearman's correlation over models (columns) of means over languages
    (rows), with its interval over families.
    """
    codes, names = pd.factorize(families)
    weights = bootstrap.resample_weights(len(names), n_resamples, seed)[:, codes]
    resampled = [
        scipy.stats.spearmanr(row @ few.to_numpy(), row @ many.to_numpy())[0]
        for row in weights
    ]
    low, high = bootstrap.percentile_interval(
        np.array(resampled), n_clusters=len(names)
    )
    value = scipy.stats.spearmanr(few.mean(), many.mean())[0]
    ends = {"ci_low": max(-1, min(low, value)), "ci_high": min(1, max(high, value))}
    return {"value": value, "n": len(many)} | ends


def with_run(published_rows: pd.DataFrame, rows_of_run: pd.DataFrame) -> pd.DataFrame:
    """Return published rows and those of a run, which may have none, as one table."""
    parts = [part for part in (published_rows, rows_of_run) if len(part)]
    return pd.concat(parts, ignore_index=True)


def models_table(kept: pd.DataFrame) -> pd.DataFrame:
    """Return MODELS_KEPT as a reader sees it."""
    has_interval = kept["ci_low"].notna()
    cells = kept["value"].map("{:.2f}".format)
    if has_interval.any():
        intervals = formatting.intervals(kept[has_interval], ".2f", 1, " to ")
        cells = cells.mask(has_interval, intervals)
    shown = kept[["data", "classes", "models"]]
    return shown.assign(**{"languages": kept["n"], "Spearman's ρ": cells})


def least_alike(kept: pd.DataFrame, reference: int) -> pd.Series:
    """Return the row of `order_kept` with the lowest correlation; raise InputError where
    there is none.
    """
    if kept.empty:
        raise InputError(
            f"Too few languages have accuracies of photographs among {reference} classes"
            " and among fewer: give another reference, or other sizes."
        )
    return kept.loc[kept["value"].idxmin()]


def lead(curves: pd.DataFrame, sizes: Sequence[int]) -> str:
    """Return what a doubling of the number of classes costs the first model of a run, in
    English or else in the language with the most classes; "" without curves.
    """
    if curves.empty:
        return ""
    model = curves["model"].iloc[0]
    of_model = curves[curves["model"] == model]
    lang = shown_languages(of_model, ["en"])[0]
    points, _ = per_doubling(at(of_model, model, lang), sizes)
    return (
        f"{model} loses {points:.1f} points of accuracy in {languages.name(lang)} with"
        " each doubling of the number of classes"
    )


def order_table(kept: pd.DataFrame, reference: int) -> pd.DataFrame:
    """Return `order_kept` as a reader sees it: a row for each model and data set, a
    column for each number of classes.
    """
    cells = kept.assign(cell=formatting.intervals(kept, ".2f", 1, " to "))
    key = ["model", "dataset", "n"]
    table = cells.pivot(index=key, columns="n_classes", values="cell")
    table = table.reindex(cells.set_index(key).index.unique())
    table.columns = [f"{size} and {reference}" for size in table.columns]
    return table.reset_index().rename(columns={"n": "languages", "dataset": "data set"})


def lacking(curves: pd.DataFrame) -> str:
    """Return why there is no curve of a run, "" where there are some."""
    if len(curves):
        return ""
    return (
        "This run has no results with different numbers of classes: name models and a"
        " data set to classify in its config."
    )


def write(
    kept: pd.DataFrame, kept_of_run: pd.DataFrame, output: str, settings: dict
) -> None:
    """Write whether languages keep their order, schema `scores`."""
    parts = [part for part in (kept, kept_of_run) if len(part)]
    found = pd.concat([pd.DataFrame(columns=kept.columns), *parts], ignore_index=True)
    scores = found.assign(
        task="zeroshot",
        lang="",
        group="",
        variant=found["n_classes"].astype(str) + " classes",
        metric="spearman correlation of accuracy@1 with that among more classes",
    )
    scores = scores.astype({"value": float, "ci_low": float, "ci_high": float})
    tables.write(scores[list(tables.SCHEMAS["scores"][0])], output, "scores", settings)
