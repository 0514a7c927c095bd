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
from babelatlas.stats import correlation, multiple_comparisons, permutation

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
    found = {}
    for name in sorted(
        kinds.unique(), key=lambda name: ([*SETS, name].index(name), name)
    ):
        ranked = label_sets.rank(left[kinds == name].reset_index(drop=True))
        found[name] = label_sets.settle_clashes(label_sets.choose_first(ranked), ranked)
    return found


def alternative(chosen: pd.DataFrame) -> pd.DataFrame:
    """Return a label set of words that a label set (schema `labels`) did not choose:
    columns lang, wnid, label.

    A class takes the first of its alternatives that is neither a label of its language
    nor what a class before it took; a class without such a word is not in the set.
    """
    taken = {
        (row.lang, label_sets.same(row.label))
        for row in chosen[["lang", "label"]].itertuples()
    }
    rows = []
    for lang, wnid, words in zip(
        chosen["lang"], chosen["wnid"], chosen["alternatives"], strict=True
    ):
        word = next(
            (word for word in words if (lang, label_sets.same(word)) not in taken), ""
        )
        if word:
            taken.add((lang, label_sets.same(word)))
            rows.append((lang, wnid, word))
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
        (lang, wnid)
        for lang, wnids in classes.items()
        if lang in wanted
        for wnid in wnids
    ]
    evaluated = pd.DataFrame(rows, columns=["lang", "wnid"], dtype=str)
    evaluated = evaluated.merge(
        chosen[["lang", "wnid", "label"]], "inner", ["lang", "wnid"]
    )
    parts = []
    for name, table in others.items():
        other = table[["lang", "wnid", "label"]].rename(columns={"label": "other"})
        both = evaluated.merge(other, "inner", ["lang", "wnid"])
        words = zip(both["label"], both["other"], strict=True)
        both["same"] = [
            label_sets.same(one) == label_sets.same(two) for one, two in words
        ]
        groups = both.groupby("lang")["same"]
        enough = (groups.transform("size") >= minimum_classes) & ~groups.transform(
            "all"
        )
        parts.append(both[enough].assign(set=name))
    table = pd.concat(parts, ignore_index=True)
    if table.empty:
        what = (
            f"No other label set shares {minimum_classes} classes with the one in use"
            " and has another word for one"
        )
        raise InputError(
            f"{what}: lower minimum_classes, or give senses of more sources."
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
    own, parts = [tables.read(path, "templates") for path in paths], []
    for name in dict.fromkeys(used.values()):
        codes = [lang for lang, its in used.items() if its == name]
        if name in prompt_sets.NAMES:
            parts.append(prompt_sets.for_languages(codes, [name]))
            continue
        held = pd.concat([tables.empty("templates"), *own], ignore_index=True)
        held = held[(held["prompts"] == name) & held["lang"].isin(codes)]
        if absent := sorted(set(codes) - set(held["lang"])):
            what = (
                f"the prompts {name!r} in {languages.name(absent[0])} ({absent[0]}),"
                " which are in none of the tables"
            )
            raise InputError(
                f"The vectors were made with {what}: give the one that notebook 67 had."
            )
        parts.append(held)
    return pd.concat(parts, ignore_index=True)


def vectors(
    encoder,
    table: pd.DataFrame,
    classes: dict,
    texts: pd.DataFrame,
    rules: dict[str, str],
    cache: str = "",
    nllb_fallback_language: str | dict[str, str] = "",
) -> tuple[np.ndarray, np.ndarray]:
    """Return the class vectors of the words in use and of another set's, each (rows of
    `table`, d).

    `table`: rows of one set of `pairs`; `classes`: the stored vectors
    (`zeroshot.read_vectors`), made in the templates `texts`. What is stored is not
    embedded again. `rules`, `cache` and `nllb_fallback_language` as in
    `embedding.embed_by_rules`.
    """
    place = {
        (lang, wnid): (lang, row)
        for lang, (wnids, _) in classes.items()
        for row, wnid in enumerate(wnids)
    }
    stored = [place[key] for key in zip(table["lang"], table["wnid"], strict=True)]
    stored = np.stack([classes[lang][1][row] for lang, row in stored])
    words, how = (
        table.assign(label=table["other"]),
        (rules, cache, nllb_fallback_language),
    )
    if hasattr(encoder, "join"):  # a bridge's vectors depend on all words of a call
        both = [
            embedding.embed_by_rules(encoder, part, texts, *how)[0]
            for part in (table, words)
        ]
        return both[0], both[1]
    # Letter by letter: a model may tell a capital from a small letter.
    other, own = (words["label"] != table["label"]).to_numpy(), stored.copy()
    if other.any():
        own[other], _ = embedding.embed_by_rules(encoder, words[other], texts, *how)
    return stored, own


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
        own = np.isin(image_wnids, wnids)
        for labels, its in sides.items():
            counts = zeroshot.evaluate(
                images[own], image_wnids[own], its[rows.index], wnids
            )
            parts.append(counts.assign(labels=labels, lang=lang))
    return pd.concat(parts, ignore_index=True)


def paired(counts: pd.DataFrame) -> pd.DataFrame:
    """Return the accuracy with the words in use and with each other set's, side by
    side.

    `counts`: `zeroshot` tables that notebook 72 wrote. One row for each model, data
    set, other set (`set`) and language: base, other (accuracies, fractions), value
    (other minus base), base_prompts, prompts (of the other), n_classes, n (images).
    """
    names = counts["labels"].drop_duplicates()
    parts = {
        label: (*label.partition(BESIDE)[::2], True)
        for label in names
        if BESIDE in label
    }
    parts |= {
        label: (*label.partition(INSTEAD)[::-2], False)
        for label in names
        if INSTEAD in label
    }
    sides = pd.DataFrame(parts, index=["in_use", "set", "is_base"]).T.astype(
        {"is_base": bool}
    )
    table = counts.join(sides, on="labels")
    key = ["model", "dataset", "in_use", "set", "lang"]
    columns = {
        "right": ("n_correct", "sum"),
        "n": ("n_images", "sum"),
        "n_classes": ("wnid", "nunique"),
    }
    columns |= {"prompts": ("prompts", "first")}
    base, other = (
        table[side].groupby(key, sort=False).agg(**columns)
        for side in (table["is_base"], ~table["is_base"])
    )
    both = base.merge(
        other,
        left_index=True,
        right_index=True,
        suffixes=("_base", ""),
        validate="one_to_one",
    )
    both["base"], both["other"] = (
        both["right_base"] / both["n_base"],
        both["right"] / both["n"],
    )
    both = both.assign(
        value=both["other"] - both["base"], base_prompts=both["prompts_base"]
    )
    return both.astype({"n": int})[
        ["base", "other", "value", "base_prompts", "prompts", "n_classes", "n"]
    ].reset_index()


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
        low = high = p = tau = tau_low = tau_high = np.nan
        wider = (
            permutation.paired_mean_over_families(
                gap, part["lang"].map(kin), n_resamples, seed
            )
            if kin
            else []
        )
        if len(part) > 1:
            _, low, high, p = permutation.paired_mean(
                gap, part["lang"], n_resamples, seed=seed
            )
            if len(part) > 2 and np.ptp(part["base"]) > 0 and np.ptp(part["other"]) > 0:
                order = correlation.correlate(
                    part, "base", "other", "lang", ["kendall"], n_resamples, seed=seed
                )
                tau, tau_low, tau_high = order.loc[0, ["value", "ci_low", "ci_high"]]
        means = part["base"].mean(), part["other"].mean()
        rows.append(
            [
                *key,
                *means,
                gap.mean(),
                low,
                high,
                p,
                np.nan,
                tau,
                tau_low,
                tau_high,
                len(part),
                *wider,
            ]
        )
    numbers = [
        "base",
        "other",
        "value",
        "ci_low",
        "ci_high",
        "p",
        "p_holm",
        "tau",
        "tau_low",
        "tau_high",
    ]
    found = pd.DataFrame(
        rows, columns=[*by, *numbers, "n", *permutation.FAMILY_COLUMNS * bool(kin)]
    )
    return multiple_comparisons.with_holm(found.astype(dict.fromkeys(numbers, float)))
