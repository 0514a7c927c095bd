"""Does accuracy predict recall in the runs of this study, of real models on photographs
and stamps, and of the run that is shown?

Each point is a model in a language. Both measures have errors of their own: with few
images a correlation of 1 cannot show. `ceiling` is the correlation that errors of this
size leave of a perfect one, and `corrected` the correlation divided by it (Spearman
1904, Am. J. Psychol. 15, 72-101).
"""

from collections.abc import Mapping
from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd

from babelatlas.analysis import outcomes, real_run
from babelatlas.base import languages, tables
from babelatlas.base.errors import InputError
from babelatlas.models import registry
from babelatlas.report import formatting
from babelatlas.stats import correlation, regression
from babelatlas.stats.distributions import normal_quantile

X, Y = "accuracy", "recall"
ACCURACY, RECALL = "accuracy@1", "t2i recall@1"
CLUSTERS = ["kin", "model"]
ALL = "all pairs"
OVER_MODELS = "models within a language"
OVER_LANGUAGES = "languages within a model"
# What a correlation may be over: its name -> how it is computed.
DEFINITIONS = {
    ALL: {},
    OVER_MODELS: {"within": "lang"},
    OVER_LANGUAGES: {"within": "model"},
    f"{OVER_LANGUAGES}, given classes": {
        "within": "model",
        "covariates": ["log classes"],
    },
}
METHODS = ("spearman", "pearson", "kendall")
MOST_SERIES = 6
COLUMNS = ["data", "definition", "method", "value", "ci_low", "ci_high", "ceiling"]
COLUMNS += ["corrected", "n", "models", "languages", "reason"]
# The stamps and photographs of the run that ships: data set, and what it is called.
STAMPS, NOUNS = "tuxpaint-stamps", "tuxpaint-nouns"
SAME = "stamps classified; stamps found"
PHOTOGRAPHS = "photographs classified; stamps found"
REAL = {NOUNS: SAME, real_run.WHOLE: PHOTOGRAPHS}


def pairs_of_run(
    results: str, models: list[str], datasets: list[str]
) -> dict[str, pd.DataFrame]:
    """Return accuracy and recall of a run by pair of data sets: one to classify, one to
    retrieve. Empty where the run has no such pair.

    A row for each model and language that has both: model, lang, kin, english, accuracy,
    recall, `accuracy error`, `recall error` (standard errors), classes, log classes. Of
    retrieval, recall@1 from text to image.
    """
    files = tables.of_run(results, "scores/languages.parquet")
    if not files:
        return {}
    scores = tables.read(files[0], "languages")
    is_asked = scores["model"].isin(models) & scores["dataset"].isin(datasets)
    scores = outcomes.main(scores[is_asked])
    accuracy = scores[scores["metric"] == ACCURACY]
    accuracy = accuracy.rename(columns={"items": "classes"})
    recall = scores[scores["metric"] == RECALL]
    found = {}
    for (first, one), (second, other) in product(
        accuracy.groupby("title", sort=False), recall.groupby("title", sort=False)
    ):
        table = _joined(one, other)
        if len(table):
            found[f"{first}; {second}"] = table
    return found


def real_pairs() -> dict[str, pd.DataFrame]:
    """Return accuracy and recall of the real models whose outcomes ship, as
    `pairs_of_run` does: on the stamps both are of the same pictures.

    Of retrieval, recall@10 from text to picture, since few stamps are found first.
    """
    scores = real_run.read("scores")
    sizes = real_run.read("zeroshot").groupby(["dataset", "model", "lang"])["wnid"]
    sizes = sizes.nunique().rename("classes").reset_index()
    is_recall = (scores["dataset"] == STAMPS) & (scores["variant"] == "t2i")
    found = {}
    for dataset, name in REAL.items():
        is_accuracy = (scores["dataset"] == dataset) & (scores["metric"] == ACCURACY)
        accuracy = scores[is_accuracy].merge(sizes, on=["dataset", "model", "lang"])
        found[name] = _joined(accuracy, scores[is_recall])
    return found


def _joined(accuracy: pd.DataFrame, recall: pd.DataFrame) -> pd.DataFrame:
    """Return accuracy and recall of each model and language that have both."""
    parts = []
    for name, scores in {X: accuracy, Y: recall}.items():
        error = (scores["ci_high"] - scores["ci_low"]) / (2 * normal_quantile(0.975))
        part = scores[["model", "lang", "value"]].rename(columns={"value": name})
        part = part.assign(**{f"{name} error": error})
        parts.append(part)
    parts[0]["classes"] = accuracy["classes"]
    table = parts[0].merge(parts[1], on=["model", "lang"])
    kin = languages.families(table["lang"].unique())
    return table.assign(
        kin=table["lang"].map(kin),
        english=table["lang"] == "en",
        **{"log classes": np.log(table["classes"])},
    )


def reliability(
    values: pd.Series, errors: pd.Series, groups: pd.Series | None
) -> float:
    """Return the share of the variance of `values` within `groups` that is none of
    their errors, from 0 to 1; NaN where nothing varies or no error is known.

    `errors`: standard errors. The variance that values have beyond their errors is that
    of what they measure (the reliability of classical test theory).

    >>> values, errors = pd.Series([0.1, 0.3, 0.5]), pd.Series([0.1, 0.1, 0.1])
    >>> round(reliability(values, errors, None), 2)
    0.75
    """
    means, n_groups = values.mean(), 1
    if groups is not None:
        means = values.groupby(groups).transform("mean")
        n_groups = groups.nunique()
    n_free = len(values) - n_groups
    squares = ((values - means) ** 2).sum()
    noise = (errors**2).mean()
    if n_free < 1 or squares < 1e-15 or np.isnan(noise):
        return np.nan
    return float(np.clip(1 - noise * n_free / squares, 0, 1))


def ceiling(part: pd.DataFrame, within: str = "") -> float:
    """Return the highest correlation that errors of accuracy and recall leave: the root
    of the product of their reliabilities.
    """
    groups = part[within] if within else None
    of_both = [
        reliability(part[name], part[f"{name} error"], groups) for name in (X, Y)
    ]
    return float(np.sqrt(np.prod(of_both)))


def correlations(
    parts: Mapping[str, pd.DataFrame],
    fewest: int,
    least: int,
    n_resamples: int,
    seed: int,
) -> pd.DataFrame:
    """Return the correlation of accuracy and recall by data and definition (COLUMNS),
    Spearman's first; English is in "all pairs" alone, as it is of published results.

    What needs models or languages has `reason` in place of a value where there are
    fewer than `fewest`. Intervals are over language families and models, of fewer than
    `least` models over families alone, for these models; over fewer than `least`
    families they are NaN.
    """
    rows = []
    for data, part in parts.items():
        for definition, how in DEFINITIONS.items():
            compared = part if definition == ALL else part[~part["english"]]
            found = _correlated(
                compared, definition, how, fewest, least, n_resamples, seed
            )
            few = found["n_clusters"] < least
            found.loc[few, ["ci_low", "ci_high"]] = np.nan
            rows.append(found.assign(data=data))
    if not rows:
        return pd.DataFrame(columns=COLUMNS)
    return pd.concat(rows, ignore_index=True)[COLUMNS]


def _correlated(
    part: pd.DataFrame,
    definition: str,
    how: dict,
    fewest: int,
    least: int,
    n_resamples: int,
    seed: int,
) -> pd.DataFrame:
    """Return the rows of one definition, a row for each method."""
    sizes = {"models": part["model"].nunique(), "languages": part["lang"].nunique()}
    needed = "model" if definition == OVER_MODELS else "language"
    n_needed = sizes[f"{needed}s"]
    reason = ""
    if n_needed < fewest:
        reason = f"{formatting.counted(n_needed, needed)}, fewer than {fewest}"
    elif part["kin"].nunique() < 2:
        reason = "languages of one family"
    elif "covariates" in how and part["classes"].max() == part["classes"].min():
        reason = "all have the same classes"
    else:
        # Of few models there is no telling what others would be like.
        clusters = CLUSTERS if sizes["models"] >= least else CLUSTERS[:1]
        try:
            found = correlation.correlate(
                part, X, Y, clusters, METHODS, n_resamples, seed=seed, **how
            )
        except InputError:
            reason = "not defined, since nothing varies"
    if reason:
        found = pd.DataFrame({"method": METHODS}).assign(n=len(part), n_clusters=0)
        found = found.assign(value=np.nan, ci_low=np.nan, ci_high=np.nan)
    highest = ceiling(part, how.get("within", ""))
    corrected = found["value"] / highest if highest > 0 else np.nan
    return found.assign(
        definition=definition,
        ceiling=highest,
        corrected=corrected,
        reason=reason,
        **sizes,
    )


def bands(
    parts: Mapping[str, pd.DataFrame], n_resamples: int, seed: int
) -> pd.DataFrame:
    """Return the lines of recall on accuracy by data, with bands over languages; of data
    that have correlations over all pairs.
    """
    found = []
    for data, part in parts.items():
        varies = (part[[X, Y]].max() > part[[X, Y]].min()).all()
        if varies and part["lang"].nunique() > 2:
            band = regression.regression_band(part, X, Y, "lang", n_resamples, seed)
            found.append(band.assign(data=data))
    if not found:
        return pd.DataFrame(
            columns=["x", "y", "ci_low", "ci_high", "data"], dtype=float
        )
    return pd.concat(found, ignore_index=True)


def points(parts: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return all pairs of models and languages with `data`, and `series`: the model
    where there are few enough for a colour each.
    """
    table = pd.concat([part.assign(data=data) for data, part in parts.items()])
    is_few = table["model"].nunique() <= MOST_SERIES
    return table.assign(series=table["model"] if is_few else "all models")


def sizes_of(points: pd.DataFrame) -> str:
    """Return of how many models and languages points are.

    >>> sizes_of(pd.DataFrame({"model": ["a", "a"], "lang": ["de", "en"]}))
    '1 model and up to 2 languages'
    """
    models = formatting.counted(points["model"].nunique(), "model")
    langs = formatting.counted(points["lang"].nunique(), "language")
    return f"{models} and up to {langs}"


def spearman(found: pd.DataFrame, data: str, definition: str) -> pd.Series:
    """Return the row of Spearman's correlation of some data and definition."""
    is_asked = (found["data"] == data) & (found["definition"] == definition)
    return found[is_asked & (found["method"] == "spearman")].iloc[0]


def lead(found: pd.DataFrame) -> str:
    """Return what a run's correlations over languages say, of the pair of data sets with
    the most languages; "" where there is none.
    """
    is_asked = (found["definition"] == OVER_LANGUAGES) & (found["method"] == "spearman")
    rows = found[is_asked].dropna(subset="value")
    if rows.empty:
        return ""
    rows = rows.sort_values("languages", ascending=False, kind="stable")
    row = rows.iloc[0]
    first, second = row["data"].split("; ")
    return (
        f"accuracy on {first} and recall on {second} correlate at"
        f" ρ = {text_of(row)} across the languages of a model"
    )


def together(real: pd.DataFrame, run: pd.DataFrame) -> pd.DataFrame:
    """Return the correlations of the real models and of the run as one table."""
    return pd.concat([real, run], ignore_index=True) if len(run) else real


def as_high_as_errors_allow(row: pd.Series) -> bool:
    """Return whether the interval of a correlation reaches its ceiling."""
    return bool(row["ci_high"] >= row["ceiling"])


def text_of(row: pd.Series) -> str:
    """Return a correlation as a sentence has it, with its interval where it has one.

    >>> text_of(pd.Series({"value": 0.512, "ci_low": 0.3, "ci_high": np.nan}))
    '0.51'
    """
    if np.isnan(row["ci_high"]):
        return f"{row['value']:.2f}".replace("-", "−")
    return formatting.intervals(row.to_frame().T, ".2f", 1, " to ").item()


def table_of(found: pd.DataFrame) -> pd.DataFrame:
    """Return correlations as a reader sees them: a row for each data and definition."""
    cells = [
        row["reason"] if row["reason"] else text_of(row) for _, row in found.iterrows()
    ]
    key = ["data", "definition"]
    table = found.assign(cell=cells).pivot(index=key, columns="method", values="cell")
    table = table.reindex(index=found.set_index(key).index.unique(), columns=METHODS)
    visible = found[found["method"] == "spearman"].set_index(key)
    for column in ("ceiling", "corrected"):
        table[column] = [
            "–" if np.isnan(value) else f"{value:.2f}".replace("-", "−")
            for value in visible[column]
        ]
    n = visible["models"].astype(str) + " × " + visible["languages"].astype(str)
    table["models × languages"] = n
    titles = {name: f"{name.capitalize()}'s" for name in METHODS}
    return table.rename(
        columns=titles | {"corrected": "Spearman's, corrected"}
    ).reset_index()


class RunAgreement(NamedTuple):
    """Whether the tasks of a run agree, for a page that shows other results, too.

    `found`: `correlations`; `name`: what the run is called; `is_real`: whether its
    models are real ones; `text`: what a page says of it, in MyST: what it lacks, or which
    rows are of the miniature; `lead`: what it found as one sentence, "" for the miniature
    and where there is nothing.
    """

    found: pd.DataFrame
    name: str
    is_real: bool
    text: str
    lead: str


def of_run(
    results: str,
    models: list[str],
    datasets: list[str],
    fewest: int,
    least: int,
    n_resamples: int,
    seed: int,
) -> RunAgreement:
    """Return whether tasks agree in a run: of its real models, or else of those of the
    miniature.
    """
    real = registry.real_models(models)
    parts = pairs_of_run(results, real or models, datasets)
    found = correlations(parts, fewest, least, n_resamples, seed)
    if not real:
        text = lacking(results, parts) or rows_of_the_miniature(models)
        return RunAgreement(found, "the miniature", False, text, "")
    sentence = lead(found)
    return RunAgreement(
        found=found,
        name="this run",
        is_real=True,
        text=lacking(results, parts),
        lead=f"In this run {sentence}." if sentence else "",
    )


def rows_of_the_miniature(models: list[str]) -> str:
    """Return which rows of `side_by_side` are of the miniature, in MyST.

    >>> rows_of_the_miniature(["picto-en"])
    'In the last rows: [miniature](40_miniature) models, which are tiny (picto-en).'
    """
    names = ", ".join(models)
    return (
        f"In the last rows: [miniature](40_miniature) models, which are tiny ({names})."
    )


def side_by_side(
    run: RunAgreement, real: pd.DataFrame, published: pd.DataFrame
) -> pd.DataFrame:
    """Return Spearman's correlations of a run, of the real models that ship and of
    published results as a reader sees them: a row for each source and data, over
    languages and over models; a run of real models first, the miniature last.

    `published`: as of `as_of_run`.
    """
    sources = {"real models of this study": real, "published": published}
    of_this_run = {run.name: run.found}
    sources = of_this_run | sources if run.is_real else sources | of_this_run
    rows = []
    for source, found in sources.items():
        visible = found[found["method"] == "spearman"].set_index(["data", "definition"])
        for data in dict.fromkeys(found["data"]):
            over = visible.loc[data]
            first = over.loc[OVER_LANGUAGES]
            ceiling = first.get("ceiling", np.nan)
            sizes = [str(first[name]) for name in ("models", "languages")]
            rows.append(
                {
                    "results": source,
                    "tasks": data,
                    OVER_LANGUAGES: _cell(first),
                    "ceiling": "–" if np.isnan(ceiling) else f"{ceiling:.2f}",
                    OVER_MODELS: _cell(over.loc[OVER_MODELS]),
                    "models × languages": " × ".join(sizes),
                }
            )
    return pd.DataFrame(rows)


def _cell(row: pd.Series) -> str:
    """Return a correlation as a table has it, or why there is none."""
    return row.get("reason", "") or text_of(row)


def as_of_run(found: pd.DataFrame, parts: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return published correlations as those of a run: with the numbers of models and
    of languages other than English that their data have, and both tasks in `data`.
    """
    sizes = {
        data: (part["model"].nunique(), part.loc[~part["english"], "lang"].nunique())
        for data, part in parts.items()
    }
    pairs = found["data"].map(sizes)
    return found.assign(
        data="Babel-ImageNet; " + found["data"],
        models=pairs.str[0],
        languages=pairs.str[1],
    )


def lacking(results: str, parts: Mapping[str, pd.DataFrame]) -> str:
    """Return why a run's tasks cannot be compared, "" where they can."""
    if parts:
        return ""
    tasks = {"zeroshot": "classification", "retrieval": "retrieval"}
    made = [
        words for task, words in tasks.items() if tables.of_run(results, f"{task}/*")
    ]
    if len(made) == 1:
        return (
            f"This run has results of {made[0]} alone: a comparison needs data sets of"
            " both tasks under `datasets` in its config."
        )
    if made:
        return (
            "This run has no model that was evaluated in the same language for"
            " classification and for retrieval."
        )
    return "This run has evaluated no model for classification or retrieval."


def write(found: pd.DataFrame, output: str, settings: dict) -> None:
    """Write all correlations, schema `scores`; what cannot be computed is left out."""
    scores = found.dropna(subset="value").assign(
        task="retrieval",
        dataset=found["data"],
        model="",
        lang="",
        group="",
        variant=found["definition"],
        metric=found["method"] + " correlation of recall with accuracy@1",
    )
    tables.write(scores[list(tables.SCHEMAS["scores"][0])], output, "scores", settings)
