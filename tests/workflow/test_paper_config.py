"""config/paper.yml: what Babel-ImageNet did, with its labels, languages, prompts and models, and no job too many."""

import json

import pytest
import yaml

from babelatlas.base import published
from babelatlas.evaluation import protocol
from babelatlas.lexicon import labels, prompts, senses
from babelatlas.models import registry
from babelatlas.workflow import config as workflow
from conftest import ROOT, snakemake

CONFIG = yaml.safe_load((ROOT / "config" / "paper.yml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def plan():
    return workflow.check_config(CONFIG, ROOT)


def test_the_models_and_languages_are_those_of_the_paper():
    assert {registry.get_model(name).paper_row for name in CONFIG["models"]} == set(published.models()["model"])
    assert len(CONFIG["models"]) == 12
    assert sorted(CONFIG["parameters"]["20_zeroshot"]["languages"]) == sorted(published.groups()["lang"])


def test_no_label_set_is_made_for_pictograms_and_no_other_words_are_compared(plan):
    assert plan.classes == ["imagenet-1k"]
    assert not [job for job in plan.jobs() if job[0] == "24_label_sets"]
    assert json.loads(plan.given("09_senses"))["classes"] == ["imagenet-1k"]


def test_a_run_with_lexicons_still_has_labels_for_pictograms():
    with_lexicons = CONFIG | {"parameters": CONFIG["parameters"] | {"09_senses": {}}}
    found = workflow.check_config(with_lexicons, ROOT)
    assert found.classes == ["imagenet-1k", "pictograms"]
    assert len(found.label_sets) == 12


def test_each_evaluation_takes_the_protocol_of_the_paper(plan):
    for model in CONFIG["models"]:
        entry = registry.get_model(model)
        for notebook, task, dataset in (
            ("20_zeroshot", "zero-shot", "imagenet-1k"),
            ("21_retrieval", "retrieval", "xtd"),
        ):
            given = json.loads(plan.given(notebook, model, dataset))
            names = [name for name in protocol.SETTINGS if name in given]
            asked = {name: given[name] for name in names}
            assert protocol.settings(given["preset"], task, entry, **asked) == protocol.settings("paper", task, entry)


def test_a_dry_run_with_folders_that_stand_in_plans_every_job(tmp_path):
    places = {name: str(tmp_path / name) for name in (*CONFIG["images"], "mclip-mbert-b32")}
    for place in places.values():
        (tmp_path / place).mkdir()
    images = {name: places[name] for name in CONFIG["images"]}
    changed = CONFIG | {"images": images, "checkpoints": {"mclip-mbert-b32": places["mclip-mbert-b32"]}}
    path = tmp_path / "paper.yml"
    path.write_text(yaml.safe_dump(changed), encoding="utf-8")
    done = snakemake(tmp_path, "--dry-run", "--quiet", "rules", "host", "reason", config=path)

    assert done.returncode == 0, done.stderr
    planned = dict(line.split()[:2] for line in done.stdout.splitlines() if len(line.split()) == 2)
    assert (planned["labels"], planned["zeroshot"], planned["retrieval"]) == ("1", "12", "36")
    assert "a real one would stop" not in done.stderr


def test_the_label_set_is_the_released_one_word_for_word(mirror, monkeypatch):
    monkeypatch.setenv("BABELATLAS_MIRROR", str(mirror))
    wnids = senses.class_list("imagenet-1k")["wnid"].tolist()
    made = labels.label_set(
        senses.read_babel_imagenet(report=lambda line: None), wnids, **CONFIG["parameters"]["10_labels"]
    )
    stored = json.loads((mirror / "babel-imagenet/data/babel_imagenet-298.json").read_text(encoding="utf-8"))

    by_lang = {lang: part.set_index("wnid")["label"].to_dict() for lang, part in made.groupby("lang")}
    for lang in published.groups().query("lang != 'en'")["lang"]:
        places, words = stored[lang.upper()]
        assert by_lang[lang] == {wnids[place]: word for place, word in zip(places, words, strict=True)}
    assert list(by_lang["en"].values()) == labels.clip_names()["lemma"].tolist()


def test_each_language_takes_the_prompts_that_the_paper_reports_for_it(mirror, monkeypatch):
    monkeypatch.setenv("BABELATLAS_MIRROR", str(mirror))
    chosen = protocol.settings("paper", "zero-shot", registry.get_model("openai-b32"))
    reported = published.by_language().drop_duplicates("lang").set_index("lang")["variant"]
    texts = prompts.for_languages(reported.index, [chosen["prompts"], *chosen["fallback_prompts"]])

    names = {"nllb-80": "translated prompts", "label": "label only", "openai-80": "English prompts"}
    assert texts.drop_duplicates("lang").set_index("lang")["prompts"].map(names).to_dict() == reported.to_dict()
