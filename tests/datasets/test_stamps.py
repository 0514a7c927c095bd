"""Tux Paint's stamps: those of the mirror counted, and a few of our own in the published layout."""

import re
import subprocess
from pathlib import Path

import pandas as pd
import pytest
from PIL import Image

from babelatlas.base import download, paths, synsets
from babelatlas.base.errors import InputError
from babelatlas.datasets import captions, stamps
from babelatlas.datasets import registry as datasets

SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="30pt" height="15pt"><rect width="9" height="9"/></svg>'
TEXTS = {
    "plants/rose": "A flower.\nde.utf8=Eine Blume.\npt.utf8=Uma flor.\npt_BR.utf8=Florzinha.\nsr@latin.utf8=Cvet.\n",
    "plants/tulip": "A flower.\nde.utf8=Eine Tulpe.\nen_GB.utf8=A flower.\nfr.utf8=A flower.\nson.utf8=\n",
    "symbols/a": "The letter A.\nde.utf8=Der Buchstabe A.\n",
}
SENSES = [("plants/rose", "n12620196", "true", "false"), ("plants/tulip", "n12454159", "false", "true")]


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A folder of three stamps, the first of them transparent, and an empty cache."""
    monkeypatch.setattr(download, "cache", lambda name: tmp_path / "cache" / name)
    known = [dict(zip(["stamp", "wnid", "sure", "drawing"], row, strict=True)) for row in SENSES]
    monkeypatch.setattr(stamps, "rows", lambda name: known)
    for stamp, text in TEXTS.items():
        path = tmp_path / "stamps" / f"{stamp}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        Image.new("RGBA", (4, 4), (200, 0, 0, 0)).save(path.with_suffix(".png"))
    (tmp_path / "stamps/plants/tulip.png").write_bytes(b"")
    (tmp_path / "stamps/plants/tulip.png").rename(tmp_path / "stamps/plants/tulip_mirror.png")  # has no text
    (tmp_path / "stamps/plants/tulip.svg").write_text(SVG)
    return tmp_path / "stamps"


@pytest.fixture
def published(mirror):
    """The stamps of the mirror as two tables, pictures and texts."""
    if not (mirror / "tuxpaint-stamps").is_dir():
        pytest.skip("the mirror has no stamps")
    return stamps.read(mirror / "tuxpaint-stamps")


def test_the_published_stamps_are_950_in_77_locales(published):
    pictures, texts = published
    assert (len(pictures), int(pictures["thing"].sum())) == (950, 701)
    counts = texts["locale"].value_counts()
    assert (counts["en"], len(counts)) == (950, 77 + 1)
    assert counts[["ach", "iu", "kab", "son", "sw", "zh_CN", "oc"]].tolist() == [907, 918, 484, 949, 191, 773, 25]
    assert texts["lang"].nunique() == 73
    own = texts[texts["stamp"].isin(pictures.loc[pictures["thing"], "stamp"]) & ~texts["untranslated"]]
    assert (own.groupby("lang")["stamp"].nunique() >= 300).sum() == 63


def test_every_thing_and_nothing_else_has_a_row_in_the_list_of_synsets(published):
    pictures, _ = published
    known = pd.DataFrame(paths.rows("stamp_senses.csv"))
    assert sorted(known["stamp"]) == sorted(pictures.loc[pictures["thing"], "stamp"])
    assert {*known["sure"], *known["drawing"]} == {"true", "false"}
    assert known["wnid"].map(lambda wnid: bool(re.fullmatch(r"(n\d{8})?", wnid))).all()
    assert (known.loc[known["sure"] == "true", "wnid"] != "").all()
    assert set(synsets.class_list("stamps")["wnid"]) == set(known.loc[known["sure"] == "true", "wnid"])


def test_locales_become_languages_and_varieties_come_second(home):
    table, order, _ = stamps.captions(home)
    assert order == ["plants/rose", "plants/tulip"]
    found = table.query("image == 'plants/rose'").set_index(["lang", "number"])["caption"].to_dict()
    assert found == {("en", 0): "A flower.", ("de", 0): "Eine Blume.", ("sr", 0): "Cvet."} | {
        ("pt", 0): "Uma flor.",
        ("pt", 1): "Florzinha.",
    }


def test_texts_left_in_english_are_dropped_and_counted_by_language(home):
    gallery, table = captions.load("tuxpaint-stamps", home)
    assert gallery["image"].tolist() == ["plants/rose", "plants/tulip"]
    # British English is English as well, and no language has an empty text.
    assert table.query("image == 'plants/tulip'")[["lang", "caption"]].to_numpy().tolist() == [
        ["de", "Eine Tulpe."],
        ["en", "A flower."],
    ]
    assert table.attrs["untranslated"] == {"fr": 1}


def test_pictures_are_laid_on_white_and_drawings_rendered(home):
    pytest.importorskip("resvg_py")
    gallery, _ = captions.load("tuxpaint-stamps", home)
    rose, tulip = map(datasets.open_image, gallery["path"])
    assert rose.getpixel((0, 0)) == (255, 255, 255)
    # 30 by 15 points are 40 by 20 pixels of 1/96 inch, and the square has sides of nine of these.
    assert tulip.size == (stamps.SIZE, stamps.SIZE // 2)
    assert [tulip.getpixel(place) for place in ((80, 80), (100, 100))] == [(0, 0, 0), (255, 255, 255)]


def test_classes_are_the_stamps_whose_synset_is_sure_and_drawings_are_told_apart(home):
    table = datasets.load("tuxpaint-nouns", home)
    assert table[["wnid", "number", "stamp", "drawing"]].to_numpy().tolist() == [["n12620196", 0, "plants/rose", False]]
    assert stamps.read(home)[0].set_index("stamp")["drawing"].to_dict() == {
        "plants/rose": False,
        "plants/tulip": True,
        "symbols/a": False,
    }


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("plants/rose.png", b"\x89PNG\r\n\x1a\n damaged", r"The stamp .*rose\.png cannot be read"),
        ("plants/tulip.svg", b"<svg>", r"The stamp .*tulip\.svg cannot be read"),
        ("plants/rose.txt", b"\nde.utf8=Eine Blume.\n", r"rose\.txt has no first line"),
        ("plants/rose.txt", b"A flower.\nde.utf8=Gr\xfcn\n", r"rose\.txt is not in UTF-8"),
        ("plants/rose.txt", b"A flower.\nqqx.utf8=Rose\n", r"texts in the locale 'qqx': There is no language"),
    ],
)
def test_a_damaged_file_is_named(home, file, content, message):
    pytest.importorskip("resvg_py")
    (home / file).write_bytes(content)
    with pytest.raises(InputError, match=message):
        stamps.captions(home)


def test_without_stamps_apt_or_mirror_it_is_said_where_to_get_them(home, monkeypatch):
    monkeypatch.delenv("BABELATLAS_MIRROR", raising=False)
    monkeypatch.setattr(stamps.shutil, "which", lambda name: None)
    entry = datasets.get_dataset("tuxpaint-stamps").model_copy(update={"places": ("tuxpaint-stamps",)})
    with pytest.raises(InputError, match=r"no apt here and no SHA-256 .* is known: get .* at .*cache/tuxpaint-stamps"):
        stamps.fetch(entry.places)
    with pytest.raises(InputError, match="run `babelatlas fetch tuxpaint-stamps`, or get them"):
        datasets.images_path("", entry)
    with pytest.raises(InputError, match="holds no stamp with a text"):
        stamps.captions(home / "elsewhere")


def test_debians_package_is_unpacked_into_the_cache_once(home, monkeypatch):
    asked = []

    def run(command, cwd, **more):
        asked.append(command[0])
        made = {"apt-get": "tuxpaint_1_all.deb", "dpkg-deb": "usr/share/tuxpaint/stamps/plants/rose.txt"}
        path = Path(cwd, made[command[0]])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("A flower.")
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.delenv("BABELATLAS_MIRROR", raising=False)
    monkeypatch.setattr(stamps.shutil, "which", lambda name: name)
    monkeypatch.setattr(stamps.subprocess, "run", run)
    for _ in range(2):
        assert stamps.fetch(["tuxpaint-stamps"]) == str(home.parent / "cache" / "tuxpaint-stamps")
    assert asked == ["apt-get", "dpkg-deb"]
    assert (home.parent / "cache" / "tuxpaint-stamps" / "plants" / "rose.txt").is_file()
