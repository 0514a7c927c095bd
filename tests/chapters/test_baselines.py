"""Baselines: against questions, results and runs that are counted by hand."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import stats as scipy_stats

from atlas_study.chapters import baselines
from babelatlas.analysis import all_results, image_clusters
from babelatlas.base import released

N_QUESTIONS = 8
# The constant answer has the whole score of the first three questions.
CONSTANT = [1.0, 1, 1, 0, 0, 0, 0, 0]
# Language and model -> score of each question, and whether it says "unanswerable".
SCORES = {
    ("en", "a"): ([1, 1, 1, 1, 1, 1, 1, 1], [1, 1, 0, 0, 0, 0, 0, 0]),
    ("en", "b"): ([1, 1, 0, 0.3, 0, 0, 0, 0], [1, 1, 0, 0, 0, 0, 0, 1]),
    ("sw", "a"): ([1, 1, 1, 0, 0, 0, 0, 0], [1, 1, 1, 1, 1, 1, 1, 1]),
    ("sw", "b"): ([0, 0, 0, 0.6, 0.3, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0, 0]),
    ("de", "a"): ([0, 1, 0, 0.9, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0, 0, 0]),
}
TITLES = {"a": "Model A", "b": "Model B"}


@pytest.fixture
def items(monkeypatch):
    rows = [
        (lang, model, f"image{place}", float(score), bool(says))
        for (lang, model), columns in SCORES.items()
        for place, (score, says) in enumerate(zip(*columns, strict=True))
    ]
    columns = ["lang", "model", "image", "score", "unanswerable"]
    table = pd.DataFrame(rows, columns=columns)
    place = table["image"].str[-1].astype(int)
    table["constant"] = place.map(dict(enumerate(CONSTANT)))
    table["constant_3of10"] = table["constant"]
    table["score_3of10"] = table["score"]
    # Of the answers "unanswerable", those to the first question are not so written.
    table["exact"] = table["unanswerable"] & (place > 0)
    table["n_words"] = np.where(place == 7, 3, 1)
    lacking = table[(table["lang"] == "de") & (place > 2)].assign(model="b")
    table = pd.concat([table, lacking], ignore_index=True)
    monkeypatch.setattr(released, "items", lambda: table)
    titles = pd.DataFrame({"title": TITLES})
    monkeypatch.setattr(released, "models", lambda: titles)
    return table


@pytest.fixture
def found(items):
    return baselines.vizwiz(500, 0, 0.05)


def test_only_models_that_answered_every_question_count(found):
    assert found.n_questions == N_QUESTIONS
    assert found.n_answerable == 5
    places = list(zip(found.results["lang"], found.results["model"], strict=True))
    assert sorted(places) == sorted(SCORES)
    assert len(found.items) == 5 * N_QUESTIONS


def test_results_are_means_over_questions_and_points_those_of_the_constant_answer(
    found,
):
    results = found.results.set_index(["lang", "model"])
    for place, (scores, says) in SCORES.items():
        row = results.loc[place]
        assert row["value"] == pytest.approx(np.mean(scores))
        assert row["says_it"] == pytest.approx(np.mean(says))
        assert row["points"] == pytest.approx(np.dot(scores, says) / N_QUESTIONS)
        assert row["answerable"] == pytest.approx(np.mean(scores[3:]))
        above = np.mean(scores) - np.mean(CONSTANT)
        assert row["above authors"] == pytest.approx(above)


def exact_p(gaps):
    """The two-sided p of all patterns of signs."""
    sums = [abs(np.dot(signs, gaps)) for signs in product([1, -1], repeat=len(gaps))]
    return np.mean(np.array(sums) >= abs(np.sum(gaps)) - 1e-9)


def test_a_result_is_better_where_it_is_so_by_both_formulas(items, monkeypatch):
    # A has five questions more in English: 2 of 32 patterns of signs, at an alpha of
    # 0.1 enough; it is as good as the constant answer in Swahili.
    assert exact_p(np.subtract(SCORES["en", "a"][0], CONSTANT)) == 2 / 32
    found = baselines.vizwiz(500, 0, 0.1).results.set_index(["lang", "model"])
    better = found.index[found["better"]].to_list()
    assert better == [("en", "a")]
    assert not baselines.vizwiz(500, 0, 0.05).results["better"].any()
    # By the other formula A has no more than the constant answer.
    items["score_3of10"] = items["constant"]
    found = baselines.vizwiz(500, 0, 0.1).results.set_index(["lang", "model"])
    assert found.loc[("en", "a"), "better authors"]
    assert not found["better 3 of 10"].any()
    assert not found["better"].any()


def test_a_result_that_is_significantly_below_is_not_better(items):
    items["score"] = 0.0
    items["constant"] = 1.0
    found = baselines.vizwiz(500, 0, 0.1).results
    assert (found["above authors"] == -1).all()
    assert not found["better authors"].any()


def test_the_best_of_each_language_is_given_for_all_questions_and_the_answerable(found):
    best = baselines.best_by_language(found, 100, 0)
    rows = best.set_index(["panel", "lang"])
    whole, part = "all 8 questions", "the 5 that people could answer"
    assert rows["model"][whole].to_dict() == {
        "en": "Model A",
        "sw": "Model A",
        "de": "Model A",
    }
    assert rows.loc[(part, "sw"), "model"] == "Model B"
    assert rows.loc[(part, "sw"), "value"] == pytest.approx(0.18)
    assert rows.loc[(part, "sw"), "n"] == 5
    assert rows.loc[(whole, "sw"), "value"] == pytest.approx(3 / 8)
    assert list(dict.fromkeys(best["lang"])) == ["en", "sw", "de"]


def test_means_of_models_are_over_other_languages_than_english(found):
    means = baselines.by_model(found.results)
    row = means.loc["a"]
    assert row["value"] == pytest.approx((3 / 8 + 1.9 / 8) / 2)
    assert row["points"] == pytest.approx((3 / 8 + 1 / 8) / 2)
    assert row["from_it"] == pytest.approx(4 / 4.9)
    assert row["value en"] == 1
    shown = baselines.shown_by_model(means).set_index("model")
    assert list(shown.index) == ["Model A", "Model B"]
    percent = shown.loc[
        "Model A", ["others (%)", "English (%)", "says it (%)"]
    ].to_list()
    assert percent == pytest.approx([100 * 4.9 / 16, 100, 100 * 9 / 16])
    # Answerable: 0.9 of ten questions elsewhere, all in English.
    assert shown.loc["Model A", "answerable (%)"] == "9.0 / 100.0"


def test_a_model_without_english_has_a_dash_there(found):
    means = baselines.by_model(found.results.query("lang != 'en'"))
    shown = baselines.shown_by_model(means).set_index("model")
    assert shown.loc["Model B", "answerable (%)"] == "18.0 / –"


def test_normalisation_raises_what_was_not_written_so(found):
    raised = baselines.raised_by_normalisation(found, 2)
    # Answers "unanswerable" to the first question, scored 1, are three.
    assert raised.most_points == pytest.approx(100 / 8)
    assert raised.n_refused == sum(sum(says) for _, says in SCORES.values())
    assert raised.n_mended == 3
    assert (raised.mended_most, raised.n_mended_most) == ("Model A", 2)
    assert raised.n_english_tail == 1
    assert len(raised.table) == 2
    assert raised.table["of it by normalisation (points)"].to_list() == [12.5, 12.5]
    row = raised.table.iloc[0]
    assert (row["language"], row["accuracy (%)"]) == ("English", 100)
    assert row["as written (%)"] == pytest.approx(100 * 1 / 8)


def results_of(above, title="one", baseline=0.2, name="guessing"):
    """Rows of a benchmark: language -> model -> whether it is above the baseline."""
    rows = [
        (title, lang, model, float(value))
        for lang, of_lang in above.items()
        for model, value in of_lang.items()
    ]
    table = pd.DataFrame(rows, columns=["title", "lang", "model", "above"])
    return table.assign(baseline=baseline, baseline_name=name)


def test_benchmarks_count_results_and_languages_that_are_not_above():
    above = {"en": {"a": 1, "b": 0}, "sw": {"a": 0, "b": 0}, "de": {"a": 1}}
    one = results_of(above | {"fr": {"a": 0}})
    two = results_of(
        {"en": {"a": 1}, "fi": {"a": 0}}, "two", name="always answering yes"
    )
    two.loc[two["lang"] == "fi", "baseline"] = 0.25
    alone = results_of({"en": {"a": 0}}, "English alone")
    table = baselines.by_benchmark(pd.concat([alone, two, one])).set_index("benchmark")
    assert list(table.index) == ["one", "two"]
    assert table.loc["one"].to_dict() == {
        "baseline (%)": "guessing: 20",
        "models, languages": "2, 4",
        "results": 6,
        "not above": 4,
        "not above (%)": pytest.approx(400 / 6),
        "nowhere": 2,
    }
    assert table.loc["two", "baseline (%)"] == "yes: 20–25"
    shown = baselines.lacking(table.reset_index())
    assert shown == "one: 2; two: 1"
    assert baselines.lacking(table.reset_index().assign(nowhere=0)) == ""


def test_compared_results_have_a_baseline_and_one_direction(monkeypatch):
    rows = [
        ("t2i", 0.1, "Image retrieval"),
        ("i2t", 0.1, "Image retrieval"),
        ("", np.nan, "Captioning"),
        ("", 0.0, "Similarity of sentences"),
        ("", 0.5, "Entailment"),
    ]
    table = pd.DataFrame(rows, columns=["direction", "baseline", "task"])
    monkeypatch.setattr(all_results, "released_results", lambda: table)
    kept = baselines.compared_results()
    assert kept["task"].to_list() == ["Image retrieval", "Entailment"]
    assert kept["direction"].to_list() == ["t2i", ""]


def test_images_of_a_class_count_as_few_where_they_are_alike(monkeypatch):
    size = image_clusters.IMAGES_OF_A_CLASS
    for correlation, factor in {0: 1, 1: size, 0.5: 1 + (size - 1) / 2}.items():
        monkeypatch.setattr(image_clusters, "measured", lambda rho=correlation: rho)
        assert baselines.images_of_a_class() == (size, correlation, factor)


def test_results_are_above_chance_by_how_images_are_counted(monkeypatch):
    size = image_clusters.IMAGES_OF_A_CLASS
    alike = baselines.ImagesOfAClass(size, 0.2, 10.0)
    monkeypatch.setattr(baselines, "images_of_a_class", lambda: alike)
    rows = pd.DataFrame(
        [
            # language, share, images: chance is 0.01
            ("de", 0.30, 100 * size),
            ("de", 0.02, 100 * size),
            ("sw", 0.02, 100 * size),
            ("xx", 0.011, 100 * size),
        ],
        columns=["lang", "value", "n"],
    ).assign(id="babel-imagenet.label", baseline=0.01)
    others = rows.assign(id="babel-imagenet.prompts", value=0.0)
    found = baselines.by_counted_images(pd.concat([rows, others]))
    for rule, divisor in {
        "as independent": 1,
        "widened": 10,
        "as one case a class": size,
    }.items():
        above = []
        for row in rows.itertuples():
            n, right = row.n / divisor, row.value * row.n / divisor
            low = scipy_stats.beta.ppf(0.025, right, n - right + 1)
            above.append(low > row.baseline)
        share = 100 * np.mean(~np.array(above))
        none = sum(
            not any(np.array(above)[rows["lang"] == lang])
            for lang in ("de", "sw", "xx")
        )
        assert found[rule].startswith(f"{share:.1f} % of the results are not above")
        noun = "language" if none == 1 else "languages"
        assert f" {none} {noun} no model is" in found[rule]
    assert len({*found.values()}) > 1


def test_broken_runs_are_listed_with_where_and_many_are_counted(monkeypatch):
    rows = [
        ("a", "one", "xm3600", "de", "below guessing: 3 of 5"),
        ("a", "one", "xm3600", "sw", "below guessing, all alike"),
        ("a", "one", "xtd", "de", "below guessing"),
        ("a", "one", "wit", "fr", "below guessing"),
        ("a", "one", "xm3600", "de", "slow"),
        ("a", "one", "xtd", "fr", "slow"),
        ("b", "two", "vizwiz", "de", "empty"),
        ("b", "again", "xm3600", "de", "empty"),
        ("b", "two", "flickr30k", "de", "empty"),
        ("b", "two", "imagenet-v2", "en", "empty"),
        ("b", "two", "xm3600", "fi", ""),
    ]
    columns = ["model", "checkpoint", "dataset", "lang", "broken"]
    table = pd.DataFrame(rows, columns=columns).assign(harness="h")
    uses = {"one": "broken", "two": "yes", "again": "again"}
    checkpoints = pd.DataFrame({"checkpoint": uses.keys(), "use": uses.values()})
    titles = pd.DataFrame({"title": TITLES})
    monkeypatch.setattr(released, "read", lambda: table)
    monkeypatch.setattr(released, "models", lambda: titles)
    monkeypatch.setattr(
        released, "checkpoints", lambda: checkpoints.assign(harness="h")
    )
    runs = baselines.broken_runs()
    assert runs.to_numpy().tolist() == [
        ["Model A", "below guessing", "3 data sets, 3 languages"],
        ["Model A", "slow", "xm3600, xtd, German, French"],
        ["Model B", "empty", "vizwiz, German"],
    ]
