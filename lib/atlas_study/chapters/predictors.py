"""What is associated with a language's accuracy: the table of covariates that the mixed
models explain.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from babelatlas.analysis import coverage, real_models, training_languages
from babelatlas.base import languages, published, released
from babelatlas.models import registry
from babelatlas.stats import mixed_model

# How captions were chosen, in a few levels, by the beginning of what the registry of
# released models says of filtering. CommonPool's basic, text, image and laion filters,
# and DataComp's, keep captions that a program takes for English
# (mlfoundations/datacomp, baselines/apply_filter.py).
ENGLISH_ONLY, MULTILINGUAL, UNSTATED = (
    "English only",
    "multilingual",
    "not stated or mixed",
)
CAPTIONS = dict.fromkeys(
    ["English", "basic", "text", "image", "laion", "datacomp"], ENGLISH_ONLY
)
CAPTIONS |= dict.fromkeys(
    ["words and titles of English", "matching and balancing by terms"],
    "by English terms",
)
CAPTIONS |= dict.fromkeys(
    ["CLIP ViT-B/32 similarity", "clip", "data filtering"], "by image-text score only"
)
CAPTIONS |= {"none": "not filtered"}
# Image-text pairs seen in training, in billions: up to which number each level goes.
SAMPLES = {"over 10 billion": np.inf, "1 to 10 billion": 10.0, "under 1 billion": 1.0}
NOT_LISTED, LISTED, NO_LIST = "not listed", "listed", "no list published"


def recipes() -> dict[str, str]:
    """Return the published models by name, each with a name shared by models that were
    trained on the same texts.

    Models of one family for which the paper prints the same number of languages have
    the same training texts and differ in their image towers.

    >>> recipes()["M-CLIP XLMR-L L-14"], recipes()["M-CLIP mBERT B-32"]
    ('M-CLIP, 48 languages', 'M-CLIP mBERT B-32')
    """
    table = published.models()
    shared = table.groupby(["family", "languages"])["model"].transform("size") > 1
    names = (table["family"] + ", " + table["languages"] + " languages").where(
        shared, table["model"]
    )
    return dict(zip(table["model"], names, strict=True))


def _pool_rare(values: pd.Series, keys: pd.Series, minimum: int) -> pd.Series:
    """Return `values` with those that fewer than `minimum` different `keys` have put
    together as "other".
    """
    return values.where(
        values.map(keys.groupby(values).nunique()) >= minimum, mixed_model.OTHER
    )


def covariates(
    scores: pd.DataFrame,
    lists: dict[str, Sequence[str]],
    variant: str = "corrected",
    minimum: int = 5,
    english: bool = False,
) -> pd.DataFrame:
    """Return scores by model and language with what may drive them; languages without
    XLM-R tokens are left out.

    `scores`: model, lang, value (fraction), n (images), classes. `lists`: model ->
    languages that its authors list, () or absent where they publish none. Added: tokens
    (millions, in XLM-R's training text: `coverage.tokens` by `variant`), log_tokens
    (its logarithm, base 10), log_classes (base 2) and not_latin (0 or 1), these three
    less their means over the languages; script and family (those of fewer than
    `minimum` languages are "other"); listed ("not listed", "listed", "no list
    published") and is_listed (1 where it is "listed", else 0). `english` keeps English.
    """
    home = languages.table().set_index("code")
    table = scores[(scores["lang"] != coverage.ENGLISH) | english]
    table = table.merge(coverage.tokens(variant), on="lang", validate="many_to_one")
    table = table.sort_values(["model", "lang"], ignore_index=True)
    scripts = table["lang"].map(home["script_name"])
    known = [
        (lists.get(model) or (), lang)
        for model, lang in zip(table["model"], table["lang"], strict=True)
    ]
    answers = [
        (LISTED if lang in listed else NOT_LISTED) if listed else NO_LIST
        for listed, lang in known
    ]
    table = table.assign(
        log_tokens=np.log10(table["tokens"]),
        log_classes=np.log2(table["classes"]),
        not_latin=(scripts != "Latin").astype(float),
        script=_pool_rare(scripts, table["lang"], minimum),
        family=_pool_rare(table["lang"].map(home["family"]), table["lang"], minimum),
        listed=pd.Categorical(answers, [NOT_LISTED, LISTED, NO_LIST]),
        is_listed=[float(answer == LISTED) for answer in answers],
    )
    numbers = [
        "log_tokens",
        "log_classes",
        "not_latin",
    ]  # slopes by model are independent of intercepts at the mean
    table[numbers] -= table.drop_duplicates("lang")[numbers].mean()
    return table


def published_drivers(
    source: str = "geigle2024",
    variant: str = "corrected",
    minimum: int = 5,
    english: bool = False,
    by_recipe: bool = True,
) -> pd.DataFrame:
    """Return `covariates` of the published accuracy in every language, of each recipe
    (`recipes`) or of each model.

    The accuracy of a recipe is the mean of its models'; its n is that of one, since all
    see the same images.
    """
    scores = published.accuracy_by_language(source)
    lists = (
        training_languages.published_lists(1)
        .groupby("model")["lang"]
        .agg(tuple)
        .to_dict()
    )
    if by_recipe:
        home = recipes()
        lists = {home.get(model, model): listed for model, listed in lists.items()}
        scores = scores.assign(
            model=scores["model"].map(lambda name: home.get(name, name))
        )
        rest = dict.fromkeys(
            scores.columns.difference(
                ["model", "lang", "value", "variant"], sort=False
            ),
            "first",
        )
        groups = scores.groupby(["model", "lang"], sort=False, as_index=False)
        scores = groups.agg({"value": "mean", **rest})
    return covariates(scores, lists, variant, minimum, english)


def model_facts(models: Sequence[str]) -> pd.DataFrame:
    """Return what may drive the results of released models, one row each.

    Columns: model; log_gflops (base 10); captions (`CAPTIONS`; MULTILINGUAL for models
    with a multilingual text tower, all of which learned from captions in many
    languages; UNSTATED); samples (`SAMPLES` or "not stated"); data (training data, or
    the family where they are not stated); multi (1 for a multilingual text tower, 0 for
    an English one).

    >>> model_facts(["clip-l14-commonpool-xl"])[["captions", "samples", "data"]].iloc[0].tolist()
    ['not filtered', 'over 10 billion', 'CommonPool-xlarge']
    """
    about = released.models().loc[list(models)]
    multi = (about["multilingual_text"] == "yes").to_numpy()
    chosen = [
        next(
            (level for start, level in CAPTIONS.items() if words.startswith(start)),
            UNSTATED,
        )
        for words in about["filtering"]
    ]
    levels = [*dict.fromkeys(CAPTIONS.values()), UNSTATED, MULTILINGUAL]
    bounds = list(SAMPLES.values())[::-1]
    seen = (
        pd.cut(about["samples_seen"], [0, *bounds], labels=list(SAMPLES)[::-1])
        .astype(object)
        .fillna("not stated")
    )
    return pd.DataFrame(
        {
            "model": about.index,
            "log_gflops": np.log10(about["gflops"]).to_numpy(),
            "captions": pd.Categorical(np.where(multi, MULTILINGUAL, chosen), levels),
            "samples": pd.Categorical(seen, [*SAMPLES, "not stated"]),
            "data": (
                about["training_data"]
                .where(about["training_data"] != "", about["family"])
                .to_numpy()
            ),
            "multi": multi.astype(float),
        }
    )


def released_drivers(
    harness: str = "clip_benchmark",
    dataset: str = "xm3600",
    metric: str = "recall@1",
    variant: str = "corrected",
) -> pd.DataFrame:
    """Return the released scores of a harness by model and language with what may drive
    them, English left out.

    The columns of `real_models.board`, `covariates` (its `family` becomes `home`, rare
    ones not pooled) and `model_facts`, and logit, the logarithm of the odds. listed
    rests on the registry of `models` and on the languages that `released.models` names.
    Only for data sets on which every model has every language.
    """
    scores, about = real_models.board(harness, dataset, metric), released.models()
    known = registry.training_languages().groupby("model")["lang"].agg(tuple)
    names = {
        model: about.loc[model, "languages"].split()
        for model in scores["model"].unique()
    }
    # A number of languages is no list of them.
    lists = {
        model: known.get(
            about.loc[model, "entry"], tuple(code for code in codes if code.isalpha())
        )
        for model, codes in names.items()
    }
    table = covariates(scores.assign(classes=1), lists, variant, 1).rename(
        columns={"family": "home"}
    )
    table = table.drop(columns=["classes", "log_classes"]).merge(
        model_facts(list(lists)), on="model"
    )
    return table.assign(logit=mixed_model.scaled(table, "logit"))
