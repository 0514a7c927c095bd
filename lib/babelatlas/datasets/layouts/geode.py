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


def scan(home: Path) -> pd.DataFrame:
    """Return the images of GeoDE's folder in the order of its index: path (absolute), wnid, number, region.

    The region is the index's own where it has that column, else that of the country.
    """
    file = home / "index.csv"
    index = own_tables.read(file, "images of GeoDE", ["file_path", "object"])
    column = "region" if "region" in index else "ip_country"
    regions = {one: one for one in REGIONS}
    if column == "ip_country":
        regions = {row["country"]: row["region"] for row in paths.rows("geode_countries.csv")}
    folder = home / "images" if (home / "images").is_dir() else home
    table = pd.DataFrame({"path": paths.below(file, index["file_path"], folder)})
    table["wnid"] = _translated(index["object"], {row["object"]: row["wnid"] for row in paths.rows("geode.csv")})
    table["region"] = _translated(index[column], regions)
    return table.assign(number=table.groupby("wnid").cumcount())[["path", "wnid", "number", "region"]]


def _translated(column: pd.Series, known: dict[str, str]) -> pd.Series:
    """Return what each value stands for, however it is spelt (SouthEastAsia); InputError where that is not known."""
    plain = {re.sub(r"[^a-z]", "", name.lower()): meaning for name, meaning in known.items()}
    values = column.str.lower().str.replace(r"[^a-z]", "", regex=True).map(plain)
    if values.isna().any():
        strange = column[values.isna()].iloc[0]
        raise InputError(f"The index of GeoDE has the {column.name} {strange!r}: {near(strange, known)}")
    return values
