"""What MaRVL's authors released: counts of its texts, labels of NLVR2 by people, and
the scores in the logs.

Columns of the counts: `set` ("marvl", "nlvr2 test": NLVR2's public test set, "nlvr2
250": the 250 sentences that were translated into Chinese), `lang`, `chapter` ("" for
all), `tokens` (how captions were cut into tokens, "" where that does not matter),
`statistic`, `value`. Statistics of captions are of unique ones.
"""

from functools import cache

import pandas as pd

from babelatlas.base import released
from babelatlas.base.paths import DATA
from babelatlas.evaluation import reasoning
from babelatlas.stats import proportions

COUNTS = DATA / "liu2021_counts.csv"
LANGUAGES = ("id", "sw", "zh", "tr", "ta")
# Table 6 of the paper: the chapters of the Intercontinental Dictionary Series that it
# uses, and their semantic fields.
FIELDS = {
    "Animal": ("bird", "mammal"),
    "Food and Beverages": ("food", "beverages"),
    "Clothing and grooming": ("clothing",),
    "The house": ("interior", "exterior"),
    "Agriculture and vegetation": ("flower", "fruit", "vegetable", "agriculture"),
    "Basic actions and technology": ("utensil/tool",),
    "Motion": ("sport",),
    "Time": ("celebrations",),
    "Cognition": ("education",),
    "Speech and language": ("music (instruments)", "visual arts"),
    "Religion and belief": ("religion",),
}
# Their numbers in that series, by which the logs call them.
NUMBERS = dict(zip((3, 5, 6, 7, 8, 9, 10, 14, 17, 18, 19), FIELDS, strict=True))
# A data set of the logs -> the set of its counts, where the name differs.
SETS = {"nlvr2": "nlvr2 test", "nlvr2-1k": "nlvr2 250"}


@cache
def counts() -> pd.Series:
    """Return the counts that ship, indexed by set, lang, chapter, tokens and statistic.
    Do not change the series.
    """
    table = pd.read_csv(
        COUNTS, dtype={"chapter": str, "tokens": str}, keep_default_na=False
    )
    return table.set_index(["set", "lang", "chapter", "tokens", "statistic"])[
        "value"
    ].sort_index()


def labels(people: int = 5) -> pd.DataFrame:
    """Return the labels by people of NLVR2's test pairs that have `people` of them:
    truth, n_true, n_false, n (pairs).

    Of these pairs none is left on which two or more of five people disagree with the
    rest: such pairs were taken out.
    """
    statistics = counts()["nlvr2 test", "en", "", ""].rename("n").reset_index()
    pattern = rf"(?P<truth>true|false) pairs, (?P<n_true>\d+) of {people} labels true"
    rows = statistics.join(statistics["statistic"].str.extract(pattern)).dropna()
    rows = rows.astype({"n_true": int, "n": int})
    rows = rows.assign(truth=rows["truth"] == "true", n_false=people - rows["n_true"])
    return rows[["truth", "n_true", "n_false", "n"]].reset_index(drop=True)


def log_scores() -> pd.DataFrame:
    """Return what the logs say: model, dataset, variant, lang, chapter, metric, value,
    ci_low, ci_high, n.

    Accuracy of n pairs of images, also by chapter ("" for all); consistency of n
    statements, about a quarter of the pairs: the number of which the unrounded shares
    of all models of a test are whole (`proportions.smallest_denominator`). The
    intervals are exact binomial ones, as if answers were independent: the logs do not
    say which were correct.
    """
    rows = released.read(harness="marvl").drop(columns=["ci_low", "ci_high"])
    number = rows["variant"].str.extract(r"chapter (\d+)")[0].astype(float)
    rows = rows.assign(
        chapter=number.map(NUMBERS).fillna(""),
        variant=rows["variant"].mask(number.notna(), "zero-shot"),
    )
    tested = rows.groupby(["dataset", "lang", "variant", "chapter"])
    parts = [_with_numbers(part, *key) for key, part in tested]
    table = pd.concat(parts, ignore_index=True).astype({"n": int})

    n_correct = (table["value"] * table["n"]).round()
    low, high = proportions.exact_interval(n_correct, table["n"])
    columns = ["model", "dataset", "variant", "lang", "chapter", "metric", "value"]
    columns += ["ci_low", "ci_high", "n"]
    return table.assign(ci_low=low, ci_high=high)[columns]


def _with_numbers(
    part: pd.DataFrame, dataset: str, lang: str, _variant: str, chapter: str
) -> pd.DataFrame:
    """Return the rows of one test with their n: accuracy, and consistency where its
    number of statements can be found.

    Of a chapter it cannot: the consistencies of two models do not determine it.
    """
    accuracy_name, consistency_name = reasoning.METRICS
    accuracy = part[part["metric"] == accuracy_name]
    if chapter:
        n_pairs = counts()["marvl", lang, chapter, "", "examples"]
        return accuracy.assign(n=n_pairs)

    consistency = part[part["metric"] == consistency_name]
    count_set = SETS.get(dataset, dataset)
    fewest = int(0.9 * accuracy["n"].iloc[0] / 4)
    most = int(counts()[count_set, lang, "", "", "captions"])
    n_statements = proportions.smallest_denominator(consistency["value"], fewest, most)
    return pd.concat([accuracy, consistency.assign(n=n_statements)])
