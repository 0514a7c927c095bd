"""Which interval or test is best where clusters are few: the simulations behind three
choices of the study.

    python benchmarks/intervals.py

prints them: Pearson's correlation over few languages (`correlation.expandable`), means
of shares near 0 (`proportions.share_interval`), and Wald's test of a term of recipes
(`mixed_model.wald`). Every number is the share of simulated data sets in which a 95 %
interval covers the true value, or in which a test at 5 % rejects a true hypothesis.
"""

import warnings
from collections.abc import Callable

import numpy as np
import pandas as pd
from scipy import stats

from babelatlas.base import published
from babelatlas.base.errors import InputError
from babelatlas.stats import bootstrap, correlation, mixed_model, proportions

TAIL = stats.norm.ppf(0.975)


def covered(truth: float, intervals: list[dict]) -> pd.Series:
    """Return how often each interval, name -> (low, high) for each data set, covers the
    true value.
    """
    table = pd.DataFrame(intervals)
    return table.map(lambda ends: ends[0] <= truth <= ends[1]).mean()


def accelerated(value: float, drawn: np.ndarray, without: np.ndarray) -> np.ndarray:
    """Return the BCa interval (Efron 1987) from the resamples and the values with each
    cluster left out.
    """
    share = np.clip((drawn < value).mean(), 0.5 / len(drawn), 1 - 0.5 / len(drawn))
    bias, gaps = stats.norm.ppf(share), without.mean() - without
    at = bias + np.array([-TAIL, TAIL])
    skew = (gaps**3).sum() / (6 * (gaps**2).sum() ** 1.5)
    return np.quantile(drawn, stats.norm.cdf(bias + at / (1 - skew * at)))


def pearson(
    n: int,
    rows: int = 1,
    rho: float = 0.7,
    skewed: bool = False,
    worlds=500,
    n_resamples=1000,
    seed=0,
):
    """Return the coverage of intervals of Pearson's correlation over `n` clusters with
    `rows` rows each.

    Normal columns with correlation `rho`, half of whose variance is the cluster's where
    it has several rows; `skewed` takes the exponential of 0.7 times each.
    """
    rng, shared = np.random.default_rng([seed, n, rows]), 0.5 * (rows > 1)
    truth = (np.exp(0.49 * rho) - 1) / (np.exp(0.49) - 1) if skewed else rho
    index = np.arange(n).repeat(rows)
    drawn, found = bootstrap.resample_weights(n, n_resamples, seed)[:, index], []
    for _ in range(worlds):
        normal = np.sqrt(shared) * rng.normal(size=(2, n))[:, index] + np.sqrt(
            1 - shared
        ) * rng.normal(size=(2, n * rows))
        normal[1] = rho * normal[0] + np.sqrt(1 - rho**2) * normal[1]
        x, y = np.exp(0.7 * normal) if skewed else normal
        value = np.corrcoef(x, y)[0, 1]
        resampled = correlation.weighted_pearson(x, y, drawn)
        resampled = resampled[np.isfinite(resampled)]
        without = correlation.weighted_pearson(x, y, 1 - np.eye(n)[:, index])
        reach = TAIL / np.sqrt(n - 3)
        found.append(
            {
                "study": bootstrap.percentile_interval(
                    resampled, n_clusters=correlation.expandable("pearson", n)
                ),
                "expanded": bootstrap.percentile_interval(resampled, n_clusters=n),
                "plain": bootstrap.percentile_interval(resampled),
                "BCa": accelerated(value, resampled, without),
                "Fisher's z": np.tanh(np.arctanh(value) + np.array([-reach, reach])),
            }
        )
    return covered(truth, found)


def studentised(values: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
    """Return the bootstrap-t interval of a mean; `weights` (resamples, values) sum to
    1.
    """
    means = weights @ values
    spread = np.sqrt(np.clip(weights @ values**2 - means**2, 0, None))
    low, high = np.quantile(
        (means - values.mean())[spread > 1e-9] / spread[spread > 1e-9], [0.025, 0.975]
    )
    return values.mean() - high * values.std(), values.mean() - low * values.std()


def means(
    draw: Callable, truth: float, n: int, worlds=500, n_resamples=1000, seed=0
) -> pd.Series:
    """Return the coverage of intervals of a mean of `n` shares, which `draw(rng, n)`
    returns.
    """
    rng, found = np.random.default_rng([seed, n]), []
    weights = bootstrap.resample_weights(n, n_resamples, seed) / n
    for _ in range(worlds):
        values = draw(rng, n)
        if values.std() < 1e-9:  # nothing correct: all have the exact interval
            found.append(
                dict.fromkeys(
                    found[0] if found else ["study"],
                    proportions.exact_interval(round(values[0] * n), n),
                )
            )
            continue
        ends = bootstrap.percentile_interval(weights @ values, n_clusters=n)
        study = proportions.share_interval(values, np.ones(n), ends)
        found.append(
            {
                "study": study,
                "expanded": ends,
                "bootstrap-t": studentised(values, weights),
            }
        )
    return covered(truth, found)


def languages(model: str = "OpenAI B-32") -> tuple[Callable, float]:
    """Return draws of the published accuracies of a model over languages, and their
    mean.
    """
    table = published.accuracy_by_language("geigle2024")
    values = table.loc[
        (table["model"] == model) & (table["lang"] != "en"), "value"
    ].to_numpy()
    return lambda rng, n: rng.choice(values, n), float(values.mean())


def classes(
    share: float = 0.03, spread: float = 1.0, images: int = 50
) -> tuple[Callable, float]:
    """Return draws of accuracies of classes, beta-binomial with mean `share`, and that
    mean.
    """
    return (
        lambda rng, n: (
            rng.binomial(images, rng.beta(spread * share, spread * (1 - share), n))
            / images
        ),
        share,
    )


def sizes(
    n_recipes: int = 8, n_languages: int = 12, worlds: int = 200, seed: int = 0
) -> pd.DataFrame:
    """Return how often Wald's tests at 5 % reject a term that has no effect: columns t
    (Student's), normal.

    Rows: a term of recipes and one of languages; recipes, languages and slopes of
    recipes are random. Data sets whose fit does not converge are left out.
    """
    rng, found = np.random.default_rng([seed, n_recipes, n_languages]), []
    recipe = np.repeat(np.arange(n_recipes), n_languages)
    lang = np.tile(np.arange(n_languages), n_recipes)
    random = {
        "recipe": ("model", ""),
        "slope": ("model", "tokens"),
        "language": ("lang", ""),
    }
    for _ in range(worlds):
        tokens = rng.normal(size=n_languages)
        slope, level = rng.normal(size=(2, n_recipes)) * [[0.5], [1.0]]
        y = (
            level[recipe]
            + slope[recipe] * tokens[lang]
            + rng.normal(size=n_languages)[lang]
        )
        table = pd.DataFrame(
            {
                "model": recipe.astype(str),
                "lang": lang.astype(str),
                "tokens": tokens[lang],
            }
        )
        table = table.assign(
            y=y + 0.7 * rng.normal(size=len(y)), listed=(recipe < 3).astype(float)
        )
        try:
            tested = mixed_model.wald(
                mixed_model.fit(table, "y", ["listed", "tokens"], random)
            ).set_index("name")
        except InputError:
            continue
        normal = 2 * stats.norm.sf((tested["value"] / tested["se"]).abs())
        found.append(
            pd.DataFrame({"t": tested["p"] < 0.05, "normal": normal < 0.05}).loc[
                ["listed", "tokens"]
            ]
        )
    return sum(each.astype(float) for each in found) / len(found)


if __name__ == "__main__":
    warnings.simplefilter("ignore", RuntimeWarning)
    rows = {
        (n, rows, skewed): pearson(n, rows, skewed=skewed)
        for n in (4, 5, 7, 8, 9, 11, 16, 35)
        for rows in (1, 3)
        for skewed in (False, True)
    }
    table = pd.DataFrame(rows).T.rename_axis(["clusters", "rows each", "skewed"])
    print("Pearson's correlation, coverage", table.round(3), sep="\n")
    worlds = {
        "languages, mean 5 %": languages(),
        "classes, 3 %": classes(),
        "classes, 40 %": classes(0.4),
    }
    rows = {
        (name, n): means(*world, n)
        for name, world in worlds.items()
        for n in (7, 11, 16, 35, 100)
    }
    print("Means of shares, coverage", pd.DataFrame(rows).T.round(3), sep="\n")
    print(
        "Wald's test, 8 recipes: false alarms", sizes(n_languages=30).round(3), sep="\n"
    )
