"""Senses to a label set: one word for each class and language, by the process of Babel-ImageNet.

Source of the process: Geigle, Timofte and Glavaš (2024), section 3. For every class take the words of a language for
its synset, drop those that equal an English word of the same class, choose one of what remains; a class without a word
has no label in that language. (The paper also drops machine-translated words; none of our sources has any.)

Pure functions: tables in, tables out; nothing here reads or writes a file but `class_list`.
"""

import unicodedata
from pathlib import Path

import pandas as pd

from babelatlas import InputError, languages, tables

CHOICES = ("agreed", "first")
CLASS_LISTS = ("imagenet-1k", "pictograms")
ENGLISH = "en"


def class_list(classes: str) -> pd.DataFrame:
    """Return a list of classes: columns `wnid` and `name`, in the list's own order.

    `classes` is "imagenet-1k", "pictograms" or the path of a CSV file with a column `wnid` (and perhaps `name`).
    Raises InputError for another name, a file without that column, and a class that occurs twice.
    """
    shipped = classes in CLASS_LISTS
    path = Path(__file__).parent / "data" / f"{classes}.csv" if shipped else tables.locate(classes)
    if path.suffix != ".csv" or not path.is_file():
        raise InputError(
            f"There is no class list {classes!r}: give {' or '.join(CLASS_LISTS)}, or the path of a CSV file."
        )
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    if "wnid" not in table:
        raise InputError(f"The class list {classes} should have a column 'wnid', but has {', '.join(table.columns)}.")
    double = table["wnid"][table["wnid"].duplicated()]
    if len(double):
        raise InputError(f"The class list {classes} has {double.iloc[0]} more than once: keep one row for each class.")
    return table.assign(name=table["name"] if "name" in table else table["wnid"])[["wnid", "name"]]


def same(lemma: str) -> str:
    """Return what two spellings of one word share: composed Unicode, single spaces for underscores, no upper case.

    >>> same("Great_White  shark") == same("great white Shark")
    True
    """
    return unicodedata.normalize("NFC", " ".join(lemma.replace("_", " ").split()).casefold())


def tidy(senses: pd.DataFrame) -> pd.DataFrame:
    """Return the senses with lemmas in composed Unicode (NFC) and single spaces, without the rows that now repeat."""
    lemmas = [unicodedata.normalize("NFC", " ".join(lemma.replace("_", " ").split())) for lemma in senses["lemma"]]
    return senses.assign(lemma=lemmas).drop_duplicates(tables.SCHEMAS["senses"][1], ignore_index=True)


def drop_empty(senses: pd.DataFrame) -> pd.DataFrame:
    """Return the senses whose lemma has at least one character that is not a space."""
    return senses[senses["lemma"].str.strip() != ""].reset_index(drop=True)


def drop_english(senses: pd.DataFrame) -> pd.DataFrame:
    """Return the senses without the lemmas that equal an English lemma of the same class; English itself stays.

    A model may read such a word as English, which would flatter the language. Equal means `same`: case, underscores
    and spaces do not matter. Every English source counts.
    """
    words = _keys(senses)
    english = {(wnid, word) for lang, wnid, word in words if lang == ENGLISH}
    own = [lang == ENGLISH or (wnid, word) not in english for lang, wnid, word in words]
    return senses[own].reset_index(drop=True)


def choose_first(senses: pd.DataFrame, choice: str = "agreed") -> pd.DataFrame:
    """Return one row of the senses for each language and class, in the order of `lang`, `wnid`.

    "first" takes the first row, which is the paper's rule; but the order of the Open Multilingual Wordnet says little,
    since several of its lists are sorted. "agreed" takes Wiktionary's first lemma that another source has too, else
    Wiktionary's first, else the first of all. English keeps its first, which is WordNet's, either way.
    Raises InputError for another choice.
    """
    if choice not in CHOICES:
        raise InputError(f"There is no choice {choice!r} among the senses of a class: give {' or '.join(CHOICES)}.")
    ranked = senses.assign(rank=0)
    if choice == "agreed":
        words = pd.Series(_keys(senses), index=senses.index, dtype=object)
        wiktionary = senses["source"] == "wikt"
        agreed = wiktionary & words.isin(set(words[~wiktionary]))
        ranked["rank"] = (2 - wiktionary.astype(int) - agreed.astype(int)).where(senses["lang"] != ENGLISH, 0)
    ranked = ranked.sort_values(["lang", "wnid", "rank"], kind="stable")
    return ranked.drop_duplicates(["lang", "wnid"], ignore_index=True).drop(columns="rank")


def _keys(senses: pd.DataFrame) -> list[tuple[str, str, str]]:
    lemmas = [same(lemma) for lemma in senses["lemma"]]
    return list(zip(senses["lang"], senses["wnid"], lemmas, strict=True))


def label_set(
    senses: pd.DataFrame, wnids: list[str], codes: list[str] | None = None, choice: str = "agreed"
) -> pd.DataFrame:
    """Return the label set of a list of classes, schema `labels`, in the order of `lang` and of `wnids`.

    `senses`: schema `senses`; their row order within a language and class matters, nothing else. `codes`: languages, as
    `languages.canonical` reads them; empty for every language with a label. `alternatives`: the other words that
    remained for the class, in the order of the senses, without repetition.
    Raises InputError for an unknown language, one without a label, and a class without an English word.
    """
    wanted = list(dict.fromkeys(languages.canonical(code) for code in codes or []))
    wnids = list(dict.fromkeys(wnids))
    senses = senses[senses["wnid"].isin(wnids)]
    nameless = sorted(set(wnids) - set(senses["wnid"][senses["lang"] == ENGLISH]))
    if nameless:
        raise InputError(
            f"{len(nameless)} class(es) have no English word among the senses, the first: {nameless[0]}; check the "
            "wnid, or make the senses of your own list with babelatlas.senses.read_wordnets."
        )
    left = drop_english(drop_empty(tidy(senses)))
    silent = [code for code in wanted if code not in set(left["lang"])]
    if silent:
        raise InputError(
            f"No class of the list has a label in {languages.name(silent[0])} ({silent[0]}): leave that language out, "
            "or add senses of it."
        )
    if wanted:
        left = left[left["lang"].isin(wanted)]
    chosen = choose_first(left, choice).rename(columns={"lemma": "label"})
    words: dict[tuple[str, str], dict[str, None]] = {}
    for lang, wnid, lemma in zip(left["lang"], left["wnid"], left["lemma"], strict=True):
        words.setdefault((lang, wnid), {})[lemma] = None
    chosen["alternatives"] = [
        [word for word in words[lang, wnid] if word != label]
        for lang, wnid, label in zip(chosen["lang"], chosen["wnid"], chosen["label"], strict=True)
    ]
    place = chosen["wnid"].map({wnid: number for number, wnid in enumerate(wnids)})
    chosen = chosen.assign(place=place).sort_values(["lang", "place"], ignore_index=True)
    return check_label_set(chosen[list(tables.SCHEMAS["labels"][0])], wnids)


def steps(senses: pd.DataFrame, wnids: list[str]) -> pd.DataFrame:
    """Return what each rule leaves of every language: columns `lang`, `rule`, `n_senses`, `n_classes`.

    The rules, in order: "all words", "not empty", "not English", "one chosen". English is left out: no rule touches it.
    A language of which nothing remains keeps its rows, with zeros.
    """
    kept = senses[senses["wnid"].isin(wnids) & (senses["lang"] != ENGLISH)]
    english = senses[senses["wnid"].isin(wnids) & (senses["lang"] == ENGLISH)]
    full = drop_empty(tidy(kept))
    own = drop_english(pd.concat([full, tidy(english)], ignore_index=True)).query("lang != @ENGLISH")
    stages = {
        "all words": kept,
        "not empty": full,
        "not English": own,
        "one chosen": own.drop_duplicates(["lang", "wnid"]),
    }
    names = sorted(kept["lang"].unique())
    parts = []
    for rule, left in stages.items():
        groups = left.groupby("lang")["wnid"]
        counted = pd.DataFrame({"n_senses": groups.size(), "n_classes": groups.nunique()}).reindex(names, fill_value=0)
        parts.append(counted.rename_axis("lang").reset_index().assign(rule=rule))
    return pd.concat(parts, ignore_index=True)[["lang", "rule", "n_senses", "n_classes"]]


def counts(labels: pd.DataFrame) -> pd.DataFrame:
    """Return the number of classes of each language, most first: columns `lang`, `n_classes`, `group`.

    `group` is the paper's (`languages.group_by_classes`); it means something for ImageNet's 1,000 classes only.
    """
    sizes = labels.groupby("lang", as_index=False).agg(n_classes=("wnid", "nunique"))
    sizes["group"] = [languages.group_by_classes(n) if n <= 1000 else "" for n in sizes["n_classes"]]
    return sizes.sort_values(["n_classes", "lang"], ascending=[False, True], ignore_index=True)


def check_label_set(labels: pd.DataFrame, wnids: list[str] | None = None) -> pd.DataFrame:
    """Return the label set as it is; raise InputError, naming language and class, where it cannot be used.

    That is: an empty label (a hole), a language and class that occur twice, an unknown or not canonical language code,
    and, where `wnids` is given, a class that is not among them. A language may lack classes.
    """
    missing = set(tables.SCHEMAS["labels"][0]) - set(labels.columns)
    if missing:
        raise InputError(
            f"A label set should have the columns {', '.join(tables.SCHEMAS['labels'][0])}: missing {sorted(missing)}."
        )
    for code in labels["lang"].unique():
        if languages.canonical(code) != code:
            raise InputError(
                f"The label set calls a language {code!r}: use the study's code {languages.canonical(code)!r}."
            )
    problems = {
        "has no label (an empty one stands there); give it a word or delete the row": labels["label"].isna()
        | (labels["label"].fillna("").str.strip() == ""),
        "has more than one row; keep one": labels.duplicated(["lang", "wnid"]),
    }
    if wnids is not None:
        problems["is not in the class list; delete the row or use the list it was made for"] = ~labels["wnid"].isin(
            wnids
        )
    for problem, where in problems.items():
        if where.any():
            row = labels[where].iloc[0]
            raise InputError(
                f"In the label set, class {row['wnid']} in {languages.name(row['lang'])} ({row['lang']}) {problem}."
            )
    return labels


def select(labels: pd.DataFrame, codes: list[str] | None = None, minimum_classes: int = 1) -> pd.DataFrame:
    """Return the rows of a label set in the languages `codes`, or, where it is empty, in all with enough classes.

    `codes` as `languages.canonical` reads them; a language asked for by name is kept however few classes it has.
    Raises InputError for an unknown language, one that the label set lacks, and where no language has enough classes.
    """
    sizes = labels["lang"].value_counts()
    wanted = [languages.canonical(code) for code in codes or []]
    absent = [code for code in wanted if code not in sizes]
    if absent:
        raise InputError(
            f"The label set has no labels in {languages.name(absent[0])} ({absent[0]}): leave the language out, or "
            "make the label set with it."
        )
    kept = wanted or sizes.index[sizes >= minimum_classes].tolist()
    if not kept:
        raise InputError(f"No language of the label set has {minimum_classes} classes: the most is {sizes.max()}.")
    return labels[labels["lang"].isin(kept)].reset_index(drop=True)
