"""Who checked the labels of a language, and which words were tested, in ten seconds."""

import pandas as pd

from atlas_study.pages import label_checks
from babelatlas.analysis import all_results
from babelatlas.lexicon import contributed_sheets

NOBODY = pd.DataFrame(columns=contributed_sheets.COLUMNS)


def judged(verdicts: list[str], origin: str = "Juma", lang: str = "sw") -> pd.DataFrame:
    return pd.DataFrame({"verdict": verdicts}).assign(lang=lang, origin=origin)


def test_where_nobody_checked_the_page_says_nobody():
    assert label_checks.speakers(NOBODY, "yo").startswith("Nobody yet")
    others = judged(["right"], lang="sw")
    assert label_checks.speakers(others, "yo").startswith("Nobody yet")


def test_speakers_are_named_with_what_they_found():
    table = pd.concat([judged(["right", "wrong"]), judged(["right"], "Asha")])
    assert label_checks.speakers(table, "sw") == (
        "Juma judged 2 labels, 1 of them wrong; Asha judged 1 label, 0 of them wrong."
    )


def test_the_audit_says_what_it_found_or_that_the_language_is_not_in_it():
    table = label_checks.audited()
    assert "Yoruba is not among these" in label_checks.audit(table, "yo")
    n_spanish = (table["lang"] == "es").sum()
    n_wrong = ((table["lang"] == "es") & (table["verdict"] == "wrong")).sum()
    text = label_checks.audit(table, "es")
    assert f"of {n_spanish} in Spanish, {n_wrong} were wrong" in text
    assert "not a native speaker" in text
    without = table[table["lang"] != "es"]
    assert "none that was drawn is in Spanish" in label_checks.audit(without, "es")


def test_a_page_says_which_scores_have_the_shown_words():
    swahili = " ".join(label_checks.words_tested("sw"))
    assert "Babel-ImageNet’s scores: not with the words below" in swahili
    assert "This study’s scores on photographs: with the words" in swahili
    assert "without labels" in swahili
    yoruba = " ".join(label_checks.words_tested("yo"))
    assert "scores on photographs" not in yoruba


def test_every_language_has_whole_sentences():
    for code in all_results.by_language():
        parts = label_checks.section(code)
        texts = [parts["speakers"], parts["audit"], *parts["words_tested"]]
        assert all(text.endswith(".") for text in texts), code
        assert "nan" not in " ".join(parts["words_tested"])
