"""Filters at the same compute and slopes against size: by hand, against statsmodels,
and the shipped results.
"""


import numpy as np
import pandas as pd
import pytest

from babelatlas.analysis import training_data
from babelatlas.base import released

FAST = {"n_resamples": 200}


@pytest.fixture(scope="module")
def wide():
    return training_data.recall()


def models(rows):
    """A registry of models: name, training data, GFLOPs, samples seen."""
    table = pd.DataFrame(
        rows, columns=["model", "training_data", "gflops", "samples_seen"]
    )
    table = table.assign(
        title=table["model"],
        family="F",
        text_tower="T",
        multilingual_text="no",
        image_size=224,
    )
    return table.assign(
        architecture=table["gflops"].astype(str), parameters_m=10 * table["gflops"]
    )


def test_recall_is_the_mean_of_both_directions(wide):
    name = "clip-l14-commonpool-xl"
    rows = released.read(
        harness="clip_benchmark",
        dataset="xm3600",
        metric="recall@1",
        model=name,
        lang="de",
    )
    assert sorted(rows["direction"]) == ["i2t", "t2i"]
    assert wide.loc["de", name] == pytest.approx(rows["value"].sum() / 2)
    assert len(wide) == 36


def test_multilingual_text_towers_and_models_without_results_are_apart():
    rows = [[name, "X", size, 1] for size, name in enumerate("abcdef", start=1)]
    table = models(rows).assign(multilingual_text=["no"] * 3 + ["yes"] * 3)
    found = training_data.constant_data(pd.DataFrame(columns=list("abcdef")), 3, table)
    assert found.groupby("data")["model"].agg("".join).to_dict() == {
        "X": "abc",
        "X (multilingual)": "def",
    }


def test_a_line_is_found_with_its_slope():
    sizes = pd.DataFrame(
        {
            "data": ["X"] * 3 + ["Y"] * 3,
            "model": list("abcdef"),
            "gflops": [1.0, 10, 100] * 2,
        }
    )
    steps = np.array([0, 1, 2, 0, 1, 2])
    wide = pd.DataFrame(
        [0.3 + 0.01 * steps, 0.1 + 0.05 * steps, 0.1 + 0.03 * steps],
        index=["en", "de", "fi"],
        columns=list("abcdef"),
    )
    table = training_data.slopes(wide, sizes, scale="accuracy", **FAST).set_index(
        ["data", "of"]
    )
    for data in ("X", "Y", "all"):
        found = [
            table.loc[(data, of), "value"]
            for of in ("English", "others", "others - English")
        ]
        assert found == pytest.approx([0.01, 0.04, 0.03])
    # Families drawn: German alone, Finnish alone, or both.
    assert table.loc[
        ("X", "others"), ["family_low", "family_high"]
    ].to_list() == pytest.approx([0.03, 0.05])


def test_slopes_and_intervals_are_those_of_statsmodels(wide):
    from statsmodels.formula.api import ols

    sizes = training_data.constant_data(wide)
    others = wide.drop("en")[sizes["model"]].mean().to_numpy()
    english = wide.loc["en", sizes["model"]].to_numpy()
    y = np.log(others / (1 - others)) - np.log(english / (1 - english))
    rows = sizes.assign(y=y, x=np.log10(sizes["parameters_m"]))
    table = (
        training_data.slopes(wide, sizes, "parameters_m", **FAST)
        .query("of == 'others - English'")
        .set_index("data")
    )
    assert table.loc["all", "value"] == pytest.approx(
        ols("y ~ x + C(data)", rows).fit().params["x"]
    )
    for data in ("LAION-2B-en", "MetaCLIP 400M"):
        line = ols("y ~ x", rows[rows["data"] == data]).fit()
        expected = [line.params["x"], *line.conf_int().loc["x"], line.pvalues["x"]]
        assert table.loc[
            data, ["value", "ci_low", "ci_high", "p"]
        ].to_list() == pytest.approx(expected)
    assert table["n"].to_dict() == {
        **sizes["data"].value_counts().to_dict(),
        "all": len(sizes),
    }
