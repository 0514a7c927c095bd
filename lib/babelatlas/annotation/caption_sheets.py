"""Ratings of captions by people: single captions, and two models' captions side by side (Thapliyal et al. 2022).

    babelatlas sheet captions --captions captions.parquet --images FOLDER --language sw --output sheet.html
    babelatlas sheet pairs --generated a.parquet --generated b.parquet --base A --model B --images FOLDER ...
    babelatlas sheet judged anna.csv juma.csv asha.csv --output ratings.parquet

A sheet is a random sample of images in random order. Which of two captions comes first is random too, and not to be
seen on the sheet: what is read back is turned by the same draw.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from babelatlas.analysis.captioning import caption_statistics
from babelatlas.annotation import sheets
from babelatlas.base import languages, tables
from babelatlas.base.errors import InputError, near

RATINGS = (*reversed(caption_statistics.RATINGS), caption_statistics.NO_INFO)
PREFERENCES = tuple(str(step) for step in range(-3, 4))
TEXTS = sheets.TEXTS["captions"]
# Of single captions `second` is empty. `sheet`: kind, then what all rows share; `check`: a sum over the row.
COLUMNS = ["number", "image", "first", "second", "answer", "comment", "sheet", "check"]
KINDS = {"rating": RATINGS, "pair": PREFERENCES}


def _check(row: dict) -> str:
    """Return what `check` should be; it begins with a letter: a spreadsheet makes a number of 12e45."""
    text = "\n".join(str(row[name]) for name in ("sheet", "number", "image", "first", "second"))
    return "c" + hashlib.sha256(text.encode()).hexdigest()[:9]


def _made(rows: pd.DataFrame, sheet: str, number: int, seed: int) -> pd.DataFrame:
    """Return a sheet of `number` rows drawn at random: image, first and second are those of `rows`."""
    if seed < 0 or not 1 <= number <= len(rows):
        raise InputError(f"There are {len(rows)} images to judge: ask for 1 to {len(rows)}, with a seed from 0 on.")
    order = np.random.default_rng(seed).permutation(len(rows))[:number]
    made = rows.sort_values("image", ignore_index=True).loc[order].reset_index(drop=True)
    made = made.assign(number=[str(place + 1) for place in made.index], answer="", comment="", sheet=sheet)
    return made.assign(check=[_check(row) for row in made.to_dict("records")])[COLUMNS]


def rating_sheet(captions: pd.DataFrame, name: str, language: str, number: int = 100, seed: int = 0) -> pd.DataFrame:
    """Return a sheet of single captions: of each image drawn, caption number 0 of the set `name` in a language.

    `captions`: a table of this schema. Columns, all text, are `COLUMNS`. Raises InputError for a set or language that
    the table lacks, and for more images than it has.
    """
    code = languages.canonical(language)
    rows = captions[(captions["captions"] == name) & (captions["lang"] == code) & (captions["number"] == 0)]
    if rows.empty:
        known = sorted(set(captions["captions"] + " in " + captions["lang"]))
        raise InputError(f"There are no captions {name!r} in {languages.name(code)}: expected {near(name, known)}")
    rows = rows.rename(columns={"caption": "first"}).assign(second="")
    return _made(rows, f"rating/{name}/{code}", number, seed)


def pair_sheet(
    generated: pd.DataFrame, base: str, model: str, language: str, number: int = 100, seed: int = 0
) -> pd.DataFrame:
    """Return a sheet of two models' captions side by side, in random order: A is `first`, B is `second`.

    `generated`: a table of this schema with captions of one data set by both models. Raises InputError where either
    wrote none in the language, and for more images than both described.
    """
    code = languages.canonical(language)
    own = generated[generated["lang"] == code]
    written = {one: own[own["model"] == one].drop_duplicates("image") for one in (base, model)}
    sides = {one: rows.set_index("image")["caption"] for one, rows in written.items()}
    bare = next((one for one, captions in sides.items() if captions.empty), None)
    if bare is not None or base == model:
        known = ", ".join(sorted(set(own["model"]))) or "none"
        raise InputError(
            f"Two models are compared on captions of both in {languages.name(code)}, and {bare or base!r} "
            f"{'wrote none' if bare else 'was named twice'}: name two of {known}."
        )
    dataset = own.loc[own["model"] == model, "dataset"].iloc[0]
    rows = pd.concat(sides, axis=1, join="inner").set_axis(["base", "model"], axis=1).reset_index()
    sheet = f"pair/{dataset}/{code}/{base}/{model}"
    turned = np.array([_turned(sheet, image) for image in rows["image"]])
    rows["first"], rows["second"] = rows["base"].mask(turned, rows["model"]), rows["model"].mask(turned, rows["base"])
    return _made(rows, sheet, number, seed)


def _turned(sheet: str, image: str) -> bool:
    """Return whether the model's caption stands before the base's, at random but always the same for an image."""
    return bool(hashlib.sha256(f"{sheet}\n{image}".encode()).digest()[0] % 2)


def write_html(made: pd.DataFrame, pictures: dict[str, str], path: str | Path) -> Path:
    """Write a sheet as one HTML file that needs nothing else and saves its answers as CSV; return the path.

    `pictures`: image -> the path of its file. Raises InputError where a file is missing.
    """
    kind, *facts = made["sheet"].iloc[0].split("/")
    code, cards = facts[1], []
    missing = next((image for image in made["image"] if not Path(pictures.get(image, "")).is_file()), None)
    if missing is not None:
        raise InputError(f"There is no file of the image {missing}: give the folder that holds all images.")
    for row in made.to_dict("records"):
        names = [("A", row["first"]), ("B", row["second"])] if kind == "pair" else [("", row["first"])]
        texts = [sheets.fill(TEXTS["text"], {"name": name, "caption": one, "language": code}) for name, one in names]
        choices = [sheets.fill(TEXTS["choice"], row | {"answer": answer}) for answer in KINDS[kind]]
        question = "B is" if kind == "pair" else "The caption is"
        markup = {"lines": "".join(texts), "choices": "".join(choices)}
        markup["picture"] = sheets.thumbnail(pictures[row["image"]], 480)
        cards.append(sheets.fill(TEXTS["card"], {"number": row["number"], "question": question}, **markup))
    language = languages.name(code)
    data = {"fields": {name: f"{name}-" for name in ("answer", "comment")}, "ids": made["number"].tolist(), "each": 1}
    data |= {"key": f"babelatlas {made['sheet'].iloc[0]} {made['check'].iloc[0]}", "file": f"captions_{code}.csv"}
    data |= {"answered": "answered", "left": "have no answer yet.", "done": "All are answered. Save the file."}
    heading = "Which caption is better?" if kind == "pair" else f"How good are these captions in {language}?"
    texts = {"title": f"Captions in {language}", "heading": heading, "next": "Next without answer", "width": "42rem"}
    introduction = TEXTS["pairs" if kind == "pair" else "ratings"].substitute(language=language)
    return sheets.write_page(made[COLUMNS], path, cards, data, introduction=introduction, **texts)


def read(path: str | Path) -> tuple[str, pd.DataFrame]:
    """Return what a filled sheet is ("rating" or "pair") and its answers: image, answer, sheet.

    Rows without an answer are left out. Raises InputError that names the first row that is not as it was written, is
    double, or has an answer that is none of the sheet's, and says how many others there are; and where nothing is
    answered.
    """
    wanted, absent = "give the sheet that was filled in and saved as CSV", "put it back from the sheet as written"
    rows = sheets.read_csv(path, COLUMNS, wanted, absent, "send the sheet with its rows")
    kind = rows["sheet"].iloc[0].partition("/")[0]
    if kind not in KINDS or (rows["sheet"] != rows["sheet"].iloc[0]).any():
        raise InputError(f"{Path(path).name} is not one sheet of captions: put the column 'sheet' back.")
    faults, seen = [], {}
    answers = rows["answer"].str.upper().str.replace(r"^\+|\.0$", "", regex=True).str.replace("−", "-")
    for row, answer in zip(rows.to_dict("records"), answers, strict=True):
        place = f"row {row['row']} (number {row['number']})"
        if row["check"] != _check(row):
            faults.append(f"{place} is not as it was written: put it back, and fill in 'answer' only")
        elif row["check"] in seen:
            faults.append(f"{place} repeats row {seen[row['check']]}: keep one of them")
        elif answer and answer not in KINDS[kind]:
            faults.append(f"{place} has the answer {row['answer']!r}: expected one of {', '.join(KINDS[kind])}")
        seen.setdefault(row["check"], row["row"])
    if not faults and not answers.ne("").any():
        faults.append("nothing was filled in")
    sheets.refuse(path, faults)
    return kind, rows.assign(answer=answers)[answers != ""][["image", "answer", "sheet"]].reset_index(drop=True)


def judgements(paths: Sequence[str | Path]) -> tuple[str, pd.DataFrame]:
    """Return the table that filled sheets make: its schema, `caption_ratings` or `comparisons`, and its rows.

    A rater is called by the name of the file. Preferences are turned so that a positive one is in favour of the model.
    Raises what `read` raises, and InputError for sheets of both kinds together and two files of one name.
    """
    if not paths:
        raise InputError("No filled sheet of captions is given: give one or more.")
    names = [Path(path).stem for path in paths]
    found = [read(path) for path in paths]
    if len(set(names)) < len(names) or len({kind for kind, _ in found}) > 1:
        raise InputError("Sheets that are read together are of one kind, and their files have different names.")
    parts = []
    for rater, (kind, rows) in zip(names, found, strict=True):
        facts = rows["sheet"].iloc[0].split("/", 4)[1:]
        if kind == "rating":
            part = rows.rename(columns={"answer": "rating"}).assign(captions=facts[0], lang=facts[1], number=0)
        else:
            sign = [-1 if _turned(row.sheet, row.image) else 1 for row in rows.itertuples()]
            part = rows.assign(preference=rows["answer"].astype(int) * sign)
            part = part.assign(**dict(zip(("dataset", "lang", "base", "model"), facts, strict=True)))
        parts.append(part.assign(rater=rater))
    schema = "caption_ratings" if found[0][0] == "rating" else "comparisons"
    table = pd.concat(parts, ignore_index=True)
    return schema, tables.check(table[list(tables.SCHEMAS[schema][0])], schema)
