"""Trials: each translation beside each image of its item, and what it costs a CLIP-like
model.
"""

import numpy as np
import pandas as pd
import pytest

from babelatlas.base.errors import InputError
from babelatlas.evaluation import disambiguation, trials

ITEMS = pd.DataFrame(
    [
        ("de", "x", "a", "king", "king", "König"),
        ("de", "x", "b", "king", "king", "Dame"),
        ("fr", "x", "a", "king", "king", "roi"),
        ("fr", "x", "b", "king", "king", "dame"),
        ("de", "y", "a", "key", "key", "Schlüssel"),
        ("de", "y", "b", "key", "key", "Taste"),
    ],
    columns=["lang", "item", "sense", "word", "source", "translation"],
)
ITEM_IMAGES = pd.DataFrame(
    [
        (item, image, f"{item}_{image}.png")
        for item in "xy"
        for image in ("a0", "b0", "mix")
    ],
    columns=["item", "image", "path"],
)

MADE = {
    "model": "m",
    "replicate": 0,
    "dataset": "d",
    "similarity": "perplexity",
    "precision": "",
    "preprocessing": "",
}


def array_of(table):
    """The items of the one unit of a `disambiguation` table, and its costs (item,
    image, text).
    """
    [(_, part)] = disambiguation.units(table)
    return disambiguation.cost_grid(part, disambiguation.ORIGINALS)


def test_every_translation_stands_beside_every_image_of_its_item():
    found = trials.join(ITEMS, ITEM_IMAGES)
    assert len(found) == 3 * 3 * 2  # language and item, image, translation
    row = found[
        (found["lang"] == "fr") & (found["image"] == "mix") & (found["text"] == "b")
    ].iloc[0]
    assert list(row) == ["fr", "x", "mix", "x_mix.png", "b", "king", "dame"]


def test_costs_are_minus_the_similarity_of_text_and_image():
    joined = trials.join(ITEMS, ITEM_IMAGES)
    shown = ITEMS[["lang", "translation"]].drop_duplicates(ignore_index=True)
    paths = joined["path"].drop_duplicates().tolist()
    rng = np.random.default_rng(0)
    texts, images = rng.normal(size=(len(shown), 4)), rng.normal(size=(len(paths), 4))
    for rule in ("cosine", "dot product"):
        found = trials.similarities(joined, texts, images, shown, paths, rule)
        for (_, row), cost in zip(joined.iterrows(), found["cost"], strict=True):
            text = texts[
                shown.index[
                    (shown["lang"] == row["lang"])
                    & (shown["translation"] == row["translation"])
                ][0]
            ]
            image = images[paths.index(row["path"])]
            length = (
                np.linalg.norm(text) * np.linalg.norm(image) if rule == "cosine" else 1
            )
            assert cost == pytest.approx(-(text @ image) / length)


class Letters:
    """A scorer whose tokens are letters and an end; what is about the image's own sense
    is more likely.
    """

    def __init__(self):
        self.calls = []

    def tokenize(self, translations, langs):
        return [[*map(ord, text), 0] for text in translations]

    def score(self, images, sources, translations, langs, temperatures=(1.0,)):
        self.calls.append(list(zip(images, sources, translations, langs, strict=True)))
        likely = [-0.1 if image.split("_")[1][0] == "a" else -0.5 for image in images]
        return [
            np.array([[value / one] * (len(text) + 1) for one in temperatures])
            for value, text in zip(likely, translations, strict=True)
        ]


def test_a_translator_scores_each_different_trial_once_at_all_temperatures():
    scorer = Letters()
    both = ITEMS.assign(
        translation=["dame", "damen", "roi", "dame", "Schlüssel", "Schlüssel"]
    )
    joined = trials.join(both, ITEM_IMAGES)
    costs, tokens = trials.perplexities(scorer, joined, [0.5])
    assert len(costs) == len(joined)
    assert costs[["lang", "item", "image", "text"]].equals(
        joined[["lang", "item", "image", "text"]]
    )
    calls = [one for call in scorer.calls for one in call]
    assert (
        len(calls) == len(set(calls)) == len(joined) - 3
    )  # "Schlüssel" is both translations of y
    given_a = costs[costs["image"] == "a0"]["cost"]
    np.testing.assert_allclose(given_a, np.exp(0.1))
    assert set(tokens.loc[tokens["image"] == "mix", "temperature"]) == {1.0}
    assert set(tokens.loc[tokens["image"] == "a0", "temperature"]) == {0.5, 1.0}
    shared = tokens.drop_duplicates(["lang", "item"]).set_index(["lang", "item"])[
        "shared"
    ]
    assert shared.to_dict() == {("de", "x"): 4, ("fr", "x"): 0, ("de", "y"): 10}
    variants = disambiguation.score_intervals(
        costs.assign(**MADE), 10, 0, tokens.assign(**MADE)
    )["variant"]
    assert set(variants) == {"", "mix", "without prefix", "temperature 0.5"}


def test_two_files_of_scores_hold_all_costs_of_the_originals():
    lines = ITEMS[ITEMS["lang"] == "de"].reset_index(drop=True)
    correct, incorrect = np.array([1.0, 2.0, 3.0, 4.0]), np.array([5.0, 1.0, 7.0, 8.0])
    costs = trials.from_lines(correct, incorrect, lines)
    items, grid = array_of(costs.assign(**MADE))
    assert items.tolist() == ["x", "y"]
    assert grid.tolist() == [[[1, 5], [1, 2]], [[3, 7], [8, 4]]]
    assert disambiguation.tc(grid).mean() == np.mean(
        correct < incorrect
    )  # what CoMMuTE's own script prints
    with pytest.raises(InputError, match="have 3 and 4 lines, and the data set has 4"):
        trials.from_lines(correct[:3], incorrect, lines)


def test_files_of_scores_give_their_costs_and_what_the_data_set_itself_reports(
    tmp_path,
):
    lines = ITEMS[ITEMS["lang"] == "de"].reset_index(drop=True)
    correct, incorrect = np.array([1.0, 2.0, 3.0, 4.0]), np.array([5.0, 1.0, 7.0, 8.0])
    np.savetxt(tmp_path / "correct", correct)
    np.savetxt(tmp_path / "incorrect", incorrect)
    costs, note = trials.from_files(
        tmp_path / "correct", tmp_path / "incorrect", lines, {"x"}
    )
    whole = trials.from_lines(correct, incorrect, lines)
    assert costs.equals(whole[whole["item"] == "y"])
    assert (
        note == "the data set's own script gives 0.7500 over 4 lines; items left out: 1"
    )


def test_two_files_of_scores_for_each_training_are_replicates(tmp_path):
    lines = ITEMS[ITEMS["lang"] == "de"].reset_index(drop=True)
    by_run = {"first": ([1, 2, 3, 4], [5, 1, 7, 8]), "second": ([1, 1, 1, 1], [2] * 4)}
    files = []
    for name, sides in by_run.items():
        for side, values in zip(("correct", "incorrect"), sides, strict=True):
            np.savetxt(tmp_path / f"{name}-{side}", values)
            files.append(tmp_path / f"{name}-{side}")
    nothing = pd.DataFrame(columns=["lang", "item"])
    costs, notes = trials.from_runs(files, ["de", "de"], lines, nothing)
    assert len(notes) == 2
    source = {name: MADE[name] for name in MADE if name != "replicate"}
    scores = disambiguation.score_intervals(costs.assign(**source), 20)
    tc = scores[(scores["metric"] == "TC") & (scores["variant"] == "")]
    assert tc["value"].tolist() == [(0.75 + 1) / 2]  # the mean over the trainings
