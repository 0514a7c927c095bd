"""Small tables of claims and definitions for the tests."""

import pandas as pd

from babelatlas.papers import scorecard

ROW = {
    "paper": "liu2021",
    "place": "Table 1",
    "cell": "ID | accuracy",
    "block": "cells",
    "relation": "=",
    "printed": ".5",
    "unit": "fraction",
    "definitions": "mean",
    "note": "",
}


# The statuses without those that few claims have: "in part" and "explained", which test_scorecard lists.
PLAIN = [status for status in scorecard.STATUSES if status not in ("in part", "explained")]


def written(tmp_path, *changes):
    path = tmp_path / "claims.csv"
    pd.DataFrame([ROW | {"printed": "0.5"} | change for change in changes]).to_csv(path, index=False)
    return path


def mean(value, slack=0.0):
    return lambda folders: pd.DataFrame({"cell": ["ID | accuracy"], "value": [value], "slack": [slack]})


def known(**definitions):
    return {
        ("liu2021", name.replace("_", " ")): scorecard.Definition("liu2021", name.replace("_", " "), "A mean.", *given)
        for name, given in definitions.items()
    }
