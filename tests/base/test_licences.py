"""The rule for the licences of models that are made of several parts, and which of them
allow commercial use.
"""

import pandas as pd
import pytest

from babelatlas.base import licences, paths, released
from babelatlas.base.errors import InputError
from babelatlas.models import registry


@pytest.mark.parametrize(
    ("own", "parts", "whole"),
    [
        ("MIT", ["Apache-2.0"], "MIT"),
        ("MIT", ["Gemma"], "Gemma"),
        ("Apache-2.0", ["Gemma", "Qwen Research"], "Qwen Research"),
        (
            "NVIDIA Open Model License",
            ["Llama 3.2"],
            "NVIDIA Open Model License; Llama 3.2",
        ),
        ("Apache-2.0; OpenAI terms", [], "OpenAI terms"),
        ("Apache-2.0, MIT", [], "Apache-2.0, MIT"),
        ("MIT", [""], ""),
        ("", ["MIT"], ""),
    ],
)
def test_a_model_is_under_the_strictest_licence_of_its_parts_and_under_none_where_one_is_not_known(
    own, parts, whole
):
    assert licences.strictest([own, *parts]) == whole


def test_a_licence_that_is_not_listed_is_named_with_the_nearest():
    with pytest.raises(
        InputError, match=r"'Apache 2.0' is not in .*did you mean Apache-2.0"
    ):
        licences.strictest(["Apache 2.0"])


@pytest.mark.parametrize(
    ("model", "licence"),
    [
        *[(f"colpali-v1.{n}", "Gemma") for n in (1, 2, 3)],
        *[(f"{kind}-embed-multimodal-3b", "") for kind in ("nomic", "colnomic")],
        *[
            (f"{kind}-embed-multimodal-7b", "Apache-2.0")
            for kind in ("nomic", "colnomic")
        ],
        *[
            (name, "Qwen Research")
            for name in ("colqwen2.5-v0.2", "moca-qwen2.5-vl-3b", "e5-omni-3b")
        ],
        *[
            (name, "Qwen Research")
            for name in ("evoqwen2.5-vl-retriever-3b", "lco-embedding-omni-3b")
        ],
        ("jina-embeddings-v4", "CC-BY-NC-4.0; Qwen Research"),
        ("blip2-opt-2.7b", "OPT-175B"),
        ("idefics3-8b", "Llama 3.1"),
        ("heron-nvila-lite-15b", "Gemma"),
        ("mclip-xlmr-l14", "MIT"),
        ("siglip2-b16-224", "Apache-2.0"),
    ],
)
def test_the_rule_is_that_of_every_released_model(model, licence):
    table = released.models()
    assert table.loc[model, "licence"] == licence
    assert licences.commercial(table["licence"])[model] == (
        licence in ("MIT", "Apache-2.0")
    )


def test_no_model_for_commercial_use_has_a_part_or_weights_under_conditions_or_unknown():
    free = released.models()[lambda table: licences.commercial(table["licence"])]
    names = {*free["model"], *free["architecture"], *free["text_tower"]}
    inside = {licences.parts()[name] for name in names if name in licences.parts()}
    assert inside == {"MIT", "Apache-2.0"}
    assert {licences.uses()[name] for name in inside} == {"free"}


def test_what_models_are_made_of_is_listed_or_has_no_conditions_on_record():
    table, listed = released.models(), paths.rows("released/licence_parts.csv")
    assert {row["part"] for row in listed} <= {
        *table["model"],
        *table["architecture"],
        *table["text_tower"],
    }
    assert all(len(row["source"]) > 10 for row in listed)
    bases = table["text_tower"].str.contains(
        "Llama|Gemma|Qwen.*[0-9]B|OPT|Vicuna|NLLB|Command"
    )
    own = table["maker"].isin(["Alibaba", "Alibaba (Qwen)", "Qwen", "Meta"])
    assert set(table.loc[bases & ~own, "text_tower"]) - set(licences.parts()) == set()


def test_entries_of_the_study_and_released_models_agree_on_licences():
    entries = {
        entry.name: entry.licence.replace("not stated", "") for entry in registry.MODELS
    }
    both = released.models()[lambda table: table["entry"].isin(entries)]
    told = both["entry"].map(entries)
    assert (told == both["licence"]).all(), both.loc[
        told != both["licence"], ["entry", "licence"]
    ]


def test_commercial_use_needs_every_licence_named_to_be_free():
    said = pd.Series(
        [
            "MIT",
            "Apache-2.0, MIT",
            "Apache-2.0; OpenAI terms",
            "Gemma",
            "",
            "not stated",
            None,
        ]
    )
    assert licences.commercial(said).tolist() == [
        True,
        True,
        False,
        False,
        False,
        False,
        False,
    ]
