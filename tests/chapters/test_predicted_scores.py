"""Tests of scores that are predicted where nobody evaluated."""

import numpy as np
import pandas as pd
import pytest
from scipy import special

from atlas_study.chapters import predicted_scores as chapter
from babelatlas.base import tables
from babelatlas.base.errors import InputError

LANGS = ["ar", "cs", "da", "de", "fi", "fr", "he", "hi", "hu", "it", "ja", "sw"]
FAMILIES = ["a", "i", "i", "i", "u", "i", "a", "i", "u", "i", "j", "b"]


def facts() -> pd.DataFrame:
    """Text and spelling of the languages, and of one that is to be predicted."""
    langs = [*LANGS, "eo"]
    n = np.arange(len(langs))
    return pd.DataFrame(
        {
            "n_labels": 50,
            "spelling": (n % 4) / 10,
            "log_tokens": (n * 5 % 13) / 4,
            "language": langs,
            "family": [*FAMILIES, "new"],
        },
        index=pd.Index(langs, name="lang"),
    )


def rows(noise: float = 0.0, seed: int = 0) -> pd.DataFrame:
    """Six models whose logits are exact lines over languages, but for noise."""
    generator = np.random.default_rng(seed)
    parts = []
    about = facts().loc[LANGS]
    for number in range(6):
        kind = chapter.MULTILINGUAL if number % 2 else chapter.ENGLISH_TOWER
        logit = -1 + 0.2 * number + 0.5 * about["log_tokens"]
        if kind == chapter.ENGLISH_TOWER:
            logit = logit + 3 * about["spelling"]
        logit = logit + noise * generator.normal(size=len(about))
        part = about.assign(logit=logit, value=special.expit(logit), lang=about.index)
        parts.append(
            part.assign(model=f"m{number}", kind=kind, maker=f"f{number // 2}")
        )
    return pd.concat(parts, ignore_index=True)


def english() -> pd.Series:
    levels = special.expit(0.2 * np.arange(6))
    return pd.Series(levels, index=[f"m{number}" for number in range(6)])


@pytest.mark.parametrize("by", ["lang", "family"])
def test_what_lies_on_a_line_is_predicted_exactly_without_it(by):
    left_out = chapter.without_languages(rows(), by)
    np.testing.assert_allclose(left_out["predicted"], left_out["logit"], atol=1e-9)
    one = left_out.query("model == 'm1' and lang == 'sw'").iloc[0]
    others = rows().query("model == 'm1' and lang != 'sw'")["value"]
    assert one["baseline"] == pytest.approx(others.mean())


def test_a_model_is_predicted_from_english_and_its_text_tower():
    left_out = chapter.without_models(rows(), "model", english())
    np.testing.assert_allclose(left_out["predicted"], left_out["logit"], atol=1e-9)
    one = left_out.query("model == 'm1' and lang == 'sw'").iloc[0]
    others = rows().query("model != 'm1' and lang == 'sw'")["value"]
    assert one["baseline"] == pytest.approx(others.mean())


def test_intervals_cover_about_as_often_as_their_level_says():
    many = pd.concat(
        [
            chapter.with_intervals(
                chapter.without_languages(rows(0.5, seed), "lang"), 0.8
            )
            for seed in range(8)
        ]
    )
    assert 0.75 < many["is_covered"].mean() < 0.92
    assert (many["ci_low"] < many["predicted"]).all()


def left_out_tests(noise: float = 0.3) -> chapter.Tests:
    return chapter.tests(rows(noise), english(), 0.8, 50, 0)


def test_each_thing_is_left_out_and_measured_for_each_kind_of_model():
    table = left_out_tests().table
    assert len(table) == 4 * 3 * 5
    gain = chapter.measured(table, chapter.MODEL, "gain")
    parts = [
        chapter.measured(table, chapter.MODEL, measure)["value"]
        for measure in ("baseline error", "error")
    ]
    assert gain["value"] == pytest.approx(parts[0] - parts[1])
    shown = chapter.test_table(table)
    assert len(shown) == 12
    assert chapter.text(table, chapter.LANGUAGE, "error") == shown["error (points)"][0]


def test_a_prediction_beyond_the_evaluated_languages_is_in_doubt():
    predictions = chapter.predict(rows(0.3), facts(), left_out_tests(), 0.8)
    assert set(predictions["lang"]) == {"eo"}
    assert set(predictions["basis"]) == {chapter.NEW_FAMILY}
    beyond = facts()
    beyond.loc["eo", "log_tokens"] = 9
    doubted = chapter.predict(rows(0.3), beyond, left_out_tests(), 0.8)
    assert set(doubted["doubt"]) == {chapter.OUTSIDE}
    assert "Yiddish" not in chapter.doubts(doubted)
    assert "Of 6 predictions, 6 extrapolate" in chapter.doubts(doubted)


def test_the_interval_of_a_model_by_its_english_recall_holds_its_prediction():
    expected = chapter.new_model(rows(0.3), english(), left_out_tests(), 0.5, 0.8)
    assert len(expected) == 2 * len(LANGS)
    assert expected["value"].between(expected["ci_low"], expected["ci_high"]).all()
    best = chapter.best_language(expected)
    assert best["series"] == chapter.MULTILINGUAL


def test_real_scores_are_of_different_models_and_known_text_towers():
    scores = chapter.evaluated(["clip_benchmark", "mteb"], "xm3600", "recall@1", "t2i")
    assert not scores.duplicated(["model", "lang"]).any()
    assert set(scores["kind"]) == {chapter.MULTILINGUAL, chapter.ENGLISH_TOWER}
    assert "e5-v" not in set(scores["model"])


def test_a_language_is_described_by_its_text_and_its_spelling():
    about = chapter.language_facts("corrected", 20)
    assert about.loc["de", "spelling"] > about.loc["fi", "spelling"]
    assert about.loc["ja", "spelling"] == 0
    assert "en" not in about.index


def test_too_few_languages_are_refused_and_an_unknown_model_is_named():
    with pytest.raises(InputError, match="at least 8 languages"):
        chapter.usable(rows(), facts()[:3])
    predictions = chapter.predict(rows(0.3), facts(), left_out_tests(), 0.8)
    with pytest.raises(InputError, match="no predictions for 'm9'"):
        chapter.of_model(predictions, "m9")


def test_what_is_written_are_scores(tmp_path):
    chapter.write(
        left_out_tests(), "xm3600", "recall@1", str(tmp_path / "x.parquet"), {}
    )
    written = tables.read(tmp_path / "x.parquet", "scores")
    assert {"error of predicted recall@1"} <= set(written["metric"])
