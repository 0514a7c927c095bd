"""Verification of labels by people who speak the language: a sheet to fill in, and what
the answers say.

A sheet is a random sample of the classes of one language, in random order: for each the
English words, the definition and the label, and a place for a verdict. It can be filled
in with a spreadsheet (CSV) or in a browser without a network (HTML, which saves the
same CSV). Geigle et al. (2024), section 3, had the labels of seven languages checked,
by speakers or with dictionaries, and found 5.4 % wrong on average.

The sample is not stratified: every class of the language has the same chance, so that
the share of wrong answers estimates that of the whole label set, its exact binomial
interval holds, and the first answers of a sheet that was not finished are a random
sample too. Where the sample is a large part of all labels, the interval is wider than
it need be.
"""

import hashlib
import os
import unicodedata
from pathlib import Path

import jinja2
import numpy as np
import pandas as pd

from babelatlas.base import languages, own_tables, tables
from babelatlas.base.errors import InputError, near
from babelatlas.base.paths import DATA
from babelatlas.lexicon import labels
from babelatlas.stats import proportions

AUDIT = DATA / "labels_audit.csv"
# The languages that the judge of the audit reads, from all whose labels it was drawn.
AUDITED = (
    "ar bg ca cs da de el eo es fi fr gl he hr hu id it ja ko ms nl no pl pt ro ru sk"
    " sl sv tr uk vi zh zh-Hant"
)
# What an answer may be, and what a speaker is told about it.
VERDICTS = {
    "right": "the label is a word of the language for this thing",
    "better": (
        "the label would be understood, but another word is more usual: write it down"
    ),
    "wrong": (
        "the label means something else, is misspelt, or is no word of the language"
    ),
    "unsure": "you do not know the thing or the word",
}
WRITTEN = ["number", "wnid", "english", "gloss", "label", "alternatives"]
ANSWERS = ["verdict", "better", "comment"]
COLUMNS = [*WRITTEN, *ANSWERS, "sheet", "check"]
# Headings that say more than the name of their column; what stands in brackets is not
# read back.
HEADINGS = {
    "verdict": f"verdict ({' / '.join(VERDICTS)})",
    "better": "better (the better word)",
    "sheet": "sheet (leave as it is)",
    "check": "check (leave as it is)",
}


def _letters(*parts: object) -> str:
    """Return five letters that change with the parts; never digits: a spreadsheet makes
    a number of 12e45.
    """
    text = "\n".join(
        unicodedata.normalize("NFC", " ".join(str(part).split())) for part in parts
    )
    return (
        hashlib.sha256(text.encode())
        .hexdigest()[:5]
        .translate(str.maketrans("0123456789", "ghijklmnop"))
    )


def _check(row: dict[str, str]) -> str:
    """Return what `check` should be, by which a changed number, class or label is seen."""
    place = row["sheet"], row["number"], row["wnid"]
    return _letters(*place) + _letters(*place, row["label"])


def draw(
    table: pd.DataFrame, language: str | list[str], number: int, seed: int = 0
) -> pd.DataFrame:
    """Return the labels of `number` random classes of a language, in random order: rows
    of `table`, schema `labels`.

    Ordered by a hash of seed, language (or several) and class: what is drawn stays when
    others change or more is asked for. Raises InputError for an unknown language, one
    without labels, and fewer labels than asked for.
    """
    codes = [
        languages.canonical(code)
        for code in ([language] if isinstance(language, str) else language)
    ]
    rows = labels.select(table, codes)
    if not 1 <= number <= len(rows):
        who = ", ".join(map(languages.name, codes))
        raise InputError(
            f"{who} has {len(rows)} labels, so that a sheet has from 1 to {len(rows)},"
            f" not {number}."
        )
    keys = [f"{seed}|{row.lang}|{row.wnid}".encode() for row in rows.itertuples()]
    order = np.argsort([hashlib.sha256(key).hexdigest() for key in keys])
    return rows.iloc[order[:number]].reset_index(drop=True)


def sheet(
    table: pd.DataFrame,
    language: str,
    facts: pd.DataFrame,
    number: int = 100,
    seed: int = 0,
    dataset="imagenet-1k",
) -> pd.DataFrame:
    """Return a sheet to fill in: the labels that `draw` gives, with what they should
    name and room for answers.

    `table`: schema `labels`; `facts`: what `coverage.synset_facts` says of the classes.
    Columns, all text, are `COLUMNS`: `sheet` is data set, language, number, seed and a
    sum over the labels, `check` one over number, class and label.
    """
    drawn = draw(table, language, number, seed)
    facts = facts.set_index("wnid").loc[drawn["wnid"]]
    rows = pd.DataFrame(dict.fromkeys(COLUMNS, ""), index=drawn.index)
    rows["number"] = [str(place + 1) for place in drawn.index]
    rows[["wnid", "label"]] = drawn[["wnid", "label"]]
    rows["english"] = facts["lemmas"].str.replace("; ", ", ").to_numpy()
    rows["gloss"] = facts["gloss"].to_numpy()
    rows["alternatives"] = ["; ".join(words) for words in drawn["alternatives"]]
    total = _letters(*rows["wnid"], *rows["label"])
    rows["sheet"] = f"{dataset}/{languages.canonical(language)}/{number}/{seed}/{total}"
    return rows.assign(check=[_check(row) for row in rows.to_dict("records")])


def of(filled: pd.DataFrame) -> dict[str, str]:
    """Return what a sheet is a sample of: dataset, language, number, seed, and the sum
    over its labels.
    """
    names = ("dataset", "language", "number", "seed", "sum")
    parts = filled["sheet"].iloc[0].rsplit("/", 4)
    return dict(zip(names, parts, strict=True))


def as_csv(rows: pd.DataFrame) -> str:
    """Return a sheet as the text of a CSV file that spreadsheets open as what it is,
    with a byte order mark.
    """
    titled = rows[COLUMNS].rename(columns=HEADINGS)
    return "\ufeff" + titled.to_csv(index=False, lineterminator="\r\n")


def write_csv(rows: pd.DataFrame, path: str | os.PathLike) -> Path:
    """Write a sheet as CSV; return the path."""
    with tables.beside(path) as part:
        part.write_text(as_csv(rows), encoding="utf-8", newline="")
    return tables.locate(path)


def write_html(rows: pd.DataFrame, path: str | os.PathLike) -> Path:
    """Write a sheet as one HTML file that needs nothing else and saves its answers as
    CSV; return the path.
    """
    code = of(rows)["language"]
    records = rows[COLUMNS].to_dict("records")
    data = {
        "columns": COLUMNS,
        "headings": [HEADINGS.get(name, name) for name in COLUMNS],
        "rows": records,
    }
    data |= {
        "answers": ANSWERS,
        "key": f"babelatlas {rows['sheet'].iloc[0]}",
        "file": f"labels_{code}.csv",
    }
    templates = jinja2.Environment(
        loader=jinja2.FileSystemLoader(DATA), autoescape=True
    )
    page = templates.get_template("sheet.html")
    with tables.beside(path) as part:
        text = page.render(
            language=languages.name(code),
            code=code,
            verdicts=VERDICTS,
            rows=records,
            data=data,
        )
        part.write_text(text, encoding="utf-8")
    return tables.locate(path)


def parse(path: str | os.PathLike) -> pd.DataFrame:
    """Return a sheet as it was sent back, unchecked: the columns of a sheet, in
    whatever order they came.

    Verdicts are in small letters; "better: X" in the verdict's cell is the better word
    X. Raises what `own_tables.read` raises, and InputError for a column that is
    missing.
    """
    if Path(path).suffix.lower() in (".html", ".htm"):
        raise InputError(
            f"{Path(path).name} is the page: give the CSV file that its button 'Save as"
            " CSV' saves."
        )
    rows = own_tables.read(path, "answers").map(str.strip)
    rows.columns = [name.split("(")[0].strip().casefold() for name in rows.columns]
    if missing := [name for name in COLUMNS if name not in rows]:
        raise InputError(
            f"{Path(path).name} has no column {missing[0]!r}: put it back from the"
            " sheet as written."
        )
    verdicts = rows["verdict"].str.replace("\xa0", " ").str.strip(" .!").str.casefold()
    words = rows["verdict"].str.extract(r"(?is)^\s*better\s*[:=,-]\s*(.+?)\s*$")[0]
    better = rows["better"].where(words.isna() | (rows["better"] != ""), words)
    # A spreadsheet may give a whole number back as "7.0" or "7,0".
    number = rows["number"].str.replace(r"[.,]0+$", "", regex=True)
    return rows.assign(
        verdict=verdicts.where(words.isna(), "better"), better=better, number=number
    )[COLUMNS]


def problems(rows: pd.DataFrame, partial: bool = False) -> list[str]:
    """Return what is wrong with a sheet that was sent back (`parse`), a sentence for
    each; none where it can be scored.

    A number, class or label that was changed, a row twice, a verdict that is none,
    "better" without a word, a word with a verdict that has no use for one; and, unless
    `partial`, rows that are missing and verdicts that are empty.
    """
    if not (rows["verdict"] != "").any():
        return ["no row has a verdict: nothing was filled in."]
    sentences, seen = [], set()
    for row in rows.to_dict("records"):
        place = f"number {row['number']} ({row['wnid']}, {row['label']!r})"
        if row["check"] != _check(row) or row["sheet"] != rows["sheet"].iloc[0]:
            sentences.append(
                f"{place} is not as it was written: put it back, and write a better"
                " word under 'better'."
            )
        elif row["number"] in seen:
            sentences.append(f"{place} is there twice: keep one of the rows.")
        elif not row["verdict"] and not partial:
            sentences.append(
                f"{place} has no verdict: write {', '.join(VERDICTS)}, or read it with"
                " --partial."
            )
        elif row["verdict"] and row["verdict"] not in VERDICTS:
            sentences.append(
                f"{place} has the verdict {row['verdict']!r}:"
                f" {near(row['verdict'], VERDICTS)}"
            )
        elif row["verdict"] == "better" and not row["better"]:
            sentences.append(
                f"{place} is 'better' without the better word: write it down, or give"
                " another verdict."
            )
        elif row["better"] and row["verdict"] not in ("better", "wrong"):
            verdict = (
                f"is {row['verdict']!r} and has"
                if row["verdict"]
                else "has no verdict, but"
            )
            sentences.append(
                f"{place} {verdict} the better word {row['better']!r}: write 'better',"
                " or empty the cell."
            )
        seen.add(row["number"])
    if not sentences and not partial and len(seen) < int(of(rows)["number"]):
        sentences.append(
            f"{int(of(rows)['number']) - len(seen)} row(s) of the sheet are missing:"
            " use --partial."
        )
    return sentences


def read_filled(path: str | os.PathLike, partial: bool = False) -> pd.DataFrame:
    """Return a filled sheet, checked against what was written: its columns, in the
    order of `number`.

    `partial` accepts rows without a verdict, and that rows are missing. Raises
    InputError with all `problems`.
    """
    rows = parse(path)
    if sentences := problems(rows, partial):
        raise InputError(
            "\n".join(f"{Path(path).name}: {sentence}" for sentence in sentences)
        )
    return rows.sort_values(
        "number",
        key=lambda column: column.astype(int),
        ignore_index=True,
        kind="stable",
    )


def corrections(filled: pd.DataFrame) -> pd.DataFrame:
    """Return what a filled sheet asks to correct: lang, wnid, label and was, as
    `own_words.read_corrections` reads it.

    "right" keeps the label as verified; a better word replaces it; "wrong" without one
    removes it; other rows ask for nothing.
    """
    judged = filled[
        filled["verdict"].isin(["right", "wrong"]) | (filled["better"] != "")
    ]
    label = judged["better"].where(judged["verdict"] != "right", judged["label"])
    columns = {
        "lang": of(filled)["language"],
        "wnid": judged["wnid"],
        "label": label,
        "was": judged["label"],
    }
    return pd.DataFrame(columns)


def needed(width: float, rate: float = 0.05) -> int:
    """Return how many answers make the exact 95 % interval at most `width` wide where
    the share `rate` is wrong.

    >>> needed(0.1, rate=0.05)
    94
    """
    if not 0 < width < 1 or not 0 <= rate <= 1:
        raise InputError(
            f"Width and rate are fractions, such as 0.1 and 0.05: got {width} and"
            f" {rate}."
        )
    # An interval of n answers is hardly wider than 2 / sqrt(n).
    most = int(5 / width**2 + 10 / width)
    numbers = np.arange(1, most + 1)
    low, high = proportions.exact_interval(rate * numbers, numbers)
    return int(numbers[np.flatnonzero(high - low <= width)[0]])


def audit(table: pd.DataFrame) -> pd.DataFrame:
    """Return the shipped audit, labels of several languages drawn at random, each
    judged; for `error_rates`.

    Columns: lang, wnid, label, verdict, reason, judge, date, sheet (as that of a sheet,
    its sum), drawn (by what: not by `draw`, which came later), and `outdated`: whether
    `table` (schema `labels`) has another label there.
    """
    judged = pd.read_csv(AUDIT, keep_default_na=False)
    label_now = table.set_index(["lang", "wnid"])["label"]
    keys = pd.MultiIndex.from_frame(judged[["lang", "wnid"]])
    outdated = judged["label"].to_numpy() != label_now.reindex(keys).to_numpy()
    return judged.assign(outdated=outdated)


def _score(
    filled: pd.DataFrame,
    variant: str,
    metric: str,
    n_wrong: int,
    n: int,
) -> dict:
    """Return the row of `scores` of one share of wrong labels."""
    sample = of(filled)
    low, high = proportions.exact_interval(n_wrong, n)
    return {
        "task": "verification",
        "dataset": sample["dataset"],
        "model": "",
        "lang": sample["language"],
        "group": "",
        "variant": variant,
        "metric": metric,
        "value": n_wrong / n,
        "ci_low": low,
        "ci_high": high,
        "n": n,
    }


def error_rates(filled: pd.DataFrame, variant: str = "") -> pd.DataFrame:
    """Return the share of wrong labels of a filled sheet with its exact binomial
    interval, schema `scores`.

    Metrics: "label error rate" is wrong of right, better and wrong: those of which the
    speaker was sure. "..., unsure right" and "..., unsure wrong" are the bounds: all
    answers, with each "unsure" taken as right, or as wrong. "..., better wrong" counts
    a label as wrong also where another word is better. Rows without a verdict are left
    out. Raises InputError where no verdict but "unsure" was given.
    """
    n = filled["verdict"].value_counts()
    right, better, wrong, unsure = (
        int(n.get(name, 0)) for name in ("right", "better", "wrong", "unsure")
    )
    sure = right + better + wrong
    if not sure:
        raise InputError(
            "No label of the sheet was judged right, better or wrong, so that there is"
            " no error rate."
        )
    shares = {
        "label error rate": (wrong, sure),
        "label error rate, unsure right": (wrong, sure + unsure),
        "label error rate, unsure wrong": (wrong + unsure, sure + unsure),
        "label error rate, better wrong": (wrong + better, sure),
    }
    rows = [
        _score(filled, variant, metric, n_wrong, n)
        for metric, (n_wrong, n) in shares.items()
    ]
    return tables.check(pd.DataFrame(rows), "scores")


def _percent(score: pd.Series) -> str:
    return (
        f"{score['value']:.1%} (95 % interval {score['ci_low']:.1%} to"
        f" {score['ci_high']:.1%}; n = {score['n']})"
    )


def report(name: str, filled: pd.DataFrame) -> str:
    """Return what a filled sheet says, in lines of text."""
    facts, n = of(filled), filled["verdict"].value_counts()
    shares = error_rates(filled).set_index("metric").apply(_percent, axis=1)
    return "\n".join(
        [
            (
                f"{name}: {languages.name(facts['language'])}, {facts['number']} labels"
                f" of {facts['dataset']}."
            ),
            (
                f"  {', '.join(f'{verdict} {n.get(verdict, 0)}' for verdict in VERDICTS)},"
                f" of {facts['number']}."
            ),
            f"  Wrong: {shares['label error rate']}, 'unsure' left out.",
            (
                "  Were every 'unsure' right:"
                f" {shares['label error rate, unsure right']}; wrong:"
                f" {shares['label error rate, unsure wrong']}."
            ),
            (
                "  Were 'better' an error too:"
                f" {shares['label error rate, better wrong']}."
            ),
        ]
    )
