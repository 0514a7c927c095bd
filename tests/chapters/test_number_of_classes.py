"""Tests of accuracy by number of classes."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats as scipy_stats

from atlas_study.chapters import number_of_classes as chapter
from babelatlas.analysis import real_run
from babelatlas.base import published, tables
from babelatlas.base.errors import InputError
from babelatlas.report import figures

LANGS = ["en", "de", "fi", "ja", "sw", "th", "tr", "ar", "ta"]


def curves(model: str = "m", langs=LANGS, most: int = 20, slope: float = 0.1):
    """Curves that fall by `slope` with each doubling of the number of classes."""
    parts = []
    for place, lang in enumerate(langs):
        n_classes = np.arange(2, most + 1)
        value = 1 - 0.01 * place - slope * np.log2(n_classes)
        parts.append(
            pd.DataFrame({"lang": lang, "n_classes": n_classes, "value": value})
        )
    table = pd.concat(parts, ignore_index=True)
    return table.assign(
        dataset="pictures", model=model, ci_low=0.0, ci_high=1.0, n_images=50
    )


def write(folder, model: str, dataset: str) -> None:
    row = {"model": model, "dataset": dataset, "labels": "l", "prompts": "label"}
    row |= {"similarity": "cosine", "precision": "float32", "preprocessing": "model"}
    table = pd.DataFrame([row | {"lang": "de", "n_classes": k} for k in (2, 3)])
    table = table.assign(value=0.5, ci_low=0.4, ci_high=0.6, n_images=9, n_at_rank=1.0)
    place = folder / "curves" / f"{model}_{dataset}.parquet"
    place.parent.mkdir(exist_ok=True)
    tables.write(table, place, "curves")


def test_curves_of_a_run_are_those_of_its_models_in_their_order(tmp_path):
    for model in ("second", "first", "other"):
        write(tmp_path, model, "pictures")
    found = chapter.curves_of_run(
        str(tmp_path), ["first", "second", "absent"], ["pictures", "captions"]
    )
    assert list(found["model"].unique()) == ["first", "second"]
    assert list(found) == chapter.COLUMNS
    assert chapter.lacking(found) == ""
    none = chapter.curves_of_run(str(tmp_path), ["absent"], ["pictures"])
    assert none.empty
    assert "no results with different numbers" in chapter.lacking(none)
    assert chapter.lead(none, [2, 5]) == ""


def test_real_curves_are_those_that_ship(tmp_path):
    found = chapter.real_curves(str(tmp_path), ["bridge-lite2"])
    row = chapter.at(found, "bridge-lite2", "de").query("n_classes == 100").iloc[0]
    shipped = real_run.read("curves").query(
        "model == 'bridge-lite2' and dataset == 'imagenet-photos' and lang == 'de'"
        " and n_classes == 100"
    )
    assert row["value"] == shipped["value"].item()
    assert row["ci_low"] < row["value"] < row["ci_high"]


def test_a_doubling_costs_what_the_line_says():
    english = chapter.at(curves(slope=0.07), "m", "en")
    points, r2 = chapter.per_doubling(english, [2, 5, 10])
    assert (points, r2) == (pytest.approx(7), pytest.approx(1))


def test_the_order_of_languages_is_spearmans_over_those_that_reach_the_reference():
    rng = np.random.default_rng(0)
    whole = curves()
    whole["value"] += rng.normal(scale=0.02, size=len(whole))
    short = curves(langs=["ko"], most=8)
    table = pd.concat([whole, short], ignore_index=True)
    kept = chapter.order_kept(table, [2, 5, 20, 30], 20, 5, 50, 0)
    by_size = whole.pivot(index="lang", columns="n_classes", values="value")
    assert kept["n_classes"].tolist() == [2, 5]
    assert kept["n"].tolist() == [9, 9]
    for row in kept.itertuples():
        rho = scipy_stats.spearmanr(by_size[row.n_classes], by_size[20])[0]
        assert row.value == pytest.approx(rho)
    lowest = chapter.least_alike(kept, 20)
    assert lowest["value"] == kept["value"].min()


def test_too_few_languages_have_no_order():
    none = chapter.order_kept(curves(), [2, 5], 20, 10, 50, 0)
    assert none.empty
    absent = chapter.order_kept(curves(), [2, 5], 500, 5, 50, 0)
    assert absent.empty
    with pytest.raises(InputError, match="among 500 classes and among fewer"):
        chapter.least_alike(absent, 500)


def test_a_table_of_orders_has_a_row_for_each_model():
    both = pd.concat([curves(), curves("n", slope=0.05)], ignore_index=True)
    kept = chapter.order_kept(both, [2, 5], 20, 5, 50, 0)
    table = chapter.order_table(kept, 20)
    assert table["model"].tolist() == ["m", "n"]
    assert list(table)[3:] == ["2 and 20", "5 and 20"]


def test_four_panels_are_drawn_at_most_with_languages_in_the_order_asked_for():
    parts = [curves(f"m{number}") for number in range(6)]
    marks = chapter.drawn(pd.concat(parts, ignore_index=True), ["de", "en"])
    assert list(marks["panel"].unique()) == ["m0", "m1", "m2", "m3"]
    assert list(marks["language"].unique()) == ["German", "English"]
    axes = figures.by_classes(marks, "panel", "language")
    assert [axis.get_title() for axis in axes] == ["m0", "m1", "m2", "m3"]
    german, english, guessing = axes[0].lines
    assert german.get_ydata()[0] == pytest.approx(1 - 0.01 - 0.1)
    assert english.get_xdata().tolist() == list(range(2, 21))
    assert guessing.get_ydata()[0] == 0.5


def test_languages_that_have_no_curve_give_way_to_those_with_the_most_classes():
    table = pd.concat([curves(langs=["fi"], most=9), curves(langs=["de"], most=5)])
    assert chapter.shown_languages(table, ["sw", "de"]) == ["de"]
    assert chapter.shown_languages(table, ["sw"]) == ["fi", "de"]


def test_the_lead_is_of_english_where_it_has_a_curve():
    words = chapter.lead(curves(slope=0.1), [2, 5])
    assert words.startswith("m loses 10.0 points of accuracy in English with each")
    assert "in Finnish" in chapter.lead(curves(langs=["fi"]), [2, 5])


def test_what_is_written_is_a_table_of_scores(tmp_path):
    kept = chapter.order_kept(curves(), [2, 5], 20, 5, 50, 0)
    none = chapter.order_kept(curves(), [2, 5], 500, 5, 50, 0)
    chapter.write(kept, none, str(tmp_path / "a.parquet"), {})
    table = tables.read(tmp_path / "a.parquet", "scores")
    assert table["variant"].tolist() == ["2 classes", "5 classes"]


def test_published_models_keep_their_order_among_100_classes():
    kept = chapter.published_models_kept("geigle2024")
    assert kept["models"].tolist() == [11, 11, 11]
    means = published.accuracy_by_group("geigle2024")
    high = means[means["group"] == "high"]
    both = high.pivot(index="model", columns="table", values="value").dropna()
    rho = both.rank().corr().iloc[0, 1]
    is_high = kept["classes"].str.contains("high")
    assert kept.loc[is_high, "value"].item() == pytest.approx(rho)


def test_models_keep_their_order_where_one_is_better_in_every_language():
    parts = [curves(f"m{place}", slope=0.05 + place / 100) for place in range(4)]
    table = pd.concat(parts, ignore_index=True)
    kept = chapter.models_kept(table, [2, 5, 30], 20, 4, 50, 0)
    assert kept["classes"].tolist() == ["2 and 20", "5 and 20"]
    assert kept["value"].tolist() == pytest.approx([1, 1])
    assert kept["n"].tolist() == [len(LANGS) - 1] * 2  # without English
    assert chapter.models_kept(table, [2], 20, 5, 50, 0).empty
    assert chapter.models_kept(table, [2], 500, 4, 50, 0).empty
    shown = chapter.models_table(chapter.with_run(kept.assign(ci_low=np.nan), kept))
    assert shown["Spearman's ρ"].iloc[0] == "1.00"
    assert shown["Spearman's ρ"].iloc[3].startswith("1.00 (")


def test_the_order_of_models_is_spearmans_of_their_means():
    rng = np.random.default_rng(1)
    parts = [curves(f"m{place}") for place in range(6)]
    table = pd.concat(parts, ignore_index=True)
    table["value"] += rng.normal(scale=0.05, size=len(table))
    kept = chapter.models_kept(table, [5], 20, 4, 50, 0).iloc[0]
    others = table[table["lang"] != "en"]
    means = others.groupby(["model", "n_classes"])["value"].mean().unstack()
    assert kept["value"] == pytest.approx(scipy_stats.spearmanr(means[5], means[20])[0])
    assert kept["ci_low"] <= kept["value"] <= kept["ci_high"]
