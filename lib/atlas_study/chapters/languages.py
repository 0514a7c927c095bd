"""The best open model of each language."""

import pandas as pd

from babelatlas.analysis import all_results, verdicts
from babelatlas.analysis.image_clusters import IMAGES_OF_A_CLASS
from babelatlas.base import languages, released
from babelatlas.report import figures
from babelatlas.report.formatting import counted, intervals

LABELS = all_results.LISTED["babel-imagenet"]
LEAST_CLASSES = 100  # of a language on the map


def best_by_language(codes: list[str]) -> pd.DataFrame:
    """Return the best open model of each language on the data sets of
    `all_results.LISTED`, languages by name within a data set.

    Columns: lang, language, data set, value, ci_low, ci_high (fractions), above (0
    where the result does not exceed its baseline), title (the model's), models (how
    many), verdict (what this result says of the language, as `verdicts.with_verdicts`
    has it), family, script.
    """
    parts = []
    for dataset, title in all_results.LISTED.items():
        board = all_results.fullest_board(dataset)
        rows = board[board["lang"].isin(codes)]
        top = rows.sort_values(["value", "model"], ascending=[False, True])
        top = top.drop_duplicates("lang")
        n_models = rows.groupby("lang")["model"].nunique()
        top["models"] = top["lang"].map(n_models)
        top["data set"] = title
        parts.append(top)

    best = pd.concat(parts, ignore_index=True)
    keys = ["id", "model", "lang"]
    judged = verdicts.with_verdicts(verdicts.open_results().merge(best[keys]))
    best = best.merge(judged[[*keys, "verdict"]], "left", keys)
    about = languages.table().set_index("code")
    best["language"] = best["lang"].map(languages.name)
    best["title"] = best["model"].map(released.models()["title"])
    best["family"] = best["lang"].map(about["family"]).replace("", "no family")
    best["script"] = best["lang"].map(about["script_name"])
    return best.sort_values(
        ["data set", "language"],
        ascending=[False, True],
        kind="stable",
        ignore_index=True,
    )


def places_of_best(best: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Return the best results on the data set that has the most languages, with the
    place of each language, and the title of that data set.

    On Babel-ImageNet languages with fewer than `LEAST_CLASSES` classes are left out:
    their test is easier. `best`: as of `best_by_language`, not empty. Columns: its own,
    latitude, longitude (degrees, NaN where not known) and text (language, model and
    result).
    """
    few = (best["data set"] == LABELS) & (best["n"] < LEAST_CLASSES * IMAGES_OF_A_CLASS)
    comparable = best[~few]
    title = comparable["data set"].value_counts().index[0]
    rows = comparable[comparable["data set"] == title].reset_index(drop=True)
    codes = languages.table().set_index("code")["glottocode"]
    places = languages.world().set_index("glottocode")[["latitude", "longitude"]]
    rows = rows.join(places, on=rows["lang"].map(codes).rename("glottocode"))
    text = rows["language"] + "\nbest open model: " + rows["title"] + "\n"
    return rows.assign(text=text + intervals(rows) + " %"), title


def finding(places: pd.DataFrame, title: str) -> str:
    """Return in how many languages the best open model is right more often than not.

    `places`, `title`: of `places_of_best`.
    """
    does = "finds the right image first for more than half of the captions"
    among = ""
    if title == LABELS:
        does = "classifies more than half of the images correctly"
        among = f" with at least {LEAST_CLASSES} labelled classes"
    n_above = (places["value"] > 0.5).sum()
    n_languages = counted(len(places), "language")
    return f"The best open model {does} in {n_above} of {n_languages}{among}"


def map_chart(places: pd.DataFrame) -> dict:
    """Return the map of `places_of_best` as one explores it (`figures.chart`)."""
    rows = places.assign(series=figures.accuracy_steps(places["value"]))
    order = {name: place for place, name in enumerate(figures.step_looks())}
    rows = rows.sort_values("series", key=lambda names: names.map(order), kind="stable")
    points = figures.chart_points(rows, rows["text"])
    return figures.chart("map", points, looks=figures.step_looks())
