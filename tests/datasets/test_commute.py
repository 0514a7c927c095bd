"""CoMMuTE: what is read, and what in its files is found irregular. The sentences here
are invented.
"""

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


def write(folder, rows, lang="fr"):
    """Write rows of text as the four files of a language; return the folder above."""
    home = folder / f"en-{lang}"
    home.mkdir(parents=True, exist_ok=True)
    for name, texts in zip(NAMES, zip(*rows, strict=True), strict=True):
        (home / name.replace(".fr", f".{lang}")).write_bytes(
            ("\n".join(texts)).encode()
        )
    return folder


def changed(place, column, text):
    rows = [list(row) for row in ROWS]
    rows[place][column] = text
    return rows


def test_two_lines_are_one_item_named_after_its_images(tmp_path):
    items, findings = commute.read_items(write(tmp_path, ROWS))
    assert items[["item", "sense", "translation"]].to_numpy().tolist() == [
        ["1b.png+9a.png", "b", "Une batte."],
        ["1b.png+9a.png", "a", "Une souris."],
        ["2c.jpeg+3d.jpg", "a", "Une grue."],
        ["2c.jpeg+3d.jpg", "b", "Un oiseau."],
    ]
    assert items["source"].tolist() == [row[0] for row in ROWS]
    assert findings.empty


@settings(max_examples=10, deadline=None)
@given(st.permutations(range(6)), st.lists(st.booleans(), min_size=6, max_size=6))
def test_the_order_of_items_and_of_their_lines_changes_no_item(
    tmp_path_factory, order, swapped
):
    pairs = [
        [
            (f"{n}.", f"{n}x", f"{n}y", f"{n}.png"),
            (f"{n}.", f"{n}y", f"{n}x", f"{5 - n}b.png"),
        ]
        for n in range(6)
    ]
    rows = [row for n in order for row in (pairs[n][::-1] if swapped[n] else pairs[n])]
    items, findings = commute.read_items(
        write(tmp_path_factory.mktemp("commute"), rows)
    )
    assert findings.empty
    assert items["translation"].tolist() == [row[1] for row in rows]  # row k is line k
    translations = {name: text for _, text, _, name in rows}
    for row in items.itertuples():
        a, b = row.item.split("+")
        assert a < b
        assert row.translation == translations[a if row.sense == "a" else b]


@pytest.mark.parametrize(
    ("place", "column", "text", "finding", "lines"),
    [
        (0, 0, "The bat.", "sentences of an item differ", "1, 2"),
        (2, 2, "Autre.", "incorrect is not the other's correct", "3, 4"),
        (1, 1, "Une batte.", "translations are the same", "1, 2"),
    ],
)
def test_every_irregularity_is_named_with_its_place(
    tmp_path, place, column, text, finding, lines
):
    items, findings = commute.read_items(write(tmp_path, changed(place, column, text)))
    assert findings.set_index("finding").loc[finding, "lines"] == lines
    assert len(items) == 4


@pytest.mark.parametrize(
    "rows",
    [
        ROWS[:3],
        [ROWS[0], *ROWS[2:]],
        changed(1, 1, " "),
        changed(0, 3, "1b.png"),
        [*ROWS, *ROWS[:2]],
    ],
)
def test_what_is_no_item_stops_the_run_with_its_place(tmp_path, rows):
    with pytest.raises(
        InputError, match=r"lines \d, \d of en-fr should be the two sides of one item"
    ):
        commute.read_items(write(tmp_path, rows))


def test_files_and_languages_that_are_absent_or_of_unequal_length_are_told(tmp_path):
    write(tmp_path, ROWS)
    assert list(commute.available(tmp_path)) == ["fr"]
    with pytest.raises(InputError, match=r"nothing in German .*expected one of fr"):
        commute.read_items(tmp_path, wanted=["fr", "de"])
    for folder in ("", tmp_path / "en-fr", tmp_path / "nowhere"):
        with pytest.raises(
            InputError, match=r"folders such as en-fr below .*get them from https"
        ):
            commute.read_items(folder)
    (tmp_path / "en-fr" / "incorrect.fr").write_text("one\ntwo")
    with pytest.raises(InputError, match=r"have \[4, 4, 2, 4\] lines"):
        commute.read_items(tmp_path)


def test_images_are_found_in_a_folder_and_in_an_archive_and_an_item_without_is_left_out(
    tmp_path,
):
    pictures = tmp_path / "pictures"
    for number, name in enumerate(("9a.png", "1b.png", "deep/2c.jpeg", "3d.jpg")):
        (pictures / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (9, 7), (number, 0, 0)).save(pictures / name)
    write(tmp_path, ROWS, "de")
    items = commute.read_items(write(tmp_path, ROWS))[0]
    kept, item_images, findings = commute.pictured(items, pictures)
    assert len(kept) == 8
    assert findings.empty
    assert item_images["image"].tolist() == ["a0", "b0"] * 2
    assert [path.rsplit("/", 1)[1] for path in item_images["path"]] == [
        "1b.png",
        "9a.png",
        "2c.jpeg",
        "3d.jpg",
    ]
    (pictures / "deep" / "2c.jpeg").unlink()
    with pytest.raises(
        InputError, match=r"lacks 1 of 4 images in .*: 2c\.jpeg; fetch it again"
    ):
        commute.pictured(items, pictures)
    kept, item_images, findings = commute.pictured(items, pictures, missing=1)
    assert set(kept["item"]) == set(item_images["item"]) == {"1b.png+9a.png"}
    assert item_images.attrs["missing"] == 1
    assert findings[["lang", "finding", "item"]].to_numpy().tolist() == [
        [lang, "image is missing", "2c.jpeg+3d.jpg"] for lang in ("de", "fr")
    ]


@pytest.fixture
def originals(tmp_path):
    """The images of the two items."""
    write(tmp_path, ROWS)
    folder = tmp_path / "images"
    folder.mkdir()
    for row in ROWS:
        Image.new("RGB", (4, 4)).save(folder / row[3])
    items, _ = commute.read_items(tmp_path)
    return commute.pictured(items, folder)[1]


def test_further_images_are_those_in_the_folder_named_as_the_image_they_extend(
    originals, tmp_path
):
    for name in ("1b/2.png", "1b/1.png", "1b/3.png", "3d.jpg/x.png"):
        file = tmp_path / "further" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (4, 4)).save(file)
    table = commute.extended(originals, tmp_path / "further", images_per_sense=3)
    found = table.assign(path=[path.rpartition("/")[2] for path in table["path"]])
    assert found.to_numpy().tolist() == [
        ["1b.png+9a.png", "a0", "1b.png"],
        ["1b.png+9a.png", "a1", "1.png"],
        ["1b.png+9a.png", "a2", "2.png"],
        ["1b.png+9a.png", "b0", "9a.png"],
        ["2c.jpeg+3d.jpg", "a0", "2c.jpeg"],
        ["2c.jpeg+3d.jpg", "b0", "3d.jpg"],
        ["2c.jpeg+3d.jpg", "b1", "x.png"],
    ]
    (tmp_path / "further" / "1bb").mkdir()
    with pytest.raises(
        InputError, match=r"of '1bb', which is no image.* did you mean 1b"
    ):
        commute.extended(originals, tmp_path / "further")
    with pytest.raises(InputError, match=r"no folder .*nowhere of further images"):
        commute.extended(originals, tmp_path / "nowhere")


def test_further_images_of_a_table_are_those_that_people_chose(originals, tmp_path):
    Image.new("RGB", (4, 4)).save(tmp_path / "more.png")
    file = tmp_path / "further.csv"
    file.write_text("image,path,chosen\n1b.png,more.png,x\n9a.png,more.png,\n")
    table = commute.extended(originals, file)
    assert table["image"].tolist() == ["a0", "a1", "b0", "a0", "b0"]
    file.write_text("image,path,chosen\n1b.png,more.png,\n")
    with pytest.raises(InputError, match=r"No image in further\.csv is chosen"):
        commute.extended(originals, file)
    file.write_text("image,path\n1b.png,less.png\n")
    with pytest.raises(InputError, match=r"1 of 1 further images .*less\.png"):
        commute.extended(originals, file)


def test_commute_as_released_has_these_items_and_irregularities(mirror):
    items, findings = commute.read_items(mirror / "commute")
    tables.check(items, "items")
    counts = commute.counts(items).set_index("lang")
    assert counts["items"].to_dict() == {
        "ar": 162,
        "cs": 154,
        "de": 150,
        "fr": 154,
        "ru": 162,
        "zh": 162,
    }
    assert counts["everywhere"].unique().tolist() == [149]
    assert counts["same"].to_dict() == {
        "ar": 1,
        "cs": 0,
        "de": 0,
        "fr": 0,
        "ru": 3,
        "zh": 0,
    }
    known = datasets.get_dataset("commute")
    images = {name for item in items["item"] for name in item.split("+")}
    assert (len(images), items["lang"].nunique(), len(items)) == (
        known.n_images,
        known.n_languages,
        known.n_captions,
    )
    by = findings.groupby(["finding", "lang"])["lines"].agg(list)
    assert by["translations are the same"].to_dict() == {
        "ar": ["285, 286"],
        "ru": ["113, 114", "141, 142", "321, 322"],
    }
    assert by["incorrect is not the other's correct"].to_dict() == {
        "fr": ["23, 24", "99, 100"]
    }
    assert by["item is not in this language"].map(len).to_dict() == {
        "cs": 8,
        "de": 12,
        "fr": 8,
    }
    assert findings["finding"].nunique() == 3
    assert commute.read_items(mirror / "commute", "commute-dev")[1].empty
