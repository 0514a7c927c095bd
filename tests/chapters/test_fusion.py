"""Images that change a translation: the best and the worst against all pairs of images,
tried one by one.
"""

from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from atlas_study.chapters import fusion as chapter
from babelatlas.base import tables
from babelatlas.evaluation import disambiguation

RNG = np.random.default_rng(0)
ITEMS = ["bank", "club"]
N_IMAGES = 3
# (item, sense, number, text): the costs of a model in one language.
COSTS = RNG.uniform(1, 3, size=(2, 2, N_IMAGES, 2))


@pytest.fixture
def results(tmp_path):
    """A run of one model on two items with three images of each sense."""
    rows = [
        (ITEMS[item], f"{'ab'[sense]}{number}", "ab"[text], cost)
        for (item, sense, number, text), cost in np.ndenumerate(COSTS)
    ]
    costs = pd.DataFrame(rows, columns=["item", "image", "text", "cost"])
    source = {"model": "mine", "dataset": "commute", "lang": "fr", "replicate": 0}
    source |= {"similarity": "perplexity", "precision": "", "preprocessing": ""}
    costs = costs.assign(**source)
    costs = pd.concat([costs, costs.assign(replicate=1, cost=costs["cost"][::-1])])
    costs = costs[list(tables.SCHEMAS["disambiguation"][0])]
    file = tmp_path / "disambiguation" / "mine_commute.parquet"
    tables.write(costs, file, "disambiguation")

    of_languages = disambiguation.score_intervals(costs, 20)
    whole = of_languages.assign(lang="", group="all")
    scores = pd.concat([of_languages, whole])
    tables.write(scores, tmp_path / "scores" / "disambiguation.parquet", "scores")

    images = costs[["item", "image"]].drop_duplicates()
    images = images.assign(path=images["item"] + images["image"] + ".png")
    (tmp_path / "item_images").mkdir()
    for path in images["path"]:
        Image.new("RGB", (8, 6)).save(tmp_path / "item_images" / path)
    tables.write(images, tmp_path / "item_images" / "commute.parquet", "item_images")
    texts = [
        ("fr", item, sense, "", f"the {item}", f"{item} {sense}")
        for item, sense in product(ITEMS, "ab")
    ]
    columns = list(tables.SCHEMAS["items"][0])
    named = ["lang", "item", "sense", "word", "source", "translation"]
    items = pd.DataFrame(texts, columns=named)[columns]
    tables.write(items, tmp_path / "items" / "commute.parquet", "items")
    return str(tmp_path)


def correct(item, a, b):
    """How many of an item's translations cost less with their own image."""
    of_a, of_b = COSTS[item, 0, a], COSTS[item, 1, b]
    return int(of_a[0] < of_b[0]) + int(of_b[1] < of_a[1])


def test_tables_have_the_columns_of_the_paper_for_a_model_of_ones_own(results):
    rows = chapter.extended(chapter.means(results, ["mine"], ["commute"]))
    choice = chapter.image_choice_table(rows)
    assert list(choice) == [
        "model",
        "worst: IC (%)",
        "worst: GIC (%)",
        "worst: images replaced (%)",
        "best: IC (%)",
        "best: GIC (%)",
        "best: images replaced (%)",
    ]
    translation = chapter.translation_choice_table(rows)
    assert list(translation)[1:] == [
        "original: TC (%)",
        "original: GTC (%)",
        "best: TC (%)",
        "best: GTC (%)",
    ]
    (spread,) = chapter.spreads(rows).itertuples()
    best = rows[(rows["variant"] == "oracle max") & (rows["metric"] == "IC")]
    assert spread.best == best["value"].item()
    assert choice["best: IC (%)"].item().startswith(f"{100 * spread.best:.1f}")
    without = rows[rows["variant"] == "oracle max"]
    without = without.assign(variant=chapter.WITHOUT_PREFIX)
    both = chapter.translation_choice_table(pd.concat([rows, without]))
    assert "best, without prefix: GTC (%)" in both


def test_a_run_without_further_images_has_no_rows(results):
    rows = chapter.means(results, ["mine"], ["commute"])
    rows = rows[~rows["variant"].str.startswith("oracle")]
    assert chapter.extended(rows).empty
    assert chapter.spreads(chapter.extended(rows)).empty
    assert chapter.gates(results, [], rows).empty
    assert chapter.gates(results, ["absent"], rows[:0]).empty


def test_the_images_shown_are_the_best_and_the_worst_of_all_pairs(results):
    found = chapter.replaced(results, "commute", "mine")
    assert found.lang == "fr"
    pairs = list(product(range(N_IMAGES), repeat=2))
    for row in found.items.itertuples(index=False):
        item = ITEMS.index(row[1].removeprefix("the "))
        values = [correct(item, a, b) for a, b in pairs]
        shown = found.images[found.images["item"] == ITEMS[item]]
        n_correct = {}
        for place, kind in enumerate(chapter.KINDS):
            of_kind = shown[shown["kind"] == kind].set_index("sense")["image"]
            numbers = [int(of_kind[sense][1:]) for sense in "ab"]
            n_correct[kind] = correct(item, *numbers)
            assert row[4 + place] == f"{n_correct[kind]} of 2"
        # Of an item GIC is 1 where both are correct, else 0.
        assert (n_correct["best"] == 2) == (max(values) == 2)
        assert (n_correct["worst"] < 2) == (min(values) < 2)
    originals = found.images[found.images["kind"] == "original"]
    assert set(originals["image"]) == {"a0", "b0"}
    pictures, captions = chapter.pictures(found)
    assert len(pictures) == 12
    assert captions[:2] == ["1a original", "1b original"]
    assert captions[-1] == "2b worst"
    assert pictures[0].size == (chapter.SIDE, chapter.SIDE)


def test_without_its_images_a_run_shows_none(results):
    for path in Path(results, "item_images").glob("*0.png"):
        path.unlink()
    assert chapter.replaced(results, "commute", "mine") is None


def test_where_scores_are_independent_one_image_is_guessed_and_many_are_a_choice():
    alone = chapter.guessing(1, seed=0)
    assert alone["best"] == alone["worst"] == pytest.approx(0.5, abs=0.03)
    several = chapter.guessing(5, seed=0)
    assert several["worst"] < 0.2
    assert several["best"] > 0.9


def test_gates_of_trained_translators_stand_next_to_their_scores(results):
    row = {"model": "mine", "trained_on": "multi30k", "gate": "0.25"}
    row |= {"image_model": "openai-b32", "n_examples": 9, "n_parameters": 9, "steps": 9}
    row |= {"loss_first": 5.0, "mean_gate": 0.25, "seconds": 1.0}
    runs = [row | {"replicate": k, "seed": k, "loss_last": 1.0 + k} for k in (0, 1)]
    trainings = pd.DataFrame(runs)[list(tables.SCHEMAS["gated_fusion"][0])]
    file = Path(results) / "gated_fusion" / "mine.parquet"
    tables.write(trainings, file, "gated_fusion")
    rows = chapter.means(results, ["mine"], ["commute"])
    (found,) = chapter.gates(results, ["mine", "other"], rows).to_dict("records")
    assert (found["gate"], found["mean gate"]) == ("0.25", "0.25")
    assert (found["trainings"], found["loss"]) == (2, "1.50")
    assert {"TC (%)", "IC (%)"} <= set(found)
