"""The table of claims: what it may hold, and what it says where it may not."""

import pytest

from babelatlas.base.errors import InputError
from babelatlas.papers import claims
from claim_tables import written


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"printed": "12.6x"}, r"'12.6x' is no number: .*claims.csv, line 2, liu2021, Table 1"),
        ({"relation": "about"}, "relation 'about' is not one of"),
        ({"definitions": ""}, "needs a note that says what is missing"),
        ({"cell": ""}, "needs a paper, a place, a cell and a block"),
    ],
)
def test_a_claim_that_cannot_be_read_is_refused_with_its_line(tmp_path, change, message):
    with pytest.raises(InputError, match=message):
        claims.read(written(tmp_path, change))


def test_a_cell_given_twice_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"Table 1, ID \| accuracy is given twice .*line 3"):
        claims.read(written(tmp_path, {}, {}))


def test_a_block_has_one_set_of_definitions(tmp_path):
    with pytest.raises(InputError, match="name different definitions"):
        claims.read(written(tmp_path, {}, {"cell": "SW | accuracy", "definitions": "other"}))


def test_a_file_that_is_absent_or_lacks_a_column_is_named(tmp_path):
    with pytest.raises(InputError, match="There is no table of claims"):
        claims.read(tmp_path / "none.csv")
    (tmp_path / "short.csv").write_text("paper,place\n")
    with pytest.raises(InputError, match="should have the columns paper, place, cell"):
        claims.read(tmp_path / "short.csv")
