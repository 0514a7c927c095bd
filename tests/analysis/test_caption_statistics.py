"""Statistics of captions, and what people say of them."""

import numpy as np
import pandas as pd
import pytest

from babelatlas.analysis import caption_statistics
from babelatlas.base.errors import InputError


def ratings(**captions):
    """Ratings of captions by raters r0, r1 ..., by image."""
    rows = [
        (image, f"r{place}", rating)
        for image, of_image in captions.items()
        for place, rating in enumerate(of_image)
    ]
    table = pd.DataFrame(rows, columns=["image", "rater", "rating"])
    return table.assign(captions="people", lang="en", number=0)


def test_captions_are_counted_as_in_table_1():
    texts = [" x ", "y, z!", "x", "a", "b", "c"]
    rows = pd.DataFrame({"image": list("aabccc"), "caption": texts})
    counted = caption_statistics.statistics(rows.assign(captions="p", lang="en"))
    row = counted.iloc[0]
    assert row[["n_captions", "one", "two", "more", "n_images"]].tolist() == [
        6,
        1,
        1,
        1,
        3,
    ]
    assert row["words"] == pytest.approx(7 / 6)
    assert row["characters"] == pytest.approx(10 / 6)


def test_words_are_counted_where_spaces_end_them():
    rows = pd.DataFrame({"image": ["a", "a"], "caption": ["猫と傘", "고양이와 우산"]})
    counted = caption_statistics.statistics(
        rows.assign(captions="p", lang=["ja", "ko"])
    )
    words = counted.set_index("lang")["words"]
    assert np.isnan(words["ja"])
    assert words["ko"] == 2


def test_the_median_of_three_ratings_decides_and_of_two_the_lower():
    table = ratings(a=["BAD", "GOOD", "EXCELLENT"], b=["MEDIUM", "GOOD"], c=["GOOD"])
    found = caption_statistics.medians(table).set_index("image")
    assert found["rating"].to_dict() == {"a": "GOOD", "b": "MEDIUM", "c": "GOOD"}
    assert found["n_raters"].to_dict() == {"a": 3, "b": 2, "c": 1}


def test_a_caption_that_most_raters_cannot_judge_is_in_no_level_but_counts():
    blank = caption_statistics.NO_INFORMATION
    table = ratings(a=[blank, blank, "GOOD"], b=["GOOD", blank, "BAD"])
    found = caption_statistics.medians(table).set_index("image")["rating"]
    assert found.to_dict() == {"a": blank, "b": "BAD"}
    shares = caption_statistics.quality(table).set_index("level")
    assert shares["value"].to_dict() == {
        "good or better": 0,
        "medium or better": 0,
        "bad": 0.5,
    }
    assert (shares["n"] == 2).all()


def test_shares_have_exact_intervals():
    table = ratings(**{f"c{place}": ["GOOD"] for place in range(10)})
    row = caption_statistics.quality(table).set_index("level").loc["good or better"]
    # All of 10: the lower end is 0.025 to the power of a tenth.
    assert row["ci_low"] == pytest.approx(0.025 ** (1 / 10))
    assert (row["value"], row["ci_high"]) == (1, 1)


def test_ratings_of_a_file_are_read_and_an_unknown_one_is_one_sentence(tmp_path):
    path = tmp_path / "ratings.csv"
    path.write_text("lang,image,rater,rating\nde,a,x,good\nde,a,y,Not enough info\n")
    table = caption_statistics.read_ratings(path)
    assert table["rating"].tolist() == ["GOOD", "NOT-ENOUGH-INFO"]
    assert table["captions"].tolist() == ["own", "own"]
    path.write_text("lang,image,rater,rating\nde,a,x,goood\n")
    with pytest.raises(InputError, match="line 2 has the rating 'goood': did you mean"):
        caption_statistics.read_ratings(path)
    path.write_text("lang,image,rater,rating\nde,a,x,GOOD\nde,a,x,BAD\n")
    with pytest.raises(InputError, match="a key that occurs before"):
        caption_statistics.read_ratings(path)
