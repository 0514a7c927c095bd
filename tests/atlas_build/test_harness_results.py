"""Tests of the readers of released results, against the sources and against small files
with a fault each.
"""

import json

import numpy as np
import pandas as pd
import pytest

from atlas_build import harness_results
from babelatlas.base import released, tables
from babelatlas.base.errors import InputError

HEAD = "model,version,avg"
COLUMN = "crossmodal3600 {}_retrieval_recall@{} {}"


@pytest.fixture
def sources(mirror):
    """The folder that holds the released files and the mirror."""
    if not (mirror.parent / "released").is_dir():
        pytest.skip(f"no copy of the released files in {mirror.parent}")
    return mirror.parent


@pytest.mark.slow
def test_the_shipped_table_is_what_the_command_makes(sources, tmp_path):
    path = tmp_path / "released.parquet"
    tables.write(harness_results.build(sources), path, "released", traced=False)
    assert path.read_bytes() == released.TABLE.read_bytes()


def test_means_over_languages_are_the_averages_that_open_clip_prints(sources):
    printed = pd.read_csv(
        sources
        / "released"
        / "open_clip"
        / "openclip_multilingual_retrieval_results.csv"
    )
    table = released.read(harness="clip_benchmark", dataset="xm3600")
    ways = {"t2i": "image", "i2t": "text"}
    for (direction, metric), part in table.groupby(["direction", "metric"]):
        means = part.groupby("checkpoint")["value"].mean()
        column = f"crossmodal3600 {ways[direction]}_retrieval_{metric} avg"
        said = printed.set_index(printed["model"] + ", " + printed["version"])[column]
        assert (means - said[means.index]).abs().max() < 2e-4


def test_values_of_each_source_stand_in_the_table_as_they_are_there(sources):
    file = (
        sources
        / "mirror"
        / "babel-imagenet"
        / "results"
        / "babel-imagenet"
        / "nllb-base.json"
    )
    found = json.loads(file.read_text())["results"]
    accuracy = next(
        row["accuracy"]
        for row in found
        if row["lang"] == "FR" and row["prompt"] == "label"
    )
    row = released.read(
        harness="babel-imagenet", dataset="babel-imagenet", lang="fr", variant="label"
    )
    row = row[row["checkpoint"] == "nllb-base"].iloc[0]
    assert row["value"] == accuracy
    assert row["n"] == 799 * 50
    assert row["n_correct"] == round(accuracy * 799 * 50)
    mteb = pd.read_csv(sources / "released" / "mteb" / "mteb-image-results.csv")
    mteb = mteb[
        (mteb["task"] == "XM3600T2IRetrieval") & (mteb["subset"] == "fil")
    ].set_index("model")
    table = released.read(
        harness="mteb", dataset="xm3600", lang="tl", metric="recall@1"
    ).set_index("checkpoint")
    both = mteb["cv_recall_at_1"].dropna()
    assert np.array_equal(table.loc[both.index, "value"], both)
    logs = (
        sources / "released" / "marvl" / "logs" / "ctrl_muniter_marvl_test.tr.err.txt"
    )
    score = [line for line in logs.read_text().splitlines() if " score " in line][
        -1
    ].split()[-1]
    row = released.read(
        harness="marvl",
        checkpoint="ctrl_muniter",
        lang="tr",
        metric="accuracy",
        variant="zero-shot",
    )
    assert row["value"].tolist() == [pytest.approx(float(score) / 100)]
    iglue = (
        pd.read_csv(sources / "released" / "iglue" / "XVNLI_0.csv")
        .set_index("model")
        .loc["uc2", "ru"]
    )
    row = released.read(
        harness="iglue",
        dataset="xvnli",
        checkpoint="uc2",
        lang="ru",
        variant="zero-shot",
    )
    assert row["value"].tolist() == [pytest.approx(iglue / 100)]
    assert row["n"].tolist() == [1164]


def open_clip(folder, rows, columns=None):
    """Write a small file in the form of open_clip's table; return its path."""
    columns = columns or [
        COLUMN.format(way, k, "de") for way in ("image", "text") for k in (1, 5, 10)
    ]
    path = folder / "open_clip.csv"
    path.write_text("\n".join([",".join([HEAD, *columns]), *rows]) + "\n")
    return path


def test_open_clips_table_becomes_one_row_for_each_value(tmp_path):
    path = open_clip(tmp_path, ["ViT-B-32,openai,0.5,0.1,0.2,0.3,0.4,0.5,0.6"])
    table = harness_results.read_open_clip(path, "https://example.org/file.csv")
    assert table["checkpoint"].unique().tolist() == ["ViT-B-32, openai"]
    assert table.set_index(["direction", "metric"])["value"].to_dict() == {
        ("t2i", "recall@1"): 0.1,
        ("t2i", "recall@5"): 0.2,
        ("t2i", "recall@10"): 0.3,
        ("i2t", "recall@1"): 0.4,
        ("i2t", "recall@5"): 0.5,
        ("i2t", "recall@10"): 0.6,
    }
    assert table["address"].unique().tolist() == ["https://example.org/file.csv#L2"]


def small(**changed):
    """One row of clip_benchmark's German recall, with changes."""
    row = {
        "harness": "clip_benchmark",
        "checkpoint": "ViT-B-32, openai",
        "dataset": "xm3600",
        "lang": "de",
    }
    row |= {
        "variant": "",
        "direction": "t2i",
        "metric": "recall@1",
        "task": "retrieval",
        "value": 0.25,
        "decimals": 4,
    }
    row |= {"address": "there", "source": "open_clip"}
    return pd.DataFrame([row | changed])


def test_an_unknown_checkpoint_names_the_nearest_one_and_where_to_add_it():
    with pytest.raises(
        InputError, match=r"'ViT-B-32, opnai'.*checkpoints\.csv.*ViT-B-32, openai"
    ):
        harness_results._canonical(small(checkpoint="ViT-B-32, opnai"))


def test_no_source_file_is_one_sentence_that_says_where_it_is(tmp_path):
    with pytest.raises(
        InputError, match=r"There is no released/open_clip.*github\.com"
    ):
        harness_results.build(tmp_path)


def test_a_number_of_cases_is_used_only_where_every_share_is_a_whole_number_of_it():
    whole = pd.concat(
        [small(), small(value=0.3394, metric="recall@5")], ignore_index=True
    )  # 1,222 of 3,600
    found = harness_results.with_intervals(whole)
    assert found["n"].tolist() == [3600, 3600]
    assert found["n_correct"].tolist() == [900, 1222]
    assert found.loc[0, ["ci_low", "ci_high"]].tolist() == pytest.approx(
        [0.2359, 0.2645], abs=1e-4
    )
    broken = pd.concat(
        [small(), small(value=0.3395, metric="recall@5")], ignore_index=True
    )  # 1,222.2
    assert harness_results.with_intervals(broken)["n"].tolist() == [0, 0]


def test_a_count_is_certain_only_where_rounding_is_finer_than_one_case():
    row = small(
        dataset="imagenet-1k",
        lang="en",
        metric="accuracy@1",
        direction="",
        task="zeroshot",
    )
    found = harness_results.with_intervals(row)
    assert found["n"].tolist() == [50_000]
    assert found["n_correct"].isna().all()
    assert found["ci_low"].isna().all()


def test_a_number_of_cases_that_nobody_states_is_found_from_many_shares():
    rng = np.random.default_rng(0)
    shares = (rng.integers(0, 842, 20) / 842).round(5)
    assert harness_results._inferred(shares, np.full(20, 5.0)) == 842
    assert harness_results._inferred(shares[:7], np.full(7, 5.0)) == 842
    assert harness_results._inferred(shares[:2], np.full(2, 5.0)) == 0, (
        "too few shares prove nothing"
    )
    assert harness_results._inferred(shares[:7].round(3), np.full(7, 3.0)) == 0, (
        "nor do coarse ones"
    )
    assert harness_results._inferred(rng.random(20), np.full(20, 5.0)) == 0
