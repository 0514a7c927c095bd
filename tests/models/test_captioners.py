"""The entries of captioners."""

import csv

import pandas as pd
import pytest

from babelatlas.base import paths
from babelatlas.base.errors import InputError
from babelatlas.models import captioners, hub
from conftest import ROOT


def test_entries_have_what_they_need():
    text = (ROOT / "book" / "references.bib").read_text(encoding="utf-8")
    for entry in captioners.listed().values():
        assert hub.COMMIT.fullmatch(entry.source.revision)
        assert "{" + entry.citation + "," in text, entry.citation
        # Without a prompt nothing tells it the language.
        assert entry.languages or "{lang" in entry.prompt
    with pytest.raises(InputError, match="did you mean blip-base"):
        captioners.get_captioner("blip-bas")


def test_every_fact_of_a_captioner_has_its_source():
    file = paths.DATA / "captioners_sources.csv"
    with open(file, encoding="utf-8", newline="") as stream:
        table = pd.DataFrame(csv.DictReader(stream))
    assert set(table["captioner"]) == set(captioners.listed())
    rows = table.set_index(["captioner", "field"])["value"]
    for name, entry in captioners.listed().items():
        assert rows[name, "revision"] == entry.source.revision
        assert rows[name, "licence"] == entry.licence
    assert [row["field"] for row in captioners.sources("blip-base")] == [
        "revision",
        "licence",
    ]


def test_captioners_of_ones_own_need_a_folder(tmp_path):
    for folder in ("", tmp_path / "nowhere"):
        with pytest.raises(InputError, match="no captioner 'my-model'"):
            captioners.find("my-model", folder)
    assert captioners.find("my-model", tmp_path).prompt == ""
