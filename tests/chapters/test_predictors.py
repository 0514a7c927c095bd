"""What languages and pairs of model and language bring to the analysis of drivers."""

import numpy as np
import pandas as pd
import pytest

from atlas_study.chapters import predictors as drivers
from babelatlas.analysis import coverage, real_models
from babelatlas.base import published


def test_covariates_are_those_of_the_language_and_of_the_pair():
    scores = pd.DataFrame(
        {
            "model": "m",
            "lang": ["de", "ru", "si", "nv"],
            "value": 0.2,
            "n": 500,
            "classes": 64,
        }
    )
    scores = pd.concat([scores, scores.assign(model="other")])
    table = drivers.covariates(scores, {"m": ("de",)}, minimum=2)
    assert sorted(table["lang"].unique()) == ["de", "ru", "si"]  # Navajo has no tokens
    row = table.set_index(["model", "lang"])
    assert row.loc["m", "listed"].to_dict() == {
        "de": "listed",
        "ru": "not listed",
        "si": "not listed",
    }
    assert row.loc["m", "is_listed"].to_dict() == {"de": 1, "ru": 0, "si": 0}
    assert set(row.loc["other", "listed"]) == {"no list published"}
    assert set(row.loc["other", "is_listed"]) == {0}
    assert row.loc["m", "family"].to_dict() == dict.fromkeys(
        ["de", "ru", "si"], "Indo-European"
    )
    assert set(row["script"]) == {"other"}  # each script has one language
    tokens = coverage.tokens().set_index("lang")["tokens"]
    gap = row.loc[("m", "de"), "log_tokens"] - row.loc[("m", "si"), "log_tokens"]
    assert gap == pytest.approx(np.log10(tokens["de"] / tokens["si"]))
    assert row.loc["m", ["log_tokens", "not_latin"]].mean().tolist() == pytest.approx(
        [0, 0]
    )


def test_the_published_table_leaves_out_english_and_languages_without_tokens_only():
    by_model = drivers.published_drivers(by_recipe=False)
    known = set(published.groups()["lang"]) & set(coverage.tokens()["lang"]) - {"en"}
    assert set(by_model["lang"]) == known
    assert len(by_model) == 12 * len(known)
    assert "en" in set(drivers.published_drivers(english=True)["lang"])


def test_models_of_one_recipe_are_averaged_and_keep_what_they_share():
    recipes = drivers.recipes()
    assert len(set(recipes.values())) == 8
    table, single = (
        drivers.published_drivers(),
        drivers.published_drivers(by_recipe=False),
    )
    three = [model for model, name in recipes.items() if name == "M-CLIP, 48 languages"]
    assert len(three) == 3
    mean = single[single["model"].isin(three) & (single["lang"] == "de")][
        "value"
    ].mean()
    row = table[
        (table["model"] == "M-CLIP, 48 languages") & (table["lang"] == "de")
    ].iloc[0]
    assert row["value"] == pytest.approx(mean)
    assert row["listed"] == "listed"
    assert row["n"] == single[single["lang"] == "de"]["n"].iloc[0]


def test_the_facts_of_released_models_come_in_few_levels():
    names = [
        "clip-l14-commonpool-xl",
        "openai-b32",
        "clip-b32-laion2b",
        "nllb-siglip-large",
        "siglip-b16-256",
    ]
    facts = drivers.model_facts(names).set_index("model")
    expected = [
        "not filtered",
        "by English terms",
        "English only",
        "multilingual",
        "not stated or mixed",
    ]
    assert facts["captions"].tolist() == expected
    assert facts["multi"].tolist() == [0, 0, 0, 1, 0]
    assert facts.loc["openai-b32", "log_gflops"] == pytest.approx(np.log10(14.78))
    assert facts.loc[["openai-b32", "siglip-b16-256"], "samples"].tolist() == [
        "over 10 billion",
        "not stated",
    ]


def test_every_model_of_the_released_drivers_has_every_language_with_tokens():
    table = drivers.released_drivers()
    assert table["model"].nunique() == 105
    assert sorted(
        set(real_models.board("clip_benchmark", "xm3600", "recall@1")["lang"])
        - set(table["lang"])
    ) == [
        "en",
        "mi",
        "quz",
    ]
    assert len(table) == 105 * 33
    assert set(table.loc[table["multi"] == 0, "listed"]) <= {
        "not listed",
        "no list published",
    }
    row = table.query("model == 'openclip-xlmr-h14' and lang == 'de'").iloc[0]
    assert row["logit"] == pytest.approx(
        np.log((3600 * row["value"] + 0.5) / (3600 * (1 - row["value"]) + 0.5))
    )
