"""The results of the real models that a run evaluated itself: what its home and the
findings lead with, next to published results.

A run of the miniature has none: its models are trained within it. A board is a data
set, direction and variant (`outcomes.title`).
"""

import os
from collections.abc import Sequence

import numpy as np
import pandas as pd

from babelatlas.analysis import leaderboard, outcomes, ranking, usability, verdicts
from babelatlas.base import languages, published, tables
from babelatlas.evaluation import protocol
from babelatlas.models import registry
from babelatlas.report import formatting

ACCURACY, RECALL = "accuracy@1", "t2i recall@1"
METRICS = (ACCURACY, RECALL, "i2t recall@1")
DIRECTIONS = {"t2i": "text to image", "i2t": "image to text"}
ALPHA = 0.05
TIE = 1e-9  # means that differ by less are the same
# The data sets of which Geigle et al. (2024) report results by language, as they stand
# in `published`: ours -> theirs.
LABELS = "imagenet-1k"
CAPTIONS = ("xflickrco", "xm3600", "xtd")


def scores(path: str, models: Sequence[str], datasets: Sequence[str]) -> pd.DataFrame:
    """Return the scores of a run's real models that models are compared by: METRICS
    alone, the data sets in the order given.

    `path`: a `languages` table, "" for none. Columns: those of the schema `languages`,
    variant, title (of the board), language, group (of the paper) and kin (family). No
    rows where the run has no real models of its own (`registry.real_models`), or no
    scores of them; without models that hold classes out.
    """
    columns = [*tables.SCHEMAS["languages"][0], "variant", "title", "language", "group"]
    # A control that holds classes out chooses among fewer of them.
    real = [
        name
        for name in registry.real_models(models)
        if not registry.get_model(name).needs_classes
    ]
    if not (path and real and tables.locate(path).is_file()):
        return pd.DataFrame(columns=[*columns, "kin"])
    found = tables.read(path, "languages")
    is_asked = found["model"].isin(real) & found["dataset"].isin(datasets)
    found = found[is_asked & found["metric"].isin(METRICS)]
    if found.empty:
        return pd.DataFrame(columns=[*columns, "kin"])
    found = outcomes.main(found)
    orders = {"dataset": list(datasets), "metric": [*METRICS], "model": real}
    found = found.sort_values(
        list(orders),
        key=lambda names: names.map(orders[names.name].index),
        kind="stable",
    )
    kin = languages.families(found["lang"].unique())
    return found.assign(
        language=found["lang"].map(languages.name),
        group=leaderboard.tiers(found["lang"]).astype(str),
        kin=found["lang"].map(kin),
    )[[*columns, "kin"]].reset_index(drop=True)


def curves(results: str | os.PathLike, found: pd.DataFrame) -> pd.DataFrame:
    """Return accuracy by number of classes of the models and data sets of `scores`,
    schema `curves`; no rows where the run has none.

    Of several protocols of a model the first counts (`protocol.single`).
    """
    accuracy = found[found["metric"] == ACCURACY]
    parts = [tables.empty("curves")]
    folder = tables.locate(results)
    present = set(tables.of_run(results, "curves/*.parquet"))
    pairs = accuracy[["model", "dataset"]].drop_duplicates()
    for model, dataset in pairs.itertuples(index=False):
        path = folder / "curves" / f"{model}_{dataset}.parquet"
        if path in present:
            parts.append(protocol.single(tables.read(path, "curves")))
    return pd.concat(parts, ignore_index=True)


def comparable(board: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of one board of the models that can be compared: those that share
    at least half of the languages of the model with the most.

    A model of a few languages would leave the others a mean over these alone, one of
    other languages none.

    >>> rows = [["a", "de"], ["a", "fr"], ["a", "sw"], ["b", "de"], ["b", "fr"], ["c", "en"]]
    >>> board = pd.DataFrame(rows, columns=["model", "lang"])
    >>> list(comparable(board)["model"].unique())
    ['a', 'b']
    """
    languages_of = board.groupby("model", sort=False)["lang"].agg(set)
    models = languages_of.map(len).sort_values(ascending=False, kind="stable").index
    shared, compared_models = languages_of[models[0]], []
    least = len(shared) / 2
    for model in models:
        in_common = shared & languages_of[model]
        if len(in_common) >= least:
            shared = in_common
            compared_models.append(model)
    return board[board["model"].isin(compared_models)]


def compared(
    board: pd.DataFrame, n_resamples: int, seed: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the models of one board that are `comparable` by their mean over the
    languages that all have, the best first (columns of `ranking.ranks`, and letters),
    and their comparisons in pairs (of `ranking.comparisons`).

    Intervals resample language families and, of means, the images of each score; two
    models share a letter unless they differ significantly, by tests over families that
    are adjusted for all pairs.
    """
    board = comparable(board)
    kin = dict(zip(board["lang"], board["kin"], strict=True))
    options = {"cluster": kin, "n_resamples": n_resamples, "seed": seed}
    ranked = ranking.ranks(board, **options)
    pairs = ranking.comparisons(board, **options)
    different = pairs[pairs["p_adjusted"] < ALPHA]
    return ranked.assign(letters=leaderboard.letters(ranked, different)), pairs


def boards(found: pd.DataFrame, n_resamples: int, seed: int) -> pd.DataFrame:
    """Return a row for each board of `scores`: which model is best, and which differ.

    Columns: title, metric, models, left_out (models that share too few languages with
    the others, "; " between), n (languages that all models have), families, best,
    value, ci_low, ci_high (of the best, fractions), second ("" for one model), gap,
    gap_low, gap_high (best minus second), p (adjusted for all pairs, NaN where nothing
    can be tested), pairs, different, possible (whether so few families allow any pair to
    differ), who ("a – b; ...": the pairs that differ
    significantly), published, published_value and own_value (see `beside_published`).
    """
    rows = []
    for title, board in found.groupby("title", sort=False):
        models = board["model"].unique()
        board = comparable(board)
        ranked, pairs = compared(board, n_resamples, seed)
        different = pairs[pairs["p_adjusted"] < ALPHA]
        best = ranked.iloc[0]
        row = {
            "title": title,
            "metric": board["metric"].iloc[0],
            "models": len(ranked),
            "left_out": "; ".join(sorted({*models} - {*ranked["model"]})),
            "n": best["n"],
            "families": best["n_clusters"],
            "best": best["model"],
            "value": best["value"],
            "ci_low": best["ci_low"],
            "ci_high": best["ci_high"],
            "pairs": len(pairs),
            "different": len(different),
            "possible": bool((pairs["least"] < ALPHA).any()),
            "who": "; ".join(different["first"] + " – " + different["second"]),
        }
        rows.append(row | _next(pairs) | beside_published(board))
    return pd.DataFrame(rows)


def _next(pairs: pd.DataFrame) -> dict:
    """Return how the best model of a board compares with the second."""
    if pairs.empty:
        nothing = dict.fromkeys(["gap", "gap_low", "gap_high", "p"], np.nan)
        return {"second": "", **nothing}
    first = pairs.iloc[0]
    return {
        "second": first["second"],
        "gap": first["value"],
        "gap_low": first["ci_low"],
        "gap_high": first["ci_high"],
        "p": first["p_adjusted"],
    }


def beside_published(board: pd.DataFrame) -> dict:
    """Return the best published model on the data set of a board, and what the best of
    the run's models has in the same languages: published, published_value, own_value,
    n_published (languages); "" and NaN where nothing is published.

    Source: Geigle et al. (2024), Tables 8 to 12; of retrieval text to image alone.
    """
    dataset, metric = board["dataset"].iloc[0], board["metric"].iloc[0]
    nothing = {"published": "", "published_value": np.nan, "own_value": np.nan}
    theirs = published_scores(dataset, metric)
    theirs = theirs[theirs["lang"].isin(board["lang"])]
    if theirs.empty:
        return nothing | {"n_published": 0}
    by_lang = ranking.by_language(theirs)
    ours = board[board["lang"].isin(by_lang.index)]
    ours = ours.pivot(index="lang", columns="model", values="value").dropna()
    if ours.empty:
        return nothing | {"n_published": 0}
    means = by_lang.loc[ours.index].mean()
    return {
        "published": means.idxmax(),
        "published_value": means.max(),
        "own_value": ours.mean().max(),
        "n_published": len(ours),
    }


def published_scores(dataset: str, metric: str) -> pd.DataFrame:
    """Return published results by language on a data set: model, lang, value; no rows
    where there are none.
    """
    columns = ["model", "lang", "value"]
    if dataset == LABELS and metric == ACCURACY:
        return published.accuracy_by_language()[columns]
    if dataset in CAPTIONS and metric == RECALL:
        rows = published.retrieval()
        rows = rows[rows["dataset"] == dataset].drop(columns="accuracy")
        return rows.rename(columns={"recall": "value"})[columns]
    return pd.DataFrame(columns=columns)


def group_means(found: pd.DataFrame, n_resamples: int, seed: int) -> pd.DataFrame:
    """Return the mean accuracy of each model by group of languages (of the paper), with
    intervals over families and images: title, group, model, value, ci_low, ci_high, n.

    Of top-1 accuracy alone, over languages that all `comparable` models have.
    """
    parts = []
    accuracy = found[found["metric"] == ACCURACY]
    for title, board in accuracy.groupby("title", sort=False):
        board = comparable(board)
        kin = dict(zip(board["lang"], board["kin"], strict=True))
        groups = leaderboard.tiers(board["lang"])
        codes = {
            name: sorted(set(board.loc[groups == name, "lang"]))
            for name in groups.cat.categories
        }
        options = {"cluster": kin, "n_resamples": n_resamples, "seed": seed}
        means = ranking.ranks(board, codes, **options)
        means = means[means["group"] != "all"]
        order = {model: place for place, model in enumerate(board["model"].unique())}
        means = means.assign(title=title, place=means["model"].map(order))
        means["place_of_group"] = means["group"].map(list(codes).index)
        parts.append(means.sort_values(["place", "place_of_group"], kind="stable"))
    columns = ["title", "group", "model", "value", "ci_low", "ci_high", "n"]
    if not parts:
        return pd.DataFrame(columns=columns)
    return pd.concat(parts, ignore_index=True)[columns]


def judged(found: pd.DataFrame, curves: pd.DataFrame) -> pd.DataFrame:
    """Return whether the best of the run's models is usable in a language, by the rule
    of `usability`: its result beyond guessing as a share of the best result in English
    on the same board, of classification among as many classes.

    `curves`: accuracy by number of classes, schema `curves`, which has English among
    fewer classes; without it classification decides nothing where a language has fewer
    classes than English. Nothing is decided either where English is at the level of
    guessing. Of each board from text to image or of accuracy, a row for
    each language but English: title, lang, language, model, value, ci_low, ci_high,
    reference, share, share_low, share_high, verdict (one of `usability.STATES`),
    released (that of released results, "" for none).
    """
    parts = []
    used = found[found["metric"].isin([ACCURACY, RECALL])]
    for title, board in used.groupby("title", sort=False):
        best = board.sort_values(["value", "model"], ascending=[False, True])
        best = best.drop_duplicates("lang").set_index("lang")
        is_label = best["metric"].iloc[0] == ACCURACY
        references = _in_english(board, best["items"], curves if is_label else None)
        best = best.drop(index="en", errors="ignore").join(references)
        best["baseline"] = 1 / best["items"]
        # English at the level of guessing is no measure of another language.
        has_english = best["reference_low"] > best["baseline"]
        best[verdicts.REFERENCE] = best[verdicts.REFERENCE].where(has_english)
        best["above"] = (best["ci_low"] > best["baseline"]).astype(int)
        best = best.join(usability.share_interval(best))
        has_enough = (best["items"] >= verdicts.FEW) if is_label else True
        best["decided"] = has_enough & best["share"].notna()
        best["verdict"] = usability.states(best)
        parts.append(best.assign(title=title).reset_index(names="lang"))
    columns = ["title", "lang", "language", "model", "value", "ci_low", "ci_high"]
    columns += ["items", "reference", "share", "share_low", "share_high", "verdict"]
    if not parts:
        return pd.DataFrame(columns=[*columns, "released"])
    table = pd.concat(parts, ignore_index=True)[columns]
    released = verdicts.verdicts()["verdict"]
    return table.assign(released=table["lang"].map(released).fillna(""))


def _in_english(
    board: pd.DataFrame, sizes: pd.Series, curves: pd.DataFrame | None
) -> pd.DataFrame:
    """Return the best English result that each language is compared with: index lang;
    reference, reference_low, reference_high, NaN where there is none.

    `sizes`: of each language how many classes; `curves`: of classification English
    among fewer classes, None where the number does not matter.
    """
    names = ["value", "ci_low", "ci_high"]
    english = board[board["lang"] == "en"].sort_values("value", ascending=False)
    table = pd.DataFrame(np.nan, index=sizes.index, columns=verdicts.REFERENCE)
    if curves is None:
        if len(english):
            table[:] = english[names].iloc[0].to_numpy(float)
        return table
    among = english[["items", *names]].rename(columns={"items": "n_classes"})
    if len(english) and len(curves):
        key = ["model", "dataset", "lang"]
        is_board = pd.MultiIndex.from_frame(curves[key]).isin(
            pd.MultiIndex.from_frame(english[key])
        )
        among = pd.concat([among, curves.loc[is_board, ["n_classes", *names]]])
    among = among.sort_values("value", ascending=False, kind="stable")
    among = among.drop_duplicates("n_classes").set_index("n_classes")
    table[:] = among[names].reindex(sizes.to_numpy()).to_numpy(float)
    return table


def task_lacking(found: pd.DataFrame) -> str:
    """Return which validation a run with one task only lacks, and why: one sentence, ""
    where it has both tasks, or no real model.

    >>> task_lacking(pd.DataFrame({"task": ["zeroshot"]}))[:60]
    'This run has results of classification alone, so it cannot s'
    """
    tasks = {"zeroshot": "classification", "retrieval": "retrieval"}
    present = [name for task, name in tasks.items() if (found["task"] == task).any()]
    if len(present) != 1:
        return ""
    (lacking,) = set(tasks.values()) - set(present)
    return (
        f"This run has results of {present[0]} alone, so it cannot show whether accuracy"
        f" predicts recall and whether tasks agree: name a data set for {lacking} under"
        " `datasets` in its config."
    )


def lead(of_boards: pd.DataFrame) -> str:
    """Return what the first of `boards` says as one sentence, "" without one."""
    if of_boards.empty:
        return ""
    row = of_boards.iloc[0]
    where = row["title"]
    for direction, words in DIRECTIONS.items():
        where = where.replace(f", {direction}", f" ({words})")
    mean = formatting.interval(row["value"], row["ci_low"], row["ci_high"])
    measure = "accuracy" if row["metric"] == ACCURACY else "recall@1"
    over = formatting.counted(row["n"], "language")
    if row["models"] == 1:
        return (
            f"On {where}, {row['best']} reaches a mean {measure} of {mean} over"
            f" {over} in this run."
        )
    if abs(row["gap"]) < TIE:
        return (
            f"On {where}, several of this run's models share the highest mean {measure},"
            f" {mean} over {over}."
        )
    next_to = "; it is not significantly better than the next"
    if row["p"] < ALPHA:
        next_to = ", significantly higher than that of the next"
    return (
        f"On {where}, {row['best']} has the highest mean {measure} of this run's models,"
        f" {mean} over {over}{next_to}."
    )


def lead_of_judged(found: pd.DataFrame) -> str:
    """Return in how many languages a model of the run is usable, by the first board of
    `judged` that decides something, as one sentence; "" where none does.
    """
    decided = found[found["verdict"] != "not decided"]
    if decided.empty:
        return ""
    title = decided["title"].iloc[0]
    verdict = decided.loc[decided["title"] == title, "verdict"]
    n_usable = int((verdict == "usable").sum())
    n_languages = formatting.counted(len(verdict), "language")
    return (
        f"On {title}, a model of this run is usable in {n_usable} of {n_languages} other"
        " than English."
    )


def judged_counts(found: pd.DataFrame) -> pd.DataFrame:
    """Return how many languages of each board have which verdict, as a table to read,
    and how many of them are usable by released results.
    """
    rows = []
    for title, part in found.groupby("title", sort=False):
        counts = part["verdict"].value_counts().reindex(usability.STATES, fill_value=0)
        has_released = part["released"].isin(usability.STATES[:-1])
        released = (part.loc[has_released, "released"] == "usable").sum()
        rows.append(
            {"data set": title, "languages": len(part)}
            | counts.to_dict()
            | {"usable by released results": f"{released} of {has_released.sum()}"}
        )
    return pd.DataFrame(rows)


def judged_table(found: pd.DataFrame) -> pd.DataFrame:
    """Return `judged` as a reader sees it: a row for each language and board."""
    shares = found[["share", "share_low", "share_high"]]
    shares = shares.set_axis(["value", "ci_low", "ci_high"], axis=1)
    has_share = shares["value"].notna()
    return pd.DataFrame(
        {
            "language": found["language"],
            "best model": found["model"],
            "result (%)": formatting.intervals(found),
            "best in English (%)": [
                "–" if np.isnan(value) else f"{100 * value:.1f}"
                for value in found["reference"]
            ],
            "share (%)": formatting.intervals(shares).where(has_share, "–"),
            "verdict": found["verdict"],
            "by released results": found["released"].replace("", "–"),
            "data set": found["title"],
        }
    )


def board_table(of_boards: pd.DataFrame) -> pd.DataFrame:
    """Return `boards` as a reader sees it."""
    families = " (" + of_boards["families"].astype(str) + ")"
    shown = pd.DataFrame(
        {
            "data set": of_boards["title"],
            "languages (families)": of_boards["n"].astype(str) + families,
            "best model": of_boards["best"],
            "mean (%)": formatting.intervals(of_boards),
        }
    )
    has_second = of_boards["second"] != ""
    if has_second.any():
        gaps = of_boards[["gap", "gap_low", "gap_high"]]
        gaps = formatting.intervals(
            gaps.set_axis(["value", "ci_low", "ci_high"], axis=1)
        )
        gaps += ", " + of_boards["second"]
        shown["minus the next (points)"] = gaps.where(has_second, "–")
        counts = of_boards["different"].astype(str) + " of "
        counts += of_boards["pairs"].astype(str)
        counts = counts.where(of_boards["possible"], "too few families")
        shown["pairs that differ"] = counts.where(has_second, "–")
    if (of_boards["left_out"] != "").any():
        shown["too few languages in common"] = of_boards["left_out"].replace("", "–")
    has_published = of_boards["published"] != ""
    if has_published.any():
        names = ["published", "published_value", "own_value", "n_published"]
        shown["best published, and run (%)"] = [
            f"{name} {100 * theirs:.1f}, run {100 * ours:.1f} ({n})" if n else "–"
            for name, theirs, ours, n in of_boards[names].itertuples(index=False)
        ]
    return shown
