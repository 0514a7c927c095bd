"""The released captions of Crossmodal-3600 (Thapliyal et al. 2022): a line of JSON for each image, in 36 languages.

Besides the captions, a line has the language for whose region the image was selected, and each caption cut into tokens.
"""

import json
import os
import zipfile
from pathlib import Path

import pandas as pd

from babelatlas.base import download, languages, own_tables, tables
from babelatlas.base.errors import InputError

EXPECTED = '{"image/key": …, "image/locale": …, language: {"caption": […], "caption/tokenized": […]}, …} on each line'
TOKENIZED = "tokenized"


def read(annotations: str | os.PathLike = "") -> tuple[Path, list[dict]]:
    """Return the path of the captions and the object on each of their lines.

    `annotations`: captions.jsonl, captions.zip with it, or their folder; "" fetches the zip. Raises InputError where
    the file is absent, damaged or of another layout, with the line.
    """
    path = tables.locate(annotations) if str(annotations) else download.file("xm3600-captions")
    if path.is_dir():
        path = next((path / file for file in ("captions.jsonl", "captions.zip") if (path / file).is_file()), path)
    if not path.is_file():
        what = "hold neither captions.jsonl nor captions.zip" if path.is_dir() else "do not exist"
        raise InputError(f"The captions {path} {what}: give captions.jsonl, captions.zip with it, or their folder.")
    try:
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as archive:
                text = archive.read("captions.jsonl").decode("utf-8")
        else:
            text = path.read_text(encoding="utf-8-sig")
    except (*download.DAMAGE, OSError, KeyError, ValueError) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0].rstrip(".")
        raise InputError(
            f"The captions {path} cannot be read ({reason}): expected captions.jsonl, or captions.zip with it."
        ) from error
    rows = []
    for number, line in enumerate(filter(str.strip, text.split("\n")), start=1):
        try:
            row = json.loads(line)
            _ = row["image/key"], [value["caption"] for value in row.values() if isinstance(value, dict)]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(
                f"Line {number} of {path} has another layout than expected, {EXPECTED}, or is cut off: fetch it again."
            ) from error
        rows.append(row)
    if not rows:
        raise InputError(f"The captions {path} hold no line: fetch them again.")
    return path, rows


def tokenized(annotations: str | os.PathLike = "") -> pd.DataFrame:
    """Return the captions as released tokens separated by spaces: schema `captions`, set "tokenized".

    Image and number are those of the captions themselves. Raises what `read` raises, and InputError where a caption has
    no tokens.
    """
    path, rows = read(annotations)
    found = []
    for row in rows:
        for lang, value in row.items():
            if not isinstance(value, dict):
                continue
            tokens = value.get("caption/tokenized", [])
            if len(tokens) != len(value["caption"]):
                raise InputError(
                    f"{path} has {len(value['caption'])} captions of {row['image/key']} in {lang!r} and tokens of "
                    f"{len(tokens)}: expected the tokens of each; give the file as it was released."
                )
            code = languages.canonical(lang)
            found += [(TOKENIZED, code, f"{row['image/key']}.jpg", place, one) for place, one in enumerate(tokens)]
    return pd.DataFrame(found, columns=["captions", "lang", "image", "number", "caption"])


def locales(annotations: str | os.PathLike = "") -> pd.DataFrame:
    """Return the language for whose region each image was selected: image, lang. Raises what `read` raises."""
    path, rows = read(annotations)
    bare = next((row["image/key"] for row in rows if not row.get("image/locale")), None)
    if bare is not None:
        raise InputError(f"{path} has no image/locale for {bare}: give the file as it was released.")
    with own_tables.named(path):
        found = [(f"{row['image/key']}.jpg", languages.canonical(row["image/locale"])) for row in rows]
    return pd.DataFrame(found, columns=["image", "lang"])
