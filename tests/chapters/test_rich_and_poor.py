"""Accuracy with all classes and with a fixed number: the same languages on both sides,
sizes that enough have, and the published means in their order.
"""

import pandas as pd
import pytest

from atlas_study.chapters import rich_and_poor
from babelatlas.base import published, tables
from babelatlas.base.errors import InputError
from conftest import filled


def curve(model: str, lang: str, all_classes: int, *sizes: int) -> pd.DataFrame:
    """A model's accuracy in a language: 0.1 with all classes, and 0.4 with fewer."""
    rows = [(model, lang, all_classes, 0.1)]
    rows += [(model, lang, size, 0.4) for size in sizes if size < all_classes]
    return pd.DataFrame(rows, columns=["model", "lang", "n_classes", "value"]).assign(
        dataset="photographs"
    )


@pytest.fixture
def table():
    """Khmer has 77 classes in all, Welsh 50 in all, and only three languages have more
    than 100.
    """
    languages = {"km": 77, "cy": 50, "de": 400, "hi": 300, "sw": 200}
    parts = [curve("a", lang, full, 20, 50, 100) for lang, full in languages.items()]
    return pd.concat([*parts, curve("a", "en", 1000, 20, 50, 100)], ignore_index=True)


def test_a_size_is_offered_where_enough_languages_have_as_many_classes(table):
    table = rich_and_poor.of_models(table, "photographs", ["a"])
    # 77 is all that one language has.
    assert rich_and_poor.sizes_offered(table, 4) == [20, 50]
    assert rich_and_poor.sizes_offered(table, 3) == [20, 50, 100]


def test_the_same_languages_stand_on_both_sides(table):
    table = pd.concat(
        [table, curve("b", "de", 400, 50), curve("b", "sw", 30)], ignore_index=True
    )
    both = rich_and_poor.all_and_fixed(
        rich_and_poor.of_models(table, "photographs", ["a"]), 50
    )
    sides = both.groupby("series")["lang"].agg(set)
    assert sides["all classes"] == sides["50 classes"] == {"km", "cy", "de", "hi", "sw"}
    assert both.query("lang == 'de'").set_index("series")["value"].to_dict() == {
        "all classes": 0.1,
        "50 classes": 0.4,
    }
    assert both.query("lang == 'cy'")["value"].tolist() == [
        0.1,
        0.1,
    ]  # it has 50 in all

    models = rich_and_poor.all_and_fixed(
        rich_and_poor.of_models(table, "photographs", ["a", "b"]), 50
    )
    assert set(models["lang"]) == {"de"}  # Swahili has fewer for one of the models
    assert models.groupby("series")["model"].agg(list).tolist() == [
        ["a", "b"],
        ["a", "b"],
    ]


def test_a_run_that_lacks_the_size_shows_what_ships_and_a_size_that_nothing_has_is_refused(
    table,
):
    own, shipped = (
        curve("mine", "de", 400, 50),
        rich_and_poor.of_models(table, "photographs", []),
    )
    assert rich_and_poor.of_run_or_shipped(own, shipped, 50, 2) is shipped
    assert rich_and_poor.of_run_or_shipped(shipped, own, 50, 2) is shipped
    with pytest.raises(
        InputError,
        match=r"among 77 classes .* at least 2 languages.*: give one of 20, 50, 100\.$",
    ):
        rich_and_poor.of_run_or_shipped(own, shipped, 77, 2)
    with pytest.raises(InputError, match="another data set"):
        rich_and_poor.of_run_or_shipped(own[:0], own[:0], 50, 2)


def test_models_stand_in_the_order_asked_for_and_english_is_left_out(table):
    table = pd.concat([table, curve("b", "de", 400)], ignore_index=True)
    shown = rich_and_poor.of_models(table, "photographs", ["b", "nowhere", "a"])
    assert shown.groupby("model")["order"].first().to_dict() == {"b": 0, "a": 1}
    assert set(rich_and_poor.of_models(table, "photographs", ["nowhere"])["model"]) == {
        "a",
        "b",
    }
    assert "en" not in set(shown["lang"])


def test_published_rows_stand_from_small_models_to_large_and_from_few_labels_to_many():
    accuracy = rich_and_poor.published_accuracy("geigle2024")
    assert list(accuracy["model"].unique()) == published.models()["model"].tolist()
    for _, rows in accuracy.groupby("model"):
        assert list(rows["group"].unique()) == rich_and_poor.GROUPS
    german = accuracy[accuracy["lang"] == "de"]
    assert set(german["family"]) == {"Indo-European"}

    means = rich_and_poor.published_means("geigle2024")
    assert means["model"].nunique() == 11
    first = means[means["group"] == "high"].head(2)
    assert first["series"].tolist() == list(rich_and_poor.TABLES.values())


def test_group_means_are_over_the_languages_of_a_group(table):
    scores = table.assign(order=0)
    means = rich_and_poor.means_by_group(
        rich_and_poor.of_models(scores, "photographs", ["a"]), 50, n_resamples=20
    )
    means = means.set_index(["series", "group"])
    # Khmer and Welsh have at most 100 classes; with 50 Khmer has 0.4 and Welsh 0.1.
    assert means.loc[("50 classes", "very low"), "value"] == pytest.approx(0.25)
    assert means.loc[("all classes", "very low"), "value"] == pytest.approx(0.1)
    assert means.loc[("50 classes", "very low"), "n"] == 2


def curves_of_run(folder, classes: dict[str, int]) -> pd.DataFrame:
    """Scores of a model with curves in languages with so many classes: accuracy among
    100 classes is 0.9 where all are many and 0.5 where they are few, and 0.2 less among
    all of them.
    """
    rows = []
    for lang, full in classes.items():
        level = 0.9 if full > 666 else 0.5
        for n_classes, value in ((100, level), (full, level - 0.2)):
            row = {"model": "openai-b32", "dataset": "imagenet-1k", "lang": lang}
            rows.append(row | {"n_classes": n_classes, "value": value})
    path = folder / "curves" / "openai-b32_imagenet-1k.parquet"
    tables.write(filled("curves", rows), path, "curves")
    scores = pd.DataFrame(rows).assign(metric="accuracy@1", task="zeroshot")
    return scores.drop_duplicates("lang")


def test_the_gap_of_a_run_is_that_between_its_groups_with_equal_classes(tmp_path):
    classes = {"de": 700, "fi": 800, "ja": 900, "sw": 200, "th": 300, "km": 250}
    scores = curves_of_run(tmp_path, classes | {"en": 1000})
    gap = rich_and_poor.own_gap(tmp_path, scores, "", 100, 200, 0)
    assert (gap.dataset, gap.n_languages) == ("imagenet-1k", 6)
    assert gap.gaps["series"].tolist() == ["all classes", "100 classes"]
    assert gap.gaps["value"].tolist() == pytest.approx([0.4, 0.4])
    lead = rich_and_poor.own_lead(gap, 26.1)
    assert lead.startswith(
        "With equal numbers of classes, this run's models are 40.0 points (40.0 to 40.0)"
        " less accurate in languages with few labels"
    )
    assert lead.endswith("published models are 26 less.")
    finding = rich_and_poor.own_finding(gap, 11.3, 26.1)
    assert "40.0 (40.0 to 40.0) points with 100 classes" in finding


def test_a_run_that_lacks_the_data_set_shows_the_photographs_that_ship():
    nothing = pd.DataFrame()
    gap = rich_and_poor.OwnGap("imagenet-1k", nothing, nothing, 5)
    assert rich_and_poor.shown_dataset(gap, "imagenet-1k", 5) == "imagenet-1k"
    assert rich_and_poor.shown_dataset(gap, "imagenet-1k", 6) == "imagenet-photos"
    assert rich_and_poor.shown_dataset(gap, "imagenet-v2", 5) == "imagenet-photos"
    assert rich_and_poor.shown_dataset(gap, "tuxpaint-nouns", 5) == "tuxpaint-nouns"


def test_a_gap_the_other_way_round_is_said_so():
    gaps = {"series": ["100 classes"], "value": [-0.02]}
    gaps = pd.DataFrame(gaps | {"ci_low": [-0.05], "ci_high": [0.01]})
    gap = rich_and_poor.OwnGap("x", pd.DataFrame(), gaps, 4)
    lead = rich_and_poor.own_lead(gap, 26)
    assert "are 2.0 points (−1.0 to 5.0) more accurate" in lead


def test_a_run_without_curves_or_without_both_groups_says_so(tmp_path):
    options = {"dataset": "", "size": 100, "n_resamples": 20, "seed": 0}
    assert rich_and_poor.read_own(tmp_path, "", ["picto-en"], [], **options) is None
    assert rich_and_poor.own_text(None, 100) == rich_and_poor.own_lead(None, 26) == ""
    nothing = pd.DataFrame(columns=["metric", "model", "dataset"])
    gap = rich_and_poor.own_gap(tmp_path, nothing, **options)
    assert gap.means.empty
    assert "no accuracies among 100 classes" in rich_and_poor.own_text(gap, 100)
    assert rich_and_poor.own_lead(gap, 26) == ""
    one_group = curves_of_run(tmp_path, {"de": 700, "fi": 800})
    gap = rich_and_poor.own_gap(tmp_path, one_group, "", 100, 20, 0)
    assert gap.gaps.empty
    assert rich_and_poor.own_lead(gap, 26) == ""
    assert "2 languages" in rich_and_poor.own_finding(gap, 11, 26)
    assert "no languages with few labels and with many" in rich_and_poor.own_text(
        gap, 100
    )
    too_many = rich_and_poor.own_gap(tmp_path, one_group, "", 5_000, 20, 0)
    assert too_many.means.empty


def test_a_loss_is_the_mean_where_labels_are_many_minus_that_where_they_are_few():
    accuracy = pd.DataFrame(
        {
            "model": ["a"] * 4,
            "group": ["high", "high", "low", "very low"],
            "family": ["f", "g", "g", "h"],
            "value": [0.5, 0.7, 0.2, 0.0],
        }
    )
    lost = rich_and_poor.losses(accuracy, "low", n_resamples=100, seed=0)
    assert lost["value"].tolist() == pytest.approx([40.0])
    assert lost["ci_low"].iloc[0] <= 40 <= lost["ci_high"].iloc[0]


def test_losses_stand_with_their_mean_first_and_have_no_interval_by_model_with_100_classes():
    models = published.models()["model"].head(3)
    gap = pd.DataFrame(
        {"with all": [1.0, 2.0, 3.0], "with 100": [4.0, 5.0, 6.0]},
        pd.Index(models, name="model"),
    )
    with_all = pd.DataFrame({"model": models, "ci_low": 0.0, "ci_high": 5.0})
    table = rich_and_poor.losses_by_classes(with_all, gap, n_resamples=50, seed=0)
    assert table["model"].iloc[0] == "mean of 3 models"
    assert table.groupby("series", sort=False)["value"].first().tolist() == [2.0, 5.0]
    with_100 = table[table["series"] == rich_and_poor.TABLES["3"]]
    assert with_100["ci_low"].isna().tolist() == [False, True, True, True]
