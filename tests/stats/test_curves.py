"""The fall of accuracy with the number of classes: shapes that are known, and scipy and numpy beside them."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize
from scipy import stats as scipy_stats

from babelatlas.base.errors import InputError
from babelatlas.stats import curves

SIZES = np.array([2, 5, 10, 20, 40, 80, 107])
MADE = {
    "log-linear": [0.98, -0.07],
    "power": [0.02, -0.2],
    "logistic": [3.0, -0.6],
    "logistic of the rest": [3.0, -0.6],
    "log-quadratic": [0.99, -0.01, -0.012],
}


def drawn(shape, draws=20, noise=0.0, model="m", lang="de", seed=0):
    """Accuracies of a shape, `draws` subsets for each size but the last, which has one."""
    rng = np.random.default_rng(seed)
    n_classes = np.repeat(SIZES, [draws] * (len(SIZES) - 1) + [1])
    accuracy = curves.predict(n_classes, MADE[shape], shape) + noise * rng.normal(size=len(n_classes)) * (
        n_classes < 107
    )
    return pd.DataFrame({"model": model, "lang": lang, "n_classes": n_classes, "accuracy": accuracy})


@pytest.mark.parametrize("shape", curves.SHAPES)
def test_a_shape_finds_its_own_parameters_again(shape):
    accuracy = curves.predict(SIZES, MADE[shape], shape)
    assert curves.fit(SIZES, accuracy, shape) == pytest.approx(MADE[shape], abs=1e-5)


@pytest.mark.parametrize("shape", ["power", "logistic", "logistic of the rest"])
@given(noise=st.lists(st.floats(-0.05, 0.05), min_size=7, max_size=7))
@settings(max_examples=15, deadline=None)
def test_no_other_parameters_fit_better(shape, noise):
    accuracy = curves.predict(SIZES, MADE[shape], shape) + np.array(noise)
    found = curves.fit(SIZES, accuracy, shape)
    best = ((curves.predict(SIZES, found, shape) - accuracy) ** 2).sum()
    search = optimize.minimize(
        lambda p: ((curves.predict(SIZES, p, shape) - accuracy) ** 2).sum(), MADE[shape], method="Nelder-Mead"
    )
    assert best <= search.fun + 1e-9


def test_one_class_is_always_right_where_the_shape_says_so():
    many = curves.predict([2, 1e9], [1.0, -1.0], "logistic of the rest")
    assert many[0] == pytest.approx(np.e / (1 + np.e))
    assert many[1] < 1e-8
    with pytest.raises(InputError, match="needs 2 classes or more, got 1"):
        curves.predict([1, 2], [1.0, -1.0], "logistic of the rest")


@pytest.mark.parametrize("shape", curves.SHAPES)
def test_the_shape_that_made_a_curve_has_the_least_error(shape):
    found = curves.errors(curves.means(drawn(shape))).set_index("shape")
    assert found.loc[shape, ["fitted", "left_out", "largest"]].tolist() == pytest.approx([0, 0, 0], abs=1e-4)
    others = [name for name in curves.SHAPES if name not in (shape, "log-quadratic")]
    assert (found.loc[others, "left_out"] > 0.01).all()


def test_errors_are_those_of_numpys_line_and_of_leaving_one_number_out():
    table = curves.means(drawn("log-linear", noise=0.05))
    found = curves.errors(table, shapes=["log-linear"]).iloc[0]
    x, y = np.log(table.n_classes), 100 * table.accuracy
    residual = y - np.polyval(np.polyfit(x, y, 1), x)
    left = [y[i] - np.polyval(np.polyfit(np.delete(x, i), np.delete(y, i), 1), x[i]) for i in range(7)]
    assert found.fitted == pytest.approx(np.sqrt(np.mean(residual**2)))
    assert found.left_out == pytest.approx(np.sqrt(np.mean(np.square(left))))
    assert found.largest == pytest.approx(np.abs(residual).max())
    assert curves.residuals(table).residual.tolist() == pytest.approx(residual.tolist())


def test_means_count_the_subsets_of_each_size():
    table = curves.means(drawn("power", draws=3))
    assert table.n_classes.tolist() == SIZES.tolist()
    assert table.draws.tolist() == [3] * 6 + [1]


def test_a_straight_line_has_no_bend_and_a_curve_has_its_own():
    straight = curves.bend(drawn("log-linear")).iloc[0]
    assert straight[["value", "ci_low", "ci_high"]].tolist() == pytest.approx([0, 0, 0], abs=1e-9)
    assert straight.per_doubling == pytest.approx(-7 * np.log(2))
    curved = curves.bend(drawn("log-quadratic")).iloc[0]
    steepest, flattest = (100 * np.log(2) * (-0.01 - 2 * 0.012 * np.log(n)) for n in (107, 2))
    assert curved.value == pytest.approx(steepest - flattest)
    assert curved.n == 7


def test_the_interval_of_a_bend_holds_zero_about_as_often_as_it_says():
    held = [
        row.ci_low <= 0 <= row.ci_high
        for seed in range(120)
        for row in [curves.bend(drawn("log-linear", noise=0.05, seed=seed), n_resamples=300).iloc[0]]
    ]
    assert 0.87 <= np.mean(held) <= 0.99


def test_the_interval_of_a_bend_is_no_shorter_than_students_where_subsets_are_few():
    # Six means of four subsets: a pooled variance has 18 degrees of freedom; Welch's are fewer.
    x = np.log(SIZES)
    change = 200 * np.log(2) * (x[-1] - x[0]) * np.linalg.pinv(np.column_stack([np.ones(7), x, x * x]))[2]
    ratios = []
    for seed in range(40):
        table = drawn("log-linear", draws=4, noise=0.05, seed=seed)
        row = curves.bend(table, n_resamples=1000).iloc[0]
        spread = table.groupby("n_classes").accuracy.var().fillna(0).mean() * 7 / 6
        half = scipy_stats.t.ppf(0.975, 18) * np.sqrt(spread * (change[:6] ** 2).sum() / 4)
        ratios.append((row.ci_high - row.ci_low) / (2 * half))
    assert np.mean(ratios) == pytest.approx(1.1, abs=0.1)  # plain percentiles would have 0.8


def test_sizes_are_drawn_apart():
    # With the same draws in all sizes noise that is common to them would cancel: here it must not.
    table = drawn("log-linear")
    table["accuracy"] += np.tile(np.arange(20), 7)[: len(table)] * 0.01
    row = curves.bend(table).iloc[0]
    assert row.ci_high - row.ci_low > 1


def test_costs_are_the_same_on_the_scale_that_a_shape_is_straight_on():
    for shape, scale in (("log-linear", "points"), ("power", "percent"), ("logistic", "log-odds")):
        few, many = (curves.predict(sizes, MADE[shape], shape) for sizes in ([100, 100], [200, 800]))
        table = curves.cost(few, many, [1, 3])
        assert table.loc[0, scale] == pytest.approx(table.loc[1, scale])
        error = curves.carried_over(few, many, [1, 3])
        assert error[scale] == pytest.approx([0, 0], abs=1e-9)
        assert all(np.abs(error[other]).max() > 0.1 for other in curves.SCALES if other != scale)


def test_a_cost_is_carried_over_from_the_other_rows_alone():
    few, many = [0.9, 0.8, 0.6], [0.8, 0.5, 0.5]
    # Points lost by one doubling: 10, 30, 10; the mean of the others': 20, 10, 20.
    error = curves.carried_over(few, many, [1, 1, 1])["points"]
    assert error == pytest.approx([100 * 0.7 - 80, 100 * 0.7 - 50, 100 * 0.4 - 50])


@given(st.lists(st.tuples(st.floats(0.05, 0.95), st.floats(0.05, 0.95), st.floats(0.1, 4)), min_size=2, max_size=6))
@settings(max_examples=40, deadline=None)
def test_a_cost_is_zero_just_where_accuracy_stays(rows):
    few, many, doublings = np.array(rows).T
    table = curves.cost(few, many, doublings)
    assert (np.sign(table.to_numpy().round(12)) == np.sign((few - many).round(12))[:, None]).all()
    assert (curves.cost(few, few, doublings) == 0).all(axis=None)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: curves.fit([2, 4], [0.5, 0.4], "linear"), "no shape 'linear'"),
        (lambda: curves.fit([2, 2], [0.5, 0.4]), "2 parameters and needs as many different numbers of classes, got 1"),
        (lambda: curves.fit([2, 4], [0.5, np.nan]), "1 of 2 in column 'accuracy'"),
        (lambda: curves.errors(drawn("power")), "take the means over the subsets first"),
        (
            lambda: curves.errors(curves.means(drawn("power")).head(4)),
            "at least 5 numbers of classes, but m, de has 4",
        ),
        (
            lambda: curves.bend(drawn("power").query("n_classes < 10")),
            "at least three numbers of classes, got 2 in m, de",
        ),
        (lambda: curves.means(drawn("power").drop(columns="lang")), "needs the column"),
        (lambda: curves.bend(drawn("power", model=3).query("n_classes < 10")), "got 2 in 3, de"),
        (lambda: curves.residuals(curves.means(drawn("power")).head(0)), "got an empty one"),
        (lambda: curves.residuals(curves.means(drawn("power")).drop(columns="model")), "needs the column"),
        (lambda: curves.errors(curves.means(drawn("power")), shapes=[]), "at least one shape"),
        (lambda: curves.cost([0.5], [0.4], [0]), "more classes in one accuracy"),
        (lambda: curves.cost([1.0], [0.4], [1]), "neither of them included"),
        (lambda: curves.carried_over([0.5], [0.4], [1]), "at least two, got 1"),
    ],
)
def test_what_cannot_be_fitted_is_said_in_one_sentence(call, words):
    with pytest.raises(InputError, match=words):
        call()
