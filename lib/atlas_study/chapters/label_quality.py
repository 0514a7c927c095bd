"""How many labels are wrong: what a reader judged, what can be seen from the words, and
how far sources, Babel-ImageNet and translations agree.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd
from statsmodels.stats.proportion import proportion_confint

import babelatlas as ba
from babelatlas.analysis import label_quality as counts_of
from babelatlas.base import languages
from babelatlas.lexicon import (
    cleaning,
    label_sheets,
    label_translations,
    labels,
    senses,
)
from babelatlas.report import formatting

UNCLEANED, THEIRS, CLEANED = "sources, uncleaned", "Babel-ImageNet", "this study"
ANY = counts_of.ANY
DEFECTS_AND_ANY = [*counts_of.DEFECTS, ANY]
# Metric of an audit -> its column.
AUDITED = {
    "label error rate": "wrong (%)",
    "label error rate, unsure right": "if unsure is correct (%)",
    "label error rate, unsure wrong": "if unsure is wrong (%)",
}
# With what Babel-ImageNet's label is compared -> row and column of the page's tables.
COMPARED = {f"label, {name}": f"our label, {name} word" for name in labels.CHOICES}
COMPARED |= {"word": "our label or an alternative", "wikt": "a word of Wiktionary"}
COMPARED_HEADS = {f"label, {name}": f"our {name} word" for name in labels.CHOICES}
COMPARED_HEADS |= {"word": "any of our words", "wikt": "Wiktionary"}
CHOICES = {name: f"{name} word" for name in labels.CHOICES}
MEASURES = {
    "label": "same word",
    "any word": "among the words",
    "similarity": "similarity",
}


class Words(NamedTuple):
    """A label set of ImageNet's classes and what it was made from."""

    labels: pd.DataFrame  # schema `labels`
    senses: pd.DataFrame  # schema `senses`, of its classes
    codes: list[str]  # languages that Babel-ImageNet has, too
    english_note: str  # which English class names it has


class Audit(NamedTuple):
    """What a reader judged of a random sample of labels."""

    rates: pd.DataFrame  # schema `scores`: shares of wrong labels
    table: pd.DataFrame  # the same, as a page shows it
    wrong: pd.DataFrame  # labels judged wrong or unsure
    judge: str
    date: str
    n_labels: int  # judged, and not changed since
    n_languages: int


class Defects(NamedTuple):
    """Defects that the words show, in labels of the same languages."""

    rates: (
        pd.DataFrame
    )  # labels, lang ("" for all), language, check, count, value, ci, n
    table: pd.DataFrame  # of those over all languages, as a page shows it
    sizes: dict[str, int]  # name of a label set -> number of its labels
    n_cleaned: int  # labels of this study
    n_cleaned_with_defect: int
    bound: float  # percent, of the latter, if there is none


class Agreement(NamedTuple):
    """How often Babel-ImageNet's label is one of our words."""

    pooled: pd.DataFrame  # source, value, interval over languages, n
    table: pd.DataFrame  # of `pooled`, as a page shows it
    by_language: pd.DataFrame  # percent of the classes in common


def read_words(label_path: str, sense_path: str) -> Words:
    """Return a label set and its senses; those that ship, where `sense_path` is ""."""
    table = ba.read_table(label_path, "labels")
    wnids = table["wnid"].unique().tolist()
    read = ba.read_table(sense_path, "senses") if sense_path else None
    all_senses = senses.for_classes(wnids) if read is None else read
    theirs = counts_of.shipped("audit")
    return Words(
        labels=table,
        senses=all_senses[all_senses["wnid"].isin(wnids)],
        codes=sorted(set(table["lang"]) & set(theirs["lang"])),
        english_note=formatting.english_note({"this label set": table}),
    )


# What a reader judged
# ----------------------------------------------------------------------------------


def audit() -> Audit:
    """Return the audit of this study's labels that ships, without the labels that have
    changed since.
    """
    judged = label_sheets.audit(labels.shipped())
    current = judged[~judged["outdated"]]
    is_latin = current["lang"].map(_is_written_in_latin)
    groups = {
        "all": current,
        "Latin script": current[is_latin],
        "other scripts": current[~is_latin],
    }
    parts = [label_sheets.error_rates(part, name) for name, part in groups.items()]
    rates = pd.concat(parts, ignore_index=True)
    return Audit(
        rates=rates,
        table=_audit_table(rates, list(groups)),
        wrong=_judged_wrong(current),
        judge=judged["judge"].iloc[0],
        date=judged["date"].iloc[0],
        n_labels=len(current),
        n_languages=len(label_sheets.AUDITED.split()),
    )


def _is_written_in_latin(code: str) -> bool:
    return "Latn" in languages.native_scripts(code)


def _audit_table(rates: pd.DataFrame, groups: list[str]) -> pd.DataFrame:
    shown = rates[rates["metric"].isin(AUDITED)]
    shown = shown.assign(column=shown["metric"].map(AUDITED), text=ba.intervals(shown))
    table = shown.pivot(index="variant", columns="column", values="text")
    table = table.loc[groups, list(AUDITED.values())]
    sure = rates[rates["metric"] == "label error rate"].set_index("variant")["n"]
    table.insert(0, "judged, sure", sure.astype(int))
    return table.rename_axis("labels", axis=0).rename_axis(None, axis=1)


def _judged_wrong(current: pd.DataFrame) -> pd.DataFrame:
    classes = labels.class_list("imagenet-1k").rename(columns={"name": "class"})
    wrong = current[current["verdict"] != "right"].merge(classes, on="wnid")
    wrong["language"] = wrong["lang"].map(ba.language_name)
    wrong["label"] = list(map(formatting.word, wrong["label"], wrong["lang"]))
    return wrong[["language", "label", "class", "verdict", "reason"]]


# What the words show
# ----------------------------------------------------------------------------------


def defects(words: Words, n_resamples: int = 2000, seed: int = 0) -> Defects:
    """Return how many labels have which defects: of Babel-ImageNet, of the first words
    of this study's sources, and of its cleaned labels.

    All over the languages of `words.codes`, each set over the classes that it has.
    """
    theirs = counts_of.shipped("audit")
    first_words = _first_words(words)
    flagged = counts_of.flags(words.labels, words.senses)
    counted = {
        UNCLEANED: counts_of.counts(counts_of.flags(first_words, words.senses)),
        THEIRS: theirs[theirs["lang"].isin(words.codes)],
    }
    cleaned = counts_of.counts(flagged[flagged["lang"].isin(words.codes)])
    n_cleaned = cleaned["n"].sum()
    bound = ba.exact_interval(0, n_cleaned, 0.9)[1]
    parts = [
        rates(table, n_resamples, seed).assign(labels=name)
        for name, table in counted.items()
    ]
    all_rates = pd.concat(parts)
    names = {code: ba.language_name(code) for code in all_rates["lang"] if code}
    sizes = {name: table["n"].sum() for name, table in counted.items()}
    return Defects(
        rates=all_rates.assign(language=all_rates["lang"].map(names)),
        table=_defect_table(all_rates[all_rates["lang"] == ""], sizes),
        sizes=sizes,
        n_cleaned=n_cleaned,
        n_cleaned_with_defect=cleaned[counts_of.ANY].sum(),
        bound=np.ceil(1e4 * bound) / 100,
    )


def _first_words(words: Words) -> pd.DataFrame:
    """Return the first word that the sources list for each class, not cleaned."""
    rows = words.senses["lang"].isin([*words.codes, labels.ENGLISH])
    return labels.label_set(
        words.senses[rows],
        words.labels["wnid"].unique().tolist(),
        choice="first",
        english="keep",
        clashes="keep",
        rules=[],
        without=[],
    )


def rates(
    counted: pd.DataFrame, n_resamples: int = 2000, seed: int = 0
) -> pd.DataFrame:
    """Return the share of labels with each check, by language and over all.

    Columns: lang, check, count, value (count of n), ci_low, ci_high, n (labels).
    `counted`: what `babelatlas.analysis.label_quality.counts` returns, or the same read
    from a shipped file. A language's interval is Wilson's, as if its labels were a
    sample. The rows with `lang` "" are over all labels, with a bootstrap interval that
    draws languages, because labels of one language have the same defects; a single
    language has none (NaN).
    """
    checks = [name for name in counted if name not in ("lang", "n")]
    long = counted.melt(["lang", "n"], checks, "check", "count")
    low, high = proportion_confint(long["count"], long["n"], method="wilson")
    by_language = long[["lang", "check", "count"]].assign(
        value=long["count"] / long["n"], ci_low=low, ci_high=high, n=long["n"]
    )
    pooled = ba.accuracy_interval(
        long.assign(all=""), ["all", "check"], "lang", "count", "n", n_resamples, seed
    )
    pooled = pooled.set_index("check").loc[checks].reset_index()
    total = long.groupby("check")["count"].sum()[checks].to_numpy()
    pooled = pooled.assign(lang="", count=total)
    return pd.concat([pooled[list(by_language)], by_language], ignore_index=True)


def _defect_table(pooled: pd.DataFrame, sizes: dict[str, int]) -> pd.DataFrame:
    """Return counts and percent of labels with each defect that any label set has, and
    each remark, with what it means.

    `pooled`: the rates over all languages; `sizes` names the sets.
    """
    highest = pooled.groupby("check")["value"].max()
    shown = highest[(highest > 0) | highest.index.isin(counts_of.REMARKS)].index
    rows = pooled[pooled["check"].isin(shown)]
    percent = (100 * rows["value"]).map("{:.2f}".format)
    rows = rows.assign(text=rows["count"].map("{:,}".format) + " (" + percent + ")")
    table = rows.pivot(index="check", columns="labels", values="text")[list(sizes)]
    meanings = counts_of.CHECKS | {
        counts_of.ANY: "one of those above, without the remarks"
    }
    table = table.loc[[name for name in meanings if name in table.index]]
    table = table.rename(columns="{}: labels (%)".format)
    table = table.rename_axis(columns=None).rename_axis("defect or remark")
    return table.assign(meaning=table.index.map(meanings)).reset_index()


def rule_changes(words: Words) -> pd.DataFrame:
    """Return how many labels each rule for words that are spelt correctly changes, and
    leaves out, in all and by language (text); a row for each rule.
    """
    rules = cleaning.STEPS[len(cleaning.SPELLING) :]
    wnids = words.labels["wnid"].unique().tolist()
    spelt = cleaning.clean(words.senses, cleaning.SPELLING)
    with_all = labels.label_set(spelt, wnids, rules=rules)
    changes = []
    for rule in rules:
        others = [name for name in rules if name != rule]
        without = labels.label_set(spelt, wnids, rules=others)
        both = without.merge(
            with_all, on=["lang", "wnid"], how="outer", suffixes=("_before", "")
        )
        changed = both[both["label_before"] != both["label"]]
        changes.append(changed.assign(rule=rule))
    changed = pd.concat(changes).astype(object).fillna("")
    changed["what"] = np.where(
        changed["label"] == "", "labels left out", "labels changed"
    )
    table = pd.crosstab(changed["rule"], changed["what"]).reindex(
        index=rules, columns=["labels changed", "labels left out"], fill_value=0
    )
    sizes = changed.groupby("rule")["lang"].value_counts().rename("n").reset_index()
    texts = sizes["lang"].map(ba.language_name) + " " + sizes["n"].astype(str)
    by_language = texts.groupby(sizes["rule"]).agg("; ".join)
    return table.assign(**{"by language": by_language}).rename_axis(columns=None)


# How far others agree
# ----------------------------------------------------------------------------------


def between_sources(words: Words) -> pd.DataFrame:
    """Return how often two sources have a word in common, as
    `babelatlas.analysis.label_quality.between_sources`, with `row`: language and
    sources.
    """
    between = counts_of.between_sources(cleaning.clean(words.senses))
    first = between["first"].str.removeprefix("omw-")
    second = between["second"].str.removeprefix("omw-")
    sources = (first + " and " + second).str.replace("wikt", "Wiktionary")
    return between.assign(row=between["lang"].map(ba.language_name) + ": " + sources)


def with_babel_imagenet(
    codes: list[str], n_resamples: int = 2000, seed: int = 0
) -> Agreement:
    """Return how often Babel-ImageNet's label is one of our words, over some languages
    and in each of them.
    """
    counted = counts_of.shipped("agreement")
    counted = counted[counted["lang"].isin(codes)]
    pooled = ba.accuracy_interval(
        counted.assign(all=""),
        ["all", "source"],
        "lang",
        "count",
        "n",
        n_resamples,
        seed,
    )
    shown = pooled[pooled["source"].isin(COMPARED)]
    table = pd.DataFrame(
        {
            "Babel-ImageNet's label is": shown["source"].map(COMPARED),
            "share of the classes (%)": ba.intervals(shown),
            "languages": shown["source"].map(counted["source"].value_counts()),
            "classes in common": shown["n"].astype(int),
        }
    )
    return Agreement(pooled, table, _agreement_by_language(counted))


def _agreement_by_language(counted: pd.DataFrame) -> pd.DataFrame:
    percent = counted.assign(value=(100 * counted["count"] / counted["n"]).round(0))
    rows = percent[percent["source"].isin(COMPARED)]
    table = rows.pivot_table(index="lang", columns="source", values="value")
    columns = [name for name in COMPARED if name in table]
    table = table[columns].rename_axis(columns=None).astype("Int64")
    table = table.rename(columns=COMPARED_HEADS)

    wordnets = percent[percent["source"].str.startswith("omw-")]
    wordnets = wordnets.assign(
        text=[
            f"{row.source.removeprefix('omw-')} {row.value:.0f}"
            for row in wordnets.itertuples()
        ]
    )
    texts = wordnets.groupby("lang")["text"].agg(", ".join).rename("wordnets")

    table = table.join(texts)
    table.insert(0, "classes in common", percent.groupby("lang")["n"].max())
    table.insert(0, "language", table.index.map(ba.language_name))
    return table.sort_values("classes in common", ascending=False, kind="stable")


def with_translations() -> pd.DataFrame:
    """Return how near label sets come to translations in four languages, the table that
    ships: with language, set and panel (NaN for a measure without one), by panel.
    """
    sets = {name: f"ours, {name} word" for name in labels.CHOICES}
    sets |= {"babel-imagenet": "Babel-ImageNet"}
    near = counts_of.shipped("translations")
    return near.assign(
        language=near["lang"].map(ba.language_name),
        set=near["labels"].map(sets),
        panel=near["measure"].map(MEASURES),
    )


def differences_of_choices() -> pd.DataFrame:
    """Return how much oftener one label set than another has the translation, with
    p_holm, and as a page shows it: language, label sets, difference (points), p,
    classes.
    """
    names = CHOICES | {"babel-imagenet": "Babel-ImageNet"}
    table = counts_of.shipped("choices").query("measure == 'label'")
    first = table["first"].replace(names)
    second = table["second"].replace(names)
    p_values = map(ba.p_value, table["p_holm"], table["p"])
    return pd.DataFrame(
        {
            "language": table["lang"].map(ba.language_name),
            "label sets": first + " − " + second,
            "difference (points)": ba.intervals(table, to=" to "),
            "p": list(p_values),
            "classes": table["n"],
            "p_holm": table["p_holm"],
        }
    )


def translation_sources() -> str:
    """Return where the translations come from, as text, by language."""
    texts = [
        f"{ba.language_name(lang)}: {source}"
        for lang, (_, source) in label_translations.TRANSLATIONS.items()
    ]
    return "; ".join(texts)


def labels_to_judge(error_rate: float, widths: list[float]) -> pd.DataFrame:
    """Return how many labels have to be judged for an exact interval of each width
    (fractions) at an error rate.

    >>> labels_to_judge(0.05, [0.2]).to_numpy().tolist()
    [['20 points', 29, '0.3–20.1']]
    """
    rows = []
    for width in widths:
        n_labels = label_sheets.needed(width, error_rate)
        low, high = ba.exact_interval(error_rate * n_labels, n_labels)
        rows.append(
            (
                f"{100 * width:.0f} points",
                n_labels,
                f"{100 * low:.1f}–{100 * high:.1f}",
            )
        )
    columns = ["width of the interval", "labels to judge", "interval (%)"]
    return pd.DataFrame(rows, columns=columns)
