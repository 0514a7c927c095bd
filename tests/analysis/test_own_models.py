"""The results of a run's own real models: which run has some, which is best and by how
much, next to published results, and in which languages they are usable.
"""

import numpy as np
import pandas as pd
import pytest

from babelatlas.analysis import own_models
from babelatlas.base import languages, published, tables
from conftest import filled

LANGS = ["en", "de", "fi", "hu", "ja", "sw", "th", "tr", "ta", "eu", "ka", "zh"]
REAL = ["openai-b32", "msiglip-b16"]
PROTOCOL = {"similarity": "cosine", "precision": "float32", "preprocessing": "model"}


def scores(
    model: str,
    level: float,
    dataset: str = "imagenet-1k",
    metric: str = "accuracy@1",
    items: int = 1000,
    langs: list[str] = LANGS,
) -> list[dict]:
    """Scores of a model that fall a little from language to language."""
    task = "zeroshot" if metric.startswith("accuracy") else "retrieval"
    rows = []
    for place, lang in enumerate(langs):
        value = level - 0.01 * place
        row = {"task": task, "model": model, "dataset": dataset, "lang": lang}
        row |= {"metric": metric, "value": value, "n": 10 * items, "items": items}
        row |= {"ci_low": value - 0.01, "ci_high": value + 0.01}
        rows.append(row | PROTOCOL)
    return rows


def written(folder, rows: list[dict]) -> str:
    """The path of a table of scores."""
    path = folder / "languages.parquet"
    tables.write(filled("languages", rows), path, "languages")
    return str(path)


@pytest.fixture
def found(tmp_path) -> pd.DataFrame:
    """Two real models, of which the second is better everywhere, and one of the
    miniature.
    """
    rows = [*scores("openai-b32", 0.5), *scores("msiglip-b16", 0.6)]
    rows += scores("picto-en", 0.9)
    rows += scores("msiglip-b16", 0.4, "xm3600", "t2i recall@1", 3600)
    names = ["picto-en", *REAL]
    return own_models.scores(written(tmp_path, rows), names, ["xm3600", "imagenet-1k"])


def test_the_scores_are_of_real_models_in_the_order_of_the_configs_data_sets(found):
    assert set(found["model"]) == set(REAL)
    assert list(dict.fromkeys(found["title"])) == ["xm3600, t2i", "imagenet-1k"]
    assert set(found["group"]) <= {*languages.GROUPS, "English", "not in the paper"}


def test_a_run_of_the_miniature_or_without_a_table_has_no_scores(tmp_path):
    path = written(tmp_path, scores("picto-en", 0.9))
    assert own_models.scores(path, ["picto-en"], ["imagenet-1k"]).empty
    assert own_models.scores("", REAL, ["imagenet-1k"]).empty
    assert own_models.scores(str(tmp_path / "none.parquet"), REAL, ["x"]).empty
    assert own_models.scores(path, REAL, ["imagenet-1k"]).empty
    nothing = own_models.scores("", [], [])
    assert own_models.boards(nothing, 20, 0).empty
    assert own_models.group_means(nothing, 20, 0).empty
    assert own_models.judged(nothing, tables.empty("curves")).empty
    assert own_models.lead(own_models.boards(nothing, 20, 0)) == ""
    assert own_models.task_lacking(nothing) == ""


def test_a_control_that_holds_classes_out_is_not_compared(tmp_path):
    names = ["bridge-lite2", "bridge-lite2-folds"]
    rows = [row for name in names for row in scores(name, 0.4, "imagenet-photos")]
    table = own_models.scores(written(tmp_path, rows), names, ["imagenet-photos"])
    assert set(table["model"]) == {"bridge-lite2"}


def test_the_best_model_leads_and_differs_where_it_is_better_in_every_family(found):
    boards = own_models.boards(found, 200, 0).set_index("title", drop=False)
    row = boards.loc["imagenet-1k"]
    assert row["best"] == "msiglip-b16"
    assert row["value"] == pytest.approx(0.6 - 0.01 * np.mean(range(len(LANGS))))
    assert row["gap"] == pytest.approx(0.1)
    assert (row["pairs"], row["different"]) == (1, 1)
    assert row["who"] == "msiglip-b16 – openai-b32"
    lead = own_models.lead(boards.loc[["imagenet-1k"]])
    assert lead.startswith(
        "On imagenet-1k, msiglip-b16 has the highest mean accuracy of this run's"
        " models, 54.5 %"
    )
    assert "over 12 languages, significantly" in lead
    assert lead.endswith("significantly higher than that of the next.")


def test_a_model_that_shares_few_languages_is_left_out_and_named(tmp_path):
    third = scores("st-mbert-b32", 0.9)[:1]
    other = [row | {"lang": "ko"} for row in scores("openai-l14", 0.9)[:1]]
    rows = [*scores("openai-b32", 0.5), *scores("msiglip-b16", 0.6), *third, *other]
    names = [*REAL, "st-mbert-b32", "openai-l14"]
    table = own_models.scores(written(tmp_path, rows), names, ["imagenet-1k"])
    row = own_models.boards(table, 50, 0).iloc[0]
    assert (row["best"], row["n"], row["models"]) == ("msiglip-b16", len(LANGS), 2)
    assert row["left_out"] == "openai-l14; st-mbert-b32"
    assert set(own_models.group_means(table, 50, 0)["model"]) == set(REAL)


def test_no_model_is_the_best_where_means_are_the_same(tmp_path):
    rows = [*scores("openai-b32", 0.5), *scores("msiglip-b16", 0.5)]
    table = own_models.scores(written(tmp_path, rows), REAL, ["imagenet-1k"])
    lead = own_models.lead(own_models.boards(table, 50, 0))
    assert "several of this run's models share the highest mean" in lead


def test_one_model_is_compared_with_nothing_and_says_its_mean(found):
    boards = own_models.boards(found, 200, 0).set_index("title", drop=False)
    row = boards.loc["xm3600, t2i"]
    assert (row["second"], row["pairs"]) == ("", 0)
    lead = own_models.lead(boards.loc[["xm3600, t2i"]])
    assert lead.startswith(
        "On xm3600 (text to image), msiglip-b16 reaches a mean recall@1"
    )
    assert "over 12 languages in this run" in lead
    table = own_models.board_table(boards.loc[["xm3600, t2i"]])
    assert "minus the next (points)" not in table
    both = own_models.board_table(boards).set_index("data set")
    assert both.loc["xm3600, t2i", "minus the next (points)"] == "–"
    text = both.loc["imagenet-1k", "minus the next (points)"]
    assert text == "10.0 (10.0–10.0), openai-b32"


def test_too_few_families_are_named_where_no_pair_could_differ(found):
    few = found[found["lang"].isin(["de", "fi", "ja"])]
    boards = own_models.boards(few[few["title"] == "imagenet-1k"], 50, 0)
    assert not boards["possible"].any()
    table = own_models.board_table(boards)
    assert table["pairs that differ"].tolist() == ["too few families"]


def test_published_results_are_of_the_same_languages(found):
    board = found[found["title"] == "imagenet-1k"]
    beside = own_models.beside_published(board)
    theirs = published.accuracy_by_language()
    theirs = theirs[theirs["lang"].isin(LANGS)]
    means = theirs.groupby("model")["value"].mean()
    assert beside["published"] == means.idxmax()
    assert beside["published_value"] == pytest.approx(means.max())
    assert beside["n_published"] == theirs["lang"].nunique()
    assert own_models.published_scores("my-birds", "accuracy@1").empty
    other = own_models.beside_published(board.assign(dataset="my-birds"))
    assert (other["published"], other["n_published"]) == ("", 0)


def test_means_of_groups_are_those_of_their_languages(found):
    means = own_models.group_means(found, 50, 0)
    board = found[(found["title"] == "imagenet-1k") & (found["model"] == REAL[0])]
    by_hand = board.groupby("group")["value"].mean()
    rows = means[means["model"] == REAL[0]].set_index("group")["value"]
    assert rows.to_dict() == pytest.approx(by_hand.to_dict())


def judged_with(curve_value: float, **english) -> pd.DataFrame:
    """German with 500 classes, English with 1,000, and its curve at 500."""
    rows = scores("openai-b32", 0.4, items=500, langs=["de"])
    rows += scores("openai-b32", 0.5, langs=["en"])
    found = pd.DataFrame(rows).assign(title="imagenet-1k", language="x")
    found.loc[found["lang"] == "en", list(english)] = list(english.values())
    curve = {"model": "openai-b32", "dataset": "imagenet-1k", "lang": "en"}
    curve |= {"n_classes": 500, "value": curve_value}
    curve |= {"ci_low": curve_value - 0.01, "ci_high": curve_value + 0.01}
    return own_models.judged(found, filled("curves", [curve]))


def test_a_language_is_judged_by_english_among_as_many_classes():
    row = judged_with(0.6).iloc[0]
    assert row["reference"] == 0.6  # not 0.5, which English has among 1,000
    assert row["share"] == pytest.approx((0.4 - 1 / 500) / (0.6 - 1 / 500))
    assert row["verdict"] == "usable"
    assert judged_with(0.79).iloc[0]["verdict"] == "borderline"
    assert judged_with(0.95).iloc[0]["verdict"] == "hardly usable"
    lead = own_models.lead_of_judged(judged_with(0.6))
    assert lead == (
        "On imagenet-1k, a model of this run is usable in 1 of 1 language other than"
        " English."
    )


def test_without_english_among_as_many_classes_nothing_is_decided():
    found = judged_with(0.6)
    empty = own_models.judged(
        pd.DataFrame(scores("openai-b32", 0.4, langs=["de"])).assign(
            title="imagenet-1k", language="German"
        ),
        tables.empty("curves"),
    )
    assert empty["verdict"].tolist() == ["not decided"]
    assert own_models.lead_of_judged(empty) == ""
    # English at the level of guessing is no measure.
    guessing = judged_with(0.002)
    assert guessing["verdict"].tolist() == ["not decided"]
    assert own_models.judged_table(guessing)["share (%)"].tolist() == ["–"]
    counts = own_models.judged_counts(found).iloc[0]
    assert (counts["languages"], counts["usable"]) == (1, 1)


def test_a_run_with_one_task_says_which_validation_it_lacks(found):
    assert own_models.task_lacking(found) == ""
    one = own_models.task_lacking(found[found["task"] == "retrieval"])
    assert one.startswith("This run has results of retrieval alone")
    assert "a data set for classification under `datasets`" in one
    assert one.count(".") == 1


def test_curves_are_those_of_the_runs_real_models(tmp_path, found):
    row = {"model": REAL[0], "dataset": "imagenet-1k", "lang": "en", "n_classes": 2}
    path = tmp_path / "curves" / f"{REAL[0]}_imagenet-1k.parquet"
    tables.write(filled("curves", [row]), path, "curves")
    curves = own_models.curves(tmp_path, found)
    assert curves["model"].tolist() == [REAL[0]]
    assert own_models.curves(tmp_path / "none", found).empty
