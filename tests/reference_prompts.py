"""The prompts of labels as the papers count them: each different one once, for tests to
compare with.
"""

import numpy as np


def unique_prompts(labels: list[str], texts: list[str]) -> tuple[list[str], np.ndarray]:
    """Return the different prompts of all labels, and an index (labels, templates) of
    which belong to which label.
    """
    place: dict[str, int] = {}
    index = [
        [place.setdefault(text.replace("{}", label), len(place)) for text in texts]
        for label in labels
    ]
    return list(place), np.array(index, dtype=np.int64)
