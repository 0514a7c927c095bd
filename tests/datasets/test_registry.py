import codecs
import contextlib
import io
import json
import struct
import tarfile
import unicodedata
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from scipy.io import savemat

from babelatlas.base import download, synsets, tables
from babelatlas.base.errors import InputError
from babelatlas.datasets import imagenet
from babelatlas.datasets import registry as datasets

TENCH, GOLDFISH, SHARK = imagenet.wnids()[:3]
VALIDATION = [f"ILSVRC2012_val_{number:08}.JPEG" for number in range(1, 7)]
BIRDS = {"task": "zero-shot", "images": "birds", "label_table": "birds.csv"}
JPEG = io.BytesIO()
Image.new("RGB", (4, 4), "red").save(JPEG, "JPEG")


@pytest.fixture
def run(tmp_path):
    for wnid in ("n01", "n02"):
        (tmp_path / "pictograms" / wnid).mkdir(parents=True)
        Image.new("RGB", (4, 4), "red").save(tmp_path / "pictograms" / wnid / "000.png")
    paths = ["pictograms/n01/000.png", "pictograms/n02/000.png"]
    table = pd.DataFrame({"path": paths, "wnid": ["n01", "n02"], "number": [0, 0]})
    tables.write(table, tmp_path / "pictograms.parquet", "images")
    return tmp_path


@pytest.fixture
def small(monkeypatch):
    """Make the class list three classes long, and ImageNet's entries two images for
    each.
    """
    counts = {"n_images": 6, "n_classes": 3, "images_per_class": 2}
    changes = {
        "imagenet-1k": counts,
        "imagenet-v2": counts,
        "imagenet-a": {"n_images": 3, "n_classes": 2},
    }
    entries = [
        one.model_copy(update=changes.get(one.name, {})) for one in datasets.DATASETS
    ]
    monkeypatch.setattr(datasets, "DATASETS", entries)
    monkeypatch.setattr(imagenet, "wnids", lambda: (TENCH, GOLDFISH, SHARK))


def folders(home, names, number=2):
    for name in names:
        (home / name).mkdir(parents=True)
        for index in range(number):
            (home / name / f"{index}.JPEG").write_bytes(JPEG.getvalue())
    return home


def archive(path, files):
    """Write a zip or tar file of names, or name -> content."""
    files = files if isinstance(files, dict) else dict.fromkeys(files, JPEG.getvalue())
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as file:
            for name, content in files.items():
                file.writestr(name, content)
        return path
    with tarfile.open(path, "w:gz" if path.name.endswith("gz") else "w") as file:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            file.addfile(member, io.BytesIO(content))
    return path


def devkit(path):
    """Write a development kit: class 1 is the shark, and so on; classes above hold
    others, as in the real one.
    """
    kind = [
        ("ILSVRC2012_ID", "O"),
        ("WNID", "O"),
        ("words", "O"),
        ("num_children", "O"),
    ]
    rows = [
        (number, wnid, "a, b", 0)
        for number, wnid in enumerate((SHARK, TENCH, GOLDFISH), start=1)
    ]
    meta = io.BytesIO()
    savemat(
        meta,
        {
            "synsets": (
                np.array([*rows, (4, "n00001740", "entity", 3)], dtype=kind).reshape(
                    -1, 1
                )
            )
        },
    )
    truth = b"3\n1\n2\n2\n1\n3\n"
    names = ("meta.mat", "ILSVRC2012_validation_ground_truth.txt")
    files = dict(
        zip(
            (f"kit/data/{name}" for name in names),
            (meta.getvalue(), truth),
            strict=True,
        )
    )
    return archive(path, files)


# --- A table of images
# --------------------------------------------------------------------------------------


def test_a_table_is_read_with_absolute_paths_and_its_missing_images_are_counted(
    run, monkeypatch
):
    monkeypatch.chdir("/")
    images = datasets.load("pictograms", run / "pictograms.parquet")
    assert images["wnid"].tolist() == ["n01", "n02"]
    assert datasets.open_image(images["path"][0]).getpixel((0, 0)) == (255, 0, 0)
    assert datasets.load("pictograms", run / "pictograms.parquet", ["n02"])[
        "wnid"
    ].tolist() == ["n02"]
    with pytest.raises(InputError, match=r"no image of 1 class\(es\).*n03"):
        datasets.load("pictograms", run / "pictograms.parquet", ["n01", "n03"])
    (run / "pictograms" / "n02" / "000.png").unlink()
    with pytest.raises(
        InputError, match=r"lacks 1 of 2 images, the first: .*n02/000\.png"
    ):
        datasets.load("pictograms", run / "pictograms.parquet")
    images = datasets.load("pictograms", run / "pictograms.parquet", missing=1)
    assert (len(images), images.attrs["missing"]) == (1, 1)


def test_images_that_are_not_given_or_not_there_are_told():
    for name, said in (
        ("imagenet-1k", r"image-net\.org"),
        ("pictograms", "run notebook 62_pictograms"),
    ):
        with pytest.raises(InputError, match=said):
            datasets.load(name)
    with pytest.raises(InputError, match="did you mean pictograms"):
        datasets.load("pictogram")
    with pytest.raises(InputError, match="is for retrieval and has no classes"):
        datasets.load("xtd", "nowhere")


# --- Opening an image
# --------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0, 0.6])
@pytest.mark.parametrize("ending", ["png", "jpg"])
def test_a_truncated_image_is_named(tmp_path, ending, share):
    path = tmp_path / f"half.{ending}"
    Image.effect_noise((64, 64), 50).convert("RGB").save(path)
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    with pytest.raises(InputError, match=rf"half\.{ending} cannot be read \("):
        datasets.open_image(path)


def test_a_picture_that_would_turn_white_or_may_be_an_attack_is_refused(
    tmp_path, monkeypatch
):
    for dtype in ("uint16", "int32", "float32"):
        Image.fromarray(np.full((4, 4), 1000, dtype)).save(tmp_path / "deep.tiff")
        with pytest.raises(
            InputError, match=r"deep\.tiff cannot be read \(16 bits a channel or more"
        ):
            datasets.open_image(tmp_path / "deep.tiff")
    Image.new("1", (30, 30)).save(tmp_path / "huge.png")
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
    with pytest.raises(
        InputError,
        match=r"huge\.png cannot be read \(Image size \(900 pixels\) exceeds limit",
    ):
        datasets.open_image(tmp_path / "huge.png")


def test_every_kind_of_picture_gets_its_colours(tmp_path):
    Image.new("L", (8, 8), 100).save(tmp_path / "grey.jpg")
    Image.new("CMYK", (8, 8), (0, 255, 255, 0)).save(tmp_path / "print.jpg", quality=95)
    Image.new("LA", (8, 8), (100, 0)).save(tmp_path / "veil.png")
    frames = [Image.new("RGB", (8, 8), colour) for colour in ("red", "lime")]
    frames[0].save(
        tmp_path / "moving.webp", save_all=True, append_images=frames[1:], lossless=True
    )
    row = b"\x00" + struct.pack(">3H", 0x8000, 0x4000, 0xFF00)

    def chunk(kind, content):
        return (
            struct.pack(">I", len(content))
            + kind
            + content
            + struct.pack(">I", zlib.crc32(kind + content))
        )

    parts = [
        (b"IHDR", struct.pack(">IIBBBBB", 1, 1, 16, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(row)),
        (b"IEND", b""),
    ]
    (tmp_path / "deep.png").write_bytes(
        b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*part) for part in parts)
    )
    expected = {
        "grey.jpg": (100,) * 3,
        "print.jpg": (255, 0, 0),
        "veil.png": (255,) * 3,
        "moving.webp": (255, 0, 0),
    }
    for name, colour in (expected | {"deep.png": (0x80, 0x40, 0xFF)}).items():
        picture = datasets.open_image(tmp_path / name)
        assert picture.mode == "RGB"
        assert np.allclose(picture.getpixel((0, 0)), colour, atol=4), name


# --- ImageNet: three classes in each of the layouts in which it is published
# ------------------------------------------


def test_photographs_side_by_side_have_their_class_first_in_the_name_and_may_be_of_any_number(
    small, tmp_path
):
    for name in (
        f"{SHARK}_great-white_shark.JPEG",
        f"{TENCH}_tench.JPEG",
        f"{TENCH}_another.jpg",
    ):
        (tmp_path / name).write_bytes(JPEG.getvalue())
    found = (
        datasets.load("imagenet-photos", tmp_path)[["wnid", "number"]]
        .to_numpy()
        .tolist()
    )
    assert found == [[TENCH, 0], [TENCH, 1], [SHARK, 0]]


def test_a_folder_for_each_class_is_read_in_order_at_any_depth(small, tmp_path):
    folders(tmp_path / "val", [SHARK, TENCH, GOLDFISH])
    (tmp_path / "val" / TENCH / "notes.txt").write_text("x")
    (tmp_path / "val" / TENCH / "._0.JPEG").write_text("x")
    images = datasets.load("imagenet-1k", tmp_path)
    assert images["wnid"].tolist() == [TENCH] * 2 + [GOLDFISH] * 2 + [SHARK] * 2
    assert images["number"].tolist() == [0, 1] * 3
    assert images["path"][0] == str(tmp_path / "val" / TENCH / "0.JPEG")
    assert images.attrs["missing"] == 0
    tables.check(images, "images")


def test_the_official_archive_is_sorted_into_classes_by_the_development_kit(
    small, tmp_path
):
    tar = archive(tmp_path / "ILSVRC2012_img_val.tar", VALIDATION)
    with pytest.raises(
        InputError,
        match=r"put ILSVRC2012_devkit_t12\.tar\.gz of ImageNet next to the images",
    ):
        datasets.load("imagenet-1k", tar)
    devkit(tmp_path / imagenet.DEVKIT)
    images = datasets.load("imagenet-1k", tar)
    found = {
        Path(path).name: wnid
        for path, wnid in zip(images["path"], images["wnid"], strict=True)
    }
    assert found == dict(
        zip(VALIDATION, (GOLDFISH, SHARK, TENCH, TENCH, SHARK, GOLDFISH), strict=True)
    )
    assert datasets.open_image(images["path"][0]).size == (4, 4)


HUB = [
    f"val/ILSVRC2012_val_{n:08}_{w}.JPEG"
    for n, w in enumerate([TENCH, GOLDFISH, SHARK] * 2, start=1)
]


@pytest.mark.parametrize(
    ("name", "file", "names", "counts"),
    [
        ("imagenet-1k", "val_images.tar.gz", HUB, {TENCH: 2, GOLDFISH: 2, SHARK: 2}),
        (
            "imagenet-v2",
            "v2.tgz",
            [f"v2/{n}/{f}.jpeg" for n in "012" for f in "ab"],
            {TENCH: 2, GOLDFISH: 2, SHARK: 2},
        ),
        (
            "imagenet-a",
            "a.tar",
            [f"imagenet-a/{TENCH}/{n}.jpg" for n in range(3)],
            {TENCH: 3},
        ),
        (
            "imagenet-a",
            "a.zip",
            [f"imagenet-a/{TENCH}/{n}.jpg" for n in range(3)],
            {TENCH: 3},
        ),
    ],
)
def test_each_archive_is_read_and_unpacked_once(
    small, tmp_path, name, file, names, counts
):
    path = archive(tmp_path / file, names)
    images = datasets.load(name, path)
    assert images["wnid"].value_counts().to_dict() == counts
    [folder] = [one for one in tmp_path.iterdir() if one.is_dir()]
    before = {one: one.stat().st_mtime_ns for one in folder.rglob("*")}
    pd.testing.assert_frame_equal(datasets.load(name, path), images)
    assert {one: one.stat().st_mtime_ns for one in folder.rglob("*")} == before


@pytest.mark.parametrize("ending", ["tar.gz", "zip"])
def test_half_an_archive_is_refused_and_leaves_no_folder(tmp_path, ending):
    names = [f"a/{TENCH}/{n}.jpg" for n in range(30)]
    path = archive(tmp_path / f"a.{ending}", names)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(InputError, match="cannot be unpacked"):
        download.unpack(path)
    assert not [one for one in tmp_path.iterdir() if one.is_dir()]


@pytest.mark.parametrize(
    ("ending", "name"),
    [("tar", "../outside.jpg"), ("tar", "/outside.jpg"), ("zip", "../o.jpg")],
)
def test_an_archive_never_writes_outside_of_its_folder(tmp_path, ending, name):
    path = archive(tmp_path / f"a.{ending}", [name])
    with contextlib.suppress(InputError):
        download.unpack(path)
    assert [
        one for one in tmp_path.rglob("*.jpg") if ".unpacked" not in one.parent.name
    ] == []
    assert not Path("/outside.jpg").exists()


def test_a_folder_of_another_layout_is_told_by_an_image_of_no_class(small, tmp_path):
    for names in ([], ["tench"], [TENCH, "goldfish"]):
        home = tmp_path / "-".join(names)
        home.mkdir(exist_ok=True)
        folders(home, names)
        with pytest.raises(
            InputError, match="should hold one folder for each class, called n01440764"
        ):
            datasets.load("imagenet-1k", home)


def test_too_few_or_too_many_images_stop_the_run_unless_a_parameter_allows_so_many(
    small, tmp_path
):
    folders(tmp_path, [TENCH, SHARK])
    (tmp_path / TENCH / "1.JPEG").unlink()
    with pytest.raises(
        InputError,
        match=(
            rf"lacks 3 images \({TENCH} has 1 of 2, {GOLDFISH} has 0 of 2\).*missing=3"
        ),
    ):
        datasets.load("imagenet-1k", tmp_path)
    assert datasets.load("imagenet-1k", tmp_path, missing=3).attrs["missing"] == 3
    assert datasets.load("imagenet-1k", tmp_path, [SHARK]).attrs["missing"] == 0
    with pytest.raises(InputError, match="not the training images"):
        datasets.load(
            "imagenet-1k", folders(tmp_path / "train", [TENCH, GOLDFISH, SHARK], 5)
        )


# --- The entries
# --------------------------------------------------------------------------------------


def test_every_entry_is_complete_cites_what_the_bibliography_has_and_says_what_the_workflow_needs():
    text = (Path(__file__).parents[2] / "book" / "references.bib").read_text(
        encoding="utf-8"
    )
    assert len({one.name for one in datasets.known()}) == len(datasets.known()) >= 16
    for one in datasets.DATASETS:
        statements = one.task == "reasoning" and not one.made_by
        assert bool(one.labels) == (one.task == "zero-shot")
        assert set(one.files) <= set(download.files())
        assert (
            one.n_images == one.n_classes * one.images_per_class
            or not one.images_per_class
        )
        if one.url:
            assert one.url.startswith("https://")
            assert f"{{{one.citation}," in text
            assert (one.n_languages and one.sets) or one.task != "retrieval"
        assert bool(one.items_from) == (one.task == "disambiguation" or statements)
        assert bool(one.pairs_of) == (one.items_from == "lexicons")
        assert bool(one.trained_on) == (
            one.task == "reasoning" and not one.name.endswith("-train")
        )
        texts = one.task == "retrieval" or one.items_from == "files"
        assert bool(one.annotation_files) == (
            texts and not one.made_by and not one.fetched_as
        )


def test_images_and_labels_of_ones_own_are_read_as_those_of_any_data_set(
    tmp_path, monkeypatch
):
    for wnid in ("wren", "heron"):
        (tmp_path / "birds" / wnid).mkdir(parents=True)
        Image.new("RGB", (4, 4), "red").save(tmp_path / "birds" / wnid / "a.png")
    rows = (
        "lang,wnid,label\nen,wren,wren\nen,heron,heron\nde,wren,Vogel\nde,heron,Vogel\n"
    )
    (tmp_path / "birds.csv").write_text(rows, encoding="utf-8")
    monkeypatch.setenv(datasets.CUSTOM, json.dumps({"birds": BIRDS}))
    assert datasets.load("birds", tmp_path / "birds", ["wren", "heron"])[
        "wnid"
    ].tolist() == ["heron", "wren"]
    labels = datasets.read_labels(tmp_path / "birds.csv")
    assert labels.groupby("lang")["ambiguous"].all().to_dict() == {
        "de": True,
        "en": False,
    }


def test_labels_of_ones_own_are_tidied_and_one_word_in_capitals_and_not_is_one(
    tmp_path,
):
    words = {
        "en": ["Crane", "crane", "\ufeffheron", "wr\u00aden\u200b"],
        "fr": ["he\u0301ron\u00a0", "grue", "\u200eroitelet", "grue  cendr\u00e9e"],
        "fa": ["خط\u200cکش", "خط\u200c", "خط\u200f کش", "گربه"],
        "si": ["පක්\u200dෂය", "බළලා", "\u200dබල්ලා", "අලියා"],
    }
    rows = [
        f"{lang},{number},{word}"
        for lang, some in words.items()
        for number, word in enumerate(some)
    ]
    (tmp_path / "birds.csv").write_text(
        "\n".join(["lang,wnid,label", *rows]), encoding="utf-8"
    )

    labels = datasets.read_labels(tmp_path / "birds.csv")

    assert labels.groupby("lang")["label"].agg(list).to_dict() == {
        "en": ["Crane", "crane", "heron", "wren"],
        "fr": ["h\u00e9ron", "grue", "roitelet", "grue cendr\u00e9e"],
        "fa": ["خط\u200cکش", "خط", "خط کش", "گربه"],
        "si": ["පක්\u200dෂය", "බළලා", "බල්ලා", "අලියා"],
    }
    assert labels.query("ambiguous")["label"].tolist() == ["Crane", "crane"]


def test_labels_of_another_program_are_tidied_and_those_of_a_run_stay_as_they_are(
    tmp_path,
):
    row = {
        "lang": "de",
        "wnid": "a",
        "label": "Auf\u200clage",
        "alternatives": [],
        "source": "x",
        "licence": "x",
    }
    table = pd.DataFrame([row | {"confirmed_by": [], "ambiguous": False}])
    tables.write(table, tmp_path / "run.parquet", "labels")
    tables.read(tmp_path / "run.parquet", "labels").to_parquet(tmp_path / "own.parquet")
    assert datasets.read_labels(tmp_path / "run.parquet")["label"].tolist() == [
        "Auf\u200clage"
    ]
    assert datasets.read_labels(tmp_path / "own.parquet")["label"].tolist() == [
        "Auflage"
    ]


def own_birds(folder, monkeypatch, names, rows):
    """Lay pictures in folders of these names, and labels, and make them the data set
    "birds".
    """
    for name in names:
        (folder / "birds" / name).mkdir(parents=True)
        Image.new("RGB", (4, 4), "red").save(folder / "birds" / name / "a.png")
    (folder / "birds.csv").write_text("lang,wnid,label\n" + rows, encoding="utf-8")
    monkeypatch.setenv(datasets.CUSTOM, json.dumps({"birds": BIRDS}))
    return folder / "birds", datasets.read_labels(folder / "birds.csv")


@pytest.mark.parametrize(("on_disk", "in_table"), [("NFD", "NFC"), ("NFC", "NFD")])
@pytest.mark.parametrize("written", ["csv", "parquet"])
def test_a_folder_and_a_table_meet_whichever_form_of_unicode_each_has(
    tmp_path, monkeypatch, on_disk, in_table, written
):
    stored, told = (
        unicodedata.normalize(form, "pájaro") for form in (on_disk, in_table)
    )
    home, labels = own_birds(tmp_path, monkeypatch, [stored], f"es,{told},pájaro\n")
    if written == "parquet":
        labels.assign(wnid=told).to_parquet(tmp_path / "birds.parquet")
        labels = datasets.read_labels(tmp_path / "birds.parquet")
    images = datasets.load("birds", home, labels["wnid"].unique())
    assert (
        images["wnid"].tolist()
        == labels["wnid"].tolist()
        == [unicodedata.normalize("NFC", "pájaro")]
    )
    (tmp_path / "images.csv").write_text(
        f"path,wnid,number\nbirds/{told}/a.png,{told},0\n", encoding="utf-8"
    )
    images = datasets.load("birds", tmp_path / "images.csv", labels["wnid"].unique())
    assert images["path"].tolist() == [str(home / stored / "a.png")]


def test_a_class_folder_without_any_label_is_mentioned(tmp_path, monkeypatch, capsys):
    home, labels = own_birds(
        tmp_path,
        monkeypatch,
        ["wren", "heron", "crow"],
        "en,wren,wren\nen,heron,heron\n",
    )
    assert datasets.load("birds", home, labels["wnid"].unique())["wnid"].tolist() == [
        "heron",
        "wren",
    ]
    said = capsys.readouterr().out
    assert (
        "1 of 3 classes with pictures have no label in any language here, and are left"
        " out: crow." in said
    )
    datasets.load("birds", home, ["wren", "heron", "crow"])
    assert capsys.readouterr().out == ""


def test_linked_class_folders_are_read_and_one_that_links_upwards_is_answered(
    tmp_path, monkeypatch
):
    home, _ = own_birds(tmp_path, monkeypatch, ["wren"], "en,wren,wren\n")
    (home / "heron").symlink_to(home / "wren")
    assert datasets.load("birds", home)["wnid"].tolist() == ["heron", "wren"]
    (home / "loop").symlink_to(home)
    with pytest.raises(
        InputError,
        match=r"Among the images of 'birds' is .*loop/heron, which is none of",
    ):
        datasets.load("birds", home)


def test_pictures_of_ones_own_are_turned_upright_and_published_ones_left_as_they_are(
    monkeypatch,
):
    assert not any(one.upright for one in datasets.DATASETS)
    assert datasets.custom("birds", BIRDS).upright
    assert not datasets.custom("birds", BIRDS | {"upright": False}).upright


def test_patterns_of_files_of_captions_find_them_through_links_and_no_others(tmp_path):
    for name in ("store/a.json", "store/deep/b.jsonl", "store/c.png", "store/.d.json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    (tmp_path / "given").mkdir()
    (tmp_path / "given" / "link").symlink_to(tmp_path / "store")
    (tmp_path / "store" / "up").symlink_to(tmp_path / "given")
    found = datasets.annotation_files(str(tmp_path / "given"), ("*.json", "*.jsonl"))
    assert found == [
        str(tmp_path / "given" / "link" / name) for name in ("a.json", "deep/b.jsonl")
    ]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le"])
def test_a_class_list_is_read_in_the_encodings_that_editors_and_powershell_write(
    tmp_path, encoding
):
    mark = codecs.BOM_UTF16_LE if encoding == "utf-16-le" else b""
    text = f"{TENCH} tench\r\n{SHARK} great white shark\r\n"
    (tmp_path / "classes.txt").write_bytes(mark + text.encode(encoding))
    assert synsets.class_list(str(tmp_path / "classes.txt"))["wnid"].tolist() == [
        TENCH,
        SHARK,
    ]
    (tmp_path / "classes.csv").write_bytes(
        mark + f"wnid\r\n{TENCH}\r\n{SHARK}\r\n".encode(encoding)
    )
    assert synsets.class_list(str(tmp_path / "classes.csv"))["wnid"].tolist() == [
        TENCH,
        SHARK,
    ]
