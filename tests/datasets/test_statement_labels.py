"""Labels that people gave to statements: read, checked, counted."""

import pandas as pd
import pytest

from babelatlas.base.errors import InputError
from babelatlas.datasets import statement_labels
from conftest import filled


def statements():
    """Two statements of two pairs each in Swahili."""
    rows = [
        {"variant": "original", "lang": "sw", "statement": name, "number": number}
        for name in ("a", "b")
        for number in (0, 1)
    ]
    return filled("pairs", rows).assign(truth=[True, False, True, False])


def written(tmp_path, rows):
    path = tmp_path / "labels.csv"
    table = pd.DataFrame(rows, columns=statement_labels.COLUMNS)
    table.to_csv(path, index=False)
    return path


ROWS = [
    ("sw", "a", 0, "Asha", "true"),
    ("sw", "a", 0, "Juma", " False "),
    ("swa", "a", 1, "Asha", "FALSE"),
    ("sw", "a", 1, "Juma", "false"),
    ("sw", "b", 0, "Asha", "true"),
]


def test_labels_are_read_with_what_the_writer_meant(tmp_path):
    labels = statement_labels.read(written(tmp_path, ROWS), statements())
    assert labels["lang"].tolist() == ["sw"] * 5
    assert labels["label"].tolist() == [True, False, False, False, True]
    assert labels["truth"].tolist() == [True, True, False, False, True]


def test_pairs_with_fewer_labels_than_others_are_not_counted(tmp_path):
    labels = statement_labels.read(written(tmp_path, ROWS), statements())
    counted = statement_labels.counts(labels)
    columns = ["truth", "n_true", "n_false", "n"]
    assert counted[columns].to_numpy().tolist() == [[True, 1, 1, 1], [False, 0, 2, 1]]


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        (("sw", "b", 1, "Asha", "maybe"), r"line 7 has the label 'maybe': write true"),
        (("sw", "b", 2, "Asha", "true"), r"pair 2 of 'b' in sw is not among those"),
        (("sw", "b", "x", "Asha", "true"), r"pair x of 'b' in sw is not among those"),
        (("sw", "c", 0, "Asha", "true"), r"pair 0 of 'c' in sw is not among those"),
        (("sw", "b", 0, "Asha", "true"), r"'Asha' labels pair 0 of 'b' twice"),
    ],
)
def test_a_label_that_cannot_be_used_is_named(tmp_path, row, sentence):
    path = written(tmp_path, [*ROWS, row])
    with pytest.raises(InputError, match=sentence):
        statement_labels.read(path, statements())
