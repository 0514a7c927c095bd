"""Filters at the same compute and slopes against size: by hand, against statsmodels,
and the shipped results.
"""

from itertools import product

import numpy as np
import pandas as pd
import pytest

from babelatlas.analysis import training_data
from babelatlas.base import released

FAST = {"n_resamples": 200}


@pytest.fixture(scope="module")
def wide():
    return training_data.recall()


@pytest.fixture
def small():
    """Recall of a model without a filter and one with, in English and in five languages
    of three families.
    """
    recalls = {
        "en": [0.4, 0.5],
        "de": [0.4, 0.2],
        "fr": [0.4, 0.3],
        "fi": [0.2, 0.1],
        "ja": [0.3, 0.0],
        "hu": [0.2, 0.1],
    }
    return pd.DataFrame.from_dict(recalls, orient="index", columns=["pool", "filtered"])


PAIR = pd.DataFrame(
    [["1", "basic", "basic", "filtered", "pool"]],
    columns=["scale", "filtering", "filter", "model", "unfiltered"],
)


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


def test_the_share_kept_is_that_of_the_means_and_the_tests_are_of_the_points(small):
    row = training_data.retained(small, PAIR, **FAST).iloc[0]
    assert row["value"] == pytest.approx(
        (0.2 + 0.3 + 0.1 + 0.0 + 0.1) / (0.4 + 0.4 + 0.2 + 0.3 + 0.2)
    )
    assert row["points"] == pytest.approx(-0.8 / 5)
    assert row["ci_low"] <= row["value"] <= row["ci_high"]
    assert (row["n"], row["n_families"]) == (5, 3)
    gaps = {"by language": [0.2, 0.1, 0.1, 0.3, 0.1], "by family": [0.3, 0.2, 0.3]}
    for name, column in (("by language", "p"), ("by family", "p_family")):
        signed = [
            sum(np.multiply(signs, gaps[name]))
            for signs in product([1, -1], repeat=len(gaps[name]))
        ]
        assert row[column] == pytest.approx(
            np.mean(np.abs(signed) >= sum(gaps[name]) - 1e-9)
        )


def test_groups_have_their_own_share_and_one_family_has_no_interval(small):
    table = training_data.retained(
        small, PAIR, {"Latin": ["de", "fi"], "other": ["ja"]}, **FAST
    ).set_index("group")
    assert table["value"].to_list() == pytest.approx([0.5, 0.0])
    # All languages of the first group keep one half, whatever families are drawn.
    assert table.loc["Latin", ["ci_low", "ci_high"]].to_list() == pytest.approx(
        [0.5, 0.5]
    )
    assert np.isnan(table.loc["other", "ci_low"])


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
