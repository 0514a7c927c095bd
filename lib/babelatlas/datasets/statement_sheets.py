"""Sheets on which speakers write statements about pairs of images, and label them again
(Liu et al. 2021, Section 3.5, Figure 3).

For each concept eight of its images are drawn and paired at random; a speaker writes a
statement that is true of two of the four pairs and false of the others. Another speaker
sees a statement and one pair, without its label, and says whether it is true. A sheet
is one HTML file that holds its images, needs no network, and saves its answers as CSV.
"""

import base64
import hashlib
import io
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import jinja2
import numpy as np
import pandas as pd

from babelatlas.base import languages, own_tables, pictures, tables
from babelatlas.base.errors import InputError
from babelatlas.base.paths import DATA
from babelatlas.datasets.statement_labels import COLUMNS as LABEL_COLUMNS
from babelatlas.datasets.statement_labels import WORDS

N_IMAGES, N_PAIRS, N_TRUE = 8, 4, 2
SIDE = 320  # of an image on a sheet, at most, in pixels
WRITTEN = ["instance", "concept", "chapter", "pair", "left", "right"]
COLLECTED = [*WRITTEN, "true", "statement", "comment", "sheet", "check"]
ASKED = ["row", "lang", "statement", "number"]
LABELLED = [*ASKED, "label", "comment", "sheet", "check"]


def draw(
    images: Mapping[str, Sequence[str]],
    per_concept: int = 4,
    seed: int = 0,
    chapters: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """Return the pairs of images to write statements about: `WRITTEN`, four rows for
    each of `per_concept` instances of a concept.

    `images`: concept -> its images; `chapters`: concept -> its semantic field. Concepts
    with fewer than eight images are left out; InputError where all are.
    """
    rows = []
    for concept, paths in sorted(images.items()):
        if len(paths) < N_IMAGES:
            continue
        key = int.from_bytes(hashlib.sha256(concept.encode()).digest()[:4])
        rng = np.random.default_rng([seed, key])
        field = (chapters or {}).get(concept, "")
        for place in range(per_concept):
            drawn = rng.choice(sorted(paths), N_IMAGES, replace=False)
            for pair in range(N_PAIRS):
                left, right = drawn[2 * pair : 2 * pair + 2]
                name = f"{concept}-{place + 1}"
                rows.append([name, concept, field, str(pair + 1), left, right])
    if not rows:
        raise InputError(
            f"None of {len(images)} concepts has {N_IMAGES} images: put as many into the"
            " folder of a concept."
        )
    return pd.DataFrame(rows, columns=WRITTEN)


def _check(sheet: str, values: Sequence[str]) -> str:
    """Return what `check` should be, by which a changed row is seen; it begins with a
    letter: a spreadsheet makes a number of 12e45.
    """
    text = "\n".join([sheet, *map(str, values)])
    return "c" + hashlib.sha256(text.encode()).hexdigest()[:9]


def _checked(rows: pd.DataFrame, columns: list[str], sheet: str) -> pd.DataFrame:
    """Return rows with the columns sheet and check, all text."""
    rows = rows.astype(str).assign(sheet=sheet)
    checks = [_check(sheet, values) for values in rows[columns].to_numpy()]
    return rows.assign(check=checks)


def write_collection(
    pairs: pd.DataFrame,
    language: str,
    folder: str | os.PathLike,
    path: str | os.PathLike,
) -> Path:
    """Write the sheet on which a speaker writes statements; return its path.

    `pairs`: as `draw` returns them, with paths below `folder`. InputError for an image
    that cannot be read.
    """
    code = languages.canonical(language)
    rows = _checked(pairs, WRITTEN, f"statements/{code}")
    rows = rows.assign(true="", statement="", comment="")[COLLECTED]
    cards = []
    for name, part in rows.groupby("instance", sort=False):
        shown = [
            {"name": f"true-{name}-{row.pair}", **_images(folder, row.left, row.right)}
            for row in part.itertuples()
        ]
        cards.append({"name": name, "concept": part["concept"].iloc[0], "pairs": shown})
    fields = [
        {
            "true": f"true-{row.instance}-{row.pair}",
            "statement": f"statement-{row.instance}",
            "comment": f"comment-{row.instance}",
        }
        for row in rows.itertuples()
    ]
    return _write(rows, fields, cards, code, "statements", path)


def write_labelling(
    pairs: pd.DataFrame,
    language: str,
    path: str | os.PathLike,
    number: int = 200,
    seed: int = 0,
) -> Path:
    """Write the sheet on which another speaker labels `number` random pairs again, in
    random order and without their labels; return its path.

    `pairs`: schema `pairs` with the paths of images that are there. InputError for a
    language without statements, and more pairs than there are.
    """
    code = languages.canonical(language)
    original = (pairs["lang"] == code) & (pairs["variant"] == "original")
    asked = pairs[original].reset_index(drop=True)
    if not 1 <= number <= len(asked):
        raise InputError(
            f"There are {len(asked)} pairs with statements in {languages.name(code)}, so"
            f" that a sheet has from 1 to {len(asked)}, not {number}."
        )
    order = np.random.default_rng(seed).permutation(len(asked))[:number]
    asked = asked.loc[order].reset_index(drop=True)
    asked["row"] = [str(place + 1) for place in asked.index]
    rows = _checked(asked[ASKED], ASKED, f"labels/{code}/{number}/{seed}")
    rows = rows.assign(label="", comment="")[LABELLED]
    cards = [
        {"name": row.row, "text": row.text, **_images("", row.left, row.right)}
        for row in asked.itertuples()
    ]
    fields = [
        {"label": f"label-{row}", "comment": f"comment-{row}"} for row in rows["row"]
    ]
    return _write(rows, fields, cards, code, "labels", path)


def _images(folder: str | os.PathLike, left: str, right: str) -> dict[str, str]:
    """Return both images of a pair as addresses that a page holds itself."""
    paths = {"left": Path(folder, left), "right": Path(folder, right)}
    return {side: _address(path) for side, path in paths.items()}


def _address(path: Path) -> str:
    image = pictures.open_image(path)
    image.thumbnail((SIDE, SIDE))
    content = io.BytesIO()
    image.save(content, format="jpeg", quality=80)
    return "data:image/jpeg;base64," + base64.b64encode(content.getvalue()).decode()


def _write(
    rows: pd.DataFrame,
    fields: list[dict],
    cards: list[dict],
    code: str,
    kind: str,
    path: str | os.PathLike,
) -> Path:
    """Write a page of cards that saves `rows`; `fields`: of each row, its column -> the
    name of what is filled in.
    """
    records = rows.to_dict("records")
    data = {
        "columns": list(rows.columns),
        "rows": records,
        "fields": fields,
        "key": f"babelatlas {rows['sheet'].iloc[0]} {rows['check'].iloc[0]}",
        "file": f"{kind}_{code}.csv",
    }
    templates = jinja2.Environment(
        loader=jinja2.FileSystemLoader(DATA), autoescape=True
    )
    text = templates.get_template("statement_sheet.html").render(
        kind=kind,
        language=languages.name(code),
        code=code,
        cards=cards,
        data=data,
        n_true=N_TRUE,
        n_pairs=N_PAIRS,
    )
    with tables.beside(path) as part:
        part.write_text(text, encoding="utf-8")
    return tables.locate(path)


def _sent_back(path: str | os.PathLike, columns: list[str], kind: str) -> pd.DataFrame:
    """Return the rows of a sheet that was sent back, stripped; InputError for another
    file, and for a row that is not as it was written.
    """
    if Path(path).suffix.lower() in (".html", ".htm"):
        raise InputError(
            f"{Path(path).name} is the page: give the CSV file that its button 'Save as"
            " CSV' saves."
        )
    rows = own_tables.read(path, "answers", columns)[columns].map(str.strip)
    written = WRITTEN if kind == "statements" else ASKED
    for row in rows.to_dict("records"):
        is_of_kind = row["sheet"].partition("/")[0] == kind
        values = [row[column] for column in written]
        if not is_of_kind or row["check"] != _check(row["sheet"], values):
            raise InputError(
                f"{Path(path).name}: the row of {row[written[0]]} is not as it was"
                " written: put it back, and fill in the page or its columns of answers"
                " only."
            )
    if rows.duplicated([*written, "sheet"]).any():
        raise InputError(f"{Path(path).name} has rows twice: keep one of each.")
    return rows


def read_collection(paths: Sequence[str | os.PathLike]) -> pd.DataFrame:
    """Return the statements that speakers wrote: schema `pairs`, with the paths of the
    images as on the sheet.

    An instance without a statement and without ticks was skipped. InputError for one
    with a statement that is not true of two of its four pairs, or with ticks alone, and
    where no statement was written.
    """
    parts = []
    for path in paths:
        rows = _sent_back(path, COLLECTED, "statements")
        filled = rows.groupby("instance", sort=False)
        parts += [
            _pairs_of_instance(part, Path(path))
            for _, part in filled
            if (part[["statement", "true"]] != "").any(axis=None)
        ]
    if not parts:
        raise InputError("No statement was written on the sheet: fill it in first.")
    table = pd.concat(parts, ignore_index=True)
    return tables.check(table[list(tables.SCHEMAS["pairs"][0])], "pairs")


def _pairs_of_instance(rows: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Return the four pairs of a statement, which has the name of sheet and instance."""
    name = rows["instance"].iloc[0]
    texts = [text for text in rows["statement"].unique() if text]
    truth = rows["true"].str.casefold().isin(["true", "yes", "x", "1"])
    if len(texts) != 1 or len(rows) != N_PAIRS or truth.sum() != N_TRUE:
        raise InputError(
            f"{path.name}: {name} has {len(texts)} statements, true of {truth.sum()} of"
            f" {len(rows)} pairs: write one that is true of {N_TRUE} of {N_PAIRS}."
        )
    return rows.assign(
        variant="original",
        lang=rows["sheet"].iloc[0].split("/")[1],
        statement=f"{path.stem} {name}",
        number=rows["pair"].astype(int) - 1,
        text=texts[0],
        truth=truth,
    )


def read_labelling(paths: Sequence[str | os.PathLike]) -> pd.DataFrame:
    """Return the labels of one or more filled sheets, a rater called as the file: the
    columns of `statement_labels`, texts.

    Rows without a label are left out; InputError for a label that is neither true nor
    false, and where nothing was labelled.
    """
    parts = []
    for path in paths:
        rows = _sent_back(path, LABELLED, "labels")
        rows = rows.assign(rater=Path(path).stem, label=rows["label"].str.casefold())
        answered = rows[rows["label"] != ""]
        strange = answered[~answered["label"].isin(list(WORDS))]
        if len(strange):
            row = strange.iloc[0]
            raise InputError(
                f"{Path(path).name}: row {row['row']} has the label {row['label']!r}:"
                " write true or false."
            )
        parts.append(answered[LABEL_COLUMNS])
    labels = pd.concat(parts, ignore_index=True)
    if labels.empty:
        raise InputError("No pair was labelled on the sheets: fill them in first.")
    return labels
