"""Slopes against size by hand and against statsmodels, gains by language, measured
costs, and the figure of the lines.
"""

import numpy as np
import pandas as pd
import pytest

from atlas_study.chapters import model_size
from babelatlas.analysis import training_data

FAST = {"n_resamples": 200}


@pytest.fixture(scope="module")
def recall():
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


def test_multilingual_text_towers_and_models_without_results_are_apart():
    rows = [[name, "X", size, 1] for size, name in enumerate("abcdef", start=1)]
    table = models(rows).assign(multilingual_text=["no"] * 3 + ["yes"] * 3)
    found = model_size.constant_data(pd.DataFrame(columns=list("abcdef")), 3, table)
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
    table = model_size.slopes(wide, sizes, scale="accuracy", **FAST).set_index(
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


def test_slopes_and_intervals_are_those_of_statsmodels(recall):
    from statsmodels.formula.api import ols

    sizes = model_size.constant_data(recall)
    others = recall.drop("en")[sizes["model"]].mean().to_numpy()
    english = recall.loc["en", sizes["model"]].to_numpy()
    y = np.log(others / (1 - others)) - np.log(english / (1 - english))
    rows = sizes.assign(y=y, x=np.log10(sizes["parameters_m"]))
    table = (
        model_size.slopes(recall, sizes, "parameters_m", **FAST)
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


def test_lines_of_size_are_least_squares_on_the_log_odds_and_no_two_look_alike():
    odds = np.exp([-2.0, -1, 0])
    rows = [
        (f"s{place}", size, value)
        for place in range(9)
        for size, value in zip([1, 10, 100], odds / (1 + odds), strict=True)
    ]
    table = pd.DataFrame(rows, columns=["series", "size", "value"]).assign(
        panel="English"
    )
    (axis,) = model_size.size_lines(table, "size", "GFLOPs", [1, 10, 100])
    marks, line = axis.lines[:2]
    np.testing.assert_allclose(
        line.get_ydata(), marks.get_ydata()
    )  # three points on one line
    assert axis.get_yscale() == "logit"
    handles = axis.figure.legends[0].legend_handles
    assert len({(each.get_color(), each.get_marker()) for each in handles}) == 9


def test_a_language_gains_the_slope_of_its_recall_within_the_data_sets():
    sizes = pd.DataFrame({"data": ["X", "X"], "model": list("ab"), "gflops": [1.0, 10]})
    recall = pd.DataFrame(
        {"a": [0.4, 0.2, 0.1], "b": [0.45, 0.3, 0.1]}, index=["en", "de", "ja"]
    )
    gains = model_size.gains_by_language(recall, sizes, **FAST)
    assert gains.english == pytest.approx(5)
    assert gains.others["lang"].tolist() == ["de", "ja"]
    assert gains.others["points"].to_list() == pytest.approx([10, 0])
    assert gains.others["kind"].tolist() == ["Latin script", "other scripts"]
    assert gains.gap.to_list() == pytest.approx([5, -5])


def test_models_on_a_front_have_a_number_and_only_shared_languages_count():
    scores = pd.DataFrame(
        [
            ("fast", "de", 0.2),
            ("fast", "si", 0.4),
            ("slow", "de", 0.6),
            ("slow", "si", 0.6),
            ("worse", "de", 0.5),
            ("worse", "si", 0.5),
            ("English", "de", 0.9),
        ],
        columns=["model", "lang", "value"],
    )
    models = pd.DataFrame(
        {
            "model": ["fast", "slow", "worse", "English"],
            "title": ["Fast", "Slow", "Worse", "English"],
            "family": "F",
            "milliseconds": [1.0, 2, 3, 1],
            "memory_mib": [20.0, 20, 10, 1],
        }
    ).set_index("model", drop=False)
    points, n_languages = model_size._cost_points(scores, models, 2)
    assert n_languages == 2
    numbers = points.groupby("panel")[["name", "number"]].apply(
        lambda part: dict(zip(part["name"], part["number"], strict=True))
    )
    # The best model of a front is number 1, the next best number 2, and so on.
    assert numbers["milliseconds"] == {"Fast": 3, "Slow": 1, "Worse": 0}
    assert numbers["memory (MiB)"] == {"Fast": 0, "Slow": 1, "Worse": 2}


def test_rivals_are_compared_in_the_languages_that_both_have():
    rows = [("a", "de", 0.5), ("a", "si", 0.3), ("b", "de", 0.6), ("b", "si", 0.1)]
    scores = pd.DataFrame([*rows, ("a", "ja", 0.1)], columns=["model", "lang", "value"])
    table = model_size.compare_rivals(
        scores.assign(title=scores["model"].str.upper()), [["a", "b"]], **FAST
    )
    assert table["models"].tolist() == ["A − B"]
    assert table["difference (points)"].iloc[0].startswith("+5.0")
    assert table["lower in"].tolist() == ["1 of 2 languages"]
