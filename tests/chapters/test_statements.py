"""The statements of a run: counted, worded, answered by semantic field, labelled."""

from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from PIL import Image

from atlas_study.chapters import statements
from babelatlas.base import tables
from conftest import filled

FAST = {"n_resamples": 100, "seed": 0}
# Statement -> concept, field, text as written, translation.
WRITTEN = {
    "s0": ("paka", "Animal", "paka wawili", "two cats"),
    "s1": ("mbwa", "Animal", "mbwa wawili", "two dogs"),
    "s2": ("chai", "Food", "kikombe cha chai", "a cup of tea"),
    "s3": ("wali", "Food", "wali", "rice"),
}


def pairs(root="images"):
    """Four statements in Swahili with four pairs each, as written and translated."""
    rows = []
    forms = ((2, "original"), (3, "translate-test"))
    for (place, variant), name, number in product(forms, WRITTEN, range(4)):
        concept, field = WRITTEN[name][:2]
        rows.append(
            {
                "variant": variant,
                "lang": "sw",
                "statement": name,
                "number": number,
                "text": WRITTEN[name][place],
                "left": f"{root}/{concept}-{number}.png",
                "right": f"{root}/{concept}-{number + 4}.png",
                "concept": concept,
                "chapter": field,
            }
        )
    table = filled("pairs", rows)
    return table.assign(truth=table["number"] < 2)


def judged():
    return pairs().assign(dataset="marvl")


def answers(right):
    """A model's answers to the statements as written: which are right, by statement."""
    rows = pairs()
    rows = rows[rows["variant"] == "original"]
    correct = np.array(
        [
            number < right[name]
            for name, number in zip(rows["statement"], rows["number"], strict=True)
        ]
    )
    table = rows.assign(answer=np.where(correct, rows["truth"], ~rows["truth"]))
    return filled("answers", table).assign(
        model="m",
        dataset="marvl",
        truth=table["truth"].to_numpy(),
        answer=table["answer"].to_numpy(bool),
    )


def test_statements_of_a_run_are_those_that_are_judged(tmp_path):
    for name in ("marvl", "nlvr2-train"):
        tables.write(pairs(), tmp_path / f"pairs/{name}.parquet", "pairs")
    found = statements.statements(tmp_path)
    assert set(found["dataset"]) == {"marvl"}
    assert found["left"][0] == str(tmp_path / "pairs/images/paka-0.png")


def test_a_run_without_statements_says_so_in_one_sentence(tmp_path):
    tmp_path.joinpath("pairs").mkdir()
    none = statements.statements(tmp_path)
    tests = statements.fields_compared(
        statements.with_fields(tables.empty("answers"), none), 20, 0
    )
    sentence = statements.verdict(none, tests)
    assert sentence.startswith("This run has no statements about pairs of images: name")
    assert sentence.count(".") == 1


def test_concepts_images_pairs_and_statements_are_counted_by_language():
    row = statements.sizes(judged()).iloc[0]
    assert (row["concepts"], row["images"], row["pairs"], row["statements"]) == (
        4,
        32,
        16,
        4,
    )
    assert row["true of two of four pairs (%)"] == 100
    odd = judged()
    odd.loc[0, "truth"] = False
    share = statements.sizes(odd)["true of two of four pairs (%)"].item()
    assert share == 75


def test_length_types_and_ratio_are_those_of_a_count_by_hand():
    words = statements.lengths(judged())
    assert words["words"].tolist() == [2, 2, 3, 1]
    row = statements.wording(words, **FAST).iloc[0]
    # paka wawili mbwa kikombe cha chai wali: seven types of eight words.
    assert (row["value"], row["types"], row["ratio"]) == (2, 7, 7 / 8)
    assert row["types_alike"] == pytest.approx(7)
    shown = statements.wording_table(statements.wording(words, **FAST))
    assert shown["type-to-token ratio"].item() == "0.88"


def test_types_are_compared_for_as_many_statements():
    other = judged().assign(lang="tr")
    one = other[other["statement"] == "s0"]
    words = statements.lengths(pd.concat([judged(), one]))
    found = statements.wording(words, **FAST).set_index("language")
    # One statement of four at random has 2, 2, 3 or 1 types.
    assert found["types_alike"].to_dict() == pytest.approx({"Swahili": 2, "Turkish": 2})
    assert np.isnan(found.loc["Turkish", "ci_low"])


def test_languages_whose_words_nothing_parts_are_named_and_not_counted():
    japanese = judged().assign(lang="ja")
    assert statements.lengths(japanese).empty
    assert statements.not_cut(japanese).endswith("without spaces: Japanese.")
    assert statements.not_cut(judged()) == ""


def test_accuracy_by_field_is_the_share_of_right_answers_over_concepts():
    right = {"s0": 4, "s1": 3, "s2": 2, "s3": 1}
    answered = statements.with_fields(answers(right), judged())
    found = statements.accuracy_by_field(answered, ["model", "chapter"], **FAST)
    found = found.set_index("chapter")
    assert found["value"].to_dict() == {
        "Animal": 7 / 8,
        "Food": 3 / 8,
        "all fields": 10 / 16,
    }
    assert found["n_concepts"].to_dict() == {"Animal": 2, "Food": 2, "all fields": 4}
    assert found["n"].to_dict() == {"Animal": 8, "Food": 8, "all fields": 16}


def test_intervals_of_fields_resample_whole_concepts():
    rng = np.random.default_rng(1)
    rows = [
        (f"c{concept}", number, is_right)
        for concept, is_right in enumerate([True] * 7 + [False] * 5)
        for number in range(10)
    ]
    answered = pd.DataFrame(rows, columns=["concept", "number", "correct"])
    answered = answered.assign(lang="sw", model="m", chapter="Animal")
    options = {"n_resamples": 4000, "seed": 0}
    found = statements.accuracy_by_field(answered, ["model", "chapter"], **options)
    by_concept = answered.groupby("concept")["correct"].mean().to_numpy()
    drawn = [rng.choice(by_concept, 12).mean() for _ in range(4000)]
    # Of twelve concepts the percentiles are a little wider than the plain ones.
    low, high = np.percentile(drawn, [1.5, 98.5])
    row = found.iloc[0]
    assert (row["ci_low"], row["ci_high"]) == pytest.approx((low, high), abs=0.1)


def test_translated_statements_have_the_field_of_their_original():
    translated = answers(dict.fromkeys(WRITTEN, 4)).assign(variant="translate-test")
    answered = statements.with_fields(translated, judged())
    assert answered["chapter"].tolist() == ["Animal"] * 8 + ["Food"] * 8


def test_fields_are_compared_by_giving_the_concepts_other_fields():
    right = {"s0": 4, "s1": 4, "s2": 0, "s3": 0}
    answered = statements.with_fields(answers(right), judged())
    row = statements.fields_compared(answered, 600, 0).iloc[0]
    assert (row["n_fields"], row["n_concepts"], row["spread"]) == (2, 4, 50)
    # Of the six ways to give two of four concepts a field, two are as extreme.
    assert row["p"] == pytest.approx(1 / 3, abs=0.06)
    verdict = statements.verdict(judged(), statements.fields_compared(answered, 20, 0))
    assert "fields of statements in none of 1 test by" in verdict


def test_what_cannot_be_compared_is_left_out_and_the_takeaway_says_why():
    alone = judged().assign(chapter="Animal")
    right = dict.fromkeys(WRITTEN, 2)
    compared = statements.fields_compared(
        statements.with_fields(answers(right), alone), 20, 0
    )
    assert compared.empty
    sentence = statements.verdict(judged().assign(chapter=""), compared)
    assert sentence == (
        "This run has 4 statements about pairs of images in 1 language; accuracy by"
        " semantic field is not shown, since the data set gives no fields."
    )


def test_a_table_by_language_ends_with_all_fields():
    right = {"s0": 4, "s1": 3, "s2": 2, "s3": 1}
    answered = statements.with_fields(answers(right), judged())
    by = ["dataset", "model", "language", "chapter"]
    table = statements.fields_table(statements.accuracy_by_field(answered, by, **FAST))
    assert table["semantic field"].tolist() == ["Animal", "Food", "all fields"]
    assert table["Swahili"].str.partition(" ")[0].tolist() == ["87.5", "37.5", "62.5"]


def test_people_agree_as_the_formulas_of_accuracy_and_fleiss_kappa_say(tmp_path):
    rows = pairs()
    rows = rows[rows["variant"] == "original"]
    first = rows.assign(rater="a", label=rows["truth"])
    second = rows.assign(rater="b", label=rows["truth"])
    second.loc[second.index[:2], "label"] = ~second["truth"][:2]
    columns = ["lang", "statement", "number", "rater", "label"]
    path = tmp_path / "labels.csv"
    pd.concat([first, second])[columns].to_csv(path, index=False)
    labels = statements.labels_of_people(str(path), judged())
    row = statements.agreement(labels, **FAST).iloc[0]
    assert row["accuracy of people (%)"].startswith("93.8 (")
    # Three labels of 16 pairs with the writer's: 14 agree, two are two against one.
    agree = (14 * 1 + 2 * (1 / 3)) / 16
    share = (3 * 8 - 2) / 48  # of labels "true"
    by_chance = share**2 + (1 - share) ** 2
    kappa = (agree - by_chance) / (1 - by_chance)
    assert row["Fleiss' kappa"].startswith(f"{kappa:.3f} (")
    assert (row["labels of a pair"], row["pairs"]) == (2, 16)
    assert statements.without_labels(labels) == ""
    none = statements.labels_of_people("", judged())
    assert "babelatlas statements labels" in statements.without_labels(none)


def test_examples_show_a_true_and_a_false_pair_with_both_images(tmp_path):
    shown = statements.examples(pairs(tmp_path).assign(dataset="d"), "d", 1, 0)
    assert shown["truth"].tolist() == [True, False]
    for path in [*shown["left"], *shown["right"]]:
        Image.new("RGB", (40, 20), "red").save(path)
    images, titles = statements.images_of_pairs(shown)
    name = shown["statement"].iloc[0]
    assert titles == [
        f"sw {name}, true, left",
        f"sw {name}, true, right",
        f"sw {name}, false, left",
        f"sw {name}, false, right",
    ]
    assert {image.size for image in images} == {(statements.SIDE, statements.SIDE)}
    texts = statements.texts_of_examples(shown, pairs(tmp_path).assign(dataset="d"))
    assert texts["translation"].tolist() == [WRITTEN[name][3]]


def test_images_are_shown_only_where_a_user_says_so_and_has_them(tmp_path):
    table = pairs(tmp_path).assign(dataset="marvl")
    sentence = statements.without_images(table, "marvl", ["scene-pairs"])
    assert "research that is not commercial" in sentence
    missing = statements.without_images(table, "marvl", ["marvl"])
    assert missing == "The images of marvl are not here."


def points(method="umap"):
    """Two groups of three images of a model, one of which keeps to itself."""
    table = pd.DataFrame(
        {
            "group": ["marvl, Swahili"] * 3 + ["nlvr2-train"] * 3,
            "concept": ["paka", "mbwa", "chai", "dog", "cat", "tea"],
            "image": [f"{place}.png" for place in range(6)],
            "purity": [1.0, 1.0, 1.0, 0.5, 0.0, 0.5],
        }
    )
    table = filled("image_features", table.assign(model="m", method=method))
    return table.assign(x=np.arange(6.0), y=1.0)


def test_purity_is_the_mean_share_of_neighbours_beside_that_by_chance(tmp_path):
    tables.write(points(), tmp_path / "image_features/m.parquet", "image_features")
    features = statements.image_features(tmp_path)
    found = statements.purity(features, **FAST).set_index("group")
    values = {"marvl, Swahili": 1, "nlvr2-train": 1 / 3}
    assert found["value"].to_dict() == pytest.approx(values)
    # Two of the five others are of an image's own group.
    assert found["chance"].tolist() == [2 / 5, 2 / 5]
    assert statements.image_features(tmp_path / "absent").empty


def test_a_reader_is_told_where_principal_components_stand_in_for_umap():
    assert statements.what_projects(points()) == "UMAP"
    instead = statements.what_projects(points("pca"))
    assert instead == "principal components, as UMAP was not used"
    axis = statements.cloud(points())
    labels = axis.get_legend_handles_labels()[1]
    assert labels == ["marvl, Swahili", "nlvr2-train"]
    plt.close(axis.figure)
