"""Comparisons side by side: gains by majority, differences of scores, and how they
agree.
"""

import numpy as np
import pandas as pd
import pytest

from atlas_study.chapters import captioning as reported
from babelatlas.analysis import side_by_side
from babelatlas.base.errors import InputError
from babelatlas.evaluation import captioning

PAIR = {"dataset": "d", "lang": "en", "base": "p", "model": "q"}
FAST = {"n_resamples": 50}


def comparisons(**images):
    rows = [
        (image, f"r{place}", preference)
        for image, preferences in images.items()
        for place, preference in enumerate(preferences)
    ]
    return pd.DataFrame(rows, columns=["image", "rater", "preference"]).assign(**PAIR)


def test_a_majority_of_the_raters_decides_an_image():
    table = comparisons(a=[3, 1, -3], b=[-1, -1, 2], c=[0, 1, -1], d=[1, 2, 3])
    row = side_by_side.gains(table, **FAST).iloc[0]
    assert row[["wins", "losses", "gain", "n"]].tolist() == [0.5, 0.25, 0.25, 4]
    assert row["ci_low"] <= 0.25 <= row["ci_high"]


def test_two_of_two_raters_are_a_majority_and_one_of_two_is_none():
    row = side_by_side.gains(comparisons(a=[1, 1], b=[1, -1]), **FAST).iloc[0]
    assert row[["wins", "losses"]].tolist() == [0.5, 0]


def test_one_image_has_a_gain_and_no_interval():
    row = side_by_side.gains(comparisons(a=[1, 1, 0]), **FAST).iloc[0]
    assert row["gain"] == 1
    assert np.isnan(row["ci_low"])


def test_exchanging_the_models_turns_the_sign_of_the_gain():
    table = comparisons(a=[3, 1, -3], b=[-1, -1, 2], c=[1, 1, 1])
    turned = table.assign(base="q", model="p", preference=-table["preference"])
    first, second = (
        side_by_side.gains(rows, **FAST).iloc[0] for rows in (table, turned)
    )
    assert first["gain"] == -second["gain"]
    assert first["wins"] == second["losses"]


def scores(lang="en", **models):
    rows = [
        (model, str(image), value)
        for model, values in models.items()
        for image, value in enumerate(values)
    ]
    table = pd.DataFrame(rows, columns=["model", "image", "value"])
    told = {"metric": "CIDEr-D", "tokenization": "automatic", "captions": "people"}
    return table.assign(dataset="d", lang=lang, **told)


def test_a_difference_is_that_of_the_means_over_the_images_of_both():
    row = side_by_side.differences(scores(p=[1, 2, 9], q=[2, 4]), **FAST).iloc[0]
    assert (row["model"], row["base"]) == ("p", "q")
    assert (row["difference"], row["n"]) == (-1.5, 2)
    gained = side_by_side.gains(comparisons(a=[1], b=[1]), **FAST)
    compared = side_by_side.differences(scores(p=[1, 2], q=[2, 4]), **FAST)
    both = side_by_side.joined(gained, compared).iloc[0]
    assert (both["gain"], both["difference"]) == (1, 1.5)


def test_models_with_the_same_captions_do_not_differ_whatever_else_one_captioned():
    images = ["0", "1", "2"]
    texts = ["a cat on a mat", "the dog", "a cat and a dog"]
    people = {"captions": "people", "lang": "en", "number": 0}
    known = pd.DataFrame({"image": images, "caption": texts}).assign(**people)
    ours = pd.DataFrame({"image": images, "caption": ["a cat", "a dog", "a dog"]})
    ours = ours.assign(dataset="d", lang="en")
    both = pd.concat([ours.assign(model="q"), ours.head(2).assign(model="p")])
    row = side_by_side.differences(captioning.score(both, known), **FAST).iloc[0]
    assert row["n"] == 2
    assert row["difference"] == pytest.approx(0, abs=1e-12)


def printed():
    """The 65 comparisons that the paper prints, with two sets of references."""
    rows = reported.comparisons().reset_index()
    names = rows["model"].str.split(" vs ", expand=True)
    rows = rows.assign(model=names[0], base=names[1], dataset="xm600")
    rows = rows.rename(columns={reported.GAIN: "gain"})
    return rows.melt(
        ["dataset", "lang", "base", "model", "gain"],
        ["xm600", "coco-dev"],
        "captions",
        "difference",
    )


def test_agreement_of_the_printed_comparisons_is_that_of_table_6_in_both_directions():
    found = side_by_side.agreement(printed(), **FAST)
    found = found.set_index(["counted", "captions", "method"])
    both = found.loc[side_by_side.BOTH]["value"].round(2)
    assert both["xm600", "pearson"] == 0.88
    assert both["coco-dev", "pearson"] == 0.68
    rows = printed().query("captions == 'xm600'")
    once = found.loc[(side_by_side.ONCE, "xm600", "spearman"), "value"]
    assert once == pytest.approx(rows["gain"].corr(rows["difference"], "spearman"))
    assert set(found["n"]) == {65}
    assert set(found["over"]) == {"lang"}


def test_few_comparisons_or_equal_ones_have_no_correlation():
    rows = printed()
    assert side_by_side.agreement(rows.head(2), **FAST).empty
    flat = side_by_side.agreement(rows.assign(difference=0.0), **FAST)
    assert flat.empty


def test_one_language_has_an_interval_over_its_comparisons():
    found = side_by_side.agreement(printed().assign(lang="en"), **FAST)
    assert set(found["over"]) == {"comparison"}
    assert found["ci_low"].notna().all()


HEAD = "lang,image,base,model,rater,preference\n"


def test_comparisons_of_a_file_have_words_or_numbers(tmp_path):
    path = tmp_path / "comparisons.csv"
    path.write_text(f"{HEAD}de,a,p,q,x,much better\nde,a,p,q,y,-1\nde,b,p,q,x,+2\n")
    table = side_by_side.read_comparisons(path, "d")
    assert table["preference"].tolist() == [3, -1, 2]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("de,a,p,q,x,4\n", "line 2 has '4' as its preference"),
        ("de,a,p,q,x,beter\n", "did you mean BETTER"),
        ("de,a,p,p,x,1\n", "line 2 has 'p' as its model, which is its base, too"),
        ("de,a,p,q,x,1\nde,a,p,q,x,2\n", "a key that occurs before"),
        ("xx,a,p,q,x,1\n", "no language with the code 'xx'"),
    ],
)
def test_what_is_no_comparison_is_one_sentence(tmp_path, rows, message):
    path = tmp_path / "comparisons.csv"
    path.write_text(HEAD + rows)
    with pytest.raises(InputError, match=message):
        side_by_side.read_comparisons(path, "d")


def test_comparisons_of_several_data_sets_name_them(tmp_path):
    path = tmp_path / "comparisons.csv"
    path.write_text(f"{HEAD}de,a,p,q,x,1\n")
    with pytest.raises(InputError, match="no column 'dataset'"):
        side_by_side.read_comparisons(path)
