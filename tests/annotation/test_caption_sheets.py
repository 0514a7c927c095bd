"""Sheets on which people rate captions, singly and side by side."""

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from babelatlas.analysis.captioning import side_by_side
from babelatlas.annotation import caption_sheets, sheets
from babelatlas.base import tables
from babelatlas.base.errors import InputError
from babelatlas.workflow import command_line

IMAGES = [f"{place}.png" for place in range(12)]


def captions():
    table = pd.DataFrame({"image": IMAGES, "caption": [f"Bild {place}" for place in range(12)]})
    return table.assign(captions="people", lang="de", number=0)


def generated():
    run = {"dataset": "d", "precision": "", "preprocessing": "", "prompts": "", "lang": "de"}
    parts = [pd.DataFrame({"image": IMAGES, "caption": f"von {model}", "model": model}) for model in ("p", "q")]
    return pd.concat(parts, ignore_index=True).assign(**run)


def filled(made, answers, path):
    return sheets.write_csv(made.assign(answer=answers), path)


def test_a_sheet_of_captions_is_read_back_as_ratings_of_its_readers(tmp_path):
    made = caption_sheets.rating_sheet(captions(), "people", "de", 5)
    assert made["image"].is_unique
    files = [
        filled(made, answers, tmp_path / f"{name}.csv") for name, answers in {"anna": "good", "juma": "BAD"}.items()
    ]
    schema, table = caption_sheets.judgements(files)
    assert schema == "caption_ratings"
    assert table.groupby("rater")["rating"].unique().map(list).to_dict() == {"anna": ["GOOD"], "juma": ["BAD"]}
    assert set(table["captions"] + table["lang"]) == {"peoplede"}


def test_a_preference_for_the_better_model_is_positive_wherever_its_caption_stood(tmp_path):
    made = caption_sheets.pair_sheet(generated(), "p", "q", "de", 12)
    assert set(made["first"]) == {"von p", "von q"}  # the order is random
    answers = np.where(made["second"] == "von q", "2", "-2")
    schema, table = caption_sheets.judgements([filled(made, answers, tmp_path / "anna.csv")])
    assert schema == "comparisons"
    assert table["preference"].tolist() == [2] * 12
    assert side_by_side.gains(table)["gain"].tolist() == [1]


def test_the_page_shows_image_and_captions_and_needs_nothing_else(tmp_path):
    made = caption_sheets.pair_sheet(generated(), "p", "q", "de", 3)
    for image in IMAGES:
        Image.new("RGB", (8, 8)).save(tmp_path / image)
    page = caption_sheets.write_html(made, {name: str(tmp_path / name) for name in IMAGES}, tmp_path / "sheet.html")
    text = page.read_text(encoding="utf-8")
    assert text.count("data:image/jpeg;base64,") == 3
    assert text.count('value="-3"') == 3
    assert "http" not in text
    with pytest.raises(InputError, match="no file of the image"):
        caption_sheets.write_html(made, {}, tmp_path / "other.html")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: rows.assign(answer="4"), r"row 2 \(number 1\) has the answer '4': expected one of -3, -2"),
        (lambda rows: rows.assign(first="x"), "row 2 .number 1. is not as it was written"),
        (lambda rows: pd.concat([rows, rows.head(1)]), "repeats row 2"),
        (lambda rows: rows.assign(answer=""), "nothing was filled in"),
        (lambda rows: rows.assign(sheet="other"), "not one sheet of captions"),
    ],
)
def test_a_sheet_that_cannot_be_read_is_one_sentence(tmp_path, change, message):
    made = caption_sheets.pair_sheet(generated(), "p", "q", "de", 3).assign(answer="1")
    with pytest.raises(InputError, match=message):
        caption_sheets.read(sheets.write_csv(change(made), tmp_path / "a.csv"))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: caption_sheets.rating_sheet(captions(), "peple", "de"), "no captions 'peple' in German"),
        (
            lambda: caption_sheets.rating_sheet(captions(), "people", "de", 13),
            "There are 12 images to judge: ask for 1",
        ),
        (lambda: caption_sheets.pair_sheet(generated(), "p", "r", "de"), "'r' wrote none: name two of p, q"),
        (lambda: caption_sheets.pair_sheet(generated(), "p", "p", "de"), "'p' was named twice"),
    ],
)
def test_a_sheet_that_cannot_be_made_is_one_sentence(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_sheets_of_two_kinds_are_not_read_together(tmp_path):
    first = filled(caption_sheets.rating_sheet(captions(), "people", "de", 3), "GOOD", tmp_path / "a.csv")
    second = filled(caption_sheets.pair_sheet(generated(), "p", "q", "de", 3), "1", tmp_path / "b.csv")
    with pytest.raises(InputError, match="read together are of one kind"):
        caption_sheets.judgements([first, second])


def test_the_commands_write_a_sheet_and_read_it(tmp_path, capsys):
    source, sheet, output = (str(tmp_path / name) for name in ("captions.parquet", "sheet.csv", "ratings.parquet"))
    tables.write(captions(), source, "captions")
    asked = ["--captions", source, "--set", "people", "--language", "de", "--number", "4", "--output", sheet]
    assert command_line.main(["sheet", "captions", *asked]) == 0
    rows = pd.read_csv(sheet, dtype=str, keep_default_na=False)
    filled(rows, "GOOD", sheet)
    assert command_line.main(["sheet", "judged", sheet, "--output", output]) == 0
    assert "4 answers of 1 people" in capsys.readouterr().out
    assert len(tables.read(output, "caption_ratings")) == 4
