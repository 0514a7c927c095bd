"""Real models: the best of a language and its rivals, and the Pareto front, by hand and against other programs."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import stats as scipy_stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint, proportions_ztest

from babelatlas.analysis.released import real_models
from babelatlas.base import released
from babelatlas.base.errors import InputError
from babelatlas.stats import tests


def rows(correct, n=1000, names="abcdefgh"):
    """Results of one language: models a, b ... with so many hits."""
    table = pd.DataFrame({"model": list(names)[: len(correct)], "n": n, "n_correct": np.array(correct, float)})
    return table.assign(value=table["n_correct"] / table["n"])


def test_the_best_model_and_its_rivals_agree_with_statsmodels():
    counts = [480, 500, 455, 430, 300]
    found = real_models.best(rows(counts)).set_index("model")
    p = [proportions_ztest([500, other], [1000, 1000])[1] for other in (480, 455, 430, 300)]
    corrected = dict(zip("acde", multipletests(p, method="holm")[1], strict=True))
    assert found.index.tolist() == list("bacde")
    assert np.isnan(found.loc["b", "p_holm"])
    assert found.loc["b", "same"]
    for name, value in corrected.items():
        assert found.loc[name, "p_holm"] == pytest.approx(value)
        assert found.loc[name, "same"] == (value >= 0.05)
    expected = proportion_confint(500, 1000, method="beta")
    assert found.loc["b", ["ci_low", "ci_high"]].tolist() == pytest.approx(list(expected))


def test_the_test_of_two_shares_is_pearsons_without_a_correction():
    p = real_models.two_shares(40, 100, np.array([25]), np.array([120]))
    assert p[0] == pytest.approx(scipy_stats.chi2_contingency([[40, 60], [25, 95]], correction=False).pvalue)


def test_models_that_all_miss_or_all_hit_do_not_differ():
    assert real_models.best(rows([0, 0]))["p_holm"].tolist()[1] == 1
    assert real_models.best(rows([1000, 1000]))["same"].tolist() == [True, True]


def test_the_best_of_a_language_is_the_highest_of_its_released_results():
    table = released.one_run(
        released.read(harness="clip_benchmark", dataset="xm3600", metric="recall@1", direction="t2i", lang="sw")
    )
    found = real_models.best(table)
    assert len(found) == len(table) == table["model"].nunique()
    assert found["value"].iloc[0] == table["value"].max()
    assert found["same"].iloc[0]


def test_results_without_a_number_of_cases_have_neither_interval_nor_test():
    table = rows([500, 490, 480]).assign(n=[1000, 0, 1000], n_correct=[500, np.nan, np.nan])
    found = real_models.best(table).set_index("model")
    assert found.loc["b", ["ci_low", "ci_high", "p_holm"]].isna().all()
    assert not found.loc["b", "same"]
    assert found.loc["c", "same"]
    assert found.loc["c", "ci_low"] < 0.48
    assert real_models.best(table.assign(n=0, n_correct=np.nan))["p_holm"].isna().all()


def test_one_model_is_the_best_and_no_model_none():
    assert real_models.best(rows([5]))["same"].tolist() == [True]
    empty = real_models.best(rows([]))
    assert empty.empty
    assert list(empty) == ["model", "value", "ci_low", "ci_high", "p_holm", "same"]


def test_a_model_given_twice_an_unknown_one_or_a_missing_column_stops_the_best():
    with pytest.raises(InputError, match="'a' has several"):
        real_models.best(pd.concat([rows([5]), rows([6])]))
    with pytest.raises(InputError, match="needs the column"):
        real_models.best(rows([5]).drop(columns="n"))


def test_the_pareto_front_agrees_with_comparing_all_pairs():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"cost": rng.integers(1, 9, 60), "value": rng.integers(0, 12, 60) / 12})
    expected = [
        place
        for place, row in table.iterrows()
        if not (
            ((table.cost <= row.cost) & (table.value > row.value))
            | ((table.cost < row.cost) & (table.value >= row.value))
        ).any()
    ]
    front = real_models.pareto_front(table, "cost", "value")
    assert sorted(front.index) == expected
    assert front["cost"].is_monotonic_increasing
    assert front["value"].is_monotonic_increasing


def test_the_pareto_front_leaves_out_unknown_costs_and_names_a_missing_column():
    table = pd.DataFrame({"cost": [np.nan, 2], "value": [0.9, 0.1]})
    assert real_models.pareto_front(table, "cost", "value").index.tolist() == [1]
    assert real_models.pareto_front(table.iloc[:1], "cost", "value").empty
    with pytest.raises(InputError, match="gflops"):
        real_models.pareto_front(table, "gflops", "value")


def test_a_board_is_the_mean_of_both_directions_of_each_model_once():
    found = real_models.board("clip_benchmark", "xm3600", "recall@1")
    assert found.groupby("model")["lang"].nunique().unique().tolist() == [36]
    assert found["model"].nunique() == 114
    row = found.query("model == 'openclip-xlmr-h14' and lang == 'de'").iloc[0]
    assert row["n"] == 3600
    raw = released.read(harness="clip_benchmark", dataset="xm3600", metric="recall@1", lang="de")
    raw = raw[raw["checkpoint"] == "xlm-roberta-large-ViT-H-14, frozen_laion5b_s13b_b90k"]
    assert row["value"] == pytest.approx(raw["n_correct"].sum() / raw["n"].sum(), abs=1e-4)


def test_a_board_of_several_variants_asks_for_one():
    with pytest.raises(InputError, match="give one of its variants"):
        real_models.board("babel-imagenet", "babel-imagenet", "accuracy@1")
    assert real_models.board("babel-imagenet", "babel-imagenet", "accuracy@1", "label")["model"].nunique() == 12
    with pytest.raises(InputError, match="No released result"):
        real_models.board("clip_benchmark", "xm3600", "recall@2")


def test_neighbours_in_a_ranking_agree_with_the_paired_test_of_stats():
    rng = np.random.default_rng(1)
    values = (0.2 + 0.02 * np.arange(4) + 0.03 * rng.normal(size=(9, 4))).clip(0, 1)
    table = pd.DataFrame(values, columns=list("abcd"), index=[f"l{n}" for n in range(9)]).rename_axis("lang")
    long = table.reset_index().melt("lang", var_name="model")
    found = real_models.neighbours(long)
    order = table.mean().sort_values(ascending=False).index
    assert found["first"].tolist() == list(order[:-1])
    assert found["second"].tolist() == list(order[1:])
    p = [tests.paired_permutation_test(table[a] - table[b]) for a, b in itertools.pairwise(order)]
    assert found["p"].tolist() == pytest.approx(p)
    assert found["p_holm"].tolist() == pytest.approx(multipletests(p, method="holm")[1].tolist())
    homes = {f"l{n}": f"f{n // 2}" for n in range(9)}
    sums = table.groupby(table.index.map(homes)).sum()
    p = [tests.paired_permutation_test(sums[a] - sums[b]) for a, b in itertools.pairwise(order)]
    assert real_models.neighbours(long, homes)["p"].tolist() == pytest.approx(p)
    assert real_models.neighbours(long[long["model"] == "a"]).empty


def test_the_best_within_a_budget_is_the_cheaper_of_equals_and_missing_where_all_cost_more():
    table = pd.DataFrame({"model": list("abcd"), "size": [5, 3, 9, np.nan], "value": [0.4, 0.4, 0.6, 0.9]})
    found = real_models.within_budgets(table, "size", [2, 6, 10])
    assert found[["budget", "model"]].to_numpy().tolist() == [[6, "b"], [10, "c"]]
    assert real_models.within_budgets(table, "size", []).empty


def test_a_runs_own_real_models_join_and_the_miniature_does_not():
    rows = [
        ("openai-b32", "de", "t2i recall@1", 0.2, 100),
        ("openai-b32", "de", "i2t recall@1", 0.4, 50),
        ("picto-en", "de", "t2i recall@1", 0.9, 100),
        ("my-model", "de", "t2i recall@1", 0.5, 100),
        ("my-model", "de", "t2i recall@5", 0.9, 100),
    ]
    found = pd.DataFrame(rows, columns=["model", "lang", "metric", "value", "n"]).assign(dataset="xm3600")
    own = real_models.own_board(found, "xm3600", "recall@1").set_index("model")
    assert own["value"].to_dict() == {"my-model": 0.5, "openai-b32": pytest.approx(0.3)}
    assert own["n"].to_dict() == {"my-model": 100, "openai-b32": 50}
    assert real_models.own_board(found[found["model"] == "picto-en"], "xm3600", "recall@1").empty


def test_the_registry_joins_the_entries_of_the_list_of_models():
    every, known = real_models.registry(), released.models()
    assert every["model"].is_unique
    assert list(every["model"][: len(known)]) == list(known.index)
    entries = every[every["entry"] != ""].set_index("entry")
    assert {"siglip2-b16-256", "openai-b32"} <= set(entries.index)
    assert entries.loc["siglip2-b16-256", "parameters_m"] > 100
    assert "picto-en" not in set(every["model"])
    assert not every.drop(columns=["parameters_m", "gflops", "image_size", "samples_seen"]).isna().any(axis=None)
