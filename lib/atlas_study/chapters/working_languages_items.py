"""Chapter 12: how much lower models score than in English on the same items, by data set
and by language.
"""

import pandas as pd

from babelatlas.analysis import same_items
from babelatlas.base import languages
from babelatlas.report import formatting


def lost() -> pd.DataFrame:
    """Return the best open model of each language and data set next to its own result in
    English: `same_items.best_of_all`, with `language`.
    """
    rows = same_items.best_of_all()
    return rows.assign(language=rows["lang"].map(languages.name))


def one_form(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the first row of each language and data set of `lost`: of forms of a
    language (formal, casual) the one that its page recommends a model for.
    """
    return rows.drop_duplicates(["lang", "dataset"])


def by_dataset(rows: pd.DataFrame) -> pd.DataFrame:
    """Return for each data set the median difference over its languages, and those with
    the smallest and the largest loss, as a reader sees them.

    `rows`: as of `one_form`.
    """
    table = []
    sizes = rows.groupby(["dataset", "title"])["lang"].nunique().sort_values()
    titles = dict(sizes.index)  # data set -> its title in most languages
    present = [name for name in same_items.PARALLEL if name in titles]
    for dataset in present:
        title = titles[dataset]
        part = rows[rows["dataset"] == dataset]
        least = part.loc[part["difference"].idxmax()]
        most = part.loc[part["difference"].idxmin()]
        n_items = sorted({part["n_items"].min(), part["n_items"].max()})
        table.append(
            {
                "data set": title,
                "languages": part["lang"].nunique(),
                "items": f"{' to '.join(f'{n:,}' for n in n_items)} {least['over']}",
                "median (points)": points(part["difference"].median()),
                "smallest loss": f"{least['language']} {points(least['difference'])}",
                "largest loss": f"{most['language']} {points(most['difference'])}",
                "the same in English?": least["note"],
            }
        )
    return pd.DataFrame(table)


def by_language(rows: pd.DataFrame) -> pd.DataFrame:
    """Return `lost` as a reader sees it, by language."""
    rows = rows.sort_values("language", kind="stable")
    ends = rows[["ci_low", "ci_high"]].assign(value=rows["difference"])
    return pd.DataFrame(
        {
            "language": rows["language"],
            "data set": rows["title"],
            "best open model": rows["name"],
            "English (%)": 100 * rows["english"],
            "here (%)": 100 * rows["value"],
            "difference (points)": formatting.intervals(ends, "+.1f", to=" to "),
            "items": rows["n_items"],
        }
    )


def points(difference: float) -> str:
    """Return a difference of fractions in points, with its sign.

    >>> points(-0.1234)
    '−12.3'
    """
    return f"{100 * difference:+z.1f}".replace("-", "−")
