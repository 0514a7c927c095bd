"""Correlations in parts: against regressions and rows written out, and against R where its numbers were seen."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from babelatlas.base.errors import InputError
from babelatlas.stats import bootstrap, correlation

NUMBERS = st.lists(st.floats(0, 1, allow_nan=False).map(lambda x: round(x, 4)), min_size=3, max_size=30)


@pytest.fixture
def table():
    """Seven languages of four models, with tied values, and a row that is missing."""
    rng = np.random.default_rng(2)
    rows = pd.DataFrame([(lang, model) for lang in "abcdefg" for model in "klmn"], columns=["lang", "model"])
    better, easier = rng.normal(size=4).repeat(1), rng.normal(size=7)
    base = np.tile(better, 7) + easier.repeat(4)
    for name in "xyz":
        rows[name] = (base + rng.normal(size=28)).round(1)
    return rows.drop(index=9).reset_index(drop=True)


def centred(rows, values, by):
    return rows[values] - rows.groupby(by)[values].transform("mean")


def residuals(values, covariates):
    design = np.column_stack([np.ones(len(values)), covariates])
    return values - design @ np.linalg.lstsq(design, values, rcond=None)[0]


def drawn_rows(table, weights):
    return table.loc[table.index.repeat(weights.astype(int))].reset_index(drop=True)


# --- the bootstrap ---------------------------------------------------------------------------------


def test_two_columns_of_clusters_are_drawn_apart_and_a_row_has_the_product(table):
    drawn, least = correlation.crossed_weights(table, ["lang", "model"], 200)
    assert least == 4
    one, many = correlation.crossed_weights(table, "lang", 200)
    assert many == 7
    for resample, languages in zip(drawn, one, strict=True):
        for model, part in table.groupby("model"):
            times = {resample[row] / languages[row] for row in part.index if languages[row]}
            assert len(times) == 1, model
    # Models are drawn as often as there are models: the mean weight is one.
    assert drawn.mean() == pytest.approx(1, abs=0.05)


def test_two_columns_with_as_many_clusters_are_not_drawn_alike():
    square = pd.DataFrame([(a, b) for a in "pqr" for b in "pqr"], columns=["lang", "model"])
    drawn, _ = correlation.crossed_weights(square, ["lang", "model"], 50)
    diagonal = drawn[:, [0, 4, 8]]
    assert not np.array_equal(np.sqrt(diagonal).round(), np.sqrt(diagonal))


def test_a_column_of_one_cluster_or_none_cannot_be_drawn(table):
    with pytest.raises(InputError, match="at least two clusters"):
        correlation.crossed_weights(table.assign(model="k"), ["lang", "model"])
    with pytest.raises(InputError, match="say what is drawn, got none"):
        correlation.crossed_weights(table, [])
    with pytest.raises(InputError, match="say what is drawn, got language; the table has lang"):
        correlation.correlate(table, "x", "y", "language", methods=correlation.METHODS)


def test_intervals_over_languages_and_models_are_wider_where_models_differ():
    rng = np.random.default_rng(0)
    rows = pd.DataFrame([(lang, model) for lang in range(30) for model in range(5)], columns=["lang", "model"])
    for name in "xy":
        rows[name] = np.tile(3 * rng.normal(size=5), 30) + rng.normal(size=150)
    width = {
        names: correlation.correlate(rows, "x", "y", list(names), methods=["pearson"]).eval("ci_high - ci_low")[0]
        for names in (("lang",), ("model",), ("lang", "model"))
    }
    assert width["lang", "model"] > 3 * width[("lang",)]
    assert width["lang", "model"] == pytest.approx(width[("model",)], rel=0.2)


def test_columns_of_clusters_change_the_interval_alone(table):
    options = {"methods": correlation.METHODS, "n_resamples": 100, "seed": 3}
    plain = correlation.correlate(table, "x", "y", **options)
    twice = correlation.correlate(table.assign(copy=table["lang"]), "x", "y", ["lang", "copy"], **options)
    assert plain["value"].tolist() == pytest.approx(twice["value"].tolist())


# --- within groups ---------------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["lang", "model"])
def test_within_groups_means_deviations_ranks_and_pairs_of_the_group(table, by):
    found = (
        correlation.correlate(table, "x", "y", within=by, n_resamples=10, methods=correlation.METHODS)
        .set_index("method")
        .value
    )
    ranked = table.assign(**table.groupby(by)[["x", "y"]].rank())
    assert found["pearson"] == pytest.approx(scipy_stats.pearsonr(*(centred(table, v, by) for v in "xy"))[0])
    assert found["spearman"] == pytest.approx(scipy_stats.pearsonr(*(centred(ranked, v, by) for v in "xy"))[0])
    agree = untied_x = untied_y = 0
    for _, part in table.groupby(by):
        for one in part.itertuples():
            for other in part.itertuples():
                signs = np.sign(one.x - other.x), np.sign(one.y - other.y)
                agree, untied_x, untied_y = (
                    agree + signs[0] * signs[1],
                    untied_x + signs[0] ** 2,
                    untied_y + signs[1] ** 2,
                )
    assert found["kendall"] == pytest.approx(agree / np.sqrt(untied_x * untied_y))


@pytest.mark.parametrize("method", correlation.METHODS)
def test_within_groups_a_resample_by_weights_is_a_resample_by_rows(table, method):
    weights, _ = correlation.crossed_weights(table, ["lang", "model"], 6, seed=5)
    columns = [table[name].to_numpy() for name in "xy"]
    found = correlation._correlations(columns, weights, method, [correlation._parts(table, "model")])
    for value, row in zip(found, weights, strict=True):
        copies = drawn_rows(table, row)
        if copies.model.nunique() < 2:
            continue  # one group alone is no group, and the check below would not say so
        slow = correlation.correlate(copies, "x", "y", within="model", methods=[method], n_resamples=1).value[0]
        assert value == pytest.approx(slow)


def test_within_models_and_languages_at_once_is_the_residual_of_both(table):
    found = correlation.correlate(table, "x", "y", within=["lang", "model"], methods=["pearson"], n_resamples=50)
    dummies = pd.get_dummies(table[["lang", "model"]], dtype=float).to_numpy()
    slow = scipy_stats.pearsonr(*(residuals(table[name].to_numpy(), dummies) for name in "xy"))[0]
    assert found.value[0] == pytest.approx(slow)
    assert found.ci_low[0] < slow < found.ci_high[0]
    with pytest.raises(InputError, match="for the method pearson alone"):
        correlation.correlate(table, "x", "y", within=["lang", "model"], methods=correlation.METHODS)


def test_two_way_deviations_of_a_resample_are_those_of_its_rows(table):
    weights, _ = correlation.crossed_weights(table, "lang", 4, seed=1)
    parts = [correlation._parts(table, name) for name in ("lang", "model")]
    columns = [table[name].to_numpy() for name in "xy"]
    found = correlation._correlations(columns, weights, "pearson", parts)
    for value, row in zip(found, weights, strict=True):
        copies = drawn_rows(table, row)
        dummies = pd.get_dummies(copies[["lang", "model"]], dtype=float).to_numpy()
        slow = scipy_stats.pearsonr(*(residuals(copies[name].to_numpy(), dummies) for name in "xy"))[0]
        assert value == pytest.approx(slow, abs=1e-6)


def test_a_better_model_in_all_languages_agrees_between_models_and_not_within_them():
    rng = np.random.default_rng(1)
    rows = pd.DataFrame([(lang, model) for lang in range(40) for model in range(6)], columns=["lang", "model"])
    for name in "xy":
        rows[name] = 5.0 * rows.model + rng.normal(size=240)
    options = {"methods": ["pearson"], "n_resamples": 300}
    assert correlation.correlate(rows, "x", "y", **options).value[0] > 0.95
    inside = correlation.correlate(rows, "x", "y", within="model", **options).iloc[0]
    assert inside.ci_low < 0 < inside.ci_high
    assert correlation.correlate(rows, "x", "y", within="lang", **options).value[0] > 0.95
    means = correlation.correlate_means(rows, "x", "y", "model", **options).iloc[0]
    assert means.value > 0.99
    assert means.n == means.n_clusters == 6


def test_what_does_not_vary_within_groups_has_no_correlation_there(table):
    with pytest.raises(InputError, match="within each model is not defined"):
        correlation.correlate(
            table.assign(x=table.model.map(ord)), "x", "y", within="model", methods=correlation.METHODS
        )
    with pytest.raises(InputError, match="each has a single row"):
        correlation.correlate(table.assign(row=table.index), "x", "y", within="row", methods=correlation.METHODS)


# --- given covariates ------------------------------------------------------------------------------


def yeast():
    """The example data of R's package ppcor."""
    hl = [7, 15, 19, 15, 21, 22, 57, 15, 20, 18]
    disp = [0.000, 0.964, 0.000, 0.000, 0.921, 0.000, 0.000, 1.006, 0.000, 1.011]
    deg = [9, 2, 3, 4, 1, 3, 1, 3, 6, 1]
    bc = [1.78e-02, 1.05e-06, 1.37e-05, 7.18e-03, 0, 0, 0, 4.48e-03, 2.10e-06, 0]
    return pd.DataFrame({"lang": range(10), "hl": hl, "disp": disp, "deg": deg, "BC": bc})


@pytest.mark.parametrize(
    ("x", "y", "others", "printed"),
    [
        ("hl", "disp", ["deg", "BC"], -0.7647345),
        ("hl", "deg", ["disp", "BC"], -0.1367596),
        ("hl", "BC", ["disp", "deg"], -0.7860646),
        ("disp", "deg", ["hl", "BC"], -0.4845966),
        ("disp", "BC", ["hl", "deg"], -0.4506273),
    ],
)
def test_partial_rank_correlations_are_those_of_ppcor(x, y, others, printed):
    # Kim (2015), CSAM 22, 665-674: the output of pcor(x = y.data, method = "spearman"), R package ppcor.
    found = correlation.correlate(yeast(), x, y, given=others, methods=["spearman"], n_resamples=10).value[0]
    assert found == pytest.approx(printed, abs=5e-8)


@pytest.mark.parametrize("names", [["z"], ["z", "w"]])
def test_a_partial_correlation_is_that_of_the_residuals_of_regressions(table, names):
    table = table.assign(w=table.lang.map(ord) + 0.1 * table.x)
    weights, _ = correlation.crossed_weights(table, "lang", 5, seed=2)
    for method in ("pearson", "spearman"):
        found = correlation._correlations([table[v].to_numpy() for v in ["x", "y", *names]], weights, method, [])
        for value, row in zip(found, weights, strict=True):
            copies = drawn_rows(table, row)[["x", "y", *names]]
            copies = copies.rank() if method == "spearman" else copies
            left = [residuals(copies[v].to_numpy(), copies[names].to_numpy()) for v in "xy"]
            assert value == pytest.approx(scipy_stats.pearsonr(*left)[0], abs=1e-6)


def test_kendalls_partial_tau_follows_from_three_taus(table):
    found = correlation.correlate(table, "x", "y", given="z", methods=["kendall"], n_resamples=10).value[0]
    xy, xz, yz = (scipy_stats.kendalltau(table[a], table[b])[0] for a, b in ("xy", "xz", "yz"))
    assert found == pytest.approx((xy - xz * yz) / np.sqrt((1 - xz**2) * (1 - yz**2)))


def test_a_common_cause_leaves_nothing_behind():
    rng = np.random.default_rng(3)
    cause = rng.normal(size=300)
    rows = pd.DataFrame({"lang": range(300), "x": cause + rng.normal(size=300), "y": cause + rng.normal(size=300)})
    rows["cause"] = cause
    for method in correlation.METHODS:
        plain = correlation.correlate(rows, "x", "y", methods=[method], n_resamples=100).iloc[0]
        given_it = correlation.correlate(rows, "x", "y", given="cause", methods=[method], n_resamples=100).iloc[0]
        assert plain.ci_low > 0
        assert abs(given_it.value) < plain.value / 3


def test_a_covariate_must_vary_where_it_is_used(table):
    level = table.model.map(ord)
    with pytest.raises(InputError, match="given level is not defined"):
        correlation.correlate(
            table.assign(level=level), "x", "y", within="model", given="level", methods=correlation.METHODS
        )
    with pytest.raises(InputError, match="same level"):
        correlation.correlate(table.assign(level=1), "x", "y", given="level", methods=correlation.METHODS)
    with pytest.raises(InputError, match="given z and w is not defined"):
        correlation.correlate(table.assign(w=2 * table.z), "x", "y", given=["z", "w"], methods=["pearson"])


def test_missing_numbers_and_unknown_methods_stop_a_correlation(table):
    with pytest.raises(InputError, match="1 of 27 in column 'z'"):
        correlation.correlate(
            table.assign(z=table.z.where(table.index > 0)), "x", "y", given="z", methods=correlation.METHODS
        )
    with pytest.raises(InputError, match="no correlation 'tau'"):
        correlation.correlate(table, "x", "y", methods=["tau"])
    with pytest.raises(InputError, match="model in every row, but 1 of 27"):
        correlation.correlate(
            table.assign(model=table.model.where(table.index > 0)),
            "x",
            "y",
            within="model",
            methods=correlation.METHODS,
        )
    with pytest.raises(InputError, match="empty"):
        correlation.correlate_means(table.head(0), "x", "y", "model")


# --- two correlations ------------------------------------------------------------------------------


def test_steigers_z_is_that_of_cocor():
    # The test of R's package cocor, steiger1980, with Steiger's Case A and the program depcor.
    assert round(correlation.steiger(0.4, 0.5, 0.1, 103)[0], 7) == -0.8887185
    assert [round(number, 4) for number in correlation.steiger(0.3, 0.4, 0.5, 100)] == [-1.0718, 0.2838]


@given(st.floats(-0.9, 0.9), st.floats(-0.9, 0.9), st.floats(-0.99, 0.99), st.integers(5, 300))
@settings(max_examples=60, deadline=None)
def test_changing_the_sides_changes_the_sign_of_a_test_alone(first, second, angle, n):
    # Any third correlation between the bounds that the first two leave.
    third = first * second + angle * np.sqrt((1 - first**2) * (1 - second**2))
    one, other = (correlation.steiger(*pair, third, n) for pair in ((first, second), (second, first)))
    assert one[0] == pytest.approx(-other[0], abs=1e-9)
    assert 0 <= one[1] <= 1
    assert one[1] == pytest.approx(other[1])


def test_correlations_that_no_data_have_are_refused():
    with pytest.raises(InputError, match="No three measures"):
        correlation.steiger(0.9, -0.9, 0.9, 50)
    with pytest.raises(InputError, match="No three measures"):
        correlation.steiger(1.0, 0.2, 0.2, 50)
    with pytest.raises(InputError, match="at least four rows"):
        correlation.steiger(0.5, 0.4, 0.3, 3)


def test_of_independent_rows_the_bootstrap_and_steiger_say_the_same():
    rng = np.random.default_rng(4)
    x = rng.normal(size=400)
    rows = pd.DataFrame(
        {"lang": range(400), "x": x, "good": x + rng.normal(size=400), "bad": x + 1.3 * rng.normal(size=400)}
    )
    found = correlation.compare_correlations(rows, "x", "good", "bad", n_resamples=4000).set_index("method")
    pearson = found.loc["pearson"]
    assert pearson["first"] == pytest.approx(scipy_stats.pearsonr(rows.x, rows.good)[0])
    assert pearson["value"] == pytest.approx(pearson["first"] - pearson["second"])
    assert pearson["p"] == pytest.approx(pearson["p_steiger"], abs=0.03)
    assert found.loc[["spearman", "kendall"], "z"].isna().all()
    assert ((found.ci_low < found.value) & (found.value < found.ci_high)).all()


def test_copies_of_rows_make_steiger_certain_and_leave_the_bootstrap_as_it_is():
    rng = np.random.default_rng(6)
    x = rng.normal(size=30)
    rows = pd.DataFrame(
        {"lang": range(30), "x": x, "good": x + rng.normal(size=30), "bad": x + 1.4 * rng.normal(size=30)}
    )
    copies = pd.concat([rows] * 10, ignore_index=True)
    one = correlation.compare_correlations(rows, "x", "good", "bad", methods=["pearson"]).iloc[0]
    ten = correlation.compare_correlations(copies, "x", "good", "bad", methods=["pearson"]).iloc[0]
    assert (ten.p, ten.ci_low, ten.ci_high) == pytest.approx((one.p, one.ci_low, one.ci_high))
    assert ten.p_steiger < one.p_steiger / 2


@pytest.mark.parametrize("clusters", ["lang", ["lang", "model"]])
def test_the_least_p_is_that_of_resamples_that_all_agree_and_p_fits_the_interval(clusters):
    rng = np.random.default_rng(8)
    rows = pd.DataFrame([(lang, model) for lang in range(12) for model in range(6)], columns=["lang", "model"])
    x = rng.normal(size=72)
    rows = rows.assign(x=x, good=x + 0.01 * rng.normal(size=72), bad=rng.normal(size=72))
    found = correlation.compare_correlations(rows, "x", "good", "bad", clusters, n_resamples=19).set_index("method")
    ranks = found.loc[["spearman", "kendall"]]
    assert (ranks.p == 2 / 20).all()
    assert (found.p == found.least).all()
    if clusters == "lang":
        assert found.loc["pearson", "least"] == pytest.approx(bootstrap.expanded_p(2 / 20, 12))
    for noise in (0.8, 1.0, 1.3):
        near = rows.assign(good=x + noise * rng.normal(size=72), bad=x + 1.6 * rng.normal(size=72))
        for row in correlation.compare_correlations(near, "x", "good", "bad", clusters, n_resamples=4000).itertuples():
            if abs(row.p - 0.05) > 0.005:
                assert (row.p < 0.05) == (row.ci_low > 0 or row.ci_high < 0)


def test_a_column_of_text_has_no_correlation(table):
    with pytest.raises(InputError, match="'x' holds other things"):
        correlation.correlate(table.assign(x="high"), "x", "y", methods=correlation.METHODS)


def test_two_equal_measures_do_not_differ(table):
    found = correlation.compare_correlations(
        table.assign(again=table.y), "x", "y", "again", within="model", n_resamples=50
    )
    assert (found.value == 0).all()
    assert (found.p == 1).all()
    assert found.z.isna().all()


def test_correlations_equal_those_of_scipy(pairs):
    found = correlation.correlate(pairs, "x", "y", methods=correlation.METHODS).set_index("method").value
    assert found["kendall"] == pytest.approx(scipy_stats.kendalltau(pairs.x, pairs.y)[0])
    assert found["pearson"] == pytest.approx(scipy_stats.pearsonr(pairs.x, pairs.y)[0])
    assert found["spearman"] == pytest.approx(scipy_stats.spearmanr(pairs.x, pairs.y)[0])


def test_a_resample_by_weights_equals_a_resample_by_rows(pairs):
    pairs = pairs.round(0)  # so that ranks are tied
    drawn = bootstrap.resample_weights(len(pairs), 5, seed=4)
    x, y = pairs.x.to_numpy(), pairs.y.to_numpy()
    pearson = correlation.weighted_pearson(x, y, drawn)
    spearman = correlation.weighted_pearson(correlation.mid_ranks(x, drawn), correlation.mid_ranks(y, drawn), drawn)
    kendall = correlation.weighted_kendall(x, y, drawn)
    for row, times in enumerate(drawn.astype(int)):
        copies = pairs.loc[pairs.index.repeat(times)]
        assert pearson[row] == pytest.approx(scipy_stats.pearsonr(copies.x, copies.y)[0])
        assert spearman[row] == pytest.approx(scipy_stats.spearmanr(copies.x, copies.y)[0])
        assert kendall[row] == pytest.approx(scipy_stats.kendalltau(copies.x, copies.y)[0])


def test_kendall_by_clusters_equals_kendall_by_rows_however_many_rows_are_compared_at_a_time(pairs, monkeypatch):
    pairs = pairs.round(0)
    index = pairs.lang.astype("category").cat.codes.to_numpy()
    drawn = bootstrap.resample_weights(20, 5, seed=4)
    x, y = pairs.x.to_numpy(), pairs.y.to_numpy()
    whole = correlation.weighted_kendall(x, y, drawn, index)
    assert whole == pytest.approx(correlation.weighted_kendall(x, y, drawn[:, index]))
    monkeypatch.setattr(bootstrap, "max", lambda *_: 7, raising=False)  # the larger of 1 and what memory allows
    assert correlation.weighted_kendall(x, y, drawn, index) == pytest.approx(whole)
    assert correlation.weighted_kendall(x, y, drawn[:, index]) == pytest.approx(whole)
    assert np.isnan(correlation.weighted_kendall(x, y, np.eye(80)[:1])).all(), "a resample of one row alone"


@given(st.integers(2, 40), st.integers(1, 9), st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_pairs_of_many_rows_are_counted_as_each_with_each(n, different, seed):
    rng = np.random.default_rng(seed)
    x, y = rng.integers(0, different, (2, n)).astype(float)
    drawn, index = rng.integers(0, 4, (5, n)).astype(float), rng.integers(0, 3, n)
    for weights, clusters in ((drawn, None), (drawn[:, :3], index) if n > 2 else (drawn, None)):
        few = correlation._agreeing_pairs(x, y, weights, clusters)
        assert (correlation._agreeing_of_many(x, y, weights, clusters) == few).all()


def test_kendall_of_many_rows_is_that_of_scipy_and_takes_no_square_of_them():
    x = np.random.default_rng(0).normal(size=20_000).round(3)
    y = (x + np.random.default_rng(1).normal(size=len(x))).round(2)
    found = correlation.weighted_kendall(x, y, np.ones((1, len(x))))
    assert found[0] == pytest.approx(scipy_stats.kendalltau(x, y)[0], abs=1e-12)


def test_kendall_of_hollander_and_wolfe_is_that_of_cor_test():
    # Table 1 on page 188 and the output of cor.test(x, y, method = "kendall"), as B. Habing's course prints them
    # (www.stat.sc.edu/~habing/courses/518splus3F98.html).
    x = [44.4, 45.9, 41.9, 53.3, 44.7, 44.1, 50.7, 45.2, 60.1]
    table = pd.DataFrame({"lang": range(9), "x": x, "y": [2.6, 3.1, 2.5, 5.0, 3.6, 4.0, 5.2, 2.8, 3.8]})
    found = correlation.correlate(table, "x", "y", methods=["pearson", "kendall"], n_resamples=10).value
    assert found.tolist() == pytest.approx([0.5711815, 0.4444444], abs=1e-7)


def test_the_order_of_rows_does_not_matter_to_a_correlation(pairs):
    first = correlation.correlate(pairs, "x", "y", methods=correlation.METHODS, n_resamples=200)
    shuffled = pairs.sample(frac=1, random_state=0)
    second = correlation.correlate(shuffled, "x", "y", methods=correlation.METHODS, n_resamples=200)
    pd.testing.assert_frame_equal(first, second)


def test_clusters_widen_the_interval_of_a_correlation_whose_rows_hang_together():
    rng = np.random.default_rng(7)
    lang = np.arange(15).repeat(10)
    table = pd.DataFrame(
        {"lang": lang, "row": np.arange(150), "x": rng.normal(size=15)[lang], "y": rng.normal(size=15)[lang]}
    )
    table[["x", "y"]] += 0.1 * rng.normal(size=(150, 2))
    width = {
        cluster: correlation.correlate(table, "x", "y", cluster, ["pearson"]).eval("ci_high - ci_low")[0]
        for cluster in ("lang", "row")
    }
    assert width["lang"] > 2 * width["row"]


@given(NUMBERS, st.floats(0.1, 10), st.floats(-5, 5))
@settings(max_examples=30, deadline=None)
def test_a_straight_line_correlates_perfectly(values, slope, intercept):
    values = np.unique(values)
    if len(values) < 3:
        return
    table = pd.DataFrame({"lang": np.arange(len(values)), "x": values, "y": intercept + slope * values})
    found = correlation.correlate(table, "x", "y", methods=correlation.METHODS, n_resamples=50)
    assert found[["value", "ci_low", "ci_high"]].to_numpy() == pytest.approx(1)


def test_constant_missing_or_absent_data_stop_a_correlation(pairs):
    with pytest.raises(InputError, match="every row has the same y, 1"):
        correlation.correlate(pairs.assign(y=1), "x", "y")
    with pytest.raises(InputError, match="1 of 80 in column 'x'"):
        correlation.correlate(pairs.assign(x=pairs.x.where(pairs.index > 0)), "x", "y")
    with pytest.raises(InputError, match="empty"):
        correlation.correlate(pairs.head(0), "x", "y")
    with pytest.raises(InputError, match="at least two clusters to draw from, got only 'de'"):
        correlation.correlate(pairs.assign(lang="de"), "x", "y")
    with pytest.raises(InputError, match="no correlation 'kendal': expected one of pearson, spearman, kendall"):
        correlation.correlate(pairs, "x", "y", methods=["kendal"])
    with pytest.raises(InputError, match="needs the column"):
        correlation.correlate(pairs, "x", "z")


def test_leaving_one_out_is_the_correlation_of_the_rest(pairs):
    found = correlation.leave_one_out(pairs, "model", "x", "y", methods=["pearson"], n_resamples=50).set_index(
        "left_out"
    )
    rest = pairs[pairs.model != "b"]
    assert found.index.tolist() == list("abcd")
    assert found.value["b"] == pytest.approx(scipy_stats.pearsonr(rest.x, rest.y)[0])
    assert found.change["b"] == pytest.approx(found.value["b"] - scipy_stats.pearsonr(pairs.x, pairs.y)[0])


def test_a_mean_in_general_resamples_models_as_well_as_languages():
    rng = np.random.default_rng(3)
    lang, model = np.repeat([f"l{n}" for n in range(30)], 8), np.tile(list("abcdefgh"), 30)
    value = rng.normal(size=8)[np.arange(240) % 8] + 0.2 * rng.normal(size=30).repeat(8)
    table = pd.DataFrame({"lang": lang, "model": model, "value": value})
    both = correlation.crossed_mean(table, "value")
    alone = correlation.crossed_mean(table, "value", ["lang"])
    assert both[0] == alone[0] == pytest.approx(value.mean())
    # Eight models with a standard deviation of about 1: Student's interval of their means, at least.
    models = table.groupby("model")["value"].mean()
    reach = 2.365 * models.std() / np.sqrt(8)
    assert both[2] - both[1] == pytest.approx(2 * reach, rel=0.15)
    assert alone[2] - alone[1] < (both[2] - both[1]) / 4
