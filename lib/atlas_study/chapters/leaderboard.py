"""Which real model performs best across languages: leaderboards of released results,
with tests between their models.

A leaderboard ("board") is one harness, data set, metric and variant. Intervals resample
language families and queries; tests flip the signs of families.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from IPython.display import HTML, Markdown

from babelatlas.analysis import leaderboard as significance
from babelatlas.analysis import own_models, ranking, real_models
from babelatlas.base import languages, released, tables
from babelatlas.report import figures, reading
from babelatlas.report.formatting import counted, intervals
from babelatlas.stats import multiple_comparisons, permutation

Board = tuple[str, str, str, str]  # harness, data set, metric, variant ("" for none)
TOWERS = {"yes": "multilingual text tower", "no": "English text tower"}
# What stands side by side: harness, data set, metric and variants. C: CLIP_benchmark,
# m: mteb, B: the code of Babel-ImageNet.
BENCHMARKS = {
    "XM (C)": ("clip_benchmark", "xm3600", "recall@1", [""]),
    "XM (m)": ("mteb", "xm3600", "recall@1", ["", "data set 536cd45"]),
    "XM (B)": ("babel-imagenet", "xm3600", "recall@1", [""]),
    "XTD (C)": ("clip_benchmark", "xtd", "recall@1", [""]),
    "labels (B)": ("babel-imagenet", "babel-imagenet", "accuracy@1", ["label"]),
}
COSTS = {"parameters (millions)": "parameters_m", "GFLOPs": "gflops"}


class Leaderboards(NamedTuple):
    """All boards, and tables to read about the models of the first one.

    `ranked`: `rank_boards`; `main`: `compare_models` of the first board; `all_models`;
    `by_length`: `pairs_by_length`; `costs`: `cost_points`, and `fronts`: the models of
    each Pareto front; `further`: `best_of_boards`; `scores`: `board_scores`.
    """

    ranked: pd.DataFrame
    main: "MainBoard"
    all_models: pd.DataFrame
    by_length: pd.DataFrame
    costs: pd.DataFrame
    fronts: dict[str, list[str]]
    further: pd.DataFrame
    scores: pd.DataFrame


def compare(
    names: Iterable[Board], own: str, shown: int, lengths: Sequence[int], **options
) -> Leaderboards:
    """Rank the models of each board, and compare those of the first in pairs.

    `names` and `own`: as for `read_boards`; `shown`: how many models are the best;
    `lengths`: numbers of best models for `pairs_by_length`; `options`: n_resamples,
    seed.
    """
    boards = read_boards(names, own)
    ranked = rank_boards(boards, **options)
    main = compare_models(boards, ranked, shown, **options)
    costs = cost_points(main.models)
    return Leaderboards(
        ranked=ranked,
        main=main,
        all_models=all_models(main.models),
        by_length=pairs_by_length(boards, main, lengths, options["seed"]),
        costs=costs,
        fronts=cost_fronts(costs),
        further=best_of_boards(boards, ranked, options["seed"]),
        scores=board_scores(ranked),
    )


def read_boards(boards: Iterable[Board], own: str) -> dict[Board, pd.DataFrame]:
    """Return the scores of each board, as of `real_models.board`.

    `own`: a table `languages` of a run, whose real models form a last board with the
    data set and metric of the first; "" for none.
    """
    scores = {
        board: real_models.board(*board[:3], board[3] or None) for board in boards
    }
    _, dataset, metric, _ = next(iter(scores))
    of_run = tables.read(own, "languages") if own else tables.empty("languages")
    of_run = real_models.own_board(of_run, dataset, metric)
    if len(of_run):
        scores["this run", dataset, metric, ""] = of_run
    return scores


def rank_boards(boards: Mapping[Board, pd.DataFrame], **options) -> pd.DataFrame:
    """Return the ranks of the models of each board, by their mean over languages.

    Columns: those of `ranking.ranks`, board (its title), harness, dataset, metric, kind
    (what is resampled, "families"; for the first board "languages", too), title of the
    model, and ranks (the rank with its interval, as text). `options`: n_resamples,
    seed.
    """
    parts = []
    for place, (board, scores) in enumerate(boards.items()):
        harness, dataset, metric, _ = board
        clusters = {"families": languages.families(scores["lang"].unique())}
        if place == 0:
            clusters["languages"] = None
        for kind, cluster in clusters.items():
            ranks = ranking.ranks(scores, cluster=cluster, **options)
            title = real_models.title(harness, dataset, metric)
            ranks = ranks.assign(board=title, kind=kind, harness=harness)
            parts.append(ranks.assign(dataset=dataset, metric=metric))
    ranked = pd.concat(parts)
    titles = released.models()["title"]
    ranked["title"] = ranked["model"].map(titles).fillna(ranked["model"])
    ranked["ranks"] = [
        f"{row.rank} ({row.rank_low}–{row.rank_high})" for row in ranked.itertuples()
    ]
    return ranked


class MainBoard(NamedTuple):
    """The models of the first board, and which of them differ.

    `title`: of the board, with directions. `models`: rows of `rank_boards` (families),
    with text (mean and interval), parameters (millions), licence, date, above_guessing
    (True where the model is above guessing in each language). `best`: the first of
    these, with letters; `width` and `width_by_languages`: the mean width of their
    intervals in points, families and languages resampled. `pairs`:
    `ranking.comparisons` of all models, by family; `different` and `different_best`:
    those that differ significantly, of all and of the best models. `undecided`: titles
    of models that do not differ from the first. `separate`: the most models that all
    differ from each other. `neighbours`: how many models differ from the next one, by
    "families" and "languages", as text. `least_p`: the smallest p that so few families
    allow; `longest`: so many models can differ by Holm's method.
    """

    title: str
    models: pd.DataFrame
    best: pd.DataFrame
    width: float
    width_by_languages: float
    pairs: pd.DataFrame
    different: pd.DataFrame
    different_best: pd.DataFrame
    undecided: list[str]
    separate: int
    neighbours: dict[str, str]
    least_p: float
    longest: int


def compare_models(
    boards: Mapping[Board, pd.DataFrame], ranked: pd.DataFrame, shown: int, **options
) -> MainBoard:
    """Compare the models of the first board in pairs.

    `shown`: how many are the best; `options`: n_resamples, seed.
    """
    board, scores = next(iter(boards.items()))
    family = languages.families(scores["lang"].unique())
    pairs = ranking.comparisons(scores, cluster=family, **options)
    is_different = pairs["p_adjusted"] < 0.05
    different = pairs[is_different]

    ranked = ranked[ranked["board"] == ranked["board"].iloc[0]].set_index("kind")
    models = _with_facts(ranked.loc["families"].reset_index(drop=True), board)
    best = models.head(shown).reset_index(drop=True)
    different_best = different[different["second"].isin(best["model"])]
    best["letters"] = significance.letters(best, different_best)
    by_languages = ranked.loc["languages"].set_index("model")

    is_first = pairs["first"] == models["model"].iloc[0]
    undecided = pairs.loc[is_first & ~is_different, "second"]
    neighbours = {
        kind: _neighbours(scores, ranked.loc[kind, "model"], cluster, options["seed"])
        for kind, cluster in {"families": family, "languages": None}.items()
    }
    directions = task(board, scores).replace("both", "mean of both")
    least_p = pairs["least"].iloc[0]
    lengths = np.arange(2, len(models) + 2)
    n_pairs = lengths * (lengths - 1) / 2
    return MainBoard(
        title=f"{models['board'].iloc[0]}, {directions}",
        models=models,
        best=best,
        width=mean_width(best),
        width_by_languages=mean_width(by_languages.loc[best["model"]]),
        pairs=pairs,
        different=different,
        different_best=different_best,
        undecided=list(models.set_index("model").loc[undecided, "title"]),
        separate=ranking.significantly_different(pairs)["separate"].iloc[0],
        neighbours=neighbours,
        least_p=least_p,
        longest=lengths[n_pairs * least_p < 0.05].max(),
    )


def verdict(main: MainBoard, dataset: str) -> str:
    """Return which released model is best, as one sentence; `dataset`: its title."""
    top = main.models.iloc[0]
    next_to = "every other is significantly below it"
    if main.undecided:
        n_others = len(main.undecided)
        others = "one other" if n_others == 1 else f"{n_others} others"
        next_to = f"it is not significantly better than {others}"
    return (
        f"{top['title']} has the highest mean {top['metric']} of {len(main.models)}"
        f" models on {dataset}; {next_to}."
    )


def show_own(
    scores: pd.DataFrame, of_boards: pd.DataFrame, n_resamples: int, seed: int
) -> list[HTML | Markdown]:
    """Return the models of a run next to published ones: a heading, a table of its
    boards, and a figure of the first one where it has several models; nothing where the
    run has no real models of its own.

    `scores` and `of_boards`: as of `own_models.scores` and `own_models.boards`.
    """
    if of_boards.empty:
        return []
    row = of_boards.iloc[0]
    shown = [
        Markdown("## This run"),
        reading.table(
            own_models.board_table(of_boards),
            f"""<b>{own_models.lead(of_boards)}</b> Means over the languages that all models
            of a data set have; 95 % intervals over language families and images
            ({n_resamples:,} resamples). Pairs differ by sign-flip tests over families,
            adjusted for all pairs of a data set. Published: the best model of
            Babel-ImageNet's paper, next to the best of this run, in the languages that both
            have.""",
        ),
    ]
    if row["models"] > 1:
        board = scores[scores["title"] == row["title"]]
        ranked, _ = own_models.compared(board, n_resamples, seed)
        finding = f"{row['different']} of {row['pairs']} pairs of models differ"
        over = f"{row['n']} languages"
        axes = figures.ranks(ranked, "mean")
        caption = f"""<b>On {row["title"]}, {finding} significantly.</b> Mean over
        n = {over} of {row["families"]} families, with 95 % intervals over families and
        images. A group begins with the first model that is significantly below the first
        of the group before."""
        alt = f"On {row['title']}, {finding} significantly; {row['best']} is first."
        shown.append(figures.show(axes[0], caption=caption, alt=alt))
    return shown


def order_in_words(main: MainBoard) -> str:
    """Return how far the order of the best models can be trusted, without a full stop."""
    groups = figures.groups_of_models(main.best["letters"])
    n_groups = counted(groups.nunique(), "group")
    return (
        f"The {len(main.best)} best models form {n_groups}; within a group the order may"
        " be chance"
    )


def differences_in_words(main: MainBoard) -> str:
    """Return how many pairs of models differ, of all and of the best, without a full
    stop.
    """
    n_best = len(main.best)
    n_pairs_best = n_best * (n_best - 1) // 2
    return (
        f"{len(main.different):,} of {len(main.pairs):,} pairs of models differ"
        f" significantly, and {len(main.different_best)} of the {n_pairs_best} of the"
        f" {n_best} best"
    )


def board_chart(best: pd.DataFrame) -> dict:
    """Return the best models of a board as a chart that one explores (`figures.chart`).

    `best`: of `MainBoard`.
    """
    metric = best["metric"].iloc[0]
    facts = [
        f"{row.title}\nmean {metric} {row.text} %\nrank {row.ranks}\n{_about(row)}"
        for row in best.itertuples()
    ]
    points = pd.DataFrame(
        {
            "y": best["title"],
            "x": best["value"],
            "low": best["ci_low"],
            "high": best["ci_high"],
            "series": figures.groups_of_models(best["letters"]),
            "text": facts,
            "link": best["model"].map(figures.model_link),
        }
    )
    return figures.chart("rows", points, figures.Axis(f"mean {metric}", percent=True))


def _about(row) -> str:
    """Return size, licence and date of a model as text, without what is not stated."""
    parts = [row.licence or "licence not stated"]
    if pd.notna(row.parameters):
        parts.insert(0, f"{row.parameters:,.0f} million parameters")
    if pd.notna(row.date):
        parts.append(f"{row.date:%Y-%m}")
    return ", ".join(parts)


def mean_width(rows: pd.DataFrame) -> float:
    """Return the mean width of intervals, in points."""
    return 100 * float((rows["ci_high"] - rows["ci_low"]).mean())


def _with_facts(models: pd.DataFrame, board: Board) -> pd.DataFrame:
    """Return ranked models with text, parameters, licence, date and above_guessing."""
    facts = released.models().reindex(models["model"])
    return models.assign(
        text=intervals(models),
        parameters=facts["parameters_m"].to_numpy(),
        licence=facts["licence"].to_numpy(),
        date=facts["released"].to_numpy(),
        above_guessing=models["model"].map(_above_guessing(board)).to_numpy(),
    )


def _neighbours(
    scores: pd.DataFrame,
    order: pd.Series,
    cluster: Mapping[str, str] | None,
    seed: int,
) -> str:
    """Return how many models differ significantly from the next one in the order."""
    recall = ranking.by_language(scores)[order].to_numpy()
    gaps = recall[:, :-1] - recall[:, 1:]
    member = ranking.members(sorted(scores["lang"].unique()), cluster)
    p = permutation.step_down(member.T @ gaps, seed=seed)[1]
    return f"{(p < 0.05).sum()} of {len(p)}"


def _above_guessing(board: Board) -> pd.Series:
    """Return whether each model is above guessing in each language, in all directions.

    By the lower end of the exact 95 % interval.
    """
    harness, dataset, metric, _ = board
    rows = released.read(harness=harness, dataset=dataset, metric=metric)
    rows = released.one_run(rows)
    return (rows["excess_low"] > 0).groupby(rows["model"]).all()


def all_models(models: pd.DataFrame) -> pd.DataFrame:
    """Return all models with mean, rank, size and licence, as a table to read."""
    mean = f"mean {models['metric'].iloc[0]} (%)"
    columns = {
        "title": "model",
        "text": mean,
        "ranks": "rank (interval)",
        "parameters": "millions",
        "licence": "licence",
    }
    table = models[list(columns)].replace({"licence": {"": "not stated"}})
    return table.rename(columns=columns)


def pairs_by_length(
    boards: Mapping[Board, pd.DataFrame],
    main: MainBoard,
    lengths: Sequence[int],
    seed: int,
) -> pd.DataFrame:
    """Return how many pairs differ when only the best models of the first board are
    compared, as a table to read; the last row is all models.
    """
    scores = next(iter(boards.values()))
    n_models = len(main.models)
    family = languages.families(scores["lang"].unique())
    rows = []
    for length in [*(length for length in lengths if length < n_models), n_models]:
        pairs = main.pairs
        if length < n_models:
            best = main.models["model"].head(length)
            part = scores[scores["model"].isin(best)]
            pairs = ranking.comparisons(part, cluster=family, n_resamples=1, seed=seed)
        n_different = (pairs["p_adjusted"] < 0.05).sum()
        n_by_holm = (multiple_comparisons.holm(pairs["p"]) < 0.05).sum()
        share = 100 * n_different / len(pairs)
        rows.append([length, len(pairs), n_different, share, n_by_holm])
    columns = [
        "best models compared",
        "pairs",
        "differ significantly",
        "share (%)",
        "by Holm's method",
    ]
    return pd.DataFrame(rows, columns=columns)


def cost_points(models: pd.DataFrame) -> pd.DataFrame:
    """Return the points of `figures.cost_fronts`: the models by parameters and by
    FLOPs, with numbers for those of a Pareto front.

    `models`: of `MainBoard`. Columns: name, panel, series (text tower), cost, value,
    number.
    """
    facts = released.models().reindex(models["model"])
    towers = facts["multilingual_text"].map(TOWERS).fillna("text tower not stated")
    base = pd.DataFrame(
        {
            "name": models["title"].to_numpy(),
            "series": towers.to_numpy(),
            "value": models["value"].to_numpy(),
        }
    )
    points = pd.concat(
        [
            base.assign(panel=panel, cost=facts[column].to_numpy())
            for panel, column in COSTS.items()
        ],
        ignore_index=True,
    )
    fronts = [
        real_models.pareto_front(part, "cost", "value")
        for _, part in points.groupby("panel", sort=False)
    ]
    on_front = pd.concat(fronts)
    best_first = on_front.sort_values("value", ascending=False, kind="stable")
    names = best_first["name"].unique()
    numbers = points["name"].map({name: number for number, name in enumerate(names, 1)})
    numbers = numbers.where(points.index.isin(on_front.index)).fillna(0)
    points["number"] = numbers.astype(int)
    return points[["name", "panel", "series", "cost", "value", "number"]]


def cost_chart(costs: pd.DataFrame, metric: str) -> dict:
    """Return the models by their costs as a chart that one explores (`figures.chart`).

    `costs`: of `cost_points`.
    """
    rows = costs.dropna(subset=["cost"]).reset_index(drop=True)
    texts = [
        f"{row.name}\nmean {metric} {100 * row.value:.1f} %\n{row.panel}: {row.cost:,.0f}"
        + ("\non the Pareto front" if row.number else "")
        for row in rows.itertuples(index=False)
    ]
    models = released.models().drop_duplicates("title")
    names = pd.Series(models.index, models["title"])
    links = rows["name"].map(names).map(figures.model_link, na_action="ignore")
    front = rows["number"].where(rows["number"] > 0)
    points = rows.assign(x=rows["cost"], y=rows["value"], text=texts, link=links)
    points["front"] = front
    x = figures.Axis("log scale", scale="log")
    return figures.chart("points", points, x, figures.Axis(f"mean {metric}", True))


def cost_fronts(points: pd.DataFrame) -> dict[str, list[str]]:
    """Return the models of the Pareto front of each cost of `cost_points`, the cheapest
    first.
    """
    on_front = points[points["number"] > 0].sort_values("cost", kind="stable")
    return {
        panel.removesuffix(" (millions)"): list(
            on_front.loc[on_front["panel"] == panel, "name"]
        )
        for panel in COSTS
    }


def best_of_boards(
    boards: Mapping[Board, pd.DataFrame], ranked: pd.DataFrame, seed: int
) -> pd.DataFrame:
    """Return the best model of each board but the first, as a table to read."""
    rows = []
    for board, scores in list(boards.items())[1:]:
        harness, dataset, metric, _ = board
        title = real_models.title(harness, dataset, metric)
        ranks = ranked[(ranked["board"] == title) & (ranked["harness"] == harness)]
        best = ranks.iloc[0]
        family = languages.families(scores["lang"].unique())
        pairs = ranking.comparisons(scores, cluster=family, n_resamples=1, seed=seed)
        of_best = pairs[pairs["first"] == best["model"]]
        rows.append(
            {
                "leaderboard": f"{title}, {task(board, scores)}, {best['n']} languages",
                "models": len(ranks),
                "best model": best["title"],
                "mean (%)": intervals(ranks).iloc[0],
                "not significantly below it": (of_best["p_adjusted"] >= 0.05).sum(),
            }
        )
    return pd.DataFrame(rows)


def task(board: Board, scores: pd.DataFrame) -> str:
    """Return what the models of a board are asked for, in words."""
    if "imagenet" in board[1]:
        return "class names alone"
    return "both directions" if scores["directions"].max() == 2 else "text to image"


def side_by_side(n_best: int) -> tuple[pd.DataFrame, dict[str, int]]:
    """Return the best open models of each of `BENCHMARKS`, as a table to read, and the
    number of languages of each.

    `n_best`: models of each benchmark. Means over languages, in percent; of retrieval,
    text to image.
    """
    models = released.models()
    means = {}
    n_languages = {}
    for name, (harness, dataset, metric, variants) in BENCHMARKS.items():
        rows = released.read(harness=harness, dataset=dataset, metric=metric)
        rows = released.one_run(rows)
        rows = rows[(rows["direction"] != "i2t") & rows["variant"].isin(variants)]
        rows = rows[rows["model"].map(models["weights"]) == "open"]
        means[name] = 100 * rows.groupby("model")["value"].mean()
        n_languages[name] = rows["lang"].nunique()
    means = pd.DataFrame(means)
    is_best = (means.rank(ascending=False) <= n_best).any(axis=1)
    means = means[is_best].sort_values(list(BENCHMARKS), ascending=False)
    facts = models.loc[means.index, ["title", "parameters_m"]]
    facts.columns = ["model", "millions"]
    return facts.join(means), n_languages


def means_and_ranks(ranked: pd.DataFrame) -> pd.DataFrame:
    """Return ranked models as rows of scores, with `what`: "mean" or "rank"."""
    columns = {
        "mean": ["value", "ci_low", "ci_high"],
        "rank": ["rank", "rank_low", "rank_high"],
    }
    parts = []
    for what, names in columns.items():
        rows = ranked.assign(what=what, lang="")
        rows[columns["mean"]] = ranked[names].to_numpy(float)
        parts.append(rows)
    return pd.concat(parts, ignore_index=True)


def board_scores(ranked: pd.DataFrame) -> pd.DataFrame:
    """Return the ranks of `rank_boards` in the columns of schema `scores`."""
    rows = means_and_ranks(ranked)
    is_classification = rows["dataset"].str.contains("imagenet")
    rows = rows.assign(
        task=is_classification.map({True: "zeroshot", False: "retrieval"}),
        group="all",
        variant=rows["harness"] + ", " + rows["what"] + ", resampled " + rows["kind"],
    )
    return rows[list(tables.SCORE)]
