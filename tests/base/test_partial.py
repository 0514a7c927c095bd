import numpy as np
import pandas as pd
import pytest

from babelatlas.base import partial, tables
from babelatlas.base.errors import InputError

ROWS = pd.DataFrame({"path": ["1.png"], "wnid": ["n1"], "number": [0]})


def test_a_limit_takes_the_first_values_of_each_group_with_all_their_rows_and_the_notes():
    columns = {"lang": ["de", "de", "de", "de", "fr", "fr"], "item": ["b", "b", "a", "a", "a", "c"], "row": range(6)}
    rows = pd.DataFrame(columns)
    rows.attrs["missing"] = 3
    assert partial.first(rows, 1, "item", ["lang"])["row"].tolist() == [0, 1, 4]
    assert partial.first(rows, 2, "item")["item"].tolist() == ["b", "b", "a", "a", "a"]
    assert partial.first(rows, 1, "item").attrs == {"missing": 3}
    assert partial.first(rows, "", "item") is rows


def test_what_is_made_of_a_partial_file_is_partial_too_and_refused(tmp_path):
    np.savez(tmp_path / "v.npz", partial=np.array("67_zeroshot with limit = 1"))
    first = tables.write(ROWS, tmp_path / "a.parquet", "images", {"seed": 0}, [tmp_path / "v.npz"])
    second = tables.write(ROWS, tmp_path / "b.parquet", "images", inputs=[first])
    third = tables.write(ROWS, tmp_path / "c.parquet", "images", partial.mark(5, "67_zeroshot"))
    said = [tables.partial(path) for path in (first, second, third)]
    assert said == ["67_zeroshot with limit = 1"] * 2 + ["67_zeroshot with limit = 5"]
    with pytest.raises(InputError, match=r"partial \(67_zeroshot with limit = 5\).*run 67_zeroshot again without"):
        tables.read(third, "images")
    whole = tables.write(ROWS, tmp_path / "d.parquet", "images", partial.mark("", "67_zeroshot"))
    assert tables.partial(whole) == ""
