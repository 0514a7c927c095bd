"""MVL-SIB (Schmidt et al. 2025): sentences of SIB-200 in 205 languages, on seven topics, and ten images of each topic.

As published: data/sib200/<FLORES code>/{train,dev,test}.tsv with the columns index_id, category and text, and
data/images/sib200/<topic>_<number>.jpg. A sentence has the same index_id and category in all languages.
"""

from pathlib import Path

import pandas as pd

from babelatlas.base import languages
from babelatlas.base.errors import InputError

TOPICS = ("entertainment", "geography", "health", "politics", "science", "sports", "travel")
SPLITS = ("train", "dev", "test")


def read(home: Path, left_out: tuple[str, ...] = (), wanted: tuple[str, ...] = ()) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the images (path, absolute, and topic) and the sentences (lang, sentence, topic, text) of a release.

    `home`: the folder of the repository, or its folder data; `left_out`: folders of languages that are passed over;
    `wanted`: languages to keep, none for all.
    """
    home = home / "data" if (home / "data").is_dir() else home
    pictures, texts = home / "images" / "sib200", home / "sib200"
    files = sorted(pictures.glob("*_*.jp*g"))
    images = pd.DataFrame({"path": map(str, files), "topic": [file.name.partition("_")[0] for file in files]})
    if set(images["topic"]) != set(TOPICS):
        what = f"should have images of {', '.join(TOPICS)}: give the folder of MVL-SIB's repository"
        raise InputError(f"The folder {pictures} {what}.")
    folders = [path for path in sorted(texts.iterdir()) if path.is_dir() and path.name not in left_out]
    codes = {languages.canonical(path.name): path for path in folders}
    langs = languages.among(wanted, codes, f"MVL-SIB in {texts}") or list(codes)
    parts = [_language(codes[code]).assign(lang=code) for code in langs]
    for part, code in zip(parts, langs, strict=True):
        if not part[["sentence", "topic"]].equals(parts[0][["sentence", "topic"]]):
            raise InputError(f"{codes[code]} has other sentences or topics than {codes[langs[0]]}: fetch both again.")
    return images, pd.concat(parts, ignore_index=True)[["lang", "sentence", "topic", "text"]]


def _language(folder: Path) -> pd.DataFrame:
    """Return the sentences of one language in the order of their numbers: sentence, topic, text."""
    options = {"sep": "\t", "dtype": str, "keep_default_na": False, "quoting": 3}
    table = pd.concat([pd.read_csv(folder / f"{split}.tsv", **options) for split in SPLITS], ignore_index=True)
    table = table.rename(columns={"index_id": "sentence"})
    table["topic"] = table["category"].str.partition("/")[0]  # science/technology
    order = table["sentence"].astype(int).argsort(kind="stable")
    return table.iloc[order].reset_index(drop=True)[["sentence", "topic", "text"]]
