"""Further images: found by a model that can be checked by hand, chosen on a sheet, read back."""

import io
import shutil
import tarfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from babelatlas.annotation import image_sheets
from babelatlas.base import tables
from babelatlas.base.errors import InputError
from babelatlas.datasets import item_images
from babelatlas.models.tokens import Tokenizer
from babelatlas.workflow import command_line

COLOURS = {"red": (1, 0, 0), "green": (0, 1, 0), "blue": (0, 0, 1)}


class Toy:
    """An encoder of which a picture becomes its mean colour, and a word the colour that it names."""

    name, key = "toy", "1"
    tokenizer = Tokenizer(
        lambda texts, lang: [[ord(letter) for letter in text] for text in texts], 50, pad=0, trim=True, tail=0
    )

    def __init__(self):
        self.pictures = 0

    def transform(self, image):
        return np.asarray(image.resize((2, 2)), np.float32).transpose(2, 0, 1)

    def encode_images(self, images):
        self.pictures += len(images)
        return images.mean((2, 3))

    def encode_texts(self, texts, lang=""):
        ids, mask = texts.padded()
        words = ["".join(map(chr, row[here])) for row, here in zip(ids, mask, strict=True)]
        return np.array([COLOURS.get(word, (1, 1, 1)) for word in words], np.float32)


def picture(path, colour, size=(80, 80)):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, colour).save(path)
    return path


@pytest.fixture
def images(tmp_path):
    """Return a folder of images in shades of red and blue, some of which are no candidates."""
    folder = tmp_path / "collection"
    for shade in range(4):
        picture(folder / f"red{shade}.png", (200, 0, 40 * shade))
        picture(folder / "deep" / f"blue{shade}.png", (40 * shade, 0, 201))
    picture(folder / "small.png", (255, 0, 0), (63, 80))
    picture(folder / "long.png", (255, 0, 0), (64, 161))
    shutil.copy(folder / "red0.png", folder / "z red0 again.png")
    (folder / "torn.png").write_bytes((folder / "red0.png").read_bytes()[:60])
    (folder / "notes.txt").write_text("no image")
    return folder


CAPTIONS = pd.DataFrame([("i", "a", "red"), ("i", "b", "blue")], columns=image_sheets.CAPTIONS)


def find(images, folder, number=3, **options):
    return image_sheets.find(Toy(), CAPTIONS, images, folder, number, progress=False, **options)


@pytest.fixture
def made(images, tmp_path):
    """Return a sheet of three candidates for each of two captions, not filled in."""
    return image_sheets.sheet(find(images, tmp_path / "out")[0])


def test_the_most_similar_come_first_and_others_are_counted(images, tmp_path):
    found, counts = find(images, tmp_path / "out")
    assert found["place"].tolist() == [*(f"red{n}.png" for n in range(3)), *(f"deep/blue{n}.png" for n in range(3))]
    assert found["rank"].tolist() == [1, 2, 3] * 2
    assert found["similarity"].tolist() == pytest.approx(
        [200 / np.hypot(200, 40 * n) for n in range(3)] + [201 / np.hypot(201, 40 * n) for n in range(3)], abs=1e-5
    )
    assert counts == {"seen": 12, "unreadable": 1, "too small": 1, "too long": 1, "twice": 1}
    kept = {f"images/{path.name}" for path in (tmp_path / "out" / "images").iterdir()}
    assert kept == set(found["file"])


@pytest.mark.parametrize(
    ("size", "reason"),
    [((64, 64), ""), ((63, 64), "too small"), ((64, 160), ""), ((160, 64), ""), ((64, 161), "too long")],
)
def test_the_limits_of_size_and_aspect_are_those_of_the_paper(tmp_path, size, reason):
    assert image_sheets.unsuitable(picture(tmp_path / "one.png", "red", size)) == reason


def test_tar_files_give_what_a_folder_gives_in_whatever_parts(images, tmp_path, monkeypatch):
    found = find(images, tmp_path / "out")[0]
    with_parts = tmp_path / "tars"
    with_parts.mkdir()
    paths = sorted(path for path in images.rglob("*") if path.is_file())
    for number in range(3):
        with tarfile.open(with_parts / f"{number:05d}.tar", "w") as archive:
            for path in paths[number::3]:
                archive.add(path, path.name)
    other, counts = find(with_parts, tmp_path / "other")
    pd.testing.assert_frame_equal(other[["rank", "similarity"]], found[["rank", "similarity"]])
    assert counts["seen"] == 12
    assert all(place.split(":")[0].endswith(".tar") for place in other["place"])
    assert {path.name for path in (tmp_path / "other").iterdir()} == {
        "images",
        image_sheets.SOUGHT,
    }  # what was unpacked is gone
    monkeypatch.setattr(image_sheets, "CHUNK", 2)
    pd.testing.assert_frame_equal(find(images, tmp_path / "third")[0], found)


def test_a_name_in_a_tar_file_cannot_lead_out_of_the_folder(tmp_path):
    content = picture(tmp_path / "red.png", "red").read_bytes()
    with tarfile.open(tmp_path / "bad.tar", "w") as archive:
        member = tarfile.TarInfo("../../escaped.png")
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    found, _ = find(tmp_path / "bad.tar", tmp_path / "deep" / "out")
    assert found["place"].unique().tolist() == ["bad.tar:../../escaped.png"]
    assert not list(tmp_path.rglob("escaped.png"))


def test_vectors_that_are_kept_are_not_made_again(images, tmp_path):
    first, second = Toy(), Toy()
    for encoder in (first, second):
        image_sheets.find(encoder, CAPTIONS, images, tmp_path / "out", 3, cache=tmp_path / "cache", progress=False)
    # One picture each time, by which the engine sees how large a vector is, at most.
    assert first.pictures >= 8
    assert second.pictures < first.pictures - 6


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda folder: folder / "nowhere", "does not exist"),
        (lambda folder: folder / "empty", "no tar file and no image"),
        (lambda folder: folder / "torn.tar", "torn.tar is damaged"),
        (lambda folder: folder / "tiny", r"can be a candidate \(seen 1, too small 1\)"),
    ],
)
def test_a_collection_that_gives_nothing_is_told(tmp_path, make, message):
    (tmp_path / "empty").mkdir()
    (tmp_path / "torn.tar").write_bytes(b"no tar file at all" * 100)
    picture(tmp_path / "tiny" / "one.png", "red", (5, 5))
    with pytest.raises(InputError, match=message):
        find(make(tmp_path), tmp_path / "out")


def test_senses_are_written_to_be_captioned_and_read_back(tmp_path):
    rows = [(lang, "i", sense, "", "A bat.", f"{lang}{sense}") for lang in ("de", "fr") for sense in "ab"]
    items = pd.DataFrame(rows, columns=["lang", "item", "sense", "word", "source", "translation"])
    senses = image_sheets.to_caption(items)
    assert senses["translation"].tolist() == ["dea", "deb"]
    path = image_sheets.write_csv(senses, tmp_path / "captions.csv")
    with pytest.raises(InputError, match=r"captions\.csv, row 2: the caption is '', expected .* \(2 row.s. so\)"):
        image_sheets.read_captions(path)
    image_sheets.write_csv(senses.assign(caption=["a club", "an animal, flying"]), path)
    assert image_sheets.read_captions(path).to_numpy().tolist() == [
        ["i", "a", "a club"],
        ["i", "b", "an animal, flying"],
    ]
    path.write_text("item;sense;caption\ni;c;x\n")
    with pytest.raises(InputError, match="the sense is 'c'"):
        image_sheets.read_captions(path)
    path.write_text("item\tsense\tcaption\ni\ta\tx\n\ni\ta\ty\n")
    with pytest.raises(InputError, match="row 4: sense a of i occurs twice"):
        image_sheets.read_captions(path)
    path.write_text("item,caption\ni,x\n")
    with pytest.raises(InputError, match="no column 'sense'"):
        image_sheets.read_captions(path)


def tick(made, rows, path, word="x"):
    filled = made.copy()
    filled.loc[rows, "chosen"] = word
    return image_sheets.write_csv(filled, path)


def test_what_was_chosen_becomes_the_further_images_of_an_item(made, images, tmp_path):
    path = tick(made, [2, 0, 3, 4], tmp_path / "filled.csv")
    chosen = image_sheets.read_sheet(path, tmp_path / "out", each=2)
    assert chosen["rank"].tolist() == [1, 3, 1, 2]
    own = pd.DataFrame([("i", "b", str(images / "red3.png"))], columns=["item", "sense", "path"])
    table = image_sheets.write_extended(chosen, tmp_path / "out", tmp_path / "extended", own)
    assert tables.read(table, "item_images")["image"].tolist() == ["a1", "a2", "b1", "b2", "b3"]
    originals = [("i", image, str(images / "red0.png")) for image in ("a0", "b0")]
    own = pd.DataFrame(originals, columns=["item", "image", "path"])
    joined, _ = item_images.extend(own, tmp_path / "extended", ["i"])
    files = joined.set_index("image")["path"]
    assert Path(files["a2"]).read_bytes() == (images / "red2.png").read_bytes()
    assert Path(files["b3"]).read_bytes() == (images / "red3.png").read_bytes()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: rows.assign(caption="other"), r"row 2 .candidate 1 of sense a of i. is not as it was written"),
        (lambda rows: rows.assign(chosen="maybe"), "has 'maybe' as 'chosen'"),
        (lambda rows: pd.concat([rows, rows[:1]]), "repeats row 2"),
        (lambda rows: rows.assign(chosen="x"), "row 2: 3 images of sense a of i are chosen, not 2"),
        (lambda rows: rows, "row 2: 0 of 2 images of sense a of i are chosen: choose more, or read it with --partial"),
    ],
)
def test_a_sheet_that_was_changed_or_not_filled_is_told(made, tmp_path, change, message):
    path = image_sheets.write_csv(change(made), tmp_path / "filled.csv")
    with pytest.raises(InputError, match=message):
        image_sheets.read_sheet(path, tmp_path / "out", each=2)


def test_a_sense_of_which_no_row_is_left_is_told(made, tmp_path):
    path = image_sheets.write_csv(made.assign(chosen="x").query("sense == 'a'"), tmp_path / "filled.csv")
    with pytest.raises(InputError, match="no row of the sense is left: 0 of 3 images of sense b of i are chosen"):
        image_sheets.read_sheet(path, tmp_path / "out", each=3)
    assert image_sheets.read_sheet(path, tmp_path / "out", 3, partial=True)["sense"].tolist() == ["a"] * 3
    image_sheets.write_csv(made.assign(chosen="x").query("sense == 'a' or rank == '1'"), path)
    with pytest.raises(InputError, match="row 5: 1 of 3 images of sense b"):
        image_sheets.read_sheet(path, tmp_path / "out", each=3)


def test_a_sheet_of_another_folder_is_told(made, images, tmp_path):
    image_sheets.find(Toy(), CAPTIONS.assign(item="j"), images, tmp_path / "other", 3, progress=False)
    path = tick(made, range(6), tmp_path / "filled.csv")
    with pytest.raises(InputError, match=r"row 2 .* is not of a caption in .*: give the folder that this sheet is of"):
        image_sheets.read_sheet(path, tmp_path / "other", each=3)


def test_part_of_a_sheet_is_read_where_that_is_asked_for(made, tmp_path):
    path = tick(made, [1], tmp_path / "filled.csv", " Yes ")
    assert image_sheets.read_sheet(path, tmp_path / "out", 4, partial=True)["rank"].tolist() == [2]
    with pytest.raises(InputError, match="no image is chosen"):
        image_sheets.read_sheet(image_sheets.write_csv(made, path), tmp_path / "out", 4, partial=True)
    tick(made, [1], path)
    (tmp_path / "out" / made["file"].iloc[1]).unlink()
    with pytest.raises(InputError, match="which is not there: give the folder of `find`"):
        image_sheets.read_sheet(path, tmp_path / "out", 4, partial=True)
    with pytest.raises(InputError, match=r"sought\.csv, are not there: give the folder of `find`"):
        image_sheets.read_sheet(path, tmp_path, 4, partial=True)


def test_the_page_holds_everything_itself_and_text_stays_text(made, tmp_path):
    made = made.assign(caption=made["caption"] + "</script><b>x</b>")
    page = image_sheets.write_html(made, tmp_path / "out", tmp_path / "sheet.html").read_text(encoding="utf-8")
    assert "http" not in page
    assert "<b>x</b>" not in page
    assert page.count("</script>") == 2
    assert page.count('type="checkbox"') == page.count("data:image/jpeg;base64,") == len(made)


def test_the_commands_tell_what_is_wrong_and_what_was_done(made, tmp_path, capsys):
    rows = [("fr", "i", sense, "", "A bat.", sense) for sense in "ab"]
    items = pd.DataFrame(rows, columns=["lang", "item", "sense", "word", "source", "translation"])
    tables.write(items, tmp_path / "items.parquet", "items")
    ask = ["captions", "--items", str(tmp_path / "items.parquet"), "--output", str(tmp_path / "captions.csv")]
    assert command_line.main(["candidates", *ask]) == 0
    assert "2 senses of 1 items" in capsys.readouterr().out
    assert command_line.main(["candidates", *ask]) == 1
    assert "may hold captions" in capsys.readouterr().err
    path = tick(made, [0, 3], tmp_path / "filled.csv")
    ask = ["read", str(path), "--candidates", str(tmp_path / "out"), "--output", str(tmp_path / "extended")]
    assert command_line.main(["candidates", *ask]) == 1
    assert "--partial" in capsys.readouterr().err
    assert command_line.main(["candidates", *ask, "--partial"]) == 0
    assert "2 images of 2 senses" in capsys.readouterr().out
    ask = ["find", "--captions", str(tmp_path / "captions.csv"), "--images", str(tmp_path), "--output", str(tmp_path)]
    assert command_line.main(["candidates", *ask, "--model", "picto-multi"]) == 1
    assert "the caption is ''" in capsys.readouterr().err


@pytest.mark.slow
def test_what_is_ticked_in_a_browser_is_remembered_saved_and_read_back(made, tmp_path):
    chromium, driver_path = shutil.which("chromium"), shutil.which("chromedriver")
    if not (chromium and driver_path):
        pytest.skip("no chromium and chromedriver here (Debian: apt-get install chromium-driver)")
    from selenium import webdriver
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import WebDriverWait

    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in ("headless", "no-sandbox", "disable-gpu", "disable-dev-shm-usage", f"user-data-dir={tmp_path / 'me'}"):
        options.add_argument(f"--{flag}")
    options.add_experimental_option("prefs", {"download.default_directory": str(tmp_path)})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    address = image_sheets.write_html(made, tmp_path / "out", tmp_path / "sheet.html", each=2).as_uri()
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(executable_path=driver_path))
    try:
        driver.get(address)
        for number in (0, 2, 3, 5):
            box = driver.find_element(By.NAME, f"row-{number}")
            driver.execute_script("arguments[0].scrollIntoView({block: 'center'}); arguments[0].click()", box)
        driver.get("about:blank")
        driver.get(address)
        assert driver.find_element(By.ID, "progress").text == "2 of 2 captions have 2"
        driver.find_element(By.ID, "save").click()
        saved = tmp_path / "candidates.csv"
        WebDriverWait(driver, 20).until(lambda _: saved.is_file() and saved.stat().st_size)
        assert [entry for entry in driver.get_log("browser") if entry["level"] == "SEVERE"] == []
    finally:
        driver.quit()
    chosen = image_sheets.read_sheet(saved, tmp_path / "out", each=2)
    assert chosen[["sense", "rank"]].to_numpy().tolist() == [["a", 1], ["a", 3], ["b", 1], ["b", 3]]
