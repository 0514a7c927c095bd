"""Scores of three models, as a run has them."""

import pandas as pd


def score_rows(**columns):
    """Rows of a `languages` table for three models in German and Hebrew, and retrieval
    in German.
    """
    rows = []
    for place, model in enumerate(["openai-b32", "altclip-m9", "my-model"]):
        for lang in ("de", "he"):
            rows.append(
                (
                    "zeroshot",
                    "toy",
                    "accuracy@1",
                    model,
                    lang,
                    "toy",
                    "label",
                    "",
                    "",
                    0.2 + place / 10,
                    10,
                )
            )
        rows.append(
            (
                "retrieval",
                "people",
                "t2i recall@1",
                model,
                "de",
                "",
                "",
                "people",
                "first",
                0.5,
                40,
            )
        )
    keys = [
        "task",
        "dataset",
        "metric",
        "model",
        "lang",
        "labels",
        "prompts",
        "captions",
        "choice",
        "value",
        "items",
    ]
    table = pd.DataFrame(rows, columns=keys).assign(
        similarity="cosine", precision="float32", preprocessing="model"
    )
    table = table.assign(
        ci_low=table["value"] - 0.1, ci_high=table["value"] + 0.1, n=400
    )
    return table.assign(**columns)
