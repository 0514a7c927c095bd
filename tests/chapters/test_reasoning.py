"""Reasoning over pairs of images: against logs and answers worked out by hand."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import stats as scipy_stats
from statsmodels.stats import inter_rater
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests

from atlas_study.chapters import reasoning
from babelatlas.base import released, tables

FAST = {"n_resamples": 100, "seed": 0}
ZERO, TRANSLATED = reasoning.ZERO_SHOT, reasoning.TRANSLATED
PEOPLE = "translate-test by people"
# Data set, variant, chapter and model -> language -> accuracy.
ACCURACY = {
    ("marvl", ZERO, "", "mu"): {"id": 0.5, "sw": 0.6, "zh": 0.7},
    ("marvl", ZERO, "", "xu"): {"id": 0.55, "sw": 0.65, "zh": 0.6},
    ("marvl", TRANSLATED, "", "mu"): {"id": 0.6, "sw": 0.7, "zh": 0.8},
    ("marvl", TRANSLATED, "", "xu"): {"id": 0.65, "sw": 0.6, "zh": 0.7},
    ("marvl", TRANSLATED, "", "un"): {"id": 0.7, "sw": 0.72, "zh": 0.74},
    ("marvl", PEOPLE, "", "mu"): {"zh": 0.82},
    ("marvl", PEOPLE, "", "xu"): {"zh": 0.73},
    ("marvl", PEOPLE, "", "un"): {"zh": 0.78},
    ("marvl", "translate-train", "", "mu"): {"zh": 0.62},
    ("nlvr2", ZERO, "", "mu"): {"en": 0.9},
    ("nlvr2", ZERO, "", "xu"): {"en": 0.85},
    ("nlvr2", ZERO, "", "un"): {"en": 0.86},
    ("nlvr2-1k", ZERO, "", "mu"): {"en": 0.72, "zh": 0.56},
    ("nlvr2-1k", ZERO, "", "xu"): {"en": 0.73, "zh": 0.58},
    ("marvl", ZERO, "Animal", "mu"): {"id": 0.5, "sw": 0.9, "zh": 0.5, "tr": 0.2},
    ("marvl", ZERO, "Motion", "mu"): {"id": 0.6, "sw": 0.4, "zh": 0.6, "tr": 0.9},
    ("marvl", ZERO, "Time", "mu"): {"id": 0.55, "sw": 0.5, "zh": 0.55},
}
CHAPTER_SIZES = {"Animal": 60, "Motion": 40, "Time": 20}
IGLUE = {ZERO: {"id": 0.75, "sw": 0.5}, TRANSLATED: {"id": 0.6}}
TITLES = {
    "mu": "mUNITER (VOLTA, controlled)",
    "xu": "xUNITER",
    "un": "UNITER",
    "m3p": "M3P",
}


def scores():
    """What `marvl.log_scores` returns: consistency is half of the accuracy."""
    rows = [
        (model, dataset, variant, lang, chapter, metric, share * value)
        for (dataset, variant, chapter, model), values in ACCURACY.items()
        for lang, value in values.items()
        for metric, share in (("accuracy", 1), ("consistency", 0.5))
        if metric == "accuracy" or not chapter
    ]
    columns = ["model", "dataset", "variant", "lang", "chapter", "metric", "value"]
    table = pd.DataFrame(rows, columns=columns)
    table["n"] = table["chapter"].map(CHAPTER_SIZES).fillna(1000).astype(int)
    return table.assign(ci_low=table["value"] - 0.03, ci_high=table["value"] + 0.03)


@pytest.fixture
def found(monkeypatch):
    rows = [
        (model, variant, lang, value)
        for model, (variant, values) in product(["m3p", "mu"], IGLUE.items())
        for lang, value in values.items()
    ]
    iglue = pd.DataFrame(rows, columns=["model", "variant", "lang", "value"])
    few_shot = iglue.assign(variant="few-shot")
    iglue = pd.concat([iglue, few_shot]).assign(
        metric="accuracy", n=1000, ci_low=0.4, ci_high=0.6
    )
    titles = pd.DataFrame({"title": TITLES})
    monkeypatch.setattr(reasoning.marvl, "log_scores", scores)
    monkeypatch.setattr(released, "read", lambda **_: iglue)
    monkeypatch.setattr(released, "models", lambda: titles)
    return reasoning.logs()


def test_logs_of_marvl_leave_out_controls_and_chapters_and_iglue_has_other_models(
    found,
):
    assert set(found.marvl["variant"]) == {ZERO, TRANSLATED}
    assert set(found.marvl["chapter"]) == {""}
    assert len(found.accuracy) == 5 * 3
    assert set(found.iglue["title"]) == {"M3P (IGLUE)"}
    assert set(found.iglue["variant"]) == {ZERO, TRANSLATED}
    assert found.multilingual == ["mUNITER", "xUNITER"]
    english = {"mUNITER": 0.9, "xUNITER": 0.85, "UNITER": 0.86}
    assert found.english.to_dict() == english


def test_the_easiest_language_comes_first_and_ranges_are_in_percent(found):
    easiest = reasoning.by_language(found)
    # Means zero-shot: Chinese 0.65, Indonesian 1.8 / 3, Swahili 1.75 / 3.
    assert easiest.order == ["Chinese", "Indonesian", "Swahili"]
    assert easiest.ranges == {ZERO: "50.0–75.0 %", TRANSLATED: "60.0–80.0 %"}
    assert easiest.highest == pytest.approx(75)
    assert len(easiest.cells) == 15 + 3
    assert set(easiest.asked["variant"]) == {ZERO}
    ordered = reasoning.in_order(easiest.asked, easiest.order)
    assert list(dict.fromkeys(ordered["language"])) == easiest.order


def test_people_have_the_exact_intervals_of_four_hundred_labels():
    people = reasoning.people()
    for lang, row in people.iterrows():
        right = round(400 * reasoning.PEOPLE[lang])
        ends = scipy_stats.binomtest(right, 400).proportion_ci(method="exact")
        assert (row["ci_low"], row["ci_high"]) == pytest.approx(tuple(ends))
    assert people.loc["sw", "language"] == "Swahili"
    assert list(reasoning.KAPPAS) == list(people.index)


def test_means_of_models_are_over_languages_and_stand_beside_each(found):
    means = reasoning.means_of_models(found, **FAST)
    value = means.set_index(["variant", "title", "metric"])["value"]
    assert value[ZERO, "mUNITER", "accuracy"] == pytest.approx(0.6)
    assert value[TRANSLATED, "UNITER", "accuracy"] == pytest.approx(0.72)
    assert value[ZERO, "xUNITER", "consistency"] == pytest.approx(0.3)
    cells = reasoning.by_language(found).cells
    order = ["Chinese", "Swahili", "Indonesian"]
    table = reasoning.table_of_models(cells, means, order)
    assert table["model and test"].to_list() == [
        "M3P (IGLUE), zero-shot",
        "mUNITER, zero-shot",
        "xUNITER, zero-shot",
        "M3P (IGLUE), translate-test",
        "UNITER, translate-test",
        "mUNITER, translate-test",
        "xUNITER, translate-test",
    ]
    assert list(table)[:4] == ["model and test", *order]
    row = table.set_index("model and test").loc["mUNITER, zero-shot"]
    assert row[order].to_list() == pytest.approx([70, 60, 50])
    assert row["mean (%)"].startswith("60.0 (")
    # IGLUE has one language of this test: a mean of one has no interval.
    row = table.set_index("model and test").loc["M3P (IGLUE), translate-test"]
    assert row["mean (%)"] == "60.0"
    assert np.isnan(row["Chinese"])


def test_consistency_is_given_from_the_lowest_mean_to_the_highest(found):
    means = reasoning.means_of_models(found, **FAST)
    expected = "30.0–30.0 % zero-shot, 32.5–36.0 % translate-test"
    assert reasoning.range_of_consistency(means) == expected


def test_translation_gains_the_mean_difference_and_leaves_some_to_english(found):
    means = reasoning.means_of_models(found, **FAST)
    gains = reasoning.gain_of_translation(found, means, **FAST)
    first, second = gains.gained.split(" and ")
    assert first.startswith("10.0 (")
    assert first.endswith(" points for mUNITER")
    # (0.1 - 0.05 + 0.1) / 3; the mean of the translations is 0.65.
    assert second.startswith("5.0 (")
    expected = "20.0 points (mUNITER) and 20.0 points (xUNITER)"
    assert gains.left == expected
    assert gains.n_languages == 3


def test_controls_compare_the_same_photographs_and_translations_of_the_same_texts(
    found,
):
    controls = reasoning.controls(found, **FAST)
    expected = "mUNITER loses 16.0 points and xUNITER loses 15.0 points"
    assert controls.lost == expected
    # By people minus by machine: 0.02, 0.03 and 0.04.
    assert controls.by_people.startswith("3.0 (")
    assert controls.n_models == 3
    assert controls.left == pytest.approx(100 * (0.08 + 0.12 + 0.08) / 3)
    assert list(controls.table) == ["mUNITER", "xUNITER"]
    table = controls.table["mUNITER"]
    assert table["NLVR2 (1k), English, as written"] == "72.0 (69.0–75.0)"
    trained = "MaRVL, Chinese, as written, trained on translations to Chinese"
    assert table[trained] == "62.0 (59.0–65.0)"
    assert len(table) == 6


def test_semantic_fields_are_compared_by_chi_squared_tests_of_counts(found):
    fields = reasoning.semantic_fields(found)
    p_values = []
    for lang in ("zh", "id", "sw", "tr"):
        named = [name for name in CHAPTER_SIZES if (lang, name) != ("tr", "Time")]
        shares = [ACCURACY["marvl", ZERO, name, "mu"][lang] for name in named]
        sizes = np.array([CHAPTER_SIZES[name] for name in named])
        right = np.round(shares * sizes)
        pooled = right.sum() / sizes.sum()
        expected = np.array([pooled * sizes, (1 - pooled) * sizes])
        squares = (np.array([right, sizes - right]) - expected) ** 2 / expected
        p_values.append(scipy_stats.chi2.sf(squares.sum(), len(named) - 1))
    adjusted = multipletests(p_values, method="holm")[1]
    assert fields.n_significant == (adjusted < 0.05).sum() == 2
    assert fields.n_tests == 4
    assert fields.least_p == pytest.approx(adjusted.min())
    assert fields.n_pairs == (20, 60)
    assert fields.widths == pytest.approx((6, 6))


def test_people_agree_on_nlvr2_as_another_package_computes_it(monkeypatch):
    labels = pd.DataFrame(
        {
            "truth": [False, False, True, True],
            "n_true": [0, 1, 4, 5],
            "n_false": [5, 4, 1, 0],
            "n": [20, 6, 4, 30],
        }
    )
    monkeypatch.setattr(reasoning.marvl, "labels", lambda: labels)
    human = reasoning.people()
    table = reasoning.agreement_of_people(human, 0).set_index("language")
    pairs = labels.loc[labels.index.repeat(labels["n"])]
    kappa = inter_rater.fleiss_kappa(pairs[["n_true", "n_false"]].to_numpy())
    assert table.loc["English", "Fleiss' kappa"].startswith(f"{kappa:.3f} (")
    right = (20 * 5 + 6 * 4 + 4 * 4 + 30 * 5) / (5 * 60)
    shown = table.loc["English", "accuracy of people (%)"]
    assert shown.startswith(f"{100 * right:.1f} (")
    assert table["pairs"].to_list() == [200] * 5 + [60]
    assert table.loc["Swahili", "Fleiss' kappa"] == "0.887 (reported)"
    assert table.loc["Swahili", "data set"] == "MaRVL"


def answers(seed=0, models=("m",), variants=("original", "translate-test")):
    """Answers to four pairs of each of twelve statements in two languages."""
    rng = np.random.default_rng(seed)
    rows = [
        (model, "d", *["x"] * 3, "head", variant, lang, f"s{place:02}", number)
        for model, variant, lang in product(models, variants, ["sw", "zh"])
        for place in range(12)
        for number in range(4)
    ]
    table = pd.DataFrame(rows, columns=list(tables.SCHEMAS["answers"][0])[:10])
    truth = table["number"] < 2
    right = rng.random(len(table)) < np.where(table["variant"] == "original", 0.6, 0.9)
    return table.assign(truth=truth, answer=truth == right, probability=0.5)


def test_answers_of_a_run_are_those_of_all_files_and_none_without_any(tmp_path):
    for model in ("one", "two"):
        path = tmp_path / f"answers/{model}_marvl.parquet"
        tables.write(answers(models=[model]), path, "answers")
    found = reasoning.answers_of(tmp_path)
    assert found["model"].value_counts().to_dict() == {"one": 192, "two": 192}
    none = reasoning.answers_of(tmp_path / "answers")
    assert (len(none), list(none)) == (0, list(found))


def test_only_the_miniatures_models_are_tiny():
    trained = {entry.name: entry.embedded for entry in reasoning.registry.MODELS}
    found = answers(models=[*trained, "a-model-of-a-user"])
    expected = [name for name, embedded in trained.items() if embedded]
    assert 0 < len(expected) < len(trained)
    assert reasoning.tiny(found) == expected
    assert reasoning.tiny(found[:0]) == []


def test_accuracy_of_a_run_is_the_share_of_right_answers():
    table = answers()
    found = reasoning.accuracy_of(table, **FAST)
    right = table["truth"] == table["answer"]
    expected = right.groupby([table["lang"], table["variant"]]).mean()
    for row in found.itertuples():
        variant = "original" if row.variant == "as written" else row.variant
        assert row.value == pytest.approx(expected[row.lang, variant])
        assert (row.n, row.panel) == (48, "d\nm")
    assert found["language"].to_list() == ["Chinese"] * 2 + ["Swahili"] * 2


def test_forms_of_a_statement_are_compared_by_mcnemars_test_of_the_same_pairs():
    table = answers()
    compared = reasoning.forms_compared(table, 200, **FAST).iloc[0]
    right = (table["truth"] == table["answer"]).astype(float)
    correct = table.assign(right=right).pivot(
        index=["lang", "statement", "number"], columns="variant", values="right"
    )
    gap = correct["translate-test"] - correct["original"]
    assert compared["compared"] == "translate-test minus as written"
    assert compared["difference (points)"].startswith(f"{100 * gap.mean():.1f} (")
    test = mcnemar([[0, (gap > 0).sum()], [(gap < 0).sum(), 0]], exact=True)
    expected = "< 0.001" if test.pvalue < 0.001 else f"{test.pvalue:.3f}"
    assert compared["p, McNemar"] == expected
    assert compared["p, statements"] == "≤ 0.005"  # of 200 random patterns, and one


def test_one_form_alone_is_compared_with_nothing():
    table = answers(variants=["original"])
    assert len(reasoning.forms_compared(table, 20, **FAST)) == 0
