"""Sheets of labels that speakers have filled in and sent to the study: a CSV file each,
as `label_sheets` reads it, with the column `origin`, who filled it in.
"""

import os

import pandas as pd

from babelatlas.base import own_tables, tables
from babelatlas.base.errors import InputError
from babelatlas.base.paths import DATA
from babelatlas.lexicon import label_sheets

FOLDER = DATA / "contributed" / "labels"
COLUMNS = ["lang", "origin", "wnid", "label", "verdict", "better"]


def read(folder: str | os.PathLike = FOLDER) -> pd.DataFrame:
    """Return the labels that speakers have judged, one row for each verdict: COLUMNS.

    Raises InputError, with the name of the file, for a sheet that cannot be scored
    (`label_sheets.problems`; rows without a verdict are left out), and for one that does
    not say, in every row alike, who filled it in.
    """
    parts = [pd.DataFrame(columns=COLUMNS, dtype=str)]
    for path in sorted(tables.locate(folder).glob("*.csv")):
        filled = label_sheets.read_filled(path, partial=True)
        origins = own_tables.read(path, "answers", ["origin"])["origin"].str.strip()
        names = set(origins)
        if len(names) != 1 or "" in names:
            raise InputError(
                f"{path.name} should have one name in its column origin, who filled it"
                f" in, and has {len(names)}: write the same name in every row."
            )
        judged = filled[filled["verdict"] != ""]
        lang = label_sheets.of(filled)["language"]
        parts.append(judged.assign(lang=lang, origin=origins.iloc[0])[COLUMNS])
    table = pd.concat(parts, ignore_index=True)
    return table.sort_values(["lang", "origin"], kind="stable", ignore_index=True)
