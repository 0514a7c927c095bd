"""The trials of a disambiguation data set: each translation of an item given each of
its images, and its score.

Whoever scores them, a CLIP-like model (`similarities`) or a translator
(`perplexities`), sees the same trials. Scores that others computed may come in the two
text files of CoMMuTE's `evaluate.py` (`from_lines`).
"""

import os
from collections.abc import Collection, Sequence
from itertools import takewhile

import numpy as np
import pandas as pd

from babelatlas.base import languages, tables
from babelatlas.base.errors import InputError
from babelatlas.evaluation import disambiguation, zeroshot
from babelatlas.models import translators


def select(items: pd.DataFrame, wanted: Sequence[str] = ()) -> pd.DataFrame:
    """Return the rows of `items` (schema items) in the languages `wanted`, by any of
    their codes; () for all.
    """
    codes = languages.among(wanted, items["lang"], "The table of items")
    return items[items["lang"].isin(codes)].reset_index(drop=True) if codes else items


def translatable(items: pd.DataFrame, scorer: translators.Scorer) -> pd.DataFrame:
    """Return the rows of `items` in the languages that a translator translates into;
    InputError where there are none.
    """
    if not scorer.languages:
        return items
    rows = items[items["lang"].isin(scorer.languages)].reset_index(drop=True)
    if rows.empty:
        raise InputError(
            f"The translator {scorer.name!r} translates into"
            f" {', '.join(scorer.languages)}, and the items are in"
            f" {', '.join(items['lang'].unique())}: train it in a language of theirs."
        )
    return rows


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
    key = ["lang", "translation"]
    index = pd.MultiIndex.from_frame(shown[key])
    text_row = index.get_indexer(pd.MultiIndex.from_frame(trials[key]))
    image_row = pd.Index(paths).get_indexer(trials["path"])
    if rule == "cosine":
        texts, images = zeroshot.normalise(texts), zeroshot.normalise(images)
    texts, images = np.asarray(texts, np.float64), np.asarray(images, np.float64)
    # In parts: the vectors of all trials at once may not fit.
    parts = [slice(start, start + 65536) for start in range(0, len(trials), 65536)]
    products = [
        (texts[text_row[part]] * images[image_row[part]]).sum(axis=1) for part in parts
    ]
    cost = -np.concatenate(products)
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
    trials = trials.assign(shared=_shared_tokens(scorer, trials))
    parts = []
    is_original = trials["image"].isin(disambiguation.ORIGINALS)
    for original, part in trials.groupby(is_original, sort=False):
        scored_at = temperatures if original else [1.0]
        log_probabilities = _score_once(scorer, part, scored_at)
        for row, temperature in enumerate(scored_at):
            at_temperature = [tokens[row] for tokens in log_probabilities]
            parts.append(
                part.assign(temperature=temperature, log_probabilities=at_temperature)
            )
    tokens = pd.concat(parts).sort_values("temperature", kind="stable")
    tokens = tokens.sort_index(kind="stable")
    plain = tokens[tokens["temperature"] == 1.0]
    perplexity = np.exp(
        disambiguation.log_perplexities(plain["log_probabilities"].tolist())
    )
    trial = ["lang", "item", "image", "text"]
    costs = plain.assign(cost=perplexity)[[*trial, "cost"]]
    tokens = tokens[[*trial, "temperature", "shared", "log_probabilities"]]
    return costs.reset_index(drop=True), tokens.reset_index(drop=True)


def _shared_tokens(scorer: translators.Scorer, trials: pd.DataFrame) -> list[int]:
    """Return with how many same tokens both translations of each trial's item begin."""
    words = trials[["lang", "item", "text", "translation"]].drop_duplicates()
    ids = scorer.tokenize(words["translation"].tolist(), words["lang"].tolist())
    of_item = words.assign(ids=ids).pivot(
        index=["lang", "item"], columns="text", values="ids"
    )
    shared = {}
    for key, both in zip(of_item.index, of_item.to_numpy(), strict=True):
        pairs = zip(*both, strict=False)
        same = takewhile(lambda pair: pair[0] == pair[1], pairs)
        shared[key] = len(list(same))
    keys = zip(trials["lang"], trials["item"], strict=True)
    return [shared[key] for key in keys]


def _score_once(
    scorer: translators.Scorer, trials: pd.DataFrame, temperatures: Sequence[float]
) -> list[np.ndarray]:
    """Return what `Scorer.score` gives for each trial; what occurs twice is scored
    once.
    """
    key = ["path", "source", "translation", "lang"]
    number = trials.groupby(key, sort=False).ngroup()
    once = trials.loc[~number.duplicated(), key]
    scored = scorer.score(*(once[column].tolist() for column in key), temperatures)
    return [scored[n] for n in number]


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
        raise InputError(
            f"The files of scores have {len(correct)} and {len(incorrect)} lines, and"
            f" the data set has {len(items)}: line k of one belongs to line k of the"
            " other."
        )
    sense = items["sense"]
    rows = items[["lang", "item"]].assign(image=sense + "0")
    right = rows.assign(text=sense, cost=correct)
    wrong = rows.assign(text=sense.map({"a": "b", "b": "a"}), cost=incorrect)
    return pd.concat([right, wrong]).sort_index(kind="stable").reset_index(drop=True)


def from_files(
    correct: str | os.PathLike,
    incorrect: str | os.PathLike,
    items: pd.DataFrame,
    left_out: Collection[str] = (),
) -> tuple[pd.DataFrame, str]:
    """Return what `from_lines` returns for two files, without the items `left_out`, and
    what the data set's own script says of them.
    """
    right = np.loadtxt(tables.locate(correct), ndmin=1)
    wrong = np.loadtxt(tables.locate(incorrect), ndmin=1)
    costs = from_lines(right, wrong, items)
    note = (
        f"the data set's own script gives {(right < wrong).mean():.4f} over"
        f" {len(right):,} lines; items left out: {len(left_out)}"
    )
    return costs[~costs["item"].isin(left_out)], note


def from_runs(
    files: Sequence[str | os.PathLike],
    langs: Sequence[str],
    items: pd.DataFrame,
    left_out: pd.DataFrame,
) -> tuple[pd.DataFrame, list[str]]:
    """Return the costs of all trainings of a model from its files of scores, with the
    column replicate, and what the data set's own script says of each.

    `files`: correct and incorrect in turn, a pair for each entry of `langs`; a language
    that occurs again is that of a further training. `items`: as for `from_lines`, of
    all languages; `left_out`: rows of lang and item.
    """
    costs, notes = [], []
    pairs = zip(langs, files[::2], files[1::2], strict=True)
    for row, (code, correct, incorrect) in enumerate(pairs):
        lang = languages.canonical(code)
        lines = items[items["lang"] == lang].reset_index(drop=True)
        is_odd = left_out["lang"] == lang
        of_run, note = from_files(
            correct, incorrect, lines, set(left_out.loc[is_odd, "item"])
        )
        costs.append(of_run.assign(replicate=langs[:row].count(code)))
        notes.append(f"{languages.name(lang)}: {note}")
    return pd.concat(costs, ignore_index=True), notes
