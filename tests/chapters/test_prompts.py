"""Tests of what the page on prompts computes from released results and from a run."""

import pandas as pd
import pytest

from atlas_study.chapters import prompts
from babelatlas.lexicon import label_translations


@pytest.fixture(scope="module")
def gains() -> prompts.Gains:
    return prompts.released_gains(n_resamples=20, seed=0)


@pytest.fixture(scope="module")
def orders(gains) -> prompts.Orders:
    return prompts.orders(gains, n_resamples=20, seed=0)


def test_a_gain_is_the_accuracy_with_templates_minus_that_with_the_label_alone(gains):
    rows = gains.rows
    assert (rows["other"] - rows["base"]).tolist() == pytest.approx(
        rows["value"].tolist()
    )
    assert gains.crossed[0] == pytest.approx(rows["value"].mean())
    assert gains.crossed[1] < gains.crossed[0] < gains.crossed[2]


def test_the_second_set_of_models_has_no_mclip(gains):
    (all_name, all_rows), (name, rows) = gains.sets.items()
    n_models = all_rows["model"].nunique()
    assert all_name == f"all {n_models} models"
    assert name == "without M-CLIP"
    assert rows["model"].nunique() == n_models - 4
    assert not rows["model"].str.contains("M-CLIP").any()


def test_means_over_models_are_taken_in_each_language(gains):
    all_models = next(iter(gains.sets))
    means = gains.means[gains.means["models"] == all_models].set_index("lang")
    swahili = gains.rows[gains.rows["lang"] == "sw"]
    assert means.loc["sw", "base"] == pytest.approx(swahili["base"].mean())
    assert gains.over_all["n"] == len(means)
    assert gains.changes_view["resource group"].tolist() == [*gains.groups, "all"]


def test_groups_of_resources_stand_in_their_order_with_the_reported_gains(gains):
    view = gains.by_group_view
    assert list(view.index) == gains.groups
    assert view.loc["low", "reported"] == "over 2"
    assert view.loc["high", "reported"] == "up to 5"
    assert view.iloc[:, 0].str.contains(r"\d\.\d \(").all()


def test_pairs_that_change_places_are_ahead_with_one_kind_of_prompts_each(orders):
    swapped = orders.swapped
    assert (swapped["label alone (points)"] > 0).all()
    assert (swapped["templates (points)"] < 0).all()
    assert len(swapped) == orders.over_all["swapped"]
    assert orders.n_beyond_chance <= len(swapped)


def test_models_are_sorted_by_how_well_their_languages_keep_their_order(orders):
    taus = orders.of_languages["tau"]
    assert taus.is_monotonic_decreasing
    assert taus.between(-1, 1).all()


def test_a_model_that_is_ahead_by_either_prompts_does_not_change_places():
    rows = pd.DataFrame(
        {
            "model": ["a", "b", "c"] * 3,
            "lang": ["de", "de", "de", "sw", "sw", "sw", "ja", "ja", "ja"],
            "base": [0.9, 0.5, 0.4, 0.9, 0.5, 0.4, 0.9, 0.5, 0.4],
            "other": [0.9, 0.3, 0.6, 0.9, 0.3, 0.6, 0.9, 0.3, 0.6],
            "value": 0.0,
        }
    )
    compared = prompts._swapped_pairs(rows, n_resamples=20, seed=0)
    assert set(zip(compared["first"], compared["second"], strict=True)) == {("b", "c")}
    view = prompts._swapped_view(compared)
    assert view["label alone (points)"].tolist() == pytest.approx([10])
    assert view["templates (points)"].tolist() == pytest.approx([-30])


def test_another_translator_is_compared_with_google_translate(gains):
    found = prompts.translations(gains, n_resamples=20, seed=0)
    assert set(found.captions["option"]) == {"bing", "nllb"}
    assert set(found.captions_view["option"]) == {"Microsoft Bing Translator", "NLLB"}
    in_points = found.captions_view["value"]
    assert in_points.tolist() == pytest.approx((100 * found.captions["value"]).tolist())
    assert found.n_same_model_ahead <= found.n_languages


def test_the_order_of_models_is_shown_where_there_are_translations(gains, orders):
    n_languages = orders.by_language_view["language"].nunique()
    assert n_languages == len(label_translations.TRANSLATIONS)
    assert set(orders.by_language_view["models"]) == set(gains.sets)


def test_every_curated_name_has_one_origin():
    names = prompts.english_names()
    assert names.n_first + names.n_other + names.n_neither == names.n_names == 1000
    assert len(names.view) == names.n_names - names.n_first
    assert 0 < names.n_changed < names.n_labels


def test_the_most_frequent_defect_comes_first_with_its_languages():
    rows = pd.DataFrame({"lang": ["de", "sw"], "language": ["German", "Swahili"]})
    rows = rows.assign(n_templates=80, **dict.fromkeys(prompts.DEFECTS, 0))
    rows["bare"] = [1, 3]
    table = prompts._defect_table(rows)
    first = table.iloc[0]
    assert first["defect"] == "label only"
    assert first["templates"] == 4
    assert first["share of all (%)"] == 2.5
    assert first["most, of 80 templates"] == "Swahili 3, German 1"
    assert (table["most, of 80 templates"].iloc[1:] == "–").all()


def test_a_run_without_results_has_no_protocols_and_no_other_words(tmp_path):
    real, of_run = prompts.protocols(str(tmp_path), ["openai-b32"], 20, seed=0)
    assert len(real.tested) > 0
    assert real.n_significant <= len(real.tested)
    assert (len(of_run.tested), of_run.text, of_run.caution) == (0, "", "")
    words = prompts.other_words(str(tmp_path), ["openai-b32"], ["pictograms"], 20, 0)
    assert words.changes.empty
    assert (words.text, words.files) == ("", [])
