"""Accuracy with all classes and with a fixed number: the same languages on both sides,
sizes that enough have, and the published means in their order.
"""

import pandas as pd
import pytest

from atlas_study.chapters import rich_and_poor
from babelatlas.base import published
from babelatlas.base.errors import InputError


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
