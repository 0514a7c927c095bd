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

import numpy as np
import pandas as pd
from scipy import sparse

from babelatlas.base import tables
from babelatlas.base.errors import InputError
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


def parts(captions: pd.DataFrame) -> list[pd.DataFrame]:
    """Return the captions of each set and language as one table, set by set, English
    first, as `evaluate` needs them.

    `captions` and the tables: schema `captions`.
    """
    later = captions.assign(later=captions["lang"] != ENGLISH)
    later = later.sort_values(
        ["captions", "later", "lang", "image", "number"], ignore_index=True
    )
    groups = later.drop(columns="later").groupby(["captions", "lang"], sort=False)
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
    row_of = {name: row for row, name in enumerate(gallery)}
    pictures = torch.from_numpy(scale(images)).to(device)
    last = {"": 0, "first": 1, "all": np.inf}[parallel if cosine else ""]
    table, english = [], {"set": None}
    for captions, vectors in parts:
        name, lang = captions[["captions", "lang"]].iloc[0]
        texts = torch.from_numpy(scale(vectors)).to(device)
        if last and captions["number"].min() > 0:
            what = (
                f"The captions in {lang} ({name}) are numbered from"
                f" {captions['number'].min()}"
            )
            raise InputError(
                f"{what}, so that none is the translation of an English one: number"
                " them from 0."
            )
        keys = list(
            zip(captions["image"].tolist(), captions["number"].tolist(), strict=True)
        )
        rows = {
            key: row for row, key in enumerate(keys) if key[1] < last
        }  # of captions that are translations
        if lang == ENGLISH and last:
            english = {
                "set": name,
                "texts": texts,
                "rows": rows,
                "scores": texts @ pictures.T,
                "ideals": {},
            }
        sources = english["rows"] if english["set"] == name else {}
        pairs = [(row, sources[key]) for key, row in rows.items() if key in sources]
        owner = np.array([row_of[image] for image, _ in keys])
        matches = _matches(owner, captions["caption"] if shared else pd.Series(keys))
        counts, ndcg = _rank_images(pictures, texts, matches, pairs, english)
        queries = [f"{image}#{number}" for image, number in keys]
        table.append((name, lang, "t2i", queries, *counts, len(pictures), ndcg))
        counts, ndcg = _rank_captions(pictures, texts, matches, pairs, english)
        own = np.unique(owner)  # an image without a caption has nothing to look for
        table.append(
            (
                name,
                lang,
                "i2t",
                [gallery[row] for row in own],
                *counts[:, own],
                len(texts),
                ndcg[own],
            )
        )
    return pd.concat(
        [pd.DataFrame(dict(zip(COLUMNS, each, strict=True))) for each in table],
        ignore_index=True,
    )


def _matches(owner: np.ndarray, same: pd.Series) -> pd.DataFrame:
    """Return which texts are right for which images, each pair once; texts that are the
    `same` are so for the same.
    """
    texts = pd.DataFrame(
        {"text": np.arange(len(owner)), "image": owner, "same": pd.factorize(same)[0]}
    )
    return texts[["text", "same"]].merge(
        texts[["image", "same"]].drop_duplicates(), on="same"
    )[["text", "image"]]


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
    images, texts, matches: pd.DataFrame, pairs: list, english: dict
) -> tuple[np.ndarray, np.ndarray]:
    """Return how each text ranks its images, the first of `COUNTS` (4, texts), and its
    NDCG; `pairs`: ours, English.
    """
    import torch

    right = _in_rows(matches["text"], matches["image"], len(texts))
    ndcg = np.full(len(texts), np.nan)
    if not pairs:
        return _scan(texts, images, *right)[0], ndcg
    ours, theirs = np.array(pairs).T
    partner = np.zeros(len(texts), np.int64)
    partner[ours] = theirs
    partner = torch.from_numpy(partner).to(images.device)
    scores = english["scores"]
    if "t2i" not in english["ideals"]:
        english["ideals"]["t2i"] = _ideal(
            english["texts"], images, lambda rows, index: scores[rows[:, None], index]
        )
    ideal, top = english["ideals"]["t2i"]

    def look_up(rows, index):
        return scores[partner[rows][:, None], index]

    counts, gained = _scan(texts, images, *right, (None, look_up, top[partner]))
    ndcg[ours] = (gained / ideal[partner]).cpu().numpy()[ours]
    return counts, ndcg


def _rank_captions(
    images, texts, matches: pd.DataFrame, pairs: list, english: dict
) -> tuple[np.ndarray, np.ndarray]:
    """Return how each image ranks its texts, as `_rank_images`; the row of an image
    without texts means nothing.
    """
    import torch

    right, valid = _in_rows(matches["image"], matches["text"], len(images))
    if not pairs:
        return _scan(images, texts, right, valid)[0], np.full(len(images), np.nan)
    ours, theirs = np.array(sorted(pairs, key=lambda pair: pair[1])).T
    mark, every = theirs.tobytes(), np.array_equal(ours, np.arange(len(texts)))
    ours, theirs = (
        torch.from_numpy(rows.copy()).to(images.device) for rows in (ours, theirs)
    )

    def look_up(rows, index):
        return english["scores"][theirs[index], rows[:, None]]

    if mark not in english["ideals"]:
        english["ideals"][mark] = _ideal(images, english["texts"][theirs], look_up)
    ideal, top = english["ideals"][mark]
    counts, gained = _scan(
        images, texts, right, valid, (None if every else texts[ours], look_up, top)
    )
    return counts, (gained / ideal).cpu().numpy().astype(float)


def _scan(
    queries,
    candidates,
    right: np.ndarray,
    valid: np.ndarray,
    compare: tuple | None = None,
) -> tuple:
    """Return the first of `COUNTS` (4, queries), and what each query's ranking gains,
    None without `compare`.
    """
    import torch

    # `right` (queries, most): the right candidates, of which those that are not `valid`
    # only fill up. `compare`: the candidates to rank for NDCG, None for all; what looks
    # up their English scores; the best of these of each query.
    n_right = valid.sum(1)
    right, valid = (
        torch.from_numpy(right).to(queries.device),
        torch.from_numpy(valid).to(queries.device),
    )
    counts, gained = np.zeros((4, len(queries)), np.int64), []
    for rows in torch.arange(len(queries), device=queries.device).split(ROWS):
        part = slice(int(rows[0]), int(rows[-1]) + 1)
        scores = queries[part] @ candidates.T
        if compare is not None:
            ranked, look_up, top = compare
            gained.append(
                _gain(
                    scores if ranked is None else queries[part] @ ranked.T,
                    rows,
                    look_up,
                    top[part],
                )
            )
        mine = scores.gather(1, right[part]).masked_fill(~valid[part], -torch.inf)
        best = mine.amax(dim=1, keepdim=True)
        better, not_worse = (
            _count(scores > best + zeroshot.TIE),
            _count(scores >= best - zeroshot.TIE),
        )
        own = _count(mine >= best - zeroshot.TIE)
        # No right one is better than the best.
        counts[:, part] = np.stack(
            [1 + better, not_worse - better - own, own, n_right[part]]
        )
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

    >>> hits(pd.DataFrame({"rank": [1, 2, 1], "tied": [1, 0, 2], "n_tied_correct": [1, 1, 2]}), 1).tolist()
    [0.5, 0.0, 0.5]
    """
    left = k - (table["rank"].to_numpy() - 1)
    tied, own = table["tied"].to_numpy(float), table["n_tied_correct"].to_numpy(float)
    none = np.ones(len(table))
    for place in range(k):
        # The chance that this place too has a wrong one, given that those before it
        # have.
        wrong = np.clip(tied - place, 0, None)
        none = np.where(place < left, none * wrong / (wrong + own), none)
    return 1 - none


def images(table: pd.DataFrame) -> np.ndarray:
    """Return the image of each query: of a caption the one that it belongs to."""
    query, names = pd.factorize(table["query"])  # many languages have the same queries
    own = np.array([str(name).rpartition("#")[0] for name in names], str)
    return np.where(table["direction"] == "t2i", own[query], names.to_numpy(str)[query])


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


def scores(
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
    key, weights, rows = list(tables.QUERY), {}, []
    owners, by_metric = (
        pd.factorize(images(table), sort=True)[0],
        {metric: _each(table, metric) for metric in metrics},
    )
    for values, own in table.assign(place=np.arange(len(table))).groupby(
        key, sort=False
    )["place"]:
        for metric, each in by_metric.items():
            known = own[np.isfinite(each[own])].to_numpy()
            names, index = np.unique(owners[known], return_inverse=True)
            median, size = metric == "median rank", len(names)
            row = [np.nan] * 3
            if size:
                row[0] = float(np.median(each[known]) if median else each[known].mean())
            if size > 1:
                if (size, median) not in weights:
                    drawn = bootstrap.resample_weights(size, n_resamples, seed)
                    # A product with a sparse matrix would copy the weights into this
                    # order each time.
                    weights[size, median] = (
                        np.asfortranarray(drawn) if median else drawn
                    )
                resample = _medians if median else _means
                resampled = resample(each[known], index, weights[size, median])
                ends = bootstrap.percentile_interval(resampled, level, size)
                if metric.startswith("recall@"):
                    ends = proportions.share_interval(
                        np.bincount(index, each[known]), np.bincount(index), ends, level
                    )
                row[1:] = map(float, ends)
            rows.append([*values, metric, *row, len(known)])
    return pd.DataFrame(
        rows, columns=[*key, "metric", "value", "ci_low", "ci_high", "n"]
    )


def _each(table: pd.DataFrame, metric: str) -> np.ndarray:
    """Return what each query contributes to a metric."""
    if metric == "median rank":
        return (table["rank"] + table["tied"] / (table["n_tied_correct"] + 1)).to_numpy(
            float
        )
    if metric == "ndcg@20":
        return table["ndcg20"].to_numpy(float)
    return hits(table, int(metric.removeprefix("recall@")))


def _means(each: np.ndarray, index: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the mean over queries in each resample; `index`: the image of a query,
    `weights` (resamples, images).
    """
    return (weights @ np.bincount(index, each)) / (weights @ np.bincount(index))


def _medians(each: np.ndarray, index: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the median over queries in each resample, as `_means` does the mean."""
    steps, place = np.unique(each, return_inverse=True)
    counts = sparse.csr_array(
        (np.ones(len(each)), (index, place)), shape=(weights.shape[1], len(steps))
    )
    below = np.cumsum(
        weights @ counts, axis=1
    )  # queries up to each value, (resamples, values)
    half = below[:, -1] / 2
    low, high = (below < half[:, None]).sum(1), (below <= half[:, None]).sum(1)
    return (steps[low] + steps[high]) / 2
