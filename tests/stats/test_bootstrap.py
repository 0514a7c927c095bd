"""Intervals: against scipy where it can be, against invariants where not."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from babelatlas.base.errors import InputError
from babelatlas.stats import (
    bootstrap,
    correlation,
    permutation,
    ranks,
    regression,
    thresholds,
)

NUMBERS = st.lists(
    st.floats(0, 1, allow_nan=False).map(lambda x: round(x, 4)), min_size=3, max_size=30
)


def test_a_resample_draws_as_many_clusters_as_there_are():
    drawn = bootstrap.resample_weights(7, n_resamples=50, seed=3)
    assert drawn.shape == (50, 7)
    assert (drawn.sum(axis=1) == 7).all()


def test_the_interval_of_few_clusters_is_scipys_at_the_expanded_level():
    values = np.random.default_rng(3).normal(size=7)
    ours = bootstrap.mean_interval(values, n_resamples=100_000).iloc[0]
    options = {"method": "percentile", "n_resamples": 100_000, "rng": 0}
    options["confidence_level"] = bootstrap.expanded_level(0.95, 7)
    theirs = scipy_stats.bootstrap((values,), np.mean, **options).confidence_interval
    assert (ours.ci_low, ours.ci_high) == pytest.approx(tuple(theirs), abs=0.02)
    # Student's interval is what it comes near to, were it not for the skewness of these
    # seven values.
    student = scipy_stats.ttest_1samp(values, 0).confidence_interval()
    assert ours.ci_high - ours.ci_low == pytest.approx(
        student.high - student.low, rel=0.1
    )


def test_seven_clusters_keep_the_promise_that_plain_percentiles_break():
    held, plain = np.zeros((2, 400), bool)
    for world, values in enumerate(np.random.default_rng(0).normal(size=(400, 7))):
        row = bootstrap.mean_interval(values, n_resamples=1000).iloc[0]
        held[world] = row.ci_low <= 0 <= row.ci_high
        low, high = bootstrap.percentile_interval(
            bootstrap.resample_weights(7, 1000) @ values / 7
        )
        plain[world] = low <= 0 <= high
    assert plain.mean() < 0.91 < 0.92 < held.mean() < 0.97


def test_rows_of_one_cluster_are_drawn_together_so_that_copies_add_no_certainty():
    values = np.random.default_rng(2).normal(size=25)
    single = bootstrap.mean_interval(values, np.arange(25))
    copied = bootstrap.mean_interval(values.repeat(10), np.arange(25).repeat(10))
    assert copied[["ci_low", "ci_high"]].to_numpy() == pytest.approx(
        single[["ci_low", "ci_high"]].to_numpy()
    )


@given(NUMBERS, st.randoms())
@settings(max_examples=40, deadline=None)
def test_the_interval_contains_the_mean_and_ignores_the_order_of_rows(values, random):
    clusters = [f"c{i}" for i in range(len(values))]
    row = bootstrap.mean_interval(values, clusters, n_resamples=200).iloc[0]
    assert row.ci_low - 1e-9 <= row.value <= row.ci_high + 1e-9
    order = list(range(len(values)))
    random.shuffle(order)
    again = bootstrap.mean_interval(
        [values[i] for i in order], [clusters[i] for i in order], n_resamples=200
    ).iloc[0]
    assert again.to_numpy(float) == pytest.approx(row.to_numpy(float))


@pytest.mark.parametrize(
    ("values", "clusters", "words"),
    [
        ([], None, "empty"),
        ([0.1, np.nan], None, "1 of 2"),
        ([0.1, 0.2], ["a", "a"], "two at least; got 1"),
    ],
)
def test_a_bootstrap_says_in_one_sentence_what_it_cannot_use(values, clusters, words):
    with pytest.raises(InputError, match=words):
        bootstrap.mean_interval(values, clusters)


def test_a_group_mean_is_over_languages_and_a_group_of_one_has_no_interval():
    scores = pd.DataFrame(
        {
            "model": "m",
            "group": ["low", "low", "English"],
            "lang": ["si", "lo", "en"],
            "value": [0.2, 0.4, 0.7],
        }
    )
    means = bootstrap.group_means(scores).set_index("group")
    assert means.value.to_dict() == pytest.approx({"low": 0.3, "English": 0.7})
    assert means.n.to_dict() == {"low": 2, "English": 1}
    assert means.loc["low", ["ci_low", "ci_high"]].tolist() == pytest.approx([0.2, 0.4])
    assert means.loc["English", ["ci_low", "ci_high"]].isna().all()


def test_a_language_without_a_group_is_not_dropped_in_silence():
    scores = pd.DataFrame(
        {
            "model": "m",
            "group": ["low", None],
            "lang": ["si", "lo"],
            "value": [0.2, 0.4],
        }
    )
    with pytest.raises(InputError, match="1 of 2 in 'group'"):
        bootstrap.group_means(scores)


def counts(right, seen, **key):
    base = {
        "model": "m",
        "dataset": "d",
        "labels": "l",
        "prompts": "p",
        "lang": "en",
    } | key
    wnids = [f"n{i}" for i in range(len(right))]
    return pd.DataFrame(
        {**base, "wnid": wnids, "n_correct": np.array(right, float), "n_images": seen}
    )


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
    together = bootstrap.accuracy_interval(
        pd.concat(parts).sample(frac=1, random_state=1), n_resamples=200
    )
    alone = pd.concat(
        [bootstrap.accuracy_interval(part, n_resamples=200) for part in parts]
    )
    pd.testing.assert_frame_equal(
        together, alone.sort_values(["model", "lang"], ignore_index=True)
    )
    assert (together.ci_low < together.value).all()
    assert (together.value < together.ci_high).all()


def test_one_class_has_an_accuracy_and_no_interval():
    row = bootstrap.accuracy_interval(counts([3], 4)).iloc[0]
    assert row.value == 0.75
    assert np.isnan(row.ci_low)


def test_where_all_or_no_image_is_right_the_interval_is_exact_over_classes():
    counts = pd.DataFrame(
        {
            "wnid": [f"n{number}" for number in range(20)],
            "n_images": 4,
            "n_correct": 0.0,
        }
    )
    found = bootstrap.accuracy_interval(
        pd.concat(
            [
                counts.assign(lang="km"),
                counts.assign(lang="en", n_correct=4.0),
                counts[:1].assign(lang="la"),
            ]
        ),
        ["lang"],
        n_resamples=50,
    ).set_index("lang")

    # Twenty classes without a hit: at the upper end one would see none in 2.5 % of the
    # cases.
    end = 1 - 0.025 ** (1 / 20)
    assert found.loc["km", ["value", "ci_low", "ci_high"]].tolist() == pytest.approx(
        [0, 0, end]
    )
    assert found.loc["en", ["value", "ci_low", "ci_high"]].tolist() == pytest.approx(
        [1, 1 - end, 1]
    )
    assert found.loc["la", ["ci_low", "ci_high"]].isna().all(), (
        "one class alone has no interval"
    )


def test_a_class_that_occurs_twice_stops_an_accuracy():
    with pytest.raises(InputError, match="occur twice"):
        bootstrap.accuracy_interval(pd.concat([counts([1], 2)] * 2))


@pytest.mark.parametrize("n", [4, 7, 35, 1000])
def test_an_expanded_percentile_interval_of_normal_means_is_students(n):
    # The equation that defines it in the documentation of ExpandProbs (R, resample
    # 0.6).
    quantile = scipy_stats.norm.ppf((1 + bootstrap.expanded_level(0.95, n)) / 2)
    assert quantile * np.sqrt((n - 1) / n) == pytest.approx(
        scipy_stats.t.ppf(0.975, n - 1), rel=1e-6
    )


def test_an_interval_without_clusters_is_of_plain_percentiles_and_of_two_the_whole_range():
    drawn = np.random.default_rng(0).normal(size=(999, 2))
    assert np.array(bootstrap.percentile_interval(drawn)) == pytest.approx(
        np.quantile(drawn, [0.025, 0.975], axis=0)
    )
    assert np.array(
        bootstrap.percentile_interval(drawn, n_clusters=2)
    ) == pytest.approx(np.array([drawn.min(0), drawn.max(0)]))
    quantile = np.sqrt(9 / 8) * scipy_stats.t.ppf(0.95, 8)
    ends = scipy_stats.norm.cdf([-quantile, quantile])
    assert np.array(bootstrap.percentile_interval(drawn, 0.9, 9)) == pytest.approx(
        np.quantile(drawn, ends, axis=0)
    )


@given(st.integers(2, 60), st.integers(0, 10_000), st.sampled_from([0.5, 0.9, 0.95]))
@settings(max_examples=60, deadline=None)
def test_a_p_value_is_small_just_where_the_expanded_interval_leaves_zero_out(
    n, seed, level
):
    drawn = np.random.default_rng(seed).normal(1.5, 1, size=999)
    low, _ = bootstrap.percentile_interval(drawn, level, n)
    p = bootstrap.expanded_p(min(1.0, 2 * (drawn < 0).mean()), n)
    assert p >= min(1.0, 2 * (drawn < 0).mean()) - 1e-12, (
        "never bolder than the share of resamples"
    )
    if (
        abs(p - (1 - level)) > 0.05
    ):  # between two resamples the quantile is interpolated
        assert (p < 1 - level) == (low > 0)


def test_an_interval_is_never_shorter_than_plain_percentiles_and_with_many_clusters_the_same():
    drawn = np.random.default_rng(1).normal(size=5000)
    plain = np.array(bootstrap.percentile_interval(drawn))
    widths = [
        np.ptp(np.array(bootstrap.percentile_interval(drawn, n_clusters=n)))
        for n in (3, 7, 16, 100, 10_000)
    ]
    assert sorted(widths, reverse=True) == widths
    assert widths[-1] == pytest.approx(np.ptp(plain), rel=1e-3)


def test_every_interval_of_a_bootstrap_over_clusters_allows_for_their_number(
    monkeypatch,
):
    asked, expanded = [], bootstrap.expanded_level
    monkeypatch.setattr(
        bootstrap,
        "expanded_level",
        lambda level, n: asked.append(n) or expanded(level, n),
    )
    rng = np.random.default_rng(0)
    lang = np.repeat([f"l{n}" for n in range(9)], 2)
    table = pd.DataFrame(
        {"lang": lang, "x": rng.normal(size=18), "value": rng.normal(size=18)}
    )
    table = table.assign(model=["a", "b"] * 9, group="all")
    calls = {
        "bootstrap": lambda: bootstrap.mean_interval(table["value"], lang, 50),
        "group_means": lambda: bootstrap.group_means(table, ["group"], n_resamples=50),
        "accuracy_interval": lambda: bootstrap.accuracy_interval(
            counts([1, 2, 3, 1, 2, 3, 1, 2, 3], 4), n_resamples=50
        ),
        "paired_difference": lambda: permutation.paired_difference(
            table, n_resamples=50
        ),
        "correlation": lambda: correlation.correlate(
            table, "x", "value", methods=["pearson"], n_resamples=50
        ),
        "regression_band": lambda: regression.regression_band(
            table, "x", "value", n_resamples=50
        ),
        "log_linear_fit": lambda: regression.log_linear_fit(
            [2, 4] * 9, table["value"], lang, 50
        ),
        "rank_intervals": lambda: ranks.rank_intervals(
            ["a"], [0.5], rng.random((50, 1)), n_clusters=9
        ),
    }
    for name, call in calls.items():
        asked.clear()
        call()
        assert asked, name
        assert set(asked) == {9}, name
    asked.clear()
    correlation.correlate(
        table, "x", "value", methods=["spearman", "kendall"], n_resamples=50
    )
    assert not asked, "correlations of ranks have plain percentiles"
    thresholds.languages_above(table.assign(value=0.5, n=4), [0.5], n_resamples=50)
    assert not asked, "images drawn from a binomial distribution are no clusters"


def test_a_sum_of_means_is_written_out_and_has_about_welchs_interval():
    rng = np.random.default_rng(0)
    one, other = rng.normal(size=9), 3 * rng.normal(size=15)
    value, low, high = bootstrap.sum_of_means(
        [one, other, [2.0]], [1, -1, 0.5], n_resamples=20_000
    )
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
        _, low, high = bootstrap.sum_of_means(
            samples, [1, -1, 0.5], n_resamples=400, seed=seed
        )
        held += low <= 0 <= high
    assert 0.91 <= held / 300 <= 0.98


def test_samples_of_one_size_are_drawn_apart():
    same = [0.0, 1.0, 5.0]
    assert bootstrap.sum_of_means([same, same], [1, -1])[2] > 1
    assert bootstrap.sum_of_means([[1.0], [3.0]], [1, -1]) == (-2, -2, -2)
