"""Filters at the same compute and slopes against size: by hand, against statsmodels, and the shipped results."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

from babelatlas.analysis.released import training_data
from babelatlas.base import released
from babelatlas.base.errors import InputError

FAST = {"n_resamples": 200}


@pytest.fixture(scope="module")
def wide():
    return training_data.recall()


@pytest.fixture
def small():
    """Recall of a model without a filter and one with, in English and in five languages of three families."""
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
    [["1", "basic", "basic", "filtered", "pool"]], columns=["scale", "filtering", "filter", "model", "unfiltered"]
)


def models(rows):
    """A registry of models: name, training data, GFLOPs, samples seen."""
    table = pd.DataFrame(rows, columns=["model", "training_data", "gflops", "samples_seen"])
    table = table.assign(title=table["model"], family="F", text_tower="T", multilingual_text="no", image_size=224)
    return table.assign(architecture=table["gflops"].astype(str), parameters_m=10 * table["gflops"])


def test_recall_is_the_mean_of_both_directions(wide):
    name = "clip-l14-commonpool-xl"
    rows = released.read(harness="clip_benchmark", dataset="xm3600", metric="recall@1", model=name, lang="de")
    assert sorted(rows["direction"]) == ["i2t", "t2i"]
    assert wide.loc["de", name] == pytest.approx(rows["value"].sum() / 2)
    assert len(wide) == 36


def test_a_language_is_above_chance_only_in_both_directions():
    table = released.read(harness="clip_benchmark", dataset="xm3600", metric="recall@1", model="clip-b32-commonpool-s")
    found = {lang for lang, part in table.groupby("lang") if lang != "en" and (part["ci_low"] > 1 / 3600).all()}
    assert training_data.above_chance()["clip-b32-commonpool-s"] == pytest.approx(len(found) / 35)


def test_filtered_models_are_compared_with_the_pool_of_the_same_architecture_and_samples():
    pairs, facts = training_data.same_compute(), released.models()
    assert pairs.groupby("scale", sort=False).size().to_dict() == {"12.8 M": 5, "128 M": 6, "1.28 B": 6, "12.8 B": 3}
    for column in ("architecture", "samples_seen", "parameters_m"):
        assert (facts.loc[pairs["model"], column].to_numpy() == facts.loc[pairs["unfiltered"], column].to_numpy()).all()
    # The file released under the name of the image filter is that of DataComp's at the smallest scale.
    assert "image" not in set(pairs.loc[pairs["scale"] == "12.8 M", "filtering"])
    assert "clip-b16-datacomp-xl" not in set(pairs["model"])  # no unfiltered ViT-B/16 saw 12.8 billion samples


def test_a_filter_that_nobody_described_stops_the_comparison():
    table = released.models()
    table.loc["clip-b32-commonpool-m-text", "filtering"] = "texts"
    with pytest.raises(InputError, match="'texts': did you mean text"):
        training_data.same_compute(table)


def test_the_share_kept_is_that_of_the_means_and_the_tests_are_of_the_points(small):
    row = training_data.retained(small, PAIR, **FAST).iloc[0]
    assert row["value"] == pytest.approx((0.2 + 0.3 + 0.1 + 0.0 + 0.1) / (0.4 + 0.4 + 0.2 + 0.3 + 0.2))
    assert row["points"] == pytest.approx(-0.8 / 5)
    assert row["ci_low"] <= row["value"] <= row["ci_high"]
    assert (row["n"], row["n_families"]) == (5, 3)
    gaps = {"by language": [0.2, 0.1, 0.1, 0.3, 0.1], "by family": [0.3, 0.2, 0.3]}
    for name, column in (("by language", "p"), ("by family", "p_family")):
        signed = [sum(np.multiply(signs, gaps[name])) for signs in product([1, -1], repeat=len(gaps[name]))]
        assert row[column] == pytest.approx(np.mean(np.abs(signed) >= sum(gaps[name]) - 1e-9))


def test_groups_have_their_own_share_and_one_family_has_no_interval(small):
    table = training_data.retained(small, PAIR, {"Latin": ["de", "fi"], "other": ["ja"]}, **FAST).set_index("group")
    assert table["value"].to_list() == pytest.approx([0.5, 0.0])
    # All languages of the first group keep one half, whatever families are drawn.
    assert table.loc["Latin", ["ci_low", "ci_high"]].to_list() == pytest.approx([0.5, 0.5])
    assert np.isnan(table.loc["other", "ci_low"])


def test_p_values_are_corrected_for_all_rows(small):
    table = training_data.retained(small, PAIR, {"a": ["de", "fi"], "b": ["fr", "hu"]}, **FAST)
    assert table["p"].to_list() == [0.5, 0.5]
    assert table["p_holm"].to_list() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("pairs", "groups", "told"),
    [
        (PAIR.assign(model="gone"), None, "recall of 'gone'"),
        (PAIR, {"all": ["de", "xx"]}, "recall of 'xx'"),
        (PAIR.iloc[:0], None, "a pair of models"),
        (PAIR, {"none": []}, "a language"),
    ],
)
def test_what_cannot_be_compared_is_named(small, pairs, groups, told):
    with pytest.raises(InputError, match=told):
        training_data.retained(small, pairs, groups, **FAST)


def test_the_shipped_results_show_what_filters_cost(wide):
    table = training_data.retained(wide, training_data.same_compute(), **FAST).set_index(["scale", "filtering"])
    assert 100 * table.loc[("12.8 B", "laion"), "before"] == pytest.approx(37.11, abs=0.01)
    assert 100 * table.loc[("12.8 B", "laion"), "filtered"] == pytest.approx(6.64, abs=0.01)
    assert table.loc[("12.8 B", "laion"), "value"] == pytest.approx(0.179, abs=0.001)
    assert (table["value"] < 1).sum() == 19  # all but the CLIP score at the smallest scale


def test_one_model_stands_for_those_of_one_architecture_and_image_size():
    rows = [
        ["a", "X, web", 1, 3],
        ["b", "X, web", 1, 9],
        ["c", "X, web", 2, 1],
        ["d", "X, web", 4, np.nan],
        ["e", "Y", 1, 1],
    ]
    table = training_data.constant_data(pd.DataFrame(columns=list("abcde")), 3, models(rows))
    assert table["model"].to_list() == ["b", "c", "d"]
    assert set(table["data"]) == {"X"}


def test_multilingual_text_towers_and_models_without_results_are_apart():
    rows = [[name, "X", size, 1] for size, name in enumerate("abcdef", start=1)]
    table = models(rows).assign(multilingual_text=["no"] * 3 + ["yes"] * 3)
    found = training_data.constant_data(pd.DataFrame(columns=list("abcdef")), 3, table)
    assert found.groupby("data")["model"].agg("".join).to_dict() == {"X": "abc", "X (multilingual)": "def"}
    with pytest.raises(InputError, match="No training data set has 3 models"):
        training_data.constant_data(pd.DataFrame(columns=list("abde")), 3, table)


def test_a_line_is_found_with_its_slope():
    sizes = pd.DataFrame({"data": ["X"] * 3 + ["Y"] * 3, "model": list("abcdef"), "gflops": [1.0, 10, 100] * 2})
    steps = np.array([0, 1, 2, 0, 1, 2])
    wide = pd.DataFrame(
        [0.3 + 0.01 * steps, 0.1 + 0.05 * steps, 0.1 + 0.03 * steps], index=["en", "de", "fi"], columns=list("abcdef")
    )
    table = training_data.slopes(wide, sizes, scale="accuracy", **FAST).set_index(["data", "of"])
    for data in ("X", "Y", "all"):
        found = [table.loc[(data, of), "value"] for of in ("English", "others", "others - English")]
        assert found == pytest.approx([0.01, 0.04, 0.03])
    # Families drawn: German alone, Finnish alone, or both.
    assert table.loc[("X", "others"), ["family_low", "family_high"]].to_list() == pytest.approx([0.03, 0.05])
    gains = training_data.language_slopes(wide, sizes)
    assert gains["lang"].to_list() == ["de", "fi", "en"]
    assert gains["points"].to_list() == pytest.approx([0.05, 0.03, 0.01])


def test_slopes_and_intervals_are_those_of_statsmodels(wide):
    from statsmodels.formula.api import ols

    sizes = training_data.constant_data(wide)
    others = wide.drop("en")[sizes["model"]].mean().to_numpy()
    english = wide.loc["en", sizes["model"]].to_numpy()
    y = np.log(others / (1 - others)) - np.log(english / (1 - english))
    rows = sizes.assign(y=y, x=np.log10(sizes["parameters_m"]))
    table = (
        training_data.slopes(wide, sizes, "parameters_m", **FAST).query("of == 'others - English'").set_index("data")
    )
    assert table.loc["all", "value"] == pytest.approx(ols("y ~ x + C(data)", rows).fit().params["x"])
    for data in ("LAION-2B-en", "MetaCLIP 400M"):
        line = ols("y ~ x", rows[rows["data"] == data]).fit()
        expected = [line.params["x"], *line.conf_int().loc["x"], line.pvalues["x"]]
        assert table.loc[data, ["value", "ci_low", "ci_high", "p"]].to_list() == pytest.approx(expected)
    assert table["n"].to_dict() == {**sizes["data"].value_counts().to_dict(), "all": len(sizes)}


def test_a_mixed_model_gives_nearly_the_pooled_slope(wide):
    from babelatlas.stats import mixed_model

    sizes = training_data.constant_data(wide)
    others = wide.drop("en")[sizes["model"]].mean().to_numpy()
    rows = sizes.assign(y=np.log(others / (1 - others)), x=np.log10(sizes["gflops"]))
    found = mixed_model.fit(rows, "y", ["x"], {"data": ("data", "")}).coefficients.set_index("name").loc["x", "value"]
    table = training_data.slopes(wide, sizes, **FAST).set_index(["data", "of"])
    assert found == pytest.approx(table.loc[("all", "others"), "value"], abs=0.01)


def test_the_pooled_test_turns_the_signs_of_data_sets(wide):
    table = training_data.slopes(wide, training_data.constant_data(wide), **FAST)
    p = table.loc[table["data"] == "all", "p"].to_numpy()
    assert (p * 2**9 == np.round(p * 2**9)).all()
    assert (table["p_holm"] >= table["p"]).all()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"model": "gone"}, "no results for: gone"),
        ({"data": ["X"] * 6}, "got 1 data set"),
        ({"data": list("XXXXYY")}, "few models for: Y"),
    ],
)
def test_slopes_that_are_not_defined_are_refused(change, told):
    sizes = pd.DataFrame({"data": ["X"] * 3 + ["Y"] * 3, "model": list("abcdef"), "gflops": [1.0, 10, 100] * 2})
    wide = pd.DataFrame(0.5, index=["en", "de", "fi"], columns=list("abcdef"))
    with pytest.raises(InputError, match=told):
        training_data.slopes(wide, sizes.assign(**change), **FAST)


def test_the_size_of_a_model_is_flops_or_parameters(wide):
    with pytest.raises(InputError, match="gflops or parameters_m, got 'layers'"):
        training_data.language_slopes(wide, training_data.constant_data(wide), "layers")
