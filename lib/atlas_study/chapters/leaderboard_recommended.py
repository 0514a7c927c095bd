"""Chapter 11: which model to use in which language (`babelatlas.analysis.recommendation`),
and newer models of which only means over languages are reported.
"""

import pandas as pd
from IPython.display import HTML

from babelatlas.analysis import recommendation
from babelatlas.analysis.recommendation import ANSWERS, SEARCH
from babelatlas.base import languages, published, released
from babelatlas.models import registry
from babelatlas.report import reading

# Columns of the table of languages: task and use -> what a reader reads.
IN_TABLE = [
    use for use in recommendation.USES if use != recommendation.COMMERCIAL_SMALL
]
COLUMNS = {(SEARCH, use): use for use in IN_TABLE} | {
    (ANSWERS, recommendation.ANY): "questions, any licence"
}
# Papers that report newer models -> their series, and their numbers on arXiv.
NEWER = {"tschannen2025siglip2": "SigLIP 2", "chuang2025metaclip2": "MetaCLIP 2"}
NUMBERS = {"tschannen2025siglip2": "2502.14786", "chuang2025metaclip2": "2507.22062"}
MEASURES = {
    ("xm3600", "recall@1 text-to-image"): "recall@1, text to image (%)",
    ("xm3600", "recall@1 image-to-text"): "recall@1, image to text (%)",
    ("babel-imagenet", "accuracy@1"): "Babel-ImageNet, accuracy (%)",
}
REPORTED = MEASURES["xm3600", "recall@1 image-to-text"]  # of all of them


def recommended_by_use() -> pd.DataFrame:
    """Return for each task and use in how many languages a model is recommended, and
    which most often, as a table to read.
    """
    parts = [
        recommendation.counts_by_use(task).assign(task=task)
        for task in recommendation.BOARDS
    ]
    table = pd.concat(parts, ignore_index=True)
    most_often = table["first"] + " (" + table["first_count"].astype(str) + ")"
    return pd.DataFrame(
        {
            "use": table["task"] + ": " + table["use"],
            "a model is usable": table[recommendation.RECOMMENDED],
            "none is": table[recommendation.NONE_USABLE],
            "not decided": table[recommendation.NOT_DECIDED],
            "not tested": table[recommendation.NOT_TESTED],
            "recommended most often": most_often.where(table["first"] != "", "–"),
        }
    )


def show_by_use() -> HTML:
    """Return `recommended_by_use` as HTML, with its caption."""
    table = recommended_by_use()
    counts = table[["a model is usable", "none is", "not decided"]]
    table = table[counts.sum(axis=1) > 0]  # without uses for which nothing was tested
    usable = table.set_index("use")["a model is usable"]
    n_any = usable[f"{SEARCH}: {recommendation.ANY}"]
    n_free = usable[f"{SEARCH}: {recommendation.COMMERCIAL}"]
    caption = (
        f"<b>For search and labels an open model is usable in {n_any} languages, one"
        f" licensed for commercial use in {n_free}.</b> Languages by use: with a usable"
        " model, with none, not decided (fewer than 100 classes), not tested. In"
        " brackets: in how many languages the model is recommended. MIT, Apache-2.0 and"
        " BSD count as licences for commercial use; a model made of several parts is"
        " under the strictest of their licences. Of all languages with a test, so"
        " without an interval. Languages are counted by code: Croatian and Serbian are"
        " two here, and one spoken language where"
        ' <a href="12_working_languages.html">usable languages</a> are counted, with'
        " those of questions, too."
    )
    return reading.table(table, caption)


def recommended_by_language() -> pd.DataFrame:
    """Return the recommended model of each language for each use, as a table to read:
    language, COLUMNS and test.

    Languages of which no test decides anything are left out.
    """
    table = recommendation.recommendations()
    undecided = [recommendation.NOT_DECIDED, recommendation.NOT_TESTED]
    decided = table.loc[~table["state"].isin(undecided), "lang"].unique()
    table = table[table["lang"].isin(decided)]
    keys = pd.Series(zip(table["task"], table["use"], strict=True), table.index)
    table = table.assign(
        column=keys.map(COLUMNS), cell=[_cell(row) for _, row in table.iterrows()]
    )
    table = table.dropna(subset="column")
    wide = table.pivot(index="lang", columns="column", values="cell")
    wide = wide.reindex(columns=list(COLUMNS.values())).fillna("–")
    wide.insert(0, "language", wide.index.map(languages.name))
    return wide.sort_values("language").reset_index(drop=True)


def show_by_language() -> HTML:
    """Return `recommended_by_language` as HTML, with its caption."""
    table = recommended_by_language()
    caption = (
        f"<b>The model to use in each of {len(table)} languages, use by use.</b> With"
        " its result: recall@1 from text to image on Crossmodal-3600 where the language"
        " has captions, else accuracy on Babel-ImageNet by the label alone; of"
        " questions, accuracy. 95 % intervals over queries, images or questions. Newest:"
        " of the usable models. The page of a language names test and harness of each"
        " number, and models that do not differ significantly."
    )
    return reading.table(table, caption)


def _cell(row: pd.Series) -> str:
    """Return a recommended model with its result, or why there is none, as text."""
    if row["state"] == recommendation.RECOMMENDED:
        return f"{row['name']}: {recommendation.result_text(row)}"
    return row["state"]


def newer_models() -> pd.DataFrame:
    """Return newer models of which their authors report means over languages, as a table
    to read, the highest first: model, released, the means in percent, results by
    language (the harnesses that released some), source (a link, HTML).
    """
    table = pd.concat([published.read(source) for source in NEWER])
    measures = zip(table["dataset"], table["metric"], strict=True)
    table["measure"] = [MEASURES[key] for key in measures]
    means = table.pivot(index=["source", "model"], columns="measure", values="value")
    means = (100 * means[list(MEASURES.values())]).reset_index()

    dates = released.models().set_index("title")["release_date"]
    years = registry.table().groupby("series")["year"].min().astype(str)
    year = means["source"].map(NEWER).map(years)
    means["released"] = means["model"].map(dates).fillna(year).fillna("not known")
    means["results by language"] = _harnesses(means["model"])
    means = means.sort_values(REPORTED, ascending=False, kind="stable")
    number = means["source"].map(NUMBERS)
    link = '<a href="https://arxiv.org/abs/' + number + '">arXiv ' + number + "</a>"
    means["source"] = link
    columns = ["model", "released", *MEASURES.values()]
    return means[[*columns, "results by language", "source"]].reset_index(drop=True)


def show_newer_models() -> HTML:
    """Return `newer_models` as HTML, with its caption."""
    table = newer_models()
    highest = table.iloc[0]
    caption = (
        f"<b>Of {len(table)} newer models, {highest['model']} has the highest reported"
        f" mean, {highest[REPORTED]:.1f} % from image to text.</b> Reported by their"
        " authors, with their own code and without intervals: means over the 36"
        " languages of Crossmodal-3600, and over those of Babel-ImageNet; they do not"
        " compare with the leaderboards here. An en dash: not reported. Immich's results"
        " by language are means of recall@1, 5 and 10 without the number of queries, so"
        " that no difference can be tested; the explorer has them."
    )
    return reading.table(table, caption, raw=["source"])


def _harnesses(titles: pd.Series) -> list[str]:
    """Return for each model the harnesses that released results by language of it, as
    text, "none" without any.
    """
    names = pd.Series(released.models()["title"])
    rows = released.read()
    rows = rows.assign(title=rows["model"].map(names))
    harnesses = rows.groupby("title")["harness"].unique()
    facts = released.facts()["harnesses"]
    return [
        ", ".join(facts[name]["title"] for name in harnesses.get(title, [])) or "none"
        for title in titles
    ]
