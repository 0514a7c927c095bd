"""The title page: the same photographs in several languages, and numbers that other
pages own.
"""

import pandas as pd
import pytest

from atlas_study.chapters import gap_over_time, summary
from atlas_study.workflow import notebooks
from babelatlas.base import released, synsets
from babelatlas.base.errors import InputError
from conftest import ROOT


def notebook_parameters(name):
    """The parameters of a chapter with their defaults."""
    return notebooks.defaults(ROOT / "notebooks" / "chapters" / f"{name}.ipynb")


@pytest.fixture
def classified():
    """Three classes in English, of which German has two: one correct, one not."""
    wnids = [
        "n01440764",
        "n01443537",
        "n01484850",
    ]  # tench, goldfish, great white shark
    english = pd.DataFrame(
        {
            "wnid": wnids,
            "label": ["tench", "goldfish", "great white shark"],
            "right": [1.0, 0.0, 1.0],
            "predicted": ["", wnids[0], ""],
        }
    )
    german = pd.DataFrame(
        {
            "wnid": wnids[:2],
            "label": ["Schleie", "Goldfisch"],
            "right": [1.0, 0.0],
            "predicted": ["", wnids[2]],
        }
    )
    return {"en": english, "de": german}


def test_photographs_are_of_classes_with_a_label_in_all_languages_by_name(classified):
    names = synsets.short_names()
    same = summary.same_photographs(classified, ["en", "de"], 2)
    assert same.n_shared == 2
    assert [names[wnid] for wnid in same.wnids] == ["goldfish", "tench"]
    assert same.table["photograph of"].tolist() == ["goldfish", "tench"]


def test_a_wrong_label_says_what_it_means_but_in_english_only_itself(classified):
    names = synsets.short_names()
    table = summary.same_photographs(classified, ["en", "de"], 2).table
    english, german = table["English"].tolist(), table["German"].tolist()
    assert english == ['✗ <bdi lang="en">tench</bdi>', '✓ <bdi lang="en">tench</bdi>']
    shark = names["n01484850"]  # German has no label for it: it stands in English
    assert german == [f"✗ {shark} ({shark})", '✓ <bdi lang="de">Schleie</bdi>']


def test_without_imagenet_there_are_no_photographs(monkeypatch):
    def missing(*_):
        raise InputError("The photographs are not here: download them.")

    monkeypatch.setattr(summary.dataset_registry, "load", missing)
    assert summary.show_photographs(["n01440764"]) is None


def test_accuracy_is_of_the_languages_asked_for_that_have_so_many_classes():
    accuracy = summary.equal_accuracy("bridge-lite2", 100, ["de", "aa", "en"])
    assert list(accuracy.index) == ["German", "English"]
    assert accuracy.between(0, 1).all()


@pytest.fixture(scope="module")
def lines():
    return summary.gap_lines(20, 0)


def test_the_lines_of_the_gap_are_those_of_its_chapter(lines):
    cell = notebook_parameters("14_gap_over_time")["series"][
        "Retrieval (CLIP_benchmark)"
    ]
    assert [*summary.GAP_SOURCE[:4], list(summary.GAP_SOURCE[4])] == cell
    scores = gap_over_time.read_scores(*cell, least_classes=1)
    gap = gap_over_time.measure_gap(scores, "best language").gap.mean(axis=1)
    by_line = lines.pivot(index="date", columns="line", values="value")
    ours = by_line[summary.BEST] - by_line[summary.MEAN]
    assert ours.tolist() == pytest.approx(gap.tolist())


def test_what_the_lines_say_is_where_they_begin_and_end(lines):
    words = summary.gap_in_words(lines)
    english = lines[lines["line"] == summary.ENGLISH]
    last = 100 * english["value"].iloc[-1]
    assert f"to {last:.1f} %, mean of the others" in words
    picture = summary.show_gap(lines, "<b>Lines.</b>").data
    assert picture.startswith('<div class="atlas-whole"><figure class="atlas-figure">')


def test_the_verdict_is_counted_by_the_rules_of_its_chapter():
    home, chapter = map(notebook_parameters, ("00_summary", "12_working_languages"))
    for name in ("other_lines", "more_classes"):
        assert home[name] == chapter[name]


def test_contents_count_models_languages_and_labels():
    # Spoken languages, English among them, as chapter 30 counts them.
    langs = ["de"] * 10 + ["sw"] * 9 + ["hr"] * 10 + ["sr"] * 10 + ["en"] * 10
    labels = pd.DataFrame({"lang": langs, "wnid": [str(n) for n in range(len(langs))]})
    book = summary.contents(labels, ["picto-en"], ["pictograms"])
    results = released.one_run(released.read())
    assert book.n_models == results["model"].nunique()
    assert book.labelled == "3 spoken languages"
    assert book.own_data == ""
    assert book.caution.startswith(" Those of [the miniature]")
    assert summary.contents(labels, ["openai-b32"], []).caution == ""
