"""What the title page of a run of real models says first: what was run, and what it
found, each with the page that owns it.
"""

from collections.abc import Sequence
from typing import NamedTuple

import pandas as pd

from atlas_study.chapters import agreement_of_runs, error_overlap, rich_and_poor
from babelatlas.analysis import own_models
from babelatlas.base import published, tables
from babelatlas.models import registry
from babelatlas.report import formatting

MOST_NAMED = 12  # models that a sentence lists
FEWEST, LEAST = 4, 5  # languages of a correlation; families of its interval
MOST_LANGUAGES = 24  # of which errors are compared


class OwnRun(NamedTuple):
    """What a run of real models evaluated and found.

    `scores` and `boards`: of `own_models`; `boards` a row for each data set and
    direction; `group_means`: of `own_models.group_means`; `evaluated`: a table to read;
    `about`: what was run, a sentence; `findings`: what it found, as Markdown, an item
    each; `lead`: the first finding, for the takeaway.
    """

    scores: pd.DataFrame
    boards: pd.DataFrame
    group_means: pd.DataFrame
    evaluated: pd.DataFrame
    about: str
    findings: str
    lead: str


def read(
    results: str,
    models: Sequence[str],
    datasets: Sequence[str],
    n_classes: int,
    limit: int,
    n_resamples: int,
    seed: int,
) -> OwnRun | None:
    """Return what a run of real models evaluated and found; None for a run that has no
    scores of real models (`registry.real_models`).

    `n_classes`: with how many classes in each language they are compared; `limit`: of a
    trial run the first so many images of each class, or captioned images, 0 for all.
    """
    files = tables.of_run(results, "scores/languages.parquet")
    path = str(files[0]) if files else ""
    scores = own_models.scores(path, models, datasets)
    if scores.empty:
        return None
    options = {"n_resamples": n_resamples, "seed": seed}
    boards = own_models.boards(scores, **options)
    items = [
        *_differences(boards),
        _usable(results, scores),
        _equal_classes(results, scores, n_classes, options),
        _agreement(results, scores, datasets, options),
        errors_in_common(results, registry.real_models(models), datasets, options),
    ]
    return OwnRun(
        scores=scores,
        boards=boards,
        group_means=own_models.group_means(scores, **options),
        evaluated=evaluated(scores),
        about=about(scores, limit),
        findings="\n".join(f"- {item}" for item in items if item),
        lead=own_models.lead(boards),
    )


def about(scores: pd.DataFrame, limit: int) -> str:
    """Return what was run, as one or two sentences."""
    models = list(dict.fromkeys(scores["model"]))
    named = ", ".join(models[:MOST_NAMED])
    if len(models) > MOST_NAMED:
        named += f" and {len(models) - MOST_NAMED} more"
    datasets = ", ".join(map(formatting.escape, dict.fromkeys(scores["dataset"])))
    n_languages = formatting.counted(scores["lang"].nunique(), "language")
    text = (
        f"This run evaluated {formatting.counted(len(models), 'model')} ({named}) in"
        f" {n_languages} on {datasets}."
    )
    if limit:
        text += (
            f" It is a trial run, of the first {limit} of the images of each class or"
            " data set: its numbers are not those of the whole."
        )
    return text


def evaluated(scores: pd.DataFrame) -> pd.DataFrame:
    """Return what was evaluated as a table to read: a row for each data set."""
    rows = []
    for dataset, part in scores.groupby("dataset", sort=False):
        is_label = part["task"].iloc[0] == "zeroshot"
        sizes = part["items"]
        size = f"{sizes.min():,}–{sizes.max():,}"
        if sizes.min() == sizes.max():
            size = f"{sizes.max():,}"
        noun = "classes" if is_label else "images"
        rows.append(
            {
                "data set": dataset,
                "task": "classification" if is_label else "retrieval",
                "models": part["model"].nunique(),
                "languages": part["lang"].nunique(),
                "choice among, by language": f"{size} {noun}",
                "prompts or captions": _protocol(part, "prompts" if is_label else ""),
                "precision": ", ".join(sorted(set(part["precision"]) - {""})) or "–",
            }
        )
    return pd.DataFrame(rows)


def finding_of_groups(means: pd.DataFrame) -> str:
    """Return the accuracy of a board's best model by group of languages, as the title
    of a figure; `means`: of one board of `own_models.group_means`.

    >>> means = pd.DataFrame({"group": ["low", "high"], "value": [0.2, 0.25]})
    >>> finding_of_groups(means.assign(model="a", n=[10, 20]))
    'a has 20.0 % (low), 25.0 % (high)'
    """
    of_languages = (means["value"] * means["n"]).groupby(means["model"], sort=False)
    model = of_languages.sum().idxmax()
    rows = means[means["model"] == model]
    texts = [
        f"{formatting.percent(row.value)} ({row.group})" for row in rows.itertuples()
    ]
    return f"{model} has {', '.join(texts)}"


def _protocol(part: pd.DataFrame, column: str) -> str:
    """Return the prompts or captions of some scores, an en dash where none are named."""
    values = sorted(set(part[column or "captions"]) - {""})
    return ", ".join(values) or "–"


def _differences(boards: pd.DataFrame) -> list[str]:
    """Return which model is best and how many differ, an item for the first data set to
    classify, and for that of retrieval (text to image) with the most languages.
    """
    accuracy = boards[boards["metric"] == own_models.ACCURACY].head(1)
    recall = boards[boards["metric"] == own_models.RECALL]
    recall = recall.sort_values("n", ascending=False, kind="stable").head(1)
    items = []
    for board in (accuracy, recall):
        lead = own_models.lead(board).removesuffix(".")
        for row in board.itertuples():
            if row.models > 2 and row.possible:
                counts = f"{row.different} of {row.pairs} pairs of models"
                lead += f"; {counts} differ significantly"
        if lead:
            items.append(f"{lead} ([leaderboard](11_leaderboard)).")
    return items


def _usable(results: str, scores: pd.DataFrame) -> str:
    """Return in how many languages a model is usable, "" where nothing decides it."""
    judged = own_models.judged(scores, own_models.curves(results, scores))
    lead = own_models.lead_of_judged(judged)
    page = "[working languages](12_working_languages)"
    return f"{lead.removesuffix('.')} ({page})." if lead else ""


def _equal_classes(
    results: str, scores: pd.DataFrame, n_classes: int, options: dict
) -> str:
    """Return the gap between languages with many and with few labels, "" without one."""
    gap = rich_and_poor.own_gap(results, scores, "", n_classes, **options)
    gaps = 100 * published.gaps_between_groups()
    lead = rich_and_poor.own_lead(gap, gaps["100 classes"].mean())
    pages = "[few labels](13_rich_and_poor), [number of classes](37_number_of_classes)"
    return f"{lead.removesuffix('.')} ({pages})." if lead else ""


def _agreement(
    results: str, scores: pd.DataFrame, datasets: Sequence[str], options: dict
) -> str:
    """Return whether tasks agree, or which validation is lacking and why."""
    lacking = own_models.task_lacking(scores)
    if lacking:
        return lacking
    models = list(dict.fromkeys(scores["model"]))
    parts = agreement_of_runs.pairs_of_run(results, models, list(datasets))
    found = agreement_of_runs.correlations(parts, FEWEST, LEAST, **options)
    lead = agreement_of_runs.lead(found)
    if not lead:
        return (
            "Whether tasks agree it cannot tell: too few languages have results of"
            " classification and of retrieval."
        )
    pages = "[tasks](19_task_agreement), [accuracy and recall](36_accuracy_and_recall)"
    return f"{lead[0].upper()}{lead[1:]} ({pages})."


def errors_in_common(
    results: str, models: Sequence[str], datasets: Sequence[str], options: dict
) -> str:
    """Return how many pairs of models share errors of disambiguation, "" where the run
    has no two models with such results.
    """
    paths = tables.of_run(results, "disambiguation/*.parquet")
    named = {f"{model}_{dataset}" for model in models for dataset in datasets}
    paths = [path for path in paths if path.stem in named]
    if not paths:
        return ""
    family = dict.fromkeys(models, "CLIP-like")
    costs = error_overlap.read_costs([str(path) for path in paths])
    grids = error_overlap.error_grids(costs, family, MOST_LANGUAGES)
    pairs = error_overlap.pairs_of_models(grids, list(family))
    if pairs.empty:
        return ""
    overlap = error_overlap.overlaps(grids, pairs, **options).dropna(subset="value")
    n_above = error_overlap.n_above_chance(overlap)
    n_pairs = formatting.counted(len(overlap), "pair")
    return (
        f"Of ambiguous words, {n_above} of {n_pairs} of models and measure share"
        " significantly more errors than chance ([errors](35_error_overlap),"
        " [ambiguous words](42_disambiguation))."
    )
