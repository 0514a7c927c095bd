"""What languages and pairs of model and language bring to the analysis of drivers."""

import numpy as np
import pandas as pd
import pytest

from babelatlas.analysis import coverage, drivers
from babelatlas.analysis.released import real_models
from babelatlas.base import published
from babelatlas.base.errors import InputError
from babelatlas.stats import mixed_model


def test_covariates_are_those_of_the_language_and_of_the_pair():
    scores = pd.DataFrame({"model": "m", "lang": ["de", "ru", "si", "nv"], "value": 0.2, "n": 500, "classes": 64})
    scores = pd.concat([scores, scores.assign(model="other")])
    table = drivers.covariates(scores, {"m": ("de",)}, minimum=2)
    assert sorted(table["lang"].unique()) == ["de", "ru", "si"]  # Navajo has no tokens
    row = table.set_index(["model", "lang"])
    assert row.loc["m", "listed"].to_dict() == {"de": "listed", "ru": "not listed", "si": "not listed"}
    assert set(row.loc["other", "listed"]) == {"no list published"}
    assert row.loc["m", "family"].to_dict() == dict.fromkeys(["de", "ru", "si"], "Indo-European")
    assert set(row["script"]) == {"other"}  # each script has one language
    tokens = coverage.tokens().set_index("lang")["tokens"]
    gap = row.loc[("m", "de"), "log_tokens"] - row.loc[("m", "si"), "log_tokens"]
    assert gap == pytest.approx(np.log10(tokens["de"] / tokens["si"]))
    assert row.loc["m", ["log_tokens", "not_latin"]].mean().tolist() == pytest.approx([0, 0])


def test_the_published_table_leaves_out_english_and_languages_without_tokens_only():
    by_model = drivers.published_drivers(by_recipe=False)
    known = set(published.groups()["lang"]) & set(coverage.tokens()["lang"]) - {"en"}
    assert set(by_model["lang"]) == known
    assert len(by_model) == 12 * len(known)
    assert "en" in set(drivers.published_drivers(english=True)["lang"])


def test_models_of_one_recipe_are_averaged_and_keep_what_they_share():
    recipes = drivers.recipes()
    assert len(set(recipes.values())) == 8
    table, single = drivers.published_drivers(), drivers.published_drivers(by_recipe=False)
    three = [model for model, name in recipes.items() if name == "M-CLIP, 48 languages"]
    assert len(three) == 3
    mean = single[single["model"].isin(three) & (single["lang"] == "de")]["value"].mean()
    row = table[(table["model"] == "M-CLIP, 48 languages") & (table["lang"] == "de")].iloc[0]
    assert row["value"] == pytest.approx(mean)
    assert row["listed"] == "listed"
    assert row["n"] == single[single["lang"] == "de"]["n"].iloc[0]
    scores = pd.DataFrame({"model": ["a", "b"], "lang": "de", "value": [0.1, 0.3], "n": 10, "classes": [5, 6]})
    with pytest.raises(InputError, match="agree, but some differ"):
        drivers.averaged(scores, {"a": "x", "b": "x"})


def test_the_facts_of_released_models_come_in_few_levels():
    names = ["clip-l14-commonpool-xl", "openai-b32", "clip-b32-laion2b", "nllb-siglip-large", "siglip-b16-256"]
    facts = drivers.model_facts(names).set_index("model")
    expected = ["not filtered", "by English terms", "English only", "multilingual", "not stated or mixed"]
    assert facts["captions"].tolist() == expected
    assert facts["multi"].tolist() == [0, 0, 0, 1, 0]
    assert facts.loc["openai-b32", "log_gflops"] == pytest.approx(np.log10(14.78))
    assert facts.loc[["openai-b32", "siglip-b16-256"], "samples"].tolist() == ["over 10 billion", "not stated"]
    with pytest.raises(InputError, match="no text tower or no FLOPs of the model 'x'"):
        drivers.model_facts(["x"])


def test_every_model_of_the_released_drivers_has_every_language_with_tokens():
    table = drivers.released_drivers()
    assert table["model"].nunique() == 114
    assert sorted(set(real_models.board("clip_benchmark", "xm3600", "recall@1")["lang"]) - set(table["lang"])) == [
        "en",
        "mi",
        "quz",
    ]
    assert len(table) == 114 * 33
    assert set(table.loc[table["multi"] == 0, "listed"]) <= {"not listed", "no list published"}
    row = table.query("model == 'openclip-xlmr-h14' and lang == 'de'").iloc[0]
    assert row["logit"] == pytest.approx(np.log((3600 * row["value"] + 0.5) / (3600 * (1 - row["value"]) + 0.5)))


@pytest.fixture
def crossed():
    rng = np.random.default_rng(0)
    rows = [(f"m{m}", f"l{n:02d}", m // 2, n // 3) for m in range(8) for n in range(12)]
    table = pd.DataFrame(rows, columns=["model", "lang", "data", "home"]).assign(
        multi=lambda each: (each["data"] == 3) * 1.0
    )
    table["log_tokens"] = table["lang"].str[1:].astype(float) / 12
    table["not_latin"] = table["lang"].str[1:].astype(int) % 2 * 1.0
    table["log_gflops"] = table["model"].str[1:].astype(float)
    noise = rng.normal(size=len(table)) * 0.1
    table["logit"] = (
        0.3 * table["log_gflops"] + table["log_tokens"] - 2 * table["not_latin"] * (1 - table["multi"]) + noise
    )
    return table.assign(captions="a", samples="b")


def test_the_shares_of_the_variance_are_those_of_a_two_way_analysis_of_variance(crossed):
    both = crossed["multi"].astype(str) + crossed["lang"]
    columns, left = np.ones((len(crossed), 1)), []
    for labels in (crossed["model"], crossed["lang"], both):
        columns = np.hstack([columns, pd.get_dummies(labels, dtype=float)])
        fitted = columns @ np.linalg.lstsq(columns, crossed["logit"], rcond=None)[0]
        left.append(((crossed["logit"] - fitted) ** 2).sum())
    whole = ((crossed["logit"] - crossed["logit"].mean()) ** 2).sum()
    expected = [-step for step in np.diff([whole, *left])] + [left[-1]]
    assert drivers.variance_shares(crossed).tolist() == pytest.approx((np.array(expected) / whole).tolist())


def test_means_by_model_and_by_language_keep_the_effects_of_their_covariates(crossed):
    models = drivers.by_model(crossed)
    assert models.set_index("model")["logit"]["m3"] == pytest.approx(crossed.query("model == 'm3'")["logit"].mean())
    langs = drivers.by_language(crossed)
    assert len(langs) == 24
    english = langs[langs["multi"] == 0]
    assert (english["tokens_multi"] == 0).all()
    assert english["tokens_english"].tolist() == english["log_tokens"].tolist()
    terms = ["multi", "tokens_english", "tokens_multi", "not_latin_english", "not_latin_multi"]
    found = mixed_model.fit(langs, "logit", terms, {"language": ("lang", "")})
    ratios = drivers.odds_ratios(found, "home", n_resamples=50).set_index("name")
    assert ratios.loc["not_latin_english", "value"] == pytest.approx(np.exp(-2), rel=0.1)
    assert ratios.loc["not_latin_multi", "value"] == pytest.approx(1, rel=0.15)
    tested = mixed_model.wald(found).set_index("name").loc["tokens_multi"]
    assert np.log(ratios.loc["tokens_multi", "wald_high"]) == pytest.approx(tested["high"])
    assert ratios.loc["tokens_multi", "p"] == tested["p"]
    assert (ratios["ci_low"] < ratios["ci_high"]).all()
    assert ratios["n_clusters"].tolist() == [4] * 5
