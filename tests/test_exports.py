"""Exports: what other tools read back is what the tables hold."""

import ast
import csv
import gc
import importlib.util
import json
import os
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import yaml
from test_leaderboard import counts, queries

from babelatlas import InputError, exports, leaderboard, models, tables

MODELS, DATASETS = ["openai-b32", "my-model"], ["toy", "toy-captions"]


@pytest.fixture
def run(tmp_path):
    """A run of a public model and one of the user's own, in classification (2 languages) and retrieval (1)."""
    for model in MODELS:
        zeroshot = counts(model, {"de": 0.5, "zh-Hant": 0.3})
        short = (zeroshot["lang"] == "de") & (zeroshot["wnid"] > "n00000003")  # German has four classes
        zeroshot = zeroshot[~short].assign(
            n_correct_top5=4.0, n_images=lambda table: 4 + (table["wnid"] == "n00000001")
        )
        tables.write(zeroshot, tmp_path / f"zeroshot/{model}_toy.parquet", "zeroshot")
        found = queries(model, [(1, 7, 1), (4, 1, 3), (2, 2, 9)])
        tables.write(found, tmp_path / f"retrieval/{model}_toy-captions.parquet", "retrieval")
    return tmp_path


@pytest.fixture
def scores(run):
    return leaderboard.scores(leaderboard.read(str(run), MODELS, DATASETS), 20)


def test_the_csv_of_all_scores_is_read_back_as_it_was(scores, tmp_path):
    table = exports.scores(scores)
    path = exports.write_csv(table, tmp_path / "all" / "scores.csv")
    back = pd.read_csv(path, keep_default_na=False)
    assert list(back) == [*tables.SCORE, *leaderboard.PROTOCOL]
    pd.testing.assert_frame_equal(back, table, check_dtype=False)
    assert back[list(tables.SCORE_KEY)].drop_duplicates().shape[0] == len(back) == 2 * 2 + 2 * 2
    assert set(back["lang"]) == {"de", "zh-Hant"}
    written = back[list(tables.SCORE)].to_csv(tmp_path / "plain.csv", index=False)
    assert written is None
    assert len(tables.read(tmp_path / "plain.csv", "scores")) == len(back)


def test_a_file_with_another_ending_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"let the name end in .csv"):
        exports.write_csv(pd.DataFrame(), tmp_path / "scores.txt")


def test_every_metric_is_what_the_counts_say(run):
    found = exports.measured(str(run), MODELS, DATASETS)
    found = found[found["model"] == "my-model"].set_index(["metric", "lang"])
    table = tables.read(run / "zeroshot/my-model_toy.parquet", "zeroshot")
    chinese = table[table["lang"] == "zh-Hant"]
    shares = chinese["n_correct"] / chinese["n_images"]
    right, images = chinese["n_correct"].sum(), chinese["n_images"].sum()
    assert found.loc[("accuracy@1", "zh-Hant"), ["value", "n"]].tolist() == pytest.approx([right / images, images])
    assert found.loc[("mean per class recall", "zh-Hant"), "value"] == pytest.approx(shares.mean())
    assert shares.mean() != pytest.approx(right / images)  # one class has more images than the others
    assert found.loc[("accuracy@5", "zh-Hant"), "value"] == pytest.approx(48 / 49)
    assert np.isnan(found.loc[("accuracy@5", "de"), "value"])  # of four classes five are always all
    expected = {
        "t2i recall@1": 2 / 6,
        "t2i recall@5": 5 / 6,
        "t2i recall@10": 1,
        "i2t recall@1": 1 / 3,
        "i2t recall@5": 2 / 3,
    }
    for metric, value in expected.items():
        assert found.loc[(metric, "de"), "value"] == pytest.approx(value), metric


def test_clip_benchmarks_layout_has_its_columns_and_names(run):
    table = exports.clip_benchmark(exports.measured(str(run), MODELS, DATASETS))
    assert list(table)[:9] == [
        "dataset", "model", "pretrained", "model_fullname", "task", "language", "acc1", "acc5", "mean_per_class_recall",
    ]  # fmt: skip
    assert {"image_retrieval_recall@5", "text_retrieval_recall@5"} < set(table)
    assert set(table["task"]) == {"zeroshot_classification", "zeroshot_retrieval"}
    public = table[table["model"] == "openai-b32"].iloc[0]
    source = models.entry("openai-b32").source
    assert public["pretrained"] == f"{source.repository}@{source.revision}"
    assert public["model_fullname"] == f"openai-b32 {public['pretrained']}"
    own = table[(table["model"] == "my-model") & (table["task"] == "zeroshot_retrieval")].iloc[0]
    assert (own["pretrained"], own["model_fullname"]) == ("", "my-model")
    assert own["image_retrieval_recall@1"] == pytest.approx(1 / 3)
    assert own["text_retrieval_recall@5"] == pytest.approx(2 / 3)
    assert np.isnan(own["acc1"])
    assert (own["choice"], own["captions"]) == ("all", "people")


def test_data_sets_have_clip_benchmarks_names_where_it_has_them():
    source = importlib.util.find_spec("clip_benchmark")
    if source is None:
        pytest.skip("clip_benchmark is not installed")
    text = (Path(source.submodule_search_locations[0]) / "datasets" / "builder.py").read_text()
    for name in exports.CLIP_BENCHMARK_NAMES.values():
        assert f'dataset_name == "{name}"' in text or f"dataset_name == '{name}'" in text


def test_clip_benchmarks_own_build_makes_the_same_table(run, tmp_path):
    source = importlib.util.find_spec("clip_benchmark")
    if source is None:
        pytest.skip("clip_benchmark is not installed")
    # Its command `build` alone: importing the whole module takes half a minute.
    tree = ast.parse((Path(source.submodule_search_locations[0]) / "cli.py").read_text())
    build = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "main_build"]
    space = {"json": json, "os": os, "csv": csv}
    exec(compile(ast.Module(build, []), "cli.py", "exec"), space)
    table = exports.clip_benchmark(exports.measured(str(run), MODELS, DATASETS))
    (tmp_path / "json").mkdir()
    for number, content in enumerate(exports.clip_benchmark_files(table)):
        (tmp_path / "json" / f"{number:03d}.json").write_text(json.dumps(content))

    given = SimpleNamespace(files=[os.fspath(tmp_path / "json")], output=os.fspath(tmp_path / "benchmark.csv"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # it leaves its files open
        space["main_build"](given)
        gc.collect()
    key = ["dataset", "model", "language", "task"]
    theirs = pd.read_csv(tmp_path / "benchmark.csv", keep_default_na=False, na_values={"acc1": [""]}).sort_values(key)
    theirs["model_fullname"] = theirs["model_fullname"].str.strip()  # "model pretrained", where there may be none
    path = exports.write_csv(table, tmp_path / "ours.csv")
    ours = pd.read_csv(path, keep_default_na=False, na_values={"acc1": [""]}).sort_values(key)
    pd.testing.assert_frame_equal(theirs[list(ours)].reset_index(drop=True), ours.reset_index(drop=True))


def test_an_unknown_metric_is_not_passed_on():
    with pytest.raises(InputError, match="no metric 'median rank'"):
        exports.clip_benchmark(pd.DataFrame({"metric": ["median rank"]}))


def test_the_hubs_library_reads_a_models_results_back(scores, tmp_path):
    from huggingface_hub.repocard_data import model_index_to_eval_results

    path = exports.write_yaml(exports.model_index(scores, "my-model"), tmp_path / "my-model.yaml")
    name, results = model_index_to_eval_results(yaml.safe_load(path.read_text(encoding="utf-8"))["model-index"])
    own = scores[scores["model"] == "my-model"]
    assert name == "my-model"
    assert len(results) == len(own)
    back = {(one.dataset_type, one.dataset_config, one.metric_name): one for one in results}
    for row in own.itertuples():
        one = back[row.dataset, row.lang, leaderboard.title(row.dataset, row.metric, row.variant)]
        assert one.metric_value == row.value
        assert (one.metric_args["ci_low"], one.metric_args["n"]) == (row.ci_low, row.n)
        assert one.metric_args["similarity"] == "cosine"
    assert {one.task_type for one in results} == {"zero-shot-image-classification", "retrieval"}


def test_the_block_fits_into_a_model_card(scores):
    from huggingface_hub import ModelCard

    card = ModelCard(f"---\n{exports.model_index(scores, 'openai-b32')}---\n\n# A model\n")
    assert len(card.data.eval_results) == len(scores[scores["model"] == "openai-b32"])


def test_a_model_without_scores_has_no_block(scores):
    with pytest.raises(InputError, match="no scores of 'absent'"):
        exports.model_index(scores, "absent")


def test_results_of_benchmarks_on_the_hub_are_read_back_by_its_library(scores):
    from huggingface_hub import parse_eval_result_entries

    one = scores[(scores["lang"] == "zh-Hant") & (scores["dataset"] == "toy")]
    entries = exports.benchmark_entries(one, "my-model", {"toy": ("people/toy", "zh")})
    (back,) = parse_eval_result_entries(yaml.safe_load(yaml.safe_dump(entries)))
    assert (back.dataset_id, back.task_id) == ("people/toy", "zh")
    assert back.value == one.loc[one["model"] == "my-model", "value"].iloc[0]
    assert back.notes.startswith("zh-Hant; accuracy@1; labels: toy")
    with pytest.raises(InputError, match="one score of a model, got 2"):
        exports.benchmark_entries(scores, "my-model", {"toy": ("people/toy", "zh")})
