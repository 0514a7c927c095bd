import os
import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest

from babelatlas.base import tables
from babelatlas.base.errors import InputError


def labels(**changes):
    columns = {"lang": ["de", "fr"], "wnid": ["n1", "n1"], "label": ["Katze", "chat"], "alternatives": [["Kater"], []]}
    columns |= {"source": ["a", "b"], "licence": ["x", "x"], "confirmed_by": [["c"], []], "ambiguous": [False, True]}
    return pd.DataFrame(columns | changes)


def test_every_key_is_made_of_columns_of_its_table():
    assert all(set(key) <= set(columns) for columns, key in tables.SCHEMAS.values())


def test_a_table_comes_back_as_it_was_written(tmp_path):
    path = tables.write(labels(), tmp_path / "new" / "labels.parquet", "labels", {"choice": "first"})
    back = tables.read(path, "labels")
    for column in ("alternatives", "confirmed_by"):
        back[column] = back[column].map(list)
    assert back.to_dict("list") == labels().to_dict("list")
    assert tables.made_from(path)["parameters"] == {"choice": "first"}
    assert [file.name for file in path.parent.iterdir()] == ["labels.parquet"]


def test_two_runs_write_the_same_bytes(tmp_path):
    one, two = (tables.write(labels(), tmp_path / name, "labels") for name in ("one.parquet", "two.parquet"))
    assert one.read_bytes() == two.read_bytes()


def test_a_table_written_without_its_trace_holds_its_name_only(tmp_path):
    path = tables.write(labels(), tmp_path / "a.parquet", "labels", traced=False)
    assert tables.made_from(path) == {"table": "labels"}


def test_provenance_holds_the_hash_of_the_input_files(tmp_path):
    (tmp_path / "in.txt").write_text("abc")
    path = tables.write(labels(), tmp_path / "a.parquet", "labels", inputs=[tmp_path / "in.txt"])
    known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"  # FIPS 180-2, appendix B.1
    assert list(tables.made_from(path)["inputs"].values()) == [known]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"lang": ["de", "de"]}, "1 row.s. with a key that occurs before, the first: lang de, wnid n1"),
        ({"lang": ["de", None]}, "without a value in its key column.s. lang"),
        ({"extra": [1, 2]}, "not expected .'extra'."),
        ({"label": [1, 2]}, "another type"),
    ],
)
def test_a_table_that_does_not_fit_is_refused_and_nothing_is_written(tmp_path, changes, sentence):
    with pytest.raises(InputError, match=sentence):
        tables.write(labels(**changes), tmp_path / "a.parquet", "labels")
    assert list(tmp_path.iterdir()) == []


def test_an_absent_file_and_a_damaged_file_are_each_one_sentence(tmp_path):
    with pytest.raises(InputError, match="does not exist: run `make book`"):
        tables.read(tmp_path / "a.parquet", "labels")
    (tmp_path / "a.parquet").write_bytes(b"PAR1 nonsense")
    with pytest.raises(InputError, match="cannot be read as a table"):
        tables.read(tmp_path / "a.parquet", "labels")


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tables.write(labels(), tmp_path / "a.parquet", "labels")
    before = path.read_bytes()

    def full(*_, **__):
        raise OSError("no space left on device")

    monkeypatch.setattr(tables.pq, "write_table", full)
    with pytest.raises(OSError, match="no space"):
        tables.write(labels(label=["Kater", "chat"]), path, "labels")
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["a.parquet"]


def test_a_csv_keeps_codes_that_look_like_missing_values(tmp_path):
    (tmp_path / "a.csv").write_text("path,wnid,number\nNA,null,1\n")
    table = tables.read(tmp_path / "a.csv", "images")
    assert table.to_dict("list") == {"path": ["NA"], "wnid": ["null"], "number": [1]}


def test_an_empty_number_of_a_csv_is_nan_and_an_empty_text_is_empty(tmp_path):
    columns = list(tables.SCHEMAS["scores"][0])
    values = dict.fromkeys(columns, "") | {"task": "zeroshot", "value": "0.5", "n": "3"}
    (tmp_path / "a.csv").write_text(",".join(columns) + "\n" + ",".join(values[c] for c in columns) + "\n")
    table = tables.read(tmp_path / "a.csv", "scores")
    assert table.loc[0, "lang"] == ""
    assert np.isnan(table.loc[0, "ci_low"])


def test_relative_paths_start_at_the_folder_of_the_snakefile(tmp_path, monkeypatch):
    (tmp_path / "Snakefile").touch()
    (tmp_path / "notebooks").mkdir()
    monkeypatch.chdir(tmp_path / "notebooks")
    assert tables.locate("results/a.parquet") == tmp_path / "results/a.parquet"


def test_the_fingerprint_of_a_folder_follows_its_files(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "1.png").write_bytes(b"12")
    before = tables.fingerprint(tmp_path)
    assert tables.fingerprint(tmp_path) == before
    (tmp_path / "a" / "1.png").write_bytes(b"123")
    assert tables.fingerprint(tmp_path) != before


def test_an_absent_input_is_named(tmp_path):
    with pytest.raises(InputError, match=r"gone\.npz does not exist"):
        tables.provenance(inputs=[tmp_path / "gone.npz"])


def test_an_empty_table_has_the_columns_and_types_of_its_schema():
    for name in tables.SCHEMAS:
        assert len(tables.check(tables.empty(name), name)) == 0
    assert tables.empty("labels")["lang"].dtype == "str"


def test_provenance_needs_no_git(monkeypatch):
    monkeypatch.setenv("PATH", "")
    tables.commit.cache_clear()
    assert tables.provenance()["commit"] == "unknown"
    tables.commit.cache_clear()


def git(folder, *words: str) -> str:
    who = {f"GIT_{role}_{what}": "a@b" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    settings = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | who
    return subprocess.run(["git", *words], cwd=folder, env=settings, capture_output=True, text=True, check=True).stdout


@pytest.fixture
def checkout(tmp_path):
    """A repository that holds a package as the study does, with one commit."""
    package = tmp_path / "study" / "lib" / "babelatlas"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (tmp_path / "study" / "README.md").touch()
    git(package.parents[1], "init", "--quiet")
    git(package, "add", ":/")
    git(package, "commit", "--quiet", "-m", "one")
    return package


@pytest.mark.skipif(not shutil.which("git"), reason="needs git")
def test_the_commit_is_that_of_the_study_and_says_whether_its_code_was_changed(checkout):
    known = git(checkout, "rev-parse", "HEAD").strip()
    assert tables.commit(checkout) == known
    tables.commit.cache_clear()
    (checkout.parents[1] / "README.md").write_text("another", encoding="utf-8")
    assert tables.commit(checkout) == known
    tables.commit.cache_clear()
    (checkout / "__init__.py").write_text("changed = True", encoding="utf-8")
    assert tables.commit(checkout) == f"{known}+changes"


@pytest.mark.skipif(not shutil.which("git"), reason="needs git")
def test_the_commit_of_a_repository_that_surrounds_an_installed_package_is_none_of_ours(checkout):
    installed = checkout.parents[1] / ".venv" / "lib" / "babelatlas"
    installed.mkdir(parents=True)
    (installed / "__init__.py").touch()
    copied = checkout.parents[1] / "another" / "lib" / "babelatlas"
    shutil.copytree(checkout, copied)
    (checkout / "__init__.py").unlink()
    git(checkout, "rm", "--quiet", "--cached", "__init__.py")  # the same place, of which git knows nothing
    (checkout / "__init__.py").touch()
    assert [tables.commit(path) for path in (installed, copied, checkout)] == ["unknown"] * 3


def test_a_table_is_written_to_a_name_that_says_what_it_is(tmp_path):
    with pytest.raises(InputError, match=r"let the name end in \.parquet"):
        tables.write(labels(), tmp_path / "labels.csv", "labels")


def test_an_empty_or_damaged_file_is_refused_in_a_sentence(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"")
    path = tables.write(labels(), tmp_path / "b.parquet", "labels")
    content = path.read_bytes()
    path.write_bytes(content[:10] + b"\xff" * 60 + content[70:])
    (tmp_path / "c.csv").write_text("lang,wnid\nde,n1,n2\nde,n1,n2,n3\n")
    (tmp_path / "d.parquet").write_bytes(content.replace(b"Kater", b"K\xffter", 1))  # no UTF-8
    assert (tmp_path / "d.parquet").read_bytes() != content
    for name in ("a.csv", "b.parquet", "c.csv", "d.parquet"):
        with pytest.raises(InputError, match="cannot be read as a table") as error:
            tables.read(tmp_path / name, "labels")
        assert "\n" not in str(error.value), name


def test_a_file_written_beside_its_place_appears_whole_or_not_at_all(tmp_path):
    path = tmp_path / "new" / "report.csv"
    with tables.beside(path) as part:
        part.write_text("first")
        assert not path.exists()
    assert path.read_text() == "first"

    def fail() -> None:
        with tables.beside(path) as part:
            part.write_text("half")
            raise OSError("no room")

    with pytest.raises(OSError, match="no room"):
        fail()
    assert path.read_text() == "first"
    assert [file.name for file in path.parent.iterdir()] == ["report.csv"]


def test_tables_that_are_not_there_are_named_and_a_misspelt_name_is_refused(tmp_path):
    for name in ("zeroshot/one_animals", "zeroshot/two_animals", "retrieval/two_photos", "subsets/one_animals"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / f"{name}.parquet").touch()

    def ask(models, datasets, stage="subsets"):
        keys = [(model, dataset) for model in models for dataset in datasets]
        return tables.present({key: f"{tmp_path}/{stage}/{'_'.join(key)}.parquet" for key in keys})

    found, missing = ask(["one", "two"], ["animals", "photos"])
    assert found == {("one", "animals"): f"{tmp_path}/subsets/one_animals.parquet"}
    assert missing == ["one on photos", "two on animals", "two on photos"]
    with pytest.raises(InputError, match=r"no table of 'oen': did you mean one\?"):
        ask(["one", "oen"], ["animals"])
    with pytest.raises(InputError, match=r"no table of 'animal': did you mean animals\?"):
        ask(["one"], ["animal"])
    single = {(name,): f"{tmp_path}/protocols/{name}.parquet" for name in ("one", "two")}
    assert tables.present(single) == ({}, ["one", "two"])
    with pytest.raises(InputError, match=r"no table of 'three': expected one of one, two"):
        tables.present(single | {("three",): f"{tmp_path}/protocols/three.parquet"})
