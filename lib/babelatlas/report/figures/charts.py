"""Charts that the browser draws: what a reader explores with the pointer or the keyboard.

A chart is data. `_static/atlas-charts.js` draws all kinds with Observable Plot, in the
colours and shapes of the static figures; the figure next to which it stands is its form
without JavaScript, in print and as a file.
"""

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import quote

import numpy as np
import pandas as pd

from babelatlas.report.figures.look import in_order, line_of, look_of
from babelatlas.report.figures.maps import EAST, NORTH, SOUTH, WEST, coastlines

KINDS = ("rows", "points", "steps", "map")
NUMBERS = ("x", "y", "low", "high", "before", "front")
DECIMALS = 5  # of fractions, and of degrees
DASHES = ("", "6 3", "6 2 1 2", "1.5 2.5", "10 2", "6 2 1 2 1 2", "1.5 1.5")


class Axis(NamedTuple):
    """An axis of a chart: what it says, whether its fractions are read as percent, and
    its scale ("linear", "log" or "time").
    """

    label: str = ""
    percent: bool = False
    scale: str = "linear"


PLAIN = Axis()


def chart(
    kind: str,
    points: pd.DataFrame,
    x: Axis = PLAIN,
    y: Axis = PLAIN,
    reference: float | None = None,
    band: pd.DataFrame | None = None,
    looks: Mapping[str, tuple[str, str]] | None = None,
) -> dict:
    """Return a chart as `show` takes it.

    `kind`: "rows" (a value of x with its interval for each name in y), "points", "steps"
    (values that change at dates x) or "map" (x: longitude, y: latitude in degrees).
    `points`: x, y, text (what the pointer shows), and what the chart has of these:
    series (colours and shapes, as of `look_of`), panel (one below the other), low and
    high (the interval, of x in rows, else of y), before (an open circle), front
    (a number for the points that a dashed line joins), link (an
    address, "" for none). A point without a number is left out. `reference`: a line at
    this number; `band`: x, y, ci_low, ci_high of a line with its band; `looks`: colour
    and marker of the series that have their own. Raises ValueError for another kind.
    """
    if kind not in KINDS:
        raise ValueError(f"A chart is one of {', '.join(KINDS)}, not {kind!r}.")
    table = points.reset_index(drop=True)
    if kind == "map":
        table = table.assign(x=(table["x"] - WEST) % 360 + WEST)
    keys = ["x"] if kind == "rows" else ["x", "y"]
    table = table.dropna(subset=keys)
    names = in_order(table["series"]) if "series" in table else [""]
    spec = {
        "kind": kind,
        "x": x._asdict(),
        "y": y._asdict(),
        "series": [
            _look(name, place, kind, looks or {}) for place, name in enumerate(names)
        ],
        "panels": in_order(table["panel"]) if "panel" in table else [],
        "reference": reference,
        "band": [] if band is None else _band(band),
        "points": _records(table),
    }
    if kind == "rows":
        spec["rows"] = in_order(table["y"])
    if kind == "map":
        spec["land"] = _land()
        spec["edges"] = [WEST, SOUTH, EAST, NORTH]
    return spec


def chart_points(places: pd.DataFrame, text: pd.Series) -> pd.DataFrame:
    """Return the points of a chart of languages on a map, each with a link to its page.

    `places`: lang, latitude, longitude (degrees; rows without are left out), and series
    where there are some; `text`: of each row, what the pointer shows.
    """
    named = places.rename(columns={"longitude": "x", "latitude": "y"})
    points = named.assign(text=text, link="language-" + named["lang"] + ".html")
    columns = ["x", "y", "text", "link", "series"]
    points = points[[name for name in columns if name in points]]
    return points.dropna(subset=["x", "y"])


def model_link(model: str) -> str:
    """Return the address of a model in the explorer.

    >>> model_link("ViT-B-32 x")
    'explorer.html#models=ViT-B-32%20x'
    """
    return f"explorer.html#models={quote(model, safe='')}"


def _look(
    name: str, place: int, kind: str, looks: Mapping[str, tuple[str, str]]
) -> dict:
    """Return name, colour, shape and dashes of a series, as the static figures have
    them.
    """
    colour, marker = looks.get(name) or look_of(name, place)
    if kind == "steps":
        colour = line_of(place)["color"]
    dash = DASHES[place % len(DASHES)]
    return {"name": name, "colour": colour, "marker": marker, "dash": dash}


def _records(table: pd.DataFrame) -> list[dict]:
    """Return the rows of a table as JSON has them: only the columns that a chart knows,
    and of each row those with a value; dates as days.
    """
    texts = ("y", "series", "panel", "text", "link")
    records = []
    for row in table.to_dict("records"):
        record = {}
        for name in NUMBERS:
            value = row.get(name)
            if isinstance(value, pd.Timestamp):
                record[name] = value.date().isoformat()
            elif isinstance(value, int | float | np.number) and np.isfinite(value):
                record[name] = round(float(value), DECIMALS)
        record |= {name: row[name] for name in texts if isinstance(row.get(name), str)}
        records.append({name: value for name, value in record.items() if value != ""})
    return records


def _band(band: pd.DataFrame) -> list[dict]:
    """Return a line with its band as JSON has it."""
    columns = ["x", "y", "ci_low", "ci_high"]
    table = band[columns].rename(columns={"ci_low": "low", "ci_high": "high"})
    return table.round(DECIMALS).to_dict("records")


def _land() -> list[list[list[float]]]:
    """Return the rings of the world's land in degrees, to one decimal."""
    rings = coastlines().to_polygons(closed_only=True)
    return [np.round(ring, 1).tolist() for ring in rings]
