import os
import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest

from babelatlas.base import tables
from babelatlas.base.errors import InputError


def labels(**changes):
    columns = {
        "lang": ["de", "fr"],
        "wnid": ["n1", "n1"],
        "label": ["Katze", "chat"],
        "alternatives": [["Kater"], []],
    }
    columns |= {
        "source": ["a", "b"],
        "licence": ["x", "x"],
        "confirmed_by": [["c"], []],
        "ambiguous": [False, True],
    }
    return pd.DataFrame(columns | changes)


def test_a_table_comes_back_as_it_was_written_twice_with_the_same_bytes(tmp_path):
    path = tables.write(
        labels(), tmp_path / "new" / "labels.parquet", "labels", {"choice": "first"}
    )
    back = tables.read(path, "labels")
    for column in ("alternatives", "confirmed_by"):
        back[column] = back[column].map(list)
    assert back.to_dict("list") == labels().to_dict("list")
    assert tables.made_from(path)["parameters"] == {"choice": "first"}
    assert [file.name for file in path.parent.iterdir()] == ["labels.parquet"]
    first = path.read_bytes()
    assert (
        tables.write(labels(), path, "labels", {"choice": "first"}).read_bytes()
        == first
    )
    assert tables.made_from(tables.write(labels(), path, "labels", traced=False)) == {
        "table": "labels"
    }


def test_provenance_holds_the_hash_of_the_input_files(tmp_path):
    (tmp_path / "in.txt").write_text("abc")
    path = tables.write(
        labels(), tmp_path / "a.parquet", "labels", inputs=[tmp_path / "in.txt"]
    )
    # FIPS 180-2, appendix B.1
    known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert list(tables.made_from(path)["inputs"].values()) == [known]
    with pytest.raises(InputError, match=r"gone\.npz does not exist"):
        tables.provenance(inputs=[tmp_path / "gone.npz"])


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"lang": ["de", "de"]},
            r"1 row\(s\) with a key that occurs before, the first: lang de, wnid n1",
        ),
        ({"lang": ["de", None]}, r"without a value in its key column\(s\) lang"),
        ({"extra": [1, 2]}, r"not expected \['extra'\]"),
        ({"label": [1, 2]}, "missing or of another type"),
        ({"label": ["Katze", None]}, "missing or of another type .*label.* 1 null"),
    ],
)
def test_a_table_that_does_not_fit_is_refused_and_nothing_is_written(
    tmp_path, changes, sentence
):
    with pytest.raises(InputError, match=sentence):
        tables.write(labels(**changes), tmp_path / "a.parquet", "labels")
    assert list(tmp_path.iterdir()) == []


def test_a_count_is_never_missing_and_an_interval_may_be(tmp_path):
    columns = tables.SCHEMAS["scores"][0]
    row = {
        column: "x" if str(kind) == "string" else 1 for column, kind in columns.items()
    }
    path = tables.write(
        pd.DataFrame([row | {"ci_low": np.nan}]), tmp_path / "a.parquet", "scores"
    )
    assert np.isnan(tables.read(path, "scores").loc[0, "ci_low"])
    row = {
        column: "x" if str(kind) == "string" else 1
        for column, kind in tables.SCHEMAS["zeroshot"][0].items()
    }
    with pytest.raises(InputError, match="n_correct"):
        tables.write(
            pd.DataFrame([row | {"n_correct": np.nan}]),
            tmp_path / "b.parquet",
            "zeroshot",
        )


def test_an_absent_file_a_damaged_file_and_another_table_are_each_one_sentence(
    tmp_path,
):
    with pytest.raises(InputError, match="does not exist: run `make book`"):
        tables.read(tmp_path / "a.parquet", "labels")
    for name, content in (
        ("a.parquet", b"PAR1 nonsense"),
        ("a.csv", b""),
        ("b.csv", b"lang,wnid\nde,n1,n2\n"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InputError) as error:
            tables.read(tmp_path / name, "labels")
        assert name in str(error.value)
        assert "\n" not in str(error.value)
    path = tables.write(labels(), tmp_path / "c.parquet", "labels")
    with pytest.raises(
        InputError,
        match=(
            r"c\.parquet should have the columns path, wnid, number: missing .*'path'"
        ),
    ):
        tables.read(path, "images")


def test_a_csv_keeps_codes_that_look_like_missing_values_and_has_numbers(tmp_path):
    (tmp_path / "a.csv").write_text("path,wnid,number\nNA,null,1\n,b,2.0\n")
    table = tables.read(tmp_path / "a.csv", "images")
    assert table.to_dict("list") == {
        "path": ["NA", ""],
        "wnid": ["null", "b"],
        "number": [1, 2],
    }
    columns = list(tables.SCHEMAS["scores"][0])
    values = dict.fromkeys(columns, "") | {"task": "zeroshot", "value": "0.5", "n": "3"}
    (tmp_path / "a.csv").write_text(
        ",".join(columns) + "\n" + ",".join(values[c] for c in columns) + "\n"
    )
    table = tables.read(tmp_path / "a.csv", "scores")
    assert table.loc[0, "lang"] == ""
    assert np.isnan(table.loc[0, "ci_low"])


def git(folder, *words: str) -> str:
    who = {
        f"GIT_{role}_{what}": "a@b"
        for role in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    }
    settings = {
        name: value for name, value in os.environ.items() if not name.startswith("GIT_")
    } | who
    return subprocess.run(
        ["git", *words],
        cwd=folder,
        env=settings,
        capture_output=True,
        text=True,
        check=True,
    ).stdout


@pytest.mark.skipif(not shutil.which("git"), reason="needs git")
def test_the_commit_is_that_of_the_study_and_says_whether_its_code_was_changed(
    tmp_path, monkeypatch
):
    package = tmp_path / "study" / "lib" / "babelatlas"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    git(package.parents[1], "init", "--quiet")
    git(package, "add", ":/")
    git(package, "commit", "--quiet", "-m", "one")
    known = git(package, "rev-parse", "HEAD").strip()
    assert tables.commit(package) == known
    (package / "__init__.py").write_text("changed = True", encoding="utf-8")
    tables.commit.cache_clear()
    assert tables.commit(package) == known + "+changes"
    monkeypatch.setenv("PATH", "")
    tables.commit.cache_clear()
    assert tables.provenance()["commit"] == "unknown"
    tables.commit.cache_clear()


def test_a_limit_takes_the_first_values_of_each_group_with_all_their_rows_and_the_notes():
    columns = {
        "lang": ["de", "de", "de", "de", "fr", "fr"],
        "item": ["b", "b", "a", "a", "a", "c"],
        "row": range(6),
    }
    rows = pd.DataFrame(columns)
    rows.attrs["missing"] = 3
    assert tables.first(rows, 1, "item", ["lang"])["row"].tolist() == [0, 1, 4]
    assert tables.first(rows, 2, "item")["item"].tolist() == ["b", "b", "a", "a", "a"]
    assert tables.first(rows, 1, "item").attrs == {"missing": 3}
    assert tables.first(rows, "", "item") is rows


def test_a_table_of_a_run_that_another_program_wrote_over_is_refused(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    rows = pd.DataFrame({"path": ["1.png"], "wnid": ["n1"], "number": [0]})
    path = tables.write(rows, "results/mine/images/a.parquet", "images")
    pd.read_parquet(path).assign(number=5).to_parquet(path)
    with pytest.raises(
        InputError,
        match="another program saved it; delete it and run `make book` again",
    ):
        tables.read(path, "images")
    path.rename(tmp_path / "mine.parquet")  # a user's own table
    assert tables.read("mine.parquet", "images")["number"].tolist() == [5]
