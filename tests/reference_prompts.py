"""The prompts of labels as the papers count them: each different one once, for tests to compare with."""

import numpy as np

from babelatlas.lexicon.prompts import check_templates, fill


def unique_prompts(labels: list[str], texts: list[str]) -> tuple[list[str], np.ndarray]:
    """Return the different prompts of all labels, and which of them belong to which label.

    The prompts are in order of first use; the index has the shape (labels, templates): prompt `index[i, j]` is label i
    in template j. A prompt that occurs several times for a label is encoded once and keeps its weight in the mean over
    the template axis.
    """
    check_templates(texts)
    place: dict[str, int] = {}
    index = [[place.setdefault(prompt, len(place)) for prompt in fill(texts, label)] for label in labels]
    return list(place), np.array(index, dtype=np.int64).reshape(len(labels), len(texts))
