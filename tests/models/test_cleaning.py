"""Quick cleaning gives what open_clip's gives, for any text."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from babelatlas.lexicon import labels
from babelatlas.models.loaders import cleaning

tokenizer = pytest.importorskip("open_clip.tokenizer")
CLEAN = tokenizer.get_clean_fn("whitespace")
QUICK = cleaning.quick(CLEAN)
# What the repair is for: wrongly decoded texts, HTML, widths, ligatures, quotation
# marks, marks apart from their letters, line ends, escapes, halves of pairs.
PIECES = [
    *("sÃ³", "â€™", "Ã ", "Â ", "Ð¿Ñ€", "вЂ", "×²", "à²", "√±", "ĂĄ", "Ã\xa0", "œ!"),
    *("&amp;", "&amp;amp;", "&lt;", "<b>", "&#233;", "&EACUTE;", "&", ";"),
    *("ＬＯＵＤ", "ｶﾅ", "ﬁ", "“", "’", "e\u0301", "\u0301", "각", "\u1100\u1161"),
    *("\n", "\r\n", "\u2028", "\x85", "\x1b[36;44m", "\x00", "\x1c", "\ufeff"),
    *("\ud83d", "\ude00", "\x80", "\xa0", "\u3000", "  ", "\t", "º", "°", "£", "É"),
    *("a photo of ", "зонт", "红伞", "छाता", "مظلة", "Größe", "née", "Â", "Ã", "É°"),
]


@given(
    st.lists(
        st.one_of(st.sampled_from(PIECES), st.text(max_size=4), st.characters()),
        max_size=8,
    ).map("".join)
)
@settings(max_examples=1500, deadline=None)
@example("a\nÃ b")
@example("\nÂ ")
def test_any_text_is_cleaned_as_open_clip_cleans_it(text):
    assert QUICK(text) == CLEAN(text)


def test_the_shipped_labels_are_cleaned_as_open_clip_cleans_them():
    words = labels.shipped()["label"].drop_duplicates()
    wrong = [word for word in words[::10] if QUICK(f"a {word}.") != CLEAN(f"a {word}.")]
    assert wrong == []


def test_a_text_that_stays_as_it_is_is_not_repaired():
    repaired = []

    def clean(text):
        repaired.append(text)
        return text

    patched = pytest.MonkeyPatch()
    with patched.context() as patch:
        patch.setattr(tokenizer, "get_clean_fn", lambda name: clean)
        quick = cleaning.quick(clean)
        texts = ["a photo of a  cat.", "ein Foto von Größe", "红色的伞", "छाता", "зонт"]
        assert [quick(text) for text in texts] == ["a photo of a cat.", *texts[1:]]
        assert repaired == []
        quick("sÃ³")
        assert repaired == ["sÃ³"]


def test_another_way_of_cleaning_is_left_alone():
    lower = tokenizer.get_clean_fn("lower")
    assert cleaning.quick(lower) is lower
