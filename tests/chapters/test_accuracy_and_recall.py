"""Accuracy against recall: correlations of small tables, computed by another package."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import stats as scipy_stats

from atlas_study.chapters import accuracy_and_recall as chapter
from atlas_study.chapters.accuracy_and_recall import MAIN, OVER_LANGUAGES, OVER_MODELS
from babelatlas.base import published, tables

FAST = {"n_resamples": 60, "seed": 0}
MODELS = ["a", "b", "c", "d"]
CLASSES = {"en": 1000, "de": 700, "fi": 800, "ja": 400, "sw": 100, "fr": 650}


@pytest.fixture
def parts(monkeypatch):
    rng = np.random.default_rng(9)
    rows = [
        (dataset, model, lang, CLASSES[lang], *rng.random(2).round(3))
        for dataset, model, lang in product(["xm3600", "xtd"], MODELS, CLASSES)
    ]
    columns = ["dataset", "model", "lang", "classes", "accuracy", "recall"]
    retrieval = pd.DataFrame(rows, columns=columns)
    accuracy = pd.DataFrame(
        [(model, lang, rng.random()) for model, lang in product(MODELS, CLASSES)],
        columns=["model", "lang", "value"],
    )
    facts = pd.DataFrame({"model": MODELS, "family": "f"})
    monkeypatch.setattr(published, "retrieval", lambda _: retrieval)
    monkeypatch.setattr(published, "accuracy_by_language", lambda _: accuracy)
    monkeypatch.setattr(published, "models", lambda: facts)
    english = accuracy[accuracy["lang"] == "en"].set_index("model")["value"]
    return chapter.pairs("paper"), english.to_dict()


def residuals(y, *given):
    """What is left of y after a least-squares fit."""
    columns = np.column_stack([np.ones(len(y)), *given])
    return y - columns @ np.linalg.lstsq(columns, y, rcond=None)[0]


def centred(values, groups):
    return values - values.groupby(groups).transform("mean")


def test_pairs_have_what_correlations_take_into_account(parts):
    found, english = parts
    assert list(found) == ["XM3600", "XTD"]
    rows = found["XTD"].set_index(["model", "lang"])
    assert len(rows) == 24
    assert rows["english accuracy"].groupby("model").first().to_dict() == english
    assert rows.loc[("a", "ja"), "log classes"] == pytest.approx(np.log(400))
    assert rows["english"].groupby("lang").all().to_dict() == {
        lang: lang == "en" for lang in CLASSES
    }
    assert rows.loc[("a", "fr"), "kin"] == rows.loc[("a", "de"), "kin"]


def test_correlations_are_those_of_another_package_without_english_but_in_all(parts):
    found, _ = parts
    correlations = chapter.correlations(found, **FAST)
    value = correlations.set_index(["data", "definition", "method"])["value"]
    every = found["XM3600"]
    rest = every[~every["english"]]
    x, y = rest["accuracy"], rest["recall"]
    of_models = rest.groupby("model")[["accuracy", "recall"]].mean()
    of_langs = rest.groupby("lang")[["accuracy", "recall"]].mean()
    given = rest["log classes"], rest["english accuracy"]
    both_x, both_y = (
        centred(centred(column, rest["lang"]), rest["model"]) for column in (x, y)
    )
    of_lang, of_model = rest["lang"], rest["model"]
    within = rest["model"]
    classes = centred(rest["log classes"], within)
    expected = {
        "all pairs": (every["accuracy"], every["recall"]),
        "without English": (x, y),
        "given the number of classes": (residuals(x, given[0]), residuals(y, given[0])),
        "given English accuracy": (residuals(x, given[1]), residuals(y, given[1])),
        "given accuracy and classes": (residuals(x, *given), residuals(y, *given)),
        OVER_MODELS: (centred(x, of_lang), centred(y, of_lang)),
        OVER_LANGUAGES: (centred(x, of_model), centred(y, of_model)),
        "languages within a model, given classes": (
            residuals(centred(x, within), classes),
            residuals(centred(y, within), classes),
        ),
        "both means removed": (both_x, both_y),
        "means of models": (of_models["accuracy"], of_models["recall"]),
        "means of languages": (of_langs["accuracy"], of_langs["recall"]),
    }
    assert set(expected) == set(chapter.DEFINITIONS)
    for definition, columns in expected.items():
        r = scipy_stats.pearsonr(*columns).statistic
        assert value[MAIN, definition, "pearson"] == pytest.approx(r), definition
    rho = scipy_stats.spearmanr(x, y).statistic
    assert value[MAIN, "without English", "spearman"] == pytest.approx(rho)
    tau = scipy_stats.kendalltau(every["accuracy"], every["recall"]).statistic
    assert value[MAIN, "all pairs", "kendall"] == pytest.approx(tau)
    n = correlations.set_index(["data", "definition", "method"])["n"]
    assert n[MAIN, "all pairs", "pearson"] == 24
    assert n[MAIN, "without English", "pearson"] == 20
    assert n[MAIN, "means of languages", "pearson"] == 5
    n_clusters = correlations.set_index(["data", "definition", "method"])["n_clusters"]
    assert n_clusters[MAIN, "means of languages", "pearson"] == 4  # families
    assert n_clusters[MAIN, "means of models", "pearson"] == 4


def test_each_model_is_left_out_once_and_looked_at_alone_once(parts):
    found, _ = parts
    left = chapter.without_each_model(found, **FAST)
    left = left.set_index(["data", "left_out", "method"])["value"]
    single = chapter.of_each_model(found, **FAST)
    single = single.set_index(["data", "model", "method"])["value"]
    for data, model in product(found, MODELS):
        is_it = found[data]["model"] == model
        rest, alone = found[data][~is_it], found[data][is_it]
        r = scipy_stats.pearsonr(rest["accuracy"], rest["recall"]).statistic
        assert left[data, model, "pearson"] == pytest.approx(r)
        r = scipy_stats.pearsonr(alone["accuracy"], alone["recall"]).statistic
        assert single[data, model, "pearson"] == pytest.approx(r)


def test_classes_are_correlated_with_both_in_the_models_asked_for(parts):
    found, _ = parts
    table = chapter.with_classes(found["XM3600"], ["c", "a"], **FAST)
    assert list(table.index) == ["c", "a"]
    rows = found["XM3600"].query("model == 'c'")
    for name, (x, y) in {
        "classes and accuracy": ("classes", "accuracy"),
        "classes and recall": ("classes", "recall"),
        "accuracy and recall": ("accuracy", "recall"),
    }.items():
        r = f"{scipy_stats.pearsonr(rows[x], rows[y]).statistic:.2f}"
        assert table.loc["c", name].startswith(f"{r} (".replace("-", "−"))


@pytest.mark.parametrize(
    ("value", "low", "verb"),
    [
        (0.95, 0.8, "closely predicts"),
        (0.9, 0.8, "predicts only roughly"),
        (0.95, -0.1, "does not surely predict"),
    ],
)
def test_the_verdict_is_of_models_within_a_language(value, low, verb):
    rows = [
        ("pearson", MAIN, OVER_LANGUAGES, 0.1, -1),
        ("spearman", MAIN, OVER_MODELS, 0.2, -1),
        ("pearson", "XTD", OVER_MODELS, 0.3, -1),
        ("pearson", MAIN, OVER_MODELS, value, low),
    ]
    columns = ["method", "data", "definition", "value", "ci_low"]
    found = chapter.verdict(pd.DataFrame(rows, columns=columns))
    assert found == (verb, value)


def test_written_are_all_correlations_with_what_each_is_over(parts, tmp_path):
    found, _ = parts
    whole = chapter.correlations(found, **FAST)
    single = chapter.of_each_model(found, **FAST)
    left = chapter.without_each_model(found, **FAST)
    output = tmp_path / "scores.parquet"
    chapter.write(whole, single, left, output, {"seed": 0})
    written = tables.read(output, "scores")
    assert len(written) == len(whole) + len(single) + len(left)
    assert set(written["dataset"]) == {"xm3600", "xtd"}
    one = written[written["variant"] == "languages of one model"]
    assert set(one["model"]) == set(MODELS)
    assert (written["variant"] == "without b").sum() == 2 * 2
    row = written.query(
        "variant == 'all pairs' and dataset == 'xtd' and metric.str.startswith('kendall')"
    )
    expected = whole.query(
        "definition == 'all pairs' and data == 'XTD' and method == 'kendall'"
    )
    assert row["value"].item() == expected["value"].item()
