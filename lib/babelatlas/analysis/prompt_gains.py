"""What prompts add to accuracy: Babel-ImageNet's released results with and without translated prompts, and the gains.

`babelatlas ship prompts --folder FOLDER` makes the results that ship from a copy of Babel-ImageNet's repository.
"""

import json
import os

import numpy as np
import pandas as pd

from babelatlas.base import published, tables
from babelatlas.base.errors import InputError
from babelatlas.lexicon import prompts

RESULTS = published.FOLDER / "babel-imagenet-results.csv"
# Files of Babel-ImageNet's results -> the models' names in Geigle et al. (2024), or, for the two that are not in the
# paper, names like those.
RESULT_MODELS = {
    "mclip-mbert-vitb32": "M-CLIP mBERT B-32",
    "openclip-xlmrb-vitb32": "OpenCLIP XLMR-B B-32",
    "siglip-vitb16": "mSigLIP",
    "nllb-base": "NLLB-CLIP-base",
    "nllb-siglip-base": "NLLB-SigLIP-base",
    "mclip-xlmrl-vitb32": "M-CLIP XLMR-L B-32",
    "mclip-xlmrl-vitb16plus": "M-CLIP XLMR-L B-16+",
    "altclip-xlmrl-vitl14": "AltCLIP XLMR-L L-14",
    "mclip-xlmrl-vitl14": "M-CLIP XLMR-L L-14",
    "openclip-xlmrl-vith14": "OpenCLIP XLMR-L H-14",
    "nllb-siglip-large": "NLLB-SigLIP-large",
    "nllb-large": "NLLB-CLIP-large",
}


def read_results(folder: str | os.PathLike) -> pd.DataFrame:
    """Return Babel-ImageNet's released accuracies with the bare label and with translated prompts, schema `published`.

    `folder` holds one JSON file for each model ("results/babel-imagenet" of its repository). Kept are the 101 languages
    of the paper: label only in all, translated prompts in the 90 that have them; for English the variant says that the
    released code uses CLIP's own templates and class names. `value` is rounded to 6 decimals, n are images (50 for each
    class). Raises InputError where a file is missing or is not of this kind.
    """
    paper = published.groups().set_index("lang")["classes"]
    parts = []
    for name, model in RESULT_MODELS.items():
        path = tables.locate(folder) / f"{name}.json"
        try:
            table = pd.DataFrame(json.loads(path.read_text(encoding="utf-8"))["results"])
            table = table[["lang", "prompt", "num_classes", "accuracy"]]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"The results {path} cannot be read ({error!r}): give the folder results/babel-imagenet of a copy of "
                "Babel-ImageNet's repository."
            ) from error
        parts.append(table.assign(model=model, table=f"results/babel-imagenet/{name}.json"))
    table = pd.concat(parts, ignore_index=True)
    table["lang"] = table["lang"].str.lower().replace({"als": "gsw"})  # ALS is Alemannic there, Albanian here
    table = table[table["lang"].isin(paper.index)]
    if (table["num_classes"] != table["lang"].map(paper)).any():
        raise InputError(
            f"The results in {folder} are not on the paper's numbers of classes: take the release of 2024."
        )
    variants = {"label": "label only", "nllb_dist13b_prompts": "translated prompts"}
    english = (table["lang"] == prompts.ENGLISH) & (table["prompt"] != "label")
    table = table.assign(
        task="zeroshot",
        dataset="babel-imagenet",
        group="",
        variant=table["prompt"].map(variants).where(~english, "English prompts"),
        metric="accuracy@1",
        value=table["accuracy"].round(6),
        ci_low=np.nan,
        ci_high=np.nan,
        n=50 * table["num_classes"],
        source="babel-imagenet-results",
        note=np.where(english, "filed as translated; the released code takes CLIP's templates for English", ""),
    )
    table = table.sort_values(["model", "variant", "lang"], ignore_index=True)
    return tables.check(table[[*tables.SCHEMAS["published"][0]]], "published")


def gains(results: pd.DataFrame, first: str = "translated prompts") -> pd.DataFrame:
    """Return what prompts add to accuracy: one row for each model and language that has both variants.

    `results`: schema `published`. Columns: model, lang, label_only (accuracy of "label only"), value (accuracy of
    `first` minus that; fractions), n. Raises InputError where no model and language has both.
    """
    second = "label only"
    results = results[results["variant"].isin([first, second])]
    if {first, second} - set(results["variant"]):
        raise InputError(f"The results lack the variant {first!r} or {second!r}: give a table that has both.")
    key = ["model", "lang", "variant"]
    if results.duplicated(key).any():
        row = results[results.duplicated(key)].iloc[0]
        raise InputError(
            f"The results have {row['variant']} of {row['model']} in {row['lang'] or 'a group of languages'} twice: "
            "give one accuracy for each model, language and variant."
        )
    wide = results.pivot(index=["model", "lang"], columns="variant", values=["value", "n"]).dropna()
    value, n = wide["value"], wide["n"][first].astype(int)
    return pd.DataFrame({"label_only": value[second], "value": value[first] - value[second], "n": n}).reset_index()
