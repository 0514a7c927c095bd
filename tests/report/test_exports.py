"""Exports: what others read back is what the tables hold, with its licences, twice the same bytes."""

import hashlib
import json

import pandas as pd
import pytest
import yaml

from analysis.test_leaderboard import counts, queries
from babelatlas.analysis import outcomes
from babelatlas.base import released, tables
from babelatlas.base.errors import InputError
from babelatlas.lexicon import labels
from babelatlas.report import exports

CODES = ["no", "sw", "zh-Hant"]


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """The `languages` table of a run of two models, in classification (2 languages) and retrieval (1)."""
    folder = tmp_path_factory.mktemp("run")
    for model in ("openai-b32", "my-model"):
        tables.write(counts(model, {"de": 0.5, "zh-Hant": 0.3}), folder / f"zeroshot/{model}_toy.parquet", "zeroshot")
        asked = queries(model, [(1, 7, 1), (4, 1, 3), (2, 2, 9)])
        tables.write(asked, folder / f"retrieval/{model}_toy-captions.parquet", "retrieval")
    return outcomes.by_language(str(folder), ["openai-b32", "my-model"], ["toy", "toy-captions"], 20)


def test_the_csv_of_all_scores_is_read_back_as_it_was(found, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tables.write(found, tmp_path / "results/mine/scores/languages.parquet", "languages")
    assert exports.write_scores("mine", tmp_path / "scores.csv") == len(found)
    table, back = exports.scores(found), pd.read_csv(tmp_path / "scores.csv", keep_default_na=False)
    assert list(back) == [*tables.SCORE, *outcomes.PROTOCOL]
    pd.testing.assert_frame_equal(back, table, check_dtype=False)
    assert not back.duplicated(list(tables.SCORE_KEY)).any()


def test_sets_of_captions_are_distinguished_in_the_csv_of_all_scores(found):
    other = found[found["task"] == "retrieval"].assign(captions="machine")
    table = exports.scores(pd.concat([found, other]))
    assert set(table.loc[table["task"] == "retrieval", "variant"]) == {"captions people", "captions machine"}
    assert set(table.loc[table["task"] == "zeroshot", "variant"]) == {""}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """The folders of the label set and of the released results, in a few languages."""
    folder = tmp_path_factory.mktemp("hub")
    some = labels.shipped().query("lang in @CODES")
    results = released.read().query("lang in @CODES").groupby(["harness", "dataset"]).head(7)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(labels, "shipped", lambda: some.sample(frac=1, random_state=1))
        patch.setattr(released, "read", lambda: results)
        exports.export_labels(folder / "labels", "2026-01-31")
        exports.export_labels(folder / "again")
        exports.export_labels(folder / "again", "2026-01-31")
        exports.export_released(folder / "released", "2026-01-31")
    return folder, some, results


def test_each_language_is_a_file_and_together_they_are_the_table(folders):
    folder, some, results = folders
    for name, table in (("labels", some), ("released", results)):
        files = {path.stem: tables.read(path, name) for path in (folder / name / "data").glob("*.parquet")}
        assert all(set(rows["lang"]) == {code} for code, rows in files.items())
        key = tables.SCHEMAS[name][1]
        back, expected = (each.sort_values(key, ignore_index=True) for each in (pd.concat(files.values()), table))
        for column in {"alternatives", "confirmed_by"} & set(back):
            back[column], expected[column] = back[column].map(list), expected[column].map(list)
        pd.testing.assert_frame_equal(back, expected)


def test_two_exports_are_the_same_bytes_whatever_the_order_of_the_rows(folders):
    folder = folders[0]
    files = sorted(path.relative_to(folder / "labels") for path in (folder / "labels").rglob("*") if path.is_file())
    assert len(files) == 3 + len(CODES)
    for file in files:
        assert (folder / "labels" / file).read_bytes() == (folder / "again" / file).read_bytes()


def test_the_card_names_configurations_languages_size_and_licences(folders):
    text = (folders[0] / "labels" / "README.md").read_text(encoding="utf-8")
    head = yaml.safe_load(text.split("---\n", 2)[1])
    assert head["configs"][0] == {"config_name": "all", "data_files": "data/*.parquet", "default": True}
    assert [each["data_files"] for each in head["configs"][1:]] == [f"data/{code}.parquet" for code in CODES]
    assert head["language"] == ["no", "sw"]  # the Norwegian code is a text, not YAML's "false"
    assert head["language_bcp47"] == ["zh-Hant"]
    assert {"cc-by-sa-3.0", "gfdl", "other"} <= set(head["license"])
    assert head["size_categories"] == "n<1K"
    assert "| wikt | CC-BY-SA-3.0 OR GFDL-1.1-or-later |" in text
    assert "| sw | Swahili |" in text


def test_the_licence_file_has_the_notices_and_the_sources_and_none_is_non_commercial(folders):
    folder, _, results = folders
    assert (folder / "labels/LICENSE.md").read_text(encoding="utf-8") == labels.LICENCE.read_text(encoding="utf-8")
    text = (folder / "released/LICENSE.md").read_text(encoding="utf-8")
    assert all(f"| {source} |" in text for source in results["source"].unique())
    stated = [*labels.shipped()["licence"].unique(), *(one["licence"] for one in released.facts()["sources"].values())]
    assert not [one for one in stated if "NC" in one or "BabelNet" in one]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of rdflib, within mlcroissant
def test_mlcroissant_finds_no_fault_and_reads_every_row(folders):
    mlcroissant = pytest.importorskip("mlcroissant")
    folder, some, _ = folders
    for name in ("labels", "released"):
        metadata = json.loads((folder / name / "croissant.json").read_text(encoding="utf-8"))
        for file in metadata["distribution"][:-1]:
            assert file["sha256"] == hashlib.sha256((folder / name / file["contentUrl"]).read_bytes()).hexdigest()
        assert all(field["description"] for field in metadata["recordSet"][0]["field"])
        dataset = mlcroissant.Dataset(jsonld=folder / name / "croissant.json")
        assert not dataset.metadata.ctx.issues.errors
        assert not dataset.metadata.ctx.issues.warnings
    rows = list(mlcroissant.Dataset(jsonld=folder / "labels" / "croissant.json").records("labels"))
    back = {(row["labels/lang"].decode(), row["labels/wnid"].decode()): row["labels/label"].decode() for row in rows}
    assert back == some.set_index(["lang", "wnid"])["label"].to_dict()


def test_a_folder_with_other_files_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match=r"other files \(notes.txt\)"):
        exports.export_labels(tmp_path)
