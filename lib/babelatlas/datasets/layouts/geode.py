"""GeoDE (Ramaswamy et al. 2023): photographs of 40 kinds of objects, taken by people in six regions of the world.

As published: index.csv, with a row for each image (file_path, object, ip_country, perhaps region), next to the folder
images. `data/geode.csv` ties each object to a noun synset of WordNet 3.0, chosen by us by its gloss, and says where the
synset is narrower or wider than what the photographs show; `data/geode_countries.csv` ties each country to its region,
as the authors' code does.
"""

import re
from pathlib import Path

import pandas as pd

from babelatlas.base import own_tables, paths
from babelatlas.base.errors import InputError, near

REGIONS = ("Africa", "Americas", "East Asia", "Europe", "Southeast Asia", "West Asia")


def scan(home: Path, name: str = "geode") -> pd.DataFrame:
    """Return the images of GeoDE's folder in the order of its index: path (absolute), wnid, number, region.

    `home`: the folder with index.csv; `name`: the data set, for messages. The region is the index's own where it has
    that column, else that of the country. Raises InputError for a folder without the index, one of other columns, and
    an object, country or region that is none of GeoDE's.
    """
    file = home / "index.csv"
    if not file.is_file():
        raise InputError(
            f"The folder {home} of the data set {name!r} holds no index.csv: give the folder that has index.csv and "
            "images, unpacked."
        )
    index = own_tables.read(file, "images")
    place = "region" if "region" in index else "ip_country"
    lacking = [column for column in ("file_path", "object", place) if column not in index]
    if lacking or index.empty:
        what = f"no column {lacking[0]!r}" if lacking else "no row"
        raise InputError(f"The index {file} has {what}: expected GeoDE's file_path, object, and region or ip_country.")
    synsets = {row["object"]: row["wnid"] for row in paths.rows("geode.csv")}
    regions = {one: one for one in REGIONS}
    if place == "ip_country":
        regions = {row["country"]: row["region"] for row in paths.rows("geode_countries.csv")}
    folder = home / "images" if (home / "images").is_dir() else home
    table = pd.DataFrame({"path": paths.below(file, index["file_path"], folder)})
    table["wnid"] = _translated(index["object"], synsets, file)
    table["region"] = _translated(index[place], regions, file)
    return table.assign(number=table.groupby("wnid").cumcount())[["path", "wnid", "number", "region"]]


def _translated(column: pd.Series, known: dict[str, str], file: Path) -> pd.Series:
    """Return what each value stands for, however it is spelt (SouthEastAsia); InputError where that is not known."""
    plain = {_plain(name): meaning for name, meaning in known.items()}
    strange = sorted({one for one in column if _plain(one) not in plain})
    if strange:
        raise InputError(f"The index {file} has the {column.name} {strange[0]!r}: {near(strange[0], known)}")
    return column.map(lambda one: plain[_plain(one)])


def _plain(name: str) -> str:
    return re.sub(r"[^a-z]", "", name.lower())
