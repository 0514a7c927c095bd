"""Tests of how much of the accuracy spelling explains."""

import numpy as np
import pandas as pd
import pytest

from atlas_study.chapters import spelling as chapter
from babelatlas.base import tables
from babelatlas.base.errors import InputError
from babelatlas.lexicon import labels as label_sets

MODELS = ["bridge-lite2", "bridge-lite0"]
NAMES = pd.Series({"a": "elephant", "b": "tiger", "c": "dog"})


def classes(labels: list[str]) -> pd.DataFrame:
    return pd.DataFrame({"wnid": ["a", "b", "c"], "label": labels, "n_images": 2})


def test_the_baseline_takes_the_label_most_like_the_english_name():
    read = chapter.by_spelling(classes(["Elefant", "tigre", "Tier"]), NAMES)
    # "Tier" is more like "tiger" than "tigre" is, and nothing but "tigre" shares a g
    # with "dog".
    assert read["n_correct"].tolist() == [2, 0, 0]
    np.testing.assert_allclose(read["similarity"], [0.75, 0.6, 0])


def test_the_baseline_guesses_where_nothing_is_alike():
    read = chapter.by_spelling(classes(["слон", "тигр", "пёс"]), NAMES)
    np.testing.assert_allclose(read["n_correct"], 2 / 3)
    assert (read["similarity"] == 0).all()


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    found = chapter.outcomes("", "imagenet-photos-100", MODELS, 0.6)
    return chapter.with_enough(found, 60)


def test_models_and_baseline_have_the_same_classes(rows):
    counts = rows.groupby(["model", "lang"]).size().unstack("model")
    assert set(counts) == {*MODELS, chapter.BASELINE}
    assert counts.eq(counts[chapter.BASELINE], axis=0).all(axis=None)
    assert "en" not in counts.index
    german = rows[(rows["lang"] == "de") & (rows["model"] == "bridge-lite2")]
    labels = label_sets.shipped().set_index(["lang", "wnid"])["label"]
    for row in german[german["similarity"] == 1].itertuples():
        pair = labels["de", row.wnid], labels["en", row.wnid]
        assert pair[0].casefold() == pair[1].casefold()


def test_accuracy_is_correct_predictions_by_photographs(rows):
    scores = chapter.accuracies(rows, 50, 0)
    german = rows[(rows["lang"] == "de") & (rows["model"] == "bridge-lite2")]
    row = scores[(scores["lang"] == "de") & (scores["model"] == "bridge-lite2")].iloc[0]
    expected = german["n_correct"].sum() / german["n_images"].sum()
    assert row["value"] == pytest.approx(expected)
    assert row["ci_low"] <= row["value"] <= row["ci_high"]
    drawn = chapter.drawn(scores, "bridge-lite2", 5)
    assert drawn["lang"].nunique() == 5
    assert set(drawn["script"]) == {chapter.LATIN}
    assert chapter.beaten(scores, "bridge-lite2").dtype == bool
    assert len(chapter.accuracy_table(scores)) == rows["lang"].nunique()


def test_shares_of_labels_and_of_correct_predictions_are_counted(rows):
    table = chapter.by_likeness(rows, 50, 0)
    where = {"model": "bridge-lite2", "script": chapter.LATIN}
    part = rows[(rows["model"] == "bridge-lite2") & (rows["script"] == chapter.LATIN)]
    correct = part[part["n_correct"] > 0.5]
    expected = (correct["similarity"] >= 0.6).mean()
    row = chapter.measured(
        table, **where, spelled=chapter.ALIKE, measure="share of correct"
    )
    assert row["value"].iloc[0] == pytest.approx(expected)
    means = chapter.by_script(rows, 50, 0)
    assert len(means) == 6
    shown = chapter.likeness_table(table)
    assert "nan" not in shown.to_csv()
    assert chapter.text(
        table, **where, spelled=chapter.ALIKE, measure="accuracy"
    ) in set(shown["accuracy (%)"])


def test_unknown_models_and_too_few_languages_are_refused(rows):
    with pytest.raises(InputError, match="'bridge-lite9'"):
        chapter.outcomes("", "imagenet-photos-100", ["bridge-lite9"], 0.6)
    with pytest.raises(InputError, match="lower least_classes"):
        chapter.with_enough(rows, 101)
    with pytest.raises(InputError, match="There is nothing for nobody"):
        chapter.text(chapter.by_script(rows, 50, 0), model="nobody")


def test_what_is_written_are_scores(rows, tmp_path):
    scores = chapter.accuracies(rows, 50, 0)
    path = tmp_path / "x.parquet"
    chapter.write(scores, "imagenet-photos-100", str(path), {})
    assert chapter.BASELINE in set(tables.read(path, "scores")["model"])
