"""What prompts add to accuracy: Babel-ImageNet's released results with and without
translated prompts, and the gains.

What ships are the accuracies of its results/babel-imagenet: in the 101 languages of the
paper with the bare label, in the 90 that have them with translated prompts; for English
the variant says that the released code uses CLIP's own templates and class names. n are
images, 50 for each class.
"""

import pandas as pd

# Files of Babel-ImageNet's results -> the models' names in Geigle et al. (2024), or,
# for the two that are not in the paper, names like those.
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


def gains(results: pd.DataFrame, first: str = "translated prompts") -> pd.DataFrame:
    """Return what prompts add to accuracy: one row for each model and language that has
    both variants.

    `results`: schema `published`. Columns: model, lang, label_only (accuracy of "label
    only"), value (accuracy of `first` minus that; fractions), n.
    """
    alone = "label only"
    rows = results[results["variant"].isin([first, alone])]
    by_variant = rows.pivot(
        index=["model", "lang"], columns="variant", values=["value", "n"]
    )
    by_variant = by_variant.dropna()
    accuracy = by_variant["value"]
    table = pd.DataFrame(
        {
            "label_only": accuracy[alone],
            "value": accuracy[first] - accuracy[alone],
            "n": by_variant["n"][first].astype(int),
        }
    )
    return table.reset_index()
