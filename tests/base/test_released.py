"""Tests of the table of released results, of the list of models, and of the files that
they are made from.
"""

import numpy as np
import pandas as pd

from babelatlas.base import languages, released, tables


def test_every_row_has_a_known_model_language_address_and_source_whose_licence_lets_it_ship():
    table, models = released.read(), released.models()
    assert set(table["model"]) == set(models.index)
    assert set(table["lang"]) <= set(languages.table()["code"])
    assert set(table["source"]) == set(released.facts()["sources"])
    licences = {
        "MIT",
        "CC0-1.0",
        "Apache-2.0",
        "CC-BY-4.0",
        "facts of a page under AGPL-3.0",
    }
    assert {
        source["licence"] for source in released.facts()["sources"].values()
    } == licences
    assert (
        table["address"]
        .str.match(r"https://github\.com/[\w.-]+/[\w.-]+/(blob|tree)/[0-9a-f]{7,40}/")
        .all()
    )


def test_every_checkpoint_of_the_table_has_one_canonical_model_and_the_reverse():
    listed = released.checkpoints()
    assert not listed.duplicated(["harness", "checkpoint"]).any()
    found = released.read()[["harness", "checkpoint", "model"]].drop_duplicates()
    both = found.merge(
        listed,
        on=["harness", "checkpoint"],
        how="outer",
        suffixes=("", "_listed"),
        indicator=True,
    )
    assert (both["_merge"] == "both").all(), both[both["_merge"] != "both"]
    assert (both["model"] == both["model_listed"]).all()


def test_every_fact_of_a_model_has_a_source_and_a_day_and_no_other_is_listed():
    # Two more without a licence than before: Nomic's models of 3B have none on their
    # cards.
    models, listed = (
        released.models(),
        pd.read_csv(released.FOLDER / "model_facts.csv", keep_default_na=False),
    )
    listed = listed.assign(fact=listed["facts"].str.split()).explode("fact")
    # All but names and groups of this study, and `declared_by`, which belongs to
    # `languages`.
    own = [
        "title",
        "family",
        "kind",
        "multilingual_text",
        "declared_by",
        "entry",
        "released",
    ]
    there = models.drop(columns=own).replace("", np.nan).melt("model").dropna()
    assert sorted(there["model"] + " " + there["variable"]) == sorted(
        listed["model"] + " " + listed["fact"]
    )
    assert (
        (listed["source"].str.len() > 10)
        & listed["date"].str.fullmatch(r"\d{4}(-\d\d){2}")
    ).all()
    assert (
        models["released"]
        .dropna()
        .between("2021-01-01", pd.to_datetime(listed["date"]).max())
        .all()
    )
    assert (models[["release_date", "licence"]] == "").sum().tolist() == [
        14,
        32,
    ]  # what nobody says may only fall


def test_one_run_stands_for_each_model_in_each_harness():
    listed = released.checkpoints()
    used = listed[listed["use"].isin(["yes", "English"])]
    assert not used.duplicated(["harness", "model"]).any()
    uncounted = {
        "vlm2vec-lora",
        "coca-b32-laion2b-mscoco",
        "blip-captioning-base",
        "blip-captioning-large",
    }
    assert {*released.models().index} - {*used["model"]} == uncounted
    assert set(listed["use"]) == {"yes", "English", "again", "duplicate", "broken"}
    assert (listed.loc[listed["use"] != "yes", "note"] != "").all()
    key = [
        column for column in tables.SCHEMAS["released"][1] if column != "checkpoint"
    ] + ["model"]
    assert not released.one_run(released.read()).duplicated(key).any()


def test_counts_and_exact_intervals_belong_to_the_values():
    table = released.read()
    known = table[table["n_correct"].notna()]
    assert len(known) > 50_000
    assert np.abs(known["n_correct"] / known["n"] - known["value"]).max() < 6e-5
    assert (known["n_correct"] == known["n_correct"].round()).all()
    assert known["ci_low"].le(known["value"] + 6e-5).all()
    assert known["ci_high"].ge(known["value"] - 6e-5).all()
    others = table["n_correct"].isna() & (
        table["dataset"] != "vizwiz"
    )  # whose intervals resample questions
    assert table.loc[others, ["ci_low", "ci_high"]].isna().all(axis=None)


def test_no_run_that_counts_is_broken_and_no_two_are_one_set_of_numbers():
    counted = released.one_run(released.read())
    imagenet = (
        counted.query("dataset == 'imagenet-1k' and metric == 'accuracy@1'")
        .groupby("model")["value"]
        .max()
    )
    assert imagenet.min() > 0.01
    by = ["dataset", "lang", "variant", "direction", "metric"]
    wide = counted[counted["harness"] == "mteb"].pivot_table(
        index=by, columns="model", values="value"
    )
    for place, first in enumerate(wide):
        gaps = wide.iloc[:, place + 1 :].sub(wide[first], axis=0).abs()
        alike = gaps.max()[(gaps.notna().sum() >= 20) & (gaps.max() < 0.01)]
        assert alike.empty, (first, alike)
