"""What the workflow knows before it runs: bad configs stop with a sentence, and a change reruns what depends on it."""

import ast
import dataclasses
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import pandas as pd
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from nbformat.v4 import new_code_cell, new_notebook

from babelatlas.base import tables
from babelatlas.base.errors import InputError
from babelatlas.lexicon import labels
from babelatlas.models.training import adaptation
from babelatlas.workflow import config as workflow
from babelatlas.workflow import notebooks
from babelatlas.workflow import plan as plans
from conftest import ROOT, snakemake

NOTEBOOKS = ROOT / "notebooks"
ALL = sorted(NOTEBOOKS.glob("*/*.ipynb"))


def found(name: str) -> Path:
    """The path of a notebook."""
    return notebooks.find(NOTEBOOKS, name)


CONFIGS = [f"config/{name}.yml" for name in ("demo", "full", "paper")]
CONFIGS += [f"tests/{name}.yml" for name in ("tiny", "one_language", "no_models")]


@pytest.fixture
def config():
    """The config of the demonstration run."""
    return yaml.safe_load((ROOT / "config" / "demo.yml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", CONFIGS)
def test_the_configs_that_ship_are_accepted(name):
    assert workflow.check_config(yaml.safe_load((ROOT / name).read_text(encoding="utf-8")), ROOT)


@pytest.mark.parametrize("name", CONFIGS)
def test_what_the_workflow_gives_a_notebook_is_what_the_notebook_may_have(name):
    several = {"datasets": ["xflickrco"], "protocol_datasets": ["xflickrco"], "images": {"xflickrco": ["a/b", "a/c"]}}
    given = yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))
    for changes in ({}, several | {"chapters": ["00_summary"], "translators": [], "adaptations": {}}):
        plan = workflow.check_config(given | changes, ROOT)
        for job in [*plan.jobs(), *((chapter, "", "") for chapter in plan.chapters)]:
            notebooks.check_parameters(plan.notebook(job[0]), json.loads(plan.given(*job)))


def test_a_key_that_nothing_reads_is_named_with_the_nearest(config):
    with pytest.raises(InputError, match=r"a key 'modelz' that nothing reads: did you mean models\?"):
        workflow.check_config(config | {"modelz": []}, ROOT)


def test_a_missing_key_is_named(config):
    del config["datasets"]
    with pytest.raises(InputError, match="needs 'datasets' as list, got nothing"):
        workflow.check_config(config, ROOT)


def test_a_value_of_another_kind_is_named(config):
    with pytest.raises(InputError, match="needs 'seed' as int, got 'one'"):
        workflow.check_config(config | {"seed": "one"}, ROOT)


def test_a_run_cannot_be_a_path(config):
    with pytest.raises(InputError, match=r"name of a folder, got '\.\./demo'"):
        workflow.check_config(config | {"run": "../demo"}, ROOT)


def test_a_chapter_that_does_not_exist_is_named_with_the_nearest(config):
    with pytest.raises(InputError, match=r"no notebook '30_acuracy'.*did you mean 30_accuracy\?"):
        workflow.check_config(config | {"chapters": ["30_acuracy"]}, ROOT)


def test_a_parameter_that_the_notebook_does_not_declare_is_named_with_the_nearest(config):
    with pytest.raises(InputError, match=r"30_accuracy has no parameter 'resample': did you mean n_resamples\?"):
        workflow.check_config(config | {"parameters": {"30_accuracy": {"resample": 3}}}, ROOT)


def test_code_of_a_models_repository_must_be_allowed_in_the_config(config):
    config["models"] = ["jina-clip-v2"]
    with pytest.raises(InputError, match="runs code from the repository jinaai/jina-clip-v2"):
        workflow.check_config(config, ROOT)
    with pytest.raises(InputError, match=r"needs transformers<4\.52"):  # allowed, and of no use with this version
        workflow.check_config(config | {"remote_code": ["jinaai/jina-clip-v2"]}, ROOT)
    config["models"] = ["mexma-siglip2"]
    assert workflow.check_config(config | {"remote_code": ["visheratin/mexma-siglip2@" + "a" * 40]}, ROOT)


def test_a_checkpoint_of_an_unknown_model_is_named(config):
    with pytest.raises(InputError, match=r"no model 'msiglip-b61': did you mean msiglip-b16"):
        workflow.check_config(config | {"checkpoints": {"msiglip-b61": "/data"}}, ROOT)


def test_an_unknown_model_is_named(config):
    with pytest.raises(InputError, match="picto-enn"):
        workflow.check_config(config | {"models": ["picto-enn"]}, ROOT)


def test_an_unknown_language_is_named_with_its_notebook(config):
    with pytest.raises(InputError, match=r"20_zeroshot.*klingonese"):
        workflow.check_config(config | {"parameters": {"20_zeroshot": {"languages": ["klingonese"]}}}, ROOT)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"datasets": ["imagenet-1k"], "protocol_datasets": []}, "'imagenet-1k' needs images.*under 'images'"),
        ({"images": {"xm360": "/data"}}, r"no data set 'xm360': did you mean xm3600\?"),
        ({"images": {"pictograms": "/data"}}, "images of 'pictograms', but the run makes them itself"),
        ({"images": {"xm3600": 7}}, "images of 'xm3600' should be a path or a list of paths, got 7"),
        ({"annotations": {"imagenet-1k": "/data"}}, "annotations of 'imagenet-1k', but zero-shot has none"),
        (
            {"protocol_datasets": ["pictogram"]},
            r"'protocol_datasets' names 'pictogram', which is not among.*did you mean pictograms\?",
        ),
        ({"protocol_datasets": []}, "chapter 33_protocol reads protocols, which this run does not make"),
        ({"custom_models": {"mine": "mine.py"}}, "'custom_models' names 'mine', which is not among its models"),
        ({"custom_models": {"picto-en": "mine.txt"}}, r"module of 'picto-en' should be a Python file.*'mine\.txt'"),
        ({"custom_models": {"picto-en": "mine.py"}}, "'picto-en' is that of a known model"),
        ({"images": {"imagenet-1k": ["/data"]}}, r"images of 'imagenet-1k' should be one path, got \['/data'\]"),
        ({"annotations": {"xm3600": ["/data"]}}, r"annotations of 'xm3600' should be one path, got \['/data'\]"),
        ({"models": ["picto-en", "picto-en"]}, "'models' names 'picto-en' twice"),
        ({"datasets": ["pictograms", "pictograms"]}, "'datasets' names 'pictograms' twice"),
        ({"seed": True}, "needs 'seed' as int, got True"),
        ({"models": [], "custom_models": {"mine": "mine.py"}}, r"not among its models: add it there\."),
        ({"gpus": 0}, "'gpus' is how many to use at once, got 0"),
        ({"translators": ["picto-gate"]}, r"no translator 'picto-gate': did you mean picto-gated"),
        ({"translators": ["picto-text", "picto-text"]}, "'translators' names 'picto-text' twice"),
        ({"models": ["picto-text"], "checkpoints": {"picto-text": "/data"}}, "no model 'picto-text'"),
        ({"translators": ["picto-en"], "checkpoints": {"picto-en": "/data"}}, "'picto-en' under 'models' and under"),
        (
            {"datasets": ["pictograms"], "protocol_datasets": []},
            "has 'translators', but no data set for disambiguation",
        ),
        (
            {"datasets": ["imagenet-1k-pairs"], "protocol_datasets": [], "images": {"imagenet-1k-pairs": "/data"}},
            "'picto-gated' is trained on the data set pictogram-pairs, which is not among",
        ),
        (
            {"datasets": ["imagenet-21k-pairs"], "protocol_datasets": []},
            "'imagenet-21k-pairs' needs images.*under 'images'",
        ),
        (
            {"datasets": ["commute"], "protocol_datasets": [], "images": {"commute": "/data"}},
            "'commute' needs its texts.*under 'annotations'",
        ),
        ({"images": {"pictogram-pairs": "/data"}}, "images of 'pictogram-pairs', but the run makes them itself"),
        ({"annotations": {"imagenet-1k-pairs": "/data"}}, "'imagenet-1k-pairs', but they are made from lexicons"),
        ({"images": {"commute": ["/data"]}}, r"images of 'commute' should be one path, got \['/data'\]"),
        ({"external_scores": {"mine": {"commute": "a.csv"}}}, "scores of the translator 'mine', which is not among"),
        (
            {"external_scores": {"picto-text": {"pictogram-pairs": "a.csv"}}},
            "'picto-text', which is that of a known one",
        ),
        ({"translators": ["mine"], "external_scores": {"mine": "a.csv"}}, "lines 'data set: file'.*got 'a.csv'"),
        (
            {"translators": ["mine"], "external_scores": {"mine": {"pictograms": "a.csv"}}},
            "data set: file'.*'pictograms'",
        ),
        (
            {"translators": ["mine"], "external_scores": {"mine": {"pictogram-pairs": {"fr": ["a.txt"]}}}},
            "'mine' on 'pictogram-pairs' should be a table, or languages, each with the files",
        ),
        (
            {"protocol_datasets": ["pictogram-pairs"]},
            "'protocol_datasets' names 'pictogram-pairs', which is for disambiguation",
        ),
        ({"captioned_datasets": ["pictograms"]}, "names 'pictograms', which is not among its data sets to retrieve"),
    ],
)
def test_what_a_config_says_of_data_sets_models_and_gpus_is_checked(config, changes, sentence):
    with pytest.raises(InputError, match=sentence):
        workflow.check_config(config | changes, ROOT)


def test_an_image_text_model_describes_the_data_sets_that_are_named_and_no_others(config):
    changes = {"translators": ["picto-gated", "paligemma2-3b-mix-448"], "images": {"xm3600": "/data/xm3600"}}
    changes |= {"datasets": [*config["datasets"], "xm3600"], "captioned_datasets": ["xm3600"]}
    plan = workflow.check_config(config | changes, ROOT)
    jobs = [job for job in plan.jobs() if job[0].startswith(("27_", "28_c"))]
    assert jobs == [
        ("27_captioning", "paligemma2-3b-mix-448", "xm3600"),
        ("28_caption_scores", "", "scenes"),
        ("28_caption_scores", "", "xm3600"),
    ]
    given = json.loads(plan.given("28_caption_scores", dataset="xm3600"))
    assert given["generated"] == ["results/demo/generated/paligemma2-3b-mix-448_xm3600.parquet"]
    assert given["images"] == "/data/xm3600"


def test_a_translator_of_ones_own_is_accepted_with_its_folder(config):
    with pytest.raises(InputError, match="no translator 'gated-multi30k'"):
        workflow.check_config(config | {"translators": ["gated-multi30k"]}, ROOT)
    changes = {"translators": ["gated-multi30k"], "checkpoints": {"gated-multi30k": "models/gated-multi30k"}}
    assert workflow.check_config(config | changes, ROOT)


def test_a_chapter_on_disambiguation_needs_a_data_set_for_it(config):
    changes = {"datasets": ["pictograms"], "protocol_datasets": ["pictograms"], "translators": []}
    with pytest.raises(InputError, match=r"chapter 38_disambiguation reads .*disambiguation.*does not make"):
        workflow.check_config(config | changes | {"chapters": ["00_summary", "38_disambiguation"]}, ROOT)


def test_files_of_scores_stand_for_a_translator_on_the_data_sets_they_are_of(tmp_path, config):
    for name in ("right.txt", "wrong.txt", "own.csv"):
        (tmp_path / name).write_text("", encoding="utf-8")
    changes = {"models": ["msiglip-b16"], "translators": ["theirs", "other"], "protocol_datasets": [], "parameters": {}}
    changes |= {"datasets": ["commute", "commute-dev"], "chapters": ["00_summary", "38_disambiguation"]}
    changes |= {key: dict.fromkeys(changes["datasets"], str(tmp_path)) for key in ("images", "annotations")}
    changes["external_scores"] = {
        "theirs": {"commute": {"fr": ["right.txt", "wrong.txt"]}},
        "other": {"commute": "own.csv"},
    }
    path = tmp_path / "run.yml"
    path.write_text(yaml.safe_dump(config | changes), encoding="utf-8")
    done = snakemake(tmp_path, "--dry-run", "--printshellcmds", config=path)
    assert done.returncode == 0, done.stderr
    lines = [line for line in (done.stdout + done.stderr).splitlines() if "workflow.warm" in line and "/23_" in line]
    pair, table = sorted(lines, key=lambda line: "own.csv" in line)
    assert f'"annotations": "{tmp_path}"' in pair
    assert '"scores": ["right.txt", "wrong.txt"], "scores_lang": "fr"' in pair
    assert '"scores": ["own.csv"]' in table
    assert all("--gpu 0" in line and '"dataset": "commute"' in line for line in lines)
    with pytest.raises(InputError, match=r"scores of 'other on commute' should be at absent/own\.csv"):
        workflow.check_paths({"external_scores": {"other": {"commute": "absent/own.csv"}}})


def test_a_model_of_ones_own_is_accepted_with_its_file(config):
    changes = {"models": [*config["models"], "mine"], "custom_models": {"mine": "modules/mine.py"}}
    assert workflow.check_config(config | changes, ROOT)


@pytest.mark.parametrize("key", ["images", "annotations", "checkpoints", "custom_models"])
def test_a_path_of_the_config_that_is_not_there_is_named_before_any_job(key, tmp_path):
    with pytest.raises(
        InputError, match=rf"The config's {key} of 'x' should be at {tmp_path}/absent, where nothing is"
    ):
        workflow.check_paths({key: {"x": [str(tmp_path), f"{tmp_path}/absent"]}})
    workflow.check_paths({key: {"x": str(tmp_path)}})
    workflow.check_paths({"annotations": {"multi30k": "test_2017_flickr"}})  # a name, no path


def test_a_dry_run_tells_of_a_missing_folder_and_a_real_run_stops(tmp_path, config):
    changes = {
        "models": ["msiglip-b16"],
        "datasets": ["imagenet-1k"],
        "translators": [],
        "protocol_datasets": [],
        "chapters": ["00_summary", "30_accuracy"],
    }
    changes |= {"images": {"imagenet-1k": str(tmp_path / "absent")}, "parameters": {}}
    path = tmp_path / "run.yml"
    path.write_text(yaml.safe_dump(config | changes), encoding="utf-8")
    target = "results/demo/zeroshot/msiglip-b16_imagenet-1k.parquet"
    dry = snakemake(tmp_path, "--dry-run", "--", target, config=path)
    assert (dry.returncode, "a real one would stop: The config's images" in dry.stderr) == (0, True)
    assert re.search(r"20_zeroshot msiglip-b16 imagenet-1k +50,000", dry.stderr)
    real = snakemake(tmp_path, "--", target, config=path)
    assert (real.returncode, "absent, where nothing is" in real.stderr) == (1, True)
    assert "Estimate" not in real.stderr
    assert not (tmp_path / "results").exists()


def write_chapter(path, code: str, reads: str = "[]", outputs: str = "") -> None:
    """Write a notebook with cells of inputs and outputs, and one more cell."""
    cells = [
        new_code_cell(f'results = "results/demo"\nreads = {reads}', metadata={"tags": ["inputs"]}),
        new_code_cell(outputs, metadata={"tags": ["outputs"]}),
        new_code_cell("seed = 0", metadata={"tags": ["parameters"]}),
        new_code_cell(code),
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(new_notebook(cells=cells), path)


@pytest.fixture
def project(tmp_path):
    """A project with the study's stages and schema, and no chapter but a title page."""
    (tmp_path / "config").mkdir()
    shutil.copy(ROOT / "config" / "schema.yaml", tmp_path / "config")
    shutil.copytree(NOTEBOOKS / "stages", tmp_path / "notebooks" / "stages")
    write_chapter(tmp_path / "notebooks" / "chapters" / "00_summary.ipynb", "1")
    return tmp_path


def of_run(plan: plans.Plan, *kinds: str) -> set[str]:
    return {path for kind in kinds for path in plan.tables()[kind]}


def test_what_a_chapter_reads_is_what_its_inputs_cell_lists(project, config):
    chapter = project / "notebooks" / "chapters" / "39_mine.ipynb"
    changes = {"chapters": ["00_summary", "39_mine"], "parameters": {}}
    for reads, kinds in (
        ('["zeroshot"]', ["zeroshot"]),
        ('["retrieval", "subsets"]', ["retrieval", "subsets"]),
        ("[]", []),
    ):
        write_chapter(chapter, 'f"{results}/tokens/x.parquet"', reads)
        plan = workflow.check_config(config | changes, project)
        assert set(plan.reads("39_mine")) == of_run(plan, *kinds)
    write_chapter(chapter, "1", '["zeroshots"]')
    with pytest.raises(InputError, match=r"39_mine reads 'zeroshots': did you mean zeroshot\?"):
        workflow.check_config(config | changes, project)


def test_a_chapter_on_merged_results_waits_for_those_that_are_there(project, config, monkeypatch):
    monkeypatch.chdir(project)
    chapter = project / "notebooks" / "chapters" / "39_mine.ipynb"
    write_chapter(chapter, "1", '["merged", "zeroshot"]')
    changes = {"chapters": ["00_summary", "39_mine"], "parameters": {}}
    plan = workflow.check_config(config | changes, project)
    assert set(plan.reads("39_mine")) == of_run(plan, "zeroshot")
    file = f"results/{config['run']}/merged/zeroshot_a_b_Ana.parquet"
    (project / file).parent.mkdir(parents=True)
    (project / file).touch()
    plan = workflow.check_config(config | changes, project)
    assert set(plan.reads("39_mine")) == {file} | of_run(plan, "zeroshot")


def test_every_chapter_reads_only_kinds_of_tables_that_its_inputs_cell_lists():
    kinds = set(plans.Plan(yaml.safe_load((ROOT / "config" / "demo.yml").read_text(encoding="utf-8")), ROOT).tables())
    for path in ALL:
        code = "\n".join(cell["source"] for cell in notebooks.cells(path) if cell["cell_type"] == "code")
        named = {name for name in re.findall(r"\{results\}/(\w+)/", code) if name in kinds}
        named |= set(re.findall(r"\{results\}/(scores/\w+\.parquet)", code))
        declared = notebooks.declared(path)["inputs"]
        listed = [*declared.get("reads", []), *declared.get("reads_if_made", [])]
        assert named <= {*listed, *(name.split("/")[0] for name in listed)}, path.stem


def test_chapters_on_published_numbers_read_nothing_of_the_run(config):
    plan = workflow.check_config(config, ROOT)
    for name in ("40_published_groups", "60_models"):
        assert plan.reads(name) == []


def test_statements_need_their_training_set_and_are_judged_by_models_and_by_those_that_can_be_asked(config):
    own = {"models": ["msiglip-b16"], "translators": ["qwen2-vl-7b"], "datasets": ["imagenet-1k", "marvl"]}
    own |= {"adaptations": {}, "protocol_datasets": [], "chapters": ["00_summary", "47_reasoning"], "parameters": {}}
    given = {"imagenet-1k": "a/b", "marvl": "a/b"}
    with pytest.raises(InputError, match="'nlvr2-train' needs images"):
        workflow.check_config(config | own | {"images": given, "annotations": {"marvl": "a/b"}}, ROOT)
    given |= {"nlvr2-train": "a/c"}
    with pytest.raises(InputError, match="'nlvr2-train' needs its texts"):
        workflow.check_config(config | own | {"images": given, "annotations": {"marvl": "a/b"}}, ROOT)
    texts = {"marvl": "a/b", "nlvr2-train": "a/train.json"}
    plan = workflow.check_config(config | own | {"images": given, "annotations": texts}, ROOT)
    assert plan.statements == ["marvl", "nlvr2-train"]
    assert plan.reasoning == [("msiglip-b16", "marvl"), ("qwen2-vl-7b", "marvl")]
    head, asked = (json.loads(plan.given("26_reasoning", one, "marvl")) for one, _ in plan.reasoning)
    assert (head["method"], asked["method"]) == ("head", "likelihood")
    assert plan.lesson("msiglip-b16", "marvl") == plan.table("pairs", "nlvr2-train")
    assert plan.lesson("qwen2-vl-7b", "marvl") == []
    assert set(plan.reads("47_reasoning")) == {
        *(plan.table("answers", f"{one}_marvl") for one, _ in plan.reasoning),
        *(plan.table("pairs", name) for name in plan.statements),
    }


@pytest.mark.parametrize("chapter", ["36_world", "37_exports", "70_model", "71_languages"])
def test_a_chapter_on_scores_that_no_other_chapter_writes_is_named_with_the_one_that_does(config, chapter):
    sentence = rf"{chapter} reads scores/\w+\.parquet, which no chapter of this config writes: add 35_leaderboard to"
    with pytest.raises(InputError, match=sentence):
        workflow.check_config(config | {"chapters": ["00_summary", chapter]}, ROOT)
    assert workflow.check_config(config | {"chapters": ["00_summary", "35_leaderboard", chapter]}, ROOT)


def test_a_book_without_a_title_page_is_refused_before_anything_runs(config):
    with pytest.raises(InputError, match="no title page: add 00_summary to the config's chapters"):
        workflow.check_config(config | {"chapters": ["30_accuracy"]}, ROOT)


def test_a_run_of_retrieval_alone_makes_a_book(tmp_path, config):
    chapters = ["00_summary", "34_retrieval", "35_leaderboard", "36_world", "70_model", "99_status"]
    changes = {"models": ["msiglip-b16"], "datasets": ["xm3600"], "images": {"xm3600": str(tmp_path)}}
    changes |= {"translators": [], "protocol_datasets": []}
    path = tmp_path / "run.yml"
    path.write_text(yaml.safe_dump(config | changes | {"chapters": chapters, "parameters": {}}), encoding="utf-8")
    done = snakemake(tmp_path, "--dry-run", "--printshellcmds", config=path)
    assert done.returncode == 0, done.stderr
    lines = (done.stdout + done.stderr).splitlines()
    assert [line for line in lines if re.search(r"workflow.warm .+/00_summary\.ipynb", line)]


@pytest.mark.parametrize(
    ("notebook", "given", "sentence"),
    [
        ("20_zeroshot", {"missing": "many"}, "'missing' of the notebook 20_zeroshot should be a whole number.*'many'"),
        ("20_zeroshot", {"missing": 1.5}, "a whole number"),
        ("20_zeroshot", {"fix_spaces": 1}, "'fix_spaces' of .* should be true or false, such as False, got 1"),
        ("20_zeroshot", {"n_resamples": True}, "a whole number"),
        ("20_zeroshot", {"languages": "de"}, r"a list, such as \[\], got 'de'"),
        ("20_zeroshot", {"images": [1]}, r"a text"),
        ("29_subsets", {"sizes": [2, "five"]}, "a whole number in its list, such as 2, got 'five'"),
        ("30_accuracy", {"tiers": ["en"]}, "'name: value' lines"),
        ("28_protocols", {"prompts": "nlb-80"}, r"'prompts' names the prompts 'nlb-80'.*did you mean nllb-80\?"),
        ("28_protocols", {"other_prompts": ["lable"]}, r"did you mean label\?"),
        ("20_zeroshot", {"fallback_prompts": ["openai-81"]}, r"did you mean openai-80\?"),
    ],
)
def test_a_parameter_of_another_kind_is_named(config, notebook, given, sentence):
    with pytest.raises(InputError, match=sentence):
        workflow.check_config(config | {"parameters": {notebook: given}}, ROOT)


def test_parameters_that_may_be_lists_and_numbers_that_may_be_whole_are_accepted(config):
    given = {"20_zeroshot": {"fallback_prompts": ["label"], "prompts": "own.parquet"}, "00_summary": {"threshold": 1}}
    assert workflow.check_config(config | {"parameters": given}, ROOT)
    notebooks.check_parameters(found("21_retrieval"), {"images": ["a", "b"]})


@pytest.mark.parametrize(
    ("notebook", "name", "value"),
    [("20_zeroshot", "labels", "own.parquet"), ("21_retrieval", "images", ["a"]), ("12_train", "output", "elsewhere")],
)
def test_a_parameter_that_the_workflow_sets_is_refused_and_not_dropped(config, notebook, name, value):
    with pytest.raises(InputError, match=f"'{name}' of {notebook}, which the workflow sets itself"):
        workflow.check_config(config | {"parameters": {notebook: {name: value}}}, ROOT)


def test_a_key_that_stands_twice_in_a_config_is_refused(tmp_path):
    path = tmp_path / "twice.yml"
    path.write_text("run: a\nparameters:\n  30_accuracy: {seed: 1}\n  30_accuracy: {seed: 2}\n", encoding="utf-8")
    with pytest.raises(InputError, match="the key '30_accuracy' twice, again in line 4"):
        workflow.read(path)


def test_templates_of_the_config_that_are_not_there_are_named_before_any_job(tmp_path):
    given = {"20_zeroshot": {"prompts": f"{tmp_path}/absent.parquet"}}
    with pytest.raises(InputError, match=r"templates of .*absent\.parquet"):
        workflow.check_paths({"parameters": given})


@given(st.text(min_size=1).filter(lambda key: key not in workflow.schema(ROOT)["properties"]))
def test_no_unknown_key_passes(key):
    with pytest.raises(InputError, match="nothing reads"):
        workflow.check_config({key: 1}, ROOT)


def test_a_cleaning_rule_reruns_the_labels_and_what_reads_them_only():
    concerned = {path.stem for path in ALL if "cleaning.py" in {file.name for file in notebooks.sources(path)}}
    readers = {path.stem for path in ALL if {"labels", "cache"} & set(notebooks.defaults(path))}
    # A notebook depends on all that its modules import. Those that choose words themselves: labels, the words of
    # ambiguous items, and what is said of either; and those whose modules, such as that of the prompts, clean texts.
    choose = {"09_senses", "10_labels", "10_words", "14_pairs", "53_ambiguity", "82_label_sets"}
    assert concerned - readers == choose | {
        "23_translators", "27_captioning", "83_distillation", "84_resources", "86_ranks", "88_paper_run",
        "90_scorecard", "91_errata", "99_status",
    }  # fmt: skip
    assert not {name for name in concerned if name.startswith("4")}


def test_the_labels_are_made_as_those_that_ship(small_run):
    assert notebooks.defaults(found("10_labels"))["without"] == list(labels.RESTRICTED)
    made = tables.read(small_run / "results" / "tiny" / "labels" / "imagenet-1k.parquet", "labels")
    shipped = labels.shipped()
    shipped = shipped[shipped["lang"].isin(made["lang"])].reset_index(drop=True)
    pd.testing.assert_frame_equal(made, shipped)


def test_a_notebook_depends_on_the_modules_it_imports_on_theirs_and_on_their_data():
    names = {path.name for path in notebooks.sources(found("40_published_groups"))}
    assert {"40_published_groups.ipynb", "__init__.py", "published.py", "bootstrap.py", "tables.py"} <= names
    assert "geigle2024.csv" in names, "published.py names its folder of data"
    assert not {"zeroshot.py", "pictograms.py", "senses.parquet", "run_notebook.py"} & names


@pytest.fixture
def reached(tmp_path, monkeypatch):
    """A function that writes a library of modules, name -> code, and returns what a chapter with some code reaches."""
    monkeypatch.setattr(notebooks, "LIBRARY", tmp_path)
    monkeypatch.setattr(notebooks, "DATA", tmp_path / "data")
    for cached in (notebooks._shipped, notebooks._files, notebooks._module):
        cached.cache_clear()
    (tmp_path / "data" / "published").mkdir(parents=True)
    for name in ("words.csv", "files.csv", "published/paper.csv"):
        (tmp_path / "data" / name).write_text("", encoding="utf-8")

    def write(code: str, **modules: str) -> set[str]:
        for name, text in {"__init__": "", "room/__init__": "", **modules}.items():
            path = tmp_path / f"{name.replace('__room__', 'room/')}.py"
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        write_chapter(tmp_path / "chapter.ipynb", code)
        found = {str(path.relative_to(tmp_path)) for path in notebooks.sources(tmp_path / "chapter.ipynb")}
        return found - {"chapter.ipynb", "__init__.py", "room/__init__.py"}

    yield write
    for cached in (notebooks._shipped, notebooks._files, notebooks._module):
        cached.cache_clear()


# A module of a room that reads a file and imports another at the top, and a third in a function.
WORDS = """
from babelatlas.room import papers

def words():
    from babelatlas import tools

    return open(DATA / "words.csv")
"""
PAPERS = 'def read(x):\n    return DATA / "published" / f"{x}.csv"'


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("from babelatlas.room import words\nwords.words()", {"all"}),
        ("from babelatlas.room.words import words as w", {"all"}),
        ("import babelatlas.room.words", {"all"}),
        ("if x:\n    from babelatlas.room import words", {"all"}),
        ("from babelatlas.room import papers", {"room/papers.py", "data/published/paper.csv"}),
        ("from babelatlas import tools\n'data/words.csv'", {"tools.py"}),
        ("%matplotlib inline\nimport babelatlas", set()),
    ],
)
def test_a_chapter_depends_on_the_modules_it_imports_and_on_theirs_at_any_depth(reached, code, expected):
    whole = {"room/words.py", "room/papers.py", "tools.py", "data/words.csv", "data/published/paper.csv"}
    found = reached(code, __room__words=WORDS, __room__papers=PAPERS, tools="")
    assert found == (whole if expected == {"all"} else expected)


def test_the_gpus_work_is_not_done_again_for_a_paper_more():
    papers = {path.name for path in (notebooks.LIBRARY / "data" / "published").iterdir()} | {"published.py"}
    for name in ("20_zeroshot", "21_retrieval", "28_protocols", "29_subsets"):
        assert papers & {path.name for path in notebooks.sources(found(name))} == set()
    assert "cocosm.py" not in {path.name for path in notebooks.sources(found("20_zeroshot"))}
    assert papers <= {path.name for path in notebooks.sources(found("43_coco_sm"))}


def test_every_file_of_the_data_is_read_by_something():
    named = {path.name for notebook in ALL for path in notebooks.sources(notebook)}
    shipped = {path.name for path in (notebooks.LIBRARY / "data").rglob("*") if path.is_file()}
    # A licence, and what only a command reads: the notices of licences that the note of shipped labels repeats.
    other = {"licence_cecill-c.txt", "senses_notices.txt"}
    assert shipped - named == other


def test_a_parameters_cell_that_computes_is_refused(tmp_path):

    path = tmp_path / "computes.ipynb"
    cell = new_code_cell("half = whole / 2", metadata={"tags": ["parameters"]})
    nbformat.write(new_notebook(cells=[cell]), path)
    with pytest.raises(InputError, match="plain values only"):
        notebooks.declared(path)


def jobs(printed: str) -> dict[str, int]:
    """The table of jobs that a dry run prints: rule -> count."""
    return {name: int(count) for name, count in re.findall(r"^(\w+) +(\d+)$", printed, re.MULTILINE)}


def test_a_dry_run_plans_every_step_of_the_demonstration(tmp_path):
    done = snakemake(tmp_path, "--dry-run", "--quiet", "rules", "host", "reason", config=ROOT / "config" / "demo.yml")
    assert done.returncode == 0, done.stderr
    planned = jobs(done.stdout + done.stderr)
    assert planned["senses"] == 1
    assert planned["labels"] == 2
    assert planned["pictograms"] == 1
    assert planned["train"] == planned["disambiguation"] == 3
    assert planned["pairs"] == 1
    assert planned["gated"] == planned["translation"] == 3
    assert planned["zeroshot"] == planned["subsets"] == 6
    assert planned["retrieval"] == planned["protocols"] == planned["model_page"] == planned["label_sets"] == 3
    assert planned["adapt"] == 2
    assert planned["language_pages"] == 1
    assert planned["reasoning"] == 3
    assert planned["scenes"] == planned["selection"] == 1
    chapters = yaml.safe_load((ROOT / "config" / "demo.yml").read_text(encoding="utf-8"))["chapters"]
    assert sum(name.startswith("chapter_") for name in planned) == len(chapters) - 2  # two have rules of their own
    assert planned["book"] == 1


def test_the_workflow_stops_at_a_bad_config_before_it_plans_anything(tmp_path, config):
    bad = tmp_path / "bad.yml"
    bad.write_text(yaml.safe_dump(config | {"chpaters": []}), encoding="utf-8")
    done = snakemake(tmp_path, config=bad)
    assert done.returncode == 1
    assert "The config has a key 'chpaters' that nothing reads: did you mean chapters?" in done.stderr
    assert "Job stats" not in done.stderr
    assert not (tmp_path / "results").exists()


def test_nothing_is_left_to_do_after_a_run_and_a_changed_parameter_reruns_only_what_depends_on_it(small_run, tmp_path):
    again = snakemake(small_run, "--dry-run")
    assert "Nothing to be done" in again.stdout + again.stderr
    config = yaml.safe_load((ROOT / "tests" / "tiny.yml").read_text(encoding="utf-8"))
    config["parameters"]["31_class_count"]["n_resamples"] = 21
    changed = tmp_path / "changed.yml"
    changed.write_text(yaml.safe_dump(config), encoding="utf-8")
    done = snakemake(small_run, "--dry-run", "--quiet", "rules", "host", "reason", config=changed)
    planned = set(jobs(done.stdout + done.stderr)) - {"all", "total"}
    assert planned == {"chapter_31_class_count", "chapter_99_status", "book"}


def test_every_page_of_the_contents_is_in_the_book_of_a_run(small_run):
    named = set(re.findall(r"file: (\S+)", (ROOT / "_toc.yml").read_text(encoding="utf-8")))
    made = {path.stem for path in (small_run / "_build" / "html").glob("*.html")}
    assert named - made == set()


@pytest.mark.parametrize(
    ("notebook", "parameter", "rule"),
    [
        ("10_labels", {"languages": ["de", "hi"]}, "labels"),
        ("11_pictograms", {"images_per_class": 3}, "pictograms"),
        ("12_train", {"steps": 5}, "train"),
        ("20_zeroshot", {"n_resamples": 21}, "zeroshot"),
        ("13_gated", {"steps": 5}, "gated"),
        ("14_pairs", {"images_per_sense": 4}, "pairs"),
        ("21_retrieval", {"n_resamples": 21}, "retrieval"),
        ("22_disambiguation", {"n_resamples": 21}, "disambiguation"),
        ("23_translators", {"n_resamples": 21}, "translation"),
        ("28_protocols", {"minimum_classes": 41}, "protocols"),
        ("70_model", {"n_resamples": 21}, "model_page"),
        ("71_languages", {"languages": ["de"]}, "language_pages"),
        ("29_subsets", {"n_subsets": 3}, "subsets"),
    ],
)
def test_a_changed_parameter_of_a_stage_reruns_the_stage(small_run, tmp_path, notebook, parameter, rule):
    config = yaml.safe_load((ROOT / "tests" / "tiny.yml").read_text(encoding="utf-8"))
    config["parameters"][notebook] = config["parameters"].get(notebook, {}) | parameter
    changed = tmp_path / "changed.yml"
    changed.write_text(yaml.safe_dump(config), encoding="utf-8")
    done = snakemake(small_run, "--dry-run", "--quiet", "rules", "host", "reason", config=changed)
    assert rule in jobs(done.stdout + done.stderr)


def test_files_of_captions_and_of_templates_are_inputs_so_that_a_change_reruns_what_reads_them(tmp_path, config):
    (tmp_path / "meta").mkdir()
    for name in ("meta/captions.json", "meta/photo.jpg", "own.csv", "more.parquet"):
        (tmp_path / name).write_text("", encoding="utf-8")
    names = ["xm3600", "imagenet-1k"]
    changes = {"datasets": names, "images": dict.fromkeys(names, "meta"), "annotations": {"xm3600": "meta"}}
    changes |= {"models": ["msiglip-b16"], "translators": [], "protocol_datasets": names, "chapters": ["00_summary"]}
    changes["parameters"] = {
        "20_zeroshot": {"fallback_prompts": ["own.csv", "label"]},
        "28_protocols": {"prompts": "own.csv"},
    }
    changes["parameters"]["28_protocols"]["other_prompts"] = ["more.parquet"]
    path = tmp_path / "run.yml"
    path.write_text(yaml.safe_dump(config | changes), encoding="utf-8")
    results = ["zeroshot/msiglip-b16_imagenet-1k", "retrieval/msiglip-b16_xm3600", "protocols/msiglip-b16"]
    done = snakemake(tmp_path, "--dry-run", "--", *(f"results/demo/{name}.parquet" for name in results), config=path)
    assert done.returncode == 0, done.stderr
    inputs = dict(re.findall(r"^rule (\w+):\n    input: (.*)$", done.stdout + done.stderr, re.MULTILINE))
    given = {"meta/captions.json", "meta/photo.jpg", "own.csv", "more.parquet"}
    found = {rule: given & set(inputs[rule].split(", ")) for rule in ("zeroshot", "retrieval", "protocols")}
    assert found == {
        "zeroshot": {"own.csv"},
        "retrieval": {"meta/captions.json"},
        "protocols": {"meta/captions.json", "own.csv", "more.parquet"},
    }


def test_released_texts_are_inputs_too_and_ambiguous_words_of_photographs_have_steps_of_their_own(tmp_path, config):
    for name in ("texts/en-fr/src.en", "texts/en-fr/correct.fr", "texts/en-fr/img.order", "texts/images/a.jpg"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("", encoding="utf-8")
    names = ["commute", "imagenet-1k-pairs"]
    changes = {"datasets": names, "images": dict.fromkeys(names, "texts/images"), "annotations": {"commute": "texts"}}
    changes |= {
        "models": ["msiglip-b16"],
        "translators": ["mine"],
        "checkpoints": {"mine": "texts"},
        "protocol_datasets": [],
    }
    changes |= {"chapters": ["00_summary", "38_disambiguation"], "parameters": {}}
    path = tmp_path / "run.yml"
    path.write_text(yaml.safe_dump(config | changes), encoding="utf-8")
    done = snakemake(tmp_path, "--dry-run", "--printshellcmds", config=path)
    assert done.returncode == 0, done.stderr
    told = done.stdout + done.stderr
    inputs = dict(re.findall(r"^rule (\w+):\n    input: (.*)$", told, re.MULTILINE))
    texts = {f"texts/en-fr/{name}" for name in ("src.en", "correct.fr", "img.order")}
    assert {name for name in inputs["commute"].split(", ") if name.startswith("texts/")} == texts
    commands = {
        line.split(" --parameters ")[0].split()[-1]: line for line in told.splitlines() if "workflow.warm" in line
    }
    folder = "results/demo/notebooks"
    assert '"images": "texts/images"' in commands[f"{folder}/14_pairs_imagenet-1k-pairs.ipynb"]
    assert '"annotations": "texts"' in commands[f"{folder}/15_commute_commute.ipynb"]
    for name in names:
        assert "--gpu 1" in commands[f"{folder}/22_disambiguation_msiglip-b16_{name}.ipynb"]
        assert '"checkpoint": "texts"' in commands[f"{folder}/23_translators_mine_{name}.ipynb"]
    assert '"translators": ["mine"]' in commands[f"{folder}/38_disambiguation.ipynb"]
    assert not {"gated", "train", "pictograms", "zeroshot", "retrieval"} & set(inputs)


def test_the_tiny_translators_are_asked_for_the_words_they_know_only(tmp_path, config):
    changes = {
        "datasets": ["pictogram-pairs", "commute"],
        "protocol_datasets": [],
        "parameters": {},
        "translators": ["picto-text"],
    }
    changes |= {"images": {"commute": "images"}, "annotations": {"commute": "texts"}, "chapters": ["00_summary"]}
    for name in ("images", "texts"):
        (tmp_path / name).mkdir()
    path = tmp_path / "run.yml"
    path.write_text(yaml.safe_dump(config | changes), encoding="utf-8")
    done = snakemake(tmp_path, "--dry-run", "--quiet", "rules", "host", "reason", config=path)
    planned = jobs(done.stdout + done.stderr)
    assert (planned["disambiguation"], planned["translation"], planned["commute"]) == (6, 1, 1)


def test_each_tiny_translator_has_its_gate_and_needs_no_gpu(tmp_path):
    targets = [f"results/demo/tokens/{name}_pictogram-pairs.parquet" for name in ("picto-gated-0.5", "picto-text")]
    done = snakemake(tmp_path, "--dry-run", "--printshellcmds", "--", *targets, config=ROOT / "config" / "demo.yml")
    assert done.returncode == 0, done.stderr
    lines = [line for line in (done.stdout + done.stderr).splitlines() if "babelatlas.workflow.warm" in line]
    gates = re.findall(r'/13_gated\.ipynb.*"gate": "([\w.]+)".*"model": "([\w.-]+)"', "\n".join(lines))
    assert sorted(gates) == [("0.5", "picto-gated-0.5"), ("text", "picto-text")]
    asked = [line for line in lines if "/23_translators.ipynb" in line]
    assert len(asked) == 2
    assert all("--gpu 0" in line for line in asked)
    (trained,) = [line for line in lines if "/12_train.ipynb" in line]
    assert '"senses": "results/demo/labels/pictogram-pairs.parquet"' in trained


def test_pages_that_a_notebook_wrote_are_staged_and_two_of_one_name_are_refused(tmp_path):
    from babelatlas.workflow.book import stage

    (tmp_path / "book").mkdir()
    (tmp_path / "pages").mkdir()
    for name in ("00_summary.ipynb", "pages/language-de.md", "book/fork.md", "_config.yml"):
        (tmp_path / name).write_text('{"cells": []}' if name.endswith(".ipynb") else "", encoding="utf-8")
    contents = [
        {"file": "71_languages", "sections": [{"glob": "language-*"}]},  # its page is not of this run
        {"file": "fork"},
    ]
    (tmp_path / "_toc.yml").write_text(yaml.safe_dump({"root": "index", "chapters": contents}), encoding="utf-8")
    folder = stage(tmp_path, tmp_path / "build", [tmp_path / "00_summary.ipynb", tmp_path / "pages"])
    assert {path.name for path in folder.iterdir()} == {
        "index.ipynb", "language-de.md", "fork.md", "_config.yml", "_toc.yml", "_originals"
    }  # fmt: skip
    kept = yaml.safe_load((folder / "_toc.yml").read_text(encoding="utf-8"))["chapters"]
    assert kept == [{"glob": "language-*"}, {"file": "fork"}]
    (tmp_path / "pages" / "fork.md").write_text("", encoding="utf-8")
    with pytest.raises(InputError, match="two pages 'fork'"):
        stage(tmp_path, tmp_path / "build", [tmp_path / "00_summary.ipynb", tmp_path / "pages"])


def test_the_contents_keep_only_pages_of_this_run():
    from babelatlas.workflow.book import contents

    chapters = [
        {"file": "30_accuracy"},
        {"file": "32_compositions"},
        {"file": "12_training", "sections": [{"glob": "12_train_*"}]},
        {"file": "evaluations", "sections": [{"glob": "20_zeroshot_*"}]},
        {"file": "31_class_count", "sections": [{"glob": "29_subsets_*"}]},
    ]
    toc = {"root": "index", "parts": [{"caption": "One", "chapters": chapters}, {"chapters": [{"file": "99_none"}]}]}
    staged = {"index", "30_accuracy", "12_train_a", "evaluations", "31_class_count", "20_zeroshot_a_b"}
    kept = [
        {"file": "30_accuracy"},
        {"glob": "12_train_*"},  # the page above them is not of this run
        {"file": "evaluations", "sections": [{"glob": "20_zeroshot_*"}]},
        {"file": "31_class_count"},
    ]
    assert contents(toc, staged) == {"root": "index", "parts": [{"caption": "One", "chapters": kept}]}


def test_a_chapter_that_is_not_valid_python_is_named_before_anything_runs(project, config):

    write_chapter(project / "notebooks" / "chapters" / "30_accuracy.ipynb", "f(")
    with pytest.raises(InputError, match=r"A cell of 30_accuracy.ipynb is not valid Python \(line 1"):
        workflow.check_config(config | {"chapters": ["30_accuracy"], "parameters": {}}, project)


def test_an_unknown_data_set_is_named_with_the_nearest(config):
    with pytest.raises(InputError, match=r"no data set 'pictogram': did you mean pictograms\?"):
        workflow.check_config(config | {"datasets": ["pictogram"]}, ROOT)


def test_what_the_chapters_import_needs_neither_torch_nor_open_clip():
    chapters = [path for path in ALL if path.stem[0] in "03456789" and path.stem[:2] != "09"]
    lines = []
    for path in chapters:
        cells = [cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
        nodes = [node for source in cells for node in ast.parse(source).body]
        lines += [ast.unparse(node) for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]
    assert len(chapters) > 30
    each = "import sys\nfor line in {}:\n    exec(line)\n    found = {{'torch', 'open_clip'}} & set(sys.modules)\n"
    code = each.format(list(dict.fromkeys(lines))) + "    assert not found, f'{line} imports {found}'\n"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.fixture
def own(tmp_path, config, monkeypatch):
    """A config with words, a class list, verified labels and data sets of the user's own."""
    monkeypatch.delenv("BABELATLAS_DATASETS", raising=False)
    (tmp_path / "birds.csv").write_text("wnid,name\nn01503061,bird\nn01514668,cock\n", encoding="utf-8")
    birds = {"task": "zero-shot", "images": "photos", "classes": str(tmp_path / "birds.csv")}
    walks = {"task": "retrieval", "images": "walks", "annotations": "walks.csv"}
    return config | {
        "datasets": ["pictograms", "my-birds", "my-walks"],
        "custom_datasets": {"my-birds": birds, "my-walks": walks},
        "words": ["words.csv"],
        "classes": {"fish": "fish.csv"},
        "verified_labels": {"imagenet-1k": "verified.csv", "fish": "fish-verified.csv"},
        "translators": [],
        "protocol_datasets": [],
        "chapters": ["00_summary", "30_accuracy"],
        "parameters": {},
    }


def test_words_classes_labels_and_images_of_ones_own_reach_the_stages(own, tmp_path):
    plan = workflow.check_config(own, ROOT)
    senses = json.loads(plan.given("09_senses"))
    assert senses["files"] == ["words.csv"]
    assert senses["classes"][-2:] == ["fish.csv", str(tmp_path / "birds.csv")]
    assert {"10_labels_fish", "10_labels_my-birds", "10_labels_imagenet-1k"} <= set(plan.stages())
    fish = json.loads(plan.given("10_labels", "fish"))
    assert (fish["classes"], fish["verified"]) == ("fish.csv", "fish-verified.csv")
    assert plan.own_labels("my-birds") == [str(tmp_path / "birds.csv")]
    birds = json.loads(plan.given("20_zeroshot", "picto-multi", "my-birds"))
    assert (birds["images"], birds["labels"]) == ("photos", "results/demo/labels/my-birds.parquet")
    walks = json.loads(plan.given("21_retrieval", "picto-multi", "my-walks"))
    assert (walks["images"], walks["annotations"]) == ("walks", "walks.csv")
    assert plan.captions("my-walks") == ["walks.csv"]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"custom_datasets": {"my-birds": {"task": "zeroshot"}}}, r"has the task 'zeroshot': did you mean zero-shot\?"),
        (
            {"custom_datasets": {"pictograms": {"task": "retrieval"}}},
            "'pictograms' .* is that of a data set of the study",
        ),
        ({"classes": {"pictograms": "a.csv"}}, "'pictograms', a list that the study has: give yours another name"),
        ({"verified_labels": {"fsh": "a.csv"}}, r"names the class list 'fsh': did you mean fish\?"),
        ({"words": "words.csv"}, "needs 'words' as list, got 'words.csv'"),
    ],
)
def test_what_is_wrong_with_ones_own_is_one_sentence(own, change, sentence):
    with pytest.raises(InputError, match=sentence):
        workflow.check_config(own | change, ROOT)


def test_adapters_of_a_real_model_are_one_job_for_each_training(config):
    wanted = {"languages": ["si", "xh"], "objectives": {"mse": [0, 1], "lit": [0]}, "recipe": {"epochs": 100}}
    name = "openclip-xlmr-b32+si.mse.1"
    models = [*config["models"], "openclip-xlmr-b32", name]
    given = {"models": models, "adaptations": {"openclip-xlmr-b32": wanted, "msiglip-b16": wanted}}
    plan = workflow.check_config(config | given, ROOT)

    assert len(plan.adaptations) == 6, "that of a model which is not evaluated is passed over"
    one = json.loads(plan.given("25_adapt", name))
    assert (one["model"], one["languages"], one["objectives"]) == ("openclip-xlmr-b32", ["si"], {"mse": [1]})
    assert one["recipe"] == {"epochs": 100}
    assert plan.weights(name) == [f"results/demo/adaptations/{name}.parquet"]
    assert plan.checkpoint(name) == f"results/demo/models/{name}"
    assert plan.gpus(name) == 1
    assert workflow.check_config(config, ROOT).adaptations.keys() == {"picto-multi", "picto-distilled"}


def test_the_adapters_that_the_full_config_has_in_comments_can_be_planned():
    text = (ROOT / "config/full.yml").read_text(encoding="utf-8")
    lines = text.split("# adaptations:\n")[1].split("\n\n")[0].splitlines()
    wanted = yaml.safe_load("\n".join(line.removeprefix("# ") for line in lines))
    plan = workflow.check_config(yaml.safe_load(text) | {"adaptations": wanted}, ROOT)

    assert len(plan.adaptations) == 5 * 3 + 5 * 4
    job = json.loads(plan.given("25_adapt", "mclip-xlmr-b32+si.lora-mse"))
    assert (job["objectives"], job["texts"]) == ({"lora-mse": [0]}, "data/captions/{lang}.csv")
    assert not {*job["recipe"]} - {field.name for field in dataclasses.fields(adaptation.Recipe)}


@pytest.mark.parametrize(
    ("base", "changes", "said"),
    [
        ("openclip-xlmr-b3", {}, "no model 'openclip-xlmr-b3'"),
        ("picto-multi", {"languages": ["qq"]}, "qq"),
        ("picto-multi", {"objectives": {"msr": [0]}}, r"the objective 'msr': did you mean mse\?"),
        ("picto-multi", {"objectives": {"lora-msr": [0]}}, "the objective 'lora-msr'"),
    ],
)
def test_an_adaptation_that_cannot_be_is_one_sentence(base, changes, said, config):
    wanted = {base: {"languages": ["de"], "objectives": {"mse": [0]}} | changes}
    with pytest.raises(InputError, match=said):
        workflow.check_config(config | {"adaptations": wanted}, ROOT)


def test_a_limit_goes_to_the_stages_of_evaluation_and_leaves_chapters_on_whole_tables_out(config):
    plan = workflow.check_config(config | {"limit": 3}, ROOT)
    stages = {"20_zeroshot", "21_retrieval", "22_disambiguation", "23_translators", "26_reasoning"}
    told = {job[0] for job in plan.jobs() if json.loads(plan.given(*job)).get("limit") == 3}
    assert told == stages | {"28_protocols"}
    assert {"30_accuracy", "35_leaderboard", "36_world", "70_model"} <= set(plan.left_out)
    assert {"00_summary", "10_words", "20_real_leaderboard"} <= set(plan.chapters)
    assert not set(plan.left_out) & set(plan.chapters)
    assert plan.inputs("20_real_leaderboard")["own"] == ""


def test_a_limit_of_one_stage_leaves_the_chapters_on_the_others(config):
    config["parameters"]["21_retrieval"] = {"limit": 2}
    plan = workflow.check_config(config, ROOT)
    assert "35_leaderboard" in plan.left_out
    assert "30_accuracy" in plan.chapters
    assert workflow.check_config(config | {"parameters": {}}, ROOT).left_out == []


def test_a_limit_of_zero_is_refused_in_the_config_and_in_a_notebook(config):
    with pytest.raises(InputError, match=r"The config's 'limit' is how many images of a class, .* got 0"):
        workflow.check_config(config | {"limit": 0}, ROOT)
    with pytest.raises(InputError, match=r"A limit is how many images of a class, .* got 0"):
        notebooks.check_parameters(found("20_zeroshot"), {"limit": 0})


def test_every_stage_that_evaluates_a_model_has_a_limit():
    named = {path.stem for path in ALL if "limit" in (known := notebooks.defaults(path)) and known["limit"] == ""}
    assert named == set(plans.LIMITED)


def test_tables_from_the_future_get_the_present_time_before_a_run(tmp_path, capsys):
    run, later = tmp_path / "results" / "tiny", time.time() + 1e6
    (run / "labels").mkdir(parents=True)
    for name, when in (("a.parquet", later), ("b.parquet", 1e9)):
        (run / "labels" / name).write_bytes(b"1")
        os.utime(run / "labels" / name, (when, when))
    workflow.prepare(run)
    assert "1 file(s)" in capsys.readouterr().err
    assert (run / "labels" / "a.parquet").stat().st_mtime <= time.time()
    assert (run / "labels" / "b.parquet").stat().st_mtime == 1e9
    assert (run / "logs").is_dir()
