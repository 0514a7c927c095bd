"""The entries of translators."""

import csv

import pandas as pd
import pytest

from babelatlas.base import paths
from babelatlas.base.errors import InputError
from babelatlas.models import hub, translators
from conftest import ROOT


def test_names_are_unique_and_entries_have_what_they_need():
    assert len(set(translators.names())) == len(translators.TRANSLATORS)
    text = (ROOT / "book" / "references.bib").read_text(encoding="utf-8")
    for entry in translators.TRANSLATORS:
        assert "{source}" in entry.question
        assert entry.chat != bool(entry.plain)
        assert entry.source.revision == "" or hub.COMMIT.fullmatch(
            entry.source.revision
        )
        assert "{" + entry.citation + "," in text, entry.citation
    with pytest.raises(InputError, match="did you mean qwen2-vl-2b"):
        translators.get_translator("qwen2-vl-2")


def test_every_fact_of_a_translator_has_its_source():
    with open(
        paths.DATA / "translators_sources.csv", encoding="utf-8", newline=""
    ) as file:
        table = pd.DataFrame(csv.DictReader(file))
    assert list(table) == ["translator", "field", "value", "source"]
    assert not table.duplicated(["translator", "field"]).any()
    assert set(table["translator"]) <= set(translators.names())
    rows = table.set_index(["translator", "field"])
    for entry in translators.TRANSLATORS:
        facts = {
            "revision": entry.source.revision,
            "licence": entry.licence,
            "parameters": f"{entry.parameters:g}",
        }
        for field, value in facts.items():
            if value in ("", "0"):
                assert (entry.name, field) not in rows.index
            else:
                assert rows.loc[(entry.name, field), "value"] == value
                assert rows.loc[(entry.name, field), "source"]


def test_own_translators_need_a_folder(tmp_path):
    for folder in ("", tmp_path / "nowhere"):
        with pytest.raises(InputError, match="no translator 'my-model'"):
            translators.find("my-model", folder)
