"""The title page: the same photographs in several languages, and numbers that other
pages own.
"""

import pandas as pd
import pytest

from atlas_study.chapters import summary
from babelatlas.analysis import ranking, training_data
from babelatlas.base import published, released, synsets
from babelatlas.base.errors import InputError


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


def test_the_findings_are_those_of_the_pages_that_own_them():
    findings = summary.findings(50, 0)
    gaps = 100 * published.gaps_between_groups()
    assert findings.gap_equal == pytest.approx(gaps["100 classes"].mean())
    assert findings.gap_all == pytest.approx(gaps["all classes"].mean())
    assert findings.steady_high > findings.steady_low

    recall = 100 * training_data.recall("xm3600")
    assert findings.n_others == len(recall) - 1
    assert findings.english_after > findings.english_before
    assert findings.others_after < findings.others_before

    paper = published.accuracy_by_language().query("lang != 'en'")
    n_models = paper["model"].nunique()
    assert findings.n_pairs == n_models * (n_models - 1) / 2
    pairs = ranking.comparisons(paper, n_resamples=50)
    assert findings.n_different <= (pairs["p_adjusted"] < 0.05).sum()


def test_contents_count_models_languages_and_labels():
    labels = pd.DataFrame({"lang": ["de"] * 10 + ["sw"] * 9 + ["en"] * 20})
    book = summary.contents(labels, ["picto-en"], ["pictograms"])
    results = released.one_run(released.read())
    assert book.n_models == results["model"].nunique()
    assert book.labelled == "1 language"
    assert book.own_data == ""
    assert book.caution.startswith(" Those of [the miniature]")
    assert summary.contents(labels, ["openai-b32"], []).caution == ""
