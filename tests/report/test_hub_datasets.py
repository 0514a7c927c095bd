"""Data-set folders for a hub: what is read back is what ships, with its licences, twice the same bytes."""

import hashlib
import json

import pandas as pd
import pyarrow.parquet as pq
import pytest
import yaml

from babelatlas.base import released, tables
from babelatlas.base.errors import InputError
from babelatlas.lexicon import labels
from babelatlas.report.sharing import hub_datasets

CODES = ["no", "sw", "zh-Hant"]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """The folders of the label set and of the released results, in a few languages."""
    place = tmp_path_factory.mktemp("hub")
    some = labels.shipped().query("lang in @CODES")
    results = released.read().query("lang in @CODES").groupby(["harness", "dataset"]).head(7)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(labels, "shipped", lambda: some.sample(frac=1, random_state=1))
        patch.setattr(released, "read", lambda: results)
        hub_datasets.export_labels(place / "labels", "2026-01-31")
        hub_datasets.export_labels(place / "again")
        hub_datasets.export_labels(place / "again", "2026-01-31")
        hub_datasets.export_released(place / "released", "2026-01-31")
    return place, some, results


def header(folder):
    """What a hub reads at the top of a card."""
    _, text, _ = (folder / "README.md").read_text(encoding="utf-8").split("---\n", 2)
    return yaml.safe_load(text)


def test_each_language_is_a_file_and_together_they_are_the_table(folders):
    place, some, results = folders
    for name, table in (("labels", some), ("released", results)):
        files = {path.stem: tables.read(path, name) for path in (place / name / "data").glob("*.parquet")}
        assert set(files) == set(table["lang"])
        assert all(set(rows["lang"]) == {code} for code, rows in files.items())
        key = tables.SCHEMAS[name][1]
        back = pd.concat(files.values()).sort_values(key, ignore_index=True)
        lists = [column for column in ("alternatives", "confirmed_by") if column in back]
        expected = table.sort_values(key, ignore_index=True)
        for column in lists:
            back[column], expected[column] = back[column].map(list), expected[column].map(list)
        pd.testing.assert_frame_equal(back, expected)


def test_two_exports_are_the_same_bytes_whatever_the_order_of_the_rows(folders):
    place = folders[0]
    files = sorted(path.relative_to(place / "labels") for path in (place / "labels").rglob("*") if path.is_file())
    assert len(files) == 3 + len(CODES)
    for file in files:
        assert (place / "labels" / file).read_bytes() == (place / "again" / file).read_bytes()


def test_the_card_names_configurations_languages_size_and_licences(folders):
    head = header(folders[0] / "labels")
    assert head["configs"][0] == {"config_name": "all", "data_files": "data/*.parquet", "default": True}
    assert [each["data_files"] for each in head["configs"][1:]] == [f"data/{code}.parquet" for code in CODES]
    assert head["language"] == ["no", "sw"]  # the Norwegian code is a text, not YAML's "false"
    assert head["language_bcp47"] == ["zh-Hant"]
    assert {"cc-by-sa-3.0", "gfdl", "other"} <= set(head["license"])
    assert head["size_categories"] == "n<1K"
    text = (folders[0] / "labels" / "README.md").read_text(encoding="utf-8")
    assert "| wikt | CC-BY-SA-3.0 OR GFDL-1.1-or-later |" in text
    assert "| sw | Swahili |" in text


def test_the_licence_file_has_the_notices_and_the_sources(folders):
    place, _, results = folders
    assert (place / "labels/LICENSE.md").read_text(encoding="utf-8") == labels.LICENCE.read_text(encoding="utf-8")
    text = (place / "released/LICENSE.md").read_text(encoding="utf-8")
    assert all(f"| {source} |" in text for source in results["source"].unique())
    assert "| mteb | CC0-1.0 |" in text


def test_nothing_that_ships_has_a_licence_that_the_hub_would_call_non_commercial():
    stated = [*labels.shipped()["licence"].unique(), *(one["licence"] for one in released.facts()["sources"].values())]
    assert not [one for one in stated if "NC" in one or "BabelNet" in one]
    assert set(hub_datasets.hub_licences(stated)) >= {"mit", "cc0-1.0", "cc-by-3.0", "cc-by-sa-3.0", "odc-by", "other"}
    assert hub_datasets.licence_links(["CC-BY-3.0 OR GPL-3.0"]) == [
        "https://spdx.org/licenses/CC-BY-3.0.html",
        "https://spdx.org/licenses/GPL-3.0.html",
    ]


def test_the_croissant_file_has_sizes_hashes_and_a_field_for_each_column(folders):
    for name in ("labels", "released"):
        found = json.loads((folders[0] / name / "croissant.json").read_text(encoding="utf-8"))
        files = [each for each in found["distribution"] if each["@type"] == "cr:FileObject"]
        assert files
        for file in files:
            content = (folders[0] / name / file["contentUrl"]).read_bytes()
            assert file["sha256"] == hashlib.sha256(content).hexdigest()
            assert file["contentSize"] == f"{len(content)} B"
        (records,) = found["recordSet"]
        fields = {each["name"]: each for each in records["field"]}
        assert list(fields) == list(pq.read_schema(folders[0] / name / files[0]["contentUrl"]).names)
        assert all(each["description"] for each in fields.values())
        assert found["datePublished"] == "2026-01-31"
    assert (fields["value"]["dataType"], fields["n"]["dataType"]) == ("sc:Float", "sc:Integer")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of rdflib, within mlcroissant
def test_mlcroissant_finds_no_fault_and_reads_every_row(folders):
    mlcroissant = pytest.importorskip("mlcroissant")
    place, some, _ = folders
    for name in ("labels", "released"):
        dataset = mlcroissant.Dataset(jsonld=place / name / "croissant.json")
        assert not dataset.metadata.ctx.issues.errors
        assert not dataset.metadata.ctx.issues.warnings
    rows = list(mlcroissant.Dataset(jsonld=place / "labels" / "croissant.json").records("labels"))
    back = {(row["labels/lang"].decode(), row["labels/wnid"].decode()): row["labels/label"].decode() for row in rows}
    assert back == some.set_index(["lang", "wnid"])["label"].to_dict()


def test_a_folder_with_other_files_and_a_strange_day_are_refused(folders, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match=r"other files \(notes.txt\)"):
        hub_datasets.export_labels(tmp_path)
    with pytest.raises(InputError, match="written as 2026-01-31, got 'today'"):
        hub_datasets.export_labels(folders[0] / "labels", "today")


@pytest.mark.slow
def test_all_that_ships_can_be_exported(tmp_path):
    assert hub_datasets.export_labels(tmp_path / "labels").startswith("20,940 rows in 415 languages")
    assert hub_datasets.export_released(tmp_path / "released").startswith("60,257 rows in 293 languages")
