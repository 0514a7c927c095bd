"""Labels that people gave to statements about pairs of images: reading an own table.

In MaRVL (Liu et al. 2021, Section 4) two speakers labelled 200 pairs of each language
again, without seeing what the writer of the statement had meant.
"""

import os

import pandas as pd

from babelatlas.base import own_tables
from babelatlas.base.errors import InputError

COLUMNS = ["lang", "statement", "number", "rater", "label"]
PAIR = ["lang", "statement", "number"]
WORDS = {"true": True, "false": False}


def read(path: str | os.PathLike, pairs: pd.DataFrame) -> pd.DataFrame:
    """Return the labels of a CSV or TSV file: `COLUMNS` and truth, what the writer of
    the statement meant; label and truth are bool.

    The file has the columns lang, statement, number (of the pair, from 0), rater and
    label ("true" or "false"). `pairs`: schema `pairs`, the statements as written.
    InputError for another label, a pair that is not there, and two labels of one rater.
    """
    table = own_tables.read(path, "labels of people", COLUMNS)[COLUMNS]
    table = own_tables.check_texts(table, COLUMNS, path, filled=True)
    labels = table["label"].str.strip().str.casefold().map(WORDS)
    strange = labels.isna().to_numpy()
    if strange.any():
        where = own_tables.place(table, int(strange.argmax()))
        raise InputError(
            f"In {path}, {where} has the label {table['label'][strange].iloc[0]!r}:"
            " write true or false."
        )
    numbers = pd.to_numeric(table["number"], errors="coerce").fillna(-1).astype(int)
    langs = own_tables.languages_of(table, "lang", path)
    labelled = table.assign(lang=langs, number=numbers, label=labels.astype(bool))
    original = pairs[pairs["variant"] == "original"]
    truth = original.drop_duplicates(PAIR).set_index(PAIR)["truth"]
    places = truth.index.get_indexer(pd.MultiIndex.from_frame(labelled[PAIR]))
    if (places < 0).any():
        row = table.iloc[int((places < 0).argmax())]
        raise InputError(
            f"The labels in {path} are of other statements: pair {row['number']} of"
            f" {row['statement']!r} in {row['lang']} is not among those of the run."
        )
    if labelled.duplicated([*PAIR, "rater"]).any():
        row = labelled[labelled.duplicated([*PAIR, "rater"])].iloc[0]
        raise InputError(
            f"In {path}, {row['rater']!r} labels pair {row['number']} of"
            f" {row['statement']!r} twice: keep one of the labels."
        )
    return labelled.assign(truth=truth.to_numpy(bool)[places])


def counts(labels: pd.DataFrame) -> pd.DataFrame:
    """Return the pairs that have as many labels as any of their language: lang, truth,
    n_true, n_false, n (1).

    Fleiss' kappa needs as many labels of each pair. `labels`: as `read` returns them.
    """
    n_true = labels.groupby(PAIR, sort=False).agg(
        truth=("truth", "first"), n_true=("label", "sum"), n_labels=("label", "size")
    )
    n_true = n_true.reset_index()
    most = n_true.groupby("lang")["n_labels"].transform("max")
    whole = n_true[n_true["n_labels"] == most].astype({"n_true": int})
    whole = whole.assign(n_false=whole["n_labels"] - whole["n_true"], n=1)
    return whole[["lang", "truth", "n_true", "n_false", "n"]].reset_index(drop=True)
