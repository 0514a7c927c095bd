"""Chapters 35 and 42: they stand on costs of any models, and write what they say."""

import io
from contextlib import redirect_stdout
from itertools import product

import matplotlib
import matplotlib.pyplot as plt
import nbformat
import numpy as np
import pandas as pd
import pytest

from babelatlas.base import tables
from conftest import ROOT

matplotlib.use("Agg")
pytestmark = pytest.mark.slow  # each runs a chapter
ITEMS = [f"word{number}:n0{number}+n1{number}" for number in range(6)]


def write(folder, model, similarity, langs, blind=False):
    """Write costs of a model that sees the image, a little noise added, or of one that
    does not look at it.
    """
    rng, rows = np.random.default_rng([len(model), len(langs)]), []
    images = ("a0", "b0", "a1", "b1", "mix", "side")
    for lang, item in product(langs, ITEMS):
        for image, text in product(images, "ab"):
            seen = float(image[0] == text) if image[1].isdigit() and not blind else 0.5
            cost = 3 - seen + (0.0 if blind else rng.normal(0, 0.7))
            rows.append(
                [
                    model,
                    0,
                    "pictogram-pairs",
                    similarity,
                    "fp32",
                    "",
                    lang,
                    item,
                    image,
                    text,
                    max(cost, 1.1),
                ]
            )
    table = pd.DataFrame(rows, columns=list(tables.SCHEMAS["disambiguation"][0]))
    tables.write(
        table,
        folder / f"disambiguation/{model}_pictogram-pairs.parquet",
        "disambiguation",
    )
    return table


@pytest.fixture
def results(tmp_path):
    write(tmp_path, "one", "cosine", ["de", "fr"])
    write(tmp_path, "other", "cosine", ["de", "fr", "ja"])
    costs = write(tmp_path, "blind", "perplexity", ["fr", "ja"], blind=True)
    logs = [[-0.1, -float(value)] for value in 2 * np.log(costs["cost"]) - 0.1]
    tokens = costs.drop(columns="cost").assign(
        shared=1, log_probabilities=logs, temperature=1.0
    )
    tokens = pd.concat(
        [tokens, tokens[tokens["image"].isin(["a0", "b0"])].assign(temperature=2.0)]
    )
    path = tmp_path / "tokens/blind_pictogram-pairs.parquet"
    tables.write(tokens[list(tables.SCHEMAS["tokens"][0])], path, "tokens")
    return tmp_path


def answer(notebook, **parameters):
    """Return the takeaway of a chapter whose code is run here with these parameters,
    and its variables.
    """
    known = {}
    with redirect_stdout(io.StringIO()):
        for cell in nbformat.read(
            ROOT / f"notebooks/chapters/{notebook}.ipynb", as_version=4
        ).cells:
            if cell.cell_type == "code":
                *before, last = f"\n{cell.source}".rstrip().rpartition("\nba.takeaway(")
                exec(
                    (
                        cell.source
                        if not before[1]
                        else f"{before[0]}\nresult = {before[1].strip()}{last}"
                    ),
                    known,
                )
                if {"inputs", "outputs", "parameters"} & set(cell.metadata.tags):
                    known.update(
                        {
                            name: value
                            for name, value in parameters.items()
                            if name in known
                        }
                    )
    plt.close("all")
    return known["result"].data, known


@pytest.mark.parametrize(
    ("models", "translators"), [(["one"], []), (["one", "other"], ["blind"])]
)
def test_disambiguation_writes_the_scores_of_every_language_and_their_means(
    results, models, translators
):
    path, tiers = results / "scores.parquet", {"high": ["de", "fr"], "low": ["ja"]}
    shared = {
        "results": str(results),
        "output": str(path),
        "n_resamples": 20,
        "tiers": tiers,
    }
    said, known = answer(
        "42_disambiguation", models=models, translators=translators, **shared
    )
    assert said.count("On pictogram-pairs") == 1
    scores = tables.read(path, "scores")
    base = scores[scores["variant"] == ""]
    one = base[(base["model"] == "one") & (base["metric"] == "GTC")]
    assert set(zip(one["group"], one["lang"], strict=True)) == {
        ("", "de"),
        ("", "fr"),
        ("all", ""),
    }  # the levels are of the miniature's training data
    mean = one.loc[one["group"] == "all", "value"].item()
    assert mean == pytest.approx(one.loc[one["group"] == "", "value"].mean())
    assert {"mix", "side", "oracle max"} <= set(scores["variant"])
    if len(models) == 2:  # each pair stands on what it shares
        pairs = known["compared"].set_index(["first", "second", "metric"])["n"]
        assert {frozenset(pair[:2]): n for pair, n in pairs.items()}[
            frozenset({"one", "other"})
        ] == 2
    if translators:
        assert {"without prefix", "temperature 2"} <= set(scores["variant"])
        blind = base[base["model"] == "blind"].set_index(["metric", "group"])
        assert blind.loc[("IC", "all"), "value"] == 0  # ties only
        # All tie next to their own image: the bound is that of six items, not of no
        # width.
        ends = blind.loc[("ties IC", "all"), ["value", "ci_low", "ci_high"]].tolist()
        assert ends == pytest.approx([1, 0.025 ** (1 / 6), 1])


def test_the_miniature_stands_behind_real_models_with_its_levels_of_training_data(
    results,
):
    write(results, "picto-multi", "cosine", ["de", "fr", "ja"])
    path = results / "scores.parquet"
    said, known = answer(
        "42_disambiguation",
        results=str(results),
        output=str(path),
        models=["picto-multi", "one"],
        tiers={"high": ["de", "fr"], "low": ["ja"]},
        n_resamples=20,
    )
    assert "one chooses the translation" in said
    assert known["small"].means["model"].unique().tolist() == ["picto-multi"]
    scores = tables.read(path, "scores").query("model == 'picto-multi'")
    assert {"", "all", "high", "low"} == {*scores["group"]}


@pytest.mark.parametrize(
    ("models", "n_ensembles"),
    [(["one"], 0), (["one", "other"], 1), (["one", "other", "lone"], 1)],
)
def test_errors_are_compared_and_ensembles_tried_where_models_share_items(
    results, models, n_ensembles
):
    write(results, "lone", "cosine", ["sw"])
    said, known = answer(
        "35_error_overlap", results=str(results), models=models, n_resamples=20
    )
    assert "real models or languages make the same errors" in said
    assert known["shown"].own
    assert known["gains"].groupby("metric").size().reindex(
        ["TC"], fill_value=0
    ).tolist() == [n_ensembles]
    kinds = set(known["means"]["kind"])
    assert "one: two languages" in kinds
    assert ("one and other" in kinds) == (len(models) > 1)
    assert ("one and lone; other and lone" in known["apart"]) == (len(models) > 2)


def test_without_real_models_the_bridges_are_shown_and_the_run_is_told_what_it_lacks(
    tmp_path,
):
    (tmp_path / "files.json").write_text("[]", encoding="utf-8")
    output = tmp_path / "scores.parquet"
    asked = {"results": str(tmp_path), "models": [], "n_resamples": 20}
    said, known = answer("42_disambiguation", output=str(output), **asked)
    assert "On imagenet-photos-pairs, bridge-lite" in said
    assert "has not evaluated a real model on ambiguous words" in known["what_lacks"]
    assert tables.read(output, "scores").empty  # what ships is not the run's
    said, known = answer("35_error_overlap", **asked)
    assert "On imagenet-photos-pairs, real models or languages" in said
    assert not len(known["small_means"])
