"""Ambiguous words: against pairs counted by hand, and simulations done another way."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats as scipy_stats

from atlas_study.chapters import ambiguous_words as chapter
from babelatlas.datasets import ambiguous_words
from babelatlas.evaluation import disambiguation

ANIMAL, ARTIFACT, PERSON = "noun.animal", "noun.artifact", "noun.person"
# Word, both classes, nested, both fields, languages with both words and that tell apart.
EVERY = [
    ("crane", "n1", "n2", False, ANIMAL, ARTIFACT, 10, 4),
    ("bat", "n3", "n4", False, ANIMAL, ARTIFACT, 8, 8),
    ("bat", "n3", "n5", False, ANIMAL, ANIMAL, 4, 1),
    ("dog", "n6", "n7", True, ANIMAL, ANIMAL, 5, 0),
    ("hound", "n6", "n7", True, ANIMAL, ANIMAL, 5, 0),
    ("guide", "n8", "n9", False, PERSON, ARTIFACT, 6, 6),
    ("boss", "n8", "n10", True, PERSON, PERSON, 6, 6),
    ("lift", "n1", "n2", False, ANIMAL, ARTIFACT, 9, 9),  # a further word of a pair
    ("jack", "n11", "n12", False, ARTIFACT, ARTIFACT, 3, 0),
    ("mole", "n13", "n14", False, ANIMAL, ARTIFACT, 0, 0),
]
COUNTS = pd.DataFrame(
    [
        ("pl", 10, 4, 9),
        ("de", 8, 1, 5),
        ("fi", 6, 3, 5),
        ("zu", 2, 2, 0),
        ("en", 12, 12, 1),
    ],
    columns=["lang", "n_named", "n_shared", "n_apart"],
)


def every():
    columns = ["word", "wnid_a", "wnid_b", "nested", "lexname_a", "lexname_b"]
    table = pd.DataFrame(EVERY, columns=[*columns, "n_named", "n_apart"])
    table["item"] = table["word"] + ":" + table["wnid_a"] + "+" + table["wnid_b"]
    return table


@pytest.fixture
def pairs(monkeypatch):
    """Pairs of two lists of the same classes: in the drawn one persons are kept."""
    counts = [COUNTS.assign(classes=name) for name in ("imagenet-1k", "others")]
    counts.append(COUNTS.iloc[:3].assign(classes="pictogram-senses"))
    facts = every().assign(classes="pictogram-senses imagenet-1k")
    one_list = facts.iloc[:1].assign(classes="imagenet-1k-more", item="x")
    facts = pd.concat([facts, one_list], ignore_index=True)
    monkeypatch.setattr(ambiguous_words, "facts", lambda: facts)
    monkeypatch.setattr(ambiguous_words, "shipped_counts", lambda: pd.concat(counts))
    return chapter.pairs_of(["pictogram-senses", "imagenet-1k"])


def test_pairs_are_those_of_a_list_and_persons_stay_where_they_are_drawn(pairs):
    drawn, photographed = pairs["pictogram-senses"], pairs["imagenet-1k"]
    assert len(drawn.every) == len(photographed.every) == 10
    words = ["crane", "bat", "bat", "jack", "mole"]
    assert photographed.usable["word"].to_list() == words
    assert drawn.usable["word"].to_list() == [*words[:3], "guide", *words[3:]]
    assert (len(drawn.counts), len(photographed.counts)) == (3, 5)


def test_the_overview_counts_what_is_left_out_once(pairs):
    table = chapter.overview(pairs, 5).set_index("classes")
    expected = {
        "pairs with a word": 10,
        "one a kind of the other": 3,
        "persons": 1,  # "boss" is nested
        "further words": 1,
        "usable pairs": 5,
        "distinguished": 3,
        "words": 2,
        "in different fields": 2,
        "languages with an item": 4,
        "languages with 5 or more": 3,
    }
    assert table.loc["ImageNet-1k"].to_dict() == expected
    drawn = table.loc["pictograms"].to_dict()
    assert (drawn["persons"], drawn["usable pairs"], drawn["words"]) == (0, 6, 3)


def test_shipped_counts_leave_english_out_and_have_the_languages_of_commute():
    counts = ambiguous_words.shipped_counts()
    assert "en" not in set(counts["lang"])
    for _, of_list in counts.groupby("classes"):
        shown = chapter.items_of_commute(of_list)
        assert shown.startswith("Arabic ")
        assert shown.count(",") >= 5


def test_curves_say_how_many_languages_have_at_least_so_many(pairs):
    curves = chapter.curves({"imagenet-1k": pairs["imagenet-1k"]})
    found = curves.set_index("n_classes")["n_languages"].to_dict()
    assert found == {1: 4, 5: 3, 9: 1}
    assert set(curves["series"]) == {"ImageNet-1k"}


def test_families_are_reached_by_languages_with_enough_items():
    families = chapter.families_reached(COUNTS.iloc[:4], 5).set_index("family")
    reached = families["n_reached"]
    assert reached[reached > 0].to_dict() == {"Indo-European": 2, "Uralic": 1}
    assert families.loc["Atlantic-Congo", "n_named"] == 0  # without an item


def test_shares_are_of_the_pairs_with_words_for_both_senses():
    shares = chapter.shares_apart(COUNTS)
    assert shares["value"].to_list() == pytest.approx([0.9, 5 / 8, 5 / 6, 0])
    assert shares["language"].to_list()[:2] == ["Polish (10)", "German (8)"]
    top = chapter.most_pairs(shares, 3)
    assert top["lang"].to_list() == ["pl", "fi", "de"]
    ends = scipy_stats.binomtest(5, 8).proportion_ci(method="wilson")
    found = top[["ci_low", "ci_high"]].iloc[2].to_list()
    assert found == pytest.approx(list(ends))


def test_the_share_is_correlated_by_rank_where_there_are_enough_pairs():
    shares = chapter.shares_apart(COUNTS)
    rho = chapter.rank_correlation(shares, 3)
    expected = scipy_stats.spearmanr([10, 8, 6], [0.9, 5 / 8, 5 / 6]).statistic
    assert rho["value"].item() == pytest.approx(expected)
    assert rho["n"].item() == 3
    assert chapter.rank_correlation(shares, 2)["n"].item() == 4


def test_fields_have_the_mean_share_of_their_pairs(pairs):
    fields = chapter.by_fields(pairs["imagenet-1k"].usable, least=2)
    # Of four pairs with words: 0.4 and 1 in both fields, 0.25, and 0.
    assert len(fields.pairs) == 4
    means = fields.means.set_index("fields")
    assert means["value"].to_dict() == pytest.approx({"animal + artifact": 0.7})
    assert means["row"].to_list() == ["animal + artifact (2)"]
    assert fields.average.startswith("41.2 % (")
    assert fields.least_pairs == 2
    # Where no field has so many pairs, those with most are shown.
    assert chapter.by_fields(pairs["imagenet-1k"].usable).least_pairs == 2
    whole = chapter.by_fields(pairs["imagenet-1k"].usable, least=1).means
    assert whole["fields"].to_list() == [
        "artifact + artifact",
        "animal + animal",
        "animal + artifact",
    ]


def reported(scores, oracle=None, n_items=154, overlaps=()):
    """Reported scores: model -> TC, GTC, IC, GIC; `oracle`: -> minimum, maximum."""
    columns = pd.MultiIndex.from_product([[""], ["TC", "GTC", "IC", "GIC"]])
    table = pd.DataFrame.from_dict(scores, orient="index").set_axis(columns, axis=1)
    for place, variant in enumerate(("min", "max")):
        values = {model: ends[place] for model, ends in (oracle or {}).items()}
        table[f"oracle {variant}", "GIC"] = pd.Series(values, dtype=float)
    table = table.rename_axis(index="model", columns=["variant", "metric"])
    rows = pd.DataFrame([*overlaps], columns=["model", "metric", "value"])
    return chapter.Reported(table, table[""], rows, n_items)


def test_the_reported_scores_are_in_the_papers_order():
    found = chapter.reported()
    assert found.scores.index[0] == "VGAMT"
    assert found.n_items == 154
    assert found.base.loc["VGAMT", ["IC", "GIC"]].to_list() == [0.81, 0.66]
    assert set(found.overlaps["metric"]) == {"IoU TC", "IoU IC"}
    assert list(found.base) == ["TC", "GTC", "IC", "GIC"]


@pytest.mark.parametrize(("ic", "gic"), [(0.81, 0.66), (0.51, 0.11), (0.5, 0.25)])
def test_both_comparisons_are_right_with_the_reported_probability(ic, gic):
    shared = chapter._shared_correlation(ic, gic)
    quantile = scipy_stats.norm.ppf(ic)
    # The comparisons are of opposite differences: their correlation is the other.
    both = scipy_stats.multivariate_normal([0, 0], [[1, -shared], [-shared, 1]])
    assert both.cdf([quantile, quantile]) == pytest.approx(gic, abs=1e-4)


@pytest.mark.parametrize(
    ("ic", "gic", "shared"),
    [(0.8, 0.6, 1), (0.5, 0.0, 1), (0.6, 0.6, -1), (0.6, 0.61, -1)],
)
def test_scores_at_their_bounds_or_rounded_beyond_have_the_nearest_correlation(
    ic, gic, shared
):
    assert chapter._shared_correlation(ic, gic) == pytest.approx(shared)


def test_simulated_costs_score_what_they_are_made_to():
    ic, gic = 0.58, 0.22
    shared = chapter._shared_correlation(ic, gic)
    rng = np.random.default_rng(0)
    costs = chapter._costs(rng, 40_000, shared, scipy_stats.norm.ppf(ic))
    assert costs.shape == (40_000, 2, 5, 2)
    original = costs[:, :, 0]
    found = disambiguation.ic(original)
    assert found.mean(axis=0) == pytest.approx([ic, ic], abs=0.01)
    assert disambiguation.gic(original).mean() == pytest.approx(gic, abs=0.01)


def test_a_blind_model_has_what_choosing_the_best_or_worst_of_five_images_gives():
    found = reported({"m": (0.6, 0.3, 0.8, 0.65)}, n_items=3000)
    simulated = chapter.choosing_alone(found, 3, 0)
    assert len(simulated) == 2 * 2 * 3
    means = simulated.groupby(["variant", "model"])["value"].mean()
    rng, some, whole = np.random.default_rng(8), 0, 0
    for of_a, of_b in rng.normal(size=(3000, 2, 5, 2)):
        right = [a[0] < b[0] and b[1] < a[1] for a in of_a for b in of_b]
        some += any(right)
        whole += all(right)
    assert means["max", "blind"] == pytest.approx(some / 3000, abs=0.015)
    assert means["min", "blind"] == pytest.approx(whole / 3000, abs=0.01)
    # A model that uses the image gets more of both.
    assert means["max", "m"] > means["max", "blind"]
    assert means["min", "m"] > means["min", "blind"]


def test_the_texts_of_a_blind_models_items_cost_independently(monkeypatch):
    asked, costs = [], chapter._costs
    monkeypatch.setattr(
        chapter, "_costs", lambda *given: asked.append(given[1:]) or costs(*given)
    )
    chapter.choosing_alone(reported({"m": (0.6, 0.3, 0.8, 0.65)}, n_items=9), 1, 0)
    n_items, shared, quantile = asked[0]
    assert n_items == 9
    assert (shared, quantile) == pytest.approx((0, 0), abs=1e-6)
    assert asked[1][2] == pytest.approx(scipy_stats.norm.ppf(0.8))


def test_a_score_is_above_choosing_where_rounding_cannot_explain_it():
    found = reported(
        {"x": (0.6, 0.3, 0.8, 0.6), "y": (0.5, 0.2, 0.6, 0.3)},
        oracle={"x": (0.30, 0.80), "y": (0.10, 0.79)},
    )
    # By choosing alone, all simulations alike: 0.29 and 0.5, and for y 0.095 and 0.9.
    alone = {
        ("min", "x"): 0.29,
        ("max", "x"): 0.5,
        ("min", "y"): 0.0951,
        ("max", "y"): 0.9,
        ("min", "blind"): 0.01,
        ("max", "blind"): 0.7,
    }
    simulated = pd.DataFrame(
        [(model, variant, value) for (variant, model), value in alone.items()] * 3,
        columns=["model", "variant", "value"],
    )
    oracle = chapter.beside_choosing(found, simulated)
    assert oracle.above.to_dict() == {
        ("min", "x"): True,
        ("max", "x"): True,
        ("min", "y"): False,  # 0.1 may be 0.0951 rounded up
        ("max", "y"): False,
    }
    assert oracle.blind == "0.70 (0.70 to 0.70)"
    drawn = oracle.drawn.set_index(["model", "panel", "kind"])
    assert drawn.loc[("x", "maximum GIC", "reported"), "value"] == 0.8
    row = drawn.loc[("y", "minimum GIC", "choosing alone")]
    assert row[["value", "ci_low", "ci_high"]].to_list() == pytest.approx([0.0951] * 3)
    assert list(dict.fromkeys(oracle.drawn["model"])) == ["blind", "x", "y"]
    assert list(dict.fromkeys(oracle.drawn["panel"])) == ["minimum GIC", "maximum GIC"]


@pytest.mark.parametrize("scores", [(0.6, 0.3), (0.5, 0.02), (0.9, 0.8), (0.5, 0.0)])
def test_simulated_errors_fit_the_reported_scores(scores):
    single, group = scores
    found = reported({"m": (single, group, 0.5, 0.25)}, n_items=200)
    wrong = chapter._errors(np.random.default_rng(0), found, "m", "TC")
    assert wrong.shape == (200, 2)
    assert (~wrong).mean() == pytest.approx(single, abs=0.006)
    assert (~wrong).all(axis=1).mean() == pytest.approx(group, abs=0.006)
    # Which sense is wrong alone is drawn at random.
    alone = wrong.sum(axis=1) == 1
    assert 0.35 < wrong[alone, 0].mean() < 0.65


def test_reported_overlaps_are_compared_with_those_of_independent_errors():
    scores = {"x": (0.7, 0.5, 0.6, 0.3), "y": (0.6, 0.4, 0.6, 0.3)}
    # Errors are wrong in 0.3 and 0.4 of 308 places; by chance 0.12 are wrong in both.
    chance = 0.12 / (0.3 + 0.4 - 0.12)
    overlaps = [
        ("x vs y", "IoU TC", round(chance, 2)),
        ("x vs y", "IoU IC", 0.9),
        ("y vs x", "IoU TC", 0.0),
    ]
    found = reported(scores, overlaps=overlaps)
    table = chapter.overlaps(found, 400, 0)
    assert table["metric"].to_list() == ["errors of TC"] * 4 + ["errors of IC"] * 2
    at_random = table[table["kind"] == "independent errors"]
    assert at_random["value"].to_list()[:2] == pytest.approx([chance] * 2, abs=0.02)
    # IC: 0.4 wrong each, 0.16 in both.
    expected = 0.16 / (0.8 - 0.16)
    assert at_random["value"].to_list()[2] == pytest.approx(expected, abs=0.02)
    assert (at_random["ci_low"] < at_random["value"]).all()
    assert (at_random["ci_high"] > at_random["value"]).all()
    published = table[table["kind"] == "reported"]
    assert published["outside"].to_list() == [False, True, True]
    assert published["pair"].to_list()[0] == "x and\ny"


def test_what_rounding_may_hide_is_not_outside():
    scores = {"x": (0.7, 0.5, 0.6, 0.3), "y": (0.6, 0.4, 0.6, 0.3)}

    def outside(value):
        found = reported(scores, overlaps=[("x vs y", "IoU TC", value)])
        table = chapter.overlaps(found, 100, 0)
        return table["outside"].iloc[0], table.iloc[1][["ci_low", "ci_high"]]

    _, (low, high) = outside(0.2)
    values = [low - 0.006, low - 0.004, high + 0.004, high + 0.006]
    assert [outside(value)[0] for value in values] == [True, False, False, True]


def test_words_that_ship_have_the_languages_that_tell_their_senses_apart():
    pairs = chapter.pairs_of(["imagenet-1k", "imagenet-21k"])
    few = pairs["imagenet-1k"].usable.iloc[:3]
    pairs = {name: found._replace(usable=few) for name, found in pairs.items()}
    shown = chapter.words_shown(pairs)
    assert len(shown) == 3  # those of ImageNet-21k do not ship
    expected = few.set_index("word")["n_apart"]
    assert shown.set_index("word")["languages"].to_dict() == expected.to_dict()
    assert shown["languages"].is_monotonic_decreasing
    assert " / " in shown["in six languages"].iloc[0]
    assert len(chapter.words_shown({"imagenet-21k": pairs["imagenet-21k"]})) == 0
