"""The selection of images by region: where languages are spoken, who chooses first."""

import numpy as np
import pandas as pd
import pytest
from babel.core import get_global
from hypothesis import given, settings
from hypothesis import strategies as st

from atlas_study.chapters import captioning
from atlas_study.commands.main import main
from babelatlas.base.errors import InputError
from babelatlas.datasets import selection

PLACES = {"munich": "DE", "vienna": "AT", "lima": "PE", "cusco": "PE"}
PLACES |= {"auckland": "NZ", "windhoek": "NA", "sea": ""}
AREAS = {"cusco": "Cusco", "lima": "Lima"}


def places(names=PLACES):
    rows = [(name, PLACES[name], AREAS.get(name, "")) for name in names]
    return pd.DataFrame(rows, columns=["image", "country", "area"])


def test_all_36_languages_of_crossmodal_3600_have_territories():
    paper = captioning.read("proceedings")
    langs = sorted(set(paper.loc[paper["task"] == "captions", "lang"]))
    found = selection.territories(langs)
    assert len(langs) == 36
    assert set(found["lang"]) == set(langs)
    official = found[found["level"] == "area"].groupby("lang")["country"].agg(set)
    assert official["quz"] == {"PE", "BO", "EC"}  # CLDR has Quechua as one language
    assert official["fil"] == {"PH"}
    assert set(langs) - set(official.index) == {"te"}  # official in a part of India


def test_every_territory_with_a_language_lies_on_a_continent():
    known = set(get_global("territory_languages"))
    assert known - set(selection.continents()) == {"ZZ"}  # CLDR's "unknown"
    assert len(set(selection.continents().values())) == 6


def test_levels_follow_the_territories():
    found = selection.distances(places(), ["de", "qu"])
    assert found.loc["de"].to_dict() == {
        "munich": 0,
        "vienna": 0,
        "windhoek": 3,
        "lima": 3,
        "cusco": 3,
        "auckland": 3,
        "sea": 3,
    }
    assert found.loc["qu", ["lima", "cusco", "munich"]].tolist() == [0, 0, 3]


def test_areas_of_the_users_own_are_narrower_than_a_country():
    areas = pd.DataFrame({"lang": ["qu"], "country": ["PE"], "area": ["Cusco"]})
    found = selection.distances(places(), ["qu"], areas)
    assert found.loc["qu", ["cusco", "lima", "vienna"]].tolist() == [0, 1, 3]


# Seven images: rows languages, columns images, entries levels. Pools: a 1, b 2, c 3.
BY_HAND = pd.DataFrame(
    [[0, 1, 2, 3, 3, 3, 3], [0, 0, 2, 2, 3, 3, 3], [3, 3, 1, 0, 0, 0, 3]],
    index=["a", "b", "c"],
    columns=[f"i{n}" for n in range(7)],
)


def test_the_language_with_the_smallest_pool_chooses_first():
    # a takes i0 from its area, then i1 from a country. b's area is taken: i2 and i3 are
    # from its continent. c takes two of i4 and i5 from its area.
    chosen = selection.greedy(BY_HAND, 2)
    assert chosen.to_dict() == {
        "i0": "a",
        "i1": "a",
        "i2": "b",
        "i3": "b",
        "i4": "c",
        "i5": "c",
    }


@st.composite
def tasks(draw):
    n_langs, n_images = draw(st.integers(1, 4)), draw(st.integers(4, 12))
    size = n_langs * n_images
    cells = draw(st.lists(st.integers(0, 3), min_size=size, max_size=size))
    names = [f"image {place}" for place in range(n_images)]
    langs = [f"l{place}" for place in range(n_langs)]
    table = pd.DataFrame(np.reshape(cells, (n_langs, n_images)), langs, names)
    return table, draw(st.integers(1, n_images // n_langs)), draw(st.integers(0, 5))


@given(tasks())
@settings(max_examples=40, deadline=None)
def test_each_language_gets_its_number_and_the_first_one_its_nearest(task):
    distance, number, seed = task
    chosen = selection.greedy(distance, number, seed)
    assert chosen.index.is_unique
    assert chosen.value_counts().to_dict() == dict.fromkeys(distance.index, number)
    first = (distance == 0).sum(axis=1).sort_values(kind="stable").index[0]
    levels = sorted(distance.loc[first, chosen.index[chosen == first]])
    assert levels == sorted(distance.loc[first])[:number]
    turned = selection.greedy(distance.iloc[::-1, ::-1], number, seed)
    pd.testing.assert_series_equal(turned, chosen)


def test_the_command_writes_a_file_of_regions(tmp_path, capsys):
    path, output = tmp_path / "places.csv", tmp_path / "selected.csv"
    places().to_csv(path, index=False)
    words = ["select", str(path), "--languages", "de qu", "--number", "2"]
    assert main([*words, "--output", str(output)]) == 0
    assert "Quechua: 2 area" in capsys.readouterr().out
    found = pd.read_csv(output, keep_default_na=False)
    assert dict(zip(found["image"], found["region"], strict=True)) == {
        "munich": "de",
        "vienna": "de",
        "lima": "quz",
        "cusco": "quz",
    }
    assert main([*words, "--output", str(output)]) == 1
    assert "exists" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("image,country\na,Germany\n", "line 2 has 'Germany' as its country"),
        ("image,country\na,DE\na,DE\n", "line 3 has 'a' as its image: keep one row"),
        ("image\na\n", "no column 'country'"),
    ],
)
def test_places_that_are_none_are_one_sentence(tmp_path, text, message):
    path = tmp_path / "places.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        selection.read_places(path)


def test_too_few_images_and_a_language_without_a_place_are_one_sentence():
    with pytest.raises(InputError, match="3 images for each of 3 languages are 9, but"):
        selection.greedy(BY_HAND, 3)
    with pytest.raises(InputError, match=r"no territory for Ainu \(ain\)"):
        selection.territories(["ain"])
