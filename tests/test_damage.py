"""Each kind of stored file with each damage: noticed and named in one sentence, or the
same content as before.

Not guarded, since nothing says what they held: a user's own files, among them
photographs, notebooks and JSON that can still be read, and a .tar archive without
compression.
"""

import io
import random
import shutil
import tarfile
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from babelatlas.base import checksums, download, tables
from babelatlas.base.errors import InputError
from babelatlas.datasets import registry as datasets
from babelatlas.evaluation import embedding, zeroshot
from toy_encoder import Toy

FLIPS = 40
RNG = np.random.default_rng(0)
EYE = RNG.normal(size=(4, 3)).astype(np.float32)
IMAGES = pd.DataFrame(
    {"path": [f"{n}.png" for n in range(50)], "wnid": "n1", "number": range(50)}
)


def plain(content):
    """Return content in a form that == compares."""
    if isinstance(content, np.ndarray):
        return content.tolist()
    if isinstance(content, pd.DataFrame):
        return plain(content.to_dict("list"))
    if isinstance(content, dict):
        return {key: plain(value) for key, value in content.items()}
    return (
        [plain(value) for value in content]
        if isinstance(content, list | tuple)
        else content
    )


def below(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


# --- Each kind: what writes it into a folder and returns the files to damage, and what
# reads it from there ------------


def write_table(folder):
    return [tables.write(IMAGES, folder / "a.parquet", "images")]


def write_vectors(folder):
    return [
        zeroshot.write_vectors(
            folder / "v.npz", EYE, ["n1", "n2"] * 2, {"de": (["n1", "n2"], EYE[:2])}
        )
    ]


def write_shard(folder):
    for number, colour in enumerate(("red", "blue")):
        Image.new("RGB", (3, 3), colour).save(folder / f"{number}.png")
    read_shard(folder)
    return list(folder.rglob("*.npz"))


def read_shard(folder):
    paths = [str(folder / f"{number}.png") for number in range(2)]
    return embedding.embed_images(Toy(), paths, folder / "cache")


def write_listed(folder):
    for name in ("model.safetensors", "tokenizer.json"):
        (folder / name).write_bytes(RNG.bytes(90))
    checksums.write_list(folder, below(folder))
    return [folder / name for name in below(folder)]


def read_listed(folder):
    if damage := checksums.check_list(folder):
        raise InputError(damage)
    return {
        name: content for name, content in below(folder).items() if name != "SHA256SUMS"
    }


PICTURES = {
    f"n{k}/{j}.jpg": RNG.integers(0, 64, 300).astype(np.uint8).tobytes()
    for k in range(2)
    for j in range(2)
}


def write_zip(folder):
    with zipfile.ZipFile(folder / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in PICTURES.items():
            archive.writestr(name, content)
    return [folder / "a.zip"]


def write_tar(folder):
    with tarfile.open(folder / "a.tar.gz", "w:gz") as archive:
        for name, content in PICTURES.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return [folder / "a.tar.gz"]


def write_picture(folder):
    Image.fromarray(RNG.integers(0, 4, (12, 12, 3)).astype(np.uint8) * 60).save(
        folder / "a.png"
    )
    return [folder / "a.png"]


KINDS = {
    "a table": (
        write_table,
        lambda folder: tables.read(folder / "a.parquet", "images"),
    ),
    "vectors": (write_vectors, lambda folder: zeroshot.read_vectors(folder / "v.npz")),
    "a shard of embeddings": (write_shard, read_shard),
    "a checkpoint": (write_listed, read_listed),
    "a zip archive": (
        write_zip,
        lambda folder: below(download.unpack(folder / "a.zip")),
    ),
    "a compressed tar archive": (
        write_tar,
        lambda folder: below(download.unpack(folder / "a.tar.gz")),
    ),
    "a picture that a run drew": (
        write_picture,
        lambda folder: np.asarray(datasets.open_image(folder / "a.png")),
    ),
}


def damaged(content):
    """Yield copies of some bytes with one damage each: bits flipped, truncated, half of
    it zero, empty.
    """
    draw, half = random.Random(len(content)), len(content) // 2
    for place in [draw.randrange(8 * len(content)) for _ in range(FLIPS)]:
        changed = bytearray(content)
        changed[place // 8] ^= 1 << place % 8
        yield bytes(changed)
    yield from (content[: len(content) // 3], content[:half], content[:-1], b"")
    yield from (
        content[:half] + bytes(len(content) - half),
        bytes(half) + content[half:],
    )


@pytest.mark.parametrize("kind", KINDS)
def test_damage_is_noticed_and_named_or_changes_nothing(kind, tmp_path, capsys):
    write, read = KINDS[kind]
    whole, noticed, number = tmp_path / "whole", 0, 0
    whole.mkdir()
    files = [path.relative_to(whole) for path in write(whole)]
    shutil.copytree(
        whole, tmp_path / "good"
    )  # reading may leave files, such as an unpacked archive
    good = plain(read(tmp_path / "good"))
    for file in files:
        for content in damaged((whole / file).read_bytes()):
            number += 1
            copy = tmp_path / str(number)
            shutil.copytree(whole, copy)
            (copy / file).write_bytes(content)
            said = ""
            try:
                assert plain(read(copy)) == good, f"{file} is read with other content"
            except InputError as error:
                said = str(error)
            noticed += (
                bool(said) or file.name in capsys.readouterr().out
            )  # of what is made again
            assert "\n" not in said
            assert not said or file.name in said or "SHA256SUMS" in said
            shutil.rmtree(copy)
    assert noticed >= number / 2, "hardly any damage is noticed"


# --- Tables that other programs or versions wrote
# ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes",
    [
        {"number": ["one"] * 50},
        {"number": [0.5] * 50},
        {"number": [np.nan] * 50},
        {"wnid": [None] * 50},
    ],
    ids=["text", "half", "no number", "no text"],
)
def test_a_table_of_other_types_or_with_gaps_is_told_with_its_file(tmp_path, changes):
    pq.write_table(
        pa.Table.from_pandas(IMAGES.assign(**changes)), tmp_path / "mine.parquet"
    )
    with pytest.raises(
        InputError,
        match=r"mine\.parquet cannot be read as table 'images'.*put a whole copy",
    ):
        tables.read(tmp_path / "mine.parquet", "images")


def test_other_widths_of_numbers_and_ways_to_store_texts_are_read(tmp_path):
    columns = {
        "path": pa.array(IMAGES["path"], pa.large_string()),
        "wnid": pa.array(IMAGES["wnid"]).dictionary_encode(),
    }
    pq.write_table(
        pa.table(columns | {"number": pa.array(IMAGES["number"], pa.float32())}),
        tmp_path / "a.parquet",
    )
    found = tables.read(tmp_path / "a.parquet", "images")
    pd.testing.assert_frame_equal(found, tables.typed(IMAGES, "images"))
