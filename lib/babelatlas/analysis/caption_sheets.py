"""Sheets on which people write captions, rate them, or compare those of two models side
by side (Thapliyal et al. 2022, Sections 2.3, 2.5 and 3.3).

A sheet is a random sample of images in random order. Which of two captions comes first
is random, too, and not to be seen: what is read back is turned by the same draw. Several
people fill in copies of one sheet; a rater is called by the name of the file.
"""

import base64
import hashlib
import io
import os
from collections.abc import Sequence
from pathlib import Path

import jinja2
import numpy as np
import pandas as pd

from babelatlas.analysis import caption_statistics, side_by_side
from babelatlas.base import folders, languages, own_tables, tables
from babelatlas.base.errors import InputError, near
from babelatlas.base.paths import DATA
from babelatlas.base.pictures import SUFFIXES, open_image

CAPTIONS, RATINGS, COMPARISONS = "captions", "ratings", "comparisons"
# `first` and `second` are the captions that are judged, "" for none; `sheet`: what all
# rows share; `check`: a sum over the row.
COLUMNS = ["number", "image", "first", "second", "answer", "comment", "sheet", "check"]
ANSWERS = ["answer", "comment"]
# What may be answered, and what a rater is told about it (after Appendix B).
CHOICES = {
    CAPTIONS: {},
    RATINGS: {
        "EXCELLENT": "the whole picture: all main things, activities and relations",
        "GOOD": "most of the main things, activities and relations",
        "MEDIUM": "something, without what is important",
        "BAD": "not the main topic, or what is not there, or with serious errors",
        "NOT-ENOUGH-INFO": "you cannot say; please use it rarely",
    },
    COMPARISONS: dict.fromkeys(side_by_side.SCALE, ""),
}
HEADINGS = {
    CAPTIONS: "What do these pictures show?",
    RATINGS: "How good are these captions in {language}?",
    COMPARISONS: "Which caption in {language} is better?",
}
QUESTIONS = {CAPTIONS: "Caption", RATINGS: "The caption is", COMPARISONS: "B is"}
BLIND_FRIEND = "Imagine that you describe the picture to a friend who cannot see it."
INTRODUCTIONS = {
    CAPTIONS: [
        BLIND_FRIEND,
        "Write one caption in {language} for each picture, in your own words: the main"
        " things, as exactly as is useful (a young boy, not a person), what they do, how"
        " they look, and where.",
    ],
    RATINGS: [
        f"{BLIND_FRIEND} How well does the caption do it? Between two answers take the"
        " lower.",
    ],
    COMPARISONS: [
        f"{BLIND_FRIEND} By how much does caption B do it better or worse than A?"
    ],
}
PIXELS = 480  # the longer side of a picture on a sheet


def pictures_in(folder: str | os.PathLike) -> dict[str, str]:
    """Return the pictures below a folder: name (path below it) -> path; InputError
    where there is none.
    """
    home = tables.locate(folder)
    files = folders.files_below(home) if home.is_dir() else []
    found = {
        folders.nfc(file.relative_to(home).as_posix()): str(file)
        for file in files
        if file.suffix.lower() in SUFFIXES
    }
    if not found:
        raise InputError(
            f"There is no picture in {home}: give the folder that holds them."
        )
    return found


def captions_sheet(
    images: Sequence[str], language: str, number: int, seed: int = 0
) -> pd.DataFrame:
    """Return a sheet that asks for a caption of each image drawn: `COLUMNS`, all text.

    Raises InputError for an unknown language, and for more images than there are.
    """
    rows = pd.DataFrame({"image": list(images), "first": "", "second": ""})
    return _drawn(rows, f"{CAPTIONS}/{languages.canonical(language)}", number, seed)


def ratings_sheet(
    captions: pd.DataFrame, language: str, number: int, seed: int = 0
) -> pd.DataFrame:
    """Return a sheet that asks how good captions are, of each image drawn its first:
    `COLUMNS`, all text.

    `captions`: a table of this schema with one set, or a `generated` table with one
    model. Raises InputError for a language without captions, several sets, and more
    images than there are.
    """
    code = languages.canonical(language)
    if "model" in captions:
        captions = captions.assign(captions=captions["model"], number=0)
    is_asked = (captions["lang"] == code) & (captions["number"] == 0)
    rows = captions[is_asked & (captions["caption"].str.strip() != "")]
    names = sorted(rows["captions"].unique())
    if len(names) != 1:
        listed = ", ".join(names) or "none"
        raise InputError(
            f"A sheet is of one set of captions in {languages.name(code)}, and there is"
            f" {listed}: give a table with one."
        )
    rows = rows.rename(columns={"caption": "first"}).assign(second="")
    return _drawn(rows, f"{RATINGS}/{code}/{names[0]}", number, seed)


def comparisons_sheet(
    generated: pd.DataFrame,
    base: str,
    model: str,
    language: str,
    number: int,
    seed: int = 0,
) -> pd.DataFrame:
    """Return a sheet that sets two models' captions side by side, in random order:
    `COLUMNS`, all text.

    `generated`: a table of this schema with one data set. Raises InputError where
    either model wrote none in the language, and for more images than both described.
    """
    code = languages.canonical(language)
    in_language = generated[generated["lang"] == code]
    texts = in_language.pivot_table(
        index=["dataset", "image"], columns="model", values="caption", aggfunc="first"
    )
    for name in (base, model):
        if name not in texts:
            raise InputError(
                f"{name!r} wrote no caption in {languages.name(code)}:"
                f" {near(name, texts.columns)}"
            )
    rows = texts[[base, model]].dropna().reset_index()
    if base == model or len(set(rows["dataset"])) > 1:
        raise InputError(
            "A comparison is of two models on one data set: name two models, and give"
            " tables of one data set."
        )
    dataset = rows["dataset"].iloc[0] if len(rows) else ""
    sheet = f"{COMPARISONS}/{code}/{dataset}/{base}/{model}"
    turned = np.array([_turned(sheet, image) for image in rows["image"]], bool)
    rows["first"] = rows[base].mask(turned, rows[model])
    rows["second"] = rows[model].mask(turned, rows[base])
    return _drawn(rows[["image", "first", "second"]], sheet, number, seed)


def _turned(sheet: str, image: str) -> bool:
    """Return whether the model's caption stands before its base's: random, and always
    the same for an image.
    """
    return bool(hashlib.sha256(f"{sheet}\n{image}".encode()).digest()[0] % 2)


def _drawn(rows: pd.DataFrame, sheet: str, number: int, seed: int) -> pd.DataFrame:
    if not 1 <= number <= len(rows):
        raise InputError(
            f"There are {len(rows)} images for a sheet: ask for 1 to {len(rows)}, not"
            f" {number}."
        )
    rows = rows.sort_values("image", ignore_index=True)
    order = np.random.default_rng(seed).permutation(len(rows))[:number]
    drawn = rows.loc[order].reset_index(drop=True)
    numbers = [str(place + 1) for place in drawn.index]
    drawn = drawn.assign(number=numbers, answer="", comment="", sheet=sheet)
    return drawn.assign(check=[_check(row) for row in drawn.to_dict("records")])[
        COLUMNS
    ]


def _check(row: dict) -> str:
    """Return what `check` should be; it begins with a letter: a spreadsheet makes a
    number of 12e45.
    """
    names = ("sheet", "number", "image", "first", "second")
    text = "\n".join(str(row[name]) for name in names)
    return "c" + hashlib.sha256(text.encode()).hexdigest()[:9]


def write_html(
    sheet: pd.DataFrame, pictures: dict[str, str], path: str | os.PathLike
) -> Path:
    """Write a sheet as one HTML file that needs nothing else and saves its answers as
    CSV; return the path.

    `pictures`: of `pictures_in`. Raises InputError for an image without a file.
    """
    kind, code = sheet["sheet"].iloc[0].split("/")[:2]
    absent = [image for image in sheet["image"] if image not in pictures]
    if absent:
        raise InputError(
            f"{len(absent)} image(s) of the sheet have no file, the first {absent[0]}:"
            " give the folder that holds all images."
        )
    language = languages.name(code)
    records = sheet[COLUMNS].to_dict("records")
    data = {
        "columns": COLUMNS,
        "headings": COLUMNS,
        "rows": records,
        "answers": ANSWERS,
        "key": f"babelatlas {sheet['sheet'].iloc[0]} {sheet['check'].iloc[0]}",
        "file": f"{kind}_{code}.csv",
    }
    templates = jinja2.Environment(
        loader=jinja2.FileSystemLoader(DATA), autoescape=True
    )
    text = templates.get_template("caption_sheet.html").render(
        language=language,
        code=code,
        heading=HEADINGS[kind].format(language=language),
        introduction=[line.format(language=language) for line in INTRODUCTIONS[kind]],
        choices=CHOICES[kind],
        question=QUESTIONS[kind],
        pictures={image: _thumbnail(pictures[image]) for image in sheet["image"]},
        rows=records,
        data=data,
    )
    with tables.beside(tables.locate(path)) as part:
        part.write_text(text, encoding="utf-8")
    return tables.locate(path)


def _thumbnail(path: str) -> str:
    """Return a picture as the address of a small JPEG."""
    picture = open_image(path, upright=True)
    picture.thumbnail((PIXELS, PIXELS))
    content = io.BytesIO()
    picture.save(content, "JPEG", quality=85)
    return "data:image/jpeg;base64," + base64.b64encode(content.getvalue()).decode()


def read_filled(path: str | os.PathLike) -> pd.DataFrame:
    """Return the rows of a filled sheet that have an answer: `COLUMNS`.

    Raises InputError, with the line, for a row that is not as it was written or twice
    there, and an answer that is none; and where nothing is answered.
    """
    rows = own_tables.read(path, "answers", COLUMNS)
    rows = rows.assign(answer=rows["answer"].str.strip())
    kind = rows["sheet"].iloc[0].partition("/")[0]
    if kind not in CHOICES or len(set(rows["sheet"])) > 1:
        raise InputError(
            f"{path} is not one sheet of captions: put its column 'sheet' back."
        )
    if kind != CAPTIONS:
        rows["answer"] = rows["answer"].str.upper()
    known = CHOICES[kind]
    checks = [_check(row) for row in rows.to_dict("records")]
    faults = {
        "is not as it was written, fill in 'answer' and 'comment' only": rows["check"]
        != checks,
        "is there twice, keep one of them": rows["check"].duplicated(),
    }
    if known:
        expected = f"has an answer that is none of {', '.join(known)}"
        faults[expected] = ~rows["answer"].isin([*known, ""])
    for fault, strange in faults.items():
        if strange.any():
            row = int(strange.to_numpy().argmax())
            raise InputError(f"In {path}, {own_tables.place(rows, row)} {fault}.")
    answered = rows[rows["answer"] != ""].reset_index(drop=True)
    if answered.empty:
        raise InputError(f"In {path}, no row has an answer: nothing was filled in.")
    return answered[COLUMNS]


def collected(paths: Sequence[str | os.PathLike]) -> pd.DataFrame:
    """Return what filled sheets of one kind say, as a table that stage 70 and chapter
    44 read, of the schema `captions`, `caption_ratings` or `comparisons`.

    A rater is called by the name of the file; captions are numbered in the order of the
    files. Preferences are turned so that a positive
    one is in favour of the model. Raises what `read_filled` raises, and InputError for
    sheets of several kinds, and two files of one name.
    """
    names = [Path(path).stem for path in paths]
    parts = [
        read_filled(path).assign(rater=rater)
        for path, rater in zip(paths, names, strict=True)
    ]
    rows = pd.concat(parts, ignore_index=True)
    facts = rows["sheet"].str.split("/", expand=True)
    if len(set(names)) < len(names) or len(set(facts[0])) > 1:
        raise InputError(
            "Sheets that are read together are of one kind, and their files have"
            " different names, those of the raters: sort them."
        )
    rows["lang"] = facts[1]
    kind = facts[0].iloc[0]
    if kind == CAPTIONS:
        rows["number"] = rows.groupby(["lang", "image"]).cumcount()
        rows = rows.assign(captions="people", caption=rows["answer"])
        return rows[list(tables.SCHEMAS["captions"][0])]
    if kind == RATINGS:
        rows = rows.assign(captions=facts[2], number=0, rating=rows["answer"])
        return rows[[*caption_statistics.CAPTION, "rater", "rating"]]
    turned = [
        _turned(sheet, image)
        for sheet, image in zip(rows["sheet"], rows["image"], strict=True)
    ]
    preference = rows["answer"].map(side_by_side.SCALE)
    rows["preference"] = preference.mask(pd.Series(turned), -preference)
    rows[["dataset", "base", "model"]] = facts[[2, 3, 4]]
    return rows[list(tables.SCHEMAS["comparisons"][0])]
