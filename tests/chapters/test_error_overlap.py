"""Overlap of errors: against cases done by hand and against simulated errors."""

from collections import Counter
from itertools import combinations, product
from math import comb

import numpy as np
import pandas as pd
import pytest

from atlas_study.chapters import error_overlap
from babelatlas.analysis import real_run
from babelatlas.base import tables
from babelatlas.base.errors import InputError
from babelatlas.evaluation import disambiguation

RNG = np.random.default_rng(7)


def table_of(costs, model="m", similarity="cosine", images=("a0", "b0")):
    """A `disambiguation` table from costs (item, image, text)."""
    rows = [
        (
            model,
            0,
            "pictogram-pairs",
            similarity,
            "float32",
            "",
            "fr",
            f"w{i:03}",
            image,
            text,
            cost,
        )
        for i, item in enumerate(np.asarray(costs, float))
        for image, texts in zip(images, item, strict=True)
        for text, cost in zip("ab", texts, strict=True)
    ]
    return pd.DataFrame(rows, columns=list(tables.SCHEMAS["disambiguation"][0]))


def array_of(table):
    """The costs (item, image, text) of the one unit of a `disambiguation` table."""
    [(_, part)] = disambiguation.units(table)
    return disambiguation.cost_grid(part, disambiguation.ORIGINALS)[1]


def test_shared_errors_are_intersection_over_union_on_the_items_that_both_have():
    x, nan = [[1, 1], [1, 0], [0, 0], [0, 1]], np.nan
    y = [[1, 0], [nan, nan], [0, 0], [1, 1]]
    pairs = pd.DataFrame({"first": [0], "second": [1], "kind": "x and y"})
    found = error_overlap.mean_overlap(np.array([x, y]), pairs, n_resamples=200).iloc[0]
    # On items 0, 2 and 3 x errs in a0, b0, b3 and y in a0, a3, b3: 2 of 4. By chance 2
    # of 3 times in one sense, and in the other as well: 0, 1 or 2 in common.
    assert found["value"] == 0.5
    assert found["expected"] == pytest.approx((4 / 9) * (1 / 5) + (4 / 9) * (2 / 4))
    assert found["excess"] == pytest.approx(found["value"] - found["expected"])
    assert found["ci_low"] <= found["value"] <= found["ci_high"]
    assert (found["pairs"], found["n"], found["n_shared"]) == (1, 3, 3)


def test_chance_is_the_mean_over_all_ways_to_place_the_errors():
    n, first, second = 4, (2, 1), (3, 2)
    fixed = [set(range(errors)) for errors in first]
    placed = [list(map(set, combinations(range(n), errors))) for errors in second]
    values = []
    for ways in product(*placed):
        both = sum(len(a & b) for a, b in zip(fixed, ways, strict=True))
        either = sum(len(a | b) for a, b in zip(fixed, ways, strict=True))
        values.append(both / either)
    found = error_overlap.chance_overlap(n, first, second)
    assert found == pytest.approx(np.mean(values))


def test_independent_errors_on_few_common_words_are_rarely_significant():
    rng = np.random.default_rng(3)
    has = rng.random((12, 24)) < 0.35
    first, second = np.triu_indices(12, 1)
    pairs = pd.DataFrame({"first": first, "second": second, "kind": "all"})
    significant, excess = [], []
    for seed in range(200):
        errors = (rng.random((12, 24, 2)) < 0.4).astype(float)
        errors[~has] = np.nan
        found = error_overlap.mean_overlap(errors, pairs, 100, seed=seed).iloc[0]
        significant.append(found["p"] < 0.05)
        excess.append(found["excess"])
    assert found["n_shared"] <= 4
    assert abs(np.mean(excess)) < 0.01
    # Of 200 at 5 %, between 1 and 19 with a probability of 99 %.
    assert 1 <= sum(significant) <= 19


def test_two_cells_with_no_item_or_one_in_common_have_no_p():
    nan = np.nan
    errors = np.array(
        [[[1.0], [0.0], [nan]], [[nan], [nan], [1.0]], [[1.0], [nan], [0.0]]]
    )
    pairs = pd.DataFrame({"first": [0, 0], "second": [1, 2], "kind": ["none", "one"]})
    none, one = error_overlap.mean_overlap(errors, pairs, n_resamples=50).to_dict(
        "records"
    )
    assert np.isnan([none["n"], none["value"], none["p"], one["p"]]).all()
    assert (one["n"], one["value"], one["expected"]) == (1, 1, 1)


def photographs(monkeypatch, models, langs):
    rows = [
        ("imagenet-photos", model, lang, f"n{at}", at % 2, 1)
        for model in models
        for lang in langs
        for at in range(4)
    ]
    columns = ["dataset", "model", "lang", "wnid", "n_correct", "n_images"]
    table = pd.DataFrame(rows, columns=columns)
    monkeypatch.setattr(error_overlap.real_run, "read", lambda *_: table)


def test_one_model_in_one_language_has_no_photographs_to_compare(monkeypatch):
    photographs(monkeypatch, ["m"], ["en", "de"])
    assert error_overlap.on_photographs("x", ["m"], 24, 20, 0).overlap.empty
    photographs(monkeypatch, ["m"], ["en"])
    assert error_overlap.on_photographs("x", ["m"], 24, 20, 0).overlap.empty


def test_a_model_without_photographs_is_named(monkeypatch):
    photographs(monkeypatch, ["m"], ["de"])
    with pytest.raises(InputError, match="openai-b32"):
        error_overlap.on_photographs("x", ["openai-b32"], 24, 20, 0)


def test_languages_without_a_common_word_are_not_counted():
    costs = pd.concat(
        [
            table_of(RNG.normal(size=(3, 2, 2))).assign(model=model, lang=lang)
            for model, lang in [("m", "de"), ("n", "de"), ("m", "fr"), ("n", "fr")]
        ]
    )
    apart = (costs["model"] == "n") & (costs["lang"] == "fr")
    costs["item"] = (
        costs["item"].astype(str).mask(apart, "x" + costs["item"].astype(str))
    )
    costs = tables.categories(costs)
    grids = error_overlap.error_grids(costs, dict.fromkeys("mn", "CLIP-like"), 10)
    pairs = error_overlap.pairs_of_models(grids, ["m", "n"])
    overlap = error_overlap.overlaps(grids, pairs, 20, 0)
    assert set(error_overlap.with_models(overlap, pairs)["langs"]) == {1}


def test_independent_errors_overlap_as_expected_and_copied_ones_more():
    errors = np.random.default_rng(0).random((6, 300, 2)) < 0.4
    errors[5] = errors[4]
    pairs = pd.DataFrame(
        {"first": [0, 2, 4], "second": [1, 3, 5], "kind": ["free", "free", "copied"]}
    )
    free, copied = error_overlap.mean_overlap(errors, pairs, n_resamples=500).to_dict(
        "records"
    )
    assert free["excess_low"] < 0 < free["excess_high"]
    assert free["p_holm"] > 0.05
    assert copied["value"] == 1
    assert copied["p_holm"] < 0.05
    assert (free["pairs"], copied["pairs"]) == (2, 1)


def test_a_kind_of_pairs_in_which_nobody_errs_has_no_overlap():
    errors = np.zeros((3, 4, 2))
    errors[2, 0] = 1
    pairs = pd.DataFrame({"first": [0, 0], "second": [1, 2], "kind": ["none", "one"]})
    none, one = error_overlap.mean_overlap(errors, pairs, n_resamples=50).to_dict(
        "records"
    )
    assert none["pairs"] == 0
    assert np.isnan([none["value"], none["expected"], none["p_holm"]]).all()
    assert (one["value"], one["pairs"]) == (0, 1)


def test_many_pairs_of_a_kind_give_the_mean_of_each_alone():
    errors = np.random.default_rng(1).random((40, 5, 2)) < 0.5
    first, second = np.triu_indices(40, 1)
    pairs = pd.DataFrame({"first": first, "second": second, "kind": "all"})
    alone = [
        (errors[a] & errors[b]).sum() / (errors[a] | errors[b]).sum()
        for a, b in zip(first, second, strict=True)
    ]
    found = error_overlap.mean_overlap(errors, pairs, n_resamples=20).iloc[0]
    assert found["value"] == pytest.approx(np.mean(alone))


def test_one_model_in_one_language_has_no_pairs_to_compare_on_any_data_set():
    costs = table_of(RNG.normal(size=(5, 2, 2)))
    found = error_overlap.error_grids(costs, {"m": "CLIP-like"}, 10)
    pairs = error_overlap.pairs_of_models(found, ["m"])
    overlap = error_overlap.overlaps(found, pairs, 20, 0)
    overlap = error_overlap.with_models(overlap, pairs)
    assert list(overlap.groupby("dataset")) == []
    assert error_overlap.n_above_chance(overlap) == 0


def test_errors_of_a_model_that_is_sure_of_itself_are_no_ties():
    table = table_of(np.exp([[[1e-8, 3e-8], [4e-8, 2e-8]]]), similarity="perplexity")
    [(key, items, wrong)] = error_overlap.errors(table)
    assert key == ("m", 0, "pictogram-pairs", "fr")
    assert items.tolist() == ["w000"]
    assert not wrong["TC"].any()


def test_an_ensemble_of_a_model_with_a_copy_decides_as_the_model_does():
    values = np.exp(RNG.normal(size=(30, 3, 2)))
    images = ("a0", "b0", "mix")
    copy = table_of(-5 + 100 * np.log(values), "n", images=images)
    both = pd.concat([table_of(values, similarity="perplexity", images=images), copy])
    costs = array_of(error_overlap.ensemble(both, ["m", "n"], "both"))
    assert (disambiguation.tc(costs) == disambiguation.tc(values[:, :2])).all()
    assert (disambiguation.ic(costs) == disambiguation.ic(values[:, :2])).all()
    assert costs.mean(axis=(1, 2)) == pytest.approx(np.zeros(30), abs=1e-9)
    assert np.sqrt((costs**2).mean()) == pytest.approx(1)


def test_an_ensemble_of_models_with_independent_noise_is_better_than_each():
    truth = np.array([[0.0, 1.0], [1.0, 0.0]])
    parts = {name: truth + 1.5 * RNG.normal(size=(200, 2, 2)) for name in "mno"}
    table = pd.concat([table_of(part, name) for name, part in parts.items()])
    costs = array_of(error_overlap.ensemble(table, list("mno"), "all"))
    assert disambiguation.tc(costs).mean() > 0.05 + max(
        disambiguation.tc(part).mean() for part in parts.values()
    )
    each = disambiguation.outcomes(table)
    items = error_overlap.by_item(table, each, list("mno"), "all").query(
        "metric == 'TC'"
    )
    assert items.groupby("model")["value"].mean()["all"] == pytest.approx(
        disambiguation.tc(costs).mean()
    )
    assert items.groupby("model").size().to_dict() == {
        "all": 200,
        "m": 200,
        "n": 200,
        "o": 200,
    }


def test_a_model_that_makes_no_difference_changes_nothing_in_an_ensemble_and_a_sure_one_counts():
    values = RNG.normal(size=(10, 2, 2))
    table = pd.concat([table_of(values), table_of(np.full((10, 2, 2), 3.0), "n")])
    costs = array_of(error_overlap.ensemble(table, ["m", "n"], "both"))
    assert (disambiguation.tc(costs) == disambiguation.tc(values)).all()
    logs = 1e-9 * (2 + np.array([[[0, 1], [1, 0]]] * 4))
    one = table_of(np.exp(logs), similarity="perplexity")
    costs = array_of(
        error_overlap.ensemble(
            pd.concat([one, table_of(np.ones((4, 2, 2)), "n")]), ["m", "n"], "both"
        )
    )
    assert disambiguation.tc(costs).all()


@pytest.mark.parametrize("alike", ["perplexity", "cosine"])
def test_positive_scores_from_files_are_averaged_as_perplexities_and_negative_ones_as_they_are(
    alike,
):
    values = (
        np.exp(RNG.normal(size=(12, 2, 2)))
        if alike == "perplexity"
        else -RNG.random((12, 2, 2))
    )
    other = table_of(RNG.normal(size=(12, 2, 2)), "n")
    one, two = (
        error_overlap.ensemble(
            pd.concat([table_of(values, similarity=kind), other]), ["m", "n"], "both"
        )
        for kind in ("given", alike)
    )
    pd.testing.assert_frame_equal(one, two)


def test_an_ensemble_names_what_a_member_lacks():
    table = pd.concat([table_of(np.ones((3, 2, 2))), table_of(np.ones((2, 2, 2)), "n")])
    with pytest.raises(InputError, match="Not all of m, n have a score of item 'w002'"):
        error_overlap.ensemble(table, ["m", "n"], "both")


def slow_overlap(first, second):
    """IoU of two lists of errors (item, sense), and that of independent errors, by
    counting; the senses are counted apart.
    """
    both, errors, by_chance = 0, 0, {0: 1.0}
    n_items = len(first)
    for sense in (0, 1):
        errors_1 = {item for item in range(n_items) if first[item][sense]}
        errors_2 = {item for item in range(n_items) if second[item][sense]}
        both += len(errors_1 & errors_2)
        errors += len(errors_1) + len(errors_2)
        more = Counter()
        for shared in range(min(len(errors_1), len(errors_2)) + 1):
            ways = comb(len(errors_1), shared) * comb(
                n_items - len(errors_1), len(errors_2) - shared
            )
            for before, probability in by_chance.items():
                more[before + shared] += (
                    probability * ways / comb(n_items, len(errors_2))
                )
        by_chance = more
    if not errors:
        return np.nan, np.nan
    expected = sum(p * shared / (errors - shared) for shared, p in by_chance.items())
    return both / (errors - both), expected


def slow_errors(costs, metric):
    """The errors of one model in one language, choice by choice: item -> two flags."""
    cost = costs.set_index(["item", "image", "text"])["cost"].to_dict()
    found = {}
    for item in costs["item"].unique():
        flags = []
        for meant, other in ("ab", "ba"):
            right = cost[item, f"{meant}0", meant]
            wrong = (
                cost[item, f"{meant}0", other]
                if metric == "TC"
                else cost[item, f"{other}0", meant]
            )
            flags.append(not right < wrong - disambiguation.TIE)
        found[item] = flags
    return found


@pytest.mark.parametrize("metric", ["TC", "IC"])
def test_overlaps_of_the_bridges_are_those_of_a_count_pair_by_pair(metric):
    costs = real_run.read("disambiguation").query("model != 'bridge-lite2-enpt'")
    models = list(costs["model"].unique())
    family = dict.fromkeys(models, "CLIP-like")
    grids = error_overlap.error_grids(costs, family, 6)
    same = error_overlap.pairs_of_models(grids, models)
    kinds = error_overlap.pairs_by_kind(grids, same)
    found = error_overlap.overlaps(grids, kinds, 20, 0).query("metric == @metric")
    found = found.set_index("kind")
    errors = {
        key: slow_errors(part[part["image"].isin(["a0", "b0"])], metric)
        for key, part in costs.groupby(["model", "lang"])
    }
    langs = sorted(costs["lang"].unique())
    [most] = grids.widest.values()
    both = [(("bridge-lite0", lang), ("bridge-lite2", lang)) for lang in langs]
    pairs = {"bridge-lite0 and bridge-lite2": both}
    for model in models:
        pairs[f"{model}: two languages"] = [
            ((model, first), (model, second))
            for first, second in combinations(sorted(most), 2)
        ]
    for kind, cells in pairs.items():
        values = []
        for first, second in cells:
            items = sorted(errors[first].keys() & errors[second].keys())
            values.append(
                slow_overlap(
                    [errors[first][item] for item in items],
                    [errors[second][item] for item in items],
                )
            )
        observed, expected = np.nanmean(values, axis=0)
        assert found.loc[kind, "value"] == pytest.approx(observed)
        assert found.loc[kind, "expected"] == pytest.approx(expected)


def test_with_many_models_pairs_are_named_by_their_families():
    names = [f"m{number}" for number in range(5)]
    costs = pd.concat([table_of(RNG.normal(size=(4, 2, 2)), name) for name in names])
    family = dict.fromkeys(names, "CLIP-like") | {"m4": "translators"}
    grids = error_overlap.error_grids(costs, family, 10)
    kinds = error_overlap.pairs_by_kind(
        grids, error_overlap.pairs_of_models(grids, names)
    )
    assert kinds["kind"].value_counts().to_dict() == {
        "within CLIP-like": 6,
        "CLIP-like and translators": 4,
    }


def test_models_without_a_common_language_or_word_are_named_in_one_sentence():
    costs = table_of(RNG.normal(size=(3, 2, 2)))
    german = table_of(RNG.normal(size=(3, 2, 2)), "n").assign(lang="de")
    others = table_of(RNG.normal(size=(3, 2, 2)), "o")
    others["item"] = "x" + others["item"]
    every = pd.concat([costs, german, others])
    grids = error_overlap.error_grids(every, dict.fromkeys("mno", "CLIP-like"), 10)
    assert error_overlap.without_common_items(grids, list("mno")) == (
        "Not compared, since they have no language and ambiguous word in common: m and"
        " n; m and o; n and o. Evaluate them on the same data set and languages."
    )
    alone = error_overlap.error_grids(costs, {"m": "CLIP-like"}, 10)
    assert error_overlap.without_common_items(alone, ["m"]) == ""


def test_without_tables_there_are_no_errors_to_compare():
    costs = error_overlap.read_costs([])
    grids = error_overlap.error_grids(costs, {}, 10)
    same = error_overlap.pairs_of_models(grids, [])
    assert error_overlap.overlaps(grids, same, 20, 0).empty
    assert error_overlap.gains_of_ensembles(costs, {}, 4, 20, 0).empty
