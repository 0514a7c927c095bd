"""The plan of a run: which jobs there are, what they read, write and are told, and what
a change makes again.
"""

import os
import re
import shutil
from types import SimpleNamespace

import nbformat
import pytest
import yaml
from nbformat.v4 import new_code_cell, new_notebook

from atlas_study.workflow import config as configs
from atlas_study.workflow import notebooks
from atlas_study.workflow.stages import STAGES, depends
from babelatlas.base import languages
from babelatlas.base.errors import InputError
from babelatlas.datasets import registry as datasets
from conftest import ROOT, snakemake, tracked

QUIET = ("--dry-run", "--quiet", "rules", "host", "reason")


@pytest.fixture
def config():
    """The config of the demonstration run."""
    return configs.read(ROOT / "config" / "demo.yml")


def jobs(printed: str) -> dict[str, int]:
    """The table of jobs that a dry run prints: rule -> count."""
    return {
        name: int(count)
        for name, count in re.findall(r"^(\w+) +(\d+)$", printed, re.MULTILINE)
    }


def planned(folder, values: dict) -> dict[str, int]:
    """The jobs that a dry run of a config plans in a folder."""
    path = folder.with_name(f"{folder.name}.yml")
    path.write_text(yaml.safe_dump(values), encoding="utf-8")
    done = snakemake(folder, *QUIET, config=path)
    assert done.returncode == 0, done.stderr
    return jobs(done.stdout + done.stderr)


def told(plan, rule: str, one: str = "", dataset: str = "") -> dict:
    """The parameters of a job of a rule."""
    stage = next(stage for stage in plan.stages if rule in (stage.rule, stage.name))
    assert (one, dataset) in plan.stages[stage]
    return plan.parameters(stage, one, dataset)


def test_every_output_of_a_stage_is_declared_and_every_input_and_parameter_that_the_graph_sets(
    config,
):
    plan = configs.check_config(config, ROOT)
    for stage, of_stage in ((stage, plan.stages[stage]) for stage in STAGES):
        known = plan.declared(stage.name)
        if stage.name != "train":  # of which a folder is declared
            assert {*stage.outputs} <= {*known["outputs"]}, stage.name
        assert all(
            {*stage.parameters(plan, *job)}
            <= {*notebooks.defaults(plan.notebook(stage.name))}
            for job in of_stage
        )


def test_a_dry_run_plans_every_step_of_the_demonstration(tmp_path, config):
    found = planned(tmp_path, config)
    assert [
        found[name] for name in ("senses", "pictograms", "items", "scenes", "book")
    ] == [1] * 5
    assert [
        found[name]
        for name in ("zeroshot", "retrieval", "disambiguation", "reasoning", "train")
    ] == [3] * 5
    assert [
        found[name]
        for name in ("protocols", "label_sets", "subsets", "chapter_43_model")
    ] == [3] * 4
    assert (found["labels"], found["adapt"], found["zeroshot_stored"]) == (3, 2, 2)
    assert not {"translators", "statements"} & found.keys()
    chapters = {
        f"chapter_{path.stem}" for path in tracked("notebooks/chapters/*.ipynb")
    }
    assert chapters <= found.keys()


def test_bridges_take_turns_so_that_texts_are_encoded_once_and_real_models_run_on_shipped_vectors(
    config,
):
    plan = configs.check_config(config, ROOT)
    assert told(plan, "zeroshot_stored", "bridge-lite2", "imagenet-photos-100")[
        "images"
    ].endswith("imagenet-photos.npz")
    real = configs.read(ROOT / "config" / "real.yml")
    images = dict.fromkeys(real["datasets"], "somewhere")
    plan = configs.check_config(real | {"images": images}, ROOT)
    retrieval = next(stage for stage in plan.stages if stage.name == "retrieval")
    first, *others = plan.stages[retrieval]
    assert plan.inputs(retrieval, *first)["before"] == []
    assert plan.inputs(retrieval, *others[0])["before"] == [
        plan.outputs(retrieval, *first)["output"]
    ]
    # A model that holds a text's own class out cannot take captions.
    assert "bridge-lite2-folds" not in [model for model, _ in plan.stages[retrieval]]
    both = [stage for stage in plan.stages if stage.name in ("zeroshot", "retrieval")]
    jobs = [(stage, *job) for stage in both for job in plan.stages[stage]]
    assert {plan.common(*job)["cache"] for job in jobs} == {"results/real/cache/bridge"}


def test_where_the_packages_of_real_models_cannot_be_installed_the_run_leaves_them_out_and_says_so(
    config, monkeypatch, capsys
):
    monkeypatch.setattr(
        "atlas_study.workflow.plan.bridge.unable",
        lambda entry: f"No package for {entry.name}.",
    )
    plan = configs.check_config(config, ROOT)
    assert plan.stored == []
    assert (
        "No package for bridge-lite2. This run leaves it out."
        in capsys.readouterr().err
    )
    assert "20_photographs" in plan.chapters


def test_a_run_without_models_has_the_chapters_on_what_others_released():
    plan = configs.check_config(configs.read(ROOT / "tests" / "no_models.yml"), ROOT)
    assert {"00_summary", "11_leaderboard", "34_scorecard"} <= {*plan.chapters}
    assert not {"43_model", "10_languages"} & {*plan.chapters}


@pytest.fixture
def project(tmp_path):
    """A function that writes a chapter into a project with the study's stages, and
    returns its folder.
    """
    shutil.copytree(ROOT / "notebooks" / "stages", tmp_path / "notebooks" / "stages")

    def write(name: str, inputs: str, outputs: str = "") -> None:
        cells = [
            new_code_cell(text, metadata={"tags": [tag]})
            for text, tag in ((inputs, "inputs"), (outputs, "outputs"))
        ]
        (tmp_path / "notebooks" / "chapters").mkdir(exist_ok=True)
        nbformat.write(
            new_notebook(cells=cells),
            tmp_path / "notebooks" / "chapters" / f"{name}.ipynb",
        )
        return tmp_path

    write("00_summary", "")
    return write


def test_a_chapter_reads_the_kinds_and_tables_that_its_cell_of_inputs_lists(
    project, config
):
    project(
        "39_mine",
        'results = "results/demo"\nreads = ["zeroshot", "scores/all.parquet"]',
    )
    folder = project("38_all", "", 'output = "results/scratch/scores/all.parquet"')
    plan = configs.check_config(config, folder)
    assert set(plan.reads("39_mine")) == {
        "results/demo/scores/all.parquet",
        *plan.tables["zeroshot"],
    }
    plan = configs.check_config(config | {"run": "mine"}, folder)
    assert told(plan, "38_all")["output"] == "results/mine/scores/all.parquet"
    project("39_mine", 'reads = ["zeroshots"]')
    with pytest.raises(
        InputError, match=r"39_mine reads 'zeroshots': did you mean zeroshot\?"
    ):
        configs.check_config(config, folder)
    project("39_mine", 'results = "results/demo"')
    with pytest.raises(InputError, match="39_mine does not list what it reads"):
        configs.check_config(config, folder)


def test_a_single_input_that_nothing_makes_is_empty_and_what_was_merged_is_waited_for(
    project, config, monkeypatch
):
    folder = project(
        "39_mine",
        'own = "results/demo/scores/none.parquet"\nreads_if_made = ["merged",'
        ' "answers"]',
    )
    monkeypatch.chdir(folder)
    file = f"results/{config['run']}/merged/zeroshot_a_b_Ana.parquet"
    (folder / file).parent.mkdir(parents=True)
    (folder / file).touch()
    plan = configs.check_config(config, folder)
    assert told(plan, "39_mine")["own"] == ""
    assert set(plan.reads("39_mine")) == {file, *plan.tables["answers"]}


def test_a_limit_goes_to_the_stages_of_evaluation_and_its_run_has_a_folder_and_titles_of_its_own(
    config,
):
    plan = configs.check_config(config | {"limit": 3}, ROOT)
    jobs = {
        stage.name: plan.parameters(stage, *of_stage[0])
        for stage, of_stage in plan.stages.items()
        if of_stage
    }
    limited = {name for name, given in jobs.items() if given.get("limit") == 3}
    assert limited == {
        "zeroshot",
        "retrieval",
        "disambiguation",
        "reasoning",
        "protocols",
    }
    assert jobs["subsets"]["vectors"].startswith("results/demo-first-3/")
    assert all(rule.title.endswith("first 3 only") for rule in plan.rules())
    config["parameters"]["68_retrieval"] = {"limit": 2}
    with pytest.raises(
        InputError, match="'limit' of retrieval, which the graph sets itself"
    ):
        configs.check_config(config, ROOT)


def test_adapters_of_a_real_model_are_one_job_for_each_training(config):
    wanted = {
        "languages": ["si", "xh"],
        "objectives": {"mse": [0, 1], "lit": [0]},
        "recipe": {"epochs": 100},
    }
    name = "openclip-xlmr-b32+si.mse.1"
    changes = {"models": [*config["models"], "openclip-xlmr-b32", name]}
    changes |= {"adaptations": {"openclip-xlmr-b32": wanted, "msiglip-b16": wanted}}
    plan = configs.check_config(config | changes, ROOT)
    assert len(plan.adaptations) == 6, (
        "that of a model which is not evaluated is passed over"
    )
    one = told(plan, "adapt", name)
    assert (one["model"], one["languages"], one["objectives"]) == (
        "openclip-xlmr-b32",
        ["si"],
        {"mse": [1]},
    )
    assert one["recipe"] == {"epochs": 100}
    assert plan.weights(name) == [f"results/demo/adaptations/{name}.parquet"]
    assert plan.checkpoint(name) == f"results/demo/models/{name}"
    adapt = next(stage for stage in plan.stages if stage.name == "adapt")
    assert (plan.gpus(adapt, name), plan.gpus(adapt, "picto-multi")) == (1, 0)


def test_the_adapters_that_the_full_config_has_in_comments_can_be_planned():
    text = (ROOT / "config/full.yml").read_text(encoding="utf-8")
    lines = text.split("# adaptations:\n")[1].split("\n\n")[0].splitlines()
    wanted = yaml.safe_load("\n".join(line.removeprefix("# ") for line in lines))
    plan = configs.check_config(yaml.safe_load(text) | {"adaptations": wanted}, ROOT)
    assert len(plan.adaptations) == 5 * 3 + 5 * 3


def test_corrected_labels_reach_the_photographs_whose_classes_are_a_part_of_the_list(
    config,
):
    plan = configs.check_config(
        config | {"verified_labels": {"imagenet-1k": "verified.csv"}}, ROOT
    )
    assert "imagenet-photos-100" in plan.config.stored_vectors
    whole, part, drawings = (
        told(plan, "labels", name)
        for name in ("imagenet-1k", "imagenet-100", "pictograms")
    )
    assert (whole["verified"], whole.get("verified_of", "")) == ("verified.csv", "")
    assert (part["verified"], part["verified_of"]) == ("verified.csv", "imagenet-1k")
    assert (drawings["verified"], drawings.get("verified_of", "")) == ("", "")
    stage = next(stage for stage in STAGES if stage.name == "labels")
    assert plan.inputs(stage, "imagenet-100", "")["own"] == [
        "verified.csv"
    ]  # that they change reruns it


def test_words_classes_labels_and_images_of_ones_own_reach_the_stages(config, tmp_path):
    birds = {
        "task": "zero-shot",
        "images": "photos",
        "classes": str(tmp_path / "birds.csv"),
    }
    walks = {"task": "retrieval", "images": "walks", "annotations": "walks.csv"}
    own = {
        "datasets": ["pictograms", "my-birds", "my-walks"],
        "protocol_datasets": [],
        "words": ["words.csv"],
    }
    own |= {
        "classes": {"fish": "fish.csv"},
        "verified_labels": {"fish": "fish-verified.csv"},
    }
    plan = configs.check_config(
        config | own | {"custom_datasets": {"my-birds": birds, "my-walks": walks}}, ROOT
    )
    senses, fish = told(plan, "senses"), told(plan, "labels", "fish")
    assert (senses["files"], senses["classes"][-2:]) == (
        ["words.csv"],
        ["fish.csv", str(tmp_path / "birds.csv")],
    )
    assert (fish["classes"], fish["verified"]) == ("fish.csv", "fish-verified.csv")
    found = told(plan, "zeroshot", "picto-multi", "my-birds")
    assert (found["images"], found["labels"]) == (
        "photos",
        "results/demo/labels/my-birds.parquet",
    )
    found = told(plan, "retrieval", "picto-multi", "my-walks")
    assert (found["images"], found["annotations"], plan.captions("my-walks")) == (
        "walks",
        "walks.csv",
        ["walks.csv"],
    )


def test_a_users_files_are_told_by_their_content_so_that_a_change_reruns_their_jobs_and_no_others(
    config, tmp_path, monkeypatch
):
    monkeypatch.setattr("babelatlas.base.checksums.locate", tmp_path.joinpath)
    monkeypatch.setattr("babelatlas.base.tables.locate", tmp_path.joinpath)
    for name in ("clip/model.safetensors", "birds/wren/1.png", "mine.py", "labels.csv"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name, encoding="utf-8")
    birds = {"task": "zero-shot", "images": "birds", "label_table": "labels.csv"}
    own = {
        "my-clip": {"family": "open_clip", "image_size": 224, "checkpoint": "clip"},
        "my-code": "mine.py",
    }
    config |= {
        "models": ["my-clip", "my-code"],
        "datasets": ["birds"],
        "custom_datasets": {"birds": birds},
    }
    config |= {"custom_models": own, "protocol_datasets": [], "adaptations": {}}

    def sums() -> dict[str, str]:
        plan = configs.check_config(config, ROOT)
        stage = next(stage for stage in plan.stages if stage.name == "zeroshot")
        return {model: depends(plan, stage, model, "birds") for model in plan.models}

    def changed(before: dict[str, str]) -> set[str]:
        return {model for model, text in sums().items() if before[model] != text}

    before = sums()
    (tmp_path / "clip/model.safetensors").write_text("trained again", encoding="utf-8")
    os.utime(tmp_path / "clip/model.safetensors", (0, 0))  # older than any result
    assert changed(before) == {"my-clip"}
    before = sums()
    (tmp_path / "mine.py").write_text("other code", encoding="utf-8")
    assert changed(before) == {"my-code"}
    before = sums()
    own["my-clip"]["context_length"] = 64
    assert changed(before) == {"my-clip"}
    before = sums()
    (tmp_path / "birds/wren/2.png").touch()
    assert changed(before) == {"my-clip", "my-code"}
    before = sums()
    (tmp_path / "birds/wren/1.png").touch()
    assert changed(before) == set()


def test_an_entry_that_is_added_to_the_studys_models_reruns_no_stage(config):
    plan = configs.check_config(config, ROOT)
    rules = {rule.name: rule for rule in plan.rules()}
    lists = {
        "models.toml",
        "models_sources.csv",
        "training_languages.csv",
        "datasets.toml",
        "translators.toml",
    }
    reads = {
        name: {path.rpartition("/")[2] for path in rule.input(SimpleNamespace())}
        for name, rule in rules.items()
        if "{" not in rule.page
    }
    assert {name for name, files in reads.items() if lists & files} >= {
        "chapter_26_models"
    }
    assert not [
        name
        for name, files in reads.items()
        if lists & files and not name.startswith("chapter_")
    ]


def test_a_language_of_ones_own_has_a_name_and_a_code_that_no_other_has(config):
    klingon = {
        "qaa": {"name": "Klingon", "script": "Latn", "family": "Artificial Language"}
    }
    configs.check_config(config | {"custom_languages": klingon}, ROOT)
    assert (languages.name("qaa"), languages.canonical("QAA")) == ("Klingon", "qaa")
    with pytest.raises(
        InputError,
        match="The study has a language with the code 'de': give yours another one",
    ):
        configs.check_config(
            config | {"custom_languages": {"de": klingon["qaa"]}}, ROOT
        )
    with pytest.raises(
        InputError,
        match="'qaa' in the config's custom_languages has no key 'script': add it",
    ):
        configs.check_config(
            config | {"custom_languages": {"qaa": {"name": "Klingon"}}}, ROOT
        )
    configs.check_config(config, ROOT)
    with pytest.raises(InputError, match="no language with the code 'qaa'"):
        languages.name("qaa")


def test_image_text_models_judge_and_translate_and_scores_of_others_stand_for_a_translator(
    tmp_path, config
):
    folders = dict.fromkeys(("marvl", "nlvr2-train", "commute"), str(tmp_path))
    changes = {
        "models": ["msiglip-b16"],
        "translators": ["qwen2-vl-7b", "theirs"],
        "protocol_datasets": [],
    }
    changes |= {"datasets": ["marvl", "commute"], "images": folders}
    changes |= {"annotations": dict(folders), "adaptations": {}}
    changes |= {
        "external_scores": {"theirs": {"commute": {"fr": ["right.txt", "wrong.txt"]}}},
        "parameters": {},
    }
    plan = configs.check_config(config | changes, ROOT)
    by_rule = {
        stage.rule or stage.name: of_stage for stage, of_stage in plan.stages.items()
    }
    assert by_rule["statements"] == [("", "marvl"), ("", "nlvr2-train")]
    assert by_rule["item_files"] == [("", "commute")]
    assert told(plan, "reasoning", "msiglip-b16", "marvl")["method"] == "head"
    asked = told(plan, "reasoning", "qwen2-vl-7b", "marvl")
    assert (asked["method"], asked["training"]) == ("likelihood", "")
    theirs = told(plan, "translators", "theirs", "commute")
    assert (theirs["scores"], theirs["scores_lang"]) == (
        ["right.txt", "wrong.txt"],
        "fr",
    )
    stage = next(stage for stage in plan.stages if stage.name == "translators")
    assert (plan.gpus(stage, "theirs"), plan.gpus(stage, "qwen2-vl-7b")) == (0, 1)
    del folders["nlvr2-train"]
    with pytest.raises(InputError, match="'nlvr2-train' needs images"):
        configs.check_config(config | changes, ROOT)


def test_data_sets_that_lie_where_they_are_known_to_be_need_no_other_key(
    tmp_path, config, monkeypatch
):
    names = ["tuxpaint-stamps", "tuxpaint-nouns", "imagenet-photos"]
    changes = {
        "datasets": names,
        "models": ["msiglip-b16"],
        "protocol_datasets": [],
        "adaptations": {},
    }
    changes |= {"translators": [], "external_scores": {}, "parameters": {}}
    entries = [
        one.model_copy(update={"places": one.places[-1:]}) for one in datasets.DATASETS
    ]  # none of the system's
    monkeypatch.setattr(datasets, "DATASETS", entries)
    monkeypatch.setenv("BABELATLAS_MIRROR", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(
        InputError,
        match=(
            r"run `babelatlas fetch tuxpaint-stamps`, or .*; 'imagenet-photos' needs"
            r" images, too"
        ),
    ):
        configs.check_config(config | changes, ROOT)
    for name in ("tuxpaint-stamps", "imagenet-sample-images"):
        (tmp_path / name).mkdir()
    plan = configs.check_config(config | changes, ROOT)
    asked = told(plan, "zeroshot", "msiglip-b16", "tuxpaint-nouns")
    assert (asked["images"], asked["labels"]) == (
        str(tmp_path / "tuxpaint-stamps"),
        plan.at("labels/stamps"),
    )
    assert told(plan, "labels", "stamps")["classes"] == "stamps"
    assert "stamps" in told(plan, "senses")["classes"]


def test_files_of_captions_and_of_templates_are_inputs_so_that_a_change_reruns_what_reads_them(
    tmp_path, config
):
    (tmp_path / "meta").mkdir()
    for name in ("meta/captions.json", "meta/photo.jpg", "own.csv", "more.parquet"):
        (tmp_path / name).write_text("", encoding="utf-8")
    names = ["xm3600", "imagenet-1k"]
    changes = {
        "datasets": names,
        "images": dict.fromkeys(names, "meta"),
        "annotations": {"xm3600": "meta"},
    }
    changes |= {
        "models": ["msiglip-b16"],
        "protocol_datasets": names,
        "adaptations": {},
    }
    changes["parameters"] = {
        "67_zeroshot": {"prompts": "own.csv"},
        "76_protocols": {"other_prompts": ["more.parquet"]},
    }
    path = tmp_path / "run.yml"
    path.write_text(yaml.safe_dump(config | changes), encoding="utf-8")
    results = [
        "zeroshot/msiglip-b16_imagenet-1k",
        "retrieval/msiglip-b16_xm3600",
        "protocols/msiglip-b16",
    ]
    done = snakemake(
        tmp_path,
        "--dry-run",
        "--",
        *(f"results/demo/{name}.parquet" for name in results),
        config=path,
    )
    assert done.returncode == 0, done.stderr
    inputs = dict(
        re.findall(
            r"^rule (\w+):\n    input: (.*)$", done.stdout + done.stderr, re.MULTILINE
        )
    )
    given = {"meta/captions.json", "meta/photo.jpg", "own.csv", "more.parquet"}
    found = {
        rule: given & set(inputs[rule].split(", "))
        for rule in ("zeroshot", "retrieval", "protocols")
    }
    assert found == {
        "zeroshot": {"own.csv"},
        "retrieval": {"meta/captions.json"},
        "protocols": {"meta/captions.json", "more.parquet"},
    }


def test_nothing_is_left_to_do_after_a_run_and_a_changed_parameter_reruns_only_what_depends_on_it(
    small_run, tmp_path
):
    again = snakemake(small_run, "--dry-run")
    assert "Nothing to be done" in again.stdout + again.stderr
    for notebook, parameters, rules in (
        (
            "42_disambiguation",
            {"n_resamples": 21},
            {"chapter_42_disambiguation", "book"},
        ),
        ("77_subsets", {"n_subsets": 3}, {"subsets", "book"}),
        ("61_labels", {"languages": ["de", "hi"]}, {"labels", "zeroshot", "book"}),
    ):
        values = configs.read(ROOT / "tests" / "tiny.yml")
        values["parameters"][notebook] |= parameters
        path = tmp_path / "changed.yml"
        path.write_text(yaml.safe_dump(values), encoding="utf-8")
        done = snakemake(small_run, *QUIET, config=path)
        found = set(jobs(done.stdout + done.stderr)) - {"all", "total"}
        assert rules <= found, notebook
        assert not {"senses", "train"} & found or notebook == "61_labels"


def test_every_page_of_the_contents_is_in_the_book_of_a_run(small_run):
    named = set(
        re.findall(r"file: (\S+)", (ROOT / "_toc.yml").read_text(encoding="utf-8"))
    )
    made = {path.stem for path in (small_run / "_build" / "html").glob("*.html")}
    assert named - made == {
        "failed-steps"
    }  # which only the book of a run with such steps has
