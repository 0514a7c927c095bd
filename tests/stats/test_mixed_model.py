"""Mixed models: against lme4, MixedModels.jl and R's performance, and against equations
written out.
"""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats as scipy_stats

from babelatlas.base.errors import InputError
from babelatlas.stats import bootstrap, mixed_model

# lme4's Penicillin (Davies and Goldsmith 1972, section 6.6): diameters of samples A to
# F on 24 plates; the numbers as in Rdatasets, csv/lme4/Penicillin.csv.
PENICILLIN = """
27 23 26 23 23 21 27 23 26 23 23 21 25 21 25 24 24 20 26 23 25 23 23 20 25 22 26 22 23
20 24 22 25 23 22 19 24 20 23 21 22 19 26 22 26 24 24 21 24 21 24 22 22 20 24 21 24 23
22 19 26 23 26 24 24 21 25 22 26 24 24 20 26 24 26 24 25 22 26 23 26 23 23 20 26 23 25
24 24 22 25 22 25 23 23 20 25 21 24 23 23 20 25 22 24 23 23 19 24 21 23 21 21 19 26 23
26 24 24 21 25 21 24 22 22 18 25 22 25 22 22 20 24 21 24 22 24 19 24 21 24 22 21 18
"""
# lme4's sleepstudy (Belenky et al. 2003): reaction times of 18 persons on days 0 to 9;
# csv/lme4/sleepstudy.csv there.
SLEEP = """
249.56 258.7047 250.8006 321.4398 356.8519 414.6901 382.2038 290.1486 430.5853 466.3535
222.7339 205.2658 202.9778 204.707 207.7161 215.9618 213.6303 217.7272 224.2957 237.3142
199.0539 194.3322 234.32 232.8416 229.3074 220.4579 235.4208 255.7511 261.0125 247.5153
321.5426 300.4002 283.8565 285.133 285.7973 297.5855 280.2396 318.2613 305.3495 354.0487
287.6079 285 301.8206 320.1153 316.2773 293.3187 290.075 334.8177 293.7469 371.5811
234.8606 242.8118 272.9613 309.7688 317.4629 309.9976 454.1619 346.8311 330.3003
253.8644 283.8424 289.555 276.7693 299.8097 297.171 338.1665 332.0265 348.8399 333.36
362.0428 265.4731 276.2012 243.3647 254.6723 279.0244 284.1912 305.5248 331.5229
335.7469 377.299 241.6083 273.9472 254.4907 270.8021 251.4519 254.6362 245.4523 235.311
235.7541 237.2466 312.3666 313.8058 291.6112 346.1222 365.7324 391.8385 404.2601
416.6923 455.8643 458.9167 236.1032 230.3167 238.9256 254.922 250.7103 269.7744 281.5648
308.102 336.2806 351.6451 256.2968 243.4543 256.2046 255.5271 268.9165 329.7247 379.4445
362.9184 394.4872 389.0527 250.5265 300.0576 269.8939 280.5891 271.8274 304.6336
287.7466 266.5955 321.5418 347.5655 221.6771 298.1939 326.8785 346.8555 348.7402
352.8287 354.4266 360.4326 375.6406 388.5417 271.9235 268.4369 257.2424 277.6566
314.8222 317.2135 298.1353 348.1229 340.28 366.5131 225.264 234.5235 238.9008 240.473
267.5373 344.1937 281.1481 347.5855 365.163 372.2288 269.8804 272.4428 277.8989 281.7895
279.1705 284.512 259.2658 304.6306 350.7807 369.4692 269.4117 273.474 297.5968 310.6316
287.1726 329.6076 334.4818 343.2199 369.1417 364.1236
"""
CROSSED = {
    "model": ("model", ""),
    "slope by model": ("model", "x"),
    "language": ("lang", ""),
}


@pytest.fixture(scope="module")
def penicillin():
    plates, samples = np.repeat([f"p{n:02}" for n in range(24)], 6), list("ABCDEF") * 24
    return pd.DataFrame(
        {
            "diameter": np.array(PENICILLIN.split(), float),
            "plate": plates,
            "sample": samples,
        }
    )


@pytest.fixture(scope="module")
def sleep():
    days, person = (
        np.tile(np.arange(10.0), 18),
        np.repeat([f"s{n:02}" for n in range(18)], 10),
    )
    return pd.DataFrame(
        {"reaction": np.array(SLEEP.split(), float), "days": days, "person": person}
    )


def simulated(seed=0, n_models=6, n_languages=24):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        [
            (f"m{m}", f"l{lang:02}")
            for m in range(n_models)
            for lang in range(n_languages)
        ],
        columns=["model", "lang"],
    )
    place = table["lang"].str[1:].astype(int)
    x = rng.normal(size=n_languages)
    table["x"] = (x - x.mean())[place]
    table["kind"] = np.array(["a", "a", "b", "c"])[place % 4]
    table["kind"] = pd.Categorical(table["kind"], ["a", "b", "c"])
    table["pair"] = rng.integers(2, size=len(table)).astype(float)
    table["home"] = np.array(["north", "south", "east"])[place % 3]
    table["y"] = (
        0.4 + 0.05 * table["x"] + 0.02 * table["pair"] + 0.04 * (table["kind"] == "b")
    )
    table["y"] += rng.normal(0, 0.03, len(table))
    table["y"] += rng.normal(0, 0.05, n_languages)[place]
    table["y"] += rng.normal(0, 0.08, n_models)[table["model"].str[1:].astype(int)]
    table["y"] += (
        rng.normal(0, 0.03, n_models)[table["model"].str[1:].astype(int)] * table["x"]
    )
    # A few pairs are missing, so that the design is not balanced and the components
    # matter.
    return table.drop(index=rng.choice(len(table), 9, replace=False)).assign(
        value=table["y"].clip(0.01, 0.99), n=1000
    )


@pytest.fixture(scope="module")
def crossed():
    return mixed_model.fit(simulated(), "y", ["x", "kind", "pair"], CROSSED)


# --- the estimates, against other packages
# ---------------------------------------------------------


def test_crossed_effects_are_those_of_lme4(penicillin):
    """lme4 2.0.1: lmer(diameter ~ 1 + (1 | plate) + (1 | sample), Penicillin), by REML."""
    found = mixed_model.fit(
        penicillin, "diameter", [], {"plate": ("plate", ""), "sample": ("sample", "")}
    )
    sd = np.sqrt(found.components.set_index("name")["variance"])
    assert sd.to_dict() == pytest.approx(
        {"plate": 0.84670, "sample": 1.93161, "residual": 0.54992}, abs=1e-4
    )
    row = found.coefficients.iloc[0]
    assert (row["value"], row["se"]) == pytest.approx((22.97222, 0.8085954), abs=1e-4)
    assert found.likelihood == pytest.approx(-165.43029450, abs=1e-6)


def test_the_likelihood_is_that_of_mixedmodels_jl(penicillin):
    """MixedModels.jl on the same model by maximum likelihood: objective
    332.1883486700085.
    """
    found = mixed_model.fit(
        penicillin,
        "diameter",
        [],
        {"plate": ("plate", ""), "sample": ("sample", "")},
        reml=False,
    )
    assert -2 * found.likelihood == pytest.approx(332.1883486700085, abs=1e-5)
    assert mixed_model.aic(found) == pytest.approx(332.1883486700085 + 2 * 4, abs=1e-5)


def test_independent_slopes_are_those_of_mixedmodels_jl(sleep):
    """MixedModels.jl's tests of reaction ~ 1 + days + zerocorr(1 + days | subj), by
    maximum likelihood.
    """
    random = {"person": ("person", ""), "days by person": ("person", "days")}
    found = mixed_model.fit(sleep, "reaction", ["days"], random, reml=False)
    assert -2 * found.likelihood == pytest.approx(1752.003255140962, abs=1e-4)
    assert found.coefficients["value"].tolist() == pytest.approx(
        [251.4051048484854, 10.467285959595674], rel=1e-7
    )
    assert found.coefficients["se"].tolist() == pytest.approx(
        [6.707646513654387, 1.5193112497954953], abs=1e-3
    )
    sd = np.sqrt(found.components["variance"])
    assert sd.tolist() == pytest.approx(
        [24.171269957611873, 5.79939919963132, 25.55613836753517], abs=2e-3
    )


def test_the_shares_of_variance_are_those_of_r(sleep):
    """performance 0.16.0: r2_nakagawa(lmer(Reaction ~ Days + (1 | Subject),
    sleepstudy)).
    """
    found = mixed_model.fit(sleep, "reaction", ["days"], {"person": ("person", "")})
    shares = mixed_model.explained(found).set_index("part")["share"]
    assert shares["marginal"] == pytest.approx(0.2798856367631553, abs=2e-6)
    assert shares["conditional"] == pytest.approx(0.7042554523353618, abs=2e-6)


def test_a_random_slope_counts_with_the_mean_square_of_its_covariate(sleep):
    random = {"person": ("person", ""), "days by person": ("person", "days")}
    found = mixed_model.fit(sleep, "reaction", ["days"], random)
    z = np.column_stack([np.ones(180), sleep["days"]])
    variances = found.components["variance"].to_numpy()
    # Johnson (2014): the mean of the diagonal of Z G Z'.
    mean = np.trace(z @ np.diag(variances[:2]) @ z.T) / 180
    fixed = np.var(found.table["fixed"], ddof=1)
    shares = mixed_model.explained(found).set_index("part")["share"]
    assert shares["conditional"] == pytest.approx(
        (fixed + mean) / (fixed + mean + variances[2])
    )
    assert shares[
        ["fixed effects", "person", "days by person", "residual"]
    ].sum() == pytest.approx(1)


def test_effects_and_predictions_solve_the_equations_written_out(crossed):
    table, variances = crossed.table, crossed.components.set_index("name")["variance"]
    columns = [
        np.ones(len(table)),
        table["x"],
        table["kind"] == "b",
        table["kind"] == "c",
        table["pair"],
    ]
    x = np.column_stack([np.asarray(column, float) for column in columns])
    v = variances["residual"] * np.eye(len(table))
    for name, (group, covariate) in CROSSED.items():
        same = (table[group].to_numpy()[:, None] == table[group].to_numpy()).astype(
            float
        )
        weight = table[covariate].to_numpy() if covariate else np.ones(len(table))
        v += variances[name] * same * np.outer(weight, weight)
    inverse = np.linalg.inv(v)
    covariance = np.linalg.inv(x.T @ inverse @ x)
    beta = covariance @ x.T @ inverse @ table["y"]
    assert crossed.coefficients["value"].tolist() == pytest.approx(
        beta.tolist(), rel=1e-6
    )
    assert crossed.covariance == pytest.approx(covariance, rel=1e-5)
    away = inverse @ (table["y"] - x @ beta)
    for name, (group, covariate) in CROSSED.items():
        weight = table[covariate].to_numpy() if covariate else np.ones(len(table))
        mine = crossed.effects[crossed.effects["name"] == name].set_index("level")[
            "value"
        ]
        for level in mine.index:
            expected = variances[name] * ((table[group] == level) * weight) @ away
            assert mine[level] == pytest.approx(expected, abs=1e-8)


# --- given the components
# --------------------------------------------------------------------------


@pytest.mark.parametrize("cluster", ["lang", "model", "home"])
def test_sums_over_clusters_give_the_estimates_of_the_fit(crossed, cluster):
    equations = mixed_model.sums_by_cluster(crossed, cluster)
    assert mixed_model.solve(equations)[0].tolist() == pytest.approx(
        crossed.coefficients["value"].tolist(), rel=1e-6
    )


@pytest.mark.parametrize("cluster", ["lang", "model"])
def test_drawing_a_cluster_twice_is_having_its_rows_twice_under_another_name(
    crossed, cluster
):
    names = sorted(crossed.table[cluster].unique())
    drawn = np.ones(len(names))
    drawn[[0, 1]] = 2, 0
    twin = crossed.table[crossed.table[cluster] == names[0]].assign(**{cluster: "twin"})
    table = pd.concat([crossed.table[crossed.table[cluster] != names[1]], twin])
    expected = mixed_model.solve(mixed_model.sums_by_cluster(crossed, cluster, table))[
        0
    ]
    assert mixed_model.solve(
        mixed_model.sums_by_cluster(crossed, cluster), drawn[None]
    )[0] == pytest.approx(expected, rel=1e-6)


def test_leaving_one_out_is_having_no_row_of_it(crossed):
    equations = mixed_model.sums_by_cluster(crossed, "home")
    left = mixed_model.solve(equations, 1 - np.eye(len(equations["clusters"])))
    rest = mixed_model.predict(crossed, crossed.table[crossed.table["home"] != "south"])
    assert left[equations["clusters"].index("south")] == pytest.approx(
        rest.to_numpy(), rel=1e-6
    )


def test_an_effect_that_the_clusters_drawn_do_not_show_is_nan_and_the_others_stay(
    crossed,
):
    table = crossed.table.assign(home=crossed.table["kind"])
    equations = mixed_model.sums_by_cluster(replace(crossed, table=table), "home")
    left = mixed_model.solve(equations, 1 - np.eye(len(equations["clusters"])))
    left = pd.DataFrame(left, equations["clusters"], equations["names"])
    assert left.loc["b"].isna().to_dict() == {name: name == "kind: b" for name in left}
    # Without the reference level the difference between the other two is known, but
    # none from the reference.
    assert left.loc["a", ["kind: b", "kind: c", "intercept"]].isna().all()
    assert np.isfinite(left.loc["a", "x"])


def test_the_bootstrap_over_languages_agrees_with_refitting_every_resample(crossed):
    names = sorted(crossed.table["lang"].unique())
    drawn = bootstrap.resample_weights(len(names), 5, seed=1)
    quick = mixed_model.solve(mixed_model.sums_by_cluster(crossed, "lang"), drawn)
    for row, values in zip(drawn, quick, strict=True):
        parts = [
            crossed.table[crossed.table["lang"] == name].assign(lang=f"{name}-{copy}")
            for name, times in zip(names, row, strict=True)
            for copy in range(int(times))
        ]
        table = pd.concat(parts)
        refitted = mixed_model.fit(
            table.drop(columns=["fitted", "fixed", "residual"]),
            "y",
            ["x", "kind", "pair"],
            CROSSED,
        )
        again = refitted.coefficients.set_index("name")["value"]
        mine = pd.Series(values, mixed_model.sums_by_cluster(crossed, "lang")["names"])
        assert mine.isna().to_dict() == {
            name: name not in again for name in mine.index
        }  # no language of a kind drawn
        difference = (mine - again).abs()[again.index]
        # The components are re-estimated there and held here, which moves the effect of
        # the pair a little.
        assert (
            difference
            < 0.25 * crossed.coefficients.set_index("name")["se"][again.index]
        ).all()
        assert difference["pair"] > 0


# --- effects in points
# -----------------------------------------------------------------------------


@pytest.mark.parametrize("scale", ["angle", "logit"])
def test_points_are_the_mean_over_the_rows_of_two_accuracies_one_by_one(scale):
    table = simulated()
    table[scale] = mixed_model.scaled(table, scale)
    found = mixed_model.fit(table, scale, ["x", "kind", "pair"], CROSSED)
    value = found.coefficients.set_index("name")["value"]
    inverse = {
        "angle": lambda at: np.sin(at) ** 2,
        "logit": lambda at: 1 / (1 + np.exp(-at)),
    }[scale]
    ups, kinds = [], []
    for row in found.table.itertuples():
        at = row.fitted
        own = {"a": 0.0, "b": value["kind: b"], "c": value["kind: c"]}[row.kind]
        wide = (row.n + 1) / row.n
        ups.append(wide * (inverse(at + value["x"] / 2) - inverse(at - value["x"] / 2)))
        kinds.append(wide * (inverse(at - own + value["kind: b"]) - inverse(at - own)))
    points = mixed_model.in_points(found, value.to_numpy(), scale)[0]
    assert points[1] == pytest.approx(100 * np.mean(ups))
    assert points[2] == pytest.approx(100 * np.mean(kinds))


def test_effects_come_with_an_interval_of_each_kind_that_holds_the_value(crossed):
    table = mixed_model.effects(crossed, "accuracy", ["lang", "model"], 200)
    assert table["interval"].unique().tolist() == [
        "Wald",
        "bootstrap over lang",
        "bootstrap over model",
    ]
    assert table.drop_duplicates("interval")["n_clusters"].tolist() == [0, 24, 6]
    wald = table[table["interval"] == "Wald"].reset_index(drop=True)
    tested = mixed_model.wald(crossed).iloc[1:]
    reach = (tested["high"] - tested["value"]).to_numpy()
    assert (reach > 1.96 * tested["se"]).all(), "Student's quantile is the larger one"
    assert (wald["ci_high"] - wald["value"]).tolist() == pytest.approx(
        (100 * reach).tolist(), rel=1e-6
    )
    assert (
        (table["ci_low"] < table["value"]) & (table["value"] < table["ci_high"])
    ).all()


def of_recipes(seed, n_models=8, n_languages=12):
    rng = np.random.default_rng(seed)
    model, lang = (
        np.repeat(np.arange(n_models), n_languages),
        np.tile(np.arange(n_languages), n_models),
    )
    y = (
        rng.normal(size=n_models)[model]
        + rng.normal(size=n_languages)[lang]
        + 0.5 * rng.normal(size=len(model))
    )
    table = pd.DataFrame(
        {
            "model": model.astype(str),
            "lang": lang.astype(str),
            "y": y,
            "listed": model < 3,
        }
    )
    return mixed_model.fit(
        table.astype({"listed": float}),
        "y",
        ["listed"],
        {"model": ("model", ""), "language": ("lang", "")},
    )


def test_a_term_of_recipes_has_as_many_degrees_of_freedom_as_recipes_less_their_coefficients():
    # The table is balanced: Satterthwaite's number is exact, that of Student's test of
    # two groups of recipe means.
    found = mixed_model.wald(of_recipes(0)).set_index("name").loc["listed"]
    means = of_recipes(0).table.groupby("model")[["y", "listed"]].mean()
    groups = [part["y"] for _, part in means.groupby("listed")]
    assert found["df"] == pytest.approx(6, abs=0.01)
    assert found["p"] == pytest.approx(scipy_stats.ttest_ind(*groups).pvalue, rel=0.01)


def lists_of_recipes(random, seed=1, n_languages=40):
    """Fit four recipes whose lists add 0, 0, 20 and 20 points, and two without a list."""
    rng = np.random.default_rng(seed)
    model, lang = (
        np.repeat(np.arange(6), n_languages),
        np.tile(np.arange(n_languages), 6),
    )
    is_listed = (model < 4) & (rng.random(len(model)) < 0.5)
    gain = np.array([0, 0, 0.2, 0.2, 0, 0])[model] * is_listed
    y = (
        0.3
        + 0.1 * rng.normal(size=6)[model]
        + gain
        + 0.05 * rng.normal(size=n_languages)[lang]
        + 0.02 * rng.normal(size=len(model))
    )
    level = np.where(model >= 4, "no list", np.where(is_listed, "listed", "other"))
    columns = {
        "model": model.astype(str),
        "lang": lang.astype(str),
        "accuracy": y,
        "n": 1000,
        "value": y,
    }
    columns |= {
        "list": pd.Categorical(level, ["other", "listed", "no list"]),
        "is_listed": is_listed.astype(float),
    }
    known = {"model": ("model", ""), "language": ("lang", "")}
    return mixed_model.fit(pd.DataFrame(columns), "accuracy", ["list"], known | random)


def test_an_effect_that_differs_by_recipe_has_as_many_degrees_of_freedom_as_recipes_less_one():
    common = (
        mixed_model.wald(lists_of_recipes({})).set_index("name").loc["list: listed"]
    )
    own = lists_of_recipes({"of a list": ("model", "is_listed")})
    varying = mixed_model.wald(own).set_index("name").loc["list: listed"]
    assert common["df"] > 100
    assert common["p"] < 0.001, "as if each language told of lists in general"
    assert varying["df"] == pytest.approx(3, abs=0.1)
    assert varying["p"] == pytest.approx(
        scipy_stats.ttest_1samp([0, 0, 0.2, 0.2], 0).pvalue, abs=0.02
    )
    points = mixed_model.slopes(
        own, "of a list", "accuracy", "lang", 50, fixed="list: listed"
    ).set_index("level")
    assert points.loc[["0", "1", "2", "3"], "value"].tolist() == pytest.approx(
        [0, 0, 20, 20], abs=1.5
    )


def test_the_slope_of_a_model_is_the_common_one_and_its_own(crossed):
    table = mixed_model.slopes(
        crossed, "slope by model", "accuracy", "lang", 50
    ).set_index("level")
    own = crossed.effects[crossed.effects["name"] == "slope by model"].set_index(
        "level"
    )["value"]
    common = crossed.coefficients.set_index("name").loc["x", "value"]
    assert table["value"].to_dict() == pytest.approx(
        (100 * (own + common)).to_dict(), rel=1e-6
    )
    assert table["value"].is_monotonic_decreasing


# --- scales
# ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", list(mixed_model.SCALES))
def test_the_criterion_of_a_scale_has_the_derivative_of_the_scale(crossed, scale):
    table = pd.DataFrame({"value": [0.03, 0.4, 0.9], "n": [500, 1000, 50_000]})
    step = 1e-6
    up, down = (
        mixed_model.scaled(table.assign(value=table["value"] + sign * step), scale)
        for sign in (1, -1)
    )
    expected = np.log((up - down) / (2 * step)).sum()
    found = replace(crossed, table=table, likelihood=0.0, parameters=0)
    assert mixed_model.aic(found, scale) == pytest.approx(-2 * expected, abs=1e-5)


def test_terms_that_depend_on_each_other_are_refused():
    table = simulated()
    with pytest.raises(InputError, match="one follows from the others"):
        mixed_model.fit(
            table.assign(twice=2 * table["x"]), "y", ["x", "twice"], CROSSED
        )
