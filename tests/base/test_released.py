"""Tests of the table of released results, of the list of models, and of the files that they are made from."""

import re

import numpy as np
import pandas as pd
import pytest

from babelatlas.base import languages, released, tables
from babelatlas.base.errors import InputError
from babelatlas.models import registry


def test_every_row_has_a_known_model_language_source_and_address():
    table, models = released.read(), released.models()
    assert set(table["model"]) == set(models.index)
    assert set(table["lang"]) <= set(languages.table()["code"])
    assert set(table["source"]) == set(released.facts()["sources"])
    assert table["address"].str.match(r"https://github\.com/[\w.-]+/[\w.-]+/(blob|tree)/[0-9a-f]{40}/").all()


def test_every_checkpoint_of_the_table_has_one_canonical_model_and_the_reverse():
    listed = released.checkpoints()
    assert not listed.duplicated(["harness", "checkpoint"]).any()
    found = released.read()[["harness", "checkpoint", "model"]].drop_duplicates()
    both = found.merge(listed, on=["harness", "checkpoint"], how="outer", suffixes=("", "_listed"), indicator=True)
    assert (both["_merge"] == "both").all(), both[both["_merge"] != "both"]
    assert (both["model"] == both["model_listed"]).all()


def test_one_run_stands_for_each_model_in_each_harness():
    used = released.checkpoints().query("use == 'yes'")
    assert not used.duplicated(["harness", "model"]).any()
    assert set(used["model"]) == set(released.models().index)
    key = [column for column in tables.SCHEMAS["released"][1] if column != "checkpoint"] + ["model"]
    assert not released.one_run(released.read()).duplicated(key).any()


def test_models_that_are_also_entries_of_the_registry_have_its_name():
    models = released.models()
    entries = models[models["entry"] != ""]
    assert len(entries) >= 15
    assert (entries["entry"] == entries.index).all()
    assert set(entries["entry"]) <= set(registry.names())


def test_unknown_facts_are_empty_and_known_ones_well_formed():
    models = released.models()
    assert models["release_date"].str.fullmatch(r"(\d{4}-\d\d(-\d\d)?)?").all()
    assert set(models["weights"]) <= {"open", "closed", ""}
    assert set(models["multilingual_text"]) <= {"yes", "no", ""}
    assert (models["parameters_m"].dropna() > 1).all()
    assert not models.drop(columns=["parameters_m", "gflops", "image_size", "samples_seen"]).eq("nan").any(axis=None)


def test_counts_and_exact_intervals_belong_to_the_values():
    table = released.read()
    known = table[table["n_correct"].notna()]
    assert len(known) > 50_000
    assert np.abs(known["n_correct"] / known["n"] - known["value"]).max() < 6e-5
    assert (known["n_correct"] == known["n_correct"].round()).all()
    assert known["ci_low"].le(known["value"] + 6e-5).all()
    assert known["ci_high"].ge(known["value"] - 6e-5).all()
    assert table.loc[table["n_correct"].isna(), ["ci_low", "ci_high"]].isna().all(axis=None)


def test_a_harness_that_asks_with_every_caption_has_more_queries_than_one_that_asks_with_the_first():
    where = {"dataset": "xm3600", "lang": "de", "metric": "recall@1", "direction": "t2i"}
    queries = {
        name: set(released.read(harness=name, **where)["n"]) for name in ("clip_benchmark", "mteb", "babel-imagenet")
    }
    assert queries == {"clip_benchmark": {3600}, "mteb": {8643}, "babel-imagenet": {8643}}


def test_the_same_weights_have_one_name_in_three_harnesses():
    row = released.read(dataset="xm3600", lang="de", metric="recall@1", direction="t2i", model="msiglip-b16")
    values = row.set_index("harness")["value"].round(4).to_dict()
    # German, as the README of the release quotes two of them: mteb and open_clip.
    assert values["mteb"] == pytest.approx(0.6685, abs=1e-3)
    assert values["clip_benchmark"] == pytest.approx(0.685, abs=1e-4)


def test_a_wrong_name_is_one_sentence_with_the_near_match():
    with pytest.raises(InputError, match=r"no column 'langs'.*lang"):
        released.read(langs="de")
    with pytest.raises(InputError, match=r"has dataset 'xm360'.*xm3600"):
        released.read(dataset="xm360")


def test_the_protocols_name_every_data_set_of_every_harness():
    told = released.harnesses().set_index(["harness", "dataset"])
    found = released.read()[["harness", "dataset"]].drop_duplicates()
    assert set(map(tuple, found.to_numpy())) == set(told.index)
    assert (told["where"] != "").all()


def test_facts_under_other_licences_do_not_ship():
    assert {source["licence"] for source in released.facts()["sources"].values()} <= {"MIT", "CC0-1.0", "Apache-2.0"}


def test_the_table_has_no_absolute_path_of_a_machine():
    text = pd.concat([released.read()["address"], released.models()["source"]]).drop_duplicates().str.cat(sep="\n")
    assert not re.search(r"(^|\s)/(work|home|tmp|root)/", text)
