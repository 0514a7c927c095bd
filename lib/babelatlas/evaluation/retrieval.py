"""Retrieval: from embeddings of images and captions to the rank of every query, and from ranks to scores.

A caption asks for its image ("t2i"), an image for any of its captions ("i2t"). What is kept of a query is not whether
it succeeded but how many wrong candidates score higher than the best right one, and how many score the same, so that
every measure can be computed later. Scores are float32 cosines, or dot products (`zeroshot.RULES`), and those that
differ by no more than `zeroshot.TIE` are equal. Ties count as their expected value if the tied are put into random
order. A caption that another image has too is right for its own image only: the other image's copy is a wrong
candidate, and ties.

NDCG@20 is that of COCO-SM (README and evaluation script of the data set): how far a language ranks its first 20
candidates as English does with the same query. The gain of a candidate is the softmax of 100 times the English scores
of the query, the discount of place p (from 1) is 1 / log2(p + 1), and the sum over the language's first 20 candidates
is divided by that over English's. The normaliser of the softmax cancels. Candidates that tie share the mean of their
gains. English itself has 1. It is defined for cosines only: the softmax of other scores depends on their scale.

A few chunks of scores are in memory, and up to half a gigabyte of English ones, which all languages are compared with.
"""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import pandas as pd
from scipy import sparse

from babelatlas.base import tables
from babelatlas.base.errors import InputError, near
from babelatlas.evaluation import zeroshot
from babelatlas.stats import bootstrap

DIRECTIONS = ("t2i", "i2t")
# Which captions of a language say the same as the English ones: none, the first of each image, or all by number.
PARALLEL = ("", "first", "all")
METRICS = ("recall@1", "recall@5", "recall@10", "median rank", "ndcg@20")
ENGLISH = "en"
# Places that NDCG looks at, and what the English scores are multiplied with before the softmax.
PLACES, SHARPNESS = 20, 100
# Queries whose scores are computed at once, on a CPU and on anything else: on a CPU they should fit its caches.
ROWS, ROWS_GPU = 128, 2048
# Groups of candidates in the search for the best.
GROUPS = 512
# English scores that are kept for the other languages, half a gigabyte. Where there are more, those that are asked for
# are computed again for every language.
KEPT = 2**27
FOUND = ["captions", "lang", "direction", "query", "rank", "tied", "n_tied_correct", "n_candidates", "ndcg20"]


def parts(captions: pd.DataFrame) -> list[pd.DataFrame]:
    """Return the captions of each set and language as one table, set by set, English first, as `evaluate` needs them.

    `captions` and the tables: schema `captions`.
    """
    later = captions.assign(later=captions["lang"] != ENGLISH)
    later = later.sort_values(["captions", "later", "lang", "image", "number"], ignore_index=True)
    groups = later.drop(columns="later").groupby(["captions", "lang"], sort=False)
    return [rows.reset_index(drop=True) for _, rows in groups]


def select(captions: pd.DataFrame, minimum_images: int = 1) -> pd.DataFrame:
    """Return the captions of the languages that have them for at least so many images, set by set.

    Raises InputError where no language of any set has.
    """
    sizes = captions.groupby(["captions", "lang"])["image"].transform("nunique")
    if not (sizes >= minimum_images).any():
        most = int(sizes.max()) if len(sizes) else 0
        raise InputError(
            f"No language has captions for {minimum_images} images: the most is {most}; lower minimum_images, or give "
            "captions of more images."
        )
    return captions[sizes >= minimum_images].reset_index(drop=True)


def evaluate(
    images: np.ndarray,
    gallery: Sequence[str],
    parts: Iterable[tuple[pd.DataFrame, np.ndarray]],
    parallel: str = "",
    similarity: str = "cosine",
    device: str = "cpu",
) -> pd.DataFrame:
    """Return one row for every query of every set and language of captions, both ways: columns `FOUND`.

    `images` (n, d) are the embeddings of the images that `gallery` names. `parts` gives for each set and language, in
    turn, its captions (schema `captions`) and their embeddings (rows, d); it may be a generator that embeds a language
    when its turn comes. `similarity`: one of `zeroshot.RULES`; a caption is a single text, so that "plain mean" is
    "cosine". `device`: where to compute, as torch names it.

    A caption is looked for among all images, also those without a caption in its language; an image that has captions
    among all captions of the language.

    `parallel` says which captions are translations of English ones of the same set, which must come before: "all", by
    image and number; "first", those with number 0 only; "", none. NDCG is computed for these. From image to text, the
    candidates are the captions that both languages have. NDCG is NaN where captions have no English counterpart, for
    all of a set without English, and with dot products.

    Raises InputError for captions of an image that is not in the gallery, one given twice, a part that holds several
    languages, English after another language of its set, embeddings that do not fit, and unknown settings.
    """
    import torch

    if parallel not in PARALLEL:
        raise InputError(f"Captions cannot be parallel by {parallel!r}: expected {', '.join(map(repr, PARALLEL))}.")
    cosine = zeroshot.rule(similarity, True) != "dot product"
    place = {name: row for row, name in enumerate(gallery)}
    if not len(place) == len(gallery) == len(images) or len(images) == 0:
        raise InputError(
            f"A gallery needs each image once, with one embedding: got {len(gallery)} names, {len(place)} of them "
            f"different, and {len(images)} embeddings."
        )
    scale = zeroshot.normalise if cosine else zeroshot.scaled
    pictures = torch.from_numpy(scale(images)).to(device)
    last = {"": 0, "first": 1, "all": np.inf}[parallel if cosine else ""]
    found, seen, english = [], set(), None
    for captions, vectors in parts:
        name, lang = _check_part(captions, vectors, place, pictures.shape[1])
        known = {other for other in seen if other[0] == name}
        if (name, lang) in known or (lang == ENGLISH and parallel and known):
            raise InputError(
                f"The captions {name!r} in {lang} come after others of their set: give each language once, and English "
                "first, as retrieval.parts does."
            )
        seen.add((name, lang))
        texts = torch.from_numpy(scale(vectors)).to(device)
        keys = list(zip(captions["image"].tolist(), captions["number"].tolist(), strict=True))
        rows = {key: row for row, key in enumerate(keys) if key[1] < last}  # of captions that are translations
        if lang == ENGLISH:
            english = {"set": name, "texts": texts, "rows": rows, "ideals": {}}
        there = english["rows"] if english and english["set"] == name else {}
        pairs = [(row, there[key]) for key, row in rows.items() if key in there]
        owner = np.array([place[image] for image, _ in keys])
        names, asking = [f"{image}#{number}" for image, number in keys], np.unique(owner)
        counts, ndcg = _images_of(pictures, texts, owner, pairs, english)
        found.append((name, lang, "t2i", names, *counts, len(pictures), ndcg))
        # An image without a caption has nothing to look for.
        counts, ndcg = _captions_of(pictures, texts, owner, pairs, english)
        names = [gallery[row] for row in asking]
        found.append((name, lang, "i2t", names, *counts[:, asking], len(texts), ndcg[asking]))
    if not found:
        raise InputError("There are no captions to evaluate: the table is empty.")
    return pd.concat([pd.DataFrame(dict(zip(FOUND, each, strict=True))) for each in found], ignore_index=True)


def _check_part(captions: pd.DataFrame, vectors: np.ndarray, place: dict, width: int) -> tuple[str, str]:
    """Return the set and the language of a part; raises what `evaluate` says of one."""
    tables.check(captions, "captions")
    names = set(captions[["captions", "lang"]].drop_duplicates().itertuples(index=False, name=None))
    if len(names) != 1:
        raise InputError(f"A part has the captions of one set in one language, got {len(names)}: see retrieval.parts.")
    ((name, lang),) = names
    if np.shape(vectors) != (len(captions), width):
        raise InputError(
            f"The captions {name!r} in {lang} need one embedding each, of {width} numbers as the images' are: got "
            f"{np.shape(vectors)} for {len(captions)} captions; embed both with one model."
        )
    strangers = [image for image in captions["image"].tolist() if image not in place]
    if strangers:
        raise InputError(
            f"{len(strangers)} caption(s) of {name!r} in {lang} are of an image that is not in the gallery, the first "
            f"{strangers[0]!r}: leave them out, or add the image."
        )
    return name, lang


def _images_of(images, texts, owner: np.ndarray, pairs: list, english: dict | None) -> tuple[np.ndarray, np.ndarray]:
    """Return how each text ranks its image, rank, tied and own (3, texts), and its NDCG; `pairs`: ours, English."""
    import torch

    ndcg, compare = np.full(len(texts), np.nan), None
    if pairs:
        ours, theirs = np.array(pairs).T
        partner = np.zeros(len(texts), np.int64)
        partner[ours] = theirs
        partner = torch.from_numpy(partner).to(images.device)
        every = torch.arange(len(english["texts"]), device=images.device)
        if "t2i" not in english["ideals"]:
            english["ideals"]["t2i"] = _ideal(english["texts"], images, _english_scores(english, images, every, None))
        ideal, top = english["ideals"]["t2i"]
        compare = (None, _english_scores(english, images, partner, None), top[partner])
    counts, gained = _scan(texts, images, owner[:, None], np.ones((len(owner), 1), bool), compare)
    if pairs:
        ndcg[ours] = (gained / ideal[partner]).cpu().numpy()[ours]
    return counts, ndcg


def _captions_of(images, texts, owner: np.ndarray, pairs: list, english: dict | None) -> tuple[np.ndarray, np.ndarray]:
    """Return how each image ranks its texts, as `_images_of`; the row of an image without texts means nothing."""
    import torch

    ndcg, compare = np.full(len(images), np.nan), None
    if pairs:
        ours, theirs = np.array(sorted(pairs, key=lambda pair: pair[1])).T
        mark, every = theirs.tobytes(), np.array_equal(ours, np.arange(len(texts)))
        ours, theirs = (torch.from_numpy(rows.copy()).to(images.device) for rows in (ours, theirs))
        look_up = _english_scores(english, images, None, theirs)
        if mark not in english["ideals"]:
            english["ideals"][mark] = _ideal(images, english["texts"][theirs], look_up)
        ideal, top = english["ideals"][mark]
        compare = (None if every else texts[ours], look_up, top)
    # The texts of each image side by side, short rows filled up with the first of the row.
    order = np.argsort(owner, kind="stable")
    sizes = np.bincount(owner, minlength=len(images))
    valid = np.arange(sizes.max()) < sizes[:, None]
    right = np.zeros(valid.shape, np.int64)
    right[valid] = order
    right = np.where(valid, right, right[:, :1])
    counts, gained = _scan(images, texts, right, valid, compare)
    if pairs:
        ndcg = (gained / ideal).cpu().numpy().astype(float)
    return counts, ndcg


def _english_scores(english: dict, images, text_rows, text_columns) -> Callable:
    """Return what gives the English scores of queries (their numbers) with candidates (queries, k), by number."""
    # Queries are the English texts `text_rows` and candidates the images; or queries are the images and candidates the
    # English texts `text_columns`. All scores are kept where they are not too many: every language asks for some.
    texts = english["texts"]
    if "scores" not in english and len(texts) * len(images) <= KEPT:
        english["scores"] = texts @ images.T
    if "scores" in english:
        scores = english["scores"].view(-1)
        if text_columns is None:
            return lambda rows, index: scores.take(text_rows[rows][:, None] * len(images) + index)
        return lambda rows, index: scores.take(text_columns[index] * len(images) + rows[:, None])
    queries, candidates = (texts[text_rows], images) if text_columns is None else (images, texts[text_columns])

    def compute(rows, index):
        if index.shape[1] == len(candidates):
            return (queries[rows] @ candidates.T).gather(1, index)
        return (candidates[index] @ queries[rows][:, :, None])[:, :, 0]

    return compute


def _rows(device) -> int:
    return ROWS if device.type == "cpu" else ROWS_GPU


def _scan(queries, candidates, right: np.ndarray, valid: np.ndarray, compare: tuple | None) -> tuple:
    """Return rank, tied and own (3, queries), and what each query's ranking gains, None without `compare`."""
    import torch

    # `right` (queries, most): the right candidates, of which those that are not `valid` only fill up. `compare`: the
    # candidates to rank for NDCG, None for all; what looks up their English scores; the best of these of each query.
    device, step = queries.device, _rows(queries.device)
    right, valid = torch.from_numpy(right).to(device), torch.from_numpy(valid).to(device)
    scores = torch.empty((min(step, len(queries)), len(candidates)), device=device)
    counts, gained = np.zeros((3, len(queries)), np.int64), []
    for rows in torch.arange(len(queries), device=device).split(step):
        part = slice(int(rows[0]), int(rows[-1]) + 1)
        found, first = scores[: len(rows)], None
        torch.mm(queries[part], candidates.T, out=found)
        if compare is not None:
            ranked, look_up, top = compare
            here = found if ranked is None else queries[part] @ ranked.T
            first = _first(here)
            gained.append(_gain(here, first, rows, look_up, top[part]))
            first = first[0] if ranked is None else None
        mine = found.gather(1, right[part]).masked_fill(~valid[part], -torch.inf)
        counts[:, part] = _ranks(found, mine, first)
    return counts, torch.cat(gained) if gained else None


def _ranks(scores, mine, first) -> np.ndarray:
    """Return rank, tied and own (3, queries) by scores (queries, n), of which `mine` (queries, most) are right."""
    best = mine.amax(dim=1, keepdim=True)
    high, low = best + zeroshot.TIE, best - zeroshot.TIE
    own = (mine >= low).sum(dim=1).cpu().numpy()
    if first is None:
        better, not_worse = _above(scores, high, low)
    else:  # the best scores, falling: a query whose best right candidate is among them needs no look at the others
        better, not_worse = _above(first, high, low)
        rest = (first[:, -1:] >= low)[:, 0].nonzero()[:, 0]
        if len(rest):
            place = rest.cpu().numpy()
            better[place], not_worse[place] = _above(scores[rest], high[rest], low[rest])
    return np.stack([1 + better, not_worse - better - own, own])  # no right one is better than the best


def _above(scores, high, low) -> tuple[np.ndarray, np.ndarray]:
    return _count(scores > high), _count(scores >= low)


def _count(flags) -> np.ndarray:
    """Return how many of each row (rows, n) are true; on a CPU NumPy counts five times as fast as torch."""
    if flags.device.type == "cpu":
        return np.count_nonzero(flags.numpy(), axis=1)
    return flags.sum(dim=1).cpu().numpy()


def _ideal(queries, candidates, look_up: Callable) -> tuple:
    """Return what the English ranking gains of each query (queries,), and its best score (queries,)."""
    import torch

    gained, top = [], []
    for rows in torch.arange(len(queries), device=queries.device).split(_rows(queries.device)):
        scores = queries[rows] @ candidates.T
        first = _first(scores)
        top.append(first[0][:, 0].clone())
        gained.append(_gain(scores, first, rows, look_up, top[-1]))
    return torch.cat(gained), torch.cat(top)


def _first(scores) -> tuple:
    """Return the best scores of each row, falling, one more than `PLACES`, and their columns: what topk returns."""
    import torch

    n, k = scores.shape[1], min(PLACES + 1, scores.shape[1])
    # The best of all are in the groups with the best maxima; columns of a group: g, g + GROUPS, g + 2 GROUPS, ...
    size = n // GROUPS
    if size < 4:
        return tuple(scores.topk(k, dim=1))
    whole = size * GROUPS
    groups = scores[:, :whole].reshape(-1, size, GROUPS).amax(dim=1).topk(k, dim=1).indices
    steps = torch.arange(size, device=scores.device) * GROUPS
    columns = (groups[:, :, None] + steps).flatten(1)
    if whole < n:
        columns = torch.cat([columns, torch.arange(whole, n, device=scores.device).expand(len(scores), -1)], dim=1)
    best, place = scores.gather(1, columns).topk(k, dim=1)
    return best, columns.gather(1, place)


def _gain(scores, first: tuple, rows, look_up: Callable, top):
    """Return the discounted gains (queries,) of the `first` candidates; `rows`: numbers of queries, `top`: English."""
    best, index = first
    gained = _discounted(best, _gains(look_up(rows, index), top))
    if scores.shape[1] > PLACES:
        # Candidates that tie across the last place: all of them are looked at, in the few queries where that is so.
        across = (best[:, PLACES - 1] - best[:, PLACES] <= zeroshot.TIE).nonzero()[:, 0]
        for some in across.split(ROWS) if len(across) else ():  # all, where a language collapses
            best, index = scores[some].sort(dim=1, descending=True)
            gained[some] = _discounted(best, _gains(look_up(rows[some], index), top[some]))
    return gained


def _gains(english, top):
    """Return exp(100 x (English score - top)); what is too small to count is kept above the slow numbers near 0."""
    return (SHARPNESS * (english - top[:, None])).clamp_(min=-80).exp_()


def _discounted(scores, gains):
    """Return the sum of gains (queries, n), in falling order of scores, each divided by log2(its place + 1)."""
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
    """Return for each query the probability that a right candidate is among the first k, ties in random order.

    `table` has the columns rank, tied and n_tied_correct: `rank` - 1 wrong candidates come before, then `tied` wrong
    and `n_tied_correct` right ones in any order.

    >>> hits(pd.DataFrame({"rank": [1, 2, 1], "tied": [1, 0, 2], "n_tied_correct": [1, 1, 2]}), 1).tolist()
    [0.5, 0.0, 0.5]
    """
    if k < 1:
        raise InputError(f"Recall looks at the first k candidates: k is {k}, expected at least 1.")
    left = k - (table["rank"].to_numpy() - 1)
    tied, own = table["tied"].to_numpy(float), table["n_tied_correct"].to_numpy(float)
    none = np.ones(len(table))
    for place in range(k):
        # The chance that this place too has a wrong one, given that those before it have.
        wrong = np.clip(tied - place, 0, None)
        none = np.where(place < left, none * wrong / (wrong + own), none)
    return 1 - none


def places(table: pd.DataFrame) -> np.ndarray:
    """Return the expected place, from 1, of each query's best right candidate if ties are in random order.

    >>> places(pd.DataFrame({"rank": [1, 3], "tied": [2, 0], "n_tied_correct": [1, 1]})).tolist()
    [2.0, 3.0]
    """
    return (table["rank"] + table["tied"] / (table["n_tied_correct"] + 1)).to_numpy(float)


def images(table: pd.DataFrame) -> np.ndarray:
    """Return the image of each query: of a caption the one that it belongs to."""
    query, names = pd.factorize(table["query"])  # many languages ask the same
    names = pd.Series(names.astype(str), dtype=str)
    images = names.str.rpartition("#")[0] if len(names) else names
    return np.where(table["direction"] == "t2i", images.to_numpy(str)[query], names.to_numpy(str)[query])


def chance(table: pd.DataFrame, k: int = 1) -> np.ndarray:
    """Return for each query what `hits` gives where all candidates tie: recall by chance.

    `table` has the schema `retrieval` and all queries of its sets and languages. A caption has one image among
    `n_candidates`, an image all its captions: of 5 of 100 one comes first in 5 % of the cases, in 100 % of 5 of 5.
    """
    key = [column for column in tables.QUERY if column != "direction"]
    asked = table[key].assign(image=images(table), caption=table["direction"] == "t2i")
    own = asked.groupby([*key, "image"], sort=False)["caption"].transform("sum")
    own = np.where(asked["caption"], 1, own)
    wrong = table["n_candidates"] - own
    return hits(pd.DataFrame({"rank": 1, "tied": wrong, "n_tied_correct": own}), k)


def ties(table: pd.DataFrame) -> np.ndarray:
    """Return for each query whether a wrong candidate shares the best score with a right one."""
    return ((table["rank"] == 1) & (table["tied"] > 0)).to_numpy()


def scores(
    table: pd.DataFrame, metrics: Sequence[str] = METRICS, n_resamples: int = 1000, seed: int = 0
) -> pd.DataFrame:
    """Return each metric of each model, set of captions, protocol, language and direction with its interval.

    `table` has the schema `retrieval`. Columns: those of `tables.QUERY`, metric, value, ci_low, ci_high, n (queries). A
    value is a mean over queries, a fraction from 0 to 1, or for "median rank" the median of `places`. The interval is a
    bootstrap over images: the captions of an image are drawn together. A recall near 0 or 1 has the interval of
    `bootstrap.share_interval`: where all queries succeed, or none, the exact one, with images as its items. Queries
    without NDCG are left out of its mean; where no query has it, or there is only one image, there is no value or no
    interval (NaN). Raises InputError for a metric that is not one of `METRICS`, and for a table without rows.
    """
    unknown = [name for name in metrics if name not in METRICS]
    if unknown:
        raise InputError(f"There is no metric {unknown[0]!r} of retrieval: {near(unknown[0], METRICS)}")
    if table.empty:
        raise InputError("Scores of retrieval need a table with rows, got an empty one.")
    key, drawn, rows = list(tables.QUERY), {}, []
    owners, by_metric = pd.factorize(images(table), sort=True)[0], {metric: _each(table, metric) for metric in metrics}
    for values, own in table.assign(place=np.arange(len(table))).groupby(key, sort=False)["place"]:
        for metric, each in by_metric.items():
            known = own[np.isfinite(each[own])].to_numpy()
            names, index = np.unique(owners[known], return_inverse=True)
            median = metric == "median rank"
            if len(names) > 1 and (len(names), median) not in drawn:
                weights = bootstrap.resample_weights(len(names), n_resamples, seed)
                # A product with a sparse matrix would copy the weights into this order each time.
                drawn[len(names), median] = np.asfortranarray(weights) if median else weights
            found = _value(each[known], index, drawn.get((len(names), median)), median)
            if metric.startswith("recall@") and len(names) > 1:
                counts = np.bincount(index, each[known]), np.bincount(index)
                found = (found[0], *bootstrap.share_interval(*counts, found[1:]))
            rows.append([*values, metric, *found, len(known)])
    return pd.DataFrame(rows, columns=[*key, "metric", "value", "ci_low", "ci_high", "n"])


def _each(table: pd.DataFrame, metric: str) -> np.ndarray:
    """Return what each query contributes to a metric."""
    if metric == "median rank":
        return places(table)
    if metric == "ndcg@20":
        return table["ndcg20"].to_numpy(float)
    return hits(table, int(metric.removeprefix("recall@")))


def _value(each: np.ndarray, index: np.ndarray, drawn: np.ndarray | None, median: bool) -> tuple:
    """Return the mean or median of queries, and its interval when their images (`index`) are `drawn` so often."""
    if len(each) == 0:
        return np.nan, np.nan, np.nan
    value = float(np.median(each) if median else each.mean())
    if drawn is None:
        return value, np.nan, np.nan
    size = drawn.shape[1]
    if not median:
        totals, sizes = np.bincount(index, each, size), np.bincount(index, minlength=size)
        resampled = (drawn @ totals) / (drawn @ sizes)
    else:
        steps, place = np.unique(each, return_inverse=True)
        counts = sparse.csr_array((np.ones(len(each)), (index, place)), shape=(size, len(steps)))
        below = np.cumsum(drawn @ counts, axis=1)  # queries up to each value, (resamples, values)
        half = below[:, -1] / 2
        low, high = (below < half[:, None]).sum(1), (below <= half[:, None]).sum(1)
        resampled = (steps[low] + steps[high]) / 2
    return value, *map(float, bootstrap.percentile_interval(resampled, n_clusters=size))
