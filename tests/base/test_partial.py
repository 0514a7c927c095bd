import numpy as np
import pandas as pd
import pytest

from babelatlas.base import partial, tables
from babelatlas.base.errors import InputError
from babelatlas.evaluation import zeroshot


def images(paths, wnids):
    return pd.DataFrame({"path": paths, "wnid": wnids, "number": range(len(paths))})


def test_a_limit_takes_the_first_values_of_each_group_with_all_their_rows():
    rows = pd.DataFrame(
        {"lang": ["de", "de", "de", "de", "fr", "fr"], "item": ["b", "b", "a", "a", "a", "c"], "row": range(6)}
    )
    assert partial.first(rows, 1, "item", ["lang"])["row"].tolist() == [0, 1, 4]
    assert partial.first(rows, 2, "item")["item"].tolist() == ["b", "b", "a", "a", "a"]
    assert partial.first(rows, 99, "item", ["lang"]).equals(rows)


def test_no_limit_keeps_the_table_and_a_limit_its_notes():
    rows = images(["1.png", "2.png"], ["n1", "n1"])
    rows.attrs["missing"] = 3
    assert partial.first(rows, "", "path") is rows
    assert partial.first(rows, 1, "path").attrs == {"missing": 3}


@pytest.mark.parametrize("limit", [0, -1, 2.0, True, "5", None])
def test_a_limit_that_is_no_number_of_items_is_refused(limit):
    with pytest.raises(InputError, match="A limit is how many images of a class, queries or items"):
        partial.first(images(["1.png"], ["n1"]), limit, "path")


def test_a_partial_table_is_refused_with_the_notebook_to_run_again_unless_it_is_asked_for(tmp_path):
    path = tables.write(images(["1.png"], ["n1"]), tmp_path / "a.parquet", "images", partial.mark(5, "20_zeroshot"))
    with pytest.raises(InputError, match=r"partial \(20_zeroshot with limit = 5\).*run 20_zeroshot again without"):
        tables.read(path, "images")
    assert len(tables.read(path, "images", partial=True)) == 1


def test_what_is_made_of_a_partial_file_is_partial_too_and_so_on(tmp_path):
    rows = images(["1.png"], ["n1"])
    vectors = zeroshot.write_vectors(
        tmp_path / "v.npz", np.eye(2), ["n1", "n2"], {}, partial=partial.mark(1, "20_zeroshot")["partial"]
    )
    first = tables.write(rows, tmp_path / "a.parquet", "images", {"seed": 0}, [vectors])
    second = tables.write(rows, tmp_path / "b.parquet", "images", inputs=[first])
    assert [tables.partial(path) for path in (vectors, first, second)] == ["20_zeroshot with limit = 1"] * 3


def test_a_whole_table_has_no_mark(tmp_path):
    vectors = zeroshot.write_vectors(tmp_path / "v.npz", np.eye(2), ["n1", "n2"], {})
    path = tables.write(
        images(["1.png"], ["n1"]), tmp_path / "a.parquet", "images", partial.mark("", "20_zeroshot"), [vectors]
    )
    assert tables.partial(path) == ""
    assert "partial" not in tables.made_from(path)
    assert len(tables.read(path, "images")) == 1
