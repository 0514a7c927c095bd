import doctest
import gzip
import json
import zipfile
from dataclasses import replace

import pandas as pd
import pytest
from PIL import Image

from babelatlas.base import published, tables
from babelatlas.base.errors import InputError
from babelatlas.datasets import captions
from babelatlas.datasets import registry as datasets
from babelatlas.datasets.layouts import crossmodal3600

PHOTOS = ["COCO_train2014_000000000001.jpg", "COCO_val2014_000000000002.jpg"]
PAIRS = {"images": PHOTOS, "captions": {"en": [["a cat"], ["a dog"]], "jp": [["猫"], ["犬"]]}}


@pytest.fixture
def small(monkeypatch):
    """Make the entries of data sets small, with the given counts."""

    def change(name, **counts):
        entries = [replace(one, **counts) if one.name == name else one for one in datasets.DATASETS]
        monkeypatch.setattr(datasets, "DATASETS", entries)

    return change


@pytest.fixture
def xtd(small, tmp_path):
    """A miniature of XTD in the layout of Babel-ImageNet's file; call it with what to change in the file."""
    small("xtd", n_images=2, n_languages=2, n_captions=4)
    photographs(tmp_path / "coco", PHOTOS)

    def write(**changes):
        (tmp_path / "xtd.json").write_text(json.dumps(PAIRS | changes), encoding="utf-8")
        return tmp_path / "coco", tmp_path / "xtd.json"

    return write


def photographs(folder, names):
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        Image.new("RGB", (4, 4), "red").save(folder / name)
    return folder


def test_the_examples_in_the_docstrings_hold():
    assert doctest.testmod(captions).failed == 0


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
    tables.check(table, "captions")


def test_images_are_found_in_folders_within_and_in_several(xtd, tmp_path):
    _, file = xtd()
    photographs(tmp_path / "all" / "images" / "train2014", PHOTOS[:1])
    photographs(tmp_path / "all" / "val2014", PHOTOS[1:])
    photographs(tmp_path / "one", PHOTOS[:1])

    assert len(captions.load("xtd", tmp_path / "all", file)[0]) == 2
    gallery, _ = captions.load("xtd", [tmp_path / "one", tmp_path / "all"], file)
    assert gallery["path"].tolist() == [
        str(tmp_path / "one" / PHOTOS[0]),
        str(tmp_path / "all" / "val2014" / PHOTOS[1]),
    ]


def test_images_are_found_in_an_archive(xtd, tmp_path):
    folder, file = xtd()
    with zipfile.ZipFile(tmp_path / "photos.zip", "w") as archive:
        for name in PHOTOS:
            archive.write(folder / name, f"deep/val2014/{name}")

    gallery, _ = captions.load("xtd", tmp_path / "photos.zip", file)
    known = (tmp_path / "photos.zip").stat()
    name = f"photos.zip.{known.st_size}.{known.st_mtime_ns:x}.unpacked"
    assert [path.rsplit("/", 2)[1] for path in gallery["path"]] == [name] * 2


def test_the_input_files_of_a_data_set_are_paths_in_lists_or_alone_each_once(xtd, tmp_path, monkeypatch):
    images, annotations = xtd()
    photographs(tmp_path / "more", ["a.jpg"])
    several = [str(images), str(tmp_path / "more")]

    assert captions.inputs(several, annotations, str(images)) == [*several, str(annotations)]
    assert captions.inputs(str(images), "") == [str(images)]
    # A folder that is called as a split does not make the split a path: the reader takes the name first.
    monkeypatch.chdir(tmp_path)
    (tmp_path / captions.SPLIT).mkdir()
    assert captions.inputs(*map(str, (images, captions.SPLIT))) == [str(images)]
    tables.write(tables.empty("captions"), tmp_path / "table.parquet", "captions", {}, captions.inputs(several))
    assert set(tables.made_from(tmp_path / "table.parquet")["inputs"]) == set(several)
    with pytest.raises(InputError, match="nowhere does not exist: correct the path"):
        captions.inputs([str(images), str(tmp_path / "nowhere")])


def test_a_folder_without_any_of_the_images_says_what_was_expected(xtd, tmp_path):
    _, file = xtd()
    with pytest.raises(
        InputError, match=r"None of the 2 images of 'xtd' is in .*such as COCO_train2014_.*train2014 and"
    ):
        captions.load("xtd", photographs(tmp_path / "others", ["a.jpg"]), file)
    with pytest.raises(InputError, match=r"'xtd', .*nowhere, does not exist: give COCO's train2014 and val2014, as"):
        captions.load("xtd", tmp_path / "nowhere", file)
    with pytest.raises(InputError, match=r"images of 'xtd', .*xtd\.json, is no folder and no archive: give COCO's"):
        captions.load("xtd", [tmp_path, file], file)
    with pytest.raises(InputError, match=r"'xtd' are not given: get them from https://github\.com/adobe-research"):
        captions.load("xtd", "", file)


def test_missing_images_are_listed_unless_a_parameter_allows_so_many(xtd):
    folder, file = xtd()
    (folder / PHOTOS[0]).unlink()

    with pytest.raises(InputError, match=rf"lacks 1 of 2 images \(1 without a file: {PHOTOS[0]}\).*missing=1"):
        captions.load("xtd", folder, file)
    gallery, table = captions.load("xtd", folder, file, missing=1)
    assert gallery.attrs["missing"] == 1
    assert set(table["image"]) == set(gallery["image"]) == {PHOTOS[1]}


def test_an_image_that_the_captions_lack_is_missing_too(xtd, small):
    given = xtd()
    small("xtd", n_images=3, n_captions=6)
    with pytest.raises(InputError, match=r"lacks 1 of 3 images \(1 not in the captions\)"):
        captions.load("xtd", *given)
    assert captions.load("xtd", *given, missing=1)[0].attrs["missing"] == 1
    small("xtd", n_images=1)
    with pytest.raises(InputError, match="names 2 images, but xtd has 1"):
        captions.load("xtd", *given)


def test_captions_that_two_images_share_are_kept(xtd):
    given = xtd(captions={"en": [["a cat"], ["a cat"]], "jp": [["猫", "猫"], ["犬"]]})
    with pytest.raises(InputError, match=r"has 5 captions \(human\), but xtd has 4"):
        captions.load("xtd", *given)
    xtd(captions={"en": [["a cat"], ["a cat"]], "jp": [["猫"], ["猫"]]})
    assert captions.load("xtd", *given)[1]["caption"].tolist() == ["a cat", "a cat", "猫", "猫"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"images": [PHOTOS[0], PHOTOS[0]]}, f"names the image {PHOTOS[0]} more than once"),
        ({"images": []}, "names no image"),
        ({"captions": PAIRS["captions"] | {"ja": [["猫"], ["犬"]]}}, r"has 'ja' and 'jp', which are one language"),
        ({"captions": PAIRS["captions"] | {"xx1": [["a"], ["b"]]}}, r"In the file .*xtd\.json: There is no language"),
        (
            {"captions": {"en": PAIRS["captions"]["en"]}},
            "captions in 1 language, but xtd has them in 2: fetch it again, or name",
        ),
        (
            {"captions": {"en": [["a"], ["b"]], "jp": []}},
            r"has no caption in Japanese \(ja\): fetch .* or leave the language",
        ),
        ({"captions": {"en": [["a"], ["b"]], "jp": [[], []]}}, r"has no caption in Japanese \(ja\): fetch"),
        ({"captions": {"en": [["a"], ["b"]], "jp": [["猫"]]}}, r"2 images, but captions in Japanese \(ja\) for 1"),
        (
            {"captions": {"en": [["a"], ["b"]], "jp": [["猫"], []]}},
            rf"no caption in Japanese \(ja\) for .* {PHOTOS[1]}",
        ),
        (
            {"captions": {"en": [["a"], ["b"]], "jp": [["猫"], [" "]]}},
            rf"empty caption in Japanese .* image {PHOTOS[1]}",
        ),
        ({"captions": {"en": [["a"], ["b"]], "jp": ["猫", "犬"]}}, r"should have a list of texts for .*got 猫"),
        ({"captions": {"en": [["a"], ["b"]], "jp": {"1": "猫"}}}, r'another layout than expected, \{"images'),
        ({"captions": [1]}, "another layout"),
        ({"captions": {}}, r"xtd\.json has no captions: fetch it again"),
    ],
)
def test_a_wrong_file_of_captions_is_told_by_what_is_wrong(xtd, changes, message):
    with pytest.raises(InputError, match=message):
        captions.load("xtd", *xtd(**changes))


def test_a_file_that_is_no_json_or_absent_is_named(xtd, tmp_path):
    folder, file = xtd()
    file.write_text('{"images": [')
    with pytest.raises(InputError, match=r"xtd\.json is not JSON \(.*\): expected \{.images"):
        captions.load("xtd", folder, file)
    with pytest.raises(InputError, match=r"nothing\.json does not exist: expected"):
        captions.load("xtd", folder, tmp_path / "nothing.json")
    file.write_text("[1, 2]")
    with pytest.raises(InputError, match=r"another layout than expected.*begins with \[1, 2\]"):
        captions.load("xtd", folder, file)


def test_some_languages_can_be_asked_for_by_any_code(xtd):
    given = xtd()
    assert captions.load("xtd", *given, languages=["jpn"])[1]["lang"].unique().tolist() == ["ja"]
    with pytest.raises(InputError, match=r"'xtd' has no language 'sw': expected one of en, ja"):
        captions.load("xtd", *given, languages=["sw"])
    with pytest.raises(InputError, match="In the parameter languages: There is no language"):
        captions.load("xtd", *given, languages=["klingon!"])
    with pytest.raises(InputError, match=r"has no set of captions 'google': expected one of human"):
        captions.load("xtd", *given, sets=["google"])
    with pytest.raises(InputError, match=r"captions of the data set 'xtd' should be one path, .*, got \['xtd\.json'\]"):
        captions.load("xtd", given[0], ["xtd.json"])
    xtd(captions={"jp": PAIRS["captions"]["jp"]})
    assert len(captions.load("xtd", *given, languages=["ja"])[1]) == 2


@pytest.mark.parametrize("captioned", [[], [[], []], [["猫"]], [["猫"], [" "]], ["猫", "犬"]])
def test_a_language_that_is_not_asked_for_may_be_empty_or_damaged(xtd, captioned):
    given = xtd(captions={"en": [["a cat"], ["a dog"]], "jp": captioned})
    with pytest.raises(InputError, match="in Japanese"):
        captions.load("xtd", *given)
    _, table = captions.load("xtd", *given, languages=["en"])
    assert table["caption"].tolist() == ["a cat", "a dog"]


@pytest.mark.parametrize("languages", [[], ["en"]])
def test_a_file_of_another_data_set_is_told_by_its_many_languages(xtd, small, languages):
    given = xtd()
    small("xtd", n_images=3, n_languages=1)
    with pytest.raises(InputError, match=r"captions in 2 languages, but xtd has them in 1: give the file that belongs"):
        captions.load("xtd", *given, languages=languages, missing=1)


def test_a_data_set_with_classes_is_referred_to_its_own_loader(tmp_path):
    with pytest.raises(InputError, match=r"has classes .* datasets\.load"):
        captions.load("imagenet-1k", tmp_path)
    with pytest.raises(InputError, match=r"has captions .* captions\.load"):
        datasets.load("xtd", tmp_path)


@pytest.mark.parametrize("name", ["xtd", "xflickrco", "multi30k"])
def test_the_published_captions_have_the_papers_counts(mirror, monkeypatch, tmp_path, name):
    monkeypatch.setenv("BABELATLAS_MIRROR", str(mirror))
    entry = datasets.get_dataset(name)
    with pytest.raises(InputError, match=rf"None of the {entry.n_images:,} images"):
        captions.load(name, tmp_path)
    first = {"xtd": PHOTOS[0][:15] + "000000061844.jpg"}.get(name, "1007129816.jpg")
    photographs(tmp_path, [first])

    gallery, table = captions.load(name, tmp_path, missing=entry.n_images - 1)

    assert {"xtd": 1000, "xflickrco": 2000, "multi30k": 1000}[name] == entry.n_images
    assert gallery["image"].tolist() == [first]
    assert gallery.attrs["missing"] == entry.n_images - 1
    assert len(table) == entry.n_languages == {"xtd": 11, "xflickrco": 8, "multi30k": 4}[name]
    assert "ja" in set(table["lang"]) or name == "multi30k"


def test_the_two_empty_captions_of_xflickrco_are_kept_and_told(mirror, monkeypatch, tmp_path):
    monkeypatch.setenv("BABELATLAS_MIRROR", str(mirror))
    photographs(tmp_path, ["COCO_val2014_000000122239.jpg", "6312211170.jpg", "1007129816.jpg"])

    _, table = captions.load("xflickrco", tmp_path, missing=1997)

    assert table.attrs["empty"] == ["human de COCO_val2014_000000122239.jpg#0", "human id 6312211170.jpg#0"]
    assert (table["caption"] == "").sum() == 2
    assert table.groupby("lang").size().eq(3).all()


# Crossmodal-3600


def line(key, **found):
    row = {"image/key": key, "image/locale": "en"}
    more = {"caption/tokenized": [], "caption/tokenized/lowercase": []}
    return json.dumps(row | {lang: {"caption": several} | more for lang, several in found.items()}, ensure_ascii=False)


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


def test_crossmodal_3600_is_read_as_released_with_its_codes(xm3600):
    gallery, table = captions.load("xm3600", xm3600 / "images", xm3600 / "captions.jsonl")

    assert gallery["image"].tolist() == ["000a.jpg", "000b.jpg"]
    assert table["lang"].unique().tolist() == ["en", "he", "quz", "tl"]
    assert table[table["lang"] == "tl"][["image", "number", "caption"]].to_numpy().tolist() == [
        ["000a.jpg", 0, "pusa"],
        ["000b.jpg", 0, "aso"],
        ["000b.jpg", 1, "isang aso"],
    ]
    assert captions.choose(table, "first")["caption"].tolist()[:2] == ["a cat", "a dog"]
    assert len(captions.choose(table, "all")) == 10
    with pytest.raises(InputError, match=r"no choice of captions 'frist': did you mean first\?"):
        captions.choose(table, "frist")


def test_crossmodal_3600_is_read_from_its_zip_and_from_a_folder(xm3600, monkeypatch):
    _, plain = captions.load("xm3600", xm3600 / "images", xm3600)
    with zipfile.ZipFile(xm3600 / "captions.zip", "w") as archive:
        archive.write(xm3600 / "captions.jsonl", "captions.jsonl")
    (xm3600 / "captions.jsonl").unlink()

    for given in (xm3600, xm3600 / "captions.zip"):
        pd.testing.assert_frame_equal(captions.load("xm3600", xm3600 / "images", given)[1], plain)
    (xm3600 / "captions.zip").write_bytes(b"PK\x03\x04 half")
    with pytest.raises(InputError, match=r"captions\.zip cannot be read \(File is not a zip file\)"):
        captions.load("xm3600", xm3600 / "images", xm3600)


def test_crossmodal_3600_cut_off_or_of_another_layout_is_told_by_its_line(xm3600):
    file = xm3600 / "captions.jsonl"
    text = file.read_text(encoding="utf-8")
    for content in (text[:-40], text + '{"key": 1}\n', text + "[1]\n", text.replace('"caption"', '"text"')):
        file.write_text(content, encoding="utf-8")
        with pytest.raises(InputError, match=r"Line [123] of .*captions\.jsonl has another layout than expected"):
            captions.load("xm3600", xm3600 / "images", file)


def test_crossmodal_3600_with_an_image_that_a_language_lacks_is_refused(xm3600):
    with (xm3600 / "captions.jsonl").open("w", encoding="utf-8") as file:
        print(line("000a", en=["a cat"]), line("000b", en=["a dog"], sw=["mbwa"]), sep="\n", file=file)
    with pytest.raises(InputError, match=r"no caption in Swahili \(sw\) for the image 000a\.jpg"):
        captions.load("xm3600", xm3600 / "images", xm3600, languages=["en", "sw"])
    _, table = captions.load("xm3600", xm3600 / "images", xm3600, languages=["en"])
    assert table["caption"].tolist() == ["a cat", "a dog"]


def test_crossmodal_3600_keeps_tokens_and_the_language_of_the_region_of_each_image(tmp_path):
    told = {"caption": ["一只猫。"], "caption/tokenized": ["一只 猫 。"], "caption/tokenized/lowercase": ["一只 猫 。"]}
    row = {"image/key": "000a", "image/locale": "fil", "zh": told}
    (tmp_path / "captions.jsonl").write_text(json.dumps(row), encoding="utf-8")
    assert crossmodal3600.locales(tmp_path).to_numpy().tolist() == [["000a.jpg", "tl"]]
    tokens = tables.check(crossmodal3600.tokenized(tmp_path), "captions")
    assert tokens.to_numpy().tolist() == [["tokenized", "zh", "000a.jpg", 0, "一只 猫 。"]]


def test_crossmodal_3600_without_tokens_or_regions_is_told_by_its_image(xm3600):
    with pytest.raises(InputError, match="2 captions of 000a in 'en' and tokens of 0"):
        crossmodal3600.tokenized(xm3600)
    file = xm3600 / "captions.jsonl"
    file.write_text(
        file.read_text(encoding="utf-8").replace('"image/locale": "en"', '"image/locale": ""'), encoding="utf-8"
    )
    with pytest.raises(InputError, match=r"no image/locale for 000a"):
        crossmodal3600.locales(xm3600)


def test_crossmodal_3600_that_is_not_there_is_told_once(xm3600):
    for file in ("nothing.jsonl", "captions.zip"):
        with pytest.raises(InputError, match=rf"^The captions {xm3600}/{file} do not exist: give captions\.jsonl, "):
            captions.load("xm3600", xm3600 / "images", xm3600 / file)
    with pytest.raises(InputError, match=r"images hold neither captions\.jsonl nor captions\.zip: give"):
        captions.load("xm3600", xm3600 / "images", xm3600 / "images")


def test_crossmodal_3600_has_as_many_captions_as_the_released_results_were_computed_on():
    entry, found = datasets.get_dataset("xm3600"), published.read("babel-imagenet-retrieval")
    behind = found[(found["dataset"] == "xm3600") & (found["metric"] == "recall@1 text-to-image")]
    assert behind.groupby("lang")["n"].nunique().max() == 1
    assert (entry.n_images, entry.n_languages) == (3600, behind["lang"].nunique()) == (3600, 36)
    assert entry.n_captions == behind.groupby("lang")["n"].first().sum()


def test_a_full_file_of_crossmodal_3600_with_another_count_is_refused(xm3600, small):
    small("xm3600", n_captions=261_375)
    with pytest.raises(InputError, match=r"has 10 captions \(human\), but xm3600 has 261,375"):
        captions.load("xm3600", xm3600 / "images", xm3600)


# Multi30K


@pytest.fixture
def task1(tmp_path, monkeypatch):
    monkeypatch.setattr(captions, "SPLITS", {"test_2016_flickr": (2, ("en", "de")), "test_2017_mscoco": (1, ("en",))})
    for folder in ("raw", "image_splits"):
        (tmp_path / "task1" / folder).mkdir(parents=True)
    (tmp_path / "task1" / "image_splits" / "test_2016_flickr.txt").write_text("1.jpg\n2.jpg\n")
    (tmp_path / "task1" / "image_splits" / "test_2017_mscoco.txt").write_text(f"{PHOTOS[0]}#367178\n")
    raw = {"test_2016_flickr.en": "a cat\na dog\n", "test_2016_flickr.de": "eine Katze\nein Hund\n"}
    for name, text in (raw | {"test_2017_mscoco.en": "a tom\n"}).items():
        (tmp_path / "task1" / "raw" / f"{name}.gz").write_bytes(gzip.compress(text.encode()))
    photographs(tmp_path / "photos", ["1.jpg", "2.jpg", PHOTOS[0]])
    return tmp_path


def test_multi30k_is_read_from_its_folder_and_a_split_from_its_list(task1):
    _, table = captions.load("multi30k", task1 / "photos", task1 / "task1")
    assert table["caption"].tolist() == ["eine Katze", "ein Hund", "a cat", "a dog"]
    assert set(table["captions"]) == {"human"}

    split = task1 / "task1" / "image_splits" / "test_2017_mscoco.txt"
    gallery, table = captions.load("multi30k", task1 / "photos", split)
    assert gallery["image"].tolist() == [PHOTOS[0]]
    assert table.to_numpy().tolist() == [["human test_2017_mscoco", "en", PHOTOS[0], 0, "a tom"]]


def test_multi30k_with_a_language_too_few_or_a_line_too_few_is_refused(task1):
    (task1 / "task1" / "raw" / "test_2016_flickr.de.gz").write_bytes(gzip.compress(b"eine Katze\n"))
    with pytest.raises(InputError, match=r"has 2 images, but captions in German \(de\) for 1"):
        captions.load("multi30k", task1 / "photos", task1 / "task1")
    (task1 / "task1" / "raw" / "test_2016_flickr.de.gz").unlink()
    with pytest.raises(InputError, match="captions in 1 language, but multi30k has them in 2"):
        captions.load("multi30k", task1 / "photos", task1 / "task1")
    assert len(captions.load("multi30k", task1 / "photos", task1 / "task1", languages=["en"])[1]) == 2
    (task1 / "task1" / "raw" / "test_2016_flickr.en.gz").write_bytes(gzip.compress(b"a cat\na dog\n")[:-9])
    with pytest.raises(InputError, match=r"test_2016_flickr\.en\.gz of Multi30K cannot be read \(.*data/task1"):
        captions.load("multi30k", task1 / "photos", task1 / "task1")
    with pytest.raises(InputError, match=r"no split 'test_2018': expected|no split 'test_2018': did you mean"):
        captions.load("multi30k", task1 / "photos", task1 / "test_2018.txt")


def test_a_split_of_multi30k_that_is_misspelt_gets_the_nearest_name(task1):
    with pytest.raises(
        InputError,
        match=r"test_2016_flikr, does not exist: .*data/task1, or a split \(did you mean test_2016_flickr\?\)",
    ):
        captions.load("multi30k", task1 / "photos", "test_2016_flikr")
    with pytest.raises(InputError, match=r"1\.jpg, is no folder: give .* a split \(expected one of test_2016_flickr, "):
        captions.load("multi30k", task1 / "photos", task1 / "photos" / "1.jpg")


@pytest.mark.parametrize("split", captions.SPLITS)
def test_each_published_split_of_multi30k_has_its_count(mirror, monkeypatch, split):
    monkeypatch.setenv("BABELATLAS_MIRROR", str(mirror))
    read = captions.READERS["multi30k"](datasets.get_dataset("multi30k"), split, [])
    assert len(read.images) == len(set(read.images)) == read.dataset.n_images
    assert [len(several) for several in read.captions.values()] == [read.dataset.n_images] * read.dataset.n_languages
    assert not any("#" in image for image in read.images)


# COCO-SM


@pytest.fixture
def coco_sm(small, tmp_path):
    """Two images with two and three texts, two languages, three translators, as in COCO-SM's meta folder."""
    small("coco-sm", n_images=2, n_languages=2, n_captions=10)
    (tmp_path / "meta").mkdir()
    for group in ("google", "bing", "nllb"):
        rows = {
            lang: [
                {"filename": PHOTOS[0], "captions": [f"{group} {lang} {number}" for number in range(2)]},
                {"filename": PHOTOS[1], "captions": [f"{group} {lang} {number}" for number in range(2, 5)]},
            ]
            for lang in ("en", "de")
        }
        (tmp_path / "meta" / f"{group}.json").write_text(json.dumps(rows))
    mapping = {"image2text": {"0": [0, 1], "1": [2, 3, 4]}}
    mapping["text2image"] = {"0": [0], "1": [0], "2": [1], "3": [1], "4": [1]}
    (tmp_path / "meta" / "id_mapping.json").write_text(json.dumps(mapping))
    (tmp_path / "meta" / "excluded.txt").write_text("COCO_val2014_000000000009.jpg")
    photographs(tmp_path / "val2014", PHOTOS)
    return tmp_path


def test_coco_sm_has_a_set_of_captions_for_each_translator(coco_sm):
    _, table = captions.load("coco-sm", coco_sm, coco_sm / "meta")

    assert table["captions"].unique().tolist() == ["google", "bing", "nllb"]
    assert len(table) == 30
    assert captions.load("coco-sm", coco_sm, coco_sm)[1].equals(table)
    german = table[(table["captions"] == "bing") & (table["lang"] == "de")]
    assert german["caption"].tolist() == [f"bing de {number}" for number in range(5)]
    assert german["number"].tolist() == [0, 1, 0, 1, 2]


def test_one_translator_of_coco_sm_can_be_asked_for(coco_sm):
    for given, sets in ((coco_sm / "meta", ["nllb"]), (coco_sm / "meta" / "nllb.json", [])):
        assert set(captions.load("coco-sm", coco_sm, given, sets)[1]["captions"]) == {"nllb"}
    with pytest.raises(InputError, match=r"no translator 'gogle': did you mean google\?"):
        captions.load("coco-sm", coco_sm, coco_sm / "meta", ["gogle"])
    (coco_sm / "meta" / "bing.json").unlink()
    with pytest.raises(InputError, match=r"bing\.json does not exist"):
        captions.load("coco-sm", coco_sm, coco_sm / "meta")


def test_coco_sm_with_texts_that_its_mapping_does_not_fit_is_refused(coco_sm):
    file = coco_sm / "meta" / "google.json"
    whole = json.loads(file.read_text())
    short = whole | {"de": [whole["de"][0], whole["de"][1] | {"captions": ["x", "y"]}]}
    file.write_text(json.dumps(short))
    with pytest.raises(InputError, match=r"in 'de' in .*google\.json do not fit the mapping .*\(2 images, 5 texts\)"):
        captions.load("coco-sm", coco_sm, coco_sm / "meta")
    swapped = whole | {"de": whole["de"][::-1]}
    file.write_text(json.dumps(swapped))
    with pytest.raises(InputError, match=r"other images, or another order of them, in 'de'"):
        captions.load("coco-sm", coco_sm, coco_sm / "meta")
    for strange in ({"de": "x"}, {"de": [{"file": 1}]}, {"de": [{"filename": "a", "captions": None}]}, [1]):
        file.write_text(json.dumps(strange))
        with pytest.raises(InputError, match=r"google\.json has another layout than expected"):
            captions.load("coco-sm", coco_sm, coco_sm / "meta")
    file.write_text(json.dumps(whole))
    (coco_sm / "meta" / "excluded.txt").write_text(PHOTOS[1])
    with pytest.raises(InputError, match=rf"has the image {PHOTOS[1]}, which .*excluded\.txt leaves out"):
        captions.load("coco-sm", coco_sm, coco_sm / "meta")


def test_the_published_mapping_of_coco_sm_fits_texts_of_its_shape(mirror, monkeypatch, small, tmp_path):
    monkeypatch.setenv("BABELATLAS_MIRROR", str(mirror))
    mapping = mirror / "coco-sm" / "meta" / "id_mapping.json"
    counts = [len(texts) for texts in json.loads(mapping.read_text())["image2text"].values()]
    assert (len(counts), sum(counts), counts.count(5), counts.count(6)) == (4993, 24_975, 4983, 10)
    small("coco-sm", n_languages=1, n_captions=24_975)
    rows = [{"filename": f"{image}.jpg", "captions": ["x"] * count} for image, count in enumerate(counts)]
    (tmp_path / "bing.json").write_text(json.dumps({"en": rows}))
    photographs(tmp_path, ["7.jpg"])

    assert len(captions.load("coco-sm", tmp_path, tmp_path / "bing.json", missing=4992)[1]) == counts[7]
    rows[0]["captions"].append("y")
    (tmp_path / "bing.json").write_text(json.dumps({"en": rows}))
    with pytest.raises(InputError, match=r"do not fit the mapping .*\(4,993 images, 24,975 texts\)"):
        captions.load("coco-sm", tmp_path, tmp_path / "bing.json", missing=4992)


# The embedded data set


@pytest.fixture
def own(tmp_path):
    paths = ["pictograms/n01/000.png", "pictograms/n01/001.png", "pictograms/n02/000.png"]
    photographs(tmp_path / "images" / "pictograms" / "n01", ["000.png", "001.png"])
    photographs(tmp_path / "images" / "pictograms" / "n02", ["000.png"])
    images = pd.DataFrame({"path": paths, "wnid": ["n01", "n01", "n02"], "number": [0, 1, 0]})
    tables.write(images, tmp_path / "images" / "pictograms.parquet", "images")

    def write(rows):
        table = pd.DataFrame(rows, columns=["captions", "lang", "image", "number", "caption"])
        tables.write(table, tmp_path / "captions.parquet", "captions")
        return tmp_path / "images" / "pictograms.parquet", tmp_path / "captions.parquet"

    return paths, write


def test_the_embedded_captions_are_two_tables_and_may_lack_languages(own):
    paths, write = own
    rows = [("template", "iw", paths[2], 0, "כלב"), ("template", "en", paths[2], 0, "a dog")]
    given = write([*rows, ("template", "en", paths[0], 1, "a tom"), ("template", "en", paths[0], 0, "a cat")])

    gallery, table = captions.load("pictogram-captions", *given)

    assert gallery["image"].tolist() == [paths[0], paths[2]]
    assert datasets.open_image(gallery["path"][1]).size == (4, 4)
    assert table["caption"].tolist() == ["a cat", "a tom", "a dog", "כלב"]
    assert table["lang"].tolist() == ["en", "en", "en", "he"]
    gallery, table = captions.load("pictogram-captions", *given, languages=["he"])
    assert (len(gallery), len(table)) == (2, 1)


def test_embedded_captions_of_an_unknown_image_or_without_words_are_refused(own):
    paths, write = own
    row = ("template", "en", paths[0], 0, "a cat")
    given = write([row, ("template", "en", "pictograms/n03/000.png", 0, "a bird")])
    with pytest.raises(InputError, match=r"lacks 1 of 2 images \(1 without a file: pictograms/n03/000\.png\)"):
        captions.load("pictogram-captions", *given)
    assert captions.load("pictogram-captions", *given, missing=1)[0].attrs["missing"] == 1
    for rows, message in (([(*row[:4], " ")], r"an empty caption of pictograms/n01/000\.png"), ([], "no row")):
        with pytest.raises(InputError, match=message):
            captions.load("pictogram-captions", *write(rows))
    with pytest.raises(
        InputError, match="captions of the data set 'pictogram-captions' are not given: run notebook 11"
    ):
        captions.load("pictogram-captions", given[0])


def test_captions_and_images_of_ones_own_are_read_from_a_folder_and_a_csv(tmp_path, monkeypatch):
    (tmp_path / "cats" / "old").mkdir(parents=True)
    for name in ("b.png", "old/a.png"):
        Image.new("RGB", (4, 4), "red").save(tmp_path / "cats" / name)
    rows = "lang,image,caption\nen,b.png,a cat\nen,b.png,a tom\nen,old/a.png,an old cat\nde,b.png,eine Katze\n"
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
    (tmp_path / "cats.csv").write_text("lang,picture,caption\n", encoding="utf-8")
    with pytest.raises(InputError, match="no column 'image'"):
        captions.load("cats", tmp_path / "cats", tmp_path / "cats.csv")
    (tmp_path / "cats" / "b.png").unlink()
    (tmp_path / "cats.csv").write_text(rows, encoding="utf-8")
    with pytest.raises(InputError, match=r"b\.png"):
        captions.load("cats", tmp_path / "cats", tmp_path / "cats.csv")


@pytest.fixture
def flickr(small, tmp_path):
    """A miniature of Flickr30k-200 in the published layout; call it with further files, name -> text."""
    small("flickr30k-200", n_images=2, n_languages=3, n_captions=6)
    photographs(tmp_path / "flickr30k", ["1007.jpg", "1009.jpg"])
    home = tmp_path / "flickr30k-200"
    home.mkdir()
    files = {"filenames": "1007.jpg\n1009.jpg\n", "eng_captions": "A cat.\nA dog.\n", "swh_Latn": "Paka.\nMbwa.\n"}
    files |= {"zho_Hans": "猫。\n狗\u2028。", "nus_Latn": "left out, as the study has no code for Nuer\n"}

    def write(**further):
        for name, text in (files | further).items():
            (home / f"{name}.txt").write_text(text, encoding="utf-8")
        return tmp_path / "flickr30k", home

    return write


def test_translations_into_200_languages_are_read_as_published(flickr):
    gallery, table = captions.load("flickr30k-200", *flickr())

    assert gallery["image"].tolist() == ["1007.jpg", "1009.jpg"]
    found = table.set_index(["lang", "image"])["caption"].to_dict()
    # A line ends where the file's line does, not at a separator within the text.
    assert found[("zh", "1009.jpg")] == "狗\u2028。"
    assert {lang: found[lang, "1007.jpg"] for lang in ("en", "sw", "zh")} == {
        "en": "A cat.",
        "sw": "Paka.",
        "zh": "猫。",
    }
    assert table["captions"].tolist() == ["nllb"] * 6


def test_translations_that_do_not_fit_are_one_sentence(flickr, tmp_path):
    images, home = flickr(swh_Latn="Paka.")
    with pytest.raises(InputError, match=r"swh_Latn\.txt has 1 lines, expected one for each of the 2 images"):
        captions.load("flickr30k-200", images, home)
    with pytest.raises(InputError, match="language with the code 'qqq_Latn'"):
        captions.load("flickr30k-200", *flickr(qqq_Latn="a\nb"))
    (home / "qqq_Latn.txt").unlink()
    (home / "filenames.txt").unlink()
    with pytest.raises(InputError, match=r"lacks filenames\.txt: put it there from"):
        captions.load("flickr30k-200", images, home)
    with pytest.raises(InputError, match=r"lacks test_image_names\.txt: put it there from XTD10 and MIC"):
        captions.load("xtd-200", images, home)
    with pytest.raises(InputError, match="captions of 'xtd-200' are not given: get them from https"):
        captions.load("xtd-200", images)


def test_languages_that_a_release_has_and_the_study_has_not_are_listed():
    from babelatlas.base import languages

    entries = [entry for entry in datasets.DATASETS if entry.left_out]
    assert {"xtd-200", "flickr30k-200"} <= {entry.name for entry in entries}
    for entry in entries:
        for code in entry.left_out:
            with pytest.raises(InputError, match=f"no language with the code '{code}'"):
                languages.canonical(code)
