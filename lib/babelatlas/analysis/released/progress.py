"""Is the gap to English closing: the best result of each language by release date, and how far it lies below English's.

The best result is a running maximum: at each date the highest value of any model released by then. Only models of one
harness and data set are compared, as protocols differ. Intervals resample language families, as languages are related.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
import pandas as pd

from babelatlas.analysis import ranking
from babelatlas.base.errors import InputError
from babelatlas.stats import bootstrap, checks, tests

ENGLISH = "en"
HIGHEST = "best language"
MEASURES = ("others", "gap", "ratio")


def with_dates(scores: pd.DataFrame, models: pd.DataFrame, known_by: Mapping[str, str] | None = None) -> pd.DataFrame:
    """Return the scores with `date` (NaT where it is unknown), `title` and `weights` of their models.

    `scores`: model and others. `models`: as `released.models` gives them; a month counts from its first day.
    `known_by`: model -> a date by which it was public, used where `models` has none. Raises InputError for an unknown
    model, and for a date that is not written YYYY-MM-DD or YYYY-MM.

    >>> models = pd.DataFrame({"title": "A", "weights": "open", "release_date": "2021-01"}, index=["a"])
    >>> with_dates(pd.DataFrame({"model": ["a"]}), models)["date"].dt.strftime("%Y-%m-%d").tolist()
    ['2021-01-01']
    """
    unknown = sorted({*scores["model"], *(known_by or ())} - set(models.index))
    if unknown:
        raise InputError(f"The list of models has no {unknown[0]!r}: add it to data/released/models.csv.")
    known_by = known_by or {}
    dates = {model: _date(model, text or known_by.get(model, "")) for model, text in models["release_date"].items()}
    facts = {name: scores["model"].map(models[name]) for name in ("title", "weights")}
    return scores.assign(date=pd.to_datetime(scores["model"].map(dates)), **facts)


def _date(model: str, text: str) -> pd.Timestamp:
    try:
        return pd.to_datetime(text, format="%Y-%m-%d" if len(text) > 7 else "%Y-%m") if text else pd.NaT
    except ValueError:
        raise InputError(f"A release date is written YYYY-MM-DD or YYYY-MM; {model!r} has {text!r}.") from None


def best_so_far(dated: pd.DataFrame) -> pd.DataFrame:
    """Return the best value of each language (columns) at each date at which one of them rises (index).

    `dated`: model, lang, value, date; rows without a date are left out, and languages that have no value at the first
    date, so that every date has the same languages. Raises InputError for no dates, or a model that has a language
    twice.

    >>> table = pd.DataFrame({"model": list("abc"), "lang": "de", "value": [0.2, 0.1, 0.4], "date": pd.NaT})
    >>> best_so_far(table.assign(date=pd.to_datetime(["2021-01-01", "2022-01-01", "2023-01-01"])))["de"].tolist()
    [0.2, 0.4]
    """
    dated = dated[dated["date"].notna()]
    checks.check_numbers(dated, ["value"], "The best results by release date", ["model", "lang", "date"])
    if dated.duplicated(["model", "lang"]).any():
        raise InputError(
            "The best results by release date need one value for each model and language, but some occur twice: "
            "choose one harness, data set, metric, direction and variant."
        )
    best = dated.pivot_table(index="date", columns="lang", values="value", aggfunc="max").cummax().ffill()
    best = best.loc[:, best.iloc[0].notna()]
    return best[(best != best.shift()).any(axis=1)]


def gap_by_language(best: pd.DataFrame, reference: str = ENGLISH) -> pd.DataFrame:
    """Return how far each language but English lies below the reference at each date: (dates, languages), fractions.

    `reference`: a language of `best`, or "best language", the highest value of any language at the date.
    """
    if reference not in (HIGHEST, *best):
        raise InputError(f"The gap needs {reference!r} in the results; languages there: {', '.join(best)}.")
    level = best.max(axis=1) if reference == HIGHEST else best[reference]
    return best.drop(columns=[ENGLISH, reference], errors="ignore").rsub(level, axis=0)


def gaps(
    best: pd.DataFrame,
    cluster: Mapping[str, str],
    reference: str = ENGLISH,
    n_resamples: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """Return at each date the mean over languages of the best value, the gap to the reference, and the ratio to it.

    `best` as of `best_so_far`; `cluster`: language -> family. Columns: date, measure ("others", "gap", "ratio"), value,
    ci_low, ci_high (bootstrap over families; NaN for one family), n (languages), n_clusters, reference (its value).
    """
    gap = gap_by_language(best, reference)
    others = best[gap.columns]
    level = (gap + others).iloc[:, 0]
    parts = {"others": others, "gap": gap, "ratio": others.div(level, axis=0)}
    families, rows = [cluster[lang] for lang in gap], []
    for measure in MEASURES:
        for date, values in parts[measure].iterrows():
            found = [values.mean(), np.nan, np.nan, len(values), 1]
            if len(set(families)) > 1:
                found = bootstrap.mean_interval(values, families, n_resamples, seed=seed).iloc[0].tolist()
            rows.append([date, measure, *found, level[date]])
    table = pd.DataFrame(
        rows, columns=["date", "measure", "value", "ci_low", "ci_high", "n", "n_clusters", "reference"]
    )
    return table.astype({"n": int, "n_clusters": int})


def changes(
    best: pd.DataFrame,
    dates: Sequence,
    cluster: Mapping[str, str],
    reference: str = ENGLISH,
    n_resamples: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """Return how the gap changed from each date to the next, one row each: below 0 it became narrower.

    A date stands for what was released by then. Columns: start, end, before, after (mean gaps), value (mean change over
    languages, a fraction), ci_low, ci_high (bootstrap over families), p (sign-flip test by language), p_families (whole
    families change sign), p_holm (of p_families, Holm's correction over the rows), narrower, wider (languages), n,
    n_clusters. One family alone has neither interval nor p_families (NaN). Raises InputError for a date before the
    first result, and for fewer than two dates.
    """
    dates = [pd.Timestamp(date) for date in dates]
    if len(dates) < 2 or min(dates) < best.index[0]:
        raise InputError(
            f"Changes need two dates from {best.index[0]:%Y-%m-%d} on; got {', '.join(map(str, dates)) or 'none'}."
        )
    gap = gap_by_language(best, reference)
    families = np.array([cluster[lang] for lang in gap])
    n_clusters, rows = len(set(families)), []
    for start, end in pairwise(dates):
        before, after = (gap.loc[:date].iloc[-1] for date in (start, end))
        change = (after - before).round(12)
        row = {"start": start, "end": end, "before": before.mean(), "after": after.mean(), "value": change.mean()}
        row |= dict.fromkeys(["ci_low", "ci_high", "p_families"], np.nan)
        row["p"] = tests.paired_permutation_test(change, seed=seed)
        if n_clusters > 1:
            found = bootstrap.mean_interval(change, families, n_resamples, seed=seed).iloc[0]
            member = ranking.members(gap.columns, cluster)
            row |= {"ci_low": found["ci_low"], "ci_high": found["ci_high"]}
            row["p_families"] = float(ranking.sign_flip_test(change.to_numpy()[:, None], seed=seed, member=member)[0])
        rows.append(row | {"narrower": int((change < 0).sum()), "wider": int((change > 0).sum())})
    table = pd.DataFrame(rows).assign(n=len(families), n_clusters=n_clusters)
    table["p_holm"] = tests.holm(table["p_families"])
    columns = ["start", "end", "before", "after", "value", "ci_low", "ci_high", "p", "p_families", "p_holm"]
    return table[[*columns, "narrower", "wider", "n", "n_clusters"]]


def holders(dated: pd.DataFrame) -> pd.DataFrame:
    """Return the best model of each language: lang, value, title, date, weights; of equal ones the earlier."""
    ordered = dated[dated["date"].notna()].sort_values(["value", "date", "title"], ascending=[False, True, True])
    return ordered.drop_duplicates("lang")[["lang", "value", "title", "date", "weights"]].sort_values("lang")
