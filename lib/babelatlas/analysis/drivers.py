"""What is associated with a language's accuracy: the table of covariates that the mixed models explain."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from babelatlas.analysis import coverage, training_languages
from babelatlas.analysis.released import real_models
from babelatlas.base import languages, published, released
from babelatlas.base.errors import InputError
from babelatlas.models import registry
from babelatlas.stats import bootstrap, mixed_model, tests

# How captions were chosen, in a few levels, by the beginning of what the registry of released models says of filtering.
# CommonPool's basic, text, image and laion filters, and DataComp's, keep captions that a program takes for English
# (mlfoundations/datacomp, baselines/apply_filter.py).
ENGLISH_ONLY, MULTILINGUAL, UNSTATED = "English only", "multilingual", "not stated or mixed"
CAPTIONS = dict.fromkeys(["English", "basic", "text", "image", "laion", "datacomp"], ENGLISH_ONLY)
CAPTIONS |= dict.fromkeys(["words and titles of English", "matching and balancing by terms"], "by English terms")
CAPTIONS |= dict.fromkeys(["CLIP ViT-B/32 similarity", "clip", "data filtering"], "by image-text score only")
CAPTIONS |= {"none": "not filtered"}
# Image-text pairs seen in training, in billions: up to which number each level goes.
SAMPLES = {"over 10 billion": np.inf, "1 to 10 billion": 10.0, "under 1 billion": 1.0}
NOT_LISTED, LISTED, NO_LIST = "not listed", "listed", "no list published"


def recipes() -> dict[str, str]:
    """Return the published models by name, each with a name shared by models that were trained on the same texts.

    Models of one family for which the paper prints the same number of languages have the same training texts and differ
    in their image towers.

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


def model_facts(models: Sequence[str]) -> pd.DataFrame:
    """Return what may drive the results of released models, one row each.

    Columns: model; log_gflops (base 10); captions (`CAPTIONS`; MULTILINGUAL for models with a multilingual text tower,
    all of which learned from captions in many languages; UNSTATED); samples (`SAMPLES` or "not stated"); data (training
    data, or the family where they are not stated); multi (1 for a multilingual text tower, 0 for an English one).
    Raises InputError for a model whose text tower or FLOPs the registry does not have.

    >>> model_facts(["clip-l14-commonpool-xl"])[["captions", "samples", "data"]].iloc[0].tolist()
    ['not filtered', 'over 10 billion', 'CommonPool-xlarge']
    """
    about = released.models()
    known = about[(about["multilingual_text"] != "") & about["gflops"].notna()].index
    if unknown := sorted(set(models) - set(known)):
        raise InputError(
            f"The registry has no text tower or no FLOPs of the model {unknown[0]!r}: add them, or drop it."
        )
    about = about.loc[list(models)]
    multi = about["multilingual_text"] == "yes"
    chosen = [next((level for start, level in CAPTIONS.items() if words.startswith(start)), UNSTATED)
              for words in about["filtering"]]  # fmt: skip
    seen = [
        [level for level, most in SAMPLES.items() if n <= most][-1:] or ["not stated"] for n in about["samples_seen"]
    ]
    columns = {"model": about.index, "log_gflops": np.log10(about["gflops"]).to_numpy()}
    columns |= {
        "captions": pd.Categorical(
            np.where(multi, MULTILINGUAL, chosen), [*dict.fromkeys(CAPTIONS.values()), UNSTATED, MULTILINGUAL]
        )
    }
    columns |= {"samples": pd.Categorical([level[0] for level in seen], [*SAMPLES, "not stated"])}
    data = about["training_data"].where(about["training_data"] != "", about["family"])
    return pd.DataFrame(columns | {"data": data.to_numpy(), "multi": multi.to_numpy(float)})


def released_drivers(
    harness: str = "clip_benchmark", dataset: str = "xm3600", metric: str = "recall@1", variant: str = "corrected"
) -> pd.DataFrame:
    """Return the released scores of a harness by model and language with what may drive them, English left out.

    The columns of `real_models.board`, `covariates` (its `family` becomes `home`, rare ones not pooled) and
    `model_facts`, and logit, the logarithm of the odds. listed rests on the registry of `models` and on the languages
    that `released.models` names. Raises InputError where a model lacks a language: means would not be comparable.
    """
    scores, about = real_models.board(harness, dataset, metric), released.models()
    known = registry.training_languages().groupby("model")["lang"].agg(tuple)
    names = {model: about.loc[model, "languages"].split() for model in scores["model"].unique()}
    # A number of languages is no list of them.
    lists = {
        model: known.get(about.loc[model, "entry"], tuple(code for code in codes if code.isalpha()))
        for model, codes in names.items()
    }
    table = covariates(scores.assign(classes=1), lists, variant, 1).rename(columns={"family": "home"})
    if (table.groupby("model")["lang"].nunique() != table["lang"].nunique()).any():
        raise InputError(
            f"Some models of {harness} on {dataset} lack languages that others have: choose another data set."
        )
    table = table.drop(columns=["classes", "log_classes"]).merge(model_facts(list(lists)), on="model")
    return table.assign(logit=mixed_model.scaled(table, "logit"))


def by_model(table: pd.DataFrame) -> pd.DataFrame:
    """Return the mean logit of each model over the languages, with `model_facts`; every model has every language."""
    facts = table.drop_duplicates("model")[["model", "log_gflops", "captions", "samples", "data", "multi"]]
    return facts.merge(table.groupby("model", as_index=False)["logit"].mean(), on="model")


def by_language(table: pd.DataFrame) -> pd.DataFrame:
    """Return the mean logit of each language over the models with each kind of text tower (multi), with its covariates.

    tokens_english, tokens_multi, not_latin_english and not_latin_multi are log_tokens and not_latin for one kind of
    text tower, and 0 for the other.
    """
    keys = ["lang", "home", "log_tokens", "not_latin", "multi"]
    found = table.groupby(keys, as_index=False)["logit"].mean()
    for name, column in (("tokens", "log_tokens"), ("not_latin", "not_latin")):
        found[f"{name}_english"] = found[column] * (1 - found["multi"])
        found[f"{name}_multi"] = found[column] * found["multi"]
    return found


def variance_shares(table: pd.DataFrame) -> pd.Series:
    """Return how the variance of the logits divides: models, languages, text tower by language, and the rest.

    A two-way analysis of variance of a table in which every model has every language; the shares add up to 1.
    """
    wide = table.pivot(index="model", columns="lang", values="logit")
    multi = table.drop_duplicates("model").set_index("model")["multi"].reindex(wide.index)
    away = wide - wide.to_numpy().mean()
    models, langs = away.mean(axis=1), away.mean(axis=0)
    interplay = away.sub(models, axis=0).sub(langs, axis=1)
    kinds = interplay.groupby(multi).transform("mean")
    squares = {"models": wide.shape[1] * (models**2).sum(), "languages": len(wide) * (langs**2).sum()}
    squares |= {"text tower by language": (kinds**2).to_numpy().sum()}
    squares |= {"other": ((interplay - kinds) ** 2).to_numpy().sum()}
    return pd.Series(squares) / sum(squares.values())


def odds_ratios(found: mixed_model.Fit, cluster: str, n_resamples: int = 500, seed: int = 0) -> pd.DataFrame:
    """Return by what each fixed effect of a fit of logits multiplies the odds: one row each, the intercept left out.

    Columns: term, name, value, wald_low, wald_high (95 %), ci_low, ci_high (bootstrap that draws whole values of column
    `cluster`, the components held), df, p (Wald's by Student's t: `mixed_model.wald`), p_holm (Holm's correction for
    all rows), n_clusters.
    """
    table, n = mixed_model.wald(found).iloc[1:].reset_index(drop=True), found.table[cluster].nunique()
    low, high = bootstrap.percentile_interval(
        mixed_model.resample(found, cluster, n_resamples, seed)[:, 1:], n_clusters=n
    )
    ends = {"value": table["value"], "wald_low": table["low"], "wald_high": table["high"]}
    ends |= {"ci_low": low, "ci_high": high}
    ratios = {name: np.exp(each) for name, each in ends.items()}
    return table[["term", "name", "df", "p"]].assign(**ratios, p_holm=tests.holm(table["p"]), n_clusters=n)
