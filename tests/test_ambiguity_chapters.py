"""Chapters 38 and 39: they stand on costs of any models, with none, and write what they say."""

import io
from contextlib import redirect_stdout

import IPython.display
import matplotlib
import matplotlib.pyplot as plt
import nbformat
import numpy as np
import pandas as pd
import pytest

from babelatlas.base import tables
from conftest import ROOT

matplotlib.use("Agg")
ITEMS = [f"word{number}:n0{number}+n1{number}" for number in range(6)]


def table(model, similarity, langs, blind=False):
    """Return costs of a model that sees the image, a little noise added, or of one that does not look at it."""
    rng, rows = np.random.default_rng([len(model), len(langs)]), []
    for lang in langs:
        for item in ITEMS[: 5 if lang == "de" else 6]:
            for image in ("a0", "b0", "a1", "b1", "mix", "side"):
                for text in "ab":
                    seen = {image[0]: 1.0}.get(text, 0.0) if image[1].isdigit() and not blind else 0.5
                    noise = 0.0 if blind else rng.normal(0, 0.7)
                    rows.append(
                        [model, 0, "pictogram-pairs", similarity, "fp32", "", lang, item, image, text, 3 - seen + noise]
                    )
    return pd.DataFrame(rows, columns=list(tables.SCHEMAS["disambiguation"][0]))


@pytest.fixture
def results(tmp_path):
    for model, langs in {"one": ["de", "fr"], "other": ["de", "fr", "ja"]}.items():
        path = tmp_path / f"disambiguation/{model}_pictogram-pairs.parquet"
        tables.write(table(model, "cosine", langs), path, "disambiguation")
    for model, blind in {"picto-gated": False, "picto-text": True}.items():
        costs = table(model, "perplexity", ["fr", "ja"], blind)
        costs["cost"] = costs["cost"].clip(lower=1.1)
        tables.write(costs, tmp_path / f"disambiguation/{model}_pictogram-pairs.parquet", "disambiguation")
        logs = [[-0.1, -float(value)] for value in 2 * np.log(costs["cost"]) - 0.1]
        tokens = costs.drop(columns="cost").assign(shared=1, log_probabilities=logs)
        cold = tokens[tokens["image"].isin(["a0", "b0"])].assign(temperature=2.0)
        tokens = pd.concat([tokens.assign(temperature=1.0), cold], ignore_index=True)
        tables.write(
            tokens[list(tables.SCHEMAS["tokens"][0])], tmp_path / f"tokens/{model}_pictogram-pairs.parquet", "tokens"
        )
    return tmp_path


def answer(notebook, **parameters):
    """Return the answer of a chapter whose code is run here with these parameters, and its variables."""
    cells = [
        cell
        for cell in nbformat.read(ROOT / f"notebooks/chapters/{notebook}.ipynb", as_version=4).cells
        if cell.cell_type == "code"
    ]
    known = {}
    with redirect_stdout(io.StringIO()):
        for cell in cells:
            *before, last = cell.source.rstrip().rpartition("\nreading.takeaway(")
            exec(cell.source if not before[1] else f"{before[0]}\nresult = {before[1].strip()}{last}", known)
            if "parameters" in cell.metadata.tags:
                known.update(parameters)
    plt.close("all")
    return known["result"].data, known


def test_the_chapter_on_disambiguation_writes_the_scores_of_every_language_and_their_means(results):
    path = results / "scores.parquet"
    given = {
        "results": str(results),
        "output": str(path),
        "n_resamples": 20,
        "tiers": {"high": ["de", "fr"], "low": ["ja"]},
    }
    told, known = answer(
        "38_disambiguation", models=["one", "other"], translators=["picto-gated", "picto-text"], **given
    )
    scores = tables.read(path, "scores")
    base = scores[scores["variant"] == ""]
    of_text = base[base["model"] == "picto-text"].set_index(["metric", "group", "lang"])["value"]
    assert of_text["IC", "all", ""] == 0  # ties only
    assert of_text["ties IC", "all", ""] == 1
    one = base[(base["model"] == "one") & (base["metric"] == "GTC")]
    assert set(zip(one["group"], one["lang"], strict=True)) == {("", "de"), ("", "fr"), ("all", ""), ("high", "")}
    mean = one.loc[one["group"] == "all", "value"].item()
    assert mean == pytest.approx(one.loc[one["group"] == "", "value"].mean())
    assert {"mix", "side", "oracle max", "without prefix", "temperature 2"} <= set(scores["variant"])
    assert set(known["prefix"]["images"]) == {"original", "best"}
    assert set(known["blind"]["model"]) == {"picto-text"}
    assert "picto-text" not in set(known["looking"]["model"])
    assert "models that read the image" in told
    # Each pair stands on what it shares: two models in German and French, the others less.
    pairs = known["tested"][known["tested"]["metric"] == "TC"]
    sizes = {frozenset(row[:2]): row[2] for row in pairs[["first", "second", "n"]].itertuples(index=False)}
    assert sizes[frozenset({"one", "other"})] == 2
    assert sizes[frozenset({"one", "picto-text"})] == 1
    assert sizes[frozenset({"other", "picto-text"})] == 2
    # No model ties beside its own image or all do: the bound is that of six items, not of no width.
    ties = base[(base["metric"] == "ties IC") & (base["group"] == "all")].set_index("model")
    assert ties.loc["picto-text", ["ci_low", "ci_high"]].tolist() == pytest.approx([0.025 ** (1 / 6), 1])
    assert ties.loc["other", ["ci_low", "ci_high"]].tolist() == pytest.approx([0, 1 - 0.025 ** (1 / 6)])


def test_the_chapter_on_errors_writes_the_overlap_of_every_pair_and_tries_ensembles(results):
    path = results / "overlap.csv"
    given = {"results": str(results), "output": str(path), "n_resamples": 20, "permutations": 20}
    told, known = answer("39_errors", models=["one", "other"], translators=["picto-gated", "picto-text"], **given)
    found = pd.read_csv(path)
    same = found[found["lang"] == found["other_lang"]]
    # Two models in German, four in French, three in Japanese; each pair once for TC and once for IC.
    assert len(same) == 2 * (1 + 6 + 3)
    assert (
        found.loc[found["model"] == found["other_model"], "lang"]
        != found.loc[found["model"] == found["other_model"], "other_lang"]
    ).all()
    assert "all 4 models" in set(known["gains"]["first"])
    assert "within CLIP-like" in set(known["means"]["kind"])
    assert "An ensemble is significantly better than its best member in " in told


@pytest.mark.parametrize(("notebook", "ending"), [("38_disambiguation", "parquet"), ("39_errors", "csv")])
@pytest.mark.parametrize(("models", "datasets"), [(["one"], ["pictogram-pairs"]), (["one", "other"], ["pictograms"])])
def test_both_stand_with_one_model_without_translators_and_without_data(results, notebook, ending, models, datasets):
    path = results / f"table.{ending}"
    given = {"results": str(results), "output": str(path), "n_resamples": 20, "translators": []}
    told, _ = answer(notebook, models=models, datasets=datasets, **given)
    assert path.is_file()
    assert ("On pictogram-pairs" in told) == (datasets == ["pictogram-pairs"])


@pytest.fixture
def apart(results):
    """Add a model in a language of its own, and one that has French, too, but other items."""
    new = table("lone", "cosine", ["sw"])
    tables.write(new, results / "disambiguation/lone_pictogram-pairs.parquet", "disambiguation")
    strange = table("strange", "cosine", ["fr"])
    strange["item"] = "x" + strange["item"]
    tables.write(strange, results / "disambiguation/strange_pictogram-pairs.parquet", "disambiguation")
    return results


def test_chapter_38_tests_the_pairs_that_share_items_and_names_the_others(apart):
    given = {"results": str(apart), "output": str(apart / "scores.parquet"), "n_resamples": 20, "translators": []}
    told, known = answer("38_disambiguation", models=["one", "other", "lone", "strange"], **given)
    assert "On pictogram-pairs" in told
    assert known["tested"]["metric"].value_counts()["TC"] == 1
    assert len(known["untested"]) == 5
    assert "lone and one on pictogram-pairs" in known["lacking"]
    assert "one and strange on pictogram-pairs" in known["lacking"]
    assert known["nothing"] == ""
    told, known = answer("38_disambiguation", models=["one", "strange"], **given)
    assert len(known["tested"]) == 0
    assert len(known["untested"]) == 1
    assert "No two models share two items" in known["nothing"]


@pytest.mark.parametrize(("notebook", "ending"), [("38_disambiguation", "parquet"), ("39_errors", "csv")])
def test_both_stand_with_translators_alone_and_caution_against_them(results, notebook, ending, monkeypatch):
    shown = []
    monkeypatch.setattr(
        IPython.display, "display", lambda *things: shown.extend(getattr(one, "data", "") for one in things)
    )
    given = {"results": str(results), "output": str(results / f"table.{ending}"), "n_resamples": 20, "models": []}
    told, _ = answer(notebook, translators=["picto-gated", "picto-text"], **given)
    assert "On pictogram-pairs" in told
    assert any("**Miniature.** picto-gated, picto-text: tiny translators" in str(text) for text in shown)


def test_chapter_39_compares_the_pairs_that_share_items_and_names_the_others(apart):
    given = {"results": str(apart), "output": str(apart / "overlap.csv"), "n_resamples": 20, "permutations": 20}
    told, known = answer("39_errors", models=["one", "other", "lone", "strange"], translators=[], **given)
    assert set(known["pairs"]["kind"]) == {"one and other"}
    assert "lone and strange on pictogram-pairs" in known["lacking"]
    assert len(known["lacking"]) == 5
    assert set(known["gains"]["first"]) == {"one + other"}
    assert set(known["gains"]["langs"]) == {2}
    assert "all 4 CLIP-like on pictogram-pairs" in known["absent"]
    assert " of 2 comparisons and worse in " in told
    told, known = answer("39_errors", models=["lone", "strange"], translators=[], **given)
    assert "no two models" in told
    assert "No two models have an item in common" in known["nothing_shared"]
