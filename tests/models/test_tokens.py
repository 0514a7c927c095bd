"""Tokens of texts: cut at the context, taken, put into batches, without a loss."""

import doctest

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from babelatlas.base.errors import InputError
from babelatlas.models import tokens

START, END, PAD = 1, 2, 0
TEXTS = st.lists(st.text(st.characters(codec="utf-8", min_codepoint=3), max_size=12), min_size=1, max_size=12)


def tokenizer(context=8, tail=1, **settings):
    """A text becomes a start, the numbers of its letters, and `tail` ends."""
    return tokens.Tokenizer(
        lambda texts, lang: [[START, *map(ord, text), *[END] * tail] for text in texts],
        context, PAD, **{"trim": True, "tail": tail} | settings,
    )  # fmt: skip


def rows(found):
    return [part.tolist() for part in np.split(found.pieces, found.ends[:-1])]


def test_the_examples_in_the_docstrings_hold():
    assert doctest.testmod(tokens).failed == 0


def test_a_text_over_the_context_keeps_its_start_and_its_end_and_is_marked():
    found = tokenizer(context=5)(["abcdefg", "abc", "abcd", ""])
    assert rows(found) == [
        [START, *b"abc", END],
        [START, *b"abc", END],
        [START, *b"abc", END],
        [START, END],
    ]
    assert found.cut.tolist() == [True, False, True, False]
    assert found.lengths.tolist() == [5, 5, 5, 2]
    assert len(found) == 4


def test_the_tail_says_how_many_last_pieces_are_kept():
    assert rows(tokenizer(context=6, tail=2)(["abcdefg"])) == [[START, *b"abc", END, END]]
    assert rows(tokenizer(context=6, tail=0)(["abcdefg"])) == [[START, *b"abcde"]]


def test_texts_are_made_canonical_first():
    assert rows(tokenizer(canonicalise=str.lower)(["AbC"])) == [[START, *b"abc", END]]


def test_a_batch_is_padded_to_its_longest_text_or_to_the_context():
    ids, mask = tokenizer()(["ab", ""]).padded()
    assert ids.tolist() == [[START, *b"ab", END], [START, END, PAD, PAD]]
    assert mask.tolist() == [[True] * 4, [True, True, False, False]]
    assert ids.dtype == np.int64
    ids, mask = tokenizer(trim=False)(["ab"]).padded()
    assert ids.tolist() == [[START, *b"ab", END, PAD, PAD, PAD, PAD]]
    assert mask.sum() == 4


def test_a_piece_that_equals_the_padding_is_no_padding():
    found = tokens.Tokens(np.array([5, PAD, PAD]), np.array([1, 3]), np.zeros(2, bool), PAD)
    assert found.padded()[1].tolist() == [[True, False], [True, True]]


def test_no_text_is_told():
    with pytest.raises(InputError, match="no text"):
        tokenizer()([])


@pytest.mark.parametrize("bad", [None, float("nan"), 7, b"b", ["b"], "\ud83d", "b\udc80"])
def test_what_is_no_text_is_told_with_its_place(bad):
    with pytest.raises(InputError, match=r"^Text 2 of 3 is .*: expected a str of valid Unicode\.$") as raised:
        tokenizer(canonicalise=str.lower)(["a", bad, "c"])
    str(raised.value).encode()


@pytest.mark.parametrize("bad", ["a text", b"a text", None, 7])
def test_what_is_no_list_is_told_and_not_taken_letter_by_letter(bad):
    with pytest.raises(InputError, match=r"^Expected a list of texts, got .*: put it between brackets\.$"):
        tokenizer()(bad)


def test_a_list_an_array_and_a_column_of_texts_are_all_taken():
    texts = ["ab", "\U0001f408", ""]
    for given_texts in (texts, tuple(texts), np.array(texts), pd.Series(texts), iter(texts)):
        assert tokens.check_texts(given_texts) == texts


@given(TEXTS, st.integers(2, 10), st.integers(0, 2), st.booleans())
def test_what_goes_in_comes_out_of_the_batch(texts, context, tail, trim):
    found = tokenizer(context, tail, trim=trim)(texts)
    ids, mask = found.padded()

    assert mask.sum(1).tolist() == found.lengths.tolist()
    assert (ids[~mask] == PAD).all()
    assert ids.shape[1] == (found.lengths.max() if trim else context) <= context
    for text, row, here, cut in zip(texts, ids, mask, found.cut, strict=True):
        whole = [START, *map(ord, text), *[END] * tail]
        kept = row[here].tolist()
        assert cut == (len(whole) > context)
        assert kept == (whole[: context - tail] + [END] * tail if cut else whole)


@given(TEXTS, st.data())
def test_taking_rows_is_tokenising_those_texts(texts, data):
    chosen = data.draw(st.lists(st.integers(0, len(texts) - 1), max_size=20))
    taken = tokenizer()(texts).take(np.array(chosen))

    assert len(taken) == len(chosen)
    assert (taken.pad, taken.width) == (PAD, 0)
    if chosen:
        again = tokenizer()([texts[row] for row in chosen])
        assert rows(taken) == rows(again)
        assert taken.cut.tolist() == again.cut.tolist()
        assert np.array_equal(taken.padded()[0], again.padded()[0])
    else:
        assert taken.padded()[0].shape == (0, 0)
