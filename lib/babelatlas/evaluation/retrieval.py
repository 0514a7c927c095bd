"""Retrieval: from embeddings of images and captions to the rank of every query, and
from ranks to scores.

A caption asks for its image ("t2i"), an image for any of its captions ("i2t"). Kept of
a query is how many wrong candidates score higher than the best right one, and how many
the same: every measure follows. Scores are float32 cosines, or dot products
(`zeroshot.RULES`), and those that differ by no more than `zeroshot.TIE` are equal; ties
count as their expected value in random order. A caption that another image has too is
right for its own image only, unless the data set says that such captions are shared
(`evaluate`).

NDCG@20 is that of COCO-SM (README and script of the data set): how far a language ranks
its first 20 candidates as English does with the same query. The gain of a candidate is
the softmax of 100 times the English scores of the query, the discount of place p (from
1) is 1 / log2(p + 1); the sum over the language's first 20 candidates is divided by
English's. Candidates that tie share the mean of their gains. It is defined for cosines
only, whose scale is fixed.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse

from babelatlas.base import tables
from babelatlas.base.errors import InputError, near
from babelatlas.evaluation import zeroshot
from babelatlas.stats import bootstrap, proportions

DIRECTIONS = ("t2i", "i2t")
METRICS = ("recall@1", "recall@5", "recall@10", "median rank", "ndcg@20")
ENGLISH = "en"
# Places that NDCG looks at, and what the English scores are multiplied with before the
# softmax.
PLACES, SHARPNESS = 20, 100
# Queries whose scores are computed at once: on a CPU they should fit its caches.
ROWS = 128
COUNTS = ["rank", "tied", "n_tied_correct", "n_right", "n_candidates"]
COLUMNS = ["captions", "lang", "direction", "query", *COUNTS, "ndcg20"]
# `parallel` -> captions of an image that are translations, as `number` counts them.
TRANSLATED = {"": 0, "first": 1, "all": np.inf}


class _English(NamedTuple):
    """The English captions that others are compared with for NDCG, as tensors.

    `rows`: (image, number) -> row of a caption that is translated. `scores` (captions,
    images). `ideals`: what was computed of English rankings already, see `_ideal`.
    """

    set_name: str
    texts: Any
    rows: dict[tuple[str, int], int]
    scores: Any
    ideals: dict[Any, tuple]


class _Comparison(NamedTuple):
    """What `_scan` needs for NDCG: the `candidates` to rank, None for all; what looks
    up their English scores; the best English score of each query.
    """

    candidates: Any
    look_up: Callable
    top: Any


def parts(captions: pd.DataFrame) -> list[pd.DataFrame]:
    """Return the captions of each set and language as one table, set by set, English
    first, as `evaluate` needs them.

    `captions` and the tables: schema `captions`.
    """
    order = ["captions", "is_later", "lang", "image", "number"]
    ordered = captions.assign(is_later=captions["lang"] != ENGLISH)
    ordered = ordered.sort_values(order, ignore_index=True).drop(columns="is_later")
    groups = ordered.groupby(["captions", "lang"], sort=False)
    return [rows.reset_index(drop=True) for _, rows in groups]


def select(captions: pd.DataFrame, minimum_images: int = 1) -> pd.DataFrame:
    """Return the captions of the languages that have them for at least so many images,
    set by set.
    """
    sizes = captions.groupby(["captions", "lang"])["image"].transform("nunique")
    if not (sizes >= minimum_images).any():
        raise InputError(
            f"No language has captions for {minimum_images} images: lower"
            " minimum_images."
        )
    return captions[sizes >= minimum_images].reset_index(drop=True)


def evaluate(
    images: np.ndarray,
    gallery: Sequence[str],
    parts: Iterable[tuple[pd.DataFrame, np.ndarray]],
    parallel: str = "",
    similarity: str = "cosine",
    device: str = "cpu",
    shared: bool = False,
) -> pd.DataFrame:
    """Return one row for every query of every set and language of captions, both ways:
    `COLUMNS`.

    `images` (n, d) are the embeddings of the images that `gallery` names. `parts` gives
    for each set and language, in turn, its captions (schema `captions`) and their
    embeddings (rows, d); it may be a generator that embeds a language when its turn
    comes. `similarity`: one of `zeroshot.RULES`; a caption is a single text, so that
    "plain mean" is "cosine". `device`: where to compute, as torch names it.

    A caption is looked for among all images, also those without a caption in its
    language; an image that has captions among all captions of the language. `shared`:
    an image is right for a caption, and a caption for an image, also where it has the
    same text under another image, number or both ("A flower.").

    `parallel` says which captions are translations of English ones of the same set,
    which must come before: "all", by image and number; "first", those with number 0
    only; "", none. NDCG is computed for these, from image to text among the captions
    that both languages have; it is NaN elsewhere, and with dot products. Raises
    InputError where such captions are not numbered from 0.
    """
    import torch

    cosine = similarity != "dot product"
    scale = zeroshot.normalise if cosine else zeroshot.scaled
    row_of_image = {name: row for row, name in enumerate(gallery)}
    pictures = torch.from_numpy(scale(images)).to(device)
    n_translated = TRANSLATED[parallel if cosine else ""]
    ranked_parts, english = [], None
    for captions, vectors in parts:
        set_name, lang = captions[["captions", "lang"]].iloc[0]
        texts = torch.from_numpy(scale(vectors)).to(device)
        if n_translated:
            _check_first_number(captions)
        keys = list(zip(captions["image"], captions["number"], strict=True))
        translated = {key: row for row, key in enumerate(keys) if key[1] < n_translated}
        if lang == ENGLISH and n_translated:
            english = _English(set_name, texts, translated, texts @ pictures.T, {})
        pairs = []  # of a caption's row and its English original's
        if english and english.set_name == set_name:
            pairs = [
                (row, english.rows[key])
                for key, row in translated.items()
                if key in english.rows
            ]
        owner = np.array([row_of_image[image] for image, _ in keys])
        same = captions["caption"] if shared else pd.Series(keys)
        ranked = (pictures, texts, _matches(owner, same), pairs, english)
        of_captions = _table(*_rank_images(*ranked)).assign(
            direction="t2i",
            query=[f"{image}#{number}" for image, number in keys],
            n_candidates=len(pictures),
        )
        # An image without a caption has nothing to look for.
        rows = np.unique(owner)
        of_images = (
            _table(*_rank_captions(*ranked))
            .iloc[rows]
            .assign(
                direction="i2t",
                query=[gallery[row] for row in rows],
                n_candidates=len(texts),
            )
        )
        for table in (of_captions, of_images):
            table = table.assign(captions=set_name, lang=lang)
            ranked_parts.append(table[COLUMNS])
    return pd.concat(ranked_parts, ignore_index=True)


def _check_first_number(captions: pd.DataFrame) -> None:
    """Raise InputError where captions are not numbered from 0."""
    first = captions["number"].min()
    if first > 0:
        name, lang = captions[["captions", "lang"]].iloc[0]
        raise InputError(
            f"The captions in {lang} ({name}) are numbered from {first}, so that none"
            " is the translation of an English one: number them from 0."
        )


def _table(counts: np.ndarray, ndcg: np.ndarray) -> pd.DataFrame:
    """Return counts (4, queries) and NDCG (queries,) as columns."""
    return pd.DataFrame(dict(zip(COUNTS, counts, strict=False)) | {"ndcg20": ndcg})


def _matches(owner: np.ndarray, same: pd.Series) -> pd.DataFrame:
    """Return which texts are right for which images, each pair once: columns text,
    image (rows).

    `owner`: the image of each text; texts that are the `same` are right for the same.
    """
    group = pd.factorize(same)[0]
    texts = pd.DataFrame({"text": np.arange(len(owner)), "group": group})
    images = pd.DataFrame({"image": owner, "group": group}).drop_duplicates()
    return texts.merge(images, on="group")[["text", "image"]]


def _in_rows(
    queries: pd.Series, right: pd.Series, n: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the right candidates of each of `n` queries in a row (n, most), and which
    of these are no filling.
    """
    # Short rows are filled up with the first of the row.
    order = np.argsort(queries.to_numpy(), kind="stable")
    sizes = np.bincount(queries, minlength=n)
    valid = np.arange(sizes.max()) < sizes[:, None]
    rows = np.zeros(valid.shape, np.int64)
    rows[valid] = right.to_numpy()[order]
    return np.where(valid, rows, rows[:, :1]), valid


def _rank_images(
    images, texts, matches: pd.DataFrame, pairs: list, english: _English | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return how each text ranks its images, the first of `COUNTS` (4, texts), and its
    NDCG; `pairs`: rows of a text and of its English original.
    """
    import torch

    right = _in_rows(matches["text"], matches["image"], len(texts))
    ndcg = np.full(len(texts), np.nan)
    if not pairs:
        counts, _ = _scan(texts, images, *right)
        return counts, ndcg
    rows, original_rows = np.array(pairs).T
    original_of = np.zeros(len(texts), np.int64)
    original_of[rows] = original_rows
    original_of = torch.from_numpy(original_of).to(images.device)
    scores = english.scores
    if "t2i" not in english.ideals:
        english.ideals["t2i"] = _ideal(
            english.texts,
            images,
            lambda queries, index: scores[queries[:, None], index],
        )
    ideal, top = english.ideals["t2i"]

    def look_up(queries, index):
        return scores[original_of[queries][:, None], index]

    comparison = _Comparison(None, look_up, top[original_of])
    counts, gained = _scan(texts, images, *right, comparison)
    ndcg[rows] = (gained / ideal[original_of]).cpu().numpy()[rows]
    return counts, ndcg


def _rank_captions(
    images, texts, matches: pd.DataFrame, pairs: list, english: _English | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return how each image ranks its texts, as `_rank_images`; the row of an image
    without texts means nothing.
    """
    import torch

    right = _in_rows(matches["image"], matches["text"], len(images))
    if not pairs:
        counts, _ = _scan(images, texts, *right)
        return counts, np.full(len(images), np.nan)
    in_order = sorted(pairs, key=lambda pair: pair[1])
    rows, original_rows = np.array(in_order).T
    mark = original_rows.tobytes()
    has_all = np.array_equal(rows, np.arange(len(texts)))
    rows = torch.from_numpy(rows.copy()).to(images.device)
    original_rows = torch.from_numpy(original_rows.copy()).to(images.device)

    def look_up(queries, index):
        return english.scores[original_rows[index], queries[:, None]]

    if mark not in english.ideals:
        originals = english.texts[original_rows]
        english.ideals[mark] = _ideal(images, originals, look_up)
    ideal, top = english.ideals[mark]
    comparison = _Comparison(None if has_all else texts[rows], look_up, top)
    counts, gained = _scan(images, texts, *right, comparison)
    return counts, (gained / ideal).cpu().numpy().astype(float)


def _scan(
    queries,
    candidates,
    right: np.ndarray,
    valid: np.ndarray,
    comparison: _Comparison | None = None,
) -> tuple:
    """Return the first of `COUNTS` (4, queries), and what each query's ranking gains,
    None without `comparison`.

    `right` (queries, most): the right candidates, of which those that are not `valid`
    only fill up.
    """
    import torch

    n_right = valid.sum(1)
    right = torch.from_numpy(right).to(queries.device)
    valid = torch.from_numpy(valid).to(queries.device)
    counts, gained = np.zeros((4, len(queries)), np.int64), []
    for rows in torch.arange(len(queries), device=queries.device).split(ROWS):
        part = slice(int(rows[0]), int(rows[-1]) + 1)
        scores = queries[part] @ candidates.T
        if comparison is not None:
            compared = scores
            if comparison.candidates is not None:
                compared = queries[part] @ comparison.candidates.T
            top = comparison.top[part]
            gained.append(_gain(compared, rows, comparison.look_up, top))
        of_right = scores.gather(1, right[part]).masked_fill(~valid[part], -torch.inf)
        best = of_right.amax(dim=1, keepdim=True)
        n_better = _count(scores > best + zeroshot.TIE)
        n_not_worse = _count(scores >= best - zeroshot.TIE)
        n_tied_right = _count(of_right >= best - zeroshot.TIE)
        # No right one is better than the best.
        n_tied_wrong = n_not_worse - n_better - n_tied_right
        counts[:, part] = [1 + n_better, n_tied_wrong, n_tied_right, n_right[part]]
    return counts, torch.cat(gained) if gained else None


def _count(flags) -> np.ndarray:
    """Return how many of each row (rows, n) are true; NumPy counts five times as fast
    as torch on a CPU.
    """
    return np.count_nonzero(flags.cpu().numpy(), axis=1)


def _ideal(queries, candidates, look_up: Callable) -> tuple:
    """Return what the English ranking gains of each query (queries,), and its best
    score (queries,).
    """
    import torch

    gained, top = [], []
    for rows in torch.arange(len(queries), device=queries.device).split(ROWS):
        scores = queries[rows] @ candidates.T
        top.append(scores.amax(dim=1))
        gained.append(_gain(scores, rows, look_up, top[-1]))
    return torch.cat(gained), torch.cat(top)


def _gain(scores, rows, look_up: Callable, top):
    """Return the discounted gains (queries,) of the best candidates; `rows`: numbers of
    queries, `top`: English.
    """
    best, index = scores.topk(min(PLACES + 1, scores.shape[1]), dim=1)
    gained = _discounted(best, _gains(look_up(rows, index), top))
    if scores.shape[1] > PLACES:
        # Candidates that tie across the last place: all of them are looked at, in the
        # few queries where that is so.
        across = (best[:, PLACES - 1] - best[:, PLACES] <= zeroshot.TIE).nonzero()[:, 0]
        if len(across):
            best, index = scores[across].sort(dim=1, descending=True)
            gained[across] = _discounted(
                best, _gains(look_up(rows[across], index), top[across])
            )
    return gained


def _gains(english, top):
    """Return exp(100 x (English score - top)); what is too small to count is kept above
    the slow numbers near 0.
    """
    return (SHARPNESS * (english - top[:, None])).clamp_(min=-80).exp_()


def _discounted(scores, gains):
    """Return the sum of gains (queries, n), in falling order of scores, each divided by
    log2(its place + 1).
    """
    import torch

    apart = scores[:, :-1] - scores[:, 1:] > zeroshot.TIE
    if not apart.all():  # candidates that tie share the mean of their gains
        group = torch.nn.functional.pad(apart.long().cumsum(dim=1), (1, 0))
        sums = torch.zeros_like(gains).scatter_add_(1, group, gains)
        sizes = torch.zeros_like(gains).scatter_add_(1, group, torch.ones_like(gains))
        gains = (sums / sizes.clamp(min=1)).gather(1, group)
    gains = gains[:, :PLACES]
    return gains @ (1 / torch.arange(2, gains.shape[1] + 2, device=gains.device).log2())


def hits(table: pd.DataFrame, k: int) -> np.ndarray:
    """Return for each query the probability that a right candidate is among the first
    k, ties in random order.

    `table` has the columns rank, tied and n_tied_correct: `rank` - 1 wrong candidates
    come before, then `tied` wrong and `n_tied_correct` right ones in any order.

    >>> counts = {"rank": [1, 2, 1], "tied": [1, 0, 2], "n_tied_correct": [1, 1, 2]}
    >>> hits(pd.DataFrame(counts), 1).tolist()
    [0.5, 0.0, 0.5]
    """
    places_left = k - (table["rank"].to_numpy() - 1)
    n_wrong = table["tied"].to_numpy(float)
    n_right = table["n_tied_correct"].to_numpy(float)
    all_wrong = np.ones(len(table))
    for place in range(k):
        # The chance that this place too has a wrong one, given that those before it
        # have.
        wrong = np.clip(n_wrong - place, 0, None)
        so_far = all_wrong * wrong / (wrong + n_right)
        all_wrong = np.where(place < places_left, so_far, all_wrong)
    return 1 - all_wrong


def images(table: pd.DataFrame) -> np.ndarray:
    """Return the image of each query: of a caption the one that it belongs to."""
    query, names = pd.factorize(table["query"])  # many languages have the same queries
    image_of_caption = np.array([str(name).rpartition("#")[0] for name in names], str)
    is_caption = table["direction"] == "t2i"
    return np.where(is_caption, image_of_caption[query], names.to_numpy(str)[query])


def chance(table: pd.DataFrame) -> np.ndarray:
    """Return for each query what `hits` gives for the first place where all candidates
    tie: recall@1 by chance.

    `table` has the schema `retrieval`. A caption has one image among `n_candidates`
    (with shared captions several), an image all its captions: of 5 of 100 one comes
    first in 5 % of the cases, in 100 % of 5 of 5.
    """
    return (table["n_right"] / table["n_candidates"]).to_numpy()


def ties(table: pd.DataFrame) -> np.ndarray:
    """Return for each query whether a wrong candidate shares the best score with a
    right one.
    """
    return ((table["rank"] == 1) & (table["tied"] > 0)).to_numpy()


def metric_intervals(
    table: pd.DataFrame,
    metrics: Sequence[str] = METRICS,
    n_resamples: int = 1000,
    seed: int = 0,
    level: float = 0.95,
) -> pd.DataFrame:
    """Return each metric of each model, set of captions, protocol, language and
    direction with its interval.

    `table` has the schema `retrieval`. Columns: those of `tables.QUERY`, metric, value,
    ci_low, ci_high, n (queries). A value is a mean over queries, a fraction from 0 to
    1, or for "median rank" the median of the expected places, from 1, of the best right
    candidates. The interval, of this `level`, is a bootstrap over images: the captions
    of an image are drawn together; a recall near 0 or 1 has that of
    `proportions.share_interval`. Queries without NDCG are left out of its mean; where no
    query has it, or there is only one image, there is no value or no interval (NaN).
    """
    key = list(tables.QUERY)
    image = pd.factorize(images(table), sort=True)[0]
    of_metric = {metric: _contributions(table, metric) for metric in metrics}
    draws = _Draws(n_resamples, seed)
    places = table.assign(place=np.arange(len(table)))
    rows = []
    for values, part in places.groupby(key, sort=False)["place"]:
        for metric, contributions in of_metric.items():
            has_value = np.isfinite(contributions[part])
            queries = part[has_value].to_numpy()
            numbers = _with_interval(
                contributions[queries], image[queries], metric, draws, level
            )
            rows.append([*values, metric, *numbers, len(queries)])
    columns = [*key, "metric", "value", "ci_low", "ci_high", "n"]
    return pd.DataFrame(rows, columns=columns)


class _Draws:
    """Draws of images, the same for all parts of a table with as many images."""

    def __init__(self, n_resamples: int, seed: int):
        self.n_resamples, self.seed, self.made = n_resamples, seed, {}

    def weights(self, n_images: int, sparse_product: bool) -> np.ndarray:
        """Return how often each image is drawn (resamples, images).

        `sparse_product`: in the order in memory that a product with a sparse matrix
        would otherwise copy them into each time.
        """
        key = (n_images, sparse_product)
        if key not in self.made:
            drawn = bootstrap.resample_weights(n_images, self.n_resamples, self.seed)
            self.made[key] = np.asfortranarray(drawn) if sparse_product else drawn
        return self.made[key]


def _with_interval(
    values: np.ndarray, image: np.ndarray, metric: str, draws: _Draws, level: float
) -> list[float]:
    """Return the mean or median of what queries contribute, and its interval (NaN for
    what there is not); `image`: the image of each query.
    """
    images_drawn, index = np.unique(image, return_inverse=True)
    n_images, is_median = len(images_drawn), metric == "median rank"
    if n_images == 0:
        return [np.nan] * 3
    value = float(np.median(values) if is_median else values.mean())
    if n_images == 1:
        return [value, np.nan, np.nan]
    resample = _medians if is_median else _means
    resampled = resample(values, index, draws.weights(n_images, is_median))
    ends = bootstrap.percentile_interval(resampled, level, n_images)
    if metric.startswith("recall@"):
        n_hits, n_queries = np.bincount(index, values), np.bincount(index)
        ends = proportions.share_interval(n_hits, n_queries, ends, level)
    return [value, *map(float, ends)]


def _contributions(table: pd.DataFrame, metric: str) -> np.ndarray:
    """Return what each query contributes to a metric."""
    if metric == "median rank":
        expected = table["tied"] / (table["n_tied_correct"] + 1)
        return (table["rank"] + expected).to_numpy(float)
    if metric == "ndcg@20":
        return table["ndcg20"].to_numpy(float)
    place = metric.removeprefix("recall@")
    if not place.isdigit():
        raise InputError(f"There is no metric {metric!r}: {near(metric, METRICS)}")
    return hits(table, int(place))


def _means(values: np.ndarray, index: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the mean over queries in each resample; `index`: the image of a query,
    `weights` (resamples, images).
    """
    return (weights @ np.bincount(index, values)) / (weights @ np.bincount(index))


def _medians(values: np.ndarray, index: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the median over queries in each resample, as `_means` does the mean."""
    different, place = np.unique(values, return_inverse=True)
    counts = sparse.csr_array(
        (np.ones(len(values)), (index, place)),
        shape=(weights.shape[1], len(different)),
    )
    # Queries up to each value, (resamples, values).
    n_up_to = np.cumsum(weights @ counts, axis=1)
    half = n_up_to[:, -1] / 2
    low = (n_up_to < half[:, None]).sum(1)
    high = (n_up_to <= half[:, None]).sum(1)
    return (different[low] + different[high]) / 2
