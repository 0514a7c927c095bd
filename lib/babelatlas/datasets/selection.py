"""Images for each language, from the places where it is spoken: the selection of
Crossmodal-3600.

Thapliyal et al. (2022, Section 2.2) choose 100 images for each of 36 languages: from an
area where the language is spoken, else from a country, else from a continent where it
is, else from anywhere. Languages choose one after the other, that with the smallest
pool of images first.

The paper does not say what an area is. Here it is a territory where the Unicode CLDR
(by way of Babel) counts the language as official, and a country one where it is official
in a part or widely spoken; for areas that are smaller than a country the user gives a
table. Continents are CLDR's (continents.csv: UN M49, with America in two).
"""

import os
from collections.abc import Iterable, Sequence
from functools import cache

import numpy as np
import pandas as pd

from babelatlas.base import languages, own_tables
from babelatlas.base.errors import InputError
from babelatlas.base.folders import nfc
from babelatlas.base.paths import rows

LEVELS = ("area", "country", "continent", "world")
OFFICIAL = ("official", "de_facto_official")
REGIONAL = "official_regional"
# A language without a status in a territory is spoken there if so many percent speak it.
MINIMUM_PERCENT = 10.0


@cache
def continents() -> dict[str, str]:
    """Return the continent of each territory by its code, both as CLDR writes them."""
    return {row["territory"]: row["continent"] for row in rows("continents.csv")}


def territories(langs: Iterable[str]) -> pd.DataFrame:
    """Return where languages are spoken: lang, country (a territory), level ("area" or
    "country").

    Where no territory gives a language a status or so many speakers, all that list it
    are its countries. Raises InputError for a language that CLDR lists nowhere.

    >>> territories(["te", "mi"]).to_numpy().tolist()
    [['te', 'IN', 'country'], ['mi', 'NZ', 'area']]
    """
    spoken = _spoken()
    found = []
    for lang in langs:
        listed = next(
            (spoken[code] for code in _cldr_codes(lang) if code in spoken), None
        )
        if listed is None:
            raise InputError(
                f"CLDR lists no territory for {languages.name(lang)} ({lang}): leave it"
                " out, or give its places in a file of areas (lang, country, area)."
            )
        levels = {country: _level(facts) for country, facts in listed.items()}
        if not any(levels.values()):
            levels = dict.fromkeys(listed, "country")
        found += [(lang, country, level) for country, level in levels.items() if level]
    return pd.DataFrame(found, columns=["lang", "country", "level"])


def _level(facts: dict) -> str:
    """Return the level of a territory for a language, "" where few speak it."""
    if facts["official_status"] in OFFICIAL:
        return "area"
    is_regional = facts["official_status"] == REGIONAL
    widely_spoken = facts["population_percent"] >= MINIMUM_PERCENT
    return "country" if is_regional or widely_spoken else ""


@cache
def _spoken() -> dict[str, dict[str, dict]]:
    """Return what CLDR says of each language in each territory: code -> territory ->
    facts.
    """
    from babel.core import get_global

    of_territory = get_global("territory_languages")
    spoken: dict[str, dict[str, dict]] = {}
    for territory in continents():
        for code, facts in of_territory.get(territory, {}).items():
            spoken.setdefault(code, {})[territory] = facts
    return spoken


def _cldr_codes(lang: str) -> list[str]:
    """Return the codes that CLDR may have a language under: those of this study, and
    what CLDR replaces them by.
    """
    from babel.core import get_global

    row = languages.table().set_index("code").loc[languages.canonical(lang)]
    codes = [lang, row.name, *row["aliases"].split(), row["iso639_3"]]
    replaced = [get_global("language_aliases").get(code, "") for code in codes]
    return [code.replace("-", "_") for code in [*codes, *replaced] if code]


def read_places(path: str | os.PathLike) -> pd.DataFrame:
    """Return where images were taken, a CSV file: image, country (two capital letters of
    ISO 3166) and, "" unless it is there, area (as the user's file of areas names it).

    Raises InputError for a file that cannot be read, an image that occurs twice, and a
    country that CLDR has not.
    """
    table = own_tables.read(path, "places of images", ["image", "country"])
    if "area" not in table:
        table["area"] = ""
    table = table.assign(image=table["image"].map(nfc))
    _refuse(table["image"].duplicated(), table, "image", path, "keep one row for each")
    _check_countries(table, path)
    return table[["image", "country", "area"]]


def read_areas(path: str | os.PathLike, langs: Sequence[str]) -> pd.DataFrame:
    """Return a user's areas of some languages, a CSV file: lang, country, area; an empty
    area is all of a country.

    Raises InputError for a file that cannot be read, an unknown language, and a country
    that CLDR has not.
    """
    table = own_tables.read(path, "areas", ["lang", "country", "area"])
    table = table.assign(lang=own_tables.languages_of(table, "lang", path))
    _check_countries(table, path)
    return table.loc[table["lang"].isin(langs), ["lang", "country", "area"]]


def _check_countries(table: pd.DataFrame, path: str | os.PathLike) -> None:
    strange = ~table["country"].isin([*continents(), ""])
    fix = "write two capital letters of ISO 3166, such as BE, or nothing"
    _refuse(strange, table, "country", path, fix)


def _refuse(
    strange: pd.Series, table: pd.DataFrame, column: str, path, fix: str
) -> None:
    """Raise InputError for the first row that is strange."""
    if strange.any():
        row = int(strange.to_numpy().argmax())
        raise InputError(
            f"In {path}, {own_tables.place(table, row)} has {table[column].iloc[row]!r}"
            f" as its {column}: {fix}."
        )


def distances(
    places: pd.DataFrame, langs: Sequence[str], areas: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Return how far each image is from each language: rows languages, columns images,
    values places in `LEVELS`.

    `places`: of `read_places`. `areas`: of `read_areas`, parts of countries that stand
    for the area of a language in place of its territories, which become its countries.
    """
    if areas is None:
        areas = pd.DataFrame(columns=["lang", "country", "area"])
    without = [lang for lang in langs if lang not in set(areas["lang"])]
    spoken = territories(without)
    continent = places["country"].map(continents())
    pairs = list(zip(places["country"], places["area"], strict=True))
    found = {}
    for lang in langs:
        rows_of_lang = spoken[spoken["lang"] == lang]
        own_areas = areas[areas["lang"] == lang]
        parts = set(zip(own_areas["country"], own_areas["area"], strict=True))
        official = rows_of_lang.loc[rows_of_lang["level"] == "area", "country"]
        parts |= {(country, "") for country in official}
        countries = {*rows_of_lang["country"], *own_areas["country"]}
        around = {continents()[country] for country in countries}
        inside = [
            (country, "") in parts or (country, area) in parts
            for country, area in pairs
        ]
        steps = [
            np.array(inside, bool),
            places["country"].isin(countries),
            continent.isin(around),
        ]
        found[lang] = np.select(steps, range(len(steps)), len(steps))
    return pd.DataFrame(found, index=places["image"]).T


def greedy(distance: pd.DataFrame, number: int, seed: int = 0) -> pd.Series:
    """Return the language of each selected image (index image), `number` for each: the
    language with the smallest pool chooses first.

    `distance`: of `distances`. A language takes images from its area, then from its
    countries, continents and the world; which of those at one level is random, as the
    paper does not say. Pools are the images in the areas; equal ones by their codes.
    Raises InputError for too few images.
    """
    n_langs, n_images = distance.shape
    if number < 1 or number * n_langs > n_images:
        raise InputError(
            f"{number} images for each of {n_langs} languages are {number * n_langs:,}, but"
            f" there are {n_images:,} with a place: give more images, fewer languages, or"
            f" a number from 1 to {n_images // n_langs}."
        )
    order = np.random.default_rng(seed).permutation(distance.columns.sort_values())
    free = list(order)
    pools = (distance == 0).sum(axis=1).sort_index().sort_values(kind="stable")
    chosen: dict[str, str] = {}
    for lang in pools.index:
        nearest = distance.loc[lang, free].sort_values(kind="stable").index[:number]
        chosen |= dict.fromkeys(nearest, lang)
        free = [image for image in free if image not in chosen]
    return pd.Series(chosen, dtype=str, name="region").rename_axis("image").sort_index()


def selected(
    chosen: pd.Series, places: pd.DataFrame, distance: pd.DataFrame
) -> pd.DataFrame:
    """Return the images that `greedy` chose: image, region (the language), level, country
    and area; a file of regions for stage 70.
    """
    levels = [LEVELS[distance.loc[lang, image]] for image, lang in chosen.items()]
    table = chosen.to_frame().assign(level=levels)
    return table.join(places.set_index("image")).reset_index()
