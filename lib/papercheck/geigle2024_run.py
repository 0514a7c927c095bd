"""A certificate of a run: every cell of Tables 2, 3 and 8 to 12 of Geigle et al. (2024)
next to the run's own number, with a tolerance and a verdict.

What goes in: the run's scores by language (schema `languages`, which chapter 41 writes;
else computed from its tables of classification and retrieval), and for Table 3 its
exact curves (schema `curves`). The results that the authors released have the same form
(`released`), so that the comparison can be tried without a run.

A cell agrees where the printed number is no further from the run's than rounding and
sampling allow. Rounding: half a unit of the last printed digit. Sampling: the run's 95 %
interval, over classes or images, on the side of the printed number; for Table 3 with
the deviation of a mean over ten random subsets added in squares. The run and the paper
have the same images and words, so that the interval allows more than should differ:
`reason` says whether a cell agrees to the printed digits or within the interval.
"""

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from babelatlas.analysis import outcomes
from babelatlas.base import published, tables
from babelatlas.base.errors import InputError
from babelatlas.base.paths import locate
from babelatlas.evaluation import protocol
from babelatlas.models.encoder import AUTOCAST
from babelatlas.stats import multiple_comparisons, permutation, proportions
from papercheck import geigle2024
from papercheck.geigle2024 import ENGLISH, HALF, T2I

TABLES = ("2", "3", "8", "9", "10", "11", "12")
VERDICTS = ("agrees", "differs", "missing")
BY_DIGITS, BY_INTERVAL = "to the printed digits", "within the interval"
NO_SETTING = "no setting that its tables record is another"
# Our data sets and metrics -> the paper's.
DATASETS = {"imagenet-1k": "babel-imagenet"}
METRICS = {"accuracy@1": "accuracy@1", "t2i recall@1": T2I}
ACCURACY = "babel-imagenet"
# Prompts of a language, as the paper's tables name them -> our sets.
PROMPTS = {
    "translated prompts": "nllb-80",
    "label only": "label",
    "English prompts": "openai-80",
}
# Where the words of the paper's label set come from: its file, and CLIP's for English.
LABEL_SOURCES = ("babel-imagenet", "clip")
IMAGES_PER_CLASS = 50
# Table 3: classes in a subset, and subsets that a language's number is a mean over.
SUBSET, N_SUBSETS = 100, 10
NORMAL = 1.96
CELL = ["model", "dataset", "lang"]
ENDS = ["value", "ci_low", "ci_high"]
SETTINGS = ["prompts", "choice", *tables.PROTOCOL]
RESULT = [*CELL, *ENDS, "deviation", "n", "items", *SETTINGS, "otherwise"]


def printed() -> pd.DataFrame:
    """Return the cells of the paper's tables: table, model, dataset, lang, group,
    metric, variant, printed (a fraction), half (by how much it is rounded), n.

    `n`: images or captions of a language, 0 in the row of a group; `group` is "" in the
    row of a language, and names the languages of a mean. English is the language of a
    column of Tables 2 and 3.
    """
    cells = published.read(geigle2024.PAPER)
    is_result = cells["metric"].isin(METRICS.values()) & cells["table"].isin(TABLES)
    cells = cells[is_result].reset_index(drop=True)
    sizes = geigle2024.recalls().groupby(["dataset", "lang"])["n"].first()
    places = pd.MultiIndex.from_frame(cells[["dataset", "lang"]])
    n_captions = pd.Series(sizes.reindex(places).to_numpy(), cells.index)
    n_images = cells["n"].where(cells["lang"] != "", 0)
    has_one_decimal = cells["table"] == "12"
    cells = cells.assign(
        n=n_captions.fillna(n_images).astype(int),
        variant=cells["variant"].str.removesuffix(f", {SUBSET} classes"),
        half=np.where(has_one_decimal, 10 * HALF, HALF) / 100,
    )
    columns = ["group", "metric", "variant", "value", "half", "n"]
    return cells[["table", *CELL, *columns]].rename(columns={"value": "printed"})


# What a run has
# ----------------------------------------------------------------------------------


def of_run(results: str | Path) -> pd.DataFrame:
    """Return the scores of the paper's models on its data sets in a run, by the paper's
    names: RESULT, value and interval as fractions; none where it has none.

    `results`: the folder of the run. `n`: images or captions, `items`: classes or
    images. `otherwise`: what the run did otherwise than the paper ("; " between). Of
    several protocols of a model in a language the one nearest to the paper's counts.
    Raises InputError for a folder that is not there, and a value outside 0 to 1.
    """
    if not locate(results).is_dir():
        raise InputError(
            f"There is no run in {results}: give the name of a folder of results, as"
            " --run paper, or a path."
        )
    files = tables.of_run(results, "scores/languages.parquet")
    if files:
        scores = tables.read(files[0], "languages")
    else:
        scores = outcomes.scores_of(_tables_of_stages(results))
    is_of_paper = scores["model"].isin(_names()) & scores["metric"].isin(METRICS)
    scores = scores[is_of_paper].reset_index(drop=True)
    if scores.empty:
        return pd.DataFrame(columns=RESULT)
    scores = outcomes.main(scores).drop(columns=["variant", "title"])
    return _as_printed(scores.assign(deviation=0.0), results)


def _tables_of_stages(results: str | Path) -> pd.DataFrame:
    """Return where a run keeps the outcomes of the paper's models on its data sets:
    model, dataset, task, path.
    """
    names, of_paper = _names(), {*DATASETS, *geigle2024.DATASETS}
    rows = []
    for task in outcomes.TASKS:
        for path in tables.of_run(results, f"{task}/*.parquet"):
            model, _, dataset = path.stem.partition("_")
            if model in names and dataset in of_paper:
                rows.append((model, dataset, task, str(path)))
    return pd.DataFrame(rows, columns=["model", "dataset", "task", "path"])


def with_100_classes(results: str | Path) -> pd.DataFrame:
    """Return accuracy among 100 classes from the exact curves of a run, in a language
    with fewer among all, as `of_run` does with all classes; with `deviation` (a
    fraction), that of the mean over ten random subsets which Table 3 prints.

    The deviation is read off the interval over classes: with a standard error s of the
    mean over C classes, the mean over k of them, drawn without replacement, has the
    variance s² (C - k) / k. What the other classes of a subset add is left out; in this
    study's runs it is about a tenth, from 10 classes on.
    """
    parts = []
    for path in tables.of_run(results, "curves/*.parquet"):
        model, _, dataset = path.stem.partition("_")
        if model in _names() and dataset in DATASETS:
            parts.append(_at_subset(tables.read(path, "curves")))
    if not parts:
        return pd.DataFrame(columns=RESULT)
    return _as_printed(pd.concat(parts, ignore_index=True), results)


def _at_subset(curves: pd.DataFrame) -> pd.DataFrame:
    """Return the points of curves at 100 classes, or at all of fewer, with `deviation`,
    n, items and choice.
    """
    key = ["model", "dataset", "lang", "prompts", *tables.PROTOCOL]
    n_classes = curves["n_classes"]
    n_all = n_classes.groupby([curves[name] for name in key]).transform("max")
    curves = curves.assign(items=n_all, n=curves["n_images"], choice="")
    points = curves[n_classes <= SUBSET]
    points = points.loc[points.groupby(key)["n_classes"].idxmax()]
    error = (points["ci_high"] - points["ci_low"]) / (2 * NORMAL)
    n_left = points["items"] - points["n_classes"]
    spread = error * np.sqrt(n_left / points["n_classes"])
    return points.assign(deviation=spread / np.sqrt(N_SUBSETS))


def released() -> pd.DataFrame:
    """Return the results that the authors released, in the form of `of_run`; intervals
    are exact binomial ones, over images or captions.
    """
    accuracy = geigle2024.accuracies().assign(dataset=ACCURACY)
    variants = published.accuracy_by_language(geigle2024.PAPER)
    variants = variants.drop_duplicates("lang").set_index("lang")["variant"]
    accuracy = accuracy.assign(
        prompts=accuracy["lang"].map(variants).map(PROMPTS), items=accuracy["classes"]
    )
    recall = geigle2024.recalls().assign(prompts="")
    recall = recall.assign(items=recall["dataset"].map(geigle2024.IMAGES))
    table = pd.concat([accuracy, recall], ignore_index=True)
    table = table[table["released"]].reset_index(drop=True)
    n_correct = (table["value"] * table["n"]).round()
    low, high = proportions.exact_interval(n_correct, table["n"])
    keys = table[["model", "dataset", "prompts"]].itertuples(index=False)
    settings = pd.DataFrame([settings_of_paper(*key) for key in keys])
    settings = settings.drop(columns="prompts")
    more = {"ci_low": low, "ci_high": high, "deviation": 0.0, "otherwise": ""}
    return table.assign(**more, **settings)[RESULT]


def _names() -> dict[str, str]:
    """Return the name of each of the paper's models -> its row in the paper."""
    return {entry.name: row for row, entry in geigle2024.models_of_paper().items()}


# What a run did otherwise
# ----------------------------------------------------------------------------------


def _as_printed(scores: pd.DataFrame, results: str | Path) -> pd.DataFrame:
    """Return the scores of a run by the paper's names, one row for each model, data set
    and language that the paper has: RESULT.
    """
    scores = scores.assign(
        model=scores["model"].map(_names()), dataset=scores["dataset"].replace(DATASETS)
    )
    cells = printed().rename(columns={"n": "n_printed"}).drop_duplicates(CELL)
    scores = scores.merge(cells[[*CELL, "variant", "n_printed"]], on=CELL)
    wrong = scores[~scores["value"].between(0, 1)]
    if len(wrong):
        row = wrong.iloc[0]
        raise InputError(
            f"The score {row['value']} of {row['model']} on {row['dataset']} in"
            f" {row['lang']} is no share between 0 and 1: make the run's scores again."
        )
    words = other_words(results)
    notes = [_otherwise(row, words) for row in scores.itertuples()]
    scores = scores.assign(otherwise=["; ".join(note) for note in notes])
    scores = scores.assign(n_notes=[len(note) for note in notes])
    scores = scores.sort_values("n_notes", kind="stable").drop_duplicates(CELL)
    return scores.sort_values(CELL, ignore_index=True)[RESULT]


def _otherwise(row, words: set[str]) -> list[str]:
    """Return what was done otherwise than in the paper for a score: "kind: what".

    `row`: model, dataset, lang, n, items, SETTINGS, and of the printed cell variant and
    n_printed; `words`: languages with labels that are not the released ones.
    """
    notes = []
    n_classes = row.n_printed // IMAGES_PER_CLASS
    if row.dataset == ACCURACY and row.items != n_classes:
        notes.append(f"labels: {row.items:,.0f} classes, the paper {n_classes:,}")
    elif row.n != row.n_printed:
        unit = "images" if row.dataset == ACCURACY else "captions"
        notes.append(f"{unit}: {row.n:,.0f}, the paper {row.n_printed:,}")
    if row.dataset == ACCURACY and row.lang in words:
        notes.append("words: labels of other sources than the released ones")
    expected = settings_of_paper(row.model, row.dataset, PROMPTS.get(row.variant, ""))
    for name, option in expected.items():
        ours = getattr(row, name)
        if ours != option:
            notes.append(f"{name}: {ours}, the paper {option}")
    return notes + unpinned(row.model)


@cache
def settings_of_paper(model: str, dataset: str, prompts: str) -> dict[str, str]:
    """Return how the paper's released code makes a score: SETTINGS of its preset, cast
    as it casts. Do not change it: callers share it.

    `model`, `dataset`: by the paper's names; `prompts`: our set, "" for retrieval.

    >>> settings_of_paper("M-CLIP XLMR-L L-14", "xtd", "")["similarity"]
    'dot product'
    """
    entry = geigle2024.models_of_paper()[model]
    if dataset == ACCURACY:
        chosen = protocol.settings("paper", "zero-shot", entry, prompts=prompts)
    else:
        chosen = protocol.settings("paper", "retrieval", entry)
    return {name: chosen[name] for name in SETTINGS} | {"precision": AUTOCAST}


def unpinned(model: str) -> list[str]:
    """Return which sources of one of the paper's models are not pinned to a commit."""
    entry = geigle2024.models_of_paper()[model]
    sources = [entry.source, *entry.companions.values()]
    return [
        f"weights: {source.repository} is not pinned to a commit"
        for source in sources
        if not source.revision
    ]


def other_words(results: str | Path) -> set[str]:
    """Return the languages of a run with a label that is not the released one."""
    files = tables.of_run(results, "labels/imagenet-1k.parquet")
    if not files:
        return set()
    labels = tables.read(files[0], "labels")
    return set(labels.loc[~labels["source"].isin(LABEL_SOURCES), "lang"])


# The certificate
# ----------------------------------------------------------------------------------


def certificate(results: str | Path) -> pd.DataFrame:
    """Return the certificate of a run (`compare`); raise InputError where it has
    nothing to compare.
    """
    cells = compare(of_run(results), with_100_classes(results))
    if (cells["verdict"] == "missing").all():
        raise InputError(nothing(results))
    return cells


def nothing(results: str | Path) -> str:
    """Return why a run has nothing to compare, and how to change it."""
    return (
        f"The run in {results} has none of the cells of Tables 2, 3 and 8 to 12: evaluate"
        " one of the paper's models on imagenet-1k, xflickrco, xm3600 or xtd, as"
        " config/paper.yml does."
    )


def compare(scores: pd.DataFrame, with_100: pd.DataFrame) -> pd.DataFrame:
    """Return every cell of the paper's tables with the run's number: schema
    `certificate`.

    `scores`: as `of_run` or `released` gives them; `with_100`: as `with_100_classes`
    does. Numbers are fractions, `difference` (ours minus printed) and `tolerance`
    points. The interval of a mean over languages is the mean of theirs, as if all erred
    alike: the widest that it can be. `reason` says how a cell agrees; where it differs,
    what the run did otherwise ("; " between); where it is missing, why.
    """
    cells = printed()
    is_table_3 = cells["table"] == "3"
    parts = [
        _next_to(cells[~is_table_3], scores),
        _next_to(cells[is_table_3], with_100),
    ]
    cells = pd.concat(parts).sort_index()
    cells["difference"] = 100 * (cells["value"] - cells["printed"])
    cells["tolerance"] = tolerance(cells)
    off = cells["difference"].abs() - 1e-7  # of binary fractions
    missing = cells["value"].isna()
    by_digits = off <= 100 * cells["half"]
    agrees = by_digits | (off <= cells["tolerance"])
    cells["verdict"] = np.select([missing, agrees], ["missing", "agrees"], "differs")
    differing = cells["otherwise"].replace("", NO_SETTING)
    reasons = [cells["why"], BY_DIGITS, BY_INTERVAL]
    cells["reason"] = np.select([missing, by_digits, agrees], reasons, differing)
    return tables.check(cells[list(tables.SCHEMAS["certificate"][0])], "certificate")


def tolerance(cells: pd.DataFrame) -> pd.Series:
    """Return by how many points the printed and the run's number may differ: columns
    printed, half, value, ci_low, ci_high, deviation (fractions).

    >>> cell = {"printed": 0.5, "half": 0.001, "value": 0.52, "ci_low": 0.48}
    >>> cell |= {"ci_high": 0.6, "deviation": 0.03 / 1.96}
    >>> tolerance(pd.DataFrame([cell])).round(3).tolist()
    [5.1]
    """
    below = cells["value"] - cells["ci_low"]
    above = cells["ci_high"] - cells["value"]
    side = below.where(cells["printed"] < cells["value"], above)
    sampling = np.hypot(side, NORMAL * cells["deviation"])
    return 100 * (cells["half"] + sampling)


def _next_to(cells: pd.DataFrame, results: pd.DataFrame) -> pd.DataFrame:
    """Return cells with the run's numbers (NaN where it has none), `deviation`, and the
    texts `otherwise` and `why` (it is missing).
    """
    numbers = [*ENDS, "deviation"]
    found = results[[*CELL, *numbers, "otherwise"]]
    found = found.astype(dict.fromkeys(numbers, float))
    what = "result"
    if set(cells["table"]) == {"3"}:
        what = "curve over the number of classes"
    by_language = cells[cells["group"] == ""].merge(found, on=CELL, how="left")
    by_language.index = cells.index[cells["group"] == ""]
    has_model = by_language["model"].isin(found["model"])
    here = has_model.map({True: "here", False: "at all"})
    by_language["why"] = f"no {what} of this model " + here
    means = _means(cells[cells["group"] != ""], found, what)
    cells = pd.concat([by_language, means]).sort_index()
    return cells.fillna({"otherwise": ""})


def _means(cells: pd.DataFrame, results: pd.DataFrame, what: str) -> pd.DataFrame:
    """Return the cells of means over languages, as `_next_to` does: a mean is there
    where all its languages are.
    """
    groups = published.groups(geigle2024.PAPER)
    models = set(results["model"])
    columns = [*ENDS, "deviation"]
    rows = []
    for place, of_cells in cells.groupby(["dataset", "group"], sort=False):
        members = _members(*place, groups)
        of_mean = results[results["dataset"] == place[0]]
        of_mean = of_mean[of_mean["lang"].isin(members)]
        parts = dict(list(of_mean.groupby("model")))
        for cell in of_cells.itertuples():
            part = parts.get(cell.model, results[:0])
            row = {"otherwise": "", "why": ""}
            if len(part) == len(members):
                row |= part[ENDS].mean()
                row["deviation"] = np.sqrt((part["deviation"] ** 2).sum()) / len(part)
                row["otherwise"] = _summary(part["otherwise"])
            elif len(part):
                n_without = f"{len(members) - len(part)} of {len(members)}"
                row["why"] = f"no {what} in {n_without} languages"
            else:
                here = "here" if cell.model in models else "at all"
                row["why"] = f"no {what} of this model {here}"
            rows.append(pd.Series(row, name=cell.Index))
    found = pd.DataFrame(rows).reindex(columns=[*columns, "otherwise", "why"])
    return cells.join(found.astype(dict.fromkeys(columns, float)))


def _members(dataset: str, group: str, groups: pd.DataFrame) -> list[str]:
    """Return the languages of a mean: of a group of Table 5 (`groups`), or all of a
    data set, English among them or not.
    """
    if dataset == ACCURACY:
        return groups.loc[groups["group"] == group, "lang"].tolist()
    recalls = geigle2024.recalls()
    langs = recalls.loc[recalls["dataset"] == dataset, "lang"].unique().tolist()
    return [lang for lang in langs if lang != ENGLISH or "English" not in group]


def _summary(notes: pd.Series) -> str:
    """Return what was done otherwise in how many languages of a mean.

    >>> _summary(pd.Series(["images: 9, the paper 10", "", "images: 8, the paper 10"]))
    'images: in 2 of 3 languages'
    """
    kinds = [
        {note.partition(":")[0] for note in text.split("; ") if note} for text in notes
    ]
    names = sorted({kind for found in kinds for kind in found})
    parts = []
    for name in names:
        n_with = sum(name in found for found in kinds)
        parts.append(f"{name}: in {n_with} of {len(notes)} languages")
    return "; ".join(parts)


def counts(cells: pd.DataFrame, by: str) -> pd.DataFrame:
    """Return how many cells of a certificate agree to the printed digits, agree within
    the interval, differ and are missing, by "table" or "model".
    """
    kind = cells["verdict"].where(cells["verdict"] != "agrees", cells["reason"])
    sizes = pd.crosstab(cells[by], kind)
    order = [BY_DIGITS, BY_INTERVAL, "differs", "missing"]
    sizes = sizes.reindex(columns=order, fill_value=0)
    return sizes.loc[cells[by].unique()].rename_axis(columns=None)


def shifts(cells: pd.DataFrame, n_resamples: int = 2000, seed: int = 0) -> pd.DataFrame:
    """Return by how many points a run differs from the paper over the languages of a
    data set, for each model: small differences in one direction, which no cell shows.

    Columns: model, dataset, value, ci_low, ci_high (mean of ours minus printed, points,
    with its interval over languages), p, p_holm (paired sign-flip test, adjusted over
    all rows), n (languages), n_equal (to the printed digits, which count as no
    difference). Models with one language are left out.
    """
    rows = []
    by_language = cells[(cells["group"] == "") & ~cells["table"].isin(["2", "3"])]
    by_language = by_language[by_language["verdict"] != "missing"]
    for (model, dataset), part in by_language.groupby(["model", "dataset"], sort=False):
        if len(part) < 2:
            continue
        is_equal = part["reason"] == BY_DIGITS
        gaps = part["difference"].mask(is_equal, 0.0).to_numpy()
        numbers = permutation.paired_mean(gaps, None, n_resamples, seed)
        rows.append([model, dataset, *numbers, len(part), int(is_equal.sum())])
    columns = ["model", "dataset", "value", "ci_low", "ci_high", "p", "n", "n_equal"]
    found = pd.DataFrame(rows, columns=columns)
    return found.assign(p_holm=multiple_comparisons.holm(found["p"]) if rows else [])
