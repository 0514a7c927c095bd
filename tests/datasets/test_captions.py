import gzip
import json
import unicodedata
import zipfile

import pandas as pd
import pytest
from PIL import Image

from babelatlas.base import languages, tables
from babelatlas.base.errors import InputError
from babelatlas.datasets import captions
from babelatlas.datasets import registry as datasets

PHOTOS = ["COCO_train2014_000000000001.jpg", "COCO_val2014_000000000002.jpg"]
PAIRS = {
    "images": PHOTOS,
    "captions": {"en": [["a cat"], ["a dog"]], "jp": [["猫"], ["犬"]]},
}


@pytest.fixture
def small(monkeypatch):
    """Make the entries of data sets small, with the given counts."""

    def change(name, **counts):
        entries = [
            one.model_copy(update=counts) if one.name == name else one
            for one in datasets.DATASETS
        ]
        monkeypatch.setattr(datasets, "DATASETS", entries)

    return change


@pytest.fixture
def xtd(small, tmp_path):
    """A miniature of XTD in the layout of Babel-ImageNet's file; call it with what to
    change in the file.
    """
    small("xtd", n_images=2, n_languages=2, n_captions=4)
    photographs(tmp_path / "coco", PHOTOS)

    def write(**changes):
        (tmp_path / "xtd.json").write_text(
            json.dumps(PAIRS | changes), encoding="utf-8"
        )
        return tmp_path / "coco", tmp_path / "xtd.json"

    return write


def photographs(folder, names):
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        Image.new("RGB", (4, 4), "red").save(folder / name)
    return folder


def test_captions_have_the_studys_codes_and_the_order_of_the_gallery(xtd):
    gallery, table = captions.load("xtd", *xtd())
    assert gallery["image"].tolist() == PHOTOS
    assert all(datasets.open_image(path).size == (4, 4) for path in gallery["path"])
    assert gallery.attrs == {"missing": 0}
    assert table.to_numpy().tolist() == [
        ["human", "en", PHOTOS[0], 0, "a cat"],
        ["human", "en", PHOTOS[1], 0, "a dog"],
        ["human", "ja", PHOTOS[0], 0, "猫"],
        ["human", "ja", PHOTOS[1], 0, "犬"],
    ]
    assert table.attrs == {"empty": []}


def test_images_are_found_in_folders_within_in_several_and_in_an_archive(xtd, tmp_path):
    folder, file = xtd()
    photographs(tmp_path / "all" / "images" / "train2014", PHOTOS[:1])
    photographs(tmp_path / "all" / "val2014", PHOTOS[1:])
    photographs(tmp_path / "one", PHOTOS[:1])
    assert len(captions.load("xtd", tmp_path / "all", file)[0]) == 2
    gallery, _ = captions.load("xtd", [tmp_path / "one", tmp_path / "all"], file)
    expected = [tmp_path / "one" / PHOTOS[0], tmp_path / "all" / "val2014" / PHOTOS[1]]
    assert gallery["path"].tolist() == list(map(str, expected))
    with zipfile.ZipFile(tmp_path / "photos.zip", "w") as archive:
        for name in PHOTOS:
            archive.write(folder / name, f"deep/val2014/{name}")
    gallery, _ = captions.load("xtd", tmp_path / "photos.zip", file)
    assert all(
        "photos.zip" in path and datasets.open_image(path) for path in gallery["path"]
    )


def test_missing_images_are_listed_unless_a_parameter_allows_so_many(
    xtd, small, tmp_path
):
    folder, file = xtd()
    (folder / PHOTOS[0]).unlink()
    with pytest.raises(
        InputError,
        match=rf"lacks 1 of 2 images in .*{PHOTOS[0]}.*COCO's train2014 and val2014",
    ):
        captions.load("xtd", folder, file)
    gallery, table = captions.load("xtd", folder, file, missing=1)
    assert gallery.attrs["missing"] == 1
    assert set(table["image"]) == set(gallery["image"]) == {PHOTOS[1]}
    small(
        "xtd", n_images=3, n_captions=6
    )  # an image that the captions lack is missing, too
    assert captions.load("xtd", folder, file, missing=2)[0].attrs["missing"] == 2
    with pytest.raises(InputError, match="lacks 3 of 3 images"):
        captions.load(
            "xtd", photographs(tmp_path / "others", ["a.jpg"]), file, missing=3
        )
    with pytest.raises(
        InputError,
        match=r"'xtd' are not given: get them from https://github\.com/adobe-research",
    ):
        captions.load("xtd", "", file)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"captions": PAIRS["captions"] | {"xx1": [["a"], ["b"]]}},
            "There is no language",
        ),
        (
            {"captions": {"en": [["a"], ["b"]]}},
            "has 2 captions in 1 languages, expected 4 in 2",
        ),
        (
            {"captions": {"en": [["a"], ["b"]], "jp": [["猫", "猫"], ["犬"]]}},
            "has 5 captions in 2 languages, expected 4",
        ),
        (
            {"captions": {"en": [["a"], ["b"]], "jp": [["猫"]]}},
            "in jp are of 1 images, expected 2",
        ),
        (
            {"captions": {"en": [["a"], ["b"]], "jp": [["猫"], []]}},
            rf"no caption of {PHOTOS[1]} in jp",
        ),
        (
            {"captions": {"en": [["a"], ["b"]], "jp": [["猫"], [" "]]}},
            rf"no caption of {PHOTOS[1]} in jp",
        ),
        ({"captions": [1]}, "'xtd' at .* cannot be read"),
    ],
)
def test_a_wrong_file_of_captions_is_told_by_what_is_wrong(xtd, changes, message):
    with pytest.raises(InputError, match=message):
        captions.load("xtd", *xtd(**changes))


@pytest.mark.parametrize(
    ("name", "n"),
    [("xtd", (1000, 11)), ("xflickrco", (2000, 8)), ("multi30k", (1000, 4))],
)
def test_the_published_captions_have_the_papers_counts(
    mirror, monkeypatch, tmp_path, name, n
):
    monkeypatch.setenv("BABELATLAS_MIRROR", str(mirror))
    first = "COCO_train2014_000000061844.jpg" if name == "xtd" else "1007129816.jpg"
    entry = datasets.get_dataset(name)
    gallery, table = captions.load(
        name, photographs(tmp_path, [first]), missing=entry.n_images - 1
    )
    assert (entry.n_images, entry.n_languages) == n
    assert gallery["image"].tolist() == [first]
    assert len(table) == n[1]


def test_the_two_empty_captions_of_xflickrco_are_kept_and_told(
    mirror, monkeypatch, tmp_path
):
    monkeypatch.setenv("BABELATLAS_MIRROR", str(mirror))
    photographs(
        tmp_path, ["COCO_val2014_000000122239.jpg", "6312211170.jpg", "1007129816.jpg"]
    )
    _, table = captions.load("xflickrco", tmp_path, missing=1997)
    assert table.attrs["empty"] == [
        "human de COCO_val2014_000000122239.jpg#0",
        "human id 6312211170.jpg#0",
    ]
    assert (table["caption"] == "").sum() == 2


def test_xflickrco_is_read_with_images_in_two_folders(small, tmp_path):
    small("xflickrco", n_images=2, n_languages=2, n_captions=4, empty=[])
    names = ["1007129816.jpg", "COCO_val2014_000000122239.jpg"]
    folders = [
        photographs(tmp_path / name, [photograph])
        for name, photograph in zip(("flickr30k", "coco"), names, strict=True)
    ]
    content = {
        "images": names,
        "captions": {"en": [["a"], ["b"]], "id": [["c"], ["d"]]},
    }
    file = tmp_path / "xflickrco.json"
    file.write_text(json.dumps(content), encoding="utf-8")
    gallery, table = captions.load("xflickrco", folders, file)
    assert gallery["image"].tolist() == names
    assert table[["lang", "caption"]].to_numpy().tolist() == [
        ["en", "a"],
        ["en", "b"],
        ["id", "c"],
        ["id", "d"],
    ]


# --- Crossmodal-3600
# --------------------------------------------------------------------------------------


def line(key, **found):
    return json.dumps(
        {"image/key": key}
        | {lang: {"caption": several} for lang, several in found.items()}
    )


@pytest.fixture
def xm3600(small, tmp_path):
    small("xm3600", n_images=2, n_languages=4, n_captions=10)
    photographs(tmp_path / "images", ["000a.jpg", "000b.jpg"])
    rows = [
        line("000a", en=["a cat", "a tom"], iw=["חתול"], fil=["pusa"], quz=["michi"]),
        line("000b", en=["a dog"], iw=["כלב"], fil=["aso", "isang aso"], quz=["allqu"]),
    ]
    (tmp_path / "captions.jsonl").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return tmp_path


def test_crossmodal_3600_is_read_as_released_from_its_file_zip_or_folder(xm3600):
    gallery, table = captions.load(
        "xm3600", xm3600 / "images", xm3600 / "captions.jsonl"
    )
    assert gallery["image"].tolist() == ["000a.jpg", "000b.jpg"]
    assert table["lang"].unique().tolist() == ["en", "he", "quz", "tl"]
    assert table.loc[table["lang"] == "tl", "caption"].tolist() == [
        "pusa",
        "aso",
        "isang aso",
    ]
    assert captions.choose(table, "first")["caption"].tolist()[:2] == ["a cat", "a dog"]
    assert len(captions.choose(table, "all")) == 10
    with pytest.raises(
        InputError, match=r"no choice of captions 'frist': did you mean first\?"
    ):
        captions.choose(table, "frist")
    with zipfile.ZipFile(xm3600 / "captions.zip", "w") as archive:
        archive.write(xm3600 / "captions.jsonl", "captions.jsonl")
    (xm3600 / "captions.jsonl").unlink()
    for given in (xm3600, xm3600 / "captions.zip"):
        pd.testing.assert_frame_equal(
            captions.load("xm3600", xm3600 / "images", given)[1], table
        )


def test_the_regions_of_crossmodal_3600_are_those_of_its_annotations(xm3600):
    path = xm3600 / "captions.jsonl"
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    lines[0]["image/locale"] = "iw"
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    found = captions.regions("xm3600", path)
    assert found.to_numpy().tolist() == [["000a.jpg", "he"]]
    assert captions.regions("xtd").empty
    path.write_text("{}", encoding="utf-8")
    assert captions.regions("xm3600", path).empty
    path.write_text("{", encoding="utf-8")
    with pytest.raises(InputError, match=r"captions of 'xm3600' at .* cannot be read"):
        captions.regions("xm3600", path)


def test_regions_of_ones_own_are_a_table_with_one_for_each_image(tmp_path):
    path = tmp_path / "regions.csv"
    path.write_text("image,region\na.jpg,Africa\n", encoding="utf-8")
    found = captions.regions("xtd", homes=path)
    assert found.to_numpy().tolist() == [["a.jpg", "Africa"]]
    path.write_text("image,region\na.jpg,x\na.jpg,y\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"two regions, the first a\.jpg"):
        captions.regions("xtd", homes=path)


def test_a_table_of_captions_is_read_whatever_its_images(xm3600, tmp_path):
    released = captions.read(xm3600 / "captions.jsonl")
    assert len(released) == 10
    path = tmp_path / "mine.csv"
    path.write_text("lang,image,caption\nde,a,eins\nde,a,zwei\n", encoding="utf-8")
    assert captions.read(path)["number"].tolist() == [0, 1]


# --- Multi30K
# --------------------------------------------------------------------------------------


def test_multi30k_is_read_from_its_folder(tmp_path, small, monkeypatch):
    small("multi30k", n_images=2, n_languages=2, n_captions=4)
    monkeypatch.setattr(captions, "LANGUAGES", ("en", "de"))
    raw, splits = (
        tmp_path / "data" / "task1" / name for name in ("raw", "image_splits")
    )
    raw.mkdir(parents=True)
    splits.mkdir()
    (splits / "test_2016_flickr.txt").write_bytes(b"1.jpg\n2.jpg\n")
    (raw / "test_2016_flickr.en.gz").write_bytes(
        gzip.compress(b"\xef\xbb\xbfa cat\r\na dog\r\n")
    )
    (raw / "test_2016_flickr.de.gz").write_bytes(
        gzip.compress(b"eine Katze\nein Hund\n")
    )
    photographs(tmp_path / "photos", ["1.jpg", "2.jpg"])
    _, table = captions.load("multi30k", tmp_path / "photos", tmp_path)
    assert table["caption"].tolist() == ["eine Katze", "ein Hund", "a cat", "a dog"]


# --- COCO-SM
# --------------------------------------------------------------------------------------


@pytest.fixture
def coco_sm(small, tmp_path):
    """Two images with two and three texts, two languages, three translators, as in
    COCO-SM's meta folder.
    """
    small("coco-sm", n_images=2, n_languages=2, n_captions=10)
    (tmp_path / "meta").mkdir()
    for group in ("google", "bing", "nllb"):
        texts = {
            lang: [f"{group} {lang} {number}" for number in range(5)]
            for lang in ("en", "de")
        }
        parts = {lang: (several[:2], several[2:]) for lang, several in texts.items()}
        rows = {
            lang: [
                {"filename": name, "captions": part}
                for name, part in zip(PHOTOS, several, strict=True)
            ]
            for lang, several in parts.items()
        }
        (tmp_path / "meta" / f"{group}.json").write_text(json.dumps(rows))
    (tmp_path / "meta" / "excluded.txt").write_text("COCO_val2014_000000000009.jpg")
    photographs(tmp_path / "val2014", PHOTOS)
    return tmp_path


def test_coco_sm_has_a_set_of_captions_for_each_translator(coco_sm):
    _, table = captions.load("coco-sm", coco_sm, coco_sm / "meta")
    assert table["captions"].unique().tolist() == ["google", "bing", "nllb"]
    assert len(table) == 30
    german = table[(table["captions"] == "bing") & (table["lang"] == "de")]
    assert german["caption"].tolist() == [f"bing de {number}" for number in range(5)]
    assert german["number"].tolist() == [0, 1, 0, 1, 2]
    assert set(captions.load("coco-sm", coco_sm, coco_sm, ["nllb"])[1]["captions"]) == {
        "nllb"
    }


# --- Captions that a run makes, one's own, and translations
# -----------------------------------------------------------


def test_the_miniatures_captions_are_two_tables_and_may_lack_languages(tmp_path):
    paths = [f"pictograms/{name}.png" for name in "abc"]
    photographs(tmp_path / "images" / "pictograms", [f"{name}.png" for name in "abc"])
    images = pd.DataFrame(
        {"path": paths, "wnid": ["n01", "n01", "n02"], "number": [0, 1, 0]}
    )
    images = tables.write(images, tmp_path / "images" / "pictograms.parquet", "images")
    rows = [
        ("chosen", "iw", paths[2], 0, "כלב"),
        ("chosen", "en", paths[2], 0, "a dog"),
    ]
    rows += [
        ("chosen", "en", paths[0], 1, "a tom"),
        ("chosen", "en", paths[0], 0, "a cat"),
    ]

    def write(rows):
        table = pd.DataFrame(
            rows, columns=["captions", "lang", "image", "number", "caption"]
        )
        return tables.write(table, tmp_path / "captions.parquet", "captions")

    gallery, table = captions.load("pictogram-captions", images, write(rows))
    assert gallery["image"].tolist() == [paths[0], paths[2]]
    assert table["caption"].tolist() == ["a cat", "a tom", "a dog", "כלב"]
    assert table["lang"].tolist() == ["en", "en", "en", "he"]
    gallery, table = captions.load(
        "pictogram-captions", images, tmp_path / "captions.parquet", languages=["he"]
    )
    assert (len(gallery), len(table)) == (2, 1)
    with pytest.raises(InputError, match=r"lacks 1 of 3 images .*x\.png"):
        captions.load(
            "pictogram-captions",
            images,
            write([*rows, ("chosen", "en", "x.png", 0, "a bird")]),
        )


def test_captions_and_images_of_ones_own_are_read_from_a_folder_and_a_csv(
    tmp_path, monkeypatch
):
    photographs(tmp_path / "cats" / "old", ["a.png"])
    photographs(tmp_path / "cats", ["b.png"])
    rows = (
        "lang,image,caption\nen,b.png,a cat\nen,b.png,a tom\nen,old/a.png,an old"
        " cat\nde,b.png,eine Katze\n"
    )
    (tmp_path / "cats.csv").write_text(rows, encoding="utf-8")
    description = {"task": "retrieval", "images": "cats", "annotations": "cats.csv"}
    monkeypatch.setenv(datasets.CUSTOM, json.dumps({"cats": description}))
    gallery, table = captions.load("cats", tmp_path / "cats", tmp_path / "cats.csv")
    assert gallery["image"].tolist() == ["b.png", "old/a.png"]
    assert table[["lang", "number", "caption"]].to_numpy().tolist() == [
        ["de", 0, "eine Katze"],
        ["en", 0, "a cat"],
        ["en", 1, "a tom"],
        ["en", 0, "an old cat"],
    ]
    assert set(table["captions"]) == {"own"}


@pytest.fixture
def cats(tmp_path, monkeypatch):
    """Captions of one's own: call it with the rows of the table, and with what to add
    to the description.
    """

    def load(rows, **described):
        if not (tmp_path / "cats").exists():
            photographs(tmp_path / "cats", ["a.png", "b.png"])
        (tmp_path / "cats.csv").write_text(
            "lang,image,caption" + rows, encoding="utf-8"
        )
        description = {
            "task": "retrieval",
            "images": "cats",
            "annotations": "cats.csv",
        } | described
        monkeypatch.setenv(datasets.CUSTOM, json.dumps({"cats": description}))
        return captions.load("cats", tmp_path / "cats", tmp_path / "cats.csv")

    return load


FROM_0 = (
    ",number\nen,a.png,a cat,0\nen,a.png,a tom,1\nen,b.png,a dog,0\nde,a.png,eine"
    " Katze,0\n"
)
FROM_1 = (
    ",number\nen,a.png,a cat,1\nen,a.png,a tom,2\nen,b.png,a dog,1\nde,a.png,eine"
    " Katze,1\n"
)


def test_captions_numbered_from_1_are_those_numbered_from_0(cats, capsys):
    expected = cats(FROM_0)[1]
    assert capsys.readouterr().out == ""
    pd.testing.assert_frame_equal(cats(FROM_1)[1], expected)
    assert (
        "captions are numbered from 1: they are taken as numbered from 0."
        in capsys.readouterr().out
    )
    assert len(captions.choose(expected, "first")) == 3


@pytest.mark.parametrize(
    "rows",
    [
        FROM_0.replace("Katze,0", "Katze,1"),  # one language counts from 1
        FROM_0.replace("dog,0", "dog,1"),  # one image does
        FROM_1.replace("dog,1", "dog,2"),
    ],
)
def test_an_image_without_a_first_caption_is_told(cats, rows):
    with pytest.raises(
        InputError,
        match=(
            r"1 image\(s\) have captions and none with number 0, the first [ab]\.png in"
        ),
    ):
        cats(rows)


def test_first_captions_are_never_chosen_where_an_image_would_be_lost(cats):
    table = cats(FROM_0)[1]
    with pytest.raises(
        InputError,
        match=r"Among the captions, 3 image\(s\) have captions and none with number 0",
    ):
        captions.choose(table[table["caption"] != "a cat"].assign(number=1), "first")


def test_a_repeated_row_of_captions_is_no_second_query(cats):
    rows = "\nen,a.png,a cat\nen,b.png,a cat\nde,a.png,a cat\n"
    assert (
        len(cats(rows)[1]) == 3
    )  # one caption of two images, or in two languages, is no repetition
    with pytest.raises(
        InputError,
        match=(
            r"2 row\(s\) repeat a caption, the first 'a cat' of a\.png in en: delete"
            r" them"
        ),
    ):
        cats(rows + "en,a.png,a cat\nen,a.png, a cat\n")
    numbered = (
        ",number\nen,a.png,a cat,0\nen,a.png,a tom,1\nde,a.png,eine"
        " Katze,0\nde,a.png,eine Katze,1\n"
    )
    assert (
        len(cats(numbered, parallel="all")[1]) == 4
    )  # two captions may well have one translation
    with pytest.raises(InputError, match="1 row"):
        cats(numbered)


@pytest.mark.parametrize(("on_disk", "in_table"), [("NFD", "NFC"), ("NFC", "NFD")])
def test_captions_and_pictures_meet_whichever_form_of_unicode_each_has(
    cats, tmp_path, on_disk, in_table
):
    stored, told = (
        unicodedata.normalize(form, "café/é.png") for form in (on_disk, in_table)
    )
    photographs((tmp_path / "cats" / stored).parent, [stored.partition("/")[2]])
    gallery, table = cats(f"\nen,{told},a cat\n")
    assert gallery["path"].tolist() == [str(tmp_path / "cats" / stored)]
    assert gallery["image"].tolist() == table["image"].tolist()


@pytest.mark.parametrize("kind", ["tif", "tiff", "gif", "heic", "bmp", "avif", "txt"])
def test_captions_of_a_picture_of_a_kind_that_is_not_read_say_so(cats, tmp_path, kind):
    (tmp_path / "cats" / "old").mkdir(parents=True)
    (tmp_path / "cats" / "old" / f"c.{kind}").write_bytes(b"x")
    with pytest.raises(
        InputError,
        match=(
            rf"name old/c\.{kind}, which is none of \.jpeg, \.jpg, \.png, \.webp:"
            r" convert it"
        ),
    ):
        cats(f"\nen,old/c.{kind},a cat\n")


def test_a_picture_may_be_named_by_each_link_to_its_folder(cats, tmp_path):
    photographs(tmp_path / "cats", ["a.png", "b.png"])
    (tmp_path / "cats" / "again").symlink_to(tmp_path / "cats")
    gallery, _ = cats("\nen,a.png,a cat\nen,again/b.png,a dog\n")
    assert gallery["image"].tolist() == ["a.png", "again/b.png"]


def test_translations_into_200_languages_are_read_as_published(small, tmp_path):
    small("flickr30k-200", n_images=2, n_languages=3, n_captions=6)
    photographs(tmp_path / "flickr30k", ["1007.jpg", "1009.jpg"])
    home = tmp_path / "flickr30k-200"
    home.mkdir()
    files = {
        "filenames": "1007.jpg\n1009.jpg\n",
        "eng_captions": "A cat.\nA dog.\n",
        "swh_Latn": "Paka.\nMbwa.\n",
    }
    files |= {
        "zho_Hans": "猫。\n狗\u2028。",
        "nus_Latn": "left out, as the study has no code for Nuer\n",
    }
    for name, text in files.items():
        (home / f"{name}.txt").write_text(text, encoding="utf-8")
    gallery, table = captions.load("flickr30k-200", tmp_path / "flickr30k", home)
    found = table.set_index(["lang", "image"])["caption"].to_dict()
    assert gallery["image"].tolist() == ["1007.jpg", "1009.jpg"]
    # A line ends where the file's line does, not at a separator within the text.
    assert (
        found["zh", "1009.jpg"],
        found["sw", "1007.jpg"],
        found["en", "1007.jpg"],
    ) == (
        "狗\u2028。",
        "Paka.",
        "A cat.",
    )
    assert table["captions"].tolist() == ["nllb"] * 6
    (home / "swh_Latn.txt").write_text("Paka.\n")
    with pytest.raises(InputError, match="in swh_Latn are of 1 images, expected 2"):
        captions.load("flickr30k-200", tmp_path / "flickr30k", home)


def test_languages_that_a_release_has_and_the_study_has_not_are_listed():
    codes = [code for entry in datasets.DATASETS for code in entry.left_out]
    assert len(codes) > 20
    for code in codes:
        with pytest.raises(InputError, match=f"no language with the code '{code}'"):
            languages.canonical(code)
