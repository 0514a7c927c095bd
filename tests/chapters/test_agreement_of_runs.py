"""Tests of accuracy against recall in runs of this study."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats as scipy_stats

from atlas_study.chapters import agreement_of_runs as runs
from babelatlas.base import tables
from conftest import filled

LANGS = ["de", "fi", "ja", "sw", "th", "tr", "ar", "ta"]  # of eight families


def part(n_models: int = 1, noise: float = 0.0, seed: int = 0) -> pd.DataFrame:
    """Accuracy and recall of models in eight languages, with English."""
    rng = np.random.default_rng(seed)
    rows = []
    for model in range(n_models):
        for place, lang in enumerate([*LANGS, "en"]):
            level = 0.1 * place + 0.01 * model
            rows.append(
                {
                    "model": f"m{model}",
                    "lang": lang,
                    "kin": lang,
                    "english": lang == "en",
                    "accuracy": level + noise * rng.normal(),
                    "recall": level**2 + noise * rng.normal(),
                    "accuracy error": 0.01,
                    "recall error": 0.01,
                    "classes": 100 + place,
                    "log classes": np.log(100 + place),
                }
            )
    return pd.DataFrame(rows)


def asked(found: pd.DataFrame, definition: str) -> pd.Series:
    rows = found[found["definition"] == definition].set_index("method")
    return rows["value"]


@pytest.mark.parametrize("true", [0.2, 0.5, 0.8])
def test_reliability_is_the_share_of_the_variance_that_is_no_error(true):
    rng = np.random.default_rng(0)
    measured = rng.normal(size=20_000)
    error = np.sqrt((1 - true) / true)
    values = pd.Series(measured + error * rng.normal(size=len(measured)))
    errors = pd.Series(np.full(len(values), error))
    assert runs.reliability(values, errors, None) == pytest.approx(true, abs=0.02)


def test_differences_between_groups_are_no_variance_within_them():
    values = pd.Series([0.1, 0.3, 10.1, 10.3])
    errors = pd.Series(np.full(4, 0.05))
    groups = pd.Series(list("aabb"))
    within = runs.reliability(values, errors, groups)
    # Variance within: 4 · 0.1² / 2 = 0.02; errors: 0.0025.
    assert within == pytest.approx(1 - 0.0025 / 0.02)
    assert runs.reliability(values, errors, None) > 0.99


def test_values_that_are_all_error_or_all_alike_have_no_reliability():
    errors = pd.Series(np.full(3, 1.0))
    assert runs.reliability(pd.Series([0.1, 0.2, 0.3]), errors, None) == 0
    assert np.isnan(runs.reliability(pd.Series([0.1, 0.1, 0.1]), errors, None))


def test_a_correlation_of_two_noisy_measures_is_about_its_ceiling():
    rng = np.random.default_rng(1)
    truth = rng.normal(size=5_000)
    table = pd.DataFrame(
        {
            "accuracy": truth + 0.5 * rng.normal(size=len(truth)),
            "recall": truth + 0.9 * rng.normal(size=len(truth)),
            "accuracy error": 0.5,
            "recall error": 0.9,
        }
    )
    r = np.corrcoef(table["accuracy"], table["recall"])[0, 1]
    assert runs.ceiling(table) == pytest.approx(r, abs=0.02)


def test_correlations_are_those_of_scipy_and_english_is_in_all_pairs_alone():
    rows = part(noise=0.1)
    found = runs.correlations({"a; b": rows}, 4, 5, 100, 0)
    without = rows[~rows["english"]]
    by_scipy = {
        "spearman": scipy_stats.spearmanr,
        "pearson": scipy_stats.pearsonr,
        "kendall": scipy_stats.kendalltau,
    }
    for method, correlate in by_scipy.items():
        whole = correlate(rows["accuracy"], rows["recall"])[0]
        within = correlate(without["accuracy"], without["recall"])[0]
        assert asked(found, runs.ALL)[method] == pytest.approx(whole)
        assert asked(found, runs.OVER_LANGUAGES)[method] == pytest.approx(within)


def test_what_there_are_too_few_models_or_languages_for_has_a_reason():
    found = runs.correlations({"a; b": part(2)}, 4, 5, 50, 0)
    rows = found.set_index(["definition", "method"])
    few = rows.loc[runs.OVER_MODELS, "spearman"]
    assert few["reason"] == "2 models, fewer than 4"
    assert np.isnan(few["value"])
    assert rows.loc[runs.OVER_LANGUAGES, "spearman"]["reason"] == ""
    # Here the number of classes tells the place of a language.
    given = rows.loc[f"{runs.OVER_LANGUAGES}, given classes", "spearman"]
    assert given["reason"] == "not defined, since nothing varies"
    one_family = part().assign(kin="one")
    found = runs.correlations({"a; b": one_family}, 4, 5, 50, 0)
    assert set(found["reason"].drop_duplicates()) == {
        "languages of one family",
        "1 model, fewer than 4",
    }
    assert runs.lead(found) == ""


def test_intervals_of_few_models_are_over_families_and_of_few_families_there_are_none():
    over_families = runs.correlations({"a; b": part(2, 0.1)}, 2, 5, 50, 0)
    row = runs.spearman(over_families, "a; b", runs.OVER_LANGUAGES)
    assert row["ci_low"] < row["value"] < row["ci_high"]
    none = runs.correlations({"a; b": part(2, 0.1)}, 2, 10, 50, 0)
    row = runs.spearman(none, "a; b", runs.OVER_LANGUAGES)
    assert np.isnan([row["ci_low"], row["ci_high"]]).all()
    assert runs.text_of(row) == f"{row['value']:.2f}"


def test_a_classification_with_the_same_classes_everywhere_needs_no_account_of_them():
    rows = part().assign(classes=10, **{"log classes": np.log(10)})
    found = runs.correlations({"a; b": rows}, 4, 5, 50, 0)
    given = found[found["definition"].str.endswith("given classes")]
    assert set(given["reason"]) == {"all have the same classes"}


def test_the_lead_is_of_the_pair_with_the_most_languages():
    parts = {"a; b": part()[2:], "c; d": part()}
    found = runs.correlations(parts, 4, 5, 50, 0)
    assert runs.lead(found).startswith(
        "accuracy on c and recall on d correlate at ρ = "
    )


def test_the_stamps_of_the_real_models_are_classified_and_found():
    found = runs.real_pairs()
    same = found[runs.SAME]
    assert set(same["model"]) == {"bridge-lite0", "bridge-lite2"}
    assert same["lang"].nunique() > 50
    assert same.drop(columns="kin").notna().all(axis=None)


def test_a_run_pairs_each_data_set_to_classify_with_each_to_retrieve(tmp_path):
    base = {"ci_low": 0.1, "ci_high": 0.3, "n": 9, "items": 7, "model": "ours"}
    classified = {"task": "zeroshot", "dataset": "pictograms", "metric": "accuracy@1"}
    found = {"task": "retrieval", "metric": "t2i recall@1"}
    rows = [
        base | classified | {"lang": "de", "value": 0.2},
        base | classified | {"lang": "fi", "value": 0.3},
        base | found | {"dataset": "xtd", "lang": "de", "value": 0.4},
        base | found | {"dataset": "xm3600", "lang": "ja", "value": 0.4},
        base | found | {"dataset": "xtd", "lang": "de", "value": 0.9, "model": "other"},
    ]
    table = filled("languages", rows)
    (tmp_path / "scores").mkdir()
    tables.write(table, tmp_path / "scores" / "languages.parquet", "languages")
    names = ["pictograms", "xtd", "xm3600"]
    pairs = runs.pairs_of_run(str(tmp_path), ["ours"], names)
    assert list(pairs) == ["pictograms; xtd, t2i"]
    row = pairs["pictograms; xtd, t2i"].iloc[0]
    assert (row["lang"], row["accuracy"], row["recall"]) == ("de", 0.2, 0.4)
    assert row["classes"] == 7
    assert row["accuracy error"] == pytest.approx(0.2 / (2 * 1.96), rel=1e-3)


def test_a_run_of_one_task_says_what_it_lacks(tmp_path):
    assert "evaluated no model" in runs.lacking(str(tmp_path), {})
    (tmp_path / "retrieval").mkdir()
    (tmp_path / "retrieval" / "a_b.parquet").touch()
    assert "results of retrieval alone" in runs.lacking(str(tmp_path), {})
    (tmp_path / "zeroshot").mkdir()
    (tmp_path / "zeroshot" / "a_c.parquet").touch()
    assert "in the same language" in runs.lacking(str(tmp_path), {})
    assert runs.lacking(str(tmp_path), {"a; b": part()}) == ""


def test_a_run_without_a_pair_has_no_correlations_and_no_band():
    assert runs.correlations({}, 4, 5, 50, 0).empty
    assert runs.bands({}, 50, 0).empty
    real = pd.DataFrame({"value": [1.0]})
    assert runs.together(real, runs.correlations({}, 4, 5, 50, 0)) is real


def test_sources_stand_side_by_side_with_a_reason_where_there_is_no_value():
    of_run = runs.correlations({"a; b": part(2, 0.1)}, 4, 5, 50, 0)
    published = runs.correlations({"XTD": part(6, 0.1)}, 4, 5, 50, 0)
    published = published.drop(columns=["ceiling", "reason", "models", "languages"])
    published = runs.as_of_run(published, {"XTD": part(6)})
    ships = runs.correlations({"c; d": part(1, 0.1)}, 4, 5, 50, 0)
    run = runs.RunAgreement(of_run, "this run", True, "", "")
    table = runs.side_by_side(run, ships, published)
    names = ["this run", "real models of this study", "published"]
    assert table["results"].tolist() == names
    assert table["tasks"].tolist() == ["a; b", "c; d", "Babel-ImageNet; XTD"]
    assert table[runs.OVER_MODELS].iloc[0] == "2 models, fewer than 4"
    assert table["models × languages"].tolist() == ["2 × 8", "1 × 8", "6 × 8"]
    assert table["ceiling"].iloc[2] == "–"
    shown = runs.spearman(of_run, "a; b", runs.OVER_LANGUAGES)
    assert table[runs.OVER_LANGUAGES].iloc[0] == runs.text_of(shown)
    nothing = runs.correlations({}, 4, 5, 50, 0)
    miniature = runs.RunAgreement(nothing, "the miniature", False, "", "")
    table = runs.side_by_side(miniature, ships, published)
    assert table["results"].tolist() == names[1:]


def test_a_run_of_real_models_leads_and_the_miniature_is_named(tmp_path):
    real = runs.of_run(str(tmp_path), ["openai-b32"], ["x"], 4, 5, 20, 0)
    assert (real.name, real.is_real, real.lead) == ("this run", True, "")
    assert (
        real.text == "This run has evaluated no model for classification or retrieval."
    )
    tiny = runs.of_run(str(tmp_path), ["picto-en"], ["x"], 4, 5, 20, 0)
    assert (tiny.name, tiny.is_real, tiny.lead) == ("the miniature", False, "")
    assert tiny.text == real.text
