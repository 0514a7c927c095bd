"""The row of photographs on the title page: what a small model calls each of them in
several languages, and in the reader's own.

The pictures come with packages (`datasets.example_pictures`) and are shown as the square
that the model is given. The table is the run's own where it has classified them, else,
and in all other languages, the one that ships.
"""

import base64
import html
import io
import json
import os
from collections.abc import Sequence

import pandas as pd
from IPython.display import HTML
from PIL import Image

from babelatlas.analysis import real_run
from babelatlas.base import languages, pictures, tables
from babelatlas.datasets import example_pictures
from babelatlas.lexicon import labels as label_sets
from babelatlas.report import formatting

SIDE = 240  # pixels of a picture on the page
QUALITY = 70  # of WebP
N_TOLD = 3  # languages in the sentence on one picture
# State of a cell -> its mark, and what a reader hears or sees on pointing at it.
MARKS = {
    "correct": ("✓", "fits the picture"),
    "wrong": ("✗", "does not fit, though another label of the language does"),
    "unlabelled": ("–", "no label of the language fits"),
}


def classified(results: str | os.PathLike) -> pd.DataFrame:
    """Return the nearest label of each picture that ImageNet has a class for, in every
    language: one row for each language and picture.

    Columns: lang, picture, word, english (what the word means, by the class), state
    (one of MARKS) and n_classes (with a label in the language).
    """
    files = tables.of_run(results, "picture_labels/*.parquet")
    of_run = [tables.read(file, "picture_labels") for file in files]
    shipped = real_run.read("picture_labels", results)
    table = pd.concat([tables.empty("picture_labels"), *of_run, shipped])
    # Of a language that both have, the run's own.
    table = table.drop_duplicates(["lang", "picture", "rank"])
    return nearest(table)


def nearest(table: pd.DataFrame) -> pd.DataFrame:
    """Return what `classified` does, of a table of schema `picture_labels`."""
    listed = example_pictures.listed()
    with_class = listed.loc[listed["wnids"].str.len() > 0, "picture"]
    first = table[(table["rank"] == 1) & table["picture"].isin(with_class)]

    state = pd.Series("wrong", first.index)
    state = state.mask(~first["labelled"].astype(bool), "unlabelled")
    state = state.mask(first["correct"].astype(bool), "correct")
    english = label_sets.clip_names().set_index("wnid")["lemma"]
    rows = pd.DataFrame(
        {
            "lang": first["lang"],
            "picture": first["picture"],
            "word": first["label"],
            "english": first["wnid"].map(english),
            "state": state,
            "n_classes": first["n_classes"],
        }
    )
    order = dict(zip(with_class, range(len(with_class)), strict=True))
    rows = rows.sort_values("picture", key=lambda names: names.map(order))
    return rows.sort_values("lang", kind="stable").reset_index(drop=True)


def lead(rows: pd.DataFrame, langs: Sequence[str]) -> str:
    """Return the sentence above the row of pictures, as Markdown; "" where there is
    none.

    `rows`: as of `classified`. The first picture that is installed gives the example:
    its words in the first of `langs` and in others that call it something else.
    """
    installed = _installed(rows)
    langs = _with_rows(rows, langs)
    if installed.empty or not langs:
        return ""
    example, without_label = _example(rows, langs, installed.iloc[0])
    caution = ""
    if without_label:
        caution = f" In {' and '.join(without_label)} no label fits the picture."
    return (
        f"{example} So says {example_pictures.MODEL}, a weak model that runs on any"
        f" laptop; [better ones](11_leaderboard) exist.{caution}"
    )


def _about(rows: pd.DataFrame, langs: Sequence[str], names: Sequence[str]) -> str:
    """Return what the model is, what it chooses among, and how often this fits."""
    asked = rows[rows["lang"].isin(langs) & rows["picture"].isin(names)]
    n_correct = (asked["state"] == "correct").sum()
    n_unlabelled = (asked["state"] == "unlabelled").sum()
    n_classes = asked.groupby("lang")["n_classes"].first()
    most, fewest = n_classes.idxmax(), n_classes.idxmin()
    return (
        f"{example_pictures.MODEL} is an English image classifier and a multilingual"
        " text encoder, which this study joined. It chooses among the labels that open"
        f" dictionaries have for ImageNet’s classes: {n_classes[most]:,} in"
        f" {languages.name(most)}, {n_classes[fewest]:,} in {languages.name(fewest)}. Of"
        f" the {formatting.counted(len(asked), 'choice')} above, {n_correct} fit; for"
        f" {n_unlabelled} the language has no label that would."
    )


def _example(
    rows: pd.DataFrame, langs: Sequence[str], picture: pd.Series
) -> tuple[str, list[str]]:
    """Return the sentence on one picture, what it is called in different languages, and
    in which of these no label fits.
    """
    of_picture = rows[rows["picture"] == picture["picture"]].set_index("lang")
    different = of_picture.loc[langs].drop_duplicates("english").head(N_TOLD)
    parts = []
    for lang, row in different.iterrows():
        called = f"*{formatting.word(row['word'], lang)}*"
        meaning = f" “{row['english']}”" if lang != "en" else ""
        parts.append(f"{called}{meaning} in {languages.name(lang)}")
    thing = picture["shows"].split(" ", 1)[1]
    listed = " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))
    unlabelled = different.index[different["state"] == "unlabelled"]
    without_label = [languages.name(lang) for lang in unlabelled]
    return f"**The same {thing} is {listed}.**", without_label


def show(rows: pd.DataFrame, langs: Sequence[str]) -> HTML:
    """Return the pictures with the words of these languages as HTML, "" where no
    picture is installed; `_static/atlas-language.js` adds the reader's language.
    """
    installed = _installed(rows)
    langs = _with_rows(rows, langs)
    if installed.empty or not langs:
        return HTML("")
    names = installed["picture"].tolist()
    by_language = _by_language(rows, names)
    body = "\n".join(
        _row(lang, by_language[lang]) for lang in langs if lang in by_language
    )
    heads = "".join(
        f'<th scope="col"><img src="{_thumbnail(path)}" alt="{shows}"'
        f' width="{SIDE}" height="{SIDE}"><small>{shows}</small></th>'
        for path, shows in zip(installed["path"], installed["shows"], strict=True)
    )
    signs = "; ".join(f"{mark} {meaning}" for mark, meaning in MARKS.values())
    meanings = " ".join(
        f'data-{state}="{meaning}"' for state, (_, meaning) in MARKS.items()
    )
    return HTML(f"""<figure class="atlas-pictures">
<div class="atlas-frame" tabindex="0" role="region" aria-label="Photographs and words">
<table><thead><tr><td></td>{heads}</tr></thead>
<tbody>
{body}
</tbody></table></div>
<script type="application/json">{_as_json(by_language, langs)}</script>
<figcaption {meanings}>{signs}. {_about(rows, langs, names)}
<small>{_credits(installed)} {example_pictures.missing()}</small></figcaption>
</figure>""")


def _installed(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the pictures that are installed and have words."""
    available = example_pictures.available()
    return available[available["picture"].isin(rows["picture"])]


def _with_rows(rows: pd.DataFrame, langs: Sequence[str]) -> list[str]:
    """Return the languages that have words."""
    return [lang for lang in langs if (rows["lang"] == lang).any()]


def _by_language(rows: pd.DataFrame, names: Sequence[str]) -> dict[str, pd.DataFrame]:
    """Return the words for these pictures, in their order, of each language that has
    one for all of them.
    """
    of_pictures = rows[rows["picture"].isin(names)]
    return {
        lang: words.set_index("picture").loc[names]
        for lang, words in of_pictures.groupby("lang")
        if len(words) == len(names)
    }


def _row(lang: str, rows: pd.DataFrame) -> str:
    """Return a row of the table: the language, and its word for each picture."""
    cells = "".join(
        _cell(lang, word, english, state)
        for word, english, state in zip(
            rows["word"], rows["english"], rows["state"], strict=True
        )
    )
    n_labels = formatting.counted(int(rows["n_classes"].iloc[0]), "label")
    name = html.escape(languages.name(lang))
    return f'<tr><th scope="row">{name} <small>{n_labels}</small></th>{cells}</tr>'


def _cell(lang: str, word: str, english: str, state: str) -> str:
    mark, meaning = MARKS[state]
    meant = f"<small>{html.escape(english)}</small>" if lang != "en" else ""
    return (
        f'<td class="{state}"><bdi lang="{lang}">{html.escape(word)}</bdi> {meant}'
        f'<span role="img" aria-label="{meaning}" title="{meaning}">{mark}</span></td>'
    )


def _as_json(by_language: dict[str, pd.DataFrame], langs: Sequence[str]) -> str:
    """Return the words of all languages but `langs` as JSON that a page can hold: code
    -> name, own name, number of labels, and of each picture word, English meaning and state.
    """
    autonyms = languages.facts()["autonym"]
    found = {}
    for lang, rows in by_language.items():
        if lang in langs:
            continue
        own_name = autonyms.get(lang, "")
        own_name = own_name if isinstance(own_name, str) else ""
        found[lang] = {
            "name": languages.name(lang),
            "own_name": own_name,
            "labels": int(rows["n_classes"].iloc[0]),
            "cells": rows[["word", "english", "state"]].to_numpy().tolist(),
        }
    text = json.dumps(found, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")


def _credits(installed: pd.DataFrame) -> str:
    """Return who took the pictures, with source and licence, as HTML."""
    parts = []
    for row in installed.itertuples():
        licence = row.licence
        if row.licence_address:
            licence = f'<a href="{row.licence_address}">{row.licence}</a>'
        thing = html.escape(row.shows)
        author = html.escape(row.author)
        parts.append(f'<a href="{row.source}">{thing}</a>: {author}, {licence}')
    return (
        "Photographs, cut to the square that the model is given and made smaller: "
        + "; ".join(parts)
        + "."
    )


def _thumbnail(path: str) -> str:
    """Return the middle square of a picture as an address that holds it."""
    image = pictures.open_image(path)
    side = min(image.size)
    left, top = ((length - side) // 2 for length in image.size)
    square = image.crop((left, top, left + side, top + side))
    square = square.resize((SIDE, SIDE), Image.Resampling.LANCZOS)
    content = io.BytesIO()
    square.save(content, "WEBP", quality=QUALITY, method=6)
    data = base64.b64encode(content.getvalue()).decode()
    return f"data:image/webp;base64,{data}"
