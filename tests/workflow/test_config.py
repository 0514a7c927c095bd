"""A config is a typed model: what is misspelt, missing or of no effect stops a run in
one sentence, before any job.
"""

import json
import re
from pathlib import Path

import pytest
import yaml

from atlas_study.workflow import config as configs
from atlas_study.workflow import notebooks
from babelatlas.base import published
from babelatlas.base.errors import InputError
from babelatlas.evaluation import protocol
from babelatlas.lexicon import labels, senses
from babelatlas.models import registry
from conftest import ROOT, dry_run, read_graph, snakemake

CONFIGS = [f"config/{name}.yml" for name in ("demo", "full", "paper")]
CONFIGS += [f"tests/{name}.yml" for name in ("tiny", "one_language", "no_models")]
ACCURACY = "41_this_run"
MY_BIRDS = {"task": "zero-shot", "images": "birds", "label_table": "birds.csv"}


def gated(**changes) -> dict:
    """The keys of a config that trains a translator."""
    wanted = {"gate": "learned", "trained_on": "pictogram-pairs"}
    wanted |= {"image_model": "picto-en"} | changes
    return {"translators": ["mine"], "gated_fusion": {"mine": wanted}}


def check(values: dict):
    return configs.check_config(values, ROOT)


@pytest.fixture
def config():
    """The config of the demonstration run."""
    return configs.read(ROOT / "config" / "demo.yml")


@pytest.mark.parametrize("name", CONFIGS)
def test_the_configs_that_ship_give_every_notebook_what_it_may_have(name):
    graph = read_graph(configs.read(ROOT / name))
    for name, job in graph.plan.all_jobs():
        is_stage = name in graph.plan.rules
        given = graph.told(name if is_stage else f"chapter_{name}", job)
        # The folder of the run, which is made when it begins.
        given.pop("results", None)
        notebook = graph.plan.notebook_of(name) if is_stage else name
        notebooks.check_parameters(graph.plan.notebook(notebook), given)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"modelz": []}, r"a key 'modelz' that nothing reads: did you mean models\?"),
        ({"seed": True}, "has seed = True"),
        ({"run": "../demo"}, r"has run = '\.\./demo'"),
        ({"models": ["picto-en", "picto-en"]}, "'picto-en' is listed twice"),
        ({"models": ["picto-enn"]}, r"no model 'picto-enn': did you mean picto-en"),
        (
            {"models": ["jina-clip-v2"]},
            "runs code from the repository jinaai/jina-clip-v2",
        ),
        (
            {"datasets": ["pictogram"]},
            r"no data set 'pictogram': did you mean pictograms\?",
        ),
        (
            {"datasets": ["imagenet-1k"], "protocol_datasets": []},
            "'imagenet-1k' needs images",
        ),
        ({"images": {"xm360": "/data"}}, r"no data set 'xm360': did you mean xm3600\?"),
        ({"images": {"xm3600": 7}}, "images has xm3600 = 7"),
        ({"images": {"xm3600": "a{b}"}}, "has xm3600 = 'a{b}'"),
        (
            {"protocol_datasets": ["pictogram"]},
            r"'protocol_datasets' names 'pictogram'.*did you mean pictograms\?",
        ),
        (
            {"protocol_datasets": ["pictogram-pairs"]},
            "not among its data sets for zero-shot or retrieval",
        ),
        (
            {"custom_models": {"mine": "mine.py"}},
            "'custom_models' names 'mine', which is not among its models",
        ),
        ({"custom_models": {"picto-en": "mine.py"}}, "'picto-en'.*known"),
        ({"custom_models": {"mine": "mine.txt"}}, r"has mine = 'mine\.txt'"),
        (
            {"checkpoints": {"msiglip-b61": "/data"}},
            r"no model 'msiglip-b61': did you mean msiglip-b16",
        ),
        ({"translators": ["paligemma-3b-mix-44"]}, "did you mean paligemma-3b-mix-448"),
        (
            {"external_scores": {"mine": {"commute": {"fr": ["a", "b", "c"]}}}},
            "expected pairs of files, correct and incorrect, one for each training",
        ),
        (
            {"external_scores": {"mine": {"commute": "a.csv"}}},
            "'external_scores' names 'mine', which is not among",
        ),
        (
            gated(gate=1.5),
            r"gate = 1\.5: the gate is 1\.5: expected 'learned', 'none', or a number",
        ),
        (gated(image_model=""), "gate 'learned' and no image_model"),
        (gated(image_model="openai-b23"), "no model 'openai-b23': did you mean"),
        (gated(recipe={"step": 9}), r"a key 'step'.*did you mean steps"),
        (gated(seeds=[1, 1]), "1 is listed twice"),
        (gated(trained_on="multi30k"), "needs the images of multi30k"),
        (gated() | {"translators": []}, "'gated_fusion' names 'mine'"),
        (
            {"remote_code": ["jinaai/jina-clip"]},
            "'remote_code' names 'jinaai/jina-clip'",
        ),
        ({"classes": {"pictograms": "a.csv"}}, "'pictograms', a list of the study"),
        (
            {"verified_labels": {"pictogram": "a.csv"}},
            r"'verified_labels' names 'pictogram'.*pictograms\?",
        ),
        (
            {"statement_translations": {"scene-pairs": "a.csv"}},
            "'statement_translations' names 'scene-pairs', which is not among its data"
            " sets of statements",
        ),
        (
            {"image_features": ["pictogram-captions"]},
            "'image_features' names 'pictogram-captions', which is not among its data",
        ),
        ({"custom_datasets": {"mine": {"task": "zeroshot"}}}, "mine"),
        (
            {"custom_datasets": {"my": MY_BIRDS}, "images": {"my": "b"}},
            "annotations name 'my'.* custom_datasets alone",
        ),
        (
            {"custom_datasets": {"my": MY_BIRDS}},
            "'custom_datasets' names 'my', which is not among its data sets",
        ),
        (
            {"custom_datasets": {"my": MY_BIRDS | {"prompts": "lable"}}},
            "'my'.* has prompts = 'lable'",
        ),
        (
            {"only": {"picto-en": ["pictogarms"]}},
            "names 'pictogarms'.*did you mean pictograms",
        ),
        (
            {"only": {"bridge-lite2": ["pictograms"]}},
            "'only' names 'bridge-lite2', which is not among its models",
        ),
        (
            {"stored_vectors": {"imagenet-1k": ["bridge-lite2"]}},
            "not among its data sets whose vectors ship",
        ),
        (
            {"datasets": ["imagenet-photos-100"]},
            "'imagenet-photos-100' under 'datasets' and under 'stored_vectors'",
        ),
        (
            {"chapters": ["00_summry"]},
            r"names the chapter '00_summry': did you mean 00_summary\?",
        ),
        ({"chapters": [ACCURACY]}, "no title page"),
        (
            {"chapters": ["00_summary", ACCURACY], "models": []},
            f"chapter {ACCURACY} reads .* does not make",
        ),
        (
            {"chapters": ["00_summary", "43_model"]},
            r"43_model reads scores/\w+\.parquet, which no chapter",
        ),
        (
            {
                "adaptations": {
                    "picto-en": {"languages": ["qq"], "objectives": {"mse": [0]}}
                }
            },
            "qq",
        ),
        (
            {
                "adaptations": {
                    "picto-en": {"languages": ["de"], "objectives": {"msr": [0]}}
                }
            },
            "picto-en.*'msr'",
        ),
        (
            {
                "adaptations": {
                    "picto-en": {
                        "languages": ["de", "sw"],
                        "objectives": {},
                        "texts": "a",
                    }
                }
            },
            "put {lang} into",
        ),
        (
            {
                "adaptations": {
                    "picto-en": {
                        "languages": ["de", "sw"],
                        "objectives": {"mse": [0]},
                        "text_source": "wikimatrix",
                    }
                }
            },
            "name its folder as 'texts'",
        ),
        (
            {"custom_languages": {"qx": {"name": "X", "script": "Xxxx"}}},
            "no script 'Xxxx': take ISO 15924",
        ),
        (
            {"custom_languages": {"deu": {"name": "X", "script": "Latn"}}},
            "has a language with the code 'deu'",
        ),
        (
            {"models": ["openclip-xlmr-b32+si.mse"]},
            "an adapted one that nothing of this config trains",
        ),
        (
            {"parameters": {"67_zeroshot": {"n_resample": 3}}},
            r"67_zeroshot has a key 'n_resample'.*n_resamples\?",
        ),
        (
            {"parameters": {"67_zeroshot": {"missing": "many"}}},
            "67_zeroshot has missing = 'many'",
        ),
        (
            {"parameters": {"67_zeroshot": {"labels": "own.parquet"}}},
            "'labels' of 67_zeroshot, which the graph sets",
        ),
        ({"parameters": {"20_zerosht": {}}}, "did you mean 67_zeroshot"),
        (
            {"parameters": {"43_model": {"model": "picto-en"}}},
            "'model' of 43_model, which the graph sets itself",
        ),
        (
            {"parameters": {"41_this_run": {"output": "mine.parquet"}}},
            "'output' of 41_this_run, which the graph sets itself",
        ),
        (
            {"only": {"picto-multi": ["pictogram-captions"]}},
            "adapts picto-multi, which only: evaluates on other data sets than",
        ),
    ],
)
def test_what_is_wrong_is_one_sentence_with_the_nearest_name(config, changes, sentence):

    def check_and_plan():
        check(config | changes)
        read_graph(config | changes)  # what needs the rules, too, to be noticed

    with pytest.raises(InputError, match=sentence) as error:
        check_and_plan()
    assert "\n" not in str(error.value)


def test_a_missing_key_is_named(config):
    with pytest.raises(InputError, match="The config has no key 'datasets'"):
        check({key: value for key, value in config.items() if key != "datasets"})


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "run: a\nparameters:\n  x: {seed: 1}\n  x: {seed: 2}\n",
            r'has a key twice \(found duplicate key "x" .*line 4\): keep one',
        ),
        ("run: [", "cannot be read as YAML"),
        ("run: a\n[x]: b\n", "cannot be read as YAML"),
        ("- run", "'key: value' lines"),
    ],
)
def test_a_file_that_is_no_config_is_refused(tmp_path, text, sentence):
    (tmp_path / "run.yml").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=sentence):
        configs.read(tmp_path / "run.yml")
    with pytest.raises(InputError, match=r"did you mean .*/run\.yml"):
        configs.read(tmp_path / "runs.yml")


def test_paths_that_are_not_there_are_named(tmp_path):
    absent = f"{tmp_path}/absent.csv"
    for key in ("images", "annotations", "checkpoints", "classes"):
        with pytest.raises(
            InputError,
            match=f"The config's {key} should be at {absent}, where nothing is",
        ):
            configs.check_paths({key: {"x": absent}})
    for values in (
        {"words": [absent]},
        {"external_scores": {"x": {"commute": {"fr": [absent, absent]}}}},
    ):
        with pytest.raises(InputError, match=re.escape(absent)):
            configs.check_paths(values)
    configs.check_paths({"images": {"x": [str(tmp_path)]}})


TABLE = "results/demo/zeroshot/msiglip-b16_imagenet-1k.parquet"


@pytest.fixture
def lacking(tmp_path, config) -> Path:
    """A config whose pictures are not there."""
    values = config | {
        "models": ["msiglip-b16"],
        "datasets": ["imagenet-1k"],
        "protocol_datasets": [],
    }
    values |= {
        "images": {"imagenet-1k": str(tmp_path / "absent")},
        "parameters": {},
        "adaptations": {},
    }
    path = tmp_path / "run.yml"
    path.write_text(yaml.safe_dump(values), encoding="utf-8")
    return path


def test_a_dry_run_tells_of_a_missing_folder(tmp_path, lacking):
    printed = dry_run(tmp_path, "--", TABLE, config=lacking)
    assert "a real one would stop: The config's images" in printed
    assert not (tmp_path / "results").exists()


@pytest.mark.slow
def test_a_real_run_stops_where_a_folder_is_missing(tmp_path, lacking):
    real = snakemake(tmp_path, "--", TABLE, config=lacking)
    assert (real.returncode, "absent, where nothing is" in real.stderr) == (1, True)
    assert not (tmp_path / "results").exists()


def test_the_paper_config_has_the_papers_models_languages_and_protocol():
    values = configs.read(ROOT / "config" / "paper.yml")
    graph = read_graph(values)
    plan = graph.plan
    rows = [registry.get_model(name).paper_row for name in values["models"]]
    # The last is the other model of Figure 2, which no table has.
    assert values["models"][-1] == "openai-l14"
    assert set(rows[:-1]) == set(published.models()["model"])
    assert sorted(values["parameters"]["67_zeroshot"]["languages"]) == sorted(
        published.groups()["lang"]
    )
    assert plan.classes() == ["imagenet-1k"]
    jobs = plan.jobs
    assert (jobs["label_sets"], len(jobs["zeroshot"]), len(jobs["retrieval"])) == (
        [],
        13,
        39,
    )
    for rule in ("zeroshot", "retrieval"):
        for job in jobs[rule]:
            told, entry = graph.told(rule, job), registry.get_model(job["model"])
            task = plan.sets[job["dataset"]].task
            assert protocol.settings(told["preset"], task, entry) == protocol.settings(
                "paper", task, entry
            )


def test_the_papers_label_set_is_the_released_one_word_for_word(mirror, monkeypatch):
    monkeypatch.setenv("BABELATLAS_MIRROR", str(mirror))
    wnids = senses.class_list("imagenet-1k")["wnid"].tolist()
    settings = configs.read(ROOT / "config" / "paper.yml")["parameters"]["61_labels"]
    made = labels.label_set(senses.read_babel_imagenet(), wnids, **settings)
    stored = json.loads(
        (mirror / "babel-imagenet/data/babel_imagenet-298.json").read_text(
            encoding="utf-8"
        )
    )
    by_lang = {
        lang: part.set_index("wnid")["label"].to_dict()
        for lang, part in made.groupby("lang")
    }
    for lang in published.groups().query("lang != 'en'")["lang"]:
        places, words = stored[lang.upper()]
        assert by_lang[lang] == {
            wnids[place]: word for place, word in zip(places, words, strict=True)
        }
    assert list(by_lang["en"].values()) == labels.clip_names()["lemma"].tolist()


def offered(text: str) -> dict[str, dict]:
    """The parameters of notebooks that a config has, those in comments included."""
    lines = text[text.index("\nparameters:\n") :].splitlines()
    yaml_line = re.compile(r"(  |    )(?:# )?((?:\d\d_)?[a-z_]+:(?: [^A-Z].*)?)$")
    kept = [match for line in lines if (match := yaml_line.fullmatch(line))]
    return yaml.safe_load("\n".join(match[1] + match[2] for match in kept))


def test_the_parameters_that_the_full_config_offers_in_comments_are_of_notebooks():
    path = ROOT / "config" / "full.yml"
    given = configs.read(path)["parameters"]
    shown = offered(path.read_text(encoding="utf-8"))
    assert {*given} < {*shown}
    for stage, values in shown.items():
        notebook = notebooks.find(ROOT / "notebooks", stage)
        notebooks.check_parameters(notebook, values)


def test_a_parameter_in_a_comment_that_no_notebook_has_is_found():
    shown = offered("\nparameters:\n  # 72_label_sets:\n    # translations: data/x\n")
    assert shown == {"72_label_sets": {"translations": "data/x"}}
    notebook = notebooks.find(ROOT / "notebooks", "72_label_sets")
    with pytest.raises(InputError, match="translations"):
        notebooks.check_parameters(notebook, shown["72_label_sets"])
