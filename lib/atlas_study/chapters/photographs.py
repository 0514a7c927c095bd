"""Chapter 20: a real model on real photographs, language by language."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from PIL import Image

from babelatlas.analysis import coverage, real_run
from babelatlas.base import languages, published, synsets, tables
from babelatlas.base.errors import InputError
from babelatlas.datasets import registry
from babelatlas.report import formatting
from babelatlas.stats import (
    bootstrap,
    correlation,
    multiple_comparisons,
    permutation,
    proportions,
)
from babelatlas.stats.distributions import normal_above, normal_quantile

# What may predict accuracy in a language: column -> what a reader is told.
PREDICTORS = {
    "log_tokens": "the text in the pretraining data (tokens, log)",
    "log_classes": "the number of labelled classes (log)",
    "pieces": "the tokens of a label",
    "latin": "writing in Latin script",
}


def outcomes(results: str, dataset: str, *models: str) -> pd.DataFrame:
    """Return the outcomes by class of a data set of photographs, schema `zeroshot`.

    Raises InputError for one of `models` without outcomes.
    """
    rows = real_run.read("zeroshot", results)
    rows = rows[rows["dataset"] == dataset]
    real_run.check_models(rows, *models)
    return rows


def accuracies(rows: pd.DataFrame, n_resamples: int, seed: int) -> pd.DataFrame:
    """Return accuracy by model and language with intervals over classes, the number of
    classes, and the language's name and family.
    """
    by = ["model", "lang"]
    scores = bootstrap.accuracy_interval(
        rows, by=by, n_resamples=n_resamples, seed=seed
    )
    sizes = rows.groupby(by).size().rename("classes").reset_index()
    scores["classes"] = sizes["classes"].to_numpy()  # in the same order
    scores["language"] = scores["lang"].map(languages.name)
    families = languages.families(scores["lang"].unique())
    return scores.assign(family=scores["lang"].map(families))


class Equal(NamedTuple):
    """Accuracy among equally many classes."""

    table: pd.DataFrame  # by language, the highest first
    rest: pd.DataFrame  # without English
    english: float
    near: pd.DataFrame  # languages not significantly below the highest other one


def equal_classes(
    own: pd.DataFrame, n_classes: int, model: str, dataset: str, results: str
) -> Equal:
    """Return a model's accuracy in every language among as many random classes.

    `own`: its accuracies with all classes (`accuracies`). Differences from the highest
    are tested by their intervals over classes, Holm-adjusted. Raises InputError for a
    number of classes that there is no accuracy for.
    """
    curves = real_run.read("curves", results)
    of_model = (curves["dataset"] == dataset) & (curves["model"] == model)
    sizes = curves.loc[of_model & (curves["lang"] == "en"), "n_classes"].unique()
    if n_classes not in sizes:
        nearest = sorted(sizes, key=lambda size: abs(size - n_classes))[:5]
        raise InputError(
            f"No accuracy among {n_classes} classes for {model} on {dataset}; give fixed"
            f" one of {', '.join(map(str, sorted(nearest)))}."
        )
    table = real_run.equal_classes(n_classes, model, dataset, results)
    table = table.merge(own[["lang", "language", "classes", "family"]])
    table = table.sort_values("value", ascending=False, kind="stable")
    rest = table[table["lang"] != "en"]
    half = (rest["ci_high"] - rest["ci_low"]).to_numpy() / 2
    below = rest["value"].iloc[0] - rest["value"].to_numpy()[1:]
    z = normal_quantile(0.975) * below / np.hypot(half[0], half[1:])
    near = rest[1:][multiple_comparisons.holm(2 * normal_above(z)) >= 0.05]
    return Equal(table, rest, table.set_index("lang")["value"]["en"], near)


def places(rest: pd.DataFrame) -> pd.DataFrame:
    """Return languages with where on the map they are."""
    codes = languages.table().set_index("code")["glottocode"]
    world = languages.world()[["glottocode", "latitude", "longitude"]]
    rows = rest.assign(glottocode=rest["lang"].map(codes))
    return rows.merge(world, on="glottocode", how="left")


def highest(
    equal: Equal, own: pd.DataFrame, n_classes: int, number: int
) -> pd.DataFrame:
    """Return the languages with the highest accuracy among equal classes, and below it
    what they have with all their classes (`series`).
    """
    first = equal.table.head(number).assign(series=f"{n_classes} random classes")
    whole = own.set_index("lang").loc[first["lang"]].reset_index()
    drawn = pd.concat(
        [first, whole.assign(series="all its classes")], ignore_index=True
    )
    classes = drawn["classes"].map("{:,}".format)
    return drawn.assign(row=drawn["language"] + " (" + classes + ")")


def by_group(equal: Equal, n_resamples: int, seed: int) -> pd.DataFrame:
    """Return mean accuracy among equal classes by group of languages, those with the
    fewest labels first; intervals over families.
    """
    sizes = equal.table.set_index("lang")["classes"]
    groups = languages.grouped(equal.table["lang"], {}, sizes).astype(str)
    rows = equal.table.assign(group=groups).sort_values("classes", kind="stable")
    return bootstrap.group_means(
        rows, by=["group"], cluster="family", n_resamples=n_resamples, seed=seed
    )


class Errors(NamedTuple):
    """What is correct in English and wrong in another language."""

    n_errors: int  # in languages other than English
    in_english: str  # the share of these that are made in English too, with interval
    lost: pd.Series  # language -> share lost of what is correct in English
    right_in_english: pd.Series  # class -> share


def compared_with_english(
    rows: pd.DataFrame, langs: Sequence[str], n_resamples: int, seed: int
) -> Errors:
    """Return how the errors of one model in some languages compare with English.

    `rows`: its outcomes by class and language.
    """
    rows = rows.assign(right=rows["n_correct"] / rows["n_images"])
    english = rows[rows["lang"] == "en"].set_index("wnid")["right"]
    pairs = rows[rows["lang"].isin(langs)]
    pairs = pairs.assign(english=pairs["wnid"].map(english))
    kept = pairs[pairs["english"] == 1].groupby("lang")["right"].mean()
    errors = pairs[pairs["right"] < 1]
    wrong_too = (errors["english"] < 1).astype(float)
    share = bootstrap.mean_interval(
        wrong_too, errors["wnid"], n_resamples=n_resamples, seed=seed, shares=True
    )
    ends = formatting.ranges(share).iloc[0].replace(" to ", "–")
    text = f"{100 * wrong_too.mean():.1f} % ({ends}; 95 % interval over classes)"
    return Errors(len(errors), text, 1 - kept, english)


def predictions(results: str, dataset: str, model: str) -> pd.DataFrame:
    """Return what a model took photographs for that are of another class."""
    rows = real_run.read("predictions", results)
    return rows[(rows["dataset"] == dataset) & (rows["model"] == model)]


def first_mistakes(
    predicted: pd.DataFrame,
    right_in_english: pd.Series,
    langs: Sequence[str],
    labels: pd.DataFrame,
    number: int = 4,
) -> pd.DataFrame:
    """Return the first photographs, by class, that are correct in English and wrong in
    each of some languages, as a reader sees them; labels are HTML.
    """
    names = synsets.short_names()
    words = labels.set_index(["lang", "wnid"])["label"]
    correct = predicted["wnid"].map(right_in_english).eq(1)
    rows = predicted[predicted["lang"].isin(langs) & correct]
    rows = rows.groupby("lang", sort=False).head(number)
    order = list(langs)
    rows = rows.sort_values(
        "lang", key=lambda codes: codes.map(order.index), kind="stable"
    )

    def word(lang: str, wnid: str) -> str:
        return formatting.word(words[lang, wnid], lang)

    shown = {
        "language": rows["lang"].map(languages.name),
        "class": rows["wnid"].map(names),
        "its label": list(map(word, rows["lang"], rows["wnid"])),
        "taken for": list(map(word, rows["lang"], rows["predicted"])),
        "which is": rows["predicted"].map(names),
    }
    return pd.DataFrame(shown)


def confusions(
    predicted: pd.DataFrame, rows: pd.DataFrame, least: int = 20, number: int = 15
) -> pd.DataFrame:
    """Return the pairs of classes that are confused in the largest share of languages,
    of those with both labels in at least `least`: wnid, predicted, languages, of, value
    (the share) with exact interval, and whether English confuses them `too`.
    """
    elsewhere = predicted[predicted["lang"] != "en"]
    pairs = elsewhere.groupby(["wnid", "predicted"])["lang"].nunique()
    pairs = pairs.rename("languages").reset_index()
    labelled = rows[rows["lang"] != "en"].groupby("wnid")["lang"].agg(set)
    pairs["of"] = [
        len(labelled[row.wnid] & labelled[row.predicted]) for row in pairs.itertuples()
    ]
    pairs["value"] = pairs["languages"] / pairs["of"]
    pairs = pairs[pairs["of"] >= least]
    pairs = pairs.sort_values(["value", "of"], ascending=False, kind="stable")
    pairs = pairs.head(number)
    low, high = proportions.exact_interval(
        pairs["languages"].to_numpy(), pairs["of"].to_numpy()
    )
    english = predicted[predicted["lang"] == "en"]
    confused = set(zip(english["wnid"], english["predicted"], strict=True))
    ours = zip(pairs["wnid"], pairs["predicted"], strict=True)
    return pairs.assign(
        ci_low=low, ci_high=high, too=[pair in confused for pair in ours]
    )


def confusions_table(pairs: pd.DataFrame) -> pd.DataFrame:
    """Return confused classes as a reader sees them."""
    names = synsets.short_names()
    shown = {
        "a photograph of": pairs["wnid"].map(names),
        "is taken for": pairs["predicted"].map(names),
        "in languages (%)": formatting.intervals(pairs),
        "languages with both labels": pairs["of"],
        "in English, too": pairs["too"],
    }
    return pd.DataFrame(shown)


def thumbnails(
    dataset: str, images: str, pairs: pd.DataFrame, side: int = 80
) -> tuple[list[Image.Image], list[str]]:
    """Return a photograph of the first class of each pair, and what it is taken for."""
    names = synsets.short_names()
    files = registry.load(dataset, images).drop_duplicates("wnid")
    files = files.set_index("wnid")["path"]
    pictures = [
        registry.open_image(files[wnid]).resize((side, side)) for wnid in pairs["wnid"]
    ]
    captions = [
        f"{names[row.wnid]}: {names[row.predicted]}" for row in pairs.itertuples()
    ]
    return pictures, captions


def with_predictors(equal: Equal) -> pd.DataFrame:
    """Return accuracy in languages other than English with what may predict it."""
    pieces = pd.read_csv(real_run.TOKENS, keep_default_na=False)
    pieces = pieces.rename(columns={"tokens": "pieces"})
    table = equal.table.merge(coverage.tokens(), on="lang").merge(pieces, on="lang")
    table = table[table["lang"] != "en"]
    return table.assign(
        log_tokens=np.log10(table["tokens"]),
        log_classes=np.log2(table["classes"]),
        latin=is_latin(table["lang"]).astype(float),
    )


def is_latin(langs: pd.Series) -> pd.Series:
    """Return whether languages are written in Latin script."""
    scripts = languages.table().set_index("code")["script_name"]
    return langs.map(scripts) == "Latin"


def predicted_by(table: pd.DataFrame, n_resamples: int, seed: int) -> pd.DataFrame:
    """Return Spearman's correlation of accuracy with each predictor, alone and with the
    others held equal; intervals over families.
    """
    parts = []
    for column, text in PREDICTORS.items():
        others = [name for name in PREDICTORS if name != column]
        for kind, covariates in (("alone", []), ("others held equal", others)):
            found = correlation.correlate(
                table,
                column,
                "value",
                "family",
                ["spearman"],
                covariates=covariates,
                n_resamples=n_resamples,
                seed=seed,
            )
            parts.append(found.assign(kind=kind, of=text))
    return pd.concat(parts, ignore_index=True)


class Agreement(NamedTuple):
    """How the order of languages agrees with that of published models."""

    table: pd.DataFrame  # by language: value, published (mean), family
    with_mean: str  # correlation with their mean, with interval
    with_single: str  # with single models, from the lowest to the highest


def with_published(equal: Equal, n_resamples: int, seed: int) -> Agreement:
    """Return the rank correlation over languages with the published accuracies."""
    rows = published.accuracy_by_language("geigle2024")
    means = rows.groupby("lang")["value"].mean().rename("published")
    table = equal.table.merge(means, on="lang")
    table = table[table["lang"] != "en"]
    rho = correlation.correlate(
        table,
        "value",
        "published",
        "family",
        ["spearman"],
        n_resamples=n_resamples,
        seed=seed,
    ).iloc[0]
    text = f"ρ = {rho['value']:.2f} ({rho['ci_low']:z.2f} to {rho['ci_high']:z.2f})"
    by_model = rows.pivot(index="lang", columns="model", values="value")
    single = by_model.loc[table["lang"]].corrwith(
        table.set_index("lang")["value"], method="spearman"
    )
    single = single.sort_values()
    ends = f"ρ = {single.iloc[0]:z.2f} ({single.index[0]})"
    ends += f" to {single.iloc[-1]:z.2f} ({single.index[-1]})"
    return Agreement(table, text.replace("-", "−"), ends.replace("-0", "−0"))


class Controls(NamedTuple):
    """A model beside one without other languages, and one without a class's name."""

    lost: pd.DataFrame  # `permutation.paired_difference` of model and control
    p: str  # of this difference over families
    within_folds: pd.DataFrame  # the model among the classes of a fold, by language
    held_out: pd.DataFrame  # the same with a class's own name held out


def controls(
    scores: pd.DataFrame,
    results: str,
    model: str,
    control: str,
    held_out: str,
    n_resamples: int,
    seed: int,
) -> Controls:
    """Return the comparison of a model with its two controls.

    `scores`: of all models (`accuracies`); `held_out`: the model without a class's own
    name. Raises InputError where one of the two has no outcomes within folds.
    """
    options = {"n_resamples": n_resamples, "seed": seed}
    pair = scores[scores["model"].isin([model, control]) & (scores["lang"] != "en")]
    kin = languages.families(scores["lang"].unique())
    lost = permutation.paired_difference(
        pair, pairs=[(model, control)], **options, kin=kin
    )
    p = (
        "p = "
        + formatting.language_and_family_tests(lost)["p (Holm), families"].iloc[0]
    )
    rows = real_run.read("held_out", results)
    real_run.check_models(rows, model, held_out)
    folds = bootstrap.accuracy_interval(rows, by=["model", "lang"], **options)
    folds = folds.set_index("lang")
    return Controls(
        lost,
        p.replace("= <", "<").replace("= ≤", "≤"),
        folds[folds["model"] == model],
        folds[folds["model"] == held_out],
    )


def controls_table(
    found: Controls,
    scores: pd.DataFrame,
    langs: Sequence[str],
    model: str,
    control: str,
    n_folds: int = 5,
) -> pd.DataFrame:
    """Return the model and its controls in some languages, as a reader sees them."""
    rows = scores[scores["model"].isin([model, control]) & (scores["lang"] != "en")]
    cells = rows.assign(cell=formatting.intervals(rows))
    cells = cells.pivot(index="lang", columns="model", values="cell")
    langs = [lang for lang in dict.fromkeys(langs) if lang in cells.index]
    sizes = scores[scores["model"] == model].set_index("lang")["classes"]
    within, without = (
        formatting.intervals(table).loc[langs].to_numpy()
        for table in (found.within_folds, found.held_out)
    )
    shown = {
        "language": [languages.name(lang) for lang in langs],
        f"{model} (%)": cells.loc[langs, model].to_numpy(),
        f"{control} (%)": cells.loc[langs, control].to_numpy(),
        "in folds (%)": within,
        "in folds, name held out (%)": without,
        "chance in folds (%)": (100 * n_folds / sizes[langs]).to_numpy(),
    }
    return pd.DataFrame(shown)


def evaluated_again(results: str) -> pd.DataFrame:
    """Return the outcomes of a run on vectors that ship beside those made from the
    pictures (`n_correct_shipped`); no rows where the run has none.
    """
    files = sorted(tables.locate(results).glob("stored/*_imagenet-photos-100.parquet"))
    parts = [
        tables.empty("zeroshot"),
        *(tables.read(file, "zeroshot") for file in files),
    ]
    shipped = real_run.read("zeroshot")
    shipped = shipped[shipped["dataset"] == "imagenet-photos-100"]
    key = ["model", "lang", "wnid"]
    again = pd.concat(parts, ignore_index=True)
    return again.merge(shipped, on=key, suffixes=("", "_shipped"))


def all_models(scores: pd.DataFrame, model: str) -> pd.DataFrame:
    """Return the accuracy of every model in each language, as a reader sees it, by the
    number of its classes.
    """
    own = scores[scores["model"] == model]
    own = own.sort_values("value", ascending=False, kind="stable")
    own = own.sort_values("classes", ascending=False, kind="stable")
    cells = scores.assign(cell=formatting.intervals(scores))
    cells = cells.pivot(index="lang", columns="model", values="cell").loc[own["lang"]]
    cells = cells.add_suffix(" (%)").reset_index(drop=True)
    names = own[["language", "classes"]].reset_index(drop=True)
    return pd.concat([names, cells], axis=1)


def write(scores: pd.DataFrame, dataset: str, output: str, settings: dict) -> None:
    """Write the accuracies, schema `scores`."""
    rows = scores.assign(
        task="zeroshot",
        dataset=dataset,
        group="",
        variant="label alone",
        metric="accuracy@1",
    )
    columns = list(tables.SCHEMAS["scores"][0])
    tables.write(rows[columns], output, "scores", settings, [])
