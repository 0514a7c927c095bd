"""Zero-shot image classification: pure functions from embeddings to counts.

The procedure is that of Radford et al. (2021) as used by Geigle et al. (2024, section 4): a class is the mean of the
embeddings of its prompts, each of length 1, and the prediction the class whose vector has the highest cosine with the
image. For M-CLIP and sentence-transformers the code released with that paper leaves the embeddings of prompts as they
are, and normalises their mean only; with the bare label not even that. So there are three rules (`RULES`), which are
applied where class vectors are made. Everything is computed in float32 whatever the encoder ran in.

A tie counts as its expected value: where k classes share the best score and the right one is among them, the image
counts 1/k, and it is counted as tied. Two classes with one label in a language always tie; without this rule their
order in the list would decide.
"""

import os
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import special

from babelatlas.base import checksums
from babelatlas.base.errors import InputError
from babelatlas.base.tables import PROTOCOL, locate
from babelatlas.stats import bootstrap

# Cosines that differ by less are equal: it is above the rounding of a float32 dot product of unit vectors (about 1e-7).
TIE = 1e-6
CHUNK = 4096
# How images and classes are compared. Cosine: with the mean of the prompts' embeddings, each of length 1. Plain mean:
# cosine with the mean of the embeddings as they are. Dot product: with that mean as it is.
RULES = ("cosine", "plain mean", "dot product")
# What a file of vectors says that they are of, by the column of a result, and in words.
SOURCE = {"model": "model", "dataset": "data set", "labels": "label set"}


def normalise(vectors: np.ndarray) -> np.ndarray:
    """Return `vectors` (n, d) as float32 rows of length 1; raise InputError for a row that is NaN, infinite or zero."""
    vectors = np.asarray(vectors, dtype=np.float32)
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    bad = ~(np.isfinite(lengths) & (lengths > 0)).ravel()
    if bad.any():
        raise InputError(
            f"{int(bad.sum())} of {len(bad)} embeddings are NaN, infinite or zero, the first at row {bad.argmax()}: "
            "the checkpoint is damaged or was loaded wrongly; fetch or train it again."
        )
    return vectors / lengths


def rule(similarity: str, normalise: bool) -> str:
    """Return which of `RULES` a run compares by; "" takes what the model's entry says, cosines or dot products.

    >>> rule("", normalise=True), rule("plain mean", normalise=True)
    ('cosine', 'plain mean')
    """
    if similarity not in ("", *RULES):
        raise InputError(
            f"There is no similarity {similarity!r}: expected {', '.join(map(repr, RULES))}, or '' for the model's."
        )
    return similarity or ("cosine" if normalise else "dot product")


def by_rules(classes: np.ndarray, rules: Iterable[str]) -> np.ndarray:
    """Return class vectors (classes, d) as each one's rule compares them: those of "plain mean" with length 1.

    `rules`: one of `RULES` for each class. "cosine" needs vectors made of embeddings of length 1, the other two of
    embeddings as they are. Raises InputError for an unknown rule and where "cosine" is mixed with another.

    >>> by_rules(np.array([[0.0, 2.0], [0.0, 2.0]]), ["plain mean", "dot product"]).tolist()
    [[0.0, 1.0], [0.0, 2.0]]
    """
    rules = np.array(list(rules))
    for name in set(rules.tolist()):
        rule(name or "none", True)
    if "cosine" in rules and (rules != "cosine").any():
        raise InputError(
            "Classes are compared by 'cosine' in one language and by another rule in the next, which needs prompts "
            "embedded in two ways: give one similarity for all."
        )
    plain, classes = rules == "plain mean", np.array(classes, np.float32)
    if plain.any():
        classes[plain] = normalise(classes[plain])
    return classes


def similarity(images: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the scores (images, classes), float32, of image embeddings (images, d) and class vectors (classes, d).

    With class vectors of length 1 they are cosines, else dot products divided by the length of the image and by that of
    the longest class vector, so that a tie is a tie at any scale. Raises InputError where there is no class, or where
    images and classes differ in their number of dimensions.
    """
    _check_shapes(images, classes)
    return normalise(images) @ scaled(classes).T


def _check_shapes(images: np.ndarray, classes: np.ndarray) -> None:
    shapes = np.shape(images), np.shape(classes)
    if shapes[1][:1] == (0,):
        raise InputError("There is no class to compare with: the label set is empty.")
    if not len(shapes[0]) == len(shapes[1]) == 2 or shapes[0][1] != shapes[1][1]:
        raise InputError(
            f"Images of shape {shapes[0]} and classes of shape {shapes[1]} cannot be compared: expected rows of the "
            "same number of dimensions; embed both with one model."
        )


def scaled(vectors: np.ndarray) -> np.ndarray:
    """Return float32 rows divided by one number, the length of the longest; raises what `normalise` raises."""
    normalise(vectors)
    vectors = np.asarray(vectors, dtype=np.float32)
    return vectors / np.linalg.norm(vectors, axis=-1).max()


def hits(scores: np.ndarray, target: np.ndarray, k: int = 1) -> np.ndarray:
    """Return for each image the probability that its class is among the k best if ties are broken at random.

    `scores` (images, classes), higher is better; `target` (images,) the column of the right class. Values are 0 or 1
    save for ties at the k-th place.

    >>> hits(np.array([[0.9, 0.1, 0.9], [0.2, 0.8, 0.1]]), np.array([0, 1])).tolist()
    [0.5, 1.0]
    """
    own = scores[np.arange(len(scores)), target][:, None]
    better = (scores > own + TIE).sum(axis=1)
    equal = (np.abs(scores - own) <= TIE).sum(axis=1)
    return np.clip((k - better) / equal, 0.0, 1.0)


def tied(scores: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return for each image whether its class shares the best score with another class: (images,) of bool."""
    own = scores[np.arange(len(scores)), target][:, None]
    return (scores <= own + TIE).all(axis=1) & ((np.abs(scores - own) <= TIE).sum(axis=1) > 1)


def evaluate(
    images: np.ndarray, image_wnids: Iterable[str], classes: np.ndarray, class_wnids: list[str]
) -> pd.DataFrame:
    """Return the counts of right predictions for each class of one label set.

    `images` (images, d) with their classes `image_wnids`; `classes` (classes, d) with `class_wnids`; scores are those
    of `similarity`. Images of classes without a label are left out: a language is tested on the classes that it names.
    Returns one row for each class: wnid, n_correct, n_correct_top5 (expected values), n_ties, n_images.
    Raises InputError where a class of the label set has no image, and what `similarity` raises.
    """
    _check_shapes(images, classes)
    target = pd.Index(class_wnids).get_indexer(list(image_wnids))
    rows = np.flatnonzero(target >= 0)
    n_images = np.bincount(target[rows], minlength=len(class_wnids))
    if (n_images == 0).any():
        without = [class_wnids[column] for column in np.flatnonzero(n_images == 0)]
        raise InputError(
            f"{len(without)} class(es) of the label set have no image, the first {without[0]}: "
            "use labels made for this data set, or complete the images."
        )
    images, counts = np.asarray(images), np.zeros((3, len(class_wnids)))
    for start in range(0, len(rows), CHUNK):
        part = rows[start : start + CHUNK]
        # Only those that are asked for: most languages name a part of the classes.
        scores, right = similarity(images[part], classes), target[part]
        for row, value in enumerate((hits(scores, right), hits(scores, right, k=5), tied(scores, right))):
            counts[row] += np.bincount(right, weights=value, minlength=len(class_wnids))
    found = {"wnid": class_wnids, "n_correct": counts[0], "n_correct_top5": counts[1]}
    return pd.DataFrame(found | {"n_ties": counts[2].astype(np.int64), "n_images": n_images})


def by_region(
    images: np.ndarray, image_wnids: Iterable[str], regions: Iterable[str], classes: np.ndarray, class_wnids: list[str]
) -> pd.DataFrame:
    """Return the counts of `evaluate` apart for the images of each region: region, wnid, n_correct, n_images.

    `regions`: where each image is from. Every image is classified among all classes of the label set; a class without
    an image from a region has no row there. Raises what `similarity` raises.
    """
    _check_shapes(images, classes)
    target = pd.Index(class_wnids).get_indexer(list(image_wnids))
    rows = np.flatnonzero(target >= 0)
    parts = (rows[start : start + CHUNK] for start in range(0, len(rows), CHUNK))
    right = [hits(similarity(np.asarray(images)[part], classes), target[part]) for part in parts]
    found = {"region": np.asarray(list(regions))[rows], "wnid": np.asarray(class_wnids)[target[rows]]}
    table = pd.DataFrame(found | {"n_correct": np.concatenate([np.empty(0), *right])})
    counts = table.groupby(["region", "wnid"])["n_correct"].agg(["sum", "size"]).reset_index()
    return counts.rename(columns={"sum": "n_correct", "size": "n_images"})


def topic_matching(
    images: np.ndarray,
    image_topics: Iterable[str],
    sentences: np.ndarray,
    sentence_topics: Iterable[str],
    n_others: int = 3,
    n_resamples: int = 500,
    level: float = 0.95,
    seed: int = 0,
) -> pd.DataFrame:
    """Return how often the one of four that is on the same topic is the most similar, in both directions.

    t2i: a sentence is compared with an image of its topic and `n_others` images of other topics; i2t: an image with a
    sentence of its topic and others. No set of candidates is drawn: the accuracy is its mean over all sets, a tie of k
    counting 1/k. `images` (n, d) and `sentences` (m, d) are compared as `similarity` does. The interval resamples the
    images within each topic, as answers too. Columns: direction, value, ci_low, ci_high, n (images). Raises InputError
    for topics that differ, fewer than two images of a topic or fewer candidates than are asked for, and what
    `similarity` raises. Source: Schmidt et al. (2025), with one image or sentence as reference.
    """
    scores, rows = similarity(images, sentences), np.asarray(list(image_topics))
    columns = np.asarray(list(sentence_topics))
    topics, counts = np.unique(rows, return_counts=True)
    fewest = min(len(rows) - counts.max(), *((columns != topic).sum() for topic in topics))
    if set(topics) != set(columns) or counts.min() < 2 or fewest < n_others:
        raise InputError(
            f"Topics are matched with two images and a sentence of each, and {n_others} of other topics, got "
            f"{dict(zip(topics.tolist(), counts.tolist(), strict=True))} images and sentences on "
            f"{', '.join(sorted(set(columns.tolist())))}: complete them."
        )
    weights = np.ones((n_resamples + 1, len(rows)))  # the first row is what was seen
    for number, topic in enumerate(topics):
        weights[1:, rows == topic] = bootstrap.resample_weights(counts[number], n_resamples, seed + number)
    asks = _chosen(scores.T, columns, rows, weights, n_others).mean(axis=1)
    each = _chosen(scores, rows, columns, np.ones((1, len(columns))), n_others)[0]
    found = []
    for direction, drawn in (("t2i", asks), ("i2t", weights @ each / len(rows))):
        low, high = bootstrap.percentile_interval(drawn[1:], level, len(rows))
        found.append((direction, drawn[0], float(low), float(high), len(rows)))
    return pd.DataFrame(found, columns=["direction", "value", "ci_low", "ci_high", "n"])


def _chosen(
    scores: np.ndarray, rows: np.ndarray, columns: np.ndarray, weights: np.ndarray, n_others: int
) -> np.ndarray:
    """Return the chance that each row (a query) prefers a column of its topic to `n_others` of other topics.

    `scores` (rows, columns); `rows`, `columns`: topics; `weights` (k, columns): how often each column is there. Returns
    (k, rows), each the mean over the columns of its topic and all sets of others.
    """
    found = np.empty((len(weights), len(rows)))
    for topic in np.unique(rows):
        mine, own = np.flatnonzero(rows == topic), columns == topic
        others = scores[np.ix_(mine, ~own)]
        order = np.argsort(others, axis=1)
        ranked = np.take_along_axis(others, order, axis=1)
        # How many of the others, each as often as it is there, come before each place of a query's ranking.
        before = np.zeros((len(weights), len(mine), ranked.shape[1] + 1))
        np.cumsum(weights[:, ~own][:, order], axis=2, out=before[:, :, 1:])
        chance = np.empty((len(weights), len(mine), int(own.sum())))
        for place, column in enumerate(np.flatnonzero(own)):
            lower = (ranked < scores[mine, column][:, None] - TIE).sum(axis=1)
            upto = (ranked <= scores[mine, column][:, None] + TIE).sum(axis=1)
            less = np.take_along_axis(before, lower[None, :, None], axis=2)[:, :, 0]
            equal = np.take_along_axis(before, upto[None, :, None], axis=2)[:, :, 0] - less
            ways = [special.binom(equal, n) * special.binom(less, n_others - n) / (n + 1) for n in range(n_others + 1)]
            chance[:, :, place] = sum(ways) / special.binom(before[:, :, -1], n_others)
        found[:, mine] = (chance * weights[:, None, own]).sum(axis=2) / weights[:, own].sum(axis=1)[:, None]
    return found


def subset_counts(
    images: np.ndarray,
    image_wnids: Iterable[str],
    classes: np.ndarray,
    class_wnids: list[str],
    sizes: list[int],
    n_subsets: int,
    seed: int,
) -> pd.DataFrame:
    """Return the right predictions when only a random subset of the classes is on offer.

    For each size, `n_subsets` subsets of that many classes are drawn without replacement; the images of the subset are
    classified among its classes alone. A size that the language does not reach is left out, and all its classes are
    drawn once. A draw is the same for every model, as long as seed and classes are. Returns n_classes, number (of the
    draw), n_correct, n_images. Source: Geigle et al. (2024), Figure 2 and Table 3.
    """
    target = pd.Index(class_wnids).get_indexer(list(image_wnids))
    rows = np.flatnonzero(target >= 0)
    scores, target = similarity(images[rows], classes), target[rows]
    found = []
    for size in sorted({size for size in sizes if size <= len(class_wnids)}):
        for draw in range(n_subsets if size < len(class_wnids) else 1):
            chosen = np.random.default_rng([seed, size, draw]).permutation(len(class_wnids))[:size]
            column = np.full(len(class_wnids), -1)
            column[chosen] = np.arange(size)
            here = column[target] >= 0
            right = hits(scores[here][:, chosen], column[target[here]])
            found.append((size, draw, right.sum(), len(right)))
    return pd.DataFrame(found, columns=["n_classes", "number", "n_correct", "n_images"])


def write_vectors(
    path: str | os.PathLike,
    images: np.ndarray,
    image_wnids: Iterable[str],
    classes: dict,
    prompts: dict[str, str] | None = None,
    protocol: dict[str, dict[str, str]] | None = None,
    partial: str = "",
    regions: Iterable[str] | None = None,
    source: dict[str, str] | None = None,
) -> Path:
    """Save image embeddings and class vectors in an .npz file, so that later stages need no encoder; return the path.

    `classes` maps a language to (class wnids, class vectors (classes, d)), `prompts` to the set of prompts they were
    made with, `protocol` to what else decides a result: similarity, precision and preprocessing. `partial`: how it came
    that these are not all images, "" for all; tables that are made from the file say it too (`tables.write`).
    `regions`: where each image is from, None where that is not known. `source`: the model, data set and label set, by
    the keys of `SOURCE`. The file holds its own checksum (`checksums`). Raises InputError for a name that does not end
    in .npz.
    """
    path = locate(path)
    if path.suffix != ".npz" or path.is_dir():
        raise InputError(f"Vectors are written to a file of their own, got {path}: give one that ends in .npz.")
    arrays = {"images": np.asarray(images, np.float32), "image_wnids": np.array(list(image_wnids), dtype=str)}
    for lang, (wnids, vectors) in classes.items():
        arrays |= {f"{lang} wnids": np.array(wnids, dtype=str), f"{lang} classes": np.asarray(vectors, np.float32)}
    arrays |= {f"{lang} prompts": np.array(name) for lang, name in (prompts or {}).items()}
    for lang, settings in (protocol or {}).items():
        arrays |= {f"{lang} {name}": np.array(option) for name, option in settings.items()}
    arrays |= {"partial": np.array(partial)} if partial else {}
    arrays |= {} if regions is None else {"regions": np.array(list(regions), dtype=str)}
    arrays |= {f"of {name}": np.array(value) for name, value in (source or {}).items()}
    checksums.save_arrays(path, **arrays)
    return path


def read_vectors(path: str | os.PathLike, **source: str) -> tuple[np.ndarray, np.ndarray, dict]:
    """Return what `write_vectors` saved: image embeddings, wnids, and {language: (class wnids, class vectors)}.

    `source`: the model, data set or label set that they should be of, where the file says so. Raises InputError for
    another one, and for a file that is absent, damaged or not whole.
    """
    arrays = _stored(path)
    for name, wanted in source.items():
        if str(arrays.get(f"of {name}", wanted)) != wanted:
            raise InputError(
                f"The embeddings {locate(path)} are of the {SOURCE[name]} {str(arrays[f'of {name}'])!r}, and those of "
                f"{wanted!r} are needed: give their path, or run notebook 20 for these."
            )
    languages = [name.removesuffix(" wnids") for name in arrays if name.endswith(" wnids")]
    try:
        classes = {lang: (arrays[f"{lang} wnids"].tolist(), arrays[f"{lang} classes"]) for lang in languages}
        images, wnids = arrays["images"], arrays["image_wnids"]
    except KeyError as error:
        raise _unreadable(path, f"it has no {error.args[0]!r}") from error
    for name, names, vectors in [("images", wnids, images), *((lang, *pair) for lang, pair in classes.items())]:
        fits = vectors.ndim == 2 and len(vectors) == len(names) and vectors.shape[1] == images.shape[-1]
        if not fits or not np.isfinite(vectors).all():
            raise _unreadable(path, f"the vectors of {name!r} do not fit the others, or are not finite numbers")
    return images, wnids, classes


def read_regions(path: str | os.PathLike) -> np.ndarray | None:
    """Return where each image is from, as `write_vectors` got it; None where the file does not say."""
    return _stored(path, ("regions",)).get("regions")


def read_prompts(path: str | os.PathLike) -> dict[str, str]:
    """Return the set of prompts that each language's class vectors were made with, as far as `write_vectors` got it."""
    arrays = _stored(path, (" prompts",))
    return {name.removesuffix(" prompts"): str(value) for name, value in arrays.items()}


def read_protocol(path: str | os.PathLike) -> dict[str, dict[str, str]]:
    """Return how each language's vectors were made and are compared: {language: {column of a result: option}}.

    Raises InputError where the file does not say it.
    """
    arrays = _stored(path, tuple(f" {name}" for name in ("wnids", *PROTOCOL)))
    languages = [name.removesuffix(" wnids") for name in arrays if name.endswith(" wnids")]
    try:
        return {lang: {name: str(arrays[f"{lang} {name}"]) for name in PROTOCOL} for lang in languages}
    except KeyError as error:
        raise InputError(
            f"The embeddings {path} do not say by which protocol they were made ({error.args[0]} is missing): run "
            "notebook 20 for this model."
        ) from error


def _stored(path: str | os.PathLike, endings: tuple[str, ...] = ("",)) -> dict[str, np.ndarray]:
    """Return the arrays of a file whose names end so; InputError where the file is absent or damaged."""
    path = locate(path)
    try:
        if damage := checksums.problem(path):
            raise ValueError(damage)
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files if name.endswith(endings)}
    except Exception as error:  # NumPy, zipfile and zlib each raise their own
        # NumPy's second sentence says how to unpickle what somebody sent.
        raise _unreadable(path, str(error).partition(". ")[0] or type(error).__name__) from error


def _unreadable(path: str | os.PathLike, reason: str) -> InputError:
    remedy = "run notebook 20 for this model, or give a file that it wrote."
    return InputError(
        f"The embeddings {locate(path)} cannot be read ({' '.join(reason.split()).rstrip('.')}): {remedy}"
    )


def at_size(subsets: pd.DataFrame, n_classes: int | None = None) -> pd.DataFrame:
    """Return the rows of a `subsets` table in which every language has `n_classes` classes; None means all it has.

    A language with fewer keeps all it has, as in Geigle et al. (2024), Table 3. Raises InputError for a number below 1,
    and, with the numbers that were drawn, where a language with enough classes has no subset of that size.
    """
    if n_classes is not None and n_classes < 1:
        raise InputError(f"Every language is cut to at least 1 class, got {n_classes}: give a size of notebook 29.")
    most = subsets.groupby("lang")["n_classes"].transform("max")
    wanted = most if n_classes is None else most.clip(upper=n_classes)
    kept = subsets[subsets["n_classes"] == wanted]
    lacking = set(subsets["lang"]) - set(kept["lang"])
    if lacking:
        drawn = ", ".join(map(str, sorted(subsets.loc[subsets["n_classes"] < most, "n_classes"].unique())))
        raise InputError(
            f"No subsets of {n_classes} classes were drawn for {len(lacking)} language(s), {min(lacking)} among them: "
            f"take one of {drawn}, or add {n_classes} to the sizes of notebook 29."
        )
    return kept
