"""The stamps of Tux Paint: pictures of things, described by volunteers in some 77
locales.

As published: NAME.png or NAME.svg next to NAME.txt in a tree of folders; of a text file
the first line is English, each other one `LOCALE.utf8=text`. A picture without a text
(a mirror image, NAME_mirror) is none of the data set. Letters, coins and other signs
are in `symbols`; all else are things. `data/stamp_senses.csv`, made by hand, says of
each thing whether it is a drawing and which noun synset of WordNet 3.0 it shows, and
whether that is sure.

Most pictures are transparent where nothing is. Encoders know no transparency, so each
is laid on white, once, into the study's cache.
"""

import hashlib
import io
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

import pandas as pd
from PIL import Image

from babelatlas.base import download, folders, languages, tables
from babelatlas.base.errors import InputError
from babelatlas.base.paths import beside, rows
from babelatlas.base.pictures import plain
from babelatlas.lexicon import labels

PACKAGE = "tuxpaint-stamps-default"
SIGNS = "symbols"
LINE = re.compile(r"([A-Za-z_@]+)\.utf8=(.*)")
# Locales that are no code of the study: varieties of a language, whose texts follow
# those of the language itself. "son" is Songhay; its texts are in Koyraboro Senni, the
# written standard of Gao.
LOCALES = {
    "ca@valencia": "ca",
    "en_AU": "en",
    "en_GB": "en",
    "pt_BR": "pt",
    "son": "ses",
    "sr@latin": "sr",
}
# the longer side of a picture is at most so many pixels, as most of the larger stamps
# have it
SIZE = 400


def read_pictures_and_texts(home: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the pictures of a folder of stamps, and their texts.

    Pictures: stamp (its path below `home` without ending, the key), path (of the file),
    thing, drawing, wnid ("" where no synset fits) and sure. Texts: stamp, locale, lang,
    text, untranslated (it is not English and equals the English text); no empty ones.
    Raises InputError where there are none, and for an unknown locale.
    """
    senses = {row["stamp"]: row for row in rows("stamp_senses.csv")}
    # Sorted, so that of a stamp that is published as both, PNG comes before SVG.
    files = [
        path for path in folders.files_below(home) if path.suffix in (".png", ".svg")
    ]
    pictures, texts = {}, []
    for path in files:
        stamp = path.relative_to(home).with_suffix("").as_posix()
        written = path.with_suffix(".txt")
        if stamp in pictures or not written.is_file():
            continue
        about = senses.get(stamp, {})
        drawing = path.suffix == ".svg" or "/cartoon/" in stamp
        if about:
            drawing = about["drawing"] == "true"
        thing = not stamp.startswith(f"{SIGNS}/")
        pictures[stamp] = (
            stamp,
            str(path),
            thing,
            drawing,
            about.get("wnid", ""),
            about.get("sure") == "true",
        )
        texts += [(stamp, *row) for row in _texts(written)]
    if not pictures:
        raise InputError(
            f"The folder {home} holds no stamp with a text: give the folder `stamps` of"
            " Tux Paint."
        )
    table = pd.DataFrame(texts, columns=["stamp", "locale", "text"])
    codes = {
        locale: languages.canonical(LOCALES.get(locale, locale))
        for locale in table["locale"].unique()
    }
    table.insert(2, "lang", table["locale"].map(codes))
    english = table[table["locale"] == "en"].set_index("stamp")["text"]
    table["untranslated"] = (table["lang"] != "en") & (
        table["text"] == table["stamp"].map(english)
    )
    columns = ["stamp", "path", "thing", "drawing", "wnid", "sure"]
    return pd.DataFrame(list(pictures.values()), columns=columns), table


def _texts(file: Path) -> list[tuple[str, str]]:
    """Return the locales and texts of a file, English first; lines without a text are
    passed over.
    """
    first, *others = file.read_text("utf-8-sig").split("\n")
    found = [match.groups() for match in map(LINE.match, others) if match]
    return [
        ("en", first.strip()),
        *((locale, text.strip()) for locale, text in found if text.strip()),
    ]


def captions(home: Path) -> tuple[pd.DataFrame, list[str], dict[str, str]]:
    """Return the captions of the things (schema `captions`, set "human"), the names of
    all, and their paths on white.

    Texts that are the English ones are left out; `attrs["untranslated"]` of the table
    counts them by language. The texts of a variety (Portuguese of Brazil) that are
    others than the language's own have the next numbers.
    """
    pictures, texts = read_pictures_and_texts(home)
    things = pictures[pictures["thing"]]
    texts = texts[texts["stamp"].isin(things["stamp"])]
    translated = texts[~texts["untranslated"]]
    translated = translated.drop_duplicates(["stamp", "lang", "text"])
    # By locale, so that "pt" comes before "pt_BR".
    table = translated.sort_values(["lang", "stamp", "locale"], ignore_index=True)
    table["number"] = table.groupby(["lang", "stamp"]).cumcount()
    table = table.rename(columns={"stamp": "image", "text": "caption"})
    table = table.assign(captions="human")
    table = table[["captions", "lang", "image", "number", "caption"]]
    untranslated = texts.loc[texts["untranslated"], "lang"]
    table.attrs["untranslated"] = untranslated.value_counts().to_dict()
    paths = dict(zip(things["stamp"], on_white(things["path"]), strict=True))
    return table, things["stamp"].tolist(), paths


def nouns(home: Path) -> pd.DataFrame:
    """Return the pictures whose synset is sure: path (absolute, on white), wnid,
    number, stamp and drawing.
    """
    pictures, _ = read_pictures_and_texts(home)
    pictures = pictures.query("sure").sort_values(["wnid", "stamp"], ignore_index=True)
    table = pictures.assign(
        path=on_white(pictures["path"]), number=pictures.groupby("wnid").cumcount()
    )
    return table[["path", "wnid", "number", "stamp", "drawing"]]


def names(home: Path) -> pd.DataFrame:
    """Return what people call the nouns, schema `labels`: the text of the first picture
    of each synset that is sure.
    """
    pictures, texts = read_pictures_and_texts(home)
    wnids = pictures.query("sure").set_index("stamp")["wnid"]
    named = texts[~texts["untranslated"] & texts["stamp"].isin(wnids.index)]
    named = named.sort_values(["lang", "stamp", "locale"])
    named = named.assign(
        wnid=named["stamp"].map(wnids), label=named["text"].str.rstrip(".。．।։ ")
    )
    named = named[named["label"] != ""].drop_duplicates(["lang", "wnid"])
    table = named[["lang", "wnid", "label"]].assign(
        source="tuxpaint", licence="GPL-2", ambiguous=labels.shared_labels(named)
    )
    table["alternatives"] = [[] for _ in range(len(table))]
    table["confirmed_by"] = [[] for _ in range(len(table))]
    table = table.sort_values(["lang", "wnid"], ignore_index=True)
    return tables.check(table, "labels")


def on_white(files: Iterable[str]) -> list[str]:
    """Return for each picture a PNG file in the cache that shows it on white;
    InputError for one that is unreadable.

    The file is called by the SHA-256 of the picture, and made where it is not there.
    """
    folder = download.cache(f"stamps-on-white-{SIZE}")
    paths = []
    for file in map(Path, files):
        content = file.read_bytes()
        path = folder / f"{hashlib.sha256(content).hexdigest()}.png"
        paths.append(str(path))
        if path.is_file():
            continue
        try:
            white = _drawn_on_white(content, is_svg=file.suffix == ".svg")
        # Pillow's and resvg's own errors; one for no UTF-8 is a ValueError
        except (OSError, SyntaxError, ValueError) as error:
            raise InputError(
                f"The stamp {file} cannot be read ({error}): fetch the stamps again."
            ) from error
        white.thumbnail((SIZE, SIZE))
        with beside(path) as part:
            white.save(part, "PNG")
    return paths


def _drawn_on_white(content: bytes, is_svg: bool) -> Image.Image:
    """Return the picture that a file holds, on white."""
    if is_svg:
        import resvg_py

        # Without a resolution, sizes in points or millimetres are 0.
        drawn = resvg_py.svg_to_bytes(
            svg_string=content.decode("utf-8-sig"), width=SIZE, dpi=96.0
        )
        content = bytes(drawn)
    # Its checksums are not looked at where it is decoded.
    Image.open(io.BytesIO(content)).verify()
    return plain(Image.open(io.BytesIO(content)))


def fetch(places: Iterable[str]) -> str:
    """Return the folder of the stamps: the first of `places` that is there
    (`download.at_hand`), else from Debian.

    Debian's package is fetched by apt-get, which checks it, and unpacked into the
    cache, not installed.
    """
    if found := download.at_hand(places):
        return found
    home = download.cache("tuxpaint-stamps")
    by_hand = (
        "get Tux Paint's stamps from https://tuxpaint.org/download/ and put their"
        f" folder `stamps` at {home}"
    )
    if not (shutil.which("apt-get") and shutil.which("dpkg-deb")):
        what = (
            "The stamps cannot be fetched, as there is no apt here and no SHA-256 of"
            " upstream's files is known"
        )
        raise InputError(f"{what}: {by_hand}.")
    home.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home.parent) as work:
        for command in (
            ["apt-get", "download", PACKAGE],
            ["dpkg-deb", "-x", f"{PACKAGE}.deb", "."],
        ):
            if command[0] == "dpkg-deb":
                next(Path(work).glob("*.deb")).rename(Path(work, f"{PACKAGE}.deb"))
            done = subprocess.run(
                command, cwd=work, capture_output=True, text=True, check=False
            )
            if done.returncode:
                reason = (
                    " ".join(done.stderr.split())[:300] or f"status {done.returncode}"
                )
                raise InputError(
                    f"{command[0]} cannot get {PACKAGE} ({reason}): run `apt-get"
                    f" update`, or {by_hand}."
                )
        Path(work, "usr/share/tuxpaint/stamps").rename(home)
    return str(home)
