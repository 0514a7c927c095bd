"""How the models of a run classify and retrieve, by language and in all."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd
from matplotlib.axes import Axes

import babelatlas as ba
from atlas_build import merged
from atlas_study.chapters import this_run_languages as languages_of_run
from babelatlas.analysis import all_results, leaderboard, outcomes
from babelatlas.base import paths, tables
from babelatlas.datasets import registry as data_sets
from babelatlas.evaluation import retrieval
from babelatlas.models import registry as model_list
from babelatlas.report import figures, formatting

WAYS = {"t2i": "text to image", "i2t": "image to text"}
# Ties of retrieval: column -> what a page calls it.
TIES = {
    "tied": "tied (%)",
    "low": "all ties lost (%)",
    "expected": "recall@1 (%)",
    "high": "all ties won (%)",
}
MOST_NAMED = 4  # models or data sets in a sentence
MOST_RANKED = 25  # models in a figure of ranks: more do not fit one screen
NOT_IN_TABLE = ("recall@1", "recall@5", "median rank")


class Results(NamedTuple):
    """What the stages of a run and others have left, scored and ranked."""

    scores: (
        pd.DataFrame
    )  # those that models are compared by, with language and cell (text)
    accuracy: pd.DataFrame  # top-1 accuracy, with group, top5 and miniature
    all_scores: pd.DataFrame  # schema `languages`
    ranked: pd.DataFrame  # rankings in all and in groups of languages
    board_scores: pd.DataFrame  # the same, schema `scores`
    pairs: pd.DataFrame  # comparisons of all pairs of models
    files: pd.DataFrame  # model, dataset, task, path
    theirs: pd.DataFrame  # files that others computed and somebody added
    caution: str  # the mark of the miniature, "" without it


class Ranking(NamedTuple):
    """Means over languages, in rank order."""

    boards: pd.DataFrame  # rankings over all languages
    table: pd.DataFrame  # rankings in all and in groups, as a page shows them
    neighbours: pd.DataFrame  # title, first, second, value, ..., p, p_holm
    neighbour_table: pd.DataFrame  # the same, as a page shows it
    protocol: str  # Markdown


class Retrieval(NamedTuple):
    """Retrieval in both directions; `chance` is None where there is none."""

    recall: pd.DataFrame  # recall@1: language, group, way, name (model, variant)
    chance: pd.Series | None  # percent, by dataset, lang, direction
    tables: dict[str, pd.DataFrame]  # way -> every language, as a page shows it
    ties: pd.DataFrame  # as a page shows it


def read(
    results: str,
    models: Sequence[str],
    datasets: Sequence[str],
    tiers: dict[str, list[str]],
    n_resamples: int,
    seed: int,
) -> Results:
    """Return the results of a run with their intervals: of `models` on `datasets`, and
    those of others that were added to it.

    `accuracy` also has the real models that the run evaluated on shipped image vectors,
    which are not ranked.
    """
    theirs = merged.files(results)
    ranked, pairs = leaderboard.summary(
        results, models, datasets, tiers, n_resamples, seed, theirs
    )
    files = outcomes.files(results, models, datasets)
    all_scores = outcomes.scores_of(files, n_resamples, seed)
    scores = _described(all_scores, models)
    stored = _stored_files(results)
    of_stored = _described(
        outcomes.scores_of(stored, n_resamples, seed), list(stored["model"].unique())
    )
    return Results(
        scores=scores,
        accuracy=_accuracy([(of_stored, {}), (scores, tiers)]),
        all_scores=all_scores,
        ranked=ranked,
        board_scores=leaderboard.table(ranked),
        pairs=pairs,
        files=files,
        theirs=theirs,
        caution=model_list.caution(models),
    )


def _described(scores: pd.DataFrame, models: Sequence[str]) -> pd.DataFrame:
    """Return the scores that models are compared by, with language, order (of
    `models`) and cell (text).
    """
    scores = outcomes.main(scores)
    return scores.assign(
        language=scores["lang"].map(ba.language_name),
        order=scores["model"].map(models.index),
        cell=ba.intervals(scores),
    )


def _stored_files(results: str) -> pd.DataFrame:
    """Return the tables of real models that were evaluated on shipped image vectors, as
    `outcomes.files` lists tables.
    """
    rows = []
    for path in tables.of_run(results, "stored/*.parquet"):
        names = pd.read_parquet(path, columns=["model", "dataset"]).iloc[0]
        rows.append((names["model"], names["dataset"], "zeroshot", str(path)))
    return pd.DataFrame(rows, columns=["model", "dataset", "task", "path"])


def only_miniature(models: Sequence[str]) -> bool:
    """Return whether a run evaluates no models but the miniature's, besides those on
    shipped image vectors.
    """
    return not model_list.real_models(list(models))


def introduction(results: Results, models: Sequence[str]) -> str:
    """Return what stands above the first section, in MyST: the mark of a page on which
    real and miniature models stand side by side, what the run evaluated or that it was
    no real model, and where the explorer shows the results.
    """
    text = results.caution if not only_miniature(models) else ""
    has_real = (~results.accuracy["miniature"].astype(bool)).any()
    if only_miniature(models) and not has_real:
        text = (
            "This run evaluated no real model: what follows is the miniature's. [Your"
            " own model](own-model) says how to add one."
        )
    what = evaluated(pd.concat([results.accuracy, results.files]))
    return f"{text}\n\n{what} {_to_explorer(results.all_scores)}"


def evaluated(rows: pd.DataFrame) -> str:
    """Return which models a run evaluated on what, real ones first, as a sentence.

    `rows`: model and dataset, repeated as often as they occur.

    >>> pairs = [("picto-en", "pictograms"), ("openai-b32", "xm3600")]
    >>> print(evaluated(pd.DataFrame(pairs, columns=["model", "dataset"])))
    This run evaluated the real model openai-b32 on xm3600, and the miniature model \
picto-en on pictograms.
    """
    names = list(dict.fromkeys(rows["model"]))
    real = model_list.real_models(names)
    parts = []
    for kind in ("real", "miniature"):
        models = [name for name in names if (name in real) == (kind == "real")]
        if models:
            on = list(dict.fromkeys(rows.loc[rows["model"].isin(models), "dataset"]))
            noun = "model" if len(models) == 1 else "models"
            parts.append(f"the {kind} {noun} {_named(models)} on {_named(on)}")
    return f"This run evaluated {', and '.join(parts)}." if parts else ""


def _named(names: Sequence[str]) -> str:
    """Return names as text: all, or the first ones and how many others there are."""
    shown = list(map(formatting.escape, names[:MOST_NAMED]))
    if len(names) > MOST_NAMED:
        shown.append(f"{len(names) - MOST_NAMED:,} more")
    *first, last = shown
    return f"{', '.join(first)} and {last}" if first else last


def _to_explorer(scores: pd.DataFrame) -> str:
    """Return where the explorer shows the scores of a run (a `languages` table)."""
    boards = all_results.run_results(all_results.boards(scores), {})
    address = f"explorer.html#lang=all&benchmark={boards['id'].iloc[0]}"
    whose = "of this run"
    if not model_list.real_models(list(boards["model"].unique())):
        whose = "of the miniature"
    return (
        f'<a href="{address}">The explorer</a> shows the results {whose}, too, as'
        " benchmarks that end in “(this run)”."
    )


def takeaway(above: pd.DataFrame, boards: pd.DataFrame) -> str:
    """Return the answer of the chapter, of the first data set: in how many languages a
    model is better than guessing, in a run without classification the highest mean.

    `above`: of `this_run_languages.above_guessing`, real models first; `boards`: the
    rankings over all languages.
    """
    if len(above):
        of_first = above[above["title"] == above["title"].iloc[0]]
        return f"{languages_of_run.finding(of_first)}."
    first = boards.iloc[0]
    languages = ba.counted(first["n"], "language")
    percent = 100 * first["value"]
    return (
        f"On {first['title']}, {first['model']} has a mean recall@1 of {percent:.1f} %"
        f" over {languages}."
    )


def retrieval_finding(scores: pd.DataFrame, dataset: str) -> str:
    """Return in a sentence without its full stop which model finds images best by
    their captions, in how many languages.

    `scores`: of `retrieved`, on one data set, with the column model.
    """
    to_image = scores[scores["direction"] == "t2i"]
    model, n_best = lead_of(to_image, "lang")
    if len(set(to_image["model"])) == 1:
        mean = 100 * to_image["value"].mean()
        return f"From text to image, {model} has a mean recall@1 of {mean:.1f} % on {dataset}"
    languages = ba.counted(to_image["lang"].nunique(), "language")
    return (
        f"From text to image, {model} has the highest recall@1 on {dataset} in {n_best}"
        f" of {languages}"
    )


# Classification
# ----------------------------------------------------------------------------------


def _accuracy(scores: Sequence[tuple[pd.DataFrame, dict]]) -> pd.DataFrame:
    """Return top-1 accuracies with the group of each language, level (what the groups
    are), top5, and whether all models of the data set are the miniature's; real models
    first, by data set, model and group.

    `scores`: tables with the groups of their languages, {} for the paper's.
    """
    parts = []
    for table, tiers in scores:
        by_title = table[table["metric"] == "accuracy@1"].groupby("title")
        parts += [_of_board(part, table, tiers) for _, part in by_title]
    if not parts:
        return scores[0][0][:0].assign(group="", level="", top5=0.0, miniature=False)
    parts.sort(key=lambda part: part["miniature"].iloc[0])  # stable
    return pd.concat(parts, ignore_index=True)


def _of_board(
    accuracy: pd.DataFrame, scores: pd.DataFrame, tiers: dict[str, list[str]]
) -> pd.DataFrame:
    """Return the accuracies of one data set as `_accuracy` does; `scores` has top 5."""
    key = ["dataset", "variant", "model", "lang"]
    top5 = scores[scores["metric"] == "accuracy@5"].set_index(key)["value"]
    top5 = top5.reindex(pd.MultiIndex.from_frame(accuracy[key]))
    level = "training-data level" if tiers else "resource group of Babel-ImageNet"
    accuracy = accuracy.assign(
        group=leaderboard.tiers(accuracy["lang"], tiers),
        level=level,
        top5=top5.to_numpy(),
        miniature=languages_of_run.is_miniature(accuracy),
    )
    accuracy = accuracy.sort_values(["order", "group", "lang"], ignore_index=True)
    return accuracy.astype({"group": str})


def lead_of(scores: pd.DataFrame, unit: str, model: str = "model") -> tuple[str, int]:
    """Return which model has the highest value in the most groups of `unit`, and in how
    many.

    >>> scores = pd.DataFrame({"lang": ["de", "de"], "model": ["a", "b"], "value": [0.1, 0.2]})
    >>> lead_of(scores, "lang")
    ('b', 1)
    """
    best = scores.groupby(unit, observed=True)["value"].idxmax()
    n_best = scores.loc[best, model].value_counts()
    return n_best.index[0], int(n_best.iloc[0])


def differences(
    accuracy: pd.DataFrame, level: str, n_resamples: int, seed: int
) -> tuple[pd.DataFrame, int]:
    """Return the differences between models within groups of languages as a page shows
    them, and how many are significant; no rows where there are none to compare.

    Tests are over families of languages, adjusted by Holm's method.
    """
    parts = []
    for title, part in accuracy.groupby("title", sort=False):
        n_languages = part.groupby("group", observed=True)["lang"].transform("nunique")
        several = part[n_languages > 1]
        if len(several) and len(set(part["model"])) > 1:
            kin = ba.families(several["lang"].unique())
            found = ba.paired_difference(
                several, by=["group"], n_resamples=n_resamples, seed=seed, kin=kin
            )
            parts.append(found.assign(title=title))
    if not parts:
        return pd.DataFrame(), 0
    found = pd.concat(parts, ignore_index=True)
    texts = formatting.language_and_family_tests(found)
    table = found[["title", "first", "second", "group"]]
    table = table.set_axis(["data set", "model", "minus", level], axis=1)
    points = _points(found["value"], texts["95 %, over families"])
    table["points"] = [text.replace("-", "−") for text in points]
    table = table.join(texts[["p (Holm), families", "languages (families)"]])
    return table, int((found["p_family_holm"] < 0.05).sum())


def _points(values: pd.Series, ends: pd.Series) -> list[str]:
    """Return differences in points as text, with the interval where there is one."""
    texts = []
    for value, interval in zip(100 * values, ends, strict=True):
        text = f"{value:.1f} ({interval})" if interval else f"{value:.1f}"
        texts.append(text)
    return texts


def by_training_label(
    results: str, files: pd.DataFrame, n_resamples: int, seed: int
) -> tuple[pd.DataFrame, pd.Series]:
    """Return the accuracy of models whose training texts are there, for labels in them
    and not in them (model, label, value, ci_low, ci_high, n), and the number of labels.

    Over all languages but English. The images of a class are the same in every
    language: the interval resamples classes, each with all its languages.
    """
    models = list(dict.fromkeys(files["model"]))
    texts = [f"{results}/models/{model}/training_texts.parquet" for model in models]
    texts = [path for path in texts if tables.locate(path).is_file()]
    tested = files.loc[files["task"] == "zeroshot", "path"]
    if not texts or tested.empty:
        return pd.DataFrame(), pd.Series(dtype=int)
    seen = pd.concat(ba.read_table(path, "training_texts") for path in texts)
    seen = seen[["model", "lang", "wnid"]].drop_duplicates()
    rows = pd.concat(ba.read_table(path, "zeroshot") for path in tested)
    rows = rows[(rows["lang"] != "en") & rows["model"].isin(seen["model"])]
    rows = rows.merge(seen.assign(label="in training"), how="left")
    rows = rows.fillna({"label": "not in training"})

    items = rows.groupby(["model", "label", "wnid"], as_index=False)
    items = items[["n_correct", "n_images"]].sum()
    accuracy = ba.accuracy_interval(
        items, by=["model", "label"], n_resamples=n_resamples, seed=seed
    )
    accuracy = accuracy.sort_values(
        "model", key=lambda names: names.map(models.index), kind="stable"
    )
    labels = rows.drop_duplicates(["label", "labels", "lang", "wnid"])
    n_seen = int((labels["label"] == "in training").sum())
    n_labels = len(labels.drop_duplicates(["labels", "lang", "wnid"]))
    return accuracy, pd.Series({"all": n_labels, "in training": n_seen})


def means_by_label(accuracy: pd.DataFrame) -> pd.Series:
    """Return mean accuracy for labels in training and for others, over the models that
    have both; over all where none has.
    """
    n_kinds = accuracy.groupby("model")["label"].transform("nunique")
    has_both = n_kinds == accuracy["label"].nunique()
    compared = accuracy[has_both] if has_both.any() else accuracy
    return compared.groupby("label")["value"].mean()


# Retrieval
# ----------------------------------------------------------------------------------


def retrieved(
    scores: pd.DataFrame, files: pd.DataFrame, tiers: dict[str, list[str]]
) -> Retrieval:
    """Return how the models retrieve, what chance gives, and how often queries are
    tied.
    """
    found = scores[scores["task"] == "retrieval"].reset_index(drop=True)
    parts = found["metric"].str.split(" ", n=1, expand=True).reindex(columns=[0, 1])
    is_variant = found["variant"] != ""
    variants = (" (" + found["variant"] + ")").where(is_variant, "")
    found = found.assign(
        direction=parts[0],
        metric=parts[1],
        way=parts[0].map(WAYS),
        name=found["model"] + variants,
    )
    chance, ties = _chance_and_ties(files.loc[files["task"] == "retrieval", "path"])
    recall = found[found["metric"] == "recall@1"].reset_index(drop=True)
    return Retrieval(
        recall=_with_chance(recall, chance, tiers),
        chance=chance,
        tables={
            WAYS[direction]: _every_language(part, chance, direction)
            for direction, part in found.groupby("direction", sort=False)
        },
        ties=ties,
    )


def _with_chance(
    recall: pd.DataFrame, chance: pd.Series | None, tiers: dict[str, list[str]]
) -> pd.DataFrame:
    """Return recall@1 with the group of each language, chance (a fraction), and whether
    the interval is above it, sorted by data set, model and group.
    """
    if chance is None:
        return recall
    units = pd.MultiIndex.from_frame(recall[["dataset", "lang", "direction"]])
    recall = recall.assign(
        group=leaderboard.tiers(recall["lang"], tiers),
        chance=chance.reindex(units).to_numpy() / 100,
    )
    order = ["dataset", "order", "name", "group", "lang"]
    recall = recall.sort_values(order, kind="stable", ignore_index=True)
    is_above = recall["ci_low"] > recall["chance"]
    return recall.assign(is_above=is_above).astype({"group": str})


def _chance_and_ties(files: Sequence[str]) -> tuple[pd.Series | None, pd.DataFrame]:
    """Return recall@1 of a random order in percent, by dataset, lang and direction, and
    the table of ties.
    """
    chance, ties = [], []
    for file in files:  # one at a time: a table has a row for each query
        ranks = tables.categories(ba.read_table(file, "retrieval"))
        captions = data_sets.get_dataset(ranks["dataset"].iloc[0]).default_captions
        if captions:
            ranks = ranks[ranks["captions"] == captions]
        queries = ranks[["dataset", "model", "lang", "direction"]].assign(
            tied=retrieval.ties(ranks),
            expected=retrieval.hits(ranks, 1),
            high=ranks["rank"] == 1,
            chance=100 * retrieval.chance(ranks),
        )
        queries["low"] = queries["high"] & (queries["tied"] == 0)
        by_language = queries.groupby(["dataset", "lang", "direction"], sort=False)
        chance.append(by_language["chance"].mean())
        by_model = queries.groupby(["dataset", "model", "direction"], sort=False)
        percent = 100 * by_model[list(TIES)].mean().rename(columns=TIES)
        ties.append(percent.assign(queries=by_model.size()).reset_index())
    if not chance:
        return None, pd.DataFrame()
    table = pd.concat(ties, ignore_index=True).rename(columns={"dataset": "data set"})
    table = table[["model", "direction", *TIES.values(), "queries", "data set"]]
    return pd.concat(chance).groupby(level=[0, 1, 2]).mean(), table


def _every_language(
    part: pd.DataFrame, chance: pd.Series, direction: str
) -> pd.DataFrame:
    """Return all metrics of one direction by language, as a page shows them."""
    key = ["dataset", "name", "language", "lang"]
    recall = part[part["metric"] == "recall@1"].set_index(key).sort_index()
    units = recall.index.to_frame()[["dataset", "lang"]]
    chance = chance.xs(direction, level="direction")
    table = pd.DataFrame({"recall@1 (%)": recall["cell"]})
    table["chance (%)"] = chance.reindex(pd.MultiIndex.from_frame(units)).to_numpy()
    by_metric = part.pivot(index=key, columns="metric", values="value")
    by_metric = by_metric.reindex(recall.index).astype(float)
    for metric in retrieval.METRICS:
        if metric not in by_metric or metric in NOT_IN_TABLE:
            continue
        if metric.startswith("recall"):
            table[f"{metric} (%)"] = 100 * by_metric[metric]
        else:
            table[metric.replace("ndcg", "NDCG")] = by_metric[metric]
    table["queries"] = recall["n"]
    columns = list(table)
    table = table.reset_index().sort_values("language", kind="stable")
    table = table[["language", "name", *columns, "dataset"]]
    return table.rename(columns={"name": "model", "dataset": "data set"})


# Ranking
# ----------------------------------------------------------------------------------


def ranking(
    results: Results,
    models: Sequence[str],
    datasets: Sequence[str],
    tiers: dict[str, list[str]],
    level: str,
) -> Ranking:
    """Return the rankings of the models by their means over languages; `level` names
    the groups of languages.
    """
    ranked = results.ranked
    boards = ranked[ranked["group"] == "all"]
    table = pd.DataFrame(
        {
            "model": ranked["model"],
            level: ranked["group"],
            "data set": ranked["title"],
            "mean (%)": ba.intervals(ranked),
            "rank": [
                f"{row.rank} ({row.rank_low}–{row.rank_high})"
                for row in ranked.itertuples()
            ],
            "letters": ranked["letters"],
            "origin": merged.origins(ranked, results.theirs, models, datasets),
        }
    )
    if len(models) == 1:
        table = table.drop(columns=["rank", "letters"])
    if results.theirs.empty:
        table = table.drop(columns="origin")
    neighbours = _neighbours(boards, results.pairs)
    return Ranking(
        boards=boards,
        table=table,
        neighbours=neighbours,
        neighbour_table=_neighbour_table(neighbours),
        protocol=_protocol(boards, datasets, tiers),
    )


def _neighbours(boards: pd.DataFrame, pairs: pd.DataFrame) -> pd.DataFrame:
    """Return the comparison of each model with the next in the ranking."""
    following = boards.groupby("title", sort=False)["model"].shift(-1)
    near = pd.DataFrame(
        {"title": boards["title"], "first": boards["model"], "second": following}
    )
    return near.dropna().merge(pairs, on=["title", "first", "second"])


def _neighbour_table(near: pd.DataFrame) -> pd.DataFrame:
    p_values = map(ba.p_value, near["p_holm"], near["p"])
    return pd.DataFrame(
        {
            "data set": near["title"],
            "better": near["first"],
            "next": near["second"],
            "points": _points(near["value"], formatting.ranges(near)),
            "p (Holm)": list(p_values),
        }
    )


def _protocol(
    boards: pd.DataFrame, datasets: Sequence[str], tiers: dict[str, list[str]]
) -> str:
    lines = [
        f"- **{title}**: {rows['over'].iloc[0]}; languages left out, since not all"
        f" models have them: {rows['left_out'].iloc[0]};"
        f" {' | '.join(rows['protocol'].unique())}."
        for title, rows in boards.groupby("title", sort=False)
    ]
    custom = [name for name in datasets if data_sets.get_dataset(name).custom]
    if custom:
        names = ", ".join(map(formatting.escape, custom))
        lines.append(f"- Pictures and words of {names}: the user's own.")
    text = "\n".join(lines)
    if not tiers:
        return text
    levels = "; ".join(f"*{name}*: {', '.join(codes)}" for name, codes in tiers.items())
    return f"{text}\n\nTraining-data levels: {levels}; *other*: all other languages."


# Figures
# ----------------------------------------------------------------------------------


def draw_ranks(board: pd.DataFrame) -> Axes:
    """Draw the means of the best models of one board, in groups."""
    metric = board["metric"].iloc[0].split()[-1]
    return figures.ranks(board.head(MOST_RANKED), metric)[0]


# What is written
# ----------------------------------------------------------------------------------


def write_csv(
    path: str,
    folder: str,
    results: Results,
    models: Sequence[str],
    datasets: Sequence[str],
    n_resamples: int,
    seed: int,
) -> Path:
    """Write the scores of all models, and those that others computed, to a CSV file
    with the origin of each; return the path. `folder`: that of the run.
    """
    theirs = results.theirs
    added = theirs[theirs["task"].isin(outcomes.TASKS)]
    added_scores = outcomes.scores_of(added, n_resamples, seed)
    table = pd.concat([results.all_scores, added_scores], ignore_index=True)
    table = table.assign(group="", variant=outcomes.variants(table))
    table = table[[*tables.SCORE, *outcomes.PROTOCOL]]
    table = table.sort_values(tables.SCORE_KEY, kind="stable", ignore_index=True)
    table["origin"] = merged.origins(table, theirs, models, datasets)
    table = pd.concat([table, merged.scores(folder)], ignore_index=True)
    with paths.beside(path) as part:
        table.to_csv(part, index=False)
    return Path(path)
