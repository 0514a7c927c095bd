"""The better of several sets of prompts, for languages without translated ones.

Geigle et al. (2024, section B.2) report, where there are no translated prompts, the
better of the label alone and English prompts. The choice looks at the accuracy that is
reported, so that it is a little too high.
"""

import os
from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd

from babelatlas.evaluation import embedding, protocol, zeroshot
from babelatlas.models.encoder import Encoder


def accuracies(
    encoder: Encoder,
    labels: pd.DataFrame,
    images: tuple[np.ndarray, np.ndarray],
    candidates: Mapping[str, pd.DataFrame],
    rules: Callable[[dict[str, str]], dict[str, str]],
    cache: str | os.PathLike = "",
    nllb_languages: Mapping[str, str] | None = None,
    folds: int = 0,
) -> pd.DataFrame:
    """Return the accuracy (fraction, mean over classes) in each language with each set
    of prompts: rows are languages, columns the sets.

    `labels`: rows of the label set in these languages; `images`: their vectors (images,
    d) and classes; `candidates`: name of a set -> its templates in each language;
    `rules`: language -> set of prompts, to language -> similarity (`protocol.rules`).
    All else is as for `embedding.embed_by_rules` and `zeroshot.evaluate_languages`.
    """
    columns = {}
    for name, templates in candidates.items():
        rule_of = rules(protocol.prompts_used(templates))
        vectors, _ = embedding.embed_by_rules(
            encoder, labels, templates, rule_of, cache, nllb_languages
        )
        classes = embedding.by_language(labels, vectors)
        counts = zeroshot.evaluate_languages(*images, classes, folds)
        share = counts["n_correct"] / counts["n_images"]
        columns[name] = share.groupby(counts["lang"], sort=False).mean()
    return pd.DataFrame(columns)


def with_better(
    templates: pd.DataFrame,
    candidates: Mapping[str, pd.DataFrame],
    scores: pd.DataFrame,
) -> pd.DataFrame:
    """Return templates (schema `templates`) in which each language of `scores` has those
    of its best set; of equal ones, of the first.
    """
    best = scores.idxmax(axis=1)
    rest = templates[~templates["lang"].isin(best.index)]
    chosen = []
    for name, table in candidates.items():
        langs = best.index[best == name]
        chosen.append(table[table["lang"].isin(langs)])
    return pd.concat([rest, *chosen], ignore_index=True)
