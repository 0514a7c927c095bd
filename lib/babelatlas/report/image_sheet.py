"""The page on which people choose among the candidates of `evaluation.image_search`."""

import os
from pathlib import Path
from urllib.parse import quote

import jinja2
import pandas as pd

from babelatlas.base import tables
from babelatlas.base.paths import DATA
from babelatlas.evaluation.image_search import COLUMNS


def write_html(rows: pd.DataFrame, path: str | os.PathLike, wanted: int = 4) -> Path:
    """Write candidates as one HTML file that shows the images by their paths and saves
    the choice as CSV; return its path.

    `rows` as of `image_search.candidates`; `wanted`: how many images of each caption
    are to be chosen. The saved file belongs next to the page, since its paths are
    relative to that folder.
    """
    file = tables.locate(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    paths = [
        Path(os.path.relpath(name, file.parent)).as_posix() for name in rows["path"]
    ]
    shown = rows.assign(path=paths).round({"similarity": 4})
    shown = shown.assign(url=[quote(name) for name in paths], number=range(len(shown)))
    groups = [
        (image, part.to_dict("records"))
        for image, part in shown.groupby("image", sort=False)
    ]
    data = {
        "columns": COLUMNS,
        "rows": shown[COLUMNS].to_dict("records"),
        "file": f"{file.stem}-chosen.csv",
        "wanted": wanted,
    }
    template = (DATA / "image_sheet.html").read_text(encoding="utf-8")
    page = jinja2.Environment(autoescape=True).from_string(template)
    with tables.beside(file) as part:
        text = page.render(groups=groups, data=data, wanted=wanted)
        part.write_text(text, encoding="utf-8")
    return file
