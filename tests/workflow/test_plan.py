"""The plan of a run: which jobs there are, what they read, write and are told, and what
a change makes again.
"""

import os
import re
import shutil

import nbformat
import pytest
import yaml
from nbformat.v4 import new_code_cell, new_notebook
from snakemake.iocontainers import Wildcards

from atlas_study.workflow import config as configs
from atlas_study.workflow import notebooks
from atlas_study.workflow.graph import Graph
from babelatlas.base import languages
from babelatlas.base.errors import InputError
from babelatlas.datasets import registry as datasets
from conftest import ROOT, dry_run, read_graph, snakemake, tracked

QUIET = ("--quiet", "rules", "host", "reason")


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
    return jobs(dry_run(folder, *QUIET, config=path))


def test_every_output_of_a_stage_is_declared_by_its_notebook(demo_graph):
    plan = demo_graph.plan
    assert len(plan.rules) > 15
    for rule, outputs in plan.rules.items():
        known = plan.declared(plan.notebook_of(rule))
        if rule != "train":  # of which a folder is declared
            assert {*outputs} - {"page"} <= {*known["outputs"]}, rule


def test_what_the_graph_tells_a_notebook_is_declared_by_it(demo_graph):
    plan = demo_graph.plan
    for rule in plan.rules:
        known = notebooks.defaults(plan.notebook(plan.notebook_of(rule)))
        for job in plan.jobs[rule]:
            assert {*demo_graph.told(rule, job)} <= {*known}, rule


def test_a_graph_tells_of_its_own_run_after_another_was_read(config, demo_graph):
    other = read_graph(config | {"run": "mine"})
    job = {"model": "picto-en", "dataset": "pictograms"}
    for graph, run in ((demo_graph, "demo"), (other, "mine"), (demo_graph, "demo")):
        assert graph.told("curves", job)["vectors"].startswith(f"results/{run}/")
        vectors = f"results/{run}/embeddings/picto-en/pictograms.npz"
        assert graph.inputs("curves", job)["vectors"] == [vectors]


def test_a_dry_run_plans_every_step_of_the_demonstration(tmp_path, config):
    found = planned(tmp_path, config)
    assert [
        found[name] for name in ("senses", "pictograms", "items", "scenes", "book")
    ] == [1] * 5
    assert [
        found[name]
        for name in ("zeroshot", "retrieval", "disambiguation", "reasoning", "train")
    ] == [2] * 5
    assert [found[name] for name in ("label_sets", "curves", "chapter_43_model")] == [
        2
    ] * 3
    assert (found["labels"], found["adapt"], found["zeroshot_stored"]) == (3, 1, 1)
    assert (found["protocols"], found["picture_labels"]) == (1, 1)
    assert not {"translators", "statements"} & found.keys()
    chapters = {
        f"chapter_{path.stem}" for path in tracked("notebooks/chapters/*.ipynb")
    }
    assert chapters <= found.keys()


@pytest.mark.parametrize(
    ("chosen", "varied"),
    [
        ([], ["picto-en", "picto-multi"]),
        (["picto-en"], ["picto-en"]),
        (["picto-distilled", "picto-multi"], ["picto-multi"]),
    ],
)
def test_the_protocol_is_varied_with_the_models_that_a_config_names_or_with_all(
    config, chosen, varied
):
    plan = read_graph(config | {"protocol_models": chosen}).plan
    assert plan.jobs["protocols"] == [{"model": model} for model in varied]


def test_bridges_take_turns_so_that_texts_are_encoded_once_and_real_models_run_on_shipped_vectors(
    demo_graph,
):
    photographs = {"model": "bridge-lite2", "dataset": "imagenet-photos-100"}
    told = demo_graph.told("zeroshot_stored", photographs)
    assert told["images"].endswith("imagenet-photos.npz")
    real = configs.read(ROOT / "config" / "real.yml")
    images = dict.fromkeys(real["datasets"], "somewhere")
    graph = read_graph(real | {"images": images})
    for rule in ("retrieval", "disambiguation"):
        first, *others = graph.plan.jobs[rule]
        assert graph.inputs(rule, first)["before"] == []
        assert graph.inputs(rule, others[0])["before"] == [
            graph.plan.outputs(rule, first)["output"]
        ]
        # A model that holds a text's own class out cannot take captions or words.
        models = [job["model"] for job in graph.plan.jobs[rule]]
        assert "bridge-lite2-folds" not in models
    caches = {
        graph.told(rule, job)["cache"]
        for rule in ("zeroshot", "retrieval", "disambiguation")
        for job in graph.plan.jobs[rule]
    }
    assert caches == {"results/real/cache/bridge"}


def test_where_the_packages_of_real_models_cannot_be_installed_the_run_leaves_them_out_and_says_so(
    config, monkeypatch, capsys
):
    monkeypatch.setattr(
        "atlas_study.workflow.plan.bridge.unable",
        lambda entry: f"No package for {entry.name}.",
    )
    plan = read_graph(config).plan
    assert plan.stored() == []
    assert (
        "No package for bridge-lite2. This run leaves it out."
        in capsys.readouterr().err
    )
    assert "20_photographs" in plan.chapters


def test_a_run_without_models_has_the_chapters_on_what_others_released():
    plan = read_graph(configs.read(ROOT / "tests" / "no_models.yml")).plan
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


def plan_of(config: dict, folder, whole):
    """The plan of a run whose chapters are those of a folder, and whose stages those of
    a whole plan of the config.
    """
    plan = configs.check_config(config, folder)
    plan.jobs = {rule: whole.jobs[rule] for rule in whole.rules}
    plan.add_rules(whole.rules, lambda plan, gone: set())
    return plan


def test_a_chapter_reads_the_kinds_and_tables_that_its_cell_of_inputs_lists(
    project, config, demo_graph
):
    project(
        "39_mine",
        'results = "results/demo"\nreads = ["zeroshot", "scores/all.parquet"]',
    )
    folder = project("38_all", "", 'output = "results/scratch/scores/all.parquet"')
    plan = plan_of(config, folder, demo_graph.plan)
    assert set(plan.reads("39_mine")) == {
        "results/demo/scores/all.parquet",
        *plan.tables["zeroshot"],
    }
    mine = config | {"run": "mine"}
    plan = plan_of(mine, folder, read_graph(mine).plan)
    assert plan.written("38_all") == {"output": "results/mine/scores/all.parquet"}
    project("39_mine", 'reads = ["zeroshots"]')
    with pytest.raises(
        InputError, match=r"39_mine reads 'zeroshots': did you mean zeroshot\?"
    ):
        plan_of(config, folder, demo_graph.plan)
    project("39_mine", 'results = "results/demo"')
    with pytest.raises(InputError, match="39_mine does not list what it reads"):
        plan_of(config, folder, demo_graph.plan)


def test_a_single_input_that_nothing_makes_is_empty_and_what_was_merged_is_waited_for(
    project, config, demo_graph, monkeypatch
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
    plan = plan_of(config, folder, demo_graph.plan)
    assert plan.places("39_mine") == {"own": ""}
    assert set(plan.reads("39_mine")) == {file, *plan.tables["answers"]}


def test_photographs_that_may_be_shown_are_classified_where_the_run_evaluates_on_imagenet(
    config, demo_graph
):
    graph, job = demo_graph, {"model": "bridge-lite2"}
    assert graph.plan.jobs["picture_labels"] == [job]
    before = graph.inputs("picture_labels", job)["before"]
    assert before == ["results/demo/stored/bridge-lite2_imagenet-photos-100.parquet"]
    photographs = job | {"dataset": "imagenet-photos-100"}
    told = graph.told("zeroshot_stored", photographs)
    assert told["cache"] == "results/demo/cache/bridge"
    assert graph.told("picture_labels", job)["cache"] == told["cache"]
    without = read_graph(config | {"stored_vectors": {}})
    assert without.plan.jobs["picture_labels"] == []
    drawings = {"stored_vectors": {}, "models": ["bridge-lite2"]}
    assert read_graph(config | drawings).plan.jobs["picture_labels"] == []
    assert "00_summary" in without.plan.chapters


def test_a_limit_goes_to_the_stages_of_evaluation_and_its_run_has_a_folder_and_titles_of_its_own(
    config,
):
    graph = read_graph(config | {"limit": 3})
    jobs = {
        rule: graph.told(rule, of_rule[0])
        for rule, of_rule in graph.plan.jobs.items()
        if of_rule and rule in graph.plan.rules
    }
    limited = {name for name, given in jobs.items() if given.get("limit") == 3}
    assert limited == {
        "zeroshot",
        "zeroshot_stored",
        "retrieval",
        "disambiguation",
        "reasoning",
        "protocols",
    }
    assert jobs["curves"]["vectors"].startswith("results/demo-first-3/")
    assert graph.told("chapter_00_summary", {})["trial_limit"] == 3
    titles = [graph.rules[rule].params.title({}) for rule in graph.plan.rules]
    assert all(title.endswith("first 3 only") for title in titles)
    config["parameters"]["68_retrieval"] = {"limit": 2}
    with pytest.raises(
        InputError, match="'limit' of 68_retrieval, which the graph sets itself"
    ):
        read_graph(config)


def test_adapters_of_a_real_model_are_one_job_for_each_training(config):
    wanted = {
        "languages": ["si", "xh"],
        "objectives": {"mse": [0, 1], "lit": [0]},
        "n_texts": 1000,
        "recipe": {"epochs": 100},
    }
    name = "openclip-xlmr-b32+si.mse.1"
    changes = {"models": [*config["models"], "openclip-xlmr-b32", name]}
    changes |= {"adaptations": {"openclip-xlmr-b32": wanted, "msiglip-b16": wanted}}
    graph = read_graph(config | changes)
    plan = graph.plan
    assert len(plan.adaptations) == 6, (
        "that of a model which is not evaluated is passed over"
    )
    one = graph.told("adapt", {"model": name})
    assert (one["model"], one["languages"], one["objectives"]) == (
        "openclip-xlmr-b32",
        ["si"],
        {"mse": [1]},
    )
    assert one["recipe"] == {"epochs": 100}
    assert one["n_texts"] == 1000
    assert plan.weights(name) == [f"results/demo/adaptations/{name}.parquet"]
    assert plan.checkpoint(name) == f"results/demo/models/{name}"
    assert (plan.gpus(name), plan.gpus("picto-multi")) == (1, 0)


def test_adapters_on_wikimatrix_depend_on_the_file_of_their_language(config, tmp_path):
    for pair in ("en-si", "de-en"):
        (tmp_path / f"WikiMatrix.{pair}.tsv.gz").touch()
    wanted = {"languages": ["si"], "objectives": {"mse": [0]}}
    wanted |= {"texts": str(tmp_path), "text_source": "wikimatrix"}
    models = [*config["models"], "openclip-xlmr-b32"]
    changes = {"models": models, "adaptations": {"openclip-xlmr-b32": wanted}}
    graph = read_graph(config | changes)

    name = "openclip-xlmr-b32+si.mse-wikimatrix"
    assert list(graph.plan.adaptations) == [name]
    told = graph.told("adapt", {"model": name})
    assert (told["text_source"], told["texts"]) == ("wikimatrix", str(tmp_path))
    depends = graph.plan.depends("73_adapt", {"model": name})
    assert "WikiMatrix.en-si" in depends
    assert "WikiMatrix.de-en" not in depends


def test_a_file_of_wikimatrix_that_is_missing_is_named_and_ends_no_dry_run(
    config, tmp_path, capsys
):
    (tmp_path / "WikiMatrix.de-en.tsv.gz").touch()
    wanted = {"languages": ["de", "si"], "objectives": {"mse": [0]}}
    wanted |= {"texts": str(tmp_path), "text_source": "wikimatrix"}
    models = [*config["models"], "openclip-xlmr-b32"]
    changed = config | {
        "models": models,
        "adaptations": {"openclip-xlmr-b32": wanted},
    }
    plan = read_graph(changed).plan
    assert plan.depends("73_adapt", {"model": "openclip-xlmr-b32+si.mse-wikimatrix"})
    configs.tell_absent(changed)
    warning = capsys.readouterr().err
    missing = f"adaptations should be at {tmp_path}/WikiMatrix.en-si.tsv.gz"
    assert missing in warning
    assert "WikiMatrix.en-de" not in warning


def test_the_adapters_that_the_full_config_has_in_comments_can_be_planned():
    text = (ROOT / "config/full.yml").read_text(encoding="utf-8")
    lines = text.split("# adaptations:\n")[1].split("\n\n")[0].splitlines()
    wanted = yaml.safe_load("\n".join(line.removeprefix("# ") for line in lines))
    plan = configs.check_config(yaml.safe_load(text) | {"adaptations": wanted}, ROOT)
    assert len(plan.adaptations) == 5 * 3 + 5 * 3


def test_corrected_labels_reach_the_photographs_whose_classes_are_a_part_of_the_list(
    config,
):
    graph = read_graph(config | {"verified_labels": {"imagenet-1k": "verified.csv"}})
    assert "imagenet-photos-100" in graph.plan.config.stored_vectors
    whole, part, drawings = (
        graph.told("labels", {"classes": name})
        for name in ("imagenet-1k", "imagenet-100", "pictograms")
    )
    assert (whole["verified"], whole.get("verified_of", "")) == ("verified.csv", "")
    assert (part["verified"], part["verified_of"]) == ("verified.csv", "imagenet-1k")
    assert (drawings["verified"], drawings.get("verified_of", "")) == ("", "")
    # That they change reruns it, once they are there.
    assert graph.plan.verified("imagenet-100") == "verified.csv"


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
    graph = read_graph(
        config | own | {"custom_datasets": {"my-birds": birds, "my-walks": walks}}
    )
    senses, fish = graph.told("senses", {}), graph.told("labels", {"classes": "fish"})
    assert (senses["files"], senses["classes"][-2:]) == (
        ["words.csv"],
        ["fish.csv", str(tmp_path / "birds.csv")],
    )
    assert (fish["classes"], fish["verified"]) == ("fish.csv", "fish-verified.csv")
    found = graph.told("zeroshot", {"model": "picto-multi", "dataset": "my-birds"})
    assert (found["images"], found["labels"]) == (
        "photos",
        "results/demo/labels/my-birds.parquet",
    )
    walks = {"model": "picto-multi", "dataset": "my-walks"}
    found, captions = graph.told("retrieval", walks), graph.plan.captions("my-walks")
    assert (found["images"], found["annotations"], captions) == (
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
        return {
            model: plan.depends("67_zeroshot", {"model": model, "dataset": "birds"})
            for model in plan.models
        }

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


def test_a_file_that_a_parameter_names_reruns_what_it_is_given_to(config, tmp_path):
    own = tmp_path / "mine.csv"
    own.write_text("lang,value\n", encoding="utf-8")
    config["parameters"] = {"11_leaderboard": {"own": str(own)}}
    sums = configs.check_config(config, ROOT).given_files("11_leaderboard")
    own.write_text("lang,value\nde,0.5\n", encoding="utf-8")
    again = configs.check_config(config, ROOT).given_files("11_leaderboard")
    assert list(sums) == list(again) == [str(own)]
    assert sums != again


def test_a_changed_parameter_changes_what_snakemake_reruns_by(config):
    def told(changes: dict) -> dict[str, str]:
        values = config | {"parameters": config["parameters"] | changes}
        rules = read_graph(values).rules
        jobs = {
            "chapter_42_disambiguation": {},
            "curves": {"model": "picto-en", "dataset": "pictograms"},
        }
        found = {}
        for name, job in jobs.items():
            for key, value in rules[name].params.items():
                # Params of inputs and outputs are passed over.
                if callable(value) and not rules[name]._is_deriving_function(value):
                    found[f"{name} {key}"] = value(Wildcards(fromdict=job))
        return found

    before = told({})
    for notebook, parameters, rule in (
        ("42_disambiguation", {"n_resamples": 21}, "chapter_42_disambiguation"),
        ("77_subsets", {"n_subsets": 3}, "curves"),
    ):
        after = told({notebook: parameters})
        changed = {name.split()[0] for name in before if before[name] != after[name]}
        assert changed == {rule}


def test_a_page_is_rendered_anew_where_its_code_or_style_has_changed(demo_graph):
    rules = demo_graph.rules
    for name in ("book", "page"):
        read = [str(path) for path in rules[name].input]
        assert any(path.endswith("workflow/book.py") for path in read)
        assert any(path.endswith("pages/page_html.py") for path in read)
        assert any(path.endswith("references.bib") for path in read)


def test_an_entry_that_is_added_to_the_studys_models_reruns_no_stage(demo_graph):
    graph = demo_graph
    lists = {
        "models.toml",
        "models_sources.csv",
        "training_languages.csv",
        "datasets.toml",
        "translators.toml",
        "captioners.toml",
    }
    reads = {
        rule: {path.rpartition("/")[2] for path in graph.inputs(rule, of_rule[0])[""]}
        for rule in graph.rules
        if (of_rule := graph.plan.jobs.get(rule.removeprefix("chapter_")))
    }
    readers = {rule for rule, files in reads.items() if lists & files}
    assert "chapter_26_models" in readers
    assert not readers & {*graph.plan.rules}


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
    (tmp_path / "picture.jpg").touch()
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
    graph = read_graph(config | changes)
    plan = graph.plan
    assert plan.jobs["statements"] == [{"dataset": "marvl"}, {"dataset": "nlvr2-train"}]
    assert plan.jobs["item_files"] == [{"dataset": "commute"}]
    judged = graph.told("reasoning", {"model": "msiglip-b16", "dataset": "marvl"})
    assert judged["method"] == "head"
    asked = graph.told("reasoning", {"model": "qwen2-vl-7b", "dataset": "marvl"})
    assert (asked["method"], asked["training"]) == ("likelihood", "")
    theirs = graph.told("translators", {"model": "theirs", "dataset": "commute"})
    assert (theirs["scores"], theirs["scores_lang"]) == (
        ["right.txt", "wrong.txt"],
        "fr",
    )
    assert (plan.gpus("theirs"), plan.gpus("qwen2-vl-7b")) == (0, 1)
    three = {"fr": [f"{side}{run}.txt" for run in "012" for side in ("right", "wrong")]}
    changes["external_scores"]["theirs"]["commute"] = three
    theirs = read_graph(config | changes).told(
        "translators", {"model": "theirs", "dataset": "commute"}
    )
    assert (len(theirs["scores"]), theirs["scores_lang"]) == (6, "fr fr fr")
    del folders["nlvr2-train"]
    with pytest.raises(InputError, match="'nlvr2-train' needs images"):
        configs.check_config(config | changes, ROOT)


def test_a_translator_is_trained_before_it_is_scored_with_the_model_that_reads_its_images():
    graph = read_graph(configs.read(ROOT / "config" / "fusion.yml"))
    plan = graph.plan
    assert plan.trained == ["picto-en"]
    assert len(plan.jobs["gated_fusion"]) == 5
    assert plan.asked() == []
    job = {"model": "picto-gated-0.25"}
    training = graph.told("gated_fusion", job)
    assert (training["gate"], training["seeds"]) == (0.25, [0, 1])
    assert training["image_checkpoint"] == plan.at("models/picto-en")
    scoring = job | {"dataset": "pictogram-pairs"}
    told = graph.told("translators", scoring)
    assert told["checkpoint"] == plan.at("models/picto-gated-0.25")
    assert plan.weights("picto-gated-0.25") == [
        plan.at("gated_fusion/picto-gated-0.25.parquet")
    ]
    assert plan.gpus("picto-gated-0.25") == plan.gpus("picto-text") == 0


def test_own_statements_and_translations_are_read_and_judged(tmp_path, config):
    for name in ("own.csv", "english.csv", "train.json"):
        (tmp_path / name).write_text("x")
    described = {
        "task": "reasoning",
        "images": str(tmp_path),
        "annotations": str(tmp_path / "own.csv"),
    }
    changes = {
        "models": ["msiglip-b16"],
        "datasets": ["ours"],
        "custom_datasets": {"ours": described},
        "statement_translations": {"ours": str(tmp_path / "english.csv")},
        "images": {"nlvr2-train": str(tmp_path)},
        "annotations": {"nlvr2-train": str(tmp_path / "train.json")},
    }
    empty = {"protocol_datasets": [], "adaptations": {}, "parameters": {}}
    graph = read_graph(config | empty | changes)
    jobs = graph.plan.jobs
    assert jobs["statements"] == [{"dataset": "ours"}, {"dataset": "nlvr2-train"}]
    assert jobs["reasoning"] == [{"model": "msiglip-b16", "dataset": "ours"}]
    told = graph.told("statements", {"dataset": "ours"})
    assert told["translations"] == str(tmp_path / "english.csv")
    assert told["annotations"] == str(tmp_path / "own.csv")
    of_training = graph.told("statements", {"dataset": "nlvr2-train"})
    assert of_training["translations"] == ""
    assert "46_statements" in graph.plan.chapters
    assert jobs["image_features"] == []
    changes["image_features"] = ["ours", "nlvr2-train"]
    graph = read_graph(config | empty | changes)
    assert graph.plan.jobs["image_features"] == [{"model": "msiglip-b16"}]
    shown = graph.told("image_features", {"model": "msiglip-b16"})["images"]
    assert set(shown) == {"ours", "nlvr2-train"}
    assert shown["ours"].endswith("/pairs/ours.parquet")


def test_captioners_describe_the_images_of_each_data_set_for_retrieval(
    config, tmp_path
):
    table = tmp_path / "captions.csv"
    (tmp_path / "config.json").touch()
    changes = {
        "captioners": ["blip-base", "mine", "theirs"],
        "checkpoints": {"mine": str(tmp_path), "theirs": str(table)},
    }
    graph = read_graph(config | changes)
    plan = graph.plan
    names = [job["model"] for job in plan.jobs["captions"]]
    assert names == ["blip-base", "mine", "theirs"]
    job = {"model": "mine", "dataset": "pictogram-captions"}
    told = graph.told("captions", job)
    assert told["checkpoint"] == str(tmp_path)
    assert told["annotations"].endswith("captions/pictogram-captions.parquet")
    assert [plan.gpus(name) for name in names] == [1, 1, 0]
    assert "44_own_captions" in plan.chapters
    made = plan.tables["generated"] + plan.tables["caption_scores"]
    assert {*made} <= {*plan.reads("44_own_captions")}
    with pytest.raises(InputError, match="no captioner 'mine'"):
        configs.check_config(config | {"captioners": ["mine"]}, ROOT)
    without = [name for name in config["datasets"] if name != "pictogram-captions"]
    only = {"datasets": without, "protocol_datasets": []} | changes
    with pytest.raises(InputError, match="'captioners' describe the images"):
        configs.check_config(config | only, ROOT)


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
        (tmp_path / name / "picture.png").touch()
    graph = read_graph(config | changes)
    nouns = {"model": "msiglip-b16", "dataset": "tuxpaint-nouns"}
    asked = graph.told("zeroshot", nouns)
    assert (asked["images"], asked["labels"]) == (
        str(tmp_path / "tuxpaint-stamps"),
        graph.plan.at("labels/stamps.parquet"),
    )
    assert graph.told("labels", {"classes": "stamps"})["classes"] == "stamps"
    assert "stamps" in graph.told("senses", {})["classes"]


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
        "protocol_models": [],
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
    wanted = [f"results/demo/{name}.parquet" for name in results]
    printed = dry_run(tmp_path, "--", *wanted, config=path)
    inputs = dict(re.findall(r"^rule (\w+):\n    input: (.*)$", printed, re.MULTILINE))
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
        ("77_subsets", {"n_subsets": 3}, {"curves", "book"}),
        ("61_labels", {"languages": ["de", "hi"]}, {"labels", "zeroshot", "book"}),
    ):
        values = configs.read(ROOT / "tests" / "tiny.yml")
        values["parameters"][notebook] |= parameters
        path = tmp_path / "changed.yml"
        path.write_text(yaml.safe_dump(values), encoding="utf-8")
        done = snakemake(small_run, "--dry-run", *QUIET, config=path)
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


@pytest.mark.parametrize(
    ("file", "right", "wrong", "sentence"),
    [
        (
            "rules/evaluation.smk",
            "        pairs=at(",
            "        pears=at(",
            "The rule reasoning names 'pears', which 74_reasoning.ipynb does not declare:"
            " did you mean pairs?",
        ),
        (
            "rules/validation.smk",
            'told("77_subsets", labels=',
            'told("77_subsets", lables=',
            "A rule tells 77_subsets 'lables', which it does not declare:"
            " did you mean labels?",
        ),
        (
            "rules/evaluation.smk",
            'study.pairs("retrieval")',
            'study.pairs("retreival")',
            "There is no task 'retreival': did you mean retrieval?",
        ),
        (
            "rules/evaluation.smk",
            'study.jobs["reasoning"] = study.judgements()\n',
            "",
            "Nothing says the jobs of the rule reasoning: add a line above it",
        ),
        (
            "rules/evaluation.smk",
            'code("68_retrieval")',
            'code("68_retreival")',
            "There is no notebook '68_retreival'",
        ),
        (
            "notebooks/chapters/28_baselines.ipynb",
            "ba.style()",
            "ba.stile()",
            "The front desk, babelatlas, has no 'stile': did you mean style?",
        ),
    ],
)
def test_a_mistake_in_a_rule_or_notebook_is_told_before_anything_runs(
    tmp_path, file, right, wrong, sentence
):
    for name in ("notebooks", "config", "rules"):
        shutil.copytree(ROOT / name, tmp_path / name)
    for name in ("Snakefile", "_toc.yml"):
        shutil.copyfile(ROOT / name, tmp_path / name)
    text = (tmp_path / file).read_text(encoding="utf-8")
    assert right in text
    (tmp_path / file).write_text(text.replace(right, wrong), encoding="utf-8")
    with pytest.raises(InputError) as error:
        Graph("config/demo.yml", tmp_path)
    assert sentence in str(error.value)
    assert "\n" not in str(error.value)


def test_the_first_page_of_a_first_run_waits_for_no_table_of_it(config, demo_graph):
    plan = demo_graph.plan
    first = plan.first_page()
    assert first in plan.chapters
    assert not plan.reads(first)
    waiting = config | {"chapters": ["00_summary"]}
    assert not read_graph(waiting).plan.first_page()
