"""WikiMatrix's files: which language is which column, scores, and what is refused."""

import gzip

import pytest

from babelatlas.base.errors import InputError
from babelatlas.datasets import mined_sentences

SINHALA = '1.02\tA cat.\tපූසෙක්.\n1.30\tHe said "no.\tඔහු නෑ කීවේය.\n1.1\tNA\tNA\n'
GERMAN = "1.2\tEin Hund.\tA dog.\n"


@pytest.fixture
def folder(tmp_path):
    contents = {"en-si": SINHALA, "de-en": GERMAN, "de-si": "1.5\tHund\tබල්ලා\n"}
    for name, text in contents.items():
        path = tmp_path / f"WikiMatrix.{name}.tsv.gz"
        path.write_bytes(gzip.compress(text.encode()))
    return tmp_path


def rows(table):
    return table.to_numpy().tolist()


def test_the_pair_in_the_name_says_which_column_is_english(folder):
    german = mined_sentences.read_wikimatrix(folder, "de")
    assert rows(german) == [["Ein Hund.", "A dog.", 1.2]]


def test_pairs_below_the_score_are_left_out_and_the_best_come_first(folder):
    sinhala = mined_sentences.read_wikimatrix(folder, "si")
    assert rows(sinhala) == [
        ["ඔහු නෑ කීවේය.", 'He said "no.', 1.3],
        ["NA", "NA", 1.1],
    ]
    assert len(mined_sentences.read_wikimatrix(folder, "si", 1.0)) == 3
    with pytest.raises(InputError, match=r"No pair of .* a score of at least 2"):
        mined_sentences.read_wikimatrix(folder, "si", 2)


def test_a_language_that_is_not_there_is_named_with_those_that_are(folder):
    with pytest.raises(InputError, match=r"English and Xhosa .*with English: de, si"):
        mined_sentences.read_wikimatrix(folder, "xh")


@pytest.mark.parametrize(
    "content",
    [
        gzip.compress(b"A cat.\tscore\tcat\n"),
        gzip.compress(b"1.2\ta\tb\tc\n1.2\ta\tb\tc\td\n"),
        gzip.compress(b"1.2\ta\tb\n" * 1000)[:-20],
        b"no gzip",
    ],
    ids=["no score", "more columns", "cut", "no gzip"],
)
def test_a_damaged_file_is_one_sentence(folder, content):
    (folder / "WikiMatrix.en-lo.tsv.gz").write_bytes(content)
    with pytest.raises(InputError, match="cannot be read") as error:
        mined_sentences.read_wikimatrix(folder, "lo")
    assert "\n" not in str(error.value)
