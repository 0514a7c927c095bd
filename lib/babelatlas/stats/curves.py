"""How accuracy falls with the number of classes: which shape the fall has, and whether it is a straight line.

Geigle et al. (2024, Figure 2) find accuracy on ImageNet log-linear in the number of classes. No straight line holds for
all numbers; the question is how well one describes the available numbers, compared with other shapes of as few
parameters.

All shapes are fitted by least squares to the mean accuracy at each number of classes, on the scale of accuracies, so
that their errors can be compared. A number of classes counts once, however many subsets were drawn for it.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy import optimize, special

from babelatlas.base.errors import InputError
from babelatlas.stats import bootstrap, checks

# Shape -> formula, with n the number of classes. All but the last have two parameters.
SHAPES = {
    "log-linear": "a + b ln n",
    "power": "exp(a + b ln n)",
    "logistic": "1 / (1 + exp(-a - b ln n))",
    "logistic of the rest": "1 / (1 + exp(-a - b ln(n - 1)))",
    "log-quadratic": "a + b ln n + c (ln n)^2",
}
# Scale of the cost of a doubling -> what turns accuracies into it, and back.
SCALES = {
    "points": (np.positive, np.positive),
    "percent": (np.log, np.exp),
    "log-odds": (special.logit, special.expit),
}


def _design(n_classes: np.ndarray, shape: str) -> np.ndarray:
    """Return the columns that the parameters of a shape multiply: shape (numbers, parameters)."""
    if shape not in SHAPES:
        raise InputError(f"There is no shape {shape!r}: expected one of {', '.join(SHAPES)}.")
    least = 2 if shape == "logistic of the rest" else 1
    if (n_classes < least).any():
        raise InputError(f"The shape {shape!r} needs {least} classes or more, got {n_classes.min():g}.")
    x = np.log(n_classes - 1 if shape == "logistic of the rest" else n_classes)
    columns = [np.ones_like(x), x]
    return np.column_stack([*columns, x * x] if shape == "log-quadratic" else columns)


def predict(n_classes: Sequence[float], parameters: Sequence[float], shape: str = "log-linear") -> np.ndarray:
    """Return the accuracy of a shape at each number of classes; raise InputError for an unknown shape.

    >>> predict([1, 2], [0.0, -1.0], "power").tolist()
    [1.0, 0.5]
    """
    return _accuracy(_design(np.asarray(n_classes, float), shape) @ np.asarray(parameters, float), shape)


def fit(n_classes: Sequence[float], accuracy: Sequence[float], shape: str = "log-linear") -> np.ndarray:
    """Return the parameters (a, b or a, b, c) of a shape that fits by least squares on the scale of accuracies.

    `n_classes`, `accuracy` (a fraction): one of each for a point. Raises InputError for missing numbers, for fewer
    different numbers of classes than parameters, and an unknown shape.

    >>> fit([2, 4, 8], [0.9, 0.8, 0.7]).round(3).tolist()
    [1.0, -0.144]
    """
    table = pd.DataFrame({"n_classes": np.asarray(n_classes, float), "accuracy": np.asarray(accuracy, float)})
    checks.check_numbers(table, ["n_classes", "accuracy"], "A curve over the number of classes")
    x, y = table["n_classes"].to_numpy(), table["accuracy"].to_numpy()
    design = _design(x, shape)
    if table["n_classes"].nunique() < design.shape[1]:
        raise InputError(
            f"The shape {shape!r} has {design.shape[1]} parameters and needs as many different numbers of classes, "
            f"got {table['n_classes'].nunique()}."
        )
    return _fit(design, y, shape)


def _fit(design: np.ndarray, y: np.ndarray, shape: str) -> np.ndarray:
    if shape.startswith("log-"):
        return np.linalg.lstsq(design, y, rcond=None)[0]
    # The same line through the transformed accuracies is near enough to start from.
    inside = y.clip(0.002, 0.998)
    start = np.linalg.lstsq(design, np.log(inside) if shape == "power" else special.logit(inside), rcond=None)[0]

    def derivative(parameters: np.ndarray) -> np.ndarray:
        accuracy = _accuracy(design @ parameters, shape)
        return (accuracy if shape == "power" else accuracy * (1 - accuracy))[:, None] * design

    # With full_output, or it warns where nothing is left to gain.
    return optimize.leastsq(
        lambda parameters: _accuracy(design @ parameters, shape) - y, start, Dfun=derivative, full_output=True
    )[0]


def _accuracy(line: np.ndarray, shape: str) -> np.ndarray:
    if shape == "power":
        return np.exp(np.minimum(line, 50))
    return special.expit(line) if shape.startswith("logistic") else line


def means(subsets: pd.DataFrame, by: Sequence[str] = ("model", "lang")) -> pd.DataFrame:
    """Return the mean accuracy at each number of classes: by, n_classes, accuracy, draws; in order of `by`.

    `subsets` has n_classes and accuracy (a fraction), one row for each subset drawn. Raises InputError for missing
    values or columns, and for an empty table.
    """
    by = list(by)
    checks.check_numbers(subsets, ["n_classes", "accuracy"], "A curve over the number of classes", by)
    groups = subsets.groupby([*by, "n_classes"])["accuracy"]
    return groups.agg(accuracy="mean", draws="size").reset_index()


def errors(
    curves: pd.DataFrame, by: Sequence[str] = ("model", "lang"), shapes: Sequence[str] = tuple(SHAPES), fewest: int = 5
) -> pd.DataFrame:
    """Return how well each shape describes each curve: by, shape, fitted, left_out, largest (points), n (numbers).

    `curves` as of `means`. `fitted` is the root mean square of the residuals; `left_out` that of the errors when each
    number of classes is predicted from a fit to the others, which does not favour the shape with more parameters;
    `largest` the largest residual. Raises InputError for a number of classes that occurs twice in a curve, and for a
    curve with fewer than `fewest` numbers, which are at least one more than the parameters of each shape.
    """
    by = list(by)
    checks.check_numbers(curves, ["n_classes", "accuracy"], "The errors of a curve", by)
    if curves.duplicated([*by, "n_classes"]).any():
        raise InputError("A curve needs each number of classes once: take the means over the subsets first.")
    if not shapes:
        raise InputError(f"The errors of a curve need at least one shape: expected some of {', '.join(SHAPES)}.")
    if fewest <= max(_design(np.array([2.0]), shape).shape[1] for shape in shapes):
        raise InputError(f"A number of classes can be left out only if more are left than parameters, got {fewest=}.")
    rows = []
    for key, part in curves.groupby(by, sort=False):
        x, y = part["n_classes"].to_numpy(float), part["accuracy"].to_numpy(float)
        if len(x) < fewest:
            raise InputError(
                f"The shape of a curve needs at least {fewest} numbers of classes, but {', '.join(map(str, key))} has "
                f"{len(x)}: draw more sizes."
            )
        for shape in shapes:
            design = _design(x, shape)
            residual = 100 * (y - _accuracy(design @ _fit(design, y, shape), shape))
            others = [_fit(np.delete(design, place, 0), np.delete(y, place), shape) for place in range(len(x))]
            left = [_accuracy(row @ parameters, shape) for row, parameters in zip(design, others, strict=True)]
            sizes = [np.sqrt(np.mean(residual**2)), 100 * np.sqrt(np.mean((y - left) ** 2)), np.abs(residual).max()]
            rows.append([*key, shape, *sizes, len(x)])
    return pd.DataFrame(rows, columns=[*by, "shape", "fitted", "left_out", "largest", "n"])


def residuals(curves: pd.DataFrame, by: Sequence[str] = ("model", "lang")) -> pd.DataFrame:
    """Return `curves` (`means`) with what a log-linear fit leaves at each number of classes: residual, in points.

    Raises InputError for an empty table, missing values or columns, and what `fit` raises.
    """
    by, parts = list(by), []
    checks.check_numbers(curves, ["n_classes", "accuracy"], "What a curve leaves", by)
    for _, part in curves.groupby(by, sort=False):
        fitted = predict(part["n_classes"], fit(part["n_classes"], part["accuracy"]))
        parts.append(part.assign(residual=100 * (part["accuracy"] - fitted)))
    return pd.concat(parts, ignore_index=True)


def bend(
    subsets: pd.DataFrame,
    by: Sequence[str] = ("model", "lang"),
    n_resamples: int = 2000,
    level: float = 0.95,
    seed: int = 0,
) -> pd.DataFrame:
    """Return by how much the cost of a doubling changes along the curve: by, value, ci_low, ci_high, per_doubling, n.

    A term in the square of the logarithm is added to the straight line. `value` is the gain per doubling at the largest
    number of classes less that at the smallest, in points: 0 for a straight line, negative where the fall steepens,
    positive where it levels off. The interval draws the random subsets of each number anew (`bootstrap.sum_of_means`):
    it speaks of the subsets, not of other classes.
    `per_doubling` is the slope of the straight line, `n` the number of sizes. Raises InputError for less than three.
    """
    by = list(by)
    checks.check_numbers(subsets, ["n_classes", "accuracy"], "A bend", by)
    rows = []
    for key, part in subsets.groupby(by, sort=False):
        sizes = [rows_.to_numpy(float) for _, rows_ in part.groupby("n_classes")["accuracy"]]
        x = np.log(np.sort(part["n_classes"].unique()).astype(float))
        if len(x) < 3:
            raise InputError(
                f"A bend needs at least three numbers of classes, got {len(x)} in {', '.join(map(str, key))}."
            )
        mean = np.array([values.mean() for values in sizes])
        design = np.column_stack([np.ones_like(x), x, x * x])
        change = 100 * np.log(2) * 2 * (x[-1] - x[0]) * np.linalg.pinv(design)[2]
        value, low, high = bootstrap.sum_of_means(sizes, change, n_resamples, level, seed)
        slope = 100 * np.log(2) * np.polyfit(x, mean, 1)[0]
        rows.append([*key, value, low, high, slope, len(x)])
    return pd.DataFrame(rows, columns=[*by, "value", "ci_low", "ci_high", "per_doubling", "n"])


def cost(few: Sequence[float], many: Sequence[float], doublings: Sequence[float]) -> pd.DataFrame:
    """Return what a doubling of the number of classes costs on three scales, from two accuracies of each row.

    `few`, `many`: accuracies (fractions between 0 and 1, both excluded) with fewer and with more classes; `doublings`:
    binary logarithm of the ratio of their numbers, positive. Columns: "points" (percentage points; constant where
    accuracy is log-linear), "percent" (of the accuracy; constant where it is a power), "log-odds" (constant where it is
    logistic). Raises InputError for accuracies of 0 or 1, and where nothing is doubled.

    >>> cost([0.8], [0.4], [1]).round(3).to_dict("records")
    [{'points': 40.0, 'percent': 50.0, 'log-odds': 1.792}]
    """
    table = _slopes(*(np.asarray(values, float) for values in (few, many, doublings)))
    table["points"] = 100 * table["points"]
    table["percent"] = 100 * (1 - np.exp(-table["percent"]))
    return pd.DataFrame(table)


def _slopes(few: np.ndarray, many: np.ndarray, doublings: np.ndarray) -> dict[str, np.ndarray]:
    """Return by how much accuracies fall with each doubling, on each scale."""
    if not (doublings > 0).all():
        raise InputError("The cost of a doubling needs more classes in one accuracy than in the other, in every row.")
    if not ((few > 0) & (few < 1) & (many > 0) & (many < 1)).all():
        raise InputError("The cost of a doubling needs accuracies between 0 and 1, neither of them included.")
    return {scale: (to(few) - to(many)) / doublings for scale, (to, _) in SCALES.items()}


def carried_over(few: Sequence[float], many: Sequence[float], doublings: Sequence[float]) -> dict[str, np.ndarray]:
    """Return, for each scale, the error (points) when the cost in the other rows predicts `many` from `few`.

    For each row the cost of a doubling is the mean of the others'; predicted less true, so that a positive error says
    that accuracy fell further. Raises what `cost` raises, and InputError for a single row.

    >>> [round(float(error), 6) for error in carried_over([0.8, 0.4], [0.4, 0.2], [1, 1])["percent"]]
    [0.0, 0.0]
    """
    few, many, doublings = (np.asarray(values, float) for values in (few, many, doublings))
    slopes = _slopes(few, many, doublings)
    if len(few) < 2:
        raise InputError(f"A cost is carried over from other rows, and needs at least two, got {len(few)}.")
    found = {}
    for scale, (to, back) in SCALES.items():
        others = (slopes[scale].sum() - slopes[scale]) / (len(few) - 1)
        found[scale] = 100 * (back(to(few) - others * doublings) - many)
    return found
