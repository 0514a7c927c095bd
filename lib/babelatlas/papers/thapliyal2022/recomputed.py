"""Thapliyal et al. (2022), Crossmodal-3600: its numbers computed again, by the cells of its claims."""

from collections.abc import Sequence

import pandas as pd

from babelatlas.papers import claims
from babelatlas.papers.definitions import cells
from babelatlas.papers.thapliyal2022.judgements import correlations
from babelatlas.papers.thapliyal2022.tables import (
    COLUMNS,
    DIFFERENCE,
    HALF,
    MODELS,
    REPLICATION,
    SOURCE,
    assignment,
    both_ways,
    captions,
    cider,
    comparisons,
    corrected,
    differences,
    ratings,
    released_captions,
    through_others,
)
from babelatlas.stats import rounding

IMAGES, PER_LANGUAGE = 3600, 100
RATED = 600
# Configurations, of the text models from config.json of google/mt5-base and google/mt5-large as their fine-tuned copies
# on huggingface.co quote them, of the image models from open_clip's model_configs (ViT-B-16, ViT-g-14). T5-Base's
# 220 million parameters are a sentence of its model card, T5-Large's 770 million are what papers that use it say.
TEXT_MODELS = {
    "mT5-base": {"width": 768, "hidden": 2048, "layers": 12, "heads": 12, "head_width": 64, "vocabulary": 250112},
    "mT5-large": {"width": 1024, "hidden": 2816, "layers": 24, "heads": 16, "head_width": 64, "vocabulary": 250112},
}
IMAGE_MODELS = {
    "ViT-B/16": {"width": 768, "hidden": 3072, "layers": 12, "patch": 16},
    "ViT-g/14": {"width": 1408, "hidden": 6144, "layers": 40, "patch": 14},
}


# --- Parameters -----------------------------------------------------------------------------------------------------


def text_parameters(
    width: int, hidden: int, layers: int, heads: int, head_width: int, vocabulary: int, embeddings: bool = True
) -> int:
    """Return the parameters of an encoder-decoder of mT5's kind: layers twice, gated hidden layers, no biases.

    `embeddings`: count the two matrices of vocabulary x width, for input and output, which are not shared in mT5.
    """
    inner = heads * head_width
    attention, feed = 4 * width * inner, 3 * width * hidden
    encoder = layers * (attention + feed + 2 * width)
    decoder = layers * (2 * attention + feed + 3 * width)
    places = 2 * 32 * heads + 2 * width  # relative positions in 32 buckets and the last norm, in encoder and decoder
    return encoder + decoder + places + (2 * vocabulary * width if embeddings else 0)


def image_parameters(width: int, hidden: int, layers: int, patch: int, size: int = 224, classes: int = 0) -> int:
    """Return the parameters of a Vision Transformer, with a layer for `classes` where there are any.

    >>> image_parameters(768, 3072, 12, 16, classes=1000)
    86567656
    """
    attention, feed = 4 * width * (width + 1), 2 * width * hidden + hidden + width
    tokens = (size // patch) ** 2 + 1
    start = 3 * patch**2 * width + width + tokens * width + width
    return layers * (attention + feed + 4 * width) + start + 2 * width + classes * (width + 1)


def images_left(columns: Sequence[str]) -> pd.DataFrame:
    """Return what the other two columns of replications leave of the images, for each of the `columns`."""
    table = captions().set_index("lang")
    found = {}
    for column in columns:
        rest = IMAGES - table[[other for other in REPLICATION if other != column]].sum(axis=1)
        found |= rest.add_suffix(f" | Replication {REPLICATION[column]}").to_dict()
    return cells(found)


def captions_counted() -> pd.DataFrame:
    """Return the captions of the languages whose images have one or two."""
    table = captions().query("more == 0").set_index("lang")
    return cells((table["one"] + 2 * table["two"]).add_suffix(" | Num. Cap."))


def captions_released() -> pd.DataFrame:
    """Return `released_captions` as cells."""
    return cells(released_captions().add_suffix(" | Num. Cap."))


def shares_of_table_1() -> pd.DataFrame:
    """Return the captions of an image in Bengali, and in thirds the shares of images of Maori with one and with two."""
    table = captions().set_index("lang")
    thirds = 3 * table.loc["mi", ["one", "two"]] / IMAGES
    found = {
        "Bengali, captions for an image": table.loc["bn", "captions"] / IMAGES,
        "Maori, thirds of the images with 1 caption": thirds["one"],
        "Maori, thirds of the images with 2 captions": thirds["two"],
    }
    return cells(found)


def characters(named: bool) -> pd.DataFrame:
    """Return the ends of the range of characters per caption: of the languages named, or of all."""
    table = captions().set_index("lang")["characters"]
    ends = {"low": table["ko"], "high": table["id"]} if named else {"low": table.min(), "high": table.max()}
    return cells(
        {f"characters per caption, {end} end, {side}": ends[end] for end in ends for side in ("from", "to")}, slack=0.05
    )


def total_captions() -> pd.DataFrame:
    """Return the sum of the column of captions."""
    return cells({"captions, total": captions()["captions"].sum()})


def total_printed() -> pd.DataFrame:
    """Return the total that the caption of Table 1 prints."""
    return cells({"captions, total": claims.printed(SOURCE, "Table 1")["captions, total"]})


def languages(less: int, cell: str) -> pd.DataFrame:
    """Return the number of languages of Table 1, `less` some."""
    return cells({cell: len(captions()) - less})


def images() -> pd.DataFrame:
    """Return the number of images, 100 for each language."""
    return cells({"images": PER_LANGUAGE * len(captions())})


def words() -> pd.DataFrame:
    """Return the two lowest and the highest mean number of words."""
    # Chinese, Japanese and Thai are written without spaces: the table has about one "word" for each of their captions.
    table = captions().query("words > 2").set_index("lang")["words"]
    names = {"quz": "Cusco Quechua", "cs": "Czech", "vi": "Vietnamese"}
    found = {**table.nsmallest(2), table.idxmax(): table.max()}
    return cells({f"words per caption, {names.get(lang, lang)}": value for lang, value in found.items()}, slack=0.05)


def nearest_shares() -> pd.DataFrame:
    """Return the shares of rated captions nearest to Table 2."""
    names = {"good": "%GOOD+", "medium": "%MED+", "bad": "%BAD"}
    table = ratings().set_index("lang")
    return cells(
        {
            f"{lang} | {names[column]}": 100 * float(rounding.nearest_share(row[column], RATED))
            for lang, row in table.iterrows()
            for column in names
        }
    )


def text_model_parameters(embeddings: bool = True) -> pd.DataFrame:
    """Return the parameters of the text models in millions, from their configurations."""
    sizes = {name: text_parameters(**facts, embeddings=embeddings) for name, facts in TEXT_MODELS.items()}
    return cells({f"{name}, parameters": size / 1e6 for name, size in sizes.items()})


def model_parameters() -> pd.DataFrame:
    """Return the parameters of the text and image models in millions, from their configurations."""
    sizes = {f"{name}, parameters": image_parameters(**facts) / 1e6 for name, facts in IMAGE_MODELS.items()}
    return pd.concat([text_model_parameters(), cells(sizes)], ignore_index=True)


def through_other_models(first: bool) -> pd.DataFrame:
    """Return differences in XM600 `through_others`, of the rows that have the first of the models or of the others."""
    table = comparisons()
    table = table.assign(value=through_others(table, "XM600").round(9))
    table = table[table[["m2", "m1"]].eq(MODELS[0]).any(axis=1) == first]
    return cells(table["m2"] + " | " + table["m1"] + " | " + table["lang"] + " | XM600", table["value"], DIFFERENCE)


def differences_of_table_5(turned: bool = True, assigned: bool = False, fixed: bool = False) -> pd.DataFrame:
    """Return differences of Table 5 for the rows of Table 4: m1 less m2 where `turned`, or as `assignment` has them."""
    pairs = {row: row[::-1] if turned else row for row in assignment()}
    table = differences(cider(fixed), assignment() if assigned else pairs)
    found = {
        f"{row['m2']} | {row['m1']} | {row['lang']} | {column}": row[column]
        for row in table.to_dict("records")
        for column in ("XM3600", "COCO-DEV")
    }
    return cells(found, slack=DIFFERENCE)


def table_6(mirrored: bool, fixed: bool = False) -> pd.DataFrame:
    """Return the correlations of Table 6 from Table 4 as printed, or as `corrected` has it where `fixed`."""
    other = HALF["difference" if fixed else "CIDEr"]
    halves = {"SxS": HALF["SxS"], "XM600": HALF["CIDEr"], "XM3600": other, "COCO-DEV": other}
    table = correlations(corrected() if fixed else comparisons(), mirrored, halves)
    names = table["method"].str.title() + " | " + table["lang"] + " | " + table["column"]
    return cells(names, table["value"], table["slack"].to_numpy())


def n_rows(mirrored: bool, methods: Sequence[str] = ("pearson",)) -> pd.DataFrame:
    """Return the number of rows of Table 4, each once or in both directions, of all languages and of each."""
    table = both_ways(comparisons(), COLUMNS) if mirrored else comparisons()
    sizes = {"all": len(table), **table.groupby("lang").size()}
    return cells({f"{method.title()} | {lang} | N": n for method in methods for lang, n in sizes.items()})
