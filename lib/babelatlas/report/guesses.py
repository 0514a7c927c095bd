"""Guess first: what a language's page asks its readers, about the best real model and about drawings of the miniature.

Everything is in the page and in one script that all pages share; nothing that a reader answers leaves the page.
"""

import base64
import html
import io
import json
import os
from collections.abc import Sequence

import numpy as np
import pandas as pd
from PIL import Image

from babelatlas.base import languages, tables
from babelatlas.datasets import registry as datasets
from babelatlas.evaluation import zeroshot

# Items of a language, and the words of each of which one is correct.
ITEMS, WORDS = 10, 4
SIDE = 96  # pixels of a drawing
SCRIPT = "guess-images.js"


def drawings(table: str | os.PathLike) -> dict[str, list[str]]:
    """Return the files of the miniature's pictograms, wnid -> paths in the order of the table of images."""
    listed = datasets.load("pictograms", table)
    return listed.groupby("wnid")["path"].agg(list).to_dict()


def items(
    stored: tuple[np.ndarray, np.ndarray, dict],
    labels: pd.DataFrame,
    lang: str,
    n: int = ITEMS,
    words: int = WORDS,
    seed: int = 0,
) -> list[dict]:
    """Return up to `n` drawings with `words` words each, of which one names it, and which one a model chooses.

    `stored`: what stage 20 stored of a model on the pictograms, as `zeroshot.read_vectors` gives it; `labels`: their
    `labels` table. Each item has `wnid` and `number` (which drawing of the class), `words`, and the places among them
    of the `correct` one and of the `model`'s. Classes are chosen at random by `seed`; a language with fewer than
    `words` words has no items.
    """
    images, wnids, classes = stored
    if lang not in classes:
        return []
    named, texts = classes[lang]
    label = labels[labels["lang"] == lang].set_index("wnid")["label"]
    known = [place for place, wnid in enumerate(named) if wnid in label.index]
    distinct = {label[named[place]]: place for place in known}  # two classes may share a word
    known = sorted(distinct.values())
    if len(known) < words:
        return []
    generator, found = np.random.default_rng(seed), []
    for place in generator.permutation(known)[:n]:
        others = generator.choice([other for other in known if other != place], words - 1, replace=False)
        offered = generator.permutation([place, *others])
        drawn = np.flatnonzero(wnids == named[place])
        number = int(generator.integers(len(drawn)))
        scores = texts[offered] @ images[drawn[number]]
        found.append(
            {
                "wnid": named[place],
                "number": number,
                "words": [str(label[named[one]]) for one in offered],
                "correct": int(np.flatnonzero(offered == place)[0]),
                "model": int(np.argmax(scores)),
            }
        )
    return found


def script(asked: Sequence[list[dict]], files: dict[str, list[str]]) -> str:
    """Return the script that holds the drawings of all items, once each: "wnid/number" -> a data address."""
    keys = sorted({(item["wnid"], item["number"]) for each in asked for item in each})
    held = {}
    for wnid, number in keys:
        buffer = io.BytesIO()
        with Image.open(files[wnid][number]) as image:
            image.convert("RGB").resize((SIDE, SIDE)).save(buffer, format="webp", quality=70)
        held[f"{wnid}/{number}"] = "data:image/webp;base64," + base64.b64encode(buffer.getvalue()).decode()
    return f"window.ATLAS_DRAWINGS = {json.dumps(held, separators=(',', ':'))};\n"


def block(lang: str, best: pd.DataFrame, asked: list[dict], model: str = "") -> str:
    """Return the HTML that asks readers of a language's page to guess; "" where there is nothing to guess.

    `best`: of `real_results.best_by_language`; `asked`: `items` of the language, as the miniature's `model` answers
    them. Without JavaScript nothing is shown.
    """
    told = {"lang": lang, "name": languages.name(lang), "items": asked, "model": model}
    told["drawings"] = f"_files/{SCRIPT}"
    first = best[best["lang"] == lang].head(1)
    for row in first.to_dict("records"):
        told["best"] = {"value": round(100 * row["value"], 1), "title": row["title"], "data": row["data set"]}
    if not asked and first.empty:
        return ""
    data = html.escape(json.dumps(told, ensure_ascii=False, separators=(",", ":")), quote=True)
    return f'<div class="atlas-guess" data-guess="{data}" hidden></div>'


def asked_of(
    results: str, models: Sequence[str], labels: pd.DataFrame | None, langs: Sequence[str]
) -> tuple[dict[str, list[dict]], str]:
    """Return the items of each language and the model that answers them, by what a run stored.

    `results`: the folder of the run; `labels`: the pictograms' `labels` table. The model is the one of
    `models` with the most languages, of equal ones the first. Without a miniature nothing is asked.
    """
    files = {model: f"{results}/embeddings/{model}/pictograms.npz" for model in models}
    files = {model: path for model, path in files.items() if tables.locate(path).is_file()}
    if labels is None or not files:
        return {}, ""
    model = max(files, key=lambda one: len(zeroshot.read_prompts(files[one])))
    stored = zeroshot.read_vectors(files[model], model=model, dataset="pictograms")
    return {lang: items(stored, labels, lang) for lang in langs}, model
