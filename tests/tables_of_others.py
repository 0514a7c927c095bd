"""Tables that somebody else computed, for the tests of what is merged into a run."""

import pandas as pd

from analysis.test_leaderboard import counts, queries

OWN, THEIRS = "openai-b32", "msiglip-b16"
RATES = {"de": 0.5, "sw": 0.25}
RANKS = [(1, 1, 1), (2, 3, 1)]


def classified(model, rates=RATES, **said):
    return counts(
        model, rates, **({"dataset": "pictograms", "labels": "pictograms"} | said)
    )


def retrieved(model, **said):
    return queries(
        model, RANKS, dataset="pictogram-captions", captions="chosen", **said
    )


def scored(model=THEIRS, **said):
    row = {
        "task": "zeroshot",
        "dataset": "imagenet-1k",
        "model": model,
        "lang": "de",
        "group": "",
        "variant": "",
    }
    row |= {
        "metric": "accuracy@1",
        "value": 0.5,
        "ci_low": 0.25,
        "ci_high": 0.75,
        "n": 80,
    }
    return pd.DataFrame([row | said])
