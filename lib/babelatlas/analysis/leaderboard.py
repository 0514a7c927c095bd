"""Ranks of a run's models, from correct predictions by class or image: which model is
best, and from which of its neighbours it differs significantly.

Use these ranks for a run, whose tables have a count for each item; `ranking` makes
those of released and published results, which have one score for each language.
Classification and retrieval are read into one form, the outcomes: one row for each
model, language and item, an item being a class (with its images) or an image (with its
captions). A score is correct predictions divided by all; a model's mean over languages
gives every language the same weight. An interval resamples languages and items, the
same for all models; scores, ranks and the comparison of two models come from these
resamples, so that they agree.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pandas as pd

from babelatlas.analysis import outcomes
from babelatlas.analysis.ranking import COMPARISON
from babelatlas.base import languages, tables
from babelatlas.base.errors import InputError
from babelatlas.report.formatting import counted
from babelatlas.stats import bootstrap, multiple_comparisons, proportions, ranks
from babelatlas.stats.distributions import normal_above


def comparable(board: pd.DataFrame, own: Iterable[str]) -> pd.DataFrame:
    """Return a board without those models of others that lack a language which the
    run's own models share.

    So a table with few languages, merged into a run, does not take languages from its
    leaderboard. `own`: the models of the run; where none of them is on the board, the
    first model's languages count.
    """
    langs = board.groupby("model", sort=False, observed=True)["lang"].agg(set)
    of_run = langs[langs.index.isin(list(own))]
    required = set.intersection(*(of_run if len(of_run) else langs[:1]))
    kept = [
        model
        for model, its_langs in langs.items()
        if model in of_run.index or required <= its_langs
    ]
    return board if len(kept) == len(langs) else board[board["model"].isin(kept)]


def tiers(codes: pd.Series, given: dict[str, list[str]] | None = None) -> pd.Series:
    """Return the group of each language, an ordered categorical: that of `given` (see
    `languages.grouped`), or else the paper's resource group (Geigle et al. 2024, Table
    5), "English" or "not in the paper".
    """
    if given:
        return languages.grouped(codes, given, pd.Series(dtype=int))
    of_paper = languages.table().set_index("code")["group"]
    of_paper = of_paper.replace("", "not in the paper")
    groups = codes.map(of_paper).where(codes != "en", "English")
    order = [*languages.GROUPS, "English", "not in the paper"]
    order = [name for name in order if (groups == name).any()]
    return groups.astype(pd.CategoricalDtype(order, ordered=True))


def cube(board: pd.DataFrame) -> tuple[np.ndarray, np.ndarray, list[str], list[str]]:
    """Return correct and total as arrays (models, languages, items), the models in
    order of appearance, the languages.

    Only languages that every model has are kept: raises InputError where there is none,
    and where a row occurs twice.
    """
    if board.duplicated(["model", "lang", "item"]).any():
        raise InputError(
            "A board needs one row for each model, language and item, but some occur"
            " twice: split it."
        )
    models = list(dict.fromkeys(board["model"]))
    n_models = board.groupby("lang", observed=True)["model"].nunique()
    langs = sorted(n_models.index[n_models == len(models)])
    if not langs:
        raise InputError(
            f"The models {', '.join(models)} have no language in common: compare fewer"
            " of them."
        )
    board = board[board["lang"].isin(langs)]
    item, items = pd.factorize(board["item"], sort=True)
    place_of_model = {model: place for place, model in enumerate(models)}
    place_of_lang = {lang: place for place, lang in enumerate(langs)}
    cells = (
        board["model"].map(place_of_model).to_numpy(int),
        board["lang"].map(place_of_lang).to_numpy(int),
        item,
    )
    correct = np.zeros((len(models), len(langs), len(items)))
    total = np.zeros_like(correct)
    correct[cells] = board["right"]
    total[cells] = board["total"]
    return correct, total, models, langs


def resampled_ranks(
    correct: np.ndarray, total: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Return the score in each resample of items: (resamples, models, languages), NaN
    where no item was drawn.

    `correct` and `total` as of `cube`; `weights`: (resamples, items).
    """
    scores = np.empty((len(weights), *correct.shape[:2]), dtype=np.float32)
    weights = weights.astype(np.float32)
    for model in range(len(correct)):
        # As a rule all models are shown the same images.
        if model == 0 or (total[model] != total[model - 1]).any():
            n_shown = weights @ total[model].T.astype(np.float32)
        n_correct = weights @ correct[model].T.astype(np.float32)
        with np.errstate(invalid="ignore", divide="ignore"):
            scores[:, model] = n_correct / n_shown
    return scores


def resampled_means(
    resampled: np.ndarray, place: Sequence[int], n_resamples: int, seed: int
) -> np.ndarray:
    """Return the mean over the languages at `place`, resampled, in each resample of
    items: (resamples, models).

    `resampled` as `resampled_ranks` gives it. Languages without a drawn item in a
    resample (NaN) are left out there.
    """
    weights = _weights(len(place), n_resamples, seed + 1)
    chosen = resampled[:, :, place]
    is_finite = np.isfinite(chosen)
    sums = np.einsum("rml,rl->rm", np.where(is_finite, chosen, 0), weights)
    counts = np.einsum("rml,rl->rm", is_finite, weights)
    means = np.full(sums.shape, np.nan)
    np.divide(sums, counts, out=means, where=counts > 0)
    # Single precision differs in the seventh digit where two models do not differ at
    # all.
    return means.round(6)


def _weights(n: int, n_resamples: int, seed: int) -> np.ndarray:
    """Return how often each of `n` counts in each resample; a single one counts once."""
    if n == 1:
        return np.ones((n_resamples, 1))
    return bootstrap.resample_weights(n, n_resamples, seed)


class _Resampled(NamedTuple):
    """A board as of `cube`, its scores (models, languages), and these in each resample
    of items.
    """

    correct: np.ndarray
    total: np.ndarray
    models: list[str]
    langs: list[str]
    scores: np.ndarray
    resampled: np.ndarray


def _resampled(board: pd.DataFrame, n_resamples: int, seed: int) -> _Resampled:
    correct, total, models, langs = cube(board)
    weights = _weights(correct.shape[2], n_resamples, seed)
    scores = correct.sum(axis=2) / total.sum(axis=2)
    resampled = resampled_ranks(correct, total, weights)
    return _Resampled(correct, total, models, langs, scores, resampled)


def _fewest(*sizes: int) -> int | None:
    """Return the number of clusters of the kind that has fewest, None where nothing is
    resampled.
    """
    return min((size for size in sizes if size > 1), default=None)


def ranking(
    board: pd.DataFrame,
    groups: dict[str, Sequence[str]] | None = None,
    n_resamples: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """Return the models of one board by their mean over languages, in all and in each
    group of languages.

    `groups`: name -> codes; "all" always comes first. Columns: group, model, value,
    ci_low, ci_high, rank, rank_low, rank_high, first (share of the resamples in which
    the model is best), n (languages), items. An interval resamples languages and items,
    and allows for the number of those that are fewer; in a group of one language only
    items, and a score near 0 or 1 has that of `proportions.share_interval`. With one item
    and language there is none (NaN).
    """
    cells = _resampled(board, n_resamples, seed)
    parts = []
    for group, codes in {"all": cells.langs, **(groups or {})}.items():
        codes = set(codes)
        places = [place for place, lang in enumerate(cells.langs) if lang in codes]
        if not places:
            continue
        means = resampled_means(cells.resampled, places, n_resamples, seed)
        n_shown = cells.total[:, places].sum(axis=(0, 1))
        n_items = int((n_shown > 0).sum())
        ranked = ranks.rank_intervals(
            cells.models,
            cells.scores[:, places].mean(axis=1),
            means,
            n_clusters=_fewest(len(places), n_items),
        )
        if len(places) == n_items == 1:
            ranked[["ci_low", "ci_high"]] = np.nan
        elif len(places) == 1:
            ends = _share_intervals(cells, places[0], ranked)
            ranked["ci_low"], ranked["ci_high"] = ends
        ranked = ranked.rename(columns={"name": "model"})
        ranked.insert(0, "group", group)
        parts.append(ranked.assign(n=len(places), items=n_items))
    return pd.concat(parts, ignore_index=True)


def _share_intervals(
    cells: _Resampled, place: int, ranked: pd.DataFrame
) -> tuple[np.ndarray, np.ndarray]:
    """Return the intervals of scores in one language (`proportions.share_interval`), in
    the order of `ranked`.
    """
    order = [cells.models.index(name) for name in ranked["name"]]
    is_shown = cells.total[:, place].any(axis=0)
    n_correct = cells.correct[order, place][:, is_shown].T
    n_total = cells.total[order, place][:, is_shown].T
    ends = (ranked["ci_low"], ranked["ci_high"])
    return proportions.share_interval(n_correct, n_total, ends)


def comparisons(
    board: pd.DataFrame, n_resamples: int = 2000, seed: int = 0
) -> pd.DataFrame:
    """Compare all models of one board in pairs, over languages and items at once.

    Columns: `ranking.COMPARISON` (group is "all"; p_adjusted by Holm's correction for
    all pairs of the board; n_clusters: the languages or the items, whichever are fewer,
    1 where there is one of both), items, and p_holm, which is p_adjusted; rows in the
    order of the ranks. p (two-sided) is twice the share of the resamples of `ranking`
    in which the first is not better, or where that is too small for so many resamples,
    that of a normal distribution with their standard deviation; made as careful as the
    intervals (`bootstrap.expanded_p`), so that a rank's interval never reaches 1 for a
    model that differs from the first, and at least 2 / 2 ** n, n being the larger
    number of items or languages, as in a test that swaps the models.
    """
    cells = _resampled(board, n_resamples, seed)
    models = cells.models
    value = cells.scores.mean(axis=1)
    n_langs, n_items = len(cells.langs), cells.correct.shape[2]
    means = resampled_means(cells.resampled, range(n_langs), n_resamples, seed)
    n_clusters = _fewest(n_langs, n_items)
    least = 2.0 ** (1 - max(n_langs, n_items))

    order = sorted(range(len(models)), key=lambda place: (-value[place], models[place]))
    rows = []
    for first, second in combinations(order, 2):
        gap = value[first] - value[second]
        gaps = means[:, first] - means[:, second]
        gaps = gaps[np.isfinite(gaps)]
        low, high = bootstrap.percentile_interval(gaps, n_clusters=n_clusters)
        p = max(_p_of_gap(gap, gaps, n_clusters), least)
        rows.append([models[first], models[second], gap, float(low), float(high), p])
    numbers = ["value", "ci_low", "ci_high", "p"]
    table = pd.DataFrame(rows, columns=["first", "second", *numbers])
    table = table.astype(dict.fromkeys(numbers, float))
    p_adjusted = multiple_comparisons.holm(table["p"])
    table = table.assign(group="all", p_adjusted=p_adjusted, n=n_langs, least=least)
    table = table.assign(n_clusters=n_clusters or 1)[COMPARISON]
    return table.assign(items=n_items, p_holm=p_adjusted)


def _p_of_gap(gap: float, gaps: np.ndarray, n_clusters: int | None) -> float:
    """Return the two-sided p of a difference from its resamples: see `comparisons`."""
    spread = gaps.std()
    normal = float(gap == 0)
    if spread > 0:
        normal = 2 * normal_above(gap / spread)
    p = min(1.0, max(2 * (gaps < 1e-6).mean(), normal))
    return p if n_clusters is None else bootstrap.expanded_p(p, n_clusters)


def letters(ranked: pd.DataFrame, apart: pd.DataFrame) -> pd.Series:
    """Return letters for the rows of `ranked`: two that share one are not in `apart`
    (`multiple_comparisons.compact_letters`).
    """
    apart = list(zip(apart["first"], apart["second"], strict=True))
    return pd.Series(
        multiple_comparisons.compact_letters(list(ranked["model"]), apart),
        index=ranked.index,
        dtype=str,
    )


def summary(
    results: str,
    models: Sequence[str],
    datasets: Sequence[str],
    given: dict[str, list[str]] | None = None,
    n_resamples: int = 2000,
    seed: int = 0,
    merged: pd.DataFrame | None = None,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the rankings and the comparisons of all boards of a run, which are read
    one data set at a time.

    The first: `outcomes.BOARD`, columns of `ranking`, letters (in the group "all", else
    ""), over (languages and items, text), protocol (text), left_out (languages that not
    all models have), title. The second: `outcomes.BOARD`, columns of `comparisons`,
    title. `given`: groups of languages, as for `tiers`. `merged`: tables of others, as
    `released.merged.files` lists them, which are ranked with those of the run
    (`comparable`).
    """
    paths = outcomes.files(results, models, datasets)
    if merged is not None:
        of_others = merged.loc[merged["task"].isin(outcomes.TASKS), list(paths)]
        paths = pd.concat([paths, of_others], ignore_index=True)
    ranked, pairs = [], []
    for _, of_dataset in paths.groupby("dataset", sort=False):
        boards = outcomes.compared(of_dataset).groupby(
            outcomes.BOARD, sort=False, observed=True
        )
        for key, board in boards:
            board = comparable(board, models)
            names = dict(zip(outcomes.BOARD, key, strict=True))
            names["title"] = outcomes.title(*key[1:])
            ranks, compared = _board_summary(board, given, key[2], n_resamples, seed)
            ranked.append(ranks.assign(**names))
            pairs.append(compared.assign(**names))
    ranked = pd.concat(ranked, ignore_index=True)
    last = ["protocol", "left_out"]
    ranked = ranked[[*ranked.columns.drop(last), *last]]
    return ranked, pd.concat(pairs, ignore_index=True)


def _board_summary(
    board: pd.DataFrame,
    given: dict[str, list[str]] | None,
    metric: str,
    n_resamples: int,
    seed: int,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the ranking of one board with letters, over, protocol and left_out, and
    its comparisons.
    """
    codes = pd.Series(sorted(board["lang"].unique()), dtype=str)
    group_of = tiers(codes, given)
    groups = {name: list(codes[group_of == name]) for name in group_of.cat.categories}
    ranked = ranking(board, groups, n_resamples, seed)
    pairs = comparisons(board, n_resamples, seed)
    in_all = ranked["group"] == "all"
    words = letters(ranked[in_all], pairs[pairs["p_adjusted"] < 0.05])
    ranked["letters"] = words.reindex(ranked.index).fillna("")

    n_models = board.groupby("lang", observed=True)["model"].nunique()
    has_all_models = n_models == board["model"].nunique()
    shared = {
        name: [code for code in part if has_all_models[code]]
        for name, part in {"all": codes, **groups}.items()
    }
    of_first = board[board["model"] == board["model"].iloc[0]]
    sizes = of_first.groupby("lang", observed=True)["total"].sum()
    ranked["over"] = [
        _over(shared[row.group], row.items, sizes, metric)
        for row in ranked[["group", "items"]].itertuples()
    ]
    by_model = board[["model", *outcomes.PROTOCOL]].drop_duplicates().astype(str)
    protocols = {
        model: outcomes.protocol(rows) for model, rows in by_model.groupby("model")
    }
    ranked["protocol"] = ranked["model"].map(protocols)
    ranked["left_out"] = len(codes) - len(shared["all"])
    return ranked, pairs


def _over(codes: Sequence[str], n_items: int, sizes: pd.Series, metric: str) -> str:
    """Return what a mean is over: "German, 428 images of 107 classes" or "59 languages,
    up to 107 classes".
    """
    noun = "class" if metric.startswith("accuracy") else "image"
    counted_items = counted(n_items, noun)
    if len(codes) > 1:
        return f"{len(codes)} languages, up to {counted_items}"
    n = int(sizes[codes].sum())
    asked = ""
    if re.match("accuracy[ @]|accuracy$", metric):
        asked = f"{n:,} images of "
    elif re.match("t2i[ @]|t2i$", metric):
        asked = f"{n:,} captions of "
    names = languages.table().set_index("code")["name"]
    return f"{names.get(codes[0], codes[0])}, {asked}{counted_items}"


def table(ranked: pd.DataFrame) -> pd.DataFrame:
    """Return the rankings of `summary` as a `scores` table: metrics "mean ..." and
    "rank ..." with their intervals.

    `group` is "all" or a group of languages, `variant` the protocol, n the number of
    languages.
    """
    columns_of = {
        "mean": ["value", "ci_low", "ci_high"],
        "rank": ["rank", "rank_low", "rank_high"],
    }
    parts = []
    for name, columns in columns_of.items():
        metric = name + " " + ranked["metric"]
        part = ranked.assign(metric=metric, lang="", variant=ranked["protocol"])
        part[["value", "ci_low", "ci_high"]] = ranked[columns].to_numpy(float)
        parts.append(part[list(tables.SCORE)])
    return tables.check(pd.concat(parts, ignore_index=True), "scores")


def described(rows: pd.DataFrame) -> pd.DataFrame:
    """Return `rows`, which have a column `lang`, with columns that describe each
    language.

    Columns: language (English name), script (its name), family, macroarea, glottocode,
    latitude and longitude (NaN for those that Glottolog gives no place, as constructed
    languages); "none" where there is no family or macroarea.
    """
    columns = {
        "code": "lang",
        "name": "language",
        "script_name": "script",
        "family": "family",
        "macroarea": "macroarea",
        "glottocode": "glottocode",
    }
    about = languages.table()[list(columns)].rename(columns=columns)
    places = languages.world()[["glottocode", "latitude", "longitude"]]
    about = about.merge(places, how="left", on="glottocode")
    about = about.replace({"family": {"": "none"}, "macroarea": {"": "none"}})
    return rows.merge(about, how="left", on="lang")
