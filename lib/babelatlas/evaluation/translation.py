"""Ask a translator for the score of each translation of a disambiguation data set, next to each of its images."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from babelatlas.base.errors import InputError
from babelatlas.evaluation import perplexity
from babelatlas.evaluation.trials import ORIGINALS, join
from babelatlas.models import translators


def evaluate(
    scorer: translators.Scorer, items: pd.DataFrame, item_images: pd.DataFrame, temperatures: Sequence[float] = (1.0,)
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the costs and the tokens of a data set: schemas `disambiguation` and `tokens`, less model and protocol.

    `items` and `item_images` (absolute paths): the schemas of these names. One row of costs for each language, item,
    image of the item and translation ("a", "b"): columns lang, item, image, text, cost, which is the perplexity at
    temperature 1 (Kashani Motlagh et al. 2024, Eq. 1). Tokens: also temperature, shared and log_probabilities, at all
    `temperatures` (1.0 is always among them) for the original images a0 and b0, at 1.0 for the others.
    A trial that occurs twice is scored once, so that what is equal is equal to the last bit; likewise all images of a
    scorer that uses none, for which `item_images` may be empty.
    Raises InputError for an item with one sense only, one without an image of a sense, and a translation that the
    tokenizer maps to nothing, before anything is scored.
    """
    temperatures = translators.check_temperatures([*temperatures, 1.0])
    if not scorer.uses_images and item_images.empty:
        rows = [(item, image, "") for item in items["item"].unique() for image in ORIGINALS]
        item_images = pd.DataFrame(rows, columns=list(item_images))
    trials = join(items, item_images)
    trials["shown"] = trials["path"] if scorer.uses_images else ""
    words = items[["lang", "translation"]].drop_duplicates(ignore_index=True)
    ids = scorer.tokenize(words["translation"].tolist(), words["lang"].tolist())
    for lang, translation in words[[len(tokens) < 2 for tokens in ids]].itertuples(index=False, name=None):
        item = items.loc[(items["lang"] == lang) & (items["translation"] == translation), "item"].iloc[0]
        raise InputError(
            f"The tokenizer of {scorer.name!r} makes no token of the translation {translation!r} ({lang}, item "
            f"{item!r}): correct the translation, or leave the item out."
        )
    tokens = dict(zip(words.itertuples(index=False, name=None), ids, strict=True))
    both = items.pivot(index=["lang", "item"], columns="sense", values="translation")
    common = {
        (lang, item): translators.shared(tokens[lang, a], tokens[lang, b])
        for (lang, item), a, b in zip(both.index, both["a"], both["b"], strict=True)
    }
    costs, rows = [], []
    for original, part in trials.groupby(trials["image"].isin(ORIGINALS), sort=False):
        asked = temperatures if original else [1.0]
        key = ["shown", "source", "translation", "lang"]
        number = part.groupby(key, sort=False).ngroup()
        once = part.loc[~number.duplicated(), key]
        found = scorer.score(*(once[column].tolist() for column in key), asked)
        one = asked.index(1.0)
        cost = np.array([perplexity.perplexity(scores[one]) for scores in found])
        costs.append(part.assign(cost=cost[number]))
        for place, temperature in enumerate(asked):
            rows.append(
                part.assign(
                    temperature=temperature,
                    shared=[common[pair] for pair in zip(part["lang"], part["item"], strict=True)],
                    log_probabilities=[found[row][place] for row in number],
                )
            )
    order = ["lang", "item", "image", "text"]
    costs = pd.concat(costs).sort_index()[[*order, "cost"]]
    rows = pd.concat(rows).sort_values("temperature", kind="stable").sort_index(kind="stable")
    rows = rows[[*order, "temperature", "shared", "log_probabilities"]]
    return costs.reset_index(drop=True), rows.reset_index(drop=True)
