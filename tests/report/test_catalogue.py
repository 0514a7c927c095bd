"""Tables by name: every one that ships can be loaded, every column of every table has a
meaning.
"""

import csv
import json
import pydoc
import subprocess
import sys
import zipfile
from pathlib import Path

import pandas as pd
import pytest

import babelatlas
from atlas_study.pages import runnable
from babelatlas import catalogue
from babelatlas.base import languages, tables
from babelatlas.base.errors import InputError
from babelatlas.base.paths import DATA


def columns(name) -> list[str]:
    declared = (
        list(tables.SCHEMAS[name][0])
        if name in tables.SCHEMAS
        else list(babelatlas.load(name))
    )
    return (
        [*declared, *catalogue.IN_VARIANT]
        if name in ("published", "released")
        else declared
    )


@pytest.mark.parametrize("name", sorted({*catalogue.SHIPPED, *tables.SCHEMAS}))
def test_every_table_and_every_column_has_a_meaning(name):
    known = catalogue.meanings()
    assert known[name, ""][1]
    assert [
        one
        for one in columns(name)
        if (name, one) not in known and ("", one) not in known
    ] == []
    assert not {"code", "language", "locale"} & set(
        columns(name)
    )  # it is `lang` everywhere
    described = catalogue.describe(name, "demo").splitlines()[1:]
    assert [line.split()[0] for line in described if line.startswith("  ")] == columns(
        name
    )


def test_every_meaning_is_of_a_column_that_exists():
    with open(DATA / "columns.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    names = {*catalogue.SHIPPED, *tables.SCHEMAS}
    there = {(name, column) for name in names for column in columns(name)} | {
        (name, "") for name in names
    }
    there |= {("languages", column) for column in babelatlas.load("languages")}
    there |= {("", column) for _, column in there}
    assert [row for row in rows if (row["table"], row["column"]) not in there] == []
    assert len({(row["table"], row["column"]) for row in rows}) == len(rows)


@pytest.mark.parametrize("name", catalogue.SHIPPED)
def test_every_table_that_ships_is_loaded_by_its_name(name):
    rows = babelatlas.load(name)
    assert len(rows) > 10
    assert babelatlas.describe(name).startswith(f"{name}: ")
    assert rows.index.equals(pd.RangeIndex(len(rows)))
    texts = rows.select_dtypes(exclude=["number", "bool"]).astype(str)
    codes = texts.apply(
        lambda column: (
            pd.Series(column.unique()).isin(languages.table()["code"]).mean() > 0.7
        )
    )
    assert set(codes.index[codes]) - {"iso639_3"} == {"lang"} & set(
        rows
    )  # of which most are codes of the study, too


def test_what_a_variant_says_of_the_protocol_is_in_columns_that_can_be_filtered():
    rows = babelatlas.load("published").query(
        "n_classes == 100 and prompts == 'English prompts'"
    )
    assert set(rows["variant"]) == {"English prompts, 100 classes"}
    rows = babelatlas.load("released")
    assert set(rows.loc[rows["shots"] == 0, "variant"].str[:9]) == {"zero-shot"}
    assert set(rows.loc[rows["prompts"] == "label", "variant"].str[:5]) == {"label"}


def test_names_for_readers_are_joined_on_request():
    rows = babelatlas.load("released", names=True)
    assert (
        dict(zip(rows["lang"], rows["language"], strict=True))["hak"] == "Hakka Chinese"
    )
    assert (
        dict(zip(rows["model"], rows["model_name"], strict=True))["qwen2-vl-7b"]
        == "Qwen2-VL 7B"
    )
    rows = babelatlas.load("published", names=True)
    assert set(rows.loc[rows["lang"] == "", "language"]) == {""}
    assert set(rows.loc[rows["model"] == "LXMERT", "model_name"]) == {
        "LXMERT"
    }  # which no list names otherwise
    assert "Indonesian, Turkish" in set(
        babelatlas.load("wikipedias", names=True)["language"]
    )


def test_a_table_of_a_run_is_all_its_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    one = tables.empty("images")
    one.loc[0] = ["a.png", "n1", 0]
    for file in ("first", "second"):
        tables.write(
            one, tmp_path / "results" / "mine" / "images" / f"{file}.parquet", "images"
        )
    (tmp_path / "Snakefile").touch()
    (tmp_path / "notebooks").mkdir()
    monkeypatch.chdir(tmp_path / "notebooks")
    for run in (
        tmp_path / "results/mine",
        f"{tmp_path}/results/mine",
        "results/mine",
        Path("mine"),
        "../results/mine",
    ):
        assert len(babelatlas.load("images", run)) == 2
    found = babelatlas.load("images", run="mine")
    assert found["file"].tolist() == ["first", "second"]
    assert list(found) == ["path", "wnid", "number", "file"]
    assert "images" in catalogue.overview("mine")
    assert babelatlas.tables(Path("results/mine"))["name"].tolist() == ["images"]
    for name, run, said in (
        ("imagse", "mine", "did you mean images?"),
        ("images", tmp_path / "results" / "mien", "did you mean mine?"),
        ("images", "", "a run may have it"),
        ("lables", "", "did you mean labels?"),
    ):
        with pytest.raises(InputError, match=said):
            babelatlas.load(name, run)


def test_without_any_run_the_sentence_says_how_to_make_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="`make book` makes"):
        babelatlas.load("labels", run="demo")


def test_the_tables_that_ship_are_listed_with_their_meaning():
    listed = babelatlas.tables()
    assert listed["name"].tolist() == list(catalogue.SHIPPED)
    assert (
        catalogue.overview().splitlines()[0].split(maxsplit=1)
        == listed.iloc[0].tolist()
    )


def test_help_fits_on_one_screen_and_imports_nothing_before_and_describe_names_columns_and_units():
    code = (
        "import sys, babelatlas as ba; assert not {'pandas', 'torch'} &"
        " set(sys.modules); help(ba)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    helps = [
        done.stdout,
        *map(
            pydoc.render_doc, (babelatlas.load, babelatlas.describe, babelatlas.tables)
        ),
    ]
    assert [text for text in helps if len(text.splitlines()) > 40] == []
    listed = " ".join(helps[0].partition('"Front desk":')[2].split())
    assert listed.startswith(", ".join(babelatlas.DESK))
    assert {"load", "describe", "tables"} <= {*babelatlas.DESK} <= {*dir(babelatlas)}
    assert "n_correct_top5      number (expected count)" in babelatlas.describe(
        "zeroshot"
    )
    assert "ndcg20              number (fraction)" in babelatlas.describe("retrieval")


def test_tables_of_a_model_that_left_the_config_are_no_longer_of_the_run(tmp_path):
    rows = pd.DataFrame({"path": ["1.png"], "wnid": ["n1"], "number": [0]})
    for place in ("images/stays", "images/left", "merged/zeroshot_theirs"):
        tables.write(rows, tmp_path / f"mine/{place}.parquet", "images")
    (tmp_path / "mine/files.json").write_text(
        json.dumps(["images/stays.parquet"]), encoding="utf-8"
    )
    assert set(babelatlas.load("images", run=tmp_path / "mine")["file"]) == {"stays"}
    runnable.pack(tmp_path / "tables.zip", tmp_path / "mine", [])
    with zipfile.ZipFile(tmp_path / "tables.zip") as packed:
        names = {Path(name).stem for name in packed.namelist()}
    assert names == {"stays", "zeroshot_theirs"}
