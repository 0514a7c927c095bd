"""Disambiguation: the measures against the paper's equations, written out slowly, and against what they imply."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from babelatlas.analysis import error_overlap, metric_relations
from babelatlas.base import tables
from babelatlas.base.errors import InputError
from babelatlas.evaluation import disambiguation, perplexity
from babelatlas.stats import bootstrap

RNG = np.random.default_rng(7)
# Costs that tie often, and never almost.
WHOLE = st.integers(0, 4).map(float)


def arrays(*shape):
    """Arrays (item, *shape) of one to six items."""
    size = int(np.prod(shape))
    return st.lists(st.lists(WHOLE, min_size=size, max_size=size), min_size=1, max_size=6).map(
        lambda rows: np.array(rows).reshape(len(rows), *shape)
    )


def table_of(costs, model="m", lang="fr", replicate=0, images=("a0", "b0"), dataset="pictogram-pairs", items=None):
    """A `disambiguation` table from costs (item, image, text)."""
    rows = [
        (model, replicate, dataset, "cosine", "float32", "", lang, items[i] if items else f"w{i:03}", image, text, cost)
        for i, item in enumerate(np.asarray(costs, float))
        for image, texts in zip(images, item, strict=True)
        for text, cost in zip("ab", texts, strict=True)
    ]
    return pd.DataFrame(rows, columns=list(tables.SCHEMAS["disambiguation"][0]))


def tokens_of(lists, shared, temperature=1.0, image=("a0", "b0")):
    """A `tokens` table: lists[item][image][text] of log-probabilities, shared[item]."""
    rows = []
    for i, item in enumerate(lists):
        for name, texts in zip(image, item, strict=True):
            for text, values in zip("ab", texts, strict=True):
                key = ["m", 0, "commute", "perplexity", "float32", "", "fr", f"w{i:03}", name, text]
                rows.append([*key, temperature, shared[i], list(values)])
    return pd.DataFrame(rows, columns=list(tables.SCHEMAS["tokens"][0]))


def array_of(table):
    """The items of the one unit of a `disambiguation` table, and its costs (item, image, text)."""
    [(_, part)] = disambiguation.units(table)
    return disambiguation.cost_grid(part, disambiguation.ORIGINALS)


def costs_of(tokens):
    """A `disambiguation` table of perplexities at temperature 1, from a `tokens` table."""
    rows = tokens[tokens["temperature"] == 1]
    cost = np.exp(perplexity.log_perplexities(rows["log_probabilities"].tolist()))
    return rows[list(tables.TRIAL)].assign(cost=cost).reset_index(drop=True)


# --- The equations, word by word --------------------------------------------------------------------


def slow_perplexity(log_probabilities):
    total = 0.0
    for value in log_probabilities:
        total += value
    return math.exp(-(1 / len(log_probabilities)) * total)


def slow_tc(p, m, n):  # p[image][text]; image m is right for text m
    return 1 if p[m][m] < p[m][n] else 0


def slow_ic(p, m, n):
    return 1 if p[m][m] < p[n][m] else 0


def slow_scores(costs):
    """Equations 2 to 9 for costs[item][image][text]."""
    count = len(costs)
    sums = dict.fromkeys(["TC", "IC", "GTC", "GIC"], 0)
    for p in costs:
        sums["TC"] += slow_tc(p, 0, 1) + slow_tc(p, 1, 0)
        sums["IC"] += slow_ic(p, 0, 1) + slow_ic(p, 1, 0)
        sums["GTC"] += slow_tc(p, 0, 1) * slow_tc(p, 1, 0)
        sums["GIC"] += slow_ic(p, 0, 1) * slow_ic(p, 1, 0)
    return {name: value / (count if name[0] == "G" else 2 * count) for name, value in sums.items()}


def slow_rates(costs, mixed):
    """Section 5.3: which of the four cases each triple is."""
    counts = dict.fromkeys(["IPR", "INR", "CPR", "CNR"], 0)
    for p, q in zip(costs, mixed, strict=True):
        for m, n in ((0, 1), (1, 0)):
            original, ambiguous = p[m][m] < p[m][n], q[m] < q[n]
            if original and not ambiguous:
                counts["IPR"] += 1
            elif not original and ambiguous:
                counts["INR"] += 1
            elif original:
                counts["CPR"] += 1
            else:
                counts["CNR"] += 1
    return {name: count / (2 * len(costs)) for name, count in counts.items()}


def slow_oracle(extended, which):
    """Section 5.5: go through all pairs, keep the best GIC, break ties by Equation 10."""
    found = []
    for item in extended:  # item[sense][number][text]
        best = None
        for a, image_a in enumerate(item[0]):
            for b, image_b in enumerate(item[1]):
                if math.isnan(image_a[0]) or math.isnan(image_b[0]):
                    continue
                p = [image_a, image_b]
                gic = slow_ic(p, 0, 1) * slow_ic(p, 1, 0)
                gap = (p[0][0] - p[1][0]) + (p[1][1] - p[0][1])
                key = (-gic, gap) if which == "max" else (gic, -gap)
                if best is None or key < best[0]:
                    best = (key, (a, b))
        found.append(best[1])
    return found


@settings(deadline=None)
@given(arrays(2, 2))
def test_scores_are_those_of_equations_2_to_9(costs):
    slow = slow_scores(costs.tolist())
    for tie in (0, disambiguation.TIE):
        found = {
            "TC": disambiguation.tc(costs, tie).mean(),
            "IC": disambiguation.ic(costs, tie).mean(),
            "GTC": disambiguation.gtc(costs, tie).mean(),
            "GIC": disambiguation.gic(costs, tie).mean(),
        }
        assert found == pytest.approx(slow, abs=1e-12)


def test_scores_of_random_perplexities_are_those_of_the_equations():
    costs = np.exp(RNG.normal(2, 1, size=(154, 2, 2)))
    slow = slow_scores(costs.tolist())
    assert disambiguation.tc(costs).mean() == pytest.approx(slow["TC"])
    assert disambiguation.gic(costs).mean() == pytest.approx(slow["GIC"])


@settings(deadline=None)
@given(arrays(3, 2))
def test_rates_are_those_of_section_5_3(three):
    costs, mixed = three[:, :2], three[:, 2]
    found = {name: flags.mean() for name, flags in disambiguation.rates(costs, mixed).items()}
    assert found == pytest.approx(slow_rates(costs.tolist(), mixed.tolist()), abs=1e-12)


@settings(deadline=None)
@given(arrays(2, 3, 2), st.sampled_from(["max", "min"]))
def test_the_oracle_takes_the_pair_that_section_5_5_takes(extended, which):
    found = disambiguation.oracle(extended, which)
    assert list(map(tuple, found.tolist())) == slow_oracle(extended.tolist(), which)


@pytest.mark.parametrize("which", ["max", "min"])
def test_the_oracle_passes_over_images_that_are_not_there(which):
    extended = RNG.normal(size=(40, 2, 5, 2))
    for item in extended:
        item[0, RNG.integers(1, 6) :] = np.nan
        item[1, RNG.integers(1, 6) :] = np.nan
    found = disambiguation.oracle(extended, which)
    assert list(map(tuple, found.tolist())) == slow_oracle(extended.tolist(), which)
    assert np.isfinite(disambiguation.chosen(extended, found)).all()


def test_the_order_of_the_two_senses_is_image_a_first_and_the_order_of_the_axes_image_then_text():
    costs = np.array([[[1.0, 2.0], [3.0, 5.0]]])  # image a: 1, 2; image b: 3, 5
    assert disambiguation.tc(costs).tolist() == [[True, False]]  # 1 < 2, not 5 < 3
    assert disambiguation.ic(costs).tolist() == [[True, False]]  # 1 < 3, not 5 < 2
    assert disambiguation.gtc(costs).tolist() == disambiguation.gic(costs).tolist() == [False]
    costs = np.array([[[1.0, 2.0], [0.5, 0.1]]])
    assert disambiguation.tc(costs).tolist() == [[True, True]]  # 1 < 2 and 0.1 < 0.5
    assert disambiguation.ic(costs).tolist() == [[False, True]]  # not 1 < 0.5, but 0.1 < 2


def test_a_perplexity_is_that_of_equation_1():
    for length in (1, 2, 17):
        values = np.log(RNG.uniform(0.01, 1, size=length))
        assert perplexity.perplexity(values) == pytest.approx(slow_perplexity(values.tolist()))
    assert perplexity.perplexity([0.0]) == 1


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ([-800.0], "too large for a number"),
        ([], "at least one token"),
        ([math.nan], "finite"),
        ([-math.inf], "finite"),
        ([0.1], "at most 0"),
    ],
)
def test_a_perplexity_of_what_is_no_probability_stops(values, says):
    with pytest.raises(InputError, match=says):
        perplexity.perplexity(values)


# --- What the definitions imply ---------------------------------------------------------------------


@settings(deadline=None)
@given(arrays(3, 2))
def test_the_rates_add_up_to_tc_and_to_a_half_where_the_ambiguous_image_makes_no_tie(three):
    costs, mixed = three[:, :2], three[:, 2]
    found = {name: flags.mean() for name, flags in disambiguation.rates(costs, mixed).items()}
    assert found["IPR"] + found["CPR"] == pytest.approx(disambiguation.tc(costs).mean())
    assert sum(found.values()) == pytest.approx(1)
    tied = (mixed[:, 0] == mixed[:, 1]).mean()
    assert found["IPR"] + found["CNR"] == pytest.approx(0.5 + tied / 2)
    assert found["INR"] + found["CPR"] == pytest.approx(0.5 - tied / 2)


@settings(deadline=None)
@given(arrays(3, 2))
def test_gtc_lies_between_the_bounds_that_tc_and_the_rates_set(three):
    costs, mixed = three[:, :2], three[:, 2]
    tc, gtc = disambiguation.tc(costs).mean(), disambiguation.gtc(costs).mean()
    ic, gic = disambiguation.ic(costs).mean(), disambiguation.gic(costs).mean()
    assert 2 * tc - 1 <= gtc + 1e-12 <= tc + 2e-12
    assert 2 * ic - 1 <= gic + 1e-12 <= ic + 2e-12
    ipr = disambiguation.rates(costs, mixed)["IPR"].mean()
    assert gtc <= 2 * ipr + 1e-12  # an item that is right twice was wrong once before


@settings(deadline=None)
@given(st.lists(st.tuples(WHOLE, WHOLE), min_size=1, max_size=6))
def test_a_model_that_sees_only_the_text_has_tc_one_half_gtc_0_and_ic_0(texts):
    costs = np.array([[text, text] for text in texts])
    tied = disambiguation.ties(costs).mean()
    assert disambiguation.tc(costs).mean() == pytest.approx((1 - tied) / 2)
    assert not disambiguation.gtc(costs).any()
    assert not disambiguation.ic(costs).any()
    assert disambiguation.ties(costs, "IC").all()


@settings(deadline=None)
@given(arrays(2, 3, 2))
def test_gic_lies_between_the_two_oracles(extended):
    original = disambiguation.gic(extended[:, :, 0])
    best, worst = (
        disambiguation.gic(disambiguation.chosen(extended, disambiguation.oracle(extended, which)))
        for which in ("max", "min")
    )
    assert (worst <= original).all()
    assert (original <= best).all()


@settings(deadline=None)
@given(arrays(2, 2))
def test_swapping_the_names_of_the_senses_swaps_the_outcomes(costs):
    swapped = costs[:, ::-1, ::-1]
    assert (disambiguation.tc(swapped) == disambiguation.tc(costs)[:, ::-1]).all()
    assert (disambiguation.ic(swapped) == disambiguation.ic(costs)[:, ::-1]).all()


@settings(deadline=None)
@given(arrays(2, 2))
def test_texts_and_images_change_places_between_tc_and_ic(costs):
    assert (disambiguation.tc(costs.swapaxes(1, 2)) == disambiguation.ic(costs)).all()


def test_with_one_image_each_the_oracle_replaces_nothing():
    extended = RNG.normal(size=(9, 2, 1, 2))
    for which in ("max", "min"):
        assert not disambiguation.oracle(extended, which).any()


def test_an_oracle_for_which_all_pairs_are_equal_keeps_the_originals():
    assert disambiguation.oracle(np.ones((3, 2, 5, 2))).tolist() == [[0, 0]] * 3


def test_an_oracle_over_images_that_say_nothing_replaces_four_of_five():
    extended = np.random.default_rng(0).normal(size=(2000, 2, 5, 2))
    for which in ("max", "min"):
        share = (disambiguation.oracle(extended, which) != 0).mean()
        assert share == pytest.approx(0.8, abs=0.02)


def test_differences_in_the_last_digits_are_ties_unless_the_equations_are_asked_for_to_the_letter():
    costs = np.array([[[1.0, 1.0 + 1e-9], [1.0, 1.0]], [[1e4, 1e4 + 1e-4], [3.0, 3.0]]])
    assert not disambiguation.tc(costs).any()
    assert disambiguation.ties(costs).all()
    assert disambiguation.tc(costs, tie=0).tolist() == [[True, False], [True, False]]
    assert disambiguation.ties(costs, tie=0).tolist() == [[False, True], [False, True]]


def test_the_perplexities_of_a_model_that_is_sure_of_itself_are_no_ties():
    logs = np.array([[[1e-8, 3e-8], [4e-8, 2e-8]]])
    assert not disambiguation.tc(np.exp(logs)).any()
    for tie in (0, disambiguation.TIE):
        assert disambiguation.tc(logs, tie, logarithms=True).tolist() == [[True, True]]
        assert disambiguation.ic(logs, tie, logarithms=True).tolist() == [[True, True]]
    found = disambiguation.scores(table_of(np.exp(logs)).assign(similarity="perplexity"), n_resamples=10)
    assert value(found, "GIC")["value"] == 1
    assert value(found, "ties TC")["value"] == 0
    assert value(disambiguation.scores(table_of(np.exp(logs)), n_resamples=10), "ties TC")["value"] == 1
    for costs, share in ((np.exp(logs), 0), (-np.exp(logs), 1)):
        table = table_of(costs).assign(similarity="given")
        assert value(disambiguation.scores(table, n_resamples=10), "ties TC")["value"] == share
    [(_, items, wrong)] = error_overlap.errors(table_of(np.exp(logs)).assign(similarity="perplexity"))
    assert not wrong["TC"].any()
    assert items.tolist() == ["w000"]


def test_log_perplexities_that_differ_in_the_last_digits_are_ties():
    logs = 1e-8 * np.array([[[1.0, 1.0 + 1e-9], [1.0, 1.0]]])
    assert disambiguation.ties(logs, logarithms=True).all()
    assert not disambiguation.tc(logs, logarithms=True).any()
    assert disambiguation.tc(logs, tie=0, logarithms=True).tolist() == [[True, False]]
    assert disambiguation.ties(np.zeros((1, 2, 2)), "IC", logarithms=True).all()


@settings(deadline=None)
@given(arrays(2, 3, 2), st.sampled_from(["max", "min"]))
def test_scores_of_perplexities_and_of_their_logarithms_are_the_same(extended, which):
    extended = 1 + extended
    logs = np.log(extended)
    numbers = disambiguation.oracle(logs, which, logarithms=True)
    gics, gaps = ([], [])
    for place in (numbers, disambiguation.oracle(extended, which)):
        pair = disambiguation.chosen(extended, place)
        gics.append(disambiguation.gic(pair).tolist())
        gaps.append(pair[:, 0, 0] - pair[:, 1, 0] + pair[:, 1, 1] - pair[:, 0, 1])  # of perplexities, as Eq. 10 has it
    assert gics[0] == gics[1]
    assert gaps[0] == pytest.approx(gaps[1])
    costs, mixed = extended[:, :, 0], extended[:, 0, 1]
    rates = disambiguation.rates(np.log(costs), np.log(mixed), logarithms=True)
    for name, flags in disambiguation.rates(costs, mixed).items():
        assert (flags == rates[name]).all()


def test_between_is_what_its_name_says():
    costs = np.array([[[1.0, 5.0], [3.0, 4.0]]])
    assert disambiguation.between(costs, np.array([[2.0, 6.0]])).tolist() == [[True, False]]
    assert disambiguation.between(costs, np.array([[0.9, 4.5]])).tolist() == [[False, True]]


def test_functions_say_what_they_cannot_take():
    with pytest.raises(InputError, match="axes item, image"):
        disambiguation.tc(np.ones((3, 2)))
    with pytest.raises(InputError, match="'max' or 'min'"):
        disambiguation.oracle(np.ones((1, 2, 1, 2)), "best")
    with pytest.raises(InputError, match="at least one image"):
        disambiguation.oracle(np.full((1, 2, 1, 2), np.nan))
    with pytest.raises(InputError, match="of TC or of IC"):
        disambiguation.ties(np.ones((1, 2, 2)), "GTC")


# --- Tables ------------------------------------------------------------------------------------------


def test_a_table_becomes_an_array_whatever_the_order_of_its_rows():
    values = RNG.normal(size=(12, 4, 2))
    table = table_of(values, images=("a0", "b0", "mix", "side")).sample(frac=1, random_state=0)
    [(_, part)] = disambiguation.units(table)
    items, found = disambiguation.cost_grid(part, disambiguation.ORIGINALS)
    assert items.tolist() == [f"w{i:03}" for i in range(12)]
    assert np.array_equal(found, values[:, :2])
    assert np.array_equal(disambiguation._mixed(part, "mix"), values[:, 2])
    assert np.array_equal(disambiguation._mixed(part, "side"), values[:, 3])


def test_further_images_stand_behind_the_original_and_gaps_at_the_end():
    values = RNG.normal(size=(3, 5, 2))
    table = table_of(values, images=("a0", "b0", "b1", "a1", "a2"))
    [(_, part)] = disambiguation.units(table[~((table["item"] == "w001") & (table["image"] == "a2"))])
    found = disambiguation._extended(part)
    assert found.shape == (3, 2, 3, 2)
    assert np.array_equal(found[0, 0], values[0, [0, 3, 4]])
    assert np.array_equal(found[:, 1, :2], values[:, [1, 2]])
    assert np.isnan(found[:, 1, 2]).all()
    assert np.isnan(found[1, 0, 2]).all()


BAD = {
    "missing": (lambda t: t.assign(cost=t["cost"].where(t.index != 5)), "'b' of item 'w001' given image 'a0'.*nan"),
    "infinite": (lambda t: t.assign(cost=t["cost"].where(t.index != 5, np.inf)), "item 'w001'.*inf, expected a finite"),
    "one side": (lambda t: t.drop(index=5), "Item 'w001'.*one side only given image 'a0', translation 'a'"),
    "one sense": (lambda t: t.drop(index=[6, 7]), "Item 'w001'.*both original images, a0 and b0, got a0"),
    "no original": (lambda t: t.drop(index=[4, 5, 6, 7]).assign(image="mix"), "got none"),
    "text": (lambda t: t.assign(text=t["text"].where(t.index != 5, "c")), "none of the translations"),
    "protocols": (lambda t: t.assign(precision=["float32"] * 8 + ["float16"] * 4), "2 protocols"),
    "no rows": (lambda t: t.head(0), "with rows, got an empty one"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_table_that_is_not_whole_stops_with_the_name_of_the_item(name):
    change, says = BAD[name]
    table = change(table_of(np.arange(12.0).reshape(3, 2, 2)))
    if name == "no original":
        table = table.drop_duplicates(["item", "image", "text"])
    with pytest.raises(InputError, match=says):
        disambiguation.scores(table, n_resamples=10)


def test_a_row_given_twice_stops():
    table = table_of(np.ones((2, 2, 2)))
    with pytest.raises(InputError, match="a key that occurs before"):
        disambiguation.scores(pd.concat([table, table.head(1)]), n_resamples=10)
    again = pd.concat([table, table.head(1).assign(preprocessing="224")])
    with pytest.raises(InputError, match="2 protocols"):
        disambiguation.scores(again, n_resamples=10)


def test_an_ambiguous_image_that_an_item_lacks_or_that_nobody_knows_stops():
    table = table_of(np.ones((3, 3, 2)), images=("a0", "b0", "mix"))
    part = table[~((table["item"] == "w002") & (table["image"] == "mix"))]
    with pytest.raises(InputError, match=r"Item 'w002' has no costs given its image 'mix' \(1 of 3"):
        disambiguation.scores(part, n_resamples=10)
    with pytest.raises(InputError, match="Image 'c1' has no sense"):
        disambiguation.scores(table_of(np.ones((3, 3, 2)), images=("a0", "b0", "c1")), n_resamples=10)


# --- Scores ------------------------------------------------------------------------------------------


def value(found, metric, variant=""):
    row = found[(found["metric"] == metric) & (found["variant"] == variant)]
    assert len(row) == 1, (metric, variant)
    return row.iloc[0]


def test_scores_are_the_means_of_the_measures_with_an_interval_around_them():
    values = RNG.normal(size=(60, 6, 2)) + np.array([[0, 1], [1, 0], [0, 0], [0, 0], [0, 1], [1, 0]]) * 0.7
    table = table_of(values, images=("a0", "b0", "mix", "side", "a1", "b1"))
    found = disambiguation.scores(table, n_resamples=200)
    for name, slow in slow_scores(values[:, :2].tolist()).items():
        row = value(found, name)
        assert row["value"] == pytest.approx(slow)
        assert row["ci_low"] < row["value"] < row["ci_high"]
        assert row["n"] == (60 if name[0] == "G" else 120)
    for image, place in (("mix", 2), ("side", 3)):
        for name, slow in slow_rates(values[:, :2].tolist(), values[:, place].tolist()).items():
            assert value(found, name, image)["value"] == pytest.approx(slow)
    extended = values[:, [0, 4, 1, 5]].reshape(60, 2, 2, 2)
    for which in ("max", "min"):
        numbers = np.array(slow_oracle(extended.tolist(), which))
        pairs = [[item[0][a], item[1][b]] for item, (a, b) in zip(extended.tolist(), numbers, strict=True)]
        for name, slow in slow_scores(pairs).items():
            assert value(found, name, f"oracle {which}")["value"] == pytest.approx(slow)
        assert value(found, "replacement rate", f"oracle {which}")["value"] == pytest.approx((numbers != 0).mean())


def test_the_interval_draws_items_with_both_senses():
    values = RNG.normal(size=(80, 2, 2)) + np.array([[0, 1], [1, 0]])
    row = value(disambiguation.scores(table_of(values), n_resamples=4000), "TC")
    each = disambiguation.tc(values).mean(axis=1)
    rng = np.random.default_rng(1)
    drawn = each[rng.integers(80, size=(4000, 80))].mean(axis=1)
    level = bootstrap.expanded_level(0.95, 80)
    ends = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    assert (row["ci_low"], row["ci_high"]) == pytest.approx(tuple(ends), abs=0.013)


def test_where_all_items_score_the_same_the_interval_is_exact():
    right = np.tile([[0.0, 1.0], [1.0, 0.0]], (10, 1, 1))
    found = disambiguation.scores(table_of(right), n_resamples=50)
    low = scipy_stats.binomtest(10, 10).proportion_ci(method="exact").low
    assert tuple(value(found, "GTC")[["value", "ci_low", "ci_high"]]) == pytest.approx((1, low, 1))
    assert tuple(value(found, "ties TC")[["value", "ci_low", "ci_high"]]) == pytest.approx((0, 0, 1 - low))
    text_only = np.tile([[0.0, 1.0], [0.0, 1.0]], (10, 1, 1))
    found = disambiguation.scores(table_of(text_only), n_resamples=50)
    assert tuple(value(found, "GTC")[["value", "ci_low", "ci_high"]]) == pytest.approx((0, 0, 1 - low))
    # One right and one wrong of each item: up to a share 1 - low of items may have none, or both.
    assert tuple(value(found, "TC")[["value", "ci_low", "ci_high"]]) == pytest.approx((0.5, low / 2, 1 - low / 2))


def test_one_item_alone_has_no_interval():
    found = disambiguation.scores(table_of(np.ones((1, 2, 2))), n_resamples=50)
    assert found["ci_low"].isna().all()
    assert value(found, "ties TC")["value"] == 1


def test_replicates_are_averaged_and_their_deviation_has_rows_of_its_own():
    parts = [RNG.normal(size=(20, 2, 2)) for _ in range(3)]
    table = pd.concat([table_of(part, replicate=number) for number, part in enumerate(parts)])
    found = disambiguation.scores(table, n_resamples=50)
    each = [disambiguation.tc(part).mean() for part in parts]
    assert value(found, "TC")["value"] == pytest.approx(np.mean(each))
    assert value(found, "TC, sd")["value"] == pytest.approx(np.std(each, ddof=1))
    assert np.isnan(value(found, "TC, sd")["ci_low"])
    alone = disambiguation.scores(table[table["replicate"] == 1], n_resamples=50)
    assert not alone["metric"].str.contains("sd").any()
    with pytest.raises(InputError, match=r"replicates of 'm'.*different items"):
        disambiguation.scores(pd.concat([table, table_of(parts[0][:5], replicate=3)]), n_resamples=50)


def test_scores_do_not_depend_on_the_order_of_rows_or_on_other_models_and_repeat():
    one, other = table_of(RNG.normal(size=(15, 2, 2))), table_of(RNG.normal(size=(15, 2, 2)), model="n")
    alone = disambiguation.scores(one, n_resamples=50)
    both = disambiguation.scores(pd.concat([other, one.sample(frac=1, random_state=1)]), n_resamples=50)
    both = both[both["model"] == "m"].reset_index(drop=True)
    pd.testing.assert_frame_equal(alone, both)


def test_outcomes_are_what_scores_are_means_of():
    values = RNG.normal(size=(25, 3, 2))
    table = table_of(values, images=("a0", "b0", "mix"))
    means = disambiguation.outcomes(table).groupby(["variant", "metric"])["value"].mean()
    found = disambiguation.scores(table, n_resamples=10)
    assert len(means) == len(found)
    for row in found.itertuples():
        assert means[row.variant, row.metric] == pytest.approx(row.value)


# --- Tokens ------------------------------------------------------------------------------------------


def test_the_prefix_that_both_translations_share_is_left_out_of_the_mean():
    lists = [[[[-1.0, -2.0, -4.0], [-1.0, -3.0]], [[-2.0, -2.0, -2.0], [-2.0, -1.0]]]]
    found = perplexity.suffix_log_perplexities(tokens_of(lists, [1]))
    assert found.tolist() == pytest.approx([3, 3, 2, 1])
    whole = costs_of(tokens_of(lists, [1]))
    assert np.log(whole["cost"]).tolist() == pytest.approx([7 / 3, 2, 2, 1.5])


def test_translations_that_are_the_same_throughout_keep_their_prefix_and_tie():
    found = perplexity.suffix_log_perplexities(tokens_of([[[[-1.0, -2.0]] * 2] * 2], [2]))
    assert found.tolist() == pytest.approx([1.5] * 4)


@pytest.mark.parametrize("shared", [2, 3, -1])
def test_a_prefix_that_leaves_one_translation_without_tokens_stops(shared):
    with pytest.raises(InputError, match=f"Item 'w000'.*shares {shared} tokens"):
        perplexity.suffix_log_perplexities(tokens_of([[[[-1.0, -2.0, -1.0], [-1.0, -2.0]]] * 2], [shared]))


def test_a_translation_without_tokens_stops():
    with pytest.raises(InputError, match="maps the translation to nothing"):
        costs_of(tokens_of([[[[], [-1.0]]] * 2], [0]))


def test_scores_of_tokens_have_their_own_variants():
    lists = -RNG.uniform(0.1, 3, size=(8, 2, 2, 5))
    tokens = pd.concat([tokens_of(lists, [2] * 8), tokens_of(lists / 2, [2] * 8, temperature=2.0)])
    table = costs_of(tokens)
    found = disambiguation.scores(table, n_resamples=20, tokens=tokens)
    for variant, part in (("", lists), ("without prefix", lists[..., 2:]), ("temperature 2", lists / 2)):
        slow = slow_scores([[[slow_perplexity(t) for t in i] for i in item] for item in part.tolist()])
        for name, expected in slow.items():
            assert value(found, name, variant)["value"] == pytest.approx(expected)
    assert set(found["variant"]) == {"", "without prefix", "temperature 2"}


def test_the_oracle_is_chosen_with_the_prefix_and_scored_without():
    images = ("a0", "b0", "a1", "b1")
    lists = -RNG.uniform(0.1, 3, size=(30, 4, 2, 4))
    tokens = tokens_of(lists, [2] * 30, image=images)
    found = disambiguation.scores(costs_of(tokens), n_resamples=20, tokens=tokens)
    costs, bare = (
        np.exp(-part.mean(axis=-1))[:, [0, 2, 1, 3]].reshape(30, 2, 2, 2) for part in (lists, lists[..., 2:])
    )
    numbers = slow_oracle(costs.tolist(), "max")
    pairs = [[item[0][a], item[1][b]] for item, (a, b) in zip(bare.tolist(), numbers, strict=True)]
    for name, slow in slow_scores(pairs).items():
        assert value(found, name, "oracle max without prefix")["value"] == pytest.approx(slow)


def test_without_the_tokens_of_further_images_the_oracle_is_not_scored_without_prefix():
    tokens = tokens_of(-RNG.uniform(0.1, 3, size=(9, 5, 2, 4)), [2] * 9, image=("a0", "b0", "a1", "b1", "mix"))
    table = costs_of(tokens)
    few = tokens[tokens["image"].isin(["a0", "b0", "mix"])]
    found = set(disambiguation.scores(table, n_resamples=20, tokens=few)["variant"])
    assert found == {"", "mix", "without prefix", "oracle max", "oracle min"}
    more = disambiguation.scores(table[table["image"] != "b1"], n_resamples=20, tokens=tokens)
    assert "oracle max without prefix" in set(more["variant"])
    gap = tokens[~((tokens["item"] == "w003") & (tokens["image"] == "b1"))]
    with pytest.raises(InputError, match="Item 'w003' has costs, but not all their tokens"):
        disambiguation.scores(table, n_resamples=20, tokens=gap)


def test_tokens_of_other_items_or_other_models_stop():
    lists = -RNG.uniform(0.1, 3, size=(8, 2, 2, 5))
    tokens = tokens_of(lists, [2] * 8)
    table = costs_of(tokens)
    with pytest.raises(InputError, match="Item 'w007' is in the table of costs or of tokens, not in both"):
        disambiguation.scores(table[table["item"] != "w007"], n_resamples=20, tokens=tokens)
    gap = tokens[~((tokens["item"] == "w003") & (tokens["image"] == "b0"))]
    with pytest.raises(InputError, match=r"Item 'w003' has costs, but not all their tokens \(1 of 8"):
        disambiguation.scores(table, n_resamples=20, tokens=gap)
    with pytest.raises(InputError, match="no costs of 'm'"):
        disambiguation.scores(table.assign(model="other"), n_resamples=20, tokens=tokens)


def test_a_perplexity_too_large_for_a_number_is_scored_by_its_logarithm():
    lists = [[[[-800.0], [-900.0]], [[-950.0], [-850.0]]]] * 3
    tokens = pd.concat([tokens_of(np.array(lists) / 100, [0] * 3), tokens_of(lists, [0] * 3, 0.25)])
    found = disambiguation.scores(costs_of(tokens), n_resamples=10, tokens=tokens)
    assert value(found, "GTC", "temperature 0.25")["value"] == 1
    assert value(found, "GIC", "temperature 0.25")["value"] == 1


def test_tokens_are_checked_as_costs_are():
    tokens = tokens_of(-RNG.uniform(0.1, 3, size=(3, 2, 2, 4)), [2] * 3).reset_index(drop=True)
    table = costs_of(tokens)
    odd = tokens.assign(text=tokens["text"].where(tokens.index != 5, "c"))
    with pytest.raises(InputError, match=r"Translation 'c' of item 'w001'.*at temperature 1 is none of the transl"):
        disambiguation.scores(table, n_resamples=10, tokens=odd)
    more = tokens.tail(2).assign(image="c1")
    with pytest.raises(InputError, match="Image 'c1' has no sense"):
        disambiguation.scores(table, n_resamples=10, tokens=pd.concat([tokens, more]))
    with pytest.raises(InputError, match=r"'w001'.*at temperature 1 has one side only"):
        disambiguation.scores(table, n_resamples=10, tokens=tokens.drop(index=5))


# --- Overlap and ensembles ----------------------------------------------------------------------------


@settings(deadline=None)
@given(st.lists(st.tuples(*[st.booleans()] * 4), min_size=1, max_size=8))
def test_iou_is_that_of_the_sets_of_errors(rows):
    flags = np.array(rows)
    first, second = flags[:, :2], flags[:, 2:]
    one, two = ({tuple(place) for place in np.argwhere(part)} for part in (first, second))
    found = error_overlap.iou(first, second)
    if one | two:
        assert found == pytest.approx(len(one & two) / len(one | two))
        assert found == error_overlap.iou(second, first)
    else:
        assert np.isnan(found)


def test_the_expected_overlap_is_that_of_permuted_items():
    first, second = RNG.random((150, 2)) < [0.2, 0.6], RNG.random((150, 2)) < [0.3, 0.5]
    drawn = error_overlap.permuted_iou(first, second, 4000)
    assert error_overlap.expected_iou(first, second) == pytest.approx(drawn.mean(), abs=0.003)
    assert drawn.std() > 0.01


def test_permuting_keeps_both_senses_of_an_item_together():
    # Each errs in exactly one sense of every item: so does each after any permutation.
    first = np.eye(2, dtype=bool)[RNG.integers(2, size=40)]
    second = np.eye(2, dtype=bool)[RNG.integers(2, size=40)]
    both = [round(80 * value / (1 + value)) for value in error_overlap.permuted_iou(first, second, 500)]
    # Wrong in a together: c; wrong in b together: 40 - a1 - a2 + c; so the parity of the intersection is fixed.
    assert {count % 2 for count in both} == {(40 - first[:, 0].sum() - second[:, 0].sum()) % 2}


def test_overlap_compares_any_two_of_model_and_language_on_the_items_that_both_have():
    shape = (40, 2, 2)
    base = RNG.normal(size=shape)
    near = base + 0.05 * RNG.normal(size=shape)
    table = pd.concat(
        [
            table_of(base, "m", "fr"),
            table_of(near, "n", "fr"),
            table_of(RNG.normal(size=shape)[:25], "m", "de"),
        ]
    )
    found = error_overlap.pairwise_overlap(table, n_permutations=200)
    pairs = found.set_index(["model", "lang", "other_model", "other_lang", "metric"])
    assert len(pairs) == 6
    same = pairs.loc["m", "fr", "n", "fr", "TC"]
    errors = [~disambiguation.tc(part) for part in (base, near)]
    assert same["value"] == pytest.approx(error_overlap.iou(*errors))
    assert same["expected"] == pytest.approx(error_overlap.expected_iou(*errors))
    assert same["value"] > same["ci_high"]
    assert same["p"] < 0.02
    assert (same["n"], same["errors"]) == (40, errors[0].sum())
    drawn = error_overlap.permuted_iou(*errors, n_permutations=200)
    assert tuple(same[["ci_low", "ci_high"]]) == pytest.approx(tuple(np.quantile(drawn, [0.025, 0.975])))
    other = pairs.loc["m", "fr", "m", "de", "IC"]
    assert other["n"] == 25
    assert other["ci_low"] <= other["expected"] <= other["ci_high"]


def test_overlap_of_independent_errors_is_beyond_its_interval_about_as_often_as_it_says():
    rng = np.random.default_rng(3)
    low = []
    for _ in range(60):
        table = pd.concat([table_of(rng.normal(size=(40, 2, 2)), name) for name in "mn"])
        low += (error_overlap.pairwise_overlap(table, n_permutations=200)["p"] < 0.05).tolist()
    assert np.mean(low) <= 0.12


def test_overlap_with_replicates_is_the_mean_over_pairs_of_trainings():
    first, second = [RNG.normal(size=(20, 2, 2)) for _ in range(2)], RNG.normal(size=(20, 2, 2))
    table = pd.concat([*(table_of(part, "m", replicate=r) for r, part in enumerate(first)), table_of(second, "n")])
    row = error_overlap.pairwise_overlap(table, n_permutations=50).iloc[0]
    each = [error_overlap.iou(~disambiguation.tc(part), ~disambiguation.tc(second)) for part in first]
    assert row["value"] == pytest.approx(np.mean(each))
    with pytest.raises(InputError, match="replicates of 'm'"):
        error_overlap.pairwise_overlap(pd.concat([table, table_of(second[:5], "m", replicate=2)]))


def test_overlap_without_errors_or_without_common_items_has_no_value():
    right = np.tile([[0.0, 1.0], [1.0, 0.0]], (5, 1, 1))
    row = error_overlap.pairwise_overlap(pd.concat([table_of(right), table_of(right, "n")]), n_permutations=20).iloc[0]
    assert np.isnan(row["value"])
    assert row["errors"] == 0
    apart = pd.concat([table_of(1 - right), table_of(1 - right, "n", items=list("vwxyz"))])
    row = error_overlap.pairwise_overlap(apart, n_permutations=20).iloc[0]
    assert row["n"] == 0
    assert np.isnan(row["value"])
    with pytest.raises(InputError, match="at least 1, got 0"):
        error_overlap.pairwise_overlap(apart, n_permutations=0)


def test_an_ensemble_of_a_model_with_a_copy_decides_as_the_model_does():
    values = np.exp(RNG.normal(size=(30, 3, 2)))
    images = ("a0", "b0", "mix")
    one = table_of(values, images=images).assign(similarity="perplexity")
    copy = table_of(-5 + 100 * np.log(values), "n", images=images)
    both = error_overlap.ensemble(pd.concat([one, copy]), ["m", "n"])
    assert set(both["model"]) == {"m + n"}
    _, found = array_of(both)
    assert (disambiguation.tc(found) == disambiguation.tc(values[:, :2])).all()
    assert (disambiguation.ic(found) == disambiguation.ic(values[:, :2])).all()
    assert found.mean(axis=(1, 2)) == pytest.approx(np.zeros(30), abs=1e-9)
    assert np.sqrt((found**2).mean()) == pytest.approx(1)


def test_an_ensemble_of_models_with_independent_noise_is_better_than_each():
    truth = np.array([[0.0, 1.0], [1.0, 0.0]])
    parts = {name: truth + 1.5 * RNG.normal(size=(200, 2, 2)) for name in "mno"}
    table = pd.concat([table_of(part, name) for name, part in parts.items()])
    _, found = array_of(error_overlap.ensemble(table, list("mno"), "all"))
    assert disambiguation.tc(found).mean() > 0.05 + max(disambiguation.tc(part).mean() for part in parts.values())


def test_a_model_that_makes_no_difference_changes_nothing_in_an_ensemble():
    values = RNG.normal(size=(10, 2, 2))
    table = pd.concat([table_of(values), table_of(np.full((10, 2, 2), 3.0), "n")])
    _, found = array_of(error_overlap.ensemble(table, ["m", "n"]))
    assert (disambiguation.tc(found) == disambiguation.tc(values)).all()


def test_a_model_trained_once_goes_with_every_replicate_of_the_others():
    parts = [table_of(RNG.normal(size=(6, 2, 2)), "m", replicate=r) for r in range(3)]
    found = error_overlap.ensemble(pd.concat([*parts, table_of(RNG.normal(size=(6, 2, 2)), "n")]), ["m", "n"])
    assert found.groupby("replicate").size().to_dict() == {0: 24, 1: 24, 2: 24}


def test_positive_scores_from_files_are_averaged_as_perplexities_and_negative_ones_as_they_are():
    other = table_of(RNG.normal(size=(12, 2, 2)), "n")
    for values, kinds in ((np.exp(RNG.normal(size=(12, 2, 2))), "perplexity"), (-RNG.random((12, 2, 2)), "cosine")):
        one, two = (
            error_overlap.ensemble(pd.concat([table_of(values).assign(similarity=kind), other]), ["m", "n"])
            for kind in ("given", kinds)
        )
        pd.testing.assert_frame_equal(one, two)


def test_a_model_that_is_sure_of_itself_counts_in_an_ensemble():
    logs = 1e-9 * (2 + np.array([[[0, 1], [1, 0]]] * 4))
    one = table_of(np.exp(logs)).assign(similarity="perplexity")
    _, found = array_of(error_overlap.ensemble(pd.concat([one, table_of(np.ones((4, 2, 2)), "n")]), ["m", "n"]))
    assert disambiguation.gtc(found).all()


def test_an_ensemble_says_what_it_lacks():
    table = pd.concat([table_of(np.ones((3, 2, 2))), table_of(np.ones((2, 2, 2)), "n")])
    with pytest.raises(InputError, match="Not all of m, n have a cost of item 'w002'"):
        error_overlap.ensemble(table, ["m", "n"])
    with pytest.raises(InputError, match="did you mean n"):
        error_overlap.ensemble(table, ["m", "nn"])
    with pytest.raises(InputError, match="at least two models"):
        error_overlap.ensemble(table, ["m", "m"])
    zero = table_of(np.zeros((3, 2, 2)), "n").assign(similarity="perplexity")
    with pytest.raises(InputError, match="perplexity is above 0"):
        error_overlap.ensemble(pd.concat([table_of(np.ones((3, 2, 2))), zero]), ["m", "n"])


# --- What printed scores say ---------------------------------------------------------------------------


@settings(deadline=None, max_examples=30)
@given(st.lists(st.sampled_from(["both", "neither", "swapped", "kept"]), min_size=3, max_size=40))
def test_the_numbers_of_items_are_among_those_that_explain_what_they_print(kinds):
    # Beside the ambiguous image translation a is chosen; costs beside (a, b) for each kind.
    beside = {
        "both": [[0, 1], [1, 0]],
        "neither": [[1, 0], [0, 1]],
        "swapped": [[1, 0], [1, 0]],
        "kept": [[0, 1], [0, 1]],
    }
    costs, mixed = np.array([beside[kind] for kind in kinds], float), np.tile([0.0, 1.0], (len(kinds), 1))
    printed = {name: flags.mean() for name, flags in disambiguation.rates(costs, mixed).items()}
    printed |= {"TC": disambiguation.tc(costs).mean(), "GTC": disambiguation.gtc(costs).mean()}
    found = metric_relations.explained({name: round(share, 2) for name, share in printed.items()}, len(kinds))
    truth = [kinds.count(kind) for kind in found.columns]
    assert truth in found.to_numpy().tolist()
    assert (found.sum(axis=1) == len(kinds)).all()
    assert (found >= 0).all(axis=None)


def test_printed_scores_that_contradict_each_other_have_no_explanation():
    right = {"TC": 0.63, "GTC": 0.26, "IPR": 0.13, "INR": 0.0, "CPR": 0.5, "CNR": 0.37}
    assert len(metric_relations.explained(right, 462))
    for name in right:
        assert metric_relations.explained(right | {name: right[name] + 0.05}, 462).empty
    with pytest.raises(InputError, match="CNR is missing"):
        metric_relations.explained({name: right[name] for name in right if name != "CNR"}, 462)


@given(seed=st.integers(0, 10_000))
@settings(max_examples=30, deadline=None)
def test_scores_without_ties_keep_every_relation(seed):
    rng = np.random.default_rng(seed)
    images = rng.normal(size=(6, 2, 5, 2))
    costs = images[:, :, 0]
    mixed = rng.normal(size=(6, 2))
    rows = [("", "TC", disambiguation.tc(costs)), ("", "IC", disambiguation.ic(costs))]
    rows += [("", "GTC", disambiguation.gtc(costs)), ("", "GIC", disambiguation.gic(costs))]
    rows += [("mix", name, found) for name, found in disambiguation.rates(costs, mixed).items()]
    for which in ("min", "max"):
        chosen = disambiguation.chosen(images, disambiguation.oracle(images, which))
        rows += [
            (f"oracle {which}", "IC", disambiguation.ic(chosen)),
            (f"oracle {which}", "GIC", disambiguation.gic(chosen)),
        ]
    table = pd.DataFrame([("m", variant, metric, found.mean()) for variant, metric, found in rows])
    found = metric_relations.relations(table.set_axis(["model", "variant", "metric", "value"], axis=1))
    assert len(found) == 14
    assert found["printed"].all()
    assert found["rounded"].all()


def test_a_relation_that_is_broken_is_told_with_its_model_and_its_size():
    rates = {"IPR": 0.13, "INR": 0.0, "CPR": 0.5, "CNR": 0.37}
    rows = [("a", "mix", name, value) for name, value in rates.items()]
    rows += [("b", "mix", name, value) for name, value in (rates | {"CNR": 0.355}).items()]
    found = metric_relations.relations(pd.DataFrame(rows, columns=["model", "variant", "metric", "value"]), 0.005)
    broken = found[~found["printed"]]
    assert broken[["relation", "variant", "model"]].to_numpy().tolist() == [["IPR + CNR = 1/2", "mix", "b"]]
    assert broken["gap"].iloc[0] == pytest.approx(0.015)
    assert broken["slack"].iloc[0] == pytest.approx(0.01)
    assert not broken["rounded"].iloc[0]
    assert len(found) == 4  # without TC and GTC nothing else can be said


@pytest.mark.parametrize(("ic", "gic"), [(0.81, 0.66), (0.58, 0.22), (0.5, 0.11), (0.5, 0.25), (0.3, 0.05), (0.7, 0.6)])
def test_drawn_costs_have_the_scores_that_were_asked_for(ic, gic):
    extended = metric_relations.drawn_costs(ic, gic, 40_000, images=2)
    for a in (0, 1):
        pair = disambiguation.chosen(extended, np.tile([a, 1], (40_000, 1)))
        assert disambiguation.ic(pair).mean(axis=0) == pytest.approx([ic, ic], abs=0.012)
        assert disambiguation.gic(pair).mean() == pytest.approx(gic, abs=0.012)


def test_costs_with_scores_that_no_model_has_are_not_drawn():
    for ic, gic in ((0.8, 0.5), (0.5, 0.6), (1.0, 1.0), (0.5, 0.0)):
        with pytest.raises(InputError, match="2 IC - 1 < GIC < IC"):
            metric_relations.drawn_costs(ic, gic, 10)


# --- Files ---------------------------------------------------------------------------------------------


def test_files_of_a_run_pass_over_other_tasks_and_name_what_is_missing(tmp_path):
    nothing = disambiguation.files(str(tmp_path), ["picto-en"], [], ["pictograms"])
    assert nothing.empty
    assert list(nothing.columns) == ["model", "translator", "dataset", "path", "tokens"]
    with pytest.raises(InputError, match=r"no costs of 'picto-en' on 'pictogram-pairs'.*notebook 22"):
        disambiguation.files(str(tmp_path), ["picto-en"], [], ["pictograms", "pictogram-pairs"])
    table = table_of(np.ones((2, 2, 2)))
    for model in ("picto-en", "picto-gated"):
        tables.write(table, tmp_path / "disambiguation" / f"{model}_pictogram-pairs.parquet", "disambiguation")
    with pytest.raises(InputError, match=r"no costs of 'picto-text'.*notebook 23"):
        disambiguation.files(str(tmp_path), ["picto-en"], ["picto-text"], ["pictogram-pairs"])
    tokens = tmp_path / "tokens" / "picto-gated_pictogram-pairs.parquet"
    tables.write(tokens_of([[[[-1.0], [-2.0]]] * 2], [0]), tokens, "tokens")
    found = disambiguation.files(str(tmp_path), ["picto-en"], ["picto-gated"], ["pictogram-pairs"])
    assert found["model"].tolist() == ["picto-en", "picto-gated"]
    assert found["translator"].tolist() == [False, True]
    assert found["tokens"].tolist() == ["", str(tokens)]
    some = disambiguation.files(str(tmp_path), [], ["picto-gated"], ["pictogram-pairs", "commute"])
    assert some["dataset"].tolist() == ["pictogram-pairs"], "a translator need not be scored on all"
