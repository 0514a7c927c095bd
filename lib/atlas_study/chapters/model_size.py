"""How recall changes with the size of models that were trained on the same data, and
what models cost in milliseconds and memory.

Sizes are compared within a training data set only. Languages are related: intervals
resample families of languages, tests flip the signs of families, too.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
import scipy
from matplotlib.axes import Axes

from babelatlas.analysis import real_models
from babelatlas.base import languages, released
from babelatlas.report import formatting
from babelatlas.report.figures import look
from babelatlas.report.formatting import intervals
from babelatlas.stats import (
    bootstrap,
    correlation,
    mixed_model,
    multiple_comparisons,
    permutation,
)
from babelatlas.stats.distributions import t_quantile

ENGLISH = "en"
SIZES = {"gflops": "FLOPs", "parameters_m": "parameters"}
# What of a table of slopes is on the scale of the recalls.
ESTIMATES = ["value", "ci_low", "ci_high", "family_low", "family_high"]


def constant_data(
    recall: pd.DataFrame, least: int = 3, models: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Return the models to compare by size: data (training data), model, title, gflops,
    parameters_m, image_size.

    Only training data with `least` models of different FLOPs, those with a multilingual
    text tower being a group of their own. Of several models of one family,
    architecture, text tower and image size on the same data, the one that saw most
    samples stands for all, of equal ones the first by name.
    """
    models = released.models() if models is None else models
    has_results = models["model"].isin(recall.columns)
    has_size = models["gflops"].notna() & (models["training_data"] != "")
    models = models[has_results & has_size].reset_index(drop=True)
    models = models.sort_values(["samples_seen", "model"], ascending=[False, True])

    data_sets = models["training_data"].str.partition(",")[0]
    is_multilingual = models["multilingual_text"] == "yes"
    models["data"] = data_sets + is_multilingual.map(
        {True: " (multilingual)", False: ""}
    )
    design = ["data", "family", "architecture", "text_tower", "image_size"]
    models = models.drop_duplicates(design)
    of_data = models.groupby("data")
    models = models[of_data["gflops"].transform("nunique") >= least]
    models["n_models"] = models.groupby("data")["model"].transform("size")
    models = models.sort_values(
        ["n_models", "data", "gflops", "model"],
        ascending=[False, True, True, True],
        ignore_index=True,
    )
    return models[["data", "model", "title", "gflops", "parameters_m", "image_size"]]


def slopes_by_scale(
    recall: pd.DataFrame, sizes: pd.DataFrame, **options
) -> pd.DataFrame:
    """Return `slopes` against FLOPs and against parameters, of log odds and of recall.

    Added columns: size ("FLOPs", "parameters") and scale ("logit", "accuracy").
    """
    parts = [
        slopes(recall, sizes, x, scale, **options).assign(size=size, scale=scale)
        for x, size in SIZES.items()
        for scale in ("logit", "accuracy")
    ]
    return pd.concat(parts, ignore_index=True)


def slopes(
    recall: pd.DataFrame,
    sizes: pd.DataFrame,
    x: str = "gflops",
    scale: str = "logit",
    n_resamples: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """Return how much recall changes with ten times the size: in English, in the
    others, and the difference of both.

    `sizes` as of `constant_data`; `x`: its column "gflops" or "parameters_m"; `scale`
    of mixed_model.SCALES, applied to English recall and to the mean recall of the
    others. Rows: for each `data`, and pooled with a fixed effect of the data ("all"),
    `of` "English", "others" and "others - English". Columns: value, ci_low, ci_high, p,
    family_low, family_high (bootstrap over families of languages), n (models),
    n_families, p_holm (over the data, for each `of`).

    Interval and p of one data set are those of a line through its models (Student's t);
    of all together the interval resamples data sets and, where others are concerned,
    families; p flips the signs of data sets.
    """
    centred, member = within_data(sizes, x)
    data_sets = list(dict.fromkeys(sizes["data"]))
    n_data = len(data_sets)
    resampled = bootstrap.resample_weights(n_data, n_resamples, seed + 1)
    data_weights = np.vstack([np.ones(n_data), resampled])
    family = languages.families(recall.index.drop(ENGLISH))
    n_families = len(set(family.values()))

    parts = []
    recalls = recall[sizes["model"]]
    for of, values in _resampled_recall(recalls, scale, n_resamples, seed):
        products = (values * centred) @ member
        squares = centred**2 @ member
        by_data = _lines(centred, member, values[0])
        if of != "English":
            of_families = (products / squares)[1:]
            ends = bootstrap.percentile_interval(of_families, n_clusters=n_families)
            by_data["family_low"], by_data["family_high"] = ends

        weighted = data_weights * products
        pooled = weighted.sum(axis=1) / (data_weights * squares).sum(axis=1)
        low, high = bootstrap.percentile_interval(
            pooled[1:], n_clusters=min(n_data, n_families)
        )
        p = permutation.paired_permutation_test(products[0], seed=seed)
        by_data.loc[n_data] = [pooled[0], low, high, p, np.nan, np.nan, len(sizes)]
        parts.append(by_data.assign(data=[*data_sets, "all"], of=of))
    table = pd.concat(parts, ignore_index=True).astype({"n": int})
    table = table[["data", "of", *table.columns.drop(["data", "of"])]]
    table = table.assign(n_families=n_families)
    return table.assign(
        p_holm=table.groupby("of")["p"].transform(multiple_comparisons.holm)
    )


def within_data(sizes: pd.DataFrame, x: str) -> tuple[np.ndarray, np.ndarray]:
    """Return log10 of column `x` less its mean in the data set, and which model is of
    which data set (1 or 0).
    """
    log = np.log10(sizes[x])
    centred = log - log.groupby(sizes["data"]).transform("mean")
    columns = [sizes["data"] == name for name in dict.fromkeys(sizes["data"])]
    return centred.to_numpy(), np.column_stack(columns).astype(float)


def _resampled_recall(
    recall: pd.DataFrame, scale: str, n_resamples: int, seed: int
) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the recall of the models in English, in the others, and the difference:
    (1 + resamples, models), on a scale.

    The first row is that of all languages, the others resample families.
    """
    others = recall.drop(ENGLISH)
    families = list(languages.families(others.index).values())
    names, index = np.unique(families, return_inverse=True)
    resampled = bootstrap.resample_weights(len(names), n_resamples, seed)
    weights = np.vstack([np.ones(len(names)), resampled])[:, index]
    means = weights @ others.to_numpy() / weights.sum(axis=1, keepdims=True)

    transform = mixed_model.SCALES[scale][0]
    of_others = transform(means)
    english = transform(recall.loc[ENGLISH].to_numpy(float))
    english = np.broadcast_to(english, of_others.shape)
    yield "English", english
    yield "others", of_others
    yield "others - English", of_others - english


def _lines(centred: np.ndarray, member: np.ndarray, values: np.ndarray) -> pd.DataFrame:
    """Return the slope of each data set's line with its interval and p (Student's t).

    The columns family_low and family_high are NaN.
    """
    rows = []
    for in_data in member.T > 0:
        line = scipy.stats.linregress(centred[in_data], values[in_data])
        n = in_data.sum()
        half_width = t_quantile(0.975, n - 2) * line.stderr
        low, high = line.slope - half_width, line.slope + half_width
        rows.append([line.slope, low, high, line.pvalue, np.nan, np.nan, n])
    columns = ["value", "ci_low", "ci_high", "p", "family_low", "family_high", "n"]
    return pd.DataFrame(rows, columns=columns)


class LanguageGains(NamedTuple):
    """What models with ten times the FLOPs gain, in points of recall@1.

    `others`: lang, points, mean (recall, a fraction), name, kind ("Latin script",
    "other scripts"), family; the largest gain first. `english`: points. `by_script`:
    mean of each kind with its interval over families. `gap`: points of the others less
    those of English; `p_by_language` and `p_by_family`: sign-flip tests of its mean.
    """

    others: pd.DataFrame
    english: float
    by_script: pd.DataFrame
    gap: pd.Series
    p_by_language: float
    p_by_family: float


def gains_by_language(
    recall: pd.DataFrame, sizes: pd.DataFrame, n_resamples: int = 2000, seed: int = 0
) -> LanguageGains:
    """Return how many points larger models gain in each language, within training data
    sets.
    """
    centred, _ = within_data(sizes, "gflops")
    recalls = recall[sizes["model"]]
    points = 100 * (recalls.to_numpy() @ centred / (centred @ centred))
    gains = pd.DataFrame({"lang": recall.index, "points": points})
    gains["mean"] = recalls.mean(axis=1).to_numpy()
    gains = gains.sort_values("points", ascending=False, ignore_index=True)
    is_english = gains["lang"] == ENGLISH
    english = gains.loc[is_english, "points"].item()

    others = gains[~is_english].copy()
    script = languages.table().set_index("code")["script"]
    is_latin = others["lang"].map(script) == "Latn"
    others["name"] = others["lang"].map(languages.name)
    others["kind"] = np.where(is_latin, "Latin script", "other scripts")
    others["family"] = others["lang"].map(languages.families(others["lang"]))
    by_script = bootstrap.group_means(
        others, ["kind"], "points", "family", n_resamples, seed
    )
    gap = others["points"] - english
    by_language = permutation.paired_permutation_test(gap, seed=seed)
    by_family = permutation.paired_permutation_test(
        gap, seed=seed, clusters=others["family"]
    )
    return LanguageGains(others, english, by_script, gap, by_language, by_family)


def pooled_by_choice(
    recall_of: dict[str, pd.DataFrame], least: int, **options
) -> pd.DataFrame:
    """Return the pooled odds ratios of other choices of models and captions, as a table
    to read.

    `recall_of`: data set -> recall; choices of models are made on the first, and all
    models compared on the languages that all data sets share.
    """
    models = released.models()
    first = next(iter(recall_of.values()))
    is_vit = models["architecture"].str.startswith("ViT")
    clip_text = models["text_tower"] == "CLIP transformer"
    choices = [
        ("all", first, models),
        ("224 pixels", first, models[models["image_size"] == 224]),
        ("ViT, CLIP text tower", first, models[is_vit & clip_text]),
        (
            "text tower not multilingual",
            first,
            models[models["multilingual_text"] == "no"],
        ),
    ]
    codes = [set(recall.index) for recall in recall_of.values()]
    shared = [code for code in first.index if code in set.intersection(*codes)]
    for dataset, recall in recall_of.items():
        title = real_models.DATASETS[dataset]
        name = f"all, {len(shared) - 1} other languages, {title}"
        choices.append((name, recall.loc[shared], models))

    rows = []
    for name, recall, chosen in choices:
        sizes = constant_data(recall, least, chosen)
        pooled = slopes(recall, sizes, **options).query("data == 'all'")
        pooled = pooled.assign(**np.exp(pooled[ESTIMATES]))
        n_models = f"{len(sizes)} ({sizes['data'].nunique()})"
        rows.append([name, n_models, *intervals(pooled, ".2f", 1)])
    columns = ["models chosen", "models (data sets)", "English", "others", "ratio"]
    return pd.DataFrame(rows, columns=columns)


class MeasuredCosts(NamedTuple):
    """Immich's measurements: time and memory on one processor, and the mean of
    recall@1, 5 and 10.

    `scores`: model, lang, value and percent, title, family, milliseconds, memory_mib.
    `n_spoilt`: models measured with a tokenisation that spoils words with other letters
    than a to z. `fastest`: the Pareto front of each language shown, and `rivals`:
    the models compared in pairs (`compare_rivals`), both tables to read.
    `multilingual`: the points of `figures.cost_fronts` for models with results in many
    languages, means over the `n_languages` that all of them have. `flops`: models with
    both GFLOPs and milliseconds, and `times`: the milliseconds divided by those of a
    line of log milliseconds on log GFLOPs. `correlation`: Spearman's of the two, over
    families of models.
    """

    scores: pd.DataFrame
    n_spoilt: int
    fastest: pd.DataFrame
    rivals: pd.DataFrame
    multilingual: pd.DataFrame
    n_languages: int
    flops: pd.DataFrame
    correlation: pd.DataFrame


def measured_costs(
    least_languages: int,
    shown: Sequence[str],
    rivals: Sequence[Sequence[str]],
    **options,
) -> MeasuredCosts:
    """Return what models cost by Immich's measurements.

    `least_languages`: results that a multilingual model has, at least; `shown`:
    languages of `fastest`; `rivals`: pairs of models to compare; `options`: of the
    bootstrap (n_resamples, seed).
    """
    scores = real_models.board(
        "immich", "immich", "mean of recall@1, 5, 10", everywhere=True
    )
    models = released.models()
    models = models.loc[sorted(set(scores["model"]))]
    points, n_languages = _cost_points(scores, models, least_languages)

    both = models.dropna(subset=["gflops", "milliseconds"])
    spearman = correlation.correlate(
        both, "gflops", "milliseconds", "family", ["spearman"], **options
    )
    x, y = np.log(both["gflops"]), np.log(both["milliseconds"])
    expected = np.polyval(np.polyfit(x, y, 1), x)
    flops = both.assign(times=np.exp(y - expected)).sort_values("times")

    columns = ["title", "family", "milliseconds", "memory_mib"]
    scores = scores.join(models[columns], on="model")
    scores["percent"] = 100 * scores["value"]
    spoilt = released.checkpoints().query("harness == 'immich' and use == 'English'")
    n_spoilt = scores["model"][scores["model"].isin(spoilt["model"])].nunique()
    return MeasuredCosts(
        scores=scores,
        n_spoilt=n_spoilt,
        fastest=_fastest(scores, shown),
        rivals=compare_rivals(scores, rivals, **options),
        multilingual=points,
        n_languages=n_languages,
        flops=flops,
        correlation=spearman,
    )


def _fastest(scores: pd.DataFrame, shown: Sequence[str]) -> pd.DataFrame:
    """Return the models of each language that no faster one beats, the fastest first."""
    fronts = []
    for lang in shown:
        of_language = scores[scores["lang"] == lang]
        front = real_models.pareto_front(of_language, "milliseconds", "percent")
        fronts.append(front.assign(language=languages.name(lang)))
    columns = {
        "language": "language",
        "milliseconds": "milliseconds",
        "title": "model",
        "percent": "mean of recall@1, 5, 10 (%)",
    }
    return pd.concat(fronts)[list(columns)].rename(columns=columns)


def _cost_points(
    scores: pd.DataFrame, models: pd.DataFrame, least_languages: int
) -> tuple[pd.DataFrame, int]:
    """Return the points of `figures.cost_fronts` by milliseconds and by memory, and the
    number of languages.
    """
    recall = scores.pivot(index="lang", columns="model", values="value")
    recall = recall.loc[:, recall.notna().sum() >= least_languages].dropna()
    rows = models.loc[recall.columns]
    rows = rows.assign(value=recall.mean(), name=rows["title"], series=rows["family"])
    points = pd.concat(
        [
            rows.assign(panel="milliseconds", cost=rows["milliseconds"]),
            rows.assign(panel="memory (MiB)", cost=rows["memory_mib"]),
        ],
        ignore_index=True,
    )
    fronts = [
        real_models.pareto_front(panel, "cost", "value")
        for _, panel in points.groupby("panel", sort=False)
    ]
    on_front = pd.concat(fronts)
    best_first = on_front.sort_values("value", ascending=False, kind="stable")
    names = list(best_first["model"].unique())
    numbers = points["model"].map(
        {name: number for number, name in enumerate(names, 1)}
    )
    numbers = numbers.where(points.index.isin(on_front.index)).fillna(0)
    return points.assign(number=numbers.astype(int)), len(recall)


def compare_rivals(
    scores: pd.DataFrame, rivals: Sequence[Sequence[str]], **options
) -> pd.DataFrame:
    """Compare models in pairs by their scores in the languages that both have, as a
    table to read.

    `scores` as of `MeasuredCosts`; intervals and p over language families.
    """
    tested = permutation.paired_difference(
        scores, pairs=rivals, kin=languages.families(scores["lang"]), **options
    )
    tested[["ci_low", "ci_high"]] = tested[["family_low", "family_high"]]
    title = scores.drop_duplicates("model").set_index("model")["title"]
    recall = scores.pivot(index="lang", columns="model", values="value")
    gaps = [recall[first] - recall[second] for first, second in rivals]
    n_lower = [f"{(gap < 0).sum()} of {gap.notna().sum()} languages" for gap in gaps]
    return pd.DataFrame(
        {
            "models": [" − ".join(title[list(pair)]) for pair in rivals],
            "difference (points)": intervals(tested, "+.1f", to=" to "),
            "p": tested["p_family_holm"].map(formatting.p_value),
            "lower in": n_lower,
        }
    )


def size_lines(
    table: pd.DataFrame, x: str, xlabel: str, ticks: Sequence[float]
) -> np.ndarray:
    """Draw recall against the size of the models, panels side by side, with a line for
    each value of `series`.

    `table`: panel, series, x (the column named), value (a fraction between 0 and 1).
    Sizes are on a log axis with `ticks`, values on one of log odds, on which each line
    is the least-squares one. Returns the Axes of the panels.
    """
    panels = look.in_order(table["panel"])
    names = look.in_order(table["series"])
    figure, axes = look.side_by_side(panels, 5.0)
    for axis, panel in zip(axes, panels, strict=True):
        of_panel = table[table["panel"] == panel].sort_values(x, kind="stable")
        for place, name in enumerate(names):
            _size_line(axis, of_panel[of_panel["series"] == name], x, place)
        look.log_axis(axis, "x", ticks)
        axis.set_xlabel(xlabel, size=10.5)
    axes[0].set_yscale("logit")
    shares = [0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8]
    shares = [share for share in shares if share <= 1.2 * table["value"].max()]
    axes[0].set_yticks(shares, [f"{share:.0%}" for share in shares])
    axes[0].yaxis.minorticks_off()
    axes[0].set_ylabel("recall@1", size=10.5)
    look.legend_below(figure, axes[0])
    return look.with_data(axes, table)


def _size_line(axis: Axes, rows: pd.DataFrame, x: str, place: int) -> None:
    """Draw the marks of one series, its least-squares line on the log odds, and both in
    the legend.
    """
    name = rows["series"].iloc[0]
    colour, marker = look.look_of(name, place)
    linestyle = look.LINES[look.MARKERS.index(marker)]
    log_size = np.log10(rows[x])
    log_odds = np.log(rows["value"] / (1 - rows["value"]))
    line = np.polyval(np.polyfit(log_size, log_odds, 1), log_size)
    axis.plot(
        rows[x], rows["value"], marker, color=colour, linestyle="", markersize=5.5
    )
    axis.plot(
        rows[x],
        1 / (1 + np.exp(-line)),
        color=colour,
        linestyle=linestyle,
        marker="",
        linewidth=1.2,
    )
    axis.plot(
        [],
        [],
        label=name,
        color=colour,
        linestyle=linestyle,
        marker=marker,
        markersize=5.5,
        linewidth=1.2,
    )
