"""CoMMuTE: what is read, and what in its files is found irregular. The sentences here are invented."""

import tarfile

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from babelatlas.base import tables
from babelatlas.base.errors import InputError
from babelatlas.datasets import commute
from babelatlas.datasets import registry as datasets

NAMES = ("src.en", "correct.fr", "incorrect.fr", "img.order")
# Two items, each with two lines: sentence, correct, incorrect, image.
ROWS = [
    ("A bat.", "Une batte.", "Une souris.", "9a.png"),
    ("A bat.", "Une souris.", "Une batte.", "1b.png"),
    ("A crane.", "Une grue.", "Un oiseau.", "2c.jpeg"),
    ("A crane.", "Un oiseau.", "Une grue.", "3d.jpg"),
]


def write(folder, rows, lang="fr", end="\n", suffix=""):
    """Write rows of text as the four files of a language; return the folder above."""
    home = folder / f"en-{lang}{suffix}"
    home.mkdir(parents=True, exist_ok=True)
    for name, texts in zip(NAMES, zip(*rows, strict=True), strict=True):
        (home / name.replace(".fr", f".{lang}")).write_bytes((end.join(texts)).encode())
    return folder


def changed(place, column, text):
    rows = [list(row) for row in ROWS]
    rows[place][column] = text
    return rows


def found(folder, **options):
    return commute.read(folder, **options)[1].set_index("finding")


def test_two_lines_are_one_item_named_after_its_images(tmp_path):
    items, findings = commute.read(write(tmp_path, ROWS))
    assert items[["item", "sense", "translation"]].to_numpy().tolist() == [
        ["1b.png+9a.png", "b", "Une batte."],
        ["1b.png+9a.png", "a", "Une souris."],
        ["2c.jpeg+3d.jpg", "a", "Une grue."],
        ["2c.jpeg+3d.jpg", "b", "Un oiseau."],
    ]
    assert items["source"].tolist() == [row[0] for row in ROWS]
    assert findings.empty
    assert findings.columns.tolist() == commute.COLUMNS


def test_an_item_has_one_name_in_all_languages(tmp_path):
    write(tmp_path, ROWS)
    swapped = [(*row[:1], row[1] + "!", row[2] + "!", row[3]) for row in (ROWS[1], ROWS[0])]
    items, findings = commute.read(write(tmp_path, swapped, "de"))
    assert items.groupby("lang")["item"].first().tolist() == ["1b.png+9a.png"] * 2
    senses = items[items["item"] == "1b.png+9a.png"].set_index(["lang", "sense"])["translation"]
    assert senses["fr", "a"] + "!" == senses["de", "a"]
    assert findings[["lang", "finding", "item"]].to_numpy().tolist() == [
        ["de", "item is not in this language", "2c.jpeg+3d.jpg"]
    ]
    counts = commute.counts(items).set_index("lang")
    assert counts.loc["fr"].tolist() == [2, 1, 0]
    assert counts.loc["de"].tolist() == [1, 1, 0]


@settings(max_examples=25, deadline=None)
@given(st.permutations(range(6)), st.lists(st.booleans(), min_size=6, max_size=6))
def test_the_order_of_items_and_of_their_lines_changes_no_item(tmp_path_factory, order, swapped):
    pairs = [[(f"{n}.", f"{n}x", f"{n}y", f"{n}.png"), (f"{n}.", f"{n}y", f"{n}x", f"{5 - n}b.png")] for n in range(6)]
    rows = [row for n in order for row in (pairs[n][::-1] if swapped[n] else pairs[n])]
    items, findings = commute.read(write(tmp_path_factory.mktemp("commute"), rows))
    assert findings.empty
    assert items["translation"].tolist() == [row[1] for row in rows]  # row k is line k
    translations = {name: text for _, text, _, name in rows}
    for row in items.itertuples():
        a, b = row.item.split("+")
        assert a < b
        assert row.translation == translations[a if row.sense == "a" else b]


@pytest.mark.parametrize(
    ("place", "column", "text", "finding", "file", "lines", "treatment"),
    [
        (1, 1, "Une souris. ", "spaces around a text", "correct.fr", "2", "cut off"),
        (0, 0, "\u00a0A bat.", "spaces around a text", "src.en", "1", "cut off"),
        (3, 3, "3d.jpg\r", "carriage return", "img.order", "4", "cut off"),
        (0, 0, "\ufeffA bat.", "byte order mark", "src.en", "1", "cut off"),
        (3, 2, "Une grue.\n\n", "empty lines at the end", "incorrect.fr", "5", "left out"),
        (3, 2, "Une grue.\n\n \n\n", "empty lines at the end", "incorrect.fr", "5, 7", "left out"),
        (2, 3, "2  c.jpeg", "spaces in a row", "img.order", "3", "kept"),
        (2, 3, "2\u200bc.jpeg", "invisible letter", "img.order", "3", "kept"),
        (0, 0, "The bat.", "sentences of an item differ", "src.en", "1, 2", "kept: each sense has its own"),
        (2, 2, "Autre.", "incorrect is not the other's correct", "incorrect.fr", "3", "not used"),
    ],
)
def test_every_irregularity_is_found_with_its_place(tmp_path, place, column, text, finding, file, lines, treatment):
    items, findings = commute.read(write(tmp_path, changed(place, column, text)))
    assert findings["finding"].tolist() == [finding]
    row = findings.iloc[0]
    assert (row["file"], row["lines"]) == (f"en-fr/{file}", lines)
    assert row["treatment"].startswith(treatment)
    assert len(items) == 4
    assert finding in commute.FINDINGS


def test_what_is_cut_off_is_told_and_the_item_is_as_without_it(tmp_path):
    regular = commute.read(write(tmp_path / "one", ROWS))[0]
    spaced = [tuple(f" {text}\t" for text in row) for row in ROWS]
    items, findings = commute.read(write(tmp_path / "two", spaced, end="\r\n"))
    pd.testing.assert_frame_equal(items, regular)
    # The last line of each file has no end.
    assert findings["finding"].value_counts().to_dict() == {"spaces around a text": 16, "carriage return": 12}


def test_a_sentence_and_an_image_of_several_items_are_found(tmp_path):
    rows = [*ROWS[:2], ("A bat.", "Chauve.", "Maillet.", "9a.png"), ("A bat.", "Maillet.", "Chauve.", "4e.png")]
    findings = found(write(tmp_path, rows))
    assert findings.loc["sentence of several items", "lines"].tolist() == ["1, 2", "3, 4"]
    assert findings.loc["image of several items", "lines"].tolist() == ["1", "3"]


def test_a_sentence_that_differs_between_languages_is_found(tmp_path):
    for lang in ("de", "fr"):
        write(tmp_path, ROWS, lang)
    other = [("One bat.", *row[1:]) if row[0] == "A bat." else row for row in ROWS]
    findings = found(write(tmp_path, other, "zh"))
    assert findings.loc["sentence differs between languages", ["lang", "item"]].tolist() == ["zh", "1b.png+9a.png"]


def test_items_with_one_translation_are_kept_or_left_out(tmp_path):
    rows = [*ROWS[:2], *[(row[0], "Grue.", "Grue.", row[3]) for row in ROWS[2:]]]
    items, findings = commute.read(write(tmp_path, rows))
    assert findings[["finding", "lines", "treatment"]].to_numpy().tolist() == [
        ["translations are the same", "3, 4", "kept"]
    ]
    assert commute.counts(items)[["items", "same"]].to_numpy().tolist() == [[2, 1]]
    items, findings = commute.read(tmp_path, identical="leave out")
    assert findings["treatment"].tolist() == ["left out"]
    assert items["item"].unique().tolist() == ["1b.png+9a.png"]
    with pytest.raises(InputError, match="can be given"):
        commute.read(tmp_path, identical="mend")


def test_files_of_unequal_length_are_told(tmp_path):
    write(tmp_path, ROWS)
    (tmp_path / "en-fr" / "incorrect.fr").write_text("one\ntwo")
    with pytest.raises(InputError, match=r"src\.en 4, correct\.fr 4, incorrect\.fr 2, img\.order 4"):
        commute.read(tmp_path)


@pytest.mark.parametrize("text", ["", "\n", " \n\n"])
def test_a_language_whose_files_are_empty_is_told(tmp_path, text):
    write(tmp_path, ROWS)
    write(tmp_path, [(text,) * 4], "de")
    with pytest.raises(InputError, match=r"en-de hold no line: .* leave out the language de"):
        commute.read(tmp_path)
    assert commute.read(tmp_path, wanted=["fr"])[0]["item"].nunique() == 2


def test_a_language_of_which_every_item_is_left_out_is_told(tmp_path):
    write(tmp_path, [(row[0], "Grue.", "Grue.", row[3]) for row in ROWS])
    with pytest.raises(InputError, match=r"Every item of .*en-fr has one translation"):
        commute.read(tmp_path, identical="leave out")
    assert commute.counts(commute.read(tmp_path)[0])["same"].tolist() == [2]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (ROWS[:3], r"en-fr/src\.en, line 3, has no neighbouring line"),
        ([ROWS[0], *ROWS[2:]], r"en-fr/src\.en, line 1, has no neighbouring line for its other side: fix"),
        ([ROWS[0], ROWS[2]], r"line 1, has no neighbouring line for its other side \(and 1 more problem"),
        (changed(1, 1, " "), r"en-fr/correct\.fr, line 2, holds no text"),
        (changed(0, 3, "1b.png"), r"en-fr/img\.order, lines 1 and 2, name one image for both senses"),
        ([*ROWS, *ROWS[:2]], r"en-fr/img\.order, lines 1 and 2, name the two images of another item"),
    ],
)
def test_what_is_no_item_stops_the_run_with_its_place(tmp_path, rows, message):
    with pytest.raises(InputError, match=message):
        commute.read(write(tmp_path, rows))


def test_a_file_that_is_absent_or_not_in_utf8_is_told(tmp_path):
    write(tmp_path, ROWS)
    (tmp_path / "en-fr" / "img.order").unlink()
    with pytest.raises(InputError, match=r"img\.order of CoMMuTE cannot be read"):
        commute.read(tmp_path)
    (tmp_path / "en-fr" / "correct.fr").write_bytes(b"d\xe9j\xe0 vu")
    with pytest.raises(InputError, match=r"correct\.fr is not in UTF-8 \(byte 1\)"):
        commute.read(tmp_path)


def test_folders_and_languages_that_are_absent_are_told(tmp_path):
    write(tmp_path, ROWS)
    assert list(commute.available(tmp_path)) == ["fr"]
    with pytest.raises(InputError, match=r"no language de in .*: it has fr"):
        commute.read(tmp_path, wanted=["fr", "de"])
    with pytest.raises(InputError, match=r"en-fr_dev/src\.en, but .* holds no such folder"):
        commute.read(tmp_path, "commute-dev")
    with pytest.raises(InputError, match="holds no such folder: give the folder that holds en-fr"):
        commute.read(tmp_path / "en-fr")
    with pytest.raises(InputError, match="is no folder"):
        commute.read(tmp_path / "nowhere")
    with pytest.raises(InputError, match="texts of the data set 'commute' are not given: get them from https"):
        commute.read("")
    with pytest.raises(InputError, match="commute or commute-dev"):
        commute.read(tmp_path, "comute")


@pytest.fixture
def pictures(tmp_path):
    """Return a folder with the images of the items, one of them in a folder of its own."""
    folder = tmp_path / "pictures"
    for number, name in enumerate(("9a.png", "1b.png", "deep/2c.jpeg", "3d.jpg")):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (9, 7), (number, 0, 0)).save(folder / name)
    return folder


def test_images_are_found_in_a_folder_and_in_an_archive(tmp_path, pictures):
    items = commute.read(write(tmp_path, ROWS))[0]
    kept, item_images, findings = commute.pictured(items, pictures)
    assert len(kept) == 4
    assert findings.empty
    assert item_images["image"].tolist() == ["a0", "b0"] * 2
    assert [path.rsplit("/", 1)[1] for path in item_images["path"]] == ["1b.png", "9a.png", "2c.jpeg", "3d.jpg"]
    with tarfile.open(tmp_path / "images.tar.gz", "w:gz") as archive:
        archive.add(pictures, "images")
    unpacked = commute.pictured(items, tmp_path / "images.tar.gz")[1]
    assert unpacked["image"].tolist() == item_images["image"].tolist()
    assert all(datasets.open_image(path).size == (9, 7) for path in unpacked["path"])


def test_an_item_without_an_image_is_left_out_and_counted_where_that_is_allowed(tmp_path, pictures):
    write(tmp_path, ROWS, "de")
    items = commute.read(write(tmp_path, ROWS))[0]
    (pictures / "deep" / "2c.jpeg").unlink()
    with pytest.raises(InputError, match=r"lacks 1 of 4 images in .*: 2c\.jpeg; fetch it again"):
        commute.pictured(items, pictures)
    kept, item_images, findings = commute.pictured(items, pictures, missing=1)
    assert kept["item"].unique().tolist() == ["1b.png+9a.png"]
    assert item_images["item"].unique().tolist() == ["1b.png+9a.png"]
    assert findings[["lang", "finding", "file", "item", "treatment"]].to_numpy().tolist() == [
        [lang, "image is missing", "2c.jpeg", "2c.jpeg+3d.jpg", "left out"] for lang in ("de", "fr")
    ]


def test_two_different_images_of_one_name_and_no_image_at_all_are_told(tmp_path, pictures):
    items = commute.read(write(tmp_path, ROWS))[0]
    Image.new("RGB", (3, 3)).save(pictures / "deep" / "9a.png")
    with pytest.raises(InputError, match=r"2 different files called 9a\.png"):
        commute.pictured(items, pictures)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="lacks 4 of 4"):
        commute.pictured(items, tmp_path / "empty", missing=4)
    with pytest.raises(InputError, match="does not exist: give the folder"):
        commute.pictured(items, tmp_path / "nowhere")


def test_commute_as_released_has_these_items_and_irregularities(mirror):
    items, findings = commute.read(mirror / "commute")
    tables.check(items, "items")
    counts = commute.counts(items).set_index("lang")
    assert counts["items"].to_dict() == {"ar": 162, "cs": 154, "de": 150, "fr": 154, "ru": 162, "zh": 162}
    assert counts["everywhere"].unique().tolist() == [149]
    assert counts["same"].to_dict() == {"ar": 1, "cs": 0, "de": 0, "fr": 0, "ru": 3, "zh": 0}
    known = datasets.get_dataset("commute")
    images = {name for item in items["item"] for name in item.split("+")}
    assert (len(images), items["lang"].nunique(), len(items)) == (known.n_images, known.n_languages, known.n_captions)
    by = findings.groupby(["finding", "lang"])["lines"].agg(list)
    assert by["translations are the same"].to_dict() == {"ar": ["285, 286"], "ru": ["113, 114", "141, 142", "321, 322"]}
    assert by["incorrect is not the other's correct"].to_dict() == {"fr": ["24", "99"]}
    assert by["item is not in this language"].map(len).to_dict() == {"cs": 8, "de": 12, "fr": 8}
    # A slow count of its own, from the files as they are.
    spaced = sum(
        line != line.strip()
        for file in (mirror / "commute").glob("en-??/*")
        for line in file.read_text(encoding="utf-8").split("\n")
        if line
    )
    assert len(by["spaces around a text"].sum()) == spaced
    assert set(findings["finding"]) == {
        "translations are the same",
        "incorrect is not the other's correct",
        "item is not in this language",
        "spaces around a text",
        "spaces in a row",
    }


def test_the_development_set_as_released_is_regular(mirror):
    items, findings = commute.read(mirror / "commute", "commute-dev")
    assert len(items) == datasets.get_dataset("commute-dev").n_captions
    assert items["lang"].unique().tolist() == ["fr"]
    assert findings.empty


def test_how_a_config_names_the_files_is_told():
    told = datasets.details("commute")
    assert "images:\n    commute: " in told
    assert "annotations:\n    commute: " in told
