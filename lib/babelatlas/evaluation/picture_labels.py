"""Which labels of each language are nearest to single pictures."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from babelatlas.evaluation import zeroshot


def nearest_labels(
    image_vectors: np.ndarray,
    labels: pd.DataFrame,
    class_vectors: np.ndarray,
    fitting: Mapping[str, Sequence[str]],
    n_ranks: int,
) -> pd.DataFrame:
    """Return the labels with the highest cosine similarity to each picture, `n_ranks`
    for each language, or as many as it has.

    `image_vectors` (pictures, d) and `class_vectors` (rows of `labels`, d) need no unit
    length. `labels` has columns lang, wnid, label. `fitting`: picture -> the classes
    that fit it, in the order of the vectors. Columns: lang, picture, rank (from 1),
    wnid, label, cosine, correct (whether the class fits), labelled (whether the
    language has a label for a class that fits), n_classes (of the language).
    """
    classes = labels.reset_index(drop=True)
    similarity = zeroshot.normalise(image_vectors) @ zeroshot.normalise(class_vectors).T
    parts = []
    for lang, rows in classes.groupby("lang", sort=True):
        places = rows.index.to_numpy()
        for picture, scores in zip(fitting, similarity[:, places], strict=True):
            order = np.argsort(-scores, kind="stable")[:n_ranks]
            nearest = rows.iloc[order][["wnid", "label"]].assign(
                lang=lang,
                picture=picture,
                rank=np.arange(1, len(order) + 1),
                cosine=scores[order].astype(float),
                labelled=rows["wnid"].isin(fitting[picture]).any(),
                n_classes=len(rows),
            )
            nearest["correct"] = nearest["wnid"].isin(fitting[picture])
            parts.append(nearest)
    return pd.concat(parts, ignore_index=True)
