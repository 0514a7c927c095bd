"""Which model is best, and from which of its neighbours it differs significantly: from the tables of a run to ranks.

Classification and retrieval are read into one form, the outcomes: one row for each model, language and item, an item
being a class (with its images) or an image (with its captions). A score is correct predictions divided by all; a
model's mean over languages gives every language the same weight. An interval draws languages and items, the same for
all models; scores, ranks and the comparison of two models come from these draws, so that they agree.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

import numpy as np
import pandas as pd
from scipy import stats as scipy_stats

from babelatlas.base import languages, tables
from babelatlas.base.errors import InputError
from babelatlas.datasets import registry as data_sets
from babelatlas.evaluation import retrieval
from babelatlas.stats import bootstrap, tests

# How a result was obtained: the columns of a `zeroshot` or `retrieval` table that say it.
PROTOCOL = ("labels", "prompts", "captions", "choice", *tables.PROTOCOL)
KEY = ("task", "dataset", "metric", "model", "lang", *PROTOCOL)
BOARD = ["task", "dataset", "metric", "variant"]
TASKS = ("zeroshot", "retrieval")
KS = (1, 5, 10)
# Between the names of the sets of captions that a score is a mean over.
JOINED = " + "


def rankable(datasets: Iterable[str]) -> list[str]:
    """Return the data sets that models are ranked on: those to classify and to retrieve; others have their chapters."""
    others = {entry.name for entry in data_sets.DATASETS if entry.task not in ("zero-shot", "retrieval")}
    return [name for name in datasets if name not in others]


def files(results: str, models: Iterable[str], datasets: Iterable[str]) -> pd.DataFrame:
    """Return where a run keeps the outcomes of its models: model, dataset, task ("zeroshot" or "retrieval"), path.

    `results`: the folder of the run; of `datasets` those that are `rankable`. Raises InputError where a model has no
    table for a data set, and where no model or no such data set is named.
    """
    rows = []
    for dataset in rankable(datasets):
        for model in models:
            paths = {task: f"{results}/{task}/{model}_{dataset}.parquet" for task in TASKS}
            there = [(model, dataset, task, path) for task, path in paths.items() if tables.locate(path).is_file()]
            if not there:
                raise InputError(
                    f"There are no results of {model!r} on {dataset!r}, expected {' or '.join(paths.values())}: "
                    "run notebook 20 or 21 for this pair, or name other models or data sets."
                )
            rows += there
    if not rows:
        raise InputError("No model, or no data set to classify or to retrieve, is named: give at least one of each.")
    return pd.DataFrame(rows, columns=["model", "dataset", "task", "path"])


def outcomes(table: pd.DataFrame, k: int | str = 1) -> pd.DataFrame:
    """Return correct predictions by item of a `zeroshot` or `retrieval` table: KEY, item, right, total, one row each.

    For classification an item is a class, `right` the images for which it is among the k best (1 or 5), `total` its
    images, and the metric "accuracy@k". For retrieval an item is an image, `right` the expected number of its queries
    that find their match among the k best, `total` their number, and the metric "t2i recall@k" (its captions ask for
    it) or "i2t recall@k" (it asks for them). With k = "ndcg@20" `right` is the sum of the queries' NDCG, of which none
    may be missing. Columns of the protocol that a task does not know hold ""; texts are categories.
    """
    if "wnid" in table:
        if k not in (1, 5):
            raise InputError(f"A zeroshot table counts the first and the first five, got k={k}: give 1 or 5.")
        right = table["n_correct" if k == 1 else "n_correct_top5"]
        found = table.assign(task="zeroshot", metric=f"accuracy@{k}", item=table["wnid"], right=right)
        found = found.assign(total=found["n_images"].astype(float), captions="", choice="")
        return _categories(found)[[*KEY, "item", "right", "total"]].reset_index(drop=True)
    # English's own NDCG is 1, but for the last digit of float32.
    right = table["ndcg20"].clip(upper=1) if k == "ndcg@20" else np.asarray(retrieval.hits(table, k), float)
    metric = table["direction"].map(f"{{}} {k if k == 'ndcg@20' else f'recall@{k}'}".format)
    found = table.assign(task="retrieval", right=right, total=1.0, metric=metric, labels="", prompts="")
    found["item"] = retrieval.images(table)
    return _sums(_categories(found))


def _categories(items: pd.DataFrame) -> pd.DataFrame:
    """Return outcomes with categories for texts: millions of rows repeat a few of them."""
    texts = [name for name in (*KEY, "item") if not isinstance(items[name].dtype, pd.CategoricalDtype)]
    return items.astype(dict.fromkeys(texts, "category"))


def _sums(items: pd.DataFrame) -> pd.DataFrame:
    by = [*KEY, "item"]
    return items.groupby(by, as_index=False, sort=False, observed=True)[["right", "total"]].sum()


def by_language(
    results: str, models: Sequence[str], datasets: Sequence[str], n_resamples: int = 2000, seed: int = 0
) -> pd.DataFrame:
    """Return every score of a run in each language with its interval: a `languages` table.

    Metrics of classification: "accuracy@1", "accuracy@5" (for at least five classes) and "mean per class", the mean of
    the classes' shares. Of retrieval: those of `retrieval.METRICS` with "t2i " and "i2t " before them, as far as they
    are defined. Each set of captions has its own rows; where a data set has several and none is its main one, their
    mean has rows too (`over_sets`), without the median rank. An interval is over classes or images. Raises what `files`
    and `tables.read` raise.
    """
    return scores_of(files(results, models, datasets), n_resamples, seed)


def scores_of(found: pd.DataFrame, n_resamples: int = 2000, seed: int = 0) -> pd.DataFrame:
    """Return every score of the tables that `files` lists, each with its interval: a `languages` table."""
    parts = []
    for row in found.itertuples():  # one file in memory at a time
        scored = _classified if row.task == "zeroshot" else _retrieved
        parts.append(scored(tables.categories(tables.read(row.path, row.task)), n_resamples, seed))
    return tables.check(pd.concat(parts, ignore_index=True) if parts else tables.empty("languages"), "languages")


def _classified(table: pd.DataFrame, n_resamples: int, seed: int) -> pd.DataFrame:
    first, five = outcomes(table, 1), outcomes(table, 5)
    share = first.assign(right=first["right"] / first["total"], total=1.0, metric="mean per class")
    found, within, mean = (_interval(items, n_resamples, seed) for items in (first, five, share))
    mean["n"] = found["n"]  # images, as in the other rows: they have the same order
    return pd.concat([found, within[within["items"] >= 5], mean], ignore_index=True)


def _retrieved(table: pd.DataFrame, n_resamples: int, seed: int) -> pd.DataFrame:
    key = list(tables.QUERY)
    scores = retrieval.scores(table, n_resamples=n_resamples, seed=seed).dropna(subset="value")
    image, known = pd.Series(retrieval.images(table), index=table.index), table["ndcg20"].notna()
    ndcg = scores["metric"] == "ndcg@20"
    parts = []
    for rows, part in ((known, scores[ndcg]), (known | True, scores[~ndcg])):
        sizes = image[rows].groupby([table.loc[rows, name] for name in key]).nunique().rename("items").reset_index()
        parts.append(part.merge(sizes.astype(dict.fromkeys(key, str)), on=key))
    scores = pd.concat(parts).assign(task="retrieval", labels="", prompts="")
    parts = [scores.assign(metric=scores["direction"] + " " + scores["metric"]).drop(columns="direction")]
    for metric in (*KS, "ndcg@20") if known.any() else KS:
        items = over_sets(outcomes(table[known] if metric == "ndcg@20" else table, metric))
        if len(items):
            parts.append(_interval(items, n_resamples, seed))
    return pd.concat(parts, ignore_index=True)


def _interval(items: pd.DataFrame, n_resamples: int, seed: int) -> pd.DataFrame:
    """Return value, interval, n and items of each KEY of some outcomes, in their order."""
    by = list(KEY)
    found = bootstrap.accuracy_interval(items, by, "item", "right", "total", n_resamples, seed=seed).drop(columns="n")
    sizes = items.groupby(by, as_index=False, sort=False, observed=True).agg(n=("total", "sum"), items=("item", "size"))
    sizes = sizes.astype(dict.fromkeys(by, str))
    return sizes.assign(n=sizes["n"].round().astype(int)).merge(found, on=by)


def over_sets(items: pd.DataFrame) -> pd.DataFrame:
    """Return the outcomes of the mean over all sets of captions, of languages that have several and no main one.

    Every set has the same weight, however many captions it has: its counts are multiplied for that. The column
    `captions` names them all, "bing + google". Data sets with a main set (`Dataset.default_captions`) have no rows.

    >>> items = outcomes(pd.DataFrame({"captions": ["b", "a"], "direction": "i2t", "query": "x", "rank": [1, 2],
    ...     "tied": 0, "n_tied_correct": 1,
    ...     **dict.fromkeys(["model", "dataset", "choice", "lang", *tables.PROTOCOL], "")}))
    >>> over_sets(items)[["captions", "right", "total"]].to_numpy().tolist()
    [['a + b', 1.0, 2.0]]
    """
    items = items[~items["dataset"].isin([entry.name for entry in data_sets.DATASETS if entry.default_captions])]
    by = [column for column in KEY if column != "captions"]
    cell = items.groupby([*by, "captions"], sort=False, observed=True).ngroup().to_numpy()
    sums = items[[*by, "captions"]].drop_duplicates().astype(str)  # in order of appearance, as cells are numbered
    sums = sums.assign(size=np.bincount(cell, items["total"], len(sums)), cell=range(len(sums)))
    sums = sums.sort_values("captions", kind="stable")
    sums["sets"] = sums.groupby(by)["captions"].transform(JOINED.join)
    sums["times"] = sums.groupby(by)["size"].transform("mean") / sums["size"]
    sums = sums.sort_values("cell")
    several = (sums["sets"] != sums["captions"]).to_numpy()[cell]
    items, cell = items[several], cell[several]
    times = sums["times"].to_numpy()[cell]
    items = items.assign(right=items["right"] * times, total=items["total"] * times)
    return _sums(_categories(items.assign(captions=sums["sets"].astype("category").array[cell])))


def main(found: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a `languages` table that models are compared by, with `variant` and `title` (see there).

    These are all rows of classification; of retrieval those of the data set's main set of captions, or where it has
    none those of the mean over all sets that the language has (its only set, or `over_sets`).
    """
    found = found[_compared_by(found)].reset_index(drop=True)
    found = found.assign(variant=variants(found))
    return found.assign(title=list(map(title, found["dataset"], found["metric"], found["variant"])))


def _compared_by(found: pd.DataFrame) -> pd.Series:
    cell = ["task", "dataset", "model", "lang"]
    number = found.groupby([*cell, "captions"], sort=False, observed=True).ngroup()
    found = found[[*cell, "captions"]].drop_duplicates().astype(str)  # in order of appearance, as rows are numbered
    default = {entry.name: entry.default_captions for entry in data_sets.DATASETS if entry.default_captions}
    wanted = found["dataset"].map(default)
    sets = found["captions"].str.count(re.escape(JOINED))
    largest = sets.groupby([found[name] for name in cell]).transform("max")
    among = found["captions"].eq(wanted) | (wanted.isna() & sets.eq(largest))
    return number.map((found["task"].eq("zeroshot") | among).reset_index(drop=True))


def read(results: str, models: Sequence[str], datasets: Sequence[str]) -> pd.DataFrame:
    """Return the outcomes of all models on all data sets of a run that models are compared by (see `main`).

    With `variant`, as `variants` gives it; texts are categories. Raises what `files` and `tables.read` raise.
    """
    return _outcomes_of(files(results, models, datasets))


def _outcomes_of(found: pd.DataFrame) -> pd.DataFrame:
    parts = []
    for row in found.itertuples():
        items = outcomes(tables.categories(tables.read(row.path, row.task)))
        if row.task == "retrieval":
            several = over_sets(items)
            items = tables.joined([items, several]) if len(several) else items
        parts.append(items[_compared_by(items)].copy())
    found = tables.joined(parts)
    unit = found[[*KEY]].drop_duplicates()
    number = found.groupby([*KEY], sort=False, observed=True).ngroup()  # a row of `unit` each
    return found.assign(variant=pd.Categorical(variants(unit))[number])


def variants(items: pd.DataFrame) -> pd.Series:
    """Return for each row what tells it from other results of the same model in the same language, else "".

    A run may hold several protocols for a language (captions of three translators, say): then the columns in which they
    differ are named. Columns that differ only between languages or models are not: see `protocol`.
    """
    unit = ["task", "dataset", "metric", "model", "lang"]
    keys = items[[*unit, *PROTOCOL]].drop_duplicates().astype(str)
    counts = keys.groupby(unit)[list(PROTOCOL)].nunique().groupby(["task", "dataset"]).max()
    if not (counts > 1).any(axis=None):
        return pd.Series("", index=items.index)
    told = pd.Series("", index=keys.index)
    for (task, dataset), row in counts.iterrows():
        here = (keys["task"] == task) & (keys["dataset"] == dataset)
        for column in row.index[row > 1]:
            comma = told[here].map(lambda text: ", " if text else "")
            told[here] = told[here] + comma + column + " " + keys.loc[here, column]
    wide = keys.assign(variant=told)
    return items[list(keys)].astype(str).merge(wide, how="left", on=list(keys))["variant"].set_axis(items.index)


def protocol(rows: pd.DataFrame) -> str:
    """Return the protocol of some rows as text, a column with several values with all of them.

    >>> protocol(pd.DataFrame({"prompts": ["openai-80", "label"], "similarity": "cosine", "captions": ""}))
    'prompts: label and openai-80; similarity: cosine'
    """
    told = {column: sorted(set(rows[column]) - {""}) for column in PROTOCOL if column in rows}
    return "; ".join(f"{column}: {' and '.join(values)}" for column, values in told.items() if values)


def title(dataset: str, metric: str, variant: str = "") -> str:
    """Return the short name of a board: data set, direction, what is counted unless it is the first, and the variant.

    >>> title("xm3600", "t2i recall@1"), title("xm3600", "t2i recall@5"), title("imagenet-1k", "accuracy@1")
    ('xm3600, t2i', 'xm3600, t2i recall@5', 'imagenet-1k')
    """
    counted = {"accuracy@1": "", "t2i recall@1": "t2i", "i2t recall@1": "i2t"}.get(metric, metric)
    return ", ".join(filter(None, (dataset, counted, variant)))


def boards(items: pd.DataFrame) -> Iterator[tuple[tuple[str, str, str, str], pd.DataFrame]]:
    """Yield each task, data set, metric and variant with its outcomes, in order of appearance."""
    yield from items.groupby(BOARD, sort=False, observed=True)


def comparable(board: pd.DataFrame, own: Iterable[str]) -> pd.DataFrame:
    """Return a board without those models of others that lack a language which the run's own models share.

    So a table with few languages, merged into a run, does not take languages from its leaderboard. `own`: the models of
    the run; where none of them is on the board, the first model's languages count.
    """
    langs = board.groupby("model", sort=False, observed=True)["lang"].agg(set)
    ours = langs[langs.index.isin(list(own))]
    shared = set.intersection(*(ours if len(ours) else langs[:1]))
    kept = [model for model, there in langs.items() if model in ours.index or shared <= there]
    return board if len(kept) == len(langs) else board[board["model"].isin(kept)]


def tiers(codes: pd.Series, given: dict[str, list[str]] | None = None) -> pd.Series:
    """Return the group of each language: that of `given`, or else the paper's resource group.

    An ordered categorical: as in `languages.grouped`, or the paper's groups (Geigle et al. 2024, Table 5), "English"
    and "not in the paper".
    """
    if given:
        return languages.grouped(codes, given, pd.Series(dtype=int))
    known = languages.table().set_index("code")["group"].replace("", "not in the paper")
    found = codes.map(known).where(codes != "en", "English")
    order = [*languages.GROUPS, "English", "not in the paper"]
    return found.astype(pd.CategoricalDtype([name for name in order if (found == name).any()], ordered=True))


def cube(board: pd.DataFrame) -> tuple[np.ndarray, np.ndarray, list[str], list[str], list[str]]:
    """Return right and total as arrays (models, languages, items), and their names; models in order of appearance.

    Only languages that every model has are kept: raises InputError where there is none, and where a row occurs twice.
    """
    model, models = pd.factorize(board["model"])
    lang, langs = pd.factorize(board["lang"])
    item, items = pd.factorize(board["item"], sort=True)
    cells = (model * len(langs) + lang) * len(items) + item
    if (np.bincount(cells) > 1).any():
        raise InputError("A board needs one row for each model, language and item, but some occur twice: split it.")
    there = np.zeros((len(models), len(langs)), bool)
    there[model, lang] = True
    models, langs = list(models), np.asarray(langs, object)
    shared = np.flatnonzero(there.all(axis=0))
    if not len(shared):
        raise InputError(f"The models {', '.join(models)} have no language in common: compare fewer of them.")
    shared = shared[np.argsort(langs[shared], kind="stable")]
    place = np.full(len(langs), -1)
    place[shared] = np.arange(len(shared))
    rows = place[lang] >= 0
    used = np.flatnonzero(np.bincount(item[rows]))
    at = model[rows], place[lang[rows]], np.searchsorted(used, item[rows])
    right, total = (np.zeros((len(models), len(shared), len(used))) for _ in range(2))
    right[at], total[at] = board["right"].to_numpy()[rows], board["total"].to_numpy()[rows]
    return right, total, models, list(langs[shared]), list(np.asarray(items, object)[used])


def resampled_ranks(right: np.ndarray, total: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """Return the score in each resample of items: (resamples, models, languages), NaN where no item was drawn."""
    found = np.empty((len(drawn), *right.shape[:2]), dtype=np.float32)
    drawn = drawn.astype(np.float32)
    for model in range(len(right)):
        if model == 0 or (total[model] != total[model - 1]).any():  # models are shown the same images, as a rule
            seen = drawn @ total[model].T.astype(np.float32)
        with np.errstate(invalid="ignore", divide="ignore"):
            found[:, model] = drawn @ right[model].T.astype(np.float32) / seen
    return found


def resampled_means(resampled: np.ndarray, place: Sequence[int], n_resamples: int, seed: int) -> np.ndarray:
    """Return the mean over the languages at `place`, resampled, in each resample of items: (resamples, models).

    `resampled` as `resampled_ranks` gives it. Languages without a drawn item in a resample (NaN) are left out there.
    """
    times = _drawn(len(place), n_resamples, seed + 1)
    chosen = resampled[:, :, place]
    known = np.isfinite(chosen)
    sums = np.einsum("rml,rl->rm", np.where(known, chosen, 0), times)
    counts = np.einsum("rml,rl->rm", known, times)
    # Single precision differs in the seventh digit where two models do not differ at all.
    return np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0).round(6)


def _drawn(n: int, n_resamples: int, seed: int) -> np.ndarray:
    return bootstrap.resample_weights(n, n_resamples, seed) if n > 1 else np.ones((n_resamples, 1))


def _scored(board: pd.DataFrame, n_resamples: int, seed: int) -> tuple:
    """Return the scores (models, languages), `cube`'s right and total, resampled scores, and the names as in `cube`."""
    right, total, models, langs, names = cube(board)
    with np.errstate(invalid="ignore"):
        value = right.sum(axis=2) / total.sum(axis=2)
    resampled = resampled_ranks(right, total, _drawn(len(names), n_resamples, seed))
    return value, (right, total), resampled, models, langs, names


def _fewest(*sizes: int) -> int | None:
    """Return the number of clusters of the kind that has fewest, None where nothing is drawn from more than one."""
    return min((size for size in sizes if size > 1), default=None)


def ranking(
    board: pd.DataFrame, groups: dict[str, Sequence[str]] | None = None, n_resamples: int = 2000, seed: int = 0
) -> pd.DataFrame:
    """Return the models of one board by their mean over languages, in all and in each group of languages.

    `groups`: name -> codes; "all" always comes first. Columns: group, model, value, ci_low, ci_high, rank, rank_low,
    rank_high, first (share of the resamples in which the model is best), n (languages), items. An interval draws
    languages and items anew, and allows for the number of those that are fewer (`bootstrap.percentile_interval`); in a
    group of one language only items, and a score near 0 or 1 has that of `bootstrap.share_interval`. With a single item
    and language there is no interval (NaN).
    """
    value, (right, total), resampled, models, langs, _ = _scored(board, n_resamples, seed)
    parts = []
    for group, codes in {"all": langs, **(groups or {})}.items():
        place = [number for number, lang in enumerate(langs) if lang in set(codes)]
        if not place:
            continue
        means = resampled_means(resampled, place, n_resamples, seed)
        n_items = int((total[:, place].sum(axis=(0, 1)) > 0).sum())
        n_clusters = _fewest(len(place), n_items)
        found = tests.rank_intervals(models, value[:, place].mean(axis=1), means, n_clusters=n_clusters)
        if len(place) == n_items == 1:
            found[["ci_low", "ci_high"]] = np.nan
        elif len(place) == 1:
            there, order = total[:, place[0]].any(axis=0), [models.index(name) for name in found["name"]]
            counts = (each[order, place[0]][:, there].T for each in (right, total))
            found["ci_low"], found["ci_high"] = bootstrap.share_interval(*counts, (found["ci_low"], found["ci_high"]))
        parts.append(found.rename(columns={"name": "model"}).assign(group=group, n=len(place), items=n_items))
    table = pd.concat(parts, ignore_index=True)
    return table[["group", "model", *(column for column in table if column not in ("group", "model"))]]


def comparisons(board: pd.DataFrame, n_resamples: int = 2000, seed: int = 0) -> pd.DataFrame:
    """Compare all models of one board in pairs, over languages and items at once.

    Columns: first (the better), second, value, ci_low, ci_high, p, p_holm, n (languages), items. `value` is the
    difference of the means over languages, computed again in the resamples of `ranking`, the same for both models. p
    (two-sided) is twice the share of resamples in which the first is not better. Where that share is too small for so
    many resamples, p is that of a normal distribution with the resamples' standard deviation: the larger of the two
    counts, made as careful as the intervals (`bootstrap.expanded_p`), so that a rank's interval never reaches 1 for a
    model that is told from the first. With few items and languages p is at least 2 / 2 ** n, n being the larger of
    their numbers, as in a test that swaps the models. p_holm is Holm's correction (1979) for all pairs of the board.
    Rows are in the order of the ranks. With one model there are none.
    """
    value, _, resampled, models, langs, names = _scored(board, n_resamples, seed)
    value = value.mean(axis=1)
    means = resampled_means(resampled, range(len(langs)), n_resamples, seed)
    order = sorted(range(len(models)), key=lambda number: (-value[number], models[number]))
    rows, least = [], 2.0 ** (1 - max(len(langs), len(names)))
    n_clusters = _fewest(len(langs), len(names))
    for one, other in combinations(order, 2):
        gap, gaps = value[one] - value[other], means[:, one] - means[:, other]
        gaps = gaps[np.isfinite(gaps)]
        spread = gaps.std()
        tail = 2 * scipy_stats.norm.sf(gap / spread) if spread > 0 else float(gap == 0)
        p = min(1.0, max(2 * (gaps < 1e-6).mean(), tail))
        p = p if n_clusters is None else bootstrap.expanded_p(p, n_clusters)
        ends = map(float, bootstrap.percentile_interval(gaps, n_clusters=n_clusters))
        rows.append([models[one], models[other], gap, *ends, max(p, least)])
    table = pd.DataFrame(rows, columns=["first", "second", "value", "ci_low", "ci_high", "p"])
    table = table.astype(dict.fromkeys(["value", "ci_low", "ci_high", "p"], float))
    return table.assign(p_holm=tests.holm(table["p"]), n=len(langs), items=len(names))


def neighbours(ranked: pd.DataFrame, pairs: pd.DataFrame) -> pd.DataFrame:
    """Return of `comparisons` the pairs that stand next to one another in `ranked`, the rows of one group."""
    names = list(ranked["model"])
    wanted = pd.DataFrame({"first": names[:-1], "second": names[1:]}, dtype=object)
    return wanted.merge(pairs, on=["first", "second"])


def letters(ranked: pd.DataFrame, pairs: pd.DataFrame) -> pd.Series:
    """Return letters for the rows of `ranked`: those that share one do not differ (`tests.compact_letters`)."""
    apart = pairs.loc[pairs["p_holm"] < 0.05, ["first", "second"]].itertuples(index=False, name=None)
    return pd.Series(tests.compact_letters(list(ranked["model"]), list(apart)), index=ranked.index, dtype=str)


def summary(
    results: str,
    models: Sequence[str],
    datasets: Sequence[str],
    given: dict[str, list[str]] | None = None,
    n_resamples: int = 2000,
    seed: int = 0,
    merged: pd.DataFrame | None = None,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the rankings and the comparisons of all boards of a run, which are read one data set at a time.

    The first: BOARD, the columns of `ranking`, letters (in the group "all", else ""), over (the languages and items, as
    text), protocol (text), left_out (how many languages not all models have, which are not compared), title. The
    second: BOARD, the columns of `comparisons`, title. `given`: groups of languages, as `tiers` takes them. `merged`:
    tables of others, as `released.merged.files` lists them, which are ranked with those of the run (`comparable`).
    """
    ranked, pairs = [], []
    found = files(results, models, datasets)
    if merged is not None:
        found = pd.concat([found, merged.loc[merged["task"].isin(TASKS), list(found)]], ignore_index=True)
    for _, one in found.groupby("dataset", sort=False):
        for key, board in boards(_outcomes_of(one)):
            board = comparable(board, models)
            named = dict(zip(BOARD, key, strict=True)) | {"title": title(*key[1:])}
            codes = pd.Series(sorted(board["lang"].unique()), dtype=str)
            home = tiers(codes, given)
            groups = {name: list(codes[home == name]) for name in home.cat.categories}
            found = ranking(board, groups, n_resamples, seed=seed)
            tested = comparisons(board, n_resamples, seed=seed)
            whole = found["group"] == "all"
            found["letters"] = letters(found[whole], tested).reindex(found.index).fillna("")
            keys = board[["model", *PROTOCOL]].drop_duplicates().astype(str)
            said = {model: protocol(rows) for model, rows in keys.groupby("model")}
            left_out = len(codes) - int(found.loc[whole, "n"].iloc[0])
            shared = board.groupby("lang", observed=True)["model"].nunique()
            shared = set(shared.index[shared == shared.max()])  # `ranking` raises where that is not all models
            within = {name: sorted(shared & set(codes)) for name, codes in {"all": list(codes), **groups}.items()}
            one = board[board["model"] == board["model"].iloc[0]].groupby("lang", observed=True)["total"].sum()
            asked = [int(one[within[group]].sum()) for group in found["group"]]
            rows = zip(found["group"], found["items"], asked, strict=True)
            found["over"] = [_over(within[group], items, n, key[2]) for group, items, n in rows]
            ranked.append(found.assign(**named, protocol=found["model"].map(said), left_out=left_out))
            pairs.append(tested.assign(**named))
    return pd.concat(ranked, ignore_index=True), pd.concat(pairs, ignore_index=True)


def _over(codes: Sequence[str], n_items: int, n: int, metric: str) -> str:
    """Return what a mean is over: "German, 428 images of 107 classes" or "59 languages, up to 107 classes"."""
    counted = "class" if metric.startswith("accuracy") else "image"
    counted = f"{n_items:,} {counted}" + ("es" if counted == "class" else "s") * (n_items != 1)
    if len(codes) > 1:
        return f"{len(codes)} languages, up to {counted}"
    asked = {"accuracy": f"{n:,} images of ", "t2i": f"{n:,} captions of "}.get(re.split("[ @]", metric)[0], "")
    return f"{languages.table().set_index('code')['name'].get(codes[0], codes[0])}, {asked}{counted}"


def table(ranked: pd.DataFrame) -> pd.DataFrame:
    """Return the rankings of `summary` as a `scores` table: metrics "mean ..." and "rank ..." with their intervals.

    `group` is "all" or a group of languages, `variant` the protocol, n the number of languages.
    """
    parts = []
    for name, columns in {"mean": ("value", "ci_low", "ci_high"), "rank": ("rank", "rank_low", "rank_high")}.items():
        part = ranked.assign(metric=name + " " + ranked["metric"], lang="", variant=ranked["protocol"])
        part[["value", "ci_low", "ci_high"]] = ranked[list(columns)].to_numpy(float)
        parts.append(part[list(tables.SCORE)])
    return tables.check(pd.concat(parts, ignore_index=True), "scores")


def described(found: pd.DataFrame) -> pd.DataFrame:
    """Return `found`, which has a column `lang`, with columns that say what is known of each language.

    Columns: language (English name), script (its name), family, macroarea, glottocode, latitude and longitude (NaN for
    those that Glottolog gives no place, as constructed languages); "none" where there is no family or macroarea.
    """
    about = languages.table()[["code", "name", "script_name", "family", "macroarea", "glottocode"]]
    about = about.rename(columns={"code": "lang", "name": "language", "script_name": "script"})
    about = about.merge(languages.world()[["glottocode", "latitude", "longitude"]], how="left", on="glottocode")
    about = about.replace({"family": {"": "none"}, "macroarea": {"": "none"}})
    return found.merge(about, how="left", on="lang")


def strengths(found: pd.DataFrame, model: str, by: str, n_resamples: int = 2000, seed: int = 0) -> pd.DataFrame:
    """Say in which groups of languages a model is better or worse than elsewhere; one row for each value of `by`.

    `found`: the scores of one board, with the column `by`. Two comparisons, column `against`: "the others", the mean
    over the group's languages of this model minus the mean of the other models; and "its other languages", its mean in
    the group minus its mean in the languages outside. Columns: by, against, value, ci_low, ci_high, p, p_holm, n.
    The first is tested by swapping signs, the second by dealing the languages anew to the groups (permutation tests);
    Holm's correction is over all tested rows. A group of fewer than three languages has a value and nothing else (NaN).
    """
    wide = found.pivot_table(index="lang", columns="model", values="value", observed=True)
    if model not in wide:
        raise InputError(f"There is no model {model!r} in the scores: expected one of {', '.join(wide)}.")
    wide = wide.dropna(subset=[model])
    home = found.drop_duplicates("lang").set_index("lang")[by].reindex(wide.index)
    others = wide.drop(columns=model).mean(axis=1)

    def difference(one: np.ndarray, other: np.ndarray, axis: int) -> np.ndarray:
        return one.mean(axis=axis) - other.mean(axis=axis)

    rows = []
    for group in sorted(home.unique(), key=lambda name: (-(home == name).sum(), str(name))):
        inside = home == group
        own, rest, n = wide.loc[inside, model], wide.loc[~inside, model], int(inside.sum())
        gap = (own - others[inside]).dropna()
        if len(gap):
            ends = [np.nan] * 3
            if len(gap) >= 3:
                mean = bootstrap.mean_interval(gap, gap.index, n_resamples, seed=seed).iloc[0]
                ends = mean.ci_low, mean.ci_high, tests.paired_permutation_test(gap, seed=seed)
            rows.append([group, "the others", gap.mean(), *ends, len(gap)])
        if len(rest):
            ends = [np.nan] * 3
            if n >= 3 and len(rest) >= 3:
                both = own.to_numpy(), rest.to_numpy()
                test = scipy_stats.permutation_test(both, difference, vectorized=True, n_resamples=9999, rng=seed)
                ends = *bootstrap.sum_of_means(both, [1, -1], n_resamples, seed=seed)[1:], test.pvalue
            rows.append([group, "its other languages", own.mean() - rest.mean(), *ends, n])
    result = pd.DataFrame(rows, columns=[by, "against", "value", "ci_low", "ci_high", "p", "n"])
    result.insert(6, "p_holm", tests.holm(result["p"]))
    return result
