"""Chapter 39: how many classes, images of a class, or languages separate two models at a
given power, from the outcomes of real models.

The test is that of the paired differences of two models, class by class or language by
language. What it needs depends on the variance of these differences alone.
"""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from scipy import special
from statsmodels.stats.power import TTestPower

from babelatlas.analysis import real_models, real_run
from babelatlas.base import languages, tables
from babelatlas.base.errors import InputError, near
from babelatlas.evaluation import protocol
from babelatlas.report import formatting
from babelatlas.report.figures import look
from babelatlas.stats import bootstrap, permutation, proportions
from babelatlas.stats.distributions import t_quantile

ALPHA = 0.05
CLASSES, LANGUAGES = "classes", "languages"
SINGULAR = {CLASSES: "class", LANGUAGES: "language"}
ENDS = ["ci_low", "ci_high"]
# An effect, in standard deviations, of which two values are enough at any power.
LARGEST_EFFECT = 100
# The least coefficient of variation of 1/m, m images of a class, that shows a share.
LEAST_VARIATION = 0.1
# Patterns of signs of each simulated test.
N_PATTERNS = 500


def check(first: str, second: str, difference: float, power: float) -> None:
    """Raise InputError for a difference (points) or a power that no plan can have, and
    for a model that is compared with itself.
    """
    if not 0 < difference <= 100:
        raise InputError(
            f"A difference to detect of {difference:g} points cannot be planned for:"
            " give one above 0, of at most 100."
        )
    if not ALPHA < power < 1:
        raise InputError(
            f"A power of {power:g} cannot be planned for: give one above {ALPHA:g}, the"
            " level of the test, and below 1, as 0.8."
        )
    if first == second:
        raise InputError(
            f"{first!r} is compared with itself: name two different models."
        )


def class_differences(
    results: str, dataset: str, first: str, second: str
) -> pd.DataFrame:
    """Return the difference of two models in each class and language: lang, wnid, value
    (fraction of the class's images), n_images.

    Of the run in `results` where it evaluated both on the data set, else of the outcomes
    that ship. Raises InputError, with the nearest name, for a data set or a model
    without outcomes.
    """
    outcomes = pd.concat(
        [_outcomes(results, dataset, first), _outcomes(results, dataset, second)]
    )
    counts = outcomes.pivot(
        index=["lang", "wnid"], columns="model", values=["n_correct", "n_images"]
    ).dropna()
    shares = counts["n_correct"] / counts["n_images"]
    differences = pd.DataFrame(
        {
            "value": shares[first] - shares[second],
            "n_images": counts["n_images"][first].astype(int),
        }
    )
    return differences.reset_index()


def _outcomes(results: str, dataset: str, model: str) -> pd.DataFrame:
    """Return the outcomes of a model by class and language, schema `zeroshot`."""
    file = tables.locate(results) / "zeroshot" / f"{model}_{dataset}.parquet"
    if file in set(tables.of_run(results, "zeroshot/*.parquet")):
        return protocol.single(tables.read(file, "zeroshot"))
    rows = real_run.read("zeroshot", results)
    if dataset not in set(rows["dataset"]):
        raise InputError(
            f"There are no outcomes by class on {dataset!r}:"
            f" {near(dataset, rows['dataset'].unique())}"
        )
    rows = rows[rows["dataset"] == dataset]
    real_run.check_models(rows, model)
    return rows[rows["model"] == model]


def in_language(differences: pd.DataFrame, lang: str, difference: float) -> np.ndarray:
    """Return the differences of the classes of a language; raise InputError for one
    without classes, or where the models differ on too few for a difference so large.
    """
    present = differences["lang"].unique()
    (code,) = languages.among([lang], present, "The table of outcomes")
    values = differences.loc[differences["lang"] == code, "value"].to_numpy()
    most = 100 * np.abs(values).mean()
    if len(values) < 2 or most < difference:
        raise InputError(
            f"In {languages.name(lang)} the two models differ on too few classes for"
            f" {difference:g} points between them, by {most:.1f} at most: give a smaller"
            " difference, another language or less similar models."
        )
    return values


def images_in(differences: pd.DataFrame, lang: str) -> np.ndarray:
    """Return how many images each class of a language has; raise InputError for one
    without classes.
    """
    present = differences["lang"].unique()
    (code,) = languages.among([lang], present, "The table of outcomes")
    return differences.loc[differences["lang"] == code, "n_images"].to_numpy()


def language_differences(
    board: tuple[str, str, str, str], first: str, second: str
) -> pd.Series:
    """Return the difference of two released models in each language, fractions, by code.

    `board`: harness, data set, metric and direction, as for `real_models.board`. Raises
    InputError, with the nearest name, for a model that is not on it.
    """
    harness, dataset, metric, direction = board
    scores = real_models.board(harness, dataset, metric, direction=direction)
    for model in (first, second):
        if model not in set(scores["model"]):
            raise InputError(
                f"{harness} has no {metric} of {model!r} on {dataset}:"
                f" {near(model, scores['model'].unique())}"
            )
    values = scores.pivot(index="lang", columns="model", values="value")
    return (values[first] - values[second]).dropna()


def share_of_classes(
    differences: pd.DataFrame, n_resamples: int, seed: int
) -> pd.Series:
    """Return which share of the variance of the difference on one image lies between
    classes: value, ci_low, ci_high, n_classes (of several images).

    The squared deviation of a class with m images from its language's mean has the
    expectation s_class² + s_image² / m; both by least squares over classes and
    languages, at least 0. Classes are resampled. All NaN where the numbers of images
    vary too little (LEAST_VARIATION) to tell the two apart.
    """
    mean = differences.groupby("lang")["value"].transform("mean")
    squared = (differences["value"] - mean) ** 2
    inverse = 1 / differences["n_images"]
    moments = pd.DataFrame(
        {
            "n": 1.0,
            "x": inverse,
            "y": squared,
            "xx": inverse**2,
            "xy": inverse * squared,
        }
    )
    by_class = moments.groupby(differences["wnid"]).sum()
    weights = bootstrap.resample_weights(len(by_class), n_resamples, seed)
    weights = np.vstack([np.ones(len(by_class)), weights])
    n, x, y, xx, xy = (weights @ by_class.to_numpy()).T
    spread = n * xx - x**2
    is_known = spread > (LEAST_VARIATION * x) ** 2
    with np.errstate(invalid="ignore", divide="ignore"):
        of_images = (n * xy - x * y) / spread
        of_classes = np.maximum((y - of_images * x) / n, 0)
        of_images = np.maximum(of_images, 0)
        share = np.where(is_known, of_classes / (of_classes + of_images), np.nan)
    if np.isnan(share[0]):
        share[:] = np.nan
    several = differences.loc[differences["n_images"] > 1, "wnid"].nunique()
    low, high = bootstrap.percentile_interval(share[1:])
    return pd.Series(
        {"value": share[0], "ci_low": low, "ci_high": high, "n_classes": several}
    )


def variance(
    kind: str, values: np.ndarray, difference: float, weights: np.ndarray | None = None
) -> np.ndarray:
    """Return the variance that differences have where their mean is the difference to
    detect (points), for each row of `weights` (resamples, values), or one for all.

    LANGUAGES keep their variance around the mean. CLASSES are right or wrong: as many as
    now differ between the models, more of them in favour of one, so that the variance
    is the mean square less the square of the difference (as in McNemar's test).
    """
    n = len(values)
    weights = np.ones((1, n)) if weights is None else weights
    mean_square = weights @ values**2 / n
    if kind == CLASSES:
        return mean_square - (difference / 100) ** 2
    means = weights @ values / n
    return (mean_square - means**2) * n / (n - 1)


def needed(variance_of_one: float, difference: float, power: float) -> float:
    """Return how many classes or languages a paired t test of two models needs; two at
    least.

    `variance_of_one`: of the difference on one of them, of fractions; `difference` in
    points.

    >>> round(needed(0.25, 10, 0.8))
    199
    """
    if not np.isfinite(variance_of_one):
        raise InputError(
            f"The variance of the differences is {variance_of_one:g}, of which no plan"
            " can be made: choose models and a data set with several outcomes."
        )
    effect = _effect(variance_of_one, difference)
    if effect > 1:  # statsmodels does not always find so few
        numbers = np.arange(2, 1000)
        is_enough = power_of(variance_of_one, difference, numbers) >= power
        return float(numbers[is_enough.argmax()])
    n = TTestPower().solve_power(effect, alpha=ALPHA, power=power)
    return float(max(2, np.ceil(np.ravel(n)[0])))


def _effect(variance_of_one: float, difference: float) -> float:
    """Return the difference (points) in standard deviations, LARGEST_EFFECT at most."""
    least_sd = difference / 100 / LARGEST_EFFECT
    return difference / 100 / max(np.sqrt(max(variance_of_one, 0)), least_sd)


def power_of(variance_of_one: float, difference: float, n: Sequence[int]) -> np.ndarray:
    """Return the power of the paired t test with n classes or languages, for each n."""
    n = np.asarray(n, float)
    least = t_quantile(1 - ALPHA / 2, n - 1)
    noncentrality = n * _effect(variance_of_one, difference) ** 2
    # The square of t, as the noncentral t of scipy has gaps. What is left undefined has
    # a noncentrality so large that the power is 1.
    missed = special.ncfdtr(1, n - 1, noncentrality, least**2)
    return 1 - np.nan_to_num(missed, nan=0.0)


def plan(
    kind: str,
    values: np.ndarray,
    difference: float,
    power: float,
    n_resamples: int,
    seed: int,
) -> pd.Series:
    """Return how many classes or languages (`kind`) are needed: value, ci_low, ci_high
    (over those that there are), n, variance (of one), sd (points).

    Raises InputError for fewer than two differences.
    """
    if len(values) < 2:
        raise InputError(
            f"A plan needs the differences of two models on at least 2 {kind}, got"
            f" {len(values)}: choose models with more {kind} in common."
        )
    of_one = variance(kind, values, difference)[0]
    weights = bootstrap.resample_weights(len(values), n_resamples, seed)
    resampled = variance(kind, values, difference, weights)
    low, high = bootstrap.percentile_interval(resampled, n_clusters=len(values))
    numbers = [needed(each, difference, power) for each in (of_one, low, high)]
    row = dict(zip(["value", *ENDS], numbers, strict=True))
    sd = 100 * np.sqrt(of_one)
    return pd.Series({**row, "n": len(values), "variance": of_one, "sd": sd})


def by_images(
    variance_of_one: float,
    share: pd.Series,
    goal: tuple[float, float],
    images_per_class: Sequence[int],
    n_images: Sequence[int] = (1,),
) -> pd.DataFrame:
    """Return how many classes are needed with m images of each: images, value, ci_low,
    ci_high (with the ends of the interval of `share_of_classes`).

    `variance_of_one`: of the difference on a class with as many images as `n_images`
    has on average over 1/m; `goal`: difference (points) and power. The difference on a
    class of m images has the variance of one image's times share + (1 - share) / m.

    Of a share that is not known (NaN) the ends are those of the shares 0 and 1, and the
    value is NaN.
    """
    is_known = np.isfinite(share["value"])
    shares = share[["value", *ENDS]].to_numpy(float) if is_known else np.array([0, 1])
    inverse = np.mean(1 / np.asarray(n_images, float))
    of_data = shares + (1 - shares) * inverse
    rows = []
    for images in images_per_class:
        factors = (shares + (1 - shares) / images) / of_data
        numbers = [needed(variance_of_one * factor, *goal) for factor in factors]
        value = numbers[0] if is_known else np.nan
        rows.append([images, value, min(numbers), max(numbers)])
    return pd.DataFrame(rows, columns=["images", "value", *ENDS])


def by_language(
    differences: pd.DataFrame, difference: float, power: float, least_classes: int
) -> pd.DataFrame:
    """Return what each language with at least `least_classes` classes has and needs:
    language, classes, sd (points), needed (classes), power, the highest power first.

    Languages in which the models differ on too few classes (`in_language`) are left out.
    """
    rows = []
    for lang, part in differences.groupby("lang"):
        values = part["value"].to_numpy()
        too_few = len(values) < least_classes
        if too_few or 100 * np.abs(values).mean() < difference:
            continue
        of_one = variance(CLASSES, values, difference)[0]
        rows.append(
            {
                "lang": lang,
                "language": languages.name(lang),
                "classes": len(part),
                "sd": 100 * np.sqrt(of_one),
                "needed": needed(of_one, difference, power),
                "power": power_of(of_one, difference, [len(part)])[0],
            }
        )
    columns = ["lang", "language", "classes", "sd", "needed", "power"]
    table = pd.DataFrame(rows, columns=columns)
    return table.sort_values("power", ascending=False, kind="stable", ignore_index=True)


def language_table(table: pd.DataFrame) -> pd.DataFrame:
    """Return `by_language` as a reader sees it."""
    shown = table.assign(power=100 * table["power"], needed=table["needed"].astype(int))
    names = {
        "language": "language",
        "needed": "classes needed",
        "classes": "classes it has",
        "power": "power with these (%)",
        "sd": "standard deviation (points)",
        "lang": "code",
    }
    return shown[[*names]].rename(columns=names)


def numbers_around(number: float, most: int = 5000) -> list[int]:
    """Return numbers of classes or languages, from few to more than are needed.

    >>> numbers_around(400)
    [50, 100, 200, 400, 800]
    """
    factors = np.array([1 / 8, 1 / 4, 1 / 2, 1, 2])
    numbers = np.clip(np.ceil(number * factors), 2, most).astype(int)
    return [int(n) for n in np.unique(numbers)]


def resampled(
    kind: str, values: np.ndarray, difference: float, shape: tuple[int, int], seed: int
) -> np.ndarray:
    """Return differences of simulated data sets whose mean is the difference to detect
    (points), shape (differences, data sets).

    Languages are resampled, all shifted alike. Classes are resampled, and where the
    models differ one is better so often that the mean is right.
    """
    generator = np.random.default_rng([seed, shape[0]])
    to_detect = difference / 100
    if kind == LANGUAGES:
        return generator.choice(values - values.mean() + to_detect, size=shape)
    sizes = np.abs(values)
    share_better = (1 + to_detect / sizes.mean()) / 2
    is_better = generator.random(shape) < share_better
    return generator.choice(sizes, size=shape) * np.where(is_better, 1, -1)


def curve(
    kind: str,
    values: np.ndarray,
    difference: float,
    power: float,
    n_simulations: int,
    seed: int,
) -> pd.DataFrame:
    """Return power by number of classes or languages (`kind`), around the number that
    `power` needs: of (kind), n, formula, value, ci_low, ci_high (share of
    simulated data sets in which the models differ significantly, exact 95 %).

    Simulated are outcomes (`resampled`), tested by flipping signs
    (`permutation.sign_flips`).
    """
    of_one = variance(kind, values, difference)[0]
    rows = []
    for n in numbers_around(needed(of_one, difference, power)):
        simulated = resampled(kind, values, difference, (n, n_simulations), seed)
        p = permutation.sign_flips(simulated, N_PATTERNS, seed)
        n_significant = int((p < ALPHA).sum())
        low, high = proportions.exact_interval(n_significant, n_simulations)
        formula = power_of(of_one, difference, [n])[0]
        rows.append([kind, n, formula, n_significant / n_simulations, low, high])
    return pd.DataFrame(rows, columns=["of", "n", "formula", "value", *ENDS])


def at_needed(curves: pd.DataFrame, row: pd.Series) -> str:
    """Return the power of simulated data sets with as many classes or languages as are
    needed (`plan`), and how many these are, as text; where that is more than is
    simulated, with the most.
    """
    n = int(min(row["value"], curves["n"].max()))
    simulated = curves[curves["n"] == n]
    counted = formatting.counted(n, SINGULAR[curves["of"].iloc[0]])
    return f"{formatting.intervals(simulated, '.0f').iloc[0]} % of cases with {counted}"


def draw(curves: pd.DataFrame, variances: dict[str, float], settings: dict) -> Axes:
    """Draw power over the number of classes and of languages, panels side by side: the
    formula as a line, simulations as points with their intervals.

    `curves`: those of `curve` with `of`, CLASSES or LANGUAGES; `variances` by `of`;
    `settings`: difference (points) and power.
    """
    panels = list(variances)
    figure, axes = plt.subplots(
        1, len(panels), figsize=(7.2, 3.6), sharey=True, layout="constrained"
    )
    for axis, panel in zip(axes, panels, strict=True):
        rows = curves[curves["of"] == panel]
        numbers = np.unique(np.geomspace(rows["n"].min(), rows["n"].max(), 60).round())
        formula = power_of(variances[panel], settings["difference"], numbers)
        axis.plot(numbers, formula, marker="", label="formula", **look.line_of(0))
        lengths = [rows["value"] - rows["ci_low"], rows["ci_high"] - rows["value"]]
        axis.errorbar(
            rows["n"],
            rows["value"],
            lengths,
            fmt="s",
            color=look.line_of(1)["color"],
            label="resampled outcomes",
        )
        axis.axhline(settings["power"], color="0.6", linewidth=1)
        look.log_axis(axis, "x", list(rows["n"]))
        axis.set_xlabel(f"{panel} (log scale)", size=10.5)
        axis.set_ylim(0, 1.02)
    look.percent_axis(axes[0])
    axes[0].set_ylabel("power")
    look.legend_below(figure, axes[0])
    return axes[0]


def number_text(row: pd.Series) -> str:
    """Return a number that is needed, with its interval, as text."""
    low, high = row["ci_low"], row["ci_high"]
    if np.isnan(row["value"]):
        return f"{low:,.0f}" if low == high else f"{low:,.0f} to {high:,.0f}"
    if low == high:
        return f"{row['value']:,.0f}"
    return f"{row['value']:,.0f} ({low:,.0f} to {high:,.0f})"


def image_table(table: pd.DataFrame) -> pd.DataFrame:
    """Return `by_images` as a reader sees it; images in all for the most classes where
    the share between classes is not known.
    """
    classes = table["value"].fillna(table["ci_high"])
    return pd.DataFrame(
        {
            "images of a class": table["images"],
            "classes needed": table.apply(number_text, axis=1),
            "images in all": (table["images"] * classes).astype(int),
        }
    )


def share_text(share: pd.Series, dataset: str) -> str:
    """Return which part of the variance lies between classes, as a sentence."""
    if np.isnan(share["value"]):
        return (
            f"{dataset} has (nearly) equally many images of every class, so the share of"
            " the variance between classes is unknown: for shares from 0 to 100 %."
        )
    text = formatting.intervals(share.to_frame().T, ".0f").iloc[0]
    several = formatting.counted(int(share["n_classes"]), "class")
    return (
        f"On {dataset}, {text} % of the variance of a difference lies between classes;"
        f" 95 % intervals over classes of this share ({several} with several images)."
    )


def images_text(n_images: Sequence[int], dataset: str) -> str:
    """Return how many images the classes of a data set have, as text.

    >>> images_text([1, 1], "photos"), images_text([2, 3], "drawings")
    ('one image each', 'as many images each as in drawings')
    """
    return (
        "one image each"
        if max(n_images) == 1
        else f"as many images each as in {dataset}"
    )


def language_verdict(row: pd.Series) -> str:
    """Return whether the languages that there are suffice, as text."""
    n = formatting.counted(int(row["n"]), "language")
    enough = (
        "as many as are needed" if row["value"] <= row["n"] else "fewer than needed"
    )
    return f"{n}, {enough}"


def write(plans: dict[str, pd.Series], output: str, settings: dict) -> None:
    """Write what is needed, schema `scores`; `plans`: by the kind of test, as of `plan`."""
    rows = [
        {
            "task": "planning",
            "dataset": "",
            "model": f"{settings['first']} minus {settings['second']}",
            "lang": "",
            "group": "",
            "variant": f"{settings['difference']:g} points, power {settings['power']:g}",
            "metric": f"{kind} needed",
            **row[["value", *ENDS]],
            "n": int(row["n"]),
        }
        for kind, row in plans.items()
    ]
    scores = pd.DataFrame(rows)[list(tables.SCHEMAS["scores"][0])]
    tables.write(scores, output, "scores", settings)
