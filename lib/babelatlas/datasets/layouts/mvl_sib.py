"""MVL-SIB (Schmidt et al. 2025): sentences of SIB-200 in 205 languages, on seven topics, and ten images of each topic.

As published: data/sib200/<FLORES code>/{train,dev,test}.tsv with the columns index_id, category and text, and
data/images/sib200/<topic>_<number>.jpg. A sentence has the same index_id and category in all languages.
"""

import re
from pathlib import Path

import pandas as pd

from babelatlas.base import languages, own_tables
from babelatlas.base.errors import InputError, near

TOPICS = ("entertainment", "geography", "health", "politics", "science", "sports", "travel")
SPLITS = ("train", "dev", "test")
COLUMNS = ["index_id", "category", "text"]


def read(home: Path, left_out: tuple[str, ...] = (), wanted: tuple[str, ...] = ()) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the images (path, absolute, and topic) and the sentences (lang, sentence, topic, text) of a release.

    `home`: the folder of the repository, or its folder data; `left_out`: folders of languages that are passed over;
    `wanted`: languages to keep, none for all. Raises InputError where a file is missing or has another layout, a topic
    lacks images or is unknown, a sentence is empty or twice there, and where a language has other sentences.
    """
    home = home / "data" if (home / "data").is_dir() else home
    pictures, texts = home / "images" / "sib200", home / "sib200"
    for folder in (pictures, texts):
        if not folder.is_dir():
            raise InputError(f"The folder {folder} of MVL-SIB does not exist: give the folder of its repository.")
    files = sorted(file for file in pictures.iterdir() if re.fullmatch(r"[a-z]+_\d+\.jpe?g", file.name))
    images = pd.DataFrame({"path": map(str, files), "topic": [file.name.partition("_")[0] for file in files]})
    lacking = [topic for topic in TOPICS if topic not in set(images["topic"])]
    if lacking or set(images["topic"]) - set(TOPICS):
        what = f"no image {lacking[0]}_0.jpg" if lacking else f"images of a topic that is none: {files[0].name}"
        raise InputError(f"The folder {pictures} has {what}: expected ten for each of {', '.join(TOPICS)}.")
    known = {path.name: path for path in sorted(texts.iterdir()) if path.is_dir() and path.name not in left_out}
    with own_tables.named(texts):
        codes = {languages.canonical(name): path for name, path in known.items()}
    asked = [languages.canonical(code) for code in wanted] or list(codes)
    if strange := [code for code in asked if code not in codes]:
        raise InputError(f"MVL-SIB has no language {strange[0]!r} in {texts}: {near(strange[0], codes)}")
    parts = [_language(codes[code]).assign(lang=code) for code in asked]
    for part, code in zip(parts, asked, strict=True):
        if not part[["sentence", "topic"]].equals(parts[0][["sentence", "topic"]]):
            raise InputError(
                f"The folder {codes[code]} has other sentences than {codes[asked[0]]}, or other topics: fetch both "
                "again."
            )
    return images, pd.concat(parts, ignore_index=True)[["lang", "sentence", "topic", "text"]]


def _language(folder: Path) -> pd.DataFrame:
    """Return the sentences of one language in the order of their numbers: sentence, topic, text."""
    found = []
    for split in SPLITS:
        file = folder / f"{split}.tsv"
        if not file.is_file():
            raise InputError(f"The file {file} of MVL-SIB does not exist: fetch {', '.join(SPLITS)} of each language.")
        try:
            table = pd.read_csv(file, sep="\t", dtype=str, keep_default_na=False, quoting=3)
        except ValueError as error:  # no UTF-8, no line, a line with more cells than the first
            raise InputError(f"The file {file} cannot be read ({str(error).strip()}): fetch it again.") from error
        if list(table) != COLUMNS:
            raise InputError(f"The file {file} has the columns {', '.join(table)}, expected {', '.join(COLUMNS)}.")
        found.append(table)
    table = pd.concat(found, ignore_index=True)
    table = table.assign(
        topic=table["category"].str.partition("/")[0], sentence=table["index_id"]
    )  # science/technology
    known = table["topic"].isin(TOPICS) & table["sentence"].str.fullmatch(r"\d+")
    strange = table[~known | (table["text"].str.strip() == "") | table["sentence"].duplicated()]
    if len(strange):
        row = strange.iloc[0]
        raise InputError(
            f"The sentence {row['sentence']} in {folder} is empty, twice there, of no known topic ({row['category']}), "
            "or has no number as its index_id: fetch the files again."
        )
    order = table["sentence"].astype(int).argsort(kind="stable")
    return table.iloc[order].reset_index(drop=True)[["sentence", "topic", "text"]]
