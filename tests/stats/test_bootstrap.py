"""Statistics: against scipy and statsmodels where they can be, against invariants where not."""

import doctest

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from babelatlas.analysis import error_overlap
from babelatlas.base.errors import InputError
from babelatlas.stats import bootstrap, correlation, regression, rounding, tests

NUMBERS = st.lists(st.floats(0, 1, allow_nan=False).map(lambda x: round(x, 4)), min_size=3, max_size=30)


@pytest.fixture
def pairs():
    rng = np.random.default_rng(1)
    lang = np.repeat([f"l{i}" for i in range(20)], 4)
    x = rng.normal(size=20).repeat(4) + rng.normal(size=80)
    return pd.DataFrame({"lang": lang, "model": list("abcd") * 20, "x": x, "y": x + rng.normal(size=80)})


def test_the_examples_in_the_docstrings_hold():
    assert doctest.testmod(bootstrap).failed == 0


# --- bootstrap -------------------------------------------------------------------------------------


def test_a_resample_draws_as_many_clusters_as_there_are():
    drawn = bootstrap.resample_weights(7, n_resamples=50, seed=3)
    assert drawn.shape == (50, 7)
    assert (drawn.sum(axis=1) == 7).all()


def test_the_interval_of_a_mean_agrees_with_scipy():
    values = np.random.default_rng(0).exponential(size=200)
    ours = bootstrap.mean_interval(values, n_resamples=5000).iloc[0]
    options = {
        "method": "percentile",
        "n_resamples": 5000,
        "rng": 0,
        "confidence_level": bootstrap.expanded_level(0.95, 200),
    }
    theirs = scipy_stats.bootstrap((values,), np.mean, **options).confidence_interval
    assert ours.value == pytest.approx(values.mean())
    assert (ours.ci_low, ours.ci_high) == pytest.approx(tuple(theirs), abs=0.02)


def test_the_interval_covers_the_truth_about_as_often_as_it_says():
    rng = np.random.default_rng(5)
    hits = 0
    for _ in range(300):
        effects = rng.normal(size=30).repeat(3)
        row = bootstrap.mean_interval(effects + rng.normal(size=90), np.arange(30).repeat(3), n_resamples=300).iloc[0]
        hits += row.ci_low <= 0 <= row.ci_high
    assert 0.90 <= hits / 300 <= 0.98


def test_the_interval_of_few_clusters_is_scipys_at_the_expanded_level():
    values = np.random.default_rng(3).normal(size=7)
    ours = bootstrap.mean_interval(values, n_resamples=100_000).iloc[0]
    options = {
        "method": "percentile",
        "n_resamples": 100_000,
        "rng": 0,
        "confidence_level": bootstrap.expanded_level(0.95, 7),
    }
    theirs = scipy_stats.bootstrap((values,), np.mean, **options).confidence_interval
    assert (ours.ci_low, ours.ci_high) == pytest.approx(tuple(theirs), abs=0.02)
    # Student's interval is what it comes near to, were it not for the skewness of these seven values.
    student = scipy_stats.ttest_1samp(values, 0).confidence_interval()
    assert ours.ci_high - ours.ci_low == pytest.approx(student.high - student.low, rel=0.1)


def test_seven_clusters_keep_the_promise_that_plain_percentiles_break():
    held, plain = np.zeros((2, 400), bool)
    for world, values in enumerate(np.random.default_rng(0).normal(size=(400, 7))):
        row = bootstrap.mean_interval(values, n_resamples=1000).iloc[0]
        held[world] = row.ci_low <= 0 <= row.ci_high
        low, high = bootstrap.percentile_interval(bootstrap.resample_weights(7, 1000) @ values / 7)
        plain[world] = low <= 0 <= high
    assert plain.mean() < 0.91 < 0.92 < held.mean() < 0.97


def test_rows_of_one_cluster_are_drawn_together_so_that_copies_add_no_certainty():
    values = np.random.default_rng(2).normal(size=25)
    single = bootstrap.mean_interval(values, np.arange(25))
    copied = bootstrap.mean_interval(values.repeat(10), np.arange(25).repeat(10))
    assert copied[["ci_low", "ci_high"]].to_numpy() == pytest.approx(single[["ci_low", "ci_high"]].to_numpy())


@given(NUMBERS, st.randoms())
@settings(max_examples=40, deadline=None)
def test_the_interval_contains_the_mean_and_ignores_the_order_of_rows(values, random):
    clusters = [f"c{i}" for i in range(len(values))]
    row = bootstrap.mean_interval(values, clusters, n_resamples=200).iloc[0]
    assert row.ci_low - 1e-9 <= row.value <= row.ci_high + 1e-9
    order = list(range(len(values)))
    random.shuffle(order)
    again = bootstrap.mean_interval([values[i] for i in order], [clusters[i] for i in order], n_resamples=200).iloc[0]
    assert again.to_numpy(float) == pytest.approx(row.to_numpy(float))


def test_the_seed_decides_the_interval():
    values = np.arange(10.0)
    first, again, other = (bootstrap.mean_interval(values, n_resamples=100, seed=seed) for seed in (1, 1, 2))
    pd.testing.assert_frame_equal(first, again)
    assert not first.equals(other)


@pytest.mark.parametrize(
    ("values", "clusters", "words"),
    [
        ([], None, "empty"),
        ([0.1, np.nan], None, "1 of 2"),
        ([0.1, 0.2], ["a", "a"], "at least two clusters"),
        ([0.1, 0.2], ["a"], "one cluster per value"),
    ],
)
def test_a_bootstrap_says_in_one_sentence_what_it_cannot_use(values, clusters, words):
    with pytest.raises(InputError, match=words):
        bootstrap.mean_interval(values, clusters)


def test_a_level_in_percent_is_refused():
    with pytest.raises(InputError, match=r"for 95 % give 0\.95"):
        bootstrap.mean_interval([0.1, 0.2], level=95)


# --- means of groups and accuracies ----------------------------------------------------------------


def test_a_group_mean_is_over_languages_and_a_group_of_one_has_no_interval():
    scores = pd.DataFrame(
        {"model": "m", "group": ["low", "low", "English"], "lang": ["si", "lo", "en"], "value": [0.2, 0.4, 0.7]}
    )
    means = bootstrap.group_means(scores).set_index("group")
    assert means.value.to_dict() == pytest.approx({"low": 0.3, "English": 0.7})
    assert means.n.to_dict() == {"low": 2, "English": 1}
    assert means.loc["low", ["ci_low", "ci_high"]].tolist() == pytest.approx([0.2, 0.4])
    assert means.loc["English", ["ci_low", "ci_high"]].isna().all()


def test_a_language_without_a_group_is_not_dropped_in_silence():
    scores = pd.DataFrame({"model": "m", "group": ["low", None], "lang": ["si", "lo"], "value": [0.2, 0.4]})
    with pytest.raises(InputError, match="a group in every row, but 1 of 2"):
        bootstrap.group_means(scores)
    with pytest.raises(InputError, match="needs the column"):
        bootstrap.group_means(scores.drop(columns="group"))


def counts(right, seen, **key):
    base = {"model": "m", "dataset": "d", "labels": "l", "prompts": "p", "lang": "en"} | key
    wnids = [f"n{i}" for i in range(len(right))]
    return pd.DataFrame({**base, "wnid": wnids, "n_correct": np.array(right, float), "n_images": seen})


def test_accuracy_is_the_share_of_images_not_the_mean_over_classes():
    row = bootstrap.accuracy_interval(counts([1, 30], [10, 30])).iloc[0]
    assert row.value == pytest.approx(31 / 40)
    assert row.n == 40


def test_accuracies_of_many_groups_equal_those_of_each_alone():
    rng = np.random.default_rng(0)
    parts = [
        counts(rng.integers(0, 50, size), 50, model=model, lang=lang)
        for model in ("a", "b")
        for lang, size in (("de", 40), ("si", 7), ("zh", 40))
    ]
    together = bootstrap.accuracy_interval(pd.concat(parts).sample(frac=1, random_state=1), n_resamples=200)
    alone = pd.concat([bootstrap.accuracy_interval(part, n_resamples=200) for part in parts])
    pd.testing.assert_frame_equal(together, alone.sort_values(["model", "lang"], ignore_index=True))
    assert (together.ci_low < together.value).all()
    assert (together.value < together.ci_high).all()


def test_the_interval_of_an_accuracy_is_that_of_a_mean_where_classes_are_of_one_size():
    right = np.random.default_rng(3).integers(0, 50, 60)
    ours = bootstrap.accuracy_interval(counts(right, 50)).iloc[0]
    mean = bootstrap.mean_interval(right / 50, [f"{i:02}" for i in range(60)]).iloc[0]
    assert (ours.ci_low, ours.ci_high) == pytest.approx((mean.ci_low, mean.ci_high), abs=0.01)


def test_an_accuracy_by_one_column_keeps_its_names_whole():
    table = bootstrap.accuracy_interval(counts([1, 3], 4).assign(model="picto-en"), by=["model"])
    assert table[["model", "value"]].to_dict("records") == [{"model": "picto-en", "value": 0.5}]


def test_one_class_has_an_accuracy_and_no_interval():
    row = bootstrap.accuracy_interval(counts([3], 4)).iloc[0]
    assert row.value == 0.75
    assert np.isnan(row.ci_low)


def test_where_all_or_no_image_is_right_the_interval_is_exact_over_classes():
    counts = pd.DataFrame({"wnid": [f"n{number}" for number in range(20)], "n_images": 4, "n_correct": 0.0})
    found = bootstrap.accuracy_interval(
        pd.concat([counts.assign(lang="km"), counts.assign(lang="en", n_correct=4.0), counts[:1].assign(lang="la")]),
        ["lang"],
        n_resamples=50,
    ).set_index("lang")

    # Twenty classes without a hit: at the upper end one would see none in 2.5 % of the cases.
    end = 1 - 0.025 ** (1 / 20)
    assert found.loc["km", ["value", "ci_low", "ci_high"]].tolist() == pytest.approx([0, 0, end])
    assert found.loc["en", ["value", "ci_low", "ci_high"]].tolist() == pytest.approx([1, 1 - end, 1])
    assert found.loc["la", ["ci_low", "ci_high"]].isna().all(), "one class alone has no interval"


@pytest.mark.parametrize("right", [0, 1, 7, 12])
def test_an_exact_interval_is_that_of_the_beta_distribution(right):
    low, high = bootstrap.clopper_pearson(right / 12, 12, 0.9)

    assert low == pytest.approx(scipy_stats.beta.ppf(0.05, right, 13 - right) if right else 0)
    assert high == pytest.approx(scipy_stats.beta.ppf(0.95, right + 1, 12 - right) if right < 12 else 1)


@pytest.mark.parametrize(("share", "n"), [(0.5, 3), (1.5, 2), (0, 0), (-0.5, 2)])
def test_an_exact_interval_needs_a_whole_number_of_items(share, n):
    with pytest.raises(InputError, match="a whole number of"):
        bootstrap.clopper_pearson(share, n)


def test_a_class_given_twice_or_more_hits_than_images_stop_an_accuracy():
    with pytest.raises(InputError, match="occur twice"):
        bootstrap.accuracy_interval(pd.concat([counts([1], 2)] * 2))
    with pytest.raises(InputError, match="at most n_images"):
        bootstrap.accuracy_interval(counts([3], 2))


# --- correlations ----------------------------------------------------------------------------------


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


def test_a_regression_line_equals_that_of_scipy_and_lies_in_its_band(pairs):
    band = regression.regression_band(pairs, "x", "y", points=7, n_resamples=200)
    fit = scipy_stats.linregress(pairs.x, pairs.y)
    assert band.y.tolist() == pytest.approx((fit.intercept + fit.slope * band.x).tolist())
    assert band.x.iloc[[0, -1]].tolist() == [pairs.x.min(), pairs.x.max()]
    assert ((band.ci_low <= band.y) & (band.y <= band.ci_high)).all()


# --- fits ------------------------------------------------------------------------------------------


def test_an_exact_log_linear_fall_is_found_exactly():
    classes = np.array([50, 100, 200, 400, 800])
    row = regression.log_linear_fit(classes, 0.9 - 0.08 * np.log2(classes / 50)).iloc[0]
    assert row.per_doubling == pytest.approx(-8)
    assert (row.ci_low, row.ci_high) == pytest.approx((-8, -8))
    assert row.r2 == pytest.approx(1)
    assert row.max_residual == pytest.approx(0, abs=1e-9)


def test_a_noisy_log_linear_fit_equals_ordinary_least_squares():
    # statsmodels 0.15: OLS(accuracy, add_constant(log(classes))).fit(): params, rsquared
    row = regression.log_linear_fit([50, 100, 200, 400, 800], [0.91, 0.80, 0.75, 0.62, 0.58]).iloc[0]
    assert row[["intercept", "slope", "r2"]].tolist() == pytest.approx(
        [1.3740839199410753, -0.12118638343467268, 0.9762036524626453]
    )


def test_the_interval_of_a_slope_covers_the_truth_and_counts_clusters():
    rng = np.random.default_rng(11)
    classes = np.tile([50, 100, 200, 400, 800], 30)
    draw = np.arange(30).repeat(5)
    accuracy = 1.2 - 0.1 * np.log(classes) + 0.02 * rng.normal(size=150)
    row = regression.log_linear_fit(classes, accuracy, draw).iloc[0]
    assert row.ci_low < -10 * np.log(2) < row.ci_high
    assert row.n_clusters == 30


def test_a_fit_needs_two_different_class_counts():
    with pytest.raises(InputError, match="at least two different numbers"):
        regression.log_linear_fit([100, 100], [0.5, 0.6])


# --- paired differences ----------------------------------------------------------------------------


def test_holm_gives_the_numbers_of_statsmodels():
    # statsmodels 0.15: multipletests(p, method="holm")[1]
    p = [0.001, 0.04, 0.03, 0.2, 0.012]
    assert tests.holm(p).tolist() == pytest.approx([0.005, 0.09, 0.09, 0.2, 0.048])


def test_holm_does_not_count_what_was_not_tested():
    assert tests.holm([0.01, np.nan, 0.2]) == pytest.approx([0.02, np.nan, 0.2], nan_ok=True)
    assert tests.holm([np.nan]) == pytest.approx([np.nan], nan_ok=True)
    assert tests.holm([]).tolist() == []
    with pytest.raises(InputError, match=r"from 0 to 1, got 1\.2"):
        tests.holm([0.5, 1.2])


@pytest.mark.parametrize("differences", [[], [np.nan, 1, 2], [np.inf, 1]])
def test_a_sign_flip_test_needs_numbers(differences):
    with pytest.raises(InputError, match="needs differences that are numbers"):
        tests.paired_permutation_test(differences)


def test_a_random_sign_flip_test_counts_the_observed_signs_too():
    # No pattern of so many signs is drawn that comes near: p is 1 of 201, not 0.
    assert tests.paired_permutation_test(np.ones(60), n_permutations=200) == pytest.approx(1 / 201)


def test_the_sign_flip_test_equals_scipys_exact_permutation_test():
    gap = np.array([0.3, -0.1, 0.25, 0.4, 0.05, 0.2, -0.02, 0.31])
    result = scipy_stats.permutation_test(
        (gap, -gap), lambda a, b: a.mean() - b.mean(), permutation_type="samples", n_resamples=np.inf
    )
    assert tests.paired_permutation_test(gap) == pytest.approx(result.pvalue)


def test_a_random_sign_flip_test_is_close_to_the_t_test():
    gap = np.random.default_rng(2).normal(0.3, 1, size=60)
    assert tests.paired_permutation_test(gap) == pytest.approx(scipy_stats.ttest_1samp(gap, 0).pvalue, abs=0.01)


def test_paired_differences_are_of_the_languages_that_both_models_have():
    table = pd.DataFrame(
        {
            "model": ["a"] * 4 + ["b"] * 3,
            "lang": ["de", "fr", "si", "lo", "de", "fr", "si"],
            "value": [0.5, 0.6, 0.3, 0.9, 0.4, 0.4, 0.3],
        }
    )
    row = tests.paired_difference(table).iloc[0]
    assert (row["first"], row["second"], row.n) == ("a", "b", 3)
    assert row.value == pytest.approx(0.1)
    assert row.p == 0.5  # of 8 patterns of signs, 4 lie as far out: both signs of 0.1 and 0.2 alike, 0 either way
    assert row.p_holm == 0.5


def test_differences_are_corrected_for_all_comparisons_made():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"model": list("abc") * 40, "lang": np.arange(20).repeat(6), "group": list("xxxyyy") * 20}
    ).assign(value=rng.random(120))
    found = tests.paired_difference(table, by=["group"])
    assert len(found) == 6
    assert found.p_holm.tolist() == pytest.approx(tests.holm(found.p).tolist())
    baseline = tests.paired_difference(table, by=["group"], pairs=[("a", "b")])
    assert baseline.columns.tolist() == found.columns.tolist()
    assert len(baseline) == 2


def test_an_unknown_model_or_a_language_given_twice_stops_a_paired_difference():
    table = pd.DataFrame({"model": ["a", "b"], "lang": "de", "value": [0.1, 0.2]})
    with pytest.raises(InputError, match="no model 'c'"):
        tests.paired_difference(table, pairs=[("a", "c")])
    with pytest.raises(InputError, match="occur twice"):
        tests.paired_difference(pd.concat([table, table]))
    with pytest.raises(InputError, match="at least two clusters"):
        tests.paired_difference(table)


def test_languages_above_counts_by_hand_and_falls_with_the_threshold():
    scores = pd.DataFrame({"model": "a", "lang": list("wxyz"), "value": [0.1, 0.5, 0.5, 0.9], "n": 10_000})
    table = tests.languages_above(scores, [0.05, 0.3, 0.5, 0.7, 0.95])
    assert table["value"].tolist() == [4, 3, 3, 1, 0]
    assert table["ci_low"].tolist() == [4, 3, 1, 1, 0]  # at 0.5 the two languages on the line fall to either side
    assert table["ci_high"].tolist() == [4, 3, 3, 1, 0]


def test_languages_above_needs_the_number_of_images():
    scores = pd.DataFrame({"model": "a", "lang": ["x"], "value": [0.1], "n": [0]})
    with pytest.raises(InputError, match="number of images"):
        tests.languages_above(scores, [0.5])


# --- ranks and letters -----------------------------------------------------------------------------


def test_the_interval_of_a_rank_in_a_case_done_by_hand():
    # Ranks of a, b, c in five resamples: 1 2 3, 2 1 3, 1 2 3, 1 3 2, 1 2 3.
    drawn = [[0.9, 0.5, 0.1], [0.5, 0.9, 0.1], [0.8, 0.4, 0.2], [0.8, 0.2, 0.4], [0.9, 0.5, 0.1]]
    table = tests.rank_intervals(["a", "b", "c"], [0.8, 0.5, 0.2], drawn, level=0.95).set_index("name")
    assert table[["rank", "rank_low", "rank_high"]].to_numpy().tolist() == [[1, 1, 2], [2, 1, 3], [3, 2, 3]]
    assert table["first"].tolist() == [0.8, 0.2, 0.0]
    narrow = tests.rank_intervals(["a", "b", "c"], [0.8, 0.5, 0.2], drawn, level=0.5).set_index("name")
    assert narrow[["rank_low", "rank_high"]].to_numpy().tolist() == [[1, 1], [2, 2], [3, 3]]


def test_equal_values_leave_their_ranks_open():
    table = tests.rank_intervals(["a", "b", "c"], [0.5, 0.5, 0.1], [[0.5, 0.5, 0.1]] * 3)
    assert table[["name", "rank", "rank_low", "rank_high"]].to_numpy().tolist() == [
        ["a", 1, 1, 2],
        ["b", 1, 1, 2],
        ["c", 3, 3, 3],
    ]


def test_a_name_without_a_value_in_a_resample_stands_last_there():
    table = tests.rank_intervals(["a", "b"], [0.5, 0.4], [[np.nan, 0.1], [0.5, 0.1]]).set_index("name")
    assert table.loc["a", ["rank_low", "rank_high"]].tolist() == [1, 2]


@pytest.mark.parametrize("values", [[0.1], [0.1, np.nan]])
def test_ranks_need_a_number_for_each_name(values):
    with pytest.raises(InputError, match=r"rank|Ranks"):
        tests.rank_intervals(["a", "b"], values, [[0.1, 0.2]])


@given(st.integers(1, 8), st.integers(1, 30), st.integers(0, 10_000))
@settings(max_examples=40, deadline=None)
def test_ranks_are_the_same_for_any_order_of_the_names(n, resamples, seed):
    rng = np.random.default_rng(seed)
    values, drawn = rng.integers(5, size=n) / 5, rng.integers(5, size=(resamples, n)) / 5
    names, order = [f"m{i}" for i in range(n)], rng.permutation(n)
    one = tests.rank_intervals(names, values, drawn)
    other = tests.rank_intervals([names[i] for i in order], values[order], drawn[:, order])
    pd.testing.assert_frame_equal(one, other)
    assert (one["rank_low"] <= one["rank_high"]).all()


def test_resamples_in_which_names_are_equal_are_divided_among_them():
    table = tests.rank_intervals(["a", "b", "c"], [0.5, 0.4, 0.1], [[0.5, 0.5, 0.1], [0.6, 0.5, 0.1]]).set_index("name")
    assert table["first"].to_dict() == {"a": 0.75, "b": 0.25, "c": 0}


@pytest.mark.parametrize(
    ("different", "letters"),
    [
        ([], ["a", "a", "a", "a"]),
        ([("w", "z")], ["a", "ab", "ab", "b"]),
        ([("w", "y"), ("w", "z"), ("x", "z")], ["a", "ab", "bc", "c"]),
        ([(a, b) for a in "wxyz" for b in "wxyz" if a < b], ["a", "b", "c", "d"]),
        ([("z", "w"), ("y", "w"), ("x", "w")], ["a", "b", "b", "b"]),
        ([("w", "x"), ("y", "z")], ["ab", "cd", "ac", "bd"]),
    ],
)
def test_letters_of_cases_done_by_hand(different, letters):
    assert tests.compact_letters("wxyz", different) == letters


@given(st.integers(1, 9), st.integers(0, 2**32 - 1))
@settings(max_examples=150, deadline=None)
def test_names_share_a_letter_just_where_they_do_not_differ(n, seed):
    names = [f"m{i}" for i in range(n)]
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    different = [pair for place, pair in enumerate(pairs) if seed >> (place % 32) & 1]
    letters = dict(zip(names, tests.compact_letters(names, different), strict=True))
    assert all(letters.values())
    for one, other in pairs:
        assert bool(set(letters[one]) & set(letters[other])) == ((one, other) not in different)


def test_letters_need_each_name_once_and_pairs_of_them():
    with pytest.raises(InputError, match="unknown ones in the pairs"):
        tests.compact_letters(["a"], [("a", "b")])
    with pytest.raises(InputError, match="each name once"):
        tests.compact_letters(["a", "a"], [])
    assert tests.compact_letters([], []) == []


def test_wilsons_interval_agrees_with_scipy():
    for right, n in [(0, 5), (3, 7), (50, 50), (123, 400)]:
        theirs = scipy_stats.binomtest(right, n).proportion_ci(method="wilson")
        low, high = bootstrap.wilson([right / n], [n])
        assert (low[0], high[0]) == pytest.approx((theirs.low, theirs.high), abs=1e-12)
    with pytest.raises(InputError, match="at least one case"):
        bootstrap.wilson([0.5], [0])


def test_shared_errors_are_intersection_over_union_on_the_items_that_both_have():
    x, nan = [[1, 1], [1, 0], [0, 0], [0, 1]], np.nan
    y = [[1, 0], [nan, nan], [0, 0], [1, 1]]
    pairs = pd.DataFrame({"first": [0], "second": [1], "kind": "x and y"})
    found = error_overlap.mean_overlap(np.array([x, y]), pairs, n_resamples=200).iloc[0]
    # On items 0, 2 and 3 x errs in a0, b0, b3 and y in a0, a3, b3: 2 of 4. By chance 1 x 2 / 3 + 2 x 1 / 3 of them.
    assert found["value"] == 0.5
    assert found["expected"] == pytest.approx((4 / 3) / (6 - 4 / 3))
    assert found["excess"] == pytest.approx(found["value"] - found["expected"])
    assert found["ci_low"] <= found["value"] <= found["ci_high"]
    assert (found["pairs"], found["n"]) == (1, 4)


def test_independent_errors_overlap_as_expected_and_copied_ones_more():
    errors = np.random.default_rng(0).random((6, 300, 2)) < 0.4
    errors[5] = errors[4]
    pairs = pd.DataFrame({"first": [0, 2, 4], "second": [1, 3, 5], "kind": ["free", "free", "copied"]})
    free, copied = error_overlap.mean_overlap(errors, pairs, n_resamples=500).to_dict("records")
    assert free["excess_low"] < 0 < free["excess_high"]
    assert free["p_holm"] > 0.05
    assert copied["value"] == 1
    assert copied["p_holm"] < 0.05
    assert (free["pairs"], copied["pairs"]) == (2, 1)


def test_a_kind_of_pairs_in_which_nobody_errs_has_no_overlap():
    errors = np.zeros((3, 4, 2))
    errors[2, 0] = 1
    pairs = pd.DataFrame({"first": [0, 0], "second": [1, 2], "kind": ["none", "one"]})
    none, one = error_overlap.mean_overlap(errors, pairs, n_resamples=50).to_dict("records")
    assert none["pairs"] == 0
    assert np.isnan([none["value"], none["expected"], none["p_holm"]]).all()
    assert (one["value"], one["pairs"]) == (0, 1)


def test_many_pairs_of_a_kind_give_the_mean_of_each_alone():
    errors = np.random.default_rng(1).random((40, 5, 2)) < 0.5
    first, second = np.triu_indices(40, 1)
    pairs = pd.DataFrame({"first": first, "second": second, "kind": "all"})
    alone = [(errors[a] & errors[b]).sum() / (errors[a] | errors[b]).sum() for a, b in zip(first, second, strict=True)]
    found = error_overlap.mean_overlap(errors, pairs, n_resamples=20).iloc[0]
    assert found["value"] == pytest.approx(np.mean(alone))


@pytest.mark.parametrize(("shape", "n"), [((2, 1, 2), 1), ((2, 3), 1), ((2, 3, 2), 0)])
def test_shared_errors_need_pairs_and_items(shape, n):
    pairs = pd.DataFrame({"first": [0] * n, "second": [1] * n, "kind": ["x"] * n})
    with pytest.raises(InputError, match="at least two items"):
        error_overlap.mean_overlap(np.zeros(shape), pairs)


@pytest.mark.parametrize("method", correlation.METHODS)
@given(seed=st.integers(0, 10_000), decimals=st.integers(0, 2))
@settings(max_examples=40, deadline=None)
def test_no_numbers_that_round_to_the_printed_ones_are_outside_the_slack(method, seed, decimals):
    rng = np.random.default_rng(seed)
    exact = rng.normal(size=(2, 9)) + 3 * rng.normal(size=9) * (seed % 2)
    x, y = exact.round(decimals)
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return
    half = 0.5 * 10.0**-decimals
    slack = rounding.rounding_slack(x, y, half, half, method)
    known = {"pearson": scipy_stats.pearsonr, "spearman": scipy_stats.spearmanr, "kendall": scipy_stats.kendalltau}
    assert abs(known[method](*exact)[0] - known[method](x, y)[0]) <= slack + 1e-9


def test_a_rank_correlation_without_ties_and_close_numbers_has_no_slack():
    x, y = [1, 2, 3, 4], [2, 1, 3, 9]
    for method in ("spearman", "kendall"):
        assert rounding.rounding_slack(x, y, 0.4, 0.4, method) == 0
    assert rounding.rounding_slack(x, y, 0.4, 0.4, "pearson") > 0
    assert rounding.rounding_slack([1, 1, 2], [1, 2, 3], 0, 0, "kendall") == 0
    with pytest.raises(InputError, match="no correlation 'tau'"):
        rounding.rounding_slack(x, y, 0, 0, "tau")


def test_one_tied_pair_can_move_kendalls_tau_by_one_pair():
    # Five of six pairs agree and one is tied in y: tau-b is 5 / sqrt(6 * 5); resolved it is 4/6 or 6/6.
    value = 5 / np.sqrt(30)
    slack = rounding.rounding_slack([1, 2, 3, 4], [1, 2, 2, 3], 0.1, 0.1, "kendall")
    assert slack == pytest.approx(value - 4 / 6)


@pytest.mark.parametrize("n", [4, 7, 35, 1000])
def test_an_expanded_percentile_interval_of_normal_means_is_students(n):
    # The equation that defines it in the documentation of ExpandProbs (R, resample 0.6).
    quantile = scipy_stats.norm.ppf((1 + bootstrap.expanded_level(0.95, n)) / 2)
    assert quantile * np.sqrt((n - 1) / n) == pytest.approx(scipy_stats.t.ppf(0.975, n - 1), rel=1e-6)
    with pytest.raises(InputError, match="two clusters"):
        bootstrap.expanded_level(0.95, 1)


def test_an_interval_without_clusters_is_of_plain_percentiles_and_of_two_the_whole_range():
    drawn = np.random.default_rng(0).normal(size=(999, 2))
    assert np.array(bootstrap.percentile_interval(drawn)) == pytest.approx(np.quantile(drawn, [0.025, 0.975], axis=0))
    assert np.array(bootstrap.percentile_interval(drawn, n_clusters=2)) == pytest.approx(
        np.array([drawn.min(0), drawn.max(0)])
    )
    quantile = np.sqrt(9 / 8) * scipy_stats.t.ppf(0.95, 8)
    ends = scipy_stats.norm.cdf([-quantile, quantile])
    assert np.array(bootstrap.percentile_interval(drawn, 0.9, 9)) == pytest.approx(np.quantile(drawn, ends, axis=0))


@given(st.integers(2, 60), st.integers(0, 10_000), st.sampled_from([0.5, 0.9, 0.95]))
@settings(max_examples=60, deadline=None)
def test_a_p_value_is_small_just_where_the_expanded_interval_leaves_zero_out(n, seed, level):
    drawn = np.random.default_rng(seed).normal(1.5, 1, size=999)
    low, _ = bootstrap.percentile_interval(drawn, level, n)
    p = bootstrap.expanded_p(min(1.0, 2 * (drawn < 0).mean()), n)
    assert p >= min(1.0, 2 * (drawn < 0).mean()) - 1e-12, "never bolder than the share of resamples"
    if abs(p - (1 - level)) > 0.05:  # between two resamples the quantile is interpolated
        assert (p < 1 - level) == (low > 0)
    with pytest.raises(InputError, match="two clusters"):
        bootstrap.expanded_p(0.5, 1)


def test_an_interval_is_never_shorter_than_plain_percentiles_and_with_many_clusters_the_same():
    drawn = np.random.default_rng(1).normal(size=5000)
    plain = np.array(bootstrap.percentile_interval(drawn))
    widths = [np.ptp(np.array(bootstrap.percentile_interval(drawn, n_clusters=n))) for n in (3, 7, 16, 100, 10_000)]
    assert sorted(widths, reverse=True) == widths
    assert widths[-1] == pytest.approx(np.ptp(plain), rel=1e-3)


def test_every_interval_of_a_bootstrap_over_clusters_allows_for_their_number(monkeypatch):
    asked, expanded = [], bootstrap.expanded_level
    monkeypatch.setattr(bootstrap, "expanded", lambda level, n: asked.append(n) or expanded(level, n))
    rng = np.random.default_rng(0)
    lang = np.repeat([f"l{n}" for n in range(9)], 2)
    table = pd.DataFrame({"lang": lang, "x": rng.normal(size=18), "value": rng.normal(size=18)})
    table = table.assign(model=["a", "b"] * 9, group="all")
    calls = {
        "bootstrap": lambda: bootstrap.mean_interval(table["value"], lang, 50),
        "group_means": lambda: bootstrap.group_means(table, ["group"], n_resamples=50),
        "accuracy_interval": lambda: bootstrap.accuracy_interval(
            counts([1, 2, 3, 1, 2, 3, 1, 2, 3], 4), n_resamples=50
        ),
        "paired_difference": lambda: tests.paired_difference(table, n_resamples=50),
        "correlation": lambda: correlation.correlate(table, "x", "value", methods=["pearson"], n_resamples=50),
        "regression_band": lambda: regression.regression_band(table, "x", "value", n_resamples=50),
        "log_linear_fit": lambda: regression.log_linear_fit([2, 4] * 9, table["value"], lang, 50),
        "rank_intervals": lambda: tests.rank_intervals(["a"], [0.5], rng.random((50, 1)), n_clusters=9),
    }
    for name, call in calls.items():
        asked.clear()
        call()
        assert asked, name
        assert set(asked) == {9}, name
    asked.clear()
    correlation.correlate(table, "x", "value", methods=["spearman", "kendall"], n_resamples=50)
    assert not asked, "correlations of ranks have plain percentiles"
    tests.languages_above(table.assign(value=0.5, n=4), [0.5], n_resamples=50)
    assert not asked, "images drawn from a binomial distribution are no clusters"


def test_a_sum_of_means_is_written_out_and_has_about_welchs_interval():
    rng = np.random.default_rng(0)
    one, other = rng.normal(size=9), 3 * rng.normal(size=15)
    value, low, high = bootstrap.sum_of_means([one, other, [2.0]], [1, -1, 0.5], n_resamples=20_000)
    assert value == pytest.approx(one.mean() - other.mean() + 1)
    welch = scipy_stats.ttest_ind(one, other, equal_var=False).confidence_interval()
    assert (low - 1, high - 1) == pytest.approx((welch.low, welch.high), abs=0.15)
    low_one, high_one = bootstrap.sum_of_means([one], [1], n_resamples=20_000)[1:]
    student = scipy_stats.ttest_1samp(one, 0).confidence_interval()
    assert (low_one, high_one) == pytest.approx((student.low, student.high), abs=0.15)


def test_a_sum_of_means_covers_as_often_as_it_says_with_few_values():
    rng = np.random.default_rng(1)
    held = 0
    for seed in range(300):
        samples = [rng.normal(size=n) for n in (4, 6, 9)]
        _, low, high = bootstrap.sum_of_means(samples, [1, -1, 0.5], n_resamples=400, seed=seed)
        held += low <= 0 <= high
    assert 0.91 <= held / 300 <= 0.98


def test_samples_of_one_size_are_drawn_apart_and_bad_ones_refused():
    same = [0.0, 1.0, 5.0]
    assert bootstrap.sum_of_means([same, same], [1, -1])[2] > 1
    assert bootstrap.sum_of_means([[1.0], [3.0]], [1, -1]) == (-2, -2, -2)
    for samples in ([], [[]], [[1.0, np.nan]]):
        with pytest.raises(InputError, match="needs samples of numbers"):
            bootstrap.sum_of_means(samples, [1] * len(samples))


def test_text_and_missing_keys_are_refused_where_numbers_are_needed():
    scores = pd.DataFrame({"model": ["a", None], "value": [0.5, 0.4], "n": 50})
    with pytest.raises(InputError, match="model in every row, but 1 of 2"):
        tests.languages_above(scores, [0.5])
    with pytest.raises(InputError, match="'value' holds other things"):
        tests.languages_above(scores.assign(value="high"), [0.5])
