"""Correlations in parts: against regressions and rows written out, and against R where
its numbers were seen.
"""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from babelatlas.base.errors import InputError
from babelatlas.stats import bootstrap, correlation

NUMBERS = st.lists(
    st.floats(0, 1, allow_nan=False).map(lambda x: round(x, 4)), min_size=3, max_size=30
)


@pytest.fixture
def table():
    """Seven languages of four models, with tied values, and a row that is missing."""
    rng = np.random.default_rng(2)
    rows = pd.DataFrame(
        [(lang, model) for lang in "abcdefg" for model in "klmn"],
        columns=["lang", "model"],
    )
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


def test_two_columns_of_clusters_are_drawn_apart_and_a_row_has_the_product(table):
    drawn, least = correlation.crossed_weights(table, ["lang", "model"], 200)
    assert least == 4
    one, many = correlation.crossed_weights(table, "lang", 200)
    assert many == 7
    for resample, languages in zip(drawn, one, strict=True):
        for model, part in table.groupby("model"):
            times = {
                resample[row] / languages[row] for row in part.index if languages[row]
            }
            assert len(times) == 1, model
    # Models are drawn as often as there are models: the mean weight is one.
    assert drawn.mean() == pytest.approx(1, abs=0.05)


def test_intervals_over_languages_and_models_are_wider_where_models_differ():
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(
        [(lang, model) for lang in range(30) for model in range(5)],
        columns=["lang", "model"],
    )
    for name in "xy":
        rows[name] = np.tile(3 * rng.normal(size=5), 30) + rng.normal(size=150)
    width = {
        names: (
            correlation.correlate(
                rows, "x", "y", list(names), methods=["pearson"]
            ).eval("ci_high - ci_low")[0]
        )
        for names in (("lang",), ("model",), ("lang", "model"))
    }
    assert width["lang", "model"] > 3 * width[("lang",)]
    assert width["lang", "model"] == pytest.approx(width[("model",)], rel=0.2)


@pytest.mark.parametrize("by", ["lang", "model"])
def test_within_groups_means_deviations_ranks_and_pairs_of_the_group(table, by):
    found = (
        correlation.correlate(
            table, "x", "y", within=by, n_resamples=10, methods=correlation.METHODS
        )
        .set_index("method")
        .value
    )
    ranked = table.assign(**table.groupby(by)[["x", "y"]].rank())
    assert found["pearson"] == pytest.approx(
        scipy_stats.pearsonr(*(centred(table, v, by) for v in "xy"))[0]
    )
    assert found["spearman"] == pytest.approx(
        scipy_stats.pearsonr(*(centred(ranked, v, by) for v in "xy"))[0]
    )
    agree = untied_x = untied_y = 0
    for _, part in table.groupby(by):
        for one in part.itertuples():
            for other in part.itertuples():
                signs = np.sign(one.x - other.x), np.sign(one.y - other.y)
                agree += signs[0] * signs[1]
                untied_x += signs[0] ** 2
                untied_y += signs[1] ** 2
    assert found["kendall"] == pytest.approx(agree / np.sqrt(untied_x * untied_y))


def test_within_models_and_languages_at_once_is_the_residual_of_both(table):
    found = correlation.correlate(
        table, "x", "y", within=["lang", "model"], methods=["pearson"], n_resamples=50
    )
    dummies = pd.get_dummies(table[["lang", "model"]], dtype=float).to_numpy()
    slow = scipy_stats.pearsonr(
        *(residuals(table[name].to_numpy(), dummies) for name in "xy")
    )[0]
    assert found.value[0] == pytest.approx(slow)
    assert found.ci_low[0] < slow < found.ci_high[0]


def test_a_better_model_in_all_languages_agrees_between_models_and_not_within_them():
    rng = np.random.default_rng(1)
    rows = pd.DataFrame(
        [(lang, model) for lang in range(40) for model in range(6)],
        columns=["lang", "model"],
    )
    for name in "xy":
        rows[name] = 5.0 * rows.model + rng.normal(size=240)
    options = {"methods": ["pearson"], "n_resamples": 300}
    assert correlation.correlate(rows, "x", "y", **options).value[0] > 0.95
    inside = correlation.correlate(rows, "x", "y", within="model", **options).iloc[0]
    assert inside.ci_low < 0 < inside.ci_high
    assert (
        correlation.correlate(rows, "x", "y", within="lang", **options).value[0] > 0.95
    )


def yeast():
    """The example data of R's package ppcor."""
    hl = [7, 15, 19, 15, 21, 22, 57, 15, 20, 18]
    disp = [0.000, 0.964, 0.000, 0.000, 0.921, 0.000, 0.000, 1.006, 0.000, 1.011]
    deg = [9, 2, 3, 4, 1, 3, 1, 3, 6, 1]
    bc = [1.78e-02, 1.05e-06, 1.37e-05, 7.18e-03, 0, 0, 0, 4.48e-03, 2.10e-06, 0]
    return pd.DataFrame(
        {"lang": range(10), "hl": hl, "disp": disp, "deg": deg, "BC": bc}
    )


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
    # Kim (2015), CSAM 22, 665-674: the output of pcor(x = y.data, method = "spearman"),
    # R package ppcor.
    found = correlation.correlate(
        yeast(), x, y, covariates=others, methods=["spearman"], n_resamples=10
    ).value[0]
    assert found == pytest.approx(printed, abs=5e-8)


def test_kendalls_partial_tau_follows_from_three_taus(table):
    found = correlation.correlate(
        table, "x", "y", covariates="z", methods=["kendall"], n_resamples=10
    ).value[0]
    xy, xz, yz = (
        scipy_stats.kendalltau(table[a], table[b])[0] for a, b in ("xy", "xz", "yz")
    )
    assert found == pytest.approx((xy - xz * yz) / np.sqrt((1 - xz**2) * (1 - yz**2)))


@pytest.mark.parametrize("clusters", ["lang", ["lang", "model"]])
def test_the_least_p_is_that_of_resamples_that_all_agree_and_p_fits_the_interval(
    clusters,
):
    rng = np.random.default_rng(8)
    rows = pd.DataFrame(
        [(lang, model) for lang in range(12) for model in range(6)],
        columns=["lang", "model"],
    )
    x = rng.normal(size=72)
    rows = rows.assign(
        x=x, good=x + 0.01 * rng.normal(size=72), bad=rng.normal(size=72)
    )
    found = correlation.compare_correlations(
        rows, "x", "good", "bad", clusters, n_resamples=19
    ).set_index("method")
    ranks = found.loc[["spearman", "kendall"]]
    assert (ranks.p == 2 / 20).all()
    assert (found.p == found.least).all()
    if clusters == "lang":
        assert found.loc["pearson", "least"] == pytest.approx(
            bootstrap.expanded_p(2 / 20, 12)
        )
    for noise in (0.8, 1.0, 1.3):
        near = rows.assign(
            good=x + noise * rng.normal(size=72), bad=x + 1.6 * rng.normal(size=72)
        )
        for row in correlation.compare_correlations(
            near, "x", "good", "bad", clusters, n_resamples=4000
        ).itertuples():
            if abs(row.p - 0.05) > 0.005:
                assert (row.p < 0.05) == (row.ci_low > 0 or row.ci_high < 0)


def test_a_resample_by_weights_equals_a_resample_by_rows(pairs):
    pairs = pairs.round(0)  # so that ranks are tied
    drawn = bootstrap.resample_weights(len(pairs), 5, seed=4)
    x, y = pairs.x.to_numpy(), pairs.y.to_numpy()
    pearson = correlation.weighted_pearson(x, y, drawn)
    spearman = correlation.weighted_pearson(
        correlation.mid_ranks(x, drawn), correlation.mid_ranks(y, drawn), drawn
    )
    kendall = correlation.weighted_kendall(x, y, drawn)
    for row, times in enumerate(drawn.astype(int)):
        copies = pairs.loc[pairs.index.repeat(times)]
        assert pearson[row] == pytest.approx(
            scipy_stats.pearsonr(copies.x, copies.y)[0]
        )
        assert spearman[row] == pytest.approx(
            scipy_stats.spearmanr(copies.x, copies.y)[0]
        )
        assert kendall[row] == pytest.approx(
            scipy_stats.kendalltau(copies.x, copies.y)[0]
        )


def test_kendall_of_hollander_and_wolfe_is_that_of_cor_test():
    # Table 1 on page 188 and the output of cor.test(x, y, method = "kendall"), as B.
    # Habing's course prints them (www.stat.sc.edu/~habing/courses/518splus3F98.html).
    x = [44.4, 45.9, 41.9, 53.3, 44.7, 44.1, 50.7, 45.2, 60.1]
    table = pd.DataFrame(
        {"lang": range(9), "x": x, "y": [2.6, 3.1, 2.5, 5.0, 3.6, 4.0, 5.2, 2.8, 3.8]}
    )
    found = correlation.correlate(
        table, "x", "y", methods=["pearson", "kendall"], n_resamples=10
    ).value
    assert found.tolist() == pytest.approx([0.5711815, 0.4444444], abs=1e-7)


@given(NUMBERS, st.floats(0.1, 10), st.floats(-5, 5))
@settings(max_examples=30, deadline=None)
def test_a_straight_line_correlates_perfectly(values, slope, intercept):
    values = np.unique(values)
    if len(values) < 3:
        return
    table = pd.DataFrame(
        {"lang": np.arange(len(values)), "x": values, "y": intercept + slope * values}
    )
    found = correlation.correlate(
        table, "x", "y", methods=correlation.METHODS, n_resamples=50
    )
    assert found[["value", "ci_low", "ci_high"]].to_numpy() == pytest.approx(1)


def test_a_mean_in_general_resamples_models_as_well_as_languages():
    rng = np.random.default_rng(3)
    lang, model = (
        np.repeat([f"l{n}" for n in range(30)], 8),
        np.tile(list("abcdefgh"), 30),
    )
    value = rng.normal(size=8)[np.arange(240) % 8] + 0.2 * rng.normal(size=30).repeat(8)
    table = pd.DataFrame({"lang": lang, "model": model, "value": value})
    both = correlation.crossed_mean(table, "value")
    alone = correlation.crossed_mean(table, "value", ["lang"])
    assert both[0] == alone[0] == pytest.approx(value.mean())
    # Eight models with a standard deviation of about 1: Student's interval of their
    # means, at least.
    models = table.groupby("model")["value"].mean()
    reach = 2.365 * models.std() / np.sqrt(8)
    assert both[2] - both[1] == pytest.approx(2 * reach, rel=0.15)
    assert alone[2] - alone[1] < (both[2] - both[1]) / 4


@pytest.mark.parametrize("method", correlation.METHODS)
def test_within_groups_a_resample_by_weights_is_a_resample_by_rows(
    table, method, monkeypatch
):
    monkeypatch.setattr(
        correlation, "AT_ONCE", 3 * len(table)
    )  # three resamples at a time
    weights, _ = correlation.crossed_weights(table, ["lang", "model"], 6, seed=5)
    how = {"within": "model", "methods": [method]}
    seen = []
    monkeypatch.setattr(
        bootstrap, "percentile_interval", lambda drawn, *_: seen.append(drawn) or (0, 0)
    )
    correlation.correlate(
        table, "x", "y", ["lang", "model"], n_resamples=6, seed=5, **how
    )
    for value, row in zip(seen[0], weights, strict=True):
        copies = drawn_rows(table, row)
        if len(set(copies.model)) > 1:
            slow = correlation.correlate(
                copies, "x", "y", "model", n_resamples=1, **how
            ).value[0]
            assert value == pytest.approx(slow)


@pytest.mark.parametrize("names", [["z"], ["z", "w"]])
def test_a_partial_correlation_is_that_of_the_residuals_of_regressions(table, names):
    table = table.assign(w=table.lang.map(ord) + 0.1 * table.x)
    for method in ("pearson", "spearman"):
        found = correlation.correlate(
            table, "x", "y", covariates=names, methods=[method], n_resamples=5
        ).value[0]
        rows = table[["x", "y", *names]].rank() if method == "spearman" else table
        left = [residuals(rows[v].to_numpy(), rows[names].to_numpy()) for v in "xy"]
        assert found == pytest.approx(scipy_stats.pearsonr(*left)[0], abs=1e-6)


@pytest.mark.parametrize(
    ("change", "how"),
    [
        ({"x": 1.0}, {}),
        ({"x": np.nan}, {}),
        ({"lang": "de"}, {}),
        ({}, {"methods": ["kendal"]}),
        ({}, {"within": ["lang", "model"], "methods": ["kendall"]}),
        ({}, {"within": "row"}),
        ({}, {"covariates": ["z", "w"]}),
    ],
)
def test_what_is_not_defined_is_refused(table, change, how):
    table = table.assign(row=table.index, w=2 * table.z, **change)
    with pytest.raises(InputError):
        correlation.correlate(table, "x", "y", **how)


@given(st.lists(st.integers(0, 3), min_size=2, max_size=8), st.randoms())
@settings(max_examples=60, deadline=None)
def test_tau_is_scipys(first, random):
    second = random.sample(first, len(first))
    ours = float(correlation.kendall_by_row(np.array(first), np.array(second)))
    assert ours == pytest.approx(
        scipy_stats.kendalltau(first, second).statistic, nan_ok=True
    )
