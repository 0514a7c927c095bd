"""The papers' numbers in the schema of ours, so that comparing with a paper is a merge.

One CSV per paper lies in `data/published`, named by the paper's citation key, with the columns of the schema
`published` of `tables.py` and, in some, `cell`. A number that is also a claim is written once, as printed, in
`data/claims`: its row here has no `value` but the `cell` of the claim, whose place is the table. Conventions, the same
for every paper:

* `value` is a fraction (the paper prints percent), except for metric "classes", which is a count, and for what other
  metrics name with a unit in brackets ("tokens (millions)"). Counts and lengths of captions, CIDEr and correlations
  are as printed.
* `lang` is the code used throughout the study, "" in the row of a group; `group` is "" in the row of a language. The
  English column of a table of groups is a row with `lang` "en": English is a language, not a group.
* `variant` names the prompts and, where it was fixed, the number of classes ("translated prompts, 100 classes"); for
  disambiguation the images, as `disambiguation.scores` does.
* `n` is what the value is a mean over: images or captions in the row of a language (50 images per class), languages in
  the row of a group; 0 where the paper does not say. `ci_low` and `ci_high` are empty: the paper prints no intervals.
* `note` says where the printed code or name differed and where two tables of the paper disagree.
"""

import re
from decimal import Decimal
from functools import cache
from pathlib import Path

import pandas as pd

from babelatlas.base import tables
from babelatlas.base.errors import InputError
from babelatlas.base.paths import DATA

KEY = list(tables.SCORE_KEY)
FOLDER, CLAIMS = DATA / "published", DATA / "claims"
NUMBER = re.compile(r"[+\-−]?(\d+(['’,]\d{3})*(\.\d+)?|\.\d+)")
# Units that are printed as hundredths of a fraction.
HUNDREDTHS = ("%", "points")
# The paper does not say so. In its released code, `benchmark/data/babel_imagenet.py`, `openai_en_classes` replace the
# English labels of its file; CLIP_benchmark's `en_classnames.json` is the same list.
ENGLISH_NAMES = (
    "English class names in results of Babel-ImageNet and CLIP_benchmark: CLIP's curated list (by released code)."
)


def number(printed: str) -> float:
    """Return a printed number; raise InputError where it is none.

    >>> number("12.67"), number("1'452"), number("−3.5"), number("+14.4"), number("260,646"), number(".96")
    (12.67, 1452.0, -3.5, 14.4, 260646.0, 0.96)
    """
    return float(_decimal(printed))


def _decimal(printed: str) -> Decimal:
    if not NUMBER.fullmatch(printed):
        raise InputError(
            f"The printed value {printed!r} is no number: write it as printed but without its unit, such as 12.67, "
            "-3.5, 1,452."
        )
    return Decimal(re.sub("['’,]", "", printed.replace("−", "-")))


def read(source: str = "geigle2024") -> pd.DataFrame:
    """Return the published numbers of one paper, a `published` table; raise InputError for a paper that is not there.

    >>> len(read("geigle2024"))
    2065
    """
    known = sorted(path.stem for path in FOLDER.glob("*.csv"))
    if source not in known:
        raise InputError(f"There are no published numbers of {source!r}: expected one of {', '.join(known)}.")
    return _read(FOLDER / f"{source}.csv").copy()


@cache
def _read(path: Path) -> pd.DataFrame:
    """Return a table of published numbers, those of claims among them."""
    table = tables.read_csv(path, "published", "cell")
    if "cell" in table:
        named = (table["cell"] != "").any()  # numbers of which none is a claim need no file of claims
        table["value"] = (table["value"].fillna(_claimed(table, path)) if named else table["value"]).astype(float)
        table = table.drop(columns="cell")
    return tables.check(table, "published")


def _claimed(table: pd.DataFrame, path: Path) -> pd.Series:
    """Return the fractions that the claims named in `table` print, by row."""
    file = CLAIMS / f"{path.stem.replace('-', '_')}.csv"
    claims = pd.read_csv(file, dtype=str, keep_default_na=False).set_index(["place", "cell"])[["printed", "unit"]]
    printed = claims.T.to_dict("list")
    values = {}
    for row in table[table["cell"] != ""].itertuples():
        place = f"Table {row.table}" if row.table.isdigit() else row.table
        if (place, row.cell) not in printed:
            raise InputError(
                f"The published table {path.name} names the cell {row.cell!r} of {place}, which {file.name} does not "
                "claim: give the cell as it stands there, or a value instead."
            )
        text, unit = printed[place, row.cell]
        values[row.Index] = float(_decimal(text).scaleb(-2 if unit in HUNDREDTHS else 0))
    return pd.Series(values, dtype=float)


def models() -> pd.DataFrame:
    """Return the 12 models of Geigle et al. (2024), smallest first: what they are and what they learned from.

    Columns: model, parameters (millions), images (size of the image tower), family, objective, training_data ("M":
    million pairs of image and text, or of captions where the objective is distillation), languages. Sources: Tables 1
    and 2 and Section 4 of the paper; the last two columns are as printed.
    """
    table = pd.read_csv(DATA / "geigle2024_models.csv", dtype=str)
    claims = pd.read_csv(CLAIMS / "geigle2024.csv", dtype=str).query("place == 'Table 2'").set_index("cell")["printed"]
    table.insert(1, "parameters", [int(claims[f"{model} | Param."]) for model in table["model"]])
    return table


def groups(source: str = "geigle2024") -> pd.DataFrame:
    """Return the languages of a paper with their group and number of classes: columns lang, group, classes.

    English is included, with group "English" and all 1,000 classes (Geigle et al. 2024, Table 5 and Section 3).

    >>> groups().group.value_counts().to_dict()
    {'mid': 35, 'low': 32, 'very low': 17, 'high': 16, 'English': 1}
    """
    table = read(source)
    table = table.loc[table.task == "labels", ["lang", "group", "value"]].rename(columns={"value": "classes"})
    if table.empty:
        raise InputError(f"The published numbers of {source!r} have no classes by language: give geigle2024, say.")
    english = pd.DataFrame({"lang": ["en"], "group": ["English"], "classes": [1000]})
    return pd.concat([table.astype({"classes": int}), english], ignore_index=True)


def by_language(source: str = "geigle2024") -> pd.DataFrame:
    """Return the published accuracy of every model in every language, one row each.

    Columns: model, lang, group, classes, variant, value (top-1 accuracy, a fraction), n (images).
    """
    table = read(source)
    table = table[(table.task == "zeroshot") & (table.lang != "") & table.table.isin(["8", "9"])]
    if table.empty:
        raise InputError(f"The published numbers of {source!r} have no accuracy by language: give geigle2024, say.")
    table = table[["model", "lang", "variant", "value", "n"]].merge(groups(source), on="lang", validate="many_to_one")
    return table[["model", "lang", "group", "classes", "variant", "value", "n"]]


def retrieval(source: str = "geigle2024") -> pd.DataFrame:
    """Return retrieval recall and zero-shot accuracy, one row per data set, model and language that has both.

    Columns: dataset, model, lang, group, classes, accuracy, recall (text-to-image recall@1); both fractions. Languages
    without ImageNet labels (Māori and Cusco Quechua in XM3600) and models without retrieval (OpenAI B-32) are left out.
    """
    table = read(source)
    table = table.loc[(table.task == "retrieval") & (table.lang != ""), ["dataset", "model", "lang", "value"]]
    table = table.rename(columns={"value": "recall"})
    accuracy = by_language(source).rename(columns={"value": "accuracy"})
    table = table.merge(accuracy, on=["model", "lang"], validate="many_to_one")
    return table[["dataset", "model", "lang", "group", "classes", "accuracy", "recall"]]


def compare(ours: pd.DataFrame, published: pd.DataFrame, on: list[str] | None = None) -> pd.DataFrame:
    """Return the rows that two tables of scores share, side by side, with the difference in points.

    `ours` is a `scores` table, `published` that or a `published` one; `on` names the columns that must agree, all of
    the key unless given (leave out "variant" to compare across prompts). The result has the columns of `on`, the others
    of both with the endings _ours and _published, and `difference`: ours minus published, in percentage points.
    Raises InputError where `on` is not in both, does not identify a row of `ours`, or where nothing is shared.

    >>> table = read().head(2)
    >>> compare(table, table).difference.tolist()
    [0.0, 0.0]
    """
    on = KEY if on is None else list(on)
    missing = [column for column in on if column not in ours or column not in published]
    if missing:
        raise InputError(
            f"Tables are compared on columns that both have: {', '.join(missing)} is missing from one of them."
        )
    if ours.duplicated(on).any():
        raise InputError(
            f"Our table has several rows with the same {', '.join(on)}: select one of them, or compare on more columns."
        )
    both = ours.merge(published, on=on, suffixes=("_ours", "_published"))
    if both.empty:
        raise InputError(
            f"The two tables share no row: not one agrees in {', '.join(on)}; check the names of the models."
        )
    return both.assign(difference=100 * (both.value_ours - both.value_published))
