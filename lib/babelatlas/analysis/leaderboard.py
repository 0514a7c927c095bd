"""Which model is best, and from which of its neighbours it differs significantly: from
the tables of a run to ranks.

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

import numpy as np
import pandas as pd
from scipy import stats as scipy_stats

from babelatlas.analysis import outcomes
from babelatlas.base import languages, tables
from babelatlas.base.errors import InputError
from babelatlas.stats import bootstrap, multiple_comparisons, proportions, ranks


def comparable(board: pd.DataFrame, own: Iterable[str]) -> pd.DataFrame:
    """Return a board without those models of others that lack a language which the
    run's own models share.

    So a table with few languages, merged into a run, does not take languages from its
    leaderboard. `own`: the models of the run; where none of them is on the board, the
    first model's languages count.
    """
    langs = board.groupby("model", sort=False, observed=True)["lang"].agg(set)
    ours = langs[langs.index.isin(list(own))]
    shared = set.intersection(*(ours if len(ours) else langs[:1]))
    kept = [
        model
        for model, there in langs.items()
        if model in ours.index or shared <= there
    ]
    return board if len(kept) == len(langs) else board[board["model"].isin(kept)]


def tiers(codes: pd.Series, given: dict[str, list[str]] | None = None) -> pd.Series:
    """Return the group of each language, an ordered categorical: that of `given` (see
    `languages.grouped`), or else the paper's resource group (Geigle et al. 2024, Table
    5), "English" or "not in the paper".
    """
    if given:
        return languages.grouped(codes, given, pd.Series(dtype=int))
    known = languages.table().set_index("code")["group"].replace("", "not in the paper")
    groups = codes.map(known).where(codes != "en", "English")
    order = [*languages.GROUPS, "English", "not in the paper"]
    return groups.astype(
        pd.CategoricalDtype(
            [name for name in order if (groups == name).any()], ordered=True
        )
    )


def cube(board: pd.DataFrame) -> tuple[np.ndarray, np.ndarray, list[str], list[str]]:
    """Return right and total as arrays (models, languages, items), the models in order
    of appearance, the languages.

    Only languages that every model has are kept: raises InputError where there is none,
    and where a row occurs twice.
    """
    if board.duplicated(["model", "lang", "item"]).any():
        raise InputError(
            "A board needs one row for each model, language and item, but some occur"
            " twice: split it."
        )
    models, n = (
        list(dict.fromkeys(board["model"])),
        board.groupby("lang", observed=True)["model"].nunique(),
    )
    langs = sorted(n.index[n == len(models)])
    if not langs:
        raise InputError(
            f"The models {', '.join(models)} have no language in common: compare fewer"
            " of them."
        )
    board = board[board["lang"].isin(langs)]
    item, items = pd.factorize(board["item"], sort=True)
    places = [
        {name: place for place, name in enumerate(names)} for names in (models, langs)
    ]
    at = (
        board["model"].map(places[0]).to_numpy(int),
        board["lang"].map(places[1]).to_numpy(int),
        item,
    )
    right, total = (np.zeros((len(models), len(langs), len(items))) for _ in range(2))
    right[at], total[at] = board["right"], board["total"]
    return right, total, models, langs


def resampled_ranks(
    right: np.ndarray, total: np.ndarray, drawn: np.ndarray
) -> np.ndarray:
    """Return the score in each resample of items: (resamples, models, languages), NaN
    where no item was drawn.
    """
    scores = np.empty((len(drawn), *right.shape[:2]), dtype=np.float32)
    drawn = drawn.astype(np.float32)
    for model in range(len(right)):
        if (
            model == 0 or (total[model] != total[model - 1]).any()
        ):  # models are shown the same images, as a rule
            seen = drawn @ total[model].T.astype(np.float32)
        with np.errstate(invalid="ignore", divide="ignore"):
            scores[:, model] = drawn @ right[model].T.astype(np.float32) / seen
    return scores


def resampled_means(
    resampled: np.ndarray, place: Sequence[int], n_resamples: int, seed: int
) -> np.ndarray:
    """Return the mean over the languages at `place`, resampled, in each resample of
    items: (resamples, models).

    `resampled` as `resampled_ranks` gives it. Languages without a drawn item in a
    resample (NaN) are left out there.
    """
    times = _drawn(len(place), n_resamples, seed + 1)
    chosen = resampled[:, :, place]
    known = np.isfinite(chosen)
    sums = np.einsum("rml,rl->rm", np.where(known, chosen, 0), times)
    counts = np.einsum("rml,rl->rm", known, times)
    # Single precision differs in the seventh digit where two models do not differ at
    # all.
    return np.divide(
        sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0
    ).round(6)


def _drawn(n: int, n_resamples: int, seed: int) -> np.ndarray:
    return (
        bootstrap.resample_weights(n, n_resamples, seed)
        if n > 1
        else np.ones((n_resamples, 1))
    )


def _resampled(board: pd.DataFrame, n_resamples: int, seed: int) -> tuple:
    right, total, models, langs = cube(board)
    return (
        right,
        total,
        models,
        langs,
        resampled_ranks(right, total, _drawn(right.shape[2], n_resamples, seed)),
    )


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
    right, total, models, langs, resampled = _resampled(board, n_resamples, seed)
    value, parts = right.sum(axis=2) / total.sum(axis=2), []
    for group, codes in {"all": langs, **(groups or {})}.items():
        place = [number for number, lang in enumerate(langs) if lang in set(codes)]
        if not place:
            continue
        means = resampled_means(resampled, place, n_resamples, seed)
        n_items = int((total[:, place].sum(axis=(0, 1)) > 0).sum())
        n_clusters = _fewest(len(place), n_items)
        ranked = ranks.rank_intervals(
            models, value[:, place].mean(axis=1), means, n_clusters=n_clusters
        )
        if len(place) == n_items == 1:
            ranked[["ci_low", "ci_high"]] = np.nan
        elif len(place) == 1:
            shown, order = (
                total[:, place[0]].any(axis=0),
                [models.index(name) for name in ranked["name"]],
            )
            counts = (each[order, place[0]][:, shown].T for each in (right, total))
            ends = proportions.share_interval(
                *counts, (ranked["ci_low"], ranked["ci_high"])
            )
            ranked["ci_low"], ranked["ci_high"] = ends
        parts.append(
            ranked.rename(columns={"name": "model"}).assign(
                group=group, n=len(place), items=n_items
            )
        )
    table = pd.concat(parts, ignore_index=True)
    return table[
        [
            "group",
            "model",
            *(column for column in table if column not in ("group", "model")),
        ]
    ]


def comparisons(
    board: pd.DataFrame, n_resamples: int = 2000, seed: int = 0
) -> pd.DataFrame:
    """Compare all models of one board in pairs, over languages and items at once.

    Columns: first (the better), second, value (difference of the means over languages),
    ci_low, ci_high, p, p_holm (Holm's correction for all pairs of the board), n
    (languages), items; rows in the order of the ranks. p (two-sided) is twice the share
    of the resamples of `ranking` in which the first is not better, or where that is too
    small for so many resamples, that of a normal distribution with their standard
    deviation; made as careful as the intervals (`bootstrap.expanded_p`), so that a
    rank's interval never reaches 1 for a model that differs from the first, and at
    least 2 / 2 ** n, n being the larger number of items or languages, as in a test that
    swaps the models.
    """
    right, total, models, langs, resampled = _resampled(board, n_resamples, seed)
    value, n_items = (
        (right.sum(axis=2) / total.sum(axis=2)).mean(axis=1),
        right.shape[2],
    )
    means = resampled_means(resampled, range(len(langs)), n_resamples, seed)
    order = sorted(
        range(len(models)), key=lambda number: (-value[number], models[number])
    )
    rows, least = [], 2.0 ** (1 - max(len(langs), n_items))
    n_clusters = _fewest(len(langs), n_items)
    for one, other in combinations(order, 2):
        gap, gaps = value[one] - value[other], means[:, one] - means[:, other]
        gaps = gaps[np.isfinite(gaps)]
        spread = gaps.std()
        tail = 2 * scipy_stats.norm.sf(gap / spread) if spread > 0 else float(gap == 0)
        p = min(1.0, max(2 * (gaps < 1e-6).mean(), tail))
        p = p if n_clusters is None else bootstrap.expanded_p(p, n_clusters)
        ends = map(float, bootstrap.percentile_interval(gaps, n_clusters=n_clusters))
        rows.append([models[one], models[other], gap, *ends, max(p, least)])
    table = pd.DataFrame(
        rows, columns=["first", "second", "value", "ci_low", "ci_high", "p"]
    )
    table = table.astype(dict.fromkeys(["value", "ci_low", "ci_high", "p"], float))
    return table.assign(
        p_holm=multiple_comparisons.holm(table["p"]), n=len(langs), items=n_items
    )


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
    ranked, pairs = [], []
    paths = outcomes.files(results, models, datasets)
    if merged is not None:
        paths = pd.concat(
            [paths, merged.loc[merged["task"].isin(outcomes.TASKS), list(paths)]],
            ignore_index=True,
        )
    for _, one in paths.groupby("dataset", sort=False):
        for key, board in outcomes.compared(one).groupby(
            outcomes.BOARD, sort=False, observed=True
        ):
            board = comparable(board, models)
            named = dict(zip(outcomes.BOARD, key, strict=True)) | {
                "title": outcomes.title(*key[1:])
            }
            codes = pd.Series(sorted(board["lang"].unique()), dtype=str)
            home = tiers(codes, given)
            groups = {name: list(codes[home == name]) for name in home.cat.categories}
            found, tested = (
                ranking(board, groups, n_resamples, seed),
                comparisons(board, n_resamples, seed),
            )
            whole = found["group"] == "all"
            found["letters"] = (
                letters(found[whole], tested[tested["p_holm"] < 0.05])
                .reindex(found.index)
                .fillna("")
            )
            protocols = (
                board[["model", *outcomes.PROTOCOL]]
                .drop_duplicates()
                .astype(str)
                .groupby("model")
            )
            said = {model: outcomes.protocol(rows) for model, rows in protocols}
            shared = (
                board.groupby("lang", observed=True)["model"].nunique()
                == board["model"].nunique()
            )
            within = {
                name: [code for code in part if shared[code]]
                for name, part in {"all": codes, **groups}.items()
            }
            sizes = (
                board[board["model"] == board["model"].iloc[0]]
                .groupby("lang", observed=True)["total"]
                .sum()
            )
            rows = zip(found["group"], found["items"], strict=True)
            found["over"] = [
                _over(within[group], items, sizes, key[2]) for group, items in rows
            ]
            left_out = len(codes) - len(within["all"])
            ranked.append(
                found.assign(
                    **named, protocol=found["model"].map(said), left_out=left_out
                )
            )
            pairs.append(tested.assign(**named))
    return pd.concat(ranked, ignore_index=True), pd.concat(pairs, ignore_index=True)


def _over(codes: Sequence[str], n_items: int, sizes: pd.Series, metric: str) -> str:
    """Return what a mean is over: "German, 428 images of 107 classes" or "59 languages,
    up to 107 classes".
    """
    noun = (
        ("class", "classes") if metric.startswith("accuracy") else ("image", "images")
    )
    counted = f"{n_items:,} {noun[n_items != 1]}"
    if len(codes) > 1:
        return f"{len(codes)} languages, up to {counted}"
    n = int(sizes[codes].sum())
    asked = {"accuracy": f"{n:,} images of ", "t2i": f"{n:,} captions of "}.get(
        re.split("[ @]", metric)[0], ""
    )
    return (
        f"{languages.table().set_index('code')['name'].get(codes[0], codes[0])},"
        f" {asked}{counted}"
    )


def table(ranked: pd.DataFrame) -> pd.DataFrame:
    """Return the rankings of `summary` as a `scores` table: metrics "mean ..." and
    "rank ..." with their intervals.

    `group` is "all" or a group of languages, `variant` the protocol, n the number of
    languages.
    """
    parts = []
    for name, columns in {
        "mean": ("value", "ci_low", "ci_high"),
        "rank": ("rank", "rank_low", "rank_high"),
    }.items():
        part = ranked.assign(
            metric=name + " " + ranked["metric"], lang="", variant=ranked["protocol"]
        )
        part[["value", "ci_low", "ci_high"]] = ranked[list(columns)].to_numpy(float)
        parts.append(part[list(tables.SCORE)])
    return tables.check(pd.concat(parts, ignore_index=True), "scores")


def described(found: pd.DataFrame) -> pd.DataFrame:
    """Return `found`, which has a column `lang`, with columns that say what is known of
    each language.

    Columns: language (English name), script (its name), family, macroarea, glottocode,
    latitude and longitude (NaN for those that Glottolog gives no place, as constructed
    languages); "none" where there is no family or macroarea.
    """
    about = languages.table()[
        ["code", "name", "script_name", "family", "macroarea", "glottocode"]
    ]
    about = about.rename(
        columns={"code": "lang", "name": "language", "script_name": "script"}
    )
    about = about.merge(
        languages.world()[["glottocode", "latitude", "longitude"]],
        how="left",
        on="glottocode",
    )
    return found.merge(
        about.replace({"family": {"": "none"}, "macroarea": {"": "none"}}),
        how="left",
        on="lang",
    )
