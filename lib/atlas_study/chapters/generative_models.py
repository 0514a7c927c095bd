"""Chapter 27: generative models by language, on questions about dishes (WorldCuisines),
exams of India, and exams in Japanese and English; from released results.
"""

from itertools import pairwise, product
from typing import NamedTuple

import numpy as np
import pandas as pd

from babelatlas.analysis import leaderboard, ranking, real_models, usability
from babelatlas.base import languages, released
from babelatlas.report import formatting
from babelatlas.stats import (
    FAMILY_COLUMNS,
    bootstrap,
    correlation,
    multiple_comparisons,
    permutation,
    proportions,
    regression,
)

DATASET = "worldcuisines"
DISHES, INDIA = "dishes", "India"
# First word of a data set -> what it asks about.
SUBJECTS = {"worldcuisines": "dishes", "indian": "exams of India", "vizwiz": "VizWiz"}
ANSWERS = {"accuracy": "five choices", "open accuracy": "open"}
# The kinds of open answers that count -> the end of their metric.
REFERENCES = {"in the language": "", "in any language": ", all languages"}
CHOICES, WRITTEN = "five choices, mean of models", "open answers, mean of models"


class Results(NamedTuple):
    """What generative models were asked, and how they did."""

    every: pd.DataFrame  # all released results, one run each
    means: pd.DataFrame  # on dishes by metric, model and language
    sources: dict[str, pd.DataFrame]  # questions -> rows by model and language
    accuracy: dict[str, pd.DataFrame]  # questions -> language x model, complete models
    left_out: dict[str, str]  # questions -> models without a result in some language
    about: pd.DataFrame  # facts of all models
    family: dict[str, str]  # language -> its family
    guess: float  # among the choices, a fraction
    n_questions: int


def results() -> Results:
    """Return the released results on dishes and on exams of India."""
    every, about = released.one_run(released.read()), released.models()
    means = every[every["dataset"] == DATASET]
    means = means.groupby(["metric", "model", "lang"], as_index=False).agg(
        value=("value", "mean"), n=("n", "min"), baseline=("baseline", "first")
    )
    n_right = means["value"] * means["n"]
    means["ci_low"], means["ci_high"] = proportions.exact_interval(n_right, means["n"])
    choice = means[means["metric"] == "accuracy"]
    choice = choice.assign(excess_low=choice["ci_low"] - choice["baseline"])
    of_india = (every["dataset"] == "indian-reasoning") & (every["variant"] == "")
    sources = {DISHES: choice, INDIA: every[of_india]}
    accuracy, left_out = {}, {}
    for name, rows in sources.items():
        table = rows.pivot(index="lang", columns="model", values="value")
        incomplete = table.columns[table.isna().any()]
        left_out[name] = ", ".join(about.loc[incomplete, "title"])
        accuracy[name] = table.dropna(axis=1)
    asked = set().union(*(table.index for table in accuracy.values()))
    return Results(
        every,
        means,
        sources,
        accuracy,
        left_out,
        about,
        languages.families(asked),
        choice["baseline"].iloc[0],
        int(choice["n"].min()),
    )


class Age(NamedTuple):
    """How old the models are."""

    first: pd.Timestamp
    last: pd.Timestamp
    newest: str  # of each source
    years: str  # of those asked about dishes
    not_asked: str  # newer series that were not asked about dishes
    missing: str  # newer series without any released result


def age(found: Results, newer: list[str]) -> Age:
    """Return when the models were released, and which newer series lack results."""
    dates = {
        name: found.about.loc[table.columns, "released"]
        for name, table in found.accuracy.items()
    }
    span = pd.concat(dates.values())
    titles = found.about["title"]
    known, asked = titles[found.every["model"].unique()], titles[dates[DISHES].index]
    missing = [name for name in newer if not known.str.startswith(name).any()]
    not_asked = [
        name
        for name in newer
        if name not in missing and not asked.str.startswith(name).any()
    ]
    of_dishes = dates[DISHES].min(), dates[DISHES].max()
    return Age(
        span.min(),
        span.max(),
        ", ".join(f"{name} {date.max():%B %Y}" for name, date in dates.items()),
        " to ".join(sorted({f"{end:%Y}" for end in of_dishes})),
        ", ".join(not_asked) or "none of the newer series",
        ", ".join(missing) or "none of those looked for",
    )


class Board(NamedTuple):
    """The models by their mean over languages, and which pairs differ."""

    ranks: pd.DataFrame  # with letters, titles as `model`
    n_pairs: int
    n_apart: int  # by the test over families of languages
    n_certain: int  # by the test over questions
    n_both: int


def board(found: Results, n_resamples: int, seed: int) -> Board:
    """Return the leaderboard on dishes: pairs differ where both tests say so, that over
    families (step-down) and an unpaired one over questions (Holm).
    """
    options = {"n_resamples": n_resamples, "seed": seed}
    table, choice = found.accuracy[DISHES], found.sources[DISHES]
    scores = choice[choice["model"].isin(table.columns)]
    ranks = ranking.ranks(scores, cluster=found.family, images=False, **options)
    pairs = ranking.comparisons(scores, cluster=found.family, **options)
    n_right = found.n_questions * table.mean()
    first, second = (n_right[pairs[side]].to_numpy() for side in ("first", "second"))
    p = real_models.two_shares(first, found.n_questions, second, found.n_questions)
    certain = pd.Series(multiple_comparisons.holm(p) < 0.05, pairs.index)
    apart = pairs["p_adjusted"] < 0.05
    ranks["letters"] = leaderboard.letters(ranks, pairs[apart & certain])
    ranks["model"] = ranks["model"].map(found.about["title"])
    ranks["text"] = formatting.intervals(ranks)
    numbers = apart.sum(), certain.sum(), (apart & certain).sum()
    return Board(ranks, len(pairs), *numbers)


def gaps_to_english(found: Results, n_resamples: int, seed: int) -> pd.DataFrame:
    """Return for each source and model the gap to English, the highest scores first.

    Fractions: `value`, English minus the mean of the others, with interval over language
    families (in India, with two, over languages); `others`; `excess`, the gap of what is
    above the baseline of each language, and `fixed`, above that of English; `kept`, the
    percentage of English's excess that the others keep; `below`, languages in which the
    model is not above the baseline.
    """
    rows = []
    for name, part in found.sources.items():
        table = found.accuracy[name]
        baseline = part.drop_duplicates("lang").set_index("lang")["baseline"]
        others = table.index.drop("en")
        kin = others if name == INDIA else others.map(found.family)
        above = part[(part["lang"] != "en") & (part["excess_low"] > 0)]
        n_above = above["model"].value_counts()
        for model, value in table.items():
            mean = bootstrap.mean_interval(
                value["en"] - value[others], kin, n_resamples=n_resamples, seed=seed
            )
            excess = (value - baseline).clip(lower=0)
            fixed = (value - baseline["en"]).clip(lower=0)
            kept = excess[others].mean() / (excess["en"] or np.nan)
            rows.append(
                mean.iloc[0].to_dict()
                | {
                    "source": name,
                    "model": model,
                    "series": found.about.loc[model, "family"],
                    "English": value["en"],
                    "others": value[others].mean(),
                    "excess": excess["en"] - excess[others].mean(),
                    "fixed": fixed["en"] - fixed[others].mean(),
                    "kept": 100 * kept,
                    "below": len(others) - n_above.get(model, 0),
                }
            )
    return pd.DataFrame(rows).sort_values(
        ["source", "others"], ascending=False, ignore_index=True
    )


def best_open(found: Results) -> pd.DataFrame:
    """Return the best open model of each source and language, that with the lowest mean
    of all models first: value, interval, baseline, and in how many models' results the
    whole interval is `above` the baseline.
    """
    is_open = found.about["weights"] == "open"
    parts = []
    for name, part in found.sources.items():
        table = found.accuracy[name]
        models = table.columns[is_open[table.columns]]
        best = part[part["model"].isin(models)]
        best = best.sort_values("value", ascending=False, kind="stable")
        best = best.drop_duplicates("lang").set_index("lang")
        above = (part["excess_low"] > 0).groupby(part["lang"]).agg(["sum", "size"])
        above = above.astype(str)
        best = best.assign(
            source=name,
            mean=100 * table.mean(axis=1),
            above=above["sum"] + " of " + above["size"],
        )
        parts.append(best.sort_values("mean").reset_index())
    rows = pd.concat(parts, ignore_index=True)
    rows["language"] = rows["lang"].map(languages.name)
    return rows.assign(title=rows["model"].map(found.about["title"]))


def with_verdicts(best: pd.DataFrame) -> pd.DataFrame:
    """Return rows of `best_open` with what the book's rule says of each: reference (the
    best English result of the source), share with its interval, and verdict
    (`usability.states`).

    The language's own baseline is taken off both results.
    """
    columns = {"value": "reference", "ci_low": "reference_low"}
    columns |= {"ci_high": "reference_high"}
    english = best[best["lang"] == "en"].set_index("source")[list(columns)]
    rows = best.join(english.rename(columns=columns), on="source")
    rows = rows.join(usability.share_interval(rows))
    above = (rows["ci_low"] > rows["baseline"]).astype(int)
    rows["verdict"] = usability.states(rows.assign(above=above, decided=True))
    return rows


def release_dates(found: Results) -> pd.DataFrame:
    """Return the generative models with a released result by language, the newest first,
    as a table to read: model, released, weights, asked about.
    """
    rows = found.every
    about = found.about[found.about["kind"] == "generative"]
    rows = rows[rows["model"].isin(about.index)]
    first_word = rows["dataset"].str.partition("-")[0]
    subjects = first_word.map(SUBJECTS).fillna("sets in Japanese and English")
    asked = subjects.groupby(rows["model"]).agg(
        lambda names: "; ".join(sorted(names.unique()))
    )
    table = about.loc[asked.index, ["title", "release_date", "weights"]]
    table["asked about"] = asked
    table = table.sort_values(
        ["release_date", "title"], ascending=[False, True], kind="stable"
    )
    table["release_date"] = table["release_date"].replace("", "not known")
    names = {"title": "model", "release_date": "released"}
    return table.rename(columns=names).reset_index(drop=True)


def best_titles(best: pd.DataFrame) -> str:
    """Return which model is the best open one on each kind of questions, and in how many
    languages where there are several, as text.

    `best`: as of `best_open`.
    """
    parts = []
    for source, rows in best.groupby("source", sort=False):
        counts = rows["title"].value_counts()
        if len(counts) == 1:
            parts.append(f"{counts.index[0]} in all {len(rows)} ({source})")
        else:
            titles = ", ".join(f"{title} in {n}" for title, n in counts.items())
            parts.append(f"{titles} ({source})")
    return "; ".join(parts)


def about_example(best: pd.DataFrame, lang: str) -> str:
    """Return what is known of one language, as text.

    `best`: as of `with_verdicts`.
    """
    english = best[best["lang"] == "en"].set_index("source")["value"]
    parts = [
        f"{row.above} models are above the baseline of {100 * row.baseline:.1f} %"
        f" ({row.source}); the best open one, {row.title}, scores"
        f" {100 * row.value:.1f} %, while the best in English has"
        f" {100 * english[row.source]:.1f} %, so that it is {row.verdict} by this rule"
        for row in best[best["lang"] == lang].itertuples()
    ]
    known = "; ".join(parts).replace(INDIA, "exams in India") or "nothing was asked"
    return f"In {languages.name(lang)}, for example, {known}."


def only_vizwiz(found: Results, best: pd.DataFrame) -> str:
    """Return the languages in which models were asked VizWiz's questions alone."""
    asked = found.every.loc[found.every["dataset"] == "vizwiz", "lang"].unique()
    return ", ".join(
        sorted(languages.name(lang) for lang in {*asked} - {*best["lang"]})
    )


def odd_results(found: Results, number: int = 3) -> str:
    """Return where a language is odd in one task of WorldCuisines, compared with what
    language and task lead to expect, in points; the oddest first, as text.
    """
    every = found.every
    of_tasks = (every["metric"] == "accuracy") & every["model"].isin(
        found.accuracy[DISHES].columns
    )
    of_tasks &= every["dataset"].str.startswith(f"{DATASET}-")
    table = every[of_tasks].pivot_table(index="lang", columns="dataset", values="value")
    mean = table.mean().mean()
    rest = table.sub(table.mean(axis=1), axis=0) - table.mean() + mean
    rest = (100 * rest).melt(ignore_index=False).reset_index()
    rest = rest.sort_values("value", key=abs, ascending=False).head(number)
    parts = [
        f"{languages.name(lang)}, {task.rpartition('-')[2]} {value:+.1f}"
        for lang, task, value in rest.to_numpy()
    ]
    return "; ".join(parts).replace(" -", " −")


class Gaps(NamedTuple):
    """Gaps to English by kind of question, in points."""

    points: pd.DataFrame  # by label and model
    means: pd.DataFrame  # by label, with interval over series of models
    text: str


def gaps_by_kind(gaps: pd.DataFrame, n_resamples: int, seed: int) -> Gaps:
    """Return the mean gaps on dishes, in India, and there above the baseline."""
    kinds = {
        DISHES: (DISHES, "value"),
        INDIA: (INDIA, "value"),
        f"{INDIA}, above baseline": (INDIA, "excess"),
    }
    points = pd.concat(
        [
            gaps[gaps["source"] == name].assign(label=label, points=100 * gaps[column])
            for label, (name, column) in kinds.items()
        ]
    )
    means = bootstrap.group_means(
        points, ["label"], "points", "series", n_resamples=n_resamples, seed=seed
    )
    means = means.set_index("label").loc[[*kinds]].reset_index()
    text = "; ".join(
        means["label"] + " " + formatting.intervals(means, ".1f", 1, " to ")
    )
    return Gaps(points[["label", "model", "points"]], means, text)


def reasons_left_out(found: Results) -> str:
    """Return why results on dishes do not count, model by model, as text."""
    rows = released.read(dataset=DATASET, metric="accuracy")
    complete = rows["model"].isin(found.accuracy[DISHES].columns)
    rows = rows[(rows["broken"] != "") & ~complete]
    parts = (
        rows["model"].map(found.about["title"])
        + ", "
        + rows["lang"].map(languages.name)
        + ": "
        + rows["broken"].str.split(":").str[0]
    )
    return "; ".join(parts) or "no dishes"


def above_guessing(found: Results) -> str:
    """Return of the models left out in how many languages they are above guessing."""
    choice = found.sources[DISHES]
    rows = choice[~choice["model"].isin(found.accuracy[DISHES].columns)]
    parts = [
        f"{found.about.loc[model, 'title']}"
        f" ({(part['excess_low'] > 0).sum()} of {len(part)})"
        for model, part in rows.groupby("model")
    ]
    return "; ".join(parts) or "none"


class Forms(NamedTuple):
    """What the form of a language changes."""

    table: pd.DataFrame  # for a reader
    differences: pd.DataFrame  # `permutation.paired_difference` over series of models
    twin: str  # the language with most equal results


def forms_of_language(
    found: Results, forms: dict[str, str], n_resamples: int, seed: int
) -> Forms:
    """Return how scores differ between two forms of a language, each a variant of
    WorldCuisines: the first of a pair minus the second.
    """
    place = {name: at for pair in forms.items() for at, name in enumerate(pair)}
    every = found.every
    rows = every[
        every["dataset"].str.startswith(DATASET)
        & every["metric"].isin(ANSWERS)
        & every["model"].isin(found.accuracy[DISHES].columns)
    ]
    rows = rows.assign(
        form=rows["variant"].map(place),
        answers=rows["metric"].map(ANSWERS),
        language=rows["lang"].map(languages.name),
    )
    rows = rows[rows.groupby("lang")["variant"].transform("nunique") > 1]
    whole, by = rows["dataset"] == DATASET, ["language", "answers"]
    differences = permutation.paired_difference(
        rows[whole],
        of="form",
        by=by,
        pairs=[(0, 1)],
        unit="model",
        kin=dict(found.about["family"]),
        n_resamples=n_resamples,
        seed=seed,
    )
    cells = rows[~whole].pivot(
        index=[*by, "model", "dataset"], columns="form", values="value"
    )
    equal = (cells[0] == cells[1]).groupby(by).mean()
    ends = differences[["value", *FAMILY_COLUMNS[:2]]]
    ends = ends.set_axis(["value", "ci_low", "ci_high"], axis=1)
    places = list(differences[by].itertuples(index=False, name=None))
    table = differences[by].assign(
        **{
            "difference (points)": formatting.intervals(ends, to=" to "),
            "p (Holm)": formatting.language_and_family_tests(differences).iloc[:, 3],
            "equal (%)": 100 * equal.loc[places].to_numpy(),
        }
    )
    return Forms(table, differences, equal.groupby("language").mean().idxmax())


class Steps(NamedTuple):
    """Steps to a larger model of a series."""

    table: pd.DataFrame  # for a reader
    n_narrower: int  # in which the gap shrinks on all scales
    on_one: str  # on each scale
    noise: float  # what other questions could change, in points


def steps_in_size(
    found: Results, series: list[str], n_resamples: int, seed: int
) -> Steps:
    """Return how the gap on dishes changes from a model to the next larger one of its
    series: in points, in log odds, and as the logarithm of the score above guessing.
    """
    table, titles = found.accuracy[DISHES], found.about["title"]
    facts = found.about.loc[table.columns].assign(mean=table.mean())
    order = facts.sort_values(["parameters_m", "mean"])
    steps = [
        pair
        for name in series
        for pair in pairwise(order.index[order["family"] == name])
    ]
    names = [f"{titles[smaller]} → {titles[larger]}" for smaller, larger in steps]
    view, shrinks = pd.DataFrame({"models": names}), {}
    scales = {
        "points": (100 * table, ".1f"),
        "log odds": (np.log(table / (1 - table)), ".2f"),
        "log above guessing": (np.log(table - found.guess), ".2f"),
    }
    rest = table.index.drop("en")
    kin = rest.map(found.family)
    for scale, (values, number) in scales.items():
        gap = values.loc["en"] - values.loc[rest]
        changes = [gap[larger] - gap[smaller] for smaller, larger in steps]
        tested = [
            permutation.paired_mean_over_families(change, kin, n_resamples, seed)
            for change in changes
        ]
        tested = pd.DataFrame(tested, columns=["ci_low", "ci_high", "p", "n"])
        tested["value"] = [change.mean() for change in changes]
        significant = pd.Series(multiple_comparisons.holm(tested["p"])) < 0.05
        shrinks[scale] = significant & (tested["ci_high"] < 0)
        if scale == "points":
            view["gap (points)"] = [
                f"{gap[smaller].mean():z.1f} → {gap[larger].mean():z.1f}"
                for smaller, larger in steps
            ]
        else:
            tested["ci_low"] = np.nan  # intervals are shown in points alone
        text = formatting.intervals(tested, f"+{number}", 1, " to ")
        view[scale] = text + np.where(significant, " *", "")
    on_one = [f"{shrunk.sum()} in {scale}" for scale, shrunk in shrinks.items()]
    return Steps(
        view,
        pd.concat(shrinks, axis=1).all(axis=1).sum(),
        ", ".join(on_one),
        196 * np.sqrt(0.5 / found.n_questions),
    )


class Associations(NamedTuple):
    """How gaps go with size and date."""

    table: pd.DataFrame  # for a reader
    n_clear: int  # correlations whose interval is without 0 ...
    n_all: int  # ... of so many
    months: float  # between the first model and the last
    unsized: str  # models whose size nobody states


def size_and_date(
    found: Results, gaps: pd.DataFrame, n_resamples: int, seed: int
) -> Associations:
    """Return rank correlations of the gap, and of the share kept, with size and date,
    over series of models.
    """
    dates = gaps["model"].map(found.about["released"])
    facts = gaps.assign(
        size=gaps["model"].map(found.about["parameters_m"]),
        gap=gaps["value"],
        date=(dates - dates.min()).dt.days,
    )
    measures = {"gap": "gap (points)", "kept": "share kept"}
    fits = []
    for name, x, y in product(found.sources, ("date", "size"), measures):
        rows = facts[facts["source"] == name].dropna(subset=[x, y])
        fit = correlation.correlate(
            rows, x, y, "series", ["spearman"], n_resamples=n_resamples, seed=seed
        )
        fits.append(fit.assign(questions=f"{name}, {x}", of=measures[y]))
    fits = pd.concat(fits, ignore_index=True)
    fits["text"] = formatting.intervals(fits, ".2f", 1, " to ")
    fits["n"] = fits["n"].astype(str) + ", " + fits["n_clusters"].astype(str)
    clear = (fits["ci_low"] > 0) | (fits["ci_high"] < 0)
    table = fits.pivot(index=["questions", "n"], columns="of", values="text")
    names = {"questions": "questions, against", "n": "models, series"}
    unsized = facts.loc[facts["size"].isna(), "model"].unique()
    return Associations(
        table.reset_index().rename_axis(columns=None).rename(columns=names),
        clear.sum(),
        len(fits),
        (dates.max() - dates.min()).days / 30.4,
        ", ".join(found.about.loc[unsized, "title"]) or "none",
    )


class Written(NamedTuple):
    """Open answers beside choices."""

    drawn: pd.DataFrame  # a row for each language and kind of reference
    bands: pd.DataFrame
    texts: list[str]  # correlations, by kind of reference
    levels: list[float]  # means outside English in percent, by kind of reference
    accuracy: pd.DataFrame  # language x model, in the language


def open_answers(found: Results, n_resamples: int, seed: int) -> Written:
    """Return the share of right open answers, by whether a name in any language counts,
    beside the choices: correlations over models and over languages.
    """
    options = {"n_resamples": n_resamples, "seed": seed}
    table, series = found.accuracy[DISHES], found.about["family"]
    latin = languages.table().set_index("code")["script"] == "Latn"
    drawn, bands, texts, levels, tables = [], [], [], [], []
    for name, end in REFERENCES.items():
        rows = found.means[found.means["metric"] == f"open accuracy{end}"]
        written = rows.pivot(index="lang", columns="model", values="value")
        written = written[table.columns]
        means = {CHOICES: table.mean(axis=1), WRITTEN: written.mean(axis=1)}
        by_language = pd.DataFrame(means | {"kin": table.index.map(found.family)})
        by_language = by_language.reset_index()
        means = {CHOICES: table.mean(), WRITTEN: written.mean()}
        by_model = pd.DataFrame(means | {"kin": series[table.columns]})
        fits = [
            correlation.correlate(
                part, CHOICES, WRITTEN, "kin", ["spearman"], **options
            )
            for part in (by_model, by_language)
        ]
        of_models, of_languages = formatting.intervals(
            pd.concat(fits), ".2f", 1, " to "
        )
        texts.append(f"{of_models} over models, {of_languages} over languages")
        band = regression.regression_band(
            by_language, CHOICES, WRITTEN, "kin", **options
        )
        bands.append(band.assign(panel=f"reference {name}"))
        drawn.append(by_language.assign(panel=f"reference {name}"))
        levels.append(100 * written.drop("en").to_numpy().mean())
        tables.append(written)
    drawn = pd.concat(drawn, ignore_index=True)
    scripts = np.where(drawn["lang"].map(latin), "Latin script", "other scripts")
    return Written(
        drawn.assign(script=scripts), pd.concat(bands), texts, levels, tables[0]
    )


class Exams(NamedTuple):
    """Exams in Japanese and English."""

    rows: pd.DataFrame  # a model each: mmmu, jmmmu, kind
    above: pd.DataFrame  # those above guessing in both
    lost: str  # English minus Japanese, points
    rho: str


def japanese_exams(found: Results, guess: float, n_resamples: int, seed: int) -> Exams:
    """Return the scores in both languages; models below guessing in one are left out of
    the means, with intervals over series.
    """
    options = {"n_resamples": n_resamples, "seed": seed}
    every = found.every
    rows = every[every["dataset"].isin(["jmmmu", "mmmu"])]
    rows = rows.pivot(index="model", columns="dataset", values="value").dropna()
    above = rows.min(axis=1) >= guess
    kinds = above.map({True: "above guessing in both", False: "below guessing in one"})
    rows = rows.assign(kind=kinds).sort_values("kind").reset_index()
    rows = rows.assign(panel="", series=rows["model"].map(found.about["family"]))
    fine = rows[rows["kind"] == "above guessing in both"]
    difference = 100 * (fine["mmmu"] - fine["jmmmu"])
    lost = bootstrap.mean_interval(difference, fine["series"], **options)
    rho = correlation.correlate(
        fine, "mmmu", "jmmmu", "series", ["spearman"], **options
    )
    return Exams(
        rows,
        fine,
        formatting.intervals(lost, "+.1f", 1, " to ").item(),
        formatting.intervals(rho, ".2f", 1, " to ").item(),
    )
