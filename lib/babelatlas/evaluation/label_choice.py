"""Other words for the same classes: label sets from one kind of source, and from other
lemmas.

How far do accuracies, and the order of models and of languages, depend on the choice
among the words that name a class? Each other set is compared with the one in use, in
each language on the classes that both name.

A result of such a comparison is a `zeroshot` table with two parts for each other set:
`labels` is "pictograms beside wiktionary" where the labels in use were, "wiktionary
instead of pictograms" where Wiktionary's words took their place, in the same languages
and on the same classes of each. `paired` sets them side by side.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd

from babelatlas.base import languages, tables
from babelatlas.base.errors import InputError
from babelatlas.evaluation import embedding, zeroshot
from babelatlas.lexicon import labels as label_sets
from babelatlas.lexicon import prompts as prompt_sets
from babelatlas.stats import (
    FAMILY_COLUMNS,
    correlation,
    multiple_comparisons,
    permutation,
)

# Sets that are made of the senses -> what they are.
SETS = {
    "wordnets": "the best word of the wordnets alone",
    "wiktionary": "the best word of Wiktionary alone",
    "first": "the first word listed, whether or not other sources have it",
    "alternative": (
        "another word of the same class, the best of those that were not chosen"
    ),
    "clip": "the English class names that CLIP's authors curated",
}
BESIDE, INSTEAD = " beside ", " instead of "


def of_kinds(senses: pd.DataFrame, wnids: list[str]) -> dict[str, pd.DataFrame]:
    """Return a label set (schema `labels`) for each kind of source among the senses
    (schema `senses`): see `SETS`.

    The words are cleaned, and rid of those that equal an English one in any source, as
    for `labels.label_set` with its defaults. Then each kind chooses among its own
    words.
    """
    left = label_sets.candidates(senses, wnids)
    # A source that is neither a wordnet nor Wiktionary is a kind of its own.
    kinds = left["source"].mask(
        left["source"].str.startswith(("omw", "wordnet")), "wordnets"
    )
    kinds = kinds.replace("wikt", "wiktionary")
    in_order = sorted(
        kinds.unique(), key=lambda kind: ([*SETS, kind].index(kind), kind)
    )
    found = {}
    for kind in in_order:
        ranked = label_sets.rank(left[kinds == kind].reset_index(drop=True))
        chosen = label_sets.choose_first(ranked)
        found[kind] = label_sets.settle_clashes(chosen, ranked)
    return found


def alternative(chosen: pd.DataFrame) -> pd.DataFrame:
    """Return a label set of words that a label set (schema `labels`) did not choose:
    columns lang, wnid, label.

    A class takes the first of its alternatives that is neither a label of its language
    nor what a class before it took; a class without such a word is not in the set.
    """
    labels = zip(chosen["lang"], chosen["label"], strict=True)
    taken = {(lang, label_sets.same(label)) for lang, label in labels}
    rows = []
    for row in chosen.itertuples():
        for word in row.alternatives:
            key = (row.lang, label_sets.same(word))
            if key not in taken:
                taken.add(key)
                rows.append((row.lang, row.wnid, word))
                break
    return pd.DataFrame(rows, columns=["lang", "wnid", "label"], dtype=str)


def pairs(
    chosen: pd.DataFrame,
    others: dict[str, pd.DataFrame],
    classes: dict[str, list[str]],
    codes: Iterable[str] = (),
    minimum_classes: int = 1,
) -> pd.DataFrame:
    """Return the two words of each class that the label set in use and another one both
    name.

    `chosen` and each of `others` (name of the set -> table) have the columns lang,
    wnid, label; `classes`: language -> the wnids that were evaluated. Columns: set,
    lang, wnid, label (chosen), other, same (whether the two are one word,
    `labels.same`); in the order of `classes`. `codes`: languages to keep, all unless
    given. Left out are a language in which a set shares fewer than `minimum_classes`
    classes, and one in which no word differs. Raises InputError where nothing is left.
    """
    wanted = [languages.canonical(code) for code in codes] or list(classes)
    rows = [
        (lang, wnid) for lang in classes if lang in wanted for wnid in classes[lang]
    ]
    key = ["lang", "wnid"]
    evaluated = pd.DataFrame(rows, columns=key, dtype=str)
    evaluated = evaluated.merge(chosen[[*key, "label"]], "inner", key)
    parts = []
    for name, table in others.items():
        other = table[[*key, "label"]].rename(columns={"label": "other"})
        both = evaluated.merge(other, "inner", key)
        label, other_label = both["label"].map(label_sets.same), both["other"]
        both["same"] = (label == other_label.map(label_sets.same)).astype(bool)
        of_language = both.groupby("lang")["same"]
        is_enough = of_language.transform("size") >= minimum_classes
        some_differ = ~of_language.transform("all")
        parts.append(both[is_enough & some_differ].assign(set=name))
    table = pd.concat(parts, ignore_index=True)
    if table.empty:
        raise InputError(
            f"No other label set shares {minimum_classes} classes with the one in use"
            " and has another word for one: lower minimum_classes, or give senses of"
            " more sources."
        )
    # A set without any language has no type of its own.
    return table[["set", "lang", "wnid", "label", "other", "same"]].astype(
        {"same": bool}
    )


def templates(used: dict[str, str], paths: Sequence[str] = ()) -> pd.DataFrame:
    """Return the templates that class vectors were made with, schema `templates`.

    `used`: language -> name of its set, as `zeroshot.read_protocol` says; `paths`:
    tables of templates, for sets that the study does not know. Raises InputError for a
    set that is in neither.
    """
    given = [tables.read(path, "templates") for path in paths]
    given = pd.concat([tables.empty("templates"), *given], ignore_index=True)
    parts = []
    for name in dict.fromkeys(used.values()):
        codes = [lang for lang, prompts in used.items() if prompts == name]
        if name in prompt_sets.NAMES:
            parts.append(prompt_sets.for_languages(codes, [name]))
            continue
        part = given[(given["prompts"] == name) & given["lang"].isin(codes)]
        absent = sorted(set(codes) - set(part["lang"]))
        if absent:
            lang = absent[0]
            raise InputError(
                f"The vectors were made with the prompts {name!r} in"
                f" {languages.name(lang)} ({lang}), which are in none of the tables:"
                " give the table of templates that the vectors were made with."
            )
        parts.append(part)
    return pd.concat(parts, ignore_index=True)


def vectors(
    encoder,
    table: pd.DataFrame,
    classes: zeroshot.Classes,
    texts: pd.DataFrame,
    rules: dict[str, str],
    cache: str = "",
    nllb_languages: Mapping[str, str] | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the class vectors of the words in use and of another set's, each (rows of
    `table`, d).

    `table`: rows of one set of `pairs`; `classes`: the stored vectors
    (`zeroshot.read_vectors`), made in the templates `texts`. What is stored is not
    embedded again. `rules`, `cache` and `nllb_languages` as in
    `embedding.embed_by_rules`.
    """
    other_words = table.assign(label=table["other"])
    how = (rules, cache, nllb_languages)
    if hasattr(encoder, "join"):  # a bridge's vectors depend on all words of a call
        in_use, _ = embedding.embed_by_rules(encoder, table, texts, *how)
        other, _ = embedding.embed_by_rules(encoder, other_words, texts, *how)
        return in_use, other
    stored = {
        (lang, wnid): vector
        for lang, (wnids, of_language) in classes.items()
        for wnid, vector in zip(wnids, of_language, strict=True)
    }
    keys = zip(table["lang"], table["wnid"], strict=True)
    in_use = np.stack([stored[key] for key in keys])
    # Letter by letter: a model may tell a capital from a small letter.
    differs = (table["other"] != table["label"]).to_numpy()
    other = in_use.copy()
    if differs.any():
        other[differs], _ = embedding.embed_by_rules(
            encoder, other_words[differs], texts, *how
        )
    return in_use, other


def evaluate(
    images: np.ndarray,
    image_wnids: Iterable[str],
    table: pd.DataFrame,
    chosen: np.ndarray,
    other: np.ndarray,
    name: str,
) -> pd.DataFrame:
    """Return the right predictions with the words in use and with another set's, on the
    same classes.

    `table`: rows of one set of `pairs`; `chosen` and `other` (rows of `table`, d) the
    class vectors of both. `name` is that of the label set in use. Returns what
    `zeroshot.evaluate` returns, with lang and `labels`, which says whose words they are
    ("pictograms beside first", "first instead of pictograms").
    """
    image_wnids = np.asarray(list(image_wnids))
    set_name = table["set"].iloc[0]
    sides = {f"{name}{BESIDE}{set_name}": chosen, f"{set_name}{INSTEAD}{name}": other}
    parts = []
    for lang, rows in table.reset_index(drop=True).groupby("lang", sort=False):
        wnids = rows["wnid"].tolist()
        is_shared = np.isin(image_wnids, wnids)
        of_classes = (images[is_shared], image_wnids[is_shared])
        for labels, class_vectors in sides.items():
            counts = zeroshot.evaluate(*of_classes, class_vectors[rows.index], wnids)
            parts.append(counts.assign(labels=labels, lang=lang))
    return pd.concat(parts, ignore_index=True)


def paired(counts: pd.DataFrame) -> pd.DataFrame:
    """Return the accuracy with the words in use and with each other set's, side by
    side.

    `counts`: `zeroshot` tables of such comparisons (`evaluate`). One row for each
    model, data set, other set (`set`) and language: base, other (accuracies,
    fractions), value (other minus base), base_prompts, prompts (of the other),
    n_classes, n (images).
    """
    names = counts["labels"].drop_duplicates()
    sides = pd.DataFrame([_side(name) for name in names], index=names)
    table = counts.join(sides, on="labels")
    key = ["model", "dataset", "in_use", "set", "lang"]
    columns = {
        "right": ("n_correct", "sum"),
        "n": ("n_images", "sum"),
        "n_classes": ("wnid", "nunique"),
        "prompts": ("prompts", "first"),
    }
    base = table[table["is_base"]].groupby(key, sort=False).agg(**columns)
    other = table[~table["is_base"]].groupby(key, sort=False).agg(**columns)
    both = base.merge(
        other,
        left_index=True,
        right_index=True,
        suffixes=("_base", ""),
        validate="one_to_one",
    )
    both["base"] = both["right_base"] / both["n_base"]
    both["other"] = both["right"] / both["n"]
    both["value"] = both["other"] - both["base"]
    both["base_prompts"] = both["prompts_base"]
    numbers = ["base", "other", "value", "base_prompts", "prompts", "n_classes", "n"]
    return both.astype({"n": int})[numbers].reset_index()


def _side(labels: str) -> dict:
    """Return what a name of `evaluate` stands for: the set in use, the other set, and
    whether the words are those in use.
    """
    if BESIDE in labels:
        in_use, other = labels.split(BESIDE, 1)
        return {"in_use": in_use, "set": other, "is_base": True}
    other, in_use = labels.split(INSTEAD, 1)
    return {"in_use": in_use, "set": other, "is_base": False}


def changes(
    table: pd.DataFrame,
    by: Sequence[str] = ("model", "dataset", "set"),
    n_resamples: int = 2000,
    seed: int = 0,
    kin: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """Return what other words, or other prompts, change on the mean over languages, and
    in the order of the languages.

    `table`: the columns `by`, lang, base and other (accuracies, fractions), one row for
    each language. Columns of the result: by, base, other (means), value (other minus
    base), ci_low, ci_high (bootstrap over languages), p (paired sign-flip test), p_holm
    (Holm's correction over all rows of the result), tau, tau_low, tau_high (Kendall's
    tau-b of the languages by both, with its interval over languages), n (languages).
    One language alone has no interval, test and tau, and two have no tau. `kin`: as in
    `permutation.paired_difference`.
    """
    by = list(by)
    rows = []
    for key, part in table.groupby(by, sort=False):
        gap = (part["other"] - part["base"]).to_numpy()
        row = dict(zip(by, key, strict=True)) | {
            "base": part["base"].mean(),
            "other": part["other"].mean(),
            "value": gap.mean(),
            "ci_low": np.nan,
            "ci_high": np.nan,
            "p": np.nan,
            "p_holm": np.nan,
            "tau": np.nan,
            "tau_low": np.nan,
            "tau_high": np.nan,
            "n": len(part),
        }
        if kin:
            families = part["lang"].map(kin)
            numbers = permutation.paired_mean_over_families(
                gap, families, n_resamples, seed
            )
            row |= dict(zip(FAMILY_COLUMNS, numbers, strict=True))
        if len(part) > 1:
            numbers = permutation.paired_mean(gap, part["lang"], n_resamples, seed=seed)
            _, row["ci_low"], row["ci_high"], row["p"] = numbers
        row |= _order_kept(part, n_resamples, seed)
        rows.append(row)
    changed = pd.DataFrame(rows)
    are_numbers = changed.columns.drop([*by, "n", *(FAMILY_COLUMNS if kin else [])])
    return multiple_comparisons.with_holm(
        changed.astype(dict.fromkeys(are_numbers, float))
    )


def _order_kept(part: pd.DataFrame, n_resamples: int, seed: int) -> dict[str, float]:
    """Return Kendall's tau-b of the languages by base and by other with its interval;
    nothing where there is none.
    """
    varies = len(part) > 2 and np.ptp(part["base"]) > 0 and np.ptp(part["other"]) > 0
    if not varies:
        return {}
    found = correlation.correlate(
        part, "base", "other", "lang", ["kendall"], n_resamples, seed=seed
    )
    tau, low, high = found.loc[0, ["value", "ci_low", "ci_high"]]
    return {"tau": tau, "tau_low": low, "tau_high": high}
