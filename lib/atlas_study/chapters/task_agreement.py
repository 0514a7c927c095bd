"""Chapter 19, second half: do tasks rank alike? Kendall's tau-b between two tasks, over
models within a language and over languages in a model.

Within a language: do two tasks put the models into the same order? Within a model: do
they put the languages into the same order? Either is a tau-b for each language (or
model), averaged. Compared are the models that have all languages of both tasks. See
`ranking.agreement` for the order of the models' means over languages.
"""

from collections.abc import Mapping
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pandas as pd

from babelatlas.analysis import ranking
from babelatlas.base import languages, released
from babelatlas.report import formatting
from babelatlas.stats import (
    bootstrap,
    correlation,
    multiple_comparisons,
    permutation,
)

PAPER, MTEB, CLIP = "Babel-ImageNet's code", "mteb", "CLIP_benchmark"
PROMPTED, BARE = (PAPER, "classification"), (PAPER, "labels alone")
HARNESSES = {PAPER: "babel-imagenet", MTEB: "mteb", CLIP: "clip_benchmark"}
# One pair of languages for each language of visual STS-17.
ONE_PAIR = "ar-ar, en-de, en-en, en-tr, es-es, fr-en, it-en, ko-ko, nl-en"
TRANSLATED = "translated prompts, English prompts"


class Task(NamedTuple):
    """Which released results are of a task."""

    dataset: str
    metric: str
    direction: str = ""
    variants: str = ""  # those that count, as the release names them


TASKS = {
    (PAPER, "classification"): Task("babel-imagenet", "accuracy@1", "", TRANSLATED),
    (PAPER, "labels alone"): Task("babel-imagenet", "accuracy@1", "", "label"),
    (PAPER, "XM3600"): Task("xm3600", "recall@1", "t2i"),
    (PAPER, "XTD"): Task("xtd", "recall@1", "t2i"),
    (PAPER, "xFlickrCO"): Task("xflickrco", "recall@1", "t2i"),
    (MTEB, "XM3600"): Task("xm3600", "recall@1", "t2i", ", data set 536cd45"),
    (MTEB, "WIT"): Task("wit", "recall@1", "t2i"),
    (MTEB, "xFlickrCO"): Task("xflickrco", "recall@1", "t2i", ", data set 4da629e"),
    (MTEB, "visual STS-17"): Task("sts17-visual", "spearman", "", ONE_PAIR),
    (MTEB, "visual STS-b"): Task("stsb-visual", "spearman"),
    (CLIP, "XM3600"): Task("xm3600", "recall@1", "t2i"),
    (CLIP, "XTD"): Task("xtd", "recall@1", "t2i"),
}
# IGLUE's tasks, each zero-shot and with texts translated to English (translate-test).
IGLUE = {
    "xFlickrCO": "recall@1",
    "WIT": "recall@1",
    "MaRVL": "accuracy",
    "xGQA": "accuracy",
    "XVNLI": "accuracy",
}
WAYS = ("zero-shot", "translate-test")
# Harness, retrieval set, second retrieval set, another task.
CONTRASTS = [
    (PAPER, "XM3600", "XTD", "classification"),
    (PAPER, "XM3600", "xFlickrCO", "classification"),
    (PAPER, "XM3600", "XTD", "labels alone"),
    (PAPER, "XM3600", "xFlickrCO", "labels alone"),
    (MTEB, "XM3600", "xFlickrCO", "visual STS-17"),
    (MTEB, "XM3600", "xFlickrCO", "visual STS-b"),
    (MTEB, "XM3600", "WIT", "visual STS-17"),
]
RETRIEVAL = {"XM3600", "XTD", "xFlickrCO", "WIT"}
ENGLISH = {"imagenet-1k": "ImageNet", "flickr30k": "Flickr30k", "mscoco": "MS-COCO"}
DISHES = "dishes, five choices"

COLUMNS = ["value", "families_low", "families_high", "models_low", "models_high"]


def shared(*tasks: pd.DataFrame) -> list[pd.DataFrame]:
    """Return the scores of each task as (languages, models): languages of all tasks,
    models that have all of these.

    `tasks`: model, lang, value each; ValueError for a model that has a language twice.
    Tasks without a common language or model give empty tables.

    >>> task = pd.DataFrame({"model": list("aab"), "lang": ["de", "si", "de"]})
    >>> task["value"] = [0.3, 0.1, 0.2]
    >>> [table.shape for table in shared(task, task.iloc[[0, 2]])]
    [(1, 2), (1, 2)]
    """
    wide = [task.pivot(index="lang", columns="model", values="value") for task in tasks]
    langs = sorted(set.intersection(*(set(table.index) for table in wide)))
    whole = [table.loc[langs].dropna(axis=1) for table in wide]
    models = sorted(set.intersection(*(set(table.columns) for table in whole)))
    return [table.loc[langs, models] for table in whole]


def long(*tasks: pd.DataFrame, family: Mapping[str, str]) -> pd.DataFrame:
    """Return `shared` scores as rows: lang, model, family, and the tasks' values in the
    columns x, y, z.
    """
    names = zip(shared(*tasks), "xyz", strict=False)
    parts = [
        table.melt(value_name=name, ignore_index=False).set_index("model", append=True)
        for table, name in names
    ]
    table = pd.concat(parts, axis=1).reset_index()
    return table.assign(family=table["lang"].map(family))


def agreement(
    first: pd.DataFrame,
    second: pd.DataFrame,
    family: Mapping[str, str],
    n_resamples: int = 1000,
    seed: int = 0,
    least: int = 5,
) -> pd.DataFrame:
    """Return how far two tasks agree: two rows, within "language" (over models) and
    within "model" (over languages).

    `first`, `second`: model, lang, value; `family`: language -> family. Columns:
    within, value (mean of Kendall's tau-b over the languages, or the models),
    families_low, families_high, models_low, models_high (95 % intervals of a bootstrap
    over language families and over models, NaN for fewer than `least` of them), models,
    languages, families. A mean over what is resampled has an expanded interval; what is
    ranked in a resample plain percentiles (`correlation.expandable`). A language or
    model with equal scores only has no tau and is left out.
    """
    wide, rows = shared(first, second), []
    both = long(first, second, family=family)
    families = [family[lang] for lang in wide[0].index]
    sizes = {
        "models": len(wide[0].columns),
        "languages": len(wide[0]),
        "families": len(set(families)),
    }
    averaging = {
        "language": ("families", np.array(families)),
        "model": ("models", wide[0].columns.to_numpy()),
    }
    for within, (averaged, clusters) in averaging.items():
        taus = correlation.kendall_by_row(
            *((table if within == "language" else table.T).to_numpy() for table in wide)
        )
        fine = np.isfinite(taus)
        row = {"within": within, "value": taus[fine].mean() if fine.any() else np.nan}
        if len(set(clusters[fine])) >= least:
            mean = bootstrap.mean_interval(
                taus[fine], clusters[fine], n_resamples, seed=seed
            ).iloc[0]
            row |= {
                f"{averaged}_low": mean["ci_low"],
                f"{averaged}_high": mean["ci_high"],
            }
        ranked, column = (
            ("models", "model") if within == "language" else ("families", "family")
        )
        if sizes[ranked] >= least and fine.any():
            how = {
                "clusters": column,
                "within": "lang" if within == "language" else "model",
                "methods": ["kendall"],
            }
            tau = correlation.correlate(
                both, "x", "y", n_resamples=n_resamples, seed=seed, **how
            ).iloc[0]
            row |= {f"{ranked}_low": tau["ci_low"], f"{ranked}_high": tau["ci_high"]}
        rows.append(row)
    return pd.DataFrame(rows).reindex(columns=["within", *COLUMNS]).assign(**sizes)


def all_pairs(
    tasks: Mapping[tuple[str, str], pd.DataFrame],
    family: Mapping[str, str],
    fewest: int = 4,
    **options,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return `agreement` of every two tasks of a harness, and the pairs that share too
    few models or languages.

    `tasks`: (harness, task) -> scores; `fewest`: models, and languages, that a pair
    must share; `options`: those of `agreement`. The first table has the columns
    harness, first, second and those of `agreement`; the second harness, first, second,
    models, languages.
    """
    parts, left = [], []
    for one, other in combinations(tasks, 2):
        if one[0] != other[0]:
            continue
        languages, models = shared(tasks[one], tasks[other])[0].shape
        names = {"harness": one[0], "first": one[1], "second": other[1]}
        if min(models, languages) < fewest:
            left.append([*names.values(), models, languages])
        else:
            part = agreement(tasks[one], tasks[other], family, **options)
            parts.append(pd.DataFrame(names, part.index).join(part))
    columns = ["harness", "first", "second", "models", "languages"]
    none = pd.DataFrame(columns=[*columns[:3], "within", *COLUMNS])
    return pd.concat(parts, ignore_index=True) if parts else none, pd.DataFrame(
        left, columns=columns
    )


def moves(
    first: pd.DataFrame,
    second: pd.DataFrame,
    family: Mapping[str, str],
    n_resamples: int = 1000,
    seed: int = 0,
    least: int = 5,
) -> pd.DataFrame:
    """Return by how many ranks each model stands higher in the second task than in the
    first, the largest move first.

    Models are ranked within each language; value is the mean over languages of rank in
    the first task minus rank in the second. Columns: model, first, second (mean ranks),
    value, ci_low, ci_high (bootstrap over `over`: "families", or "languages" where
    there are fewer than `least` families), over, p (sign-flip test by language), p_holm
    (corrected for all models), n (languages), models.
    """
    ranks = [table.rank(axis=1, ascending=False) for table in shared(first, second)]
    gaps = ranks[0] - ranks[1]
    over = (
        "families"
        if len({family[lang] for lang in gaps.index}) >= least
        else "languages"
    )
    member = ranking.members(gaps.index, family if over == "families" else None)
    times = bootstrap.resample_weights(member.shape[1], n_resamples, seed) @ member.T
    resampled = times @ gaps.to_numpy() / times.sum(axis=1, keepdims=True)
    low, high = bootstrap.percentile_interval(resampled, n_clusters=member.shape[1])
    table = pd.DataFrame(
        {"first": ranks[0].mean(), "second": ranks[1].mean(), "value": gaps.mean()}
    ).reset_index()
    table = table.assign(
        ci_low=low,
        ci_high=high,
        over=over,
        p=permutation.sign_flips(gaps.to_numpy(), seed=seed),
    )
    table = table.assign(
        p_holm=multiple_comparisons.holm(table["p"]), n=len(gaps), models=gaps.shape[1]
    )
    return table.sort_values(
        "value", key=lambda values: -values.abs(), kind="stable", ignore_index=True
    )


Results = dict[tuple[str, str], pd.DataFrame]  # (harness, task) -> model, lang, value


def results_of_tasks() -> tuple[Results, dict[str, str]]:
    """Return the released results of each task of each harness, and the families of
    their languages.

    Of labels alone, the languages that have results with prompts.
    """
    wanted = {place: (HARNESSES[place[0]], task) for place, task in TASKS.items()}
    for way in WAYS:
        for name, metric in IGLUE.items():
            direction = "t2i" if metric == "recall@1" else ""
            task = Task(name.lower(), metric, direction, way)
            wanted[f"IGLUE, {way}", name] = ("iglue", task)
    found, used = {}, {}
    for place, (harness, task) in wanted.items():
        if harness not in used:
            used[harness] = released.one_run(released.read(harness=harness))
        rows = used[harness]
        found[place] = rows[
            (rows["dataset"] == task.dataset)
            & (rows["metric"] == task.metric)
            & (rows["direction"] == task.direction)
            & rows["variant"].isin(task.variants.split(", "))
        ]
    prompted = found[PROMPTED]["lang"]
    found[BARE] = found[BARE][found[BARE]["lang"].isin(prompted)]
    langs = set().union(*(table["lang"] for table in found.values()))
    return found, languages.families(sorted(langs))


def of_pairs(agree: pd.DataFrame) -> pd.DataFrame:
    """Return the taus of each pair of tasks, over models (`language`) and over languages
    (`model`), with a note of how many of both.
    """
    by = ["harness", "first", "second", "models", "languages"]
    table = agree.pivot(index=by, columns="within", values="value")
    order = agree.loc[agree["within"] == "language", by]
    table = table.loc[order.itertuples(index=False)].reset_index()
    note = table["models"].astype(str) + ", " + table["languages"].astype(str)
    return table.assign(note=note)


class Alike(NamedTuple):
    """How two retrieval sets agree, and other pairs of tasks."""

    retrieval: float  # median tau within a language of two retrieval sets
    others: float  # of other pairs, with prompts
    bare: float  # of other pairs, with labels alone
    n_retrieval: int
    n_others: int


def alike(wide: pd.DataFrame) -> Alike:
    """Return the median tau of pairs of retrieval sets, and of other pairs."""
    ends = wide[["first", "second"]]
    same = ends.isin(RETRIEVAL).all(axis=1)
    prompted = ~same & ~(ends == "labels alone").any(axis=1)
    bare = ~same & ~(ends == "classification").any(axis=1)
    medians = [wide.loc[rows, "language"].median() for rows in (same, prompted, bare)]
    return Alike(*medians, same.sum(), prompted.sum())


def contrasts(
    results: Results, family: Mapping[str, str], n_resamples: int, seed: int
) -> pd.DataFrame:
    """Return how much less a retrieval set agrees with another task than with a second
    retrieval set: tau over models within a language, bootstrap over models.
    """
    rows = []
    for harness, first, near, far in CONTRASTS:
        scores = long(
            *(results[harness, task] for task in (first, near, far)), family=family
        )
        n_models, n_languages = scores["model"].nunique(), scores["lang"].nunique()
        row = _compared(scores, n_resamples, seed)
        names = {"harness": harness, "retrieval": first, "near": near, "far": far}
        rows.append(row.assign(**names, n=f"{n_models}, {n_languages}"))
    compared = pd.concat(rows, ignore_index=True)
    return compared.assign(p_holm=multiple_comparisons.holm(compared["p"]))


def _compared(scores: pd.DataFrame, n_resamples: int, seed: int) -> pd.DataFrame:
    return correlation.compare_correlations(
        scores,
        "x",
        "y",
        "z",
        "model",
        "lang",
        ["kendall"],
        n_resamples=n_resamples,
        seed=seed,
    )


def contrasts_table(compared: pd.DataFrame) -> pd.DataFrame:
    """Return the contrasts as a reader sees them."""
    p_values = zip(compared["p_holm"], compared["p"], compared["least"], strict=True)
    taus = zip(compared["first"], compared["second"], strict=True)
    shown = {
        "retrieval sets": compared["retrieval"] + ", " + compared["near"],
        "other task": compared["far"],
        "tau": [f"{first:.2f} / {second:.2f}" for first, second in taus],
        "difference": formatting.intervals(compared, ".2f", 1, " to "),
        "p (Holm)": [formatting.p_value(*values) for values in p_values],
        "models, languages": compared["n"],
    }
    return pd.DataFrame(shown)


class Prompts(NamedTuple):
    """What prompts change of the agreement of classification with retrieval."""

    bare: float  # tau with labels alone
    prompted: float  # with translated prompts
    difference: str
    p: str
    n_languages: int


def by_prompts(
    results: Results, family: Mapping[str, str], n_resamples: int, seed: int
) -> Prompts:
    """Return how classification agrees with retrieval, by labels alone and by prompts."""
    scores = long(
        results[PAPER, "XM3600"], results[BARE], results[PROMPTED], family=family
    )
    row = _compared(scores, n_resamples, seed)
    difference = formatting.intervals(row, ".2f", 1, " to ").item()
    first = row.iloc[0]
    p = formatting.p_value(first["p"], first["p"], first["least"])
    n_languages = scores["lang"].nunique()
    return Prompts(first["first"], first["second"], difference, p, n_languages)


def with_english(results: Results, n_resamples: int, seed: int) -> pd.DataFrame:
    """Return Kendall's tau of ImageNet accuracy in English with other tasks, in English
    and elsewhere, over models with intervals over their series.
    """
    rows = []
    for harness in (CLIP, MTEB):
        by_model = _by_model(results, harness)
        tasks = by_model.columns.difference(["model", "series", "ImageNet"], sort=False)
        for task in tasks:
            found = correlation.correlate(
                by_model.dropna(subset=task),
                "ImageNet",
                task,
                "series",
                ["kendall"],
                n_resamples=n_resamples,
                seed=seed,
            )
            rows.append(found.assign(harness=harness, task=task))
    return pd.concat(rows, ignore_index=True)


def _by_model(results: Results, harness: str) -> pd.DataFrame:
    """Return the means of each model with ImageNet accuracy, a column for each task in
    English and one for the mean over other languages.
    """
    rows = released.one_run(released.read(harness=HARNESSES[harness]))
    rows = rows[
        (rows["lang"] == "en")
        & rows["metric"].isin(["accuracy@1", "recall@1"])
        & (rows["direction"] != "i2t")
    ]
    columns = {
        title: rows[rows["dataset"] == dataset].groupby("model")["value"].mean()
        for dataset, title in ENGLISH.items()
    }
    for (of_harness, task), table in results.items():
        if of_harness != harness or task in ("xFlickrCO", "visual STS-b"):
            continue
        english = table["lang"] == "en"
        in_english = table[english].set_index("model")["value"]
        columns[f"{task}, English"] = in_english
        elsewhere = table[~english].groupby("model")["value"].mean()
        columns[f"{task}, other languages"] = elsewhere
    found = pd.DataFrame(columns).dropna(subset="ImageNet").reset_index(names="model")
    return found.assign(series=found["model"].map(released.models()["family"]))


def hardness(results: Results) -> tuple[pd.DataFrame, list[str]]:
    """Return the mean of models by language, a column for each task of embedding and of
    generative models, English left out; and the tasks of generative models.
    """
    cuisines = released.one_run(released.read(dataset="worldcuisines"))
    items = released.items()
    answerable = items[items["constant"] == 0]
    answerable = answerable.groupby(["lang", "model"], as_index=False)["score"].mean()
    labels = released.one_run(released.read(harness="babel-imagenet"))
    labels = labels[labels["variant"] == "label"]
    generative = {
        DISHES: cuisines[cuisines["metric"] == "accuracy"],
        "dishes, open answers": cuisines[cuisines["metric"] == "open accuracy"],
        "blind people's questions": answerable.rename(columns={"score": "value"}),
    }
    tasks = {"XM3600": results[PAPER, "XM3600"], "labels alone": labels} | generative
    level = {}
    for task, rows in tasks.items():
        # Varieties of a language are averaged.
        table = rows[rows["lang"] != "en"].pivot_table(
            index="lang", columns="model", values="value"
        )
        level[task] = table.dropna(axis=1).mean(axis=1)  # models with all languages
    level = pd.DataFrame(level)
    level["log classes"] = np.log(labels.groupby("lang")["n"].max())
    level["kin"] = level.index.map(languages.families(level.index))
    return level, list(generative)


def across_kinds(
    level: pd.DataFrame, generative: list[str], n_resamples: int, seed: int
) -> pd.DataFrame:
    """Return Spearman's correlations over languages of embedding with generative models,
    and of generative tasks with each other; `text` with intervals over families.
    """
    embedding = {
        "XM3600": ("XM3600", []),
        "labels alone": ("labels alone", []),
        "labels alone, given classes": ("labels alone", ["log classes"]),
    }
    pairs = [
        (title, column, given, task)
        for title, (column, given) in embedding.items()
        for task in generative
    ]
    pairs += [(DISHES, DISHES, [], task) for task in generative if task != DISHES]
    rows = []
    for title, column, given, task in pairs:
        points = level.dropna(subset=[column, task, *given]).reset_index(names="lang")
        found = correlation.correlate(
            points,
            column,
            task,
            "kin",
            ["spearman"],
            covariates=given,
            n_resamples=n_resamples,
            seed=seed,
        )
        rows.append(found.assign(first=title, second=task))
    found = pd.concat(rows, ignore_index=True)
    return found.assign(text=formatting.intervals(found, ".2f", 1, " to "))


def changes_of_rank(
    results: Results, family: Mapping[str, str], **options
) -> pd.DataFrame:
    """Return `moves` from classification to retrieval, with titles of the models."""
    found = moves(results[PROMPTED], results[PAPER, "XM3600"], family, **options)
    title = found["model"].map(released.models()["title"])
    star = np.where(found["p_holm"] < 0.05, " *", "")
    return found.assign(title=title, label=title + star)


def agreement_table(agree: pd.DataFrame) -> pd.DataFrame:
    """Return the agreement of all pairs of tasks as a reader sees it: intervals over
    what is ranked.
    """
    over_models = agree["within"] == "language"
    ends = {
        f"ci_{end}": agree[f"models_{end}"].where(over_models, agree[f"families_{end}"])
        for end in ("low", "high")
    }
    rows = agree.assign(
        tasks=agree["first"] + " – " + agree["second"] + " (" + agree["harness"] + ")",
        n=[
            f"{row.models}, {row.languages} ({row.families})"
            for row in agree.itertuples()
        ],
        ranked=agree["within"].map({"language": "models", "model": "languages"}),
        **ends,
    )
    rows["text"] = formatting.intervals(rows, ".2f", 1, " to ")
    order = rows.set_index(["tasks", "n"]).index.unique()
    table = rows.pivot(index=["tasks", "n"], columns="ranked", values="text").loc[order]
    return table.reset_index()[["tasks", "models", "languages", "n"]]


def means_of_iglue(results: Results, n_resamples: int, seed: int) -> pd.DataFrame:
    """Return how pairs of IGLUE's tasks agree on the models' means over each task's own
    languages; models with all of these.
    """
    rows = []
    for way in WAYS:
        for pair in combinations(IGLUE, 2):
            sides = [results[f"IGLUE, {way}", task] for task in pair]
            complete = [_complete(side) for side in sides]
            models = complete[0].intersection(complete[1])
            sides = [side[side["model"].isin(models)] for side in sides]
            found = ranking.agreement(
                *sides, over="models", paired=False, n_resamples=n_resamples, seed=seed
            )
            rows.append(found)
    found = pd.concat(rows, ignore_index=True)
    return found.assign(p_holm=multiple_comparisons.holm(found["p"]))


def _complete(rows: pd.DataFrame) -> pd.Index:
    number = rows.groupby("model")["lang"].nunique()
    return number.index[number == number.max()]
