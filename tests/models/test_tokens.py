"""Tokens of texts: cut at the context, taken, put into batches, without a loss."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from babelatlas.models import tokens

START, END, PAD = 1, 2, 0
TEXTS = st.lists(
    st.text(st.characters(codec="utf-8", min_codepoint=3), max_size=12),
    min_size=1,
    max_size=12,
)


def tokenizer(context=8, tail=1, **settings):
    """A text becomes a start, the numbers of its letters, and `tail` ends."""
    return tokens.Tokenizer(
        lambda texts, lang: [[START, *map(ord, text), *[END] * tail] for text in texts],
        context,
        PAD,
        **{"trim": True, "tail": tail} | settings,
    )


def rows(found):
    return [part.tolist() for part in np.split(found.pieces, found.ends[:-1])]


def test_a_text_over_the_context_keeps_its_start_and_its_end_and_is_marked():
    found = tokenizer(context=5)(["abcdefg", "abc", ""])
    assert rows(found) == [[START, *b"abc", END], [START, *b"abc", END], [START, END]]
    assert found.cut.tolist() == [True, False, False]
    assert rows(tokenizer(context=6, tail=2)(["abcdefg"])) == [
        [START, *b"abc", END, END]
    ]
    assert rows(tokenizer(context=6, tail=0)(["abcdefg"])) == [[START, *b"abcde"]]
    assert rows(tokenizer(context=0)(["abcdefghijk"])) == [
        [START, *b"abcdefghijk", END]
    ]


@given(TEXTS, st.integers(2, 10), st.integers(0, 2), st.booleans())
def test_what_goes_in_comes_out_of_the_batch(texts, context, tail, trim):
    found = tokenizer(context, tail, trim=trim)(texts)
    ids, mask = found.padded()

    assert mask.sum(1).tolist() == found.lengths.tolist()
    assert (ids[~mask] == PAD).all()
    assert ids.shape[1] == (found.lengths.max() if trim else context) <= context
    for text, row, here, cut in zip(texts, ids, mask, found.cut, strict=True):
        whole = [START, *map(ord, text), *[END] * tail]
        assert cut == (len(whole) > context)
        assert row[here].tolist() == (
            whole[: context - tail] + [END] * tail if cut else whole
        )


@given(TEXTS, st.data())
def test_taking_rows_is_tokenising_those_texts(texts, data):
    chosen = data.draw(
        st.lists(st.integers(0, len(texts) - 1), min_size=1, max_size=20)
    )
    taken, again = (
        tokenizer()(texts).take(np.array(chosen)),
        tokenizer()([texts[row] for row in chosen]),
    )
    assert rows(taken) == rows(again)
    assert taken.cut.tolist() == again.cut.tolist()
    assert np.array_equal(taken.padded()[0], again.padded()[0])
