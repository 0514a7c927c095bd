"""How far the best result of each language is behind that of English, or of the best
language, at each date, and how this gap changes.

Results are fractions; a gap is the reference minus the best result of a language so
far. Tables of results by date have a row for each date at which a best result changes
and a column for each language.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from babelatlas.analysis import all_results, image_clusters, usability
from babelatlas.base import languages, released
from babelatlas.report import figures, formatting
from babelatlas.report.figures import look
from babelatlas.report.formatting import intervals
from babelatlas.stats import bootstrap, multiple_comparisons, permutation

BEST_LANGUAGE = "best language"
ENGLISH = "English"
ENGLISH_AMONG_CLASSES = "English among as many classes"
LABEL_APART = 0.075  # of the height of a panel: how far names of lines stand apart


class Gap(NamedTuple):
    """The best results so far and their gap to a reference.

    `best`: date x language, English among them; `gap`: date x other languages, the
    reference minus the best result; `n_models`: models whose date is known.
    """

    best: pd.DataFrame
    gap: pd.DataFrame
    n_models: int


def read_scores(
    harness: str,
    dataset: str,
    metric: str,
    direction: str,
    variants: Sequence[str],
    least_classes: int,
) -> pd.DataFrame:
    """Return the released results of one series, one run of each model, with the facts
    about the models.

    On Babel-ImageNet languages with fewer than `least_classes` classes are left out.
    Columns: those of `released`, date (when the model was released, NaT where not
    known), title, weights and family (of models). Raises what `released.read` raises.
    """
    rows = released.read(
        harness=harness, dataset=dataset, metric=metric, direction=direction
    )
    rows = rows[rows["variant"].isin(variants)]
    if dataset == "babel-imagenet":
        rows = rows[rows["n"] >= image_clusters.IMAGES_OF_A_CLASS * least_classes]
    facts = released.models()[["released", "title", "weights", "family"]]
    facts = facts.rename(columns={"released": "date"})
    return released.one_run(rows).join(facts, on="model")


def measure_gap(scores: pd.DataFrame, reference: str) -> Gap:
    """Return the best results so far and their gap to `reference`: BEST_LANGUAGE,
    ENGLISH or ENGLISH_AMONG_CLASSES.

    `scores`: as of `read_scores`; languages without a result at the first date are left
    out. ENGLISH_AMONG_CLASSES: the best English result among as many classes as each
    language has on Babel-ImageNet.
    """
    dated = scores.dropna(subset="date")
    best = dated.pivot_table(
        index="date", columns="lang", values="value", aggfunc="max"
    )
    best = best.cummax().ffill()
    from_the_start = best.iloc[0].notna()
    best = best.loc[:, from_the_start]
    is_new = (best != best.shift()).any(axis=1)
    best = best[is_new]
    others = best.drop(columns="en")

    if reference == ENGLISH_AMONG_CLASSES:
        level = english_over_time(
            dated[dated["lang"] == "en"],
            all_results.classes_tested()[others.columns],
            others.index,
            usability.english_gains(),
        )
        gap = level - others
    elif reference == BEST_LANGUAGE:
        gap = others.rsub(best.max(axis=1), axis=0)
    else:
        gap = others.rsub(best["en"], axis=0)
    n_models = dated["model"].nunique()
    return Gap(best, gap, n_models)


def english_over_time(
    table: pd.DataFrame, classes: pd.Series, dates: pd.Index, gains: pd.Series
) -> pd.DataFrame:
    """Return the best English accuracy so far among as many classes as each language
    has: dates x languages.

    `table`: model, value (English accuracy among all classes) and date of each model;
    `classes`: by language; `gains`: as of `usability.english_gains`, where a model has
    none their mean. Languages with fewer classes than `usability.part_of_gain` covers
    have no value.

    >>> rows = pd.DataFrame({"model": ["a", "b"], "value": [0.4, 0.5], "date": [1, 2]})
    >>> classes = pd.Series({"de": 1000, "sw": 100})
    >>> gains = pd.Series({"a": 0.3, "b": 0.1})
    >>> english_over_time(rows, classes, pd.Index([1, 2]), gains)
        de   sw
    1  0.4  0.7
    2  0.5  0.7
    """
    gain = table["model"].map(gains).fillna(gains.mean())
    added = np.outer(gain, usability.part_of_gain(classes))
    by_model = pd.DataFrame(
        table["value"].to_numpy()[:, None] + added,
        index=table["date"].to_numpy(),
        columns=classes.index,
    )
    by_date = by_model.groupby(level=0).max().cummax()
    return by_date.reindex(dates, method="ffill")


def change(gap: pd.DataFrame, n_resamples: int, seed: int) -> dict:
    """Return how the mean of a gap changed from its first date to its last, over
    languages: start, before, after, value (after minus before), ci_low, ci_high,
    p_family, n and n_families.

    `gap`: date x language. Interval and sign-flip test resample language families; both
    are NaN where there is only one.
    """
    families = list(languages.families(gap.columns).values())
    before, after = gap.iloc[0], gap.iloc[-1]
    difference = (after - before).round(12)
    low, high, p, n_families = permutation.paired_mean_over_families(
        difference, families, n_resamples, seed
    )
    return {
        "start": gap.index[0],
        "before": before.mean(),
        "after": after.mean(),
        "value": difference.mean(),
        "ci_low": low,
        "ci_high": high,
        "p_family": p,
        "n": len(families),
        "n_families": n_families,
    }


def changes(
    gaps: Mapping[str, pd.DataFrame], n_resamples: int, seed: int
) -> pd.DataFrame:
    """Return the change of each gap, one row each: `series` and the columns of
    `change`, p_holm (Holm-adjusted over the rows), and columns for a table.

    Columns for a table: "first", "now" and "change (points)" (percentage points) and
    "p" (Holm-adjusted). `gaps`: name -> date x language.
    """
    rows = []
    for name, gap in gaps.items():
        row = {"series": name}
        rows.append(row | change(gap, n_resamples, seed))
    return _for_table(pd.DataFrame(rows))


def changes_by_group(
    gaps: Mapping[str, pd.DataFrame],
    least_families: int,
    n_resamples: int,
    seed: int,
) -> pd.DataFrame:
    """Return the change of each gap in each group of languages by script and by
    resources: as `changes`, with group, gap_low and gap_high.

    gap_low and gap_high bound the gap at the last date. Groups of fewer than
    `least_families` families have no intervals (NaN).
    """
    rows = []
    for name, gap in gaps.items():
        for group, members in _groups(gap.columns).items():
            part = gap[members]
            row = {"series": name, "group": group}
            row |= change(part, n_resamples, seed)
            if row["n_families"] >= least_families:
                families = list(languages.families(members).values())
                now = bootstrap.mean_interval(
                    part.iloc[-1], families, n_resamples, seed=seed
                )
                row["gap_low"] = now["ci_low"].item()
                row["gap_high"] = now["ci_high"].item()
            else:
                row |= dict.fromkeys(
                    ["ci_low", "ci_high", "gap_low", "gap_high"], np.nan
                )
            rows.append(row)
    return _for_table(pd.DataFrame(rows))


def _groups(codes: Sequence[str]) -> dict[str, list[str]]:
    """Return the languages of each group that has some: by script, then by resources,
    the highest first.
    """
    facts = languages.table().set_index("code").loc[codes]
    script = np.where(facts["script_name"] == "Latin", "Latin script", "other scripts")
    resources = "resources: " + facts["group"].replace("", "no group")
    order = ["Latin script", "other scripts"]
    order += [f"resources: {name}" for name in reversed(languages.GROUPS)]
    order += ["resources: no group"]
    members = facts.groupby(script).groups | facts.groupby(resources).groups
    return {group: list(members[group]) for group in order if group in members}


def changes_without_one_family(
    comparisons: Mapping[str, tuple[pd.DataFrame, str]], n_resamples: int, seed: int
) -> pd.DataFrame:
    """Return the change of each gap when one family of models is left out, one row for
    each family: as `changes`, with without (that family) and dates (of a new best
    result).

    `comparisons`: name -> scores and reference, as `measure_gap` takes them.
    """
    rows = []
    for name, (scores, reference) in comparisons.items():
        dated = scores.dropna(subset="date")
        for family in sorted(dated["family"].unique()):
            others = dated[dated["family"] != family]
            best, gap, _ = measure_gap(others, reference)
            row = {"series": name, "without": family, "dates": len(best)}
            rows.append(row | change(gap, n_resamples, seed))
    return _for_table(pd.DataFrame(rows))


def _for_table(table: pd.DataFrame) -> pd.DataFrame:
    """Add p_holm and the columns that a reader sees to rows of `change`."""
    table = table.assign(p_holm=multiple_comparisons.holm(table["p_family"]))
    table["first"] = 100 * table["before"]
    table["now"] = 100 * table["after"]
    table["change (points)"] = intervals(table, to=" to ")
    table["p"] = [
        formatting.p_value(row.p_holm, row.p_family) for row in table.itertuples()
    ]
    return table


def means_over_time(
    gaps: Mapping[str, Gap], n_resamples: int, seed: int
) -> pd.DataFrame:
    """Return at each date the mean over languages other than English of the best result
    ("others") and of the gap ("gap"), with intervals over families.

    Columns: series, measure, date, value, ci_low, ci_high, n, n_clusters.
    """
    rows = []
    for name, (best, gap, _) in gaps.items():
        families = list(languages.families(gap.columns).values())
        tables = {"others": best[gap.columns], "gap": gap}
        for measure, table in tables.items():
            for date, values in table.iterrows():
                row = bootstrap.mean_interval(values, families, n_resamples, seed=seed)
                rows.append(row.assign(date=date, measure=measure, series=name))
    return pd.concat(rows, ignore_index=True)


def year_by_year(gaps: Mapping[str, Gap], means: pd.DataFrame) -> pd.DataFrame:
    """Return the best results by the end of each year, one row for each series and
    year, with columns as a reader reads them.

    `means`: as of `means_over_time`.
    """
    means = means.assign(text=intervals(means, to=" to "))
    rows = []
    for name, (best, _, _) in gaps.items():
        texts = means[means["series"] == name].pivot(
            index="date", columns="measure", values="text"
        )
        first, last = best.index[0], best.index[-1]
        for year in range(first.year, last.year + 1):
            end = pd.Timestamp(year, 12, 31)
            row = {
                "series": name,
                "by the end of": str(year),
                "English (%)": 100 * best.loc[:end, "en"].iloc[-1],
                "mean of the others (%)": texts.loc[:end, "others"].iloc[-1],
                "gap to English (points)": texts.loc[:end, "gap"].iloc[-1],
            }
            rows.append(row)
    return pd.DataFrame(rows)


def best_lines(
    gaps: Mapping[str, Gap], means: pd.DataFrame, named: Sequence[str]
) -> pd.DataFrame:
    """Return the lines of the figure of best results: English, the mean of the others,
    and the languages `named` that a series has.

    Columns: series, line, date, value, ci_low, ci_high; rows by series and line.
    """
    mean = means[means["measure"] == "others"]
    lines = []
    for name, (best, _, _) in gaps.items():
        of_series = mean[mean["series"] == name]
        lines.append(_line(best["en"], "en", name))
        lines.append(of_series.assign(line="mean of the others"))
        for lang in named:
            if lang in best:
                lines.append(_line(best[lang], lang, name))
    columns = ["series", "line", "date", "value", "ci_low", "ci_high"]
    return pd.concat(lines, ignore_index=True)[columns]


def _line(values: pd.Series, lang: str, series: str) -> pd.DataFrame:
    """Return the best results of a language by date as a line, without intervals."""
    line = values.rename("value").rename_axis("date").reset_index()
    return line.assign(
        series=series,
        line=languages.name(lang),
        ci_low=np.nan,
        ci_high=np.nan,
    )


def verdict_in_words(verdicts: pd.Series) -> str:
    """Return whether the gap to the best language has shrunk, as a sentence without its
    full stop.

    `verdicts`: of each series "narrower", "wider", "not sure" or "too few dates".

    >>> verdict_in_words(pd.Series({"Retrieval": "narrower", "Classes": "not sure"}))
    'The gap to the best language has shrunk in Retrieval and may have stayed the same in Classes'
    """
    words = {
        "narrower": "has shrunk",
        "wider": "has grown",
        "not sure": "may have stayed the same",
        "too few dates": "rests on too few dates to say",
    }
    parts = [
        f"{words[state]} in {' and '.join(rows.index)}"
        for state, rows in verdicts.groupby(verdicts, sort=False)
    ]
    return f"The gap to the best language {' and '.join(parts)}"


def steps_over_time(
    table: pd.DataFrame, panel: str, series: str, ylabel: str, bold: Sequence[str] = ()
) -> np.ndarray:
    """Draw values that change at dates as steps, one panel below the other, a line for
    each value of `series`; return the Axes of the panels.

    `table`: panel, series, date, value, ci_low, ci_high (fractions; the band, NaN where
    there is none). Each line ends at the last date of its panel and carries its name
    there, moved apart from the others; those in `bold` are thicker. Each panel has its
    own years. A dotted line stands at 0.
    """
    panels = look.in_order(table[panel])
    names = look.in_order(table[series])
    height = 0.5 + 3.1 * len(panels)
    figure = plt.figure(figsize=(7.2, height), layout="constrained")
    axes = figure.subplots(len(panels), 1, squeeze=False)[:, 0]
    _, phone_axes = look.below_one_another([""] * len(panels), height)
    for drawn in (axes, phone_axes):
        for axis, title in zip(drawn, panels, strict=True):
            rows = table[table[panel] == title]
            axis.set(ylim=_limits(table), ylabel=ylabel)
            axis.set_title(title, size=11, loc="left")
            _draw_steps(axis, rows, series, names, bold)
            _name_lines(axis, rows, series, names, bold)
            zero = {"linewidth": 1, "linestyle": ":", "zorder": 1, "marker": ""}
            axis.axhline(0, color="0.4", **zero)
            years = pd.date_range(rows["date"].min(), rows["date"].max(), freq="YS")
            axis.set_xticks(years, years.year)
            look.percent_axis(axis)
    forms = look.Forms(phone_axes)
    return look.with_forms(look.with_data(axes, table), forms, share="")


def _limits(table: pd.DataFrame) -> tuple[float, float]:
    """Return the ends of an axis that holds all values with their bands, and 0."""
    low = min(table["ci_low"].min(), table["value"].min(), 0)
    high = max(table["ci_high"].max(), table["value"].max())
    margin = 0.03 * (high - low)
    return low - margin, high + margin


def chart(lines: pd.DataFrame, ylabel: str) -> dict:
    """Return the lines of `best_lines` as a chart that one explores (`figures.chart`);
    each language links to its page.
    """
    codes = languages.table().drop_duplicates("name").set_index("name")["code"]
    pages = lines["line"].map(codes)
    values = 100 * lines["value"]
    texts = [
        f"{line}, {date:%Y-%m}\n{ylabel} {value:.1f} %"
        for line, date, value in zip(lines["line"], lines["date"], values, strict=True)
    ]
    points = pd.DataFrame(
        {
            "panel": lines["series"],
            "series": lines["line"],
            "x": lines["date"],
            "y": lines["value"],
            "low": lines["ci_low"],
            "high": lines["ci_high"],
            "text": texts,
            "link": ("language-" + pages + ".html").fillna(""),
        }
    )
    dates, shares = figures.Axis(scale="time"), figures.Axis(ylabel, percent=True)
    return figures.chart("steps", points, dates, shares)


def _draw_steps(
    axis: Axes, rows: pd.DataFrame, series: str, names: list[str], bold: Sequence[str]
) -> None:
    """Draw a line for each name that has rows, each to the last date of the panel."""
    end = rows["date"].max()
    for place, name in enumerate(names):
        line = rows[rows[series] == name].sort_values("date", kind="stable")
        if line.empty:
            continue
        line = pd.concat([line, line.tail(1).assign(date=end)])
        colours = look.line_of(place)
        look.band(axis, line, "date", colours["color"], step="post")
        axis.plot(
            line["date"],
            line["value"],
            drawstyle="steps-post",
            lw=2.4 if name in bold else 1.7,
            marker=look.MARKERS[place % len(look.MARKERS)],
            markersize=4.5,
            **colours,
        )


def _name_lines(
    axis: Axes, rows: pd.DataFrame, series: str, names: list[str], bold: Sequence[str]
) -> None:
    """Write the name and last value of each line at its end, from the lowest up."""
    bottom, top = axis.get_ylim()
    least = LABEL_APART * (top - bottom)
    last = rows.sort_values("date", kind="stable").groupby(series)["value"].last()
    last = last[[name for name in names if name in last]]
    height = -np.inf
    for name, value in last.sort_values(kind="stable").items():
        height = max(value, height + least)
        axis.annotate(
            f"{name} {100 * value:.0f}",
            (rows["date"].max(), height),
            xytext=(7, 0),
            textcoords="offset points",
            annotation_clip=False,
            va="center",
            size=10.5,
            color=look.line_of(names.index(name))["color"],
            weight="bold" if name in bold else "normal",
        )
