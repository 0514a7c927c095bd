"""Translated captions: against values of five languages, worked out by hand."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import stats as scipy_stats

from atlas_study.chapters import translated_captions as chapter
from babelatlas.base import published, tables
from conftest import filled

FAST = {"n_resamples": 100, "seed": 0}
FIRST, SECOND = "OpenCLIP XLMR-B", "UForm multilingual"
TRANSLATORS = ["Google", "Bing", "NLLB"]
LANGS = ["en", "de", "fr", "fi", "ja", "ko"]
T2I, NDCG_T2I, I2T, NDCG_I2T = chapter.METRICS


@pytest.fixture
def scores():
    """Values by model, translator, metric and language."""
    rng = np.random.default_rng(2)
    places = product([FIRST, SECOND], TRANSLATORS, chapter.METRICS, LANGS)
    found = {place: round(rng.uniform(0.2, 0.8), 3) for place in places}
    for lang in LANGS:  # with one translator the first model is better, with two worse
        found[SECOND, "Google", T2I, lang] = found[FIRST, "Google", T2I, lang] - 0.1
        for name in TRANSLATORS[1:]:
            found[SECOND, name, T2I, lang] = found[FIRST, name, T2I, lang] + 0.2
    for name, lang in product(TRANSLATORS, LANGS):
        found[SECOND, name, NDCG_I2T, lang] = found[FIRST, name, NDCG_I2T, lang] + 0.1
    return found


@pytest.fixture
def values(scores, monkeypatch):
    """The cells that the chapter takes from the published table."""
    code = {title: code for code, title in chapter.TRANSLATORS.items()}
    rows = [
        (model, code[name], *rest, value)
        for (model, name, *rest), value in scores.items()
    ]
    rows += [
        (FIRST, "google", T2I, "", 0.9),
        (FIRST, "mean of translators", T2I, "de", 0.9),
        (FIRST, "google", "recall@10 text-to-image", "de", 0.9),
    ]
    columns = ["model", "variant", "metric", "lang", "value"]
    table = pd.DataFrame(rows, columns=columns).assign(n=5000)
    monkeypatch.setattr(published, "read", lambda _: table)
    return chapter.cells()


@pytest.fixture
def compared(values):
    return chapter.comparison(values, **FAST)


def mean_over_translators(scores, model, metric, lang):
    return np.mean([scores[model, name, metric, lang] for name in TRANSLATORS])


def test_cells_are_of_single_translators_languages_and_the_metrics_shown(values):
    assert len(values) == 2 * 3 * 4 * 6
    assert set(values["variant"]) == set(TRANSLATORS)


def test_models_are_compared_without_english_the_second_minus_the_first(
    compared, scores
):
    assert (compared.first, compared.second) == (FIRST, SECOND)
    leads = chapter.leads(compared)
    for metric in chapter.METRICS:
        gaps = [
            mean_over_translators(scores, SECOND, metric, lang)
            - mean_over_translators(scores, FIRST, metric, lang)
            for lang in LANGS[1:]
        ]
        assert leads.loc[metric, "value"] == pytest.approx(np.mean(gaps))
    assert leads.loc[T2I, "text"].startswith("+10.0 (")
    assert (leads["n"] == 5).all()
    assert (leads["n_families"] == 4).all()  # German and French are related


def test_recalls_have_the_lowest_and_highest_translator_and_the_highest_come_first(
    values, scores
):
    rows = chapter.recalls(values)
    assert len(rows) == 2 * 6 * 2
    assert list(dict.fromkeys(rows["way"])) == ["text to image", "image to text"]
    of_row = rows.set_index(["model", "metric", "lang"])
    for model, metric, lang in product([FIRST, SECOND], [T2I, I2T], LANGS):
        of_cell = [scores[model, name, metric, lang] for name in TRANSLATORS]
        row = of_row.loc[(model, metric, lang)]
        found = row[["value", "ci_low", "ci_high"]].to_list()
        assert found == pytest.approx([np.mean(of_cell), min(of_cell), max(of_cell)])
    level = rows.groupby("lang")["value"].mean().sort_values(ascending=False)
    assert list(dict.fromkeys(rows["lang"])) == list(level.index)


def test_wins_and_spreads_leave_english_out(values, compared, scores):
    rows = chapter.recalls(values)
    n_won = sum(
        mean_over_translators(scores, SECOND, I2T, lang)
        > mean_over_translators(scores, FIRST, I2T, lang)
        for lang in LANGS[1:]
    )
    expected = f"in {n_won} of 5 languages from image to text"
    text = chapter.wins(rows, compared)
    assert expected in text
    assert "in 5 of 5 languages from text to image" in text
    apart = [
        100 * np.ptp([scores[FIRST, name, metric, lang] for name in TRANSLATORS])
        for metric, lang in product([T2I, I2T], LANGS[1:])
    ]
    text = chapter.spread_of_translators(rows)
    expected = (
        f"{FIRST} {np.median(apart):.1f} points, at most {max(apart):.1f}; {SECOND}"
    )
    assert text.startswith(expected)


def test_gaps_are_in_points_by_translator_and_some_change_with_it(compared, scores):
    gaps = chapter.gaps_by_translator(compared)
    assert list(dict.fromkeys(gaps["metric"])) == chapter.METRICS
    assert (gaps["ci_low"] < gaps["ci_high"]).any()
    assert not (gaps["ci_low"] > gaps["ci_high"]).any()
    rows = gaps.set_index(["metric", "variant"])["value"]
    shown = rows[T2I].to_dict()
    assert shown == pytest.approx({"Google": -10, "Bing": 20, "NLLB": 20})
    n_changed = 0
    for metric in chapter.METRICS:
        signs = set()
        for name in TRANSLATORS:
            gap = np.mean(
                [
                    scores[SECOND, name, metric, lang]
                    - scores[FIRST, name, metric, lang]
                    for lang in LANGS[1:]
                ]
            )
            assert rows[metric, name] == pytest.approx(100 * gap)
            signs.add(gap > 0)
        n_changed += len(signs) == 2
    assert chapter.n_changed(gaps) == n_changed
    assert chapter.n_changed(gaps[gaps["metric"].isin([T2I, NDCG_I2T])]) == 1


def test_translators_are_compared_within_a_model_in_recall_from_text(compared, scores):
    table = chapter.translators_compared(compared)
    assert len(table) == 2 * 3
    row = table.set_index(["model", "first", "second"]).loc[(FIRST, "Bing", "NLLB")]
    gap = np.mean(
        [
            scores[FIRST, "Bing", T2I, lang] - scores[FIRST, "NLLB", T2I, lang]
            for lang in LANGS[1:]
        ]
    )
    assert row["value"] == pytest.approx(gap)
    assert row["text"].startswith(f"{100 * gap:+.1f} (".replace("-", "−"))


def test_both_metrics_are_correlated_within_a_model_and_way(compared, scores):
    metrics = chapter.both_metrics(compared)
    assert len(metrics.means) == 2 * 2 * 5
    assert "en" not in set(metrics.means["lang"])
    means = {
        (model, metric): [
            mean_over_translators(scores, model, metric, lang) for lang in LANGS[1:]
        ]
        for model, metric in product([FIRST, SECOND], chapter.METRICS)
    }
    found = metrics.correlations.set_index(["name", "method"])["value"]
    for way, recall, ndcg in (
        ("text to image", T2I, NDCG_T2I),
        ("image to text", I2T, NDCG_I2T),
    ):
        for model in (FIRST, SECOND):
            x, y = means[model, recall], means[model, ndcg]
            r = scipy_stats.pearsonr(x, y).statistic
            assert found[f"{way}, {model}", "pearson"] == pytest.approx(r)
            rho = scipy_stats.spearmanr(x, y).statistic
            assert found[f"{way}, {model}", "spearman"] == pytest.approx(rho)
        for metric, name in {recall: chapter.RECALL, ndcg: chapter.NDCG}.items():
            level = {model: np.mean(means[model, metric]) for model in (FIRST, SECOND)}
            assert metrics.better.loc[way, name] == max(level, key=level.get)


def test_values_are_shown_as_means_with_the_lowest_and_the_highest(values, scores):
    table = chapter.values_by_language(values, "text-to-image").set_index("language")
    assert list(table.index) == sorted(table.index)
    assert set(table) == {
        f"{name}, {metric}"
        for name in ("OpenCLIP", "UForm")
        for metric in ("recall@1 (%)", "NDCG@20")
    }
    of_cell = [100 * scores[FIRST, name, T2I, "fi"] for name in TRANSLATORS]
    expected = f"{np.mean(of_cell):.1f} ({min(of_cell):.1f}–{max(of_cell):.1f})"
    assert table.loc["Finnish", "OpenCLIP, recall@1 (%)"] == expected
    of_cell = [scores[SECOND, name, NDCG_T2I, "fi"] for name in TRANSLATORS]
    expected = f"{np.mean(of_cell):.3f} ({min(of_cell):.3f}–{max(of_cell):.3f})"
    assert table.loc["Finnish", "UForm, NDCG@20"] == expected
    one = chapter.values_by_language(
        values[values["variant"] == "Bing"], "text-to-image"
    )
    shown = one.set_index("language").loc["Finnish", "OpenCLIP, recall@1 (%)"]
    assert shown == f"{100 * scores[FIRST, 'Bing', T2I, 'fi']:.1f}"


def test_a_model_is_ahead_where_the_families_decide(compared):
    found = pd.DataFrame(
        {"value": [0.1, -0.1, 0.1, 0.1], "p_family_holm": [0.01, 0.04, 0.06, np.nan]},
        index=["a", "b", "c", "d"],
    )
    assert chapter.ahead(found, compared).to_list() == [
        SECOND,
        FIRST,
        "neither model",
        "neither model",
    ]


def test_the_better_model_of_each_way_is_told_once_where_both_metrics_name_it():
    better = pd.DataFrame(
        {chapter.RECALL: ["a", "b"], chapter.NDCG: ["a", "a"]},
        index=["text to image", "image to text"],
    )
    assert chapter.better_by_way(better) == (
        "from text to image a has both higher means; from image to text b has the higher"
        " mean recall and a the higher mean NDCG"
    )


def test_a_run_on_coco_sm_has_values_by_translator_and_another_says_it_has_none(
    tmp_path,
):
    base = {"task": "retrieval", "dataset": "coco-sm", "model": "ours", "lang": "de"}
    base |= {"ci_low": 0.1, "ci_high": 0.9, "n": 9, "items": 9}
    rows = [
        base | {"captions": captions, "metric": metric, "value": value}
        for captions, metric, value in [
            ("google", "t2i recall@1", 0.25),
            ("nllb", "t2i recall@1", 0.35),
            ("google", "t2i ndcg@20", 0.5),
            ("nllb", "t2i ndcg@20", 0.5),
            ("google", "t2i median rank", 4.0),
        ]
    ]
    table = filled("languages", rows)
    (tmp_path / "scores").mkdir()
    tables.write(table, tmp_path / "scores" / "languages.parquet", "languages")
    found = chapter.cells_of_run(str(tmp_path), ["ours"])
    assert found["variant"].tolist() == ["Google", "NLLB"] * 2
    assert chapter.lacking(found) == ""
    shown = chapter.values_by_language(found, "text-to-image")
    assert shown.iloc[0].tolist() == ["German", "30.0 (25.0–35.0)", "0.500"]
    none = chapter.cells_of_run(str(tmp_path), ["other"])
    assert "no results on COCO-SM" in chapter.lacking(none)
    assert chapter.cells_of_run(str(tmp_path / "absent"), ["ours"]).empty


def test_means_over_languages_are_those_of_the_authors_reduced_reports():
    rows = [
        (lang, "ours", variant, "recall@1 text-to-image", value)
        for lang, values in {"de": (0.2, 0.4), "en": (1.0, 1.0)}.items()
        for variant, value in zip(("Google", "NLLB"), values, strict=True)
    ]
    columns = ["lang", "model", "variant", "metric", "value"]
    values = pd.DataFrame(rows, columns=columns)
    table = chapter.means_over_languages(values)
    shown = dict(table[["translator", "recall@1 text-to-image (%)"]].to_numpy())
    # Of 30 and 100, of 20 and 100, of 40 and 100: deviations of a sample of two.
    assert shown == {
        "all": "65.0 ± 49.5",
        "Google": "60.0 ± 56.6",
        "NLLB": "70.0 ± 42.4",
    }
    alone = chapter.means_over_languages(values[values["lang"] == "de"])
    assert alone["recall@1 text-to-image (%)"].tolist() == ["30.0", "20.0", "40.0"]
