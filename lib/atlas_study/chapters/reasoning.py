"""Chapter 22: judging statements about pairs of images in several languages, from the
logs that MaRVL's authors released and from a run's own answers.
"""

from typing import NamedTuple

import pandas as pd
import scipy

from babelatlas.analysis import marvl
from babelatlas.base import languages, released, tables
from babelatlas.evaluation import reasoning
from babelatlas.models import registry
from babelatlas.report import formatting
from babelatlas.stats import (
    bootstrap,
    multiple_comparisons,
    permutation,
    proportions,
)

ZERO_SHOT, TRANSLATED = "zero-shot", "translate-test"
# Table 1 of Liu et al. (2021): accuracy of two people who labelled 200 pairs again, and
# Fleiss' kappa of these and the writer.
PEOPLE = {"id": 0.963, "sw": 0.930, "zh": 0.955, "tr": 0.970, "ta": 0.980}
KAPPAS = {"id": 0.913, "sw": 0.887, "zh": 0.933, "tr": 0.954, "ta": 0.966}
N_LABELLED, N_LABELS = 200, 400
# What a reader is told of tests and data sets of the paper's Table 5.
TESTS = {
    "zero-shot": "as written",
    "translate-test": "machine translation to English",
    "translate-test by people": "translation to English by people",
    "translate-train": "as written, trained on translations to Chinese",
    "marvl": "MaRVL",
    "nlvr2-1k": "NLVR2 (1k)",
}
FORMS = [
    ("translate-test", "original"),
    ("translate-train", "original"),
    ("own translate-test", "original"),
    ("own translate-test", "translate-test"),
]


class Logs(NamedTuple):
    """Scores that the authors' logs give, and those of IGLUE."""

    every: pd.DataFrame  # all of the logs, with title and language
    marvl: pd.DataFrame  # on MaRVL, zero-shot and translated
    accuracy: pd.DataFrame  # of these, accuracy
    iglue: pd.DataFrame  # accuracy of models that only IGLUE has
    multilingual: list[str]  # titles of the models that were tested zero-shot
    english: pd.Series  # title -> accuracy on NLVR2


def logs() -> Logs:
    """Return the released scores by model, language and way of testing."""
    titles = released.models()["title"].str.removesuffix(" (VOLTA, controlled)")
    every = marvl.log_scores()
    every = every.assign(
        title=every["model"].map(titles), language=every["lang"].map(languages.name)
    )
    on_marvl = every[(every["chapter"] == "") & (every["dataset"] == "marvl")]
    on_marvl = on_marvl[on_marvl["variant"].isin([ZERO_SHOT, TRANSLATED])]
    accuracy = on_marvl[on_marvl["metric"] == "accuracy"]
    iglue = released.read(harness="iglue", dataset="marvl", metric="accuracy")
    same = iglue["variant"].isin(accuracy["variant"])
    iglue = iglue[same & ~iglue["model"].isin(accuracy["model"])]
    iglue = iglue.assign(
        title=iglue["model"].map(titles) + " (IGLUE)",
        language=iglue["lang"].map(languages.name),
    )
    nlvr2 = every[(every["dataset"] == "nlvr2") & (every["metric"] == "accuracy")]
    multilingual = accuracy.loc[accuracy["variant"] == ZERO_SHOT, "title"].unique()
    return Logs(
        every,
        on_marvl,
        accuracy,
        iglue,
        list(multilingual),
        nlvr2.set_index("title")["value"],
    )


def people() -> pd.DataFrame:
    """Return the accuracy of people by language, with exact intervals of their labels."""
    rows = pd.DataFrame({"value": PEOPLE, "title": "people"})
    low, high = proportions.exact_interval((rows["value"] * N_LABELS).round(), N_LABELS)
    names = rows.index.map(languages.name)
    return rows.assign(language=names, ci_low=low, ci_high=high)


class ByLanguage(NamedTuple):
    """Accuracy by language, of models and people."""

    cells: pd.DataFrame  # of all models and both ways of testing
    asked: pd.DataFrame  # zero-shot
    order: list[str]  # languages, the easiest first
    ranges: dict[str, str]  # way of testing -> lowest to highest, in percent
    highest: float  # of zero-shot, in percent


def by_language(found: Logs) -> ByLanguage:
    """Return accuracy by language; the easiest language zero-shot comes first."""
    cells = pd.concat([found.accuracy, found.iglue], ignore_index=True)
    asked = cells[cells["variant"] == ZERO_SHOT]
    means = asked.groupby("language")["value"].mean()
    order = list(means.sort_values(ascending=False, kind="stable").index)
    ends = 100 * cells.groupby("variant")["value"].agg(["min", "max"])
    ranges = {
        name: f"{row['min']:.1f}–{row['max']:.1f} %" for name, row in ends.iterrows()
    }
    return ByLanguage(cells, asked, order, ranges, ends.loc[ZERO_SHOT, "max"])


def in_order(rows: pd.DataFrame, order: list[str]) -> pd.DataFrame:
    """Return rows with the languages in an order."""
    return rows.sort_values(
        "language", key=lambda names: names.map(order.index), kind="stable"
    )


def means_of_models(found: Logs, n_resamples: int, seed: int) -> pd.DataFrame:
    """Return the mean of each model over languages by way of testing and metric."""
    rows = pd.concat([found.marvl, found.iglue], ignore_index=True)
    by = ["variant", "title", "metric"]
    means = bootstrap.group_means(rows, by, n_resamples=n_resamples, seed=seed)
    return means.assign(text=formatting.intervals(means))


def table_of_models(
    cells: pd.DataFrame, means: pd.DataFrame, order: list[str]
) -> pd.DataFrame:
    """Return the accuracy of every model in percent, as a reader sees it."""
    rows = cells.assign(percent=100 * cells["value"])
    table = rows.pivot(index=["title", "variant"], columns="language", values="percent")
    accuracy = means[means["metric"] == "accuracy"]
    accuracy = accuracy[["variant", "title", "text"]].rename(
        columns={"text": "mean (%)"}
    )
    table = table[order].reset_index().merge(accuracy)
    table = table.sort_values(["variant", "title"], ascending=[False, True])
    table["title"] += ", " + table.pop("variant")
    return table.rename(columns={"title": "model and test"})


def range_of_consistency(means: pd.DataFrame) -> str:
    """Return the mean consistency of the models, from the lowest to the highest."""
    rows = means[means["metric"] == "consistency"]
    ends = 100 * rows.groupby("variant")["value"].agg(["min", "max"])
    parts = [
        f"{row['min']:.1f}–{row['max']:.1f} % {name}"
        for name, row in ends[::-1].iterrows()
    ]
    return ", ".join(parts)


class Translation(NamedTuple):
    """What translation into English gains."""

    gained: str  # points on average, model by model
    left: str  # points to English NLVR2
    n_languages: int


def gain_of_translation(
    found: Logs, means: pd.DataFrame, n_resamples: int, seed: int
) -> Translation:
    """Return how much more accurate multilingual models are on English translations."""
    rows = found.accuracy[found.accuracy["title"].isin(found.multilingual)]
    gains = permutation.paired_difference(
        rows,
        of="variant",
        by=["title"],
        pairs=[(TRANSLATED, ZERO_SHOT)],
        n_resamples=n_resamples,
        seed=seed,
    )
    text = formatting.intervals(gains, to=" to ")
    translated = means[
        (means["variant"] == TRANSLATED) & (means["metric"] == "accuracy")
    ].set_index("title")["value"]
    left = [
        f"{100 * (found.english[title] - translated[title]):.1f} points ({title})"
        for title in found.multilingual
    ]
    return Translation(
        " and ".join(text + " points for " + gains["title"]),
        " and ".join(left),
        int(gains["n"].min()),
    )


class Controls(NamedTuple):
    """The paper's two controls (Table 5)."""

    table: pd.DataFrame  # for a reader
    lost: str  # from English to Chinese on the same photographs
    by_people: str  # points by which translations by people are better
    n_models: int
    left: float  # points to English NLVR2


def controls(found: Logs, n_resamples: int, seed: int) -> Controls:
    """Return accuracy on the same photographs in Chinese, and with translations by
    people.
    """
    every = found.every
    chinese = (every["lang"] == "zh") & (every["dataset"] == "marvl")
    rows = every[(every["dataset"] == "nlvr2-1k") | chinese]
    rows = rows[(rows["metric"] == "accuracy") & (rows["chapter"] == "")]
    names = rows[["dataset", "language", "variant"]].replace(TESTS)
    rows = rows.assign(
        test=names.agg(", ".join, axis=1), text=formatting.intervals(rows)
    )
    values = rows.pivot(index="title", columns="test", values="value")

    def column(pattern: str) -> pd.Series:
        return values.filter(regex=pattern).iloc[:, 0]

    by_hand, by_machine = column("by people"), column("machine")
    lost = (column("NLVR2.*English") - column("NLVR2.*Chinese")).dropna()
    gain = bootstrap.mean_interval(
        (by_hand - by_machine).dropna(), n_resamples=n_resamples, seed=seed
    )
    parts = [f"{name} loses {100 * value:.1f} points" for name, value in lost.items()]
    table = rows.pivot(index="test", columns="title", values="text")
    return Controls(
        table[found.multilingual].rename_axis(columns=None),
        " and ".join(parts),
        formatting.intervals(gain, to=" to ").item(),
        gain["n"].item(),
        100 * (found.english - by_hand).mean(),
    )


class Fields(NamedTuple):
    """Zero-shot accuracy by chapter of the Intercontinental Dictionary Series."""

    n_significant: int
    n_tests: int
    least_p: float
    n_pairs: tuple[int, int]  # fewest and most pairs of a chapter
    widths: tuple[float, float]  # of the intervals, in points


def semantic_fields(found: Logs) -> Fields:
    """Return whether accuracy differs between semantic fields: chi-squared tests by
    model and language, Holm-adjusted.
    """
    every = found.every
    rows = every[(every["chapter"] != "") & (every["metric"] == "accuracy")]
    p_values = []
    for _, part in rows.groupby(["title", "language"]):
        n_right = (part["value"] * part["n"]).round()
        counts = [n_right, part["n"] - n_right]
        p_values.append(scipy.stats.chi2_contingency(counts, correction=False).pvalue)
    adjusted = multiple_comparisons.holm(p_values)
    widths = 100 * (rows["ci_high"] - rows["ci_low"])
    return Fields(
        (adjusted < 0.05).sum(),
        len(adjusted),
        adjusted.min(),
        (rows["n"].min(), rows["n"].max()),
        (widths.min(), widths.max()),
    )


def agreement_of_people(human: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Return accuracy and kappa of people on MaRVL and NLVR2, as a reader sees them."""
    nlvr2 = reasoning.annotator_agreement(marvl.labels(), seed=seed).set_index("metric")
    accuracy = pd.concat([human, nlvr2.loc[["accuracy"]]])
    kappa = formatting.intervals(nlvr2.loc[["kappa"]], ".3f", 1, " to ")
    shown = {
        "language": [*human["language"], "English"],
        "data set": ["MaRVL"] * len(human) + ["NLVR2"],
        "accuracy of people (%)": formatting.intervals(accuracy),
        "Fleiss' kappa": [*(f"{k:.3f} (reported)" for k in KAPPAS.values()), *kappa],
        "pairs": [N_LABELLED] * len(human) + [int(nlvr2.loc["kappa", "n"])],
    }
    return pd.DataFrame(shown)


def answers_of(results: str) -> pd.DataFrame:
    """Return what a run's models answered, schema `answers`; no rows where it has none."""
    files = sorted(tables.locate(results).glob("answers/*.parquet"))
    parts = [tables.empty("answers"), *(tables.read(file, "answers") for file in files)]
    return pd.concat(parts, ignore_index=True)


def tiny(answers: pd.DataFrame) -> list[str]:
    """Return the models of the answers that are the miniature's."""
    return [
        name
        for name in answers["model"].unique()
        if name in registry.known() and registry.get_model(name).embedded
    ]


def accuracy_of(answers: pd.DataFrame, n_resamples: int, seed: int) -> pd.DataFrame:
    """Return accuracy by language, model and form of the statement, with intervals over
    statements.
    """
    rows = reasoning.accuracy_and_consistency(
        answers, n_resamples=n_resamples, seed=seed
    )
    rows = rows[rows["metric"] == "accuracy"]
    rows = rows.assign(
        language=rows["lang"].map(languages.name),
        panel=rows["dataset"] + "\n" + rows["model"],
        variant=rows["variant"].replace({"original": "as written"}),
    )
    return rows.sort_values(["panel", "language"])


def forms_compared(
    answers: pd.DataFrame, n_permutations: int, n_resamples: int, seed: int
) -> pd.DataFrame:
    """Return the differences between forms of the statement, as a reader sees them."""
    compared = reasoning.compare(
        answers,
        "variant",
        FORMS,
        by=["dataset", "model"],
        n_permutations=n_permutations,
        n_resamples=n_resamples,
        seed=seed,
    )
    names = compared["first"] + " minus " + compared["second"]
    p_values = compared[["p_statements_holm", "p_statements"]].to_numpy()
    shown = {
        "model": compared["model"],
        "compared": names.str.replace("original", "as written"),
        "difference (points)": formatting.intervals(compared, to=" to "),
        "p, McNemar": compared["p_holm"].map(formatting.p_value),
        "p, statements": [
            formatting.p_value(*p, 1 / (n_permutations + 1)) for p in p_values
        ],
    }
    return pd.DataFrame(shown)
