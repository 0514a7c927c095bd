"""Sheets of statements: written, filled in, read back, and labelled again."""

import json
import re

import pandas as pd
import pytest
from PIL import Image

import browsing
from atlas_study.commands import main as command_line
from babelatlas.base import tables
from babelatlas.base.errors import InputError
from babelatlas.datasets import statement_labels, statement_pairs, statement_sheets

CHAPTERS = {"paka": "Animal"}


@pytest.fixture
def pictures(tmp_path):
    """A folder of nine images of cats, eight of dogs, and two of tea."""
    for concept, n in {"paka": 9, "mbwa": 8, "chai": 2}.items():
        for number in range(n):
            path = tmp_path / "pictures" / concept / f"{number}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.new("RGB", (6, 4), (28 * number, 90, 10)).save(path)
    return tmp_path / "pictures"


def drawn(pictures, per_concept=1, seed=0):
    images = {
        folder.name: [f"{folder.name}/{file.name}" for file in folder.iterdir()]
        for folder in pictures.iterdir()
    }
    return statement_sheets.draw(images, per_concept, seed, CHAPTERS)


def data_of(page) -> dict:
    """What a sheet's script is told."""
    text = page.read_text(encoding="utf-8")
    found = re.search(r'type="application/json">(.*?)</script>', text, re.S)
    return json.loads(found[1])


def saved(page, path, answers):
    """A sheet as its page saves it; `answers`: position of a row -> column -> text."""
    rows = pd.DataFrame(data_of(page)["rows"])
    for place, columns in answers.items():
        for column, text in columns.items():
            rows.loc[place, column] = text
    rows.to_csv(path, index=False, encoding="utf-8-sig")
    return path


def filled(page, path):
    """The sheet with a statement on dogs, true of the first two pairs; cats skipped."""
    answers = {place: {"statement": "Mbwa wawili."} for place in range(4)}
    answers[0]["true"] = answers[1]["true"] = "true"
    return saved(page, path, answers)


def test_eight_different_images_of_a_concept_make_four_pairs(pictures):
    pairs = drawn(pictures, per_concept=3)
    assert pairs["instance"].nunique() == 6
    assert set(pairs["concept"]) == {"mbwa", "paka"}, "tea has two images only"
    for _, part in pairs.groupby("instance"):
        assert pd.concat([part["left"], part["right"]]).nunique() == 8
    assert pairs["left"].str.partition("/")[0].equals(pairs["concept"])
    assert pairs.equals(drawn(pictures, per_concept=3))
    assert not pairs.equals(drawn(pictures, per_concept=3, seed=1))
    with pytest.raises(InputError, match="None of 1 concepts has 8 images"):
        statement_sheets.draw({"chai": ["a.png"]})


def test_a_filled_sheet_becomes_pairs_of_images(pictures, tmp_path):
    pairs = drawn(pictures)
    page = statement_sheets.write_collection(
        pairs, "swa", pictures, tmp_path / "s.html"
    )
    read = statement_sheets.read_collection([filled(page, tmp_path / "asha.csv")])
    assert read["truth"].tolist() == [True, True, False, False]
    assert set(read["text"]) == {"Mbwa wawili."}
    assert set(read["lang"]) == {"sw"}
    assert set(read["statement"]) == {"asha mbwa-1"}
    assert read["left"].tolist() == pairs["left"][:4].tolist()
    found = statement_pairs.pictured(read, pictures, "marvl")
    assert found["right"][0] == str(pictures / read["right"][0])


@pytest.mark.parametrize(
    ("place", "answers", "sentence"),
    [
        (1, {"true": ""}, "mbwa-1 has 1 statements, true of 1 of 4 pairs: write one"),
        (2, {"true": "true"}, "mbwa-1 has 1 statements, true of 3 of 4 pairs"),
        (3, {"statement": "Paka."}, "mbwa-1 has 2 statements, true of 2 of 4"),
        (4, {"true": "true"}, "paka-1 has 0 statements, true of 1 of 4 pairs"),
        (0, {"left": "paka/0.png"}, "the row of mbwa-1 is not as it was written"),
        (0, {"sheet": "labels/sw"}, "the row of mbwa-1 is not as it was written"),
    ],
)
def test_a_statement_that_cannot_be_used_is_named(
    pictures, tmp_path, place, answers, sentence
):
    pairs = drawn(pictures)
    page = statement_sheets.write_collection(pairs, "sw", pictures, tmp_path / "s.html")
    path = filled(page, tmp_path / "asha.csv")
    rows = pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8-sig")
    for column, text in answers.items():
        rows.loc[place, column] = text
    rows.to_csv(path, index=False)
    with pytest.raises(InputError, match=sentence):
        statement_sheets.read_collection([path])


def test_an_empty_sheet_and_the_page_itself_are_told_in_a_sentence(pictures, tmp_path):
    pairs = drawn(pictures)
    page = statement_sheets.write_collection(pairs, "sw", pictures, tmp_path / "s.html")
    with pytest.raises(InputError, match="No statement was written on the sheet"):
        statement_sheets.read_collection([saved(page, tmp_path / "a.csv", {})])
    with pytest.raises(InputError, match=r"s\.html is the page: give the CSV file"):
        statement_sheets.read_collection([page])


def command(*words) -> int:
    return command_line.main(["statements", *(str(word) for word in words)])


def test_the_commands_lead_from_images_to_statements_to_labels(
    pictures, tmp_path, capsys
):
    page, own = tmp_path / "s.html", tmp_path / "own.csv"
    fields = tmp_path / "fields.csv"
    fields.write_text("concept,chapter\nmbwa,Animal\n", encoding="utf-8")
    words = ["--images", pictures, "--language", "sw", "--number", 1]
    assert command("write", *words, "--chapters", fields, "--output", page) == 0
    assert "2 statements to write, of 2 of 3 concepts" in capsys.readouterr().out
    assert command("read", filled(page, tmp_path / "a.csv"), "--output", own) == 0
    pairs = tables.read(own, "pairs")
    assert (pairs["statement"].nunique(), set(pairs["chapter"])) == (1, {"Animal"})

    labels = tmp_path / "l.html"
    asked = ["--images", pictures, "--language", "sw", "--number", 4]
    assert command("labels", own, *asked, "--output", labels) == 0
    rows = data_of(labels)["rows"]
    assert "truth" not in rows[0]
    assert "true" not in {text for row in rows for text in row.values()}
    answers = {place: {"label": "True"} for place in range(3)}
    sheets = [saved(labels, tmp_path / f"{name}.csv", answers) for name in "xy"]
    output = tmp_path / "labels.csv"
    assert command("read-labels", *sheets, "--output", output) == 0
    assert "6 labels by 2 raters" in capsys.readouterr().out
    read = statement_labels.read(output, pairs)
    meant = pairs.set_index("number")["truth"]
    assert read["truth"].tolist() == meant[read["number"]].tolist()
    assert read["label"].all()

    assert command("read-labels", *sheets, "--output", output) == 1
    assert "answers: give another name, or --replace" in capsys.readouterr().err
    asked[-1] = 5
    assert command("labels", own, *asked, "--output", labels, "--replace") == 1
    assert "There are 4 pairs with statements in Swahili" in capsys.readouterr().err


def test_a_label_that_is_neither_true_nor_false_is_named(pictures, tmp_path):
    page = statement_sheets.write_collection(
        drawn(pictures), "sw", pictures, tmp_path / "s.html"
    )
    pairs = statement_sheets.read_collection([filled(page, tmp_path / "a.csv")])
    pairs = statement_pairs.pictured(pairs, pictures, "marvl")
    labels = statement_sheets.write_labelling(pairs, "sw", tmp_path / "l.html", 2)
    path = saved(labels, tmp_path / "x.csv", {1: {"label": "perhaps"}})
    with pytest.raises(InputError, match="row 2 has the label 'perhaps'"):
        statement_sheets.read_labelling([path])
    empty = saved(labels, tmp_path / "y.csv", {})
    with pytest.raises(InputError, match="No pair was labelled"):
        statement_sheets.read_labelling([empty])


def test_a_sheet_holds_its_images_itself_and_text_stays_text(pictures, tmp_path):
    pairs = drawn(pictures).replace({"concept": {"mbwa": "</script><b>x</b>"}})
    page = statement_sheets.write_collection(pairs, "sw", pictures, tmp_path / "s.html")
    text = page.read_text(encoding="utf-8")
    assert "http" not in text
    assert "<b>x</b>" not in text
    assert text.count("data:image/jpeg;base64,") == 16
    assert text.count('type="checkbox"') == 8


@pytest.mark.slow
@browsing.needed
def test_a_statement_written_in_a_browser_is_saved_and_read_back(pictures, tmp_path):
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import WebDriverWait

    page = statement_sheets.write_collection(
        drawn(pictures), "ar", pictures, tmp_path / "s.html"
    )
    path = tmp_path / "statements_ar.csv"
    for driver in browsing.browser(tmp_path / "profile"):
        behaviour = {"behavior": "allow", "downloadPath": str(tmp_path)}
        driver.execute_cdp_cmd("Browser.setDownloadBehavior", behaviour)
        driver.get(page.as_uri())
        for number in (1, 3):
            box = driver.find_element(By.NAME, f"true-mbwa-1-{number}")
            driver.execute_script("arguments[0].click()", box)
        driver.find_element(By.NAME, "statement-mbwa-1").send_keys('كلبان، "معا"')
        driver.get("about:blank")
        driver.get(page.as_uri())
        assert driver.find_element(By.ID, "progress").text == "1 of 2 answered"
        driver.find_element(By.ID, "save").click()
        WebDriverWait(driver, 20).until(
            lambda _: path.is_file() and path.stat().st_size
        )
    read = statement_sheets.read_collection([path])
    assert read["truth"].tolist() == [True, False, True, False]
    assert set(read["text"]) == {'كلبان، "معا"'}
