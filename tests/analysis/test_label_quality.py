"""What an audit sees in labels, and how far sources, label sets and translations agree."""

import unicodedata

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from babelatlas.analysis import label_quality
from babelatlas.base import tables
from babelatlas.lexicon import cleaning, label_translations, labels


def senses(*rows: tuple[str, str, str, str]) -> pd.DataFrame:
    """A table of senses from (lang, wnid, lemma, source)."""
    table = pd.DataFrame(rows, columns=["lang", "wnid", "lemma", "source"])
    return table.assign(licence="CC BY")


ENGLISH = senses(
    ("en", "n1", "tiger shark", "wordnet-3.0"), ("en", "n2", "moped", "wordnet-3.0")
)


def label_set(
    *rows: tuple[str, str, str] | tuple[str, str, str, list[str]],
) -> pd.DataFrame:
    """A label set from (lang, wnid, label) or (lang, wnid, label, alternatives)."""
    table = pd.DataFrame(
        [(*row, [])[:4] for row in rows],
        columns=["lang", "wnid", "label", "alternatives"],
    )
    table = table.assign(
        source="wikt", licence="CC BY", ambiguous=False, confirmed_by=[[] for _ in rows]
    )
    return table[list(tables.SCHEMAS["labels"][0])]


def noticed(label: str, lang: str) -> set[str]:
    row = label_quality.flags(label_set((lang, "n1", label)), ENGLISH).iloc[0]
    return {name for name in label_quality.CHECKS if row[name]}


# One label


@pytest.mark.parametrize(
    ("label", "lang", "expected"),
    [
        ("Tigerhai", "de", set()),
        ("собака", "ru", set()),
        ("Tシャツ", "ja", set()),  # Japanese words may hold capital Latin letters
        ("MP3", "de", {"digits"}),
        ("孔雀", "ko", {"wrong script"}),
        ("…", "de", {"edges", "wrong script"}),  # no letter at all
        ("鵝", "zh", {"other characters"}),
        ("鵝", "zh-Hant", set()),
        ("Tiger_Shark", "de", {"unicode", "English, same class", "English, any class"}),
        ("Moped", "de", {"English, any class"}),
        ("å", "sv", {"one letter"}),
        ("猫", "zh", set()),  # a sign is a word
        ("ຄຸ", "lo", set()),  # a consonant and a vowel
        ("eins zwei drei vier fünf sechs", "de", {"long"}),
        ("x" * 41, "de", {"long"}),
        ("x" * 40, "de", set()),
    ],
)
def test_what_is_wrong_with_a_label_is_noticed_and_nothing_else(label, lang, expected):
    assert noticed(label, lang) == expected


@settings(max_examples=200, deadline=None)
@given(
    label=st.text(
        st.sampled_from("aé шсс́ Ωα 犬鵝鹅 カ ひ 한 ا ب ַא A(1)．.-_"),
        min_size=1,
        max_size=8,
    ),
    lang=st.sampled_from(
        ["de", "ru", "el", "zh", "zh-Hant", "ja", "ko", "ar", "he", "sh"]
    ),
)
def test_a_label_has_a_defect_of_script_if_and_only_if_the_cleaning_rule_drops_it(
    label, lang
):
    three = {"mixed script", "wrong script", "other characters"}
    found = label_quality._defects(label, lang)
    assert any(found.get(name, False) for name in three) == (
        cleaning.keep_script(label, lang) != label
    )
    assert sum(found.get(name, False) for name in three) <= 1
    for name in set(cleaning.RULES) - {"script"}:
        assert found[name] == (cleaning.RULES[name](label, lang) != label)


# A label set


def test_a_label_that_two_classes_share_is_a_duplicate_whatever_its_case_and_only_in_its_language():
    table = label_set(
        ("de", "n1", "Kran"),
        ("de", "n2", "kran"),
        ("sv", "n1", "kran"),
        ("de", "n3", "Kranich"),
    )
    assert label_quality.flags(table, ENGLISH)["duplicate"].tolist() == [
        True,
        True,
        False,
        False,
    ]


def test_the_shipped_label_set_has_no_defect():
    counted = label_quality.counts(
        label_quality.flags(labels.shipped(), label_quality.senses.shipped())
    )
    assert len(counted) > 300
    assert counted[[*label_quality.DEFECTS, label_quality.ANY]].to_numpy().sum() == 0


# Sources


def test_two_sources_agree_on_a_class_where_they_have_a_word_in_common():
    table = senses(
        ("it", "n1", "squalo", "omw-ita"),
        ("it", "n1", "pescecane", "omw-ita"),
        ("it", "n1", "Pescecane", "omw-iwn-ita"),
        ("it", "n2", "motorino", "omw-ita"),
        ("it", "n2", "ciclomotore", "omw-iwn-ita"),
        ("it", "n2", "ciclomotore", "wikt"),
        ("it", "n3", "gatto", "omw-ita"),
        ("de", "n1", "Hai", "wikt"),
        ("en", "n1", "shark", "wordnet-3.0"),
        ("en", "n1", "shark", "wikt"),
    )
    found = label_quality.between_sources(table).set_index(["lang", "first", "second"])[
        ["count", "n"]
    ]
    assert found.to_dict("index") == {
        ("it", "omw-ita", "omw-iwn-ita"): {"count": 1, "n": 2},
        ("it", "omw-ita", "wikt"): {"count": 0, "n": 1},
        ("it", "omw-iwn-ita", "wikt"): {"count": 1, "n": 1},
    }


def test_two_label_sets_are_compared_over_the_classes_that_both_have():
    ours = label_set(
        ("de", "n1", "Hai", ["Haifisch"]), ("de", "n2", "Mofa"), ("de", "n3", "Hund")
    )
    other = label_set(
        ("de", "n1", "haifisch"),
        ("de", "n2", "MOFA"),
        ("de", "n4", "Katze"),
        ("fr", "n1", "requin"),
    )
    found = label_quality.between_label_sets(ours, other)
    assert found.to_dict("records") == [{"lang": "de", "n": 2, "label": 1, "word": 2}]


def test_what_agrees_in_every_class_or_in_few_classes_does_not_ship():
    ours = label_set(
        *(("de", f"n{number}", f"w{chr(97 + number)}", ["x"]) for number in range(25))
    )
    babel = ours.assign(label=["x", "x", *ours["label"][2:]], source="babel-imagenet")
    known = senses(*(("de", f"n{number}", "x", "wikt") for number in range(19)))
    found = label_quality.with_babel_imagenet({"agreed": ours}, known, babel)
    # "word" agrees in all 25 classes; Wiktionary names 19 of them.
    assert found[["source", "count", "n"]].to_numpy().tolist() == [
        ["label, agreed", 23, 25]
    ]
    # 24 of 25 are more than 95 %: nearly all labels could be read from it.
    nearly = ours.assign(label=["x", *ours["label"][1:]], source="babel-imagenet")
    assert label_quality.with_babel_imagenet({"agreed": ours}, known, nearly).empty


# Translations


@pytest.mark.parametrize(
    ("word", "lang", "expected"),
    [
        ("una tinca", "it", "tinca"),
        ("un'ouzel d'acqua", "it", "ouzel d'acqua"),
        ("un’aquila", "it", "aquila"),
        ("a eft", "it", "eft"),
        ("unicorno", "it", "unicorno"),
        ("Una", "it", "una"),
        ("un chien", "fr", "un chien"),
        ("القرش الأبيض", "ar", "قرش أبيض"),
        ("ال", "ar", "ال"),
        ("كوز (آنية)", "ar", "كوز"),
        ("鸢（猛禽）", "zh", "鸢"),
        ("鵝", "zh", "鹅"),
        ("鵝", "ja", "鵝"),
    ],
)
def test_articles_remarks_and_variants_do_not_count_when_labels_are_compared(
    word, lang, expected
):
    assert label_translations.comparable_form(word, lang) == unicodedata.normalize(
        "NFC", expected
    )


def test_a_label_is_compared_with_a_translation_in_four_ways():
    table = label_set(
        ("it", "n1", "squalo"),
        ("it", "n2", "motorino", ["ciclomotore"]),
        ("it", "n3", "gatto"),
    )
    reference = pd.DataFrame(
        {
            "wnid": ["n1", "n2", "n4"],
            "translation": ["uno squalo", "un ciclomotore", "un cane"],
        }
    )
    found = label_quality.compare(table, reference, "it").set_index("wnid")
    assert found.loc["n1"].tolist() == [1, 1, 1, 1]
    # "motor" is the longest that motorino and ciclomotore have in common, then nothing
    # on either side: hence 2 * 5 / (8 + 11); with the "i" before or the "o" behind out
    # of order.
    assert found.loc["n2", ["label", "any word", "random word"]].tolist() == [0, 1, 0.5]
    assert found.loc["n2", "similarity"] == pytest.approx(2 * 5 / 19)
    assert "n3" not in found.index


def two_choices(n: int, better: int, worse: int) -> tuple[dict, dict]:
    """Two label sets and a translation; the first is right in `better` classes where
    the second is not, and so on.
    """
    right = [f"w{number}" for number in range(n)]
    one = [
        "x" if better <= number < better + worse else word
        for number, word in enumerate(right)
    ]
    two = ["x" if number < better else word for number, word in enumerate(right)]
    sets = {
        name: label_set(
            *(("ja", f"n{number}", word) for number, word in enumerate(words))
        )
        for name, words in {"one": one, "two": two}.items()
    }
    return sets, {
        "ja": pd.DataFrame(
            {"wnid": [f"n{number}" for number in range(n)], "translation": right}
        )
    }


def test_the_difference_of_two_choices_is_tested_as_mcnemar_does():
    from scipy.stats import binomtest

    found = (
        label_quality.differences(label_quality.compare_all(*two_choices(40, 12, 2)))
        .set_index("measure")
        .loc["label"]
    )
    assert found[["first", "second", "value", "n"]].tolist() == ["one", "two", 0.25, 40]
    # McNemar's exact test: 12 against 2 classes, binomial with a half, p = 0.0129.
    assert found["p"] == pytest.approx(binomtest(2, 14).pvalue, abs=0.004)
    assert found["ci_low"] > 0


# What ships


def test_the_shipped_counts_hold_no_word_of_babel_imagenet():
    for name in ("audit", "agreement", "translations", "choices"):
        table = label_quality.shipped(name)
        text = table.select_dtypes(exclude="number")
        allowed = {
            *label_quality.languages.table()["code"],
            *label_quality.senses.manifest()["source"],
        }
        allowed |= {*label_quality.MEASURES, "word", "babel-imagenet"}
        allowed |= {*labels.CHOICES, *(f"label, {choice}" for choice in labels.CHOICES)}
        assert set(text.to_numpy().ravel()) <= allowed, name
    agreement = label_quality.shipped("agreement")
    assert (agreement["n"] >= label_quality.ENOUGH).all()
    assert (agreement["count"] <= label_quality.COMPLETE * agreement["n"]).all()


@pytest.mark.slow
def test_what_ships_is_what_counting_again_gives(mirror, monkeypatch):
    monkeypatch.setenv("BABELATLAS_MIRROR", str(mirror))
    for name, table in label_quality.recount().items():
        pd.testing.assert_frame_equal(
            table.reset_index(drop=True), label_quality.shipped(name), rtol=0, atol=1e-6
        )
