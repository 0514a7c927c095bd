"""Sheets of captions: drawn, written as a page, filled in, and read back."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from atlas_study.commands.main import main
from babelatlas.analysis import caption_sheets, caption_statistics, side_by_side
from babelatlas.base import tables
from babelatlas.base.errors import InputError
from babelatlas.datasets import captions

IMAGES = [f"{letter}.png" for letter in "abcdef"]


@pytest.fixture
def folder(tmp_path):
    """A folder of six pictures."""
    place = tmp_path / "photos"
    place.mkdir()
    for shade, name in enumerate(IMAGES):
        pixels = np.full((20, 30, 3), 40 * shade, np.uint8)
        Image.fromarray(pixels).save(place / name)
    return place


def people(lang="sw"):
    rows = pd.DataFrame({"image": IMAGES, "caption": [f"picha {n}" for n in IMAGES]})
    return rows.assign(captions="people", lang=lang, number=0)


def generated():
    parts = [
        pd.DataFrame(
            {"image": IMAGES, "caption": [f"{model} {n}" for n in IMAGES]}
        ).assign(model=model, dataset="d", lang="en")
        for model in ("p", "q")
    ]
    return pd.concat(parts, ignore_index=True)


def fill(sheet, path, answers):
    """Write a sheet as a rater saves it."""
    sheet.assign(answer=answers).to_csv(path, index=False)
    return path


def test_a_sheet_asks_for_a_caption_of_each_image(folder, tmp_path):
    sheet = caption_sheets.captions_sheet(IMAGES, "sw", 4)
    assert len(set(sheet["image"])) == 4
    assert sheet.equals(caption_sheets.captions_sheet(IMAGES[::-1], "sw", 4))
    page = caption_sheets.write_html(
        sheet, caption_sheets.pictures_in(folder), tmp_path / "sheet.html"
    ).read_text(encoding="utf-8")
    assert page.count('<input name="answer-') == 4
    assert page.count("data:image/jpeg;base64,") == 4
    assert "in Swahili" in page
    data = json.loads(re.search(r'id="data"[^>]*>(.*?)</script>', page, re.S)[1])
    assert [row["image"] for row in data["rows"]] == sheet["image"].tolist()

    files = [
        fill(sheet, tmp_path / f"{name}.csv", [f"{name} {n}" for n in range(4)])
        for name in ("anna", "juma")
    ]
    table = caption_sheets.collected(files)
    assert table["number"].tolist() == [0] * 4 + [1] * 4
    table.to_csv(tmp_path / "captions.csv", index=False)
    assert len(captions.read(tmp_path / "captions.csv")) == 8


def test_ratings_are_collected_for_the_table_of_shares(tmp_path):
    sheet = caption_sheets.ratings_sheet(people(), "sw", 3)
    assert (sheet["first"] == [f"picha {name}" for name in sheet["image"]]).all()
    answers = {"x": ["GOOD", "BAD", ""], "y": ["good", "bad", "excellent"]}
    files = [fill(sheet, tmp_path / f"{n}.csv", a) for n, a in answers.items()]
    table = caption_sheets.collected(files)
    assert len(table) == 5
    table.to_csv(tmp_path / "all.csv", index=False)
    read = caption_statistics.read_ratings(tmp_path / "all.csv")
    shares = caption_statistics.quality(read).set_index("level")["value"]
    assert shares["good or better"] == pytest.approx(2 / 3)
    of_model = generated().query("model == 'p'")
    assert "/p" in caption_sheets.ratings_sheet(of_model, "en", 2)["sheet"][0]


def test_preferences_are_turned_as_the_captions_were(tmp_path):
    sheet = caption_sheets.comparisons_sheet(generated(), "p", "q", "en", 6)
    is_turned = sheet["first"].str.startswith("q")
    assert 0 < is_turned.sum() < 6
    # A rater for whom the captions of q are always better.
    answers = np.where(is_turned, "WORSE", "BETTER")
    table = caption_sheets.collected([fill(sheet, tmp_path / "x.csv", answers)])
    assert table["preference"].tolist() == [2] * 6
    table.to_csv(tmp_path / "all.csv", index=False)
    read = side_by_side.read_comparisons(tmp_path / "all.csv")
    assert side_by_side.gains(read, n_resamples=20)["gain"].tolist() == [1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"image": "z.png"}, "line 2 is not as it was written"),
        ({"answer": "FINE"}, "line 2 has an answer that is none of EXCELLENT"),
        ({"answer": ""}, "nothing was filled in"),
        ({"sheet": "other"}, "not one sheet of captions"),
    ],
)
def test_what_is_no_filled_sheet_is_one_sentence(tmp_path, change, message):
    sheet = caption_sheets.ratings_sheet(people(), "sw", 3)
    path = fill(
        sheet.assign(**change), tmp_path / "x.csv", change.get("answer", "GOOD")
    )
    with pytest.raises(InputError, match=message):
        caption_sheets.read_filled(path)


def test_sheets_of_several_kinds_and_unfit_requests_are_one_sentence(folder, tmp_path):
    files = [
        fill(caption_sheets.captions_sheet(IMAGES, "sw", 2), tmp_path / "a.csv", "x"),
        fill(
            caption_sheets.ratings_sheet(people(), "sw", 2), tmp_path / "b.csv", "BAD"
        ),
    ]
    with pytest.raises(InputError, match="of one kind"):
        caption_sheets.collected(files)
    with pytest.raises(InputError, match="ask for 1 to 6, not 7"):
        caption_sheets.captions_sheet(IMAGES, "sw", 7)
    with pytest.raises(InputError, match="one set of captions in German, and there is"):
        caption_sheets.ratings_sheet(people(), "de", 2)
    with pytest.raises(InputError, match="'z' wrote no caption in English"):
        caption_sheets.comparisons_sheet(generated(), "p", "z", "en", 2)
    sheet = caption_sheets.captions_sheet(["z.png"], "sw", 1)
    with pytest.raises(InputError, match=r"the first z\.png"):
        caption_sheets.write_html(
            sheet, caption_sheets.pictures_in(folder), tmp_path / "x.html"
        )


def test_the_commands_write_sheets_and_collect_them(folder, tmp_path, capsys):
    people().to_csv(tmp_path / "people.csv", index=False)
    run = tmp_path / "generated" / "both.parquet"
    columns = list(tables.SCHEMAS["generated"][0])
    tables.write(generated()[columns], run, "generated")
    shared = ["--images", str(folder), "--number", "2", "--output"]
    pairs = ["--base", "p", "--model", "q", "--language", "en"]
    commands = {
        "a": ["captions", "--language", "sw"],
        "b": [
            "ratings",
            str(tmp_path / "people.csv"),
            "--language",
            "sw",
        ],
        "c": ["comparisons", str(run), *pairs],
    }
    for name, words in commands.items():
        output = str(tmp_path / f"{name}.html")
        assert main(["sheet", *words, *shared, output]) == 0, capsys.readouterr().err
        assert "2 of 6 pictures." in capsys.readouterr().out
    sheet = caption_sheets.ratings_sheet(people(), "sw", 2)
    filled = fill(sheet, tmp_path / "anna.csv", "GOOD")
    output = str(tmp_path / "all.csv")
    assert main(["sheet", "collect", str(filled), "--output", output]) == 0
    assert "2 answers by 1 rater" in capsys.readouterr().out
