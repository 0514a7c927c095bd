"""Tests of what a language's page says of real models: its sentences for many and for few results."""

import re

import pandas as pd
import pytest

from babelatlas.base import languages, released
from babelatlas.base.errors import InputError
from babelatlas.report import pages, real_results


def test_every_language_with_a_released_result_has_a_section_without_gaps():
    for lang in real_results.with_results():
        text = real_results.section(lang)
        assert not re.search(r"nan %|nan–|NaN|None| 0 models|of 1 models", text), lang
        assert text.startswith("```{admonition} Takeaway"), lang
        assert text.count("<details") == text.count("</details>") == len(real_results.boards(lang)), lang


def test_the_verdict_names_the_highest_open_model_with_its_exact_interval():
    rows = released.one_run(released.read(harness="clip_benchmark", dataset="xm3600", lang="de", metric="recall@1"))
    top = rows[rows["direction"] == "t2i"].sort_values("value").iloc[-1]
    told = real_results.verdict("de")
    assert released.models().loc[top["model"], "title"].split(" (")[0] in told
    assert f"{100 * top['value']:.1f} % ({100 * top['ci_low']:.1f}–{100 * top['ci_high']:.1f})" in told
    assert told.count("\n- ") <= 2


def one(**changed):
    row = {"dataset": "xm3600", "metric": "recall@1", "value": 0.5, "ci_low": 0.48, "ci_high": 0.52, "n": 3600,
           "n_correct": 1800.0, "model": "a", "title": "A", "parameters_m": 151.3}  # fmt: skip
    return row | changed


def test_sentences_read_well_for_one_model_two_models_and_no_interval():
    alone = real_results._best(pd.DataFrame([one()]), "")
    assert alone == "One model was evaluated, A (151 million parameters): its recall@1 is 50.0 % (48.0–52.0)."
    pair = pd.DataFrame([one(), one(model="b", title="B", value=0.49, n_correct=1764.0)])
    assert "; 1 other does not differ significantly from it." in real_results._best(pair, "of 2 models")
    apart = pd.DataFrame([one(), one(model="b", title="B", value=0.1, n_correct=360.0)])
    assert "; all others are significantly lower." in real_results._best(apart, "of 2 models")
    unknown = pd.DataFrame(
        [one(n_correct=None, ci_low=None, ci_high=None, n=0), one(model="b", value=0.4, n_correct=None)]
    )
    assert real_results._best(unknown, "of 2 models").endswith("has the highest recall@1: 50.0 %.")


def test_a_result_at_chance_is_called_so():
    row = one(
        dataset="babel-imagenet", metric="accuracy@1", n=500, value=0.11, ci_low=0.08, ci_high=0.14, n_correct=55.0
    )
    assert "not significantly above guessing (10.0 %)" in real_results._best(pd.DataFrame([row]), "")


def test_a_rank_counts_the_languages_that_do_better():
    levels = real_results.highest("xm3600")
    best = levels.idxmax()
    assert f"{languages.name(best)} is 1st of {len(levels)} languages" in real_results.rank(best)
    assert "No related language has a result there." in real_results.rank("quz")


def test_a_language_without_results_is_refused_by_name():
    with pytest.raises(InputError, match="No released result is in Afar"):
        real_results.section("aa")


def test_the_best_model_of_each_language_is_the_highest_of_its_board():
    best = real_results.best_by_language(["de", "nv"])
    assert best["data set"].value_counts().to_dict() == {
        "Babel-ImageNet, top-1 accuracy": 2,
        "Crossmodal-3600, recall@1": 1,
    }
    row = best.query("lang == 'de'").iloc[0]
    assert row["value"] == real_results.highest("xm3600")["de"]


def test_the_list_of_languages_links_to_every_page():
    text = pages.index_page(real_results.with_results())
    assert len(re.findall(r'"language-[\w-]+\.html"', text)) == len(real_results.with_results())
