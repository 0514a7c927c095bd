"""Chapter 18: models in the languages of their training and in others, and what adapters
for a language add.
"""

from typing import NamedTuple

import pandas as pd

from babelatlas.analysis import adapter_gains, training_languages
from babelatlas.base import languages, published, tables
from babelatlas.models import registry
from babelatlas.report import formatting
from babelatlas.stats import (
    FAMILY_COLUMNS,
    correlation,
    multiple_comparisons,
    permutation,
)

# The control of the whole comparison, and those of the comparison by group.
CONTROL = "OpenCLIP XLMR-L H-14"
CONTROLS = [CONTROL, "OpenCLIP XLMR-B B-32", "mSigLIP"]
GROUPS = ["low", "mid", "high"]
NO_CONTROL, PROMPTED = "no control", "same, translated prompts only"
ENDS = ["value", "ci_low", "ci_high"]
# Objectives of adapters: variant in the paper's table -> name, and what a reader is told.
VARIANTS = {
    "adapter, MSE": "mse",
    "adapter, text contrastive": "text-contrastive",
    "adapter, LiT": "lit",
}
TITLES = {
    "mse": "MSE to English texts",
    "text-contrastive": "contrastive, English texts",
    "lit": "contrastive, images",
}
# What a run may train besides; "lora-" stands before any of these, and a kind of texts
# behind.
FURTHER_TITLES = {
    "lit-mse": "images and MSE together",
    "simcse": "SimCSE, the language alone",
}
OTHER_TEXTS = {"-off-topic": "other texts", "-wikimatrix": "WikiMatrix"}
PROPERTIES = {
    "mean of accuracy before and after": ("middle", "gain"),
    "accuracy before (coupled with the gain)": ("before", "gain"),
    "accuracy before, with accuracy after": ("before", "value"),
    "classes": ("classes", "gain"),
    "tokens in CC-100 (log10)": ("log_tokens", "gain"),
    "examples in LAION-5B (log10)": ("log_examples", "gain"),
}


class Accuracies(NamedTuple):
    """Published accuracies, and which languages models were trained on."""

    table: pd.DataFrame  # of all models: model, lang, value, group, classes
    flagged: pd.DataFrame  # of those with a list of languages, with `taught`
    groups: pd.DataFrame  # lang, group
    names: list[str]  # the models with a list, in the paper's order
    kin: dict[str, str]  # language -> family


def accuracies(source: str) -> Accuracies:
    """Return a paper's accuracies in three groups of languages; `taught`: whether the
    authors list the language.
    """
    groups = training_languages.three_groups(source)
    table = published.accuracy_by_language(source).drop(columns=["group", "classes"])
    table = table.merge(groups, on="lang")
    lists = training_languages.published_lists()
    with_list = table["model"].isin(lists["model"]) & (table["lang"] != "en")
    flagged = table[with_list].reset_index(drop=True)
    listed = pd.MultiIndex.from_frame(lists)
    taught = pd.MultiIndex.from_frame(flagged[["model", "lang"]]).isin(listed)
    flagged = flagged.assign(taught=taught).sort_values(
        "group", key=lambda names: names.map(GROUPS.index), kind="stable"
    )
    models = set(flagged["model"])
    names = [name for name in published.models()["model"] if name in models]
    kin = languages.families(languages.table()["code"])
    return Accuracies(table, flagged, groups, names, kin)


def against_all(
    found: Accuracies, source: str, n_resamples: int, seed: int
) -> pd.DataFrame:
    """Return for each model accuracy in training languages minus that in others, within
    groups of languages, by `kind` of comparison: with and without the control.
    """
    options = {"n_resamples": n_resamples, "seed": seed, "kin": found.kin}
    four = published.groups(source).rename(columns={"group": "group4"})
    control = found.table[found.table["model"] == CONTROL]
    base = training_languages.against(found.flagged, control)
    base = base.merge(four[["lang", "group4"]], on="lang")
    values = published.accuracy_by_language(source)
    prompted = values.loc[values["variant"] == "translated prompts", "lang"]
    kinds = {
        NO_CONTROL: (found.flagged, "group"),
        f"minus {CONTROL}": (base, "group"),
        PROMPTED: (base[base["lang"].isin(prompted)], "group"),
        "same, four groups": (base, "group4"),
    }
    parts = [
        training_languages.differences(
            rows, by=["model"], strata=strata, **options
        ).assign(kind=kind)
        for kind, (rows, strata) in kinds.items()
    ]
    whole = pd.concat(parts, ignore_index=True).dropna(subset=["value"])
    return multiple_comparisons.with_holm(whole).sort_values(
        "model", key=lambda names: names.map(found.names.index), kind="stable"
    )


class Verdict(NamedTuple):
    """How many models are better in their training languages."""

    chosen: pd.DataFrame  # with the control subtracted, by model, with `text`
    n_better: int
    n_worse: int
    n_better_plain: int  # without a control ...
    n_plain: int  # ... of so many
    lowest: str  # difference in points with the control subtracted
    highest: str


def verdict(whole: pd.DataFrame) -> Verdict:
    """Return how many models are significantly better in their training languages."""
    chosen = whole[whole["kind"] == PROMPTED].set_index("model")
    chosen = chosen.assign(text=formatting.intervals(chosen, "+.1f", to=" to "))
    significant = chosen["p_family_holm"] < 0.05
    plain = whole[whole["kind"] == NO_CONTROL]
    above = (plain["p_family_holm"] < 0.05) & (plain["value"] > 0)
    ends = [
        f"{100 * end:+.1f}".replace("-", "−")
        for end in (chosen["value"].min(), chosen["value"].max())
    ]
    return Verdict(
        chosen,
        (significant & (chosen["value"] > 0)).sum(),
        (significant & (chosen["value"] < 0)).sum(),
        above.sum(),
        len(plain),
        *ends,
    )


def whole_table(whole: pd.DataFrame) -> pd.DataFrame:
    """Return the differences as a reader sees them."""
    comparison = whole["kind"].str.replace("prompts only", "prompts")
    shown = {
        "model": whole["model"],
        "comparison": comparison,
        "difference (points)": formatting.intervals(whole, to=" to "),
        "n": whole["n_taught"].astype(str) + ", " + whole["n_other"].astype(str),
        "p": list(map(formatting.p_value, whole["p_family_holm"], whole["p_family"])),
    }
    return pd.DataFrame(shown)


def within_groups(found: Accuracies, n_resamples: int, seed: int) -> pd.DataFrame:
    """Return the differences of each model in each group of languages, by the control
    that is subtracted (`against`).
    """
    compared = {NO_CONTROL: found.flagged}
    for name in CONTROLS:
        control = found.table[found.table["model"] == name]
        compared[f"minus {name}"] = training_languages.against(found.flagged, control)
    parts = [
        training_languages.differences(
            rows, kin=found.kin, n_resamples=n_resamples, seed=seed
        ).assign(against=name)
        for name, rows in compared.items()
    ]
    effects = pd.concat(parts, ignore_index=True).dropna(subset=["value"])
    place = {name: at for at, name in enumerate([*GROUPS, *found.names])}
    return multiple_comparisons.with_holm(effects).sort_values(
        ["group", "model"], key=lambda names: names.map(place)
    )


def groups_table(effects: pd.DataFrame, found: Accuracies) -> pd.DataFrame:
    """Return how many models are better in training languages, by control and group; in
    brackets significantly.
    """
    higher = effects["value"] > 0
    sure = higher & (effects["p_family_holm"] < 0.05)
    by = [effects["against"], effects["group"]]
    n_higher, n_sure = (flags.groupby(by).sum().astype(str) for flags in (higher, sure))
    n_models = higher.groupby(by).size().astype(str)
    table = (n_higher + " of " + n_models + " (" + n_sure + ")").unstack("group")
    sizes = found.groups["group"].value_counts()
    heads = [f"{name} ({sizes[name]})" for name in GROUPS]
    rows = [NO_CONTROL, *(f"minus {name}" for name in CONTROLS)]
    return table.loc[rows, GROUPS].set_axis(heads, axis=1).rename_axis("comparison")


def write(
    effects: pd.DataFrame, whole: pd.DataFrame, output: str, settings: dict
) -> None:
    """Write all differences, schema `scores`."""
    overall = whole.assign(group="all", against=whole["kind"])
    scores = pd.concat([effects, overall])
    scores = scores.assign(
        task="zeroshot",
        dataset="babel-imagenet",
        lang="",
        metric="accuracy@1 difference",
        variant="training languages minus others, " + scores["against"],
        n=(scores["n_taught"] + scores["n_other"]).astype(int),
    )
    tables.write(scores[list(tables.SCHEMAS["scores"][0])], output, "scores", settings)


class Reported(NamedTuple):
    """Reported accuracies with adapters."""

    rows: pd.DataFrame  # all: model, lang, objective, table, before, value, gain, group
    with_captions: pd.DataFrame  # trained on captions
    by_mse: pd.DataFrame  # of these, by MSE
    facts: pd.DataFrame  # by language: classes, log_tokens, log_examples


def reported_adapters(source: str) -> Reported:
    """Return the accuracies that the paper reports with adapters, and their gains."""
    printed = published.read(f"{source}-training")
    rows = printed[(printed["metric"] == "accuracy@1") & (printed["lang"] != "")]
    untrained = rows["variant"] == "no training"
    before = rows[untrained].set_index(["model", "lang"])["value"].rename("before")
    rows = rows[~untrained].drop(columns="group").join(before, on=["model", "lang"])
    rows = rows.merge(published.groups(source)[["lang", "group"]], "left", "lang")
    rows = rows.assign(
        gain=rows["value"] - rows["before"],
        objective=rows["variant"].map(VARIANTS).fillna("off-topic"),
    )
    metrics = {
        "classes": "classes",
        "tokens (millions, log10)": "log_tokens",
        "examples (log10)": "log_examples",
    }
    facts = printed[(printed["table"] == "4") & printed["metric"].isin(metrics)]
    facts = facts.pivot(index="lang", columns="metric", values="value")
    captions = rows[rows["table"] == "4"]
    by_mse = captions[captions["objective"] == "mse"]
    return Reported(rows, captions, by_mse, facts.rename(columns=metrics))


class GainOfMSE(NamedTuple):
    """What an adapter that is trained by MSE gains."""

    table: pd.DataFrame  # by model: `adapter_gains.summary`
    risen: str  # in how many languages accuracy rises
    best: str  # in how many MSE is the best objective
    points: str  # mean gain, model by model
    r: str  # correlation with the mean of before and after


def gain_of_mse(found: Reported, n_resamples: int, seed: int) -> GainOfMSE:
    """Return the mean gain of adapters by MSE and its correlation, as texts."""
    table = adapter_gains.summary(found.with_captions, n_resamples, seed)
    table = table[table["objective"] == "mse"].set_index("model")
    text = formatting.intervals(table, "+.1f", to=" to ")
    r = table[["r", "r_low", "r_high"]].set_axis(ENDS, axis=1)
    risen = [
        f"{row.n_gain} of {row.n} languages ({row.Index})" for row in table.itertuples()
    ]
    best = [
        f"{row.n_best} of {row.n} languages ({row.Index})" for row in table.itertuples()
    ]
    return GainOfMSE(
        table,
        " and ".join(risen),
        " and ".join(best),
        " and ".join(f"{gain} points in {model}" for model, gain in text.items()),
        " and ".join(formatting.intervals(r, ".2f", 1, " to ")),
    )


def by_objective(rows: pd.DataFrame) -> pd.DataFrame:
    """Return rows in the order of objectives, the best known first."""
    order = list(TITLES)
    return rows.sort_values(
        "objective", key=lambda names: names.map(order.index), kind="stable"
    )


def by_accuracy_before(rows: pd.DataFrame) -> pd.DataFrame:
    """Return gains with names for readers, languages with the lowest accuracy first."""
    before = rows.groupby("lang")["before"].mean().sort_values(kind="stable")
    order = list(before.index)
    rows = rows.assign(
        value=rows["gain"],
        language=rows["lang"].map(languages.name),
        series=rows["objective"].map(title),
    )
    return rows.sort_values(
        "lang", key=lambda codes: codes.map(order.index), kind="stable"
    )


def with_facts(found: Reported) -> pd.DataFrame:
    """Return the gains by MSE with facts of the languages, and `middle`, the mean of
    accuracy before and after.
    """
    joint = found.by_mse.merge(found.facts, on="lang")
    return joint.assign(middle=(joint["before"] + joint["value"]) / 2)


def predictors(joint: pd.DataFrame, n_resamples: int, seed: int) -> pd.DataFrame:
    """Return the correlation of each property with the gain by MSE, a column for each
    model, as text.
    """
    parts = [
        correlation.correlate(
            part, *pair, methods=["pearson"], n_resamples=n_resamples, seed=seed
        ).assign(model=model, predictor=name)
        for name, pair in PROPERTIES.items()
        for model, part in joint.groupby("model", sort=False)
    ]
    rows = pd.concat(parts, ignore_index=True)
    rows["r"] = formatting.intervals(rows, ".2f", 1, " to ")
    table = rows.pivot(index="predictor", columns="model", values="r")
    return table.loc[list(PROPERTIES)].rename_axis(columns=None).reset_index()


def objectives(
    found: Reported, kin: dict[str, str], n_resamples: int, seed: int
) -> pd.DataFrame:
    """Return the differences in gain between objectives, paired by language, over
    languages and families; `text` and `p_text` as a reader sees them.
    """
    pairs = [("mse", "text-contrastive"), ("mse", "lit"), ("lit", "text-contrastive")]
    compared = permutation.paired_difference(
        found.with_captions,
        of="objective",
        value="gain",
        by=["model"],
        pairs=pairs,
        kin=kin,
        n_resamples=n_resamples,
        seed=seed,
    )
    ends = compared[["value", *FAMILY_COLUMNS[:2]]].set_axis(ENDS, axis=1)
    names = compared["first"].map(TITLES) + " minus " + compared["second"].map(TITLES)
    return compared.assign(
        objectives=names,
        text=formatting.intervals(ends, "+.1f", to=" to "),
        p_text=formatting.language_and_family_tests(compared).iloc[:, 3],
    )


def by_text(found: Reported, n_resamples: int, seed: int) -> pd.DataFrame:
    """Return the mean change by MSE on captions and on other sentences, in the languages
    that have both, as a reader sees it.
    """
    other = found.rows[found.rows["table"] == "6"]
    same = found.by_mse[found.by_mse["lang"].isin(other["lang"])]
    both = pd.concat([other, same], ignore_index=True)
    means = adapter_gains.summary(both, n_resamples, seed)
    texts = {"mse": "captions", "off-topic": "other sentences"}
    shown = {
        "MSE on": means["objective"].map(texts),
        "model": means["model"],
        "mean change (points)": formatting.intervals(means, to=" to "),
        "languages that gain": means["n_gain"],
        "languages": means["n"],
    }
    return pd.DataFrame(shown)


def own_adapters(results: str, n_resamples: int, seed: int) -> pd.DataFrame:
    """Return the gains of the adapters that a run has trained (`adapter_gains.gains`);
    no rows where there are none.
    """
    folder = tables.locate(results)
    files = sorted(folder.glob("adapted/*.parquet"))
    adapted = [tables.read(file, "zeroshot") for file in files]
    adapted = pd.concat([tables.empty("zeroshot"), *adapted], ignore_index=True)
    bases = sorted({registry.base_of(name) for name in adapted["model"]})
    plain = [
        tables.read(folder / f"zeroshot/{model}_{dataset}.parquet", "zeroshot")
        for model in bases
        for dataset in adapted["dataset"].unique()
    ]
    plain = pd.concat([tables.empty("zeroshot"), *plain], ignore_index=True)
    return adapter_gains.gains(adapted, plain, n_resamples, seed)


def title(objective: str) -> str:
    """Return what a reader is told of an objective of adapters.

    >>> title("lora-mse"), title("mse-wikimatrix")
    ('LoRA, MSE to English texts', 'MSE to English texts, on WikiMatrix')
    """
    loss = objective.removeprefix("lora-")
    method = "" if loss == objective else "LoRA, "
    texts = ""
    for suffix, source in OTHER_TEXTS.items():
        if loss.endswith(suffix):
            loss, texts = loss.removesuffix(suffix), f", on {source}"
    return method + (TITLES | FURTHER_TITLES).get(loss, loss) + texts


def mean_gains_by_mse(rows: pd.DataFrame, n_resamples: int, seed: int) -> str:
    """Return the mean gain by MSE of each model, as text."""
    if not (rows["objective"] == "mse").any():
        return "none trained"
    means = adapter_gains.summary(rows, n_resamples, seed)
    means = means[means["objective"] == "mse"]
    text = formatting.intervals(means, "+.1f", to=" to ")
    return "; ".join(means["model"] + " " + text + " points")


def listed_languages(found: Accuracies) -> pd.DataFrame:
    """Return the number of training languages of each model, by group."""
    flagged = found.flagged
    counts = pd.crosstab(
        flagged["model"], flagged["group"], values=flagged["taught"], aggfunc="sum"
    )
    counts = counts.loc[found.names, GROUPS]
    counts = counts.assign(all=counts.sum(axis=1)).astype(int)
    sizes = found.groups["group"].value_counts()
    counts.columns = [
        f"{name} (of {sizes.get(name, len(found.groups))})" for name in counts.columns
    ]
    return counts.rename_axis(index="model").reset_index()
