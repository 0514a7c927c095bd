"""The geographic selection of images: where they are, where languages are spoken, who chooses first."""

import numpy as np
import pandas as pd
import pytest
from babel.core import get_global
from hypothesis import given, settings
from hypothesis import strategies as st

from babelatlas.base.errors import InputError
from babelatlas.datasets import selection
from babelatlas.papers import thapliyal2022

PLACES = {
    "munich": (48.14, 11.58),
    "vienna": (48.21, 16.37),
    "lima": (-12.05, -77.04),
    "cusco": (-13.52, -71.97),
    "auckland": (-36.85, 174.76),
    "windhoek": (-22.56, 17.08),
    "sea": (-50.0, -120.0),
}


def places(names=PLACES):
    found = [{"image": name, "latitude": PLACES[name][0], "longitude": PLACES[name][1]} for name in names]
    return pd.DataFrame(found)


def distances(names, langs, areas=None):
    located = selection.locate(places(names))
    return located, selection.levels(located, selection.territories(langs), areas)


def test_an_image_is_where_the_nearest_town_is():
    found = selection.locate(places()).set_index("image")
    assert list(found.loc["munich"]) == ["DE", "Bavaria", "Europe"]
    assert list(found.loc["windhoek"][["country", "continent"]]) == ["NA", "Africa"]  # Namibia, no missing value
    assert list(found.loc["sea"]) == ["", "", ""]


def test_the_date_line_does_not_part_neighbours():
    # Taveuni in Fiji, at 180 degrees: as a plane of degrees the nearest towns would lie on one side only.
    spot = pd.DataFrame({"image": ["east", "west"], "latitude": [-16.85, -16.85], "longitude": [179.99, -179.99]})
    assert list(selection.locate(spot)["country"]) == ["FJ", "FJ"]


def test_all_36_languages_of_crossmodal_3600_have_territories():
    langs = list(thapliyal2022.captions()["lang"])
    found = selection.territories(langs)
    assert len(langs) == 36
    assert set(found["lang"]) == set(langs)
    official = found[found["level"] == "area"].groupby("lang")["territory"].agg(set)
    assert official["quz"] == {"PE", "BO", "EC"}  # CLDR has Quechua as one language
    assert official["iw"] == {"IL"}
    assert official["fil"] == {"PH"}
    assert set(langs) - set(official.index) == {"te"}  # official in a region of India only


def test_every_territory_with_a_language_lies_on_a_continent():
    assert set(get_global("territory_languages")) - set(selection.continents()) == {"ZZ"}  # CLDR's "unknown"
    assert set(selection.continents().values()) == {
        "Africa", "Asia", "Europe", "North America", "South America", "Oceania",
    }  # fmt: skip


def test_levels_follow_the_territories():
    _, found = distances(PLACES, ["de", "qu", "mi"])
    assert dict(found.loc["de"]) == {
        "munich": 0, "vienna": 0, "windhoek": 3, "lima": 3, "cusco": 3, "auckland": 3, "sea": 3,
    }  # fmt: skip
    assert dict(found.loc["qu"]) == {
        "lima": 0, "cusco": 0, "munich": 3, "vienna": 3, "windhoek": 3, "auckland": 3, "sea": 3,
    }  # fmt: skip


def test_areas_of_the_users_own_are_narrower_than_a_country():
    areas = pd.DataFrame({"lang": ["qu"], "country": ["PE"], "area": ["Cusco"]})
    _, found = distances(["lima", "cusco", "vienna"], ["qu"], areas)
    assert dict(found.loc["qu"]) == {"cusco": 0, "lima": 1, "vienna": 3}


# Seven images: rows languages, columns images, entries levels. Pools (zeros): a 1, b 2, c 3.
BY_HAND = pd.DataFrame(
    [[0, 1, 2, 3, 3, 3, 3], [0, 0, 2, 2, 3, 3, 3], [3, 3, 1, 0, 0, 0, 3]],
    index=["a", "b", "c"],
    columns=[f"i{n}" for n in range(7)],
)


def test_three_languages_by_hand():
    # a chooses first: i0 from its area, then i1 from a country. b's area is taken: i2 and i3 from its continent.
    # c takes two of i4, i5 from its area.
    chosen = selection.greedy(BY_HAND, 2)
    assert dict(chosen) == {"i0": "a", "i1": "a", "i2": "b", "i3": "b", "i4": "c", "i5": "c"}
    # In turns of levels b gets i1 before a may look in its country; of its continents a then takes i2.
    chosen = selection.greedy(BY_HAND, 2, turns="level")
    assert dict(chosen[["i0", "i1", "i2"]]) == {"i0": "a", "i1": "b", "i2": "a"}


def test_the_optimum_by_hand():
    # Two of i0, i1 can be from an area for a and b together, two of i3, i4, i5 for c: four at most. With i0 for a and
    # i1 for b each needs one more, i2 for a (level 2) and i3 for b (level 2), and c takes i4 and i5.
    chosen = selection.optimal(BY_HAND, 2)
    level = [BY_HAND.loc[lang, image] for image, lang in chosen.items()]
    assert (level.count(0), sum(level)) == (4, 4)
    assert pd.Series(chosen).value_counts().to_dict() == {"a": 2, "b": 2, "c": 2}


def test_the_smallest_pool_comes_first():
    assert list(selection.pools(BY_HAND).items()) == [("a", 1), ("b", 2), ("c", 3)]


def test_the_table_says_level_and_place():
    located, distance = distances(["munich", "lima"], ["de", "qu"])
    table = selection.as_table(selection.greedy(distance, 1), located, distance)
    assert table.to_numpy().tolist() == [["lima", "qu", "area", "Lima, PE"], ["munich", "de", "area", "Bavaria, DE"]]
    assert selection.by_level(table).loc["de"].to_dict() == {"area": 1, "country": 0, "continent": 0, "world": 0}


@st.composite
def tasks(draw):
    langs, images = draw(st.integers(1, 4)), draw(st.integers(1, 12))
    n = draw(st.integers(1, max(1, images // langs)))
    cells = draw(st.lists(st.integers(0, 3), min_size=langs * images, max_size=langs * images))
    table = pd.DataFrame(np.reshape(cells, (langs, images)), [f"l{i}" for i in range(langs)])
    return table.rename(columns=lambda i: f"image {i}"), n, draw(st.integers(0, 5))


@given(tasks())
@settings(max_examples=60)
def test_no_image_twice_exactly_n_each_and_the_optimum_is_never_worse(task):
    distance, n, seed = task
    if n * len(distance) > distance.shape[1]:
        with pytest.raises(InputError, match="images for each"):
            selection.greedy(distance, n, seed)
        return
    found = {}
    for name in (*selection.TURNS, "optimal"):
        chosen = selection.optimal(distance, n) if name == "optimal" else selection.greedy(distance, n, seed, name)
        assert chosen.index.is_unique
        assert chosen.value_counts().to_dict() == dict.fromkeys(distance.index, n)
        level = np.array([distance.loc[lang, image] for image, lang in chosen.items()])
        found[name] = ((level > 0).sum(), level.sum())
    assert found["optimal"] <= min(found["language"], found["level"])


def test_the_order_of_the_rows_does_not_matter():
    turned = BY_HAND.iloc[::-1, ::-1]
    for seed in range(5):
        assert dict(selection.greedy(BY_HAND, 2, seed)) == dict(selection.greedy(turned, 2, seed))
    assert dict(selection.optimal(BY_HAND, 2)) == dict(selection.optimal(turned, 2))


@pytest.mark.parametrize(
    ("latitude", "longitude", "said"),
    [(np.nan, 3.0, "have no place"), (11.6, 481.0, "on Earth|expected -90 to 90"), (-91.0, 0.0, "latitude -91")],
)
def test_a_bad_place_is_one_sentence(latitude, longitude, said):
    table = pd.DataFrame({"image": ["a.jpg"], "latitude": [latitude], "longitude": [longitude]})
    with pytest.raises(InputError, match=said):
        selection.locate(table)


def test_too_few_images_and_a_language_without_a_territory_are_one_sentence():
    with pytest.raises(InputError, match="n of at most 2"):
        selection.greedy(BY_HAND, 3)
    with pytest.raises(InputError, match="no territory for the language 'akk'"):
        selection.territories(["akk"])
    with pytest.raises(InputError, match="no turns"):
        selection.greedy(BY_HAND, 2, turns="image")


def test_continents_are_read_from_cldr(tmp_path):
    path = tmp_path / "territoryContainment.json"
    path.write_text(
        '{"supplemental": {"territoryContainment":'
        ' {"150": {"_contains": ["155"]}, "155": {"_contains": ["FR", "DE"]}}}}'
    )
    assert selection.read_continents(path).to_numpy().tolist() == [["DE", "150"], ["FR", "150"]]
    with pytest.raises(InputError, match="cldr-core"):
        selection.read_continents(tmp_path / "absent.json")
