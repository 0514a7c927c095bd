"""The papers' numbers in the schema of ours, so that comparing with a paper is a merge.

One CSV per paper lies in `data/published`, named by its citation key, with the columns
of `published` and, in some, `cell`: a number that is also a claim is written once, as
printed, in `data/claims`. Conventions:

* `value` is a fraction (the paper prints percent); counts, lengths, CIDEr, correlations
  and what a metric names with a unit in brackets ("tokens (millions)") are as printed.
* `lang` is "" in the row of a group, `group` in that of a language. English is a
  language, not a group.
* `variant` names the prompts and, where it was fixed, the number of classes
  ("translated prompts, 100 classes"); for disambiguation the images, as
  `disambiguation.score_intervals` does.
* `n` is what the value is a mean over: images or captions, of a group languages; 0
  where the paper does not say.
* `note` says where the printed code or name differed and where two tables of the paper
  disagree.
"""

import re
from decimal import Decimal
from functools import cache
from pathlib import Path

import pandas as pd

from babelatlas.base import languages, tables
from babelatlas.base.errors import InputError, near
from babelatlas.base.paths import DATA

FOLDER, CLAIMS = DATA / "published", DATA / "claims"
NUMBER = re.compile(r"[+\-−]?(\d+(['’,]\d{3})*(\.\d+)?|\.\d+)")
# Units that are printed as hundredths of a fraction.
HUNDREDTHS = ("%", "points")
# Tasks whose values are numbers of things, and metrics that may be below 0: what else
# has no unit in brackets and is no CIDEr is a fraction.
COUNTED = ("captions", "corpus", "labels")
SIGNED = "correlation|difference|gain|minus"
# The paper does not say so: `openai_en_classes` in its released code; CLIP_benchmark
# has the same list.
ENGLISH_NAMES = (
    "English class names in results of Babel-ImageNet and CLIP_benchmark: CLIP's"
    " curated list (by released code)."
)


def number(printed: str) -> float:
    """Return a printed number; raise InputError where it is none.

    >>> [number(text) for text in ("12.67", "1'452", "−3.5", "+14.4", "260,646", ".96")]
    [12.67, 1452.0, -3.5, 14.4, 260646.0, 0.96]
    """
    return float(_decimal(printed))


def _decimal(printed: str) -> Decimal:
    if not NUMBER.fullmatch(printed):
        raise InputError(
            f"The printed value {printed!r} is no number: write it as printed, without"
            " its unit."
        )
    return Decimal(re.sub("['’,]", "", printed.replace("−", "-")))


def read(source: str = "geigle2024") -> pd.DataFrame:
    """Return the published numbers of one paper, a `published` table; raise InputError
    for a paper that is not there.

    >>> len(read("geigle2024"))
    2065
    """
    sources = [path.stem for path in FOLDER.glob("*.csv")]
    if source not in sources:
        raise InputError(
            f"There are no published numbers of {source!r}: {near(source, sources)}"
        )
    return _read(FOLDER / f"{source}.csv").copy()


@cache
def _read(path: Path) -> pd.DataFrame:
    """Return a table of published numbers, with the fractions that the claims named in
    it print.
    """
    table = tables.read_csv(path, "published", "cell")
    if "cell" in table:
        table = _with_claims(table, CLAIMS / f"{path.stem.replace('-', '_')}.csv")
    return _check_values(tables.check(table, "published"), path)


def _with_claims(table: pd.DataFrame, claims_file: Path) -> pd.DataFrame:
    """Return published numbers without their column `cell`: where it names a claim, the
    value is what that prints.
    """
    claims = pd.read_csv(claims_file, dtype=str).set_index(["place", "cell"])
    named = table[table["cell"] != ""]
    place = named["table"].mask(named["table"].str.isdigit(), "Table " + named["table"])
    keys = list(zip(place, named["cell"], strict=True))
    values = [
        float(_decimal(claim.printed).scaleb(-2 if claim.unit in HUNDREDTHS else 0))
        for claim in claims.loc[keys].itertuples()
    ]
    table["value"] = table["value"].astype(float)
    table.loc[named.index, "value"] = values
    return table.drop(columns="cell")


def _check_values(table: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Return published numbers; InputError for a language that there is not, and a
    value that is no fraction.
    """
    for lang in filter(None, table["lang"].unique()):
        try:
            code = languages.canonical(lang)
        except InputError as error:
            raise InputError(f"In {path.name}: {error}") from error
        if code != lang:
            raise InputError(
                f"In {path.name}, {languages.name(lang)} is called {lang!r}: write"
                f" {code!r}."
            )

    as_printed = table["task"].isin(COUNTED) | table["metric"].str.contains(
        r"CIDEr|\(.+\)$"
    )
    least = -table["metric"].str.contains(SIGNED).astype(float)
    wrong = ~as_printed & table["value"].notna() & ~table["value"].between(least, 1)
    if wrong.any():
        row = table[wrong].iloc[0]
        who = ", ".join(
            row[name] for name in ("dataset", "model", "lang", "group") if row[name]
        )
        what = f"{row['value']:g} as the {row['metric']} of {who}"
        raise InputError(
            f"In {path.name} is {what}: write a fraction, as 0.125 for 12.5 %."
        )
    return table


def models() -> pd.DataFrame:
    """Return the 12 models of Geigle et al. (2024), smallest first: what they are and
    what they learned from.

    `parameters` in millions; `training_data` (million pairs) and `languages` as
    printed.
    """
    table = pd.read_csv(DATA / "geigle2024_models.csv", dtype=str)
    claims = pd.read_csv(CLAIMS / "geigle2024.csv", dtype=str)
    printed = claims.query("place == 'Table 2'").set_index("cell")["printed"]
    parameters = [int(printed[f"{model} | Param."]) for model in table["model"]]
    table.insert(1, "parameters", parameters)
    return table


def groups(source: str = "geigle2024") -> pd.DataFrame:
    """Return the languages of a paper with their group and number of classes: columns
    lang, group, classes.

    English is included, with group "English" and all 1,000 classes (Geigle et al. 2024,
    Table 5 and Section 3).

    >>> groups().group.value_counts().to_dict()
    {'mid': 35, 'low': 32, 'very low': 17, 'high': 16, 'English': 1}
    """
    table = read(source)
    table = table.loc[table.task == "labels", ["lang", "group", "value"]].rename(
        columns={"value": "classes"}
    )
    english = pd.DataFrame({"lang": ["en"], "group": ["English"], "classes": [1000]})
    return pd.concat([table.astype({"classes": int}), english], ignore_index=True)


def accuracy_by_language(source: str = "geigle2024") -> pd.DataFrame:
    """Return the published accuracy of every model in every language, one row each.

    Columns: model, lang, group, classes, variant, value (top-1 accuracy, a fraction), n
    (images).
    """
    table = read(source)
    table = table[
        (table.task == "zeroshot") & (table.lang != "") & table.table.isin(["8", "9"])
    ]
    table = table[["model", "lang", "variant", "value", "n"]].merge(
        groups(source), on="lang", validate="many_to_one"
    )
    return table[["model", "lang", "group", "classes", "variant", "value", "n"]]


def accuracy_by_group(source: str = "geigle2024") -> pd.DataFrame:
    """Return the published mean accuracy of models in groups of languages, with all
    classes and with 100 of them.

    Of the models that have both (Geigle et al. 2024, Tables 2 and 3). Columns: model,
    group (English is one of its own), table ("2": all classes, "3": at most 100), value
    (top-1 accuracy, a fraction), ci_low and ci_high (NaN: the paper has none), n
    (languages).
    """
    table = read(source).query("metric == 'accuracy@1' and table in ['2', '3']")
    table = table.assign(group=table["group"].where(table["lang"] != "en", "English"))
    table["n"] = table["n"].where(table["group"] != "English", 1)
    both = table.loc[table["table"] == "3", "model"]
    columns = ["model", "group", "table", "value", "ci_low", "ci_high", "n"]
    return table.loc[table["model"].isin(both), columns].reset_index(drop=True)


def gaps_between_groups(
    source: str = "geigle2024", of: str = "high", less: str = "low"
) -> pd.DataFrame:
    """Return how much more accurate models are in one group of languages than in
    another, as fractions.

    One row a model, columns "all classes" and "100 classes". Languages of the very low
    group have fewer than 100 classes, so that only the other groups can be compared
    with equally many.
    """
    cells = accuracy_by_group(source).pivot(
        index=["group", "model"], columns="table", values="value"
    )
    cells = cells.rename(columns={"2": "all classes", "3": "100 classes"}).rename_axis(
        columns=None
    )
    return cells.loc[of] - cells.loc[less]


def retrieval(source: str = "geigle2024") -> pd.DataFrame:
    """Return retrieval recall and zero-shot accuracy, one row per data set, model and
    language that has both.

    Columns: dataset, model, lang, group, classes, accuracy, recall (text-to-image
    recall@1); both fractions. Languages without ImageNet labels (Māori and Cusco
    Quechua in XM3600) and models without retrieval (OpenAI B-32) are left out.
    """
    table = read(source)
    table = table.loc[
        (table.task == "retrieval") & (table.lang != ""),
        ["dataset", "model", "lang", "value"],
    ]
    table = table.rename(columns={"value": "recall"})
    accuracy = accuracy_by_language(source).rename(columns={"value": "accuracy"})
    table = table.merge(accuracy, on=["model", "lang"], validate="many_to_one")
    return table[["dataset", "model", "lang", "group", "classes", "accuracy", "recall"]]
