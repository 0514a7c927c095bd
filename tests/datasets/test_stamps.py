"""Tux Paint's stamps: those of the mirror counted, and a few of our own in the
published layout.
"""

import subprocess
from pathlib import Path

import pandas as pd
import pytest
from PIL import Image

from babelatlas.base import download, paths, synsets
from babelatlas.base.errors import InputError
from babelatlas.datasets import captions, stamps
from babelatlas.datasets import registry as datasets

SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="30pt" height="15pt"><rect width="9"'
    ' height="9"/></svg>'
)
TEXTS = {
    "plants/rose": (
        "A flower.\nde.utf8=Eine Blume.\npt.utf8=Uma"
        " flor.\npt_BR.utf8=Florzinha.\nsr@latin.utf8=Cvet.\n"
    ),
    "plants/tulip": (
        "A flower.\nde.utf8=Eine Tulpe.\nen_GB.utf8=A flower.\nfr.utf8=A"
        " flower.\nson.utf8=\n"
    ),
    "symbols/a": "The letter A.\nde.utf8=Der Buchstabe A.\n",
}
ROSE = {"stamp": "plants/rose", "wnid": "n12620196", "sure": "true", "drawing": "false"}


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A folder of three stamps, the first transparent, the second an SVG file; an empty
    cache, and no mirror.
    """
    pytest.importorskip("resvg_py")
    monkeypatch.delenv("BABELATLAS_MIRROR", raising=False)
    monkeypatch.setattr(download, "cache", lambda name: tmp_path / "cache" / name)
    monkeypatch.setattr(
        stamps,
        "rows",
        lambda name: [ROSE, ROSE | {"stamp": "plants/tulip", "sure": "false"}],
    )
    for stamp, text in TEXTS.items():
        path = tmp_path / "stamps" / f"{stamp}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        Image.new("RGBA", (4, 4), (200, 0, 0, 0)).save(path.with_suffix(".png"))
    (tmp_path / "stamps/plants/tulip.png").rename(
        tmp_path / "stamps/plants/tulip_mirror.png"
    )  # has no text
    (tmp_path / "stamps/plants/tulip.svg").write_text(SVG)
    return tmp_path / "stamps"


def test_the_published_stamps_are_950_in_77_locales_and_every_thing_is_in_the_list_of_synsets(
    mirror,
):
    pictures, texts = stamps.read_pictures_and_texts(mirror / "tuxpaint-stamps")
    assert (len(pictures), int(pictures["thing"].sum())) == (950, 701)
    counts = texts["locale"].value_counts()
    assert (counts["en"], len(counts), texts["lang"].nunique()) == (950, 77 + 1, 73)
    assert counts[["ach", "iu", "kab", "son", "sw", "zh_CN", "oc"]].tolist() == [
        907,
        918,
        484,
        949,
        191,
        773,
        25,
    ]
    own = texts[
        texts["stamp"].isin(pictures.loc[pictures["thing"], "stamp"])
        & ~texts["untranslated"]
    ]
    assert (own.groupby("lang")["stamp"].nunique() >= 300).sum() == 63
    known = pd.DataFrame(paths.rows("stamp_senses.csv"))
    assert sorted(known["stamp"]) == sorted(pictures.loc[pictures["thing"], "stamp"])
    assert {*known["sure"], *known["drawing"]} == {"true", "false"}
    assert known["wnid"].str.fullmatch(r"(n\d{8})?").all()
    assert set(synsets.class_list("stamps")["wnid"]) == set(
        known.query("sure == 'true'")["wnid"]
    )


def test_varieties_come_second_and_what_is_left_in_english_is_dropped_and_counted(home):
    gallery, table = captions.load("tuxpaint-stamps", home)
    assert gallery["image"].tolist() == ["plants/rose", "plants/tulip"]
    found = table.set_index(["image", "lang", "number"])["caption"]
    rose = {("en", 0): "A flower.", ("de", 0): "Eine Blume.", ("sr", 0): "Cvet."}
    assert found["plants/rose"].to_dict() == rose | {
        ("pt", 0): "Uma flor.",
        ("pt", 1): "Florzinha.",
    }
    assert found["plants/tulip"].to_dict() == {
        ("de", 0): "Eine Tulpe.",
        ("en", 0): "A flower.",
    }
    assert table.attrs["untranslated"] == {
        "fr": 1
    }  # British English is English as well


def test_pictures_are_laid_on_white_drawings_rendered_and_classes_those_whose_synset_is_sure(
    home,
):
    rose, tulip = map(
        datasets.open_image, captions.load("tuxpaint-stamps", home)[0]["path"]
    )
    assert rose.getpixel((0, 0)) == (255, 255, 255)
    # 30 by 15 points are 40 by 20 pixels of 1/96 inch, and the square has sides of nine
    # of these.
    assert tulip.size == (stamps.SIZE, stamps.SIZE // 2)
    assert [tulip.getpixel(place) for place in ((80, 80), (100, 100))] == [
        (0, 0, 0),
        (255, 255, 255),
    ]
    table = datasets.load("tuxpaint-nouns", home)
    assert table[["wnid", "number", "stamp", "drawing"]].to_numpy().tolist() == [
        ["n12620196", 0, "plants/rose", False]
    ]


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        (
            "plants/rose.png",
            b"\x89PNG\r\n\x1a\n damaged",
            r"The stamp .*rose\.png cannot be read",
        ),
        ("plants/tulip.svg", b"<svg>", r"The stamp .*tulip\.svg cannot be read"),
        (
            "plants/rose.txt",
            b"A flower.\nqqx.utf8=Rose\n",
            r"There is no language with the code 'qqx'",
        ),
    ],
)
def test_a_damaged_file_is_named(home, file, content, message):
    (home / file).write_bytes(content)
    with pytest.raises(InputError, match=message):
        stamps.captions(home)


def test_stamps_come_from_debians_package_once_or_it_is_said_where_to_get_them(
    home, monkeypatch
):
    def run(command, cwd, **more):
        made = {
            "apt-get": "tuxpaint_1_all.deb",
            "dpkg-deb": "usr/share/tuxpaint/stamps/rose.txt",
        }
        path = Path(cwd, made[command[0]])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("A flower.")
        return subprocess.CompletedProcess(command, 0, "", "")

    entry = datasets.get_dataset("tuxpaint-stamps").model_copy(
        update={"places": ("tuxpaint-stamps",)}
    )
    with pytest.raises(
        InputError, match="run `babelatlas fetch tuxpaint-stamps`, or get them"
    ):
        datasets.images_path("", entry)
    monkeypatch.setattr(stamps.shutil, "which", lambda name: None)
    with pytest.raises(
        InputError,
        match=(
            r"no apt here and no SHA-256 .* is known: get .* at .*cache/tuxpaint-stamps"
        ),
    ):
        stamps.fetch(entry.places)
    monkeypatch.setattr(stamps.shutil, "which", lambda name: name)
    monkeypatch.setattr(stamps.subprocess, "run", run)
    fetched = stamps.fetch(entry.places)
    monkeypatch.setattr(stamps.shutil, "which", lambda name: None)
    assert stamps.fetch(entry.places) == fetched == str(datasets.images_path("", entry))
    assert Path(fetched, "rose.txt").is_file()
