"""In how many languages a model is usable: each language once, by any rule, and the
models that are best in them.
"""

import re

import numpy as np
import pandas as pd
import pytest

from atlas_study.chapters import working_languages
from babelatlas.analysis import usability, verdicts
from babelatlas.base import languages, tables
from babelatlas.base.errors import InputError

CAPTIONS = ["clip_benchmark", "xm3600", "recall@1", "", "t2i"]
LABELS = ["babel-imagenet", "babel-imagenet", "accuracy@1", "label", ""]


@pytest.fixture(scope="module")
def judged():
    return working_languages.judge_languages()


@pytest.fixture
def accuracy():
    """Two models: a is the best in German and Hindi, b in Swahili; equal in Thai."""
    values = {
        "a": {"de": 0.6, "hi": 0.5, "sw": 0.1, "th": 0.3},
        "b": {"de": 0.5, "hi": 0.4, "sw": 0.2, "th": 0.3},
    }
    groups = {"de": "high", "hi": "high", "sw": "low", "th": "low"}
    rows = [
        {"model": model, "lang": lang, "group": groups[lang], "value": value}
        for model, of_model in values.items()
        for lang, value in of_model.items()
    ]
    return pd.DataFrame(rows)


def test_every_spoken_language_is_counted_once(judged):
    assert judged.n_world == len(languages.world())
    assert judged.counts.sum() == len(judged.spoken)
    assert judged.spoken["glottocode"].is_unique
    assert list(judged.counts.index) == usability.STATES
    assert "Esperanto" in judged.elsewhere
    assert "German" not in judged.elsewhere


def test_families_have_no_more_judged_languages_than_languages(judged):
    assert (judged.families["judged"] <= judged.families["languages"]).all()
    assert judged.families.loc["Indo-European", "judged"] > 10
    assert not {*languages.NOT_FAMILIES} & {*judged.families.index}


def test_the_map_shows_each_judged_language_in_its_data(judged):
    picture = working_languages.show_verdicts(judged.spoken, "<b>Map.</b>", "Map.").data
    assert 'alt="Map."' in picture
    assert "text/csv" in picture


def test_the_legend_of_the_map_counts_every_language_of_the_world(judged):
    picture = working_languages.show_verdicts(judged.spoken, "<b>Map.</b>", "Map.").data
    counts = re.findall(r"</span> ([a-z ]+) ([\d,]+)</li>", picture)
    numbers = {state: int(count.replace(",", "")) for state, count in counts}
    assert sum(numbers.values()) == judged.n_world
    rest = numbers.pop("no released test")
    assert rest == judged.n_world - len(judged.spoken)
    assert numbers == judged.counts[judged.counts > 0].to_dict()
    assert 0 < working_languages.count_without_place() < judged.n_world


def test_each_dot_of_the_map_opens_the_page_of_its_language(judged):
    picture = working_languages.show_verdicts(judged.spoken, "<b>Map.</b>", "Map.").data
    dots = re.findall(r'<a tabindex="-1" href="(language-[\w-]+\.html)"', picture)
    assert len(dots) == judged.spoken["latitude"].notna().sum()
    assert "language-sw.html" in dots


def test_the_verdict_has_its_range_over_other_rules_where_they_differ():
    counts = pd.Series({"usable": 61, "borderline": 2})
    by_rule = pd.DataFrame({"usable": [61, 48, 76]})
    sentence = working_languages.verdict(counts, by_rule)
    assert "usable in 61 spoken languages (48–76 by other rules) and" in sentence
    assert "by other rules" not in working_languages.verdict(counts, by_rule[:1])


def test_other_rules_begin_with_that_of_the_book():
    rules = working_languages.other_rules([0.6], 150)
    assert rules["as here"] == {}
    assert next(iter(rules)) == "as here"
    assert rules["60 % of English"] == {"line": 0.6}
    assert rules["at least 150 classes"] == {"least_classes": 150}


def test_the_rule_of_the_book_counts_what_the_book_counts(judged):
    rules = {"as here": {}, "captions alone": {"boards": [verdicts.CAPTIONS]}}
    table = working_languages.count_by_rule(rules).set_index("rule")
    assert table.loc["as here"].to_dict() == judged.counts.to_dict()
    assert table.loc["captions alone", "usable"] < table.loc["as here", "usable"]


def test_speakers_and_languages_add_up_to_all_of_them(judged):
    table = working_languages.speakers_by_verdict(judged)
    assert table["verdict"].tolist() == [*usability.STATES, "no result"]
    assert table["languages"].sum() == judged.n_world
    speakers = languages.facts()["speakers"].dropna()
    assert table["codes"].sum() == len(speakers)
    assert table["speakers"].sum() == pytest.approx(speakers.sum() / 1e9)


def test_every_rule_counts_all_languages_with_a_result(judged):
    rules = {
        "as here": {},
        "templates": {"boards": ["babel-imagenet.translated-prompts"]},
    }
    table = working_languages.count_by_rule(rules).set_index("rule")
    assert (table.sum(axis=1) == len(judged.spoken)).all()


def test_large_languages_without_a_usable_model_are_those_of_the_verdicts():
    table = working_languages.large_without(20)
    assert (table["speakers"] >= 20).all()
    found = verdicts.verdicts()["verdict"].reindex(table["lang"]).fillna("no result")
    assert found.tolist() == table["verdict"].tolist()
    assert "usable" not in set(table["verdict"])
    text = working_languages.large_text(table, 20)
    assert f"In {len(table)} languages of at least 20 million speakers" in text
    assert all(name in text for name in table["language"])


def test_the_best_result_of_a_language_is_the_highest_on_the_board():
    best = working_languages.best_results([CAPTIONS, LABELS])
    assert not best.duplicated(["lang", "title"]).any()
    captions = best[best["dataset"] == "xm3600"]
    assert captions["title"].unique().tolist() == [
        "Crossmodal-3600, recall@1 (CLIP_benchmark), text to image"
    ]
    assert captions["classes"].isna().all()
    labels = best[best["dataset"] == "babel-imagenet"]
    assert labels["classes"].min() >= verdicts.FEW
    table = tables.check(best[working_languages.SCORES], "scores")
    assert (table["ci_low"] <= table["value"]).all()
    assert (table["value"] <= table["ci_high"]).all()


def test_a_board_that_nobody_released_is_an_error():
    with pytest.raises(InputError, match="No released result has harness"):
        working_languages.best_results([["mtep", "xm3600", "recall@1", "", "t2i"]])


def test_languages_that_reach_a_threshold_are_counted_with_their_intervals():
    best = working_languages.best_results([CAPTIONS])
    reached = working_languages.count_reached(best, 0.5, 100, 0)
    assert reached.count == (best["value"] >= 0.5).sum()
    assert reached.low <= reached.count <= reached.high
    assert reached.n == len(best)
    assert reached.mean.startswith(f"{100 * best['value'].mean():.1f} (")


def test_languages_judged_by_labels_have_no_captions():
    shares = working_languages.label_shares()
    assert shares["classes"].min() >= verdicts.FEW
    captions = working_languages.best_results([CAPTIONS])
    assert not {*shares["lang"]} & {*captions["lang"]}


def test_a_tie_counts_for_both_models(accuracy):
    leads = working_languages.leading_models(accuracy, 100, 0)
    assert leads["model"].tolist() == ["a", "b"]  # by their means
    assert leads["count"].tolist() == [3, 2]
    assert leads["value"].tolist() == [0.75, 0.5]
    assert leads[["high", "low"]].to_numpy().tolist() == [[2, 1], [0, 2]]
    assert leads["very low"].tolist() == [0, 0]
    assert leads.loc[0, "share"].startswith("75 (")


def test_the_best_two_models_of_each_group_are_compared(accuracy):
    more = [
        accuracy.assign(group=group, lang=accuracy["lang"])
        for group in languages.GROUPS
    ]
    pairs = working_languages.top_two(pd.concat(more), 100, 0)
    assert pairs["group"].tolist() == list(languages.GROUPS)
    assert (pairs["first"] == "a").all()
    assert pairs["value"].tolist() == pytest.approx([0.025] * len(languages.GROUPS))
    assert pairs["variant"].unique().tolist() == ["minus b"]
    assert (pairs["p, families"] != "–").all()
    assert np.isfinite(pairs["p_family_holm"]).all()
    table = tables.check(pairs[working_languages.SCORES].astype({"n": int}), "scores")
    assert len(table) == len(languages.GROUPS)


def test_a_paper_without_accuracy_by_language_is_an_error(accuracy):
    with pytest.raises(InputError, match="no accuracy by language"):
        working_languages.leading_models(accuracy[:0], 100, 0)


def test_a_run_without_real_models_judges_no_language(tmp_path):
    judged = working_languages.judge_own(tmp_path, "", ["picto-en"], ["pictograms"])
    assert judged.counts.empty
    assert judged.languages.empty
    assert judged.lead == ""
