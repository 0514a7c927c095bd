"""What is associated with a language's accuracy: the table of covariates that the mixed models explain."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from babelatlas.analysis import coverage, training_languages
from babelatlas.base import languages, published
from babelatlas.base.errors import InputError
from babelatlas.stats import mixed_model

NOT_LISTED, LISTED, NO_LIST = "not listed", "listed", "no list published"


def recipes() -> dict[str, str]:
    """Return the published models by name, each with the name that it shares with those taught languages likewise.

    Models of one family for which the paper prints the same number of languages have learned from the same texts, with
    other image towers.

    >>> recipes()["M-CLIP XLMR-L L-14"], recipes()["M-CLIP mBERT B-32"]
    ('M-CLIP, 48 languages', 'M-CLIP mBERT B-32')
    """
    table = published.models()
    shared = table.groupby(["family", "languages"])["model"].transform("size") > 1
    names = (table["family"] + ", " + table["languages"] + " languages").where(shared, table["model"])
    return dict(zip(table["model"], names, strict=True))


def averaged(scores: pd.DataFrame, home: dict[str, str]) -> pd.DataFrame:
    """Return the mean accuracy of models that share a name in `home`, by language; the other columns must agree.

    `scores`: model, lang, value and others (n, classes); a model that is not in `home` keeps its own name. n stays that
    of one model, since all see the same images. Raises InputError where models of one name differ in another column.
    """
    table = scores.assign(model=scores["model"].map(lambda name: home.get(name, name)))
    others = [name for name in table if name not in ("model", "lang", "value", "variant")]
    found = table.groupby(["model", "lang"], sort=False, as_index=False)
    if (found[others].nunique()[others] > 1).any(axis=None):
        raise InputError(f"Models can be averaged in a language where {', '.join(others)} agree, but some differ.")
    return found.agg({"value": "mean", **dict.fromkeys(others, "first")})


def pool_rare(values: pd.Series, keys: pd.Series, minimum: int) -> pd.Series:
    """Return `values` with those that fewer than `minimum` different `keys` have put together as "other"."""
    sizes = keys.groupby(values).nunique()
    return values.where(values.map(sizes) >= minimum, mixed_model.OTHER)


def covariates(
    scores: pd.DataFrame,
    lists: dict[str, Sequence[str]],
    variant: str = "corrected",
    minimum: int = 5,
    english: bool = False,
) -> pd.DataFrame:
    """Return scores by model and language with what may drive them; languages without XLM-R tokens are left out.

    `scores`: model, lang, value (fraction), n (images), classes. `lists`: model -> languages that its authors list, ()
    or absent where they publish none. Added: tokens (millions, in XLM-R's training text: `coverage.tokens` by
    `variant`), log_tokens (its logarithm, base 10), log_classes (base 2) and not_latin (0 or 1), these three less their
    means over the languages; script and family (those of fewer than `minimum` languages are "other"); listed ("not
    listed", "listed", "no list published"). `english` keeps English. Raises InputError where no language has tokens, or
    a row has no images or no classes.
    """
    for name in ("n", "classes"):
        if (scores[name] <= 0).any():
            row = scores[scores[name] <= 0].iloc[0]
            raise InputError(f"A row needs {name} above 0, but {row['model']} in {row['lang']!r} has {row[name]}.")
    home = languages.table().set_index("code")
    table = scores[(scores["lang"] != coverage.ENGLISH) | english]
    table = table.merge(coverage.tokens(variant), on="lang", validate="many_to_one").sort_values(["model", "lang"])
    if table.empty:
        raise InputError("None of the languages has a number of tokens in XLM-R's training text: there is no row left.")
    table = table.reset_index(drop=True)
    scripts = table["lang"].map(home["script_name"])
    known = [(lists.get(model) or (), lang) for model, lang in zip(table["model"], table["lang"], strict=True)]
    answers = [(LISTED if lang in listed else NOT_LISTED) if listed else NO_LIST for listed, lang in known]
    table = table.assign(
        log_tokens=np.log10(table["tokens"]),
        log_classes=np.log2(table["classes"]),
        not_latin=(scripts != "Latin").astype(float),
        script=pool_rare(scripts, table["lang"], minimum),
        family=pool_rare(table["lang"].map(home["family"]), table["lang"], minimum),
        listed=pd.Categorical(answers, [NOT_LISTED, LISTED, NO_LIST]),
    )
    numbers = ["log_tokens", "log_classes", "not_latin"]  # slopes by model are independent of intercepts at the mean
    table[numbers] -= table.drop_duplicates("lang")[numbers].mean()
    return table


def published_drivers(
    source: str = "geigle2024",
    variant: str = "corrected",
    minimum: int = 5,
    english: bool = False,
    by_recipe: bool = True,
) -> pd.DataFrame:
    """Return `covariates` of the published accuracy in every language, of each recipe (`recipes`) or of each model."""
    scores = published.by_language(source)
    lists = training_languages.published_lists(1).groupby("model")["lang"].agg(tuple).to_dict()
    if by_recipe:
        home = recipes()
        scores, lists = averaged(scores, home), {home.get(model, model): listed for model, listed in lists.items()}
    return covariates(scores, lists, variant, minimum, english)
