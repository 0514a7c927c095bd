"""Tux Paint: against ranks of a few stamps, worked out by hand."""

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from scipy import stats as scipy_stats

from atlas_study.chapters import tux_paint
from atlas_study.chapters.tux_paint import ALONE, OTHERS
from babelatlas.analysis import all_results, real_run
from babelatlas.base import tables
from babelatlas.base.errors import InputError

FAST = {"n_resamples": 100, "seed": 0}
STAMPS = [f"animals/{name}" for name in ("cat", "dog", "cow", "hen")]
# Ranks of the right stamp, of its text in each language, of one model.
RANKS = {
    "en": [1, 1, 1, 2],
    "de": [1, 1, 2, 3],
    "fi": [1, 2, 3, 4],
    "ach": [4, 4, 4, 4],
    "eo": [1, 2],
}


def ranks_of(ranks=RANKS, model="m", direction="t2i"):
    """A `retrieval` table of four stamps, each with one text in a language."""
    end = "#0" if direction == "t2i" else ""
    rows = [
        (model, lang, direction, f"{stamp}{end}", rank)
        for lang, of_lang in ranks.items()
        for stamp, rank in zip(STAMPS[: len(of_lang)], of_lang, strict=True)
    ]
    columns = ["model", "lang", "direction", "query", "rank"]
    table = pd.DataFrame(rows, columns=columns).assign(dataset=tux_paint.DATASET)
    texts = dict.fromkeys(["captions", "choice", "precision", "preprocessing"], "x")
    counts = {"tied": 0, "n_tied_correct": 1, "n_right": 1, "n_candidates": 4}
    table = table.assign(**texts, **counts, similarity="cosine", ndcg20=1.0)
    return table[list(tables.SCHEMAS["retrieval"][0])]


@pytest.fixture
def rows():
    both = [ranks_of(), ranks_of(direction="i2t")]
    return pd.concat([*both, ranks_of({"en": [2] * 4}, "n")], ignore_index=True)


@pytest.fixture(autouse=True)
def others(monkeypatch):
    """Results of others: retrieval in English and German, classification in Finnish."""
    rows = [
        ("en", "Image retrieval", "released"),
        ("de", "Image retrieval", "published"),
        ("de", "Entailment", "released"),
        ("fi", "Image classification", "released"),
        ("fi", "Image retrieval", "own"),
        ("ach", "Image retrieval", "own"),
    ]
    table = pd.DataFrame(rows, columns=["lang", "task", "origin"])
    monkeypatch.setattr(all_results, "all_results", lambda: table)


def test_ranks_are_of_languages_with_enough_texts_and_of_english(rows, monkeypatch):
    rows = pd.concat([rows, rows.assign(dataset="another")], ignore_index=True)
    monkeypatch.setattr(real_run, "read", lambda *_: rows)
    found = tux_paint.ranks("", 4, "m")
    assert set(found["lang"]) == {"en", "de", "fi", "ach"}
    assert set(found["dataset"]) == {tux_paint.DATASET}
    assert (found["texts"] == 4).all()
    found = tux_paint.ranks("", 5, "m", "n")
    assert set(found["lang"]) == {"en"}
    assert len(found) == 12
    with pytest.raises(InputError, match="no outcomes on these pictures of 'x'"):
        tux_paint.ranks("", 4, "x")


def test_the_results_of_others_are_not_this_studys_own():
    tasks = tux_paint.others_tasks()
    assert tasks.to_dict() == {
        "en": {"Image retrieval"},
        "de": {"Image retrieval", "Entailment"},
        "fi": {"Image classification"},
    }


def test_recalls_are_shares_of_queries_beside_chance(rows):
    scores = tux_paint.recalls(rows, 2, **FAST)
    found = scores[scores["model"] == "m"].set_index(["lang", "direction"])
    values = found["value"].xs("t2i", level="direction").to_dict()
    assert values == {"en": 1, "de": 0.75, "fi": 0.5, "ach": 0, "eo": 1}
    assert (found["chance"] == 0.5).all()
    group = found["group"].xs("t2i", level="direction").to_dict()
    assert group == {
        "en": OTHERS,
        "de": OTHERS,
        "fi": ALONE,
        "ach": ALONE,
        "eo": ALONE,
    }
    assert found.loc[("de", "t2i"), "family"] == "Indo-European"
    assert found.loc[("eo", "t2i"), "family"] == "none"  # Esperanto has none
    every = tux_paint.recalls(rows, 9, **FAST)
    assert (every["chance"] == 1).all()


def test_recall_from_text_is_of_one_model_the_highest_first(rows):
    scores = tux_paint.recalls(rows, 1, **FAST)
    found = tux_paint.from_text(scores, "m")
    assert found["lang"].to_list() == ["en", "de", "eo", "fi", "ach"]
    assert found["value"].to_list() == [0.75, 0.5, 0.5, 0.25, 0]
    assert found["others"].isna().all()


def many(shares):
    """Ranks in which a share of the texts of forty stamps is first."""
    rows = [
        ("m", lang, "t2i", f"stamp{place:02}#0", 1 if place < 40 * share else 30)
        for lang, share in shares.items()
        for place in range(40)
    ]
    columns = ["model", "lang", "direction", "query", "rank"]
    table = pd.DataFrame(rows, columns=columns).assign(dataset=tux_paint.DATASET)
    texts = dict.fromkeys(["captions", "choice", "precision", "preprocessing"], "x")
    counts = {"tied": 0, "n_tied_correct": 1, "n_right": 1, "n_candidates": 40}
    table = table.assign(**texts, **counts, similarity="cosine", ndcg20=1.0)
    back = table.assign(direction="i2t", query=table["query"].str.removesuffix("#0"))
    return pd.concat([table, back], ignore_index=True)


def test_languages_alone_are_above_chance_with_intervals_for_their_number():
    rows = many({"en": 1.0, "fi": 0.5, "ach": 0.025, "eo": 0.3})
    scores = tux_paint.recalls(rows, 1, **FAST)
    found = tux_paint.alone(rows, scores, "m", 1, **FAST)
    assert found.table["language"].to_list()[0] == "Finnish"
    assert len(found.table) == 3
    assert found.n_none == 2  # Finnish has results on another task
    assert found.n_above == 2
    assert found.unsure == tux_paint.languages.name("ach")
    row = found.table.iloc[0]
    assert row["texts"] == 40
    assert row["text to picture (%)"].startswith("50.0 (")
    assert row["chance (%)"] == pytest.approx(2.5)
    # The interval of two languages in 40 is above 2.5 % for one, not for many.
    few = many({"en": 1.0} | dict.fromkeys(["fi", "ach", "eo", "et", "eu", "ka"], 0.15))
    scores = tux_paint.recalls(few, 1, **FAST)
    single = scores.query("direction == 't2i' and lang == 'fi'")
    assert single["ci_low"].item() > 0.025
    alone = tux_paint.alone(few, scores, "m", 1, **FAST)
    one = few[few["lang"].isin(["en", "fi"])]
    of_one = tux_paint.alone(
        one, scores[scores["lang"].isin(["en", "fi"])], "m", 1, **FAST
    )
    assert of_one.n_above == 1
    wider = tux_paint.retrieval.metric_intervals(
        few[(few["lang"] == "fi") & (few["direction"] == "t2i")],
        ["recall@1"],
        *FAST.values(),
        1 - 0.05 / 6,
    )
    assert alone.n_above == 6 * (wider["ci_low"].item() > 0.025)


def test_there_may_be_no_language_alone():
    rows = many({"en": 1.0, "de": 0.5})
    scores = tux_paint.recalls(rows, 1, **FAST)
    found = tux_paint.alone(rows, scores, "m", 1, **FAST)
    assert len(found.table) == 0
    assert found[1:] == (0, 0, "none")


def test_photographs_are_compared_with_drawings_over_languages(monkeypatch):
    drawn = {"cat": "true", "dog": "false", "cow": "false"}
    facts = [
        {"stamp": f"animals/{key}", "drawing": flag} for key, flag in drawn.items()
    ]
    monkeypatch.setattr(tux_paint.paths, "rows", lambda _: facts)
    rows = ranks_of({lang: RANKS[lang] for lang in ("en", "de", "fi")})
    rows = pd.concat([rows, ranks_of({"en": [4] * 4}, "n"), ranks_of(direction="i2t")])
    rows = rows.reset_index(drop=True)
    kinds = tux_paint.photographs_and_drawings(rows, "m", 1, **FAST)
    # The cat is found everywhere; the dog in English and German, the cow in English.
    # The hen is of neither kind.
    table = kinds.table.set_index("pictures")
    assert table["mean recall@1 (%)"].to_dict() == pytest.approx(
        {"photographs": 50, "drawings": 100}
    )
    assert table["English texts"].to_dict() == {"photographs": 2, "drawings": 1}
    row = kinds.difference.iloc[0]
    assert row["value"] == pytest.approx(-0.5)
    assert (row["n"], row["n_families"], kinds.n_languages) == (3, 2, 3)
    assert kinds.points.startswith("−50.0 (")
    assert kinds.p == "p = 0.500"  # of two families


def test_the_pictures_found_most_and_least_are_shown_with_their_share(monkeypatch):
    colours = dict(zip(STAMPS, ["red", "lime", "blue", "white"], strict=True))
    pictures = pd.DataFrame({"stamp": STAMPS, "path": [*colours.values()]})
    monkeypatch.setattr(
        tux_paint.stamps, "read_pictures_and_texts", lambda _: (pictures, 0)
    )
    monkeypatch.setattr(tux_paint.stamps, "on_white", list)
    monkeypatch.setattr(tux_paint.registry, "images_path", lambda *_: "")
    monkeypatch.setattr(
        tux_paint.registry, "open_image", lambda name: Image.new("RGB", (9, 9), name)
    )
    rows = [ranks_of(), ranks_of({"en": [4] * 4}, "n"), ranks_of(direction="i2t")]
    rows = pd.concat(rows, ignore_index=True)
    found = tux_paint.pictures_found(rows, "m", 1, "", 2)
    # First: the cat in four of five languages, the dog in two of five, the others in
    # one and in none of four.
    assert found["most"][1] == ["cat, 80 %", "dog, 40 %"]
    assert found["least"][1] == ["hen, 0 %", "cow, 25 %"]
    assert found["least"][0][0].size == (80, 80)
    assert found["least"][0][0].getpixel((0, 0)) == (255, 255, 255)


def outcomes(dataset, right):
    """Outcomes of one picture a class: language -> correct, class by class."""
    rows = [
        ("m", dataset, lang, f"n{place}", value)
        for lang, of_lang in right.items()
        for place, value in enumerate(of_lang)
    ]
    columns = ["model", "dataset", "lang", "wnid", "n_correct"]
    return pd.DataFrame(rows, columns=columns).assign(n_images=1)


def test_texts_and_labels_are_compared_in_languages_with_enough_classes(monkeypatch):
    texts = {"en": [1, 1, 1, 1], "de": [1, 1, 1, 0], "fi": [1, 1, 0], "ach": [1]}
    labels = {"en": [1, 1, 1, 0], "de": [1, 0, 0, 0], "fi": [1, 1, 0], "ach": [0]}
    rows = pd.concat(
        [outcomes("tuxpaint-names", texts), outcomes("tuxpaint-nouns", labels)]
    )
    rows = pd.concat([rows, rows.assign(model="n", n_correct=0)])
    monkeypatch.setattr(real_run, "read", lambda *_: rows)
    found = tux_paint.two_kinds_of_words("", "m", 3, **FAST)
    assert set(found.accuracy["lang"]) == {"en", "de", "fi"}
    row = found.difference.iloc[0]
    assert (row["first"], row["n"]) == ("translators' texts", 2)
    assert row["value"] == pytest.approx((0.5 + 0) / 2)
    assert found.means["translators' texts"] == pytest.approx((0.75 + 2 / 3) / 2)
    assert found.means["open labels"] == pytest.approx((0.25 + 2 / 3) / 2)
    assert found.guess == pytest.approx((1 / 4 + 1 / 4 + 1 / 3) / 3)
    assert found.points.startswith("+25.0 (")
    top = tux_paint.highest_languages(found.accuracy, 2)
    assert top["language"].to_list() == ["English", "English", "Finnish", "Finnish"]


def test_texts_left_in_english_are_shares_with_exact_intervals(monkeypatch, tmp_path):
    file = tmp_path / "texts.csv"
    counts = [
        "lang,n_texts,n_untranslated",
        "en,10,10",
        "de,50,5",
        "fi,20,0",
        "nan,8,8",
    ]
    file.write_text("\n".join(counts), encoding="utf-8")
    monkeypatch.setattr(real_run, "TEXTS", file)
    table = tux_paint.left_in_english()
    assert table["lang"].to_list() == ["nan", "de", "fi"]
    assert table["value"].to_list() == [1, 0.1, 0]
    for row in table.itertuples():
        test = scipy_stats.binomtest(row.n_untranslated, row.n_texts)
        ends = test.proportion_ci(method="exact")
        assert (row.ci_low, row.ci_high) == pytest.approx(tuple(ends))


def test_both_models_stand_side_by_side_in_the_order_of_the_first(rows):
    scores = tux_paint.recalls(rows, 1, **FAST)
    table = tux_paint.both_models(scores, "m", "n")
    assert table["language"].to_list()[:2] == ["English", "German"]
    assert table["texts"].to_list() == [4, 4, 2, 4, 4]
    assert table["m, text to picture (%)"].iloc[1].startswith("50.0 (")
    assert table["n, text to picture (%)"].iloc[0].startswith("0.0 (")
    assert table["n, text to picture (%)"].isna().sum() == 4
    assert "n, picture to text (%)" not in table


def test_written_recalls_have_their_direction_as_variant(rows, tmp_path):
    scores = tux_paint.recalls(rows, 2, **FAST)
    output = tmp_path / "scores.parquet"
    tux_paint.write(scores, output, {"seed": 0})
    written = tables.read(output, "scores")
    assert len(written) == len(scores) == 11
    values = written.set_index(["model", "lang", "variant"])["value"]
    assert values["m", "de", "i2t"] == 0.75
    assert np.isclose(values["n", "en", "t2i"], 1)
