"""Leaderboards of real models: which costs lie on a front, and how many pairs differ in
a shorter list.
"""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from atlas_study.chapters import leaderboard
from babelatlas.analysis import own_models
from babelatlas.base import released

BOARD = ("clip_benchmark", "xm3600", "recall@1", "")


def models(rows):
    """The models of a board, the best first: model, value, parameters, licence, date,
    whether above guessing.
    """
    columns = ["model", "value", "parameters", "licence", "date", "above_guessing"]
    table = pd.DataFrame(rows, columns=columns)
    table["date"] = pd.to_datetime(table["date"])
    return table.assign(title=table["model"].str.upper(), text="", metric="recall@1")


def test_scores_of_one_board_are_ranked_by_families_and_by_languages():
    boards = leaderboard.read_boards([BOARD], own="")
    ranked = leaderboard.rank_boards(boards, n_resamples=5, seed=0)
    assert list(ranked["kind"].unique()) == ["families", "languages"]
    best = ranked.iloc[0]
    scores = boards[BOARD]
    means = scores.groupby("model")["value"].mean()
    assert best["model"] == means.idxmax()
    assert best["value"] == pytest.approx(means.max())
    assert best["ranks"].startswith("1 (")
    assert leaderboard.task(BOARD, scores) == "both directions"


def test_a_shorter_list_has_fewer_pairs_and_the_last_one_all():
    rng = np.random.default_rng(0)
    scores = pd.DataFrame(
        [
            (model, lang, 0.9 - 0.3 * place + 0.01 * rng.random())
            for place, model in enumerate(["best", "middle", "worst"])
            for lang in ["de", "fi", "ja", "sw", "th", "tr", "quz"]
        ],
        columns=["model", "lang", "value"],
    )
    scores = scores.assign(n=100, directions=1)
    pairs = pd.DataFrame({"p": [0.01] * 3, "p_adjusted": [0.01, 0.02, 0.2]})
    models = pd.DataFrame({"model": ["best", "middle", "worst"]})
    empty = dict.fromkeys(leaderboard.MainBoard._fields)
    main = leaderboard.MainBoard(**empty | {"models": models, "pairs": pairs})
    table = leaderboard.pairs_by_length({BOARD: scores}, main, [2, 40], 0)
    assert table["pairs"].tolist() == [1, 3]
    assert table["differ significantly"].tolist() == [1, 2]
    assert table["share (%)"].iloc[1] == pytest.approx(200 / 3)


def test_a_front_has_the_models_that_no_smaller_one_beats():
    facts = released.models().dropna(subset=["parameters_m", "gflops"]).head(12)
    table = pd.DataFrame({"model": facts.index, "title": facts["title"].to_numpy()})
    table["value"] = np.linspace(0.9, 0.1, len(table))
    points = leaderboard.cost_points(table)
    for panel, column in leaderboard.COSTS.items():
        rows = points[points["panel"] == panel]
        assert rows["cost"].tolist() == facts[column].tolist()
        on_front = {
            row.name
            for row in rows.itertuples()
            if not ((rows["value"] > row.value) & (rows["cost"] <= row.cost)).any()
        }
        assert set(rows.loc[rows["number"] > 0, "name"]) == on_front


def test_benchmarks_side_by_side_leave_out_image_to_text():
    table, n_languages = leaderboard.side_by_side(1)
    assert n_languages["XM (C)"] == 36
    rows = released.read(harness=BOARD[0], dataset=BOARD[1], metric=BOARD[2])
    rows = released.one_run(rows).query("direction == 't2i'")
    best = table["XM (C)"].idxmax()
    expected = 100 * rows.loc[rows["model"] == best, "value"].mean()
    assert table.loc[best, "XM (C)"] == pytest.approx(expected)


def test_a_front_is_named_from_the_cheapest_model_on():
    points = pd.DataFrame(
        {
            "name": ["large", "small", "bad", "only"],
            "panel": ["parameters (millions)"] * 3 + ["GFLOPs"],
            "cost": [9, 1, 5, 2],
            "number": [1, 2, 0, 1],
        }
    )
    fronts = leaderboard.cost_fronts(points)
    assert fronts == {"parameters": ["small", "large"], "GFLOPs": ["only"]}


def test_a_run_of_models_is_written_as_means_and_as_ranks():
    ranked = pd.DataFrame(
        {
            "model": ["a"],
            "value": [0.5],
            "ci_low": [0.4],
            "ci_high": [0.6],
            "rank": [1],
            "rank_low": [1],
            "rank_high": [2],
        }
    )
    rows = leaderboard.means_and_ranks(ranked).set_index("what")
    assert rows.loc["mean", ["value", "ci_low", "ci_high"]].tolist() == [0.5, 0.4, 0.6]
    assert rows.loc["rank", ["value", "ci_low", "ci_high"]].tolist() == [1, 1, 2]


@pytest.mark.parametrize(
    ("undecided", "end"),
    [
        ([], "every other is significantly below it."),
        (["B"], "it is not significantly better than one other."),
        (["B", "C"], "it is not significantly better than 2 others."),
    ],
)
def test_the_verdict_says_whether_the_first_is_the_best(undecided, end):
    rows = [("a", 0.9, 1, "MIT", "2025-01-01", True)] * 3
    main = SimpleNamespace(models=models(rows), undecided=undecided)
    assert leaderboard.verdict(main, "Crossmodal-3600") == (
        f"A has the highest mean recall@1 of 3 models on Crossmodal-3600; {end}"
    )


def test_a_run_without_real_models_shows_nothing_of_its_own():
    nothing = own_models.scores("", [], [])
    assert leaderboard.show_own(nothing, own_models.boards(nothing, 20, 0), 20, 0) == []


def test_a_runs_models_are_shown_in_a_table_and_several_in_a_figure():
    rows = []
    for model, level in (("openai-b32", 0.3), ("msiglip-b16", 0.5)):
        for place, lang in enumerate(["de", "fi", "ja", "sw", "tr", "th"]):
            row = {"model": model, "lang": lang, "kin": lang, "title": "my-birds"}
            row |= {"dataset": "my-birds", "metric": "accuracy@1", "items": 10}
            rows.append(row | {"value": level + place / 100, "n": 100})
    scores = pd.DataFrame(rows)
    shown = leaderboard.show_own(scores, own_models.boards(scores, 50, 0), 50, 0)
    assert len(shown) == 3
    assert "msiglip-b16 has the highest mean accuracy" in shown[1].data
    assert "1 of 1 pairs of models differ significantly" in shown[2].data
    single = scores[scores["model"] == "openai-b32"]
    boards = own_models.boards(single, 50, 0)
    assert len(leaderboard.show_own(single, boards, 50, 0)) == 2


def test_the_chart_of_costs_marks_the_front_and_leaves_out_models_without_a_cost():
    costs = pd.DataFrame(
        {
            "name": ["a", "b", "c"],
            "panel": "GFLOPs",
            "series": "tower",
            "cost": [1.0, 2.0, None],
            "value": [0.5, 0.4, 0.9],
            "number": [1, 0, 0],
        }
    )
    points = leaderboard.cost_chart(costs, "recall@1")["points"]
    assert [point.get("front") for point in points] == [1, None]
    assert points[0]["text"].endswith("on the Pareto front")
