"""Stages 80 and 81 and the config key `translations`: captions, statements and prompts
that a run translates by machine, and what is then trained or evaluated with them.
"""

import pandas as pd
import pytest
import yaml

import tiny_translation
from atlas_study.workflow import config as configs
from babelatlas.base import tables
from babelatlas.base.errors import InputError
from babelatlas.datasets import statement_pairs
from babelatlas.models.training import adaptation
from conftest import ROOT, read_graph
from test_own_captions import run_cells


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return str(tiny_translation.nllb(tmp_path_factory.mktemp("models") / "nllb-tiny"))


@pytest.fixture
def captions(tmp_path):
    path = tmp_path / "captions.csv"
    texts = ["a photo of a cat", "two cats on a mat", "no cat"]
    pd.DataFrame({"caption": texts}).to_csv(path, index=False)
    return str(path)


def test_translated_captions_are_what_an_adapter_is_trained_on(
    tmp_path, model, captions
):
    where = {
        "cache": str(tmp_path / "cache" / "a_de.csv"),
        "output": str(tmp_path / "a_{lang}.csv").replace("{lang}", "de"),
    }
    given = {"texts": captions, "column": "caption", "model": model, "device": "cpu"}
    shown = run_cells("stages/80_translated_texts", language="de", **given, **where)
    read = adaptation.read_texts(str(tmp_path / "a_{lang}.csv"), "de")
    assert set(read["english"]) <= {"a photo of a cat", "two cats on a mat", "no cat"}
    assert len(read) == len(shown["translated"]) > 0


def test_a_sample_is_drawn_by_its_seed(tmp_path, model, captions):
    drawn = []
    for number in range(2):
        where = {
            "cache": str(tmp_path / f"{number}" / "cache.csv"),
            "output": str(tmp_path / f"{number}.csv"),
        }
        given = {"texts": captions, "column": "caption", "sample": 2, "model": model}
        shown = run_cells(
            "stages/80_translated_texts", language="de", device="cpu", **given, **where
        )
        drawn.append(list(shown["table"]["text"]))
    assert drawn[0] == drawn[1]
    assert len(drawn[0]) == 2


def test_translated_prompts_are_templates_of_the_languages(tmp_path, model):
    output = str(tmp_path / "prompts.parquet")
    where = {"cache": str(tmp_path / "cache" / "prompts.parquet"), "output": output}
    run_cells(
        "stages/81_translated_prompts",
        templates="photo",
        languages=["de", "sw"],
        model=model,
        device="cpu",
        **where,
    )
    table = tables.read(output, "templates")
    assert set(table["lang"]) == {"de", "sw"}
    assert table["template"].str.contains("{}", regex=False).all()


def test_machine_translations_of_statements_are_a_further_form_of_them(tmp_path):
    pairs = pd.DataFrame(
        {
            "variant": "original",
            "lang": "sw",
            "statement": ["s1", "s1"],
            "text": "paka wawili",
            "number": [0, 1],
            "identifier": "1",
            "concept": "cat",
            "chapter": "animals",
            "left": ["a.png", "b.png"],
            "right": ["c.png", "d.png"],
            "truth": [True, False],
        }
    )
    pairs = tables.check(pairs[list(tables.SCHEMAS["pairs"][0])], "pairs")
    statements = statement_pairs.statements(pairs)
    assert statements.to_dict("records") == [
        {"lang": "sw", "statement": "s1", "text": "paka wawili"}
    ]
    path = tmp_path / "english.csv"
    statements.assign(english="two cats").to_csv(path, index=False)
    both = statement_pairs.with_translations(pairs, path, "mine")
    own = both[both["variant"] == statement_pairs.OWN_TRANSLATION]
    assert own["text"].tolist() == ["two cats", "two cats"]


@pytest.fixture
def config():
    return yaml.safe_load((ROOT / "tests" / "tiny.yml").read_text(encoding="utf-8"))


@pytest.fixture
def translating(config, captions):
    """A config that translates captions for an adapter, and prompts."""
    return config | {
        "translations": {
            "captions": {"texts": captions, "column": "caption", "languages": ["de"]},
            "prompts": {"templates": "openai-80", "languages": ["de", "sw"]},
        },
        "adaptations": {
            "picto-multi": {
                "languages": ["de"],
                "objectives": {"mse": [0]},
                "texts": "translations/captions",
            }
        },
        "parameters": config["parameters"]
        | {"67_zeroshot": {"prompts": "translations/prompts"}},
    }


def test_training_and_evaluation_wait_for_translations(translating, captions):
    graph = read_graph(translating)
    plan = graph.plan
    made = f"{plan.folder}/translations/captions_de.csv"
    job = {"translation": "captions", "lang": "de"}
    assert plan.jobs["translated_texts"] == [job]
    told = graph.told("translated_texts", job)
    assert told["texts"] == captions
    assert told["language"] == "de"
    assert plan.training_translations("picto-multi") == [made]
    adapted = graph.told("adapt", {"model": "picto-multi"})
    assert adapted["texts"].endswith("translations/captions_{lang}.csv")
    prompts = f"{plan.folder}/translations/prompts.parquet"
    assert plan.templates("67_zeroshot") == adapted["prompts"] == [prompts]
    assert captions in plan.depends("80_translated_texts", job)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"translations": {"captions": {"languages": ["de"]}}},
            "one of texts, statements and templates, got 0",
        ),
        (
            {"translations": {"caption": {"texts": "a.csv", "languages": ["de"]}}},
            "'captions'.*did you mean caption",
        ),
        (
            {"translations": {"captions": {"texts": "a.csv", "languages": ["sw"]}}},
            "'captions' for 'picto-multi', and it has none into de",
        ),
        (
            {"translations": {"captions": {"templates": "photo", "languages": ["de"]}}},
            "'captions' for 'picto-multi', and it has no texts",
        ),
    ],
)
def test_a_translation_that_does_not_fit_is_one_sentence(translating, change, sentence):
    wrong = translating | {"parameters": {}} | change
    with pytest.raises(InputError, match=sentence) as error:
        configs.check_config(wrong, ROOT)
    assert "\n" not in str(error.value)
