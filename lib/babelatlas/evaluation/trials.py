"""The trials of a disambiguation data set: each translation of an item given each of
its images, and its score.

Whoever scores them, a CLIP-like model (`similarities`) or a translator
(`perplexities`), sees the same trials. Scores that others computed may come in the two
text files of CoMMuTE's `evaluate.py` (`from_lines`).
"""

from collections.abc import Sequence
from itertools import takewhile

import numpy as np
import pandas as pd

from babelatlas.base import languages
from babelatlas.base.errors import InputError
from babelatlas.evaluation import disambiguation, zeroshot
from babelatlas.models import translators


def select(items: pd.DataFrame, wanted: Sequence[str] = ()) -> pd.DataFrame:
    """Return the rows of `items` (schema items) in the languages `wanted`, by any of
    their codes; () for all.
    """
    codes = languages.among(wanted, items["lang"], "The table of items")
    return items[items["lang"].isin(codes)].reset_index(drop=True) if codes else items


def join(items: pd.DataFrame, item_images: pd.DataFrame) -> pd.DataFrame:
    """Return each translation with each image of its item: lang, item, image, path,
    text, source, translation.

    `items`, `item_images`: the schemas of these names; `text` is the sense of the
    translation. Items that no language has are left out.
    """
    joined = items.rename(columns={"sense": "text"}).merge(item_images, "inner", "item")
    return joined[["lang", "item", "image", "path", "text", "source", "translation"]]


def similarities(
    trials: pd.DataFrame,
    texts: np.ndarray,
    images: np.ndarray,
    shown: pd.DataFrame,
    paths: Sequence[str],
    rule: str,
) -> pd.DataFrame:
    """Return what each trial costs a CLIP-like model: minus the similarity of its
    translation and its image.

    `trials` as of `join`; `texts` (rows of `shown`, d) are the vectors of the
    translations in `shown` (columns lang and translation, each pair once), `images`
    (paths, d) those of the files in `paths`. `rule`: "cosine" or "dot product". Columns
    lang, item, image, text, cost, in the order of `trials`. Each similarity is a sum of
    its own, so that equal vectors give equal costs.
    """
    row = pd.MultiIndex.from_frame(shown[["lang", "translation"]])
    text = row.get_indexer(pd.MultiIndex.from_frame(trials[["lang", "translation"]]))
    image = pd.Index(paths).get_indexer(trials["path"])
    if rule == "cosine":
        texts, images = zeroshot.normalise(texts), zeroshot.normalise(images)
    texts, images = np.asarray(texts, np.float64), np.asarray(images, np.float64)
    # In parts: the vectors of all trials at once may not fit.
    parts = [slice(start, start + 65536) for start in range(0, len(trials), 65536)]
    cost = np.concatenate(
        [-(texts[text[part]] * images[image[part]]).sum(axis=1) for part in parts]
    )
    return trials[["lang", "item", "image", "text"]].assign(cost=cost)


def perplexities(
    scorer: translators.Scorer,
    trials: pd.DataFrame,
    temperatures: Sequence[float] = (1.0,),
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the costs and the tokens of trials: schemas `disambiguation` and `tokens`,
    less model and protocol.

    `trials` as of `join`, with absolute paths. The cost is the perplexity at
    temperature 1 (Kashani Motlagh et al. 2024, Eq. 1). Tokens: also temperature, shared
    (how many tokens both translations begin with) and log_probabilities, at all
    `temperatures` (1.0 is always among them) for the original images a0 and b0, at 1.0
    for the others. A trial that occurs twice is scored once, so that what is equal is
    equal to the last bit.
    """
    temperatures = sorted({*map(float, temperatures), 1.0})
    words = trials[["lang", "item", "text", "translation"]].drop_duplicates()
    words = words.assign(
        ids=scorer.tokenize(words["translation"].tolist(), words["lang"].tolist())
    )
    both = words.pivot(index=["lang", "item"], columns="text", values="ids")
    shared = {}
    for key, pair in zip(both.index, both.to_numpy(), strict=True):
        shared[key] = sum(
            1 for _ in takewhile(lambda two: two[0] == two[1], zip(*pair, strict=False))
        )
    trials = trials.assign(
        shared=[shared[key] for key in zip(trials["lang"], trials["item"], strict=True)]
    )
    parts, key = [], ["path", "source", "translation", "lang"]
    for original, part in trials.groupby(
        trials["image"].isin(disambiguation.ORIGINALS), sort=False
    ):
        scored_at = temperatures if original else [1.0]
        number = part.groupby(key, sort=False).ngroup()
        once = part.loc[~number.duplicated(), key]
        scored = scorer.score(*(once[column].tolist() for column in key), scored_at)
        for row, temperature in enumerate(scored_at):
            parts.append(
                part.assign(
                    temperature=temperature,
                    log_probabilities=[scored[n][row] for n in number],
                )
            )
    tokens = (
        pd.concat(parts)
        .sort_values("temperature", kind="stable")
        .sort_index(kind="stable")
    )
    costs = tokens[tokens["temperature"] == 1.0]
    costs = costs.assign(
        cost=np.exp(
            disambiguation.log_perplexities(costs["log_probabilities"].tolist())
        )
    )
    order = ["lang", "item", "image", "text"]
    tokens = tokens[[*order, "temperature", "shared", "log_probabilities"]]
    return costs[[*order, "cost"]].reset_index(drop=True), tokens.reset_index(drop=True)


def from_lines(
    correct: np.ndarray, incorrect: np.ndarray, items: pd.DataFrame
) -> pd.DataFrame:
    """Return the costs of the original images from a pair of files of scores: lang,
    item, image, text, cost.

    CoMMuTE's `evaluate.py` (github.com/MatthieuFP/CoMMuTE, e0356524) takes two files
    with one number on each line, the score of the correct and of the incorrect
    translation, lower is better. `items` (schema items), of one language, has one row
    for each line, in their order; what is incorrect on one line of an item is what is
    correct on its other.
    """
    if not len(correct) == len(incorrect) == len(items):
        counts = (
            f"{len(correct)} and {len(incorrect)} lines, and the data set has"
            f" {len(items)}"
        )
        raise InputError(
            f"The files of scores have {counts}: line k of one belongs to line k of the"
            " other."
        )
    sense = items["sense"]
    rows = items[["lang", "item"]].assign(image=sense + "0")
    right = rows.assign(text=sense, cost=correct)
    wrong = rows.assign(text=sense.map({"a": "b", "b": "a"}), cost=incorrect)
    return pd.concat([right, wrong]).sort_index(kind="stable").reset_index(drop=True)
