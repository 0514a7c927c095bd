"""Tests of what the page on the quality of labels computes and shows."""

import pandas as pd
import pytest

from atlas_study.chapters import label_quality
from babelatlas.base import tables
from babelatlas.lexicon import labels

ALL_CODES = ["de", "fr"]


@pytest.fixture(scope="module")
def audit() -> label_quality.Audit:
    return label_quality.audit()


def senses(*rows: tuple[str, str, str, str]) -> pd.DataFrame:
    """A table of senses from (lang, wnid, lemma, source)."""
    table = pd.DataFrame(rows, columns=["lang", "wnid", "lemma", "source"])
    return table.assign(licence="CC BY")


def words() -> label_quality.Words:
    table = senses(
        ("en", "n01491361", "tiger shark", "wordnet-3.0"),
        ("en", "n03785016", "moped", "wordnet-3.0"),
        ("de", "n01491361", "Tigerhai", "omw-odenet"),
        ("de", "n01491361", "Tigerhai", "wikt"),
        ("de", "n03785016", "Moped", "wikt"),
        ("de", "n03785016", "Mofa", "omw-odenet"),
        ("fr", "n01491361", "requin-tigre", "wikt"),
    )
    label_set = labels.label_set(table, table["wnid"].unique().tolist())
    return label_quality.Words(label_set, table, ALL_CODES, english_note="")


def test_the_share_of_wrong_labels_is_of_those_that_the_judge_was_sure_of(audit):
    row = audit.rates.query("variant == 'all' and metric == 'label error rate'").iloc[0]
    n_wrong = (audit.wrong["verdict"] == "wrong").sum()
    assert row["n"] == audit.table.loc["all", "judged, sure"]
    assert row["value"] == pytest.approx(n_wrong / row["n"])
    by_script = audit.table.loc[["Latin script", "other scripts"], "judged, sure"]
    assert by_script.sum() == row["n"]


def test_labels_that_are_not_right_are_listed_with_their_language(audit):
    assert "right" not in set(audit.wrong["verdict"])
    assert audit.wrong["label"].str.startswith('<bdi lang="').all()
    assert len(audit.wrong) < audit.n_labels


def test_shares_come_with_wilsons_interval_by_language_and_a_bootstrap_over_languages():
    counted = pd.DataFrame({"lang": ["de", "fr"], "n": [10, 1], "digits": [2, 0]})
    found = label_quality.rates(counted).set_index(["lang", "check"])
    # Wilson (1927), 2 of 10: 0.0567 to 0.5098, as in Newcombe (1998) and R's
    # prop.test(2, 10, correct = FALSE).
    assert found.loc[("de", "digits"), ["count", "value", "n"]].tolist() == [2, 0.2, 10]
    assert found.loc[("de", "digits"), ["ci_low", "ci_high"]].tolist() == pytest.approx(
        [0.0567, 0.5098], abs=1e-4
    )
    assert found.loc[("fr", "digits"), ["count", "n"]].tolist() == [0, 1]
    whole = found.loc[("", "digits")]
    assert whole[["count", "n"]].tolist() == [2, 11]
    assert whole["value"] == pytest.approx(2 / 11)
    # A share below 20 %, of two languages, which say next to nothing of others.
    assert whole["ci_low"] < 0.01 < 0.7 < whole["ci_high"] < 1


def test_defects_are_counted_over_the_languages_of_all_label_sets():
    defects = label_quality.defects(words(), n_resamples=50)
    assert defects.sizes[label_quality.UNCLEANED] == 3
    assert defects.n_cleaned == 3
    assert defects.bound > 50  # percent: three labels say next to nothing
    assert set(defects.rates["lang"]) == {"", *ALL_CODES}
    assert set(defects.rates["language"].dropna()) == {"German", "French"}
    assert "any defect" in set(defects.table["defect or remark"])
    assert defects.table["meaning"].notna().all()


def test_two_sources_are_compared_class_by_class():
    between = label_quality.between_sources(words())
    assert between["row"].tolist() == ["German: odenet and Wiktionary"]
    assert between[["count", "n"]].to_numpy().tolist() == [[1, 2]]


def test_every_rule_has_its_row_even_if_it_changes_nothing():
    table = label_quality.rule_changes(words())
    assert table[["labels changed", "labels left out"]].to_numpy().sum() == 0
    assert "titles" in table.index


def test_agreement_with_babel_imagenet_is_pooled_over_the_languages_that_are_asked():
    agreement = label_quality.with_babel_imagenet(["de", "fr", "it"], n_resamples=50)
    assert agreement.table["languages"].max() <= 3
    assert set(agreement.by_language["language"]) <= {"German", "French", "Italian"}
    in_common = agreement.by_language["classes in common"]
    assert in_common.is_monotonic_decreasing


def test_a_language_without_wordnets_to_compare_has_none_in_the_table():
    agreement = label_quality.with_babel_imagenet(["de"], n_resamples=50)
    assert agreement.by_language["language"].tolist() == ["German"]
    assert agreement.by_language["wordnets"].isna().all()


def test_translations_of_four_languages_are_compared_with_each_label_set():
    near = label_quality.with_translations()
    assert near["language"].nunique() == 4
    assert near["set"].notna().all()
    assert set(near["panel"].dropna()) == set(label_quality.MEASURES.values())
    differences = label_quality.differences_of_choices()
    assert set(differences["language"]) == set(near["language"])
    assert differences["difference (points)"].str.contains(" to ").all()
    assert label_quality.translation_sources().startswith("Arabic: ")


def test_narrow_intervals_take_more_labels():
    needed = label_quality.labels_to_judge(0.054, [0.2, 0.1, 0.05])
    assert needed["labels to judge"].is_monotonic_increasing
    assert needed["width of the interval"].tolist() == [
        "20 points",
        "10 points",
        "5 points",
    ]


def test_a_label_set_is_read_with_the_senses_of_its_classes(tmp_path):
    known = words()
    label_path = tables.write(known.labels, tmp_path / "labels.parquet", "labels")
    read = label_quality.read_words(str(label_path), "")
    assert set(read.senses["wnid"]) == {"n01491361", "n03785016"}
    assert read.codes == ALL_CODES
    assert read.english_note.startswith("English class names of this label set")
